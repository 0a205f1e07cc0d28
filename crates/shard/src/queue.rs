//! Where transactions wait for the log, and where their sessions wait for the answer.
//!
//! ```text
//!   propose ──▶ waiting ──gather──▶ in flight ──applied──▶ answered
//!      ▲           │                    │
//!      └── full ◀──┘                    └── the shard failed ──▶ unknown
//! ```
//!
//! Any thread proposes; one thread gathers. While a batch is written and synced the next one collects here.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use types::Timestamp;

use crate::consensus::Verdict;
use crate::meters::Meters;
use crate::{ProposeError, Transaction, TransactionId};

type Answer = Result<Timestamp, ProposeError>;

/// A transaction in line, and who waits for it.
struct Proposal {
    transaction: Transaction,
    answer: oneshot::Sender<Answer>,
    entered: Duration,
}

pub(crate) struct Queue {
    state: Mutex<State>,
    /// Bytes that may wait.
    limit: usize,
    meters: Arc<Meters>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Proposal>,
    waiting_bytes: usize,
    in_flight: Vec<InFlight>,
    /// Set when nothing is taken any more.
    closed: Option<Arc<str>>,
    /// The gatherer, asleep because nothing waits.
    gatherer: Option<Waker>,
    /// Sessions whose proposals found no room.
    blocked: VecDeque<Waker>,
}

struct InFlight {
    id: TransactionId,
    answer: oneshot::Sender<Answer>,
    entered: Duration,
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
    pub fn propose(self: &Arc<Queue>, transaction: Transaction) -> Commit {
        let mut commit = Commit {
            queue: self.clone(),
            stage: Stage::Answered,
        };
        commit.stage = self.enter(transaction, None);
        commit
    }

    fn enter(&self, transaction: Transaction, blocked: Option<&Waker>) -> Stage {
        let (answer, receiver) = oneshot::channel();
        let proposal = Proposal {
            transaction,
            answer,
            entered: self.meters.now(),
        };
        // The lock is let go before the gatherer, which wants it, is woken.
        let entered = self.state.lock().enter(proposal, self.limit, blocked);
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
    pub async fn gather(&self, most: usize) -> Option<Vec<Transaction>> {
        std::future::poll_fn(|context| {
            let state = &mut *self.state.lock();
            if !state.waiting.is_empty() {
                return Poll::Ready(Some(state.depart(most)));
            }
            if state.closed.is_some() {
                return Poll::Ready(None);
            }
            state.gatherer = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Answers the proposals in flight, in order.
    pub fn answer(&self, verdicts: &[Verdict]) {
        let in_flight = std::mem::take(&mut self.state.lock().in_flight);
        assert_eq!(
            in_flight.len(),
            verdicts.len(),
            "one batch is in flight, and all of it was applied"
        );
        let now = self.meters.now();
        for (one, verdict) in in_flight.into_iter().zip(verdicts) {
            self.meters.commit.observe_time(now.saturating_sub(one.entered));
            // A session that does not wait any more is told nothing.
            let answer = verdict.clone().map_err(|reason| ProposeError::Aborted { reason });
            let _ = one.answer.send(answer);
        }
    }

    /// Answers the proposals in flight, which did not get into the log.
    pub fn reject(&self, error: &ProposeError) {
        let in_flight = std::mem::take(&mut self.state.lock().in_flight);
        for one in in_flight {
            let _ = one.answer.send(Err(error.clone()));
        }
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
            (std::mem::take(&mut state.waiting), std::mem::take(&mut state.in_flight))
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
        state.waiting.iter().any(|one| one.transaction.id == id) || state.in_flight.iter().any(|one| one.id == id)
    }

    /// Whether nothing waits and nothing is in flight.
    pub fn is_empty(&self) -> bool {
        let state = self.state.lock();
        state.waiting.is_empty() && state.in_flight.is_empty()
    }
}

impl State {
    /// Puts the proposal in line and returns the gatherer if it sleeps; or says why not.
    fn enter(&mut self, proposal: Proposal, limit: usize, blocked: Option<&Waker>) -> Result<Option<Waker>, Stage> {
        if let Some(reason) = &self.closed {
            let reason = reason.clone();
            return Err(Stage::Refused(ProposeError::Stopped { reason }));
        }
        let bytes = proposal.transaction.writes.len();
        if self.waiting_bytes > 0 && self.waiting_bytes + bytes > limit {
            self.blocked.extend(blocked.cloned());
            return Err(Stage::Blocked(proposal.transaction));
        }
        self.waiting_bytes += bytes;
        self.waiting.push(proposal);
        Ok(self.gatherer.take())
    }

    fn depart(&mut self, most: usize) -> Vec<Transaction> {
        let mut bytes = 0;
        let fitting = self.waiting.iter().take_while(|one| {
            let is_first = bytes == 0;
            bytes += one.transaction.writes.len().max(1);
            is_first || bytes <= most
        });
        let count = fitting.count();
        let mut transactions = Vec::with_capacity(count);
        for Proposal {
            transaction,
            answer,
            entered,
        } in self.waiting.drain(..count)
        {
            self.waiting_bytes -= transaction.writes.len();
            self.in_flight.push(InFlight {
                id: transaction.id,
                answer,
                entered,
            });
            transactions.push(transaction);
        }
        self.blocked.drain(..).for_each(Waker::wake);
        transactions
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
    Blocked(Transaction),
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
                Stage::Blocked(transaction) => {
                    this.stage = this.queue.enter(transaction, Some(context.waker()));
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

    use super::*;

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

    fn transaction(sequence: u64, bytes: usize) -> Transaction {
        let id = TransactionId { term: 1, sequence };
        Transaction {
            id,
            writes: vec![0; bytes],
        }
    }

    fn poll<F: Future + Unpin>(future: &mut F, counter: &Arc<Counter>) -> Poll<F::Output> {
        let waker = Waker::from(counter.clone());
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }

    fn sequences(gathered: Poll<Option<Vec<Transaction>>>) -> Vec<u64> {
        match gathered {
            Poll::Ready(Some(transactions)) => transactions.iter().map(|one| one.id.sequence).collect(),
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
        assert!(queue.holds(transaction(0, 0).id) && queue.holds(transaction(3, 0).id));
        queue.answer(&[Ok(Timestamp(7)), Ok(Timestamp(8))]);
        assert!(matches!(poll(&mut commits[1], &counter), Poll::Ready(Ok(Timestamp(8)))));
        assert!(poll(&mut commits[2], &counter).is_pending());
        assert!(!queue.holds(transaction(0, 0).id) && !queue.is_empty());
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
