//! Several replicas of a shard in one process, and the ways between them, which can be cut.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use env::{Access, Env, FaultyDisk, SimDisk};
use futures_util::future::Either;
use parking_lot::Mutex;
use shard::{
    Admission, Admitted, Answered, Change, Config, Founding, Issuer, Lane, Member, MembershipError, NoAnswer, Observer,
    OpenError, Peers, Role, Shard,
};
use types::{TableId, Timestamp};

use super::{ACCOUNTS, block_on, config};

/// The ways between the replicas.
#[derive(Default)]
pub struct Net {
    replicas: Mutex<BTreeMap<u32, Weak<Shard>>>,
    /// From and to: nothing gets through.
    cut: Mutex<BTreeSet<(u32, u32)>>,
    /// Bytes of the longest request.
    longest: AtomicUsize,
    /// How long a request takes for each of its KiB, in microseconds.
    pub micros_per_kib: AtomicU64,
    /// Bytes of the requests to each replica.
    sent: Mutex<BTreeMap<u32, u64>>,
    /// Who waits longer for an answer, in milliseconds, gets none; 0: nobody.
    pub patience: AtomicU64,
    /// Sessions' requests arrive twice, the second one while the first is being answered: its connection was lost.
    pub doubles: AtomicBool,
}

impl Net {
    /// Nothing gets to these nodes or from them, but among themselves.
    pub fn cut_off(&self, nodes: &[u32]) {
        let all: Vec<u32> = self.replicas.lock().keys().copied().collect();
        let mut cut = self.cut.lock();
        for &one in &all {
            for &other in &all {
                if nodes.contains(&one) != nodes.contains(&other) {
                    cut.insert((one, other));
                }
            }
        }
    }

    pub fn heal(&self) {
        self.cut.lock().clear();
    }

    pub fn forget_longest(&self) {
        self.longest.store(0, Ordering::Relaxed);
    }

    pub fn sent(&self, to: u32) -> u64 {
        self.sent.lock().get(&to).copied().unwrap_or(0)
    }

    pub fn longest(&self) -> usize {
        self.longest.load(Ordering::Relaxed)
    }

    fn passes(&self, from: u32, to: u32) -> bool {
        !self.cut.lock().contains(&(from, to))
    }
}

/// The way from one replica to the others.
struct Door {
    net: Arc<Net>,
    from: u32,
}

impl Peers for Door {
    fn call(&self, to: u32, lane: Lane, request: Vec<u8>, _within: Duration) -> Answered {
        let (net, from) = (self.net.clone(), self.from);
        net.longest.fetch_max(request.len(), Ordering::Relaxed);
        *net.sent.lock().entry(to).or_default() += request.len() as u64;
        Box::pin(async move {
            let there = net.replicas.lock().get(&to).and_then(Weak::upgrade);
            let no_answer = |reason: &str| {
                Err(NoAnswer {
                    node: to,
                    reason: reason.into(),
                    may_have_arrived: true,
                })
            };
            let Some(there) = there.filter(|_| net.passes(from, to)) else {
                return no_answer("the request is lost");
            };
            let micros = request.len() as u64 / 1024 * net.micros_per_kib.load(Ordering::Relaxed);
            if micros > 0 {
                tokio::time::sleep(Duration::from_micros(micros)).await;
            }
            let answer = match lane {
                Lane::Consensus => Either::Left(there.receive(&request)),
                Lane::Storage => {
                    let caller = net.replicas.lock().get(&from).and_then(Weak::upgrade);
                    let Some(identity) = caller.map(|caller| caller.identity()) else {
                        return no_answer("the caller is gone");
                    };
                    let from = Issuer {
                        node: identity.node,
                        incarnation: identity.incarnation,
                    };
                    if net.doubles.load(Ordering::Relaxed) {
                        tokio::spawn(there.serve(from, &request));
                        tokio::time::sleep(Duration::from_millis(300)).await;
                    }
                    Either::Right(there.serve(from, &request))
                }
            };
            drop(there);
            let answer = match net.patience.load(Ordering::Relaxed) {
                0 => answer.await,
                patience => match tokio::time::timeout(Duration::from_millis(patience), answer).await {
                    Ok(answer) => answer,
                    Err(_) => return no_answer("it takes too long"),
                },
            };
            match net.passes(to, from) {
                true => Ok(answer),
                false => no_answer("the answer is lost"),
            }
        })
    }
}

/// What an observer of the accounts has been told.
#[derive(Default)]
pub struct Watcher {
    seen: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    applied: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl Observer for Watcher {
    fn table(&self) -> TableId {
        ACCOUNTS
    }

    fn restore(&self, rows: &[(Vec<u8>, Vec<u8>)], _at: Timestamp) -> Result<(), String> {
        *self.applied.lock() = rows.iter().cloned().collect();
        self.publish();
        Ok(())
    }

    fn apply(&self, _at: Timestamp, changes: &[Change<'_>]) -> Result<(), String> {
        let mut applied = self.applied.lock();
        for (key, row) in changes {
            match row {
                Some(row) => drop(applied.insert(key.to_vec(), row.to_vec())),
                None => drop(applied.remove(*key)),
            }
        }
        Ok(())
    }

    fn publish(&self) {
        self.seen.lock().clone_from(&self.applied.lock());
    }
}

pub struct Cluster {
    /// Of each node since its last start.
    pub watchers: BTreeMap<u32, Arc<Watcher>>,
    pub net: Arc<Net>,
    pub disks: BTreeMap<u32, Arc<SimDisk>>,
    /// Of each node since its last start.
    faults: BTreeMap<u32, Arc<FaultyDisk>>,
    /// Of nodes that are started from now on.
    pub log_keep_bytes: u64,
    pub checkpoint_bytes: u64,
    /// Nodes without rows.
    pub witnesses: BTreeSet<u32>,
    pub shards: BTreeMap<u32, Arc<Shard>>,
}

impl Cluster {
    /// Length of a node's newest checkpoint, and the version of what its header holds.
    pub fn newest_checkpoint(&self, node: u32) -> (u64, u8) {
        let env = Env::simulated(self.disks[&node].clone(), 1);
        let dir = Path::new("data/checkpoint");
        let names = env.disk.list(dir).unwrap();
        let newest = names.iter().filter(|name| name.ends_with(".checkpoint")).max();
        let file = env.disk.open(&dir.join(newest.unwrap()), Access::Read).unwrap();
        let mut version = [0];
        file.read_at(&mut version, 24).unwrap();
        (file.length().unwrap(), version[0])
    }

    pub fn found(nodes: u32, seed: u64) -> Cluster {
        Cluster::found_with(nodes, &[], seed)
    }

    /// Of these nodes some are witnesses.
    pub fn found_with(nodes: u32, witnesses: &[u32], seed: u64) -> Cluster {
        let disks = (1..=nodes).map(|node| (node, SimDisk::new(seed * 100 + u64::from(node))));
        let mut cluster = Cluster {
            watchers: BTreeMap::new(),
            net: Arc::default(),
            disks: disks.collect(),
            faults: BTreeMap::new(),
            log_keep_bytes: 0,
            checkpoint_bytes: u64::MAX,
            witnesses: witnesses.iter().copied().collect(),
            shards: BTreeMap::new(),
        };
        for node in 1..=nodes {
            cluster.start(node);
        }
        cluster
    }

    pub fn start(&mut self, node: u32) {
        self.open(node).unwrap();
    }

    /// Starts a node whose power goes after so many operations of its disk, from when it is open.
    pub fn start_until(&mut self, node: u32, operations: u64) {
        self.start(node);
        self.disks[&node].cut_power_after(operations);
    }

    /// Whether a node's disk hangs.
    pub fn stall(&self, node: u32, stalled: bool) {
        self.faults[&node].stall_syncs(stalled);
    }

    pub fn restore_power(&self, node: u32) {
        self.disks[&node].restore_power();
    }

    /// Starts a node that is to become one of the cluster's.
    pub fn start_joining(&mut self, node: u32) {
        self.disks.insert(node, SimDisk::new(u64::from(node)));
        self.open_as(node, Founding::Joins).unwrap();
    }

    /// Starts a node that has joined, or was about to.
    pub fn start_again(&mut self, node: u32) {
        self.open_as(node, Founding::Joins).unwrap();
    }

    /// Takes a node in, as nodes do: one whose directory is new hears by which entry, and asks again.
    pub fn admit(&self, leader: u32, node: u32) -> Result<(), MembershipError> {
        match self.ask_to_be_admitted(leader, node)? {
            Admitted::Votes => Ok(()),
            Admitted::Listens(_) => self.ask_to_be_admitted(leader, node).map(|_| ()),
        }
    }

    /// Once.
    pub fn ask_to_be_admitted(&self, leader: u32, node: u32) -> Result<Admitted, MembershipError> {
        let is_new = self.shard(node).admission() == Admission::Asks;
        let admitted = block_on(self.shard(leader).admit(node, self.member(node), is_new))?;
        if let Admitted::Listens(entry) = admitted {
            self.shard(node).is_taken_in(entry).unwrap();
        }
        Ok(admitted)
    }

    pub fn member(&self, node: u32) -> Member {
        Member {
            role: self.role(node),
            ..Member::default()
        }
    }

    fn role(&self, node: u32) -> Role {
        match self.witnesses.contains(&node) {
            true => Role::Witness,
            false => Role::Data,
        }
    }

    pub fn open(&mut self, node: u32) -> Result<(), OpenError> {
        let members = self.disks.keys().map(|&node| (node, self.member(node))).collect();
        self.open_as(node, Founding::Together(members))
    }

    fn open_as(&mut self, node: u32, founding: Founding) -> Result<(), OpenError> {
        let watcher = Arc::new(Watcher::default());
        self.watchers.insert(node, watcher.clone());
        let disk = self.disks[&node].clone();
        let faulty = Arc::new(FaultyDisk::new(disk.clone()));
        self.faults.insert(node, faulty.clone());
        let simulated = Env::simulated(disk, u64::from(node));
        let shard = Shard::open(Config {
            node_id: node,
            role: self.role(node),
            peers: Arc::new(Door {
                net: self.net.clone(),
                from: node,
            }),
            founding,
            observer: Some(watcher),
            log_keep_bytes: self.log_keep_bytes,
            checkpoint_bytes: self.checkpoint_bytes,
            // Replicas wait for each other by the real one.
            ..config(
                Env {
                    clock: Env::real().clock,
                    disk: faulty,
                    ..simulated
                },
                "data",
            )
        });
        let shard = Arc::new(shard?);
        self.net.replicas.lock().insert(node, Arc::downgrade(&shard));
        self.shards.insert(node, shard);
        Ok(())
    }

    /// As `kill -9`: what was written is there, and nobody hears of it any more.
    pub fn kill(&mut self, node: u32) {
        self.net.replicas.lock().remove(&node);
        let mut shard = self.shards.remove(&node).expect("it runs");
        self.disks[&node].kill_process();
        // Calls to it may be under way.
        let mut tries = 0;
        while let Err(shared) = Arc::try_unwrap(shard) {
            shard = shared;
            tries += 1;
            assert!(tries < 10_000, "somebody holds the replica");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The replicas that run, for clients in other threads.
    pub fn running(&self) -> Mutex<Vec<Arc<Shard>>> {
        Mutex::new(self.shards.values().cloned().collect())
    }

    /// Three times each, a leader is cut off from the others, and one is killed and started again; `running` is kept up.
    pub fn lose_leaders(&mut self, running: &Mutex<Vec<Arc<Shard>>>) {
        let publish = |cluster: &Cluster| *running.lock() = cluster.shards.values().cloned().collect();
        for round in 0..6 {
            std::thread::sleep(Duration::from_millis(400));
            let leader = self.leader();
            if round % 2 == 0 {
                self.net.cut_off(&[leader]);
                std::thread::sleep(Duration::from_millis(700));
                self.net.heal();
            } else {
                running.lock().clear();
                self.kill(leader);
                publish(self);
                std::thread::sleep(Duration::from_millis(700));
                self.start(leader);
                publish(self);
            }
        }
    }

    /// The one replica that leads, of these.
    pub fn leader_of(&self, nodes: &[u32]) -> u32 {
        wait_for("a leader", || {
            let leads = |node: &&u32| self.shards.get(node).is_some_and(|shard| shard.status().is_leader);
            nodes.iter().find(leads).copied()
        })
    }

    pub fn leader(&self) -> u32 {
        let nodes: Vec<u32> = self.shards.keys().copied().collect();
        self.leader_of(&nodes)
    }

    /// A replica that does not lead.
    pub fn follower(&self) -> u32 {
        let leader = self.leader();
        let mut nodes = self.shards.keys().copied();
        nodes.find(|&node| node != leader).expect("there are several")
    }

    /// How many rows the observer of a node knows.
    pub fn observed(&self, node: u32) -> usize {
        self.watchers[&node].seen.lock().len()
    }

    pub fn shard(&self, node: u32) -> &Arc<Shard> {
        &self.shards[&node]
    }
}

/// Waits for a condition, for a while that only a defect exceeds.
pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{what} does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}
