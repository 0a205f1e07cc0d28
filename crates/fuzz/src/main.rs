//! Runs the targets over mutations of their corpus, from a seed, without libFuzzer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use env::SeededRandom;

use fuzz::mutation::mutated;
use fuzz::targets::{TARGETS, Target, find};

#[derive(Parser)]
#[command(about = "Give mutated bytes to everything that decodes bytes")]
struct Arguments {
    /// For all targets together
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Of one target, at most
    #[arg(long, default_value_t = u64::MAX)]
    inputs: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Give this file to the target, once
    #[arg(long)]
    file: Option<PathBuf>,
    /// Write the corpora of the targets into folders here, for libFuzzer
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Targets (all, if none is named)
    targets: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool> {
    let targets: Vec<&Target> = match arguments.targets.is_empty() {
        true => TARGETS.iter().collect(),
        false => {
            let named = arguments
                .targets
                .iter()
                .map(|name| find(name).with_context(|| format!("there is no target {name}")));
            named.collect::<Result<_>>()?
        }
    };
    if let Some(file) = &arguments.file {
        let bytes = std::fs::read(file)?;
        targets.iter().for_each(|target| (target.body)(&bytes));
        return Ok(true);
    }
    if let Some(folder) = &arguments.corpus {
        for target in targets {
            let folder = folder.join(target.name);
            std::fs::create_dir_all(&folder)?;
            for (number, bytes) in (target.corpus)().iter().enumerate() {
                std::fs::write(folder.join(format!("made-{number}")), bytes)?;
            }
        }
        return Ok(true);
    }
    let share = Duration::from_secs(arguments.seconds) / targets.len() as u32;
    let failed = targets
        .iter()
        .filter(|target| !attack(target, arguments, share))
        .count();
    println!("{} passed, {failed} failed", targets.len() - failed);
    Ok(failed == 0)
}

/// Whether the target took everything.
fn attack(target: &Target, arguments: &Arguments, share: Duration) -> bool {
    let seed = arguments.seed;
    let corpus = (target.corpus)();
    for bytes in &corpus {
        (target.body)(bytes);
    }
    let random = SeededRandom::new(seed);
    let (started, mut inputs) = (Instant::now(), 0u64);
    while inputs < arguments.inputs && started.elapsed() < share {
        let bytes = mutated(&random, &corpus);
        inputs += 1;
        if catch_unwind(AssertUnwindSafe(|| (target.body)(&bytes))).is_err() {
            println!("FAILED {} (seed {seed}, input {inputs}): {bytes:?}", target.name);
            return false;
        }
    }
    println!("ok {}: {inputs} inputs from seed {seed}", target.name);
    true
}
