//! `x IN (SELECT …)` as a join with the different rows of the query: few of them lead into an index on `x`, and many are hashed.
//!
//! Only where the comparison tells apart the same values as DISTINCT does: then no row of the tables around comes twice. A row of the query
//! with a NULL equals none, so it does no harm.

use parser::ast;
use sql_expr::{Compare, CompareOp, Comparison, Expr, ExprKind, SubqueryExpr, SubqueryKind};
use types::SqlType;

use super::Body;
use super::from::{FromTree, MAX_JOINED, relabelled};
use super::scope::{QueryScope, ScopeTable, TableSource};
use super::subquery::SubqueryPlan;

/// What such tables are called in EXPLAIN.
const NAME: &str = "<subquery>";

/// Whether a DELETE from one table, of all rows that its condition selects, may become one by a join.
pub fn may_join_with_query(delete: &ast::Delete) -> bool {
    let ast::DeleteForm::Single { order_by, limit, .. } = &delete.form else {
        return false;
    };
    let mut open: Vec<&ast::Expr> = delete.filter.iter().collect();
    while let Some(condition) = open.pop() {
        governor::pause();
        match condition {
            ast::Expr::InSubquery(condition) if !condition.negated => return order_by.is_empty() && limit.is_none(),
            ast::Expr::And(conditions) => open.extend(conditions),
            _ => {}
        }
    }
    false
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

/// Whether two values of the query's column are equal to the same value exactly if DISTINCT takes them for one.
fn tells_apart(how: &Comparison, operand: &SqlType, column: &SqlType) -> bool {
    match how {
        Comparison::Integer => operand.kind.is_integer() && column.kind.is_integer(),
        Comparison::Bytes => operand.kind.is_text() && column.kind.is_text(),
        Comparison::Text(collation) => column.kind.is_text() && *collation == column.collation,
        _ => false,
    }
}
