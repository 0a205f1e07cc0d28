//! Which foreign keys a change of a table's rows has to look at.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use catalog::{ForeignKeyDef, TableDef};
use store::LockMode;
use types::{ErrorKind, IndexId, SqlError, SqlResult, TableId, Value};

use crate::changes::WriteRules;
use crate::dml::generated_columns;
use crate::planner::Planner;
use crate::table::Table;
use crate::text::failed_foreign_key;

/// What a statement does with the rows of its table.
#[derive(Debug, Clone, Copy)]
pub enum RowChange<'a> {
    Insert,
    Delete,
    /// UPDATE of these columns, and of those that follow them.
    Update(&'a [usize]),
    /// REPLACE, and INSERT … ON DUPLICATE KEY UPDATE.
    Any,
}

impl RowChange<'_> {
    /// Whether it can break a key of the table itself.
    fn concerns(self, table: &TableDef, key: &ForeignKeyDef) -> bool {
        match self {
            RowChange::Insert | RowChange::Any => true,
            RowChange::Delete => false,
            RowChange::Update(columns) => changes(table, columns, &key.columns),
        }
    }

    /// Whether it can break a key that refers to the table.
    fn concerns_incoming(self, table: &TableDef, key: &ForeignKeyDef) -> bool {
        match self {
            RowChange::Insert => false,
            RowChange::Delete | RowChange::Any => true,
            RowChange::Update(columns) => changes(table, columns, &key.parent_columns),
        }
    }
}

/// Whether an UPDATE of `columns` may change one of the named ones.
fn changes(table: &TableDef, columns: &[usize], names: &[String]) -> bool {
    names.iter().filter_map(|name| table.column(name)).any(|at| {
        let column = &table.columns[at];
        columns.contains(&at) || column.generated.is_some() || column.on_update_now.is_some()
    })
}

/// The foreign keys concerned; `None`, mostly, where there are none.
pub fn foreign_keys(
    planner: &Planner<'_>,
    table: &Arc<Table>,
    change: RowChange<'_>,
) -> SqlResult<Option<Arc<ForeignKeys>>> {
    if table.id().is_local() {
        return Ok(None);
    }
    let def = &table.def;
    let mut keys = keys_of(planner, table)?;
    keys.own.retain(|reference| change.concerns(def, &reference.def));
    keys.incoming
        .retain(|reference| change.concerns_incoming(def, &reference.def));
    if keys.own.is_empty() && keys.incoming.is_empty() {
        return Ok(None);
    }
    let mut open = reached_by_cascade(&keys);
    let mut tables = HashMap::from([(table.id(), keys)]);
    let mut locks = Vec::new();
    let mut reached = HashSet::new();
    while let Some(child) = open.pop() {
        if !reached.insert(child.id()) {
            continue;
        }
        // A cascade that comes back to the table itself has to look at all of its keys.
        note_lock(&mut locks, &child, LockMode::IntentionExclusive);
        let mut keys = keys_of(planner, &child)?;
        keys.rules.generated = generated_columns(planner, &child)?;
        open.extend(reached_by_cascade(&keys));
        tables.insert(child.id(), keys);
    }
    for keys in tables.values() {
        for reference in &keys.own {
            if let Some(parent) = &reference.parent {
                note_lock(&mut locks, &parent.table, LockMode::IntentionShared);
            }
        }
        for reference in &keys.incoming {
            note_lock(&mut locks, &reference.child, LockMode::IntentionShared);
        }
    }
    locks.retain(|(other, _)| other.id() != table.id());
    locks.sort_by_key(|(table, _)| table.id());
    Ok(Some(Arc::new(ForeignKeys { tables, locks })))
}

/// The first note of a table stays: those that are changed come first.
fn note_lock(locks: &mut Vec<(Arc<Table>, LockMode)>, table: &Arc<Table>, mode: LockMode) {
    if locks.iter().all(|(known, _)| known.id() != table.id()) {
        locks.push((table.clone(), mode));
    }
}

fn reached_by_cascade(keys: &TableKeys) -> Vec<Arc<Table>> {
    let reached = keys
        .incoming
        .iter()
        .filter(|reference| reference.def.on_delete.changes_child() || reference.def.on_update.changes_child());
    reached.map(|reference| reference.child.clone()).collect()
}

/// All keys of a table, its own and those that refer to it.
fn keys_of(planner: &Planner<'_>, table: &Arc<Table>) -> SqlResult<TableKeys> {
    let mut keys = TableKeys::default();
    for def in &table.def.foreign_keys {
        keys.own.push(bind(planner, table, def)?);
    }
    let (database, name) = (&table.def.database, &table.def.name);
    for child in planner.catalog.children(database, name) {
        let Some(child) = planner.node.table(child) else {
            continue;
        };
        for def in child.def.foreign_keys_to(database, name) {
            keys.incoming.push(bind(planner, &child, def)?);
        }
    }
    keys.incoming.sort_by_cached_key(|reference| {
        let index = reference.parent.as_ref().map(|parent| parent.index);
        let place = table.def.indexes.iter().position(|own| Some(own.id) == index);
        (place, reference.child.def.database.clone(), reference.def.name.clone())
    });
    Ok(keys)
}

fn bind(planner: &Planner<'_>, child: &Arc<Table>, def: &ForeignKeyDef) -> SqlResult<Reference> {
    let broken = || SqlError::internal(format_args!("the foreign key {} has no columns or no index", def.name));
    let columns = child.def.columns_named(&def.columns).ok_or_else(broken)?;
    let index = child.def.index_beginning_with(&columns).ok_or_else(broken)?.id;
    Ok(Reference {
        def: def.clone(),
        child: child.clone(),
        columns,
        index,
        parent: parent_key(planner, def),
    })
}

fn parent_key(planner: &Planner<'_>, key: &ForeignKeyDef) -> Option<ParentKey> {
    let def = planner.catalog.table(&key.parent_database, &key.parent_table)?;
    let columns = def.columns_named(&key.parent_columns)?;
    let index = def.index_beginning_with(&columns)?.id;
    Some(ParentKey {
        table: planner.node.table(def)?,
        columns,
        index,
    })
}

/// What a change of one table's rows has to do with others: the keys of the table, and of those that a cascade can reach.
#[derive(Debug)]
pub struct ForeignKeys {
    pub tables: HashMap<TableId, TableKeys>,
    /// The other tables concerned, and how the statement has to lock them.
    pub locks: Vec<(Arc<Table>, LockMode)>,
}

/// The foreign keys of one table.
#[derive(Debug, Default)]
pub struct TableKeys {
    /// It is the child.
    pub own: Vec<Reference>,
    /// It is the parent. In the order in which they are applied, which is InnoDB's: by the index referred to, then by database and
    /// name of the key.
    pub incoming: Vec<Reference>,
    /// What a cascade that changes a row of the table computes anew: its generated columns.
    pub rules: WriteRules,
}

/// A foreign key, bound to its tables.
#[derive(Debug)]
pub struct Reference {
    pub def: ForeignKeyDef,
    pub child: Arc<Table>,
    pub columns: Vec<usize>,
    /// An index of the child that begins with the columns.
    pub index: IndexId,
    /// `None` while the parent is missing.
    pub parent: Option<ParentKey>,
}

/// What is referred to.
#[derive(Debug)]
pub struct ParentKey {
    pub table: Arc<Table>,
    pub columns: Vec<usize>,
    /// An index that begins with the columns.
    pub index: IndexId,
}

impl Reference {
    /// The columns that refer; `None` where one is NULL, so that the row needs no parent.
    pub fn key_of(&self, child: &[Value]) -> Option<Vec<Value>> {
        pick(child, &self.columns)
    }

    pub fn is_same(&self, other: &Reference) -> bool {
        self.child.id() == other.child.id() && self.def.name == other.def.name
    }

    /// 1452
    pub fn missing_parent(&self) -> SqlError {
        SqlError::new(ErrorKind::NoReferencedRow2, &[&self.described()])
    }

    /// 1451
    pub fn has_child(&self) -> SqlError {
        SqlError::new(ErrorKind::RowIsReferenced2, &[&self.described()])
    }

    fn described(&self) -> String {
        failed_foreign_key(&self.child.def, &self.def)
    }
}

/// Values of columns; `None` if one is NULL.
pub fn pick(row: &[Value], columns: &[usize]) -> Option<Vec<Value>> {
    let picked: Vec<Value> = columns.iter().map(|column| row[*column].clone()).collect();
    (!picked.iter().any(Value::is_null)).then_some(picked)
}
