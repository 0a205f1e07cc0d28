//! The tables of the workloads, and their rows.

use std::ops::ControlFlow;

use store::{Cursor, IndexSpec, KeyColumn, KeyRange, Snapshot, Store, Table, TableSpec, WriteSet};
use types::{IndexId, KeyLayout, RowLayout, SqlType, TableId, Value};

pub const ACCOUNTS: TableId = TableId(17);
pub const LISTS: TableId = TableId(18);
pub const CLAIMS: TableId = TableId(19);
/// Rows that are changed all together.
pub const PAGES: TableId = TableId(20);

/// Unique.
pub const BY_NAME: IndexId = IndexId(1);

pub const ACCOUNT_COUNT: i64 = 6;
pub const LIST_COUNT: i64 = 5;
pub const PAGE_COUNT: i64 = 24;
/// Together they go into the log in chunks.
pub const PAGE_BYTES: usize = 50_000;
pub const BALANCE: i64 = 100;

/// `CREATE TABLE … (id BIGINT PRIMARY KEY, number BIGINT, bytes VARBINARY(60000))`; the index is of `bytes`.
pub struct Rows {
    spec: TableSpec,
    rows: RowLayout,
    keys: KeyLayout,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub id: i64,
    pub number: i64,
    pub bytes: Vec<u8>,
}

impl Rows {
    pub fn of(table: TableId) -> Rows {
        let columns = vec![
            SqlType::bigint().not_null(),
            SqlType::bigint(),
            SqlType::varbinary(if table == CLAIMS { 100 } else { 60_000 }),
        ];
        let by_name = IndexSpec {
            id: BY_NAME,
            key: vec![KeyColumn::ascending(2)],
            unique: true,
            text: None,
        };
        let spec = TableSpec {
            generations: None,
            expiry: None,
            id: table,
            columns,
            primary: Some(vec![KeyColumn::ascending(0)]),
            indexes: if table == CLAIMS { vec![by_name] } else { Vec::new() },
        };
        Rows {
            rows: spec.row_layout(),
            keys: spec.primary_layout().expect("it has a primary key"),
            spec,
        }
    }

    pub fn key(&self, id: i64) -> Vec<u8> {
        let mut key = Vec::new();
        self.keys.encode_values(&[Value::Int(id)], &mut key);
        key
    }

    pub fn encode(&self, row: &Row) -> Vec<u8> {
        let values = [
            Value::Int(row.id),
            Value::Int(row.number),
            Value::Bytes(row.bytes.as_slice().into()),
        ];
        let mut bytes = Vec::new();
        self.rows.encode(&values, &mut bytes);
        bytes
    }

    pub fn decode(&self, bytes: &[u8]) -> Row {
        let number = |column| match self.rows.column(bytes, column).to_value() {
            Value::Int(number) => number,
            other => panic!("{other:?} where a number belongs"),
        };
        Row {
            id: number(0),
            number: number(1),
            bytes: match self.rows.column(bytes, 2).to_value() {
                Value::Bytes(bytes) => bytes.to_vec(),
                other => panic!("{other:?} where bytes belong"),
            },
        }
    }

    /// Adds the table and its first rows.
    fn create(&self, writes: &mut WriteSet, count: i64, number: i64) {
        writes.create_table(&self.spec);
        for id in 0..count {
            let row = Row {
                id,
                number,
                bytes: Vec::new(),
            };
            writes.put(self.spec.id, &self.key(id), &self.encode(&row));
        }
    }

    /// All rows of an index, in its order.
    pub fn all(&self, table: &Table, index: IndexId, snapshot: &Snapshot) -> Vec<Row> {
        let mut found = Vec::new();
        let mut cursor = Cursor::forward(KeyRange::all());
        while !cursor.is_finished() {
            table.scan(index, &mut cursor, snapshot, 1000, |entry| {
                found.push(self.decode(entry.row()));
                ControlFlow::Continue(())
            });
        }
        found
    }
}

/// Makes all tables, in one transaction.
pub fn found() -> Vec<u8> {
    let mut writes = WriteSet::new();
    Rows::of(ACCOUNTS).create(&mut writes, ACCOUNT_COUNT, BALANCE);
    Rows::of(LISTS).create(&mut writes, LIST_COUNT, 0);
    Rows::of(CLAIMS).create(&mut writes, 0, 0);
    Rows::of(PAGES).create(&mut writes, PAGE_COUNT, 0);
    writes.into_bytes()
}

/// All rows of a table as of the newest commit.
pub fn newest(store: &std::sync::Arc<Store>, table: TableId) -> Vec<Row> {
    let snapshot = store.snapshot();
    match store.table(table) {
        Some(handle) => Rows::of(table).all(&handle, IndexId::PRIMARY, &snapshot),
        None => Vec::new(),
    }
}

/// The numbers of a list.
pub fn list_of(bytes: &[u8]) -> Vec<u32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| u32::from_be_bytes(*number)).collect()
}
