//! Collecting versions and entries that no snapshot needs.
//!
//! Every record that got a second version, a tombstone or an end is looked at once it is published: all of it that nobody can
//! see is unlinked, also from the middle of a chain, so that chains have about as many versions as there are snapshots in use,
//! however old the oldest is. If something must stay, the record is filed under the newest snapshot that needs it, and looked
//! at again when that one is gone, or when the row changes once more; so no snapshot, however long it stalls, makes the writer
//! look at all that was changed meanwhile again and again. Where the past is kept for everybody, it is filed under a moment of that
//! ([`past`](super::past)).

#![allow(unsafe_code)]

use super::Writer;
use super::past::{Kept, PastQueue};
use super::table::TableWriter;
use crate::record::{EntryState, History, READY, Record, RecordPtr, Stamp, Version, WAITING};
use crate::snapshot::Active;
use std::collections::{BTreeMap, VecDeque};
use std::ptr;
use std::sync::atomic::Ordering;
use types::{IndexId, Timestamp};

/// A record with something to collect; it is not freed while it is in a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queued {
    pub(super) index: IndexId,
    record: RecordPtr,
}

impl Queued {
    pub(super) fn new(index: IndexId, record: Record<'_>) -> Queued {
        Queued {
            index,
            record: record.ptr(),
        }
    }

    /// The record, which is not freed while it is in a queue.
    pub(super) fn record<'g>(self) -> Record<'g> {
        // SAFETY: see above.
        unsafe { self.record.get() }
    }
}

/// The records of one table that have, or will have, something to collect; each at most once in `ready` and once in `waiting`.
#[derive(Default)]
pub(super) struct Queue {
    /// To be looked at.
    ready: VecDeque<Queued>,
    /// As well, in blocks: what large transactions have changed that are decided now.
    pub(super) decided: VecDeque<Vec<Queued>>,
    /// By the snapshot that needs some of it.
    waiting: BTreeMap<Timestamp, Vec<Queued>>,
    /// What is superseded in them can still be read by whoever asks for it.
    pub(super) past: PastQueue,
}

impl Queue {
    pub(super) fn add(&mut self, index: IndexId, record: Record<'_>) {
        if !record.is_in(READY) && !record.is_past() {
            record.enter(READY);
            self.ready.push_back(Queued::new(index, record));
        }
    }

    /// The next record to be looked at.
    fn next(&mut self) -> Option<Queued> {
        self.ready.pop_front().or_else(|| {
            loop {
                match self.decided.front_mut()?.pop() {
                    Some(queued) => return Some(queued),
                    None => self.decided.pop_front(),
                };
            }
        })
    }

    /// Takes the records of an index out. Returns those that were to be looked at.
    pub(super) fn forget(&mut self, index: IndexId) -> Vec<Queued> {
        self.past.forget(index);
        let mut forgotten = Vec::new();
        for block in &mut self.decided {
            forgotten.extend(block.extract_if(.., |queued| queued.index == index));
        }
        self.waiting
            .values_mut()
            .for_each(|queued| queued.retain(|queued| queued.index != index));
        self.ready.retain(|queued| {
            let stays = queued.index != index;
            if !stays {
                forgotten.push(*queued);
            }
            stays
        });
        forgotten
    }

    /// Nothing but the past, of which the writer knows when it is due.
    fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.waiting.is_empty() && self.decided.is_empty() && !self.past.has_due()
    }

    fn file(&mut self, snapshot: Timestamp, queued: Queued, record: Record<'_>) {
        if !record.is_in(WAITING) {
            record.enter(WAITING);
            self.waiting.entry(snapshot).or_default().push(queued);
        }
    }

    /// Readies what waited for snapshots that are gone.
    fn wake(&mut self, active: &Active) {
        let gone: Vec<_> = self
            .waiting
            .keys()
            .copied()
            .filter(|&snapshot| !active.reads(snapshot))
            .collect();
        for queued in gone.iter().flat_map(|snapshot| self.waiting.remove(snapshot)).flatten() {
            let record = queued.record();
            record.leave(WAITING);
            if !record.is_in(READY) {
                record.enter(READY);
                self.ready.push_back(queued);
            }
        }
    }
}

impl Writer {
    /// Frees versions and entries that no snapshot needs, looking at `most` records. Returns whether it stopped for that reason.
    /// Call it after publishing, and again while it returns true and there is nothing better to do.
    pub fn collect(&mut self, most: usize) -> bool {
        self.move_on();
        if let Some(active) = self.store.snapshots.active() {
            self.active = active;
        }
        while let Some(&(moment, id)) = self.past_due.first()
            && self.active.is_over(moment)
        {
            self.past_due.pop_first();
            if let Some(table) = self.tables.get_mut(&id)
                && !std::mem::replace(&mut table.is_uncollected, true)
            {
                self.uncollected.push_back(id);
            }
        }
        self.dropped.retain(|table| std::sync::Arc::strong_count(table) > 1);
        let mut left = most;
        for _ in 0..self.uncollected.len() {
            let Some(id) = self.uncollected.pop_front() else { break };
            let Some(table) = self.tables.get_mut(&id) else {
                continue;
            };
            if !std::mem::replace(&mut table.is_changed, true) {
                self.changed.push(id);
            }
            table.collect(&self.active, &mut left);
            table.is_uncollected = !table.queue.is_empty();
            if table.is_uncollected {
                self.uncollected.push_back(id);
            }
            if let Some(moment) = table.queue.past.first() {
                self.past_due.insert((moment, id));
            }
            if left == 0 {
                break;
            }
        }
        self.publish_trees();
        self.is_behind = left == 0;
        self.is_behind
    }

    /// What was visible at `ts`, and since, is kept for whoever asks for it ([`snapshot_at`](crate::Store::snapshot_at)), as far as it has not been given up.
    /// [`Timestamp::MAX`]: nothing.
    pub fn keep_from(&mut self, ts: Timestamp) {
        self.kept_from = ts;
    }

    /// Where the past begins now. Of what takes too much room a part is given up, and as much again when that has been collected.
    fn move_on(&mut self) {
        let snapshots = &self.store.snapshots;
        let (published, oldest) = (snapshots.published(), snapshots.oldest());
        let mut from = self.kept_from.min(published).max(oldest);
        if !self.is_behind && from < published {
            let part = self.store.past().to_give_up(self.store.memory());
            from.0 += part.map_or(0, |part| (published.0 - from.0).div_ceil(part));
        }
        if from > oldest {
            snapshots.forget_before(from);
        }
    }
}

impl TableWriter {
    fn collect(&mut self, active: &Active, left: &mut usize) {
        self.queue.wake(active);
        self.queue.past.wake(active);
        while *left > 0
            && let Some(kept) = self.queue.past.next()
        {
            *left -= 1;
            self.collect_past(kept, active, left);
        }
        while *left > 0
            && let Some(queued) = self.queue.next()
        {
            *left -= 1;
            let record = queued.record();
            let at = (queued.index != IndexId::PRIMARY).then(|| self.position(queued.index));
            // SAFETY: a record of the working tree, and the queue says of which index.
            let resolved = unsafe {
                match at {
                    None => self.resolve_row(record),
                    Some(at) => self.resolve_entry(at, record),
                }
            };
            if let Err(stamp) = resolved {
                self.park(stamp, queued);
                continue;
            }
            record.leave(READY);
            if record.is_past() {
                // It is looked at when its moment comes.
                continue;
            }
            // SAFETY: the queue says in which index it is.
            let needed_by = unsafe {
                match at {
                    None => self.collect_versions(record, active),
                    Some(at) => self.collect_history(at, record, active),
                }
            };
            if record.is_past() {
                continue;
            }
            if let Some(snapshot) = needed_by {
                self.queue.file(snapshot, queued, record);
            }
        }
    }

    /// Unlinks a row's superseded versions, and the record if nothing but a tombstone is left. Returns the newest snapshot that needs
    /// something that will have to go one day.
    ///
    /// # Safety
    /// A primary record of the working tree.
    unsafe fn collect_versions(&mut self, record: Record<'_>, active: &Active) -> Option<Timestamp> {
        // SAFETY: the caller's; versions that are unlinked here are freed after the next publication.
        let head = unsafe { record.head() };
        if head.next().is_some() && active.keeps(head.begin()) {
            let queued = Queued::new(IndexId::PRIMARY, record);
            let mark = Some(head.ptr());
            self.queue
                .past
                .file(active, head.begin(), record, Kept { queued, mark });
            return None;
        }
        let needed_by = self.collect_behind(head, active, &mut { usize::MAX });
        if needed_by.is_none() && head.row().is_none() && !record.is_queued() {
            // That a row is not there can be known without a record, but not before everybody knows that it is not there.
            if head.begin() > active.published() {
                return Some(active.published());
            }
            self.retire_version(head.ptr());
            self.retire_row(record);
        }
        needed_by
    }

    /// Unlinks what nobody can see behind a version of a row, and stops when that was as much as is left to do. Returns the newest snapshot
    /// that needs something of it.
    fn collect_behind(&mut self, version: Version<'_>, active: &Active, left: &mut usize) -> Option<Timestamp> {
        let mut needed_by = None;
        let mut newer = version;
        while *left > 0
            && let Some(version) = newer.next()
        {
            match active.newest_reader(version.begin(), newer.begin()) {
                Some(snapshot) => {
                    needed_by = needed_by.max(Some(snapshot));
                    newer = version;
                }
                None => {
                    newer.set_next(version.next());
                    self.retire_superseded(version.ptr());
                    *left -= 1;
                }
            }
        }
        needed_by
    }

    /// Frees what was kept of a record until a moment that has come.
    fn collect_past(&mut self, kept: Kept, active: &Active, left: &mut usize) {
        let (index, record) = (kept.queued.index, kept.queued.record());
        let needed_by = match kept.mark {
            Some(mark) => {
                // SAFETY: a version of a record that is filed is not freed while nobody has looked at what hangs behind it.
                let mark = unsafe { mark.get() };
                let needed_by = self.collect_behind(mark, active, left);
                if *left == 0 {
                    return self.queue.past.put_back(kept);
                }
                // SAFETY: a primary record of the working tree.
                let head = unsafe { record.head() };
                let is_past = !head.stamp().is_pending() && head.begin() <= active.oldest();
                if is_past && head != mark {
                    // It has not changed for so long that all the rest goes, too.
                    let mark = Some(head.ptr());
                    return self.queue.past.put_back(Kept { mark, ..kept });
                }
                needed_by
            }
            None => None,
        };
        record.leave_past();
        if let Some(snapshot) = needed_by {
            self.queue.file(snapshot, kept.queued, record);
        }
        // What has come since is looked at as if it had come now. An undecided transaction's is looked at when that is decided.
        self.queue.add(index, record);
    }

    /// Unlinks the past intervals of an entry of the index at a position, and the entry if it is dead.
    ///
    /// # Safety
    /// A record of the index's working tree.
    unsafe fn collect_history(&mut self, at: usize, record: Record<'_>, active: &Active) -> Option<Timestamp> {
        // SAFETY: the caller's; histories that are unlinked here are freed after the next publication.
        unsafe {
            let EntryState::History(newest) = record.entry_state() else {
                return None;
            };
            if let Some(end) = superseded_at(newest).filter(|end| active.keeps(*end)) {
                let queued = Queued::new(self.indexes[at].index.id, record);
                self.queue.past.file(active, end, record, Kept { queued, mark: None });
                return None;
            }
            let mut needed_by = None;
            let mut kept: Option<ptr::NonNull<History>> = None;
            let mut next = Some(newest);
            while let Some(this) = next {
                let interval = this.as_ref();
                next = ptr::NonNull::new(interval.older.load(Ordering::Relaxed));
                let is_alive = interval.end() == Stamp::NEVER;
                let reader = active
                    .newest_reader(interval.begin().when(), interval.end().when())
                    .filter(|_| !is_alive);
                if is_alive || reader.is_some() {
                    needed_by = needed_by.max(reader);
                    kept = Some(this);
                    continue;
                }
                match (kept, next) {
                    (Some(kept), _) => kept
                        .as_ref()
                        .older
                        .store(interval.older.load(Ordering::Relaxed), Ordering::Release),
                    (None, Some(older)) => record.set_entry_state(EntryState::History(older)),
                    // Filed under a snapshot that does not need it after all: there it will be found.
                    (None, None) if record.is_queued() => return None,
                    (None, None) => {
                        self.retire_history(at, this);
                        self.retire_entry(at, record);
                        return None;
                    }
                }
                self.retire_history(at, this);
            }
            if needed_by.is_none() {
                // Only the interval that goes on is left.
                let alive = kept.expect("an entry without intervals was retired");
                record.set_entry_state(EntryState::AliveSince(alive.as_ref().begin()));
                self.retire_history(at, alive);
            }
            needed_by
        }
    }
}

/// When the newest interval of an entry that is over was.
///
/// # Safety
/// The history of a record of the index's working tree.
unsafe fn superseded_at(newest: ptr::NonNull<History>) -> Option<Timestamp> {
    // SAFETY: the caller's.
    unsafe {
        let interval = newest.as_ref();
        match interval.end() {
            Stamp::NEVER => {
                ptr::NonNull::new(interval.older.load(Ordering::Relaxed)).map(|older| older.as_ref().end().when())
            }
            end => Some(end.when()),
        }
    }
}
