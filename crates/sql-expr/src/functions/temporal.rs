//! Parts of dates and times, and the current ones.

use types::error::{ErrorKind, SqlError};
use types::time::{Date, DateRules, DateTime, IntervalUnit, Time, TimeZone, UnixTime, WeekMode};
use types::{SqlResult, SqlType, Value};

use super::args::{Args, Inference};
use super::{Function, between, exactly};
use crate::context::EvalContext;
use crate::{Expr, arithmetic, convert};

pub const FUNCTIONS: &[Function] = &[
    Function::strict("NOW", between(0, 1), |i| moment_type(i, SqlType::datetime), now).per_statement(),
    Function::strict(
        "CURRENT_TIMESTAMP",
        between(0, 1),
        |i| moment_type(i, SqlType::datetime),
        now,
    )
    .per_statement(),
    Function::strict("LOCALTIME", between(0, 1), |i| moment_type(i, SqlType::datetime), now).per_statement(),
    Function::strict(
        "LOCALTIMESTAMP",
        between(0, 1),
        |i| moment_type(i, SqlType::datetime),
        now,
    )
    .per_statement(),
    Function::strict("CURDATE", exactly(0), date_type, curdate).per_statement(),
    Function::strict("CURRENT_DATE", exactly(0), date_type, curdate).per_statement(),
    Function::strict("CURTIME", between(0, 1), |i| moment_type(i, SqlType::time), curtime).per_statement(),
    Function::strict(
        "CURRENT_TIME",
        between(0, 1),
        |i| moment_type(i, SqlType::time),
        curtime,
    )
    .per_statement(),
    Function::strict(
        "UTC_TIMESTAMP",
        between(0, 1),
        |i| moment_type(i, SqlType::datetime),
        |args| Ok(Value::DateTime(moment(args, &TimeZone::UTC, args.ctx.now))),
    )
    .per_statement(),
    Function::strict("UTC_DATE", exactly(0), date_type, |args| {
        Ok(Value::Date(moment(args, &TimeZone::UTC, args.ctx.now).date))
    })
    .per_statement(),
    Function::strict(
        "UTC_TIME",
        between(0, 1),
        |i| moment_type(i, SqlType::time),
        |args| Ok(Value::Time(moment(args, &TimeZone::UTC, args.ctx.now).time())),
    )
    .per_statement(),
    Function::strict("SYSDATE", between(0, 1), |i| moment_type(i, SqlType::datetime), sysdate).volatile(),
    Function::strict(
        "DATE",
        exactly(1),
        |_| Ok(SqlType::date()),
        |args| Ok(convert::real_date(&args.dated(0), args.ctx)?.map_or(Value::Null, Value::Date)),
    ),
    Function::strict("TIME", exactly(1), infer_time, |args| {
        Ok(args.time(0)?.map_or(Value::Null, |time| {
            Value::Time(Time {
                fsp: args.ty.decimals,
                ..time
            })
        }))
    }),
    Function::strict(
        "YEAR",
        exactly(1),
        // A number of the type YEAR: a zero date's is 0, not 0000.
        |_| {
            Ok(SqlType {
                zerofill: false,
                ..SqlType::year()
            })
        },
        |args| {
            Ok(match numbered_date(args, 0)? {
                None => Value::Null,
                Some(Date { year: 0, .. }) => Value::UInt(0),
                Some(date) => Value::Year(date.year),
            })
        },
    ),
    Function::strict(
        "MONTH",
        exactly(1),
        |_| number(2),
        |args| of_date(args, |date| Some(date.month.into())),
    ),
    Function::strict(
        "DAY",
        exactly(1),
        |_| number(2),
        |args| of_date(args, |date| Some(date.day.into())),
    ),
    Function::strict(
        "DAYOFMONTH",
        exactly(1),
        |_| number(2),
        |args| of_date(args, |date| Some(date.day.into())),
    ),
    Function::strict(
        "QUARTER",
        exactly(1),
        |_| number(1),
        |args| of_date(args, |date| Some(date.quarter().into())),
    ),
    Function::strict(
        "DAYOFWEEK",
        exactly(1),
        |_| number(1),
        |args| of_real_date(args, |date| i64::from(date.weekday_from_sunday()) + 1),
    ),
    Function::strict(
        "WEEKDAY",
        exactly(1),
        |_| number(1),
        |args| of_real_date(args, |date| date.weekday().into()),
    ),
    Function::strict(
        "DAYOFYEAR",
        exactly(1),
        |_| number(3),
        |args| of_real_date(args, |date| date.day_of_year().into()),
    ),
    // Depends on default_week_format.
    Function::nullable("WEEK", between(1, 2), |_| number(2), week).per_session(),
    Function::strict(
        "WEEKOFYEAR",
        exactly(1),
        |_| number(2),
        |args| of_real_date(args, |date| date.week(WeekMode::new(3)).1.into()),
    ),
    Function::nullable("YEARWEEK", between(1, 2), |_| number(6), yearweek),
    Function::strict(
        "DAYNAME",
        exactly(1),
        |i| name_type(i, i.ctx.settings.locale.widest_weekday()),
        |args| {
            let name = real_date(args, 0)?.and_then(|date| args.ctx.settings.locale.weekday(date.weekday()));
            Ok(name.map_or(Value::Null, |name| args.text_result(name.to_owned())))
        },
    )
    .per_session(),
    Function::strict(
        "MONTHNAME",
        exactly(1),
        |i| name_type(i, i.ctx.settings.locale.widest_month()),
        |args| {
            let name = date(args, 0)?.and_then(|date| args.ctx.settings.locale.month(date.month));
            Ok(name.map_or(Value::Null, |name| args.text_result(name.to_owned())))
        },
    )
    .per_session(),
    Function::strict(
        "LAST_DAY",
        exactly(1),
        |_| Ok(SqlType::date()),
        |args| {
            let date = date(args, 0)?;
            if date.is_some_and(|date| date.month == 0) {
                let shown = args.text(0);
                args.ctx.warn(convert::truncated("date", shown.as_bytes()))?;
                return Ok(Value::Null);
            }
            Ok(date.and_then(Date::last_day).map_or(Value::Null, Value::Date))
        },
    ),
    Function::strict(
        "HOUR",
        exactly(1),
        |_| number(3),
        |args| of_time(args, |time| time.hours().into()),
    ),
    Function::strict(
        "MINUTE",
        exactly(1),
        |_| number(2),
        |args| of_time(args, |time| time.minutes().into()),
    ),
    Function::strict(
        "SECOND",
        exactly(1),
        |_| number(2),
        |args| of_time(args, |time| time.seconds().into()),
    ),
    Function::strict(
        "MICROSECOND",
        exactly(1),
        |_| number(6),
        |args| of_time(args, |time| time.fraction().into()),
    ),
    Function::strict(
        "TIME_TO_SEC",
        exactly(1),
        |_| number(10),
        |args| of_time(args, |time| time.micros / 1_000_000),
    ),
    Function::strict(
        "TO_DAYS",
        exactly(1),
        |_| number(6),
        |args| of_real_date(args, Date::to_days),
    ),
    Function::strict("TO_SECONDS", exactly(1), |_| number(12), to_seconds),
    Function::strict("FROM_DAYS", exactly(1), |_| Ok(SqlType::date()), from_days),
    Function::strict("EXTRACT", exactly(2), |_| number(21), extract),
];

/// An integer of so many digits, NULL where the argument is no date.
fn number(digits: u32) -> SqlResult<SqlType> {
    Ok(SqlType {
        length: digits,
        ..SqlType::bigint()
    })
}

fn date_type(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType::date().not_null())
}

fn name_type(inference: &mut Inference<'_>, chars: usize) -> SqlResult<SqlType> {
    let ty = inference.connection_text(chars as u64);
    Ok(SqlType { nullable: true, ..ty })
}

/// The fraction digits that the argument asks for: a literal of 0 to 6. 1426 beyond.
fn moment_type(inference: &mut Inference<'_>, ty: fn(u8) -> SqlType) -> SqlResult<SqlType> {
    let digits = match inference.literal(0) {
        None => 0,
        Some(value) => convert::to_i64(&value.clone(), inference.ctx)?,
    };
    match u8::try_from(digits) {
        Ok(digits @ 0..=6) => Ok(ty(digits).not_null()),
        _ => {
            let name = inference.name.to_ascii_lowercase();
            Err(SqlError::new(ErrorKind::TooBigPrecision, &[&digits, &name, &6]))
        }
    }
}

/// The wall clock's time, cut to the digits of the result.
fn moment(args: &Args<'_>, zone: &TimeZone, at: UnixTime) -> DateTime {
    DateTime {
        fsp: args.ty.decimals,
        ..zone.to_local(at).truncate(args.ty.decimals)
    }
}

fn now(args: &Args<'_>) -> SqlResult<Value> {
    Ok(Value::DateTime(moment(
        args,
        &args.ctx.settings.time_zone,
        args.ctx.now,
    )))
}

fn sysdate(args: &Args<'_>) -> SqlResult<Value> {
    let at = UnixTime {
        micros: args.ctx.services.clock_micros(),
        fsp: 6,
    };
    Ok(Value::DateTime(moment(args, &args.ctx.settings.time_zone, at)))
}

fn curdate(args: &Args<'_>) -> SqlResult<Value> {
    Ok(Value::Date(
        moment(args, &args.ctx.settings.time_zone, args.ctx.now).date,
    ))
}

fn curtime(args: &Args<'_>) -> SqlResult<Value> {
    Ok(Value::Time(
        moment(args, &args.ctx.settings.time_zone, args.ctx.now).time(),
    ))
}

fn infer_time(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType::time(time_digits(inference, 0)))
}

/// The fraction digits of an argument as a time: those of its type, or of the literal, or six for text.
pub(super) fn time_digits(inference: &Inference<'_>, arg: usize) -> u8 {
    digits_of(inference, arg, |text| {
        Time::parse(text)
            .map(|parsed| parsed.value.fsp)
            .or_else(|| datetime_digits(text))
    })
}

/// [`time_digits`] where the argument is a date with a time, if it can be one.
pub(super) fn fraction_digits(inference: &Inference<'_>, arg: usize) -> u8 {
    digits_of(inference, arg, |text| {
        datetime_digits(text).or_else(|| Time::parse(text).map(|parsed| parsed.value.fsp))
    })
}

fn digits_of(inference: &Inference<'_>, arg: usize, of_text: impl Fn(&str) -> Option<u8>) -> u8 {
    match inference.args[arg].computed(inference.ctx) {
        Some(value @ (Value::Str(_) | Value::Bytes(_))) => of_text(&convert::to_text(&value)).unwrap_or(6),
        _ => arithmetic::decimals_of(&inference.args[arg].ty).min(6),
    }
}

pub(super) fn datetime_digits(text: &str) -> Option<u8> {
    DateTime::parse(text, DateRules::RELAXED).map(|parsed| parsed.value.fsp)
}

/// The argument as a date, zero parts allowed.
pub(super) fn date(args: &Args<'_>, arg: usize) -> SqlResult<Option<Date>> {
    Ok(args.datetime(arg)?.map(|datetime| datetime.date))
}

/// A date where a number may be one that a string must not be: below 100 it is a day of no month of 2000, as in MySQL.
fn numbered_date(args: &Args<'_>, arg: usize) -> SqlResult<Option<Date>> {
    match day_of_number(args.value(arg)) {
        Some(day) => Ok(Some(day)),
        None => date(args, arg),
    }
}

/// The day of no month of 2000 that a number up to 31 is.
pub(super) fn day_of_number(value: &Value) -> Option<Date> {
    let day = small_number(value).filter(|day| *day <= 31)?;
    Some(Date {
        year: 2000,
        month: 0,
        day,
    })
}

/// A date with time where the number 0 is the zero date in any mode, as in MySQL; a string is not.
pub(super) fn numbered_datetime(args: &Args<'_>, arg: usize) -> SqlResult<Option<DateTime>> {
    match small_number(args.value(arg)) {
        Some(0) => Ok(Some(DateTime::default())),
        _ => args.datetime(arg),
    }
}

fn small_number(value: &Value) -> Option<u8> {
    match value {
        Value::Int(number) => u8::try_from(*number).ok(),
        Value::UInt(number) => u8::try_from(*number).ok(),
        Value::Decimal(number) => u8::try_from(number.truncate(0).ok()?.to_i64().ok()?).ok(),
        Value::Double(number) if (0.0..256.0).contains(number) => Some(*number as u8),
        _ => None,
    }
}

fn of_date(args: &Args<'_>, part: impl Fn(Date) -> Option<i64>) -> SqlResult<Value> {
    Ok(Value::from(numbered_date(args, 0)?.and_then(part)))
}

/// The first argument as a date of the calendar with its time; others are NULL with warning 1292.
pub(super) fn real_datetime(args: &Args<'_>, arg: usize) -> SqlResult<Option<DateTime>> {
    let Some(datetime) = args.datetime(arg)? else {
        return Ok(None);
    };
    if datetime.date.is_real() {
        return Ok(Some(datetime));
    }
    // A date that is stored with zeros is nothing, and no mistake.
    if !matches!(args.value(arg), Value::Date(_) | Value::DateTime(_)) {
        args.ctx.warn(convert::incorrect_datetime(args.value(arg)))?;
    }
    Ok(None)
}

/// The argument as a date of a calendar.
pub(super) fn real_date(args: &Args<'_>, arg: usize) -> SqlResult<Option<Date>> {
    Ok(real_datetime(args, arg)?.map(|datetime| datetime.date))
}

fn of_real_date(args: &Args<'_>, part: impl Fn(Date) -> i64) -> SqlResult<Value> {
    Ok(Value::from(real_date(args, 0)?.map(part)))
}

fn of_time(args: &Args<'_>, part: impl Fn(Time) -> i64) -> SqlResult<Value> {
    Ok(Value::from(args.time(0)?.map(part)))
}

fn to_seconds(args: &Args<'_>) -> SqlResult<Value> {
    let Some(datetime) = real_datetime(args, 0)? else {
        return Ok(Value::Null);
    };
    let clock = i64::from(datetime.hour) * 3600 + i64::from(datetime.minute) * 60 + i64::from(datetime.second);
    Ok(Value::Int(datetime.date.to_days() * 86_400 + clock))
}

fn from_days(args: &Args<'_>) -> SqlResult<Value> {
    match Date::from_days(args.int(0)?) {
        Some(date) => Ok(Value::Date(date)),
        None => out_of_range(args, "DATE"),
    }
}

/// 6527, as a warning; the result is NULL.
pub(super) fn out_of_range(args: &Args<'_>, kind: &str) -> SqlResult<Value> {
    let shown: Vec<String> = args.exprs.iter().map(Expr::to_string).collect();
    let shown = format!("{}({})", args.name.to_lowercase(), shown.join(","));
    args.ctx
        .warn(SqlError::new(ErrorKind::TemporalOutOfRange, &[&kind, &shown]))?;
    Ok(Value::Null)
}

/// Whether text is read as a date, with or without a time, where a time is wanted, too: `2020-03-04`, `20200304`, `200304101112`, but
/// not `10:11:12`.
pub(super) fn reads_as_date(text: &str, ctx: &EvalContext<'_>) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let dated = match text.as_bytes().get(digits) {
        Some(b'-') => digits > 0,
        None => matches!(digits, 6 | 8 | 12 | 14),
        Some(_) => false,
    };
    let rules = DateRules {
        zero_parts: true,
        ..ctx.settings.sql_mode.for_casts().date_rules()
    };
    dated && DateTime::parse(text, rules).is_some_and(|parsed| !parsed.truncated)
}

/// `None` for NULL, of which the week of any date is 0.
fn week_mode(args: &Args<'_>, default: u8) -> SqlResult<Option<i64>> {
    match args.len() {
        1 => Ok(Some(i64::from(default))),
        _ if args.is_null(1) => Ok(None),
        _ => args.int(1).map(Some),
    }
}

fn week(args: &Args<'_>) -> SqlResult<Value> {
    let mode = week_mode(args, args.ctx.settings.default_week_format)?.map(WeekMode::new);
    of_real_date(args, |date| mode.map_or(0, |mode| date.week(mode).1.into()))
}

fn yearweek(args: &Args<'_>) -> SqlResult<Value> {
    let mode = week_mode(args, 0)?.map(WeekMode::for_yearweek);
    of_real_date(args, |date| {
        mode.map_or(0, |mode| {
            let (year, week) = date.week(mode);
            i64::from(year) * 100 + i64::from(week)
        })
    })
}

/// The unit that a keyword argument names.
pub(super) fn unit(value: &Value) -> SqlResult<IntervalUnit> {
    let name = convert::to_text(value);
    IntervalUnit::from_name(&name).ok_or_else(|| SqlError::new(ErrorKind::WrongArguments, &[&"INTERVAL"]))
}

/// `EXTRACT(unit FROM operand)`; the composite units are their digits side by side.
fn extract(args: &Args<'_>) -> SqlResult<Value> {
    use IntervalUnit::*;
    let unit = unit(args.value(0))?;
    if matches!(unit, Year | YearMonth | Quarter | Month | Week | Day) {
        let Some(DateTime { date, .. }) = numbered_datetime(args, 1)? else {
            return Ok(Value::Null);
        };
        return Ok(Value::Int(match unit {
            Year => date.year.into(),
            YearMonth => i64::from(date.year) * 100 + i64::from(date.month),
            Quarter => date.quarter().into(),
            Month => date.month.into(),
            Week => date
                .week(WeekMode::new(args.ctx.settings.default_week_format.into()))
                .1
                .into(),
            _ => date.day.into(),
        }));
    }
    let Some((day, time)) = day_and_time(args, args.ctx)? else {
        return Ok(Value::Null);
    };
    let (hours, minutes, seconds) = (
        i64::from(time.hours()),
        i64::from(time.minutes()),
        i64::from(time.seconds()),
    );
    let micros = i64::from(time.fraction());
    let clock = (hours * 100 + minutes) * 100 + seconds;
    let number = match unit {
        Hour => hours,
        Minute => minutes,
        Second => seconds,
        Microsecond => micros,
        DayHour => day * 100 + hours,
        DayMinute => (day * 100 + hours) * 100 + minutes,
        DaySecond => day * 1_000_000 + clock,
        DayMicrosecond => (day * 1_000_000 + clock) * 1_000_000 + micros,
        HourMinute => hours * 100 + minutes,
        HourSecond => clock,
        HourMicrosecond => clock * 1_000_000 + micros,
        MinuteSecond => minutes * 100 + seconds,
        MinuteMicrosecond => (minutes * 100 + seconds) * 1_000_000 + micros,
        _ => seconds * 1_000_000 + micros,
    };
    Ok(Value::Int(if time.micros < 0 { -number } else { number }))
}

/// The time, and the day of the month where the operand has a date.
fn day_and_time(args: &Args<'_>, ctx: &EvalContext<'_>) -> SqlResult<Option<(i64, Time)>> {
    match args.value(1) {
        Value::DateTime(datetime) => Ok(Some((datetime.date.day.into(), datetime.time()))),
        Value::Date(date) => Ok(Some((date.day.into(), Time::default()))),
        text @ (Value::Str(_) | Value::Bytes(_)) => {
            let shown = convert::to_text(text);
            let dated = Time::parse(&shown).is_some_and(|parsed| parsed.had_date) || reads_as_date(&shown, ctx);
            if dated && let Some(datetime) = convert::to_datetime(text, ctx)? {
                return Ok(Some((datetime.date.day.into(), datetime.time())));
            }
            Ok(convert::to_time(text, ctx)?.map(|time| (0, time)))
        }
        // A number that is a date is one: 101112 is a day of 2010.
        Value::Int(number) if *number >= 10_101 && DateTime::from_number(*number, DateRules::RELAXED).is_some() => {
            Ok(convert::to_datetime(args.value(1), ctx)?.map(|v| (v.date.day.into(), v.time())))
        }
        other => Ok(convert::to_time(other, ctx)?.map(|time| (0, time))),
    }
}
