//! Whether this replica hears of the others: what load balancers want to know.
//!
//! A replica that is cut off goes on believing in the leader that it has heard of last, itself included: it gives no votes away by that. But
//! clients are better off elsewhere. So is a replica whose thread waits for its disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use openraft::async_runtime::Instant as _;
use openraft::async_runtime::WatchReceiver;
use tokio::time::Instant;

use crate::consensus::{Raft, is_alone};

/// How often the shard's thread shows that it lives.
const BEAT: Duration = Duration::from_millis(100);

/// So many election timeouts without a word are too many.
const PATIENCE: u32 = 10;

pub(crate) struct Contact {
    opened: Instant,
    patience: Duration,
    /// When whoever leads was heard of last, in milliseconds since; 0: never.
    heard: AtomicU64,
    /// When the shard's thread has shown last that it lives, in milliseconds since.
    beat: AtomicU64,
}

impl Contact {
    pub fn new(election: Duration) -> Contact {
        Contact {
            opened: Instant::now(),
            patience: election * PATIENCE,
            heard: AtomicU64::new(0),
            beat: AtomicU64::new(0),
        }
    }

    /// What a leader has sent was taken.
    pub fn heard(&self) {
        self.heard.store(self.now().max(1), Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Runs on the shard's thread.
    pub async fn beat(self: Arc<Contact>) {
        loop {
            self.beat.store(self.now(), Ordering::Relaxed);
            tokio::time::sleep(BEAT).await;
        }
    }

    /// For how long the shard's thread has done nothing: it waits for its disk, most likely.
    pub fn stalled_for(&self) -> Duration {
        self.since(&self.beat)
    }

    /// For how long nothing was heard of a leader, from the start on.
    pub fn silent_for(&self) -> Duration {
        self.since(&self.heard)
    }

    fn since(&self, moment: &AtomicU64) -> Duration {
        Duration::from_millis(self.now().saturating_sub(moment.load(Ordering::Relaxed)))
    }

    /// Whether whoever leads was heard of lately. Of a leader: whether a majority has answered it lately; of a replica without others, always.
    pub fn is_kept(&self, raft: &Raft) -> bool {
        if is_alone(raft) {
            return true;
        }
        if self.stalled_for() > self.patience {
            return false;
        }
        let acknowledged = {
            let metrics = raft.metrics();
            let metrics = metrics.borrow_watched();
            metrics
                .state
                .is_leader()
                .then(|| metrics.last_quorum_acked.map(|at| at.into_inner().elapsed()))
        };
        let ago = match acknowledged {
            Some(ago) => ago,
            None => match self.heard.load(Ordering::Relaxed) {
                0 => None,
                _ => Some(self.since(&self.heard)),
            },
        };
        ago.is_some_and(|ago| ago <= self.patience)
    }
}
