//! A node: a disk that outlives it, and a runtime whose clock the world turns.
//!
//! Everything that a server's threads do for the shard runs as tasks of that runtime, and so do the sessions of the node's clients. To kill
//! the node is to drop the runtime: nothing of the process is left but what its disk kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use env::{Env, FaultyDisk, Level, SeededRandom, SimDisk};
use keyspace::Keyspace;
use parking_lot::Mutex;
use shard::{Config, Founding, Identity, Issuer, Member, OpenError, Role, Shard, Timing, Workers};
use store::MemoryBudget;
use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::clock::NodeClock;
use crate::net::{Body, Door, Message, Net};
use crate::sql::Side;
use crate::watcher::Watcher;
use crate::workload::Mix;

/// A call of consensus that is longer brings entries of the log.
const PULSE_BYTES: usize = 60;

/// What is in a node's process.
#[derive(Clone)]
pub enum Slot {
    Starting,
    Up(Arc<Shard>),
    /// Why the shard was not opened.
    Failed(Arc<OpenError>),
    /// Why the SQL side did not start.
    Refused(String),
    /// It was told to, and has.
    Stopped,
}

/// A process.
pub struct Process {
    /// What is of one thread: the fibers of SQL. It goes before its runtime.
    local: Option<LocalSet>,
    pub runtime: Runtime,
    pub slot: Arc<Mutex<Slot>>,
    /// Who follows the log.
    pub observer: Follower,
    begun: Instant,
    /// Milliseconds by the runtime's clock.
    elapsed: u64,
}

/// Who is told what the log does.
#[derive(Clone)]
pub enum Follower {
    Watcher(Arc<Watcher>),
    Sql(Arc<Side>),
    /// A witness has no rows to tell of.
    None,
}

/// What begins when the shard is open.
pub enum Clients {
    Transactions(Box<dyn FnOnce(&Arc<Shard>) + Send>),
    /// When the SQL side serves. Its tasks are those of the `LocalSet`.
    Sql(Box<dyn FnOnce(Arc<Keyspace>, Arc<Side>)>),
}

impl Drop for Process {
    fn drop(&mut self) {
        let _entered = self.runtime.enter();
        drop(self.local.take());
    }
}

pub struct Node {
    pub id: u32,
    /// Without rows, or clients.
    pub role: Role,
    pub disk: Arc<SimDisk>,
    /// What its process sees of the disk.
    pub faulty: Arc<FaultyDisk>,
    /// Milliseconds for which a change of the disk takes all of the node's time, at most.
    pub slow_disk: u64,
    /// There is little room left on the disk, also when the node starts again.
    pub full_disk: bool,
    /// Changes of the disk so far.
    operations: u64,
    pub clock: Arc<NodeClock>,
    /// Milliseconds that its clock gains in a million.
    drift: i64,
    /// Of a millisecond, in millionths.
    gained: i64,
    local: u64,
    pub process: Option<Process>,
    /// Lives so far.
    pub life: u64,
    /// Its tasks do not run before.
    pub stands_until: u64,
    /// Milliseconds that passed while it stood still.
    missed: u64,
    /// It knows the others when it starts for the first time; who is taken in later does not.
    pub founds: bool,
    /// What its clients do.
    pub mix: Mix,
}

/// As much as comes while a checkpoint is on its way to another node: with less that node would never get to the end of the log.
const LOG_KEEP_BYTES: u64 = 256 << 10;

const SEGMENT_BYTES: u64 = 64 << 10;

/// How its replica is set up.
#[derive(Clone, Copy)]
pub struct Settings {
    /// So many nodes found the cluster; the others join it.
    pub founders: u32,
    /// One of them, if it has no rows.
    pub witness: Option<u32>,
    /// The feature level to which the cluster is raised when it has a leader.
    pub level: Level,
    pub checkpoint_bytes: u64,
    pub checkpoint_bytes_per_second: u64,
    pub timing: Timing,
}

impl Process {
    /// Lets everything run that is ready, until this is done.
    fn run(&self, until: impl Future<Output = ()>) {
        match &self.local {
            Some(local) => local.block_on(&self.runtime, until),
            None => self.runtime.block_on(until),
        }
    }

    /// Has something done that is of the process's one thread.
    pub fn spawn_local(&self, task: impl Future<Output = ()> + 'static) {
        if let Some(local) = &self.local {
            local.spawn_local(task);
        }
    }
}

impl Settings {
    pub fn role(&self, node: u32) -> Role {
        match self.witness == Some(node) {
            true => Role::Witness,
            false => Role::Data,
        }
    }

    pub fn member(&self, node: u32) -> Member {
        Member {
            role: self.role(node),
            peer_addr: format!("node{node}:1"),
            sql_addr: format!("node{node}:2"),
            ..Member::default()
        }
    }
}

impl Node {
    pub fn new(id: u32, role: Role, seed: u64, drift: i64, skew: u64, mix: Mix) -> Node {
        let disk = SimDisk::new(seed);
        Node {
            id,
            role,
            faulty: Arc::new(FaultyDisk::new(disk.clone())),
            disk,
            slow_disk: 0,
            full_disk: false,
            operations: 0,
            clock: Arc::new(NodeClock::new(skew)),
            drift,
            gained: 0,
            local: 0,
            process: None,
            life: 0,
            stands_until: 0,
            missed: 0,
            founds: true,
            mix,
        }
    }

    /// Makes an empty disk that of a node of a cluster, which has had lives before.
    pub fn prepare(&self, seed: u64, cluster: u128, incarnation: u32, level: Level) {
        let env = Env {
            disk: self.disk.clone(),
            clock: self.clock.clone(),
            random: Arc::new(SeededRandom::new(seed)),
        };
        let config = Config {
            segment_bytes: SEGMENT_BYTES,
            ..Config::new(env, "data", MemoryBudget::new(1 << 30))
        };
        let identity = Identity {
            cluster,
            node: self.id,
            incarnation,
            level,
            role: self.role,
        };
        Shard::prepare(&config, identity).expect("the disk is whole, and has room");
    }

    /// Starts the process. Its clients begin when the shard is open.
    pub fn start(&mut self, net: &Arc<Net>, settings: Settings, seed: u64, clients: Clients) {
        self.life += 1;
        let runtime = runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without a network needs nothing of the system");
        let begun = runtime.block_on(async { Instant::now() });
        let identity = Arc::new(Mutex::new(None));
        self.faulty = Arc::new(FaultyDisk::new(self.disk.clone()));
        let members: BTreeMap<_, _> = (1..=settings.founders)
            .map(|node| (node, settings.member(node)))
            .collect();
        let door = Arc::new(Door {
            net: net.clone(),
            node: self.id,
            identity: identity.clone(),
        });
        let env = Env {
            disk: self.faulty.clone(),
            clock: self.clock.clone(),
            random: Arc::new(SeededRandom::new(seed)),
        };
        let config = Config {
            node_id: self.id,
            role: self.role,
            segment_bytes: SEGMENT_BYTES,
            checkpoint_bytes: settings.checkpoint_bytes,
            checkpoint_bytes_per_second: settings.checkpoint_bytes_per_second,
            log_keep_bytes: LOG_KEEP_BYTES,
            peers: door.clone(),
            founding: match self.founds {
                true => Founding::Together(members),
                false => Founding::Joins,
            },
            timing: settings.timing,
            workers: Workers::Tasks(runtime.handle().clone()),
            ..Config::new(env.clone(), "data", MemoryBudget::new(1 << 30))
        };
        let local = LocalSet::new();
        let slot = Arc::new(Mutex::new(Slot::Starting));
        let (begin, observer, config): (Box<dyn FnOnce(&Arc<Shard>) + Send>, _, _) = match (clients, self.role) {
            (Clients::Sql(_), Role::Witness) => (Box::new(|_| ()), Follower::None, config),
            (Clients::Transactions(begin), _) => {
                let watcher = Arc::new(Watcher::default());
                let config = Config {
                    observer: Some(watcher.clone()),
                    ..config
                };
                (begin, Follower::Watcher(watcher), config)
            }
            (Clients::Sql(begin), Role::Data) => {
                let side = Side::new(door);
                let config = side.schema.followed_by(config);
                let (opened, shard) = oneshot::channel();
                let (starting, failed) = (side.clone(), slot.clone());
                local.spawn_local(async move {
                    let Ok(shard) = shard.await else { return };
                    match starting.clone().start(env, shard).await {
                        Ok(keyspace) => begin(keyspace, starting),
                        Err(error) => *failed.lock() = Slot::Refused(error.to_string()),
                    }
                });
                let open = move |shard: &Arc<Shard>| drop(opened.send(shard.clone()));
                (Box::new(open), Follower::Sql(side), config)
            }
        };
        self.operations = self.disk.operations();
        let opened = slot.clone();
        runtime.spawn(async move {
            let started = match Shard::start(config).await {
                Ok(shard) => {
                    let life = shard.identity();
                    *identity.lock() = Some(Issuer {
                        node: life.node,
                        incarnation: life.incarnation,
                    });
                    let shard = Arc::new(shard);
                    begin(&shard);
                    Slot::Up(shard)
                }
                Err(error) => Slot::Failed(Arc::new(error)),
            };
            *opened.lock() = started;
        });
        self.missed = 0;
        self.stands_until = 0;
        self.process = Some(Process {
            local: Some(local),
            runtime,
            slot,
            observer,
            begun,
            elapsed: 0,
        });
        net.set_up(self.id, true);
    }

    /// The process is gone; the disk keeps all that was written, or, without power, what was synced and some of the rest.
    pub fn kill(&mut self, net: &Net, loses_power: bool) {
        net.set_up(self.id, false);
        match loses_power {
            true => self.disk.restore_power(),
            false => self.disk.kill_process(),
        }
        self.process = None;
    }

    pub fn shard(&self) -> Option<Arc<Shard>> {
        match self.slot()? {
            Slot::Up(shard) => Some(shard),
            _ => None,
        }
    }

    pub fn slot(&self) -> Option<Slot> {
        let process = self.process.as_ref()?;
        Some(process.slot.lock().clone())
    }

    /// A message arrives.
    pub fn receive(&self, net: &Arc<Net>, message: Message) {
        let Some(process) = &self.process else {
            return;
        };
        let Message { from, to, body, caller } = message;
        let _entered = process.runtime.enter();
        match body {
            Body::Answer(bytes) => drop(caller.send(bytes)),
            Body::Question(bytes) => {
                let (Slot::Up(_), Follower::Sql(side)) = (process.slot.lock().clone(), &process.observer) else {
                    return;
                };
                net.answer(to, from, side.reply(&bytes), caller, false);
            }
            Body::Request {
                lane,
                from: issuer,
                bytes,
            } => {
                // Who is starting answers nothing: the connection is not taken.
                let Slot::Up(shard) = process.slot.lock().clone() else {
                    return;
                };
                let net = net.clone();
                let is_logged = lane == shard::Lane::Consensus && bytes.len() > PULSE_BYTES;
                let send = move |answer| net.answer(to, from, answer, caller, is_logged);
                // Begun here, in order of arrival; the rest by a task.
                match lane {
                    shard::Lane::Consensus => {
                        let answer = shard.receive(&bytes);
                        process.runtime.spawn(async move { send(answer.await) });
                    }
                    shard::Lane::Storage => {
                        let answer = shard.serve(issuer, &bytes);
                        process.runtime.spawn(async move { send(answer.await) });
                    }
                }
            }
        }
    }

    /// Whether it has changed something on its disk since it was asked the last time.
    pub fn has_written(&mut self) -> bool {
        let operations = self.disk.operations();
        std::mem::replace(&mut self.operations, operations) != operations
    }

    /// Lets a millisecond pass, and everything run that is ready or due in it.
    pub fn step(&mut self, now: u64) {
        self.gained += self.drift;
        let mut passed = 1;
        if self.gained >= 1_000_000 {
            self.gained -= 1_000_000;
            passed = 2;
        } else if self.gained <= -1_000_000 {
            self.gained += 1_000_000;
            passed = 0;
        }
        self.local += passed;
        let Some(process) = &mut self.process else {
            return;
        };
        if self.stands_until > now {
            self.missed += passed;
            return;
        }
        if self.missed > 0 {
            let missed = std::mem::take(&mut self.missed);
            process.elapsed += missed;
            self.clock.set(self.local - passed);
            let missed = Duration::from_millis(missed);
            process.run(async { tokio::time::advance(missed).await });
        }
        process.elapsed += passed;
        let until = process.begun + Duration::from_millis(process.elapsed);
        self.clock.set(self.local);
        process.run(async { tokio::time::sleep_until(until).await });
    }
}
