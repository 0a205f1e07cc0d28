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

/// How many pages of a size a thread takes back in which it frees something (`mi_option_page_max_reclaim` of mimalloc 3). What others free in a
/// thread's pages is in use until the thread looks; in pages that are nobody's it is free at once.
const PAGE_MAX_RECLAIM: mi_option_t = 41;
const FEW_PAGES: c_int = 4;

unsafe extern "C" {
    /// Of mimalloc 3: the thread's part of a heap, made where there is none.
    fn mi_heap_theap(heap: *mut mi_heap_t) -> *mut c_void;
}

/// Two heaps of mimalloc.
struct Heaps([*mut mi_heap_t; 2]);

// SAFETY: in mimalloc 3 any thread may allocate in any heap.
unsafe impl Send for Heaps {}
// SAFETY: as above.
unsafe impl Sync for Heaps {}

/// Where the rows lie: for each side of [`Side`] a heap, which is never deleted.
static HEAPS: OnceLock<Heaps> = OnceLock::new();

/// What a statement touches first, or frees, does not hold its thread up: pages are small, as the system clears a large one in
/// one go, and free ones are given back by a thread of their own, which takes as long as there are pages.
pub fn take_small_steps() -> io::Result<()> {
    // A system that cannot do this has no large pages to give either.
    let _ = disable_transparent_huge_pages(true);
    // SAFETY: options are read and set atomically, at any time.
    unsafe {
        mi_option_set(PURGE_DELAY, NEVER_MS.into());
        mi_option_set(PAGE_MAX_RECLAIM, FEW_PAGES.into());
    };
    pages::set_allocator(pages::Allocator {
        allocate,
        introduce_thread,
        show_pages,
    });
    start_reaper(|| {
        // SAFETY: may be called at any time; frees nothing that is in use.
        unsafe { mi_collect(true) }
    })
}

fn heaps() -> [(Side, *mut mi_heap_t); 2] {
    // SAFETY: may be called at any time.
    let Heaps([usual, apart]) = HEAPS.get_or_init(|| Heaps(unsafe { [mi_heap_new(), mi_heap_new()] }));
    [(Side::Usual, *usual), (Side::Apart, *apart)]
}

fn allocate(side: Side, layout: Layout) -> *mut u8 {
    let (_, heap) = heaps()[side as usize];
    if heap.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the heap lives as long as the process; any layout is allowed.
    unsafe { mi_heap_malloc_aligned(heap, layout.size(), layout.align()) }.cast()
}

fn introduce_thread() {
    for (_, heap) in heaps().into_iter().filter(|(_, heap)| !heap.is_null()) {
        // SAFETY: the heap lives as long as the process.
        unsafe { mi_heap_theap(heap) };
    }
}

/// Whom to show areas of which heap.
struct Shown<'s> {
    show: &'s mut dyn FnMut(Page),
    side: Side,
}

fn show_pages(show: &mut dyn FnMut(Page)) {
    /// # Safety
    /// `shown` is a [`Shown`] that nobody else uses.
    unsafe extern "C" fn show_area(
        _: *const mi_heap_t,
        area: *const mi_heap_area_t,
        _: *mut c_void,
        _: usize,
        shown: *mut c_void,
    ) -> bool {
        // SAFETY: mimalloc passes on what it was given, and an area that lives as long as the call.
        let (shown, area) = unsafe { (&mut *shown.cast::<Shown<'_>>(), &*area) };
        (shown.show)(Page {
            side: shown.side,
            start: area.blocks.addr(),
            bytes: area.committed,
            used: area.used * area.full_block_size,
        });
        true
    }
    for (side, heap) in heaps().into_iter().filter(|(_, heap)| !heap.is_null()) {
        let mut shown = Shown { show: &mut *show, side };
        // SAFETY: only figures are read, from the pages' heads, which lie apart from the pages and stay mapped when those are given back. Who
        // allocates meanwhile may make a figure wrong by a few blocks.
        unsafe { mi_heap_visit_blocks(heap, false, Some(show_area), (&raw mut shown).cast()) };
    }
}
