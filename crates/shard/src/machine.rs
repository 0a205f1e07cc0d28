//! Applying the log to the rows.
//!
//! Everything here is decided by the log alone, so that replicas at the same index are equal: commit timestamps count
//! up in log order, and a transaction that is found in the log twice is applied once.
//!
//! Apply is total. A transaction that does not fit the rows as the log has made them (its table exists already, its row is of
//! another definition) is aborted: nothing of it is applied, the transactions beside it are, its proposer is told why, and its
//! outcome is remembered. That depends on the log alone, too, so every replica and every replay comes to the same end. What
//! stops a replica are bytes that cannot be read: they are damaged, or a newer version wrote them.

use std::io;
use std::sync::Arc;

use futures_util::{Stream, TryStreamExt};
use openraft::alias::SnapshotOf;
use openraft::storage::{EntryResponder, RaftSnapshotBuilder, RaftStateMachine};
use openraft::{EntryPayload, OptionalSend, Snapshot};
use parking_lot::Mutex;
use store::{CheckError, WriteOps, Writer};
use types::Timestamp;

use crate::TransactionId;
use crate::batch::Batch;
use crate::checkpoint::Handle;
use crate::consensus::{Applied, Consensus, LogId, SnapshotMeta, StoredMembership, Verdict};
use crate::failure::Failure;
use crate::outcomes::{Fate, Outcomes};

/// Everything that the log decides.
pub(crate) struct Replicated {
    pub writer: Writer,
    pub applied: Option<LogId>,
    pub membership: StoredMembership,
    pub newest: Timestamp,
    pub outcomes: Outcomes,
    /// The newest complete checkpoint.
    pub checkpoint: Option<SnapshotMeta>,
}

impl Replicated {
    pub fn new(writer: Writer) -> Replicated {
        Replicated {
            writer,
            applied: None,
            membership: StoredMembership::default(),
            newest: Timestamp::ZERO,
            outcomes: Outcomes::default(),
            checkpoint: None,
        }
    }

    /// An error stops the replica: the batch cannot be read.
    fn apply(&mut self, batch: &Batch) -> io::Result<Applied> {
        let unreadable = |error: &dyn std::error::Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        let mut verdicts = Vec::new();
        for transaction in batch.transactions().map_err(|error| unreadable(&error))? {
            let (id, writes) = transaction.map_err(|error| unreadable(&error))?;
            verdicts.push(match self.outcomes.get(id) {
                Some(Fate::Committed(timestamp)) => Ok(timestamp),
                Some(Fate::Aborted) => Err("it was aborted before".into()),
                None => self.commit(id, writes).map_err(|error| unreadable(&error))?,
            });
        }
        self.writer.publish();
        Ok(Applied { verdicts })
    }

    fn commit(&mut self, id: TransactionId, writes: &[u8]) -> Result<Verdict, CheckError> {
        let fitting = match self.writer.check(WriteOps::decode(writes)?) {
            Ok(fitting) => fitting,
            Err(CheckError::Unfit(reason)) => {
                let (term, sequence) = (id.term, id.sequence);
                tracing::error!(
                    term,
                    sequence,
                    "transaction aborted, it does not fit the rows: {reason}"
                );
                self.outcomes.insert(id, Fate::Aborted);
                return Ok(Err(reason.to_string().into()));
            }
            Err(unreadable) => return Err(unreadable),
        };
        let timestamp = self.newest.next();
        // Only panics and kills: an error here would be one of this replica alone.
        let _ = env::failpoints::hit("shard.applying");
        self.writer.apply_fitting(timestamp, fitting)?;
        self.newest = timestamp;
        self.outcomes.insert(id, Fate::Committed(timestamp));
        Ok(Ok(timestamp))
    }
}

/// The rows as the consensus library's state machine.
pub(crate) struct Machine {
    replicated: Arc<Mutex<Replicated>>,
    failure: Failure,
}

impl Machine {
    pub fn new(replicated: Arc<Mutex<Replicated>>, failure: Failure) -> Machine {
        Machine { replicated, failure }
    }

    fn apply_entry(
        &self,
        log_id: LogId,
        payload: EntryPayload<Batch, u64, openraft::BasicNode>,
    ) -> io::Result<Applied> {
        let replicated = &mut *self.replicated.lock();
        let applied = match payload {
            EntryPayload::Blank => Applied::default(),
            EntryPayload::Normal(batch) => replicated.apply(&batch).map_err(|error| {
                let reason = format!("log entry {} cannot be applied: {error}", log_id.index);
                self.failure.set(reason.clone());
                io::Error::new(io::ErrorKind::InvalidData, reason)
            })?,
            EntryPayload::Membership(membership) => {
                replicated.membership = StoredMembership::new(Some(log_id), membership);
                Applied::default()
            }
        };
        replicated.applied = Some(log_id);
        Ok(applied)
    }
}

impl RaftStateMachine<Consensus> for Machine {
    type SnapshotData = Handle;
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> io::Result<(Option<LogId>, StoredMembership)> {
        let replicated = self.replicated.lock();
        Ok((replicated.applied, replicated.membership.clone()))
    }

    async fn apply<Strm>(&mut self, mut entries: Strm) -> io::Result<()>
    where
        Strm: Stream<Item = Result<EntryResponder<Consensus>, io::Error>> + Unpin + OptionalSend,
    {
        while let Some((entry, responder)) = entries.try_next().await? {
            let applied = self.apply_entry(entry.log_id, entry.payload)?;
            if let Some(responder) = responder {
                responder.send(applied);
            }
        }
        Ok(())
    }

    /// Checkpoints are written on a thread of their own; the library is told of one when it is complete.
    async fn try_create_snapshot_builder(&mut self, _force: bool) -> Option<Builder> {
        let meta = self.replicated.lock().checkpoint.clone()?;
        Some(Builder { meta })
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        let meta = self.replicated.lock().checkpoint.clone().unwrap_or_default();
        Builder { meta }
    }

    async fn install_snapshot(&mut self, _meta: &SnapshotMeta, _snapshot: Handle) -> io::Result<()> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a checkpoint from another replica",
        ))
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<SnapshotOf<Consensus, Handle>>> {
        let meta = self.replicated.lock().checkpoint.clone();
        Ok(meta.map(|meta| Snapshot { meta, snapshot: Handle }))
    }
}

/// Presents the newest complete checkpoint.
pub(crate) struct Builder {
    meta: SnapshotMeta,
}

impl RaftSnapshotBuilder<Consensus> for Builder {
    type SnapshotData = Handle;

    async fn build_snapshot(&mut self) -> io::Result<SnapshotOf<Consensus, Handle>> {
        Ok(Snapshot {
            meta: self.meta.clone(),
            snapshot: Handle,
        })
    }
}
