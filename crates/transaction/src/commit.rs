//! The end of a transaction that has written: its overlay becomes an entry of the log, or, where it is large, several.

use env::failpoints;

use super::Transaction;
use shard::{ProposeError, Shard};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use store::{Reservation, Store, Timestamp};

/// The shard as a transaction sees it.
pub trait Participant: Send + Sync {
    fn store(&self) -> &Arc<Store>;

    /// Commits a write set: it is durable and visible when the future is ready. `memory` is what was reserved for its rows; it is given
    /// back as the store is charged for them.
    fn propose(
        &self,
        write_set: Vec<u8>,
        memory: Reservation,
    ) -> Pin<Box<dyn Future<Output = Result<Timestamp, ProposeError>> + Send>>;
}

impl Participant for Shard {
    fn store(&self) -> &Arc<Store> {
        Shard::store(self)
    }

    fn propose(
        &self,
        write_set: Vec<u8>,
        memory: Reservation,
    ) -> Pin<Box<dyn Future<Output = Result<Timestamp, ProposeError>> + Send>> {
        Box::pin(Shard::propose(
            self,
            shard::Transaction {
                id: self.begin(),
                writes: write_set,
                memory: Some(memory),
            },
        ))
    }
}

impl Transaction {
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
        let Transaction {
            participant,
            overlay,
            prepared,
            locks,
            memory,
            ..
        } = self;
        let propose = || {
            let writes = governor::given_away(|| overlay.encode());
            // It covers what the store is going to grow by; as it grows, it is charged itself.
            governor::given_away(|| participant.propose(writes, memory.hand_over()))
        };
        let proposal = (!overlay.is_empty()).then(propose);
        drop(overlay);
        async move {
            let _held = ((!failpoints::goes_wrong("lock.commit")).then_some(locks), prepared);
            let Some(proposal) = proposal else { return Ok(None) };
            let committed = proposal.await?;
            then(committed);
            Ok(Some(committed))
        }
    }
}
