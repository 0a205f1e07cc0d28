//! The figures of `/metrics`, collected from where they are counted.

use std::time::Instant;

use front_http::Figures;
use front_mysql::Registry;
use store::MemoryUse;

use super::Parts;

pub fn read(started: Instant, registry: &Registry, parts: Option<&Parts>) -> Figures {
    let connections = registry.statistics();
    let mut figures = Figures {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime_seconds: started.elapsed().as_secs_f64(),
        connections_open: connections.connected as u64,
        connections_accepted: connections.connections,
        connections_refused: connections.connections_refused + connections.logins_denied,
        ..Figures::default()
    };
    if let Some(parts) = parts {
        let store = parts.shard.store();
        let memory = store.memory();
        figures.memory_limit_bytes = memory.limit();
        figures.memory_used_bytes = MemoryUse::ALL
            .iter()
            .map(|used_for| (used_for.name().to_owned(), memory.used_by(*used_for)))
            .collect();
    }
    figures
}
