//! One value of a row, as text or in binary.

use std::borrow::Cow;

use governor::bulk;
use mysql_wire::put;
use mysql_wire::row::{BinaryRow, TextRow};
use mysql_wire::value::{BinaryDateTime, BinaryTime};
use types::sql_type::NOT_FIXED_DECIMALS;
use types::time::TimeZone;
use types::{CharsetId, Date, DateTime, SqlType, Time, TypeKind, ValueRef, number};

use crate::columns::column_type;

const MICROS_PER_SECOND: u64 = 1_000_000;

/// Appends a value to a text row. `results` is the character set that text is wanted in, `None` for the column's own.
#[inline]
pub fn write_text(row: &mut TextRow, value: ValueRef, ty: &SqlType, results: Option<CharsetId>) {
    match value {
        ValueRef::Null => row.null(),
        ValueRef::Int(n) if !ty.zerofill => row.int(n),
        ValueRef::UInt(n) if !ty.zerofill => row.uint(n),
        ValueRef::Str(text) => text_bytes(row, &results.unwrap_or(ty.charset()).encode(text)),
        ValueRef::Bytes(bytes) => text_bytes(row, bytes),
        value if is_long(value) => row.long_with(|out| append_text(out, value, ty, results)),
        value => row.text_with(|out| append_text(out, value, ty, results)),
    }
}

#[inline]
fn text_bytes(row: &mut TextRow, bytes: &[u8]) {
    match bytes.len() <= bulk::PIECE {
        true => row.bytes(bytes),
        false => row.long_with(|out| bulk::append(out, bytes)),
    }
}

#[inline]
fn binary_bytes(row: &mut BinaryRow, bytes: &[u8]) {
    match bytes.len() <= bulk::PIECE {
        true => row.bytes(bytes),
        false => row.long_with(|out| bulk::append(out, bytes)),
    }
}

/// Whether the text of a value that is not text itself is long.
fn is_long(value: ValueRef) -> bool {
    matches!(value, ValueRef::Json(document) if document.as_bytes().len() > bulk::PIECE)
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
            ValueRef::Str(text) => binary_bytes(row, &results.unwrap_or(ty.charset()).encode(text)),
            ValueRef::Bytes(bytes) => binary_bytes(row, bytes),
            value if is_long(value) => row.long_with(|out| append_text(out, value, ty, results)),
            value => row.text_with(|out| append_text(out, value, ty, results)),
        },
    }
}

/// The text form of every type.
fn append_text(out: &mut Vec<u8>, value: ValueRef, ty: &SqlType, results: Option<CharsetId>) {
    let label = |out: &mut Vec<u8>, text: &str| out.extend_from_slice(&results.unwrap_or(ty.charset()).encode(text));
    match value {
        ValueRef::Null => {}
        ValueRef::Decimal(_) | ValueRef::Float(_) | ValueRef::Double(_) if ty.zerofill => {
            value.write_typed_text(ty, out)
        }
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
        // A computed one is a number.
        ValueRef::Year(v) if ty.zerofill => put::padded4(out, v),
        ValueRef::Year(v) => put::decimal_u64(out, v.into()),
        ValueRef::Bit(v) => out.extend_from_slice(&v.to_bytes()),
        ValueRef::Str(v) => label(out, v),
        ValueRef::Bytes(v) => out.extend_from_slice(v),
        ValueRef::Enum(v) => label(out, v.as_str()),
        ValueRef::Set(v) => {
            let mut text = String::new();
            v.write_text(&mut text);
            label(out, &text);
        }
        ValueRef::Json(v) => append_json(out, v, results),
    }
}

/// A document is text in utf8mb4.
fn append_json(out: &mut Vec<u8>, document: types::JsonRef, results: Option<CharsetId>) {
    let start = out.len();
    document.write(out);
    let Some(results) = results.filter(|results| !matches!(results, CharsetId::UTF8MB4 | CharsetId::BINARY)) else {
        return;
    };
    if let Ok(text) = std::str::from_utf8(&out[start..])
        && let Cow::Owned(bytes) = results.encode(text)
    {
        out.truncate(start);
        bulk::append(out, &bytes);
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

/// A stored TIMESTAMP that the executor has not brought into the session's time zone.
fn in_utc(v: types::UnixTime) -> DateTime {
    TimeZone::UTC.to_local(v)
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

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_wire::row::{binary_values, text_values};
    use mysql_wire::value::BinaryValue;
    use types::value::{Bit, EnumValue};
    use types::{CollationId, Decimal, Labels, UnixTime, Value};

    const UTF8: CollationId = CollationId::UTF8MB4_0900_AI_CI;

    fn as_text(value: &Value, ty: &SqlType, results: Option<CharsetId>) -> Vec<u8> {
        let mut out = Vec::new();
        write_text(&mut TextRow::new(&mut out), value.as_ref(), ty, results);
        text_values(&out).next().unwrap().unwrap().unwrap().to_vec()
    }

    fn text(value: Value, ty: &SqlType) -> String {
        String::from_utf8(as_text(&value, ty, Some(CharsetId::UTF8MB4))).unwrap()
    }

    fn date_time() -> DateTime {
        let date = Date {
            year: 2024,
            month: 2,
            day: 29,
        };
        DateTime {
            date,
            hour: 7,
            minute: 8,
            second: 9,
            fsp: 3,
            micros: 12_000,
        }
    }

    fn time(micros: i64, fsp: u8) -> Value {
        Value::Time(Time { micros, fsp })
    }

    #[test]
    fn text_of_every_type() {
        let zerofilled = SqlType {
            zerofill: true,
            length: 5,
            ..SqlType::int()
        };
        let labels = Labels::new(["a", "b"]);
        let cases = [
            (text(Value::Int(-7), &SqlType::int()), "-7"),
            (
                text(Value::UInt(u64::MAX), &SqlType::bigint_unsigned()),
                "18446744073709551615",
            ),
            (text(Value::Int(42), &zerofilled), "00042"),
            (text(Value::UInt(1_234_567), &zerofilled), "1234567"),
            (text(Value::Double(0.1), &SqlType::double()), "0.1"),
            (text(Value::Float(1.5), &SqlType::float()), "1.5"),
            (
                text(
                    Value::Double(2.5),
                    &SqlType {
                        decimals: 2,
                        ..SqlType::double()
                    },
                ),
                "2.50",
            ),
            (
                text(
                    Value::Decimal(Decimal::parse("-1.20").unwrap()),
                    &SqlType::decimal(5, 2),
                ),
                "-1.20",
            ),
            (text(Value::Date(date_time().date), &SqlType::date()), "2024-02-29"),
            (
                text(Value::DateTime(date_time()), &SqlType::datetime(3)),
                "2024-02-29 07:08:09.012",
            ),
            (
                text(
                    Value::Timestamp(UnixTime {
                        micros: 1_000_000,
                        fsp: 0,
                    }),
                    &SqlType::timestamp(0),
                ),
                "1970-01-01 00:00:01",
            ),
            (text(time(-3_020_399_000_000, 0), &SqlType::time(0)), "-838:59:59"),
            (text(time(3_723_500_000, 1), &SqlType::time(1)), "01:02:03.5"),
            (text(Value::Year(0), &SqlType::year()), "0000"),
            (
                text(
                    Value::Enum(EnumValue {
                        index: 2,
                        labels: labels.clone(),
                    }),
                    &SqlType::enumeration(labels, UTF8),
                ),
                "b",
            ),
            (text(Value::str("größe"), &SqlType::varchar(9, UTF8)), "größe"),
        ];
        for (text, expected) in cases {
            assert_eq!(text, expected);
        }
        assert_eq!(
            as_text(&Value::Bit(Bit { value: 258, width: 9 }), &SqlType::bit(9), None),
            [1, 2]
        );
    }

    #[test]
    fn text_in_the_clients_character_set() {
        let (value, ty) = (Value::str("größe €"), SqlType::varchar(9, UTF8));
        assert_eq!(as_text(&value, &ty, Some(CharsetId::LATIN1)), b"gr\xf6\xdfe \x80");
        assert_eq!(as_text(&value, &ty, None), "größe €".as_bytes());
        let latin1 = SqlType::varchar(9, CollationId::LATIN1_SWEDISH_CI);
        assert_eq!(as_text(&value, &latin1, None), b"gr\xf6\xdfe \x80");
        assert_eq!(
            as_text(&Value::bytes(&[0xff]), &SqlType::varbinary(9), Some(CharsetId::LATIN1)),
            [0xff]
        );
    }

    /// A row of one column, read as a client reads it: by the column's type.
    fn binary(value: Value, ty: &SqlType) -> String {
        let mut out = Vec::new();
        write_binary(
            &mut BinaryRow::new(&mut out, 1),
            value.as_ref(),
            ty,
            Some(CharsetId::UTF8MB4),
        );
        match binary_values(&out, [(column_type(ty), ty.unsigned)].into_iter()).unwrap()[0] {
            BinaryValue::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
            value => format!("{value:?}"),
        }
    }

    #[test]
    fn binary_of_every_kind_of_type() {
        assert_eq!(
            binary(Value::Int(-7), &SqlType::integer(TypeKind::TinyInt, false)),
            "Int(-7)"
        );
        assert_eq!(
            binary(Value::UInt(u64::MAX), &SqlType::bigint_unsigned()),
            "UInt(18446744073709551615)"
        );
        assert_eq!(binary(Value::Year(2024), &SqlType::year()), "UInt(2024)");
        assert_eq!(binary(Value::Float(1.5), &SqlType::float()), "Float(1.5)");
        assert_eq!(binary(Value::Double(1.5), &SqlType::double()), "Double(1.5)");
        assert_eq!(binary(Value::str("text"), &SqlType::varchar(9, UTF8)), "text");
        assert_eq!(
            binary(Value::Decimal(Decimal::parse("1.20").unwrap()), &SqlType::decimal(5, 2)),
            "1.20"
        );
        assert_eq!(binary(Value::Null, &SqlType::int()), "Null");
        assert!(binary(Value::Date(date_time().date), &SqlType::date()).contains("month: 2, day: 29, hour: 0"));
        assert!(binary(Value::DateTime(date_time()), &SqlType::datetime(3)).contains("hour: 7"));
        assert!(binary(time(-90_000_000_001, 6), &SqlType::time(6)).contains("days: 1, hour: 1, minute: 0"));
    }

    /// A row whose values are not of the announced types would be unreadable from there on.
    #[test]
    fn binary_rows_stay_readable_whatever_the_values_are() {
        assert_eq!(binary(Value::Double(2.0), &SqlType::bigint()), "Int(2)");
        assert_eq!(binary(Value::str("17"), &SqlType::int()), "Int(17)");
        assert_eq!(binary(Value::Int(3), &SqlType::double()), "Double(3.0)");
        assert_eq!(binary(Value::str("2.5"), &SqlType::double()), "Double(2.5)");
        assert_eq!(binary(Value::Int(3), &SqlType::varchar(9, UTF8)), "3");
        assert_eq!(binary(Value::Int(3), &SqlType::null()), "Null");
        assert!(binary(Value::str("x"), &SqlType::date()).starts_with("Date("));
        assert!(binary(Value::str("x"), &SqlType::time(0)).starts_with("Time("));
    }
}
