//! The machines that need a nightly toolchain: fuzzing guided by coverage, and Miri. The scripts in `tools` say what they do.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

#[derive(Args)]
pub struct FuzzOptions {
    /// For each target
    #[arg(default_value_t = 3600)]
    seconds: u32,
    /// All, if none is named
    targets: Vec<String>,
}

#[derive(Args)]
pub struct MiriOptions {
    /// Tests whose names hold these words; a choice that takes about half an hour, if none is given
    tests: Vec<String>,
}

pub fn fuzz(options: &FuzzOptions) -> Result<()> {
    run(
        "tools/fuzz",
        &[&[options.seconds.to_string()], options.targets.as_slice()].concat(),
    )
}

pub fn miri(options: &MiriOptions) -> Result<()> {
    run("tools/miri", &options.tests)
}

fn run(script: &str, arguments: &[String]) -> Result<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(script);
    let status = Command::new(&script)
        .args(arguments)
        .status()
        .with_context(|| format!("cannot run {}", script.display()))?;
    match status.success() {
        true => Ok(()),
        false => bail!("{} has found something, or could not run", script.display()),
    }
}
