//! One SELECT: its clauses bound in the order in which names become known, then the joins.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use catalog::{IndexDef, same_name};
use parser::ast::{self, QueryBody, Select, SelectItem};
use sql_api::result::{ColumnFlags, ResultColumn, ResultShape};
use sql_expr::sort::SortKey;
use sql_expr::sql_mode::SqlMode;
use sql_expr::{AggregateCall, Binder, Clause, Expr, ExprKind, Scope};
use types::{ErrorKind, SqlError, SqlResult};

use super::aliases::{Aliases, Beside};
use super::common::CommonTables;
use super::dependence::{Dependences, Facts, printed};
use super::determined::determined_by;
use super::estimate::{rows_asked, rows_of};
use super::from::bind_from;
use super::join::{BaseAccess, Join, JoinPlanner, wished_before};
use super::kept_keys::KeptKeys;
use super::locks::table_locks;
use super::lookup::{Lookup, Made, Untied};
use super::named_windows::NamedWindows;
use super::read_items::ReadItems;
use super::rollup::{KEYS_OF_ROLLUP_MAX, Rollup, check_no_grouping};
use super::scope::{QueryScope, ScopeTable, is_unknown_column};
use super::semijoin::{join_with_correlated, join_with_queries};
use super::window::{WindowPlan, check_unused_windows, replace_windows};
use super::{Body, QueryPlan, bind_limit};
use crate::access::{OrderWish, RangeSpec};
use crate::hints::Steering;
use crate::planner::Planner;
use crate::zero_dates::find_zero_dates;

/// A SELECT over one wide row: the slots of all tables, then of aggregates, then of window functions.
#[derive(Debug)]
pub struct SelectPlan {
    /// None without FROM: one row without columns.
    pub from: Option<Arc<Join>>,
    /// How the rows are found without running the join for each row around, of a correlated query.
    pub lookup: Option<Box<Lookup>>,
    /// The columns of the rows around that alone decide its one row, of a correlated aggregate.
    pub determined_by: Option<Vec<Expr>>,
    /// Slots of the wide row.
    pub width: usize,
    /// Conditions without columns: asked once, before anything is read.
    pub constant_filter: Vec<Expr>,
    /// Conditions that no join has taken.
    pub filter: Vec<Expr>,
    pub grouping: Option<Grouping>,
    pub having: Option<Expr>,
    pub windows: Vec<WindowPlan>,
    pub items: Vec<Expr>,
    /// Which items are computed; the others are NULL.
    pub read: ReadItems,
    /// The slots of tables that something else than an item reads.
    pub used_beside: BTreeSet<usize>,
    pub distinct: bool,
    /// Nobody asks how often a row comes.
    is_set: AtomicBool,
    /// Nobody asks for more than whether there is a row.
    pub(super) is_existence: AtomicBool,
    /// Empty where the first table's index gives the order.
    pub order: Vec<SortKey>,
}

impl SelectPlan {
    /// Expressions over the rows of a join, and nothing else.
    pub(super) fn of_rows(join: Arc<Join>, width: usize, constant_filter: Vec<Expr>, items: Vec<Expr>) -> SelectPlan {
        SelectPlan {
            from: Some(join),
            lookup: None,
            determined_by: None,
            width,
            constant_filter,
            filter: Vec::new(),
            grouping: None,
            having: None,
            windows: Vec::new(),
            items,
            read: ReadItems::default(),
            used_beside: BTreeSet::new(),
            distinct: false,
            is_set: AtomicBool::new(false),
            is_existence: AtomicBool::new(false),
            order: Vec::new(),
        }
    }

    /// Rows that are the same come once.
    pub fn is_distinct(&self) -> bool {
        self.distinct || self.is_set.load(Ordering::Relaxed)
    }

    /// Who reads it asks whether a row is there, not how often.
    pub(super) fn note_distinct(&self) {
        self.is_set.store(true, Ordering::Relaxed);
    }

    pub(super) fn note_existence(&self) {
        self.is_existence.store(true, Ordering::Relaxed);
    }
}

/// GROUP BY, and aggregates without it.
#[derive(Debug)]
pub struct Grouping {
    pub keys: Vec<Expr>,
    pub aggregates: Vec<AggregateCall>,
    /// The slot of the first aggregate.
    pub offset: usize,
    /// WITH ROLLUP.
    pub rollup: Option<Rollup>,
    /// Keys that are not computed again.
    pub kept: KeptKeys,
    /// Whether MySQL collects the groups in a table: what it stores there has the digits of its type.
    pub is_table: bool,
}

/// Plans a query whose body is a SELECT or a TABLE.
pub fn plan_select_query(
    planner: &Planner<'_>,
    query: &ast::Query,
    common: &CommonTables,
    outer: Option<&mut dyn Scope>,
) -> SqlResult<QueryPlan> {
    let table_form;
    let select = match &query.body {
        QueryBody::Select(select) => &**select,
        QueryBody::Table(name) => {
            table_form = select_all(name);
            &table_form
        }
        _ => return Err(SqlError::internal("only a SELECT is planned here")),
    };
    let mut scope = QueryScope::new(planner, outer);
    scope.common = common.clone();
    let (limit, offset) = bind_limit(planner, query.limit.as_ref())?;
    let (plan, shape, dependences) = plan_select(planner, &mut scope, select, query, limit.as_ref())?;
    let body = Body::Select(Box::new(plan));
    Ok(QueryPlan {
        rows: rows_of(&body, limit.as_ref()),
        shape,
        body,
        order: Vec::new(),
        limit,
        offset,
        correlated: scope.correlated(),
        into: Vec::new(),
        into_file: None,
        count_all: select.options.sql_calc_found_rows,
        locked: Vec::new(),
        dependences: Arc::new(dependences),
        renewed: scope.tables.iter().filter_map(ScopeTable::renewed).collect(),
    })
}

/// `TABLE t` is `SELECT * FROM t`.
fn select_all(name: &ast::TableName) -> Select {
    let factor = ast::TableFactor::plain(name.clone());
    Select::all_of(vec![ast::TableRef::Table(Box::new(factor))])
}

fn plan_select(
    planner: &Planner<'_>,
    scope: &mut QueryScope<'_, '_, '_>,
    select: &Select,
    query: &ast::Query,
    limit: Option<&Expr>,
) -> SqlResult<(SelectPlan, Arc<ResultShape>, Dependences)> {
    scope.steering = Steering::of(select.hints.as_deref());
    let is_fixed = select.options.straight_join || scope.steering.is_fixed;
    let from = bind_from(scope, &select.from, is_fixed)?;
    scope.clause = Clause::Where;
    let conditions = match &select.filter {
        None => Ok(Vec::new()),
        Some(filter) => binder(scope).bind_condition(filter).map(Expr::into_conjuncts),
    };
    let conditions = match conditions {
        Ok(mut conditions) => {
            find_zero_dates(planner, &mut conditions, |slot| scope.named_column(slot))?;
            Ok(conditions)
        }
        refused => refused,
    };
    let conditions = match conditions {
        Err(error) if !is_unknown_column(&error) => return Err(error),
        conditions => conditions,
    };
    let (from, conditions) = match (from, conditions) {
        (Some((tree, shown)), Ok(mut conditions)) if !is_fixed => {
            let mut tree = join_with_queries(scope, tree, &mut conditions);
            // Which rows it locks is not for the planner to choose.
            if query.locks.is_empty() {
                tree = join_with_correlated(scope, tree, &mut conditions);
            }
            (Some((tree, shown)), Ok(conditions))
        }
        unchanged => unchanged,
    };
    let width = scope.width();
    scope.named_windows = NamedWindows::new(&select.windows)?;
    let (mut tree, shown) = match from {
        Some((tree, shown)) => (Some(tree), shown),
        None => (None, Vec::new()),
    };
    scope.clause = Clause::FieldList;
    scope.aggregates = Some(Vec::new());
    scope.is_grouped = !select.group_by.is_empty();
    scope.windows = Some(Vec::new());
    let mut used_beside = scope.used_slots();
    let (mut items, mut columns) = bind_items(scope, &select.items, &shown)?;
    let mut conditions = conditions?;
    scope.check_on()?;
    scope.aliases = Aliases::new(columns.iter().map(|column| column.name.as_str()).zip(&items));
    let keys = bind_group_by(scope, select, &items)?;
    let named = match select.rollup || keys.iter().any(Expr::is_volatile) {
        true => items_named(
            select.group_by.iter().map(|item| &item.expr).zip(&keys),
            &items,
            &columns,
        ),
        false => Vec::new(),
    };
    let key_of_item = |item: usize| named.iter().position(|named| *named == Some(item));
    scope.set_group_columns(keys.iter().filter_map(Expr::as_column).collect());
    scope.clause = Clause::Having;
    scope.prefers_aliases = true;
    scope.has_literal_keys = select.rollup && keys.iter().any(|key| key.as_literal().is_some());
    // Groups are chosen before the first window.
    let windows = scope.windows.take();
    let mut having = match &select.having {
        None => None,
        Some(having) => Some(binder(scope).bind_condition(having)?),
    };
    check_unused_windows(scope)?;
    scope.windows = windows;
    scope.clause = Clause::OrderBy;
    let mut order = Vec::with_capacity(query.order_by.len());
    let aggregates = |scope: &QueryScope<'_, '_, '_>| scope.aggregates.as_ref().map_or(0, Vec::len);
    let is_grouped = !select.group_by.is_empty() || aggregates(scope) > 0;
    // The slots of the aggregates of each item of the order.
    let mut computed = Vec::with_capacity(query.order_by.len());
    for item in &query.order_by {
        let before = aggregates(scope);
        // A name alone is an alias first, one inside of an expression a column.
        scope.prefers_aliases = matches!(item.expr, ast::Expr::Column(_));
        order.push(SortKey {
            expr: bind_position_or(scope, &item.expr, &items, Clause::OrderBy)?,
            descending: item.descending,
        });
        if !is_grouped && aggregates(scope) > 0 {
            // An aggregate in the order alone would leave one row.
            return Err(SqlError::new(ErrorKind::AggregateOrderNonAggQuery, &[&order.len()]));
        }
        computed.push(width + before..width + aggregates(scope));
    }
    let aggregates = scope.aggregates.take().unwrap_or_default();
    let mut windows = scope.windows.take().unwrap_or_default();
    if let Some(having) = &having {
        check_having(scope, having, &items, &keys)?;
    }
    let shown = Shown {
        items: &items,
        having: having.as_ref(),
        order: &order,
        aggregates: &aggregates,
        windows: &windows,
    };
    let mut dependences = Dependences::default();
    // Only a query around this one asks what its columns determine of each other.
    let is_inside = planner.views.nesting.is_inside();
    if planner.ctx.settings.sql_mode.has(SqlMode::ONLY_FULL_GROUP_BY) && (is_grouped || is_inside) {
        let facts = Facts::new(scope, tree.as_ref(), &conditions, width + aggregates.len());
        if is_grouped {
            check_full_group_by(scope, &keys, &facts, &shown, !select.group_by.is_empty())?;
        }
        if is_inside && !select.rollup {
            let keys = is_grouped.then_some(keys.as_slice());
            dependences = facts.into_dependences(&items, keys, tree.is_some());
        }
    }
    if select.options.distinct && planner.ctx.settings.sql_mode.has(SqlMode::ONLY_FULL_GROUP_BY) {
        let is_shown = |key: &Expr| items.iter().any(|item| printed(item) == printed(key));
        // Groups that show all of their keys are distinct, and one row is.
        if !is_grouped || !keys.iter().all(is_shown) {
            check_distinct_order(scope, &shown, &computed)?;
        }
    }
    used_beside.extend(order.iter().flat_map(|key| key.expr.referenced_columns()));
    // Constants do not order anything, but for those that a rollup sums over.
    order.retain(|key| select.rollup || !key.expr.is_constant() || key.expr.has_window());
    if select.rollup && keys.len() > KEYS_OF_ROLLUP_MAX {
        return Err(SqlError::new(ErrorKind::RollupTooLong, &[&KEYS_OF_ROLLUP_MAX]));
    }
    let rollup = select.rollup.then(|| Rollup::new(keys.len(), width + aggregates.len()));
    let kept = match rollup {
        Some(_) => KeptKeys::default(),
        None => KeptKeys::of(&keys, &named, &items, width + aggregates.len()),
    };
    let ordered = match select.rollup {
        true => {
            let trees = query.order_by.iter().map(|item| &item.expr);
            items_named(trees.zip(order.iter().map(|key| &key.expr)), &items, &columns)
        }
        false => vec![None; order.len()],
    };
    let parts = items.iter_mut().enumerate().map(|(item, expr)| (expr, Some(item)));
    let sorted = order.iter_mut().map(|key| &mut key.expr).zip(ordered);
    for (expr, item) in parts
        .chain(having.iter_mut().map(|having| (having, None)))
        .chain(sorted)
    {
        match (rollup, item.and_then(key_of_item)) {
            (Some(rollup), Some(key)) => rollup.replace_with_key(expr, key),
            (Some(rollup), None) => rollup.replace_keys(expr, &keys)?,
            (None, _) => check_no_grouping(expr)?,
        }
    }
    kept.replace(
        &mut items,
        having.iter_mut().chain(order.iter_mut().map(|key| &mut key.expr)),
    );
    if rollup.is_some() {
        for (column, item) in columns.iter_mut().zip(&items) {
            column.ty.nullable = item.ty.nullable;
            column.flags = column.flags.without(ColumnFlags::NOT_NULL);
        }
    }
    let window_offset = width + aggregates.len() + rollup.map_or(kept.width(), Rollup::width);
    for expr in items
        .iter_mut()
        .chain(&mut having)
        .chain(order.iter_mut().map(|key| &mut key.expr))
    {
        replace_windows(expr, &windows, window_offset);
    }
    for (at, window) in windows.iter_mut().enumerate() {
        window.slot = window_offset + at;
    }
    if let Some(tree) = &mut tree {
        tree.take_constants(&mut conditions);
    }
    let plain = !is_grouped && windows.is_empty() && !select.options.distinct;
    if let Some(tree) = &mut tree {
        let order = order.iter_mut().filter(|_| plain).map(|key| &mut key.expr);
        scope.read_computed_keys(tree, conditions.iter_mut(), order)?;
    }
    let (constant_filter, conditions): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(Expr::is_constant);
    let mut grouping = is_grouped.then(|| Grouping {
        is_table: !keys.is_empty() && rollup.is_none() && !aggregates.iter().any(AggregateCall::needs_sorted_rows),
        keys,
        aggregates,
        offset: width,
        rollup,
        kept,
    });
    let columns_of = |key: &SortKey| Some((key.expr.as_column().filter(|slot| *slot < width)?, key.descending));
    let wish = match plain {
        true => order
            .iter()
            .map(columns_of)
            .collect::<Option<Vec<_>>>()
            .unwrap_or_default(),
        false => Vec::new(),
    };
    let wish = OrderWish {
        columns: wish,
        limit: limit
            .and_then(Expr::as_literal)
            .and_then(|rows| rows.to_string().parse().ok()),
    };
    let locks = table_locks(scope, &query.locks)?;
    let (mut lookup, mut determined) = (None, None);
    let (from, filter) = match tree {
        None => (None, conditions),
        Some(tree) => {
            let made = Made {
                items: &items,
                grouping: grouping.as_ref(),
                having: having.as_ref(),
                has_windows: !windows.is_empty(),
                leaves_out: select.options.distinct || limit.is_some(),
            };
            let has_locks = locks.iter().any(Option::is_some);
            let around = constant_filter.iter().chain(&conditions);
            let around = around.chain(order.iter().map(|key| &key.expr));
            determined = determined_by(scope, &tree, around, has_locks, &made);
            let untied = Untied::of(scope, &tree, &conditions, has_locks, &made);
            let dependents = made.dependents(&tree, conditions.iter().chain(order.iter().map(|key| &key.expr)));
            let wished = !wish.columns.is_empty();
            let (join, filter) = JoinPlanner {
                scope,
                order: wish,
                locks,
                row_ids: Vec::new(),
                before: wished_before(scope),
            }
            .plan(tree, conditions)?;
            if wished && first_table(&join).is_some_and(|access| access.path.ordered) {
                order.clear();
            }
            dependents.note_runs(rows_asked(&join));
            if let Some(untied) = untied {
                lookup = untied.plan(scope, &join)?;
            }
            (Some(join), filter)
        }
    };
    if let (Some(grouping), Some(Join::Base(access))) = (&mut grouping, &from) {
        grouping.is_table &= !reads_in_order_of(access, &grouping.keys);
    }
    let plan = SelectPlan {
        from: from.map(Arc::new),
        lookup: lookup.map(Box::new),
        determined_by: determined,
        width: window_offset + windows.len(),
        constant_filter,
        filter,
        grouping,
        having,
        windows,
        items,
        read: ReadItems::default(),
        used_beside,
        distinct: select.options.distinct,
        is_set: AtomicBool::new(false),
        is_existence: AtomicBool::new(false),
        order,
    };
    Ok((plan, ResultShape::new(columns), dependences))
}

fn binder<'b>(scope: &'b mut QueryScope<'_, '_, '_>) -> Binder<'b> {
    let (ctx, options) = (scope.planner.ctx, scope.planner.options());
    Binder::new(scope, ctx, options)
}

/// The select list, wildcards expanded.
pub(super) fn bind_items(
    scope: &mut QueryScope<'_, '_, '_>,
    items: &[SelectItem],
    shown: &[usize],
) -> SqlResult<(Vec<Expr>, Vec<ResultColumn>)> {
    let mut columns = Vec::with_capacity(items.len());
    let exprs = bind_each(scope, items, shown, &mut columns);
    scope.beside = Beside::default();
    Ok((exprs?, columns))
}

fn bind_each(
    scope: &mut QueryScope<'_, '_, '_>,
    items: &[SelectItem],
    shown: &[usize],
    columns: &mut Vec<ResultColumn>,
) -> SqlResult<Vec<Expr>> {
    let mut exprs = Vec::with_capacity(items.len());
    for item in items {
        if let SelectItem::Expr { alias: Some(alias), .. } = item {
            scope.beside.names.push(alias.as_str());
        }
    }
    for item in items {
        match item {
            SelectItem::Wildcard => {
                if scope.tables.is_empty() {
                    return Err(ErrorKind::NoTablesUsed.into());
                }
                for &slot in shown {
                    exprs.push(scope.column_of_wildcard(slot)?);
                    columns.push(scope.result_column(slot).clone());
                }
            }
            SelectItem::TableWildcard(name) => {
                let mut tables = scope.tables.iter();
                let table = tables.find(|table| table.is_named(name.schema.as_ref(), &name.name));
                let table = table.ok_or_else(|| SqlError::new(ErrorKind::BadTable, &[&name.name.as_str()]))?;
                let slots: Vec<usize> = table.shown().collect();
                for slot in slots {
                    exprs.push(scope.column_of_wildcard(slot)?);
                    columns.push(scope.result_column(slot).clone());
                }
            }
            SelectItem::Expr { expr, .. } => {
                let bound = binder(scope).bind(expr)?;
                let name = item.column_name().unwrap_or_default();
                let slot = match expr {
                    ast::Expr::Column(name) => scope.find(name)?,
                    _ => None,
                };
                let is_aliased = matches!(item, SelectItem::Expr { alias: Some(_), .. });
                let column = match slot {
                    Some(slot) if !is_aliased && scope.is_named_by_query(slot) => scope.result_column(slot).clone(),
                    Some(slot) => {
                        // Named as the statement writes it.
                        ResultColumn {
                            name: name.to_owned(),
                            ..scope.result_column(slot).clone()
                        }
                    }
                    None => ResultColumn::computed(name, bound.ty.clone()),
                };
                if is_aliased {
                    scope.beside.bound.push(bound.clone());
                }
                exprs.push(bound);
                columns.push(column);
            }
        }
    }
    Ok(exprs)
}

/// A select item by its position, or an expression.
fn bind_position_or(
    scope: &mut QueryScope<'_, '_, '_>,
    tree: &ast::Expr,
    items: &[Expr],
    clause: Clause,
) -> SqlResult<Expr> {
    if let ast::Expr::Literal(ast::Literal::Int(position)) = tree {
        let position = usize::try_from(*position).unwrap_or(0);
        return match position.checked_sub(1).and_then(|at| items.get(at)) {
            Some(item) => Ok(item.clone()),
            None => Err(SqlError::new(ErrorKind::BadField, &[&position, &clause.name()])),
        };
    }
    binder(scope).bind(tree)
}

/// Which item of the select list each key of GROUP BY or ORDER BY names, by its alias or its position: of two items with one expression each
/// may be a key of its own.
fn items_named<'k>(
    keys: impl Iterator<Item = (&'k ast::Expr, &'k Expr)>,
    items: &[Expr],
    columns: &[ResultColumn],
) -> Vec<Option<usize>> {
    let named = |(tree, key): (&ast::Expr, &Expr)| match tree {
        ast::Expr::Literal(ast::Literal::Int(position)) => usize::try_from(*position).ok()?.checked_sub(1),
        ast::Expr::Column(name) if name.table.is_none() => {
            let key = key.to_string();
            let is_it =
                |(item, column): (&Expr, &ResultColumn)| same_name(&column.name, &name.name) && item.to_string() == key;
            items.iter().zip(columns).position(is_it)
        }
        _ => None,
    };
    keys.map(named).collect()
}

fn bind_group_by(scope: &mut QueryScope<'_, '_, '_>, select: &ast::Select, items: &[Expr]) -> SqlResult<Vec<Expr>> {
    let group_by = &select.group_by;
    let is_selected = |key: &ast::Expr| {
        select
            .items
            .iter()
            .any(|item| matches!(item, ast::SelectItem::Expr { expr, .. } if expr == key))
    };
    scope.clause = Clause::GroupBy;
    scope.prefers_aliases = false;
    let (aggregates, windows) = (scope.aggregates.take(), scope.windows.take());
    let base = scope.width();
    let mut keys = Vec::with_capacity(group_by.len());
    for item in group_by {
        let key = match bind_position_or(scope, &item.expr, items, Clause::GroupBy) {
            Err(error) if error.kind() == ErrorKind::InvalidGroupFuncUse && is_selected(&item.expr) => {
                return Err(SqlError::new(ErrorKind::WrongGroupField, &[&item.expr]));
            }
            // What several tables call so, the select list may decide.
            Err(error) if error.kind() == ErrorKind::NonUniq => match &item.expr {
                ast::Expr::Column(name) => scope.alias(name)?.ok_or(error)?,
                _ => return Err(error),
            },
            key => key?,
        };
        if key.referenced_columns().iter().any(|slot| *slot >= base) || key.has_window() {
            return Err(SqlError::new(ErrorKind::WrongGroupField, &[&key]));
        }
        keys.push(key);
    }
    (scope.aggregates, scope.windows) = (aggregates, windows);
    Ok(keys)
}

/// What a SELECT shows of its rows or groups.
struct Shown<'s> {
    items: &'s [Expr],
    having: Option<&'s Expr>,
    order: &'s [SortKey],
    aggregates: &'s [AggregateCall],
    windows: &'s [WindowPlan],
}

/// ONLY_FULL_GROUP_BY: what is selected must be in the group keys, or follow from them, or be an aggregate.
fn check_full_group_by(
    scope: &QueryScope<'_, '_, '_>,
    keys: &[Expr],
    facts: &Facts,
    shown: &Shown<'_>,
    has_group_by: bool,
) -> SqlResult<()> {
    let width = scope.width();
    let (slots, mut known) = facts.known(keys);
    // A row's IN is like no other to MySQL, not even to itself.
    let is_row_in =
        |expr: &Expr| matches!(&expr.kind, ExprKind::In(test) if matches!(test.operand.kind, ExprKind::Row(_)));
    let alike = keys.iter().filter(|key| !key.any(&mut |part| is_row_in(part)));
    known.extend(alike.map(printed));
    let determined = |slot: usize| slot >= width || slots.contains(&slot);
    let kind = match has_group_by {
        true => ErrorKind::WrongFieldWithGroup,
        false => ErrorKind::MixOfGroupFuncAndFields,
    };
    let check = |exprs: &mut dyn Iterator<Item = &Expr>, known: &HashSet<String>, place: &str| {
        for (at, expr) in exprs.enumerate() {
            if let Some(slot) = undetermined(expr, known, &determined, Within::All(shown.windows)) {
                return Err(SqlError::new(kind, &[&(at + 1), &place, &qualified_name(scope, slot)]));
            }
        }
        Ok(())
    };
    check(&mut shown.items.iter(), &known, "SELECT list")?;
    known.extend(shown.items.iter().map(printed));
    // Without GROUP BY there is one row, and nothing to order.
    let ordered = if has_group_by { shown.order } else { &[] };
    check(&mut ordered.iter().map(|key| &key.expr), &known, "ORDER BY clause")?;
    check(&mut shown.having.into_iter(), &known, "HAVING clause")?;
    for window in shown.windows {
        let place = format!("PARTITION BY or ORDER BY clause of window '{}'", window.name);
        let order = window.order.iter().map(|key| &key.expr);
        check(&mut window.partition.iter().chain(order), &known, &place)?;
    }
    Ok(())
}

/// HAVING sees the select list and the group keys, and other columns only inside aggregates.
fn check_having(scope: &QueryScope<'_, '_, '_>, having: &Expr, items: &[Expr], keys: &[Expr]) -> SqlResult<()> {
    let width = scope.width();
    let seen: HashSet<String> = items.iter().chain(keys).map(printed).collect();
    let columns: HashSet<usize> = items.iter().chain(keys).filter_map(Expr::as_column).collect();
    let is_seen = |slot| slot >= width || columns.contains(&slot);
    match undetermined(having, &seen, &is_seen, Within::Own) {
        None => Ok(()),
        Some(slot) => Err(SqlError::new(
            ErrorKind::BadField,
            &[&scope.result_column(slot).name, &Clause::Having.name()],
        )),
    }
}

/// The rows of DISTINCT are ordered by what they show.
fn check_distinct_order(scope: &QueryScope<'_, '_, '_>, shown: &Shown<'_>, computed: &[Range<usize>]) -> SqlResult<()> {
    let width = scope.width();
    let known: HashSet<String> = shown.items.iter().map(printed).collect();
    let text = |expr: &Expr| printed_with_aggregates(expr, shown.aggregates, width);
    let alike: HashSet<String> = shown.items.iter().map(text).collect();
    let columns: HashSet<usize> = shown.items.iter().filter_map(Expr::as_column).collect();
    // A search is known where the columns are that it looks into.
    let unknown_of = |slot: usize| match scope.searched_slots(slot) {
        searched if searched.is_empty() => Some(slot).filter(|slot| !columns.contains(slot)),
        searched => searched.into_iter().find(|slot| !columns.contains(slot)),
    };
    let in_list = |slot| slot >= width || unknown_of(slot).is_none();
    for (at, (key, computed)) in shown.order.iter().zip(computed).enumerate() {
        if alike.contains(&text(&key.expr)) {
            continue;
        }
        if let Some(slot) = undetermined(&key.expr, &known, &in_list, Within::All(shown.windows)) {
            let slot = unknown_of(slot).unwrap_or(slot);
            let names: [&dyn std::fmt::Display; 3] = [&(at + 1), &qualified_name(scope, slot), &"DISTINCT"];
            return Err(SqlError::new(ErrorKind::FieldInOrderNotSelect, &names));
        }
        // One over columns of a query around is that query's.
        let is_own = |slot: &usize| {
            let args = &shown.aggregates[slot - width].args;
            let is_outer = args.iter().any(Expr::reads_outer);
            !is_outer || args.iter().any(|arg| !arg.referenced_columns().is_empty())
        };
        let computed: HashSet<usize> = computed.clone().filter(is_own).collect();
        let is_old = |slot: usize| !computed.contains(&slot);
        if undetermined(&key.expr, &HashSet::new(), &is_old, Within::Own).is_some() {
            let names: [&dyn std::fmt::Display; 2] = [&(at + 1), &"DISTINCT"];
            return Err(SqlError::new(ErrorKind::AggregateInOrderNotSelect, &names));
        }
    }
    Ok(())
}

/// As [`printed`], with what aggregates are of, whose slots differ from call to call.
fn printed_with_aggregates(expr: &Expr, aggregates: &[AggregateCall], width: usize) -> String {
    let mut text = expr.to_string();
    expr.walk(&mut |part| {
        let Some(slot) = part.as_column() else { return };
        match slot.checked_sub(width).and_then(|at| aggregates.get(at)) {
            None => text.push_str(&format!(" #{slot}")),
            Some(call) => {
                let order = call.order_by.iter().map(|key| &key.expr);
                text.push_str(&format!(" {} {}", call.distinct, call.separator));
                call.args
                    .iter()
                    .chain(order)
                    .for_each(|part| text.push_str(&printed(part)));
            }
        }
    });
    text
}

/// A column as messages about grouping name it.
fn qualified_name(scope: &QueryScope<'_, '_, '_>, slot: usize) -> String {
    let column = scope.result_column(slot);
    match column.database.is_empty() {
        true => format!("{}.{}", column.table, column.name),
        false => format!("{}.{}.{}", column.database, column.table, column.name),
    }
}

/// What is looked at for columns.
#[derive(Clone, Copy)]
enum Within<'w> {
    /// The expression.
    Own,
    /// The expression, and what its subqueries and window functions read.
    All(&'w [WindowPlan]),
}

/// A column of the expression that the groups do not determine.
fn undetermined(
    expr: &Expr,
    keys: &HashSet<String>,
    determined: &dyn Fn(usize) -> bool,
    within: Within<'_>,
) -> Option<usize> {
    if let Some(slot) = expr.as_column() {
        return (!determined(slot)).then_some(slot);
    }
    let shown = printed(expr);
    if keys.contains(&shown) {
        return None;
    }
    if let ExprKind::Call(call) = &expr.kind
        && matches!(call.function.name, "ANY_VALUE" | "GROUPING")
    {
        return None;
    }
    let mut found = None;
    expr.for_each_child(&mut |child| {
        if found.is_none() {
            found = undetermined(child, keys, determined, within);
        }
    });
    match (&expr.kind, within) {
        (ExprKind::Subquery(node), Within::All(_)) => {
            let mut read = node.query.outer_columns().iter();
            found.or_else(|| read.find_map(|column| undetermined(column, keys, determined, within)))
        }
        (ExprKind::Window(window), Within::All(windows)) => {
            let mut arguments = windows[*window].kind.arguments().into_iter();
            found.or_else(|| arguments.find_map(|argument| undetermined(argument, keys, determined, within)))
        }
        _ => found,
    }
}

/// Whether an index has the rows of a group next to each other, and no other is read.
fn reads_in_order_of(access: &BaseAccess, keys: &[Expr]) -> bool {
    let columns: Option<BTreeSet<usize>> = keys
        .iter()
        .map(|key| key.as_column()?.checked_sub(access.offset))
        .collect();
    let Some(columns) = columns else { return false };
    let is_ordered = |index: &IndexDef| {
        let parts = index.parts.iter().take(columns.len());
        let first: BTreeSet<usize> = parts.map(|part| part.column).collect();
        first == columns
    };
    let reads_all = matches!(access.path.spec, RangeSpec::All);
    let mut indexes = access.table.def.indexes.iter().filter(|index| index.is_ordered());
    indexes.any(|index| (reads_all || access.path.index == index.id) && is_ordered(index))
}

/// The table that is read first, whose order the joined rows keep.
fn first_table(join: &Join) -> Option<&BaseAccess> {
    match join {
        Join::Base(access) => Some(access),
        Join::Derived(_) => None,
        Join::Nested(sides) | Join::Left { sides, .. } => first_table(&sides[0]),
        Join::Filter { join, .. } => first_table(join),
    }
}
