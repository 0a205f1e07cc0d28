//! The leaves of the indexes: records, row versions and entry histories, each one allocation.
//!
//! ```text
//!   primary record                        version                        version
//!   ┌──────┬─────────┬───────┬─────┐      ┌───────┬──────┬─────┬─────┐   ┌───────┬──────┬─────┐
//!   │ head ┼ key len │ flags │ key │  ┌──▶│ begin │ next ┼ len │ row │ ┌▶│ begin │ null │ ... │
//!   └──┼───┴─────────┴───────┴─────┘  │   └───────┴───┼──┴─────┴─────┘ │ └───────┴──────┴─────┘
//!      └──────────────────────────────┘               └────────────────┘
//!   index record                                                  history
//!   ┌─────┬───────┬─────────┬───────────────┬──────────┐          ┌───────┬─────┬───────┐
//!   │ row │ state │ key len │ flags, suffix │ key + pk │          │ begin │ end │ older │
//!   └─────┴───────┴─────────┴───────────────┴──────────┘          └───────┴─────┴───────┘
//!     row: the primary record; state: since when the entry has been alive, or a pointer to its history
//! ```
//!
//! `begin` and `end` are [`Stamp`]s: commit timestamps, or, of a large transaction that is still on its way through the log, a
//! pointer to where its fate will be told ([`Fate`]). The writer replaces the pointer by the timestamp later.
//!
//! Beside that, a record's `head` or `state` is all that changes in place. It is written by the one writer and read by everybody, so that an
//! update touches neither the record's key nor the index. Whether an index entry is visible is known without touching the row.
//!
//! The types here are untyped pointers in thin wrappers. They are safe to copy; what they point to is freed only through
//! [`crossbeam_epoch`], after nothing reachable refers to it any more, so a reader who found one under a guard may use it
//! for as long as the guard lives. Functions that cannot be checked by the compiler are `unsafe` and say what they need.

#![allow(unsafe_code)]

use governor::alloc::allocate;
use governor::pages::Side;
use std::alloc::{Layout, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, Ordering};
use types::Timestamp;

/// The longest key that fits a record, in bytes; primary keys at the end of index keys count.
pub const MAX_KEY_BYTES: usize = (1 << 14) - 1;

/// What became of a large transaction, whose versions are in the store before it is decided.
#[derive(Debug)]
pub(crate) struct Fate(AtomicU64);

/// What a [`Fate`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Open,
    Aborted,
    Committed(Timestamp),
}

impl Fate {
    // Both are later than every snapshot: who asks whether something has happened yet needs no other answer.
    const OPEN: u64 = u64::MAX;
    const ABORTED: u64 = u64::MAX - 1;

    pub(crate) fn new() -> Arc<Fate> {
        Arc::new(Fate(AtomicU64::new(Fate::OPEN)))
    }

    /// Commits everything with this fate at once, for snapshots that are taken when `ts` is published.
    pub(crate) fn commit(&self, ts: Timestamp) {
        self.0.store(ts.0, Ordering::Release);
    }

    pub(crate) fn abort(&self) {
        self.0.store(Fate::ABORTED, Ordering::Release);
    }

    pub(crate) fn decision(&self) -> Decision {
        match self.0.load(Ordering::Acquire) {
            Fate::OPEN => Decision::Open,
            Fate::ABORTED => Decision::Aborted,
            ts => Decision::Committed(Timestamp(ts)),
        }
    }
}

/// When a version or an entry begins or ends: a commit timestamp, or the fate of the transaction that will have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

/// The second highest bit says that the others are a fate's address. No timestamp but [`Timestamp::MAX`] is so high, and that has the
/// highest bit as well.
const FATE: u64 = 1 << 62;

impl Stamp {
    /// Of something that goes on.
    pub(crate) const NEVER: Stamp = Stamp(u64::MAX);

    pub(crate) fn at(ts: Timestamp) -> Stamp {
        debug_assert!(ts == Timestamp::MAX || ts.0 < FATE, "timestamps are counters");
        Stamp(ts.0)
    }

    /// The fate must stay allocated until no record has the stamp any more and all guards of that moment are gone.
    pub(crate) fn of(fate: &Arc<Fate>) -> Stamp {
        let address = Arc::as_ptr(fate).expose_provenance() as u64;
        assert!(address < FATE, "addresses are far shorter");
        Stamp(FATE | address)
    }

    #[inline]
    pub(crate) fn is_pending(self) -> bool {
        self.0 >> 62 == 1
    }

    /// Whether it has come at `ts`.
    #[inline(always)]
    pub(crate) fn has_come(self, ts: Timestamp) -> bool {
        self.0 <= ts.0 || (self.is_pending() && self.when() <= ts)
    }

    /// The timestamp; of a fate that is open, or an abort, one later than all snapshots.
    #[inline]
    pub(crate) fn when(self) -> Timestamp {
        match self.is_pending() {
            false => Timestamp(self.0),
            true => self.when_decided(),
        }
    }

    #[cold]
    fn when_decided(self) -> Timestamp {
        // SAFETY: the stamp was read from a record under a guard, or by the writer; see `of`.
        Timestamp(unsafe { (*self.fate()).0.load(Ordering::Acquire) })
    }

    /// Of a stamp that is pending.
    pub(crate) fn fate(self) -> *const Fate {
        debug_assert!(self.is_pending());
        ptr::with_exposed_provenance((self.0 & !FATE) as usize)
    }

    /// `None`: the stamp is a timestamp.
    pub(crate) fn decision(self) -> Option<Decision> {
        // SAFETY: as in `when_decided`.
        self.is_pending().then(|| unsafe { (*self.fate()).decision() })
    }
}

#[repr(C)]
struct RecordHeader {
    word: AtomicPtr<()>,
    /// The highest bit: whether the record is filed under a moment of the past ([`PAST`]). The rest: length of the key.
    key_bytes: AtomicU16,
    /// The two high bits: in which collection queues the record is. The rest: length of the primary key at the end of an index
    /// key.
    flags: AtomicU16,
}

const KEY_OFFSET: usize = size_of::<AtomicPtr<()>>() + 4;
const ROW_POINTER_BYTES: usize = size_of::<AtomicPtr<RecordHeader>>();
/// In the queue of records to be looked at.
pub(crate) const READY: u16 = 1 << 15;
/// Filed under a snapshot that needs some of it.
pub(crate) const WAITING: u16 = 1 << 14;
/// Filed under the moment from which on nobody can read what was superseded in it; in the other word.
const PAST: u16 = 1 << 15;
// Timestamps and pointers share a word.
const _: () = assert!(size_of::<usize>() == 8);

/// A leaf entry of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Record<'g> {
    header: NonNull<RecordHeader>,
    alive: PhantomData<&'g ()>,
}

/// A record that the writer holds across batches; turned into a [`Record`] to look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct RecordPtr(NonNull<RecordHeader>);

// SAFETY: the pointee is only changed through atomics, and only by the one writer; freeing is deferred by epochs.
unsafe impl Send for RecordPtr {}
// SAFETY: as above.
unsafe impl Sync for RecordPtr {}

impl RecordPtr {
    /// # Safety
    /// The record must stay allocated for `'g`: found under a guard that lives so long, or owned by the writer.
    pub(crate) unsafe fn get<'g>(self) -> Record<'g> {
        Record {
            header: self.0,
            alive: PhantomData,
        }
    }

    fn allocate(key: &[&[u8]], suffix_bytes: usize, row: Option<RecordPtr>, word: *mut ()) -> RecordPtr {
        let key_bytes = key.iter().map(|part| part.len()).sum::<usize>();
        assert!(key_bytes <= MAX_KEY_BYTES, "key lengths are checked before");
        let layout = record_layout(key_bytes, row.is_some());
        // SAFETY: the layout has the row pointer, if any, the header and the key, and every write stays inside.
        unsafe {
            let start = allocate(Side::Usual, layout);
            if start.is_null() {
                handle_alloc_error(layout);
            }
            let mut header = start.cast::<RecordHeader>();
            if let Some(row) = row {
                start
                    .cast::<AtomicPtr<RecordHeader>>()
                    .write(AtomicPtr::new(row.0.as_ptr()));
                header = start.add(ROW_POINTER_BYTES).cast();
            }
            header.write(RecordHeader {
                word: AtomicPtr::new(word),
                key_bytes: AtomicU16::new(key_bytes as u16),
                flags: AtomicU16::new(suffix_bytes as u16),
            });
            let mut at = header.cast::<u8>().add(KEY_OFFSET);
            for part in key {
                ptr::copy_nonoverlapping(part.as_ptr(), at, part.len());
                at = at.add(part.len());
            }
            RecordPtr(NonNull::new_unchecked(header))
        }
    }

    /// A primary record whose newest version is `head`.
    pub(crate) fn new_primary(key: &[u8], head: VersionPtr) -> RecordPtr {
        RecordPtr::allocate(&[key], 0, None, head.0.as_ptr().cast())
    }

    /// An index record, alive since `begin`, of the row at `row`.
    pub(crate) fn new_entry(columns: &[u8], primary_key: &[u8], row: RecordPtr, begin: Stamp) -> RecordPtr {
        RecordPtr::allocate(
            &[columns, primary_key],
            primary_key.len(),
            Some(row),
            alive_since(begin),
        )
    }

    /// The same record on a side of the allocator. What its word points to is that of both.
    ///
    /// # Safety
    /// Only the writer may ask, of a record that it has in a tree; `is_entry` says what it was made as.
    pub(crate) unsafe fn copy_to(self, side: Side, is_entry: bool) -> RecordPtr {
        // SAFETY: the caller's: nobody writes to the record meanwhile, and it is as long as the layout says.
        unsafe {
            let key_bytes = self.get().key_bytes();
            let before = if is_entry { ROW_POINTER_BYTES } else { 0 };
            let start = self.0.as_ptr().cast::<u8>().sub(before);
            let copy = copy_block(start, record_layout(key_bytes, is_entry), side);
            RecordPtr(copy.add(before).cast())
        }
    }

    /// Frees the record alone, not what its word points to.
    ///
    /// # Safety
    /// Nobody can reach the record any more, and `is_entry` says what it was made as.
    pub(crate) unsafe fn free(self, is_entry: bool) {
        // SAFETY: allocated with this very layout, beginning at the row pointer if it is an entry.
        unsafe {
            let key_bytes = self.get().key_bytes();
            let start = self
                .0
                .as_ptr()
                .cast::<u8>()
                .sub(if is_entry { ROW_POINTER_BYTES } else { 0 });
            dealloc(start, record_layout(key_bytes, is_entry));
        }
    }
}

/// # Safety
/// The block has this layout, and nobody writes to it.
unsafe fn copy_block(block: *const u8, layout: Layout, side: Side) -> NonNull<u8> {
    // SAFETY: the caller's; no layout here is empty, and the blocks are different.
    unsafe {
        let copy = NonNull::new(allocate(side, layout)).unwrap_or_else(|| handle_alloc_error(layout));
        ptr::copy_nonoverlapping(block, copy.as_ptr(), layout.size());
        copy
    }
}

fn record_layout(key_bytes: usize, is_entry: bool) -> Layout {
    Layout::from_size_align(record_bytes(key_bytes, is_entry), align_of::<RecordHeader>()).expect("keys are short")
}

/// Bytes of a record's allocation.
pub(crate) fn record_bytes(key_bytes: usize, is_entry: bool) -> usize {
    let header_and_key = (KEY_OFFSET + key_bytes).max(size_of::<RecordHeader>());
    header_and_key + if is_entry { ROW_POINTER_BYTES } else { 0 }
}

impl<'g> Record<'g> {
    /// Where it lies.
    pub(crate) fn address(self) -> *const u8 {
        self.header.as_ptr().cast()
    }

    pub(crate) fn ptr(self) -> RecordPtr {
        RecordPtr(self.header)
    }

    pub(crate) fn key(self) -> &'g [u8] {
        // SAFETY: alive for 'g; length and key are never changed after creation.
        unsafe {
            let start = self.header.as_ptr().cast::<u8>().add(KEY_OFFSET);
            std::slice::from_raw_parts(start, self.key_bytes())
        }
    }

    #[inline(always)]
    fn key_bytes(self) -> usize {
        usize::from(self.key_word().load(Ordering::Relaxed) & !PAST)
    }

    #[inline(always)]
    fn key_word(self) -> &'g AtomicU16 {
        // SAFETY: alive for 'g.
        unsafe { &*ptr::addr_of!((*self.header.as_ptr()).key_bytes) }
    }

    /// The primary key at the end of an index record's key.
    pub(crate) fn primary_key(self) -> &'g [u8] {
        let key = self.key();
        &key[key.len() - usize::from(self.flags().load(Ordering::Relaxed) & !(READY | WAITING))..]
    }

    /// Whether the record is in that collection queue ([`READY`], [`WAITING`]); only the writer asks.
    pub(crate) fn is_in(self, queue: u16) -> bool {
        self.flags().load(Ordering::Relaxed) & queue != 0
    }

    pub(crate) fn enter(self, queue: u16) {
        self.flags().fetch_or(queue, Ordering::Relaxed);
    }

    pub(crate) fn leave(self, queue: u16) {
        self.flags().fetch_and(!queue, Ordering::Relaxed);
    }

    /// As [`is_in`](Self::is_in), of [`PAST`].
    pub(crate) fn is_past(self) -> bool {
        self.key_word().load(Ordering::Relaxed) & PAST != 0
    }

    pub(crate) fn enter_past(self) {
        self.key_word().fetch_or(PAST, Ordering::Relaxed);
    }

    pub(crate) fn leave_past(self) {
        self.key_word().fetch_and(!PAST, Ordering::Relaxed);
    }

    /// Whether the writer refers to it from a queue: then it is neither moved nor freed.
    pub(crate) fn is_queued(self) -> bool {
        self.is_in(READY | WAITING) || self.is_past()
    }

    /// Asks the processor to load the record, and nothing else.
    #[inline(always)]
    pub(crate) fn prefetch(self) {
        prefetch(self.header.as_ptr().cast());
    }

    /// Asks the processor to load what the record's word points to.
    #[inline(always)]
    pub(crate) fn prefetch_version(self) {
        prefetch(self.word().load(Ordering::Acquire).cast());
    }

    /// Asks the processor to load the beginning of the newest version's row, too. Of a primary record.
    #[inline(always)]
    pub(crate) fn prefetch_row(self) {
        let version = self.word().load(Ordering::Acquire).cast::<u8>();
        for line in 0..ROW_LINES {
            prefetch(version.wrapping_add(line * 64));
        }
    }

    #[inline]
    fn word(self) -> &'g AtomicPtr<()> {
        // SAFETY: alive for 'g.
        unsafe { &*ptr::addr_of!((*self.header.as_ptr()).word) }
    }

    fn flags(self) -> &'g AtomicU16 {
        // SAFETY: alive for 'g.
        unsafe { &*ptr::addr_of!((*self.header.as_ptr()).flags) }
    }

    // --- primary records ---

    /// The newest version, published or not.
    ///
    /// # Safety
    /// This is a primary record.
    #[inline]
    pub(crate) unsafe fn head(self) -> Version<'g> {
        let head =
            NonNull::new(self.word().load(Ordering::Acquire).cast()).expect("a primary record always has a version");
        Version {
            header: head,
            alive: PhantomData,
        }
    }

    /// The newest version that is not an aborted transaction's.
    ///
    /// # Safety
    /// This is a primary record.
    pub(crate) unsafe fn newest(self) -> Option<Version<'g>> {
        // SAFETY: the caller's.
        let head = unsafe { self.head() };
        match head.stamp().decision() {
            Some(Decision::Aborted) => head.next(),
            _ => Some(head),
        }
    }

    /// # Safety
    /// This is a primary record.
    pub(crate) unsafe fn set_head(self, head: VersionPtr) {
        self.word().store(head.0.as_ptr().cast(), Ordering::Release);
    }

    /// The version visible at `ts`, which may be a tombstone.
    ///
    /// # Safety
    /// This is a primary record.
    #[inline]
    pub(crate) unsafe fn version_at(self, ts: Timestamp) -> Option<Version<'g>> {
        // SAFETY: the caller's.
        let mut version = unsafe { self.head() };
        while !version.stamp().has_come(ts) {
            version = version.next()?;
        }
        Some(version)
    }

    // --- index records ---

    /// The primary record of the row. It is alive if the entry is visible to a registered snapshot.
    ///
    /// # Safety
    /// This is an index record.
    pub(crate) unsafe fn row_ptr(self) -> RecordPtr {
        // SAFETY: an index record has one.
        let row = unsafe { self.row_word() }.load(Ordering::Acquire);
        RecordPtr(NonNull::new(row).expect("an index record always has a row"))
    }

    /// Gives the entry, dead to all snapshots, another row to come alive with.
    ///
    /// # Safety
    /// This is an index record.
    pub(crate) unsafe fn set_row_ptr(self, row: RecordPtr) {
        // SAFETY: an index record has one.
        unsafe { self.row_word() }.store(row.0.as_ptr(), Ordering::Release);
    }

    /// # Safety
    /// This is an index record.
    unsafe fn row_word(self) -> &'g AtomicPtr<RecordHeader> {
        // SAFETY: lies in front of the header, in the same allocation, which the header's pointer covers.
        unsafe { &*self.header.as_ptr().cast::<AtomicPtr<RecordHeader>>().sub(1) }
    }

    /// Whether the entry exists at `ts`.
    ///
    /// # Safety
    /// This is an index record.
    #[inline]
    pub(crate) unsafe fn is_visible(self, ts: Timestamp) -> bool {
        match entry_state(self.word().load(Ordering::Acquire)) {
            EntryState::AliveSince(begin) => begin.has_come(ts),
            EntryState::History(mut history) => loop {
                // SAFETY: histories are freed by epochs, after being unlinked, like versions.
                let interval = unsafe { &*history.as_ptr() };
                if interval.begin().has_come(ts) {
                    return !interval.end().has_come(ts);
                }
                match NonNull::new(interval.older.load(Ordering::Acquire)) {
                    Some(older) => history = older,
                    None => return false,
                }
            },
        }
    }

    /// # Safety
    /// This is an index record.
    pub(crate) unsafe fn entry_state(self) -> EntryState {
        entry_state(self.word().load(Ordering::Acquire))
    }

    /// The pending stamp of the newest interval.
    ///
    /// # Safety
    /// This is an index record.
    pub(crate) unsafe fn pending_stamp(self) -> Option<Stamp> {
        // SAFETY: the caller's; histories are freed by epochs, after being unlinked.
        let stamps = match unsafe { self.entry_state() } {
            EntryState::AliveSince(begin) => [begin, Stamp::NEVER],
            EntryState::History(history) => unsafe { [history.as_ref().begin(), history.as_ref().end()] },
        };
        stamps.into_iter().find(|stamp| stamp.is_pending())
    }

    /// # Safety
    /// This is an index record.
    pub(crate) unsafe fn set_entry_state(self, state: EntryState) {
        let word = match state {
            EntryState::AliveSince(begin) => alive_since(begin),
            EntryState::History(history) => history.as_ptr().cast(),
        };
        self.word().store(word, Ordering::Release);
    }
}

/// What an index record's word says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryState {
    AliveSince(Stamp),
    History(NonNull<History>),
}

/// Stamps are tagged by the low bit, which no pointer to a [`History`] has.
fn alive_since(begin: Stamp) -> *mut () {
    assert!(begin.0 < 1 << 63, "timestamps are counters");
    ptr::without_provenance_mut((begin.0 << 1 | 1) as usize)
}

#[inline]
fn entry_state(word: *mut ()) -> EntryState {
    match word.addr() & 1 {
        1 => EntryState::AliveSince(Stamp(word.addr() as u64 >> 1)),
        _ => EntryState::History(NonNull::new(word.cast()).expect("an index record always has a state")),
    }
}

/// One interval of an index entry's life, `begin <= ts < end`, before which it may have lived already.
#[derive(Debug)]
pub(crate) struct History {
    begin: AtomicU64,
    /// [`Stamp::NEVER`]: alive.
    end: AtomicU64,
    pub(crate) older: AtomicPtr<History>,
}

impl History {
    pub(crate) fn allocate(begin: Stamp, end: Stamp, older: *mut History) -> NonNull<History> {
        NonNull::from(Box::leak(Box::new(History {
            begin: AtomicU64::new(begin.0),
            end: AtomicU64::new(end.0),
            older: AtomicPtr::new(older),
        })))
    }

    #[inline]
    pub(crate) fn begin(&self) -> Stamp {
        Stamp(self.begin.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn end(&self) -> Stamp {
        Stamp(self.end.load(Ordering::Relaxed))
    }

    /// Puts in the place of a pending stamp what it stands for.
    pub(crate) fn resolve_begin(&self, begin: Timestamp) {
        self.begin.store(begin.0, Ordering::Relaxed);
    }

    /// As [`resolve_begin`](Self::resolve_begin).
    pub(crate) fn resolve_end(&self, end: Stamp) {
        self.end.store(end.0, Ordering::Relaxed);
    }
}

#[repr(C)]
struct VersionHeader {
    begin: AtomicU64,
    next: AtomicPtr<VersionHeader>,
    /// [`TOMBSTONE`], or the length of the row that follows.
    row_bytes: u32,
}

const ROW_OFFSET: usize = 20;
const TOMBSTONE: u32 = u32::MAX;
/// The longest row, in bytes.
pub const MAX_ROW_BYTES: usize = u32::MAX as usize - 64;

/// A state of a row: since `begin`, these bytes, or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version<'g> {
    header: NonNull<VersionHeader>,
    alive: PhantomData<&'g ()>,
}

/// A version as the writer keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VersionPtr(NonNull<VersionHeader>);

// SAFETY: the pointee is only changed through atomics, and only by the one writer; freeing is deferred by epochs.
unsafe impl Send for VersionPtr {}

impl VersionPtr {
    /// A version in front of `next`. `row: None` is a tombstone.
    pub(crate) fn new(begin: Stamp, row: Option<&[u8]>, next: Option<VersionPtr>) -> VersionPtr {
        let bytes = row.map_or(0, <[u8]>::len);
        assert!(bytes <= MAX_ROW_BYTES, "row lengths are checked before");
        let layout = version_layout(bytes);
        // SAFETY: the layout holds the header and the row behind it.
        unsafe {
            let start = allocate(Side::Usual, layout);
            let header = NonNull::new(start.cast::<VersionHeader>()).unwrap_or_else(|| handle_alloc_error(layout));
            let next = next.map_or(ptr::null_mut(), |next| next.0.as_ptr());
            ptr::addr_of_mut!((*header.as_ptr()).begin).write(AtomicU64::new(begin.0));
            ptr::addr_of_mut!((*header.as_ptr()).next).write(AtomicPtr::new(next));
            ptr::addr_of_mut!((*header.as_ptr()).row_bytes).write(row.map_or(TOMBSTONE, |row| row.len() as u32));
            if let Some(row) = row {
                ptr::copy_nonoverlapping(row.as_ptr(), start.add(ROW_OFFSET), row.len());
            }
            VersionPtr(header)
        }
    }

    /// The same version on a side of the allocator.
    ///
    /// # Safety
    /// Only the writer may ask, of a version that it has in a tree.
    pub(crate) unsafe fn copy_to(self, side: Side) -> VersionPtr {
        // SAFETY: the caller's: nobody writes to the version meanwhile, and it is as long as the layout says.
        unsafe {
            let row_bytes = self.get().row().map_or(0, <[u8]>::len);
            VersionPtr(copy_block(self.0.as_ptr().cast(), version_layout(row_bytes), side).cast())
        }
    }

    /// # Safety
    /// The version must stay allocated for `'g`.
    pub(crate) unsafe fn get<'g>(self) -> Version<'g> {
        Version {
            header: self.0,
            alive: PhantomData,
        }
    }

    /// # Safety
    /// Nobody can reach the version any more.
    pub(crate) unsafe fn free(self) {
        // SAFETY: the caller's; allocated with this very layout.
        unsafe {
            let row_bytes = self.get().row().map_or(0, <[u8]>::len);
            dealloc(self.0.as_ptr().cast(), version_layout(row_bytes));
        }
    }
}

fn version_layout(row_bytes: usize) -> Layout {
    Layout::from_size_align(version_bytes(row_bytes), align_of::<VersionHeader>())
        .expect("row lengths are checked before")
}

/// Bytes of a version's allocation.
pub(crate) fn version_bytes(row_bytes: usize) -> usize {
    (ROW_OFFSET + row_bytes).max(size_of::<VersionHeader>())
}

impl<'g> Version<'g> {
    /// Where it lies.
    pub(crate) fn address(self) -> *const u8 {
        self.header.as_ptr().cast()
    }

    pub(crate) fn ptr(self) -> VersionPtr {
        VersionPtr(self.header)
    }

    /// Since when the row is so; see [`Stamp::when`].
    #[inline]
    pub(crate) fn begin(self) -> Timestamp {
        self.stamp().when()
    }

    #[inline(always)]
    pub(crate) fn stamp(self) -> Stamp {
        Stamp(self.begin_word().load(Ordering::Relaxed))
    }

    /// Puts in the place of a pending stamp what it stands for.
    pub(crate) fn resolve(self, begin: Timestamp) {
        self.begin_word().store(begin.0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn begin_word(self) -> &'g AtomicU64 {
        // SAFETY: alive for 'g.
        unsafe { &*ptr::addr_of!((*self.header.as_ptr()).begin) }
    }

    /// The row, or `None` for a tombstone.
    #[inline]
    pub(crate) fn row(self) -> Option<&'g [u8]> {
        // SAFETY: alive for 'g; never changed after creation; the row lies behind the header.
        unsafe {
            let bytes = (*self.header.as_ptr()).row_bytes;
            let start = self.header.as_ptr().cast::<u8>().add(ROW_OFFSET);
            (bytes != TOMBSTONE).then(|| std::slice::from_raw_parts(start, bytes as usize))
        }
    }

    #[inline]
    pub(crate) fn next(self) -> Option<Version<'g>> {
        NonNull::new(self.next_word().load(Ordering::Acquire)).map(|header| Version {
            header,
            alive: PhantomData,
        })
    }

    /// Only the writer; the versions between become unreachable for readers who come later.
    pub(crate) fn set_next(self, next: Option<Version<'_>>) {
        let next = next.map_or(ptr::null_mut(), |next| next.header.as_ptr());
        self.next_word().store(next, Ordering::Release);
    }

    #[inline]
    fn next_word(self) -> &'g AtomicPtr<VersionHeader> {
        // SAFETY: alive for 'g.
        unsafe { &*ptr::addr_of!((*self.header.as_ptr()).next) }
    }
}

/// Lines of a row that are loaded ahead. The processor goes on by itself where more of them are read.
const ROW_LINES: usize = 4;

/// Asks the processor to load a cache line.
#[inline(always)]
pub(crate) fn prefetch(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch has no effect but on the caches, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

#[cfg(test)]
mod tests;
