//! Where transactions wait for the log, and where their sessions wait for the answer.
//!
//! ```text
//!   propose ──▶ waiting ──gather──▶ in flight ──applied──▶ answered
//!      ▲           │                    │
//!      └── full ◀──┘                    └── the shard failed ──▶ unknown
//! ```
//!
//! Any thread proposes; one thread gathers. While a batch is written and synced the next one collects here.
//!
//! While the replica does not lead, nothing is taken. What was in flight when its lead ended is in doubt: it may be in the log that the
//! others go on with. The log's next term settles it.
//!
//! A large transaction leaves in chunks, one large transaction after the other; between two chunks goes what else has come
//! meanwhile. So nobody waits for more than one chunk.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use env::failpoints;
use parking_lot::Mutex;
use store::{ChunkSize, Cut, Reservation, Uncut, WriteOps, WriteSet, WriteSetError};
use tokio::sync::oneshot;
use types::{TableId, Timestamp};

use crate::awake::{ANSWER, Awake, Look, Watch};
use crate::batch::{Origin, Piece};
use crate::consensus::Verdict;
use crate::meters::Meters;
use crate::outcomes::{Fate, Known, Outcomes};
use crate::prepared::PREPARED;
use crate::{ProposeError, Transaction, TransactionId};

type Answer = Result<Timestamp, ProposeError>;

/// A transaction that is larger goes into the log in chunks: to apply one takes some milliseconds.
const LARGEST_WHOLE: ChunkSize = ChunkSize {
    bytes: 1 << 20,
    rows: 4096,
};
const CHUNK: ChunkSize = ChunkSize {
    bytes: 256 << 10,
    rows: 2048,
};

/// A transaction that fits the line.
pub(crate) struct Entrant {
    transaction: Transaction,
    /// Its issuer asks about no sequence below any more.
    acknowledged: u64,
    /// Where it is cut, if it is a large one.
    cut: Option<Cut>,
}

impl Entrant {
    /// Checks the write set, too. Who changes rows of the table `whole` is never cut; that a transaction is prepared is said at its end.
    pub fn new(transaction: Transaction, acknowledged: u64, whole: Option<TableId>) -> Result<Entrant, WriteSetError> {
        let uncut = Uncut {
            whole,
            at_end: Some(PREPARED),
        };
        let cut = WriteOps::cut(&transaction.writes, LARGEST_WHOLE, CHUNK, uncut)?;
        Ok(Entrant {
            transaction,
            acknowledged,
            cut,
        })
    }
}

/// What goes into the log together.
pub(crate) type Departure = Vec<(Origin, Piece<Vec<u8>>)>;

/// Numbers the departures, so that word of one that was given up is not taken for word of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flight(u64);

/// A transaction in line, and who waits for it.
struct Proposal {
    transaction: Transaction,
    acknowledged: u64,
    answer: oneshot::Sender<Answer>,
    entered: Duration,
}

pub(crate) struct Queue {
    state: Mutex<State>,
    /// Bytes that may wait, of large transactions and of others each.
    limit: usize,
    meters: Arc<Meters>,
    /// How many are in doubt: looked at for every entry that is applied.
    doubts: AtomicUsize,
    /// Whether the next commits are waited for awake.
    pub awake: Awake,
}

#[derive(Default)]
struct State {
    /// The replica leads: transactions are taken.
    leads: bool,
    flight: Flight,
    doubts: Vec<Doubt>,
    waiting: Vec<Proposal>,
    waiting_bytes: usize,
    large: VecDeque<LargeProposal>,
    large_bytes: usize,
    in_flight: Vec<InFlight>,
    /// A part of the first large one is in flight: a chunk, or, where it is among those in flight, its end.
    part_in_flight: Option<Origin>,
    /// Large ones with chunks in the log, which will not get any further, but for the word that says so.
    given_up: Vec<Origin>,
    /// That word could not be written the last time.
    could_not_end: bool,
    /// A chunk is next, whoever else waits.
    chunk_is_next: bool,
    /// Set when nothing is taken any more.
    closed: Option<Arc<str>>,
    /// The gatherer, asleep because nothing waits.
    gatherer: Option<Waker>,
    /// Sessions whose proposals found no room.
    blocked: VecDeque<Waker>,
}

/// A large transaction in line.
struct LargeProposal {
    proposal: Proposal,
    cut: Cut,
    /// Chunks that are in the log.
    shipped: usize,
    /// Bytes of memory reserved at first.
    reserved: u64,
}

/// A transaction that may be in the log. Somebody waits for its outcome, or has been told that it is not known.
struct Doubt {
    one: InFlight,
    /// In which it was proposed: what the log shows in a later one is all it will ever show of it.
    term: u64,
    until: Duration,
    /// What must not be let go while it may yet commit: its locks.
    kept: Option<Box<dyn Send>>,
}

struct InFlight {
    id: TransactionId,
    /// `None`: it was told that the outcome is not known.
    answer: Option<oneshot::Sender<Answer>>,
    entered: Duration,
    /// Until the rows are in the store.
    _memory: Option<Reservation>,
}

impl Queue {
    pub fn new(limit: u64, meters: Arc<Meters>, awake: Awake) -> Queue {
        Queue {
            state: Mutex::default(),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            meters,
            doubts: AtomicUsize::new(0),
            awake,
        }
    }

    /// Takes transactions from now on.
    pub fn lead(&self) {
        self.state.lock().leads = true;
    }

    /// Takes none any more: another replica leads, or nobody does. Who waits was not committed.
    pub fn follow(&self) {
        let leaving = {
            let state = &mut *self.state.lock();
            state.leads = false;
            // The next term takes back what is in the log of them.
            state.given_up.clear();
            state.could_not_end = false;
            state.leave()
        };
        leaving.refuse();
    }

    /// Puts the transaction in line, now if there is room.
    pub fn propose(self: &Arc<Queue>, entrant: Entrant) -> Commit {
        let watch = self.awake.is_worth_it().then(|| Watch::new(ANSWER));
        let mut commit = Commit {
            queue: self.clone(),
            stage: Stage::Answered,
            watch,
        };
        commit.stage = self.enter(entrant, None);
        commit
    }

    fn enter(&self, entrant: Entrant, blocked: Option<&Waker>) -> Stage {
        let (answer, receiver) = oneshot::channel();
        let proposal = Proposal {
            transaction: entrant.transaction,
            acknowledged: entrant.acknowledged,
            answer,
            entered: self.meters.now(),
        };
        // The lock is let go before the gatherer, which wants it, is woken.
        let entered = self.state.lock().enter(proposal, entrant.cut, self.limit, blocked);
        match entered {
            Ok(gatherer) => {
                gatherer.into_iter().for_each(Waker::wake);
                Stage::Waiting(receiver)
            }
            Err(stage) => stage,
        }
    }

    /// Waits until there is something to commit, and puts as much of it as fits into `most` bytes in flight. From here on
    /// its fate is the log's: [`answer`](Self::answer) or [`reject`](Self::reject) before the next call. `None`: the queue
    /// is closed, and empty.
    pub async fn gather(&self, most: usize) -> Option<(Flight, Departure)> {
        std::future::poll_fn(|context| {
            let state = &mut *self.state.lock();
            let departure = state.depart(most);
            if !departure.is_empty() {
                state.flight.0 += 1;
                return Poll::Ready(Some((state.flight, departure)));
            }
            if state.closed.is_some() {
                return Poll::Ready(None);
            }
            state.gatherer = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// What is in flight is in the log: answers the proposals that ended with it, in order. False: that flight is in doubt, or over.
    pub fn answer(&self, flight: Flight, verdicts: &[Verdict]) -> bool {
        let in_flight = {
            let state = &mut *self.state.lock();
            if state.flight != flight {
                return false;
            }
            state.given_up.clear();
            if state.part_in_flight.take().is_some()
                && state.in_flight.is_empty()
                && let Some(large) = state.large.front_mut()
            {
                large.chunk_applied();
            }
            std::mem::take(&mut state.in_flight)
        };
        assert_eq!(
            in_flight.len(),
            verdicts.len(),
            "one batch is in flight, and all of it was applied"
        );
        let now = self.meters.now();
        for (one, verdict) in in_flight.into_iter().zip(verdicts) {
            self.meters.commit.observe_time(now.saturating_sub(one.entered));
            one.tell(verdict.clone().map_err(ProposeError::from));
        }
        true
    }

    /// What is in flight may or may not be in the log that goes on. Who waits for it waits for the log, until then.
    pub fn doubt(&self, flight: Flight, term: u64, until: Duration) {
        let state = &mut *self.state.lock();
        if state.flight != flight {
            return;
        }
        state.flight.0 += 1;
        let mut in_flight = std::mem::take(&mut state.in_flight);
        if let Some(part) = state.part_in_flight.take()
            && in_flight.is_empty()
        {
            // Its end is not on its way, and never will be.
            state.given_up.push(part);
            in_flight.extend(state.take_large().map(|large| large.proposal.depart().1));
        }
        let doubts = in_flight.into_iter().map(|one| Doubt {
            one,
            term,
            until,
            kept: None,
        });
        state.doubts.extend(doubts);
        self.doubts.store(state.doubts.len(), Ordering::Release);
    }

    /// Answers those in doubt of whom the log, applied up to an entry of this term, says what became of them.
    pub fn settle_doubts(&self, term: u64, outcomes: &Outcomes) {
        if self.doubts.load(Ordering::Acquire) == 0 {
            return;
        }
        let verdict = |doubt: &Doubt| match outcomes.get(doubt.one.id) {
            Known::Fate(Fate::Committed(timestamp)) => Some(Ok(timestamp)),
            Known::Fate(Fate::Aborted) => Some(Err(ProposeError::LocksLost)),
            Known::Forgotten => Some(Err(ProposeError::Forgotten)),
            Known::Nothing => {
                let is_over = doubt.term < term || failpoints::goes_wrong("doubt.early");
                is_over.then_some(Err(ProposeError::NotLeader))
            }
        };
        let settled: Vec<_> = {
            let state = &mut *self.state.lock();
            let settled = state.doubts.extract_if(.., |doubt| verdict(doubt).is_some());
            let settled = settled.collect();
            self.doubts.store(state.doubts.len(), Ordering::Release);
            settled
        };
        for doubt in settled {
            tracing::debug!(id = ?doubt.one.id, "the log says what became of a transaction in doubt");
            let answer = verdict(&doubt).expect("it was chosen for that");
            doubt.one.tell(answer);
        }
    }

    /// Answers those in doubt whose time is over. They are in doubt still: they may commit in this very term.
    pub fn give_up_doubts(&self, now: Duration) {
        if self.doubts.load(Ordering::Acquire) == 0 {
            return;
        }
        let late: Vec<_> = {
            let state = &mut *self.state.lock();
            let late = state.doubts.iter_mut().filter(|doubt| doubt.until <= now);
            late.filter_map(|doubt| doubt.one.answer.take()).collect()
        };
        let reason: Arc<str> = "no majority of the replicas answers".into();
        for answer in late {
            let _ = answer.send(Err(ProposeError::Unknown { reason: reason.clone() }));
        }
    }

    /// What a transaction relies on comes back with its answer; where that says that the outcome is not known, it is kept until it is.
    pub fn keep_if_unknown<H: Send + 'static>(&self, id: TransactionId, answer: &Answer, held: H) -> Option<H> {
        match answer {
            Err(ProposeError::Unknown { .. }) => {
                self.keep(id, Box::new(held));
                None
            }
            _ => Some(held),
        }
    }

    /// Keeps this as long as the transaction is in doubt.
    fn keep(&self, id: TransactionId, kept: Box<dyn Send>) {
        let state = &mut *self.state.lock();
        if let Some(doubt) = state.doubts.iter_mut().find(|doubt| doubt.one.id == id)
            && !failpoints::goes_wrong("doubt.locks")
        {
            doubt.kept = Some(kept);
        }
    }

    /// Answers everybody, because the thread that commits in this term waits for its disk, and nobody knows until when. Who was in flight
    /// may be in the log, and is in doubt; the thread finds that flight given up.
    pub fn give_up(&self, term: u64, now: Duration) {
        let flight = self.state.lock().flight;
        self.doubt(flight, term, now);
        let leaving = {
            let state = &mut *self.state.lock();
            // The term goes on, so that somebody has to take back what is in the log of them.
            let begun = state.large.iter().filter(|large| large.shipped > 0);
            let begun: Vec<Origin> = begun.map(|large| large.proposal.origin()).collect();
            state.given_up.extend(begun);
            state.leave()
        };
        leaving.refuse();
        self.give_up_doubts(now);
    }

    /// Answers the proposals in flight, which did not get into the log. A large transaction ends with its first part that does not.
    pub fn reject(&self, flight: Flight, error: &ProposeError) {
        let in_flight = {
            let state = &mut *self.state.lock();
            if state.flight != flight {
                return;
            }
            let mut in_flight = std::mem::take(&mut state.in_flight);
            state.could_not_end = true;
            if let Some(part) = state.part_in_flight.take() {
                if in_flight.is_empty() {
                    in_flight.extend(state.take_large().map(|large| large.proposal.depart().1));
                }
                state.given_up.push(part);
                state.could_not_end = false;
            }
            in_flight
        };
        for one in in_flight {
            one.tell(Err(error.clone()));
        }
    }

    /// Time has passed: what could not be ended may be tried again.
    pub fn try_again(&self) {
        self.state.lock().could_not_end = false;
    }

    /// Takes no more proposals. Those that wait are still gathered.
    pub fn close(&self, reason: Arc<str>) {
        let (blocked, gatherer) = {
            let state = &mut *self.state.lock();
            state.closed.get_or_insert(reason);
            (std::mem::take(&mut state.blocked), state.gatherer.take())
        };
        blocked.into_iter().chain(gatherer).for_each(Waker::wake);
    }

    /// Answers everybody: who waits was not committed, who was in flight may have been.
    pub fn fail(&self, reason: Arc<str>) {
        self.close(reason.clone());
        let (waiting, in_flight, doubts) = {
            let state = &mut *self.state.lock();
            self.doubts.store(0, Ordering::Release);
            (
                state.take_waiting(),
                std::mem::take(&mut state.in_flight),
                std::mem::take(&mut state.doubts),
            )
        };
        for one in waiting {
            let _ = one.answer.send(Err(ProposeError::Stopped { reason: reason.clone() }));
        }
        for one in in_flight.into_iter().chain(doubts.into_iter().map(|doubt| doubt.one)) {
            one.tell(Err(ProposeError::Unknown { reason: reason.clone() }));
        }
    }

    /// Whether the transaction is on its way.
    pub fn holds(&self, id: TransactionId) -> bool {
        let state = self.state.lock();
        state.waiting.iter().any(|one| one.transaction.id == id)
            || state.large.iter().any(|one| one.proposal.transaction.id == id)
            || state.in_flight.iter().any(|one| one.id == id)
            || state.doubts.iter().any(|doubt| doubt.one.id == id)
    }

    pub fn is_closed(&self) -> bool {
        self.state.lock().closed.is_some()
    }

    /// Whether nothing waits and nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.state.lock().is_empty()
    }

    /// Whether nothing will be gathered any more.
    pub fn is_over(&self) -> bool {
        let state = self.state.lock();
        state.closed.is_some() && state.is_empty()
    }
}

impl State {
    /// Puts the proposal in line and returns the gatherer if it sleeps; or says why not.
    fn enter(
        &mut self,
        proposal: Proposal,
        cut: Option<Cut>,
        limit: usize,
        blocked: Option<&Waker>,
    ) -> Result<Option<Waker>, Stage> {
        if let Some(reason) = &self.closed {
            let reason = reason.clone();
            return Err(Stage::Refused(ProposeError::Stopped { reason }));
        }
        if !self.leads {
            return Err(Stage::Refused(ProposeError::NotLeader));
        }
        let bytes = proposal.transaction.writes.len();
        let line_bytes = match &cut {
            Some(_) => &mut self.large_bytes,
            None => &mut self.waiting_bytes,
        };
        if *line_bytes > 0 && *line_bytes + bytes > limit {
            self.blocked.extend(blocked.cloned());
            return Err(Stage::Blocked(Box::new(Entrant {
                transaction: proposal.transaction,
                acknowledged: proposal.acknowledged,
                cut,
            })));
        }
        *line_bytes += bytes;
        match cut {
            Some(cut) => self.large.push_back(LargeProposal {
                reserved: proposal.transaction.memory.as_ref().map_or(0, Reservation::bytes),
                proposal,
                cut,
                shipped: 0,
            }),
            None => self.waiting.push(proposal),
        }
        Ok(self.gatherer.take())
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.large.is_empty() && self.in_flight.is_empty()
    }

    /// Puts something in flight, if there is anything.
    fn depart(&mut self, most: usize) -> Departure {
        // Whoever comes now may want rows that these have changed.
        let mut departure: Departure = self.given_up.iter().map(|&part| (part, Piece::Abort)).collect();
        if !self.could_not_end && !departure.is_empty() {
            return departure;
        }
        if self.waiting.is_empty() && self.large.is_empty() {
            return Departure::new();
        }
        if !self.large.is_empty() && (self.waiting.is_empty() || self.chunk_is_next) {
            self.chunk_is_next = false;
            departure.extend(self.depart_part());
        } else {
            self.chunk_is_next = true;
            self.depart_whole(most, &mut departure);
        }
        self.blocked.drain(..).for_each(Waker::wake);
        departure
    }

    /// The next part of the first large transaction.
    fn depart_part(&mut self) -> Option<(Origin, Piece<Vec<u8>>)> {
        let large = self.large.front()?;
        let origin = large.proposal.origin();
        let writes = &large.proposal.transaction.writes;
        self.part_in_flight = Some(origin);
        if let Some(chunk) = large.cut.chunks.get(large.shipped) {
            let piece = Piece::Chunk {
                number: u32::try_from(large.shipped).expect("write sets are shorter than 4 GiB"),
                writes: WriteSet::of_chunk(writes, chunk.clone()).into_bytes(),
            };
            return Some((origin, piece));
        }
        let large = self.take_large()?;
        let piece = Piece::Commit {
            chunks: u32::try_from(large.shipped).expect("as above"),
            writes: large.cut.rest,
        };
        self.in_flight.push(large.proposal.depart().1);
        Some((origin, piece))
    }

    /// Everybody in line, and whoever waits for a place in it.
    fn leave(&mut self) -> Leaving {
        Leaving {
            waiting: self.take_waiting(),
            blocked: std::mem::take(&mut self.blocked),
        }
    }

    /// Everybody in line.
    fn take_waiting(&mut self) -> Vec<Proposal> {
        self.waiting_bytes = 0;
        self.large_bytes = 0;
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.extend(std::mem::take(&mut self.large).into_iter().map(|large| large.proposal));
        waiting
    }

    fn take_large(&mut self) -> Option<LargeProposal> {
        let large = self.large.pop_front()?;
        self.large_bytes -= large.proposal.transaction.writes.len();
        Some(large)
    }

    fn depart_whole(&mut self, most: usize, departure: &mut Departure) {
        let mut bytes = 0;
        let fitting = self.waiting.iter().take_while(|one| {
            let is_first = bytes == 0;
            bytes += one.transaction.writes.len().max(1);
            is_first || bytes <= most
        });
        let count = fitting.count();
        for proposal in self.waiting.drain(..count) {
            let origin = proposal.origin();
            let (transaction, in_flight) = proposal.depart();
            self.waiting_bytes -= transaction.writes.len();
            self.in_flight.push(in_flight);
            departure.push((origin, Piece::Whole(transaction.writes)));
        }
    }
}

/// Who is not committed here. Told when the queue is not locked.
struct Leaving {
    waiting: Vec<Proposal>,
    blocked: VecDeque<Waker>,
}

impl Leaving {
    fn refuse(self) {
        for one in self.waiting {
            let _ = one.answer.send(Err(ProposeError::NotLeader));
        }
        self.blocked.into_iter().for_each(Waker::wake);
    }
}

impl InFlight {
    /// A session that does not wait any more is told nothing.
    fn tell(self, answer: Answer) {
        if let Some(session) = self.answer {
            let _ = session.send(answer);
        }
    }
}

impl LargeProposal {
    /// The chunk in flight is in the store, which is charged for its rows: gives back its share of what was reserved for all.
    fn chunk_applied(&mut self) {
        let Transaction { writes, memory, .. } = &mut self.proposal.transaction;
        if let (Some(chunk), Some(memory)) = (self.cut.chunks.get(self.shipped), memory) {
            let share = u128::from(self.reserved) * chunk.len() as u128 / writes.len().max(1) as u128;
            memory.shrink(u64::try_from(share).expect("a part of what was reserved"));
        }
        self.shipped += 1;
    }
}

impl Proposal {
    fn origin(&self) -> Origin {
        Origin {
            id: self.transaction.id,
            acknowledged: self.acknowledged,
            lock_epoch: self.transaction.lock_epoch,
            durability: self.transaction.durability,
        }
    }

    fn depart(mut self) -> (Transaction, InFlight) {
        let in_flight = InFlight {
            id: self.transaction.id,
            answer: Some(self.answer),
            entered: self.entered,
            _memory: self.transaction.memory.take(),
        };
        (self.transaction, in_flight)
    }
}

/// A proposed transaction's answer to come.
#[must_use = "the answer says whether the transaction committed"]
pub(crate) struct Commit {
    queue: Arc<Queue>,
    stage: Stage,
    /// The answer is waited for awake.
    watch: Option<Watch>,
}

enum Stage {
    Refused(ProposeError),
    Blocked(Box<Entrant>),
    Waiting(oneshot::Receiver<Answer>),
    Answered,
}

impl Future for Commit {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let this = &mut *self;
        loop {
            match std::mem::replace(&mut this.stage, Stage::Answered) {
                Stage::Refused(error) => return Poll::Ready(Err(error)),
                Stage::Blocked(entrant) => {
                    this.stage = this.queue.enter(*entrant, Some(context.waker()));
                    if matches!(this.stage, Stage::Blocked(_)) {
                        return Poll::Pending;
                    }
                }
                Stage::Waiting(mut receiver) => {
                    if let Some(watch) = &mut this.watch {
                        if let Ok(answer) = receiver.try_recv() {
                            return Poll::Ready(answer);
                        }
                        match watch.look() {
                            Look::GoOn => {
                                std::thread::yield_now();
                                this.stage = Stage::Waiting(receiver);
                                context.waker().wake_by_ref();
                                return Poll::Pending;
                            }
                            Look::Over | Look::Disturbed => {
                                this.queue.awake.waste();
                                this.watch = None;
                            }
                        }
                    }
                    let answer = Pin::new(&mut receiver).poll(context);
                    return match answer {
                        Poll::Pending => {
                            this.stage = Stage::Waiting(receiver);
                            Poll::Pending
                        }
                        Poll::Ready(answer) => Poll::Ready(answer.unwrap_or_else(|_| {
                            Err(ProposeError::Unknown {
                                reason: "the shard went away".into(),
                            })
                        })),
                    };
                }
                Stage::Answered => panic!("a commit was polled after its answer"),
            }
        }
    }
}

#[cfg(test)]
mod tests;
