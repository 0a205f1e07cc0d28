//! What a replica gives for a backup: a checkpoint, chunk by chunk, and the log behind it.
//!
//! Each answer is records, as they stand in the stream. A chunk's checksum on the disk is checked before it is given: what is damaged here
//! does not become a backup.

use std::path::PathBuf;
use std::sync::Arc;

use env::Clock;
use journal::EntryId;
use journal::checkpoint::{Checkpoint, CheckpointDir};
use parking_lot::Mutex;
use thiserror::Error;

use super::record::{Head, Kind, META, Position, seal, seal_chunk, seal_entries};
use crate::checkpoint::decode_meta;
use crate::consensus::entry_id;
use crate::machine::Replicated;
use crate::{CheckpointError, Identity, OpenError};

/// Entries in one answer are not many more bytes than this; one always fits.
const ANSWER_BYTES: usize = 1 << 20;
/// Read at a time: batches have up to a megabyte.
const ENTRIES_AT_ONCE: u64 = 16;
/// A newer checkpoint may take the place of the one that is being opened.
const TRIES: usize = 3;

/// Why a replica gives nothing.
#[derive(Debug, Error)]
pub enum BackupError {
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The replica's own files are damaged, or cannot be read.
    #[error(transparent)]
    Files(#[from] OpenError),
    #[error("nothing has been committed yet")]
    Empty,
    #[error("the checkpoint has {chunks} chunks, and no chunk {number}")]
    NoChunk { number: u64, chunks: u64 },
    #[error(
        "the log up to entry {purged} is gone from node {node}, and entry {} is wanted: it keeps what --log-keep says. Take a new \
         backup (without --log)",
        .after + 1
    )]
    Gone { node: u32, after: u64, purged: u64 },
    #[error("node {node} is of another cluster than what was backed up")]
    Cluster { node: u32 },
    #[error(
        "entry {wanted} is none of node {node}'s log, which has {found} there: what was backed up is of another cluster"
    )]
    Another { node: u32, wanted: EntryId, found: EntryId },
    #[error("node {node} has not come to log entry {wanted} yet")]
    Behind { node: u32, wanted: u64 },
}

/// A checkpoint that is being given away. It stays readable when a newer one takes its place.
pub struct Backup {
    head: Head,
    checkpoint: Checkpoint,
}

impl Backup {
    /// The records that a stream begins with.
    pub fn begin(&self) -> Vec<u8> {
        let mut records = self.head.seal();
        records.extend(seal(META, self.checkpoint.meta()));
        records
    }

    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The record of a chunk, from 0 on. Blocks.
    pub fn chunk(&self, number: u64) -> Result<Vec<u8>, BackupError> {
        let chunks = self.checkpoint.chunks() as u64;
        if number >= chunks {
            return Err(BackupError::NoChunk { number, chunks });
        }
        let at = number as usize;
        let rows = self.checkpoint.read(at).map_err(OpenError::from)?;
        Ok(seal_chunk(number, self.checkpoint.stream(at), &rows))
    }
}

/// What a replica has that backups are made of.
pub(crate) struct Source<'a> {
    pub identity: Identity,
    pub checkpoints: &'a CheckpointDir,
    pub log: journal::Reader,
    pub replicated: &'a Arc<Mutex<Replicated>>,
    pub clock: &'a Arc<dyn Clock>,
}

impl Source<'_> {
    /// The newest checkpoint.
    pub fn open(&self) -> Result<Backup, BackupError> {
        let mut tries = 0;
        let checkpoint = loop {
            match self.checkpoints.newest() {
                Ok(found) => break found.ok_or(BackupError::Empty)?,
                Err(error) if tries == TRIES => return Err(OpenError::from(error).into()),
                Err(_) => tries += 1,
            }
        };
        let path: PathBuf = checkpoint.path().to_owned();
        let meta = decode_meta(checkpoint.meta()).ok_or_else(|| {
            OpenError::from(journal::Damage {
                file: path,
                offset: 0,
                what: "the header's contents are not sound".into(),
            })
        })?;
        let head = Head {
            kind: Kind::Full {
                chunks: checkpoint.chunks() as u64,
            },
            after: meta.applied,
            newest: meta.newest,
            ..self.head()
        };
        Ok(Backup { head, checkpoint })
    }

    fn head(&self) -> Head {
        Head {
            kind: Kind::Log,
            cluster: self.identity.cluster,
            node: self.identity.node,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            after: EntryId { term: 0, index: 0 },
            newest: types::Timestamp::ZERO,
            wall_ms: self.wall_ms(),
        }
    }

    fn wall_ms(&self) -> u64 {
        u64::try_from(self.clock.wall().as_millis()).unwrap_or(0)
    }

    /// The head of a stream of the log behind `after`, at which `newest` was the newest commit.
    pub fn log_head(&self, cluster: u128, after: EntryId, newest: types::Timestamp) -> Result<Vec<u8>, BackupError> {
        if cluster != self.identity.cluster {
            let node = self.identity.node;
            return Err(BackupError::Cluster { node });
        }
        self.check(after)?;
        let head = Head {
            after,
            newest,
            ..self.head()
        };
        Ok(head.seal())
    }

    /// Records of the log behind `after`, as much as goes into an answer, and how far it comes.
    pub fn log_after(&self, after: EntryId) -> Result<Vec<u8>, BackupError> {
        let (applied, newest) = {
            let replicated = self.replicated.lock();
            let applied = replicated.applied.map(|id| entry_id(&id));
            (applied.ok_or(BackupError::Empty)?, replicated.newest)
        };
        self.check(after)?;
        let unreadable = |error: std::io::Error| OpenError::Replay(error.to_string());
        let (mut records, mut bytes, mut last) = (Vec::new(), 0, after);
        while bytes < ANSWER_BYTES && last.index < applied.index {
            let range = last.index + 1..(applied.index + 1).min(last.index + 1 + ENTRIES_AT_ONCE);
            let entries = self.log.entries(range).map_err(unreadable)?;
            let Some(newest) = entries.last() else { break };
            // It was purged in between.
            if entries[0].id.index != last.index + 1 {
                break;
            }
            last = newest.id;
            let record = seal_entries(&entries);
            bytes += record.len();
            records.extend(record);
        }
        if last == applied {
            records.extend(Position { last, newest }.seal());
        }
        Ok(records)
    }

    /// Whether the log goes on behind `after` here.
    fn check(&self, after: EntryId) -> Result<(), BackupError> {
        let node = self.identity.node;
        let purged = self.log.purged().map_or(0, |id| id.index);
        match self.log.id_at(after.index) {
            Some(found) if found == after => Ok(()),
            Some(found) => Err(BackupError::Another {
                node,
                wanted: after,
                found,
            }),
            None if after.index < purged => Err(BackupError::Gone {
                node,
                after: after.index,
                purged,
            }),
            None => Err(BackupError::Behind {
                node,
                wanted: after.index,
            }),
        }
    }
}
