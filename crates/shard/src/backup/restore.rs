//! From a backup to the data directory of a new cluster.
//!
//! The checkpoint is loaded as at a start, the log is applied up to the moment that is asked for, and what comes of it is written as a
//! checkpoint: the new directory begins with it. A large transaction that had not ended by then is not in it.
//!
//! The new cluster has an identity of its own and one node, whatever the old one had. It goes on with the old one's terms, log indexes and
//! timestamps, so that none of them ever means two things.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use env::Env;
use journal::checkpoint::{CheckpointDir, CheckpointWriter};
use journal::{Entry, EntryId, Journal, Options, Role, Vote};
use store::{MemoryBudget, Store};
use thiserror::Error;
use types::Timestamp;

use super::record::Head;
use crate::api::Member;
use crate::checkpoint::{self, Cut};
use crate::consensus::{Membership, StoredMembership, entry_id, from_journal_entry, log_id};
use crate::machine::Replicated;
use crate::observer::Observer;
use crate::outcomes::Outcomes;
use crate::workers;
use crate::{Identity, OpenError};

/// The chunks of the backup lie there while they are loaded.
const RESTORING: &str = "restoring";

/// Old versions that are collected behind each entry: about as many as it makes.
const COLLECT: usize = 2048;

/// How far the log is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// All of it.
    End,
    /// What was committed up to then, and no later commit.
    Moment(Timestamp),
    /// The log entry with this index is the last one.
    Index(u64),
}

/// Why there is no new directory.
#[derive(Debug, Error)]
pub enum RestoreError {
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Files(#[from] OpenError),
    /// The backup is sound, and its log cannot be applied all the same.
    #[error("log entry {entry} cannot be applied: {reason}")]
    Entry { entry: EntryId, reason: String },
    #[error("log entry {found} follows {last}: what lies between is missing")]
    Gap { last: u64, found: u64 },
}

/// What a new directory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    pub identity: Identity,
    /// The last entry of the old log that was applied, maybe in part.
    pub applied: EntryId,
    pub newest: Timestamp,
}

/// A restore that takes in chunks.
pub struct Restore {
    env: Env,
    dir: PathBuf,
    head: Head,
    writer: CheckpointWriter,
}

/// A restore that takes in the log.
pub struct Replay {
    env: Env,
    dir: PathBuf,
    store: Arc<Store>,
    replicated: Replicated,
    until: Until,
    is_over: bool,
}

impl Restore {
    /// Begins in an empty directory, with what a stream begins with.
    pub fn begin(env: &Env, dir: &Path, head: Head, meta: &[u8]) -> Result<Restore, RestoreError> {
        let working = dir.join(RESTORING);
        let checkpoints = CheckpointDir::open(env, &working).map_err(OpenError::from)?;
        let writer = checkpoints.create(head.after.index, meta);
        Ok(Restore {
            env: env.clone(),
            dir: dir.to_owned(),
            head,
            writer: writer.map_err(|error| RestoreError::Io { path: working, error })?,
        })
    }

    pub fn chunk(&mut self, stream: u64, rows: &[u8]) -> Result<(), RestoreError> {
        let path = || self.dir.join(RESTORING);
        self.writer
            .add(stream, rows)
            .map_err(|error| RestoreError::Io { path: path(), error })
    }

    /// All chunks are there: loads them, on all cores.
    pub fn load(
        self,
        memory: Arc<MemoryBudget>,
        observer: Option<Arc<dyn Observer>>,
        until: Until,
    ) -> Result<Replay, RestoreError> {
        let path = self.dir.join(RESTORING);
        let io_error = |error| RestoreError::Io {
            path: path.clone(),
            error,
        };
        self.writer.finish().map_err(io_error)?;
        let checkpoints = CheckpointDir::open(&self.env, &path).map_err(OpenError::from)?;
        let found = checkpoints.newest().map_err(OpenError::from)?;
        let found = found.ok_or_else(|| io_error(io::ErrorKind::NotFound.into()))?;
        let (store, writer) = Store::new(memory);
        let mut replicated = Replicated::new(Role::Data, writer, observer);
        checkpoint::load(&found, &mut replicated)?;
        replicated.restore_observer().map_err(OpenError::Replay)?;
        drop(found);
        checkpoints
            .remove_before(self.head.after.index + 1)
            .map_err(OpenError::from)?;
        Ok(Replay {
            env: self.env,
            dir: self.dir,
            store,
            replicated,
            until,
            is_over: until == Until::Index(self.head.after.index),
        })
    }
}

impl Replay {
    /// Applies entries; those that are applied already are left out. Break: what follows is later than what is wanted.
    pub fn entries(&mut self, entries: Vec<Entry>) -> Result<ControlFlow<()>, RestoreError> {
        for entry in entries {
            let (id, last) = (entry.id, self.applied());
            if id.index <= last.index {
                continue;
            }
            if self.is_over {
                break;
            }
            if id.index != last.index + 1 || id.term < last.term {
                return Err(RestoreError::Gap {
                    last: last.index,
                    found: id.index,
                });
            }
            let unreadable = |error: io::Error| RestoreError::Entry {
                entry: id,
                reason: error.to_string(),
            };
            let payload = from_journal_entry(entry).map_err(unreadable)?.payload;
            let latest = match self.until {
                Until::Moment(moment) => moment,
                Until::End | Until::Index(_) => Timestamp::MAX,
            };
            let replayed = self
                .replicated
                .replay(log_id(id), payload, latest)
                .map_err(unreadable)?;
            self.replicated.writer.collect(COLLECT);
            self.is_over = replayed.is_break() || self.until == Until::Index(id.index);
        }
        Ok(match self.is_over {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    /// The last entry that was applied.
    pub fn applied(&self) -> EntryId {
        let applied = self.replicated.applied.as_ref();
        entry_id(applied.expect("a checkpoint was loaded"))
    }

    /// The newest commit.
    pub fn newest(&self) -> Timestamp {
        self.replicated.newest
    }

    /// The rows.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Writes the directory, as that of a node of a new cluster which has not been started yet.
    pub fn finish(mut self, node: u32) -> Result<Restored, RestoreError> {
        let io_error = |error| RestoreError::Io {
            path: self.dir.clone(),
            error,
        };
        let applied = self.applied();
        self.replicated.abandon_open();
        self.replicated.outcomes = Outcomes::default();
        let voter = u64::from(node);
        let members = BTreeMap::from([(voter, Member::default())]);
        let membership = Membership::new(vec![BTreeSet::from([voter])], members).map_err(io::Error::other);
        self.replicated.membership = StoredMembership::new(Some(log_id(applied)), membership.map_err(io_error)?);
        let cut = Cut::take(&self.replicated).expect("something was applied");
        let checkpoints = CheckpointDir::open(&self.env, &self.dir.join("checkpoint")).map_err(OpenError::from)?;
        // Without a pace there is nothing to wait for.
        workers::wait(cut.write(&self.env, &checkpoints, 0, &AtomicBool::new(false))).map_err(io_error)?;
        let log = self.dir.join("log");
        let mut journal = Journal::open(&self.env, &log, Options::default()).map_err(OpenError::from)?;
        // Whoever leads next does so in a later term than that of any entry.
        let vote = Vote {
            term: applied.term,
            node: voter,
            committed: false,
        };
        let begun = journal.save_vote(vote).and_then(|()| journal.purge(applied));
        begun.map_err(|error| io_error(error.into()))?;
        let random = &self.env.random;
        let identity = Identity {
            cluster: u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()),
            node,
            incarnation: 0,
            level: self.replicated.level,
            role: Role::Data,
        };
        identity.write(&self.env, &self.dir).map_err(OpenError::from)?;
        self.env.disk.sync_dir(&self.dir).map_err(io_error)?;
        Ok(Restored {
            identity,
            applied,
            newest: self.replicated.newest,
        })
    }
}
