//! What came out, workload by workload.

use lab_results::run::Load;
use lab_results::rung::Bottleneck;

use crate::figure::{Estimate, Figure};
use crate::page::{Block, Chart, Column, Row, Section, Sentence, Table};
use crate::say;
use crate::series::Series;
use crate::stats::Outcome;
use crate::summary::{Contest, Findings, Ladder, Point, Summary};
use crate::svg::plot::{Axis, Line, Mark, Plot};
use crate::svg::scale::Scale;
use crate::svg::strips::{VerdictCell, Verdicts};
use crate::text::number;

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
            .flat_map(|findings| group(series, findings))
            .collect()
    };
    Section {
        id: "found".into(),
        title: "What was found".into(),
        blocks,
    }
}

/// Under the workload's full name, since every sentence is about that alone.
fn group(series: &Series, findings: &Findings) -> Vec<Block> {
    let index = findings
        .workload
        .as_ref()
        .and_then(|name| series.run.workloads.iter().position(|workload| workload.name == *name));
    let mut blocks: Vec<Block> = index
        .map(|index| {
            vec![
                Block::Heading(say::workload_name(series, index)),
                Block::Note(say::workload(series, index)),
            ]
        })
        .unwrap_or_default();
    blocks.push(Block::List(findings.sentences.clone()));
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
    blocks.push(Block::Charts(charts));
    blocks.push(Block::Charts(vec![verdict_strip(series, name, &label)]));
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
        .filter(|contest| contest.workload == *name)
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

fn ladder_charts(series: &Series, ladders: &[&Ladder], label: &Sentence) -> Vec<Chart> {
    let mut charts = vec![
        against_threads(
            series,
            ladders,
            label,
            "throughput",
            "Throughput against threads",
            "transactions/s",
            &|point| Some(point.tps.clone()),
        ),
        against_threads(
            series,
            ladders,
            label,
            "latency",
            "p95 latency against threads",
            "p95 of a transaction, ms",
            &|point| point.latency_ms.as_ref().map(|latency| latency.p95.clone()),
        ),
        latency_throughput(ladders, label),
        percentiles(series, ladders, label),
    ];
    let asked_for_keys = |ladder: &&&Ladder| {
        let options = &series.run.workloads[ladder.workload_index].options;
        ["in_list"]
            .iter()
            .any(|key| options.get(*key).is_some_and(|value| value != "0" && !value.is_empty()))
    };
    if ladders.iter().any(|ladder| asked_for_keys(&ladder)) {
        charts.push(against_threads(
            series,
            ladders,
            label,
            "lookups",
            "Key lookups against threads",
            "keys looked up/s",
            &|point| {
                (point.key_lookups_per_s.value > 0.0).then(|| Estimate {
                    middle: point.key_lookups_per_s.clone(),
                    low: None,
                    high: None,
                    spread: None,
                    repeats: Vec::new(),
                })
            },
        ));
    }
    charts
}

fn against_threads(
    series: &Series,
    ladders: &[&Ladder],
    label: &Sentence,
    kind: &'static str,
    title: &str,
    unit: &str,
    of: &dyn Fn(&Point) -> Option<Estimate>,
) -> Chart {
    let lines: Vec<Line> = ladders
        .iter()
        .map(|ladder| Line {
            name: ladder.target.clone(),
            colour: ladder.target_index,
            annotated: false,
            marks: ladder
                .closed()
                .filter_map(|point| {
                    let estimate = of(point)?;
                    let threads = point.load.threads_total();
                    Some(Mark {
                        x: f64::from(threads),
                        x_from: None,
                        low: estimate.low.as_ref().map(|low| low.value),
                        high: estimate.high.as_ref().map(|high| high.value),
                        tip: format!(
                            "{}, {threads} threads: {} {unit}",
                            ladder.target,
                            number(estimate.middle.value)
                        ),
                        y: estimate.middle,
                        annotation: String::new(),
                    })
                })
                .collect(),
        })
        .collect();
    let (lowest, highest) = range(&lines);
    let is_latency = kind == "latency";
    let mut limits = Vec::new();
    if is_latency
        && let Some(slo) = &series.run.slo
        && slo.quantile == 0.95
    {
        let figure = series.place("run").figure(&["slo", "latency_ms"], slo.latency_ms);
        let words = Sentence::words("service level ").figure(&figure).and(" ms");
        limits.push((figure, words));
    }
    let highest = limits.iter().map(|(figure, _)| figure.value).fold(highest, f64::max);
    let plot = Plot {
        kind,
        name: format!("{title}: {}", label.plain()),
        x: thread_axis(ladders),
        y: Axis {
            title: unit.to_owned(),
            scale: if is_latency {
                Scale::fitting(lowest, highest)
            } else {
                Scale::from_zero(highest)
            },
            ticks: None,
        },
        lines,
        limits,
    };
    let log = is_latency && plot.y.scale.is_log();
    Chart {
        kind,
        title: title.into(),
        svg: plot.draw(),
        note: if log {
            label.clone().and(". Logarithmic.")
        } else {
            label.clone()
        },
        wide: false,
    }
}

/// Whiskers included.
fn range(lines: &[Line]) -> (f64, f64) {
    let values = || {
        lines
            .iter()
            .flat_map(|line| &line.marks)
            .flat_map(|mark| [Some(mark.y.value), mark.low, mark.high])
            .flatten()
    };
    (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
}

/// Each measured thread count is a tick; doubling is a step.
fn thread_axis(ladders: &[&Ladder]) -> Axis {
    let mut threads: Vec<u32> = ladders
        .iter()
        .flat_map(|ladder| ladder.closed().map(|point| point.load.threads_total()))
        .collect();
    threads.sort_unstable();
    threads.dedup();
    let low = threads.first().copied().unwrap_or(1).max(1);
    let high = threads.last().copied().unwrap_or(2);
    Axis {
        title: "threads in total (one connection each; doubling is a step)".into(),
        scale: Scale::log_exact(f64::from(low), f64::from(high)),
        ticks: Some(
            threads
                .iter()
                .map(|&count| (f64::from(count), number(f64::from(count))))
                .collect(),
        ),
    }
}

fn latency_throughput(ladders: &[&Ladder], label: &Sentence) -> Chart {
    let lines: Vec<Line> = ladders
        .iter()
        .map(|ladder| Line {
            name: ladder.target.clone(),
            colour: ladder.target_index,
            annotated: true,
            marks: ladder
                .closed()
                .filter_map(|point| {
                    let p95 = point.p95_ms()?;
                    let threads = point.load.threads_total();
                    Some(Mark {
                        x: point.tps.middle.value,
                        x_from: Some(point.tps.middle.from.clone()),
                        y: p95.clone(),
                        low: None,
                        high: None,
                        tip: format!(
                            "{}, {threads} threads: p95 {} ms at {} transactions/s",
                            ladder.target,
                            number(p95.value),
                            number(point.tps.middle.value)
                        ),
                        annotation: threads.to_string(),
                    })
                })
                .collect(),
        })
        .collect();
    let (lowest, highest) = range(&lines);
    let fastest = lines
        .iter()
        .flat_map(|line| &line.marks)
        .map(|mark| mark.x)
        .fold(0.0, f64::max);
    let plot = Plot {
        kind: "latency-throughput",
        name: format!("p95 latency against throughput: {}", label.plain()),
        x: Axis {
            title: "transactions/s".into(),
            scale: Scale::from_zero(fastest),
            ticks: None,
        },
        y: Axis {
            title: "p95 of a transaction, ms".into(),
            scale: Scale::fitting(lowest, highest),
            ticks: None,
        },
        lines,
        limits: Vec::new(),
    };
    Chart {
        kind: "latency-throughput",
        title: "What a rate costs in latency".into(),
        svg: plot.draw(),
        note: Sentence::words("Right and low is good; the small numbers are threads. ").join(label),
        wide: false,
    }
}

/// Quantiles of the curve and how the axis names them.
const CURVE: [(f64, &str); 8] = [
    (0.5, "50%"),
    (0.75, ""),
    (0.9, "90%"),
    (0.95, ""),
    (0.99, "99%"),
    (0.995, ""),
    (0.999, "99.9%"),
    (0.9999, "99.99%"),
];

fn percentiles(series: &Series, ladders: &[&Ladder], label: &Sentence) -> Chart {
    let position = |quantile: f64| 1.0 / (1.0 - quantile);
    let mut at = Sentence::words("Each at its best load: ");
    let lines: Vec<Line> = ladders
        .iter()
        .filter_map(|ladder| {
            let point = ladder.best_point()?;
            let sourced = point.sourced();
            let count: u64 = sourced.iter().map(|part| part.distribution.count()).sum();
            let marks = CURVE
                .iter()
                // A percentile that fewer than three values lie beyond says nothing.
                .filter(|(quantile, _)| count as f64 * (1.0 - quantile) >= 3.0)
                .filter_map(|&(quantile, _)| {
                    let figure = Figure::quantile_ms(quantile, &sourced)?;
                    Some(Mark {
                        x: position(quantile),
                        x_from: None,
                        tip: format!(
                            "{}: {}% of transactions within {} ms",
                            ladder.target,
                            quantile * 100.0,
                            number(figure.value)
                        ),
                        y: figure,
                        low: None,
                        high: None,
                        annotation: String::new(),
                    })
                })
                .collect();
            at = std::mem::take(&mut at)
                .join(&say::target_name(series, ladder.target_index))
                .and(" ")
                .join(&say::load(series, point))
                .and(", ");
            Some(Line {
                name: ladder.target.clone(),
                colour: ladder.target_index,
                marks,
                annotated: false,
            })
        })
        .collect();
    let (lowest, highest) = range(&lines);
    let plot = Plot {
        kind: "percentiles",
        name: format!("Latency by percentile: {}", label.plain()),
        x: Axis {
            title: "share of transactions that are at least this fast".into(),
            scale: Scale::log_exact(position(0.5), position(0.9999)),
            ticks: Some(
                CURVE
                    .iter()
                    .filter(|(_, text)| !text.is_empty())
                    .map(|&(quantile, text)| (position(quantile), text.to_owned()))
                    .collect(),
            ),
        },
        y: Axis {
            title: "latency of a transaction, ms".into(),
            scale: Scale::fitting(lowest, highest),
            ticks: None,
        },
        lines,
        limits: Vec::new(),
    };
    Chart {
        kind: "percentiles",
        title: "Latency by percentile".into(),
        svg: plot.draw(),
        note: at.join(label),
        wide: false,
    }
}

/// Asked for against got, and latency from the intended start.
fn open_loop(ladders: &[&Ladder], label: &Sentence) -> Chart {
    let mut lines = Vec::new();
    for ladder in ladders {
        let open: Vec<&Point> = ladder.points.iter().filter(|point| !point.is_closed()).collect();
        let marks = |of: &dyn Fn(&Point) -> Option<Figure>, what: &str| -> Vec<Mark> {
            open.iter()
                .filter_map(|point| {
                    let Load::Open { rate_per_s, .. } = point.load else {
                        return None;
                    };
                    let figure = of(point)?;
                    Some(Mark {
                        x: rate_per_s,
                        x_from: None,
                        low: None,
                        high: None,
                        tip: format!(
                            "{}, {what} at {}/s: {} ms",
                            ladder.target,
                            number(rate_per_s),
                            number(figure.value)
                        ),
                        y: figure,
                        annotation: String::new(),
                    })
                })
                .collect()
        };
        let total = marks(&|point| point.p95_ms().cloned(), "p95 from the intended start");
        let service = marks(&|point| point.service_p95_ms.clone(), "p95 from the sending");
        if !total.is_empty() {
            lines.push(Line {
                name: ladder.target.clone(),
                colour: ladder.target_index,
                marks: total,
                annotated: false,
            });
        }
        if !service.is_empty() {
            lines.push(Line {
                name: "↳ service".into(),
                colour: ladder.target_index,
                marks: service,
                annotated: false,
            });
        }
    }
    let (lowest, highest) = range(&lines);
    let fastest = lines
        .iter()
        .flat_map(|line| &line.marks)
        .map(|mark| mark.x)
        .fold(0.0, f64::max);
    let plot = Plot {
        kind: "open-loop",
        name: format!("Open loop: latency against the rate asked for: {}", label.plain()),
        x: Axis {
            title: "transactions/s asked for".into(),
            scale: Scale::from_zero(fastest),
            ticks: None,
        },
        y: Axis {
            title: "p95 of a transaction, ms".into(),
            scale: Scale::fitting(lowest, highest),
            ticks: None,
        },
        lines,
        limits: Vec::new(),
    };
    Chart {
        kind: "open-loop",
        title: "Latency at a given rate (open loop)".into(),
        svg: plot.draw(),
        note: Sentence::words(
            "From the moment a transaction was due; \"service\" counts from the moment it was sent. ",
        )
        .join(label),
        wide: false,
    }
}

fn verdict_strip(series: &Series, workload: &str, label: &Sentence) -> Chart {
    let mut loads: Vec<(f64, String)> = Vec::new();
    for rung in series.rungs.iter().filter(|rung| rung.workload == workload) {
        let key = match &rung.load {
            Load::Closed { threads_total, .. } => f64::from(*threads_total),
            // After every closed loop.
            Load::Open { rate_per_s, .. } => 1e9 + rate_per_s,
        };
        let text = say::short_load(&rung.load);
        if !loads.iter().any(|(_, known)| *known == text) {
            loads.push((key, text));
        }
    }
    loads.sort_by(|a, b| a.0.total_cmp(&b.0));
    let rows = series
        .run
        .targets
        .iter()
        .enumerate()
        .map(|(index, target)| {
            let cells = loads
                .iter()
                .map(|(_, load)| verdict_cell(series, workload, &target.name, load))
                .collect();
            (target.name.clone(), index, cells)
        })
        .collect();
    Chart {
        kind: "verdicts",
        title: "What held each rung back".into(),
        svg: Verdicts {
            name: format!("Verdict per rung: {}", label.plain()),
            loads: loads.into_iter().map(|(_, text)| text).collect(),
            rows,
        }
        .draw(),
        note: Sentence::words(
            "The verdict of most repeats; the evidence stands under \"What limited the rate\". A dashed cell is void.",
        ),
        wide: true,
    }
}

fn verdict_cell(series: &Series, workload: &str, target: &str, load: &str) -> Option<VerdictCell> {
    let repeats: Vec<_> = series
        .rungs
        .iter()
        .filter(|rung| rung.workload == workload && rung.target == target && say::short_load(&rung.load) == load)
        .collect();
    let first = repeats.first()?;
    let counted: Vec<_> = repeats.iter().filter(|rung| rung.void.is_none()).collect();
    if counted.is_empty() {
        return Some(VerdictCell {
            class: "void",
            text: "VOID".into(),
            tip: first.void.clone().unwrap_or_default(),
        });
    }
    let verdicts: Vec<_> = counted.iter().filter_map(|rung| rung.verdict.as_ref()).collect();
    let votes = |bottleneck| {
        verdicts
            .iter()
            .filter(|verdict| verdict.bottleneck == bottleneck)
            .count()
    };
    let Some(verdict) = verdicts.iter().max_by(|a, b| {
        votes(a.bottleneck)
            .cmp(&votes(b.bottleneck))
            .then(a.confidence.total_cmp(&b.confidence))
    }) else {
        return Some(VerdictCell {
            class: "unjudged",
            text: "not judged".into(),
            tip: "No machine was watched.".into(),
        });
    };
    Some(VerdictCell {
        class: class_of(verdict.bottleneck),
        text: say::short_bottleneck(verdict.bottleneck).into(),
        tip: verdict.evidence.join("\n"),
    })
}

fn class_of(bottleneck: Bottleneck) -> &'static str {
    match bottleneck {
        Bottleneck::LoadGenerator => "load",
        Bottleneck::SqlCpu => "sql",
        Bottleneck::DataCpu => "data",
        Bottleneck::NetworkBandwidth => "net",
        Bottleneck::NetworkPackets => "packets",
        Bottleneck::Disk => "disk",
        Bottleneck::Locks => "locks",
        Bottleneck::None => "none",
    }
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
