//! What a node knows beyond one shard: the catalog and the transactions over shards.
//!
//! * [`catalog`]: databases, tables, accounts; durable as rows of a system table.


pub mod catalog;

