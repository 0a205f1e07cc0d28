//! What the loss of servers did: the gap and the dip of each fault, and the ledger held against the data.

use lab_results::UnixMicros;
use lab_results::availability::{Availability, DataCheck, FaultReport, Gap};

use super::{cluster, heat};
use crate::figure::{Figure, Place};
use crate::page::{Block, Chart, Column, Row, Section, Sentence, Table};
use crate::series::Series;
use crate::svg::scale::Scale;
use crate::svg::strips::{Curve, Timeline, Track};

pub fn section(series: &Series) -> Option<Section> {
    if series.availability.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Note(
        "Writers kept a ledger of every write that was acknowledged, refused, or left without an answer, while servers were lost. A write without an answer may be there or not; an acknowledged one must be there, once.".into(),
    )];
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    let mut findings = Vec::new();
    let mut charts = Vec::new();
    let mut changes = Vec::new();
    for (at, target) in series.availability.iter().enumerate() {
        let of = Of { series, at };
        rows.push(data_row(&of, target));
        faults.extend(
            target
                .faults
                .iter()
                .enumerate()
                .map(|(number, fault)| fault_row(&of, target, number, fault)),
        );
        findings.extend(details(&of, target));
        if !target.seconds.is_empty() {
            charts.push(timeline(&of, target));
            changes.extend(changes_of(&of, target));
            charts.extend(heat::of_ledger(
                series,
                target,
                &of.field(&["seconds"]),
                of.name(target),
            ));
        }
    }
    blocks.push(Block::Table(Table {
        caption: "The data against the ledger".into(),
        columns: vec![
            Column::text("Target"),
            Column::text("Verdict"),
            Column::number("Writers", ""),
            Column::number("Acknowledged", "writes"),
            Column::number("Without answer", "writes"),
            Column::number("of these there", ""),
            Column::number("Refused", "writes"),
            Column::number("Lost", ""),
            Column::number("Doubled", ""),
            Column::number("Unexpected", ""),
            Column::number("Wrong counters", ""),
        ],
        rows,
    }));
    blocks.push(Block::Table(Table {
        caption: "Faults".into(),
        columns: vec![
            Column::text("Target"),
            Column::text("Fault"),
            Column::text("Node"),
            Column::number("Gap", "ms without an acknowledged write"),
            Column::number("Rate before", "writes/s"),
            Column::number("Dip", "writes not made"),
            Column::number("Recovered after", "s"),
            Column::number("p99.9 before", "ms"),
            Column::number("p99.9 in the window", "ms"),
            Column::number("Errors", ""),
        ],
        rows: faults,
    }));
    if !charts.is_empty() {
        blocks.push(Block::Charts(charts));
    }
    if !changes.is_empty() {
        blocks.push(Block::Heading("What the clusters did meanwhile".into()));
        blocks.push(Block::List(changes));
    }
    if !findings.is_empty() {
        blocks.push(Block::List(findings));
    }
    Some(Section {
        id: "availability".into(),
        title: "When servers are lost".into(),
        blocks,
    })
}

/// Where in `availability.json`.
struct Of<'a> {
    series: &'a Series,
    at: usize,
}

impl Of<'_> {
    fn place(&self) -> Place {
        self.series.place("availability")
    }

    fn field(&self, parts: &[&str]) -> String {
        let at = self.at.to_string();
        let mut path = vec![at.as_str()];
        path.extend_from_slice(parts);
        self.place().field(&path)
    }

    fn figure(&self, parts: &[&str], value: f64) -> Figure {
        Figure {
            value,
            from: self.field(parts),
        }
    }

    fn name(&self, target: &Availability) -> Sentence {
        Sentence::new().verbatim(&target.target, self.field(&["target"]))
    }
}

fn data_row(of: &Of, target: &Availability) -> Row {
    let data = &target.data;
    let figure = |field: &str, value: u64| Sentence::from(&of.figure(&["data", field], value as f64));
    // What nobody looked at is not zero.
    let count = |field: &str, value: u64| {
        if data.not_checked.is_some() {
            Sentence::words("–")
        } else {
            figure(field, value)
        }
    };
    Row::of(vec![
        of.name(target),
        verdict(data).into(),
        Sentence::from(&of.figure(&["writers"], f64::from(target.writers))),
        count("acknowledged", data.acknowledged),
        count("unknown", data.unknown),
        count("unknown_present", data.unknown_present),
        count("refused", data.refused),
        count("lost", data.lost),
        count("doubled", data.doubled),
        count("unexpected", data.unexpected),
        count("wrong_counters", data.wrong_counters),
    ])
}

fn verdict(data: &DataCheck) -> &'static str {
    if data.not_checked.is_some() {
        "not checked"
    } else if data.holds() {
        "the data holds"
    } else {
        "THE DATA IS WRONG"
    }
}

fn fault_row(of: &Of, target: &Availability, number: usize, fault: &FaultReport) -> Row {
    let number = number.to_string();
    let figure = |field: &str, value: f64| of.figure(&["faults", &number, field], value);
    let ms = |field: &str, us: Option<u64>| Sentence::from(&us.map(|us| figure(field, us as f64).in_ms()));
    let errors: Vec<Figure> = fault
        .errors
        .iter()
        .enumerate()
        .map(|(at, error)| {
            of.figure(
                &["faults", &number, "errors", &at.to_string(), "count"],
                error.count as f64,
            )
        })
        .collect();
    Row::of(vec![
        of.name(target),
        Sentence::new().verbatim(&fault.name, of.field(&["faults", &number, "name"])),
        fault.node.as_ref().map_or_else(Sentence::new, |node| {
            Sentence::new().verbatim(node, of.field(&["faults", &number, "node"]))
        }),
        fault
            .gap
            .as_ref()
            .map_or_else(|| Sentence::words("none"), |gap| gap_of(of, &number, gap)),
        Sentence::from(&figure("rate_before_per_s", fault.rate_before_per_s)),
        Sentence::from(&figure("dip_writes", fault.dip_writes)),
        fault.recovered_after_s.map_or_else(
            || Sentence::words("not within the window"),
            |value| Sentence::from(&figure("recovered_after_s", value)),
        ),
        ms("p999_before_us", fault.p999_before_us),
        ms("p999_window_us", fault.p999_window_us),
        Sentence::from(&Figure::sum(&errors).unwrap_or_else(|| Figure::constant(0.0))),
    ])
}

fn gap_of(of: &Of, number: &str, gap: &Gap) -> Sentence {
    let end = |field: &str, at: UnixMicros| of.figure(&["faults", number, "gap", field], at.0 as f64);
    match gap.until {
        Some(until) => Sentence::from(&end("until", until).minus(&end("from", gap.from)).in_ms()),
        None => "did not end".into(),
    }
}

/// Problems and findings, in their own words.
fn details(of: &Of, target: &Availability) -> Vec<Sentence> {
    let mut said = Vec::new();
    for (number, fault) in target.faults.iter().enumerate() {
        for (at, problem) in fault.problems.iter().enumerate() {
            let path = ["faults", &number.to_string(), "problems", &at.to_string()].map(str::to_owned);
            said.push(
                of.name(target)
                    .and(": ")
                    .verbatim(problem, of.field(&path.each_ref().map(String::as_str))),
            );
        }
    }
    for (at, finding) in target.data.findings.iter().enumerate() {
        said.push(
            of.name(target)
                .and(": ")
                .verbatim(finding, of.field(&["data", "findings", &at.to_string()])),
        );
    }
    for (at, server) in target.data.missing_servers.iter().enumerate() {
        let from = of.field(&["data", "missing_servers", &at.to_string()]);
        said.push(
            of.name(target)
                .and(": ")
                .verbatim(server, from)
                .and(" did not come back; the others were checked."),
        );
    }
    if let Some(why) = &target.data.not_checked {
        said.push(
            of.name(target)
                .and(": not checked: ")
                .verbatim(why, of.field(&["data", "not_checked"])),
        );
    }
    said
}

/// Each with the seconds since the interval began.
fn changes_of(of: &Of, target: &Availability) -> Vec<Sentence> {
    let started = of.figure(&["started"], target.started.0 as f64);
    target
        .changes
        .iter()
        .enumerate()
        .map(|(number, change)| {
            let number = number.to_string();
            let at = of.figure(&["changes", &number, "at"], change.at.0 as f64);
            of.name(target)
                .and(", after ")
                .figure(&at.minus(&started).in_ms().over(&Figure::constant(1000.0)))
                .and(" s: ")
                .verbatim(&change.what, of.field(&["changes", &number, "what"]))
        })
        .collect()
}

fn timeline(of: &Of, target: &Availability) -> Chart {
    let started = target.started.0 as f64;
    let index = of.series.target_index(&target.target).unwrap_or(0);
    let values = |of_second: &dyn Fn(&lab_results::availability::LedgerSecond) -> u64| -> Vec<(f64, f64)> {
        target
            .seconds
            .iter()
            .map(|second| (second.second as f64 + 0.5, of_second(second) as f64))
            .collect()
    };
    let highest = |values: &[(f64, f64)]| values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let acknowledged = values(&|second| second.acknowledged);
    let failed = values(&|second| second.refused + second.unknown);
    let list = |field: &str| format!("list({},{field})", of.field(&["seconds"]));
    let mut tracks = vec![Track {
        title: "writes acknowledged in the second".into(),
        height: 110.0,
        scale: Scale::from_zero(highest(&acknowledged)),
        few_ticks: false,
        curves: vec![Curve {
            colour: index,
            values: acknowledged,
            from: list("acknowledged"),
            area: true,
        }],
    }];
    if highest(&failed) > 0.0 {
        tracks.push(Track {
            title: "refused or without an answer".into(),
            height: 50.0,
            scale: Scale::from_zero(highest(&failed)),
            few_ticks: true,
            curves: vec![Curve {
                colour: 7,
                values: failed,
                from: list("refused+unknown"),
                area: true,
            }],
        });
    }
    tracks.extend(cluster::lag_tracks(&target.cluster, index, |parts| {
        of.field(&[&["cluster"], parts].concat())
    }));
    let events = target
        .faults
        .iter()
        .map(|fault| (fault.at.0 as f64 - started) / 1e6)
        .collect();
    Chart {
        kind: "timeline",
        title: of.name(target),
        svg: Timeline {
            name: format!("Writes per second while servers are lost: {}", target.target),
            seconds: target.measured_s,
            tracks,
            bands: Vec::new(),
            events,
            changes: target
                .changes
                .iter()
                .map(|change| (change.at.0 as f64 - started) / 1e6)
                .collect(),
        }
        .draw(),
        note: if target.changes.is_empty() {
            "The red lines are the faults, in the table's order.".into()
        } else {
            "The red lines are the faults, in the table's order; the dotted ones, changes in the cluster.".into()
        },
        wide: false,
    }
}
