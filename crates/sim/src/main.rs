//! Runs a cluster from a seed, with everything that may go wrong, and looks at what must never be.
//!
//! ```text
//!   world ── tick ──▶ net: what arrives ──▶ nodes: their tasks run ──▶ invariants look
//!     ▲                                                                   │
//!     └── nemesis: kills, cuts, stalls, slow ways, moves of the lead ─────┘
//! ```
//!
//! The nodes run the code of production, all of it on one thread: `shard` with its log, its store and its calls, and sessions that use
//! `transaction`. What is simulated is around them: disks, clocks, the ways between nodes, and when a process dies.
//!
//! Reading order: `world`, `node`, `net`, `nemesis`; `workload`, what clients do; `invariants`, what must hold; `determinism`, why a seed
//! always does the same.

mod clock;
mod determinism;
mod invariants;
mod many;
mod nemesis;
mod net;
mod node;
mod panics;
mod planted;
mod report;
mod schema;
mod trace;
mod watcher;
mod workload;
mod world;

use std::num::NonZero;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};

/// Runs simulated clusters, each from a seed.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One seed, in this process.
    Seed {
        seed: u64,
        /// Show what happens.
        #[arg(long)]
        trace: bool,
        /// Virtual seconds with faults.
        #[arg(long, default_value_t = SECONDS)]
        seconds: u64,
    },
    /// Many seeds, FROM..TO with both ends.
    Seeds {
        range: String,
        #[command(flatten)]
        how: HowMany,
    },
    /// Bugs that are planted in the code, which must be found. For builds that can be told to do wrong.
    Planted {
        /// This one alone.
        bug: Option<String>,
        /// Seeds for each.
        #[arg(long, default_value_t = 40)]
        tries: u64,
        #[command(flatten)]
        how: HowMany,
    },
}

#[derive(Args)]
struct HowMany {
    /// Processes at a time.
    #[arg(long)]
    jobs: Option<usize>,
    /// Virtual seconds with faults.
    #[arg(long, default_value_t = SECONDS)]
    seconds: u64,
    /// Begin no seed after so many minutes.
    #[arg(long)]
    minutes: Option<u64>,
}

const SECONDS: u64 = 15;

impl HowMany {
    fn how(&self) -> many::How {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        many::How {
            jobs: self.jobs.unwrap_or(cores).max(1),
            seconds: self.seconds,
            until: self
                .minutes
                .map(|minutes| Instant::now() + Duration::from_secs(minutes * 60)),
        }
    }
}

fn main() -> Result<ExitCode> {
    let is_good = match Arguments::parse().command {
        Command::Seed { seed, trace, seconds } => one(seed, trace, seconds),
        Command::Seeds { range, how } => {
            let Some((from, to)) = range.split_once("..") else {
                bail!("{range}: seeds are given as FROM..TO");
            };
            let (ran, bad) = many::range(from.parse()?..=to.parse()?, how.how())?;
            println!("{} passed, {bad} failed", ran - bad);
            bad == 0
        }
        Command::Planted { bug, tries, how } => {
            if !cfg!(debug_assertions) {
                bail!("this build cannot be told to do wrong");
            }
            let (looked_for, missed) = many::planted(tries, bug.as_deref(), how.how())?;
            println!("{looked_for} planted bugs, {missed} not found");
            missed == 0
        }
    };
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a seed, and prints a line of what it did, and one for each broken promise.
fn one(seed: u64, is_shown: bool, seconds: u64) -> bool {
    determinism::begin(seed);
    panics::watch();
    let outcome = world::run(world::Plan {
        seed,
        length: seconds * 1000,
        is_shown,
    });
    println!("seed {seed}: {:016x} {}", outcome.hash, outcome.summary);
    for violation in &outcome.violations {
        println!("seed {seed}: {} is broken: {}", violation.invariant, violation.what);
    }
    outcome.violations.is_empty()
}
