//! Locks of many rows that a statement is about to change, asked for together.
//!
//! A node that follows asks the leader for locks. What is asked for here is locked once more, row by row, when its turn comes, and costs
//! nothing then; whatever is not foreseen is asked for by itself. Where locks are given by this node there is nothing to do.

use sql_plan::changes::{Assignment, WriteRules};
use sql_plan::table::Table;
use store::LockMode;
use types::{IndexId, SqlResult};

use crate::runtime::Runtime;

/// What changing, or deleting, rows of one table will lock.
pub struct Ahead<'a> {
    table: &'a Table,
    runtime: &'a Runtime<'a>,
    is_of_use: bool,
    /// The unique indexes whose keys the rows leave.
    leaving: Vec<IndexId>,
}

impl<'a> Ahead<'a> {
    /// Of rows that are deleted.
    pub fn deleting(table: &'a Table, runtime: &'a Runtime<'a>) -> Ahead<'a> {
        Ahead::new(table, runtime, |_| true)
    }

    /// Of rows that get these values.
    pub fn updating(
        table: &'a Table,
        runtime: &'a Runtime<'a>,
        rules: &WriteRules,
        assignments: &[Assignment],
    ) -> Ahead<'a> {
        let is_assigned = |column: usize| {
            let assigned = assignments.iter().any(|assignment| assignment.column == column);
            let mut computed = rules.generated.iter().filter(|generated| generated.column == column);
            assigned
                || table.def.columns[column].on_update_now.is_some()
                || computed.any(|generated| generated.sources.have_any_of(assignments))
        };
        Ahead::new(table, runtime, is_assigned)
    }

    fn new(table: &'a Table, runtime: &'a Runtime<'a>, changes: impl Fn(usize) -> bool) -> Ahead<'a> {
        let is_of_use = runtime.transaction().locks_elsewhere(&table.rows);
        let leaving = match is_of_use {
            true => table
                .def
                .secondaries()
                .iter()
                .filter(|index| index.is_unique() && index.parts.iter().any(|part| changes(part.column)))
                .map(|index| index.id)
                .collect(),
            false => Vec::new(),
        };
        Ahead {
            table,
            runtime,
            is_of_use,
            leaving,
        }
    }

    /// Locks these rows, in this order, and then the keys that they leave. At most [`LOCKS_AT_ONCE`](transaction::LOCKS_AT_ONCE) rows.
    pub fn lock<'k>(&self, rows: impl Iterator<Item = &'k [u8]> + Clone) -> SqlResult<()> {
        if !self.is_of_use {
            return Ok(());
        }
        self.runtime.lock_ahead(self.table, rows.clone(), LockMode::Exclusive)?;
        if !self.leaving.is_empty() {
            self.runtime.lock_leaving_ahead(self.table, rows, &self.leaving)?;
        }
        Ok(())
    }
}
