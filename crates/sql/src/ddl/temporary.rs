//! CREATE, ALTER, DROP and TRUNCATE of temporary tables. Only ALTER ends the open transaction.

use std::cell::RefCell;
use std::sync::Arc;

use catalog::{CatalogEdit, TableDef};
use parser::ast::{self, CreateTableBody, Statement};
use transaction::{Options, Transaction};
use types::{ErrorKind, SqlError, SqlResult, TableId};

use super::alter::{Outcome, with_conversions};
use super::create_as::{NoAnswer, insert_of};
use super::{SchemaChange, table_def, unknown_database};
use crate::engine::Engine;
use crate::exec::Runtime;
use crate::host::Host;
use crate::result::ServerStatus;
use crate::session::{Answer, Session, wait_for_commit};
use crate::table::{Table, store_spec};
use crate::temporary::temporary_id;

/// The name that a table has while CREATE TEMPORARY TABLE ... SELECT fills it: its query may read one of the final name.
const UNFINISHED: &str = "#unfinished";

impl Session {
    /// Runs a definition that concerns temporary tables alone; `None` for every other statement.
    pub(super) fn define_temporary(&mut self, statement: &Statement, host: &dyn Host) -> SqlResult<Option<Answer>> {
        match statement {
            Statement::CreateTable(create) if create.temporary => self.create_temporary(create, host).map(Some),
            Statement::DropTable(drop) => self.drop_temporary(drop, host),
            Statement::Truncate(name) if self.temporary_table(name).is_some() => {
                let (database, name) = self.qualified(name)?;
                if let Some(old) = self.temporary.get(&database, &name).cloned() {
                    let table = self.make_temporary(TableDef::clone(&old.def), None, host)?;
                    self.temporary.put(&database, &name, table);
                    self.drop_nameless_tables(host)?;
                }
                Ok(Some(Answer::done()))
            }
            Statement::AlterTable(alter) if self.temporary_table(&alter.table).is_some() => {
                self.alter_table(alter, host).map(Some)
            }
            Statement::CreateIndex(create) if self.temporary_table(&create.table).is_some() => {
                self.create_index(create, host).map(Some)
            }
            Statement::DropIndex(drop) if self.temporary_table(&drop.table).is_some() => {
                self.drop_index(drop, host).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// ALTER TABLE, and with it CREATE INDEX and DROP INDEX: a new table takes the rows. Other than CREATE and DROP of a temporary
    /// table they end the open transaction, as in MySQL.
    pub(super) fn alter_temporary(
        &mut self,
        alter: &ast::AlterTable,
        table: &Arc<Table>,
        host: &dyn Host,
    ) -> SqlResult<Answer> {
        let Outcome {
            def,
            sources,
            auto_increment,
            ..
        } = self.altered(alter, table, host)?;
        let (database, name) = (def.database.clone(), def.name.clone());
        let taken = self.temporary.get(&database, &name);
        if taken.is_some_and(|other| other.id() != table.id()) {
            return Err(SqlError::new(ErrorKind::TableExists, &[&name]));
        }
        self.transaction.commit(host)?;
        let next = auto_increment.unwrap_or(0).max(table.rows.next_auto_increment());
        let new = self.make_temporary(def, Some(next), host)?;
        let copied = self.copy_temporary(table, &new, &sources, host);
        let copied = match copied {
            Ok(copied) => copied,
            Err(error) => {
                drop_rows(&self.engine, &[new.id()], host)?;
                return Err(error);
            }
        };
        self.temporary.remove(&table.def.database, &table.def.name);
        self.temporary.put(&database, &name, new);
        self.drop_nameless_tables(host)?;
        if matches!(alter.actions[..], [ast::AlterAction::RenameTable(_)]) {
            return Ok(Answer::done());
        }
        Ok(Answer::records(copied, self.warnings.count()))
    }

    fn copy_temporary(
        &mut self,
        old: &Arc<Table>,
        new: &Arc<Table>,
        sources: &[Option<usize>],
        host: &dyn Host,
    ) -> SqlResult<u64> {
        let engine = self.engine.clone();
        let settings = self.variables.settings.expressions.clone();
        let transaction = RefCell::new(Transaction::begin(engine.participant().clone(), Options::default()));
        let before = engine.catalog();
        let change = SchemaChange {
            engine: &engine,
            runtime: Runtime::new(&engine, host, &transaction, &self.variables.settings, false),
            edit: CatalogEdit::new(before.clone()),
            before,
            copies: Vec::new(),
        };
        let (copied, warnings) =
            with_conversions(&engine, &settings, |ctx| change.copy_rows(old, new, sources, ctx, host));
        drop(change);
        self.warnings.append(warnings);
        copied
    }

    /// The temporary table of a name.
    pub(crate) fn temporary_table(&self, name: &ast::TableName) -> Option<&Arc<Table>> {
        let database = name.schema.as_ref().map(|schema| schema.as_str());
        self.temporary.get(database.or(self.database.as_deref())?, &name.name)
    }

    fn create_temporary(&mut self, create: &ast::CreateTable, host: &dyn Host) -> SqlResult<Answer> {
        let (database, name) = self.qualified(&create.name)?;
        if self.temporary.get(&database, &name).is_some() {
            let exists = SqlError::new(ErrorKind::TableExists, &[&name]);
            if !create.if_not_exists {
                return Err(exists);
            }
            self.warnings.note(exists);
            return Ok(Answer::done());
        }
        let catalog = self.engine.catalog();
        let in_database = catalog.database(&database).ok_or_else(|| unknown_database(&database))?;
        let collation = in_database.def.collation;
        let (def, auto_increment) = match &create.body {
            CreateTableBody::Like(other) => {
                let other = TableDef::clone(&self.table(other)?.def);
                let (database, name) = (database.clone(), name.clone());
                (
                    TableDef {
                        database,
                        name,
                        foreign_keys: Vec::new(),
                        ..other
                    },
                    None,
                )
            }
            CreateTableBody::Definition(definition) if definition.query.is_some() => {
                return self.create_temporary_as((&database, &name), definition, collation, host);
            }
            CreateTableBody::Definition(definition) => {
                let (def, options) = table_def(
                    &database,
                    &name,
                    definition,
                    collation,
                    self.variables.settings.expressions.sql_mode,
                )?;
                (def, options.auto_increment)
            }
        };
        let table = self.make_temporary(def, auto_increment, host)?;
        self.temporary.put(&database, &name, table);
        Ok(Answer::done())
    }

    /// The rows come in by the session's transaction.
    fn create_temporary_as(
        &mut self,
        (database, name): (&str, &str),
        definition: &ast::TableDefinition,
        collation: types::CollationId,
        host: &dyn Host,
    ) -> SqlResult<Answer> {
        let source = self.source_of(definition, host)?;
        let (def, auto_increment) =
            self.definition_with_columns(database, name, definition, collation, &source.shape)?;
        let table = self.make_temporary(def, auto_increment, host)?;
        self.temporary.put(database, UNFINISHED, table);
        let unfinished = ast::TableName::new(Some(database), UNFINISHED);
        let insert = insert_of(&unfinished, definition.duplicates, &source.shape, source.query);
        let filled = self.query_or_change(&insert, None, &[], ServerStatus::default(), host, &mut NoAnswer);
        match filled {
            Ok(answer) => {
                self.temporary.rename(database, UNFINISHED, name);
                Ok(answer)
            }
            Err(error) => {
                self.temporary.remove(database, UNFINISHED);
                self.drop_nameless_tables(host)?;
                Err(error)
            }
        }
    }

    /// Makes the rows' place in the store.
    fn make_temporary(
        &mut self,
        mut def: TableDef,
        auto_increment: Option<u64>,
        host: &dyn Host,
    ) -> SqlResult<Arc<Table>> {
        if !def.foreign_keys.is_empty() {
            return Err(ErrorKind::CannotAddForeign.into());
        }
        self.check_expressions(&def, host)?;
        def.id = temporary_id(self.engine.next_temporary());
        def.created_at = self.engine.clock_micros() / 1_000_000;
        let mut transaction = Transaction::begin(self.engine.participant().clone(), Options::default());
        transaction.create_table(store_spec(&def));
        if let Some(next) = auto_increment {
            transaction.set_auto_increment(def.id, next);
        }
        wait_for_commit(transaction.commit(), host)?;
        crate::failpoint::hit("temporary.made")?;
        let rows = self.engine.participant().store().table(def.id);
        let rows = rows.ok_or_else(|| SqlError::internal("a table that was just made is missing"))?;
        Ok(Arc::new(Table::new(Arc::new(def), rows)))
    }

    /// `None` where no temporary table is among them. Where others are too, those go first: only they can be refused.
    fn drop_temporary(&mut self, drop: &ast::DropTable, host: &dyn Host) -> SqlResult<Option<Answer>> {
        let (own, others): (Vec<_>, Vec<_>) = drop
            .names
            .iter()
            .cloned()
            .partition(|name| self.temporary_table(name).is_some());
        if own.is_empty() && !drop.temporary {
            return Ok(None);
        }
        if !others.is_empty() && !drop.temporary {
            let names = others;
            let rest = ast::DropTable { names, ..drop.clone() };
            self.data_definition(&Statement::DropTable(Box::new(rest)), host)?;
        } else if !others.is_empty() {
            let mut unknown = Vec::with_capacity(others.len());
            for name in &others {
                let (database, name) = self.qualified(name)?;
                unknown.push(format!("{database}.{name}"));
            }
            if !drop.if_exists {
                return Err(SqlError::new(ErrorKind::BadTable, &[&unknown.join(",")]));
            }
            for name in &unknown {
                self.warnings.note(SqlError::new(ErrorKind::BadTable, &[name]));
            }
        }
        for name in &own {
            let (database, name) = self.qualified(name)?;
            self.temporary.remove(&database, &name);
        }
        self.drop_nameless_tables(host)?;
        Ok(Some(Answer::done()))
    }

    /// Drops what this session and those that have ended have left behind; an error leaves it to the next start.
    pub(crate) fn drop_unused_tables(&mut self, host: &dyn Host) {
        if !self.temporary.has_nameless() && !self.engine.has_abandoned_tables() {
            return;
        }
        let dropped = self.drop_nameless_tables(host);
        let abandoned = drop_rows(&self.engine, &self.engine.take_abandoned_tables(), host);
        if let Err(error) = dropped.and(abandoned) {
            tracing::warn!(%error, "the rows of temporary tables stay until the next start");
        }
    }

    /// Drops the rows of temporary tables that have no name any more, unless the open transaction may have changed them.
    fn drop_nameless_tables(&mut self, host: &dyn Host) -> SqlResult<()> {
        if self.transaction.current().is_some() {
            return Ok(());
        }
        drop_rows(&self.engine, &self.temporary.take_nameless(), host)
    }
}

/// Drops tables of the store that nobody uses.
fn drop_rows(engine: &Engine, ids: &[TableId], host: &dyn Host) -> SqlResult<()> {
    if ids.is_empty() {
        return Ok(());
    }
    match engine.removal(ids)? {
        Some(removal) => wait_for_commit(removal.commit(), host),
        None => Ok(()),
    }
}
