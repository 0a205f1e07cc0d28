//! Automatic ids that the log does not know of.
//!
//! A commit tells the log how far it has moved the counters of its tables. The ids of statements that failed, and of transactions that were
//! rolled back, are in no commit: after a crash they would be given once more, though somebody has seen them. So about once a second the counters
//! that the log lags behind are committed by themselves ([decision 8](../../../docs/decisions/0008-automatic-ids.md)).

use std::future::Future;

use store::{LockKey, LockMode};
use transaction::Progress;

use crate::engine::Engine;

impl Engine {
    /// A commit of the counters that the log does not know. `None`: it knows them all. A table that somebody changes the definition of is left
    /// to the next time, as its counter may be set back.
    pub fn log_automatic_ids(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        // The node that leads gives the ids, and knows which.
        if self.participant().guest().is_some() {
            return None;
        }
        let mut counters = self.begin();
        for table in self.participant().store().tables() {
            if table.id().is_local() || table.unlogged_auto_increment().is_none() {
                continue;
            }
            let lock = counters.lock_definition(LockKey::Definition(table.id()), LockMode::IntentionExclusive);
            // Looked at again, as it may have been set back meanwhile.
            if matches!(lock, Ok(Progress::Done))
                && let Some(next) = table.unlogged_auto_increment()
            {
                counters.set_auto_increment(table.id(), next);
            }
        }
        counters.has_writes().then(|| {
            let commit = counters.commit();
            async {
                // A shard that is led elsewhere, or does not take commits any more, gives no ids either.
                let _ = commit.await;
            }
        })
    }
}
