//! CONFIG and INFO.

use std::collections::BTreeSet;

use crate::failure::{Failure, Outcome, wrong_number_of_arguments};
use crate::glob::Glob;
use crate::keyspace::Keyspace;
use crate::notify;
use crate::session::SessionCall;

/// Parameters that there are, and their values: what is asked for here is decided elsewhere, or always so.
fn parameters(call: &SessionCall) -> Vec<(&'static str, String)> {
    let memory = call.session.keyspace.engine().participant().store().memory().limit();
    vec![
        ("acllog-max-len", call.session.keyspace.refusals.len_max().to_string()),
        ("appendfsync", "always".into()),
        ("appendonly", "yes".into()),
        ("databases", crate::tables::DATABASES.to_string()),
        (
            "latency-monitor-threshold",
            call.session.keyspace.spikes.threshold_ms().to_string(),
        ),
        ("maxmemory", memory.to_string()),
        ("maxmemory-policy", "noeviction".into()),
        (
            "notify-keyspace-events",
            notify::text(call.session.keyspace.hub.notified()),
        ),
        ("proto-max-bulk-len", redis_wire::request::BULK_MAX.to_string()),
        ("save", String::new()),
        (
            "slowlog-log-slower-than",
            call.session.keyspace.slowlog.threshold_micros().to_string(),
        ),
        ("slowlog-max-len", call.session.keyspace.slowlog.len_max().to_string()),
        ("timeout", "0".into()),
        (
            "tracking-table-max-keys",
            call.session.keyspace.tracking.keys_max().to_string(),
        ),
    ]
}

pub fn get(call: &mut SessionCall) -> Outcome {
    let mut found = Vec::new();
    let parameters = parameters(call);
    for pattern in &call.args[2..] {
        let glob = Glob::new(&pattern.to_ascii_lowercase());
        for (name, value) in &parameters {
            if glob.matches(name.as_bytes())? && !found.contains(&(*name, value)) {
                found.push((*name, value));
            }
        }
    }
    call.reply.map(found.len());
    for (name, value) in found {
        call.reply.bulk(name.as_bytes());
        call.reply.bulk(value.as_bytes());
    }
    Ok(())
}

/// A parameter that is a number, and can be changed.
struct Number {
    name: &'static str,
    min: i64,
    max: i64,
    set: fn(&Keyspace, i64),
}

/// Entries of a log in memory: the slow log's take 4 kB each, those of ACL less than 1 kB.
const LOG_LEN_MAX: i64 = 10_000;

const NUMBERS: &[Number] = &[
    Number {
        name: "acllog-max-len",
        min: 0,
        max: LOG_LEN_MAX,
        set: |keyspace, len| keyspace.refusals.set_len_max(len as usize),
    },
    Number {
        name: "latency-monitor-threshold",
        min: 0,
        max: i64::MAX,
        set: |keyspace, ms| keyspace.spikes.set_threshold_ms(ms),
    },
    Number {
        name: "slowlog-log-slower-than",
        min: -1,
        max: i64::MAX,
        set: |keyspace, micros| keyspace.slowlog.set_threshold_micros(micros),
    },
    Number {
        name: "slowlog-max-len",
        min: 0,
        max: LOG_LEN_MAX,
        set: |keyspace, len| keyspace.slowlog.set_len_max(len as usize),
    },
    Number {
        name: "tracking-table-max-keys",
        min: 0,
        max: i64::MAX,
        set: |keyspace, keys| {
            keyspace
                .tracking
                .set_keys_max(usize::try_from(keys).unwrap_or(usize::MAX))
        },
    },
];

impl Number {
    fn parse(&self, text: &[u8]) -> Outcome<i64> {
        let value = redis_wire::number::parse_i64(text)
            .ok_or_else(|| not_set(self.name, "argument couldn't be parsed into an integer"))?;
        if !(self.min..=self.max).contains(&value) {
            let range = format!("argument must be between {} and {} inclusive", self.min, self.max);
            return Err(not_set(self.name, &range));
        }
        Ok(value)
    }
}

fn not_set(name: &str, why: &str) -> Failure {
    Failure::Reply(format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {why}").into())
}

/// A number of bytes, with a unit perhaps (`100mb`).
fn memory_value(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = redis_wire::number::parse_u64(&text[..digits])?;
    let factor = match &text[digits..].to_ascii_lowercase()[..] {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1_000_000,
        b"mb" => 1 << 20,
        b"g" => 1_000_000_000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// Parameters that clients set which nobody here asks for: each decides how Redis packs values, or how it writes files.
const WITHOUT_MEANING: &[&str] = &[
    "hash-max-listpack-entries",
    "hash-max-listpack-value",
    "hash-max-ziplist-entries",
    "hash-max-ziplist-value",
    "list-max-listpack-size",
    "list-max-ziplist-size",
    "list-compress-depth",
    "set-max-intset-entries",
    "set-max-listpack-entries",
    "set-max-listpack-value",
    "zset-max-listpack-entries",
    "zset-max-listpack-value",
    "zset-max-ziplist-entries",
    "zset-max-ziplist-value",
    "stream-node-max-bytes",
    "stream-node-max-entries",
    "activedefrag",
    "active-expire-effort",
    "lazyfree-lazy-expire",
    "lazyfree-lazy-server-del",
    "lazyfree-lazy-user-del",
    "lazyfree-lazy-user-flush",
    "rdb-key-save-delay",
    "save",
    "rdbcompression",
    "repl-diskless-load",
    "maxmemory-samples",
    "close-on-oom",
    "hz",
    "dynamic-hz",
    "list-max-listpack-size",
    "lua-time-limit",
    "busy-reply-threshold",
];

/// What a parameter becomes.
enum Change {
    Notified(u32),
    Number(&'static Number, i64),
    /// It is so already, or means nothing here.
    None,
}

impl Change {
    fn of(given: &[u8], value: &[u8], known: &[(&str, String)]) -> Outcome<Change> {
        let name = &*String::from_utf8_lossy(given).to_ascii_lowercase();
        if name == "notify-keyspace-events" {
            let bits = std::str::from_utf8(value).ok().and_then(notify::parse);
            let why = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
            return bits.map(Change::Notified).ok_or_else(|| not_set(name, why));
        }
        if let Some(number) = NUMBERS.iter().find(|number| number.name == name) {
            return Ok(Change::Number(number, number.parse(value)?));
        }
        if name == "maxmemory" && memory_value(value).is_none() {
            return Err(not_set(name, "argument must be a memory value"));
        }
        if WITHOUT_MEANING.contains(&name) {
            return Ok(Change::None);
        }
        match known.iter().find(|(known, _)| *known == name) {
            None => Err(Failure::naming(
                "ERR Unknown option or number of arguments for CONFIG SET - '{}'",
                &[given],
            )),
            Some((_, now)) if name == "maxmemory" && now.parse().ok() == memory_value(value) => Ok(Change::None),
            Some((_, now)) if now.as_bytes() != value => Err(not_set(name, "can't set immutable config")),
            Some(_) => Ok(Change::None),
        }
    }
}

/// Sets all parameters, or none where one of them cannot be.
pub fn set(call: &mut SessionCall) -> Outcome {
    let pairs = &call.args[2..];
    if pairs.len() % 2 == 1 {
        return Err(wrong_number_of_arguments("config|set"));
    }
    let parameters = parameters(call);
    let (mut names, mut changes) = (BTreeSet::new(), Vec::new());
    for pair in pairs.chunks(2) {
        governor::tick()?;
        changes.push(Change::of(pair[0], pair[1], &parameters)?);
        if !names.insert(pair[0].to_ascii_lowercase()) {
            return Err(not_set(&String::from_utf8_lossy(pair[0]), "duplicate parameter"));
        }
    }
    let keyspace = call.session.keyspace.clone();
    for change in changes {
        match change {
            Change::Notified(bits) => keyspace.set_notified(bits, call.host),
            Change::Number(number, value) => (number.set)(&keyspace, value),
            Change::None => {}
        }
    }
    call.reply.ok();
    Ok(())
}

pub fn resetstat(call: &mut SessionCall) -> Outcome {
    call.session.keyspace.latencies.clear();
    call.session.keyspace.errors.clear();
    call.reply.ok();
    Ok(())
}
