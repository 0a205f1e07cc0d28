//! Journals on a simulated disk.

#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use env::{Env, SimDisk};
use journal::{Entry, EntryId, Journal, OpenError, Options};

pub const DIR: &str = "log";

pub fn open(env: &Env) -> Result<Journal, OpenError> {
    Journal::open(
        env,
        Path::new(DIR),
        Options {
            segment_bytes: 16 << 10,
        },
    )
}

pub fn open_sim(disk: &Arc<SimDisk>) -> Result<Journal, OpenError> {
    open(&Env::simulated(disk.clone(), 9))
}

/// An entry whose payload can be told from its index.
pub fn entry(index: u64, bytes: usize) -> Entry {
    let payload = (0..bytes).map(|at| (index as usize * 31 + at) as u8).collect();
    Entry {
        id: EntryId { term: 1, index },
        tag: (index % 3) as u8,
        payload: Arc::new(payload),
    }
}

pub fn all_entries(journal: &Journal) -> Vec<Entry> {
    journal
        .reader()
        .entries(0..u64::MAX)
        .expect("what was recovered can be read")
}

/// The newest segment's path and bytes.
pub fn newest_segment(disk: &SimDisk) -> (std::path::PathBuf, Vec<u8>) {
    let segments = disk
        .paths()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    let path = segments.max().expect("a journal has a segment");
    let bytes = disk.contents(&path).expect("it was just listed");
    (path, bytes)
}
