//! The figures of a series as a table for the terminal: a row per load, a column per target.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use lab_results::run::Load;
use lab_results::{Folder, Latency, Rung};

use crate::progress::milliseconds;
use crate::series::median;

/// Repeats of one rung together.
#[derive(Default)]
struct Cell {
    tps: Vec<f64>,
    latency: Latency,
    voids: usize,
}

/// Medians of the repeats' transactions per second, p95 of their merged latencies.
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
        let mut rows: BTreeMap<(bool, u64, String), BTreeMap<&str, Cell>> = BTreeMap::new();
        for rung in rungs.iter().filter(|rung| rung.workload == workload.name) {
            let cell = rows
                .entry(row(&rung.load))
                .or_default()
                .entry(rung.target.as_str())
                .or_default();
            if rung.void.is_some() {
                cell.voids += 1;
            } else {
                cell.tps.push(crate::series::tps(rung));
                cell.latency.merge(&rung.latency);
            }
        }
        if rows.is_empty() {
            continue;
        }
        text += &format!("\n{} ({}, {})\n", workload.name, workload.kind, workload.driver);
        text += &format!("{:>12}", "");
        for target in &targets {
            text += &format!("  {target:>26}");
        }
        text.push('\n');
        for ((_, _, load), cells) in &rows {
            text += &format!("{load:>12}");
            for target in &targets {
                text += &format!("  {:>26}", cells.get(target).map_or_else(|| "not run".to_owned(), cell));
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// Closed loops before open ones, each by its size.
fn row(load: &Load) -> (bool, u64, String) {
    match load {
        Load::Closed { threads_per_server, .. } => (
            false,
            u64::from(*threads_per_server),
            format!("{threads_per_server} threads"),
        ),
        Load::Open { rate_per_s, .. } => (true, *rate_per_s as u64, format!("{rate_per_s:.0}/s")),
    }
}

fn cell(cell: &Cell) -> String {
    match median(cell.tps.clone()) {
        Some(tps) => format!("{tps:.1} tps p95 {}", milliseconds(&cell.latency, 0.95)),
        None if cell.voids > 0 => "void".to_owned(),
        None => "-".to_owned(),
    }
}
