//! One client: its statements, and what their failures mean for its transaction.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mysql_client::{Answer, Client};

use crate::Level;
use crate::server::Server;

/// How long a client waits for a server that is being restarted.
const RESTART_TIMEOUT: Duration = Duration::from_secs(90);

/// Why a transaction has not come to its end. It has done nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Deadlock, conflict, timeout.
    Again,
    /// The connection is gone.
    Lost,
    /// An error that the workload may expect: 1062, 1451, 1452, 3572.
    Refused(u16),
    /// One that it may not.
    Unexpected(String),
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    Aborted,
    /// The answer to COMMIT was lost.
    Unknown,
}

const EXPECTED: [u16; 4] = [1062, 1451, 1452, 3572];
/// Lock wait timeout, deadlock or conflict.
const AGAIN: [u16; 2] = [1205, 1213];
/// A commit that met the server's end.
const DURING_COMMIT: [u16; 3] = [1180, 1053, 1317];

pub type Rows = Vec<Vec<Option<String>>>;

pub struct Session<'s> {
    server: &'s Server,
    level: Level,
    database: String,
    client: Option<Client>,
    in_transaction: bool,
}

impl<'s> Session<'s> {
    pub fn new(server: &'s Server, level: Level, database: &str) -> Session<'s> {
        Session {
            server,
            level,
            database: database.to_owned(),
            client: None,
            in_transaction: false,
        }
    }

    /// Connects, if need be, and begins.
    pub fn begin(&mut self) -> Result<(), Stop> {
        self.connect().map_err(|error| Stop::Unexpected(format!("{error:#}")))?;
        self.change("BEGIN")?;
        self.in_transaction = true;
        Ok(())
    }

    fn connect(&mut self) -> Result<()> {
        if self.client.is_some() {
            return Ok(());
        }
        let started = Instant::now();
        loop {
            match self.open() {
                Ok(client) => {
                    self.client = Some(client);
                    return Ok(());
                }
                Err(error) if started.elapsed() > RESTART_TIMEOUT => return Err(error).context("the server is away"),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn open(&self) -> Result<Client> {
        let mut client = self.server.connect(Some(&self.database))?;
        for sql in [
            format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", self.level.name()),
            "SET SESSION innodb_lock_wait_timeout = 5".to_owned(),
        ] {
            if let Answer::Error { message, .. } = client.query(&sql)? {
                anyhow::bail!("{sql}: {message}");
            }
        }
        Ok(client)
    }

    fn ask(&mut self, sql: &str) -> Result<Answer, Stop> {
        let client = self.client.as_mut().ok_or(Stop::Lost)?;
        match client.query(sql) {
            Ok(Answer::Error { code, .. }) if AGAIN.contains(&code) => Err(Stop::Again),
            Ok(Answer::Error { code, .. }) if EXPECTED.contains(&code) => Err(Stop::Refused(code)),
            Ok(Answer::Error { code, message, .. }) => match code {
                1047 | 1053 | 1317 => {
                    self.client = None;
                    Err(Stop::Lost)
                }
                _ => Err(Stop::Unexpected(format!("{sql}: {code} {message}"))),
            },
            Ok(answer) => Ok(answer),
            Err(_) => {
                self.client = None;
                Err(Stop::Lost)
            }
        }
    }

    /// A statement without rows; how many it has changed.
    pub fn change(&mut self, sql: &str) -> Result<u64, Stop> {
        match self.ask(sql)? {
            Answer::Ok { affected, .. } => Ok(affected),
            other => Err(Stop::Unexpected(format!("{sql}: {other:?}"))),
        }
    }

    pub fn rows(&mut self, sql: &str) -> Result<Rows, Stop> {
        let text = |value: Option<Vec<u8>>| value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        match self.ask(sql)? {
            Answer::Rows { rows, .. } => Ok(rows
                .into_iter()
                .map(|row| row.into_iter().map(text).collect())
                .collect()),
            other => Err(Stop::Unexpected(format!("{sql}: {other:?}"))),
        }
    }

    /// The first number of the first row, if there is one.
    pub fn number(&mut self, sql: &str) -> Result<Option<i64>, Stop> {
        let rows = self.rows(sql)?;
        let value = rows.first().and_then(|row| row.first()).and_then(Option::as_ref);
        match value.map(|text| text.parse()).transpose() {
            Ok(number) => Ok(number),
            Err(_) => Err(Stop::Unexpected(format!("{sql}: {rows:?}"))),
        }
    }

    pub fn commit(&mut self) -> Result<Outcome, Stop> {
        self.in_transaction = false;
        let Some(client) = self.client.as_mut() else {
            return Ok(Outcome::Aborted);
        };
        match client.query("COMMIT") {
            Ok(Answer::Ok { .. }) => Ok(Outcome::Committed),
            Ok(Answer::Error { code, .. }) if AGAIN.contains(&code) => Ok(Outcome::Aborted),
            Ok(Answer::Error { code, .. }) if DURING_COMMIT.contains(&code) => {
                self.client = None;
                Ok(Outcome::Unknown)
            }
            Ok(other) => Err(Stop::Unexpected(format!("COMMIT: {other:?}"))),
            Err(_) => {
                self.client = None;
                Ok(Outcome::Unknown)
            }
        }
    }

    /// Ends what is open; whoever comes next finds nothing of it.
    pub fn roll_back(&mut self) -> Result<(), Stop> {
        self.in_transaction = false;
        if self.client.is_none() {
            return Ok(());
        }
        match self.change("ROLLBACK") {
            Ok(_) | Err(Stop::Lost) => Ok(()),
            Err(stop) => Err(stop),
        }
    }

    /// Runs a transaction to its end: `body` says whether to commit. An unexpected error is the only one.
    pub fn transact(&mut self, body: impl FnOnce(&mut Self) -> Result<End, Stop>) -> Result<Outcome, String> {
        let ended = match self.begin().and_then(|()| body(self)) {
            Ok(End::Commit) => self.commit(),
            Ok(End::RollBack) | Err(Stop::Again | Stop::Lost | Stop::Refused(_)) => {
                self.roll_back().map(|()| Outcome::Aborted)
            }
            Err(stop) => Err(stop),
        };
        ended.map_err(|stop| match stop {
            Stop::Unexpected(what) => what,
            other => format!("{other:?}"),
        })
    }

    pub fn level(&self) -> Level {
        self.level
    }
}

/// What to do at a transaction's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Commit,
    RollBack,
}
