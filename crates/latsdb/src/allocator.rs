//! The process's memory: its allocator, who gives free pages back to the system, and how large a page is.
//!
//! See `docs/decisions/0006-pages.md` for what was measured.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;

use governor::alloc::Counting;
use governor::large::{LargeApart, start_reaper};
use libmimalloc_sys::{mi_collect, mi_option_set, mi_option_t};
use mimalloc::MiMalloc;
use rustix::thread::disable_transparent_huge_pages;

#[global_allocator]
static ALLOCATOR: Counting<LargeApart<MiMalloc>> = Counting(LargeApart(MiMalloc));

/// After how many milliseconds whoever allocates gives back what is free (`mi_option_purge_delay` of mimalloc 3).
const PURGE_DELAY: mi_option_t = 15;

/// Longer than any process lives.
const NEVER_MS: c_int = c_int::MAX;

/// What a statement touches first, or frees, does not hold its thread up: pages are small, as the system clears a large one in
/// one go, and free ones are given back by a thread of their own, which takes as long as there are pages.
pub fn take_small_steps() -> io::Result<()> {
    // A system that cannot do this has no large pages to give either.
    let _ = disable_transparent_huge_pages(true);
    // SAFETY: options are read and set atomically, at any time.
    unsafe { mi_option_set(PURGE_DELAY, NEVER_MS.into()) };
    start_reaper(|| {
        // SAFETY: may be called at any time; frees nothing that is in use.
        unsafe { mi_collect(true) }
    })
}
