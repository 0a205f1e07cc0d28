//! The atomics of the lock-free parts: the standard library's, or loom's when a model is checked (`--cfg loom`).

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Between a store and a load, both sequentially consistent, of which the load must not come first. The standard library's atomics
/// need no more than their ordering; loom takes that for acquire and release, and has to be told by a fence.
#[inline(always)]
pub(crate) fn store_before_load() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}
