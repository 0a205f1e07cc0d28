//! What a running statement works with: its transaction, its host, the node.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use store::{LockMode, MemoryBudget, MemoryUse, Reservation, Timestamp};
use transaction::{LockPolicy, Progress, Transaction, TransactionError};
use types::{ErrorKind, SqlError, SqlResult, Value};

use crate::engine::Engine;
use crate::exec::query::{HashTable, KeptRows};
use crate::host::{Host, Interrupt, WaitEnd};
use crate::plan::access::{AccessPath, KeyRanges};
use crate::session::TableLocks;
use crate::table::Table;
use crate::variables::Settings;

/// One statement's access to the world. Expressions, subqueries and operators share it, so the transaction is borrowed for
/// each single read or write and never across a wait.
pub struct Runtime<'a> {
    pub engine: &'a Engine,
    pub host: &'a dyn Host,
    /// CLIENT_FOUND_ROWS.
    pub found_rows: bool,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub auto_increment: (u64, u64),
    /// `foreign_key_checks`
    pub foreign_key_checks: bool,
    /// `insert_id`, until it is used.
    pub insert_id: Cell<Option<u64>>,
    /// The first automatic id of a row that the statement has inserted, also if it fails later.
    pub first_automatic_id: Cell<Option<u64>>,
    /// `cte_max_recursion_depth`
    pub recursion_limit: u64,
    /// `sql_select_limit`: the most rows of a query without a LIMIT of its own.
    pub select_limit: u64,
    transaction: &'a RefCell<Transaction>,
    lock_wait_timeout: Duration,
    locks_reads: bool,
    /// Tables that the session has locked already.
    table_locks: Option<&'a TableLocks>,
    kept: Kept,
}

/// What the statement has computed once and reads often, by the place in the plan that it belongs to.
#[derive(Default)]
struct Kept {
    rows: RefCell<HashMap<usize, Rc<KeptRows>>>,
    tables: RefCell<HashMap<usize, Rc<HashTable>>>,
    working: RefCell<HashMap<usize, Rc<KeptRows>>>,
}

/// Whether a row was locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locked {
    Yes,
    /// Somebody else has it, under SKIP LOCKED.
    Skipped,
}

impl<'a> Runtime<'a> {
    pub fn new(
        engine: &'a Engine,
        host: &'a dyn Host,
        transaction: &'a RefCell<Transaction>,
        settings: &Settings,
        found_rows: bool,
    ) -> Runtime<'a> {
        Runtime {
            engine,
            host,
            found_rows,
            auto_increment: (settings.auto_increment_increment, settings.auto_increment_offset),
            foreign_key_checks: settings.foreign_key_checks,
            insert_id: Cell::new(settings.insert_id),
            first_automatic_id: Cell::new(None),
            recursion_limit: settings.cte_max_recursion_depth,
            select_limit: settings.select_limit,
            transaction,
            lock_wait_timeout: settings.lock_wait_timeout,
            locks_reads: false,
            table_locks: None,
            kept: Kept::default(),
        }
    }

    /// For a statement that has to lock what it reads (SERIALIZABLE).
    pub fn locking_reads(self, locks_reads: bool) -> Runtime<'a> {
        Runtime { locks_reads, ..self }
    }

    /// Whether the statement locks what it reads.
    pub fn locks_reads(&self) -> bool {
        self.locks_reads
    }

    /// For a statement of a session that holds table locks.
    pub fn under(self, table_locks: &'a TableLocks) -> Runtime<'a> {
        Runtime {
            table_locks: Some(table_locks),
            ..self
        }
    }

    /// With another limit on waits for locks than `innodb_lock_wait_timeout`.
    pub fn waiting(self, lock_wait_timeout: Duration) -> Runtime<'a> {
        Runtime {
            lock_wait_timeout,
            ..self
        }
    }

    /// Whether LOCK TABLES has locked the table for this session.
    pub fn holds(&self, table: &Table) -> bool {
        self.table_locks.is_some_and(|locks| locks.holds(table))
    }

    /// The rows of a derived table or subquery, computed at the first use.
    pub fn kept_rows(
        &self,
        place: usize,
        compute: impl FnOnce() -> SqlResult<Vec<Vec<Value>>>,
    ) -> SqlResult<Rc<KeptRows>> {
        if let Some(kept) = self.kept.rows.borrow().get(&place) {
            return Ok(kept.clone());
        }
        let kept = Rc::new(KeptRows::new(compute()?));
        self.kept.rows.borrow_mut().insert(place, kept.clone());
        Ok(kept)
    }

    /// The hash table of a join, built at the first use.
    pub fn hash_table(&self, place: usize, build: impl FnOnce() -> SqlResult<HashTable>) -> SqlResult<Rc<HashTable>> {
        if let Some(table) = self.kept.tables.borrow().get(&place) {
            return Ok(table.clone());
        }
        let table = Rc::new(build()?);
        self.kept.tables.borrow_mut().insert(place, table.clone());
        Ok(table)
    }

    /// The rows that the recursive reference of a common table stands for now.
    pub fn working_rows(&self, number: usize) -> Rc<KeptRows> {
        self.kept.working.borrow().get(&number).cloned().unwrap_or_default()
    }

    /// Sets them for one round; returns those of before.
    pub fn set_working_rows(&self, number: usize, rows: Vec<Vec<Value>>) -> Option<Rc<KeptRows>> {
        self.kept
            .working
            .borrow_mut()
            .insert(number, Rc::new(KeptRows::new(rows)))
    }

    pub fn restore_working_rows(&self, number: usize, before: Option<Rc<KeptRows>>) {
        let mut working = self.kept.working.borrow_mut();
        match before {
            Some(rows) => working.insert(number, rows),
            None => working.remove(&number),
        };
    }

    /// Forgets what was kept: it belonged to another outer row, or to another round of a recursion.
    pub fn forget_kept(&self) {
        self.kept.rows.borrow_mut().clear();
        self.kept.tables.borrow_mut().clear();
    }

    /// The same statement's work in another transaction.
    pub fn with_transaction<'b>(&'b self, transaction: &'b RefCell<Transaction>) -> Runtime<'b> {
        Runtime {
            engine: self.engine,
            host: self.host,
            found_rows: self.found_rows,
            auto_increment: self.auto_increment,
            foreign_key_checks: self.foreign_key_checks,
            insert_id: Cell::new(None),
            first_automatic_id: Cell::new(None),
            recursion_limit: self.recursion_limit,
            select_limit: self.select_limit,
            transaction,
            lock_wait_timeout: self.lock_wait_timeout,
            locks_reads: self.locks_reads,
            table_locks: self.table_locks,
            kept: Kept::default(),
        }
    }

    /// An account for what a sort or a hash table holds; 1041's kin when the node has no memory left.
    pub fn query_memory(&self) -> QueryMemory {
        QueryMemory {
            budget: self.engine.participant().store().memory().clone(),
            held: None,
            unclaimed: 0,
        }
    }

    /// The transaction, for reading.
    pub fn transaction(&self) -> Ref<'_, Transaction> {
        self.transaction.borrow()
    }

    /// The transaction, for a write that cannot wait.
    pub fn transaction_mut(&self) -> RefMut<'_, Transaction> {
        self.transaction.borrow_mut()
    }

    /// Repeats an operation of the transaction until it has its locks: 1205 after `innodb_lock_wait_timeout`, 1213 for a
    /// deadlock's victim, 1317 when interrupted.
    pub fn with_locks(
        &self,
        mut operation: impl FnMut(&mut Transaction) -> Result<Progress, TransactionError>,
    ) -> Result<Locked, StatementError> {
        loop {
            // The borrow ends here: other statements of this thread run while we wait.
            let progress = operation(&mut self.transaction.borrow_mut())?;
            let wait = match progress {
                Progress::Done => return Ok(Locked::Yes),
                Progress::Skipped => return Ok(Locked::Skipped),
                Progress::Wait(wait) => wait,
            };
            self.host.show_state("Waiting for lock");
            let end = self
                .host
                .wait_interruptible(std::pin::pin!(wait), Some(self.lock_wait_timeout));
            self.host.show_state("");
            match end {
                WaitEnd::Done => {}
                WaitEnd::TimedOut => return Err(ErrorKind::LockWaitTimeout.into()),
                WaitEnd::Interrupted(interrupt) => return Err(interrupted(interrupt).into()),
            }
        }
    }

    /// What every read of a table begins with: locks, where the isolation level asks for them, and refuses a table, or an index of it,
    /// that was made after the transaction's snapshot.
    pub fn begin_read(&self, path: &AccessPath, keys: &KeyRanges, policy: LockPolicy) -> SqlResult<()> {
        self.lock_before_read(path, keys, policy)?;
        let snapshot = self.transaction().snapshot();
        if self.transaction().is_settling() {
            self.transaction_mut().note_read(&path.table.rows);
        }
        check_readable(path, snapshot)
    }

    /// As [`begin_read`](Self::begin_read), of rows that are locked before they are looked at. Takes a snapshot only where it is needed to
    /// find them, so that a snapshot taken later shows what the locks protect.
    pub fn begin_locking_read(&self, path: &AccessPath, keys: &KeyRanges, policy: LockPolicy) -> SqlResult<()> {
        if path.primary_keys(keys).is_none() {
            self.lock_before_read(path, keys, policy)?;
        } else if self.engine.has_write_locked_tables() && !self.holds(&path.table) {
            // The key is locked by the read itself. A shared lock before would be in the way of who does the same.
            self.lock_table_for_read(path, keys, false, policy)?;
        }
        if !self.transaction().must_be_unchanged() {
            return Ok(());
        }
        if path.primary_keys(keys).is_some() {
            let snapshot = self.transaction().fixed_snapshot();
            return snapshot.map_or(Ok(()), |snapshot| check_readable(path, snapshot));
        }
        let snapshot = self.transaction().snapshot();
        self.transaction_mut().note_read(&path.table.rows);
        check_readable(path, snapshot)
    }

    fn lock_before_read(&self, path: &AccessPath, keys: &KeyRanges, policy: LockPolicy) -> SqlResult<()> {
        let shares = self.locks_reads
            && policy != LockPolicy::SkipLocked
            && !(path.primary_keys(keys).is_none() && env::failpoints::goes_wrong("serializable.range"));
        if (shares || self.engine.has_write_locked_tables()) && !self.holds(&path.table) {
            self.lock_table_for_read(path, keys, shares, policy)?;
        }
        if shares && let Some(keys) = path.primary_keys(keys) {
            // Single keys can be locked whether they exist or not.
            self.lock_keys_for_read(&path.table, keys, policy)?;
        }
        Ok(())
    }

    /// Ends a pass of a statement that will run again anyhow; the error is not shown to anybody.
    pub fn check_not_stale(&self) -> SqlResult<()> {
        match self.transaction().is_stale() {
            true => Err(SqlError::internal("the statement has to run again on a newer snapshot")),
            false => Ok(()),
        }
    }
}

/// Refuses a table, or an index of it, that is newer than the snapshot.
fn check_readable(path: &AccessPath, snapshot: Timestamp) -> SqlResult<()> {
    match path.table.rows.readable_since(path.index) {
        Some(since) if since <= snapshot => Ok(()),
        _ => Err(ErrorKind::TableDefChanged.into()),
    }
}

impl Runtime<'_> {
    /// Waits for whoever has locked the table, and with `shares` keeps others from changing what a read sees: all of the
    /// table, where rows could come into a range.
    fn lock_table_for_read(
        &self,
        path: &AccessPath,
        keys: &KeyRanges,
        shares: bool,
        policy: LockPolicy,
    ) -> SqlResult<()> {
        let table = &*path.table;
        let mode = match shares && path.primary_keys(keys).is_none() {
            true => LockMode::Shared,
            false => LockMode::IntentionShared,
        };
        let policy = match policy {
            LockPolicy::NoWait => LockPolicy::NoWait,
            LockPolicy::Wait | LockPolicy::SkipLocked => LockPolicy::Wait,
        };
        self.with_locks(|transaction| transaction.lock_table(table.id(), mode, policy))
            .map_err(|error| error.into_sql(table))?;
        let current = self.engine.catalog();
        match current.table_by_id(table.id()) {
            Some(def) if Arc::ptr_eq(def, &table.def) => Ok(()),
            _ => Err(ErrorKind::TableDefChanged.into()),
        }
    }

    fn lock_keys_for_read<'k>(
        &self,
        table: &Table,
        keys: impl Iterator<Item = &'k [u8]>,
        policy: LockPolicy,
    ) -> SqlResult<()> {
        for key in keys {
            self.with_locks(|transaction| transaction.lock_for_read(&table.rows, key, LockMode::Shared, policy))
                .map_err(|error| error.into_sql(table))?;
        }
        Ok(())
    }
}

/// An error of a statement before it has MySQL's number: a duplicate key is still told by its index, because INSERT
/// may have an answer to it.
#[derive(Debug)]
pub enum StatementError {
    Sql(SqlError),
    Transaction(TransactionError),
}

impl From<SqlError> for StatementError {
    fn from(error: SqlError) -> StatementError {
        StatementError::Sql(error)
    }
}

impl From<ErrorKind> for StatementError {
    fn from(kind: ErrorKind) -> StatementError {
        StatementError::Sql(kind.into())
    }
}

impl From<governor::Stop> for StatementError {
    fn from(stop: governor::Stop) -> StatementError {
        StatementError::Sql(stop.into())
    }
}

impl From<TransactionError> for StatementError {
    fn from(error: TransactionError) -> StatementError {
        StatementError::Transaction(error)
    }
}

impl StatementError {
    /// MySQL's error, with what it says of the table.
    pub fn into_sql(self, table: &Table) -> SqlError {
        match self {
            StatementError::Sql(error) => error,
            StatementError::Transaction(error) => transaction_error(&error, &table.def.name),
        }
    }
}

impl StatementError {
    /// MySQL's error, where no table's definition is at hand.
    pub fn into_sql_named(self, table: &str) -> SqlError {
        match self {
            StatementError::Sql(error) => error,
            StatementError::Transaction(error) => transaction_error(&error, table),
        }
    }
}

/// Memory that a query holds until it ends, taken from the node's budget in large steps.
pub struct QueryMemory {
    budget: Arc<MemoryBudget>,
    held: Option<Reservation>,
    /// Reserved and not used yet.
    unclaimed: usize,
}

impl QueryMemory {
    const STEP: usize = 64 << 10;

    /// Takes `bytes` more; error 1038 when the budget is exhausted.
    pub fn grow(&mut self, bytes: usize) -> SqlResult<()> {
        if bytes <= self.unclaimed {
            self.unclaimed -= bytes;
            return Ok(());
        }
        let step = bytes.max(QueryMemory::STEP);
        let grown = match &mut self.held {
            Some(held) => held.grow(step as u64),
            None => self
                .budget
                .reserve(MemoryUse::Queries, step as u64)
                .map(|held| self.held = Some(held)),
        };
        grown.map_err(|_| SqlError::from(ErrorKind::OutOfSortMemory))?;
        self.unclaimed += step - bytes;
        Ok(())
    }
}

/// MySQL's error for a failed operation on the table `table`. A duplicate key is told without its values; the callers
/// that know the row say more.
pub fn transaction_error(error: &TransactionError, table: &str) -> SqlError {
    match error {
        TransactionError::DuplicateKey { index, .. } => {
            SqlError::new(ErrorKind::DupEntry, &[&"?", &format_args!("{table}.{index}")])
        }
        TransactionError::WriteConflict(_) => {
            let text = SqlError::from(ErrorKind::LockDeadlock);
            let what = format!(
                "{}; a row of table '{table}' has changed since the transaction's snapshot",
                text.message()
            );
            SqlError::with_message(ErrorKind::LockDeadlock, what)
        }
        TransactionError::Deadlock => ErrorKind::LockDeadlock.into(),
        TransactionError::LockNotAvailable => ErrorKind::LockNowait.into(),
        TransactionError::DefinitionChanged(_) => ErrorKind::TableDefChanged.into(),
        TransactionError::Memory(_) => SqlError::new(ErrorKind::RecordFileFull, &[&table]),
        TransactionError::KeyTooLong(_) => SqlError::new(ErrorKind::TooLongKey, &[&3072]),
    }
}

/// MySQL's error for an interrupted statement.
pub fn interrupted(interrupt: Interrupt) -> SqlError {
    governor::Stop::Interrupt(interrupt).into()
}
