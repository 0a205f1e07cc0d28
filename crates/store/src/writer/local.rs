//! The tables of one session, which no log knows.
//!
//! A store like a shard's, with versions and indexes, so that the same code reads and plans both; but the session itself changes it, at
//! once, and nobody else ever looks at it. It is gone with the session.

use super::{ApplyError, Writer};
use crate::spec::TableSpec;
use crate::store::Store;
use crate::table::Table;
use crate::write_set::WriteOp;
use std::sync::Arc;
use types::TableId;

/// A session's own tables.
pub struct LocalStore {
    writer: Writer,
}

impl LocalStore {
    /// Under the budget of the node's store.
    pub fn new(node: &Store) -> LocalStore {
        let (_, writer) = node.for_session();
        LocalStore { writer }
    }

    pub fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.writer.store.table(id)
    }

    /// Of all tables.
    pub fn estimated_rows(&self) -> u64 {
        let tables = self.writer.store.tables();
        tables.iter().map(|table| table.estimated_rows()).sum()
    }

    pub fn create(&mut self, spec: TableSpec) -> Result<Arc<Table>, ApplyError> {
        let id = spec.id;
        spec.check().map_err(|what| ApplyError::BadTable(id, what))?;
        self.apply(WriteOp::CreateTable(Box::new(spec)))?;
        self.publish();
        self.table(id).ok_or(ApplyError::NoTable(id))
    }

    /// Takes a table away. The caller frees its rows by dropping it, which takes time in proportion to their number.
    pub fn remove(&mut self, id: TableId) -> Option<Arc<Table>> {
        self.writer.take_table(id).ok().flatten()
    }

    /// Puts a row in its place, or removes it; nobody sees that before [`publish`](Self::publish).
    pub fn set(&mut self, table: TableId, key: &[u8], row: Option<&[u8]>) -> Result<(), ApplyError> {
        self.apply(match row {
            Some(row) => WriteOp::Put { table, key, row },
            None => WriteOp::Delete { table, key },
        })
    }

    fn apply(&mut self, op: WriteOp<'_>) -> Result<(), ApplyError> {
        let next = self.writer.store.published().next();
        self.writer.newest = next;
        self.writer.apply_op(next, op)
    }

    /// Shows everything set since the last time.
    pub fn publish(&mut self) {
        self.writer.publish();
    }

    /// See [`Writer::collect`].
    pub fn collect(&mut self, most: usize) -> bool {
        self.writer.collect(most)
    }
}

impl Drop for LocalStore {
    fn drop(&mut self) {
        let ids: Vec<_> = self.writer.tables.keys().copied().collect();
        for id in ids {
            self.remove(id);
        }
    }
}
