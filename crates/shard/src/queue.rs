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
//! A large transaction leaves in chunks, one large transaction after the other; between two chunks goes what else has come
//! meanwhile. So nobody waits for more than one chunk.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use store::{ChunkSize, Cut, Reservation, WriteOps, WriteSet, WriteSetError};
use tokio::sync::oneshot;
use types::{TableId, Timestamp};

use crate::batch::{Origin, Piece};
use crate::consensus::Verdict;
use crate::meters::Meters;
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
    /// Checks the write set, too. Rows of the table `whole` are never in chunks.
    pub fn new(transaction: Transaction, acknowledged: u64, whole: Option<TableId>) -> Result<Entrant, WriteSetError> {
        let cut = WriteOps::cut(&transaction.writes, LARGEST_WHOLE, CHUNK, whole)?;
        Ok(Entrant {
            transaction,
            acknowledged,
            cut,
        })
    }
}

/// What goes into the log together.
pub(crate) type Departure = Vec<(Origin, Piece<Vec<u8>>)>;

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
}

#[derive(Default)]
struct State {
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

struct InFlight {
    id: TransactionId,
    answer: oneshot::Sender<Answer>,
    entered: Duration,
    /// Until the rows are in the store.
    _memory: Option<Reservation>,
}

impl Queue {
    pub fn new(limit: u64, meters: Arc<Meters>) -> Queue {
        Queue {
            state: Mutex::default(),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            meters,
        }
    }

    /// Puts the transaction in line, now if there is room.
    pub fn propose(self: &Arc<Queue>, entrant: Entrant) -> Commit {
        let mut commit = Commit {
            queue: self.clone(),
            stage: Stage::Answered,
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
    pub async fn gather(&self, most: usize) -> Option<Departure> {
        std::future::poll_fn(|context| {
            let state = &mut *self.state.lock();
            let departure = state.depart(most);
            if !departure.is_empty() {
                return Poll::Ready(Some(departure));
            }
            if state.closed.is_some() {
                return Poll::Ready(None);
            }
            state.gatherer = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// What is in flight is in the log: answers the proposals that ended with it, in order.
    pub fn answer(&self, verdicts: &[Verdict]) {
        let in_flight = {
            let state = &mut *self.state.lock();
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
            // A session that does not wait any more is told nothing.
            let _ = one.answer.send(verdict.clone().map_err(ProposeError::from));
        }
    }

    /// Answers the proposals in flight, which did not get into the log. A large transaction ends with its first part that does not.
    pub fn reject(&self, error: &ProposeError) {
        let in_flight = {
            let state = &mut *self.state.lock();
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
            let _ = one.answer.send(Err(error.clone()));
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
        let (waiting, in_flight) = {
            let state = &mut *self.state.lock();
            state.waiting_bytes = 0;
            state.large_bytes = 0;
            let mut waiting = std::mem::take(&mut state.waiting);
            waiting.extend(std::mem::take(&mut state.large).into_iter().map(|large| large.proposal));
            (waiting, std::mem::take(&mut state.in_flight))
        };
        for one in waiting {
            let _ = one.answer.send(Err(ProposeError::Stopped { reason: reason.clone() }));
        }
        for one in in_flight {
            let _ = one.answer.send(Err(ProposeError::Unknown { reason: reason.clone() }));
        }
    }

    /// Whether the transaction is on its way.
    pub fn holds(&self, id: TransactionId) -> bool {
        let state = self.state.lock();
        state.waiting.iter().any(|one| one.transaction.id == id)
            || state.large.iter().any(|one| one.proposal.transaction.id == id)
            || state.in_flight.iter().any(|one| one.id == id)
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
        }
    }

    fn depart(mut self) -> (Transaction, InFlight) {
        let in_flight = InFlight {
            id: self.transaction.id,
            answer: self.answer,
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
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use env::{Clock, ManualClock};
    use store::{MemoryBudget, MemoryUse};

    use super::*;
    use crate::Issuer;
    use crate::consensus::Abort;

    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn queue(limit: u64) -> Arc<Queue> {
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
        Arc::new(Queue::new(limit, Meters::new(clock)))
    }

    fn transaction(sequence: u64, bytes: usize) -> Entrant {
        let writes = vec![0; bytes];
        Entrant {
            transaction: Transaction {
                id: id(sequence),
                lock_epoch: 0,
                writes,
                memory: None,
            },
            acknowledged: 0,
            cut: None,
        }
    }

    fn id(sequence: u64) -> TransactionId {
        let issuer = Issuer {
            node: 1,
            incarnation: 1,
        };
        TransactionId { issuer, sequence }
    }

    /// One of `chunks` chunks of a byte each.
    fn large(sequence: u64, chunks: usize) -> Entrant {
        let cut = Cut {
            chunks: (0..chunks).map(|at| at..at + 1).collect(),
            rest: vec![9],
        };
        Entrant {
            cut: Some(cut),
            ..transaction(sequence, chunks)
        }
    }

    fn poll<F: Future + Unpin>(future: &mut F, counter: &Arc<Counter>) -> Poll<F::Output> {
        let waker = Waker::from(counter.clone());
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }

    fn sequences(gathered: Poll<Option<Departure>>) -> Vec<u64> {
        match gathered {
            Poll::Ready(Some(departure)) => departure.iter().map(|(origin, _)| origin.id.sequence).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn proposals_gather_until_they_are_fetched_and_are_answered_in_order() {
        let (queue, counter) = (queue(1000), Arc::new(Counter(AtomicUsize::new(0))));
        let mut gather = Box::pin(queue.gather(25));
        assert!(poll(&mut gather, &counter).is_pending());
        let mut commits: Vec<_> = (0..4).map(|n| queue.propose(transaction(n, 10))).collect();
        assert_eq!(counter.0.load(Ordering::SeqCst), 1, "the gatherer is woken once");
        assert_eq!(sequences(poll(&mut gather, &counter)), [0, 1], "a third would not fit");
        assert!(queue.holds(id(0)) && queue.holds(id(3)));
        queue.answer(&[Ok(Timestamp(7)), Ok(Timestamp(8))]);
        assert!(matches!(poll(&mut commits[1], &counter), Poll::Ready(Ok(Timestamp(8)))));
        assert!(poll(&mut commits[2], &counter).is_pending());
        assert!(!queue.holds(id(0)) && !queue.is_empty());
        assert_eq!(
            sequences(poll(&mut Box::pin(queue.gather(1)), &counter)),
            [2],
            "one always fits"
        );
        queue.reject(&ProposeError::DiskFull);
        assert!(matches!(
            poll(&mut commits[2], &counter),
            Poll::Ready(Err(ProposeError::DiskFull))
        ));
    }

    #[test]
    fn a_full_queue_makes_proposals_wait() {
        let (queue, counter) = (queue(25), Arc::new(Counter(AtomicUsize::new(0))));
        let mut large = queue.propose(transaction(0, 100));
        let mut blocked = queue.propose(transaction(1, 10));
        assert!(poll(&mut large, &counter).is_pending() && poll(&mut blocked, &counter).is_pending());
        assert_eq!(
            sequences(poll(&mut Box::pin(queue.gather(1000)), &counter)),
            [0],
            "alone it is let in at any size"
        );
        assert_eq!(counter.0.load(Ordering::SeqCst), 1, "there is room again");
        queue.answer(&[Ok(Timestamp(1))]);
        assert!(poll(&mut blocked, &counter).is_pending());
        assert_eq!(sequences(poll(&mut Box::pin(queue.gather(1000)), &counter)), [1]);
    }

    /// What is gathered next, as text.
    fn next(queue: &Arc<Queue>, counter: &Arc<Counter>) -> String {
        let Poll::Ready(Some(departure)) = poll(&mut Box::pin(queue.gather(1000)), counter) else {
            return "nothing".into();
        };
        let pieces = departure.iter().map(|(origin, piece)| {
            let id = origin.id.sequence;
            match piece {
                Piece::Whole(_) => format!("{id}"),
                Piece::Chunk { number, .. } => format!("{id} chunk {number}"),
                Piece::Commit { chunks, .. } => format!("{id} commit of {chunks}"),
                Piece::Abort => format!("{id} abort"),
            }
        });
        pieces.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn between_the_chunks_of_a_large_transaction_go_others() {
        let (queue, counter) = (queue(1000), Arc::new(Counter(AtomicUsize::new(0))));
        let mut commits = [
            queue.propose(large(0, 2)),
            queue.propose(large(1, 1)),
            queue.propose(transaction(2, 1)),
        ];
        let step = |expected: &str, verdicts: &[Verdict]| {
            assert_eq!(next(&queue, &counter), expected);
            queue.answer(verdicts);
        };
        step("2", &[Ok(Timestamp(1))]);
        step("0 chunk 0", &[]);
        step("0 chunk 1", &[]);
        let _third = queue.propose(transaction(3, 1));
        let _fourth = queue.propose(transaction(4, 1));
        step("3, 4", &[Ok(Timestamp(2)), Ok(Timestamp(3))]);
        let _fifth = queue.propose(transaction(5, 1));
        step("0 commit of 2", &[Ok(Timestamp(4))]);
        step("5", &[Ok(Timestamp(5))]);
        assert!(queue.holds(id(1)) && !queue.holds(id(0)));
        step("1 chunk 0", &[]);
        step("1 commit of 1", &[Err(Abort::Unfit("no".into()))]);
        assert!(queue.is_empty());
        let answers = commits.each_mut().map(|commit| poll(commit, &counter));
        assert!(matches!(
            answers,
            [
                Poll::Ready(Ok(Timestamp(4))),
                Poll::Ready(Err(ProposeError::Aborted { .. })),
                Poll::Ready(Ok(Timestamp(1)))
            ]
        ));
    }

    #[test]
    fn a_large_transaction_ends_with_its_first_part_that_is_rejected() {
        let (queue, counter) = (queue(1000), Arc::new(Counter(AtomicUsize::new(0))));
        let full = ProposeError::DiskFull;
        for at_its_end in [false, true] {
            let mut commit = queue.propose(large(0, 2));
            for part in ["0 chunk 0", "0 chunk 1"].into_iter().take(1 + usize::from(at_its_end)) {
                assert_eq!(next(&queue, &counter), part);
                queue.answer(&[]);
            }
            assert!(next(&queue, &counter).starts_with("0 c"));
            queue.reject(&full);
            assert!(matches!(
                poll(&mut commit, &counter),
                Poll::Ready(Err(ProposeError::DiskFull))
            ));
            assert!(queue.is_empty() && !queue.holds(id(0)));
            // Its end comes before anything else, and is tried again in time.
            assert_eq!(next(&queue, &counter), "0 abort");
            queue.reject(&full);
            assert_eq!(next(&queue, &counter), "nothing");
            let _after = queue.propose(transaction(1, 1));
            assert_eq!(next(&queue, &counter), "0 abort, 1");
            queue.reject(&full);
            queue.try_again();
            assert_eq!(next(&queue, &counter), "0 abort");
            queue.answer(&[]);
            assert_eq!(next(&queue, &counter), "nothing");
        }
    }

    #[test]
    fn reserved_memory_is_given_back_as_the_rows_come() {
        let (queue, counter) = (queue(1000), Arc::new(Counter(AtomicUsize::new(0))));
        let budget = MemoryBudget::new(1 << 30);
        let reserving = |mut entrant: Entrant| {
            entrant.transaction.memory = Some(budget.reserve(MemoryUse::Transactions, 900).unwrap());
            entrant
        };
        let used = || budget.used_by(MemoryUse::Transactions);
        let mut large = large(0, 2);
        large.transaction.writes = vec![0; 9];
        let _large = queue.propose(reserving(large));
        assert_eq!((next(&queue, &counter).as_str(), used()), ("0 chunk 0", 900));
        queue.answer(&[]);
        assert_eq!((next(&queue, &counter).as_str(), used()), ("0 chunk 1", 800));
        queue.answer(&[]);
        let _small = queue.propose(reserving(transaction(1, 1)));
        assert_eq!((next(&queue, &counter).as_str(), used()), ("1", 1600));
        queue.answer(&[Ok(Timestamp(1))]);
        assert_eq!((next(&queue, &counter).as_str(), used()), ("0 commit of 2", 700));
        queue.reject(&ProposeError::DiskFull);
        assert_eq!(used(), 0);
    }

    #[test]
    fn after_a_failure_who_waited_is_refused_and_who_was_in_flight_does_not_know() {
        let (queue, counter) = (queue(25), Arc::new(Counter(AtomicUsize::new(0))));
        let mut in_flight = queue.propose(transaction(0, 10));
        sequences(poll(&mut Box::pin(queue.gather(10)), &counter));
        let mut waiting = queue.propose(transaction(1, 20));
        let mut blocked = queue.propose(transaction(2, 20));
        assert!(poll(&mut blocked, &counter).is_pending());
        queue.fail("the disk is gone".into());
        let unknown = poll(&mut in_flight, &counter);
        assert!(matches!(unknown, Poll::Ready(Err(ProposeError::Unknown { .. }))));
        let mut late = queue.propose(transaction(3, 1));
        for refused in [&mut waiting, &mut blocked, &mut late] {
            assert!(matches!(
                poll(refused, &counter),
                Poll::Ready(Err(ProposeError::Stopped { .. }))
            ));
        }
        assert!(matches!(
            poll(&mut Box::pin(queue.gather(1)), &counter),
            Poll::Ready(None)
        ));
    }
}
