//! Two ladders of one workload side by side, load by load, with what may be said about the difference.

use lab_results::run::Load;

use super::{AtCost, AtLoad, Contest, Contrast, CostFigures, Crossing, Ladder, Point, Side};
use crate::figure::{Estimate, Figure, quantile_of, values};
use crate::series::Series;
use crate::stats::{self, Difference, Outcome, curve};

/// Every target against the first, per workload.
pub fn within(series: &Series, ladders: &[Ladder]) -> Vec<Contest> {
    let mut contests = Vec::new();
    for workload in &series.run.workloads {
        let mut of_it = ladders.iter().filter(|ladder| ladder.workload == workload.name);
        let Some(base) = of_it.next() else { continue };
        contests.extend(of_it.map(|other| contest(series, base, series, other)));
    }
    contests
}

/// Two ladders, of one series or of two; the seed of the base's series draws the resamples.
pub fn contests_between<'a>(
    base: (&'a Series, &'a Ladder),
    others: impl Iterator<Item = (&'a Series, &'a Ladder)>,
) -> Vec<Contest> {
    others
        .map(|(series, ladder)| contest(base.0, base.1, series, ladder))
        .collect()
}

fn contest(base_series: &Series, base: &Ladder, other_series: &Series, other: &Ladder) -> Contest {
    let seed = base_series.run.seed;
    let loads: Vec<AtLoad> = base
        .points
        .iter()
        .filter_map(|point| {
            let counterpart = other.points.iter().find(|other| alike(&point.load, &other.load))?;
            Some(AtLoad {
                load: point.load.clone(),
                tps: rates(seed, point, counterpart),
                p95: latencies(seed, point, counterpart),
            })
        })
        .collect();
    let outcomes: Vec<(f64, Outcome)> = loads
        .iter()
        .filter(|at| matches!(at.load, Load::Closed { .. }))
        .filter_map(|at| Some((f64::from(at.load.threads_total()), at.tps.as_ref()?.outcome)))
        .collect();
    let crossovers = curve::crossovers(&outcomes)
        .iter()
        .map(|found| Crossing {
            before_threads: found.before as u32,
            after_threads: found.after as u32,
            then: found.then,
        })
        .collect();
    Contest {
        workload: base.workload.clone(),
        base: side(base_series, base),
        other: side(other_series, other),
        best: base
            .best_point()
            .zip(other.best_point())
            .and_then(|(base, other)| rates(seed, base, other)),
        loads,
        crossovers,
        costs: base
            .best_point()
            .zip(other.best_point())
            .map_or_else(Vec::new, |(base, other)| costs(seed, base, other)),
    }
}

/// Of the servers, per transaction. Repeats that were not watched are left out.
fn costs(seed: u64, base: &Point, other: &Point) -> Vec<AtCost> {
    type Of = fn(&CostFigures) -> Option<Figure>;
    let all: [(&'static str, Of); 4] = [
        ("processor time", |costs| Some(costs.cpu_us.clone())),
        ("context switches", |costs| Some(costs.context_switches.clone())),
        ("bytes written", |costs| Some(costs.disk_bytes.clone())),
        ("flushes of the disk", |costs| costs.disk_flushes.clone()),
    ];
    let contrast_of = |of: Of| {
        let each = |point: &Point| -> Option<Estimate> {
            let repeats: Option<Vec<Figure>> = point.cost_repeats.iter().map(of).collect();
            Estimate::of(repeats?, seed)
        };
        medians(seed, &each(base)?, &each(other)?)
    };
    all.into_iter()
        .filter_map(|(what, of)| {
            Some(AtCost {
                what,
                contrast: contrast_of(of)?,
            })
        })
        .collect()
}

fn side(series: &Series, ladder: &Ladder) -> Side {
    Side {
        letter: series.letter.clone(),
        series: series.run.name.clone(),
        target: ladder.target.clone(),
        from: series.of_run(&["targets", &ladder.target_index.to_string(), "name"]),
        ambiguous: false,
    }
}

/// The same number of clients, or the same rate asked for.
fn alike(a: &Load, b: &Load) -> bool {
    match (a, b) {
        (Load::Closed { threads_total: a, .. }, Load::Closed { threads_total: b, .. }) => a == b,
        (Load::Open { rate_per_s: a, .. }, Load::Open { rate_per_s: b, .. }) => (a - b).abs() <= a.abs() * 1e-6,
        _ => false,
    }
}

fn rates(seed: u64, base: &Point, other: &Point) -> Option<Contrast> {
    medians(seed, &base.tps, &other.tps)
}

fn medians(seed: u64, base: &Estimate, other: &Estimate) -> Option<Contrast> {
    let (bases, others) = (values(&base.repeats), values(&other.repeats));
    let difference = stats::difference(&bases, &others, seed)?;
    let each: Vec<&str> = base
        .repeats
        .iter()
        .chain(&other.repeats)
        .map(|figure| figure.from.as_str())
        .collect();
    let arguments = format!("{seed},{},{}", bases.len(), each.join(","));
    Some(contrast(&base.middle, &other.middle, difference, "d", &arguments))
}

fn latencies(seed: u64, base: &Point, other: &Point) -> Option<Contrast> {
    let (bases, others) = (base.sourced(), other.sourced());
    let difference = stats::difference_of(
        (bases.len(), others.len()),
        seed,
        quantile_of(0.95, &bases),
        quantile_of(0.95, &others),
    )?;
    let each: Vec<&str> = bases.iter().chain(&others).map(|part| part.from).collect();
    let arguments = format!("{seed},0.95,{},{}", bases.len(), each.join(","));
    Some(contrast(base.p95_ms()?, other.p95_ms()?, difference, "dq", &arguments))
}

fn contrast(base: &Figure, other: &Figure, difference: Difference, name: &str, arguments: &str) -> Contrast {
    let end = |which: &str, value: f64| Figure {
        value,
        from: format!("{name}{which}({arguments})"),
    };
    Contrast {
        base: base.clone(),
        other: other.clone(),
        ratio: other.over(base),
        low: difference.interval.map(|(low, _)| end("lo", low)),
        high: difference.interval.map(|(_, high)| end("hi", high)),
        strength: difference.strength,
        outcome: difference.outcome(),
    }
}
