//! How long commands take: a histogram for each of them (LATENCY HISTOGRAM).
//!
//! What is counted is the time from a command's begin to its reply, with its commit where it writes. Commands that share a transaction have
//! equal parts of its time. Each thread counts in a part of its own, so that none waits for another's cache line.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::apart::{PARTS, part_of_thread};

use crate::command::{Command, Commands};

/// The first bucket ends at 1.024 microseconds, each other one at twice the one before; the last takes all that is longer.
const BUCKETS: usize = 34;

type Buckets = [AtomicU64; BUCKETS];

/// The histograms of a node.
pub struct Latencies {
    parts: Vec<Box<[Buckets]>>,
    /// Nanoseconds of all calls.
    times: Vec<Box<[AtomicU64]>>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        let commands = Commands::get().count();
        let part = |_| {
            (0..commands)
                .map(|_| std::array::from_fn(|_| AtomicU64::new(0)))
                .collect()
        };
        Latencies {
            parts: (0..PARTS).map(part).collect(),
            times: (0..PARTS)
                .map(|_| (0..commands).map(|_| AtomicU64::new(0)).collect())
                .collect(),
        }
    }
}

/// How often a command ran, and how long that took.
pub struct Histogram {
    pub calls: u64,
    /// The end of a bucket in microseconds, and how many took no longer. Only buckets that have some.
    pub at_most: Vec<(u64, u64)>,
}

impl Latencies {
    /// Commands that took so long together, in equal parts.
    #[inline]
    pub fn add<'c>(&self, commands: impl ExactSizeIterator<Item = &'c Command>, took: Duration) {
        let each = took.as_nanos() as u64 / commands.len().max(1) as u64;
        let bucket = bucket_of(each);
        let part = part_of_thread();
        let count = |number: usize, calls: u64| {
            self.parts[part][number][bucket].fetch_add(calls, Ordering::Relaxed);
            self.times[part][number].fetch_add(calls * each, Ordering::Relaxed);
        };
        // Pipelines are mostly of one command.
        let (mut last, mut calls) = (0, 0);
        for command in commands {
            if command.number != last && calls > 0 {
                count(last, std::mem::take(&mut calls));
            }
            (last, calls) = (command.number, calls + 1);
        }
        if calls > 0 {
            count(last, calls);
        }
    }

    /// `None`: it has not been called.
    pub fn of(&self, command: &Command) -> Option<Histogram> {
        let mut histogram = Histogram {
            calls: 0,
            at_most: Vec::new(),
        };
        for bucket in 0..BUCKETS {
            let counts = self
                .parts
                .iter()
                .map(|part| part[command.number][bucket].load(Ordering::Relaxed));
            let count: u64 = counts.sum();
            if count > 0 {
                histogram.calls += count;
                histogram.at_most.push((end_micros(bucket), histogram.calls));
            }
        }
        (histogram.calls > 0).then_some(histogram)
    }

    /// How often it has been called, and how many microseconds that took; `None`: it has not been.
    pub fn total(&self, command: &Command) -> Option<(u64, u64)> {
        let sum =
            |counts: &mut dyn Iterator<Item = &AtomicU64>| counts.map(|count| count.load(Ordering::Relaxed)).sum();
        let calls: u64 = sum(&mut self.parts.iter().flat_map(|part| &part[command.number]));
        let nanos: u64 = sum(&mut self.times.iter().map(|part| &part[command.number]));
        (calls > 0).then_some((calls, nanos / 1000))
    }

    /// Calls of all commands.
    pub fn all_calls(&self) -> u64 {
        let counts = self.parts.iter().flat_map(|part| part.iter().flatten());
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    pub fn clear(&self) {
        let times = self.times.iter().flat_map(|part| part.iter());
        times.for_each(|time| time.store(0, Ordering::Relaxed));
        let counts = self.parts.iter().flat_map(|part| part.iter().flatten());
        counts.for_each(|count| count.store(0, Ordering::Relaxed));
    }
}

fn bucket_of(nanos: u64) -> usize {
    let above = nanos.saturating_sub(1) >> 10;
    ((u64::BITS - above.leading_zeros()) as usize).min(BUCKETS - 1)
}

/// As the histograms of Redis show it: their values have two digits.
fn end_micros(bucket: usize) -> u64 {
    let end = 1024 << bucket;
    (end + end / 128 - 1) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_redis() {
        let ends: Vec<u64> = (0..12).map(end_micros).collect();
        assert_eq!(ends, [1, 2, 4, 8, 16, 33, 66, 132, 264, 528, 1056, 2113]);
        for (nanos, bucket) in [
            (0, 0),
            (1024, 0),
            (1025, 1),
            (2048, 1),
            (2049, 2),
            (u64::MAX, BUCKETS - 1),
        ] {
            assert_eq!(bucket_of(nanos), bucket, "{nanos}");
        }
    }

    #[test]
    fn counts_are_cumulative() {
        let latencies = Latencies::default();
        let get = Commands::get().find(b"get").unwrap();
        assert!(latencies.of(get).is_none());
        let set = Commands::get().find(b"set").unwrap();
        latencies.add([get, set, get].iter().copied(), Duration::from_nanos(3000));
        assert_eq!(latencies.of(set).unwrap().calls, 1);
        latencies.add([get].iter().copied(), Duration::from_micros(3));
        let histogram = latencies.of(get).unwrap();
        assert_eq!((histogram.calls, histogram.at_most), (3, vec![(1, 2), (4, 3)]));
        latencies.clear();
        assert!(latencies.of(get).is_none());
    }
}
