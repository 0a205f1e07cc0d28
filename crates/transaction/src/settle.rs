//! Statements that lock what they read, or change it, and at which moment they read.
//!
//! Such a statement has to show the rows as they are once it has its locks. Where its snapshot is not fixed by an earlier statement, it
//! runs until it *settles*: until all its locks are older than its snapshot, so that nothing it locks can have changed in between.
//!
//! ```text
//!   begin ──▶ read at a snapshot, lock ──▶ a wait, a changed row, or a lock after the snapshot?  no ──▶ settled
//!     ▲                                                    │ yes
//!     └──── roll back the writes, keep the locks, drop the snapshot ◀──┘
//! ```
//!
//! Each pass keeps its locks, so a pass is repeated for a lock that the pass before did not have, and a lock of the same key cannot
//! cause it again. Only rows that others keep on adding could make it go on: after [`PASSES_BY_ROW`] passes the tables are
//! locked as a whole before the next one, and then nothing is added or changed by others.
//!
//! Who settles:
//!
//! * snapshot isolation: the statement that takes the transaction's snapshot. Later ones meet a [`WriteConflict`] instead.
//! * READ COMMITTED, and REPEATABLE READ where writes see the newest rows: any. Whoever waits after it has looked for rows runs again: what
//!   it waited for may have come with other rows. Without a wait, reads and changes of one table look at each row again
//!   when it is locked, and need another pass only where that takes a row out of its place: its index entry has moved, or a LIMIT has
//!   to be filled by another one. Changes of rows that a join has found at the statement's snapshot need another pass for each changed row.
//! * SERIALIZABLE: nobody. Locks come before reads anyhow.
//!
//! [`WriteConflict`]: crate::TransactionError::WriteConflict

use env::failpoints;

use super::{Isolation, Savepoint, SetAside, Transaction};
use std::cell::Cell;
use std::sync::Arc;
use store::{LockKey, Table, TableId};

/// How often a statement runs with locks on rows alone.
const PASSES_BY_ROW: u32 = 8;

/// Whether statements of the same transaction follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementScope {
    /// The transaction ends with the statement.
    Alone,
    /// Later statements read at the snapshot that this one leaves.
    InTransaction,
}

/// How a statement that ran to its end stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    Yes,
    /// It has to run again.
    Again,
    /// It has to run again, with these tables locked in mode [`Shared`](store::LockMode::Shared) before.
    AgainUnder(Vec<TableId>),
}

/// Who has taken a row from a statement that had found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// The transaction: by a foreign key's action, for one.
    ByUs,
    ByOthers,
}

/// A running statement that may run again.
pub(super) struct Settling {
    /// Its snapshot is to become the transaction's.
    sets_snapshot: bool,
    scope: StatementScope,
    /// The pass has looked for rows.
    has_searched: Cell<bool>,
    /// What it has read, or locked, is newer than its snapshot: the pass only goes on to collect its locks.
    is_stale: bool,
    /// A lock was granted after the snapshot was taken.
    has_late_lock: bool,
    passes: u32,
    /// The tables read at the snapshot.
    read: Vec<Arc<Table>>,
    /// The tables of late locks.
    locked: Vec<TableId>,
    /// The tables that the pass holds as a whole.
    locked_whole: Vec<TableId>,
}

impl Settling {
    pub fn sets_snapshot(&self) -> bool {
        self.sets_snapshot
    }

    fn note_table(&mut self, table: TableId) {
        if !self.locked.contains(&table) {
            self.locked.push(table);
        }
    }
}

impl Transaction {
    /// As [`begin_statement`](Self::begin_statement), of a locking read. Ask [`settle`](Self::settle) at its end.
    pub fn begin_locking_read(&mut self, scope: StatementScope) -> Savepoint {
        match self.options.isolation {
            Isolation::RepeatableRead if self.must_be_unchanged() => self.settle_snapshot(scope),
            Isolation::RepeatableRead | Isolation::ReadCommitted => self.settling = Some(Settling::new(scope, false)),
            Isolation::Serializable => {}
        }
        self.begin_statement()
    }

    /// As [`begin_statement`](Self::begin_statement), of a statement that changes rows. Ask [`settle`](Self::settle) at its end.
    pub fn begin_change(&mut self, scope: StatementScope) -> Savepoint {
        match self.options.isolation {
            Isolation::RepeatableRead if self.must_be_unchanged() => self.settle_snapshot(scope),
            // What a change reads beside the rows it changes is as new as they are.
            Isolation::RepeatableRead => {
                self.settling = Some(Settling::new(scope, false));
                self.set_aside = Some(SetAside {
                    snapshot: self.snapshot.get_mut().take(),
                    read_time: self.times.take_read(),
                });
            }
            Isolation::ReadCommitted => self.settling = Some(Settling::new(scope, false)),
            // What it reads is locked.
            Isolation::Serializable => {}
        }
        self.begin_statement()
    }

    /// A snapshot that an earlier statement has taken stays.
    fn settle_snapshot(&mut self, scope: StatementScope) {
        if self.snapshot.get_mut().is_none() {
            self.settling = Some(Settling::new(scope, true));
        }
    }

    /// Whether the running pass will be thrown away. Its locks are of use, its changes are not.
    #[inline]
    pub fn is_stale(&self) -> bool {
        self.settling.as_ref().is_some_and(|settling| settling.is_stale)
    }

    /// Whether the running statement may run again.
    pub fn is_settling(&self) -> bool {
        self.settling.is_some()
    }

    /// The running statement reads the table at its snapshot.
    #[inline]
    pub fn note_read(&mut self, table: &Arc<Table>) {
        if let Some(settling) = &mut self.settling
            && settling.scope == StatementScope::InTransaction
            && settling.sets_snapshot
            && !table.id().is_local()
            && !settling.read.iter().any(|known| known.id() == table.id())
        {
            settling.read.push(Arc::clone(table));
        }
    }

    /// The statement has come to its end. Unless it is settled, call [`restart_statement`](Self::restart_statement) and run it again.
    pub fn settle(&mut self) -> Settled {
        let Some(settling) = &self.settling else {
            return Settled::Yes;
        };
        if failpoints::goes_wrong("settle") {
            return Settled::Yes;
        }
        if !settling.is_stale {
            let is_late = settling.has_late_lock && settling.scope == StatementScope::InTransaction;
            if !is_late || self.advance_snapshot() {
                return Settled::Yes;
            }
        }
        let settling = self.settling.as_mut().expect("looked at above");
        if settling.passes < PASSES_BY_ROW {
            return Settled::Again;
        }
        let mut tables = settling.locked.clone();
        for table in &settling.read {
            if !tables.contains(&table.id()) {
                tables.push(table.id());
            }
        }
        tables.sort_unstable();
        settling.locked_whole.clone_from(&tables);
        Settled::AgainUnder(tables)
    }

    /// Rolls the statement back for another pass; its locks are kept.
    pub fn restart_statement(&mut self, statement: Savepoint) {
        if !failpoints::goes_wrong("restart") {
            self.rollback_to(statement);
        }
        self.ids_of_statement.undo();
        self.times.begin_statement();
        self.is_snapshot_old
            .set(self.options.isolation != Isolation::RepeatableRead);
        if let Some(settling) = &mut self.settling {
            // A locking read that sees the newest rows leaves the transaction's snapshot alone.
            if settling.sets_snapshot || self.set_aside.is_some() {
                *self.snapshot.get_mut() = None;
            }
            settling.passes += 1;
            settling.is_stale = false;
            settling.has_late_lock = false;
            settling.has_searched.set(false);
        }
    }

    /// Makes the snapshot newer than all locks, where that changes nothing of what the statement has read.
    fn advance_snapshot(&mut self) -> bool {
        let Some(snapshot) = self.snapshot.get_mut() else {
            return true;
        };
        let read_at = snapshot.timestamp();
        snapshot.refresh();
        // Looked at after the new snapshot was taken, which therefore shows no change that this overlooks.
        let settling = self.settling.as_ref().expect("only a settling statement asks");
        settling.read.iter().all(|table| table.is_unchanged_since(read_at))
    }

    pub(super) fn stop_settling(&mut self) {
        self.settling = None;
        if let Some(SetAside { snapshot, read_time }) = self.set_aside.take() {
            *self.snapshot.get_mut() = snapshot;
            self.times.put_read_back(read_time);
        }
    }

    /// A lock was granted that the transaction did not have.
    #[inline]
    pub(super) fn note_lock(&mut self, key: LockKey<'_>) {
        if let Some(settling) = &mut self.settling
            && settling.sets_snapshot
            && self.snapshot.get_mut().is_some()
        {
            settling.has_late_lock = true;
            key.table().into_iter().for_each(|table| settling.note_table(table));
        }
    }

    /// A lock is held by somebody else, who may change what has been read.
    pub(super) fn note_wait(&mut self, key: LockKey<'_>) {
        let Some(settling) = &mut self.settling else { return };
        let has_read = match settling.sets_snapshot {
            true => self.snapshot.get_mut().is_some(),
            false => settling.has_searched.get(),
        };
        if has_read {
            settling.is_stale = true;
            key.table().into_iter().for_each(|table| settling.note_table(table));
        }
    }

    /// The running statement looks for rows.
    #[inline]
    pub(super) fn note_search(&self) {
        if let Some(settling) = &self.settling {
            settling.has_searched.set(true);
        }
    }

    /// A row that the statement found is gone, or no longer what it looks for.
    pub fn note_missed(&mut self, table: &Table, key: &[u8]) -> Missed {
        if self.overlay.row(table.id(), key).is_some() {
            return Missed::ByUs;
        }
        self.note_newer(table.id());
        Missed::ByOthers
    }

    /// A row is newer than the statement's view of it. False: the statement cannot run again, or to no purpose.
    pub fn note_newer(&mut self, table: TableId) -> bool {
        let Some(settling) = &mut self.settling else {
            return false;
        };
        // Nobody else can have changed a row of it.
        if settling.locked_whole.contains(&table) {
            return false;
        }
        settling.is_stale = true;
        settling.note_table(table);
        true
    }
}

impl Settling {
    fn new(scope: StatementScope, sets_snapshot: bool) -> Settling {
        Settling {
            sets_snapshot,
            scope,
            has_searched: Cell::new(false),
            is_stale: false,
            has_late_lock: false,
            passes: 0,
            read: Vec::new(),
            locked: Vec::new(),
            locked_whole: Vec::new(),
        }
    }
}
