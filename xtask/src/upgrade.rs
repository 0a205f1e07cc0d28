//! `cargo xtask upgrade`: a cluster of an earlier revision becomes one of this one, node by node and under load (`tests/upgrade/suite.py`).
//!
//! The earlier revision is checked out and built below `target/upgrade`, unoptimised as the new one: times are no figures of speed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::test::{Context, Options as TestOptions, build_server, done, free_ports, python};

#[derive(clap::Args)]
pub struct Options {
    /// The earlier revision: a commit, a tag or a branch
    #[arg(long)]
    from: String,
}

/// For four nodes.
const PORTS: u16 = 12;

pub fn run(options: &Options) -> Result<()> {
    let context = Context::new(TestOptions::default())?;
    let old = earlier(&context, &options.from)?;
    build_server(&context)?;
    let directory = context.target("upgrade/nodes");
    if directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    let status = python(&context)?
        .arg(context.root.join("tests/upgrade/suite.py"))
        .args([&old, &context.server_binary(), &directory])
        .arg(free_ports(PORTS)?.to_string())
        .status()?;
    ensure!(status.success(), "the upgrade does not hold what it promises");
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

/// The program of a revision, built where it has not been before.
fn earlier(context: &Context, revision: &str) -> Result<PathBuf> {
    let output = Command::new("git")
        .args(["rev-parse", "--verify", &format!("{revision}^{{commit}}")])
        .current_dir(&context.root)
        .output()?;
    ensure!(output.status.success(), "{revision} is no revision of this repository");
    let commit = String::from_utf8(output.stdout)?.trim().to_owned();
    let directory = context.target("upgrade").join(&commit);
    let program = directory.join("latsdb");
    if program.exists() {
        return Ok(program);
    }
    println!("   building the program of {revision}");
    let source = directory.join("source");
    check_out(&context.root, &commit, &source)?;
    let target = context.target("upgrade/target");
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", "--quiet", "--package", "latsdb", "--target-dir"])
        .arg(&target)
        .current_dir(&source);
    done(build)?;
    std::fs::copy(target.join("debug/latsdb"), &program)?;
    Ok(program)
}

fn check_out(root: &Path, commit: &str, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    let mut archive = Command::new("git")
        .args(["archive", commit])
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()?;
    let packed = archive.stdout.take().context("the archive's output was asked for")?;
    let unpacked = Command::new("tar").args(["-x", "-C"]).arg(to).stdin(packed).status()?;
    ensure!(
        archive.wait()?.success() && unpacked.success(),
        "cannot check out {commit}"
    );
    Ok(())
}
