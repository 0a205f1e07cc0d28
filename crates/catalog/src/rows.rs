//! The catalog's rows: what each holds, and what applying it does to the catalog.
//!
//! The log carries the catalog as rows of the system table, a JSON document each. Whoever applies the log, at the start or as it
//! goes on, feeds every change of such a row to [`Catalog::apply`], in log order; nothing else changes a catalog that is in use.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{TableId, Timestamp};

use super::{
    AccountDef, Catalog, CatalogDamaged, Database, DatabaseDef, EventDef, GlobalVariable, PersistedVariable,
    RoutineDef, RoutineKind, TableDef, ViewDef,
};

/// What a row of the system table holds. An unknown kind or field is refused: a newer version wrote it, and means something by it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Entry {
    Database(DatabaseDef),
    Table(Box<TableDef>),
    View(Box<ViewDef>),
    Routine(Box<RoutineDef>),
    Event(Box<EventDef>),
    Account(Box<AccountDef>),
    Variable(PersistedVariable),
    Global(GlobalVariable),
    NextTableId(u32),
    Copy(CopyJob),
    Format(u32),
}

/// A table that is being filled to take another one's place. Its row is written by the transaction that makes the table, and removed
/// by the one that puts it in its place or drops it; so a copy that nobody works on any more is known as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyJob {
    pub table: TableId,
    /// The start of the node that works on it.
    pub owner: u64,
}

/// Directories without a format row were written before copies had owners and ids were leased.
pub(super) const FORMAT: u32 = 2;

impl Catalog {
    /// A row of the system table has changed (`None`: is gone), by a transaction that committed at `at`. An error: this version
    /// cannot read it.
    pub fn apply(&mut self, key: &[u8], row: Option<&[u8]>, at: Timestamp) -> Result<(), CatalogDamaged> {
        let damaged = |reason: &str| CatalogDamaged {
            key: String::from_utf8_lossy(key).into_owned(),
            reason: reason.to_owned(),
        };
        match row {
            Some(row) => {
                let entry = read_entry(key, row)?;
                self.put(entry, at).map_err(damaged)?;
            }
            None => self.remove(key).ok_or_else(|| damaged("a row of no kind is removed"))?,
        }
        self.version = at.0;
        Ok(())
    }

    fn put(&mut self, entry: Entry, at: Timestamp) -> Result<(), &'static str> {
        match entry {
            Entry::Database(def) => self.set_database(def),
            Entry::Table(def) if def.database.is_empty() => return Err("a table without a database"),
            Entry::Table(def) => self.set_table(TableDef {
                visible_from: at,
                ..*def
            }),
            Entry::View(def) if !self.databases.contains_key(&def.database) => {
                return Err("a view without its database");
            }
            Entry::View(def) => self.set_view(*def),
            Entry::Routine(def) if !self.databases.contains_key(&def.database) => {
                return Err("a routine without its database");
            }
            Entry::Routine(def) => self.set_routine(*def),
            Entry::Event(def) if !self.databases.contains_key(&def.database) => {
                return Err("an event without its database");
            }
            Entry::Event(def) => self.set_event(*def),
            Entry::Account(def) => self.set_account(def.upgraded()),
            Entry::Variable(variable) => self.set_persisted(variable),
            Entry::Global(variable) => self.set_global(variable),
            Entry::NextTableId(id) => self.next_table_id = id,
            Entry::Copy(job) => {
                self.copies.insert(job.table, job);
            }
            Entry::Format(format) if format > FORMAT => return Err("the catalog is of a newer version"),
            Entry::Format(format) => self.format = format,
        }
        Ok(())
    }

    /// What the row's key named is gone; it may be gone already, with its database. `None`: no kind of key.
    fn remove(&mut self, key: &[u8]) -> Option<()> {
        let (kind, name) = key.split_first()?;
        match kind {
            b'd' => {
                self.databases.remove(std::str::from_utf8(name).ok()?);
            }
            b't' => {
                if let Some(table) = Arc::make_mut(&mut self.by_id).remove(&table_id(name)?) {
                    self.unlink(&table);
                }
            }
            b'v' => {
                if let Some((database, view)) = self.in_database(name)? {
                    database.views.remove(view);
                }
            }
            b'r' => {
                let (kind, name) = name.split_first()?;
                let kind = match kind {
                    b'p' => RoutineKind::Procedure,
                    b'f' => RoutineKind::Function,
                    _ => return None,
                };
                if let Some((database, routine)) = self.in_database(name)? {
                    database.routines.remove(&RoutineDef::place(kind, routine));
                }
            }
            b'e' => {
                if let Some((database, event)) = self.in_database(name)? {
                    database.events.remove(&EventDef::place(event));
                }
            }
            b'a' => {
                // Both halves may hold what stands between them: one of the places is the one.
                let name = std::str::from_utf8(name).ok()?;
                for (at, _) in name.match_indices(['@', '\0']) {
                    let (user, host) = (&name[..at], &name[at + 1..]);
                    if account_key(user, host) == key {
                        self.accounts.remove(&(user.to_owned(), host.to_owned()));
                    }
                }
            }
            b'p' => {
                self.variables.remove(std::str::from_utf8(name).ok()?);
            }
            b'g' => {
                Arc::make_mut(&mut self.globals).remove(std::str::from_utf8(name).ok()?);
            }
            b'c' => {
                self.copies.remove(&table_id(name)?);
            }
            b'n' | b'f' => {}
            _ => return None,
        }
        Some(())
    }

    /// The database that the end of a key names, to be changed, and what of it the key names. `None` of no such key; the database may be gone.
    fn in_database<'k>(&mut self, key: &'k [u8]) -> Option<Option<(&mut Database, &'k str)>> {
        let (database, name) = std::str::from_utf8(key).ok()?.split_once('\0')?;
        let database = self.databases.get_mut(database).map(Arc::make_mut);
        Some(database.map(|database| (database, name)))
    }

    pub(super) fn set_database(&mut self, def: DatabaseDef) {
        let name = def.name.clone();
        let database = match self.databases.get(&name) {
            Some(old) => Database {
                def,
                ..Database::clone(old)
            },
            None => Database {
                def,
                tables: BTreeMap::new(),
                views: BTreeMap::new(),
                routines: BTreeMap::new(),
                events: BTreeMap::new(),
            },
        };
        self.databases.insert(name, Arc::new(database));
    }

    pub(super) fn set_table(&mut self, def: TableDef) {
        if let Some(old) = self.by_id.get(&def.id).cloned() {
            self.unlink(&old);
        }
        let table = Arc::new(def);
        Arc::make_mut(&mut self.children).add(&table);
        Arc::make_mut(&mut self.by_id).insert(table.id, table.clone());
        if let Some(database) = self.databases.get_mut(&table.database) {
            Arc::make_mut(database).tables.insert(table.name.clone(), table);
        }
    }

    pub(super) fn set_view(&mut self, def: ViewDef) {
        if let Some(database) = self.databases.get_mut(&def.database) {
            Arc::make_mut(database).views.insert(def.name.clone(), Arc::new(def));
        }
    }

    pub(super) fn set_routine(&mut self, def: RoutineDef) {
        if let Some(database) = self.databases.get_mut(&def.database) {
            let place = RoutineDef::place(def.kind, &def.name);
            Arc::make_mut(database).routines.insert(place, Arc::new(def));
        }
    }

    pub(super) fn set_event(&mut self, def: EventDef) {
        if let Some(database) = self.databases.get_mut(&def.database) {
            let place = EventDef::place(&def.name);
            Arc::make_mut(database).events.insert(place, Arc::new(def));
        }
    }

    /// Takes a table out of its database, unless another one has taken its name there.
    pub(super) fn unlink(&mut self, table: &TableDef) {
        Arc::make_mut(&mut self.children).remove(table);
        let Some(database) = self.databases.get_mut(&table.database) else {
            return;
        };
        if database
            .tables
            .get(&table.name)
            .is_some_and(|named| named.id == table.id)
        {
            Arc::make_mut(database).tables.remove(&table.name);
        }
    }

    pub(super) fn set_account(&mut self, def: AccountDef) {
        self.accounts
            .insert((def.user.clone(), def.host.clone()), Arc::new(def));
    }

    pub(super) fn set_persisted(&mut self, variable: PersistedVariable) {
        self.variables.insert(variable.name.clone(), Arc::new(variable));
    }

    pub(super) fn set_global(&mut self, variable: GlobalVariable) {
        Arc::make_mut(&mut self.globals).insert(variable.set.name.clone(), Arc::new(variable));
    }
}

/// Reads a row's document; what it holds is the kind that its key says.
fn read_entry(key: &[u8], row: &[u8]) -> Result<Entry, CatalogDamaged> {
    serde_json::from_slice(row).map_err(|error| CatalogDamaged {
        key: String::from_utf8_lossy(key).into_owned(),
        reason: error.to_string(),
    })
}

/// Whether this version can read the row: what is to be logged must be readable by everybody who has this version.
pub fn check_row(key: &[u8], row: &[u8]) -> Result<(), CatalogDamaged> {
    read_entry(key, row).map(drop)
}

fn table_id(bytes: &[u8]) -> Option<TableId> {
    Some(TableId(u32::from_be_bytes(bytes.try_into().ok()?)))
}

pub(super) const NEXT_TABLE_ID_KEY: &[u8] = b"n";
pub(super) const FORMAT_KEY: &[u8] = b"f";

pub(super) fn copy_key(id: TableId) -> Vec<u8> {
    [b"c".as_slice(), &id.0.to_be_bytes()].concat()
}

/// Keys are written so that databases come before tables, views and routines when the catalog is read in key order.
pub(super) fn database_key(name: &str) -> Vec<u8> {
    [b"d", name.as_bytes()].concat()
}

pub(super) fn table_key(id: TableId) -> Vec<u8> {
    [b"t".as_slice(), &id.0.to_be_bytes()].concat()
}

/// The table whose row has the key, if it is one of a table.
pub(super) fn dropped_table(key: &[u8]) -> Option<TableId> {
    match key.split_first() {
        Some((b't', id)) => table_id(id),
        _ => None,
    }
}

/// Names hold no zero byte.
fn key_in_database(kind: &[u8], database: &str, name: &str) -> Vec<u8> {
    [kind, database.as_bytes(), b"\0", name.as_bytes()].concat()
}

pub(super) fn view_key(database: &str, name: &str) -> Vec<u8> {
    key_in_database(b"v", database, name)
}

/// In lower case: the name is the same in any.
pub(super) fn routine_key(database: &str, kind: RoutineKind, name: &str) -> Vec<u8> {
    let kind: &[u8] = match kind {
        RoutineKind::Procedure => b"rp",
        RoutineKind::Function => b"rf",
    };
    key_in_database(kind, database, &name.to_lowercase())
}

/// In lower case: the name is the same in any.
pub(super) fn event_key(database: &str, name: &str) -> Vec<u8> {
    key_in_database(b"e", database, &name.to_lowercase())
}

pub(super) fn account_key(user: &str, host: &str) -> Vec<u8> {
    // `'a@b'@'c'` and `'a'@'b@c'` are two accounts: a name that holds the sign ends in a zero byte instead.
    let between: &[u8] = if user.contains('@') { b"\0" } else { b"@" };
    [b"a", user.as_bytes(), between, host.as_bytes()].concat()
}

pub(super) fn variable_key(name: &str) -> Vec<u8> {
    [b"p", name.as_bytes()].concat()
}

pub(super) fn global_key(name: &str) -> Vec<u8> {
    [b"g", name.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CatalogEdit;

    fn applied(edit: &CatalogEdit, to: &mut Catalog, at: u64) {
        for (key, row) in edit.rows() {
            to.apply(key, row, Timestamp(at)).unwrap();
        }
    }

    fn state(catalog: &Catalog) -> (Vec<String>, Vec<(String, String)>, u32, usize, Vec<String>) {
        let databases = catalog.databases().map(|database| database.def.name.clone()).collect();
        let accounts = catalog
            .accounts()
            .map(|account| (account.user.clone(), account.host.clone()))
            .collect();
        let persisted = catalog.persisted_variables().map(|variable| variable.name.clone());
        let globals = catalog.global_variables().map(|variable| variable.set.name.clone());
        let variables = persisted.chain(globals).collect();
        (
            databases,
            accounts,
            catalog.next_table_id(),
            catalog.copies().count(),
            variables,
        )
    }

    fn persisted(name: &str) -> PersistedVariable {
        PersistedVariable {
            name: name.into(),
            value: "ON".into(),
            set_at: 3,
            user: "a".into(),
            host: "b".into(),
        }
    }

    #[test]
    fn the_account_that_a_key_names_is_removed_alone() {
        let names = [("a@b", "c"), ("a", "b@c"), ("a", "c"), ("", "@"), ("@", "")];
        let mut catalog = Catalog::default();
        let mut edit = CatalogEdit::new(Arc::new(catalog.clone()));
        for (user, host) in names {
            edit.put_account(AccountDef::new(user, host));
        }
        applied(&edit, &mut catalog, 5);
        for (removed, (user, host)) in names.iter().enumerate() {
            let mut edit = CatalogEdit::new(Arc::new(catalog.clone()));
            edit.remove_account(user, host);
            applied(&edit, &mut catalog, 6 + removed as u64);
            assert!(catalog.account(user, host).is_none());
            assert_eq!(catalog.accounts().count(), names.len() - removed - 1);
        }
    }

    #[test]
    fn applying_the_rows_of_an_edit_makes_the_edited_catalog() {
        let mut catalog = Catalog::default();
        let mut edit = CatalogEdit::new(Arc::new(catalog.clone()));
        for name in ["a", "b"] {
            edit.put_database(DatabaseDef {
                name: name.into(),
                collation: types::CollationId::DEFAULT,
                read_only: false,
            });
        }
        edit.set_next_table_id(164);
        edit.set_format();
        edit.put_copy(CopyJob {
            table: TableId(101),
            owner: 7,
        });
        for name in ["read_only", "sql_mode"] {
            edit.put_persisted(persisted(name));
        }
        for name in ["autocommit", "read_only"] {
            edit.put_global(GlobalVariable {
                set: persisted(name),
                by_start: false,
            });
        }
        applied(&edit, &mut catalog, 5);
        assert_eq!(state(&catalog), state(edit.catalog()));
        assert_eq!((catalog.version(), catalog.is_of_older_format()), (5, false));
        let mut edit = CatalogEdit::new(Arc::new(catalog.clone()));
        edit.remove_database("a");
        edit.remove_copy(TableId(101));
        edit.remove_persisted("sql_mode");
        edit.remove_global("autocommit");
        assert!(!edit.catalog().has_globals_of(&catalog));
        assert_eq!(edit.dropped_tables(), []);
        applied(&edit, &mut catalog, 9);
        assert_eq!(state(&catalog), state(edit.catalog()));
        assert_eq!(catalog.version(), 9);
    }

    #[test]
    fn what_a_newer_version_wrote_is_refused() {
        let mut catalog = Catalog::default();
        for (key, row) in [
            (
                "dx",
                r#"{"Database":{"name":"x","collation":"utf8mb4_0900_ai_ci","read_only":false,"sharded":true}}"#,
            ),
            ("sx", r#"{"Sequence":{"name":"x"}}"#),
            ("f", r#"{"Format":99}"#),
        ] {
            assert!(
                catalog
                    .apply(key.as_bytes(), Some(row.as_bytes()), Timestamp(1))
                    .is_err(),
                "{row}"
            );
        }
        assert!(catalog.apply(b"sx", None, Timestamp(1)).is_err());
    }
}
