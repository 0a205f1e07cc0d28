//! The transaction that commands run in.
//!
//! ```text
//!   lock the keys that will be written, in order ──▶ snapshot ──▶ commands, each under a savepoint ──▶ commit
//! ```
//!
//! All locks that are foreseen come before the snapshot, in one order for everybody: so what is read is the newest, nobody waits in a
//! circle, and a conflict is left only for what was not foreseen, or what SQL changes beside. Then the work begins anew
//! ([`Failure::Again`]).

use std::cell::RefCell;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;

use sql::table::Table;
use sql_api::host::Host;
use sql_exec::runtime::{Locked, Runtime, StatementSettings};
use store::{Cursor, Direction, KeyRange, LockKey, LockMode, Snapshot};
use transaction::{Durability, Isolation, LockPolicy, Options, Savepoint, Transaction, TransactionError, WriteRule};
use types::{ErrorKind, IndexId, RowLayout, ValueRef};

use crate::collection::Collection;
use crate::failure::{Failure, Outcome};
use crate::head::{Head, HeadRef, Kind, key_in};
use crate::keyspace::Keyspace;
use crate::tables::{Db, KEY_MAX, Member, Part, key_of};
use crate::tracking::{Flush, Own, Tracking};

/// How long a lock of a key is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(50);
/// Rows that are looked at in one go.
const CHUNK: usize = 1024;
/// Bytes of rows that are copied in one go.
const PORTION_BYTES: usize = 1 << 20;

/// What has happened to a key: for those who wait for it, and for notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub db: u32,
    pub key: Vec<u8>,
    pub class: Class,
    /// `set`, `lpush`, `del`…
    pub name: &'static str,
}

/// What has happened to keys in a transaction.
#[derive(Debug, Default)]
pub struct Events {
    pub known: Vec<Event>,
    /// There were others, of which nobody wanted to be told when they happened.
    pub has_others: bool,
}

/// The classes of keyspace notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Generic,
    String,
    List,
    Set,
    Hash,
    SortedSet,
    Stream,
    Expired,
    New,
}

/// A transaction on keys.
pub struct Work<'w> {
    pub keyspace: &'w Arc<Keyspace>,
    pub host: &'w dyn Host,
    /// What is expired is so by this time, in milliseconds since 1970.
    pub now_ms: i64,
    transaction: RefCell<Transaction>,
    /// Tables whose definitions are locked.
    locked_tables: RefCell<Vec<(u32, Part)>>,
    /// `None`: all of a database.
    #[cfg(debug_assertions)]
    locked_keys: RefCell<std::collections::HashSet<(u32, Option<Vec<u8>>)>>,
    events: Events,
    /// The key that the running command has removed last: if it is written again, it is no new one.
    removed: Option<(u32, Vec<u8>)>,
    /// It removes all keys.
    pub flushes: bool,
    /// The client that does not want to hear of the keys that it changes, and these.
    changed_keys: Option<(u64, Vec<(u32, Vec<u8>)>)>,
    key: RefCell<Vec<u8>>,
}

/// What others are told of a transaction that is about to be committed.
pub struct Effects {
    tracking: Arc<Tracking>,
    flushes: bool,
    changed_keys: Option<(u64, Vec<(u32, Vec<u8>)>)>,
}

impl Effects {
    /// They last until what this gives is dropped: when the changes can be seen, or there will be none.
    pub fn begin(self) -> (Option<Flush>, Option<Own>) {
        let tracking = self.tracking;
        let flush = self.flushes.then(|| tracking.flush()).flatten();
        (flush, self.changed_keys.map(|(id, keys)| tracking.own(id, keys)))
    }
}

const SETTINGS: StatementSettings = StatementSettings {
    found_rows: false,
    auto_increment: (1, 1),
    foreign_key_checks: true,
    insert_id: None,
    recursion_limit: 0,
    select_limit: u64::MAX,
    lock_wait_timeout: LOCK_PATIENCE,
    metadata_lock_wait_timeout: LOCK_PATIENCE,
    exact_values: false,
};

impl<'w> Work<'w> {
    pub fn begin(keyspace: &'w Arc<Keyspace>, durability: Durability, host: &'w dyn Host) -> Work<'w> {
        let options = Options {
            isolation: Isolation::RepeatableRead,
            write_rule: WriteRule::FirstCommitterWins,
            durability,
            // Commands of several clients may share it.
            connection: 0,
        };
        let transaction = Transaction::begin(keyspace.engine().participant().clone(), options);
        Work {
            keyspace,
            host,
            now_ms: keyspace.now_ms(),
            transaction: RefCell::new(transaction),
            locked_tables: RefCell::default(),
            events: Events::default(),
            removed: None,
            #[cfg(debug_assertions)]
            locked_keys: RefCell::default(),
            flushes: false,
            changed_keys: None,
            key: RefCell::default(),
        }
    }

    pub fn into_transaction(self) -> (Transaction, Events, Effects) {
        let effects = Effects {
            tracking: self.keyspace.tracking.clone(),
            flushes: self.flushes,
            changed_keys: self.changed_keys,
        };
        let events = Events {
            // Of the keys that it removes nothing is told one by one.
            has_others: self.events.has_others || self.flushes,
            ..self.events
        };
        (self.transaction.into_inner(), events, effects)
    }

    /// The client does not want to hear of what this changes.
    pub fn keep_changed_keys(&mut self, client: u64) {
        self.changed_keys = Some((client, Vec::new()));
    }

    /// Puts or removes the row of a key whose lock is held, and is older than the snapshot.
    fn put_key_row(&mut self, db: &Db, key: &[u8], row_key: &[u8], row: Option<&[u8]>) -> Outcome {
        self.assert_locked(db, key);
        if let Some((_, keys)) = &mut self.changed_keys {
            keys.push((db.number, key.to_vec()));
        }
        let rows = &db.table(Part::Keys).rows;
        self.transaction.get_mut().put_unlocked(rows, row_key, row)?;
        Ok(())
    }

    /// Puts or removes a row that is changed under the lock of a key's row alone.
    pub fn put_below_key(&mut self, table: &Table, key: &[u8], row: Option<&[u8]>) -> Outcome {
        self.transaction.get_mut().put_unlocked(&table.rows, key, row)?;
        Ok(())
    }

    fn runtime(&self) -> Runtime<'_> {
        Runtime::new(
            self.keyspace.engine().participant(),
            self.host,
            &self.transaction,
            SETTINGS,
        )
    }

    /// The tables of a database.
    pub fn db(&self, number: u32) -> Outcome<Arc<Db>> {
        self.keyspace.db(number, self.host)
    }

    // --- locks and snapshots ---

    /// Locks keys for this transaction alone, in the order of their bytes.
    pub fn lock_keys<'k>(&self, db: &Db, keys: impl IntoIterator<Item = &'k [u8]>) -> Outcome {
        let mut keys: Vec<&[u8]> = keys.into_iter().collect();
        if keys.is_empty() {
            return Ok(());
        }
        self.lock_table(db, Part::Keys)?;
        keys.sort_unstable();
        keys.dedup();
        let table = db.table(Part::Keys);
        let runtime = self.runtime();
        if keys.len() > 1 && self.transaction.borrow().locks_elsewhere(&table.rows) {
            let encoded: Vec<Vec<u8>> = keys.iter().map(|key| db.row_key(key)).collect();
            runtime.lock_ahead(table, encoded.iter().map(Vec::as_slice), LockMode::Exclusive)?;
        }
        for key in db.ahead(&keys) {
            governor::tick()?;
            check_key(key)?;
            #[cfg(debug_assertions)]
            self.locked_keys.borrow_mut().insert((db.number, Some(key.to_vec())));
            let mut bytes = self.key.borrow_mut();
            db.write_row_key(key, &mut bytes);
            let locked = runtime.with_locks(|transaction| transaction.lock_for_write(&table.rows, &bytes));
            locked?;
        }
        Ok(())
    }

    /// Locks keys of several databases, in the order of their numbers.
    pub fn lock_keys_of_databases(&self, mut keys: Vec<(u32, &[u8])>) -> Outcome {
        keys.sort_unstable();
        for keys in keys.chunk_by(|(one, _), (other, _)| one == other) {
            let db = self.db(keys[0].0)?;
            self.lock_keys(&db, keys.iter().map(|(_, key)| *key))?;
        }
        Ok(())
    }

    /// Locks a key, unless somebody else has it: then false.
    pub fn try_lock_key(&self, db: &Db, key: &[u8]) -> Outcome<bool> {
        self.lock_table(db, Part::Keys)?;
        let table = db.table(Part::Keys);
        let bytes = db.row_key(key);
        let lock = |transaction: &mut Transaction| {
            transaction.lock_for_read(&table.rows, &bytes, LockMode::Exclusive, LockPolicy::SkipLocked)
        };
        let is_locked = self.runtime().with_locks(lock)? == Locked::Yes;
        #[cfg(debug_assertions)]
        if is_locked {
            self.locked_keys.borrow_mut().insert((db.number, Some(key.to_vec())));
        }
        Ok(is_locked)
    }

    /// Whether there is a key that has expired, and is not removed yet.
    pub fn has_expired(&self, db: &Db, key: &[u8]) -> bool {
        self.expired(db, &db.row_key(key)).is_some()
    }

    /// Says that rows of a table will be changed, and keeps its definition as it is.
    pub fn lock_table(&self, db: &Db, part: Part) -> Outcome {
        if self.locked_tables.borrow().contains(&(db.number, part)) {
            return Ok(());
        }
        let table = db.table(part);
        let runtime = self.runtime();
        runtime.lock_definition(LockKey::Definition(table.id()), LockMode::IntentionExclusive)?;
        if self.keyspace.engine().catalog_version() != db.version && !self.keyspace.is_current(db)? {
            return Err(redefined());
        }
        let lock = |transaction: &mut Transaction| {
            transaction.lock_table(table.id(), LockMode::IntentionExclusive, LockPolicy::Wait)
        };
        runtime.with_locks(lock)?;
        self.locked_tables.borrow_mut().push((db.number, part));
        Ok(())
    }

    /// Keeps all keys of a database for this transaction alone.
    pub fn lock_all_keys(&self, db: &Db) -> Outcome {
        self.lock_table(db, Part::Keys)?;
        let table = db.table(Part::Keys).id();
        let lock = |transaction: &mut Transaction| transaction.lock_table(table, LockMode::Exclusive, LockPolicy::Wait);
        self.runtime().with_locks(lock)?;
        #[cfg(debug_assertions)]
        self.locked_keys.borrow_mut().insert((db.number, None));
        Ok(())
    }

    /// Whoever changes a key has to hold its lock: a command that locks other keys than it changes loses updates.
    fn assert_locked(&self, _db: &Db, _key: &[u8]) {
        #[cfg(debug_assertions)]
        {
            let locked = self.locked_keys.borrow();
            let is_locked = locked.contains(&(_db.number, None)) || locked.contains(&(_db.number, Some(_key.to_vec())));
            assert!(
                is_locked,
                "{:?} is changed without its lock",
                String::from_utf8_lossy(_key)
            );
        }
    }

    /// Waits until what is read is as new as anybody has been told.
    pub fn catch_up(&self) -> Outcome {
        let freshness = self.transaction.borrow().freshness();
        match freshness {
            None => Ok(()),
            Some(freshness) => sql::session::wait_for_freshness(freshness, self.host).map_err(Failure::from),
        }
    }

    /// A command begins.
    pub fn savepoint(&mut self) -> (Savepoint, usize) {
        self.removed = None;
        (self.transaction.borrow_mut().savepoint(), self.events.known.len())
    }

    /// Takes back what a command did.
    pub fn roll_back_to(&mut self, (savepoint, events): (Savepoint, usize)) {
        self.transaction.get_mut().rollback_to(savepoint);
        self.transaction.get_mut().release(savepoint);
        self.events.known.truncate(events);
    }

    pub fn release(&mut self, (savepoint, _): (Savepoint, usize)) {
        self.transaction.get_mut().release(savepoint);
    }

    // --- keys ---

    fn is_expired(&self, expires_at: Option<i64>) -> bool {
        expires_at.is_some_and(|at| at <= self.now_ms)
    }

    /// Shows a key's row; `None`: there is none, or it has expired.
    #[inline]
    pub fn read<R>(&self, db: &Db, key: &[u8], read: impl FnOnce(HeadRef<'_>) -> R) -> Option<R> {
        let table = db.table(Part::Keys);
        let layout = table.layout();
        let mut bytes = self.key.borrow_mut();
        db.write_row_key(key, &mut bytes);
        let transaction = self.transaction.borrow();
        transaction
            .get(&table.rows, &bytes, |row| {
                let head = HeadRef::read(layout, row)?;
                (!self.is_expired(head.expires_at)).then(|| read(head))
            })
            .flatten()
    }

    /// A key's row.
    pub fn head(&self, db: &Db, key: &[u8]) -> Option<Head> {
        self.read(db, key, |head| head.to_head())
    }

    pub fn kind(&self, db: &Db, key: &[u8]) -> Option<Kind> {
        self.read(db, key, |head| head.kind)
    }

    /// Whether a key that is locked is another than at a moment before.
    pub fn is_changed_since(&self, db: &Db, key: &[u8], since: &Snapshot) -> bool {
        let table = db.table(Part::Keys);
        let bytes = db.row_key(key);
        match table.rows.newest(&bytes, |at, row| row.map(|_| at)).flatten() {
            Some(at) => at > since.timestamp(),
            None => table.rows.get(&bytes, since, |_| ()).is_some(),
        }
    }

    /// Whether somebody has changed a key since the snapshot.
    pub fn has_changed_meanwhile(&self, db: &Db, key: &[u8]) -> bool {
        let table = db.table(Part::Keys);
        let bytes = db.row_key(key);
        let transaction = self.transaction.borrow();
        let at = transaction.snapshot();
        match table.rows.newest(&bytes, |at, row| row.map(|_| at)).flatten() {
            Some(newest) => newest > at,
            None => transaction.get(&table.rows, &bytes, |_| ()).is_some(),
        }
    }

    /// Puts a key's row in the place of the one that is there. The elements of another type are the caller's to remove before
    /// ([`remove`](Self::remove)). The key is locked ([`lock_keys`](Self::lock_keys)), as for all that changes it.
    pub fn put(&mut self, db: &Db, key: &[u8], head: HeadRef<'_>) -> Outcome {
        let table = db.table(Part::Keys);
        let mut row = Vec::with_capacity(key.len() + head.value.len() + head.meta.len() + 24);
        head.write(table.layout(), key, &mut row);
        let mut bytes = std::mem::take(self.key.get_mut());
        db.write_row_key(key, &mut bytes);
        self.note_expired(db, key, &bytes);
        self.note_new(db, key, &bytes);
        let put = self.put_key_row(db, key, &bytes, Some(&row));
        *self.key.get_mut() = bytes;
        put
    }

    /// Removes a key with all that belongs to it; false: there was none. One that has expired is removed, too.
    pub fn remove(&mut self, db: &Db, key: &[u8]) -> Outcome<bool> {
        let table = db.table(Part::Keys);
        let layout = table.layout();
        let bytes = db.row_key(key);
        self.note_expired(db, key, &bytes);
        let found = self.transaction.borrow().get(&table.rows, &bytes, |row| {
            HeadRef::read(layout, row).map(|head| head.to_head())
        });
        let is_there = found.is_some();
        let head = match found {
            // A row that SQL has written, and that is no key.
            Some(None) => {
                self.put_key_row(db, key, &bytes, None)?;
                return Ok(true);
            }
            Some(Some(head)) => head,
            None => match self.expired(db, &bytes) {
                Some(head) => head,
                None => return Ok(false),
            },
        };
        self.put_key_row(db, key, &bytes, None)?;
        self.remove_elements(db, &head)?;
        let was_live = is_there && !self.is_expired(head.expires_at);
        if was_live && self.keyspace.notifies(Class::New) {
            self.removed = Some((db.number, key.to_vec()));
        }
        Ok(was_live)
    }

    /// As [`remove`](Self::remove), of a key that is a new one if it is written again.
    pub fn clear(&mut self, db: &Db, key: &[u8]) -> Outcome {
        self.remove(db, key)?;
        self.removed = None;
        Ok(())
    }

    /// What is left of a key that has expired, by the key of its row. The transaction shows it no more.
    fn expired(&self, db: &Db, key: &[u8]) -> Option<Head> {
        let table = db.table(Part::Keys);
        let newest = table.rows.newest(key, |_, row| {
            HeadRef::read(table.layout(), row?).map(|head| head.to_head())
        });
        let now_ms = self.keyspace.now_ms();
        newest
            .flatten()
            .filter(|head| head.expires_at.is_some_and(|at| at <= now_ms))
    }

    /// Removes a key's row alone: what belongs to it is another key's now.
    pub fn forget(&mut self, db: &Db, key: &[u8]) -> Outcome {
        self.put_key_row(db, key, &db.row_key(key), None)
    }

    /// Removes what belongs to a key's row that is gone.
    fn remove_elements(&mut self, db: &Db, head: &Head) -> Outcome {
        let Some(id) = head.meta.first_chunk().map(|id| u64::from_be_bytes(*id)) else {
            return Ok(());
        };
        if head.kind == Kind::String {
            return self.remove_pieces(db, id);
        }
        for &part in parts_of(head.kind) {
            self.remove_all(db, part, id)?;
        }
        Ok(())
    }

    /// The primary keys of the rows of an id.
    pub fn rows_of(&self, db: &Db, part: Part, id: u64) -> Outcome<Vec<Vec<u8>>> {
        let (mut keys, forward) = (Vec::new(), Direction::Forward);
        self.scan(db, part, IndexId::PRIMARY, id, forward, |_, _, primary_key| {
            keys.push(primary_key.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(keys)
    }

    /// Removes all elements of an id from one of the tables.
    pub fn remove_all(&mut self, db: &Db, part: Part, id: u64) -> Outcome {
        for key in self.rows_of(db, part, id)? {
            governor::tick()?;
            self.write_row(db, part, &key, None)?;
        }
        Ok(())
    }

    // --- elements ---

    /// Shows one element.
    pub fn element<'v, R>(
        &self,
        db: &Db,
        part: Part,
        key: impl IntoIterator<Item = ValueRef<'v>>,
        read: impl FnOnce(&RowLayout, &[u8]) -> R,
    ) -> Option<R> {
        let table = db.table(part);
        let layout = table.layout();
        let mut bytes = self.key.borrow_mut();
        bytes.clear();
        key_of(table, key, &mut bytes);
        self.transaction
            .borrow()
            .get(&table.rows, &bytes, |row| read(layout, row))
    }

    /// Puts an element, or removes it. `columns` are those of its row, the first of which are its key: as many as the primary key has.
    pub fn put_element(&mut self, db: &Db, part: Part, columns: &[ValueRef<'_>]) -> Outcome {
        let table = db.table(part);
        let (mut key, mut row) = (Vec::new(), Vec::new());
        let parts = crate::tables::layout_of(table, IndexId::PRIMARY).parts().len();
        key_of(table, columns[..parts].iter().copied(), &mut key);
        table.layout().encode_with(|column| columns[column], &mut row);
        self.write_row(db, part, &key, Some(&row))
    }

    /// Removes an element; false: there is none.
    pub fn remove_element<'v>(
        &mut self,
        db: &Db,
        part: Part,
        key: impl IntoIterator<Item = ValueRef<'v>>,
    ) -> Outcome<bool> {
        let table = db.table(part);
        let mut bytes = Vec::new();
        key_of(table, key, &mut bytes);
        if self.transaction.borrow().get(&table.rows, &bytes, |_| ()).is_none() {
            return Ok(false);
        }
        self.write_row(db, part, &bytes, None)?;
        Ok(true)
    }

    /// Removes a member of a hash, a set or a sorted set; false: it is none.
    pub fn remove_member(&mut self, db: &Db, kind: Kind, of: &mut Collection, member: &[u8]) -> Outcome<bool> {
        let member = Member::new(member);
        let key = [ValueRef::UInt(of.id), ValueRef::Bytes(member.indexed())];
        let removed = self.remove_element(db, parts_of(kind)[0], key)?;
        of.len -= u64::from(removed);
        Ok(removed)
    }

    /// Walks the elements of an id in the order of an index. `visit` gets the row's layout, the row and its primary key, and may not
    /// change anything.
    pub fn scan(
        &self,
        db: &Db,
        part: Part,
        index: IndexId,
        id: u64,
        direction: Direction,
        visit: impl FnMut(&RowLayout, &[u8], &[u8]) -> Outcome<ControlFlow<()>>,
    ) -> Outcome {
        self.scan_range(db, part, index, db.range_of(part, index, id), direction, visit)
    }

    /// Walks the elements of an id, for those that write others meanwhile: some rows at a time, of about [`PORTION_BYTES`].
    pub fn in_portions(
        &mut self,
        db: &Db,
        part: Part,
        id: u64,
        mut visit: impl FnMut(&mut Work<'w>, Vec<Vec<u8>>) -> Outcome,
    ) -> Outcome {
        let (index, forward) = (IndexId::PRIMARY, Direction::Forward);
        let mut range = db.range_of(part, index, id);
        loop {
            let (mut rows, mut bytes, mut last) = (Vec::new(), 0, None);
            self.scan_range(db, part, index, range.clone(), forward, |_, row, primary_key| {
                rows.push(row.to_vec());
                bytes += row.len();
                Ok(match bytes < PORTION_BYTES {
                    true => ControlFlow::Continue(()),
                    false => {
                        last = Some(primary_key.to_vec());
                        ControlFlow::Break(())
                    }
                })
            })?;
            visit(self, rows)?;
            let Some(last) = last else {
                return Ok(());
            };
            let to = range.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            range = KeyRange::between(Bound::Excluded(&last), to);
        }
    }

    /// As [`scan`](Self::scan), of a range of keys.
    pub fn scan_range(
        &self,
        db: &Db,
        part: Part,
        index: IndexId,
        range: KeyRange,
        direction: Direction,
        visit: impl FnMut(&RowLayout, &[u8], &[u8]) -> Outcome<ControlFlow<()>>,
    ) -> Outcome {
        self.scan_table(db.table(part), index, range, direction, visit)
    }

    /// As [`scan_range`](Self::scan_range), of any table.
    pub fn scan_table(
        &self,
        table: &Table,
        index: IndexId,
        range: KeyRange,
        direction: Direction,
        mut visit: impl FnMut(&RowLayout, &[u8], &[u8]) -> Outcome<ControlFlow<()>>,
    ) -> Outcome {
        let layout = table.layout();
        let mut cursor = Cursor::new(range, direction);
        let mut failed = None;
        while !cursor.is_finished() && failed.is_none() {
            let mut is_over = false;
            let transaction = self.transaction.borrow();
            transaction.scan(&table.rows, index, &mut cursor, CHUNK, |entry| {
                match visit(layout, entry.row(), entry.primary_key()) {
                    // Rows may be long: what they took is looked at before the next one, outside of the walk.
                    Ok(ControlFlow::Continue(())) if governor::is_due() => ControlFlow::Break(()),
                    Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                    Ok(ControlFlow::Break(())) => {
                        is_over = true;
                        ControlFlow::Break(())
                    }
                    Err(failure) => {
                        failed = Some(failure);
                        ControlFlow::Break(())
                    }
                }
            });
            drop(transaction);
            if is_over {
                break;
            }
            governor::tick()?;
        }
        failed.map_or(Ok(()), Err)
    }

    /// The key in a row of keys; `None`: it has expired, or the row is none.
    pub fn live_head<'r>(&self, layout: &'r RowLayout, row: &'r [u8]) -> Option<(&'r [u8], HeadRef<'r>)> {
        let head = HeadRef::read(layout, row).filter(|head| !self.is_expired(head.expires_at))?;
        Some((key_in(layout, row), head))
    }

    /// Walks all keys of a database from one on.
    pub fn scan_keys(
        &self,
        db: &Db,
        range: KeyRange,
        mut visit: impl FnMut(&[u8], HeadRef<'_>) -> Outcome<ControlFlow<()>>,
    ) -> Outcome {
        self.scan_range(
            db,
            Part::Keys,
            IndexId::PRIMARY,
            range,
            Direction::Forward,
            |layout, row, _| match self.live_head(layout, row) {
                Some((key, head)) => visit(key, head),
                None => Ok(ControlFlow::Continue(())),
            },
        )
    }

    /// Puts a row under its primary key, or removes it.
    fn write_row(&mut self, db: &Db, part: Part, key: &[u8], row: Option<&[u8]>) -> Outcome {
        self.lock_table(db, part)?;
        let rows = &db.table(part).rows;
        let runtime = self.runtime();
        runtime.with_locks(|transaction| transaction.lock_for_write(rows, key))?;
        let exists = self.transaction.borrow().get_current(rows, key, |_| ()).is_some();
        match (exists, row) {
            (false, None) => Ok(()),
            (false, Some(row)) => done(runtime.with_locks(|transaction| transaction.insert(rows, key, row))),
            (true, Some(row)) => done(runtime.with_locks(|transaction| transaction.update(rows, key, key, row))),
            (true, None) => done(runtime.with_locks(|transaction| transaction.delete(rows, key))),
        }
    }

    // --- what others are told ---

    pub fn note(&mut self, class: Class, name: &'static str, db: &Db, key: &[u8]) {
        if !self.keyspace.wants_events() {
            self.events.has_others = true;
            return;
        }
        self.events.known.push(Event {
            db: db.number,
            key: key.to_vec(),
            class,
            name,
        });
    }

    /// A key's row is about to be written: where there is none, it is a new key.
    fn note_new(&mut self, db: &Db, key: &[u8], row_key: &[u8]) {
        if !self.keyspace.notifies(Class::New) {
            return;
        }
        let table = db.table(Part::Keys);
        let layout = table.layout();
        let is_live = |row: &[u8]| HeadRef::read(layout, row).is_some_and(|head| !self.is_expired(head.expires_at));
        let is_there = self.transaction.borrow().get(&table.rows, row_key, is_live);
        let is_written_again = self.removed.take() == Some((db.number, key.to_vec()));
        if is_there != Some(true) && !is_written_again {
            self.note(Class::New, "new", db, key);
        }
    }

    /// A key's row is about to go, or to become another one: where it is that of a key that has expired, that is told now, once.
    fn note_expired(&mut self, db: &Db, key: &[u8], row_key: &[u8]) {
        if !self.keyspace.wants_events() {
            return;
        }
        let table = db.table(Part::Keys);
        let layout = table.layout();
        let shown = self.transaction.borrow().get(&table.rows, row_key, |row| {
            HeadRef::read(layout, row).and_then(|head| head.expires_at)
        });
        let has_expired = match shown {
            Some(expires_at) => self.is_expired(expires_at),
            None => self.expired(db, row_key).is_some(),
        };
        let is_it = |event: &Event| event.class == Class::Expired && event.db == db.number && event.key == key;
        if has_expired && !self.events.known.iter().any(is_it) {
            self.note(Class::Expired, "expired", db, key);
        }
    }
}

fn done<T>(result: Result<T, sql_plan::errors::StatementError>) -> Outcome {
    result.map(|_| ()).map_err(Failure::from)
}

/// Where the elements of a type are.
pub fn parts_of(kind: Kind) -> &'static [Part] {
    match kind {
        Kind::String => &[Part::Piece],
        Kind::Hash => &[Part::Hash],
        Kind::Set => &[Part::Set],
        Kind::SortedSet => &[Part::SortedSet],
        Kind::List => &[Part::List],
        Kind::Stream => &[Part::Stream, Part::Group, Part::Consumer, Part::Pending],
    }
}

/// The tables have become others since they were looked up.
fn redefined() -> Failure {
    Failure::Again(ErrorKind::LockDeadlock.into())
}

pub fn check_key(key: &[u8]) -> Outcome {
    match key.len() <= KEY_MAX {
        true => Ok(()),
        false => Err(Failure::from(TransactionError::KeyTooLong)),
    }
}
