//! The summary in plain words. Each sentence states what a test allows: a difference inside its interval is "no
//! difference shown", and one without enough repeats is not stated at all.

use lab_results::run::Load;
use serde::Serialize;

use super::{Contest, Contrast, Ladder, Market, Point, Summary};
use crate::figure::Figure;
use crate::page::Sentence;
use crate::say;
use crate::series::Series;
use crate::stats::Outcome;
use crate::text;

/// What may be said of one workload, or of the series as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct Findings {
    pub workload: Option<String>,
    pub sentences: Vec<Sentence>,
    /// What each target reached, whatever the others did.
    pub targets: Vec<Sentence>,
}

pub fn of(series: &Series, summary: &Summary) -> Vec<Findings> {
    let mut findings = Vec::new();
    for workload in &series.run.workloads {
        let (mut sentences, mut targets) = (Vec::new(), Vec::new());
        // Who leads by how much comes first.
        for contest in summary
            .contests
            .iter()
            .filter(|contest| contest.workload == workload.name)
        {
            sentences.extend(of_contest(contest));
        }
        for ladder in summary.ladders_of(&workload.name) {
            targets.extend(best(series, ladder));
            targets.extend(service_level(series, ladder));
            sentences.extend(searched_rate(series, ladder));
            sentences.extend(oddities(series, ladder));
            sentences.extend(soaks(series, ladder));
        }
        sentences.extend(
            summary
                .markets
                .iter()
                .filter(|market| market.workload == workload.name)
                .flat_map(|market| front(series, market)),
        );
        if !sentences.is_empty() || !targets.is_empty() {
            findings.push(Findings {
                workload: Some(workload.name.clone()),
                sentences,
                targets,
            });
        }
    }
    let void: usize = summary.ladders.iter().map(|ladder| ladder.voids.len()).sum();
    if void > 0 {
        let count = Figure {
            value: void as f64,
            from: "voids()".into(),
        };
        let words = if void == 1 {
            " rung is void and in no figure; its reason stands with the rungs."
        } else {
            " rungs are void and in no figure; their reasons stand with the rungs."
        };
        findings.push(Findings {
            workload: None,
            sentences: vec![Sentence::from(&count).and(words)],
            targets: Vec::new(),
        });
    }
    findings
}

fn best(series: &Series, ladder: &Ladder) -> Option<Sentence> {
    let point = ladder.best_point()?;
    let mut sentence = say::target_name(series, ladder.target_index)
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
            .and("; its p95 stays within twice the lowest up to ")
            .percent(&knee.share)
            .and(" of its best rate");
    }
    Some(sentence.and("."))
}

fn service_level(series: &Series, ladder: &Ladder) -> Option<Sentence> {
    let slo = ladder.slo.as_ref()?;
    let sentence = say::target_name(series, ladder.target_index);
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

/// Of the search for the highest rate within the service level, where the plan asked for it.
fn searched_rate(series: &Series, ladder: &Ladder) -> Option<Sentence> {
    let at = series
        .run
        .slo_rates
        .iter()
        .position(|found| found.target == ladder.target && found.workload == ladder.workload)?;
    let found = &series.run.slo_rates[at];
    let figure = |field: &str, value: f64| {
        series
            .place("run")
            .figure(&["slo_rates", &at.to_string(), field], value)
    };
    let sentence = say::target_name(series, ladder.target_index);
    let level = service_level_name(series)?;
    if found.rate_per_s <= 0.0 {
        return Some(
            sentence
                .and(": the search found no rate that holds ")
                .join(&level)
                .and("."),
        );
    }
    let sentence = sentence
        .and(": the search found ")
        .figure(&figure("rate_per_s", found.rate_per_s))
        .and(" transactions/s asked for to be the highest rate that holds ")
        .join(&level);
    Some(match found.broken_at_per_s {
        Some(broken) => sentence
            .and("; ")
            .figure(&figure("broken_at_per_s", broken))
            .and(" did not."),
        None => sentence.and("; every rate tried held it."),
    })
}

/// Repeats that differ by more than this share of their median were not alone on the machine, or not alike.
const RESTLESS: f64 = 0.15;
/// From here on a difference is called 95% sure.
const SURE: f64 = 0.95;
/// A rate that still rises at the heaviest load by more than this was not measured to its end.
const RISING: f64 = 1.05;
/// A lighter load whose p95 is so much higher than a heavier one's is worth a sentence.
const FALLING: f64 = 1.2;
/// Few threads, and one answer that took this long and so many times the p99: the machine was away.
const FEW_THREADS: u32 = 8;
const AWAY_MS: f64 = 150.0;
const AWAY_TIMES: f64 = 10.0;

/// Repeats of the best load that are far apart: whatever is compared with them is as uncertain.
pub fn restless(ladder: &Ladder, name: Sentence) -> Option<Sentence> {
    let spread = ladder.best_point()?.tps.spread.as_ref()?;
    (spread.value > RESTLESS).then(|| {
        name.and(": repeats of its best load differ by ")
            .percent(spread)
            .and(" of their median: something else was at work on its machines, or the intervals are too short; more repeats, or longer ones, would tell.")
    })
}

/// What a careful reader would ask about.
fn oddities(series: &Series, ladder: &Ladder) -> Vec<Sentence> {
    let name = || say::target_name(series, ladder.target_index);
    let closed: Vec<&Point> = ladder.closed().collect();
    let mut said: Vec<Sentence> = restless(ladder, name()).into_iter().collect();
    if let [.., before, last] = closed[..]
        && last.tps.middle.value > RISING * before.tps.middle.value
    {
        let gain = say::percent(&last.tps.middle.over(&before.tps.middle));
        said.push(
            name()
                .and(" still gained ")
                .change(&gain)
                .and("% at the heaviest load measured (")
                .join(&say::load(series, last))
                .and("): more may be in it."),
        );
    }
    let p95 = |point: &Point| point.p95_ms().map_or(0.0, |figure| figure.value);
    let falls = closed
        .windows(2)
        .find(|pair| p95(pair[0]) > FALLING * p95(pair[1]) && p95(pair[1]) > 0.0);
    if let Some(&[light, heavy]) = falls
        && let (Some(high), Some(low)) = (light.p95_ms(), heavy.p95_ms())
    {
        said.push(
            name()
                .and(": p95 falls as load rises, from ")
                .figure(high)
                .and(" ms at ")
                .join(&say::load(series, light))
                .and(" to ")
                .figure(low)
                .and(" ms at ")
                .join(&say::load(series, heavy))
                .and(": idle processors that wake slowly, or threads that spin only when busy, look like this."),
        );
    }
    // Faults and lost connections explain long answers by themselves.
    let disturbed = |point: &&&Point| {
        point.errors_per_s.value > 0.0
            || series
                .rungs
                .iter()
                .any(|rung| point.rungs.contains(&rung.index) && !rung.events.is_empty())
    };
    let calm = closed
        .iter()
        .filter(|point| series.availability.is_empty() && !disturbed(point));
    let away = calm.into_iter().find_map(|point| {
        let latency = point.latency_ms.as_ref()?;
        let few = point.load.threads_total() <= FEW_THREADS;
        let long = latency.max.value >= AWAY_MS && latency.max.value >= AWAY_TIMES * latency.p99.value;
        (few && long).then_some((*point, latency))
    });
    if let Some((point, latency)) = away {
        said.push(
            name()
                .and(": at only ")
                .join(&say::load(series, point))
                .and(" single answers took up to ")
                .figure(&latency.max)
                .and(" ms where p99 is ")
                .figure(&latency.p99)
                .and(" ms: sleeping or stolen processors look like this; see the probes' stalls."),
        );
    }
    said
}

/// What a long interval gave, against the short ones at the same load, and whether it drifted.
fn soaks(series: &Series, ladder: &Ladder) -> Vec<Sentence> {
    ladder
        .soaks
        .iter()
        .map(|soak| {
            let rung = soak.rungs[0];
            let length = series.place(&format!("r{rung}")).figure(
                &["measured_s"],
                series
                    .rungs
                    .iter()
                    .find(|measured| measured.index == rung)
                    .map_or(0.0, |measured| measured.measured_s),
            );
            let mut sentence = say::target_name(series, ladder.target_index)
                .and(": over ")
                .figure(&length)
                .and(" s at ")
                .join(&say::load(series, soak))
                .and(" it gave ")
                .figure(&soak.tps.middle)
                .and(" transactions/s");
            if let Some(p95) = soak.p95_ms() {
                sentence = sentence.and(", p95 ").figure(p95).and(" ms");
            }
            let short = ladder
                .points
                .iter()
                .find(|point| super::build::same_load(&point.load, &soak.load));
            if let Some(short) = short {
                sentence = sentence
                    .and(" (")
                    .change(&say::percent(&soak.tps.middle.over(&short.tps.middle)))
                    .and("% against the short intervals at that load)");
            }
            match soak.trends.first() {
                Some(trend) if trend.steady => sentence.and("; no drift shown."),
                Some(trend) => sentence
                    .and("; it drifted by ")
                    .change(&trend.per_hour.scaled(100.0))
                    .and("% an hour."),
                None => sentence.and("."),
            }
        })
        .collect()
}

/// Whose price nobody beats, and who is beaten by whom.
fn front(series: &Series, market: &Market) -> Vec<Sentence> {
    let (front, beaten): (Vec<_>, Vec<_>) = market.offers.iter().partition(|offer| offer.dominated_by.is_empty());
    let mut said = Sentence::words("By price and best rate, ");
    for (at, offer) in front.iter().enumerate() {
        let between = match at {
            0 => "",
            _ if at + 1 == front.len() => " and ",
            _ => ", ",
        };
        said = said.and(between).join(&say::target_name(series, offer.target_index));
    }
    said = said.and(if front.len() == 1 {
        " is beaten by none"
    } else {
        " are beaten by none: the dearer gives more"
    });
    for offer in beaten {
        said = said
            .and("; ")
            .join(&say::target_name(series, offer.target_index))
            .and(" is ")
            .join(&crate::story::standing(series, &offer.dominated_by));
    }
    vec![said.and(".")]
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
pub fn of_contest(contest: &Contest) -> Vec<Sentence> {
    let mut said = Vec::new();
    let (base, other) = (say::side(&contest.base), say::side(&contest.other));
    if let Some(best) = &contest.best {
        said.push(best_against_best(best, &base, &other));
    }
    said.extend(at_one_load(contest, &base, &other));
    said.extend(costs(contest, &base, &other));
    for crossing in &contest.crossovers {
        let (before, after) = if crossing.then == Outcome::Higher {
            (&base, &other)
        } else {
            (&other, &base)
        };
        let threads = |count: u32| Figure {
            value: f64::from(count),
            from: format!("loads({}run,{count})", contest.base.letter),
        };
        said.push(
            Sentence::words("The curves cross: up to ")
                .figure(&threads(crossing.before_threads))
                .and(" threads ")
                .join(before)
                .and(" gives more, from ")
                .figure(&threads(crossing.after_threads))
                .and(" threads ")
                .join(after)
                .and("."),
        );
    }
    said
}

/// Rate and latency together, at the heaviest load at which both are shown to differ.
fn at_one_load(contest: &Contest, base: &Sentence, other: &Sentence) -> Option<Sentence> {
    let shown = |contrast: &&Contrast| matches!(contrast.outcome, Outcome::Higher | Outcome::Lower);
    let at = contest.loads.iter().rev().find(|at| {
        matches!(at.load, Load::Closed { .. })
            && at.tps.as_ref().is_some_and(|tps| shown(&tps))
            && at.p95.as_ref().is_some_and(|p95| shown(&p95))
    })?;
    let (tps, p95) = (at.tps.as_ref()?, at.p95.as_ref()?);
    let threads = at.load.threads_total();
    let count = Figure {
        value: f64::from(threads),
        from: format!("loads({}run,{threads})", contest.base.letter),
    };
    Some(
        Sentence::words("At ")
            .figure(&count)
            .and(if threads == 1 { " thread, " } else { " threads, " })
            .join(other)
            .and(" gives ")
            .change(&say::percent(&tps.ratio))
            .and("% transactions/s at ")
            .change(&say::percent(&p95.ratio))
            .and("% p95 latency against ")
            .join(base)
            .join(&if tps.strength >= SURE {
                Sentence::words(".")
            } else {
                Sentence::words(" (so few repeats cannot make it surer than about nine in ten).")
            }),
    )
}

/// A cost that differs by less is not worth a sentence.
const DEARER: f64 = 1.15;

/// Why a rate differs, or what its noise hides: costs per transaction that are shown to differ.
fn costs(contest: &Contest, base: &Sentence, other: &Sentence) -> Option<Sentence> {
    let shown: Vec<_> = contest
        .costs
        .iter()
        .filter(|cost| {
            let ratio = cost.contrast.ratio.value;
            matches!(cost.contrast.outcome, Outcome::Higher | Outcome::Lower)
                && !(1.0 / DEARER..=DEARER).contains(&ratio)
        })
        .collect();
    let mut sentence = Sentence::words("A transaction costs the servers of ").join(other);
    for (at, cost) in shown.iter().enumerate() {
        sentence = sentence
            .and(if at == 0 { " " } else { ", " })
            .figure(&cost.contrast.ratio)
            .and(" times the ")
            .and(cost.what);
    }
    (!shown.is_empty()).then(|| {
        sentence
            .and(" that it costs those of ")
            .join(base)
            .and(", each at its best load.")
    })
}

fn best_against_best(best: &Contrast, base: &Sentence, other: &Sentence) -> Sentence {
    let start = other.clone();
    match best.outcome {
        Outcome::Higher | Outcome::Lower => {
            let change = say::percent(&best.ratio);
            // The size in words needs no sign.
            let size = if best.outcome == Outcome::Higher {
                change
            } else {
                change.scaled(-1.0)
            };
            let more = if best.outcome == Outcome::Higher {
                "% more"
            } else {
                "% fewer"
            };
            start
                .and(" gives ")
                .shown(text::signed(size.value).trim_start_matches('+').to_owned(), &size)
                .and(more)
                .and(" transactions/s than ")
                .join(base)
                .and(", each at its best load")
                .join(&sureness(best))
        }
        Outcome::NoneShown => start
            .and(" against ")
            .join(base)
            .and(", each at its best load: no difference shown (change ")
            .join(&say::change(best))
            .and(" transactions/s)."),
        Outcome::Untested => start
            .and(" against ")
            .join(base)
            .and(", each at its best load: too few repeats to tell (change as measured ")
            .join(&say::change(best))
            .and(" transactions/s)."),
    }
}

fn sureness(contrast: &Contrast) -> Sentence {
    let (Some(low), Some(high)) = (&contrast.low, &contrast.high) else {
        return Sentence::words(".");
    };
    let interval = Sentence::words(" (change within ")
        .change(&say::percent(low))
        .and("% to ")
        .change(&say::percent(high));
    if contrast.strength >= SURE {
        interval.and("%, ").fixed("95%").and(" sure).")
    } else {
        interval.and("%; so few repeats cannot make it surer than about nine in ten).")
    }
}
