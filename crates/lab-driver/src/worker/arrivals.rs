//! When transactions should begin, whatever the answers do.
//!
//! The rate is a piecewise linear function of time: constant while it warms up, then the profile's phases, or one rate for ever. The
//! n-th transaction is due when the area under that function has grown to n (even spacing), or to the sum of n exponential draws: that
//! is a Poisson process of just this rate. Each worker has its share of the transactions. Due times are made one by one, so that a
//! backlog of any length takes no memory: it is the time between the next due time and now.

use std::os::fd::OwnedFd;

use lab_results::run::{Arrivals as Spacing, Load};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::run::Share;
use crate::workload::Random;

const SECOND: i64 = 1_000_000_000;

#[derive(Clone)]
pub(crate) struct Arrivals {
    spacing: Spacing,
    /// Of all workers, the transactions from one of this worker's to its next, in the mean.
    step: f64,
    curve: Curve,
    /// Nanoseconds since the measured interval began.
    next: f64,
    random: Random,
}

impl Arrivals {
    /// Of the `worker`-th of so many workers of this driver; `None` in a closed loop. Time is counted from the start of the measured
    /// interval, and begins at `-warmup` (nanoseconds).
    pub fn new(
        load: &Load,
        seed: u64,
        (worker, workers): (usize, usize),
        share: Share,
        warmup: i64,
    ) -> Option<Arrivals> {
        let Load::Open {
            rate_per_s,
            arrivals,
            profile,
            ..
        } = load
        else {
            return None;
        };
        let begin = -warmup as f64;
        let (fraction, before) = share.fraction();
        let curve = match profile {
            None => Curve::constant(begin, *rate_per_s),
            Some(profile) => {
                let first = profile.phases.first().map_or(0.0, |phase| phase.from_per_s);
                let mut curve = Curve::constant(begin, first);
                for phase in &profile.phases {
                    curve.then(phase.from_per_s, phase.to_per_s, phase.seconds);
                }
                curve
            }
        };
        let mut arrivals = Arrivals {
            spacing: *arrivals,
            step: workers as f64 / fraction,
            curve,
            next: begin,
            random: Random::new(
                seed ^ 0x6172_7269_7661_6c73,
                worker as u64 | u64::from(share.first) << 32,
            ),
        };
        match arrivals.spacing {
            // Even spacing over all workers of all drivers: each begins its part of a gap later.
            Spacing::Even => arrivals.next = arrivals.curve.after(begin, (worker as f64 + before) / fraction),
            Spacing::Poisson => arrivals.advance(),
        }
        Some(arrivals)
    }

    #[inline]
    pub fn next_due(&self) -> i64 {
        self.next as i64
    }

    #[inline]
    pub fn advance(&mut self) {
        let count = match self.spacing {
            Spacing::Even => self.step,
            Spacing::Poisson => -(1.0 - self.random.unit()).ln() * self.step,
        };
        self.next = self.curve.after(self.next, count);
    }

    /// Passes over those that are due before `end` and were not begun, each to `each`.
    pub fn give_up_before(&mut self, end: i64, mut each: impl FnMut(i64)) {
        while self.next_due() < end {
            each(self.next_due());
            self.advance();
        }
    }

    /// How many are due before `end` and were not begun.
    pub fn waiting_before(&self, end: i64) -> u64 {
        let mut waiting = 0;
        self.clone().give_up_before(end, |_| waiting += 1);
        waiting
    }
}

/// A rate over time; the last stretch has no end.
#[derive(Clone)]
struct Curve {
    stretches: Vec<Stretch>,
    /// The stretch of the last answer: time only goes on.
    at: usize,
}

#[derive(Clone)]
struct Stretch {
    begin: f64,
    end: f64,
    /// Nanoseconds from one transaction to the next where the rate stays the same; infinite for a rate of 0.
    gap: f64,
    /// Transactions per nanosecond at the beginning, and by how much that grows with each nanosecond.
    rate: f64,
    slope: f64,
}

impl Curve {
    /// The same rate before the phases, and for ever if there are none.
    fn constant(begin: f64, rate_per_s: f64) -> Curve {
        let first = Stretch {
            begin,
            end: f64::INFINITY,
            gap: SECOND as f64 / rate_per_s,
            rate: rate_per_s / SECOND as f64,
            slope: 0.0,
        };
        Curve {
            stretches: vec![first],
            at: 0,
        }
    }

    /// Appends a phase; the first one begins at 0.
    fn then(&mut self, from_per_s: f64, to_per_s: f64, seconds: f64) {
        let is_first = self.stretches.len() == 1;
        let begin = if is_first {
            0.0
        } else {
            self.stretches.last().map_or(0.0, |last| last.end)
        };
        let end = begin + seconds * SECOND as f64;
        if is_first {
            self.stretches[0].end = begin;
        }
        let per_ns = |rate: f64| rate / SECOND as f64;
        self.stretches.push(Stretch {
            begin,
            end,
            gap: SECOND as f64 / from_per_s,
            rate: per_ns(from_per_s),
            slope: (per_ns(to_per_s) - per_ns(from_per_s)) / (end - begin),
        });
    }

    /// When, from the moment `at` on, `count` transactions more are due; infinite if that never comes.
    #[inline]
    fn after(&mut self, mut at: f64, mut count: f64) -> f64 {
        loop {
            let Some(stretch) = self.stretches.get(self.at) else {
                return f64::INFINITY;
            };
            match stretch.after(at, count) {
                Ok(due) => return due,
                Err(left) => {
                    (at, count) = (stretch.end, left);
                    self.at += 1;
                }
            }
        }
    }
}

impl Stretch {
    /// As of the curve; `Err` is what of `count` is left when the stretch is over.
    #[inline]
    fn after(&self, at: f64, count: f64) -> Result<f64, f64> {
        if self.slope == 0.0 {
            let due = at + count * self.gap;
            return if due < self.end {
                Ok(due)
            } else {
                Err(count - (self.end - at) / self.gap)
            };
        }
        let rate = (self.rate + self.slope * (at - self.begin)).max(0.0);
        let rest = self.end - at;
        let area = rate * rest + self.slope * rest * rest / 2.0;
        if count >= area {
            return Err(count - area);
        }
        // rate · x + slope · x² / 2 = count, in the form that does not cancel.
        let root = (rate * rate + 2.0 * self.slope * count).max(0.0).sqrt();
        Ok(at + 2.0 * count / (rate + root))
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
    use lab_results::run::{Phase, Profile};

    use super::*;

    const WARMUP: i64 = SECOND;

    fn open(spacing: Spacing, profile: Option<Profile>) -> Load {
        Load::Open {
            rate_per_s: 5000.0,
            arrivals: spacing,
            threads_total: 4,
            profile,
        }
    }

    fn due(load: &Load, workers: usize, end: i64) -> u64 {
        due_of(load, 1, workers, end)
    }

    /// By so many drivers with so many workers each.
    fn due_of(load: &Load, drivers: u32, workers: usize, end: i64) -> u64 {
        (0..drivers)
            .flat_map(|driver| (0..workers).map(move |worker| (Share::nth(4, driver, drivers), worker)))
            .map(|(share, worker)| {
                let arrivals = Arrivals::new(load, 1, (worker, workers), share, WARMUP).unwrap();
                arrivals.waiting_before(end)
            })
            .sum()
    }

    fn is_poissons(count: u64, mean: f64) -> bool {
        // Five standard deviations.
        (count as f64 - mean).abs() < 5.0 * mean.sqrt()
    }

    #[test]
    fn the_rate_is_the_sum_over_workers_and_drivers() {
        let even = open(Spacing::Even, None);
        for (drivers, workers) in [(1, 1), (1, 3), (2, 3), (4, 1)] {
            assert_eq!(due_of(&even, drivers, workers, 9 * SECOND), 50_000);
            let poisson = due_of(&open(Spacing::Poisson, None), drivers, workers, 9 * SECOND);
            assert!(is_poissons(poisson, 50_000.0), "{poisson}");
        }
        // Shares of two, one and one connection: each end may be a transaction off.
        assert!(due_of(&even, 3, 2, 9 * SECOND).abs_diff(50_000) <= 6);
        assert!(due_of(&varied(Spacing::Even), 2, 2, 6 * SECOND).abs_diff(2500) <= 2);
    }

    #[test]
    fn drivers_take_turns_and_none_draws_what_another_does() {
        let begin = |spacing, driver, worker| {
            let share = Share::nth(4, driver, 2);
            let arrivals = Arrivals::new(&open(spacing, None), 1, (worker, 2), share, 0).unwrap();
            arrivals.next_due()
        };
        let mut even = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(driver, worker)| begin(Spacing::Even, driver, worker));
        even.sort_unstable();
        assert_eq!(even, [0, 200_000, 400_000, 600_000], "5000 a second");
        assert_ne!(begin(Spacing::Poisson, 0, 0), begin(Spacing::Poisson, 1, 0));
    }

    /// 100/s while it warms up, then: 2 s of 100/s, 4 s from 100/s to 1000/s, 1 s of nothing, 1 s of 500/s.
    fn varied(spacing: Spacing) -> Load {
        let phase = |from_per_s: f64, to_per_s: f64, seconds: f64| Phase {
            name: String::new(),
            from_per_s,
            to_per_s,
            seconds,
        };
        let phases = vec![
            phase(100.0, 100.0, 2.0),
            phase(100.0, 1000.0, 4.0),
            phase(0.0, 0.0, 1.0),
            phase(500.0, 500.0, 1.0),
        ];
        let name = "varied".to_owned();
        open(spacing, Some(Profile { name, phases }))
    }

    #[test]
    fn the_count_follows_the_area_under_the_rate() {
        for workers in [1, 3] {
            let due = |end_ms: i64| due(&varied(Spacing::Even), workers, end_ms * SECOND / 1000) as i64;
            // Warm-up and steps; half of the ramp has a quarter of its growth: 2 s of 100/s to 550/s.
            for (end_ms, count) in [
                (0, 100),
                (2000, 300),
                (4000, 950),
                (6000, 2500),
                (7000, 2500),
                (7500, 2750),
                (8000, 3000),
            ] {
                assert!(
                    (due(end_ms) - count).abs() <= 1,
                    "{workers} workers, {end_ms} ms: {}",
                    due(end_ms)
                );
            }
        }
        assert!(is_poissons(due(&varied(Spacing::Poisson), 3, 6 * SECOND), 2500.0));
    }

    #[test]
    fn in_a_ramp_gaps_shrink_evenly() {
        let mut arrivals = Arrivals::new(&varied(Spacing::Even), 1, (0, 1), Share::whole(4), 0).unwrap();
        let mut dues = Vec::new();
        arrivals.give_up_before(6 * SECOND, |due| dues.push(due));
        assert!(dues.windows(2).all(|pair| pair[0] < pair[1]));
        // The rate at the place of each gap, by the gap itself.
        for pair in dues.windows(2).filter(|pair| pair[0] > 2 * SECOND) {
            let middle = (pair[0] + pair[1]) as f64 / 2.0 / SECOND as f64;
            let rate = SECOND as f64 / (pair[1] - pair[0]) as f64;
            let wanted = 100.0 + (middle - 2.0) * 225.0;
            assert!((rate / wanted - 1.0).abs() < 0.01, "at {middle}: {rate}, not {wanted}");
        }
    }

    #[test]
    fn after_the_last_phase_nothing_is_due() {
        let mut arrivals = Arrivals::new(&varied(Spacing::Even), 1, (0, 1), Share::whole(4), 0).unwrap();
        arrivals.give_up_before(9 * SECOND, |_| {});
        assert_eq!(arrivals.next_due(), i64::MAX);
    }
}
