//! The end of a transaction that has written: its overlay becomes an entry of the log, or, where it is large, several.

use env::failpoints;

use super::Transaction;
use shard::{ProposeError, Shard};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use store::{Store, Timestamp};

/// The shard as a transaction sees it.
pub trait Participant: Send + Sync {
    fn store(&self) -> &Arc<Store>;

    /// Commits a write set: it is durable and visible when the future is ready.
    fn propose(&self, write_set: Vec<u8>) -> Pin<Box<dyn Future<Output = Result<Timestamp, ProposeError>> + Send>>;
}

impl Participant for Shard {
    fn store(&self) -> &Arc<Store> {
        Shard::store(self)
    }

    fn propose(&self, write_set: Vec<u8>) -> Pin<Box<dyn Future<Output = Result<Timestamp, ProposeError>> + Send>> {
        Box::pin(Shard::propose(
            self,
            shard::Transaction {
                id: self.begin(),
                writes: write_set,
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
        let propose = || governor::given_away(|| participant.propose(overlay.encode()));
        let proposal = (!overlay.is_empty()).then(propose);
        drop(overlay);
        async move {
            // The reservation covers what the store is going to grow by; from then on the store is charged for it.
            let _held = (
                (!failpoints::goes_wrong("lock.commit")).then_some(locks),
                memory,
                prepared,
            );
            let Some(proposal) = proposal else { return Ok(None) };
            let committed = proposal.await?;
            then(committed);
            Ok(Some(committed))
        }
    }
}
