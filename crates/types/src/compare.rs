//! MySQL's comparison rules between any two values (manual, section 14.3).
//!
//! | operands | compared as |
//! |---|---|
//! | strings | by collation; bytewise when one is a binary string |
//! | integers, decimals | exactly |
//! | a double or FLOAT and a number | doubles |
//! | a temporal and a string | temporals, if the string is one |
//! | DATE or DATETIME and a number | temporals, if the number is one |
//! | JSON and anything | JSON |
//! | a number and a string | doubles; exactly if the string is an integer |
//!
//! A TIME beside a DATE or DATETIME needs the current day: the caller casts it first.

use crate::collation::CollationId;
use crate::decimal::Decimal;
use crate::error::Warnings;
use crate::json::Json;
use crate::number::{parse_double, parse_integer};
use crate::time::{DateRules, DateTime, Time};
use crate::value::ValueRef;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Compares as `<`, `=`, `>` do. `None` when either is NULL. Strings that are not the numbers they are compared with count as
/// the number they start with; the warning is the evaluator's matter.
#[inline]
pub fn compare(a: ValueRef<'_>, b: ValueRef<'_>, collation: CollationId) -> Option<Ordering> {
    use ValueRef::*;
    Some(match (a, b) {
        (Null, _) | (_, Null) => return None,
        (Int(a), Int(b)) => a.cmp(&b),
        (Str(a), Str(b)) => collation.compare(a.as_bytes(), b.as_bytes()),
        (UInt(a), UInt(b)) => a.cmp(&b),
        (Double(a), Double(b)) => compare_doubles(a, b),
        (Decimal(a), Decimal(b)) => a.cmp(&b),
        (Json(_), _) | (_, Json(_)) => compare_json(a, b),
        _ if is_string(a) && is_string(b) => compare_strings(a, b, collation),
        _ if is_temporal(a) || is_temporal(b) => match compare_temporals(a, b) {
            Some(order) => order,
            None if is_string(a) || is_string(b) => compare_strings(a, b, collation),
            None => compare_numbers(a, b),
        },
        _ => compare_numbers(a, b),
    })
}

/// `<=>`: NULL equals NULL.
pub fn null_safe_equal(a: ValueRef<'_>, b: ValueRef<'_>, collation: CollationId) -> bool {
    match (a.is_null(), b.is_null()) {
        (true, true) => true,
        (false, false) => compare(a, b, collation).is_some_and(Ordering::is_eq),
        _ => false,
    }
}

/// Orders two values of one type as ORDER BY and keys do: NULL first, ENUM by index, SET by bits.
pub fn sort_order(a: ValueRef<'_>, b: ValueRef<'_>, collation: CollationId) -> Ordering {
    use ValueRef::*;
    match (a, b) {
        (Null, Null) => Ordering::Equal,
        (Null, _) => Ordering::Less,
        (_, Null) => Ordering::Greater,
        (Enum(a), Enum(b)) => a.index.cmp(&b.index),
        (Set(a), Set(b)) => a.bits.cmp(&b.bits),
        _ => compare(a, b, collation).unwrap_or(Ordering::Equal),
    }
}

/// Feeds a hash such that values of one type that [`sort_order`] calls equal hash equally; for GROUP BY, DISTINCT, hash joins.
pub fn hash_value<H: Hasher>(value: ValueRef<'_>, collation: CollationId, state: &mut H) {
    use ValueRef::*;
    match value {
        Null => 0u8.hash(state),
        Int(v) => v.hash(state),
        UInt(v) => v.hash(state),
        Float(v) => (v + 0.0).to_bits().hash(state),
        Double(v) => (v + 0.0).to_bits().hash(state),
        Decimal(v) => v.hash(state),
        Date(v) => v.hash(state),
        Time(v) => v.micros.hash(state),
        DateTime(v) => (v.packed_seconds(), v.micros).hash(state),
        Timestamp(v) => v.micros.hash(state),
        Year(v) => v.hash(state),
        Bit(v) => v.value.hash(state),
        Str(v) => collation.hash(v.as_bytes(), state),
        Bytes(v) => v.hash(state),
        Enum(v) => v.index.hash(state),
        Set(v) => v.bits.hash(state),
        Json(v) => v.hash_value(state),
    }
}

fn is_string(v: ValueRef<'_>) -> bool {
    matches!(
        v,
        ValueRef::Str(_) | ValueRef::Bytes(_) | ValueRef::Enum(_) | ValueRef::Set(_)
    )
}

fn is_temporal(v: ValueRef<'_>) -> bool {
    matches!(
        v,
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) | ValueRef::Timestamp(_)
    )
}

fn compare_strings(a: ValueRef<'_>, b: ValueRef<'_>, collation: CollationId) -> Ordering {
    let collation = if a.is_binary_string() || b.is_binary_string() {
        CollationId::BINARY
    } else {
        collation
    };
    collation.compare(&a.text_bytes(), &b.text_bytes())
}

fn compare_doubles(a: f64, b: f64) -> Ordering {
    // SQL has no NaN.
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

/// Where at least one is a temporal. `None` if the other is not one.
fn compare_temporals(a: ValueRef<'_>, b: ValueRef<'_>) -> Option<Ordering> {
    use ValueRef::*;
    match (a, b) {
        (Timestamp(a), Timestamp(b)) => Some(a.cmp(&b)),
        (Time(a), b) => Some(a.cmp(&time_of(b)?)),
        (a, Time(b)) => Some(time_of(a)?.cmp(&b)),
        (a, b) => Some(datetime_of(a)?.cmp(&datetime_of(b)?)),
    }
}

fn time_of(v: ValueRef<'_>) -> Option<Time> {
    match v {
        ValueRef::Time(v) => Some(v),
        ValueRef::DateTime(v) => Some(v.time()),
        ValueRef::Str(_) | ValueRef::Bytes(_) => Time::parse(&v.text()).map(|p| p.value),
        ValueRef::Int(v) => Time::from_number(v).map(|p| p.value),
        ValueRef::Decimal(v) => Time::from_decimal(v).map(|p| p.value),
        _ => None,
    }
}

fn datetime_of(v: ValueRef<'_>) -> Option<DateTime> {
    let rules = DateRules {
        invalid: true,
        ..DateRules::RELAXED
    };
    match v {
        ValueRef::Date(v) => Some(v.into()),
        ValueRef::DateTime(v) => Some(v),
        ValueRef::Timestamp(v) => Some(crate::time::TimeZone::UTC.to_local(v)),
        ValueRef::Str(_) | ValueRef::Bytes(_) => DateTime::parse(&v.text(), rules).map(|p| p.value),
        ValueRef::Int(v) => DateTime::from_number(v, rules).map(|p| p.value),
        ValueRef::UInt(v) => DateTime::from_number(i64::try_from(v).ok()?, rules).map(|p| p.value),
        ValueRef::Decimal(v) => DateTime::from_decimal(v, rules).map(|p| p.value),
        _ => None,
    }
}

/// A number as it is compared.
#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Decimal(Decimal),
    Double(f64),
}

fn compare_numbers(a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    match (number_of(a), number_of(b)) {
        (Number::Integer(a), Number::Integer(b)) => a.cmp(&b),
        (Number::Double(a), b) => compare_doubles(a, b.to_f64()),
        (a, Number::Double(b)) => compare_doubles(a.to_f64(), b),
        (a, b) => a.to_decimal().cmp(&b.to_decimal()),
    }
}

fn number_of(v: ValueRef<'_>) -> Number {
    match v {
        ValueRef::Int(v) => Number::Integer(v.into()),
        ValueRef::UInt(v) => Number::Integer(v.into()),
        ValueRef::Year(v) => Number::Integer(v.into()),
        ValueRef::Bit(v) => Number::Integer(v.value.into()),
        ValueRef::Enum(v) => Number::Integer(v.index.into()),
        ValueRef::Set(v) => Number::Integer(v.bits.into()),
        ValueRef::Decimal(v) => Number::Decimal(v),
        ValueRef::Str(_) | ValueRef::Bytes(_) => {
            let text = v.text_bytes();
            let integer = parse_integer(&text);
            if integer.consumed == text.len() && integer.consumed > 0 && !integer.overflow {
                let magnitude = i128::from(integer.magnitude);
                return Number::Integer(if integer.negative { -magnitude } else { magnitude });
            }
            Number::Double(parse_double(&text).value)
        }
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) | ValueRef::Timestamp(_) => {
            Number::Decimal(crate::cast::to_decimal(v, &mut Warnings::with_limit(0)))
        }
        other => Number::Double(crate::cast::to_f64(other, &mut Warnings::with_limit(0))),
    }
}

impl Number {
    fn to_f64(self) -> f64 {
        match self {
            Number::Integer(v) => v as f64,
            Number::Decimal(v) => v.to_f64(),
            Number::Double(v) => v,
        }
    }

    fn to_decimal(self) -> Decimal {
        match self {
            Number::Integer(v) => Decimal::from_scaled(v, 0),
            Number::Decimal(v) => v,
            Number::Double(v) => Decimal::from_f64(v).unwrap_or(Decimal::ZERO),
        }
    }
}

fn compare_json(a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    match (a, b) {
        (ValueRef::Json(a), ValueRef::Json(b)) => a.compare(b),
        (ValueRef::Json(a), b) => a.compare(Json::from_value(b).as_ref()),
        (a, ValueRef::Json(b)) => Json::from_value(a).as_ref().compare(b),
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use proptest::prelude::*;

    fn less(a: ValueRef<'_>, b: ValueRef<'_>) {
        let ci = CollationId::DEFAULT;
        assert_eq!(compare(a, b, ci), Some(Ordering::Less), "{a:?} < {b:?}");
        assert_eq!(compare(b, a, ci), Some(Ordering::Greater), "{b:?} > {a:?}");
    }

    fn same(a: ValueRef<'_>, b: ValueRef<'_>) {
        let ci = CollationId::DEFAULT;
        assert_eq!(
            (compare(a, b, ci), compare(b, a, ci)),
            (Some(Ordering::Equal), Some(Ordering::Equal)),
            "{a:?} = {b:?}"
        );
    }

    #[test]
    fn across_types() {
        use ValueRef::*;
        let dec = |t: &str| Decimal(crate::Decimal::parse(t).unwrap());
        let date = ValueRef::Date(crate::Date {
            year: 2024,
            month: 1,
            day: 31,
        });
        let datetime = ValueRef::DateTime(crate::DateTime {
            hour: 10,
            ..crate::Date {
                year: 2024,
                month: 1,
                day: 31,
            }
            .into()
        });
        same(Str("a"), Str("A"));
        less(Bytes(b"A"), Str("a"));
        less(Int(-1), UInt(u64::MAX));
        less(Int(9_007_199_254_740_992), Str("9007199254740993"));
        same(Int(0), Str("abc"));
        same(Int(12), Str("12abc"));
        same(Double(1.5), Str(" 1.5"));
        less(Int(1), dec("1.1"));
        same(dec("1.10"), dec("1.1"));
        same(Double(0.1), dec("0.1"));
        same(date, Str("2024-1-31"));
        same(date, Int(20_240_131));
        less(date, datetime);
        less(Str("2024-01-31 09:00"), datetime);
        same(datetime, Int(20_240_131_100_000));
        same(Year(2024), Int(2024));
        same(
            ValueRef::Time(crate::Time {
                micros: 3_600_000_000,
                fsp: 0,
            }),
            Str("01:00:00"),
        );
        assert_eq!(compare(Null, Int(1), CollationId::DEFAULT), None);
        assert!(
            null_safe_equal(Null, Null, CollationId::DEFAULT) && !null_safe_equal(Null, Int(0), CollationId::DEFAULT)
        );
    }

    #[test]
    fn labels_compare_as_strings_and_sort_by_index() {
        let labels = crate::Labels::new(["b", "a"]);
        let of = |index| ValueRef::Enum(crate::value::EnumRef { index, labels: &labels });
        less(of(2), of(1));
        less(of(1), ValueRef::Str("c"));
        same(of(2), ValueRef::Int(2));
        assert_eq!(sort_order(of(1), of(2), CollationId::DEFAULT), Ordering::Less);
    }

    proptest! {
        #[test]
        fn equal_values_hash_equally((ty, a, b) in samples::typed_pairs()) {
            let hash = |v: &crate::Value| {
                let mut state = std::hash::DefaultHasher::new();
                hash_value(v.as_ref(), ty.collation, &mut state);
                state.finish()
            };
            if sort_order(a.as_ref(), b.as_ref(), ty.collation).is_eq() {
                prop_assert_eq!(hash(&a), hash(&b), "{} {:?} {:?}", ty, a, b);
            }
        }
    }
}
