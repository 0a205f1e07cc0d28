//! Indexes that are built before the log adds them.
//!
//! To fill an index from a million rows takes half a second, in which whoever applies the log would commit nothing. So the statement
//! that adds an index builds it first, from a snapshot, in turns with other statements; the log's entry takes it over whole:
//!
//! ```text
//!   statement ── rows ▸ entries ▸ sorted ▸ tree ──▶ PreparedIndex, kept by the store
//!                                                       │ are the rows still those of the snapshot?
//!   log ───── CreateIndex ──────────────────────────────┴─ yes: it is the index
//!                                                          no, or there is none, as in a replay: built from the rows now
//! ```
//!
//! Both ways make the same entries: those of the rows that are there when the entry is applied. So the log alone decides what there is, and
//! an index that is prepared and not taken over has never been there.

#![allow(unsafe_code)]

use crate::btree::{Tree, TreeKind, build_while, prefix_of};
use crate::keys::IndexKeys;
use crate::memory::{MemoryLimit, MemoryUse, Reservation, allocated};
use crate::range::{Cursor, KeyRange};
use crate::record::{Record, RecordPtr, Stamp, record_bytes};
use crate::snapshot::Snapshot;
use crate::spec::{IndexSpec, TableSpec};
use crate::store::Store;
use crate::table::{Pinned, Table, walk};
use crossbeam_epoch as epoch;
use governor::{Stop, large};
use std::ops::ControlFlow;
use std::sync::Arc;
use types::EntryKeys;
use types::{IndexId, TableId, Timestamp};

/// Rows looked at under one guard, at most, and entries sorted in one go: some hundred microseconds.
const STEP: usize = 4096;

/// Bytes for each entry beside its own, while it is built: a list is sorted into another one; then its records are listed alone, and get
/// their nodes. An estimate from above.
const LISTED: usize = size_of::<Listed>() + 32;

/// Why an index cannot be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// Of a unique index: another row has the same key.
    #[error("duplicate key in a new index")]
    Duplicate { existing: Vec<u8> },
    /// Or, of a full-text index, a row has too many words.
    #[error("a key is too long")]
    KeyTooLong,
    #[error(transparent)]
    Memory(#[from] MemoryLimit),
    /// The statement has to end.
    #[error("{0:?}")]
    Stopped(Stop),
}

impl From<Stop> for PrepareError {
    fn from(stop: Stop) -> PrepareError {
        PrepareError::Stopped(stop)
    }
}

/// An index that the store keeps for the log's entry until this is dropped.
#[must_use = "the index is gone with it"]
pub struct PreparedIndex {
    store: Arc<Store>,
    name: (TableId, IndexId),
}

impl Drop for PreparedIndex {
    fn drop(&mut self) {
        let left = self.store.prepared.lock().remove(&self.name);
        drop(left);
    }
}

/// A built index, and what it was built from.
pub(crate) struct Prepared {
    /// The table's rows.
    primary: Arc<Tree>,
    /// The definition of the table.
    spec: TableSpec,
    index: IndexSpec,
    as_of: Timestamp,
    pub(crate) tree: Arc<Tree>,
    /// What its entries and nodes take.
    memory: Reservation,
    /// The entries refer to the rows.
    _pinned: Pinned,
}

impl Store {
    /// Builds an index from the committed rows, for the entry of the log that will add it. Gives way, and charges before it grows. Of
    /// use where nobody changes the rows until then: the caller has the table locked. Rows that have expired by `now`, in microseconds
    /// since 1970, get their entries, and are in nobody's way where keys are unique.
    pub fn prepare_index(
        self: &Arc<Store>,
        table: &Table,
        index: &IndexSpec,
        now: i64,
    ) -> Result<PreparedIndex, PrepareError> {
        let name = (table.id(), index.id);
        let prepared = Prepared::build(self, table, index, now)?;
        let before = self.prepared.lock().insert(name, prepared);
        drop(before);
        let store = Arc::clone(self);
        Ok(PreparedIndex { store, name })
    }

    /// Takes the prepared index, if it is that of the table's rows as they are now. `spec`: the table's definition before.
    pub(crate) fn take_prepared(&self, table: &Table, spec: &TableSpec, index: &IndexSpec) -> Option<Prepared> {
        let found = self.prepared.lock().remove(&(table.id(), index.id))?;
        found.is_of(table, spec, index).then_some(found)
    }

    /// Whether [`take_prepared`](Self::take_prepared) would find one.
    pub(crate) fn has_prepared(&self, table: &Table, spec: &TableSpec, index: &IndexSpec) -> bool {
        let prepared = self.prepared.lock();
        let found = prepared.get(&(table.id(), index.id));
        found.is_some_and(|found| found.is_of(table, spec, index))
    }
}

impl Prepared {
    fn build(store: &Arc<Store>, table: &Table, index: &IndexSpec, now: i64) -> Result<Prepared, PrepareError> {
        let pinned = Pinned::new(table);
        let snapshot = store.snapshot();
        let keys = table.spec().index_keys(index);
        let mut entries = Entries {
            list: Vec::new(),
            entry_bytes: 0,
            memory: store.memory().nothing_yet(MemoryUse::Indexes),
        };
        let work = Work {
            table,
            keys: &keys,
            snapshot: &snapshot,
            now,
        };
        let built = entries
            .fill(&work)
            .and_then(|()| governor::given_away(|| entries.sort()))
            .and_then(|()| {
                if index.unique {
                    entries.check_unique(&work)
                } else {
                    Ok(())
                }
            })
            .and_then(|()| governor::given_away(|| entries.build()));
        let (tree, memory) = match built {
            Ok(built) => built,
            Err(error) => {
                // The client waits for the answer, and they are nobody's memory but the node's.
                governor::given_away(|| large::drop_elsewhere(entries));
                return Err(error);
            }
        };
        Ok(Prepared {
            primary: Arc::clone(&table.primary),
            spec: table.spec().clone(),
            index: index.clone(),
            as_of: snapshot.timestamp(),
            _pinned: pinned,
            tree: Arc::new(tree),
            memory,
        })
    }

    /// Whether it has an entry of this index for each row of the table as it is now, and no other.
    fn is_of(&self, table: &Table, spec: &TableSpec, index: &IndexSpec) -> bool {
        let same_rows = Arc::ptr_eq(&self.primary, &table.primary) && table.is_unchanged_since(self.as_of);
        let same_columns = self.spec.columns == spec.columns
            && self.spec.generations == spec.generations
            && self.spec.primary == spec.primary;
        same_rows && same_columns && self.index == *index
    }

    /// The tree, and the bytes that are to be charged for it: they are reserved no longer.
    pub(crate) fn into_parts(self) -> (Arc<Tree>, i64) {
        (self.tree, self.memory.bytes() as i64)
    }
}

/// What entries are made of.
struct Work<'w> {
    table: &'w Table,
    keys: &'w IndexKeys,
    snapshot: &'w Snapshot,
    /// Which rows have expired.
    now: i64,
}

/// A record with the beginning of its key.
type Listed = (u64, RecordPtr);

/// Entries that are in no tree yet, and the memory they are charged for.
struct Entries {
    list: Vec<Listed>,
    /// Of the records.
    entry_bytes: usize,
    memory: Reservation,
}

impl Entries {
    /// Makes the entries of all rows, in the order of the rows.
    fn fill(&mut self, work: &Work<'_>) -> Result<(), PrepareError> {
        let mut cursor = Cursor::forward(KeyRange::all());
        let mut keys = EntryKeys::default();
        while !cursor.is_finished() {
            governor::tick()?;
            governor::given_away(|| self.fill_some(work, &mut cursor, &mut keys))?;
        }
        Ok(())
    }

    fn fill_some(&mut self, work: &Work<'_>, cursor: &mut Cursor, keys: &mut EntryKeys) -> Result<(), PrepareError> {
        let ts = work.snapshot.timestamp();
        let guard = epoch::pin();
        let mut result = Ok(());
        walk(&work.table.primary, cursor, &guard, STEP, |row| {
            // SAFETY: found in the primary tree.
            let version = unsafe { row.version_at(ts) };
            if let Some(version) = version
                && let Some(bytes) = version.row()
            {
                result = self.add_row(work, row, bytes, version.begin(), keys);
            }
            match result.is_err() || governor::is_due() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        result
    }

    /// Adds the entries of a row.
    fn add_row(
        &mut self,
        work: &Work<'_>,
        row: Record<'_>,
        bytes: &[u8],
        begin: Timestamp,
        keys: &mut EntryKeys,
    ) -> Result<(), PrepareError> {
        let rows = work.table.row_layout();
        // The guard is not held while others run.
        let fits = governor::without_yield(|| {
            let fits = work.keys.fits(rows, bytes, row.key());
            if fits {
                work.keys.of_row(rows, bytes, &[], keys);
            }
            fits
        });
        if !fits {
            return Err(PrepareError::KeyTooLong);
        }
        keys.iter().try_for_each(|key| self.add(key, row, begin))
    }

    fn add(&mut self, columns: &[u8], row: Record<'_>, begin: Timestamp) -> Result<(), PrepareError> {
        let key_bytes = columns.len() + row.key().len();
        let entry_bytes = self.entry_bytes + allocated(record_bytes(key_bytes, true));
        let needed = (entry_bytes + (self.list.len() + 1) * LISTED) as u64;
        if needed > self.memory.bytes() {
            // A little ahead, so that not every row asks.
            let more = needed - self.memory.bytes();
            self.memory.grow(more.max(needed / 16))?;
        }
        self.entry_bytes = entry_bytes;
        let entry = RecordPtr::new_entry(columns, row.key(), row.ptr(), Stamp::at(begin));
        // SAFETY: just made.
        let prefix = prefix_of(unsafe { entry.get() }.key());
        self.list.push((prefix, entry));
        Ok(())
    }

    /// Short runs are sorted, then neighbours are merged: a step is never long.
    fn sort(&mut self) -> Result<(), PrepareError> {
        // SAFETY: the list owns the records.
        let key = |entry: &Listed| unsafe { entry.1.get() }.key();
        let order = |a: &Listed, b: &Listed| a.0.cmp(&b.0).then_with(|| key(a).cmp(key(b)));
        for run in self.list.chunks_mut(STEP) {
            governor::tick()?;
            run.sort_unstable_by(order);
        }
        let mut merged = Vec::with_capacity(self.list.len());
        let mut run = STEP;
        while run < self.list.len() {
            merged.clear();
            for pair in self.list.chunks(run * 2) {
                let (mut first, mut second) = pair.split_at(run.min(pair.len()));
                while let (Some(a), Some(b)) = (first.first(), second.first()) {
                    governor::tick()?;
                    let from = match order(a, b).is_le() {
                        true => &mut first,
                        false => &mut second,
                    };
                    merged.extend(from.split_off_first());
                }
                for rest in first.chunks(STEP).chain(second.chunks(STEP)) {
                    governor::tick()?;
                    merged.extend_from_slice(rest);
                }
            }
            std::mem::swap(&mut self.list, &mut merged);
            run *= 2;
        }
        Ok(())
    }

    /// Whether no two rows have the same key, in sorted entries; NULL is like nothing else.
    fn check_unique(&self, work: &Work<'_>) -> Result<(), PrepareError> {
        // The last that counts; where rows do not expire, the neighbour.
        let mut before: Option<Record<'_>> = None;
        for (_, entry) in &self.list {
            governor::tick()?;
            // SAFETY: the list owns the records.
            let entry = unsafe { entry.get() };
            if work.table.expiry().is_some() && self.of_row(work, entry, |row| work.table.has_expired(row, work.now)) {
                continue;
            }
            let is_same = before.is_some_and(|before| columns(before) == columns(entry));
            if is_same && !self.of_row(work, entry, |row| work.keys.has_null(work.table.row_layout(), row)) {
                let existing = entry.primary_key().to_vec();
                return Err(PrepareError::Duplicate { existing });
            }
            before = Some(entry);
        }
        Ok(())
    }

    fn of_row(&self, work: &Work<'_>, entry: Record<'_>, read: impl FnOnce(&[u8]) -> bool) -> bool {
        let found = work.table.get(entry.primary_key(), work.snapshot, read);
        found.expect("the entry was made of a row of this snapshot")
    }

    /// Builds the tree of sorted entries, which are its own from then on.
    fn build(&mut self) -> Result<(Tree, Reservation), PrepareError> {
        let mut records = Vec::with_capacity(self.list.len());
        for some in self.list.chunks(STEP) {
            governor::pause();
            records.extend(some.iter().map(|(_, record)| *record));
        }
        self.list = Vec::new();
        let built = build_while(TreeKind::Secondary, &records, governor::go_on);
        if let Err(stop) = governor::check() {
            let left = &records[built.records..];
            self.list.extend(left.iter().map(|record| (0, *record)));
            return Err(stop.into());
        }
        drop(records);
        let (tree, bytes) = (built.tree, (self.entry_bytes + built.bytes) as u64);
        if bytes > self.memory.bytes() {
            self.memory.grow(bytes - self.memory.bytes())?;
        }
        Ok((tree, self.memory.split_off(bytes)))
    }
}

fn columns(entry: Record<'_>) -> &[u8] {
    &entry.key()[..entry.key().len() - entry.primary_key().len()]
}

impl Drop for Entries {
    fn drop(&mut self) {
        for (_, record) in self.list.drain(..) {
            // SAFETY: nobody else has seen them, and they were made as entries.
            unsafe { record.free(true) };
        }
    }
}
