//! Locks of many rows that a statement is about to change, asked for together.
//!
//! A node that follows asks the leader for locks. What is asked for here is locked once more, row by row, when its turn comes, and costs
//! nothing then; whatever is not foreseen is asked for by itself. Where locks are given by this node there is nothing to do.
//!
//! ```text
//!   rows ──▶ the keys that they leave ──▶ their children that a foreign key changes ──▶ the keys that these leave ──▶ …
//! ```

use std::ops::ControlFlow;

use catalog::ReferenceAction;
use governor::stepwise::Set;
use sql_plan::changes::{Assignment, WriteRules};
use sql_plan::foreign_keys::{ForeignKeys, Reference, pick};
use sql_plan::table::Table;
use store::{Cursor, KeyRange, LockMode};
use transaction::LOCKS_AT_ONCE;
use types::{IndexId, SqlResult};

use super::foreign_keys::{MAX_DEPTH, encode};
use crate::rows::read_row;
use crate::runtime::Runtime;

/// What becomes of rows.
#[derive(Debug, Clone, Copy)]
pub enum Changes<'c> {
    Delete,
    /// These columns may get other values.
    Update(&'c [usize]),
}

impl Changes<'_> {
    /// What becomes of the children of such rows, by a foreign key that changes them.
    fn of_child(self, reference: &Reference) -> Changes<'_> {
        match (self, reference.def.on_delete) {
            (Changes::Delete, ReferenceAction::Cascade) => Changes::Delete,
            _ => Changes::Update(&reference.columns),
        }
    }

    /// What the foreign key says of the children of such rows. `None`: what they refer to does not change.
    fn action(self, reference: &Reference) -> Option<ReferenceAction> {
        let parent = reference.parent.as_ref()?;
        let concerns = self.concern(parent.columns.iter().copied());
        concerns.then_some(match self {
            Changes::Delete => reference.def.on_delete,
            Changes::Update(_) => reference.def.on_update,
        })
    }

    fn concern(self, mut columns: impl Iterator<Item = usize>) -> bool {
        match self {
            Changes::Delete => true,
            Changes::Update(changed) => columns.any(|column| changed.contains(&column)),
        }
    }
}

/// The columns that may change with those that are assigned.
pub fn changed_columns(table: &Table, rules: &WriteRules, assignments: &[Assignment]) -> Vec<usize> {
    let may_change = |&column: &usize| {
        let assigned = assignments.iter().any(|assignment| assignment.column == column);
        let mut computed = rules.generated.iter().filter(|generated| generated.column == column);
        assigned
            || table.def.columns[column].on_update_now.is_some()
            || computed.any(|generated| generated.sources.have_any_of(assignments))
    };
    (0..table.def.columns.len()).filter(may_change).collect()
}

/// What changing rows of one table will lock.
pub struct Ahead<'a> {
    table: &'a Table,
    runtime: &'a Runtime<'a>,
    is_of_use: bool,
    /// The unique indexes whose keys the rows leave.
    leaving: Vec<IndexId>,
    /// Foreign keys that change children, with what becomes of these.
    children: Vec<(&'a Reference, Changes<'a>)>,
    /// Foreign keys by which a child is in the way of a row, of a statement that goes on with the next one then.
    restricting: Vec<&'a Reference>,
    foreign_keys: Option<&'a ForeignKeys>,
}

/// The children that were looked at, with the place of the key that led to them: rows may refer to each other in a circle.
type Seen = Set<(usize, Vec<u8>)>;

/// Further children are not foreseen.
const SEEN_MAX: usize = 1 << 16;

impl<'a> Ahead<'a> {
    pub fn new(
        table: &'a Table,
        changes: Changes<'_>,
        foreign_keys: Option<&'a ForeignKeys>,
        runtime: &'a Runtime<'a>,
    ) -> Ahead<'a> {
        let mut ahead = Ahead {
            table,
            runtime,
            is_of_use: runtime.transaction().locks_elsewhere(&table.rows),
            leaving: Vec::new(),
            children: Vec::new(),
            restricting: Vec::new(),
            foreign_keys,
        };
        if !ahead.is_of_use {
            return ahead;
        }
        for index in table.def.secondaries() {
            if index.is_unique() && changes.concern(index.parts.iter().map(|part| part.column)) {
                ahead.leaving.push(index.id);
            }
        }
        let keys = foreign_keys.and_then(|keys| keys.tables.get(&table.id()));
        for reference in keys.iter().flat_map(|keys| &keys.incoming) {
            if changes.action(reference).is_some_and(ReferenceAction::changes_child) {
                ahead.children.push((reference, changes.of_child(reference)));
            }
        }
        ahead
    }

    /// Of a statement under IGNORE: a child in the way of a row ends nothing, and there may be one for each.
    pub fn of_what_goes_on(mut self, changes: Changes<'_>) -> Ahead<'a> {
        let keys = self.foreign_keys.and_then(|keys| keys.tables.get(&self.table.id()));
        let keys = keys.filter(|_| self.is_of_use);
        let restricts =
            |reference: &&Reference| changes.action(reference).is_some_and(|action| !action.changes_child());
        self.restricting = keys.iter().flat_map(|keys| &keys.incoming).filter(restricts).collect();
        self
    }

    /// Of the rows that refer to others of which this becomes.
    pub fn of_children(
        reference: &'a Reference,
        parents: Changes<'_>,
        foreign_keys: &'a ForeignKeys,
        runtime: &'a Runtime<'a>,
    ) -> Ahead<'a> {
        let changes = parents.of_child(reference);
        Ahead::new(&reference.child, changes, Some(foreign_keys), runtime)
    }

    /// Locks these rows, in this order, and then what changing them will lock. At most [`LOCKS_AT_ONCE`] rows.
    pub fn lock<'k>(&self, rows: impl Iterator<Item = &'k [u8]> + Clone) -> SqlResult<()> {
        match self.is_of_use {
            true => self.lock_from(0, rows, &mut Seen::new()),
            false => Ok(()),
        }
    }

    /// `depth`: how many keys led to the table.
    fn lock_from<'k>(
        &self,
        depth: usize,
        rows: impl Iterator<Item = &'k [u8]> + Clone,
        seen: &mut Seen,
    ) -> SqlResult<()> {
        self.runtime.lock_ahead(self.table, rows.clone(), LockMode::Exclusive)?;
        if !self.leaving.is_empty() {
            self.runtime
                .lock_leaving_ahead(self.table, rows.clone(), &self.leaving)?;
        }
        if depth < MAX_DEPTH {
            for (reference, changes) in &self.children {
                self.lock_children(depth + 1, reference, *changes, rows.clone(), seen)?;
            }
        }
        self.restricting
            .iter()
            .try_for_each(|reference| self.lock_restricting(reference, rows.clone()))
    }

    /// Of each row the child that is found first.
    fn lock_restricting<'k>(&self, reference: &Reference, rows: impl Iterator<Item = &'k [u8]>) -> SqlResult<()> {
        let Some(parent) = &reference.parent else { return Ok(()) };
        let child = &reference.child;
        let mut found: Vec<Vec<u8>> = Vec::new();
        for row in rows {
            governor::tick()?;
            let read = |stored: &[u8]| read_row(self.table.layout(), stored);
            let transaction = self.runtime.transaction();
            let values = transaction.get_current(&self.table.rows, row, read);
            let Some(key) = values.and_then(|values| pick(&values, &parent.columns)) else {
                continue;
            };
            let key = encode(child, reference.index, &key)?;
            let mut cursor = Cursor::forward(KeyRange::prefix(&key));
            transaction.scan_newest(&child.rows, reference.index, &mut cursor, LOCKS_AT_ONCE, |entry| {
                found.push(entry.primary_key().to_vec());
                ControlFlow::Break(())
            });
        }
        self.runtime
            .lock_ahead(child, found.iter().map(Vec::as_slice), LockMode::Shared)
    }

    fn lock_children<'k>(
        &self,
        depth: usize,
        reference: &Reference,
        changes: Changes<'_>,
        rows: impl Iterator<Item = &'k [u8]>,
        seen: &mut Seen,
    ) -> SqlResult<()> {
        let (Some(parent), Some(foreign_keys)) = (&reference.parent, self.foreign_keys) else {
            return Ok(());
        };
        let child = Ahead::of_children(reference, changes, foreign_keys, self.runtime);
        let mut found: Vec<Vec<u8>> = Vec::new();
        for row in rows {
            governor::tick()?;
            let read = |stored: &[u8]| read_row(self.table.layout(), stored);
            let values = self.runtime.transaction().get_current(&self.table.rows, row, read);
            let Some(key) = values.and_then(|values| pick(&values, &parent.columns)) else {
                continue;
            };
            let key = encode(&reference.child, reference.index, &key)?;
            child.find(reference, &key, seen, &mut found);
            if found.len() >= LOCKS_AT_ONCE {
                child.lock_all(depth, &found, seen)?;
                found.clear();
            }
        }
        child.lock_all(depth, &found, seen)
    }

    /// The first rows with this key that were not looked at.
    fn find(&self, reference: &Reference, key: &[u8], seen: &mut Seen, found: &mut Vec<Vec<u8>>) {
        let place = std::ptr::from_ref(reference) as usize;
        let (table, mut cursor) = (&self.table.rows, Cursor::forward(KeyRange::prefix(key)));
        self.runtime
            .transaction()
            .scan_newest(table, reference.index, &mut cursor, LOCKS_AT_ONCE, |entry| {
                let row = entry.primary_key().to_vec();
                if seen.len() < SEEN_MAX && seen.insert((place, row.clone())) {
                    found.push(row);
                }
                ControlFlow::Continue(())
            });
    }

    fn lock_all(&self, depth: usize, rows: &[Vec<u8>], seen: &mut Seen) -> SqlResult<()> {
        rows.chunks(LOCKS_AT_ONCE)
            .try_for_each(|rows| self.lock_from(depth, rows.iter().map(Vec::as_slice), seen))
    }
}
