//! The directory of a shard's tables.

use crate::lock::LockTable;
use crate::memory::{MemoryBudget, MemoryUse};
use crate::past::Past;
use crate::prepared::Prepared;
use crate::snapshot::{Snapshot, Snapshots, TooOld};
use crate::table::Table;
use crate::writer::{Compactions, Writer};
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use types::{IndexId, TableId, Timestamp};

/// The rows of one shard, for reading. Shared by all sessions.
pub struct Store {
    pub(crate) tables: RwLock<HashMap<TableId, Arc<Table>>>,
    pub(crate) snapshots: Arc<Snapshots>,
    memory: Arc<MemoryBudget>,
    /// What the rows and the indexes are charged as.
    pub(crate) charges: (MemoryUse, MemoryUse),
    locks: Arc<LockTable>,
    /// Indexes that wait for the entry of the log that adds them.
    pub(crate) prepared: Mutex<HashMap<(TableId, IndexId), Prepared>>,
    pub(crate) compactions: Compactions,
    past: Arc<Past>,
}

impl Store {
    /// An empty store and the one handle that changes it.
    pub fn new(memory: Arc<MemoryBudget>) -> (Arc<Store>, Writer) {
        let store = Arc::new(Store {
            tables: RwLock::default(),
            snapshots: Snapshots::new(),
            locks: LockTable::new(Arc::clone(&memory)),
            charges: (MemoryUse::Rows, MemoryUse::Indexes),
            memory,
            prepared: Mutex::default(),
            compactions: Compactions::default(),
            past: Arc::default(),
        });
        let writer = Writer::new(Arc::clone(&store));
        (store, writer)
    }

    /// An empty store for one session's own tables, under the same budget.
    pub fn for_session(&self) -> (Arc<Store>, Writer) {
        let store = Arc::new(Store {
            tables: RwLock::default(),
            snapshots: Snapshots::of_one_session(),
            locks: Arc::clone(&self.locks),
            charges: (MemoryUse::Temporary, MemoryUse::Temporary),
            memory: Arc::clone(&self.memory),
            prepared: Mutex::default(),
            compactions: Compactions::default(),
            past: Arc::default(),
        });
        let writer = Writer::new(Arc::clone(&store));
        (store, writer)
    }

    /// The table as it is now. Keep the handle for a statement; after a DDL on the table, ask again.
    pub fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.tables.read().get(&id).cloned()
    }

    /// As [`table`](Self::table), with the columns that a definition of `as_of` says: the newest ones may be known to the store already,
    /// and not yet to whoever asks. `None` where that has been too long ago.
    pub fn table_as_of(&self, id: TableId, as_of: Timestamp) -> Option<Arc<Table>> {
        let table = self.table(id)?;
        match &table.before {
            Some(before) if table.created_at > as_of => (before.created_at <= as_of).then(|| before.clone()),
            _ => Some(table),
        }
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

    /// A snapshot of what was visible at a timestamp, exactly. Of one that is not [`published`](Self::published) yet, wait for that
    /// before reading.
    pub fn snapshot_at(&self, ts: Timestamp) -> Result<Snapshot, TooOld> {
        self.snapshots.take_at(ts)
    }

    /// The oldest timestamp that can be read; the newest one where nothing is kept.
    pub fn oldest_readable(&self) -> Timestamp {
        self.snapshots.oldest().min(self.published())
    }

    pub fn past(&self) -> &Arc<Past> {
        &self.past
    }

    pub fn memory(&self) -> &Arc<MemoryBudget> {
        &self.memory
    }

    pub fn compactions(&self) -> &Compactions {
        &self.compactions
    }

    /// The locks of running transactions; meaningful on the shard's leader only.
    pub fn locks(&self) -> &Arc<LockTable> {
        &self.locks
    }
}
