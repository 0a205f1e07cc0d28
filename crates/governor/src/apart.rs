//! Counters that threads keep apart, so that none waits for another's cache line.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads that count apart: beyond them, several share a part.
pub const PARTS: usize = 16;

/// Which of the [`PARTS`] is this thread's.
#[inline]
pub fn part_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PART: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    PART.with(|part| {
        if part.get() == usize::MAX {
            part.set(NEXT.fetch_add(1, Ordering::Relaxed) % PARTS);
        }
        part.get()
    })
}
