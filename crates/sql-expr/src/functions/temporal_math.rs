//! Arithmetic with dates and times: intervals, differences, periods, seconds, time zones.

use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::time::{
    Date, DateRules, DateTime, Interval, IntervalUnit, MAX_TIME_MICROS, Time, TimeZone, UnixTime, date_format_in,
    timestamp_diff,
};
use types::{SqlResult, SqlType, TypeKind, Value};

use super::args::{Args, Inference};
use super::temporal::{fraction_digits, out_of_range, reads_as_date, real_date, real_datetime, time_digits, unit};
use super::{Function, between, exactly};
use crate::{Expr, ExprKind, arithmetic, convert};

pub const FUNCTIONS: &[Function] = &[
    Function::strict("DATE_ADD", exactly(3), infer_date_add, |args| {
        date_add(args, Direction::Forward)
    }),
    Function::strict("DATE_SUB", exactly(3), infer_date_add, |args| {
        date_add(args, Direction::Back)
    }),
    Function::strict("ADDDATE", exactly(2), infer_add_days, |args| {
        add_days(args, Direction::Forward)
    }),
    Function::strict("SUBDATE", exactly(2), infer_add_days, |args| {
        add_days(args, Direction::Back)
    }),
    Function::strict("ADDTIME", exactly(2), infer_add_time, |args| {
        add_time(args, Direction::Forward)
    }),
    Function::strict("SUBTIME", exactly(2), infer_add_time, |args| {
        add_time(args, Direction::Back)
    }),
    Function::strict("TIMESTAMP", between(1, 2), infer_timestamp, timestamp),
    Function::strict(
        "DATEDIFF",
        exactly(2),
        |_| {
            Ok(SqlType {
                length: 7,
                ..SqlType::bigint()
            })
        },
        datediff,
    ),
    Function::strict("TIMEDIFF", exactly(2), infer_timediff, timediff),
    Function::strict(
        "TIMESTAMPDIFF",
        exactly(3),
        |_| {
            Ok(SqlType {
                length: 21,
                ..SqlType::bigint()
            })
        },
        difference,
    ),
    Function::strict("MAKEDATE", exactly(2), |_| Ok(SqlType::date()), makedate),
    Function::strict("MAKETIME", exactly(3), |i| Ok(SqlType::time(decimals(i, 2))), maketime),
    Function::strict(
        "SEC_TO_TIME",
        exactly(1),
        |i| Ok(SqlType::time(decimals(i, 0))),
        sec_to_time,
    ),
    Function::strict("PERIOD_ADD", exactly(2), infer_period, period_add),
    Function::strict("PERIOD_DIFF", exactly(2), infer_period, period_diff),
    Function::strict("UNIX_TIMESTAMP", between(0, 1), infer_unix_timestamp, unix_timestamp).per_statement(),
    Function::strict("FROM_UNIXTIME", between(1, 2), infer_from_unixtime, from_unixtime).per_session(),
    Function::strict(
        "CONVERT_TZ",
        exactly(3),
        |i| Ok(SqlType::datetime(fraction_digits(i, 0))),
        convert_tz,
    ),
];

const MICROS: i64 = 1_000_000;
/// The last moment that FROM_UNIXTIME and UNIX_TIMESTAMP know: 3001-01-18 23:59:59 (MySQL 8.0.28).
const LAST_UNIX_SECOND: i64 = 32_536_771_199;

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Forward,
    Back,
}

/// What a date plus an interval is, by the type of the date.
enum Sum {
    Date,
    Time,
    DateTime,
    /// Text: a date or a date with time, as the text was.
    Text,
}

fn sum_of(ty: &SqlType) -> Sum {
    match ty.kind {
        TypeKind::Date => Sum::Date,
        TypeKind::Time => Sum::Time,
        TypeKind::DateTime | TypeKind::Timestamp => Sum::DateTime,
        _ => Sum::Text,
    }
}

fn infer_date_add(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let unit = unit(inference.literal(2).unwrap_or(&Value::Null))?;
    sum_type(inference, unit)
}

fn infer_add_days(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    sum_type(inference, IntervalUnit::Day)
}

fn sum_type(inference: &mut Inference<'_>, unit: IntervalUnit) -> SqlResult<SqlType> {
    let amount = &inference.args[1].ty;
    let digits = match unit {
        unit if unit.has_micros() => 6,
        IntervalUnit::Second => arithmetic::decimals_of(amount).min(6),
        _ => 0,
    };
    let own = inference.args[0].ty.decimals.min(6);
    Ok(match sum_of(&inference.args[0].ty) {
        Sum::Date if unit.has_time() => SqlType::datetime(digits),
        Sum::Date => SqlType::date(),
        Sum::DateTime => SqlType::datetime(own.max(digits)),
        Sum::Time if !has_days(unit) => SqlType::time(own.max(digits)),
        // MySQL 8.0.28: the time on the current day moves.
        Sum::Time => SqlType::datetime(own.max(digits)),
        Sum::Text => {
            let ty = inference.connection_text(29);
            SqlType { nullable: true, ..ty }
        }
    })
}

/// Whether it is a date that was a text before it was moved: a text, too, and where a number or a time is wanted that of the date.
pub fn is_moved_text(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(call) => {
            let moves = matches!(call.function.name, "DATE_ADD" | "DATE_SUB" | "ADDDATE" | "SUBDATE");
            moves && matches!(sum_of(&call.args[0].ty), Sum::Text)
        }
        _ => false,
    }
}

/// Whether the unit counts days or more.
fn has_days(unit: IntervalUnit) -> bool {
    use IntervalUnit::*;
    matches!(
        unit,
        Day | Week | Month | Quarter | Year | DayMicrosecond | DaySecond | DayMinute | DayHour | YearMonth
    )
}

/// The interval that an amount of a unit is; `None` beyond any date.
fn interval(args: &Args<'_>, amount: usize, unit: IntervalUnit) -> SqlResult<Option<Interval>> {
    use IntervalUnit::*;
    Ok(match unit {
        Second => Interval::of_seconds(args.decimal(amount)?),
        Microsecond | Minute | Hour | Day | Week | Month | Quarter | Year => {
            let count = args.whole(amount)?;
            i64::try_from(count).ok().and_then(|count| Interval::of(count, unit))
        }
        _ => Interval::parse(&args.text(amount), unit),
    })
}

/// 1441, as a warning; the result is NULL.
fn overflow(args: &Args<'_>, kind: &str) -> SqlResult<Value> {
    args.ctx
        .warn(SqlError::new(ErrorKind::DatetimeFunctionOverflow, &[&kind]))?;
    Ok(Value::Null)
}

fn date_add(args: &Args<'_>, direction: Direction) -> SqlResult<Value> {
    let unit = unit(args.value(2))?;
    let interval = interval(args, 1, unit)?;
    add_interval(args, interval, unit, direction)
}

fn add_days(args: &Args<'_>, direction: Direction) -> SqlResult<Value> {
    let interval = interval(args, 1, IntervalUnit::Day)?;
    add_interval(args, interval, IntervalUnit::Day, direction)
}

fn add_interval(
    args: &Args<'_>,
    interval: Option<Interval>,
    unit: IntervalUnit,
    direction: Direction,
) -> SqlResult<Value> {
    let interval = interval.map(|interval| {
        if direction == Direction::Back {
            -interval
        } else {
            interval
        }
    });
    let sum = sum_of(args.arg_type(0));
    if matches!(sum, Sum::Time) && args.ty.kind == TypeKind::Time {
        let Some(time) = args.time(0)? else {
            return Ok(Value::Null);
        };
        return match interval.and_then(|interval| time.add_interval(interval)) {
            Some(moved) => Ok(Value::Time(Time {
                fsp: args.ty.decimals,
                ..moved
            })),
            None => out_of_range(args, "TIME"),
        };
    }
    let Some(start) = args.datetime(0)? else {
        return Ok(Value::Null);
    };
    if !start.date.is_real() {
        if !matches!(args.value(0), Value::Date(_) | Value::DateTime(_)) {
            args.ctx.warn(convert::incorrect_datetime(args.value(0)))?;
        }
        return Ok(Value::Null);
    }
    let Some(moved) = interval.and_then(|interval| start.add_interval(interval)) else {
        return match args.ty.kind {
            TypeKind::Date => out_of_range(args, "DATE"),
            _ => overflow(args, "datetime"),
        };
    };
    Ok(match sum {
        Sum::Date if !unit.has_time() => Value::Date(moved.date),
        Sum::Date | Sum::DateTime | Sum::Time => Value::DateTime(DateTime {
            fsp: args.ty.decimals,
            ..moved
        }),
        Sum::Text => {
            let date_only = !unit.has_time() && is_date_only(args.value(0));
            let value = match (date_only, moved.micros) {
                (true, _) => Value::Date(moved.date),
                (false, 0) => Value::DateTime(DateTime { fsp: 0, ..moved }),
                (false, _) => Value::DateTime(DateTime { fsp: 6, ..moved }),
            };
            match args.ty.kind {
                TypeKind::Double => Value::Double(convert::to_f64(&value, args.ctx)?),
                _ => args.text_result(convert::to_text(&value).into_owned()),
            }
        }
    })
}

/// Whether a string or a number is a date without a time.
fn is_date_only(value: &Value) -> bool {
    let rules = DateRules {
        invalid: true,
        ..DateRules::RELAXED
    };
    match value {
        Value::Int(number) => DateTime::from_number(*number, rules).is_some_and(|parsed| parsed.date_only),
        Value::Decimal(number) => DateTime::from_decimal(*number, rules).is_some_and(|parsed| parsed.date_only),
        other => DateTime::parse(&convert::to_text(other), rules).is_some_and(|parsed| parsed.date_only),
    }
}

fn infer_add_time(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let digits = fraction_digits(inference, 0).max(fraction_digits(inference, 1));
    Ok(match sum_of(&inference.args[0].ty) {
        Sum::Date | Sum::DateTime => SqlType::datetime(digits),
        Sum::Time => SqlType::time(digits),
        Sum::Text => {
            let ty = inference.connection_text(29);
            SqlType { nullable: true, ..ty }
        }
    })
}

/// A string that is a date with time rather than a time.
fn has_date(value: &Value) -> bool {
    match value {
        Value::DateTime(_) | Value::Date(_) | Value::Timestamp(_) => true,
        Value::Str(_) | Value::Bytes(_) => Time::parse(&convert::to_text(value)).is_some_and(|parsed| parsed.had_date),
        _ => false,
    }
}

/// Whether an argument is a date, with or without a time, or text that is read as one.
fn is_dated(args: &Args<'_>, arg: usize) -> bool {
    let value = args.value(arg);
    has_date(value) || matches!(value, Value::Str(_)) && reads_as_date(&convert::to_text(value), args.ctx)
}

/// NULL for what is behind the last date, with a warning, and for what is before the first.
fn beyond_dates(args: &Args<'_>, start: DateTime) -> SqlResult<Value> {
    const LAST_CENTURIES: u16 = 5000;
    match start.date.year < LAST_CENTURIES {
        true => Ok(Value::Null),
        false => out_of_range(args, "DATETIME"),
    }
}

fn add_time(args: &Args<'_>, direction: Direction) -> SqlResult<Value> {
    let dated = is_dated(args, 0);
    let start = if dated {
        args.datetime(0)?.map(Start::DateTime)
    } else {
        // A year is the number that it is.
        convert::to_time(args.value(0), args.ctx)?.map(Start::Time)
    };
    let (Some(start), Some(added)) = (start, args.time(1)?) else {
        return Ok(Value::Null);
    };
    let micros = if direction == Direction::Back {
        -added.micros
    } else {
        added.micros
    };
    let textual = matches!(sum_of(args.arg_type(0)), Sum::Text);
    match start {
        Start::DateTime(start) => match start.add_micros(micros) {
            None => beyond_dates(args, start),
            Some(moved) if textual => {
                let fsp = if moved.micros == 0 { 0 } else { 6 };
                Ok(args.text_result(DateTime { fsp, ..moved }.to_string()))
            }
            Some(moved) => Ok(Value::DateTime(DateTime {
                fsp: args.ty.decimals,
                ..moved
            })),
        },
        Start::Time(start) => {
            let sum = start.micros + micros;
            let moved = Time {
                micros: sum.clamp(-MAX_TIME_MICROS, MAX_TIME_MICROS),
                fsp: args.ty.decimals.min(6),
            };
            if moved.micros != sum {
                out_of_range(args, "TIME")?;
                // Text shows the limit nevertheless.
                if !textual {
                    return Ok(Value::Null);
                }
            }
            if textual {
                let fsp = if moved.micros % MICROS == 0 { 0 } else { 6 };
                return Ok(args.text_result(Time { fsp, ..moved }.to_string()));
            }
            Ok(Value::Time(Time {
                fsp: args.ty.decimals,
                ..moved
            }))
        }
    }
}

enum Start {
    DateTime(DateTime),
    Time(Time),
}

/// Within ±838:59:59; beyond, the limit with warning 1292.
fn clamp_time(micros: i64, args: &Args<'_>) -> SqlResult<Time> {
    let clamped = micros.clamp(-MAX_TIME_MICROS, MAX_TIME_MICROS);
    if clamped != micros {
        let shown = Time {
            micros,
            fsp: if micros % MICROS == 0 { 0 } else { 6 },
        }
        .to_string();
        args.ctx.warn(convert::truncated("time", shown.as_bytes()))?;
    }
    Ok(Time {
        micros: clamped,
        fsp: args.ty.decimals.min(6),
    })
}

fn infer_timestamp(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let digits = (0..inference.args.len())
        .map(|i| fraction_digits(inference, i))
        .max()
        .unwrap_or(0);
    Ok(SqlType::datetime(digits))
}

/// `TIMESTAMP(x)`, `TIMESTAMP(x, time)`
fn timestamp(args: &Args<'_>) -> SqlResult<Value> {
    let Some(start) = convert::real_parts(&args.dated(0), args.ctx)? else {
        return Ok(Value::Null);
    };
    let moved = match args.len() {
        1 => Some(start),
        _ => match args.time(1)? {
            None => return Ok(Value::Null),
            Some(added) => start.add_micros(added.micros),
        },
    };
    match moved {
        Some(moved) => Ok(Value::DateTime(DateTime {
            fsp: args.ty.decimals,
            ..moved
        })),
        None => beyond_dates(args, start),
    }
}

fn datediff(args: &Args<'_>) -> SqlResult<Value> {
    match (real_date(args, 0)?, real_date(args, 1)?) {
        (Some(a), Some(b)) => Ok(Value::Int(a.to_days() - b.to_days())),
        _ => Ok(Value::Null),
    }
}

fn infer_timediff(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType::time(time_digits(inference, 0).max(time_digits(inference, 1))))
}

/// Both times or both dates with times; NULL otherwise.
fn timediff(args: &Args<'_>) -> SqlResult<Value> {
    let micros = match (is_dated(args, 0), is_dated(args, 1)) {
        (true, true) => match (args.datetime(0)?, args.datetime(1)?) {
            (Some(a), Some(b)) => a.micros_since(b),
            _ => return Ok(Value::Null),
        },
        (false, false) => match (args.time(0)?, args.time(1)?) {
            (Some(a), Some(b)) => a.micros - b.micros,
            _ => return Ok(Value::Null),
        },
        _ => return Ok(Value::Null),
    };
    clamp_time(micros, args).map(Value::Time)
}

/// `TIMESTAMPDIFF(unit, from, to)`
fn difference(args: &Args<'_>) -> SqlResult<Value> {
    let unit = unit(args.value(0))?;
    let Some(from) = real_datetime(args, 1)? else {
        return Ok(Value::Null);
    };
    let to = real_datetime(args, 2)?;
    Ok(to.map_or(Value::Null, |to| Value::Int(timestamp_diff(unit, from, to))))
}

/// Two digits are a year near 2000.
fn full_year(year: i64) -> i64 {
    match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    }
}

fn makedate(args: &Args<'_>) -> SqlResult<Value> {
    let (year, day) = (args.int(0)?, args.int(1)?);
    if !(0..=9999).contains(&year) || day <= 0 {
        return Ok(Value::Null);
    }
    let first = Date {
        year: full_year(year) as u16,
        month: 1,
        day: 1,
    };
    Ok(first
        .to_days()
        .checked_add(day - 1)
        .and_then(Date::from_days)
        .map_or(Value::Null, Value::Date))
}

fn maketime(args: &Args<'_>) -> SqlResult<Value> {
    let (hours, minutes) = (args.int(0)?, args.int(1)?);
    let seconds = args.decimal(2)?;
    let limit = Decimal::from(60i64);
    if !(0..60).contains(&minutes) || seconds.is_negative() || seconds >= limit {
        return Ok(Value::Null);
    }
    let micros = micros_of(seconds).unwrap_or(0);
    let magnitude = (hours.unsigned_abs().min(10_000) as i64 * 60 + minutes) * 60 * MICROS + micros;
    let signed = if hours < 0 { -magnitude } else { magnitude };
    let time = clamp_time(signed, args)?;
    Ok(Value::Time(Time {
        fsp: args.ty.decimals,
        ..time
    }))
}

/// Seconds as microseconds, rounded; `None` beyond 64 bits.
fn micros_of(seconds: Decimal) -> Option<i64> {
    let scaled = seconds.checked_mul(Decimal::from(MICROS)).ok()?;
    scaled.round(0).ok()?.to_i64().ok()
}

fn sec_to_time(args: &Args<'_>) -> SqlResult<Value> {
    let seconds = args.decimal(0)?;
    let micros = micros_of(seconds).filter(|micros| micros.abs() <= MAX_TIME_MICROS);
    match micros {
        Some(micros) => Ok(Value::Time(Time {
            micros,
            fsp: args.ty.decimals,
        })),
        None => {
            args.ctx.warn(convert::truncated("time", args.text(0).as_bytes()))?;
            let micros = if seconds.is_negative() {
                -MAX_TIME_MICROS
            } else {
                MAX_TIME_MICROS
            };
            Ok(Value::Time(Time {
                micros,
                fsp: args.ty.decimals,
            }))
        }
    }
}

fn infer_period(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_numbers();
    Ok(inference.nullable_as_args(SqlType {
        length: 6,
        ..SqlType::bigint()
    }))
}

/// YYMM or YYYYMM as months since year 0; 1210 for a period without a month.
fn months(args: &Args<'_>, arg: usize, name: &str) -> SqlResult<i64> {
    let period = args.int(arg)?;
    let month = period % 100;
    if period < 0 || !(1..=12).contains(&month) {
        return Err(SqlError::new(ErrorKind::WrongArguments, &[&name]));
    }
    Ok(full_year(period / 100) * 12 + month - 1)
}

/// Unsigned, as MySQL counts: what goes below year 0 or beyond 64 bits comes around.
fn period_add(args: &Args<'_>) -> SqlResult<Value> {
    let moved = months(args, 0, "period_add")?.wrapping_add(args.int(1)?) as u64;
    let year = match moved / 12 {
        _ if moved == 0 => return Ok(Value::Int(0)),
        year if year < 100 => full_year(year as i64) as u64,
        year => year,
    };
    Ok(Value::Int(year.wrapping_mul(100).wrapping_add(moved % 12 + 1) as i64))
}

fn period_diff(args: &Args<'_>) -> SqlResult<Value> {
    let (from, to) = (months(args, 0, "period_diff")?, months(args, 1, "period_diff")?);
    Ok(Value::Int(from.wrapping_sub(to)))
}

fn infer_unix_timestamp(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    if inference.args.is_empty() {
        return Ok(SqlType {
            length: 12,
            ..SqlType::bigint()
        }
        .not_null());
    }
    // Text that is no moment has none of a time of day's digits either.
    let digits = match inference.literal(0) {
        Some(Value::Str(text)) => {
            let rules = DateRules {
                invalid: true,
                ..DateRules::RELAXED
            };
            DateTime::parse(text, rules).map_or(6, |parsed| parsed.value.fsp)
        }
        _ => fraction_digits(inference, 0),
    };
    Ok(match digits {
        0 => SqlType {
            length: 12,
            ..SqlType::bigint()
        },
        digits => SqlType::decimal(12 + digits, digits),
    })
}

/// Zero for what is no moment after 1970.
fn unix_timestamp(args: &Args<'_>) -> SqlResult<Value> {
    if args.is_empty() {
        return Ok(Value::Int(args.ctx.now.micros.div_euclid(MICROS)));
    }
    let at = match args.datetime(0)? {
        // What IF and CASE choose is no date, and not only a text that reads as none.
        None if args.value(0).is_null() || args.exprs[0].is_choice() => return Ok(Value::Null),
        None => None,
        Some(local) => args.ctx.settings.time_zone.to_unix(local),
    };
    let micros = at.map_or(0, |at| at.micros).max(0);
    let micros = if micros / MICROS > LAST_UNIX_SECOND { 0 } else { micros };
    if args.ty.kind == TypeKind::Decimal {
        let exact = Decimal::from_scaled(i128::from(micros), 6);
        return Ok(Value::Decimal(exact.truncate(args.ty.decimals).unwrap_or(exact)));
    }
    Ok(Value::Int(micros / MICROS))
}

/// The fraction digits of a number; text may have six.
/// The decimals of an argument that is taken as a number.
fn decimals(inference: &mut Inference<'_>, arg: usize) -> u8 {
    inference.hex_as_number(arg);
    arithmetic::decimals_of(&inference.args[arg].ty).min(6)
}

/// With a format: text, as DATE_FORMAT makes it.
fn infer_from_unixtime(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    if inference.args.len() == 2 {
        return super::temporal_format::infer_format(inference);
    }
    Ok(SqlType::datetime(decimals(inference, 0)))
}

fn from_unixtime(args: &Args<'_>) -> SqlResult<Value> {
    let micros =
        micros_of(args.decimal(0)?).filter(|micros| (0..=LAST_UNIX_SECOND * MICROS + 999_999).contains(micros));
    if let (2, Some(micros)) = (args.len(), micros) {
        let local = local_of(&args.ctx.settings.time_zone, micros);
        return Ok(date_format_in(local, &args.text(1), args.ctx.settings.locale)
            .map_or(Value::Null, |text| args.text_result(text)));
    }
    Ok(micros.map_or(Value::Null, |micros| {
        let fsp = args.ty.decimals;
        Value::DateTime(DateTime {
            fsp,
            ..local_of(&args.ctx.settings.time_zone, micros)
        })
    }))
}

/// The wall clock at a moment; moment 0 is an ordinary one here.
fn local_of(zone: &TimeZone, micros: i64) -> DateTime {
    match micros {
        0 => {
            let second = zone.to_local(UnixTime { micros: MICROS, fsp: 6 });
            second.add_micros(-MICROS).unwrap_or(second)
        }
        _ => zone.to_local(UnixTime { micros, fsp: 6 }),
    }
}

/// Moments outside of what TIMESTAMP holds stay as they are; NULL for an unknown zone.
fn convert_tz(args: &Args<'_>) -> SqlResult<Value> {
    let Some(local) = args.datetime(0)? else {
        return Ok(Value::Null);
    };
    let (from, to) = (TimeZone::from_name(&args.text(1)), TimeZone::from_name(&args.text(2)));
    let (Some(from), Some(to)) = (from, to) else {
        return Ok(Value::Null);
    };
    if !local.date.is_real() {
        return Ok(Value::Null);
    }
    let fsp = args.ty.decimals;
    let moved = from
        .to_unix(local)
        .filter(|at| (1..=LAST_UNIX_SECOND * MICROS).contains(&at.micros))
        .map_or(local, |at| local_of(&to, at.micros));
    Ok(Value::DateTime(DateTime { fsp, ..moved }))
}
