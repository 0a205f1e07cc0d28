//! A change of the catalog, in memory until it is committed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{TableId, Timestamp};

use super::{AccountDef, Catalog, CatalogDamaged, Database, DatabaseDef, LAST_SYSTEM_TABLE, TableDef, ViewDef};

/// What a row of the system table holds: one JSON document, so that a later version can add fields.
#[derive(Debug, Serialize, Deserialize)]
enum Entry {
    Database(DatabaseDef),
    Table(Box<TableDef>),
    View(Box<ViewDef>),
    Account(Box<AccountDef>),
    NextTableId(u32),
}

/// A row to write to the system table; `None` removes it.
pub type CatalogRow = (Vec<u8>, Option<Vec<u8>>);

/// The next catalog in the making: the edited state, and the rows that make it durable.
#[derive(Debug)]
pub struct CatalogEdit {
    catalog: Catalog,
    rows: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    touched: Vec<TableId>,
}

impl CatalogEdit {
    pub fn new(base: Arc<Catalog>) -> CatalogEdit {
        let mut catalog = Catalog::clone(&base);
        catalog.version += 1;
        CatalogEdit {
            catalog,
            rows: BTreeMap::new(),
            touched: Vec::new(),
        }
    }

    /// The edited state.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The rows to write to the system table in the transaction of the change.
    pub fn rows(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.rows.iter().map(|(key, row)| (key.as_slice(), row.as_deref()))
    }

    /// An id that no table had before.
    pub fn allocate_table_id(&mut self) -> TableId {
        let id = self.catalog.next_table_id.max(LAST_SYSTEM_TABLE.0 + 1);
        self.catalog.next_table_id = id + 1;
        self.write(b"n".to_vec(), &Entry::NextTableId(id + 1));
        TableId(id)
    }

    pub fn put_database(&mut self, def: DatabaseDef) {
        self.write(database_key(&def.name), &Entry::Database(def.clone()));
        self.set_database(def);
    }

    /// Removes a database with its tables and views.
    pub fn remove_database(&mut self, name: &str) -> Option<Arc<Database>> {
        let database = self.catalog.databases.remove(name)?;
        self.rows.insert(database_key(name), None);
        for table in database.tables.values() {
            self.catalog.by_id.remove(&table.id);
            self.catalog.children.remove(table);
            self.rows.insert(table_key(table.id), None);
        }
        for view in database.views.keys() {
            self.rows.insert(view_key(name, view), None);
        }
        Some(database)
    }

    /// Adds a table, or replaces the one with the same id, also under a new name.
    ///
    /// The database must exist.
    pub fn put_table(&mut self, def: TableDef) {
        self.write(table_key(def.id), &Entry::Table(Box::new(def.clone())));
        self.touched.push(def.id);
        self.set_table(def);
    }

    pub fn remove_table(&mut self, id: TableId) -> Option<Arc<TableDef>> {
        let table = self.catalog.by_id.remove(&id)?;
        self.rows.insert(table_key(id), None);
        self.unlink(&table);
        Some(table)
    }

    /// Adds a view, or replaces the one of that name. The database must exist.
    pub fn put_view(&mut self, def: ViewDef) {
        self.write(view_key(&def.database, &def.name), &Entry::View(Box::new(def.clone())));
        self.set_view(def);
    }

    pub fn remove_view(&mut self, database: &str, name: &str) -> Option<Arc<ViewDef>> {
        let database = self.catalog.databases.get_mut(database)?;
        let view = Arc::make_mut(database).views.remove(name)?;
        self.rows.insert(view_key(&view.database, name), None);
        Some(view)
    }

    pub fn put_account(&mut self, def: AccountDef) {
        self.write(
            account_key(&def.user, &def.host),
            &Entry::Account(Box::new(def.clone())),
        );
        self.set_account(def);
    }

    pub fn remove_account(&mut self, user: &str, host: &str) -> Option<Arc<AccountDef>> {
        self.rows.insert(account_key(user, host), None);
        self.catalog.accounts.remove(&(user.to_owned(), host.to_owned()))
    }

    /// Takes in a row of the system table.
    pub(super) fn load(&mut self, key: &[u8], row: &[u8]) -> Result<(), CatalogDamaged> {
        let damaged = |reason: String| CatalogDamaged {
            key: String::from_utf8_lossy(key).into_owned(),
            reason,
        };
        match serde_json::from_slice(row).map_err(|error| damaged(error.to_string()))? {
            Entry::Database(def) => self.set_database(def),
            Entry::Table(def) if def.database.is_empty() => return Err(damaged("a table without a database".into())),
            Entry::Table(def) => self.set_table(*def),
            Entry::View(def) if !self.catalog.databases.contains_key(&def.database) => {
                return Err(damaged("a view without its database".into()));
            }
            Entry::View(def) => self.set_view(*def),
            Entry::Account(def) => self.set_account(*def),
            Entry::NextTableId(id) => self.catalog.next_table_id = id,
        }
        Ok(())
    }

    pub(super) fn into_catalog(self) -> Catalog {
        self.catalog
    }

    /// The edited state after its commit: tables of this edit are visible to snapshots from `at` on.
    pub(super) fn committed(mut self, at: Timestamp) -> Catalog {
        for id in std::mem::take(&mut self.touched) {
            if let Some(table) = self.catalog.by_id.get(&id) {
                let table = TableDef {
                    visible_from: at,
                    ..TableDef::clone(table)
                };
                self.set_table(table);
            }
        }
        self.catalog
    }

    fn write(&mut self, key: Vec<u8>, entry: &Entry) {
        let row = serde_json::to_vec(entry).expect("catalog entries have string keys only");
        self.rows.insert(key, Some(row));
    }

    fn set_database(&mut self, def: DatabaseDef) {
        let name = def.name.clone();
        let (tables, views) = match self.catalog.databases.get(&name) {
            Some(old) => (old.tables.clone(), old.views.clone()),
            None => Default::default(),
        };
        self.catalog
            .databases
            .insert(name, Arc::new(Database { def, tables, views }));
    }

    fn set_table(&mut self, def: TableDef) {
        if let Some(old) = self.catalog.by_id.get(&def.id).cloned() {
            self.unlink(&old);
        }
        let table = Arc::new(def);
        self.catalog.children.add(&table);
        self.catalog.by_id.insert(table.id, table.clone());
        if let Some(database) = self.catalog.databases.get_mut(&table.database) {
            Arc::make_mut(database).tables.insert(table.name.clone(), table);
        }
    }

    fn set_view(&mut self, def: ViewDef) {
        if let Some(database) = self.catalog.databases.get_mut(&def.database) {
            Arc::make_mut(database).views.insert(def.name.clone(), Arc::new(def));
        }
    }

    /// Takes a table out of its database, unless another one has taken its name there.
    fn unlink(&mut self, table: &TableDef) {
        self.catalog.children.remove(table);
        let Some(database) = self.catalog.databases.get_mut(&table.database) else {
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

    fn set_account(&mut self, def: AccountDef) {
        self.catalog
            .accounts
            .insert((def.user.clone(), def.host.clone()), Arc::new(def));
    }
}

/// Keys are written so that databases come before tables and views when the catalog is read in key order.
fn database_key(name: &str) -> Vec<u8> {
    [b"d", name.as_bytes()].concat()
}

fn table_key(id: TableId) -> Vec<u8> {
    [b"t".as_slice(), &id.0.to_be_bytes()].concat()
}

/// Names hold no zero byte.
fn view_key(database: &str, name: &str) -> Vec<u8> {
    [b"v", database.as_bytes(), b"\0", name.as_bytes()].concat()
}

fn account_key(user: &str, host: &str) -> Vec<u8> {
    [b"a", user.as_bytes(), b"@", host.as_bytes()].concat()
}
