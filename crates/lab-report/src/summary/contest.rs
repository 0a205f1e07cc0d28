//! Two ladders of one workload side by side, load by load, with what may be said about the difference.

use lab_results::run::Load;

use super::{AtLoad, Contest, Contrast, Crossing, Ladder, Point, Side};
use crate::figure::{Figure, quantile_of, values};
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
    }
}

fn side(series: &Series, ladder: &Ladder) -> Side {
    Side {
        letter: series.letter.clone(),
        series: series.run.name.clone(),
        target: ladder.target.clone(),
        from: series.of_run(&["targets", &ladder.target_index.to_string(), "name"]),
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
    let (bases, others) = (values(&base.tps.repeats), values(&other.tps.repeats));
    let difference = stats::difference(&bases, &others, seed)?;
    let each: Vec<&str> = base
        .tps
        .repeats
        .iter()
        .chain(&other.tps.repeats)
        .map(|figure| figure.from.as_str())
        .collect();
    let arguments = format!("{seed},{},{}", bases.len(), each.join(","));
    Some(contrast(
        &base.tps.middle,
        &other.tps.middle,
        difference,
        "d",
        &arguments,
    ))
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
