//! UPDATE and DELETE over several tables: a query finds the rows, by the keys of the tables to change.

use std::sync::Arc;

use parser::ast;
use types::{ErrorKind, SqlError, SqlResult};

use super::from::bind_from;
use super::join::{Join, JoinPlanner};
use super::scope::{CommonTables, QueryScope, TableSource, with_common_tables};
use crate::exec::dml::{Assignment, ForeignKeys, WriteRules};
use crate::expr::{Binder, Clause, Expr};
use crate::plan::access::OrderWish;
use crate::plan::{Planner, RowChange, foreign_keys, write_rules};
use crate::table::Table;

/// A change of the rows that a join finds.
#[derive(Debug)]
pub struct MultiTableChange {
    pub join: Join,
    pub filter: Vec<Expr>,
    pub width: usize,
    pub targets: Vec<TargetTable>,
    pub ignore: bool,
}

/// A table whose rows are changed.
#[derive(Debug)]
pub struct TargetTable {
    pub table: Arc<Table>,
    /// The slot of its first column.
    pub offset: usize,
    pub rules: WriteRules,
    pub foreign_keys: Option<Arc<ForeignKeys>>,
    /// Values over the wide row; `None` to delete.
    pub assignments: Option<Vec<Assignment>>,
}

impl MultiTableChange {
    pub fn changed_tables(&self) -> Vec<Arc<Table>> {
        self.targets.iter().map(|target| target.table.clone()).collect()
    }

    pub fn is_delete(&self) -> bool {
        self.targets.iter().all(|target| target.assignments.is_none())
    }
}

pub fn plan_multi_update(planner: &Planner<'_>, update: &ast::Update) -> SqlResult<MultiTableChange> {
    if !update.order_by.is_empty() || update.limit.is_some() {
        return Err(SqlError::new(ErrorKind::WrongUsage, &[&"UPDATE", &"ORDER BY"]));
    }
    let mut scope = QueryScope::new(planner, None);
    scope.common = with_common_tables(planner, update.with.as_ref(), &CommonTables::default())?;
    let tree = bind_from(&mut scope, &update.tables, false)?;
    let (tree, _) = tree.ok_or_else(|| SqlError::internal("an UPDATE has tables"))?;
    scope.clause = Clause::FieldList;
    let mut per_table: Vec<(usize, Vec<Assignment>)> = Vec::new();
    for assignment in &update.assignments {
        let slot = scope
            .find(&assignment.column)?
            .ok_or_else(|| crate::expr::scope::unknown_column(&assignment.column, Clause::FieldList))?;
        let at = scope
            .tables
            .iter()
            .position(|table| table.slots().contains(&slot))
            .expect("the slot of a table");
        let TableSource::Base { table, .. } = scope.tables[at].source.clone() else {
            return Err(SqlError::new(
                ErrorKind::NonUpdatableTable,
                &[&scope.tables[at].alias, &"UPDATE"],
            ));
        };
        let column = slot - scope.tables[at].offset;
        let definition = &table.def.columns[column];
        if definition.generated.is_some() {
            let names: [&dyn std::fmt::Display; 2] = [&definition.name, &table.def.name];
            return Err(SqlError::new(ErrorKind::NonDefaultValueForGeneratedColumn, &names));
        }
        let value = match &assignment.value {
            ast::Expr::Default => match crate::ddl::constant_default(definition) {
                Some(value) => Expr::literal(value, definition.ty.clone()),
                None => return Err(SqlError::new(ErrorKind::NoDefaultForField, &[&definition.name])),
            },
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
    let targets = per_table
        .into_iter()
        .map(|(at, assignments)| (at, Some(assignments)))
        .collect();
    finish(planner, scope, tree, update.filter.as_ref(), targets, update.ignore)
}

pub fn plan_multi_delete(planner: &Planner<'_>, delete: &ast::Delete) -> SqlResult<MultiTableChange> {
    let ast::DeleteForm::Multi { targets: names, tables } = &delete.form else {
        return Err(SqlError::internal("a DELETE from one table is planned elsewhere"));
    };
    let mut scope = QueryScope::new(planner, None);
    scope.common = with_common_tables(planner, delete.with.as_ref(), &CommonTables::default())?;
    let tree = bind_from(&mut scope, tables, false)?;
    let (tree, _) = tree.ok_or_else(|| SqlError::internal("a DELETE has tables"))?;
    let mut targets = Vec::with_capacity(names.len());
    for name in names {
        let matches = |table: &super::scope::ScopeTable| {
            table.alias == name.name.as_str()
                && name
                    .schema
                    .as_ref()
                    .is_none_or(|schema| table.database.as_deref() == Some(schema.as_str()))
        };
        let at = scope.tables.iter().position(matches);
        let at = at.ok_or_else(|| SqlError::new(ErrorKind::UnknownTable, &[&name.name.as_str(), &"MULTI DELETE"]))?;
        if targets.iter().any(|(other, _)| *other == at) {
            return Err(SqlError::new(ErrorKind::NonUniqTable, &[&name.name.as_str()]));
        }
        targets.push((at, None));
    }
    finish(planner, scope, tree, delete.filter.as_ref(), targets, delete.ignore)
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
    let conditions = match filter {
        None => Vec::new(),
        Some(filter) => {
            let (ctx, options) = (planner.ctx, planner.options());
            Binder::new(&mut scope, ctx, options)
                .bind_condition(filter)?
                .into_conjuncts()
        }
    };
    // Rows are changed whole, and found again by their keys.
    for (at, _) in &targets {
        scope.tables[*at].used.fill(true);
    }
    let mut changed = Vec::with_capacity(targets.len());
    for (at, assignments) in targets {
        let TableSource::Base { table, .. } = scope.tables[at].source.clone() else {
            return Err(SqlError::new(
                ErrorKind::NonUpdatableTable,
                &[&scope.tables[at].alias, &"DELETE"],
            ));
        };
        if table.def.primary().is_none() {
            return Err(SqlError::not_supported(
                "changes of several tables where one has no primary key",
            ));
        }
        let privilege = if assignments.is_some() { "UPDATE" } else { "DELETE" };
        planner
            .access
            .check_table(&table.def.database, &table.def.name, &[privilege])?;
        let offset = scope.tables[at].offset;
        let assigned = assignments
            .as_ref()
            .map(|list| list.iter().map(|assignment| assignment.column).collect::<Vec<_>>());
        let change = assigned.as_deref().map_or(RowChange::Delete, RowChange::Update);
        changed.push(TargetTable {
            rules: write_rules(planner, &table)?,
            foreign_keys: foreign_keys(planner, &table, change)?,
            table,
            offset,
            assignments,
        });
    }
    let width = scope.width();
    let locks = vec![None; scope.tables.len()];
    let order = OrderWish::default();
    let (join, filter) = JoinPlanner {
        scope: &scope,
        order,
        locks,
    }
    .plan(tree, conditions)?;
    Ok(MultiTableChange {
        join,
        filter,
        width,
        targets: changed,
        ignore,
    })
}
