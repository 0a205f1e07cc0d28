//! How fast passwords can be tried.
//!
//! After a few wrong passwords, the next attempts wait *before* they are checked, one behind the other: a guess costs
//! time whether or not its answer is waited for, and many connections are no faster than one. Failures are counted for
//!
//! * a user from one address: what a forgetful person and a simple attacker look like; the longest delays;
//! * an address, whatever the user: one password tried on many accounts;
//! * a user, whatever the address: many machines that try one account.
//!
//! The last two pass over whoever has logged in as that user from that address not long ago, so that an attack from elsewhere
//! does not lock out the application. Whether an account exists plays no role: names are counted, not accounts.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Counters that are kept; about 3 MB.
const ENTRIES_MAX: usize = 65_536;
/// Of so many entries, the one with the fewest failures gives way to a new one.
const EVICTION_SAMPLE: usize = 16;
/// Failures are forgotten after this time without another one.
const FORGET_AFTER: Duration = Duration::from_secs(600);
/// For how long a login speaks for its user and address.
const TRUST_FOR: Duration = Duration::from_secs(24 * 3600);
/// Nobody is made to wait longer; who would have to is refused.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// How failures of one kind slow down: some are free, then the distance between attempts doubles up to its limit.
struct Rule {
    free: u32,
    first: Duration,
    limit: Duration,
}

const OF_USER_AND_ADDRESS: Rule = Rule {
    free: 5,
    first: Duration::from_millis(100),
    limit: Duration::from_secs(2),
};
const OF_ADDRESS: Rule = Rule {
    free: 50,
    first: Duration::from_millis(10),
    limit: Duration::from_millis(50),
};
const OF_USER: Rule = Rule {
    free: 50,
    first: Duration::from_millis(25),
    limit: Duration::from_millis(500),
};

impl Rule {
    fn distance(&self, failures: u32) -> Duration {
        match failures.checked_sub(self.free) {
            None | Some(0) => Duration::ZERO,
            Some(beyond) => self.limit.min(self.first.saturating_mul(1 << (beyond - 1).min(16))),
        }
    }
}

/// The failures of the recent past, in bounded memory.
pub struct Throttle {
    hasher: RandomState,
    entries: Mutex<Entries>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    failures: u32,
    last: Instant,
    /// When the next attempt may be checked.
    next: Instant,
    /// Until when an earlier login speaks for the client.
    trusted_until: Option<Instant>,
}

/// Whose attempt it is.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    user_and_address: u64,
    address: u64,
    user: u64,
}

/// What an attempt has to do before it is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Now,
    After(Duration),
    /// So many others wait already that it would be after this time.
    Never(Duration),
}

impl Throttle {
    pub fn new() -> Throttle {
        Throttle {
            hasher: RandomState::new(),
            entries: Mutex::default(),
        }
    }

    /// Names are kept as hashes only: an entry has a fixed size, and memory shows nobody's mistyped password.
    pub fn attempt(&self, user: &str, network: Option<IpAddr>) -> Attempt {
        Attempt {
            user_and_address: self.hasher.hash_one((0, user, network)),
            address: self.hasher.hash_one((1, network)),
            user: self.hasher.hash_one((2, user)),
        }
    }

    /// Takes the next turn of an attempt.
    pub fn take_turn(&self, attempt: Attempt, now: Instant) -> Turn {
        let mut entries = self.entries.lock();
        let mut at = now;
        let mut distances = [(attempt.user_and_address, Duration::ZERO); 3];
        let rules = rules(attempt);
        let is_trusted = entries
            .get(&attempt.user_and_address)
            .is_some_and(|entry| entry.is_trusted(now));
        let counted = if is_trusted { 1 } else { rules.len() };
        for (place, (key, rule)) in rules[..counted].iter().enumerate() {
            if let Some(entry) = entries.get(key).filter(|entry| !entry.is_forgotten(now)) {
                distances[place] = (*key, rule.distance(entry.failures));
                if !distances[place].1.is_zero() {
                    at = at.max(entry.next);
                }
            }
        }
        let wait = at.saturating_duration_since(now);
        if wait > WAIT_MAX {
            return Turn::Never(wait);
        }
        for (key, distance) in distances.into_iter().filter(|(_, distance)| !distance.is_zero()) {
            if let Some(entry) = entries.get_mut(&key) {
                entry.next = at + distance;
            }
        }
        if wait.is_zero() { Turn::Now } else { Turn::After(wait) }
    }

    /// Counts a wrong password; tells how many the user has sent from there.
    pub fn failed(&self, attempt: Attempt, now: Instant) -> u32 {
        let mut entries = self.entries.lock();
        let mut failures = 0;
        for (place, (key, rule)) in rules(attempt).into_iter().enumerate() {
            let entry = entries.get_or_add(key, now);
            if entry.is_forgotten(now) {
                entry.failures = 0;
            }
            entry.failures = entry.failures.saturating_add(1);
            entry.last = now;
            let distance = rule.distance(entry.failures);
            entry.next = entry.next.max(now + distance);
            if place == 0 {
                failures = entry.failures;
            }
        }
        failures
    }

    /// A right password: the user's failures from there are forgiven, and it is trusted for a while.
    pub fn succeeded(&self, attempt: Attempt, now: Instant) {
        let mut entries = self.entries.lock();
        *entries.get_or_add(attempt.user_and_address, now) = Entry {
            trusted_until: Some(now + TRUST_FOR),
            ..Entry::new(now)
        };
    }
}

fn rules(attempt: Attempt) -> [(u64, Rule); 3] {
    [
        (attempt.user_and_address, OF_USER_AND_ADDRESS),
        (attempt.address, OF_ADDRESS),
        (attempt.user, OF_USER),
    ]
}

impl Entry {
    fn new(now: Instant) -> Entry {
        Entry {
            failures: 0,
            last: now,
            next: now,
            trusted_until: None,
        }
    }

    fn is_forgotten(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) > FORGET_AFTER
    }

    fn is_trusted(&self, now: Instant) -> bool {
        self.trusted_until.is_some_and(|until| now < until)
    }
}

/// A bounded map, of which a few entries anywhere can be looked at.
#[derive(Debug, Default)]
struct Entries {
    map: HashMap<u64, Entry>,
    keys: Vec<u64>,
}

impl Entries {
    fn get(&self, key: &u64) -> Option<&Entry> {
        self.map.get(key)
    }

    fn get_mut(&mut self, key: &u64) -> Option<&mut Entry> {
        self.map.get_mut(key)
    }

    fn get_or_add(&mut self, key: u64, now: Instant) -> &mut Entry {
        if !self.map.contains_key(&key) {
            if self.keys.len() >= ENTRIES_MAX {
                self.make_room(key, now);
            }
            self.keys.push(key);
        }
        self.map.entry(key).or_insert_with(|| Entry::new(now))
    }

    /// Forgets one of a few entries from places that nobody can choose, since keys are keyed hashes. Whoever is
    /// forgotten anyway goes first, then who is not trusted and has failed least: a flood of invented names removes its own entries.
    fn make_room(&mut self, key: u64, now: Instant) {
        let len = self.keys.len();
        let sample = (0..EVICTION_SAMPLE).map(|step| (key as usize).wrapping_add(step * 4_099) % len);
        let worth = |place: &usize| {
            let entry = self.get(&self.keys[*place]);
            entry.map(|entry| (!entry.is_forgotten(now), entry.is_trusted(now), entry.failures))
        };
        let Some(place) = sample.min_by_key(worth) else { return };
        let removed = self.keys.swap_remove(place);
        self.map.remove(&removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    fn elsewhere(last: u8) -> Option<IpAddr> {
        Some([192, 0, 2, last].into())
    }

    #[test]
    fn guesses_wait_before_they_are_checked_and_many_are_no_faster_than_one() {
        let throttle = Throttle::new();
        let start = Instant::now();
        let attempt = throttle.attempt("root", HERE);
        for _ in 0..5 {
            assert_eq!(throttle.take_turn(attempt, start), Turn::Now);
            throttle.failed(attempt, start);
        }
        // Thousands at the same time: some wait, each behind the other, and the rest is refused.
        let turns: Vec<Turn> = (0..1000)
            .map(|_| {
                throttle.failed(attempt, start);
                throttle.take_turn(attempt, start)
            })
            .collect();
        let checked = turns.iter().filter(|turn| !matches!(turn, Turn::Never(_))).count();
        assert!(checked < 20, "{checked} guesses within the longest wait");
        let later = start + Duration::from_secs(60);
        assert_eq!(throttle.take_turn(attempt, later), Turn::Now);
    }

    #[test]
    fn a_right_password_forgives_and_an_attack_from_elsewhere_does_not_lock_out() {
        let throttle = Throttle::new();
        let now = Instant::now();
        let own = throttle.attempt("app", HERE);
        throttle.succeeded(own, now);
        for machine in 0..200 {
            throttle.failed(throttle.attempt("app", elsewhere(machine)), now);
        }
        assert_eq!(throttle.take_turn(own, now), Turn::Now);
        let stranger = throttle.attempt("app", elsewhere(250));
        assert!(matches!(throttle.take_turn(stranger, now), Turn::After(_)));
        for _ in 0..8 {
            throttle.failed(own, now);
        }
        assert_ne!(throttle.take_turn(own, now), Turn::Now);
        throttle.succeeded(own, now);
        assert_eq!(throttle.take_turn(own, now), Turn::Now);
    }

    #[test]
    fn one_address_that_tries_many_names_is_slowed_down() {
        let throttle = Throttle::new();
        let now = Instant::now();
        for user in 0..60 {
            throttle.failed(throttle.attempt(&format!("user{user}"), elsewhere(1)), now);
        }
        assert_ne!(
            throttle.take_turn(throttle.attempt("fresh", elsewhere(1)), now),
            Turn::Now
        );
        assert_eq!(
            throttle.take_turn(throttle.attempt("fresh", elsewhere(2)), now),
            Turn::Now
        );
        let later = now + FORGET_AFTER + Duration::from_secs(1);
        assert_eq!(
            throttle.take_turn(throttle.attempt("fresh", elsewhere(1)), later),
            Turn::Now
        );
    }

    #[test]
    fn a_flood_of_names_takes_bounded_memory_and_forgets_itself_first() {
        let throttle = Throttle::new();
        let now = Instant::now();
        let attacked = throttle.attempt("root", HERE);
        for _ in 0..100 {
            throttle.failed(attacked, now);
        }
        for name in 0..3 * ENTRIES_MAX {
            throttle.failed(throttle.attempt(&name.to_string(), elsewhere(name as u8)), now);
        }
        assert_eq!(throttle.entries.lock().keys.len(), ENTRIES_MAX);
        assert_ne!(throttle.take_turn(attacked, now), Turn::Now);
    }
}
