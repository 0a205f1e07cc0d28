//! One replica's work, and what it has in common.
//!
//! ```text
//!   sessions ──propose──▶ Queue ──gather──▶ shard thread: log → consensus → apply → answer
//!                                                │    ▲
//!                                                ▼    │
//!                           log thread: sync, while the others write, too
//!                           housekeeper: spare segments, checkpoints
//! ```
//!
//! The shard thread runs everything a commit waits for, one batch after the other. A replica without others syncs there, too, so that a
//! commit costs two hand-overs: to the shard thread, and back to the session. Beside it, the thread for calls waits for what other nodes say to this one's sessions:
//! it never waits for a disk.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use env::{Clock, DirLock, Feature, Level, LockError, failpoints};
use futures_util::future::Either;
use journal::checkpoint::CheckpointDir;
use journal::{Admission, EntryId, Identity, Journal, JournalError, Role};
use openraft::async_runtime::WatchReceiver;
use parking_lot::Mutex;
use store::{LockTable, Store};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use types::{TableId, Timestamp};

use crate::admission::Standing;
use crate::alone::Handed;
use crate::api::{CheckpointError, Config, Founding, Member, OpenError, Outcome, ProposeError, Status, Transaction};
use crate::arrivals::Arrivals;
use crate::awake::Awake;
use crate::backup::{Backup, BackupError, Source};
use crate::calls::{Freshness, Guest, Home, Remote};
use crate::consensus::{Raft, entry_id};
use crate::contact::Contact;
use crate::failure::Failure;
use crate::housekeeper::{self, Order};
use crate::ids::{Issuer, Issuing, Ticket, TransactionId};
use crate::lease::Lease;
use crate::levels::Directory;
use crate::machine::Replicated;
use crate::membership::Admitted;
use crate::message::{Request, Response};
use crate::meters::Meters;
use crate::outcomes::{Fate, Known};
use crate::pieces::Assembly;
use crate::prepared::PreparedLocks;
use crate::progress::Progress;
use crate::queue::{Entrant, Queue};
use crate::syncs::Syncs;
use crate::visible::Visible;
use crate::witness::{Retention, leader_with_rows};
use crate::workers::Worker;
use crate::{MembershipError, checkpoint, leader, levels, membership, reception};

/// No entry is ever of this term.
pub(crate) const NO_EPOCH: u64 = u64::MAX;

/// What its work has in common.
#[derive(Clone)]
pub(crate) struct Shared {
    pub queue: Arc<Queue>,
    /// Locked for as long as a write takes, or a sync that the shard's thread waits for: by those that write alone.
    pub journal: Arc<Mutex<Journal>>,
    /// For everybody else.
    pub log: journal::Reader,
    pub replicated: Arc<Mutex<Replicated>>,
    pub checkpoints: CheckpointDir,
    pub failure: Failure,
    pub meters: Arc<Meters>,
    pub clock: Arc<dyn Clock>,
    /// The term in which this replica leads and gives locks, or [`NO_EPOCH`].
    pub lock_epoch: Arc<AtomicU64>,
    pub locks: Arc<LockTable>,
    pub prepared: Arc<PreparedLocks>,
    /// There are no other voters.
    pub is_alone: Arc<AtomicBool>,
    /// The replica is going away: what takes long is given up.
    pub stopping: Arc<AtomicBool>,
    pub lease: Arc<Lease>,
    pub contact: Arc<Contact>,
    /// The last entries did not find room.
    pub is_full: Arc<AtomicBool>,
    pub visible: Arc<Visible>,
    pub progress: Arc<Progress>,
    pub directory: Arc<Directory>,
    pub handed: Arc<Handed>,
    pub standing: Arc<Standing>,
    pub pieces: Arc<Assembly>,
}

impl Shared {
    /// Sets space in the log aside, and notes whether there is any.
    pub fn reserve(&self, bytes: usize) -> Result<(), JournalError> {
        let reserved = self.journal.lock().reserve(bytes);
        let is_full = matches!(reserved, Err(JournalError::DiskFull { .. }));
        self.is_full.store(is_full, Ordering::Relaxed);
        reserved
    }
}

pub(crate) struct Replica {
    shared: Shared,
    store: Arc<Store>,
    raft: Raft,
    transaction_bytes: u64,
    /// The observer's table.
    observed: Option<TableId>,
    /// Where `raft` lives.
    runtime: Handle,
    arrivals: Arc<Arrivals>,
    issuing: Arc<Issuing>,
    home: Arc<Home>,
    remote: Arc<Remote>,
    identity: Identity,
    orders: mpsc::UnboundedSender<Order>,
    work: Mutex<Option<Work>>,
}

/// What goes on until the replica stops.
struct Work {
    leader: Worker,
    /// Ends with the leader's.
    log: Worker,
    /// Told when everything that was proposed has been answered.
    drained: oneshot::Receiver<()>,
    housekeeper: Worker,
    calls: Worker,
    /// The leader's work, and that of the calls, end when these are dropped.
    exit: oneshot::Sender<()>,
    exit_calls: oneshot::Sender<()>,
    /// Let go when all of it has ended.
    lock: DirLock,
}

impl Replica {
    pub async fn open(config: Config) -> Result<Replica, OpenError> {
        let lock = lock(&config)?;
        let identity = identity_of(&config)?;
        let has_rows = match &config.founding {
            Founding::Alone => config.role == Role::Data,
            Founding::Together(members) => members.values().any(|member| member.role == Role::Data),
            Founding::Joins => true,
        };
        if identity.is_none() && !has_rows {
            return Err(OpenError::LoneWitness);
        }
        let directory = Directory::new(&config.env, &config.dir, config.speaks, identity);
        if let Some(identity) = identity {
            directory.check(identity.level)?;
        }
        let checkpoints = CheckpointDir::open(&config.env, &config.dir.join("checkpoint"))?;
        let mut journal = Journal::open(&config.env, &log_dir(&config), config.journal_options())?;
        checkpoints.settle_incoming(journal.reader().purged().map(|id| id.index))?;
        let (store, writer) = Store::new(config.memory.clone());
        store.past().set_window(config.past_window);
        let mut replicated = Replicated::new(config.role, writer, config.observer.clone());
        if let Some(newest) = checkpoints.newest()? {
            checkpoint::load(&newest, &mut replicated)?;
            directory.check(replicated.level)?;
            replicated.restore_observer().map_err(OpenError::Replay)?;
        }
        check_log_fits(&config.dir, &journal, &replicated)?;
        let is_new = identity.is_none() && journal.reader().last().is_none();
        if is_new && matches!(config.founding, Founding::Joins) {
            Admission::ask(&config.env, &config.dir)?;
        }
        let standing = Standing::read(&config.env, &config.dir, &mut journal)?;

        let spares = journal.spares();
        let meters = Meters::new(config.env.clock.clone());
        let shared = Shared {
            log: journal.reader(),
            queue: Arc::new(Queue::new(
                config.queue_bytes,
                meters.clone(),
                Awake::new(config.workers.are_own()),
            )),
            journal: Arc::new(Mutex::new(journal)),
            replicated: Arc::new(Mutex::new(replicated)),
            checkpoints: checkpoints.clone(),
            failure: Failure::default(),
            meters,
            clock: config.env.clock.clone(),
            lock_epoch: Arc::new(AtomicU64::new(NO_EPOCH)),
            locks: store.locks().clone(),
            prepared: Arc::new(PreparedLocks::new(store.locks().clone())),
            is_alone: Arc::new(AtomicBool::new(true)),
            stopping: Arc::default(),
            lease: Arc::new(Lease::new(config.timing.election)),
            contact: Arc::new(Contact::new(config.timing.election)),
            is_full: Arc::default(),
            visible: Arc::default(),
            progress: Arc::default(),
            directory: Arc::new(directory),
            handed: Arc::default(),
            standing: Arc::new(standing),
            pieces: Arc::default(),
        };
        let workers = &config.workers;
        let not_started = |error: io::Error| OpenError::Replay(format!("cannot start a thread of the shard: {error}"));
        let (syncs, syncing) = Syncs::new(&shared);
        let (log, _) = workers.start("log", &shared, syncing).map_err(not_started)?;
        let (exit, exits) = oneshot::channel();
        let (ready, started) = oneshot::channel();
        let (drained_sender, drained) = oneshot::channel();
        let settings = leader::Settings {
            node_id: config.node_id.into(),
            role: config.role,
            peers: config.peers.clone(),
            founding: config.founding.clone(),
            timing: config.timing,
            syncs,
            bytes_per_second: config.checkpoint_bytes_per_second,
            has_threads: workers.are_own(),
        };
        let (exit_calls, calls_exit) = oneshot::channel::<()>();
        let waiting = async move { drop(calls_exit.await) };
        let (calls, calls_runtime) = workers.start("calls", &shared, waiting).map_err(not_started)?;
        let leading = leader::run(shared.clone(), settings, ready, drained_sender, exits);
        let (leader, runtime) = workers.start("shard", &shared, leading).map_err(not_started)?;
        let started = started.await;
        let raft = match started.unwrap_or_else(|_| Err(OpenError::Replay("the shard's thread died".into()))) {
            Ok(raft) => raft,
            Err(error) => {
                // It has nothing left to do but to end.
                leader.join();
                log.join();
                shared.directory.check(shared.replicated.lock().level)?;
                return Err(error);
            }
        };
        let queue = shared.queue.clone();
        let not_opened = |exit, leader: Worker, log: Worker| {
            queue.close("the shard was not opened".into());
            drop::<oneshot::Sender<()>>(exit);
            leader.join();
            log.join();
        };
        let identity = match start_life(&config, &shared) {
            Ok(identity) => identity,
            Err(error) => {
                not_opened(exit, leader, log);
                return Err(error.into());
            }
        };
        let issuer = Issuer {
            node: identity.node,
            incarnation: identity.incarnation,
        };
        let observed = config.observer.as_ref().map(|observer| observer.table());
        let arrivals = Arc::new(Arrivals {
            checkpoints: checkpoints.clone(),
            role: config.role,
            store: store.clone(),
            observed,
            raft: raft.clone(),
            runtime: runtime.clone(),
            has_threads: workers.are_own(),
            arrival: Default::default(),
        });
        let home = Home::new(
            shared.clone(),
            store.clone(),
            raft.clone(),
            calls_runtime.clone(),
            observed,
            config.transaction_bytes,
        );
        let issuing = Issuing::new(issuer);
        let (peers, patience) = (config.peers.clone(), config.timing.commit);
        let remote = Remote::new(home.clone(), peers, issuer, issuing.clone(), patience);
        calls_runtime.spawn(remote.clone().keep_alive());
        calls_runtime.spawn(remote.clone().tell_waits());
        let (orders, received) = mpsc::unbounded_channel();
        let keeper = housekeeper::Housekeeper {
            env: config.env.clone(),
            shared: shared.clone(),
            checkpoints,
            spares,
            raft: raft.clone(),
            compacts: workers.are_own(),
            checkpoint_bytes: config.checkpoint_bytes,
            log_keep_bytes: config.log_keep_bytes,
            retention: (config.role == Role::Witness)
                .then(|| Retention::new(config.peers.clone(), config.checkpoint_bytes, config.log_keep_bytes)),
            bytes_per_second: config.checkpoint_bytes_per_second,
        };
        let keeping = keeper.run(received);
        let housekeeper = match workers.start("housekeeper", &shared, keeping) {
            Ok((housekeeper, _)) => housekeeper,
            Err(error) => {
                not_opened(exit, leader, log);
                return Err(not_started(error));
            }
        };
        Ok(Replica {
            shared,
            store,
            raft,
            transaction_bytes: config.transaction_bytes,
            observed,
            runtime,
            arrivals,
            issuing,
            home,
            remote,
            identity,
            orders,
            work: Mutex::new(Some(Work {
                leader,
                log,
                drained,
                housekeeper,
                calls,
                exit,
                exit_calls,
                lock,
            })),
        })
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub fn meters(&self) -> &Meters {
        &self.shared.meters
    }

    pub fn begin(&self) -> Ticket {
        self.issuing.issue()
    }

    pub fn lock_epoch(&self) -> u64 {
        self.shared.lock_epoch.load(Ordering::Acquire)
    }

    pub fn identity(&self) -> Identity {
        self.identity
    }

    pub fn serve(&self, from: Issuer, call: &[u8]) -> impl Future<Output = Vec<u8>> + Send + use<> {
        self.home.answer(from, call)
    }

    #[inline]
    pub fn freshness(&self) -> Option<Freshness> {
        self.remote.freshness()
    }

    pub fn freshness_within(&self, bound: Duration) -> Option<Freshness> {
        self.remote.freshness_within(bound)
    }

    pub fn staleness(&self) -> Option<Duration> {
        self.remote.staleness()
    }

    pub fn wall(&self) -> Duration {
        self.shared.clock.wall()
    }

    pub fn guest(&self) -> Option<Guest> {
        // What has stopped says so at the commit.
        let is_elsewhere = self.lock_epoch() == NO_EPOCH && !self.remote.has_stopped();
        is_elsewhere.then(|| self.remote.guest())
    }

    pub fn receive(&self, request: &[u8]) -> impl Future<Output = Vec<u8>> + Send + use<> {
        let (raft, request) = (self.raft.clone(), Request::decode(request));
        let arrivals = self.arrivals.clone();
        let may_vote = self.shared.lease.may_vote();
        let shared = self.shared.clone();
        let runtime = self.runtime.clone();
        async move {
            let response = match request {
                // What consensus has ended for says nothing more.
                Ok(_) if let Some(reason) = shared.failure.get() => Response::Refused(reason.to_string()),
                Ok(_) if shared.stopping.load(Ordering::Relaxed) => Response::Refused("the node is stopping".into()),
                Ok(Request::Vote(_)) if !may_vote => {
                    Response::Refused("this replica has just started, and gives no votes yet".into())
                }
                Ok(Request::Vote(_) | Request::PreVote(_) | Request::Transfer(_)) if !shared.standing.takes_part() => {
                    Response::Refused("this replica is new, and takes no part in elections yet".into())
                }
                Ok(Request::Part(part)) => arrivals.take(part).await,
                Ok(Request::Piece(piece)) => {
                    let taking = runtime.spawn(async move { reception::take_piece(&raft, &shared, piece).await });
                    let stopping = |_| Response::Refused("the node is stopping".into());
                    taking.await.unwrap_or_else(stopping)
                }
                Ok(Request::Append(append)) if !append.entries.is_empty() => {
                    shared.pieces.forget();
                    // On the shard's thread, which is the only one to wait for the log.
                    let appending = runtime.spawn(async move { reception::append(&raft, &shared, append).await });
                    let stopping = |_| Response::Refused("the node is stopping".into());
                    appending.await.unwrap_or_else(stopping)
                }
                Ok(request) => reception::answer(&raft, &shared, request).await,
                Err(garbled) => Response::Refused(garbled.to_string()),
            };
            response.encode()
        }
    }

    pub fn replicas(&self) -> Vec<membership::Replica> {
        membership::replicas(&self.shared.replicated.lock())
    }

    pub fn newest_incarnation(&self, node: u32) -> Option<u32> {
        self.shared.replicated.lock().outcomes.newest_incarnation(node)
    }

    pub fn level(&self) -> Level {
        self.shared.replicated.lock().level
    }

    pub fn raise(&self, level: Level) -> Changing {
        let (raft, shared, role) = (self.raft.clone(), self.shared.clone(), self.identity.role);
        Changing(self.runtime.spawn(async move {
            may_lead(role)?;
            levels::raise(&raft, &shared, level).await
        }))
    }

    pub fn admission(&self) -> Admission {
        self.shared.standing.admission()
    }

    pub fn applied(&self) -> Option<EntryId> {
        self.shared.replicated.lock().applied.as_ref().map(entry_id)
    }

    pub fn is_taken_in(&self, by: EntryId) -> Result<(), OpenError> {
        Ok(self.shared.standing.is_taken_in(by)?)
    }

    pub fn admit(&self, node: u32, mut member: Member, is_new: bool) -> Changing<Admitted> {
        // Not all can read it yet.
        let level = self.level();
        member.levels = member.levels.filter(|_| level.has(Feature::LevelsOnDisk));
        let (raft, known, role) = (self.raft.clone(), self.replicas(), self.identity.role);
        Changing(self.runtime.spawn(async move {
            may_lead(role)?;
            membership::admit(&raft, &known, level, node, member, is_new).await
        }))
    }

    pub fn dismiss(&self, node: u32) -> Changing {
        let (raft, known, role) = (self.raft.clone(), self.replicas(), self.identity.role);
        Changing(self.runtime.spawn(async move {
            may_lead(role)?;
            membership::dismiss(&raft, &known, node).await
        }))
    }

    pub fn move_leader(&self, to: u32) -> Result<(), MembershipError> {
        let raft = self.raft.clone();
        membership::check_heir(&raft, &self.replicas(), to)?;
        let shared = self.shared.clone();
        self.runtime.spawn(async move {
            if !membership::heir_has_nearly_all(&raft, to).await {
                tracing::warn!(
                    node = to,
                    "it lacks too much of the log, or says nothing: the lead stays here"
                );
                return;
            }
            // From here on it answers nothing without asking the others. It may be about to lead, and has no locks to give yet.
            let next = || raft.metrics().borrow_watched().current_term + 1;
            let offered = leader::leading_term(&raft).unwrap_or_else(next);
            if shared.lock_epoch.load(Ordering::Acquire) != NO_EPOCH || !failpoints::goes_wrong("lease.term") {
                shared.lease.offer(offered);
            }
            // A replica that is going away leads no more, either.
            let _ = raft.trigger().transfer_leader(to.into()).await;
        });
        Ok(())
    }

    pub fn propose(
        &self,
        transaction: Transaction,
    ) -> impl Future<Output = Result<Timestamp, ProposeError>> + Send + use<> {
        let bytes = transaction.writes.len() as u64;
        let limit = self.transaction_bytes;
        if bytes > limit {
            return Either::Left(std::future::ready(Err(ProposeError::TooLarge { bytes, limit })));
        }
        // What the log holds can be read by everybody who has this version.
        match Entrant::new(transaction, self.issuing.acknowledged(), self.observed) {
            Ok(entrant) => Either::Right(self.shared.queue.propose(entrant)),
            Err(error) => Either::Left(std::future::ready(Err(error.into()))),
        }
    }

    pub fn propose_holding<H: Send + 'static>(
        &self,
        transaction: Transaction,
        held: H,
    ) -> impl Future<Output = (Result<Timestamp, ProposeError>, Option<H>)> + Send + use<H> {
        let (queue, id) = (self.shared.queue.clone(), transaction.id);
        let proposal = self.propose(transaction);
        async move {
            let answer = proposal.await;
            let held = queue.keep_if_unknown(id, &answer, held);
            (answer, held)
        }
    }

    pub fn outcome(&self, id: TransactionId) -> Outcome {
        // In this order: what is in flight now may be applied a moment later, not the other way round.
        if self.shared.queue.holds(id) {
            return Outcome::Pending;
        }
        let replicated = self.shared.replicated.lock();
        match replicated.outcomes.get(id) {
            Known::Fate(Fate::Committed(timestamp)) => Outcome::Committed(timestamp),
            Known::Fate(Fate::Aborted) => Outcome::Aborted,
            Known::Forgotten => Outcome::Forgotten,
            Known::Nothing => Outcome::NotCommitted,
        }
    }

    pub fn outcomes_digest(&self) -> (Option<u64>, u64) {
        let replicated = self.shared.replicated.lock();
        let mut hasher = DefaultHasher::new();
        replicated.outcomes.hash(&mut hasher);
        (replicated.applied.map(|id| id.index), hasher.finish())
    }

    pub fn stopped(&self) -> Option<Arc<str>> {
        self.shared.failure.get()
    }

    pub fn status(&self) -> Status {
        let metrics = self.raft.metrics().borrow_watched().clone();
        let stopped = self.stopped();
        let (newest_commit, applied_index, checkpoint_index) = {
            let replicated = self.shared.replicated.lock();
            let checkpoint = replicated.checkpoint.as_ref().and_then(|meta| meta.last_log_id);
            (
                replicated.newest,
                replicated.applied.map(|id| id.index),
                checkpoint.map(|id| id.index),
            )
        };
        let log = &self.shared.log;
        Status {
            is_leader: stopped.is_none() && self.lock_epoch() != NO_EPOCH,
            disk_is_full: self.shared.is_full.load(Ordering::Relaxed),
            is_in_touch: self.shared.contact.is_kept(&self.raft),
            leader: leader_with_rows(metrics.current_leader, &metrics.membership_config),
            term: metrics.current_term,
            last_log_index: metrics.last_log_index,
            applied_index,
            checkpoint_index,
            newest_commit,
            log_bytes: log.bytes_after(checkpoint_index),
            log_kept_bytes: log.bytes_after(None),
            purged_index: log.purged().map(|id| id.index),
            guests: self.home.guests(),
            calls: self.shared.meters.calls.load(Ordering::Relaxed),
            stopped,
        }
    }

    pub fn checkpoint(&self) -> impl Future<Output = Result<(), CheckpointError>> + Send + use<> {
        let (reply, answer) = oneshot::channel();
        let ordered = self.orders.send(Order::Checkpoint(reply));
        async move {
            let gone = || CheckpointError {
                reason: "the shard is shut down".into(),
            };
            ordered.map_err(|_| gone())?;
            answer.await.map_err(|_| gone())?
        }
    }

    pub async fn back_up(&self, earlier: Option<u64>) -> Result<Backup, BackupError> {
        if let Some(earlier) = earlier
            && let Ok(backup) = self.source().open()
            && backup.head().after.index == earlier
        {
            return Ok(backup);
        }
        self.checkpoint().await?;
        self.source().open()
    }

    pub fn source(&self) -> Source<'_> {
        Source {
            identity: self.identity,
            checkpoints: &self.shared.checkpoints,
            log: self.shared.log.clone(),
            replicated: &self.shared.replicated,
            clock: &self.shared.clock,
        }
    }

    pub async fn shutdown(&self) {
        let Some(mut work) = self.work.lock().take() else {
            return;
        };
        self.shared.queue.close("the shard is shutting down".into());
        // The answer only says when; a leader that died has drained, too.
        let _ = (&mut work.drained).await;
        if self.shared.failure.get().is_none()
            && let Err(error) = self.checkpoint().await
        {
            tracing::warn!("{error}; the log will be replayed at the next start");
        }
        self.tell_to_end();
        work.housekeeper.ended().await;
        drop(work.exit);
        work.leader.ended().await;
        work.log.ended().await;
        drop(work.exit_calls);
        work.calls.ended().await;
        drop(work.lock);
    }

    fn tell_to_end(&self) {
        self.shared.queue.close("the shard is shutting down".into());
        self.shared.stopping.store(true, Ordering::Relaxed);
        // Whoever is gone need not be told.
        let _ = self.orders.send(Order::Stop);
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        if let Some(work) = self.work.get_mut().take() {
            self.tell_to_end();
            work.housekeeper.join();
            drop(work.exit);
            work.leader.join();
            work.log.join();
            drop(work.exit_calls);
            work.calls.join();
            drop(work.lock);
        }
    }
}

/// A change of the membership on its way; it goes on when this is dropped.
pub(crate) struct Changing<T = ()>(tokio::task::JoinHandle<Result<T, MembershipError>>);

impl<T> Future for Changing<T> {
    type Output = Result<T, MembershipError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let stopping = |_| Err(MembershipError::Failed("the node is stopping".into()));
        Pin::new(&mut self.0)
            .poll(context)
            .map(|done| done.unwrap_or_else(stopping))
    }
}

/// Whether a replica that keeps this takes decisions, should it be elected.
fn may_lead(role: Role) -> Result<(), MembershipError> {
    match role {
        Role::Data => Ok(()),
        Role::Witness => Err(MembershipError::NotLeader),
    }
}

fn lock(config: &Config) -> Result<DirLock, OpenError> {
    let io_error = |file: PathBuf, error| OpenError::Files(journal::OpenError::Io { file, error });
    let (disk, dir) = (&config.env.disk, &config.dir);
    disk.create_dir(dir).map_err(|error| io_error(dir.clone(), error))?;
    let path = dir.join("LOCK");
    disk.lock(&path).map_err(|error| match error {
        LockError::Held { pid } => OpenError::Locked { dir: dir.clone(), pid },
        LockError::Io(error) => io_error(path, error),
    })
}

fn log_dir(config: &Config) -> PathBuf {
    config.dir.join("log")
}

/// Makes a directory one of a shard that exists elsewhere. There is an empty log before there is an identity.
pub(crate) fn prepare(config: &Config, identity: Identity) -> Result<(), OpenError> {
    Journal::open(&config.env, &log_dir(config), config.journal_options())?;
    Admission::ask(&config.env, &config.dir)?;
    Ok(identity.write(&config.env, &config.dir)?)
}

/// Whose the directory is, if it is not new. A directory of another node, or of one that keeps something else, is refused.
fn identity_of(config: &Config) -> Result<Option<Identity>, OpenError> {
    let identity = Identity::read(&config.env, &config.dir)?;
    match identity {
        Some(Identity { node, .. }) if node != config.node_id => Err(OpenError::OtherNode {
            dir: config.dir.clone(),
            owner: node,
            node: config.node_id,
        }),
        Some(Identity { role, .. }) if role != config.role => Err(OpenError::OtherRole {
            dir: config.dir.clone(),
            role,
        }),
        // There was a log before the first start was counted. Whoever has lost it has lost its votes.
        Some(Identity { incarnation, .. }) if incarnation > 0 && !Journal::is_there(&config.env, &log_dir(config))? => {
            Err(OpenError::Mismatch {
                dir: config.dir.clone(),
                what: "there is no log any more, nor the votes in it".into(),
            })
        }
        _ => Ok(identity),
    }
}

/// Counts the start, on the disk, before anybody gets an id of it. The log is replayed: where it knows of a later life than the
/// directory does, the directory's word is lost.
fn start_life(config: &Config, shared: &Shared) -> Result<Identity, journal::OpenError> {
    let random = &config.env.random;
    let founded = || u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    let node = config.node_id;
    let identity = shared.directory.identity();
    let (seen, level) = {
        let replicated = shared.replicated.lock();
        (replicated.outcomes.newest_incarnation(node), replicated.level)
    };
    let before = identity.map(|identity| identity.incarnation).max(seen);
    let identity = Identity {
        cluster: identity.map_or_else(founded, |identity| identity.cluster),
        node,
        incarnation: match failpoints::goes_wrong("life.same") {
            true => before.unwrap_or(1),
            false => before.unwrap_or(0) + 1,
        },
        level: identity.map_or(level, |identity| identity.level.max(level)),
        role: config.role,
    };
    identity.write(&config.env, &config.dir)?;
    shared.directory.lives_as(identity);
    Ok(identity)
}

/// The log must begin where the checkpoint ends, and must not end before: what lies between would be lost in silence.
fn check_log_fits(dir: &std::path::Path, journal: &Journal, replicated: &Replicated) -> Result<(), OpenError> {
    let mismatch = |what: String| {
        Err(OpenError::Mismatch {
            dir: dir.to_owned(),
            what,
        })
    };
    let reader = journal.reader();
    let (purged, last) = (reader.purged().map(|id| id.index), reader.last().map(|id| id.index));
    let checkpoint = replicated.applied.map(|id| id.index);
    match checkpoint {
        Some(index) if last.is_none() => mismatch(format!("there is a checkpoint of log entry {index}, but no log")),
        Some(index) if last < checkpoint => {
            let last = last.unwrap_or_default();
            mismatch(format!(
                "the log ends with entry {last}, before the checkpoint of entry {index}"
            ))
        }
        _ if purged > checkpoint => {
            let purged = purged.unwrap_or_default();
            mismatch(match checkpoint {
                Some(index) => format!("the log begins after entry {purged}, but the newest checkpoint is of {index}"),
                None => format!("the log begins after entry {purged}, but there is no checkpoint"),
            })
        }
        _ => Ok(()),
    }
}
