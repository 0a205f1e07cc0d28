//! The other side: a node that follows, on behalf of its sessions.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use env::{Feature, failpoints};
use futures_util::FutureExt;
use futures_util::future::{Either, Shared, select};
use openraft::async_runtime::WatchReceiver;
use parking_lot::Mutex;
use store::{Alias, LockKey, LockMode, LockModes, Reservation, Store, Table};
use tokio::runtime::Handle;
use tokio::time::Instant;
use types::{TableId, Timestamp};

use super::entered::Entered;
use super::freshest::Freshest;
use super::guest_wait::GuestWait;
use super::home::Home;
use super::ids::{Leased, Sequence, Validity, wanted};
use super::message::{self, Answer, Call, IdKind, Ids, Lock, encode_key};
use crate::ProposeError;
use crate::consensus::{Raft, is_alone};
use crate::ids::{Issuer, Issuing};
use crate::lease::Lease;
use crate::peers::{Lane, Peers};
use crate::prepared::PreparedTransaction;
use crate::replica::{NO_EPOCH, Shared as Parts};
use crate::witness::leader_with_rows;

/// A call is answered within this, or is lost.
pub(super) const CALL: Duration = Duration::from_secs(1);

/// Between two tries to reach whoever leads.
const PAUSE: Duration = Duration::from_millis(5);

/// The leader hears of a node with locks at least this often.
const ALIVE: Duration = Duration::from_millis(300);

/// A longer write set is sent in parts.
const PART: usize = 1 << 20;

/// The number of a node's first guest.
const FIRST: u64 = 1;

/// The name of a lock that is in nobody's way, in [`LockMode::IntentionShared`]: to be known as a guest.
pub const NOBODYS: LockKey<'static> = LockKey::Name(b"");

/// The way from this node's sessions to whoever leads.
pub(crate) struct Remote {
    me: Issuer,
    shared: Parts,
    pub(super) store: Arc<Store>,
    pub(super) raft: Raft,
    peers: Arc<dyn Peers>,
    home: Arc<Home>,
    runtime: Handle,
    issuing: Arc<Issuing>,
    /// A commit, or a read, that has no answer by then ends.
    patience: Duration,
    /// Numbers of guests.
    next: AtomicU64,
    live: Mutex<BTreeSet<u64>>,
    reads: Mutex<Reads>,
    leased: Leased,
    freshest: Freshest,
}

/// A question for the newest timestamp that several sessions wait for; whoever is polled drives it.
type Asking = Shared<Pin<Box<dyn Future<Output = Result<(), ProposeError>> + Send>>>;

/// Sessions that wait for the newest timestamp: one call is under way, everybody else joins the next.
#[derive(Default)]
struct Reads {
    under_way: Option<Asking>,
    /// Begins when the one under way has its answer.
    next: Option<Asking>,
}

/// Why nobody answered.
pub(super) enum Unanswered {
    /// It was not done.
    NotDone,
    /// Nor will it be.
    Refused,
    /// It may have been done.
    Lost,
}

impl Remote {
    /// `home` is this node's own side, for when it leads.
    pub fn new(
        home: Arc<Home>,
        peers: Arc<dyn Peers>,
        me: Issuer,
        issuing: Arc<Issuing>,
        patience: Duration,
    ) -> Arc<Remote> {
        Arc::new(Remote {
            me,
            shared: home.shared.clone(),
            store: home.store.clone(),
            raft: home.raft.clone(),
            runtime: home.runtime.clone(),
            peers,
            home,
            issuing,
            patience,
            next: AtomicU64::new(FIRST),
            live: Mutex::default(),
            reads: Mutex::default(),
            leased: Leased::default(),
            freshest: Freshest::new(),
        })
    }

    /// Tells the leader that this node's transactions live, and frees the locks of nodes that do not.
    pub async fn keep_alive(self: Arc<Remote>) {
        loop {
            tokio::time::sleep(ALIVE).await;
            self.home.expire();
            if !is_alone(&self.raft) && self.shared.contact.stalled_for() > self.patience {
                let term = self.shared.lock_epoch.load(Ordering::Acquire);
                self.shared.queue.give_up(term, self.shared.clock.monotonic());
            }
            if let Some(call) = self.live_transactions() {
                let _ = self.ask(call.encode(), ALIVE).await;
            }
        }
    }

    /// Tells the leader which of this node's transactions live. `None`: there never was one.
    fn live_transactions(&self) -> Option<Call> {
        let level = self.shared.replicated.lock().level;
        // Together: each number that was given is told of.
        let live = self.live.lock();
        let next = self.next.load(Ordering::Relaxed);
        if next == FIRST {
            return None;
        }
        Some(match level.has(Feature::LiveTransactions) {
            true => Call::Live {
                next,
                numbers: live.iter().copied().collect(),
            },
            false => Call::Alive {
                oldest: live.first().copied().unwrap_or(next),
            },
        })
    }

    pub(super) fn leads(&self) -> bool {
        self.shared.lock_epoch.load(Ordering::Acquire) != NO_EPOCH
    }

    fn leader(&self) -> Option<u32> {
        let metrics = self.raft.server_metrics();
        let metrics = metrics.borrow_watched();
        leader_with_rows(metrics.current_leader, &metrics.membership_config)
    }

    /// Ready when another replica is known to lead.
    async fn until_led_by_another(&self, leader: u32) {
        let mut changes = self.raft.server_metrics();
        loop {
            let current = changes.borrow_and_update().current_leader;
            if current.is_some_and(|current| current != u64::from(leader)) || changes.changed().await.is_err() {
                return;
            }
        }
    }

    pub(super) async fn ask(&self, call: Vec<u8>, within: Duration) -> Result<Answer, Unanswered> {
        self.shared.meters.calls.fetch_add(1, Ordering::Relaxed);
        let answer = match self.leader() {
            None => return Err(Unanswered::NotDone),
            Some(leader) if leader == self.me.node => self.home.answer(self.me, &call).await,
            Some(leader) => {
                let calling = self.peers.call(leader, Lane::Storage, call, within);
                // A leader that is cut off, or paused, answers nothing; its successor is known long before its connection is given up.
                match select(calling, pin!(self.until_led_by_another(leader))).await {
                    Either::Left((answer, _)) => answer.map_err(|no_answer| match no_answer.may_have_arrived {
                        true => Unanswered::Lost,
                        false => Unanswered::NotDone,
                    })?,
                    Either::Right(_) => return Err(Unanswered::Lost),
                }
            }
        };
        match Answer::decode(&answer) {
            Ok(Answer::NotLeader) => Err(Unanswered::NotDone),
            Ok(Answer::Refused(reason)) => {
                tracing::warn!(%reason, "the leader has refused a call");
                Err(Unanswered::Refused)
            }
            Ok(answer) => Ok(answer),
            Err(_) => Err(Unanswered::Lost),
        }
    }

    /// Asks until somebody answers, or patience is over. For calls that can be made twice.
    async fn ask_again(&self, call: &Call) -> Result<Answer, ProposeError> {
        let deadline = Instant::now() + self.patience;
        let bytes = call.encode();
        loop {
            if let Ok(answer) = self.ask(bytes.clone(), CALL).await {
                return Ok(answer);
            }
            if let Some(reason) = self.shared.failure.get() {
                return Err(ProposeError::Stopped { reason });
            }
            if Instant::now() >= deadline {
                return Err(ProposeError::NotLeader);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    // --- reads ---

    /// What a read has to wait for, so that it sees every commit that anybody was told of before. `None`: nothing.
    #[inline]
    pub fn freshness(self: &Arc<Remote>) -> Option<Freshness> {
        let epoch = self.shared.lock_epoch.load(Ordering::Acquire);
        if epoch != NO_EPOCH && failpoints::goes_wrong("lease.none") {
            return None;
        }
        if epoch != NO_EPOCH && (self.shared.lease.is_good() || self.shared.lease.renew(&self.raft, epoch)) {
            return None;
        }
        if self.has_stopped() && is_alone(&self.raft) {
            // Nothing newer will come, from nobody.
            return None;
        }
        Some(self.freshness_of_others(epoch))
    }

    /// Whether this replica takes no commits any more, for a failure.
    pub fn has_stopped(&self) -> bool {
        self.shared.failure.get().is_some()
    }

    /// As [`freshness`](Self::freshness), of a read that may miss what was committed in the last `bound`. The leader is asked ahead of time,
    /// so that reads that follow each other need not wait.
    pub fn freshness_within(self: &Arc<Remote>, bound: Duration) -> Option<Freshness> {
        let known = self.freshest.ago().filter(|_| !self.leads());
        match known {
            Some(ago) if ago <= bound => {
                if ago > bound / 2 {
                    self.ask_ahead();
                }
                None
            }
            _ => self.freshness(),
        }
    }

    /// By how much this replica may lag behind; `None`: it has not heard of the leader yet. While it leads it does not lag.
    pub fn staleness(&self) -> Option<Duration> {
        match self.leads() && self.shared.lease.is_good() {
            true => Some(Duration::ZERO),
            false => self.freshest.ago(),
        }
    }

    fn ask_ahead(self: &Arc<Remote>) {
        let is_asking = {
            let reads = &*self.reads.lock();
            reads.under_way.is_some() || reads.next.is_some()
        };
        if !is_asking {
            // Nobody waits for the answer.
            self.runtime.spawn(self.join_readers());
        }
    }

    #[cold]
    fn freshness_of_others(self: &Arc<Remote>, epoch: u64) -> Freshness {
        if epoch == NO_EPOCH {
            return Freshness(self.entered(self.join_readers()));
        }
        let remote = self.clone();
        Freshness(self.entered(async move {
            match Lease::confirm(&remote.raft).await {
                true => Ok(()),
                false => remote.join_readers().await,
            }
        }))
    }

    /// What is under way may have been asked before the caller came.
    fn join_readers(self: &Arc<Remote>) -> Asking {
        let reads = &mut *self.reads.lock();
        if let Some(next) = &reads.next {
            return next.clone();
        }
        let (remote, before) = (self.clone(), reads.under_way.clone());
        let asking = async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            {
                let reads = &mut *remote.reads.lock();
                reads.under_way = reads.next.take();
            }
            let answer = remote.read_at().await;
            remote.reads.lock().under_way = None;
            answer
        };
        let asking: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(asking);
        let asking = asking.shared();
        reads.next = Some(asking.clone());
        asking
    }

    async fn read_at(&self) -> Result<(), ProposeError> {
        let began = Instant::now();
        match self.ask_again(&Call::ReadAt).await? {
            Answer::At { newest, wanted } => {
                self.store.locks().set_wanted_elsewhere(&wanted);
                if !failpoints::goes_wrong("read.early") {
                    self.apply_up_to(newest).await?;
                }
                self.freshest.note(began);
                Ok(())
            }
            _ => Err(ProposeError::NotLeader),
        }
    }

    /// Waits until a commit of the leader's can be seen here.
    async fn apply_up_to(&self, timestamp: Timestamp) -> Result<(), ProposeError> {
        let visible = self.shared.visible.wait(&self.store, timestamp);
        match tokio::time::timeout(self.patience, visible).await {
            Ok(()) => Ok(()),
            Err(_late) => Err(ProposeError::NotLeader),
        }
    }

    // --- guests ---

    /// To be polled by whoever waits for it.
    pub(super) fn entered<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Entered<T> {
        Entered::new(self.runtime.clone(), future)
    }

    /// A transaction that takes its locks at the leader.
    pub fn guest(self: &Arc<Remote>) -> Guest {
        Guest {
            remote: self.clone(),
            alias: None,
            number: 0,
            epoch: 0,
            held: HashMap::new(),
            later: Vec::new(),
            answer: Arc::default(),
        }
    }

    /// A task for whatever a session does not wait for.
    pub(super) fn tell(self: &Arc<Remote>, call: Call) {
        let remote = self.clone();
        self.runtime.spawn(async move {
            let _ = remote.ask(call.encode(), CALL).await;
        });
    }

    async fn lock(&self, lock: Lock) -> GuestLock {
        let mut has_waited = false;
        let call = Call::Lock(lock);
        loop {
            match self.ask_again(&call).await {
                Ok(Answer::Locked { epoch, as_of, waited }) => {
                    if !failpoints::goes_wrong("lock.early") && self.apply_up_to(as_of).await.is_err() {
                        return GuestLock::Unavailable;
                    }
                    return GuestLock::Granted {
                        epoch,
                        waited: waited || has_waited,
                    };
                }
                Ok(Answer::Waits) => has_waited = true,
                Ok(Answer::Deadlock) => return GuestLock::Deadlock,
                Ok(Answer::NotFree) => return GuestLock::NotFree,
                Ok(Answer::LocksLost) => return GuestLock::Lost,
                Ok(_) | Err(_) => return GuestLock::Unavailable,
            }
        }
    }

    async fn commit(&self, number: u64, lock_epoch: u64, writes: Vec<u8>) -> Result<Timestamp, ProposeError> {
        // The outcome may be asked for as long as this is held.
        let ticket = self.issuing.issue();
        let sequence = ticket.id().sequence;
        let mut sent = 0;
        while writes.len() - sent > 2 * PART {
            let part = Call::Writes {
                number,
                offset: sent as u64,
                bytes: writes[sent..sent + PART].to_vec(),
            };
            match self.ask_again(&part).await? {
                Answer::Done => sent += PART,
                Answer::Failed(error) => return Err(error),
                _ => return Err(ProposeError::LocksLost),
            }
        }
        let writes = match sent {
            0 => writes,
            sent => writes[sent..].to_vec(),
        };
        let call = Call::Commit(message::Commit {
            number,
            sequence,
            acknowledged: self.issuing.acknowledged(),
            lock_epoch,
            writes,
        });
        let began = Instant::now();
        let committed = match self.ask(call.encode(), self.patience).await {
            Ok(Answer::Committed(timestamp)) => Ok(timestamp),
            Err(Unanswered::Lost) if failpoints::goes_wrong("commit.lost") => Err(ProposeError::LocksLost),
            Ok(Answer::Failed(ProposeError::Unknown { .. })) | Err(Unanswered::Lost) => {
                let until = (began + self.patience).max(Instant::now() + CALL);
                self.outcome(number, sequence, lock_epoch, until).await
            }
            Ok(Answer::Failed(error)) => Err(error),
            Ok(_) | Err(Unanswered::NotDone | Unanswered::Refused) => Err(ProposeError::LocksLost),
        }?;
        // Committed it is, also where this replica lags behind.
        let _ = self.apply_up_to(committed).await;
        Ok(committed)
    }

    /// Asks whoever leads what became of a commit whose answer was lost.
    async fn outcome(
        &self,
        number: u64,
        sequence: u64,
        lock_epoch: u64,
        deadline: Instant,
    ) -> Result<Timestamp, ProposeError> {
        let call = Call::Outcome {
            number,
            sequence,
            lock_epoch,
        }
        .encode();
        loop {
            match self.ask(call.clone(), CALL).await {
                Ok(Answer::Committed(timestamp)) => return Ok(timestamp),
                Ok(Answer::NotCommitted) => return Err(ProposeError::LocksLost),
                Ok(Answer::Failed(error)) => return Err(error),
                Ok(_) | Err(_) if Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
                Ok(_) | Err(_) => {
                    let reason = "the leader does not answer".into();
                    return Err(ProposeError::Unknown { reason });
                }
            }
        }
    }
}

/// Ready when a read sees every commit that anybody was told of before.
#[must_use]
pub struct Freshness(Entered<Result<(), ProposeError>>);

impl Future for Freshness {
    type Output = Result<(), ProposeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

/// What became of a guest's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestLock {
    Granted {
        epoch: u64,
        /// Somebody else had it.
        waited: bool,
    },
    NotFree,
    Deadlock,
    Lost,
    /// Nobody leads, or cannot be reached.
    Unavailable,
}

/// What was asked for, with what came before it, and the answer.
struct Asked {
    before: Vec<(LockMode, Vec<u8>)>,
    key: Vec<u8>,
    mode: LockMode,
    answer: GuestLock,
}

/// A transaction of this node's with locks at the leader; they are given back when it is dropped.
pub struct Guest {
    remote: Arc<Remote>,
    /// Where this node's lock table is told the number.
    alias: Option<Alias>,
    /// 0: it has asked for nothing yet.
    number: u64,
    /// Where its locks are good; 0: it has none.
    epoch: u64,
    held: HashMap<Vec<u8>, LockModes>,
    /// To be asked for with the next one.
    later: Vec<(LockMode, Vec<u8>)>,
    /// To the request that was made last.
    answer: Arc<Mutex<Option<Asked>>>,
}

impl Guest {
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The transaction waits in this node's lock table, too: whoever looks for circles has to know both.
    pub fn is_also(&mut self, alias: Alias) {
        alias.set(self.number);
        self.alias = Some(alias);
    }

    /// How many locks it holds.
    pub fn count(&self) -> usize {
        self.held.len()
    }

    pub fn covers(&self, key: LockKey<'_>, mode: LockMode) -> bool {
        let held = self.held.get(&encode_key(key));
        held.is_some_and(|held| held.cover(mode))
    }

    /// The answer to a request for this lock, if it has come. The lock is held from now on, if it is granted.
    pub fn take_answer(&mut self, key: LockKey<'_>, mode: LockMode) -> Option<GuestLock> {
        let asked = self.answer.lock().take()?;
        if (&asked.key, asked.mode) != (&encode_key(key), mode) {
            return None;
        }
        let granted = match asked.answer {
            GuestLock::Granted { epoch, .. } => {
                self.epoch = epoch;
                asked.before.into_iter().chain([(mode, asked.key)]).collect()
            }
            // Those before it were waited for.
            GuestLock::NotFree => asked.before,
            GuestLock::Deadlock | GuestLock::Lost | GuestLock::Unavailable => Vec::new(),
        };
        for (mode, key) in granted {
            self.held.entry(key).or_default().add(mode);
        }
        Some(asked.answer)
    }

    /// Locks that are to be asked for together with the next one, before it.
    pub fn ask_later(&mut self, key: LockKey<'_>, mode: LockMode) {
        let lock = (mode, encode_key(key));
        if !self.later.contains(&lock) {
            self.later.push(lock);
        }
    }

    /// A transaction that is prepared goes on holding them.
    pub fn add_locks_to(&self, prepared: &mut PreparedTransaction) {
        for (key, modes) in &self.held {
            governor::pause();
            prepared.add_encoded_lock(key, *modes);
        }
    }

    /// Whether some are to be asked for.
    pub fn has_later(&self) -> bool {
        !self.later.is_empty()
    }

    /// Whether this one is to be asked for.
    pub fn covers_later(&self, key: LockKey<'_>, mode: LockMode) -> bool {
        let lock = (mode, encode_key(key));
        self.later.contains(&lock)
    }

    /// They are not to be asked for.
    pub fn forget_later(&mut self) {
        self.later.clear();
    }

    /// Asks for a lock. When it is ready, [`take_answer`](Self::take_answer) has the answer; dropping it withdraws the request.
    pub fn ask(&mut self, key: LockKey<'_>, mode: LockMode, waits: bool) -> GuestWait {
        self.ask_after(&[], key, mode, waits)
    }

    /// As [`ask`](Self::ask), after other locks, each of which is waited for, in their order. The answer is that to `key`.
    pub fn ask_after(
        &mut self,
        before: &[(LockMode, LockKey<'_>)],
        key: LockKey<'_>,
        mode: LockMode,
        waits: bool,
    ) -> GuestWait {
        if self.number == 0 {
            // Together: the oldest that lives is older than whatever is numbered later.
            let live = &mut *self.remote.live.lock();
            self.number = self.remote.next.fetch_add(1, Ordering::Relaxed);
            live.insert(self.number);
            if let Some(alias) = &self.alias {
                alias.set(self.number);
            }
        }
        let lock = Lock {
            number: self.number,
            epoch: self.epoch,
            waits,
            before: self
                .later
                .drain(..)
                .chain(before.iter().map(|&(mode, key)| (mode, encode_key(key))))
                .collect(),
            mode,
            key: encode_key(key),
        };
        let (remote, answer) = (self.remote.clone(), self.answer.clone());
        let asking = async move {
            let (before, key, mode) = (lock.before.clone(), lock.key.clone(), lock.mode);
            let granted = remote.lock(lock).await;
            *answer.lock() = Some(Asked {
                before,
                key,
                mode,
                answer: granted,
            });
        };
        GuestWait::new(&self.remote, self.number, asking)
    }

    /// Takes `count` ids in a row that nobody else gets, if this node has as many; none of those that are known to be given.
    pub fn take_ids(
        &self,
        table: &Table,
        kind: IdKind,
        count: u64,
        sequence: Sequence,
        at_least: u64,
    ) -> Option<Range<u64>> {
        let leased = &self.remote.leased;
        leased.take(self.validity(table), (table.id(), kind), count, sequence, at_least)
    }

    fn validity(&self, table: &Table) -> Validity {
        Validity {
            epoch: self.epoch,
            resets: table.auto_increment_resets(),
        }
    }

    /// A statement has given a row an automatic id itself: those of this node go on at `next`.
    pub fn raise_ids(&self, table: TableId, next: u64) {
        self.remote.leased.raise(table, next);
    }

    /// Asks the leader for such ids: at least `count`, of the sequence `offset`, `offset + step`…, up to `greatest`.
    pub fn ask_for_ids(
        &mut self,
        table: &Table,
        kind: IdKind,
        count: u64,
        Sequence { step, offset }: Sequence,
        at_least: u64,
        greatest: u64,
    ) -> GuestWait {
        let (table, validity) = (table.id(), self.validity(table));
        let ids = Ids {
            epoch: self.epoch,
            table,
            kind,
            count: match step {
                0 | 1 => wanted(count, greatest.saturating_sub(at_least)),
                _ => count,
            },
            step,
            offset,
            at_least,
        };
        let remote = self.remote.clone();
        let asking = async move {
            if let Ok(Answer::Ids { epoch, first, end }) = remote.ask_again(&Call::Ids(ids)).await {
                let validity = Validity { epoch, ..validity };
                remote.leased.put(validity, table, kind, first..end);
            }
        };
        GuestWait::new(&self.remote, 0, asking)
    }

    /// Asks for what was left for later, for an epoch, or whether its locks are good still: as a lock of [`NOBODYS`], for which
    /// [`take_answer`](Self::take_answer) has the answer.
    pub fn ask_for_nothing(&mut self) -> GuestWait {
        self.ask(NOBODYS, LockMode::IntentionShared, true)
    }

    /// Gives the lock of a name back, also one that was asked for and not waited for; the others stay. False: they are lost. An error: nobody
    /// leads, or can be reached. Drive it to its end.
    pub fn unlock_name(&mut self, name: &[u8]) -> impl Future<Output = Result<bool, ProposeError>> + Send + use<> {
        self.held.remove(&encode_key(LockKey::Name(name)));
        let (remote, number, name) = (self.remote.clone(), self.number, name.to_vec());
        let unlocking = self.remote.runtime.spawn(async move {
            match remote.ask_again(&Call::Unlock { number, name }).await? {
                Answer::Done => Ok(true),
                _ => Ok(false),
            }
        });
        async move { unlocking.await.unwrap_or(Err(ProposeError::NotLeader)) }
    }

    /// Gives the locks back; done when they are free.
    pub async fn release(mut self) {
        let Some(number) = self.forget() else { return };
        let remote = self.remote.clone();
        let releasing = self.remote.entered(async move {
            // A leader that does not answer has lost them, or hears of it later.
            let _ = remote.ask(Call::Release { number }.encode(), CALL).await;
        });
        releasing.await;
    }

    /// Commits a write set under the guest's locks. Drive it to its end: the locks are free when it is over.
    pub async fn commit(mut self, writes: Vec<u8>, memory: Reservation) -> Result<Timestamp, ProposeError> {
        if self.epoch == 0 {
            self.ask_for_nothing().await;
            match self.take_answer(NOBODYS, LockMode::IntentionShared) {
                Some(GuestLock::Granted { .. }) => {}
                _ => return Err(ProposeError::NotLeader),
            }
        }
        let (remote, number, epoch) = (self.remote.clone(), self.number, self.epoch);
        let committing = async move { remote.commit(number, epoch, writes).await };
        let committed = self.remote.entered(committing).await;
        drop(memory);
        if committed.is_ok() {
            self.forget();
        }
        committed
    }

    /// Nothing of it is left at the leader.
    fn forget(&mut self) -> Option<u64> {
        let number = std::mem::take(&mut self.number);
        (number != 0).then(|| {
            self.remote.live.lock().remove(&number);
            if let Some(alias) = &self.alias {
                alias.set(0);
            }
            number
        })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if let Some(number) = self.forget() {
            self.remote.tell(Call::Release { number });
        }
    }
}
