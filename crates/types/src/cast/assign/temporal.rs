//! DATE, TIME, DATETIME, TIMESTAMP, YEAR.

use super::{data_truncated, incorrect, out_of_range};
use crate::cast::number::{is_blank, to_integer};
use crate::cast::temporal::{Reading, overflow, read_datetime, read_time};
use crate::cast::{Context, Target};
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::number::parse_rounded_integer;
use crate::sql_type::SqlType;
use crate::time::{Date, DateRules, DateTime, ParsedDateTime, Time, UnixTime};
use crate::value::{Value, ValueRef};

/// 1292 under the text of 1366: `Incorrect date value: 'abc' for column 'c' at row 1`; of a document 3156.
fn bad(type_name: &str, value: ValueRef<'_>, target: Target<'_>) -> SqlError {
    if let ValueRef::Json(_) = value {
        let shown = match type_name {
            "datetime" => "DATETIME/TIMESTAMP".to_owned(),
            name => name.to_uppercase(),
        };
        let names: [&dyn std::fmt::Display; 3] = [&shown, &target.column, &target.row];
        return SqlError::new(ErrorKind::InvalidJsonValueForCast, &names);
    }
    let text = incorrect(type_name, value, target);
    SqlError::with_message(ErrorKind::TruncatedWrongValue, text.message())
}

/// In strict mode an error that quotes the value, otherwise the short warning.
fn complain(
    type_name: &str,
    value: ValueRef<'_>,
    lenient: SqlError,
    target: Target<'_>,
    cx: &mut Context<'_>,
) -> SqlResult<()> {
    let error = if cx.mode.strict {
        bad(type_name, value, target)
    } else {
        lenient
    };
    cx.complain(error)
}

/// Reads a date and time by the mode's rules. A value that is none, or not allowed, is the zero date (or `None` when it is an
/// allowed kind of wrong).
fn read(type_name: &str, value: ValueRef<'_>, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<ParsedDateTime> {
    let zero = ParsedDateTime {
        value: DateTime::default(),
        date_only: true,
        truncated: false,
        offset_seconds: None,
    };
    let mode = cx.mode;
    let parsed = match read_datetime(
        value,
        DateRules {
            invalid: mode.allow_invalid_dates,
            ..DateRules::RELAXED
        },
        cx,
    ) {
        Reading::Value(parsed) => parsed,
        Reading::Null | Reading::Bad => {
            let any_day = DateRules {
                invalid: true,
                ..DateRules::RELAXED
            };
            // Text of a day that its month has not is out of range, other text is no date.
            let lenient = match (value, read_datetime(value, any_day, cx)) {
                (ValueRef::Str(_) | ValueRef::Bytes(_), Reading::Value(_)) => out_of_range(target),
                _ => data_truncated(target),
            };
            complain(type_name, value, lenient, target, cx)?;
            return Ok(zero);
        }
    };
    if !mode.date_rules().allow(parsed.value.date) {
        // Without strict mode a forbidden zero date is stored, with a warning.
        complain(type_name, value, out_of_range(target), target, cx)?;
        return Ok(if parsed.value.date.is_zero() { parsed } else { zero });
    }
    if parsed.truncated {
        complain(type_name, value, data_truncated(target), target, cx)?;
    }
    Ok(parsed)
}

pub(super) fn date(value: ValueRef<'_>, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    let parsed = read("date", value, target, cx)?;
    if parsed.value.time() != Time::default() && !matches!(value, ValueRef::Time(_)) {
        cx.warnings.note(data_truncated(target));
    }
    Ok(Value::Date(parsed.value.date))
}

pub(super) fn datetime(
    value: ValueRef<'_>,
    ty: &SqlType,
    target: Target<'_>,
    cx: &mut Context<'_>,
) -> SqlResult<Value> {
    let parsed = read("datetime", value, target, cx)?;
    Ok(Value::DateTime(round(parsed.value, ty, value, target, cx)?))
}

fn round(
    v: DateTime,
    ty: &SqlType,
    value: ValueRef<'_>,
    target: Target<'_>,
    cx: &mut Context<'_>,
) -> SqlResult<DateTime> {
    if cx.mode.truncates_fractions {
        return Ok(v.truncate(ty.decimals));
    }
    match v.round(ty.decimals) {
        Some(rounded) => Ok(rounded),
        None => {
            cx.complain(overflow())?;
            complain("datetime", value, out_of_range(target), target, cx)?;
            Ok(DateTime {
                date: Date::ZERO,
                fsp: ty.decimals,
                ..DateTime::default()
            })
        }
    }
}

pub(super) fn timestamp(
    value: ValueRef<'_>,
    ty: &SqlType,
    target: Target<'_>,
    cx: &mut Context<'_>,
) -> SqlResult<Value> {
    if let ValueRef::Timestamp(v) = value {
        return Ok(Value::Timestamp(match cx.mode.truncates_fractions {
            true => v.truncate(ty.decimals),
            false => v.round(ty.decimals),
        }));
    }
    let parsed = read("datetime", value, target, cx)?;
    let local = round(parsed.value, ty, value, target, cx)?;
    let zero = UnixTime {
        micros: 0,
        fsp: ty.decimals,
    };
    if local.is_zero() {
        return Ok(Value::Timestamp(zero));
    }
    match cx.zone.to_unix(local) {
        Some(unix) if (1_000_000..=UnixTime::MAX_MICROS).contains(&unix.micros) => {
            // An hour that the clocks leap over is stored as the moment of the leap.
            if cx.zone.to_local(unix) != local {
                let lenient = SqlError::new(ErrorKind::WarnInvalidTimestamp, &[&target.column, &target.row]);
                complain("datetime", value, lenient, target, cx)?;
            }
            Ok(Value::Timestamp(unix))
        }
        _ => {
            complain("datetime", value, out_of_range(target), target, cx)?;
            Ok(Value::Timestamp(zero))
        }
    }
}

pub(super) fn time(value: ValueRef<'_>, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    let fsp = ty.decimals;
    let parsed = match read_time(value, cx) {
        Reading::Value(parsed) => parsed,
        Reading::Null | Reading::Bad => {
            // Text of nothing is no time at all, and still no mistake.
            if matches!(value, ValueRef::Str(_) | ValueRef::Bytes(_)) && is_blank(&value.text_bytes()) {
                return Ok(Value::Time(Time { micros: 0, fsp }));
            }
            // Digits that are no time are out of range, other text is no time.
            let digits = value
                .text_bytes()
                .iter()
                .all(|b| matches!(b, b'0'..=b'9' | b':' | b'-' | b'.'));
            let lenient = if digits && !value.text_bytes().is_empty() {
                out_of_range(target)
            } else {
                data_truncated(target)
            };
            complain("time", value, lenient, target, cx)?;
            return Ok(Value::Time(Time { micros: 0, fsp }));
        }
    };
    if parsed.out_of_range {
        complain("time", value, out_of_range(target), target, cx)?;
    } else if parsed.truncated {
        complain("time", value, data_truncated(target), target, cx)?;
    } else if parsed.had_date {
        cx.warnings.note(data_truncated(target));
    }
    Ok(Value::Time(match cx.mode.truncates_fractions {
        true => parsed.value.truncate(fsp),
        false => parsed.value.round(fsp),
    }))
}

/// One and two digits are near 2000: 0..=69 and 70..=99. The number 0 and the string '0000' are
/// the year 0000, shorter zeros are 2000.
pub(super) fn year(value: ValueRef<'_>, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    let (year, zero_is_2000) = match value {
        ValueRef::Year(v) => return Ok(Value::Year(v)),
        ValueRef::Date(v) => (i128::from(v.year), false),
        ValueRef::DateTime(v) => (v.date.year.into(), false),
        ValueRef::Timestamp(v) => (cx.zone.to_local(v).date.year.into(), false),
        ValueRef::Time(_) => (cx.zone.to_local(cx.now).date.year.into(), false),
        ValueRef::Str(_) | ValueRef::Bytes(_) => {
            let text = value.text_bytes();
            let parsed = parse_rounded_integer(&text);
            if parsed.consumed == 0 {
                cx.complain(incorrect("integer", value, target))?;
                return Ok(Value::Year(0));
            }
            if !is_blank(&text[parsed.consumed..]) {
                cx.complain(data_truncated(target))?;
            }
            let magnitude = i128::from(parsed.magnitude);
            let signed = if parsed.negative { -magnitude } else { magnitude };
            (signed, text.len() != 4)
        }
        ValueRef::Double(v) => (v as i128, false),
        ValueRef::Float(v) => (v as i128, false),
        other => (to_integer(other, cx.warnings).as_i128(), false),
    };
    Ok(Value::Year(match year {
        0 if zero_is_2000 => 2000,
        0 | 1901..=2155 => year as u16,
        1..=69 => 2000 + year as u16,
        70..=99 => 1900 + year as u16,
        _ => {
            cx.complain(out_of_range(target))?;
            0
        }
    }))
}
