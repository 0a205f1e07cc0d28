//! What a rate costs in latency (as the threads give it, and as it is asked for), and the best rates as bars.

use lab_results::run::Load;

use super::curves::range;
use crate::figure::Figure;
use crate::page::{Chart, Sentence};
use crate::summary::{Ladder, Point};
use crate::svg::bars::{Bar, Bars};
use crate::svg::plot::{Axis, Line, Mark, Plot};
use crate::svg::scale::Scale;
use crate::text::number;

/// p95 against the rate that so many threads give.
pub fn latency_throughput(ladders: &[&Ladder], label: &Sentence) -> Chart {
    let lines = ladders
        .iter()
        .map(|ladder| Line {
            name: ladder.target.clone(),
            colour: ladder.target_index,
            annotated: true,
            faint: false,
            marks: ladder
                .closed()
                .filter_map(|point| {
                    let p95 = point.p95_ms()?;
                    let threads = point.load.threads_total();
                    Some(Mark {
                        x: point.tps.middle.value,
                        x_from: Some(point.tps.middle.from.clone()),
                        tip: format!(
                            "{}, {threads} threads: p95 {} ms at {} transactions/s",
                            ladder.target,
                            number(p95.value),
                            number(point.tps.middle.value)
                        ),
                        annotation: threads.to_string(),
                        ..Mark::at(p95.clone())
                    })
                })
                .collect(),
        })
        .collect();
    Chart {
        title: "What a rate costs in latency".into(),
        note: Sentence::words("Right and low is good; the small numbers are threads. ").join(label),
        ..against_rate(
            "latency-throughput",
            &format!("p95 latency against throughput: {}", label.plain()),
            "transactions/s",
            lines,
        )
    }
}

/// p95 against the rate asked for: from the intended start, and from the sending.
pub fn open_loop(ladders: &[&Ladder], label: &Sentence) -> Chart {
    let mut lines = Vec::new();
    for ladder in ladders {
        let marks = |of: &dyn Fn(&Point) -> Option<Figure>, what: &str| -> Vec<Mark> {
            let points = ladder.points.iter().filter_map(|point| match point.load {
                Load::Open { rate_per_s, .. } => Some((rate_per_s, of(point)?)),
                Load::Closed { .. } => None,
            });
            points
                .map(|(rate, figure)| Mark {
                    x: rate,
                    tip: format!(
                        "{}, {what} at {}/s: {} ms",
                        ladder.target,
                        number(rate),
                        number(figure.value)
                    ),
                    ..Mark::at(figure)
                })
                .collect()
        };
        let total = marks(&|point| point.p95_ms().cloned(), "p95 from the intended start");
        let service = marks(&|point| point.service_p95_ms.clone(), "p95 from the sending");
        for (name, marks) in [(ladder.target.as_str(), total), ("↳ service", service)] {
            if !marks.is_empty() {
                lines.push(Line {
                    name: name.to_owned(),
                    colour: ladder.target_index,
                    marks,
                    annotated: false,
                    faint: false,
                });
            }
        }
    }
    Chart {
        title: "Latency at a given rate (open loop)".into(),
        note: Sentence::words(
            "From the moment a transaction was due; \"service\" counts from the moment it was sent. ",
        )
        .join(label),
        ..against_rate(
            "open-loop",
            &format!("Open loop: latency against the rate asked for: {}", label.plain()),
            "transactions/s asked for",
            lines,
        )
    }
}

/// p95 upwards, a rate to the right.
fn against_rate(kind: &'static str, name: &str, rate: &str, lines: Vec<Line>) -> Chart {
    let (lowest, highest) = range(&lines);
    let marks = lines.iter().flat_map(|line| &line.marks);
    let fastest = marks.map(|mark| mark.x).fold(0.0, f64::max);
    let plot = Plot {
        kind,
        name: name.to_owned(),
        x: Axis {
            title: rate.to_owned(),
            scale: Scale::from_zero(fastest),
            ticks: None,
        },
        y: Axis {
            title: "p95 of a transaction, ms".into(),
            scale: Scale::fitting(lowest, highest),
            ticks: None,
        },
        lines,
        front: Vec::new(),
        limits: Vec::new(),
    };
    Chart {
        kind,
        title: Sentence::new(),
        svg: plot.draw(),
        note: Sentence::new(),
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
