//! How old the newest rows are that a replica has for certain.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Until when this replica is known to have had everything.
pub(super) struct Freshest {
    opened: Instant,
    /// Microseconds since; 0: it was not known yet.
    at: AtomicU64,
}

impl Freshest {
    pub fn new() -> Freshest {
        Freshest {
            opened: Instant::now(),
            at: AtomicU64::new(0),
        }
    }

    /// Everything that was committed before `asked` is here. That moment is this node's own: how long the leader's answer was on its way,
    /// or lay about, makes nothing look newer than it is.
    pub fn note(&self, asked: Instant) {
        let micros = asked.saturating_duration_since(self.opened).as_micros() as u64;
        self.at.fetch_max(micros.max(1), Ordering::AcqRel);
    }

    pub fn ago(&self) -> Option<Duration> {
        match self.at.load(Ordering::Acquire) {
            0 => None,
            micros => Some(self.opened.elapsed().saturating_sub(Duration::from_micros(micros))),
        }
    }
}
