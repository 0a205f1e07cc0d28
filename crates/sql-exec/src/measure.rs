//! What EXPLAIN ANALYZE tells of a run: for each join of the plan how often it was asked for rows, how many it gave, and how long it took.
//! A change that is measured reads what it would change, and changes nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The runs of one statement's joins, by their places in the plan.
#[derive(Debug, Default)]
pub struct Measures {
    by_place: RefCell<HashMap<usize, Measure>>,
}

/// All runs of one join together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measure {
    pub loops: u64,
    pub rows: u64,
    /// Until the first row of each run, or its end without one.
    pub first: Duration,
    pub total: Duration,
}

/// One run under way. What becomes of its rows is none of its time.
#[derive(Debug)]
pub struct Run {
    began: Instant,
    elsewhere: Duration,
    first: Option<Duration>,
    rows: u64,
}

impl Run {
    pub fn begin() -> Run {
        Run {
            began: Instant::now(),
            elsewhere: Duration::ZERO,
            first: None,
            rows: 0,
        }
    }

    fn own(&self) -> Duration {
        self.began.elapsed().saturating_sub(self.elsewhere)
    }

    /// Gives a row on.
    pub fn give<T>(&mut self, next: impl FnOnce() -> T) -> T {
        self.rows += 1;
        if self.first.is_none() {
            self.first = Some(self.own());
        }
        let left = Instant::now();
        let given = next();
        self.elsewhere += left.elapsed();
        given
    }
}

impl Measures {
    pub fn add(&self, place: usize, run: &Run) {
        let total = run.own();
        let mut by_place = self.by_place.borrow_mut();
        let measure = by_place.entry(place).or_default();
        measure.loops += 1;
        measure.rows += run.rows;
        measure.first += run.first.unwrap_or(total);
        measure.total += total;
    }

    /// Of a join; `None` where it never ran.
    pub fn of(&self, place: usize) -> Option<Measure> {
        self.by_place.borrow().get(&place).copied()
    }
}
