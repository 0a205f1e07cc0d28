//! The same on a cluster: in each round one node is killed, the leader two times of three, while the clients of the others go on. Then every
//! client's database is what it may be, on each of the nodes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use env::SeededRandom;
use mysql_client::Client;

use super::client::Memory;
use super::{COMMON, ended, kill_statements, life, memories, report, statements, verify, work};
use crate::server::{Server, Setup};

/// How long the others go on without the node that was killed.
const WITHOUT_MS: u64 = 3000;
/// What was under way to another node when its own was killed has come by then.
const ON_ITS_WAY: Duration = Duration::from_millis(100);

struct Nodes<'a> {
    setups: &'a [Setup],
    running: Vec<RwLock<Option<Server>>>,
    /// Counts connections, which go to one node after the other.
    connections: AtomicUsize,
}

/// Runs at least `steps` statements.
pub fn run(setups: &[Setup], steps: u64, seed: u64) -> Result<()> {
    for setup in setups {
        let _ = std::fs::remove_dir_all(&setup.dir);
        std::fs::create_dir_all(&setup.dir)?;
    }
    let random = SeededRandom::new(seed);
    let mut memories = memories(&random);
    let nodes = Nodes {
        setups,
        running: setups.iter().map(|_| RwLock::default()).collect(),
        connections: AtomicUsize::new(0),
    };
    (0..setups.len()).try_for_each(|node| nodes.start(node))?;
    nodes.common()?;
    let mut rounds = 0;
    while statements(&memories) < steps {
        rounds += 1;
        let place = || format!("round {rounds}, seed {seed}");
        let victim = nodes.live(&random, rounds, &mut memories).with_context(place)?;
        verify(&setups[victim]).with_context(place)?;
        nodes.start(victim).with_context(place)?;
        for memory in &mut memories {
            nodes.settle(memory).with_context(place)?;
        }
    }
    report("definitions on a cluster", &memories, rounds)
}

impl Nodes<'_> {
    fn start(&self, node: usize) -> Result<()> {
        let server = self.setups[node].start()?;
        *self.running[node].write().unwrap_or_else(PoisonError::into_inner) = Some(server);
        Ok(())
    }

    fn connect_to(&self, node: usize) -> Result<Client> {
        let running = self.running[node].read().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().context("the node was killed")?.connect(None)
    }

    /// Connects to the next node that can be reached.
    fn connect(&self) -> Result<Client> {
        let first = self.connections.fetch_add(1, Ordering::Relaxed);
        let nodes = self.setups.len();
        let mut clients = (first..first + nodes).map(|node| self.connect_to(node % nodes));
        let client = clients.find(Result::is_ok);
        client.context("no node can be reached")?
    }

    fn common(&self) -> Result<()> {
        let mut client = self.connect()?;
        for sql in COMMON {
            client.query(sql)?;
        }
        Ok(())
    }

    /// Lets everybody work until a node was killed and the others have gone on without it; which one.
    fn live(&self, random: &SeededRandom, round: u64, memories: &mut [Memory]) -> Result<usize> {
        let is_over = AtomicBool::new(false);
        let connect = || {
            let client = self.connect();
            std::thread::sleep(ON_ITS_WAY);
            client
        };
        std::thread::scope(|scope| {
            let (connect, is_over) = (&connect, &is_over);
            let workers: Vec<_> = memories
                .iter_mut()
                .map(|memory| scope.spawn(move || work(memory, connect, is_over)))
                .collect();
            kill_statements(&|| self.connect(), life(random), random, is_over);
            let leader = self.setups.iter().position(Setup::leads);
            let any = random.below(self.setups.len() as u64) as usize;
            let victim = leader.filter(|_| !round.is_multiple_of(3)).unwrap_or(any);
            let killed = self.kill(victim);
            let without = Duration::from_millis(random.below(WITHOUT_MS));
            kill_statements(&|| self.connect(), without, random, is_over);
            is_over.store(true, Ordering::Relaxed);
            ended(workers)?;
            killed.map(|()| victim)
        })
    }

    fn kill(&self, node: usize) -> Result<()> {
        let server = self.running[node]
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        server.context("it runs")?.kill()
    }

    /// Asks each of the nodes what became of a client's database.
    fn settle(&self, memory: &mut Memory) -> Result<()> {
        for node in 0..self.setups.len() {
            let mut client = self.connect_to(node)?;
            let settled = memory
                .settle(&mut client)
                .with_context(|| format!("on node {}", node + 1))?;
            ensure!(settled.is_some(), "node {} has gone while nobody used it", node + 1);
        }
        Ok(())
    }
}
