//! Logs agree: where two nodes have an entry of the same term at the same place, everything up to there is the same.
//!
//! Looked at on the disks, when all processes are gone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use env::{Env, SimDisk};
use journal::{Journal, Options};

use crate::report::Report;
use crate::trace;

/// Of each place, the term and a hash of the entry.
type Entries = BTreeMap<u64, (u64, u64)>;

pub fn check(disks: &[(u32, Arc<SimDisk>)], report: &Report) {
    let mut logs: Vec<(u32, Entries)> = Vec::new();
    for (node, disk) in disks {
        match read(disk) {
            Ok(entries) => logs.push((*node, entries)),
            Err(error) => report.violation("log", format_args!("the log of node {node} cannot be read: {error}")),
        }
    }
    for (at, (node, log)) in logs.iter().enumerate() {
        for (other, others) in &logs[..at] {
            compare((*node, log), (*other, others), report);
        }
    }
}

fn compare((node, log): (u32, &Entries), (other, others): (u32, &Entries), report: &Report) {
    let common = || {
        log.iter()
            .filter_map(|(index, entry)| Some((*index, *entry, *others.get(index)?)))
    };
    let Some((agreed, ..)) = common().filter(|(_, one, two)| one.0 == two.0).max() else {
        return;
    };
    for (index, one, two) in common().filter(|(index, ..)| *index <= agreed) {
        if one != two {
            return report.violation(
                "log",
                format_args!(
                    "nodes {node} and {other} agree in entry {agreed} and differ in entry {index}: {one:?}, {two:?}"
                ),
            );
        }
    }
}

fn read(disk: &Arc<SimDisk>) -> Result<Entries, String> {
    let env = Env::simulated(disk.clone(), 0);
    let options = Options {
        segment_bytes: 64 << 10,
    };
    let journal = Journal::open(&env, Path::new("data/log"), options).map_err(|error| error.to_string())?;
    let reader = journal.reader();
    let first = reader.purged().map_or(0, |id| id.index + 1);
    let end = reader.last().map_or(first, |id| id.index + 1);
    let entries = reader.entries(first..end).map_err(|error| error.to_string())?;
    let hashed = entries.iter().map(|entry| {
        let hash = trace::hash(trace::BEGIN ^ u64::from(entry.tag), &entry.payload);
        (entry.id.index, (entry.id.term, hash))
    });
    Ok(hashed.collect())
}
