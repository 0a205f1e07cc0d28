//! What a running statement works with: its transaction, its host, the node.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::{TriggerEvent, TriggerTiming};
use sql_api::host::{Host, WaitEnd};
use sql_expr::{EvalContext, Expr, Subquery};
use sql_plan::access::{AccessPath, KeyRanges};
use sql_plan::errors::{StatementError, interrupted};
use sql_plan::query::{DerivedSource, Lookup};
use sql_plan::table::Table;
use sql_plan::{LockedTables, VirtualTable};
use store::{LockKey, LockMode, MemoryBudget, MemoryUse, Reservation, Timestamp};
use transaction::{LockPolicy, Participant, Progress, Transaction, TransactionError};
use types::{ErrorKind, IndexId, SqlError, SqlResult, Value};

use crate::full_text::Ranking;
use crate::measure::Measures;
use crate::query::{Found, HashTable, KeptRows, Memo, Rows};

/// The lock of all definitions together.
pub const EVERYTHING: LockKey<'static> = LockKey::Name(b"everything");
/// Who has it commits the next version of the catalog.
pub const CATALOG: LockKey<'static> = LockKey::Name(b"catalog");

/// What a session's variables say of a running statement.
#[derive(Debug, Clone, Copy)]
pub struct StatementSettings {
    /// CLIENT_FOUND_ROWS.
    pub found_rows: bool,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub auto_increment: (u64, u64),
    /// `foreign_key_checks`
    pub foreign_key_checks: bool,
    pub insert_id: Option<u64>,
    /// `cte_max_recursion_depth`
    pub recursion_limit: u64,
    /// `sql_select_limit`: the most rows of a query without a LIMIT of its own.
    pub select_limit: u64,
    /// `innodb_lock_wait_timeout`
    pub lock_wait_timeout: Duration,
    /// `lock_wait_timeout`
    pub metadata_lock_wait_timeout: Duration,
    /// Decimals are given with the digits that they were computed with, not with those of their types: for user variables.
    pub exact_values: bool,
}

/// The server's own tables, as a session may see them.
pub trait ServerTables {
    /// The rows of a virtual table as of now: at least those that pass the conditions, over slots from `offset` on.
    fn rows(
        &self,
        table: &'static dyn VirtualTable,
        ctx: &EvalContext<'_>,
        offset: usize,
        conditions: &[Expr],
    ) -> SqlResult<Vec<Vec<Value>>>;
}

/// Runs stored programs: the session, as a part of the statement.
pub trait StoredPrograms {
    /// The value of a stored function.
    fn call(&self, function: &dyn Subquery, args: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value>;

    /// Fires the triggers that a table has for a row then.
    fn fire(
        &self,
        table: &Table,
        timing: TriggerTiming,
        event: TriggerEvent,
        rows: &mut TriggerRows<'_>,
        ctx: &EvalContext<'_>,
    ) -> SqlResult<()>;
}

/// The row that triggers fire for.
#[derive(Default)]
pub struct TriggerRows<'r> {
    pub old: Option<&'r [Value]>,
    pub new: Option<&'r mut [Value]>,
    /// The columns of the new row that they have set.
    pub set: Vec<usize>,
}

/// One statement's access to the world. Expressions, subqueries and operators share it, so the transaction is borrowed for
/// each single read or write and never across a wait.
pub struct Runtime<'a> {
    pub participant: &'a Arc<dyn Participant>,
    pub host: &'a dyn Host,
    pub settings: StatementSettings,
    /// `insert_id`, until it is used.
    pub insert_id: Cell<Option<u64>>,
    /// The first automatic id of a row that the statement has inserted, also if it fails later.
    pub first_automatic_id: Cell<Option<u64>>,
    /// How long it has waited for locks.
    pub lock_waits: Cell<Duration>,
    transaction: &'a RefCell<Transaction>,
    /// Where the query of an INSERT reads that says AS OF.
    past: Option<&'a RefCell<Transaction>>,
    is_in_past: Cell<bool>,
    locks_reads: bool,
    /// Tables that the session has locked already.
    table_locks: Option<&'a dyn LockedTables>,
    server_tables: Option<&'a dyn ServerTables>,
    measures: Option<&'a Measures>,
    programs: Option<&'a dyn StoredPrograms>,
    kept: Kept,
}

/// What the statement has computed once and reads often, by the place in the plan that it belongs to.
#[derive(Default)]
struct Kept {
    values: RefCell<HashMap<usize, Value>>,
    rows: RefCell<HashMap<usize, Rc<KeptRows>>>,
    tables: RefCell<HashMap<usize, Rc<HashTable>>>,
    working: RefCell<HashMap<usize, Rc<KeptRows>>>,
    lookups: RefCell<HashMap<usize, Looked>>,
    memos: RefCell<HashMap<usize, Rc<RefCell<Memo>>>>,
    rankings: RefCell<HashMap<usize, Rc<Ranking>>>,
}

/// What has become of a correlated query that may be looked up.
#[derive(Clone)]
enum Looked {
    /// It was run so often.
    Not(u64),
    In(Rc<Found>),
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
        participant: &'a Arc<dyn Participant>,
        host: &'a dyn Host,
        transaction: &'a RefCell<Transaction>,
        settings: StatementSettings,
    ) -> Runtime<'a> {
        Runtime {
            participant,
            host,
            settings,
            insert_id: Cell::new(settings.insert_id),
            first_automatic_id: Cell::new(None),
            lock_waits: Cell::new(Duration::ZERO),
            transaction,
            past: None,
            is_in_past: Cell::new(false),
            locks_reads: false,
            table_locks: None,
            server_tables: None,
            measures: None,
            programs: None,
            kept: Kept::default(),
        }
    }

    /// For a statement that has to lock what it reads (SERIALIZABLE).
    pub fn locking_reads(self, locks_reads: bool) -> Runtime<'a> {
        Runtime { locks_reads, ..self }
    }

    /// Whether the statement locks what it reads.
    pub fn locks_reads(&self) -> bool {
        self.locks_reads && !self.is_in_past.get()
    }

    /// For an INSERT whose query reads the past in a transaction of its own.
    pub fn beside(self, past: Option<&'a RefCell<Transaction>>) -> Runtime<'a> {
        Runtime { past, ..self }
    }

    /// Reads in that transaction for the time being.
    pub fn in_past<R>(&self, read: impl FnOnce() -> R) -> R {
        self.is_in_past.set(true);
        let read = read();
        self.is_in_past.set(false);
        read
    }

    fn current(&self) -> &'a RefCell<Transaction> {
        match self.past {
            Some(past) if self.is_in_past.get() => past,
            _ => self.transaction,
        }
    }

    /// For a statement of a session that holds table locks.
    pub fn under(self, table_locks: &'a dyn LockedTables) -> Runtime<'a> {
        Runtime {
            table_locks: Some(table_locks),
            ..self
        }
    }

    /// For a statement that may read the server's own tables.
    pub fn showing(self, server_tables: Option<&'a dyn ServerTables>) -> Runtime<'a> {
        Runtime { server_tables, ..self }
    }

    /// For EXPLAIN ANALYZE.
    pub fn measuring(self, measures: Option<&'a Measures>) -> Runtime<'a> {
        Runtime { measures, ..self }
    }

    /// Where runs of joins are measured, if they are.
    pub fn measures(&self) -> Option<&'a Measures> {
        self.measures
    }

    /// For a statement that may have stored programs run.
    pub fn running(self, programs: &'a dyn StoredPrograms) -> Runtime<'a> {
        Runtime {
            programs: Some(programs),
            ..self
        }
    }

    /// Who runs stored programs.
    pub fn programs(&self) -> SqlResult<&'a dyn StoredPrograms> {
        let none = || SqlError::not_supported("stored programs in a table's definition");
        self.programs.ok_or_else(none)
    }

    /// The rows of a virtual table.
    pub fn virtual_rows(
        &self,
        table: &'static dyn VirtualTable,
        ctx: &EvalContext<'_>,
        offset: usize,
        conditions: &[Expr],
    ) -> SqlResult<Vec<Vec<Value>>> {
        let none = || SqlError::not_supported("information_schema in a table's definition");
        let tables = self.server_tables.ok_or_else(none)?;
        tables.rows(table, ctx, offset, conditions)
    }

    /// Whether LOCK TABLES has locked the table for this session.
    pub fn holds(&self, table: &Table) -> bool {
        self.table_locks.is_some_and(|locks| locks.holds(table))
    }

    /// The rows of a derived table or subquery, computed at the first use.
    pub fn kept_rows(&self, place: usize, compute: impl FnOnce() -> SqlResult<Rows>) -> SqlResult<Rc<KeptRows>> {
        at_first_use(&self.kept.rows, place, || Ok(Rc::new(KeptRows::new(compute()?))))
    }

    /// The value of a stored function that has the same at every call.
    pub fn kept_value(&self, function: &dyn Subquery, compute: impl FnOnce() -> SqlResult<Value>) -> SqlResult<Value> {
        let place = std::ptr::from_ref(function).cast::<()>() as usize;
        at_first_use(&self.kept.values, place, compute)
    }

    /// The hash table of a join, built at the first use.
    pub fn hash_table(&self, place: usize, build: impl FnOnce() -> SqlResult<HashTable>) -> SqlResult<Rc<HashTable>> {
        at_first_use(&self.kept.tables, place, || build().map(Rc::new))
    }

    /// What a correlated query is looked up in, read as soon as that pays; `None` before, and where there is no memory for it.
    pub fn lookup_table(
        &self,
        place: usize,
        lookup: &Lookup,
        read: impl FnOnce() -> SqlResult<Found>,
    ) -> SqlResult<Option<Rc<Found>>> {
        let looked = match self.kept.lookups.borrow_mut().entry(place).or_insert(Looked::Not(0)) {
            Looked::Not(runs) if !lookup.pays_after(*runs) => {
                *runs += 1;
                return Ok(None);
            }
            Looked::Not(_) => None,
            Looked::In(found) => Some(found.clone()),
        };
        let found = match looked {
            Some(found) => found,
            None => {
                let found = Rc::new(read()?);
                self.kept.lookups.borrow_mut().insert(place, Looked::In(found.clone()));
                found
            }
        };
        Ok((!found.is_too_large()).then_some(found))
    }

    /// What was computed of a correlated query so far.
    pub fn memo(&self, place: usize, new: impl FnOnce() -> Memo) -> Rc<RefCell<Memo>> {
        let mut memos = self.kept.memos.borrow_mut();
        memos
            .entry(place)
            .or_insert_with(|| Rc::new(RefCell::new(new())))
            .clone()
    }

    /// What a search has found, which runs at the first use.
    pub fn ranking(&self, place: usize, search: impl FnOnce() -> SqlResult<Ranking>) -> SqlResult<Rc<Ranking>> {
        at_first_use(&self.kept.rankings, place, || search().map(Rc::new))
    }

    /// Refuses an index that was made after the transaction's snapshot. Of a table that is about to be read.
    pub fn check_index(&self, table: &Table, index: IndexId) -> SqlResult<()> {
        let snapshot = self.transaction().snapshot();
        match table.rows.is_readable_at(index, snapshot) {
            true => Ok(()),
            false => Err(ErrorKind::TableDefChanged.into()),
        }
    }

    /// The rows that the recursive reference of a common table stands for now.
    pub fn working_rows(&self, number: usize) -> Rc<KeptRows> {
        self.kept.working.borrow().get(&number).cloned().unwrap_or_default()
    }

    /// Sets them for one round; returns those of before.
    pub fn set_working_rows(&self, number: usize, rows: Rows) -> Option<Rc<KeptRows>> {
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
        self.kept.values.take();
        self.kept.rows.take();
        self.kept.tables.take();
        self.kept.lookups.take();
        self.kept.memos.take();
    }

    /// Forgets the rows of one derived table: the row that they depend on has changed.
    pub fn forget_rows(&self, source: &DerivedSource) {
        if let Some(place) = source.place() {
            self.kept.rows.borrow_mut().remove(&place);
        }
    }

    /// The same statement's work in another transaction.
    pub fn with_transaction<'b>(&'b self, transaction: &'b RefCell<Transaction>) -> Runtime<'b> {
        Runtime {
            participant: self.participant,
            host: self.host,
            settings: self.settings,
            insert_id: Cell::new(None),
            first_automatic_id: Cell::new(None),
            lock_waits: Cell::new(Duration::ZERO),
            transaction,
            past: None,
            is_in_past: Cell::new(false),
            locks_reads: self.locks_reads,
            table_locks: self.table_locks,
            server_tables: self.server_tables,
            measures: None,
            programs: self.programs,
            kept: Kept::default(),
        }
    }

    /// An account for what a sort or a hash table holds; 1041's kin when the node has no memory left.
    pub fn query_memory(&self) -> QueryMemory {
        QueryMemory {
            budget: self.participant.store().memory().clone(),
            held: None,
            unclaimed: 0,
        }
    }

    /// The transaction, for reading.
    pub fn transaction(&self) -> Ref<'_, Transaction> {
        self.current().borrow()
    }

    /// The transaction, for a write that cannot wait.
    pub fn transaction_mut(&self) -> RefMut<'_, Transaction> {
        self.current().borrow_mut()
    }

    /// Repeats an operation of the transaction until it has its locks: 1205 after `innodb_lock_wait_timeout`, 1213 for a
    /// deadlock's victim, 1317 when interrupted.
    pub fn with_locks(
        &self,
        operation: impl FnMut(&mut Transaction) -> Result<Progress, TransactionError>,
    ) -> Result<Locked, StatementError> {
        self.wait_for(operation, "Waiting for lock", self.settings.lock_wait_timeout)
    }

    /// Asks for the locks of these rows at once, where another node gives them; they are locked one by one afterwards.
    pub fn lock_ahead<'k>(
        &self,
        table: &Table,
        keys: impl Iterator<Item = &'k [u8]> + Clone,
        mode: LockMode,
    ) -> SqlResult<()> {
        self.with_locks(|transaction| transaction.lock_ahead(&table.rows, keys.clone(), mode))
            .map_err(|error| error.into_sql(table))?;
        Ok(())
    }

    /// As [`lock_ahead`](Self::lock_ahead), of keys of any index.
    pub fn lock_keys_ahead<'k>(
        &self,
        table: &Table,
        keys: impl Iterator<Item = (IndexId, &'k [u8])> + Clone,
        mode: LockMode,
    ) -> SqlResult<()> {
        self.with_locks(|transaction| transaction.lock_keys_ahead(&table.rows, keys.clone(), mode))
            .map_err(|error| error.into_sql(table))?;
        Ok(())
    }

    /// As [`lock_ahead`](Self::lock_ahead), of the keys that locked rows are about to leave in these unique indexes.
    pub fn lock_leaving_ahead<'k>(
        &self,
        table: &Table,
        rows: impl Iterator<Item = &'k [u8]> + Clone,
        indexes: &[IndexId],
    ) -> SqlResult<()> {
        self.with_locks(|transaction| transaction.lock_leaving_ahead(&table.rows, rows.clone(), indexes))
            .map_err(|error| error.into_sql(table))?;
        Ok(())
    }

    /// Gets the locks of the keys that the statement has claimed for its rows.
    #[inline]
    pub fn settle_claims(&self) -> SqlResult<()> {
        // The borrow ends before the wait.
        let has_claims = self.transaction().has_claims();
        match has_claims {
            true => self.settle_claims_now(),
            false => Ok(()),
        }
    }

    fn settle_claims_now(&self) -> SqlResult<()> {
        let settled = self.with_locks(Transaction::settle_claims);
        settled.map(|_| ()).map_err(|error| error.into_sql_named("table"))
    }

    /// Locks what a table or a name means until the transaction ends: 1205 after `lock_wait_timeout`.
    pub fn lock_definition(&self, key: LockKey<'_>, mode: LockMode) -> SqlResult<()> {
        let state = match key {
            EVERYTHING => "Waiting for global read lock",
            CATALOG => "Waiting for other changes of the catalog",
            _ => "Waiting for table metadata lock",
        };
        let lock = |transaction: &mut Transaction| transaction.lock_definition(key, mode);
        match self.wait_for(lock, state, self.settings.metadata_lock_wait_timeout) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.into_sql_named("table")),
        }
    }

    /// As [`lock_definition`](Self::lock_definition), of a table that the statement changes: see
    /// [`Transaction::lock_definition_later`].
    pub fn lock_definition_later(&self, key: LockKey<'_>, mode: LockMode) -> SqlResult<()> {
        let lock = |transaction: &mut Transaction| transaction.lock_definition_later(key, mode);
        let (state, timeout) = (
            "Waiting for table metadata lock",
            self.settings.metadata_lock_wait_timeout,
        );
        match self.wait_for(lock, state, timeout) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.into_sql_named("table")),
        }
    }

    /// Whether what the transaction has locked is locked still: 1213 where that went with the lead.
    pub fn confirm_locks(&self) -> SqlResult<()> {
        let timeout = self.settings.metadata_lock_wait_timeout;
        match self.wait_for(Transaction::confirm_locks, "Waiting for other nodes", timeout) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.into_sql_named("table")),
        }
    }

    /// Takes the locks that were left for later: what the statement reads from here on is as new as they are.
    #[inline]
    pub fn lock_later(&self) -> SqlResult<()> {
        // The borrow ends before the wait.
        let has_later = self.transaction().has_later_locks();
        match has_later {
            true => self.lock_later_now(),
            false => Ok(()),
        }
    }

    #[cold]
    fn lock_later_now(&self) -> SqlResult<()> {
        match self.with_locks(Transaction::lock_later) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.into_sql_named("table")),
        }
    }

    fn wait_for(
        &self,
        mut operation: impl FnMut(&mut Transaction) -> Result<Progress, TransactionError>,
        state: &'static str,
        timeout: Duration,
    ) -> Result<Locked, StatementError> {
        loop {
            // The borrow ends here: other statements of this thread run while we wait.
            let progress = operation(&mut self.current().borrow_mut())?;
            let wait = match progress {
                Progress::Done => return Ok(Locked::Yes),
                Progress::Skipped => return Ok(Locked::Skipped),
                Progress::Wait(wait) => wait,
            };
            self.host.show_state(state);
            let began = Instant::now();
            let end = self.host.wait_interruptible(std::pin::pin!(wait), Some(timeout));
            self.lock_waits.set(self.lock_waits.get() + began.elapsed());
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
        self.lock_later()?;
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
        if path.table.id().is_local() {
            return Ok(());
        }
        // A key is locked by the read itself. A shared lock before would be in the way of who does the same.
        if path.primary_keys(keys).is_none() {
            self.lock_later()?;
            self.lock_before_read(path, keys, policy)?;
        }
        if !self.transaction().must_be_unchanged() {
            // What it looks through are the newest rows.
            return match path.table.rows.is_current() {
                true => Ok(()),
                false => Err(ErrorKind::TableDefChanged.into()),
            };
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
        if path.table.id().is_local() {
            return Ok(());
        }
        let shares = self.locks_reads()
            && policy != LockPolicy::SkipLocked
            && !(path.primary_keys(keys).is_none() && env::failpoints::goes_wrong("serializable.range"));
        if !shares {
            return Ok(());
        }
        if !self.holds(&path.table) {
            self.lock_table_for_read(path, keys, policy)?;
        }
        if let Some(keys) = path.primary_keys(keys) {
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

/// Refuses a table, or an index of it, that is newer than the snapshot, or has got other columns before it.
fn check_readable(path: &AccessPath, snapshot: Timestamp) -> SqlResult<()> {
    match path.table.rows.is_readable_at(path.index, snapshot) {
        true => Ok(()),
        false => Err(ErrorKind::TableDefChanged.into()),
    }
}

impl Runtime<'_> {
    /// Keeps others from changing what a read sees: all of the table, where rows could come into a range.
    fn lock_table_for_read(&self, path: &AccessPath, keys: &KeyRanges, policy: LockPolicy) -> SqlResult<()> {
        let table = &*path.table;
        let mode = match path.primary_keys(keys).is_none() {
            true => LockMode::Shared,
            false => LockMode::IntentionShared,
        };
        let policy = match policy {
            LockPolicy::NoWait => LockPolicy::NoWait,
            LockPolicy::Wait | LockPolicy::SkipLocked => LockPolicy::Wait,
        };
        self.with_locks(|transaction| transaction.lock_table(table.id(), mode, policy))
            .map_err(|error| error.into_sql(table))?;
        Ok(())
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

/// Memory that a query holds until it ends, taken from the node's budget in large steps.
pub struct QueryMemory {
    budget: Arc<MemoryBudget>,
    held: Option<Reservation>,
    /// Reserved and not used yet.
    unclaimed: usize,
}

impl QueryMemory {
    const STEP: usize = 64 << 10;

    /// Takes `bytes` more; error 1038 when the budget is exhausted. What a small query needs it gets from the allowance, too: it is not the
    /// one that has used the memory up, and those that have are about to end.
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
                .or_else(|full| match step {
                    QueryMemory::STEP => self.budget.reserve_to_shrink(MemoryUse::Queries, step as u64),
                    _ => Err(full),
                })
                .map(|held| self.held = Some(held)),
        };
        grown.map_err(|_| SqlError::from(ErrorKind::OutOfSortMemory))?;
        self.unclaimed += step - bytes;
        Ok(())
    }
}

/// What is kept for a place; computed where nothing is yet.
fn at_first_use<T: Clone>(
    kept: &RefCell<HashMap<usize, T>>,
    place: usize,
    compute: impl FnOnce() -> SqlResult<T>,
) -> SqlResult<T> {
    if let Some(known) = kept.borrow().get(&place) {
        return Ok(known.clone());
    }
    let computed = compute()?;
    kept.borrow_mut().insert(place, computed.clone());
    Ok(computed)
}
