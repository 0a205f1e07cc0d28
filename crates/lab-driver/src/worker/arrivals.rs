//! When transactions should begin, whatever the answers do.
//!
//! Each worker has its share of the rate. Due times are made one by one, so that a backlog of any length takes no memory: it is
//! the time between the next due time and now.

use std::os::fd::OwnedFd;

use lab_results::run::{Arrivals as Spacing, Load};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::workload::Random;

const SECOND: i64 = 1_000_000_000;

pub(crate) struct Arrivals {
    spacing: Spacing,
    /// Nanoseconds between two transactions of this worker, in the mean.
    gap: f64,
    next: f64,
    random: Random,
}

impl Arrivals {
    /// `None` in a closed loop. Time runs from the start of the warm-up, which [`Arrivals::begin_at`] sets.
    pub fn new(load: &Load, seed: u64, worker: usize, workers: usize) -> Option<Arrivals> {
        let Load::Open {
            rate_per_s, arrivals, ..
        } = load
        else {
            return None;
        };
        let gap = SECOND as f64 * workers as f64 / rate_per_s;
        let mut arrivals = Arrivals {
            spacing: *arrivals,
            gap,
            // Even spacing over all workers: each begins its part of a gap later.
            next: gap * worker as f64 / workers as f64,
            random: Random::new(seed ^ 0x6172_7269_7661_6c73, worker as u64),
        };
        if arrivals.spacing == Spacing::Poisson {
            arrivals.next = 0.0;
            arrivals.advance();
        }
        Some(arrivals)
    }

    /// Moves the first due time; `at` is negative while it warms up.
    pub fn begin_at(mut self, at: i64) -> Arrivals {
        self.next += at as f64;
        self
    }

    #[inline]
    pub fn next_due(&self) -> i64 {
        self.next as i64
    }

    #[inline]
    pub fn advance(&mut self) {
        self.next += match self.spacing {
            Spacing::Even => self.gap,
            Spacing::Poisson => -(1.0 - self.random.unit()).ln() * self.gap,
        };
    }

    /// How many are due before `end` and were not begun.
    pub fn due_before(&mut self, end: i64) -> u64 {
        let mut due = 0;
        while self.next_due() < end {
            due += 1;
            self.advance();
        }
        due
    }
}

/// A timer that wakes an epoll with more precision than its milliseconds.
pub(super) fn timer() -> Result<OwnedFd, Errno> {
    timerfd_create(
        TimerfdClockId::Monotonic,
        TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
    )
}

pub(super) fn ring_in(timer: &OwnedFd, nanos: i64) {
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    let value = Itimerspec {
        it_interval: zero,
        it_value: Timespec {
            tv_sec: nanos / SECOND,
            tv_nsec: nanos % SECOND,
        },
    };
    // Should it fail, the epoll's own time-out still wakes us, later.
    let _ = timerfd_settime(timer, TimerfdTimerFlags::empty(), &value);
}

/// Takes note that the timer rang, so that it can ring again.
pub(super) fn rang(timer: Option<&OwnedFd>) {
    if let Some(timer) = timer {
        let _ = rustix::io::read(timer, &mut [0_u8; 8]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(spacing: Spacing, workers: usize) -> u64 {
        let load = Load::Open {
            rate_per_s: 5000.0,
            arrivals: spacing,
            threads_total: 4,
        };
        (0..workers)
            .map(|worker| {
                let arrivals = Arrivals::new(&load, 1, worker, workers).unwrap();
                arrivals.begin_at(-SECOND).due_before(9 * SECOND)
            })
            .sum()
    }

    #[test]
    fn the_rate_is_the_sum_over_workers() {
        assert_eq!(due(Spacing::Even, 1), 50_000);
        assert_eq!(due(Spacing::Even, 3), 50_000);
        let poisson = due(Spacing::Poisson, 3) as f64;
        // Five standard deviations of a count of 50,000.
        assert!((poisson - 50_000.0).abs() < 5.0 * 50_000_f64.sqrt(), "{poisson}");
    }
}
