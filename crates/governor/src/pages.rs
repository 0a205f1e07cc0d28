//! Pages of the allocator that are used in part, and where to move what lies in them.
//!
//! The allocator of the small blocks cuts its memory into pages of equal blocks, and gives a page back once all its blocks are free. After
//! deletes here and there most pages have a few blocks left, and the process stays as large as it was. So rows lie in pages of their own, on
//! two sides. Who can move them asks for pages with gaps ([`Sparse::find`]) and makes what lies there anew
//! ([`crate::alloc::allocate`]) on the other side:
//!
//! ```text
//!   usual  [x x x x] [. x . .] [. . . x] [x . . .]          what is new
//!                        └─────────┼─────────┘
//!   apart  [x x x x] [x x x .]  ◀──┘                         what was moved; it goes back when there are more gaps here
//! ```
//!
//! So what is moved fills gaps of the other side, and never those that are about to be free.

use std::alloc::Layout;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::OnceLock;

use crate::hashing::FastHashing;
use crate::{alloc, memory};

/// Where a row's block is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Usual,
    Apart,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Usual => Side::Apart,
            Side::Apart => Side::Usual,
        }
    }
}

/// A page of the allocator with blocks of rows.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    pub side: Side,
    /// The address of its first block.
    pub start: usize,
    /// Of all its blocks.
    pub bytes: usize,
    /// Of the blocks that are in use.
    pub used: usize,
}

impl Page {
    /// An empty one is about to be given back.
    fn is_sparse(self) -> bool {
        self.used > 0 && self.used * 100 < self.bytes * FULL_PERCENT
    }
}

/// What the allocator of the small blocks can do beside allocating.
pub struct Allocator {
    /// Allocates on a side; it is freed like any other block. Null where there is no memory.
    pub allocate: fn(Side, Layout) -> *mut u8,
    /// Makes the thread known to both sides.
    pub introduce_thread: fn(),
    /// Shows the pages of both sides. Others allocate meanwhile, so that it may be out of date at once.
    pub show_pages: fn(&mut dyn FnMut(Page)),
}

static ALLOCATOR: OnceLock<Allocator> = OnceLock::new();

/// Without it rows lie among all other blocks, and no page is found.
pub fn set_allocator(allocator: Allocator) {
    // A second one would be the same.
    let _ = ALLOCATOR.set(allocator);
}

pub(crate) fn allocator() -> Option<&'static Allocator> {
    ALLOCATOR.get()
}

/// Called before the thread frees blocks of rows: the allocator fills a page again only where somebody whom it knows has made room.
pub fn introduce_thread() {
    thread_local! {
        static IS_KNOWN: Cell<bool> = const { Cell::new(false) };
    }
    if let Some(allocator) = allocator()
        && !IS_KNOWN.replace(true)
    {
        (allocator.introduce_thread)();
    }
}

/// No page is shared by two of these.
const SLICE_BITS: u32 = 16;

/// A page that is used for more is left alone: it costs much and gives little.
const FULL_PERCENT: usize = 80;
/// Gaps are closed once they are so much, and this part of all that is allocated.
const MUCH: u64 = 3 << 20;
const MUCH_PART: u64 = 16;
/// At a time as much is moved as this part of the gaps: until all of it has been moved, its pages are there twice.
const AT_A_TIME_PART: u64 = 4;
/// Less than that is not worth looking at every row.
const AT_A_TIME_MIN: u64 = 1 << 20;

/// Pages with gaps that are worth closing.
pub struct Sparse {
    /// Where the blocks have to go.
    pub to: Side,
    /// What is in use in these pages, in bytes.
    pub used: u64,
    slices: Option<HashSet<usize, FastHashing>>,
}

impl Sparse {
    /// Some of one side's pages, the emptiest first. `None` where nothing is worth it.
    pub fn find() -> Option<Sparse> {
        let resident = memory::look_at_resident();
        let allocated = memory::allocated();
        // The pages are looked at only where there could be gaps.
        let much = MUCH.max(allocated / MUCH_PART);
        if resident.saturating_sub(allocated) < much {
            return None;
        }
        let mut pages = Vec::new();
        (allocator()?.show_pages)(&mut |page| pages.extend(page.is_sparse().then_some(page)));
        Sparse::among(pages, much)
    }

    fn among(mut pages: Vec<Page>, much: u64) -> Option<Sparse> {
        let gaps_of = |side| {
            let of_side = pages.iter().filter(|page| page.side == side);
            of_side.map(|page| (page.bytes - page.used) as u64).sum::<u64>()
        };
        let (usual, apart) = (gaps_of(Side::Usual), gaps_of(Side::Apart));
        if usual + apart < much {
            return None;
        }
        let side = if usual >= apart { Side::Usual } else { Side::Apart };
        pages.retain(|page| page.side == side);
        pages.sort_unstable_by_key(|page| page.used * 1024 / page.bytes);
        let most = ((usual + apart) / AT_A_TIME_PART).max(AT_A_TIME_MIN);
        let mut used = 0;
        let mut slices = HashSet::default();
        for page in pages {
            if used >= most {
                break;
            }
            used += page.used as u64;
            slices.extend(page.start >> SLICE_BITS..=(page.start + page.bytes - 1) >> SLICE_BITS);
        }
        Some(Sparse {
            to: side.other(),
            used,
            slices: Some(slices),
        })
    }

    /// All there is: for tests, so that everything moves.
    pub fn everything(to: Side) -> Sparse {
        Sparse {
            to,
            used: alloc::total().max(0) as u64,
            slices: None,
        }
    }

    /// Whether what lies at this address has to move.
    #[inline]
    pub fn has<T>(&self, at: *const T) -> bool {
        let slice = at.addr() >> SLICE_BITS;
        self.slices.as_ref().is_none_or(|slices| slices.contains(&slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 1 << SLICE_BITS;

    fn page(number: usize, side: Side, used_percent: usize) -> Page {
        Page {
            side,
            start: number * PAGE + 128,
            bytes: PAGE - 128,
            used: (PAGE - 128) * used_percent / 100,
        }
    }

    fn is_in(sparse: &Sparse, page: usize) -> bool {
        sparse.has(std::ptr::without_provenance::<u8>(page * PAGE + 4000))
    }

    #[test]
    fn the_emptiest_pages_of_the_side_with_more_gaps_come_first() {
        let mut pages: Vec<_> = (0..100).map(|n| page(n, Side::Usual, 70)).collect();
        pages.extend((100..200).map(|n| page(n, Side::Apart, 50)));
        pages.extend((200..210).map(|n| page(n, Side::Apart, 10)));
        let sparse = Sparse::among(pages, 1 << 20).expect("there are gaps");
        assert_eq!(sparse.to, Side::Usual);
        assert!((200..210).all(|n| is_in(&sparse, n)) && (0..100).all(|n| !is_in(&sparse, n)));
        let moved = (100..200).filter(|&n| is_in(&sparse, n)).count();
        assert!((10..90).contains(&moved), "{moved} of the others");
    }

    #[test]
    fn full_pages_and_empty_ones_are_not_sparse_and_a_few_no_reason() {
        assert!(!page(0, Side::Usual, 81).is_sparse() && !page(0, Side::Usual, 0).is_sparse());
        let few = (0..10).map(|n| page(n, Side::Usual, 40)).collect();
        assert!(Sparse::among(few, 1 << 20).is_none());
    }

    #[test]
    fn a_page_of_many_slices_is_whole() {
        let long = Page {
            side: Side::Usual,
            start: 8 * PAGE,
            bytes: 8 * PAGE,
            used: PAGE,
        };
        let sparse = Sparse::among(vec![long], 1).expect("there are gaps");
        assert!((8..16).all(|n| is_in(&sparse, n)) && !is_in(&sparse, 7) && !is_in(&sparse, 16));
    }
}
