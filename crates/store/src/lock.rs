//! Locks of running transactions.

use crate::memory::MemoryBudget;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use types::{IndexId, TableId};

/// What is locked: a whole table, or a key of one of its indexes (the primary key stands for the row).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockKey<'a> {
    Table(TableId),
    Key(TableId, IndexId, &'a [u8]),
}

/// Keys know `Shared` and `Exclusive`; the intention modes are for tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockMode {
    /// Reads some rows (also: the table's definition must not change).
    IntentionShared,
    /// Changes some rows.
    IntentionExclusive,
    Shared,
    Exclusive,
}

/// What a request came to.
#[derive(Debug)]
pub enum LockOutcome {
    /// Held now (or held already, in this mode or a stronger one) until the transaction ends.
    Granted,
    /// Queued. Await it and ask again; dropping it withdraws the request.
    Wait(LockWait),
    /// Waiting would close a cycle of waiting transactions.
    Deadlock,
}

/// Ready when the lock has been granted.
#[derive(Debug)]
pub struct LockWait {}

impl Future for LockWait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// All locks of one shard's running transactions.
pub struct LockTable {}

/// The locks one transaction holds; released together when dropped.
pub struct TransactionLocks {
    _table: Arc<LockTable>,
}

impl LockTable {
    pub fn new(_memory: Arc<MemoryBudget>) -> Arc<LockTable> {
        Arc::new(LockTable {})
    }

    /// Starts a transaction's set of locks.
    pub fn transaction(self: &Arc<Self>) -> TransactionLocks {
        TransactionLocks { _table: Arc::clone(self) }
    }
}

impl TransactionLocks {
    /// Asks for a lock, queueing if it is not free. Never blocks.
    pub fn lock(&mut self, _key: LockKey<'_>, _mode: LockMode) -> LockOutcome {
        LockOutcome::Granted
    }

    /// Takes a lock if it is free at once: NOWAIT and SKIP LOCKED.
    pub fn try_lock(&mut self, _key: LockKey<'_>, _mode: LockMode) -> bool {
        true
    }

    /// Gives everything back.
    pub fn release_all(&mut self) {}
}
