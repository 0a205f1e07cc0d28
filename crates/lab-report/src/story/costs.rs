//! What an operation costs every machine: processor time, context switches, bytes, packets, writes and flushes per
//! transaction, and the ratio to the first target, role by role. It says why a rate differs where the rate itself only
//! says that it does, and shows what the noise of a rate hides.

use crate::figure::Figure;
use crate::page::{Block, Column, Row, Section, Sentence, Table};
use crate::say;
use crate::series::Series;
use crate::summary::{CostFigures, Ladder, Point, Summary};

/// Per transaction at each target's best load.
pub fn section(series: &Series, summary: &Summary) -> Option<Section> {
    let mut blocks = Vec::new();
    for index in 0..series.run.workloads.len() {
        let ladders: Vec<&Ladder> = summary.ladders_of(&series.run.workloads[index].name).collect();
        let label = say::workload(series, index);
        let rows = cost_rows(series, &ladders);
        if !rows.is_empty() {
            blocks.push(Block::Table(Table {
                caption: Sentence::words("Per transaction, at the best load: ").join(&label),
                columns: columns("Target, load", "Node"),
                rows,
            }));
        }
        let sides: Vec<(Sentence, &Point)> = ladders
            .iter()
            .filter_map(|ladder| {
                let point = ladder.best_point()?;
                let name = say::target_name(series, ladder.target_index)
                    .and(", ")
                    .join(&say::load(series, point));
                Some((name, point))
            })
            .collect();
        blocks.extend(ratios(&sides, &label).map(Block::Table));
        let rows = processor_rows(series, &ladders);
        if !rows.is_empty() {
            blocks.push(Block::Table(Table {
                caption: Sentence::words("Processors at the best load: ").join(&label),
                columns: vec![
                    Column::text("Target, load"),
                    Column::text("Node"),
                    Column::number("Busy", "processors"),
                    Column::number("of", "processors"),
                    Column::number("Share", "%"),
                    Column::number("Per busy processor", "tx/s"),
                ],
                rows,
            }));
        }
        let rows = statement_rows(series, &ladders);
        if !rows.is_empty() {
            blocks.push(Block::Folded {
                title: Sentence::words("Statements of ")
                    .join(&say::workload_name(series, index))
                    .and(" at the best load"),
                blocks: vec![Block::Table(Table {
                    caption: label,
                    columns: vec![
                        Column::text("Statement"),
                        Column::text("Target"),
                        Column::text("Load"),
                        Column::number("Per transaction", ""),
                        Column::number("Rows", "each"),
                        Column::number("Bytes", "each, both ways"),
                        Column::number("p50", "ms"),
                        Column::number("p95", "ms"),
                        Column::number("p99", "ms"),
                    ],
                    rows,
                })],
            });
        }
    }
    (!blocks.is_empty()).then(|| Section {
        id: "costs".into(),
        title: "What an operation costs".into(),
        blocks,
    })
}

fn columns(first: &str, second: &str) -> Vec<Column> {
    vec![
        Column::text(first),
        Column::text(second),
        Column::number("CPU", "µs"),
        Column::number("its process", "µs of CPU"),
        Column::number("Context switches", ""),
        Column::number("Network", "bytes"),
        Column::number("Packets", ""),
        Column::number("Disk writes", ""),
        Column::number("Written", "bytes"),
        Column::number("Flushes", ""),
    ]
}

/// What the columns hold, in their order.
fn figures(costs: &CostFigures) -> [Option<&Figure>; 8] {
    [
        Some(&costs.cpu_us),
        costs.process_cpu_us.as_ref(),
        Some(&costs.context_switches),
        Some(&costs.net_bytes),
        Some(&costs.net_packets),
        Some(&costs.disk_writes),
        Some(&costs.disk_bytes),
        costs.disk_flushes.as_ref(),
    ]
}

/// `target, load` of each ladder's best point, and what a closure makes of its costs; the first row of each is a group's.
fn rows_of(series: &Series, ladders: &[&Ladder], of: &dyn Fn(&Sentence, &Ladder, &Point) -> Vec<Row>) -> Vec<Row> {
    let mut rows = Vec::new();
    for ladder in ladders {
        let Some(point) = ladder.best_point() else { continue };
        let label = say::target_name(series, ladder.target_index)
            .and(", ")
            .join(&say::load(series, point));
        let first = rows.len();
        rows.extend(of(&label, ladder, point));
        if let Some(row) = rows.get_mut(first) {
            row.group = true;
        }
    }
    rows
}

fn node_name(series: &Series, point: &Point, costs: &CostFigures) -> Sentence {
    let place = series.place(&format!("r{}", point.rungs[0]));
    let name = Sentence::new().verbatim(&costs.node, place.field(&["costs"]));
    match series.run.nodes.iter().find(|node| node.name == costs.node) {
        Some(node) if !node.roles.is_empty() => name.and(format!(" ({})", node.roles.join(" + "))),
        _ => name,
    }
}

fn cost_rows(series: &Series, ladders: &[&Ladder]) -> Vec<Row> {
    rows_of(series, ladders, &|label, ladder, point| {
        let row = |name: Sentence, costs: &CostFigures| {
            let mut cells = vec![label.clone(), name];
            cells.extend(figures(costs).map(|figure| Sentence::from(&figure.cloned())));
            Row::of(cells)
        };
        let mut rows: Vec<Row> = point
            .costs
            .iter()
            .map(|costs| row(node_name(series, point, costs), costs))
            .collect();
        let target = &series.run.targets[ladder.target_index];
        if let Some(costs) = point.server_costs.as_ref().filter(|_| target.nodes.len() > 1) {
            rows.push(row("its servers together".into(), costs));
        }
        rows
    })
}

/// Each side against the first, role by role: above 1 an operation costs more. `None` if no role is on both sides.
pub fn ratios(sides: &[(Sentence, &Point)], label: &Sentence) -> Option<Table> {
    let ((base_name, base), others) = sides.split_first()?;
    let mut rows = Vec::new();
    for (name, point) in others {
        let first = rows.len();
        for costs in &point.tier_costs {
            let Some(same) = base.tier_costs.iter().find(|of_base| of_base.node == costs.node) else {
                continue;
            };
            let mut cells = vec![name.clone(), Sentence::words(&costs.node)];
            for (own, of_base) in figures(costs).into_iter().zip(figures(same)) {
                let ratio = own.zip(of_base).filter(|(_, base)| base.value > 0.0);
                cells.push(Sentence::from(&ratio.map(|(own, base)| own.over(base))));
            }
            rows.push(Row::of(cells));
        }
        if let Some(row) = rows.get_mut(first) {
            row.group = true;
        }
    }
    let mut columns = columns("Target, load", "Role");
    columns.iter_mut().for_each(|column| column.unit.clear());
    (!rows.is_empty()).then(|| Table {
        caption: Sentence::words("The same as a ratio to ")
            .join(base_name)
            .and(", each role's machines together (above one: an operation costs more): ")
            .join(label),
        columns,
        rows,
    })
}

fn processor_rows(series: &Series, ladders: &[&Ladder]) -> Vec<Row> {
    rows_of(series, ladders, &|label, _, point| {
        point
            .costs
            .iter()
            .map(|costs| {
                let cores = series.cores(&costs.node).filter(|cores| cores.value > 0.0);
                let share = cores.as_ref().map(|cores| costs.cores_busy.over(cores).scaled(100.0));
                let each = (costs.cpu_us.value > 0.0).then(|| Figure::constant(1e6).over(&costs.cpu_us));
                Row::of(vec![
                    label.clone(),
                    node_name(series, point, costs),
                    Sentence::from(&costs.cores_busy),
                    Sentence::from(&cores),
                    Sentence::from(&share),
                    Sentence::from(&each),
                ])
            })
            .collect()
    })
}

fn statement_rows(series: &Series, ladders: &[&Ladder]) -> Vec<Row> {
    let mut kinds: Vec<&String> = ladders
        .iter()
        .filter_map(|ladder| ladder.best_point())
        .flat_map(|point| point.statements.keys())
        .collect();
    kinds.sort();
    kinds.dedup();
    let mut rows = Vec::new();
    for kind in kinds {
        let mut first = true;
        for ladder in ladders {
            let Some(point) = ladder.best_point() else { continue };
            let Some(statement) = point.statements.get(kind) else {
                continue;
            };
            let place = series.place(&format!("r{}", point.rungs[0]));
            rows.push(Row {
                group: std::mem::take(&mut first),
                faint: false,
                cells: vec![
                    Sentence::new().verbatim(kind, place.field(&["statements"])),
                    say::target_name(series, ladder.target_index),
                    say::load(series, point),
                    Sentence::from(&statement.per_transaction),
                    Sentence::from(&statement.rows),
                    Sentence::from(&statement.bytes),
                    Sentence::from(&statement.p50_ms),
                    Sentence::from(&statement.p95_ms),
                    Sentence::from(&statement.p99_ms),
                ],
            });
        }
    }
    rows
}
