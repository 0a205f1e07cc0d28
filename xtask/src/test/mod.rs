//! `cargo xtask test`: every suite of the repository, each against a server of its own, and one table at the end.
//!
//! A suite is a program that ends with a line `N passed, N failed[, N skipped]`, or `cargo test`. Its whole output goes to
//! `target/test-logs/`; what is not a passed test is shown. A suite whose toolchain is missing is skipped by name, which
//! in CI (`CI=true`) is a failure.

mod again;
mod count;
mod run;
mod server;
mod suites;
mod tools;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use count::Count;
pub use run::{build_server, done, free_ports};
pub use server::{Server, with_address};
pub use suites::applications;
use suites::{ON_REQUEST, SUITES, Suite, minutes};
pub use tools::{find, python};

#[derive(Default, clap::Args)]
pub struct Options {
    /// Suites to run (all but those on request, if none is named)
    suites: Vec<String>,
    /// The long forms: the whole sysbench matrix, more crashes
    #[arg(long)]
    long: bool,
    /// Test this server instead of starting LatsDB: HOST:PORT:USER:PASSWORD
    #[arg(long)]
    server: Option<String>,
    /// Use the optimised build; the other one checks its invariants and its arithmetic
    #[arg(long)]
    release: bool,
    /// Show passed tests, too
    #[arg(long)]
    verbose: bool,
    /// Name the suites and leave
    #[arg(long)]
    list: bool,
}

/// What every suite may use.
pub struct Context {
    pub root: PathBuf,
    pub options: Options,
    /// Of this run, in `target/`.
    pub logs: PathBuf,
}

impl Context {
    /// For measuring.
    pub fn optimised() -> Result<Self> {
        Self::new(Options {
            release: true,
            ..Options::default()
        })
    }

    pub fn new(options: Options) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("xtask lives in the workspace")
            .to_owned();
        let logs = root.join("target/test-logs");
        std::fs::create_dir_all(&logs)?;
        Ok(Self { root, options, logs })
    }

    pub fn target(&self, name: &str) -> PathBuf {
        self.root.join("target").join(name)
    }

    pub fn server_binary(&self) -> PathBuf {
        self.target(if self.options.release { "release" } else { "debug" })
            .join("latsdb")
    }
}

/// What came of a suite.
struct Outcome {
    suite: &'static str,
    count: Count,
    took: Duration,
    /// Why it was skipped or could not be counted.
    note: Option<String>,
    /// What it said of what failed.
    failures: Vec<String>,
}

pub fn run(options: Options) -> Result<()> {
    if options.list {
        for suite in SUITES {
            let when = if ON_REQUEST.contains(&suite.name) {
                " (on request)"
            } else {
                ""
            };
            println!("{:<20}{}{when}", suite.name, suite.about);
        }
        return Ok(());
    }
    if let Some(unknown) = options
        .suites
        .iter()
        .find(|name| !SUITES.iter().any(|suite| suite.matches(name)))
    {
        bail!("there is no suite {unknown}; --list names them");
    }
    let context = Context::new(options)?;
    let wanted: Vec<&Suite> = SUITES
        .iter()
        .filter(|suite| match context.options.suites.as_slice() {
            [] => !ON_REQUEST.contains(&suite.name),
            named => named.iter().any(|name| suite.matches(name)),
        })
        .collect();
    if context.options.server.is_none() && wanted.iter().any(|suite| suite.needs_server_binary()) {
        build_server(&context)?;
    }
    let outcomes: Vec<Outcome> = wanted.iter().map(|suite| run_suite(suite, &context)).collect();
    conclude(&outcomes)
}

fn run_suite(suite: &'static Suite, context: &Context) -> Outcome {
    println!("== {}: {}", suite.name, suite.about);
    let started = Instant::now();
    let (count, note) = match tools::missing(suite.needs) {
        Some(missing) => (
            Count {
                skipped: 1,
                ..Count::default()
            },
            Some(missing),
        ),
        None => match counted(suite, context) {
            Ok(count) => (count, None),
            Err(error) => (
                Count {
                    failed: 1,
                    ..Count::default()
                },
                Some(format!("{error:#}")),
            ),
        },
    };
    if let Some(note) = &note {
        println!("   {note}");
    }
    let failures = match count.failed {
        0 => Vec::new(),
        _ => run::failures(suite.name, context),
    };
    if count.failed == 0 {
        // Of what fails, the data tell something; of all suites together, they would fill a small disk. None may be there.
        let _ = std::fs::remove_dir_all(context.target("test-data"));
    }
    Outcome {
        suite: suite.name,
        count,
        took: started.elapsed(),
        note,
        failures,
    }
}

fn counted(suite: &Suite, context: &Context) -> Result<Count> {
    let prepared = (suite.command)(context).with_context(|| format!("cannot prepare {}", suite.name))?;
    let limit = if context.options.long {
        suite.time_limit * 20
    } else {
        suite.time_limit
    };
    if !suite.with_server {
        let count = run::watched(prepared, suite.name, limit, context)?;
        return match suite.name {
            "crates" => once_more(count, context),
            _ => Ok(count),
        };
    }
    if let Some(address) = &context.options.server {
        return run::watched(
            server::with_address(prepared, &address.parse()?),
            suite.name,
            limit,
            context,
        );
    }
    let server = Server::start(context, suite.name, suite.server_flags)?;
    let count = run::watched(
        server::with_address(prepared, server.address()),
        suite.name,
        limit,
        context,
    );
    let stopped = server.stop();
    let mut count = count?;
    // That a server stops when it is asked to is a promise of its own.
    match stopped {
        Ok(()) => count.passed += 1,
        Err(error) => {
            run::say(&format!("FAILED graceful stop: {error:#}"), suite.name, context)?;
            count.failed += 1;
        }
    }
    Ok(count)
}

/// Runs the failed tests of crates alone, if they are few.
fn once_more(mut count: Count, context: &Context) -> Result<Count> {
    if count.failed == 0 {
        return Ok(count);
    }
    let output = std::fs::read_to_string(context.logs.join("crates.log"))?;
    let names = again::failed_tests(&output);
    println!("   failed: {}", names.join(", "));
    let Some(command) = again::command(&names, &context.root).filter(|_| count.failed as usize == names.len()) else {
        return Ok(count);
    };
    let alone = run::watched(command, "crates-alone", minutes(5), context)?;
    if alone.passed >= count.failed && alone.failed == 0 {
        println!("   passed alone, not beside others: {}", names.join(", "));
        count.passed += count.failed;
        count.failed = 0;
    }
    Ok(count)
}

/// Prints the table, what failed and the closing line; an error unless everything passed.
fn conclude(outcomes: &[Outcome]) -> Result<()> {
    println!(
        "\n{:<20}{:>8}{:>8}{:>9}{:>10}",
        "suite", "passed", "failed", "skipped", "seconds"
    );
    let mut total = Count::default();
    for outcome in outcomes {
        let Count {
            passed,
            failed,
            skipped,
        } = outcome.count;
        println!(
            "{:<20}{passed:>8}{failed:>8}{skipped:>9}{:>10.1}",
            outcome.suite,
            outcome.took.as_secs_f64()
        );
        total += outcome.count;
    }
    for outcome in outcomes {
        if let Some(note) = &outcome.note {
            println!("{}: {note}", outcome.suite);
        }
    }
    // Once more, and below the table: of a long output often the last lines alone are seen.
    for outcome in outcomes {
        for line in &outcome.failures {
            println!("{}: {line}", outcome.suite);
        }
    }
    println!(
        "\n{} passed, {} failed, {} skipped",
        total.passed, total.failed, total.skipped
    );
    if let Some(file) = std::env::var_os("TEST_SUMMARY") {
        std::fs::write(&file, format!("{} {} {}\n", total.passed, total.failed, total.skipped))
            .context("cannot write TEST_SUMMARY")?;
    }
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    match (total.failed, total.skipped) {
        (0, 0) => Ok(()),
        (0, _) if !in_ci => Ok(()),
        (0, skipped) => bail!("{skipped} skipped, which is not allowed in CI"),
        (failed, _) => bail!("{failed} failed"),
    }
}
