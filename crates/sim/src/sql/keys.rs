//! A client's other door: commands of Redis to the same node, on the same fiber.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Catalog;
use keyspace::collection::Collection;
use keyspace::head::{HeadRef, key_in};
use keyspace::session::Surroundings;
use keyspace::tables::{DATABASE, Part};
use keyspace::{Keyspace, Session};
use redis_wire::Reply;
use sql::session::SessionAccount;
use sql_api::host::Host;
use store::Store;
use types::{RowLayout, ValueRef};

use super::client::{Client, is_unknown};
use super::connections::Handle;
use super::tables::{LISTS, Rows, stored};
use crate::report::Report;
use crate::workload::Fail;

/// Lists from one of which jobs are moved to the other.
pub const JOBS: &str = "jobs";
pub const DONE: &str = "done";

/// How errors begin that say no more than that a client came in another's way, was killed, or that there is nobody to commit.
const USUAL: &[&str] = &[
    "CLUSTERDOWN",
    "TRYAGAIN",
    "MISCONF",
    "ERR it is not known whether",
    // A commit that the log did not take.
    "ERR Got error 1 -",
    "ERR Query execution was interrupted",
    "ERR the tables of the database are being dropped",
];

/// In these, too.
const USUAL_PARTS: &[&str] = &["it is not known whether", "feature level", "and is forgotten"];

/// The session of a client, which is root by SQL, too.
pub fn session(keyspace: &Arc<Keyspace>, handle: &Handle) -> Session {
    let account = SessionAccount::Account {
        user: "root".into(),
        host: "localhost".into(),
    };
    Session::new(keyspace.clone(), u64::from(handle.id), Some(account), Box::new(Inside))
}

/// Nobody logs in here, and KILL goes by SQL.
struct Inside;

impl Surroundings for Inside {
    fn log_in(&self, _user: Option<&str>, _password: &[u8], _host: &dyn Host) -> Result<SessionAccount, String> {
        Err("WRONGPASS".to_owned())
    }

    fn needs_no_password(&self) -> bool {
        true
    }

    fn address(&self) -> String {
        "127.0.0.1:1".to_owned()
    }

    fn kill(&self, _id: u64) -> bool {
        false
    }
}

/// A reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    Text(String),
    Number(i64),
    Nothing,
    All(Vec<Told>),
    Error(String),
}

impl Told {
    /// The reply at the beginning of some bytes, and what is behind it.
    fn read(bytes: &[u8]) -> Option<(Told, &[u8])> {
        let end = bytes.windows(2).position(|two| two == b"\r\n")?;
        let text = String::from_utf8_lossy(bytes.get(1..end)?).into_owned();
        let mut rest = &bytes[end + 2..];
        let told = match bytes[0] {
            b'+' => Told::Text(text),
            b'-' => Told::Error(text),
            b':' => Told::Number(text.parse().ok()?),
            b'$' | b'*' if text == "-1" => Told::Nothing,
            b'$' => {
                let length: usize = text.parse().ok()?;
                let value = String::from_utf8_lossy(rest.get(..length)?).into_owned();
                rest = rest.get(length + 2..)?;
                Told::Text(value)
            }
            b'*' => {
                let mut all = Vec::new();
                for _ in 0..text.parse::<usize>().ok()? {
                    let (told, behind) = Told::read(rest)?;
                    all.push(told);
                    rest = behind;
                }
                Told::All(all)
            }
            _ => return None,
        };
        Some((told, rest))
    }

    /// Of a list of numbers.
    pub fn numbers(&self) -> Vec<u32> {
        match self {
            Told::All(all) => all.iter().flat_map(Told::numbers).collect(),
            Told::Text(text) => text.parse().into_iter().collect(),
            Told::Number(_) | Told::Nothing | Told::Error(_) => Vec::new(),
        }
    }
}

impl Client<'_> {
    /// Sends commands in one pipeline; words are parted by spaces. The answers, one for each.
    pub fn send_commands(&mut self, commands: &[String]) -> Vec<Result<Told, Fail>> {
        let trace = self.bench.trace.clone();
        let text = commands.join("; ");
        trace.note(format_args!("{}: {text}", self.name));
        let operation = self.bench.begin(self.node, "a command", trace.now());
        self.handle.begin(&text);
        let words = |command: &'_ String| command.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let words: Vec<Vec<String>> = commands.iter().map(words).collect();
        let requests: Vec<Vec<&[u8]>> = words
            .iter()
            .map(|words| words.iter().map(String::as_bytes).collect())
            .collect();
        let mut reply = Reply::new(self.keys.protocol);
        self.keys.run(&requests, self.host, &mut reply);
        self.handle.end();
        self.bench.ends.end(operation);
        trace.note(format_args!("{}: {}", self.name, reply.bytes.escape_ascii()));
        let (mut answers, mut rest) = (Vec::new(), &reply.bytes[..]);
        while let Some((told, behind)) = Told::read(rest) {
            answers.push(self.judge(&text, told));
            rest = behind;
        }
        if answers.len() != commands.len() || !rest.is_empty() {
            let (name, count) = (&self.name, answers.len());
            self.bench.report.violation(
                "answers",
                format_args!("{name} sent {text} and was told {count} things"),
            );
            answers.resize_with(commands.len(), || Err(Fail::Unknown("no answer".into())));
        }
        answers
    }

    /// Sends one command.
    pub fn command(&mut self, command: String) -> Result<Told, Fail> {
        self.send_commands(&[command]).remove(0)
    }

    fn judge(&self, text: &str, told: Told) -> Result<Told, Fail> {
        let Told::Error(error) = told else { return Ok(told) };
        let is_usual =
            USUAL.iter().any(|usual| error.starts_with(usual)) || USUAL_PARTS.iter().any(|part| error.contains(part));
        if !is_usual {
            let name = &self.name;
            self.bench
                .report
                .violation("answers", format_args!("{name} sent {text} and was told {error}"));
        }
        Err(match is_unknown(&error) {
            true => Fail::Unknown(error),
            false => Fail::No(error),
        })
    }
}

/// The lists, as a replica has them in its rows.
#[derive(Default)]
pub struct Kept {
    /// Of each key what its row says of its elements.
    keys: BTreeMap<String, Collection>,
    /// Of each id its elements, by their positions.
    elements: BTreeMap<u64, BTreeMap<i64, u32>>,
}

impl Kept {
    /// As of the newest commit; nothing where nobody has used keys.
    pub fn read(store: &Arc<Store>, catalog: &Catalog) -> Kept {
        let mut kept = Kept::default();
        each_row(store, catalog, Part::Keys, |layout, row| {
            let collection = HeadRef::read(layout, row).and_then(Collection::of);
            let key = String::from_utf8_lossy(key_in(layout, row)).into_owned();
            kept.keys.extend(collection.map(|collection| (key, collection)));
        });
        each_row(store, catalog, Part::List, |layout, row| {
            let text = String::from_utf8_lossy(layout.raw(row, 2).unwrap_or_default());
            if let (ValueRef::UInt(id), ValueRef::Int(position), Ok(number)) =
                (layout.column(row, 0), layout.column(row, 1), text.parse())
            {
                kept.elements.entry(id).or_default().insert(position, number);
            }
        });
        kept
    }

    /// A key's row says how many elements there are.
    pub fn look(&self, node: u32, at: u64, report: &Report) {
        for (key, collection) in &self.keys {
            let count = self.elements.get(&collection.id).map_or(0, BTreeMap::len) as u64;
            if count != collection.len {
                let said = collection.len;
                report.violation(
                    "keys",
                    format_args!("at commit {at} on node {node}: {key} has {count} elements, and says {said}"),
                );
            }
        }
    }

    fn list(&self, key: &str) -> Vec<u32> {
        let elements = self
            .keys
            .get(key)
            .and_then(|collection| self.elements.get(&collection.id));
        elements.map_or_else(Vec::new, |elements| elements.values().copied().collect())
    }

    /// The lists to which numbers are pushed.
    pub fn lists(&self) -> BTreeMap<i64, Vec<u32>> {
        (0..LISTS).map(|list| (list, self.list(&name_of(list)))).collect()
    }

    /// The jobs in a list, as rows of a table.
    pub fn queue(&self, key: &str) -> Rows {
        let row = |job: u32| vec![String::new(), job.to_string()];
        Rows {
            columns: Vec::new(),
            rows: self.list(key).into_iter().map(row).collect(),
        }
    }
}

fn each_row(store: &Arc<Store>, catalog: &Catalog, part: Part, mut look: impl FnMut(&RowLayout, &[u8])) {
    let def = catalog.table(DATABASE, &part.name(0));
    let Some(table) = def.and_then(|def| store.table(def.id)) else {
        return;
    };
    let layout = table.row_layout();
    for (_, row) in stored(store, &table) {
        look(layout, &row);
    }
}

/// The key of a list.
pub fn name_of(list: i64) -> String {
    format!("list:{list}")
}
