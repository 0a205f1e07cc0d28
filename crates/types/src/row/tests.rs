use super::generation::*;
use super::*;
use crate::collation::CollationId;
use crate::samples;
use crate::sql_type::Labels;
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

/// What happens to a table, by numbers that are taken modulo what there is.
#[derive(Debug, Clone)]
enum Step {
    Add(SqlType, Value, usize),
    Drop(usize),
    Move(usize, usize),
    /// A row, whose values are taken from these by column type.
    Insert(u64),
    Update(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (samples::typed_pairs(), any::<usize>()).prop_map(|((ty, value, _), at)| Step::Add(ty, value, at)),
        1 => any::<usize>().prop_map(Step::Drop),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Step::Move(from, to)),
        3 => any::<u64>().prop_map(Step::Insert),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(row, column)| Step::Update(row, column)),
    ];
    prop::collection::vec(step, 1..25)
}

/// A column with the values that rows may have in it.
type Column = (SqlType, Vec<Value>);

fn change_columns(columns: &mut Vec<Column>, rows: &mut [(Vec<u8>, Vec<Value>)], step: &Step) -> Option<ColumnChange> {
    let mut sources: Vec<_> = (0..columns.len() as u16).map(ColumnSource::Stored).collect();
    match step {
        Step::Add(ty, value, at) => {
            let at = at % (columns.len() + 1);
            columns.insert(at, (ty.clone(), vec![value.clone()]));
            sources.insert(at, ColumnSource::added(ty, value));
            rows.iter_mut().for_each(|(_, values)| values.insert(at, value.clone()));
        }
        Step::Drop(at) if columns.len() > 1 => {
            let at = at % columns.len();
            columns.remove(at);
            sources.remove(at);
            rows.iter_mut().for_each(|(_, values)| {
                values.remove(at);
            });
        }
        Step::Move(from, to) => {
            let (from, to) = (from % columns.len(), to % columns.len());
            let column = columns.remove(from);
            columns.insert(to, column);
            let source = sources.remove(from);
            sources.insert(to, source);
            rows.iter_mut().for_each(|(_, values)| {
                let value = values.remove(from);
                values.insert(to, value);
            });
        }
        _ => return None,
    }
    let columns = columns.iter().map(|(ty, _)| ty.clone()).collect();
    Some(ColumnChange { columns, sources })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Rows of all generations have the columns of today.
    #[test]
    fn rows_of_mixed_generations((types, values) in samples::rows(), steps in steps()) {
        let mut generations = Some(Generations::default());
        let mut layout = RowLayout::of_generations(&types, generations.as_ref());
        let mut columns: Vec<Column> = types.iter().cloned().zip(values.iter().map(|value| vec![value.clone()])).collect();
        let mut rows = vec![(encoded(&layout, &values), values)];
        for step in &steps {
            match step {
                Step::Insert(pick) => {
                    let value = |(ty, seen): &Column| match ty.nullable && pick % 3 == 0 {
                        true => Value::Null,
                        false => seen[*pick as usize % seen.len()].clone(),
                    };
                    let values: Vec<Value> = columns.iter().map(value).collect();
                    rows.push((encoded(&layout, &values), values));
                }
                Step::Update(row, column) => {
                    let at = row % rows.len();
                    let column = column % columns.len();
                    let (row, values) = &mut rows[at];
                    values[column] = columns[column].1[0].clone();
                    let mut updated = Vec::new();
                    layout.encode_update(row, &[(column, values[column].clone())], &mut updated);
                    prop_assert_eq!(&updated, &encoded(&layout, values));
                    *row = updated;
                }
                change => {
                    let before: Vec<SqlType> = layout.columns().to_vec();
                    if let Some(change) = change_columns(&mut columns, &mut rows, change) {
                        generations = change.apply(&before, generations.as_ref()).unwrap();
                        let generations = generations.as_ref().unwrap();
                        prop_assert_eq!(generations.check(&change.columns), Ok(()));
                        let text = serde_json::to_vec(generations).unwrap();
                        let read: Generations = serde_json::from_slice(&text).unwrap();
                        prop_assert_eq!(&read, generations);
                        layout = RowLayout::of_generations(&change.columns, Some(&read));
                    }
                }
            }
            for (row, values) in &rows {
                prop_assert_eq!(layout.validate(row), Ok(()));
                prop_assert_eq!(&layout.decode(row), values);
                for (column, value) in values.iter().enumerate() {
                    prop_assert_eq!(layout.is_null(row, column), *value == Value::Null);
                }
            }
        }
    }

    #[test]
    fn damaged_rows_of_mixed_generations(
        (types, values) in samples::rows(),
        steps in steps(),
        flip: prop::sample::Index,
        bit in 0u32..8,
        cut: prop::sample::Index,
    ) {
        let mut generations = Some(Generations::default());
        let mut columns: Vec<Column> = types.iter().cloned().zip(values.iter().map(|value| vec![value.clone()])).collect();
        let mut types = types;
        for step in &steps {
            if let Some(change) = change_columns(&mut columns, &mut [], step) {
                generations = change.apply(&types, generations.as_ref()).unwrap();
                types = change.columns;
            }
        }
        let layout = RowLayout::of_generations(&types, generations.as_ref());
        let values: Vec<Value> = columns.iter().map(|(_, seen)| seen[0].clone()).collect();
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
    fn any_bytes_are_refused_or_readable_as_of_a_generation(
        (types, _) in samples::rows(),
        ((ty, value, _), at) in (samples::typed_pairs(), any::<usize>()),
        row in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut columns = types.iter().map(|ty| (ty.clone(), Vec::new())).collect();
        let change = change_columns(&mut columns, &mut [], &Step::Add(ty, value, at)).unwrap();
        let generations = change.apply(&types, Some(&Generations::default())).unwrap();
        let layout = RowLayout::of_generations(&change.columns, generations.as_ref());
        if layout.validate(&row).is_ok() {
            layout.decode(&row);
        }
    }
}

#[test]
fn a_type_may_grow_where_its_values_keep_their_bytes() {
    let varchar = |n| SqlType::varchar(n, CollationId::DEFAULT);
    let choice = |n: usize| SqlType::enumeration(Labels::new((0..n).map(|i| i.to_string())), CollationId::DEFAULT);
    assert!(reads_as(&varchar(10), &varchar(300)));
    assert!(!reads_as(&varchar(300), &varchar(10)));
    assert!(!reads_as(&varchar(10), &varchar(10).not_null()));
    assert!(!reads_as(&varchar(10), &SqlType::varchar(10, CollationId::UTF8MB4_BIN)));
    assert!(reads_as(&choice(3), &choice(255)));
    // The index takes two bytes from 256 labels on.
    assert!(!reads_as(&choice(255), &choice(256)));
    assert!(!reads_as(&choice(3), &choice(2)));
    assert!(!reads_as(&SqlType::int(), &SqlType::bigint()));
    assert!(!reads_as(&SqlType::decimal(10, 2), &SqlType::decimal(11, 2)));
}

#[test]
fn there_is_an_end_to_generations() {
    let mut generations = Some(Generations::default());
    let mut columns = vec![SqlType::int()];
    for _ in 0..MAX_GENERATIONS {
        let mut sources: Vec<_> = (0..columns.len() as u16).map(ColumnSource::Stored).collect();
        sources.push(ColumnSource::Added(None));
        let before = columns.clone();
        columns.push(SqlType::int());
        let change = ColumnChange {
            columns: columns.clone(),
            sources,
        };
        generations = change.apply(&before, generations.as_ref()).unwrap();
    }
    let layout = RowLayout::of_generations(&columns, generations.as_ref());
    let row = encoded(&layout, &vec![Value::Int(1); columns.len()]);
    assert_eq!(row.last(), Some(&255));
    assert_eq!(layout.validate(&row), Ok(()));
    let change = ColumnChange {
        columns: vec![SqlType::int()],
        sources: vec![ColumnSource::Stored(0)],
    };
    assert!(change.apply(&columns, generations.as_ref()).is_err());
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
