//! MySQL's comparison rules between any two values.

use crate::collation::CollationId;
use crate::value::ValueRef;
use std::cmp::Ordering;

/// Compares as `<`, `=`, `>` do: strings with strings by `collation`, integers and decimals exactly, temporals with strings as
/// temporals, everything else as doubles. `None` when either is NULL.
pub fn compare(_a: ValueRef<'_>, _b: ValueRef<'_>, _collation: CollationId) -> Option<Ordering> {
    todo!()
}

/// Orders two values of one type as ORDER BY and keys do: NULL first.
pub fn sort_order(_a: ValueRef<'_>, _b: ValueRef<'_>, _collation: CollationId) -> Ordering {
    todo!()
}
