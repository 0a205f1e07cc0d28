//! What the shard has done since it was opened, in figures for the metrics.
//!
//! A [`Histogram`] counts in buckets that double, which needs no table of bounds and one atomic addition: bucket `i`
//! holds values up to 2^i. Times are microseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use env::Clock;

/// Bounds 1, 2, 4 … 2^24 (16.8 seconds in microseconds), and one bucket beyond.
const BUCKETS: usize = 26;

#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum: AtomicU64,
}

impl Histogram {
    pub(crate) fn observe(&self, value: u64) {
        let bucket = (u64::BITS - value.saturating_sub(1).leading_zeros()) as usize;
        self.buckets[bucket.min(BUCKETS - 1)].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    pub(crate) fn observe_time(&self, time: Duration) {
        self.observe(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// How many values fell between the last bound and this one, by rising bound; those beyond every bound stand at `None`.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bound = |i| (i < BUCKETS - 1).then(|| 1_u64 << i);
        self.buckets
            .iter()
            .enumerate()
            .map(move |(i, count)| (bound(i), count.load(Relaxed)))
    }

    pub fn sum(&self) -> u64 {
        self.sum.load(Relaxed)
    }
}

/// Read with [`Shard::meters`](crate::Shard::meters).
pub struct Meters {
    clock: Arc<dyn Clock>,
    /// From entering the queue to the answer, in microseconds.
    pub commit: Histogram,
    /// Transactions per log entry.
    pub batch: Histogram,
    /// Writing and syncing a log entry, in microseconds.
    pub sync: Histogram,
    pub log_bytes: AtomicU64,
    /// When the oldest entry was written that was answered in memory and is not synced yet, by the monotonic clock in microseconds; 0: none.
    unsynced_since: AtomicU64,
    /// Calls to whoever leads, for sessions of this node.
    pub calls: AtomicU64,
    /// Checkpoints written, and tries that came to nothing.
    pub checkpoints: AtomicU64,
    pub checkpoint_failures: AtomicU64,
}

impl Meters {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Arc<Meters> {
        Arc::new(Meters {
            clock,
            commit: Histogram::default(),
            batch: Histogram::default(),
            sync: Histogram::default(),
            log_bytes: AtomicU64::new(0),
            unsynced_since: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            checkpoints: AtomicU64::new(0),
            checkpoint_failures: AtomicU64::new(0),
        })
    }

    /// How long the oldest commit has waited that was answered and is not on the disk, if there is one.
    pub fn unsynced(&self) -> Option<Duration> {
        match self.unsynced_since.load(Relaxed) {
            0 => None,
            since => Some(self.since(Duration::from_micros(since))),
        }
    }

    pub(crate) fn note_unsynced(&self, since: Option<Duration>) {
        let micros = since.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX).max(1));
        self.unsynced_since.store(micros, Relaxed);
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.monotonic()
    }

    pub(crate) fn since(&self, earlier: Duration) -> Duration {
        self.now().saturating_sub(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_the_smallest_bucket_that_holds_them() {
        let histogram = Histogram::default();
        for value in [0, 1, 2, 3, 4, 5, 1 << 24, (1 << 24) + 1, u64::MAX / 2] {
            histogram.observe(value);
        }
        let filled: Vec<_> = histogram.buckets().filter(|(_, count)| *count > 0).collect();
        assert_eq!(
            filled,
            [
                (Some(1), 2),
                (Some(2), 1),
                (Some(4), 2),
                (Some(8), 1),
                (Some(1 << 24), 1),
                (None, 2)
            ]
        );
    }
}
