//! Transactions that are prepared in one commit and end in another one ([`shard::PreparedTransaction`]).
//!
//! ```text
//!   take_name ──▶ … reads, locks, changes … ──▶ prepare: a commit of what it holds and would change
//!                                                  ┊
//!   lock_decision ──▶ prepared ──▶ decide: a commit of what it would have changed, or of nothing
//! ```

use std::future::Future;

use shard::{Durability, PREPARED, PreparedName, PreparedTransaction, ProposeError, Unreadable};
use store::{IndexId, LockKey, LockMode};

use super::{LockPolicy, Progress, Transaction, TransactionError};

/// What becomes of a prepared transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Commit,
    RollBack,
}

impl Transaction {
    /// Takes the name under which this transaction may be prepared. [`TransactionError::LockNotAvailable`]: another one has it, running or
    /// prepared, on any node.
    pub fn take_name(&mut self, name: &PreparedName) -> Result<Progress, TransactionError> {
        let key = LockKey::Key(PREPARED, IndexId::PRIMARY, name.key());
        self.lock(key, LockMode::Exclusive, LockPolicy::NoWait)
    }

    /// Prepares it: from here on it belongs to nobody, and ends by [`decide`](Self::decide). An error: it is rolled back. Drive the future to
    /// its end.
    pub fn prepare(
        mut self,
        name: PreparedName,
    ) -> Result<impl Future<Output = Result<(), ProposeError>> + Send, TransactionError> {
        let growth = self.overlay.bytes();
        let mut prepared = PreparedTransaction::new(name, growth, self.overlay.encode());
        for (target, modes) in self.locks.held() {
            prepared.add_lock(&target, modes);
        }
        if let Some(guest) = &self.guest {
            guest.add_locks_to(&mut prepared);
        }
        let writes = governor::given_away(|| {
            let mut writes = prepared.prepare();
            // Ids that it has used stay used.
            self.overlay.encode_ids(&mut writes);
            writes.into_bytes()
        });
        drop(prepared);
        self.memory.grow(writes.len() as u64)?;
        // Whoever is told that it is prepared relies on it, whatever the session asks for.
        self.options.durability = Durability::MajorityDisk;
        let committing = self.commit_as(|_| Some(writes), |_| ());
        Ok(async move { committing.await.map(|_| ()) })
    }

    /// Keeps others from deciding on the prepared transaction of this name.
    pub fn lock_decision(&mut self, name: &PreparedName) -> Result<Progress, TransactionError> {
        let lock = [b"prepared ", name.key()].concat();
        self.lock_definition(LockKey::Name(&lock), LockMode::Exclusive)
    }

    /// The prepared transaction of a name, as it is now.
    pub fn prepared(&self, name: &PreparedName) -> Result<Option<PreparedTransaction>, Unreadable> {
        PreparedTransaction::read(self.store(), name.key())
    }

    /// Ends a prepared transaction, under the lock of its decision. Drive the future to its end.
    pub fn decide(
        self,
        prepared: &PreparedTransaction,
        decision: Decision,
    ) -> Result<impl Future<Output = Result<(), ProposeError>> + Send + use<>, Unreadable> {
        let writes = governor::given_away(|| match decision {
            Decision::Commit => prepared.commit(),
            Decision::RollBack => Ok(prepared.roll_back()),
        })?;
        let committing = self.commit_as(|_| Some(writes.into_bytes()), |_| ());
        Ok(async move { committing.await.map(|_| ()) })
    }
}
