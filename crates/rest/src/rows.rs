//! Rows by key: straight from the stored bytes where no statement is needed.

use std::borrow::Cow;
use std::sync::Arc;

use catalog::TableDef;
use sql::plan::text::name as quoted;
use sql::session::by_key::{ByKey, FoundRow};
use sql_api::host::Host;
use types::{SqlResult, Value};

use crate::answer::Answer;
use crate::client::Client;
use crate::etag;
use crate::json::{self, Numbers};
use crate::key;
use crate::problem::Problem;
use crate::routes::Task;

/// Tables that a client is remembered to have read.
const KNOWN_MAX: usize = 32;

/// A table as a client reads it by key.
pub struct Known {
    database: Box<str>,
    table: Box<str>,
    columns: Option<Box<str>>,
    resolved: Resolved,
}

/// None: it takes a statement.
type Resolved = Option<Arc<Direct>>;

/// A table that can be read without statements.
pub struct Direct {
    pub by_key: ByKey,
    /// `"name":` of each column, with a comma before all but the first.
    names: Vec<Box<[u8]>>,
}

impl Direct {
    fn new(by_key: ByKey) -> Direct {
        let name = |(at, (name, _)): (usize, (&str, _))| {
            let mut text = Vec::new();
            if at > 0 {
                text.push(b',');
            }
            json::write_text(name, &mut text);
            text.push(b':');
            text.into_boxed_slice()
        };
        let names = by_key.columns().enumerate().map(name).collect();
        Direct { by_key, names }
    }

    /// Appends a row as an object.
    #[inline]
    pub fn write(&self, row: &FoundRow<'_>, numbers: Numbers, out: &mut Vec<u8>) {
        out.push(b'{');
        for ((value, (_, ty)), name) in row.values().zip(self.by_key.columns()).zip(&self.names) {
            out.extend_from_slice(name);
            json::write_cell(value, Some(ty), numbers, out);
        }
        out.push(b'}');
    }
}

impl Client {
    /// How a table is read by key; looked up once for a version of the catalog.
    pub(crate) fn direct(
        &mut self,
        database: &str,
        table: &str,
        columns: Option<&str>,
        host: &dyn Host,
    ) -> SqlResult<Resolved> {
        let version = self.rest.catalog_version();
        let is_asked = |known: &Known| {
            *known.table == *table && *known.database == *database && known.columns.as_deref() == columns
        };
        if let Some(at) = self.known.iter().position(is_asked) {
            match &self.known[at].resolved {
                Some(direct) if direct.by_key.is_of(version) => return Ok(Some(direct.clone())),
                _ => drop(self.known.swap_remove(at)),
            }
        }
        let names: Option<Vec<&str>> = columns.map(|columns| columns.split(',').collect());
        let found = self.session(host)?.by_key(database, table, names.as_deref())?;
        let resolved = found.map(|by_key| Arc::new(Direct::new(by_key)));
        if resolved.is_some() {
            if self.known.len() >= KNOWN_MAX {
                self.known.swap_remove(0);
            }
            self.known.push(Known {
                database: database.into(),
                table: table.into(),
                columns: columns.map(Into::into),
                resolved: resolved.clone(),
            });
        }
        Ok(resolved)
    }

    pub(crate) fn forget_tables(&mut self) {
        self.known.clear();
    }

    /// Appends a row that is read by a statement, all columns that `*` means or those named; false: there is none.
    pub(crate) fn select_row(
        &mut self,
        wanted: &Wanted<'_>,
        def: &TableDef,
        key: &[Value],
        numbers: Numbers,
        host: &dyn Host,
        out: &mut Vec<u8>,
    ) -> Result<bool, Problem> {
        let text = format!(
            "SELECT {} FROM {}.{} WHERE {}{}",
            wanted.column_list(),
            quoted(wanted.database),
            quoted(wanted.table),
            key::condition(def)?,
            if wanted.for_update { " FOR UPDATE" } else { "" }
        );
        let found = self.run(&text, key, host)?;
        if found.is_empty() {
            return Ok(false);
        }
        write_object(&found, 0, numbers, out);
        Ok(true)
    }
}

/// What of a row is wanted.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub database: &'a str,
    pub table: &'a str,
    pub columns: Option<&'a str>,
    pub for_update: bool,
}

impl Wanted<'_> {
    pub fn column_list(&self) -> String {
        column_list(self.columns)
    }
}

/// `columns=a,b` in a statement.
pub fn column_list(columns: Option<&str>) -> String {
    match columns {
        None => "*".to_owned(),
        Some(columns) => columns.split(',').map(quoted).collect::<Vec<_>>().join(", "),
    }
}

/// Appends a row of a result as an object.
pub fn write_object(rows: &sql::result::BufferedRows, at: usize, numbers: Numbers, out: &mut Vec<u8>) {
    let columns = rows.shape().map_or(&[][..], |shape| &shape.columns);
    out.push(b'{');
    for (i, (column, value)) in columns.iter().zip(rows.row(at)).enumerate() {
        if i > 0 {
            out.push(b',');
        }
        json::write_text(&column.name, out);
        out.push(b':');
        json::write_cell(value.as_ref(), Some(&column.ty), numbers, out);
    }
    out.push(b'}');
}

/// GET …/rows/{key}
pub fn get(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let request = task.request;
    request.knows_only(&["columns", "numbers"])?;
    let (database, table) = (task.segment(0)?, task.segment(1)?);
    let texts = key::of_path(task.parameters[2])?;
    let (columns, numbers) = (request.columns()?, request.numbers()?);
    let is_found = read_one(
        client,
        task.host,
        &Wanted {
            database: &database,
            table: &table,
            columns: columns.as_deref(),
            for_update: false,
        },
        &texts,
        numbers,
        &mut answer.body,
    )?;
    if !is_found {
        return Err(no_row());
    }
    let tag = etag::tag(&answer.body, columns.is_none() && numbers == Numbers::Default);
    answer.head.header("etag", &tag);
    if etag::is_known(request, &tag) {
        answer.head.status = 304;
        answer.body.clear();
    }
    Ok(())
}

/// Appends one row, from the stored bytes where that can be; false: there is none.
fn read_one(
    client: &mut Client,
    host: &dyn Host,
    wanted: &Wanted<'_>,
    texts: &[Cow<'_, str>],
    numbers: Numbers,
    out: &mut Vec<u8>,
) -> Result<bool, Problem> {
    // Once more where the table was changed in between.
    for _ in 0..2 {
        let Some(direct) = client.direct(wanted.database, wanted.table, wanted.columns, host)? else {
            break;
        };
        let mut key = std::mem::take(&mut client.key);
        key.clear();
        let mut found = None;
        let mut was_read = false;
        if direct.by_key.write_key(texts.iter().map(|text| &**text), &mut key) {
            was_read = client.session(host)?.read_by_key(&[&direct.by_key], host, |moment| {
                found = moment.get(&direct.by_key, &key, |row| direct.write(&row, numbers, out));
                Ok(())
            })?;
        }
        client.key = key;
        if was_read {
            return Ok(found.is_some());
        }
    }
    client.forget_tables();
    let def = client.session(host)?.definition_of(wanted.database, wanted.table)?;
    let key = key::of_texts(&def, texts)?;
    client.select_row(wanted, &def, &key, numbers, host, out)
}

pub fn no_row() -> Problem {
    Problem::not_found("there is no row with this key")
}
