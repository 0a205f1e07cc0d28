//! Locks of running transactions, on tables and on keys.
//!
//! The table of locks is cut into shards by the hash of what is locked; taking a free lock and giving it back touches one shard.
//! A request that cannot be granted joins a fair queue and becomes a future, [`LockWait`]. Before it does, the wait-for graph is
//! searched for a cycle that it would close: a deadlock is known at once, and never waited for.
//!
//! ```text
//!   shard ─▶ lock ─┬─ holders   transaction 7: Shared     transaction 9: Shared
//!                  └─ queue     transaction 12: Exclusive ─▶ transaction 13: Shared
//! ```
//!
//! Requests are granted in the order of their arrival, with one exception: a holder who asks for more (Shared, then Exclusive) goes
//! before everybody who holds nothing yet, for they wait for it anyway.
//!
//! Who loses in a deadlock: the transaction of the cycle with the fewest locks, the requester if it is one of several.

mod deadlock;
mod mode;
mod queue;
mod table;

#[cfg(test)]
mod tests;

pub use mode::LockMode;
pub use queue::LockWait;
pub use table::{LockInfo, LockOwner, LockStatistics, LockTable, TransactionLocks};

use types::{IndexId, TableId};

/// What is locked: a whole table, or a key of one of its indexes (the primary key stands for the row).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockKey<'a> {
    Table(TableId),
    Key(TableId, IndexId, &'a [u8]),
}

/// What a request came to.
#[derive(Debug)]
pub enum LockOutcome {
    /// Held now (or held already, in this mode or a stronger one) until the transaction ends.
    Granted,
    /// Queued. Await it and ask again; dropping it withdraws the request.
    Wait(LockWait),
    /// This transaction has to give up, or a cycle of waiting transactions would be closed for ever.
    Deadlock,
}
