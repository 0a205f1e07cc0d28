//! INFO: what the node says of itself, section by section.

use std::fmt::{Display, Write as _};

use crate::command::Commands;
use crate::failure::Outcome;
use crate::server::REDIS_VERSION;
use crate::session::SessionCall;
use crate::tables::{DATABASES, Part};

/// Sections that come only when they are asked for by name, or with all.
const ON_REQUEST: &[&str] = &["commandstats"];

struct Info {
    /// In lower case; none: those that come by themselves.
    wanted: Vec<String>,
    text: String,
}

impl Info {
    fn wants(&self, section: &str) -> bool {
        let comes_alone = !ON_REQUEST.contains(&section);
        let wants = |wanted: &String| match wanted.as_str() {
            "all" | "everything" => true,
            "default" => comes_alone,
            wanted => wanted == section,
        };
        match self.wanted.is_empty() {
            true => comes_alone,
            false => self.wanted.iter().any(wants),
        }
    }

    fn section<N: Display, V: Display>(&mut self, name: &str, lines: impl IntoIterator<Item = (N, V)>) {
        if !self.wants(name) {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\r\n");
        }
        let (first, rest) = name.split_at(1);
        let _ = write!(self.text, "# {}{rest}\r\n", first.to_ascii_uppercase());
        for (name, value) in lines {
            let _ = write!(self.text, "{name}:{value}\r\n");
        }
    }
}

pub fn info(call: &mut SessionCall) -> Outcome {
    let wanted = call.args[1..].iter();
    let mut info = Info {
        wanted: wanted
            .map(|section| String::from_utf8_lossy(section).to_ascii_lowercase())
            .collect(),
        text: String::new(),
    };
    let keyspace = call.session.keyspace.clone();
    let engine = keyspace.engine();
    let (tracking_clients, tracked_keys, tracked_items) = keyspace.tracking.counts();
    let memory = engine.participant().store().memory();
    let uptime = engine.uptime_seconds();
    info.section(
        "server",
        [
            ("redis_version", REDIS_VERSION.to_owned()),
            ("redis_mode", "standalone".to_owned()),
            ("server_name", "latsdb".to_owned()),
            ("arch_bits", "64".to_owned()),
            ("process_id", std::process::id().to_string()),
            ("uptime_in_seconds", uptime.to_string()),
            ("uptime_in_days", (uptime / 86_400).to_string()),
        ],
    );
    info.section(
        "clients",
        [
            ("connected_clients", keyspace.clients.count()),
            ("tracking_clients", tracking_clients),
            ("blocked_clients", keyspace.hub.waiting()),
        ],
    );
    info.section(
        "memory",
        [
            ("used_memory", memory.used().to_string()),
            ("used_memory_human", human(memory.used())),
            ("maxmemory", memory.limit().to_string()),
            ("maxmemory_human", human(memory.limit())),
            ("maxmemory_policy", "noeviction".to_owned()),
            (
                "number_of_cached_scripts",
                keyspace.scripts.cache.lock().count().to_string(),
            ),
        ],
    );
    let persistence = [
        ("loading", 0),
        ("aof_enabled", 1),
        ("rdb_bgsave_in_progress", 0),
        ("aof_rewrite_in_progress", 0),
    ];
    info.section("persistence", persistence);
    info.section(
        "stats",
        [
            ("total_commands_processed", keyspace.latencies.all_calls()),
            ("total_error_replies", keyspace.errors.all()),
            ("tracking_total_keys", tracked_keys as u64),
            ("tracking_total_items", tracked_items as u64),
            ("tracking_total_prefixes", keyspace.tracking.prefixes_count() as u64),
        ],
    );
    // Copies are not made by the protocol of Redis, so that it has come no further than its beginning.
    let replication = [
        ("role", "master"),
        ("connected_slaves", "0"),
        ("master_repl_offset", "0"),
    ];
    info.section("replication", replication);
    info.section(
        "cpu",
        cpu_seconds().map(|(name, seconds)| (name, format!("{seconds:.2}"))),
    );
    if info.wants("commandstats") {
        let mut lines = Vec::new();
        let all = Commands::get().all().iter();
        for command in all.flat_map(|command| std::iter::once(command).chain(&command.subcommands)) {
            governor::tick()?;
            let (calls, micros) = keyspace.latencies.total(command).unwrap_or_default();
            let (refused, failed) = keyspace.errors.of(command);
            if calls + refused + failed > 0 {
                let each = micros as f64 / calls.max(1) as f64;
                let line = format!(
                    "calls={calls},usec={micros},usec_per_call={each:.2},rejected_calls={refused},failed_calls={failed}"
                );
                lines.push((format!("cmdstat_{}", command.name()), line));
            }
        }
        info.section("commandstats", lines);
    }
    let codes = keyspace.errors.codes().into_iter();
    let codes = codes.map(|(code, count)| {
        let code = String::from_utf8_lossy(&code).into_owned();
        (format!("errorstat_{code}"), format!("count={count}"))
    });
    info.section("errorstats", codes);
    info.section("cluster", [("cluster_enabled", 0)]);
    if info.wants("keyspace") {
        let mut lines = Vec::new();
        for number in 0..DATABASES {
            let Some(db) = keyspace.existing_db(number)? else {
                continue;
            };
            let keys = db.table(Part::Keys).rows.estimated_rows();
            if keys > 0 {
                lines.push((format!("db{number}"), format!("keys={keys},expires=0,avg_ttl=0")));
            }
        }
        info.section("keyspace", lines);
    }
    call.reply.verbatim("txt", info.text.as_bytes());
    Ok(())
}

/// A number of bytes with its unit.
fn human(bytes: u64) -> String {
    const UNITS: [char; 6] = ['K', 'M', 'G', 'T', 'P', 'E'];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let (mut number, mut unit) = (bytes as f64 / 1024.0, 0);
    while number >= 1024.0 {
        (number, unit) = (number / 1024.0, unit + 1);
    }
    format!("{number:.2}{}", UNITS[unit])
}

/// What the process has used of the processors (proc(5): `stat`, in hundredths of a second).
fn cpu_seconds() -> [(&'static str, f64); 4] {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may hold anything.
    let behind_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let times: Vec<f64> = behind_name
        .split(' ')
        .skip(11)
        .take(4)
        .map(|ticks| ticks.parse().unwrap_or(0.0) / 100.0)
        .collect();
    let time = |at: usize| times.get(at).copied().unwrap_or_default();
    [
        ("used_cpu_sys", time(1)),
        ("used_cpu_user", time(0)),
        ("used_cpu_sys_children", time(3)),
        ("used_cpu_user_children", time(2)),
    ]
}
