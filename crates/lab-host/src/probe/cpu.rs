//! The prime loop, comparable with `sysbench cpu`: one event tests every number from 3 to 10,000 by dividing it by every
//! number from 2 to its root.
//!
//! Its time is the time of 64-bit divisions, which differ widely between processor generations: that is what the figure is
//! known for, and why the division here must be the 64-bit one even where compilers would test for a shorter way first.

#![allow(unsafe_code)]

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use lab_results::host::CpuProbe;

const LIMIT: u64 = 10_000;
/// Primes from 3 to 9,999.
const PRIMES: u64 = 1228;

pub fn probe(time: Duration) -> CpuProbe {
    CpuProbe {
        events_per_s: events_per_s(1, time),
        events_per_s_all_cores: events_per_s(cores(), time),
    }
}

/// Cores that this process may run on.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Events of all `threads` together, per second.
pub fn events_per_s(threads: usize, time: Duration) -> f64 {
    let start = Barrier::new(threads);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    let began = Instant::now();
                    let mut events = 0;
                    while began.elapsed() < time {
                        let primes = event();
                        assert_eq!(primes, PRIMES, "this processor cannot divide");
                        events += 1;
                    }
                    f64::from(events) / began.elapsed().as_secs_f64()
                })
            })
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().expect("the loop does not panic"))
            .sum()
    })
}

fn event() -> u64 {
    let mut primes = 0;
    for candidate in 3..LIMIT {
        let root = (candidate as f64).sqrt();
        let mut divisor = 2;
        while as_float(divisor) <= root && remainder(candidate, divisor) != 0 {
            divisor += 1;
        }
        if as_float(divisor) > root {
            primes += 1;
        }
    }
    primes
}

/// Through the signed type, which every processor converts in one instruction.
fn as_float(small: u64) -> f64 {
    small.cast_signed() as f64
}

/// `number % divisor`, by the 64-bit instruction. LLVM's code for older x86 takes the 32-bit one when both are small, which
/// there is up to four times as fast as what sysbench's compilers emit.
#[cfg(target_arch = "x86_64")]
fn remainder(number: u64, divisor: u64) -> u64 {
    debug_assert!(divisor != 0);
    let remainder;
    // SAFETY: the high half is 0 and `divisor` is at least 2, so that the quotient fits; registers only.
    unsafe {
        std::arch::asm!(
            "div {divisor}",
            divisor = in(reg) divisor,
            inlateout("rax") number => _,
            inlateout("rdx") 0u64 => remainder,
            options(pure, nomem, nostack),
        );
    }
    remainder
}

#[cfg(not(target_arch = "x86_64"))]
fn remainder(number: u64, divisor: u64) -> u64 {
    std::hint::black_box(number) % std::hint::black_box(divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_finds_the_primes_below_its_limit() {
        let by_sieve = (3..LIMIT)
            .filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0))
            .count();
        assert_eq!(event(), by_sieve as u64);
        assert_eq!(by_sieve as u64, PRIMES);
    }

    #[test]
    fn the_rate_is_per_second_whatever_the_time() {
        let rate = events_per_s(1, Duration::from_millis(50));
        assert!(rate > 1.0, "{rate}");
    }
}
