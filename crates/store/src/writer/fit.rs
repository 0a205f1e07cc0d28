//! Whether a committed transaction fits the rows, found out before anything of it is done.
//!
//! Apply is total: the log may hold a transaction that does not fit (a table that exists already, a row of another
//! definition), and everybody who applies the log has to come to the same rows all the same. So a transaction is checked
//! whole, against the tables as the log has left them and as the transaction itself redefines them on its way; what passes
//! cannot fail any more, and what does not pass leaves no trace.

use super::{ApplyError, Writer};
use crate::record::MAX_KEY_BYTES;
use crate::spec::{IndexSpec, TableSpec};
use crate::table::Table;
use crate::write_set::{WriteOp, WriteOps, WriteSetError};
use std::collections::HashMap;
use std::sync::Arc;
use types::{IndexId, TableId, Timestamp};

/// A transaction that fits. Apply it before anything else is applied.
pub struct Fitting<'a> {
    pub(super) ops: WriteOps<'a>,
}

/// Why a transaction cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// Damaged, or written by a newer version.
    #[error(transparent)]
    Unreadable(#[from] WriteSetError),
    #[error(transparent)]
    Unfit(#[from] ApplyError),
}

impl Writer {
    /// Checks a transaction; changes nothing. The answer depends on the log alone, so it is the same on every replica.
    pub fn check<'a>(&self, ops: WriteOps<'a>) -> Result<Fitting<'a>, CheckError> {
        let mut check = Check {
            writer: self,
            redefined: HashMap::new(),
        };
        for (at, op) in ops.clone().enumerate() {
            check.op(&op?, || ops.clone().take(at).flatten())?;
        }
        Ok(Fitting { ops })
    }

    /// As [`check`](Self::check), of a part of a large transaction: rows in the order of their keys, table after table.
    pub fn check_chunk<'a>(&self, ops: WriteOps<'a>) -> Result<Fitting<'a>, CheckError> {
        let mut check = Check {
            writer: self,
            redefined: HashMap::new(),
        };
        let mut tables: Vec<TableId> = Vec::new();
        let mut last_key: &[u8] = &[];
        for op in ops.clone() {
            let op = op?;
            let (WriteOp::Put { table, key, .. } | WriteOp::Delete { table, key }) = op else {
                return Err(ApplyError::BadChunk("not a change of a row").into());
            };
            if tables.last() == Some(&table) {
                if key <= last_key {
                    return Err(ApplyError::BadChunk("rows out of order").into());
                }
            } else if tables.contains(&table) {
                return Err(ApplyError::BadChunk("tables mixed").into());
            } else {
                tables.push(table);
            }
            last_key = key;
            check.op(&op, std::iter::empty)?;
        }
        Ok(Fitting { ops })
    }
}

struct Check<'w> {
    writer: &'w Writer,
    /// Tables that the transaction has created, dropped (`None`) or redefined so far: their definitions, without rows.
    redefined: HashMap<TableId, Option<Table>>,
}

impl Check<'_> {
    /// `before`: the transaction's operations before this one.
    fn op<'a, I: Iterator<Item = WriteOp<'a>>>(
        &mut self,
        op: &WriteOp<'_>,
        before: impl FnOnce() -> I,
    ) -> Result<(), ApplyError> {
        match op {
            WriteOp::Put { table, key, row } => {
                check_row(self.table(*table)?, key, row)?;
                self.check_decided(*table, key)?;
            }
            WriteOp::Delete { table, key } => {
                self.table(*table)?;
                self.check_decided(*table, key)?;
            }
            // Ids are burnt without a lock of the table, which may have gone: then they mean nothing.
            WriteOp::AdvanceAutoIncrement { .. } => {}
            WriteOp::SetAutoIncrement { table, .. } => {
                self.table(*table)?;
            }
            WriteOp::CreateTable(spec) => {
                if self.table(spec.id).is_ok() {
                    return Err(ApplyError::TableExists(spec.id));
                }
                spec.check().map_err(|what| ApplyError::BadTable(spec.id, what))?;
                self.redefine(TableSpec::clone(spec));
            }
            WriteOp::DropTable { table } => {
                self.table(*table)?;
                self.check_all_decided(*table)?;
                self.redefined.insert(*table, None);
            }
            WriteOp::CreateIndex { table, index } => self.create_index(*table, index, before())?,
            WriteOp::DropIndex { table, index } => {
                let mut spec = self.table(*table)?.spec().clone();
                spec.index(*index).ok_or(ApplyError::NoIndex(*table, *index))?;
                spec.indexes.retain(|other| other.id != *index);
                self.check_all_decided(*table)?;
                self.redefine(spec);
            }
            WriteOp::ChangeColumns { table, change } => {
                self.check_all_decided(*table)?;
                let spec = self.table(*table)?.spec().with_columns(change);
                self.redefine(spec.map_err(|what| ApplyError::BadTable(*table, what))?);
            }
            WriteOp::SetExpiry { table, expiry } => {
                let mut spec = self.table(*table)?.spec().clone();
                spec.expiry = *expiry;
                spec.check().map_err(|what| ApplyError::BadTable(*table, what))?;
                self.redefine(spec);
            }
        }
        Ok(())
    }

    /// The definition as the transaction has it.
    fn table(&self, id: TableId) -> Result<&Table, ApplyError> {
        let found = match self.redefined.get(&id) {
            Some(redefined) => redefined.as_ref(),
            None => self.writer.tables.get(&id).map(|writer| writer.table()),
        };
        found.ok_or(ApplyError::NoTable(id))
    }

    /// A row that a large transaction has changed is that transaction's until it is decided. The locks of whoever proposed see to
    /// that; here it is made sure.
    fn check_decided(&self, id: TableId, key: &[u8]) -> Result<(), ApplyError> {
        match self.writer.tables.get(&id) {
            Some(writer) if writer.is_undecided(key) => Err(ApplyError::Undecided(id)),
            _ => Ok(()),
        }
    }

    /// As [`check_decided`](Self::check_decided), of the table's definition.
    fn check_all_decided(&self, id: TableId) -> Result<(), ApplyError> {
        match self.writer.tables.get(&id) {
            Some(writer) if writer.has_undecided() => Err(ApplyError::Undecided(id)),
            _ => Ok(()),
        }
    }

    fn redefine(&mut self, spec: TableSpec) {
        let snapshots = Arc::clone(&self.writer.store.snapshots);
        let table = Table::new(spec, Timestamp::ZERO, snapshots);
        self.redefined.insert(table.id(), Some(table));
    }

    /// An index is built from rows that are there already: the keys of all of them must fit.
    fn create_index<'a>(
        &mut self,
        id: TableId,
        index: &IndexSpec,
        before: impl Iterator<Item = WriteOp<'a>>,
    ) -> Result<(), ApplyError> {
        self.check_all_decided(id)?;
        let mut spec = self.table(id)?.spec().clone();
        spec.check_new_index(index)
            .map_err(|what| ApplyError::BadIndex(id, what))?;
        let writer = self.writer.tables.get(&id);
        // Its keys have been made.
        let is_prepared = writer.is_some_and(|writer| self.writer.store.has_prepared(writer.table(), &spec, index));
        spec.indexes.push(index.clone());
        self.redefine(spec);
        let table = self.table(id)?;
        for op in before {
            match op {
                WriteOp::Put { table: of, key, row } if of == id => check_row(table, key, row)?,
                _ => {}
            }
        }
        match writer {
            Some(writer) if !is_prepared && !has_bounded_keys(table, index.id) && !writer.all_rows_fit(table) => {
                Err(ApplyError::TooLong(id))
            }
            _ => Ok(()),
        }
    }
}

fn check_row(table: &Table, key: &[u8], row: &[u8]) -> Result<(), ApplyError> {
    // In this order: the keys of a row that is not sound cannot be made.
    table
        .row_layout()
        .validate(row)
        .map_err(|corrupt| ApplyError::BadRow(table.id(), corrupt))?;
    match table.fits(key, row) {
        true => Ok(()),
        false => Err(ApplyError::TooLong(table.id())),
    }
}

/// Whether no row can have a key that is too long: then rows need not be looked at.
fn has_bounded_keys(table: &Table, index: IndexId) -> bool {
    let primary = match table.primary_layout() {
        Some(layout) => layout.most_bytes(),
        None => Some(size_of::<u64>()),
    };
    let own = table.most_key_bytes(index);
    matches!((primary, own), (Some(primary), Some(own)) if primary + own <= MAX_KEY_BYTES)
}
