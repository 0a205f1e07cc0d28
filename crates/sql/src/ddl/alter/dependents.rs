//! What is computed from a column that an ALTER TABLE takes away or gives another name: the column stays as it is while it is needed.

use catalog::{ColumnDefault, TableDef, same_name};
use parser::ast::walk::Part;
use parser::ast::{self, AlterAction};
use types::{ErrorKind, SqlError, SqlResult};

/// Drops the constraints that look at one column alone, with that column.
pub fn drop_lonely_checks(new: &mut TableDef, actions: &[AlterAction], sources: &[Option<usize>]) -> SqlResult<()> {
    let dropped = |column: &String| {
        let is_its_end =
            |action: &AlterAction| matches!(action, AlterAction::DropColumn { name, .. } if same_name(name, column));
        actions.iter().any(is_its_end)
    };
    let mut kept = Vec::with_capacity(new.checks.len());
    for check in std::mem::take(&mut new.checks) {
        let columns = columns_of(&check.expression)?;
        let is_lonely = columns.iter().all(|column| same_name(column, &columns[0]));
        let goes = columns
            .first()
            .filter(|column| is_lonely && dropped(column))
            // An old column may have taken its name.
            .filter(|column| new.column(column).is_none_or(|at| sources[at].is_some()));
        if goes.is_none() {
            kept.push(check);
        }
    }
    new.checks = kept;
    Ok(())
}

/// Whether a column that stays is computed from one that is new, under a name that another had.
pub fn reads_new_column(old: &TableDef, new: &TableDef, sources: &[Option<usize>]) -> bool {
    let is_new = |name: &String| match (old.column(name), new.column(name)) {
        (Some(before), Some(now)) => sources[now] != Some(before),
        _ => false,
    };
    let stays = new.columns.iter().zip(sources).filter(|(_, source)| source.is_some());
    let mut computed = stays.filter_map(|(column, _)| column.generated.as_ref());
    computed.any(|generated| match columns_of(&generated.expression) {
        Ok(columns) => columns.iter().any(is_new),
        Err(_) => true,
    })
}

/// 3108, 3766, 3837, 3959 for a column that is needed, and is no longer there under its name. What others are computed from is not given a
/// name by RENAME COLUMN at all, be it the name that it has.
pub fn check(old: &TableDef, new: &TableDef, actions: &[AlterAction], sources: &[Option<usize>]) -> SqlResult<()> {
    let is_missing = |column: &String| match (old.column(column), new.column(column)) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(before), Some(now)) => sources[now].is_some_and(|source| source != before),
    };
    let is_named = |column: &String| {
        let names =
            |action: &AlterAction| matches!(action, AlterAction::RenameColumn { old, .. } if same_name(old, column));
        old.column(column).is_some() && actions.iter().any(names)
    };
    let missing = |text: &str| -> SqlResult<Option<String>> {
        let mut columns = columns_of(text)?.into_iter();
        Ok(columns.find(|column| is_missing(column) || is_named(column)))
    };
    for column in &new.columns {
        if let Some(generated) = &column.generated
            && let Some(needed) = missing(&generated.expression)?
        {
            let kind = match column.hidden {
                true => ErrorKind::DependentByFunctionalIndex,
                false => ErrorKind::DependentByGeneratedColumn,
            };
            return Err(SqlError::new(kind, &[&needed]));
        }
        if let Some(ColumnDefault::Expression(text)) = &column.default
            && let Some(needed) = missing(text)?
        {
            return Err(SqlError::new(
                ErrorKind::DependentByDefaultGeneratedValue,
                &[&needed, &new.name],
            ));
        }
    }
    for constraint in &new.checks {
        let mut columns = columns_of(&constraint.expression)?.into_iter();
        if let Some(needed) = columns.find(is_missing) {
            return Err(SqlError::new(
                ErrorKind::ColumnUsedInCheck,
                &[&constraint.name, &needed],
            ));
        }
    }
    Ok(())
}

/// The columns that an expression of the catalog names.
pub fn columns_of(text: &str) -> SqlResult<Vec<String>> {
    let mut tree = parser::parse_expr(text.as_bytes(), parser::SqlMode::default())
        .map_err(|error| crate::errors::parse_error(&error))?;
    let mut columns = Vec::new();
    add_columns(&mut tree, &mut columns)?;
    Ok(columns)
}

fn add_columns(tree: &mut ast::Expr, columns: &mut Vec<String>) -> SqlResult<()> {
    governor::tick()?;
    governor::descend()?;
    if let ast::Expr::Column(name) = tree {
        columns.push(name.name.as_str().to_owned());
    }
    let mut done = Ok(());
    tree.for_each_part(&mut |part| {
        if done.is_err() {
            return;
        }
        match part {
            Part::Expr(below) => done = add_columns(below, columns),
            Part::Column(name) => columns.push(name.name.as_str().to_owned()),
            Part::Query(_) => {}
        }
    });
    done
}
