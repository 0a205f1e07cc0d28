//! Reading entries back, from any thread.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::record::{self, Body};
use crate::segment::Segment;
use crate::state::{EntryId, LogState, Vote};
use crate::{Damage, Entry};

/// Entries are read from disk in pieces of about this size.
const PIECE_BYTES: u64 = 4 << 20;

/// Where everything is. The journal changes it, readers look.
#[derive(Default)]
pub(crate) struct Index {
    /// Oldest first; the last one is being written.
    pub segments: VecDeque<Segment>,
    /// The log index of `positions[0]`.
    pub first: u64,
    /// Where each entry's record is.
    pub positions: VecDeque<u64>,
    /// The terms of the entries: first index and term of each run.
    pub terms: VecDeque<(u64, u64)>,
    pub state: LogState,
    /// Position after the last record.
    pub end: u64,
}

impl Index {
    pub fn push(&mut self, id: EntryId, position: u64) {
        if self.positions.is_empty() {
            self.first = id.index;
            self.terms.clear();
        }
        if self.terms.back().is_none_or(|&(_, term)| term != id.term) {
            self.terms.push_back((id.index, id.term));
        }
        self.positions.push_back(position);
        self.state.last = Some(id);
    }

    pub fn truncate(&mut self, last: Option<EntryId>) {
        let next_index = last.map_or(0, |last| last.index + 1);
        self.positions.truncate(next_index.saturating_sub(self.first) as usize);
        while self.terms.back().is_some_and(|&(first, _)| first >= next_index) {
            self.terms.pop_back();
        }
        self.state.last = last;
    }

    pub fn purge(&mut self, upto: EntryId) {
        let gone = (upto.index + 1)
            .saturating_sub(self.first)
            .min(self.positions.len() as u64);
        self.positions.drain(..gone as usize);
        self.first = self.first.max(upto.index + 1);
        while self.terms.get(1).is_some_and(|&(first, _)| first <= self.first) {
            self.terms.pop_front();
        }
        self.state.purged = self.state.purged.max(Some(upto));
        if self.state.last.is_none_or(|last| last.index < upto.index) {
            self.state.last = Some(upto);
        }
    }

    fn next_index(&self) -> u64 {
        self.first + self.positions.len() as u64
    }

    fn id_at(&self, index: u64) -> Option<EntryId> {
        if !(self.first..self.next_index()).contains(&index) {
            return [self.state.purged, self.state.last]
                .into_iter()
                .flatten()
                .find(|id| id.index == index);
        }
        let run = self.terms.partition_point(|&(first, _)| first <= index);
        Some(EntryId {
            term: self.terms[run - 1].1,
            index,
        })
    }

    /// The position at which the records of the `number`-th segment end.
    fn segment_end(&self, number: usize) -> u64 {
        self.segments.get(number + 1).map_or(self.end, |next| next.header.base)
    }
}

/// Reads entries while the journal writes others.
#[derive(Clone)]
pub struct Reader {
    pub(crate) index: Arc<RwLock<Index>>,
}

/// Consecutive entries whose records lie in one stretch of one segment.
struct Stretch {
    segment: Segment,
    positions: Vec<u64>,
    end: u64,
    /// The index after its last entry.
    next: u64,
}

impl Reader {
    pub fn vote(&self) -> Option<Vote> {
        self.index.read().state.vote
    }

    /// The newest entry; the purge point if there is none after it.
    pub fn last(&self) -> Option<EntryId> {
        self.index.read().state.last
    }

    /// Entries up to here are gone.
    pub fn purged(&self) -> Option<EntryId> {
        self.index.read().state.purged
    }

    /// The id of an entry that is in the log, or of the last purged one.
    pub fn id_at(&self, index: u64) -> Option<EntryId> {
        self.index.read().id_at(index)
    }

    /// Bytes of log after the entry with this index, or of all that is left.
    pub fn bytes_after(&self, index: Option<u64>) -> u64 {
        let log = self.index.read();
        let next = index.map_or(0, |index| index + 1).max(log.first);
        log.positions
            .get((next - log.first) as usize)
            .map_or(0, |position| log.end - position)
    }

    /// The newest entry up to `upto` behind which, up to and with `upto`, there are at least so many bytes of log. `None`: there is less.
    pub fn before_bytes(&self, upto: u64, bytes: u64) -> Option<u64> {
        let log = self.index.read();
        let upto = upto.min(log.next_index().checked_sub(1)?);
        let end_of = |index: u64| -> Option<u64> {
            let next = (index + 1).checked_sub(log.first)?;
            Some(log.positions.get(next as usize).copied().unwrap_or(log.end))
        };
        let wanted = end_of(upto)?.checked_sub(bytes)?;
        // Each entry ends where the next one begins.
        let begun = log.positions.partition_point(|&position| position <= wanted) as u64;
        let newest = match bytes {
            0 => upto,
            _ => (log.first + begun).checked_sub(2)?,
        };
        (newest >= log.first).then_some(newest)
    }

    /// The end of the entries from `start` on whose records have so many bytes together: after the first one at least, and not after `end`.
    pub fn end_within(&self, start: u64, end: u64, bytes: u64) -> u64 {
        let log = self.index.read();
        let position = |index: u64| Some(*log.positions.get(index.checked_sub(log.first)? as usize)?);
        let Some(begin) = position(start) else { return end };
        let is_within = |&index: &u64| position(index + 1).unwrap_or(log.end) - begin <= bytes;
        let count = (start..end).take_while(is_within).count() as u64;
        end.min(start + count.max(1))
    }

    /// The first entry of each term among the entries of the log.
    pub fn first_of_terms(&self) -> Vec<EntryId> {
        let index = self.index.read();
        let runs = index.terms.iter().filter(|_| !index.positions.is_empty());
        runs.map(|&(first, term)| EntryId {
            term,
            index: first.max(index.first),
        })
        .collect()
    }

    /// Entries of the range that are in the log, in order. An error names the file and the place.
    pub fn entries(&self, range: Range<u64>) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut next = range.start;
        while let Some(stretch) = self.stretch(next..range.end) {
            next = stretch.next;
            stretch.read(&mut entries)?;
        }
        Ok(entries)
    }

    fn stretch(&self, range: Range<u64>) -> Option<Stretch> {
        let index = self.index.read();
        let start = range.start.max(index.first);
        let end = range.end.min(index.next_index());
        if start >= end {
            return None;
        }
        let slot = |entry: u64| (entry - index.first) as usize;
        let position = index.positions[slot(start)];
        let number = index
            .segments
            .partition_point(|segment| segment.header.base <= position)
            - 1;
        let segment_end = index.segment_end(number);
        let limit = segment_end.min(position + PIECE_BYTES);
        let mut positions = vec![position];
        let following = index.positions.range(slot(start) + 1..slot(end - 1) + 1);
        positions.extend(following.take_while(|&&position| position < limit));
        let after = index.positions.get(slot(start) + positions.len());
        let end = after.map_or(segment_end, |&after| after.min(segment_end));
        let next = start + positions.len() as u64;
        Some(Stretch {
            segment: index.segments[number].clone(),
            positions,
            end,
            next,
        })
    }
}

impl Stretch {
    fn read(self, entries: &mut Vec<Entry>) -> io::Result<()> {
        let start = self.positions[0];
        let mut bytes = vec![0; (self.end - start) as usize];
        self.segment
            .file
            .read_exact_at(&mut bytes, self.segment.offset_of(start))?;
        for position in self.positions {
            let found = record::decode(
                &bytes[(position - start) as usize..],
                self.segment.header.salt,
                position,
            );
            let Some(Body::Entry { id, tag, payload }) = found.map(|decoded| decoded.record.body) else {
                let offset = self.segment.offset_of(position);
                let damage = Damage::new(
                    &self.segment.path,
                    offset,
                    "an entry that was there is not sound any more",
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, damage));
            };
            entries.push(Entry {
                id,
                tag,
                payload: Arc::new(payload.to_vec()),
            });
        }
        Ok(())
    }
}
