//! A LatsDB cluster as its nodes tell of it: who there is (`run.json`, with the target), and what each did while it was watched (`rung.json`,
//! `availability.json`).

use serde::{Deserialize, Serialize};

/// Before the first load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    pub nodes: Vec<ClusterNode>,
    /// Absent if there was none.
    pub leader: Option<u64>,
    pub term: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterNode {
    pub id: u64,
    /// As the node says them: `data`, `sql`, …
    pub roles: Vec<String>,
    /// Whether it counts in the majority that a commit waits for.
    pub votes: bool,
    pub mysql_addr: String,
    /// Where the lab asks it.
    pub status_addr: String,
    pub version: String,
}

/// One node during an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeWatch {
    pub id: u64,
    /// Those in which it answered.
    pub seconds: Vec<NodeSecond>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSecond {
    /// Since the interval began.
    pub second: u64,
    /// The most in this second: entries of the log that some node had and this one had not applied.
    pub lag_entries: u64,
    /// Whether it led at the second's end.
    pub leads: bool,
}
