//! What a stream of records must be made of.
//!
//! A head comes first. A checkpoint's meta follows, and its chunks in order; entries may come between them, in order. Each position names
//! the newest entry before it. The end counts the records and has a checksum of their checksums; nothing follows it.

use std::fmt;
use std::io::{self, Read};

use journal::{Entry, EntryId};
use openraft::EntryPayload;
use thiserror::Error;

use super::record::{
    CHUNK, END, ENTRIES, HEAD, HEADER, Head, Kind, MAGIC, META, PAYLOAD_MAX, POSITION, PREAMBLE, Position, VERSION,
    decode_chunk, decode_end, decode_entries, preamble, seal_end,
};
use crate::batch::Piece;
use crate::checkpoint::{OUTCOMES, decode_meta, rows_of};
use crate::consensus::from_journal_entry;

/// Where a stream is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("at byte {at}: {what}")]
pub struct Damaged {
    /// Of the stream: the record's begin.
    pub at: u64,
    pub what: String,
}

/// A record's contents.
#[derive(Debug)]
pub enum Record {
    Head(Head),
    /// What a checkpoint says of itself.
    Meta(Vec<u8>),
    /// Rows of a stream of the checkpoint.
    Chunk {
        stream: u64,
        rows: Vec<u8>,
    },
    Entries(Vec<Entry>),
    Position(Position),
    End,
}

/// What was found so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub head: Head,
    /// How far the log in it has come.
    pub position: Position,
    /// Of the checkpoint, without those of the system.
    pub tables: usize,
    pub rows: u64,
    pub entries: u64,
}

/// A stream up to some record, all of it sound.
#[derive(Debug, Default)]
pub struct Checked {
    summary: Option<Summary>,
    has_meta: bool,
    /// The streams that may have chunks.
    streams: Vec<u64>,
    next_chunk: u64,
    /// Of all entries before.
    last: Option<EntryId>,
    records: u64,
    digest: crc32fast::Hasher,
    is_over: bool,
    bytes: u64,
}

impl Checked {
    /// A stream that has begun: its first bytes, and what they are.
    pub fn begin() -> (Checked, [u8; PREAMBLE]) {
        let bytes = PREAMBLE as u64;
        (
            Checked {
                bytes,
                ..Checked::default()
            },
            preamble(),
        )
    }

    /// What was found; `None`: not even a head.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// The newest entry that it has, or that it follows.
    pub fn last(&self) -> Option<EntryId> {
        self.last.or(self.summary.as_ref().map(|summary| summary.head.after))
    }

    /// Length of what is sound.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Of a checkpoint, the first that is missing.
    pub fn next_chunk(&self) -> u64 {
        self.next_chunk
    }

    pub fn has_meta(&self) -> bool {
        self.has_meta
    }

    /// The end has come.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn missing(&self) -> Option<String> {
        let Some(summary) = &self.summary else {
            return Some("there is no head".into());
        };
        let chunks = match summary.head.kind {
            Kind::Full { chunks } => chunks,
            Kind::Log => 0,
        };
        match () {
            () if Some(summary.position.last) != self.last() => Some("log entries have no position behind them".into()),
            () if summary.head.kind == Kind::Log => None,
            () if !self.has_meta => Some("the checkpoint's description is missing".into()),
            () if self.next_chunk < chunks => {
                Some(format!("{} of {chunks} chunks are missing", chunks - self.next_chunk))
            }
            () => None,
        }
    }

    /// The record that ends what was checked so far; `None`: something is missing before it.
    pub fn end(&self) -> Option<Vec<u8>> {
        let summary = self.summary.as_ref().filter(|_| self.missing().is_none())?;
        Some(seal_end(self.records, self.digest.clone().finalize(), summary.position))
    }

    /// The next records, all of `bytes`.
    pub fn accept_all(&mut self, mut bytes: &[u8]) -> Result<(), Damaged> {
        while !bytes.is_empty() {
            let (_, length) = self.accept(bytes)?;
            bytes = &bytes[length..];
        }
        Ok(())
    }

    /// The next record, which begins `bytes`; with the number of its bytes.
    pub fn accept(&mut self, bytes: &[u8]) -> Result<(Record, usize), Damaged> {
        let cut = || self.damaged("the stream ends within a record");
        let header = bytes.get(..HEADER).ok_or_else(cut)?;
        let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let (crc, length, kind) = (number(0), number(4), number(8));
        let end = HEADER + length as usize;
        let record = bytes.get(..end).ok_or_else(cut)?;
        if crc32fast::hash(&record[4..]) != crc {
            return Err(self.damaged("a record's checksum is wrong"));
        }
        let found = self.check(kind, &record[HEADER..]).map_err(|what| self.damaged(what))?;
        self.records += 1;
        self.digest.update(&crc.to_le_bytes());
        self.bytes += end as u64;
        Ok((found, end))
    }

    fn damaged(&self, what: impl Into<String>) -> Damaged {
        Damaged {
            at: self.bytes,
            what: what.into(),
        }
    }

    fn check(&mut self, kind: u32, payload: &[u8]) -> Result<Record, String> {
        if self.is_over {
            return Err("something follows the end".into());
        }
        if kind == HEAD {
            return self.check_head(payload);
        }
        let Some(summary) = &mut self.summary else {
            return Err("a stream begins with its head".into());
        };
        match kind {
            META if self.has_meta || summary.head.kind == Kind::Log => {
                Err("a checkpoint that does not belong here".into())
            }
            META => {
                let meta = decode_meta(payload).ok_or("the checkpoint's description cannot be read")?;
                if meta.applied != summary.head.after || meta.newest != summary.head.newest {
                    return Err("the checkpoint is another one than the head says".into());
                }
                self.streams = meta.tables.iter().map(|(spec, _)| u64::from(spec.id.0)).collect();
                summary.tables = self.streams.len();
                self.has_meta = true;
                Ok(Record::Meta(payload.to_vec()))
            }
            CHUNK => {
                let (number, stream, rows) = decode_chunk(payload).ok_or("a chunk cannot be read")?;
                if !self.has_meta || number != self.next_chunk {
                    return Err(format!("chunk {number} where {} belongs", self.next_chunk));
                }
                if stream != OUTCOMES {
                    if !self.streams.contains(&stream) {
                        return Err(format!("rows of an unknown table {stream}"));
                    }
                    let count = rows_of(rows).try_fold(0, |count, row| row.map(|_| count + 1));
                    summary.rows += count.ok_or("a chunk does not end with a row")?;
                }
                self.next_chunk += 1;
                let rows = rows.to_vec();
                Ok(Record::Chunk { stream, rows })
            }
            ENTRIES => {
                let entries = decode_entries(payload).ok_or("log entries cannot be read")?;
                for entry in &entries {
                    let last = self.last.unwrap_or(summary.head.after);
                    if entry.id.index != last.index + 1 || entry.id.term < last.term {
                        return Err(format!("log entry {} behind {last}", entry.id));
                    }
                    check_entry(entry)?;
                    self.last = Some(entry.id);
                    summary.entries += 1;
                }
                Ok(Record::Entries(entries))
            }
            POSITION => {
                let position = Position::decode(payload).ok_or("a position cannot be read")?;
                if position.last != self.last.unwrap_or(summary.head.after) {
                    return Err(format!("a position of entry {}, which is not there", position.last));
                }
                summary.position = position;
                Ok(Record::Position(position))
            }
            END => {
                let digest = self.digest.clone().finalize();
                if decode_end(payload) != Some((self.records, digest, summary.position)) {
                    return Err("the end counts other records than there are".into());
                }
                if let Some(missing) = self.missing() {
                    return Err(missing);
                }
                self.is_over = true;
                Ok(Record::End)
            }
            kind => Err(format!("a record of the unknown kind {kind}")),
        }
    }

    fn check_head(&mut self, payload: &[u8]) -> Result<Record, String> {
        let head = Head::decode(payload).ok_or("the head cannot be read")?;
        if self.summary.is_some() {
            return Err("a second head".into());
        }
        self.summary = Some(Summary {
            position: Position {
                last: head.after,
                newest: head.newest,
            },
            head: head.clone(),
            tables: 0,
            rows: 0,
            entries: 0,
        });
        Ok(Record::Head(head))
    }
}

/// Whether this version can apply it.
fn check_entry(entry: &Entry) -> Result<(), String> {
    let id = entry.id;
    let read = from_journal_entry(entry.clone()).map_err(|error| error.to_string())?;
    let EntryPayload::Normal(batch) = read.payload else {
        return Ok(());
    };
    let unreadable = |error: &dyn fmt::Display| format!("log entry {id}: {error}");
    for piece in batch.pieces().map_err(|error| unreadable(&error))? {
        let (_, piece) = piece.map_err(|error| unreadable(&error))?;
        if let Piece::Whole(writes) | Piece::Chunk { writes, .. } | Piece::Commit { writes, .. } = piece {
            store::WriteOps::decode(writes).map_err(|error| unreadable(&error))?;
        }
    }
    Ok(())
}

/// Reads a stream record by record. It keeps one of them in memory.
pub struct Reader<R> {
    from: R,
    checked: Checked,
    record: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// An error of another kind than [`io::ErrorKind::InvalidData`] is the source's.
    pub fn new(mut from: R) -> io::Result<Reader<R>> {
        let mut found = [0; PREAMBLE];
        let read = read_fully(&mut from, &mut found)?;
        let version = u32::from_le_bytes(found[8..12].try_into().expect("four bytes"));
        let what = match () {
            () if read < PREAMBLE || found[..8] != MAGIC => "not a backup".to_owned(),
            () if version != VERSION => format!("a backup of version {version}; this program knows {VERSION}"),
            () if found != preamble() => "the first bytes are damaged".to_owned(),
            () => {
                return Ok(Reader {
                    from,
                    checked: Checked::begin().0,
                    record: Vec::new(),
                });
            }
        };
        Err(invalid(Damaged { at: 0, what }))
    }

    /// `None`: the end was there, and nothing follows.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        self.record.resize(HEADER, 0);
        let read = read_fully(&mut self.from, &mut self.record)?;
        if read == 0 && self.checked.is_over {
            return Ok(None);
        }
        let cut = |checked: &Checked| {
            let missing = checked.missing().unwrap_or_else(|| "its end is missing".into());
            invalid(checked.damaged(format!("the backup is cut off: {missing}")))
        };
        if read < HEADER {
            return Err(cut(&self.checked));
        }
        let length = u32::from_le_bytes(self.record[4..8].try_into().expect("four bytes"));
        if length > PAYLOAD_MAX {
            return Err(invalid(self.checked.damaged("a record's length is not sound")));
        }
        // In steps: what a damaged length asks for need not be there.
        let end = HEADER + length as usize;
        while self.record.len() < end {
            let from = self.record.len();
            self.record.resize(end.min(from + READ_STEP), 0);
            let wanted = self.record.len() - from;
            if read_fully(&mut self.from, &mut self.record[from..])? < wanted {
                return Err(cut(&self.checked));
            }
        }
        let (record, _) = self.checked.accept(&self.record).map_err(invalid)?;
        if self.record.capacity() > RECORD_KEPT {
            self.record = Vec::new();
        }
        Ok(Some(record))
    }

    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// What is sound of a stream that may have been cut off.
    pub fn into_checked(self) -> Checked {
        self.checked
    }
}

const READ_STEP: usize = 1 << 20;
/// A longer record's memory is given back.
const RECORD_KEPT: usize = 4 << 20;

fn invalid(damaged: Damaged) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, damaged)
}

/// As much as there is.
fn read_fully(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match from.read(&mut buffer[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
