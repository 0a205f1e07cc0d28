//! `lab quick`: the whole of the lab in about two minutes on one machine, with nothing to set up.
//!
//! It starts a LatsDB, and a MariaDB if one is installed, with data folders of their own beside the results (so that both
//! write to the disk that is there, not to memory), runs a small plan against them, and leaves nothing behind but the results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;

use crate::clock;
use crate::commands::{self, Ending};
use crate::interrupt::Interrupt;
use crate::plan;
use crate::preflight::Existing;
use crate::servers::{Server, find_program};
use crate::terminal;

pub fn run(matches: &ArgMatches) -> Result<()> {
    let interrupt = Interrupt::install()?;
    let ending = measured(matches, &interrupt)?;
    commands::leave(ending, &interrupt);
    Ok(())
}

/// Servers live no longer than this: they are stopped before the exit code is decided.
fn measured(matches: &ArgMatches, interrupt: &Interrupt) -> Result<Ending> {
    let results = matches.get_one::<PathBuf>("results").expect("it has a default");
    let seconds = *matches.get_one::<u64>("seconds").expect("it has a default");
    let program = latsdb_program(matches.get_one::<PathBuf>("latsdb").map(PathBuf::as_path))?;
    let name = format!("quick-{}", clock::stamp(clock::now()));
    let data = DataFolder::new(results.join(format!(".{name}-data")));

    let mut servers = Vec::new();
    terminal::tell("starting latsdb …");
    servers.push(Server::latsdb(&program, &data.0.join("latsdb"), interrupt)?);
    if matches.get_flag("without-mariadb") {
        terminal::tell("MariaDB is left out, as asked");
    } else if let Some(mariadbd) = find_program("mariadbd") {
        terminal::tell("starting mariadb …");
        servers.push(Server::mariadb(&mariadbd, &data.0.join("mariadb"), interrupt)?);
    } else {
        terminal::tell("MariaDB is not installed here (no mariadbd): LatsDB alone is measured");
    }
    let text = plan_text(&name, results, &data.0, &servers, seconds);
    let plan = plan::parse(&text).context("the quick plan")?;
    let processes: BTreeMap<String, String> = servers
        .iter()
        .map(|server| (server.name.to_owned(), server.pid.to_string()))
        .collect();
    commands::series(plan, &text, Existing::Keep, &processes, interrupt)
}

/// The program to start: the one named, or the running one if that is the whole `latsdb`.
fn latsdb_program(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = given {
        if !path.is_file() {
            bail!("{} is not a program", path.display());
        }
        return Ok(path.to_owned());
    }
    let this = std::env::current_exe().context("cannot tell which program this is")?;
    if this.file_stem().is_some_and(|name| name == "latsdb") {
        return Ok(this);
    }
    find_program("latsdb").context("there is no latsdb in PATH: say where it is with --latsdb PATH")
}

/// Removed, if empty, when the servers have removed theirs.
struct DataFolder(PathBuf);

impl DataFolder {
    fn new(path: PathBuf) -> DataFolder {
        DataFolder(path)
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        // If a server could not remove its data it has said so.
        std::fs::remove_dir(&self.0).ok();
    }
}

fn plan_text(name: &str, results: &Path, data: &Path, servers: &[Server], seconds: u64) -> String {
    let mut text = format!(
        "# What `lab quick` ran; the servers were started for it, at their default settings.\n\nname = \"{name}\"\nresults = {:?}\n",
        results.display().to_string()
    );
    for server in servers {
        text += &format!(
            "\n[[target]]\nname = \"{}\"\nhosts = [\"{}\"]\nnodes = [\"this-machine\"]\n",
            server.name, server.address
        );
    }
    text += &format!(
        "\n[[node]]\nname = \"this-machine\"\nroles = [\"load\", \"sql\", \"data\"]\ndisk = {:?}\n",
        data.display().to_string()
    );
    for (name, kind) in [("read_write", "oltp_read_write"), ("point_select", "oltp_point_select")] {
        text += &format!("\n[[workload]]\nname = \"{name}\"\nkind = \"{kind}\"\ntables = 2\ntable_size = 20000\n");
    }
    text += &format!(
        "\n[ladder]\nthreads_per_server = [1, 8, 32]\nwarmup = \"1s\"\nmeasure = \"{seconds}s\"\ncooldown = \"500ms\"\n\
         repeats = 1\norder = \"abba\"\n\n[probes]\nshort = true\n"
    );
    text
}
