//! Load from several machines: each load node carries its share of a rung's connections, all from the same moment on.
//!
//! ```text
//!   coordinator: Fleet ── Host (ssh, TCP, here) ── agent ── LoadService ── lab-driver ──▶ the target
//!        │         one talk per node and rung: protocol
//!        ▼
//!   Gathering: histograms added, seconds lined up ──▶ one Outcome, as of one driver
//! ```
//!
//! The agent that probes and watches a node also drives its load: nothing else is installed or started there. Passwords travel
//! only over lines that nobody else can read; an agent that is reached by TCP takes them from its own environment.
//!
//! A node's clock may be off: its offset is taken before each rung, the start is told by the node's own clock, and a node that then
//! begins at another moment voids the rung. From there on it counts time by a clock that nobody sets.

mod gathering;
mod protocol;
mod service;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use lab_driver::{Outcome, RungSpec, Share, Stop, Workload};
use lab_host::{Conversation, FromTalk, Host};
use lab_results::UnixMicros;
use lab_results::rung::{LoadShare, Second};

use crate::clock;
use crate::plan::Driver;
use gathering::Gathering;
pub use protocol::Database;
use protocol::{FromNode, Order, SERVICE, ToNode, Version};
pub use service::LoadService;

/// The machines that drive the load, in the plan's order.
#[derive(Debug)]
pub struct Fleet {
    nodes: Vec<LoadNode>,
    limits: Limits,
}

#[derive(Debug)]
struct LoadNode {
    name: String,
    /// Of the agent, and the sysbench there: as it said last.
    pid: Option<u32>,
    sysbench: Option<String>,
    /// Rungs in a row that it could not take part in.
    failures: u32,
}

/// How long is waited for a node.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// For its first word.
    hello: Duration,
    /// For connections to be opened, and for a look at the targets.
    ready: Duration,
    /// For its next second, while it drives load.
    silence: Duration,
    /// For its last word, after the interval's end.
    overtime: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            hello: Duration::from_secs(15),
            ready: Duration::from_secs(120),
            silence: Duration::from_secs(15),
            overtime: Duration::from_secs(60),
        }
    }
}

/// Between two looks at the clock and the user's wish to stop.
const LOOK: Duration = Duration::from_millis(20);
const GO_ON_EACH: Duration = Duration::from_secs(1);
/// From the order to start to the start, besides the time that the order travels.
const LEAD: Duration = Duration::from_millis(300);
/// What a node says may wait to be heard: so many values of all nodes. More hold up the lines they come over.
const MOST_UNHEARD: usize = 1024;
/// After so many rungs in a row that a node could not take part in, it is given up.
const FAILURES_MAX: u32 = 3;
/// A node cannot be heard to begin before its time, nor long after, unless its clock was set meanwhile.
const EARLY_MAX: Duration = Duration::from_millis(100);
const LATE_MAX: Duration = Duration::from_secs(1);
/// Later than this is worth telling: its machine kept it waiting.
const LATE_TOLD: Duration = Duration::from_millis(100);

/// Why a rung did not begin. Each says which node it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    #[error("stopped")]
    Stopped,
    /// The node is away, silent, or will not.
    #[error("load node {node}: {why}")]
    Node { node: String, why: String },
    /// The node is well and does not get an answer from the target.
    #[error("load node {node}: {why}")]
    Target { node: String, why: String },
}

impl FleetError {
    /// Errors of a node's line begin with its name, as this one does.
    pub fn of_node(name: &str, why: &str) -> FleetError {
        FleetError::Node {
            node: name.to_owned(),
            why: why
                .strip_prefix(name)
                .and_then(|why| why.strip_prefix(": "))
                .unwrap_or(why)
                .to_owned(),
        }
    }
}

/// What is asked of all nodes together.
pub struct Task<'a> {
    pub workload: &'a Workload,
    pub driver: Driver,
    pub spec: &'a RungSpec,
}

/// What came of it.
#[derive(Debug)]
pub struct Carried {
    pub outcome: Outcome,
    pub shares: Vec<LoadShare>,
}

impl Fleet {
    pub fn new(names: impl IntoIterator<Item = String>) -> Fleet {
        let nodes = names
            .into_iter()
            .map(|name| LoadNode {
                name,
                pid: None,
                sysbench: None,
                failures: 0,
            })
            .collect();
        Fleet {
            nodes,
            limits: Limits::default(),
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.name.as_str())
    }

    /// Process ids of the agents that drive the load, of those that ever answered.
    pub fn pids(&self) -> BTreeMap<String, u32> {
        let pid = |node: &LoadNode| Some((node.name.clone(), node.pid?));
        self.nodes.iter().filter_map(pid).collect()
    }

    /// The installed sysbench of each node.
    pub fn sysbench(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.nodes
            .iter()
            .map(|node| (node.name.as_str(), node.sysbench.as_deref()))
    }

    /// A rung was given up for this reason, however often it was tried.
    pub fn gave_up_a_rung(&mut self, why: &FleetError) {
        if let FleetError::Node { node, .. } = why {
            let known = self.nodes.iter_mut().find(|known| known.name == *node);
            known.into_iter().for_each(|node| node.failures += 1);
        }
    }

    /// The node that could not take part in a few rungs in a row.
    pub fn given_up(&self) -> Option<&str> {
        let node = self.nodes.iter().find(|node| node.failures >= FAILURES_MAX)?;
        Some(&node.name)
    }

    /// Whether every node runs this lab, may have `files` connections, and reaches the targets that `database` gives for it. What does
    /// not hold comes back as sentences.
    pub fn look(
        &mut self,
        hosts: &[&Host],
        files: u64,
        databases: &dyn Fn(&Host) -> Vec<Database>,
        stop: &Stop,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        for (index, host) in hosts.iter().enumerate() {
            let looked = self.look_at(index, host, files, databases(host), stop);
            match looked {
                Ok(of_node) => problems.extend(
                    of_node
                        .into_iter()
                        .map(|why| format!("load node {}: {why}", host.name())),
                ),
                Err(error) => problems.push(error.to_string()),
            }
        }
        problems
    }

    fn look_at(
        &mut self,
        index: usize,
        host: &Host,
        files: u64,
        targets: Vec<Database>,
        stop: &Stop,
    ) -> Result<Vec<String>, FleetError> {
        let limits = self.limits;
        let mut talks = Talks::open(&[(index, host)], stop)?;
        self.hello(&mut talks)?;
        talks.say_all(&ToNode::Look { targets, files })?;
        let mut problems = Vec::new();
        talks.each(limits.ready, "what it sees of the targets", &mut |_, said| match said {
            FromNode::Looked { problems: found } => {
                problems = found;
                Ok(true)
            }
            _ => Ok(false),
        })?;
        Ok(problems)
    }

    /// Drives a rung with all nodes; `hosts` are theirs, in order, and `database` the target as each may be told it. `progress` gets each
    /// second's sum. A node that is lost once load was sent is in [`Outcome::failure`].
    pub fn run(
        &mut self,
        hosts: &[&Host],
        database: &dyn Fn(&Host) -> Result<Database, String>,
        task: &Task<'_>,
        stop: &Stop,
        progress: &mut dyn FnMut(&Second),
    ) -> Result<Carried, FleetError> {
        let carried = self.try_run(hosts, database, task, stop, progress);
        if carried.is_ok() {
            self.nodes.iter_mut().for_each(|node| node.failures = 0);
        }
        carried
    }

    fn try_run(
        &mut self,
        hosts: &[&Host],
        database: &dyn Fn(&Host) -> Result<Database, String>,
        task: &Task<'_>,
        stop: &Stop,
        progress: &mut dyn FnMut(&Second),
    ) -> Result<Carried, FleetError> {
        let of = task.spec.load.threads_total();
        let parts = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
        let mut shares = Vec::new();
        let mut working = Vec::new();
        for (index, host) in (0..).zip(hosts) {
            let share = Share::nth(of, index, parts);
            if share.connections > 0 {
                shares.push(share);
                working.push((index as usize, *host));
            }
        }
        let mut talks = Talks::open(&working, stop)?;
        self.hello(&mut talks)?;
        for (at, (_, host)) in working.iter().enumerate() {
            let target = database(host).map_err(|why| talks.error(at, why))?;
            let order = Order::new(target, task, shares[at], (at as u32, working.len() as u32));
            talks.say(at, &ToNode::Begin(Box::new(order)))?;
        }
        talks.each(self.limits.ready, "its connections", &mut |_, said| {
            Ok(matches!(said, FromNode::Ready))
        })?;
        let offsets = offsets(&working)?;
        let start = Start::in_a_moment(&offsets);
        for (at, (offset, _)) in offsets.iter().enumerate() {
            let at_there = UnixMicros(start.wall.0.saturating_add_signed(*offset));
            talks.say(at, &ToNode::Start { at: at_there })?;
        }
        let gathering = Gathering::new(
            working
                .iter()
                .zip(&shares)
                .map(|((_, host), share)| (host.name().to_owned(), *share)),
        );
        let mut rung = Rung {
            talks: &talks,
            gathering,
            start,
            round_trip: 2 * longest(&offsets),
            end: start.at + task.spec.warmup + task.spec.measure,
            limits: self.limits,
            last_word: vec![start.at; working.len()],
            stopped: false,
            begun: false,
            refused: None,
        };
        rung.listen(stop, progress);
        if let Some(refused) = rung.refused.filter(|_| !rung.begun) {
            return Err(refused);
        }
        let interrupted = stop.is_requested();
        if interrupted && !rung.begun {
            return Err(FleetError::Stopped);
        }
        let measured_from = UnixMicros(start.wall.0 + task.spec.warmup.as_micros() as u64);
        let offsets: Vec<i64> = offsets.iter().map(|(offset, _)| *offset).collect();
        let (outcome, shares) = rung.gathering.outcome(measured_from, &offsets, interrupted);
        Ok(Carried { outcome, shares })
    }

    /// Every talk begins with it: both ends must be the same lab.
    fn hello(&mut self, talks: &mut Talks) -> Result<(), FleetError> {
        talks.say_all(&ToNode::Hello(Version::ours()))?;
        let indices = talks.indices.clone();
        let nodes = &mut self.nodes;
        talks.each(self.limits.hello, "whether it can drive load", &mut |at, said| match said {
            FromNode::Hello { version, pid, sysbench } => {
                if version != Version::ours() {
                    return Err(format!(
                        "it runs {version}, this is {}: install the same latsdb on both (and start its agent again)",
                        Version::ours()
                    ));
                }
                let node = &mut nodes[indices[at]];
                node.pid = Some(pid);
                node.sysbench = sysbench;
                Ok(true)
            }
            _ => Ok(false),
        })
    }
}

/// Each node's clock minus ours and half the round trip that it was taken over, in microseconds.
fn offsets(working: &[(usize, &Host)]) -> Result<Vec<(i64, u64)>, FleetError> {
    working
        .iter()
        .map(|(_, host)| {
            host.clock_offset()
                .map_err(|error| FleetError::of_node(host.name(), &error.to_string()))
        })
        .collect()
}

fn longest(offsets: &[(i64, u64)]) -> Duration {
    Duration::from_micros(offsets.iter().map(|(_, half)| *half).max().unwrap_or(0))
}

/// The common moment, by our clocks.
#[derive(Debug, Clone, Copy)]
struct Start {
    at: Instant,
    wall: UnixMicros,
}

impl Start {
    fn in_a_moment(offsets: &[(i64, u64)]) -> Start {
        let lead = LEAD + 2 * longest(offsets);
        Start {
            at: Instant::now() + lead,
            wall: UnixMicros(clock::now().0 + lead.as_micros() as u64),
        }
    }
}

/// One talk with each node that takes part. Nodes go by their place among these.
struct Talks {
    conversations: Vec<Conversation>,
    names: Vec<String>,
    /// Places in the fleet.
    indices: Vec<usize>,
    inbox: Receiver<(usize, FromTalk)>,
    stop: Stop,
}

impl Talks {
    fn open(nodes: &[(usize, &Host)], stop: &Stop) -> Result<Talks, FleetError> {
        let (sender, inbox) = mpsc::sync_channel(MOST_UNHEARD);
        let mut talks = Talks {
            conversations: Vec::new(),
            names: nodes.iter().map(|(_, host)| host.name().to_owned()).collect(),
            indices: nodes.iter().map(|(index, _)| *index).collect(),
            inbox,
            stop: stop.clone(),
        };
        for (at, (_, host)) in nodes.iter().enumerate() {
            let sender = sender.clone();
            let listener = move |said| {
                // Nobody listens any more: the talk is about to end.
                let _ = sender.send((at, said));
            };
            let talk = host.talk(SERVICE, listener);
            talks
                .conversations
                .push(talk.map_err(|error| talks.error(at, error.to_string()))?);
        }
        Ok(talks)
    }

    fn error(&self, at: usize, why: String) -> FleetError {
        FleetError::of_node(&self.names[at], &why)
    }

    fn say(&self, at: usize, said: &ToNode) -> Result<(), FleetError> {
        self.conversations[at]
            .say(said)
            .map_err(|error| self.error(at, error.to_string()))
    }

    fn say_all(&self, said: &ToNode) -> Result<(), FleetError> {
        (0..self.conversations.len()).try_for_each(|at| self.say(at, said))
    }

    /// What came next; `None` after a moment of silence. The second part: the talk is over, and why.
    fn next(&self) -> Option<(usize, Result<FromNode, String>)> {
        match self.inbox.recv_timeout(LOOK) {
            Ok((at, FromTalk::Said(said))) => {
                let understood = serde_json::from_value(said).map_err(|error| {
                    format!("it says what this lab does not understand ({error}): use the same latsdb on both ends")
                });
                Some((at, understood))
            }
            Ok((at, FromTalk::Over(why))) => Some((at, Err(why))),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Until `take` has taken something of each node.
    fn each(
        &self,
        limit: Duration,
        what: &str,
        take: &mut dyn FnMut(usize, FromNode) -> Result<bool, String>,
    ) -> Result<(), FleetError> {
        let began = Instant::now();
        let mut missing: Vec<usize> = (0..self.names.len()).collect();
        let mut last_go_on = began;
        while let Some(first) = missing.first() {
            if self.stop.is_requested() {
                return Err(FleetError::Stopped);
            }
            if began.elapsed() > limit {
                return Err(self.error(
                    *first,
                    format!(
                        "it did not say {what} within {:.0} s: is it overloaded, or its line broken?",
                        limit.as_secs_f64()
                    ),
                ));
            }
            if last_go_on.elapsed() >= GO_ON_EACH {
                last_go_on = Instant::now();
                self.say_all(&ToNode::GoOn)?;
            }
            match self.next() {
                None => {}
                Some((at, Err(why))) => return Err(self.error(at, why)),
                Some((at, Ok(FromNode::CannotBegin(refusal)))) => {
                    let (node, why) = (self.names[at].clone(), refusal.why);
                    return Err(match refusal.unreachable {
                        true => FleetError::Target { node, why },
                        false => FleetError::Node { node, why },
                    });
                }
                Some((at, Ok(said))) => {
                    let taken = take(at, said).map_err(|why| self.error(at, why))?;
                    missing.retain(|missing| !taken || *missing != at);
                }
            }
        }
        Ok(())
    }
}

/// A rung from the order to start to the last node's last word.
struct Rung<'a> {
    talks: &'a Talks,
    gathering: Gathering,
    start: Start,
    /// The longest of all nodes.
    round_trip: Duration,
    end: Instant,
    limits: Limits,
    last_word: Vec<Instant>,
    stopped: bool,
    /// Some node has begun.
    begun: bool,
    /// A node refused to begin.
    refused: Option<FleetError>,
}

impl Rung<'_> {
    fn listen(&mut self, stop: &Stop, progress: &mut dyn FnMut(&Second)) {
        let mut last_go_on = Instant::now();
        while !self.gathering.is_over() {
            let mut whole = match self.talks.next() {
                // Only now: what was said while we stood still ourselves is heard first.
                None => self.give_up_the_silent(),
                Some((at, Ok(said))) => self.said(at, said),
                Some((at, Err(why))) => self.gathering.lost(at, &why),
            };
            if last_go_on.elapsed() >= GO_ON_EACH {
                last_go_on = Instant::now();
                whole.extend(self.say_to_working(&ToNode::GoOn));
            }
            if !self.stopped && (stop.is_requested() || self.gathering.failure().is_some()) {
                self.stopped = true;
                whole.extend(self.say_to_working(&ToNode::Stop));
            }
            for second in &whole {
                progress(second);
            }
        }
    }

    fn said(&mut self, at: usize, said: FromNode) -> Vec<Second> {
        let now = Instant::now();
        self.last_word[at] = now;
        match said {
            FromNode::Second(second) => self.gathering.second(at, &second),
            FromNode::Finished(finished) => self.gathering.finished(at, *finished),
            FromNode::Begun { late_us } => self.began(at, now, Duration::from_micros(late_us)),
            FromNode::CannotBegin(refusal) => {
                let refused = match refusal.unreachable {
                    true => FleetError::Target {
                        node: self.talks.names[at].clone(),
                        why: refusal.why.clone(),
                    },
                    false => self.talks.error(at, refusal.why.clone()),
                };
                if !self.stopped {
                    self.refused.get_or_insert(refused);
                }
                self.gathering.lost(at, &refusal.why)
            }
            FromNode::Hello { .. } | FromNode::Looked { .. } | FromNode::Ready => Vec::new(),
        }
    }

    /// Holds the moment at which it was heard against the common one.
    fn began(&mut self, at: usize, heard: Instant, late: Duration) -> Vec<Second> {
        self.begun = true;
        let early = self.start.at.saturating_duration_since(heard);
        let behind = heard.saturating_duration_since(self.start.at + late);
        if late > LATE_TOLD {
            let what = format!(
                "{}: its machine woke it {} ms after the start",
                self.talks.names[at],
                late.as_millis()
            );
            self.gathering.event(clock::now(), what);
        }
        if early <= EARLY_MAX && behind <= LATE_MAX + self.round_trip {
            return Vec::new();
        }
        let (by, which) = if early > EARLY_MAX {
            (early, "before")
        } else {
            (behind, "after")
        };
        let why = format!(
            "it began {} ms {which} the others: its clock was set just then; let NTP or chrony hold it",
            by.as_millis()
        );
        let _ = self.talks.say(at, &ToNode::Stop);
        self.gathering.lost(at, &why)
    }

    fn say_to_working(&mut self, said: &ToNode) -> Vec<Second> {
        let mut whole = Vec::new();
        for at in 0..self.talks.names.len() {
            if self.gathering.is_working(at)
                && let Err(error) = self.talks.conversations[at].say(said)
            {
                whole.extend(self.gathering.lost(at, &error.to_string()));
            }
        }
        whole
    }

    fn give_up_the_silent(&mut self) -> Vec<Second> {
        let mut whole = Vec::new();
        let now = Instant::now();
        for at in 0..self.last_word.len() {
            if !self.gathering.is_working(at) {
                continue;
            }
            let why = if now.saturating_duration_since(self.last_word[at]) > self.limits.silence {
                format!(
                    "it said nothing for {:.0} s: its machine or its line stands still",
                    self.limits.silence.as_secs_f64()
                )
            } else if now > self.end + self.limits.overtime {
                format!(
                    "it did not end within {:.0} s after its time",
                    self.limits.overtime.as_secs_f64()
                )
            } else {
                continue;
            };
            whole.extend(self.gathering.lost(at, &why));
        }
        whole
    }
}

#[cfg(test)]
mod tests;
