//! The workspace's own tasks, run as `cargo xtask …`: `tidy` holds what no compiler holds (layers, file lengths,
//! documents), `test` runs every suite against a server of its own and adds them up, `oracle` asks MySQL and MariaDB.

mod apps;
mod bench;
mod manual;
mod nightly;
mod oracle;
mod robustness;
mod test;
mod tidy;
mod upgrade;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "LatsDB's own tasks", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check what the compiler does not: layers, file lengths, documents, licences
    Tidy(tidy::Options),
    /// Install and drive real applications (tests/applications)
    Apps(apps::Options),
    /// Compare LatsDB with MariaDB and the do-nothing server under sysbench
    Bench(bench::Options),
    /// Fuzz what decodes bytes, guided by coverage (libFuzzer, nightly Rust)
    Fuzz(nightly::FuzzOptions),
    /// Run the tests of encodings, protocol and trees under Miri (nightly Rust)
    Miri(nightly::MiriOptions),
    /// What MySQL and MariaDB answer to the SQL scripts
    Oracle(oracle::Options),
    /// Ask the server for every function and statement of MySQL's manual (docs/manual.md)
    Manual(manual::Options),
    /// Measure what others notice of the worst statements known
    Robustness(robustness::Options),
    /// Run the test suites and add them up
    Test(test::Options),
    /// Replace a cluster's program of an earlier revision by this one under load, and raise the feature level
    Upgrade(upgrade::Options),
}

fn main() -> ExitCode {
    let done: Result<()> = match Arguments::parse().task {
        Task::Tidy(options) => tidy::run(&options),
        Task::Apps(options) => apps::run(&options),
        Task::Bench(options) => bench::run(&options),
        Task::Fuzz(options) => nightly::fuzz(&options),
        Task::Miri(options) => nightly::miri(&options),
        Task::Oracle(options) => oracle::run(&options),
        Task::Manual(options) => manual::run(&options),
        Task::Robustness(options) => robustness::run(&options),
        Task::Test(options) => test::run(options),
        Task::Upgrade(options) => upgrade::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
