//! ALTER TABLE.
//!
//! The actions are applied to a copy of the definition first; what differs afterwards decides how the change is made
//! ([`super::online`]). Names, comments, defaults and visibility concern the catalog alone; indexes are built or dropped in place;
//! columns are added, dropped, moved and widened over the rows as they are ([`types::row::generation`]); everything else
//! (types, the primary key) builds a new table beside the old one, which is read-only meanwhile, and exchanges the two in one commit.

mod dependents;
mod renames;
mod rows;

use std::collections::HashSet;
use std::sync::Arc;

use catalog::{ColumnDef, ColumnDefault, IndexDef, IndexKind, TableDef, same_name};
use parser::ast::{self, AlterAction, ColumnPosition};
use types::{ErrorKind, SqlError, SqlResult, TypeKind};

pub(super) use self::dependents::{columns_of, reads_new_column};
use self::rows::Copy;
pub(super) use self::rows::index_error;
use super::functional_keys::unused_hidden;
use super::online::{self, OnlineChange, Rows, Way, Wishes};
use super::{ObjectLocks, SchemaChange, TableBuilder, ttl};
use crate::engine::Engine;
use crate::expr::context::Strictness;
use crate::expr::{Settings, StatementContext};
use crate::host::Host;
use crate::session::{Answer, DefinitionServices, Session};
use crate::table::Table;

/// The new definition of a table, and where each of its columns comes from.
///
/// Names of columns, keys and constraints are those from before the statement, whatever the order of the actions: what is dropped goes
/// first, then what stays is changed, and what is added comes last. So names can be exchanged, and given again.
struct Altered {
    before: Arc<TableDef>,
    builder: TableBuilder,
    /// The old columns that an action has changed: none is changed twice.
    changed: HashSet<usize>,
    /// What is renamed, by its old and its new name.
    renamed: Vec<(String, String)>,
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

impl Session {
    /// Applies the actions to the table's definition.
    pub(super) fn altered(&mut self, alter: &ast::AlterTable, table: &Table, host: &dyn Host) -> SqlResult<Outcome> {
        let rename = alter.actions.iter().rev().find_map(|action| match action {
            AlterAction::RenameTable(to) => Some(to),
            _ => None,
        });
        let rename = rename.map(|to| self.qualified_for_rename(to, table)).transpose()?;
        let mut altered = Altered {
            before: table.def.clone(),
            changed: HashSet::new(),
            renamed: Vec::new(),
            builder: TableBuilder::new(
                TableDef::clone(&table.def),
                self.variables.settings.expressions.sql_mode,
            ),
            sources: (0..table.def.columns.len()).map(Some).collect(),
            auto_increment: None,
            foreign_keys: Vec::new(),
            rebuild: false,
        };
        // Columns last: with its last column a key is gone, and may be named all the same.
        let is_column = |action: &&AlterAction| matches!(action, AlterAction::DropColumn { .. });
        let (columns, others): (Vec<_>, Vec<_>) = alter.actions.iter().partition(is_column);
        for action in others.into_iter().chain(columns) {
            governor::tick()?;
            altered.drop_part(action)?;
        }
        altered.rename_indexes(&alter.actions)?;
        for action in &alter.actions {
            governor::tick()?;
            altered.change_part(action)?;
        }
        altered.rename_in_foreign_keys();
        for action in &alter.actions {
            governor::tick()?;
            altered.apply(action)?;
        }
        for hidden in unused_hidden(&altered.builder.def) {
            altered.remove_column(hidden);
        }
        altered.check_columns()?;
        for key in &altered.foreign_keys {
            altered.builder.add_foreign_key_index(key)?;
        }
        altered.check_new_foreign_keys()?;
        altered.builder.check_keys()?;
        let (mut def, warnings) = altered.builder.finish()?;
        self.warnings.append(warnings);
        if let Some((database, name)) = rename {
            def.database = database;
            def.name = name;
        }
        let loses_key = def.primary().is_none() && table.def.primary().is_some();
        if self.variables.settings.require_primary_key && loses_key {
            return Err(ErrorKind::TableWithoutPk.into());
        }
        dependents::drop_lonely_checks(&mut def, &alter.actions, &altered.sources)?;
        dependents::check(&table.def, &def, &alter.actions, &altered.sources)?;
        ttl::check_column_stays(&table.def, &def, &alter.actions, &altered.sources)?;
        self.check_expressions(&mut def, host)?;
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
            refuses_nulls: self.variables.settings.expressions.sql_mode.is_strict(),
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
        let way = match copies || ordered {
            true => Way::Copy(None),
            false => change.way,
        };
        let (copied, warnings) = {
            let (engine, settings) = (self.engine.clone(), self.variables.settings.expressions.clone());
            let mut warnings = types::Warnings::default();
            let prepare = |change: &mut SchemaChange<'_>| {
                change.check_place(&table.def, &def)?;
                let mut def = def.clone();
                change.alter_foreign_keys(&table.def, &mut def, &sources, way)?;
                let expiry_changes = ttl::changes(&table.def, &def, &sources);
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
                    change.end_expiry(&table.def, &altered.def, &sources);
                    if rows_of == Rows::ReadAnew {
                        let changed;
                        (changed, warnings) = with_conversions(&engine, &settings, |ctx| {
                            change.change_columns(&table, &altered, &sources, ctx)
                        });
                        changed?;
                    }
                    change.begin_expiry(&table.def, &altered.def, &sources);
                    let checked = change.check_new_keys(&table.def, &altered)?;
                    Prepared::InPlace(if adds_key { checked } else { there })
                };
                change.take_altered(table.id())?;
                if matches!(prepared, Prepared::InPlace(_)) && expiry_changes {
                    change.remove_expired(&table)?;
                }
                Ok(prepared)
            };
            let work = |change: &mut SchemaChange<'_>, prepared| {
                // Other tables may have been changed meanwhile, as far as this one has nothing to do with them.
                change.check_place(&table.def, &def)?;
                let mut def = def.clone();
                change.alter_foreign_keys(&table.def, &mut def, &sources, way)?;
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
            let copied = self.prepare_and_change(locks, host, prepare, work);
            (copied, warnings)
        };
        self.warnings.append(warnings);
        let copied = copied?;
        let warning_count = self.warnings.count();
        // A change of the name alone counts no records.
        if matches!(alter.actions[..], [AlterAction::RenameTable(_)]) {
            return Ok(Answer::done());
        }
        let counted = if matches!(way, Way::Copy(_)) { copied } else { 0 };
        Ok(Answer::records(counted, warning_count))
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

    /// Where the old column of that name is now; 1054 where it is gone, and where the statement changes it twice.
    fn column_to_change(&mut self, name: &str) -> SqlResult<usize> {
        let old = self.before.column(name).filter(|old| self.changed.insert(*old));
        let now = old.and_then(|old| self.sources.iter().position(|source| *source == Some(old)));
        now.ok_or_else(|| SqlError::new(ErrorKind::BadField, &[&name, &self.before.name]))
    }

    fn drop_part(&mut self, action: &AlterAction) -> SqlResult<()> {
        match action {
            AlterAction::DropColumn { name, .. } => self.drop_column(name),
            AlterAction::DropIndex(name) => self.drop_index(name),
            AlterAction::DropPrimaryKey => self.drop_index("PRIMARY"),
            AlterAction::DropCheck(name) => self.drop_check(name, ErrorKind::CheckConstraintNotFound),
            AlterAction::DropConstraint(name) => {
                let def = &self.builder.def;
                let is_foreign = def.foreign_key(name).is_some();
                let is_unique = def.index(name).is_some_and(IndexDef::is_unique);
                let is_check = def.checks.iter().any(|check| same_name(&check.name, name));
                match (is_foreign, is_unique) {
                    _ if u8::from(is_foreign) + u8::from(is_unique) + u8::from(is_check) > 1 => Err(SqlError::new(
                        ErrorKind::MultipleConstraintsWithName,
                        &[&&**name, &"DROP"],
                    )),
                    (true, _) => self.builder.drop_foreign_key(name),
                    (_, true) => self.drop_index(name),
                    _ => self.drop_check(name, ErrorKind::ConstraintNotFound),
                }
            }
            AlterAction::DropForeignKey(name) => self.builder.drop_foreign_key(name),
            _ => Ok(()),
        }
    }

    fn change_part(&mut self, action: &AlterAction) -> SqlResult<()> {
        match action {
            AlterAction::ChangeColumn { old, column, .. } => self.change_column(old, column)?,
            AlterAction::ModifyColumn { column, .. } => self.change_column(&column.name, column)?,
            AlterAction::SetDefault { column, default } => {
                let at = self.column_to_change(column)?;
                let ty = self.builder.def.columns[at].ty.clone();
                // Here a literal in parentheses is a literal, and such columns do not even take NULL, unlike where a column is defined.
                let default = match default {
                    ast::ColumnDefault::Expr(ast::Expr::Literal(value)) => &ast::ColumnDefault::Literal {
                        negative: false,
                        value: value.clone(),
                    },
                    _ => default,
                };
                let is_expression = matches!(default, ast::ColumnDefault::Expr(_));
                if !is_expression && (ty.kind.is_lob() || ty.kind == TypeKind::Json) {
                    return Err(SqlError::new(ErrorKind::BlobCantHaveDefault, &[&column.as_str()]));
                }
                if self.builder.def.columns[at].generated.is_some() {
                    let names: [&dyn std::fmt::Display; 2] = [&"DEFAULT", &"generated column"];
                    return Err(SqlError::new(ErrorKind::WrongUsage, &names));
                }
                let default = self.builder.default_of(column, default, &ty)?;
                if default == ColumnDefault::Null && !self.builder.def.columns[at].nullable {
                    return Err(SqlError::new(ErrorKind::InvalidDefault, &[&column.as_str()]));
                }
                self.builder.def.columns[at].default = Some(default);
            }
            AlterAction::DropDefault(column) => {
                let at = self.column_to_change(column)?;
                let column = &mut self.builder.def.columns[at];
                column.default = column.nullable.then_some(ColumnDefault::Dropped);
            }
            AlterAction::SetColumnVisible { column, visible } => {
                let at = self.column_to_change(column)?;
                self.builder.def.columns[at].invisible = !visible;
            }
            AlterAction::RenameColumn { old, new } => {
                let at = self.column_to_change(old)?;
                // What is too long is wrong, too.
                super::check_name(new, ErrorKind::WrongColumnName).map_err(|error| match error.kind() {
                    ErrorKind::TooLongIdent => SqlError::new(ErrorKind::WrongColumnName, &[&&**new]),
                    _ => error,
                })?;
                self.rename_column(at, new);
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
                let def = &mut self.builder.def;
                let is_other =
                    def.foreign_key(constraint).is_some() || def.index(constraint).is_some_and(IndexDef::is_unique);
                let check = def.checks.iter_mut().find(|check| same_name(&check.name, constraint));
                let kind = match is_check {
                    true => ErrorKind::CheckConstraintNotFound,
                    false if is_other => ErrorKind::AlterConstraintEnforcementNotSupported,
                    false => ErrorKind::ConstraintNotFound,
                };
                let missing = || SqlError::new(kind, &[&&**constraint]);
                check.ok_or_else(missing)?.enforced = *enforced;
            }
            _ => {}
        }
        Ok(())
    }

    /// What is added, moved, or concerns the table as a whole.
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
            AlterAction::ChangeColumn { column, position, .. } | AlterAction::ModifyColumn { column, position } => {
                self.place_column(&column.name, position.as_ref())?;
            }
            // Done before.
            AlterAction::SetDefault { .. }
            | AlterAction::DropDefault(_)
            | AlterAction::SetColumnVisible { .. }
            | AlterAction::SetIndexVisible { .. }
            | AlterAction::SetEnforced { .. }
            | AlterAction::DropColumn { .. }
            | AlterAction::DropIndex(_)
            | AlterAction::DropPrimaryKey
            | AlterAction::DropCheck(_)
            | AlterAction::DropConstraint(_)
            | AlterAction::DropForeignKey(_)
            | AlterAction::RenameColumn { .. }
            | AlterAction::RenameIndex { .. } => {}
            // Applied by the caller, at the end.
            AlterAction::RenameTable(_) => {}
            AlterAction::ConvertTo { charset, collation } => {
                self.convert_to(charset.as_deref(), collation.as_deref())?
            }
            // Indexes are always kept up: nothing to do.
            AlterAction::Keys { .. } => {}
            // Rows are always in key order; the rest of what MySQL does is to copy them.
            AlterAction::OrderBy(_) => self.rebuild = true,
            AlterAction::Force => self.rebuild = true,
            AlterAction::RemoveTtl => self.builder.def.ttl = None,
            AlterAction::Option(option) => {
                let TableBuilder { def, lenience, .. } = &mut self.builder;
                let options = super::table_options(std::slice::from_ref(option), &def.name, lenience)?;
                def.collation = options.collation.unwrap_or(def.collation);
                if matches!(option, ast::TableOption::Comment(_)) {
                    def.comment = options.comment;
                }
                def.kept_options.extend(options.kept);
                options.ttl.apply_to(&mut def.ttl)?;
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
            self.builder.add_constraint(constraint)?;
            // What it has added are hidden columns.
            self.sources.resize(self.builder.def.columns.len(), None);
            return Ok(());
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
        let at = self.position(position)?;
        let at = at.unwrap_or(self.builder.def.named_columns().len());
        self.builder.add_column(column, Some(at))?;
        self.sources.insert(at, None);
        Ok(())
    }

    /// MODIFY and CHANGE: a new definition for an old column.
    fn change_column(&mut self, old: &str, column: &ast::ColumnDef) -> SqlResult<()> {
        let at = self.column_to_change(old)?;
        let mut new: ColumnDef = self.builder.column_def(column)?;
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
        self.rename_column(at, &new.name);
        self.builder.def.columns[at] = new;
        self.builder.fit_prefixes(at);
        self.builder.add_column_keys(column, at)
    }

    fn rename_column(&mut self, at: usize, new: &str) {
        let old = std::mem::replace(&mut self.builder.def.columns[at].name, new.to_owned());
        if old != new {
            self.renamed.push((old, new.to_owned()));
        }
    }

    /// The foreign keys that stay name their columns anew, all at once, and so does the rule by which rows expire.
    fn rename_in_foreign_keys(&mut self) {
        self.builder.rename_in_foreign_keys(&self.renamed);
        ttl::rename(&mut self.builder.def, &self.renamed);
    }

    /// 1090 where no column is left, 1060 where two have one name.
    fn check_columns(&self) -> SqlResult<()> {
        let columns = &self.builder.def.columns;
        if columns.is_empty() {
            return Err(ErrorKind::CantRemoveAllFields.into());
        }
        let mut names = HashSet::new();
        for column in columns {
            governor::tick()?;
            if !names.insert(column.name.to_lowercase()) {
                return Err(SqlError::new(ErrorKind::DupFieldName, &[&column.name]));
            }
        }
        Ok(())
    }

    /// 1826 for a new foreign key under the name of one that this statement drops: what is new is known by its name.
    fn check_new_foreign_keys(&self) -> SqlResult<()> {
        let keys = &self.builder.def.foreign_keys;
        let added = &keys[keys.len() - self.foreign_keys.len()..];
        match added.iter().find(|key| self.before.foreign_key(&key.name).is_some()) {
            Some(key) => Err(SqlError::new(ErrorKind::FkDupName, &[&key.name])),
            None => Ok(()),
        }
    }

    /// FIRST and AFTER of a column that has been changed.
    fn place_column(&mut self, name: &str, position: Option<&ColumnPosition>) -> SqlResult<()> {
        let from = self.column(name)?;
        if let Some(ColumnPosition::After(other)) = position
            && same_name(other, name)
        {
            return Err(SqlError::new(ErrorKind::BadField, &[&name, &self.before.name]));
        }
        if let Some(to) = self.position(position)? {
            self.move_column(from, if to > from { to - 1 } else { to });
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
        self.remove_column(at);
        Ok(())
    }

    fn remove_column(&mut self, at: usize) {
        let def = &mut self.builder.def;
        def.columns.remove(at);
        self.sources.remove(at);
        for index in &mut def.indexes {
            index.parts.retain(|part| part.column != at);
            for part in &mut index.parts {
                part.column -= usize::from(part.column > at);
            }
        }
        def.indexes.retain(|index| !index.parts.is_empty());
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
