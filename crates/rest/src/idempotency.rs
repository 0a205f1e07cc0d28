//! Writes that may be sent twice: `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
//!
//! The key and the answer are a row of `latsdb_rest.idempotency` that is committed with the write. Whoever sends the same request again, to whichever
//! node, gets the first answer; while the first one runs, he waits for its row's lock.
//!
//! What has changed nothing is not kept, whether it has failed or was a read: it may be done again, and an account without any right can ask it without end.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use sha2::{Digest, Sha256};
use sql_api::host::Host;
use sql_api::session::{SessionAccount, SessionOptions};
use types::{ErrorKind, SqlError, SqlResult, Value};

use crate::answer::{Answer, Head, JSON, Outlet};
use crate::client::Client;
use crate::problem::{self, Problem};
use crate::routes::{Kind, Route, Task};

/// The longest key.
const KEY_MAX: usize = 255;
/// Bytes of the longest answer that is kept.
const ANSWER_MAX: usize = 1 << 20;
const TOO_LONG: &str = "the answer to a request with an idempotency key is longer than 1 MiB";
/// One request in so many removes what has expired.
const BETWEEN_CLEANUPS: u32 = 64;

/// Whether the table is there, and when it was cleaned up.
#[derive(Default)]
pub struct Store {
    is_there: AtomicBool,
    used: AtomicU32,
}

/// Runs an operation; a write that has a key only once.
pub fn guard(client: &mut Client, route: &Route, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let key = match route.kind {
        Kind::Write => task.request.headers.get("idempotency-key"),
        Kind::Read | Kind::Other => None,
    };
    let Some(key) = key else {
        return (route.run)(client, task, answer);
    };
    if key.is_empty() || key.len() > KEY_MAX {
        return Err(Problem::bad_request(format!(
            "an idempotency key has 1 to {KEY_MAX} bytes"
        )));
    }
    if client.is_transaction || client.in_transaction() {
        return Err(Problem::bad_request(
            "within a transaction, its commit decides: no idempotency keys",
        ));
    }
    make_table(client, task.host)?;
    let row = Row {
        key: match &client.identity.account {
            SessionAccount::Account { user, host } => hash(&[user.as_bytes(), host.as_bytes(), key]),
            // Nobody's account, also where one has the name that is shown for it.
            SessionAccount::Server => hash(&[key]),
        },
        request: hash(&[
            task.request.method,
            task.request.target.path.as_bytes(),
            task.request.target.query.as_bytes(),
            task.request.body,
        ]),
    };
    let before = State::of(client, task.host)?;
    let outcome = client.atomically(task.host, |client| once(client, route, task, &row));
    if let Err(problem) = &outcome
        && problem.status < 500
        && State::of(client, task.host)? == before.with_the_key()
    {
        // A statement that has failed had committed it.
        forget(client, &row, task.host)?;
    }
    let kept = outcome?;
    answer.head = kept.head;
    answer.body = kept.body;
    clean_up(client, task.host);
    Ok(())
}

/// What there is to see of a request's changes.
#[derive(PartialEq, Eq)]
struct State {
    changed_rows: u64,
    catalog_version: u64,
}

impl State {
    fn of(client: &mut Client, host: &dyn Host) -> SqlResult<State> {
        Ok(State {
            changed_rows: client.session(host)?.changed_rows(),
            catalog_version: client.rest.catalog_version(),
        })
    }

    /// As it is where the key's row is all that has been changed.
    fn with_the_key(self) -> State {
        State {
            changed_rows: self.changed_rows + 1,
            ..self
        }
    }
}

struct Row {
    key: Vec<u8>,
    request: Vec<u8>,
}

/// An answer that is kept.
struct Kept {
    head: Head,
    body: Vec<u8>,
}

/// Answers are collected, as they are part of the transaction.
#[derive(Default)]
struct Collected(Vec<u8>);

impl Outlet for Collected {
    fn send(&mut self, _head: &Head, body: &mut Vec<u8>, _host: &dyn Host) -> SqlResult<()> {
        if self.0.len() + body.len() > ANSWER_MAX {
            return Err(SqlError::with_message(ErrorKind::UnknownError, TOO_LONG));
        }
        self.0.append(body);
        Ok(())
    }
}

fn once(client: &mut Client, route: &Route, task: &Task<'_>, row: &Row) -> Result<Kept, Problem> {
    const INSERT: &str =
        "INSERT INTO latsdb_rest.idempotency (id, request, expires) VALUES (?, ?, UTC_TIMESTAMP() + INTERVAL 24 HOUR)";
    const UPDATE: &str =
        "UPDATE latsdb_rest.idempotency SET status = ?, content_type = ?, headers = ?, body = ? WHERE id = ?";
    let host = task.host;
    let inserted = client.run_as_server(INSERT, &[Value::bytes(&row.key), Value::bytes(&row.request)], host);
    match inserted {
        Err(error) if error.kind() == ErrorKind::DupEntry || error.code() == 1062 => {
            return first_answer(client, row, host);
        }
        inserted => drop(inserted?),
    }
    let before = State::of(client, host)?;
    let mut outlet = Collected::default();
    let mut answer = Answer::new(Vec::new(), &mut outlet);
    client.atomically(host, |client| {
        answer.body.clear();
        answer.head = Head::new(200);
        (route.run)(client, task, &mut answer)
    })?;
    let (head, rest) = answer.into_parts();
    let mut body = outlet.0;
    body.extend_from_slice(&rest);
    if body.len() > ANSWER_MAX {
        return Err(Problem::bad_request(TOO_LONG));
    }
    let after = State::of(client, host)?;
    if after.changed_rows <= before.changed_rows && after.catalog_version == before.catalog_version {
        forget(client, row, host)?;
        return Ok(Kept { head, body });
    }
    let kept = [
        Value::Int(head.status.into()),
        Value::str(head.content_type),
        Value::bytes(&head.headers),
        Value::bytes(&body),
        Value::bytes(&row.key),
    ];
    client.run_as_server(UPDATE, &kept, host)?;
    Ok(Kept { head, body })
}

fn forget(client: &mut Client, row: &Row, host: &dyn Host) -> SqlResult<()> {
    const DELETE: &str = "DELETE FROM latsdb_rest.idempotency WHERE id = ?";
    client.run_as_server(DELETE, &[Value::bytes(&row.key)], host).map(drop)
}

/// What the first request with this key was answered.
fn first_answer(client: &mut Client, row: &Row, host: &dyn Host) -> Result<Kept, Problem> {
    const SELECT: &str =
        "SELECT request, status, content_type, headers, body FROM latsdb_rest.idempotency WHERE id = ? FOR UPDATE";
    let found = client.run_as_server(SELECT, &[Value::bytes(&row.key)], host)?;
    let is_of = |value: &Value, bytes: &[u8]| matches!(value, Value::Bytes(found) if **found == *bytes);
    let bytes = |value: &Value| value.as_ref().text_bytes().into_owned();
    if found.is_empty() {
        return Err(Problem {
            retry: true,
            ..Problem::new(
                409,
                "conflict",
                "Another transaction was in the way",
                "the first request has just failed",
            )
        });
    }
    let values = found.row(0);
    if !is_of(&values[0], &row.request) {
        return Err(Problem::new(
            422,
            "idempotency-key-reused",
            "The idempotency key is another request's",
            "the same key was sent with another path or body",
        ));
    }
    let status = match values[1] {
        Value::Int(status) => status as u16,
        Value::UInt(status) => status as u16,
        _ => return Err(Problem::not_implemented("the first request has left no answer")),
    };
    let mut head = Head::new(status);
    head.content_type = match &*values[2].as_ref().text() {
        JSON => JSON,
        problem::CONTENT_TYPE => problem::CONTENT_TYPE,
        crate::arrow::CONTENT_TYPE => crate::arrow::CONTENT_TYPE,
        crate::answer::NDJSON => crate::answer::NDJSON,
        _ => "application/octet-stream",
    };
    head.headers = bytes(&values[3]);
    head.header("idempotency-replayed", "true");
    Ok(Kept {
        head,
        body: bytes(&values[4]),
    })
}

fn hash(parts: &[&[u8]]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().to_vec()
}

fn make_table(client: &mut Client, host: &dyn Host) -> Result<(), Problem> {
    const STATEMENTS: [&str; 2] = [
        "CREATE DATABASE IF NOT EXISTS latsdb_rest",
        "CREATE TABLE IF NOT EXISTS latsdb_rest.idempotency (id BINARY(32) NOT NULL PRIMARY KEY, request BINARY(32) NOT NULL, \
         expires DATETIME NOT NULL, status SMALLINT UNSIGNED, content_type VARCHAR(100), headers BLOB, body MEDIUMBLOB, \
         KEY (expires))",
    ];
    let rest = client.rest.clone();
    let is_there = || rest.engine.catalog().table("latsdb_rest", "idempotency").is_some();
    if rest.idempotency.is_there.load(Relaxed) && is_there() {
        return Ok(());
    }
    if rest.engine.catalog().view("latsdb_rest", "idempotency").is_some() {
        // It is written with all rights, and a view leads to rows of anybody's choice.
        return Err(Problem::not_implemented(
            "latsdb_rest.idempotency is a view: keys are kept in a table of this name",
        ));
    }
    if !is_there() {
        let mut session = sql::session::Session::new(rest.engine.clone(), SessionOptions::default())?;
        for statement in STATEMENTS {
            session.query(statement.as_bytes(), host, &mut sql::result::BufferedRows::default())?;
        }
    }
    rest.idempotency.is_there.store(true, Relaxed);
    Ok(())
}

/// Now and then removes what has expired. Whether it succeeds is no matter of this request.
fn clean_up(client: &mut Client, host: &dyn Host) {
    const DELETE: &str = "DELETE FROM latsdb_rest.idempotency WHERE expires < UTC_TIMESTAMP() LIMIT 1000";
    if client.rest.idempotency.used.fetch_add(1, Relaxed) % BETWEEN_CLEANUPS == BETWEEN_CLEANUPS - 1 {
        let _ = client.run_as_server(DELETE, &[], host);
    }
}
