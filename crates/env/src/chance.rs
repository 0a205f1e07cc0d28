//! Time and randomness.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// Two clocks: one for measuring, which never goes back, and the wall clock, which may.
pub trait Clock: Send + Sync + 'static {
    /// Time since an arbitrary moment in the past; never goes back.
    fn monotonic(&self) -> Duration;

    /// Time since 1970-01-01 00:00:00 UTC. May step in either direction.
    fn wall(&self) -> Duration;

    /// Lets this much time pass on the monotonic clock; blocks the thread.
    fn sleep(&self, time: Duration);
}

/// A clock that stands still until it is told to move; who sleeps moves it.
#[derive(Debug, Default)]
pub struct ManualClock {
    nanos: AtomicU64,
}

impl ManualClock {
    pub fn advance(&self, by: Duration) {
        self.nanos.fetch_add(by.as_nanos() as u64, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::SeqCst))
    }

    fn wall(&self) -> Duration {
        const YEAR_2024: Duration = Duration::from_secs(1_704_067_200);
        YEAR_2024 + self.monotonic()
    }

    fn sleep(&self, time: Duration) {
        self.advance(time);
    }
}

pub trait Random: Send + Sync + 'static {
    fn next_u64(&self) -> u64;
}

/// A repeatable stream of numbers (splitmix64, Steele, Lea and Flood 2014). Not for secrets.
#[derive(Debug)]
pub struct SeededRandom {
    state: Mutex<u64>,
}

impl SeededRandom {
    pub fn new(seed: u64) -> SeededRandom {
        SeededRandom {
            state: Mutex::new(seed),
        }
    }

    /// A number below `limit`; `limit` must not be zero.
    pub fn below(&self, limit: u64) -> u64 {
        self.next_u64() % limit
    }
}

impl Random for SeededRandom {
    fn next_u64(&self) -> u64 {
        let mut state = self.state.lock();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
