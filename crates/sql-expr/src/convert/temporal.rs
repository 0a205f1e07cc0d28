//! Values as dates and times.

use std::borrow::Cow;

use types::error::{ErrorKind, SqlError};
use types::time::{Date, DateRules, DateTime, ParsedDateTime, Time, UnixTime};
use types::{SqlResult, Value, cast};

use super::super::context::EvalContext;
use super::to_text;
use crate::Expr;
use crate::functions::temporal_math::is_moved_text;
use crate::sql_mode::SqlMode;

/// The value where a date or a time is wanted: a column's year is the first of January, and a number has a sign whatever its type.
pub fn dated<'v>(expr: &Expr, value: &'v Value) -> Cow<'v, Value> {
    match value {
        Value::Year(year) if expr.is_stored() => Cow::Owned(Value::DateTime(DateTime::from(Date {
            year: *year,
            month: 1,
            day: 1,
        }))),
        Value::Str(text) if is_moved_text(expr) => match DateTime::parse(text, DateRules::RELAXED) {
            Some(parsed) => Cow::Owned(Value::DateTime(parsed.value)),
            None => Cow::Borrowed(value),
        },
        Value::UInt(number) if i64::try_from(*number).is_err() => Cow::Owned(Value::Int(number.cast_signed())),
        other => Cow::Borrowed(other),
    }
}

/// The dates that functions take under the session's mode.
pub fn date_rules(ctx: &EvalContext<'_>) -> DateRules {
    let mode = ctx.settings.sql_mode;
    DateRules {
        zero_date: !mode.has(SqlMode::NO_ZERO_DATE),
        zero_parts: true,
        invalid: mode.has(SqlMode::ALLOW_INVALID_DATES),
    }
}

/// 1292 `Incorrect datetime value: '...'`.
pub fn incorrect_datetime(value: &Value) -> SqlError {
    let text = format!("Incorrect datetime value: '{}'", to_text(value));
    SqlError::with_message(ErrorKind::TruncatedWrongValue, text)
}

/// As a date with time; `None`, with warning 1292, when it is none.
pub fn to_datetime(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Option<DateTime>> {
    match value {
        Value::DateTime(datetime) => Ok(Some(*datetime)),
        Value::Date(date) => Ok(Some(DateTime::from(*date))),
        other => ctx.convert(|context| cast::to_datetime(other.as_ref(), context)),
    }
}

/// As a date; the time of day is dropped.
pub fn to_date(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Option<Date>> {
    Ok(to_datetime(value, ctx)?.map(|datetime| datetime.date))
}

/// As a time; `None`, with warning 1292, when it is none.
pub fn to_time(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Option<Time>> {
    match value {
        Value::Time(time) => Ok(Some(*time)),
        other => ctx.convert(|context| cast::to_time(other.as_ref(), context)),
    }
}

/// A value with an offset of its own, as the session's clock shows it.
fn shifted(parsed: ParsedDateTime, ctx: &EvalContext<'_>) -> Option<DateTime> {
    let Some(offset) = parsed.offset_seconds else {
        return Some(parsed.value);
    };
    let utc = parsed.value.add_micros(-i64::from(offset) * 1_000_000)?;
    let micros = utc.micros_since(DateTime::EPOCH);
    Some(ctx.settings.time_zone.to_local(UnixTime {
        micros,
        fsp: parsed.value.fsp,
    }))
}

/// A string as a date with time, if it is one to the end: for constants beside columns.
pub fn parse_datetime_quietly(value: &Value, ctx: &EvalContext<'_>) -> Option<DateTime> {
    let parsed = DateTime::parse(&to_text(value), date_rules(ctx)).filter(|parsed| !parsed.truncated)?;
    shifted(parsed, ctx)
}

/// A string as the date with time that it begins with.
pub fn parse_datetime_start(value: &Value, ctx: &EvalContext<'_>) -> Option<DateTime> {
    shifted(DateTime::parse(&to_text(value), date_rules(ctx))?, ctx)
}

/// A string as a time, if it is one to the end.
pub fn parse_time_quietly(value: &Value, _ctx: &EvalContext<'_>) -> Option<Time> {
    let parsed = Time::parse(&to_text(value))?;
    (!parsed.truncated && !parsed.out_of_range).then_some(parsed.value)
}

/// A number as a date with time, if it reads as one: 20240131, 20240131235959.
pub fn number_as_datetime(value: &Value) -> Option<DateTime> {
    let parsed = match value {
        Value::Int(number) => DateTime::from_number(*number, DateRules::RELAXED),
        Value::Decimal(number) => DateTime::from_decimal(*number, DateRules::RELAXED),
        _ => None,
    };
    parsed.filter(|parsed| !parsed.truncated).map(|parsed| parsed.value)
}

/// A number as a time, if it reads as one: 101112.
pub fn number_as_time(value: &Value) -> Option<Time> {
    let parsed = match value {
        Value::Int(number) => Time::from_number(*number),
        Value::Decimal(number) => Time::from_decimal(*number),
        _ => None,
    };
    parsed
        .filter(|parsed| !parsed.truncated && !parsed.out_of_range && !parsed.had_date)
        .map(|parsed| parsed.value)
}

/// `DATE '...'`. 1525 when it is none.
pub fn date_literal(text: &[u8], ctx: &EvalContext<'_>) -> SqlResult<Date> {
    let wrong = || wrong_literal("DATE", text);
    let text = std::str::from_utf8(text).map_err(|_| wrong())?;
    let parsed = DateTime::parse(text, literal_rules(ctx)).filter(|parsed| !parsed.truncated && parsed.date_only);
    parsed.map(|parsed| parsed.value.date).ok_or_else(wrong)
}

/// `TIMESTAMP '...'`. 1525 when it is none.
pub fn timestamp_literal(text: &[u8], ctx: &EvalContext<'_>) -> SqlResult<DateTime> {
    let wrong = || wrong_literal("DATETIME", text);
    let text = std::str::from_utf8(text).map_err(|_| wrong())?;
    let parsed = DateTime::parse(text, literal_rules(ctx)).filter(|parsed| !parsed.truncated && !parsed.date_only);
    parsed.and_then(|parsed| shifted(parsed, ctx)).ok_or_else(wrong)
}

/// `TIME '...'`. 1525 when it is none.
pub fn time_literal(text: &[u8], _ctx: &EvalContext<'_>) -> SqlResult<Time> {
    let wrong = || wrong_literal("TIME", text);
    let text = std::str::from_utf8(text).map_err(|_| wrong())?;
    let parsed = Time::parse(text).filter(|parsed| !parsed.truncated && !parsed.out_of_range && !parsed.had_date);
    parsed.map(|parsed| parsed.value).ok_or_else(wrong)
}

fn literal_rules(ctx: &EvalContext<'_>) -> DateRules {
    let mode = ctx.settings.sql_mode;
    DateRules {
        zero_parts: !mode.has(SqlMode::NO_ZERO_IN_DATE),
        ..date_rules(ctx)
    }
}

fn wrong_literal(kind: &str, text: &[u8]) -> SqlError {
    SqlError::new(ErrorKind::WrongValue, &[&kind, &String::from_utf8_lossy(text)])
}
