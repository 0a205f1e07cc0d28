//! A client: random statements, and what is known of its database by the answers.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mysql_client::{Answer, Client};

use super::generate::Generator;
use super::model::{Body, Column, ForeignKey, Key, Operation, State, Table};

/// What a statement may be answered with: waits that were ended, and what is wrong with names, rows and keys.
const EXPECTED: [u16; 52] = [
    1005, 1007, 1008, 1022, 1025, 1046, 1049, 1066, 1050, 1051, 1054, 1060, 1061, 1062, 1072, 1088, 1090, 1091, 1101,
    1137, 1146, 1205, 1213, 1215, 1216, 1217, 1264, 1317, 1347, 1356, 1364, 1406, 1412, 1449, 1451, 1452, 1553, 1701,
    1822, 1824, 1826, 1828, 1829, 1832, 1833, 3730, 3780, 1136, 1304, 1305, 1369, 3837,
];
/// No majority, or none that is known.
const UNAVAILABLE: u16 = 1047;
/// A killed connection has gone by then.
const GONE_TIMEOUT: Duration = Duration::from_secs(20);

/// Statements that a finding shows, and how much of each.
const HISTORY: usize = 200;
const SHOWN: usize = 160;

/// What a client remembers while servers come and go.
pub struct Memory {
    pub database: String,
    pub generator: Generator,
    /// What the database may be, once nothing is open; more than one where an outcome is not known.
    pub candidates: Vec<State>,
    pub statements: u64,
    pub succeeded: u64,
    /// The last statements, and what came of them.
    history: VecDeque<String>,
}

/// What came of a statement.
#[derive(Debug)]
enum Outcome {
    Done,
    /// Nothing of it; the transaction goes on.
    Failed,
    /// The transaction is rolled back, too.
    RolledBack,
    /// The connection is gone, or has to go, and the statement may have done its work.
    Unknown,
}

/// Why a client stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    Over,
    ServerGone,
}

impl Memory {
    pub fn new(number: u32, seed: u64) -> Memory {
        Memory {
            database: format!("own{number}"),
            generator: Generator::new(seed),
            candidates: vec![State::default()],
            statements: 0,
            succeeded: 0,
            history: VecDeque::new(),
        }
    }

    /// Runs statements until it is told to stop, or the server has gone.
    pub fn work(&mut self, connect: &dyn Fn() -> Result<Client>, is_over: &dyn Fn() -> bool) -> Result<Stopped> {
        while !is_over() {
            let Ok(mut client) = connect() else {
                return Ok(Stopped::ServerGone);
            };
            let connection = client.connection_id;
            let is_over = self.converse(&mut client, is_over)?;
            drop(client);
            if is_over {
                break;
            }
            // Whoever asks may be killed, too.
            loop {
                let Ok(mut client) = connect() else {
                    return Ok(Stopped::ServerGone);
                };
                if !wait_until_gone(&mut client, connection)? {
                    continue;
                }
                match commits(&mut client)? {
                    Commits::Taken if self.settle(&mut client)?.is_some() => break,
                    Commits::Taken | Commits::Failed => {}
                    // What is in its log and not applied shows when it has started again.
                    Commits::Refused => return Ok(Stopped::ServerGone),
                }
            }
        }
        Ok(Stopped::Over)
    }

    /// Returns whether time is over; not: the connection is lost.
    fn converse(&mut self, client: &mut Client, is_over: &dyn Fn() -> bool) -> Result<bool> {
        for sql in ["SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1"] {
            if !matches!(client.query(sql), Ok(Answer::Ok { .. })) {
                return Ok(false);
            }
        }
        let mut committed = self.only_candidate()?;
        // What the open transaction makes of it.
        let mut open: Option<State> = None;
        if committed.exists && client.query(&format!("USE {}", self.database)).is_err() {
            return Ok(false);
        }
        while !is_over() {
            self.statements += 1;
            if self.generator.one_in(4) {
                let sql = self.generator.shared();
                let ends = ["ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE"];
                let commits = ends.iter().any(|verb| sql.starts_with(verb));
                let mut outcome = self.ask(client, &sql)?;
                if commits && open.is_some() && matches!(outcome, Outcome::RolledBack) {
                    // What was rolled back is the transaction, or what came after its commit.
                    outcome = Outcome::Unknown;
                }
                if commits && !matches!(outcome, Outcome::Unknown) {
                    committed = open.take().unwrap_or(committed);
                }
                self.candidates = vec![committed.clone()];
                match outcome {
                    Outcome::Done => self.succeeded += 1,
                    Outcome::Failed => {}
                    Outcome::RolledBack => open = None,
                    Outcome::Unknown => {
                        self.candidates.extend(open.filter(|_| commits));
                        return Ok(false);
                    }
                }
                continue;
            }
            if let Some(state) = &open
                && self.generator.one_in(5)
            {
                let commits = !self.generator.one_in(3);
                let state = state.clone();
                match self.ask(client, if commits { "COMMIT" } else { "ROLLBACK" })? {
                    Outcome::Done if commits => committed = state,
                    Outcome::Done | Outcome::RolledBack => {}
                    Outcome::Failed => bail!("the end of a transaction failed"),
                    Outcome::Unknown => {
                        self.candidates = vec![committed];
                        self.candidates.extend(commits.then_some(state));
                        return Ok(false);
                    }
                }
                open = None;
                continue;
            }
            if open.is_none() && self.generator.one_in(6) {
                match self.ask(client, "BEGIN")? {
                    Outcome::Done => open = Some(committed.clone()),
                    Outcome::Unknown => {
                        self.candidates = vec![committed];
                        return Ok(false);
                    }
                    Outcome::Failed | Outcome::RolledBack => bail!("BEGIN failed"),
                }
                continue;
            }
            let operation = self.generator.operation(open.as_ref().unwrap_or(&committed));
            let before = open.clone().unwrap_or_else(|| committed.clone());
            let sql = operation.sql(&self.database);
            let after = before.after(&operation);
            let outcome = self.ask(client, &sql)?;
            let is_rolled_back = matches!(outcome, Outcome::RolledBack) && open.is_some() && operation.is_definition();
            if is_rolled_back || matches!(outcome, Outcome::Unknown) {
                let may_commit = open.is_none() || operation.is_definition();
                self.candidates = vec![committed];
                if may_commit {
                    self.candidates.push(before);
                    self.candidates.extend(after);
                }
                return Ok(false);
            }
            if operation.is_definition() {
                committed = before;
                open = None;
            }
            match outcome {
                Outcome::Done => {
                    self.succeeded += 1;
                    let after = after.with_context(|| format!("{sql} succeeded, and could not; {committed:?}"))?;
                    match &mut open {
                        Some(open) => *open = after,
                        None => committed = after,
                    }
                    if matches!(operation, Operation::CreateDatabase)
                        && client.query(&format!("USE {}", self.database)).is_err()
                    {
                        self.candidates = vec![committed];
                        return Ok(false);
                    }
                }
                Outcome::Failed => {}
                Outcome::RolledBack => open = None,
                Outcome::Unknown => {}
            }
            self.candidates = vec![committed.clone()];
        }
        // The end of the connection rolls back.
        self.candidates = vec![committed];
        Ok(true)
    }

    fn ask(&mut self, client: &mut Client, sql: &str) -> Result<Outcome> {
        let outcome = ask(client, sql);
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        let shown: String = sql.chars().take(SHOWN).collect();
        let at = client.connection_id;
        self.history.push_back(format!("{at}: {shown} => {outcome:?}"));
        outcome
    }

    fn only_candidate(&self) -> Result<State> {
        match &self.candidates[..] {
            [state] => Ok(state.clone()),
            _ => bail!("nobody has asked what became of {}", self.database),
        }
    }

    /// Asks what the database is, which must be one of the candidates. `None`: the server has gone.
    pub fn settle(&mut self, client: &mut Client) -> Result<Option<()>> {
        let Some(actual) = read(client, &self.database)? else {
            return Ok(None);
        };
        if !self.candidates.contains(&actual) {
            let differences = self.candidates.iter().map(|candidate| actual.difference(candidate));
            let differences: Vec<String> = differences.collect();
            bail!(
                "{} is not what it may be after\n  {}\n{}",
                self.database,
                self.history.make_contiguous().join("\n  "),
                differences.join("\nor\n")
            );
        }
        self.candidates = vec![actual];
        Ok(Some(()))
    }
}

/// Whether a server takes commits.
enum Commits {
    /// And so has applied, or aborted, all that came before.
    Taken,
    Failed,
    /// Not until it starts again.
    Refused,
}

fn commits(client: &mut Client) -> Result<Commits> {
    Ok(match client.query("REPLACE INTO probe.p VALUES (1, CONNECTION_ID())") {
        Ok(Answer::Ok { .. }) => Commits::Taken,
        Ok(Answer::Error { code: 1180, .. }) => Commits::Refused,
        Ok(Answer::Error { code, message, .. }) => {
            let is_expected =
                EXPECTED.contains(&code) || code == 3169 || code == UNAVAILABLE || is_injected(code, &message);
            ensure!(is_expected, "a probe: {code} {message}");
            Commits::Failed
        }
        Ok(answer) => bail!("a probe: {answer:?}"),
        Err(_) => Commits::Failed,
    })
}

/// Runs a statement; an answer that no statement may have is a finding.
fn ask(client: &mut Client, sql: &str) -> Result<Outcome> {
    Ok(match client.query(sql) {
        Ok(Answer::Ok { .. } | Answer::Rows { .. }) => Outcome::Done,
        Ok(Answer::Error { code: 1213, .. }) => Outcome::RolledBack,
        // A step that was made to fail, or to panic; whether another panic was behind it, the server's log says.
        Ok(Answer::Error { code, message, .. }) if is_injected(code, &message) => Outcome::Unknown,
        // Killed: what it had begun with is not known, and the connection may go.
        Ok(Answer::Error {
            code: 1317 | 3169 | UNAVAILABLE,
            ..
        }) => Outcome::Unknown,
        Ok(Answer::Error { code, message, .. }) => {
            ensure!(EXPECTED.contains(&code), "{sql}: {code} {message}");
            Outcome::Failed
        }
        Err(_) => Outcome::Unknown,
    })
}

fn is_injected(code: u16, message: &str) -> bool {
    match code {
        1105 => message.contains("ran into an internal error"),
        // The log has ended with the thread that writes it.
        1180 => !message.contains("does not fit"),
        _ => message.contains("failpoint"),
    }
}

/// False: the server has gone.
fn wait_until_gone(client: &mut Client, connection: u32) -> Result<bool> {
    let started = Instant::now();
    loop {
        let listed = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {connection}");
        let Some(rows) = rows(client, &listed)? else {
            return Ok(false);
        };
        if rows == [["0"]] {
            return Ok(true);
        }
        ensure!(started.elapsed() < GONE_TIMEOUT, "connection {connection} does not end");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What a database is now.
fn read(client: &mut Client, database: &str) -> Result<Option<State>> {
    let mut state = State::default();
    macro_rules! ask {
        ($($sql:tt)*) => {
            match rows(client, &format!($($sql)*))? {
                Some(rows) => rows,
                None => return Ok(None),
            }
        };
    }
    state.exists = !ask!("SELECT 1 FROM information_schema.schemata WHERE schema_name = '{database}'").is_empty();
    for row in ask!(
        "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = '{database}' ORDER BY 1"
    ) {
        match row[1].as_str() {
            "VIEW" => {}
            _ => drop(state.tables.insert(row[0].clone(), Table::default())),
        }
    }
    for row in ask!(
        "SELECT table_name, LOWER(view_definition) FROM information_schema.views WHERE table_schema = '{database}' ORDER BY 1"
    ) {
        let named = row[1].split_once(" from ").and_then(|(_, rest)| rest.split(' ').next());
        let table = named
            .and_then(|name| name.split('`').rev().nth(1))
            .with_context(|| row[1].clone())?;
        state.views.insert(row[0].clone(), table.to_owned());
    }
    for row in ask!(
        "SELECT routine_name, routine_definition FROM information_schema.routines WHERE routine_schema = '{database}'"
    ) {
        let body = Body::parse(&row[1]).with_context(|| format!("a procedure with {}", row[1]))?;
        state.procedures.insert(row[0].clone(), body);
    }
    for row in ask!(
        "SELECT table_name, column_name, data_type FROM information_schema.columns \
         WHERE table_schema = '{database}' AND column_name <> 'id' ORDER BY table_name, ordinal_position"
    ) {
        let Some(table) = state.tables.get_mut(&row[0]) else {
            continue;
        };
        let known = ["bigint", "int", "decimal"];
        let ty = known.into_iter().find(|known| *known == row[2]);
        table.columns.push(Column {
            name: row[1].clone(),
            ty: ty.with_context(|| format!("a column of type {}", row[2]))?,
        });
    }
    for row in ask!(
        "SELECT table_name, index_name, COALESCE(column_name, expression), non_unique, column_name IS NULL FROM information_schema.statistics \
         WHERE table_schema = '{database}' AND index_name <> 'PRIMARY' ORDER BY table_name, index_name, seq_in_index"
    ) {
        let table = state.tables.get_mut(&row[0]).context("an index of no table")?;
        let key = table.keys.entry(row[1].clone()).or_insert(Key {
            is_unique: row[3] == "0",
            is_computed: row[4] == "1",
            columns: Vec::new(),
        });
        // Of an expression the column that it names.
        key.columns.push(row[2].split('`').nth(1).unwrap_or(&row[2]).to_owned());
    }
    for row in ask!(
        "SELECT k.table_name, k.constraint_name, k.column_name, k.referenced_table_name, r.delete_rule \
         FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints r \
         ON r.constraint_schema = k.table_schema AND r.constraint_name = k.constraint_name \
         WHERE k.table_schema = '{database}' AND k.referenced_table_name IS NOT NULL"
    ) {
        let table = state.tables.get_mut(&row[0]).context("a foreign key of no table")?;
        let key = ForeignKey {
            column: row[2].clone(),
            parent: row[3].clone(),
            cascades: row[4] == "CASCADE",
        };
        table.foreign_keys.insert(row[1].clone(), key);
    }
    for (name, table) in &mut state.tables {
        let columns: String = table
            .columns
            .iter()
            .map(|column| format!(", {}", column.name))
            .collect();
        let read = rows_of(client, database, name, &columns, "")?;
        let Some(read) = read else { return Ok(None) };
        // By way of every index there are the same rows.
        for key in table.keys.keys() {
            match rows_of(client, database, name, &columns, &format!(" FORCE INDEX ({key})"))? {
                Some(by_key) => ensure!(by_key == read, "{database}.{name} has other rows by way of {key}"),
                None => return Ok(None),
            }
        }
        table.rows = read;
    }
    Ok(Some(state))
}

type Rows = BTreeMap<i64, Vec<Option<i64>>>;

fn rows_of(client: &mut Client, database: &str, table: &str, columns: &str, hint: &str) -> Result<Option<Rows>> {
    let Some(read) = rows(client, &format!("SELECT id{columns} FROM {database}.{table}{hint}"))? else {
        return Ok(None);
    };
    let mut rows = BTreeMap::new();
    for row in read {
        let mut values = row.iter().map(|value| match value.as_str() {
            "NULL" => Ok(None),
            value => value
                .parse()
                .map(Some)
                .with_context(|| format!("{value} in {database}.{table}")),
        });
        let id = values.next().context("no id")??.context("an id that is NULL")?;
        let is_new = rows.insert(id, values.collect::<Result<_>>()?).is_none();
        ensure!(is_new, "{database}.{table} has the id {id} twice");
    }
    Ok(Some(rows))
}

/// The rows of a query that has to succeed. `None`: the server has gone.
fn rows(client: &mut Client, sql: &str) -> Result<Option<Vec<Vec<String>>>> {
    let text = |value: Option<Vec<u8>>| value.map_or("NULL".to_owned(), |text| String::from_utf8_lossy(&text).into());
    match client.query(sql) {
        Ok(Answer::Rows { rows, .. }) => {
            let rows = rows.into_iter().map(|row| row.into_iter().map(text).collect());
            Ok(Some(rows.collect()))
        }
        // Whoever kills at random, or makes steps fail, may hit the question; so may the end of the server.
        Ok(Answer::Error {
            code: 1317 | 3169 | 1053 | UNAVAILABLE,
            ..
        })
        | Err(_) => Ok(None),
        Ok(Answer::Error { code, message, .. }) if is_injected(code, &message) => Ok(None),
        Ok(answer) => bail!("{sql}: {answer:?}"),
    }
}
