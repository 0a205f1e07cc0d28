//! Values in numeric context.

use super::truncated;
use crate::decimal::Decimal;
use crate::error::Warnings;
use crate::number::{parse_double, parse_integer};
use crate::value::ValueRef;

/// An integer of either sign: `-2^63 ..= 2^64 - 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integer {
    Signed(i64),
    Unsigned(u64),
}

impl Integer {
    /// The bits as BIGINT: values above `i64::MAX` wrap.
    pub fn as_i64(self) -> i64 {
        match self {
            Integer::Signed(v) => v,
            Integer::Unsigned(v) => v as i64,
        }
    }

    /// The bits as BIGINT UNSIGNED: negative values wrap.
    pub fn as_u64(self) -> u64 {
        self.as_i64() as u64
    }

    pub fn as_i128(self) -> i128 {
        match self {
            Integer::Signed(v) => v.into(),
            Integer::Unsigned(v) => v.into(),
        }
    }

    pub(super) fn saturating(v: i128) -> Integer {
        match i64::try_from(v) {
            Ok(v) => Integer::Signed(v),
            Err(_) if v < 0 => Integer::Signed(i64::MIN),
            Err(_) => Integer::Unsigned(u64::try_from(v).unwrap_or(u64::MAX)),
        }
    }
}

/// The value as a double. Strings give the number they start with and, when there is more, warning 1292; a blank one is 0 without
/// a warning, unlike in [`to_decimal`] and [`to_integer`]. NULL is 0.
pub fn to_f64(value: ValueRef<'_>, warnings: &mut Warnings) -> f64 {
    match value {
        ValueRef::Int(v) => v as f64,
        ValueRef::UInt(v) => v as f64,
        ValueRef::Float(v) => v.into(),
        ValueRef::Double(v) => v,
        ValueRef::Decimal(v) => v.to_f64(),
        ValueRef::Str(_) | ValueRef::Bytes(_) => {
            let text = value.text_bytes();
            let parsed = parse_double(&text);
            if parsed.overflow || !is_blank(&text[parsed.consumed..]) {
                warnings.warn(truncated("DOUBLE", value));
            }
            parsed.value
        }
        ValueRef::Json(json) => match json.as_number() {
            Some(text @ ValueRef::Str(_)) => of_json_text("DOUBLE", warnings, |unheard| to_f64(text, unheard)),
            Some(number) => to_f64(number, warnings),
            None => {
                warnings.warn(super::explicit::bad_json("DOUBLE"));
                0.0
            }
        },
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) | ValueRef::Timestamp(_) => {
            temporal_number(value).to_f64()
        }
        other => plain_integer(other) as f64,
    }
}

/// The value as an exact number. Strings as in [`to_f64`]. NULL is 0.
pub fn to_decimal(value: ValueRef<'_>, warnings: &mut Warnings) -> Decimal {
    match value {
        ValueRef::Int(v) => v.into(),
        ValueRef::UInt(v) => v.into(),
        ValueRef::Float(v) => double_to_decimal(f64::from(v), value, warnings),
        ValueRef::Double(v) => double_to_decimal(v, value, warnings),
        ValueRef::Decimal(v) => v,
        ValueRef::Str(_) | ValueRef::Bytes(_) => {
            let text = value.text_bytes();
            let parsed = Decimal::parse_prefix(&text);
            if parsed.consumed == 0 || parsed.overflow || !is_blank(&text[parsed.consumed..]) {
                warnings.warn(truncated("DECIMAL", value));
            }
            parsed.value
        }
        ValueRef::Json(json) => match json.as_number() {
            Some(text @ ValueRef::Str(_)) => of_json_text("DECIMAL", warnings, |unheard| to_decimal(text, unheard)),
            Some(number) => to_decimal(number, warnings),
            None => {
                warnings.warn(super::explicit::bad_json("DECIMAL"));
                Decimal::ZERO
            }
        },
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) | ValueRef::Timestamp(_) => {
            temporal_number(value)
        }
        other => plain_integer(other).into(),
    }
}

/// The value as an integer: doubles to the nearest even, decimals half away from zero, strings up to the first character that
/// is not a digit (warning 1292 when there is one). NULL is 0.
pub fn to_integer(value: ValueRef<'_>, warnings: &mut Warnings) -> Integer {
    match value {
        ValueRef::Int(v) => Integer::Signed(v),
        ValueRef::UInt(v) => Integer::Unsigned(v),
        ValueRef::Float(v) => double_to_integer(v.into(), value, warnings),
        ValueRef::Double(v) => double_to_integer(v, value, warnings),
        ValueRef::Decimal(v) => decimal_to_integer(v, value, warnings),
        ValueRef::Str(_) | ValueRef::Bytes(_) => {
            let text = value.text_bytes();
            let parsed = parse_integer(&text);
            let magnitude = i128::from(parsed.magnitude);
            let wide = if parsed.negative { -magnitude } else { magnitude };
            let result = Integer::saturating(wide);
            let lost = parsed.overflow || result.as_i128() != wide;
            if parsed.consumed == 0 || lost || !is_blank(&text[parsed.consumed..]) {
                warnings.warn(truncated("INTEGER", value));
            }
            result
        }
        ValueRef::Json(json) => match json.as_number() {
            Some(text @ ValueRef::Str(_)) => of_json_text("INTEGER", warnings, |unheard| to_integer(text, unheard)),
            Some(number) => to_integer(number, warnings),
            None => {
                warnings.warn(super::explicit::bad_json("INTEGER"));
                Integer::Signed(0)
            }
        },
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) | ValueRef::Timestamp(_) => {
            let number = rounded_temporal_number(value);
            Integer::Signed(number)
        }
        other => Integer::saturating(plain_integer(other).into()),
    }
}

/// The number that a string of JSON begins with. What it would be warned of as a text is 3156.
fn of_json_text<T>(type_name: &str, warnings: &mut Warnings, read: impl FnOnce(&mut Warnings) -> T) -> T {
    let mut unheard = Warnings::with_limit(1);
    let number = read(&mut unheard);
    if !unheard.is_empty() {
        warnings.warn(super::explicit::bad_json(type_name));
    }
    number
}

/// The value as a condition: not zero. `None` for NULL.
pub fn to_bool(value: ValueRef<'_>, warnings: &mut Warnings) -> Option<bool> {
    Some(match value {
        ValueRef::Null => return None,
        ValueRef::Int(v) => v != 0,
        ValueRef::UInt(v) => v != 0,
        ValueRef::Decimal(v) => !v.is_zero(),
        other => to_f64(other, warnings) != 0.0,
    })
}

fn double_to_decimal(v: f64, value: ValueRef<'_>, warnings: &mut Warnings) -> Decimal {
    Decimal::from_f64(v).unwrap_or_else(|_| {
        warnings.warn(truncated("DECIMAL", value));
        let max = Decimal::max(crate::decimal::MAX_PRECISION, 0);
        if v < 0.0 { -max } else { max }
    })
}

fn double_to_integer(v: f64, value: ValueRef<'_>, warnings: &mut Warnings) -> Integer {
    let rounded = v.round_ties_even();
    // A double is a signed number, however large.
    let result = Integer::Signed(rounded as i64);
    if result.as_i128() as f64 != rounded {
        warnings.warn(truncated("INTEGER", value));
    }
    result
}

fn decimal_to_integer(v: Decimal, value: ValueRef<'_>, warnings: &mut Warnings) -> Integer {
    let result = if v.is_negative() {
        v.to_i64().map(Integer::Signed).map_err(Integer::Signed)
    } else {
        v.to_u64()
            .map(|v| Integer::saturating(v.into()))
            .map_err(Integer::Unsigned)
    };
    result.unwrap_or_else(|nearest| {
        warnings.warn(truncated("DECIMAL", value));
        nearest
    })
}

/// Of the kinds that are whole and not negative.
fn plain_integer(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Year(v) => v.into(),
        ValueRef::Bit(v) => v.value,
        ValueRef::Enum(v) => v.index.into(),
        ValueRef::Set(v) => v.bits,
        _ => 0,
    }
}

/// 20240131, 20240131235959.25, -101112.5.
fn temporal_number(value: ValueRef<'_>) -> Decimal {
    match value {
        ValueRef::Date(v) => v.to_number().into(),
        ValueRef::Time(v) => v.to_decimal(),
        ValueRef::DateTime(v) => v.to_decimal(),
        ValueRef::Timestamp(v) => crate::time::TimeZone::UTC.to_local(v).to_decimal(),
        _ => Decimal::ZERO,
    }
}

/// The number of a temporal rounded to whole seconds.
pub(super) fn rounded_temporal_number(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Date(v) => v.to_number(),
        ValueRef::Time(v) => v.round(0).to_number(),
        ValueRef::DateTime(v) => v.round(0).unwrap_or(v).to_number(),
        ValueRef::Timestamp(v) => crate::time::TimeZone::UTC.to_local(v.round(0)).to_number(),
        _ => 0,
    }
}

pub(super) fn is_blank(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_whitespace)
}
