//! Values as dates and times.

use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::time::{Date, DateRules, DateTime, ParsedDateTime, Time, UnixTime};
use types::{SqlResult, Value};

use super::super::context::EvalContext;
use super::{to_text, truncated};
use crate::sql_mode::SqlMode;

/// 1292 `Incorrect <kind> value: '<text>'`.
fn incorrect(kind: &str, text: &str) -> SqlError {
    SqlError::with_message(
        ErrorKind::TruncatedWrongValue,
        format!("Incorrect {kind} value: '{text}'"),
    )
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

/// As a date with time; `None`, with warning 1292, when it is none.
pub fn to_datetime(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Option<DateTime>> {
    to_datetime_by(value, date_rules(ctx), ctx)
}

/// As [`to_datetime`], under rules of the caller's.
pub fn to_datetime_by(value: &Value, rules: DateRules, ctx: &EvalContext<'_>) -> SqlResult<Option<DateTime>> {
    let parsed = match value {
        Value::Null => return Ok(None),
        Value::DateTime(datetime) => return checked(*datetime, rules, ctx),
        Value::Date(date) => return checked(DateTime::from(*date), rules, ctx),
        Value::Timestamp(at) => return Ok(Some(ctx.settings.time_zone.to_local(*at))),
        Value::Time(time) => return Ok(on_current_date(*time, ctx)),
        Value::Int(number) => DateTime::from_number(*number, rules),
        Value::UInt(number) => i64::try_from(*number)
            .ok()
            .and_then(|number| DateTime::from_number(number, rules)),
        Value::Year(year) => DateTime::from_number(i64::from(*year), rules),
        Value::Decimal(number) => DateTime::from_decimal(*number, rules),
        Value::Double(number) => decimal(*number).and_then(|number| DateTime::from_decimal(number, rules)),
        Value::Float(number) => decimal(f64::from(*number)).and_then(|number| DateTime::from_decimal(number, rules)),
        other => DateTime::parse(&plain_text(other), rules),
    };
    match parsed {
        None => {
            ctx.warn(incorrect("datetime", &plain_text(value)))?;
            Ok(None)
        }
        Some(parsed) => {
            if parsed.truncated {
                ctx.warn(truncated("datetime", plain_text(value).as_bytes()))?;
            }
            Ok(shifted(parsed, ctx))
        }
    }
}

/// A value that is a date already, if the rules have it.
fn checked(datetime: DateTime, rules: DateRules, ctx: &EvalContext<'_>) -> SqlResult<Option<DateTime>> {
    if rules.allow(datetime.date) || rules.zero_parts {
        return Ok(Some(datetime));
    }
    ctx.warn(incorrect("datetime", &datetime.to_string()))?;
    Ok(None)
}

/// As a date; the time of day is dropped.
pub fn to_date(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Option<Date>> {
    Ok(to_datetime(value, ctx)?.map(|datetime| datetime.date))
}

/// As a time; text that is none is zero with warning 1292, and `None` when not even a part of it is.
pub fn to_time(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Option<Time>> {
    let parsed = match value {
        Value::Null => return Ok(None),
        Value::Time(time) => return Ok(Some(*time)),
        Value::DateTime(datetime) => return Ok(Some(datetime.time())),
        Value::Timestamp(at) => return Ok(Some(ctx.settings.time_zone.to_local(*at).time())),
        Value::Date(_) => return Ok(Some(Time::default())),
        Value::Int(number) => Time::from_number(*number),
        Value::UInt(number) => i64::try_from(*number).ok().and_then(Time::from_number),
        Value::Year(year) => Time::from_number(i64::from(*year)),
        Value::Decimal(number) => Time::from_decimal(*number),
        Value::Double(number) => decimal(*number).and_then(Time::from_decimal),
        Value::Float(number) => decimal(f64::from(*number)).and_then(Time::from_decimal),
        other => Time::parse(&plain_text(other)),
    };
    match parsed {
        None => {
            ctx.warn(truncated("time", plain_text(value).as_bytes()))?;
            Ok(None)
        }
        Some(parsed) => {
            if parsed.truncated || parsed.out_of_range {
                ctx.warn(truncated("time", plain_text(value).as_bytes()))?;
            }
            Ok(Some(parsed.value))
        }
    }
}

/// The time of day on the day that the statement runs.
fn on_current_date(time: Time, ctx: &EvalContext<'_>) -> Option<DateTime> {
    let today = ctx.settings.time_zone.to_local(ctx.now).date;
    let moved = DateTime::from(today).add_micros(time.micros)?;
    Some(DateTime { fsp: time.fsp, ..moved })
}

/// A value with an offset of its own, as the session's clock shows it.
fn shifted(parsed: ParsedDateTime, ctx: &EvalContext<'_>) -> Option<DateTime> {
    let Some(offset) = parsed.offset_seconds else {
        return Some(parsed.value);
    };
    let utc = parsed.value.add_micros(-i64::from(offset) * 1_000_000)?;
    let epoch = DateTime::from(Date {
        year: 1970,
        month: 1,
        day: 1,
    });
    let micros = utc.micros_since(epoch);
    Some(ctx.settings.time_zone.to_local(UnixTime {
        micros,
        fsp: parsed.value.fsp,
    }))
}

fn decimal(number: f64) -> Option<Decimal> {
    Decimal::from_f64(number).ok()
}

fn plain_text(value: &Value) -> String {
    to_text(value).into_owned()
}

/// A string as a date with time, if it is one to the end: for constants beside columns.
pub fn parse_datetime_quietly(value: &Value, ctx: &EvalContext<'_>) -> Option<DateTime> {
    let parsed = DateTime::parse(&to_text(value), date_rules(ctx)).filter(|parsed| !parsed.truncated)?;
    shifted(parsed, ctx)
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
