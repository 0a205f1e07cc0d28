//! Transactions that do not fit the rows leave no trace.
//!
//! Random transactions over a few tables, most of which go wrong somewhere (a table that is there already or not at all, a row of
//! another table, an index twice, keys that are too long), are applied to one store; those that were accepted are applied to another. Both
//! must then hold the same.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;
use store::{
    ApplyError, CheckError, Cursor, IndexSpec, KeyColumn, KeyRange, MemoryBudget, MemoryUse, Store, TableSpec,
    WriteOps, WriteSet, Writer,
};
use types::row::generation::{ColumnChange, ColumnSource, Generations};
use types::{IndexId, SqlType, TableId, Timestamp, Value};

/// A step of a transaction; numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Step {
    Create {
        table: u32,
        shape: usize,
        bad: bool,
    },
    Drop {
        table: u32,
    },
    Put {
        table: u32,
        shape: usize,
        id: i64,
        text: usize,
        damage: bool,
    },
    Delete {
        table: u32,
        id: i64,
    },
    Advance {
        table: u32,
        next: u64,
    },
    Index {
        table: u32,
        index: u16,
        column: u16,
    },
    Unindex {
        table: u32,
        index: u16,
    },
    /// Other columns: by the number that says which.
    Columns {
        table: u32,
        change: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let table = 100..103_u32;
    prop_oneof![
        2 => (table.clone(), 0..2_usize, prop::bool::weighted(0.1)).prop_map(|(table, shape, bad)| Step::Create { table, shape, bad }),
        1 => table.clone().prop_map(|table| Step::Drop { table }),
        8 => (table.clone(), prop::sample::select(vec![0, 0, 0, 1]), 0..20_i64, prop::sample::select(vec![0, 1, 5, 300, 17_000]), prop::bool::weighted(0.05))
            .prop_map(|(table, shape, id, text, damage)| Step::Put { table, shape, id, text, damage }),
        2 => (table.clone(), 0..20_i64).prop_map(|(table, id)| Step::Delete { table, id }),
        1 => (table.clone(), 0..1000_u64).prop_map(|(table, next)| Step::Advance { table, next }),
        2 => (table.clone(), 0..4_u16, 0..4_u16).prop_map(|(table, index, column)| Step::Index { table, index, column }),
        2 => (table.clone(), 0..5_usize).prop_map(|(table, change)| Step::Columns { table, change }),
        1 => (table, 0..4_u16).prop_map(|(table, index)| Step::Unindex { table, index }),
    ]
}

fn spec(id: TableId, shape: usize) -> TableSpec {
    let columns = match shape {
        0 => vec![SqlType::bigint().not_null(), SqlType::varbinary(20_000)],
        _ => vec![
            SqlType::bigint().not_null(),
            SqlType::bigint(),
            SqlType::varbinary(20_000),
        ],
    };
    TableSpec {
        generations: (shape == 0).then(Generations::default),
        expiry: None,
        id,
        columns,
        primary: Some(vec![KeyColumn::ascending(0)]),
        indexes: Vec::new(),
    }
}

/// Wider, one more, in another order, one less; and one that never fits.
fn column_change(change: usize) -> ColumnChange {
    let (id, text) = (SqlType::bigint().not_null(), SqlType::varbinary(20_000));
    let added = SqlType::varbinary(10);
    let value = ColumnSource::added(&added, &Value::bytes(b"added"));
    let (columns, sources) = match change {
        0 => (
            vec![id, SqlType::varbinary(30_000)],
            vec![ColumnSource::Stored(0), ColumnSource::Stored(1)],
        ),
        1 => (
            vec![id, text, added],
            vec![ColumnSource::Stored(0), ColumnSource::Stored(1), value],
        ),
        2 => (vec![text, id], vec![ColumnSource::Stored(1), ColumnSource::Stored(0)]),
        3 => (vec![id], vec![ColumnSource::Stored(0)]),
        _ => (vec![id, text], vec![ColumnSource::Stored(0), ColumnSource::Stored(7)]),
    };
    ColumnChange { columns, sources }
}

fn encode(steps: &[Step]) -> WriteSet {
    let mut set = WriteSet::new();
    let key_of = |id: i64| {
        let mut key = Vec::new();
        let layout = spec(TableId(1), 0).primary_layout().unwrap();
        layout.encode_values(&[Value::Int(id)], &mut key);
        key
    };
    for step in steps {
        match *step {
            Step::Create { table, shape, bad } => {
                let mut spec = spec(TableId(table), shape);
                if bad {
                    spec.primary = Some(vec![KeyColumn::ascending(9)]);
                }
                set.create_table(&spec);
            }
            Step::Drop { table } => set.drop_table(TableId(table)),
            Step::Put {
                table,
                shape,
                id,
                text,
                damage,
            } => {
                let text = Value::Bytes(vec![id as u8; text].into());
                let values = match shape {
                    0 => vec![Value::Int(id), text],
                    _ => vec![Value::Int(id), Value::Int(id * 7), text],
                };
                let mut row = Vec::new();
                spec(TableId(table), shape).row_layout().encode(&values, &mut row);
                if damage {
                    row.truncate(row.len() / 2);
                }
                set.put(TableId(table), &key_of(id), &row);
            }
            Step::Delete { table, id } => set.delete(TableId(table), &key_of(id)),
            Step::Advance { table, next } => set.advance_auto_increment(TableId(table), next),
            Step::Index { table, index, column } => set.create_index(
                TableId(table),
                &IndexSpec {
                    id: IndexId(index),
                    key: vec![KeyColumn::ascending(column)],
                    unique: false,
                    text: None,
                },
            ),
            Step::Unindex { table, index } => set.drop_index(TableId(table), IndexId(index)),
            Step::Columns { table, change } => set.change_columns(TableId(table), &column_change(change)),
        }
    }
    set
}

/// Definition, next id and the entries of every index, with their rows, by table.
type Contents = BTreeMap<u32, (TableSpec, u64, Vec<Vec<(Vec<u8>, Vec<u8>)>>)>;

fn contents(store: &Arc<Store>) -> Contents {
    let snapshot = store.snapshot();
    let tables = store.tables().into_iter().map(|table| {
        let indexes = std::iter::once(IndexId::PRIMARY).chain(table.spec().indexes.iter().map(|index| index.id));
        let entries = indexes.map(|index| {
            let mut found = Vec::new();
            let mut cursor = Cursor::forward(KeyRange::all());
            while !cursor.is_finished() {
                table.scan(index, &mut cursor, &snapshot, 100, |entry| {
                    table.row_layout().decode(entry.row());
                    found.push((entry.key().to_vec(), entry.row().to_vec()));
                    ControlFlow::Continue(())
                });
            }
            found
        });
        let held = (table.spec().clone(), table.next_auto_increment(), entries.collect());
        (table.id().0, held)
    });
    tables.collect()
}

fn apply(writer: &mut Writer, ts: u64, set: &WriteSet) -> Result<(), CheckError> {
    let applied = writer.apply(Timestamp(ts), WriteOps::decode(set.as_bytes()).unwrap());
    writer.publish();
    applied
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_does_not_fit_leaves_no_trace(transactions in prop::collection::vec(prop::collection::vec(step(), 1..6), 1..40)) {
        let (tried_store, mut tried) = Store::new(MemoryBudget::new(1 << 30));
        let (clean_store, mut clean) = Store::new(MemoryBudget::new(1 << 30));
        let mut aborted = 0;
        for (at, steps) in transactions.iter().enumerate() {
            let set = encode(steps);
            match apply(&mut tried, at as u64 + 1, &set) {
                Ok(()) => apply(&mut clean, at as u64 + 1, &set).unwrap(),
                Err(CheckError::Unfit(_)) => aborted += 1,
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
        prop_assert_eq!(contents(&tried_store), contents(&clean_store), "{} aborted", aborted);
        for usage in [MemoryUse::Rows, MemoryUse::Indexes] {
            prop_assert_eq!(tried_store.memory().used_by(usage), clean_store.memory().used_by(usage));
        }
    }
}

#[test]
fn a_transaction_is_checked_against_its_own_definitions() {
    let (store, mut writer) = Store::new(MemoryBudget::new(1 << 30));
    let put = |table, shape| Step::Put {
        table,
        shape,
        id: 1,
        text: 3,
        damage: false,
    };
    let create = |table, shape| Step::Create {
        table,
        shape,
        bad: false,
    };
    let fits = encode(&[
        create(100, 0),
        put(100, 0),
        Step::Drop { table: 100 },
        create(100, 1),
        put(100, 1),
    ]);
    apply(&mut writer, 1, &fits).unwrap();
    let dropped = encode(&[Step::Drop { table: 100 }, put(100, 1)]);
    assert_eq!(
        apply(&mut writer, 2, &dropped),
        Err(ApplyError::NoTable(TableId(100)).into())
    );
    let of_another = encode(&[put(100, 1), put(100, 0)]);
    assert!(matches!(
        apply(&mut writer, 2, &of_another),
        Err(CheckError::Unfit(ApplyError::BadRow(..)))
    ));
    assert_eq!(
        apply(&mut writer, 2, &encode(&[create(100, 0)])),
        Err(ApplyError::TableExists(TableId(100)).into())
    );
    // Ids that were burnt of a table that has gone keep nothing from being committed.
    let burnt = encode(&[Step::Advance { table: 102, next: 7 }, put(100, 1)]);
    assert_eq!(apply(&mut writer, 2, &burnt), Ok(()));
    assert_eq!(contents(&store)[&100].2[0].len(), 1);
}

#[test]
fn an_index_over_keys_that_are_too_long_is_not_made() {
    let (store, mut writer) = Store::new(MemoryBudget::new(1 << 30));
    let long = Step::Put {
        table: 100,
        shape: 0,
        id: 1,
        text: 17_000,
        damage: false,
    };
    apply(
        &mut writer,
        1,
        &encode(&[
            Step::Create {
                table: 100,
                shape: 0,
                bad: false,
            },
            long,
        ]),
    )
    .unwrap();
    let index = Step::Index {
        table: 100,
        index: 1,
        column: 1,
    };
    assert_eq!(
        apply(&mut writer, 2, &encode(&[index])),
        Err(ApplyError::TooLong(TableId(100)).into())
    );
    assert!(contents(&store)[&100].0.indexes.is_empty());
}
