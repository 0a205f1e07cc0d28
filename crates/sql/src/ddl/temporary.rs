//! CREATE, ALTER, DROP and TRUNCATE of temporary tables. Only ALTER ends the open transaction.

use std::cell::RefCell;
use std::sync::Arc;

use catalog::{CatalogEdit, TableDef};
use parser::ast::{self, CreateTableBody, Statement};
use transaction::{Options, Transaction};
use types::{ErrorKind, SqlError, SqlResult};

use super::alter::{Outcome, with_conversions};
use super::checks::definition_like;
use super::create_as::{NoAnswer, insert_of};
use super::full_text;
use super::{SchemaChange, adding_index, dropping_index, table_def, unknown_database};
use crate::exec::Runtime;
use crate::host::Host;
use crate::program::FrameCopy;
use crate::result::ServerStatus;
use crate::session::{Answer, Session, wait_for_commit};
use crate::statement_class::{ImplicitCommit, class_of};
use crate::table::{Table, store_spec};
use crate::temporary::free_rows;

/// The name that a table has while CREATE TABLE ... SELECT fills it: its query may read one of the final name.
pub(super) const UNFINISHED: &str = "#unfinished";

impl Session {
    /// Runs a definition that concerns temporary tables alone; `None` for every other statement.
    pub(super) fn define_temporary(&mut self, statement: &Statement, host: &dyn Host) -> SqlResult<Option<Answer>> {
        if class_of(statement).commit == ImplicitCommit::Never {
            self.check_temporary_in_xa()?;
        }
        match statement {
            Statement::CreateTable(create) if create.temporary => self.create_temporary(create, host).map(Some),
            Statement::DropTable(drop) => self.drop_temporary(drop, host),
            Statement::Truncate(name) if self.temporary_table(name).is_some() => {
                let (database, name) = self.qualified(name)?;
                if let Some(old) = self.temporary.get(&database, &name).cloned() {
                    let table = self.make_temporary(TableDef::clone(&old.def), None, host)?;
                    self.name_temporary(&database, &name, table);
                }
                Ok(Some(Answer::done()))
            }
            Statement::AlterTable(alter) => self.alter_if_temporary(alter, host),
            Statement::CreateIndex(create) => self.alter_if_temporary(&adding_index(create), host),
            Statement::DropIndex(drop) => self.alter_if_temporary(&dropping_index(drop), host),
            _ => Ok(None),
        }
    }

    /// ALTER TABLE, and with it CREATE INDEX and DROP INDEX: a new table takes the rows. Other than CREATE and DROP of a temporary
    /// table they end the open transaction, as in MySQL.
    fn alter_if_temporary(&mut self, alter: &ast::AlterTable, host: &dyn Host) -> SqlResult<Option<Answer>> {
        match self.temporary_table(&alter.table).cloned() {
            Some(table) => self.alter_temporary(alter, &table, host).map(Some),
            None => Ok(None),
        }
    }

    fn alter_temporary(&mut self, alter: &ast::AlterTable, table: &Arc<Table>, host: &dyn Host) -> SqlResult<Answer> {
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
        let next = auto_increment.unwrap_or_else(|| table.rows.next_auto_increment());
        let new = self.make_temporary(def, Some(next), host)?;
        let copied = self.copy_temporary(table, &new, &sources, host);
        let copied = match copied {
            Ok(copied) => copied,
            Err(error) => {
                self.free_temporary(Some(new));
                return Err(error);
            }
        };
        let old = self.temporary.remove(&table.def.database, &table.def.name);
        self.free_temporary(old);
        self.name_temporary(&database, &name, new);
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
            runtime: Runtime::new(
                engine.participant(),
                host,
                &transaction,
                self.variables.settings.of_statement(false),
            ),
            edit: CatalogEdit::new(before.clone()),
            before,
            copies: Vec::new(),
        };
        let store = self.transaction.local_store(&engine);
        let mut commit = |mut part: Transaction| {
            part.take_local().apply(store);
            Ok(())
        };
        let (copied, warnings) = with_conversions(&engine, &settings, |ctx| {
            change.copy_rows(old, new, sources, ctx, &mut commit)
        });
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
            return self.forgive(exists, create.if_not_exists).map(|()| Answer::done());
        }
        let catalog = self.engine.catalog();
        let in_database = catalog.database(&database).ok_or_else(|| unknown_database(&database))?;
        let collation = in_database.def.collation;
        let (def, auto_increment) = match &create.body {
            CreateTableBody::Like(other) => {
                let mut def = definition_like(&self.table(other)?.def, &database, &name)?;
                def.ttl = None;
                (def, None)
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
                self.warnings.append(options.warnings);
                (def, options.auto_increment)
            }
        };
        let table = self.make_temporary(def, auto_increment, host)?;
        self.name_temporary(&database, &name, table);
        self.transaction.note_created();
        Ok(Answer::done())
    }

    fn name_temporary(&mut self, database: &str, name: &str, table: Arc<Table>) {
        let old = self.temporary.put(database, name, table);
        self.free_temporary(old);
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
        self.name_temporary(database, UNFINISHED, table);
        let unfinished = ast::TableName::new(Some(database), UNFINISHED);
        let insert = insert_of(&unfinished, definition.duplicates, &source.shape, source.query);
        let frame = self.programs.frame();
        let parameters = FrameCopy::parameters(&frame);
        let filled = self.query_or_change(&insert, None, parameters, ServerStatus::default(), host, &mut NoAnswer);
        let unfinished = self.temporary.remove(database, UNFINISHED);
        match (filled, unfinished) {
            (Ok(answer), Some(table)) => {
                self.transaction.note_created();
                self.name_temporary(database, name, table);
                Ok(answer)
            }
            (Ok(_), None) => Err(SqlError::internal("a table that was just filled is missing")),
            (Err(error), unfinished) => {
                self.free_temporary(unfinished);
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
        if def.ttl.is_some() {
            return Err(ErrorKind::TtlOnTemporaryTable.into());
        }
        full_text::check_temporary(&def)?;
        self.check_expressions(&mut def, host)?;
        def.id = self.temporary.next_id();
        def.created_at = self.engine.clock_micros() / 1_000_000;
        let store = self.transaction.local_store(&self.engine);
        let rows = store.create(store_spec(&def)).map_err(SqlError::internal)?;
        if let Some(next) = auto_increment {
            rows.raise_auto_increment(next);
        }
        crate::failpoint::hit("temporary.made")?;
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
            let table = self.temporary.remove(&database, &name);
            self.free_temporary(table);
            self.transaction.note_dropped();
        }
        Ok(Some(Answer::done()))
    }

    /// Frees the rows of a table that has lost its name. Uncommitted changes of it go nowhere.
    fn free_temporary(&mut self, table: Option<Arc<Table>>) {
        let Some(table) = table else { return };
        let rows = self.transaction.local_store(&self.engine).remove(table.id());
        let estimated = rows.as_ref().map_or(0, |rows| rows.estimated_rows());
        free_rows(estimated, (rows, table));
    }

    /// Drops copies of tables that panics and ended sessions have left behind; an error leaves them to the next start.
    pub(crate) fn drop_abandoned_copies(&mut self, host: &dyn Host) {
        if !self.engine.has_abandoned_tables() {
            return;
        }
        let removal = self.engine.removal(&self.engine.take_abandoned_tables());
        let removed = removal.and_then(|removal| match removal {
            Some(removal) => wait_for_commit(removal.commit(), host),
            None => Ok(()),
        });
        if let Err(error) = removed {
            tracing::warn!(%error, "copies of tables stay until the next start");
        }
    }
}
