//! What became of the newest transactions.

use std::collections::{HashMap, VecDeque};

use types::Timestamp;

use crate::TransactionId;

/// Outcomes remembered; about 5 MiB.
const KEPT: usize = 1 << 16;

/// The newest committed transactions, in commit order. Part of the replicated state: equal on all replicas at the same
/// log index, and in every checkpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcomes {
    committed: HashMap<TransactionId, Timestamp>,
    order: VecDeque<TransactionId>,
    /// The greatest id that was forgotten.
    forgotten: Option<TransactionId>,
}

impl Outcomes {
    pub fn insert(&mut self, id: TransactionId, timestamp: Timestamp) {
        self.committed.insert(id, timestamp);
        self.order.push_back(id);
        if self.order.len() > KEPT {
            let oldest = self.order.pop_front().expect("there are many");
            self.committed.remove(&oldest);
            self.forgotten = self.forgotten.max(Some(oldest));
        }
    }

    /// Goes on from a checkpoint.
    pub fn restore(&mut self, forgotten: Option<TransactionId>) {
        self.forgotten = forgotten;
    }

    pub fn get(&self, id: TransactionId) -> Option<Timestamp> {
        self.committed.get(&id).copied()
    }

    /// The greatest id that was forgotten: a transaction with a greater one that is not here did not commit.
    pub fn forgotten(&self) -> Option<TransactionId> {
        self.forgotten
    }

    /// In commit order.
    pub fn iter(&self) -> impl Iterator<Item = (TransactionId, Timestamp)> {
        self.order.iter().map(|&id| (id, self.committed[&id]))
    }
}
