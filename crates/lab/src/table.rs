//! The figures of a series as a table for the terminal: a row per load, a column per target.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use lab_results::run::Load;
use lab_results::rung::SOAK_REPEAT;
use lab_results::{Folder, Latency, Rung};

use crate::progress::milliseconds;
use crate::series::median;

/// Repeats of one rung together.
#[derive(Default)]
struct Cell {
    tps: Vec<f64>,
    latency: Latency,
    /// Of rungs that are void; shown, marked, where there is nothing better.
    void_tps: Vec<f64>,
}

/// A line of the open loops.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum OpenLoad {
    Rate(u64),
    Profile(String),
    /// A long interval, by itself: seconds, threads.
    Soak(u64, u32),
}

/// Medians of the repeats' transactions per second, p95 of their merged latencies. Closed loops are a table with a row per
/// number of threads; open ones, whose rates are mostly a target's own, a line each.
pub fn of(folder: &Path) -> Result<String> {
    let folder = Folder::open(folder);
    let run = folder.run()?;
    let rungs: Vec<Rung> = folder
        .rungs()?
        .iter()
        .map(|rung| rung.rung())
        .collect::<Result<_, _>>()?;
    let targets: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    let mut text = String::new();
    for workload in &run.workloads {
        let (mut closed, mut open): (BTreeMap<u32, BTreeMap<&str, Cell>>, BTreeMap<(&str, OpenLoad), Cell>) =
            Default::default();
        for rung in rungs.iter().filter(|rung| rung.workload == workload.name) {
            let target = rung.target.as_str();
            let cell = match &rung.load {
                load if rung.repeat == SOAK_REPEAT => open
                    .entry((
                        target,
                        OpenLoad::Soak(rung.measured_s.round() as u64, load.threads_total()),
                    ))
                    .or_default(),
                Load::Closed { threads_per_server, .. } => closed
                    .entry(*threads_per_server)
                    .or_default()
                    .entry(target)
                    .or_default(),
                Load::Open {
                    profile: Some(profile), ..
                } => open
                    .entry((target, OpenLoad::Profile(profile.name.clone())))
                    .or_default(),
                Load::Open { rate_per_s, .. } => {
                    let rate = OpenLoad::Rate(rate_per_s.round() as u64);
                    open.entry((target, rate)).or_default()
                }
            };
            cell.add(rung);
        }
        if closed.is_empty() && open.is_empty() {
            continue;
        }
        text += &format!("\n{} ({}, {})\n", workload.name, workload.kind, workload.driver);
        if !closed.is_empty() {
            text += &format!("{:>14}", "");
            for target in &targets {
                text += &format!("  {target:>26}");
            }
            text.push('\n');
        }
        for (threads, cells) in &closed {
            text += &format!("{:>14}", format!("{threads} threads"));
            for target in &targets {
                let shown = cells.get(target).map_or_else(|| "not run".to_owned(), Cell::shown);
                text += &format!("  {shown:>26}");
            }
            text.push('\n');
        }
        for ((target, load), cell) in &open {
            let load = match load {
                OpenLoad::Rate(rate) => format!("{rate}/s"),
                OpenLoad::Profile(name) => name.clone(),
                OpenLoad::Soak(seconds, threads) => format!("soak {seconds}s ×{threads}"),
            };
            text += &format!("{load:>14}  {target}: {}\n", cell.shown());
        }
        for found in run.slo_rates.iter().filter(|found| found.workload == workload.name) {
            text += &format!("{:>14}  {}: {:.0}/s\n", "service level", found.target, found.rate_per_s);
        }
    }
    Ok(text)
}

impl Cell {
    fn add(&mut self, rung: &Rung) {
        if rung.void.is_some() {
            self.void_tps.push(crate::series::tps(rung));
        } else {
            self.tps.push(crate::series::tps(rung));
            self.latency.merge(&rung.latency);
        }
    }

    fn shown(&self) -> String {
        match (median(self.tps.clone()), median(self.void_tps.clone())) {
            (Some(tps), _) => format!("{tps:.1} tps p95 {}", milliseconds(&self.latency, 0.95)),
            (None, Some(tps)) => format!("void ({tps:.1} tps)"),
            (None, None) => "-".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use lab_results::UnixMicros;
    use lab_results::rung::Totals;

    use super::*;

    fn rung(transactions: u64, us: u64, void: Option<&str>) -> Rung {
        let mut latency = Latency::default();
        latency.record_us(us);
        Rung {
            schema: lab_results::SCHEMA,
            index: 1,
            target: "a".to_owned(),
            workload: "w".to_owned(),
            load: Load::Closed {
                threads_per_server: 1,
                threads_total: 1,
            },
            repeat: 1,
            started: UnixMicros(0),
            measured_s: 2.0,
            totals: Totals {
                transactions,
                ..Totals::default()
            },
            statements: BTreeMap::new(),
            latency,
            service_latency: None,
            errors: Vec::new(),
            costs: BTreeMap::new(),
            verdict: None,
            explanation: None,
            events: Vec::new(),
            phases: Vec::new(),
            idle: None,
            void: void.map(str::to_owned),
            load_shares: Vec::new(),
            cluster: Vec::new(),
        }
    }

    #[test]
    fn void_rungs_are_not_in_the_figures() {
        let mut cell = Cell::default();
        cell.add(&rung(9999, 1, Some("the load generator was the limit")));
        assert_eq!(cell.shown(), "void (4999.5 tps)");
        for transactions in [200, 100, 300] {
            cell.add(&rung(transactions, 2000, None));
        }
        assert_eq!(cell.shown(), "100.0 tps p95 2.00 ms");
    }
}
