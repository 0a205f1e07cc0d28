//! Why the figures are what they are: limits with evidence, one thread's latency, errors.

use crate::figure::Figure;
use crate::page::{Block, Chart, Column, Row, Section, Sentence, Table};
use crate::say;
use crate::series::{Measured, Series};
use crate::summary::{Ladder, Summary};
use crate::svg::bars::Stack;

pub fn limits(series: &Series, summary: &Summary) -> Option<Section> {
    let mut rows = Vec::new();
    for ladder in &summary.ladders {
        let mut first = true;
        for point in &ladder.points {
            let Some(verdict) = &point.verdict else { continue };
            let place = series.place(&format!("r{}", verdict.rung));
            let rung = series.rungs.iter().find(|rung| rung.index == verdict.rung);
            let Some(found) = rung.and_then(|rung| rung.verdict.as_ref()) else {
                continue;
            };
            let mut evidence = Sentence::new();
            for (at, sentence) in found.evidence.iter().enumerate() {
                if at > 0 {
                    evidence = evidence.and(" · ");
                }
                evidence = evidence.verbatim(sentence, place.field(&["verdict", "evidence", &at.to_string()]));
            }
            let node = found.node.as_ref().map_or_else(Sentence::new, |node| {
                Sentence::new().verbatim(node, place.field(&["verdict", "node"]))
            });
            let confidence = place.figure(&["verdict", "confidence"], found.confidence);
            let rungs: Vec<String> = point.rungs.iter().map(|rung| format!("r{rung}")).collect();
            let rungs = rungs.join(",");
            let agreeing = Figure {
                value: verdict.agreeing as f64,
                from: format!("votes({},{rungs})", say::bottleneck_field(found.bottleneck)),
            };
            let judged = Figure {
                value: verdict.of as f64,
                from: format!("judged({rungs})"),
            };
            rows.push(Row {
                group: first,
                faint: false,
                cells: vec![
                    say::workload_name(series, ladder.workload_index),
                    say::target_name(series, ladder.target_index),
                    say::load(series, point),
                    say::bottleneck(found.bottleneck).into(),
                    node,
                    Sentence::new().percent(&confidence),
                    Sentence::from(&agreeing).and(" of ").figure(&judged),
                    evidence,
                ],
            });
            first = false;
        }
    }
    (!rows.is_empty()).then(|| Section {
        id: "limits".into(),
        title: "What limited the rate".into(),
        blocks: vec![Block::Folded {
            title: "Verdict of every load, with its evidence".into(),
            blocks: vec![Block::Table(Table {
                caption: Sentence::new(),
                columns: vec![
                    Column::text("Workload"),
                    Column::text("Target"),
                    Column::text("Load"),
                    Column::text("Limit"),
                    Column::text("On"),
                    Column::number("Sure", ""),
                    Column::number("Repeats agreeing", ""),
                    Column::long("Evidence"),
                ],
                rows,
            })],
        }],
    })
}

/// Measured latency of the lightest rungs against what the probes add up to.
pub fn one_thread(series: &Series, summary: &Summary) -> Option<Section> {
    let explained = summary.ladders.iter().filter_map(|ladder| {
        let rung = series.rungs.iter().find(|rung| {
            rung.target == ladder.target
                && rung.workload == ladder.workload
                && rung.void.is_none()
                && rung
                    .explanation
                    .as_ref()
                    .is_some_and(|explanation| !explanation.parts.is_empty())
        })?;
        explanation(series, ladder, rung)
    });
    let (charts, tables): (Vec<Chart>, Vec<Block>) = explained.unzip();
    if charts.is_empty() {
        return None;
    }
    Some(Section {
        id: "one-thread".into(),
        title: "What one thread's latency is made of".into(),
        blocks: vec![
            Block::Note("At one thread nothing queues: the latency of a transaction is the sum of its messages, wake-ups and work. The probes say what each of these takes on these machines; what they do not explain is shown as such.".into()),
            Block::Charts(charts),
            Block::Folded { title: "The sums".into(), blocks: tables },
        ],
    })
}

fn explanation(series: &Series, ladder: &Ladder, rung: &Measured) -> Option<(Chart, Block)> {
    let explanation = rung.explanation.as_ref()?;
    let measured = Figure::mean_ms(&[rung.latency()])?.scaled(1_000.0);
    let mut parts = Vec::new();
    let mut rows = Vec::new();
    for (at, part) in explanation.parts.iter().enumerate() {
        let field = |name: &str| {
            [
                "explanation".to_owned(),
                "parts".to_owned(),
                at.to_string(),
                name.to_owned(),
            ]
        };
        let figure = |name: &str, value: f64| {
            let path = field(name);
            rung.place.figure(&path.each_ref().map(String::as_str), value)
        };
        let text = |name: &str, text: &str| {
            let path = field(name);
            Sentence::new().verbatim(text, rung.place.field(&path.each_ref().map(String::as_str)))
        };
        let (count, each) = (
            figure("per_transaction", part.per_transaction),
            figure("each_us", part.each_us),
        );
        let total = count.times(&each);
        rows.push(Row::of(vec![
            text("what", &part.what),
            Sentence::from(&count),
            Sentence::from(&each),
            Sentence::from(&total),
            text("source", &part.source),
        ]));
        parts.push((part.what.clone(), at, total));
    }
    let totals: Vec<Figure> = parts.iter().map(|(_, _, total)| total.clone()).collect();
    let sum = Figure::sum(&totals)?;
    let rest = measured.minus(&sum);
    let row = |name: &str, figure: &Figure| Row {
        group: true,
        faint: false,
        cells: vec![
            name.into(),
            Sentence::new(),
            Sentence::new(),
            Sentence::from(figure),
            Sentence::new(),
        ],
    };
    rows.push(row("explained", &sum));
    rows.push(row("measured mean", &measured));
    rows.push(row("not explained", &rest));
    let label = say::target_name(series, ladder.target_index)
        .and(", ")
        .join(&say::load_of(series, &rung.load, rung.index))
        .and(", ")
        .join(&say::workload(series, ladder.workload_index));
    if rest.value > 0.0 {
        parts.push(("not explained".into(), 6, rest.clone()));
    }
    let stack = Stack {
        kind: "one-thread",
        name: format!(
            "What one thread's latency is made of: {} {}",
            ladder.target, ladder.workload
        ),
        axis: "µs per transaction".into(),
        rows: vec![
            ("by the probes".into(), parts),
            ("measured mean".into(), vec![("measured".into(), 6, measured)]),
        ],
    };
    let chart = Chart {
        kind: "one-thread",
        title: say::target_name(series, ladder.target_index)
            .and(" · ")
            .join(&say::workload_name(series, ladder.workload_index)),
        svg: stack.draw(),
        note: label.clone(),
        wide: false,
    };
    let table = Table {
        caption: label,
        columns: vec![
            Column::text("Part"),
            Column::number("Per transaction", ""),
            Column::number("Each", "µs"),
            Column::number("Together", "µs"),
            Column::long("By"),
        ],
        rows,
    };
    Some((chart, Block::Table(table)))
}

/// By code, statement, target and workload, over all rungs.
pub fn errors(series: &Series) -> Option<Section> {
    let mut groups: Vec<(&Measured, usize, Vec<Figure>, Vec<u32>)> = Vec::new();
    for rung in &series.rungs {
        for (at, error) in rung.errors.iter().enumerate() {
            let count = rung
                .place
                .figure(&["errors", &at.to_string(), "count"], error.count as f64);
            let known = groups.iter_mut().find(|(first, first_at, ..)| {
                let other = &first.errors[*first_at];
                first.target == rung.target
                    && first.workload == rung.workload
                    && (other.code, &other.statement) == (error.code, &error.statement)
            });
            match known {
                Some((_, _, counts, rungs)) => {
                    counts.push(count);
                    rungs.push(rung.index);
                }
                None => groups.push((rung, at, vec![count], vec![rung.index])),
            }
        }
    }
    groups.sort_by_key(|(rung, at, ..)| (rung.workload.clone(), rung.target.clone(), rung.errors[*at].code));
    let rows: Vec<Row> = groups
        .iter()
        .map(|(rung, at, counts, rungs)| {
            let error = &rung.errors[*at];
            let of = |field: &str| rung.place.field(&["errors", &at.to_string(), field]);
            let target = series.target_index(&rung.target);
            let workload = series
                .run
                .workloads
                .iter()
                .position(|workload| workload.name == rung.workload);
            Row::of(vec![
                workload.map_or_else(Sentence::new, |index| say::workload_name(series, index)),
                target.map_or_else(Sentence::new, |index| say::target_name(series, index)),
                Sentence::new().verbatim(error.code.to_string(), of("code")),
                Sentence::new().verbatim(&error.sqlstate, of("sqlstate")),
                Sentence::new().verbatim(&error.statement, of("statement")),
                Sentence::from(&Figure::sum(counts)),
                Sentence::new().figure(&Figure {
                    value: rungs.len() as f64,
                    from: format!(
                        "repeats({})",
                        rungs
                            .iter()
                            .map(|rung| format!("r{rung}"))
                            .collect::<Vec<_>>()
                            .join(",")
                    ),
                }),
                Sentence::new().verbatim(&error.message, of("message")),
            ])
        })
        .collect();
    let blocks = if rows.is_empty() {
        vec![Block::Text("No rung saw an error.".into())]
    } else {
        vec![Block::Table(Table {
            caption: Sentence::new(),
            columns: vec![
                Column::text("Workload"),
                Column::text("Target"),
                Column::text("Code"),
                Column::text("SQLSTATE"),
                Column::text("Statement"),
                Column::number("Count", "all rungs"),
                Column::number("Rungs", ""),
                Column::long("First message"),
            ],
            rows,
        })]
    };
    Some(Section {
        id: "errors".into(),
        title: "Errors by code".into(),
        blocks,
    })
}
