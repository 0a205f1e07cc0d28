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
//! commands alone. Not if its commit may be there, or may come yet: then everybody is told what is known.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

use env::failpoints;
use redis_wire::{Protocol, Reply};
use sql_api::host::Host;
use transaction::Durability;

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::keyspace::Keyspace;
use crate::session::{Member, commit, run_call};
use crate::work::Work;

/// Transactions under way on a core.
const UNDER_WAY_MAX: usize = 2;
/// Commands of one transaction.
const COMMANDS_MAX: usize = 4096;
/// To clients whose leader has died in the commit.
const LEFT_ALONE: &str = "ERR it is not known whether the transaction committed: who has led it is gone";

thread_local! {
    /// Of each keyspace, by its place: a process has one, a simulation has one for each life of a node.
    static LINES: RefCell<Vec<Rc<Line>>> = const { RefCell::new(Vec::new()) };
}

/// Who writes on this core.
#[derive(Default)]
struct Line {
    waiting: RefCell<VecDeque<Rc<Submission>>>,
    under_way: Cell<usize>,
}

impl Line {
    fn of(keyspace: &Keyspace) -> Rc<Line> {
        let place = keyspace.place();
        LINES.with_borrow_mut(|lines| {
            if lines.len() <= place {
                lines.resize_with(place + 1, Rc::default);
            }
            lines[place].clone()
        })
    }

    /// Takes those out who fit into one transaction with the first.
    fn take(&self) -> Vec<Rc<Submission>> {
        let waiting = &mut *self.waiting.borrow_mut();
        let mut taken: Vec<Rc<Submission>> = Vec::new();
        let mut commands = 0;
        while let Some(next) = waiting.front() {
            let fits = taken.first().is_none_or(|first| first.is_like(next));
            if !fits || commands >= COMMANDS_MAX {
                break;
            }
            commands += next.commands.len();
            next.is_in_line.set(false);
            taken.extend(waiting.pop_front());
        }
        taken
    }

    /// Lets whoever has waited longest lead.
    fn call_next(&self) {
        if self.under_way.get() >= UNDER_WAY_MAX {
            return;
        }
        let first = self.waiting.borrow().front().cloned();
        if let Some(first) = first
            && matches!(*first.state.borrow(), State::Waiting(_))
        {
            first.finish(State::Called);
        }
    }
}

/// Commands of one client: copies, as he waits on a stack of his own.
pub struct Submission {
    keyspace: Arc<Keyspace>,
    line: Rc<Line>,
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
    member: Member,
    args: Range<u32>,
}

enum State {
    Waiting(Option<Waker>),
    /// Its client leads.
    Called,
    Done(Vec<u8>),
    /// The commit has failed, and nobody tries again: the error of each command.
    Refused(Rc<[u8]>),
    /// To be run alone.
    Failed,
}

impl Submission {
    pub fn new(keyspace: Arc<Keyspace>, db: u32, protocol: Protocol, durability: Durability) -> Submission {
        Submission {
            line: Line::of(&keyspace),
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
    pub fn add(&mut self, member: Member, args: &[&[u8]]) {
        let first = self.args.len() as u32;
        for arg in args {
            let begin = self.bytes.len() as u32;
            self.bytes.extend_from_slice(arg);
            self.args.push(begin..self.bytes.len() as u32);
        }
        self.commands.push(Queued {
            member,
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
        self.db == other.db && self.durability == other.durability
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
    let line = &submission.line;
    submission.is_in_line.set(true);
    line.waiting.borrow_mut().push_back(submission.clone());
    let mine = InLine(&submission);
    if line.under_way.get() < UNDER_WAY_MAX && line.waiting.borrow().len() == 1 {
        *submission.state.borrow_mut() = State::Called;
    }
    host.wait(pin!(called_or_done(&submission)));
    if matches!(*submission.state.borrow(), State::Called) {
        lead(line, host);
    }
    drop(mine);
    match submission.state.replace(State::Failed) {
        State::Done(answers) => {
            reply.bytes.extend_from_slice(&answers);
            true
        }
        State::Refused(error) => {
            submission.commands.iter().for_each(|_| reply.error_bytes(&error));
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
        let line = &self.0.line;
        line.waiting.borrow_mut().retain(|other| !Rc::ptr_eq(other, self.0));
        if matches!(*self.0.state.borrow(), State::Called) {
            line.call_next();
        }
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
        State::Called | State::Done(_) | State::Refused(_) | State::Failed => Poll::Ready(()),
    })
    .await;
}

/// A transaction under way, and those who wait for it. Whatever ends it, they hear of it.
struct UnderWay {
    line: Rc<Line>,
    led: Vec<Rc<Submission>>,
    /// Its commit may be there, or come yet, whatever becomes of who leads.
    is_proposed: Cell<bool>,
}

impl UnderWay {
    fn finish(&self, state: impl Fn() -> State) {
        for submission in &self.led {
            let is_open = matches!(*submission.state.borrow(), State::Waiting(_) | State::Called);
            if is_open {
                submission.finish(state());
            }
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        match self.is_proposed.get() {
            true => {
                let error: Rc<[u8]> = Rc::from(LEFT_ALONE.as_bytes());
                self.finish(|| State::Refused(error.clone()));
            }
            false => self.finish(|| State::Failed),
        }
        self.line.under_way.update(|count| count - 1);
        self.line.call_next();
    }
}

fn lead(line: &Rc<Line>, host: &dyn Host) {
    let under_way = UnderWay {
        line: line.clone(),
        led: line.take(),
        is_proposed: Cell::new(false),
    };
    line.under_way.update(|count| count + 1);
    // The others of another kind, or too many, are the next ones.
    line.call_next();
    let Some(first) = under_way.led.first() else {
        return;
    };
    let Ok((work, answers)) = run_all(first, &under_way.led, host) else {
        return;
    };
    under_way.is_proposed.set(true);
    match commit(work, host) {
        Ok(events) => {
            first.keyspace.publish(&events, host);
            for (submission, answer) in under_way.led.iter().zip(answers) {
                submission.finish(State::Done(answer));
            }
        }
        // It is not there, and never will be.
        Err(Failure::Again(_)) => under_way.is_proposed.set(false),
        Err(_) if failpoints::goes_wrong("keys.again") => under_way.is_proposed.set(false),
        Err(failure) => {
            let error: Rc<[u8]> = Rc::from(&*failure.text());
            under_way.finish(|| State::Refused(error.clone()));
        }
    }
}

/// Runs the commands of all in one transaction, for its commit; with the answers to each client.
fn run_all<'w>(first: &'w Submission, led: &[Rc<Submission>], host: &'w dyn Host) -> Outcome<(Work<'w>, Vec<Vec<u8>>)> {
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
            run_call(&mut call, command.member)?;
        }
        answers.push(reply.bytes);
    }
    Ok((work, answers))
}
