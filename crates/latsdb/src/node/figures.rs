//! The figures of `/metrics`, collected from where they are counted.

use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Instant, SystemTime};

use env::Levels;
use front::Registry;
use front_http::{Disk, Distribution, Figures, Sample};
use governor::unread::Cut;
use shard::Histogram;
use sql::statistics::StatementKind;
use store::MemoryUse;

use super::Parts;

/// Buckets of times below 16 microseconds say nothing; they are published as one.
const SHORTEST_MICROS: u64 = 16;

pub fn read(started: Instant, registry: &Registry, parts: Option<&Parts>) -> Figures {
    let connections = registry.statistics();
    let mut figures = Figures {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime_seconds: started.elapsed().as_secs_f64(),
        connections_open: connections.connected as u64,
        connections_accepted: connections.connections,
        connections_refused: connections.connections_refused + connections.logins_denied,
        logins_denied: connections.passwords_denied,
        logins_delayed: connections.logins_delayed,
        logins_refused: connections.logins_refused,
        logins_pushed_out: connections.logins_pushed_out,
        answers_cut: Cut::ALL.map(|cut| (cut.name().to_owned(), cut.count())).to_vec(),
        errors: registry.errors(),
        panics: crate::panics::count(),
        feature_level_highest: Levels::spoken().highest.0,
        ..Figures::default()
    };
    let Some(parts) = parts else { return figures };
    let (store, meters) = (parts.shard.store(), parts.shard.meters());
    figures.is_witness = parts.engine.is_none();
    figures.feature_level = parts.shard.level().0;
    figures.commit_seconds = times(&meters.commit);
    figures.commit_group_size = distribution(&meters.batch, 1, 1.0);
    figures.log_sync_seconds = times(&meters.sync);
    figures.log_unsynced_ms = meters.unsynced().unwrap_or_default().as_millis() as u64;
    figures.log_bytes_written = meters.log_bytes.load(Relaxed);
    figures.checkpoints = meters.checkpoints.load(Relaxed);
    figures.checkpoint_failures = meters.checkpoint_failures.load(Relaxed);

    let memory = store.memory();
    figures.memory_limit_bytes = memory.limit();
    figures.memory_used_bytes = MemoryUse::ALL
        .iter()
        .map(|used_for| (used_for.name().to_owned(), memory.used_by(*used_for)))
        .chain([("sessions".to_owned(), governor::memory::held_by_sessions())])
        .collect();
    figures.memory_allocated_bytes = governor::memory::allocated();
    figures.memory_resident_bytes = governor::memory::look_at_resident();
    let compactions = store.compactions();
    figures.compaction_passes = compactions.passes.load(Relaxed);
    figures.compaction_moved = compactions.moved.load(Relaxed);
    figures.compaction_moved_bytes = compactions.moved_bytes.load(Relaxed);
    figures.past_bytes = store.past().bytes();
    figures.rows = store.tables().iter().map(|table| table.estimated_rows()).sum();

    if let Some(engine) = &parts.engine {
        figures.past_readable_ms = engine.past_readable().as_millis() as u64;
        let statements = engine.statistics();
        figures.statements = StatementKind::all()
            .map(|kind| (kind.name().to_owned(), statements.statements(kind)))
            .collect();
    }

    let locks = store.locks().statistics();
    (figures.locks_held, figures.lock_waits, figures.deadlocks) = (locks.held, locks.waits, locks.deadlocks);

    let shard = parts.shard.status();
    (figures.leads, figures.term) = (shard.is_leader, shard.term);
    figures.has_leader = shard.leader.is_some();
    figures.log_unchecked_bytes = shard.log_bytes;
    figures.applied_index = shard.applied_index.unwrap_or(0);
    (figures.cluster_calls, figures.cluster_guests) = (shard.calls, shard.guests as u64);
    if let Some(cluster) = &parts.cluster {
        figures.peer_round_trip_micros = cluster.round_trips();
    }
    if let Some(keyspace) = &parts.keyspace {
        let messages = keyspace.neighbours.counted();
        figures.messages_to_nodes = messages.sent;
        figures.messages_from_nodes = messages.heard;
        figures.messages_lost = messages.lost;
    }
    figures
}

/// None: the system does not say.
pub fn disk_of(folder: &Path) -> Option<Disk> {
    let told = rustix::fs::statvfs(folder).ok()?;
    Some(Disk {
        size_bytes: told.f_blocks.saturating_mul(told.f_frsize),
        free_bytes: told.f_bavail.saturating_mul(told.f_frsize),
    })
}

/// What the node has counted up to now, for its history. Taken each second: nothing is walked here that grows with rows or locks.
pub fn sample(registry: &Registry, parts: &Parts, redis_commands: u64) -> Sample {
    let connections = registry.statistics();
    let (store, meters) = (parts.shard.store(), parts.shard.meters());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let commits = meters.commit.buckets();
    let mut sample = Sample {
        at: now.unwrap_or_default().as_secs_f64(),
        redis_commands,
        errors: registry.errors().iter().map(|(_, count)| count).sum(),
        commit_micros: commits
            .map(|(bound, count)| (bound.unwrap_or(u64::MAX), count))
            .collect(),
        log_bytes: meters.log_bytes.load(Relaxed),
        lock_waits: store.locks().waits_so_far(),
        connections: connections.connected as u64,
        running: connections.running as u64,
        memory_used: store.memory().used(),
        memory_resident: governor::memory::look_at_resident(),
        ..Sample::default()
    };
    if let Some(engine) = &parts.engine {
        let statistics = engine.statistics();
        let of = |kinds: &[StatementKind]| kinds.iter().map(|kind| statistics.statements(*kind)).sum();
        sample.statements = StatementKind::all().map(|kind| statistics.statements(kind)).sum();
        sample.reads = of(&[StatementKind::Select]);
        sample.changes = of(&[
            StatementKind::Insert,
            StatementKind::Replace,
            StatementKind::Update,
            StatementKind::Delete,
            StatementKind::Load,
        ]);
        sample.statement_micros = engine.statement_times().buckets();
    }
    sample
}

/// Microseconds, published as seconds.
fn times(histogram: &Histogram) -> Distribution {
    distribution(histogram, SHORTEST_MICROS, 1e-6)
}

/// The buckets from `lowest` on; those below are counted in the first. Values are multiplied by `unit`.
fn distribution(histogram: &Histogram, lowest: u64, unit: f64) -> Distribution {
    let mut seen = Distribution {
        sum: histogram.sum() as f64 * unit,
        ..Distribution::default()
    };
    let mut below = 0;
    for (bound, count) in histogram.buckets() {
        match bound {
            None => seen.beyond = count,
            Some(bound) if bound < lowest => below += count,
            Some(bound) => seen
                .buckets
                .push((bound as f64 * unit, count + std::mem::take(&mut below))),
        }
    }
    seen
}
