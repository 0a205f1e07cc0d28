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
//! Who loses in a deadlock: the transaction of the cycle with the fewest locks, the requester if it is one of several. Who keeps others
//! away from a definition loses to nobody else: its work cannot be repeated as cheaply.
//!
//! A circle may go through the lock tables of two nodes: see [`elsewhere`].
//!
//! Locks of definitions are shared by everybody who uses a table, and seldom wanted by anybody else: see [`intent`].

mod deadlock;
mod elsewhere;
mod intent;
mod mode;
mod queue;
mod table;

#[cfg(test)]
mod tests;

pub use elsewhere::{Alias, ToldWait, Who};
pub use mode::{LockMode, LockModes};
pub use queue::LockWait;
pub use table::{LockInfo, LockOwner, LockStatistics, LockTable, LockTarget, TransactionLocks, WaitInfo};

use types::{IndexId, TableId};

/// What is locked: a whole table, or a key of one of its indexes (the primary key stands for the row); beside the rows, what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockKey<'a> {
    Table(TableId),
    Key(TableId, IndexId, &'a [u8]),
    /// The definition of a table. Whoever uses the table has it in an intention mode.
    Definition(TableId),
    /// A name, of something that may not exist, or not have a number.
    Name(&'a [u8]),
}

impl LockKey<'_> {
    /// The table that is locked, in part or as a whole.
    pub fn table(&self) -> Option<TableId> {
        match self {
            LockKey::Table(table) | LockKey::Key(table, ..) | LockKey::Definition(table) => Some(*table),
            LockKey::Name(_) => None,
        }
    }
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
