//! The allocator that counts.
//!
//! Around the process's allocator: each thread adds up what it allocates and frees, and tells the total in steps. A thread that frees
//! what another one allocated gets negative; the total is right. What a statement allocated is the difference of its thread's count
//! between two switches.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use crate::pages::{self, Side};
use crate::{current, large};

/// A thread tells the total after this many bytes.
const STEP: u64 = 64 << 10;

static TOTAL: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static COUNTED: Cell<i64> = const { Cell::new(0) };
    static TOLD: Cell<i64> = const { Cell::new(0) };
}

/// What this thread has allocated more than freed.
pub(crate) fn counted() -> i64 {
    COUNTED.get()
}

/// What all threads have allocated more than freed, up to a step of each, and what is not unmapped yet.
pub(crate) fn total() -> i64 {
    TOTAL.load(Relaxed) + large::waiting()
}

/// Allocates on a side, for the rows; null where there is no memory. Freed like any other block.
///
/// # Safety
/// The layout is not empty.
#[inline]
pub unsafe fn allocate(side: Side, layout: Layout) -> *mut u8 {
    let Some(allocator) = pages::allocator().filter(|_| !large::is_large(layout)) else {
        // SAFETY: the caller's promise.
        return unsafe { std::alloc::alloc(layout) };
    };
    let block = (allocator.allocate)(side, layout);
    if !block.is_null() {
        count(size(layout));
    }
    block
}

/// Counts what goes through `A`: `#[global_allocator] static ALLOCATOR: Counting<LargeApart<MiMalloc>> = …`
pub struct Counting<A>(pub A);

#[inline]
fn count(change: i64) {
    let counted = COUNTED.get() + change;
    COUNTED.set(counted);
    if (counted - TOLD.get()).unsigned_abs() >= STEP {
        tell(counted);
    }
}

#[cold]
#[inline(never)]
fn tell(counted: i64) {
    let change = counted - TOLD.replace(counted);
    let total = TOTAL.fetch_add(change, Relaxed) + change;
    if change < 0 {
        large::freed(total);
    } else {
        large::allocated(total);
    }
    current::note_allocation();
}

/// What is counted for a block of `bytes`.
pub fn allocated_size(bytes: usize) -> i64 {
    match bytes {
        0 => 0,
        bytes => rounded(bytes) as i64,
    }
}

/// A layout's size fits into `isize`, so the cast is exact.
fn size(layout: Layout) -> i64 {
    rounded(layout.size()) as i64
}

/// What an allocation takes: whole pages, or one of mimalloc's size classes, four per doubling.
#[inline]
fn rounded(size: usize) -> usize {
    if size >= large::LARGE {
        return large::mapped_len(size);
    }
    if size <= 64 {
        return (size + 15) & !15;
    }
    let step = (1usize << (usize::BITS - 1 - (size - 1).leading_zeros())) >> 2;
    (size + step - 1) & !(step - 1)
}

// SAFETY: every call goes to the inner allocator with the caller's arguments; the counting neither allocates nor unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { self.0.alloc(layout) };
        if !block.is_null() {
            count(size(layout));
        }
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        if !block.is_null() {
            count(size(layout));
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { self.0.dealloc(block, layout) };
        count(-size(layout));
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let moved = unsafe { self.0.realloc(block, layout, new_size) };
        if !moved.is_null() {
            count(rounded(new_size) as i64 - size(layout));
        }
        moved
    }
}
