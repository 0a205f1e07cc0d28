//! The few consensus terms a log must know.

use std::fmt;
use std::sync::Arc;

/// Names an entry: its place in the log, and the term of the leader that put it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    pub term: u64,
    pub index: u64,
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.index, self.term)
    }
}

/// The last vote given, or the leadership won by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vote {
    pub term: u64,
    pub node: u64,
    /// A quorum granted it: `node` leads `term`.
    pub committed: bool,
}

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: EntryId,
    /// What the payload is, for whoever wrote it.
    pub tag: u8,
    pub payload: Arc<Vec<u8>>,
}

/// What a log says besides its entries. Carried over into each new segment, so that old ones can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LogState {
    pub vote: Option<Vote>,
    /// Entries up to here are gone, covered by a checkpoint.
    pub purged: Option<EntryId>,
    /// Entries below this index are known to be committed.
    pub committed_end: u64,
    /// The newest entry; `purged` if there is none after it.
    pub last: Option<EntryId>,
}

impl LogState {
    pub fn next_index(&self) -> u64 {
        self.last.map_or(0, |last| last.index + 1)
    }
}
