//! Which share of a table's rows a condition lets through, as far as its form tells.
//!
//! The guesses for what no index has counted: those of MySQL's filtering (manual, "Condition Filtering").

use sql_expr::{CompareOp, Expr, ExprKind, InItems};

const EQUAL: f64 = 0.1;
const LESS: f64 = 1.0 / 3.0;
const BETWEEN: f64 = 1.0 / 9.0;
/// Of a list, and of what does not say.
const LIST_MOST: f64 = 0.5;
const UNKNOWN: f64 = 1.0 / 3.0;
/// However many conditions there are: they mostly depend on each other.
const LEAST: f64 = 0.002;

/// The share of rows that all of the conditions let through.
pub fn passing_share<'e>(conditions: impl IntoIterator<Item = &'e Expr>) -> f64 {
    let share: f64 = conditions.into_iter().map(share_of).product();
    share.max(LEAST)
}

fn share_of(condition: &Expr) -> f64 {
    governor::pause();
    let unless = |negated: bool, share: f64| if negated { 1.0 - share } else { share };
    match &condition.kind {
        ExprKind::Compare(compare) => match compare.op {
            CompareOp::Eq | CompareOp::NullSafeEq => EQUAL,
            CompareOp::Ne => 1.0 - EQUAL,
            CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => LESS,
        },
        ExprKind::Between(between) => unless(between.negated, BETWEEN),
        ExprKind::Like(like) => unless(like.negated, BETWEEN),
        ExprKind::In(list) => {
            let length = match &list.list {
                InItems::Sorted { values, .. } => values.len(),
                InItems::Each(items) => items.len(),
            };
            unless(list.negated, (EQUAL * length as f64).min(LIST_MOST))
        }
        ExprKind::Is { negated, .. } => unless(*negated, EQUAL),
        ExprKind::Not(operand) => 1.0 - share_of(operand),
        ExprKind::And(operands) => operands.iter().map(share_of).product(),
        ExprKind::Or(operands) => 1.0 - operands.iter().map(|operand| 1.0 - share_of(operand)).product::<f64>(),
        _ => UNKNOWN,
    }
}
