//! What a client's own database has to be, by what the server has answered.
//!
//! Nobody else changes it, so after every answer there is one state that it can be in; after a statement whose outcome is not known
//! there are a few, and the server says which.

use std::collections::{BTreeMap, BTreeSet};

pub type Row = Vec<Option<i64>>;

/// A client's database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    pub exists: bool,
    pub tables: BTreeMap<String, Table>,
    /// Views WITH CHECK OPTION of the ids below [`VIEW_END`], and the tables that they name.
    pub views: BTreeMap<String, String>,
    pub procedures: BTreeMap<String, Body>,
}

/// Views show the ids below.
pub const VIEW_END: i64 = 100;

/// The one statement of a procedure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    pub table: String,
    /// The column that an UPDATE changes, and by how much; nothing is a DELETE.
    pub change: Option<(String, i64)>,
    pub ids: (i64, i64),
}

/// A table with a primary key `id`, and other columns of whole numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    pub columns: Vec<Column>,
    pub keys: BTreeMap<String, Key>,
    pub foreign_keys: BTreeMap<String, ForeignKey>,
    pub rows: BTreeMap<i64, Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub ty: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub is_unique: bool,
    /// Its first part is the column plus one, an expression.
    pub is_computed: bool,
    pub columns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    pub column: String,
    pub parent: String,
    pub cascades: bool,
}

/// A statement, as what it does where it succeeds.
#[derive(Debug, Clone)]
pub enum Operation {
    CreateDatabase,
    DropDatabase,
    Create(String, Table),
    /// Columns and keys of another table, without its rows.
    CreateLike(String, String),
    /// Columns and rows of another table, without its keys.
    CreateSelect(String, String),
    Drop(Vec<String>),
    /// One after the other.
    Rename(Vec<(String, String)>),
    Truncate(String),
    Alter(String, Vec<Action>),
    CreateView(String, String),
    DropView(String),
    DeleteThrough(String, (i64, i64)),
    /// Moves ids out of the view, which its CHECK OPTION does not allow.
    UpdateThrough(String, (i64, i64)),
    CreateProcedure(String, Body),
    DropProcedure(String),
    Call(String),
    /// Temporary tables leave nothing.
    Nothing(String),
    Insert(String, Vec<(i64, Row)>),
    /// `SET column = column + n WHERE id BETWEEN`
    Update(String, String, i64, (i64, i64)),
    Delete(String, (i64, i64)),
}

#[derive(Debug, Clone)]
pub enum Action {
    Add(Column, Added),
    DropColumn(String),
    RenameColumn(String, String),
    Modify(Column),
    AddKey(String, Key),
    DropKey(String),
    AddForeignKey(String, ForeignKey),
    DropForeignKey(String),
    Rename(String),
    Copy,
    Force,
}

/// What an added column has in old rows.
#[derive(Debug, Clone, Copy)]
pub enum Added {
    Null,
    Literal(i64),
    /// The id and so much.
    Id(i64),
}

impl Operation {
    /// Whether it ends the open transaction.
    pub fn is_definition(&self) -> bool {
        !matches!(
            self,
            Operation::Insert(..)
                | Operation::Update(..)
                | Operation::Delete(..)
                | Operation::DeleteThrough(..)
                | Operation::UpdateThrough(..)
                | Operation::Call(_)
                | Operation::Nothing(_)
        )
    }

    pub fn sql(&self, database: &str) -> String {
        match self {
            Operation::CreateDatabase => format!("CREATE DATABASE IF NOT EXISTS {database}"),
            Operation::DropDatabase => format!("DROP DATABASE IF EXISTS {database}"),
            Operation::Create(name, table) => {
                let mut parts = vec!["id BIGINT PRIMARY KEY".to_owned()];
                parts.extend(
                    table
                        .columns
                        .iter()
                        .map(|column| format!("{} {}", column.name, column.ty)),
                );
                parts.extend(table.keys.iter().map(|(name, key)| key.sql(name)));
                parts.extend(table.foreign_keys.iter().map(|(name, key)| key.sql(name)));
                format!("CREATE TABLE {name} ({})", parts.join(", "))
            }
            Operation::CreateLike(name, other) => format!("CREATE TABLE {name} LIKE {other}"),
            Operation::CreateSelect(name, other) => {
                format!("CREATE TABLE {name} (PRIMARY KEY (id)) SELECT * FROM {other}")
            }
            Operation::Drop(names) => format!("DROP TABLE {}", names.join(", ")),
            Operation::Rename(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(from, to)| format!("{from} TO {to}")).collect();
                format!("RENAME TABLE {}", pairs.join(", "))
            }
            Operation::Truncate(name) => format!("TRUNCATE TABLE {name}"),
            Operation::Alter(name, actions) => {
                let actions: Vec<String> = actions.iter().map(Action::sql).collect();
                format!("ALTER TABLE {name} {}", actions.join(", "))
            }
            Operation::CreateView(name, table) => format!(
                "CREATE OR REPLACE VIEW {name} AS SELECT id FROM {table} WHERE id < {VIEW_END} WITH CHECK OPTION"
            ),
            Operation::DropView(name) => format!("DROP VIEW {name}"),
            Operation::DeleteThrough(name, (from, to)) => {
                format!("DELETE FROM {name} WHERE id BETWEEN {from} AND {to}")
            }
            Operation::UpdateThrough(name, (from, to)) => {
                format!("UPDATE {name} SET id = id + {VIEW_END} WHERE id BETWEEN {from} AND {to}")
            }
            Operation::CreateProcedure(name, body) => {
                format!("CREATE PROCEDURE {name}() {}", body.operation().sql(database))
            }
            Operation::DropProcedure(name) => format!("DROP PROCEDURE {name}"),
            Operation::Call(name) => format!("CALL {name}()"),
            Operation::Nothing(sql) => sql.clone(),
            Operation::Insert(name, rows) => {
                let value = |value: &Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
                let row = |(id, row): &(i64, Row)| {
                    let values: Vec<String> = std::iter::once(id.to_string()).chain(row.iter().map(value)).collect();
                    format!("({})", values.join(", "))
                };
                let rows: Vec<String> = rows.iter().map(row).collect();
                format!("INSERT INTO {name} VALUES {}", rows.join(", "))
            }
            Operation::Update(name, column, by, (from, to)) => {
                format!("UPDATE {name} SET {column} = {column} + {by} WHERE id BETWEEN {from} AND {to}")
            }
            Operation::Delete(name, (from, to)) => format!("DELETE FROM {name} WHERE id BETWEEN {from} AND {to}"),
        }
    }
}

impl Body {
    pub fn operation(&self) -> Operation {
        match &self.change {
            Some((column, by)) => Operation::Update(self.table.clone(), column.clone(), *by, self.ids),
            None => Operation::Delete(self.table.clone(), self.ids),
        }
    }

    /// From its text, as [`Operation::sql`] has written it.
    pub fn parse(text: &str) -> Option<Body> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let ids = |from: &str, to: &str| Some((from.parse().ok()?, to.parse().ok()?));
        Some(match words[..] {
            [
                "UPDATE",
                table,
                "SET",
                column,
                "=",
                _,
                "+",
                by,
                "WHERE",
                "id",
                "BETWEEN",
                from,
                "AND",
                to,
            ] => Body {
                table: table.to_owned(),
                change: Some((column.to_owned(), by.parse().ok()?)),
                ids: ids(from, to)?,
            },
            ["DELETE", "FROM", table, "WHERE", "id", "BETWEEN", from, "AND", to] => Body {
                table: table.to_owned(),
                change: None,
                ids: ids(from, to)?,
            },
            _ => return None,
        })
    }
}

impl Key {
    fn sql(&self, name: &str) -> String {
        let kind = if self.is_unique { "UNIQUE KEY" } else { "KEY" };
        let part = |(at, column): (usize, &String)| match self.is_computed && at == 0 {
            true => format!("({column} + 1)"),
            false => column.clone(),
        };
        let parts: Vec<String> = self.columns.iter().enumerate().map(part).collect();
        format!("{kind} {name} ({})", parts.join(", "))
    }

    /// Whether the column can neither go nor be renamed.
    fn depends_on(&self, column: &str) -> bool {
        self.is_computed && self.columns.first().is_some_and(|first| first == column)
    }
}

impl ForeignKey {
    fn sql(&self, name: &str) -> String {
        let rule = if self.cascades { " ON DELETE CASCADE" } else { "" };
        format!(
            "CONSTRAINT {name} FOREIGN KEY ({}) REFERENCES {} (id){rule}",
            self.column, self.parent
        )
    }
}

impl Action {
    fn sql(&self) -> String {
        match self {
            Action::Add(column, added) => {
                let default = match added {
                    Added::Null => String::new(),
                    Added::Literal(value) => format!(" DEFAULT {value}"),
                    Added::Id(more) => format!(" DEFAULT (id + {more})"),
                };
                format!("ADD COLUMN {} {}{default}", column.name, column.ty)
            }
            Action::DropColumn(name) => format!("DROP COLUMN {name}"),
            Action::RenameColumn(from, to) => format!("RENAME COLUMN {from} TO {to}"),
            Action::Modify(column) => format!("MODIFY COLUMN {} {}", column.name, column.ty),
            Action::AddKey(name, key) => format!("ADD {}", key.sql(name)),
            Action::DropKey(name) => format!("DROP KEY {name}"),
            Action::AddForeignKey(name, key) => format!("ADD {}", key.sql(name)),
            Action::DropForeignKey(name) => format!("DROP FOREIGN KEY {name}"),
            Action::Rename(name) => format!("RENAME TO {name}"),
            Action::Copy => "ALGORITHM = COPY".to_owned(),
            Action::Force => "FORCE".to_owned(),
        }
    }
}

impl State {
    /// What is here and not there, and the other way round.
    pub fn difference(&self, other: &State) -> String {
        let mut text = String::new();
        let own = (self.exists, &self.views, &self.procedures);
        let others = (other.exists, &other.views, &other.procedures);
        if own != others {
            text += &format!("{own:?}, not {others:?}; ");
        }
        let names: BTreeSet<&String> = self.tables.keys().chain(other.tables.keys()).collect();
        for name in names {
            let (own, others) = (self.tables.get(name), other.tables.get(name));
            if own != others {
                text += &format!("{name} is {own:?}, not {others:?}; ");
            }
        }
        text
    }

    /// The state after an operation that has succeeded; `None`: it cannot have.
    pub fn after(&self, operation: &Operation) -> Option<State> {
        let mut state = self.clone();
        state.apply(operation).map(|()| state)
    }

    fn apply(&mut self, operation: &Operation) -> Option<()> {
        match operation {
            Operation::CreateDatabase => self.exists = true,
            Operation::DropDatabase => *self = State::default(),
            Operation::Create(name, table) => self.add(name, table.clone())?,
            Operation::CreateLike(name, other) => {
                let other = self.tables.get(other)?.clone();
                let table = Table {
                    foreign_keys: BTreeMap::new(),
                    rows: BTreeMap::new(),
                    ..other
                };
                self.add(name, table)?;
            }
            Operation::CreateSelect(name, other) => {
                let other = self.tables.get(other)?.clone();
                let table = Table {
                    keys: BTreeMap::new(),
                    foreign_keys: BTreeMap::new(),
                    ..other
                };
                self.add(name, table)?;
            }
            Operation::Drop(names) => {
                for name in names {
                    self.tables.remove(name)?;
                }
            }
            Operation::Rename(pairs) => {
                for (from, to) in pairs {
                    self.rename(from, to)?;
                }
            }
            Operation::Truncate(name) => self.tables.get_mut(name)?.rows.clear(),
            Operation::Alter(name, actions) => {
                let mut to = None;
                for action in actions {
                    match action {
                        Action::Rename(name) => to = Some(name),
                        action => self.tables.get_mut(name)?.alter(action)?,
                    }
                }
                if let Some(to) = to {
                    self.rename(name, to)?;
                }
            }
            Operation::CreateView(name, table) => drop(self.views.insert(name.clone(), table.clone())),
            Operation::DropView(name) => drop(self.views.remove(name)?),
            Operation::DeleteThrough(view, ids) => {
                let table = self.views.get(view)?.clone();
                self.delete_between(&table, (ids.0, ids.1.min(VIEW_END - 1)))?;
            }
            Operation::UpdateThrough(view, (from, to)) => {
                let table = self.tables.get(self.views.get(view)?)?;
                let leaves = |(id, _): (&i64, &Row)| (*from..=*to).contains(id) && *id < VIEW_END;
                (!table.rows.iter().any(leaves)).then_some(())?;
            }
            Operation::CreateProcedure(name, body) => {
                let is_new = self.procedures.insert(name.clone(), body.clone()).is_none();
                (self.exists && is_new).then_some(())?;
            }
            Operation::DropProcedure(name) => drop(self.procedures.remove(name)?),
            Operation::Call(name) => {
                let operation = self.procedures.get(name)?.operation();
                self.apply(&operation)?;
            }
            Operation::Nothing(_) => {}
            Operation::Insert(name, rows) => {
                let table = self.tables.get_mut(name)?;
                for (id, row) in rows {
                    let is_new = table.rows.insert(*id, row.clone()).is_none();
                    (is_new && row.len() == table.columns.len()).then_some(())?;
                }
            }
            Operation::Update(name, column, by, (from, to)) => {
                let table = self.tables.get_mut(name)?;
                let at = table.position(column)?;
                for row in table.rows.range_mut(from..=to).map(|(_, row)| row) {
                    row[at] = row[at].map(|value| value + by);
                }
            }
            Operation::Delete(name, ids) => self.delete_between(name, *ids)?,
        }
        Some(())
    }

    fn add(&mut self, name: &str, table: Table) -> Option<()> {
        let is_free = self.exists && !self.tables.contains_key(name) && !self.views.contains_key(name);
        is_free.then(|| drop(self.tables.insert(name.to_owned(), table)))
    }

    fn delete_between(&mut self, name: &str, (from, to): (i64, i64)) -> Option<()> {
        let rows = &self.tables.get(name)?.rows;
        let ids: Vec<i64> = match from <= to {
            true => rows.range(from..=to).map(|(id, _)| *id).collect(),
            false => Vec::new(),
        };
        ids.into_iter().for_each(|id| self.delete(name, id));
        Some(())
    }

    /// A row, and those that refer to it and go with it.
    fn delete(&mut self, name: &str, id: i64) {
        if self
            .tables
            .get_mut(name)
            .and_then(|table| table.rows.remove(&id))
            .is_none()
        {
            return;
        }
        let mut gone = Vec::new();
        for (child, table) in &self.tables {
            for key in table.foreign_keys.values().filter(|key| key.parent == name) {
                let Some(at) = table.position(&key.column) else {
                    continue;
                };
                let rows = table.rows.iter().filter(|(_, row)| row[at] == Some(id));
                gone.extend(rows.map(|(id, _)| (child.clone(), *id)));
            }
        }
        gone.into_iter().for_each(|(child, id)| self.delete(&child, id));
    }

    fn rename(&mut self, from: &str, to: &str) -> Option<()> {
        let table = self.tables.remove(from)?;
        self.add(to, table)?;
        for table in self.tables.values_mut() {
            for key in table.foreign_keys.values_mut().filter(|key| key.parent == from) {
                key.parent = to.to_owned();
            }
        }
        Some(())
    }
}

impl Table {
    fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|known| known.name == column)
    }

    fn alter(&mut self, action: &Action) -> Option<()> {
        match action {
            Action::Add(column, added) => {
                self.columns.push(column.clone());
                for (id, row) in &mut self.rows {
                    row.push(match added {
                        Added::Null => None,
                        Added::Literal(value) => Some(*value),
                        Added::Id(more) => Some(id + more),
                    });
                }
            }
            Action::DropColumn(name) => {
                (!self.keys.values().any(|key| key.depends_on(name))).then_some(())?;
                let at = self.position(name)?;
                self.columns.remove(at);
                for row in self.rows.values_mut() {
                    row.remove(at);
                }
                for key in self.keys.values_mut() {
                    key.columns.retain(|column| column != name);
                }
                self.keys.retain(|_, key| !key.columns.is_empty());
            }
            Action::RenameColumn(from, to) => {
                (!self.keys.values().any(|key| key.depends_on(from))).then_some(())?;
                let at = self.position(from)?;
                self.columns[at].name.clone_from(to);
                let in_keys = self.keys.values_mut().flat_map(|key| &mut key.columns);
                let in_foreign = self.foreign_keys.values_mut().map(|key| &mut key.column);
                for column in in_keys.chain(in_foreign).filter(|column| *column == from) {
                    column.clone_from(to);
                }
            }
            Action::Modify(column) => {
                let at = self.position(&column.name)?;
                self.columns[at] = column.clone();
            }
            Action::AddKey(name, key) => {
                self.keys.insert(name.clone(), key.clone());
            }
            Action::DropKey(name) => {
                self.keys.remove(name)?;
            }
            Action::AddForeignKey(name, key) => {
                self.foreign_keys.insert(name.clone(), key.clone());
            }
            Action::DropForeignKey(name) => {
                self.foreign_keys.remove(name)?;
            }
            Action::Rename(_) | Action::Copy | Action::Force => {}
        }
        Some(())
    }
}
