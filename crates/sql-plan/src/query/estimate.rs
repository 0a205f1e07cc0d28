//! How many rows a query gives, as far as its plan tells.

use sql_expr::Expr;

use super::join::{Join, estimated_rows};
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
    let joined = select.from.as_ref().map_or(1.0, |join| estimated_rows(join));
    let rows = joined * passing_share(&select.filter);
    let rows = match &select.grouping {
        Some(grouping) if grouping.keys.is_empty() => 1.0,
        Some(_) => rows * GROUPS,
        None if select.distinct => rows * GROUPS,
        None => rows,
    };
    rows * passing_share(&select.having)
}

/// Keeping a row in a hash table, against reading one.
pub const HASHED_ROW: f64 = 1.0;

/// What a join costs, in rows read.
#[derive(Clone, Copy, Default)]
pub struct Cost {
    /// Each time it is run.
    pub run: f64,
    /// In a statement, for its hash tables.
    pub once: f64,
}

impl Cost {
    pub fn of(join: &Join) -> Cost {
        governor::pause();
        match join {
            Join::Base(access) => Cost::of_table(access.hash.is_some(), access.path.cost, access.path.estimated_rows),
            Join::Derived(access) => {
                let rows = access.estimated_rows();
                Cost::of_table(access.hash.is_some(), rows, rows)
            }
            Join::Nested(sides) | Join::Left { sides, .. } => {
                let (outer, inner) = (Cost::of(&sides[0]), Cost::of(&sides[1]));
                Cost {
                    run: outer.run + estimated_rows(&sides[0]) * inner.run,
                    once: outer.once + inner.once,
                }
            }
            Join::Filter { join, .. } => Cost::of(join),
        }
    }

    fn of_table(is_hashed: bool, cost: f64, rows: f64) -> Cost {
        match is_hashed {
            true => Cost {
                run: 1.0,
                once: cost + HASHED_ROW * rows,
            },
            false => Cost { run: cost, once: 0.0 },
        }
    }
}

/// The rows of a join that its correlated subqueries are asked for.
pub fn rows_asked(join: &Join) -> f64 {
    match join {
        Join::Base(access) => {
            let asked_before = access
                .path
                .residual
                .iter()
                .filter(|condition| !condition.has_correlated_subquery());
            access.path.estimated_rows * passing_share(asked_before)
        }
        Join::Derived(access) => access.estimated_rows(),
        Join::Nested(sides) => rows_asked(&sides[0]) * rows_asked(&sides[1]),
        Join::Left { sides, .. } => rows_asked(&sides[0]) * rows_asked(&sides[1]).max(1.0),
        Join::Filter { join, conditions } => {
            let ask_before = conditions.iter().any(|condition| !condition.has_correlated_subquery());
            rows_asked(join) * if ask_before { 0.5 } else { 1.0 }
        }
    }
}
