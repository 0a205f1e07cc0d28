//! One replicated shard: rows, their log, and the consensus between its replicas.

mod api;

pub use api::{Config, OpenError, Outcome, ProposeError, Shard, Status, Timestamp, Transaction, TransactionId};
