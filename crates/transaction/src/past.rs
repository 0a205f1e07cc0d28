//! Reading what was visible at a moment of the past.
//!
//! A commit's timestamp is greater than all before it in the log. So what was visible at a moment is known for ever once a commit with a later
//! timestamp can be seen: nothing can come between. Where there is none yet, since nobody has changed anything, one that changes nothing is made.
//! Then every node that has applied so far reads the same at that moment, without asking anybody, and whoever leads later.

use super::{Committing, Participant};
use shard::{Durability, ProposeError};
use std::sync::Arc;
use store::{MemoryUse, Snapshot, TooOld, WriteSet};
use types::Timestamp;

/// A moment, and what was visible at it, which stays readable while this lives.
#[derive(Debug)]
pub struct PastMoment(Snapshot);

impl PastMoment {
    /// Not to be read before it [`is_over`](Self::is_over).
    pub fn new(participant: &Arc<dyn Participant>, at: Timestamp) -> Result<PastMoment, TooOld> {
        participant.store().snapshot_at(at).map(PastMoment)
    }

    /// Whether all is applied here that was committed until then, and nothing can come between any more.
    pub fn is_over(&self, participant: &Arc<dyn Participant>) -> bool {
        participant.store().published() >= self.0.timestamp()
    }

    pub fn timestamp(&self) -> Timestamp {
        self.0.timestamp()
    }

    pub(super) fn into_snapshot(self) -> Snapshot {
        self.0
    }
}

/// Commits nothing, at a timestamp later than all before, and not before what the leader's clock says.
pub fn commit_nothing(
    participant: &Arc<dyn Participant>,
) -> impl Future<Output = Result<Timestamp, ProposeError>> + Send + use<> {
    let memory = participant.store().memory().nothing_yet(MemoryUse::Transactions);
    let writes = WriteSet::new().into_bytes();
    let committing: Committing = match participant.guest() {
        Some(guest) => Box::pin(async move { (guest.commit(writes, memory).await, None) }),
        None => {
            let no_locks = participant.store().locks().transaction();
            participant.propose(
                writes,
                participant.lock_epoch(),
                Durability::MajorityDisk,
                memory,
                no_locks,
            )
        }
    };
    async move { committing.await.0 }
}
