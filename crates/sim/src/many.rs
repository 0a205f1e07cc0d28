//! Many seeds, each in a process of its own: so that each begins alike, and one that dies or hangs is one seed.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::ValueEnum;
use parking_lot::Mutex;

use crate::nemesis::Fault;
use crate::planted::{BUGS, Bug};

/// Seconds of the processor's time; a seed takes a few. One that takes longer hangs.
const LONGEST: u64 = 90;

/// One in so many good seeds is run twice: it has to end in the same way. Else something depends on more than the seed, and no finding can be
/// looked at again.
const TWICE: u64 = 8;

/// How the seeds are run.
#[derive(Clone, Copy)]
pub struct How {
    pub jobs: usize,
    pub seconds: u64,
    pub has_witness: bool,
    pub speaks_sql: bool,
    /// No seed is begun after this time.
    pub until: Option<Instant>,
}

impl How {
    fn is_late(self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// What became of a seed: what it printed, and whether all promises were kept.
pub struct Ran {
    pub is_good: bool,
    pub said: String,
}

/// Runs one seed to its end.
pub fn run(seed: u64, how: How, often: Option<Fault>, bug: Option<&Bug>) -> Result<Ran> {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -t \"$0\" && exec \"$@\"", &LONGEST.to_string()])
        .arg(std::env::current_exe()?)
        .args(["seed", &seed.to_string()])
        .args(["--seconds", &how.seconds.to_string()])
        .env("RUST_BACKTRACE", "0");
    if how.has_witness {
        command.arg("--witness");
    }
    if bug.map_or(how.speaks_sql, |bug| bug.by_sql) {
        command.arg("--sql");
    }
    if let Some(fault) = often.and_then(|fault| fault.to_possible_value()) {
        command.args(["--often", fault.get_name()]);
    }
    if let Some(bug) = bug {
        let rule = format!("{}=wrong%{}/{}", bug.step, bug.one_in, seed);
        command.env("ENV_FAILPOINTS", rule);
    }
    let output = command.output().context("a seed's process")?;
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.code().is_none_or(|code| code > 1) {
        said += &format!(
            "seed {seed}: ended by {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(Ran {
        is_good: output.status.success(),
        said,
    })
}

/// Runs a range of seeds, prints what is wrong, and returns how many seeds were run and how many were bad.
pub fn range(seeds: std::ops::RangeInclusive<u64>, how: How) -> Result<(u64, u64)> {
    each(seeds, how, |seed| {
        let end = run(seed, how, None, None)?;
        if !end.is_good {
            println!("{}", end.said.trim_end());
            return Ok(false);
        }
        if seed % TWICE == 1 {
            let again = run(seed, how, None, None)?;
            if again.said != end.said {
                println!("seed {seed} ends in two ways:\n{}{}", end.said, again.said.trim_end());
                return Ok(false);
            }
        }
        Ok(true)
    })
}

/// Looks for each planted bug, by the seed that has found it before and at most so many others. Returns how many were looked for, and how many of
/// them were not found.
pub fn planted(tries: u64, only: Option<&str>, how: How) -> Result<(u64, u64)> {
    let mut wanted = BUGS
        .iter()
        .filter(|bug| only.is_none_or(|only| only == bug.step))
        .peekable();
    anyhow::ensure!(wanted.peek().is_some(), "there is no such planted bug");
    each(wanted, how, |bug| look_for(bug, tries, how))
}

/// Does the work on each item, so many at a time, until it is late or a work has failed. Returns how many were done, and how many of them
/// were not good.
fn each<T>(
    items: impl Iterator<Item = T> + Send,
    how: How,
    work: impl Fn(T) -> Result<bool> + Sync,
) -> Result<(u64, u64)> {
    let items = Mutex::new(items);
    let (done, bad) = (AtomicU64::new(0), AtomicU64::new(0));
    let failure = Mutex::new(None);
    let jobs = || {
        while !how.is_late() && failure.lock().is_none() {
            let Some(item) = items.lock().next() else { return };
            match work(item) {
                Ok(is_good) => {
                    done.fetch_add(1, Ordering::Relaxed);
                    bad.fetch_add(u64::from(!is_good), Ordering::Relaxed);
                }
                Err(error) => *failure.lock() = Some(error),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..how.jobs {
            scope.spawn(jobs);
        }
    });
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok((done.into_inner(), bad.into_inner())),
    }
}

/// Runs seeds with the bug until one of them finds it: first the one that did before. That seed has to be good without it.
fn look_for(bug: &Bug, tries: u64, how: How) -> Result<bool> {
    let how = How {
        has_witness: how.has_witness || bug.has_witness,
        ..how
    };
    let mut tried = 0;
    let others = (1..=tries).filter(|&seed| seed != bug.seed);
    for seed in std::iter::once(bug.seed).chain(others) {
        if how.is_late() {
            break;
        }
        tried += 1;
        let end = run(seed, how, bug.often, Some(bug))?;
        // Who only dies, or hangs, has not been seen to break a promise.
        let Some(finding) = end.said.lines().find(|line| line.contains("is broken")) else {
            continue;
        };
        let finding: String = finding.chars().take(160).collect();
        let how = How {
            speaks_sql: bug.by_sql,
            ..how
        };
        let without = run(seed, how, bug.often, None)?;
        let by = if bug.by_sql { " by SQL" } else { "" };
        match without.is_good {
            true => println!("{}: found{by} ({}), {finding}", bug.step, bug.what),
            false => println!("{}: {finding}; BUT WITHOUT IT, TOO: {}", bug.step, without.said),
        }
        return Ok(without.is_good);
    }
    println!("{}: NOT FOUND by {tried} seeds ({})", bug.step, bug.what);
    Ok(false)
}
