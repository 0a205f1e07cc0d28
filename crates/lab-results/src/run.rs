//! The series as a whole (`run.json`): written when it starts, again after each rung, and when it ends.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::UnixMicros;
use crate::cluster::Cluster;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub schema: u32,
    pub name: String,
    pub started: UnixMicros,
    /// Absent while the series runs, and for ever if it was killed.
    pub ended: Option<UnixMicros>,
    /// Ctrl-C: what was measured by then is here, and whole.
    pub interrupted: bool,
    /// The lab's own version.
    pub lab_version: String,
    pub seed: u64,
    pub targets: Vec<Target>,
    pub nodes: Vec<Node>,
    pub workloads: Vec<Workload>,
    pub plan: LoadPlan,
    pub slo: Option<Slo>,
    /// The highest rate that held the service level, by target and workload, where the plan asked for it.
    #[serde(default)]
    pub slo_rates: Vec<SloRate>,
    /// What the plan asked for and the series did not give, with the reason.
    pub not_run: Vec<NotRun>,
    /// What happened to the series as a whole: a target crashed, a node went away, the user stopped it.
    pub events: Vec<Event>,
}

/// A database under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    pub name: String,
    /// `host:port` of every server, in the plan's order.
    pub servers: Vec<String>,
    /// `SELECT VERSION()` and `@@version_comment` of each server that answered.
    pub versions: Vec<String>,
    /// Server variables that decide what the figures mean (durability, isolation, buffers), those that exist.
    pub variables: BTreeMap<String, String>,
    /// Cost of the whole cluster in millionths of a dollar per hour, with where that comes from.
    pub price: Option<Price>,
    /// Names of the nodes that this target's servers run on.
    pub nodes: Vec<String>,
    /// One name stands for the servers, and connections were opened anew after so long to follow it.
    #[serde(default)]
    pub reopen_after_s: Option<f64>,
    /// How its clients connect; absent in results from before there was a choice, which were plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Of a LatsDB cluster whose nodes the plan has watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,
}

/// Whether the connections to a target are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// As the plan asks: `disabled`, `preferred`, `required`, `verify_ca`, `verify_identity`.
    pub mode: String,
    /// What each server really gave, in their order: protocol and cipher, or `plain`.
    pub used: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub micro_usd_per_hour: u64,
    pub lines: Vec<PriceLine>,
    /// The oldest date among the lines, `YYYY-MM-DD`.
    pub dated: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriceLine {
    pub what: String,
    pub count: u32,
    pub micro_usd_per_hour: u64,
    pub provider: String,
    pub region: String,
    /// `on-demand`, `reserved-1y`, `reserved-3y` or `spot`.
    pub terms: String,
    pub source: String,
    pub dated: String,
}

/// A machine that takes part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub name: String,
    /// `load`, `sql`, `data`, `manager`; a machine may have several.
    pub roles: Vec<String>,
    /// Instance type, zone, placement, as the plan gives them.
    pub facts: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    pub name: String,
    /// `oltp_read_write`, `ycsb_a`, `tpcc`, …
    pub kind: String,
    /// Every option that decides what is sent, defaults included, in the plan's words.
    pub options: BTreeMap<String, String>,
    /// `latsdb` for our driver, `sysbench <version>` for the real one.
    pub driver: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    pub warmup_s: f64,
    pub measure_s: f64,
    pub cooldown_s: f64,
    pub repeats: u32,
    /// `abba`: targets in turns, every other round backwards. `sequential`: one after the other.
    pub order: String,
    pub loads: Vec<Load>,
}

/// What one rung asks of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "loop", rename_all = "snake_case")]
pub enum Load {
    /// So many clients, each sending its next transaction when the last one is answered.
    Closed {
        threads_per_server: u32,
        threads_total: u32,
    },
    /// Transactions start at this rate whatever the answers do; latency counts from the intended start.
    Open {
        /// In the mean, where the rate varies.
        rate_per_s: f64,
        arrivals: Arrivals,
        threads_total: u32,
        /// How the rate goes over the measured interval; absent if it stays the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        profile: Option<Profile>,
    },
}

/// A rate that varies over time: phases, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub name: String,
    pub phases: Vec<Phase>,
}

/// A stretch in which the rate goes evenly from one value to another, which may be the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Of the plan; may be empty.
    pub name: String,
    pub from_per_s: f64,
    pub to_per_s: f64,
    pub seconds: f64,
}

impl Profile {
    /// Length of the measured interval.
    pub fn seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.seconds).sum()
    }

    /// The mean rate.
    pub fn rate_per_s(&self) -> f64 {
        let transactions: f64 = self.phases.iter().map(Phase::transactions).sum();
        transactions / self.seconds()
    }
}

impl Phase {
    /// That are to begin in it.
    pub fn transactions(&self) -> f64 {
        (self.from_per_s + self.to_per_s) / 2.0 * self.seconds
    }
}

impl Load {
    /// The threads of all servers together.
    pub fn threads_total(&self) -> u32 {
        match self {
            Load::Closed { threads_total, .. } | Load::Open { threads_total, .. } => *threads_total,
        }
    }

    /// Of a load whose rate varies.
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Load::Closed { .. } => None,
            Load::Open { profile, .. } => profile.as_ref(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    Poisson,
    Even,
}

/// The service level that a rate must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slo {
    pub quantile: f64,
    pub latency_ms: f64,
}

/// What the search for the highest rate within the service level found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SloRate {
    pub target: String,
    pub workload: String,
    /// The highest rate that held it, transactions per second; 0 if not even the lowest one tried did.
    pub rate_per_s: f64,
    /// At that rate, the quantile of the service level.
    pub latency_ms: Option<f64>,
    /// The lowest rate that did not hold it; the truth lies between. Absent if every rate tried held it.
    pub broken_at_per_s: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotRun {
    pub what: String,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub at: UnixMicros,
    pub what: String,
}
