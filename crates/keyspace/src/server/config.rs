//! CONFIG and INFO.

use std::fmt::Write as _;

use super::REDIS_VERSION;
use crate::failure::{Failure, Outcome, wrong_number_of_arguments};
use crate::glob::Glob;
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

/// The most commands that the slow log keeps: 4 kB each.
const SLOWLOG_LEN_MAX: i64 = 10_000;
/// The most that is kept of what was refused: less than 1 kB each.
const ACLLOG_LEN_MAX: i64 = 10_000;

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
    "latency-monitor-threshold",
    "lua-time-limit",
    "busy-reply-threshold",
];

/// Takes what is so already, what can be changed, and what means nothing here.
pub fn set(call: &mut SessionCall) -> Outcome {
    let pairs = &call.args[2..];
    if pairs.len() % 2 == 1 {
        return Err(wrong_number_of_arguments("config|set"));
    }
    let parameters = parameters(call);
    for pair in pairs.chunks(2) {
        let name = String::from_utf8_lossy(pair[0]).to_ascii_lowercase();
        if name == "notify-keyspace-events" {
            let bits = std::str::from_utf8(pair[1]).ok().and_then(notify::parse);
            let bits = bits.ok_or_else(|| {
                Failure::reply("ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
            })?;
            call.session.keyspace.hub.set_notified(bits);
            continue;
        }
        let number = redis_wire::number::parse_i64(pair[1]);
        match (name.as_str(), number) {
            ("slowlog-log-slower-than", Some(micros)) => {
                call.session.keyspace.slowlog.set_threshold_micros(micros);
                continue;
            }
            ("acllog-max-len", Some(len @ 0..=ACLLOG_LEN_MAX)) => {
                call.session.keyspace.refusals.set_len_max(len as usize);
                continue;
            }
            ("slowlog-max-len", Some(len @ 0..=SLOWLOG_LEN_MAX)) => {
                call.session.keyspace.slowlog.set_len_max(len as usize);
                continue;
            }
            _ => {}
        }
        if WITHOUT_MEANING.contains(&name.as_str()) {
            continue;
        }
        match parameters.iter().find(|(known, _)| *known == name) {
            None => {
                let text = format!("ERR Unknown option or number of arguments for CONFIG SET - '{name}'");
                return Err(Failure::Reply(text.into()));
            }
            Some((_, value)) if value.as_bytes() != pair[1] => {
                let text = format!(
                    "ERR CONFIG SET failed (possibly related to argument '{name}') - can't set immutable config"
                );
                return Err(Failure::Reply(text.into()));
            }
            Some(_) => {}
        }
    }
    call.reply.ok();
    Ok(())
}

pub fn info(call: &mut SessionCall) -> Outcome {
    let wanted: Vec<String> = call.args[1..]
        .iter()
        .map(|section| String::from_utf8_lossy(section).to_ascii_lowercase())
        .collect();
    let is_wanted = |section: &str| {
        wanted.is_empty()
            || wanted
                .iter()
                .any(|wanted| matches!(wanted.as_str(), "all" | "default" | "everything") || wanted == section)
    };
    let mut text = String::new();
    let mut section = |name: &str, lines: &[(&str, String)]| {
        if !is_wanted(name) {
            return;
        }
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        let mut title = name.to_owned();
        title[..1].make_ascii_uppercase();
        let _ = write!(text, "# {title}\r\n");
        for (name, value) in lines {
            let _ = write!(text, "{name}:{value}\r\n");
        }
    };
    let engine = call.session.keyspace.engine().clone();
    let memory = engine.participant().store().memory();
    section(
        "server",
        &[
            ("redis_version", REDIS_VERSION.into()),
            ("redis_mode", "standalone".into()),
            ("server_name", "latsdb".into()),
            ("arch_bits", "64".into()),
            ("process_id", std::process::id().to_string()),
            ("uptime_in_seconds", engine.uptime_seconds().to_string()),
            ("uptime_in_days", (engine.uptime_seconds() / 86_400).to_string()),
        ],
    );
    section(
        "clients",
        &[
            ("connected_clients", call.session.keyspace.clients.count().to_string()),
            ("blocked_clients", call.session.keyspace.hub.waiting().to_string()),
        ],
    );
    section(
        "memory",
        &[
            ("used_memory", memory.used().to_string()),
            ("maxmemory", memory.limit().to_string()),
            ("maxmemory_policy", "noeviction".into()),
        ],
    );
    section(
        "persistence",
        &[
            ("loading", "0".into()),
            ("aof_enabled", "1".into()),
            ("rdb_bgsave_in_progress", "0".into()),
            ("aof_rewrite_in_progress", "0".into()),
        ],
    );
    section(
        "replication",
        &[("role", "master".into()), ("connected_slaves", "0".into())],
    );
    section("cluster", &[("cluster_enabled", "0".into())]);
    if is_wanted("keyspace") {
        let mut lines = Vec::new();
        for number in 0..crate::tables::DATABASES {
            if let Some(db) = call.session.keyspace.existing_db(number)? {
                let keys = db.table(crate::tables::Part::Keys).rows.estimated_rows();
                if keys > 0 {
                    lines.push((format!("db{number}"), format!("keys={keys},expires=0,avg_ttl=0")));
                }
            }
        }
        let lines: Vec<(&str, String)> = lines
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        section("keyspace", &lines);
    }
    call.reply.verbatim("txt", text.as_bytes());
    Ok(())
}
