//! The writer's side of one table.

#![allow(unsafe_code)]

use super::collect::Queue;
use super::pending::Pending;
use crate::btree::{Tree, TreeKind, TreeWriter, build};
use crate::memory::{MemoryBudget, MemoryUse, allocated};
use crate::past::Past;
use crate::record::{EntryState, History, Record, RecordPtr, Stamp, Version, VersionPtr, record_bytes, version_bytes};
use crate::retired::{Garbage, Retired};
use crate::spec::TableSpec;
use crate::store::Store;
use crate::table::{Index, Shape, Table};
use std::cmp::Ordering;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic;
use types::EntryKeys;
use types::{IndexId, Timestamp};

pub(super) struct TableWriter {
    pub(super) table: Arc<Table>,
    pub(super) primary: TreeWriter,
    pub(super) indexes: Vec<IndexWriter>,
    /// Records with something that will be collected.
    pub(super) queue: Queue,
    /// Large transactions with stamps in the table's records.
    pub(super) pending: Vec<Pending>,
    /// In the writer's list of tables to publish, and to collect.
    pub(super) is_changed: bool,
    pub(super) is_uncollected: bool,
    /// Unlinked; to be retired when the trees have been published.
    pub(super) garbage: Vec<Garbage>,
    pub(super) row_bytes: Account,
    /// Of the primary tree: nodes and records.
    pub(super) key_bytes: Account,
    /// Of superseded versions.
    pub(super) past_bytes: Account,
    pub(super) new_keys: EntryKeys,
    old_keys: EntryKeys,
}

pub(super) struct IndexWriter {
    pub(super) index: Arc<Index>,
    pub(super) tree: TreeWriter,
    /// Of nodes, entries and their histories.
    pub(super) bytes: Account,
    /// Of these, of entries that are dead and of histories.
    pub(super) past_bytes: Account,
}

impl IndexWriter {
    fn new(index: &Arc<Index>) -> IndexWriter {
        IndexWriter {
            tree: TreeWriter::new(Arc::clone(&index.tree)),
            index: Arc::clone(index),
            bytes: Account::default(),
            past_bytes: Account::default(),
        }
    }

    /// The keys of a row's entries.
    pub(super) fn keys_of(&self, table: &Shape, row: &[u8], primary_key: &[u8], keys: &mut EntryKeys) {
        self.index.keys.of_row(&table.rows, row, primary_key, keys);
    }
}

/// Bytes of one use: in all, and of that not yet charged to the budget.
#[derive(Default)]
pub(super) struct Account {
    total: i64,
    uncharged: i64,
}

impl Account {
    pub(super) fn add(&mut self, bytes: i64) {
        self.total += bytes;
        self.uncharged += bytes;
    }

    fn settle(&mut self, memory: &MemoryBudget, purpose: MemoryUse) {
        memory.charge(purpose, std::mem::take(&mut self.uncharged));
    }

    fn settle_past(&mut self, past: &Past) {
        past.charge(std::mem::take(&mut self.uncharged));
    }

    fn give_back_past(&self, past: &Past) {
        past.charge(self.uncharged - self.total);
    }

    /// What it stands for is gone.
    fn give_back(&self, memory: &MemoryBudget, purpose: MemoryUse) {
        memory.charge(purpose, self.uncharged - self.total);
    }
}

impl TableWriter {
    pub(super) fn new(table: Arc<Table>) -> TableWriter {
        TableWriter {
            primary: TreeWriter::new(Arc::clone(&table.primary)),
            indexes: table.indexes.iter().map(IndexWriter::new).collect(),
            queue: Queue::default(),
            pending: Vec::new(),
            is_changed: false,
            is_uncollected: false,
            garbage: Vec::new(),
            row_bytes: Account::default(),
            key_bytes: Account::default(),
            past_bytes: Account::default(),
            new_keys: EntryKeys::default(),
            old_keys: EntryKeys::default(),
            table,
        }
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// Whether the keys of all rows there are fit a table of another definition.
    pub(super) fn all_rows_fit(&self, definition: &Table) -> bool {
        let mut fits = true;
        self.primary.for_each(|row| {
            // SAFETY: a primary record of the working tree.
            let (record, version) = unsafe { (row.get(), row.get().newest()) };
            let row = version.and_then(|version| version.row());
            fits = fits && row.is_none_or(|row| definition.fits(record.key(), row));
        });
        fits
    }

    pub(super) fn set_table(&mut self, table: Arc<Table>) {
        self.table = table;
    }

    /// The same indexes, with other layouts for the same keys.
    pub(super) fn set_indexes(&mut self, indexes: &[Arc<Index>]) {
        for (writer, index) in self.indexes.iter_mut().zip(indexes) {
            writer.index = Arc::clone(index);
        }
    }

    /// Bytes of the rows, of the primary tree and of each index that the table came with.
    pub(super) fn inherit_memory(&mut self, row_bytes: i64, key_bytes: i64, index_bytes: &[i64]) {
        self.row_bytes.add(row_bytes);
        self.key_bytes.add(key_bytes);
        for (index, bytes) in self.indexes.iter_mut().zip(index_bytes) {
            index.bytes.add(*bytes);
        }
    }

    /// Makes the roots visible, and settles the account.
    pub(super) fn publish(&mut self, retired: &mut Retired, store: &Store) {
        self.is_changed = false;
        let (rows, indexes) = store.charges;
        let trees = self.indexes.iter_mut().map(|index| (&mut index.tree, &mut index.bytes));
        for (tree, bytes) in trees.chain([(&mut self.primary, &mut self.key_bytes)]) {
            tree.publish(retired);
            bytes.add(tree.take_node_bytes());
            bytes.settle(store.memory(), indexes);
        }
        retired.append(&mut self.garbage);
        self.row_bytes.settle(store.memory(), rows);
        let past = self.indexes.iter_mut().map(|index| &mut index.past_bytes);
        past.chain([&mut self.past_bytes])
            .for_each(|bytes| bytes.settle_past(store.past()));
    }

    /// The table is gone, and all it was charged for.
    pub(super) fn give_back_memory(&self, store: &Store) {
        let (rows, indexes) = store.charges;
        self.row_bytes.give_back(store.memory(), rows);
        let past = self.indexes.iter().map(|index| &index.past_bytes);
        past.chain([&self.past_bytes])
            .for_each(|bytes| bytes.give_back_past(store.past()));
        for bytes in self.indexes.iter().map(|index| &index.bytes).chain([&self.key_bytes]) {
            bytes.give_back(store.memory(), indexes);
        }
    }

    /// Inserts or replaces a row. False, and nothing done: the row or a key is too long.
    pub(super) fn put(&mut self, at: Stamp, key: &[u8], row: &[u8]) -> bool {
        if !self.table.fits(key, row) {
            return false;
        }
        self.note_change(at);
        self.row_bytes.add(allocated(version_bytes(row.len())) as i64);
        let Some(found) = self.primary.find(key).map(Record::ptr) else {
            let record = RecordPtr::new_primary(key, VersionPtr::new(at, Some(row), None));
            self.key_bytes.add(allocated(record_bytes(key.len(), false)) as i64);
            self.primary.insert(record);
            self.count_rows(at, 1);
            self.add_entries(at, record, key, row);
            if at.is_pending() {
                // SAFETY: just inserted into the working tree.
                self.stamped(at, IndexId::PRIMARY, unsafe { record.get() });
            }
            return true;
        };
        // SAFETY: a primary record of the working tree, which this writer alone unlinks.
        let record: Record<'_> = unsafe { found.get() };
        // SAFETY: as above.
        let old = unsafe { self.resolved_head(record) };
        // SAFETY: as above.
        unsafe { record.set_head(VersionPtr::new(at, Some(row), Some(old.ptr()))) };
        self.past_bytes.add(allocated_version(old));
        match old.row() {
            Some(old_row) => self.move_entries(at, found, key, old_row, row),
            None => {
                self.count_rows(at, 1);
                self.add_entries(at, found, key, row);
            }
        }
        self.changed(at, IndexId::PRIMARY, record);
        true
    }

    pub(super) fn delete(&mut self, at: Stamp, key: &[u8]) {
        let Some(found) = self.primary.find(key).map(Record::ptr) else {
            return;
        };
        // SAFETY: a primary record of the working tree, which this writer alone unlinks.
        let record: Record<'_> = unsafe { found.get() };
        // SAFETY: as above.
        let old = unsafe { self.resolved_head(record) };
        let Some(old_row) = old.row() else { return };
        self.note_change(at);
        // SAFETY: as above.
        unsafe { record.set_head(VersionPtr::new(at, None, Some(old.ptr()))) };
        self.past_bytes.add(allocated_version(old));
        self.row_bytes.add(allocated(version_bytes(0)) as i64);
        self.count_rows(at, -1);
        let mut keys = std::mem::take(&mut self.old_keys);
        for index in 0..self.indexes.len() {
            self.entry_keys(index, old_row, key, &mut keys);
            keys.iter().for_each(|entry_key| self.end_entry(at, index, entry_key));
        }
        self.old_keys = keys;
        self.changed(at, IndexId::PRIMARY, record);
    }

    /// A row is about to change. A large transaction's rows change when it commits.
    fn note_change(&self, at: Stamp) {
        if !at.is_pending() {
            self.table.counters.note_change(at.when());
        }
    }

    fn count_rows(&mut self, at: Stamp, more: i64) {
        match at.is_pending() {
            true => self.pending_of(at).rows += more,
            false => self.table.counters.add_rows(more),
        }
    }

    /// A record has got a stamp, and something that will have to be collected.
    fn changed(&mut self, at: Stamp, index: IndexId, record: Record<'_>) {
        match at.is_pending() {
            true => self.stamped(at, index, record),
            false => self.queue.add(index, record),
        }
    }

    /// The keys of a row's entries in the index at a position.
    fn entry_keys(&self, at: usize, row: &[u8], primary_key: &[u8], keys: &mut EntryKeys) {
        self.indexes[at].keys_of(&self.table.shape, row, primary_key, keys);
    }

    fn add_entries(&mut self, stamp: Stamp, record: RecordPtr, primary_key: &[u8], row: &[u8]) {
        let mut keys = std::mem::take(&mut self.new_keys);
        for at in 0..self.indexes.len() {
            self.entry_keys(at, row, primary_key, &mut keys);
            for entry_key in keys.iter() {
                self.begin_entry(stamp, at, entry_key, primary_key, record);
            }
        }
        self.new_keys = keys;
    }

    /// A row changed: ends and begins the entries of the indexes whose columns did.
    fn move_entries(&mut self, stamp: Stamp, record: RecordPtr, primary_key: &[u8], old_row: &[u8], row: &[u8]) {
        let mut old_keys = std::mem::take(&mut self.old_keys);
        let mut new_keys = std::mem::take(&mut self.new_keys);
        for at in 0..self.indexes.len() {
            if self.indexes[at]
                .index
                .keys
                .are_same(&self.table.shape.rows, old_row, row)
            {
                continue;
            }
            self.entry_keys(at, old_row, primary_key, &mut old_keys);
            self.entry_keys(at, row, primary_key, &mut new_keys);
            // Both are in order.
            let mut old = old_keys.iter().peekable();
            let mut new = new_keys.iter().peekable();
            loop {
                let order = match (old.peek(), new.peek()) {
                    (None, None) => break,
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some(old), Some(new)) => old.cmp(new),
                };
                if order.is_le()
                    && let Some(key) = old.next()
                    && order.is_lt()
                {
                    self.end_entry(stamp, at, key);
                }
                if order.is_ge()
                    && let Some(key) = new.next()
                    && order.is_gt()
                {
                    self.begin_entry(stamp, at, key, primary_key, record);
                }
            }
        }
        self.old_keys = old_keys;
        self.new_keys = new_keys;
    }

    /// An entry lives from a moment on.
    fn begin_entry(&mut self, stamp: Stamp, at: usize, entry_key: &[u8], primary_key: &[u8], row: RecordPtr) {
        let id = self.indexes[at].index.id;
        let tree = &mut self.indexes[at].tree;
        let Some(found) = tree.find(entry_key).map(Record::ptr) else {
            let columns = &entry_key[..entry_key.len() - primary_key.len()];
            let entry = RecordPtr::new_entry(columns, primary_key, row, stamp);
            tree.insert(entry);
            let bytes = allocated(record_bytes(entry_key.len(), true));
            self.indexes[at].bytes.add(bytes as i64);
            if stamp.is_pending() {
                // SAFETY: just inserted into the working tree.
                self.stamped(stamp, id, unsafe { entry.get() });
            }
            return;
        };
        // The entry has lived before and has not been collected yet.
        // SAFETY: an index record of the working tree.
        unsafe {
            let found: Record<'_> = found.get();
            let EntryState::History(older) = self.resolved_entry(at, found) else {
                panic!("index {id} has an entry for a row that is not there")
            };
            if found.row_ptr() == row {
                let history = History::allocate(stamp, Stamp::NEVER, older.as_ptr());
                found.set_entry_state(EntryState::History(history));
                self.add_history(at);
            } else {
                // The row was collected and came again in another record. That could only be because no snapshot sees the old one,
                // nor therefore this entry's past.
                found.set_row_ptr(row);
                found.set_entry_state(EntryState::AliveSince(stamp));
                let mut past = older.as_ptr();
                while let Some(interval) = ptr::NonNull::new(past) {
                    past = (*past).older.load(atomic::Ordering::Relaxed);
                    self.retire_history(at, interval);
                }
            }
            self.count_dead(at, found, -1);
            if stamp.is_pending() {
                self.stamped(stamp, id, found);
            }
        }
    }

    /// An entry does not live any more from a moment on.
    fn end_entry(&mut self, stamp: Stamp, at: usize, entry_key: &[u8]) {
        let index = &self.indexes[at];
        let id = index.index.id;
        let found = index
            .tree
            .find(entry_key)
            .expect("a row has an entry in every index")
            .ptr();
        // SAFETY: an index record of the working tree.
        unsafe {
            let found: Record<'_> = found.get();
            let history = match self.resolved_entry(at, found) {
                EntryState::AliveSince(begin) => {
                    self.add_history(at);
                    History::allocate(begin, stamp, ptr::null_mut())
                }
                EntryState::History(alive) => {
                    let interval = alive.as_ref();
                    assert_eq!(interval.end(), Stamp::NEVER, "a row's entry is alive");
                    self.garbage.push(Garbage::History(alive));
                    History::allocate(interval.begin(), stamp, interval.older.load(atomic::Ordering::Relaxed))
                }
            };
            found.set_entry_state(EntryState::History(history));
            self.count_dead(at, found, 1);
            self.changed(stamp, id, found);
        }
    }

    /// Fills a new index, the last of `spec`, from the rows there are. `None`: a key is too long.
    pub(super) fn build_index(&mut self, ts: Timestamp, spec: &TableSpec) -> Option<Arc<Index>> {
        let index = spec.indexes.last()?;
        let index_keys = spec.index_keys(index);
        let mut entries = Vec::new();
        let (mut keys, mut bytes, mut fits) = (EntryKeys::default(), 0, true);
        self.primary.for_each(|row| {
            // SAFETY: a primary record of the working tree.
            let (record, version) = unsafe { (row.get(), row.get().newest()) };
            let Some(version) = version else { return };
            let Some(bytes_of_row) = version.row() else { return };
            let rows = &self.table.shape.rows;
            fits = fits && index_keys.fits(rows, bytes_of_row, record.key());
            if !fits {
                return;
            }
            index_keys.of_row(rows, bytes_of_row, &[], &mut keys);
            for key in keys.iter() {
                bytes += allocated(record_bytes(key.len() + record.key().len(), true));
                entries.push(RecordPtr::new_entry(key, record.key(), row, Stamp::at(version.begin())));
            }
        });
        if !fits {
            // SAFETY: nobody has seen them.
            entries.into_iter().for_each(|entry| unsafe { entry.free(true) });
            return None;
        }
        super::load::sort_entries(&mut entries);
        let (tree, node_bytes) = build(TreeKind::Secondary, &entries);
        Some(self.add_index(ts, spec, Arc::new(tree), (bytes + node_bytes) as i64))
    }

    /// Adds the last index of `spec`, whose entries are in the tree.
    pub(super) fn add_index(&mut self, ts: Timestamp, spec: &TableSpec, tree: Arc<Tree>, bytes: i64) -> Arc<Index> {
        let index = spec.indexes.last().expect("the caller has put it there");
        let index = Arc::new(Index::new(index.id, spec.index_keys(index), ts, tree));
        let mut writer = IndexWriter::new(&index);
        writer.bytes.add(bytes);
        self.indexes.push(writer);
        index
    }

    /// The index is gone, and all it was charged for. Takes no time for its entries: whoever drops the last handle has them freed.
    pub(super) fn forget_index(&mut self, id: IndexId, retired: &mut Retired, store: &Store) {
        let at = self.position(id);
        // A record with a stamp waits in a queue.
        for queued in self.take_queued(id) {
            // SAFETY: a record of the working tree, which is still whole.
            if let Some(stamp) = unsafe { queued.record().pending_stamp() } {
                self.unstamped(stamp);
            }
        }
        let mut index = self.indexes.remove(at);
        index.tree.publish(retired);
        index.bytes.give_back(store.memory(), store.charges.1);
        index.past_bytes.give_back_past(store.past());
    }

    /// Where the index is among those of the table.
    pub(super) fn position(&self, id: IndexId) -> usize {
        let found = self.indexes.iter().position(|index| index.index.id == id);
        found.expect("queues forget dropped indexes")
    }

    // --- what collecting frees ---

    pub(super) fn retire_version(&mut self, version: VersionPtr) {
        // SAFETY: freed after the next publication at the earliest.
        let row_bytes = unsafe { version.get() }.row().map_or(0, <[u8]>::len);
        self.row_bytes.add(-(allocated(version_bytes(row_bytes)) as i64));
        self.garbage.push(Garbage::Version(version));
    }

    /// As [`retire_version`](Self::retire_version), of one that is not the newest.
    pub(super) fn retire_superseded(&mut self, version: VersionPtr) {
        // SAFETY: as there.
        self.past_bytes.add(-allocated_version(unsafe { version.get() }));
        self.retire_version(version);
    }

    /// Of the index at a position; the same below.
    pub(super) fn add_history(&mut self, at: usize) {
        self.indexes[at].bytes.add(HISTORY_BYTES);
        self.indexes[at].past_bytes.add(HISTORY_BYTES);
    }

    /// An entry has died, or (-1) is alive again, or gone.
    pub(super) fn count_dead(&mut self, at: usize, record: Record<'_>, count: i64) {
        let bytes = allocated(record_bytes(record.key().len(), true)) as i64;
        self.indexes[at].past_bytes.add(count * bytes);
    }

    pub(super) fn retire_history(&mut self, at: usize, history: ptr::NonNull<History>) {
        self.indexes[at].bytes.add(-HISTORY_BYTES);
        self.indexes[at].past_bytes.add(-HISTORY_BYTES);
        self.garbage.push(Garbage::History(history));
    }

    pub(super) fn retire_row(&mut self, record: Record<'_>) {
        self.primary.remove(record.key());
        self.key_bytes
            .add(-(allocated(record_bytes(record.key().len(), false)) as i64));
        self.garbage.push(Garbage::Row(record.ptr()));
    }

    /// One that is dead.
    pub(super) fn retire_entry(&mut self, at: usize, record: Record<'_>) {
        self.count_dead(at, record, -1);
        let writer = &mut self.indexes[at];
        writer.tree.remove(record.key());
        let bytes = allocated(record_bytes(record.key().len(), true));
        writer.bytes.add(-(bytes as i64));
        self.garbage.push(Garbage::Entry(record.ptr()));
    }
}

/// What a version takes.
pub(super) fn allocated_version(version: Version<'_>) -> i64 {
    allocated(version_bytes(version.row().map_or(0, <[u8]>::len))) as i64
}

const HISTORY_BYTES: i64 = size_of::<History>() as i64;
