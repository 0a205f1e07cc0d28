//! ORDER BY: keys, their order, and sorting by it.

use std::cmp::Ordering;

use types::{CollationId, Value, ValueRef};

use crate::Expr;

/// One expression of an ORDER BY.
#[derive(Debug, Clone)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
}

/// The order of two lists of sort values.
pub fn compare_keys(keys: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
    for (key, (a, b)) in keys.iter().zip(a.iter().zip(b)) {
        let order = compare_values(a.as_ref(), b.as_ref(), key.expr.ty.collation);
        let order = if key.descending { order.reverse() } else { order };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// The order of two values of one column: NULL first, text by the collation.
pub fn compare_values(a: ValueRef<'_>, b: ValueRef<'_>, collation: CollationId) -> Ordering {
    match (a, b) {
        (ValueRef::Str(a), ValueRef::Str(b)) => collation.compare(a.as_bytes(), b.as_bytes()),
        (ValueRef::Int(a), ValueRef::Int(b)) => a.cmp(&b),
        (a, b) => types::compare::sort_order(a, b, collation),
    }
}
