//! How much of the past is kept for who asks for it.
//!
//! A version that was superseded is kept while its end lies within the *window*: so long ago at most. What it takes is bounded, too: beyond
//! a share of the memory, and where memory is short, the oldest is given up, and the window is shorter than it was asked to be.

use crate::memory::MemoryBudget;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Of `memory_limit`: what old versions may take.
const SHARE: u64 = 8;
/// Eighths of `memory_limit` in use, from which on there is no room for the past.
const EIGHTHS_IN_USE: u64 = 7;

/// The window that is asked for, and what it takes.
#[derive(Debug, Default)]
pub struct Past {
    window_ms: AtomicU64,
    bytes: AtomicI64,
}

impl Past {
    /// How long a superseded version is kept. Zero: as long as running transactions need it.
    pub fn window(&self) -> Duration {
        Duration::from_millis(self.window_ms.load(Ordering::Relaxed))
    }

    /// Takes effect when the writer collects next. What is gone does not come back.
    pub fn set_window(&self, window: Duration) {
        let ms = u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
        self.window_ms.store(ms, Ordering::Relaxed);
    }

    /// Bytes of superseded versions, entries that are dead and their histories: kept for the window, for a transaction, or not
    /// collected yet.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed).max(0) as u64
    }

    /// At most what they may take.
    pub fn bytes_allowed(memory: &MemoryBudget) -> u64 {
        memory.limit() / SHARE
    }

    pub(crate) fn charge(&self, bytes: i64) {
        if bytes != 0 {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Which part of the time that is kept has to be given up, if one has: an eighth, a half, all. What has been changed lately may take more
    /// than all of the time before it, so the further they are above what they may take, the larger the part.
    pub(crate) fn to_give_up(&self, memory: &MemoryBudget) -> Option<u64> {
        let allowed = Past::bytes_allowed(memory);
        match self.bytes() {
            0 => None,
            bytes if bytes > allowed / 2 * 3 => Some(1),
            bytes if bytes > allowed / 4 * 5 => Some(2),
            _ if memory.used() > memory.limit() / 8 * EIGHTHS_IN_USE => Some(2),
            bytes => (bytes > allowed).then_some(8),
        }
    }
}
