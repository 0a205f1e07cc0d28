//! Write sets: the changes of one transaction as bytes, the way they travel in the log.
//!
//! `docs/formats/write-set.md` draws the format. It is the only input of [`Writer::apply`](crate::Writer::apply), on the leader
//! and on every replica, so decoding is strict: bytes that the encoder would not have written are an error.

use crate::spec::{IndexSpec, TableSpec};
use std::ops::Range;
use types::row::generation::ColumnChange;
use types::{Expiry, IndexId, TableId};

/// One change. Keys and rows are in the encodings of `types`; secondary index keys are derived from the row.
#[derive(Debug, Clone, PartialEq)]
pub enum WriteOp<'a> {
    /// Inserts the row, or replaces the one under the same primary key.
    Put {
        table: TableId,
        key: &'a [u8],
        row: &'a [u8],
    },
    /// Removes the row; nothing happens if there is none.
    Delete {
        table: TableId,
        key: &'a [u8],
    },
    /// The next automatic id is at least `next`; nothing happens if there is no such table.
    AdvanceAutoIncrement {
        table: TableId,
        next: u64,
    },
    /// The next automatic id is `next`, also where it was greater before.
    SetAutoIncrement {
        table: TableId,
        next: u64,
    },
    CreateTable(Box<TableSpec>),
    DropTable {
        table: TableId,
    },
    /// Adds an index and fills it from the rows present.
    CreateIndex {
        table: TableId,
        index: Box<IndexSpec>,
    },
    DropIndex {
        table: TableId,
        index: IndexId,
    },
    /// Other columns over the same rows.
    ChangeColumns {
        table: TableId,
        change: Box<ColumnChange>,
    },
    /// When rows expire; `None`: never. It changes no row.
    SetExpiry {
        table: TableId,
        expiry: Option<Expiry>,
    },
}

/// How much of a write set goes together.
#[derive(Debug, Clone, Copy)]
pub struct ChunkSize {
    pub bytes: usize,
    pub rows: usize,
}

/// What of a large write set is in no chunk, beside its definitions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uncut {
    /// Who changes rows of this table is not cut at all.
    pub whole: Option<TableId>,
    /// Rows of this table come with the end, when all chunks are there.
    pub at_end: Option<TableId>,
}

/// Where a write set can be cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cut {
    /// Changes of rows, for [`WriteSet::of_chunk`]: of one table each, in the order of its keys.
    pub chunks: Vec<Range<usize>>,
    /// Everything else, as a write set.
    pub rest: Vec<u8>,
}

/// Bytes that are not a write set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteSetError {
    #[error("write set version {0} is not known")]
    Version(u8),
    #[error("write set: {what} at byte {at}")]
    Malformed { what: &'static str, at: usize },
}

const VERSION: u8 = 1;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const ADVANCE_AUTO_INCREMENT: u8 = 3;
const CREATE_TABLE: u8 = 4;
const DROP_TABLE: u8 = 5;
const CREATE_INDEX: u8 = 6;
const DROP_INDEX: u8 = 7;
const CHANGE_COLUMNS: u8 = 8;
const SET_AUTO_INCREMENT: u8 = 9;
const SET_EXPIRY: u8 = 10;

/// The shortest change of a row: a kind, a table and the length of a key.
const ROW_OP_BYTES_MIN: usize = 3;

/// An encoded write set under construction, or complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteSet {
    bytes: Vec<u8>,
}

impl Default for WriteSet {
    fn default() -> Self {
        WriteSet::new()
    }
}

impl WriteSet {
    pub fn new() -> WriteSet {
        WriteSet { bytes: vec![VERSION] }
    }

    /// The part of an encoded write set that [`WriteOps::cut`] has found, as a write set.
    pub fn of_chunk(bytes: &[u8], chunk: Range<usize>) -> WriteSet {
        let mut set = WriteSet::with_capacity(chunk.len());
        set.bytes.extend_from_slice(&bytes[chunk]);
        set
    }

    pub fn with_capacity(bytes: usize) -> WriteSet {
        let mut set = WriteSet {
            bytes: Vec::with_capacity(bytes.saturating_add(1)),
        };
        set.bytes.push(VERSION);
        set
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.len() <= 1
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub fn put(&mut self, table: TableId, key: &[u8], row: &[u8]) {
        self.begin(PUT, table);
        self.blob(key);
        self.blob(row);
    }

    pub fn delete(&mut self, table: TableId, key: &[u8]) {
        self.begin(DELETE, table);
        self.blob(key);
    }

    pub fn advance_auto_increment(&mut self, table: TableId, next: u64) {
        self.begin(ADVANCE_AUTO_INCREMENT, table);
        write_varint(&mut self.bytes, next);
    }

    pub fn set_auto_increment(&mut self, table: TableId, next: u64) {
        self.begin(SET_AUTO_INCREMENT, table);
        write_varint(&mut self.bytes, next);
    }

    pub fn create_table(&mut self, spec: &TableSpec) {
        self.begin(CREATE_TABLE, spec.id);
        self.blob(&spec.encode());
    }

    pub fn drop_table(&mut self, table: TableId) {
        self.begin(DROP_TABLE, table);
    }

    pub fn create_index(&mut self, table: TableId, index: &IndexSpec) {
        self.begin(CREATE_INDEX, table);
        self.blob(&index.encode());
    }

    pub fn drop_index(&mut self, table: TableId, index: IndexId) {
        self.begin(DROP_INDEX, table);
        write_varint(&mut self.bytes, u64::from(index.0));
    }

    pub fn change_columns(&mut self, table: TableId, change: &ColumnChange) {
        self.begin(CHANGE_COLUMNS, table);
        let bytes = serde_json::to_vec(change).expect("a change of columns has no map keys that JSON lacks");
        self.blob(&bytes);
    }

    pub fn set_expiry(&mut self, table: TableId, expiry: Option<Expiry>) {
        self.begin(SET_EXPIRY, table);
        let bytes = serde_json::to_vec(&expiry).expect("a rule of expiry has no map keys that JSON lacks");
        self.blob(&bytes);
    }

    /// What another write set does, after what is there.
    pub fn append(&mut self, writes: &[u8]) -> Result<(), WriteSetError> {
        let ops = WriteOps::decode(writes)?;
        self.bytes.extend_from_slice(&writes[ops.at..]);
        Ok(())
    }

    pub fn push(&mut self, op: &WriteOp<'_>) {
        match op {
            WriteOp::Put { table, key, row } => self.put(*table, key, row),
            WriteOp::Delete { table, key } => self.delete(*table, key),
            WriteOp::AdvanceAutoIncrement { table, next } => self.advance_auto_increment(*table, *next),
            WriteOp::SetAutoIncrement { table, next } => self.set_auto_increment(*table, *next),
            WriteOp::CreateTable(spec) => self.create_table(spec),
            WriteOp::DropTable { table } => self.drop_table(*table),
            WriteOp::CreateIndex { table, index } => self.create_index(*table, index),
            WriteOp::DropIndex { table, index } => self.drop_index(*table, *index),
            WriteOp::ChangeColumns { table, change } => self.change_columns(*table, change),
            WriteOp::SetExpiry { table, expiry } => self.set_expiry(*table, *expiry),
        }
    }

    fn begin(&mut self, tag: u8, table: TableId) {
        self.bytes.push(tag);
        write_varint(&mut self.bytes, u64::from(table.0));
    }

    fn blob(&mut self, bytes: &[u8]) {
        write_varint(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }
}

/// The operations of an encoded write set, in order; borrowed from the bytes. Stops after the first error.
#[derive(Debug, Clone)]
pub struct WriteOps<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> WriteOps<'a> {
    /// Checks the header; the operations are checked as they are read.
    pub fn decode(bytes: &'a [u8]) -> Result<WriteOps<'a>, WriteSetError> {
        match bytes.first() {
            Some(&VERSION) => Ok(WriteOps { bytes, at: 1 }),
            Some(&version) => Err(WriteSetError::Version(version)),
            None => Err(WriteSetError::Malformed { what: "empty", at: 0 }),
        }
    }

    /// Whether all of it can be read. Gives way, however long it is.
    pub fn check(bytes: &'a [u8]) -> Result<(), WriteSetError> {
        WriteOps::decode(bytes)?.try_for_each(|op| {
            governor::pause();
            op.map(drop)
        })
    }

    /// Checks as [`check`](Self::check) does, and says where a write set that is larger than `largest` can be cut into chunks. `None`: it is
    /// not larger, or it has changes that must not come in parts.
    pub fn cut(
        bytes: &'a [u8],
        largest: ChunkSize,
        chunk: ChunkSize,
        uncut: Uncut,
    ) -> Result<Option<Cut>, WriteSetError> {
        if bytes.len() <= largest.bytes.min(largest.rows * ROW_OP_BYTES_MIN) {
            return WriteOps::check(bytes).map(|()| None);
        }
        let mut ops = WriteOps::decode(bytes)?;
        let mut cut = Cut::default();
        let mut rest = WriteSet::new();
        let mut can_be_cut = true;
        let (mut rows, mut rows_of_chunk) = (0, 0);
        let mut last: Option<(TableId, &[u8])> = None;
        loop {
            governor::pause();
            let start = ops.at;
            let Some(op) = ops.next() else { break };
            let op = op?;
            match op {
                WriteOp::Put { table, .. } | WriteOp::Delete { table, .. } if Some(table) == uncut.at_end => {
                    rest.push(&op);
                }
                WriteOp::Put { table, key, .. } | WriteOp::Delete { table, key } if Some(table) != uncut.whole => {
                    rows += 1;
                    rows_of_chunk += 1;
                    let follows = last.is_some_and(|(before, last_key)| before == table && last_key < key);
                    last = Some((table, key));
                    match cut.chunks.last_mut() {
                        Some(range)
                            if follows
                                && range.end == start
                                && ops.at - range.start <= chunk.bytes
                                && rows_of_chunk <= chunk.rows =>
                        {
                            range.end = ops.at;
                        }
                        _ => {
                            rows_of_chunk = 1;
                            cut.chunks.push(start..ops.at);
                        }
                    }
                }
                WriteOp::AdvanceAutoIncrement { .. } => rest.push(&op),
                _ => can_be_cut = false,
            }
        }
        cut.rest = rest.into_bytes();
        let is_large = bytes.len() > largest.bytes || rows > largest.rows;
        Ok((is_large && can_be_cut).then_some(cut))
    }

    /// All operations, or the first error.
    pub fn decode_all(bytes: &'a [u8]) -> Result<Vec<WriteOp<'a>>, WriteSetError> {
        WriteOps::decode(bytes)?.collect()
    }

    fn op(&mut self) -> Result<WriteOp<'a>, WriteSetError> {
        let start = self.at;
        let tag = self.byte()?;
        let table = TableId(
            self.varint()?
                .try_into()
                .map_err(|_| self.malformed("table id out of range", start))?,
        );
        Ok(match tag {
            PUT => WriteOp::Put {
                table,
                key: self.blob()?,
                row: self.blob()?,
            },
            DELETE => WriteOp::Delete {
                table,
                key: self.blob()?,
            },
            ADVANCE_AUTO_INCREMENT => WriteOp::AdvanceAutoIncrement {
                table,
                next: self.varint()?,
            },
            SET_AUTO_INCREMENT => WriteOp::SetAutoIncrement {
                table,
                next: self.varint()?,
            },
            CREATE_TABLE => {
                let spec = TableSpec::decode(self.blob()?).map_err(|what| self.malformed(what, start))?;
                if spec.id != table {
                    return Err(self.malformed("table specification of another table", start));
                }
                WriteOp::CreateTable(Box::new(spec))
            }
            DROP_TABLE => WriteOp::DropTable { table },
            CREATE_INDEX => {
                let index = IndexSpec::decode(self.blob()?).map_err(|what| self.malformed(what, start))?;
                WriteOp::CreateIndex {
                    table,
                    index: Box::new(index),
                }
            }
            DROP_INDEX => {
                let index = self
                    .varint()?
                    .try_into()
                    .map_err(|_| self.malformed("index id out of range", start))?;
                WriteOp::DropIndex {
                    table,
                    index: IndexId(index),
                }
            }
            CHANGE_COLUMNS => {
                let change = serde_json::from_slice(self.blob()?);
                let change = change.map_err(|_| self.malformed("unreadable change of columns", start))?;
                WriteOp::ChangeColumns { table, change }
            }
            SET_EXPIRY => {
                let expiry = serde_json::from_slice(self.blob()?);
                let expiry = expiry.map_err(|_| self.malformed("unreadable rule of expiry", start))?;
                WriteOp::SetExpiry { table, expiry }
            }
            _ => return Err(self.malformed("unknown operation", start)),
        })
    }

    fn byte(&mut self) -> Result<u8, WriteSetError> {
        let byte = *self
            .bytes
            .get(self.at)
            .ok_or_else(|| self.malformed("cut short", self.at))?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, WriteSetError> {
        let start = self.at;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                return Err(self.malformed("number out of range", start));
            }
            value |= bits << shift;
            if byte < 0x80 {
                if byte == 0 && shift > 0 {
                    return Err(self.malformed("number not in shortest form", start));
                }
                return Ok(value);
            }
        }
        Err(self.malformed("number too long", start))
    }

    fn blob(&mut self) -> Result<&'a [u8], WriteSetError> {
        let start = self.at;
        let len = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        let rest = &self.bytes[self.at..];
        let blob = rest
            .get(..len)
            .ok_or_else(|| self.malformed("bytes cut short", start))?;
        self.at += len;
        Ok(blob)
    }

    fn malformed(&self, what: &'static str, at: usize) -> WriteSetError {
        WriteSetError::Malformed { what, at }
    }
}

impl<'a> Iterator for WriteOps<'a> {
    type Item = Result<WriteOp<'a>, WriteSetError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let op = self.op();
        if op.is_err() {
            self.at = self.bytes.len();
        }
        Some(op)
    }
}

fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests;
