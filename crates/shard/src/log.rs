//! The journal as the consensus library's log.
//!
//! Appending writes on the calling thread, so that what is appended can be read, and sent to the others, at once; [`Syncs`] makes it durable.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use env::failpoints;
use journal::{Journal, JournalError, Reader};
use openraft::storage::{IOFlushed, RaftLogStorage};
use openraft::{EntryPayload, LogState, OptionalSend, RaftLogReader};
use parking_lot::Mutex;

use crate::alone::Alone;
use crate::consensus::{
    Consensus, Form, LogId, RaftEntry, Vote, encode_membership, entry_id, from_journal_entry, from_journal_vote,
    log_id, to_journal_entry, to_journal_vote,
};
use crate::failure::Failure;
use crate::meters::Meters;
use crate::syncs::{Syncs, Written};

/// Newest entries kept in memory, for applying and replicating them without reading them back.
const RECENT_BYTES: usize = 8 << 20;

/// Entries in one message are not many more bytes than this; one always fits.
pub(crate) const MESSAGE_BYTES: usize = 1 << 20;
/// Read for a message at a time: batches have up to a megabyte.
const ENTRIES_AT_ONCE: u64 = 16;

pub(crate) struct Log {
    journal: Arc<Mutex<Journal>>,
    reader: LogReader,
    failure: Failure,
    meters: Arc<Meters>,
    syncs: Syncs,
    alone: Alone,
}

#[derive(Clone)]
pub(crate) struct LogReader {
    reader: Reader,
    recent: Arc<Mutex<Recent>>,
}

#[derive(Default)]
struct Recent {
    entries: VecDeque<RaftEntry>,
    bytes: usize,
}

impl Log {
    pub fn new(journal: Arc<Mutex<Journal>>, failure: Failure, meters: Arc<Meters>, syncs: Syncs, alone: Alone) -> Log {
        let reader = LogReader {
            reader: journal.lock().reader(),
            recent: Arc::default(),
        };
        Log {
            journal,
            reader,
            failure,
            meters,
            syncs,
            alone,
        }
    }

    /// Does something with the journal, and takes its failure for the shard's.
    fn with<T>(&self, action: impl FnOnce(&mut Journal) -> Result<T, JournalError>) -> io::Result<T> {
        action(&mut self.journal.lock()).map_err(|error| {
            self.failure.set(error.to_string());
            error.into()
        })
    }
}

impl RaftLogStorage<Consensus> for Log {
    type LogReader = LogReader;

    async fn get_log_state(&mut self) -> io::Result<LogState<Consensus>> {
        let reader = &self.reader.reader;
        Ok(LogState {
            last_purged_log_id: reader.purged().map(log_id),
            last_log_id: reader.last().map(log_id),
        })
    }

    async fn get_log_reader(&mut self) -> LogReader {
        self.reader.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> io::Result<()> {
        if failpoints::goes_wrong("log.vote") {
            return Ok(());
        }
        let _ = failpoints::hit("vote.saving");
        self.with(|journal| journal.save_vote(to_journal_vote(vote)))?;
        let _ = failpoints::hit("vote.saved");
        Ok(())
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> io::Result<()> {
        if let Some(committed) = committed {
            self.journal.lock().note_committed(committed.index + 1);
        }
        Ok(())
    }

    async fn read_committed(&mut self) -> io::Result<Option<LogId>> {
        let reader = &self.reader.reader;
        let last = reader.last().map_or(0, |last| last.index + 1);
        let end = self.journal.lock().committed_end().min(last);
        Ok(end.checked_sub(1).and_then(|index| reader.id_at(index)).map(log_id))
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<Consensus>) -> io::Result<()>
    where
        I: IntoIterator<Item = RaftEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<RaftEntry> = entries.into_iter().collect();
        let records: Vec<journal::Entry> = entries.iter().map(to_journal_entry).collect();
        let in_memory = entries.iter().all(may_be_in_memory);
        let own = self.alone.own(&entries);
        let since = self.meters.now();
        let written = self.with(|journal| {
            journal.append(&records)?;
            Ok(journal.unsynced())
        })?;
        let _ = failpoints::hit("log.written");
        let bytes: usize = records.iter().map(|record| record.payload.len()).sum();
        self.meters.log_bytes.fetch_add(bytes as u64, Relaxed);
        self.reader.recent.lock().extend(
            entries
                .into_iter()
                .zip(records.iter().map(|record| record.payload.len())),
        );
        let is_synced = self.syncs.take(Written {
            entries: written,
            since,
            in_memory,
            durable: callback,
        })?;
        match own {
            Some(own) if is_synced => self.alone.conclude(own),
            _ => Ok(()),
        }
    }

    async fn truncate_after(&mut self, last: Option<LogId>) -> io::Result<()> {
        self.reader.recent.lock().truncate(last);
        self.with(|journal| journal.truncate_after(last.as_ref().map(entry_id)))
    }

    async fn purge(&mut self, upto: LogId) -> io::Result<()> {
        let _ = failpoints::hit("log.purging");
        self.with(|journal| journal.purge(entry_id(&upto)))?;
        let _ = failpoints::hit("log.purged");
        Ok(())
    }
}

fn may_be_in_memory(entry: &RaftEntry) -> bool {
    match &entry.payload {
        EntryPayload::Normal(batch) => batch.may_be_in_memory(),
        EntryPayload::Blank | EntryPayload::Membership(_) => false,
    }
}

pub(crate) fn payload_bytes(entry: &RaftEntry) -> usize {
    match &entry.payload {
        EntryPayload::Normal(batch) => batch.bytes().len(),
        EntryPayload::Blank => 0,
        EntryPayload::Membership(membership) => encode_membership(membership, Form::needed_by(membership)).len(),
    }
}

impl Recent {
    fn extend(&mut self, entries: impl Iterator<Item = (RaftEntry, usize)>) {
        for (entry, bytes) in entries {
            let follows = |last: &RaftEntry| last.log_id.index + 1 == entry.log_id.index;
            // Behind a checkpoint of another replica the log begins anew.
            if self.bytes + bytes > RECENT_BYTES || !self.entries.back().is_none_or(follows) {
                self.entries.clear();
                self.bytes = 0;
            }
            self.entries.push_back(entry);
            self.bytes += bytes;
        }
    }

    fn truncate(&mut self, last: Option<LogId>) {
        while self.entries.back().is_some_and(|entry| Some(entry.log_id) > last) {
            self.entries.pop_back();
        }
    }

    /// The entries of the range, if all of them are here.
    fn get(&self, start: u64, end: u64) -> Option<Vec<RaftEntry>> {
        let first = self.entries.front()?.log_id.index;
        let skip = start.checked_sub(first)? as usize;
        let count = end.saturating_sub(start) as usize;
        if skip + count > self.entries.len() {
            return None;
        }
        Some(self.entries.range(skip..skip + count).cloned().collect())
    }
}

impl RaftLogReader<Consensus> for LogReader {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> io::Result<Vec<RaftEntry>> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before + 1,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last + 1,
            Bound::Excluded(&end) => end,
            Bound::Unbounded => u64::MAX,
        };
        if let Some(entries) = self.recent.lock().get(start, end) {
            return Ok(entries);
        }
        self.reader
            .entries(start..end)?
            .into_iter()
            .map(from_journal_entry)
            .collect()
    }

    /// For another replica: as much as goes into a message.
    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> io::Result<Vec<RaftEntry>> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        while bytes < MESSAGE_BYTES && start + (entries.len() as u64) < end {
            let next = start + entries.len() as u64;
            // Of large entries no more is read than is sent.
            let until = end.min(next + ENTRIES_AT_ONCE);
            let until = self.reader.end_within(next, until, (MESSAGE_BYTES - bytes) as u64);
            let some = self.try_get_log_entries(next..until).await?;
            if some.is_empty() {
                break;
            }
            for entry in some {
                bytes += payload_bytes(&entry);
                entries.push(entry);
                if bytes >= MESSAGE_BYTES {
                    break;
                }
            }
        }
        Ok(entries)
    }

    async fn read_vote(&mut self) -> io::Result<Option<Vote>> {
        Ok(self.reader.vote().map(from_journal_vote))
    }
}
