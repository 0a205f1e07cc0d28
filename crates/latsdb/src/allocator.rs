//! The process's memory: its allocator, who gives free pages back to the system, how large a page is, and which ones have gaps.
//!
//! See `docs/decisions/0006-pages.md` and `0007-compaction.md` for what was measured.

#![allow(unsafe_code)]

use std::alloc::Layout;
use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;
use std::sync::OnceLock;

use governor::alloc::Counting;
use governor::large::{LargeApart, start_reaper};
use governor::pages::{self, Page, Side};
use libmimalloc_sys::{
    mi_collect, mi_heap_area_t, mi_heap_malloc_aligned, mi_heap_new, mi_heap_t, mi_heap_visit_blocks, mi_option_set,
    mi_option_t,
};
use mimalloc::MiMalloc;
use rustix::thread::disable_transparent_huge_pages;

#[global_allocator]
static ALLOCATOR: Counting<LargeApart<MiMalloc>> = Counting(LargeApart(MiMalloc));

/// After how many milliseconds whoever allocates gives back what is free (`mi_option_purge_delay` of mimalloc 3).
const PURGE_DELAY: mi_option_t = 15;

/// Longer than any process lives.
const NEVER_MS: c_int = c_int::MAX;

/// The heap of mimalloc that is [`Side::Apart`].
struct Heap(*mut mi_heap_t);

// SAFETY: in mimalloc 3 any thread may allocate in any heap.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

static APART: OnceLock<Heap> = OnceLock::new();

/// What a statement touches first, or frees, does not hold its thread up: pages are small, as the system clears a large one in
/// one go, and free ones are given back by a thread of their own, which takes as long as there are pages.
pub fn take_small_steps() -> io::Result<()> {
    // A system that cannot do this has no large pages to give either.
    let _ = disable_transparent_huge_pages(true);
    // SAFETY: options are read and set atomically, at any time.
    unsafe { mi_option_set(PURGE_DELAY, NEVER_MS.into()) };
    pages::set_allocator(pages::Allocator {
        show_pages,
        allocate_apart,
    });
    start_reaper(|| {
        // SAFETY: may be called at any time; frees nothing that is in use.
        unsafe { mi_collect(true) }
    })
}

/// Null for mimalloc's main heap, where there is no memory for another.
fn apart() -> *mut mi_heap_t {
    // SAFETY: a new heap, which is never deleted.
    APART.get_or_init(|| Heap(unsafe { mi_heap_new() })).0
}

fn allocate_apart(layout: Layout) -> *mut u8 {
    // SAFETY: the heap lives as long as the process; any layout is allowed.
    unsafe { mi_heap_malloc_aligned(apart(), layout.size(), layout.align()) }.cast()
}

fn show_pages(mut show: &mut dyn FnMut(Page)) {
    /// # Safety
    /// `to` is a [`Shown`] that nobody else uses.
    unsafe extern "C" fn show_area(
        heap: *const mi_heap_t,
        area: *const mi_heap_area_t,
        _: *mut c_void,
        _: usize,
        to: *mut c_void,
    ) -> bool {
        // SAFETY: mimalloc passes on what it was given, and an area that lives as long as the call.
        let (show, area) = unsafe { (&mut *to.cast::<&mut dyn FnMut(Page)>(), &*area) };
        let is_apart = APART.get().is_some_and(|apart| ptr::eq(apart.0, heap));
        show(Page {
            side: if is_apart { Side::Apart } else { Side::Usual },
            start: area.blocks.addr(),
            bytes: area.committed,
            used: area.used * area.full_block_size,
        });
        true
    }
    let to: *mut &mut dyn FnMut(Page) = &mut show;
    for heap in [ptr::null_mut(), apart()] {
        // SAFETY: only figures are read, from the pages' heads, which lie apart from the pages and stay mapped when those are given back. Who
        // allocates meanwhile may make a figure wrong by a few blocks.
        unsafe { mi_heap_visit_blocks(heap, false, Some(show_area), to.cast()) };
    }
}
