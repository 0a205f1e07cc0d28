//! Writing: into the overlay, with the locks that keep others from writing the same.

use super::claims::Claimed;
use super::lock::AtLeader;
use super::overlay::{Overlay, entries_in};
use super::{LockPolicy, Progress, Transaction, TransactionError, Wait};
use env::failpoints;
use shard::{Guest, GuestWait, IdKind, NOBODYS, Sequence};
use std::ops::{ControlFlow, Range};
use store::{
    Cursor, Direction, Entry, IndexId, IndexSpec, KeyRange, LockMode, PrepareError, Table, TableId, TableSpec,
};
use types::row::generation::ColumnChange;
use types::{EntryKeys, Expiry};

/// How many entries under one unique key are looked at in one go; all but one of them are dead.
const CHUNK: usize = 64;

/// What a unique index has to say to a write.
enum Unique {
    Free,
    Wait(Progress),
}

impl Transaction {
    /// Adds a row. Locks its primary key and its unique keys, and fails with the first duplicate.
    pub fn insert(&mut self, table: &Table, key: &[u8], row: &[u8]) -> Result<Progress, TransactionError> {
        self.check_length(table, key, row)?;
        if let Unique::Wait(progress) = self.claim_primary(table, key)? {
            return Ok(progress);
        }
        let mut expired = Vec::new();
        if let Unique::Wait(progress) = self.claim_unique_keys(table, key, None, row, &mut expired)? {
            return Ok(progress);
        }
        self.remove_expired(table, &expired)?;
        self.set(table, key, Some(row))?;
        Ok(Progress::Done)
    }

    /// Replaces the row under `key`, which exists and has been locked for write, by `row` under `new_key` (often the same).
    pub fn update(
        &mut self,
        table: &Table,
        key: &[u8],
        new_key: &[u8],
        row: &[u8],
    ) -> Result<Progress, TransactionError> {
        self.check_length(table, new_key, row)?;
        if key != new_key
            && let Unique::Wait(progress) = self.claim_primary(table, new_key)?
        {
            return Ok(progress);
        }
        let mut expired = Vec::new();
        if has_unique_index(table) {
            let old_row = self.locked_row(table, key)?;
            if let Unique::Wait(progress) = self.claim_unique_keys(table, key, Some(&old_row), row, &mut expired)? {
                return Ok(progress);
            }
        }
        self.remove_expired(table, &expired)?;
        if key != new_key {
            self.set(table, key, None)?;
        }
        self.set(table, new_key, Some(row))?;
        Ok(Progress::Done)
    }

    /// Removes the row under `key`, which exists and has been locked for write.
    pub fn delete(&mut self, table: &Table, key: &[u8]) -> Result<Progress, TransactionError> {
        if has_unique_index(table) {
            // Whoever inserts the same unique key must wait until it is certain that this row is gone.
            let old_row = self.locked_row(table, key)?;
            let mut unique_keys = EntryKeys::default();
            for index in table.spec().indexes.iter().filter(|index| index.unique) {
                table.unique_keys(index.id, &old_row, &mut unique_keys);
                for unique_key in unique_keys.iter() {
                    let progress = self.lock_key(table, index.id, unique_key)?;
                    if !matches!(progress, Progress::Done) {
                        return Ok(progress);
                    }
                }
            }
        }
        self.set(table, key, None)?;
        Ok(Progress::Done)
    }

    /// The row under a key that was found and locked. While this transaction waited for another lock, another node may have taken the lead,
    /// which knows nothing of its locks: then the row can be gone.
    fn locked_row(&self, table: &Table, key: &[u8]) -> Result<Vec<u8>, TransactionError> {
        self.get_current(table, key, <[u8]>::to_vec)
            .ok_or(TransactionError::LocksLost)
    }

    /// Puts a row, or removes it (`None`), without a lock: another one keeps all other writers of it away.
    pub fn put_unlocked(&mut self, table: &Table, key: &[u8], row: Option<&[u8]>) -> Result<(), TransactionError> {
        self.check_length(table, key, row.unwrap_or_default())?;
        self.set(table, key, row)
    }

    // --- automatic ids ---

    /// Makes sure that the next automatic ids can be taken: while another node leads, it gives them. `greatest` is what the column can have.
    pub fn reserve_auto_increments(
        &mut self,
        table: &Table,
        count: u64,
        step: u64,
        offset: u64,
        greatest: u64,
    ) -> Result<Progress, TransactionError> {
        if self.has_ids_again(Transaction::taking(table, count, step, offset)) {
            return Ok(Progress::Done);
        }
        let at_least = table.next_auto_increment();
        let ids = count.saturating_mul(step.max(1));
        let sequence = Sequence { step, offset };
        self.reserve_ids(table, IdKind::AutoIncrement, (ids, sequence), at_least, |guest| {
            guest.ask_for_ids(table, IdKind::AutoIncrement, count, sequence, at_least, greatest)
        })
    }

    /// As [`reserve_auto_increments`](Self::reserve_auto_increments), of one hidden row id.
    pub fn reserve_row_id(&mut self, table: &Table) -> Result<Progress, TransactionError> {
        self.reserve_ids(table, IdKind::HiddenRow, (1, Sequence::ALL), 0, |guest| {
            guest.ask_for_ids(table, IdKind::HiddenRow, 1, Sequence::ALL, 0, u64::MAX)
        })
    }

    fn reserve_ids(
        &mut self,
        table: &Table,
        kind: IdKind,
        (count, sequence): (u64, Sequence),
        at_least: u64,
        ask: impl FnOnce(&mut Guest) -> GuestWait,
    ) -> Result<Progress, TransactionError> {
        if table.id().is_local() {
            return Ok(Progress::Done);
        }
        // Ids are good under the locks of one leader: which one is known with the first of them.
        if self.guest.as_ref().is_some_and(|guest| guest.epoch() == 0)
            && let AtLeader::Asked(wait) = self.ask_leader(NOBODYS, LockMode::IntentionShared, LockPolicy::Wait)?
        {
            return Ok(Progress::Wait(Wait::AtLeader(wait)));
        }
        let Some(guest) = &mut self.guest else {
            return Ok(Progress::Done);
        };
        if let Some(ids) = guest.take_ids(table, kind, count, sequence, at_least) {
            self.reserved_ids = Some(ids);
            self.has_asked_for_ids = false;
            return Ok(Progress::Done);
        }
        if std::mem::replace(&mut self.has_asked_for_ids, true) {
            // It has answered, and gave none: it does not lead any more.
            self.has_asked_for_ids = false;
            return Err(TransactionError::LocksLost);
        }
        Ok(Progress::Wait(Wait::AtLeader(ask(guest))))
    }

    /// Takes the next automatic id. Never given to anybody else, even if this transaction rolls back.
    pub fn next_auto_increment(&mut self, table: &Table) -> u64 {
        self.take_auto_increments(table, 1, 1, 1).start
    }

    /// Takes the next `count` automatic ids, [reserved](Self::reserve_auto_increments) before, of the sequence `offset`, `offset + step`… Returns the first and what comes behind
    /// the last.
    pub fn take_auto_increments(&mut self, table: &Table, count: u64, step: u64, offset: u64) -> Range<u64> {
        let taking = Transaction::taking(table, count, step, offset);
        if let Some(ids) = self.take_ids_again(taking) {
            return ids;
        }
        let ids = match self.reserved_ids.take() {
            Some(ids) => ids,
            None => {
                let (first, end) = table.take_auto_increments(count, step, offset);
                first..end
            }
        };
        self.note_taken(table, ids.end);
        self.ids_of_statement.took(taking, ids.clone());
        ids
    }

    /// An INSERT or UPDATE gave this id itself: automatic ones go on behind it.
    pub fn note_auto_increment(&mut self, table: &Table, id: u64) {
        let next = id.saturating_add(1);
        if next > table.next_auto_increment() {
            table.raise_auto_increment(next);
        }
        if let Some(guest) = &self.guest {
            guest.raise_ids(table.id(), next);
        }
        self.note_taken(table, next);
    }

    /// The log has to know, so that a restart goes on behind them.
    fn note_taken(&mut self, table: &Table, next: u64) {
        if !table.id().is_local() {
            self.overlay.advance_auto_increment(table.id(), next);
        }
    }

    /// `CREATE TABLE … AUTO_INCREMENT = n`, and the counter of a rebuilt table: the next id is at least `next`.
    pub fn set_auto_increment(&mut self, table: TableId, next: u64) {
        self.overlay.set_auto_increment(table, next);
    }

    /// `ALTER TABLE … AUTO_INCREMENT = n`: the next id is `next`, which no row may have reached. For who has the table alone.
    pub fn reset_auto_increment(&mut self, table: TableId, next: u64) {
        self.overlay.reset_auto_increment(table, next);
    }

    /// The key of a new row in a table with hidden row ids.
    pub fn next_row_id(&mut self, table: &Table) -> [u8; 8] {
        let id = match self.reserved_ids.take() {
            Some(ids) => ids.start,
            None => table.take_row_id(),
        };
        id.to_be_bytes()
    }

    // --- definitions; the caller holds the table's exclusive lock ---

    pub fn create_table(&mut self, spec: TableSpec) {
        self.overlay.create_table(spec);
    }

    pub fn drop_table(&mut self, table: TableId) {
        self.overlay.drop_table(table);
    }

    /// Adds an index at commit. Fills it from the committed rows now, and fails if it is unique and they are not. Gives way, and is left
    /// unfinished where the statement has to end: the caller asks for that ([`governor::check`]).
    pub fn create_index(&mut self, table: &Table, index: IndexSpec) -> Result<(), TransactionError> {
        let now = self.statement_time_of(table);
        match self.store().prepare_index(table, &index, now) {
            Ok(prepared) => self.prepared.push(prepared),
            Err(PrepareError::Stopped(_)) => {}
            Err(PrepareError::Duplicate { existing }) => return Err(duplicate(table, index.id, &existing)),
            Err(PrepareError::KeyTooLong) => return Err(TransactionError::KeyTooLong),
            Err(PrepareError::Memory(limit)) => return Err(limit.into()),
        }
        self.overlay.create_index(table.id(), index);
        Ok(())
    }

    pub fn drop_index(&mut self, table: TableId, index: IndexId) {
        self.overlay.drop_index(table, index);
    }

    /// Gives the table other columns at commit, over the same rows.
    pub fn change_columns(&mut self, table: TableId, change: ColumnChange) {
        self.overlay.change_columns(table, change);
    }

    /// When the rows of a table expire, from the commit on.
    pub fn set_expiry(&mut self, table: TableId, expiry: Option<Expiry>) {
        self.overlay.set_expiry(table, expiry);
    }

    // --- inside ---

    fn check_length(&self, table: &Table, key: &[u8], row: &[u8]) -> Result<(), TransactionError> {
        match table.fits(key, row) {
            true => Ok(()),
            false => Err(TransactionError::KeyTooLong),
        }
    }

    /// Puts a row's new state into the overlay, if there is memory for it and for what the store will need.
    pub(super) fn set(&mut self, table: &Table, key: &[u8], row: Option<&[u8]>) -> Result<(), TransactionError> {
        let keeps_history = !self.savepoints.is_empty();
        let bytes = Overlay::cost(table, key, row, keeps_history);
        let needed = self.overlay.bytes() + bytes as u64;
        if needed > self.memory.bytes() {
            // A little ahead for large transactions, so that not every row asks.
            let more = (needed - self.memory.bytes()).max(needed / 16);
            match row {
                Some(_) => self.memory.grow(more)?,
                None => self.memory.grow_to_shrink(more)?,
            }
        }
        self.overlay.set(table, key, row, bytes, keeps_history);
        Ok(())
    }

    fn lock_key(&mut self, table: &Table, index: IndexId, key: &[u8]) -> Result<Progress, TransactionError> {
        self.lock_entry(table, index, key, LockMode::Exclusive, LockPolicy::Wait)
    }

    /// Locks a primary key for a new row, and makes sure that there is none.
    fn claim_primary(&mut self, table: &Table, key: &[u8]) -> Result<Unique, TransactionError> {
        let progress = match self.claims.is_some() && !self.is_stored(table, key) {
            true => self.claim(table, IndexId::PRIMARY, key, Claimed::by(key))?,
            false => self.lock_key(table, IndexId::PRIMARY, key)?,
        };
        if !matches!(progress, Progress::Done) {
            return Ok(Unique::Wait(progress));
        }
        if self.get_current(table, key, |_| ()).is_some() {
            return self.certain_duplicate(table, IndexId::PRIMARY, key, key);
        }
        // Gone since the snapshot, which still sees it: as much a conflict as changing it.
        self.check_unchanged(table, key)?;
        Ok(Unique::Free)
    }

    /// Another row has the key. Where that came after the key was claimed, it is certain with its lock.
    fn certain_duplicate(
        &mut self,
        table: &Table,
        index: IndexId,
        key: &[u8],
        existing: &[u8],
    ) -> Result<Unique, TransactionError> {
        match self.lock_key(table, index, key)? {
            Progress::Done => Err(duplicate(table, index, existing)),
            progress => Ok(Unique::Wait(progress)),
        }
    }

    /// Whether there is a row, expired or not. An expired one is locked before its key is taken.
    fn is_stored(&self, table: &Table, key: &[u8]) -> bool {
        match self.overlay.row(table.id(), key) {
            Some(own) => own.is_some(),
            None => table.newest(key, |_, row| row.is_some()) == Some(true),
        }
    }

    /// Locks the keys that the row under `key` takes in unique indexes, and those it leaves, and makes sure that no other row
    /// has the former. Rows that have one and are expired are locked, too: they are to be removed.
    fn claim_unique_keys(
        &mut self,
        table: &Table,
        key: &[u8],
        old_row: Option<&[u8]>,
        row: &[u8],
        expired: &mut Vec<Vec<u8>>,
    ) -> Result<Unique, TransactionError> {
        let (mut new_keys, mut old_keys) = (EntryKeys::default(), EntryKeys::default());
        for index in table.spec().indexes.iter().filter(|index| index.unique) {
            table.unique_keys(index.id, row, &mut new_keys);
            old_keys.clear();
            if let Some(old_row) = old_row {
                table.unique_keys(index.id, old_row, &mut old_keys);
            }
            for old_key in old_keys.iter().filter(|old_key| !new_keys.holds(old_key)) {
                let progress = self.lock_key(table, index.id, old_key)?;
                if !matches!(progress, Progress::Done) {
                    return Ok(Unique::Wait(progress));
                }
            }
            for new_key in new_keys.iter().filter(|new_key| !old_keys.holds(new_key)) {
                let is_free = self.claims.is_some()
                    && self.find_unique(table, index.id, new_key, key).is_none()
                    && self.find_expired(table, index.id, new_key, key, &[]).is_none();
                let progress = match is_free {
                    true => self.claim(table, index.id, new_key, Claimed::by(key))?,
                    false => self.lock_key(table, index.id, new_key)?,
                };
                if !matches!(progress, Progress::Done) {
                    return Ok(Unique::Wait(progress));
                }
                if let Some(existing) = self.find_unique(table, index.id, new_key, key) {
                    return self.certain_duplicate(table, index.id, new_key, &existing);
                }
                if table.expiry().is_some()
                    && let Unique::Wait(progress) = self.claim_from_expired(table, index.id, new_key, key, expired)?
                {
                    return Ok(Unique::Wait(progress));
                }
            }
        }
        Ok(Unique::Free)
    }

    /// Locks the rows that have a unique key, and are expired, and makes sure that they are. While they are locked nobody
    /// gives them another time, or purges them.
    fn claim_from_expired(
        &mut self,
        table: &Table,
        index: IndexId,
        unique_key: &[u8],
        except: &[u8],
        expired: &mut Vec<Vec<u8>>,
    ) -> Result<Unique, TransactionError> {
        while let Some(found) = self.find_expired(table, index, unique_key, except, expired) {
            let progress = self.lock_for_write(table, &found)?;
            if !matches!(progress, Progress::Done) {
                return Ok(Unique::Wait(progress));
            }
            // Whoever had it locked may have made it live on.
            if let Some(existing) = self.find_unique(table, index, unique_key, except) {
                return Err(duplicate(table, index, &existing));
            }
            // Or it is gone, or has another key: then it is not found again, and need not be there.
            if self.is_stored(table, &found) && self.get_current(table, &found, |_| ()).is_none() {
                expired.push(found);
            }
        }
        Ok(Unique::Free)
    }

    /// Removes rows that [`claim_unique_keys`](Self::claim_unique_keys) has found.
    fn remove_expired(&mut self, table: &Table, rows: &[Vec<u8>]) -> Result<(), TransactionError> {
        rows.iter().try_for_each(|key| self.set(table, key, None))
    }

    /// The row, other than the one under `except`, that would be in the way of one with this key in a unique index.
    pub fn row_in_the_way(&self, table: &Table, index: IndexId, key: &[u8], except: &[u8]) -> Option<Vec<u8>> {
        match index {
            IndexId::PRIMARY => self.get_current(table, key, |_| key.to_vec()),
            index => self.find_unique(table, index, key, except),
        }
    }

    /// The row, other than the one under `except`, that has this unique key now: committed, or this transaction's own.
    fn find_unique(&self, table: &Table, index: IndexId, unique_key: &[u8], except: &[u8]) -> Option<Vec<u8>> {
        if failpoints::goes_wrong("unique") {
            return None;
        }
        let range = KeyRange::prefix(unique_key);
        if let Some(changes) = self.overlay.table(table.id()) {
            let entries = changes.entries(table, index);
            let mut own = entries_in(&entries, &range, Direction::Forward);
            if let Some((_, existing)) = own.find(|(_, existing)| *existing != except) {
                return Some(existing.to_vec());
            }
        }
        self.find_committed(table, index, unique_key, except)
    }

    /// As [`find_unique`](Self::find_unique), of rows that the transaction has not changed.
    pub(super) fn find_committed(
        &self,
        table: &Table,
        index: IndexId,
        unique_key: &[u8],
        except: &[u8],
    ) -> Option<Vec<u8>> {
        let time = self.statement_time_of(table);
        self.find_entry(table, index, unique_key, |entry| {
            let found = entry.primary_key();
            let is_there = || table.expiry().is_none() || self.shows(table, found, entry.row(), time);
            found != except && is_there()
        })
    }

    /// A row, other than the one under `except` and those known, that has this unique key and is expired.
    fn find_expired(
        &self,
        table: &Table,
        index: IndexId,
        unique_key: &[u8],
        except: &[u8],
        known: &[Vec<u8>],
    ) -> Option<Vec<u8>> {
        table.expiry()?;
        let time = self.statement_time();
        self.find_entry(table, index, unique_key, |entry| {
            let found = entry.primary_key();
            let is_known = found == except || known.iter().any(|known| known == found);
            !is_known && !self.shows(table, found, entry.row(), time)
        })
    }

    /// The first row that is meant among those that have a unique key, are committed, and not changed by the transaction.
    fn find_entry(
        &self,
        table: &Table,
        index: IndexId,
        unique_key: &[u8],
        is_meant: impl Fn(&Entry<'_>) -> bool,
    ) -> Option<Vec<u8>> {
        let range = KeyRange::prefix(unique_key);
        let changes = self.overlay.table(table.id());
        let newest = table.snapshot();
        let mut existing = None;
        let mut cursor = Cursor::forward(range);
        while !cursor.is_finished() && existing.is_none() {
            table.scan(index, &mut cursor, &newest, CHUNK, |entry| {
                let found = entry.primary_key();
                if changes.is_some_and(|changes| changes.row(found).is_some()) || !is_meant(&entry) {
                    return ControlFlow::Continue(());
                }
                existing = Some(found.to_vec());
                ControlFlow::Break(())
            });
        }
        existing
    }
}

fn has_unique_index(table: &Table) -> bool {
    table.spec().indexes.iter().any(|index| index.unique)
}

fn duplicate(table: &Table, index: IndexId, existing: &[u8]) -> TransactionError {
    TransactionError::DuplicateKey {
        table: table.id(),
        index,
        existing: existing.to_vec(),
    }
}
