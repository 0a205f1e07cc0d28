//! Loading a table from a checkpoint: its rows come in key order, so the trees are built from the leaves up.

#![allow(unsafe_code)]

use crate::btree::{TreeKind, build, free_record};
use crate::keys::IndexKeys;
use crate::memory::allocated;
use crate::record::{MAX_KEY_BYTES, MAX_ROW_BYTES, RecordPtr, Stamp, VersionPtr, record_bytes, version_bytes};
use crate::spec::TableSpec;
use crate::store::Store;
use crate::table::{Counters, Index, Shape, Table};
use std::sync::Arc;
use types::EntryKeys;
use types::row::CorruptRow;
use types::{IndexId, TableId, Timestamp};

/// The rows are not those of a checkpoint of such a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error("checkpoint: keys of table {0} out of order")]
    OutOfOrder(TableId),
    #[error("checkpoint: key or row of table {0} too long")]
    TooLong(TableId),
    #[error("checkpoint: table {0}: {1}")]
    BadRow(TableId, CorruptRow),
}

/// Builds a table from its rows in key order, much faster than by applying writes. Pieces of a table may be built in parallel.
pub struct TableLoader {
    plan: Arc<Plan>,
    store: Arc<Store>,
    next_auto_increment: u64,
}

/// What all pieces of a table have to know.
struct Plan {
    shape: Shape,
    indexes: Vec<(IndexId, IndexKeys)>,
    ts: Timestamp,
}

/// The rows of one contiguous part of the key space.
pub struct TablePiece {
    plan: Arc<Plan>,
    rows: Vec<RecordPtr>,
    /// For each index.
    entries: Vec<Vec<RecordPtr>>,
    is_sealed: bool,
    row_bytes: usize,
    key_bytes: usize,
    /// For each index.
    index_bytes: Vec<usize>,
    keys: EntryKeys,
}

/// A complete table, for [`Writer::install`](super::Writer::install).
pub struct LoadedTable {
    pub(super) table: Table,
    pub(super) row_bytes: i64,
    pub(super) key_bytes: i64,
    /// For each index.
    pub(super) index_bytes: Vec<i64>,
}

impl TableLoader {
    /// `ts`: the checkpoint's timestamp, at which all rows become visible.
    pub fn new(store: &Arc<Store>, spec: TableSpec, ts: Timestamp, next_auto_increment: u64) -> TableLoader {
        let indexes = spec
            .indexes
            .iter()
            .map(|index| (index.id, spec.index_keys(index)))
            .collect();
        let plan = Arc::new(Plan {
            shape: Shape::new(spec),
            indexes,
            ts,
        });
        TableLoader {
            plan,
            store: Arc::clone(store),
            next_auto_increment,
        }
    }

    /// Starts a piece; pieces are independent of each other and may be filled on any thread.
    pub fn piece(&self) -> TablePiece {
        TablePiece {
            rows: Vec::new(),
            entries: self.plan.indexes.iter().map(|_| Vec::new()).collect(),
            is_sealed: false,
            row_bytes: 0,
            key_bytes: 0,
            index_bytes: vec![0; self.plan.indexes.len()],
            keys: EntryKeys::default(),
            plan: Arc::clone(&self.plan),
        }
    }

    /// Puts the pieces, in key order, together.
    pub fn finish(self, mut pieces: Vec<TablePiece>) -> Result<LoadedTable, LoadError> {
        let id = self.plan.shape.spec.id;
        // SAFETY: the pieces own their records.
        let key = |record: &RecordPtr| unsafe { record.get() }.key();
        let filled: Vec<_> = pieces.iter().filter(|piece| !piece.rows.is_empty()).collect();
        for neighbours in filled.windows(2) {
            if neighbours[0].rows.last().map(key) >= neighbours[1].rows.first().map(key) {
                return Err(LoadError::OutOfOrder(id));
            }
        }
        pieces.iter_mut().for_each(TablePiece::seal);
        let row_bytes = pieces.iter().map(|piece| piece.row_bytes).sum::<usize>();
        let mut key_bytes = pieces.iter().map(|piece| piece.key_bytes).sum::<usize>();

        let rows: Vec<_> = pieces
            .iter_mut()
            .flat_map(|piece| std::mem::take(&mut piece.rows))
            .collect();
        let mut indexes = Vec::new();
        let mut index_bytes = Vec::new();
        for (at, (id, keys)) in self.plan.indexes.iter().enumerate() {
            let mut entries: Vec<_> = pieces
                .iter_mut()
                .flat_map(|piece| std::mem::take(&mut piece.entries[at]))
                .collect();
            if pieces.len() > 1 {
                sort_entries(&mut entries);
            }
            let (tree, bytes) = build(TreeKind::Secondary, &entries);
            let entry_bytes = pieces.iter().map(|piece| piece.index_bytes[at]).sum::<usize>();
            index_bytes.push((entry_bytes + bytes) as i64);
            indexes.push(Arc::new(Index::new(*id, keys.clone(), self.plan.ts, Arc::new(tree))));
        }
        let (primary, bytes) = build(TreeKind::Primary, &rows);
        key_bytes += bytes;

        let table = Table {
            shape: Shape::new(self.plan.shape.spec.clone()),
            created_at: self.plan.ts,
            counters: Arc::new(Counters::new(rows.len() as u64, self.next_auto_increment.max(1))),
            primary: Arc::new(primary),
            indexes,
            snapshots: Arc::clone(&self.store.snapshots),
            readable_until: Table::readable_for_ever(),
            before: None,
        };
        Ok(LoadedTable {
            table,
            row_bytes: row_bytes as i64,
            key_bytes: key_bytes as i64,
            index_bytes,
        })
    }
}

impl TablePiece {
    /// Adds a row; keys strictly ascend.
    pub fn push(&mut self, key: &[u8], row: &[u8]) -> Result<(), LoadError> {
        let id = self.plan.shape.spec.id;
        // SAFETY: the piece owns its records.
        if self.rows.last().is_some_and(|last| unsafe { last.get() }.key() >= key) {
            return Err(LoadError::OutOfOrder(id));
        }
        if key.len() > MAX_KEY_BYTES || row.len() > MAX_ROW_BYTES {
            return Err(LoadError::TooLong(id));
        }
        let layout = &self.plan.shape.rows;
        layout.validate(row).map_err(|corrupt| LoadError::BadRow(id, corrupt))?;
        let record = RecordPtr::new_primary(key, VersionPtr::new(Stamp::at(self.plan.ts), Some(row), None));
        self.rows.push(record);
        self.row_bytes += allocated(version_bytes(row.len()));
        self.key_bytes += allocated(record_bytes(key.len(), false));
        let indexes = self.entries.iter_mut().zip(&mut self.index_bytes);
        for ((_, keys), (entries, bytes)) in self.plan.indexes.iter().zip(indexes) {
            if !keys.fits(layout, row, key) {
                return Err(LoadError::TooLong(id));
            }
            keys.of_row(layout, row, &[], &mut self.keys);
            for own in self.keys.iter() {
                entries.push(RecordPtr::new_entry(own, key, record, Stamp::at(self.plan.ts)));
                *bytes += allocated(record_bytes(own.len() + key.len(), true));
            }
        }
        self.is_sealed = false;
        Ok(())
    }

    /// Sorts the index entries; worth calling on the thread that filled the piece.
    pub fn seal(&mut self) {
        if !std::mem::replace(&mut self.is_sealed, true) {
            self.entries.iter_mut().for_each(|entries| sort_entries(entries));
        }
    }
}

impl Drop for TablePiece {
    fn drop(&mut self) {
        // SAFETY: a piece that was not finished owns its records; a finished one has none.
        unsafe {
            self.entries
                .drain(..)
                .flatten()
                .for_each(|entry| free_record(entry, TreeKind::Secondary));
            self.rows.drain(..).for_each(|row| free_record(row, TreeKind::Primary));
        }
    }
}

// SAFETY: the records belong to the piece alone.
unsafe impl Send for TablePiece {}

/// Sorts records by key; the first bytes of each key are fetched only once. Runs that are sorted already are merged.
pub(super) fn sort_entries(entries: &mut [RecordPtr]) {
    // SAFETY: the caller owns the records.
    let key = |record: &RecordPtr| unsafe { record.get() }.key();
    let mut keyed: Vec<_> = entries
        .iter()
        .map(|record| (crate::btree::prefix_of(key(record)), *record))
        .collect();
    keyed.sort_by(|(a, left), (b, right)| a.cmp(b).then_with(|| key(left).cmp(key(right))));
    entries
        .iter_mut()
        .zip(keyed)
        .for_each(|(entry, (_, record))| *entry = record);
}
