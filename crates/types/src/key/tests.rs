use super::*;
use crate::compare::sort_order;
use crate::samples;
use proptest::prelude::*;
use std::cmp::Ordering;

fn layout(ty: &SqlType, descending: bool) -> KeyLayout {
    KeyLayout::new(vec![KeyPart {
        column: 0,
        ty: ty.clone(),
        prefix: None,
        descending,
    }])
}

fn key(layout: &KeyLayout, values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    layout.encode_values(values, &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn key_order_is_value_order((ty, a, b) in samples::typed_pairs(), descending: bool) {
        let layout = layout(&ty, descending);
        let order = sort_order(a.as_ref(), b.as_ref(), ty.collation);
        let order = if descending { order.reverse() } else { order };
        prop_assert_eq!(key(&layout, &[a]).cmp(&key(&layout, &[b])), order, "{}", ty);
    }

    #[test]
    fn recoverable_parts_come_back((ty, a, _) in samples::typed_pairs(), descending: bool) {
        let layout = layout(&ty, descending);
        let mut bytes = key(&layout, std::slice::from_ref(&a));
        prop_assert_eq!(layout.key_len(&bytes), Some(bytes.len()));
        bytes.extend(b"suffix");
        if layout.recoverable(0) {
            prop_assert_eq!(layout.decode_part(&bytes, 0), Some(a));
        } else {
            prop_assert_eq!(layout.decode_part(&bytes, 0), None);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_row_gives_the_key_of_its_values((types, values) in samples::rows(), descending: bool) {
        let parts = types.iter().enumerate().map(|(column, ty)| KeyPart {
            column,
            ty: ty.clone(),
            prefix: if ty.kind.is_text() || ty.kind.is_binary() { Some(3) } else { None },
            descending: descending && column % 2 == 0,
        });
        let keys = KeyLayout::new(parts.collect());
        let rows = RowLayout::new(&types);
        let mut row = Vec::new();
        rows.encode(&values, &mut row);
        let (mut from_row, mut from_values) = (Vec::new(), Vec::new());
        let nulls = (keys.encode_row(&rows, &row, &mut from_row), keys.encode_values(&values, &mut from_values));
        prop_assert_eq!(from_row, from_values);
        prop_assert_eq!(nulls.0, nulls.1);
        prop_assert_eq!(nulls.0, values.iter().any(Value::is_null));
    }

    #[test]
    fn any_bytes_decode_without_panic((types, _) in samples::rows(), bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let keys = KeyLayout::new(types.iter().map(|ty| KeyPart::ascending(0, ty.clone())).collect());
        for part in 0..types.len() {
            keys.decode_part(&bytes, part);
        }
        keys.key_len(&bytes);
    }

    #[test]
    fn the_successor_of_a_prefix_is_right_behind_its_keys(prefix in prop::collection::vec(any::<u8>(), 0..4), tail in prop::collection::vec(any::<u8>(), 0..4)) {
        let mut end = prefix.clone();
        let mut inside = prefix.clone();
        inside.extend(&tail);
        if prefix_successor(&mut end) {
            prop_assert!(inside < end);
        } else {
            prop_assert!(prefix.iter().all(|&b| b == 0xff));
        }
    }
}

#[test]
fn strings_sort_before_their_extensions_in_compound_keys() {
    let text = SqlType::varbinary(10).not_null();
    let keys = KeyLayout::new(vec![
        KeyPart::ascending(0, text),
        KeyPart::ascending(1, SqlType::int().not_null()),
    ]);
    let ordered: [(&[u8], i64); 6] = [
        (b"", 9),
        (b"a", 5),
        (b"a\0", -1),
        (b"a\0\0", 0),
        (b"a\x01", -7),
        (b"b", i64::from(i32::MIN)),
    ];
    let encoded: Vec<_> = ordered
        .iter()
        .map(|(s, n)| key(&keys, &[Value::bytes(s), Value::Int(*n)]))
        .collect();
    assert!(encoded.is_sorted());
    assert_eq!(keys.decode_part(&encoded[3], 0), Some(Value::bytes(b"a\0\0")));
    assert_eq!(keys.decode_part(&encoded[4], 1), Some(Value::Int(-7)));
}

#[test]
fn prefixes_count_characters() {
    let ty = SqlType::varchar(10, crate::CollationId::UTF8MB4_BIN).not_null();
    let keys = KeyLayout::new(vec![KeyPart {
        column: 0,
        ty,
        prefix: Some(2),
        descending: false,
    }]);
    assert_eq!(key(&keys, &["éà1".into()]), key(&keys, &["éà2".into()]));
    assert_eq!(
        key(&keys, &["éà1".into()]).cmp(&key(&keys, &["éè".into()])),
        Ordering::Less
    );
}
