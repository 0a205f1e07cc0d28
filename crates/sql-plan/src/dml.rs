//! INSERT, UPDATE and DELETE of one table into plans.

use std::collections::HashSet;
use std::sync::Arc;

use catalog::{ColumnDefault, Privileges};
use parser::ast::{self, InsertSource, InsertVerb, TableRef};
use sql_expr::sort::SortKey;
use sql_expr::{Binder, Clause, Expr, ExprKind};
use types::{Decimal, ErrorKind, SqlError, SqlResult, SqlType, TypeKind, Value};

use super::access::{Choice, OrderWish, choose};
use super::scope::NewRow;
use super::source_columns::SourceColumns;
use super::{Planner, RowChange, TableScope, foreign_keys};
use crate::changes::{
    Assignment, Check, DeletePlan, Generated, InsertPlan, InsertValue, OnDuplicate, Source, Sources, Target,
    UpdatePlan, WriteRules,
};
use crate::columns::constant_default;
use crate::computed_keys::ComputedKeys;
use crate::full_text::has_match;
use crate::hints::Steering;
use crate::planner::AS_OF_IN_CHANGE;
use crate::table::Table;
use crate::zero_dates::find_zero_dates;

/// Whether an UPDATE names one plain table, so that it may have ORDER BY and LIMIT. A view, and a search, is planned as the joins that it
/// is.
pub fn is_single_table(planner: &Planner<'_>, update: &ast::Update) -> bool {
    let mut exprs = update
        .filter
        .iter()
        .chain(update.assignments.iter().map(|assignment| &assignment.value));
    matches!(update.tables.as_slice(), [TableRef::Table(factor)] if planner.view(&factor.name).is_none())
        && !exprs.any(has_match)
}

pub fn plan_insert(planner: &Planner<'_>, insert: &ast::Insert) -> SqlResult<InsertPlan> {
    if !insert.partitions.is_empty() {
        return Err(SqlError::not_supported("PARTITION"));
    }
    let privileges = match insert.verb {
        InsertVerb::Replace => Privileges::INSERT.with(Privileges::DELETE),
        InsertVerb::Insert if insert.on_duplicate.is_empty() => Privileges::INSERT,
        InsertVerb::Insert => Privileges::INSERT.with(Privileges::UPDATE),
    };
    let mut view_name = None;
    let (table, through) = match planner.view(&insert.table) {
        Some(view) => {
            view_name = Some(format!("{}.{}", view.database, view.name));
            let names = named_columns(insert);
            let (table, through) = super::query::insert_target(planner, &view, privileges, names.as_deref())?;
            (table, Some(through))
        }
        None => (planner.table_for(&insert.table, None, privileges)?, None),
    };
    let through = through.as_ref();
    let names = TableScope::new(planner, table.clone(), &table.def.name, Clause::FieldList).through(through);
    let columns = insert_columns(&names, insert)?;
    check_row_alias(insert, &table.def.name, columns.len())?;
    check_columns(planner, &names, &columns, Privileges::INSERT, names_columns(insert))?;
    let mut defaults = Vec::new();
    let given: HashSet<usize> = columns.iter().copied().collect();
    for position in (0..table.def.columns.len()).filter(|position| !given.contains(position)) {
        defaults.push((position, default_value(planner, &table, position)?));
    }
    let mut source = match &insert.source {
        InsertSource::Values(rows) => value_rows(&names, &columns, insert, rows)?,
        InsertSource::Set(assignments) => {
            let row: Vec<_> = assignments.iter().map(|assignment| assignment.value.clone()).collect();
            Source::Values(vec![insert_row(&names, &columns, &row)?])
        }
        InsertSource::Query(query) if let Some(rows) = bare_values(query) => {
            value_rows(&names, &columns, insert, rows)?
        }
        InsertSource::Query(query) => {
            columns.iter().try_for_each(|&column| takes_values(&table, column))?;
            Source::Query(super::query::plan_insert_source(
                planner,
                query,
                Some(columns.len()),
                &table,
            )?)
        }
    };
    // `INSERT INTO t VALUES ()` takes every default.
    let all_empty = matches!(&source, Source::Values(rows) if rows.iter().all(Vec::is_empty));
    if all_empty {
        defaults.clear();
        for position in 0..table.def.columns.len() {
            defaults.push((position, default_value(planner, &table, position)?));
        }
    }
    let reads_columns =
        |value: &InsertValue| matches!(value, InsertValue::Expr(expr) if !expr.referenced_columns().is_empty());
    let mut listed = match &source {
        Source::Values(rows) => rows.iter().flatten(),
        Source::Query(_) => [].iter().flatten(),
    };
    let before = listed.any(reads_columns).then(|| values_before(&table));
    let (computed_defaults, defaults) = defaults.into_iter().partition(|(_, value)| reads_columns(value));
    let on_duplicate = match insert.verb {
        InsertVerb::Replace => OnDuplicate::Replace,
        InsertVerb::Insert if insert.on_duplicate.is_empty() => OnDuplicate::Fail,
        InsertVerb::Insert => {
            let named = match &insert.source {
                InsertSource::Query(query) => SourceColumns::of(query, columns.len()),
                InsertSource::Values(_) | InsertSource::Set(_) => None,
            };
            let (assignments, named) = duplicate_assignments(&names, insert, &columns, named)?;
            if let Some(query) = named.and_then(SourceColumns::into_query) {
                source = Source::Query(super::query::plan_insert_source(planner, &query, None, &table)?);
            }
            OnDuplicate::Update(assignments)
        }
    };
    let change = match &on_duplicate {
        OnDuplicate::Fail => RowChange::Insert,
        OnDuplicate::Replace | OnDuplicate::Update(_) => RowChange::Any,
    };
    let mut locked = planner.locked.take();
    if let Source::Query(source) = &source {
        locked.extend(source.plan.locked.iter().cloned());
    }
    let mut rules = write_rules(planner, &table)?;
    rules.views = through.map_or_else(Vec::new, |through| through.rules.clone());
    Ok(InsertPlan {
        rules,
        foreign_keys: foreign_keys(planner, &table, change)?,
        table,
        columns,
        defaults,
        before,
        computed_defaults,
        source,
        ignore: insert.ignore,
        on_duplicate,
        locked,
        view: view_name,
    })
}

/// The name of the new row is none of the table's, and its columns, where they are named, are as many as the values: 1066, 1353, 1060.
fn check_row_alias(insert: &ast::Insert, table: &str, width: usize) -> SqlResult<()> {
    let Some(alias) = &insert.row_alias else {
        return Ok(());
    };
    if alias.name.as_str() == table {
        return Err(SqlError::new(ErrorKind::NonUniqTable, &[&table]));
    }
    if !alias.columns.is_empty() && alias.columns.len() != width {
        return Err(SqlError::new(ErrorKind::ViewWrongList, &[&alias.name.as_str()]));
    }
    let mut named = HashSet::new();
    for column in &alias.columns {
        governor::tick()?;
        if !named.insert(column.to_lowercase()) {
            return Err(SqlError::new(ErrorKind::DupFieldName, &[&column.as_str()]));
        }
    }
    Ok(())
}

/// A row of constant defaults: what an expression of a list sees of columns that come later.
fn values_before(table: &Table) -> Vec<Value> {
    let default = |column: &catalog::ColumnDef| match constant_default(column) {
        Some(value) => value,
        None if column.nullable || column.generated.is_some() => Value::Null,
        None => types::cast::implicit_default(&column.ty),
    };
    table.def.columns.iter().map(default).collect()
}

/// The columns that the INSERT names.
fn named_columns(insert: &ast::Insert) -> Option<Vec<&ast::ColumnName>> {
    match (&insert.source, &insert.columns) {
        (InsertSource::Set(assignments), _) => Some(assignments.iter().map(|assignment| &assignment.column).collect()),
        (_, Some(names)) => Some(names.iter().collect()),
        (_, None) => None,
    }
}

/// The columns that the INSERT gives values for, in its order.
fn insert_columns(target: &TableScope<'_>, insert: &ast::Insert) -> SqlResult<Vec<usize>> {
    let Some(names) = named_columns(insert) else {
        return Ok(target.all_columns());
    };
    let mut columns = Vec::with_capacity(names.len());
    let mut given = HashSet::with_capacity(names.len());
    for name in names {
        governor::tick()?;
        let named = name
            .table
            .as_ref()
            .is_none_or(|qualifier| qualifier.as_str() == target.alias);
        let column = target.column_named(&name.name).filter(|_| named);
        let column = column.ok_or_else(|| sql_expr::scope::unknown_column(name, Clause::FieldList))?;
        if !given.insert(column) {
            return Err(SqlError::new(
                ErrorKind::FieldSpecifiedTwice,
                &[&target.table.def.columns[column].name],
            ));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// The rows of `VALUES ROW(..), ..` alone, which are a VALUES list.
fn bare_values(query: &ast::Query) -> Option<&[Vec<ast::Expr>]> {
    let bare = query.with.is_none() && query.order_by.is_empty() && query.limit.is_none();
    match &query.body {
        ast::QueryBody::Values(rows) if bare => Some(rows),
        _ => None,
    }
}

fn value_rows(
    target: &TableScope<'_>,
    columns: &[usize],
    insert: &ast::Insert,
    rows: &[Vec<ast::Expr>],
) -> SqlResult<Source> {
    let mut bound = Vec::with_capacity(rows.len());
    // Without a list of columns, an empty first row stands for all defaults; the others must be as long as the first.
    let all_defaults = insert.columns.is_none() && rows.first().is_some_and(Vec::is_empty);
    let columns = if all_defaults { &[] } else { columns };
    for (at, row) in rows.iter().enumerate() {
        governor::tick()?;
        if row.len() != columns.len() {
            return Err(SqlError::new(ErrorKind::WrongValueCountOnRow, &[&(at + 1)]));
        }
        bound.push(insert_row(target, columns, row)?);
    }
    Ok(Source::Values(bound))
}

/// One row of a VALUES list.
fn insert_row(target: &TableScope<'_>, columns: &[usize], row: &[ast::Expr]) -> SqlResult<Vec<InsertValue>> {
    let mut values = Vec::with_capacity(row.len());
    for (column, value) in columns.iter().zip(row) {
        values.push(insert_value(target, *column, value)?);
    }
    Ok(values)
}

fn insert_value(target: &TableScope<'_>, column: usize, value: &ast::Expr) -> SqlResult<InsertValue> {
    let (planner, table) = (target.planner, &target.table);
    if !matches!(value, ast::Expr::Default) {
        takes_values(table, column)?;
    }
    match value {
        // Lists of literals are long: they need no expression.
        ast::Expr::Literal(literal) => {
            if let Some(value) = sql_expr::plain_literal(literal) {
                return Ok(InsertValue::Literal(value));
            }
        }
        ast::Expr::Param(index) => return Ok(InsertValue::Param(*index as usize)),
        ast::Expr::Default => return default_value(planner, table, column),
        _ => {}
    }
    let mut scope = TableScope::new(planner, table.clone(), &table.def.name, Clause::Values)
        .through(target.through)
        .read_by(planner.access());
    let expr = Binder::new(&mut scope, planner.ctx, planner.options()).bind(value)?;
    let expr = as_column_wants(expr, table, column);
    Ok(match expr.as_literal() {
        Some(value) => InsertValue::Literal(value.clone()),
        None => InsertValue::Expr(expr),
    })
}

/// 3105 for a generated column, which is given no value.
fn takes_values(table: &Table, column: usize) -> SqlResult<()> {
    let definition = &table.def.columns[column];
    if definition.generated.is_some() {
        let names: [&dyn std::fmt::Display; 2] = [&definition.name, &table.def.name];
        return Err(SqlError::new(ErrorKind::NonDefaultValueForGeneratedColumn, &names));
    }
    Ok(())
}

/// A hex literal is a number where the column is numeric; one of more bytes than a number has is beyond what the column holds. Of text a
/// column of bytes gets the codes of its character set.
pub(crate) fn as_column_wants(expr: Expr, table: &Table, column: usize) -> Expr {
    let kind = table.def.columns[column].ty.kind;
    if crate::columns::takes_codes(&table.def.columns[column].ty, &expr.ty) {
        return sql_expr::convert::as_bytes(expr);
    }
    match &expr.kind {
        ExprKind::HexLiteral(Value::Bytes(bytes)) if kind.is_integer() && bytes.len() > size_of::<u64>() => {
            Expr::literal(Value::Decimal(Decimal::max(20, 0)), SqlType::decimal(20, 0).not_null())
        }
        _ if kind.is_numeric() => sql_expr::convert::hex_as_number(expr),
        _ => expr,
    }
}

/// What a column gets that no value is given for.
fn default_value(planner: &Planner<'_>, table: &Arc<Table>, column: usize) -> SqlResult<InsertValue> {
    let definition = &table.def.columns[column];
    if definition.auto_increment {
        return Ok(InsertValue::AutoIncrement);
    }
    if definition.generated.is_some() {
        return Ok(InsertValue::Generated);
    }
    Ok(match &definition.default {
        Some(ColumnDefault::Now(digits)) => InsertValue::Expr(bind_now(planner, *digits)?),
        Some(ColumnDefault::Expression(text)) => InsertValue::Expr(bind_text(planner, table, text, Clause::Values)?),
        _ => constant_default(definition).map_or(InsertValue::NoDefault, InsertValue::Default),
    })
}

/// `CURRENT_TIMESTAMP(digits)`
fn bind_now(planner: &Planner<'_>, digits: u8) -> SqlResult<Expr> {
    let args = vec![ast::Expr::Literal(ast::Literal::Int(u64::from(digits)))];
    let call = ast::FunctionCall {
        schema: None,
        name: "NOW".into(),
        args,
    };
    let tree = ast::Expr::Function(Box::new(call));
    Binder::new(&mut sql_expr::NoColumns, planner.ctx, planner.options()).bind(&tree)
}

/// Binds an expression that the catalog keeps as text, over the table's columns.
fn bind_text(planner: &Planner<'_>, table: &Arc<Table>, text: &str, clause: Clause) -> SqlResult<Expr> {
    let tree = parser::parse_expr(text.as_bytes(), parser::SqlMode::default())
        .map_err(|error| crate::errors::parse_error(&error))?;
    let mut scope = TableScope::new(planner, table.clone(), &table.def.name, clause);
    Binder::new(&mut scope, planner.ctx, planner.options()).bind(&tree)
}

/// As [`bind_text`], of a generated column.
fn bind_generated(planner: &Planner<'_>, table: &Arc<Table>, text: &str) -> SqlResult<Expr> {
    let tree = parser::parse_expr(text.as_bytes(), parser::SqlMode::default())
        .map_err(|error| crate::errors::parse_error(&error))?;
    let mut scope = TableScope::new(planner, table.clone(), &table.def.name, Clause::FieldList);
    Binder::new(&mut scope, planner.ctx, planner.options()).bind_generated(&tree)
}

/// Generated columns and constraints of a table.
pub fn write_rules(planner: &Planner<'_>, table: &Arc<Table>) -> SqlResult<WriteRules> {
    let mut rules = WriteRules {
        generated: generated_columns(planner, table)?,
        ..WriteRules::default()
    };
    for check in table.def.checks.iter().filter(|check| check.enforced) {
        let condition = bind_text(planner, table, &check.expression, Clause::FieldList)?;
        rules.checks.push(Check {
            name: check.name.clone(),
            sources: sources_of(&condition, table, &rules.generated),
            condition,
        });
    }
    Ok(rules)
}

/// In an order in which each finds those it needs.
pub fn generated_columns(planner: &Planner<'_>, table: &Arc<Table>) -> SqlResult<Vec<Generated>> {
    let mut bound: Vec<Generated> = Vec::new();
    for (column, definition) in table.def.columns.iter().enumerate() {
        let Some(generated) = &definition.generated else {
            continue;
        };
        let expr = bind_generated(planner, table, &generated.expression)?;
        let sources = sources_of(&expr, table, &bound);
        bound.push(Generated { column, expr, sources });
    }
    Ok(bound)
}

/// What an expression depends on that may name these generated columns.
fn sources_of(expr: &Expr, table: &Table, generated: &[Generated]) -> Sources {
    let mut columns = columns_of(expr);
    for below in generated {
        governor::pause();
        if columns.contains(&below.column) {
            columns.extend(&below.sources.0);
        }
    }
    // The statement sets these by itself, whatever it assigns.
    let sets_itself = |column: &usize| table.def.columns[*column].on_update_now.is_some();
    if columns.iter().any(sets_itself) {
        columns.extend(0..table.def.columns.len());
    }
    Sources(columns)
}

fn columns_of(expr: &Expr) -> Vec<usize> {
    let mut columns = Vec::new();
    expr.any(&mut |part| {
        columns.extend(part.as_column());
        false
    });
    columns
}

fn duplicate_assignments<'a>(
    target: &'a TableScope<'_>,
    insert: &'a ast::Insert,
    columns: &[usize],
    source: Option<SourceColumns>,
) -> SqlResult<(Vec<Assignment>, Option<SourceColumns>)> {
    let (planner, table) = (target.planner, &target.table);
    let mut scope = TableScope::new(planner, table.clone(), &table.def.name, Clause::FieldList)
        .through(target.through)
        .read_by(planner.access());
    scope.source = source;
    // `() VALUES ()` lists all.
    let listed = match columns.is_empty() {
        true => target.all_columns(),
        false => columns.to_vec(),
    };
    let names = |alias: &'a ast::RowAlias| match alias.columns.is_empty() {
        true => listed.iter().map(|column| target.name_of(*column)).collect(),
        false => alias.columns.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
    };
    let alias = insert.row_alias.as_ref();
    let named = alias.map(names).unwrap_or_default();
    scope.new_row = Some(NewRow {
        alias: alias.map(|alias| alias.name.as_str()),
        columns: named.into_iter().zip(listed.iter().copied()).collect(),
    });
    let assignments = bind_assignments(planner, &mut scope, &insert.on_duplicate)?;
    let changed: Vec<usize> = assignments.iter().map(|assignment| assignment.column).collect();
    check_columns(planner, target, &changed, Privileges::UPDATE, Columns::Named)?;
    Ok((assignments, scope.source))
}

/// Whether a statement names the columns that it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Columns {
    Named,
    All,
}

fn names_columns(insert: &ast::Insert) -> Columns {
    match (&insert.source, &insert.columns) {
        (InsertSource::Set(_), _) => Columns::Named,
        (_, Some(names)) if !names.is_empty() => Columns::Named,
        // `() VALUES ()` gives every column its default.
        (_, _) => Columns::All,
    }
}

/// 1143 where a privilege on a changed column is missing; 1142 where the statement names none.
fn check_columns(
    planner: &Planner<'_>,
    target: &TableScope<'_>,
    columns: &[usize],
    privilege: Privileges,
    named: Columns,
) -> SqlResult<()> {
    let (database, name) = match target.through {
        Some(through) => (&through.view.database, &through.view.name),
        None if target.table.id().is_local() => return Ok(()),
        None => (&target.table.def.database, &target.table.def.name),
    };
    let mut names = columns.iter().map(|column| target.name_of(*column));
    let checked = names.try_for_each(|column| planner.check_column(database, name, column, privilege));
    match named {
        Columns::Named => checked,
        Columns::All if columns.is_empty() => planner.check_table(database, name, privilege),
        Columns::All => checked.or_else(|_| planner.check_table(database, name, privilege)),
    }
}

/// Binds `column = value` lists.
pub fn bind_assignments(
    planner: &Planner<'_>,
    scope: &mut TableScope<'_>,
    written: &[ast::Assignment],
) -> SqlResult<Vec<Assignment>> {
    let mut assignments = Vec::with_capacity(written.len());
    for assignment in written {
        let name = &assignment.column;
        let qualified = name.table.as_ref().is_none_or(|table| table.as_str() == scope.alias);
        let column = scope.column_named(&name.name).filter(|_| qualified);
        let column = column.ok_or_else(|| sql_expr::scope::unknown_column(name, Clause::FieldList))?;
        let definition = &scope.table.def.columns[column];
        let value = match &assignment.value {
            ast::Expr::Default if definition.generated.is_some() => continue,
            ast::Expr::Default => assigned_default(planner, &scope.table.clone(), column)?,
            _ if definition.generated.is_some() => {
                let names: [&dyn std::fmt::Display; 2] = [&definition.name, &scope.table.def.name];
                return Err(SqlError::new(ErrorKind::NonDefaultValueForGeneratedColumn, &names));
            }
            value => {
                let value = Binder::new(scope, planner.ctx, planner.options()).bind(value)?;
                as_column_wants(value, &scope.table, column)
            }
        };
        assignments.push(Assignment { column, value });
    }
    Ok(assignments)
}

/// `column = DEFAULT`
pub(crate) fn assigned_default(planner: &Planner<'_>, table: &Arc<Table>, column: usize) -> SqlResult<Expr> {
    let definition = &table.def.columns[column];
    match default_value(planner, table, column)? {
        InsertValue::Expr(expr) => Ok(expr),
        InsertValue::Default(value) => Ok(Expr::literal(value, definition.ty.clone())),
        // Without a default of its own an ENUM has its first member.
        _ if definition.ty.kind == TypeKind::Enum && !definition.nullable => {
            let value = types::cast::implicit_default(&definition.ty);
            Ok(Expr::literal(value, definition.ty.clone()))
        }
        _ => Ok(Expr {
            kind: ExprKind::NoDefault(definition.name.as_str().into()),
            ..Expr::literal(Value::Null, definition.ty.clone())
        }),
    }
}

pub fn plan_update(planner: &Planner<'_>, update: &ast::Update) -> SqlResult<UpdatePlan> {
    let [TableRef::Table(factor)] = update.tables.as_slice() else {
        return Err(SqlError::internal("an UPDATE of several tables is planned elsewhere"));
    };
    if factor.as_of.is_some() {
        return Err(SqlError::not_supported(AS_OF_IN_CHANGE));
    }
    let table = planner.table_for(&factor.name, factor.alias.as_ref(), Privileges::UPDATE)?;
    let alias = factor.alias.as_ref().unwrap_or(&factor.name.name).as_str();
    let mut scope = TableScope::new(planner, table.clone(), alias, Clause::FieldList).read_by(planner.access());
    let assignments = bind_assignments(planner, &mut scope, &update.assignments)?;
    let changed: Vec<usize> = assignments.iter().map(|assignment| assignment.column).collect();
    check_columns(planner, &scope, &changed, Privileges::UPDATE, Columns::Named)?;
    let target = target(
        planner,
        table.clone(),
        alias,
        &update.filter,
        &update.order_by,
        update.limit.as_ref(),
        &Steering::of(update.hints.as_deref()).index_hints(&table, alias, &factor.index_hints),
    )?;
    let columns: Vec<usize> = assignments.iter().map(|assignment| assignment.column).collect();
    Ok(UpdatePlan {
        target,
        rules: write_rules(planner, &table)?,
        foreign_keys: foreign_keys(planner, &table, RowChange::Update(&columns))?,
        assignments,
        ignore: update.ignore,
        locked: planner.locked.take(),
    })
}

pub fn plan_delete(planner: &Planner<'_>, delete: &ast::Delete) -> SqlResult<DeletePlan> {
    let ast::DeleteForm::Single {
        table: name,
        alias,
        partitions,
        order_by,
        limit,
    } = &delete.form
    else {
        return Err(SqlError::internal("a DELETE from several tables is planned elsewhere"));
    };
    if !partitions.is_empty() {
        return Err(SqlError::not_supported("PARTITION"));
    }
    let table = planner.table_for(name, alias.as_ref(), Privileges::DELETE)?;
    let alias = alias.as_ref().unwrap_or(&name.name).as_str();
    let foreign_keys = foreign_keys(planner, &table, RowChange::Delete)?;
    let hints = Steering::of(delete.hints.as_deref()).index_hints(&table, alias, &[]);
    let target = target(planner, table, alias, &delete.filter, order_by, limit.as_ref(), &hints)?;
    Ok(DeletePlan {
        target,
        foreign_keys,
        ignore: delete.ignore,
        locked: planner.locked.take(),
    })
}

/// The rows of one table that a condition selects.
fn target(
    planner: &Planner<'_>,
    table: Arc<Table>,
    alias: &str,
    filter: &Option<ast::Expr>,
    order_by: &[ast::OrderItem],
    limit: Option<&ast::Limit>,
    hints: &[ast::IndexHint],
) -> SqlResult<Target> {
    let mut scope = TableScope::new(planner, table.clone(), alias, Clause::Where).read_by(planner.access());
    let mut conditions = match filter {
        None => Vec::new(),
        Some(filter) => Binder::new(&mut scope, planner.ctx, planner.options())
            .bind_condition(filter)?
            .into_conjuncts(),
    };
    find_zero_dates(planner, &mut conditions, |slot| table.def.columns.get(slot))?;
    scope.clause = Clause::OrderBy;
    let mut order = Vec::with_capacity(order_by.len());
    for item in order_by {
        let expr = Binder::new(&mut scope, planner.ctx, planner.options()).bind(&item.expr)?;
        order.push(SortKey {
            expr,
            descending: item.descending,
        });
    }
    let limit = match limit {
        None => None,
        Some(limit) => Some(Binder::new(&mut scope, planner.ctx, planner.options()).bind(&limit.count)?),
    };
    let mut needed = std::mem::take(&mut scope.used);
    let mut computed = ComputedKeys::new(planner, &table, 0)?;
    conditions
        .iter_mut()
        .for_each(|condition| computed.replace_in_condition(condition));
    order.iter_mut().for_each(|key| computed.replace(&mut key.expr));
    let arrays = computed.arrays;
    for column in computed.used {
        if !needed.contains(&column) {
            needed.push(column);
        }
    }
    let hints = super::query::index_hints(&table, hints)?;
    let wish = order_wish(&order, limit.as_ref());
    let slots = 0..table.def.columns.len();
    // Rows are locked and read whole: no index spares that.
    let all: Vec<usize> = slots.clone().collect();
    let chosen = choose(&Choice {
        table: &table,
        slots,
        conditions: &conditions.iter().collect::<Vec<_>>(),
        bound: &|_| false,
        needed: &all,
        order: &wish,
        hints: &hints,
        arrays: &arrays,
        ctx: &planner.ctx,
    })?;
    Ok(Target {
        path: chosen.with(conditions),
        alias: alias.to_owned(),
        needed,
        order,
        limit,
    })
}

/// An order by plain columns, which an index may give.
pub fn order_wish(order: &[SortKey], limit: Option<&Expr>) -> OrderWish {
    let columns: Option<Vec<_>> = order
        .iter()
        .map(|key| Some((key.expr.as_column()?, key.descending)))
        .collect();
    let limit = limit
        .and_then(Expr::as_literal)
        .and_then(|rows| rows.to_string().parse().ok());
    OrderWish {
        columns: columns.unwrap_or_default(),
        limit,
    }
}

/// What each added column of an ALTER TABLE gets in the rows that exist; unused for the columns that have a source.
pub fn added_values(
    planner: &Planner<'_>,
    table: &Arc<Table>,
    sources: &[Option<usize>],
) -> SqlResult<Vec<InsertValue>> {
    let value = |(column, source): (usize, &Option<usize>)| match source {
        Some(_) => Ok(InsertValue::Generated),
        None => match default_value(planner, table, column)? {
            InsertValue::NoDefault => Ok(InsertValue::Default(types::cast::implicit_default(
                &table.def.columns[column].ty,
            ))),
            value => Ok(value),
        },
    };
    sources.iter().enumerate().map(value).collect()
}
