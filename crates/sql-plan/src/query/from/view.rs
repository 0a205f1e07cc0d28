//! A view in FROM.
//!
//! If its rows are rows of a join, the view is *merged*: its tables and its condition become a part of the query around it, so
//! that joins are ordered and indexes are chosen over both; its columns stand for expressions over those tables. Any other
//! view is a derived table, computed by itself (MySQL manual, "View Processing Algorithms").

use std::sync::Arc;

use catalog::{Privileges, ViewCheck, ViewDef};
use parser::ast::{self, QueryBody, Select};
use sql_api::result::{ColumnFlags, ResultColumn};
use sql_expr::{Binder, Clause, Expr};
use types::{ErrorKind, SqlError, SqlResult};

use super::super::common::renamed;
use super::super::scope::{BelowView, Changes, QueryScope, ScopeTable, TableSource};
use super::super::select::bind_items;
use super::super::{CommonTables, plan_in};
use super::{Bound, FromTree, MAX_JOINED, add_table, bind_ref, check_unique_names};
use crate::planner::Planner;
use crate::scope::Through;
use crate::table::Table;
use crate::views::{told_of_view, view_query};

/// Binds a reference to a view, for reading.
pub(super) fn bind_view(
    scope: &mut QueryScope<'_, '_, '_>,
    view: &Arc<ViewDef>,
    factor: &ast::TableFactor,
) -> SqlResult<Bound> {
    let planner = scope.planner;
    let alias = factor.alias.as_ref().unwrap_or(&factor.name.name);
    let changed = scope.changes.filter(|_| !planner.is_in_view());
    match changed {
        None => planner.check_table_or_columns(&view.database, &view.name, Privileges::SELECT)?,
        Some(Changes::This(wanted)) => planner.check_table_or_columns(&view.database, &view.name, wanted)?,
        Some(Changes::Some(wanted)) => {
            let read = planner.check_table_or_columns(&view.database, &view.name, Privileges::SELECT);
            read.or_else(|error| {
                let changed = planner.check_table_or_columns(&view.database, &view.name, wanted);
                changed.map_err(|_| error)
            })?;
        }
    }
    planner.check_explained(view)?;
    // A view that is computed by itself is read as a whole.
    let whole = planner.check_table(&view.database, &view.name, Privileges::SELECT);
    if !view.is_changeable() {
        whole.clone()?;
    }
    planner.check_lock(&view.database, &view.name, alias)?;
    if let Some(hint) = factor.index_hints.iter().find_map(|hint| hint.indexes.first()) {
        return Err(SqlError::new(ErrorKind::KeyDoesNotExist, &[&hint.as_str(), &view.name]));
    }
    let _open = planner.open_view(view)?;
    let query = view_query(view)?;
    let bound = planner.views.nesting.inside(|| match &query.body {
        QueryBody::Select(select) if view.is_changeable() && !planner.is_unmergeable(view, scope.optional) => {
            match merge(scope, view, alias, select, changed.is_some())? {
                Some(bound) => Ok(bound),
                None => whole.and_then(|()| derive(scope, view, alias, &query)),
            }
        }
        _ => whole.and_then(|()| derive(scope, view, alias, &query)),
    });
    bound.map_err(|error| told_of_view(view, error))
}

/// As a table of its own.
fn derive(
    scope: &mut QueryScope<'_, '_, '_>,
    view: &Arc<ViewDef>,
    alias: &str,
    query: &ast::Query,
) -> SqlResult<Bound> {
    let plan = plan_in(scope.planner, query, &CommonTables::default(), None)?;
    let names: Vec<ast::Ident> = view.columns.iter().map(|name| name.as_str().into()).collect();
    let shape = renamed(&plan.shape, &names, &view.name)?;
    let columns = columns_of(view, alias, &shape.columns);
    let source = TableSource::Derived(Arc::new(plan));
    let offset = scope.width();
    Ok(add_table(
        scope,
        ScopeTable {
            database: Some(view.database.clone()),
            ..ScopeTable::new(alias, columns, offset, source)
        },
    ))
}

/// Most operators and operands in the columns of a merged view, and most that stand in each other.
const MERGED_NODES: usize = 10_000;
const MERGED_DEPTH: usize = 200;

/// As a part of the query around it; `None` where that cannot be: a computed column has no value in a row that an outer join adds,
/// which its expression would not know. Nor is it where the merge would grow too much: a column that stands twice in the one above
/// doubles with each view, and a join has so many tables at most.
fn merge(
    scope: &mut QueryScope<'_, '_, '_>,
    view: &Arc<ViewDef>,
    alias: &str,
    select: &Select,
    is_changed: bool,
) -> SqlResult<Option<Bound>> {
    let start = scope.tables.len();
    let before = (
        std::mem::replace(&mut scope.visible, start..start),
        std::mem::take(&mut scope.common),
        scope.clause,
    );
    let planner = scope.planner;
    // Whoever changes rows of one table reads nothing yet.
    let later = is_changed && matches!(select.from.as_slice(), [ast::TableRef::Table(_)]);
    let mut bind = || scope.alone(|scope| bind_inside(scope, view, start, select));
    let bound = match later {
        true => planner.asking_later(bind),
        false => bind().map(|inside| (inside, Vec::new())),
    };
    (scope.visible, scope.common, scope.clause) = before;
    let (
        Inside {
            tree,
            columns,
            exprs,
            own,
        },
        questions,
    ) = bound?;
    let mut nodes = MERGED_NODES;
    let is_small = exprs.iter().all(|expr| expr.fits(&mut nodes, MERGED_DEPTH));
    let loses_rows = scope.optional && exprs.iter().any(|expr| expr.as_column().is_none());
    if !is_small || loses_rows {
        scope.planner.note_unmergeable(view, scope.optional);
    }
    if !is_small || loses_rows || scope.tables_with_rows() > MAX_JOINED {
        scope.tables.truncate(start);
        return Ok(None);
    }
    let checked = checked_by(view, &tree, own, &scope.tables[start..]).into();
    let (at, access) = (scope.tables.len(), scope.planner.access());
    for table in &mut scope.tables[start..] {
        match &mut table.below {
            Some(below) => below.view = at,
            None => {
                table.below = Some(BelowView {
                    view: at,
                    access: access.clone(),
                });
            }
        }
    }
    let offset = scope.next_merged_slot();
    let source = TableSource::Merged {
        view: view.clone(),
        columns: exprs,
        questions: questions.into(),
        checked,
    };
    let table = ScopeTable {
        database: Some(view.database.clone()),
        ..ScopeTable::new(alias, columns_of(view, alias, &columns), offset, source)
    };
    let shown = table.slots().collect();
    scope.tables.push(table);
    Ok(Some(Bound {
        tree,
        shown,
        tables: start..at + 1,
    }))
}

/// What holds for rows that are changed through the view. `below` are its tables.
fn checked_by(view: &ViewDef, tree: &FromTree, own: Vec<Expr>, below: &[ScopeTable]) -> Vec<Expr> {
    let inner = below.iter().filter_map(|table| match &table.source {
        TableSource::Merged { checked, .. } if table.below.is_none() => Some(checked.clone()),
        _ => None,
    });
    let inner: Vec<_> = inner.collect();
    let of_inner = inner.iter().flat_map(|checked| checked.iter().cloned());
    match view.check {
        None => of_inner.collect(),
        Some(ViewCheck::Local) if !inner.is_empty() => own.into_iter().chain(of_inner).collect(),
        // Without views below, what its joins ask for is its own, too.
        Some(ViewCheck::Local | ViewCheck::Cascaded) => {
            let mut all = Vec::new();
            tree.add_conditions(&mut all);
            all
        }
    }
}

/// The text of a merged view, bound.
struct Inside {
    tree: FromTree,
    /// The condition of its WHERE.
    own: Vec<Expr>,
    columns: Vec<ResultColumn>,
    exprs: Vec<Expr>,
}

fn bind_inside(scope: &mut QueryScope<'_, '_, '_>, view: &ViewDef, start: usize, select: &Select) -> SqlResult<Inside> {
    let mut children = Vec::with_capacity(select.from.len());
    let mut shown = Vec::new();
    for table in &select.from {
        let bound = bind_ref(scope, table)?;
        children.push(bound.tree);
        shown.extend(bound.shown);
    }
    scope.visible = start..scope.tables.len();
    check_unique_names(&scope.tables[start..])?;
    let mut conditions = Vec::new();
    if let Some(filter) = &select.filter {
        scope.clause = Clause::Where;
        let (ctx, options) = (scope.planner.ctx, scope.planner.options());
        let planner = scope.planner;
        conditions = planner
            .asking_now(|| Binder::new(scope, ctx, options).bind_condition(filter))?
            .into_conjuncts();
    }
    scope.clause = Clause::FieldList;
    let (exprs, columns) = bind_items(scope, &select.items, &shown)?;
    if columns.len() != view.columns.len() {
        return Err(SqlError::new(ErrorKind::ViewWrongList, &[&view.name]));
    }
    let own = conditions.clone();
    let tree = FromTree::Inner {
        children,
        conditions,
        fixed: select.options.straight_join,
    };
    Ok(Inside {
        tree,
        own,
        columns,
        exprs,
    })
}

/// The table below a view that an INSERT goes to, whose columns are all columns of it; 1471 for any other view. Of a view of several
/// tables, `named` says which columns get values: those of one of them (1393), and some (1394). The caller asks for privileges on the
/// columns.
pub fn insert_target(
    planner: &Planner<'_>,
    view: &Arc<ViewDef>,
    privileges: Privileges,
    named: Option<&[&ast::ColumnName]>,
) -> SqlResult<(Arc<Table>, Through)> {
    planner.check_table_or_columns(&view.database, &view.name, privileges)?;
    planner.check_lock(&view.database, &view.name, &view.name)?;
    let refused = || SqlError::new(ErrorKind::NonInsertableTable, &[&view.name, &"INSERT"]);
    let open = planner.open_view(view)?;
    let query = view_query(view)?;
    let mut scope = QueryScope::new(planner, None);
    let select = match &query.body {
        QueryBody::Select(select) if view.is_changeable() => select,
        _ => return Err(refused()),
    };
    let merged = merge(&mut scope, view, &view.name, select, true).map_err(|error| told_of_view(view, error))?;
    drop(open);
    if merged.is_none() {
        return Err(refused());
    }
    let Some((entry, below)) = scope.tables.split_last() else {
        return Err(refused());
    };
    let TableSource::Merged { columns, questions, .. } = &entry.source else {
        return Err(refused());
    };
    let slots: Vec<usize> = columns
        .iter()
        .map(Expr::as_column)
        .collect::<Option<_>>()
        .ok_or_else(refused)?;
    let with_rows: Vec<usize> = (0..below.len()).filter(|at| below[*at].has_rows()).collect();
    let at = match with_rows.as_slice() {
        [only] => *only,
        _ => {
            let names: [&dyn std::fmt::Display; 2] = [&view.database, &view.name];
            let named = named.filter(|named| !named.is_empty());
            let named = named.ok_or_else(|| SqlError::new(ErrorKind::ViewNoInsertFieldList, &names))?;
            let mut tables = Vec::new();
            for name in named {
                governor::tick()?;
                let of_view = view
                    .columns
                    .iter()
                    .position(|known| catalog::same_name(known, &name.name));
                let of_view = of_view.ok_or_else(|| sql_expr::scope::unknown_column(name, Clause::FieldList))?;
                tables.extend(
                    with_rows
                        .iter()
                        .filter(|at| below[**at].slots().contains(&slots[of_view])),
                );
            }
            tables.dedup();
            match tables.as_slice() {
                [one] => *one,
                _ => return Err(SqlError::new(ErrorKind::ViewMultiupdate, &names)),
            }
        }
    };
    let base = &below[at];
    let TableSource::Base { table, .. } = &base.source else {
        return Err(refused());
    };
    base.check_privileges(planner, &table.def, privileges)
        .map_err(|error| told_of_view(view, error))?;
    let columns: Vec<Option<usize>> = slots
        .iter()
        .map(|slot| base.slots().contains(slot).then(|| slot - base.offset))
        .collect();
    let twice = |(at, column): (usize, &Option<usize>)| column.is_some() && columns[..at].contains(column);
    if columns.iter().enumerate().any(twice) {
        return Err(refused());
    }
    // What looks at rows of other tables cannot be asked of a new one of this table.
    let mut rules = scope.view_rules(at);
    let (slots, questions) = (base.slots(), questions.clone());
    for rule in &mut rules {
        let asks_others = |slot: &usize| !slots.contains(slot);
        if rule.condition.referenced_columns().iter().any(asks_others)
            || (slots.start > 0 && rule.condition.has_subquery())
        {
            return Err(SqlError::not_supported("INSERT into a join view WITH CHECK OPTION"));
        }
        rule.condition.shift_columns(slots.start);
    }
    Ok((
        table.clone(),
        Through {
            view: view.clone(),
            columns,
            questions,
            rules,
        },
    ))
}

/// The columns of a view's query as the view's own.
fn columns_of(view: &ViewDef, alias: &str, columns: &[ResultColumn]) -> Vec<ResultColumn> {
    let columns = columns.iter().zip(&view.columns);
    columns
        .map(|(column, name)| ResultColumn {
            database: view.database.clone(),
            table: alias.to_owned(),
            original_table: view.name.clone(),
            name: name.clone(),
            original_name: name.clone(),
            flags: ColumnFlags::default(),
            ..column.clone()
        })
        .collect()
}
