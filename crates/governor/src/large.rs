//! Large blocks of memory, apart from the small ones.
//!
//! A string of 60 MB that grows in an ordinary allocator is copied at each doubling, and given back to the system in one call:
//! tens of milliseconds, inside of a function that knows nothing of turns. So blocks of [`LARGE`] bytes and more are mappings of
//! their own here. They grow by moving page tables, not bytes, and what is released goes to a thread that unmaps it piece by piece:
//!
//! ```text
//!   realloc ── mremap ──▶ the same pages, elsewhere
//!   dealloc ── a list through the blocks themselves ──▶ reaper: munmap of PIECE bytes, again and again
//! ```
//!
//! What stands in the list still counts as allocated, and who lacks memory unmaps it himself ([`unmap_piece`]).
//!
//! The allocator of the small blocks gives back to the system, too, and would do it inside of somebody's allocation: 25 to 60 ms
//! behind a statement that held 128 MiB. So it is told to leave that to the reaper, who does it once much was freed ([`freed`]), and
//! when the process takes more than it may ([`memory::lost`]).

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::collections::VecDeque;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

use crate::memory::{self, Account};
use crate::priority::stand_back;
use crate::{alloc, current, turn};

/// Blocks from this length on are mappings of their own: copying less takes some hundred microseconds.
pub const LARGE: usize = 2 << 20;

/// What is unmapped in one call: some hundred microseconds, during which nobody else can map.
const PIECE: usize = 2 << 20;

/// Of every system that this runs on.
const PAGE: usize = 4096;

/// A released block, written over its first bytes.
struct Released {
    len: usize,
    next: *mut Released,
}

struct List(*mut Released);

// SAFETY: the blocks in the list are nobody's but the list's.
unsafe impl Send for List {}

static LIST: Mutex<List> = Mutex::new(List(ptr::null_mut()));
/// Bytes in the list.
static WAITING: AtomicI64 = AtomicI64::new(0);
static REAPER: OnceLock<Thread> = OnceLock::new();

/// Once so much was freed, the allocator's pages are given back to the system: what is allocated again at once need not go back.
const MUCH: i64 = 16 << 20;
const BETWEEN_MUCH: Duration = Duration::from_millis(10);

/// Once so little was freed, they are given back at some time.
const LITTLE: i64 = 1 << 20;
const BETWEEN_LITTLE: Duration = Duration::from_secs(1);

/// How often the reaper looks how much memory the process takes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The most that was allocated since pages were given back.
static PEAK: AtomicI64 = AtomicI64::new(0);
/// Pages are to be given back.
static WANTED_BACK: AtomicBool = AtomicBool::new(false);

/// How far the reaper stands back where processors are busy.
const NICENESS: i32 = 10;

/// Starts the thread that unmaps what is released. Without it, who releases a block unmaps it. `give_back` has the allocator of the
/// small blocks give its free pages back to the system.
pub fn start_reaper(give_back: fn()) -> io::Result<()> {
    let reaper = thread::Builder::new()
        .name("reaper".into())
        .spawn(move || reap(give_back))?;
    // A second one would find nothing to do.
    let _ = REAPER.set(reaper.thread().clone());
    Ok(())
}

fn reap(give_back: fn()) {
    // Who waits for a processor comes first: memory that is lacking is unmapped by who lacks it.
    stand_back(NICENESS);
    let mut given_back = Instant::now();
    let mut looked = Instant::now();
    loop {
        if looked.elapsed() >= BETWEEN_LOOKS {
            looked = Instant::now();
            memory::look_at_resident();
            if memory::lost() > 0 {
                give_back();
                memory::look_at_resident();
            }
        }
        // Pages are given back between any two of these, too: under load there is always something to drop.
        let is_busy = unmap_piece() || drop_one();
        if !WANTED_BACK.load(Relaxed) {
            if !is_busy {
                thread::park_timeout(BETWEEN_LOOKS);
            }
            continue;
        }
        let pause = if lately_freed(alloc::total()) < MUCH {
            BETWEEN_LITTLE
        } else {
            BETWEEN_MUCH
        };
        match pause.checked_sub(given_back.elapsed()) {
            Some(_) if is_busy => {}
            Some(early) => thread::park_timeout(early.min(BETWEEN_MUCH)),
            None => {
                WANTED_BACK.store(false, Relaxed);
                PEAK.store(alloc::total(), Relaxed);
                give_back();
                given_back = Instant::now();
            }
        }
    }
}

fn lately_freed(total: i64) -> i64 {
    PEAK.load(Relaxed) - total
}

/// `total` bytes are allocated now, and it was less before.
pub(crate) fn allocated(total: i64) {
    if PEAK.load(Relaxed) < total {
        PEAK.fetch_max(total, Relaxed);
    }
}

/// `total` bytes are allocated now: has the reaper give pages back where it was much more before.
pub(crate) fn freed(total: i64) {
    if lately_freed(total) >= LITTLE && !WANTED_BACK.load(Relaxed) {
        want_back();
    }
}

/// Pages have become free, even where as much is allocated as before: has the reaper give them back.
pub fn want_back() {
    if let Some(reaper) = REAPER.get() {
        WANTED_BACK.store(true, Relaxed);
        reaper.unpark();
    }
}

/// Less than this is dropped where it is.
const ASIDE_MIN: u64 = 256 << 10;

/// What the reaper is going to drop, and who is charged for it until then.
static DROPPED: Mutex<VecDeque<(Box<dyn Send>, Option<Arc<Account>>)>> = Mutex::new(VecDeque::new());

/// Drops what takes about `bytes` of the session's memory, such as a tree of a million nodes, aside where that is much: to walk over it
/// would take the thread too long. It is the session's until then, for a moment: what is freed in fact is known then, as parts of it may
/// have other owners.
pub fn drop_aside<T: Send + 'static>(value: T, bytes: u64) {
    match bytes < ASIDE_MIN {
        true => drop(value),
        false => drop_for_session(value),
    }
}

/// Has the reaper drop what is charged to no session, such as the rows of a table; where there is no reaper, drops it here.
pub fn drop_elsewhere<T: Send + 'static>(value: T) {
    hand_over(value, None);
}

/// Has the reaper drop what the running statement has allocated. It is the session's until then.
pub(crate) fn drop_for_session<T: Send + 'static>(value: T) {
    hand_over(value, current::account());
}

pub(crate) fn has_reaper() -> bool {
    REAPER.get().is_some()
}

fn hand_over<T: Send + 'static>(value: T, account: Option<Arc<Account>>) {
    let Some(reaper) = REAPER.get() else {
        return drop(value);
    };
    DROPPED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push_back((Box::new(value), account));
    reaper.unpark();
}

fn drop_one() -> bool {
    let next = DROPPED.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let Some((value, account)) = next else { return false };
    let before = alloc::counted();
    drop(value);
    if let Some(account) = account {
        account.drop_aside(before - alloc::counted());
    }
    true
}

/// Bytes that were released and are not unmapped yet.
pub(crate) fn waiting() -> i64 {
    WAITING.load(Relaxed)
}

/// The bytes that a block takes.
pub(crate) fn mapped_len(size: usize) -> usize {
    size.saturating_add(PAGE - 1) & !(PAGE - 1)
}

#[inline]
pub(crate) fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= PAGE
}

fn map(size: usize) -> *mut u8 {
    turn::note_heavy();
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping, wherever the system wants it, touches no other.
    let mapped = unsafe {
        mmap_anonymous(
            ptr::null_mut(),
            mapped_len(size),
            ProtFlags::READ | ProtFlags::WRITE,
            flags,
        )
    };
    mapped.map_or(ptr::null_mut(), |block| block.cast())
}

/// # Safety
/// The whole pages of `len` bytes from `block` on are the caller's, and nobody uses them any more.
unsafe fn unmap(block: *mut u8, len: usize) {
    // A failure leaves the pages mapped, and there is nothing else to do about it.
    // SAFETY: the caller's promise.
    let _ = unsafe { munmap(block.cast(), len) };
}

/// # Safety
/// As [`unmap`].
unsafe fn release(block: *mut u8, len: usize) {
    let Some(reaper) = REAPER.get().filter(|_| len > PIECE) else {
        // SAFETY: the caller's promise.
        return unsafe { unmap(block, len) };
    };
    let released = block.cast::<Released>();
    {
        let mut list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: a page has room for it and its alignment, and is nobody's but ours.
        unsafe { released.write(Released { len, next: list.0 }) };
        list.0 = released;
    }
    WAITING.fetch_add(len as i64, Relaxed);
    reaper.unpark();
}

/// Cuts a piece from the end of the first block that was released and unmaps it; false when there is none.
pub(crate) fn unmap_piece() -> bool {
    let (piece, len) = {
        let mut list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        if list.0.is_null() {
            return false;
        }
        // SAFETY: what is in the list is a released block, whose first bytes were written by `release`.
        let first = unsafe { &mut *list.0 };
        match first.len > PIECE {
            true => {
                first.len -= PIECE;
                // SAFETY: within the block, which was longer than that.
                (unsafe { list.0.byte_add(first.len) }.cast::<u8>(), PIECE)
            }
            false => {
                let (block, len) = (list.0.cast::<u8>(), first.len);
                list.0 = first.next;
                (block, len)
            }
        }
    };
    // SAFETY: the piece has left the list under the lock, so it is this call's.
    unsafe { unmap(piece, len) };
    WAITING.fetch_sub(len as i64, Relaxed);
    true
}

/// # Safety
/// `block` was made by [`map`] for `size` bytes and is the caller's.
unsafe fn resize(block: *mut u8, size: usize, new_size: usize) -> *mut u8 {
    let (len, new_len) = (mapped_len(size), mapped_len(new_size));
    if new_len < len {
        // SAFETY: the pages behind the new end are used no more.
        unsafe { release(block.add(new_len), len - new_len) };
        return block;
    }
    if new_len == len {
        return block;
    }
    // SAFETY: the mapping is the caller's, who forgets the old address.
    let moved = unsafe { mremap(block.cast(), len, new_len, MremapFlags::MAYMOVE) };
    moved.map_or(ptr::null_mut(), |block| block.cast())
}

/// Keeps large blocks apart from those of `A`.
pub struct LargeApart<A>(pub A);

// SAFETY: which of the two allocators a block is from follows from its layout alone, so each gets back what it gave.
unsafe impl<A: GlobalAlloc> GlobalAlloc for LargeApart<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_large(layout) {
            true => map(layout.size()),
            // SAFETY: the caller's promise.
            false => unsafe { self.0.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_large(layout) {
            true => map(layout.size()),
            // SAFETY: the caller's promise.
            false => unsafe { self.0.alloc_zeroed(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match is_large(layout) {
            // SAFETY: a large block was made by `map`, and the caller uses it no more.
            true => unsafe { release(block, mapped_len(layout.size())) },
            // SAFETY: the caller's promise.
            false => unsafe { self.0.dealloc(block, layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the new size is one of a layout.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        match (is_large(layout), is_large(new_layout)) {
            // SAFETY: the caller's promise.
            (false, false) => unsafe { self.0.realloc(block, layout, new_size) },
            // SAFETY: as for `dealloc`.
            (true, true) => unsafe { resize(block, layout.size(), new_size) },
            // SAFETY: the new block is another one, both have the bytes that are copied, and the old one is the caller's.
            (_, _) => unsafe {
                let moved = self.alloc(new_layout);
                if !moved.is_null() {
                    ptr::copy_nonoverlapping(block, moved, layout.size().min(new_size));
                    self.dealloc(block, layout);
                }
                moved
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stepwise::Stepwise;
    use crate::{Governor, Interrupt, Runner, Stop, probe};
    use std::alloc::System;

    const ALLOCATOR: LargeApart<System> = LargeApart(System);

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 16).expect("a layout")
    }

    /// The block's bytes after it was resized, each the low byte of its place.
    fn resized(from: usize, to: usize) -> Vec<u8> {
        // SAFETY: the block is used as long as it is, within its size, and freed with the layout of its last size.
        unsafe {
            let block = ALLOCATOR.alloc(layout(from));
            std::slice::from_raw_parts_mut(block, from)
                .iter_mut()
                .enumerate()
                .for_each(|(at, byte)| *byte = at as u8);
            let block = ALLOCATOR.realloc(block, layout(from), to);
            let bytes = std::slice::from_raw_parts(block, from.min(to)).to_vec();
            ALLOCATOR.dealloc(block, layout(to));
            bytes
        }
    }

    #[test]
    fn a_block_keeps_its_bytes_whatever_its_size_becomes() {
        let sizes = [100, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 17];
        for from in sizes {
            for to in sizes {
                let bytes = resized(from, to);
                assert_eq!(bytes.len(), from.min(to));
                assert!(
                    bytes.iter().enumerate().all(|(at, byte)| *byte == at as u8),
                    "{from} to {to}"
                );
            }
        }
    }

    #[test]
    fn what_is_released_is_unmapped_by_the_reaper_or_who_helps() {
        start_reaper(|| {}).expect("a thread");
        for round in 0..50 {
            // SAFETY: written within its size, then freed as it was made.
            unsafe {
                let block = ALLOCATOR.alloc_zeroed(layout(9 * LARGE));
                assert_eq!((*block, *block.add(9 * LARGE - 1)), (0, 0));
                block.write_bytes(1, 9 * LARGE / 8);
                ALLOCATOR.dealloc(block, layout(9 * LARGE));
            }
            if round % 3 == 0 {
                unmap_piece();
            }
        }
        // Another thread may have one piece in hand.
        while waiting() > 0 {
            unmap_piece();
            thread::yield_now();
        }
        assert!(LIST.lock().expect("not poisoned").0.is_null());
    }

    /// Tells which thread drops it.
    struct TellsWho(std::sync::mpsc::Sender<Option<String>>);

    impl Drop for TellsWho {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().name().map(str::to_owned));
        }
    }

    #[test]
    fn what_is_much_is_dropped_by_the_reaper() {
        start_reaper(|| {}).expect("a thread");
        let (sender, who) = std::sync::mpsc::channel();
        drop_aside(TellsWho(sender.clone()), ASIDE_MIN);
        assert_eq!(who.recv().expect("dropped").as_deref(), Some("reaper"));
        drop_aside(TellsWho(sender), ASIDE_MIN - 1);
        assert_ne!(who.recv().expect("dropped").as_deref(), Some("reaper"));
    }

    #[test]
    fn what_an_ended_statement_leaves_is_dropped_by_the_reaper() {
        start_reaper(|| {}).expect("a thread");
        let (sender, who) = std::sync::mpsc::channel();
        let many = || Stepwise::from((0..5000).map(|_| TellsWho(sender.clone())).collect::<Vec<_>>());
        let by_reaper = || {
            (0..5000)
                .filter(|_| who.recv().expect("dropped").as_deref() == Some("reaper"))
                .count()
        };
        probe::count(|| drop(many()));
        assert_eq!(by_reaper(), 0);
        probe::kill_at(1, || {
            let held = many();
            assert!(crate::tick().is_err());
            drop(held);
        });
        assert_eq!(by_reaper(), 5000);
        // For want of memory, which nobody else can take before it is free.
        probe::count(|| {
            let account = Arc::new(Account::default());
            Governor::new(&EndsLater::default())
                .with_account(account.clone())
                .run(|| {
                    crate::begin_statement(1000);
                    account.add(2000);
                    assert!(matches!(crate::tick(), Err(Stop::Memory(_))));
                    drop(many());
                });
        });
        assert_eq!(by_reaper(), 0);
        // Told so while it drops: the rest.
        let ends_later = EndsLater::default();
        probe::under(&ends_later, || drop(many()));
        assert!((4000..5000).contains(&by_reaper()));
    }

    #[derive(Default)]
    struct EndsLater(std::cell::Cell<u32>);

    impl Runner for EndsLater {
        fn yield_now(&self) {
            self.0.set(self.0.get() + 1);
        }

        fn interrupted(&self) -> Option<Interrupt> {
            (self.0.get() > 5).then_some(Interrupt::KillQuery)
        }
    }

    #[test]
    fn what_cannot_be_mapped_is_refused() {
        // SAFETY: nothing is done with the block but to see that there is none.
        assert!(unsafe { ALLOCATOR.alloc(layout(1 << 60)) }.is_null());
    }
}
