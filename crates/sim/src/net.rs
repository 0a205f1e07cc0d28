//! The ways between the nodes: encoded calls, in order on each lane, with delays, cuts and lost answers.
//!
//! A way can be cut in one direction. What is sent meanwhile is held back and arrives late, as with packets that are sent again, or it is
//! lost with its connection. A call to a node that is down has not arrived, and its caller may be told so; everybody else has to wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use env::SeededRandom;
use parking_lot::Mutex;
use shard::{Answered, Issuer, Lane, NoAnswer, Peers};
use tokio::sync::oneshot;

use crate::trace::{self, Trace};

/// After so many milliseconds of silence a connection is given up.
const SILENCE: u64 = 1000;

/// Milliseconds that a message takes where nothing is wrong.
const DELAY: (u64, u64) = (1, 3);

pub enum Body {
    Request {
        lane: Lane,
        from: Issuer,
        bytes: Vec<u8>,
    },
    /// To the other node's sessions.
    Question(Vec<u8>),
    Answer(Vec<u8>),
}

/// A message on its way.
pub struct Message {
    pub from: u32,
    pub to: u32,
    pub body: Body,
    /// Who waits for the answer. Dropped: the connection is gone.
    pub caller: oneshot::Sender<Vec<u8>>,
}

#[derive(Default)]
struct State {
    /// By when they are due, and in the order in which they were sent.
    under_way: BTreeMap<(u64, u64), Message>,
    sent: u64,
    /// Until when each lane of a way is taken: messages keep their order.
    taken: BTreeMap<(u32, u32, bool), u64>,
    /// Ways on which nothing gets through.
    cut: BTreeSet<(u32, u32)>,
    /// What was sent on a cut way, and when.
    held: Vec<(u64, Message)>,
    /// Callers that find out at some time that their connection is gone.
    lost: Vec<(u64, oneshot::Sender<Vec<u8>>)>,
    /// More milliseconds that a way takes: so many always, and up to so many by chance.
    slow: BTreeMap<(u32, u32), (u64, u64)>,
    /// Nodes whose process runs.
    up: BTreeSet<u32>,
    /// What a node sends leaves it at this time at the earliest: its process stands still until then.
    leaves: BTreeMap<u32, u64>,
    /// Nodes whose disk takes so many milliseconds for what is to be logged. They hear and vote as always.
    late_logs: BTreeMap<u32, u64>,
    /// A connection breaks for one message in so many; 0: never.
    breaks: u64,
}

pub struct Net {
    state: Mutex<State>,
    random: SeededRandom,
    trace: Arc<Trace>,
}

impl Net {
    pub fn new(seed: u64, trace: Arc<Trace>) -> Arc<Net> {
        Arc::new(Net {
            state: Mutex::default(),
            random: SeededRandom::new(seed),
            trace,
        })
    }

    fn send(&self, message: Message) {
        let state = &mut *self.state.lock();
        self.put(state, message, 0);
    }

    fn put(&self, state: &mut State, message: Message, late: u64) {
        let way = (message.from, message.to);
        if state.breaks > 0 && self.random.below(state.breaks) == 0 {
            self.trace.note(format_args!("net {}->{} breaks", way.0, way.1));
            if self.random.below(2) == 0 {
                self.straggle(state, message);
            }
            return;
        }
        if state.cut.contains(&way) {
            // Lost, or sent again when the way is there again.
            if self.random.below(2) == 0 {
                state.held.push((self.trace.now(), message));
            } else {
                self.lose(state, message);
            }
            return;
        }
        let now = self.trace.now();
        let mut delay = late + DELAY.0 + self.random.below(DELAY.1 - DELAY.0 + 1);
        if let Some(&(always, more)) = state.slow.get(&way) {
            delay += always + self.random.below(more + 1);
        }
        let is_storage = match &message.body {
            Body::Request { lane, .. } => *lane == Lane::Storage,
            Body::Question(_) => true,
            Body::Answer(_) => self.random.below(2) == 0,
        };
        let leaves = state.leaves.get(&message.from).copied().unwrap_or(0).max(now);
        let taken = state.taken.entry((way.0, way.1, is_storage)).or_default();
        let due = match message.body {
            // Requests of a lane keep their order; answers come as they are made.
            Body::Request { .. } => (leaves + delay).max(*taken),
            Body::Question(_) | Body::Answer(_) => leaves + delay,
        };
        *taken = due.max(*taken);
        state.sent += 1;
        state.under_way.insert((due, state.sent), message);
    }

    /// The caller is told now that its connection is broken, and what it has sent arrives all the same: perhaps behind what it sends over the
    /// next connection.
    fn straggle(&self, state: &mut State, message: Message) {
        if let Body::Answer(_) = message.body {
            return;
        }
        let (nobody, _) = oneshot::channel();
        let late = 1 + self.random.below([10, 100, 1500][self.random.below(3) as usize]);
        let straggler = Message {
            caller: nobody,
            ..message
        };
        state.sent += 1;
        state.under_way.insert((self.trace.now() + late, state.sent), straggler);
    }

    /// Nobody hears of it: the caller finds out when it gives the connection up.
    fn lose(&self, state: &mut State, message: Message) {
        let Message { caller, from, to, .. } = message;
        self.trace.note(format_args!("net {from}->{to} loses"));
        let until = self.trace.now() + SILENCE + self.random.below(250);
        state.lost.push((until, caller));
    }

    /// What arrives now.
    pub fn arrivals(&self) -> Vec<Message> {
        let now = self.trace.now();
        let state = &mut *self.state.lock();
        // In this order: who waits for them is told now.
        state.lost.retain(|(until, _)| *until > now);
        state.held.retain(|(since, _)| *since + SILENCE > now);
        let mut arrived = Vec::new();
        let later = state.under_way.split_off(&(now + 1, 0));
        for message in std::mem::replace(&mut state.under_way, later).into_values() {
            // A way that was cut meanwhile.
            match state.cut.contains(&(message.from, message.to)) {
                true => state.held.push((now, message)),
                false => arrived.push(message),
            }
        }
        for message in &arrived {
            let (what, bytes) = match &message.body {
                Body::Request { lane, bytes, .. } => (format!("{lane:?}"), bytes),
                Body::Question(bytes) => ("question".to_owned(), bytes),
                Body::Answer(bytes) => ("answer".to_owned(), bytes),
            };
            self.trace.note(format_args!(
                "net {}->{} {what} {} bytes {:016x}",
                message.from,
                message.to,
                bytes.len(),
                trace::hash(trace::BEGIN, bytes)
            ));
        }
        arrived
    }

    /// The answer to a call goes back, where the log is slow later than others.
    pub fn answer(&self, from: u32, to: u32, bytes: Vec<u8>, caller: oneshot::Sender<Vec<u8>>, is_logged: bool) {
        let state = &mut *self.state.lock();
        let late = state.late_logs.get(&from).copied().filter(|_| is_logged);
        let answer = Message {
            from,
            to,
            body: Body::Answer(bytes),
            caller,
        };
        self.put(state, answer, late.unwrap_or(0));
    }

    pub fn set_up(&self, node: u32, is_up: bool) {
        let state = &mut *self.state.lock();
        match is_up {
            true => state.up.insert(node),
            false => state.up.remove(&node),
        };
    }

    pub fn cut(&self, ways: impl IntoIterator<Item = (u32, u32)>) {
        self.state.lock().cut.extend(ways);
    }

    /// The way between these takes longer in both directions: so many milliseconds always, and up to so many by chance.
    pub fn slow_down(&self, one: u32, other: u32, always: u64, more: u64) {
        let slow = &mut self.state.lock().slow;
        slow.insert((one, other), (always, more));
        slow.insert((other, one), (always, more));
    }

    pub fn log_late(&self, node: u32, time: u64) {
        self.state.lock().late_logs.insert(node, time);
    }

    pub fn break_often(&self, one_in: u64) {
        self.state.lock().breaks = one_in;
    }

    pub fn hold_until(&self, node: u32, time: u64) {
        self.state.lock().leaves.insert(node, time);
    }

    /// All ways are good again. What was held back arrives.
    pub fn heal(&self) {
        let state = &mut *self.state.lock();
        state.cut.clear();
        state.slow.clear();
        state.late_logs.clear();
        state.breaks = 0;
        for (_, message) in std::mem::take(&mut state.held) {
            self.put(state, message, 0);
        }
    }
}

/// The way from one life of a node to the others.
pub struct Door {
    pub net: Arc<Net>,
    pub node: u32,
    /// In which life, once that is known.
    pub identity: Arc<Mutex<Option<Issuer>>>,
}

impl Door {
    fn no_answer(to: u32, reason: &str, may_have_arrived: bool) -> NoAnswer {
        NoAnswer {
            node: to,
            reason: reason.into(),
            may_have_arrived,
        }
    }

    /// To the other node's sessions.
    pub fn ask(&self, to: u32, question: Vec<u8>, within: Duration) -> Answered {
        self.send(to, Body::Question(question), within)
    }

    fn send(&self, to: u32, body: Body, within: Duration) -> Answered {
        let is_refused = {
            let state = self.net.state.lock();
            !state.up.contains(&to) && !state.cut.contains(&(self.node, to))
        };
        if is_refused && self.net.random.below(4) > 0 {
            let error = Door::no_answer(to, "the connection is refused", false);
            return Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Err(error)
            });
        }
        let (caller, answer) = oneshot::channel();
        self.net.send(Message {
            from: self.node,
            to,
            body,
            caller,
        });
        Box::pin(async move {
            match tokio::time::timeout(within, answer).await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(_)) => Err(Door::no_answer(to, "the connection is broken", true)),
                Err(_) => Err(Door::no_answer(to, "it is late", true)),
            }
        })
    }
}

impl Peers for Door {
    fn call(&self, to: u32, lane: Lane, bytes: Vec<u8>, within: Duration) -> Answered {
        let from = match (lane, *self.identity.lock()) {
            (_, Some(issuer)) => issuer,
            // Consensus begins before the life has a number.
            (Lane::Consensus, None) => Issuer {
                node: self.node,
                incarnation: 0,
            },
            (Lane::Storage, None) => {
                let error = Door::no_answer(to, "this node has just started", false);
                return Box::pin(std::future::ready(Err(error)));
            }
        };
        self.send(to, Body::Request { lane, from, bytes }, within)
    }
}
