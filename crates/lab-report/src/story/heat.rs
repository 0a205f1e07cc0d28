//! Where the latencies lay, second by second: the heaviest load of each ladder, long intervals, and servers being lost.

use lab_results::availability::Availability;

use crate::distribution::Distribution;
use crate::page::{Block, Chart, Section, Sentence};
use crate::say;
use crate::series::{Measured, Series};
use crate::summary::{Ladder, Summary, service_level_name};
use crate::svg::heat::{Grid, Heat};

pub fn section(series: &Series, summary: &Summary) -> Option<Section> {
    let charts: Vec<Chart> = summary
        .ladders
        .iter()
        .flat_map(|ladder| {
            shown(series, ladder)
                .into_iter()
                .filter_map(move |rung| of_rung(series, ladder, rung))
        })
        .collect();
    (!charts.is_empty()).then(|| Section {
        id: "heat".into(),
        title: "Where the latencies lay".into(),
        blocks: vec![
            Block::Note("The heaviest load of each target, first repeat, and long intervals. Each column is a second (or several) of the interval, each row a band of latency; the stronger a cell's colour, the more of that second's transactions took so long. Two bands show two kinds of transactions, stripes what comes again and again, an empty column a second without an answer.".into()),
            Block::Charts(charts),
        ],
    })
}

/// The heaviest closed load's first repeat that counts, and every soak.
fn shown<'a>(series: &'a Series, ladder: &Ladder) -> Vec<&'a Measured> {
    let heaviest = ladder.closed().last().or(ladder.points.last());
    heaviest
        .into_iter()
        .chain(&ladder.soaks)
        .filter_map(|point| series.rungs.iter().find(|rung| rung.index == point.rungs[0]))
        .collect()
}

fn of_rung(series: &Series, ladder: &Ladder, rung: &Measured) -> Option<Chart> {
    let seconds: Vec<(u64, &Distribution)> = rung
        .seconds
        .iter()
        .map(|line| (line.second.unsigned_abs(), &line.latency))
        .collect();
    let name = say::target_name(series, ladder.target_index)
        .and(" · ")
        .join(&say::workload_name(series, ladder.workload_index))
        .and(", ")
        .join(&say::load_of(series, &rung.load, rung.index));
    let limit = series
        .run
        .slo
        .as_ref()
        .zip(service_level_name(series))
        .map(|(slo, level)| {
            let figure = series.place("run").figure(&["slo", "latency_ms"], slo.latency_ms);
            (figure, level)
        });
    let svg = Heat {
        name: format!("Latency over the seconds: {} {}", ladder.target, ladder.workload),
        what: "latency of a transaction, ms",
        colour: ladder.target_index,
        grid: Grid::of(&seconds)?,
        seconds: &seconds,
        place: rung.place.beside("seconds").field(&["latency"]),
        limit,
        events: Vec::new(),
    }
    .draw();
    Some(Chart {
        kind: "heat",
        title: name,
        svg,
        note: say::workload(series, ladder.workload_index),
        wide: false,
    })
}

/// `field` names the seconds in the file. Of the writers' acknowledged writes, with the faults as lines; `None` for files that do not have the latencies.
pub fn of_ledger(series: &Series, target: &Availability, field: &str, name: Sentence) -> Option<Chart> {
    let latencies: Vec<(u64, Distribution)> = target
        .seconds
        .iter()
        .map(|second| (second.second, Distribution::from(&second.latency)))
        .collect();
    let seconds: Vec<(u64, &Distribution)> = latencies.iter().map(|(second, latency)| (*second, latency)).collect();
    let started = target.started.0 as f64;
    let svg = Heat {
        name: format!("Latency of writes while servers are lost: {}", target.target),
        what: "latency of a write, ms",
        colour: series.target_index(&target.target).unwrap_or(0),
        grid: Grid::of(&seconds)?,
        seconds: &seconds,
        place: field.to_owned(),
        limit: None,
        events: target
            .faults
            .iter()
            .map(|fault| (fault.at.0 as f64 - started) / 1e6)
            .collect(),
    }
    .draw();
    Some(Chart {
        kind: "heat",
        title: name.and(": latency of acknowledged writes"),
        svg,
        note: "The red lines are the faults, in the table's order. A write is in the second of its answer.".into(),
        wide: false,
    })
}
