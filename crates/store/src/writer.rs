//! Changing the store: applying committed write sets, publishing them, collecting what nobody needs any more, loading
//! checkpoints.

use crate::spec::TableSpec;
use crate::store::Store;
use crate::table::Table;
use crate::write_set::WriteOp;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{IndexId, TableId, Timestamp};

/// A committed operation that does not fit the store: the log and the store disagree, and the replica must stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    #[error("table {0} does not exist")]
    NoTable(TableId),
    #[error("table {0} exists")]
    TableExists(TableId),
    #[error("index {1} of table {0} does not exist")]
    NoIndex(TableId, IndexId),
    #[error("table {0}: {1}")]
    BadIndex(TableId, &'static str),
    #[error("timestamp {applied} does not follow {newest}")]
    Timestamp { applied: Timestamp, newest: Timestamp },
}

/// The one handle that changes a store; owned by the thread that applies the log.
pub struct Writer {
    store: Arc<Store>,
    newest: Timestamp,
}

impl Writer {
    pub(crate) fn new(store: Arc<Store>) -> Writer {
        Writer { store, newest: Timestamp::ZERO }
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Applies the operations of one transaction at its commit timestamp, which is greater than all before. Readers do not see
    /// them before [`publish`](Self::publish). Takes all memory it needs; check before committing.
    pub fn apply<'a>(&mut self, ts: Timestamp, ops: impl IntoIterator<Item = WriteOp<'a>>) -> Result<(), ApplyError> {
        if ts <= self.newest {
            return Err(ApplyError::Timestamp { applied: ts, newest: self.newest });
        }
        self.newest = ts;
        for op in ops {
            self.apply_op(ts, op)?;
        }
        Ok(())
    }

    /// Makes everything applied so far visible to snapshots taken from now on.
    pub fn publish(&mut self) {
        self.store.snapshots.publish(self.newest);
    }

    /// Starts the clock of an empty store, after a checkpoint was loaded: its rows are as of `ts`.
    pub fn restore_timestamp(&mut self, ts: Timestamp) {
        self.newest = self.newest.max(ts);
        self.publish();
    }

    /// Frees versions and entries that no snapshot needs, at most about `most` of them. Returns whether more is waiting.
    /// Call it after publishing and when there is nothing to apply.
    pub fn collect(&mut self, _most: usize) -> bool {
        false
    }

    /// Adds a table that was loaded from a checkpoint.
    pub fn install(&mut self, loaded: LoadedTable) -> Result<(), ApplyError> {
        let id = loaded.table.id();
        match self.store.tables.write().insert(id, Arc::new(loaded.table)) {
            None => Ok(()),
            Some(_) => Err(ApplyError::TableExists(id)),
        }
    }

    fn apply_op(&mut self, ts: Timestamp, op: WriteOp<'_>) -> Result<(), ApplyError> {
        let table = |id| self.store.table(id).ok_or(ApplyError::NoTable(id));
        match op {
            WriteOp::Put { table: id, key, row } => {
                table(id)?.data.write().entry(key.to_vec()).or_default().insert(0, (ts, Some(row.to_vec())));
            }
            WriteOp::Delete { table: id, key } => {
                table(id)?.data.write().entry(key.to_vec()).or_default().insert(0, (ts, None));
            }
            WriteOp::AdvanceAutoIncrement { table: id, next } => {
                table(id)?.next_auto_increment.fetch_max(next, Ordering::Relaxed);
            }
            WriteOp::CreateTable(spec) => {
                let id = spec.id;
                if self.store.tables.write().insert(id, Arc::new(Table::new(*spec, ts))).is_some() {
                    return Err(ApplyError::TableExists(id));
                }
            }
            WriteOp::DropTable { table: id } => {
                self.store.tables.write().remove(&id).ok_or(ApplyError::NoTable(id))?;
            }
            WriteOp::CreateIndex { table: id, index } => {
                let old = table(id)?;
                old.spec().check_new_index(&index).map_err(|what| ApplyError::BadIndex(id, what))?;
                let mut spec = old.spec().clone();
                spec.indexes.push(*index);
                self.replace(&old, spec, ts);
            }
            WriteOp::DropIndex { table: id, index } => {
                let old = table(id)?;
                old.spec().index(index).ok_or(ApplyError::NoIndex(id, index))?;
                let mut spec = old.spec().clone();
                spec.indexes.retain(|other| other.id != index);
                self.replace(&old, spec, ts);
            }
        }
        Ok(())
    }

    fn replace(&self, old: &Table, spec: TableSpec, ts: Timestamp) {
        let table = Table::new(spec, ts);
        *table.data.write() = old.data.read().clone();
        table.next_auto_increment.store(old.next_auto_increment(), Ordering::Relaxed);
        self.store.tables.write().insert(old.id(), Arc::new(table));
    }
}

/// Rows of a checkpoint do not come in key order, or not in this table's form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error("checkpoint: keys of table {0} out of order")]
    OutOfOrder(TableId),
}

/// Builds a table from its rows in key order, much faster than by applying writes. Pieces of a table may be built in parallel.
pub struct TableLoader {
    spec: TableSpec,
    ts: Timestamp,
    next_auto_increment: u64,
}

/// The rows of one contiguous part of the key space.
pub struct TablePiece {
    rows: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A complete table, for [`Writer::install`].
pub struct LoadedTable {
    table: Table,
}

impl TableLoader {
    /// `ts`: the checkpoint's timestamp, at which all rows become visible.
    pub fn new(_store: &Store, spec: TableSpec, ts: Timestamp, next_auto_increment: u64) -> TableLoader {
        TableLoader { spec, ts, next_auto_increment }
    }

    /// Starts a piece; pieces are independent of each other and may be filled on any thread.
    pub fn piece(&self) -> TablePiece {
        TablePiece { rows: Vec::new() }
    }

    /// Puts the pieces, in key order, together and derives the secondary indexes.
    pub fn finish(self, pieces: Vec<TablePiece>) -> Result<LoadedTable, LoadError> {
        let table = Table::new(self.spec, self.ts);
        table.next_auto_increment.store(self.next_auto_increment, Ordering::Relaxed);
        let mut data = table.data.write();
        for (key, row) in pieces.into_iter().flat_map(|piece| piece.rows) {
            if data.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return Err(LoadError::OutOfOrder(table.id()));
            }
            data.insert(key, vec![(self.ts, Some(row))]);
        }
        drop(data);
        Ok(LoadedTable { table })
    }
}

impl TablePiece {
    /// Adds a row; keys strictly ascend.
    pub fn push(&mut self, key: &[u8], row: &[u8]) {
        self.rows.push((key.to_vec(), row.to_vec()));
    }
}
