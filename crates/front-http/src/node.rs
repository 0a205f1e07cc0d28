//! What can be asked of a node, as plain data.

use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::visitor::Visitor;

/// The node as this front sees it; the binary implements it over the engine.
pub trait Node: Send + Sync + 'static {
    /// Whether the visitor may see the status and the figures. Takes as long as a login.
    fn admit(&self, visitor: Visitor) -> Pin<Box<dyn Future<Output = Admission> + Send + '_>>;
    fn health(&self) -> Health;
    /// Whether this node leads: it answers without asking another one.
    fn leads(&self) -> bool;
    fn status(&self) -> Status;
    /// Does what the operator asks for; done when it is done. The error is for a person.
    fn act(&self, order: Order) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + '_>>;
    fn figures(&self) -> Figures;
}

/// What an operator may ask of a cluster, by `POST /admin/…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Another node takes the lead: this one, or whichever is furthest.
    MoveLeader { to: Option<u32> },
    /// The node is none of the cluster's any more.
    RemoveNode { node: u32 },
    /// The node that is asked gives up the lead and tells load balancers to send nobody.
    Drain,
    /// The opposite.
    Resume,
}

impl Order {
    /// Of a request's target.
    pub(crate) fn of(path: &str, query: Option<&str>) -> Option<Order> {
        let node = query.and_then(|query| query.strip_prefix("node=")?.parse().ok());
        Some(match path {
            "/admin/move-leader" => Order::MoveLeader { to: node },
            "/admin/remove-node" => Order::RemoveNode { node: node? },
            "/admin/drain" => Order::Drain,
            "/admin/resume" => Order::Resume,
            _ => return None,
        })
    }
}

/// Whether a visitor is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Welcome,
    /// He has to log in, or did so with a wrong password.
    Login,
    /// The account may not see the server.
    Forbidden,
    /// Too many wrong passwords.
    Later,
}

/// Whether the node takes statements now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Serving,
    NotServing {
        /// For a person: what is wrong. Everybody may read it.
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
    /// For other nodes; empty: the node is alone.
    #[serde(default)]
    pub peer_addr: String,
    #[serde(default)]
    pub applied_index: u64,
    /// Entries that some node has written and this one has not applied.
    #[serde(default)]
    pub lag_entries: u64,
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
    /// Wrong passwords and unknown users.
    pub logins_denied: u64,
    /// Logins that had to wait because of earlier failures.
    pub logins_delayed: u64,
    /// Logins that were refused because too many waited.
    pub logins_refused: u64,
    /// Unfinished logins that made room for new ones.
    pub logins_pushed_out: u64,
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
    /// How long the oldest commit has waited that was answered and is not on the disk, in milliseconds.
    pub log_unsynced_ms: u64,
    /// Memory by what it is used for (`rows`, `indexes`, `versions`, …).
    pub memory_used_bytes: Vec<(String, u64)>,
    pub memory_limit_bytes: u64,
    /// What the allocator has given out to the whole process.
    pub memory_allocated_bytes: u64,
    /// What the process takes of the system's memory.
    pub memory_resident_bytes: u64,
    /// Passes over all rows that have closed gaps in the allocator's pages, and what they have moved.
    pub compaction_passes: u64,
    pub compaction_moved: u64,
    pub compaction_moved_bytes: u64,
    /// Superseded row versions and dead index entries that are kept, or not collected yet.
    pub past_bytes: u64,
    /// How long ago the oldest moment was that AS OF TIMESTAMP can read, in milliseconds.
    pub past_readable_ms: u64,
    pub rows: u64,
    pub locks_held: u64,
    pub lock_waits: u64,
    pub deadlocks: u64,
    pub leads: bool,
    pub term: u64,
    pub applied_index: u64,
    /// Calls to the leader for this node's sessions.
    pub cluster_calls: u64,
    /// Transactions of other nodes that hold locks here.
    pub cluster_guests: u64,
    /// By node, of those that can be reached.
    pub peer_round_trip_micros: Vec<(u32, u64)>,
}

/// A histogram read at one moment: observations up to each bound (not cumulative), then those beyond the last.
#[derive(Debug, Clone, Default)]
pub struct Distribution {
    /// (inclusive upper bound, observations in this bucket), bounds ascending.
    pub buckets: Vec<(f64, u64)>,
    pub beyond: u64,
    pub sum: f64,
}
