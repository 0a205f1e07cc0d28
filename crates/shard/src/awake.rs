//! Waiting awake, where lone commits follow each other closely.
//!
//! A thread that sleeps is woken by the system, on a core that may have to wake up first: some ten microseconds, twice for each commit, and
//! more where the core is a guest of another machine. Where one client commits as fast as it is answered, and nobody else does, the shard's thread
//! looks for the next commit without going to sleep, and the session's for its answer. On a machine with nothing else to do that is time of
//! nobody. InnoDB does the same (`innodb_log_wait_for_flush_spin_hwm`).
//!
//! Whether it is worth it shows by itself:
//!
//! * it begins after [`ENOUGH`] commits, each alone in its batch, and each begun within [`NEXT`] after the one before was answered;
//! * a look that comes [`LATE`] after the one before says that somebody else wanted the core. Where that happens to more than one commit of five, it ends, and
//!   takes many more commits to begin again. Between two looks the core is offered to others.
//!
//! A replica with other voters waits for the network and sleeps.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How soon after an answer the next commit comes, for waiting awake to be worth it.
pub(crate) const NEXT: Duration = Duration::from_micros(250);

/// How long an answer is waited for awake: a sync takes about a third of it.
pub(crate) const ANSWER: Duration = Duration::from_micros(400);

const LATE: Duration = Duration::from_micros(40);

/// The credit that it takes. A lone commit adds one, any other and a wait in vain take [`WASTE`]; there is never more than [`MOST`].
const ENOUGH: i32 = 8;
const WASTE: i32 = 4;
const MOST: i32 = 64;

/// The credit after it was not worth it.
const PENALTY: i32 = -512;

pub(crate) struct Awake {
    /// Waiting is always asleep: there is one core, or one thread for everybody.
    never: bool,
    credit: AtomicI32,
}

impl Awake {
    pub fn new(has_threads: bool) -> Awake {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Awake {
            never: !has_threads || cores < 2,
            credit: AtomicI32::new(0),
        }
    }

    /// Notes whether a commit came alone, and soon after the one before.
    pub fn note(&self, is_lone: bool) {
        let credit = self.credit.load(Relaxed);
        match is_lone {
            true if credit < MOST => self.credit.store(credit + 1, Relaxed),
            false if credit > 0 => self.credit.store((credit - WASTE).max(0), Relaxed),
            _ => {}
        }
    }

    pub fn is_worth_it(&self) -> bool {
        !self.never && self.credit.load(Relaxed) >= ENOUGH
    }

    /// A wait was disturbed, or in vain.
    pub fn waste(&self) {
        let left = self.credit.load(Relaxed) - WASTE;
        self.credit.store(if left < ENOUGH { PENALTY } else { left }, Relaxed);
    }
}

/// One wait, by the time of the threads that wait: that of the shard may stand still in tests.
pub(crate) struct Watch {
    last: Instant,
    until: Instant,
}

/// What a look at the clock says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    GoOn,
    /// It has taken too long.
    Over,
    /// Somebody else wants the core.
    Disturbed,
}

impl Watch {
    pub fn new(most: Duration) -> Watch {
        Watch::from(Instant::now(), most)
    }

    fn from(now: Instant, most: Duration) -> Watch {
        Watch {
            last: now,
            until: now + most,
        }
    }

    pub fn look(&mut self) -> Look {
        self.look_at(Instant::now())
    }

    fn look_at(&mut self, now: Instant) -> Look {
        let since = now.saturating_duration_since(std::mem::replace(&mut self.last, now));
        match () {
            () if since > LATE => Look::Disturbed,
            () if now >= self.until => Look::Over,
            () => Look::GoOn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn it_begins_with_lone_commits_and_ends_when_many_waits_are_wasted() {
        let awake = Awake {
            never: false,
            credit: AtomicI32::new(0),
        };
        let commits = |lone: bool, count: i32| (0..count).for_each(|_| awake.note(lone));
        commits(true, ENOUGH - 1);
        assert!(!awake.is_worth_it());
        commits(false, 1);
        commits(true, WASTE);
        assert!(!awake.is_worth_it(), "one was not alone");
        commits(true, 100);
        for _ in 0..1000 {
            awake.waste();
            commits(true, 5);
        }
        assert!(awake.is_worth_it(), "one of five was wasted");
        for _ in 0..100 {
            awake.waste();
            commits(true, 2);
        }
        assert!(!awake.is_worth_it(), "half were wasted");
        commits(true, -PENALTY);
        assert!(!awake.is_worth_it());
        commits(true, 100);
        assert!(awake.is_worth_it());
    }

    #[test]
    fn a_watch_is_over_in_time_and_disturbed_by_a_late_look() {
        let begun = Instant::now();
        let mut watch = Watch::from(begun, after(100));
        assert_eq!(watch.look_at(begun + after(30)), Look::GoOn);
        assert_eq!(watch.look_at(begun + after(71)), Look::Disturbed);
        assert_eq!(watch.look_at(begun + after(99)), Look::GoOn);
        assert_eq!(watch.look_at(begun + after(100)), Look::Over);
    }
}
