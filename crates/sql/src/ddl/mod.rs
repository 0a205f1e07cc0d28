//! Statements that change the schema.
//!
//! Each one is a transaction of its own in the log: the catalog's rows and what the store has to do are committed together, so
//! a crash leaves the whole change or nothing. What it is about is locked ([`locks`]) until the change is applied,
//! and with it the new catalog installed; whoever waited finds it and plans again.

mod alter;
mod checks;
mod create_as;
mod default_value;
mod events;
mod expressions;
mod foreign_keys;
mod full_text;
mod functional_keys;
mod lenient;
mod locks;
mod online;
pub(crate) mod programs;
mod table_def;
mod temporary;
mod triggers;
mod ttl;
pub(crate) mod views;

use std::collections::HashSet;
use std::sync::Arc;

use catalog::{Catalog, CatalogEdit, DatabaseDef, RoutineKind, SYSTEM_TABLE, TableDef};
use env::Feature;
use governor::{MemoryStop, Stop};
use parser::ast::{self, DatabaseOption, Statement};
use store::{LockKey, LockMode};
use types::collation::CollationId;
use types::{ErrorKind, SqlError, SqlResult, TableId};

use crate::engine::Engine;
use crate::exec::Runtime;
use crate::failpoint;
use crate::host::Host;
use crate::names::{charset_by_name, collation_by_name};
use crate::schema::system_row;
use crate::session::{Answer, Session, wait_for_commit};
use crate::table::{index_spec, store_spec};
use crate::table_ids::CopyGuard;

use checks::definition_like;
pub(crate) use create_as::NoAnswer;
pub(crate) use locks::{EVERYTHING, ObjectLocks, name_key, runtime};

pub use crate::plan::column_type::column_type;
pub use crate::plan::columns::constant_default;
pub use lenient::is_engine;
pub use table_def::{TableBuilder, TableOptions, check_name, table_def, table_options};

/// A change of the schema in the making.
pub struct SchemaChange<'a> {
    pub engine: &'a Arc<Engine>,
    pub runtime: Runtime<'a>,
    pub edit: CatalogEdit,
    /// The schema before.
    pub before: Arc<Catalog>,
    /// Copies that the change's commit puts in their places.
    pub(crate) copies: Vec<CopyGuard>,
}

impl Session {
    /// 1235 in a cluster whose other nodes may not know yet what a definition is to have. A node alone has nobody who could not read its catalog.
    pub(crate) fn check_level(&self, feature: Feature, what: &str) -> SqlResult<()> {
        let level = self.engine.participant().level();
        match self.engine.other_nodes().is_none() || level.has(feature) {
            true => Ok(()),
            false => Err(SqlError::not_supported(format!(
                "{what} before feature level {} (latsdb admin upgrade)",
                feature.level()
            ))),
        }
    }

    /// The same of what is to be in a collation.
    fn check_collation(&self, collation: CollationId) -> SqlResult<()> {
        match collation.is_of_the_first() {
            true => Ok(()),
            false => self.check_level(Feature::CharacterSets, &format!("the collation {collation}")),
        }
    }

    /// Runs a change of accounts: ends the open transaction, and commits what `work` prepares.
    pub(crate) fn change_accounts<R>(
        &mut self,
        host: &dyn Host,
        work: impl FnOnce(&mut SchemaChange<'_>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        self.begin_definition(host)?;
        self.change_catalog(host, work)
    }

    /// Commits what `work` prepares, which concerns no table.
    pub(crate) fn change_catalog<R>(
        &mut self,
        host: &dyn Host,
        work: impl FnOnce(&mut SchemaChange<'_>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        let locks = locks::lock_nothing(&self.engine, host, &self.variables.settings)?;
        self.change_schema(locks, host, work)
    }

    /// IF EXISTS and IF NOT EXISTS make a note of the error.
    fn forgive(&mut self, error: SqlError, is_forgiven: bool) -> SqlResult<()> {
        match is_forgiven {
            true => {
                self.warnings.note(error);
                Ok(())
            }
            false => Err(error),
        }
    }

    /// What every change of the schema begins with: it ends the open transaction, and has to be allowed.
    fn begin_definition(&mut self, host: &dyn Host) -> SqlResult<()> {
        self.table_locks.check_schema_change()?;
        self.transaction.commit(host)?;
        self.check_server_writable()?;
        self.transaction.check_writable(&self.variables.settings)
    }

    /// Commits what `work` prepares.
    pub(crate) fn change_schema<R>(
        &mut self,
        locks: ObjectLocks,
        host: &dyn Host,
        work: impl FnOnce(&mut SchemaChange<'_>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        self.prepare_and_change(locks, host, |_| Ok(()), |change, ()| work(change))
    }

    /// Commits what `work` makes of what `prepare` has prepared. Only `work` has the catalog for itself: it sees the newest one, and must
    /// neither wait nor take long. Of what the change has locked both see the same.
    fn prepare_and_change<P, R>(
        &mut self,
        locks: ObjectLocks,
        host: &dyn Host,
        prepare: impl FnOnce(&mut SchemaChange<'_>) -> SqlResult<P>,
        work: impl FnOnce(&mut SchemaChange<'_>, P) -> SqlResult<R>,
    ) -> SqlResult<R> {
        let engine = self.engine.clone();
        let ObjectLocks(transaction) = locks;
        let before = engine.catalog();
        let mut change = SchemaChange {
            engine: &engine,
            runtime: locks::runtime(&engine, host, &transaction, &self.variables.settings),
            edit: CatalogEdit::new(before.clone()),
            before,
            copies: Vec::new(),
        };
        failpoint::hit("ddl.locked")?;
        let prepared = prepare(&mut change)?;
        change.lock_catalog()?;
        failpoint::hit("ddl.catalog")?;
        let result = work(&mut change, prepared)?;
        failpoint::hit("ddl.prepared")?;
        let dropped = change.edit.dropped_tables();
        let copies = change.finish()?;
        failpoint::hit("ddl.committing")?;
        // The catalog is changed by whoever applies the log; here it only has to be waited for.
        wait_for_commit(transaction.into_inner().commit(), host)?;
        copies.into_iter().for_each(CopyGuard::dismiss);
        let _ = failpoint::hit("ddl.committed");
        engine.forget_tables(&dropped);
        Ok(result)
    }

    /// `CREATE`, `DROP`, `ALTER`, `RENAME`, `TRUNCATE` of databases, tables, views and indexes.
    pub(crate) fn data_definition(&mut self, statement: &Statement, host: &dyn Host) -> SqlResult<Answer> {
        if let Some(answer) = self.define_temporary(statement, host)? {
            return Ok(answer);
        }
        self.define_locked(statement, host, |session| session.define(statement, host))
    }

    /// Everything that is looked at is locked before, so that it stays as it was found.
    fn define(&mut self, statement: &Statement, host: &dyn Host) -> SqlResult<Answer> {
        self.begin_definition(host)?;
        let locks = self.lock_objects(statement, host)?;
        match statement {
            Statement::CreateDatabase(create) => {
                return self
                    .create_database(create, locks, host)
                    .map(|made| Answer::affected(u64::from(made)));
            }
            Statement::AlterDatabase(alter) => {
                self.alter_database(alter, locks, host)?;
                return Ok(Answer::affected(1));
            }
            Statement::DropDatabase(drop) => {
                return self.drop_database(drop, locks, host).map(Answer::affected);
            }
            Statement::CreateTable(create) => {
                return self.create_table(create, locks, host);
            }
            Statement::DropTable(drop) => self.drop_table(drop, locks, host)?,
            Statement::CreateView(create) => self.create_view(create, locks, host)?,
            Statement::DropView(drop) => self.drop_views(drop, locks, host)?,
            Statement::DropObject(drop) => match drop.kind {
                ast::DropKind::Procedure => self.drop_routine(RoutineKind::Procedure, drop, locks, host)?,
                ast::DropKind::Function => self.drop_routine(RoutineKind::Function, drop, locks, host)?,
                ast::DropKind::Trigger => self.drop_trigger(drop, locks, host)?,
                ast::DropKind::Event => self.drop_event(drop, locks, host)?,
            },
            Statement::CreateTrigger(create) => self.create_trigger(create, locks, host)?,
            Statement::CreateEvent(create) => self.create_event(create, locks, host)?,
            Statement::AlterEvent(alter) => self.alter_event(alter, locks, host)?,
            Statement::CreateRoutine(create) => self.create_routine(create, locks, host)?,
            Statement::AlterRoutine(alter) => self.alter_routine(alter, locks, host)?,
            Statement::RenameTable(renames) => self.rename_tables(renames, locks, host)?,
            Statement::Truncate(name) => self.truncate(name, locks, host)?,
            Statement::CreateIndex(create) => return self.alter_table(&adding_index(create), locks, host),
            Statement::DropIndex(drop) => return self.alter_table(&dropping_index(drop), locks, host),
            Statement::AlterTable(alter) => return self.alter_table(alter, locks, host),
            other => return Err(crate::session::of_another_runner(other)),
        }
        Ok(Answer::done())
    }

    /// Whether it was made; not if it was there already.
    fn create_database(
        &mut self,
        create: &ast::CreateDatabase,
        locks: ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<bool> {
        let name = create.name.as_str().to_owned();
        check_name(&name, ErrorKind::WrongDbName)?;
        if self.engine.catalog().database(&name).is_some() || crate::plan::is_virtual_database(&name) {
            let exists = SqlError::new(ErrorKind::DbCreateExists, &[&name]);
            return self.forgive(exists, create.if_not_exists).map(|()| false);
        }
        let (collation, read_only) = database_options(&create.options, self.variables.server_collation())?;
        self.check_collation(collation)?;
        self.change_schema(locks, host, |change| {
            change.edit.put_database(DatabaseDef {
                name,
                collation,
                read_only,
            });
            Ok(true)
        })
    }

    fn alter_database(&mut self, alter: &ast::AlterDatabase, locks: ObjectLocks, host: &dyn Host) -> SqlResult<()> {
        let name = match &alter.name {
            Some(name) => name.as_str().to_owned(),
            None => self.database.as_deref().ok_or(ErrorKind::NoDb)?.to_owned(),
        };
        let (asked, _) = database_options(&alter.options, CollationId::DEFAULT)?;
        self.check_collation(asked)?;
        self.change_schema(locks, host, |change| {
            let database = change
                .before
                .database(&name)
                .ok_or_else(|| SqlError::new(ErrorKind::NoSuchDb, &[&name]))?
                .clone();
            let (collation, read_only) = database_options(&alter.options, database.def.collation)?;
            change.edit.put_database(DatabaseDef {
                collation,
                read_only,
                ..database.def.clone()
            });
            Ok(())
        })
    }

    /// Returns how many tables and views went with it.
    fn drop_database(&mut self, drop: &ast::DropDatabase, locks: ObjectLocks, host: &dyn Host) -> SqlResult<u64> {
        let name = drop.name.as_str().to_owned();
        if crate::plan::is_virtual_database(&name) {
            return Err(SqlError::new(
                ErrorKind::DbAccessDenied,
                &[&self.options.user, &self.options.host, &name],
            ));
        }
        if self.engine.catalog().database(&name).is_none() {
            let missing = SqlError::new(ErrorKind::DbDropExists, &[&name]);
            return self.forgive(missing, drop.if_exists).map(|()| 0);
        }
        let dropped = self.change_schema(locks, host, |change| {
            let Some(database) = change.before.database(&name).cloned() else {
                return Ok(0);
            };
            let all: Vec<TableId> = database.tables.values().map(|table| table.id).collect();
            for table in database.tables.values() {
                change.check_droppable(table, &all)?;
                change.drop_table(table);
            }
            change.edit.remove_database(&name);
            Ok((database.tables.len() + database.views.len()) as u64)
        })?;
        if self.database.as_deref() == Some(name.as_str()) {
            self.database = None;
        }
        Ok(dropped)
    }

    fn create_table(&mut self, create: &ast::CreateTable, locks: ObjectLocks, host: &dyn Host) -> SqlResult<Answer> {
        let (database, name) = self.qualified(&create.name)?;
        if self.engine.catalog().is_taken(&database, &name) {
            let exists = SqlError::new(ErrorKind::TableExists, &[&name]);
            return self.forgive(exists, create.if_not_exists).map(|()| Answer::done());
        }
        let catalog = self.engine.catalog();
        let in_database = catalog.database(&database).ok_or_else(|| unknown_database(&database))?;
        let (mut def, options) = match &create.body {
            ast::CreateTableBody::Like(other) => {
                let def = definition_like(&self.table(other)?.def, &database, &name)?;
                (def, TableOptions::default())
            }
            ast::CreateTableBody::Definition(definition) if definition.query.is_some() => {
                return self.create_table_as(&create.name, definition, in_database.def.collation, locks, host);
            }
            ast::CreateTableBody::Definition(definition) => table_def(
                &database,
                &name,
                definition,
                in_database.def.collation,
                self.variables.settings.expressions.sql_mode,
            )?,
        };
        self.warnings.append(options.warnings);
        if self.variables.settings.require_primary_key && def.primary().is_none() {
            return Err(ErrorKind::TableWithoutPk.into());
        }
        self.check_expressions(&mut def, host)?;
        def.created_at = self.engine.clock_micros() / 1_000_000;
        self.change_schema(locks, host, |change| {
            if change.before.database(&database).is_none() {
                return Err(unknown_database(&database));
            }
            if change.before.is_taken(&database, &name) {
                return Err(SqlError::new(ErrorKind::TableExists, &[&name]));
            }
            change.name_parent_keys(&mut def)?;
            change.check_constraints(&def)?;
            def.id = change.engine.allocate_table_id(&change.runtime)?;
            change.create_table(def, options.auto_increment);
            Ok(())
        })?;
        Ok(Answer::done())
    }

    fn drop_table(&mut self, drop: &ast::DropTable, locks: ObjectLocks, host: &dyn Host) -> SqlResult<()> {
        let mut names = Vec::with_capacity(drop.names.len());
        let mut seen = HashSet::with_capacity(drop.names.len());
        for name in &drop.names {
            governor::tick()?;
            let named = self.qualified(name)?;
            if !seen.insert(named.clone()) {
                return Err(SqlError::new(ErrorKind::NonUniqTable, &[&named.1]));
            }
            names.push(named);
        }
        let missing = |catalog: &Catalog| -> Vec<String> {
            let absent = names
                .iter()
                .filter(|(database, name)| catalog.table(database, name).is_none());
            absent.map(|(database, name)| format!("{database}.{name}")).collect()
        };
        let absent = missing(&self.engine.catalog());
        if !absent.is_empty() && !drop.if_exists {
            return Err(SqlError::new(ErrorKind::BadTable, &[&absent.join(",")]));
        }
        for name in &absent {
            self.warnings.note(SqlError::new(ErrorKind::BadTable, &[name]));
        }
        if absent.len() == names.len() {
            return Ok(());
        }
        self.change_schema(locks, host, |change| {
            let named = names
                .iter()
                .filter_map(|(database, name)| change.before.table(database, name));
            let tables: Vec<Arc<TableDef>> = named.cloned().collect();
            let all: Vec<TableId> = tables.iter().map(|table| table.id).collect();
            for table in &tables {
                change.check_droppable(table, &all)?;
                change.drop_table(table);
                change.edit.remove_table(table.id);
            }
            Ok(())
        })
    }

    fn rename_tables(&mut self, renames: &[ast::RenameTable], locks: ObjectLocks, host: &dyn Host) -> SqlResult<()> {
        let mut names = Vec::with_capacity(renames.len());
        for rename in renames {
            names.push((self.qualified(&rename.from)?, self.qualified(&rename.to)?));
        }
        self.change_schema(locks, host, |change| {
            for ((from_database, from), (to_database, to)) in &names {
                let table = change.edit.catalog().table(from_database, from).cloned();
                let view = change.edit.catalog().view(from_database, from).cloned();
                if table.is_none() && view.is_none() {
                    return Err(SqlError::new(ErrorKind::NoSuchTable, &[from_database, from]));
                }
                if change.edit.catalog().database(to_database).is_none() {
                    return Err(unknown_database(to_database));
                }
                if change.edit.catalog().is_taken(to_database, to) {
                    return Err(SqlError::new(ErrorKind::TableExists, &[to]));
                }
                check_name(to, ErrorKind::WrongTableName)?;
                if let Some(view) = view {
                    change.rename_view(&view, to_database, to)?;
                }
                if let Some(table) = table {
                    change.rename_table(&table, to_database, to)?;
                }
            }
            Ok(())
        })
    }

    /// TRUNCATE: a new, empty table under the same name; automatic ids start again.
    fn truncate(&mut self, name: &ast::TableName, locks: ObjectLocks, host: &dyn Host) -> SqlResult<()> {
        let table = self.table(name)?;
        self.change_schema(locks, host, |change| {
            let current = change.before.table_by_id(table.id()).cloned();
            let current = current.ok_or_else(|| no_such_table(&table.def))?;
            change.check_truncatable(&current)?;
            change.drop_table(&current);
            change.edit.remove_table(current.id);
            let id = change.engine.allocate_table_id(&change.runtime)?;
            change.create_table(
                TableDef {
                    id,
                    ..TableDef::clone(&current)
                },
                None,
            );
            Ok(())
        })
    }

    /// Database and name of a table that may not exist.
    pub(crate) fn qualified(&self, name: &ast::TableName) -> SqlResult<(String, String)> {
        let database = match &name.schema {
            Some(schema) => schema.as_str().to_owned(),
            None => self.database.as_deref().ok_or(ErrorKind::NoDb)?.to_owned(),
        };
        if crate::plan::is_virtual_database(&database) {
            return Err(SqlError::new(
                ErrorKind::DbAccessDenied,
                &[&self.options.user, &self.options.host, &database],
            ));
        }
        Ok((database, name.name.as_str().to_owned()))
    }
}

impl SchemaChange<'_> {
    /// Creates an empty table in the store and the catalog.
    pub fn create_table(&mut self, def: TableDef, auto_increment: Option<u64>) {
        let mut transaction = self.runtime.transaction_mut();
        transaction.create_table(store_spec(&def));
        if let Some(next) = auto_increment {
            transaction.set_auto_increment(def.id, next);
        }
        drop(transaction);
        self.edit.put_table(def);
    }

    /// Removes the table's rows. The catalog is the caller's.
    pub fn drop_table(&mut self, table: &TableDef) {
        self.runtime.transaction_mut().drop_table(table.id);
    }

    /// From now on the table can no longer be read, either.
    fn take_altered(&self, table: TableId) -> SqlResult<()> {
        self.runtime
            .lock_definition(LockKey::Definition(table), LockMode::Exclusive)
    }

    /// Keeps other changes out until this one is committed, and starts from the newest catalog.
    fn lock_catalog(&mut self) -> SqlResult<()> {
        self.runtime.lock_definition(locks::CATALOG, LockMode::Exclusive)?;
        self.before = self.engine.catalog();
        self.edit = CatalogEdit::new(self.before.clone());
        Ok(())
    }

    /// Adds an index that the definition `def` of an existing table already lists.
    pub fn create_index(&mut self, def: &TableDef, index: &catalog::IndexDef) -> SqlResult<()> {
        let missing = || no_such_table(def);
        let rows = self.engine.participant().store().table(def.id).ok_or_else(missing)?;
        let created = self.runtime.transaction_mut().create_index(&rows, index_spec(index));
        created.map_err(|error| alter::index_error(&error, def, index, &rows, &self.runtime))?;
        governor::check().map_err(|stop| match stop {
            // What it was short of is for data, not for the statement.
            Stop::Memory(MemoryStop::Node { .. }) => SqlError::new(ErrorKind::RecordFileFull, &[&def.name]),
            other => other.into(),
        })?;
        failpoint::hit("alter.indexed")
    }

    /// Writes the catalog's rows.
    fn finish(self) -> SqlResult<Vec<CopyGuard>> {
        let table = self
            .engine
            .participant()
            .store()
            .table(SYSTEM_TABLE)
            .ok_or_else(|| SqlError::internal("the system table is missing"))?;
        for (name, document) in self.edit.rows() {
            if let Some(document) = document {
                catalog::check_row(name, document).map_err(SqlError::internal)?;
            }
            let (key, row) = system_row(name, document);
            let locked = |error| crate::errors::transaction_error(&error, "system table");
            self.runtime
                .with_locks(|transaction| transaction.lock_for_write(&table, &key))
                .map_err(|error| error.into_sql_named("system table"))?;
            let exists = self.runtime.transaction().get_current(&table, &key, |_| ()).is_some();
            let mut transaction = self.runtime.transaction_mut();
            let _ = match (row, exists) {
                (Some(row), true) => transaction.update(&table, &key, &key, &row).map_err(locked)?,
                (Some(row), false) => transaction.insert(&table, &key, &row).map_err(locked)?,
                (None, true) => transaction.delete(&table, &key).map_err(locked)?,
                (None, false) => transaction::Progress::Done,
            };
        }
        Ok(self.copies)
    }
}

/// `CREATE INDEX` as an ALTER TABLE.
fn adding_index(create: &ast::CreateIndex) -> ast::AlterTable {
    let action = ast::AlterAction::AddConstraint(ast::TableElement::Key(Box::new(create.key.clone())));
    ast::AlterTable {
        table: create.table.clone(),
        actions: vec![action],
        online: create.online,
        validation: None,
    }
}

/// `DROP INDEX` as an ALTER TABLE.
fn dropping_index(drop: &ast::DropIndex) -> ast::AlterTable {
    let action = match drop.name.eq_ignore_ascii_case("PRIMARY") {
        true => ast::AlterAction::DropPrimaryKey,
        false => ast::AlterAction::DropIndex(drop.name.clone()),
    };
    ast::AlterTable {
        table: drop.table.clone(),
        actions: vec![action],
        online: drop.online,
        validation: None,
    }
}

fn database_options(options: &[DatabaseOption], default: CollationId) -> SqlResult<(CollationId, bool)> {
    let mut collation = default;
    let mut charset = None;
    let mut read_only = false;
    for option in options {
        match option {
            DatabaseOption::Charset(Some(name)) => {
                let named = charset_by_name(name)?;
                charset = Some(named);
                collation = named.default_collation();
            }
            DatabaseOption::Collate(Some(name)) => {
                collation = collation_by_name(name)?;
                if let Some(charset) = charset.filter(|&charset| charset != collation.charset()) {
                    return Err(SqlError::new(
                        ErrorKind::CollationCharsetMismatch,
                        &[&&**name, &charset.name()],
                    ));
                }
            }
            DatabaseOption::Encryption(value) if !value.eq_ignore_ascii_case("n") => {
                return Err(SqlError::not_supported("ENCRYPTION"));
            }
            DatabaseOption::ReadOnly(value) => read_only = *value == Some(true),
            _ => {}
        }
    }
    if read_only {
        return Err(SqlError::not_supported("READ ONLY databases"));
    }
    Ok((collation, read_only))
}

pub(crate) fn unknown_database(name: &str) -> SqlError {
    SqlError::new(ErrorKind::BadDb, &[&name])
}

fn no_such_table(def: &TableDef) -> SqlError {
    SqlError::new(ErrorKind::NoSuchTable, &[&def.database, &def.name])
}
