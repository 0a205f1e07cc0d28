//! Runs a cluster from a seed, with everything that may go wrong, and looks at what must never be.
//!
//! ```text
//!   world ── tick ──▶ net: what arrives ──▶ nodes: their tasks run ──▶ invariants look
//!     ▲                                                                   │
//!     └── nemesis: kills, cuts, stalls, slow ways, moves of the lead ─────┘
//! ```
//!
//! The nodes run the code of production, all of it on one thread: `shard` with its log, its store and its calls, and clients that use
//! `transaction`, or speak SQL to sessions (`--sql`). What is simulated is around them: disks, clocks, the ways between nodes, and when a process dies.
//!
//! Reading order: `world`, `node`, `net`, `nemesis`; `workload`, what clients do; `sql`, clients that speak SQL; `invariants`, what must hold; `determinism`, why a seed
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
mod plots;
mod report;
mod schema;
mod sql;
mod trace;
mod watcher;
mod workload;
mod world;

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};

use nemesis::Fault;

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
        /// Half of the faults are of this kind.
        #[arg(long)]
        often: Option<Fault>,
        /// One of the nodes has no rows.
        #[arg(long)]
        witness: bool,
        /// Clients speak SQL.
        #[arg(long)]
        sql: bool,
    },
    /// Many seeds, FROM..TO with both ends.
    Seeds {
        range: String,
        #[command(flatten)]
        how: HowMany,
    },
    /// The planted bugs, and then as many seeds as there is time for.
    Check {
        range: String,
        #[command(flatten)]
        how: HowMany,
    },
    /// Bugs that are planted in the code, which must be found. For builds that can be told to do wrong.
    Planted {
        /// This one alone.
        bug: Option<String>,
        /// Seeds for each, after the one that has found it before.
        #[arg(long, default_value_t = TRIES)]
        tries: u64,
        #[command(flatten)]
        how: HowMany,
    },
}

const TRIES: u64 = 60;

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
    /// In each seed one of the nodes has no rows. A seed does other things with it than without.
    #[arg(long)]
    witness: bool,
    /// Clients speak SQL.
    #[arg(long)]
    sql: bool,
}

const SECONDS: u64 = 15;

impl HowMany {
    fn how(&self) -> many::How {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        many::How {
            jobs: self.jobs.unwrap_or(cores).max(1),
            seconds: self.seconds,
            has_witness: self.witness,
            speaks_sql: self.sql,
            until: self
                .minutes
                .map(|minutes| Instant::now() + Duration::from_secs(minutes * 60)),
        }
    }
}

fn main() -> Result<ExitCode> {
    let is_good = match Arguments::parse().command {
        Command::Seed {
            seed,
            trace,
            seconds,
            often,
            witness,
            sql,
        } => one(
            world::Plan {
                seed,
                length: seconds * 1000,
                often,
                has_witness: witness,
                speaks_sql: sql,
            },
            trace,
        ),
        Command::Seeds { range, how } => {
            let seeds = seeds(&range)?;
            is_good(many::range(seeds, how.how())?)
        }
        Command::Check { range, how } => {
            let seeds = seeds(&range)?;
            let finds_all = is_good(planted(TRIES, None, &how)?);
            is_good(many::range(seeds, how.how())?) && finds_all
        }
        Command::Planted { bug, tries, how } => is_good(planted(tries, bug.as_deref(), &how)?),
    };
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn seeds(range: &str) -> Result<RangeInclusive<u64>> {
    let Some((from, to)) = range.split_once("..") else {
        bail!("{range}: seeds are given as FROM..TO");
    };
    Ok(from.parse()?..=to.parse()?)
}

fn planted(tries: u64, only: Option<&str>, how: &HowMany) -> Result<(u64, u64)> {
    if !cfg!(debug_assertions) {
        bail!("this build cannot be told to do wrong");
    }
    many::planted(tries, only, how.how())
}

/// Prints the closing line.
fn is_good((ran, bad): (u64, u64)) -> bool {
    println!("{} passed, {bad} failed", ran - bad);
    bad == 0
}

/// Runs a seed, and prints a line of what it did, and one for each broken promise.
fn one(plan: world::Plan, is_shown: bool) -> bool {
    let seed = plan.seed;
    determinism::begin(seed);
    panics::watch();
    if plan.speaks_sql {
        // Statements give way rarely or all the time.
        governor::turn::count_on_this_thread([3, 50, 500, 5000][(seed % 4) as usize]);
    }
    let outcome = world::run(plan, is_shown);
    println!("seed {seed}: {:016x} {}", outcome.hash, outcome.summary);
    for violation in &outcome.violations {
        println!("seed {seed}: {} is broken: {}", violation.invariant, violation.what);
    }
    outcome.violations.is_empty()
}
