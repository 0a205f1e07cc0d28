//! For tests: runs code with every tick as the end of a turn, and ends it at one of them.
//!
//! A loop that ticks can be shown to stop, wherever it is, and to leave everything in order.

use std::cell::Cell;

use crate::current::{Governor, Runner};
use crate::stop::Interrupt;
use crate::turn;

/// How often the code ticked, and what it returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probed<R> {
    pub ticks: u64,
    pub result: R,
}

struct Counter {
    ticks: Cell<u64>,
    kill_at: u64,
}

impl Runner for Counter {
    fn yield_now(&self) {}

    fn interrupted(&self) -> Option<Interrupt> {
        (self.ticks.get() >= self.kill_at).then_some(Interrupt::KillQuery)
    }

    fn looked(&self) {
        self.ticks.set(self.ticks.get() + 1);
    }
}

/// Runs `work` to its end and counts its ticks.
pub fn count<R>(work: impl FnOnce() -> R) -> Probed<R> {
    kill_at(u64::MAX, work)
}

/// Runs `work`, and has its `tick`-th tick and all later ones find a KILL QUERY.
pub fn kill_at<R>(tick: u64, work: impl FnOnce() -> R) -> Probed<R> {
    let runner = Counter {
        ticks: Cell::new(0),
        kill_at: tick,
    };
    let result = under(&runner, work);
    Probed {
        ticks: runner.ticks.get(),
        result,
    }
}

/// Runs `work` under a runner of the test's own, which every tick asks.
pub fn under<R>(runner: &dyn Runner, work: impl FnOnce() -> R) -> R {
    turn::always_over(|| Governor::new(runner).run(work))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stop;

    #[test]
    fn code_ends_at_the_tick_it_is_told() {
        let sum = || (0..10).try_fold(0, |sum, n| crate::tick().map(|()| sum + n));
        assert_eq!(
            count(sum),
            Probed {
                ticks: 10,
                result: Ok(45)
            }
        );
        let killed = Err(Stop::Interrupt(Interrupt::KillQuery));
        assert_eq!(
            kill_at(3, sum),
            Probed {
                ticks: 3,
                result: killed
            }
        );
    }

    #[test]
    fn what_was_cut_short_is_found_out() {
        let first_three = || (0..10).take_while(|_| crate::go_on()).count();
        let probed = kill_at(3, || (first_three(), crate::check()));
        assert_eq!(probed.result, (2, Err(Stop::Interrupt(Interrupt::KillQuery))));
    }

    #[test]
    fn a_pause_does_not_end_anything() {
        assert_eq!(kill_at(1, || (0..10).inspect(|_| crate::pause()).count()).result, 10);
    }
}
