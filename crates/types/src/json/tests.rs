//! JSON as MySQL 8.0's manual shows it.

use super::*;
use proptest::prelude::*;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn path(text: &str) -> JsonPath {
    JsonPath::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn nodes() -> impl Strategy<Value = Node> {
    let scalar = prop_oneof![
        Just(Node::Null),
        any::<bool>().prop_map(Node::Bool),
        any::<i64>().prop_map(Node::Int),
        (i64::MAX as u64 + 1..).prop_map(Node::UInt),
        (-5i64..5).prop_map(Node::Int),
        proptest::num::f64::NORMAL.prop_map(Node::Double),
        (-4i32..4).prop_map(|v| Node::Double(f64::from(v) / 2.0)),
        crate::samples::texts().prop_map(Node::Str),
    ];
    scalar.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(|items| Node::Array(items.into())),
            proptest::collection::vec((crate::samples::texts(), inner), 0..6)
                .prop_map(|members| Node::Object(Members::new(members))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn print_and_parse_round_trip(node in nodes()) {
        let json = Json::from(&node);
        prop_assert_eq!(json.as_ref().to_node(), node.clone());
        prop_assert_eq!(&Json::parse(&json.to_string()).unwrap(), &json);
        prop_assert_eq!(&Json::parse(&json.as_ref().pretty()).unwrap(), &json);
        prop_assert_eq!(JsonRef::from_bytes(json.as_ref().as_bytes()), Some(json.as_ref()));
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json.to_string()).is_ok());
    }

    #[test]
    fn comparison_is_an_order(a in nodes(), b in nodes(), c in nodes()) {
        use std::hash::Hasher;
        let (a, b, c) = (Json::from(&a), Json::from(&b), Json::from(&c));
        let (a, b, c) = (a.as_ref(), b.as_ref(), c.as_ref());
        prop_assert!(a.compare(a).is_eq());
        prop_assert_eq!(a.compare(b), b.compare(a).reverse());
        if a.compare(b).is_le() && b.compare(c).is_le() {
            prop_assert!(a.compare(c).is_le());
        }
        if a.compare(b).is_eq() {
            let hash = |v: JsonRef<'_>| { let mut h = std::hash::DefaultHasher::new(); v.hash_value(&mut h); h.finish() };
            prop_assert_eq!(hash(a), hash(b));
        }
        prop_assert!(a.contains(a));
    }

    #[test]
    fn damaged_documents_are_refused_or_readable(node in nodes(), flip: prop::sample::Index, bit in 0u32..8) {
        let mut bytes = Json::from(&node).as_ref().as_bytes().to_vec();
        let at = flip.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        if let Some(json) = JsonRef::from_bytes(&bytes) {
            let _ = (json.to_string(), json.depth(), json.to_node());
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "[\\[\\]{}\",:0-9eE.\\\\untrfals -]{0,30}|\\PC{0,20}") {
        let ours = Json::parse(&text);
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours, theirs);
        if let Err(e) = ours {
            prop_assert!(e.position <= text.len());
        }
        let _ = JsonPath::parse(&text);
        let _ = unquote(&text);
    }

    #[test]
    fn paths_print_back(text in "\\$(\\.[a-c]|\\.\\*|\\[[0-3]\\]|\\[\\*\\]|\\[last-1\\]|\\[0 to last\\]|\\*\\*\\.x|\\.\"a b\"){0,5}", node in nodes()) {
        let parsed = path(&text);
        prop_assert_eq!(path(&parsed.to_string()), parsed.clone());
        let json = Json::from(&node);
        json.as_ref().find(&parsed);
        let mut tree = node;
        if !parsed.has_wildcard() {
            let before = json.as_ref().at(&parsed).is_some();
            tree.place(&parsed, Node::Int(-77), Placement::Replace);
            let changed = Json::from(&tree);
            if before {
                prop_assert_eq!(changed.as_ref().at(&parsed).map(|v| v.to_string()), Some("-77".to_string()));
            }
        }
    }
}

#[test]
fn documents_are_normalised() {
    for (text, printed) in [
        (
            r#"{"key1": 1, "key2": "abc", "key1": "def"}"#,
            r#"{"key1": "def", "key2": "abc"}"#,
        ),
        (
            r#"{"bb":1,"c":2,"a":[ ],"":{}}"#,
            r#"{"": {}, "a": [], "c": 2, "bb": 1}"#,
        ),
        (
            "[1, 1.0, 1e2, 18446744073709551615, 18446744073709551616, -0]",
            "[1, 1.0, 100.0, 18446744073709551615, 1.8446744073709552e19, 0]",
        ),
        (r#""\u00e9\n\/\ud83d\ude00\u0001""#, "\"é\\n/😀\\u0001\""),
        (" true ", "true"),
    ] {
        assert_eq!(json(text).to_string(), printed);
    }
}

#[test]
fn errors_have_mysqls_words_and_positions() {
    for (text, message, position) in [
        ("", "The document is empty.", 0),
        ("{]", "Missing a name for object member.", 1),
        (r#"{"a" 1}"#, "Missing a colon after a name of object member.", 5),
        (r#"{"a": 1 "b"}"#, "Missing a comma or '}' after an object member.", 8),
        ("[1 2]", "Missing a comma or ']' after an array element.", 3),
        ("[1, 2,]", "Invalid value.", 6),
        ("1 2", "The document root must not be followed by other values.", 2),
        (r#""abc"#, "Missing a closing quotation mark in string.", 0),
        (r#""\x""#, "Invalid escape character in string.", 1),
        ("1.", "Miss fraction part in number.", 2),
        ("1e", "Miss exponent in number.", 2),
        ("1e999", "Number too big to be stored in double.", 0),
        ("abc", "Invalid value.", 0),
    ] {
        assert_eq!(Json::parse(text), Err(JsonError { message, position }), "{text}");
    }
    let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(Json::parse(&deep(100)).is_ok());
    assert!(Json::parse(&deep(101)).is_err());
    assert!(JsonRef::from_bytes(json(&deep(100)).as_ref().as_bytes()).is_some());
}

#[test]
fn extraction() {
    let doc = json(r#"{"a": [1, {"b": 2}, [3, 4]], "c": {"b": 5}, "d e": 6}"#);
    let get = |p: &str| extract(doc.as_ref(), &[path(p)]).map(|j| j.to_string());
    for (p, found) in [
        ("$", Some(r#"{"a": [1, {"b": 2}, [3, 4]], "c": {"b": 5}, "d e": 6}"#)),
        ("$.a[0]", Some("1")),
        ("$.a[last]", Some("[3, 4]")),
        ("$.a[last-1].b", Some("2")),
        ("$.a[0 to 1]", Some(r#"[1, {"b": 2}]"#)),
        ("$.a[*][1]", Some("[4]")),
        ("$.c[*]", None),
        ("$**.b", Some("[2, 5]")),
        ("$.*.b", Some("[5]")),
        ("$.\"d e\"", Some("6")),
        ("$.c[0].b", Some("5")),
        ("$.c[1]", None),
        ("$.x", None),
        ("$.a[7]", None),
    ] {
        assert_eq!(get(p).as_deref(), found, "{p}");
    }
    assert_eq!(
        extract(doc.as_ref(), &[path("$.c.b"), path("$.x")])
            .unwrap()
            .to_string(),
        "[5]"
    );
    for bad in [
        "",
        "a",
        "$.",
        "$[",
        "$[a]",
        "$**",
        "$.a.",
        "$***.a",
        "$[3 to 1]",
        "$.1",
        "$[4294967296]",
    ] {
        assert!(JsonPath::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn modification() {
    let change = |doc: &str, f: &dyn Fn(&mut Node)| {
        let mut node = json(doc).as_ref().to_node();
        f(&mut node);
        Json::from(&node).to_string()
    };
    let place = |doc: &str, p: &str, how| change(doc, &|n| n.place(&path(p), Node::Int(9), how));
    let doc = r#"{"a": 1, "b": [2, 3]}"#;
    assert_eq!(place(doc, "$.a", Placement::Set), r#"{"a": 9, "b": [2, 3]}"#);
    assert_eq!(place(doc, "$.c", Placement::Set), r#"{"a": 1, "b": [2, 3], "c": 9}"#);
    assert_eq!(place(doc, "$.a", Placement::Insert), doc);
    assert_eq!(place(doc, "$.c", Placement::Replace), doc);
    assert_eq!(place(doc, "$.b[5]", Placement::Set), r#"{"a": 1, "b": [2, 3, 9]}"#);
    assert_eq!(place(doc, "$.a[1]", Placement::Insert), r#"{"a": [1, 9], "b": [2, 3]}"#);
    assert_eq!(place(doc, "$.a[0]", Placement::Set), r#"{"a": 9, "b": [2, 3]}"#);
    assert_eq!(place(doc, "$.x.y", Placement::Set), doc);
    let array = r#"["a", ["b", "c"], "d"]"#;
    assert_eq!(change(array, &|n| n.remove(&path("$[1]"))), r#"["a", "d"]"#);
    assert_eq!(
        change(array, &|n| n.array_append(&path("$[0]"), Node::Int(2))),
        r#"[["a", 2], ["b", "c"], "d"]"#
    );
    assert_eq!(
        change(array, &|n| assert!(n.array_insert(&path("$[100]"), Node::Int(1)))),
        r#"["a", ["b", "c"], "d", 1]"#
    );
    assert_eq!(
        change(array, &|n| assert!(n.array_insert(&path("$[1][0]"), Node::Int(1)))),
        r#"["a", [1, "b", "c"], "d"]"#
    );
    assert!(!json(array).as_ref().to_node().array_insert(&path("$.a"), Node::Null));
}

#[test]
fn merging() {
    let merge = |a: &str, b: &str, f: fn(Node, Node) -> Node| {
        Json::from(&f(json(a).as_ref().to_node(), json(b).as_ref().to_node())).to_string()
    };
    assert_eq!(
        merge(r#"{"a": 1, "b": 2}"#, r#"{"a": 3, "c": 4}"#, Node::merge_patch),
        r#"{"a": 3, "b": 2, "c": 4}"#
    );
    assert_eq!(
        merge(r#"{"a": 1, "b": 2}"#, r#"{"b": null}"#, Node::merge_patch),
        r#"{"a": 1}"#
    );
    assert_eq!(merge("[1, 2]", "[true]", Node::merge_patch), "[true]");
    assert_eq!(
        merge(r#"{"a": 1}"#, r#"{"a": {"b": null}}"#, Node::merge_patch),
        r#"{"a": {}}"#
    );
    assert_eq!(
        merge("[1, 2]", "[true, false]", Node::merge_preserve),
        "[1, 2, true, false]"
    );
    assert_eq!(
        merge(r#"{"a": 1, "b": 2}"#, r#"{"a": 3, "c": 4}"#, Node::merge_preserve),
        r#"{"a": [1, 3], "b": 2, "c": 4}"#
    );
    assert_eq!(merge("1", "true", Node::merge_preserve), "[1, true]");
}

#[test]
fn containment_and_measures() {
    let contains = |a: &str, b: &str| json(a).as_ref().contains(json(b).as_ref());
    assert!(contains(r#"{"a": 1, "b": [2]}"#, r#"{"a": 1}"#) && !contains(r#"{"a": 1}"#, "1"));
    assert!(contains("[1, 2, [3]]", "[1, [3]]") && contains("[1, [3]]", "3") && !contains("[1, 2]", "[[1]]"));
    assert!(contains("1", "1.0") && !contains("1", "\"1\""));
    let overlaps = |a: &str, b: &str| json(a).as_ref().overlaps(json(b).as_ref());
    assert!(overlaps("[1, 3]", "[3, 4]") && !overlaps("[1]", "[2]") && overlaps("5", "[4, 5]"));
    assert!(overlaps(r#"{"a": 1, "b": 2}"#, r#"{"b": 2}"#) && !overlaps(r#"{"a": 1}"#, r#"{"a": 2}"#));
    let doc = json(r#"[10, {"a": [20, "x"]}]"#);
    let doc = doc.as_ref();
    assert_eq!((doc.depth(), doc.length(), json("[]").as_ref().depth()), (4, 2, 1));
    assert_eq!(doc.search(&[], &|s| s == "x", 9), ["$[1].a[1]"]);
    assert_eq!(
        json(r#"{"b": 1, "a": 2}"#).as_ref().keys().unwrap().to_string(),
        r#"["a", "b"]"#
    );
    assert_eq!(quote("a\"b"), r#""a\"b""#);
    assert_eq!(unquote(r#""a\tb""#).unwrap(), "a\tb");
    assert_eq!(unquote("abc").unwrap(), "abc");
    assert!(unquote(r#""a\qb""#).is_err());
}

#[test]
fn values_become_scalars() {
    use crate::value::Bit;
    let of = |v: ValueRef<'_>| {
        let json = Json::from_value(v);
        (json.as_ref().type_name(), json.to_string())
    };
    let date = Date {
        year: 2024,
        month: 1,
        day: 31,
    };
    let decimal = Decimal::parse("1.50").unwrap();
    assert_eq!(of(ValueRef::Null), ("NULL", "null".into()));
    assert_eq!(of(ValueRef::Decimal(decimal)), ("DECIMAL", "1.50".into()));
    assert_eq!(of(ValueRef::Date(date)), ("DATE", "\"2024-01-31\"".into()));
    assert_eq!(
        of(ValueRef::DateTime(date.into())),
        ("DATETIME", "\"2024-01-31 00:00:00.000000\"".into())
    );
    assert_eq!(of(ValueRef::Bytes(b"abc")), ("BLOB", "\"base64:type15:YWJj\"".into()));
    assert_eq!(
        of(ValueRef::Bit(Bit { value: 5, width: 3 })),
        ("BIT", "\"base64:type16:BQ==\"".into())
    );
    assert_eq!(of(ValueRef::UInt(5)), ("UNSIGNED INTEGER", "5".into()));
    assert_eq!(
        Json::from_value(ValueRef::Time(Time { micros: -1, fsp: 0 })).to_string(),
        "\"-00:00:00.000001\""
    );
}
