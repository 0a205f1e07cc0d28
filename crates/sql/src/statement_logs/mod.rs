//! The general log and the slow query log: which statements came, and which of them took long.
//!
//! ```text
//!   statement ── switches? ──▶ entry ──▶ `mysql.general_log`, `mysql.slow_log`: the newest, in memory
//!                                  └───▶ queue ──▶ thread ──▶ file
//! ```
//!
//! While both are off a statement looks at one number. A log holds nobody up: what a file does not take in time is left out, and the file
//! says how much that was. Secrets are taken out before anything is kept.

mod writer;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use env::Disk;
use parking_lot::Mutex;
use types::time::TimeZone;
use types::{UnixTime, Value};

use writer::Writer;

/// The folder of the files, in the data directory.
pub const FOLDER: &str = "statement-logs";
/// Bytes of the newest entries that a table shows.
const TABLE_BYTES: usize = 4 << 20;
/// A longer statement is cut in a log.
const STATEMENT_BYTES: usize = 64 << 10;

/// Which log, and so which file and which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    General,
    Slow,
}

/// What the variables say, as bits of one number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches(u8);

impl Switches {
    pub const GENERAL: Switches = Switches(1);
    pub const SLOW: Switches = Switches(2);
    pub const FILE: Switches = Switches(4);
    pub const TABLE: Switches = Switches(8);
    /// Queries that no index narrows are slow, however long they take.
    pub const WITHOUT_INDEX: Switches = Switches(16);
    /// Changes of the schema and maintenance may be slow, too.
    pub const ADMIN: Switches = Switches(32);

    pub fn has(self, wanted: Switches) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Of the variables, by name; `output` is `log_output`.
    pub fn of(is_on: impl Fn(&str) -> bool, output: &str) -> Switches {
        let goes_to = |place: &str| output.split(',').any(|named| named == place);
        let nowhere = goes_to("NONE");
        let switches = [
            (Switches::GENERAL, is_on("general_log") && !nowhere),
            (Switches::SLOW, is_on("slow_query_log") && !nowhere),
            (Switches::FILE, goes_to("FILE")),
            (Switches::TABLE, goes_to("TABLE")),
            (Switches::WITHOUT_INDEX, is_on("log_queries_not_using_indexes")),
            (Switches::ADMIN, is_on("log_slow_admin_statements")),
        ];
        let on = switches.iter().filter(|(_, is_on)| *is_on);
        Switches(on.fold(0, |bits, (switch, _)| bits | switch.0))
    }
}

/// Who sent the statement.
#[derive(Debug, Clone)]
pub struct Sender {
    /// `root[root] @ localhost [127.0.0.1]`
    pub user_host: String,
    pub connection_id: u32,
    pub database: Option<Arc<str>>,
}

/// What a statement took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    pub elapsed: Duration,
    pub lock_waits: Duration,
    pub rows_sent: u64,
    pub rows_examined: u64,
    pub last_insert_id: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    at_micros: i64,
    sender: Sender,
    /// `Query`, `Execute`…
    command: &'static str,
    cost: Cost,
    text: Box<str>,
}

impl Entry {
    fn bytes(&self) -> usize {
        size_of::<Entry>() + self.text.len() + self.sender.user_host.len()
    }
}

/// The newest entries of a log.
#[derive(Default)]
struct Newest {
    entries: VecDeque<Entry>,
    bytes: usize,
}

impl Newest {
    fn push(&mut self, entry: Entry) {
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        while self.bytes > TABLE_BYTES
            && let Some(oldest) = self.entries.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
    }
}

/// The logs of a node.
pub struct StatementLogs {
    switches: AtomicU8,
    general: Mutex<Newest>,
    slow: Mutex<Newest>,
    disk: Arc<dyn Disk>,
    /// `None`: the node has no place for files.
    folder: OnceLock<PathBuf>,
    writer: OnceLock<Option<Writer>>,
    /// Names of the files, as the variables give them.
    files: Mutex<[Arc<str>; 2]>,
}

impl StatementLogs {
    pub fn new(disk: Arc<dyn Disk>) -> StatementLogs {
        StatementLogs {
            switches: AtomicU8::new(0),
            general: Mutex::default(),
            slow: Mutex::default(),
            disk,
            folder: OnceLock::new(),
            writer: OnceLock::new(),
            files: Mutex::new(["".into(), "".into()]),
        }
    }

    /// Where the files lie.
    pub fn keep_in(&self, folder: PathBuf) {
        let _ = self.folder.set(folder);
    }

    /// Takes over what the variables say.
    pub fn switch(&self, switches: Switches, files: [Arc<str>; 2]) {
        *self.files.lock() = files;
        self.switches.store(switches.0, Ordering::Release);
    }

    #[inline]
    pub fn switches(&self) -> Switches {
        Switches(self.switches.load(Ordering::Relaxed))
    }

    /// Notes a statement, or another command, that begins.
    pub fn note_general(&self, at_micros: i64, sender: Sender, command: &'static str, text: &[u8]) {
        let entry = Entry {
            at_micros,
            sender,
            command,
            cost: Cost::default(),
            text: shown(text),
        };
        self.note(Log::General, entry);
    }

    /// Notes a statement that has taken long.
    pub fn note_slow(&self, at_micros: i64, sender: Sender, cost: Cost, text: &[u8]) {
        let entry = Entry {
            at_micros,
            sender,
            command: "Query",
            cost,
            text: shown(text),
        };
        self.note(Log::Slow, entry);
    }

    fn note(&self, log: Log, entry: Entry) {
        let switches = self.switches();
        if switches.has(Switches::FILE)
            && let Some(writer) = self.writer()
        {
            let name = self.files.lock()[log as usize].clone();
            writer.write(log, name, written(log, &entry));
        }
        if switches.has(Switches::TABLE) {
            self.newest(log).lock().push(entry);
        }
    }

    fn newest(&self, log: Log) -> &Mutex<Newest> {
        match log {
            Log::General => &self.general,
            Log::Slow => &self.slow,
        }
    }

    fn writer(&self) -> Option<&Writer> {
        let start = || Writer::start(self.disk.clone(), self.folder.get()?.clone());
        self.writer.get_or_init(start).as_ref()
    }

    /// FLUSH LOGS: files are opened anew, so that somebody may have moved them away.
    pub fn reopen(&self) {
        if let Some(Some(writer)) = self.writer.get() {
            writer.reopen();
        }
    }

    /// The rows of `mysql.general_log`.
    pub fn general_rows(&self, moment: impl Fn(i64) -> Value) -> Vec<Vec<Value>> {
        let newest = self.general.lock();
        let rows = newest.entries.iter().map(|entry| {
            vec![
                moment(entry.at_micros),
                Value::str(&entry.sender.user_host),
                Value::UInt(u64::from(entry.sender.connection_id)),
                Value::UInt(1),
                Value::str(entry.command),
                Value::str(&entry.text),
            ]
        });
        rows.collect()
    }

    /// The rows of `mysql.slow_log`.
    pub fn slow_rows(&self, moment: impl Fn(i64) -> Value) -> Vec<Vec<Value>> {
        let time = |duration: Duration| {
            Value::from(
                types::Time {
                    micros: duration.as_micros() as i64,
                    fsp: 6,
                }
                .to_string(),
            )
        };
        let newest = self.slow.lock();
        let rows = newest.entries.iter().map(|entry| {
            let cost = &entry.cost;
            vec![
                moment(entry.at_micros),
                Value::str(&entry.sender.user_host),
                time(cost.elapsed),
                time(cost.lock_waits),
                Value::UInt(cost.rows_sent),
                Value::UInt(cost.rows_examined),
                Value::str(entry.sender.database.as_deref().unwrap_or("")),
                Value::UInt(cost.last_insert_id),
                Value::UInt(0),
                Value::UInt(1),
                Value::str(&entry.text),
                Value::UInt(u64::from(entry.sender.connection_id)),
            ]
        });
        rows.collect()
    }
}

/// The text without secrets, and not longer than a log takes.
fn shown(text: &[u8]) -> Box<str> {
    // What is cut in the midst of a secret would not be known for one.
    let text = parser::redacted(text);
    let text = &text[..text.len().min(STATEMENT_BYTES)];
    String::from_utf8_lossy(text).into()
}

/// What a file gets, in MySQL's form, which the tools for these files read.
fn written(log: Log, entry: &Entry) -> String {
    let moment = UnixTime {
        micros: entry.at_micros,
        fsp: 6,
    };
    let time = TimeZone::UTC.to_local(moment).to_string().replace(' ', "T");
    let sender = &entry.sender;
    let mut line = String::with_capacity(200 + entry.text.len());
    let text = &entry.text;
    let _ = match log {
        Log::General => writeln!(line, "{time}Z\t{:5} {}\t{text}", sender.connection_id, entry.command),
        Log::Slow => {
            let cost = &entry.cost;
            let use_database = match &sender.database {
                Some(database) => format!("use {database};\n"),
                None => String::new(),
            };
            writeln!(
                line,
                "# Time: {time}Z\n# User@Host: {}  Id: {:5}\n# Query_time: {:.6}  Lock_time: {:.6} Rows_sent: {}  \
                 Rows_examined: {}\n{use_database}SET timestamp={};\n{text};",
                sender.user_host,
                sender.connection_id,
                cost.elapsed.as_secs_f64(),
                cost.lock_waits.as_secs_f64(),
                cost.rows_sent,
                cost.rows_examined,
                entry.at_micros.div_euclid(1_000_000) - cost.elapsed.as_secs() as i64,
            )
        }
    };
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender() -> Sender {
        Sender {
            user_host: "root[root] @ localhost [127.0.0.1]".to_owned(),
            connection_id: 7,
            database: Some("shop".into()),
        }
    }

    #[test]
    fn files_have_mysqls_form() {
        let entry = Entry {
            at_micros: 1_700_000_000_250_000,
            sender: sender(),
            command: "Query",
            cost: Cost {
                elapsed: Duration::from_millis(1500),
                lock_waits: Duration::from_millis(2),
                rows_sent: 3,
                rows_examined: 400,
                last_insert_id: 0,
            },
            text: "SELECT 1".into(),
        };
        assert_eq!(
            written(Log::General, &entry),
            "2023-11-14T22:13:20.250000Z\t    7 Query\tSELECT 1\n"
        );
        assert_eq!(
            written(Log::Slow, &entry),
            "# Time: 2023-11-14T22:13:20.250000Z\n# User@Host: root[root] @ localhost [127.0.0.1]  Id:     7\n\
             # Query_time: 1.500000  Lock_time: 0.002000 Rows_sent: 3  Rows_examined: 400\nuse shop;\n\
             SET timestamp=1699999999;\nSELECT 1;\n"
        );
    }

    #[test]
    fn secrets_are_not_kept_and_tables_have_bounds() {
        let logs = StatementLogs::new(env::SimDisk::new(1));
        let on = |name: &str| name == "general_log";
        logs.switch(Switches::of(on, "TABLE"), ["a".into(), "b".into()]);
        logs.note_general(0, sender(), "Query", b"CREATE USER u IDENTIFIED BY 'hidden'");
        let rows = logs.general_rows(Value::Int);
        assert!(
            rows[0][5]
                .to_string()
                .starts_with("CREATE USER u IDENTIFIED BY <secret>")
        );
        let long = vec![b'x'; 2 * STATEMENT_BYTES];
        for _ in 0..200 {
            logs.note_general(0, sender(), "Query", &long);
        }
        let kept = logs.general_rows(Value::Int).len();
        assert!((10..=TABLE_BYTES / STATEMENT_BYTES).contains(&kept), "{kept}");
    }

    #[test]
    fn none_is_nowhere() {
        let all = |_: &str| true;
        assert!(!Switches::of(all, "NONE,FILE").has(Switches::GENERAL));
        assert!(Switches::of(all, "FILE,TABLE").has(Switches::SLOW));
        assert_eq!(Switches::of(|_| false, ""), Switches::default());
    }
}
