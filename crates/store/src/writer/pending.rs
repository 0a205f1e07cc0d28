//! Large transactions, whose rows are put into the store chunk by chunk before it is decided what becomes of them.
//!
//! ```text
//!   chunk ──▶ versions and entries with a pending stamp ──▶ commit: the fate gets its timestamp, and all of them have it
//!             (nobody sees them)                       └──▶ abort: nobody will ever see them
//!                                                            later, in steps: timestamps take the places of the stamps,
//!                                                            what was aborted is taken out
//! ```
//!
//! A pending stamp is only ever on a row's newest version and in an entry's newest interval: nobody changes what an undecided
//! transaction has changed ([`Writer::check`] sees to that), and who changes what a decided one has changed resolves it first. A record
//! with such a stamp is [`READY`], so that it is not freed: it waits in the collection's queue, or in the list of its transaction.

#![allow(unsafe_code)]

use super::collect::Queued;
use super::table::{TableWriter, allocated_version};
use super::{ApplyError, CheckError, Fitting, Writer};
use crate::memory::allocated;
use crate::record::{Decision, EntryState, Fate, History, READY, Record, Stamp, Version, VersionPtr, version_bytes};
use crate::retired::Garbage;
use crate::write_set::WriteOp;
use std::ptr;
use std::sync::Arc;
use types::{IndexId, TableId, Timestamp};

/// Records are listed in blocks: no long list is ever copied.
const BLOCK: usize = 4096;

/// A large transaction that is not decided yet. Where it is never decided, nobody sees what it did.
pub struct Undecided {
    fate: Arc<Fate>,
    tables: Vec<TableId>,
}

/// What one table has of a large transaction.
pub(super) struct Pending {
    fate: Arc<Fate>,
    /// How many of its stamps are in records.
    stamps: usize,
    /// Rows it adds.
    pub(super) rows: i64,
    records: Vec<Vec<Queued>>,
}

impl Writer {
    /// A large transaction.
    pub fn begin(&self) -> Undecided {
        Undecided {
            fate: Fate::new(),
            tables: Vec::new(),
        }
    }

    /// Applies a part of a large transaction, which [`check_chunk`](Self::check_chunk) has just found to fit. An error is a broken
    /// invariant, as of [`apply_fitting`](Self::apply_fitting).
    pub fn apply_chunk(&mut self, of: &mut Undecided, fitting: Fitting<'_>) -> Result<(), CheckError> {
        let stamp = Stamp::of(&of.fate);
        for op in fitting.ops {
            let (id, key, row) = match op? {
                WriteOp::Put { table, key, row } => (table, key, Some(row)),
                WriteOp::Delete { table, key } => (table, key, None),
                _ => return Err(ApplyError::BadChunk("not a change of a row").into()),
            };
            if of.tables.last() != Some(&id) && !of.tables.contains(&id) {
                of.tables.push(id);
            }
            let table = self.changing(id)?;
            table.begin(&of.fate);
            match row {
                Some(row) if !table.put(stamp, key, row) => return Err(ApplyError::TooLong(id).into()),
                Some(_) => {}
                None => table.delete(stamp, key),
            }
        }
        Ok(())
    }

    /// Commits a large transaction at the timestamp that was applied last. Takes no time for its rows.
    pub fn commit(&mut self, transaction: Undecided) {
        let ts = self.newest;
        for &id in &transaction.tables {
            if let Ok(table) = self.changing(id) {
                table.note_commit(ts, &transaction.fate);
            }
        }
        transaction.fate.commit(ts);
        self.decided(&transaction);
    }

    /// Takes back what a large transaction has done, in the steps of [`collect`](Self::collect).
    pub fn abort(&mut self, transaction: Undecided) {
        transaction.fate.abort();
        self.decided(&transaction);
    }

    fn decided(&mut self, transaction: &Undecided) {
        for &id in &transaction.tables {
            if let Ok(table) = self.changing(id) {
                table.decided(&transaction.fate);
            }
        }
    }
}

impl TableWriter {
    /// The table gets stamps of this fate.
    fn begin(&mut self, fate: &Arc<Fate>) {
        if !self.pending.iter().any(|pending| Arc::ptr_eq(&pending.fate, fate)) {
            self.pending.push(Pending {
                fate: Arc::clone(fate),
                stamps: 0,
                rows: 0,
                records: Vec::new(),
            });
        }
    }

    pub(super) fn pending_of(&mut self, stamp: Stamp) -> &mut Pending {
        let fate = stamp.fate();
        let pending = self
            .pending
            .iter_mut()
            .find(|pending| Arc::as_ptr(&pending.fate) == fate);
        pending.expect("a table knows whose stamps it has")
    }

    /// Whether a transaction that is not decided has changed rows.
    pub(super) fn has_undecided(&self) -> bool {
        self.pending
            .iter()
            .any(|pending| pending.fate.decision() == Decision::Open)
    }

    /// Whether a transaction that is not decided has changed this row.
    pub(super) fn is_undecided(&self, key: &[u8]) -> bool {
        self.has_undecided()
            && self.primary.find(key).is_some_and(|record| {
                // SAFETY: a primary record of the working tree.
                unsafe { record.head() }.stamp().decision() == Some(Decision::Open)
            })
    }

    /// A record has got a pending stamp.
    pub(super) fn stamped(&mut self, stamp: Stamp, index: IndexId, record: Record<'_>) {
        self.pending_of(stamp).stamps += 1;
        if !record.is_in(READY) {
            record.enter(READY);
            self.park(stamp, Queued::new(index, record));
        }
    }

    /// Puts a record, which is [`READY`], where it waits for the decision.
    pub(super) fn park(&mut self, stamp: Stamp, queued: Queued) {
        let records = &mut self.pending_of(stamp).records;
        match records.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(queued),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(queued);
                records.push(block);
            }
        }
    }

    /// A pending stamp is gone.
    pub(super) fn unstamped(&mut self, stamp: Stamp) {
        self.pending_of(stamp).stamps -= 1;
        self.forget_resolved();
    }

    /// Lets fates go that no record refers to any more.
    fn forget_resolved(&mut self) {
        let is_resolved = |pending: &mut Pending| pending.stamps == 0 && pending.fate.decision() != Decision::Open;
        for resolved in self.pending.extract_if(.., is_resolved) {
            self.garbage.push(Garbage::Fate(Arc::into_raw(resolved.fate)));
        }
    }

    /// No record of the index waits any more. Returns those that did, each once.
    pub(super) fn take_queued(&mut self, index: IndexId) -> Vec<Queued> {
        let mut taken = self.queue.forget(index);
        for block in self.pending.iter_mut().flat_map(|pending| &mut pending.records) {
            taken.extend(block.extract_if(.., |queued| queued.index == index));
        }
        taken
    }

    fn note_commit(&mut self, ts: Timestamp, fate: &Arc<Fate>) {
        let pending = self.pending.iter().find(|pending| Arc::ptr_eq(&pending.fate, fate));
        if let Some(pending) = pending {
            self.table().counters.note_change(ts);
            self.table().counters.add_rows(pending.rows);
        }
    }

    fn decided(&mut self, fate: &Arc<Fate>) {
        let pending = self.pending.iter_mut().find(|pending| Arc::ptr_eq(&pending.fate, fate));
        if let Some(pending) = pending {
            self.queue.decided.extend(std::mem::take(&mut pending.records));
        }
        self.forget_resolved();
    }

    // --- resolving ---

    /// Resolves the row's newest version, if that is decided; else says whose it is.
    ///
    /// # Safety
    /// A primary record of the working tree.
    pub(super) unsafe fn resolve_row(&mut self, record: Record<'_>) -> Result<(), Stamp> {
        // SAFETY: the caller's.
        let head = unsafe { record.head() };
        let stamp = head.stamp();
        match stamp.decision() {
            None => return Ok(()),
            Some(Decision::Open) => return Err(stamp),
            Some(Decision::Committed(ts)) => head.resolve(ts),
            Some(Decision::Aborted) => {
                let before = head.next().map(Version::ptr);
                if let Some(before) = before {
                    // SAFETY: the row's newest version again.
                    self.past_bytes.add(-allocated_version(unsafe { before.get() }));
                }
                let before = before.unwrap_or_else(|| {
                    // There has never been such a row.
                    self.row_bytes.add(allocated(version_bytes(0)) as i64);
                    VersionPtr::new(Stamp::at(Timestamp::ZERO), None, None)
                });
                // SAFETY: the caller's.
                unsafe { record.set_head(before) };
                self.retire_version(head.ptr());
            }
        }
        self.unstamped(stamp);
        Ok(())
    }

    /// As [`resolve_row`](Self::resolve_row), of an entry of the index at a position.
    ///
    /// # Safety
    /// A record of an index's working tree.
    pub(super) unsafe fn resolve_entry(&mut self, at: usize, record: Record<'_>) -> Result<(), Stamp> {
        // SAFETY: the caller's.
        let Some(stamp) = (unsafe { record.pending_stamp() }) else {
            return Ok(());
        };
        let committed = match stamp.decision() {
            None | Some(Decision::Open) => return Err(stamp),
            Some(Decision::Committed(ts)) => Some(ts),
            Some(Decision::Aborted) => None,
        };
        // SAFETY: the caller's; histories are freed after the next publication at the earliest.
        unsafe {
            match (record.entry_state(), committed) {
                (EntryState::AliveSince(_), Some(ts)) => {
                    record.set_entry_state(EntryState::AliveSince(Stamp::at(ts)));
                }
                (EntryState::AliveSince(_), None) => {
                    // It has never lived.
                    let zero = Stamp::at(Timestamp::ZERO);
                    let history = History::allocate(zero, zero, ptr::null_mut());
                    record.set_entry_state(EntryState::History(history));
                    self.add_history(at);
                    self.count_dead(at, record, 1);
                }
                (EntryState::History(newest), committed) => {
                    let interval = newest.as_ref();
                    match (interval.begin().is_pending(), committed) {
                        (true, Some(ts)) => interval.resolve_begin(ts),
                        (true, None) => {
                            let older = interval.older.load(std::sync::atomic::Ordering::Relaxed);
                            let older = ptr::NonNull::new(older).expect("an entry that lives again has lived before");
                            record.set_entry_state(EntryState::History(older));
                            self.retire_history(at, newest);
                            self.count_dead(at, record, 1);
                        }
                        (false, Some(ts)) => interval.resolve_end(Stamp::at(ts)),
                        (false, None) => {
                            interval.resolve_end(Stamp::NEVER);
                            self.count_dead(at, record, -1);
                        }
                    }
                }
            }
        }
        self.unstamped(stamp);
        Ok(())
    }

    /// The row's newest version, resolved. The row is not an undecided transaction's.
    ///
    /// # Safety
    /// A primary record of the working tree.
    pub(super) unsafe fn resolved_head<'g>(&mut self, record: Record<'g>) -> Version<'g> {
        // SAFETY: the caller's.
        unsafe {
            self.resolve_row(record).expect("nobody changes an undecided row");
            record.head()
        }
    }

    /// As [`resolved_head`](Self::resolved_head), of an entry of the index at a position.
    ///
    /// # Safety
    /// A record of an index's working tree.
    pub(super) unsafe fn resolved_entry(&mut self, at: usize, record: Record<'_>) -> EntryState {
        // SAFETY: the caller's.
        unsafe {
            self.resolve_entry(at, record).expect("nobody changes an undecided row");
            record.entry_state()
        }
    }
}

impl Drop for TableWriter {
    /// Readers may have the table for longer than the writer, with stamps in it.
    fn drop(&mut self) {
        let fates = self.pending.drain(..).map(|pending| pending.fate);
        self.table.counters.keep(fates);
    }
}
