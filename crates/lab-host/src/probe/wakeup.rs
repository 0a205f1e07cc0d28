//! How long a woken thread takes until its first instruction: two threads wake each other by turns through a futex, on one
//! core and on two; and how much longer than asked a sleep of 50 µs takes.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab_results::Latency;
use lab_results::host::WakeupProbe;
use rustix::thread::{CpuSet, futex};

const ROUNDS: u32 = 5_000;
const TIME_LIMIT: Duration = Duration::from_secs(2);
const SLEEP: Duration = Duration::from_micros(50);
const SLEEPS: u32 = 2_000;
const STOP: u64 = u64::MAX;

pub fn probe(problems: &mut Vec<String>) -> WakeupProbe {
    let cores = allowed_cores();
    let first = cores.first().copied();
    let second = cores.get(1).copied();
    if second.is_none() {
        problems.push("wake-up on another core: this process may use one core only".to_owned());
    }
    WakeupProbe {
        same_core: ping_pong(first, first),
        other_core: match second {
            Some(second) => ping_pong(first, Some(second)),
            None => Latency::default(),
        },
        sleep_overshoot: sleep_overshoot(),
    }
}

fn allowed_cores() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

fn pin(core: Option<usize>) {
    if let Some(core) = core {
        let mut set = CpuSet::new();
        set.set(core);
        // Where pinning is forbidden the scheduler places the threads, as it would a server's.
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

/// Time from just before a thread wakes the other to the other's first look at the clock.
fn ping_pong(one: Option<usize>, other: Option<usize>) -> Latency {
    let turn = AtomicU32::new(0);
    let woken_at = AtomicU64::new(0);
    let epoch = Instant::now();
    let player = |me: u32, core: Option<usize>| {
        pin(core);
        let mut latency = Latency::default();
        for round in 0..ROUNDS {
            while turn.load(Ordering::Acquire) != me {
                // An error is a wake-up for nothing; the loop looks again.
                let _ = futex::wait(&turn, futex::Flags::PRIVATE, 1 - me, None);
            }
            let now = epoch.elapsed().as_nanos() as u64;
            let woken = woken_at.load(Ordering::Relaxed);
            if round > 0 && woken != STOP {
                latency.record_us((now.saturating_sub(woken) + 500) / 1000);
            }
            // Both stop in the same round: the first to see the limit hands over a last time, with a mark for the stamp.
            let stop = woken == STOP || epoch.elapsed() > TIME_LIMIT;
            let stamp = if stop { STOP } else { epoch.elapsed().as_nanos() as u64 };
            woken_at.store(stamp, Ordering::Relaxed);
            turn.store(1 - me, Ordering::Release);
            let _ = futex::wake(&turn, futex::Flags::PRIVATE, 1);
            if stop {
                break;
            }
        }
        latency
    };
    thread::scope(|scope| {
        let second = scope.spawn(|| player(1, other));
        let first = scope.spawn(|| player(0, one));
        let mut latency = first.join().expect("a player does not panic");
        latency.merge(&second.join().expect("a player does not panic"));
        latency
    })
}

fn sleep_overshoot() -> Latency {
    // In a thread of its own, since the slack, by which the kernel may delay timers to bundle them, is a thread's: the
    // machine is asked for, not that default.
    let sleeper = || {
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut latency = Latency::default();
        let began = Instant::now();
        for _ in 0..SLEEPS {
            let start = Instant::now();
            thread::sleep(SLEEP);
            latency.record_us((start.elapsed().saturating_sub(SLEEP).as_nanos() as u64 + 500) / 1000);
            if began.elapsed() > TIME_LIMIT {
                break;
            }
        }
        latency
    };
    thread::scope(|scope| scope.spawn(sleeper).join().expect("a sleeper does not panic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_players_wake_and_end() {
        let core = allowed_cores().first().copied();
        let latency = ping_pong(core, core);
        assert!(latency.count() > 0);
        assert!(latency.count() <= 2 * u64::from(ROUNDS));
    }
}
