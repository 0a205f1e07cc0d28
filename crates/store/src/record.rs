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
//! A record's `head` or `state` is all that changes in place. It is written by the one writer and read by everybody, so that an
//! update touches neither the record's key nor the index. Whether an index entry is visible is known without touching the row.
//!
//! The types here are untyped pointers in thin wrappers. They are safe to copy; what they point to is freed only through
//! [`crossbeam_epoch`], after nothing reachable refers to it any more, so a reader who found one under a guard may use it
//! for as long as the guard lives. Functions that cannot be checked by the compiler are `unsafe` and say what they need.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU16, Ordering};
use types::Timestamp;

/// The longest key that fits a record, in bytes; primary keys at the end of index keys count.
pub const MAX_KEY_BYTES: usize = (1 << 14) - 1;

#[repr(C)]
struct RecordHeader {
    word: AtomicPtr<()>,
    key_bytes: u16,
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
            let start = alloc(layout);
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
                key_bytes: key_bytes as u16,
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
    pub(crate) fn new_entry(columns: &[u8], primary_key: &[u8], row: RecordPtr, begin: Timestamp) -> RecordPtr {
        RecordPtr::allocate(
            &[columns, primary_key],
            primary_key.len(),
            Some(row),
            alive_since(begin),
        )
    }

    /// Frees the record alone, not what its word points to.
    ///
    /// # Safety
    /// Nobody can reach the record any more, and `is_entry` says what it was made as.
    pub(crate) unsafe fn free(self, is_entry: bool) {
        // SAFETY: allocated with this very layout, beginning at the row pointer if it is an entry.
        unsafe {
            let key_bytes = usize::from((*self.0.as_ptr()).key_bytes);
            let start = self
                .0
                .as_ptr()
                .cast::<u8>()
                .sub(if is_entry { ROW_POINTER_BYTES } else { 0 });
            dealloc(start, record_layout(key_bytes, is_entry));
        }
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
    pub(crate) fn ptr(self) -> RecordPtr {
        RecordPtr(self.header)
    }

    pub(crate) fn key(self) -> &'g [u8] {
        // SAFETY: alive for 'g; length and key are never changed after creation.
        unsafe {
            let key_bytes = usize::from((*self.header.as_ptr()).key_bytes);
            std::slice::from_raw_parts(self.header.as_ptr().cast::<u8>().add(KEY_OFFSET), key_bytes)
        }
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
        while version.begin() > ts {
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
            EntryState::AliveSince(begin) => begin <= ts,
            EntryState::History(mut history) => loop {
                // SAFETY: histories are freed by epochs, after being unlinked, like versions.
                let interval = unsafe { &*history.as_ptr() };
                if interval.begin <= ts {
                    return ts < interval.end;
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
    AliveSince(Timestamp),
    History(NonNull<History>),
}

/// Timestamps are tagged by the low bit, which no pointer to a [`History`] has.
fn alive_since(begin: Timestamp) -> *mut () {
    assert!(begin.0 < 1 << 62, "timestamps are counters");
    ptr::without_provenance_mut((begin.0 << 1 | 1) as usize)
}

#[inline]
fn entry_state(word: *mut ()) -> EntryState {
    match word.addr() & 1 {
        1 => EntryState::AliveSince(Timestamp(word.addr() as u64 >> 1)),
        _ => EntryState::History(NonNull::new(word.cast()).expect("an index record always has a state")),
    }
}

/// One interval of an index entry's life, `begin <= ts < end`, before which it may have lived already.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) begin: Timestamp,
    /// [`Timestamp::MAX`]: alive.
    pub(crate) end: Timestamp,
    pub(crate) older: AtomicPtr<History>,
}

impl History {
    pub(crate) fn allocate(begin: Timestamp, end: Timestamp, older: *mut History) -> NonNull<History> {
        NonNull::from(Box::leak(Box::new(History {
            begin,
            end,
            older: AtomicPtr::new(older),
        })))
    }
}

#[repr(C)]
struct VersionHeader {
    begin: Timestamp,
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
    pub(crate) fn new(begin: Timestamp, row: Option<&[u8]>, next: Option<VersionPtr>) -> VersionPtr {
        let bytes = row.map_or(0, <[u8]>::len);
        assert!(bytes <= MAX_ROW_BYTES, "row lengths are checked before");
        let layout = version_layout(bytes);
        // SAFETY: the layout holds the header and the row behind it.
        unsafe {
            let start = alloc(layout);
            let header = NonNull::new(start.cast::<VersionHeader>()).unwrap_or_else(|| handle_alloc_error(layout));
            let next = next.map_or(ptr::null_mut(), |next| next.0.as_ptr());
            ptr::addr_of_mut!((*header.as_ptr()).begin).write(begin);
            ptr::addr_of_mut!((*header.as_ptr()).next).write(AtomicPtr::new(next));
            ptr::addr_of_mut!((*header.as_ptr()).row_bytes).write(row.map_or(TOMBSTONE, |row| row.len() as u32));
            if let Some(row) = row {
                ptr::copy_nonoverlapping(row.as_ptr(), start.add(ROW_OFFSET), row.len());
            }
            VersionPtr(header)
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
    pub(crate) fn ptr(self) -> VersionPtr {
        VersionPtr(self.header)
    }

    #[inline]
    pub(crate) fn begin(self) -> Timestamp {
        // SAFETY: alive for 'g; never changed after creation.
        unsafe { (*self.header.as_ptr()).begin }
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
mod tests {
    use super::*;

    #[test]
    fn a_primary_record_shows_the_version_of_a_moment() {
        let v1 = VersionPtr::new(Timestamp(5), Some(b"one"), None);
        let v2 = VersionPtr::new(Timestamp(7), None, Some(v1));
        let record = RecordPtr::new_primary(b"key", v1);
        // SAFETY: owned by this test until freed at its end.
        unsafe {
            let r = record.get();
            assert_eq!(r.key(), b"key");
            assert!(r.version_at(Timestamp(4)).is_none());
            assert_eq!(r.version_at(Timestamp(6)).unwrap().row(), Some(&b"one"[..]));
            r.set_head(v2);
            assert_eq!(r.version_at(Timestamp(6)).unwrap().row(), Some(&b"one"[..]));
            assert_eq!(r.version_at(Timestamp(9)).unwrap().row(), None);
            r.enter(READY);
            assert!(r.is_in(READY) && !r.is_in(WAITING));
            record.free(false);
            v1.free();
            v2.free();
        }
    }

    #[test]
    fn an_index_record_lives_in_intervals() {
        let version = VersionPtr::new(Timestamp(1), Some(b""), None);
        let row = RecordPtr::new_primary(b"pk", version);
        let entry = RecordPtr::new_entry(b"col", b"pk", row, Timestamp(3));
        // SAFETY: owned by this test until freed at its end.
        unsafe {
            let e = entry.get();
            assert_eq!((e.key(), e.primary_key()), (&b"colpk"[..], &b"pk"[..]));
            e.enter(WAITING);
            assert_eq!(e.primary_key(), b"pk");
            assert_eq!(e.row_ptr(), row);
            assert!(!e.is_visible(Timestamp(2)) && e.is_visible(Timestamp(3)));
            let first = History::allocate(Timestamp(3), Timestamp(5), ptr::null_mut());
            let second = History::allocate(Timestamp(8), Timestamp::MAX, first.as_ptr());
            e.set_entry_state(EntryState::History(second));
            let seen: Vec<_> = (2..10).filter(|&ts| e.is_visible(Timestamp(ts))).collect();
            assert_eq!(seen, [3, 4, 8, 9]);
            drop(Box::from_raw(first.as_ptr()));
            drop(Box::from_raw(second.as_ptr()));
            entry.free(true);
            row.free(false);
            version.free();
        }
    }
}
