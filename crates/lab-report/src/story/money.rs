//! What the rate costs, in both directions, dated; and what others published about theirs.

use super::market;
use crate::figure::{Figure, Place};
use crate::page::{Block, Chart, Column, Row, Section, Sentence, Table};
use crate::price::{Published, STALE_DAYS, days_between};
use crate::say;
use crate::series::Series;
use crate::summary::{Ladder, Point, Summary};
use crate::svg::bars::{Bar, Bars};
use crate::text;

pub fn section(series: &Series, summary: &Summary) -> Option<Section> {
    if series.run.targets.iter().all(|target| target.price.is_none()) {
        return None;
    }
    let mut blocks = vec![Block::Note(
        "Two figures in opposite directions: transactions per dollar (more is better) and dollars per million transactions (less is better). Both are of the whole cluster by the hour, at the prices and dates below.".into(),
    )];
    for index in 0..series.run.workloads.len() {
        let ladders: Vec<&Ladder> = summary
            .ladders_of(&series.run.workloads[index].name)
            .filter(|ladder| ladder.usd_per_hour.is_some() && ladder.best.is_some())
            .collect();
        if ladders.is_empty() {
            continue;
        }
        let label = say::workload(series, index);
        blocks.push(Block::Charts(charts(&ladders, &label)));
        blocks.push(Block::Table(table(series, &ladders, &label)));
        if let Some(found) = summary.markets.iter().find(|market| market.workload_index == index) {
            blocks.extend(market::blocks(series, found, &label));
        }
    }
    blocks.push(Block::Table(lines(series)));
    for index in 0..series.run.targets.len() {
        if let Some(price) = &series.run.targets[index].price
            && !price.lines.iter().any(|line| line.what.contains(" transfer, "))
        {
            blocks
                .push(Block::Note(say::target_name(series, index).and(
                    ": no transfer is in this cost; traffic that leaves a zone costs extra.",
                )));
        }
    }
    let unpriced: Vec<usize> = (0..series.run.targets.len())
        .filter(|&index| series.run.targets[index].price.is_none())
        .collect();
    for index in unpriced {
        blocks.push(Block::Note(
            say::target_name(series, index).and(" has no price: the plan gives none."),
        ));
    }
    Some(Section {
        id: "price".into(),
        title: "What it costs".into(),
        blocks,
    })
}

fn charts(ladders: &[&Ladder], label: &Sentence) -> Vec<Chart> {
    let bars = |of: &dyn Fn(&Point) -> Option<Figure>, money: bool| -> Vec<Bar> {
        let mut bars = Vec::new();
        for ladder in ladders {
            let mut push = |point: &Point, under: String| {
                if let Some(value) = of(point) {
                    let shown = if money {
                        Sentence::words("$").figure(&value)
                    } else {
                        Sentence::from(&value)
                    };
                    bars.push(Bar {
                        label: ladder.target.clone(),
                        under,
                        colour: ladder.target_index,
                        low: None,
                        high: None,
                        shown,
                        value,
                        elsewhere: false,
                    });
                }
            };
            if let Some(point) = ladder.best_point() {
                push(point, format!("best: {} threads", point.load.threads_total()));
            }
            if let Some(at) = ladder.slo.as_ref().and_then(|slo| slo.point)
                && Some(at) != ladder.best
            {
                let point = &ladder.points[at];
                push(
                    point,
                    format!("at service level: {} threads", point.load.threads_total()),
                );
            }
        }
        bars
    };
    [
        (
            "per-dollar",
            "Transactions per dollar",
            "transactions per $: longer is better",
            false,
        ),
        (
            "per-million",
            "Dollars per million transactions",
            "$ per million transactions: shorter is better",
            true,
        ),
    ]
    .map(|(kind, title, axis, money)| {
        let of = |point: &Point| {
            if money {
                point.usd_per_million_transactions.clone()
            } else {
                point.transactions_per_usd.clone()
            }
        };
        Chart {
            kind,
            title: title.into(),
            svg: Bars {
                kind,
                name: format!("{title}: {}", label.plain()),
                axis: axis.into(),
                bars: bars(&of, money),
            }
            .draw(),
            note: label.clone(),
            wide: false,
        }
    })
    .into()
}

fn table(series: &Series, ladders: &[&Ladder], label: &Sentence) -> Table {
    let base = ladders
        .first()
        .and_then(|ladder| ladder.best_point())
        .and_then(|point| point.transactions_per_usd.clone());
    let rows = ladders
        .iter()
        .map(|ladder| {
            let best = ladder.best_point();
            let at_slo = ladder
                .slo
                .as_ref()
                .and_then(|slo| slo.point)
                .map(|at| &ladder.points[at]);
            let of = |point: Option<&Point>, of: &dyn Fn(&Point) -> Option<Figure>| Sentence::from(&point.and_then(of));
            let gain = best
                .and_then(|point| point.transactions_per_usd.as_ref())
                .zip(base.as_ref())
                .filter(|(own, base)| own.from != base.from)
                .map_or_else(Sentence::new, |(own, base)| {
                    Sentence::new().change(&say::percent(&own.over(base))).and("%")
                });
            Row::of(vec![
                say::target_name(series, ladder.target_index),
                ladder
                    .usd_per_hour
                    .as_ref()
                    .map_or_else(Sentence::new, |usd| Sentence::new().money(usd)),
                Sentence::from(&best.map(|point| point.tps.middle.clone())),
                of(best, &|point| point.transactions_per_usd.clone()),
                of(best, &|point| point.usd_per_million_transactions.clone()),
                gain,
                Sentence::from(&at_slo.map(|point| point.tps.middle.clone())),
                of(at_slo, &|point| point.transactions_per_usd.clone()),
                of(at_slo, &|point| point.usd_per_million_transactions.clone()),
                of(best, &|point| point.tps_per_vcpu.clone()),
            ])
        })
        .collect();
    Table {
        caption: label.clone(),
        columns: vec![
            Column::text("Target"),
            Column::number("Cluster", "$/h"),
            Column::number("Best rate", "tx/s"),
            Column::number("Per dollar", "tx, more is better"),
            Column::number("Per million tx", "$, less is better"),
            Column::number("Per dollar against first", "change"),
            Column::number("Rate at service level", "tx/s"),
            Column::number("Per dollar there", "tx, more is better"),
            Column::number("Per million tx there", "$, less is better"),
            Column::number("Per vCPU", "tx/s"),
        ],
        rows,
    }
}

fn lines(series: &Series) -> Table {
    let day = text::date(series.run.started);
    let mut rows = Vec::new();
    for (target_index, target) in series.run.targets.iter().enumerate() {
        let Some(price) = &target.price else { continue };
        for (at, line) in price.lines.iter().enumerate() {
            let path = |field: &str| {
                series.of_run(&[
                    "targets",
                    &target_index.to_string(),
                    "price",
                    "lines",
                    &at.to_string(),
                    field,
                ])
            };
            let usd = Figure {
                value: line.micro_usd_per_hour as f64,
                from: path("micro_usd_per_hour"),
            }
            .over(&Figure::constant(1e6));
            let count = Figure {
                value: f64::from(line.count),
                from: path("count"),
            };
            let age = days_between(&line.dated, &day);
            let age = match age {
                Some(days) => {
                    let figure = Figure {
                        value: days as f64,
                        from: format!("days({},{})", path("dated"), series.of_run(&["started"])),
                    };
                    let words = Sentence::from(&figure);
                    if days > STALE_DAYS { words.and(" STALE") } else { words }
                }
                None => "undated".into(),
            };
            rows.push(Row {
                group: at == 0,
                faint: false,
                cells: vec![
                    say::target_name(series, target_index),
                    Sentence::new().verbatim(&line.what, path("what")),
                    Sentence::from(&count),
                    Sentence::new().money(&usd),
                    Sentence::new().money(&count.times(&usd)),
                    Sentence::new()
                        .verbatim(&line.provider, path("provider"))
                        .and(" ")
                        .verbatim(&line.region, path("region")),
                    Sentence::new().verbatim(&line.terms, path("terms")),
                    Sentence::new().verbatim(&line.dated, path("dated")),
                    age,
                    Sentence::new().verbatim(&line.source, path("source")),
                ],
            });
        }
    }
    Table {
        caption: Sentence::words("Prices; older than ")
            .fixed(STALE_DAYS.to_string())
            .and(" days on the day of the series is stale"),
        columns: vec![
            Column::text("Target"),
            Column::text("What"),
            Column::number("Count", ""),
            Column::number("Each", "$/h"),
            Column::number("Together", "$/h"),
            Column::text("Provider, region"),
            Column::text("Terms"),
            Column::text("Dated"),
            Column::number("Age", "days"),
            Column::long("Source"),
        ],
        rows,
    }
}

/// What others said of other systems: hatched, last, and never in a table with ours.
pub fn published() -> Option<Section> {
    let published = Published::shipped();
    if published.figures.is_empty() {
        return None;
    }
    let place = Place::new("published");
    let of = |at: usize, field: &str| place.field(&["figure", &at.to_string(), field]);
    let mut units: Vec<&str> = published.figures.iter().map(|figure| figure.unit.as_str()).collect();
    units.sort_unstable();
    units.dedup();
    let charts = units
        .iter()
        .filter(|unit| published.figures.iter().filter(|figure| figure.unit == **unit).count() > 1)
        .map(|unit| {
            let bars = published
                .figures
                .iter()
                .enumerate()
                .filter(|(_, figure)| figure.unit == *unit)
                .map(|(at, figure)| {
                    let value = Figure {
                        value: figure.value,
                        from: of(at, "value"),
                    };
                    Bar {
                        label: figure.label.clone(),
                        under: figure.workload.clone(),
                        colour: 6,
                        low: None,
                        high: None,
                        shown: Sentence::from(&value),
                        value,
                        elsewhere: true,
                    }
                })
                .collect();
            Chart {
                kind: "published",
                title: "Published elsewhere".into(),
                svg: Bars {
                    kind: "published",
                    name: format!("Published elsewhere, {unit}"),
                    axis: format!("{unit}, as published: not measured here"),
                    bars,
                }
                .draw(),
                note: "Hatched: not measured by this series.".into(),
                wide: false,
            }
        })
        .collect();
    let rows = published
        .figures
        .iter()
        .enumerate()
        .map(|(at, figure)| {
            let verbatim = |field: &str, text: &str| Sentence::new().verbatim(text, of(at, field));
            Row::of(vec![
                verbatim("label", &figure.label),
                verbatim("workload", &figure.workload),
                Sentence::from(&Figure {
                    value: figure.value,
                    from: of(at, "value"),
                }),
                Sentence::words(&figure.unit).and(format!(" ({} is better)", figure.better)),
                verbatim("source", &figure.source),
                verbatim("caution", &figure.caution),
            ])
        })
        .collect();
    Some(Section {
        id: "published".into(),
        title: "Published elsewhere".into(),
        blocks: vec![
            Block::Text("Figures that others published about other systems, machines and workloads, as they stand in their texts. They were not measured by this lab and do not compare with the tables above unless machine and workload are the same.".into()),
            Block::Folded {
                title: "Show them".into(),
                blocks: vec![
                    Block::Charts(charts),
                    Block::Table(Table {
                        caption: Sentence::new(),
                        columns: vec![
                            Column::long("What"),
                            Column::long("Workload"),
                            Column::number("Value", ""),
                            Column::text("Unit"),
                            Column::long("Source"),
                            Column::long("Caution"),
                        ],
                        rows,
                    }),
                ],
            },
        ],
    })
}
