//! The tables: filled in parallel also within one table, checked before a series, dropped after it.
//!
//! Rows are cut into pieces of one INSERT each (up to 512 KiB, as sysbench's); connections take the next piece, whichever table it
//! belongs to. What a piece holds follows from the seed and its place alone, so a table is the same however many loaded it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Dialer, OpenLimits, Session};
use crate::workload::{Random, TableLoad};
use crate::{Control, DriverError, Stop, Target, Workload};

/// An INSERT's most bytes.
const INSERT_LEN_MAX: usize = 512 << 10;
/// Errors after which an INSERT is sent again: deadlock, row changed, lock wait, and from a cluster's other nodes no such table (not
/// yet) and not ready.
const SENT_AGAIN: [u16; 5] = [1213, 1020, 1205, 1146, 1047];
const SENT_AGAIN_MAX: u32 = 200;
const SENT_AGAIN_AFTER: Duration = Duration::from_millis(20);
const PROGRESS_AFTER: Duration = Duration::from_millis(500);
const LOOK_UP_AFTER: Duration = Duration::from_millis(5);

#[derive(Debug, Clone)]
pub struct PrepareSpec {
    /// Connections that load; spread over the target's servers.
    pub connections: usize,
    pub seed: u64,
}

/// What was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prepared {
    pub tables: u64,
    pub rows: u64,
    pub bytes_sent: u64,
    pub seconds: f64,
}

/// What is there, compared with what the workload needs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Check {
    pub tables: Vec<TableCheck>,
    /// Each a sentence that says what to do. Empty: the workload can run.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableCheck {
    pub name: String,
    pub rows: u64,
    pub least_id: Option<i64>,
    pub greatest_id: Option<i64>,
    /// `column type` of each column in order, then `key (columns)` of each index: equal texts are equal schemas.
    pub schema: Vec<String>,
}

/// Creates and fills the workload's tables; `progress` gets (rows loaded, rows in all) a few times a second. Tables that are there
/// already are an error of the server (1050): [`cleanup`] first.
pub fn prepare(
    target: &Target,
    workload: &Workload,
    spec: &PrepareSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Prepared, DriverError> {
    let begun = Instant::now();
    let tables = workload.tables();
    let mut control = Control::connect(target, target.server(0)?)?;
    control.heed(stop);
    for table in &tables {
        control.query(&table.create)?;
    }
    let all: u64 = tables.iter().map(|table| table.units).sum();
    let loading = Loading {
        target,
        tables: &tables,
        seed: spec.seed,
        stop,
        next: Mutex::new((0, 0)),
        rows: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        working: AtomicUsize::new(spec.connections.max(1)),
        after_next: AtomicUsize::new(0),
    };
    thread::scope(|scope| {
        let loaders: Vec<_> = (0..spec.connections.max(1))
            .map(|number| {
                let loading = &loading;
                scope.spawn(move || {
                    let result = loading.load(number);
                    loading.working.fetch_sub(1, Ordering::Release);
                    if result.is_err() {
                        loading.stop_loading();
                    }
                    result
                })
            })
            .collect();
        let mut told = Instant::now();
        while loading.working.load(Ordering::Acquire) > 0 {
            thread::sleep(LOOK_UP_AFTER);
            if told.elapsed() > PROGRESS_AFTER {
                told = Instant::now();
                progress(loading.rows.load(Ordering::Relaxed), all);
            }
        }
        let panicked = |_| Err(DriverError::Spec("a loader panicked".into()));
        let results: Vec<_> = loaders
            .into_iter()
            .map(|loader| loader.join().unwrap_or_else(panicked))
            .collect();
        // One that failed made the others stop: its error is the one that says why.
        let why = |result: &Result<(), DriverError>| matches!(result, Err(DriverError::Stopped));
        let (stopped, ended): (Vec<_>, Vec<_>) = results.into_iter().partition(why);
        ended.into_iter().chain(stopped).collect::<Result<(), _>>()?;
        progress(loading.rows.load(Ordering::Relaxed), all);
        Ok(Prepared {
            tables: tables.len() as u64,
            rows: loading.rows.load(Ordering::Relaxed),
            bytes_sent: loading.bytes.load(Ordering::Relaxed),
            seconds: begun.elapsed().as_secs_f64(),
        })
    })
}

struct Loading<'a> {
    target: &'a Target,
    tables: &'a [TableLoad],
    seed: u64,
    stop: &'a Stop,
    /// Table and unit that the next piece begins with.
    next: Mutex<(usize, u64)>,
    rows: AtomicU64,
    bytes: AtomicU64,
    working: AtomicUsize,
    after_next: AtomicUsize,
}

impl Loading<'_> {
    fn load(&self, number: usize) -> Result<(), DriverError> {
        let mut control = Control::connect(self.target, self.target.server(number)?)?;
        control.heed(self.stop);
        let mut sql = Vec::with_capacity(INSERT_LEN_MAX);
        while let Some((index, units)) = self.piece() {
            if self.stop.is_requested() {
                return Err(DriverError::Stopped);
            }
            let table = &self.tables[index];
            let mut random = Random::new(self.seed ^ units.start, index as u64 + 1);
            sql.clear();
            sql.extend_from_slice(table.insert.as_bytes());
            let count = units.end - units.start;
            for unit in units.clone() {
                sql.push(if unit == units.start { b' ' } else { b',' });
                (table.write)(unit, &mut random, &mut sql);
            }
            send_insert(&mut control, &sql)?;
            self.rows.fetch_add(count, Ordering::Relaxed);
            self.bytes.fetch_add(sql.len() as u64, Ordering::Relaxed);
        }
        // Indexes once everything is loaded: by whoever is there, a table each.
        if number == 0 || self.tables.len() > 1 {
            while self.rows.load(Ordering::Relaxed) < self.tables.iter().map(|table| table.units).sum() {
                if self.stop.is_requested() || self.loading_stopped() {
                    return Err(DriverError::Stopped);
                }
                thread::sleep(Duration::from_millis(2));
            }
            loop {
                let index = self.after_next.fetch_add(1, Ordering::Relaxed);
                let Some(table) = self.tables.get(index) else { break };
                for statement in &table.after {
                    control.query(statement)?;
                }
            }
        }
        Ok(())
    }

    /// The next units of one INSERT.
    fn piece(&self) -> Option<(usize, std::ops::Range<u64>)> {
        let mut next = self.next.lock().ok()?;
        loop {
            let (index, first) = *next;
            let table = self.tables.get(index)?;
            if first >= table.units {
                *next = (index + 1, 0);
                continue;
            }
            let room = INSERT_LEN_MAX - table.insert.len() - 1;
            let count = (room / (table.unit_len_max + 1)).max(1) as u64;
            let last = (first + count).min(table.units);
            *next = (index, last);
            return Some((index, first..last));
        }
    }

    /// One failed: the others find nothing more to do.
    fn stop_loading(&self) {
        if let Ok(mut next) = self.next.lock() {
            *next = (usize::MAX, 0);
        }
    }

    fn loading_stopped(&self) -> bool {
        self.next.lock().map_or(true, |next| next.0 == usize::MAX)
    }
}

fn send_insert(control: &mut Control, sql: &[u8]) -> Result<(), DriverError> {
    let mut sent = 0;
    loop {
        match control.execute(sql) {
            Err(DriverError::Server { code, .. }) if SENT_AGAIN.contains(&code) && sent < SENT_AGAIN_MAX => {
                sent += 1;
                thread::sleep(SENT_AGAIN_AFTER);
            }
            result => return result.map(|_| ()),
        }
    }
}

/// Drops the workload's tables, those that exist.
pub fn cleanup(target: &Target, workload: &Workload) -> Result<(), DriverError> {
    let mut control = Control::connect(target, target.server(0)?)?;
    for table in workload.tables() {
        control.query(&format!("DROP TABLE IF EXISTS {}", table.name))?;
    }
    Ok(())
}

/// Looks through `server`: every table there, the right number of rows, ids without gaps, every statement one that it takes; for TPC-C, also its consistency conditions.
pub fn check(target: &Target, server: &str, workload: &Workload) -> Result<Check, DriverError> {
    let mut control = Control::connect(target, server)?;
    let mut check = Check::default();
    for table in workload.tables() {
        match check_table(&mut control, &table, &mut check.problems) {
            Ok(found) => check.tables.push(found),
            Err(DriverError::Server { code: 1146, .. }) => check.problems.push(format!(
                "{server}: table {} is not there: prepare the workload first",
                table.name
            )),
            Err(error) => return Err(error),
        }
    }
    if check.problems.is_empty() {
        check.problems = statements(target, server, workload)?;
    }
    if check.problems.is_empty() {
        check.problems = workload.conditions(&mut control)?;
    }
    Ok(check)
}

/// A column that is missing, or a right, is found by preparing what will be sent. What goes as text is not looked at.
fn statements(target: &Target, server: &str, workload: &Workload) -> Result<Vec<String>, DriverError> {
    match Session::open(
        &Dialer::new(target)?,
        server,
        0,
        &workload.catalog(),
        OpenLimits::default(),
    ) {
        Ok(session) => {
            session.quit();
            Ok(Vec::new())
        }
        Err(DriverError::Server {
            server,
            code,
            message,
            statement,
            ..
        }) => Ok(vec![format!(
            "{server}: the statement `{statement}` cannot be prepared: error {code}: {message}"
        )]),
        Err(error) => Err(error),
    }
}

fn check_table(
    control: &mut Control,
    table: &TableLoad,
    problems: &mut Vec<String>,
) -> Result<TableCheck, DriverError> {
    let name = &table.name;
    let mut found = TableCheck {
        name: name.clone(),
        schema: schema(control, name)?,
        ..TableCheck::default()
    };
    let Some(key) = table.gapless_key else {
        found.rows = number(control.value(&format!("SELECT COUNT(*) FROM {name}"))?).unwrap_or(0) as u64;
        return Ok(found);
    };
    let answer = control.query(&format!(
        "SELECT COUNT(*), MIN({key}), MAX({key}), COUNT(DISTINCT {key}) FROM {name} WHERE {key} BETWEEN 1 AND {}",
        table.units
    ))?;
    let row = answer.rows.into_iter().next().unwrap_or_default();
    let mut values = row.into_iter().map(number);
    let mut next = || values.next().flatten();
    found.rows = next().unwrap_or(0) as u64;
    (found.least_id, found.greatest_id) = (next(), next());
    let distinct = next().unwrap_or(0) as u64;
    let server = control.server();
    if found.rows != table.units {
        problems.push(format!(
            "{server}: {name} has {} of the {} rows with {key} 1 to {}: clean up and prepare again",
            found.rows, table.units, table.units
        ));
    } else if distinct != found.rows {
        problems.push(format!(
            "{server}: {name} has {} rows whose {key} another row has too: clean up and prepare again",
            found.rows - distinct
        ));
    }
    Ok(found)
}

fn number(text: Option<String>) -> Option<i64> {
    text?.parse().ok()
}

/// Columns and keys in words that do not differ between servers: integer widths, which some show, are left out.
fn schema(control: &mut Control, table: &str) -> Result<Vec<String>, DriverError> {
    let mut schema = Vec::new();
    for row in control.query(&format!("SHOW COLUMNS FROM {table}"))?.rows {
        let mut row = row.into_iter().map(Option::unwrap_or_default);
        let (name, kind) = (row.next().unwrap_or_default(), row.next().unwrap_or_default());
        let kind = match kind.split_once("int(") {
            Some((before, after)) => format!("{before}int{}", after.split_once(')').map_or("", |(_, rest)| rest)),
            None => kind,
        };
        let null = row.next().unwrap_or_default();
        let null = if null == "NO" { " not null" } else { "" };
        schema.push(format!("{name} {kind}{null}").to_lowercase());
    }
    let answer = control.query(&format!("SHOW INDEX FROM {table}"))?;
    let column = |name: &str| {
        answer
            .columns
            .iter()
            .position(|column| column.eq_ignore_ascii_case(name))
    };
    if let (Some(key), Some(part)) = (column("Key_name"), column("Column_name")) {
        let mut keys: Vec<(String, String)> = Vec::new();
        for row in &answer.rows {
            let key = row[key].clone().unwrap_or_default();
            let part = row[part].clone().unwrap_or_default();
            match keys.last_mut() {
                Some((last, parts)) if *last == key => {
                    parts.push_str(", ");
                    parts.push_str(&part);
                }
                _ => keys.push((key, part)),
            }
        }
        keys.sort();
        schema.extend(
            keys.iter()
                .map(|(key, parts)| format!("{key} ({parts})").to_lowercase()),
        );
    }
    Ok(schema)
}
