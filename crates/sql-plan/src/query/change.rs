//! UPDATE and DELETE over several tables: a query finds the rows, by the keys of the tables to change.

use std::sync::Arc;

use catalog::Privileges;
use parser::ast;
use sql_expr::{Binder, Clause, Expr};
use types::{ErrorKind, SqlError, SqlResult};

use super::common::{CommonTables, with_common_tables};
use super::from::bind_from;
use super::join::{Join, JoinPlanner, wished_before};
use super::scope::{Changes, QueryScope, ScopeTable, TableSource};
use super::semijoin::{Joinable, join_with_correlated, join_with_queries};
use crate::access::OrderWish;
use crate::changes::{Assignment, ViewRule, WriteRules};
use crate::foreign_keys::ForeignKeys;
use crate::hints::Steering;
use crate::table::Table;
use crate::zero_dates::find_zero_dates;
use crate::{Planner, RowChange, foreign_keys, write_rules};

const ORDER_IN_JOIN: &str = "ORDER BY and LIMIT in a change through a view, behind WITH or with MATCH";

/// A change of the rows that a join finds.
#[derive(Debug)]
pub struct MultiTableChange {
    pub join: Join,
    pub filter: Vec<Expr>,
    pub width: usize,
    pub targets: Vec<TargetTable>,
    /// The tables of the targets.
    pub changed: Vec<Arc<Table>>,
    pub ignore: bool,
    /// The tables whose rows its queries lock.
    pub locked: Vec<Arc<Table>>,
}

/// A table whose rows are changed.
#[derive(Debug)]
pub struct TargetTable {
    pub table: Arc<Table>,
    /// The slot of its first column.
    pub offset: usize,
    /// What views WITH CHECK OPTION let through, over the wide row.
    pub views: Vec<ViewRule>,
    /// The slot of the hidden row id of a table without a primary key.
    pub row_id: Option<usize>,
    pub rules: WriteRules,
    pub foreign_keys: Option<Arc<ForeignKeys>>,
    /// Values over the wide row; `None` to delete.
    pub assignments: Option<Vec<Assignment>>,
}

impl MultiTableChange {
    /// Whether the join has more than the table that is changed.
    fn joins_query(&self) -> bool {
        let mut join = &self.join;
        while let Join::Filter { join: filtered, .. } = join {
            join = filtered;
        }
        matches!(join, Join::Nested(_))
    }

    pub fn is_delete(&self) -> bool {
        self.targets.iter().all(|target| target.assignments.is_none())
    }
}

pub fn plan_multi_update(planner: &Planner<'_>, update: &ast::Update) -> SqlResult<MultiTableChange> {
    if !update.order_by.is_empty() || update.limit.is_some() {
        if matches!(update.tables.as_slice(), [ast::TableRef::Table(_)]) {
            return Err(SqlError::not_supported(ORDER_IN_JOIN));
        }
        return Err(SqlError::new(ErrorKind::WrongUsage, &[&"UPDATE", &"ORDER BY"]));
    }
    let mut scope = QueryScope::new(planner, None);
    let user = || {
        let with = None;
        ast::Statement::Update(Box::new(ast::Update { with, ..update.clone() })).to_string()
    };
    scope.common = with_common_tables(planner, update.with.as_ref(), user, &CommonTables::default(), &mut None)?;
    scope.changes = Some(match update.tables.as_slice() {
        [ast::TableRef::Table(_)] => Changes::This(Privileges::UPDATE),
        _ => Changes::Some(Privileges::UPDATE),
    });
    scope.steering = Steering::of(update.hints.as_deref());
    let is_fixed = scope.steering.is_fixed;
    let tree = bind_from(&mut scope, &update.tables, is_fixed)?;
    scope.check_on()?;
    let (tree, _) = tree.ok_or_else(|| SqlError::internal("an UPDATE has tables"))?;
    scope.clause = Clause::FieldList;
    let mut per_table: Vec<(usize, Vec<Assignment>)> = Vec::new();
    for assignment in &update.assignments {
        let slot = scope
            .find(&assignment.column)?
            .ok_or_else(|| sql_expr::scope::unknown_column(&assignment.column, Clause::FieldList))?;
        check_column_of_view(planner, &scope, slot)?;
        let (at, slot) = changed_column(&scope, slot)?;
        let TableSource::Base { table, .. } = scope.tables[at].source.clone() else {
            return Err(not_updatable(&scope.tables[at], "UPDATE"));
        };
        let column = slot - scope.tables[at].offset;
        let definition = &table.def.columns[column];
        if definition.generated.is_some() {
            if matches!(assignment.value, ast::Expr::Default) {
                continue;
            }
            let names: [&dyn std::fmt::Display; 2] = [&definition.name, &table.def.name];
            return Err(SqlError::new(ErrorKind::NonDefaultValueForGeneratedColumn, &names));
        }
        let value = match &assignment.value {
            ast::Expr::Default => crate::dml::assigned_default(planner, &table, column)?,
            value => {
                let (ctx, options) = (planner.ctx, planner.options());
                Binder::new(&mut scope, ctx, options).bind(value)?
            }
        };
        let assignment = Assignment { column, value };
        match per_table.iter_mut().find(|(table, _)| *table == at) {
            Some((_, list)) => list.push(assignment),
            None => per_table.push((at, vec![assignment])),
        }
    }
    check_key_changed_once(&scope, &per_table)?;
    check_one_table_of_view(&scope, per_table.iter().map(|(at, _)| *at))?;
    let targets = per_table
        .into_iter()
        .map(|(at, assignments)| (at, Some(assignments)))
        .collect();
    finish(planner, scope, tree, update.filter.as_ref(), targets, update.ignore)
}

/// 1706 where a table is changed under two names, and its primary key under one of them: the row found under the other would be gone.
fn check_key_changed_once(scope: &QueryScope<'_, '_, '_>, changed: &[(usize, Vec<Assignment>)]) -> SqlResult<()> {
    let base = |at: usize| match &scope.tables[at].source {
        TableSource::Base { table, .. } => Some(table),
        _ => None,
    };
    for (i, (first, assignments)) in changed.iter().enumerate() {
        for (second, others) in &changed[i + 1..] {
            let (Some(table), Some(other)) = (base(*first), base(*second)) else {
                continue;
            };
            let is_key = |assignment: &Assignment| {
                let primary = table.def.primary();
                primary.is_some_and(|primary| primary.parts.iter().any(|part| part.column == assignment.column))
            };
            if table.id() == other.id() && assignments.iter().chain(others).any(is_key) {
                let names = [&scope.tables[*first].alias, &scope.tables[*second].alias];
                return Err(SqlError::new(ErrorKind::MultiUpdateKeyConflict, &[names[0], names[1]]));
            }
        }
    }
    Ok(())
}

pub fn plan_multi_delete(planner: &Planner<'_>, delete: &ast::Delete) -> SqlResult<MultiTableChange> {
    plan_delete_of(planner, delete, Changes::Some(Privileges::DELETE))
}

fn plan_delete_of(planner: &Planner<'_>, delete: &ast::Delete, changes: Changes) -> SqlResult<MultiTableChange> {
    let ast::DeleteForm::Multi { targets: names, tables } = &delete.form else {
        return Err(SqlError::internal("a DELETE from one table is planned elsewhere"));
    };
    let mut scope = QueryScope::new(planner, None);
    let user = || {
        let with = None;
        ast::Statement::Delete(Box::new(ast::Delete { with, ..delete.clone() })).to_string()
    };
    scope.common = with_common_tables(planner, delete.with.as_ref(), user, &CommonTables::default(), &mut None)?;
    scope.changes = Some(changes);
    scope.steering = Steering::of(delete.hints.as_deref());
    let is_fixed = scope.steering.is_fixed;
    let tree = bind_from(&mut scope, tables, is_fixed)?;
    scope.check_on()?;
    let (tree, _) = tree.ok_or_else(|| SqlError::internal("a DELETE has tables"))?;
    let mut targets = Vec::with_capacity(names.len());
    for name in names {
        let named = |table: &ScopeTable| table.is_named(name.schema.as_ref(), &name.name);
        let at = scope.tables.iter().position(named);
        let at = at.ok_or_else(|| SqlError::new(ErrorKind::UnknownTable, &[&name.name.as_str(), &"MULTI DELETE"]))?;
        let at = table_to_delete_from(&scope, at)?;
        if targets.iter().any(|(other, _)| *other == at) {
            return Err(SqlError::new(ErrorKind::NonUniqTable, &[&name.name.as_str()]));
        }
        targets.push((at, None));
    }
    finish(planner, scope, tree, delete.filter.as_ref(), targets, delete.ignore)
}

/// An UPDATE of one table as one of a join with the queries of its condition; `None` where it joins none.
pub fn plan_update_by_query(planner: &Planner<'_>, update: &ast::Update) -> Option<MultiTableChange> {
    let joinable = Joinable::of(update.filter.as_ref());
    let may_join = joinable > Joinable::Nothing && update.order_by.is_empty() && update.limit.is_none();
    let plan = may_join.then(|| plan_multi_update(planner, update))?;
    // What is wrong with the statement is told by who plans it for its one table.
    let plan = plan.ok().filter(MultiTableChange::joins_query);
    // Columns that follow the clock do so before the triggers there, and after them here.
    let fires = |target: &TargetTable| !target.table.def.triggers.is_empty();
    let plan = plan.filter(|plan| !plan.targets.iter().any(fires));
    if plan.is_none() {
        planner.locked.take();
    }
    plan
}

/// A DELETE from one table, of all rows that its condition selects, likewise; `Some` for every one with IN.
pub fn plan_delete_by_query(planner: &Planner<'_>, delete: &ast::Delete) -> SqlResult<Option<MultiTableChange>> {
    let ast::DeleteForm::Single { order_by, limit, .. } = &delete.form else {
        return Ok(None);
    };
    if !order_by.is_empty() || limit.is_some() {
        return Ok(None);
    }
    match Joinable::of(delete.filter.as_ref()) {
        Joinable::Nothing => Ok(None),
        Joinable::In => plan_delete_by_join(planner, delete).map(Some),
        Joinable::Exists => {
            let plan = plan_delete_by_join(planner, delete).ok();
            let plan = plan.filter(MultiTableChange::joins_query);
            if plan.is_none() {
                planner.locked.take();
            }
            Ok(plan)
        }
    }
}

/// `DELETE FROM view`
pub fn plan_delete_by_join(planner: &Planner<'_>, delete: &ast::Delete) -> SqlResult<MultiTableChange> {
    let ast::DeleteForm::Single {
        table,
        alias,
        order_by,
        limit,
        ..
    } = &delete.form
    else {
        return Err(SqlError::internal("a DELETE from several tables is planned elsewhere"));
    };
    if !order_by.is_empty() || limit.is_some() {
        return Err(SqlError::not_supported(ORDER_IN_JOIN));
    }
    let target = match alias {
        Some(alias) => ast::TableName {
            schema: None,
            name: alias.clone(),
        },
        None => table.clone(),
    };
    let factor = ast::TableFactor {
        alias: alias.clone(),
        ..ast::TableFactor::plain(table.clone())
    };
    let delete = ast::Delete {
        form: ast::DeleteForm::Multi {
            targets: vec![target],
            tables: vec![ast::TableRef::Table(Box::new(factor))],
        },
        ..delete.clone()
    };
    plan_delete_of(planner, &delete, Changes::This(Privileges::DELETE))
}

/// 1288
fn not_updatable(table: &ScopeTable, verb: &str) -> SqlError {
    SqlError::new(ErrorKind::NonUpdatableTable, &[&table.alias, &verb])
}

/// The table of a slot and the slot there: those below a view for a view's column, 1348 for one that it computes.
fn changed_column(scope: &QueryScope<'_, '_, '_>, slot: usize) -> SqlResult<(usize, usize)> {
    let of = |slot: usize| {
        let mut tables = scope.tables.iter();
        tables
            .position(|table| table.slots().contains(&slot))
            .expect("the slot of a table")
    };
    let at = of(slot);
    let table = &scope.tables[at];
    let TableSource::Merged { columns, .. } = &table.source else {
        return Ok((at, slot));
    };
    let at = slot - table.offset;
    let below = columns[at].as_column();
    let below = below.ok_or_else(|| SqlError::new(ErrorKind::NonupdateableColumn, &[&table.columns[at].name]))?;
    Ok((of(below), below))
}

/// 1143 where a column of a view may not be changed.
fn check_column_of_view(planner: &Planner<'_>, scope: &QueryScope<'_, '_, '_>, slot: usize) -> SqlResult<()> {
    let table = scope.tables.iter().find(|table| table.slots().contains(&slot));
    let Some((table, TableSource::Merged { view, .. })) = table.map(|table| (table, &table.source)) else {
        return Ok(());
    };
    planner.check_table_or_columns(&view.database, &view.name, Privileges::UPDATE)?;
    let column = &table.columns[slot - table.offset].original_name;
    planner.check_column(&view.database, &view.name, column, Privileges::UPDATE)
}

/// 1393 where two tables of one view would be changed.
fn check_one_table_of_view(scope: &QueryScope<'_, '_, '_>, changed: impl Iterator<Item = usize>) -> SqlResult<()> {
    let mut views = Vec::new();
    for at in changed {
        let Some(below) = &scope.tables[at].below else { continue };
        if views.contains(&below.view) {
            let view = &scope.tables[below.view];
            let database = view.database.as_deref().unwrap_or_default();
            return Err(SqlError::new(ErrorKind::ViewMultiupdate, &[&database, &view.alias]));
        }
        views.push(below.view);
    }
    Ok(())
}

/// The table itself, or the only one below a view; 1395 where there are several.
fn table_to_delete_from(scope: &QueryScope<'_, '_, '_>, at: usize) -> SqlResult<usize> {
    let TableSource::Merged { view, .. } = &scope.tables[at].source else {
        return Ok(at);
    };
    let is_below = |table: &ScopeTable| table.has_rows() && table.below.as_ref().is_some_and(|below| below.view == at);
    let mut below = (0..scope.tables.len()).filter(|place| is_below(&scope.tables[*place]));
    match (below.next(), below.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(SqlError::new(
            ErrorKind::ViewDeleteMergeView,
            &[&view.database, &view.name],
        )),
    }
}

/// Views beside those that are changed are read.
fn check_views_read(
    planner: &Planner<'_>,
    scope: &QueryScope<'_, '_, '_>,
    targets: &[(usize, Option<Vec<Assignment>>)],
) -> SqlResult<()> {
    let is_changed = |view: usize| {
        let mut below = targets.iter().filter_map(|(at, _)| scope.tables[*at].below.as_ref());
        below.any(|below| below.view == view)
    };
    for (at, table) in scope.tables.iter().enumerate() {
        if let TableSource::Merged { view, questions, .. } = &table.source
            && table.is_visible()
            && !is_changed(at)
        {
            planner.check_table_or_columns(&view.database, &view.name, Privileges::SELECT)?;
            planner.ask_deferred(view, questions)?;
        }
    }
    Ok(())
}

fn finish(
    planner: &Planner<'_>,
    mut scope: QueryScope<'_, '_, '_>,
    tree: super::from::FromTree,
    filter: Option<&ast::Expr>,
    targets: Vec<(usize, Option<Vec<Assignment>>)>,
    ignore: bool,
) -> SqlResult<MultiTableChange> {
    scope.clause = Clause::Where;
    let mut conditions = match filter {
        None => Vec::new(),
        Some(filter) => {
            let (ctx, options) = (planner.ctx, planner.options());
            Binder::new(&mut scope, ctx, options)
                .bind_condition(filter)?
                .into_conjuncts()
        }
    };
    find_zero_dates(planner, &mut conditions, |slot| scope.named_column(slot))?;
    check_views_read(planner, &scope, &targets)?;
    let tree = match scope.steering.is_fixed {
        true => tree,
        false => {
            let tree = join_with_queries(&mut scope, tree, &mut conditions);
            join_with_correlated(&mut scope, tree, &mut conditions)
        }
    };
    // Rows are changed whole, and found again by their keys.
    for (at, _) in &targets {
        let columns = scope.tables[*at].column_slots().len();
        scope.tables[*at].used[..columns].fill(true);
    }
    let mut width = scope.width();
    let mut row_ids = Vec::new();
    let mut changed = Vec::with_capacity(targets.len());
    for (at, assignments) in targets {
        let TableSource::Base { table, .. } = scope.tables[at].source.clone() else {
            return Err(not_updatable(&scope.tables[at], "DELETE"));
        };
        let privilege = match assignments.is_some() {
            true => Privileges::UPDATE,
            false => Privileges::DELETE,
        };
        if let Some(below) = &scope.tables[at].below {
            let view = &scope.tables[below.view];
            let database = view.database.as_deref().unwrap_or_default();
            let name = match &view.source {
                TableSource::Merged { view, .. } => &view.name,
                _ => &view.alias,
            };
            planner.check_table_or_columns(database, name, privilege)?;
        }
        match (&assignments, &scope.tables[at].below) {
            (Some(list), Some(below)) => {
                let (def, access) = (&table.def, &below.access);
                access.check_table_or_columns(&def.database, &def.name, privilege)?;
                for assignment in list {
                    access.check_column(
                        &def.database,
                        &def.name,
                        &def.columns[assignment.column].name,
                        privilege,
                    )?;
                }
            }
            (Some(list), None) if !table.id().is_local() => {
                planner.check_table_or_columns(&table.def.database, &table.def.name, privilege)?;
                for assignment in list {
                    let column = &table.def.columns[assignment.column].name;
                    planner.check_column(&table.def.database, &table.def.name, column, privilege)?;
                }
            }
            _ => scope.tables[at].check_privileges(planner, &table.def, privilege)?,
        }
        let offset = scope.tables[at].offset;
        let row_id = table.def.primary().is_none().then_some(width);
        if let Some(slot) = row_id {
            row_ids.push((at, slot));
            width += 1;
        }
        let assigned = assignments
            .as_ref()
            .map(|list| list.iter().map(|assignment| assignment.column).collect::<Vec<_>>());
        let change = assigned.as_deref().map_or(RowChange::Delete, RowChange::Update);
        let views = match &assignments {
            Some(_) => scope.view_rules(at),
            None => Vec::new(),
        };
        for column in views.iter().flat_map(|rule| rule.condition.referenced_columns()) {
            scope.mark_used(column);
        }
        changed.push(TargetTable {
            views,
            rules: write_rules(planner, &table)?,
            foreign_keys: foreign_keys(planner, &table, change)?,
            table,
            offset,
            row_id,
            assignments,
        });
    }
    let locks = vec![None; scope.tables.len()];
    let order = OrderWish::default();
    let (join, filter) = JoinPlanner {
        scope: &scope,
        order,
        locks,
        row_ids,
        before: wished_before(&scope),
    }
    .plan(tree, conditions)?;
    Ok(MultiTableChange {
        join,
        filter,
        width,
        changed: changed.iter().map(|target| target.table.clone()).collect(),
        targets: changed,
        ignore,
        locked: planner.locked.take(),
    })
}
