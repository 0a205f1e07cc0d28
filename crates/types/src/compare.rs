//! MySQL's comparison rules between any two values.

use crate::collation::CollationId;
use crate::value::ValueRef;
use std::cmp::Ordering;

/// Compares as `<`, `=`, `>` do: strings with strings by `collation`, integers and decimals exactly, temporals with strings as
/// temporals, everything else as doubles. `None` when either is NULL.
pub fn compare(_a: ValueRef<'_>, _b: ValueRef<'_>, _collation: CollationId) -> Option<Ordering> {
    todo!()
}

/// Orders two values of one type as ORDER BY and keys do: NULL first, ENUM by index, SET by bits.
pub fn sort_order(a: ValueRef<'_>, b: ValueRef<'_>, collation: CollationId) -> Ordering {
    use ValueRef::*;
    match (a, b) {
        (Null, Null) => Ordering::Equal,
        (Null, _) => Ordering::Less,
        (_, Null) => Ordering::Greater,
        (Int(a), Int(b)) => a.cmp(&b),
        (UInt(a), UInt(b)) => a.cmp(&b),
        (Float(a), Float(b)) => order_doubles(a.into(), b.into()),
        (Double(a), Double(b)) => order_doubles(a, b),
        (Decimal(a), Decimal(b)) => a.cmp(&b),
        (Date(a), Date(b)) => a.cmp(&b),
        (Time(a), Time(b)) => a.cmp(&b),
        (DateTime(a), DateTime(b)) => a.cmp(&b),
        (Timestamp(a), Timestamp(b)) => a.cmp(&b),
        (Year(a), Year(b)) => a.cmp(&b),
        (Bit(a), Bit(b)) => a.value.cmp(&b.value),
        (Str(a), Str(b)) => collation.compare(a.as_bytes(), b.as_bytes()),
        (Bytes(a), Bytes(b)) => a.cmp(b),
        (Enum(a), Enum(b)) => a.index.cmp(&b.index),
        (Set(a), Set(b)) => a.bits.cmp(&b.bits),
        _ => compare(a, b, collation).unwrap_or(Ordering::Equal),
    }
}

fn order_doubles(a: f64, b: f64) -> Ordering {
    // No NaN is ever stored.
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}
