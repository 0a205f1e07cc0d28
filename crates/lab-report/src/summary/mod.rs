//! What a series came to: the figures of `summary.json`, each with its formula.
//!
//! A [`Ladder`] is one workload on one target; its [`Point`]s are loads, each over all its repeats that count. A
//! [`Contest`] sets two ladders of one workload side by side. Void rungs are named and otherwise left out.

mod build;
mod contest;
mod findings;
mod market;

use std::collections::BTreeMap;

use lab_results::UnixMicros;
use lab_results::run::Load;
use lab_results::rung::Bottleneck;
use serde::Serialize;

use crate::distribution::Distribution;
use crate::figure::{Estimate, Figure, Sourced};
use crate::stats::Outcome;

pub use contest::contests_between;
pub use findings::{Findings, of_contest, restless, service_level_name};
pub use market::{Domination, Market, Offer};

/// Counts up when a field of `summary.json` changes its meaning or goes.
pub const SUMMARY_SCHEMA: u32 = 1;

#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    pub summary_schema: u32,
    pub series: String,
    pub lab_version: String,
    pub seed: u64,
    pub started: UnixMicros,
    pub ended: Option<UnixMicros>,
    pub interrupted: bool,
    /// In plain words, only from what was tested.
    pub findings: Vec<Findings>,
    pub ladders: Vec<Ladder>,
    pub contests: Vec<Contest>,
    /// Of the workloads that two targets with a price or more were measured with.
    pub markets: Vec<Market>,
    /// What the short names in formulas stand for.
    pub files: BTreeMap<String, String>,
}

/// One workload on one target.
#[derive(Debug, Clone, Serialize)]
pub struct Ladder {
    pub workload: String,
    pub target: String,
    /// Place of the target and of the workload in `run.json`.
    pub target_index: usize,
    pub workload_index: usize,
    /// Closed loops by threads, then open ones by rate.
    pub points: Vec<Point>,
    /// Of the points: the highest median rate.
    pub best: Option<usize>,
    pub knee: Option<Knee>,
    pub slo: Option<AtSlo>,
    /// Long intervals, each by itself: no repeats of the points.
    pub soaks: Vec<Point>,
    pub voids: Vec<Void>,
    /// vCPUs of the target's nodes together.
    pub vcpus: Option<Figure>,
    pub usd_per_hour: Option<Figure>,
}

/// One load, over its repeats.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    pub load: Load,
    /// Places in the series of the rungs that count.
    pub rungs: Vec<u32>,
    pub tps: Estimate,
    pub qps: Figure,
    pub rows_per_s: Figure,
    pub key_lookups_per_s: Figure,
    pub bytes_sent_per_s: Figure,
    pub bytes_received_per_s: Figure,
    pub errors_per_s: Figure,
    pub retries_per_s: Figure,
    /// Share of all threads' time that went into attempts thrown away.
    pub wasted: Figure,
    pub latency_ms: Option<LatencyFigures>,
    /// Open loop: from the sending, without the time in the queue.
    pub service_p95_ms: Option<Figure>,
    pub statements: BTreeMap<String, StatementFigures>,
    pub costs: Vec<CostFigures>,
    /// By role: all nodes of the same roles together, named after them.
    pub tier_costs: Vec<CostFigures>,
    /// Of all the target's nodes together.
    pub server_costs: Option<CostFigures>,
    pub tps_per_vcpu: Option<Figure>,
    /// Per processor that the target's nodes really used.
    pub tps_per_used_cpu: Option<Figure>,
    /// Higher is better.
    pub transactions_per_usd: Option<Figure>,
    /// Lower is better.
    pub usd_per_million_transactions: Option<Figure>,
    pub trends: Vec<TrendFigures>,
    pub verdict: Option<PointVerdict>,
    /// The servers' costs of each repeat by itself, where all were watched.
    #[serde(skip)]
    pub cost_repeats: Vec<CostFigures>,
    #[serde(skip)]
    pub histograms: Vec<(Distribution, String)>,
}

/// Of whole transactions, from the repeats' merged histograms.
#[derive(Debug, Clone, Serialize)]
pub struct LatencyFigures {
    pub mean: Figure,
    pub p50: Figure,
    pub p90: Figure,
    pub p95: Estimate,
    pub p99: Figure,
    pub p999: Figure,
    pub max: Figure,
}

#[derive(Debug, Clone, Serialize)]
pub struct StatementFigures {
    pub per_transaction: Figure,
    pub rows: Figure,
    pub bytes: Figure,
    pub p50_ms: Option<Figure>,
    pub p95_ms: Option<Figure>,
    pub p99_ms: Option<Figure>,
}

/// What a node spends on a transaction.
#[derive(Debug, Clone, Serialize)]
pub struct CostFigures {
    pub node: String,
    /// Processors busy on average: no cost of a transaction, but what the costs are a share of.
    pub cores_busy: Figure,
    pub cpu_us: Figure,
    pub process_cpu_us: Option<Figure>,
    pub context_switches: Figure,
    pub net_bytes: Figure,
    pub net_packets: Figure,
    pub disk_writes: Figure,
    pub disk_bytes: Figure,
    pub disk_flushes: Option<Figure>,
}

#[derive(Debug, Clone, Serialize)]
pub struct TrendFigures {
    pub rung: u32,
    /// Over the interval, as a share of the median second.
    pub change: Figure,
    pub per_hour: Figure,
    pub believed: bool,
    pub steady: bool,
}

/// The verdict of most of the point's rungs.
#[derive(Debug, Clone, Serialize)]
pub struct PointVerdict {
    pub bottleneck: Bottleneck,
    pub rung: u32,
    pub confidence: f64,
    pub agreeing: usize,
    pub of: usize,
}

/// Where the latency leaves its floor.
#[derive(Debug, Clone, Serialize)]
pub struct Knee {
    pub point: usize,
    /// Rate there over the best rate.
    pub share: Figure,
}

/// The highest rate at which the service level held.
#[derive(Debug, Clone, Serialize)]
pub struct AtSlo {
    /// `None`: it held at no load.
    pub point: Option<usize>,
    pub latency_ms: Option<Figure>,
    /// No measured load broke it: the limit lies above what was asked.
    pub never_broken: bool,
    pub usd_per_million_transactions: Option<Figure>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Void {
    pub rung: u32,
    pub load: Load,
    pub why: String,
}

/// Two ladders of one workload.
#[derive(Debug, Clone, Serialize)]
pub struct Contest {
    pub workload: String,
    pub base: Side,
    pub other: Side,
    /// The best rate of each, whatever the load.
    pub best: Option<Contrast>,
    pub loads: Vec<AtLoad>,
    pub crossovers: Vec<Crossing>,
    /// What a transaction costs the servers, each at its best load.
    pub costs: Vec<AtCost>,
}

/// One cost per transaction: `processor time`, `context switches`, …
#[derive(Debug, Clone, Serialize)]
pub struct AtCost {
    pub what: &'static str,
    pub contrast: Contrast,
}

/// A target, of a certain series in comparisons of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    pub letter: String,
    pub series: String,
    pub target: String,
    /// Where the target's name stands.
    pub from: String,
    /// Another series of the comparison has the same name: only the letter tells them apart.
    #[serde(skip)]
    pub ambiguous: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct AtLoad {
    pub load: Load,
    pub tps: Option<Contrast>,
    pub p95: Option<Contrast>,
}

/// The other's figure against the base's.
#[derive(Debug, Clone, Serialize)]
pub struct Contrast {
    pub base: Figure,
    pub other: Figure,
    /// Other over base.
    pub ratio: Figure,
    pub low: Option<Figure>,
    pub high: Option<Figure>,
    /// The highest confidence that so many repeats can give.
    pub strength: f64,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Serialize)]
pub struct Crossing {
    pub before_threads: u32,
    pub after_threads: u32,
    /// Of the other's rate against the base's, after the crossing.
    pub then: Outcome,
}

impl Point {
    pub fn sourced(&self) -> Vec<Sourced<'_>> {
        self.histograms
            .iter()
            .map(|(distribution, from)| Sourced { distribution, from })
            .collect()
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.load, Load::Closed { .. })
    }

    pub fn p95_ms(&self) -> Option<&Figure> {
        self.latency_ms.as_ref().map(|latency| &latency.p95.middle)
    }
}

impl Ladder {
    pub fn best_point(&self) -> Option<&Point> {
        self.best.map(|at| &self.points[at])
    }

    pub fn closed(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| point.is_closed())
    }
}

impl Summary {
    pub fn ladders_of<'a>(&'a self, workload: &'a str) -> impl Iterator<Item = &'a Ladder> {
        self.ladders.iter().filter(move |ladder| ladder.workload == workload)
    }
}
