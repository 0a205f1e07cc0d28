//! Foreign keys in the schema: what a definition may say, and what a change of one table means for its parents and children.
//!
//! A definition names its parent, so the parent may come later where `foreign_key_checks` is 0; whoever makes or renames a
//! table checks it against the keys that wait for its name. Statements that add a key lock the parent shared ([`super::locks`]): nobody is changing
//! its rows meanwhile, and who comes later plans with the key in mind.

use std::sync::Arc;

use catalog::{ForeignKeyDef, GeneratedKind, IndexDef, IndexKind, IndexPart, ReferenceAction, TableDef, same_name};
use parser::ast::{self, TableElement};
use store::{Cursor, KeyRange};
use types::{ErrorKind, IndexId, SqlError, SqlResult, SqlType, TableId, TypeKind, Value};

use super::checks::rename_own_checks;
use super::online::{Way, changes_type};
use super::table_def::check_constraint_name;
use super::{SchemaChange, TableBuilder};
use crate::exec::dml::encode_key;
use crate::show::create;
use crate::table::Table;

/// Rows looked at before others of the same core get their turn.
const ROWS_PER_CHUNK: usize = 1024;

// --- definitions ---

impl TableBuilder {
    /// Adds a foreign key, without the index that it needs.
    pub fn add_foreign_key(&mut self, written: &ast::ForeignKey) -> SqlResult<()> {
        let mut columns: Vec<String> = Vec::with_capacity(written.columns.len());
        for at in self.foreign_key_columns(written)? {
            let column = &self.def.columns[at].name;
            if columns.contains(column) {
                return Err(SqlError::new(ErrorKind::DupFieldName, &[column]));
            }
            columns.push(column.clone());
        }
        let references = &written.references;
        let given = written.constraint.as_deref();
        // Without columns it is the parent's primary key, which is not known here.
        if !references.columns.is_empty() && references.columns.len() != columns.len() {
            return Err(other_columns(given));
        }
        let name = match given {
            Some(name) => {
                check_constraint_name(name)?;
                if self.def.foreign_key(name).is_some() {
                    return Err(SqlError::new(ErrorKind::FkDupName, &[&name]));
                }
                name.to_owned()
            }
            None => self.next_foreign_key_name(),
        };
        let schema = references.table.schema.as_deref();
        let key = ForeignKeyDef {
            name,
            columns,
            parent_database: schema.unwrap_or(&self.def.database).to_owned(),
            parent_table: references.table.name.as_str().to_owned(),
            parent_columns: references
                .columns
                .iter()
                .map(|column| column.as_str().to_owned())
                .collect(),
            on_delete: action(references.on_delete)?,
            on_update: action(references.on_update)?,
        };
        self.def.foreign_keys.push(key);
        Ok(())
    }

    /// Adds an index for a foreign key, unless one serves it already. As in MySQL, one with a descending part does not, though it is kept
    /// in use where the other is dropped.
    pub fn add_foreign_key_index(&mut self, written: &ast::ForeignKey) -> SqlResult<()> {
        let columns = self.foreign_key_columns(written)?;
        if self.def.indexes.iter().any(|index| rises_with(index, &columns)) {
            return Ok(());
        }
        let parts = columns.into_iter().map(|column| IndexPart {
            column,
            prefix: None,
            descending: false,
            elements: None,
        });
        let name = written.constraint.as_deref().or(written.index.as_deref());
        self.add_index(IndexKind::Plain, name, parts.collect(), &ast::KeyOptions::default())?;
        if let Some(index) = self.def.indexes.last_mut() {
            index.generated = true;
        }
        Ok(())
    }

    fn foreign_key_columns(&self, written: &ast::ForeignKey) -> SqlResult<Vec<usize>> {
        let missing = |name: &ast::Ident| SqlError::new(ErrorKind::KeyColumnDoesNotExist, &[&name.as_str()]);
        let position = |name: &ast::Ident| self.def.column(name).ok_or_else(|| missing(name));
        written.columns.iter().map(position).collect()
    }

    /// `table_ibfk_n`, with the number after the greatest in use.
    fn next_foreign_key_name(&self) -> String {
        let table = &self.def.name;
        let numbers = self
            .def
            .foreign_keys
            .iter()
            .filter_map(|key| generated_number(&key.name, table)?.parse::<u64>().ok());
        format!("{table}_ibfk_{}", numbers.max().unwrap_or(0) + 1)
    }

    pub fn drop_foreign_key(&mut self, name: &str) -> SqlResult<()> {
        let keys = &mut self.def.foreign_keys;
        let at = keys.iter().position(|key| same_name(&key.name, name));
        let missing = || SqlError::new(ErrorKind::CantDropFieldOrKey, &[&name]);
        keys.remove(at.ok_or_else(missing)?);
        Ok(())
    }

    /// Columns have new names, for the keys of the table itself.
    pub fn rename_in_foreign_keys(&mut self, renamed: &[(String, String)]) {
        let (database, table) = (self.def.database.clone(), self.def.name.clone());
        for key in &mut self.def.foreign_keys {
            let own = key.refers_to(&database, &table);
            let parents = key.parent_columns.iter_mut().filter(|_| own);
            for column in key.columns.iter_mut().chain(parents) {
                if let Some((_, new)) = renamed.iter().find(|(old, _)| same_name(column, old)) {
                    *column = new.clone();
                }
            }
        }
    }

    /// What can be said of the foreign keys when all columns and indexes are known.
    pub(super) fn finish_foreign_keys(&mut self) -> SqlResult<()> {
        self.drop_redundant_indexes();
        self.def
            .foreign_keys
            .iter()
            .try_for_each(|key| check_columns(&self.def, key))
    }

    /// Removes the index of the name that a written key wants, if it was made for a foreign key and the new one takes its place.
    pub(super) fn give_way(&mut self, name: &str, key: &ast::KeyDef) {
        let columns = &self.def.columns;
        self.def.indexes.retain(|index| {
            let named = || -> Vec<&str> { index.parts.iter().map(|part| &*columns[part.column].name).collect() };
            !(index.generated && same_name(&index.name, name) && will_rise_with(key, &named()))
        });
    }

    /// An index made for a foreign key goes when another one begins with its columns.
    fn drop_redundant_indexes(&mut self) {
        let mut at = 0;
        while at < self.def.indexes.len() {
            let index = self.def.indexes[at].clone();
            let mut others = self.def.indexes.iter().filter(|other| other.id != index.id);
            let columns: Vec<usize> = index.parts.iter().map(|part| part.column).collect();
            match index.generated && others.any(|other| rises_with(other, &columns)) {
                true => drop(self.def.indexes.remove(at)),
                false => at += 1,
            }
        }
    }
}

/// Whether rows are found by an index that begins with the columns, whole, in this order and ascending.
fn rises_with(index: &IndexDef, columns: &[usize]) -> bool {
    let mut both = index.parts.iter().zip(columns);
    index.is_ordered()
        && index.parts.len() >= columns.len()
        && both.all(|(part, column)| part.column == *column && part.prefix.is_none() && !part.descending)
}

/// Whether a CREATE TABLE itself has a key that serves the foreign key, perhaps further on.
pub(super) fn has_written_key(elements: &[TableElement], foreign: &ast::ForeignKey) -> bool {
    let columns: Vec<&str> = foreign.columns.iter().map(|column| column.as_str()).collect();
    elements.iter().any(|element| match element {
        TableElement::Key(key) => will_rise_with(key, &columns),
        _ => false,
    })
}

/// Whether the index of a written key is going to serve for these columns, as [`rises_with`] says of one that is there.
fn will_rise_with(key: &ast::KeyDef, columns: &[&str]) -> bool {
    let begins = |(part, column): (&ast::KeyPart, &&str)| match part {
        ast::KeyPart::Column {
            name,
            length: None,
            descending: false,
        } => same_name(name, column),
        _ => false,
    };
    // A multi-valued one has no entries of rows with empty arrays.
    let has_elements = |part: &ast::KeyPart| {
        let ast::KeyPart::Expr { expr, .. } = part else {
            return false;
        };
        matches!(expr, ast::Expr::Cast(cast) if cast.array)
    };
    !matches!(key.kind, ast::KeyKind::FullText | ast::KeyKind::Spatial)
        && !key.parts.iter().any(has_elements)
        && key.parts.len() >= columns.len()
        && key.parts.iter().zip(columns).all(begins)
}

fn action(written: Option<ast::ReferenceAction>) -> SqlResult<ReferenceAction> {
    Ok(match written {
        None | Some(ast::ReferenceAction::NoAction) => ReferenceAction::NoAction,
        Some(ast::ReferenceAction::Restrict) => ReferenceAction::Restrict,
        Some(ast::ReferenceAction::Cascade) => ReferenceAction::Cascade,
        Some(ast::ReferenceAction::SetNull) => ReferenceAction::SetNull,
        Some(ast::ReferenceAction::SetDefault) => return Err(ErrorKind::CannotAddForeign.into()),
    })
}

/// The number of a name that was made for a key of the table.
fn generated_number<'n>(name: &'n str, table: &str) -> Option<&'n str> {
    let number = name.strip_prefix(table)?.strip_prefix("_ibfk_")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
}

/// Whether the key's columns can do what its actions ask for.
fn check_columns(def: &TableDef, key: &ForeignKeyDef) -> SqlResult<()> {
    let clause = match (key.on_delete, key.on_update) {
        (_, ReferenceAction::Cascade) => Some("ON UPDATE CASCADE"),
        (_, ReferenceAction::SetNull) => Some("ON UPDATE SET NULL"),
        (ReferenceAction::SetNull, _) => Some("ON DELETE SET NULL"),
        _ => None,
    };
    let sets_null = [key.on_delete, key.on_update].contains(&ReferenceAction::SetNull);
    for at in def.columns_named(&key.columns).unwrap_or_default() {
        let column = &def.columns[at];
        if sets_null && !column.nullable {
            return Err(SqlError::new(ErrorKind::FkColumnNotNull, &[&column.name, &key.name]));
        }
        match (column.generated.as_ref().map(|generated| generated.kind), clause) {
            (Some(GeneratedKind::Virtual), _) => {
                return Err(SqlError::new(
                    ErrorKind::FkCannotUseVirtualColumn,
                    &[&key.name, &column.name],
                ));
            }
            (Some(GeneratedKind::Stored), Some(clause)) => {
                return Err(SqlError::new(ErrorKind::WrongFkOptionForGeneratedColumn, &[&clause]));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the parent has what the key refers to: 3734, 3780, 1822.
fn check_parent_key(child: &TableDef, key: &ForeignKeyDef, parent: &TableDef) -> SqlResult<()> {
    // A parent that expires would leave its children.
    if parent.ttl.is_some() {
        return Err(ErrorKind::TtlReferencedByForeignKey.into());
    }
    let mut columns = Vec::with_capacity(key.columns.len());
    for (own, name) in key.columns.iter().zip(&key.parent_columns) {
        let missing = || SqlError::new(ErrorKind::FkNoColumnParent, &[name, &key.name, &parent.name]);
        let at = parent.column(name).ok_or_else(missing)?;
        let own_at = child.column(own);
        let is_alike = own_at.is_some_and(|own| are_alike(&child.columns[own].ty, &parent.columns[at].ty));
        if !is_alike {
            return Err(SqlError::new(ErrorKind::FkIncompatibleColumns, &[own, name, &key.name]));
        }
        columns.push(at);
    }
    match parent.index_beginning_with(&columns) {
        Some(_) => Ok(()),
        None => Err(SqlError::new(ErrorKind::FkNoIndexParent, &[&key.name, &parent.name])),
    }
}

/// Whether values of one type are values of the other, but for the length of strings.
fn are_alike(a: &SqlType, b: &SqlType) -> bool {
    let is_string = |ty: &SqlType| matches!(ty.kind, TypeKind::Char | TypeKind::VarChar);
    if is_string(a) && is_string(b) {
        return a.collation == b.collation;
    }
    let same = a.kind == b.kind && a.unsigned == b.unsigned && a.decimals == b.decimals;
    same && match a.kind {
        TypeKind::Decimal | TypeKind::Binary | TypeKind::Bit => a.length == b.length,
        TypeKind::Enum | TypeKind::Set => a.labels == b.labels && a.collation == b.collation,
        _ => true,
    }
}

/// 1239
fn other_columns(name: Option<&str>) -> SqlError {
    let name = name.unwrap_or("foreign key without name");
    SqlError::new(
        ErrorKind::WrongFkDef,
        &[&name, &"Key reference and table reference don't match"],
    )
}

// --- a change of the schema ---

impl SchemaChange<'_> {
    /// `REFERENCES parent` without columns means the parent's primary key.
    pub fn name_parent_keys(&self, def: &mut TableDef) -> SqlResult<()> {
        for at in 0..def.foreign_keys.len() {
            let key = &def.foreign_keys[at];
            if !key.parent_columns.is_empty() {
                continue;
            }
            let parent = match key.refers_to(&def.database, &def.name) {
                true => Some(&*def),
                false => self
                    .edit
                    .catalog()
                    .table(&key.parent_database, &key.parent_table)
                    .map(|parent| &**parent),
            };
            if parent.is_none() && self.runtime.settings.foreign_key_checks {
                return Err(SqlError::new(ErrorKind::FkCannotOpenParent, &[&key.parent_table]));
            }
            let named = |parent: &TableDef| {
                let parts = parent.primary().into_iter().flat_map(|primary| &primary.parts);
                parts.map(|part| parent.columns[part.column].name.clone()).collect()
            };
            let columns: Vec<String> = parent.map(named).unwrap_or_default();
            if columns.len() != key.columns.len() {
                let is_generated = generated_number(&key.name, &def.name).is_some();
                return Err(other_columns((!is_generated).then_some(&key.name)));
            }
            def.foreign_keys[at].parent_columns = columns;
        }
        Ok(())
    }

    /// Checks a new table: the names of its checks, its own keys, and those that have waited for its name.
    pub fn check_constraints(&self, def: &TableDef) -> SqlResult<()> {
        self.check_names_of_checks(None, def)?;
        for key in &def.foreign_keys {
            self.check_name_is_free(def, key)?;
            self.check_parent(def, key)?;
        }
        self.check_children(def)
    }

    /// The name of a foreign key belongs to it alone in the database.
    fn check_name_is_free(&self, def: &TableDef, key: &ForeignKeyDef) -> SqlResult<()> {
        let database = self.edit.catalog().database(&def.database);
        let mut tables = database.into_iter().flat_map(|database| database.tables.values());
        match tables.any(|table| table.id != def.id && table.foreign_key(&key.name).is_some()) {
            true => Err(SqlError::new(ErrorKind::FkDupName, &[&key.name])),
            false => Ok(()),
        }
    }

    /// Whether the parent of a new key has what the key refers to.
    fn check_parent(&self, child: &TableDef, key: &ForeignKeyDef) -> SqlResult<()> {
        if key.refers_to(&child.database, &child.name) {
            return check_parent_key(child, key, child);
        }
        let Some(parent) = self.edit.catalog().table(&key.parent_database, &key.parent_table) else {
            return match self.runtime.settings.foreign_key_checks {
                true => Err(SqlError::new(ErrorKind::FkCannotOpenParent, &[&key.parent_table])),
                false => Ok(()),
            };
        };
        check_parent_key(child, key, parent)
    }

    /// Whether the table has what the keys of others refer to.
    fn check_children(&self, def: &TableDef) -> SqlResult<()> {
        let children = self.edit.catalog().children(&def.database, &def.name);
        for child in children.filter(|child| child.id != def.id) {
            for key in child.foreign_keys_to(&def.database, &def.name) {
                check_parent_key(child, key, def)?;
            }
        }
        Ok(())
    }

    /// 3730 while a table that stays refers to the one to be dropped.
    pub fn check_droppable(&self, table: &TableDef, dropped_too: &[TableId]) -> SqlResult<()> {
        match self.remaining_child(table, dropped_too) {
            Some((child, key)) => Err(SqlError::new(
                ErrorKind::CannotDropFkParent,
                &[&table.name, &key.name, &child.name],
            )),
            None => Ok(()),
        }
    }

    /// 1701 while another table refers to it.
    pub fn check_truncatable(&self, table: &TableDef) -> SqlResult<()> {
        let Some((child, key)) = self.remaining_child(table, &[]) else {
            return Ok(());
        };
        let named = format!(
            "{}.{}, CONSTRAINT {}",
            create::name(&child.database),
            create::name(&child.name),
            create::name(&key.name)
        );
        Err(SqlError::new(ErrorKind::TruncateIllegalFk, &[&named]))
    }

    /// A table, other than these, that refers to `table`; none where nobody looks.
    fn remaining_child<'s>(
        &'s self,
        table: &'s TableDef,
        except: &[TableId],
    ) -> Option<(&'s TableDef, &'s ForeignKeyDef)> {
        if !self.runtime.settings.foreign_key_checks {
            return None;
        }
        let mut children = self.before.children(&table.database, &table.name);
        let child = children.find(|child| child.id != table.id && !except.contains(&child.id))?;
        let key = child.foreign_keys_to(&table.database, &table.name).next()?;
        Some((child, key))
    }

    /// Gives a table its new name, here and where others refer to it.
    pub fn rename_table(&mut self, old: &TableDef, database: &str, name: &str) -> SqlResult<()> {
        if !old.triggers.is_empty() && old.database != database {
            return Err(ErrorKind::TrgInWrongSchema.into());
        }
        let mut new = TableDef {
            database: database.to_owned(),
            name: name.to_owned(),
            ..old.clone()
        };
        rename_own_keys(old, &mut new);
        rename_own_checks(old, &mut new)?;
        self.check_names_of_checks(Some(old), &new)?;
        for key in &new.foreign_keys {
            self.check_name_is_free(&new, key)?;
        }
        self.lead_children(old, &new, &|column| column.to_owned());
        self.check_children(&new)?;
        self.edit.put_table(new);
        Ok(())
    }

    /// Checks an altered table, and lets its name and its columns' new names be known where others refer to them.
    /// `sources` gives each new column's position in the old table. As in MySQL, a change that copies the rows leaves a key's columns as they are;
    /// one in place may let them refuse NULL.
    pub(super) fn alter_foreign_keys(
        &mut self,
        old: &TableDef,
        new: &mut TableDef,
        sources: &[Option<usize>],
        way: Way,
    ) -> SqlResult<()> {
        let place = |name: &str| {
            let from = old.column(name);
            sources.iter().position(|source| source.is_some() && *source == from)
        };
        let refuses = self.runtime.settings.foreign_key_checks && matches!(way, Way::Copy(_));
        for key in &old.foreign_keys {
            if new.foreign_key(&key.name).is_none() {
                continue;
            }
            let columns = Self::kept_columns(old, new, &key.columns, &place, |kind, column| match kind {
                Kept::Dropped => Some(SqlError::new(ErrorKind::FkColumnCannotDrop, &[&column, &key.name])),
                Kept::Changed => refuses.then(|| SqlError::new(ErrorKind::FkColumnCannotChange, &[&column, &key.name])),
            })?;
            check_index_stays(old, new, &key.columns, &columns)?;
        }
        for child in self.before.children(&old.database, &old.name) {
            for key in child.foreign_keys_to(&old.database, &old.name) {
                if child.id == old.id && new.foreign_key(&key.name).is_none() {
                    continue;
                }
                let columns = Self::kept_columns(old, new, &key.parent_columns, &place, |kind, column| match kind {
                    Kept::Dropped => Some(SqlError::new(
                        ErrorKind::FkColumnCannotDropChild,
                        &[&column, &key.name, &child.name],
                    )),
                    Kept::Changed => refuses.then(|| {
                        let child = format!("{}.{}", child.database, child.name);
                        SqlError::new(ErrorKind::FkColumnCannotChangeChild, &[&column, &key.name, &child])
                    }),
                })?;
                check_index_stays(old, new, &key.parent_columns, &columns)?;
            }
        }
        let is_new: Vec<bool> = new
            .foreign_keys
            .iter()
            .map(|key| old.foreign_key(&key.name).is_none())
            .collect();
        rename_own_keys(old, new);
        rename_own_checks(old, new)?;
        self.check_names_of_checks(Some(old), new)?;
        self.name_parent_keys(new)?;
        for (key, is_new) in new.foreign_keys.iter().zip(is_new) {
            self.check_name_is_free(new, key)?;
            let parent = self.edit.catalog().table(&key.parent_database, &key.parent_table);
            match parent {
                _ if is_new => self.check_parent(new, key)?,
                Some(parent) if parent.id == new.id => check_parent_key(new, key, new)?,
                Some(parent) => check_parent_key(new, key, parent)?,
                // A parent that has been missing may stay so.
                None => {}
            }
        }
        let renamed = |column: &str| place(column).map_or_else(|| column.to_owned(), |at| new.columns[at].name.clone());
        self.lead_children(old, new, &renamed);
        self.check_children(new)
    }

    /// The new positions of named columns, unless one is gone or has become another and `refusal` says so.
    fn kept_columns(
        old: &TableDef,
        new: &TableDef,
        names: &[String],
        place: &dyn Fn(&str) -> Option<usize>,
        refusal: impl Fn(Kept, &str) -> Option<SqlError>,
    ) -> SqlResult<Vec<usize>> {
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let Some(from) = old.column(name) else { continue };
            let (before, after) = (&old.columns[from], place(name));
            let refused = match after.map(|at| &new.columns[at]) {
                None => refusal(Kept::Dropped, name),
                Some(after) if changes_type(&before.ty, &after.ty) || before.nullable && !after.nullable => {
                    refusal(Kept::Changed, name)
                }
                Some(_) => None,
            };
            if let Some(error) = refused {
                return Err(error);
            }
            columns.extend(after);
        }
        Ok(columns)
    }

    /// Lets the keys that refer to a table refer to its new name and columns. Keys of the table itself know already.
    fn lead_children(&mut self, old: &TableDef, new: &TableDef, column: &dyn Fn(&str) -> String) {
        let children: Vec<_> = self
            .edit
            .catalog()
            .children(&old.database, &old.name)
            .filter(|child| child.id != old.id)
            .cloned()
            .collect();
        for child in children {
            let mut def = TableDef::clone(&child);
            for key in &mut def.foreign_keys {
                if key.refers_to(&old.database, &old.name) {
                    key.parent_database.clone_from(&new.database);
                    key.parent_table.clone_from(&new.name);
                    for name in &mut key.parent_columns {
                        *name = column(name);
                    }
                }
            }
            if def != *child {
                self.edit.put_table(def);
            }
        }
    }

    /// 1452 unless every row has what its new foreign keys refer to. Returns how many rows were looked at.
    pub fn check_new_keys(&self, before: &TableDef, table: &Arc<Table>) -> SqlResult<u64> {
        if !self.runtime.settings.foreign_key_checks {
            return Ok(0);
        }
        let mut rows = 0;
        let new = table.def.foreign_keys.iter();
        for key in new.filter(|key| before.foreign_key(&key.name).is_none()) {
            let own = key.refers_to(&table.def.database, &table.def.name);
            let parent = self.edit.catalog().table(&key.parent_database, &key.parent_table);
            let parent = match parent {
                _ if own => Some(table.clone()),
                Some(parent) => self.engine.table(parent),
                None => None,
            };
            if let Some(parent) = parent {
                rows = self.check_rows(table, key, &parent)?;
            }
        }
        Ok(rows)
    }

    fn check_rows(&self, child: &Table, key: &ForeignKeyDef, parent: &Table) -> SqlResult<u64> {
        let broken = || SqlError::internal(format_args!("the foreign key {} has no columns or no index", key.name));
        let columns = child.def.columns_named(&key.columns).ok_or_else(broken)?;
        let parents = parent.def.columns_named(&key.parent_columns).ok_or_else(broken)?;
        let index = parent.def.index_beginning_with(&parents).ok_or_else(broken)?.id;
        let mut cursor = Cursor::forward(KeyRange::all());
        let mut rows = 0;
        while !cursor.is_finished() {
            let mut wanted: Vec<Vec<Value>> = Vec::new();
            self.runtime.transaction().scan_newest(
                &child.rows,
                IndexId::PRIMARY,
                &mut cursor,
                ROWS_PER_CHUNK,
                |entry| {
                    rows += 1;
                    let value = |column: &usize| child.layout().column(entry.row(), *column).to_value();
                    let values: Vec<Value> = columns.iter().map(value).collect();
                    if !values.iter().any(Value::is_null) {
                        wanted.push(values);
                    }
                    std::ops::ControlFlow::Continue(())
                },
            );
            for values in &wanted {
                if !self.has_row(parent, index, values)? {
                    let described = create::failed_foreign_key(&child.def, key);
                    return Err(SqlError::new(ErrorKind::NoReferencedRow2, &[&described]));
                }
            }
            governor::tick()?;
        }
        Ok(rows)
    }

    fn has_row(&self, table: &Table, index: IndexId, values: &[Value]) -> SqlResult<bool> {
        let key = encode_key(table, index, values)?;
        let mut cursor = Cursor::forward(KeyRange::prefix(&key));
        let mut found = false;
        while !cursor.is_finished() && !found {
            self.runtime
                .transaction()
                .scan_newest(&table.rows, index, &mut cursor, ROWS_PER_CHUNK, |_| {
                    found = true;
                    std::ops::ControlFlow::Break(())
                });
        }
        Ok(found)
    }
}

/// What an ALTER TABLE does to a column that a foreign key uses.
enum Kept {
    Dropped,
    Changed,
}

/// 1553 where no index serves the columns any more.
fn check_index_stays(old: &TableDef, new: &TableDef, names: &[String], columns: &[usize]) -> SqlResult<()> {
    if new.index_beginning_with(columns).is_some() {
        return Ok(());
    }
    let served = old
        .columns_named(names)
        .and_then(|columns| old.index_beginning_with(&columns));
    match served {
        Some(index) => Err(SqlError::new(ErrorKind::DropIndexFk, &[&index.name])),
        None => Ok(()),
    }
}

/// Under a table's new name, its keys' generated names follow, and it refers to itself by the new one.
fn rename_own_keys(old: &TableDef, new: &mut TableDef) {
    if (&old.database, &old.name) == (&new.database, &new.name) {
        return;
    }
    for key in &mut new.foreign_keys {
        if let Some(number) = generated_number(&key.name, &old.name) {
            key.name = format!("{}_ibfk_{number}", new.name);
        }
        if key.refers_to(&old.database, &old.name) {
            key.parent_database.clone_from(&new.database);
            key.parent_table.clone_from(&new.name);
        }
    }
}
