//! `x IN (SELECT …)` as a join with the different rows of the query: few of them lead into an index on `x`, and many are hashed.
//!
//! Only where the comparison tells apart the same values as DISTINCT does: then no row of the tables around comes twice. A row of the query
//! with a NULL equals none, so it does no harm.
//!
//! `EXISTS (SELECT … WHERE y = x)`, and IN of such a query, is the same with the different `y`. The query may be looked up as well, so it is
//! joined only where that leads to the rows around by an index: where the estimates say that this is cheaper.

use std::sync::Arc;

use parser::ast;
use sql_api::result::{ResultColumn, ResultShape};
use sql_expr::{Compare, CompareOp, Comparison, Expr, ExprKind, SubqueryExpr, SubqueryKind};
use types::{SqlResult, SqlType};

use super::estimate::{Cost, HASHED_ROW, rows_asked, rows_of};
use super::from::{FromTree, MAX_JOINED, relabelled};
use super::join::{JoinPlanner, wished_before};
use super::lookup::{Lookup, is_quiet, is_readable_ahead};
use super::scope::{QueryScope, ScopeTable, TableSource};
use super::select::SelectPlan;
use super::subquery::SubqueryPlan;
use super::{Body, QueryPlan};
use crate::access::{OrderWish, partition};

/// What such tables are called in EXPLAIN.
const NAME: &str = "<subquery>";

/// What of a change's condition may become a join with a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Joinable {
    Nothing,
    Exists,
    In,
}

impl Joinable {
    /// What every row has to fulfil.
    pub fn of(filter: Option<&ast::Expr>) -> Joinable {
        let mut found = Joinable::Nothing;
        let mut open: Vec<&ast::Expr> = filter.into_iter().collect();
        while let Some(condition) = open.pop() {
            governor::pause();
            match condition {
                ast::Expr::InSubquery(condition) if !condition.negated => return Joinable::In,
                ast::Expr::Exists(_) => found = Joinable::Exists,
                ast::Expr::And(conditions) => open.extend(conditions),
                _ => {}
            }
        }
        found
    }
}

/// Replaces such conditions, of those that every row has to fulfil, and adds what they are joined with to the tree.
pub fn join_with_queries(scope: &mut QueryScope<'_, '_, '_>, tree: FromTree, conditions: &mut Vec<Expr>) -> FromTree {
    let mut children = vec![tree];
    let mut equalities = Vec::new();
    conditions.retain(|condition| {
        if scope.tables_with_rows() >= MAX_JOINED {
            return true;
        }
        let Some(joined) = as_join(scope, condition) else {
            return true;
        };
        children.push(FromTree::Table(scope.tables.len() - 1));
        equalities.extend(joined);
        false
    });
    conditions.append(&mut equalities);
    match children.len() {
        1 => children.remove(0),
        _ => FromTree::Inner {
            children,
            conditions: Vec::new(),
            fixed: false,
        },
    }
}

/// Adds the query as a table of the scope that no name means. Returns the equalities that take the place of the condition.
fn as_join(scope: &mut QueryScope<'_, '_, '_>, condition: &Expr) -> Option<Vec<Expr>> {
    let ExprKind::Subquery(subquery) = &condition.kind else {
        return None;
    };
    let SubqueryExpr { query, kind } = &**subquery;
    let SubqueryKind::In {
        operand,
        how,
        negated: false,
    } = kind
    else {
        return None;
    };
    let operands = match &operand.kind {
        ExprKind::Row(operands) => operands.as_slice(),
        _ => std::slice::from_ref(operand),
    };
    let is_fixed = |operand: &Expr| !operand.has_subquery() && !operand.is_volatile() && !operand.has_aggregate();
    let is_of_tables = operands.iter().all(is_fixed) && !operand.referenced_columns().is_empty();
    let columns = query.columns();
    let told_apart = how.len() == columns.len()
        && operands.len() == columns.len()
        && operands
            .iter()
            .zip(how)
            .zip(columns)
            .all(|((operand, how), column)| tells_apart(how, &operand.ty, column));
    if query.is_correlated() || !query.is_deterministic() || !is_of_tables || !told_apart {
        return None;
    }
    let plan = query.as_any().downcast_ref::<SubqueryPlan>()?.shared_plan();
    let Body::Select(select) = &plan.body else { return None };
    if plan.limit.is_some() || plan.offset.is_some() || select.from.is_none() {
        return None;
    }
    // What it locks, and when, is not for the planner to choose.
    let mut locks = false;
    plan.for_each_table(&mut |access| locks |= access.lock.is_some());
    if locks {
        return None;
    }
    select.note_distinct();
    let offset = scope.width();
    let columns = relabelled(&plan.shape.columns, NAME);
    let table = scope.tables.len();
    scope
        .tables
        .push(ScopeTable::new(NAME, columns, offset, TableSource::Derived(plan)));
    let equalities = operands.iter().zip(how).enumerate().map(|(at, (operand, how))| {
        let column = scope.column_at(table, at);
        let compare = Compare {
            op: CompareOp::Eq,
            how: how.clone(),
            left: operand.clone(),
            right: column,
        };
        Expr::boolean(ExprKind::Compare(Box::new(compare)), true)
    });
    Some(equalities.collect())
}

/// So many correlated queries are tried at most: for each the join around is planned once more.
const TRIED_MAX: usize = 4;
/// How much cheaper a join has to be.
const GAIN: f64 = 0.8;

/// As [`join_with_queries`], of correlated ones: of those whose join is estimated to be cheaper than looking rows up.
pub fn join_with_correlated(
    scope: &mut QueryScope<'_, '_, '_>,
    mut tree: FromTree,
    conditions: &mut Vec<Expr>,
) -> FromTree {
    let mut tried = 0;
    let mut at = 0;
    while at < conditions.len() {
        governor::pause();
        let may_join =
            tried < TRIED_MAX && scope.tables_with_rows() < MAX_JOINED && scope.tables.iter().all(is_readable_ahead);
        let untied = may_join.then(|| as_untied(scope, &conditions[at])).flatten();
        let Some(Untied {
            plan,
            equalities,
            around,
            cost: made,
        }) = untied
        else {
            at += 1;
            continue;
        };
        tried += 1;
        // What is wrong with it is told when it is planned for good.
        let Ok(before) = cost_around(scope, tree.clone(), conditions.clone()) else {
            return tree;
        };
        let table = scope.tables.len();
        let columns = relabelled(&plan.shape.columns, NAME);
        let offset = scope.width();
        let rows = plan.rows;
        scope
            .tables
            .push(ScopeTable::new(NAME, columns, offset, TableSource::Derived(plan)));
        let mut with = conditions.clone();
        with.remove(at);
        with.extend(around);
        for (at, equality) in equalities.into_iter().enumerate() {
            let right = scope.column_at(table, at);
            with.push(Expr::boolean(
                ExprKind::Compare(Box::new(Compare { right, ..equality })),
                true,
            ));
        }
        let joined = FromTree::Inner {
            children: vec![tree.clone(), FromTree::Table(table)],
            conditions: Vec::new(),
            fixed: false,
        };
        let after = cost_around(scope, joined.clone(), with.clone());
        let after = after.map(|after| after + made + HASHED_ROW * rows);
        if after.is_ok_and(|after| after < GAIN * before) {
            (tree, *conditions) = (joined, with);
        } else {
            scope.tables.pop();
            at += 1;
        }
    }
    tree
}

/// What it costs to read the tables and to ask the correlated queries of the conditions for their rows.
fn cost_around(scope: &QueryScope<'_, '_, '_>, tree: FromTree, conditions: Vec<Expr>) -> SqlResult<f64> {
    let (join, _) = JoinPlanner {
        scope,
        order: OrderWish::default(),
        locks: vec![None; scope.tables.len()],
        row_ids: Vec::new(),
        before: wished_before(scope),
    }
    .plan(tree, conditions)?;
    let cost = Cost::of(&join);
    Ok(cost.run + cost.once + rows_asked(&join))
}

/// A correlated query without what ties it to the row around.
struct Untied {
    /// Its different rows.
    plan: Arc<QueryPlan>,
    /// What they are compared with. The right sides are the columns of the query, in order.
    equalities: Vec<Compare>,
    /// What the query asks of the row around alone, as conditions of that row.
    around: Vec<Expr>,
    /// What it costs to read the rows.
    cost: f64,
}

fn as_untied(scope: &QueryScope<'_, '_, '_>, condition: &Expr) -> Option<Untied> {
    let ExprKind::Subquery(subquery) = &condition.kind else {
        return None;
    };
    let SubqueryExpr { query, kind } = &**subquery;
    let (operands, hows): (&[Expr], &[Comparison]) = match kind {
        SubqueryKind::Exists => (&[], &[]),
        SubqueryKind::In {
            operand,
            how,
            negated: false,
        } => match &operand.kind {
            ExprKind::Row(operands) => (operands, how),
            _ => (std::slice::from_ref(operand), how),
        },
        _ => return None,
    };
    if !query.is_correlated() || !query.is_deterministic() {
        return None;
    }
    let plan = query.as_any().downcast_ref::<SubqueryPlan>()?.shared_plan();
    let Body::Select(select) = &plan.body else { return None };
    let lookup = select.lookup.as_ref().filter(|lookup| lookup.conditions.is_empty())?;
    if lookup.only_existence || plan.limit.is_some() || plan.offset.is_some() || !select.gives_row_for_row() {
        return None;
    }
    let mut items = Vec::with_capacity(operands.len() + lookup.key.build.len());
    let mut equalities = Vec::with_capacity(items.capacity());
    let mut add = |how: &Comparison, left: Expr, item: &Expr| {
        let is_fixed = !left.has_subquery() && !left.is_volatile() && !left.has_aggregate();
        let reads_tables = left.referenced_columns().iter().any(|slot| *slot < scope.width());
        let fits = is_fixed && reads_tables && is_quiet(item) && tells_apart(how, &left.ty, &item.ty);
        items.push(item.clone());
        equalities.push(Compare {
            op: CompareOp::Eq,
            how: how.clone(),
            left,
            right: Expr::null(),
        });
        fits
    };
    if operands.len() != hows.len() || (!operands.is_empty() && operands.len() != select.items.len()) {
        return None;
    }
    for ((operand, how), item) in operands.iter().zip(hows).zip(&select.items) {
        if !add(how, operand.clone(), item) {
            return None;
        }
    }
    let key = &lookup.key;
    for ((probe, how), item) in key.probe.iter().zip(&key.how).zip(&key.build) {
        let mut around = probe.clone();
        around.seen_from_above(1);
        if !add(how, around, item) {
            return None;
        }
    }
    let (mut around, own) = partition(select.constant_filter.clone(), Expr::reads_outer);
    if around.iter().any(Expr::has_subquery) || own.iter().any(Expr::has_correlated_subquery) {
        return None;
    }
    around.iter_mut().for_each(|condition| condition.seen_from_above(1));
    let cost = Cost::of(&lookup.join);
    let plan = QueryPlan::of_different_rows(select, lookup, own, items);
    Some(Untied {
        plan: Arc::new(plan),
        equalities,
        around,
        cost: cost.run + cost.once,
    })
}

impl QueryPlan {
    /// The different values that expressions have in the rows that are looked up. `filter` reads no row.
    fn of_different_rows(select: &SelectPlan, lookup: &Lookup, filter: Vec<Expr>, items: Vec<Expr>) -> QueryPlan {
        debug_assert!(!filter.iter().chain(&items).any(Expr::reads_outer));
        let columns = items.iter().map(|item| {
            let text = item.to_string();
            let name = text.rsplit('.').next().unwrap_or_default().trim_matches('`');
            ResultColumn::computed(name, item.ty.clone())
        });
        let shape = ResultShape::new(columns.collect());
        let rows = SelectPlan::of_rows(lookup.join.clone(), select.width, filter, items);
        rows.note_distinct();
        let body = Body::Select(Box::new(rows));
        QueryPlan {
            rows: rows_of(&body, None),
            shape,
            body,
            order: Vec::new(),
            limit: None,
            offset: None,
            correlated: false,
            into: Vec::new(),
            into_file: None,
            count_all: false,
            locked: Vec::new(),
            renewed: Vec::new(),
            dependences: Arc::default(),
        }
    }
}

/// Whether two values of the query's column are equal to the same value exactly if DISTINCT takes them for one.
fn tells_apart(how: &Comparison, operand: &SqlType, column: &SqlType) -> bool {
    match how {
        Comparison::Integer => operand.kind.is_integer() && column.kind.is_integer(),
        Comparison::Bytes => operand.kind.is_text() && column.kind.is_text(),
        Comparison::Text(collation) => column.kind.is_text() && *collation == column.collation,
        _ => false,
    }
}
