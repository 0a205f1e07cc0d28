//! Running one schedule at one level against one server.
//!
//! A statement that does not answer may be slow, or wait for a lock. The server says which: a connection of the runner's own looks
//! at the process list and the lock waits until the statement has answered or is said to wait. So a slow machine makes a run slow,
//! not wrong. Who is let go by a step is known from the recorded answers; where there are none, everybody who waits is given some
//! time to be.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mysql_client::{Answer, Client, Login};

use crate::schedule::{Level, Schedule, Step};

/// How often the server is asked whether a statement waits.
const POLL: Duration = Duration::from_millis(4);
/// How long a wait has to be where nobody knows what to expect: some end by themselves, as that for a victim that is rolled back.
const UNKNOWN: Duration = Duration::from_millis(500);
/// How long it has to be where an answer is expected.
const UNEXPECTED: Duration = Duration::from_secs(3);
/// What no answer takes.
const NEVER: Duration = Duration::from_secs(60);

pub const WAITS: &str = "waits";
/// A statement of a session that waits, or is gone.
pub const LEFT_OUT: &str = "left out";
pub const GONE: &str = "connection lost";

/// One server, or several nodes of a cluster, to which sessions go in turn.
pub struct Server {
    addresses: Vec<String>,
    user: String,
    password: String,
    pub kind: Kind,
    pub version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Latsdb,
    Mysql,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Latsdb, Kind::Mysql];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Latsdb => "latsdb",
            Kind::Mysql => "mysql",
        }
    }
}

impl Server {
    pub fn open(addresses: Vec<String>, user: &str, password: &str) -> Result<Server> {
        let mut server = Server {
            addresses,
            user: user.to_owned(),
            password: password.to_owned(),
            kind: Kind::Latsdb,
            version: String::new(),
        };
        let client = server.connect(0)?;
        server.version = client.server_version.clone();
        server.kind = match &client.server_version {
            version if version.contains("LatsDB") => Kind::Latsdb,
            version if version.contains("MariaDB") => bail!("nothing is recorded of MariaDB"),
            _ => Kind::Mysql,
        };
        Ok(server)
    }

    /// To the node of that place, counted around.
    fn connect(&self, place: usize) -> Result<Client> {
        let login = Login {
            address: &self.addresses[place % self.addresses.len()],
            user: &self.user,
            password: &self.password,
            database: None,
            program_name: "schedules",
        };
        Ok(Client::connect(&login)?)
    }

    /// What brings a session to a level.
    fn settings(&self, level: Level) -> Vec<String> {
        let mut all = vec![
            format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", level.standard_name()),
            "SET SESSION innodb_lock_wait_timeout = 50".to_owned(),
            "SET SESSION lock_wait_timeout = 50".to_owned(),
        ];
        if self.kind == Kind::Latsdb {
            let is_snapshot = if level == Level::Compatible { "OFF" } else { "ON" };
            all.push(format!("SET SESSION snapshot_isolation = {is_snapshot}"));
        }
        all
    }

    /// Counts what a connection waits for.
    fn waits_of(&self, connection: u32) -> String {
        let listed = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {connection} AND (state LIKE 'Waiting for%lock' OR state = 'User lock')"
        );
        match self.kind {
            Kind::Latsdb => listed,
            Kind::Mysql => format!(
                "SELECT ({listed}) + (SELECT COUNT(*) FROM performance_schema.data_lock_waits w \
                 JOIN performance_schema.threads t ON t.thread_id = w.requesting_thread_id \
                 WHERE t.processlist_id = {connection})"
            ),
        }
    }
}

/// One connection on a thread of its own.
struct Session {
    connection: u32,
    statements: Sender<String>,
    answers: Receiver<Option<Answer>>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Waiting,
    Gone,
}

impl Session {
    fn open(mut client: Client) -> Session {
        let (statements, to_run) = mpsc::channel::<String>();
        let (answered, answers) = mpsc::channel();
        let connection = client.connection_id;
        thread::spawn(move || {
            for sql in to_run {
                let answer = client.query(&sql).ok();
                let is_gone = answer.is_none();
                if answered.send(answer).is_err() || is_gone {
                    break;
                }
            }
        });
        Session {
            connection,
            statements,
            answers,
            state: State::Ready,
        }
    }

    fn send(&mut self, sql: String) {
        // Who is gone does not answer, which is noticed there.
        let _ = self.statements.send(sql);
    }

    /// The answer, or `None` where the server says that it waits, and it has not answered for at least this long.
    fn answer_or_wait(&mut self, least: Duration, observer: &mut Client, server: &Server) -> Result<Option<String>> {
        let started = Instant::now();
        while started.elapsed() < NEVER {
            // Most answers come before it is worth to ask.
            if let Some(answer) = self.answer(POLL) {
                return Ok(Some(answer));
            }
            if started.elapsed() >= least && is_waiting(observer, server, self.connection)? {
                return Ok(None);
            }
        }
        bail!("connection {} neither answers nor waits", self.connection)
    }

    /// The answer, if it comes in time.
    fn answer(&mut self, most: Duration) -> Option<String> {
        match self.answers.recv_timeout(most) {
            Ok(Some(answer)) => {
                self.state = State::Ready;
                Some(line(&answer))
            }
            Err(RecvTimeoutError::Timeout) => None,
            Ok(None) | Err(RecvTimeoutError::Disconnected) => {
                self.state = State::Gone;
                Some(GONE.to_owned())
            }
        }
    }
}

/// An answer in one line.
fn line(answer: &Answer) -> String {
    match answer {
        Answer::Ok { affected: 0, .. } => "ok".to_owned(),
        Answer::Ok { affected, .. } => format!("ok {affected}"),
        Answer::Error { code, .. } => format!("error {code}"),
        Answer::Rows { rows, .. } if rows.is_empty() => "no rows".to_owned(),
        Answer::Rows { rows, .. } => {
            let cell = |value: &Option<Vec<u8>>| match value {
                None => "NULL".to_owned(),
                Some(value) => String::from_utf8_lossy(value).into_owned(),
            };
            let row = |row: &Vec<Option<Vec<u8>>>| format!("({})", row.iter().map(cell).collect::<Vec<_>>().join(", "));
            rows.iter().map(row).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Where a schedule runs.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub server: &'a Server,
    /// The node of its first session.
    pub first: usize,
    /// The node of who looks on, and of whoever makes the tables.
    pub watches: usize,
    /// Made anew.
    pub database: &'a str,
}

/// A run on its way.
pub struct Run<'a> {
    place: Place<'a>,
    observer: Client,
    sessions: BTreeMap<&'a str, Session>,
}

enum Opened<'a> {
    Run(Run<'a>),
    /// Nothing is there that is not made anew.
    Later(String),
}

/// Runs a schedule. Returns a line per question. `expected` are the lines of an earlier run.
pub fn run(schedule: &Schedule, level: Level, place: Place<'_>, expected: Option<&[String]>) -> Result<Vec<String>> {
    let mut run = Run::open(schedule, level, place)?;
    let mut lines = Vec::new();
    for (at, step) in schedule.steps.iter().enumerate() {
        let expected = expected.and_then(|lines| lines.get(at)).map(String::as_str);
        lines.push(run.take(step, expected)?);
    }
    lines.push(run.end()?);
    lines.extend(run.finals(schedule, place.watches)?);
    run.close()?;
    Ok(lines)
}

impl<'a> Run<'a> {
    /// Makes the tables, and opens the sessions.
    pub fn open(schedule: &'a Schedule, level: Level, place: Place<'a>) -> Result<Run<'a>> {
        let started = Instant::now();
        loop {
            match Run::try_open(schedule, level, place)? {
                Opened::Run(run) => return Ok(run),
                Opened::Later(why) => ensure!(started.elapsed() < NEVER, "{}: {why}", schedule.name),
            }
            thread::sleep(POLL);
        }
    }

    fn try_open(schedule: &'a Schedule, level: Level, place: Place<'a>) -> Result<Opened<'a>> {
        let Place { server, database, .. } = place;
        let mut setup = server.connect(place.watches)?;
        let make = [
            format!("DROP DATABASE IF EXISTS {database}"),
            format!("CREATE DATABASE {database}"),
            format!("USE {database}"),
        ];
        for sql in make.iter().chain(&schedule.setup) {
            match setup.query(sql)? {
                // The lead of a cluster has moved.
                Answer::Error {
                    code: 1047 | 1180 | 1213,
                    message,
                    ..
                } => return Ok(Opened::Later(message)),
                Answer::Error { code, message, .. } => bail!("{}: {sql}: {code} {message}", schedule.name),
                _ => {}
            }
        }
        let mut sessions = BTreeMap::new();
        for step in &schedule.steps {
            if !sessions.contains_key(step.session.as_str()) {
                let mut client = server.connect(place.first + sessions.len())?;
                for sql in server.settings(level).iter().chain([&format!("USE {database}")]) {
                    if let Answer::Error { message, .. } = client.query(sql)? {
                        bail!("{sql}: {message}");
                    }
                }
                sessions.insert(step.session.as_str(), Session::open(client));
            }
        }
        Ok(Opened::Run(Run {
            place,
            observer: server.connect(place.watches)?,
            sessions,
        }))
    }

    /// Runs a step. Returns its answer, and those of others that it has let go on.
    pub fn take(&mut self, step: &Step, expected: Option<&str>) -> Result<String> {
        let answer = self.step(step, expected)?;
        Ok(answer + &self.let_go(&step.session, expected)?)
    }

    /// What is there when all is over, as a node shows it.
    pub fn finals(&self, schedule: &Schedule, node: usize) -> Result<Vec<String>> {
        let mut client = self.place.server.connect(node)?;
        client.query(&format!("USE {}", self.place.database))?;
        let answers = schedule.finals.iter().map(|sql| Ok(line(&client.query(sql)?)));
        answers.collect()
    }

    pub fn close(mut self) -> Result<()> {
        self.observer.query(&format!("DROP DATABASE {}", self.place.database))?;
        Ok(())
    }

    /// Ends the transaction of a session, also one that waits; or, if it `is_lost`, the session.
    pub fn abandon(&mut self, name: &str, is_lost: bool) -> Result<()> {
        let session = self.sessions.get_mut(name).context("it was opened")?;
        let what = if is_lost { "CONNECTION" } else { "QUERY" };
        if is_lost || session.state == State::Waiting {
            self.observer.query(&format!("KILL {what} {}", session.connection))?;
        }
        if session.state == State::Waiting {
            session.answer(NEVER).context("it was killed")?;
        }
        match is_lost {
            true => session.state = State::Gone,
            false => {
                session.send("ROLLBACK".to_owned());
                session.answer(NEVER).context("nothing keeps it")?;
            }
        }
        Ok(())
    }

    /// Runs a statement until it has answered, or waits.
    fn step(&mut self, step: &Step, expected: Option<&str>) -> Result<String> {
        let mut sql = step.sql.clone();
        for (name, session) in &self.sessions {
            sql = sql.replace(&format!("<{name}>"), &session.connection.to_string());
        }
        let session = self.sessions.get_mut(step.session.as_str()).context("it was opened")?;
        if session.state != State::Ready {
            return Ok(LEFT_OUT.to_owned());
        }
        session.send(sql);
        let least = match expected {
            Some(expected) if expected.starts_with(WAITS) => Duration::ZERO,
            Some(_) => UNEXPECTED,
            None => UNKNOWN,
        };
        let answer = session.answer_or_wait(least, &mut self.observer, self.place.server)?;
        Ok(answer.unwrap_or_else(|| {
            session.state = State::Waiting;
            WAITS.to_owned()
        }))
    }

    /// The answers of those who waited and wait no more.
    pub fn let_go(&mut self, running: &str, expected: Option<&str>) -> Result<String> {
        let mut line = String::new();
        for (name, session) in &mut self.sessions {
            if session.state != State::Waiting || *name == running {
                continue;
            }
            let answer = match expected {
                Some(expected) if expected.contains(&format!(" | {name}: ")) => {
                    session.answer_or_wait(UNEXPECTED, &mut self.observer, self.place.server)?
                }
                Some(_) => session.answer(Duration::ZERO),
                None => session.answer_or_wait(UNKNOWN, &mut self.observer, self.place.server)?,
            };
            if let Some(answer) = answer {
                line += &format!(" | {name}: {answer}");
            }
        }
        Ok(line)
    }

    /// Ends all sessions; the answers of those that still waited.
    pub fn end(&mut self) -> Result<String> {
        let mut line = String::from("end");
        let started = Instant::now();
        loop {
            // Who does not wait lets go of what others wait for.
            for (name, session) in &mut self.sessions {
                for sql in ["ROLLBACK", "UNLOCK TABLES"] {
                    if session.state == State::Ready {
                        session.send(sql.to_owned());
                        session.answer(NEVER).with_context(|| format!("{name} does not end"))?;
                    }
                }
                if session.state == State::Ready {
                    session.state = State::Gone;
                }
            }
            let mut waiting = self
                .sessions
                .iter_mut()
                .filter(|(_, session)| session.state == State::Waiting)
                .peekable();
            if waiting.peek().is_none() {
                return Ok(line);
            }
            for (name, session) in waiting {
                if let Some(answer) = session.answer(POLL) {
                    line += &format!(" | {name}: {answer}");
                }
            }
            ensure!(started.elapsed() < NEVER, "a session waits for nobody");
        }
    }
}

fn is_waiting(observer: &mut Client, server: &Server, connection: u32) -> Result<bool> {
    match observer.query(&server.waits_of(connection))? {
        Answer::Rows { rows, .. } => Ok(rows.iter().flatten().flatten().any(|count| count != b"0")),
        other => bail!("asked who waits: {other:?}"),
    }
}
