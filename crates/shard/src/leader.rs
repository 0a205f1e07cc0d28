//! The shard's thread: it follows whoever leads, and while this replica leads it brings waiting transactions to their answers, batch after
//! batch.
//!
//! ```text
//!   follow ──elected, own first entry applied──▶ lead: gather, log, apply, answer
//!     ▲                                            │
//!     └──────────── another term ◀─────────────────┘   what waits was not committed; what is in flight is in doubt
//! ```
//!
//! A batch in doubt is settled by the log: once an entry of a later term has been applied, what is not among the outcomes by then never
//! will be.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::{Duration, Instant};

use env::failpoints;
use journal::{JournalError, Role};
use openraft::async_runtime::WatchReceiver;
use openraft::error::ClientWriteError;
use openraft::{ReadPolicy, ServerState, SnapshotPolicy, StepDownPolicy};
use store::Writer;
use tokio::sync::oneshot;
use types::Timestamp;

use crate::admission::take_part_in_time;
use crate::alone::Alone;
use crate::api::{Founding, Member, Timing};
use crate::awake::{Look, NEXT, Watch};
use crate::batch::{Batch, Moment, Piece};
use crate::consensus::{Applied, Callback, Raft, is_alone};
use crate::log::Log;
use crate::machine::Machine;
use crate::membership::end_change;
use crate::peers::{Peers, Ways};
use crate::queue::{Departure, Flight};
use crate::replica::{NO_EPOCH, Shared};
use crate::syncs::Syncs;
use crate::witness::{hand_over, stand_back};
use crate::{OpenError, ProposeError};

/// Write sets gathered into one log entry.
const BATCH_BYTES: usize = 1 << 20;

/// Room that is left in the log for the end of a large transaction, should there be none for the rest of it.
const END_BYTES: usize = 1024;

/// After this long without commits there is time for what nobody waits for.
const IDLE: Duration = Duration::from_millis(50);

/// How long a checkpoint may take to another replica. It goes on there with what has come already.
const CHECKPOINT_SENDING: Duration = Duration::from_secs(600);

/// Old versions that are looked at between two batches, and at a time when idle. Behind a chunk about as many as it makes, or they
/// would pile up.
const COLLECT_BETWEEN_BATCHES: usize = 256;
const COLLECT_AFTER_CHUNK: usize = 2048;
const COLLECT_WHEN_IDLE: usize = 1024;

/// Records looked at in one go to move them out of sparse pages: some hundred microseconds.
const COMPACT_AT_ONCE: usize = 2048;

/// While there is something to move, that begins after as long without commits.
const IDLE_TO_COMPACT: Duration = Duration::from_millis(1);

type Started = Result<Raft, OpenError>;

/// Which replica this is, and how it meets the others.
pub(crate) struct Settings {
    pub node_id: u64,
    pub role: Role,
    pub peers: Arc<dyn Peers>,
    pub founding: Founding,
    pub timing: Timing,
    pub syncs: Syncs,
    /// At which checkpoints are sent at most; 0: as fast as it goes.
    pub bytes_per_second: u64,
    /// Other threads may be started.
    pub has_threads: bool,
}

/// Runs until told to exit. Tells `ready` when the rows are there and, where there is nobody else to lead, commits are taken; and `drained`
/// when there will be no more answers.
pub(crate) async fn run(
    shared: Shared,
    settings: Settings,
    ready: oneshot::Sender<Started>,
    drained: oneshot::Sender<()>,
    exit: oneshot::Receiver<()>,
) {
    let (timing, role) = (settings.timing, settings.role);
    tokio::spawn(shared.contact.clone().beat());
    // Nobody listens only if the opener is gone; the same below.
    let raft = match start(&shared, settings).await {
        Ok(raft) => {
            let _ = ready.send(Ok(raft.clone()));
            raft
        }
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    let waits = match role {
        Role::Witness => Some(tokio::spawn(stand_back(shared.clone(), raft.clone(), timing))),
        Role::Data if shared.standing.takes_part() => None,
        Role::Data => Some(tokio::spawn(take_part_in_time(
            shared.clone(),
            raft.clone(),
            timing.heartbeat,
        ))),
    };
    if let Err(reason) = serve(&shared, &raft, role, timing).await {
        shared.failure.set(reason);
        let first = shared.failure.get().expect("it was just set");
        shared.queue.fail(first);
    }
    shared.lock_epoch.store(NO_EPOCH, Release);
    if let Some(waits) = waits {
        waits.abort();
    }
    // The others need not wait until the last checkpoint is written: they hear of this leader no more, and elect another one.
    raft.runtime_config().heartbeat(false);
    raft.runtime_config().elect(false);
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
}

/// Replays the log's tail. A replica without others takes the lead.
async fn start(shared: &Shared, settings: Settings) -> Result<Raft, OpenError> {
    let replay_error = |error: &dyn std::fmt::Display| {
        let reason = shared
            .failure
            .get()
            .map_or_else(|| error.to_string(), |reason| reason.to_string());
        OpenError::Replay(reason)
    };
    let Settings {
        node_id,
        role,
        peers,
        founding,
        timing,
        syncs,
        bytes_per_second,
        has_threads,
    } = settings;
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let asks = asks_after(timing.election, node_id);
    let config = openraft::Config {
        cluster_name: "shard".into(),
        heartbeat_interval: milliseconds(timing.heartbeat),
        election_timeout_min: asks.start,
        election_timeout_max: asks.end,
        snapshot_policy: SnapshotPolicy::Never,
        // The housekeeper says what goes.
        max_in_snapshot_log_to_keep: u64::MAX,
        // Who lacks entries that are in the log gets them, however many.
        replication_lag_threshold: u64::MAX,
        install_snapshot_timeout: milliseconds(CHECKPOINT_SENDING),
        // Each start leads in a term of its own: locks of the start before are good in none.
        enable_leader_restore: Some(false),
        // From one try to reach a lost replica to the next. Its connection tells at once that it is lost, so a try costs little.
        backoff: format!("{0}ms {0}ms", milliseconds(timing.heartbeat)),
        // Where a replica has less than it once said, its disk lies, or is an old copy. The leader sends it again what it lacks, and says so;
        // the library's default is to end the leader.
        allow_log_reversion: Some(true),
        // Who was cut off for a while does not depose a leader that the others hear.
        enable_pre_vote: Some(true),
        // Whoever leads, and has been taken out, hands its lead over: not before its lease is over.
        removed_leader_step_down: StepDownPolicy::After(milliseconds(timing.election)),
        ..openraft::Config::default()
    };
    let config = Arc::new(config.validate().expect("heartbeats are more frequent than elections"));
    let (journal, failure, meters) = (shared.journal.clone(), shared.failure.clone(), shared.meters.clone());
    let ways = Ways {
        peers,
        bytes_per_second,
        progress: shared.progress.clone(),
        replicated: shared.replicated.clone(),
        has_threads,
    };
    let machine = Machine::new(shared, has_threads);
    let alone = Alone::new(node_id, shared.handed.clone(), shared.queue.clone(), machine.clone());
    let log = Log::new(journal, failure, meters, syncs, alone);
    let raft = Raft::new(node_id, config, ways, log, machine)
        .await
        .map_err(|error| replay_error(&error))?;
    let takes_part = shared.standing.takes_part();
    if role == Role::Witness || !takes_part {
        // When it may is looked at all the time, once it is open.
        raft.runtime_config().elect(false);
    }
    let is_new = !raft.is_initialized().await.map_err(|error| replay_error(&error))?;
    let founders = match founding {
        Founding::Alone => BTreeMap::from([(node_id, Member::default())]),
        Founding::Together(members) => members.into_iter().map(|(id, member)| (id.into(), member)).collect(),
        Founding::Joins => BTreeMap::new(),
    };
    if is_new && !founders.is_empty() {
        raft.initialize(founders).await.map_err(|error| replay_error(&error))?;
    }
    let alone = is_alone(&raft);
    shared.is_alone.store(alone, Relaxed);
    if alone && takes_part && role == Role::Data {
        if !is_new {
            raft.trigger()
                .elect(false)
                .await
                .map_err(|error| replay_error(&error))?;
        }
        raft.wait(None)
            .state(ServerState::Leader, "lead")
            .await
            .map_err(|error| replay_error(&error))?;
        take_lead(shared, &raft).await.map_err(|error| replay_error(&error))?;
    }
    Ok(raft)
}

/// After how many milliseconds a replica asks to be elected, once it is free to vote for another leader, which takes as long as the last of these.
///
/// Replicas of five numbers in a row ask at different times. Where two asked at once, each would have its own vote, and both would have to wait
/// for the next time.
fn asks_after(election: Duration, node_id: u64) -> Range<u64> {
    let micros = u64::try_from(election.as_micros()).unwrap_or(u64::MAX / 1000);
    let milliseconds = |percent| micros * percent / 100_000;
    let first = 140 + 12 * (node_id % 5);
    let begin = milliseconds(first);
    begin..milliseconds(first + 4).max(begin + 1)
}

/// Why the consensus library has ended.
fn end_of(raft: &Raft) -> Arc<str> {
    let metrics = raft.metrics();
    let metrics = metrics.borrow_watched();
    match &metrics.running_state {
        Err(fatal) => format!("consensus has stopped: {fatal}").into(),
        Ok(()) => "consensus has stopped".into(),
    }
}

/// In which term this replica leads, if it does.
pub(crate) fn leading_term(raft: &Raft) -> Option<u64> {
    let metrics = raft.server_metrics();
    let metrics = metrics.borrow_watched();
    metrics.state.is_leader().then_some(metrics.vote.leader_id.term)
}

/// A new leader opens its lock table once it has applied everything of the terms before, and its own first entry.
async fn take_lead(shared: &Shared, raft: &Raft) -> Result<u64, String> {
    let term = leading_term(raft).ok_or("another replica leads")?;
    if !failpoints::goes_wrong("lead.early") {
        let confirmed = raft.ensure_linearizable(ReadPolicy::ReadIndex).await;
        confirmed.map_err(|error| error.to_string())?;
    }
    if leading_term(raft) != Some(term) {
        return Err("another replica leads".into());
    }
    // What was locked here while somebody else led was locked by nobody's leave.
    if !failpoints::goes_wrong("lead.locks") {
        shared.locks.begin_epoch();
    }
    let store = shared.replicated.lock().writer.store().clone();
    for table in store.tables() {
        table.forget_row_ids();
    }
    let taken = shared.prepared.take_all(term, &store).await;
    taken.map_err(|error| {
        shared.failure.set(error.to_string());
        error.to_string()
    })?;
    if leading_term(raft) != Some(term) {
        return Err("another replica leads".into());
    }
    shared.lock_epoch.store(term, Release);
    shared.queue.lead();
    Ok(term)
}

/// Follows and leads until the queue is closed. An error says why nothing more can be committed.
async fn serve(shared: &Shared, raft: &Raft, role: Role, timing: Timing) -> Result<(), Arc<str>> {
    loop {
        let Some(term) = follow(shared, raft, role, timing).await? else {
            return Ok(());
        };
        tracing::info!(term, "this replica leads the shard");
        tokio::spawn(end_change(raft.clone()));
        let closed = commit_batches(shared, raft, term, timing).await;
        shared.lock_epoch.store(NO_EPOCH, Release);
        shared.lease.end();
        if closed? {
            return Ok(());
        }
        tracing::info!(term, "this replica leads the shard no more");
        if !failpoints::goes_wrong("lead.locks") {
            shared.locks.begin_epoch();
        }
        shared.prepared.forget();
        shared.queue.follow();
    }
}

/// Until this replica leads, and in which term. `None`: the queue is closed. A witness that is elected goes on following.
async fn follow(shared: &Shared, raft: &Raft, role: Role, timing: Timing) -> Result<Option<u64>, Arc<str>> {
    // Where there is nobody else, it leads since it was opened.
    let epoch = shared.lock_epoch.load(std::sync::atomic::Ordering::Acquire);
    if leading_term(raft) == Some(epoch) {
        return Ok(Some(epoch));
    }
    let mut changes = raft.server_metrics();
    shared.is_alone.store(false, Relaxed);
    loop {
        if shared.queue.is_closed() {
            shared.queue.follow();
            return Ok(None);
        }
        match role {
            Role::Data => {
                if leading_term(raft).is_some()
                    && let Ok(term) = take_lead(shared, raft).await
                {
                    return Ok(Some(term));
                }
            }
            Role::Witness if failpoints::goes_wrong("witness.leads") => {
                if leading_term(raft).is_some()
                    && let Ok(term) = take_lead(shared, raft).await
                {
                    return Ok(Some(term));
                }
            }
            Role::Witness => hand_over(shared, raft, timing).await,
        }
        let changed = tokio::time::timeout(IDLE, changes.changed()).await;
        if let Ok(Err(_ended)) = &changed {
            // Most often the log has said why before.
            return Err(shared.failure.get().unwrap_or_else(|| end_of(raft)));
        }
        // Votes and heartbeats do not wait for what is applied on another thread.
        if let Some(mut replicated) = shared.replicated.try_lock() {
            collect(shared, &mut replicated.writer, COLLECT_BETWEEN_BATCHES);
            replicated.writer.compact(COMPACT_AT_ONCE);
        } else {
            continue;
        }
        if changed.is_err() {
            tidy_up(shared).await?;
        }
        if let Some(reason) = shared.failure.get() {
            return Err(reason);
        }
    }
}

/// Commits what is proposed, until the queue is closed and empty (true) or the term is over (false). An error says why nothing more can be
/// committed.
async fn commit_batches(shared: &Shared, raft: &Raft, term: u64, timing: Timing) -> Result<bool, Arc<str>> {
    let mut is_compacting = false;
    loop {
        let idle = if is_compacting { IDLE_TO_COMPACT } else { IDLE };
        let idle_since = (shared.is_alone.load(Relaxed) && shared.queue.is_empty()).then(Instant::now);
        if idle_since.is_some() && shared.queue.awake.is_worth_it() {
            stay_awake(shared).await;
        }
        match tokio::time::timeout(idle, shared.queue.gather(BATCH_BYTES)).await {
            Ok(Some((flight, departure))) => {
                let is_close = idle_since.is_some_and(|since| since.elapsed() < NEXT);
                shared.queue.awake.note(is_close && departure.len() == 1);
                let has_chunk = departure.iter().any(|(_, piece)| matches!(piece, Piece::Chunk { .. }));
                commit(shared, raft, term, timing, flight, departure).await?;
                let most = match has_chunk {
                    true => COLLECT_AFTER_CHUNK,
                    false => COLLECT_BETWEEN_BATCHES,
                };
                // Where the batch is in doubt it may be about to be applied, on another thread.
                is_compacting = shared.replicated.try_lock().is_some_and(|mut replicated| {
                    collect(shared, &mut replicated.writer, most);
                    replicated.writer.compact(COMPACT_AT_ONCE)
                });
            }
            Ok(None) => return Ok(true),
            Err(_idle) if is_compacting => is_compacting = compact(shared).await,
            Err(_idle) => tidy_up(shared).await?,
        }
        if let Some(reason) = shared.failure.get() {
            return Err(reason);
        }
        if leading_term(raft) != Some(term) {
            return Ok(false);
        }
    }
}

/// Waits for the next commit awake, for a little while.
async fn stay_awake(shared: &Shared) {
    let awake = &shared.queue.awake;
    let mut watch = Watch::new(NEXT);
    while shared.queue.is_empty() {
        match watch.look() {
            // Other threads first, then this one's other tasks.
            Look::GoOn => std::thread::yield_now(),
            Look::Over => return awake.note(false),
            Look::Disturbed => return awake.waste(),
        }
        tokio::task::yield_now().await;
    }
}

/// Puts one batch into the log, and returns when it has been answered, or is in doubt.
async fn commit(
    shared: &Shared,
    raft: &Raft,
    term: u64,
    timing: Timing,
    flight: Flight,
    departure: Departure,
) -> Result<(), Arc<str>> {
    let batch = Batch::encode(moment(shared), &departure);
    shared.meters.batch.observe(departure.len() as u64);
    let only_ends = departure.iter().all(|(_, piece)| matches!(piece, Piece::Abort));
    drop(departure);
    let room = batch.bytes().len() + if only_ends { 0 } else { END_BYTES };
    match shared.reserve(room) {
        Ok(()) => {}
        Err(JournalError::DiskFull { .. }) => {
            shared.queue.reject(flight, &ProposeError::DiskFull);
            return Ok(());
        }
        Err(JournalError::Poisoned(reason)) => return Err(reason),
    }
    let _ = failpoints::hit("shard.logging");
    let (done, mut answered) = oneshot::channel();
    let (queue, replicated, clock) = (shared.queue.clone(), shared.replicated.clone(), shared.clock.clone());
    let doubt_until = move || clock.monotonic() + timing.commit;
    let callback = Callback::new({
        let doubt_until = doubt_until.clone();
        move |result| {
            match result {
                Ok(openraft::raft::ClientWriteResponse { data, .. }) => {
                    let applied: Applied = data;
                    if !applied.is_answered {
                        let _ = failpoints::hit("commit.applied");
                        if !queue.answer(flight, &applied.verdicts) {
                            queue.settle_doubts(term, &replicated.lock().outcomes);
                        }
                    }
                }
                // Before it was appended.
                Err(ClientWriteError::ForwardToLeader(_)) => queue.reject(flight, &ProposeError::NotLeader),
                Err(_) => queue.doubt(flight, term, doubt_until()),
            }
            // The loop that waits for it may have ended with the shard.
            let _ = done.send(());
        }
    });
    let alone = is_alone(raft);
    shared.is_alone.store(alone, Relaxed);
    if alone {
        shared.handed.put(flight, &batch);
    }
    raft.client_write_ff(batch, Some(callback))
        .await
        .map_err(|fatal| Arc::from(fatal.to_string()))?;
    if alone {
        return answered.await.map_err(|_| Arc::from("consensus has stopped"));
    }
    let late = doubt_until();
    loop {
        match tokio::time::timeout(IDLE, &mut answered).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(_)) => return Err("consensus has stopped".into()),
            Err(_) if leading_term(raft) != Some(term) || shared.clock.monotonic() >= late => {
                shared.queue.doubt(flight, term, late);
                return Ok(());
            }
            Err(_) => {}
        }
    }
}

/// Of a batch that is made now: timestamps keep to the wall clock as long as it goes forward.
pub(crate) fn moment(shared: &Shared) -> Moment {
    let wall_ms = u64::try_from(shared.clock.wall().as_millis()).unwrap_or(0);
    let newest = shared.replicated.lock().newest;
    Moment {
        wall_ms,
        base: Timestamp::at_wall_ms(wall_ms).max(newest.next()),
    }
}

/// What can wait until nobody does.
async fn tidy_up(shared: &Shared) -> Result<(), Arc<str>> {
    shared
        .journal
        .lock()
        .mark()
        .map_err(|error| Arc::from(error.to_string()))?;
    shared.queue.try_again();
    shared.queue.give_up_doubts(shared.clock.monotonic());
    while shared.queue.is_empty() && collect(shared, &mut shared.replicated.lock().writer, COLLECT_WHEN_IDLE) {
        tokio::task::yield_now().await;
    }
    compact(shared).await;
    Ok(())
}

/// Frees what nobody reads any more, nor may read as of a moment within the window.
fn collect(shared: &Shared, writer: &mut Writer, most: usize) -> bool {
    let window = writer.store().past().window();
    writer.keep_from(match window.is_zero() {
        true => Timestamp::MAX,
        false => {
            let begin = shared.clock.wall().saturating_sub(window);
            Timestamp::at_wall_ms(u64::try_from(begin.as_millis()).unwrap_or(0))
        }
    });
    writer.collect(most)
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
    collect(shared, writer, COLLECT_WHEN_IDLE);
    writer.compact(COMPACT_AT_ONCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_five_replicas_ask_at_once() {
        for election in [100, 300, 1000].map(Duration::from_millis) {
            let mut asks: Vec<Range<u64>> = (7..12).map(|node| asks_after(election, node)).collect();
            asks.sort_by_key(|range| range.start);
            for range in &asks {
                assert!(
                    u128::from(range.start) > election.as_millis() && u128::from(range.end) < 2 * election.as_millis()
                );
            }
            let apart = asks.windows(2).all(|pair| pair[1].start >= pair[0].end + 8);
            assert!(apart, "{asks:?}");
        }
        assert!(!asks_after(Duration::from_millis(1), 3).is_empty());
    }
}
