//! Rows that expire, as a transaction sees them.
//!
//! A table may say when its rows expire ([`store::Table::expiry`]). An expired row is as one that somebody has deleted at that moment: no
//! read shows it, no write finds it, and its keys are free, though it is stored until it is purged or somebody takes its place. Which rows
//! are expired follows from a row and a *time*, and every statement has its own:
//!
//! ```text
//!   reads at the snapshot     the read time: that of the statement which took the snapshot, and as fixed as this one
//!   reads of the newest rows  the statement's time
//!   a locked row              no later than when it was locked while it was there: its clock stands still until the transaction ends
//!   a row of the overlay      it does not expire for who has written it
//! ```
//!
//! Times are taken at the first need: who reads no such table does not look at the clock. They are those of this node's clock, or of the
//! newest commit that can be seen here where that is later. In one transaction none is earlier than the one before.
//!
//! The log knows of no time. Whoever takes an expired row's key locks the row, looks at it again, and deletes it ([`Claimed keys`]); a purge
//! does the same without waiting for anybody ([`Transaction::purge`]).
//!
//! [`Claimed keys`]: super::write

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::ControlFlow;

use store::{Cursor, Entry, IndexId, LockMode, Snapshot, Table, TableId};

use super::{LockPolicy, Progress, Transaction, TransactionError};

/// What a transaction knows of time, in microseconds since 1970; 0: not asked for yet.
#[derive(Default)]
pub(super) struct Times {
    /// Of the running statement.
    statement: Cell<i64>,
    /// Of the snapshot.
    read: Cell<i64>,
    /// The latest so far.
    latest: Cell<i64>,
}

/// Rows whose clocks stand still, and since when.
#[derive(Default)]
pub(super) struct Standing {
    rows: HashMap<TableId, HashMap<Box<[u8]>, i64>>,
    /// Tables that are locked as a whole.
    tables: Vec<(TableId, i64)>,
}

impl Times {
    /// Another statement begins, or the same again.
    pub fn begin_statement(&self) {
        self.statement.set(0);
    }

    /// Another snapshot is taken.
    #[inline]
    pub fn begin_snapshot(&self) {
        self.read.set(0);
    }

    /// The snapshot's, to be put back with it.
    pub fn take_read(&self) -> i64 {
        self.read.take()
    }

    pub fn put_read_back(&self, time: i64) {
        self.read.set(time);
    }
}

impl Standing {
    /// The time by which a row is judged.
    fn time_of(&self, table: TableId, key: &[u8], time: i64) -> i64 {
        let of_row = self.rows.get(&table).and_then(|rows| rows.get(key));
        let of_table = self.tables.iter().find(|(id, _)| *id == table).map(|(_, since)| since);
        time.min(*of_row.unwrap_or(&i64::MAX))
            .min(*of_table.unwrap_or(&i64::MAX))
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.tables.is_empty()
    }
}

impl Transaction {
    /// The time by which reads of the newest rows, and writes, tell which rows are expired, in microseconds since 1970: the running
    /// statement's, taken now if there was none. Of a transaction that reads the past, that moment.
    pub fn statement_time(&self) -> i64 {
        if self.times.statement.get() == 0 {
            let time = match (self.is_past, &*self.snapshot.borrow()) {
                (true, Some(snapshot)) => wall(snapshot),
                _ => {
                    let clock = i64::try_from(self.participant.wall().as_micros()).unwrap_or(i64::MAX);
                    let seen = micros_of(self.store().published().wall_ms());
                    clock.max(seen).max(self.times.latest.get())
                }
            };
            self.set_statement_time(time);
        }
        self.times.statement.get()
    }

    /// As [`statement_time`](Self::statement_time), of reads at the snapshot, which is taken now if there was none.
    pub fn read_time(&self) -> i64 {
        let of_snapshot = wall(&self.reading_at());
        if self.times.read.get() == 0 {
            // What was committed by a faster clock, and can be seen, was done at that time.
            let time = self.statement_time().max(of_snapshot);
            self.set_statement_time(time);
            self.times.read.set(time);
        }
        self.times.read.get()
    }

    fn set_statement_time(&self, time: i64) {
        self.times.statement.set(time);
        self.times.latest.set(time);
    }

    /// Whether a stored row is expired for the running statement, which reads the newest rows. A row that the transaction has written, or
    /// locked before it expired, is not.
    pub fn is_expired(&self, table: &Table, key: &[u8], row: &[u8]) -> bool {
        table.expiry().is_some()
            && self.overlay.row(table.id(), key).is_none()
            && !self.shows(table, key, row, self.statement_time())
    }

    /// [`read_time`](Self::read_time) where the table needs it.
    #[inline]
    pub(super) fn read_time_of(&self, table: &Table) -> i64 {
        match table.expiry() {
            None => 0,
            Some(_) => self.read_time(),
        }
    }

    /// [`statement_time`](Self::statement_time) where the table needs it.
    #[inline]
    pub(super) fn statement_time_of(&self, table: &Table) -> i64 {
        match table.expiry() {
            None => 0,
            Some(_) => self.statement_time(),
        }
    }

    /// Whether a committed row is there at a time.
    #[inline]
    pub(super) fn shows(&self, table: &Table, key: &[u8], row: &[u8], time: i64) -> bool {
        !table.has_expired(row, time) || self.stands_still(table, key, row, time)
    }

    #[cold]
    fn stands_still(&self, table: &Table, key: &[u8], row: &[u8], time: i64) -> bool {
        !self.standing.is_empty() && !table.has_expired(row, self.standing.time_of(table.id(), key, time))
    }

    /// As [`Table::scan`], of rows that are there at a time.
    #[expect(clippy::too_many_arguments, reason = "those of a scan, and the time")]
    pub(super) fn scan_unexpired(
        &self,
        snapshot: &Snapshot,
        time: i64,
        table: &Table,
        index: IndexId,
        cursor: &mut Cursor,
        most: usize,
        visit: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) {
        table.scan(index, cursor, snapshot, most, |entry| {
            match self.shows(table, entry.primary_key(), entry.row(), time) {
                true => visit(entry),
                false => ControlFlow::Continue(()),
            }
        });
    }

    /// The transaction has locked a row: if it is there now, it stays so.
    pub(super) fn stop_clock(&mut self, table: &Table, key: &[u8]) {
        if self.overlay.row(table.id(), key).is_some() {
            return;
        }
        let time = self.statement_time();
        let is_there = |row: &[u8]| {
            let ends = table
                .expiry()
                .is_some_and(|rule| rule.of_row(table.row_layout(), row).is_some());
            ends && !table.has_expired(row, time)
        };
        if table.newest(key, |_, row| row.is_some_and(is_there)) == Some(true) {
            let rows = self.standing.rows.entry(table.id()).or_default();
            if !rows.contains_key(key) {
                rows.insert(key.into(), time);
            }
        }
    }

    /// The transaction has locked a table: what is there now stays so.
    pub(super) fn stop_clocks(&mut self, table: TableId) {
        if self.standing.tables.iter().all(|(known, _)| *known != table) {
            self.standing.tables.push((table, self.statement_time()));
        }
    }

    // --- purging ---

    /// Shows the entries of rows that are expired now, in chunks like [`scan`](Self::scan). They may be anything by the time they are locked.
    pub fn scan_expired(
        &self,
        table: &Table,
        index: IndexId,
        cursor: &mut Cursor,
        most: usize,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) {
        let time = self.statement_time();
        table.scan(index, cursor, &table.snapshot(), most, |entry| {
            match table.has_expired(entry.row(), time) {
                true => visit(entry),
                false => ControlFlow::Continue(()),
            }
        });
    }

    /// Removes a row that is expired. Waits for nobody: a row that somebody has locked, or that is there after all, is [`Progress::Skipped`].
    pub fn purge(&mut self, table: &Table, key: &[u8]) -> Result<Progress, TransactionError> {
        let progress = self.lock_entry(
            table,
            IndexId::PRIMARY,
            key,
            LockMode::Exclusive,
            LockPolicy::SkipLocked,
        )?;
        if !matches!(progress, Progress::Done) {
            return Ok(progress);
        }
        let time = self.statement_time();
        let is_expired = table.newest(key, |_, row| row.is_some_and(|row| !self.shows(table, key, row, time)));
        if is_expired != Some(true) || self.overlay.row(table.id(), key).is_some() {
            return Ok(Progress::Skipped);
        }
        // Whoever wants its unique keys finds the row, and waits for its lock.
        self.set(table, key, None)?;
        Ok(Progress::Done)
    }
}

fn micros_of(wall_ms: u64) -> i64 {
    i64::try_from(wall_ms).unwrap_or(i64::MAX).saturating_mul(1000)
}

/// When what the snapshot shows was committed, at the latest.
fn wall(snapshot: &Snapshot) -> i64 {
    micros_of(snapshot.timestamp().wall_ms())
}
