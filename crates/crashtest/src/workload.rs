//! What the writers do, and how their tables are read back.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use env::SeededRandom;
use mysql_client::{Answer, Client};

use crate::ledger::{FILLED_ROWS, Ledger, Made, Step, Transfer};

pub const DATABASE: &str = "crash";

const ACCOUNTS: u32 = 40;
const OPENING_BALANCE: i64 = 1000;
/// Rows that a writer changes at once: more than go into one entry of the log.
const SWEPT_ROWS: u32 = 5000;

/// Lock wait timeout, deadlock, write conflict: the transaction is over, and did nothing.
const TRY_AGAIN: [u16; 2] = [1205, 1213];
const NO_SUCH_TABLE: u16 = 1146;

/// Makes the database; drops an earlier one.
pub fn prepare(client: &mut Client, writers: u32) -> Result<()> {
    let accounts = (1..=ACCOUNTS)
        .map(|id| format!("({id}, {OPENING_BALANCE})"))
        .collect::<Vec<_>>()
        .join(", ");
    let counters = (0..writers)
        .map(|id| format!("({id}, 0)"))
        .collect::<Vec<_>>()
        .join(", ");
    for sql in [
        format!("DROP DATABASE IF EXISTS {DATABASE}"),
        format!("CREATE DATABASE {DATABASE}"),
        format!("USE {DATABASE}"),
        "CREATE TABLE counters (id INT PRIMARY KEY, n BIGINT NOT NULL)".into(),
        "CREATE TABLE left_accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL)".into(),
        "CREATE TABLE right_accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, KEY (balance))".into(),
        "CREATE TABLE transfers (writer INT, sequence INT, source INT, target INT, amount BIGINT, PRIMARY KEY (writer, sequence))".into(),
        "CREATE TABLE events (writer INT, sequence INT, part INT, note VARCHAR(200), PRIMARY KEY (writer, sequence, part), KEY (note))".into(),
        "CREATE TABLE sweeps (writer INT, id INT, n BIGINT NOT NULL, PRIMARY KEY (writer, id), KEY (n))".into(),
        format!("INSERT INTO left_accounts VALUES {accounts}"),
        format!("INSERT INTO right_accounts VALUES {accounts}"),
        format!("INSERT INTO counters VALUES {counters}"),
    ] {
        execute(client, &sql)?;
    }
    for writer in 0..writers {
        let rows = (0..SWEPT_ROWS).map(|id| format!("({writer}, {id}, 0)"));
        let rows = rows.collect::<Vec<_>>().join(", ");
        execute(client, &format!("INSERT INTO sweeps VALUES {rows}"))?;
    }
    Ok(())
}

/// One writer's next steps, from a seed.
pub struct Writer {
    pub number: u32,
    pub random: SeededRandom,
    pub next_sequence: u32,
}

impl Writer {
    pub fn next_step(&mut self, ledger: &Ledger) -> Step {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let below = |limit: u64| self.random.below(limit);
        let transfer = Transfer {
            source: 1 + below(u64::from(ACCOUNTS)) as u32,
            target: 1 + below(u64::from(ACCOUNTS)) as u32,
            amount: below(100) as i64,
        };
        let table = ledger
            .tables
            .iter()
            .nth(below(ledger.tables.len().max(1) as u64) as usize);
        match (below(40), table) {
            (0, _) => Step::Sweep,
            (1..10, _) => Step::Count,
            (10..18, _) => Step::Events {
                sequence,
                parts: 1 + below(20) as u32,
            },
            (18..21, _) => match ledger
                .events
                .keys()
                .nth(below(ledger.events.len().max(1) as u64) as usize)
            {
                Some(&sequence) => Step::Forget { sequence },
                None => Step::Count,
            },
            (21..33, _) => Step::Transfer { sequence, transfer },
            (33..35, _) => Step::Abandon { sequence, transfer },
            (_, Some((&number, made))) => match made {
                Made {
                    rows: 0,
                    has_extra_column: false,
                    ..
                } => Step::FillTable { number },
                Made { has_index: false, .. } => Step::AddIndex { number },
                Made {
                    has_extra_column: false,
                    ..
                } => Step::AddColumn { number },
                Made { rows: FILLED_ROWS, .. } if below(2) == 0 => Step::Truncate { number },
                _ => Step::DropTable { number },
            },
            (_, None) => Step::CreateTable { number: sequence },
        }
    }
}

/// How a step ended.
pub enum Ended {
    Acknowledged,
    /// Refused by an error that says that nothing happened.
    Refused,
    /// The connection broke: who knows.
    Unknown,
}

/// Does a step. Fails on an error that it should not meet.
pub fn perform(client: &mut Client, writer: u32, step: &Step) -> Result<Ended> {
    for sql in statements(writer, step) {
        match client.query(&sql) {
            Ok(Answer::Error { code, .. }) if TRY_AGAIN.contains(&code) => {
                return match client.query("ROLLBACK") {
                    Ok(_) => Ok(Ended::Refused),
                    Err(_) => Ok(Ended::Unknown),
                };
            }
            // The node is going down, and may say so.
            Ok(Answer::Error { code: 1053 | 1180, .. }) | Err(_) => return Ok(Ended::Unknown),
            Ok(Answer::Error {
                code,
                sqlstate,
                message,
            }) => bail!("{sql}: ERROR {code} ({sqlstate}): {message}"),
            Ok(_) => {}
        }
    }
    Ok(Ended::Acknowledged)
}

fn statements(writer: u32, step: &Step) -> Vec<String> {
    match *step {
        Step::Count => vec![format!("UPDATE counters SET n = n + 1 WHERE id = {writer}")],
        Step::Sweep => vec![format!("UPDATE sweeps SET n = n + 1 WHERE writer = {writer}")],
        Step::Events { sequence, parts } => vec![insert_events(writer, sequence, parts)],
        Step::Forget { sequence } => {
            vec![format!(
                "DELETE FROM events WHERE writer = {writer} AND sequence = {sequence}"
            )]
        }
        Step::Transfer { sequence, transfer } => {
            let mut statements = transfer_statements(writer, sequence, transfer);
            statements.push("COMMIT".into());
            statements
        }
        Step::Abandon { sequence, transfer } => {
            let mut statements = transfer_statements(writer, sequence, transfer);
            statements.push(insert_events(writer, sequence, 3));
            statements.push("ROLLBACK".into());
            statements
        }
        Step::CreateTable { number } => {
            vec![format!(
                "CREATE TABLE {} (id INT PRIMARY KEY, v INT NOT NULL)",
                made_table(writer, number)
            )]
        }
        Step::FillTable { number } => {
            vec![format!(
                "INSERT INTO {} (id, v) VALUES (1, 10), (2, 20), (3, 30)",
                made_table(writer, number)
            )]
        }
        Step::AddColumn { number } => {
            vec![format!(
                "ALTER TABLE {} ADD COLUMN extra INT NOT NULL DEFAULT 7",
                made_table(writer, number)
            )]
        }
        Step::AddIndex { number } => vec![format!("CREATE INDEX by_v ON {} (v)", made_table(writer, number))],
        Step::Truncate { number } => vec![format!("TRUNCATE TABLE {}", made_table(writer, number))],
        Step::DropTable { number } => vec![format!("DROP TABLE {}", made_table(writer, number))],
    }
}

fn transfer_statements(writer: u32, sequence: u32, transfer: Transfer) -> Vec<String> {
    let Transfer { source, target, amount } = transfer;
    vec![
        "BEGIN".into(),
        format!("UPDATE left_accounts SET balance = balance - {amount} WHERE id = {source}"),
        format!("INSERT INTO transfers VALUES ({writer}, {sequence}, {source}, {target}, {amount})"),
        format!("UPDATE right_accounts SET balance = balance + {amount} WHERE id = {target}"),
    ]
}

fn insert_events(writer: u32, sequence: u32, parts: u32) -> String {
    let rows = (0..parts).map(|part| format!("({writer}, {sequence}, {part}, '{}')", note(writer, sequence, part)));
    format!("INSERT INTO events VALUES {}", rows.collect::<Vec<_>>().join(", "))
}

fn note(writer: u32, sequence: u32, part: u32) -> String {
    format!("{writer}/{sequence}/{part} ").repeat(1 + (sequence as usize + part as usize) % 9)
}

fn made_table(writer: u32, number: u32) -> String {
    format!("made_{writer}_{number}")
}

/// What a writer's tables hold. `known`: what they are expected to hold, and the step on the way.
pub fn read_back(client: &mut Client, writer: u32, known: &Ledger, in_flight: Option<&Step>) -> Result<Ledger> {
    let mut found = Ledger::default();
    let count = rows(client, &format!("SELECT n FROM counters WHERE id = {writer}"))?;
    ensure!(count.len() == 1, "writer {writer} has {} counters", count.len());
    found.count = count[0][0] as u64;

    let swept = rows(
        client,
        &format!("SELECT COUNT(*), MIN(n), MAX(n) FROM sweeps WHERE writer = {writer}"),
    )?;
    let [all, least, most] = swept[0][..] else {
        bail!("three numbers are asked for")
    };
    ensure!(
        all == i64::from(SWEPT_ROWS) && least == most,
        "writer {writer} has swept {all} rows, {least} to {most} times"
    );
    let by_index = rows(
        client,
        &format!("SELECT COUNT(*) FROM sweeps WHERE n = {most} AND writer = {writer}"),
    )?;
    ensure!(
        by_index[0][0] == all,
        "the index on sweeps has {} of {all} rows",
        by_index[0][0]
    );
    found.sweeps = most as u64;

    let events = format!("SELECT sequence, part, note FROM events WHERE writer = {writer} ORDER BY sequence, part");
    for row in text_rows(client, &events)? {
        let number = |column: usize| row[column].parse::<u32>().context("a number");
        let (sequence, part) = (number(0)?, number(1)?);
        let parts = found.events.entry(sequence).or_default();
        ensure!(
            part == *parts,
            "event {sequence} of writer {writer} has part {part} after {parts} others"
        );
        ensure!(
            row[2] == note(writer, sequence, part),
            "event {sequence}/{part} of writer {writer} says {:?}",
            row[2]
        );
        *parts += 1;
    }

    let transfers = format!("SELECT sequence, source, target, amount FROM transfers WHERE writer = {writer}");
    for row in rows(client, &transfers)? {
        let transfer = Transfer {
            source: row[1] as u32,
            target: row[2] as u32,
            amount: row[3],
        };
        found.transfers.insert(row[0] as u32, transfer);
    }

    let mut with_step = known.clone();
    if let Some(step) = in_flight {
        with_step.apply(step);
    }
    for &number in known.tables.keys().chain(with_step.tables.keys()) {
        if let Some(made) = read_made(client, writer, number)? {
            found.tables.insert(number, made);
        }
    }
    Ok(found)
}

fn read_made(client: &mut Client, writer: u32, number: u32) -> Result<Option<Made>> {
    let table = made_table(writer, number);
    let (columns, rows) = match client.query(&format!("SELECT * FROM {table} ORDER BY id"))? {
        Answer::Rows { columns, rows, .. } => (columns.len(), rows),
        Answer::Error {
            code: NO_SUCH_TABLE, ..
        } => return Ok(None),
        other => bail!("reading {table}: {other:?}"),
    };
    let has_extra_column = columns == 3;
    for (row, id) in rows.iter().zip(1..) {
        let mut expected = vec![id.to_string(), (id * 10).to_string()];
        expected.extend(has_extra_column.then(|| "7".to_owned()));
        let found: Vec<_> = row
            .iter()
            .flatten()
            .map(|value| String::from_utf8_lossy(value))
            .collect();
        ensure!(found == expected, "{table} holds {found:?} where {expected:?} belongs");
    }
    let indexes = text_rows(client, &format!("SHOW INDEX FROM {table}"))?;
    let has_index = indexes.len() == 2;
    if has_index {
        let by_index = text_rows(client, &format!("SELECT id FROM {table} WHERE v > 0 ORDER BY v"))?;
        ensure!(
            by_index.len() == rows.len(),
            "{table} has {} rows, its index {}",
            rows.len(),
            by_index.len()
        );
    }
    Ok(Some(Made {
        has_extra_column,
        has_index,
        rows: rows.len() as u32,
    }))
}

/// Whether the accounts are what the transfers made of them, and nobody made or lost money; and whether the number of
/// tables is `made` beside the fixed ones.
pub fn check_sums(client: &mut Client, made: usize) -> Result<()> {
    let mut expected: BTreeMap<(&str, i64), i64> = BTreeMap::new();
    for id in 1..=i64::from(ACCOUNTS) {
        expected.insert(("left_accounts", id), OPENING_BALANCE);
        expected.insert(("right_accounts", id), OPENING_BALANCE);
    }
    for row in rows(client, "SELECT source, target, amount FROM transfers")? {
        *expected.entry(("left_accounts", row[0])).or_default() -= row[2];
        *expected.entry(("right_accounts", row[1])).or_default() += row[2];
    }
    for table in ["left_accounts", "right_accounts"] {
        for row in rows(client, &format!("SELECT id, balance FROM {table}"))? {
            let right = expected.remove(&(table, row[0]));
            ensure!(
                right == Some(row[1]),
                "account {} of {table} has {}, its transfers make {right:?}",
                row[0],
                row[1]
            );
        }
    }
    ensure!(expected.is_empty(), "accounts are gone: {expected:?}");
    let sum = rows(
        client,
        "SELECT SUM(l.balance) + (SELECT SUM(balance) FROM right_accounts) FROM left_accounts l",
    )?;
    ensure!(
        sum[0][0] == 2 * i64::from(ACCOUNTS) * OPENING_BALANCE,
        "the sum of all money is {}",
        sum[0][0]
    );
    let in_order = text_rows(
        client,
        "SELECT balance FROM right_accounts WHERE balance > -1000000 ORDER BY balance",
    )?;
    ensure!(
        in_order.len() == ACCOUNTS as usize,
        "the index on balances has {} entries",
        in_order.len()
    );
    let tables = text_rows(client, "SHOW TABLES")?;
    ensure!(
        tables.len() == made + 6,
        "{} tables where {made} made ones and 6 fixed ones belong",
        tables.len()
    );
    Ok(())
}

pub fn execute(client: &mut Client, sql: &str) -> Result<()> {
    match client.query(sql)? {
        Answer::Error {
            code,
            sqlstate,
            message,
        } => bail!("{sql}: ERROR {code} ({sqlstate}): {message}"),
        _ => Ok(()),
    }
}

fn text_rows(client: &mut Client, sql: &str) -> Result<Vec<Vec<String>>> {
    match client.query(sql)? {
        Answer::Rows { rows, .. } => {
            let text =
                |value: Option<Vec<u8>>| value.map_or_else(String::new, |v| String::from_utf8_lossy(&v).into_owned());
            Ok(rows
                .into_iter()
                .map(|row| row.into_iter().map(text).collect())
                .collect())
        }
        other => bail!("{sql}: {other:?}"),
    }
}

/// Rows of numbers.
pub fn rows(client: &mut Client, sql: &str) -> Result<Vec<Vec<i64>>> {
    let number = |text: String| {
        text.parse::<i64>()
            .with_context(|| format!("{sql}: {text:?} is not a number"))
    };
    text_rows(client, sql)?
        .into_iter()
        .map(|row| row.into_iter().map(number).collect())
        .collect()
}
