//! The end of a transaction that has written: its overlay becomes an entry of the log, or, where it is large, several.

use env::{Level, failpoints};

use super::overlay::Overlay;
use super::{Options, Transaction};
use shard::{Durability, Freshness, Guest, ProposeError, Shard};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::{Reservation, Store, Timestamp, TransactionLocks};

/// The locks come back with the answer; where that is not known yet, they stay with the shard.
pub type Committing = Pin<Box<dyn Future<Output = (Result<Timestamp, ProposeError>, Option<TransactionLocks>)> + Send>>;

/// The shard as a transaction sees it.
pub trait Participant: Send + Sync {
    fn store(&self) -> &Arc<Store>;

    /// In which locks are good that are taken now. A transaction whose locks are of an earlier one does not commit.
    fn lock_epoch(&self) -> u64;

    /// This start of the node, among all of all nodes: the node in the upper half, the start in the lower one.
    fn incarnation(&self) -> u64;

    /// Which cluster it is, drawn when it was founded.
    fn cluster(&self) -> u128;

    /// What all nodes of the cluster can read.
    fn level(&self) -> Level {
        Level::FIRST
    }

    /// Time since 1970, by this node's clock.
    fn wall(&self) -> Duration;

    /// The nodes that there are.
    fn nodes(&self) -> Vec<u32>;

    /// While another node leads: where a transaction that begins to lock now takes its locks, and commits.
    fn guest(&self) -> Option<Guest>;

    /// What the first read at a new snapshot has to wait for, so that it sees every commit that anybody was told of.
    fn freshness(&self) -> Option<Freshness>;

    /// As [`freshness`](Self::freshness), of a read that may miss what was committed in the last `bound`.
    fn freshness_within(&self, bound: Duration) -> Option<Freshness>;

    /// How long ago this node was known to have every commit; `None`: not yet.
    fn staleness(&self) -> Option<Duration>;

    /// Questions of this node's sessions to the one that leads, so far.
    fn calls(&self) -> u64;

    /// How long the oldest commit has waited that was answered and is not on the disk.
    fn unsynced(&self) -> Duration;

    /// Commits a write set under these locks: it is as durable as asked for, and visible, when the future is ready. `memory` is what was
    /// reserved for its rows; it is given back as the store is charged for them.
    fn propose(
        &self,
        write_set: Vec<u8>,
        lock_epoch: u64,
        durability: Durability,
        memory: Reservation,
        locks: TransactionLocks,
    ) -> Committing;
}

impl Participant for Shard {
    fn store(&self) -> &Arc<Store> {
        Shard::store(self)
    }

    fn lock_epoch(&self) -> u64 {
        Shard::lock_epoch(self)
    }

    fn incarnation(&self) -> u64 {
        let identity = self.identity();
        u64::from(identity.node) << 32 | u64::from(identity.incarnation)
    }

    fn cluster(&self) -> u128 {
        self.identity().cluster
    }

    fn level(&self) -> Level {
        Shard::level(self)
    }

    fn wall(&self) -> Duration {
        Shard::wall(self)
    }

    fn nodes(&self) -> Vec<u32> {
        self.replicas().iter().map(|replica| replica.node).collect()
    }

    fn guest(&self) -> Option<Guest> {
        Shard::guest(self)
    }

    #[inline]
    fn freshness(&self) -> Option<Freshness> {
        Shard::freshness(self)
    }

    fn freshness_within(&self, bound: Duration) -> Option<Freshness> {
        Shard::freshness_within(self, bound)
    }

    fn staleness(&self) -> Option<Duration> {
        Shard::staleness(self)
    }

    fn calls(&self) -> u64 {
        self.meters().calls.load(Ordering::Relaxed)
    }

    fn unsynced(&self) -> Duration {
        self.meters().unsynced().unwrap_or_default()
    }

    fn propose(
        &self,
        write_set: Vec<u8>,
        lock_epoch: u64,
        durability: Durability,
        memory: Reservation,
        locks: TransactionLocks,
    ) -> Committing {
        let ticket = self.begin();
        let transaction = shard::Transaction {
            id: ticket.id(),
            lock_epoch,
            durability,
            writes: write_set,
            memory: Some(memory),
        };
        let proposal = self.propose_holding(transaction, locks);
        Box::pin(async move {
            let answer = proposal.await;
            // Nobody asks again: the session tells its client what it has been told.
            drop(ticket);
            answer
        })
    }
}

impl Transaction {
    /// Forgets everything, as [`rollback`](Self::rollback) does; done when the locks are free, also those that another node has given.
    pub async fn rolled_back(mut self) {
        if let Some(guest) = self.guest.take() {
            guest.release().await;
        }
        self.rollback();
    }

    /// Commits. Drive the future to its end, whatever happens to the client: the locks are released when it is done. `None`:
    /// there was nothing to write.
    pub fn commit(self) -> impl Future<Output = Result<Option<Timestamp>, ProposeError>> + Send {
        self.commit_then(|_| ())
    }

    /// Commits, and does something when the changes have become visible, before the locks are released: others who wait for
    /// them will find it done.
    pub fn commit_then(
        self,
        then: impl FnOnce(Timestamp) + Send,
    ) -> impl Future<Output = Result<Option<Timestamp>, ProposeError>> + Send {
        self.commit_as(|overlay| (!overlay.is_empty()).then(|| overlay.encode()), then)
    }

    /// As [`commit_then`](Self::commit_then), of the write set that `encode` makes of the changes; `None`: there is nothing to write.
    pub(crate) fn commit_as(
        self,
        encode: impl FnOnce(&Overlay) -> Option<Vec<u8>>,
        then: impl FnOnce(Timestamp) + Send,
    ) -> impl Future<Output = Result<Option<Timestamp>, ProposeError>> + Send {
        let Transaction {
            participant,
            lock_epoch,
            options: Options { durability, .. },
            overlay,
            prepared,
            locks,
            mut guest,
            memory,
            ..
        } = self;
        let locks = match failpoints::goes_wrong("lock.commit") {
            true => participant.store().locks().transaction(),
            false => locks,
        };
        let lock_epoch = match failpoints::goes_wrong("lead.locks") {
            true => participant.lock_epoch(),
            false => lock_epoch,
        };
        let propose = |writes: Vec<u8>, locks| {
            // It covers what the store is going to grow by; as it grows, it is charged itself.
            let memory = memory.hand_over();
            match guest.take() {
                // What others may not do meanwhile is said by the locks that it has there.
                Some(guest) => governor::given_away(|| {
                    Box::pin(async move { (guest.commit(writes, memory).await, Some(locks)) }) as Committing
                }),
                None => governor::given_away(|| participant.propose(writes, lock_epoch, durability, memory, locks)),
            }
        };
        let (locks, proposal) = match governor::given_away(|| encode(&overlay)) {
            None => (Some(locks), None),
            Some(writes) => (None, Some(propose(writes, locks))),
        };
        drop(overlay);
        async move {
            let _held = (locks, prepared);
            let Some(mut proposal) = proposal else {
                if let Some(guest) = guest {
                    guest.release().await;
                }
                return Ok(None);
            };
            // They go after what is to be done before.
            let (committed, _locks) = (&mut proposal).await;
            governor::given_away(|| drop(proposal));
            let committed = committed?;
            then(committed);
            Ok(Some(committed))
        }
    }
}
