//! Price against what one gets for it: which targets no other beats in both, and which are beaten by whom.

use crate::page::{Block, Chart, Column, Row, Sentence, Table};
use crate::say;
use crate::series::Series;
use crate::stats::Outcome;
use crate::summary::{Domination, Market, Offer, service_level_name};
use crate::svg::plot::{Axis, Line, Mark, Plot};
use crate::svg::scale::Scale;
use crate::text::number;

pub fn blocks(series: &Series, market: &Market, label: &Sentence) -> Vec<Block> {
    let mut charts = vec![price_and_rate(market, label)];
    charts.extend(price_and_latency(series, market, label));
    vec![
        Block::Charts(charts),
        Block::Table(table(series, market, label)),
        Block::Note(
            "Dominated: another target costs no more and gives at least as much. The others are the front, and which of them to take depends on how much is needed. Rates are medians; whether the repeats show the lead is said beside it."
                .into(),
        ),
    ]
}

fn price_and_rate(market: &Market, label: &Sentence) -> Chart {
    let lines = market.offers.iter().map(|offer| {
        let mark = Mark {
            x: offer.usd_per_hour.value,
            x_from: Some(offer.usd_per_hour.from.clone()),
            tip: format!(
                "{}: {} transactions/s for ${} an hour",
                offer.target,
                number(offer.tps.value),
                number(offer.usd_per_hour.value)
            ),
            ..Mark::at(offer.tps.clone())
        };
        line(offer, mark, !offer.dominated_by.is_empty())
    });
    scatter(
        "pareto-rate",
        &format!("Price against throughput: {}", label.plain()),
        ("$ per hour of the whole cluster", "transactions/s, best rate"),
        lines.collect(),
        market
            .offers
            .iter()
            .map(|offer| offer.dominated_by.is_empty())
            .collect(),
        (
            "Price against throughput",
            "Left and high is good; the grey line joins those that no other beats in both, pale ones are beaten. ",
        ),
        label,
    )
}

fn price_and_latency(series: &Series, market: &Market, label: &Sentence) -> Option<Chart> {
    let level = service_level_name(series)?;
    let held: Vec<_> = market
        .offers
        .iter()
        .filter_map(|offer| Some((offer, offer.at_slo.as_ref()?)))
        .collect();
    if held.len() < 2 {
        return None;
    }
    let lines = held.iter().map(|(offer, slo)| {
        let mark = Mark {
            x: slo.usd_per_million_transactions.value,
            x_from: Some(slo.usd_per_million_transactions.from.clone()),
            tip: format!(
                "{}: {} ms at ${} per million transactions",
                offer.target,
                number(slo.latency_ms.value),
                number(slo.usd_per_million_transactions.value)
            ),
            ..Mark::at(slo.latency_ms.clone())
        };
        line(offer, mark, !slo.dominated_by.is_empty())
    });
    let mut chart = scatter(
        "pareto-latency",
        &format!("Price against latency at the service level: {}", label.plain()),
        ("$ per million transactions at the service level", "latency there, ms"),
        lines.collect(),
        held.iter().map(|(_, slo)| slo.dominated_by.is_empty()).collect(),
        ("Price against latency at the service level", ""),
        label,
    );
    chart.note = Sentence::words("At the highest rate that holds ")
        .join(&level)
        .and(". Left and low is good; pale ones are beaten in both. ")
        .join(label);
    Some(chart)
}

fn line(offer: &Offer, mark: Mark, dominated: bool) -> Line {
    Line {
        name: offer.target.clone(),
        faint: dominated,
        colour: offer.target_index,
        marks: vec![mark],
        annotated: false,
    }
}

fn scatter(
    kind: &'static str,
    name: &str,
    (x, y): (&str, &str),
    lines: Vec<Line>,
    on_front: Vec<bool>,
    (title, note): (&str, &str),
    label: &Sentence,
) -> Chart {
    let marks = || lines.iter().flat_map(|line| &line.marks);
    let highest = |of: fn(&Mark) -> f64| marks().map(of).fold(0.0, f64::max);
    let mut front: Vec<(f64, f64)> = marks()
        .zip(on_front)
        .filter(|(_, on_front)| *on_front)
        .map(|(mark, _)| (mark.x, mark.y.value))
        .collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let axis = |title: &str, highest: f64| Axis {
        title: title.to_owned(),
        scale: Scale::from_zero(highest),
        ticks: None,
    };
    let plot = Plot {
        kind,
        name: name.to_owned(),
        x: axis(x, highest(|mark| mark.x)),
        y: axis(y, highest(|mark| mark.y.value)),
        lines,
        front,
        limits: Vec::new(),
    };
    Chart {
        kind,
        title: title.into(),
        svg: plot.draw(),
        note: Sentence::words(note).join(label),
        wide: false,
    }
}

fn table(series: &Series, market: &Market, label: &Sentence) -> Table {
    let rows = market
        .offers
        .iter()
        .map(|offer| {
            let slo = offer.at_slo.as_ref();
            Row::of(vec![
                say::target_name(series, offer.target_index),
                Sentence::new().money(&offer.usd_per_hour),
                Sentence::from(&offer.tps),
                standing(series, &offer.dominated_by),
                Sentence::from(&slo.map(|slo| slo.usd_per_million_transactions.clone())),
                Sentence::from(&slo.map(|slo| slo.latency_ms.clone())),
                slo.map_or_else(|| "not held".into(), |slo| standing(series, &slo.dominated_by)),
            ])
        })
        .collect();
    Table {
        caption: Sentence::words("Who beats whom: ").join(label),
        columns: vec![
            Column::text("Target"),
            Column::number("Cluster", "$/h"),
            Column::number("Best rate", "tx/s"),
            Column::long("By price and rate"),
            Column::number("At the service level", "$ per million tx"),
            Column::number("Latency there", "ms"),
            Column::long("By these two"),
        ],
        rows,
    }
}

/// `on the front`, or who dominates it.
pub fn standing(series: &Series, by: &[Domination]) -> Sentence {
    if by.is_empty() {
        return "on the front".into();
    }
    let mut sentence = Sentence::words("dominated by ");
    for (at, domination) in by.iter().enumerate() {
        if at > 0 {
            sentence = sentence.and(", ");
        }
        sentence = sentence.join(&say::target_name(series, domination.by_index));
        sentence = match domination.rate {
            None | Some(Outcome::Higher) => sentence,
            Some(Outcome::Untested) => sentence.and(" (too few repeats to tell)"),
            Some(_) => sentence.and(" (a higher rate is not shown)"),
        };
    }
    sentence
}
