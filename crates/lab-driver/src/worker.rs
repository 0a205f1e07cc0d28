//! One thread with its share of the connections on one epoll.
//!
//! ```text
//!             begin ──▶ in flight ──▶ answered ──▶ next statement … ──▶ transaction over ──▶ begin (closed) or idle (open)
//!                          │   ▲          │ ignored error: again from BEGIN
//!                     lost │   └──────────┘ other error, if we survive: ROLLBACK, then again
//!                          ▼
//!                        away ── connector opens it again ──▶ the transaction begins again
//! ```
//!
//! The clock is read once per answer: the end of one statement is the beginning of the next. When the measured interval is over,
//! transactions that are under way are finished, uncounted, so that no row is left deleted and not yet inserted.

mod arrivals;
mod away;
mod cost;
mod phases;

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

use rustix::event::{Timespec, epoll};

use crate::client::{Dialer, OpenLimits, Sent, Session, Summary};
use crate::error::{DriverError, LinkError, Refusal};
use crate::recorder::Part;
use crate::run::{RungSpec, Share};
use crate::statement::{Arguments, Catalog};
use crate::stop::Stop;
use crate::target::Target;
use crate::workload::{Last, Script, Scripts};
pub(crate) use arrivals::Arrivals;
pub(crate) use cost::ThreadCost;
use phases::Phases;
pub(crate) use phases::{PhasePart, merge_phases, phase_results};

const SECOND: i64 = 1_000_000_000;
/// The longest wait for events: a second's figures are handed over, and a wish to stop is heard, that much late at most.
const LOOK_UP_AFTER: i64 = SECOND / 10;
/// While connections are being opened again, their coming is looked for this often.
const LOOK_FOR_CONNECTIONS: i64 = SECOND / 500;
/// How long transactions may go on when the interval is over.
const DRAIN_MAX: i64 = 5 * SECOND;
/// A server none of whose connections has had an answer for so long is looked at: it may be busy, or it may hang.
const HANGING_AFTER: i64 = 30 * SECOND;
const BUFFER_LEN: usize = 256 << 10;
const EVENTS_MAX: usize = 256;
/// The timer's number among the events; connections have theirs.
const TIMER: u64 = u64::MAX;

/// How often a connection that has its transaction to itself is looked at for a better place.
const LOOK_HOME_AFTER: i64 = SECOND / 10;

/// Codes after which the connection is of no more use, or its server of none to a writer: shut down, gone, lost, killed; not part of its
/// cluster (Galera's 1047), read only (1290, 1836).
const CONNECTION_IS_LOST: [u16; 9] = [1053, 2006, 2013, 1927, 1080, 1152, 1047, 1290, 1836];
/// A transaction that fails so often in a row, by errors that are not ignored, is tried on a new connection.
const FAILURES_MAX: u32 = 10;
const CANNOT_CONNECT: u16 = 2003;
const GONE: u16 = 2006;
const LOST: u16 = 2013;

/// What all workers share.
pub(crate) struct Shared<'a> {
    pub target: &'a Target,
    pub dialer: &'a Dialer<'a>,
    pub scripts: &'a Scripts,
    pub catalog: &'a Catalog,
    pub spec: &'a RungSpec,
    pub share: Share,
    pub workers: usize,
    pub stop: &'a Stop,
    /// End of the measured interval in nanoseconds since its start; lowered to end early.
    pub end: AtomicI64,
}

/// From a worker to the thread that called `run`.
pub(crate) enum Message {
    Ready,
    CannotBegin(DriverError),
    Part(Box<Part>),
    Event(String),
    Failure(String),
    Done(ThreadCost, Vec<PhasePart>),
}

/// A connection to be opened again.
pub(crate) struct Job {
    pub worker: usize,
    pub slot: usize,
    /// Counts up with each attempt, so that the next server is tried.
    pub turn: usize,
}

pub(crate) type Opened = (usize, String, Result<Session, DriverError>);

/// A connection and where its transaction is.
struct Slot {
    session: Option<Session>,
    script: Box<dyn Script>,
    connection: usize,
    server: String,
    state: State,
    statement: usize,
    /// When the transaction should have begun, did begin, and its present attempt.
    intended: i64,
    /// The phase of the load's profile in which that was.
    phase: Option<usize>,
    begun: i64,
    attempt: i64,
    statement_sent: i64,
    /// Attempts to connect since the connection was lost, and when the next one is due.
    attempts: u32,
    retry_at: i64,
    /// Failures of this transaction by errors that are not ignored.
    failures: u32,
    /// A connection to take the present one's place once no transaction is under way.
    replacement: Option<(String, Session)>,
    /// One was asked for; when to ask next.
    replacing: bool,
    replace_at: i64,
    /// How long the connection stays elsewhere before it looks: longer each time that its own server was lost again.
    stay: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    InFlight,
    RollingBack,
    /// Without a connection; `transaction`: one was under way and begins again.
    Away {
        transaction: bool,
        asked: bool,
    },
}

pub(crate) struct Worker<'a> {
    shared: &'a Shared<'a>,
    number: usize,
    epoll: OwnedFd,
    timer: Option<OwnedFd>,
    slots: Vec<Slot>,
    idle: VecDeque<usize>,
    arrivals: Option<Arrivals>,
    phases: Option<Phases>,
    buffer: Vec<u8>,
    arguments: Arguments,
    part: Part,
    recording: bool,
    /// When the next second begins or the interval ends.
    edge: i64,
    epoch: Instant,
    warmup: i64,
    messages: Sender<Message>,
    jobs: Option<Sender<Job>>,
    opened: Receiver<Opened>,
    lost_servers: BTreeSet<String>,
    failed: bool,
    busy: usize,
    away: usize,
    look_home_at: i64,
    cost_begin: Option<ThreadCost>,
    cost: ThreadCost,
}

/// Opens this worker's connections, says so, waits for the start, and carries load until the end.
pub(crate) fn work(
    shared: &Shared,
    number: usize,
    messages: Sender<Message>,
    jobs: Option<Sender<Job>>,
    opened: Receiver<Opened>,
    start: Receiver<Instant>,
) {
    let mut worker = match Worker::new(shared, number, messages.clone(), jobs, opened) {
        Ok(worker) => worker,
        Err(error) => {
            let _ = messages.send(Message::CannotBegin(error));
            return;
        }
    };
    let _ = messages.send(Message::Ready);
    // No start: another worker could not begin.
    let Ok(epoch) = start.recv() else { return };
    worker.carry(epoch);
    let phases = worker.phases.take().map(|phases| phases.parts).unwrap_or_default();
    let _ = messages.send(Message::Done(worker.cost, phases));
}

/// How `Session::open` may take its time; without `survive` only the connection itself is bounded.
pub(crate) fn open_limits(spec: &RungSpec) -> OpenLimits {
    match &spec.survive {
        Some(survive) => OpenLimits {
            connect: survive.connect_timeout,
            answer: Some(survive.connect_timeout),
        },
        None => OpenLimits::default(),
    }
}

impl<'a> Worker<'a> {
    fn new(
        shared: &'a Shared<'a>,
        number: usize,
        messages: Sender<Message>,
        jobs: Option<Sender<Job>>,
        opened: Receiver<Opened>,
    ) -> Result<Worker<'a>, DriverError> {
        let system = |errno: rustix::io::Errno| DriverError::System(errno.into());
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system)?;
        let warmup = shared.spec.warmup.as_nanos() as i64;
        let load = &shared.spec.load;
        let arrivals = Arrivals::new(load, shared.spec.seed, (number, shared.workers), shared.share, warmup);
        let timer = arrivals
            .as_ref()
            .map(|_| arrivals::timer())
            .transpose()
            .map_err(system)?;
        if let Some(timer) = &timer {
            let data = epoll::EventData::new_u64(TIMER);
            epoll::add(&epoll, timer, data, epoll::EventFlags::IN).map_err(system)?;
        }
        let mut slots = Vec::new();
        let first = shared.share.first as usize;
        let after = first + shared.share.connections as usize;
        for connection in (first + number..after).step_by(shared.workers) {
            if shared.stop.is_requested() {
                return Err(DriverError::Stopped);
            }
            let server = shared.target.server(connection)?;
            let turn = connection / shared.target.servers.len();
            let session = Session::open(shared.dialer, server, turn, shared.catalog, open_limits(shared.spec))?;
            let data = epoll::EventData::new_u64(slots.len() as u64);
            epoll::add(&epoll, &session, data, epoll::EventFlags::IN).map_err(system)?;
            slots.push(Slot {
                session: Some(session),
                script: (shared.scripts)(connection),
                connection,
                server: server.to_owned(),
                state: State::Idle,
                statement: 0,
                intended: 0,
                phase: None,
                begun: 0,
                attempt: 0,
                statement_sent: 0,
                attempts: 0,
                retry_at: 0,
                failures: 0,
                replacement: None,
                replacing: false,
                replace_at: away::first_replacement(shared, connection),
                stay: 0,
            });
        }
        Ok(Worker {
            shared,
            number,
            epoll,
            timer,
            idle: (0..slots.len()).collect(),
            slots,
            arrivals,
            phases: load.profile().map(Phases::new),
            buffer: vec![0; BUFFER_LEN],
            arguments: Arguments::default(),
            part: Part::new((-warmup).div_euclid(SECOND), shared.catalog.kinds.len()),
            recording: true,
            edge: -warmup,
            epoch: Instant::now(),
            warmup,
            messages,
            jobs,
            opened,
            lost_servers: BTreeSet::new(),
            failed: false,
            busy: 0,
            away: 0,
            look_home_at: -warmup,
            cost_begin: None,
            cost: ThreadCost::default(),
        })
    }

    /// Nanoseconds since the measured interval began; negative while it warms up.
    #[inline]
    fn now(&self) -> i64 {
        self.epoch.elapsed().as_nanos() as i64 - self.warmup
    }

    fn carry(&mut self, epoch: Instant) {
        self.epoch = epoch;
        let mut now = self.now();
        if self.arrivals.is_none() {
            while let Some(slot) = self.idle.pop_front() {
                self.begin(slot, now, now);
            }
        }
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let mut drained_by = i64::MAX;
        let mut looked_for_silence = now;
        let mut look_for_hanging_at = now + HANGING_AFTER;
        loop {
            now = self.now();
            if now >= self.edge {
                self.over_the_edge(now);
            }
            if !self.recording {
                drained_by = drained_by.min(now + DRAIN_MAX);
                if self.busy == 0 || self.failed {
                    break;
                }
                if now >= drained_by {
                    self.look_for_hanging(now, DRAIN_MAX);
                    break;
                }
            } else if self.arrivals.is_some() {
                self.start_due(now);
            }
            if self.away > 0 {
                self.look_for_connections(now);
            } else if self.jobs.is_some() && now >= self.look_home_at {
                self.look_home_at = now + LOOK_HOME_AFTER;
                self.look_for_connections(now);
            }
            if now - looked_for_silence > LOOK_UP_AFTER {
                looked_for_silence = now;
                self.give_up_the_silent(now);
                if now >= look_for_hanging_at {
                    look_for_hanging_at = now + HANGING_AFTER / 2;
                    self.look_for_hanging(now, HANGING_AFTER);
                }
            }
            let timeout = self.wait_for(now);
            events.clear();
            if let Err(error) = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout))
                && error != rustix::io::Errno::INTR
            {
                self.fail(format!("epoll: {error}"));
                break;
            }
            for event in &events {
                match event.data.u64() {
                    TIMER => arrivals::rang(self.timer.as_ref()),
                    slot => self.ready(slot as usize, event.flags),
                }
            }
        }
        for slot in self.slots.drain(..) {
            if let Some(session) = slot.session {
                session.quit();
            }
        }
    }

    /// How long to wait for events; arms the timer if a transaction is due earlier.
    fn wait_for(&mut self, now: i64) -> Timespec {
        let mut wait = LOOK_UP_AFTER.min((self.edge - now).max(0) + SECOND / 1000);
        if self.away > 0 {
            wait = wait.min(LOOK_FOR_CONNECTIONS);
        }
        if let (Some(arrivals), Some(timer), true) = (&self.arrivals, &self.timer, self.recording)
            && !self.idle.is_empty()
            && let until_due = arrivals.next_due().saturating_sub(now)
            && until_due < wait
        {
            arrivals::ring_in(timer, until_due.max(1));
        }
        Timespec {
            tv_sec: wait / SECOND,
            tv_nsec: wait % SECOND,
        }
    }

    /// Hands over the seconds that are over; at the end of the interval, stops recording.
    #[cold]
    fn over_the_edge(&mut self, now: i64) {
        let end = self.shared.end.load(Ordering::Relaxed);
        if self.cost_begin.is_none() && now >= 0 {
            self.cost_begin = Some(ThreadCost::of_this_thread());
        }
        while let (true, Some(phases), Some(arrivals)) = (self.recording, &mut self.phases, &self.arrivals)
            && let Some(phase_end) = phases.edge().filter(|edge| *edge <= now.min(end))
        {
            phases.next(arrivals.waiting_before(phase_end));
        }
        while self.recording && (self.part.second + 1) * SECOND <= now.min(end) {
            self.hand_over();
        }
        if self.recording && now >= end {
            if let Some(arrivals) = &mut self.arrivals {
                let (mut backlog, phases) = (0, &mut self.phases);
                arrivals.give_up_before(end, |due| {
                    backlog += 1;
                    if let Some(phases) = phases {
                        phases.due(due);
                    }
                });
                self.part.totals.backlog = backlog;
            }
            if self.part.second * SECOND < end || self.part.totals.backlog > 0 {
                self.part.second = self.part.second.min((end - 1).div_euclid(SECOND));
                self.hand_over();
            }
            self.recording = false;
            if let Some(begin) = self.cost_begin {
                self.cost = ThreadCost::of_this_thread().since(begin);
            }
        }
        let second_over = (self.part.second + 1) * SECOND;
        self.edge = if self.recording {
            let phase_over = self.phases.as_ref().and_then(Phases::edge).unwrap_or(i64::MAX);
            second_over.min(end).min(phase_over).min(now + LOOK_UP_AFTER)
        } else {
            now + LOOK_UP_AFTER
        };
    }

    fn hand_over(&mut self) {
        let next = Part::new(self.part.second + 1, self.part.kinds.len());
        let part = std::mem::replace(&mut self.part, next);
        let _ = self.messages.send(Message::Part(Box::new(part)));
    }

    /// Open loop: begins the transactions whose turn has come, as far as there are free connections.
    fn start_due(&mut self, now: i64) {
        while let Some(due) = self.arrivals.as_ref().map(Arrivals::next_due)
            && due <= now
        {
            let Some(slot) = self.idle.pop_front() else { return };
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.advance();
            }
            if let Some(phases) = &mut self.phases {
                self.slots[slot].phase = phases.due(due);
            }
            let now = self.now();
            self.begin(slot, due, now);
        }
        if let Some(phases) = &mut self.phases {
            phases.none_waits(now);
        }
    }

    fn begin(&mut self, index: usize, intended: i64, now: i64) {
        let slot = &mut self.slots[index];
        (slot.intended, slot.begun, slot.attempt) = (intended, now, now);
        slot.failures = 0;
        slot.script.begin();
        self.busy += 1;
        self.next(index, now);
    }

    /// The same transaction from its beginning.
    fn begin_again(&mut self, index: usize, now: i64) {
        let slot = &mut self.slots[index];
        if self.recording {
            self.part.totals.retries += 1;
            self.part.totals.wasted_us += micros(now - slot.attempt);
        } else {
            self.release(index);
            return;
        }
        slot.attempt = now;
        slot.script.begin();
        self.next(index, now);
    }

    /// Sends the next statement, or ends the transaction.
    #[inline]
    fn next(&mut self, index: usize, now: i64) {
        let slot = &mut self.slots[index];
        let Some(session) = &mut slot.session else { return };
        self.arguments.clear();
        let last = Last { rows: session.kept() };
        let Some(statement) = slot.script.next(&mut self.arguments, &last) else {
            self.transaction_over(index, now);
            return;
        };
        slot.statement = statement;
        slot.statement_sent = now;
        slot.state = State::InFlight;
        let rows = self.shared.catalog.statements[statement].rows;
        match session.send(statement, &self.arguments, rows) {
            Ok(Sent::Whole) => {}
            Ok(Sent::Partly) => self.want(index, epoll::EventFlags::IN | epoll::EventFlags::OUT),
            Err(error) => self.lost(index, client_side(GONE, &error.to_string())),
        }
    }

    #[inline]
    fn transaction_over(&mut self, index: usize, now: i64) {
        let slot = &self.slots[index];
        if self.recording {
            self.part.totals.transactions += 1;
            self.part.latency.record_us(micros(now - slot.intended));
            if let Some(kind) = slot.script.transaction_kind() {
                self.part.kinds[kind].count += 1;
                self.part.kinds[kind].latency.record_us(micros(now - slot.begun));
            }
            if self.arrivals.is_some() {
                self.part.service_latency.record_us(micros(now - slot.begun));
                if let Some(phases) = self.phases.as_mut().filter(|_| now >= 0) {
                    phases.answered(slot.phase, micros(now - slot.intended));
                }
            }
        }
        if self.slots[index].replacement.is_some() {
            self.replace(index);
        }
        self.release(index);
        if self.recording && self.arrivals.is_none() {
            self.idle.pop_back();
            self.begin(index, now, now);
        }
    }

    fn release(&mut self, index: usize) {
        self.busy -= 1;
        self.slots[index].state = State::Idle;
        self.idle.push_back(index);
    }

    fn ready(&mut self, index: usize, flags: epoll::EventFlags) {
        let Some(session) = self.slots[index].session.as_mut() else {
            return;
        };
        if flags.contains(epoll::EventFlags::OUT) {
            match session.send_rest() {
                Ok(Sent::Whole) => self.want(index, epoll::EventFlags::IN),
                Ok(Sent::Partly) => {}
                Err(error) => return self.lost(index, client_side(GONE, &error.to_string())),
            }
        }
        if !flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR) {
            return;
        }
        let Some(session) = self.slots[index].session.as_mut() else {
            return;
        };
        match session.receive(&mut self.buffer) {
            Ok(None) => {}
            Ok(Some(summary)) => self.answered(index, summary),
            Err(error) => {
                let code = match error {
                    LinkError::Malformed(_) | LinkError::Frame(_) => 0,
                    _ => LOST,
                };
                self.lost(index, client_side(code, &error.to_string()));
            }
        }
    }

    #[inline]
    fn answered(&mut self, index: usize, mut summary: Summary) {
        let now = self.now();
        if now >= self.edge {
            self.over_the_edge(now);
        }
        let slot = &mut self.slots[index];
        match slot.state {
            State::InFlight => {}
            State::RollingBack => return self.begin_again(index, now),
            // Unasked: a server that says why it closes an idle connection.
            State::Idle | State::Away { .. } => {
                let refusal = summary.error.take();
                return self.lost(index, refusal.unwrap_or_else(|| client_side(0, "an answer to nothing")));
            }
        }
        let statement = &self.shared.catalog.statements[slot.statement];
        if let Some(refusal) = summary.error.take() {
            return self.refused(index, refusal, now);
        }
        if self.recording {
            let sent = slot.session.as_ref().map_or(0, |session| session.command_bytes);
            let latency = micros(now - slot.statement_sent);
            self.part
                .answered(statement.kind, statement.key_lookups, &summary, sent, latency);
        }
        self.next(index, now);
    }

    #[cold]
    fn refused(&mut self, index: usize, refusal: Refusal, now: i64) {
        let spec = self.shared.spec;
        if spec.ignore_errors.contains(&refusal.code) {
            self.count_error(index, &refusal);
            return self.begin_again(index, now);
        }
        let slot = &mut self.slots[index];
        slot.failures += 1;
        if CONNECTION_IS_LOST.contains(&refusal.code) || slot.failures > FAILURES_MAX && spec.survive.is_some() {
            return self.lost(index, refusal);
        }
        self.count_error(index, &refusal);
        if spec.survive.is_none() {
            let statement = &self.shared.catalog.statements[self.slots[index].statement];
            let sql: String = statement.sql.chars().take(80).collect();
            let server = &self.slots[index].server;
            let text = format!(
                "{server}: error {} ({}): {} [{sql}]",
                refusal.code, refusal.sqlstate, refusal.message
            );
            return self.fail(text);
        }
        let slot = &mut self.slots[index];
        slot.state = State::RollingBack;
        slot.statement_sent = now;
        let Some(session) = &mut slot.session else { return };
        if let Err(error) = session.send_text("ROLLBACK") {
            self.lost(index, client_side(GONE, &error.to_string()));
        }
    }

    fn count_error(&mut self, index: usize, refusal: &Refusal) {
        if self.recording {
            let kind = self.shared.catalog.statements[self.slots[index].statement].kind;
            self.part.failed(kind, refusal);
        }
    }

    fn fail(&mut self, text: String) {
        self.failed = true;
        let now = self.now();
        self.shared.end.fetch_min(now, Ordering::Relaxed);
        self.over_the_edge(now);
        let _ = self.messages.send(Message::Failure(text));
    }

    fn want(&mut self, index: usize, flags: epoll::EventFlags) {
        let Some(session) = &self.slots[index].session else {
            return;
        };
        let data = epoll::EventData::new_u64(index as u64);
        if let Err(error) = epoll::modify(&self.epoll, session, data, flags) {
            self.fail(format!("epoll: {error}"));
        }
    }
}

/// An error that the client saw by itself.
fn client_side(code: u16, message: &str) -> Refusal {
    Refusal {
        code,
        sqlstate: "HY000".to_owned(),
        message: message.to_owned(),
    }
}

#[inline]
fn micros(nanos: i64) -> u64 {
    (nanos.max(0) as u64 + 500) / 1000
}
