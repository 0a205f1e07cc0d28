//! Holds a server to the scripts of `tests/sql`, asks a server for the answers, and shows where the servers differ.

mod answer;
mod differences;
mod run;
mod script;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};

use mysql_client::Protocol;
use run::{Outcome, Target, Task};
use script::Script;

#[derive(Parser)]
#[command(about = "Hold a MySQL-compatible server to SQL scripts")]
struct Arguments {
    /// The server
    #[arg(long, default_value = "127.0.0.1:3306")]
    addr: String,
    #[arg(long, default_value = "root")]
    user: String,
    #[arg(long, default_value = "")]
    password: String,
    /// By which protocol statements go
    #[arg(long, value_enum, default_value = "both")]
    protocol: Protocols,
    /// Write the server's answers into the scripts and tables
    #[arg(long)]
    record: bool,
    /// Ask no server: show what is recorded of the differences between LatsDB, MySQL and MariaDB
    #[arg(long)]
    differences: bool,
    /// Show at most this many failures of a script
    #[arg(long, default_value_t = 20)]
    failures: usize,
    /// Scripts (*.test) and tables of expressions (*.txt), or folders of them
    #[arg(default_value = "tests/sql")]
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Protocols {
    Text,
    Prepared,
    Both,
}

fn main() -> ExitCode {
    match run_all(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether everything passed.
fn run_all(arguments: &Arguments) -> Result<bool> {
    if arguments.differences {
        return differences::show(&scripts(&arguments.paths)?);
    }
    let protocols: &[Protocol] = match arguments.protocol {
        Protocols::Text => &[Protocol::Text],
        Protocols::Prepared => &[Protocol::Prepared],
        // What is recorded is the text protocol's answer.
        Protocols::Both if arguments.record => &[Protocol::Text],
        Protocols::Both => &[Protocol::Text, Protocol::Prepared],
    };
    let (mut passed, mut failed, mut skipped, mut differing) = (0, 0, 0, 0);
    for path in scripts(&arguments.paths)? {
        for &protocol in protocols {
            let target = Target {
                address: arguments.addr.clone(),
                user: arguments.user.clone(),
                password: arguments.password.clone(),
                protocol,
                task: if arguments.record { Task::Record } else { Task::Check },
            };
            let protocol = format!("{protocol:?}").to_lowercase();
            match run_file(&path, &target) {
                Ok(outcome) => {
                    report(&path, &protocol, &outcome, arguments.failures);
                    passed += outcome.passed;
                    skipped += outcome.skipped;
                    differing += outcome.differing;
                    failed += outcome.failures.len();
                }
                Err(error) => {
                    println!("FAILED {} ({protocol}): {error:#}", path.display());
                    failed += 1;
                }
            }
        }
    }
    println!("as the scripts say for this server: {differing} answers differ, {skipped} are not asked for");
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}

fn run_file(path: &Path, target: &Target) -> Result<Outcome> {
    if path.extension().is_some_and(|extension| extension == "txt") {
        return table::record(path, target);
    }
    let text = std::fs::read_to_string(path)?;
    let mut script = Script::parse(&text)?;
    let name = path.file_stem().context("a script has a name")?.to_string_lossy();
    let outcome = run::run(&mut script, &name, target)?;
    if target.task == Task::Record && script.print() != text {
        std::fs::write(path, script.print())?;
    }
    Ok(outcome)
}

/// The scripts that `paths` name, in order.
fn scripts(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut scripts = Vec::new();
    for path in paths {
        if path.is_dir() {
            for entry in std::fs::read_dir(path)? {
                let entry = entry?.path();
                if entry
                    .extension()
                    .is_some_and(|extension| extension == "test" || extension == "txt")
                {
                    scripts.push(entry);
                }
            }
        } else if path.is_file() {
            scripts.push(path.clone());
        } else {
            bail!("{} does not exist", path.display());
        }
    }
    scripts.sort();
    Ok(scripts)
}

fn report(path: &Path, protocol: &str, outcome: &Outcome, at_most: usize) {
    let (passed, failed) = (outcome.passed, outcome.failures.len());
    println!("{} ({protocol}): {passed} passed, {failed} failed", path.display());
    for failure in outcome.failures.iter().take(at_most) {
        println!("  {}:{}", path.display(), failure.line);
        for (what, text) in [
            ("", &failure.sql),
            ("expected ", &failure.expected),
            ("got      ", &failure.got),
        ] {
            for line in text.lines() {
                println!("    {what}{line}");
            }
        }
    }
    if failed > at_most {
        println!("  … and {} more", failed - at_most);
    }
}
