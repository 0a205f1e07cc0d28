//! Random sequences of definitions and changes by several clients, while steps of the server fail, panic and die.
//!
//! Every client has a database of its own, of which it knows what it has to be ([`model`]), and all of them meet in another one. In each
//! round steps are made to fail ([`env::failpoints`]), statements and connections are killed, and the server ends by a `kill -9`,
//! its own or ours. Then `latsdb admin verify` looks through the directory, the server starts again, and every client's database
//! is one of those that it may be: definitions, rows, and rows by way of every index.

mod client;
mod cluster;
mod generate;
mod model;

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
pub use cluster::run as run_on_a_cluster;

use client::{Memory, Stopped};
use env::{Random, SeededRandom};
use mysql_client::Client;

use crate::server::{Server, Setup};

const CLIENTS: u32 = 6;
const LIFE_MIN_MS: u64 = 300;
const LIFE_MAX_MS: u64 = 4000;
/// Between two kills of statements, on the average.
const KILL_EVERY_MS: u64 = 60;
/// The steps of `sql::failpoint`.
const STEPS: [&str; 20] = [
    "statement.planned",
    "statement.ran",
    "commit.proposing",
    "commit.answered",
    "ddl.locked",
    "ddl.catalog",
    "ddl.prepared",
    "ddl.committing",
    "ddl.committed",
    "ids.leasing",
    "ids.leased",
    "alter.copy_made",
    "alter.copied_some",
    "alter.copied",
    "alter.indexed",
    "create_as.made",
    "create_as.filled",
    "temporary.made",
    "shard.logging",
    "shard.applying",
];

/// Where all clients meet, and where they see whether commits are taken.
const COMMON: [&str; 3] = [
    "CREATE DATABASE IF NOT EXISTS shared",
    "CREATE DATABASE IF NOT EXISTS probe",
    "CREATE TABLE IF NOT EXISTS probe.p (id INT PRIMARY KEY, at INT UNSIGNED)",
];

/// Runs at least `steps` statements.
pub fn run(setup: &Setup, steps: u64, seed: u64) -> Result<()> {
    let _ = std::fs::remove_dir_all(&setup.dir);
    std::fs::create_dir_all(&setup.dir)?;
    let random = SeededRandom::new(seed);
    let mut memories = memories(&random);
    let mut rounds = 0;
    while statements(&memories) < steps {
        rounds += 1;
        let place = || format!("round {rounds}, seed {seed}");
        let server = setup.start().with_context(place)?;
        let mut admin = server.connect(None)?;
        for memory in &mut memories {
            let settled = memory.settle(&mut admin).with_context(place)?;
            ensure!(
                settled.is_some(),
                "the server has gone while nobody used it; {}",
                place()
            );
        }
        for sql in COMMON {
            admin.query(sql)?;
        }
        let round = Round {
            rules: rules(&random),
            life: life(&random),
            random: &random,
        };
        round.live(server, admin, &mut memories).with_context(place)?;
        verify(setup).with_context(place)?;
    }
    report("definitions", &memories, rounds)
}

fn memories(random: &SeededRandom) -> Vec<Memory> {
    let memory = |number| Memory::new(number, random.next_u64());
    (0..CLIENTS).map(memory).collect()
}

/// How many all clients together have sent.
fn statements(memories: &[Memory]) -> u64 {
    memories.iter().map(|memory| memory.statements).sum()
}

/// How long a server lives, unless a step ends it.
fn life(random: &SeededRandom) -> Duration {
    Duration::from_millis(LIFE_MIN_MS + random.below(LIFE_MAX_MS - LIFE_MIN_MS))
}

fn report(what: &str, memories: &[Memory], rounds: u64) -> Result<()> {
    let succeeded: u64 = memories.iter().map(|memory| memory.succeeded).sum();
    let statements: u64 = memories.iter().map(|memory| memory.statements).sum();
    ensure!(
        succeeded * 5 > statements,
        "hardly any statement succeeded: {succeeded} of {statements}"
    );
    println!(
        "{what}: {statements} statements by {CLIENTS} clients, {succeeded} with success, {rounds} kills; all databases are what they may be, and whole"
    );
    Ok(())
}

/// What goes wrong in a round.
fn rules(random: &SeededRandom) -> String {
    let step = STEPS[random.below(STEPS.len() as u64) as usize];
    let other = STEPS[random.below(STEPS.len() as u64) as usize];
    let actions = ["error", "panic", "kill"];
    let action = actions[random.below(3) as usize];
    let at = 1 + random.below(40);
    match random.below(5) {
        0 => String::new(),
        1 => format!("*=error%{}/{}", 50 + random.below(200), random.below(1000)),
        // A panic of the thread that applies the log ends the log: the steps of statements only.
        2 => {
            let all = STEPS.iter().filter(|step| !step.starts_with("shard."));
            let rules: Vec<String> = all
                .map(|step| format!("{step}=panic%{}/{}", 50 + random.below(200), random.below(1000)))
                .collect();
            rules.join(",")
        }
        _ => format!("{step}={action}@{at},{other}=error@{at}"),
    }
}

struct Round<'a> {
    rules: String,
    life: Duration,
    random: &'a SeededRandom,
}

impl Round<'_> {
    /// Lets everybody work until the server is killed.
    fn live(&self, server: Server, mut admin: Client, memories: &mut [Memory]) -> Result<()> {
        let is_over = AtomicBool::new(false);
        let sql = format!("SET GLOBAL debug = '{}'", self.rules);
        admin.query(&sql)?;
        std::thread::scope(|scope| {
            let workers: Vec<_> = memories
                .iter_mut()
                .map(|memory| {
                    let (server, is_over) = (&server, &is_over);
                    scope.spawn(move || work(memory, &|| server.connect(None), is_over))
                })
                .collect();
            kill_statements(&|| server.connect(None), self.life, self.random, &is_over);
            is_over.store(true, Ordering::Relaxed);
            // Statements that run are ended by the server's end, and their outcomes are not known.
            let killed = server.interrupt();
            ended(workers)?;
            killed
        })
        .with_context(|| format!("with the rules {:?}", self.rules))?;
        server.kill()
    }
}

/// Lets a client work until it is told to stop. A finding ends the round for all.
fn work(memory: &mut Memory, connect: &dyn Fn() -> Result<Client>, is_over: &AtomicBool) -> Result<Stopped> {
    let ended = memory.work(connect, &|| is_over.load(Ordering::Relaxed));
    if ended.is_err() {
        is_over.store(true, Ordering::Relaxed);
    }
    ended
}

/// Waits for the clients; the first finding.
fn ended(workers: Vec<ScopedJoinHandle<'_, Result<Stopped>>>) -> Result<()> {
    let mut found = None;
    for worker in workers {
        match worker.join() {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => found = found.or(Some(error)),
            Err(_) => bail!("a client panicked"),
        }
    }
    found.map_or(Ok(()), Err)
}

/// Kills statements and connections at random until the time is over, or nobody can be reached.
fn kill_statements(connect: &dyn Fn() -> Result<Client>, time: Duration, random: &SeededRandom, is_over: &AtomicBool) {
    let started = Instant::now();
    while started.elapsed() < time && !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(random.below(2 * KILL_EVERY_MS)));
        let Ok(mut client) = connect() else { return };
        let what = ["KILL", "KILL QUERY", "KILL QUERY"][random.below(3) as usize];
        // Connections have small numbers; the newest are those of the clients.
        let newest = u64::from(client.connection_id);
        let victim = newest.saturating_sub(1 + random.below(12)).max(1);
        let _ = client.query(&format!("{what} {victim}"));
    }
}

/// What `latsdb admin verify` says of the directory that a killed server has left behind.
fn verify(setup: &Setup) -> Result<()> {
    let program = setup.command.first().context("a server's command")?;
    let output = Command::new(program)
        .args(["admin", "verify"])
        .arg(&setup.dir)
        .output()?;
    ensure!(
        output.status.success(),
        "latsdb admin verify:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
