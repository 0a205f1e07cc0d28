//! How long statements take: one histogram of all that clients send as text or execute prepared.
//!
//! Each thread counts in a part of its own, so that none waits for another's cache line. A bucket is a quarter of the power of two that it
//! lies in: what is read out of it is wrong by an eighth at most.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use governor::apart::{PARTS, part_of_thread};

/// Up to four microseconds each has a bucket; the last takes all beyond an hour.
const BUCKETS: usize = 128;

/// Of a node, since its start.
pub struct StatementTimes {
    parts: Box<[Part]>,
}

#[repr(align(128))]
struct Part([AtomicU64; BUCKETS]);

impl Default for StatementTimes {
    fn default() -> StatementTimes {
        let part = |_| Part([const { AtomicU64::new(0) }; BUCKETS]);
        StatementTimes {
            parts: (0..PARTS).map(part).collect(),
        }
    }
}

impl StatementTimes {
    #[inline]
    pub(crate) fn note(&self, took: Duration) {
        let bucket = bucket_of(took.as_micros() as u64);
        self.parts[part_of_thread()].0[bucket].fetch_add(1, Relaxed);
    }

    /// The inclusive upper bounds of the buckets in microseconds, ascending, and how many statements fell into each.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let count = |bucket: usize| self.parts.iter().map(|part| part.0[bucket].load(Relaxed)).sum();
        (0..BUCKETS).map(|bucket| (end_of(bucket), count(bucket))).collect()
    }
}

fn bucket_of(micros: u64) -> usize {
    if micros < 4 {
        return micros as usize;
    }
    let power = micros.ilog2();
    let quarter = (micros >> (power - 2)) & 3;
    ((power as usize - 1) * 4 + quarter as usize).min(BUCKETS - 1)
}

fn end_of(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let (power, quarter) = (bucket / 4 + 1, bucket as u64 % 4);
    ((4 + quarter + 1) << (power - 2)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_falls_into_the_first_bucket_that_does_not_end_before_it() {
        for micros in (0..5_000).chain([1 << 20, (1 << 20) + 1, 999_999_999]) {
            let bucket = bucket_of(micros);
            assert!(micros <= end_of(bucket), "{micros}");
            assert!(bucket == 0 || micros > end_of(bucket - 1), "{micros}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn times_are_counted() {
        let times = StatementTimes::default();
        times.note(Duration::from_micros(100));
        times.note(Duration::from_micros(101));
        times.note(Duration::from_secs(100_000));
        let counted = times.buckets().into_iter().filter(|(_, count)| *count > 0);
        assert_eq!(counted.collect::<Vec<_>>(), [(111, 2), (end_of(BUCKETS - 1), 1)]);
    }
}
