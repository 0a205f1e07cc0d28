//! What came out, workload by workload.

use lab_results::run::Load;

use super::curves::ladder_charts;
use super::glance;
use super::rates::{best_rates, open_loop};
use super::verdicts::verdict_strips;
use crate::figure::Figure;
use crate::page::{Block, Column, Row, Section, Sentence, Table};
use crate::say;
use crate::series::Series;
use crate::stats::Outcome;
use crate::summary::{Contest, Findings, Ladder, Point, Summary};

pub fn findings(series: &Series, summary: &Summary) -> Section {
    let blocks = if summary.findings.is_empty() && !series.availability.is_empty() {
        vec![Block::Text(
            "No ladder was measured; what the faults did stands below.".into(),
        )]
    } else if summary.findings.is_empty() {
        vec![Block::Text("No rung was measured to its end.".into())]
    } else {
        summary
            .findings
            .iter()
            .flat_map(|findings| group(series, summary, findings))
            .collect()
    };
    Section {
        id: "found".into(),
        title: "What was found".into(),
        blocks,
    }
}

/// Under the workload's full name, since every sentence is about that alone.
fn group(series: &Series, summary: &Summary, findings: &Findings) -> Vec<Block> {
    let index = findings
        .workload
        .as_ref()
        .and_then(|name| series.run.workloads.iter().position(|workload| workload.name == *name));
    let mut blocks = Vec::new();
    if let Some(index) = index {
        let label = say::workload(series, index);
        blocks.push(Block::Heading(say::workload_name(series, index)));
        let name = &series.run.workloads[index].name;
        match glance::table(series, summary, name, &label) {
            Some(table) => blocks.push(Block::Table(table)),
            None => blocks.push(Block::Note(label)),
        }
    }
    if !findings.sentences.is_empty() {
        blocks.push(Block::List(findings.sentences.clone()));
    }
    if !findings.targets.is_empty() {
        blocks.push(Block::Folded {
            title: "Target by target, in words".into(),
            blocks: vec![Block::List(findings.targets.clone())],
        });
    }
    blocks
}

pub fn of_workload(series: &Series, summary: &Summary, index: usize) -> Option<Section> {
    let name = &series.run.workloads[index].name;
    let ladders: Vec<&Ladder> = summary.ladders_of(name).collect();
    if ladders.is_empty() {
        return None;
    }
    let label = say::workload(series, index);
    let mut blocks = vec![Block::Note(label.clone())];
    let any = |of: &dyn Fn(&Point) -> bool| ladders.iter().any(|ladder| ladder.points.iter().any(of));
    let mut charts = Vec::new();
    if any(&|point| point.is_closed()) {
        charts.extend(ladder_charts(series, &ladders, &label));
    }
    if any(&|point| !point.is_closed()) {
        charts.push(open_loop(&ladders, &label));
    }
    if any(&|_| true) {
        charts.push(best_rates(&ladders, &label));
    }
    blocks.push(Block::Charts(charts));
    blocks.push(Block::Charts(verdict_strips(series, name, &label)));
    blocks.push(Block::Table(points_table(series, &ladders, &label)));
    blocks.push(Block::Note(
        Sentence::words("Rates are medians of n repeats with their ")
            .fixed("95%")
            .and(" bootstrap interval in brackets; percentiles are of the repeats' merged histograms, never averages of percentiles. Latency is of whole transactions, restarts after ignored errors included."),
    ));
    blocks.push(Block::Folded {
        title: "Volumes, per vCPU, steadiness".into(),
        blocks: vec![Block::Table(volumes_table(series, &ladders, &label)), Block::Note(
            "A rung is steady unless its seconds show a trend (Mann–Kendall) that moves the rate by more than a twentieth over the interval.".into(),
        )],
    });
    let contests: Vec<&Contest> = summary
        .contests
        .iter()
        .filter(|contest| contest.workload == *name && !contest.loads.is_empty())
        .collect();
    if !contests.is_empty() {
        blocks.push(Block::Table(contest_table(&contests, &label)));
        blocks.push(Block::Note(contest_note()));
    }
    Some(Section {
        id: format!("workload-{index}"),
        title: say::workload_name(series, index),
        blocks,
    })
}

/// How to read a comparison.
pub fn contest_note() -> Sentence {
    Sentence::words("Change of the other against the base, with the ")
        .fixed("95%")
        .and(" bootstrap interval of the ratio. Inside the interval of no change it reads \"no difference shown\"; with fewer than ")
        .fixed("3")
        .and(" repeats on a side nothing is claimed.")
}

fn points_table(series: &Series, ladders: &[&Ladder], label: &Sentence) -> Table {
    let mut rows = Vec::new();
    for ladder in ladders {
        for (at, point) in ladder.points.iter().enumerate() {
            let latency = point.latency_ms.as_ref();
            let ms = |of: &dyn Fn(&crate::summary::LatencyFigures) -> Figure| Sentence::from(&latency.map(of));
            rows.push(Row {
                group: at == 0,
                faint: false,
                cells: vec![
                    say::target_name(series, ladder.target_index),
                    say::load(series, point),
                    Sentence::new().figure(&Figure {
                        value: point.rungs.len() as f64,
                        from: format!("repeats({})", join(&point.rungs)),
                    }),
                    Sentence::new().estimate(&point.tps),
                    Sentence::from(&point.qps),
                    ms(&|latency| latency.p50.clone()),
                    ms(&|latency| latency.p95.middle.clone()),
                    ms(&|latency| latency.p99.clone()),
                    ms(&|latency| latency.p999.clone()),
                    ms(&|latency| latency.max.clone()),
                    Sentence::from(&point.errors_per_s),
                    Sentence::from(&point.retries_per_s),
                    point.verdict.as_ref().map_or_else(Sentence::new, |verdict| {
                        say::short_bottleneck(verdict.bottleneck).into()
                    }),
                ],
            });
        }
        for void in &ladder.voids {
            let mut cells = vec![
                say::target_name(series, ladder.target_index),
                say::load_of(series, &void.load, void.rung),
            ];
            cells.resize(12, Sentence::new());
            cells.push("VOID".into());
            rows.push(Row {
                cells,
                faint: true,
                group: false,
            });
        }
    }
    Table {
        caption: label.clone(),
        columns: vec![
            Column::text("Target"),
            Column::text("Load"),
            Column::number("n", "repeats"),
            Column::number("Transactions", "1/s [95% interval]"),
            Column::number("Queries", "1/s"),
            Column::number("p50", "ms"),
            Column::number("p95", "ms"),
            Column::number("p99", "ms"),
            Column::number("p99.9", "ms"),
            Column::number("max", "ms"),
            Column::number("Errors", "1/s"),
            Column::number("Retries", "1/s"),
            Column::long("Limit"),
        ],
        rows,
    }
}

fn join(rungs: &[u32]) -> String {
    rungs
        .iter()
        .map(|rung| format!("r{rung}"))
        .collect::<Vec<_>>()
        .join(",")
}

fn volumes_table(series: &Series, ladders: &[&Ladder], label: &Sentence) -> Table {
    let mega = |figure: &Figure| Sentence::from(&figure.over(&Figure::constant(1e6)));
    let mut rows = Vec::new();
    for ladder in ladders {
        for (at, point) in ladder.points.iter().enumerate() {
            let steady = point.trends.iter().filter(|trend| trend.steady).count();
            let steady = if point.trends.is_empty() {
                Sentence::words("too short to tell")
            } else if steady == point.trends.len() {
                Sentence::words("yes")
            } else {
                let worst = point
                    .trends
                    .iter()
                    .max_by(|a, b| a.change.value.abs().total_cmp(&b.change.value.abs()))
                    .expect("there is a trend");
                Sentence::words("no: ")
                    .change(&worst.change.scaled(100.0))
                    .and("% over the interval")
            };
            rows.push(Row {
                group: at == 0,
                faint: false,
                cells: vec![
                    say::target_name(series, ladder.target_index),
                    say::load(series, point),
                    Sentence::from(&point.rows_per_s),
                    Sentence::from(&point.key_lookups_per_s),
                    mega(&point.bytes_received_per_s),
                    mega(&point.bytes_sent_per_s),
                    Sentence::from(&point.wasted.scaled(100.0)),
                    Sentence::from(&point.tps.spread.as_ref().map(|spread| spread.scaled(100.0))),
                    Sentence::from(&point.tps_per_vcpu),
                    Sentence::from(&point.tps_per_used_cpu),
                    steady,
                ],
            });
        }
    }
    Table {
        caption: label.clone(),
        columns: vec![
            Column::text("Target"),
            Column::text("Load"),
            Column::number("Rows received", "1/s"),
            Column::number("Key lookups", "1/s"),
            Column::number("Received", "MB/s"),
            Column::number("Sent", "MB/s"),
            Column::number("In attempts thrown away", "% of thread time"),
            Column::number("Spread of repeats", "% of median"),
            Column::number("Per vCPU", "tx/s"),
            Column::number("Per CPU used", "tx/s"),
            Column::text("Steady"),
        ],
        rows,
    }
}

/// Load by load, the change of rate and of p95.
pub fn contest_table(contests: &[&Contest], label: &Sentence) -> Table {
    let mut rows = Vec::new();
    for contest in contests {
        for (at, entry) in contest.loads.iter().enumerate() {
            let said = |contrast: &Option<crate::summary::Contrast>| match contrast {
                None => (Sentence::words("–"), Sentence::new()),
                Some(contrast) => (say::change(contrast), say::outcome(contrast.outcome).into()),
            };
            let (rate, rate_outcome) = said(&entry.tps);
            let (p95, p95_outcome) = said(&entry.p95);
            let threads = Figure {
                value: f64::from(entry.load.threads_total()),
                from: format!("loads({}run,{})", contest.base.letter, entry.load.threads_total()),
            };
            let load = match &entry.load {
                Load::Closed { .. } => Sentence::from(&threads),
                Load::Open { rate_per_s, .. } => Sentence::words("asked ")
                    .figure(&Figure {
                        value: *rate_per_s,
                        from: format!("rates({}run,{rate_per_s})", contest.base.letter),
                    })
                    .and("/s"),
            };
            let differs = |contrast: &Option<crate::summary::Contrast>| {
                contrast
                    .as_ref()
                    .is_some_and(|contrast| matches!(contrast.outcome, Outcome::Higher | Outcome::Lower))
            };
            rows.push(Row {
                group: at == 0,
                faint: !differs(&entry.tps) && !differs(&entry.p95),
                cells: vec![
                    say::short_side(&contest.other),
                    say::short_side(&contest.base),
                    load,
                    rate,
                    rate_outcome,
                    p95,
                    p95_outcome,
                ],
            });
        }
    }
    Table {
        caption: Sentence::words("Differences, load by load: ").join(label),
        columns: vec![
            Column::text("Target"),
            Column::text("against"),
            Column::number("Load", "threads"),
            Column::number("Transactions/s", "change [95% interval]"),
            Column::text(""),
            Column::number("p95 latency", "change [95% interval]"),
            Column::text(""),
        ],
        rows,
    }
}
