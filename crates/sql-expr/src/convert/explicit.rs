//! `CAST`, and the conversion to the common type of several expressions (`IF`, `CASE`, `COALESCE`, UNION).

use std::borrow::Cow;

use types::error::{ErrorKind, SqlError};
use types::time::{Date, DateTime, Time};
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use super::super::context::EvalContext;
use super::{
    incorrect_datetime, to_bytes_as, to_date, to_datetime, to_decimal, to_encoded_bytes, to_f64, to_i128, to_text_as,
    to_text_under, to_time, truncated,
};
use crate::sql_mode::SqlMode;

/// `CAST(value AS to)`, not NULL; `length` cuts text (and pads binary strings with zeros).
pub fn cast(
    value: Value,
    from: &SqlType,
    to: &SqlType,
    length: Option<u32>,
    ctx: &EvalContext<'_>,
) -> SqlResult<Value> {
    match to.kind {
        kind if kind.is_binary() => cut_bytes(to_encoded_bytes(&value, from), length, ctx),
        kind if kind.is_text() => to_charset(&value, from, to, length, ctx),
        TypeKind::Date => Ok(real_date(&value, ctx)?.map_or(Value::Null, Value::Date)),
        TypeKind::DateTime => Ok(match real_parts(&value, ctx)? {
            None => Value::Null,
            Some(v) if truncates(ctx) => Value::DateTime(v.truncate(to.decimals)),
            Some(v) => match v.round(to.decimals) {
                Some(rounded) => Value::DateTime(rounded),
                None => {
                    ctx.warn(types::cast::overflow())?;
                    Value::Null
                }
            },
        }),
        TypeKind::Time if truncates(ctx) => {
            Ok(to_time(&value, ctx)?.map_or(Value::Null, |v| Value::Time(v.truncate(to.decimals))))
        }
        _ => ctx.convert(|context| types::cast::cast(value, to, context))?,
    }
}

fn truncates(ctx: &EvalContext<'_>) -> bool {
    ctx.settings.sql_mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL)
}

/// As [`real_parts`], of the date alone: a number is YYMMDD however small it is, so that 3 is the third of no month of 2000.
pub fn real_date(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Option<Date>> {
    const DAYS: f64 = 101.0;
    let number = match value {
        Value::Int(number) => *number as f64,
        Value::UInt(number) => *number as f64,
        Value::Double(number) => *number,
        Value::Float(number) => f64::from(*number),
        Value::Decimal(number) => number.to_f64(),
        _ => DAYS,
    };
    if !(0.0..DAYS).contains(&number) {
        return Ok(real_parts(value, ctx)?.map(|datetime| datetime.date));
    }
    let (month, day) = (number as u8 / 100, number as u8 % 100);
    if day > 31 || ctx.settings.sql_mode.has(SqlMode::NO_ZERO_IN_DATE) {
        ctx.warn(incorrect_datetime(value))?;
        return Ok(None);
    }
    Ok(Some(Date { year: 2000, month, day }))
}

/// As a date with time; one without month or day is NULL with warning 1292 under NO_ZERO_IN_DATE.
pub fn real_parts(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Option<DateTime>> {
    let Some(datetime) = to_datetime(value, ctx)? else {
        return Ok(None);
    };
    if datetime.date.is_zero() && ctx.settings.sql_mode.has(SqlMode::NO_ZERO_DATE) {
        return Ok(None);
    }
    let partial = !datetime.date.is_zero() && (datetime.date.month == 0 || datetime.date.day == 0);
    if partial && ctx.settings.sql_mode.has(SqlMode::NO_ZERO_IN_DATE) {
        ctx.warn(incorrect_datetime(value))?;
        return Ok(None);
    }
    Ok(Some(datetime))
}

fn cut_bytes(bytes: Cow<'_, [u8]>, length: Option<u32>, ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let Some(length) = length else {
        return Ok(Value::bytes(&bytes));
    };
    let length = length as usize;
    if bytes.len() > length {
        ctx.warn(truncated(&format!("BINARY({length})"), &bytes))?;
        return Ok(Value::bytes(&bytes[..length]));
    }
    let most = ctx.settings.max_allowed_packet;
    if length as u64 > most {
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

/// Text in another character set: what it lacks becomes `?`; bytes are read as text of it (NULL with 1300 when they are none).
fn to_charset(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    length: Option<u32>,
    ctx: &EvalContext<'_>,
) -> SqlResult<Value> {
    let charset = to.charset();
    let text: Cow<'_, str> = match value {
        Value::Bytes(_) | Value::Bit(_) => {
            let bytes = to_bytes_as(value, from);
            match charset.decode(&bytes) {
                Ok(text) => Cow::Owned(text.into_owned()),
                Err(invalid) => {
                    let shown: String = bytes[invalid.position..]
                        .iter()
                        .take(6)
                        .map(|byte| format!("{byte:02X}"))
                        .collect();
                    ctx.warn(SqlError::new(
                        ErrorKind::InvalidCharacterString,
                        &[&charset.name(), &shown],
                    ))?;
                    return Ok(Value::Null);
                }
            }
        }
        other => to_text_as(other, from),
    };
    let text = match charset.first_foreign(&text) {
        None => text,
        Some(_) => Cow::Owned(
            text.chars()
                .map(|c| if charset.contains(c) { c } else { '?' })
                .collect(),
        ),
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
        TypeKind::DateTime | TypeKind::Timestamp => {
            let datetime = to_datetime(&value, ctx)?;
            datetime.map_or(Value::Null, |v| Value::DateTime(DateTime { fsp: to.decimals, ..v }))
        }
        TypeKind::Time => to_time(&value, ctx)?.map_or(Value::Null, |v| Value::Time(Time { fsp: to.decimals, ..v })),
        TypeKind::Date => to_date(&value, ctx)?.map_or(Value::Null, Value::Date),
        TypeKind::Json if !matches!(value, Value::Json(_)) => {
            ctx.convert(|context| types::cast::cast(value, to, context))??
        }
        kind if kind.is_binary() || (kind.is_text() && to.collation == CollationId::BINARY) => match value {
            Value::Bytes(_) if kind != TypeKind::Binary => value,
            other => {
                let mut bytes = to_encoded_bytes(&other, from).into_owned();
                if kind == TypeKind::Binary {
                    bytes.resize(bytes.len().max(to.length as usize), 0);
                }
                Value::Bytes(bytes.into())
            }
        },
        kind if kind.is_text() => match value {
            Value::Str(_) => value,
            other => Value::str(&to_text_under(&other, from, to.collation)?),
        },
        _ => value,
    })
}
