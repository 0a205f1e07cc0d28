//! GET …/rows: rows in the order of an index, page by page.
//!
//! The order is that of the index's columns and, behind them, the primary key's. A page goes on behind the last row of the one before: the cursor holds
//! that row's values, so that rows that come and go between shift nothing.

use catalog::{IndexKind, TableDef};
use http_wire::base64;
use serde_json::value::RawValue;
use sql::plan::text::name as quoted;
use types::{SqlType, TypeKind, Value};

use crate::answer::Answer;
use crate::client::Client;
use crate::json::{self, Given, Numbers};
use crate::key;
use crate::problem::Problem;
use crate::request::Request;
use crate::routes::Task;
use crate::rows::column_list;

const LIMIT_DEFAULT: usize = 100;
const LIMIT_MAX: usize = 10_000;
/// Under these names the columns of the cursor are selected, behind those that are wanted.
const CURSOR_NAME: &str = "latsdb cursor ";

/// A column of the order.
struct Part<'d> {
    name: &'d str,
    ty: &'d SqlType,
    is_falling: bool,
}

/// Conditions and their values.
#[derive(Default)]
struct Where {
    conditions: Vec<String>,
    values: Vec<Value>,
}

pub fn list(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let request = task.request;
    request.knows_only(&[
        "index", "from", "to", "prefix", "limit", "after", "order", "columns", "numbers",
    ])?;
    let (database, table) = (task.segment(0)?, task.segment(1)?);
    let def = client.session(task.host)?.definition_of(&database, &table)?;
    let (index_columns, order) = order_of(&def, request)?;
    let limit = match request.query("limit")? {
        None => LIMIT_DEFAULT,
        Some(text) => match text.parse() {
            Ok(limit @ 1..=LIMIT_MAX) => limit,
            _ => return Err(Problem::bad_request(format!("limit is from 1 to {LIMIT_MAX}"))),
        },
    };
    let mut wanted = Where::default();
    let bounds = &order[..index_columns];
    if let Some(text) = request.query("prefix")? {
        wanted.prefix(bounds, &text)?;
    }
    if let Some(text) = request.query("from")? {
        wanted.bound(bounds, &text, ">", true)?;
    }
    if let Some(text) = request.query("to")? {
        wanted.bound(bounds, &text, "<", false)?;
    }
    if let Some(cursor) = request.query("after")? {
        wanted.after(&order, &cursor)?;
    }
    let (columns, numbers) = (request.columns()?, request.numbers()?);
    let cursor_columns: Vec<String> = order
        .iter()
        .enumerate()
        .map(|(at, part)| format!("{} AS `{CURSOR_NAME}{at}`", quoted(part.name)))
        .collect();
    let sorted: Vec<String> = order
        .iter()
        .map(|part| format!("{}{}", quoted(part.name), if part.is_falling { " DESC" } else { "" }))
        .collect();
    let condition = match wanted.conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", wanted.conditions.join(" AND ")),
    };
    let name = format!("{}.{}", quoted(&database), quoted(&table));
    // A name of a table before the star: other columns follow.
    let list = match columns.as_deref() {
        None => "t.*".to_owned(),
        named => column_list(named),
    };
    let text = format!(
        "SELECT {list}, {} FROM {name} AS t{condition} ORDER BY {} LIMIT {}",
        cursor_columns.join(", "),
        sorted.join(", "),
        limit + 1
    );
    let found = client.run(&text, &wanted.values, task.host)?;
    let shape = found.shape().cloned();
    let all = shape.as_ref().map_or(&[][..], |shape| &shape.columns);
    let shown = &all[..all.len().saturating_sub(order.len())];
    let out_rows = found.len().min(limit);
    answer.body.extend_from_slice(b"{\"rows\":[");
    for at in 0..out_rows {
        if at > 0 {
            answer.body.push(b',');
        }
        let row = found.row(at);
        answer.body.push(b'{');
        for (i, (column, value)) in shown.iter().zip(row).enumerate() {
            if i > 0 {
                answer.body.push(b',');
            }
            json::write_text(&column.name, &mut answer.body);
            answer.body.push(b':');
            json::write_cell(value.as_ref(), Some(&column.ty), numbers, &mut answer.body);
        }
        answer.body.push(b'}');
        if answer.is_full() {
            answer.flush(task.host)?;
        }
    }
    answer.body.extend_from_slice(b"],\"next\":");
    if found.len() > limit {
        let values = &found.row(limit - 1)[shown.len()..];
        let mut cursor = vec![b'['];
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                cursor.push(b',');
            }
            json::write_cell(key::number_of(value.as_ref()), None, Numbers::Default, &mut cursor);
        }
        cursor.push(b']');
        let mut text = Vec::new();
        base64::encode(&cursor, &mut text);
        // The alphabet for addresses.
        let text: String = String::from_utf8_lossy(&text)
            .trim_end_matches('=')
            .replace('+', "-")
            .replace('/', "_");
        json::write_text(&text, &mut answer.body);
    } else {
        answer.body.extend_from_slice(b"null");
    }
    answer.body.push(b'}');
    Ok(())
}

/// The columns that rows are sorted by, and how many of them are the index's own.
fn order_of<'d>(def: &'d TableDef, request: &Request<'_>) -> Result<(usize, Vec<Part<'d>>), Problem> {
    let is_falling = match request.query("order")?.as_deref() {
        None | Some("asc") => false,
        Some("desc") => true,
        Some(_) => return Err(Problem::bad_request("order is asc or desc")),
    };
    key::columns_of(def)?;
    let primary = def.primary();
    let index = match request.query("index")? {
        None => primary,
        Some(name) => def.index(&name),
    };
    let index = index.ok_or_else(|| Problem::not_found("the table has no index of this name"))?;
    let is_plain = index.kind != IndexKind::FullText
        && index
            .parts
            .iter()
            .all(|part| part.elements.is_none() && !def.columns[part.column].hidden);
    if !is_plain {
        return Err(Problem::not_implemented(
            "lists in the order of an index that is not over columns",
        ));
    }
    let mut order: Vec<Part<'d>> = Vec::new();
    let (mut own, mut add) = (0, |part: &catalog::IndexPart| {
        let column = &def.columns[part.column];
        if !order.iter().any(|known| known.name == column.name) {
            order.push(Part {
                name: &column.name,
                ty: &column.ty,
                is_falling: is_falling != part.descending,
            });
        }
        order.len()
    });
    for part in &index.parts {
        own = add(part);
    }
    for part in primary.into_iter().flat_map(|primary| &primary.parts) {
        add(part);
    }
    Ok((own, order))
}

impl Where {
    /// The leading columns have these values; the last of them begins with its one, if it is text.
    fn prefix(&mut self, parts: &[Part<'_>], text: &str) -> Result<(), Problem> {
        let texts = texts_of(parts, text)?;
        for (at, (part, text)) in parts.iter().zip(&texts).enumerate() {
            let is_text = matches!(
                part.ty.kind,
                TypeKind::Char
                    | TypeKind::VarChar
                    | TypeKind::TinyText
                    | TypeKind::Text
                    | TypeKind::MediumText
                    | TypeKind::LongText
            );
            if at + 1 == texts.len() && is_text {
                let escaped = text.replace('|', "||").replace('%', "|%").replace('_', "|_");
                self.conditions.push(format!("{} LIKE ? ESCAPE '|'", quoted(part.name)));
                self.values.push(Value::str(&format!("{escaped}%")));
            } else {
                self.conditions.push(format!("{} = ?", quoted(part.name)));
                self.values.push(key::compared_text(text, part.ty)?);
            }
        }
        Ok(())
    }

    /// The leading columns, in the index's order, are at or beyond these values, or before them.
    fn bound(&mut self, parts: &[Part<'_>], text: &str, sign: &str, or_equal: bool) -> Result<(), Problem> {
        let texts = texts_of(parts, text)?;
        let values = parts
            .iter()
            .zip(&texts)
            .map(|(part, text)| key::ordered_text(text, part.ty));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        self.beyond(&parts[..values.len()], &values, |_| sign, or_equal);
        Ok(())
    }

    /// Behind the row that a cursor stands for.
    fn after(&mut self, order: &[Part<'_>], cursor: &str) -> Result<(), Problem> {
        let bad = || Problem::bad_request("the cursor is not one of this list");
        let bytes = base64::decode(cursor.as_bytes()).ok_or_else(bad)?;
        let given: Vec<Given> = serde_json::from_slice(&bytes).map_err(|_| bad())?;
        if given.len() != order.len() {
            return Err(bad());
        }
        let value = |(part, given): (&Part<'_>, &Given)| cursor_value(given, part.ty);
        let values = order.iter().zip(&given).map(value).collect::<Result<Vec<_>, _>>()?;
        let sign = |part: &Part<'_>| if part.is_falling { "<" } else { ">" };
        self.beyond(order, &values, sign, false);
        Ok(())
    }

    /// `a > x OR a = x AND b > y …`, and `a >= x` beside, which bounds the range of the index.
    fn beyond<'s>(
        &mut self,
        parts: &[Part<'_>],
        values: &[Value],
        sign: impl Fn(&Part<'_>) -> &'s str,
        or_equal: bool,
    ) {
        let mut alternatives = Vec::new();
        let mut bound_values = Vec::new();
        for at in 0..parts.len() {
            let mut all = Vec::new();
            for (part, value) in parts[..at].iter().zip(values) {
                all.push(format!("{} <=> ?", quoted(part.name)));
                bound_values.push(value.clone());
            }
            let (name, sign) = (quoted(parts[at].name), sign(&parts[at]));
            let is_last = at + 1 == parts.len();
            match (&values[at], sign) {
                // NULL comes before everything else.
                (Value::Null, ">") => all.push(match is_last && or_equal {
                    true => "TRUE".to_owned(),
                    false => format!("{name} IS NOT NULL"),
                }),
                (Value::Null, _) => all.push("FALSE".to_owned()),
                (value, sign) => {
                    let equal = if is_last && or_equal { "=" } else { "" };
                    let null = if sign == "<" {
                        format!(" OR {name} IS NULL")
                    } else {
                        String::new()
                    };
                    all.push(format!("({name} {sign}{equal} ?{null})"));
                    bound_values.push(value.clone());
                }
            }
            alternatives.push(all.join(" AND "));
        }
        if let [part, ..] = parts
            && parts.len() > 1
            && values[0] != Value::Null
            && sign(part) == ">"
        {
            self.conditions.push(format!("{} >= ?", quoted(part.name)));
            self.values.push(values[0].clone());
        }
        self.conditions.push(format!("({})", alternatives.join(" OR ")));
        self.values.extend(bound_values);
    }
}

/// A value as a cursor has it, which was written as a cell.
fn cursor_value(given: &RawValue, ty: &SqlType) -> Result<Value, Problem> {
    match key::value_of_json(given, ty)? {
        // Decimals are written as strings.
        Value::Str(text) if ty.kind == TypeKind::Decimal => key::value_of_text(&text, ty),
        value => Ok(value),
    }
}

/// The values of a bound, for the leading columns.
fn texts_of(parts: &[Part<'_>], text: &str) -> Result<Vec<String>, Problem> {
    let texts: Vec<String> = match text.starts_with('[') {
        // A list in JSON, for values with commas.
        true => {
            let given: Vec<Given> = serde_json::from_str(text).map_err(json::not_json)?;
            let text = |given: Given| match serde_json::from_str::<String>(given.get()) {
                Ok(text) => text,
                Err(_) => given.get().to_owned(),
            };
            given.into_iter().map(text).collect()
        }
        false => text.split(',').map(str::to_owned).collect(),
    };
    match texts.len() <= parts.len() {
        true => Ok(texts),
        false => Err(Problem::bad_request(format!(
            "the index has {} columns, and {} values are given",
            parts.len(),
            texts.len()
        ))),
    }
}
