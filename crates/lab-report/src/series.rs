//! A series read from its folder, with every histogram in the small form.

use std::collections::BTreeMap;
use std::path::Path;

use lab_results::run::{Event, Load, Run};
use lab_results::rung::{
    ErrorCount, IdleConnections, LatencyExplanation, LoadShare, NodeCost, PhaseResult, StatementTotals, Totals, Verdict,
};
use lab_results::{Availability, Folder, NodeProbes, NodeSample, NodeWatch, Rung, RungFolder, UnixMicros};
use serde::Deserialize;

use crate::ReportError;
use crate::distribution::Distribution;
use crate::figure::{Figure, Place, Sourced};

#[derive(Debug, Clone)]
pub struct Series {
    /// Stands before the files of this series in formulas: empty in a report, `a:` and so on in a comparison.
    pub letter: String,
    pub run: Run,
    pub probes: Vec<NodeProbes>,
    /// Of `lab availability`; empty otherwise.
    pub availability: Vec<Availability>,
    /// In the order in which they ran.
    pub rungs: Vec<Measured>,
}

/// One rung, as `rung.json` has it.
#[derive(Debug, Clone)]
pub struct Measured {
    pub folder: String,
    pub place: Place,
    pub index: u32,
    pub target: String,
    pub workload: String,
    pub load: Load,
    pub repeat: u32,
    pub started: UnixMicros,
    pub measured_s: f64,
    pub totals: Totals,
    pub statements: BTreeMap<String, Statement>,
    pub latency: Distribution,
    pub latency_from: String,
    pub service_latency: Option<Distribution>,
    pub errors: Vec<ErrorCount>,
    pub costs: BTreeMap<String, NodeCost>,
    pub verdict: Option<Verdict>,
    pub explanation: Option<LatencyExplanation>,
    pub events: Vec<Event>,
    pub phases: Vec<PhaseMeasured>,
    pub idle: Option<IdleConnections>,
    pub void: Option<String>,
    pub load_shares: Vec<LoadShare>,
    pub cluster: Vec<NodeWatch>,
    /// Of the measured interval: warm-up is left out.
    pub seconds: Vec<SecondLine>,
    pub samples: Vec<NodeSample>,
}

/// A phase of a load whose rate varies.
#[derive(Debug, Clone)]
pub struct PhaseMeasured {
    pub name: String,
    pub from_per_s: f64,
    pub to_per_s: f64,
    pub at_s: f64,
    pub seconds: f64,
    pub due: u64,
    pub transactions: u64,
    pub latency: Distribution,
    pub latency_from: String,
    pub backlog: u64,
    pub drained_s: Option<f64>,
}

#[derive(Debug, Clone)]
pub struct Statement {
    pub count: u64,
    pub rows: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub latency: Distribution,
    pub latency_from: String,
}

/// What the report needs of a line of `seconds.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct SecondLine {
    pub second: i64,
    pub transactions: u64,
    pub errors: u64,
    pub latency: Distribution,
}

impl Series {
    pub fn read(path: &Path, letter: &str) -> Result<Series, ReportError> {
        let folder = Folder::open(path);
        let run = folder.run()?;
        let rungs = folder
            .rungs()?
            .iter()
            .map(|rung| Measured::read(rung, letter))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Series {
            letter: letter.to_owned(),
            probes: folder.probes()?,
            availability: folder.availability()?,
            run,
            rungs,
        })
    }

    pub fn place(&self, file: &str) -> Place {
        Place::new(format!("{}{file}", self.letter))
    }

    /// A field of `run.json`.
    pub fn of_run(&self, parts: &[&str]) -> String {
        self.place("run").field(parts)
    }

    pub fn target_index(&self, name: &str) -> Option<usize> {
        self.run.targets.iter().position(|target| target.name == name)
    }

    /// A node's processors: as probed, else as the plan says (`vcpu`).
    pub fn cores(&self, node: &str) -> Option<Figure> {
        let probed = self
            .probes
            .iter()
            .position(|probes| probes.node == node && probes.identity.cores > 0);
        if let Some(at) = probed {
            let cores = f64::from(self.probes[at].identity.cores);
            return Some(
                self.place("probes")
                    .figure(&[&at.to_string(), "identity", "cores"], cores),
            );
        }
        let at = self.run.nodes.iter().position(|entry| entry.name == node)?;
        let cores: f64 = self.run.nodes[at].facts.get("vcpu")?.parse().ok()?;
        Some(
            self.place("run")
                .figure(&["nodes", &at.to_string(), "facts", "vcpu"], cores),
        )
    }
}

impl Measured {
    fn read(folder: &RungFolder, letter: &str) -> Result<Measured, ReportError> {
        let rung = folder.rung()?;
        let mut seconds: Vec<SecondLine> = folder.seconds_as()?;
        seconds.retain(|line| line.second >= 0);
        let name = folder
            .path()
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut measured = Measured::of(rung, name, letter);
        measured.seconds = seconds;
        measured.samples = folder.samples()?;
        Ok(measured)
    }

    fn of(rung: Rung, folder: String, letter: &str) -> Measured {
        let place = Place::new(format!("{letter}r{}", rung.index));
        let statement = |(kind, totals): (&String, &StatementTotals)| {
            let small = Statement {
                count: totals.count,
                rows: totals.rows,
                bytes_sent: totals.bytes_sent,
                bytes_received: totals.bytes_received,
                latency: Distribution::from(&totals.latency),
                latency_from: place.field(&["statements", kind, "latency"]),
            };
            (kind.clone(), small)
        };
        let phase = |(at, phase): (usize, &PhaseResult)| PhaseMeasured {
            name: phase.name.clone(),
            from_per_s: phase.from_per_s,
            to_per_s: phase.to_per_s,
            at_s: phase.at_s,
            seconds: phase.seconds,
            due: phase.due,
            transactions: phase.transactions,
            latency: Distribution::from(&phase.latency),
            latency_from: place.field(&["phases", &at.to_string(), "latency"]),
            backlog: phase.backlog,
            drained_s: phase.drained_s,
        };
        let phases = rung.phases.iter().enumerate().map(phase).collect();
        Measured {
            folder,
            index: rung.index,
            statements: rung.statements.iter().map(statement).collect(),
            latency: Distribution::from(&rung.latency),
            latency_from: place.field(&["latency"]),
            service_latency: rung.service_latency.as_ref().map(Distribution::from),
            place,
            target: rung.target,
            workload: rung.workload,
            load: rung.load,
            repeat: rung.repeat,
            started: rung.started,
            measured_s: rung.measured_s,
            totals: rung.totals,
            errors: rung.errors,
            costs: rung.costs,
            verdict: rung.verdict,
            explanation: rung.explanation,
            events: rung.events,
            phases,
            idle: rung.idle,
            void: rung.void,
            load_shares: rung.load_shares,
            cluster: rung.cluster,
            seconds: Vec::new(),
            samples: Vec::new(),
        }
    }

    pub fn total(&self, field: &str, value: u64) -> Figure {
        self.place.figure(&["totals", field], value as f64)
    }

    pub fn interval(&self) -> Figure {
        self.place.figure(&["measured_s"], self.measured_s)
    }

    /// A total per second.
    pub fn rate(&self, field: &str, value: u64) -> Figure {
        self.total(field, value).over(&self.interval())
    }

    pub fn tps(&self) -> Figure {
        self.rate("transactions", self.totals.transactions)
    }

    pub fn latency(&self) -> Sourced<'_> {
        Sourced {
            distribution: &self.latency,
            from: &self.latency_from,
        }
    }
}
