//! Nodes, the ways between them, their clients, and time, a millisecond after the other.
//!
//! A run has three parts: the cluster is founded; clients work while the nemesis does its own; everything is made good, and everybody must
//! come to agree within seconds.

mod speaking;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use env::{Feature, Level, Levels, SeededRandom, SimDisk};
use parking_lot::Mutex;
use shard::{Admission, Admitted, EntryId, Role, Shard, Timing, Transaction};
use store::LockTarget;

use crate::invariants::catalog::Catalogs;
use crate::invariants::election::Election;
use crate::invariants::equality::Equality;
use crate::invariants::log;
use crate::invariants::outcomes::Outcomes;
use crate::invariants::witness;
use crate::nemesis::{Fault, Nemesis};
use crate::net::Net;
use crate::node::{Clients, Follower, Node, Settings, Slot};
use crate::panics;
use crate::report::{Report, Violation};
use crate::schema::{self, LISTS};
use crate::sql;
use crate::trace::{Trace, hash};
use crate::workload::{Bench, Mix, Session};

/// Within which a cluster without faults has to have a leader, and serves.
const RECOVERY: u64 = 20_000;
/// Everybody who waits is answered by then.
const LAST_ANSWERS: u64 = 20_000;

/// What a run is about.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub seed: u64,
    /// Milliseconds with faults.
    pub length: u64,
    /// A fault that is frequent.
    pub often: Option<Fault>,
    /// The last of the nodes has no rows.
    pub has_witness: bool,
    /// Clients speak SQL.
    pub speaks_sql: bool,
}

/// How a run ended.
pub struct Outcome {
    pub violations: Vec<Violation>,
    pub hash: u64,
    /// What it did, in numbers.
    pub summary: String,
}

pub struct World {
    pub trace: Arc<Trace>,
    pub report: Report,
    pub net: Arc<Net>,
    pub nodes: Vec<Node>,
    pub random: SeededRandom,
    pub now: u64,
    seed: u64,
    /// The greatest id that a node has had.
    newest: u32,
    settings: Settings,
    bench: Arc<Bench>,
    election: Election,
    equality: Equality,
    outcomes: Outcomes,
    catalogs: Catalogs,
    /// What the clients of each node do that speak SQL; `None`: none do.
    sql_mixes: Option<BTreeMap<u32, sql::work::Mix>>,
    clients: u64,
    /// Of nodes that are down, when they start again.
    pub restarts: BTreeMap<u32, u64>,
    /// Nodes that ask to be taken in.
    joining: BTreeSet<u32>,
    /// Nodes that are to be let go.
    leaving: BTreeSet<u32>,
    /// Nodes that have lost their disks: when the others have let go of them they come anew.
    lost: BTreeSet<u32>,
    /// Which life of which node was taken in, and by which entry.
    taken_in: Arc<Mutex<Vec<(u32, u64, EntryId)>>>,
    /// Nodes whose disks fail now, or did since their start.
    pub bad_disks: BTreeSet<u32>,
}

/// Runs a seed from its beginning to its end.
pub fn run(plan: Plan, is_shown: bool) -> Outcome {
    let mut world = World::new(plan, is_shown);
    let mut nemesis = Nemesis::new(&world, plan.often);
    if world.found() {
        let end = world.now + plan.length;
        while world.now < end && !world.report.has_any() {
            nemesis.act(&mut world);
            world.tick();
        }
        nemesis.stop(&mut world);
        world.recover();
    }
    world.finish()
}

impl World {
    fn new(plan: Plan, is_shown: bool) -> World {
        let trace = Arc::new(Trace::new(is_shown));
        let report = Report::new(trace.clone());
        let random = SeededRandom::new(plan.seed);
        let count = if random.below(4) == 0 { 5 } else { 3 };
        let settings = Settings {
            founders: if random.below(3) == 0 { 1 } else { count },
            witness: plan.has_witness.then_some(count),
            level: match (plan.speaks_sql && plan.seed % 4 != 3, plan.has_witness) {
                (true, _) => Levels::spoken().highest,
                // It comes in at levels that have a place for it alone.
                (false, true) => Feature::Witness.level(),
                (false, false) => Level::FIRST,
            },
            checkpoint_bytes: [4 << 10, 32 << 10, 1 << 20][random.below(3) as usize],
            checkpoint_bytes_per_second: [0, 300_000][random.below(2) as usize],
            timing: Timing {
                election: Duration::from_millis([100, 100, 100, 300][random.below(4) as usize]),
                // The shorter, the more commits are in doubt.
                commit: Duration::from_millis([300, 2000, 2000, 5000][random.below(4) as usize]),
                ..Timing::default()
            },
        };
        let nodes = (1..=count).map(|id| {
            let drift = random.below(40_001) as i64 - 20_000;
            Node::new(
                id,
                settings.role(id),
                plan.seed * 1000 + u64::from(id),
                drift,
                random.below(2_000),
                Mix::draw(&random),
            )
        });
        let mut nodes: Vec<Node> = nodes.collect();
        for node in &mut nodes {
            node.founds = node.id <= settings.founders;
        }
        World {
            net: Net::new(plan.seed ^ 0x006e_6574, trace.clone()),
            bench: Bench::new(trace.clone(), report.clone()),
            clients: 2 + random.below(3),
            trace,
            report,
            nodes,
            random,
            now: 0,
            seed: plan.seed,
            newest: count,
            settings,
            election: Election::default(),
            equality: Equality::default(),
            outcomes: Outcomes::default(),
            catalogs: Catalogs::default(),
            sql_mixes: plan.speaks_sql.then(BTreeMap::new),
            restarts: BTreeMap::new(),
            joining: (settings.founders + 1..=count).collect(),
            leaving: BTreeSet::new(),
            lost: BTreeSet::new(),
            taken_in: Arc::default(),
            bad_disks: BTreeSet::new(),
        }
    }

    pub fn start(&mut self, id: u32) {
        let (settings, net) = (self.settings, self.net.clone());
        let seed = self.random.below(u64::MAX);
        let clients = match self.sql_mixes.is_some() {
            true => self.speakers(id, seed),
            false => self.transactors(id, seed),
        };
        let node = self.node(id);
        let life = node.life + 1;
        node.start(&net, settings, seed, clients);
        self.restarts.remove(&id);
        if !self.node(id).full_disk {
            self.bad_disks.remove(&id);
        }
        self.trace.note(format_args!("node {id} starts its life {life}"));
    }

    /// Clients that begin transactions, commit, and read.
    fn transactors(&mut self, id: u32, seed: u64) -> Clients {
        let bench = self.bench.clone();
        let clients = self.clients;
        let node = self.node(id);
        let (life, mix) = (node.life + 1, node.mix.clone());
        let clients = match node.role {
            Role::Data => clients,
            Role::Witness => 0,
        };
        Clients::Transactions(Box::new(move |shard| {
            for client in 0..clients {
                let session = Session {
                    shard: shard.clone(),
                    bench: bench.clone(),
                    random: SeededRandom::new(seed ^ hash(client, b"client")),
                    node: id,
                    name: format!("client {id}.{life}.{client}"),
                    only_reads: client == 0,
                    mix: mix.clone(),
                };
                tokio::spawn(session.run());
            }
        }))
    }

    pub fn kill(&mut self, id: u32, loses_power: bool) {
        let net = self.net.clone();
        self.node(id).kill(&net, loses_power);
        self.bench.ends.abandon(id);
        self.equality.forget(id);
        self.outcomes.forget(id);
        self.catalogs.forget(id);
        let how = if loses_power { "loses power" } else { "is killed" };
        self.trace.note(format_args!("node {id} {how}"));
    }

    /// Its process stands still.
    pub fn stall(&mut self, id: u32, milliseconds: u64) {
        let until = self.now + milliseconds;
        self.node(id).stands_until = until;
        self.net.hold_until(id, until);
        self.bench.ends.excuse(id, milliseconds);
        self.trace
            .note(format_args!("node {id} stands still for {milliseconds} ms"));
    }

    /// Tells it to come to an end, which it does when it has answered everybody and written a checkpoint.
    pub fn stop(&mut self, id: u32) {
        let Some(process) = self.node(id).process.as_ref() else {
            return;
        };
        let slot = process.slot.clone();
        self.trace.note(format_args!("node {id} is told to stop"));
        let (bench, now) = (self.bench.clone(), self.now);
        self.ask(id, |shard| async move {
            let operation = bench.begin(id, "stop", now);
            shard.stop().await;
            bench.ends.end(operation);
            *slot.lock() = Slot::Stopped;
        });
    }

    /// One more node, which the others do not know yet.
    pub fn add(&mut self) {
        self.newest += 1;
        let id = self.newest;
        let mix = Mix::draw(&self.random);
        let mut node = Node::new(id, Role::Data, self.seed * 1000 + u64::from(id), 0, 0, mix);
        node.founds = false;
        self.nodes.push(node);
        self.start(id);
        self.joining.insert(id);
    }

    /// One node less. It is gone when the others have agreed to that.
    pub fn remove(&mut self, id: u32) {
        self.joining.remove(&id);
        self.leaving.insert(id);
        self.trace.note(format_args!("node {id} is to be let go"));
    }

    /// Its disk is lost, and with it what it has stored and voted. It comes back, by the same number, when the others have let go of it.
    pub fn lose_disk(&mut self, id: u32) {
        self.kill(id, true);
        self.restarts.remove(&id);
        let seed = self.random.below(u64::MAX);
        let node = self.node(id);
        node.disk = SimDisk::new(seed);
        node.founds = false;
        self.lost.insert(id);
        self.trace.note(format_args!("node {id} has lost its disk"));
    }

    /// Whether everybody is there with all that was stored. With a witness, to the last entry: it has only so much of the log for a node with rows that
    /// is behind, and no checkpoint.
    pub fn is_whole(&self) -> bool {
        let all_are_up = self.nodes.iter().all(|node| node.shard().is_some());
        if self.settings.witness.is_some() && !self.agree() {
            return false;
        }
        all_are_up && self.is_settled() && self.bad_disks.is_empty() && self.leader().is_some()
    }

    /// Nobody is about to come, or to go.
    fn is_settled(&self) -> bool {
        self.joining.is_empty() && self.leaving.is_empty() && self.lost.is_empty()
    }

    /// How many nodes there will be when those that come and go have done so.
    pub fn members(&self) -> usize {
        self.nodes.len() - self.leaving.len()
    }

    /// What nodes do by themselves from time to time: they ask to be taken in, and go when they have been let go.
    fn keep_up(&mut self) {
        let Some(leader) = self.leader() else { return };
        let Some(shard) = self.shard(leader) else { return };
        let level = self.settings.level;
        if shard.level() < level {
            self.ask(leader, move |shard| async move { drop(shard.raise(level).await) });
        }
        let replicas = shard.replicas();
        let votes = |id: u32| replicas.iter().any(|replica| replica.node == id && replica.votes);
        self.joining.retain(|&id| !votes(id));
        for id in self.joining.iter().copied() {
            let Some(asking) = self.shard(id) else { continue };
            let (member, is_new) = (self.settings.member(id), asking.admission() == Admission::Asks);
            let (told, life) = (self.taken_in.clone(), self.life(id));
            self.ask(leader, |shard| async move {
                if let Ok(Admitted::Listens(entry)) = shard.admit(id, member, is_new).await {
                    told.lock().push((id, life, entry));
                }
            });
        }
        let told = std::mem::take(&mut *self.taken_in.lock());
        for (id, _, entry) in told.into_iter().filter(|&(id, life, _)| self.life(id) == life) {
            // Where its disk fails it asks again.
            self.ask(id, |shard| async move { drop(shard.is_taken_in(entry)) });
        }
        for id in self.lost.clone() {
            match replicas.iter().any(|replica| replica.node == id) {
                true => self.ask(leader, |shard| async move { drop(shard.dismiss(id).await) }),
                false => self.come_anew(id, &shard),
            }
        }
        for id in self.leaving.clone() {
            let heir = |replica: &&shard::Replica| {
                replica.votes && replica.member.role == Role::Data && !self.leaving.contains(&replica.node)
            };
            match replicas.iter().any(|replica| replica.node == id) {
                true if id == leader => {
                    if let Some(to) = replicas.iter().find(heir).map(|replica| replica.node) {
                        self.move_leader(leader, to);
                    }
                }
                true => self.ask(leader, |shard| async move { drop(shard.dismiss(id).await) }),
                false => {
                    self.kill(id, false);
                    self.restarts.remove(&id);
                    self.leaving.remove(&id);
                    self.nodes.retain(|node| node.id != id);
                    self.trace.note(format_args!("node {id} has been let go"));
                }
            }
        }
    }

    /// On an empty disk, as one of those that `shard` is of.
    fn come_anew(&mut self, id: u32, shard: &Shard) {
        let seed = self.random.below(u64::MAX);
        let known = shard.identity();
        let node = self.node(id);
        let life = u32::try_from(node.life).unwrap_or(u32::MAX);
        node.prepare(seed, known.cluster, life, shard.level());
        self.lost.remove(&id);
        self.joining.insert(id);
        self.start(id);
    }

    fn life(&self, id: u32) -> u64 {
        let node = self.nodes.iter().find(|node| node.id == id);
        node.map_or(0, |node| node.life)
    }

    pub fn node(&mut self, id: u32) -> &mut Node {
        self.nodes
            .iter_mut()
            .find(|node| node.id == id)
            .expect("there is such a node")
    }

    /// That of the node, if it is there and up.
    fn shard(&self, id: u32) -> Option<Arc<Shard>> {
        self.nodes.iter().find(|node| node.id == id)?.shard()
    }

    /// The node that takes commits, of those that think so the one of the latest term.
    pub fn leader(&self) -> Option<u32> {
        let led = self.nodes.iter().filter_map(|node| {
            let term = node.shard()?.lock_epoch();
            (term != u64::MAX).then_some((term, node.id))
        });
        led.max().map(|(_, id)| id)
    }

    /// The latest term in which one of these nodes takes itself for the leader.
    pub fn term_led_by(&self, ids: &[u32]) -> Option<u64> {
        let led = ids.iter().filter_map(|&id| {
            let status = self.shard(id)?.status();
            (status.leader == Some(id)).then_some(status.term)
        });
        led.max()
    }

    /// The latest term that the node has heard of.
    pub fn term(&self, id: u32) -> Option<u64> {
        Some(self.shard(id)?.status().term)
    }

    /// Has something done on a node, by a task.
    pub fn ask<F: Future<Output = ()> + Send + 'static>(&self, id: u32, ask: impl FnOnce(Arc<Shard>) -> F) {
        let node = self.nodes.iter().find(|node| node.id == id);
        let Some((node, shard)) = node.and_then(|node| Some((node, node.shard()?))) else {
            return;
        };
        if let Some(process) = &node.process {
            let _entered = process.runtime.enter();
            process.runtime.spawn(ask(shard));
        }
    }

    /// Lets a millisecond pass.
    pub fn tick(&mut self) {
        self.now += 1;
        self.trace.set_now(self.now);
        for message in self.net.arrivals() {
            if let Some(node) = self.nodes.iter().find(|node| node.id == message.to) {
                node.receive(&self.net, message);
            }
        }
        let first = self.random.below(self.nodes.len() as u64) as usize;
        for at in 0..self.nodes.len() {
            let at = (first + at) % self.nodes.len();
            self.nodes[at].step(self.now);
            let slow = self.nodes[at].slow_disk;
            if slow > 0 && self.nodes[at].has_written() {
                let time = self.random.below(slow);
                self.stall(self.nodes[at].id, time);
            }
        }
        for at in 0..self.nodes.len() {
            self.observe(at);
        }
        if let Some(panic) = panics::take() {
            self.report.violation("panics", panic);
        }
        if self.now.is_multiple_of(1000) {
            self.bench.ends.check(self.now, &self.report);
        }
        if self.now.is_multiple_of(300) {
            self.keep_up();
        }
        let due: Vec<u32> = self
            .restarts
            .iter()
            .filter(|(id, at)| **at <= self.now && !self.lost.contains(id))
            .map(|(id, _)| *id)
            .collect();
        due.into_iter().for_each(|id| self.start(id));
    }

    fn observe(&mut self, at: usize) {
        let (id, slot) = (self.nodes[at].id, self.nodes[at].slot());
        let stopped = match slot {
            None | Some(Slot::Starting) => None,
            Some(Slot::Stopped) => {
                self.trace.note(format_args!("node {id} has come to its end"));
                self.kill(id, true);
                let pause = self.random.below(1000);
                self.restarts.insert(id, self.now + pause);
                None
            }
            Some(Slot::Up(shard)) => {
                let status = shard.status();
                self.election.see(id, shard.lock_epoch(), &self.trace, &self.report);
                if status.leader == Some(id) {
                    self.election.believe(id, status.term, &self.report);
                }
                if let Some(process) = &self.nodes[at].process
                    && self.nodes[at].stands_until <= self.now
                {
                    let _entered = process.runtime.enter();
                    self.bench.fresh.check_lease(id, &shard, &self.report);
                }
                match self.nodes[at].process.as_ref().map(|process| &process.observer) {
                    Some(Follower::Watcher(watcher)) => {
                        self.equality.look(id, shard.store(), watcher, &self.report);
                    }
                    Some(Follower::Sql(side)) => self.catalogs.look(id, shard.store(), &side.schema, &self.report),
                    Some(Follower::None) | None => {}
                }
                match self.nodes[at].role {
                    Role::Data => self.outcomes.look(id, status.applied_index, &shard, &self.report),
                    Role::Witness => witness::check(id, &shard, &self.report),
                }
                shard.stopped().map(|reason| reason.to_string())
            }
            Some(Slot::Failed(error)) => Some(error.to_string()),
            Some(Slot::Refused(reason)) => Some(reason),
        };
        if let Some(reason) = stopped {
            let is_expected = self.bad_disks.contains(&id);
            self.trace.note(format_args!("node {id} has stopped: {reason}"));
            if !is_expected {
                self.report
                    .violation("recovery", format_args!("node {id} has stopped: {reason}"));
            }
            self.kill(id, true);
            let pause = 200 + self.random.below(2000);
            self.restarts.insert(id, self.now + pause);
        }
    }

    /// Starts all nodes, and makes the tables.
    fn found(&mut self) -> bool {
        let ids: Vec<u32> = self.nodes.iter().map(|node| node.id).collect();
        ids.into_iter().for_each(|id| self.start(id));
        let is_made = Arc::new(Mutex::new(None));
        let mut is_asked = false;
        while self.now < RECOVERY {
            self.tick();
            if let Some(leader) = self.leader()
                && !is_asked
            {
                let made = is_made.clone();
                if self.sql_mixes.is_some() {
                    is_asked = self.set_up(leader, made);
                    continue;
                }
                is_asked = true;
                self.ask(leader, |shard| async move {
                    let ticket = shard.begin();
                    let done = shard.propose(Transaction {
                        id: ticket.id(),
                        lock_epoch: 0,
                        durability: shard::Durability::MajorityDisk,
                        writes: schema::found(),
                        memory: None,
                    });
                    *made.lock() = Some(done.await.is_ok());
                });
            }
            let made = *is_made.lock();
            match made {
                Some(true) => {
                    self.bench.has_begun.store(true, Ordering::Relaxed);
                    return true;
                }
                Some(false) => {
                    is_asked = false;
                    *is_made.lock() = None;
                }
                None => {}
            }
        }
        self.report.violation("recovery", "no cluster was founded");
        false
    }

    /// Everything is good again: everybody has to serve, and to agree.
    fn recover(&mut self) {
        self.heal();
        self.trace.note("all is good again");
        let down: Vec<u32> = self
            .nodes
            .iter()
            .filter(|node| node.process.is_none() && !self.lost.contains(&node.id))
            .map(|node| node.id)
            .collect();
        for id in down {
            self.start(id);
        }
        for node in &mut self.nodes {
            node.stands_until = node.stands_until.min(self.now);
        }
        // Clients go on for a while, then they are told to come to their ends.
        let begun = self.now;
        // Of each node, in which life it has served.
        let served: Arc<Mutex<BTreeMap<u32, u64>>> = Arc::default();
        let has_served = |node: &Node| match node.role {
            Role::Data => served.lock().get(&node.id) == Some(&node.life),
            // It has heard of whoever serves.
            Role::Witness => node.shard().is_some_and(|shard| shard.status().leader.is_some()),
        };
        let mut has_asked: BTreeMap<u32, u64> = BTreeMap::new();
        while self.now < begun + RECOVERY && !self.report.has_any() {
            self.tick();
            if self.is_settled() && self.nodes.iter().all(has_served) {
                break;
            }
            if self.sql_mixes.is_some() {
                self.probe(&served, &mut has_asked);
                continue;
            }
            for node in &self.nodes {
                let (id, life) = (node.id, node.life);
                if node.role == Role::Data && node.shard().is_some() && has_asked.insert(id, life) != Some(life) {
                    let (bench, served) = (self.bench.clone(), served.clone());
                    self.ask(id, |shard| async move {
                        let session = Session {
                            shard,
                            bench,
                            random: SeededRandom::new(u64::from(id)),
                            node: id,
                            name: format!("probe {id}"),
                            only_reads: false,
                            mix: Mix::usual(),
                        };
                        session.until_served().await;
                        served.lock().insert(id, life);
                    });
                }
            }
        }
        let took = self.now - begun;
        let unserved: Vec<u32> = self
            .nodes
            .iter()
            .filter(|node| !has_served(node))
            .map(|node| node.id)
            .collect();
        if !self.is_settled() && !self.report.has_any() {
            let what = format!(
                "nodes {:?} do not come in, or {:?} do not go; {}",
                self.joining,
                self.leaving,
                self.condition()
            );
            self.report.violation("recovery", what);
        }
        if !unserved.is_empty() && !self.report.has_any() {
            let what = format!(
                "nodes {unserved:?} do not serve {took} ms after the last fault; {}",
                self.condition()
            );
            self.report.violation("recovery", what);
        }
        self.bench.is_over.store(true, Ordering::Relaxed);
        let begun = self.now;
        while self.now < begun + LAST_ANSWERS && !self.report.has_any() {
            self.tick();
            if self.bench.ends.is_empty() && self.agree() {
                break;
            }
        }
        if !self.report.has_any() && !self.bench.ends.is_empty() {
            self.report.violation("ends", "a client waits still");
        }
        if !self.report.has_any() && !self.agree() {
            let what = format!("the nodes do not come to agree; {}", self.condition());
            self.report.violation("recovery", what);
        }
    }

    /// Between these and the others nothing gets through.
    pub fn split(&self, some: &[u32]) {
        let ids: Vec<u32> = self.nodes.iter().map(|node| node.id).collect();
        for &one in &ids {
            for &other in &ids {
                if some.contains(&one) != some.contains(&other) {
                    self.net.cut([(one, other)]);
                }
            }
        }
    }

    /// As an operator does.
    pub fn move_leader(&self, from: u32, to: u32) {
        self.ask(from, move |shard| {
            drop(shard.move_leader(to));
            std::future::ready(())
        });
    }

    /// Ways and disks are good again.
    pub fn heal(&mut self) {
        self.net.heal();
        for node in &mut self.nodes {
            node.slow_disk = 0;
            node.full_disk = false;
            node.disk.set_capacity(None);
        }
    }

    /// All have applied the same.
    fn agree(&self) -> bool {
        let with_rows = self.nodes.iter().filter(|node| node.role == Role::Data);
        let mut newest = with_rows.map(|node| node.shard().map(|shard| shard.store().published()));
        let first = newest.next().flatten();
        first.is_some() && newest.all(|other| other == first) && self.witness_agrees()
    }

    fn witness_agrees(&self) -> bool {
        let applied = |node: &Node| node.shard().and_then(|shard| shard.status().applied_index);
        let newest = self.nodes.iter().map(applied).max().flatten();
        let mut witnesses = self.nodes.iter().filter(|node| node.role == Role::Witness);
        witnesses.all(|witness| applied(witness) == newest)
    }

    /// Shows who holds and who waits for what on the node that leads.
    fn note_locks(&self) {
        let Some(shard) = self.leader().and_then(|leader| self.shard(leader)) else {
            return;
        };
        let mut locks = shard.store().locks().inspect();
        locks.sort_by_key(|lock| (format!("{:?}", lock.target), lock.is_waiting, lock.owner.0));
        for lock in locks {
            let what = match &lock.target {
                LockTarget::Name(name) => format!("name {}", String::from_utf8_lossy(name)),
                target => format!("{target:?}"),
            };
            let (owner, mode) = (lock.owner.0, lock.mode);
            let how = if lock.is_waiting { "waits for" } else { "has" };
            self.trace.note(format_args!("lock: {owner} {how} {what} {mode:?}"));
        }
    }

    fn condition(&self) -> String {
        self.note_locks();
        let conditions = self.nodes.iter().map(|node| match node.slot() {
            None => format!("{} is down", node.id),
            Some(Slot::Starting) => format!("{} starts", node.id),
            Some(Slot::Stopped | Slot::Failed(_) | Slot::Refused(_)) => format!("{} has stopped", node.id),
            Some(Slot::Up(shard)) => {
                let status = shard.status();
                let (term, leader, applied, last) =
                    (status.term, status.leader, status.applied_index, status.last_log_index);
                format!(
                    "{}: term {term}, leader {leader:?}, applied {applied:?} of {last:?}",
                    node.id
                )
            }
        });
        conditions.collect::<Vec<_>>().join("; ")
    }

    /// Looks at the whole history, and at the disks.
    fn finish(mut self) -> Outcome {
        let mut with_rows = self.nodes.iter().filter(|node| node.role == Role::Data);
        let lists = with_rows.find_map(|node| {
            let rows = schema::newest(node.shard()?.store(), LISTS);
            Some(
                rows.into_iter()
                    .map(|row| (row.id, schema::list_of(&row.bytes)))
                    .collect::<BTreeMap<_, _>>(),
            )
        });
        if self.sql_mixes.is_some() && !self.report.has_any() {
            self.check_spoken();
        }
        if let Some(lists) = lists.filter(|lists| !lists.is_empty() && !self.report.has_any()) {
            self.bench.lists.check(&lists, &self.report);
        }
        let net = self.net.clone();
        for node in &mut self.nodes {
            node.kill(&net, false);
        }
        if !self.report.has_any() {
            let disks: Vec<_> = self.nodes.iter().map(|node| (node.id, node.disk.clone())).collect();
            log::check(&disks, &self.report);
        }
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let (bench, lists) = (&self.bench, self.bench.lists.counts());
        let spoken = bench.history.counts();
        let (appends, reads) = (lists.0 + spoken.0, lists.1 + spoken.1);
        let lives: u64 = self.nodes.iter().map(|node| node.life).sum();
        let summary = format!(
            "{} s, {} nodes, {lives} lives, {} terms; {} operations done, {} failed, {} unknown; {appends} appends, {reads} reads, {} states compared",
            self.now / 1000,
            self.nodes.len(),
            self.election.terms,
            count(&bench.committed),
            count(&bench.failed),
            count(&bench.unknown),
            self.equality.compared + self.catalogs.compared,
        );
        self.trace.note(&summary);
        Outcome {
            violations: self.report.all(),
            hash: self.trace.hash(),
            summary,
        }
    }
}
