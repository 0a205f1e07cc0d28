//! Keys in memory, clients of them, and scripts of commands with the replies that Redis gives.
//!
//! A script in `tests/replies` is a list of commands, each with its reply below it:
//!
//! ```text
//! > SET k v                 the reply of Redis, which ours has to equal
//! sorted> SMEMBERS s        so but for the order of its elements
//! shape> TTL k              only its types are compared
//! own> HTTL h FIELDS 1 f    ours alone: Redis 7.2 has not got that; written by hand
//! 1..200> SADD s m{i}       as often; the last reply
//! redis> DUMP k             Redis alone, when replies are recorded; `{last}` stands for its reply in what follows
//! ours> DUMP k              ours alone; `{last}` stands for its reply, for Redis too
//! b> GET k                  of another client; letters name clients
//! {x*100}                   x a hundred times
//! wait 20                   so many milliseconds pass
//! protocol 3                from here on replies have this form
//! ```
//!
//! `RECORD=127.0.0.1:6391 cargo test -p keyspace` asks a Redis 7.2 there, which loses all its keys, and writes its replies into the scripts.

#![allow(dead_code, reason = "each test uses its part")]

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use env::{Env, ManualClock, SimDisk};
use keyspace::session::alone::Alone;
use keyspace::{Keyspace, Session};
pub use redis_wire::Answer;
use redis_wire::{Protocol, Reply, Requests, Scan};
use shard::Shard;
use sql::engine::Engine;
use sql_api::host::BlockingHost;
use sql_api::session::SessionAccount;
use store::MemoryBudget;

const MEMORY_BYTES: u64 = 512 << 20;

pub struct Database {
    pub keyspace: Arc<Keyspace>,
    pub clock: Arc<ManualClock>,
    clients: AtomicU64,
}

impl Database {
    pub fn open() -> Database {
        let clock = Arc::new(ManualClock::default());
        let env = Env {
            clock: clock.clone(),
            ..Env::simulated(SimDisk::new(1), 1)
        };
        let schema = sql::schema::Schema::new();
        let config = shard::Config {
            observer: Some(schema.clone()),
            ..shard::Config::new(env.clone(), "/data", MemoryBudget::new(MEMORY_BYTES))
        };
        let shard = Arc::new(Shard::open(config).expect("an empty disk"));
        let engine = Engine::open(env, shard, schema, &BlockingHost).expect("a first start");
        Database {
            keyspace: Keyspace::new(engine),
            clock,
            clients: AtomicU64::new(0),
        }
    }

    /// Their ids count from 1.
    pub fn client(&self) -> Client {
        self.client_of(Some(SessionAccount::Server))
    }

    /// One that has to log in.
    pub fn stranger(&self) -> Client {
        self.client_of(None)
    }

    pub fn client_of(&self, account: Option<SessionAccount>) -> Client {
        let id = self.clients.fetch_add(1, Ordering::Relaxed) + 1;
        Client {
            session: Session::new(
                self.keyspace.clone(),
                id,
                account,
                Box::new(Alone(Some(SessionAccount::Server))),
            ),
        }
    }
}

pub struct Client {
    pub session: Session,
}

impl Client {
    pub fn send(&mut self, words: &[&[u8]]) -> Answer {
        self.send_all(&[words.iter().map(|word| word.to_vec()).collect()])
    }

    /// Sends all lines at once. The last reply.
    pub fn pipeline(&mut self, lines: impl IntoIterator<Item = String>) -> String {
        let requests: Vec<Vec<Vec<u8>>> = lines.into_iter().map(|line| words(&line)).collect();
        self.send_all(&requests).to_string()
    }

    pub fn send_all(&mut self, requests: &[Vec<Vec<u8>>]) -> Answer {
        self.answers(requests).pop().expect("a reply")
    }

    /// All that is sent to the client for a line, as text.
    pub fn all(&mut self, line: &str) -> Vec<String> {
        let answers = self.answers(&[words(line)]);
        answers.iter().map(ToString::to_string).collect()
    }

    fn answers(&mut self, requests: &[Vec<Vec<u8>>]) -> Vec<Answer> {
        let requests: Vec<Vec<&[u8]>> = requests
            .iter()
            .map(|words| words.iter().map(Vec::as_slice).collect())
            .collect();
        let mut reply = Reply::new(self.session.protocol);
        self.session.run(&requests, &BlockingHost, &mut reply);
        let (mut at, mut answers) = (0, Vec::new());
        while let Some((answer, len)) = Answer::read(&reply.bytes[at..]) {
            answers.push(answer);
            at += len;
        }
        assert_eq!(at, reply.bytes.len(), "a whole reply to each command");
        answers
    }

    /// The reply to a line, as text.
    pub fn run(&mut self, line: &str) -> String {
        self.answer(line).to_string()
    }

    /// What was sent to the client beside replies, since the last time: a line each.
    pub fn messages(&mut self) -> Vec<String> {
        let mut bytes = Vec::new();
        if let Some(outbox) = self.session.subscriber() {
            assert!(outbox.take(&mut bytes), "too much was sent to the client");
        }
        let (mut at, mut messages) = (0, Vec::new());
        while let Some((message, len)) = Answer::read(&bytes[at..]) {
            let message = message.to_string();
            messages.push(message.split_whitespace().collect::<Vec<_>>().join(" "));
            at += len;
        }
        messages
    }

    pub fn answer(&mut self, line: &str) -> Answer {
        let words = words(line);
        self.send(&words.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }
}

/// The words of a line, as `redis-cli` takes them.
pub fn words(line: &str) -> Vec<Vec<u8>> {
    let mut bytes = line.as_bytes().to_vec();
    bytes.extend_from_slice(b"\r\n");
    let mut requests = Requests::default();
    match requests.scan(&bytes) {
        Ok(Scan::Complete { .. }) => requests.args(&bytes).map(<[u8]>::to_vec).collect(),
        other => panic!("{line}: {other:?}"),
    }
}

/// What a reply has to be.
pub trait Expected {
    fn bytes(&self) -> &[u8];
    fn elements(&self) -> &[Answer];
}

impl Expected for Answer {
    fn bytes(&self) -> &[u8] {
        match self {
            Answer::Bulk(_, bytes) => bytes,
            other => panic!("no string: {other}"),
        }
    }

    fn elements(&self) -> &[Answer] {
        match self {
            Answer::List(_, elements) => elements,
            other => panic!("no list: {other}"),
        }
    }
}

fn sorted(mut answer: Answer) -> Answer {
    if let Answer::List(_, elements) = &mut answer {
        elements.sort_by_key(ToString::to_string);
    }
    answer
}

fn shape(answer: Answer) -> Answer {
    match answer {
        Answer::Line('-', text) => Answer::Line('-', text),
        Answer::Line(kind, _) => Answer::Line(kind, String::new()),
        Answer::Bulk(kind, _) => Answer::Line(kind, String::new()),
        Answer::List(kind, elements) => Answer::List(kind, elements.into_iter().map(shape).collect()),
    }
}

/// A connection to a Redis.
struct Redis {
    stream: TcpStream,
}

impl Redis {
    fn send(&mut self, words: &[Vec<u8>]) -> Answer {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        self.stream.write_all(&request).expect("Redis listens");
        let mut bytes = Vec::new();
        loop {
            if let Some((answer, _)) = Answer::read(&bytes) {
                return answer;
            }
            let mut more = [0; 65536];
            let len = self.stream.read(&mut more).expect("Redis answers");
            assert!(len > 0, "Redis has closed the connection");
            bytes.extend_from_slice(&more[..len]);
        }
    }
}

/// Runs a script. It fails with the replies that differ.
pub fn run_script(path: &std::path::Path) {
    let text = std::fs::read_to_string(path).expect("a script");
    let redis_address = std::env::var("RECORD").ok();
    let mut script = Script {
        database: Database::open(),
        clients: HashMap::new(),
        redis: HashMap::new(),
        redis_address,
        protocol: 2,
        last: Vec::new(),
        recorded: String::new(),
        differences: Vec::new(),
    };
    if script.is_recording() {
        script.ask_redis("", &words("FLUSHALL"));
    }
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        script.recorded.push_str(line);
        script.recorded.push('\n');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(ms) = line.strip_prefix("wait ") {
            let time = Duration::from_millis(ms.parse().expect("milliseconds"));
            script.database.clock.advance(time);
            if script.is_recording() {
                std::thread::sleep(time);
            }
            continue;
        }
        if let Some(protocol) = line.strip_prefix("protocol ") {
            script.protocol = protocol.parse().expect("a number");
            script.clients.clear();
            script.redis.clear();
            continue;
        }
        let Some((how, command)) = line.split_once("> ") else {
            panic!("{}: {line}", path.display());
        };
        let mut expected = String::new();
        while let Some(line) = lines.next_if(|line| {
            !line.is_empty()
                && !["#", "wait ", "protocol "].iter().any(|other| line.starts_with(other))
                && line.split_once("> ").is_none_or(|(how, _)| !is_directive(how))
        }) {
            expected.push_str(line);
            expected.push('\n');
        }
        script.step(how, command, expected.trim_end_matches('\n'));
    }
    let differences = &script.differences;
    assert!(
        differences.is_empty(),
        "{}: {} differences\n\n{}",
        path.display(),
        differences.len(),
        differences.join("\n")
    );
    if script.is_recording() {
        std::fs::write(path, script.recorded).expect("the script can be written");
    }
}

fn is_directive(how: &str) -> bool {
    how.chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.')
}

struct Script {
    database: Database,
    clients: HashMap<String, Client>,
    redis: HashMap<String, Redis>,
    redis_address: Option<String>,
    protocol: u8,
    last: Vec<u8>,
    recorded: String,
    differences: Vec<String>,
}

impl Script {
    fn is_recording(&self) -> bool {
        self.redis_address.is_some()
    }

    fn ask_redis(&mut self, client: &str, words: &[Vec<u8>]) -> Answer {
        let address = self.redis_address.as_deref().expect("replies are recorded");
        let protocol = self.protocol;
        let redis = self.redis.entry(client.to_owned()).or_insert_with(|| {
            let mut redis = Redis {
                stream: TcpStream::connect(address).expect("a Redis listens there"),
            };
            redis.send(&self::words(&format!("HELLO {protocol}")));
            redis
        });
        redis.send(words)
    }

    /// The last reply to several commands.
    fn ask_ours(&mut self, client: &str, commands: &[Vec<Vec<u8>>]) -> Answer {
        let (database, protocol) = (&self.database, self.protocol);
        let client = self.clients.entry(client.to_owned()).or_insert_with(|| {
            let mut client = database.client();
            if protocol == 3 {
                client.session.protocol = Protocol::Resp3;
            }
            client
        });
        client.send_all(commands)
    }

    fn step(&mut self, how: &str, line: &str, expected: &str) {
        let (client, how) = match how {
            "" | "sorted" | "shape" | "own" | "redis" | "ours" => ("", how),
            how if how.contains("..") => ("", how),
            client => (client, ""),
        };
        let (from, to) = match how.split_once("..") {
            Some((from, to)) => (from.parse().expect("a number"), to.parse().expect("a number")),
            None => (0, 0),
        };
        let (mut shown, mut ahead) = (String::new(), Vec::new());
        for i in from..=to {
            let words: Vec<Vec<u8>> = words(line).iter().map(|word| self.substitute(word, i)).collect();
            let change = |answer: Answer| match how {
                "sorted" => sorted(answer),
                "shape" => shape(answer),
                _ => answer,
            };
            let theirs = match how {
                "own" | "ours" => None,
                _ if self.is_recording() => Some(change(self.ask_redis(client, &words))),
                _ => None,
            };
            let ours = match how {
                "redis" => None,
                // All of them at once.
                _ if i < to => {
                    ahead.push(words);
                    continue;
                }
                _ => {
                    ahead.push(words);
                    Some(change(self.ask_ours(client, &ahead)))
                }
            };
            if matches!(how, "redis" | "ours") {
                let answer = theirs.as_ref().or(ours.as_ref());
                self.last = match answer {
                    Some(answer) => answer.bytes().to_vec(),
                    None => crate::common::words(expected).remove(0),
                };
            }
            let ours = ours.map(|ours| ours.to_string());
            let theirs = theirs.map(|theirs| theirs.to_string());
            shown = match (&theirs, &ours) {
                (Some(theirs), _) => theirs.clone(),
                (None, Some(ours)) if how == "ours" => ours.clone(),
                _ => expected.to_owned(),
            };
            if let Some(ours) = ours
                && i == to
                && !self.is_recording()
                && ours != expected
            {
                let difference = format!("{how}> {line}\n--- ours\n{ours}\n--- expected\n{expected}\n");
                self.differences.push(difference);
            }
        }
        if !shown.is_empty() {
            self.recorded.push_str(&shown);
            self.recorded.push('\n');
        }
    }

    /// `{i}`, `{last}`, `{x*100}`
    fn substitute(&self, word: &[u8], i: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = word;
        while let Some(begin) = rest.iter().position(|&byte| byte == b'{') {
            out.extend_from_slice(&rest[..begin]);
            rest = &rest[begin..];
            let Some(end) = rest.iter().position(|&byte| byte == b'}') else {
                break;
            };
            let inside = &rest[1..end];
            let star = inside.iter().rposition(|&byte| byte == b'*');
            let times = star.and_then(|star| std::str::from_utf8(&inside[star + 1..]).ok()?.parse().ok());
            match (inside, star, times) {
                (b"i", ..) => out.extend_from_slice(i.to_string().as_bytes()),
                (b"last", ..) => out.extend_from_slice(&self.last),
                (_, Some(star), Some(times)) => out.extend_from_slice(&inside[..star].repeat(times)),
                _ => out.extend_from_slice(&rest[..=end]),
            }
            rest = &rest[end + 1..];
        }
        out.extend_from_slice(rest);
        out
    }
}
