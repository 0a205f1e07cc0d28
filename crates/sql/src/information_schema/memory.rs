//! `performance_schema.memory_summary_*`: what is charged, and to whom.
//!
//! The allocator counts bytes, not calls: the counters of allocations stay 0, and the sums are those of what is held.

use store::MemoryUse;
use types::Value;

use super::{Source, number, text};

/// What sessions hold, with their running statements: of one, or of all.
const SESSIONS: &str = "memory/latsdb/sessions";

/// `memory_summary_global_by_event_name`
pub fn global(source: &Source<'_>) -> Vec<Vec<Value>> {
    let budget = source.session.engine.participant().store().memory();
    // What queries hold is the sessions'.
    let data = MemoryUse::ALL
        .into_iter()
        .filter(|used_for| *used_for != MemoryUse::Queries);
    let mut held: Vec<(String, u64)> = data
        .map(|used_for| (format!("memory/latsdb/{}", used_for.name()), budget.used_by(used_for)))
        .collect();
    held.push((SESSIONS.to_owned(), governor::memory::held_by_sessions()));
    // Caches, the catalog, what is on its way to the log, threads.
    let allocated = governor::memory::allocated();
    let known: u64 = held.iter().map(|(_, bytes)| bytes).sum();
    held.push(("memory/latsdb/others".to_owned(), allocated.saturating_sub(known)));
    held.into_iter()
        .map(|(name, bytes)| summary(name, bytes, bytes))
        .collect()
}

/// `memory_summary_by_thread_by_event_name`: of the sessions that may be seen.
pub fn by_thread(source: &Source<'_>) -> Vec<Vec<Value>> {
    let Some(processes) = source.session.engine.processes() else {
        return Vec::new();
    };
    let seen = processes
        .list()
        .into_iter()
        .filter(|process| source.session.access.sees_session_of(&process.user));
    seen.map(|process| {
        let mut row = vec![number(u64::from(process.id))];
        row.extend(summary(
            SESSIONS.to_owned(),
            process.memory_bytes,
            process.memory_bytes_max,
        ));
        row
    })
    .collect()
}

fn summary(name: String, bytes: u64, most: u64) -> Vec<Value> {
    let zero = || Value::Int(0);
    vec![
        text(name),
        number(0u64),
        number(0u64),
        number(bytes),
        number(0u64),
        zero(),
        zero(),
        zero(),
        zero(),
        Value::Int(bytes as i64),
        Value::Int(most.max(bytes) as i64),
    ]
}
