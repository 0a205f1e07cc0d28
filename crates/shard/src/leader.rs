//! The shard's thread: from waiting transactions to answered ones, batch after batch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use journal::JournalError;
use openraft::error::ClientWriteError;
use openraft::{BasicNode, ReadPolicy, ServerState, SnapshotPolicy};
use tokio::runtime::{self, Handle};
use tokio::sync::oneshot;

use crate::batch::{Batch, Piece};
use crate::consensus::{Callback, Raft};
use crate::log::Log;
use crate::machine::Machine;
use crate::network::NoPeers;
use crate::queue::Departure;
use crate::replica::Shared;
use crate::{OpenError, ProposeError};

/// Write sets gathered into one log entry.
const BATCH_BYTES: usize = 1 << 20;

/// Room that is left in the log for the end of a large transaction, should there be none for the rest of it.
const END_BYTES: usize = 1024;

/// After this long without commits there is time for what nobody waits for.
const IDLE: Duration = Duration::from_millis(50);

/// Old versions that are looked at between two batches, and at a time when idle. Behind a chunk about as many as it makes, or they
/// would pile up.
const COLLECT_BETWEEN_BATCHES: usize = 256;
const COLLECT_AFTER_CHUNK: usize = 2048;
const COLLECT_WHEN_IDLE: usize = 1024;

/// Records looked at in one go to move them out of sparse pages: some hundred microseconds.
const COMPACT_AT_ONCE: usize = 2048;

/// While there is something to move, that begins after as long without commits.
const IDLE_TO_COMPACT: Duration = Duration::from_millis(1);

type Started = Result<(Raft, Handle, u64), OpenError>;

/// Runs until told to exit. Tells `ready` when commits are taken, and `drained` when there will be no more answers.
pub(crate) fn run(
    shared: Shared,
    node_id: u64,
    ready: &mpsc::Sender<Started>,
    drained: &mpsc::Sender<()>,
    exit: oneshot::Receiver<()>,
) {
    let runtime = match runtime::Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            // Nobody listens only if the opener is gone; the same below.
            let _ = ready.send(Err(OpenError::Replay(format!(
                "cannot start the shard's thread: {error}"
            ))));
            return;
        }
    };
    runtime.block_on(async {
        let raft = match start(&shared, node_id).await {
            Ok((raft, term)) => {
                let _ = ready.send(Ok((raft.clone(), Handle::current(), term)));
                raft
            }
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        if let Err(reason) = commit_batches(&shared, &raft).await {
            shared.failure.set(reason);
            let first = shared.failure.get().expect("it was just set");
            shared.queue.fail(first);
        }
        let _ = drained.send(());
        // Until then the log is still purged behind checkpoints. A replica that is gone means the same as its word.
        let _ = exit.await;
        let _ = raft.shutdown().await;
        if shared.failure.get().is_none() {
            let journal = &mut *shared.journal.lock();
            if let Err(error) = journal.mark().and_then(|()| journal.sync()) {
                tracing::warn!("{error}");
            }
        }
    });
}

/// Replays the log's tail, and takes the lead.
async fn start(shared: &Shared, node_id: u64) -> Result<(Raft, u64), OpenError> {
    let replay_error = |error: &dyn std::fmt::Display| {
        let reason = shared
            .failure
            .get()
            .map_or_else(|| error.to_string(), |reason| reason.to_string());
        OpenError::Replay(reason)
    };
    let config = openraft::Config {
        cluster_name: "shard".into(),
        heartbeat_interval: 250,
        election_timeout_min: 1000,
        election_timeout_max: 2000,
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: 0,
        // Each start leads in a term of its own: it makes transaction ids unique.
        enable_leader_restore: Some(false),
        ..openraft::Config::default()
    };
    let config = Arc::new(config.validate().expect("the configuration is fixed, and valid"));
    let log = Log::new(shared.journal.clone(), shared.failure.clone(), shared.meters.clone());
    let machine = Machine::new(shared.replicated.clone(), shared.failure.clone());
    let raft = Raft::new(node_id, config, NoPeers, log, machine)
        .await
        .map_err(|error| replay_error(&error))?;
    if raft.is_initialized().await.map_err(|error| replay_error(&error))? {
        raft.trigger()
            .elect(false)
            .await
            .map_err(|error| replay_error(&error))?;
    } else {
        let members = BTreeMap::from([(node_id, BasicNode::default())]);
        raft.initialize(members).await.map_err(|error| replay_error(&error))?;
    }
    let leading = raft
        .wait(None)
        .state(ServerState::Leader, "lead")
        .await
        .map_err(|error| replay_error(&error))?;
    raft.ensure_linearizable(ReadPolicy::ReadIndex)
        .await
        .map_err(|error| replay_error(&error))?;
    Ok((raft, leading.current_term))
}

/// Commits what is proposed until the queue is closed and empty. An error says why nothing more can be committed.
async fn commit_batches(shared: &Shared, raft: &Raft) -> Result<(), Arc<str>> {
    let mut is_compacting = false;
    loop {
        let idle = if is_compacting { IDLE_TO_COMPACT } else { IDLE };
        match tokio::time::timeout(idle, shared.queue.gather(BATCH_BYTES)).await {
            Ok(Some(departure)) => {
                let has_chunk = departure.iter().any(|(_, piece)| matches!(piece, Piece::Chunk { .. }));
                commit(shared, raft, departure).await?;
                let most = match has_chunk {
                    true => COLLECT_AFTER_CHUNK,
                    false => COLLECT_BETWEEN_BATCHES,
                };
                let writer = &mut shared.replicated.lock().writer;
                writer.collect(most);
                is_compacting = writer.compact(COMPACT_AT_ONCE);
            }
            Ok(None) => return Ok(()),
            Err(_idle) if is_compacting => is_compacting = compact(shared).await,
            Err(_idle) => tidy_up(shared).await?,
        }
        if let Some(reason) = shared.failure.get() {
            return Err(reason);
        }
    }
}

/// Puts one batch into the log, and returns when it has been answered.
async fn commit(shared: &Shared, raft: &Raft, departure: Departure) -> Result<(), Arc<str>> {
    let batch = Batch::encode(&departure);
    shared.meters.batch.observe(departure.len() as u64);
    let only_ends = departure.iter().all(|(_, piece)| matches!(piece, Piece::Abort));
    drop(departure);
    let room = batch.bytes().len() + if only_ends { 0 } else { END_BYTES };
    let reserved = shared.journal.lock().reserve(room);
    match reserved {
        Ok(()) => {}
        Err(JournalError::DiskFull { .. }) => {
            shared.queue.reject(&ProposeError::DiskFull);
            return Ok(());
        }
        Err(JournalError::Poisoned(reason)) => return Err(reason),
    }
    let _ = env::failpoints::hit("shard.logging");
    let (done, answered) = oneshot::channel();
    let queue = shared.queue.clone();
    let callback = Callback::new(move |result| {
        match result {
            Ok(openraft::raft::ClientWriteResponse { data, .. }) => {
                let applied: crate::consensus::Applied = data;
                queue.answer(&applied.verdicts);
            }
            Err(ClientWriteError::ForwardToLeader(_)) => queue.reject(&ProposeError::NotLeader),
            Err(error) => queue.reject(&ProposeError::Unknown {
                reason: error.to_string().into(),
            }),
        }
        // The loop that waits for it may have ended with the shard.
        let _ = done.send(());
    });
    raft.client_write_ff(batch, Some(callback))
        .await
        .map_err(|fatal| Arc::from(fatal.to_string()))?;
    answered.await.map_err(|_| Arc::from("consensus has stopped"))
}

/// What can wait until nobody does.
async fn tidy_up(shared: &Shared) -> Result<(), Arc<str>> {
    shared
        .journal
        .lock()
        .mark()
        .map_err(|error| Arc::from(error.to_string()))?;
    shared.queue.try_again();
    while shared.queue.is_empty() && shared.replicated.lock().writer.collect(COLLECT_WHEN_IDLE) {
        tokio::task::yield_now().await;
    }
    compact(shared).await;
    Ok(())
}

/// Moves what lies in sparse pages until a commit comes. Returns whether there is more to move.
async fn compact(shared: &Shared) -> bool {
    while compact_some(shared) {
        if !shared.queue.is_empty() {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

fn compact_some(shared: &Shared) -> bool {
    let writer = &mut shared.replicated.lock().writer;
    writer.collect(COLLECT_WHEN_IDLE);
    writer.compact(COMPACT_AT_ONCE)
}
