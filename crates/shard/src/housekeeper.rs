//! Work that commits do not wait for: segments ahead of need, checkpoints, gaps in memory.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use env::Env;
use journal::Spares;
use journal::checkpoint::CheckpointDir;
use tokio::sync::{mpsc, oneshot};

use crate::CheckpointError;
use crate::checkpoint::Cut;
use crate::compaction::Compaction;
use crate::consensus::{LogId, Raft, log_id};
use crate::replica::Shared;
use crate::witness::Retention;

/// How often it looks whether there is something to do.
const ROUND: Duration = Duration::from_millis(100);

/// After a checkpoint that failed, so many rounds pass before the next try.
const ROUNDS_AFTER_FAILURE: u32 = 50;

/// How long the consensus library may take to note a checkpoint and release the log before it.
const NOTE_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) enum Order {
    Checkpoint(oneshot::Sender<Result<(), CheckpointError>>),
    Stop,
}

pub(crate) struct Housekeeper {
    pub env: Env,
    pub shared: Shared,
    pub checkpoints: CheckpointDir,
    pub spares: Arc<Spares>,
    pub raft: Raft,
    /// The process has this replica alone, and so the gaps in its memory are this replica's.
    pub compacts: bool,
    pub checkpoint_bytes: u64,
    pub log_keep_bytes: u64,
    /// Of a witness.
    pub retention: Option<Retention>,
    pub bytes_per_second: u64,
}

impl Housekeeper {
    pub async fn run(self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut rounds_to_wait = 0;
        let mut disk_was_full = false;
        let mut compaction = Compaction::new();
        loop {
            match tokio::time::timeout(ROUND, orders.recv()).await {
                Ok(Some(Order::Checkpoint(reply))) => {
                    // Who asked may be gone.
                    let _ = reply.send(self.checkpoint().await);
                    continue;
                }
                Ok(Some(Order::Stop) | None) => return,
                Err(_round_is_over) => {}
            }
            if self.compacts {
                compaction.look(&self.shared.replicated);
            }
            let prepared = self.spares.prepare();
            if let (Err(error), false) = (&prepared, disk_was_full) {
                tracing::warn!("cannot set space aside for the log: {error}");
            }
            disk_was_full = prepared.is_err();
            rounds_to_wait = u32::saturating_sub(rounds_to_wait, 1);
            let is_due = self.bytes_since_checkpoint() >= self.checkpoint_bytes;
            if is_due
                && rounds_to_wait == 0
                && let Err(error) = self.checkpoint().await
            {
                tracing::warn!("{error}");
                rounds_to_wait = ROUNDS_AFTER_FAILURE;
            }
        }
    }

    async fn checkpoint(&self) -> Result<(), CheckpointError> {
        let outcome = self.write_checkpoint().await;
        if outcome.is_err() && !self.shared.stopping.load(Ordering::Relaxed) {
            self.shared.meters.checkpoint_failures.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    async fn write_checkpoint(&self) -> Result<(), CheckpointError> {
        let cut = {
            let mut replicated = self.shared.replicated.lock();
            let covered = replicated.checkpoint.as_ref().and_then(|meta| meta.last_log_id);
            if replicated.applied == covered {
                return Ok(());
            }
            replicated.want_cut()
        };
        let cut = self.wait_for(cut).await?;
        // The others may have it on their disks before this one has. A log that ended before its checkpoint would be taken for a damaged one.
        let log = self.shared.journal.lock().unsynced();
        log.sync().map_err(|error| CheckpointError {
            reason: error.to_string(),
        })?;
        let started = self.env.clock.monotonic();
        let written = cut
            .write(
                &self.env,
                &self.checkpoints,
                self.bytes_per_second,
                &self.shared.stopping,
            )
            .await
            .map_err(|error| CheckpointError {
                reason: error.to_string(),
            })?;
        let applied = cut.applied;
        drop(cut);
        self.shared.replicated.lock().checkpoint = Some(written.meta);
        self.shared.meters.checkpoints.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = self.release_log(applied, written.bytes).await {
            tracing::warn!("the log is not released up to the checkpoint: {error}");
        }
        if let Err(error) = self.checkpoints.remove_before(applied.index) {
            // It wastes space, nothing else, and the next checkpoint tries again.
            tracing::warn!("{error}");
        }
        let took = self.env.clock.monotonic() - started;
        tracing::info!(
            log_index = applied.index,
            milliseconds = took.as_millis() as u64,
            "checkpoint written"
        );
        Ok(())
    }

    /// The state is there at once, or when a large transaction that is on its way has ended.
    async fn wait_for(&self, mut cut: oneshot::Receiver<Cut>) -> Result<Cut, CheckpointError> {
        let give_up = |reason: &str| Err(CheckpointError { reason: reason.into() });
        loop {
            // In this order: who has nothing more to do has ended all that it could.
            let was_over = self.shared.queue.is_over();
            match tokio::time::timeout(ROUND, &mut cut).await {
                Ok(Ok(cut)) => return Ok(cut),
                Ok(Err(_gone)) => return give_up("another checkpoint is under way"),
                Err(_round_is_over) => {}
            }
            if self.shared.stopping.load(Ordering::Relaxed) || self.shared.failure.get().is_some() {
                return give_up("the shard is stopping");
            }
            if was_over {
                return give_up("a large transaction has no end in the log");
            }
            // It goes on growing meanwhile.
            if let Err(error) = self.spares.prepare() {
                tracing::debug!("cannot set space aside for the log: {error}");
            }
        }
    }

    /// Log that a restart would have to replay.
    fn bytes_since_checkpoint(&self) -> u64 {
        let replicated = self.shared.replicated.lock();
        let checkpoint = replicated.checkpoint.as_ref().and_then(|meta| meta.last_log_id);
        drop(replicated);
        self.shared.log.bytes_after(checkpoint.map(|id| id.index))
    }

    /// Has the consensus library note the checkpoint, and purge the log before it but for what is kept; that recycles segments.
    ///
    /// The library purges nothing that is on its way to another replica. One that is slower than the log grows would keep it for ever:
    /// after a while its way ends ([`Ways`](crate::peers::Ways)), and it gets a checkpoint.
    async fn release_log(&self, applied: LogId, checkpoint_bytes: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
        let reader = &self.shared.log;
        let upto = match &self.retention {
            None => self.released_upto(applied.index, checkpoint_bytes),
            Some(retention) => match reader.before_bytes(applied.index, self.log_keep_bytes) {
                Some(unwanted) => retention.released_upto(&self.shared, applied.index, unwanted).await,
                None => None,
            },
        };
        let upto = upto.and_then(|index| reader.id_at(index)).map(log_id);
        let wait = self.raft.wait(Some(NOTE_TIMEOUT));
        // What was applied where it was synced is ahead of what the library knows to be applied (`alone`).
        wait.applied_index_at_least(Some(applied.index), "checkpoint").await?;
        self.raft.trigger().snapshot().await?;
        wait.snapshot(applied, "checkpoint").await?;
        let Some(upto) = upto else { return Ok(()) };
        self.raft.trigger().purge_log(upto.index).await?;
        let purged = wait.purged(Some(upto), "purge").await;
        self.shared.progress.raise_floor(upto.index + 1);
        purged?;
        Ok(())
    }

    /// The newest entry that is not kept. What a replica lacks that is not away is kept, but not more of it than the checkpoint is large: to
    /// send that takes less time then.
    fn released_upto(&self, applied: u64, checkpoint_bytes: u64) -> Option<u64> {
        let before = |bytes| self.shared.log.before_bytes(applied, bytes);
        let unwanted = before(self.log_keep_bytes)?;
        match self.shared.progress.lacking() {
            Some(lacking) if lacking <= unwanted => {
                let too_much = before(checkpoint_bytes.max(self.log_keep_bytes));
                too_much.max(lacking.checked_sub(1))
            }
            _ => Some(unwanted),
        }
    }
}
