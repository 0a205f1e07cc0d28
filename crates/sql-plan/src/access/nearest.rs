//! A comparison's constant on the scale of a key column.
//!
//! `id > 1.5` over an INT column has no key for 1.5, but it has the keys on both sides of it. [`nearest`] finds the greatest value
//! that the column can store and that is not above the constant, so that a comparison with any constant of the same
//! kind becomes an exact range of keys.

use types::decimal::Decimal;
use types::time::TimeZone;
use types::{Date, DateTime, SqlType, TypeKind, Value};

/// Where a constant lies among the values that a column can store.
#[derive(Debug, Clone, PartialEq)]
pub enum Nearest {
    Exactly(Value),
    /// Between this value and the next greater one.
    JustAbove(Value),
    /// Below all values.
    BelowAll,
    /// Above all values.
    AboveAll,
    /// The column's order is not the comparison's order: no range.
    Incomparable,
}

/// Places a constant, not NULL, among the values of a column.
pub fn nearest(value: &Value, ty: &SqlType, zone: &TimeZone) -> Nearest {
    match ty.kind {
        kind if kind.is_integer() => nearest_integer(value, ty),
        TypeKind::Decimal => nearest_decimal(value, ty),
        TypeKind::Double => match as_double(value) {
            Some(number) if !number.is_nan() => Nearest::Exactly(Value::Double(number)),
            _ => Nearest::Incomparable,
        },
        TypeKind::Char
        | TypeKind::VarChar
        | TypeKind::TinyText
        | TypeKind::Text
        | TypeKind::MediumText
        | TypeKind::LongText => match value {
            Value::Str(_) => Nearest::Exactly(value.clone()),
            // As the comparison reads them.
            Value::Bytes(bytes) => match ty.collation.charset().decode(bytes) {
                Ok(text) => Nearest::Exactly(Value::str(&text)),
                Err(_) => Nearest::Incomparable,
            },
            _ => Nearest::Incomparable,
        },
        TypeKind::VarBinary | TypeKind::TinyBlob | TypeKind::Blob | TypeKind::MediumBlob | TypeKind::LongBlob => {
            match value {
                Value::Bytes(_) => Nearest::Exactly(value.clone()),
                Value::Str(text) => Nearest::Exactly(Value::bytes(text.as_bytes())),
                _ => Nearest::Incomparable,
            }
        }
        TypeKind::Date => match value {
            Value::Date(_) => Nearest::Exactly(value.clone()),
            Value::DateTime(moment)
                if *moment
                    == (DateTime {
                        fsp: moment.fsp,
                        ..midnight(moment.date)
                    }) =>
            {
                Nearest::Exactly(Value::Date(moment.date))
            }
            Value::DateTime(moment) => Nearest::JustAbove(Value::Date(moment.date)),
            _ => Nearest::Incomparable,
        },
        TypeKind::DateTime => match value {
            Value::DateTime(moment) => {
                let floor = moment.truncate(ty.decimals);
                if floor.micros == moment.micros {
                    Nearest::Exactly(Value::DateTime(floor))
                } else {
                    Nearest::JustAbove(Value::DateTime(floor))
                }
            }
            Value::Date(date) => Nearest::Exactly(Value::DateTime(DateTime {
                fsp: ty.decimals,
                ..midnight(*date)
            })),
            _ => Nearest::Incomparable,
        },
        TypeKind::Timestamp => match value {
            Value::DateTime(local) => nearest_moment(*local, ty, zone),
            Value::Date(date) => nearest_moment(midnight(*date), ty, zone),
            _ => Nearest::Incomparable,
        },
        TypeKind::Time => match value {
            Value::Time(time) => {
                let floor = time.truncate(ty.decimals);
                match floor.micros == time.micros {
                    true => Nearest::Exactly(Value::Time(floor)),
                    // Truncation goes towards zero, which is up for negative times.
                    false if time.micros < 0 => Nearest::Incomparable,
                    false => Nearest::JustAbove(Value::Time(floor)),
                }
            }
            _ => Nearest::Incomparable,
        },
        TypeKind::Year => match value {
            Value::Year(_) => Nearest::Exactly(value.clone()),
            _ => Nearest::Incomparable,
        },
        _ => Nearest::Incomparable,
    }
}

fn nearest_integer(value: &Value, ty: &SqlType) -> Nearest {
    let (floor, exact) = match value {
        Value::Int(number) => (i128::from(*number), true),
        Value::UInt(number) => (i128::from(*number), true),
        Value::Bit(bit) => (i128::from(bit.value), true),
        Value::Year(year) => (i128::from(*year), true),
        Value::Decimal(number) => {
            let floor = number.floor().unwrap_or(*number);
            match floor.normalized().to_scaled() {
                Some((integer, 0)) => (integer, floor == *number),
                _ if number.is_negative() => return Nearest::BelowAll,
                _ => return Nearest::AboveAll,
            }
        }
        // Text that is a number in full: how drivers send parameters.
        Value::Str(text) => match text.trim_matches(' ').parse::<i128>() {
            Ok(integer) => (integer, true),
            Err(_) => return Nearest::Incomparable,
        },
        Value::Double(number) if number.is_nan() => return Nearest::Incomparable,
        // Beyond 2^53 a double stands for several integers.
        Value::Double(number) if number.abs() >= 9_007_199_254_740_992.0 => return Nearest::Incomparable,
        Value::Double(number) => (number.floor() as i128, number.fract() == 0.0),
        _ => return Nearest::Incomparable,
    };
    let (least, greatest) = ty.integer_range();
    let stored = |number: i128| {
        if ty.unsigned {
            Value::UInt(number as u64)
        } else {
            Value::Int(number as i64)
        }
    };
    match (floor, exact) {
        (floor, _) if floor < least => Nearest::BelowAll,
        (floor, _) if floor > greatest => Nearest::AboveAll,
        (floor, true) => Nearest::Exactly(stored(floor)),
        (floor, false) => Nearest::JustAbove(stored(floor)),
    }
}

fn nearest_decimal(value: &Value, ty: &SqlType) -> Nearest {
    let number = match value {
        Value::Int(number) => Decimal::from(*number),
        Value::UInt(number) => Decimal::from(*number),
        Value::Decimal(number) => *number,
        _ => return Nearest::Incomparable,
    };
    let Ok(mut floor) = number.truncate(ty.decimals) else {
        return Nearest::Incomparable;
    };
    if floor > number {
        // Truncation goes towards zero, which is up for negative numbers.
        let step = Decimal::from_scaled(1, ty.decimals);
        let Ok(below) = floor.checked_sub(step) else {
            return Nearest::Incomparable;
        };
        floor = below;
    }
    if !floor.fits(ty.length as u8, ty.decimals) {
        return if number.is_negative() {
            Nearest::BelowAll
        } else {
            Nearest::AboveAll
        };
    }
    if floor == number {
        Nearest::Exactly(Value::Decimal(floor))
    } else {
        Nearest::JustAbove(Value::Decimal(floor))
    }
}

/// Only zones without daylight saving have clocks in the order of moments.
fn nearest_moment(local: DateTime, ty: &SqlType, zone: &TimeZone) -> Nearest {
    if !zone.is_fixed() {
        return Nearest::Incomparable;
    }
    match zone.to_unix(local) {
        Some(moment) if moment.is_in_range() => {
            let floor = moment.truncate(ty.decimals);
            match floor.micros == moment.micros {
                true => Nearest::Exactly(Value::Timestamp(floor)),
                false => Nearest::JustAbove(Value::Timestamp(floor)),
            }
        }
        _ => Nearest::Incomparable,
    }
}

fn midnight(date: Date) -> DateTime {
    DateTime {
        date,
        ..DateTime::default()
    }
}

fn as_double(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::UInt(number) => Some(*number as f64),
        Value::Double(number) => Some(*number),
        Value::Decimal(number) => Some(number.to_f64()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_between_and_beyond_the_integers() {
        let tiny = SqlType::integer(TypeKind::TinyInt, false);
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text).unwrap());
        assert_eq!(
            nearest(&Value::Int(7), &tiny, &TimeZone::UTC),
            Nearest::Exactly(Value::Int(7))
        );
        assert_eq!(
            nearest(&decimal("7.5"), &tiny, &TimeZone::UTC),
            Nearest::JustAbove(Value::Int(7))
        );
        assert_eq!(
            nearest(&decimal("-7.5"), &tiny, &TimeZone::UTC),
            Nearest::JustAbove(Value::Int(-8))
        );
        assert_eq!(
            nearest(&Value::Double(7.0), &tiny, &TimeZone::UTC),
            Nearest::Exactly(Value::Int(7))
        );
        assert_eq!(nearest(&Value::Int(128), &tiny, &TimeZone::UTC), Nearest::AboveAll);
        assert_eq!(nearest(&Value::Int(-129), &tiny, &TimeZone::UTC), Nearest::BelowAll);
        assert_eq!(
            nearest(&Value::str("7"), &tiny, &TimeZone::UTC),
            Nearest::Exactly(Value::Int(7))
        );
        assert_eq!(nearest(&Value::str("7x"), &tiny, &TimeZone::UTC), Nearest::Incomparable);
    }

    #[test]
    fn constants_between_and_beyond_the_decimals() {
        let money = SqlType::decimal(4, 2);
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text).unwrap());
        assert_eq!(
            nearest(&Value::Int(7), &money, &TimeZone::UTC),
            Nearest::Exactly(decimal("7.00"))
        );
        assert_eq!(
            nearest(&decimal("7.125"), &money, &TimeZone::UTC),
            Nearest::JustAbove(decimal("7.12"))
        );
        assert_eq!(nearest(&decimal("100"), &money, &TimeZone::UTC), Nearest::AboveAll);
        assert_eq!(nearest(&decimal("-100"), &money, &TimeZone::UTC), Nearest::BelowAll);
    }
}
