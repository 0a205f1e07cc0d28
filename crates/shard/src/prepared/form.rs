//! The rows of prepared transactions (drawn in `docs/formats/prepared.md`).

use std::ops::ControlFlow;
use std::sync::Arc;

use store::{
    Cursor, KeyColumn, KeyRange, LockKey, LockModes, LockTarget, Snapshot, Store, Table, TableSpec, WriteOp, WriteOps,
    WriteSet,
};
use types::{IndexId, SqlType, TableId, TypeKind, Value, ValueRef};

use super::{PREPARED, PREPARED_PARTS};
use crate::bytes::{Bytes, put_bytes, put_u64};
use crate::calls::{decode_key, encode_key};

const VERSION: u8 = 1;

/// Locks and changes are cut into parts of so many bytes: several fit a chunk of the log.
const PART_BYTES: usize = 64 << 10;

/// Names are read in pieces of this size.
const NAMES_AT_ONCE: usize = 256;

/// Rows that say something else than this version writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a prepared transaction cannot be read: {0}")]
pub struct Unreadable(&'static str);

/// How a transaction is called: two parts of at most 64 bytes, which no other one has, and a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedName {
    pub format: u64,
    pub global: Vec<u8>,
    pub branch: Vec<u8>,
    key: Vec<u8>,
}

impl PreparedName {
    pub fn new(global: &[u8], branch: &[u8], format: u64) -> PreparedName {
        PreparedName {
            format,
            global: global.to_vec(),
            branch: branch.to_vec(),
            key: key_of(PREPARED, &[Value::bytes(&joined(global, branch))]),
        }
    }

    /// The key of its row. The number is no part of it.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The names of all prepared transactions that can be seen now, in the order of their keys.
    pub fn all(store: &Store) -> Result<Vec<PreparedName>, Unreadable> {
        let Some(table) = store.table(PREPARED) else {
            return Ok(Vec::new());
        };
        let snapshot = store.snapshot();
        let mut names = Ok(Vec::new());
        let mut cursor = Cursor::forward(KeyRange::all());
        while !cursor.is_finished() && names.is_ok() {
            table.scan(IndexId::PRIMARY, &mut cursor, &snapshot, NAMES_AT_ONCE, |entry| {
                match (Head::of(&table, entry.row()), &mut names) {
                    (Ok(head), Ok(names)) => names.push(head.name),
                    (Err(error), names) => *names = Err(error),
                    (Ok(_), Err(_)) => {}
                }
                match names.is_ok() {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
        }
        names
    }
}

/// Both parts of a name in one: the first has its length before it.
fn joined(global: &[u8], branch: &[u8]) -> Vec<u8> {
    let length = u8::try_from(global.len()).expect("a part of a name has at most 64 bytes");
    [&[length], global, branch].concat()
}

/// What is kept of a prepared transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedTransaction {
    pub name: PreparedName,
    /// What the store grows by when it commits.
    pub growth: u64,
    locks: Vec<u8>,
    writes: Vec<u8>,
}

impl PreparedTransaction {
    /// `writes`: a write set without definitions.
    pub fn new(name: PreparedName, growth: u64, writes: Vec<u8>) -> PreparedTransaction {
        PreparedTransaction {
            name,
            growth,
            locks: Vec::new(),
            writes,
        }
    }

    /// It holds this lock until it ends.
    pub fn add_lock(&mut self, target: &LockTarget, modes: LockModes) {
        self.add_encoded_lock(&encode_key(target.key()), modes);
    }

    /// As [`add_lock`](Self::add_lock), of one that another node has given. Names are left out: what is done under them is over.
    pub(crate) fn add_encoded_lock(&mut self, key: &[u8], modes: LockModes) {
        let modes = match decode_key(key) {
            Some(LockKey::Name(_)) | None => return,
            Some(LockKey::Definition(_)) => modes.intentions(),
            Some(LockKey::Table(_) | LockKey::Key(..)) => Some(modes),
        };
        if let Some(modes) = modes {
            self.locks.push(modes.to_byte());
            put_bytes(&mut self.locks, key);
        }
    }

    /// What it holds.
    pub fn locks(&self) -> impl Iterator<Item = Result<(LockKey<'_>, LockModes), Unreadable>> {
        let mut left = Bytes::new(&self.locks);
        std::iter::from_fn(move || {
            if left.is_empty() {
                return None;
            }
            governor::pause();
            let lock = left.u8().and_then(LockModes::from_byte).and_then(|modes| {
                let key = decode_key(left.bytes()?)?;
                Some((key, modes))
            });
            if lock.is_none() {
                left = Bytes::new(&[]);
            }
            Some(lock.ok_or(Unreadable("what it has locked")))
        })
    }

    /// The write set that makes its rows: that is how it is prepared.
    pub fn prepare(&self) -> WriteSet {
        let mut set = WriteSet::with_capacity(self.locks.len() + self.writes.len() + 4096);
        for (number, part) in (0..).zip(self.locks.chunks(PART_BYTES).chain(self.writes.chunks(PART_BYTES))) {
            let values = [
                Value::bytes(&joined(&self.name.global, &self.name.branch)),
                Value::UInt(number),
                Value::bytes(part),
            ];
            put(&mut set, PREPARED_PARTS, &values, 2);
        }
        let values = [
            Value::bytes(&joined(&self.name.global, &self.name.branch)),
            Value::bytes(&self.head()),
        ];
        put(&mut set, PREPARED, &values, 1);
        set
    }

    /// The write set that takes its rows away, without what it would change.
    pub fn roll_back(&self) -> WriteSet {
        let mut set = WriteSet::new();
        let joined = joined(&self.name.global, &self.name.branch);
        for number in 0..parts(self.locks.len()) + parts(self.writes.len()) {
            let key = key_of(PREPARED_PARTS, &[Value::bytes(&joined), Value::UInt(number)]);
            set.delete(PREPARED_PARTS, &key);
        }
        set.delete(PREPARED, self.name.key());
        set
    }

    /// The write set that takes its rows away, and makes its changes.
    pub fn commit(&self) -> Result<WriteSet, Unreadable> {
        let mut set = WriteSet::with_capacity(self.writes.len() + 4096);
        set.append(self.roll_back().as_bytes())
            .expect("it was encoded a moment ago");
        set.append(&self.writes)
            .map_err(|_| Unreadable("what it would change"))?;
        Ok(set)
    }

    /// The hidden row ids of what it would insert are nobody else's: what is next follows from the rows, and these are not among them yet.
    pub(crate) fn keep_row_ids(&self, store: &Store) {
        let mut last: Option<Arc<Table>> = None;
        for op in WriteOps::decode(&self.writes).into_iter().flatten().flatten() {
            governor::pause();
            let WriteOp::Put { table, key, .. } = op else { continue };
            if last.as_ref().is_none_or(|last| last.id() != table) {
                last = store.table(table);
            }
            if let Some(table) = &last
                && table.spec().primary.is_none()
                && let Ok(id) = key.try_into()
            {
                table.raise_row_ids(u64::from_be_bytes(id).saturating_add(1));
            }
        }
    }

    fn head(&self) -> Vec<u8> {
        let mut head = vec![VERSION];
        put_u64(&mut head, self.name.format);
        put_u64(&mut head, self.growth);
        put_u64(&mut head, self.locks.len() as u64);
        put_u64(&mut head, self.writes.len() as u64);
        head
    }

    /// The one whose row has this key, as it can be seen now. `None`: there is none.
    pub fn read(store: &Store, key: &[u8]) -> Result<Option<PreparedTransaction>, Unreadable> {
        let (Some(table), Some(parts)) = (store.table(PREPARED), store.table(PREPARED_PARTS)) else {
            return Ok(None);
        };
        let snapshot = store.snapshot();
        let Some(head) = table.get(key, &snapshot, |row| Head::of(&table, row)) else {
            return Ok(None);
        };
        let head = head?;
        let joined = joined(&head.name.global, &head.name.branch);
        let mut number = 0;
        let mut read = |bytes| read_parts(&parts, &snapshot, &joined, &mut number, bytes);
        let locks = read(head.locks)?;
        let writes = read(head.writes)?;
        WriteOps::check(&writes).map_err(|_| Unreadable("what it would change"))?;
        Ok(Some(PreparedTransaction {
            name: head.name,
            growth: head.growth,
            locks,
            writes,
        }))
    }
}

/// As many parts as that many bytes take.
fn parts(bytes: usize) -> u64 {
    bytes.div_ceil(PART_BYTES) as u64
}

/// The next parts, which have so many bytes.
fn read_parts(
    table: &Table,
    snapshot: &Snapshot,
    joined: &[u8],
    number: &mut u64,
    bytes: u64,
) -> Result<Vec<u8>, Unreadable> {
    let mut read = Vec::new();
    while (read.len() as u64) < bytes {
        governor::pause();
        let key = key_of(PREPARED_PARTS, &[Value::bytes(joined), Value::UInt(*number)]);
        let before = read.len();
        table.get(&key, snapshot, |row| {
            if let ValueRef::Bytes(part) = table.row_layout().column(row, 2) {
                read.extend_from_slice(part);
            }
        });
        if read.len() == before {
            return Err(Unreadable("a part of it is missing"));
        }
        *number += 1;
    }
    match read.len() as u64 == bytes {
        true => Ok(read),
        false => Err(Unreadable("its parts are longer than it is")),
    }
}

/// What its row says.
struct Head {
    name: PreparedName,
    growth: u64,
    /// In bytes.
    locks: u64,
    writes: u64,
}

impl Head {
    fn of(table: &Table, row: &[u8]) -> Result<Head, Unreadable> {
        let column = |column| match table.row_layout().column(row, column) {
            ValueRef::Bytes(bytes) => bytes,
            _ => &[],
        };
        let name = || {
            let (&length, rest) = column(0).split_first()?;
            rest.split_at_checked(length.into())
        };
        let (global, branch) = name().ok_or(Unreadable("its name"))?;
        let mut head = Bytes::new(column(1));
        match head.u8() {
            Some(VERSION) => {}
            _ => return Err(Unreadable("a newer version has written it")),
        }
        let mut number = || head.u64().ok_or(Unreadable("it is cut short"));
        let (format, growth, locks, writes) = (number()?, number()?, number()?, number()?);
        Ok(Head {
            name: PreparedName::new(global, branch, format),
            growth,
            locks,
            writes,
        })
    }
}

/// The two tables, as the store knows them: a name, and what is kept under it; the second has a number beside it.
pub fn prepared_specs() -> [TableSpec; 2] {
    [spec_of(PREPARED), spec_of(PREPARED_PARTS)]
}

fn spec_of(table: TableId) -> TableSpec {
    let name = SqlType::varbinary(255).not_null();
    let number = SqlType::integer(TypeKind::BigInt, true).not_null();
    let content = SqlType::blob(TypeKind::LongBlob).not_null();
    let (columns, key) = match table {
        PREPARED => (vec![name, content], vec![KeyColumn::ascending(0)]),
        _ => (
            vec![name, number, content],
            vec![KeyColumn::ascending(0), KeyColumn::ascending(1)],
        ),
    };
    TableSpec {
        generations: None,
        expiry: None,
        id: table,
        columns,
        primary: Some(key),
        indexes: Vec::new(),
    }
}

fn key_of(table: TableId, values: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    let layout = spec_of(table).primary_layout().expect("both tables have a key");
    layout.encode_values(values, &mut key);
    key
}

/// The first `keyed` values are the row's key.
fn put(set: &mut WriteSet, table: TableId, values: &[Value], keyed: usize) {
    governor::pause();
    let key = key_of(table, &values[..keyed]);
    let mut row = Vec::new();
    spec_of(table).row_layout().encode(values, &mut row);
    set.put(table, &key, &row);
}
