//! `CAST(value AS type)` and `CONVERT(value, type)`.

use super::number::{Integer, to_decimal, to_f64, to_integer};
use super::temporal::{overflow, to_datetime, to_time};
use super::{Context, truncated};
use crate::decimal::Decimal;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::json::Json;
use crate::sql_type::{NOT_FIXED_DECIMALS, SqlType, TypeKind};
use crate::value::{Bytes, Str, Value, ValueRef};

/// `CAST(value AS ty)`: a bad value warns (1292) and gives the nearest value, or NULL for temporals. Errors only for JSON (3141,
/// 3147). `SIGNED` and `UNSIGNED` are BIGINT, `CHAR(n)` is VARCHAR (or CHAR), `BINARY(n)` is BINARY or VARBINARY.
pub fn cast(value: Value, ty: &SqlType, cx: &mut Context<'_>) -> SqlResult<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    Ok(match ty.kind {
        TypeKind::Null => Value::Null,
        kind if kind.is_integer() => cast_integer(value.as_ref(), ty, cx),
        TypeKind::Bit => Value::UInt(to_integer(value.as_ref(), cx.warnings).as_u64()),
        TypeKind::Decimal => cast_decimal(value.as_ref(), ty, cx),
        TypeKind::Float => {
            let v = to_f64(value.as_ref(), cx.warnings);
            let max = f64::from(f32::MAX);
            if v.abs() > max {
                cx.warnings.warn(truncated("FLOAT", value.as_ref()));
            }
            Value::Float(v.clamp(-max, max) as f32)
        }
        TypeKind::Double => Value::Double(to_f64(value.as_ref(), cx.warnings)),
        TypeKind::Date => match to_datetime(value.as_ref(), cx) {
            Some(v) => Value::Date(v.date),
            None => Value::Null,
        },
        TypeKind::DateTime | TypeKind::Timestamp => {
            let rounded = to_datetime(value.as_ref(), cx).map(|v| v.round(ty.decimals));
            if rounded == Some(None) {
                cx.warnings.warn(overflow());
            }
            rounded.flatten().map_or(Value::Null, Value::DateTime)
        }
        TypeKind::Time => match to_time(value.as_ref(), cx) {
            Some(v) => Value::Time(v.round(ty.decimals)),
            None => Value::Null,
        },
        TypeKind::Year => cast_year(value.as_ref(), cx),
        TypeKind::Json => Value::Json(to_json(&value)?),
        TypeKind::Enum | TypeKind::Set => Value::Str(text_of(value)),
        kind if kind.is_binary() => cast_binary(value, ty, cx),
        _ => cast_text(value, ty, cx),
    })
}

fn cast_integer(value: ValueRef<'_>, ty: &SqlType, cx: &mut Context<'_>) -> Value {
    let before = cx.warnings.count();
    let integer = to_integer(value, cx.warnings);
    // One warning is enough: a number that did not fit has had its own.
    if matches!(value, ValueRef::Str(_) | ValueRef::Bytes(_)) && overflows(value) {
        return if ty.unsigned {
            Value::UInt(integer.as_u64())
        } else {
            Value::Int(integer.as_i64())
        };
    }
    let is_text = matches!(value, ValueRef::Str(_) | ValueRef::Bytes(_));
    match (integer, ty.unsigned) {
        (Integer::Signed(v), true) if v < 0 && is_text => {
            let text = "Cast to unsigned converted negative integer to it's positive complement";
            cx.warnings.warn(SqlError::with_message(ErrorKind::UnknownError, text));
            Value::UInt(v as u64)
        }
        (Integer::Unsigned(v), false) if v > i64::MAX as u64 && is_text => {
            let text = "Cast to signed converted positive out-of-range integer to it's negative complement";
            cx.warnings.warn(SqlError::with_message(ErrorKind::UnknownError, text));
            Value::Int(v as i64)
        }
        // Numbers saturate where strings and BIGINTs wrap.
        (_, false) if matches!(value, ValueRef::Decimal(_) | ValueRef::Double(_) | ValueRef::Float(_)) => {
            let wide = integer.as_i128();
            if wide > i128::from(i64::MAX) && cx.warnings.count() == before {
                cx.warnings.warn(truncated("INTEGER", value));
            }
            Value::Int(i64::try_from(wide).unwrap_or(i64::MAX))
        }
        (_, true) => Value::UInt(integer.as_u64()),
        (_, false) => Value::Int(integer.as_i64()),
    }
}

/// Whether the digits of a text are beyond what its sign allows in 64 bits.
fn overflows(value: ValueRef<'_>) -> bool {
    let parsed = crate::number::parse_integer(&value.text_bytes());
    parsed.overflow || (parsed.negative && parsed.magnitude > 1 << 63)
}

fn cast_decimal(value: ValueRef<'_>, ty: &SqlType, cx: &mut Context<'_>) -> Value {
    let (precision, scale) = (ty.length as u8, ty.decimals);
    let decimal = to_decimal(value, cx.warnings);
    let limit = Decimal::max(precision, scale);
    let rounded = match decimal.round(scale) {
        Ok(v) if v.abs() <= limit => v,
        _ => {
            cx.warnings
                .warn(SqlError::new(ErrorKind::OutOfRange, &[&super::excerpt(value), &1]));
            if decimal.is_negative() { -limit } else { limit }
        }
    };
    Value::Decimal(rounded)
}

/// MySQL manual, section 14.10: two digits are a year near 2000, more than four are a date.
fn cast_year(value: ValueRef<'_>, cx: &mut Context<'_>) -> Value {
    let year = match value {
        ValueRef::Year(v) => return Value::Year(v),
        ValueRef::Date(v) => i128::from(v.year),
        ValueRef::DateTime(v) => v.date.year.into(),
        ValueRef::Timestamp(v) => cx.zone.to_local(v).date.year.into(),
        ValueRef::Time(_) => cx.zone.to_local(cx.now).date.year.into(),
        ValueRef::Str(_) | ValueRef::Bytes(_) => match year_of_text(value, cx) {
            Some(year) => year,
            None => return Value::Null,
        },
        ValueRef::Float(v) => i128::from(f64::from(v).round_ties_even() as i64),
        ValueRef::Double(v) => i128::from(v.round_ties_even() as i64),
        other => to_integer(other, cx.warnings).as_i128(),
    };
    match year {
        0 if matches!(value, ValueRef::Str(_)) => Value::Year(2000),
        // A number of the type YEAR is 0, not 0000.
        0 => Value::UInt(0),
        1901..=2155 => Value::Year(year as u16),
        1..=69 => Value::Year(2000 + year as u16),
        70..=99 => Value::Year(1900 + year as u16),
        _ => {
            cx.warnings.warn(truncated("YEAR", value));
            Value::Null
        }
    }
}

/// The number that a text begins with. 1525, as a warning, for none and for one that no BIGINT holds or that is negative.
fn year_of_text(value: ValueRef<'_>, cx: &mut Context<'_>) -> Option<i128> {
    let text = value.text_bytes();
    let parsed = crate::number::parse_integer(&text);
    if parsed.consumed == 0 || parsed.overflow || parsed.negative {
        cx.warnings
            .warn(SqlError::new(ErrorKind::WrongValue, &[&"YEAR", &super::excerpt(value)]));
        return None;
    }
    let (year, rest) = (i128::from(parsed.magnitude), parsed.consumed < text.len());
    if rest {
        cx.warnings.warn(truncated("YEAR", value));
    }
    Some(year)
}

fn text_of(value: Value) -> Str {
    match value {
        Value::Str(text) => text,
        other => other.as_ref().text().into_owned().into(),
    }
}

/// Text of any length when the type has none; of `length` characters otherwise. Bytes that are not UTF-8 make it NULL (1300).
fn cast_text(value: Value, ty: &SqlType, cx: &mut Context<'_>) -> Value {
    if let Value::Bytes(bytes) = &value
        && let Err(e) = std::str::from_utf8(bytes)
    {
        let rest: String = bytes[e.valid_up_to()..]
            .iter()
            .take(6)
            .map(|b| format!("{b:02X}"))
            .collect();
        cx.warnings.warn(SqlError::new(
            ErrorKind::InvalidCharacterString,
            &[&ty.charset().name(), &rest],
        ));
        return Value::Null;
    }
    let source = value.as_ref();
    let text = source.text();
    let limit = ty.length as usize;
    if ty.length == u32::MAX || text.len() <= limit {
        return Value::Str(text_of(value.clone()));
    }
    match text.char_indices().nth(limit) {
        None => Value::Str(text_of(value.clone())),
        Some((end, _)) => {
            cx.warnings.warn(truncated(&format!("CHAR({limit})"), source));
            Value::Str(Str::new(&text[..end]))
        }
    }
}

/// Bytes in the value's own character set; BINARY(n) is padded with zeros.
fn cast_binary(value: Value, ty: &SqlType, cx: &mut Context<'_>) -> Value {
    let bytes = match &value {
        Value::Bytes(bytes) => bytes.clone(),
        other => Bytes::new(&other.as_ref().text_bytes()),
    };
    let limit = ty.length as usize;
    if bytes.len() > limit {
        cx.warnings.warn(truncated(&format!("BINARY({limit})"), value.as_ref()));
        return Value::Bytes(Bytes::new(&bytes[..limit]));
    }
    if ty.kind == TypeKind::Binary && bytes.len() < limit {
        let mut padded = bytes.to_vec();
        padded.resize(limit, 0);
        return Value::Bytes(padded.into());
    }
    Value::Bytes(bytes)
}

/// A value as JSON: strings are parsed (3141 if they are not JSON), everything else is a scalar.
fn to_json(value: &Value) -> SqlResult<Json> {
    match value {
        Value::Str(text) => Json::parse(text).map_err(|e| {
            SqlError::new(
                ErrorKind::InvalidJsonTextInParam,
                &[&1, &"cast_as_json", &e.message, &e.position],
            )
        }),
        Value::Bytes(_) => Err(SqlError::new(ErrorKind::InvalidJsonCharset, &[&"binary"])),
        other => Ok(Json::from_value(other.as_ref())),
    }
}

/// 3156, as a warning of numeric context.
pub(super) fn bad_json(type_name: &str) -> SqlError {
    SqlError::new(ErrorKind::InvalidJsonValueForCast, &[&type_name, &"", &1])
}

/// Whether a floating point type has a fixed number of digits.
pub(super) fn has_fixed_digits(ty: &SqlType) -> bool {
    ty.decimals < NOT_FIXED_DECIMALS
}
