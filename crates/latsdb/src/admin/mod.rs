//! `latsdb admin …`: what an operator does with a cluster, through the HTTP address of one of its nodes; and, by `verify` and `dump`, with
//! a directory that is in doubt.
//!
//! These two work on a directory that no node uses, and change nothing in it: what recovery writes stays in memory.
//!
//! * [`mod@verify`]: opens it as a node would, and compares everything that is there twice;
//! * [`mod@dump`]: reads what can be read, whatever is damaged, and writes it as SQL.

mod dump;
mod literal;
mod verify;

use std::path::Path;

use anyhow::{Result, bail, ensure};
use clap::{Arg, ArgMatches, Command};
use store::MemoryBudget;

use crate::cli;

pub use dump::dump;
pub use verify::verify;

pub fn run(matches: &ArgMatches) -> Result<()> {
    let dir = |matches: &ArgMatches| {
        let dir = matches.get_one::<String>("dir").expect("clap insists on it").clone();
        ensure!(
            Path::new(&dir).join("log").is_dir(),
            "{dir} is no data directory: it has no log"
        );
        Ok(dir)
    };
    match matches.subcommand() {
        Some(("verify", matches)) => {
            let dir = dir(matches)?;
            let report = verify(Path::new(&dir));
            for problem in &report.problems {
                println!("{problem}");
            }
            match report.problems.len() {
                0 => println!("{dir} is in order: {}", report.summary),
                count => bail!("{dir}: {count} problems"),
            }
            Ok(())
        }
        Some(("dump", matches)) => {
            let dir = dir(matches)?;
            let mut output = std::io::BufWriter::new(std::io::stdout().lock());
            let problems = dump(Path::new(&dir), &mut output)?;
            for problem in &problems {
                eprintln!("{problem}");
            }
            match problems.len() {
                0 => Ok(()),
                count => bail!("{dir}: {count} problems; what could be read is in the dump"),
            }
        }
        Some((name @ ("move-leader" | "remove-node" | "replace-node" | "drain" | "resume" | "upgrade"), matches)) => {
            let address = crate::cli::config(matches)?.http_addr;
            let node = matches.try_get_one::<u32>("node").ok().flatten();
            let query = node.map_or_else(String::new, |node| format!("?node={node}"));
            println!("{}", crate::status::order(address, &format!("/admin/{name}{query}"))?);
            Ok(())
        }
        Some(("add-node", _)) => {
            println!(
                "A node adds itself. On its machine, with an empty data directory and a number that no other node has:\n\
                 \x20   latsdb serve --data-dir DIR --node-id N --peer-addr HOST:PORT --join HOST:PORT"
            );
            Ok(())
        }
        Some((name, _)) => bail!(
            "`admin {name}` is not in this version of LatsDB ({})",
            env!("CARGO_PKG_VERSION")
        ),
        None => bail!("`admin` needs a command: see latsdb admin --help"),
    }
}

pub fn command() -> Command {
    let number = |help: &'static str| {
        Arg::new("node")
            .value_name("NODE")
            .value_parser(clap::value_parser!(u32).range(1..))
            .help(help)
    };
    let dir = || {
        Arg::new("dir")
            .value_name("DIR")
            .required(true)
            .help("Data directory of a node that does not run")
    };
    Command::new("admin")
        .about("Look after a cluster, and after data directories")
        .arg_required_else_help(true)
        .allow_external_subcommands(true)
        .subcommand(
            cli::of_node(
                "move-leader",
                "Hand the lead to another node: the one named, or whichever is furthest",
            )
            .arg(number("Node that is to lead")),
        )
        .subcommand(
            cli::of_node("remove-node", "Take a node out of the cluster, running or lost")
                .arg(number("Node to take out").required(true)),
        )
        .subcommand(
            cli::of_node(
                "replace-node",
                "Let a node come back whose directory is lost or damaged: its next start gets everything from the others",
            )
            .arg(number("Node that has lost what it had").required(true)),
        )
        .subcommand(cli::of_node(
            "drain",
            "Give up the lead, and tell load balancers to send nobody (/health/ready)",
        ))
        .subcommand(cli::of_node("resume", "Take clients again after drain"))
        .subcommand(cli::of_node(
            "upgrade",
            "Raise the cluster's feature level, for good, once all nodes run a version that speaks it",
        ))
        .subcommand(Command::new("add-node").about("Say how a node is added"))
        .subcommand(
            Command::new("verify")
                .about("Check log, checkpoint, catalog, rows, indexes and foreign keys; change nothing")
                .arg(dir()),
        )
        .subcommand(
            Command::new("dump")
                .about("Write what can be read of a directory, damaged or not, as SQL; change nothing")
                .arg(dir()),
        )
}

/// Nobody else is served meanwhile: what the directory holds may take all the memory there is.
pub fn memory() -> std::sync::Arc<MemoryBudget> {
    MemoryBudget::new(u64::MAX / 4)
}
