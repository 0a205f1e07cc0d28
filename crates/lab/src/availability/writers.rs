//! The ledger's writers: each on its own thread and connection, one write after the other, through whatever happens.
//!
//! A writer belongs to a server and comes back to it, so that each server's own gap can be told. A write is sent once; what
//! its answer leaves open stays open in the ledger.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use lab_driver::{Control, DriverError, Stop, Target};
use lab_results::UnixMicros;
use lab_results::rung::ErrorCount;

use super::ledger::{Entry, Fate, Op, Read};
use crate::clock;

pub const LEDGER: &str = "lab_ledger";
pub const COUNTERS: &str = "lab_counters";

/// Rows of the ledger that one statement reads.
const READ_ROWS: usize = 10_000;
const BACKOFF: Duration = Duration::from_millis(20);

/// Errors after which a server has certainly rolled the transaction back, or never began it: deadlock, lock wait timeout, changed
/// row, read-only, not ready in its cluster, too many connections, no such database, access denied.
const ROLLED_BACK: &[u16] = &[1213, 1205, 1020, 1290, 1836, 1792, 1047, 1040, 1049, 1044, 1045];

/// An error, when it came and from whom.
#[derive(Debug, Clone)]
pub struct Failure {
    pub at: UnixMicros,
    pub server: usize,
    pub code: u16,
    pub sqlstate: String,
    pub message: String,
    pub statement: &'static str,
}

/// What one writer leaves behind.
#[derive(Debug, Default)]
pub struct Written {
    pub entries: Vec<Entry>,
    pub failures: Vec<Failure>,
}

pub struct Writers {
    stop: Stop,
    threads: Vec<JoinHandle<Written>>,
}

impl Writers {
    /// `count` writers, spread over the target's servers; an answer may take `limit`.
    pub fn start(target: &Target, count: u32, limit: Duration) -> Result<Writers> {
        let stop = Stop::new();
        let next = Arc::new(AtomicI64::new(1));
        let servers = target.servers.len().max(1);
        let threads = (0..count)
            .map(|number| {
                let mut writer = Writer {
                    target: target.clone(),
                    server: number as usize % servers,
                    number,
                    limit,
                    stop: stop.clone(),
                    next: next.clone(),
                    connection: None,
                    written: Written::default(),
                };
                thread::Builder::new()
                    .name(format!("writer-{number}"))
                    .spawn(move || {
                        writer.write();
                        writer.written
                    })
                    .context("cannot start a writer's thread")
            })
            .collect::<Result<_>>()?;
        Ok(Writers { stop, threads })
    }

    /// Ends them after their current write and collects the ledger.
    pub fn finish(self) -> Written {
        self.stop.request();
        let mut all = Written::default();
        for thread in self.threads {
            let written = thread.join().expect("a writer does not panic");
            all.entries.extend(written.entries);
            all.failures.extend(written.failures);
        }
        all.entries.sort_by_key(|entry| entry.ended);
        all.failures.sort_by_key(|failure| failure.at);
        all
    }
}

struct Writer {
    target: Target,
    server: usize,
    number: u32,
    limit: Duration,
    stop: Stop,
    next: Arc<AtomicI64>,
    connection: Option<Control>,
    written: Written,
}

impl Writer {
    fn write(&mut self) {
        while !self.stop.is_requested() {
            if !self.connected() {
                thread::sleep(BACKOFF);
                continue;
            }
            let op = self.next.fetch_add(1, Ordering::Relaxed);
            let counted = op % 2 == 0;
            let sent = clock::now();
            let fate = match if counted { self.transaction(op) } else { self.insert(op) } {
                Ok(()) => Fate::Acknowledged,
                Err(fate) => fate,
            };
            self.written.entries.push(Entry {
                op,
                server: self.server,
                writer: self.number,
                counted,
                sent,
                ended: clock::now(),
                fate,
            });
        }
    }

    fn connected(&mut self) -> bool {
        if self.connection.is_some() {
            return true;
        }
        match Control::connect_within(&self.target, &self.target.servers[self.server], self.limit) {
            Ok(connection) => {
                self.connection = Some(connection);
                true
            }
            Err(error) => {
                self.failed(&error, "connect");
                false
            }
        }
    }

    fn insert(&mut self, op: Op) -> Result<(), Fate> {
        self.last(
            &format!("INSERT INTO {LEDGER} (op, writer) VALUES ({op}, {})", self.number),
            "insert",
        )
    }

    fn transaction(&mut self, op: Op) -> Result<(), Fate> {
        let writer = self.number;
        for (sql, statement) in [
            ("BEGIN".to_owned(), "begin"),
            (
                format!("INSERT INTO {LEDGER} (op, writer) VALUES ({op}, {writer})"),
                "insert",
            ),
            (
                format!("UPDATE {COUNTERS} SET n = n + 1 WHERE writer = {writer}"),
                "update",
            ),
        ] {
            if let Err(error) = self.ask(&sql) {
                // COMMIT was never sent: whatever the server did, it did not commit.
                self.failed(&error, statement);
                self.abandon(&error);
                return Err(Fate::Refused);
            }
        }
        self.last("COMMIT", "commit")
    }

    /// The statement that commits.
    fn last(&mut self, sql: &str, statement: &'static str) -> Result<(), Fate> {
        let Err(error) = self.ask(sql) else {
            return Ok(());
        };
        self.failed(&error, statement);
        self.abandon(&error);
        match error {
            DriverError::Server { code, .. } if ROLLED_BACK.contains(&code) => Err(Fate::Refused),
            _ => Err(Fate::Unknown),
        }
    }

    fn ask(&mut self, sql: &str) -> Result<(), DriverError> {
        let connection = self.connection.as_mut().expect("a write begins with a connection");
        connection.query(sql).map(|_| ())
    }

    /// After an error nothing of the transaction may go on; a new connection is the surest end of it.
    fn abandon(&mut self, error: &DriverError) {
        let went_on = matches!(error, DriverError::Server { .. })
            && self
                .connection
                .as_mut()
                .is_some_and(|connection| connection.query("ROLLBACK").is_ok());
        if !went_on {
            self.connection = None;
            thread::sleep(BACKOFF);
        }
    }

    fn failed(&mut self, error: &DriverError, statement: &'static str) {
        let (code, sqlstate, message) = match error {
            DriverError::Server {
                code,
                sqlstate,
                message,
                ..
            } => (*code, sqlstate.clone(), message.clone()),
            DriverError::Io { source, .. } if matches!(source.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                (0, String::new(), format!("no answer within {:?}", self.limit))
            }
            other => (0, String::new(), other.to_string()),
        };
        self.written.failures.push(Failure {
            at: clock::now(),
            server: self.server,
            code,
            sqlstate,
            message,
            statement,
        });
    }
}

/// Makes the empty ledger, with a row for each writer's counter. The numbers are no key: a write that is there twice must be seen.
pub fn prepare(target: &Target, writers: u32) -> Result<()> {
    let server = target.servers.first().context("the target has no server")?;
    let mut control = Control::connect_without_database(target, server)?;
    control.query(&format!("CREATE DATABASE IF NOT EXISTS `{}`", target.database))?;
    control.query(&format!("USE `{}`", target.database))?;
    for table in [LEDGER, COUNTERS] {
        control.query(&format!("DROP TABLE IF EXISTS {table}"))?;
    }
    control.query(&format!(
        "CREATE TABLE {LEDGER} (id BIGINT NOT NULL AUTO_INCREMENT, op BIGINT NOT NULL, writer INT NOT NULL, PRIMARY KEY (id), KEY op \
         (op))"
    ))?;
    control.query(&format!(
        "CREATE TABLE {COUNTERS} (writer INT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (writer))"
    ))?;
    for writer in 0..writers {
        control.query(&format!("INSERT INTO {COUNTERS} (writer, n) VALUES ({writer}, 0)"))?;
    }
    Ok(())
}

/// Reads the ledger's tables as `server` has them.
pub fn read(target: &Target, server: &str) -> Result<Read> {
    let mut control = Control::connect(target, server)?;
    let mut read = Read::default();
    let mut after: i64 = 0;
    loop {
        let answer = control.query(&format!(
            "SELECT id, op FROM {LEDGER} WHERE id > {after} ORDER BY id LIMIT {READ_ROWS}"
        ))?;
        for row in &answer.rows {
            let (id, op) = pair(row)?;
            after = id;
            *read.rows.entry(op).or_default() += 1;
        }
        if answer.rows.len() < READ_ROWS {
            break;
        }
    }
    for row in &control.query(&format!("SELECT writer, n FROM {COUNTERS}"))?.rows {
        let (writer, n) = pair(row)?;
        read.counters
            .insert(u32::try_from(writer).context("a writer's number")?, n);
    }
    Ok(read)
}

fn pair(row: &[Option<String>]) -> Result<(i64, i64)> {
    let number = |place: usize| -> Result<i64> {
        let value = row.get(place).and_then(|value| value.as_deref());
        value
            .and_then(|value| value.parse().ok())
            .with_context(|| format!("the ledger holds {value:?} where a number belongs"))
    };
    Ok((number(0)?, number(1)?))
}

/// Errors by code, statement and server, with the first message of each.
pub fn counted<'a>(failures: impl Iterator<Item = &'a Failure>, servers: &[String]) -> Vec<ErrorCount> {
    let mut counts: BTreeMap<(u16, String), ErrorCount> = BTreeMap::new();
    for failure in failures {
        let server = servers.get(failure.server).map_or("?", String::as_str);
        let statement = format!("{} on {server}", failure.statement);
        counts
            .entry((failure.code, statement.clone()))
            .or_insert_with(|| ErrorCount {
                code: failure.code,
                sqlstate: failure.sqlstate.clone(),
                message: failure.message.clone(),
                statement,
                count: 0,
            })
            .count += 1;
    }
    counts.into_values().collect()
}
