//! A change of the catalog in the making: what the next statement of it sees, and the rows that its transaction writes.
//! It becomes current when the log applies those rows (`rows.rs`), here as on every other node.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::TableId;

use super::rows::{
    Entry, FORMAT, FORMAT_KEY, NEXT_TABLE_ID_KEY, account_key, copy_key, database_key, dropped_table, event_key,
    global_key, routine_key, table_key, variable_key, view_key,
};
use super::{
    AccountDef, Catalog, CopyJob, Database, DatabaseDef, EventDef, GlobalVariable, PersistedVariable, RoutineDef,
    RoutineKind, TableDef, ViewDef,
};

/// A row to write to the system table; `None` removes it.
pub type CatalogRow = (Vec<u8>, Option<Vec<u8>>);

/// The next catalog in the making: the edited state, and the rows that make it durable.
#[derive(Debug)]
pub struct CatalogEdit {
    catalog: Catalog,
    rows: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl CatalogEdit {
    pub fn new(base: Arc<Catalog>) -> CatalogEdit {
        CatalogEdit {
            catalog: Catalog::clone(&base),
            rows: BTreeMap::new(),
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

    /// The tables that are gone with it.
    pub fn dropped_tables(&self) -> Vec<TableId> {
        let gone = self.rows.iter().filter(|(_, row)| row.is_none());
        gone.filter_map(|(key, _)| dropped_table(key)).collect()
    }

    /// Records that a table is being filled as the copy of another one, by whom.
    pub fn put_copy(&mut self, job: CopyJob) {
        self.write(copy_key(job.table), &Entry::Copy(job));
        self.catalog.copies.insert(job.table, job);
    }

    /// The copy is complete, or gone.
    pub fn remove_copy(&mut self, table: TableId) {
        self.rows.insert(copy_key(table), None);
        self.catalog.copies.remove(&table);
    }

    /// Ids from here on may be given to tables; those below are taken, or leased by somebody.
    pub fn set_next_table_id(&mut self, id: u32) {
        self.catalog.next_table_id = id;
        self.write(NEXT_TABLE_ID_KEY.to_vec(), &Entry::NextTableId(id));
    }

    /// This version's rows.
    pub fn set_format(&mut self) {
        self.catalog.format = FORMAT;
        self.write(FORMAT_KEY.to_vec(), &Entry::Format(FORMAT));
    }

    pub fn put_database(&mut self, def: DatabaseDef) {
        self.write(database_key(&def.name), &Entry::Database(def.clone()));
        self.catalog.set_database(def);
    }

    /// Removes a database with its tables, views, routines and events.
    pub fn remove_database(&mut self, name: &str) -> Option<Arc<Database>> {
        let database = self.catalog.databases.remove(name)?;
        self.rows.insert(database_key(name), None);
        for table in database.tables.values() {
            Arc::make_mut(&mut self.catalog.by_id).remove(&table.id);
            Arc::make_mut(&mut self.catalog.children).remove(table);
            self.rows.insert(table_key(table.id), None);
        }
        for view in database.views.keys() {
            self.rows.insert(view_key(name, view), None);
        }
        for (kind, routine) in database.routines.keys() {
            self.rows.insert(routine_key(name, *kind, routine), None);
        }
        for event in database.events.keys() {
            self.rows.insert(event_key(name, event), None);
        }
        Some(database)
    }

    /// Adds a table, or replaces the one with the same id, also under a new name.
    ///
    /// The database must exist.
    pub fn put_table(&mut self, def: TableDef) {
        self.write(table_key(def.id), &Entry::Table(Box::new(def.clone())));
        self.catalog.set_table(def);
    }

    pub fn remove_table(&mut self, id: TableId) -> Option<Arc<TableDef>> {
        let table = Arc::make_mut(&mut self.catalog.by_id).remove(&id)?;
        self.rows.insert(table_key(id), None);
        self.catalog.unlink(&table);
        Some(table)
    }

    /// Adds a view, or replaces the one of that name. The database must exist.
    pub fn put_view(&mut self, def: ViewDef) {
        self.write(view_key(&def.database, &def.name), &Entry::View(Box::new(def.clone())));
        self.catalog.set_view(def);
    }

    pub fn remove_view(&mut self, database: &str, name: &str) -> Option<Arc<ViewDef>> {
        let database = self.catalog.databases.get_mut(database)?;
        let view = Arc::make_mut(database).views.remove(name)?;
        self.rows.insert(view_key(&view.database, name), None);
        Some(view)
    }

    /// Adds a routine, or replaces the one of that kind and name. The database must exist.
    pub fn put_routine(&mut self, def: RoutineDef) {
        let key = routine_key(&def.database, def.kind, &def.name);
        self.write(key, &Entry::Routine(Box::new(def.clone())));
        self.catalog.set_routine(def);
    }

    pub fn remove_routine(&mut self, database: &str, kind: RoutineKind, name: &str) -> Option<Arc<RoutineDef>> {
        let database = self.catalog.databases.get_mut(database)?;
        let place = RoutineDef::place(kind, name);
        let routine = Arc::make_mut(database).routines.remove(&place)?;
        self.rows.insert(routine_key(&routine.database, kind, name), None);
        Some(routine)
    }

    /// Adds an event, or replaces the one of that name. The database must exist.
    pub fn put_event(&mut self, def: EventDef) {
        let key = event_key(&def.database, &def.name);
        self.write(key, &Entry::Event(Box::new(def.clone())));
        self.catalog.set_event(def);
    }

    pub fn remove_event(&mut self, database: &str, name: &str) -> Option<Arc<EventDef>> {
        let database = self.catalog.databases.get_mut(database)?;
        let event = Arc::make_mut(database).events.remove(&EventDef::place(name))?;
        self.rows.insert(event_key(&event.database, name), None);
        Some(event)
    }

    pub fn put_account(&mut self, def: AccountDef) {
        self.write(
            account_key(&def.user, &def.host),
            &Entry::Account(Box::new(def.clone())),
        );
        self.catalog.set_account(def);
    }

    pub fn remove_account(&mut self, user: &str, host: &str) -> Option<Arc<AccountDef>> {
        self.rows.insert(account_key(user, host), None);
        self.catalog.accounts.remove(&(user.to_owned(), host.to_owned()))
    }

    pub fn put_persisted(&mut self, variable: PersistedVariable) {
        self.write(variable_key(&variable.name), &Entry::Variable(variable.clone()));
        self.catalog.set_persisted(variable);
    }

    pub fn remove_persisted(&mut self, name: &str) {
        self.rows.insert(variable_key(name), None);
        self.catalog.variables.remove(name);
    }

    pub fn put_global(&mut self, variable: GlobalVariable) {
        self.write(global_key(&variable.set.name), &Entry::Global(variable.clone()));
        self.catalog.set_global(variable);
    }

    pub fn remove_global(&mut self, name: &str) {
        self.rows.insert(global_key(name), None);
        Arc::make_mut(&mut self.catalog.globals).remove(name);
    }

    #[cfg(test)]
    pub(super) fn into_catalog(self) -> Catalog {
        self.catalog
    }

    fn write(&mut self, key: Vec<u8>, entry: &Entry) {
        let row = serde_json::to_vec(entry).expect("catalog entries have string keys only");
        self.rows.insert(key, Some(row));
    }
}
