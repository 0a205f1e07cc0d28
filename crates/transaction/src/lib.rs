//! Transactions: a session's uncommitted writes over a shard's rows.
//!
//! A [`Transaction`] keeps its writes to itself, in an overlay that its own reads look through, and takes locks in the shard's
//! lock table as it goes. Commit encodes the overlay as one write set, proposes it to the shard's log, and releases the locks
//! when the write set has been applied.
//!
//! ```text
//!   SELECT ──▶ get / scan ──▶ overlay, then the store at the snapshot
//!   UPDATE ──▶ scan ──▶ lock_for_write ──▶ get_current ──▶ update      each row
//!   INSERT ──▶ insert (locks the row's key and its unique keys)
//!   COMMIT ──▶ write set ──▶ log ──▶ applied ──▶ locks released
//! ```
//!
//! Nothing here blocks. Where a lock is taken by somebody else, an operation returns [`Progress::Wait`] and has changed
//! nothing: wait for the future, then call the operation again.
//!
//! Isolation, in terms of snapshots and locks:
//!
//! * READ COMMITTED: a snapshot per statement; writes see the newest committed row.
//! * REPEATABLE READ: one snapshot, taken by the first read. A locking read of, or a write to, a row that changed after it fails with
//!   [`TransactionError::WriteConflict`] (first committer wins), or, under [`WriteRule::NewestCommitted`], goes on with the newest row.
//!   The statement that takes the snapshot never fails so: it runs again until its locks are older than its snapshot ([`settle`]).
//! * SERIALIZABLE: what a statement reads is locked first ([`Transaction::lock_for_read`], [`Transaction::lock_table`]) and
//!   then read as newly as possible: strict two-phase locking.

mod claims;
mod commit;
mod expiry;
mod local;
mod lock;
mod overlay;
mod past;
mod prepared;
mod read;
mod settle;
mod statement_ids;
mod write;

pub use commit::{Committing, Participant};
pub use local::LocalChanges;
pub use lock::{LOCKS_AT_ONCE, Unlocking};
pub use past::{PastMoment, commit_nothing};
pub use prepared::Decision;
pub use settle::{Missed, Settled, StatementScope};

use claims::Claims;
use env::failpoints;
use expiry::{Standing, Times};
use overlay::Overlay;
use settle::Settling;
pub use shard::Durability;
use shard::{Freshness, Guest, GuestWait};
use statement_ids::StatementIds;
use std::cell::{Cell, Ref, RefCell};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use store::{
    IndexId, LockOwner, LockWait, MemoryLimit, MemoryUse, PreparedIndex, Reservation, Snapshot, Store, Table, TableId,
    Timestamp, TransactionLocks,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    ReadCommitted,
    #[default]
    RepeatableRead,
    Serializable,
}

/// What REPEATABLE READ does with a locking read of, or a write to, a row that somebody changed after the snapshot
/// (`snapshot_isolation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteRule {
    /// Error 1213: snapshot isolation.
    #[default]
    FirstCommitterWins,
    /// Show and change the newest committed row, as MySQL does.
    NewestCommitted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    pub isolation: Isolation,
    pub write_rule: WriteRule,
    /// What its commit waits for, on a node alone.
    pub durability: Durability,
    /// Of the client whose transaction it is, for whoever looks at locks; 0: nobody's.
    pub connection: u32,
}

/// What to do when a lock is not free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LockPolicy {
    #[default]
    Wait,
    /// Fail: [`TransactionError::LockNotAvailable`].
    NoWait,
    /// Leave the row out: [`Progress::Skipped`].
    SkipLocked,
}

/// How far an operation that may need locks has come.
#[derive(Debug)]
#[must_use]
pub enum Progress {
    Done,
    /// Somebody holds a lock. Nothing has changed: wait, then call again.
    Wait(Wait),
    /// Locked by somebody else, under [`LockPolicy::SkipLocked`].
    Skipped,
}

/// Somebody else holds a lock, or the node that gives locks has not answered yet.
#[derive(Debug)]
#[must_use]
pub enum Wait {
    Here(LockWait),
    AtLeader(GuestWait),
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match self.get_mut() {
            Wait::Here(wait) => Pin::new(wait).poll(context),
            Wait::AtLeader(wait) => Pin::new(wait).poll(context),
        }
    }
}

/// Why an operation of a transaction failed. The statement is to be rolled back; the whole transaction if
/// [`ends_transaction`](TransactionError::ends_transaction).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransactionError {
    /// 1062. `key` is the row's key in that index, `existing` the primary key of the row that has it.
    #[error("duplicate key in index {index} of table {table}")]
    DuplicateKey {
        table: TableId,
        index: IndexId,
        existing: Vec<u8>,
    },
    /// 1213, too: the row changed after the transaction's snapshot.
    #[error("a row of table {0} changed after the transaction's snapshot")]
    WriteConflict(TableId),
    /// 1213.
    #[error("deadlock")]
    Deadlock,
    /// 1213, too: another node has led since the transaction took its locks.
    #[error("the transaction's locks are lost")]
    LocksLost,
    /// 1213, too: no node leads, or none that leads can be reached.
    #[error("no node gives locks")]
    Unavailable,
    /// 3572.
    #[error("lock is not available at once")]
    LockNotAvailable,
    /// 1412: the table, or the index, is newer than the transaction's snapshot.
    #[error("table {0} was redefined after the transaction's snapshot")]
    DefinitionChanged(TableId),
    /// 1114 and its kin.
    #[error(transparent)]
    Memory(#[from] MemoryLimit),
    /// Longer than an index entry can be, or a row with more words than a full-text index takes.
    #[error("a key is too long")]
    KeyTooLong,
}

impl TransactionError {
    /// Whether the transaction cannot go on: deadlock victims and write conflicts must start again from their snapshot.
    pub fn ends_transaction(&self) -> bool {
        use TransactionError::{Deadlock, LocksLost, Unavailable, WriteConflict};
        matches!(self, Deadlock | LocksLost | Unavailable | WriteConflict(_))
    }
}

/// A place in the transaction's history to go back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint(usize);

/// A snapshot that comes back, with its time.
struct SetAside {
    snapshot: Option<Snapshot>,
    read_time: i64,
}

/// A session's transaction on one shard.
pub struct Transaction {
    participant: Arc<dyn Participant>,
    /// In which its locks are taken.
    lock_epoch: u64,
    /// Where they are taken while another node leads.
    guest: Option<Guest>,
    options: Options,
    snapshot: RefCell<Option<Snapshot>>,
    /// Of the session's own tables, which nobody else changes.
    local_snapshot: RefCell<Option<Snapshot>>,
    /// The snapshot is of the past, and stays.
    is_past: bool,
    /// The next read takes a new snapshot.
    is_snapshot_old: Cell<bool>,
    /// Rows that were looked at.
    examined: Cell<u64>,
    /// Of the running statement, where it may run again.
    settling: Option<Settling>,
    /// The transaction's snapshot, while a statement that reads the newest rows has one of its own.
    set_aside: Option<SetAside>,
    /// By which rows expire.
    times: Times,
    standing: Standing,
    overlay: Overlay,
    /// How long the history was at each savepoint.
    savepoints: Vec<usize>,
    /// Indexes that the commit adds.
    prepared: Vec<PreparedIndex>,
    locks: TransactionLocks,
    /// Ids that are the next to be taken.
    reserved_ids: Option<Range<u64>>,
    has_asked_for_ids: bool,
    ids_of_statement: StatementIds,
    has_late_definitions: bool,
    /// Where the running statement may claim keys.
    claims: Option<Claims>,
    memory: Reservation,
}

impl Transaction {
    pub fn begin(participant: Arc<dyn Participant>, options: Options) -> Transaction {
        let store = participant.store();
        let memory = store.memory().nothing_yet(MemoryUse::Transactions);
        let lock_epoch = participant.lock_epoch();
        let locks = store.locks().transaction_of(options.connection);
        let mut guest = participant.guest();
        if let Some(guest) = &mut guest {
            guest.is_also(locks.alias());
        }
        Transaction {
            participant,
            lock_epoch,
            guest,
            options,
            snapshot: RefCell::new(None),
            local_snapshot: RefCell::new(None),
            is_past: false,
            is_snapshot_old: Cell::new(false),
            examined: Cell::new(0),
            settling: None,
            set_aside: None,
            times: Times::default(),
            standing: Standing::default(),
            overlay: Overlay::default(),
            savepoints: Vec::new(),
            prepared: Vec::new(),
            locks,
            reserved_ids: None,
            has_asked_for_ids: false,
            ids_of_statement: StatementIds::default(),
            has_late_definitions: false,
            claims: None,
            memory,
        }
    }

    /// A transaction that reads what a snapshot of the past shows ([`PastMoment`], which is over). It may neither lock nor change anything.
    pub fn of_past(participant: Arc<dyn Participant>, moment: PastMoment) -> Transaction {
        let mut transaction = Transaction::begin(participant, Options::default());
        transaction.snapshot = RefCell::new(Some(moment.into_snapshot()));
        transaction.is_past = true;
        transaction
    }

    /// Whether it reads the past.
    pub fn is_past(&self) -> bool {
        self.is_past
    }

    pub fn options(&self) -> Options {
        self.options
    }

    pub fn store(&self) -> &Arc<Store> {
        self.participant.store()
    }

    /// How the lock table knows this transaction.
    pub fn lock_owner(&self) -> LockOwner {
        self.locks.owner()
    }

    /// How many locks it holds, or waits for.
    pub fn lock_count(&self) -> usize {
        self.locks.count() + self.guest.as_ref().map_or(0, Guest::count)
    }

    /// Whether it holds locks that another node has given.
    pub fn is_guest(&self) -> bool {
        self.guest.as_ref().is_some_and(|guest| guest.count() > 0)
    }

    /// What the next read has to wait for where it takes a new snapshot, so that it sees every commit that anybody was told of. `None`:
    /// nothing.
    #[inline]
    pub fn freshness(&self) -> Option<Freshness> {
        match self.takes_snapshot() {
            true => self.participant.freshness(),
            false => None,
        }
    }

    /// As [`freshness`](Self::freshness), of a statement that changes or locks rows: it looks for the newest ones where they are no conflict,
    /// whatever the snapshot shows.
    pub fn freshness_to_lock(&self) -> Option<Freshness> {
        let takes_newest = self.options.isolation == Isolation::RepeatableRead
            && self.options.write_rule == WriteRule::NewestCommitted
            && !self.is_past;
        match takes_newest || self.takes_snapshot() {
            true => self.participant.freshness(),
            false => None,
        }
    }

    /// As [`freshness`](Self::freshness), of a read that may miss what was committed in the last `bound`.
    pub fn freshness_within(&self, bound: Duration) -> Option<Freshness> {
        match self.takes_snapshot() {
            true => self.participant.freshness_within(bound),
            false => None,
        }
    }

    /// Whether the next statement reads at a new snapshot. Serializable ones are as new as the locks of what they read.
    fn takes_snapshot(&self) -> bool {
        let each_has_its_own = self.options.isolation == Isolation::ReadCommitted && !self.is_past;
        each_has_its_own || self.is_snapshot_old.get() || self.snapshot.borrow().is_none()
    }

    /// Whether a commit would change anything; of local tables see [`has_local_changes`](Self::has_local_changes).
    pub fn has_writes(&self) -> bool {
        !self.overlay.is_empty()
    }

    /// How many rows a commit would change.
    pub fn changed_rows(&self) -> usize {
        self.overlay.changed_rows()
    }

    // --- statements and snapshots ---

    /// Starts a statement that takes no locks; READ COMMITTED and SERIALIZABLE will take a new snapshot at its first read. Returns the
    /// place to roll back to if it fails.
    pub fn begin_statement(&mut self) -> Savepoint {
        self.times.begin_statement();
        if self.options.isolation != Isolation::RepeatableRead || failpoints::goes_wrong("snapshot.keep") {
            self.renew_snapshot();
        }
        self.savepoint()
    }

    /// The statement succeeded. Forgets what only its rollback would need.
    pub fn end_statement(&mut self, statement: Savepoint) {
        self.stop_settling();
        self.forget_later();
        self.ids_of_statement.forget();
        if failpoints::goes_wrong("lock.statement") {
            self.locks = self.store().locks().transaction();
        }
        self.release(statement);
    }

    /// The statement failed: undoes its writes. Its locks stay. A snapshot that it was to set has shown nobody anything.
    pub fn rollback_statement(&mut self, statement: Savepoint) {
        self.undo_statement(statement);
        self.ids_of_statement.forget();
    }

    /// As [`rollback_statement`](Self::rollback_statement), of a statement that comes again.
    pub fn undo_statement(&mut self, statement: Savepoint) {
        self.ids_of_statement.undo();
        if self.settling.as_ref().is_some_and(Settling::sets_snapshot) {
            *self.snapshot.get_mut() = None;
        }
        self.stop_settling();
        self.forget_later();
        if !failpoints::goes_wrong("rollback.statement") {
            self.rollback_to(statement);
        }
        self.release(statement);
    }

    /// What the statement has not needed to lock is not locked.
    fn forget_later(&mut self) {
        if let Some(guest) = &mut self.guest {
            guest.forget_later();
        }
    }

    /// The timestamp at which reads read, if one has been taken.
    pub fn fixed_snapshot(&self) -> Option<Timestamp> {
        self.snapshot.borrow().as_ref().map(Snapshot::timestamp)
    }

    /// The timestamp at which reads read, taken now if there was none.
    pub fn snapshot(&self) -> Timestamp {
        self.reading_at().timestamp()
    }

    /// The next read takes a new snapshot: nothing has been read at the one there is.
    pub fn renew_snapshot(&self) {
        self.is_snapshot_old.set(!self.is_past);
    }

    /// Refuses a table or an index that is newer than the snapshot, and so lacks what the snapshot would have to see.
    pub fn check_readable(&self, table: &Table, index: IndexId) -> Result<(), TransactionError> {
        match table.is_readable_at(index, self.snapshot()) {
            true => Ok(()),
            false => Err(TransactionError::DefinitionChanged(table.id())),
        }
    }

    /// What a read of the table reads at.
    #[inline]
    fn reading(&self, table: &Table) -> Ref<'_, Snapshot> {
        match table.id().is_local() {
            true => self.reading_local(table),
            false => self.reading_at(),
        }
    }

    fn reading_at(&self) -> Ref<'_, Snapshot> {
        let is_old = self.is_snapshot_old.replace(false) && !failpoints::goes_wrong("snapshot.refresh");
        if is_old || self.snapshot.borrow().is_none() {
            self.times.begin_snapshot();
            match &mut *self.snapshot.borrow_mut() {
                Some(snapshot) => snapshot.refresh(),
                none => *none = Some(self.store().snapshot()),
            }
        }
        Ref::map(self.snapshot.borrow(), |snapshot| {
            snapshot.as_ref().expect("taken above")
        })
    }

    // --- savepoints ---

    /// A place to return to. Savepoints nest.
    pub fn savepoint(&mut self) -> Savepoint {
        self.savepoints.push(self.overlay.history());
        Savepoint(self.savepoints.len() - 1)
    }

    /// Undoes all writes since, in time proportional to their number; locks stay. The savepoint remains, later ones are
    /// forgotten.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        self.savepoints.truncate(savepoint.0 + 1);
        self.overlay.undo_to(self.savepoints[savepoint.0]);
        self.memory
            .shrink(self.memory.bytes().saturating_sub(self.overlay.bytes()));
    }

    /// Forgets the savepoint, and later ones; the writes stay.
    pub fn release(&mut self, savepoint: Savepoint) {
        self.savepoints.truncate(savepoint.0);
        if self.savepoints.is_empty() {
            self.overlay.forget_history();
        }
    }

    // --- the end ---

    /// Forgets everything and releases the locks; so does dropping the transaction.
    pub fn rollback(self) {
        if failpoints::goes_wrong("rollback") {
            // Whoever proposes need not wait for the answer.
            drop(self.commit());
        }
    }
}

#[cfg(test)]
mod tests;
