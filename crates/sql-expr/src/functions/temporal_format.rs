//! Dates and times as text, and text as dates and times.

use types::error::{ErrorKind, SqlError};
use types::time::{Date, DateTime, StrToDate, Time, date_format_in, str_to_date, time_format};
use types::{SqlResult, SqlType, TypeKind, Value};

use super::args::{Args, Inference};
use super::{Function, exactly, temporal};
use crate::convert;

pub const FUNCTIONS: &[Function] = &[
    Function::strict("DATE_FORMAT", exactly(2), infer_format, format_date).per_session(),
    Function::strict("TIME_FORMAT", exactly(2), infer_format, format_time),
    Function::strict("STR_TO_DATE", exactly(2), infer_str_to_date, parse_date),
    Function::strict("GET_FORMAT", exactly(2), infer_get_format, get_format),
];

/// A specifier makes at most so many characters out of two.
const WIDEST: u64 = 10;

pub(super) fn infer_format(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let chars = inference.chars(1) * WIDEST / 2 + 1;
    let ty = inference.connection_text(chars.min(u64::from(u32::MAX)));
    Ok(SqlType { nullable: true, ..ty })
}

fn format_date(args: &Args<'_>) -> SqlResult<Value> {
    let Some(datetime) = temporal::numbered_datetime(args, 0)? else {
        return Ok(Value::Null);
    };
    let format = args.text(1);
    if format.is_empty() {
        return Ok(Value::Null);
    }
    Ok(date_format_in(datetime, &format, args.ctx.settings.locale).map_or(Value::Null, |text| args.text_result(text)))
}

fn format_time(args: &Args<'_>) -> SqlResult<Value> {
    let Some(time) = args.time(0)? else {
        return Ok(Value::Null);
    };
    let format = args.text(1);
    if format.is_empty() {
        return Ok(Value::Null);
    }
    Ok(time_format(time, &format).map_or(Value::Null, |text| args.text_result(text)))
}

/// The format, where it is a literal, says what comes out.
fn infer_str_to_date(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let Some(format) = inference.literal(1).filter(|format| !format.is_null()) else {
        return Ok(SqlType::datetime(6));
    };
    let format = convert::to_text(format);
    let mut date = false;
    let mut time = false;
    let mut fraction = false;
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            continue;
        }
        match chars.next() {
            Some(
                'a' | 'b' | 'c' | 'D' | 'd' | 'e' | 'j' | 'M' | 'm' | 'U' | 'u' | 'V' | 'v' | 'W' | 'w' | 'X' | 'x'
                | 'Y' | 'y',
            ) => date = true,
            Some('H' | 'h' | 'I' | 'i' | 'k' | 'l' | 'p' | 'r' | 'S' | 's' | 'T') => time = true,
            Some('f') => {
                time = true;
                fraction = true;
            }
            _ => {}
        }
    }
    let fsp = if fraction { 6 } else { 0 };
    Ok(match (date, time) {
        (_, false) => SqlType::date(),
        (false, true) => SqlType::time(fsp),
        (true, true) => SqlType::datetime(fsp),
    })
}

fn parse_date(args: &Args<'_>) -> SqlResult<Value> {
    let (text, format) = (args.text(0), args.text(1));
    let rules = args.ctx.settings.sql_mode.for_casts().date_rules();
    // NO_ZERO_DATE is about every part here.
    let zero = |parsed: &StrToDate| {
        let Date { year, month, day } = parsed.value.date;
        args.ty.kind != TypeKind::Time && !rules.zero_date && (year == 0 || month == 0 || day == 0)
    };
    let Some(parsed) = str_to_date(&text, &format, rules).filter(|parsed| !zero(parsed)) else {
        args.ctx.warn(SqlError::new(
            ErrorKind::WrongValueForType,
            &[&"datetime", &text, &"str_to_date"],
        ))?;
        return Ok(Value::Null);
    };
    if parsed.truncated {
        let kind = match args.ty.kind {
            TypeKind::Date => "date",
            TypeKind::Time => "time",
            _ => "datetime",
        };
        args.ctx.warn(convert::truncated(kind, text.as_bytes()))?;
    }
    let fsp = args.ty.decimals;
    Ok(match args.ty.kind {
        TypeKind::Date => Value::Date(parsed.value.date),
        TypeKind::Time => Value::Time(Time { fsp, ..parsed.time }),
        _ => Value::DateTime(DateTime { fsp, ..parsed.value }),
    })
}

fn infer_get_format(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let ty = inference.connection_text(17);
    Ok(SqlType { nullable: true, ..ty })
}

fn get_format(args: &Args<'_>) -> SqlResult<Value> {
    let (kind, region) = (args.text(0), args.text(1).to_ascii_uppercase());
    let format = match (&*kind, &*region) {
        ("DATE", "USA") => "%m.%d.%Y",
        ("DATE", "JIS" | "ISO") => "%Y-%m-%d",
        ("DATE", "EUR") => "%d.%m.%Y",
        ("DATE", "INTERNAL") => "%Y%m%d",
        ("DATETIME", "USA" | "EUR") => "%Y-%m-%d %H.%i.%s",
        ("DATETIME", "JIS" | "ISO") => "%Y-%m-%d %H:%i:%s",
        ("DATETIME", "INTERNAL") => "%Y%m%d%H%i%s",
        ("TIME", "USA") => "%h:%i:%s %p",
        ("TIME", "JIS" | "ISO") => "%H:%i:%s",
        ("TIME", "EUR") => "%H.%i.%s",
        ("TIME", "INTERNAL") => "%H%i%s",
        _ => return Ok(Value::Null),
    };
    Ok(args.text_result(format.to_owned()))
}
