//! How many rows a query gives, as far as its plan tells.

use sql_expr::Expr;

use super::join::estimated_rows;
use super::{Body, SelectPlan};
use crate::access::passing_share;

/// Of the rows that are grouped, or made distinct.
const GROUPS: f64 = 0.5;

/// Of a query with this body and LIMIT. Made with the plan: those below it have theirs already.
pub fn rows_of(body: &Body, limit: Option<&Expr>) -> f64 {
    let rows = match body {
        Body::Select(select) => rows_of_select(select),
        Body::Values(rows) => rows.len() as f64,
        Body::Set(set) => set.rest.iter().map(|(_, _, query)| query.rows).sum::<f64>() + set.first.rows,
        Body::Nested(query) => query.rows,
    };
    let limit = limit.and_then(Expr::as_literal);
    let limit = limit.and_then(|rows| rows.to_string().parse::<u64>().ok());
    limit.map_or(rows, |limit| rows.min(limit as f64)).max(1.0)
}

fn rows_of_select(select: &SelectPlan) -> f64 {
    let joined = select.from.as_ref().map_or(1.0, estimated_rows);
    let rows = joined * passing_share(&select.filter);
    let rows = match &select.grouping {
        Some(grouping) if grouping.keys.is_empty() => 1.0,
        Some(_) => rows * GROUPS,
        None if select.distinct => rows * GROUPS,
        None => rows,
    };
    rows * passing_share(&select.having)
}
