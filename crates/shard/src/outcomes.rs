//! What became of the newest transactions.

use std::collections::{HashMap, VecDeque};

use types::Timestamp;

use crate::TransactionId;

/// Outcomes remembered; about 5 MiB.
const KEPT: usize = 1 << 16;

/// What the log made of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Committed(Timestamp),
    /// It did not fit the rows.
    Aborted,
}

/// The fates of the newest transactions of the log, in log order. Part of the replicated state: equal on all replicas at the same
/// log index, and in every checkpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcomes {
    fates: HashMap<TransactionId, Fate>,
    order: VecDeque<TransactionId>,
    /// The greatest id that was forgotten.
    forgotten: Option<TransactionId>,
}

impl Outcomes {
    pub fn insert(&mut self, id: TransactionId, fate: Fate) {
        self.fates.insert(id, fate);
        self.order.push_back(id);
        if self.order.len() > KEPT {
            let oldest = self.order.pop_front().expect("there are many");
            self.fates.remove(&oldest);
            self.forgotten = self.forgotten.max(Some(oldest));
        }
    }

    /// Goes on from a checkpoint.
    pub fn restore(&mut self, forgotten: Option<TransactionId>) {
        self.forgotten = forgotten;
    }

    pub fn get(&self, id: TransactionId) -> Option<Fate> {
        self.fates.get(&id).copied()
    }

    /// The greatest id that was forgotten: a transaction with a greater one that is not here is not in the log.
    pub fn forgotten(&self) -> Option<TransactionId> {
        self.forgotten
    }

    /// In log order.
    pub fn iter(&self) -> impl Iterator<Item = (TransactionId, Fate)> {
        self.order.iter().map(|&id| (id, self.fates[&id]))
    }
}
