//! One value of a row, as text or in binary.

use mysql_wire::put;
use mysql_wire::row::{BinaryRow, TextRow};
use mysql_wire::value::{BinaryDateTime, BinaryTime};
use types::sql_type::NOT_FIXED_DECIMALS;
use types::{CharsetId, Date, DateTime, JsonRef, SqlType, Time, TypeKind, ValueRef, number};

use crate::columns::column_type;

const MICROS_PER_SECOND: u64 = 1_000_000;

/// Appends a value to a text row. `results` is the character set that text is wanted in, `None` for the column's own.
#[inline]
pub fn write_text(row: &mut TextRow, value: ValueRef, ty: &SqlType, results: Option<CharsetId>) {
    match value {
        ValueRef::Null => row.null(),
        ValueRef::Int(n) if !ty.zerofill => row.int(n),
        ValueRef::UInt(n) if !ty.zerofill => row.uint(n),
        ValueRef::Str(text) => row.bytes(&results.unwrap_or(ty.charset()).encode(text)),
        ValueRef::Bytes(bytes) => row.bytes(bytes),
        value => row.text_with(|out| append_text(out, value, ty, results)),
    }
}

/// Appends a value to a binary row, in the form of its column's type: whatever the value, the row stays readable.
#[inline]
pub fn write_binary(row: &mut BinaryRow, value: ValueRef, ty: &SqlType, results: Option<CharsetId>) {
    if value.is_null() {
        return row.null();
    }
    match ty.kind {
        TypeKind::TinyInt
        | TypeKind::SmallInt
        | TypeKind::MediumInt
        | TypeKind::Int
        | TypeKind::BigInt
        | TypeKind::Year => row.integer(column_type(ty), to_integer(value)),
        TypeKind::Float => row.float(to_double(value) as f32),
        TypeKind::Double => row.double(to_double(value)),
        TypeKind::Date => row.date(to_date_time(value)),
        TypeKind::DateTime | TypeKind::Timestamp => row.date_time(to_date_time(value)),
        TypeKind::Time => row.time(to_time(value)),
        TypeKind::Null => row.null(),
        _ => match value {
            ValueRef::Str(text) => row.bytes(&results.unwrap_or(ty.charset()).encode(text)),
            ValueRef::Bytes(bytes) => row.bytes(bytes),
            value => row.text_with(|out| append_text(out, value, ty, results)),
        },
    }
}

/// The text form of every type.
fn append_text(out: &mut Vec<u8>, value: ValueRef, ty: &SqlType, results: Option<CharsetId>) {
    let label = |out: &mut Vec<u8>, text: &str| out.extend_from_slice(&results.unwrap_or(ty.charset()).encode(text));
    match value {
        ValueRef::Null => {}
        ValueRef::Int(n) if n >= 0 && ty.zerofill => append_zerofilled(out, n as u64, ty.length),
        ValueRef::Int(n) => put::decimal_i64(out, n),
        ValueRef::UInt(n) if ty.zerofill => append_zerofilled(out, n, ty.length),
        ValueRef::UInt(n) => put::decimal_u64(out, n),
        ValueRef::Float(v) if ty.decimals < NOT_FIXED_DECIMALS => number::write_fixed(v.into(), ty.decimals, out),
        ValueRef::Float(v) => number::write_float(v, out),
        ValueRef::Double(v) if ty.decimals < NOT_FIXED_DECIMALS => number::write_fixed(v, ty.decimals, out),
        ValueRef::Double(v) => number::write_double(v, out),
        ValueRef::Decimal(v) => v.write(out),
        ValueRef::Date(v) => append_date(out, v),
        ValueRef::DateTime(v) => append_date_time(out, v),
        ValueRef::Timestamp(v) => append_date_time(out, in_utc(v)),
        ValueRef::Time(v) => append_time(out, v),
        ValueRef::Year(v) => put::padded4(out, v),
        ValueRef::Bit(v) => out.extend_from_slice(&v.to_bytes()),
        ValueRef::Str(v) => label(out, v),
        ValueRef::Bytes(v) => out.extend_from_slice(v),
        ValueRef::Enum(v) => label(out, v.as_str()),
        ValueRef::Set(v) => {
            let mut text = String::new();
            v.write_text(&mut text);
            label(out, &text);
        }
        ValueRef::Json(v) => append_json(out, v),
    }
}

fn append_zerofilled(out: &mut Vec<u8>, n: u64, width: u32) {
    let start = out.len();
    put::decimal_u64(out, n);
    let missing = (width as usize).saturating_sub(out.len() - start);
    out.splice(start..start, std::iter::repeat_n(b'0', missing));
}

fn append_date(out: &mut Vec<u8>, date: Date) {
    put::padded4(out, date.year);
    out.push(b'-');
    put::padded2(out, date.month);
    out.push(b'-');
    put::padded2(out, date.day);
}

fn append_date_time(out: &mut Vec<u8>, v: DateTime) {
    append_date(out, v.date);
    out.push(b' ');
    append_clock(out, v.hour, v.minute, v.second);
    append_fraction(out, v.micros, v.fsp);
}

/// Hours are not limited to a day.
fn append_time(out: &mut Vec<u8>, v: Time) {
    if v.micros < 0 {
        out.push(b'-');
    }
    let micros = v.micros.unsigned_abs();
    let seconds = micros / MICROS_PER_SECOND;
    let (hours, minutes, seconds) = (seconds / 3600, (seconds / 60 % 60) as u8, (seconds % 60) as u8);
    if hours < 100 {
        append_clock(out, hours as u8, minutes, seconds);
    } else {
        put::decimal_u64(out, hours);
        out.push(b':');
        put::padded2(out, minutes);
        out.push(b':');
        put::padded2(out, seconds);
    }
    append_fraction(out, (micros % MICROS_PER_SECOND) as u32, v.fsp);
}

fn append_clock(out: &mut Vec<u8>, hour: u8, minute: u8, second: u8) {
    put::padded2(out, hour);
    out.push(b':');
    put::padded2(out, minute);
    out.push(b':');
    put::padded2(out, second);
}

fn append_fraction(out: &mut Vec<u8>, micros: u32, fsp: u8) {
    if fsp > 0 {
        out.push(b'.');
        put::padded6(out, micros);
        out.truncate(out.len() - usize::from(6 - fsp.min(6)));
    }
}

/// A stored TIMESTAMP that nobody has brought into the session's time zone.
fn in_utc(v: types::UnixTime) -> DateTime {
    debug_assert!(
        false,
        "the executor turns TIMESTAMP into DATETIME by the session's time zone"
    );
    DateTime {
        fsp: v.fsp,
        ..DateTime::default()
    }
}

fn append_json(out: &mut Vec<u8>, v: JsonRef) {
    out.extend_from_slice(format!("{v:?}").as_bytes());
}

/// The two's complement of an integer; other kinds of values are brought to one.
fn to_integer(value: ValueRef) -> u64 {
    match value {
        ValueRef::Int(n) => n as u64,
        ValueRef::UInt(n) => n,
        ValueRef::Year(n) => n.into(),
        ValueRef::Bit(v) => v.value,
        ValueRef::Enum(v) => v.index.into(),
        ValueRef::Set(v) => v.bits,
        ValueRef::Decimal(v) => v.to_i64().unwrap_or_else(|nearest| nearest) as u64,
        value => to_double(value) as i64 as u64,
    }
}

fn to_double(value: ValueRef) -> f64 {
    match value {
        ValueRef::Double(v) => v,
        ValueRef::Float(v) => v.into(),
        ValueRef::Int(n) => n as f64,
        ValueRef::UInt(n) => n as f64,
        ValueRef::Decimal(v) => v.to_f64(),
        ValueRef::Str(text) => number::parse_double(text.as_bytes()).value,
        ValueRef::Bytes(text) => number::parse_double(text).value,
        ValueRef::Year(n) => n.into(),
        ValueRef::Bit(v) => v.value as f64,
        _ => 0.0,
    }
}

fn to_date_time(value: ValueRef) -> BinaryDateTime {
    let day = |date: Date| BinaryDateTime {
        year: date.year,
        month: date.month,
        day: date.day,
        ..Default::default()
    };
    let moment = |v: DateTime| BinaryDateTime {
        hour: v.hour,
        minute: v.minute,
        second: v.second,
        microsecond: v.micros,
        ..day(v.date)
    };
    match value {
        ValueRef::Date(date) => day(date),
        ValueRef::DateTime(v) => moment(v),
        ValueRef::Timestamp(v) => moment(in_utc(v)),
        _ => BinaryDateTime::default(),
    }
}

fn to_time(value: ValueRef) -> BinaryTime {
    let ValueRef::Time(v) = value else {
        return BinaryTime::default();
    };
    let micros = v.micros.unsigned_abs();
    let seconds = micros / MICROS_PER_SECOND;
    BinaryTime {
        negative: v.micros < 0,
        days: (seconds / 86_400) as u32,
        hour: (seconds / 3_600 % 24) as u8,
        minute: (seconds / 60 % 60) as u8,
        second: (seconds % 60) as u8,
        microsecond: (micros % MICROS_PER_SECOND) as u32,
    }
}
