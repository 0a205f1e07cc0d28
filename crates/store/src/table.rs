//! Reading a table: by key, by range of any index, newest or as of a snapshot, and estimates for the optimizer.
//!
//! Reads take no lock and wait for nobody. Each pins an epoch guard for its own length, so callbacks must be short and must not
//! wait; long scans go in chunks, with a [`Cursor`] that remembers where to go on.

#![allow(unsafe_code)]

use crate::btree::{Leaves, Tree, TreeKind};
use crate::keys::IndexKeys;
use crate::range::{Cursor, Direction, KeyRange};
use crate::record::{Fate, MAX_KEY_BYTES, MAX_ROW_BYTES, Record, RecordPtr};
use crate::snapshot::{Snapshot, Snapshots};
use crate::spec::{IndexSpec, TableSpec};
use crate::statistics::{self, Statistics};
use crossbeam_epoch::{self as epoch, Guard};
use parking_lot::Mutex;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use types::fulltext::TextKeys;
use types::{EntryKeys, Expiry, IndexId, KeyLayout, RowLayout, TableId, Timestamp};

/// How many entries ahead a scan asks the processor to load.
const PREFETCH_RECORDS: usize = 8;
const PREFETCH_VERSIONS: usize = 4;

/// A table's rows and indexes, as its definition was when the handle was taken.
pub struct Table {
    pub(crate) shape: Shape,
    pub(crate) created_at: Timestamp,
    pub(crate) counters: Arc<Counters>,
    pub(crate) primary: Arc<Tree>,
    /// In the order of [`TableSpec::indexes`].
    pub(crate) indexes: Vec<Arc<Index>>,
    pub(crate) snapshots: Arc<Snapshots>,
    /// The timestamp that gave the rows other columns, or put other rows in their place, from which on they must be read through another
    /// handle. Shared by all handles with the same columns.
    pub(crate) readable_until: Arc<AtomicU64>,
    /// The handle with the columns before, for whoever comes with a definition from before.
    pub(crate) before: Option<Arc<Table>>,
}

/// A definition with its layouts.
pub(crate) struct Shape {
    pub(crate) spec: TableSpec,
    pub(crate) rows: RowLayout,
    pub(crate) primary: Option<KeyLayout>,
}

impl Shape {
    pub(crate) fn new(spec: TableSpec) -> Shape {
        Shape {
            rows: spec.row_layout(),
            primary: spec.primary_layout(),
            spec,
        }
    }
}

/// A secondary index.
pub(crate) struct Index {
    pub(crate) id: IndexId,
    pub(crate) keys: IndexKeys,
    pub(crate) created_at: Timestamp,
    pub(crate) tree: Arc<Tree>,
    /// No longer kept up: its entries may refer to rows that are gone.
    pub(crate) is_dropped: Arc<AtomicBool>,
    statistics: Statistics,
}

/// What changes beside the rows; shared by all handles of a table.
pub(crate) struct Counters {
    pub(crate) rows: AtomicU64,
    pub(crate) next_auto_increment: AtomicU64,
    /// How often the counter above was set anew.
    auto_increment_resets: AtomicU64,
    /// The same as far as the log, or the checkpoint that the table is from, knows it.
    logged_auto_increment: AtomicU64,
    next_row_id: AtomicU64,
    /// The timestamp of the newest change of a row, set before the change can be seen.
    changed_at: AtomicU64,
    primary_statistics: Statistics,
    /// What stamps in the rows refer to that nobody will resolve any more.
    fates: Mutex<Vec<Arc<Fate>>>,
    /// How many refer to primary records from outside of the trees. The writer holds it while it moves records.
    pub(crate) pins: Mutex<u32>,
}

/// While it lives, the table's primary records stay where they are.
pub(crate) struct Pinned(Arc<Counters>);

impl Pinned {
    pub(crate) fn new(table: &Table) -> Pinned {
        *table.counters.pins.lock() += 1;
        Pinned(Arc::clone(&table.counters))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        *self.0.pins.lock() -= 1;
    }
}

impl Counters {
    /// A row is about to change.
    pub(crate) fn note_change(&self, ts: Timestamp) {
        self.changed_at.store(ts.0, Ordering::Release);
    }

    /// Fewer, where the number is negative.
    pub(crate) fn add_rows(&self, more: i64) {
        self.rows.fetch_add(more as u64, Ordering::Relaxed);
    }

    pub(crate) fn new(rows: u64, next_auto_increment: u64) -> Counters {
        Counters {
            rows: AtomicU64::new(rows),
            next_auto_increment: AtomicU64::new(next_auto_increment),
            auto_increment_resets: AtomicU64::new(0),
            logged_auto_increment: AtomicU64::new(next_auto_increment),
            next_row_id: AtomicU64::new(0),
            changed_at: AtomicU64::new(0),
            primary_statistics: Statistics::default(),
            fates: Mutex::default(),
            pins: Mutex::default(),
        }
    }

    /// Keeps these for as long as somebody has the table.
    pub(crate) fn keep(&self, fates: impl Iterator<Item = Arc<Fate>>) {
        self.fates.lock().extend(fates);
    }
}

/// What a scan shows of one index entry.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    key: &'a [u8],
    primary_key: &'a [u8],
    row: RowOf<'a>,
}

#[derive(Clone, Copy)]
enum RowOf<'a> {
    Known(&'a [u8]),
    /// To be found in the primary record, as of the timestamp.
    Behind(Record<'a>, Timestamp),
}

impl<'a> Entry<'a> {
    /// An entry of somebody else's making, such as a transaction's own write.
    pub fn new(key: &'a [u8], primary_key: &'a [u8], row: &'a [u8]) -> Entry<'a> {
        Entry {
            key,
            primary_key,
            row: RowOf::Known(row),
        }
    }

    /// The whole key: of a secondary index, its columns followed by the primary key.
    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    pub fn primary_key(&self) -> &'a [u8] {
        self.primary_key
    }

    /// The row as of the scan's snapshot. A scan of a secondary index that can do without it does not touch the row.
    pub fn row(&self) -> &'a [u8] {
        match self.row {
            RowOf::Known(row) => row,
            RowOf::Behind(record, ts) => {
                // SAFETY: the row pointer of an index record leads to a primary record.
                let version = unsafe { record.version_at(ts) };
                version
                    .and_then(|version| version.row())
                    .expect("a visible index entry has a visible row")
            }
        }
    }
}

impl Table {
    /// An empty table.
    pub(crate) fn new(spec: TableSpec, created_at: Timestamp, snapshots: Arc<Snapshots>) -> Table {
        let index = |index: &IndexSpec| {
            Arc::new(Index::new(
                index.id,
                spec.index_keys(index),
                created_at,
                Arc::new(Tree::new(TreeKind::Secondary)),
            ))
        };
        Table {
            created_at,
            counters: Arc::new(Counters::new(0, 1)),
            primary: Arc::new(Tree::new(TreeKind::Primary)),
            indexes: spec.indexes.iter().map(index).collect(),
            snapshots,
            shape: Shape::new(spec),
            readable_until: Table::readable_for_ever(),
            before: None,
        }
    }

    pub(crate) fn readable_for_ever() -> Arc<AtomicU64> {
        Arc::new(AtomicU64::new(u64::MAX))
    }

    pub fn id(&self) -> TableId {
        self.shape.spec.id
    }

    /// A snapshot of the store that the table is in.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshots.take()
    }

    pub fn spec(&self) -> &TableSpec {
        &self.shape.spec
    }

    /// When the rows expire; `None`: never. What is expired is stored all the same: whoever reads asks [`has_expired`](Self::has_expired).
    #[inline]
    pub fn expiry(&self) -> Option<&Expiry> {
        self.shape.spec.expiry.as_ref()
    }

    /// Whether a row of the table has expired by a moment, in microseconds since 1970.
    #[inline]
    pub fn has_expired(&self, row: &[u8], now: i64) -> bool {
        match &self.shape.spec.expiry {
            None => false,
            Some(rule) => rule.of_row(&self.shape.rows, row).is_some_and(|end| end <= now),
        }
    }

    pub fn row_layout(&self) -> &RowLayout {
        &self.shape.rows
    }

    /// `None` for a table with hidden row ids.
    pub fn primary_layout(&self) -> Option<&KeyLayout> {
        self.shape.primary.as_ref()
    }

    /// The layout of the entries of a secondary index, without the primary key behind.
    pub fn index_layout(&self, index: IndexId) -> Option<&KeyLayout> {
        self.index(index).map(|index| index.keys.layout())
    }

    /// What makes the words of a full-text index; `None` for other indexes.
    pub fn text_keys(&self, index: IndexId) -> Option<&TextKeys> {
        match &self.index(index)?.keys {
            IndexKeys::Words(words) => Some(words),
            IndexKeys::Columns(_) | IndexKeys::Elements(_) => None,
        }
    }

    /// The timestamp that made the table. Older snapshots must not read it.
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// Whether a snapshot may read the index ([`IndexId::PRIMARY`]: the table) through this handle: not where it is older than what
    /// it would read, and not where it shows rows with columns that this handle does not know. Of a local table nobody has an
    /// older snapshot.
    pub fn is_readable_at(&self, index: IndexId, snapshot: Timestamp) -> bool {
        if self.id().is_local() {
            return true;
        }
        let since = match index {
            IndexId::PRIMARY => Some(self.created_at),
            _ => self.index(index).map(|index| index.created_at.max(self.created_at)),
        };
        since.is_some_and(|since| since <= snapshot) && snapshot.0 < self.readable_until.load(Ordering::Acquire)
    }

    /// Whether this handle shows the newest rows. Otherwise they are read through another one: the columns have changed, or this replica has
    /// taken over another one's checkpoint. Who has just locked a row has to ask, or it goes on with what the row was before.
    #[inline]
    pub fn is_current(&self) -> bool {
        self.readable_until.load(Ordering::Acquire) == u64::MAX
    }

    /// Other rows take the place of those that this handle shows, which are as of the timestamps before `ts`.
    pub(crate) fn supersede(&self, ts: Timestamp) {
        self.readable_until.fetch_min(ts.0, Ordering::AcqRel);
    }

    /// Appends the entry key that the row has in a secondary index over columns, primary key included. Returns whether one of the
    /// index's columns is NULL (such a key never violates uniqueness).
    pub fn index_key(&self, index: IndexId, row: &[u8], primary_key: &[u8], out: &mut Vec<u8>) -> bool {
        let index = self.index(index).expect("the caller took the index from this table");
        let IndexKeys::Columns(layout) = &index.keys else {
            panic!("a row has many entries in a full-text index, or one of elements")
        };
        let has_null = layout.encode_row(&self.shape.rows, row, out);
        out.extend_from_slice(primary_key);
        has_null
    }

    /// Whether the rows may have several entries, or none, in a secondary index.
    pub fn has_many_entries(&self, index: IndexId) -> bool {
        let index = self.index(index).expect("the caller took the index from this table");
        !matches!(index.keys, IndexKeys::Columns(_))
    }

    /// The keys that no other row may have in a unique index, without the primary key: none where one of the columns is NULL.
    pub fn unique_keys(&self, index: IndexId, row: &[u8], keys: &mut EntryKeys) {
        let index = self.index(index).expect("the caller took the index from this table");
        keys.clear();
        match &index.keys {
            IndexKeys::Columns(layout) => {
                let mut has_null = false;
                keys.push(|key| has_null = layout.encode_row(&self.shape.rows, row, key));
                if has_null {
                    keys.clear();
                }
            }
            several if several.has_null(&self.shape.rows, row) => {}
            several => several.of_row(&self.shape.rows, row, &[], keys),
        }
    }

    /// Whether the row has this entry in a secondary index.
    pub fn has_entry(&self, index: IndexId, row: &[u8], primary_key: &[u8], entry_key: &[u8]) -> bool {
        let mut keys = EntryKeys::default();
        self.index_keys(index, row, primary_key, &mut keys);
        keys.holds(entry_key)
    }

    /// All entry keys that the row has in a secondary index, in order, primary key included.
    pub fn index_keys(&self, index: IndexId, row: &[u8], primary_key: &[u8], keys: &mut EntryKeys) {
        let index = self.index(index).expect("the caller took the index from this table");
        index.keys.of_row(&self.shape.rows, row, primary_key, keys);
    }

    /// Whether two states of a row surely have the same entries in a secondary index.
    pub fn has_same_entries(&self, index: IndexId, old: &[u8], new: &[u8]) -> bool {
        let index = self.index(index).expect("the caller took the index from this table");
        index.keys.are_same(&self.shape.rows, old, new)
    }

    /// The length of the index's longest key; `None` where rows may have keys that do not fit.
    pub(crate) fn most_key_bytes(&self, index: IndexId) -> Option<usize> {
        self.index(index)?.keys.most_bytes()
    }

    /// Whether the row, under this key, is within the store's limits: its own length, and that of its keys.
    pub fn fits(&self, key: &[u8], row: &[u8]) -> bool {
        if key.len() > MAX_KEY_BYTES || row.len() > MAX_ROW_BYTES {
            return false;
        }
        let mut indexes = self.indexes.iter();
        indexes.all(|index| index.keys.fits(&self.shape.rows, row, key))
    }

    /// What a row will take in the store, in bytes: an estimate from above.
    pub fn footprint(&self, key: &[u8], row: &[u8]) -> usize {
        // A node entry in a half empty node, a record and a history for each index; a key is seldom longer than its columns.
        let per_entry = 160 + key.len();
        let entries = match row.is_empty() {
            // Of a row that is deleted nothing is added.
            true => self.indexes.len(),
            false => {
                let most = |index: &Arc<Index>| index.keys.most_entries(&self.shape.rows, row);
                self.indexes.iter().map(most).sum()
            }
        };
        row.len() * 2 + key.len() + 96 + per_entry * (1 + entries)
    }

    // --- reading rows ---

    /// The row under a primary key as of the snapshot.
    #[inline]
    pub fn get<R>(&self, key: &[u8], snapshot: &Snapshot, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.check(snapshot);
        let guard = epoch::pin();
        let record = self.primary.find(key, &guard)?;
        // SAFETY: found in the primary tree.
        let version = unsafe { record.version_at(snapshot.timestamp()) }?;
        version.row().map(read)
    }

    /// Has the processor load the rows of these keys, before they are read one by one.
    pub fn fetch_ahead(&self, keys: &[&[u8]]) {
        self.primary.fetch_ahead(keys, &epoch::pin());
    }

    /// Whether nobody has changed a row since a snapshot, which so shows the newest rows. Rows that are being applied right now count
    /// as changed.
    pub fn is_unchanged_since(&self, snapshot: Timestamp) -> bool {
        self.counters.changed_at.load(Ordering::Acquire) <= snapshot.0
    }

    /// The newest published state of a primary key: since when it is so, and the row unless it was deleted. `None`: nobody
    /// remembers such a row. It may be out of date at once unless the caller has the row locked.
    pub fn newest<R>(&self, key: &[u8], read: impl FnOnce(Timestamp, Option<&[u8]>) -> R) -> Option<R> {
        loop {
            let published = self.snapshots.published();
            let guard = epoch::pin();
            let record = self.primary.find(key, &guard)?;
            // SAFETY: found in the primary tree.
            if let Some(version) = unsafe { record.version_at(published) } {
                return Some(read(version.begin(), version.row()));
            }
            // Either the row is newer than `published`, or its version of that time was collected because there are newer ones.
            if self.snapshots.published() == published {
                return None;
            }
        }
    }

    /// Shows the entries of the cursor's range that are visible to the snapshot, in its direction, until `visit` breaks (the
    /// entry it was shown counts as visited) or about `most` entries were looked at. The cursor is left after the last entry
    /// visited, and finished when there are no more. `index` is [`IndexId::PRIMARY`] or a secondary index of the table.
    pub fn scan(
        &self,
        index: IndexId,
        cursor: &mut Cursor,
        snapshot: &Snapshot,
        most: usize,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) {
        self.check(snapshot);
        let ts = snapshot.timestamp();
        let guard = epoch::pin();
        if index == IndexId::PRIMARY {
            walk(&self.primary, cursor, &guard, most, |record| {
                // SAFETY: found in the primary tree.
                match unsafe { record.version_at(ts) }.and_then(|version| version.row()) {
                    Some(row) => visit(Entry {
                        key: record.key(),
                        primary_key: record.key(),
                        row: RowOf::Known(row),
                    }),
                    None => ControlFlow::Continue(()),
                }
            });
        } else {
            walk(&self.readable(index, &guard).tree, cursor, &guard, most, |record| {
                // SAFETY: found in an index tree. The entry is visible to a registered snapshot, therefore so is its row, whose
                // record is not freed before.
                let row = unsafe {
                    if !record.is_visible(ts) {
                        return ControlFlow::Continue(());
                    }
                    RowOf::Behind(record.row_ptr().get(), ts)
                };
                visit(Entry {
                    key: record.key(),
                    primary_key: record.primary_key(),
                    row,
                })
            });
        }
    }

    /// How many entries of the cursor's range are visible to the snapshot, in chunks like [`scan`](Self::scan). Rows are not touched if
    /// the index is a secondary one.
    pub fn count(&self, index: IndexId, cursor: &mut Cursor, snapshot: &Snapshot, most: usize) -> usize {
        let mut count = 0;
        self.scan(index, cursor, snapshot, most, |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        count
    }

    /// The greatest primary key, of a row that may be deleted already.
    pub fn last_key(&self) -> Option<Vec<u8>> {
        let guard = epoch::pin();
        let entries = self.primary.entries(&guard);
        Some(self.primary.nth(entries.checked_sub(1)?, &guard)?.key().to_vec())
    }

    // --- counters ---

    /// Takes the next `count` automatic ids of the sequence `offset`, `offset + step`, `offset + 2 * step`… Returns the first and what
    /// comes behind the last.
    pub fn take_auto_increments(&self, count: u64, step: u64, offset: u64) -> (u64, u64) {
        let take = |next: u64| {
            let first = match step {
                0 | 1 => next,
                _ => offset.saturating_add(next.saturating_sub(offset).div_ceil(step).saturating_mul(step)),
            };
            (first, first.saturating_add(count.saturating_mul(step.max(1))))
        };
        let before = self
            .counters
            .next_auto_increment
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| Some(take(next).1))
            .expect("the counter is always moved");
        take(before)
    }

    /// Automatic ids will be at least `next`.
    pub fn raise_auto_increment(&self, next: u64) {
        self.counters.next_auto_increment.fetch_max(next, Ordering::Relaxed);
    }

    /// The next automatic id is `next`. Nobody else may use the table meanwhile.
    pub fn set_auto_increment(&self, next: u64) {
        self.counters.next_auto_increment.store(next, Ordering::Relaxed);
        self.counters.auto_increment_resets.fetch_add(1, Ordering::Relaxed);
    }

    /// How often [`set_auto_increment`](Self::set_auto_increment) was called: ids taken before are not to be used.
    pub fn auto_increment_resets(&self) -> u64 {
        self.counters.auto_increment_resets.load(Ordering::Relaxed)
    }

    /// The next automatic id; starts at 1.
    pub fn next_auto_increment(&self) -> u64 {
        self.counters.next_auto_increment.load(Ordering::Relaxed)
    }

    /// The log has it that automatic ids are at least `next`.
    pub(crate) fn apply_raised_auto_increment(&self, next: u64) {
        self.counters.logged_auto_increment.fetch_max(next, Ordering::Relaxed);
        self.raise_auto_increment(next);
    }

    /// The log has it that the next automatic id is `next`.
    pub(crate) fn apply_auto_increment(&self, next: u64) {
        self.counters.logged_auto_increment.store(next, Ordering::Relaxed);
        self.set_auto_increment(next);
    }

    /// The next automatic id, where the log does not know of it: all that were given behind the last in the log were rolled back, or may
    /// yet be.
    pub fn unlogged_auto_increment(&self) -> Option<u64> {
        let next = self.next_auto_increment();
        (next > self.counters.logged_auto_increment.load(Ordering::Relaxed)).then_some(next)
    }

    /// A hidden row id that no row has.
    pub fn take_row_id(&self) -> u64 {
        self.take_row_ids(1)
    }

    /// Hidden row ids that no row has, in a row. Returns the first.
    pub fn take_row_ids(&self, count: u64) -> u64 {
        self.row_ids().fetch_add(count, Ordering::Relaxed)
    }

    /// Hidden row ids will be at least `next`: those before belong to rows that are not there yet.
    pub fn raise_row_ids(&self, next: u64) {
        self.row_ids().fetch_max(next, Ordering::Relaxed);
    }

    fn row_ids(&self) -> &AtomicU64 {
        let next = &self.counters.next_row_id;
        if next.load(Ordering::Acquire) == 0 {
            let last = self
                .last_key()
                .and_then(|key| key.try_into().ok())
                .map_or(0, u64::from_be_bytes);
            // Whoever is first wins; ids are only taken from a counter that was set.
            let _ = next.compare_exchange(0, last + 1, Ordering::AcqRel, Ordering::Acquire);
        }
        next
    }

    /// Others have given ids meanwhile: what is next follows from the rows. Nobody may have one that is not among them.
    pub fn forget_row_ids(&self) {
        self.counters.next_row_id.store(0, Ordering::Release);
    }

    // --- estimates ---

    /// How many rows there are, not counting commits under way.
    pub fn estimated_rows(&self) -> u64 {
        self.counters.rows.load(Ordering::Relaxed)
    }

    /// How many entries of the index lie in the range, counting those that are dead but not yet collected. Two descents.
    pub fn estimated_entries(&self, index: IndexId, range: &KeyRange) -> u64 {
        let guard = epoch::pin();
        let tree = match index {
            IndexId::PRIMARY => &self.primary,
            _ => &self.readable(index, &guard).tree,
        };
        let to = match &range.to {
            Some(to) => tree.rank(to, &guard),
            None => tree.entries(&guard),
        };
        to.saturating_sub(tree.rank(&range.from, &guard))
    }

    /// About how many different values the first 1, 2, … columns of the index take together. Sampled, and remembered until the
    /// index has changed much.
    pub fn estimated_distinct(&self, index: IndexId) -> Vec<u64> {
        let guard = epoch::pin();
        match index {
            IndexId::PRIMARY => match &self.shape.primary {
                Some(layout) => self.counters.primary_statistics.distinct(&self.primary, layout, &guard),
                None => vec![self.primary.entries(&guard)],
            },
            _ => {
                let index = self.readable(index, &guard);
                index.statistics.distinct(&index.tree, index.keys.layout(), &guard)
            }
        }
    }

    /// About how many bytes the index takes, the primary one with its rows; without what is older than the newest version. Sampled.
    pub fn estimated_bytes(&self, index: IndexId) -> u64 {
        let guard = epoch::pin();
        match index {
            IndexId::PRIMARY => statistics::estimated_bytes(&self.primary, &guard),
            _ => statistics::estimated_bytes(&self.readable(index, &guard).tree, &guard),
        }
    }

    // --- inside ---

    /// A handle with other indexes over the same rows.
    pub(crate) fn redefined(&self, spec: TableSpec, indexes: Vec<Arc<Index>>) -> Table {
        Table {
            shape: Shape::new(spec),
            created_at: self.created_at,
            counters: Arc::clone(&self.counters),
            primary: Arc::clone(&self.primary),
            indexes,
            snapshots: Arc::clone(&self.snapshots),
            readable_until: Arc::clone(&self.readable_until),
            before: self.before.clone(),
        }
    }

    /// A handle with wider columns over the same rows, or with others, through which alone snapshots from `ts` on read.
    pub(crate) fn with_columns(&self, spec: TableSpec, ts: Timestamp) -> Table {
        self.readable_until.store(ts.0, Ordering::Release);
        let keys = spec.indexes.iter().map(|index| spec.index_keys(index));
        let indexes = self.indexes.iter().zip(keys);
        let wider = Table {
            readable_until: Table::readable_for_ever(),
            indexes: indexes.map(|(index, keys)| Arc::new(index.with_keys(keys))).collect(),
            ..self.redefined(spec, Vec::new())
        };
        if wider.spec().generations == self.spec().generations {
            return wider;
        }
        let before = Table {
            before: None,
            ..self.redefined(self.spec().clone(), self.indexes.clone())
        };
        Table {
            created_at: ts,
            before: Some(Arc::new(before)),
            ..wider
        }
    }

    /// A snapshot of another store would protect nothing here.
    #[inline]
    fn check(&self, snapshot: &Snapshot) {
        assert!(snapshot.is_of(&self.snapshots), "the snapshot is of another store");
    }

    fn index(&self, id: IndexId) -> Option<&Arc<Index>> {
        self.indexes.iter().find(|index| index.id == id)
    }

    /// The index, which must not have been dropped: readers hold the table's lock, DDL holds it exclusively. Should it be dropped
    /// while the guard is held, what it refers to stays.
    fn readable(&self, id: IndexId, _guard: &Guard) -> &Index {
        let index = self.index(id).expect("the caller took the index from this table");
        assert!(
            !index.is_dropped.load(Ordering::SeqCst),
            "index {id} of table {} was dropped under a reader",
            self.id()
        );
        index
    }
}

impl Index {
    pub(crate) fn new(id: IndexId, keys: IndexKeys, created_at: Timestamp, tree: Arc<Tree>) -> Index {
        Index {
            id,
            keys,
            created_at,
            tree,
            is_dropped: Arc::default(),
            statistics: Statistics::default(),
        }
    }

    /// The same entries, in a table whose columns have moved.
    pub(crate) fn with_keys(&self, keys: IndexKeys) -> Index {
        Index {
            is_dropped: Arc::clone(&self.is_dropped),
            ..Index::new(self.id, keys, self.created_at, Arc::clone(&self.tree))
        }
    }
}

/// Shows the records of a cursor's range, alive or not, and moves the cursor past the last one shown.
#[inline]
pub(crate) fn walk(
    tree: &Tree,
    cursor: &mut Cursor,
    guard: &Guard,
    most: usize,
    mut show: impl FnMut(Record<'_>) -> ControlFlow<()>,
) {
    if cursor.is_finished() {
        return;
    }
    let direction = cursor.direction();
    let mut looked_at = 0;
    let mut stopped_at = None;
    'leaves: for leaf in Leaves::new(tree, cursor.rest(), direction, guard) {
        for position in 0..leaf.len() {
            let record = nth_record(leaf, position, direction).expect("within the leaf");
            if let Some(ahead) = nth_record(leaf, position + PREFETCH_RECORDS, direction) {
                ahead.prefetch();
            }
            if tree.kind() == TreeKind::Primary
                && let Some(ahead) = nth_record(leaf, position + PREFETCH_VERSIONS, direction)
            {
                ahead.prefetch_version();
            }
            looked_at += 1;
            if show(record).is_break() || looked_at >= most {
                stopped_at = Some(record);
                break 'leaves;
            }
        }
    }
    match stopped_at {
        Some(record) => cursor.advance_past(record.key()),
        None => cursor.finish(),
    }
}

/// The record at a position counted in the walk's direction.
#[inline(always)]
fn nth_record<'g>(leaf: &'g [RecordPtr], position: usize, direction: Direction) -> Option<Record<'g>> {
    let at = match direction {
        Direction::Forward => position,
        Direction::Backward => leaf.len().wrapping_sub(position + 1),
    };
    // SAFETY: the leaf was found under a guard that the walk holds.
    leaf.get(at).map(|record| unsafe { record.get() })
}
