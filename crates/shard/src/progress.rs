//! How far the replicas are that this one sends the log to: what they lack is kept for them.
//!
//! A replica that gets a checkpoint needs the log behind it next, and the log grows while the checkpoint comes over. Were it purged behind
//! newer checkpoints meanwhile, the replica would get one checkpoint after another, and never be there.

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
    replicas: Mutex<BTreeMap<u32, Reached>>,
}

struct Reached {
    /// The first entry that it lacks, or will lack when it has the checkpoint.
    next: u64,
    at: Instant,
    gets_checkpoint: bool,
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
        self.set(node, next, false);
    }

    /// A replica gets a checkpoint, and then lacks what follows from `next` on. Until the answer is dropped it is not taken for away.
    pub fn sends_checkpoint(self: &Arc<Progress>, node: u32, next: u64) -> SendsCheckpoint {
        self.set(node, next, true);
        SendsCheckpoint {
            progress: self.clone(),
            node,
            next,
        }
    }

    fn set(&self, node: u32, next: u64, gets_checkpoint: bool) {
        let reached = Reached {
            next,
            at: Instant::now(),
            gets_checkpoint,
        };
        self.replicas.lock().insert(node, reached);
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
}
