//! A value in another context: as a number, as text, as a date. What MySQL does when an operand has not the type that an
//! operator wants; bad text warns (1292) and gives the nearest value.
//!
//! Values here are not NULL: callers look first.

mod cast;
mod json;
mod temporal;

use std::borrow::Cow;

use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::number::{self, ParsedInt};
use types::time::TimeZone;
use types::{CharsetId, SqlResult, SqlType, TypeKind, Value};

use super::context::EvalContext;
use super::{Expr, ExprKind};

pub use cast::{cast, to_common};
pub use json::{compare_json, to_json_scalar};
pub use temporal::{
    date_literal, number_as_datetime, number_as_time, parse_datetime_quietly, parse_time_quietly, time_literal,
    timestamp_literal, to_date, to_datetime, to_datetime_by, to_time,
};

/// Longest piece of a bad value that a message shows.
const SHOWN: usize = 128;

/// 1292 `Truncated incorrect <kind> value: '<text>'`.
pub fn truncated(kind: &str, text: &[u8]) -> SqlError {
    let shown = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).into_owned();
    SqlError::new(ErrorKind::TruncatedWrongValue, &[&kind, &shown])
}

fn only_blanks(text: &[u8]) -> bool {
    text.iter().all(|b| b.is_ascii_whitespace())
}

/// The truth of a value: whether it is a number other than zero.
pub fn to_bool(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<bool> {
    Ok(match value {
        Value::Int(number) => *number != 0,
        Value::UInt(number) => *number != 0,
        Value::Decimal(number) => !number.is_zero(),
        Value::Double(number) => *number != 0.0,
        other => to_f64(other, ctx)? != 0.0,
    })
}

/// As an exact whole number; fractions round half away from zero, text is read up to its first other character.
pub fn to_i128(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<i128> {
    Ok(match value {
        Value::Int(number) => i128::from(*number),
        Value::UInt(number) => i128::from(*number),
        Value::Float(number) => round_to_i128(f64::from(*number)),
        Value::Double(number) => round_to_i128(*number),
        Value::Decimal(number) => decimal_to_i128(*number),
        Value::Str(text) => text_to_i128(text.as_bytes(), ctx)?,
        Value::Bytes(bytes) => text_to_i128(bytes, ctx)?,
        Value::Json(json) => json::to_i128(json, ctx)?,
        Value::Null => 0,
        other => decimal_to_i128(to_decimal(other, ctx)?),
    })
}

fn round_to_i128(number: f64) -> i128 {
    let clamped = number.round_ties_even();
    if clamped >= i64::MAX as f64 {
        // Doubles saturate at the signed limit, the unsigned range starts beyond.
        if clamped >= u64::MAX as f64 {
            i128::from(u64::MAX)
        } else {
            clamped as i128
        }
    } else if clamped <= i64::MIN as f64 {
        i128::from(i64::MIN)
    } else {
        clamped as i128
    }
}

fn decimal_to_i128(number: Decimal) -> i128 {
    match number.round(0).unwrap_or(number).to_scaled() {
        Some((coefficient, 0)) => coefficient,
        _ if number.is_negative() => i128::from(i64::MIN),
        _ => i128::from(u64::MAX),
    }
}

fn text_to_i128(text: &[u8], ctx: &EvalContext<'_>) -> SqlResult<i128> {
    let ParsedInt {
        negative,
        magnitude,
        consumed,
        overflow,
    } = number::parse_integer(text);
    if consumed == 0 || overflow || !only_blanks(&text[consumed..]) {
        ctx.warn(truncated("INTEGER", text))?;
    }
    let magnitude = i128::from(magnitude);
    Ok(if negative {
        (-magnitude).max(i128::from(i64::MIN))
    } else {
        magnitude
    })
}

/// As a signed 64-bit number: what functions take for counts and positions. Beyond the limits it is the nearest one.
pub fn to_i64(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<i64> {
    if let Value::Int(number) = value {
        return Ok(*number);
    }
    let wide = to_i128(value, ctx)?;
    Ok(wide.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
}

/// As 64 bits: negative numbers in two's complement.
pub fn to_bits(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<u64> {
    let wide = to_i128(value, ctx)?;
    Ok(if wide < 0 {
        wide.max(i128::from(i64::MIN)) as i64 as u64
    } else {
        wide.min(i128::from(u64::MAX)) as u64
    })
}

pub fn to_f64(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<f64> {
    Ok(match value {
        Value::Int(number) => *number as f64,
        Value::UInt(number) => *number as f64,
        Value::Float(number) => f64::from(*number),
        Value::Double(number) => *number,
        Value::Decimal(number) => number.to_f64(),
        Value::Str(text) => text_to_f64(text.as_bytes(), ctx)?,
        Value::Bytes(bytes) => text_to_f64(bytes, ctx)?,
        Value::Json(json) => json::to_f64(json, ctx)?,
        Value::Null => 0.0,
        other => to_decimal(other, ctx)?.to_f64(),
    })
}

fn text_to_f64(text: &[u8], ctx: &EvalContext<'_>) -> SqlResult<f64> {
    let parsed = number::parse_double(text);
    if parsed.consumed == 0 || parsed.overflow || !only_blanks(&text[parsed.consumed..]) {
        ctx.warn(truncated("DOUBLE", text))?;
    }
    Ok(parsed.value)
}

pub fn to_decimal(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Decimal> {
    Ok(match value {
        Value::Decimal(number) => *number,
        Value::Int(number) => Decimal::from(*number),
        Value::UInt(number) => Decimal::from(*number),
        Value::Float(number) => double_to_decimal(f64::from(*number)),
        Value::Double(number) => double_to_decimal(*number),
        Value::Year(year) => Decimal::from(i64::from(*year)),
        Value::Bit(bit) => Decimal::from(bit.value),
        Value::Enum(value) => Decimal::from(i64::from(value.index)),
        Value::Set(value) => Decimal::from(value.bits),
        Value::Date(date) => Decimal::from(date.to_number()),
        Value::Time(time) => time.to_decimal(),
        Value::DateTime(datetime) => datetime.to_decimal(),
        Value::Timestamp(at) => ctx.settings.time_zone.to_local(*at).to_decimal(),
        Value::Str(text) => text_to_decimal(text.as_bytes(), ctx)?,
        Value::Bytes(bytes) => text_to_decimal(bytes, ctx)?,
        Value::Json(json) => json::to_decimal(json, ctx)?,
        Value::Null => Decimal::ZERO,
    })
}

/// The nearest decimal with all digits of the double's shortest form.
pub fn double_to_decimal(number: f64) -> Decimal {
    Decimal::from_f64(number).unwrap_or_else(|_| {
        let most = Decimal::max(types::decimal::MAX_PRECISION, 0);
        if number < 0.0 { -most } else { most }
    })
}

fn text_to_decimal(text: &[u8], ctx: &EvalContext<'_>) -> SqlResult<Decimal> {
    let parsed = Decimal::parse_prefix(text);
    if parsed.consumed == 0 || parsed.overflow || !only_blanks(&text[parsed.consumed..]) {
        ctx.warn(truncated("DECIMAL", text))?;
    }
    Ok(parsed.value)
}

/// As text. Binary strings are read as UTF-8 with replacement, which only messages and mixed comparisons need.
pub fn to_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed("NULL"),
        Value::Str(text) => Cow::Borrowed(text.as_str()),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes),
        Value::Enum(value) => Cow::Borrowed(value.as_str()),
        Value::Set(value) => Cow::Owned(value.to_text()),
        Value::Int(number) => Cow::Owned(number.to_string()),
        Value::UInt(number) => Cow::Owned(number.to_string()),
        Value::Float(number) => Cow::Owned(number::float_to_string(*number)),
        Value::Double(number) => Cow::Owned(number::double_to_string(*number)),
        Value::Decimal(number) => Cow::Owned(number.to_string()),
        Value::Date(date) => Cow::Owned(date.to_string()),
        Value::Time(time) => Cow::Owned(time.to_string()),
        Value::DateTime(datetime) => Cow::Owned(datetime.to_string()),
        Value::Timestamp(at) => Cow::Owned(TimeZone::UTC.to_local(*at).to_string()),
        Value::Year(year) => Cow::Owned(format!("{year:04}")),
        Value::Bit(bit) => Cow::Owned(String::from_utf8_lossy(&bit.to_bytes()).into_owned()),
        Value::Json(json) => Cow::Owned(json::text(json)),
    }
}

/// As text, printed as a column of type `ty` prints: FLOAT(M,D), ZEROFILL.
pub fn to_text_as<'v>(value: &'v Value, ty: &SqlType) -> Cow<'v, str> {
    if ty.zerofill && ty.kind != TypeKind::Year {
        let text = to_text(value);
        let width = ty.length as usize;
        return if text.len() < width {
            Cow::Owned(format!("{text:0>width$}"))
        } else {
            text
        };
    }
    match value {
        Value::Double(number) if ty.kind == TypeKind::Double && is_fixed(ty) => fixed(*number, ty.decimals),
        Value::Float(number) if ty.kind == TypeKind::Float && is_fixed(ty) => fixed(f64::from(*number), ty.decimals),
        _ => to_text(value),
    }
}

fn is_fixed(ty: &SqlType) -> bool {
    ty.decimals < types::sql_type::NOT_FIXED_DECIMALS
}

fn fixed(number: f64, decimals: u8) -> Cow<'static, str> {
    let mut out = Vec::new();
    number::write_fixed(number, decimals, &mut out);
    Cow::Owned(String::from_utf8(out).expect("numbers print as ASCII"))
}

/// As the bytes that the value's text has inside.
pub fn to_bytes(value: &Value) -> Cow<'_, [u8]> {
    match value {
        Value::Bytes(bytes) => Cow::Borrowed(bytes),
        Value::Bit(bit) => Cow::Owned(bit.to_bytes().to_vec()),
        other => match to_text(other) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
    }
}

/// As the bytes that the value has in the character set of its type: what LENGTH, HEX, MD5 look at.
pub fn to_encoded_bytes<'v>(value: &'v Value, ty: &SqlType) -> Cow<'v, [u8]> {
    match ty.charset() {
        CharsetId::BINARY | CharsetId::UTF8MB4 => to_bytes_as(value, ty),
        _ if matches!(value, Value::Bytes(_) | Value::Bit(_)) => to_bytes(value),
        charset => Cow::Owned(charset.encode(&to_text_as(value, ty)).into_owned()),
    }
}

/// As the bytes inside, printed as a column of type `ty` prints.
pub fn to_bytes_as<'v>(value: &'v Value, ty: &SqlType) -> Cow<'v, [u8]> {
    match value {
        Value::Bytes(_) | Value::Bit(_) => to_bytes(value),
        _ => match to_text_as(value, ty) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
    }
}

/// A hex or bit literal as the unsigned number that it is in numeric context; anything else as it is.
pub fn hex_as_number(expr: Expr) -> Expr {
    match &expr.kind {
        ExprKind::HexLiteral(Value::Bytes(bytes)) => {
            // More than eight bytes: the last eight count.
            let tail = &bytes[bytes.len().saturating_sub(8)..];
            let number = tail.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            Expr::literal(Value::UInt(number), SqlType::bigint_unsigned().not_null())
        }
        _ => expr,
    }
}
