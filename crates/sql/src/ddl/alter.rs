//! ALTER TABLE.
//!
//! The actions are applied to a copy of the definition first; what differs afterwards decides how the change is made
//! ([`super::online`]). Names, comments, defaults and visibility concern the catalog alone; indexes are built or dropped in place;
//! columns are added, dropped, moved and widened over the rows as they are ([`types::row::generation`]); everything else
//! (types, the primary key) builds a new table beside the old one, which is read-only meanwhile, and exchanges the two in one commit.

mod dependents;
mod renames;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::{ColumnDef, ColumnDefault, IndexDef, IndexKind, TableDef, same_name};
use governor::stepwise::Stepwise;
use parser::ast::{self, AlterAction, ColumnPosition};
use store::{Cursor, Direction, KeyRange};
use transaction::{Options, Transaction, TransactionError};
use types::row::generation::{ColumnChange, ColumnSource};
use types::{ErrorKind, IndexId, SqlError, SqlResult, SqlType, Value};

pub(super) use self::dependents::columns_of;
use super::online::{self, OnlineChange, Rows, Way, Wishes};
use super::{ObjectLocks, SchemaChange, TableBuilder, no_such_table, unknown_database};
use crate::accounts::access::Access;
use crate::engine::Engine;
use crate::exec::Runtime;
use crate::exec::dml::{RowChanger, added_value, duplicate_error, id_behind, note_given_id};
use crate::exec::rows::read_row;
use crate::expr::context::Strictness;
use crate::expr::{Settings, StatementContext};
use crate::failpoint;
use crate::host::Host;
use crate::plan::Planner;
use crate::plan::changes::WriteRules;
use crate::session::{Answer, DefinitionServices, Session, wait_for_commit};
use crate::table::{Table, store_spec};
use crate::table_ids::CopyGuard;

/// Rows of a rebuild that are committed together.
const ROWS_PER_COMMIT: usize = 8192;

/// The new definition of a table, and where each of its columns comes from.
struct Altered {
    builder: TableBuilder,
    /// For each new column, its position in the old table; `None` for an added one.
    sources: Vec<Option<usize>>,
    auto_increment: Option<u64>,
    /// New foreign keys, whose indexes come after those that are asked for.
    foreign_keys: Vec<ast::ForeignKey>,
    /// `FORCE` and the like: build anew though nothing differs.
    rebuild: bool,
}

/// What ALTER TABLE makes of a table, before it is made.
pub(super) struct Outcome {
    pub def: TableDef,
    /// As in [`Altered`].
    pub sources: Vec<Option<usize>>,
    pub auto_increment: Option<u64>,
    rebuild: bool,
}

/// An ALTER TABLE that only has to be written into the catalog.
enum Prepared {
    /// The rows stay; so many were looked at.
    InPlace(u64),
    Copied(Copy),
}

/// A table that is to take another one's place.
struct Copy {
    table: Arc<Table>,
    job: CopyGuard,
    /// How many there are.
    rows: u64,
}

impl Session {
    /// Applies the actions to the table's definition.
    pub(super) fn altered(&mut self, alter: &ast::AlterTable, table: &Table, host: &dyn Host) -> SqlResult<Outcome> {
        let rename = alter.actions.iter().rev().find_map(|action| match action {
            AlterAction::RenameTable(to) => Some(to),
            _ => None,
        });
        let rename = rename.map(|to| self.qualified_for_rename(to, table)).transpose()?;
        let mut altered = Altered {
            builder: TableBuilder::new(
                TableDef::clone(&table.def),
                self.variables.settings.expressions.sql_mode,
            ),
            sources: (0..table.def.columns.len()).map(Some).collect(),
            auto_increment: None,
            foreign_keys: Vec::new(),
            rebuild: false,
        };
        let renames = altered.rename_indexes(&alter.actions)?;
        for action in &alter.actions {
            // Before names are given anew, indexes are dropped.
            if !renames || !matches!(action, AlterAction::DropIndex(_)) {
                altered.apply(action)?;
            }
        }
        for key in &altered.foreign_keys {
            altered.builder.add_foreign_key_index(key)?;
        }
        altered.builder.check_keys()?;
        let mut def = altered.builder.finish()?;
        if let Some((database, name)) = rename {
            def.database = database;
            def.name = name;
        }
        let loses_key = def.primary().is_none() && table.def.primary().is_some();
        if self.variables.settings.require_primary_key && loses_key {
            return Err(ErrorKind::TableWithoutPk.into());
        }
        dependents::drop_lonely_checks(&mut def, &alter.actions)?;
        dependents::check(&table.def, &def)?;
        self.check_expressions(&def, host)?;
        Ok(Outcome {
            def,
            sources: altered.sources,
            auto_increment: altered.auto_increment,
            rebuild: altered.rebuild,
        })
    }

    /// Answers with the rows that were copied, as far as MySQL copies rows for such a change.
    pub(super) fn alter_table(
        &mut self,
        alter: &ast::AlterTable,
        locks: ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<Answer> {
        let table = self.table(&alter.table)?;
        let Outcome {
            def,
            sources,
            auto_increment,
            rebuild,
        } = self.altered(alter, &table, host)?;
        let copies = alter.online.algorithm == Some(ast::AlterAlgorithm::Copy);
        let adds_key = self.variables.settings.foreign_key_checks
            && def
                .foreign_keys
                .iter()
                .any(|key| table.def.foreign_key(&key.name).is_none());
        // A key of the table to itself is checked where the indexes are, old and new.
        let adds_own_key = adds_key && def.foreign_keys_to(&def.database, &def.name).next().is_some();
        let wishes = Wishes {
            copy: copies || rebuild,
            adds_key,
            adds_own_key,
        };
        let rows_of = online::rows_of(&table, &def, &sources, wishes);
        let change = OnlineChange::new(&table.def, &def, &sources, &alter.actions, wishes);
        change.check(alter.online)?;
        let ordered = alter
            .actions
            .iter()
            .any(|action| matches!(action, AlterAction::OrderBy(_)));
        if ordered && def.primary().is_some() {
            let name = &table.def.name;
            let ignored = format!("ORDER BY ignored as there is a user-defined clustered index in the table '{name}'");
            self.warnings.push(
                types::Severity::Warning,
                SqlError::new(ErrorKind::UnknownError, &[&ignored]),
            );
        }
        let counts = copies || ordered || matches!(change.way, Way::Copy(_));
        let (copied, warnings) = {
            let (engine, settings) = (self.engine.clone(), self.variables.settings.expressions.clone());
            let mut warnings = types::Warnings::default();
            let prepare = |change: &mut SchemaChange<'_>| {
                change.check_place(&table.def, &def)?;
                let mut def = def.clone();
                change.alter_foreign_keys(&table.def, &mut def, &sources)?;
                let prepared = if rows_of == Rows::Copied {
                    let copy;
                    (copy, warnings) = with_conversions(&engine, &settings, |ctx| {
                        change.copy_table(&table, def, &sources, ctx, host)
                    });
                    Prepared::Copied(copy?)
                } else {
                    let there = table.rows.estimated_rows();
                    let altered = Arc::new(Table::new(Arc::new(def), table.rows.clone()));
                    change.alter_in_place(&table.def, &altered.def)?;
                    if rows_of == Rows::ReadAnew {
                        let changed;
                        (changed, warnings) = with_conversions(&engine, &settings, |ctx| {
                            change.change_columns(&table, &altered, &sources, ctx)
                        });
                        changed?;
                    }
                    let checked = change.check_new_keys(&table.def, &altered)?;
                    Prepared::InPlace(if adds_key { checked } else { there })
                };
                change.take_altered(table.id())?;
                Ok(prepared)
            };
            let work = |change: &mut SchemaChange<'_>, prepared| {
                // Other tables may have been changed meanwhile, as far as this one has nothing to do with them.
                change.check_place(&table.def, &def)?;
                let mut def = def.clone();
                change.alter_foreign_keys(&table.def, &mut def, &sources)?;
                match prepared {
                    Prepared::Copied(copy) => Ok(change.replace(&table, copy, def, auto_increment)),
                    Prepared::InPlace(rows) => {
                        if let Some(wanted) = auto_increment {
                            let next = wanted.max(change.behind_greatest_id(&table)?);
                            change.runtime.transaction_mut().reset_auto_increment(def.id, next);
                        }
                        change.edit.put_table(def);
                        Ok(rows)
                    }
                }
            };
            let copied = self.prepare_and_change(locks, host, prepare, work)?;
            (copied, warnings)
        };
        self.warnings.append(warnings);
        let warning_count = self.warnings.count();
        // A change of the name alone counts no records.
        if matches!(alter.actions[..], [AlterAction::RenameTable(_)]) {
            return Ok(Answer::done());
        }
        Ok(Answer::records(if counts { copied } else { 0 }, warning_count))
    }

    fn qualified_for_rename(&self, to: &ast::TableName, table: &Table) -> SqlResult<(String, String)> {
        super::check_name(&to.name, ErrorKind::WrongTableName)?;
        match &to.schema {
            Some(_) => self.qualified(to),
            None => Ok((table.def.database.clone(), to.name.as_str().to_owned())),
        }
    }
}

/// Does `work` with a context for the values that a copy of rows converts. Returns its warnings, too.
pub(super) fn with_conversions<R>(
    engine: &Engine,
    settings: &Settings,
    work: impl FnOnce(&StatementContext<'_>) -> R,
) -> (R, types::Warnings) {
    let micros = engine.clock_micros();
    let services = DefinitionServices::at(micros);
    let strictness = match settings.sql_mode.is_strict() {
        true => Strictness::Fail,
        false => Strictness::Warn,
    };
    let ctx =
        StatementContext::new(settings, &services, types::UnixTime { micros, fsp: 6 }).with_strictness(strictness);
    let result = work(&ctx);
    (result, ctx.take_warnings())
}

impl Altered {
    fn column(&self, name: &str) -> SqlResult<usize> {
        let table = &self.builder.def;
        table
            .column(name)
            .ok_or_else(|| SqlError::new(ErrorKind::BadField, &[&name, &table.name]))
    }

    fn apply(&mut self, action: &AlterAction) -> SqlResult<()> {
        match action {
            AlterAction::AddColumn { column, position } => self.add_column(column, position.as_ref())?,
            AlterAction::AddElements(elements) => {
                for element in elements {
                    match element {
                        ast::TableElement::Column(column) => self.add_column(column, None)?,
                        constraint => self.add_constraint(constraint)?,
                    }
                }
            }
            AlterAction::AddConstraint(constraint) => self.add_constraint(constraint)?,
            AlterAction::ChangeColumn { old, column, position } => {
                self.change_column(old, column, position.as_ref())?
            }
            AlterAction::ModifyColumn { column, position } => {
                self.change_column(&column.name, column, position.as_ref())?;
            }
            AlterAction::SetDefault { column, default } => {
                let at = self.column(column)?;
                let ty = self.builder.def.columns[at].ty.clone();
                let default = self.builder.default_of(column, default, &ty)?;
                self.builder.def.columns[at].default = Some(default);
            }
            AlterAction::DropDefault(column) => {
                let at = self.column(column)?;
                let column = &mut self.builder.def.columns[at];
                column.default = column.nullable.then_some(ColumnDefault::Dropped);
            }
            AlterAction::SetColumnVisible { column, visible } => {
                let at = self.column(column)?;
                self.builder.def.columns[at].invisible = !visible;
            }
            AlterAction::SetIndexVisible { index, visible } => {
                let found = self.index(index)?;
                if found.kind == IndexKind::Primary && !visible {
                    return Err(ErrorKind::PkIndexCantBeInvisible.into());
                }
                found.visible = *visible;
            }
            AlterAction::SetEnforced {
                constraint,
                check: is_check,
                enforced,
            } => {
                let checks = &mut self.builder.def.checks;
                let check = checks.iter_mut().find(|check| same_name(&check.name, constraint));
                let kind = match is_check {
                    true => ErrorKind::CheckConstraintNotFound,
                    false => ErrorKind::ConstraintNotFound,
                };
                let missing = || SqlError::new(kind, &[&&**constraint]);
                check.ok_or_else(missing)?.enforced = *enforced;
            }
            AlterAction::DropColumn { name, .. } => self.drop_column(name)?,
            AlterAction::DropIndex(name) => self.drop_index(name)?,
            AlterAction::DropPrimaryKey => self.drop_index("PRIMARY")?,
            AlterAction::DropCheck(name) => self.drop_check(name, ErrorKind::CheckConstraintNotFound)?,
            AlterAction::DropConstraint(name) => {
                if self.builder.def.foreign_key(name).is_some() {
                    self.builder.drop_foreign_key(name)?;
                } else if self.builder.def.index(name).is_some_and(IndexDef::is_unique) {
                    self.drop_index(name)?;
                } else {
                    self.drop_check(name, ErrorKind::ConstraintNotFound)?;
                }
            }
            AlterAction::DropForeignKey(name) => self.builder.drop_foreign_key(name)?,
            AlterAction::RenameColumn { old, new } => {
                let at = self.column(old)?;
                super::check_name(new, ErrorKind::WrongColumnName)?;
                if self.builder.def.column(new).is_some_and(|other| other != at) {
                    return Err(SqlError::new(ErrorKind::DupFieldName, &[&&**new]));
                }
                self.builder.rename_in_foreign_keys(old, new);
                self.builder.def.columns[at].name = new.as_str().to_owned();
            }
            // Applied by the caller: before all others, at the end.
            AlterAction::RenameIndex { .. } | AlterAction::RenameTable(_) => {}
            AlterAction::ConvertTo { charset, collation } => {
                self.convert_to(charset.as_deref(), collation.as_deref())?
            }
            // Indexes are always kept up: nothing to do.
            AlterAction::Keys { .. } => {}
            // Rows are always in key order; the rest of what MySQL does is to copy them.
            AlterAction::OrderBy(_) => self.rebuild = true,
            AlterAction::Force => self.rebuild = true,
            AlterAction::Option(option) => {
                let options = super::table_options(std::slice::from_ref(option))?;
                let def = &mut self.builder.def;
                def.collation = options.collation.unwrap_or(def.collation);
                if matches!(option, ast::TableOption::Comment(_)) {
                    def.comment = options.comment;
                }
                def.kept_options.extend(options.kept);
                self.auto_increment = options.auto_increment.or(self.auto_increment);
            }
            AlterAction::PartitionBy(_) | AlterAction::RemovePartitioning | AlterAction::Partition(_) => {
                return Err(SqlError::not_supported("PARTITION BY"));
            }
            AlterAction::SecondaryLoad | AlterAction::SecondaryUnload => {
                return Err(SqlError::not_supported("SECONDARY_ENGINE"));
            }
        }
        Ok(())
    }

    fn index(&mut self, name: &str) -> SqlResult<&mut IndexDef> {
        let table = self.builder.def.name.clone();
        let found = self
            .builder
            .def
            .indexes
            .iter_mut()
            .find(|index| same_name(&index.name, name));
        found.ok_or_else(|| SqlError::new(ErrorKind::KeyDoesNotExist, &[&name, &table]))
    }

    fn add_constraint(&mut self, constraint: &ast::TableElement) -> SqlResult<()> {
        let ast::TableElement::ForeignKey(key) = constraint else {
            return self.builder.add_constraint(constraint);
        };
        self.foreign_keys.push(ast::ForeignKey::clone(key));
        self.builder.add_foreign_key(key)
    }

    /// The position that FIRST or AFTER names.
    fn position(&self, position: Option<&ColumnPosition>) -> SqlResult<Option<usize>> {
        Ok(match position {
            None => None,
            Some(ColumnPosition::First) => Some(0),
            Some(ColumnPosition::After(name)) => Some(self.column(name)? + 1),
        })
    }

    fn add_column(&mut self, column: &ast::ColumnDef, position: Option<&ColumnPosition>) -> SqlResult<()> {
        let at = self.position(position)?.unwrap_or(self.builder.def.columns.len());
        self.builder.add_column(column, Some(at))?;
        self.sources.insert(at, None);
        Ok(())
    }

    /// MODIFY and CHANGE: a new definition for an old column, perhaps elsewhere.
    fn change_column(
        &mut self,
        old: &str,
        column: &ast::ColumnDef,
        position: Option<&ColumnPosition>,
    ) -> SqlResult<()> {
        let at = self.column(old)?;
        let mut new: ColumnDef = self.builder.column_def(column)?;
        if self.builder.def.column(&new.name).is_some_and(|other| other != at) {
            return Err(SqlError::new(ErrorKind::DupFieldName, &[&new.name]));
        }
        let in_primary = self
            .builder
            .def
            .primary()
            .is_some_and(|key| key.parts.iter().any(|part| part.column == at));
        if in_primary {
            if column.nullable == Some(true) {
                return Err(ErrorKind::PrimaryCantHaveNull.into());
            }
            new.nullable = false;
            new.ty.nullable = false;
        }
        self.builder.rename_in_foreign_keys(old, &new.name);
        self.builder.def.columns[at] = new;
        self.builder.fit_prefixes(at);
        self.builder.add_column_keys(column, at)?;
        if let Some(to) = self.position(position)? {
            self.move_column(at, if to > at { to - 1 } else { to });
        }
        Ok(())
    }

    fn move_column(&mut self, from: usize, to: usize) {
        let column = self.builder.def.columns.remove(from);
        self.builder.def.columns.insert(to, column);
        let source = self.sources.remove(from);
        self.sources.insert(to, source);
        for part in self.builder.def.indexes.iter_mut().flat_map(|index| &mut index.parts) {
            part.column = match part.column {
                column if column == from => to,
                column if from < column && column <= to => column - 1,
                column if to <= column && column < from => column + 1,
                column => column,
            };
        }
    }

    /// Also takes the column out of its indexes; an index without columns is gone.
    fn drop_column(&mut self, name: &str) -> SqlResult<()> {
        let missing = || SqlError::new(ErrorKind::CantDropFieldOrKey, &[&name]);
        let at = self.builder.def.column(name).ok_or_else(missing)?;
        let def = &mut self.builder.def;
        if def.columns.len() == 1 {
            return Err(ErrorKind::CantRemoveAllFields.into());
        }
        def.columns.remove(at);
        self.sources.remove(at);
        for index in &mut def.indexes {
            index.parts.retain(|part| part.column != at);
            for part in &mut index.parts {
                part.column -= usize::from(part.column > at);
            }
        }
        def.indexes.retain(|index| !index.parts.is_empty());
        Ok(())
    }

    fn drop_index(&mut self, name: &str) -> SqlResult<()> {
        let indexes = &mut self.builder.def.indexes;
        let at = indexes.iter().position(|index| same_name(&index.name, name));
        let missing = || SqlError::new(ErrorKind::CantDropFieldOrKey, &[&name]);
        indexes.remove(at.ok_or_else(missing)?);
        Ok(())
    }

    fn drop_check(&mut self, name: &str, missing: ErrorKind) -> SqlResult<()> {
        let checks = &mut self.builder.def.checks;
        let at = checks.iter().position(|check| same_name(&check.name, name));
        checks.remove(at.ok_or_else(|| SqlError::new(missing, &[&name]))?);
        Ok(())
    }

    /// `CONVERT TO CHARACTER SET`: all text columns, and the table's default.
    fn convert_to(&mut self, charset: Option<&str>, collation: Option<&str>) -> SqlResult<()> {
        let charset = charset
            .map(crate::names::charset_by_name)
            .transpose()?
            .unwrap_or(types::CharsetId::UTF8MB4);
        let collation = match collation {
            Some(name) => crate::names::collation_by_name(name)?,
            None => charset.default_collation(),
        };
        if collation.charset() != charset {
            return Err(SqlError::new(
                ErrorKind::CollationCharsetMismatch,
                &[&collation.name(), &charset.name()],
            ));
        }
        let def = &mut self.builder.def;
        def.collation = collation;
        for column in &mut def.columns {
            let has_text =
                column.ty.kind.is_text() || matches!(column.ty.kind, types::TypeKind::Enum | types::TypeKind::Set);
            if has_text {
                column.ty.collation = collation;
            }
        }
        Ok(())
    }
}

impl SchemaChange<'_> {
    /// Builds and drops indexes; the rows stay.
    fn alter_in_place(&mut self, old: &TableDef, new: &TableDef) -> SqlResult<()> {
        for index in old.secondaries() {
            if new.indexes.iter().all(|kept| kept.id != index.id) {
                self.runtime.transaction_mut().drop_index(old.id, index.id);
            }
        }
        for index in new.secondaries() {
            if old.indexes.iter().all(|known| known.id != index.id) {
                self.create_index(new, index)?;
            }
        }
        Ok(())
    }

    /// Whether the table is the one that the new definition was made for, and the new one's place is free.
    fn check_place(&self, old: &Arc<TableDef>, new: &TableDef) -> SqlResult<()> {
        let current = self.before.table_by_id(old.id).ok_or_else(|| no_such_table(old))?;
        if !Arc::ptr_eq(current, old) {
            return Err(ErrorKind::TableDefChanged.into());
        }
        if self.before.database(&new.database).is_none() {
            return Err(unknown_database(&new.database));
        }
        let moves = (&new.database, &new.name) != (&old.database, &old.name);
        match moves && self.before.is_taken(&new.database, &new.name) {
            true => Err(SqlError::new(ErrorKind::TableExists, &[&new.name])),
            false => Ok(()),
        }
    }

    /// Gives the rows there are the new columns, and the added ones their values.
    fn change_columns(
        &mut self,
        old: &Table,
        new: &Arc<Table>,
        sources: &[Option<usize>],
        ctx: &StatementContext<'_>,
    ) -> SqlResult<()> {
        let plan = self.planner(ctx);
        let rules: WriteRules = crate::plan::write_rules(&plan, new)?;
        let added = crate::plan::added_values(&plan, new, sources)?;
        let eval = ctx.eval();
        let changer = RowChanger::new(new, &rules, &self.runtime, &eval, false);
        let source = |column: usize| match online::stored(sources[column]) {
            Some(stored) => Ok(stored),
            None => {
                let value = added_value(&added[column], &[], &self.runtime, new, &eval)?;
                let value = self.converted(&changer, column, value, old, None)?;
                Ok(ColumnSource::added(&new.def.columns[column].ty, &value))
            }
        };
        let sources = (0..sources.len()).map(source).collect::<SqlResult<_>>()?;
        let columns = new.column_types().cloned().collect();
        let change = ColumnChange { columns, sources };
        self.runtime.transaction_mut().change_columns(old.id(), change);
        Ok(())
    }

    fn planner<'p>(&'p self, ctx: &'p StatementContext<'_>) -> Planner<'p> {
        Planner::new(
            &**self.engine,
            &self.before,
            ctx.eval(),
            Arc::new(Access::of_the_server()),
        )
    }

    /// Copies all rows into a new table.
    fn copy_table(
        &mut self,
        old: &Arc<Table>,
        def: TableDef,
        sources: &[Option<usize>],
        ctx: &StatementContext<'_>,
        host: &dyn Host,
    ) -> SqlResult<Copy> {
        let id = self.engine.allocate_table_id(&self.runtime)?;
        let def = TableDef { id, ..def };
        let (job, rows) = self.engine.begin_copy(store_spec(&def), host)?;
        let table = Arc::new(Table::new(Arc::new(def), rows));
        failpoint::hit("alter.copy_made")?;
        let mut commit = |part: Transaction| wait_for_commit(part.commit(), host);
        let copied = self.copy_rows(old, &table, sources, ctx, &mut commit);
        let copied = copied.and_then(|copied| self.check_new_keys(&old.def, &table).map(|_| copied));
        let rows = match copied {
            Ok(copied) => copied,
            Err(error) => {
                if let Some(removal) = self.engine.removal(&[id])? {
                    wait_for_commit(removal.commit(), host)?;
                }
                job.dismiss();
                return Err(error);
            }
        };
        failpoint::hit("alter.copied")?;
        Ok(Copy { table, job, rows })
    }

    /// Puts a copy in the old table's place. Returns how many rows there are.
    fn replace(&mut self, old: &Table, copy: Copy, def: TableDef, auto_increment: Option<u64>) -> u64 {
        let id = copy.table.id();
        // The counter of the copy is behind the greatest id of its rows.
        let before = auto_increment.unwrap_or_else(|| old.rows.next_auto_increment());
        let mut transaction = self.runtime.transaction_mut();
        transaction.set_auto_increment(id, before.max(copy.table.rows.next_auto_increment()));
        transaction.drop_table(old.id());
        drop(transaction);
        self.edit.remove_table(old.id());
        self.edit.put_table(TableDef { id, ..def });
        self.edit.remove_copy(id);
        self.copies.push(copy.job);
        copy.rows
    }

    /// The first automatic id that is greater than all ids of the rows.
    fn behind_greatest_id(&self, table: &Table) -> SqlResult<u64> {
        let Some(column) = table.def.auto_increment() else {
            return Ok(1);
        };
        let index = table
            .def
            .index_beginning_with(&[column])
            .ok_or_else(|| SqlError::internal("an AUTO_INCREMENT column has no index"))?;
        let direction = match index.parts[0].descending {
            true => Direction::Forward,
            false => Direction::Backward,
        };
        let mut cursor = Cursor::new(KeyRange::all(), direction);
        let mut greatest = None;
        while greatest.is_none() && !cursor.is_finished() {
            governor::tick()?;
            let transaction = self.runtime.transaction();
            transaction.scan_newest(&table.rows, index.id, &mut cursor, ROWS_PER_COMMIT, |entry| {
                greatest = Some(table.layout().column(entry.row(), column).to_value());
                std::ops::ControlFlow::Break(())
            });
        }
        Ok(greatest.map_or(1, |id| id_behind(&id)))
    }

    /// A transaction beside the change's own, for what need not be seen at once.
    fn begin_part(&self) -> Transaction {
        Transaction::begin(self.engine.participant().clone(), Options::default())
    }

    /// Copies all rows, and returns how many. They are committed piece by piece.
    pub(super) fn copy_rows(
        &self,
        old: &Arc<Table>,
        new: &Arc<Table>,
        sources: &[Option<usize>],
        ctx: &StatementContext<'_>,
        commit: &mut dyn FnMut(Transaction) -> SqlResult<()>,
    ) -> SqlResult<u64> {
        let plan = self.planner(ctx);
        let rules: WriteRules = crate::plan::write_rules(&plan, new)?;
        let added = crate::plan::added_values(&plan, new, sources)?;
        // Expressions see the other columns of the row: literals and kept values come first.
        let is_expression = |&column: &usize| sources[column].is_none() && added[column].is_expression();
        let (expressions, mut order): (Vec<_>, Vec<_>) = (0..sources.len()).partition(is_expression);
        order.extend(expressions);
        let mut cursor = Cursor::forward(KeyRange::all());
        let mut copied = 0;
        while !cursor.is_finished() {
            let mut batch = Stepwise::from(Vec::with_capacity(ROWS_PER_COMMIT));
            while batch.len() < ROWS_PER_COMMIT && !cursor.is_finished() {
                governor::tick()?;
                let left = ROWS_PER_COMMIT - batch.len();
                let transaction = self.runtime.transaction();
                transaction.scan(&old.rows, IndexId::PRIMARY, &mut cursor, left, |entry| {
                    batch.push(read_row(old.layout(), entry.row()));
                    match governor::is_due() {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                });
            }
            let transaction = RefCell::new(self.begin_part());
            let runtime = self.runtime.with_transaction(&transaction);
            let eval = ctx.eval();
            let mut changer = RowChanger::new(new, &rules, &runtime, &eval, false);
            for old_values in &batch {
                governor::tick()?;
                copied += 1;
                ctx.set_row_number(copied);
                let mut values = vec![Value::Null; sources.len()];
                for &column in &order {
                    let value = match sources[column] {
                        Some(source) => old_values[source].clone(),
                        None => added_value(&added[column], &values, &runtime, new, &eval)?,
                    };
                    values[column] = self.converted(&changer, column, value, old, sources[column])?;
                }
                changer.complete(&mut values)?;
                changer.insert(&values).map_err(|error| changer.error(error, &values))?;
                if let Some(column) = new.def.auto_increment() {
                    note_given_id(&runtime, new, &values[column]);
                }
            }
            commit(transaction.into_inner())?;
            failpoint::hit("alter.copied_some")?;
            governor::tick()?;
        }
        Ok(copied)
    }

    /// A value in the new column's type. NULL where it is no longer allowed, and text that is cut, are MySQL's errors of such a
    /// change.
    fn converted(
        &self,
        changer: &RowChanger<'_>,
        column: usize,
        value: Value,
        old: &Table,
        source: Option<usize>,
    ) -> SqlResult<Value> {
        let definition = &changer.table.def.columns[column];
        let before = source.map(|source| &old.def.columns[source].ty);
        if definition.generated.is_some() || before == Some(&definition.ty) {
            return Ok(value);
        }
        let names: [&dyn std::fmt::Display; 2] = [&definition.name, &changer.ctx.row_number()];
        let value = match value {
            Value::Timestamp(moment) => Value::DateTime(changer.ctx.settings.time_zone.to_local(moment)),
            value => value,
        };
        let nullability_alone = before.is_some_and(|before| {
            SqlType {
                nullable: false,
                ..before.clone()
            } == definition.ty
        });
        if value.is_null() && !definition.nullable {
            return Err(match nullability_alone {
                true => ErrorKind::InvalidUseOfNull.into(),
                false => SqlError::new(ErrorKind::DataTruncated, &names),
            });
        }
        let cuts_text = before.is_some_and(|before| before.kind.is_text() && definition.ty.kind.is_text());
        changer.assign(column, value).map_err(|error| match error.kind() {
            ErrorKind::DataTooLong if cuts_text => SqlError::new(ErrorKind::DataTruncated, &names),
            _ => error,
        })
    }
}

/// MySQL's error for an index that cannot be built: a duplicate is told with its values.
pub(super) fn index_error(
    error: &TransactionError,
    def: &TableDef,
    index: &IndexDef,
    rows: &Arc<store::Table>,
    runtime: &Runtime<'_>,
) -> SqlError {
    let TransactionError::DuplicateKey { existing, .. } = error else {
        return crate::errors::transaction_error(error, &def.name);
    };
    let table = Table::new(Arc::new(def.clone()), rows.clone());
    let values = runtime
        .transaction()
        .get_current(rows, existing, |row| read_row(rows.row_layout(), row));
    match values {
        Some(values) => duplicate_error(&table, index.id, &values, &types::time::TimeZone::UTC),
        None => SqlError::new(ErrorKind::DupUnknownInIndex, &[&index.name]),
    }
}
