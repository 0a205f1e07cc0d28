//! A workload in one table: who reached what, how it stands against the first, what held it back and what it costs.

use crate::figure::Figure;
use crate::page::{Column, Row, Sentence, Table};
use crate::say;
use crate::series::Series;
use crate::stats::Outcome;
use crate::summary::{Contest, Ladder, Point, Summary, service_level_name};

/// One row per target, the best first; columns that have nothing to say are left out.
pub fn table(series: &Series, summary: &Summary, workload: &str, label: &Sentence) -> Option<Table> {
    let mut ladders: Vec<(&Ladder, &Point)> = summary
        .ladders_of(workload)
        .filter_map(|ladder| Some((ladder, ladder.best_point()?)))
        .collect();
    ladders.sort_by(|a, b| b.1.tps.middle.value.total_cmp(&a.1.tps.middle.value));
    if ladders.is_empty() {
        return None;
    }
    let contests: Vec<&Contest> = summary
        .contests
        .iter()
        .filter(|contest| contest.workload == workload)
        .collect();
    let each = |of: &dyn Fn(&Ladder, &Point) -> Sentence| -> Vec<Sentence> {
        ladders.iter().map(|(ladder, point)| of(ladder, point)).collect()
    };
    let figure = |of: &dyn Fn(&Ladder, &Point) -> Option<Figure>| {
        each(&|ladder, point| of(ladder, point).map_or_else(Sentence::new, |figure| Sentence::from(&figure)))
    };
    let at_slo = |ladder: &Ladder| {
        ladder
            .slo
            .as_ref()?
            .point
            .map(|at| ladder.points[at].tps.middle.clone())
    };
    let level = service_level_name(series).map_or(String::new(), |level| level.plain());
    let mut columns = vec![
        (
            Column::text("Target"),
            each(&|ladder, _| say::target_name(series, ladder.target_index)),
        ),
        (
            Column::number("Best rate", "tx/s [95% interval]"),
            each(&|_, point| Sentence::new().estimate(&point.tps)),
        ),
        (
            Column::text(
                &contests
                    .first()
                    .map_or(String::new(), |contest| format!("Against {}", contest.base.target)),
            ),
            each(&|ladder, _| against(&contests, ladder)),
        ),
        (Column::text("at"), each(&|_, point| say::load(series, point))),
        (
            Column::number("p95 there", "ms"),
            figure(&|_, point| point.p95_ms().cloned()),
        ),
        (
            Column::text("Held back by"),
            each(&|_, point| {
                point
                    .verdict
                    .as_ref()
                    .map_or_else(Sentence::new, |verdict| say::bottleneck(verdict.bottleneck).into())
            }),
        ),
        (
            Column::number("p95 flat up to", "share of best"),
            each(&|ladder, _| {
                ladder
                    .knee
                    .as_ref()
                    .map_or_else(Sentence::new, |knee| Sentence::new().percent(&knee.share))
            }),
        ),
        (
            Column::number(&format!("Rate at {level}"), "tx/s"),
            each(&|ladder, _| match (&ladder.slo, at_slo(ladder)) {
                (None, _) => Sentence::new(),
                (Some(_), None) => "not held".into(),
                (Some(_), Some(figure)) => Sentence::from(&figure),
            }),
        ),
        (
            Column::number("Per vCPU", "tx/s"),
            figure(&|_, point| point.tps_per_vcpu.clone()),
        ),
        (
            Column::number("Per busy processor", "tx/s"),
            figure(&|_, point| point.tps_per_used_cpu.clone()),
        ),
        (
            Column::number("Cluster", "$/h"),
            each(&|ladder, _| {
                ladder
                    .usd_per_hour
                    .as_ref()
                    .map_or_else(Sentence::new, |usd| Sentence::new().money(usd))
            }),
        ),
        (
            Column::number("Per million tx", "$, less is better"),
            figure(&|_, point| point.usd_per_million_transactions.clone()),
        ),
    ];
    columns.retain(|(_, cells)| cells.iter().any(|cell| !cell.is_empty()));
    let (columns, cells): (Vec<Column>, Vec<Vec<Sentence>>) = columns.into_iter().unzip();
    let rows = (0..ladders.len())
        .map(|row| {
            let cell = |column: &Vec<Sentence>| {
                if column[row].is_empty() {
                    Sentence::words("–")
                } else {
                    column[row].clone()
                }
            };
            Row::of(cells.iter().map(cell).collect())
        })
        .collect();
    Some(Table {
        caption: label.clone(),
        columns,
        rows,
    })
}

/// `−42.0%`, or that this is not shown.
fn against(contests: &[&Contest], ladder: &Ladder) -> Sentence {
    if contests.is_empty() {
        return Sentence::new();
    }
    let Some(best) = contests
        .iter()
        .find(|contest| contest.other.target == ladder.target)
        .map(|contest| contest.best.as_ref())
    else {
        return "the base".into();
    };
    match best {
        None => Sentence::new(),
        Some(best) => {
            let change = Sentence::new().change(&say::percent(&best.ratio)).and("%");
            match best.outcome {
                Outcome::Higher | Outcome::Lower => change,
                outcome => change.and(", ").and(say::outcome(outcome)),
            }
        }
    }
}
