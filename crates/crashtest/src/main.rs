//! Holds a server to its word: what it acknowledged is there after it was killed, after its log was torn, after its
//! disk failed or was full.

mod damage;
mod definitions;
mod disk;
mod kill;
mod ledger;
mod server;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use server::Setup;

#[derive(Parser)]
#[command(about = "Crash a MySQL-compatible server and look for what it had acknowledged")]
struct Arguments {
    /// The latsdb program
    #[arg(long, default_value = "target/debug/latsdb")]
    server: PathBuf,
    /// Another server's command line, in which {dir} and {port} are replaced (instead of --server)
    #[arg(long)]
    command: Option<String>,
    /// Data directory; it and its neighbours of that name are overwritten
    #[arg(long, default_value = "target/crashtest/data")]
    dir: PathBuf,
    /// MySQL port; the HTTP port is the next one
    #[arg(long, default_value_t = 3470)]
    port: u16,
    /// Seed of the workload and of the moments
    #[arg(long)]
    seed: Option<u64>,
    #[command(subcommand)]
    test: Test,
}

#[derive(Subcommand)]
enum Test {
    /// kill -9 at random moments
    Kill {
        #[arg(long, default_value_t = 50)]
        times: u32,
    },
    /// Random definitions and changes by several clients, with failures, panics and kills (a server built with faults)
    Definitions {
        /// Statements
        #[arg(long, default_value_t = 2000)]
        steps: u64,
        /// Of a cluster, one of which is killed at a time while clients of the others go on
        #[arg(long, default_value_t = 1)]
        nodes: u16,
    },
    /// Tear the log at every byte of its last record
    Tear,
    /// Flip single bits of the log
    Flip {
        #[arg(long, default_value_t = 25)]
        times: u32,
    },
    /// Fail a sync (a server built with faults)
    Sync,
    /// Fill the disk (mounts a tmpfs in a namespace)
    Full,
    #[command(hide = true)]
    FullInside,
    /// All of them
    All {
        #[arg(long, default_value_t = 50)]
        kills: u32,
        #[arg(long, default_value_t = 25)]
        flips: u32,
        /// Statements of the random definitions
        #[arg(long, default_value_t = 2000)]
        steps: u64,
    },
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("crashtest: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    if let Some(parent) = arguments.dir.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let dir = std::path::absolute(&arguments.dir)?;
    let mut setup = Setup::latsdb(&arguments.server, &dir, arguments.port);
    if let Some(command) = &arguments.command {
        setup.command = command.split_whitespace().map(String::from).collect();
    }
    let seed = arguments
        .seed
        .unwrap_or_else(|| env::Env::real().random.next_u64() % 1_000_000);
    println!("seed {seed}");
    let kill = |times| kill::run(&setup, times, seed);
    match arguments.test {
        Test::Kill { times } => kill(times),
        Test::Definitions { steps, nodes: 1 } => definitions::run(&setup, steps, seed),
        Test::Definitions { steps, nodes } => {
            let setups = Setup::latsdb_cluster(&arguments.server, &dir, arguments.port, nodes);
            definitions::run_on_a_cluster(&setups, steps, seed)
        }
        Test::Tear => damage::tear(&setup),
        Test::Flip { times } => damage::flip(&setup, times, seed),
        Test::Sync => disk::sync(&setup),
        Test::Full => full(arguments),
        Test::FullInside => disk::full_inside(&setup),
        Test::All { kills, flips, steps } => all(&[
            ("kill", &|| kill(kills)),
            ("definitions", &|| definitions::run(&setup, steps, seed)),
            ("tear", &|| damage::tear(&setup)),
            ("flip", &|| damage::flip(&setup, flips, seed)),
            ("sync", &|| disk::sync(&setup)),
            ("full", &|| full(arguments)),
        ]),
    }
}

/// Runs each, whatever became of the one before, and counts.
fn all(tests: &[(&str, &dyn Fn() -> Result<()>)]) -> Result<()> {
    let mut failed = 0;
    for (name, test) in tests {
        match test() {
            Ok(()) => println!("ok {name}"),
            Err(error) => {
                failed += 1;
                println!("FAILED {name}: {error:#}");
            }
        }
    }
    println!("{} passed, {failed} failed", tests.len() - failed);
    if failed > 0 {
        bail!("{failed} failed");
    }
    Ok(())
}

fn full(arguments: &Arguments) -> Result<()> {
    if !disk::can_mount() {
        println!("full: SKIPPED, this system lets nobody mount a tmpfs in a namespace");
        return Ok(());
    }
    let given = [
        ("--server", arguments.server.display().to_string()),
        ("--dir", arguments.dir.with_extension("full").display().to_string()),
        ("--port", arguments.port.to_string()),
    ];
    disk::full(
        &given
            .into_iter()
            .flat_map(|(flag, value)| [flag.to_owned(), value])
            .collect::<Vec<_>>(),
    )
}
