//! Temporary tables: a session's own, seen by it alone, gone with it.
//!
//! Here are their names; in the session a name comes before that of a table of the catalog. Their rows are in a store of the session
//! ([`store::LocalStore`], beside its transaction), which is made with the first table. No entry of the catalog and none of the log tells of them. So
//! to make, change or drop one needs no lock, no commit of the session's transaction and no disk, other sessions' plans stay good, and a
//! crash leaves nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::TableId;

use crate::table::Table;

/// So many rows are freed in less than a millisecond.
const FEW_ROWS: u64 = 4096;

/// Frees what holds about so many rows of temporary tables: many of them aside, so that no session waits for it.
pub fn free_rows(rows: u64, unused: impl Send + 'static) {
    match rows <= FEW_ROWS {
        true => drop(unused),
        false => governor::large::drop_elsewhere(unused),
    }
}

/// The temporary tables of a session.
#[derive(Clone, Default)]
pub struct TemporaryTables {
    /// By database and name.
    tables: BTreeMap<(String, String), Arc<Table>>,
    /// How many there have been: no id is given twice, because plans may outlive their tables.
    made: u32,
}

impl TemporaryTables {
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    pub fn get(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        if self.tables.is_empty() {
            return None;
        }
        self.tables.get(&(database.to_owned(), name.to_owned()))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }

    /// An id for a new table.
    pub fn next_id(&mut self) -> TableId {
        self.made = self.made.wrapping_add(1);
        TableId(TableId::FIRST_LOCAL.0 | self.made)
    }

    /// Names a table. Returns the one that had the name before.
    #[must_use = "its rows are to be freed"]
    pub fn put(&mut self, database: &str, name: &str, table: Arc<Table>) -> Option<Arc<Table>> {
        self.tables.insert((database.to_owned(), name.to_owned()), table)
    }

    /// Takes a table's name away.
    #[must_use = "its rows are to be freed"]
    pub fn remove(&mut self, database: &str, name: &str) -> Option<Arc<Table>> {
        self.tables.remove(&(database.to_owned(), name.to_owned()))
    }

    /// Forgets all names.
    pub fn clear(&mut self) {
        self.tables.clear();
    }
}
