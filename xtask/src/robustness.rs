//! `cargo xtask robustness`: how long others wait while somebody runs the worst statements known, how long a KILL takes,
//! and how much memory it costs; and whether the memory that the node charges is what it takes, also after deletes here and there. Writes
//! `docs/robustness.md`.
//!
//! The servers are optimised and of the run's own. That of the statements has a small memory limit, and may not have more address
//! space than [`ADDRESS_SPACE_KIB`], so that one that does not hold its limit dies, and not the machine.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::test::{Context, Server, build_server, with_address};

const ADDRESS_SPACE_KIB: &str = "12000000";
const MEMORY_LIMIT_MIB: u32 = 512;
/// Of the node that is filled to it.
const GAPS_LIMIT_MIB: u32 = 256;
/// Shorter turns are not worth a line of the log.
const REPORTED_TURN_MS: &str = "2";

#[derive(clap::Args)]
pub struct Options {
    /// Only statements whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// How long each is run
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// How many attack at a time, one run for each; 2 and 50 by default
    #[arg(long, num_args = 1..)]
    attackers: Vec<u32>,
    /// Rows of the large table
    #[arg(long, default_value_t = 500_000)]
    rows: u32,
}

pub fn run(options: &Options) -> Result<()> {
    let context = Context::optimised()?;
    build_server(&context)?;
    let limit = format!("{MEMORY_LIMIT_MIB}MiB");
    let flags = ["--memory-limit", &limit, "--report-turns", REPORTED_TURN_MS];
    let server = Server::start_within(&context, "robustness", &flags, ADDRESS_SPACE_KIB)?;
    let table = context.target("robustness.md");
    let mut suite = with_address(Command::new("python3"), server.address());
    suite
        .arg(context.root.join("tests/robustness/suite.py"))
        .args(["--only", &options.only])
        .args(["--seconds", &options.seconds.to_string()])
        .args(["--rows", &options.rows.to_string()])
        .args(["--resident-max", &(MEMORY_LIMIT_MIB * 5 / 4).to_string()])
        .arg("--table")
        .arg(&table)
        .env("DB_LOG", server.log());
    if !options.attackers.is_empty() {
        suite
            .arg("--attackers")
            .args(options.attackers.iter().map(u32::to_string));
    }
    let status = suite.status()?;
    server.stop()?;
    let is_within_bounds = status.success();
    let waits = std::fs::read_to_string(&table)?;
    if options.only.is_empty() {
        let (memory, agrees) = charged_and_resident(&context, "resident", &["--memory-limit", "2GiB"], &[])?;
        let limit_mib = GAPS_LIMIT_MIB.to_string();
        let flags = ["--memory-limit", &format!("{limit_mib}MiB")];
        let (gaps, are_closed) = charged_and_resident(&context, "gaps", &flags, &["--limit", &limit_mib])?;
        std::fs::write(
            context.root.join("docs/robustness.md"),
            document(options, &limit, &waits, &memory, &gaps),
        )?;
        ensure!(agrees, "what is charged is not what is resident");
        ensure!(are_closed, "gaps in the allocator's pages stay");
    }
    ensure!(is_within_bounds, "not every statement is within its bounds");
    Ok(())
}

/// The table that a script makes of what is charged beside what is resident, and whether they agree.
fn charged_and_resident(context: &Context, script: &str, flags: &[&str], args: &[&str]) -> Result<(String, bool)> {
    let server = Server::start(context, script, flags)?;
    let table = context.target(&format!("{script}.md"));
    let status = with_address(Command::new("python3"), server.address())
        .arg(context.root.join("tests/robustness").join(script).with_extension("py"))
        .args(args)
        .arg("--table")
        .arg(&table)
        .status()?;
    server.stop()?;
    Ok((std::fs::read_to_string(&table)?, status.success()))
}

fn document(options: &Options, limit: &str, waits: &str, memory: &str, gaps: &str) -> String {
    format!(
        "# Robustness\n\nWritten by `cargo xtask robustness`.\n\n## What others notice\n\nSix connections look up single rows while attackers \
         run one statement each, for {} s. `memory_limit` is {limit}, the large table has {} rows. The wait counts from the sending of a \
         look-up to its answer in the client, which shares the machine with the server and the attackers; beside it stands by how much a \
         process that only sleeps woke up too late meanwhile. A turn is what a thread of the server computes without giving way, in its own \
         processor time; shorter ones than {REPORTED_TURN_MS} ms are 0. The statements are those of `tests/robustness/statements.py`.\n\n{waits}\n\
         ## What is charged, and what it takes\n\n`Memory_used` beside the resident size, both less what an empty node has \
         (`tests/robustness/resident.py`).\n\n{memory}\n\
         After rows were removed, or grew, here and there, with a `memory_limit` of {GAPS_LIMIT_MIB} MiB (`tests/robustness/gaps.py`); the peak is \
         that of the whole process, without the pages of files.\n\n{gaps}",
        options.seconds, options.rows
    )
}
