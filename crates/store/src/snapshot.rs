//! Which timestamps somebody may still read at.
//!
//! A snapshot announces itself in a slot: one compare-and-swap to take it, one store to set it. Nobody locks, waits or
//! retries. The writer reads all slots to learn which versions are still needed; a slot caught between the two steps makes it
//! keep its previous, more cautious answer.
//!
//! ```text
//!   reader                                writer (collecting)
//!   slot    <- PENDING                    P <- published
//!   ts      <- published                  read every slot:
//!   slot    <- ts                           FREE     a later reader finds published >= P
//!                                           PENDING  ts unknown: keep the previous answer
//!                                           ts       needed
//! ```
//!
//! A snapshot of the past says which moment it is of before it asks whether that can still be read:
//!
//! ```text
//!   reader                                writer (collecting)
//!   slot    <- ts                         oldest  <- the moment that the past begins at from now on
//!   oldest > ts: too late, slot <- FREE   read every slot, as above
//! ```
//!
//! All of these accesses are sequentially consistent: if the writer saw FREE, the reader's load of `published` comes after it.

use crate::sync::{AtomicU64, AtomicUsize, Ordering, store_before_load};
use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, OnceLock};
use types::Timestamp;

const FREE: u64 = u64::MAX;
const PENDING: u64 = u64::MAX - 1;

#[cfg(not(loom))]
const SEGMENT_SLOTS: usize = 64;
#[cfg(loom)]
const SEGMENT_SLOTS: usize = 2;
/// A power of two.
const SEGMENTS: usize = 4096;
/// Threads start their search this far apart, so that they do not share cache lines.
const SLOTS_PER_LINE: usize = 8;

struct Segment([AtomicU64; SEGMENT_SLOTS]);

/// The newest published timestamp and the slots of everybody who reads.
pub struct Snapshots {
    published: AtomicU64,
    /// What was visible at this timestamp, and at each since, can be read.
    oldest: AtomicU64,
    /// Slots below this index have been used at least once.
    used_slots: AtomicUsize,
    segments: Box<[OnceLock<Box<Segment>>]>,
}

impl Snapshots {
    pub(crate) fn new() -> Arc<Snapshots> {
        Snapshots::with_segments(SEGMENTS)
    }

    /// For the few snapshots that one session has at a time.
    pub(crate) fn of_one_session() -> Arc<Snapshots> {
        Snapshots::with_segments(1)
    }

    fn with_segments(segments: usize) -> Arc<Snapshots> {
        Arc::new(Snapshots {
            published: AtomicU64::new(0),
            oldest: AtomicU64::new(0),
            used_slots: AtomicUsize::new(0),
            segments: (0..segments).map(|_| OnceLock::new()).collect(),
        })
    }

    /// The newest timestamp whose changes are all visible.
    pub fn published(&self) -> Timestamp {
        Timestamp(self.published.load(Ordering::Acquire))
    }

    /// Makes everything up to `ts` visible to snapshots taken from now on.
    pub(crate) fn publish(&self, ts: Timestamp) {
        self.published.store(ts.0, Ordering::SeqCst);
    }

    /// The oldest timestamp that can be read: what is newer was kept.
    pub fn oldest(&self) -> Timestamp {
        Timestamp(self.oldest.load(Ordering::Acquire))
    }

    /// The past begins at `ts` from now on, or later.
    pub(crate) fn forget_before(&self, ts: Timestamp) {
        self.oldest.fetch_max(ts.0, Ordering::SeqCst);
    }

    /// A snapshot of what was visible at a timestamp, or will be: of one that is not published yet, it may be read when that has come.
    pub fn take_at(self: &Arc<Self>, ts: Timestamp) -> Result<Snapshot, TooOld> {
        let slot = self.claim_slot();
        self.slot(slot).store(ts.0, Ordering::SeqCst);
        store_before_load();
        let oldest = self.oldest.load(Ordering::SeqCst);
        let snapshot = Snapshot {
            registry: Arc::clone(self),
            slot,
            timestamp: ts,
        };
        // Dropped, the snapshot gives its slot back.
        match ts.0 < oldest {
            true => Err(TooOld {
                oldest: Timestamp(oldest),
            }),
            false => Ok(snapshot),
        }
    }

    /// A snapshot of the newest published state.
    pub fn take(self: &Arc<Self>) -> Snapshot {
        let slot = self.claim_slot();
        let timestamp = self.announce(slot);
        Snapshot {
            registry: Arc::clone(self),
            slot,
            timestamp,
        }
    }

    /// The timestamps in use, or `None` when a reader was caught half way.
    pub(crate) fn active(&self) -> Option<Active> {
        store_before_load();
        let published = self.published.load(Ordering::SeqCst);
        let mut timestamps = Vec::new();
        for slot in 0..self.used_slots.load(Ordering::SeqCst) {
            match self.slot(slot).load(Ordering::SeqCst) {
                FREE => {}
                PENDING => return None,
                ts if ts < published => timestamps.push(ts),
                _ => {}
            }
        }
        timestamps.sort_unstable();
        timestamps.dedup();
        let oldest = self.oldest.load(Ordering::SeqCst).min(published);
        Some(Active {
            timestamps,
            oldest,
            published,
        })
    }

    /// The slot is PENDING: makes it say what it stands for.
    fn announce(&self, slot: usize) -> Timestamp {
        store_before_load();
        let published = self.published.load(Ordering::SeqCst);
        self.slot(slot).store(published, Ordering::SeqCst);
        Timestamp(published)
    }

    /// Finds a free slot and leaves it PENDING.
    fn claim_slot(&self) -> usize {
        let start = preferred_slot();
        let slots = self.segments.len() * SEGMENT_SLOTS;
        for distance in 0..slots {
            // The number of slots is a power of two.
            let slot = (start + distance) & (slots - 1);
            if self
                .slot(slot)
                .compare_exchange(FREE, PENDING, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
            {
                if self.used_slots.load(Ordering::SeqCst) <= slot {
                    self.used_slots.fetch_max(slot + 1, Ordering::SeqCst);
                }
                return slot;
            }
        }
        unreachable!("more open snapshots than slots ({slots})")
    }

    fn slot(&self, index: usize) -> &AtomicU64 {
        let segment = self.segments[index / SEGMENT_SLOTS]
            .get_or_init(|| Box::new(Segment(std::array::from_fn(|_| AtomicU64::new(FREE)))));
        &segment.0[index % SEGMENT_SLOTS]
    }
}

/// Why there is no snapshot of a timestamp: versions of that time may be gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what is older than {oldest} is not kept")]
pub struct TooOld {
    pub oldest: Timestamp,
}

/// Where this thread begins its search: a cache line of its own for the first 64 threads.
fn preferred_slot() -> usize {
    static THREADS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    thread_local! {
        static START: Cell<Option<usize>> = const { Cell::new(None) };
    }
    START.with(|start| match start.get() {
        Some(slot) => slot,
        None => {
            let thread = THREADS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let slot = if cfg!(loom) { 0 } else { thread % 64 * SLOTS_PER_LINE };
            start.set(Some(slot));
            slot
        }
    })
}

/// A registered reader: versions visible at its timestamp are kept while it lives.
pub struct Snapshot {
    registry: Arc<Snapshots>,
    slot: usize,
    timestamp: Timestamp,
}

impl Snapshot {
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    pub(crate) fn is_of(&self, registry: &Arc<Snapshots>) -> bool {
        Arc::ptr_eq(&self.registry, registry)
    }

    /// Moves to the newest published state; cheaper than dropping and taking anew.
    pub fn refresh(&mut self) {
        self.registry.slot(self.slot).store(PENDING, Ordering::SeqCst);
        self.timestamp = self.registry.announce(self.slot);
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.registry.slot(self.slot).store(FREE, Ordering::SeqCst);
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshot({})", self.timestamp)
    }
}

/// The timestamps that readers hold, and `published`: new ones can appear from `oldest` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Active {
    /// Sorted, unique, all below `published`.
    timestamps: Vec<u64>,
    /// Where the past begins that everybody may read; `published` where there is none.
    oldest: u64,
    published: u64,
}

impl Active {
    /// Nobody has read yet.
    pub(crate) fn none() -> Active {
        Active {
            timestamps: Vec::new(),
            oldest: 0,
            published: 0,
        }
    }

    pub(crate) fn oldest(&self) -> Timestamp {
        Timestamp(self.oldest)
    }

    /// Whether nobody can read what was superseded before a moment, which may be later than all that is published.
    pub(crate) fn is_over(&self, moment: Timestamp) -> bool {
        moment.0 <= self.oldest || self.oldest == self.published
    }

    /// Whether what was visible until `end` belongs to the past that is kept. What is not published yet does not.
    pub(crate) fn keeps(&self, end: Timestamp) -> bool {
        end.0 > self.oldest && end.0 <= self.published
    }

    pub(crate) fn published(&self) -> Timestamp {
        Timestamp(self.published)
    }

    /// Whether somebody reads at this very timestamp, or will.
    pub(crate) fn reads(&self, ts: Timestamp) -> bool {
        ts.0 >= self.published || self.timestamps.binary_search(&ts.0).is_ok()
    }

    /// Who needs what is visible in `begin <= ts < end`: the newest such snapshot, where "now" counts as one, and stands for the past that is
    /// kept.
    pub(crate) fn newest_reader(&self, begin: Timestamp, end: Timestamp) -> Option<Timestamp> {
        if end.0 > self.published {
            return Some(Timestamp(self.published.max(begin.0)));
        }
        if self.keeps(end) {
            return Some(self.published());
        }
        let below_end = self.timestamps.partition_point(|&ts| ts < end.0);
        let newest = *self.timestamps[..below_end].last()?;
        (newest >= begin.0).then_some(Timestamp(newest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(timestamps: &[u64], published: u64) -> Active {
        Active {
            timestamps: timestamps.to_vec(),
            oldest: published,
            published,
        }
    }

    #[test]
    #[cfg(not(loom))]
    fn snapshots_are_seen_until_they_are_dropped() {
        let registry = Snapshots::new();
        registry.publish(Timestamp(5));
        let mut a = registry.take();
        registry.publish(Timestamp(8));
        let b = registry.take();
        registry.publish(Timestamp(9));
        registry.forget_before(Timestamp(9));
        assert_eq!(registry.active(), Some(active(&[5, 8], 9)));
        a.refresh();
        assert_eq!(
            (a.timestamp(), registry.active()),
            (Timestamp(9), Some(active(&[8], 9)))
        );
        drop((a, b));
        assert_eq!(registry.active(), Some(active(&[], 9)));
    }

    #[test]
    fn who_needs_an_interval() {
        let active = active(&[5, 8], 20);
        let needs = |begin, end| active.newest_reader(Timestamp(begin), Timestamp(end)).map(|ts| ts.0);
        assert_eq!(needs(1, 5), None);
        assert_eq!(needs(1, 6), Some(5));
        assert_eq!(needs(5, 9), Some(8));
        assert_eq!(needs(6, 8), None);
        assert_eq!(needs(9, 20), None);
        assert_eq!(needs(9, 21), Some(20), "now is needed");
        assert_eq!(needs(25, 30), Some(25), "the future is needed");
    }

    #[test]
    #[cfg(not(loom))]
    fn a_snapshot_of_the_past_is_one_that_is_kept() {
        let registry = Snapshots::new();
        registry.publish(Timestamp(20));
        registry.forget_before(Timestamp(10));
        registry.forget_before(Timestamp(7));
        assert_eq!(
            registry.take_at(Timestamp(9)).unwrap_err(),
            TooOld { oldest: Timestamp(10) }
        );
        let past = registry.take_at(Timestamp(10)).unwrap();
        let newest = registry.take_at(Timestamp(20)).unwrap();
        let seen = registry.active().unwrap();
        assert!(seen.keeps(Timestamp(11)) && !seen.keeps(Timestamp(10)) && !seen.keeps(Timestamp(21)));
        registry.forget_before(Timestamp(15));
        let seen = registry.active().unwrap();
        assert_eq!(seen.newest_reader(Timestamp(3), Timestamp(12)), Some(Timestamp(10)));
        assert_eq!(seen.newest_reader(Timestamp(11), Timestamp(15)), None);
        assert_eq!(seen.newest_reader(Timestamp(11), Timestamp(16)), Some(Timestamp(20)));
        drop((past, newest));
        assert_eq!(
            registry.active().unwrap().newest_reader(Timestamp(3), Timestamp(12)),
            None
        );
    }

    /// In every interleaving: what a snapshot sees is not collected while it lives.
    #[test]
    #[cfg(loom)]
    fn loom_a_snapshot_keeps_what_it_sees() {
        use loom::sync::atomic::AtomicBool;
        loom::model(|| {
            let registry = Snapshots::new();
            registry.publish(Timestamp(1));
            // Versions 1 and 2 of a row; each is collected when nobody can see it.
            let collected = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
            let reader = loom::thread::spawn({
                let (registry, collected) = (Arc::clone(&registry), Arc::clone(&collected));
                move || {
                    let mut snapshot = registry.take();
                    for _ in 0..2 {
                        if let Some(version) = collected.get(snapshot.timestamp().0 as usize - 1) {
                            assert!(
                                !version.load(Ordering::SeqCst),
                                "version {} is gone",
                                snapshot.timestamp()
                            );
                        }
                        snapshot.refresh();
                    }
                }
            });
            let mut known = Active::none();
            for version in [1, 2] {
                registry.publish(Timestamp(version + 1));
                known = registry.active().unwrap_or(known);
                for (at, version) in collected.iter().enumerate() {
                    let begin = Timestamp(at as u64 + 1);
                    if known.newest_reader(begin, begin.next()).is_none() {
                        version.store(true, Ordering::SeqCst);
                    }
                }
            }
            reader.join().unwrap();
        });
    }

    /// The same of a snapshot of the past: it is refused, or what it sees stays.
    #[test]
    #[cfg(loom)]
    fn loom_a_snapshot_of_the_past_keeps_what_it_sees() {
        use loom::sync::atomic::AtomicBool;
        loom::model(|| {
            let registry = Snapshots::new();
            registry.publish(Timestamp(3));
            let is_collected = Arc::new(AtomicBool::new(false));
            let reader = loom::thread::spawn({
                let (registry, is_collected) = (Arc::clone(&registry), Arc::clone(&is_collected));
                move || {
                    if let Ok(_snapshot) = registry.take_at(Timestamp(1)) {
                        assert!(!is_collected.load(Ordering::SeqCst), "what the past shows is gone");
                    }
                }
            });
            registry.forget_before(Timestamp(2));
            let known = registry.active().unwrap_or(Active::none());
            if !known.keeps(Timestamp(2)) && known.newest_reader(Timestamp(1), Timestamp(2)).is_none() {
                is_collected.store(true, Ordering::SeqCst);
            }
            reader.join().unwrap();
        });
    }
}
