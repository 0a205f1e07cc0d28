//! A workload's curves over its ladder: rate and latency against threads, and the percentiles of the best loads.

use super::rates::latency_throughput;
use crate::figure::{Estimate, Figure};
use crate::page::{Chart, Sentence};
use crate::say;
use crate::series::Series;
use crate::summary::{Ladder, Point};
use crate::svg::plot::{Axis, Line, Mark, Plot};
use crate::svg::scale::Scale;
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
            faint: false,
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
        front: Vec::new(),
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
pub fn range(lines: &[Line]) -> (f64, f64) {
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
                        tip: format!(
                            "{}: {}% of transactions within {} ms",
                            ladder.target,
                            quantile * 100.0,
                            number(figure.value)
                        ),
                        ..Mark::at(figure)
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
                faint: false,
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
        front: Vec::new(),
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
