//! A node's clocks: they run at a pace of their own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use env::Clock;

/// Set by the simulation; nobody sleeps on it.
pub struct NodeClock {
    /// Milliseconds of the node's own since the world began.
    local: AtomicU64,
    /// By which its wall clock is wrong, in milliseconds.
    skew: AtomicU64,
}

const EPOCH: Duration = Duration::from_secs(1_704_067_200);

impl NodeClock {
    pub fn new(skew: u64) -> NodeClock {
        NodeClock {
            local: AtomicU64::new(0),
            skew: AtomicU64::new(skew),
        }
    }

    pub fn set(&self, local: u64) {
        self.local.store(local, Ordering::Relaxed);
    }

    /// Somebody sets the wall clock.
    pub fn set_skew(&self, skew: u64) {
        self.skew.store(skew, Ordering::Relaxed);
    }
}

impl Clock for NodeClock {
    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.local.load(Ordering::Relaxed))
    }

    fn wall(&self) -> Duration {
        EPOCH + self.monotonic() + Duration::from_millis(self.skew.load(Ordering::Relaxed))
    }

    fn sleep(&self, _time: Duration) {}
}
