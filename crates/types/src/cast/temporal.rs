//! Values in temporal context.

use super::{Context, truncated};
use crate::decimal::Decimal;
use crate::number::{double_to_string, float_to_string};
use crate::time::{Date, DateRules, DateTime, ParsedDateTime, ParsedTime, Time};
use crate::value::ValueRef;

/// What a value is as a temporal, before anybody decided what to make of its flaws.
pub(super) enum Reading<T> {
    Null,
    /// Neither a temporal nor anything that reads like one.
    Bad,
    Value(T),
}

/// The value as a date and time in the session's zone; warning 1292 and `None` if it is none. `None` for NULL.
pub fn to_datetime(value: ValueRef<'_>, cx: &mut Context<'_>) -> Option<DateTime> {
    let rules = cx.mode.date_rules();
    match read_datetime(
        value,
        DateRules {
            zero_parts: true,
            ..rules
        },
        cx,
    ) {
        Reading::Null => None,
        Reading::Value(parsed) => {
            if parsed.truncated {
                cx.warnings.warn(truncated("datetime", value));
            }
            Some(parsed.value)
        }
        Reading::Bad => {
            cx.warnings.warn(bad("datetime", value));
            None
        }
    }
}

/// The value as a date: the time is dropped.
pub fn to_date(value: ValueRef<'_>, cx: &mut Context<'_>) -> Option<Date> {
    if let ValueRef::Date(date) = value {
        return Some(date);
    }
    to_datetime(value, cx).map(|v| v.date)
}

/// The value as a time; warning 1292 and `None` if it is none. `None` for NULL.
pub fn to_time(value: ValueRef<'_>, cx: &mut Context<'_>) -> Option<Time> {
    match read_time(value, cx) {
        Reading::Null => None,
        Reading::Value(parsed) => {
            if parsed.truncated || parsed.out_of_range {
                cx.warnings.warn(truncated("time", value));
            }
            // Text beyond the limits is the limit, a number is nothing.
            let text = matches!(value, ValueRef::Str(_) | ValueRef::Bytes(_));
            (text || !parsed.out_of_range).then_some(parsed.value)
        }
        Reading::Bad => {
            cx.warnings.warn(truncated("time", value));
            None
        }
    }
}

/// 1292: `Incorrect datetime value: 'abc'`.
pub(super) fn bad(type_name: &str, value: ValueRef<'_>) -> crate::SqlError {
    let text = format!("Incorrect {type_name} value: '{}'", super::excerpt(value));
    crate::SqlError::with_message(crate::ErrorKind::TruncatedWrongValue, text)
}

/// 1441: a date and time that is rounded to one beyond the year 9999.
pub fn overflow() -> crate::SqlError {
    crate::SqlError::new(crate::ErrorKind::DatetimeFunctionOverflow, &[&"datetime"])
}

pub(super) fn read_datetime(value: ValueRef<'_>, rules: DateRules, cx: &Context<'_>) -> Reading<ParsedDateTime> {
    let plain = |value, date_only| ParsedDateTime {
        value,
        date_only,
        truncated: false,
        offset_seconds: None,
    };
    let parsed = match value {
        ValueRef::Null => return Reading::Null,
        ValueRef::Date(date) => rules.allow(date).then(|| plain(date.into(), true)),
        ValueRef::DateTime(v) => rules.allow(v.date).then(|| plain(v, false)),
        ValueRef::Timestamp(v) => Some(plain(cx.zone.to_local(v), false)),
        ValueRef::Time(time) => {
            let today = DateTime::from(cx.zone.to_local(cx.now).date);
            today
                .add_micros(time.micros)
                .map(|v| plain(DateTime { fsp: time.fsp, ..v }, false))
        }
        ValueRef::Int(v) => DateTime::from_number(v, rules),
        ValueRef::UInt(v) => i64::try_from(v).ok().and_then(|v| DateTime::from_number(v, rules)),
        ValueRef::Decimal(v) => DateTime::from_decimal(v, rules),
        ValueRef::Float(v) => number_of(&float_to_string(v)).and_then(|v| DateTime::from_decimal(v, rules)),
        ValueRef::Double(v) => number_of(&double_to_string(v)).and_then(|v| DateTime::from_decimal(v, rules)),
        ValueRef::Year(v) => DateTime::from_number(i64::from(v), rules),
        ValueRef::Json(json) => match json.as_temporal() {
            Some(ValueRef::Json(_)) | None => json.as_str().and_then(|text| DateTime::parse(&text, rules)),
            Some(temporal) => return read_datetime(temporal, rules, cx),
        },
        ValueRef::Str(_) | ValueRef::Bytes(_) | ValueRef::Bit(_) | ValueRef::Enum(_) | ValueRef::Set(_) => {
            DateTime::parse(&value.text(), rules)
        }
    };
    match parsed.map(|p| in_session_zone(p, cx)) {
        Some(Some(parsed)) => Reading::Value(parsed),
        Some(None) | None => Reading::Bad,
    }
}

/// Moves a literal with an offset to the session's zone.
fn in_session_zone(parsed: ParsedDateTime, cx: &Context<'_>) -> Option<ParsedDateTime> {
    let Some(offset) = parsed.offset_seconds else {
        return Some(parsed);
    };
    let moment = crate::time::TimeZone::Offset(offset).to_unix(parsed.value)?;
    Some(ParsedDateTime {
        value: cx.zone.to_local(moment),
        offset_seconds: None,
        ..parsed
    })
}

pub(super) fn read_time(value: ValueRef<'_>, cx: &Context<'_>) -> Reading<ParsedTime> {
    let plain = |value, had_date| ParsedTime {
        value,
        truncated: false,
        out_of_range: false,
        had_date,
    };
    let parsed = match value {
        ValueRef::Null => return Reading::Null,
        ValueRef::Time(v) => Some(plain(v, false)),
        ValueRef::Date(_) => Some(plain(Time::default(), true)),
        ValueRef::DateTime(v) => Some(plain(v.time(), true)),
        ValueRef::Timestamp(v) => Some(plain(cx.zone.to_local(v).time(), true)),
        ValueRef::Int(v) => Time::from_number(v),
        ValueRef::UInt(v) => Time::from_number(i64::try_from(v).unwrap_or(i64::MAX)),
        ValueRef::Decimal(v) => Time::from_decimal(v),
        ValueRef::Float(v) => number_of(&float_to_string(v)).and_then(Time::from_decimal),
        ValueRef::Double(v) => number_of(&double_to_string(v)).and_then(Time::from_decimal),
        ValueRef::Year(v) => Time::from_number(i64::from(v)),
        ValueRef::Json(json) => match json.as_temporal() {
            Some(ValueRef::Json(_)) | None => json.as_str().and_then(|text| Time::parse(&text)),
            Some(temporal) => return read_time(temporal, cx),
        },
        ValueRef::Str(_) | ValueRef::Bytes(_) | ValueRef::Bit(_) | ValueRef::Enum(_) | ValueRef::Set(_) => {
            Time::parse(&value.text())
        }
    };
    parsed.map_or(Reading::Bad, Reading::Value)
}

fn number_of(text: &str) -> Option<Decimal> {
    Decimal::parse(text)
}
