//! Many seeds, each in a process of its own: so that each begins alike, and one that dies or hangs is one seed.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use parking_lot::Mutex;

use crate::planted::{BUGS, Bug};

/// Seconds of the processor's time; a seed takes a few. One that takes longer hangs.
const LONGEST: u64 = 90;

/// How the seeds are run.
#[derive(Clone, Copy)]
pub struct How {
    pub jobs: usize,
    pub seconds: u64,
    /// No seed is begun after this time.
    pub until: Option<Instant>,
}

/// What became of a seed: what it printed, and whether all promises were kept.
pub struct Ran {
    pub is_good: bool,
    pub said: String,
}

/// Runs one seed to its end.
pub fn run(seed: u64, seconds: u64, bug: Option<&Bug>) -> Result<Ran> {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -t \"$0\" && exec \"$@\"", &LONGEST.to_string()])
        .arg(std::env::current_exe()?)
        .args(["seed", &seed.to_string()])
        .args(["--seconds", &seconds.to_string()])
        .env("RUST_BACKTRACE", "0");
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
    let (next, ran, bad) = (AtomicU64::new(*seeds.start()), AtomicU64::new(0), AtomicU64::new(0));
    let failure = Mutex::new(None);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let is_late = how.until.is_some_and(|until| Instant::now() >= until);
            if seed > *seeds.end() || is_late || failure.lock().is_some() {
                return;
            }
            match run(seed, how.seconds, None) {
                Ok(end) => {
                    ran.fetch_add(1, Ordering::Relaxed);
                    if !end.is_good {
                        bad.fetch_add(1, Ordering::Relaxed);
                        println!("{}", end.said.trim_end());
                    }
                }
                Err(error) => *failure.lock() = Some(error),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..how.jobs {
            scope.spawn(work);
        }
    });
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok((ran.into_inner(), bad.into_inner())),
    }
}

/// Looks for each planted bug, by at most so many seeds. Returns how many there are, and how many of them were not found.
pub fn planted(tries: u64, only: Option<&str>, how: How) -> Result<(usize, u64)> {
    let wanted: Vec<&Bug> = BUGS
        .iter()
        .filter(|bug| only.is_none_or(|only| only == bug.step))
        .collect();
    anyhow::ensure!(!wanted.is_empty(), "there is no such planted bug");
    let (next, missed) = (AtomicU64::new(0), AtomicU64::new(0));
    let failure = Mutex::new(None);
    let work = || {
        while let Some(bug) = wanted.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
            match look_for(bug, tries, how) {
                Ok(true) => {}
                Ok(false) => drop(missed.fetch_add(1, Ordering::Relaxed)),
                Err(error) => *failure.lock() = Some(error),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..how.jobs {
            scope.spawn(work);
        }
    });
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok((wanted.len(), missed.into_inner())),
    }
}

fn look_for(bug: &Bug, tries: u64, how: How) -> Result<bool> {
    for seed in 1..=tries {
        let end = run(seed, how.seconds, Some(bug))?;
        // Who only dies, or hangs, has not been seen to break a promise.
        if let Some(finding) = end.said.lines().find(|line| line.contains("is broken")) {
            let finding: String = finding.chars().take(160).collect();
            println!("{}: found ({}), {finding}", bug.step, bug.what);
            return Ok(true);
        }
    }
    println!("{}: NOT FOUND by {tries} seeds ({})", bug.step, bug.what);
    Ok(false)
}
