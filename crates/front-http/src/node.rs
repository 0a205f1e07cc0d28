//! What can be asked of a node, as plain data.

use serde::{Deserialize, Serialize};

/// The node as this front sees it; the binary implements it over the engine.
pub trait Node: Send + Sync + 'static {
    fn health(&self) -> Health;
    fn status(&self) -> Status;
    fn figures(&self) -> Figures;
}

/// Whether the node takes statements now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Serving,
    NotServing {
        /// For a person: what is wrong, and since which event.
        reason: String,
    },
}

/// The answer of `/status`.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Status {
    pub version: String,
    pub uptime_seconds: u64,
    /// `serving`, or the reason why not.
    pub state: String,
    pub durability: String,
    pub data_dir: String,
    pub nodes: Vec<NodeStatus>,
    pub shards: Vec<ShardStatus>,
    pub memory: MemoryStatus,
    /// Client connections open now.
    pub connections: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct NodeStatus {
    pub id: u64,
    pub roles: Vec<String>,
    pub mysql_addr: String,
    pub http_addr: String,
    /// `up`, `down` or `draining`.
    pub state: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct ShardStatus {
    pub id: u64,
    /// Node id of the leader, if there is one.
    pub leader: Option<u64>,
    pub term: u64,
    pub voters: Vec<u64>,
    pub last_log_index: u64,
    pub applied_index: u64,
    /// Log position of the newest checkpoint; the log after it is replayed at a restart.
    pub checkpoint_index: u64,
    /// Entries written but not yet applied here.
    pub lag_entries: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct MemoryStatus {
    pub used_bytes: u64,
    pub limit_bytes: u64,
}

/// The figures of `/metrics`. Counts start at zero with the process; bytes are bytes, times are seconds.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub version: String,
    pub uptime_seconds: f64,
    pub connections_open: u64,
    pub connections_accepted: u64,
    pub connections_refused: u64,
    /// Statements finished, by kind (`select`, `insert`, `commit`, …).
    pub statements: Vec<(String, u64)>,
    /// Panics of any thread since the start: each is a defect.
    pub panics: u64,
    /// Errors sent to clients, by MySQL error number.
    pub errors: Vec<(u16, u64)>,
    /// From the session's request to commit until it may answer.
    pub commit_seconds: Distribution,
    /// Transactions per log entry.
    pub commit_group_size: Distribution,
    /// One sync of the log to disk.
    pub log_sync_seconds: Distribution,
    pub log_bytes_written: u64,
    /// Memory by what it is used for (`rows`, `indexes`, `versions`, …).
    pub memory_used_bytes: Vec<(String, u64)>,
    pub memory_limit_bytes: u64,
    pub rows: u64,
    pub locks_held: u64,
    pub lock_waits: u64,
    pub deadlocks: u64,
}

/// A histogram read at one moment: observations up to each bound (not cumulative), then those beyond the last.
#[derive(Debug, Clone, Default)]
pub struct Distribution {
    /// (inclusive upper bound, observations in this bucket), bounds ascending.
    pub buckets: Vec<(f64, u64)>,
    pub beyond: u64,
    pub sum: f64,
}
