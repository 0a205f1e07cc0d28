//! An accepted connection: reads the calls of one node on one lane, and writes their answers in the order in which they are there.
//!
//! What is being answered is bounded for each node and lane, over all its connections: at the limit nothing more is read, so the caller's
//! system holds the rest back, and the caller says *busy* in the end. Meanwhile the beat goes on, so nobody takes the silence for death.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;
use tokio::select;
use tokio::sync::Notify;

use crate::Lane;
use crate::config::LaneLimits;
use crate::frame::{Decoder, Encoding, Kind};
use crate::hello::Hello;
use crate::service::{Caller, Service};
use crate::shared::Shared;
use crate::socket::{Broken, Pulse, Reading, Socket, write_frames};

/// What is being answered, by node and lane.
#[derive(Debug, Default)]
pub struct Serving(Mutex<HashMap<(u32, Lane), Arc<Load>>>);

impl Serving {
    /// Of a member's lane. Whoever is no member has a load of his own on each connection.
    fn load(&self, from: Caller, lane: Lane) -> Arc<Load> {
        match from.is_member {
            true => self.0.lock().entry((from.node, lane)).or_default().clone(),
            false => Arc::default(),
        }
    }
}

/// Calls that are being answered, and the bytes of them and of their answers.
#[derive(Debug, Default)]
struct Load {
    calls: AtomicUsize,
    bytes: AtomicUsize,
    less: Notify,
}

impl Load {
    fn is_full(&self, limits: &LaneLimits) -> bool {
        self.calls.load(Relaxed) >= limits.calls || self.bytes.load(Relaxed) >= limits.buffered_bytes
    }
}

/// A call's part of the load.
struct Charge {
    load: Arc<Load>,
    bytes: usize,
}

impl Charge {
    fn new(load: &Arc<Load>, bytes: usize) -> Charge {
        load.calls.fetch_add(1, Relaxed);
        load.bytes.fetch_add(bytes, Relaxed);
        Charge {
            load: load.clone(),
            bytes,
        }
    }

    /// The call has its answer.
    fn change(&mut self, bytes: usize) {
        self.load.bytes.fetch_add(bytes, Relaxed);
        self.load.bytes.fetch_sub(self.bytes, Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.load.calls.fetch_sub(1, Relaxed);
        self.load.bytes.fetch_sub(self.bytes, Relaxed);
        self.load.less.notify_one();
    }
}

/// Answers that wait to be written.
struct Outbox {
    lane: Lane,
    frame_bytes: usize,
    /// `None`: the connection has ended.
    answers: Mutex<Option<VecDeque<(Encoding, Charge)>>>,
    pongs: Mutex<VecDeque<u64>>,
    wake: Notify,
}

/// More pings than this are not answered one by one; an honest caller waits for its pong.
const PONGS: usize = 16;

impl Outbox {
    fn put(&self, call: u64, answer: Result<Vec<u8>, &str>, mut charge: Charge) {
        let (kind, body) = match answer {
            Ok(answer) if answer.len() > self.frame_bytes => {
                let reason = format!(
                    "the answer has {} bytes; the lane takes at most {}",
                    answer.len(),
                    self.frame_bytes
                );
                (Kind::Failure, reason.into_bytes())
            }
            Ok(answer) => (Kind::Answer, answer),
            Err(reason) => (Kind::Failure, reason.as_bytes().to_vec()),
        };
        charge.change(body.len());
        if let Some(answers) = &mut *self.answers.lock() {
            answers.push_back((Encoding::new(kind, self.lane, call, body), charge));
        }
        self.wake.notify_one();
    }

    fn pong(&self, number: u64) {
        let mut pongs = self.pongs.lock();
        if pongs.len() < PONGS {
            pongs.push_back(number);
        }
        drop(pongs);
        self.wake.notify_one();
    }

    /// The next frame to write; its charge goes to `writes`, in the place of the one before.
    fn next(&self, writes: &mut Option<Charge>) -> Option<Encoding> {
        *writes = None;
        if let Some(number) = self.pongs.lock().pop_front() {
            return Some(Encoding::new(Kind::Pong, self.lane, number, Vec::new()));
        }
        let (encoding, charge) = self.answers.lock().as_mut()?.pop_front()?;
        *writes = Some(charge);
        Some(encoding)
    }

    fn close(&self) {
        let answers = self.answers.lock().take();
        drop(answers);
    }
}

/// Reads calls and writes answers, until the connection ends.
pub async fn serve(socket: Socket, theirs: &Hello, is_member: bool, shared: &Shared, serving: &Serving) {
    let (who, lane) = (&theirs.who, theirs.lane);
    let from = Caller {
        node: who.node,
        incarnation: who.incarnation,
        is_member,
    };
    let end = Arc::new(Notify::new());
    let mut entered = None;
    if is_member {
        entered = shared.roster.lock().enter(who, lane, end.clone());
        let Some(connection) = entered else { return };
        // Whoever has said since that it is to end did not know of it.
        if shared.is_out_of_date(theirs, is_member) {
            shared.roster.lock().leave(from.node, lane, connection);
            return;
        }
    }
    let mut limits = shared.limits.lane(lane);
    if !is_member {
        limits.frame_bytes = limits.frame_bytes.min(shared.limits.stranger_bytes);
        limits.buffered_bytes = limits.buffered_bytes.min(shared.limits.stranger_bytes);
    }
    let connection = Connection {
        theirs,
        lane,
        limits,
        load: serving.load(from, lane),
        end,
    };
    let broken = connection.answer_calls(socket, from, shared).await;
    if let Some(connection) = entered {
        shared.roster.lock().leave(from.node, lane, connection);
    }
    tracing::debug!(node = from.node, %lane, reason = %broken, "a connection of a node has ended");
    shared.service.left(from, lane);
}

struct Connection<'a> {
    theirs: &'a Hello,
    lane: Lane,
    limits: LaneLimits,
    load: Arc<Load>,
    end: Arc<Notify>,
}

impl Connection<'_> {
    async fn answer_calls(&self, socket: Socket, mut from: Caller, shared: &Shared) -> Broken {
        let Socket {
            mut reader, mut writer, ..
        } = socket;
        let (lane, limits, load) = (self.lane, &self.limits, &self.load);
        let pulse = Pulse::default();
        let (received, sent) = (AtomicU64::new(0), AtomicU64::new(0));
        let decoder = Decoder::new(lane, limits.frame_bytes);
        let mut reading = Reading::new(&mut reader, decoder, &pulse, &received);
        let outbox = Arc::new(Outbox {
            lane,
            frame_bytes: shared.limits.lane(lane).frame_bytes,
            answers: Mutex::new(Some(VecDeque::new())),
            pongs: Mutex::default(),
            wake: Notify::new(),
        });
        let mut writes = None;
        let read = async {
            loop {
                let frame = match reading.next().await {
                    Ok(frame) => frame,
                    Err(broken) => return broken,
                };
                match frame.kind {
                    Kind::Request => {
                        if !from.is_member && shared.is_fellow(&self.theirs.who) {
                            // This node has joined the caller's cluster since the handshake.
                            if shared.meet_member(self.theirs).is_err() {
                                return Broken::Replaced;
                            }
                            from.is_member = true;
                        }
                        let charge = Charge::new(load, frame.body.len());
                        let unanswered = Unanswered(Some((outbox.clone(), frame.call, charge)));
                        tokio::spawn(answer(shared.service.clone(), from, lane, frame.body, unanswered));
                    }
                    Kind::Ping => outbox.pong(frame.call),
                    Kind::Pong => {}
                    Kind::Answer | Kind::Failure => return Broken::Astray,
                }
                while load.is_full(limits) {
                    pulse.is_deaf.store(true, Relaxed);
                    load.less.notified().await;
                }
                pulse.is_deaf.store(false, Relaxed);
            }
        };
        let broken = select! {
            broken = read => broken,
            broken = write_frames(&mut writer, &outbox.wake, || outbox.next(&mut writes), &sent) => broken,
            broken = pulse.beat(shared.limits.beat, shared.limits.silent_beats, || outbox.pong(0)) => broken,
            () = self.end.notified() => Broken::Replaced,
        };
        outbox.close();
        broken
    }
}

async fn answer(service: Arc<dyn Service>, from: Caller, lane: Lane, request: Vec<u8>, mut unanswered: Unanswered) {
    let answer = service.receive(from, lane, request).await;
    if let Some((outbox, call, charge)) = unanswered.0.take() {
        outbox.put(call, Ok(answer), charge);
    }
}

/// A call whose answer is being made. Should that panic, the caller does not wait for it.
struct Unanswered(Option<(Arc<Outbox>, u64, Charge)>);

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some((outbox, call, charge)) = self.0.take() {
            outbox.put(call, Err("the other node failed while it made the answer"), charge);
        }
    }
}
