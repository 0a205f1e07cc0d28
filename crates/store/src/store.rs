//! The directory of a shard's tables.

use crate::lock::LockTable;
use crate::memory::MemoryBudget;
use crate::snapshot::{Snapshot, Snapshots};
use crate::table::Table;
use crate::writer::Writer;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use types::{TableId, Timestamp};

/// The rows of one shard, for reading. Shared by all sessions.
pub struct Store {
    pub(crate) tables: RwLock<HashMap<TableId, Arc<Table>>>,
    pub(crate) snapshots: Arc<Snapshots>,
    memory: Arc<MemoryBudget>,
    locks: Arc<LockTable>,
}

impl Store {
    /// An empty store and the one handle that changes it.
    pub fn new(memory: Arc<MemoryBudget>) -> (Arc<Store>, Writer) {
        let store = Arc::new(Store {
            tables: RwLock::default(),
            snapshots: Snapshots::new(),
            locks: LockTable::new(Arc::clone(&memory)),
            memory,
        });
        let writer = Writer::new(Arc::clone(&store));
        (store, writer)
    }

    /// The table as it is now. Keep the handle for a statement; after a DDL on the table, ask again.
    pub fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.tables.read().get(&id).cloned()
    }

    /// All tables, by id.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let mut tables: Vec<_> = self.tables.read().values().cloned().collect();
        tables.sort_by_key(|table| table.id());
        tables
    }

    /// The newest timestamp whose changes are all visible.
    pub fn published(&self) -> Timestamp {
        self.snapshots.published()
    }

    /// A snapshot of the newest published state. While it lives, reads at its timestamp find what was there.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshots.take()
    }

    pub fn memory(&self) -> &Arc<MemoryBudget> {
        &self.memory
    }

    /// The locks of running transactions; meaningful on the shard's leader only.
    pub fn locks(&self) -> &Arc<LockTable> {
        &self.locks
    }
}
