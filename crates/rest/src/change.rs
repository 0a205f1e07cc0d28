//! Writes of rows: by statements, so that rights, triggers, foreign keys and generated columns hold.

use std::sync::Arc;

use catalog::TableDef;
use serde_json::value::RawValue;
use sql::plan::text::name as quoted;
use sql_api::host::Host;
use types::{SqlError, Value};

use crate::answer::Answer;
use crate::client::Client;
use crate::etag::{self, Condition};
use crate::json::{self, Given, List, Named, Numbers};
use crate::key;
use crate::problem::Problem;
use crate::routes::Task;
use crate::rows::{Wanted, no_row};

/// Rows of one INSERT statement.
const ROWS_AT_ONCE: usize = 100;

/// A row as it is given: values by columns.
pub type GivenRow = Named<Given>;

/// What a write did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    pub created: bool,
    pub rows: u64,
    pub last_insert_id: u64,
}

/// A row that is to be written.
pub struct Target<'a> {
    pub database: &'a str,
    pub table: &'a str,
    pub key: Vec<Value>,
    pub def: Arc<TableDef>,
}

impl Target<'_> {
    fn name(&self) -> String {
        format!("{}.{}", quoted(self.database), quoted(self.table))
    }
}

impl Client {
    /// The tag of a row, which is locked from then on; `None`: there is no row.
    fn tag_of(&mut self, target: &Target<'_>, host: &dyn Host) -> Result<Option<String>, Problem> {
        let wanted = Wanted {
            database: target.database,
            table: target.table,
            columns: None,
            for_update: true,
        };
        let mut row = Vec::new();
        let is_there = self.select_row(&wanted, &target.def, &target.key, Numbers::Default, host, &mut row)?;
        Ok(is_there.then(|| etag::tag(&row, true)))
    }

    fn check_condition(&mut self, target: &Target<'_>, condition: &Condition, host: &dyn Host) -> Result<(), Problem> {
        match condition.is_none() {
            true => Ok(()),
            false => condition.check(self.tag_of(target, host)?.as_deref()),
        }
    }

    /// Puts a row in the place of the one with this key: columns that are not given get their defaults.
    pub(crate) fn put(
        &mut self,
        target: &Target<'_>,
        row: &GivenRow,
        condition: &Condition,
        host: &dyn Host,
    ) -> Result<Changed, Problem> {
        let keys = key::columns_of(&target.def)?;
        let is_key = |name: &str| keys.iter().any(|(key, _)| catalog::same_name(key, name));
        for ((name, ty), value) in keys.iter().zip(&target.key) {
            for (_, given) in row.iter().filter(|(given, _)| catalog::same_name(given, name)) {
                let given = key::compared_json(given, ty)?;
                if given.as_ref().text() != value.as_ref().text() {
                    return Err(Problem::bad_request(format!(
                        "{name} is another value than in the path"
                    )));
                }
            }
        }
        let tag = self.tag_of(target, host)?;
        condition.check(tag.as_deref())?;
        let mut values = Vec::new();
        if tag.is_none() {
            let mut names: Vec<String> = keys.iter().map(|(name, _)| quoted(name)).collect();
            values.extend(target.key.iter().cloned());
            for (name, given) in row.iter().filter(|(name, _)| !is_key(name)) {
                names.push(quoted(name));
                values.push(value_in(&target.def, name, given)?);
            }
            let places = vec!["?"; names.len()].join(", ");
            let text = format!("INSERT INTO {} ({}) VALUES ({places})", target.name(), names.join(", "));
            let done = self.run(&text, &values, host)?.done;
            return Ok(Changed {
                created: true,
                rows: 1,
                last_insert_id: done.last_insert_id,
            });
        }
        let mut settings = Vec::new();
        for (name, given) in row.iter().filter(|(name, _)| !is_key(name)) {
            settings.push(format!("{} = ?", quoted(name)));
            values.push(value_in(&target.def, name, given)?);
        }
        let is_given = |name: &str| row.keys().any(|given| catalog::same_name(given, name));
        let others = target.def.named_columns().iter().filter(|column| {
            !is_key(&column.name) && !is_given(&column.name) && column.generated.is_none() && !column.auto_increment
        });
        settings.extend(others.map(|column| format!("{0} = DEFAULT({0})", quoted(&column.name))));
        if settings.is_empty() {
            return Ok(Changed {
                rows: 1,
                ..Changed::default()
            });
        }
        self.update(target, &settings, values, host)
    }

    /// Changes some columns of a row. 404 where there is none.
    pub(crate) fn patch(
        &mut self,
        target: &Target<'_>,
        row: &GivenRow,
        condition: &Condition,
        host: &dyn Host,
    ) -> Result<Changed, Problem> {
        self.check_condition(target, condition, host)?;
        if row.is_empty() {
            return Err(Problem::bad_request("no column is to be changed"));
        }
        let mut values = Vec::with_capacity(row.len());
        let mut settings = Vec::with_capacity(row.len());
        for (name, given) in row.iter() {
            settings.push(format!("{} = ?", quoted(name)));
            values.push(value_in(&target.def, name, given)?);
        }
        self.update(target, &settings, values, host)
    }

    fn update(
        &mut self,
        target: &Target<'_>,
        settings: &[String],
        mut values: Vec<Value>,
        host: &dyn Host,
    ) -> Result<Changed, Problem> {
        let condition = key::condition(&target.def)?;
        let text = format!("UPDATE {} SET {} WHERE {condition}", target.name(), settings.join(", "));
        values.extend(target.key.iter().cloned());
        self.change_one(&text, &values, host)
    }

    /// Runs a change of one row. 404 where there is none.
    fn change_one(&mut self, text: &str, values: &[Value], host: &dyn Host) -> Result<Changed, Problem> {
        match self.run(text, values, host)?.done.affected_rows {
            0 => Err(no_row()),
            rows => Ok(Changed {
                rows,
                ..Changed::default()
            }),
        }
    }

    /// Removes a row. 404 where there is none.
    pub(crate) fn delete(
        &mut self,
        target: &Target<'_>,
        condition: &Condition,
        host: &dyn Host,
    ) -> Result<Changed, Problem> {
        self.check_condition(target, condition, host)?;
        let text = format!("DELETE FROM {} WHERE {}", target.name(), key::condition(&target.def)?);
        self.change_one(&text, &target.key, host)
    }

    /// Adds rows, those with the same columns by one statement.
    pub(crate) fn insert(
        &mut self,
        database: &str,
        table: &str,
        rows: &[GivenRow],
        host: &dyn Host,
    ) -> Result<Changed, Problem> {
        let def = self.session(host)?.definition_of(database, table)?;
        let name = format!("{}.{}", quoted(database), quoted(table));
        let mut changed = Changed {
            created: true,
            ..Changed::default()
        };
        let same_columns = rows.chunk_by(|a, b| a.keys().eq(b.keys()));
        for chunk in same_columns.flat_map(|same| same.chunks(ROWS_AT_ONCE)) {
            let names: Vec<String> = chunk[0].keys().map(|name| quoted(name)).collect();
            let places = format!("({})", vec!["?"; names.len()].join(", "));
            let places = vec![places.as_str(); chunk.len()].join(", ");
            let mut values = Vec::with_capacity(names.len() * chunk.len());
            for row in chunk {
                for (name, given) in row.iter() {
                    values.push(value_in(&def, name, given)?);
                }
            }
            let text = format!("INSERT INTO {name} ({}) VALUES {places}", names.join(", "));
            let done = self.run(&text, &values, host)?.done;
            changed.rows += done.affected_rows;
            if changed.last_insert_id == 0 {
                changed.last_insert_id = done.last_insert_id;
            }
        }
        Ok(changed)
    }

    /// The row of a key in JSON.
    pub(crate) fn target<'a>(
        &mut self,
        database: &'a str,
        table: &'a str,
        key: &RawValue,
        host: &dyn Host,
    ) -> Result<Target<'a>, Problem> {
        let def = self.session(host)?.definition_of(database, table)?;
        Ok(Target {
            database,
            table,
            key: key::of_json(&def, key)?,
            def,
        })
    }
}

/// A value for a column. 1054 comes from the statement, where there is no such column.
fn value_in(def: &TableDef, name: &str, given: &RawValue) -> Result<Value, Problem> {
    match def.column(name) {
        Some(column) => key::value_of_json(given, &def.columns[column].ty),
        None => json::value_of(given),
    }
}

/// What is done with the row of a path.
enum Write {
    Put(GivenRow),
    Patch(GivenRow),
    Delete,
}

pub fn put(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    write(client, task, answer, Write::Put(task.request.json()?))
}

pub fn patch(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    write(client, task, answer, Write::Patch(task.request.json()?))
}

pub fn delete(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    write(client, task, answer, Write::Delete)
}

fn write(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>, write: Write) -> Result<(), Problem> {
    task.request.knows_only(&[])?;
    let (database, table) = (task.segment(0)?, task.segment(1)?);
    let texts = key::of_path(task.parameters[2])?;
    let def = client.session(task.host)?.definition_of(&database, &table)?;
    let target = Target {
        database: &database,
        table: &table,
        key: key::of_texts(&def, &texts)?,
        def,
    };
    let (condition, host) = (Condition::of(task.request), task.host);
    let (changed, tag) = client.atomically(host, |client| {
        let changed = match &write {
            Write::Put(row) => client.put(&target, row, &condition, host)?,
            Write::Patch(row) => client.patch(&target, row, &condition, host)?,
            Write::Delete => return Ok((client.delete(&target, &condition, host)?, None)),
        };
        // Who may write and not read gets no tag; whose key was changed, neither.
        Ok((changed, client.tag_of(&target, host).ok().flatten()))
    })?;
    answer.head.status = if changed.created { 201 } else { 204 };
    if let Some(tag) = tag {
        answer.head.header("etag", &tag);
    }
    if changed.created {
        answer.head.header("location", task.request.target.path);
        write_changed(&changed, &mut answer.body);
    }
    Ok(())
}

/// POST …/rows: one row, a list of rows, or one in each line (NDJSON).
pub fn insert(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    const NDJSON: &str = "application/x-ndjson";
    task.request.knows_only(&[])?;
    let (database, table) = (task.segment(0)?, task.segment(1)?);
    task.request.check_type(&["application/json", NDJSON])?;
    let is_lines = task.request.check_type(&[NDJSON]).is_ok();
    let body = task.request.body;
    let rows: List<GivenRow> = match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        _ if is_lines => {
            let lines = serde_json::Deserializer::from_slice(body).into_iter::<GivenRow>();
            let mut rows = Vec::new();
            for row in lines {
                rows.push(row.map_err(json::not_json)?);
                governor::tick().map_err(SqlError::from)?;
            }
            List(rows)
        }
        Some(b'[') => serde_json::from_slice(body).map_err(json::not_json)?,
        _ => List(vec![serde_json::from_slice(body).map_err(json::not_json)?]),
    };
    let host = task.host;
    let changed = client.atomically(host, |client| client.insert(&database, &table, &rows, host))?;
    answer.head.status = 201;
    write_changed(&changed, &mut answer.body);
    Ok(())
}

pub fn write_changed(changed: &Changed, out: &mut Vec<u8>) {
    let Changed {
        rows, last_insert_id, ..
    } = changed;
    out.extend_from_slice(format!("{{\"affected_rows\":{rows},\"last_insert_id\":{last_insert_id}}}").as_bytes());
}
