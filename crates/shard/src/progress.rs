//! How far the replicas are that this one sends the log to: what they lack is kept for them.
//!
//! A replica that gets a checkpoint needs the log behind it next, and the log grows while the checkpoint comes over. Were it purged behind
//! newer checkpoints meanwhile, the replica would get one checkpoint after another, and never be there. So that log is kept, up to the size
//! of the checkpoint. Where it grows faster than checkpoints may be sent, this is not enough, and each further checkpoint may be sent twice as fast.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A replica that has taken nothing for so long is away: no more is kept for it than for anybody.
const AWAY_AFTER: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Progress {
    /// Entries below it are sent no more: the log is to be purged of them.
    floor: AtomicU64,
    replicas: Mutex<BTreeMap<u32, Replica>>,
}

struct Replica {
    /// The first entry that it lacks, or will lack when it has the checkpoint.
    next: u64,
    at: Instant,
    gets_checkpoint: bool,
    /// When it had the last checkpoint whole, and how many it has got one soon after the other.
    had_checkpoint: Option<(Instant, u32)>,
}

impl Progress {
    /// Whether entries from this one on are sent to a replica that lacks them.
    pub fn keeps(&self, next: u64) -> bool {
        next >= self.floor.load(Ordering::Relaxed)
    }

    pub fn raise_floor(&self, floor: u64) {
        self.floor.fetch_max(floor, Ordering::Relaxed);
    }

    /// A replica has the log up to this entry, less one.
    pub fn reached(&self, node: u32, next: u64) {
        self.note(node, next, false);
    }

    /// A replica gets a checkpoint, and then lacks what follows from `next` on. Until the answer is dropped it is not taken for away.
    pub fn sends_checkpoint(self: &Arc<Progress>, node: u32, next: u64) -> SendsCheckpoint {
        self.sends_checkpoint_at(Instant::now(), node, next)
    }

    fn sends_checkpoint_at(self: &Arc<Progress>, now: Instant, node: u32, next: u64) -> SendsCheckpoint {
        let had = self.note(node, next, true);
        SendsCheckpoint {
            progress: self.clone(),
            node,
            next,
            in_vain: had.map_or(0, |(at, times)| if now < at + AWAY_AFTER { times } else { 0 }),
        }
    }

    /// Returns what is known of its last checkpoint.
    fn note(&self, node: u32, next: u64, gets_checkpoint: bool) -> Option<(Instant, u32)> {
        let mut replicas = self.replicas.lock();
        let had_checkpoint = replicas.get(&node).and_then(|replica| replica.had_checkpoint);
        let replica = Replica {
            next,
            at: Instant::now(),
            gets_checkpoint,
            had_checkpoint,
        };
        replicas.insert(node, replica);
        had_checkpoint
    }

    /// The first entry that a replica lacks which is not away.
    pub fn lacking(&self) -> Option<u64> {
        self.lacking_at(Instant::now())
    }

    fn lacking_at(&self, now: Instant) -> Option<u64> {
        let replicas = self.replicas.lock();
        let there = replicas
            .values()
            .filter(|replica| replica.gets_checkpoint || now < replica.at + AWAY_AFTER);
        there.map(|replica| replica.next).min()
    }
}

pub(crate) struct SendsCheckpoint {
    progress: Arc<Progress>,
    node: u32,
    next: u64,
    /// Checkpoints before it that were not enough.
    in_vain: u32,
}

impl SendsCheckpoint {
    /// How fast it is sent, where checkpoints may be sent so fast; 0 is no bound.
    pub fn bytes_per_second(&self, at_most: u64) -> u64 {
        at_most.saturating_mul(1 << self.in_vain.min(32))
    }

    /// The replica has it.
    pub fn ended(self) {
        let mut replicas = self.progress.replicas.lock();
        if let Some(replica) = replicas.get_mut(&self.node) {
            replica.had_checkpoint = Some((Instant::now(), self.in_vain + 1));
        }
    }
}

impl Drop for SendsCheckpoint {
    fn drop(&mut self) {
        self.progress.reached(self.node, self.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_kept_for_who_is_away_unless_a_checkpoint_is_sent() {
        let progress = Arc::new(Progress::default());
        let later = |times: u32| progress.lacking_at(Instant::now() + AWAY_AFTER * times);
        assert_eq!(progress.lacking(), None);
        progress.reached(2, 50);
        let sending = progress.sends_checkpoint(3, 20);
        assert_eq!((progress.lacking(), later(3)), (Some(20), Some(20)));
        drop(sending);
        assert_eq!((progress.lacking(), later(1)), (Some(20), None));
        progress.reached(3, 60);
        assert_eq!(progress.lacking(), Some(50));
        progress.raise_floor(30);
        progress.raise_floor(10);
        assert!(progress.keeps(30) && !progress.keeps(29));
    }

    #[test]
    fn a_checkpoint_soon_after_one_that_was_not_enough_is_sent_faster() {
        let progress = Arc::new(Progress::default());
        let now = Instant::now();
        let at_100 = |node, after, comes_whole: bool| {
            let sending = progress.sends_checkpoint_at(now + after, node, 20);
            let rate = sending.bytes_per_second(100);
            assert_eq!(sending.bytes_per_second(0), 0);
            if comes_whole {
                sending.ended();
            }
            rate
        };
        let soon = Duration::ZERO;
        assert_eq!(
            [at_100(2, soon, true), at_100(2, soon, false), at_100(2, soon, true)],
            [100, 200, 200]
        );
        assert_eq!([at_100(2, soon, true), at_100(3, soon, false)], [400, 100]);
        progress.reached(2, 25);
        assert_eq!([at_100(2, soon, false), at_100(2, AWAY_AFTER * 2, true)], [800, 100]);
        for _ in 0..70 {
            at_100(2, soon, true);
        }
        assert_eq!(
            progress.sends_checkpoint(2, 40).bytes_per_second(u64::MAX / 2),
            u64::MAX
        );
    }
}
