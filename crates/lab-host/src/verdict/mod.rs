//! Which one thing held the rate of a rung back.
//!
//! ```text
//!   samples, probes, the driver's own account ── figures.rs ── rules.rs: candidates ── judge(): one verdict, with evidence
//! ```
//!
//! A load generator at its limit comes first, whatever else looks full: the rung then says nothing of the servers. Among the
//! other candidates the fullest wins; what came close is told as well. Every sentence gives the figure and the limit that
//! it is held against.

mod figures;
mod rules;

use lab_results::rung::{Bottleneck, Verdict};
use lab_results::{NodeProbes, NodeSample, UnixMicros};

use figures::Figures;
use rules::{Candidate, LIMIT};

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

impl NodeEvidence {
    fn is(&self, role: &str) -> bool {
        self.roles.iter().any(|of_node| of_node == role)
    }

    fn serves(&self) -> bool {
        self.is("sql") || self.is("data")
    }
}

/// What the load generator says of itself.
#[derive(Debug, Clone, Default)]
pub struct DriverEvidence {
    pub threads: u32,
    pub transactions: u64,
    pub queries: u64,
    /// Each load node's, where they are known.
    pub workers: Vec<WorkerEvidence>,
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

/// What a load node's threads say of themselves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkerEvidence {
    pub node: String,
    /// OS threads that it runs its clients on: so many cores it can use at most.
    pub threads: u32,
    /// Processor seconds of these in the interval.
    pub cpu_s: f64,
}

/// The verdict on a rung. Pure: the same evidence gives the same words.
pub fn judge(evidence: &Evidence) -> Verdict {
    let figures = Figures::of(evidence);
    let mut candidates = rules::candidates(evidence, &figures);
    let doubts = Doubts::of(evidence, &figures);
    if figures.nodes.is_empty() && candidates.is_empty() {
        return Verdict {
            bottleneck: Bottleneck::None,
            node: None,
            confidence: 0.0,
            evidence: vec!["not judged: there is no sample of any node in the measured interval".to_owned()],
        };
    }
    // Stable, so that of equals the earlier rule's stands.
    candidates.sort_by(|a, b| {
        let first = |candidate: &Candidate| candidate.bottleneck != Bottleneck::LoadGenerator;
        first(a).cmp(&first(b)).then(b.fullness.total_cmp(&a.fullness))
    });
    let mut candidates = candidates.into_iter();
    let mut verdict = match candidates.next() {
        Some(winner) => {
            let mut confidence = 0.6 + 0.35 * ((winner.fullness - LIMIT) / (1.0 - LIMIT)).clamp(0.0, 1.0);
            let mut sentences = winner.evidence;
            for other in candidates {
                // A second cause as strong as the first leaves the choice open; a voided rung has no choice.
                let close = other.bottleneck != winner.bottleneck && winner.fullness - other.fullness < 0.05;
                if close && winner.bottleneck != Bottleneck::LoadGenerator {
                    confidence *= 0.8;
                }
                sentences.extend(other.evidence.into_iter().map(|sentence| format!("also: {sentence}")));
            }
            Verdict {
                bottleneck: winner.bottleneck,
                node: winner.node,
                confidence: confidence * winner.trust,
                evidence: sentences,
            }
        }
        None => rules::nothing(evidence, &figures),
    };
    verdict.confidence *= doubts.factor;
    verdict.evidence.extend(doubts.sentences);
    verdict
}

/// What the verdict could not look at.
struct Doubts {
    factor: f64,
    sentences: Vec<String>,
}

const FEW_SECONDS: f64 = 3.0;

impl Doubts {
    fn of(evidence: &Evidence, figures: &Figures) -> Doubts {
        let mut doubts = Doubts {
            factor: 1.0,
            sentences: Vec::new(),
        };
        for node in &evidence.nodes {
            match figures.node(&node.name) {
                None if node.is("load") || node.serves() => {
                    doubts.factor *= 0.8;
                    doubts
                        .sentences
                        .push(format!("{} was not watched: its limits were not looked at", node.name));
                }
                Some(figures) if figures.starved() => {
                    doubts.factor *= 0.6;
                    doubts.sentences.push(format!(
                        "{}: its tasks waited for a core {:.0} % of the time though its quota was not used up: the machine under it \
                         is full with other work",
                        node.name,
                        100.0 * figures.pressure_cpu.unwrap_or(0.0)
                    ));
                }
                Some(figures) if figures.seconds < FEW_SECONDS => {
                    doubts.factor *= 0.8;
                    doubts.sentences.push(format!(
                        "{}: only {:.0} s of samples in the interval",
                        node.name, figures.seconds
                    ));
                }
                _ => {}
            }
        }
        doubts
    }
}

#[cfg(test)]
mod tests;
