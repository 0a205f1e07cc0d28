//! The strip that says what held each rung back.

use lab_results::run::Load;
use lab_results::rung::Bottleneck;

use crate::page::{Chart, Sentence};
use crate::say;
use crate::series::Series;
use crate::svg::strips::{VerdictCell, Verdicts};

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
