//! The summary in plain words. Each sentence states what a test allows: a difference inside its interval is "no
//! difference shown", and one without enough repeats is not stated at all.

use super::{Contest, Contrast, Ladder, Summary};
use crate::figure::Figure;
use crate::page::Sentence;
use crate::say;
use crate::series::Series;
use crate::stats::Outcome;

pub fn of(series: &Series, summary: &Summary) -> Vec<Sentence> {
    let mut findings = Vec::new();
    for index in 0..series.run.workloads.len() {
        let name = &series.run.workloads[index].name;
        for ladder in summary.ladders_of(name) {
            findings.extend(best(series, ladder));
            findings.extend(service_level(series, ladder));
        }
        for contest in summary.contests.iter().filter(|contest| contest.workload == *name) {
            findings.extend(of_contest(&say::workload_name(series, index), contest));
        }
    }
    let void: usize = summary.ladders.iter().map(|ladder| ladder.voids.len()).sum();
    if void > 0 {
        findings.push(
            Sentence::new()
                .shown(
                    void.to_string(),
                    &Figure {
                        value: void as f64,
                        from: "voids()".into(),
                    },
                )
                .and(if void == 1 {
                    " rung is void and left out of every figure; its reason stands with the rungs."
                } else {
                    " rungs are void and left out of every figure; their reasons stand with the rungs."
                }),
        );
    }
    findings
}

fn best(series: &Series, ladder: &Ladder) -> Option<Sentence> {
    let point = ladder.best_point()?;
    let mut sentence = say::workload_name(series, ladder.workload_index)
        .and(": ")
        .join(&say::target_name(series, ladder.target_index))
        .and(" reached ")
        .figure(&point.tps.middle)
        .and(" transactions/s at ")
        .join(&say::load(series, point));
    if let Some(p95) = point.p95_ms() {
        sentence = sentence.and(", p95 ").figure(p95).and(" ms");
    }
    if let Some(verdict) = &point.verdict {
        sentence = sentence.and("; limit: ").and(say::bottleneck(verdict.bottleneck));
    }
    if let Some(knee) = &ladder.knee {
        sentence = sentence
            .and("; p95 stays within twice its lowest up to ")
            .figure(&knee.share.scaled(100.0))
            .and("% of that rate");
    }
    Some(sentence.and("."))
}

fn service_level(series: &Series, ladder: &Ladder) -> Option<Sentence> {
    let slo = ladder.slo.as_ref()?;
    let sentence = say::workload_name(series, ladder.workload_index)
        .and(": ")
        .join(&say::target_name(series, ladder.target_index));
    let level = service_level_name(series)?;
    let Some(at) = slo.point else {
        return Some(sentence.and(" held ").join(&level).and(" at no measured load."));
    };
    let point = &ladder.points[at];
    let sentence = sentence
        .and(" held ")
        .join(&level)
        .and(" up to ")
        .figure(&point.tps.middle)
        .and(" transactions/s at ")
        .join(&say::load(series, point));
    Some(if slo.never_broken {
        sentence.and("; no measured load broke it.")
    } else {
        sentence.and(".")
    })
}

/// `p95 ≤ 20 ms`.
pub fn service_level_name(series: &Series) -> Option<Sentence> {
    let slo = series.run.slo.as_ref()?;
    let place = series.place("run");
    Some(
        Sentence::words("p")
            .figure(&place.figure(&["slo", "quantile"], slo.quantile).scaled(100.0))
            .and(" ≤ ")
            .figure(&place.figure(&["slo", "latency_ms"], slo.latency_ms))
            .and(" ms"),
    )
}

/// What two ladders allow to say about each other.
pub fn of_contest(workload: &Sentence, contest: &Contest) -> Vec<Sentence> {
    let mut said = Vec::new();
    let (base, other) = (say::side(&contest.base), say::side(&contest.other));
    if let Some(best) = &contest.best {
        let start = workload.clone().and(": at its best load, ").join(&other);
        said.push(match best.outcome {
            Outcome::Higher | Outcome::Lower => start
                .and(" gives ")
                .join(&say::change(best))
                .and(" transactions/s against ")
                .join(&base)
                .and(confidence(best)),
            Outcome::NoneShown => start
                .and(" against ")
                .join(&base)
                .and(": no difference shown (")
                .join(&say::change(best))
                .and(" transactions/s)."),
            Outcome::Untested => start
                .and(" against ")
                .join(&base)
                .and(": too few repeats to tell (")
                .join(&say::change(best))
                .and(" transactions/s as measured)."),
        });
    }
    for crossing in &contest.crossovers {
        let leader = if crossing.then == Outcome::Higher {
            &other
        } else {
            &base
        };
        let threads = |count: u32| crossing_figure(contest, count);
        said.push(
            workload
                .clone()
                .and(": the curves cross: up to ")
                .figure(&threads(crossing.before_threads))
                .and(" threads ")
                .join(if crossing.then == Outcome::Higher {
                    &base
                } else {
                    &other
                })
                .and(" is faster, from ")
                .figure(&threads(crossing.after_threads))
                .and(" threads ")
                .join(leader)
                .and("."),
        );
    }
    said
}

/// The thread count is found in the plan's loads by whoever checks.
fn crossing_figure(contest: &Contest, threads: u32) -> Figure {
    Figure {
        value: f64::from(threads),
        from: format!("loads({}run,{threads})", contest.base.letter),
    }
}

fn confidence(contrast: &Contrast) -> &'static str {
    if contrast.strength >= 0.95 {
        " (95% interval)."
    } else {
        " (interval; with so few repeats at most 90% sure)."
    }
}
