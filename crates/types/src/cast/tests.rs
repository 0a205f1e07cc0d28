//! Conversions as MySQL 8.0 does them (checked against MariaDB 10.11 where both agree).

use super::*;
use crate::collation::CollationId;
use crate::decimal::Decimal;
use crate::error::Severity;
use crate::samples;
use crate::sql_type::{Labels, SqlType, TypeKind};
use crate::time::{DateTime, Time};
use crate::value::Value;
use proptest::prelude::*;

const NOW: UnixTime = UnixTime {
    micros: 1_706_695_199_000_000,
    fsp: 0,
}; // 2024-01-31 09:59:59 UTC

fn run<T>(mode: SqlMode, f: impl FnOnce(&mut Context<'_>) -> T) -> (T, Warnings) {
    let mut warnings = Warnings::default();
    let result = f(&mut Context {
        mode,
        zone: &TimeZone::UTC,
        now: NOW,
        warnings: &mut warnings,
    });
    (result, warnings)
}

fn store(value: impl Into<Value>, ty: &SqlType, mode: SqlMode) -> (SqlResult<Value>, Warnings) {
    let value = value.into();
    run(mode, |cx| assign(value, ty, Target { column: "c", row: 1 }, cx))
}

/// The error number of strict mode (0 if it passes), then what lenient mode stores.
#[track_caller]
fn check(ty: &SqlType, value: impl Into<Value>, strict_error: u16, stored: &str) {
    let value = value.into();
    let strict = store(
        value.clone(),
        ty,
        SqlMode {
            strict: true,
            ..SqlMode::DEFAULT
        },
    );
    assert_eq!(
        strict.0.as_ref().err().map_or(0, SqlError::code),
        strict_error,
        "{value:?} into {ty}: {strict:?}"
    );
    let (lenient, warnings) = store(value.clone(), ty, SqlMode::LENIENT);
    let lenient = lenient.unwrap();
    let mut text = Vec::new();
    lenient.as_ref().write_typed_text(ty, &mut text);
    assert_eq!(String::from_utf8_lossy(&text), stored, "{value:?} into {ty}");
    let raised = warnings.iter().any(|w| w.severity == Severity::Warning);
    // Zero dates are the exception: the lenient mode simply allows them.
    assert!(
        raised || matches!(strict_error, 0 | 1292),
        "a strict error is a lenient warning"
    );
    if let Ok(strict) = strict.0 {
        assert_eq!(strict, lenient);
    }
}

fn d(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text).unwrap())
}

#[test]
fn integers() {
    let int = SqlType::int();
    check(&int, "abc", 1366, "0");
    check(&int, "", 1366, "0");
    check(&int, "12abc", 1265, "12");
    check(&int, "12 ", 0, "12");
    check(&int, "2.5", 0, "3");
    check(&int, 2.5, 0, "2");
    check(&int, d("2.5"), 0, "3");
    check(&int, 1e20, 1264, "2147483647");
    check(&int, "1e20", 1264, "2147483647");
    check(&int, -3_000_000_000i64, 1264, "-2147483648");
    let tiny = SqlType::integer(TypeKind::TinyInt, true);
    check(&tiny, -1i64, 1264, "0");
    check(&tiny, 256i64, 1264, "255");
    check(&SqlType::bigint_unsigned(), u64::MAX, 0, "18446744073709551615");
    check(&SqlType::bigint(), u64::MAX, 1264, "9223372036854775807");
    check(&SqlType::bigint(), "-9223372036854775808", 0, "-9223372036854775808");
    check(
        &SqlType {
            zerofill: true,
            ..SqlType::integer(TypeKind::Int, true)
        },
        42i64,
        0,
        "0000000042",
    );
    let (e, _) = store("abc", &int, SqlMode::DEFAULT);
    assert_eq!(
        e.unwrap_err().message(),
        "Incorrect integer value: 'abc' for column 'c' at row 1"
    );
}

#[test]
fn decimals_and_doubles() {
    let dec = SqlType::decimal(5, 2);
    check(&dec, "abc", 1366, "0.00");
    // A number with more behind it is an error in strict mode, and a note without.
    let (refused, _) = store("1.5x", &dec, SqlMode::DEFAULT);
    assert_eq!(refused.unwrap_err().code(), 1366);
    let (stored, warnings) = store("1.5x", &dec, SqlMode::LENIENT);
    assert_eq!(stored.unwrap(), d("1.50"));
    assert_eq!(
        warnings.iter().map(|w| w.severity).collect::<Vec<_>>(),
        [Severity::Note]
    );
    check(&dec, d("1.555"), 0, "1.56");
    check(&dec, 1.555, 0, "1.56");
    check(&dec, 99_999i64, 1264, "999.99");
    check(&dec, d("-999.999"), 1264, "-999.99");
    let (_, warnings) = store(d("1.555"), &dec, SqlMode::DEFAULT);
    let notes: Vec<_> = warnings.iter().map(|w| (w.severity, w.error.code())).collect();
    assert_eq!(notes, [(Severity::Note, 1265)]);
    check(&SqlType::double(), "abc", 1366, "0");
    check(&SqlType::double(), "1.5x", 1366, "1.5");
    check(&SqlType::double(), "1e400", 1264, "1.7976931348623157e308");
    check(&SqlType::float(), 1e300, 1264, "3.40282e38");
    check(
        &SqlType {
            length: 5,
            decimals: 2,
            ..SqlType::float()
        },
        1000i64,
        1264,
        "999.99",
    );
    check(
        &SqlType {
            length: 5,
            decimals: 2,
            ..SqlType::double()
        },
        1.239,
        0,
        "1.24",
    );
    check(
        &SqlType {
            unsigned: true,
            ..SqlType::double()
        },
        -1.0,
        1264,
        "0",
    );
}

#[test]
fn bits() {
    let bit = |v| SqlType::bit(v);
    let stored = |v: Value| match store(v, &bit(4), SqlMode::LENIENT).0.unwrap() {
        Value::Bit(b) => b.value,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (
            stored(Value::Int(15)),
            stored(Value::Int(16)),
            stored(Value::bytes(b"\x05"))
        ),
        (15, 15, 5)
    );
    assert_eq!(store(16i64, &bit(4), SqlMode::DEFAULT).0.unwrap_err().code(), 1406);
    assert_eq!(
        store(Value::Int(-1), &bit(64), SqlMode::DEFAULT).0.unwrap().as_ref(),
        ValueRef::Bit(crate::value::Bit {
            value: u64::MAX,
            width: 64
        })
    );
}

#[test]
fn strings() {
    let ci = CollationId::DEFAULT;
    check(&SqlType::char(3, ci), "abcd", 1406, "abc");
    check(&SqlType::char(3, ci), "a  ", 0, "a");
    check(&SqlType::varchar(3, ci), "a  ", 0, "a  ");
    check(&SqlType::varchar(3, ci), "abc  ", 0, "abc");
    check(&SqlType::varchar(3, ci), "ééé", 0, "ééé");
    check(&SqlType::varchar(3, ci), 1234i64, 1406, "123");
    check(
        &SqlType::text(TypeKind::TinyText, ci),
        "é".repeat(128),
        1406,
        &"é".repeat(127),
    );
    check(&SqlType::varchar(5, CollationId::LATIN1_SWEDISH_CI), "€漢", 1366, "€?");
    check(&SqlType::varchar(5, ci), Value::bytes(b"a\xff"), 1366, "a");
    check(&SqlType::binary(3), "a", 0, "a\0\0");
    check(&SqlType::varbinary(3), "abcd", 1406, "abc");
    let (e, _) = store(
        "€漢",
        &SqlType::varchar(5, CollationId::LATIN1_SWEDISH_CI),
        SqlMode::DEFAULT,
    );
    assert_eq!(
        e.unwrap_err().message(),
        r"Incorrect string value: '\xE6\xBC\xA2' for column 'c' at row 1"
    );
}

#[test]
fn temporals() {
    let date = SqlType::date();
    check(&date, "abc", 1292, "0000-00-00");
    check(&date, "2024-01-01abc", 1292, "2024-01-01");
    check(&date, "2024-01-01 10:00:00", 0, "2024-01-01");
    check(&date, 20_240_131i64, 0, "2024-01-31");
    check(&date, 123_456_789i64, 1292, "0000-00-00");
    check(&date, "2024-02-30", 1292, "0000-00-00");
    check(&date, "", 1292, "0000-00-00");
    check(&date, "0000-00-00", 1292, "0000-00-00");
    check(&date, "2024-00-01", 1292, "2024-00-01");
    let time = SqlType::time(0);
    check(&time, "abc", 1292, "00:00:00");
    check(&time, "839:00:00", 1292, "838:59:59");
    check(&time, "10:00:00x", 1292, "10:00:00");
    check(&time, "2024-01-01 10:00:00", 0, "10:00:00");
    check(&time, "10:00:00.5", 0, "10:00:01");
    check(&time, 9_999_999i64, 1292, "838:59:59");
    let datetime = SqlType::datetime(3);
    check(&datetime, "2024-01-31 10:11:12.3456", 0, "2024-01-31 10:11:12.346");
    check(&datetime, "2024-01-31", 0, "2024-01-31 00:00:00.000");
    check(&datetime, "2024-01-31 10:00:00+02:00", 0, "2024-01-31 08:00:00.000");
    check(
        &datetime,
        Value::Time(Time {
            micros: 1_000_000,
            fsp: 0,
        }),
        0,
        "2024-01-31 00:00:01.000",
    );
    check(&datetime, "9999-12-31 23:59:59.9999", 1441, "0000-00-00 00:00:00.000");
    let timestamp = SqlType::timestamp(0);
    check(&timestamp, "2024-01-31 10:00:00", 0, "2024-01-31 10:00:00");
    check(&timestamp, "1969-01-01", 1292, "0000-00-00 00:00:00");
    check(&timestamp, "2050-01-01", 1292, "0000-00-00 00:00:00");
    let year = SqlType::year();
    for (value, error, stored) in [
        ("1", 0, "2001"),
        ("0", 0, "2000"),
        ("70", 0, "1970"),
        ("2155", 0, "2155"),
        ("1800", 1264, "0000"),
        ("abc", 1366, "0000"),
        ("1x", 1265, "2001"),
    ] {
        check(&year, value, error, stored);
    }
    check(&year, 0i64, 0, "0000");
    let (e, _) = store("abc", &date, SqlMode::DEFAULT);
    let e = e.unwrap_err();
    assert_eq!(
        (e.sqlstate(), e.message()),
        ("22007", "Incorrect date value: 'abc' for column 'c' at row 1")
    );
}
#[test]
fn timestamps_are_stored_in_utc() {
    let zone = TimeZone::from_name("Europe/Stockholm").unwrap();
    let store = |text: &str, mode| {
        let mut warnings = Warnings::default();
        let mut cx = Context {
            mode,
            zone: &zone,
            now: NOW,
            warnings: &mut warnings,
        };
        let stored = assign(
            text.into(),
            &SqlType::timestamp(0),
            Target { column: "c", row: 1 },
            &mut cx,
        );
        (
            stored.map(|v| v.to_string()),
            warnings.iter().map(|w| w.error.code()).collect::<Vec<_>>(),
        )
    };
    let summer = store("2024-07-01 12:00:00", SqlMode::DEFAULT);
    assert_eq!((summer.0.unwrap().as_str(), summer.1), ("2024-07-01 10:00:00", vec![]));
    // The clocks leap from 02:00 to 03:00.
    assert_eq!(
        store("2024-03-31 02:30:00", SqlMode::DEFAULT).0.unwrap_err().code(),
        1292
    );
    let lenient = store("2024-03-31 02:30:00", SqlMode::LENIENT);
    assert_eq!(
        (lenient.0.unwrap().as_str(), lenient.1),
        ("2024-03-31 01:00:00", vec![1299])
    );
}

#[test]
fn enums_and_sets() {
    let labels = || Labels::new(["a", "b"]);
    let ty = SqlType::enumeration(labels(), CollationId::DEFAULT);
    check(&ty, "B", 0, "b");
    check(&ty, "2", 0, "b");
    check(&ty, 2i64, 0, "b");
    for bad in ["c", "", "3", "0"] {
        check(&ty, bad, 1265, "");
    }
    check(&ty, 3i64, 1265, "");
    let ty = SqlType::set(labels(), CollationId::DEFAULT);
    check(&ty, "b,A", 0, "a,b");
    check(&ty, "", 0, "");
    check(&ty, "3", 0, "a,b");
    check(&ty, 2i64, 0, "b");
    check(&ty, "a,c", 1265, "a");
    check(&ty, "a,,b", 1265, "a,b");
    check(&ty, 4i64, 1265, "");
}

#[test]
fn null_is_refused_by_not_null_columns() {
    let (e, _) = store(Value::Null, &SqlType::int().not_null(), SqlMode::LENIENT);
    assert_eq!(
        e.unwrap_err().to_string(),
        "ERROR 1048 (23000): Column 'c' cannot be null"
    );
    assert_eq!(
        store(Value::Null, &SqlType::int(), SqlMode::DEFAULT).0.unwrap(),
        Value::Null
    );
}

#[track_caller]
fn check_cast(value: impl Into<Value>, ty: &SqlType, text: &str, warning: Option<u16>) {
    let value = value.into();
    let (result, warnings) = run(SqlMode::DEFAULT, |cx| cast(value.clone(), ty, cx));
    assert_eq!(result.unwrap().to_string(), text, "{value:?} as {ty}");
    assert_eq!(
        warnings.iter().next().map(|w| w.error.code()),
        warning,
        "{value:?} as {ty}"
    );
}

#[test]
fn casts() {
    let (signed, unsigned) = (SqlType::bigint(), SqlType::bigint_unsigned());
    check_cast("12abc", &signed, "12", Some(1292));
    check_cast("1.9", &signed, "1", Some(1292));
    check_cast(2.5, &signed, "2", None);
    check_cast(d("2.5"), &signed, "3", None);
    check_cast(-1i64, &unsigned, "18446744073709551615", None);
    check_cast(u64::MAX, &signed, "-1", None);
    check_cast("-1", &unsigned, "18446744073709551615", Some(1105));
    check_cast(d("99999999999999999999"), &signed, "9223372036854775807", Some(1292));
    check_cast("abc", &SqlType::double(), "0", Some(1292));
    check_cast("1.555", &SqlType::decimal(10, 2), "1.56", None);
    check_cast(1234.5, &SqlType::decimal(4, 2), "99.99", Some(1264));
    check_cast(
        "2024-01-31 10:11:12.6",
        &SqlType::datetime(0),
        "2024-01-31 10:11:13",
        None,
    );
    check_cast("abc", &SqlType::date(), "NULL", Some(1292));
    check_cast("10:11:12.55", &SqlType::time(1), "10:11:12.6", None);
    check_cast(20_240_131i64, &SqlType::date(), "2024-01-31", None);
    check_cast("héllo", &SqlType::varchar(2, CollationId::DEFAULT), "hé", Some(1292));
    check_cast("abc", &SqlType::varbinary(2), "ab", Some(1292));
    check_cast("99", &SqlType::year(), "1999", None);
    check_cast(
        DateTime::parse("2024-01-31 10:11:12.6", DateRules::RELAXED)
            .map(|p| Value::DateTime(p.value))
            .unwrap(),
        &signed,
        "20240131101113",
        None,
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// What a column returns, it takes back unchanged, in any mode: the basis of INSERT ... SELECT and of UPDATE.
    #[test]
    fn stored_values_are_fixed_points((ty, value, _) in samples::typed_pairs()) {
        let relaxed = SqlMode { no_zero_date: false, no_zero_in_date: false, allow_invalid_dates: true, strict: true, ..SqlMode::LENIENT };
        let value = if let (Value::Str(text), true) = (&value, ty.kind == TypeKind::Char) { Value::from(text.trim_end()) } else { value };
        if matches!(&value, Value::Enum(v) if v.index == 0) { return Ok(()) }
        let (again, warnings) = store(value.clone(), &ty, relaxed);
        prop_assert_eq!(again.unwrap(), value, "{}", ty);
        prop_assert!(warnings.is_empty());
    }

    /// Every value goes into every column without strict mode, in the variant that the encodings expect.
    #[test]
    fn anything_can_be_stored_leniently((from, value, _) in samples::typed_pairs(), ty in prop::sample::select(samples::key_types())) {
        let (stored, _) = store(value.clone(), &ty, SqlMode::LENIENT);
        let stored = stored.unwrap();
        let layout = crate::RowLayout::new(std::slice::from_ref(&ty));
        let mut row = Vec::new();
        layout.encode(std::slice::from_ref(&stored), &mut row);
        prop_assert_eq!(layout.validate(&row), Ok(()), "{:?} of {} into {}: {:?}", value, from, ty, stored);
        prop_assert_eq!(layout.decode(&row), [stored]);
        run(SqlMode::DEFAULT, |cx| cast(value, &ty, cx)).0.unwrap();
    }

    /// What a column prints reads back as itself.
    #[test]
    fn text_is_lossless((ty, value, _) in samples::typed_pairs()) {
        let numeric = !matches!(ty.kind, TypeKind::Float | TypeKind::Enum | TypeKind::Timestamp) && !ty.kind.is_binary() && !ty.kind.is_text() && ty.kind != TypeKind::Bit;
        if !numeric || value.is_null() { return Ok(()) }
        let relaxed = SqlMode { no_zero_date: false, no_zero_in_date: false, allow_invalid_dates: true, strict: true, ..SqlMode::LENIENT };
        let mut text = Vec::new();
        value.as_ref().write_typed_text(&ty, &mut text);
        let text = String::from_utf8(text).unwrap();
        let (again, _) = store(text.as_str(), &ty, relaxed);
        prop_assert_eq!(again.unwrap(), value, "{} by {}", ty, text);
    }
}
