//! One rung: one workload at one load against one target, for one measured interval.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cluster::NodeWatch;
use crate::run::{Event, Load};
use crate::{Latency, UnixMicros};

/// Repeat number of a soak's rung: one long interval, which is no repeat of a ladder's short ones at the same load.
pub const SOAK_REPEAT: u32 = 1000;

/// `rung.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    pub schema: u32,
    /// Place in the series, from 1: the order in which the rungs really ran.
    pub index: u32,
    pub target: String,
    pub workload: String,
    pub load: Load,
    /// From 1; [`SOAK_REPEAT`] for a soak.
    pub repeat: u32,
    /// Start and length of the measured interval, without warm-up.
    pub started: UnixMicros,
    pub measured_s: f64,
    pub totals: Totals,
    /// Sums over the measured interval per statement kind (`point_select`, `index_update`, …).
    pub statements: BTreeMap<String, StatementTotals>,
    /// Whole transactions, restarts after ignored errors included, as sysbench counts them.
    pub latency: Latency,
    /// Open loop only: from the moment a transaction was sent, so that the time in the queue can be told apart.
    pub service_latency: Option<Latency>,
    pub errors: Vec<ErrorCount>,
    /// What each node spent in the interval; the node that drove the load is among them.
    pub costs: BTreeMap<String, NodeCost>,
    pub verdict: Option<Verdict>,
    /// Of rungs with one thread per server at most: what the latency is made of, by the probes.
    #[serde(default)]
    pub explanation: Option<LatencyExplanation>,
    pub events: Vec<Event>,
    /// Of a load whose rate varies: what became of each phase, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseResult>,
    /// Connections that were open beside the load's and asked for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleConnections>,
    /// Why the figures of this rung are not to be used, if so.
    pub void: Option<String>,
    /// Who drove the load, each with its part of it. Nodes without a connection of this rung are not among them.
    #[serde(default)]
    pub load_shares: Vec<LoadShare>,
    /// The nodes of a LatsDB cluster; their changes of leader are among the events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster: Vec<NodeWatch>,
}

/// A load node's part of a rung; the parts add up to the rung.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadShare {
    pub node: String,
    /// Connections.
    pub threads: u32,
    pub transactions: u64,
    /// Processor seconds of the threads that drove the load, within the measured interval.
    pub cpu_s: f64,
    pub context_switches: u64,
    /// Operating system threads that carried the connections; 0 if that is not known.
    pub worker_threads: u32,
}

/// One phase of a load whose rate varies. A transaction belongs to the phase in which it was due, whenever it was answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    pub name: String,
    /// The rate asked for at its beginning and its end.
    pub from_per_s: f64,
    pub to_per_s: f64,
    /// Since the measured interval began.
    pub at_s: f64,
    /// Shorter than asked if the rung was ended early.
    pub seconds: f64,
    /// Transactions that were due in it.
    pub due: u64,
    /// Transactions that were answered in it, whenever they were due.
    pub transactions: u64,
    /// From the intended start, of the transactions that were due in it and answered before the rung's end.
    pub latency: Latency,
    /// Due by its end, and not begun.
    pub backlog: u64,
    /// From its end until no transaction waited any more; 0 without backlog, absent if some waited until the rung's end.
    pub drained_s: Option<f64>,
}

/// Connections that logged in before the warm-up and were kept until the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleConnections {
    /// Opened, of all servers together.
    pub opened: u32,
    /// Of these, open all the time.
    pub kept: u32,
    /// Statements that each had prepared.
    pub prepared_statements: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    pub transactions: u64,
    /// Statements that were answered, BEGIN and COMMIT among them, as sysbench's "queries".
    pub queries: u64,
    /// Rows received.
    pub rows: u64,
    /// Keys that were looked up by IN lists and point selects.
    pub key_lookups: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Transactions that were started again after an ignored error.
    pub retries: u64,
    /// Time spent in attempts that were thrown away.
    pub wasted_us: u64,
    pub reconnects: u64,
    /// Open loop: transactions whose turn had come and that no thread was free to send when the interval ended.
    pub backlog: u64,
}

impl Totals {
    pub fn add(&mut self, other: &Totals) {
        self.transactions += other.transactions;
        self.queries += other.queries;
        self.rows += other.rows;
        self.key_lookups += other.key_lookups;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.retries += other.retries;
        self.wasted_us += other.wasted_us;
        self.reconnects += other.reconnects;
        self.backlog += other.backlog;
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StatementTotals {
    pub count: u64,
    pub rows: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub latency: Latency,
}

impl StatementTotals {
    pub fn merge(&mut self, other: &StatementTotals) {
        self.count += other.count;
        self.rows += other.rows;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.latency.merge(&other.latency);
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// MySQL's error number: the server's, or the client's own (2003 cannot connect, 2006 gone, 2013 lost during a statement); 0 for
    /// bytes that are not the protocol.
    pub code: u16,
    pub sqlstate: String,
    /// The first message of this code, as an example.
    pub message: String,
    /// Statement kind in which it came.
    pub statement: String,
    pub count: u64,
}

/// What a node spent during the measured interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeCost {
    /// Processor seconds, all cores together.
    pub cpu_s: f64,
    /// Of these, the measured process alone (the load generator on its node, the server where its process is known).
    pub process_cpu_s: Option<f64>,
    pub context_switches: u64,
    pub net_bytes: u64,
    pub net_packets: u64,
    pub disk_writes: u64,
    pub disk_bytes_written: u64,
    /// Cache flushes that the disk was asked for.
    pub disk_flushes: Option<u64>,
}

/// What held the rate back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub bottleneck: Bottleneck,
    /// The node it was seen on.
    pub node: Option<String>,
    /// 0..=1: how clearly the evidence speaks.
    pub confidence: f64,
    /// Each a sentence with the figure and the limit it is held against.
    pub evidence: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// Voids the rung: the figure is the client's, not the server's.
    LoadGenerator,
    SqlCpu,
    DataCpu,
    NetworkBandwidth,
    NetworkPackets,
    Disk,
    Locks,
    /// Nothing was exhausted: waiting for round trips, or too few clients.
    None,
}

/// A line of `seconds.jsonl`: what was answered within one second of the interval, warm-up (negative) included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Seconds since the measured interval began; warm-up is negative.
    pub second: i64,
    pub transactions: u64,
    pub queries: u64,
    pub errors: u64,
    pub retries: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub latency: Latency,
    /// By statement kind.
    pub statements: BTreeMap<String, Latency>,
}

impl Second {
    /// The same second of another driver.
    pub fn merge(&mut self, other: &Second) {
        self.transactions += other.transactions;
        self.queries += other.queries;
        self.errors += other.errors;
        self.retries += other.retries;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.latency.merge(&other.latency);
        for (kind, latency) in &other.statements {
            self.statements.entry(kind.clone()).or_default().merge(latency);
        }
    }
}

/// The mean latency of one thread's transaction, added up from what the probes found. What the parts leave
/// unexplained is the difference to the measured mean, which may be negative.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyExplanation {
    pub parts: Vec<LatencyPart>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyPart {
    /// `network`, `wake-ups`, `client CPU`, `server CPU`, `log write`, …
    pub what: String,
    /// How often it happens in a transaction (messages, wake-ups, …).
    pub per_transaction: f64,
    /// What it takes each time.
    pub each_us: f64,
    /// Which probe says so, in a few words.
    pub source: String,
}
