use super::*;
use crate::collation::CollationId;
use crate::samples;
use proptest::prelude::*;

fn encoded(layout: &RowLayout, values: &[Value]) -> Vec<u8> {
    let mut row = Vec::new();
    layout.encode(values, &mut row);
    row
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn round_trip((types, values) in samples::rows()) {
        let layout = RowLayout::new(&types);
        let row = encoded(&layout, &values);
        prop_assert_eq!(layout.validate(&row), Ok(()));
        prop_assert_eq!(layout.decode(&row), values);
    }

    #[test]
    fn an_update_is_the_row_of_the_new_values((types, values) in samples::rows(), pick: prop::sample::Index) {
        let layout = RowLayout::new(&types);
        let row = encoded(&layout, &values);
        let column = pick.index(types.len());
        let replacement = if types[column].nullable { Value::Null } else { values[column].clone() };
        let mut expected = values;
        expected[column] = replacement.clone();
        let mut updated = vec![1, 2, 3];
        layout.encode_update(&row, &[(column, replacement)], &mut updated);
        prop_assert_eq!(&updated[3..], encoded(&layout, &expected));
    }

    #[test]
    fn damaged_rows_are_refused_or_readable((types, values) in samples::rows(), flip: prop::sample::Index, bit in 0u32..8, cut: prop::sample::Index) {
        let layout = RowLayout::new(&types);
        let mut row = encoded(&layout, &values);
        let at = flip.index(row.len());
        row[at] ^= 1u8 << bit;
        if layout.validate(&row).is_ok() {
            layout.decode(&row);
        }
        row.truncate(cut.index(row.len()));
        if layout.validate(&row).is_ok() {
            layout.decode(&row);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_readable((types, _) in samples::rows(), row in prop::collection::vec(any::<u8>(), 0..300)) {
        let layout = RowLayout::new(&types);
        if layout.validate(&row).is_ok() {
            layout.decode(&row);
        }
    }
}

#[test]
fn large_strings_widen_the_offsets() {
    let text = SqlType::text(TypeKind::LongText, CollationId::DEFAULT);
    let layout = RowLayout::new(&[text.clone(), SqlType::int(), text]);
    for n in [65_534, 65_535, 65_536, 200_000] {
        let values = [Value::from("x".repeat(n)), Value::Int(7), Value::from("y")];
        let row = encoded(&layout, &values);
        layout.validate(&row).unwrap();
        assert_eq!(layout.decode(&row), values);
    }
}

#[test]
fn a_sysbench_row_has_five_bytes_of_frame() {
    let char = |n| SqlType::char(n, CollationId::DEFAULT).not_null();
    let layout = RowLayout::new(&[
        SqlType::int().not_null(),
        SqlType::int().not_null(),
        char(120),
        char(60),
    ]);
    let values = [
        Value::Int(1),
        Value::Int(2),
        Value::from("c".repeat(120)),
        Value::from("p".repeat(60)),
    ];
    assert_eq!(encoded(&layout, &values).len(), 8 + 120 + 60 + 1 + 4);
}
