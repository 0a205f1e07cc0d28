//! What MySQL 9.7 stores and refuses, and that what is looked for is found.

use super::*;
use crate::key::{EntryKeys, KeyLayout, KeyPart};
use crate::row::RowLayout;
use crate::value::ValueRef;
use proptest::prelude::*;

fn types() -> [SqlType; 10] {
    [
        SqlType::bigint_unsigned(),
        SqlType::bigint(),
        SqlType::decimal(5, 2),
        text_type(5),
        SqlType::varbinary(5),
        SqlType::date(),
        SqlType::time(0),
        SqlType::datetime(0),
        SqlType::datetime(3),
        SqlType::time(2),
    ]
}

/// The elements as text, or the number of MySQL's error.
fn told(document: &str, ty: &SqlType) -> String {
    match elements(Json::parse(document).unwrap().as_ref(), ty) {
        Ok(array) => array.to_string(),
        Err(ElementError::Invalid) => "3903".to_owned(),
        Err(ElementError::NoInteger) => "3904".to_owned(),
        Err(ElementError::OutOfRange) => "3752".to_owned(),
        Err(ElementError::Truncated) => "3751".to_owned(),
        Err(ElementError::TooLong) => "3907".to_owned(),
        Err(ElementError::Nested) => "3908".to_owned(),
        Err(ElementError::Object) => "1235".to_owned(),
        Err(ElementError::TooMany(_)) => "3905".to_owned(),
        Err(ElementError::TooMuch(_)) => "3906".to_owned(),
    }
}

#[test]
fn elements_are_those_of_mysql() {
    let [unsigned, signed, decimal, text, _, date, time, datetime, ..] = types();
    for (document, ty, expected) in [
        ("[3, 1, 3, 2]", &unsigned, "[1, 2, 3]"),
        ("[]", &unsigned, "[]"),
        ("7", &unsigned, "[7]"),
        ("[1.5, 2.5, true, \"7\", 1e2]", &unsigned, "[1, 2, 7, 100]"),
        ("[-1]", &unsigned, "3752"),
        ("[18446744073709551616]", &unsigned, "3904"),
        ("[\"7.6\"]", &unsigned, "3903"),
        ("[\" 7 \"]", &unsigned, "3903"),
        ("[null]", &unsigned, "3903"),
        ("null", &unsigned, "3903"),
        ("[[1]]", &unsigned, "3908"),
        ("[{}]", &unsigned, "3908"),
        ("{}", &unsigned, "1235"),
        ("[-1.5, -1]", &signed, "[-2, -1]"),
        ("[9223372036854775808]", &signed, "3752"),
        ("[1e30]", &signed, "3904"),
        ("[1e30]", &decimal, "3752"),
        ("[\" 7 \", \"1e1\", 12.345]", &decimal, "[7.00, 10.00, 12.35]"),
        ("[\"7x\"]", &decimal, "3903"),
        ("[999.999]", &decimal, "3752"),
        (
            "[\"b\", \"a\", 1, true, 1e2]",
            &text,
            "[\"1\", \"100.0\", \"a\", \"b\", \"true\"]",
        ),
        ("[\"abcdef\"]", &text, "3907"),
        (
            "[\"2020-01-02\", 20200102, \"2020-01-02 03:04:05.678\"]",
            &date,
            "[\"2020-01-02\"]",
        ),
        ("[1]", &date, "3751"),
        ("[true]", &date, "3751"),
        ("[\"2020-13-01\"]", &date, "3751"),
        ("[\"0000-00-00\"]", &date, "3751"),
        (
            "[\"03:04:05\", 1, -1]",
            &time,
            "[\"-00:00:01.000000\", \"00:00:01.000000\", \"03:04:05.000000\"]",
        ),
        ("[\"2020-01-02\"]", &datetime, "[\"2020-01-02 00:00:00.000000\"]"),
        ("[1.5]", &datetime, "3751"),
    ] {
        assert_eq!(told(document, ty), expected, "{document} as {ty}");
    }
}

#[test]
fn a_row_has_so_many() {
    let numbers = |count: usize| format!("[{}]", (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    let texts = |count: usize| {
        let texts = (0..count).map(|n| format!("\"{n:010}\""));
        format!("[{}]", texts.collect::<Vec<_>>().join(","))
    };
    assert_ne!(told(&numbers(1606), &SqlType::bigint_unsigned()), "3905");
    assert_eq!(told(&numbers(1607), &SqlType::bigint_unsigned()), "3905");
    assert_ne!(told(&numbers(2294), &SqlType::decimal(10, 2)), "3905");
    assert_eq!(told(&numbers(2295), &SqlType::decimal(10, 2)), "3905");
    assert_ne!(told(&texts(535), &text_type(10)), "3906");
    assert_eq!(told(&texts(536), &text_type(10)), "3906");
}

/// Over (INT, array, INT).
fn keys_over(element: &SqlType) -> (RowLayout, ElementKeys) {
    let int = SqlType::int();
    let parts = [&int, element, &int].into_iter().enumerate();
    let parts = parts.map(|(column, ty)| KeyPart::ascending(column, ty.clone()));
    let rows = RowLayout::new(&[SqlType::int(), SqlType::json(), SqlType::int()]);
    (rows, ElementKeys::new(KeyLayout::new(parts.collect()), 1))
}

fn row(rows: &RowLayout, a: Value, array: Value, b: Value) -> Vec<u8> {
    let mut row = Vec::new();
    rows.encode(&[a, array, b], &mut row);
    row
}

#[test]
fn a_row_has_an_entry_for_each_element() {
    let (rows, keys) = keys_over(&SqlType::bigint());
    let entries = |array: Value| {
        let row = row(&rows, Value::Int(5), array, Value::Int(6));
        let mut found = EntryKeys::default();
        keys.entries(&rows, &row, b"pk", &mut found);
        assert!(found.len() <= keys.most_entries(&rows, &row));
        found.iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let key = |element: Value| {
        let mut key = Vec::new();
        keys.layout()
            .encode_values(&[Value::Int(5), element, Value::Int(6)], &mut key);
        key.extend_from_slice(b"pk");
        key
    };
    let json = |text: &str| Value::Json(Json::parse(text).unwrap());
    assert_eq!(entries(json("[-1, 7]")), [key(Value::Int(-1)), key(Value::Int(7))]);
    assert_eq!(entries(json("[]")), Vec::<Vec<u8>>::new());
    assert_eq!(entries(Value::Null), [key(Value::Null)]);
    // No expression gives this.
    assert_eq!(entries(json("{\"a\": 1}")), Vec::<Vec<u8>>::new());
    assert_eq!(entries(json("[\"x\", 2, 2, null]")), [key(Value::Int(2))]);
}

fn scalar() -> impl Strategy<Value = Node> {
    let number = prop_oneof![
        -3i64..3,
        Just(i64::MAX),
        Just(i64::MIN),
        Just(1 << 53),
        Just((1 << 53) + 1),
        Just(20200102)
    ];
    let text = prop_oneof![
        Just("7"),
        Just(""),
        Just(" 7 "),
        Just("a"),
        Just("A"),
        Just("ä"),
        Just("1.5"),
        Just("2020-01-02"),
        Just("2020-01-02 03:04:05.678+02:00"),
        Just("03:04:05.5")
    ];
    prop_oneof![
        number.clone().prop_map(Node::Int),
        number.clone().prop_map(|v| Node::UInt(v as u64)),
        number.clone().prop_map(|v| Node::Double(v as f64 / 2.0)),
        number
            .clone()
            .prop_map(|v| Node::Decimal(Decimal::from_scaled(i128::from(v) * 5, 1))),
        number.prop_map(|v| Node::Decimal(v.into())),
        any::<bool>().prop_map(Node::Bool),
        text.prop_map(|text| Node::Str(text.to_owned())),
        text_bytes().prop_map(|bytes| Node::Opaque(253, bytes)),
        Just(Node::Date(crate::time::Date {
            year: 2020,
            month: 1,
            day: 2
        })),
    ]
}

fn text_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(0u8), Just(b'a'), Just(0xff)], 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// But for texts of numbers, and moments made of them: of 1 and 1.0 they differ.
    #[test]
    fn equal_scalars_have_one_element(nodes in prop::collection::vec(scalar(), 16)) {
        let documents: Vec<Json> = nodes.iter().map(Json::from).collect();
        for a in &documents {
            for b in documents.iter().filter(|b| a.as_ref().compare(b.as_ref()).is_eq()) {
                for ty in types() {
                    let is_by_text = !matches!(ty.kind, TypeKind::BigInt | TypeKind::Decimal);
                    if !is_by_text || number(a.as_ref()).is_none() {
                        prop_assert_eq!(element(a.as_ref(), &ty), element(b.as_ref(), &ty), "{} {} as {}", a, b, ty);
                    }
                }
            }
        }
    }

    #[test]
    fn elements_are_their_own_elements(nodes in prop::collection::vec(scalar(), 0..6)) {
        for ty in types() {
            let nodes = nodes.iter().filter(|node| element(Json::from(*node).as_ref(), &ty).is_ok());
            let document = Json::from(&Node::Array(nodes.cloned().collect::<Vec<_>>().into()));
            let array = elements(document.as_ref(), &ty).unwrap();
            prop_assert_eq!(&elements(array.as_ref(), &ty).unwrap(), &array, "{} as {}", document, ty);
        }
    }

    /// Each element's key is there, once, and all are in order.
    #[test]
    fn entries_are_those_of_the_elements(nodes in prop::collection::vec(scalar(), 0..6), a in any::<Option<i32>>()) {
        for ty in types() {
            let nodes: Vec<Node> = nodes.iter().filter(|node| element(Json::from(*node).as_ref(), &ty).is_ok()).cloned().collect();
            let document = Json::from(&Node::Array(nodes.into()));
            let array = elements(document.as_ref(), &ty).unwrap();
            let (rows, keys) = keys_over(&ty);
            let a = a.map_or(Value::Null, |a| Value::Int(a.into()));
            let row = row(&rows, a.clone(), Value::Json(array), Value::Int(1));
            let mut entries = EntryKeys::default();
            keys.entries(&rows, &row, b"pk", &mut entries);
            let found: Vec<&[u8]> = entries.iter().collect();
            prop_assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(keys.has_null(&rows, &row), a.is_null());
            let JsonView::Array(scalars) = document.as_ref().view() else { unreachable!() };
            let mut wanted: Vec<Vec<u8>> = scalars.iter().map(|scalar| {
                let value = element(scalar, &ty).unwrap();
                let mut key = Vec::new();
                keys.layout().encode_refs([a.as_ref(), value.as_ref(), ValueRef::Int(1)], &mut key);
                key.extend_from_slice(b"pk");
                key
            }).collect();
            wanted.sort_unstable();
            wanted.dedup();
            prop_assert_eq!(found, wanted);
        }
    }
}
