//! Runs random transactions of many clients against a server that is killed in the middle, and checks what came out, at every isolation
//! level.
//!
//! * [`workload`]: what the clients do, and what has to hold;
//! * [`history`], [`graph`]: what they did and saw, and the cycles in it;
//! * [`round`]: clients and kills;
//! * [`planted`]: bugs that the machine has to find, to show that it would.

mod graph;
mod history;
mod planted;
mod round;
mod server;
mod session;
mod workload;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use env::{Random, SeededRandom};

use round::{Counts, Plan};
use server::Server;
use workload::WORKLOADS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Level {
    const ALL: [Level; 4] = [
        Level::ReadUncommitted,
        Level::ReadCommitted,
        Level::RepeatableRead,
        Level::Serializable,
    ];

    fn name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "READ UNCOMMITTED",
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        }
    }
}

#[derive(Parser)]
#[command(about = "Check the isolation of random transactions of many clients, with kill -9 in the middle")]
struct Arguments {
    /// The latsdb program
    #[arg(long, default_value = "target/debug/latsdb")]
    binary: PathBuf,
    /// Data directory; overwritten
    #[arg(long, default_value = "target/histories")]
    dir: PathBuf,
    /// MySQL port; the next ones are for HTTP, for other nodes, and for these nodes
    #[arg(long, default_value_t = 3480)]
    port: u16,
    /// A cluster of so many nodes; clients are spread over all of them
    #[arg(long, default_value_t = 1)]
    nodes: usize,
    #[arg(long)]
    seed: Option<u64>,
    #[arg(long, default_value_t = 8)]
    clients: u32,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Every workload at every level
    Run {
        /// Transactions of each level
        #[arg(long, default_value_t = 5_000)]
        transactions: u64,
        /// Transactions of a round; the checker sees one round at a time
        #[arg(long, default_value_t = 500)]
        round: u32,
        /// Rounds for each kill of the server
        #[arg(long, default_value_t = 2)]
        kill_every: u32,
        /// Begin no round after so many seconds
        #[arg(long, default_value_t = u64::MAX)]
        seconds: u64,
        /// Only this workload
        #[arg(long)]
        only: Option<String>,
        /// Where the table of what was run goes
        #[arg(long)]
        record: Option<PathBuf>,
    },
    /// Plant each of the bugs; all have to be found (a server built with debug assertions)
    Planted {
        /// Only this bug
        #[arg(long)]
        only: Option<String>,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seed = arguments
        .seed
        .unwrap_or_else(|| env::Env::real().random.next_u64() % 1_000_000);
    println!("seed {seed}");
    let outcome = match &arguments.action {
        Action::Planted { only } => planted::run(&arguments, seed, only.as_deref()),
        Action::Run { .. } => run(&arguments, seed),
    };
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("histories: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn start(arguments: &Arguments) -> Result<Server> {
    std::fs::create_dir_all(&arguments.dir)?;
    let dir = std::path::absolute(&arguments.dir)?.join("server");
    Server::start(arguments.binary.clone(), dir, arguments.port, arguments.nodes)
}

/// How many anomalies were found.
fn run(arguments: &Arguments, seed: u64) -> Result<usize> {
    let Action::Run {
        transactions,
        round,
        kill_every,
        seconds,
        only,
        record,
    } = &arguments.action
    else {
        return Ok(0);
    };
    let server = start(arguments)?;
    let random = SeededRandom::new(seed);
    let started = Instant::now();
    let workloads: Vec<_> = WORKLOADS
        .iter()
        .filter(|(name, _)| only.as_ref().is_none_or(|only| only == name))
        .collect();
    let mut counts = vec![vec![Counts::default(); workloads.len()]; Level::ALL.len()];
    let mut wrong = 0;
    let mut rounds = 0;
    // Round by round, so that whenever it ends every level and every workload has had its part.
    'all: loop {
        let mut is_over = true;
        for (at_level, level) in Level::ALL.into_iter().enumerate() {
            for (at, (name, make)) in workloads.iter().enumerate() {
                let done: u64 = counts[at_level].iter().map(|counts| counts.transactions()).sum();
                if done >= *transactions {
                    continue;
                }
                is_over = false;
                if started.elapsed().as_secs() >= *seconds {
                    break 'all;
                }
                let plan = Plan {
                    level,
                    clients: arguments.clients,
                    transactions: *round,
                    kills: u32::from(rounds % kill_every.max(&1) == 0),
                    seed: random.next_u64(),
                    stops_at_finding: false,
                    restart_failpoints: "",
                };
                rounds += 1;
                let workload = make(*round);
                let report = round::run(&server, &*workload, &plan, "")
                    .with_context(|| format!("{name} at {}, seed {seed}", level.name()))?;
                for finding in report.findings.iter().take(5) {
                    println!("{name} at {}: {finding}", level.name());
                }
                wrong += report.findings.len();
                counts[at_level][at].add(&report.counts);
            }
        }
        if is_over {
            break;
        }
    }
    server.check_panics()?;
    let names: Vec<&str> = workloads.iter().map(|(name, _)| *name).collect();
    let table = table(&names, &counts);
    print!("{table}");
    let minutes = started.elapsed().as_secs() / 60;
    println!("seed {seed}, {rounds} rounds, {minutes} minutes, {wrong} findings");
    println!("{} passed, {wrong} failed", (rounds as usize).saturating_sub(wrong));
    if let Some(path) = record {
        keep(path, &table, arguments, seed, minutes, wrong)?;
    }
    Ok(wrong)
}

/// What was run, as a table of Markdown.
fn table(names: &[&str], counts: &[Vec<Counts>]) -> String {
    let mut text = String::from("| workload |");
    for level in Level::ALL {
        text += &format!(" {} |", level.name());
    }
    text += &format!("\n|---|{}\n", "---|".repeat(Level::ALL.len()));
    for (at, name) in names.iter().enumerate() {
        text += &format!("| {name} |");
        for counts in counts {
            text += &format!(" {} |", counts[at].transactions());
        }
        text.push('\n');
    }
    for (what, of) in [
        ("committed", (|counts| counts.committed) as fn(&Counts) -> u64),
        ("aborted", |counts| counts.aborted),
        ("unknown", |counts| counts.unknown),
        ("kills", |counts| counts.kills),
        ("anomalies", |counts| counts.findings),
    ] {
        text += &format!("| *{what}* |");
        for counts in counts {
            text += &format!(" {} |", counts.iter().map(of).sum::<u64>());
        }
        text.push('\n');
    }
    text
}

fn keep(path: &Path, table: &str, arguments: &Arguments, seed: u64, minutes: u64, wrong: usize) -> Result<()> {
    let mut text = String::new();
    writeln!(
        text,
        "Transactions of {} clients at a time, seed {seed}, {minutes} minutes; the server was killed with SIGKILL in the middle of rounds, and what \
         clients had seen was checked after the restart: {wrong} findings. `cargo run -p histories -- run` runs them, and \
         `cargo run -p histories -- planted` shows that each of {} planted bugs is found.\n",
        arguments.clients,
        planted::BUGS.len()
    )?;
    text += table;
    Ok(std::fs::write(path, text)?)
}
