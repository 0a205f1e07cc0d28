//! Commands of several clients in one transaction.
//!
//! Clients that each wait for one commit share it anyhow; but those that write the same key would have to wait for each other's. So whoever
//! comes first on a core waits until the others that have come at the same time are there, runs the commands of all of them in one
//! transaction, and commits once:
//!
//! ```text
//!   client ──▶ submission ──▶ the first one leads: waits a turn, takes all, locks their keys, runs them ──▶ commit ──▶ answers to all
//!   client ──▶ submission ──┘
//! ```
//!
//! Two such transactions are under way at most; what comes meanwhile is the next one. If one has to begin anew, everybody runs his
//! commands alone.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

use redis_wire::{Protocol, Reply};
use sql_api::host::Host;
use transaction::Durability;

use crate::call::Call;
use crate::failure::Outcome;
use crate::keyspace::Keyspace;
use crate::session::{Run, commit, run_call};
use crate::work::Work;

/// Transactions under way on a core.
const UNDER_WAY_MAX: usize = 2;
/// Commands of one transaction.
const COMMANDS_MAX: usize = 4096;

thread_local! {
    static WAITING: RefCell<VecDeque<Rc<Submission>>> = const { RefCell::new(VecDeque::new()) };
    static UNDER_WAY: Cell<usize> = const { Cell::new(0) };
}

/// Commands of one client: copies, as he waits on a stack of his own.
pub struct Submission {
    keyspace: Arc<Keyspace>,
    db: u32,
    protocol: Protocol,
    durability: Durability,
    bytes: Vec<u8>,
    args: Vec<Range<u32>>,
    commands: Vec<Queued>,
    /// Which of the arguments are keys to be locked.
    keys: Vec<u32>,
    is_in_line: Cell<bool>,
    state: RefCell<State>,
}

struct Queued {
    run: Run,
    args: Range<u32>,
}

enum State {
    Waiting(Option<Waker>),
    /// Its client leads.
    Called,
    Done(Vec<u8>),
    /// To be run alone.
    Failed,
}

impl Submission {
    pub fn new(keyspace: Arc<Keyspace>, db: u32, protocol: Protocol, durability: Durability) -> Submission {
        Submission {
            keyspace,
            db,
            protocol,
            durability,
            bytes: Vec::new(),
            args: Vec::new(),
            commands: Vec::new(),
            keys: Vec::new(),
            is_in_line: Cell::new(false),
            state: RefCell::new(State::Waiting(None)),
        }
    }

    /// Adds a command.
    pub fn add(&mut self, run: Run, args: &[&[u8]]) {
        let first = self.args.len() as u32;
        for arg in args {
            let begin = self.bytes.len() as u32;
            self.bytes.extend_from_slice(arg);
            self.args.push(begin..self.bytes.len() as u32);
        }
        self.commands.push(Queued {
            run,
            args: first..self.args.len() as u32,
        });
    }

    /// An argument of the command that was added last is a key to be locked.
    pub fn lock(&mut self, at: usize) {
        let first = self.commands.last().map_or(0, |command| command.args.start);
        self.keys.push(first + at as u32);
    }

    fn arg(&self, at: u32) -> &[u8] {
        let range = &self.args[at as usize];
        &self.bytes[range.start as usize..range.end as usize]
    }

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|&at| self.arg(at))
    }

    fn is_like(&self, other: &Submission) -> bool {
        self.db == other.db && self.durability == other.durability && Arc::ptr_eq(&self.keyspace, &other.keyspace)
    }

    fn finish(&self, state: State) {
        if let State::Waiting(Some(waker)) = self.state.replace(state) {
            waker.wake();
        }
    }
}

/// Runs the commands with those of others; appends their answers. False: they have to be run alone.
pub fn run(submission: Submission, host: &dyn Host, reply: &mut Reply) -> bool {
    let submission = Rc::new(submission);
    submission.is_in_line.set(true);
    WAITING.with_borrow_mut(|waiting| waiting.push_back(submission.clone()));
    let mine = InLine(&submission);
    if UNDER_WAY.get() < UNDER_WAY_MAX && WAITING.with_borrow(|waiting| waiting.len() == 1) {
        *submission.state.borrow_mut() = State::Called;
    }
    host.wait(pin!(called_or_done(&submission)));
    if matches!(*submission.state.borrow(), State::Called) {
        lead(host);
    }
    drop(mine);
    match submission.state.replace(State::Failed) {
        State::Done(answers) => {
            reply.bytes.extend_from_slice(&answers);
            true
        }
        State::Waiting(_) | State::Called | State::Failed => false,
    }
}

/// Takes a submission out of the line, whatever becomes of its client. If it was to lead, the next one does.
struct InLine<'s>(&'s Rc<Submission>);

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        if !self.0.is_in_line.get() {
            return;
        }
        WAITING.with_borrow_mut(|waiting| waiting.retain(|other| !Rc::ptr_eq(other, self.0)));
        if matches!(*self.0.state.borrow(), State::Called) {
            call_next();
        }
    }
}

/// Lets whoever has waited longest lead.
fn call_next() {
    if UNDER_WAY.get() >= UNDER_WAY_MAX {
        return;
    }
    let first = WAITING.with_borrow(|waiting| waiting.front().cloned());
    if let Some(first) = first
        && matches!(*first.state.borrow(), State::Waiting(_))
    {
        first.finish(State::Called);
    }
}

/// For who leads at once: lets all others come that are here already.
async fn called_or_done(submission: &Submission) {
    let mut has_yielded = false;
    poll_fn(|context| match &mut *submission.state.borrow_mut() {
        State::Called if !has_yielded => {
            has_yielded = true;
            context.waker().wake_by_ref();
            Poll::Pending
        }
        State::Waiting(waker) => {
            *waker = Some(context.waker().clone());
            Poll::Pending
        }
        State::Called | State::Done(_) | State::Failed => Poll::Ready(()),
    })
    .await;
}

/// A transaction under way, and those who wait for it. Whatever ends it, they hear of it.
struct UnderWay {
    led: Vec<Rc<Submission>>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        for submission in &self.led {
            let is_open = matches!(*submission.state.borrow(), State::Waiting(_) | State::Called);
            if is_open {
                submission.finish(State::Failed);
            }
        }
        UNDER_WAY.set(UNDER_WAY.get() - 1);
        call_next();
    }
}

fn lead(host: &dyn Host) {
    let led = WAITING.with_borrow_mut(|waiting| {
        let mut led: Vec<Rc<Submission>> = Vec::new();
        let mut commands = 0;
        while let Some(next) = waiting.front() {
            let fits = led.first().is_none_or(|first| first.is_like(next));
            if !fits || commands >= COMMANDS_MAX {
                break;
            }
            commands += next.commands.len();
            next.is_in_line.set(false);
            led.extend(waiting.pop_front());
        }
        led
    });
    UNDER_WAY.set(UNDER_WAY.get() + 1);
    let under_way = UnderWay { led };
    // The others of another kind, or too many, are the next ones.
    call_next();
    if let Ok(answers) = run_all(&under_way.led, host) {
        for (submission, answer) in under_way.led.iter().zip(answers) {
            submission.finish(State::Done(answer));
        }
    }
}

fn run_all(led: &[Rc<Submission>], host: &dyn Host) -> Outcome<Vec<Vec<u8>>> {
    let Some(first) = led.first() else {
        return Ok(Vec::new());
    };
    let keyspace = &first.keyspace;
    let db = keyspace.db(first.db, host)?;
    let mut work = Work::begin(keyspace, first.durability, host);
    work.lock_keys(&db, led.iter().flat_map(|submission| submission.keys()))?;
    let mut answers = Vec::with_capacity(led.len());
    let mut args: Vec<&[u8]> = Vec::new();
    for submission in led {
        let mut reply = Reply::new(submission.protocol);
        for command in &submission.commands {
            governor::tick()?;
            args.clear();
            args.extend(command.args.clone().map(|at| submission.arg(at)));
            let mut call = Call {
                work: &mut work,
                db: db.clone(),
                args: &args,
                reply: &mut reply,
                may_block: false,
            };
            run_call(&mut call, command.run)?;
        }
        answers.push(reply.bytes);
    }
    let events = commit(work, host)?;
    keyspace.publish(&events, host);
    Ok(answers)
}
