//! FORMAT=JSON: MySQL's first version of the format, with the keys that our plans have something to say about.

use std::fmt::Write;

use super::outline::{Block, Place, SetUnit, Unit};
use super::table::{Placed, flatten, result_name};

/// The document.
pub fn text(unit: &Unit) -> String {
    let mut document = Object::default();
    document.object("query_block", unit_block(unit));
    let mut text = String::new();
    document.write(&mut text, 0);
    text
}

/// An object whose members stay in order.
#[derive(Default)]
struct Object {
    members: Vec<(&'static str, Node)>,
}

enum Node {
    /// A number or a truth value.
    Bare(String),
    Text(String),
    Object(Object),
    Texts(Vec<String>),
    Objects(Vec<Object>),
}

impl Object {
    fn text(&mut self, name: &'static str, text: &str) {
        self.members.push((name, Node::Text(text.to_owned())));
    }

    fn number(&mut self, name: &'static str, number: u64) {
        self.members.push((name, Node::Bare(number.to_string())));
    }

    fn truth(&mut self, name: &'static str, truth: bool) {
        self.members.push((name, Node::Bare(truth.to_string())));
    }

    fn object(&mut self, name: &'static str, object: Object) {
        self.members.push((name, Node::Object(object)));
    }

    /// Nothing where there are none.
    fn texts(&mut self, name: &'static str, texts: &[String]) {
        if !texts.is_empty() {
            self.members.push((name, Node::Texts(texts.to_vec())));
        }
    }

    fn objects(&mut self, name: &'static str, objects: Vec<Object>) {
        if !objects.is_empty() {
            self.members.push((name, Node::Objects(objects)));
        }
    }

    fn write(&self, out: &mut String, depth: usize) {
        out.push('{');
        for (at, (name, node)) in self.members.iter().enumerate() {
            separate(out, at, depth + 1);
            write!(out, "\"{name}\": ").expect("a String takes everything");
            node.write(out, depth + 1);
        }
        line(out, depth);
        out.push('}');
    }
}

impl Node {
    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Node::Bare(text) => out.push_str(text),
            Node::Text(text) => quote(out, text),
            Node::Object(object) => object.write(out, depth),
            Node::Texts(texts) => {
                out.push('[');
                for (at, text) in texts.iter().enumerate() {
                    separate(out, at, depth + 1);
                    quote(out, text);
                }
                line(out, depth);
                out.push(']');
            }
            Node::Objects(objects) => {
                out.push('[');
                for (at, object) in objects.iter().enumerate() {
                    separate(out, at, depth + 1);
                    object.write(out, depth + 1);
                }
                line(out, depth);
                out.push(']');
            }
        }
    }
}

fn separate(out: &mut String, at: usize, depth: usize) {
    if at > 0 {
        out.push(',');
    }
    line(out, depth);
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', depth * 2));
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32).expect("a String takes everything"),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn unit_block(unit: &Unit) -> Object {
    match unit {
        Unit::Block(block) => query_block(block),
        Unit::Set(set) => set_block(set),
    }
}

fn set_block(set: &SetUnit) -> Object {
    let mut result = Object::default();
    let temporary = set.compares || set.sort.is_some();
    result.truth("using_temporary_table", temporary);
    if temporary {
        result.text("table_name", &result_name(set));
        result.text("access_type", "ALL");
    }
    if set.sort.is_some() {
        result.truth("using_filesort", true);
    }
    let terms = set.terms.iter().map(|(_, term)| nested(term)).collect();
    result.objects("query_specifications", terms);
    let mut block = Object::default();
    block.object("union_result", result);
    block
}

/// A query within another.
fn nested(unit: &Unit) -> Object {
    let mut object = Object::default();
    let dependent = unit.first_block().dependent;
    object.truth("dependent", dependent);
    object.truth("cacheable", !dependent);
    object.object("query_block", unit_block(unit));
    object
}

fn query_block(block: &Block) -> Object {
    let mut object = Object::default();
    object.number("select_id", block.id);
    if let Some(message) = block.message {
        object.text("message", message);
    }
    let insert = block
        .change
        .as_ref()
        .filter(|change| matches!(change.verb, "INSERT" | "REPLACE"));
    if let Some(change) = insert {
        let mut table = Object::default();
        table.truth(if change.verb == "INSERT" { "insert" } else { "replace" }, true);
        table.text("table_name", &change.tables[0]);
        table.text("access_type", "ALL");
        object.object("table", table);
    }
    let mut tables = Vec::new();
    if let Some(step) = &block.steps {
        flatten(step, &mut tables);
    }
    let mut body = Object::default();
    let mut shown: Vec<Object> = tables.iter().map(|placed| table_object(block, placed)).collect();
    match shown.len() {
        0 => {}
        1 => body.object("table", shown.remove(0)),
        _ => {
            let loops = shown.into_iter().map(|table| {
                let mut one = Object::default();
                one.object("table", table);
                one
            });
            body.objects("nested_loop", loops.collect());
        }
    }
    for (is, name, temporary, sorted) in [
        (
            block.grouping.as_ref().is_some_and(|grouping| grouping.keyed),
            "grouping_operation",
            true,
            false,
        ),
        (!block.windows.is_empty(), "windowing", true, false),
        (block.distinct, "duplicates_removal", true, false),
        (block.sort.is_some(), "ordering_operation", false, true),
    ] {
        if is {
            let mut around = Object::default();
            around.truth("using_temporary_table", temporary);
            around.truth("using_filesort", sorted);
            around.members.append(&mut body.members);
            body.object(name, around);
        }
    }
    match insert {
        Some(_) if !body.members.is_empty() => object.object("insert_from", body),
        _ => object.members.append(&mut body.members),
    }
    for (place, name) in [
        (Place::Projection, "select_list_subqueries"),
        (Place::Condition, "attached_subqueries"),
    ] {
        let of_place = block.subqueries.iter().filter(|(stands, _)| *stands == place);
        object.objects(name, of_place.map(|(_, unit)| nested(unit)).collect());
    }
    object
}

fn table_object(block: &Block, placed: &Placed<'_>) -> Object {
    let table = placed.table;
    let mut object = Object::default();
    if let Some(change) = &block.change
        && change.tables.contains(&table.alias)
    {
        match change.verb {
            "UPDATE" => object.truth("update", true),
            "DELETE" => object.truth("delete", true),
            _ => {}
        }
    }
    object.text("table_name", &table.alias);
    object.text("access_type", table.kind.name());
    object.texts("possible_keys", &table.possible);
    if let Some(key) = &table.key {
        object.text("key", &key.name);
        object.texts("used_key_parts", &key.parts);
        object.text("key_length", &key.bytes.to_string());
        object.texts("ref", &key.refs);
    }
    object.number("rows_examined_per_scan", placed.rows());
    object.text("filtered", &format!("{:.2}", placed.filtered()));
    if let Some(key) = &table.key {
        if key.backward {
            object.truth("backward_index_scan", true);
        }
        if key.covering {
            object.truth("using_index", true);
        }
        if !key.ranges.is_empty() {
            object.text("index_condition", &key.ranges);
        }
    }
    if table.hash.is_some() {
        object.text("using_join_buffer", "hash join");
    }
    let mut cost = Object::default();
    cost.text("read_cost", &format!("{:.2}", table.cost));
    object.object("cost_info", cost);
    let conditions: Vec<&str> = table
        .hash
        .as_deref()
        .into_iter()
        .chain(placed.conditions.iter().copied())
        .collect();
    match conditions.as_slice() {
        [] => {}
        [one] => object.text("attached_condition", one),
        _ => object.text("attached_condition", &format!("({})", conditions.join(" and "))),
    }
    match &table.derived {
        Some((_, Some(unit))) => {
            let mut source = Object::default();
            source.truth("using_temporary_table", true);
            source.members.append(&mut nested(unit).members);
            object.object("materialized_from_subquery", source);
        }
        Some((id, None)) => {
            let mut source = Object::default();
            let mut sharing = Object::default();
            sharing.number("select_id", *id);
            source.object("sharing_temporary_table_with", sharing);
            object.object("materialized_from_subquery", source);
        }
        None => {}
    }
    object
}
