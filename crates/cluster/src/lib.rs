//! What a node knows beyond one shard: the catalog and the transactions over shards.
//!
//! * [`transaction`]: a session's uncommitted writes, its snapshot and its locks, until they become one entry of a shard's log.
//! * [`catalog`]: databases, tables, accounts; durable as rows of a system table.

pub mod catalog;
pub mod transaction;
