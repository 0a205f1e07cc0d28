//! A comparison as a page: what may be said, what differs in the set-up, the curves, the tables.

use super::Unlike;
use super::fields::{Field, Fields};
use crate::figure::Figure;
use crate::page::{Block, Chart, Column, Page, Row, Section, Sentence, Table};
use crate::say;
use crate::series::Series;
use crate::story::{contest_note, contest_table, ratios};
use crate::summary::{Contest, Ladder, Point, Summary, of_contest, restless};
use crate::svg::plot::{Axis, Line, Mark, Plot};
use crate::svg::scale::Scale;
use crate::text::number;

pub fn page(all: &[Series], summaries: &[Summary], contests: &[Contest], fields: &Fields, unlike: Unlike) -> Page {
    let mut sections = Vec::new();
    if !fields.workload.is_empty() && unlike == Unlike::Show {
        sections.push(Section {
            id: "unlike".into(),
            title: "These series are not alike".into(),
            blocks: vec![
                Block::Text("The workloads below have the same name and send different things. The figures that follow are shown because that was asked for; they do not compare.".into()),
                Block::Table(table(all, &fields.workload)),
            ],
        });
    }
    sections.push(found(all, summaries, contests));
    sections.push(differences(all, fields));
    let base = &all[0];
    for (index, workload) in base.run.workloads.iter().enumerate() {
        let about: Vec<&Contest> = contests
            .iter()
            .filter(|contest| contest.workload == workload.name)
            .collect();
        if about.is_empty() {
            continue;
        }
        let label = say::workload(base, index);
        let mut blocks = vec![Block::Note(label.clone())];
        let ladders = ladders(all, summaries, &workload.name);
        blocks.push(Block::Charts(vec![
            chart(
                &ladders,
                &label,
                "throughput",
                "Throughput against threads",
                "transactions/s",
                &|point| Some((point.tps.middle.clone(), point.tps.low.clone(), point.tps.high.clone())),
            ),
            chart(
                &ladders,
                &label,
                "latency",
                "p95 latency against threads",
                "p95 of a transaction, ms",
                &|point| {
                    let p95 = &point.latency_ms.as_ref()?.p95;
                    Some((p95.middle.clone(), p95.low.clone(), p95.high.clone()))
                },
            ),
        ]));
        blocks.push(Block::Table(contest_table(&about, &label)));
        blocks.push(Block::Note(contest_note()));
        blocks.push(Block::Table(costs(&ladders, &label)));
        blocks.extend(ratios(&sides(&ladders), &label).map(Block::Table));
        sections.push(Section {
            id: format!("workload-{index}"),
            title: say::workload_name(base, index),
            blocks,
        });
    }
    let mut names = Sentence::words(if all.len() == 1 { "The targets of" } else { "Base: " });
    for (at, series) in all.iter().enumerate() {
        if at > 0 {
            names = names.and(if at == 1 { "; against it: " } else { ", " });
        }
        names = names
            .and(format!("{} ", letter(series)))
            .verbatim(&series.run.name, series.of_run(&["name"]));
    }
    Page {
        title: "Comparison".into(),
        subtitle: vec![names],
        tiles: Vec::new(),
        sections,
    }
}

fn letter(series: &Series) -> &str {
    series.letter.trim_end_matches(':')
}

fn found(all: &[Series], summaries: &[Summary], contests: &[Contest]) -> Section {
    let mut blocks = Vec::new();
    let mut workloads: Vec<&String> = contests.iter().map(|contest| &contest.workload).collect();
    workloads.dedup();
    for workload in workloads {
        let mut sentences: Vec<Sentence> = contests
            .iter()
            .filter(|contest| contest.workload == *workload)
            .flat_map(of_contest)
            .collect();
        sentences.extend(
            ladders(all, summaries, workload)
                .iter()
                .filter_map(|named| restless(named.ladder, named.target())),
        );
        let from = contests
            .iter()
            .find(|contest| contest.workload == *workload)
            .map(|contest| format!("{}run#/workloads", contest.base.letter))
            .unwrap_or_default();
        blocks.push(Block::Heading(Sentence::new().verbatim(workload, from)));
        blocks.push(Block::List(sentences));
    }
    Section {
        id: "found".into(),
        title: "What may be said".into(),
        blocks,
    }
}

fn differences(all: &[Series], fields: &Fields) -> Section {
    let blocks = if all.len() == 1 {
        vec![Block::Text(
            "One series: its targets are compared with the first of them; the set-up stands in its report.".into(),
        )]
    } else if fields.other.is_empty() {
        vec![Block::Text("The set-ups do not differ in any recorded field.".into())]
    } else {
        vec![Block::Table(table(all, &fields.other))]
    };
    Section {
        id: "differences".into(),
        title: "What differs in the set-up".into(),
        blocks,
    }
}

fn table(all: &[Series], fields: &[Field]) -> Table {
    let mut columns = vec![Column::text("Field")];
    columns.extend(
        all.iter()
            .map(|series| Column::long(&format!("{} {}", letter(series), series.run.name))),
    );
    let mut last = "";
    let rows = fields
        .iter()
        .map(|field| {
            let mut cells = vec![Sentence::new().fixed(&field.name)];
            cells.extend(
                field
                    .values
                    .iter()
                    .map(|value| value.clone().unwrap_or_else(|| Sentence::words("–"))),
            );
            let group = field.group != last;
            last = field.group;
            Row {
                cells,
                faint: false,
                group,
            }
        })
        .collect();
    Table {
        caption: Sentence::new(),
        columns,
        rows,
    }
}

/// A ladder with its series and the name of its line.
struct Named<'a> {
    series: &'a Series,
    ladder: &'a Ladder,
    name: String,
}

impl Named<'_> {
    /// `b latsdb`; of a series alone without the letter.
    fn target(&self) -> Sentence {
        let name = say::target_name(self.series, self.ladder.target_index);
        match letter(self.series) {
            "" => name,
            letter => Sentence::words(format!("{letter} ")).join(&name),
        }
    }
}

fn ladders<'a>(all: &'a [Series], summaries: &'a [Summary], workload: &'a str) -> Vec<Named<'a>> {
    all.iter()
        .zip(summaries)
        .flat_map(|(series, summary)| {
            summary.ladders_of(workload).map(move |ladder| Named {
                series,
                ladder,
                name: if all.len() == 1 {
                    ladder.target.clone()
                } else {
                    format!("{} {}", letter(series), ladder.target)
                },
            })
        })
        .collect()
}

type Shown = (Figure, Option<Figure>, Option<Figure>);

fn chart(
    ladders: &[Named],
    label: &Sentence,
    kind: &'static str,
    title: &str,
    unit: &str,
    of: &dyn Fn(&Point) -> Option<Shown>,
) -> Chart {
    let lines: Vec<Line> = ladders
        .iter()
        .enumerate()
        .map(|(at, named)| Line {
            name: named.name.clone(),
            colour: at,
            annotated: false,
            faint: false,
            marks: named
                .ladder
                .closed()
                .filter_map(|point| {
                    let (middle, low, high) = of(point)?;
                    let threads = point.load.threads_total();
                    Some(Mark {
                        x: f64::from(threads),
                        x_from: None,
                        tip: format!("{}, {threads} threads: {} {unit}", named.name, number(middle.value)),
                        y: middle,
                        low: low.map(|figure| figure.value),
                        high: high.map(|figure| figure.value),
                        annotation: String::new(),
                    })
                })
                .collect(),
        })
        .collect();
    let marks = || lines.iter().flat_map(|line| &line.marks);
    let lowest = marks()
        .map(|mark| mark.low.unwrap_or(mark.y.value))
        .fold(f64::INFINITY, f64::min);
    let highest = marks()
        .map(|mark| mark.high.unwrap_or(mark.y.value))
        .fold(0.0, f64::max);
    let mut threads: Vec<u32> = marks().map(|mark| mark.x as u32).collect();
    threads.sort_unstable();
    threads.dedup();
    let ends = (
        threads.first().copied().unwrap_or(1),
        threads.last().copied().unwrap_or(2),
    );
    let plot = Plot {
        kind,
        name: format!("{title}: {}", label.plain()),
        x: Axis {
            title: "threads in total (one connection each; doubling is a step)".into(),
            scale: Scale::log_exact(f64::from(ends.0), f64::from(ends.1)),
            ticks: Some(
                threads
                    .iter()
                    .map(|&count| (f64::from(count), number(f64::from(count))))
                    .collect(),
            ),
        },
        y: Axis {
            title: unit.into(),
            scale: if kind == "latency" {
                Scale::fitting(lowest, highest)
            } else {
                Scale::from_zero(highest)
            },
            ticks: None,
        },
        lines,
        front: Vec::new(),
        limits: Vec::new(),
    };
    Chart {
        kind,
        title: title.into(),
        svg: plot.draw(),
        note: label.clone(),
        wide: false,
    }
}

/// `b latsdb, 64 threads` of each, and its best point.
fn sides<'a>(ladders: &[Named<'a>]) -> Vec<(Sentence, &'a Point)> {
    let side = |named: &Named<'a>| {
        let point = named.ladder.best_point()?;
        let name = named.target().and(", ").join(&say::load(named.series, point));
        Some((name, point))
    };
    ladders.iter().filter_map(side).collect()
}

/// At the best load: why a rate differs.
fn costs(ladders: &[Named], label: &Sentence) -> Table {
    let base = ladders
        .first()
        .and_then(|named| named.ladder.best_point())
        .and_then(|point| point.server_costs.clone());
    let rows = ladders
        .iter()
        .filter_map(|named| {
            let point = named.ladder.best_point()?;
            let costs = point.server_costs.as_ref();
            let ratio = costs
                .zip(base.as_ref())
                .filter(|(_, base)| base.cpu_us.value > 0.0)
                .map(|(own, base)| own.cpu_us.over(&base.cpu_us));
            Some(Row::of(vec![
                named.target(),
                say::load(named.series, point),
                Sentence::new().estimate(&point.tps),
                Sentence::from(&point.p95_ms().cloned()),
                Sentence::from(&costs.map(|costs| costs.cpu_us.clone())),
                Sentence::from(&ratio),
                Sentence::from(&costs.map(|costs| costs.context_switches.clone())),
                Sentence::from(&costs.map(|costs| costs.net_bytes.clone())),
                Sentence::from(&costs.and_then(|costs| costs.disk_flushes.clone())),
                Sentence::from(&point.tps_per_vcpu),
                Sentence::from(&point.transactions_per_usd),
            ]))
        })
        .collect();
    Table {
        caption: Sentence::words("At the best load of each: ").join(label),
        columns: vec![
            Column::text("Target"),
            Column::text("Load"),
            Column::number("Transactions", "1/s [95% interval]"),
            Column::number("p95", "ms"),
            Column::number("Server CPU", "µs/tx"),
            Column::number("to base", "ratio"),
            Column::number("Context switches", "/tx"),
            Column::number("Network", "bytes/tx"),
            Column::number("Flushes", "/tx"),
            Column::number("Per vCPU", "tx/s"),
            Column::number("Per dollar", "tx, more is better"),
        ],
        rows,
    }
}
