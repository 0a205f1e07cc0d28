//! What can be asked of a node, as plain data.

use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::history::History;
use crate::visitor::Visitor;

/// The node as this front sees it; the binary implements it over the engine.
pub trait Node: Send + Sync + 'static {
    /// Whether the visitor may have what he asks for. Takes as long as a login.
    fn admit(&self, visitor: Visitor, purpose: Purpose) -> Pin<Box<dyn Future<Output = Admission> + Send + '_>>;
    fn health(&self) -> Health;
    /// Whether this node leads: it answers without asking another one.
    fn leads(&self) -> bool;
    fn status(&self) -> Status;
    /// Does what the operator asks for; done when it is done. The error is for a person.
    fn act(&self, order: Order) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + '_>>;
    /// Gives a part of a backup. The error is for a person.
    fn back_up(&self, call: BackupCall) -> Pin<Box<dyn Future<Output = Result<BackupAnswer, String>> + Send + '_>>;
    fn figures(&self) -> Figures;
    fn history(&self) -> &History;
}

/// What a visitor is let in for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The status and the figures.
    Look,
    /// All rows.
    BackUp,
}

impl Purpose {
    /// Of an account.
    pub(crate) fn privilege(self) -> &'static str {
        match self {
            Purpose::Look => "PROCESS",
            Purpose::BackUp => "BACKUP_ADMIN",
        }
    }
}

/// What whoever draws a backup asks for, by `POST /admin/backup/…`. A backup is known by a number that he has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupCall {
    /// The records that the backup begins with: of a new checkpoint, or of that of entry `earlier`, if it is still there. Asked again until
    /// it is written.
    Begin { backup: u64, earlier: Option<u64> },
    /// A chunk of its checkpoint.
    Chunk { backup: u64, number: u64 },
    /// It is given up, or done.
    End { backup: u64 },
    /// The record that the log of a cluster begins with, behind an entry at which `newest` was the newest commit.
    LogHead {
        cluster: u128,
        term: u64,
        index: u64,
        newest: u64,
    },
    /// What the log has behind an entry.
    Log { term: u64, index: u64 },
    /// Where this node leads: puts a commit that changes nothing into the log, so that the log has everything up to now.
    Mark,
}

impl BackupCall {
    /// Of a request's path below `/admin/backup/`, and its query.
    pub fn of(path: &str, query: Option<&str>) -> Option<BackupCall> {
        let text = |key: &str| {
            let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let number = |key: &str| text(key)?.parse().ok();
        Some(match path {
            "begin" => BackupCall::Begin {
                backup: number("backup")?,
                earlier: number("earlier"),
            },
            "chunk" => BackupCall::Chunk {
                backup: number("backup")?,
                number: number("number")?,
            },
            "end" => BackupCall::End {
                backup: number("backup")?,
            },
            "log-head" => BackupCall::LogHead {
                cluster: text("cluster")?.parse().ok()?,
                term: number("term")?,
                index: number("index")?,
                newest: number("newest")?,
            },
            "log" => BackupCall::Log {
                term: number("term")?,
                index: number("index")?,
            },
            "mark" => BackupCall::Mark,
            _ => return None,
        })
    }
}

/// What is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupAnswer {
    /// Of the stream that the backup is, as they stand in it.
    Records(Vec<u8>),
    /// Ask again.
    NotYet,
}

/// What an operator may ask of a cluster, by `POST /admin/…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Another node takes the lead: this one, or whichever is furthest.
    MoveLeader { to: Option<u32> },
    /// The node is none of the cluster's any more.
    RemoveNode { node: u32 },
    /// What the node had is lost: it may come back with an empty directory.
    ReplaceNode { node: u32 },
    /// The node that is asked gives up the lead and tells load balancers to send nobody.
    Drain,
    /// The opposite.
    Resume,
    /// The cluster's feature level rises as far as all of its nodes speak.
    Upgrade,
}

impl Order {
    /// Of a request's target.
    pub(crate) fn of(path: &str, query: Option<&str>) -> Option<Order> {
        let node = query.and_then(|query| query.strip_prefix("node=")?.parse().ok());
        Some(match path {
            "/admin/move-leader" => Order::MoveLeader { to: node },
            "/admin/remove-node" => Order::RemoveNode { node: node? },
            "/admin/replace-node" => Order::ReplaceNode { node: node? },
            "/admin/drain" => Order::Drain,
            "/admin/resume" => Order::Resume,
            "/admin/upgrade" => Order::Upgrade,
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
    /// Of the node that answers.
    #[serde(default)]
    pub node_id: u64,
    pub uptime_seconds: u64,
    /// `serving`, or the reason why not.
    pub state: String,
    pub durability: String,
    pub data_dir: String,
    /// Where Redis clients are listened to; empty: nowhere.
    #[serde(default)]
    pub redis_addr: String,
    /// The cluster's feature level; 0: the node says nothing of it.
    #[serde(default)]
    pub level: u8,
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
    /// The feature levels that it speaks (`1 to 2`), as far as this node knows.
    #[serde(default)]
    pub levels: String,
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
    /// Log on this node's disk, and how much of it may be kept behind a checkpoint.
    #[serde(default)]
    pub log_bytes: u64,
    #[serde(default)]
    pub log_keep_bytes: u64,
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
    /// Whether clients are served, as `/health` says.
    pub is_serving: bool,
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
    /// Answers that were cut because their clients did not read them, by the reason (`timeout`, `memory`).
    pub answers_cut: Vec<(String, u64)>,
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
    /// Log that no checkpoint covers: a restart replays it.
    pub log_unchecked_bytes: u64,
    /// Checkpoints written, and tries that came to nothing.
    pub checkpoints: u64,
    pub checkpoint_failures: u64,
    /// Of the file system that the data directory is on; none: it does not say.
    pub disk: Option<Disk>,
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
    /// Whether this node knows of a leader.
    pub has_leader: bool,
    /// Entries that some node has written and this one has not applied.
    pub lag_entries: u64,
    /// The node has the log and no rows.
    pub is_witness: bool,
    /// The cluster's, and the highest that this node speaks.
    pub feature_level: u8,
    pub feature_level_highest: u8,
    pub term: u64,
    pub applied_index: u64,
    /// Calls to the leader for this node's sessions.
    pub cluster_calls: u64,
    /// Transactions of other nodes that hold locks here.
    pub cluster_guests: u64,
    /// Of Redis clients, for those on other nodes: that went there, that came from there, and that found no way or no room.
    pub messages_to_nodes: u64,
    pub messages_from_nodes: u64,
    pub messages_lost: u64,
    /// By node, of those that can be reached.
    pub peer_round_trip_micros: Vec<(u32, u64)>,
}

/// Room on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    pub size_bytes: u64,
    /// What the node may still take.
    pub free_bytes: u64,
}

/// A histogram read at one moment: observations up to each bound (not cumulative), then those beyond the last.
#[derive(Debug, Clone, Default)]
pub struct Distribution {
    /// (inclusive upper bound, observations in this bucket), bounds ascending.
    pub buckets: Vec<(f64, u64)>,
    pub beyond: u64,
    pub sum: f64,
}
