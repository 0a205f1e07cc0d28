//! POST /v1/read: many keys of many tables, all as they were at one moment.

use serde::Deserialize;
use sql_api::host::Host;

use crate::answer::Answer;
use crate::client::Client;
use crate::json::{self, Given, List, Numbers};
use crate::key;
use crate::problem::Problem;
use crate::request::numbers_named;
use crate::routes::Task;
use crate::rows::{Direct, Wanted};
use std::sync::Arc;

/// Keys whose rows are loaded from memory together. They stay in the core's nearest cache until they are read.
const KEYS_AHEAD: usize = 16;

/// Keys of one request.
pub const KEYS_MAX: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    reads: List<Read>,
    numbers: Option<String>,
}

/// Rows of one table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    database: Option<String>,
    table: String,
    keys: List<Given>,
    columns: Option<List<String>>,
}

impl Read {
    fn table(&self) -> Result<(&str, &str), Problem> {
        table_of(self.database.as_deref(), &self.table)
    }
}

/// `"table": "shop.orders"`, or with a `database` beside.
pub fn table_of<'n>(database: Option<&'n str>, table: &'n str) -> Result<(&'n str, &'n str), Problem> {
    match database {
        Some(database) => Ok((database, table)),
        None => table.split_once('.').ok_or_else(|| {
            Problem::bad_request(format!(
                "the table is `database.table`, or has a database beside it: {table}"
            ))
        }),
    }
}

/// Keys of a table, encoded one behind the other.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }
}

/// 413 for more keys than are read at once.
pub fn check_keys(keys: usize) -> Result<(), Problem> {
    match keys > KEYS_MAX {
        true => Err(Problem::new(
            413,
            "too-many-keys",
            "The request asks for too much",
            format!("{keys} keys; {KEYS_MAX} are read at once"),
        )),
        false => Ok(()),
    }
}

pub fn many(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let body: Body = task.request.json()?;
    let numbers = numbers_named(body.numbers.as_deref())?;
    // A read without keys looks at its table all the same.
    let keys: usize = body.reads.iter().map(|read| read.keys.len().max(1)).sum();
    check_keys(keys)?;
    for _ in 0..2 {
        if let Some(direct) = look_up(client, &body.reads, task.host)?
            && read_directly(client, &body.reads, &direct, numbers, task.host, answer)?
        {
            return Ok(());
        }
        client.forget_tables();
    }
    in_one_snapshot(client, task.host, |client| {
        read_by_statements(client, &body.reads, numbers, task.host, answer)
    })
}

/// Runs statements on one snapshot, if none is there already.
pub fn in_one_snapshot<T>(
    client: &mut Client,
    host: &dyn Host,
    work: impl FnOnce(&mut Client) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let is_own = !client.in_transaction();
    if is_own {
        client.command("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", host)?;
    }
    let done = work(client);
    if is_own && client.in_transaction() {
        client.command("ROLLBACK", host)?;
    }
    done
}

/// The tables, and the encoded keys, if all of them can be read without statements.
fn look_up(client: &mut Client, reads: &[Read], host: &dyn Host) -> Result<Option<Vec<(Arc<Direct>, Keys)>>, Problem> {
    let mut all = Vec::with_capacity(reads.len());
    for read in reads {
        let (database, table) = read.table()?;
        let columns = read.columns.as_ref().map(|columns| columns.join(","));
        let Some(direct) = client.direct(database, table, columns.as_deref(), host)? else {
            return Ok(None);
        };
        let mut keys = Keys::default();
        for given in read.keys.iter() {
            governor::tick().map_err(types::SqlError::from)?;
            if !write_key(&direct, given, &mut keys.bytes)? {
                return Ok(None);
            }
            keys.ends.push(keys.bytes.len());
        }
        all.push((direct, keys));
    }
    Ok(Some(all))
}

fn write_key(direct: &Direct, given: &Given, out: &mut Vec<u8>) -> Result<bool, Problem> {
    let text = given.get();
    match text.as_bytes().first() {
        Some(b'[') => {
            let parts: List<&serde_json::value::RawValue> = serde_json::from_str(text).map_err(json::not_json)?;
            let texts = parts
                .0
                .into_iter()
                .map(text_of)
                .collect::<Result<Option<Vec<_>>, _>>()?;
            Ok(texts.is_some_and(|texts| direct.by_key.write_key(texts.iter().map(|text| &**text), out)))
        }
        _ => match text_of(given)? {
            Some(text) => Ok(direct.by_key.write_key([&*text].into_iter(), out)),
            None => Ok(false),
        },
    }
}

/// Of a string or a number.
pub fn text_of(given: &serde_json::value::RawValue) -> Result<Option<std::borrow::Cow<'_, str>>, Problem> {
    let text = given.get();
    Ok(match text.as_bytes().first() {
        Some(b'"') if !text.contains('\\') => Some(text[1..text.len() - 1].into()),
        Some(b'"') => Some(serde_json::from_str::<String>(text).map_err(json::not_json)?.into()),
        Some(b'-' | b'0'..=b'9') => Some(text.into()),
        _ => None,
    })
}

fn read_directly(
    client: &mut Client,
    reads: &[Read],
    direct: &[(Arc<Direct>, Keys)],
    numbers: Numbers,
    host: &dyn Host,
    answer: &mut Answer<'_>,
) -> Result<bool, Problem> {
    let tables: Vec<_> = direct.iter().map(|(direct, _)| &direct.by_key).collect();
    let was_read = client.session(host)?.read_by_key(&tables, host, |moment| {
        answer.body.extend_from_slice(b"{\"reads\":[");
        for (at, (read, (direct, keys))) in reads.iter().zip(direct).enumerate() {
            begin_read(at, read, answer);
            let keys: Vec<&[u8]> = keys.iter().collect();
            for (at, key) in keys.iter().enumerate() {
                if at % KEYS_AHEAD == 0 {
                    moment.fetch_ahead(&direct.by_key, &keys[at..keys.len().min(at + KEYS_AHEAD)]);
                }
                if at > 0 {
                    answer.body.push(b',');
                }
                let found = moment.get(&direct.by_key, key, |row| direct.write(&row, numbers, &mut answer.body));
                if found.is_none() {
                    answer.body.extend_from_slice(b"null");
                }
                governor::tick()?;
                if answer.is_full() {
                    answer.flush(host)?;
                }
            }
            answer.body.extend_from_slice(b"]}");
        }
        answer.body.extend_from_slice(b"]}");
        Ok(())
    })?;
    Ok(was_read)
}

fn begin_read(at: usize, read: &Read, answer: &mut Answer<'_>) {
    if at > 0 {
        answer.body.push(b',');
    }
    answer.body.extend_from_slice(b"{\"table\":");
    json::write_text(&read.table, &mut answer.body);
    answer.body.extend_from_slice(b",\"rows\":[");
}

fn read_by_statements(
    client: &mut Client,
    reads: &[Read],
    numbers: Numbers,
    host: &dyn Host,
    answer: &mut Answer<'_>,
) -> Result<(), Problem> {
    answer.body.extend_from_slice(b"{\"reads\":[");
    for (at, read) in reads.iter().enumerate() {
        let (database, table) = read.table()?;
        let columns = read.columns.as_ref().map(|columns| columns.join(","));
        let def = client.session(host)?.definition_of(database, table)?;
        let wanted = Wanted {
            database,
            table,
            columns: columns.as_deref(),
            for_update: false,
        };
        begin_read(at, read, answer);
        for (at, given) in read.keys.iter().enumerate() {
            if at > 0 {
                answer.body.push(b',');
            }
            let key = key::of_json(&def, given)?;
            if !client.select_row(&wanted, &def, &key, numbers, host, &mut answer.body)? {
                answer.body.extend_from_slice(b"null");
            }
            if answer.is_full() {
                answer.flush(host)?;
            }
        }
        answer.body.extend_from_slice(b"]}");
    }
    answer.body.extend_from_slice(b"]}");
    Ok(())
}
