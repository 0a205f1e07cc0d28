//! Which one thing held the rate of a rung back.
//!
//! The rules ask in an order in which an earlier answer explains the later ones: a busy load generator makes every server
//! look idle, a full network makes their CPUs look idle, and so on. Each rule holds a figure against its limit and says so.

use lab_results::rung::{Bottleneck, Verdict};
use lab_results::{NodeProbes, NodeSample, UnixMicros};

/// Everything that is known of a rung. What was not measured is empty or `None`, and then not judged by.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    pub started: UnixMicros,
    pub measured_s: f64,
    pub nodes: Vec<NodeEvidence>,
    pub driver: DriverEvidence,
}

#[derive(Debug, Clone, Default)]
pub struct NodeEvidence {
    pub name: String,
    /// `load`, `sql`, `data`, `manager`, as in [`lab_results::run::Node::roles`].
    pub roles: Vec<String>,
    /// Of any time; those within the interval are used.
    pub samples: Vec<NodeSample>,
    pub probes: Option<NodeProbes>,
    /// Names in [`NodeSample::processes`] of the load generator's processes here.
    pub load_processes: Vec<String>,
    /// The same of the database's processes here.
    pub server_processes: Vec<String>,
}

/// What the load generator says of itself.
#[derive(Debug, Clone, Default)]
pub struct DriverEvidence {
    pub threads: u32,
    pub transactions: u64,
    pub queries: u64,
    /// Processor seconds of the load generator in the interval, by its own account.
    pub cpu_s: Option<f64>,
    /// OS threads that the load generator runs its clients on: so many cores it can use at most.
    pub worker_threads: Option<u32>,
    pub retries: u64,
    /// Time in attempts that were thrown away.
    pub wasted_us: u64,
    /// Answers that were lock errors (1205, 1213, 3572 and their like).
    pub lock_errors: u64,
    /// Mean latency of a transaction in this rung, and with one thread on the same target and workload.
    pub mean_latency_us: Option<f64>,
    pub one_thread_latency_us: Option<f64>,
    /// Mean latency of the statements that wait for locks (updates, deletes, SELECT … FOR UPDATE) here and with one thread.
    pub locking_latency_us: Option<f64>,
    pub locking_latency_one_thread_us: Option<f64>,
    /// Mean latency of COMMIT (or of writes in autocommit) here.
    pub commit_latency_us: Option<f64>,
}

/// The verdict on a rung. Pure: the same evidence gives the same words.
pub fn judge(evidence: &Evidence) -> Verdict {
    let _ = evidence;
    Verdict {
        bottleneck: Bottleneck::None,
        node: None,
        confidence: 0.0,
        evidence: vec!["not judged: the rules are not built yet".into()],
    }
}
