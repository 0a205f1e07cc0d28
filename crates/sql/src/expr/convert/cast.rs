//! `CAST`, and the conversion to the common type of several expressions (`IF`, `CASE`, `COALESCE`, UNION).

use std::borrow::Cow;

use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::{CharsetId, CollationId, SqlResult, SqlType, TypeKind, Value};

use super::super::context::EvalContext;
use super::json;
use super::{
    to_bytes, to_date, to_datetime, to_decimal, to_encoded_bytes, to_f64, to_i128, to_text, to_text_as, to_time,
    truncated,
};

/// `CAST(value AS to)`, not NULL; `length` cuts text (and pads binary strings with zeros).
pub fn cast(
    value: Value,
    from: &SqlType,
    to: &SqlType,
    length: Option<u32>,
    ctx: &EvalContext<'_>,
) -> SqlResult<Value> {
    match to.kind {
        kind if kind.is_integer() && to.unsigned => to_unsigned(&value, ctx),
        kind if kind.is_integer() => to_signed(&value, ctx),
        TypeKind::Decimal => fit_decimal(to_decimal(&value, ctx)?, to, ctx).map(Value::Decimal),
        TypeKind::Double => to_f64(&value, ctx).map(Value::Double),
        TypeKind::Float => to_float(&value, ctx),
        TypeKind::Date => Ok(to_date(&value, ctx)?.map_or(Value::Null, Value::Date)),
        TypeKind::Time => Ok(to_time(&value, ctx)?.map_or(Value::Null, |time| Value::Time(round_time(time, to, ctx)))),
        TypeKind::DateTime | TypeKind::Timestamp => Ok(match to_datetime(&value, ctx)? {
            None => Value::Null,
            Some(datetime) if truncates(ctx) => Value::DateTime(datetime.truncate(to.decimals)),
            Some(datetime) => datetime.round(to.decimals).map_or(Value::Null, Value::DateTime),
        }),
        TypeKind::Year => to_year(&value, ctx),
        TypeKind::Json => json::cast(&value, from),
        kind if kind.is_binary() => {
            let bytes = to_encoded_bytes(&value, from);
            cut_bytes(bytes, length, ctx)
        }
        kind if kind.is_text() => to_charset(value, from, to, length, ctx),
        _ => Ok(value),
    }
}

fn truncates(ctx: &EvalContext<'_>) -> bool {
    ctx.settings
        .sql_mode
        .has(crate::sql_mode::SqlMode::TIME_TRUNCATE_FRACTIONAL)
}

fn round_time(time: types::time::Time, to: &SqlType, ctx: &EvalContext<'_>) -> types::time::Time {
    if truncates(ctx) {
        time.truncate(to.decimals)
    } else {
        time.round(to.decimals)
    }
}

/// Text read as an integer: (value, whether digits went beyond 64 bits).
fn text_to_i128(text: &[u8], ctx: &EvalContext<'_>) -> SqlResult<(i128, bool)> {
    let parsed = types::number::parse_integer(text);
    let clean = text[parsed.consumed..].iter().all(|b| b.is_ascii_whitespace());
    if parsed.consumed == 0 || parsed.overflow || !clean {
        ctx.warn(truncated("INTEGER", text))?;
    }
    let magnitude = i128::from(parsed.magnitude);
    Ok((if parsed.negative { -magnitude } else { magnitude }, parsed.overflow))
}

fn to_signed(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Value> {
    const LEAST: i128 = i64::MIN as i128;
    const MOST: i128 = i64::MAX as i128;
    Ok(Value::Int(match value {
        Value::UInt(number) => *number as i64,
        Value::Str(_) | Value::Bytes(_) => {
            let text = to_bytes(value);
            let (wide, overflow) = text_to_i128(&text, ctx)?;
            if wide > MOST && !overflow {
                // The bits of an unsigned number.
                let note = "Cast to signed converted positive out-of-range integer to its negative complement";
                ctx.warn(SqlError::with_message(ErrorKind::UnknownError, note))?;
                wide as u64 as i64
            } else if overflow && wide > 0 {
                -1
            } else {
                wide.max(LEAST) as i64
            }
        }
        other => {
            let wide = to_i128(other, ctx)?;
            if !(LEAST..=MOST).contains(&wide) {
                let kind = if matches!(other, Value::Decimal(_)) {
                    "DECIMAL"
                } else {
                    "INTEGER"
                };
                ctx.warn(truncated(kind, to_text(other).as_bytes()))?;
            }
            wide.clamp(LEAST, MOST) as i64
        }
    }))
}

fn to_unsigned(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Value> {
    const MOST: i128 = u64::MAX as i128;
    Ok(Value::UInt(match value {
        Value::Int(number) => *number as u64,
        Value::Str(_) | Value::Bytes(_) => {
            let text = to_bytes(value);
            let (wide, _) = text_to_i128(&text, ctx)?;
            if wide < 0 {
                let note = "Cast to unsigned converted negative integer to its positive complement";
                ctx.warn(SqlError::with_message(ErrorKind::UnknownError, note))?;
            }
            wide.max(i64::MIN as i128) as u64
        }
        Value::Decimal(number) if number.is_negative() && !number.round(0).is_ok_and(Decimal::is_zero) => {
            ctx.warn(truncated("DECIMAL", to_text(value).as_bytes()))?;
            0
        }
        other => {
            let wide = to_i128(other, ctx)?;
            if wide > MOST {
                ctx.warn(truncated("INTEGER", to_text(other).as_bytes()))?;
            }
            wide.min(MOST) as u64
        }
    }))
}

/// Rounded to the scale, and the nearest storable number with warning 1264 when there are too many digits.
fn fit_decimal(number: Decimal, to: &SqlType, ctx: &EvalContext<'_>) -> SqlResult<Decimal> {
    let (precision, scale) = (to.length as u8, to.decimals);
    match number.round(scale) {
        Ok(rounded) if rounded.fits(precision, scale) => Ok(rounded),
        _ => {
            let row = ctx.row_number();
            ctx.warn(SqlError::new(ErrorKind::OutOfRange, &[&"", &row]))?;
            let most = Decimal::max(precision, scale);
            Ok(if number.is_negative() { -most } else { most })
        }
    }
}

fn to_float(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let number = to_f64(value, ctx)?;
    let single = number as f32;
    if single.is_infinite() {
        return Err(SqlError::new(ErrorKind::DataOutOfRange, &[&"FLOAT", &number]));
    }
    Ok(Value::Float(single))
}

/// 1901 to 2155, two digits as 1970 to 2069; NULL with a warning beyond.
fn to_year(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let year = match value {
        Value::Date(date) => i128::from(date.year),
        Value::DateTime(datetime) => i128::from(datetime.date.year),
        Value::Timestamp(at) => i128::from(ctx.settings.time_zone.to_local(*at).date.year),
        Value::Time(_) => i128::from(ctx.settings.time_zone.to_local(ctx.now).date.year),
        Value::Year(year) => i128::from(*year),
        Value::Str(text) if text.trim().len() < 4 && matches!(text.trim().parse(), Ok(0)) => 2000,
        other => to_i128(other, ctx)?,
    };
    let year = match year {
        1..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    if year != 0 && !(1901..=2155).contains(&year) {
        ctx.warn(truncated("YEAR", to_text(value).as_bytes()))?;
        return Ok(Value::Null);
    }
    Ok(Value::Year(year as u16))
}

fn cut_bytes(bytes: Cow<'_, [u8]>, length: Option<u32>, ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let Some(length) = length else {
        return Ok(Value::bytes(&bytes));
    };
    let length = length as usize;
    if bytes.len() > length {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        ctx.warn(truncated(&format!("BINARY({length})"), shown.as_bytes()))?;
        return Ok(Value::bytes(&bytes[..length]));
    }
    if length as u64 > ctx.settings.max_allowed_packet {
        let most = ctx.settings.max_allowed_packet;
        ctx.warn(SqlError::new(
            ErrorKind::AllowedPacketOverflowed,
            &[&"cast_as_binary", &most],
        ))?;
        return Ok(Value::Null);
    }
    let mut padded = bytes.into_owned();
    padded.resize(length, 0);
    Ok(Value::Bytes(padded.into()))
}

/// Text in another character set: what it lacks becomes `?`; bytes are read as text of it.
fn to_charset(
    value: Value,
    from: &SqlType,
    to: &SqlType,
    length: Option<u32>,
    ctx: &EvalContext<'_>,
) -> SqlResult<Value> {
    let charset = to.charset();
    let text: Cow<'_, str> = match &value {
        Value::Bytes(bytes) => match charset.decode(bytes) {
            Ok(text) => text,
            Err(invalid) => {
                let shown: String = bytes[invalid.position..]
                    .iter()
                    .take(6)
                    .map(|byte| format!("\\x{byte:02X}"))
                    .collect();
                ctx.warn(SqlError::new(
                    ErrorKind::InvalidCharacterString,
                    &[&charset.name(), &shown],
                ))?;
                return Ok(Value::Null);
            }
        },
        other => to_text_as(other, from),
    };
    let text = match charset {
        CharsetId::UTF8MB4 | CharsetId::BINARY => text,
        _ => match charset.first_foreign(&text) {
            None => text,
            Some(_) => {
                let known: String = text
                    .chars()
                    .map(|c| if charset.contains(c) { c } else { '?' })
                    .collect();
                Cow::Owned(known)
            }
        },
    };
    if let Some(length) = length {
        let kept = to.collation.prefix(text.as_bytes(), length as usize).len();
        if kept < text.len() {
            ctx.warn(truncated(&format!("CHAR({length})"), text.as_bytes()))?;
            return Ok(Value::str(&text[..kept]));
        }
    }
    Ok(match text {
        Cow::Borrowed(text) => Value::str(text),
        Cow::Owned(text) => Value::from(text),
    })
}

/// The value as one of `to`, the common type of several expressions: no information is lost, only the form changes.
pub fn to_common(value: Value, from: &SqlType, to: &SqlType, ctx: &EvalContext<'_>) -> SqlResult<Value> {
    if value.is_null() || to.kind == TypeKind::Null {
        return Ok(value);
    }
    Ok(match to.kind {
        kind if kind.is_integer() => match (&value, to.unsigned) {
            (Value::Int(_), false) | (Value::UInt(_), true) => value,
            (_, true) => u64::try_from(to_i128(&value, ctx)?).map_or(value, Value::UInt),
            (_, false) => i64::try_from(to_i128(&value, ctx)?).map_or(value, Value::Int),
        },
        TypeKind::Decimal => {
            let number = to_decimal(&value, ctx)?;
            Value::Decimal(number.round(to.decimals).unwrap_or(number))
        }
        TypeKind::Double => Value::Double(to_f64(&value, ctx)?),
        TypeKind::Float => Value::Float(to_f64(&value, ctx)? as f32),
        TypeKind::DateTime | TypeKind::Timestamp => match value {
            Value::DateTime(datetime) => Value::DateTime(types::time::DateTime {
                fsp: to.decimals,
                ..datetime
            }),
            other => match to_datetime(&other, ctx)? {
                Some(datetime) => Value::DateTime(types::time::DateTime {
                    fsp: to.decimals,
                    ..datetime
                }),
                None => Value::Null,
            },
        },
        TypeKind::Time => match value {
            Value::Time(time) => Value::Time(types::time::Time {
                fsp: to.decimals,
                ..time
            }),
            other => to_time(&other, ctx)?.map_or(Value::Null, Value::Time),
        },
        TypeKind::Date => match value {
            Value::Date(_) => value,
            other => to_date(&other, ctx)?.map_or(Value::Null, Value::Date),
        },
        TypeKind::Json => match value {
            Value::Json(_) => value,
            other => json::cast(&other, from)?,
        },
        kind if kind.is_binary() || (kind.is_text() && to.collation == CollationId::BINARY) => match value {
            Value::Bytes(_) => value,
            other => Value::bytes(&to_encoded_bytes(&other, from)),
        },
        kind if kind.is_text() => match value {
            Value::Str(_) => value,
            other => Value::str(&to_text_as(&other, from)),
        },
        _ => value,
    })
}
