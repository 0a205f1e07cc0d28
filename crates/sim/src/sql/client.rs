//! A client's connection: it sends text or prepared statements, reads the answer, and knows what an error says of what was done.

use std::sync::Arc;
use std::time::Duration;

use env::SeededRandom;
use keyspace::Keyspace;
use sql::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};
use sql::session::{Session, SessionAccount, SessionOptions};
use types::{RowLayout, SqlError, SqlResult, Value};

use super::connections::Handle;
use super::host::SimHost;
use super::prepared::Statements;
use crate::workload::{Bench, Fail};

/// What a client is told of a statement.
#[derive(Debug, Default)]
pub struct Answer {
    pub columns: Vec<String>,
    /// As text.
    pub rows: Vec<Vec<String>>,
    pub affected_rows: u64,
    pub last_insert_id: u64,
}

impl Answer {
    pub fn number(&self, row: usize, column: usize) -> Option<i64> {
        self.rows.get(row)?.get(column)?.parse().ok()
    }
}

impl ResultSink for Answer {
    fn columns(&mut self, shape: &Arc<ResultShape>, _status: ServerStatus) -> Result<(), SqlError> {
        self.columns = shape.columns.iter().map(|column| column.name.clone()).collect();
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Result<(), SqlError> {
        self.rows.push(values.iter().map(Value::to_string).collect());
        Ok(())
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> Result<(), SqlError> {
        let value = |&column: &usize| layout.column(row, column).to_value().to_string();
        self.rows.push(projection.iter().map(value).collect());
        Ok(())
    }

    fn end(&mut self, _end: ResultEnd) -> Result<(), SqlError> {
        Ok(())
    }

    fn ok(&mut self, done: Done) -> Result<(), SqlError> {
        self.affected_rows = done.affected_rows;
        self.last_insert_id = done.last_insert_id;
        Ok(())
    }
}

/// Errors that say no more than that a client came in another's way, or that there is nobody to commit.
const USUAL: &[u16] = &[
    1021, // the disk of the node is full, and nothing was done
    1047, // no majority
    1180, // a commit whose outcome is not known
    1205, // a lock was waited for too long
    1213, // a deadlock, or locks that were lost
    1317, // killed
    3058, // named locks that were lost
    3572, // NOWAIT
];

/// One connection, for as long as it lasts.
pub struct Client<'a> {
    session: Session,
    /// `None`: this client sends text.
    prepared: Option<Statements>,
    pub(super) keys: keyspace::Session,
    pub(super) host: &'a SimHost<'a>,
    pub handle: Arc<Handle>,
    pub bench: Arc<Bench>,
    pub random: SeededRandom,
    pub node: u32,
    pub name: String,
    /// It ends its connection.
    pub leaves: bool,
}

/// Who a client is.
#[derive(Clone)]
pub struct Who {
    pub keyspace: Arc<Keyspace>,
    pub bench: Arc<Bench>,
    pub node: u32,
    pub name: String,
    pub seed: u64,
}

impl<'a> Client<'a> {
    pub fn connect(who: &Who, handle: &Arc<Handle>, host: &'a SimHost<'a>) -> SqlResult<Client<'a>> {
        let options = SessionOptions {
            connection_id: handle.id,
            user: "root".into(),
            host: "localhost".into(),
            account: root(),
            collation_id: 255,
            ..SessionOptions::default()
        };
        let mut client = Client {
            session: Session::new(who.keyspace.engine().clone(), options)?,
            prepared: who.seed.is_multiple_of(2).then(Statements::default),
            keys: super::keys::session(&who.keyspace, handle),
            host,
            handle: handle.clone(),
            bench: who.bench.clone(),
            random: SeededRandom::new(who.seed),
            node: who.node,
            name: who.name.clone(),
            leaves: false,
        };
        // None of these waits for others.
        for text in ["SET innodb_lock_wait_timeout = 2", "SET lock_wait_timeout = 3"] {
            client.session.query(text.as_bytes(), host, &mut Answer::default())?;
        }
        Ok(client)
    }

    /// Sends a statement. Only [`USUAL`] errors may come back, and those that the client `expects`.
    pub fn send(&mut self, text: &str, expects: &[u16]) -> SqlResult<Answer> {
        let mut answer = Answer::default();
        let done = self.watched("a statement", text, |client| client.ask(text, &mut answer));
        let trace = &self.bench.trace;
        match done {
            Ok(()) => {
                trace.note(format_args!(
                    "{}: {} rows, {} changed, {:?}",
                    self.name,
                    answer.rows.len(),
                    answer.affected_rows,
                    answer.rows.first()
                ));
                Ok(answer)
            }
            Err(error) => {
                trace.note(format_args!("{}: {} {}", self.name, error.code(), error.message()));
                if !USUAL.contains(&error.code()) && !expects.contains(&error.code()) {
                    self.complain(text, format_args!("{}: {}", error.code(), error.message()));
                }
                Err(error)
            }
        }
    }

    /// Does what others see as running, and which has to end.
    pub(super) fn watched<R>(&mut self, what: &'static str, text: &str, run: impl FnOnce(&mut Client<'a>) -> R) -> R {
        self.bench.trace.note(format_args!("{}: {text}", self.name));
        let operation = self.bench.begin(self.node, what, self.bench.trace.now());
        self.handle.begin(text);
        let done = run(self);
        self.handle.end();
        self.bench.ends.end(operation);
        done
    }

    /// That is no answer to what was asked.
    pub(super) fn complain(&self, text: &str, told: impl std::fmt::Display) {
        let name = &self.name;
        let what = format_args!("{name} asked {text} and was told {told}");
        self.bench.report.violation("answers", what);
    }

    fn ask(&mut self, text: &str, answer: &mut Answer) -> SqlResult<()> {
        let prepared = self.prepared.as_mut();
        match prepared.and_then(|statements| statements.run(&mut self.session, text, self.host, answer)) {
            Some(done) => done,
            None => self.session.query(text.as_bytes(), self.host, answer),
        }
    }

    pub fn run(&mut self, text: &str) -> Result<Answer, Fail> {
        self.send(text, &[]).map_err(|error| fail(&error))
    }

    /// Runs statements in a transaction. Whatever fails in it ends it, and then nothing of it was done, unless its commit is not known.
    pub fn in_transaction<T>(&mut self, body: impl FnOnce(&mut Client<'a>) -> Result<T, Fail>) -> Result<T, Fail> {
        self.run("BEGIN")?;
        match body(self) {
            Ok(value) => self.run("COMMIT").map(|_| value),
            Err(fail) => {
                // Where it fails, too, the transaction has ended before.
                drop(self.send("ROLLBACK", &[]));
                Err(match fail {
                    // It was not about the commit.
                    Fail::Unknown(reason) | Fail::No(reason) => Fail::No(reason),
                })
            }
        }
    }

    pub fn is_in_transaction(&self) -> bool {
        self.session.status().contains(ServerStatus::IN_TRANS)
    }

    pub fn sleep(&self, milliseconds: u64) {
        self.host.sleep(Duration::from_millis(milliseconds));
    }

    /// A client may take its time between two statements, with its locks held.
    pub fn think(&self) {
        if self.random.below(3) == 0 {
            self.sleep(self.random.below(40));
        }
    }
}

/// Whom all clients are.
pub fn root() -> SessionAccount {
    SessionAccount::Account {
        user: "root".into(),
        host: "localhost".into(),
    }
}

/// What an error says of the statement.
pub fn fail(error: &SqlError) -> Fail {
    let said = format!("{} {}", error.code(), error.message());
    match is_unknown(error.message()) {
        true => Fail::Unknown(said),
        false => Fail::No(said),
    }
}

/// Whether that may have been done of which an error says this.
pub fn is_unknown(message: &str) -> bool {
    message.contains("it is not known whether") || message.contains("and is forgotten")
}
