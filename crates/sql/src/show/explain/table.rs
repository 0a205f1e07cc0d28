//! FORMAT=TRADITIONAL: a row per table, as in MySQL's "EXPLAIN Output Format".

use parser::ast::SetOp;
use types::Value;

use super::outline::{Block, Change, Joined, SetUnit, Step, TableStep, Unit, set_word};

/// Rows of `id, select_type, table, partitions, type, possible_keys, key, key_len, ref, rows, filtered, Extra`.
pub fn rows(unit: &Unit) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    unit_rows(unit, &mut rows);
    rows
}

fn unit_rows(unit: &Unit, rows: &mut Vec<Vec<Value>>) {
    match unit {
        Unit::Block(block) => block_rows(block, rows),
        Unit::Set(set) => set_rows(set, rows),
    }
}

fn set_rows(set: &SetUnit, rows: &mut Vec<Vec<Value>>) {
    for (_, term) in &set.terms {
        unit_rows(term, rows);
    }
    // Lists that only follow each other go straight to the reader.
    if set.recursive || !(set.compares || set.sort.is_some()) {
        return;
    }
    let op = result_op(set);
    let mut extra = vec!["Using temporary"];
    extra.extend(set.sort.is_some().then_some("Using filesort"));
    let mut row = empty_row(Value::Null, &format!("{} RESULT", set_word(op)), &extra);
    row[2] = Value::from(result_name(set));
    row[4] = Value::str("ALL");
    rows.push(row);
}

fn result_op(set: &SetUnit) -> SetOp {
    match set.terms.last() {
        Some((Joined::By(op), _)) => *op,
        _ => SetOp::Union,
    }
}

/// `<union1,2>`
pub fn result_name(set: &SetUnit) -> String {
    let ids: Vec<_> = set
        .terms
        .iter()
        .map(|(_, term)| term.first_block().id.to_string())
        .collect();
    format!("<{}{}>", set_word(result_op(set)).to_lowercase(), ids.join(","))
}

fn block_rows(block: &Block, rows: &mut Vec<Vec<Value>>) {
    let mut tables = Vec::new();
    if let Some(step) = &block.steps {
        flatten(step, &mut tables);
    }
    if let Some(change) = block.change.as_ref().filter(|change| is_insert(change)) {
        let mut row = empty_row(Value::UInt(block.id), change.verb, &[]);
        row[2] = Value::str(&change.tables[0]);
        row[4] = Value::str("ALL");
        rows.push(row);
    }
    if let Some(message) = block.message {
        let select_type = match &block.change {
            Some(change) if !is_insert(change) => change.verb.to_owned(),
            _ => block.select_type(),
        };
        rows.push(empty_row(Value::UInt(block.id), &select_type, &[message]));
    }
    for (at, shown) in tables.iter().enumerate() {
        rows.push(table_row(block, shown, at == 0));
    }
    let mut children: Vec<&Unit> = block.subqueries.iter().map(|(_, unit)| unit).collect();
    for shown in &tables {
        if let Some((_, Some(unit))) = &shown.table.derived {
            children.push(unit);
        }
    }
    children.sort_by_key(|unit| unit.first_block().id);
    for child in children {
        unit_rows(child, rows);
    }
}

fn is_insert(change: &Change) -> bool {
    matches!(change.verb, "INSERT" | "REPLACE")
}

/// A table with the conditions that are checked as soon as its row is there.
pub struct Placed<'s> {
    pub table: &'s TableStep,
    pub conditions: Vec<&'s str>,
}

/// The tables in the order in which they are read, with the conditions of the joins that they complete.
pub fn flatten<'s>(step: &'s Step, tables: &mut Vec<Placed<'s>>) {
    let place = |tables: &mut Vec<Placed<'s>>, condition: &'s str| {
        if let Some(last) = tables.last_mut() {
            last.conditions.push(condition);
        }
    };
    match step {
        Step::Table(table) => tables.push(Placed {
            table,
            conditions: table.condition.iter().map(String::as_str).collect(),
        }),
        Step::Join { sides, on, .. } => {
            sides.iter().for_each(|side| flatten(side, tables));
            if let Some(on) = on {
                place(tables, on);
            }
        }
        Step::Filter { condition, step, .. } => {
            flatten(step, tables);
            place(tables, condition);
        }
    }
}

impl Placed<'_> {
    /// The share of the rows that passes, in percent.
    pub fn filtered(&self) -> f64 {
        let own = usize::from(self.table.condition.is_some());
        let more = (self.conditions.len() - own) as i32;
        (self.table.share * 0.5f64.powi(more) * 10_000.0).round() / 100.0
    }

    pub fn rows(&self) -> u64 {
        self.table.rows.round().max(1.0) as u64
    }
}

fn table_row(block: &Block, shown: &Placed<'_>, first: bool) -> Vec<Value> {
    let table = shown.table;
    let select_type = match &block.change {
        Some(change) if !is_insert(change) && change.tables.contains(&table.alias) => change.verb.to_owned(),
        _ => block.select_type(),
    };
    let list = |names: &[String]| match names.is_empty() {
        true => Value::Null,
        false => Value::from(names.join(",")),
    };
    let key = table.key.as_ref();
    vec![
        Value::UInt(block.id),
        Value::from(select_type),
        Value::str(&table.name),
        Value::Null,
        Value::str(table.kind.name()),
        list(&table.possible),
        key.map_or(Value::Null, |key| Value::str(&key.name)),
        key.map_or(Value::Null, |key| Value::from(key.bytes.to_string())),
        key.map_or(Value::Null, |key| list(&key.refs)),
        Value::UInt(shown.rows()),
        Value::Double(shown.filtered()),
        extra(block, shown, first),
    ]
}

fn extra(block: &Block, shown: &Placed<'_>, first: bool) -> Value {
    let table = shown.table;
    let key = table.key.as_ref();
    let buffers = block.change.as_ref().is_some_and(|change| change.buffered);
    let temporary = buffers
        || block.distinct
        || !block.windows.is_empty()
        || block.grouping.as_ref().is_some_and(|grouping| grouping.keyed);
    let told = [
        (table.recursive, "Recursive"),
        (!shown.conditions.is_empty(), "Using where"),
        (key.is_some_and(|key| key.backward), "Backward index scan"),
        (key.is_some_and(|key| key.covering), "Using index"),
        (first && temporary, "Using temporary"),
        (first && block.sort.is_some(), "Using filesort"),
        (table.hash.is_some(), "Using join buffer (hash join)"),
    ];
    let words: Vec<&str> = told.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
    match words.is_empty() {
        true => Value::Null,
        false => Value::from(words.join("; ")),
    }
}

fn empty_row(id: Value, select_type: &str, extra: &[&str]) -> Vec<Value> {
    let mut row = vec![Value::Null; 12];
    row[0] = id;
    row[1] = Value::str(select_type);
    if !extra.is_empty() {
        row[11] = Value::from(extra.join("; "));
    }
    row
}
