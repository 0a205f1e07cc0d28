//! Memory: blocks of 1 KiB written by one thread, comparable with `sysbench memory`; a sequential read; and a chase of
//! pointers for the latency.
//!
//! `sysbench memory`'s default block is so small that its figure is as much the cost of timing an event (three looks at the
//! clock, a logarithm for the histogram, counters that threads share) as of writing 1 KiB. To be comparable, ours pays about the same.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lab_results::host::MemoryProbe;

const BLOCK_WORDS: usize = 1024 / 8;
const MIB: f64 = 1024.0 * 1024.0;
const LARGE: usize = 256 * 1024 * 1024;
const LINE_WORDS: usize = 64 / 4;

pub fn probe(time: Duration) -> MemoryProbe {
    MemoryProbe {
        write_1k_mib_per_s: write_1k_mib_per_s(time),
        sequential_read_mib_per_s: sequential_read_mib_per_s(time),
        random_read_ns: random_read_ns(time),
    }
}

pub fn write_1k_mib_per_s(time: Duration) -> f64 {
    let block: Vec<AtomicU64> = (0..BLOCK_WORDS).map(|_| AtomicU64::new(0)).collect();
    let ledger = Ledger::new();
    let began = Instant::now();
    while began.elapsed() < time {
        let number = ledger.begin();
        let start = Instant::now();
        for word in &block {
            word.store(number, Ordering::Relaxed);
        }
        ledger.end(start.elapsed());
    }
    black_box(&ledger);
    ledger.events() as f64 * 1024.0 / MIB / began.elapsed().as_secs_f64()
}

/// What a load generator that many threads share writes down of each event. What it notes is chosen so that an event costs
/// what it costs sysbench 1.0.20.
#[derive(Debug)]
struct Ledger {
    begun: AtomicU64,
    ended: AtomicU64,
    bytes: AtomicU64,
    total_nanos: AtomicU64,
    /// Of the whole run, and of the interval that would be reported next.
    histograms: [Histogram; 2],
}

/// As many copies as keep threads apart: each event takes one at random.
#[derive(Debug)]
struct Histogram {
    buckets: Vec<AtomicU64>,
    random: Cell<u64>,
}

const BUCKETS: usize = 1024;
const COPIES: u64 = 128;

impl Histogram {
    fn new() -> Histogram {
        Histogram {
            buckets: (0..BUCKETS * COPIES as usize).map(|_| AtomicU64::new(0)).collect(),
            random: Cell::new(0x9e37_79b9_7f4a_7c15),
        }
    }

    #[inline(never)]
    fn record(&self, nanos: u64) {
        let bucket = ((nanos.max(1) as f64).ln() * 40.0 + 0.5).floor() as usize;
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        let place = (random % COPIES) as usize * BUCKETS + bucket.min(BUCKETS - 1);
        self.buckets[place].fetch_add(1, Ordering::SeqCst);
    }
}

impl Ledger {
    fn new() -> Ledger {
        Ledger {
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            total_nanos: AtomicU64::new(0),
            histograms: [Histogram::new(), Histogram::new()],
        }
    }

    #[inline(never)]
    fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst)
    }

    #[inline(never)]
    fn end(&self, took: Duration) {
        let nanos = took.as_nanos() as u64;
        self.ended.fetch_add(1, Ordering::SeqCst);
        self.bytes.fetch_add(8 * BLOCK_WORDS as u64, Ordering::SeqCst);
        self.total_nanos.fetch_add(nanos, Ordering::SeqCst);
        for histogram in &self.histograms {
            histogram.record(nanos);
        }
    }

    fn events(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }
}

fn sequential_read_mib_per_s(time: Duration) -> f64 {
    let words = large() / 8;
    let buffer: Vec<u64> = (0..words as u64).collect();
    let began = Instant::now();
    let mut passes = 0;
    while began.elapsed() < time || passes == 0 {
        let sum = black_box(&buffer)
            .iter()
            .fold(0, |sum: u64, word| sum.wrapping_add(*word));
        black_box(sum);
        passes += 1;
    }
    f64::from(passes) * (words * 8) as f64 / MIB / began.elapsed().as_secs_f64()
}

/// Nanoseconds per read when each address depends on the last read.
fn random_read_ns(time: Duration) -> f64 {
    let lines = large() / 64;
    let chain = one_cycle(lines);
    const STEPS: u64 = 10_000;
    let (mut place, mut reads) = (0, 0);
    let began = Instant::now();
    while began.elapsed() < time {
        for _ in 0..STEPS {
            place = chain[place as usize * LINE_WORDS];
        }
        reads += STEPS;
    }
    black_box(place);
    began.elapsed().as_nanos() as f64 / reads as f64
}

/// One number per cache line, the index of the next line: a single cycle through all of them in random order (Sattolo's
/// shuffle), so that no prefetcher knows the way and no short cycle stays in a cache.
fn one_cycle(lines: usize) -> Vec<u32> {
    let mut chain = vec![0u32; lines * LINE_WORDS];
    for line in 0..lines {
        chain[line * LINE_WORDS] = line as u32;
    }
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    for line in (1..lines).rev() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let other = (random % line as u64) as usize;
        chain.swap(line * LINE_WORDS, other * LINE_WORDS);
    }
    chain
}

/// 256 MiB, or an eighth of a small machine's memory.
fn large() -> usize {
    let pages = rustix::system::sysinfo();
    let total = pages.totalram.saturating_mul(u64::from(pages.mem_unit)) as usize;
    LARGE.min((total / 8).next_multiple_of(4096)).max(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_one_cycle() {
        let lines = 1000;
        let chain = one_cycle(lines);
        let (mut place, mut seen) = (0, 0);
        loop {
            place = chain[place as usize * LINE_WORDS];
            seen += 1;
            if place == 0 {
                break;
            }
        }
        assert_eq!(seen, lines);
    }
}
