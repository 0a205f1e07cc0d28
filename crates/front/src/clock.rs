//! The time to a few milliseconds, for what happens at every command: deadlines and the process list.
//!
//! The system's coarse clock is read in a fifth of the time of the precise one.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A moment of the monotonic clock, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoarseInstant(u64);

impl CoarseInstant {
    pub fn now() -> CoarseInstant {
        let now = clock_gettime(ClockId::MonotonicCoarse);
        CoarseInstant(now.tv_sec as u64 * 1_000 + now.tv_nsec as u64 / 1_000_000)
    }

    /// From now on, never earlier than `duration` after the precise time: a tick is added.
    pub fn after(self, duration: Duration) -> CoarseInstant {
        const TICK_MS: u64 = 4;
        CoarseInstant(
            self.0
                .saturating_add(duration.as_millis() as u64)
                .saturating_add(TICK_MS),
        )
    }

    /// Until then, at most a year: timers do not reach further.
    pub fn left(self) -> Duration {
        const YEAR_MS: u64 = 365 * 86_400_000;
        Duration::from_millis(self.0.saturating_sub(CoarseInstant::now().0).min(YEAR_MS))
    }

    pub fn as_millis(self) -> u64 {
        self.0
    }

    pub fn from_millis(millis: u64) -> CoarseInstant {
        CoarseInstant(millis)
    }

    pub fn elapsed(self) -> Duration {
        Duration::from_millis(CoarseInstant::now().0.saturating_sub(self.0))
    }
}
