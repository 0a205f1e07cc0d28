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
        let state = &mut *self.state.lock();
        if let Some(reason) = &state.closed {
            return Stage::Refused(ProposeError::Stopped { reason: reason.clone() });
        }
        let bytes = transaction.writes.len();
        if state.waiting_bytes > 0 && state.waiting_bytes + bytes > self.limit {
            state.blocked.extend(blocked.cloned());
            return Stage::Blocked(transaction);
        }
        let (answer, receiver) = oneshot::channel();
        state.waiting_bytes += bytes;
        state.waiting.push(Proposal {
            transaction,
            answer,
            entered: self.meters.now(),
        });
        // The lock is still held; the gatherer that finds it so waits a moment.
        if let Some(gatherer) = state.gatherer.take() {
            gatherer.wake();
        }
        Stage::Waiting(receiver)
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
    pub fn answer(&self, timestamps: &[Timestamp]) {
        let in_flight = std::mem::take(&mut self.state.lock().in_flight);
        assert_eq!(
            in_flight.len(),
            timestamps.len(),
            "one batch is in flight, and all of it was applied"
        );
        let now = self.meters.now();
        for (one, &timestamp) in in_flight.into_iter().zip(timestamps) {
            self.meters.commit.observe_time(now.saturating_sub(one.entered));
            // A session that does not wait any more is told nothing.
            let _ = one.answer.send(Ok(timestamp));
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
