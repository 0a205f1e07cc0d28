//! Temporary tables: a session's own, seen by it alone, gone with it.
//!
//! A temporary table is a table of the store that no entry of the catalog names. So it needs no lock of the schema and no commit of
//! the session's transaction, other sessions' plans stay good, and what a crash leaves of it is an orphan, which the next start
//! drops. In the session its name comes before that of a table of the catalog.
//!
//! Its rows are dropped when no transaction can change them any more: at once, or when the session's transaction has ended, or,
//! after the session's end, by the next statement of any session.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::TableId;

use crate::engine::Engine;
use crate::table::Table;

/// Ids from here on are of temporary tables; the catalog's do not come so far.
const FIRST_ID: u32 = 1 << 31;

/// The id of the `n`-th temporary table since the node's start.
pub fn temporary_id(n: u32) -> TableId {
    TableId(FIRST_ID | n)
}

pub fn is_temporary(id: TableId) -> bool {
    id.0 >= FIRST_ID
}

/// The temporary tables of a session.
pub struct TemporaryTables {
    engine: Arc<Engine>,
    /// By database and name.
    tables: BTreeMap<(String, String), Arc<Table>>,
    /// Without a name, but perhaps changed by the open transaction.
    nameless: Vec<TableId>,
}

impl TemporaryTables {
    pub fn new(engine: Arc<Engine>) -> TemporaryTables {
        TemporaryTables {
            engine,
            tables: BTreeMap::new(),
            nameless: Vec::new(),
        }
    }

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

    /// Names a table; one that had the name before loses it.
    pub fn put(&mut self, database: &str, name: &str, table: Arc<Table>) {
        if let Some(old) = self.tables.insert((database.to_owned(), name.to_owned()), table) {
            self.nameless.push(old.id());
        }
    }

    /// Takes a table's name away; its rows go with [`TemporaryTables::take_nameless`].
    pub fn remove(&mut self, database: &str, name: &str) {
        let table = self.tables.remove(&(database.to_owned(), name.to_owned()));
        self.nameless.extend(table.map(|table| table.id()));
    }

    /// Gives a table another name.
    pub fn rename(&mut self, database: &str, from: &str, to: &str) {
        if let Some(table) = self.tables.remove(&(database.to_owned(), from.to_owned())) {
            self.put(database, to, table);
        }
    }

    pub fn has_nameless(&self) -> bool {
        !self.nameless.is_empty()
    }

    /// The tables whose rows are to be dropped, for whoever knows that no transaction changes them.
    pub fn take_nameless(&mut self) -> Vec<TableId> {
        std::mem::take(&mut self.nameless)
    }
}

impl Drop for TemporaryTables {
    fn drop(&mut self) {
        let mut ids = self.take_nameless();
        ids.extend(self.tables.values().map(|table| table.id()));
        self.engine.abandon_tables(ids);
    }
}
