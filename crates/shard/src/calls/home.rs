//! The leader's side: transactions of other nodes as guests in its lock table.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use env::failpoints;
use futures_util::future::Either;
use parking_lot::Mutex;
use store::{LockKey, LockMode, LockOutcome, LockWait, MemoryUse, Reservation, Store, ToldWait, TransactionLocks};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::Instant;
use types::{TableId, Timestamp};

use super::guest::NOBODYS;
use super::message::{Answer, Call, Commit, IdKind, Ids, Lock, decode_key};
use crate::consensus::Raft;
use crate::ids::{Issuer, TransactionId};
use crate::lease::Lease;
use crate::outcomes::{Fate, Known};
use crate::queue::Entrant;
use crate::replica::{NO_EPOCH, Shared};
use crate::{Durability, ProposeError, Transaction};

/// Who waits for a lock is told so after this long, and asks again.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);

/// A node that was not heard of for so long has no locks any more.
const HEARD_WITHIN: Duration = Duration::from_secs(3);

/// Bytes that the store grows by for a byte of a write set, roughly.
const GROWTH: u64 = 2;

pub(crate) struct Home {
    pub(super) shared: Shared,
    pub(super) store: Arc<Store>,
    pub(super) raft: Raft,
    /// Where what must go on without its caller runs.
    pub(super) runtime: Handle,
    observed: Option<TableId>,
    transaction_bytes: u64,
    /// In which the guests have come.
    epoch: AtomicU64,
    nodes: Mutex<HashMap<u32, Node>>,
}

/// A node with transactions here.
struct Node {
    incarnation: u32,
    /// Since the shard was opened.
    heard: Duration,
    guests: HashMap<u64, Arc<Guest>>,
    /// Sequences of commits that have arrived and are not answered.
    committing: HashSet<u64>,
}

/// Another node's transaction.
struct Guest {
    state: Mutex<State>,
    /// It does not wait any more.
    withdrawn: Notify,
    /// Held by the request under way. One that was sent again over another connection comes after it: were there two in the queue of
    /// a lock, the end of either would take both out, and the other would wait for ever.
    asking: tokio::sync::Mutex<()>,
}

struct State {
    locks: TransactionLocks,
    is_over: bool,
    /// Its place in the queue of a lock, between two calls.
    waiting: Option<(Vec<u8>, LockMode, LockWait)>,
    /// What has come of a long write set.
    writes: Vec<u8>,
    /// For the rows that it will make.
    memory: Option<Reservation>,
}

impl Home {
    pub fn new(
        shared: Shared,
        store: Arc<Store>,
        raft: Raft,
        runtime: Handle,
        observed: Option<TableId>,
        transaction_bytes: u64,
    ) -> Arc<Home> {
        Arc::new(Home {
            shared,
            store,
            raft,
            runtime,
            observed,
            transaction_bytes,
            epoch: AtomicU64::new(NO_EPOCH),
            nodes: Mutex::default(),
        })
    }

    /// Answers a call. What needs no wait happens now, in the order in which the calls come.
    pub fn answer(self: &Arc<Home>, from: Issuer, call: &[u8]) -> impl Future<Output = Vec<u8>> + Send + use<> {
        let answer = match Call::decode(call) {
            Ok(call) => self.begin(from, call),
            Err(garbled) => Begun::Now(Answer::Refused(garbled.to_string())),
        };
        async move {
            match answer {
                Begun::Now(answer) => answer,
                Begun::Later(later) => later.await,
            }
            .encode()
        }
    }

    fn begin(self: &Arc<Home>, from: Issuer, call: Call) -> Begun {
        let epoch = self.shared.lock_epoch.load(Ordering::Acquire);
        if epoch == NO_EPOCH {
            return Begun::Now(Answer::NotLeader);
        }
        if self.hear(from, epoch).is_none() {
            return Begun::Now(Answer::Refused("a later life of the same node has called".into()));
        }
        let home = self.clone();
        match call {
            Call::ReadAt => self.read_at(epoch),
            Call::Lock(lock) if self.began_before_lead(from, &lock) => Begun::Now(Answer::LocksLost),
            Call::Lock(lock) => match self.guest(from, &lock, epoch) {
                Some(guest) => Begun::later(async move { home.lock(&guest, &lock, epoch).await }),
                None => Begun::Now(Answer::LocksLost),
            },
            Call::Withdraw { number } => {
                if let Some(guest) = self.find(from, number) {
                    guest.withdraw();
                }
                Begun::Now(Answer::Done)
            }
            Call::Release { number } => {
                if let Some(guest) = self.with_node(from, |node| node.guests.remove(&number)) {
                    guest.end();
                }
                Begun::Now(Answer::Done)
            }
            Call::Unlock { number, name } => match self.find(from, number).is_some_and(|guest| guest.unlock(&name)) {
                // That it is done says that the lock was held until now.
                true => Begun::later(async move {
                    match home.leads_still(epoch).await {
                        true => Answer::Done,
                        false => Answer::LocksLost,
                    }
                }),
                false => Begun::Now(Answer::LocksLost),
            },
            Call::Writes { number, offset, bytes } => {
                let guest = self.find(from, number);
                Begun::Now(guest.map_or(Answer::LocksLost, |guest| self.take_writes(&guest, offset, &bytes)))
            }
            Call::Commit(commit) => self.commit(from, epoch, commit),
            Call::Outcome {
                number,
                sequence,
                lock_epoch,
            } => Begun::Now(self.outcome(from, number, sequence, lock_epoch)),
            Call::Ids(ids) => Begun::Now(self.take_ids(ids, epoch)),
            Call::Alive { oldest } => self.let_go(from, |number| number < oldest),
            Call::Live { next, numbers } => {
                self.let_go(from, |number| number < next && numbers.binary_search(&number).is_err())
            }
            Call::WaitsHere(waits) => Begun::Now(self.hear_waits(from, &waits)),
        }
    }

    /// The node is there. `None`: a later life of it has been here.
    fn hear(&self, from: Issuer, epoch: u64) -> Option<()> {
        let mut ended = Vec::new();
        let heard = {
            let nodes = &mut *self.nodes.lock();
            // Guests of an earlier lead have no locks; nobody else asks for them.
            if self.epoch.swap(epoch, Ordering::AcqRel) != epoch {
                ended.extend(nodes.drain().flat_map(|(_, node)| node.guests.into_values()));
            }
            let now = self.shared.clock.monotonic();
            let node = nodes.entry(from.node).or_insert_with(|| Node::new(from, now));
            if node.incarnation < from.incarnation {
                let before = std::mem::replace(node, Node::new(from, now));
                ended.extend(before.guests.into_values());
            }
            node.heard = now;
            (node.incarnation == from.incarnation).then_some(())
        };
        ended.iter().for_each(|guest| guest.end());
        heard
    }

    /// Ends guests that are over where they come from: what said so was lost, or was overtaken by a request of theirs.
    fn let_go(&self, from: Issuer, is_over: impl Fn(u64) -> bool) -> Begun {
        let over = self.with_node(from, |node| {
            let over = node.guests.extract_if(|&number, _| is_over(number));
            over.map(|(_, guest)| guest).collect::<Vec<_>>()
        });
        over.iter().for_each(|guest| guest.end());
        Begun::Now(Answer::Done)
    }

    fn with_node<R: Default>(&self, from: Issuer, act: impl FnOnce(&mut Node) -> R) -> R {
        match self.nodes.lock().get_mut(&from.node) {
            Some(node) if node.incarnation == from.incarnation => act(node),
            _ => R::default(),
        }
    }

    fn find(&self, from: Issuer, number: u64) -> Option<Arc<Guest>> {
        self.with_node(from, |node| node.guests.get(&number).cloned())
    }

    /// Frees the locks of nodes that were not heard of for long.
    pub fn expire(&self) {
        let now = self.shared.clock.monotonic();
        let gone: Vec<_> = {
            let nodes = &mut *self.nodes.lock();
            let is_gone = |node: &Node| node.committing.is_empty() && now > node.heard + HEARD_WITHIN;
            nodes.extract_if(|_, node| is_gone(node)).collect()
        };
        for (id, node) in gone {
            if !node.guests.is_empty() {
                tracing::warn!(
                    node = id,
                    guests = node.guests.len(),
                    "a node is silent: its locks are free"
                );
            }
            self.store.locks().forget_waits_of(id);
            node.guests.values().for_each(|guest| guest.end());
        }
    }

    /// How many transactions of other nodes hold locks here.
    pub fn guests(&self) -> usize {
        self.nodes.lock().values().map(|node| node.guests.len()).sum()
    }

    fn read_at(self: &Arc<Home>, epoch: u64) -> Begun {
        if self.has_lease(epoch) {
            return Begun::Now(self.newest());
        }
        let home = self.clone();
        Begun::later(async move {
            match Lease::confirm(&home.raft).await {
                true => home.newest(),
                false => Answer::NotLeader,
            }
        })
    }

    fn has_lease(&self, epoch: u64) -> bool {
        self.shared.lease.is_good() || self.shared.lease.renew(&self.raft, epoch)
    }

    /// Whether no other node has led since the epoch began, and none does now. The node itself may not know yet that its lead is over: it may
    /// have stood still.
    async fn leads_still(&self, epoch: u64) -> bool {
        (self.has_lease(epoch) || Lease::confirm(&self.raft).await)
            && self.shared.lock_epoch.load(Ordering::Acquire) == epoch
    }

    fn newest(&self) -> Answer {
        let (newest, wanted) = self.store.locks().with_wanted_definitions(|| self.store.published());
        Answer::At { newest, wanted }
    }

    // --- locks ---

    /// Whether a transaction of this node's own asks, which has begun while another one led. What it has locked here until now is its own
    /// business still (definitions), or is over: as a guest it would wait for itself.
    fn began_before_lead(&self, from: Issuer, lock: &Lock) -> bool {
        let asks_for_nothing = || lock.before.is_empty() && decode_key(&lock.key) == Some(NOBODYS);
        u64::from(from.node) == *self.raft.node_id() && !asks_for_nothing()
    }

    /// The guest that a call is about; a new one where the transaction has no locks yet.
    fn guest(&self, from: Issuer, lock: &Lock, epoch: u64) -> Option<Arc<Guest>> {
        if lock.epoch != 0 && lock.epoch != epoch {
            return None;
        }
        self.with_node(from, |node| match node.guests.get(&lock.number) {
            Some(guest) => Some(guest.clone()),
            None if lock.epoch != 0 => None,
            None => {
                let guest = Arc::new(Guest {
                    state: Mutex::new(State {
                        locks: self.store.locks().transaction(),
                        is_over: false,
                        waiting: None,
                        writes: Vec::new(),
                        memory: None,
                    }),
                    withdrawn: Notify::new(),
                    asking: tokio::sync::Mutex::new(()),
                });
                node.guests.insert(lock.number, guest.clone());
                Some(guest)
            }
        })
    }

    async fn lock(&self, guest: &Guest, lock: &Lock, epoch: u64) -> Answer {
        let deadline = Instant::now() + ANSWER_WITHIN;
        let Ok(_asking) = tokio::time::timeout_at(deadline, guest.asking.lock()).await else {
            return Answer::Waits;
        };
        let mut waited = false;
        for (mode, key) in &lock.before {
            let mut has_waited = false;
            if let Err(answer) = guest.lock(key, *mode, true, &mut has_waited, deadline).await {
                return answer;
            }
            // Whoever waits for a definition looks at it again anyhow.
            waited |= has_waited && matches!(decode_key(key), Some(LockKey::Key(..)));
        }
        if let Err(answer) = guest
            .lock(&lock.key, lock.mode, lock.waits, &mut waited, deadline)
            .await
        {
            return answer;
        }
        // Rows are changed by a commit, which asks whether this node leads still. A name is good for what the caller does without asking.
        if matches!(decode_key(&lock.key), Some(LockKey::Name(_)) | None) && !self.leads_still(epoch).await {
            return Answer::LocksLost;
        }
        // Of another lead, they are nobody's.
        if self.shared.lock_epoch.load(Ordering::Acquire) != epoch || guest.state.lock().locks.are_lost() {
            return Answer::LocksLost;
        }
        Answer::Locked {
            epoch,
            as_of: self.store.published(),
            waited,
        }
    }

    /// Looks for circles of waits here and in the caller's own lock table.
    fn hear_waits(&self, from: Issuer, waits: &[ToldWait]) -> Answer {
        let alias_of = |number| Some(self.find(from, number)?.state.lock().locks.alias());
        Answer::GiveUp(self.store.locks().hear_waits(from.node, waits, alias_of))
    }

    // --- commits ---

    fn commit(self: &Arc<Home>, from: Issuer, epoch: u64, commit: Commit) -> Begun {
        let Commit {
            number,
            sequence,
            acknowledged,
            lock_epoch,
            writes,
        } = commit;
        if lock_epoch != 0 && lock_epoch != epoch {
            return Begun::Now(Answer::Failed(ProposeError::LocksLost));
        }
        let Some(guest) = self.find(from, number) else {
            return Begun::Now(Answer::Failed(ProposeError::LocksLost));
        };
        let (writes, memory) = match self.gather_writes(&guest, writes) {
            Ok(gathered) => gathered,
            Err(error) => return Begun::Now(Answer::Failed(error)),
        };
        let id = TransactionId { issuer: from, sequence };
        let transaction = Transaction {
            id,
            lock_epoch,
            // Nothing less where there are others.
            durability: Durability::MajorityDisk,
            writes,
            memory: Some(memory),
        };
        let entrant = match Entrant::new(transaction, acknowledged, self.observed) {
            Ok(entrant) => entrant,
            Err(error) => return Begun::Now(Answer::Failed(error.into())),
        };
        let proposal = self.with_node(from, |node| {
            // Whoever has asked for the outcome meanwhile was told that there is none.
            node.guests.remove(&number)?;
            node.committing.insert(sequence);
            Some(self.shared.queue.propose(entrant))
        });
        let Some(proposal) = proposal else {
            return Begun::Now(Answer::Failed(ProposeError::LocksLost));
        };
        if failpoints::goes_wrong("commit.quorum") {
            self.runtime.spawn(proposal);
            guest.end();
            return Begun::Now(Answer::Committed(self.store.published().next()));
        }
        let home = self.clone();
        let committing = Committing {
            runtime: self.runtime.clone(),
            outcome: Some(Box::pin(async move {
                if failpoints::goes_wrong("commit.unlock") {
                    guest.end();
                }
                let outcome = proposal.await;
                let _locks = home.shared.queue.keep_if_unknown(id, &outcome, GuestLocks(guest));
                home.with_node(from, |node| node.committing.remove(&sequence));
                outcome
            })),
        };
        Begun::later(async move {
            match committing.await {
                Ok(timestamp) => Answer::Committed(timestamp),
                Err(error) => Answer::Failed(error),
            }
        })
    }

    /// A part of a write set. It may come twice.
    fn take_writes(&self, guest: &Guest, offset: u64, bytes: &[u8]) -> Answer {
        let state = &mut *guest.state.lock();
        let (end, limit) = (offset.saturating_add(bytes.len() as u64), self.transaction_bytes);
        if end > limit {
            return Answer::Failed(ProposeError::TooLarge { bytes: end, limit });
        }
        match state.writes.len() as u64 {
            length if length == offset => match self.reserve(state, bytes.len()) {
                Ok(()) => state.writes.extend_from_slice(bytes),
                Err(error) => return Answer::Failed(error),
            },
            length if length >= end => {}
            _ => return Answer::Refused("a part of a write set is missing".into()),
        }
        Answer::Done
    }

    /// The whole write set, and the memory for its rows.
    fn gather_writes(&self, guest: &Guest, end: Vec<u8>) -> Result<(Vec<u8>, Reservation), ProposeError> {
        let state = &mut *guest.state.lock();
        let (bytes, limit) = ((state.writes.len() + end.len()) as u64, self.transaction_bytes);
        if bytes > limit {
            return Err(ProposeError::TooLarge { bytes, limit });
        }
        self.reserve(state, end.len())?;
        let memory = state.memory.take().expect("reserved above");
        Ok(match state.writes.is_empty() {
            true => (end, memory),
            false => {
                state.writes.extend_from_slice(&end);
                (std::mem::take(&mut state.writes), memory)
            }
        })
    }

    /// Makes sure that the rows of a write set's part will have room.
    fn reserve(&self, state: &mut State, bytes: usize) -> Result<(), ProposeError> {
        let nothing = || self.store.memory().nothing_yet(MemoryUse::Transactions);
        let memory = state.memory.get_or_insert_with(nothing);
        Ok(memory.grow(bytes as u64 * GROWTH)?)
    }

    /// What became of a commit; one that has not come by now comes to nothing.
    fn outcome(&self, from: Issuer, number: u64, sequence: u64, lock_epoch: u64) -> Answer {
        let epoch = self.shared.lock_epoch.load(Ordering::Acquire);
        if epoch == NO_EPOCH || epoch < lock_epoch && !failpoints::goes_wrong("outcome.stale") {
            // It has led before the commit was made, and does not know yet that another one did since then.
            return Answer::NotLeader;
        }
        if lock_epoch == epoch {
            let (guest, is_pending) = self.with_node(from, |node| {
                let guest = match failpoints::goes_wrong("outcome.late") {
                    true => None,
                    false => node.guests.remove(&number),
                };
                (guest, node.committing.contains(&sequence))
            });
            if let Some(guest) = guest {
                guest.end();
            }
            if is_pending {
                return Answer::Pending;
            }
        }
        let id = TransactionId { issuer: from, sequence };
        // In this order: what is in doubt now may be applied a moment later.
        if self.shared.queue.holds(id) && !failpoints::goes_wrong("doubt.outcome") {
            return Answer::Pending;
        }
        match self.shared.replicated.lock().outcomes.get(id) {
            Known::Fate(Fate::Committed(timestamp)) => Answer::Committed(timestamp),
            Known::Fate(Fate::Aborted) => Answer::Failed(ProposeError::LocksLost),
            Known::Forgotten => Answer::Failed(ProposeError::Forgotten),
            Known::Nothing => Answer::NotCommitted,
        }
    }

    // --- ids ---

    fn take_ids(&self, ids: Ids, epoch: u64) -> Answer {
        if ids.epoch != 0 && ids.epoch != epoch {
            return Answer::LocksLost;
        }
        let Some(table) = self.store.table(ids.table) else {
            return Answer::Refused("there is no such table".into());
        };
        let (first, end) = match ids.kind {
            IdKind::AutoIncrement => {
                table.raise_auto_increment(ids.at_least);
                match failpoints::goes_wrong("ids.twice") {
                    true => (table.next_auto_increment(), table.next_auto_increment() + ids.count),
                    false => table.take_auto_increments(ids.count, ids.step, ids.offset),
                }
            }
            IdKind::HiddenRow => {
                let first = table.take_row_ids(ids.count);
                (first, first + ids.count)
            }
        };
        Answer::Ids { epoch, first, end }
    }
}

/// The locks of a guest whose commit is under way: free when this is dropped.
struct GuestLocks(Arc<Guest>);

impl Drop for GuestLocks {
    fn drop(&mut self) {
        self.0.end();
    }
}

type Outcome = Result<Timestamp, ProposeError>;

/// A commit on its way, with its locks. If nobody waits for it any more it goes on by itself: they are held until the outcome is known.
struct Committing {
    runtime: Handle,
    outcome: Option<Pin<Box<dyn Future<Output = Outcome> + Send>>>,
}

impl Future for Committing {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let outcome = self.outcome.as_mut().expect("not polled after its end");
        let over = outcome.as_mut().poll(context);
        if over.is_ready() {
            self.outcome = None;
        }
        over
    }
}

impl Drop for Committing {
    fn drop(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            self.runtime.spawn(outcome);
        }
    }
}

/// An answer, or what will make it.
enum Begun {
    Now(Answer),
    Later(Pin<Box<dyn Future<Output = Answer> + Send>>),
}

impl Begun {
    fn later(answer: impl Future<Output = Answer> + Send + 'static) -> Begun {
        Begun::Later(Box::pin(answer))
    }
}

impl Node {
    fn new(from: Issuer, heard: Duration) -> Node {
        Node {
            incarnation: from.incarnation,
            heard,
            guests: HashMap::new(),
            committing: HashSet::new(),
        }
    }
}

impl Guest {
    /// Takes a lock. The error is the answer where it does not get it in time.
    async fn lock(
        &self,
        bytes: &[u8],
        mode: LockMode,
        waits: bool,
        waited: &mut bool,
        deadline: Instant,
    ) -> Result<(), Answer> {
        let Some(key) = decode_key(bytes) else {
            return Err(Answer::Refused("a lock on nothing".into()));
        };
        loop {
            let ended = std::pin::pin!(self.withdrawn.notified());
            let Some(mut wait) = self.try_lock(bytes, key, mode, waits, waited)? else {
                return Ok(());
            };
            let is_granted = {
                let either = futures_util::future::select(&mut wait, ended);
                let either = tokio::time::timeout_at(deadline, either).await;
                either.map(|either| matches!(either, Either::Left(_)))
            };
            match is_granted {
                Ok(true) => {}
                Ok(false) => return Err(Answer::LocksLost),
                Err(_late) => {
                    let mut state = self.state.lock();
                    if !state.is_over {
                        state.waiting = Some((bytes.to_vec(), mode, wait));
                    }
                    return Err(Answer::Waits);
                }
            }
        }
    }

    /// `None`: it has the lock. Otherwise it waits.
    fn try_lock(
        &self,
        bytes: &[u8],
        key: LockKey<'_>,
        mode: LockMode,
        waits: bool,
        waited: &mut bool,
    ) -> Result<Option<LockWait>, Answer> {
        let state = &mut *self.state.lock();
        if state.is_over || state.locks.are_lost() {
            return Err(Answer::LocksLost);
        }
        if let Some((_, _, wait)) = state.waiting.take_if(|(before, of, _)| before == bytes && *of == mode) {
            *waited = true;
            return Ok(Some(wait));
        }
        if !waits {
            return match state.locks.try_lock(key, mode) {
                true => Ok(None),
                false => Err(Answer::NotFree),
            };
        }
        match state.locks.lock(key, mode) {
            LockOutcome::Granted => Ok(None),
            LockOutcome::Wait(wait) => {
                *waited = true;
                Ok(Some(wait))
            }
            LockOutcome::Deadlock => Err(Answer::Deadlock),
        }
    }

    /// Gives the lock of a name back, or its place in the queue; false: its locks are lost.
    fn unlock(&self, name: &[u8]) -> bool {
        let (is_kept, wait) = {
            let state = &mut *self.state.lock();
            let is_kept = !state.is_over && !state.locks.are_lost();
            state.locks.unlock_name(name);
            (is_kept, state.waiting.take())
        };
        drop(wait);
        is_kept
    }

    /// Whoever waited for a lock does not any more.
    fn withdraw(&self) {
        let wait = self.state.lock().waiting.take();
        drop(wait);
        self.withdrawn.notify_waiters();
    }

    /// Its locks are free, and it gets no more.
    fn end(&self) {
        let wait = {
            let state = &mut *self.state.lock();
            state.is_over = true;
            state.locks.release_all();
            state.waiting.take()
        };
        drop(wait);
        self.withdrawn.notify_waiters();
    }
}
