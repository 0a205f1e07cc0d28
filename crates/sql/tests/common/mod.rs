//! A database in memory, sessions on it, and scripts of statements with the answers they must get.
//!
//! Scripts have the form of `tests/sql` (comments; a statement; `----`; its answer), with `-- on NAME` for another session,
//! `-- as USER` to open it as that account, and `-- message` where the error's text counts. No session ever waits
//! for a lock: it gets 1205 at once, so that a script runs on one thread. `RECORD=1 cargo test -p sql` writes the answers anew.

#![allow(dead_code, reason = "each test uses its part")]

use std::collections::HashMap;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use env::{Env, SimDisk};
use shard::Shard;
use sql::engine::Engine;
use sql::host::{BlockingHost, Host, Interrupt, WaitEnd};
use sql::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};
use sql::session::{Session, SessionAccount, SessionOptions};
use store::MemoryBudget;
use types::{RowLayout, SqlError, SqlResult, Value};

const MEMORY_BYTES: u64 = 256 << 20;

/// An engine over a shard on a simulated disk.
pub struct Database {
    pub engine: Arc<Engine>,
    next_connection: u32,
}

impl Database {
    pub fn open() -> Database {
        let env = Env::simulated(SimDisk::new(1), 1);
        let schema = sql::schema::Schema::new();
        let config = shard::Config {
            observer: Some(schema.clone()),
            ..shard::Config::new(env.clone(), "/data", MemoryBudget::new(MEMORY_BYTES))
        };
        let shard = Arc::new(Shard::open(config).expect("an empty disk"));
        Database {
            engine: Engine::open(env, shard, schema, &BlockingHost).expect("a first start"),
            next_connection: 1,
        }
    }

    /// A session of root.
    pub fn session(&mut self) -> Client {
        self.session_as("root")
    }

    /// A session of the account that `user` logs in to from localhost.
    pub fn session_as(&mut self, user: &str) -> Client {
        let catalog = self.engine.catalog();
        let account = catalog
            .account_for_login(user, &["localhost"])
            .unwrap_or_else(|| panic!("no account for {user}"));
        let options = SessionOptions {
            connection_id: self.next_connection,
            user: user.to_owned(),
            host: "localhost".to_owned(),
            account: SessionAccount::Account {
                user: account.user.clone(),
                host: account.host.clone(),
            },
            database: Some("test".to_owned()).filter(|_| user == "root"),
            collation_id: 255,
            multi_statements: true,
            ..SessionOptions::default()
        };
        self.next_connection += 1;
        Client {
            session: Session::new(self.engine.clone(), options).expect("a session"),
        }
    }
}

/// A session that answers with text.
pub struct Client {
    pub session: Session,
}

impl Client {
    pub fn try_run(&mut self, sql: &str) -> SqlResult<Vec<String>> {
        self.try_run_on(&NoWaiting, sql)
    }

    /// Waits for locks, so that sessions need a thread each.
    pub fn try_run_waiting(&mut self, sql: &str) -> SqlResult<Vec<String>> {
        self.try_run_on(&BlockingHost, sql)
    }

    pub fn try_run_on(&mut self, host: &dyn Host, sql: &str) -> SqlResult<Vec<String>> {
        let mut sink = Lines::default();
        self.session.query(sql.as_bytes(), host, &mut sink)?;
        Ok(sink.lines)
    }

    /// The answer's lines: names of columns and rows, or `ok`.
    pub fn run(&mut self, sql: &str) -> Vec<String> {
        self.try_run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The number of the error that the statement must give.
    pub fn error(&mut self, sql: &str) -> u16 {
        match self.try_run(sql) {
            Ok(lines) => panic!("{sql} succeeded: {lines:?}"),
            Err(error) => error.code(),
        }
    }
}

/// Waits for commits, never for locks.
struct NoWaiting;

impl Host for NoWaiting {
    fn wait(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        BlockingHost.wait(future);
    }

    fn wait_interruptible(&self, future: Pin<&mut dyn Future<Output = ()>>, _timeout: Option<Duration>) -> WaitEnd {
        BlockingHost.wait_interruptible(future, Some(Duration::ZERO))
    }

    fn interrupted(&self) -> Option<Interrupt> {
        None
    }
}

/// Answers as the lines of a script.
#[derive(Default)]
pub struct Lines {
    pub lines: Vec<String>,
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bytes(bytes) => cell_text(&String::from_utf8_lossy(bytes)),
        value => cell_text(&value.to_string()),
    }
}

fn cell_text(text: &str) -> String {
    match text {
        "" => "''".to_owned(),
        text => text.replace('\n', "\\n"),
    }
}

impl ResultSink for Lines {
    fn columns(&mut self, shape: &Arc<ResultShape>, _status: ServerStatus) -> Result<(), SqlError> {
        let names: Vec<&str> = shape.columns.iter().map(|column| column.name.as_str()).collect();
        self.lines.push(names.join(" | "));
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Result<(), SqlError> {
        self.lines.push(values.iter().map(cell).collect::<Vec<_>>().join(" | "));
        Ok(())
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> Result<(), SqlError> {
        let values: Vec<Value> = projection
            .iter()
            .map(|&column| layout.column(row, column).to_value())
            .collect();
        self.row(&values)
    }

    fn end(&mut self, _end: ResultEnd) -> Result<(), SqlError> {
        Ok(())
    }

    fn ok(&mut self, done: Done) -> Result<(), SqlError> {
        let mut line = "ok".to_owned();
        if done.affected_rows > 0 || !done.info.is_empty() {
            line += &format!(", {} affected", done.affected_rows);
        }
        if !done.info.is_empty() {
            line += &format!(" ({})", done.info);
        }
        self.lines.push(line);
        Ok(())
    }
}

/// Runs a script against a new database; panics at the first answer that is not the script's.
pub fn run_script(path: &Path) {
    let text = std::fs::read_to_string(path).expect("a script");
    let recorded = run_script_text(&text, &path.display().to_string());
    if recording() {
        std::fs::write(path, recorded).expect("a writable script");
    }
}

/// Runs the text of a script; returns it with the answers that it got.
pub fn run_script_text(text: &str, name_of_script: &str) -> String {
    let mut database = Database::open();
    let mut clients: HashMap<String, Client> = HashMap::new();
    let mut recorded = Vec::new();
    for block in text
        .split("\n\n")
        .map(str::trim_end)
        .filter(|block| !block.trim().is_empty())
    {
        let block = block.trim_start_matches('\n');
        if block.lines().all(|line| line.starts_with('#')) {
            recorded.push(block.to_owned());
            continue;
        }
        let (statement, expected) = match block.split_once("\n----") {
            Some((statement, answer)) => (statement, Some(answer.trim_start_matches('\n'))),
            None => (block, None),
        };
        let (directives, sql): (Vec<&str>, Vec<&str>) = statement.lines().partition(|line| line.starts_with("-- "));
        let named = |word: &str| directives.iter().find_map(|line| line.strip_prefix(word));
        let user = named("-- as ").unwrap_or("root");
        let name = named("-- on ").unwrap_or(user);
        let client = clients
            .entry(name.to_owned())
            .or_insert_with(|| database.session_as(user));
        let sql = sql.join("\n");
        let answer = match client.try_run(&sql) {
            Ok(lines) => lines.join("\n"),
            Err(error) if directives.contains(&"-- message") => {
                format!("error {} {}: {}", error.code(), error.sqlstate(), error.message())
            }
            Err(error) => format!("error {} {}", error.code(), error.sqlstate()),
        };
        match expected {
            None => assert!(!answer.starts_with("error "), "{name_of_script}: {sql}\n{answer}"),
            Some(expected) if !recording() => assert_eq!(answer, expected, "{name_of_script}: {sql}"),
            Some(_) => {}
        }
        recorded.push(expected.map_or(statement.to_owned(), |_| format!("{statement}\n----\n{answer}")));
    }
    recorded.join("\n\n") + "\n"
}

fn recording() -> bool {
    std::env::var_os("RECORD").is_some()
}
