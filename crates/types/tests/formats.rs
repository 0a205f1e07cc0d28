//! The bytes of rows, keys and JSON documents on disk. A test that fails here means a new format version
//! (`docs/formats/rows-and-keys.md`), not a new expectation.

use types::elements::{ElementKeys, elements, text_type};
use types::{
    Bytes, CollationId, Date, DateTime, Decimal, EntryKeys, Json, JsonRef, KeyLayout, KeyPart, Labels, RowLayout,
    SqlType, Time, TypeKind, UnixTime, Value,
    value::{Bit, EnumValue, SetValue},
};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// A type, a value, and the bytes that the value has in rows and, after the NULL marker, in keys.
fn fixed_columns() -> Vec<(SqlType, Value, &'static str)> {
    let labels = Labels::new(["x", "y", "z"]);
    let date = Date {
        year: 2024,
        month: 1,
        day: 31,
    };
    let moment = |fsp, micros| DateTime {
        date,
        hour: 23,
        minute: 59,
        second: 58,
        fsp,
        micros,
    };
    let decimal = |text: &str| Value::Decimal(Decimal::parse(text).expect("a decimal"));
    vec![
        (SqlType::integer(TypeKind::TinyInt, false), Value::Int(-1), "7f"),
        (
            SqlType::integer(TypeKind::MediumInt, true),
            Value::UInt(0x010203),
            "010203",
        ),
        (SqlType::int(), Value::Int(1), "80000001"),
        (SqlType::bigint_unsigned(), Value::UInt(u64::MAX), "ffffffffffffffff"),
        (SqlType::decimal(10, 2), decimal("-1.50"), "7fffffff6a"),
        (SqlType::decimal(30, 0), decimal("1"), "80000000000000000000000001"),
        (SqlType::float(), Value::Float(1.0), "bf800000"),
        (SqlType::double(), Value::Double(-1.0), "400fffffffffffff"),
        (SqlType::date(), Value::Date(date), "0fd03f"),
        (
            SqlType::time(0),
            Value::Time(Time {
                micros: -1_000_000,
                fsp: 0,
            }),
            "7fffff",
        ),
        (
            SqlType::time(3),
            Value::Time(Time {
                micros: 1_500_000,
                fsp: 3,
            }),
            "8000003a98",
        ),
        (SqlType::datetime(0), Value::DateTime(moment(0, 0)), "1fa07f7efa"),
        (
            SqlType::datetime(6),
            Value::DateTime(moment(6, 999_999)),
            "1fa07f7efa0f423f",
        ),
        (
            SqlType::timestamp(0),
            Value::Timestamp(UnixTime {
                micros: 1_000_000,
                fsp: 0,
            }),
            "00000001",
        ),
        (
            SqlType::timestamp(2),
            Value::Timestamp(UnixTime {
                micros: 1_250_000,
                fsp: 2,
            }),
            "000000007d",
        ),
        (SqlType::year(), Value::Year(2024), "7c"),
        (
            SqlType::bit(10),
            Value::Bit(Bit {
                value: 0x201,
                width: 10,
            }),
            "0201",
        ),
        (
            SqlType::enumeration(labels.clone(), CollationId::DEFAULT),
            Value::Enum(EnumValue {
                index: 2,
                labels: labels.clone(),
            }),
            "02",
        ),
        (
            SqlType::set(labels.clone(), CollationId::DEFAULT),
            Value::Set(SetValue { bits: 5, labels }),
            "05",
        ),
        (SqlType::binary(3), Value::bytes(b"ab\0"), "616200"),
    ]
}

#[test]
fn fixed_columns_have_the_same_bytes_in_rows_and_keys() {
    for (ty, value, bytes) in fixed_columns() {
        let layout = RowLayout::new(std::slice::from_ref(&ty));
        let mut row = Vec::new();
        layout.encode(std::slice::from_ref(&value), &mut row);
        // One byte of NULL bits.
        assert_eq!(hex(&row), format!("00{bytes}"), "{ty}");
        assert_eq!(layout.decode(&row), std::slice::from_ref(&value));
        let mut key = Vec::new();
        KeyLayout::new(vec![KeyPart::ascending(0, ty.clone())]).encode_values(&[value], &mut key);
        assert_eq!(hex(&key), format!("01{bytes}"), "{ty}");
    }
}

#[test]
fn rows() {
    let text = SqlType::varchar(10, CollationId::DEFAULT);
    let layout = RowLayout::new(&[
        SqlType::int(),
        text.clone(),
        text.clone().not_null(),
        SqlType::varbinary(9),
    ]);
    let mut row = Vec::new();
    layout.encode(
        &[Value::Int(1), Value::Null, "é".into(), Value::bytes(b"\x00")],
        &mut row,
    );
    // NULL bits, the integer, three end offsets, the strings.
    assert_eq!(hex(&row), "0480000001000002000300c3a900");
}

#[test]
fn string_keys() {
    let key = |ty: SqlType, value: Value, prefix, descending| {
        let mut out = Vec::new();
        KeyLayout::new(vec![KeyPart {
            column: 0,
            ty: ty.not_null(),
            prefix,
            descending,
        }])
        .encode_values(&[value], &mut out);
        hex(&out)
    };
    let varbinary = || SqlType::varbinary(20);
    assert_eq!(
        key(varbinary(), Value::Bytes(Bytes::new(b"a\0\x01b")), None, false),
        "61010101026200"
    );
    assert_eq!(key(varbinary(), Value::bytes(b"ab"), None, true), "9e9dff");
    assert_eq!(key(varbinary(), Value::bytes(b"abc"), Some(2), false), "616200");
    assert_eq!(
        key(
            SqlType::varchar(9, CollationId::UTF8MB4_0900_BIN),
            "é".into(),
            None,
            false
        ),
        "c3a900"
    );
}

#[test]
fn json_documents() {
    for (text, bytes) in [
        ("null", "00"),
        ("true", "02"),
        ("-2", "03feffffffffffffff"),
        ("1.5", "05000000000000f83f"),
        ("\"é\"", "07c3a9"),
        ("[]", "080000"),
        ("[null, \"a\"]", "08020001000300000761"),
        (
            "{\"b\": 1, \"a\": null}",
            "0902000100020001000a00616200030100000000000000",
        ),
    ] {
        let json = Json::parse(text).unwrap();
        assert_eq!(hex(json.as_ref().as_bytes()), bytes, "{text}");
        assert_eq!(JsonRef::from_bytes(json.as_ref().as_bytes()), Some(json.as_ref()));
    }
}

/// The entries of rows `(INT a, elements)` under the primary key `80 00 00 07`.
#[test]
fn keys_of_elements() {
    let entries = |element: SqlType, document: Option<&str>| {
        let array = document.map(|document| elements(Json::parse(document).unwrap().as_ref(), &element).unwrap());
        let rows = RowLayout::new(&[SqlType::int(), SqlType::json()]);
        let mut row = Vec::new();
        rows.encode(&[Value::Int(1), array.map_or(Value::Null, Value::Json)], &mut row);
        let parts = vec![KeyPart::ascending(0, SqlType::int()), KeyPart::ascending(1, element)];
        let mut keys = EntryKeys::default();
        ElementKeys::new(KeyLayout::new(parts), 1).entries(&rows, &row, &[0x80, 0, 0, 7], &mut keys);
        keys.iter().map(hex).collect::<Vec<_>>()
    };
    assert_eq!(
        entries(SqlType::bigint(), Some("[2, -1, 2]")),
        [
            "0180000001017fffffffffffffff80000007",
            "018000000101800000000000000280000007"
        ]
    );
    assert_eq!(entries(SqlType::bigint(), None), ["01800000010080000007"]);
    assert!(entries(SqlType::bigint(), Some("[]")).is_empty());
    assert_eq!(
        entries(SqlType::varbinary(3), Some("[\"ab\"]")),
        ["01800000010161620080000007"]
    );
    assert_eq!(
        entries(SqlType::date(), Some("\"2024-01-31\"")),
        ["0180000001010fd03f80000007"]
    );
    assert_eq!(entries(text_type(3), Some("[\"a\"]")).len(), 1);
}
