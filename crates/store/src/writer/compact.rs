//! Moving what lies in sparse pages of the allocator, so that these can be given back.
//!
//! After deletes here and there the pages of the allocator have a few blocks each, and all of them stay. A pass goes over all trees in key
//! order, step by step, and makes anew what lies in the pages that it was given ([`Sparse`]): versions, records and nodes. To readers a
//! moved version or record is like a replaced one: they go on with the old one, which is freed when they are gone.
//!
//! A record that waits for the collector stays where it is, as the queues refer to it: it has several versions, a tombstone, a pending stamp or
//! a past. So what is moved here is the plain case: a row with its one version, an entry that is alive.

#![allow(unsafe_code)]

use super::Writer;
use super::table::TableWriter;
use crate::memory::allocated;
use crate::record::{RecordPtr, record_bytes, version_bytes};
use crate::retired::Garbage;
use governor::pages::Sparse;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use types::TableId;

/// What moving costs, counted in records that are only looked at: an allocation and a copy; the search for an entry that refers to a row.
const MOVE_COST: usize = 4;
const ENTRY_COST: usize = 8;
/// As much is copied in the time of a look.
const BYTES_PER_LOOK: usize = 512;

/// After a pass what was moved is still to be freed, by epochs, which come in steps.
const SWEEPS: u32 = 16;

/// What compaction has done since the start.
#[derive(Debug, Default)]
pub struct Compactions {
    /// Passes over all tables that have ended.
    pub passes: AtomicU64,
    /// Versions and records that were moved, and their bytes.
    pub moved: AtomicU64,
    pub moved_bytes: AtomicU64,
}

/// A pass on its way.
pub(super) struct Pass {
    sparse: Sparse,
    tables: VecDeque<TableId>,
    place: Place,
    sweeps: u32,
}

/// Where in a table to go on.
struct Place {
    /// 0: the rows; the others: the indexes. Where an index was dropped meanwhile, some are passed over or seen twice, which does no harm.
    tree: usize,
    key: Vec<u8>,
}

impl Place {
    const START: Place = Place {
        tree: 0,
        key: Vec::new(),
    };
}

/// What one step may still do, and has done.
struct Step<'a> {
    sparse: &'a Sparse,
    /// Nobody outside of the trees refers to the rows' records.
    may_move_rows: bool,
    looks: usize,
    moved: u64,
    moved_bytes: u64,
}

impl Step<'_> {
    fn take(&mut self, looks: usize) {
        self.looks = self.looks.saturating_sub(looks);
    }

    fn has_moved(&mut self, bytes: usize) {
        self.take(MOVE_COST + bytes / BYTES_PER_LOOK);
        self.moved += 1;
        self.moved_bytes += bytes as u64;
    }
}

impl Writer {
    /// Begins to move what lies in sparse pages, unless that is already on its way.
    pub fn begin_compaction(&mut self, sparse: Sparse) {
        let tables = self.tables.keys().copied().collect();
        self.pass.get_or_insert(Pass {
            sparse,
            tables,
            place: Place::START,
            sweeps: SWEEPS,
        });
    }

    pub fn is_compacting(&self) -> bool {
        self.pass.is_some()
    }

    /// Goes on with it, for as long as it takes to look at `most` records. Returns whether there is more to do. Call it after publishing.
    pub fn compact(&mut self, most: usize) -> bool {
        let Some(mut pass) = self.pass.take() else { return false };
        let mut left = most;
        while left > 0
            && let Some(&id) = pass.tables.front()
        {
            if !self.compact_table(id, &mut pass, &mut left) {
                pass.tables.pop_front();
                pass.place = Place::START;
            }
        }
        if pass.tables.is_empty() {
            self.retired.sweep();
            pass.sweeps -= 1;
        }
        if pass.sweeps == 0 {
            governor::large::want_back();
            self.store.compactions.passes.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.pass = Some(pass);
        true
    }

    /// Whether there is more to do in the table.
    fn compact_table(&mut self, id: TableId, pass: &mut Pass, left: &mut usize) -> bool {
        let Some(table) = self.tables.get_mut(&id) else {
            return false;
        };
        let counters = Arc::clone(&table.table().counters);
        // Held until the trees are published: who pins the rows after that finds the new ones.
        let pins = counters.pins.lock();
        let mut step = Step {
            sparse: &pass.sparse,
            may_move_rows: *pins == 0,
            looks: *left,
            moved: 0,
            moved_bytes: 0,
        };
        let goes_on = table.compact(&mut pass.place, &mut step);
        *left = step.looks;
        let done = &self.store.compactions;
        done.moved.fetch_add(step.moved, Ordering::Relaxed);
        done.moved_bytes.fetch_add(step.moved_bytes, Ordering::Relaxed);
        if !std::mem::replace(&mut table.is_changed, true) {
            self.changed.push(id);
        }
        self.publish_trees();
        goes_on
    }
}

impl TableWriter {
    fn compact(&mut self, place: &mut Place, step: &mut Step<'_>) -> bool {
        while step.looks > 0 {
            let next = match place.tree {
                0 => self.compact_rows(&place.key, step),
                tree if tree <= self.indexes.len() => self.compact_entries(tree - 1, &place.key, step),
                _ => return false,
            };
            *place = match next {
                Some(key) => Place { key, ..*place },
                None => Place {
                    tree: place.tree + 1,
                    key: Vec::new(),
                },
            };
        }
        true
    }

    /// Goes over a leaf of the rows. Returns where to go on.
    fn compact_rows(&mut self, key: &[u8], step: &mut Step<'_>) -> Option<Vec<u8>> {
        let mut keys = std::mem::take(&mut self.new_keys);
        let (indexes, garbage, shape) = (&mut self.indexes, &mut self.garbage, &self.table.shape);
        let sparse = step.sparse;
        let next = self.primary.move_leaf(key, sparse, |row| {
            if step.looks == 0 {
                return ControlFlow::Break(());
            }
            step.take(1);
            // SAFETY: a primary record of the working tree, which this writer alone unlinks.
            let (record, head) = unsafe { (row.get(), row.get().head()) };
            let Some(bytes) = head.row().filter(|_| !record.is_queued()) else {
                return ControlFlow::Continue(None);
            };
            if sparse.has(head.address()) {
                // SAFETY: as above; it is the row's only version.
                unsafe { record.set_head(head.ptr().copy_to(sparse.to)) };
                garbage.push(Garbage::Version(head.ptr()));
                step.has_moved(allocated(version_bytes(bytes.len())));
            }
            if !step.may_move_rows || !sparse.has(record.address()) {
                return ControlFlow::Continue(None);
            }
            // SAFETY: as above.
            let copy = unsafe { row.copy_to(sparse.to, false) };
            for index in indexes.iter() {
                index.keys_of(shape, bytes, record.key(), &mut keys);
                for key in keys.iter() {
                    let entry = index.tree.find(key).expect("a row's entries are there");
                    // SAFETY: an index record of the working tree. Snapshots that see its past would keep more versions of the row than one.
                    unsafe { entry.set_row_ptr(copy) };
                }
                step.take(ENTRY_COST * keys.len());
            }
            garbage.push(Garbage::Row(row));
            step.has_moved(allocated(record_bytes(record.key().len(), false)));
            ControlFlow::Continue(Some(copy))
        });
        self.new_keys = keys;
        next
    }

    /// As [`compact_rows`](Self::compact_rows), of the entries of the index at a position.
    fn compact_entries(&mut self, at: usize, key: &[u8], step: &mut Step<'_>) -> Option<Vec<u8>> {
        let (index, garbage) = (&mut self.indexes[at], &mut self.garbage);
        let sparse = step.sparse;
        index.tree.move_leaf(key, sparse, |entry: RecordPtr| {
            if step.looks == 0 {
                return ControlFlow::Break(());
            }
            step.take(1);
            // SAFETY: an index record of the working tree.
            let record = unsafe { entry.get() };
            if !sparse.has(record.address()) || record.is_queued() {
                return ControlFlow::Continue(None);
            }
            garbage.push(Garbage::Entry(entry));
            step.has_moved(allocated(record_bytes(record.key().len(), true)));
            // SAFETY: as above.
            ControlFlow::Continue(Some(unsafe { entry.copy_to(sparse.to, true) }))
        })
    }
}
