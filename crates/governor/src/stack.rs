//! How much of the stack is left.
//!
//! What recurses with its input's depth (parser, planner, evaluator) calls [`descend`] on the way down. A stack that runs out ends the
//! statement with an error (1436) and not the process.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use crate::stop::{StackStop, Stop};

/// What has to be left: for whatever does not ask, as the allocator, a library or the unwinding of an error. Code without
/// optimization takes several times as much.
pub const RESERVE: usize = if cfg!(debug_assertions) { 512 << 10 } else { 128 << 10 };

/// A stack used deeper than this is not worth keeping for the next statement: its pages would stay in memory.
const SHALLOW: usize = 256 << 10;

/// Threads of the standard library have 2 MiB; on one that told no bounds, this much below the first call may be used.
const UNKNOWN_LEN: usize = (1 << 20) + RESERVE;

/// The addresses of a stack; it grows down from `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackBounds {
    pub low: usize,
    pub high: usize,
}

thread_local! {
    static BOUNDS: Cell<StackBounds> = const { Cell::new(StackBounds { low: 0, high: 0 }) };
    /// The stacks of this thread, by their lowest address, that were used deeply.
    static DEEP: RefCell<HashSet<usize>> = RefCell::default();
}

/// The bounds of the stack that this thread runs on, from now on; returns those of before.
pub(crate) fn set_bounds(bounds: StackBounds) -> StackBounds {
    BOUNDS.replace(bounds)
}

#[inline(always)]
fn here() -> usize {
    let local = 0u8;
    std::hint::black_box(&raw const local).addr()
}

/// Bytes between here and the end of the stack.
#[inline]
pub fn left() -> usize {
    let here = here();
    let bounds = BOUNDS.get();
    match bounds.low < here && here <= bounds.high {
        true => here - bounds.low,
        false => guess(here),
    }
}

#[cold]
fn guess(here: usize) -> usize {
    let low = here.saturating_sub(UNKNOWN_LEN);
    // A little above: the first call need not be the outermost.
    let high = here.saturating_add(64 << 10);
    BOUNDS.set(StackBounds { low, high });
    here - low
}

/// Called before a recursive call; fails when the stack is nearly used up.
#[inline]
pub fn descend() -> Result<(), Stop> {
    let left = left();
    if left < RESERVE {
        return Err(overrun());
    }
    let bounds = BOUNDS.get();
    if bounds.high - bounds.low > left + SHALLOW {
        note_deep(bounds.low);
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn note_deep(low: usize) {
    DEEP.with_borrow_mut(|deep| deep.insert(low));
}

/// Whether the stack with this lowest address was used deeply since it was last asked: its owner lets it go, and a new one in its
/// place holds no memory yet.
pub fn take_deep(low: usize) -> bool {
    DEEP.with_borrow_mut(|deep| deep.remove(&low))
}

/// The end of a statement that nests too deeply.
#[cold]
pub fn overrun() -> Stop {
    let bounds = BOUNDS.get();
    let size = bounds.high.saturating_sub(bounds.low);
    Stop::Stack(StackStop {
        used: size.saturating_sub(left()),
        size,
        needed: RESERVE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dive(depth: usize) -> Result<usize, Stop> {
        descend()?;
        let ballast = std::hint::black_box([depth as u8; 1024]);
        Ok(dive(depth + 1)? + usize::from(ballast[0]))
    }

    #[test]
    fn a_recursion_without_end_is_refused() {
        let end = std::thread::spawn(|| dive(0)).join().expect("no overflow");
        assert!(
            matches!(end, Err(Stop::Stack(StackStop { needed: RESERVE, .. }))),
            "{end:?}"
        );
    }
}
