//! FORMAT=TREE: a line per operation, what it reads from below it.

use std::fmt::Write;
use std::time::Duration;

use super::access::KeyUse;
use super::outline::{Block, Joined, Place, SetUnit, Step, TableStep, Unit, set_word};
use crate::exec::measure::{Measure, Measures};
use crate::plan::access::AccessKind;

/// The tree, its lines ended by newlines; with what a run has measured, where there was one.
pub fn text(unit: &Unit, measures: Option<&Measures>) -> String {
    let mut tree = Tree {
        text: String::new(),
        depth: 0,
        measures,
    };
    tree.unit(unit);
    tree.text
}

struct Tree<'m> {
    text: String,
    depth: usize,
    measures: Option<&'m Measures>,
}

/// Times of one run in milliseconds and its rows, on the average.
fn shown_measure(measure: Option<Measure>) -> String {
    let Some(measure) = measure else {
        return " (never executed)".to_owned();
    };
    let loops = measure.loops.max(1) as f64;
    let millis = |time: Duration| significant(time.as_secs_f64() * 1e3 / loops);
    format!(
        " (actual time={}..{} rows={} loops={})",
        millis(measure.first),
        millis(measure.total),
        significant(measure.rows as f64 / loops),
        measure.loops
    )
}

/// Three digits that count, as MySQL shows it.
fn significant(number: f64) -> String {
    let digits = match number {
        number if number >= 99.95 || number == 0.0 => 0,
        number => (2 - number.log10().floor() as i32).clamp(0, 6) as usize,
    };
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Rows of an operation, and what they cost.
#[derive(Clone, Copy)]
struct Estimate {
    rows: f64,
    cost: f64,
}

impl Estimate {
    fn of(step: &Step) -> Estimate {
        match step {
            Step::Table(table) => Estimate {
                rows: table.rows * table.share,
                cost: table.cost,
            },
            Step::Join { sides, .. } => {
                let [outer, inner] = [Estimate::of(&sides[0]), Estimate::of(&sides[1])];
                let times = if is_hashed(&sides[1]) { 1.0 } else { outer.rows };
                Estimate {
                    rows: outer.rows * inner.rows,
                    cost: outer.cost + times * inner.cost,
                }
            }
            Step::Filter { step, .. } => {
                let all = Estimate::of(step);
                Estimate {
                    rows: all.rows * 0.5,
                    cost: all.cost,
                }
            }
        }
    }

    fn shown(self) -> String {
        let rows = match self.rows {
            rows if rows < 9.95 => format!("{rows:.3}")
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned(),
            rows => format!("{rows:.0}"),
        };
        format!("  (cost={:.2} rows={rows})", self.cost)
    }
}

fn is_hashed(step: &Step) -> bool {
    matches!(step, Step::Table(table) if table.hash.is_some())
}

impl Tree<'_> {
    /// What a run has measured of the join at a place.
    fn measured(&self, place: usize) -> String {
        match self.measures.filter(|_| place != 0) {
            None => String::new(),
            Some(measures) => shown_measure(measures.of(place)),
        }
    }

    /// One operation, and what it reads.
    fn node(&mut self, line: &str, below: impl FnOnce(&mut Tree<'_>)) {
        let indent = self.depth * 4;
        writeln!(self.text, "{:indent$}-> {line}", "").expect("a String takes everything");
        self.depth += 1;
        below(self);
        self.depth -= 1;
    }

    fn leaf(&mut self, line: &str) {
        self.node(line, |_| {});
    }

    /// A node for each operation that there is, around what the last one reads.
    fn wrapped(&mut self, operations: &[String], inner: &mut dyn FnMut(&mut Tree<'_>)) {
        match operations {
            [] => inner(self),
            [first, rest @ ..] => self.node(first, |tree| tree.wrapped(rest, inner)),
        }
    }

    fn unit(&mut self, unit: &Unit) {
        match unit {
            Unit::Block(block) => self.block(block),
            Unit::Set(set) => self.set(set),
        }
    }

    fn set(&mut self, set: &SetUnit) {
        let mut operations: Vec<String> = Vec::new();
        operations.extend(set.limit.as_ref().map(|limit| limit_line(limit)));
        operations.extend(set.sort.as_ref().map(|sort| format!("Sort: {sort}")));
        if set.compares {
            let word = match set.terms.last() {
                Some((Joined::By(op), _)) => set_word(*op),
                _ => "UNION",
            };
            let word = format!("{}{}", &word[..1], word[1..].to_lowercase());
            operations.push("Table scan on <temporary>".to_owned());
            operations.push(format!("{word} materialize with deduplication"));
        } else if !set.recursive {
            operations.push("Append".to_owned());
        }
        self.wrapped(&operations, &mut |tree| {
            for (at, (_, term)) in set.terms.iter().enumerate() {
                if set.recursive && at > 0 {
                    tree.node("Repeat until convergence", |tree| tree.unit(term));
                } else {
                    tree.unit(term);
                }
            }
        });
    }

    fn block(&mut self, block: &Block) {
        let mut operations: Vec<String> = Vec::new();
        if let Some(change) = &block.change {
            let verb = match change.verb {
                "INSERT" => "Insert into",
                "REPLACE" => "Replace into",
                "UPDATE" => "Update",
                _ => "Delete from",
            };
            operations.push(format!("{verb} {}", change.tables.join(", ")));
            if change.buffered {
                operations.push("Table scan on <temporary>".to_owned());
                operations.push("Temporary table".to_owned());
            }
        }
        operations.extend(block.limit.as_ref().map(|limit| limit_line(limit)));
        operations.extend(block.sort.as_ref().map(|sort| format!("Sort: {sort}")));
        if block.distinct {
            operations.push("Table scan on <temporary>".to_owned());
            operations.push("Temporary table with deduplication".to_owned());
        }
        if !block.windows.is_empty() {
            operations.push(format!(
                "Window aggregate with buffering: {}() OVER",
                block.windows.join("() OVER, ")
            ));
        }
        operations.extend(block.having.as_ref().map(|having| format!("Filter: {having}")));
        match &block.grouping {
            Some(grouping) if grouping.keyed => {
                operations.push("Table scan on <temporary>".to_owned());
                operations.push("Aggregate using temporary table".to_owned());
            }
            Some(grouping) => operations.push(format!("Aggregate: {}", grouping.aggregates)),
            None => {}
        }
        self.wrapped(&operations, &mut |tree| match (&block.steps, block.message) {
            (Some(step), _) => tree.step(step),
            (None, Some(message @ "Impossible WHERE")) => tree.leaf(&format!("Zero rows ({message})")),
            (None, _) => tree.leaf("Rows fetched before execution"),
        });
        for (place, unit) in &block.subqueries {
            let first = unit.first_block();
            let place = match place {
                Place::Projection => "projection",
                Place::Condition => "condition",
            };
            let how = if first.dependent { "dependent" } else { "run only once" };
            let line = format!("Select #{} (subquery in {place}; {how})", first.id);
            self.node(&line, |tree| tree.unit(unit));
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            // The first table of a correlated subquery: hashed once, looked into for each row of the query around it.
            Step::Table(table) if table.hash.is_some() => {
                let hash = table.hash.as_deref().unwrap_or_default();
                let shown = Estimate::of(step).shown() + &self.measured(table.place);
                let line = format!("Hash lookup {hash}{shown}");
                self.node(&line, |tree| tree.node("Hash", |tree| tree.table(table)));
            }
            Step::Table(table) => self.table(table),
            Step::Filter {
                place,
                condition,
                step: inner,
            } => {
                let shown = Estimate::of(step).shown() + &self.measured(*place);
                let line = format!("Filter: {condition}{shown}");
                self.node(&line, |tree| tree.step(inner));
            }
            Step::Join {
                place,
                outer_join,
                sides,
                on,
            } => {
                let inner = &sides[1];
                let hash = match inner {
                    Step::Table(table) => table.hash.as_ref(),
                    _ => None,
                };
                let mut line = match (hash, outer_join) {
                    (Some(hash), false) => format!("Inner hash join {hash}"),
                    (Some(hash), true) => format!("Left hash join {hash}"),
                    (None, false) => "Nested loop inner join".to_owned(),
                    (None, true) => "Nested loop left join".to_owned(),
                };
                if let Some(on) = on {
                    write!(line, ", extra conditions: {on}").expect("a String takes everything");
                }
                line += &Estimate::of(step).shown();
                line += &self.measured(*place);
                self.node(&line, |tree| {
                    tree.step(&sides[0]);
                    match inner {
                        Step::Table(table) if hash.is_some() => tree.node("Hash", |tree| tree.table(table)),
                        inner => tree.step(inner),
                    }
                });
            }
        }
    }

    fn table(&mut self, table: &TableStep) {
        if let Some(condition) = &table.condition {
            let passing = Estimate {
                rows: table.rows * table.share,
                cost: table.cost,
            };
            // What passes is measured, not what is looked at.
            let line = format!("Filter: {condition}{}{}", passing.shown(), self.measured(table.place));
            return self.node(&line, |tree| tree.access(table, ""));
        }
        let measured = self.measured(table.place);
        self.access(table, &measured);
    }

    fn access(&mut self, table: &TableStep, measured: &str) {
        let line = format!(
            "{}{}{measured}",
            access_line(table),
            Estimate {
                rows: table.rows,
                cost: table.cost
            }
            .shown()
        );
        self.node(&line, |tree| match &table.derived {
            Some((_, Some(unit))) => tree.node("Materialize", |tree| tree.unit(unit)),
            Some((_, None)) => tree.leaf("Materialize (query plan printed elsewhere)"),
            None => {}
        });
    }
}

fn limit_line(limit: &str) -> String {
    match limit.contains('/') {
        true => format!("Limit/Offset: {limit}"),
        false => format!("Limit: {limit}"),
    }
}

fn access_line(table: &TableStep) -> String {
    let alias = &table.alias;
    let Some(key) = &table.key else {
        return match table.recursive {
            true => format!("Scan new records on {alias}"),
            false => format!("Table scan on {alias}"),
        };
    };
    let KeyUse { name, ranges, .. } = key;
    let covering = |word: &str| match key.covering {
        true => format!("Covering {}", word.to_lowercase()),
        false => word.to_owned(),
    };
    let reverse = if key.backward { " (reverse)" } else { "" };
    match table.kind {
        AccessKind::Const | AccessKind::EqRef => {
            let word = covering("Index lookup").to_lowercase();
            format!("Single-row {word} on {alias} using {name} ({ranges})")
        }
        AccessKind::Ref => format!(
            "{} on {alias} using {name} ({ranges}){reverse}",
            covering("Index lookup")
        ),
        AccessKind::Range => {
            let word = covering("Index range scan");
            format!("{word} on {alias} using {name} over {ranges}{reverse}")
        }
        AccessKind::FullText => format!("Full-text index search on {alias} using {name}"),
        AccessKind::Index | AccessKind::All => format!("{} on {alias} using {name}{reverse}", covering("Index scan")),
    }
}
