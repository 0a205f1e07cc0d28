//! Makes SQL at random, from a seed, and looks for answers that are wrong.

mod change;
mod compare;
mod differential;
mod explained;
mod expr;
mod fulltext;
mod functions;
mod itself;
mod kind;
mod node;
mod parameters;
mod plan;
mod program;
mod query;
mod rng;
mod schema;
mod session;
mod shrink;
mod trigger;
mod window;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};

use compare::Depth;
use session::Server;

#[derive(Parser)]
#[command(about = "Make SQL at random and look for wrong answers")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Give the same statements to LatsDB and MySQL
    Compare {
        /// LatsDB, as `HOST:PORT[:USER[:PASSWORD]]`
        #[arg(long, default_value = "127.0.0.1:3306")]
        latsdb: Server,
        /// MySQL
        #[arg(long, default_value = "127.0.0.1:13390:oracle:oracle")]
        mysql: Server,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[arg(long, default_value_t = 1_000_000)]
        statements: u64,
        /// Stop after this time, too
        #[arg(long, default_value_t = 86_400)]
        seconds: u64,
        #[arg(long, default_value_t = 4)]
        connections: u64,
        /// Compare the types and names of columns, too
        #[arg(long)]
        columns: bool,
        /// Prefix of the databases
        #[arg(long, default_value = "sqlgen")]
        database: String,
        /// Where to write what is found, as scripts
        #[arg(long, default_value = "target/sqlgen")]
        out: PathBuf,
        /// Of one class of differences shrink so many
        #[arg(long, default_value_t = 5)]
        keep: usize,
        /// How many seconds one of them is made smaller
        #[arg(long, default_value_t = 20)]
        shrink: u64,
    },
    /// Check LatsDB against itself
    Itself {
        /// A running server
        #[arg(long, conflicts_with = "binary")]
        latsdb: Option<Server>,
        /// Start this binary, and restart it now and then
        #[arg(long)]
        binary: Option<PathBuf>,
        #[arg(long, default_value_t = 28_306)]
        port: u16,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[arg(long, default_value_t = u64::MAX)]
        statements: u64,
        /// Stop after this time, too
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        #[arg(long, default_value = "target/sqlgen")]
        out: PathBuf,
    },
    /// Print the statements of a seed as a script whose answers are to be recorded
    Script {
        #[arg(long)]
        seed: u64,
        #[arg(long, default_value_t = 150)]
        statements: usize,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing was found.
fn run(command: Command) -> Result<bool> {
    match command {
        Command::Compare {
            latsdb,
            mysql,
            seed,
            statements,
            seconds,
            connections,
            columns,
            database,
            out,
            keep,
            shrink,
        } => {
            let report = differential::run(&differential::Options {
                ours: latsdb,
                theirs: mysql,
                seed,
                statements,
                deadline: Instant::now() + Duration::from_secs(seconds),
                connections,
                depth: if columns { Depth::Columns } else { Depth::Content },
                database,
                out,
                keep,
                shrinking: Duration::from_secs(shrink),
            })?;
            let explained: u64 = report.explained.values().sum();
            let unexplained: u64 = report.unexplained.values().sum();
            println!(
                "{} statements in {} episodes from seed {seed} ({} refused by both, {} checked by the prepared protocol, {} with typed parameters)",
                report.statements, report.episodes, report.refused, report.itself, report.typed
            );
            println!("{explained} explained differences:");
            report
                .explained
                .iter()
                .for_each(|(why, count)| println!("  {count:>6} {why}"));
            println!("{unexplained} unexplained differences:");
            report
                .unexplained
                .iter()
                .for_each(|(class, count)| println!("  {count:>6} {class}"));
            Ok(unexplained == 0)
        }
        Command::Itself {
            latsdb,
            binary,
            port,
            seed,
            statements,
            seconds,
            out,
        } => {
            std::fs::create_dir_all(&out)?;
            let (server, node) = match (latsdb, binary) {
                (Some(server), None) => (server, None),
                (None, Some(binary)) => {
                    let node = node::Node::start(binary, out.join("data"), port)?;
                    (node.server().clone(), Some(node))
                }
                _ => bail!("either --latsdb or --binary"),
            };
            let report = itself::run(itself::Options {
                server,
                node,
                seed,
                statements,
                deadline: Instant::now() + Duration::from_secs(seconds),
                out,
            })?;
            println!(
                "{} statements, {} checks of which {} ended in an error, {} restarts",
                report.statements, report.checks, report.refused, report.restarts
            );
            println!(
                "{} passed, {} failed",
                report.checks + report.restarts - report.refused,
                report.failures
            );
            Ok(report.failures == 0)
        }
        Command::Script { seed, statements } => {
            script(seed, statements);
            Ok(true)
        }
    }
}

fn script(seed: u64, statements: usize) {
    println!("# The statements of seed {seed}.");
    let mut episode = plan::Episode::new(seed);
    for _ in 0..statements {
        let (sql, role) = episode.next();
        let sorted = if role == plan::Role::Query { "-- sorted\n" } else { "" };
        println!("\n{sorted}{sql}\n----");
    }
}
