//! A measurement as files: what was asked for, what each rung gave, second by second, and what the machines did meanwhile.
//!
//! In reading order:
//!
//! 1. [`run`]: the series: targets, nodes, workloads, seeds, what was not run and why (`run.json`).
//! 2. [`rung`]: one workload at one load against one target: counts, errors, latencies, costs, verdict (`rung.json`),
//!    and its seconds (`seconds.jsonl`).
//! 3. [`host`]: what the probes found of a machine (`probes.json`) and what it did each second (`samples.jsonl`).
//! 4. [`availability`]: what became of a target that lost servers (`availability.json`).
//! 5. [`cluster`]: what the nodes of a LatsDB cluster said of themselves meanwhile.
//! 6. [`latency`]: histograms, as the files hold them.
//! 7. [`folder`]: where each of these lives.
//!
//! Readers refuse files of a newer [`SCHEMA`]; unknown fields of the same schema are ignored.

pub mod availability;
pub mod cluster;
pub mod folder;
pub mod host;
pub mod latency;
pub mod run;
pub mod rung;

pub use availability::Availability;
pub use cluster::NodeWatch;
pub use folder::{Folder, FolderError, RungFolder};
pub use host::{NodeProbes, NodeSample};
pub use latency::Latency;
pub use run::Run;
pub use rung::{Rung, Second};

/// Counts up when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// Microseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct UnixMicros(pub u64);
