//! Freeing what readers may still be looking at, once they cannot any more.

#![allow(unsafe_code)]

use crate::btree::{NodePtr, SeparatorPtr};
use crate::record::{Fate, History, RecordPtr, VersionPtr};
use crossbeam_epoch as epoch;
use std::ptr::NonNull;
use std::sync::Arc;

/// How many things are freed in one go, on whatever thread notices that their time has come.
const TOGETHER: usize = 32;

/// How many groups are handed over under one guard: the collector's own unit, so that it frees faster than it is given.
const GROUPS_PER_GUARD: usize = 64;

/// Something that nothing new refers to any more.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Garbage {
    Node(NodePtr),
    Separator(SeparatorPtr),
    /// A primary record alone.
    Row(RecordPtr),
    /// An index record alone.
    Entry(RecordPtr),
    Version(VersionPtr),
    History(NonNull<History>),
    /// A share of it, out of [`Arc::into_raw`].
    Fate(*const Fate),
}

// SAFETY: plain allocations, freed on any thread.
unsafe impl Send for Garbage {}

impl Garbage {
    /// # Safety
    /// Nobody can reach it any more, and it is freed once.
    pub(crate) unsafe fn free(self) {
        // SAFETY: the caller's.
        unsafe {
            match self {
                Garbage::Node(node) => node.free(),
                Garbage::Separator(separator) => separator.free(),
                Garbage::Row(record) => record.free(false),
                Garbage::Entry(record) => record.free(true),
                Garbage::Version(version) => version.free(),
                Garbage::History(history) => drop(Box::from_raw(history.as_ptr())),
                Garbage::Fate(fate) => drop(Arc::from_raw(fate)),
            }
        }
    }
}

/// # Safety
/// As for each of them.
unsafe fn free(group: &[Garbage]) {
    governor::pages::introduce_thread();
    // SAFETY: the caller's.
    group.iter().for_each(|garbage| unsafe { garbage.free() });
}

/// Garbage on its way to the epoch collector; handed over in groups, because one deferred call for each would cost more than
/// the freeing.
#[derive(Default)]
pub(crate) struct Retired {
    waiting: Vec<Garbage>,
}

impl Retired {
    #[cfg(test)]
    pub(crate) fn push(&mut self, garbage: Garbage) {
        self.waiting.push(garbage);
    }

    pub(crate) fn append(&mut self, garbage: &mut Vec<Garbage>) {
        self.waiting.append(garbage);
    }

    /// Lets everything be freed when all guards of now are gone, and frees what was handed over before and can be freed now: the
    /// writer makes the garbage, so it does most of the sweeping.
    ///
    /// # Safety
    /// Everything here has been unlinked: a reader who pins from now on cannot find it.
    pub(crate) unsafe fn hand_over(&mut self) {
        let mut garbage = self.waiting.chunks(TOGETHER);
        while garbage.len() > 0 {
            let guard = epoch::pin();
            for group in garbage.by_ref().take(GROUPS_PER_GUARD) {
                let group: Box<[Garbage]> = group.into();
                // Whoever comes by frees it, a session's statement too, which is not to be credited with it.
                let free_group = move || {
                    governor::given_away(move || {
                        // SAFETY: the caller's: unreachable after the grace period, and in this list once.
                        unsafe { free(&group) };
                        drop(group);
                    });
                };
                // SAFETY: as above.
                unsafe { guard.defer_unchecked(free_group) };
            }
            guard.flush();
        }
        self.waiting.clear();
    }

    /// Frees some of what was handed over and can be freed now.
    pub(crate) fn sweep(&self) {
        epoch::pin().flush();
    }
}
