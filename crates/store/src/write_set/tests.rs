use super::*;
use crate::spec::KeyColumn;
use proptest::prelude::*;
use types::row::generation::ColumnSource;
use types::{CollationId, Expiry, SqlType};

/// An operation that owns its bytes.
#[derive(Debug, Clone)]
enum Owned {
    Put(u32, Vec<u8>, Vec<u8>),
    Delete(u32, Vec<u8>),
    Other(WriteOp<'static>),
}

impl Owned {
    fn op(&self) -> WriteOp<'_> {
        match self {
            Owned::Put(table, key, row) => WriteOp::Put {
                table: TableId(*table),
                key,
                row,
            },
            Owned::Delete(table, key) => WriteOp::Delete {
                table: TableId(*table),
                key,
            },
            Owned::Other(op) => op.clone(),
        }
    }
}

fn index() -> impl Strategy<Value = IndexSpec> {
    let column = (0u16..3, prop::option::of(1u32..100), any::<bool>());
    let column = column.prop_map(|(column, prefix, descending)| KeyColumn {
        column,
        prefix,
        descending,
        elements: None,
    });
    (1u16..9, prop::collection::vec(column, 1..4), any::<bool>()).prop_map(|(id, key, unique)| IndexSpec {
        id: IndexId(id),
        key,
        unique,
        text: None,
    })
}

fn spec() -> impl Strategy<Value = TableSpec> {
    (any::<u32>(), prop::option::of(0u16..3), prop::option::of(index())).prop_map(|(id, primary, index)| TableSpec {
        generations: None,
        expiry: None,
        id: TableId(id),
        columns: vec![
            SqlType::int(),
            SqlType::varchar(20, CollationId::DEFAULT),
            SqlType::decimal(10, 2),
        ],
        primary: primary.map(|column| vec![KeyColumn::ascending(column)]),
        indexes: index.into_iter().collect(),
    })
}

fn op() -> impl Strategy<Value = Owned> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..200);
    let table = || any::<u32>().prop_map(TableId);
    prop_oneof![
        4 => (any::<u32>(), bytes(), bytes()).prop_map(|(table, key, row)| Owned::Put(table, key, row)),
        2 => (any::<u32>(), bytes()).prop_map(|(table, key)| Owned::Delete(table, key)),
        1 => (table(), any::<u64>())
            .prop_map(|(table, next)| Owned::Other(WriteOp::AdvanceAutoIncrement { table, next })),
        1 => (table(), any::<u64>())
            .prop_map(|(table, next)| Owned::Other(WriteOp::SetAutoIncrement { table, next })),
        1 => spec().prop_map(|spec| Owned::Other(WriteOp::CreateTable(Box::new(spec)))),
        1 => table().prop_map(|table| Owned::Other(WriteOp::DropTable { table })),
        1 => (table(), index())
            .prop_map(|(table, index)| Owned::Other(WriteOp::CreateIndex { table, index: Box::new(index) })),
        1 => (table(), prop::option::of(prop::collection::vec(any::<u8>(), 4))).prop_map(|(table, value)| {
            let change = ColumnChange {
                columns: vec![SqlType::int(), SqlType::int()],
                sources: vec![ColumnSource::Stored(1), ColumnSource::Added(value)],
            };
            Owned::Other(WriteOp::ChangeColumns { table, change: Box::new(change) })
        }),
        1 => (table(), prop::option::of((any::<u16>(), any::<u64>(), any::<u64>()))).prop_map(|(table, rule)| {
            let expiry = rule.map(|(column, months, micros)| Expiry { column, months, micros });
            Owned::Other(WriteOp::SetExpiry { table, expiry })
        }),
        1 => (table(), 1u16..9)
            .prop_map(|(table, index)| Owned::Other(WriteOp::DropIndex { table, index: IndexId(index) })),
    ]
}

fn encode(ops: &[Owned]) -> Vec<u8> {
    let mut set = WriteSet::new();
    ops.iter().for_each(|op| set.push(&op.op()));
    set.into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 500 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(ops in prop::collection::vec(op(), 0..20)) {
        let bytes = encode(&ops);
        prop_assert_eq!(WriteOps::decode_all(&bytes).unwrap(), ops.iter().map(Owned::op).collect::<Vec<_>>());
    }

    #[test]
    fn every_cut_is_an_error_or_a_shorter_set(ops in prop::collection::vec(op(), 1..6), at in any::<prop::sample::Index>()) {
        let bytes = encode(&ops);
        let cut = at.index(bytes.len());
        match WriteOps::decode_all(&bytes[..cut]) {
            Ok(shorter) => prop_assert!(shorter.len() < ops.len()),
            Err(WriteSetError::Malformed { at, .. }) => prop_assert!(at <= cut),
            Err(other) => prop_assert!(false, "{other:?}"),
        }
    }

    /// Whatever comes from the log: an error, or operations that would be written the same way.
    #[test]
    fn damaged_bytes_never_panic(
        ops in prop::collection::vec(op(), 0..6),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = encode(&ops);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(read) = WriteOps::decode_all(&bytes)
            && !read.iter().any(|op| matches!(op, WriteOp::CreateTable(_) | WriteOp::CreateIndex { .. } | WriteOp::ChangeColumns { .. } | WriteOp::SetExpiry { .. }))
        {
            let mut again = WriteSet::new();
            read.iter().for_each(|op| again.push(op));
            prop_assert_eq!(again.as_bytes(), &bytes[..]);
        }
    }
}

#[test]
fn another_version_is_refused() {
    assert_eq!(WriteOps::decode_all(&[2, 5, 1]), Err(WriteSetError::Version(2)));
    assert!(WriteOps::decode_all(&[]).is_err());
}

#[test]
fn numbers_have_one_form() {
    assert!(
        WriteOps::decode_all(&[1, DROP_TABLE, 0x81, 0x00]).is_err(),
        "1 with a leading zero"
    );
    assert!(
        WriteOps::decode_all(&[1, DROP_TABLE, 0xff, 0xff, 0xff, 0xff, 0x1f]).is_err(),
        "33 bits"
    );
}

/// The format is a promise: what version 1 wrote stays readable.
#[test]
fn version_1_is_as_documented() {
    let mut set = WriteSet::new();
    set.put(TableId(300), b"key", b"row!");
    set.delete(TableId(5), b"k");
    set.advance_auto_increment(TableId(5), 1000);
    set.drop_table(TableId(6));
    set.drop_index(TableId(7), IndexId(2));
    set.set_auto_increment(TableId(8), 1000);
    let expected = b"\x01\x01\xac\x02\x03key\x04row!\x02\x05\x01k\x03\x05\xe8\x07\x05\x06\x07\x07\x02\x09\x08\xe8\x07";
    assert_eq!(set.as_bytes(), expected);
}

const UNCUT: Uncut = Uncut {
    whole: Some(TableId(9)),
    at_end: Some(TableId(8)),
};

/// The ids of the rows in each chunk; `None`: it stays whole.
fn cut(set: &WriteSet, largest: usize, rows: usize) -> Option<Vec<Vec<u8>>> {
    let size = |rows| ChunkSize { bytes: 1000, rows };
    let cut = WriteOps::cut(set.as_bytes(), size(largest), size(rows), UNCUT).unwrap()?;
    let chunks = cut.chunks.iter().map(|range| {
        let chunk = WriteSet::of_chunk(set.as_bytes(), range.clone());
        let ops = WriteOps::decode_all(chunk.as_bytes()).unwrap();
        let ids = ops.iter().map(|op| match op {
            WriteOp::Put { key, .. } | WriteOp::Delete { key, .. } => key[0],
            other => panic!("{other:?} in a chunk"),
        });
        ids.collect()
    });
    let mut rest = WriteSet::new();
    rest.advance_auto_increment(TableId(1), 7);
    assert_eq!(cut.rest, rest.as_bytes());
    Some(chunks.collect())
}

#[test]
fn a_large_write_set_is_cut_between_rows() {
    let mut set = WriteSet::new();
    for id in 1..=5 {
        set.put(TableId(1), &[id], b"row");
    }
    set.delete(TableId(2), &[1]);
    set.delete(TableId(2), &[2]);
    set.advance_auto_increment(TableId(1), 7);
    assert_eq!(cut(&set, 7, 2), None, "not larger than that");
    assert_eq!(
        cut(&set, 6, 2).unwrap(),
        [vec![1, 2], vec![3, 4], vec![5], vec![1, 2]],
        "a chunk has rows of one table"
    );
    // What others look at, and what defines tables, is never cut.
    let mut observed = set.clone();
    observed.put(TableId(9), &[1], b"row");
    assert_eq!(cut(&observed, 6, 2), None);
    let mut defining = set.clone();
    defining.drop_table(TableId(3));
    assert_eq!(cut(&defining, 6, 2), None);
    // Rows out of order go on in another chunk.
    let mut mixed = WriteSet::new();
    for id in [1, 2, 4, 3] {
        mixed.put(TableId(1), &[id], b"row");
    }
    mixed.advance_auto_increment(TableId(1), 7);
    assert_eq!(cut(&mixed, 1, 10).unwrap(), [vec![1, 2, 4], vec![3]]);
}

#[test]
fn chunks_have_a_limit_in_bytes() {
    let mut set = WriteSet::new();
    let sizes = [400, 400, 400, 2000, 10];
    for (id, bytes) in (1..).zip(sizes) {
        set.put(TableId(1), &[id], &vec![0; bytes]);
    }
    set.advance_auto_increment(TableId(1), 7);
    assert_eq!(cut(&set, 100, 100).unwrap(), [vec![1, 2], vec![3], vec![4], vec![5]]);
}

#[test]
fn cutting_finds_what_cannot_be_read() {
    let size = ChunkSize { bytes: 10, rows: 1 };
    let malformed = WriteOps::cut(b"\x01\xff", size, size, Uncut::default());
    assert!(matches!(malformed, Err(WriteSetError::Malformed { .. })));
}
