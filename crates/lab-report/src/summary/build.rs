//! From rungs to ladders: repeats of one load come together, void ones are set aside.

use std::collections::BTreeMap;

use lab_results::run::{Load, Slo};
use lab_results::rung::{NodeCost, SOAK_REPEAT};

use super::{
    AtSlo, CostFigures, Knee, Ladder, LatencyFigures, Point, PointVerdict, SUMMARY_SCHEMA, StatementFigures, Summary,
    TrendFigures, Void, contest, findings, market,
};
use crate::figure::{Estimate, Figure, Sourced};
use crate::series::{Measured, Series};
use crate::stats::curve::{self, Step};
use crate::stats::trend;

impl Summary {
    pub fn of(series: &Series) -> Summary {
        let ladders = ladders(series);
        let contests = contest::within(series, &ladders);
        let markets = market::of(series, &ladders);
        let mut summary = Summary {
            summary_schema: SUMMARY_SCHEMA,
            series: series.run.name.clone(),
            lab_version: series.run.lab_version.clone(),
            seed: series.run.seed,
            started: series.run.started,
            ended: series.run.ended,
            interrupted: series.run.interrupted,
            findings: Vec::new(),
            ladders,
            contests,
            markets,
            files: files(series),
        };
        summary.findings = findings::of(series, &summary);
        summary
    }
}

fn files(series: &Series) -> BTreeMap<String, String> {
    let mut files = BTreeMap::from([
        (format!("{}run", series.letter), "run.json".to_owned()),
        (format!("{}probes", series.letter), "probes.json".to_owned()),
    ]);
    if !series.availability.is_empty() {
        files.insert(format!("{}availability", series.letter), "availability.json".to_owned());
    }
    for rung in &series.rungs {
        files.insert(
            format!("{}r{}", series.letter, rung.index),
            format!("rungs/{}/rung.json", rung.folder),
        );
    }
    files
}

/// In the order of workloads, then targets, in `run.json`.
fn ladders(series: &Series) -> Vec<Ladder> {
    let mut ladders = Vec::new();
    for (workload_index, workload) in series.run.workloads.iter().enumerate() {
        for (target_index, target) in series.run.targets.iter().enumerate() {
            let rungs: Vec<&Measured> = series
                .rungs
                .iter()
                .filter(|rung| rung.workload == workload.name && rung.target == target.name)
                // A rate that varies is no point of a curve: it has a part of its own.
                .filter(|rung| rung.load.profile().is_none())
                .collect();
            if !rungs.is_empty() {
                ladders.push(ladder(series, workload_index, target_index, &rungs));
            }
        }
    }
    ladders
}

fn ladder(series: &Series, workload_index: usize, target_index: usize, rungs: &[&Measured]) -> Ladder {
    let target = &series.run.targets[target_index];
    let vcpus = target
        .nodes
        .iter()
        .map(|node| series.cores(node))
        .collect::<Option<Vec<_>>>()
        .and_then(|cores| Figure::sum(&cores));
    let usd_per_hour = target.price.as_ref().map(|price| {
        series
            .place("run")
            .figure(
                &["targets", &target_index.to_string(), "price", "micro_usd_per_hour"],
                price.micro_usd_per_hour as f64,
            )
            .over(&Figure::constant(1e6))
    });
    let (void, counted): (Vec<&Measured>, Vec<&Measured>) = rungs.iter().partition(|rung| rung.void.is_some());
    let (soaks, counted): (Vec<&Measured>, Vec<&Measured>) =
        counted.into_iter().partition(|rung| rung.repeat == SOAK_REPEAT);
    let mut by_load: Vec<(&Load, Vec<&Measured>)> = Vec::new();
    for rung in counted {
        match by_load.iter_mut().find(|(load, _)| same_load(load, &rung.load)) {
            Some((_, repeats)) => repeats.push(rung),
            None => by_load.push((&rung.load, vec![rung])),
        }
    }
    by_load.sort_by(|(a, _), (b, _)| load_key(a).partial_cmp(&load_key(b)).expect("loads are finite"));
    let context = Context {
        seed: series.run.seed,
        nodes: &target.nodes,
        tiers: tiers(series, &target.nodes),
        vcpus: vcpus.as_ref(),
        usd_per_hour: usd_per_hour.as_ref(),
    };
    let points: Vec<Point> = by_load
        .iter()
        .map(|(load, repeats)| point(&context, load, repeats))
        .collect();
    let best = (0..points.len()).max_by(|&a, &b| {
        let rate = |at: usize| points[at].tps.middle.value;
        // Of equal rates the lighter load.
        rate(a).total_cmp(&rate(b)).then(b.cmp(&a))
    });
    Ladder {
        workload: series.run.workloads[workload_index].name.clone(),
        target: target.name.clone(),
        target_index,
        workload_index,
        knee: knee(&points),
        slo: series.run.slo.as_ref().map(|slo| at_slo(slo, &points)),
        best,
        points,
        soaks: soaks.iter().map(|rung| point(&context, &rung.load, &[*rung])).collect(),
        voids: void
            .iter()
            .map(|rung| Void {
                rung: rung.index,
                load: rung.load.clone(),
                why: rung.void.clone().unwrap_or_default(),
            })
            .collect(),
        vcpus,
        usd_per_hour,
    }
}

/// The same number of clients, or the same rate asked for.
pub fn same_load(a: &Load, b: &Load) -> bool {
    load_key(a) == load_key(b)
}

/// Closed loops before open ones, light before heavy.
fn load_key(load: &Load) -> (u8, f64) {
    match load {
        Load::Closed { threads_total, .. } => (0, f64::from(*threads_total)),
        Load::Open { rate_per_s, .. } => (1, if rate_per_s.is_finite() { *rate_per_s } else { 0.0 }),
    }
}

/// What all points of a ladder have in common.
struct Context<'a> {
    seed: u64,
    nodes: &'a [String],
    tiers: Vec<(String, Vec<String>)>,
    vcpus: Option<&'a Figure>,
    usd_per_hour: Option<&'a Figure>,
}

/// The nodes that take part in a target's rungs, its own and those that make the load, by what they do: `load`, `sql`, or
/// `load + sql` of a machine that does both.
fn tiers(series: &Series, own: &[String]) -> Vec<(String, Vec<String>)> {
    let mut tiers: Vec<(String, Vec<String>)> = Vec::new();
    for node in &series.run.nodes {
        if !own.contains(&node.name) && !node.roles.iter().any(|role| role == "load") {
            continue;
        }
        let role = node.roles.join(" + ");
        match tiers.iter_mut().find(|(known, _)| *known == role) {
            Some((_, nodes)) => nodes.push(node.name.clone()),
            None => tiers.push((role, vec![node.name.clone()])),
        }
    }
    tiers
}

fn point(context: &Context, load: &Load, repeats: &[&Measured]) -> Point {
    let rate = |field: &str, of: fn(&Measured) -> u64| middle(repeats.iter().map(|rung| rung.rate(field, of(rung))));
    let tps = Estimate::of(repeats.iter().map(|rung| rung.tps()).collect(), context.seed)
        .expect("a point has at least one rung");
    let latencies: Vec<Sourced> = repeats.iter().map(|rung| rung.latency()).collect();
    let server_costs = together("", context.nodes, repeats);
    let per_hour = tps.middle.scaled(3_600.0);
    Point {
        load: load.clone(),
        rungs: repeats.iter().map(|rung| rung.index).collect(),
        qps: rate("queries", |rung| rung.totals.queries),
        rows_per_s: rate("rows", |rung| rung.totals.rows),
        key_lookups_per_s: rate("key_lookups", |rung| rung.totals.key_lookups),
        bytes_sent_per_s: rate("bytes_sent", |rung| rung.totals.bytes_sent),
        bytes_received_per_s: rate("bytes_received", |rung| rung.totals.bytes_received),
        errors_per_s: middle(repeats.iter().map(|rung| errors(rung).over(&rung.interval()))),
        retries_per_s: rate("retries", |rung| rung.totals.retries),
        wasted: middle(repeats.iter().map(|rung| {
            let threads = Figure {
                value: f64::from(rung.load.threads_total()),
                from: rung.place.field(&["load", "threads_total"]),
            };
            rung.total("wasted_us", rung.totals.wasted_us)
                .over(&rung.interval().times(&threads).scaled(1e6))
        })),
        latency_ms: latency(&latencies, context.seed),
        service_p95_ms: service(repeats),
        statements: statements(repeats),
        costs: nodes(repeats),
        tier_costs: context
            .tiers
            .iter()
            .filter_map(|(role, nodes)| together(role, nodes, repeats))
            .collect(),
        tps_per_vcpu: context.vcpus.map(|vcpus| tps.middle.over(vcpus)),
        // Processor microseconds per transaction, turned over.
        tps_per_used_cpu: server_costs
            .as_ref()
            .filter(|costs| costs.cpu_us.value > 0.0)
            .map(|costs| Figure::constant(1e6).over(&costs.cpu_us)),
        transactions_per_usd: context
            .usd_per_hour
            .filter(|usd| usd.value > 0.0)
            .map(|usd| per_hour.over(usd)),
        usd_per_million_transactions: context
            .usd_per_hour
            .filter(|_| per_hour.value > 0.0)
            .map(|usd| usd.over(&per_hour).scaled(1e6)),
        server_costs,
        trends: repeats.iter().filter_map(|rung| trend_of(rung)).collect(),
        verdict: verdict(repeats),
        cost_repeats: repeats
            .iter()
            .filter_map(|rung| together("", context.nodes, &[*rung]))
            .collect(),
        histograms: repeats
            .iter()
            .map(|rung| (rung.latency.clone(), rung.latency_from.clone()))
            .collect(),
        tps,
    }
}

fn middle(figures: impl Iterator<Item = Figure>) -> Figure {
    Figure::median(&figures.collect::<Vec<_>>()).expect("a point has at least one rung")
}

fn errors(rung: &Measured) -> Figure {
    let counts: Vec<Figure> = rung
        .errors
        .iter()
        .enumerate()
        .map(|(at, error)| {
            rung.place
                .figure(&["errors", &at.to_string(), "count"], error.count as f64)
        })
        .collect();
    Figure::sum(&counts).unwrap_or_else(|| Figure::constant(0.0))
}

fn latency(parts: &[Sourced], seed: u64) -> Option<LatencyFigures> {
    let quantile = |quantile| Figure::quantile_ms(quantile, parts);
    Some(LatencyFigures {
        mean: Figure::mean_ms(parts)?,
        p50: quantile(0.5)?,
        p90: quantile(0.9)?,
        p95: Estimate::quantile_ms(0.95, parts, seed)?,
        p99: quantile(0.99)?,
        p999: quantile(0.999)?,
        max: quantile(1.0)?,
    })
}

fn service(repeats: &[&Measured]) -> Option<Figure> {
    let froms: Vec<String> = repeats
        .iter()
        .map(|rung| rung.place.field(&["service_latency"]))
        .collect();
    let parts: Option<Vec<Sourced>> = repeats
        .iter()
        .zip(&froms)
        .map(|(rung, from)| {
            rung.service_latency
                .as_ref()
                .map(|distribution| Sourced { distribution, from })
        })
        .collect();
    Figure::quantile_ms(0.95, &parts?)
}

fn statements(repeats: &[&Measured]) -> BTreeMap<String, StatementFigures> {
    let mut kinds: Vec<&String> = repeats.iter().flat_map(|rung| rung.statements.keys()).collect();
    kinds.sort();
    kinds.dedup();
    let Some(transactions) = transactions(repeats) else {
        return BTreeMap::new();
    };
    let figures = |kind: &String| {
        let having: Vec<_> = repeats
            .iter()
            .filter_map(|rung| rung.statements.get(kind).map(|statement| (rung, statement)))
            .collect();
        let sum = |field: &str, of: fn(&crate::series::Statement) -> u64| {
            let each: Vec<Figure> = having
                .iter()
                .map(|(rung, statement)| rung.place.figure(&["statements", kind, field], of(statement) as f64))
                .collect();
            Figure::sum(&each)
        };
        let count = sum("count", |statement| statement.count)?;
        if count.value == 0.0 {
            return None;
        }
        let bytes = [
            sum("bytes_sent", |statement| statement.bytes_sent)?,
            sum("bytes_received", |statement| statement.bytes_received)?,
        ];
        let parts: Vec<Sourced> = having
            .iter()
            .map(|(_, statement)| Sourced {
                distribution: &statement.latency,
                from: &statement.latency_from,
            })
            .collect();
        Some(StatementFigures {
            per_transaction: count.over(&transactions),
            rows: sum("rows", |statement| statement.rows)?.over(&count),
            bytes: Figure::sum(&bytes)?.over(&count),
            p50_ms: Figure::quantile_ms(0.5, &parts),
            p95_ms: Figure::quantile_ms(0.95, &parts),
            p99_ms: Figure::quantile_ms(0.99, &parts),
        })
    };
    kinds
        .into_iter()
        .filter_map(|kind| figures(kind).map(|figures| (kind.clone(), figures)))
        .collect()
}

/// Of all repeats together; `None` if there were none.
fn transactions(repeats: &[&Measured]) -> Option<Figure> {
    let each: Vec<Figure> = repeats
        .iter()
        .map(|rung| rung.total("transactions", rung.totals.transactions))
        .collect();
    Figure::sum(&each).filter(|sum| sum.value > 0.0)
}

fn nodes(repeats: &[&Measured]) -> Vec<CostFigures> {
    let mut names: Vec<&String> = repeats.iter().flat_map(|rung| rung.costs.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter_map(|name| costs(name, std::slice::from_ref(name), repeats))
        .collect()
}

/// Only if every one of the nodes was watched in every repeat.
fn together(name: &str, nodes: &[String], repeats: &[&Measured]) -> Option<CostFigures> {
    let watched = |rung: &&Measured| nodes.iter().all(|node| rung.costs.contains_key(node));
    (!nodes.is_empty() && repeats.iter().all(watched))
        .then(|| costs(name, nodes, repeats))
        .flatten()
}

/// Per transaction, of these nodes together in all repeats that watched them.
fn costs(name: &str, nodes: &[String], repeats: &[&Measured]) -> Option<CostFigures> {
    let watched: Vec<&Measured> = repeats
        .iter()
        .filter(|rung| nodes.iter().any(|node| rung.costs.contains_key(node)))
        .copied()
        .collect();
    let transactions = transactions(&watched)?;
    let whole = |field: &str, of: &dyn Fn(&NodeCost) -> Option<f64>| -> Option<Figure> {
        let each: Option<Vec<Figure>> = watched
            .iter()
            .flat_map(|rung| {
                nodes.iter().filter_map(move |node| {
                    let cost = rung.costs.get(node)?;
                    Some(of(cost).map(|value| rung.place.figure(&["costs", node, field], value)))
                })
            })
            .collect();
        Figure::sum(&each?)
    };
    let optional = |field: &str, of: &dyn Fn(&NodeCost) -> Option<f64>| Some(whole(field, of)?.over(&transactions));
    let intervals: Vec<Figure> = watched.iter().map(|rung| rung.interval()).collect();
    let sum = |field: &str, of: &dyn Fn(&NodeCost) -> f64| optional(field, &|cost| Some(of(cost)));
    Some(CostFigures {
        node: name.to_owned(),
        cores_busy: whole("cpu_s", &|cost| Some(cost.cpu_s))?.over(&Figure::sum(&intervals)?),
        cpu_us: sum("cpu_s", &|cost| cost.cpu_s)?.scaled(1e6),
        process_cpu_us: optional("process_cpu_s", &|cost| cost.process_cpu_s).map(|figure| figure.scaled(1e6)),
        context_switches: sum("context_switches", &|cost| cost.context_switches as f64)?,
        net_bytes: sum("net_bytes", &|cost| cost.net_bytes as f64)?,
        net_packets: sum("net_packets", &|cost| cost.net_packets as f64)?,
        disk_writes: sum("disk_writes", &|cost| cost.disk_writes as f64)?,
        disk_bytes: sum("disk_bytes_written", &|cost| cost.disk_bytes_written as f64)?,
        disk_flushes: optional("disk_flushes", &|cost| cost.disk_flushes.map(|count| count as f64)),
    })
}

fn trend_of(rung: &Measured) -> Option<TrendFigures> {
    let values: Vec<f64> = rung.seconds.iter().map(|second| second.transactions as f64).collect();
    let trend = trend::trend(&values)?;
    let seconds = rung.place.beside("seconds").field(&["transactions"]);
    Some(TrendFigures {
        rung: rung.index,
        change: Figure {
            value: trend.change,
            from: format!("change({seconds})"),
        },
        per_hour: Figure {
            value: trend.per_hour,
            from: format!("perhour({seconds})"),
        },
        believed: trend.is_believed(),
        steady: trend.is_steady(),
    })
}

/// What most rungs say; of equals, the surer.
fn verdict(repeats: &[&Measured]) -> Option<PointVerdict> {
    let verdicts: Vec<_> = repeats
        .iter()
        .filter_map(|rung| rung.verdict.as_ref().map(|verdict| (rung, verdict)))
        .collect();
    let agreeing = |bottleneck| {
        verdicts
            .iter()
            .filter(|(_, verdict)| verdict.bottleneck == bottleneck)
            .count()
    };
    let (rung, verdict) = verdicts.iter().max_by(|(_, a), (_, b)| {
        agreeing(a.bottleneck)
            .cmp(&agreeing(b.bottleneck))
            .then(a.confidence.total_cmp(&b.confidence))
    })?;
    Some(PointVerdict {
        bottleneck: verdict.bottleneck,
        rung: rung.index,
        confidence: verdict.confidence,
        agreeing: agreeing(verdict.bottleneck),
        of: verdicts.len(),
    })
}

/// Of closed loops only: in an open one the rate is asked for.
fn knee(points: &[Point]) -> Option<Knee> {
    let closed: Vec<usize> = (0..points.len()).filter(|&at| points[at].is_closed()).collect();
    let steps: Vec<Step> = closed
        .iter()
        .filter_map(|&at| {
            Some(Step {
                rate: points[at].tps.middle.value,
                latency: points[at].p95_ms()?.value,
            })
        })
        .collect();
    if steps.len() != closed.len() {
        return None;
    }
    let point = closed[curve::knee(&steps)?];
    let best = closed
        .iter()
        .max_by(|&&a, &&b| points[a].tps.middle.value.total_cmp(&points[b].tps.middle.value))?;
    Some(Knee {
        point,
        share: points[point].tps.middle.over(&points[*best].tps.middle),
    })
}

fn at_slo(slo: &Slo, points: &[Point]) -> AtSlo {
    let latencies: Vec<Option<Figure>> = points
        .iter()
        .map(|point| Figure::quantile_ms(slo.quantile, &point.sourced()))
        .collect();
    let measured: Vec<usize> = (0..points.len()).filter(|&at| latencies[at].is_some()).collect();
    let steps: Vec<Step> = measured
        .iter()
        .map(|&at| Step {
            rate: points[at].tps.middle.value,
            latency: latencies[at].as_ref().map_or(f64::INFINITY, |figure| figure.value),
        })
        .collect();
    let point = curve::within(&steps, slo.latency_ms).map(|step| measured[step]);
    AtSlo {
        point,
        latency_ms: point.and_then(|at| latencies[at].clone()),
        never_broken: !steps.is_empty() && steps.iter().all(|step| step.latency <= slo.latency_ms),
        usd_per_million_transactions: point.and_then(|at| points[at].usd_per_million_transactions.clone()),
    }
}
