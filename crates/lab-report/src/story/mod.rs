//! The report of one series as a page: what was found first, then the proof, then everything one needs to doubt it.
//!
//! 1. [`results`]: each workload at a [`glance`]; its [`curves`] over threads and [`rates`], [`verdicts`], the table.
//! 2. [`profiles`]: rates that vary over time, phase by phase. [`availability`]: what the loss of servers did, and whether the data held. [`seconds`]: the best rungs second by second, with their machines. [`heat`]: where their latencies lay.
//! 3. [`why`]: what limited the rate, what one thread's latency is made of, errors. [`costs`]: what an operation costs.
//! 4. [`money`]: cost and price-performance, the [`market`], and what others published.
//! 5. [`machines`]: the [`topology`] and what the probes found.
//! 6. [`setup`]: configuration, what was not run, how the figures were made.

mod availability;
mod cluster;
mod costs;
mod curves;
mod glance;
mod heat;
mod machines;
mod market;
mod money;
mod profiles;
mod rates;
mod results;
mod seconds;
mod setup;
mod topology;
mod verdicts;
mod why;

use crate::figure::Figure;
use crate::page::{Page, Sentence, Tile};
use crate::say;
use crate::series::Series;
use crate::summary::{Ladder, Summary};
use crate::text;

pub use costs::ratios;
pub use market::standing;
pub use results::{contest_note, contest_table};

/// More tiles than this say less: then only the first workload's are shown.
const TILES: usize = 9;

pub fn page(series: &Series, summary: &Summary) -> Page {
    let mut sections = vec![results::findings(series, summary)];
    sections.extend((0..series.run.workloads.len()).filter_map(|index| results::of_workload(series, summary, index)));
    sections.extend(profiles::section(series));
    sections.extend(availability::section(series));
    sections.extend(seconds::section(series, summary));
    sections.extend(heat::section(series, summary));
    sections.extend(why::limits(series, summary));
    sections.extend(costs::section(series, summary));
    sections.extend(why::one_thread(series, summary));
    sections.extend(why::errors(series));
    sections.extend(money::section(series, summary));
    sections.extend(machines::section(series));
    sections.extend(setup::sections(series, summary));
    sections.extend(money::published());
    sections.push(setup::method());
    sections.push(setup::files(summary));
    Page {
        title: Sentence::words("Results of ").verbatim(&series.run.name, series.of_run(&["name"])),
        subtitle: subtitle(series),
        tiles: tiles(series, summary),
        sections,
    }
}

fn subtitle(series: &Series) -> Vec<Sentence> {
    let run = &series.run;
    let time = |field: &str, at| Sentence::new().derived(text::utc(at), format!("utc({})", series.of_run(&[field])));
    let mut when = Sentence::words("Measured from ").join(&time("started", run.started));
    when = match run.ended {
        Some(ended) => {
            let seconds = ended.0.saturating_sub(run.started.0) / 1_000_000;
            when.and(" for ").derived(
                text::duration(seconds),
                format!(
                    "duration({},{})",
                    series.of_run(&["started"]),
                    series.of_run(&["ended"])
                ),
            )
        }
        None => when.and("; the series has not ended"),
    };
    if run.interrupted {
        when = when.and(" · stopped by the user: what was measured until then is here");
    }
    let made = Sentence::words("LatsDB lab ")
        .verbatim(&run.lab_version, series.of_run(&["lab_version"]))
        .and(" · seed ")
        .verbatim(run.seed.to_string(), series.of_run(&["seed"]))
        .and(" · ")
        .figure(&Figure {
            value: series.rungs.len() as f64,
            from: "rungs()".into(),
        })
        .and(if series.rungs.len() == 1 { " rung" } else { " rungs" });
    vec![measured(series), when, made]
}

/// `3 targets, 2 workloads: 3 repeats of 10 s each at 7 loads`.
fn measured(series: &Series) -> Sentence {
    let run = &series.run;
    let counted = |field: &str, count: usize, what: &str| {
        let figure = Figure {
            value: count as f64,
            from: format!("length({})", series.of_run(&[field])),
        };
        Sentence::from(&figure).and(if count == 1 {
            format!(" {what}")
        } else {
            format!(" {what}s")
        })
    };
    let plan = |field: &str, value: f64| series.place("run").figure(&["plan", field], value);
    counted("targets", run.targets.len(), "target")
        .and(", ")
        .join(&counted("workloads", run.workloads.len(), "workload"))
        .and(": each load ")
        .figure(&plan("repeats", f64::from(run.plan.repeats)))
        .and(if run.plan.repeats == 1 {
            " time for "
        } else {
            " times for "
        })
        .figure(&plan("measure_s", run.plan.measure_s))
        .and(" s, after ")
        .figure(&plan("warmup_s", run.plan.warmup_s))
        .and(" s of warm-up")
}

fn tiles(series: &Series, summary: &Summary) -> Vec<Tile> {
    let mut ladders: Vec<&Ladder> = summary.ladders.iter().collect();
    if ladders.len() > TILES {
        ladders.retain(|ladder| ladder.workload_index == 0);
        ladders.truncate(TILES);
    }
    ladders
        .into_iter()
        .filter_map(|ladder| {
            let point = ladder.best_point()?;
            let mut load = Sentence::words("highest median, at ").join(&say::load(series, point));
            if let (Some(low), Some(high)) = (&point.tps.low, &point.tps.high) {
                load = load
                    .and("; ")
                    .fixed("95%")
                    .and(" interval ")
                    .figure(low)
                    .and("–")
                    .figure(high);
            }
            let mut notes = vec![load];
            if let Some(p95) = point.p95_ms() {
                let mut latency = Sentence::words("p95 ").figure(p95).and(" ms");
                if let Some(verdict) = &point.verdict {
                    latency = latency.and(" · limit: ").and(say::bottleneck(verdict.bottleneck));
                }
                notes.push(latency);
            }
            if let Some(usd) = &point.usd_per_million_transactions {
                notes.push(Sentence::words("$").figure(usd).and(" per million transactions"));
            }
            Some(Tile {
                title: say::target_name(series, ladder.target_index)
                    .and(" · ")
                    .join(&say::workload_name(series, ladder.workload_index)),
                figure: Sentence::from(&point.tps.middle).and(" tx/s"),
                notes,
                colour: Some(ladder.target_index),
            })
        })
        .collect()
}
