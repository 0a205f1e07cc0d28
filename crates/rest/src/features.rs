//! POST /v1/features: feature vectors for entities, from several tables, all as they were at one moment.
//!
//! A *group* is a table whose primary key names entities; its columns are features. A feature's value is what the request passes, else what the table
//! has, unless that is older than the group allows, else its default, else null. Beside each value stands where it comes from.

use std::sync::Arc;

use serde::Deserialize;
use sql::plan::text::name as quoted;
use sql::session::by_key::FoundRow;
use sql_api::host::Host;
use types::{SqlType, ValueRef};

use crate::answer::Answer;
use crate::client::Client;
use crate::json::{self, Given, List, Named, Numbers};
use crate::key;
use crate::moment::micros_since_1970;
use crate::problem::Problem;
use crate::read::{check_keys, in_one_snapshot, table_of, text_of};
use crate::request::numbers_named;
use crate::routes::Task;
use crate::rows::Direct;
use crate::statements::type_name;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    groups: List<Group>,
    /// Values of the groups' keys, by name.
    entities: List<Named<Given>>,
    /// For each entity, values that are taken as they are, by the features' names.
    passed: Option<List<Named<Given>>>,
    numbers: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    database: Option<String>,
    table: String,
    /// In the answer; the table's by default.
    name: Option<String>,
    /// What of an entity is the primary key; columns of the same names by default.
    key: Option<List<String>>,
    features: List<String>,
    #[serde(default)]
    defaults: Named<Given>,
    /// The column that says when the row was made: a DATETIME or TIMESTAMP in UTC, or milliseconds since 1970.
    event_time: Option<String>,
    max_age_seconds: Option<u64>,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Stored,
    Passed,
    Default,
    /// The row is too old, and there is no default.
    Stale,
    Missing,
}

impl Origin {
    fn name(self) -> &'static str {
        match self {
            Origin::Stored => "stored",
            Origin::Passed => "passed",
            Origin::Default => "default",
            Origin::Stale => "stale",
            Origin::Missing => "missing",
        }
    }
}

impl Group {
    fn table(&self) -> Result<(&str, &str), Problem> {
        table_of(self.database.as_deref(), &self.table)
    }

    fn columns(&self) -> String {
        let all = self.features.iter().chain(&self.event_time);
        all.map(String::as_str).collect::<Vec<_>>().join(",")
    }

    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.table)
    }
}

/// The features of one group for one entity.
#[derive(Default)]
struct Found {
    /// As JSON, one behind the other, each with its end.
    cells: Vec<u8>,
    ends: Vec<usize>,
    event_micros: Option<i64>,
}

/// How a group is read.
struct Source<'g> {
    group: &'g Group,
    direct: Option<Arc<Direct>>,
    key_names: Vec<String>,
    types: Vec<SqlType>,
}

pub fn vectors(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let body: Body = task.request.json()?;
    let numbers = numbers_named(body.numbers.as_deref())?;
    // A group is looked at also where there are no entities.
    let keys = body.entities.len().max(1).saturating_mul(body.groups.len());
    check_keys(keys)?;
    if body
        .passed
        .as_ref()
        .is_some_and(|passed| passed.len() != body.entities.len())
    {
        return Err(Problem::bad_request("passed has an object for each entity"));
    }
    let host = task.host;
    for group in body.groups.iter() {
        if group.max_age_seconds.is_some() && group.event_time.is_none() {
            return Err(Problem::bad_request("max_age_seconds asks for an event_time"));
        }
    }
    let mut found = None;
    for _ in 0..2 {
        let sources = sources(client, &body.groups, host)?;
        found = read_directly(client, &sources, &body.entities, numbers, host)?;
        if found.is_some() {
            return write(
                &body,
                &sources,
                found.unwrap_or_default(),
                client.rest.engine.clock_micros(),
                answer,
                host,
            );
        }
        client.forget_tables();
    }
    drop(found);
    let sources = sources(client, &body.groups, host)?;
    let found = in_one_snapshot(client, host, |client| {
        let mut all = Vec::with_capacity(keys);
        for entity in body.entities.iter() {
            for source in &sources {
                all.push(read_by_statement(client, source, entity, numbers, host)?);
            }
        }
        Ok(all)
    })?;
    write(&body, &sources, found, client.rest.engine.clock_micros(), answer, host)
}

fn sources<'g>(client: &mut Client, groups: &'g [Group], host: &dyn Host) -> Result<Vec<Source<'g>>, Problem> {
    let source = |group: &'g Group| {
        let (database, table) = group.table()?;
        let direct = client.direct(database, table, Some(&group.columns()), host)?;
        let def = client.session(host)?.definition_of(database, table)?;
        let key_columns = key::columns_of(&def)?;
        let key_names = match &group.key {
            Some(names) if names.len() == key_columns.len() => names.0.clone(),
            Some(_) => return Err(Problem::bad_request("the key has other columns than the primary key")),
            None => key_columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
        };
        let ty = |name: &String| {
            let column = def.column(name);
            let missing = || Problem::bad_request(format!("{} has no column {name}", group.table));
            column.map(|at| def.columns[at].ty.clone()).ok_or_else(missing)
        };
        let types = group.features.iter().map(ty).collect::<Result<Vec<_>, _>>()?;
        Ok(Source {
            group,
            direct,
            key_names,
            types,
        })
    };
    groups.iter().map(source).collect()
}

fn key_part<'e>(entity: &'e Named<Given>, name: &str) -> Result<&'e Given, Problem> {
    entity
        .get(name)
        .ok_or_else(|| Problem::bad_request(format!("an entity has no {name}")))
}

/// The rows of all entities, group by group of each; `None`: it takes statements.
fn read_directly(
    client: &mut Client,
    sources: &[Source<'_>],
    entities: &[Named<Given>],
    numbers: Numbers,
    host: &dyn Host,
) -> Result<Option<Vec<Option<Found>>>, Problem> {
    let mut all = Vec::with_capacity(sources.len());
    for source in sources {
        match &source.direct {
            Some(direct) => all.push(direct.clone()),
            None => return Ok(None),
        }
    }
    let (mut keys, mut ends) = (Vec::new(), Vec::new());
    for entity in entities {
        for (source, direct) in sources.iter().zip(&all) {
            let mut texts = Vec::with_capacity(source.key_names.len());
            for name in &source.key_names {
                match text_of(key_part(entity, name)?)? {
                    Some(text) => texts.push(text),
                    None => return Ok(None),
                }
            }
            if !direct.by_key.write_key(texts.iter().map(|text| &**text), &mut keys) {
                return Ok(None);
            }
            ends.push(keys.len());
        }
    }
    let tables: Vec<_> = all.iter().map(|direct| &direct.by_key).collect();
    let mut found = Vec::with_capacity(ends.len());
    let was_read = client.session(host)?.read_by_key(&tables, host, |moment| {
        let mut begin = 0;
        for (at, end) in ends.iter().enumerate() {
            let at = at % sources.len();
            let key = &keys[begin..*end];
            found.push(moment.get(&all[at].by_key, key, |row| {
                of_row(&row, sources[at].group, &all[at], numbers)
            }));
            begin = *end;
            governor::tick()?;
        }
        Ok(())
    })?;
    Ok(was_read.then_some(found))
}

fn of_row(row: &FoundRow<'_>, group: &Group, direct: &Direct, numbers: Numbers) -> Found {
    let mut found = Found::default();
    for (at, (value, (_, ty))) in row.values().zip(direct.by_key.columns()).enumerate() {
        found.take(at, value, ty, group, numbers);
    }
    found
}

impl Found {
    /// The value of the column at a place among those that were read.
    fn take(&mut self, at: usize, value: ValueRef<'_>, ty: &SqlType, group: &Group, numbers: Numbers) {
        if at < group.features.len() {
            json::write_cell(value, Some(ty), numbers, &mut self.cells);
            self.ends.push(self.cells.len());
        } else {
            self.event_micros = micros_of(value);
        }
    }
}

/// Microseconds since 1970.
fn micros_of(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Timestamp(at) => Some(at.micros),
        ValueRef::DateTime(at) => Some(micros_since_1970(at)),
        ValueRef::Int(ms) => ms.checked_mul(1000),
        ValueRef::UInt(ms) => i64::try_from(ms).ok()?.checked_mul(1000),
        _ => None,
    }
}

fn read_by_statement(
    client: &mut Client,
    source: &Source<'_>,
    entity: &Named<Given>,
    numbers: Numbers,
    host: &dyn Host,
) -> Result<Option<Found>, Problem> {
    let (database, table) = source.group.table()?;
    let def = client.session(host)?.definition_of(database, table)?;
    let columns = key::columns_of(&def)?;
    let values = source.key_names.iter().zip(&columns);
    let values = values.map(|(name, (_, ty))| key::compared_json(key_part(entity, name)?, ty));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let text = format!(
        "SELECT {} FROM {}.{} WHERE {}",
        crate::rows::column_list(Some(&source.group.columns())),
        quoted(database),
        quoted(table),
        key::condition(&def)?
    );
    let rows = client.run(&text, &values, host)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut found = Found::default();
    let columns = rows.shape().map_or(&[][..], |shape| &shape.columns);
    for (at, (value, column)) in rows.row(0).iter().zip(columns).enumerate() {
        found.take(at, value.as_ref(), &column.ty, source.group, numbers);
    }
    Ok(Some(found))
}

fn write(
    body: &Body,
    sources: &[Source<'_>],
    found: Vec<Option<Found>>,
    now_micros: i64,
    answer: &mut Answer<'_>,
    host: &dyn Host,
) -> Result<(), Problem> {
    answer.body.extend_from_slice(b"{\"features\":[");
    let mut is_first = true;
    for source in sources {
        for (name, ty) in source.group.features.iter().zip(&source.types) {
            answer
                .body
                .extend_from_slice(if is_first { b"{\"group\":" } else { b",{\"group\":" });
            is_first = false;
            json::write_text(source.group.name(), &mut answer.body);
            answer.body.extend_from_slice(b",\"name\":");
            json::write_text(name, &mut answer.body);
            answer
                .body
                .extend_from_slice(format!(",\"type\":\"{}\"}}", type_name(ty)).as_bytes());
        }
    }
    answer.body.extend_from_slice(b"],\"vectors\":[");
    let mut found = found.into_iter();
    for at in 0..body.entities.len() {
        if at > 0 {
            answer.body.push(b',');
        }
        answer.body.extend_from_slice(b"{\"values\":[");
        let (mut origins, mut ages) = (Vec::new(), Vec::new());
        for source in sources {
            let row = found.next().flatten();
            let age_micros = row
                .as_ref()
                .and_then(|row| row.event_micros)
                .map(|event| now_micros.saturating_sub(event));
            let is_stale = source.group.max_age_seconds.is_some_and(|max| {
                // Of unknown age: too old.
                row.is_some() && age_micros.is_none_or(|age| age / 1_000_000 > i64::try_from(max).unwrap_or(i64::MAX))
            });
            ages.push(age_micros);
            for (feature, name) in source.group.features.iter().enumerate() {
                if !origins.is_empty() {
                    answer.body.push(b',');
                }
                let passed = body.passed.as_ref().and_then(|passed| passed[at].get(name));
                let stored = row.as_ref().filter(|_| !is_stale).map(|row| {
                    let begin = feature.checked_sub(1).map_or(0, |before| row.ends[before]);
                    &row.cells[begin..row.ends[feature]]
                });
                let default = source.group.defaults.get(name);
                let (value, origin) = match (passed, stored, default) {
                    (Some(passed), _, _) => (passed.get().as_bytes(), Origin::Passed),
                    (None, Some(stored), None) => (stored, Origin::Stored),
                    (None, Some(stored), Some(_)) if stored != b"null" => (stored, Origin::Stored),
                    (None, _, Some(default)) => (default.get().as_bytes(), Origin::Default),
                    (None, None, None) if is_stale => (&b"null"[..], Origin::Stale),
                    (None, None, None) => (&b"null"[..], Origin::Missing),
                };
                answer.body.extend_from_slice(value);
                origins.push(origin);
            }
        }
        answer.body.extend_from_slice(b"],\"origins\":[");
        for (at, origin) in origins.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            answer
                .body
                .extend_from_slice(format!("{comma}\"{}\"", origin.name()).as_bytes());
        }
        answer.body.extend_from_slice(b"],\"age_ms\":[");
        for (at, age) in ages.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let age = age.map_or_else(|| "null".to_owned(), |age| (age / 1000).to_string());
            answer.body.extend_from_slice(format!("{comma}{age}").as_bytes());
        }
        answer.body.extend_from_slice(b"]}");
        if answer.is_full() {
            answer.flush(host)?;
        }
    }
    answer
        .body
        .extend_from_slice(format!("],\"read_at_ms\":{}}}", now_micros / 1000).as_bytes());
    Ok(())
}
