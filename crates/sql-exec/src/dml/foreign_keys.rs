//! Foreign keys at work.
//!
//! A row with a foreign key needs its parent, and a row that goes, or gets another key, leaves children behind. Both
//! are looked at as they are now, committed or this transaction's own, whatever the snapshot shows.
//!
//! ```text
//!   child  INSERT, UPDATE ──▶ lock the parent's row shared ──▶ there, with this key?   no: 1452
//!   parent DELETE, UPDATE ──▶ its row is locked already ──▶ find the children ─┬─ RESTRICT: 1451 if one is there
//!                                                                              └─ CASCADE, SET NULL: lock, change, go on there
//! ```
//!
//! The two meet at the lock of the parent's row. Whoever adds a child holds it until the commit, so that who removes the parent waits
//! and then sees the child; whoever removes the parent holds it, and who adds a child waits and then sees no parent. Where another node
//! gives locks, those of the parents are asked for together at the statement's end, and it is looked then whether they are there still.
//!
//! Rows are checked one by one, as InnoDB does it (MySQL manual, "FOREIGN KEY Constraints"): NO ACTION is RESTRICT, and a row
//! that refers to itself restricts itself. A cascade of updates that comes back to a table it has updated is refused.

use std::ops::ControlFlow;

use catalog::ReferenceAction;
use sql_expr::EvalContext;
use sql_plan::errors::StatementError;
use sql_plan::foreign_keys::{ForeignKeys, ParentKey, Reference, TableKeys, pick};
use sql_plan::table::Table;
use store::{Cursor, KeyRange};
use transaction::{LOCKS_AT_ONCE, Transaction, TransactionError};
use types::{ErrorKind, IndexId, SqlError, SqlResult, SqlType, TableId, TypeKind, Value};

use super::ahead::{Ahead, Changes};
use super::change::RowChanger;
use crate::rows::read_row;
use crate::runtime::Runtime;

/// How deep cascades may be nested.
pub(super) const MAX_DEPTH: usize = 15;
/// Rows of a parent key that are looked at in one go: mostly there is one.
const CANDIDATES: usize = 16;
/// Index entries looked at before others of the same core get their turn.
const ENTRIES_PER_CHUNK: usize = 4096;
/// What a key that is remembered takes beside its bytes.
const KEY_OVERHEAD: usize = 32;

/// Where a cascade is.
#[derive(Debug, Clone, Default)]
struct Cascade {
    depth: usize,
    /// The tables whose rows have been updated on the way here.
    updated: Vec<TableId>,
}

impl Cascade {
    fn deeper(&self) -> Result<Cascade, StatementError> {
        let depth = self.depth + 1;
        match depth > MAX_DEPTH {
            true => Err(SqlError::new(ErrorKind::FkDepthExceeded, &[&MAX_DEPTH]).into()),
            false => Ok(Cascade {
                depth,
                updated: self.updated.clone(),
            }),
        }
    }

    fn updating(mut self, table: TableId) -> Cascade {
        self.updated.push(table);
        self
    }
}

/// Keeps the foreign keys of a table whole, after each change of one of its rows.
pub struct Enforcer<'a> {
    pub keys: &'a ForeignKeys,
    pub table: &'a Table,
    pub runtime: &'a Runtime<'a>,
    pub ctx: &'a EvalContext<'a>,
}

impl Enforcer<'_> {
    /// A row was added.
    pub fn inserted(&self, row: &[Value]) -> Result<(), StatementError> {
        for reference in &self.keys_of(self.table.id())?.own {
            if let Some(key) = reference.key_of(row) {
                self.require_parent(reference, &key)?;
            }
        }
        Ok(())
    }

    /// A row was changed.
    pub fn updated(&self, old: &[Value], new: &[Value]) -> Result<(), StatementError> {
        let cascade = Cascade::default().updating(self.table.id());
        self.row_updated(self.table, old, new, None, &cascade)
    }

    /// A row was removed.
    pub fn deleted(&self, old: &[Value]) -> Result<(), StatementError> {
        self.row_deleted(self.table, old, None, &Cascade::default())
    }

    /// REPLACE has removed `old`, and `new` comes in its place: rows that refer to what both have keep their parent.
    pub fn replaced(&self, old: &[Value], new: &[Value]) -> Result<(), StatementError> {
        self.row_deleted(self.table, old, Some(new), &Cascade::default())
    }

    fn keys_of(&self, table: TableId) -> Result<&TableKeys, StatementError> {
        let missing = || SqlError::internal("a cascade has left the tables of its plan").into();
        self.keys.tables.get(&table).ok_or_else(missing)
    }

    // --- the child's side ---

    fn require_parent(&self, reference: &Reference, key: &[Value]) -> Result<(), StatementError> {
        if env::failpoints::goes_wrong("foreign_key.parent") {
            return Ok(());
        }
        let found = match &reference.parent {
            None => false,
            Some(parent) => self.lock_parent(parent, key)?,
        };
        match found {
            true => Ok(()),
            false => Err(reference.missing_parent().into()),
        }
    }

    /// Whether there is a parent, which stays. Who is just adding one under a unique key is waited for; a row is locked before
    /// its unique keys everywhere, so here, too.
    fn lock_parent(&self, parent: &ParentKey, values: &[Value]) -> Result<bool, StatementError> {
        let table = &parent.table;
        let key = encode(table, parent.index, values)?;
        let is_whole = table.key_column_count(parent.index) == values.len();
        let refer_to = |row: &[u8]| {
            let refer = |transaction: &mut Transaction| transaction.refer_to(&table.rows, row, parent.index, &key);
            let locked = self.runtime.with_locks(refer);
            locked.map(drop).map_err(|error| error.into_sql(table))
        };
        if is_whole && parent.index == IndexId::PRIMARY {
            refer_to(&key)?;
            let transaction = self.runtime.transaction();
            return Ok(transaction.get_current(&table.rows, &key, |_| ()).is_some());
        }
        if self.lock_found(table, parent.index, &key, refer_to)? {
            return Ok(true);
        }
        if !(is_whole && table.is_unique(parent.index)) {
            return Ok(false);
        }
        self.lock_shared(table, parent.index, &key)?;
        self.lock_found(table, parent.index, &key, refer_to)
    }

    /// Finds a row with this key and locks it by `lock`, so that it stays. Waits for those who are changing it.
    fn lock_found(
        &self,
        table: &Table,
        index: IndexId,
        key: &[u8],
        lock: impl Fn(&[u8]) -> SqlResult<()>,
    ) -> Result<bool, StatementError> {
        // A row that is gone when its lock has come is not found again.
        loop {
            let found = self.find(table, index, key, CANDIDATES)?;
            if found.is_empty() {
                return Ok(false);
            }
            for primary_key in &found {
                lock(primary_key)?;
                if self.current_row(table, primary_key, index, key).is_some() {
                    return Ok(true);
                }
            }
        }
    }

    fn lock_shared(&self, table: &Table, index: IndexId, key: &[u8]) -> SqlResult<()> {
        let locked = self
            .runtime
            .with_locks(|transaction| transaction.lock_for_reference(&table.rows, index, key));
        locked.map(drop).map_err(|error| error.into_sql(table))
    }

    // --- the parent's side ---

    fn row_deleted(
        &self,
        table: &Table,
        old: &[Value],
        successor: Option<&[Value]>,
        cascade: &Cascade,
    ) -> Result<(), StatementError> {
        for reference in &self.keys_of(table.id())?.incoming {
            let Some(parent) = &reference.parent else { continue };
            let Some(key) = pick(old, &parent.columns) else {
                continue;
            };
            if successor.is_some_and(|new| pick(new, &parent.columns).as_ref() == Some(&key)) {
                continue;
            }
            let action = reference.def.on_delete;
            if !action.changes_child() {
                self.forbid_children(reference, &key, old)?;
                continue;
            }
            let ahead = Ahead::of_children(reference, Changes::Delete, self.keys, self.runtime);
            self.for_each_child(reference, &key, &ahead, |primary_key, row| {
                let cascade = cascade.deeper()?;
                match action {
                    ReferenceAction::Cascade => {
                        let child = &reference.child;
                        self.runtime
                            .with_locks(|transaction| transaction.delete(&child.rows, primary_key))
                            .map_err(|error| error.into_sql(child))?;
                        self.row_deleted(child, &row, None, &cascade)
                    }
                    _ => self.update_child(reference, primary_key, row, &[], &cascade),
                }
            })?;
        }
        Ok(())
    }

    /// `by`: the key whose cascade has made the change; its parent is known to be there.
    fn row_updated(
        &self,
        table: &Table,
        old: &[Value],
        new: &[Value],
        by: Option<&Reference>,
        cascade: &Cascade,
    ) -> Result<(), StatementError> {
        let keys = self.keys_of(table.id())?;
        for reference in &keys.own {
            let is_cause = by.is_some_and(|by| by.is_same(reference));
            let is_unchanged = reference.columns.iter().all(|&column| old[column] == new[column]);
            if is_cause || is_unchanged {
                continue;
            }
            if let Some(key) = reference.key_of(new) {
                self.require_parent(reference, &key)?;
            }
        }
        for reference in &keys.incoming {
            let Some(parent) = &reference.parent else { continue };
            let Some(key) = pick(old, &parent.columns) else {
                continue;
            };
            let after: Vec<Value> = parent.columns.iter().map(|&column| new[column].clone()).collect();
            if key == after {
                continue;
            }
            let action = reference.def.on_update;
            let is_circle = cascade.updated.contains(&reference.child.id());
            if !action.changes_child() || is_circle {
                self.forbid_children(reference, &key, old)?;
                continue;
            }
            let values = match action {
                ReferenceAction::Cascade => after.as_slice(),
                _ => &[],
            };
            let ahead = Ahead::of_children(reference, Changes::Update(&parent.columns), self.keys, self.runtime);
            self.for_each_child(reference, &key, &ahead, |primary_key, row| {
                self.update_child(reference, primary_key, row, values, &cascade.deeper()?)
            })?;
        }
        Ok(())
    }

    /// 1451 if a row refers to the key; also the changed row itself, as it was.
    fn forbid_children(&self, reference: &Reference, key: &[Value], changed: &[Value]) -> Result<(), StatementError> {
        if env::failpoints::goes_wrong("foreign_key.children") {
            return Ok(());
        }
        let child = &reference.child;
        let encoded = encode(child, reference.index, key)?;
        let parent = reference.parent.as_ref().map(|parent| parent.table.id());
        if parent == Some(child.id())
            && let Some(own) = reference.key_of(changed)
            && encode(child, reference.index, &own)? == encoded
        {
            return Err(reference.has_child().into());
        }
        let lock = |row: &[u8]| self.lock_shared(child, IndexId::PRIMARY, row);
        match self.lock_found(child, reference.index, &encoded, lock)? {
            true => Err(reference.has_child().into()),
            false => Ok(()),
        }
    }

    /// Locks every child, many of them `ahead`, and gives it to `change`.
    fn for_each_child(
        &self,
        reference: &Reference,
        key: &[Value],
        ahead: &Ahead<'_>,
        mut change: impl FnMut(&[u8], Vec<Value>) -> Result<(), StatementError>,
    ) -> Result<(), StatementError> {
        let child = &reference.child;
        let encoded = encode(child, reference.index, key)?;
        let found = self.find(child, reference.index, &encoded, usize::MAX)?;
        let mut memory = self.runtime.query_memory();
        memory.grow(found.iter().map(|key| key.len() + KEY_OVERHEAD).sum())?;
        for next in found.chunks(LOCKS_AT_ONCE) {
            ahead.lock(next.iter().map(Vec::as_slice))?;
            for primary_key in next {
                self.runtime
                    .with_locks(|transaction| transaction.lock_for_write(&child.rows, primary_key))
                    .map_err(|error| error.into_sql(child))?;
                if let Some(row) = self.current_row(child, primary_key, reference.index, &encoded)
                    && !env::failpoints::goes_wrong("foreign_key.cascade")
                {
                    change(primary_key, row)?;
                }
                governor::tick()?;
            }
        }
        Ok(())
    }

    /// Gives a locked child the parent's new key, or NULL where there are no values.
    fn update_child(
        &self,
        reference: &Reference,
        primary_key: &[u8],
        old: Vec<Value>,
        values: &[Value],
        cascade: &Cascade,
    ) -> Result<(), StatementError> {
        let child = &*reference.child;
        if cascade.updated.contains(&child.id()) {
            return Err(reference.has_child().into());
        }
        let mut new = old.clone();
        for (at, &column) in reference.columns.iter().enumerate() {
            let value = values.get(at).unwrap_or(&Value::Null);
            let fitted = fitted(value, &child.def.columns[column].ty);
            new[column] = fitted.ok_or_else(|| reference.has_child())?;
        }
        let rules = &self.keys_of(child.id())?.rules;
        let mut changer = RowChanger::new(child, rules, self.runtime, self.ctx, false);
        changer.generate_from(&mut new, &reference.columns)?;
        changer
            .replace(primary_key, &new)
            .map_err(|error| cascade_error(error, reference, values))?;
        let cascade = cascade.clone().updating(child.id());
        self.row_updated(child, &old, &new, Some(reference), &cascade)
    }

    // --- finding rows ---

    /// The primary keys of up to `most` rows with this key, as they are now.
    fn find(&self, table: &Table, index: IndexId, key: &[u8], most: usize) -> Result<Vec<Vec<u8>>, StatementError> {
        let mut found = Vec::new();
        let mut cursor = Cursor::forward(KeyRange::prefix(key));
        loop {
            self.runtime
                .transaction()
                .scan_newest(&table.rows, index, &mut cursor, ENTRIES_PER_CHUNK, |entry| {
                    found.push(entry.primary_key().to_vec());
                    match found.len() >= most {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                });
            if cursor.is_finished() || found.len() >= most {
                return Ok(found);
            }
            governor::tick()?;
        }
    }

    /// A locked row, if it is still there and has the key.
    fn current_row(&self, table: &Table, primary_key: &[u8], index: IndexId, key: &[u8]) -> Option<Vec<Value>> {
        let has_key = |row: &[u8]| match index {
            IndexId::PRIMARY => primary_key.starts_with(key),
            index => {
                let mut entry_key = Vec::new();
                table.rows.index_key(index, row, primary_key, &mut entry_key);
                entry_key.starts_with(key)
            }
        };
        let read = |row: &[u8]| has_key(row).then(|| read_row(table.layout(), row));
        let transaction = self.runtime.transaction();
        transaction.get_current(&table.rows, primary_key, read).flatten()
    }
}

/// The lock with which the look for a parent of these values begins, as far as can be told before.
pub fn foreseen_parent(
    parent: &ParentKey,
    values: &[Value],
    runtime: &Runtime<'_>,
) -> SqlResult<Option<(IndexId, Vec<u8>)>> {
    let (table, index) = (&parent.table, parent.index);
    let key = encode(table, index, values)?;
    let is_whole = table.key_column_count(index) == values.len();
    if is_whole && index == IndexId::PRIMARY {
        return Ok(Some((index, key)));
    }
    let (mut found, mut cursor) = (None, Cursor::forward(KeyRange::prefix(&key)));
    runtime
        .transaction()
        .scan_newest(&table.rows, index, &mut cursor, ENTRIES_PER_CHUNK, |entry| {
            found = Some(entry.primary_key().to_vec());
            ControlFlow::Break(())
        });
    let is_one = is_whole && table.is_unique(index);
    Ok(match found {
        Some(row) => Some((IndexId::PRIMARY, row)),
        None => is_one.then_some((index, key)),
    })
}

/// What all keys begin with whose first columns have these values.
pub fn encode(table: &Table, index: IndexId, values: &[Value]) -> SqlResult<Vec<u8>> {
    let missing = || SqlError::internal("the index of a foreign key is missing");
    let layout = table.key_layout(index).ok_or_else(missing)?;
    let mut key = Vec::new();
    layout.encode_values(values, &mut key);
    Ok(key)
}

/// A parent's value in the child's column; `None` if it does not fit. The types are alike but for lengths and NULL.
fn fitted(value: &Value, ty: &SqlType) -> Option<Value> {
    match value {
        Value::Null => ty.nullable.then_some(Value::Null),
        Value::Str(text) if ty.kind.is_text() => {
            let text = match ty.kind {
                TypeKind::Char => text.as_str().trim_end_matches(' '),
                _ => text.as_str(),
            };
            (text.chars().count() <= ty.length as usize).then(|| Value::from(text.to_owned()))
        }
        Value::Bytes(bytes) => (bytes.len() <= ty.length as usize).then(|| value.clone()),
        value => Some(value.clone()),
    }
}

/// 1761 for a child that cannot follow because another row has its new key.
fn cascade_error(error: StatementError, reference: &Reference, values: &[Value]) -> StatementError {
    let StatementError::Transaction(TransactionError::DuplicateKey { index, .. }) = &error else {
        return error.into_sql(&reference.child).into();
    };
    let parent = &reference.def.parent_table;
    let child = &reference.child.def.name;
    let index = reference
        .child
        .index(*index)
        .map_or("PRIMARY", |index| index.name.as_str());
    let record: Vec<String> = values.iter().map(Value::to_string).collect();
    SqlError::new(
        ErrorKind::ForeignDuplicateKeyWithChildInfo,
        &[parent, &record.join("-"), child, &index],
    )
    .into()
}
