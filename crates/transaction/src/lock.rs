//! Locks, and what a lock just granted has to be checked for.

use std::pin::Pin;

use env::failpoints;

use super::claims::Claimed;
use super::{Isolation, LockPolicy, Progress, Transaction, TransactionError, Wait, WriteRule};
use shard::{Guest, GuestLock, GuestWait, NOBODYS};
use store::{IndexId, LockKey, LockMode, LockOutcome, LockWait, MemoryLimit, Snapshot, Table, TableId};
use types::EntryKeys;

/// So many locks are asked for together where another node gives them.
pub const LOCKS_AT_ONCE: usize = 256;

/// The memory limit is looked at again after this many locks.
const LOCKS_PER_MEMORY_CHECK: usize = 256;

/// How far a lock is that another node gives.
pub(super) enum AtLeader {
    /// Locks are given here.
    NotAsked,
    Held,
    /// From now on, and from the leader's newest commit on, which can be seen here.
    Granted {
        /// Somebody else had it.
        waited: bool,
    },
    Asked(GuestWait),
    NotFree,
}

/// A lock on its way back; whether the locks were held until then.
pub type Unlocking = Pin<Box<dyn Future<Output = Result<bool, TransactionError>> + Send>>;

impl Transaction {
    /// Locks the rows of a table. Who changes some of them takes [`LockMode::IntentionExclusive`] before, so that others can keep them as
    /// they are with one lock.
    pub fn lock_table(
        &mut self,
        table: TableId,
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Progress, TransactionError> {
        let progress = self.lock(LockKey::Table(table), mode, policy)?;
        if matches!(progress, Progress::Done) && matches!(mode, LockMode::Shared | LockMode::Exclusive) {
            self.stop_clocks(table);
        }
        Ok(progress)
    }

    /// Locks what a table, or a name, means. Every statement of a transaction takes [`LockMode::IntentionShared`] on the definitions of the
    /// tables it reads and [`LockMode::IntentionExclusive`] of those it changes, which keeps DDL ([`LockMode::Exclusive`]) out until the
    /// transaction ends. It is taken before the statement looks at a row, and says nothing of rows: no snapshot gets too old by it.
    pub fn lock_definition(&mut self, key: LockKey<'_>, mode: LockMode) -> Result<Progress, TransactionError> {
        if let Some(wait) = self.lock_here(key, mode)? {
            return Ok(Progress::Wait(Wait::Here(wait)));
        }
        match mode {
            // Who only reads keeps away those of this node; of the others it is told by its snapshot, unless they want to be alone.
            LockMode::IntentionShared if !self.is_wanted_at_leader(key) => Ok(Progress::Done),
            _ => Ok(match self.ask_leader(key, mode, LockPolicy::Wait)? {
                AtLeader::Asked(wait) => Progress::Wait(Wait::AtLeader(wait)),
                AtLeader::NotAsked | AtLeader::Held | AtLeader::Granted { .. } => Progress::Done,
                AtLeader::NotFree => return Err(TransactionError::LockNotAvailable),
            }),
        }
    }

    fn is_wanted_at_leader(&self, key: LockKey<'_>) -> bool {
        match key {
            LockKey::Definition(table) => self.store().locks().is_definition_wanted_elsewhere(table),
            _ => false,
        }
    }

    /// As [`lock_definition`](Self::lock_definition), but while another node leads it is asked together with the first lock of a row, or
    /// before the first read ([`lock_later`](Self::lock_later)). Whoever was faster may have changed the definition by then:
    /// look at it again where [`take_late_definitions`](Self::take_late_definitions) says so.
    pub fn lock_definition_later(&mut self, key: LockKey<'_>, mode: LockMode) -> Result<Progress, TransactionError> {
        if let Some(wait) = self.lock_here(key, mode)? {
            return Ok(Progress::Wait(Wait::Here(wait)));
        }
        if let Some(guest) = &mut self.guest
            && !guest.covers(key, mode)
        {
            guest.ask_later(key, mode);
        }
        Ok(Progress::Done)
    }

    /// Asks this node's lock table. `None`: the lock is held.
    fn lock_here(&mut self, key: LockKey<'_>, mode: LockMode) -> Result<Option<LockWait>, TransactionError> {
        match self.locks.lock(key, mode) {
            LockOutcome::Granted => Ok(None),
            LockOutcome::Wait(wait) => Ok(Some(wait)),
            LockOutcome::Deadlock => Err(TransactionError::Deadlock),
        }
    }

    /// Locks a name, for this transaction alone. It can be given back before the others ([`unlock_name`](Self::unlock_name)).
    pub fn lock_name(&mut self, name: &[u8], policy: LockPolicy) -> Result<Progress, TransactionError> {
        if self.has_lost_lead() {
            return Err(TransactionError::LocksLost);
        }
        self.lock(LockKey::Name(name), LockMode::Exclusive, policy)
    }

    /// Gives the lock of a name back, also one that was waited for in vain; done when it is free. False: all locks are lost.
    pub fn unlock_name(&mut self, name: &[u8]) -> Unlocking {
        if let Some(guest) = &mut self.guest {
            let unlocking = guest.unlock_name(name);
            return Box::pin(async move { unlocking.await.map_err(|_| TransactionError::Unavailable) });
        }
        let is_kept = !self.has_lost_lead();
        self.locks.unlock_name(name);
        Box::pin(std::future::ready(Ok(is_kept)))
    }

    /// Whether what it has locked is locked still: it is lost with the node that led.
    pub fn confirm_locks(&mut self) -> Result<Progress, TransactionError> {
        if self.has_lost_lead() {
            return Err(TransactionError::LocksLost);
        }
        let Some(guest) = &mut self.guest else {
            return Ok(Progress::Done);
        };
        match guest.take_answer(NOBODYS, LockMode::IntentionShared) {
            None => Ok(Progress::Wait(Wait::AtLeader(guest.ask_for_nothing()))),
            Some(GuestLock::Granted { .. }) => Ok(Progress::Done),
            Some(refused) => Err(refusal(refused)),
        }
    }

    /// Whether its locks were taken here, while this node led, which it does no more or anew.
    pub fn has_lost_lead(&self) -> bool {
        self.guest.is_none()
            && (self.lock_epoch != self.participant.lock_epoch() || self.locks.are_lost())
            && !failpoints::goes_wrong("lead.locks")
    }

    /// Whether locks of definitions may come after the statement has begun to look for rows ([`lock_definition_later`](Self::lock_definition_later)).
    pub fn may_lock_later(&self) -> bool {
        self.guest.is_some()
    }

    /// Whether [`lock_later`](Self::lock_later) has something to do.
    #[inline]
    pub fn has_later_locks(&self) -> bool {
        self.guest.as_ref().is_some_and(Guest::has_later)
    }

    /// Takes the locks that were left for later.
    pub fn lock_later(&mut self) -> Result<Progress, TransactionError> {
        let Some(guest) = &mut self.guest else {
            return Ok(Progress::Done);
        };
        match guest.take_answer(NOBODYS, LockMode::IntentionShared) {
            None if guest.has_later() => {
                self.has_late_definitions = true;
                Ok(Progress::Wait(Wait::AtLeader(guest.ask_for_nothing())))
            }
            None | Some(GuestLock::Granted { .. }) => Ok(Progress::Done),
            Some(refused) => Err(refusal(refused)),
        }
    }

    /// Whether the statement has got locks of definitions after it had looked at them.
    pub fn take_late_definitions(&mut self) -> bool {
        std::mem::take(&mut self.has_late_definitions)
    }

    /// While another node leads: what it says of a lock.
    pub(super) fn ask_leader(
        &mut self,
        key: LockKey<'_>,
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<AtLeader, TransactionError> {
        let Some(guest) = &mut self.guest else {
            return Ok(AtLeader::NotAsked);
        };
        if guest.covers(key, mode) {
            return Ok(AtLeader::Held);
        }
        self.ask_leader_after(&[], key, mode, policy)
    }

    /// As [`ask_leader`](Self::ask_leader), for a lock that is not held, and for those before it, which are waited for in any case.
    pub(super) fn ask_leader_after(
        &mut self,
        before: &[(LockMode, LockKey<'_>)],
        key: LockKey<'_>,
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<AtLeader, TransactionError> {
        let Some(guest) = &mut self.guest else {
            return Ok(AtLeader::NotAsked);
        };
        match guest.take_answer(key, mode) {
            None => {
                self.has_late_definitions |= guest.has_later();
                let waits = policy == LockPolicy::Wait;
                Ok(AtLeader::Asked(guest.ask_after(before, key, mode, waits)))
            }
            Some(GuestLock::Granted { waited, .. }) => Ok(AtLeader::Granted { waited }),
            Some(GuestLock::NotFree) => Ok(AtLeader::NotFree),
            Some(refused) => Err(refusal(refused)),
        }
    }

    /// Locks a row for a locking read (FOR SHARE, FOR UPDATE), found by a scan or known by its key (an absent one too), and checks that
    /// it has not changed since the snapshot if the isolation level asks for it. Then read it by
    /// [`get_current`](Self::get_current).
    pub fn lock_for_read(
        &mut self,
        table: &Table,
        key: &[u8],
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Progress, TransactionError> {
        let progress = self.lock_row(table, key, mode, policy)?;
        if let Progress::Done = progress {
            self.check_unchanged(table, key)?;
        }
        Ok(progress)
    }

    /// Locks a key of an index, shared: what a foreign key relies on stays as it is. Nobody is shown the row, so it may be newer
    /// than the snapshot.
    pub fn lock_for_reference(
        &mut self,
        table: &Table,
        index: IndexId,
        key: &[u8],
    ) -> Result<Progress, TransactionError> {
        self.lock_entry(table, index, key, LockMode::Shared, LockPolicy::Wait)
    }

    /// Locks a row with this key in an index, shared, as [`lock_for_reference`](Self::lock_for_reference) does; later, where locks are asked
    /// for together and the row is there as far as this node knows ([`claims`](super::claims)). Not by a statement that cannot run again: it
    /// would end with a conflict where it has to tell that there is no such row.
    pub fn refer_to(
        &mut self,
        table: &Table,
        row: &[u8],
        index: IndexId,
        key: &[u8],
    ) -> Result<Progress, TransactionError> {
        match self.claims_references() && self.has_key(table, row, index, key) {
            true => {
                let key = key.to_vec();
                self.claim(table, IndexId::PRIMARY, row, Claimed::Reference { index, key })
            }
            false => self.lock_for_reference(table, IndexId::PRIMARY, row),
        }
    }

    /// Whether rows that are referred to are locked together, at the statement's end.
    pub fn claims_references(&self) -> bool {
        self.claims.is_some() && self.settling.is_some()
    }

    /// Whether there is a row now, and what its key in an index begins with.
    pub(super) fn has_key(&self, table: &Table, row: &[u8], index: IndexId, key: &[u8]) -> bool {
        let begins = |stored: &[u8]| match index {
            IndexId::PRIMARY => row.starts_with(key),
            index => {
                let mut entry = Vec::new();
                table.index_key(index, stored, row, &mut entry);
                entry.starts_with(key)
            }
        };
        self.get_current(table, row, begins) == Some(true)
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

    /// Whether another node gives the locks of this table: many are asked for together then ([`lock_ahead`](Self::lock_ahead)).
    pub fn locks_elsewhere(&self, table: &Table) -> bool {
        self.guest.is_some() && !table.id().is_local()
    }

    /// While another node leads: locks rows that are to be locked one after the other, in this order, and asks for many of them at once.
    /// Nothing needs to be done where locks are given here.
    pub fn lock_ahead<'k>(
        &mut self,
        table: &Table,
        keys: impl Iterator<Item = &'k [u8]> + Clone,
        mode: LockMode,
    ) -> Result<Progress, TransactionError> {
        self.lock_all_ahead(table, keys.map(|key| (IndexId::PRIMARY, key)), mode)
    }

    /// As [`lock_ahead`](Self::lock_ahead), of what rows leave that are about to be deleted, or changed: their keys in these unique
    /// indexes. The rows themselves are locked already.
    pub fn lock_leaving_ahead<'k>(
        &mut self,
        table: &Table,
        rows: impl Iterator<Item = &'k [u8]>,
        indexes: &[IndexId],
    ) -> Result<Progress, TransactionError> {
        if !self.locks_elsewhere(table) {
            return Ok(Progress::Done);
        }
        let (mut left, mut keys) = (Vec::new(), EntryKeys::default());
        for key in rows {
            self.get_current(table, key, |row| {
                for &index in indexes {
                    table.unique_keys(index, row, &mut keys);
                    left.extend(keys.iter().map(|key| (index, key.to_vec())));
                }
            });
        }
        let left = left.iter().map(|(index, key)| (*index, key.as_slice()));
        self.lock_all_ahead(table, left, LockMode::Exclusive)
    }

    /// As [`lock_ahead`](Self::lock_ahead), of keys of any index.
    pub fn lock_keys_ahead<'k>(
        &mut self,
        table: &Table,
        keys: impl Iterator<Item = (IndexId, &'k [u8])> + Clone,
        mode: LockMode,
    ) -> Result<Progress, TransactionError> {
        self.lock_all_ahead(table, keys, mode)
    }

    fn lock_all_ahead<'k>(
        &mut self,
        table: &Table,
        keys: impl Iterator<Item = (IndexId, &'k [u8])> + Clone,
        mode: LockMode,
    ) -> Result<Progress, TransactionError> {
        if !self.locks_elsewhere(table) || failpoints::goes_wrong("lock") {
            return Ok(Progress::Done);
        }
        loop {
            self.check_memory()?;
            let guest = self.guest.as_ref().expect("another node leads");
            let missing = keys
                .clone()
                .map(|(index, key)| (mode, LockKey::Key(table.id(), index, key)))
                .filter(|&(mode, key)| !guest.covers(key, mode))
                .take(LOCKS_AT_ONCE)
                .collect::<Vec<_>>();
            let Some((&(_, last), before)) = missing.split_last() else {
                return Ok(Progress::Done);
            };
            match self.ask_leader_after(before, last, mode, LockPolicy::Wait)? {
                AtLeader::Asked(wait) => return Ok(Progress::Wait(Wait::AtLeader(wait))),
                AtLeader::Granted { waited: true } => self.note_wait(last),
                AtLeader::Granted { waited: false } | AtLeader::NotAsked | AtLeader::Held => {}
                AtLeader::NotFree => return Err(TransactionError::LockNotAvailable),
            }
            self.note_lock(last);
        }
    }

    /// As [`lock_for_write`](Self::lock_for_write), of a row that a join found at the statement's snapshot together with others: at every
    /// level it must still be the row that was found, because the join's conditions are not looked at again.
    pub fn lock_found(&mut self, table: &Table, key: &[u8]) -> Result<Progress, TransactionError> {
        let progress = self.lock_row(table, key, LockMode::Exclusive, LockPolicy::Wait)?;
        if let Progress::Done = progress
            && !table.id().is_local()
            && self.overlay.row(table.id(), key).is_none()
            && self.is_newer_than_found(table, key)
            && !self.note_newer(table.id())
        {
            return Err(TransactionError::WriteConflict(table.id()));
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
        self.lock_entry(table, IndexId::PRIMARY, key, mode, policy)
    }

    /// Locks a key of an index, to look at what is there now through this handle.
    pub(super) fn lock_entry(
        &mut self,
        table: &Table,
        index: IndexId,
        key: &[u8],
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Progress, TransactionError> {
        let progress = self.lock(LockKey::Key(table.id(), index, key), mode, policy)?;
        // Another node gives the lock when the newest row is here; it may have come with a checkpoint, in a table of its own.
        if matches!(progress, Progress::Done)
            && !failpoints::goes_wrong("table.current")
            && !table.is_current()
            && !table.id().is_local()
        {
            return Err(TransactionError::WriteConflict(table.id()));
        }
        if matches!(progress, Progress::Done) && index == IndexId::PRIMARY && table.expiry().is_some() {
            self.stop_clock(table, key);
        }
        Ok(progress)
    }

    /// First committer wins: an error if somebody has changed the locked row since the snapshot; or, while the statement may run again,
    /// a reason to do so.
    pub(super) fn check_unchanged(&mut self, table: &Table, key: &[u8]) -> Result<(), TransactionError> {
        if failpoints::goes_wrong("conflict") {
            return Ok(());
        }
        match self.has_changed(table, key) && !self.note_newer(table.id()) {
            true => Err(TransactionError::WriteConflict(table.id())),
            false => Ok(()),
        }
    }

    /// Whether somebody else has changed the locked row since the snapshot, and that matters.
    fn has_changed(&self, table: &Table, key: &[u8]) -> bool {
        // What the transaction has changed itself has been locked, and checked, since.
        if !self.is_held_to_snapshot(table) || self.overlay.row(table.id(), key).is_some() {
            return false;
        }
        let snapshot = self.snapshot.borrow();
        snapshot
            .as_ref()
            .is_some_and(|snapshot| self.is_newer(table, key, snapshot))
    }

    /// Whether somebody has changed a row since the snapshot at which the running statement has found rows by now.
    fn is_newer_than_found(&self, table: &Table, key: &[u8]) -> bool {
        let snapshot = self.snapshot.borrow();
        snapshot
            .as_ref()
            .is_some_and(|snapshot| self.is_newer(table, key, snapshot))
    }

    /// Whether somebody has changed a row since the snapshot. A row that came and went meanwhile is as if it had never been; one that has
    /// expired is as gone.
    fn is_newer(&self, table: &Table, key: &[u8], snapshot: &Snapshot) -> bool {
        let now = self.statement_time_of(table);
        let since = |since, row: &[u8]| self.shows(table, key, row, now).then_some(since);
        match table
            .newest(key, |at, row| row.and_then(|row| since(at, row)))
            .flatten()
        {
            Some(since) => since > snapshot.timestamp(),
            None => {
                let then = self.read_time_of(table);
                table.get(key, snapshot, |row| self.shows(table, key, row, then)) == Some(true)
            }
        }
    }

    /// Whether locking reads and writes are held against the snapshot: then the rows that they find are those of the snapshot, too.
    pub fn must_be_unchanged(&self) -> bool {
        self.options.isolation == Isolation::RepeatableRead && self.options.write_rule == WriteRule::FirstCommitterWins
    }

    /// As [`must_be_unchanged`](Self::must_be_unchanged), of one table. Nobody else changes a local one.
    pub(super) fn is_held_to_snapshot(&self, table: &Table) -> bool {
        self.must_be_unchanged() && !table.id().is_local()
    }

    pub(super) fn lock(
        &mut self,
        key: LockKey<'_>,
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Progress, TransactionError> {
        if key.table().is_some_and(TableId::is_local) {
            return Ok(Progress::Done);
        }
        if self.locks.are_lost() {
            return Err(TransactionError::LocksLost);
        }
        if self.locks.count() % LOCKS_PER_MEMORY_CHECK == LOCKS_PER_MEMORY_CHECK - 1 {
            self.check_memory()?;
        }
        // Two-phase locking: whoever held the lock may have committed since the snapshot.
        if self.options.isolation == Isolation::Serializable {
            self.is_snapshot_old.set(true);
        }
        if matches!(key, LockKey::Key(..)) && failpoints::goes_wrong("lock") {
            return Ok(Progress::Done);
        }
        // Between the definition and the first row.
        if let (LockKey::Table(table), LockMode::IntentionExclusive, Some(guest)) = (key, mode, &mut self.guest)
            && guest.covers_later(LockKey::Definition(table), mode)
        {
            guest.ask_later(key, mode);
            return Ok(Progress::Done);
        }
        match self.ask_leader(key, mode, policy)? {
            AtLeader::NotAsked => {}
            AtLeader::Held => return Ok(Progress::Done),
            AtLeader::Granted { waited } => {
                if waited {
                    self.note_wait(key);
                }
                self.note_lock(key);
                return Ok(Progress::Done);
            }
            AtLeader::Asked(wait) => return Ok(Progress::Wait(Wait::AtLeader(wait))),
            AtLeader::NotFree if policy == LockPolicy::SkipLocked => return Ok(Progress::Skipped),
            AtLeader::NotFree => return Err(TransactionError::LockNotAvailable),
        }
        let held = self.locks.count();
        let outcome = match policy {
            LockPolicy::Wait => match self.lock_here(key, mode) {
                Ok(Some(wait)) => {
                    self.note_wait(key);
                    return Ok(Progress::Wait(Wait::Here(wait)));
                }
                held => held.map(|_| Progress::Done),
            },
            _ if self.locks.try_lock(key, mode) => Ok(Progress::Done),
            LockPolicy::NoWait => Err(TransactionError::LockNotAvailable),
            LockPolicy::SkipLocked if failpoints::goes_wrong("skip_locked") => Ok(Progress::Done),
            LockPolicy::SkipLocked => Ok(Progress::Skipped),
        };
        if self.locks.count() > held {
            self.note_lock(key);
        }
        outcome
    }

    /// Locks are charged as they come; who takes many of them has to stop when there is no memory left.
    pub(super) fn check_memory(&self) -> Result<(), TransactionError> {
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

/// Why the leader has not given a lock that was waited for.
fn refusal(answer: GuestLock) -> TransactionError {
    match answer {
        GuestLock::Deadlock => TransactionError::Deadlock,
        GuestLock::Lost => TransactionError::LocksLost,
        GuestLock::Granted { .. } | GuestLock::NotFree | GuestLock::Unavailable => TransactionError::Unavailable,
    }
}
