//! Rates that vary over time: each profile second by second, and phase by phase what was asked for and what came.

use super::seconds::{Whose, timeline};
use crate::figure::{Figure, Sourced};
use crate::page::{Block, Column, Row, Section, Sentence, Table};
use crate::say;
use crate::series::{Measured, PhaseMeasured, Series};

pub fn section(series: &Series) -> Option<Section> {
    let mut blocks = Vec::new();
    for workload in 0..series.run.workloads.len() {
        for name in profiles(series, workload) {
            let of_targets: Vec<(Whose, Vec<&Measured>)> = (0..series.run.targets.len())
                .map(|target| {
                    let whose = Whose { target, workload };
                    (whose, repeats(series, whose, name))
                })
                .filter(|(_, repeats)| !repeats.is_empty())
                .collect();
            blocks.push(Block::Heading(heading(series, workload, &of_targets)));
            blocks.push(Block::Note(say::workload(series, workload)));
            let (mut charts, mut events) = (Vec::new(), Vec::new());
            for (whose, repeats) in &of_targets {
                let (chart, list) = timeline(series, *whose, repeats[0]);
                charts.push(chart);
                events.extend(list);
            }
            blocks.push(Block::Charts(charts));
            if !events.is_empty() {
                blocks.push(Block::List(events));
            }
            blocks.push(Block::Table(phases_table(series, workload, &of_targets)));
        }
    }
    if blocks.is_empty() {
        return None;
    }
    blocks.push(Block::Note(
        "Charts are of the first repeat that counts; figures are medians of the repeats, percentiles of their merged histograms. A transaction \
         belongs to the phase in which it was due; its latency counts from that moment, whenever it was answered. The backlog is what was \
         due by the phase's end and not begun; it is gone when no transaction waits any more."
            .into(),
    ));
    Some(Section {
        id: "profiles".into(),
        title: "Rates that vary".into(),
        blocks,
    })
}

/// The names of a workload's profiles, in the order in which they were first measured.
fn profiles(series: &Series, workload: usize) -> Vec<&str> {
    let name = &series.run.workloads[workload].name;
    let mut names: Vec<&str> = Vec::new();
    for rung in series.rungs.iter().filter(|rung| rung.workload == *name) {
        if let Some(profile) = rung.load.profile()
            && !names.contains(&profile.name.as_str())
        {
            names.push(&profile.name);
        }
    }
    names
}

/// Those that count; if none does, those that are void.
fn repeats<'a>(series: &'a Series, whose: Whose, profile: &str) -> Vec<&'a Measured> {
    let (target, workload) = (
        &series.run.targets[whose.target].name,
        &series.run.workloads[whose.workload].name,
    );
    let all: Vec<&Measured> = series
        .rungs
        .iter()
        .filter(|rung| rung.target == *target && rung.workload == *workload)
        .filter(|rung| rung.load.profile().is_some_and(|found| found.name == profile))
        .collect();
    let counted: Vec<&Measured> = all.iter().copied().filter(|rung| rung.void.is_none()).collect();
    if counted.is_empty() { all } else { counted }
}

fn heading(series: &Series, workload: usize, of_targets: &[(Whose, Vec<&Measured>)]) -> Sentence {
    let name = say::workload_name(series, workload);
    match of_targets.first().and_then(|(_, repeats)| repeats.first()) {
        None => name,
        Some(first) => name.and(": ").join(&say::load_of(series, &first.load, first.index)),
    }
}

fn phases_table(series: &Series, workload: usize, of_targets: &[(Whose, Vec<&Measured>)]) -> Table {
    let mut rows = Vec::new();
    for (whose, repeats) in of_targets {
        // A repeat that was stopped early has fewer phases.
        let phases = repeats.iter().map(|rung| rung.phases.len()).max().unwrap_or(0);
        for at in 0..phases {
            let mut row = phase_row(series, *whose, repeats, at);
            row.group = at == 0;
            row.faint = repeats.iter().all(|rung| rung.void.is_some());
            rows.push(row);
        }
    }
    Table {
        caption: say::workload(series, workload),
        columns: vec![
            Column::text("Target"),
            Column::text("Phase"),
            Column::number("Length", "s"),
            Column::number("Asked for", "1/s"),
            Column::number("Due", "1/s"),
            Column::number("Answered", "1/s"),
            Column::number("p50", "ms"),
            Column::number("p95", "ms"),
            Column::number("p99", "ms"),
            Column::number("Backlog", "at its end"),
            Column::number("Gone after", "s"),
        ],
        rows,
    }
}

fn phase_row(series: &Series, whose: Whose, repeats: &[&Measured], at: usize) -> Row {
    let number = at.to_string();
    let having: Vec<(&Measured, &PhaseMeasured)> = repeats
        .iter()
        .filter_map(|rung| Some((*rung, rung.phases.get(at)?)))
        .collect();
    let (first, phase) = having[0];
    let field = |rung: &Measured, name: &str, value: f64| rung.place.figure(&["phases", &number, name], value);
    let median = |of: &dyn Fn(&Measured, &PhaseMeasured) -> Figure| {
        let figures: Vec<Figure> = having.iter().map(|(rung, phase)| of(rung, phase)).collect();
        Sentence::from(&Figure::median(&figures))
    };
    let per_s = |name: &str, of: fn(&PhaseMeasured) -> u64| {
        median(&|rung, phase| field(rung, name, of(phase) as f64).over(&field(rung, "seconds", phase.seconds)))
    };
    let parts: Vec<Sourced> = having
        .iter()
        .map(|(_, phase)| Sourced {
            distribution: &phase.latency,
            from: &phase.latency_from,
        })
        .collect();
    let quantile = |quantile: f64| Sentence::from(&Figure::quantile_ms(quantile, &parts));
    let mut asked = Sentence::from(&field(first, "from_per_s", phase.from_per_s));
    if phase.from_per_s != phase.to_per_s {
        asked = asked.and(" to ").figure(&field(first, "to_per_s", phase.to_per_s));
    }
    let mut name = Sentence::new().fixed((at + 1).to_string());
    if !phase.name.is_empty() {
        name = name
            .and(" ")
            .verbatim(&phase.name, first.place.field(&["phases", &number, "name"]));
    }
    let drained = match having.iter().all(|(_, phase)| phase.drained_s.is_some()) {
        true => median(&|rung, phase| field(rung, "drained_s", phase.drained_s.unwrap_or_default())),
        false => Sentence::words("not within the rung"),
    };
    Row {
        group: false,
        faint: false,
        cells: vec![
            say::target_name(series, whose.target),
            name,
            Sentence::from(&field(first, "seconds", phase.seconds)),
            asked,
            per_s("due", |phase| phase.due),
            per_s("transactions", |phase| phase.transactions),
            quantile(0.5),
            quantile(0.95),
            quantile(0.99),
            median(&|rung, phase| field(rung, "backlog", phase.backlog as f64)),
            drained,
        ],
    }
}
