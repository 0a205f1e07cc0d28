//! What was set up, what was not run, and how the figures were made: all that a doubter asks for.

use std::collections::BTreeSet;

use super::cluster;
use crate::figure::Figure;
use crate::page::{Block, Column, Row, Section, Sentence, Table};
use crate::price::STALE_DAYS;
use crate::say;
use crate::series::Series;
use crate::stats::{RESAMPLES, trend};
use crate::summary::Summary;
use crate::text;

pub fn sections(series: &Series, summary: &Summary) -> Vec<Section> {
    let mut sections = vec![configuration(series)];
    sections.push(not_run(series, summary));
    sections
}

fn configuration(series: &Series) -> Section {
    let mut blocks = vec![Block::Table(targets(series))];
    blocks.extend(cluster::nodes(series).map(Block::Table));
    blocks.extend(variables(series).map(Block::Table));
    blocks.push(Block::Table(options(series)));
    blocks.extend(idle(series).map(Block::Table));
    blocks.push(Block::Table(plan(series)));
    blocks.extend(facts(series).map(Block::Table));
    Section {
        id: "configuration".into(),
        title: "Configuration and versions".into(),
        blocks,
    }
}

fn targets(series: &Series) -> Table {
    let rows = series
        .run
        .targets
        .iter()
        .enumerate()
        .map(|(index, target)| {
            let at = index.to_string();
            let list = |field: &[&str], texts: &[String]| {
                let mut unique: Vec<(usize, &String)> = Vec::new();
                for (number, text) in texts.iter().enumerate() {
                    if !unique.iter().any(|(_, known)| *known == text) {
                        unique.push((number, text));
                    }
                }
                let mut sentence = Sentence::new();
                for (place, (number, text)) in unique.iter().enumerate() {
                    if place > 0 {
                        sentence = sentence.and(", ");
                    }
                    let number = number.to_string();
                    let path = [&["targets", at.as_str()], field, &[number.as_str()]].concat();
                    sentence = sentence.verbatim(text.as_str(), series.of_run(&path));
                }
                sentence
            };
            let connections = match &target.tls {
                Some(tls) if tls.mode != "disabled" => Sentence::new()
                    .verbatim(&tls.mode, series.of_run(&["targets", &at, "tls", "mode"]))
                    .and(": ")
                    .join(&list(&["tls", "used"], &tls.used)),
                _ => Sentence::words("plain"),
            };
            Row::of(vec![
                say::target_name(series, index),
                list(&["versions"], &target.versions),
                list(&["servers"], &target.servers).join(&reopened(series, index)),
                connections,
                list(&["nodes"], &target.nodes),
                placement(series, index),
            ])
        })
        .collect();
    Table {
        caption: "Targets".into(),
        columns: vec![
            Column::text("Target"),
            Column::long("Version"),
            Column::long("Servers"),
            Column::long("Connections"),
            Column::long("On nodes"),
            Column::long("Load from"),
        ],
        rows,
    }
}

/// That connections followed a name.
fn reopened(series: &Series, target: usize) -> Sentence {
    let Some(after) = series.run.targets[target].reopen_after_s else {
        return Sentence::new();
    };
    let after = Figure {
        value: after,
        from: series.of_run(&["targets", &target.to_string(), "reopen_after_s"]),
    };
    Sentence::words(" (connections opened anew every ")
        .figure(&after)
        .and(" s)")
}

/// Where the load comes from, and whether that is a machine of the target: which is what tiers count.
fn placement(series: &Series, target: usize) -> Sentence {
    let own = &series.run.targets[target].nodes;
    let load: Vec<(usize, &str)> = series
        .run
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.roles.iter().any(|role| role == "load"))
        .map(|(at, node)| (at, node.name.as_str()))
        .collect();
    if load.is_empty() {
        return Sentence::words("–");
    }
    let mut sentence = Sentence::new();
    for (place, (at, name)) in load.iter().enumerate() {
        if place > 0 {
            sentence = sentence.and(", ");
        }
        sentence = sentence.verbatim(*name, series.of_run(&["nodes", &at.to_string(), "name"]));
    }
    if own.is_empty() {
        return sentence;
    }
    let shared = load
        .iter()
        .filter(|(_, name)| own.iter().any(|node| node == name))
        .count();
    let sentence = sentence.and(": ");
    match shared {
        0 => sentence.fixed("3-tier").and(", load on machines of its own"),
        all if all == load.len() => sentence.fixed("2-tier").and(", load on the servers' machines"),
        _ => sentence
            .and("some of it on the servers' machines (")
            .fixed("2-tier")
            .and("), some not"),
    }
}

/// A row per server variable; one that differs between targets is not faint.
fn variables(series: &Series) -> Option<Table> {
    let names: BTreeSet<&String> = series
        .run
        .targets
        .iter()
        .flat_map(|target| target.variables.keys())
        .collect();
    if names.is_empty() {
        return None;
    }
    let mut columns = vec![Column::text("Server variable")];
    columns.extend(series.run.targets.iter().map(|target| Column::text(&target.name)));
    let rows = names
        .into_iter()
        .map(|name| {
            let mut cells = vec![Sentence::new().verbatim(name, first_place(series, name))];
            cells.extend(series.run.targets.iter().enumerate().map(|(index, target)| {
                target.variables.get(name).map_or_else(
                    || Sentence::words("–"),
                    |value| {
                        Sentence::new().verbatim(
                            value,
                            series.of_run(&["targets", &index.to_string(), "variables", name]),
                        )
                    },
                )
            }));
            let values: BTreeSet<Option<&String>> = series
                .run
                .targets
                .iter()
                .map(|target| target.variables.get(name))
                .collect();
            Row {
                cells,
                faint: values.len() == 1 && series.run.targets.len() > 1,
                group: false,
            }
        })
        .collect();
    Some(Table {
        caption: "Server variables that decide what the figures mean (faint: equal everywhere)".into(),
        columns,
        rows,
    })
}

fn first_place(series: &Series, name: &str) -> String {
    let index = series
        .run
        .targets
        .iter()
        .position(|target| target.variables.contains_key(name))
        .unwrap_or(0);
    series.of_run(&["targets", &index.to_string(), "variables"])
}

fn options(series: &Series) -> Table {
    let names: BTreeSet<&String> = series
        .run
        .workloads
        .iter()
        .flat_map(|workload| workload.options.keys())
        .collect();
    let mut columns = vec![Column::text("Workload option")];
    columns.extend(series.run.workloads.iter().map(|workload| Column::text(&workload.name)));
    let cell = |index: usize, parts: &[&str], text: &str| {
        let at = index.to_string();
        let mut path = vec!["workloads", at.as_str()];
        path.extend_from_slice(parts);
        Sentence::new().verbatim(text, series.of_run(&path))
    };
    let each = |of: &dyn Fn(usize) -> Sentence| (0..series.run.workloads.len()).map(of).collect::<Vec<_>>();
    let mut rows = Vec::new();
    for (name, field) in [("kind", "kind"), ("driver", "driver")] {
        let mut cells = vec![Sentence::words(name)];
        cells.extend(each(&|index| {
            let workload = &series.run.workloads[index];
            cell(
                index,
                &[field],
                if field == "kind" {
                    &workload.kind
                } else {
                    &workload.driver
                },
            )
        }));
        rows.push(Row::of(cells));
    }
    for name in names {
        let owner = series
            .run
            .workloads
            .iter()
            .position(|workload| workload.options.contains_key(name))
            .unwrap_or(0);
        let mut cells = vec![cell(owner, &["options"], name)];
        cells.extend(each(&|index| {
            series.run.workloads[index]
                .options
                .get(name)
                .map_or_else(|| Sentence::words("–"), |value| cell(index, &["options", name], value))
        }));
        rows.push(Row::of(cells));
    }
    Table {
        caption: "Workloads, every option, defaults included".into(),
        columns,
        rows,
    }
}

/// Connections that sat beside the load: how many there were, and in the worst rung still were.
fn idle(series: &Series) -> Option<Table> {
    let mut rows = Vec::new();
    for workload in 0..series.run.workloads.len() {
        for target in 0..series.run.targets.len() {
            let (of_workload, of_target) = (&series.run.workloads[workload].name, &series.run.targets[target].name);
            let worst = series
                .rungs
                .iter()
                .filter(|rung| rung.workload == *of_workload && rung.target == *of_target)
                .filter_map(|rung| Some((rung, rung.idle.as_ref()?)))
                .min_by_key(|(_, idle)| idle.kept);
            let Some((rung, idle)) = worst else { continue };
            let figure = |field: &str, value: u32| rung.place.figure(&["idle", field], f64::from(value));
            rows.push(Row {
                group: target == 0,
                faint: idle.kept == idle.opened,
                cells: vec![
                    say::workload_name(series, workload),
                    say::target_name(series, target),
                    Sentence::from(&figure("opened", idle.opened)),
                    Sentence::from(&figure("kept", idle.kept)),
                    Sentence::from(&figure("prepared_statements", idle.prepared_statements)),
                ],
            });
        }
    }
    (!rows.is_empty()).then(|| Table {
        caption: "Idle connections beside the load's, in the rung that kept the fewest".into(),
        columns: vec![
            Column::text("Workload"),
            Column::text("Target"),
            Column::number("Opened", "all servers"),
            Column::number("Open all the time", ""),
            Column::number("Prepared statements", "of each"),
        ],
        rows,
    })
}

fn plan(series: &Series) -> Table {
    let plan = &series.run.plan;
    let number = |field: &str, value: f64| {
        Sentence::from(&Figure {
            value,
            from: series.of_run(&["plan", field]),
        })
    };
    let mut rows = vec![
        Row::of(vec!["warm-up".into(), number("warmup_s", plan.warmup_s).and(" s")]),
        Row::of(vec!["measured".into(), number("measure_s", plan.measure_s).and(" s")]),
        Row::of(vec![
            "cool-down".into(),
            number("cooldown_s", plan.cooldown_s).and(" s"),
        ]),
        Row::of(vec!["repeats".into(), number("repeats", f64::from(plan.repeats))]),
        Row::of(vec![
            "order".into(),
            Sentence::new().verbatim(&plan.order, series.of_run(&["plan", "order"])),
        ]),
    ];
    let mut loads = Sentence::new();
    for (at, load) in plan.loads.iter().enumerate() {
        if at > 0 {
            loads = loads.and(", ");
        }
        loads = loads.verbatim(
            say::short_load(load),
            series.of_run(&["plan", "loads", &at.to_string()]),
        );
    }
    rows.push(Row::of(vec!["loads (threads in total, or rates)".into(), loads]));
    if let Some(slo) = crate::summary::service_level_name(series) {
        rows.push(Row::of(vec!["service level".into(), slo]));
    }
    Table {
        caption: "The plan".into(),
        columns: vec![Column::long("What"), Column::long("Value")],
        rows,
    }
}

fn facts(series: &Series) -> Option<Table> {
    let mut rows = Vec::new();
    for (index, node) in series.run.nodes.iter().enumerate() {
        for (at, (name, value)) in node.facts.iter().enumerate() {
            let place = |parts: &[&str]| {
                let index = index.to_string();
                let mut path = vec!["nodes", index.as_str()];
                path.extend_from_slice(parts);
                series.of_run(&path)
            };
            rows.push(Row {
                group: at == 0,
                faint: false,
                cells: vec![
                    Sentence::new().verbatim(&node.name, place(&["name"])),
                    Sentence::new().verbatim(name, place(&["facts"])),
                    Sentence::new().verbatim(value, place(&["facts", name])),
                ],
            });
        }
    }
    (!rows.is_empty()).then(|| Table {
        caption: "Nodes, as the plan describes them".into(),
        columns: vec![Column::text("Node"), Column::text("Fact"), Column::long("Value")],
        rows,
    })
}

/// What the plan asked for and the series did not give; events; void rungs.
fn not_run(series: &Series, summary: &Summary) -> Section {
    let mut blocks = Vec::new();
    if series.run.not_run.is_empty() {
        blocks.push(Block::Text("Everything the plan asked for was run.".into()));
    } else {
        let rows = series
            .run
            .not_run
            .iter()
            .enumerate()
            .map(|(at, entry)| {
                let place = |field: &str| series.of_run(&["not_run", &at.to_string(), field]);
                Row::of(vec![
                    Sentence::new().verbatim(&entry.what, place("what")),
                    Sentence::new().verbatim(&entry.why, place("why")),
                ])
            })
            .collect();
        blocks.push(Block::Table(Table {
            caption: Sentence::new(),
            columns: vec![Column::long("What"), Column::long("Why")],
            rows,
        }));
    }
    let voids: Vec<Sentence> = summary
        .ladders
        .iter()
        .flat_map(|ladder| {
            ladder.voids.iter().map(move |void| {
                say::target_name(series, ladder.target_index)
                    .and(", ")
                    .join(&say::workload_name(series, ladder.workload_index))
                    .and(", ")
                    .join(&say::load_of(series, &void.load, void.rung))
                    .and(": ")
                    .verbatim(&void.why, series.place(&format!("r{}", void.rung)).field(&["void"]))
            })
        })
        .collect();
    if !voids.is_empty() {
        blocks.push(Block::Heading("Void rungs".into()));
        blocks.push(Block::List(voids));
    }
    if !series.run.events.is_empty() {
        blocks.push(Block::Heading("Events of the series".into()));
        blocks.push(Block::List(
            series
                .run
                .events
                .iter()
                .enumerate()
                .map(|(at, event)| {
                    let place = |field: &str| series.of_run(&["events", &at.to_string(), field]);
                    Sentence::new()
                        .derived(text::utc(event.at), format!("utc({})", place("at")))
                        .and(": ")
                        .verbatim(&event.what, place("what"))
                })
                .collect(),
        ));
    }
    Section {
        id: "not-run".into(),
        title: "What was not run, and why".into(),
        blocks,
    }
}

pub fn method() -> Section {
    let item = Sentence::words;
    Section {
        id: "method".into(),
        title: "How the figures were made".into(),
        blocks: vec![Block::List(vec![
            item("A rate is the count of the measured interval over its length; warm-up and cool-down are outside. Over repeats it is the median."),
            item("Intervals in brackets are ")
                .fixed("95%")
                .and(" percentile bootstraps of the median with ")
                .fixed(text::number(RESAMPLES as f64))
                .and(" resamples of whole repeats, drawn from the series' seed. Of three repeats that is their range, and no method makes it surer."),
            item("Percentiles are read from HDR histograms with three digits, merged over repeats: counts are added, percentiles are never averaged. A percentile is the upper edge of its bucket."),
            item("A difference is stated only if the interval of the ratio leaves out no change and there are at least ")
                .fixed("3")
                .and(" repeats on both sides; otherwise it reads \"no difference shown\" or \"too few repeats to tell\"."),
            item("Latency of closed loops counts from the sending; of open loops from the moment the transaction was due, so that waiting in the queue is in it."),
            item("The knee is the highest rate at which p95 is within ")
                .fixed(text::number(crate::stats::curve::FLAT))
                .and(" times its lowest, this load and all lighter ones."),
            item("A rung is unsteady if Mann and Kendall's test finds a trend (p < ")
                .fixed("0.01")
                .and(") that moves the rate by more than ")
                .fixed(text::number(trend::UNSTEADY * 100.0))
                .and("% over the interval (Theil and Sen's slope)."),
            item("Costs per transaction are sums over all counted repeats: what a node spent over the transactions of the interval, background work included."),
            item("Dollars are of the whole cluster by the hour at the best rate; prices older than ")
                .fixed(STALE_DAYS.to_string())
                .and(" days on the day of the series are marked stale."),
            item("Void rungs are in no figure."),
        ])],
    }
}

pub fn files(summary: &Summary) -> Section {
    let rows = summary
        .files
        .iter()
        .map(|(name, path)| Row::of(vec![Sentence::new().fixed(name), Sentence::new().fixed(path)]))
        .collect();
    Section {
        id: "files".into(),
        title: "Raw files".into(),
        blocks: vec![
            Block::Note("Each number of this page carries the formula it was computed by, with these names. seconds.jsonl and samples.jsonl lie beside each rung.json.".into()),
            Block::Folded {
                title: "Show the list".into(),
                blocks: vec![Block::Table(Table {
                    caption: Sentence::new(),
                    columns: vec![Column::text("Name in formulas"), Column::text("File")],
                    rows,
                })],
            },
        ],
    }
}
