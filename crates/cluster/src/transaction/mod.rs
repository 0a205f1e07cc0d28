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
//! * REPEATABLE READ: one snapshot, taken by the first read. A write to a row that changed after it fails with
//!   [`TransactionError::WriteConflict`] (first committer wins), or, under [`WriteRule::NewestCommitted`], goes on with the newest row.
//! * SERIALIZABLE: what a statement reads is locked first ([`Transaction::lock_for_read`], [`Transaction::lock_table`]) and
//!   then read as newly as possible: strict two-phase locking.

use shard::{ProposeError, Shard};
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use store::{
    Cursor, Entry, IndexId, IndexSpec, LockMode, LockWait, MemoryLimit, Store, Table, TableId, TableSpec, Timestamp,
};

/// The shard as a transaction sees it.
pub trait Participant: Send + Sync {
    fn store(&self) -> &Arc<Store>;

    /// Commits a write set: it is durable and visible when the future is ready.
    fn propose(&self, write_set: Vec<u8>) -> Pin<Box<dyn Future<Output = Result<Timestamp, ProposeError>> + Send>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    ReadCommitted,
    #[default]
    RepeatableRead,
    Serializable,
}

/// What REPEATABLE READ does with a write to a row that somebody changed after the snapshot (`snapshot_isolation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteRule {
    /// Error 1020: snapshot isolation.
    #[default]
    FirstCommitterWins,
    /// Change the newest committed row, as MySQL does.
    NewestCommitted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    pub isolation: Isolation,
    pub write_rule: WriteRule,
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
    Wait(LockWait),
    /// Locked by somebody else, under [`LockPolicy::SkipLocked`].
    Skipped,
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
    /// 1020: the row changed after the transaction's snapshot.
    #[error("a row of table {0} changed after the transaction's snapshot")]
    WriteConflict(TableId),
    /// 1213.
    #[error("deadlock")]
    Deadlock,
    /// 3572.
    #[error("lock is not available at once")]
    LockNotAvailable,
    /// 1412: the table, or the index, is newer than the transaction's snapshot.
    #[error("table {0} was redefined after the transaction's snapshot")]
    DefinitionChanged(TableId),
    /// 1114 and its kin.
    #[error(transparent)]
    Memory(#[from] MemoryLimit),
    /// Longer than an index entry can be.
    #[error("key of {0} bytes is too long")]
    KeyTooLong(usize),
}

impl TransactionError {
    /// Whether the transaction cannot go on: deadlock victims and write conflicts must start again from their snapshot.
    pub fn ends_transaction(&self) -> bool {
        matches!(self, TransactionError::Deadlock | TransactionError::WriteConflict(_))
    }
}

/// A place in the transaction's history to go back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint(usize);

/// A session's transaction on one shard.
pub struct Transaction {
    participant: Arc<dyn Participant>,
    options: Options,
}

impl Transaction {
    pub fn begin(participant: Arc<dyn Participant>, options: Options) -> Transaction {
        Transaction { participant, options }
    }

    pub fn options(&self) -> Options {
        self.options
    }

    pub fn store(&self) -> &Arc<Store> {
        self.participant.store()
    }

    /// Whether a commit would change anything.
    pub fn has_writes(&self) -> bool {
        todo!()
    }

    // --- statements, snapshots, savepoints ---

    /// Starts a statement; READ COMMITTED and SERIALIZABLE will take a new snapshot at its first read. Returns the place to roll back to
    /// if it fails.
    pub fn begin_statement(&mut self) -> Savepoint {
        todo!()
    }

    /// The statement succeeded. Forgets what only its rollback would need.
    pub fn end_statement(&mut self, _statement: Savepoint) {
        todo!()
    }

    /// The timestamp at which reads read, taken now if there was none.
    pub fn snapshot(&self) -> Timestamp {
        todo!()
    }

    /// Whether a statement that met a [`WriteConflict`](TransactionError::WriteConflict) may silently run again on a newer
    /// snapshot: it is the transaction's first, nobody has seen the old one.
    pub fn may_restart_statement(&self) -> bool {
        todo!()
    }

    /// Rolls the statement back and drops the snapshot; its locks are kept, so that the next try gets further.
    pub fn restart_statement(&mut self, _statement: Savepoint) {
        todo!()
    }

    /// A place to return to. Savepoints nest.
    pub fn savepoint(&mut self) -> Savepoint {
        todo!()
    }

    /// Undoes all writes since, in time proportional to their number; locks stay. The savepoint remains.
    pub fn rollback_to(&mut self, _savepoint: Savepoint) {
        todo!()
    }

    /// Forgets the savepoint (and later ones); the writes stay.
    pub fn release(&mut self, _savepoint: Savepoint) {
        todo!()
    }

    // --- reads ---

    /// The row under a primary key, as this transaction sees it.
    pub fn get<R>(&self, _table: &Table, _key: &[u8], _read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        todo!()
    }

    /// The newest committed row, or this transaction's own: what UPDATE, DELETE and locking reads work on. Lock it first.
    pub fn get_current<R>(&self, _table: &Table, _key: &[u8], _read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        todo!()
    }

    /// Shows the entries of an index as this transaction sees them; see [`Table::scan`]. Works in chunks: until `visit`
    /// breaks or about `most` entries were looked at; call again while the cursor is not finished. `visit` may read through this transaction.
    pub fn scan(
        &self,
        _table: &Table,
        _index: IndexId,
        _cursor: &mut Cursor,
        _most: usize,
        _visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) {
        todo!()
    }

    /// How many entries of the cursor's range this transaction sees, without touching rows; in chunks like [`scan`](Self::scan).
    pub fn count(&self, _table: &Table, _index: IndexId, _cursor: &mut Cursor, _most: usize) -> usize {
        todo!()
    }

    // --- locks ---

    /// Locks a table. Every statement takes [`LockMode::IntentionShared`] on the tables it reads and
    /// [`LockMode::IntentionExclusive`] on those it changes, which keeps DDL ([`LockMode::Exclusive`]) out until the transaction ends.
    pub fn lock_table(
        &mut self,
        _table: TableId,
        _mode: LockMode,
        _policy: LockPolicy,
    ) -> Result<Progress, TransactionError> {
        todo!()
    }

    /// Locks a row for a locking read (FOR SHARE, FOR UPDATE), found by a scan or known by its key (an absent one too). Then read it by
    /// [`get_current`](Self::get_current): locking reads see the newest committed row, and a later write to it is no conflict.
    pub fn lock_for_read(
        &mut self,
        _table: &Table,
        _key: &[u8],
        _mode: LockMode,
        _policy: LockPolicy,
    ) -> Result<Progress, TransactionError> {
        todo!()
    }

    /// Locks a row that the statement is about to change, and checks that it has not changed since the snapshot if the
    /// isolation level asks for it. Then read it by [`get_current`](Self::get_current) and look at the condition again.
    pub fn lock_for_write(&mut self, _table: &Table, _key: &[u8]) -> Result<Progress, TransactionError> {
        todo!()
    }

    // --- writes ---

    /// Adds a row. Locks its primary key and its unique keys, and fails with the first duplicate.
    pub fn insert(&mut self, _table: &Table, _key: &[u8], _row: &[u8]) -> Result<Progress, TransactionError> {
        todo!()
    }

    /// Replaces the row under `key`, which exists and has been locked for write, by `row` under `new_key` (often the same).
    pub fn update(
        &mut self,
        _table: &Table,
        _key: &[u8],
        _new_key: &[u8],
        _row: &[u8],
    ) -> Result<Progress, TransactionError> {
        todo!()
    }

    /// Removes the row under `key`, which exists and has been locked for write.
    pub fn delete(&mut self, _table: &Table, _key: &[u8]) -> Result<Progress, TransactionError> {
        todo!()
    }

    /// Takes the next automatic id, for an INSERT that gives none (or 0). Never given to anybody else, even if this transaction rolls back.
    pub fn next_auto_increment(&mut self, _table: &Table) -> u64 {
        todo!()
    }

    /// An INSERT or UPDATE gave this id itself: automatic ones go on behind it.
    pub fn note_auto_increment(&mut self, _table: &Table, _id: u64) {
        todo!()
    }

    /// `ALTER TABLE … AUTO_INCREMENT = n`, and the counter of a rebuilt table: the next id is at least `next`.
    pub fn set_auto_increment(&mut self, _table: TableId, _next: u64) {
        todo!()
    }

    /// The key of a new row in a table with hidden row ids.
    pub fn next_row_id(&mut self, _table: &Table) -> [u8; 8] {
        todo!()
    }

    // --- definitions; the caller holds the table's exclusive lock ---

    pub fn create_table(&mut self, _spec: TableSpec) {
        todo!()
    }

    pub fn drop_table(&mut self, _table: TableId) {
        todo!()
    }

    /// Adds an index at commit, filled from the committed rows. Fails now if it is unique and the rows are not.
    pub fn create_index(&mut self, _table: &Table, _index: IndexSpec) -> Result<(), TransactionError> {
        todo!()
    }

    pub fn drop_index(&mut self, _table: TableId, _index: IndexId) {
        todo!()
    }

    // --- the end ---

    /// Commits. Drive the future to its end, whatever happens to the client: the locks are released when it is done. `None`: there
    /// was nothing to write.
    pub fn commit(self) -> impl Future<Output = Result<Option<Timestamp>, ProposeError>> + Send {
        async { todo!() }
    }

    /// Forgets everything and releases the locks; so does dropping the transaction.
    pub fn rollback(self) {}
}

impl Participant for Shard {
    fn store(&self) -> &Arc<Store> {
        todo!()
    }

    fn propose(&self, _write_set: Vec<u8>) -> Pin<Box<dyn Future<Output = Result<Timestamp, ProposeError>> + Send>> {
        todo!()
    }
}
