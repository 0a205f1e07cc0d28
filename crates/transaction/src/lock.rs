//! Locks, and what a lock just granted has to be checked for.

use super::{Isolation, LockPolicy, Progress, Transaction, TransactionError, WriteRule};
use store::{IndexId, LockKey, LockMode, LockOutcome, MemoryLimit, Table, TableId};

/// The memory limit is looked at again after this many locks.
const LOCKS_PER_MEMORY_CHECK: usize = 256;

impl Transaction {
    /// Locks a table. Every statement takes [`LockMode::IntentionShared`] on the tables it reads and
    /// [`LockMode::IntentionExclusive`] on those it changes, which keeps DDL ([`LockMode::Exclusive`]) out until the
    /// transaction ends.
    pub fn lock_table(
        &mut self,
        table: TableId,
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Progress, TransactionError> {
        self.lock(LockKey::Table(table), mode, policy)
    }

    /// Locks a row for a locking read (FOR SHARE, FOR UPDATE), found by a scan or known by its key (an absent one too). Then
    /// read it by [`get_current`](Self::get_current): locking reads see the newest committed row, and a later write to it is no
    /// conflict.
    pub fn lock_for_read(
        &mut self,
        table: &Table,
        key: &[u8],
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Progress, TransactionError> {
        let progress = self.lock_row(table, key, mode, policy)?;
        if let Progress::Done = progress
            && self.has_changed(table, key)
        {
            self.seen_newer.insert((table.id(), key.into()));
        }
        Ok(progress)
    }

    /// Locks a key of an index, shared: what a foreign key relies on stays as it is. Nobody is shown the row, so a later write to it
    /// is still held against the snapshot.
    pub fn lock_for_reference(
        &mut self,
        table: &Table,
        index: IndexId,
        key: &[u8],
    ) -> Result<Progress, TransactionError> {
        self.lock(LockKey::Key(table.id(), index, key), LockMode::Shared, LockPolicy::Wait)
    }

    /// Locks a row that the statement is about to change, and checks that it has not changed since the snapshot if the
    /// isolation level asks for it. Then read it by [`get_current`](Self::get_current) and look at the condition again.
    pub fn lock_for_write(&mut self, table: &Table, key: &[u8]) -> Result<Progress, TransactionError> {
        let progress = self.lock_row(table, key, LockMode::Exclusive, LockPolicy::Wait)?;
        if let Progress::Done = progress {
            self.check_unchanged(table, key)?;
        }
        Ok(progress)
    }

    fn lock_row(
        &mut self,
        table: &Table,
        key: &[u8],
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Progress, TransactionError> {
        self.lock(LockKey::Key(table.id(), IndexId::PRIMARY, key), mode, policy)
    }

    /// First committer wins: an error if the row has changed since the snapshot, and the transaction does not know it.
    pub(super) fn check_unchanged(&self, table: &Table, key: &[u8]) -> Result<(), TransactionError> {
        let is_known = || self.seen_newer.contains(&(table.id(), Box::from(key)));
        match self.has_changed(table, key) && !is_known() {
            true => Err(TransactionError::WriteConflict(table.id())),
            false => Ok(()),
        }
    }

    /// Whether somebody else has changed the locked row since the snapshot, and that matters. A row that came and went meanwhile
    /// is as if it had never been.
    fn has_changed(&self, table: &Table, key: &[u8]) -> bool {
        // What the transaction has changed itself has been locked, and checked, since.
        if !self.must_be_unchanged() || self.overlay.row(table.id(), key).is_some() {
            return false;
        }
        let snapshot = self.snapshot.borrow();
        let Some(snapshot) = &*snapshot else { return false };
        match table.newest(key, |since, row| row.map(|_| since)).flatten() {
            Some(since) => since > snapshot.timestamp(),
            None => table.get(key, snapshot, |_| ()).is_some(),
        }
    }

    /// Whether writes are held against the snapshot: then the rows to write are those of the snapshot, too.
    pub fn must_be_unchanged(&self) -> bool {
        self.options.isolation == Isolation::RepeatableRead && self.options.write_rule == WriteRule::FirstCommitterWins
    }

    pub(super) fn lock(
        &mut self,
        key: LockKey<'_>,
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Progress, TransactionError> {
        if self.locks.count() % LOCKS_PER_MEMORY_CHECK == LOCKS_PER_MEMORY_CHECK - 1 {
            self.check_memory()?;
        }
        // Two-phase locking: whoever held the lock may have committed since the snapshot.
        if self.options.isolation == Isolation::Serializable {
            self.is_snapshot_old.set(true);
        }
        match policy {
            LockPolicy::Wait => match self.locks.lock(key, mode) {
                LockOutcome::Granted => Ok(Progress::Done),
                LockOutcome::Wait(wait) => Ok(Progress::Wait(wait)),
                LockOutcome::Deadlock => Err(TransactionError::Deadlock),
            },
            _ if self.locks.try_lock(key, mode) => Ok(Progress::Done),
            LockPolicy::NoWait => Err(TransactionError::LockNotAvailable),
            LockPolicy::SkipLocked => Ok(Progress::Skipped),
        }
    }

    /// Locks are charged as they come; who takes many of them has to stop when there is no memory left.
    fn check_memory(&self) -> Result<(), TransactionError> {
        let memory = self.store().memory();
        match memory.used() > memory.limit() {
            true => Err(MemoryLimit {
                requested: 0,
                used: memory.used(),
                limit: memory.limit(),
            }
            .into()),
            false => Ok(()),
        }
    }
}
