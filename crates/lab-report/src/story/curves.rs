//! A workload's charts: curves over the ladder, and the strip that says what held each rung back.

use lab_results::run::Load;
use lab_results::rung::Bottleneck;

use crate::figure::{Estimate, Figure};
use crate::page::{Chart, Sentence};
use crate::say;
use crate::series::Series;
use crate::summary::{Ladder, Point};
use crate::svg::bars::{Bar, Bars};
use crate::svg::plot::{Axis, Line, Mark, Plot};
use crate::svg::scale::Scale;
use crate::svg::strips::{VerdictCell, Verdicts};
use crate::text::number;

/// Rate and p95 against threads, one against the other, and the percentiles of each target's best load.
pub fn ladder_charts(series: &Series, ladders: &[&Ladder], label: &Sentence) -> Vec<Chart> {
    let mut threads: Vec<u32> = ladders
        .iter()
        .flat_map(|ladder| ladder.closed().map(|point| point.load.threads_total()))
        .collect();
    threads.sort_unstable();
    threads.dedup();
    // A single load is no curve; the table has it.
    if threads.len() < 2 {
        return vec![percentiles(series, ladders, label)];
    }
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

/// The best rate of each target, with its interval.
pub fn best_rates(ladders: &[&Ladder], label: &Sentence) -> Chart {
    let bars = ladders
        .iter()
        .filter_map(|ladder| {
            let point = ladder.best_point()?;
            Some(Bar {
                label: ladder.target.clone(),
                under: match point.load {
                    Load::Closed { threads_total: 1, .. } => "at 1 thread".into(),
                    Load::Closed { threads_total, .. } => format!("at {} threads", number(f64::from(threads_total))),
                    Load::Open { rate_per_s, .. } => format!("asked {}/s", number(rate_per_s)),
                },
                colour: ladder.target_index,
                low: point.tps.low.as_ref().map(|low| low.value),
                high: point.tps.high.as_ref().map(|high| high.value),
                shown: Sentence::from(&point.tps.middle),
                value: point.tps.middle.clone(),
                elsewhere: false,
            })
        })
        .collect();
    Chart {
        kind: "best",
        title: "Best rate of each".into(),
        svg: Bars {
            kind: "best",
            name: format!("Best rate of each: {}", label.plain()),
            axis: "transactions/s: longer is better; the line is the interval".into(),
            bars,
        }
        .draw(),
        note: label.clone(),
        wide: false,
    }
}

/// Asked for against got, and latency from the intended start.
pub fn open_loop(ladders: &[&Ladder], label: &Sentence) -> Chart {
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

/// Closed and open loops each have a strip: rates asked for differ from target to target.
pub fn verdict_strips(series: &Series, workload: &str, label: &Sentence) -> Vec<Chart> {
    let loads = |closed: bool| -> Vec<String> {
        let mut loads: Vec<(f64, String)> = Vec::new();
        for rung in series.rungs.iter().filter(|rung| rung.workload == workload) {
            let key = match &rung.load {
                Load::Closed { threads_total, .. } if closed => f64::from(*threads_total),
                Load::Open { rate_per_s, .. } if !closed => *rate_per_s,
                _ => continue,
            };
            let text = say::short_load(&rung.load);
            if !loads.iter().any(|(_, known)| *known == text) {
                loads.push((key, text));
            }
        }
        loads.sort_by(|a, b| a.0.total_cmp(&b.0));
        loads.into_iter().map(|(_, text)| text).collect()
    };
    let strips = [
        (loads(true), "What held each rung back", "columns: threads in total"),
        (
            loads(false),
            "What held each rate back (open loop)",
            "columns: transactions/s asked for",
        ),
    ];
    strips
        .into_iter()
        .filter(|(loads, ..)| !loads.is_empty())
        .map(|(loads, title, columns)| verdict_strip(series, workload, label, (loads, title, columns)))
        .collect()
}

fn verdict_strip(
    series: &Series,
    workload: &str,
    label: &Sentence,
    (loads, title, columns): (Vec<String>, &str, &'static str),
) -> Chart {
    let rows = series
        .run
        .targets
        .iter()
        .enumerate()
        .map(|(index, target)| {
            let cells = loads
                .iter()
                .map(|load| verdict_cell(series, workload, &target.name, load))
                .collect();
            (target.name.clone(), index, cells)
        })
        .collect();
    Chart {
        kind: "verdicts",
        title: title.into(),
        svg: Verdicts {
            name: format!("{title}: {}", label.plain()),
            columns,
            loads,
            rows,
        }
        .draw(),
        note: Sentence::words(
            "The verdict of most repeats; the evidence stands under \"What limited the rate\". A dashed cell is void, an empty one was not measured.",
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
