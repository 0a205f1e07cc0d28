//! The calls that this node makes of one peer on one lane: who waits for what, until when. No sockets here, and time is told.
//!
//! ```text
//!   call ──▶ waiting, unsent ──▶ the writer takes it ──▶ waiting, sent ──▶ the answer wakes the caller
//!                 └── deadline, lost connection, caller gone: off the list ──┘
//! ```
//!
//! A request's bytes are kept with the call that waits, so that giving it up frees them at once; the queue holds numbers only.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::Lane;
use crate::config::LaneLimits;
use crate::error::{CallError, To};
use crate::frame::{Encoding, Kind};
use crate::hello::Refused;

/// A later deadline is brought forward to here.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

type Outcome = Result<Vec<u8>, CallError>;

/// Shared by callers on any thread, and by the line's task on the thread of the network.
#[derive(Debug)]
pub struct Line {
    pub to: To,
    pub lane: Lane,
    limits: LaneLimits,
    calls: Mutex<Calls>,
    /// Something can be written.
    pub outgoing: Notify,
    /// A deadline is earlier than the one that is waited for.
    pub earlier: Notify,
    /// The connection, or the attempt to have one, is to end.
    pub restart: Notify,
    pub counters: Counters,
}

#[derive(Debug, Default)]
pub struct Counters {
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
}

#[derive(Debug)]
struct Calls {
    waiting: HashMap<u64, Waiting>,
    /// Calls that have not been sent, oldest first; some may be off the list.
    queue: VecDeque<u64>,
    queued_bytes: usize,
    last_call: u64,
    /// A ping or a pong that waits to be written.
    beat: Option<(Kind, u64)>,
    /// The last ping, until its pong comes.
    pinged: Option<(u64, Instant)>,
    state: State,
    connections: u64,
    last_error: Option<Trouble>,
    last_heard: Option<Instant>,
    round_trip: Option<Duration>,
    /// When the line's task looks at deadlines next.
    looks_at: Option<Instant>,
}

#[derive(Debug, Clone)]
enum State {
    /// The first attempt after the start, or after a lost connection, is under way: calls wait for it.
    Trying,
    Up {
        since: Instant,
    },
    /// The last attempt failed. Others follow, and calls fail at once.
    Down(Trouble),
    Ended,
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    Unreachable(String),
    Refused(Refused),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Unreachable(reason) => f.write_str(reason),
            Trouble::Refused(refused) => refused.fmt(f),
        }
    }
}

#[derive(Debug)]
struct Waiting {
    /// `None`: it has been sent, or is being sent.
    request: Option<Vec<u8>>,
    deadline: Instant,
    limit: Duration,
    answer: oneshot::Sender<Outcome>,
}

/// What a line looks like from outside.
#[derive(Debug, Clone)]
pub struct Look {
    pub connected_since: Option<Instant>,
    pub connections: u64,
    pub calls: usize,
    pub queued_bytes: usize,
    pub last_error: Option<String>,
    pub last_heard: Option<Instant>,
    pub round_trip: Option<Duration>,
}

impl Line {
    pub fn new(to: To, lane: Lane, limits: LaneLimits) -> Line {
        Line {
            to,
            lane,
            limits,
            calls: Mutex::new(Calls {
                waiting: HashMap::new(),
                queue: VecDeque::new(),
                queued_bytes: 0,
                last_call: 0,
                beat: None,
                pinged: None,
                state: State::Trying,
                connections: 0,
                last_error: None,
                last_heard: None,
                round_trip: None,
                looks_at: None,
            }),
            outgoing: Notify::new(),
            earlier: Notify::new(),
            restart: Notify::new(),
            counters: Counters::default(),
        }
    }

    /// Puts a call into the queue, or says at once why not.
    pub fn call(self: &Arc<Line>, request: Vec<u8>, now: Instant, limit: Duration) -> Calling {
        let (answer, outcome) = oneshot::channel();
        let limit = limit.min(LONGEST);
        let deadline = now + limit;
        let mut calls = self.calls.lock();
        let request = match self.check(&calls, request) {
            Ok(request) => request,
            Err(error) => return Calling::failed(error),
        };
        let waiting = Waiting {
            request: Some(request),
            deadline,
            limit,
            answer,
        };
        calls.last_call += 1;
        let call = calls.last_call;
        calls.queued_bytes += waiting.unsent_bytes();
        if calls.queue.len() >= 2 * self.limits.calls {
            calls.forget_given_up();
        }
        calls.queue.push_back(call);
        calls.waiting.insert(call, waiting);
        let is_earlier = calls.looks_at.is_none_or(|at| deadline < at);
        if is_earlier {
            calls.looks_at = Some(deadline);
        }
        drop(calls);
        if is_earlier {
            self.earlier.notify_one();
        }
        self.outgoing.notify_one();
        Calling(Stage::Waiting {
            line: self.clone(),
            call,
            outcome,
        })
    }

    /// Gives the request back if it may wait.
    fn check(&self, calls: &Calls, request: Vec<u8>) -> Result<Vec<u8>, CallError> {
        let bytes = request.len();
        if bytes > self.limits.frame_bytes {
            return Err(CallError::TooLong {
                bytes,
                limit: self.limits.frame_bytes,
            });
        }
        match &calls.state {
            State::Trying | State::Up { .. } => {}
            State::Down(trouble) => return Err(self.not_sent(trouble, request)),
            State::Ended => {
                return Err(CallError::Ended {
                    may_have_arrived: false,
                });
            }
        }
        if calls.waiting.len() >= self.limits.calls {
            return Err(CallError::Busy {
                to: self.to.clone(),
                what: "calls",
            });
        }
        // A frame of any allowed length passes when nothing else waits.
        if calls.queued_bytes > 0 && calls.queued_bytes + bytes > self.limits.buffered_bytes {
            return Err(CallError::Busy {
                to: self.to.clone(),
                what: "bytes",
            });
        }
        Ok(request)
    }

    fn not_sent(&self, trouble: &Trouble, request: Vec<u8>) -> CallError {
        let to = self.to.clone();
        match trouble {
            Trouble::Unreachable(reason) => CallError::NotSent {
                to,
                reason: reason.clone(),
                request,
            },
            Trouble::Refused(refused) => CallError::Refused {
                to,
                refused: refused.clone(),
            },
        }
    }

    /// The next frame to write.
    pub fn next(&self, now: Instant) -> Option<Encoding> {
        let mut calls = self.calls.lock();
        if let Some((kind, number)) = calls.beat.take() {
            if kind == Kind::Ping {
                calls.pinged = Some((number, now));
            }
            return Some(Encoding::new(kind, self.lane, number, Vec::new()));
        }
        loop {
            let call = calls.queue.pop_front()?;
            let request = calls.waiting.get_mut(&call).and_then(|waiting| waiting.request.take());
            if let Some(request) = request {
                calls.queued_bytes -= request.len();
                return Some(Encoding::new(Kind::Request, self.lane, call, request));
            }
        }
    }

    /// Has something written, so that the other side hears this one: a ping, or while the one before is unanswered (its pong may wait behind a
    /// long answer) a pong to none.
    pub fn beat(&self) {
        let mut calls = self.calls.lock();
        calls.beat = Some(match calls.pinged {
            Some(_) => (Kind::Pong, 0),
            None => {
                calls.last_call += 1;
                (Kind::Ping, calls.last_call)
            }
        });
        drop(calls);
        self.outgoing.notify_one();
    }

    pub fn ponged(&self, number: u64, now: Instant) {
        let mut calls = self.calls.lock();
        if let Some((_, sent)) = calls.pinged.take_if(|(pinged, _)| *pinged == number) {
            let latest = now - sent;
            let smoothed = calls.round_trip.map_or(latest, |known| (known * 7 + latest) / 8);
            calls.round_trip = Some(smoothed);
        }
    }

    pub fn heard(&self, now: Instant) {
        self.calls.lock().last_heard = Some(now);
    }

    /// An answer has come. Nobody may wait for it any more.
    pub fn answered(&self, call: u64, answer: Result<Vec<u8>, String>) {
        let waiting = self.take(call);
        if let Some(waiting) = waiting {
            let to = || self.to.clone();
            end(
                waiting.answer,
                answer.map_err(|reason| CallError::Failed { to: to(), reason }),
            );
        }
    }

    fn take(&self, call: u64) -> Option<Waiting> {
        let mut calls = self.calls.lock();
        let waiting = calls.waiting.remove(&call)?;
        calls.queued_bytes -= waiting.unsent_bytes();
        Some(waiting)
    }

    /// There is a connection.
    pub fn up(&self, now: Instant) {
        let mut calls = self.calls.lock();
        if !matches!(calls.state, State::Ended) {
            calls.state = State::Up { since: now };
            calls.connections += 1;
            calls.last_heard = Some(now);
            (calls.beat, calls.pinged) = (None, None);
        }
    }

    /// The connection is lost; the next one is tried.
    pub fn lost(&self, reason: &str) {
        self.fail_all(State::Trying, Some(Trouble::Unreachable(reason.to_owned())));
    }

    /// An attempt to connect has failed.
    pub fn down(&self, trouble: &Trouble) {
        self.fail_all(State::Down(trouble.clone()), Some(trouble.clone()));
    }

    /// Down, unless there is a connection: a peer that cannot be reached on one lane cannot be on the others.
    pub fn down_too(&self, trouble: &Trouble) {
        let is_trying = matches!(self.calls.lock().state, State::Trying);
        if is_trying {
            self.down(trouble);
        }
    }

    /// The line is no longer used; `None`: the whole network has ended.
    pub fn end(&self, trouble: Option<Trouble>) {
        self.fail_all(State::Ended, trouble);
        self.restart.notify_one();
    }

    pub fn is_ended(&self) -> bool {
        matches!(self.calls.lock().state, State::Ended)
    }

    fn fail_all(&self, state: State, trouble: Option<Trouble>) {
        let mut calls = self.calls.lock();
        if matches!(calls.state, State::Ended) {
            return;
        }
        calls.state = state;
        calls.queue.clear();
        calls.queued_bytes = 0;
        let failed = std::mem::take(&mut calls.waiting);
        if trouble.is_some() {
            calls.last_error.clone_from(&trouble);
        }
        drop(calls);
        for waiting in failed.into_values() {
            let Waiting { request, answer, .. } = waiting;
            let error = match (&trouble, request) {
                (None, request) => CallError::Ended {
                    may_have_arrived: request.is_none(),
                },
                (Some(trouble), None) => CallError::Lost {
                    to: self.to.clone(),
                    reason: trouble.to_string(),
                },
                (Some(trouble), Some(request)) => self.not_sent(trouble, request),
            };
            end(answer, Err(error));
        }
    }

    /// Ends the calls whose deadline has passed. Returns when to look again, unless a call with an earlier deadline comes.
    pub fn expire(&self, now: Instant) -> Option<Instant> {
        let mut calls = self.calls.lock();
        let is_late = |waiting: &Waiting| waiting.deadline <= now;
        let late: Vec<u64> = calls
            .waiting
            .iter()
            .filter(|(_, waiting)| is_late(waiting))
            .map(|(call, _)| *call)
            .collect();
        let mut expired = Vec::with_capacity(late.len());
        for call in late {
            let waiting = calls.waiting.remove(&call).expect("it has just been seen");
            calls.queued_bytes -= waiting.unsent_bytes();
            expired.push(waiting);
        }
        calls.looks_at = calls.waiting.values().map(|waiting| waiting.deadline).min();
        let looks_at = calls.looks_at;
        drop(calls);
        for waiting in expired {
            let Waiting {
                request, limit, answer, ..
            } = waiting;
            let error = match request {
                None => CallError::Late {
                    to: self.to.clone(),
                    after: limit,
                },
                Some(request) => CallError::NotSent {
                    to: self.to.clone(),
                    reason: format!("the connection did not take the call within {limit:?}"),
                    request,
                },
            };
            end(answer, Err(error));
        }
        looks_at
    }

    pub fn look(&self) -> Look {
        let calls = self.calls.lock();
        Look {
            connected_since: match calls.state {
                State::Up { since } => Some(since),
                State::Trying | State::Down(_) | State::Ended => None,
            },
            connections: calls.connections,
            calls: calls.waiting.len(),
            queued_bytes: calls.queued_bytes,
            last_error: calls.last_error.as_ref().map(Trouble::to_string),
            last_heard: calls.last_heard,
            round_trip: calls.round_trip,
        }
    }
}

impl Calls {
    fn forget_given_up(&mut self) {
        let Calls { queue, waiting, .. } = self;
        queue.retain(|call| waiting.contains_key(call));
    }
}

impl Waiting {
    fn unsent_bytes(&self) -> usize {
        self.request.as_ref().map_or(0, Vec::len)
    }
}

fn end(answer: oneshot::Sender<Outcome>, outcome: Outcome) {
    // The caller may be gone.
    let _ = answer.send(outcome);
}

/// A call that is under way. Dropping it gives the call up: its place is free, and a late answer is dropped.
#[derive(Debug)]
pub struct Calling(Stage);

#[derive(Debug)]
enum Stage {
    Waiting {
        line: Arc<Line>,
        call: u64,
        outcome: oneshot::Receiver<Outcome>,
    },
    Failed(CallError),
    Done,
}

impl Calling {
    pub fn failed(error: CallError) -> Calling {
        Calling(Stage::Failed(error))
    }
}

impl Future for Calling {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Calling>, context: &mut Context<'_>) -> Poll<Outcome> {
        if let Stage::Waiting { outcome, .. } = &mut self.0 {
            let Poll::Ready(outcome) = Pin::new(outcome).poll(context) else {
                return Poll::Pending;
            };
            self.0 = Stage::Done;
            return Poll::Ready(
                outcome.expect("a line ends its calls before it is dropped, and a call holds its line"),
            );
        }
        match std::mem::replace(&mut self.0, Stage::Done) {
            Stage::Failed(error) => Poll::Ready(Err(error)),
            Stage::Waiting { .. } | Stage::Done => panic!("a call is polled after its end"),
        }
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        if let Stage::Waiting { line, call, .. } = &self.0 {
            drop(line.take(*call));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn line() -> Arc<Line> {
        let limits = LaneLimits {
            frame_bytes: 100,
            calls: 3,
            buffered_bytes: 150,
        };
        Arc::new(Line::new(To::Node(2), Lane::Storage, limits))
    }

    /// What a call has come to.
    fn outcome(calling: &mut Calling) -> Option<Outcome> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        match Pin::new(calling).poll(&mut context) {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        }
    }

    fn trouble() -> Trouble {
        Trouble::Unreachable("a test".into())
    }

    #[test]
    fn an_answer_finds_its_call() {
        let (line, now) = (line(), Instant::now());
        let mut calls: Vec<Calling> = (0..3).map(|n| line.call(vec![n], now, SECOND)).collect();
        assert!(matches!(
            outcome(&mut line.call(vec![], now, SECOND)),
            Some(Err(CallError::Busy { what: "calls", .. }))
        ));
        line.answered(2, Ok(vec![9]));
        line.answered(3, Err("no".into()));
        line.answered(7, Ok(vec![]));
        assert!(outcome(&mut calls[0]).is_none());
        assert_eq!(outcome(&mut calls[1]).unwrap().unwrap(), [9]);
        assert!(matches!(outcome(&mut calls[2]), Some(Err(CallError::Failed { .. }))));
    }

    #[test]
    fn bytes_that_wait_are_bounded_and_given_back() {
        let (line, now) = (line(), Instant::now());
        let too_long = outcome(&mut line.call(vec![0; 101], now, SECOND));
        assert!(matches!(too_long, Some(Err(CallError::TooLong { .. }))));
        let first = line.call(vec![0; 100], now, SECOND);
        let busy = |line: &Arc<Line>| outcome(&mut line.call(vec![0; 51], now, SECOND));
        assert!(matches!(busy(&line), Some(Err(CallError::Busy { what: "bytes", .. }))));
        drop(first);
        assert_eq!(line.look().queued_bytes, 0);
        let _second = line.call(vec![0; 51], now, SECOND);
        line.next(now).unwrap();
        assert_eq!(line.look().queued_bytes, 0);
        assert!(busy(&line).is_none());
    }

    #[test]
    fn whether_a_lost_call_may_have_arrived_is_told() {
        let (line, now) = (line(), Instant::now());
        let mut sent = line.call(vec![1], now, SECOND);
        line.next(now).unwrap();
        let mut unsent = line.call(vec![2], now, SECOND);
        line.lost("a test");
        assert!(matches!(outcome(&mut sent), Some(Err(CallError::Lost { .. }))));
        assert!(matches!(outcome(&mut unsent), Some(Err(CallError::NotSent { request, .. })) if request == [2]));
        let mut waits = line.call(vec![3], now, SECOND);
        assert!(outcome(&mut waits).is_none());
        line.down(&trouble());
        assert!(matches!(outcome(&mut waits), Some(Err(CallError::NotSent { request, .. })) if request == [3]));
        let at_once = outcome(&mut line.call(vec![4], now, SECOND));
        assert!(matches!(at_once, Some(Err(CallError::NotSent { request, .. })) if request == [4]));
        line.up(now);
        assert!(outcome(&mut line.call(vec![5], now, SECOND)).is_none());
    }

    #[test]
    fn deadlines_pass_one_by_one() {
        let (line, now) = (line(), Instant::now());
        let mut short = line.call(vec![1], now, SECOND);
        line.next(now).unwrap();
        let mut long = line.call(vec![2], now, SECOND * 2);
        assert_eq!(line.expire(now), Some(now + SECOND));
        assert_eq!(line.expire(now + SECOND), Some(now + SECOND * 2));
        assert!(matches!(outcome(&mut short), Some(Err(CallError::Late { .. }))));
        line.answered(1, Ok(vec![]));
        assert_eq!(line.expire(now + SECOND * 2), None);
        assert!(matches!(outcome(&mut long), Some(Err(CallError::NotSent { request, .. })) if request == [2]));
        assert!(line.next(now).is_none());
    }

    #[test]
    fn an_ended_line_ends_its_calls() {
        let (line, now) = (line(), Instant::now());
        let mut call = line.call(vec![1], now, SECOND);
        line.end(None);
        assert!(matches!(
            outcome(&mut call),
            Some(Err(CallError::Ended {
                may_have_arrived: false
            }))
        ));
        line.up(now);
        assert!(matches!(
            outcome(&mut line.call(vec![], now, SECOND)),
            Some(Err(CallError::Ended { .. }))
        ));
    }

    #[test]
    fn round_trips_are_smoothed() {
        let (line, now) = (line(), Instant::now());
        let at = |micros| now + Duration::from_micros(micros);
        line.beat();
        line.next(now).unwrap();
        line.beat();
        assert!(line.next(now).is_some(), "it is heard though its ping is not answered");
        line.ponged(99, at(5));
        assert_eq!(line.look().round_trip, None);
        line.ponged(1, at(80));
        line.beat();
        line.next(at(100)).unwrap();
        line.ponged(2, at(340));
        assert_eq!(line.look().round_trip, Some(Duration::from_micros(100)));
    }
}
