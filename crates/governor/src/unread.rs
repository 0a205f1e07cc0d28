//! Results that their clients do not read.
//!
//! A statement that has sent as much as the system takes waits for its client, and holds meanwhile what it has: a sorted table, a hash
//! table, a long value. A client may let it wait for a minute, and many clients may hold all the memory that queries get. So whoever
//! waits is [noted](Unread), and when less than a quarter of the limit is free, those end that have waited longest, as many as it takes:
//!
//! ```text
//!   memory:    ├──────────── nobody has to end ────────────┤ a quarter, for others and for writes ┤
//!   waiting:   oldest ── ends ── ends ── enough ── younger ones go on
//! ```
//!
//! Each looks for itself, now and then, whether it is among them; so nobody has to reach into another's statement.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::memory;

/// So long a client may take nothing, or little, whatever it makes the node hold.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// A client that takes so many bytes in a millisecond is slow, and reads.
const SLOW_PER_MS: u128 = 64;

/// Answers that were cut since the start, by the reason.
static CUT: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Why an answer that its client did not read was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The client took nothing for as long as it may.
    Timeout,
    /// The node needed the memory.
    Memory,
}

impl Cut {
    pub const ALL: [Cut; 2] = [Cut::Timeout, Cut::Memory];

    pub fn name(self) -> &'static str {
        match self {
            Cut::Timeout => "timeout",
            Cut::Memory => "memory",
        }
    }

    pub fn note(self) {
        CUT[self as usize].fetch_add(1, Relaxed);
    }

    /// How many there were.
    pub fn count(self) -> u64 {
        CUT[self as usize].load(Relaxed)
    }
}

/// Who waits, the oldest first, and how much each holds.
static WAITING: Mutex<Waiting> = Mutex::new(Waiting {
    next: 0,
    held: BTreeMap::new(),
});

#[derive(Default)]
struct Waiting {
    next: u64,
    held: BTreeMap<u64, (Instant, u64)>,
}

impl Waiting {
    /// Whether the one of that number has to end, so that `lacking` bytes become free.
    fn must_end(&self, number: u64, lacking: u64, now: Instant) -> bool {
        let mut lacking = lacking;
        let late = |since: Instant| now.saturating_duration_since(since) >= PATIENCE;
        for (other, (_, held)) in self.held.iter().filter(|(_, (since, _))| late(*since)) {
            if lacking == 0 {
                return false;
            }
            if *other == number {
                return true;
            }
            lacking = lacking.saturating_sub(*held);
        }
        false
    }
}

/// Whether new rows have hardly any room left, and those who wait for their clients are about to make some.
pub fn makes_room() -> bool {
    memory::is_all_but_used_up() && !waiting().held.is_empty()
}

/// Whether somebody may give back memory within a moment: one who waits for his client, or statements that hold much and are about to.
pub fn may_make_room() -> bool {
    !waiting().held.is_empty() || memory::sessions_hold_much()
}

fn waiting() -> std::sync::MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One that waits for its client, until dropped.
#[derive(Debug)]
pub struct Unread {
    number: u64,
    since: Instant,
}

impl Unread {
    /// For a session that holds so much. `None`: too little to be of use to others.
    pub fn begin(held: u64) -> Option<Unread> {
        (held >= memory::SMALL as u64).then(|| {
            let since = Instant::now();
            let mut waiting = waiting();
            let number = waiting.next;
            waiting.next += 1;
            waiting.held.insert(number, (since, held));
            Unread { number, since }
        })
    }

    /// Whether it has to end now, as the node needs what it holds. The client has taken `taken` bytes since it began.
    pub fn must_end(&self, taken: usize) -> bool {
        let now = Instant::now();
        let is_read = taken as u128 >= now.saturating_duration_since(self.since).as_millis() * SLOW_PER_MS;
        let lacking = memory::lacking_to_a_quarter();
        !is_read && lacking > 0 && waiting().must_end(self.number, lacking, now)
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        waiting().held.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_end_and_no_more_than_needed() {
        let begun = Instant::now();
        let mut waiting = Waiting::default();
        for number in 0..4 {
            waiting.held.insert(number, (begun + PATIENCE * number as u32, 10));
        }
        let ending = |lacking: u64, after: u32| {
            let now = begun + PATIENCE * after;
            (0..4).filter(|number| waiting.must_end(*number, lacking, now)).count()
        };
        assert_eq!(ending(5, 0), 0, "nobody has waited long");
        assert_eq!(ending(0, 9), 0, "there is memory");
        assert_eq!(ending(5, 9), 1);
        assert_eq!(ending(11, 9), 2);
        assert_eq!(ending(100, 9), 4);
        assert_eq!(ending(100, 2), 2, "the others have not waited long");
        assert!(waiting.must_end(0, 5, begun + PATIENCE));
    }

    #[test]
    fn who_holds_little_is_of_no_use_and_who_is_done_is_forgotten() {
        assert!(Unread::begin(memory::SMALL as u64 - 1).is_none());
        let unread = Unread::begin(memory::SMALL as u64).expect("it holds much");
        let number = unread.number;
        assert!(waiting().held.contains_key(&number));
        drop(unread);
        assert!(!waiting().held.contains_key(&number));
    }
}
