//! What stands behind each command that is not a story of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use lab_driver::target::Password;
use lab_host::{AgentOptions, Host, ProbePlan, Reach};
use lab_report::Unlike;
use lab_results::NodeProbes;

use crate::fleet::LoadService;
use crate::interrupt::Interrupt;
use crate::machines::Machines;
use crate::plan::{self, Plan};
use crate::preflight::Existing;
use crate::series::Bench;
use crate::{table, terminal};

/// How a series ended; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Complete,
    /// By Ctrl-C; what was measured is kept.
    Interrupted,
}

pub fn run_plan(matches: &ArgMatches) -> Result<()> {
    let path = matches.get_one::<PathBuf>("plan").expect("clap insists on a plan");
    let (plan, text) = plan::read(path, matches.get_one::<String>("name"))?;
    let existing = if matches.get_flag("reload") {
        Existing::Reload
    } else {
        Existing::Keep
    };
    if plan.availability.is_some() && plan.ladder.is_none() && plan.open_loop.is_none() && plan.soak.is_none() {
        bail!(
            "this plan holds nothing but [availability]: run it with `lab availability {}`",
            path.display()
        );
    }
    if plan.availability.is_some() {
        terminal::tell(&format!(
            "[availability] is left to `lab availability {}`",
            path.display()
        ));
    }
    let interrupt = Interrupt::install()?;
    let ending = series(plan, &text, existing, &BTreeMap::new(), &interrupt)?;
    leave(ending, &interrupt);
    Ok(())
}

/// Runs a plan to its end, writes the report, prints the table. `processes`: by target, what to watch instead of the plan's name.
pub fn series(
    plan: Plan,
    text: &str,
    existing: Existing,
    processes: &BTreeMap<String, String>,
    interrupt: &Interrupt,
) -> Result<Ending> {
    let mut bench = Bench::open(plan, text, existing, processes, interrupt.clone())?;
    let outcome = bench.run();
    let folder = bench.folder().to_owned();
    let ending = if bench.was_interrupted() || interrupt.asked() {
        Ending::Interrupted
    } else {
        Ending::Complete
    };
    let has_results = bench.has_results();
    let all_failed = bench.all_failed();
    drop(bench);
    if has_results {
        conclude(&folder);
    } else {
        discard(&folder);
    }
    match outcome {
        // What stopping broke is no error of its own.
        Err(_) if ending == Ending::Interrupted => Ok(ending),
        Err(error) => Err(error),
        Ok(()) if !has_results && ending == Ending::Complete => {
            bail!("not one rung was measured")
        }
        Ok(()) if all_failed && ending == Ending::Complete => {
            bail!("not one rung was measured to its end: each says above why it is void")
        }
        Ok(()) => Ok(ending),
    }
}

/// The table and the report of what was measured; what goes wrong here must not hide how the series ended.
pub fn conclude(folder: &Path) {
    match table::of(folder) {
        // Whoever closed the output wants no table; the files are there.
        Ok(table) => drop(terminal::print(&table)),
        Err(error) => terminal::tell(&format!("no table could be made: {error:#}")),
    }
    report_of(folder);
}

pub fn report_of(folder: &Path) {
    match lab_report::report(folder) {
        Ok(written) => drop(terminal::print(&format!("report: {}", written.html.display()))),
        Err(error) => terminal::tell(&format!(
            "the figures are in {}, but no report could be made: {error}: try `lab report {}` once that is mended",
            folder.display(),
            folder.display()
        )),
    }
}

/// Removes a folder without results: nothing is in it that was not said, and its name must be free for the next try.
pub fn discard(folder: &Path) {
    if let Err(error) = std::fs::remove_dir_all(folder) {
        terminal::tell(&format!(
            "cannot remove {}: {error}: remove it by hand",
            folder.display()
        ));
    }
}

/// Ends the process if its exit code must say more than success.
pub fn leave(ending: Ending, interrupt: &Interrupt) {
    if ending == Ending::Interrupted {
        std::process::exit(interrupt.exit_code());
    }
}

pub fn report(matches: &ArgMatches) -> Result<()> {
    let folder = matches.get_one::<PathBuf>("folder").expect("clap insists on a folder");
    let written = lab_report::report(folder)?;
    for path in [&written.html, &written.markdown, &written.summary] {
        terminal::print(&path.display().to_string())?;
    }
    Ok(())
}

pub fn compare(matches: &ArgMatches) -> Result<()> {
    let folders: Vec<&Path> = matches
        .get_many::<PathBuf>("folders")
        .expect("clap insists on folders")
        .map(PathBuf::as_path)
        .collect();
    let unlike = if matches.get_flag("force") {
        Unlike::Show
    } else {
        Unlike::Refuse
    };
    let comparison = lab_report::compare(&folders, unlike)?;
    let text = match matches.get_one::<String>("format").map(String::as_str) {
        Some("markdown") => comparison.markdown(),
        Some("html") => comparison.html(),
        _ => comparison.text(),
    };
    terminal::print(text.trim_end())
}

pub fn agent(matches: &ArgMatches) -> Result<()> {
    let options = AgentOptions {
        allow_commands: matches.get_flag("allow-commands"),
        cgroup: matches.get_one::<String>("cgroup").cloned(),
        services: vec![Arc::new(LoadService::default())],
        ..AgentOptions::default()
    };
    if matches.get_flag("stdio") {
        return Ok(lab_host::agent::serve_stdio(&options)?);
    }
    let Some(address) = matches.get_one::<String>("listen") else {
        bail!("say `--stdio` (over ssh) or `--listen HOST:PORT`");
    };
    if address
        .rsplit_once(':')
        .is_none_or(|(_, port)| port.parse::<u16>().is_err())
    {
        bail!("--listen {address}: write HOST:PORT, such as 0.0.0.0:7373");
    }
    let variable = matches.get_one::<String>("token-env").expect("it has a default");
    let token = std::env::var(variable).unwrap_or_default();
    if token.is_empty() {
        bail!(
            "export {variable} first, with a token that the coordinator has too: whoever knows it may ask this machine for probes"
        );
    }
    lab_host::agent::serve_tcp(address, &token, &options, |bound| {
        terminal::tell(&format!("listening on {bound}"));
    })?;
    Ok(())
}

pub fn probe(matches: &ArgMatches) -> Result<()> {
    let probes = match matches.get_one::<PathBuf>("plan") {
        Some(path) => {
            let (mut plan, _) = plan::read(path, None)?;
            plan.probes.short |= matches.get_flag("short");
            plan.probes.cross_checks |= matches.get_flag("cross-checks");
            let (mut machines, problems) = Machines::connect(&plan);
            for problem in problems.iter().chain(&machines.check_clocks()) {
                terminal::tell(&format!("warning: {problem}"));
            }
            machines.probe(&plan.probes, |what| terminal::tell(&format!("probing {what} …")))
        }
        None => {
            let directory = match matches.get_one::<PathBuf>("disk") {
                Some(directory) => directory.clone(),
                None => std::env::current_dir().context("no current folder: give --disk")?,
            };
            let host = Host::connect("this machine", &Reach::Local)?;
            let plan = ProbePlan {
                directory: Some(directory),
                cross_checks: matches.get_flag("cross-checks"),
                stalls_s: if matches.get_flag("short") { 1.0 } else { 5.0 },
                ..ProbePlan::default()
            };
            vec![host.probe(&plan)?]
        }
    };
    if matches.get_flag("json") {
        return terminal::print(&serde_json::to_string_pretty(&probes)?);
    }
    let nodes: Vec<String> = probes.iter().map(probed).collect();
    terminal::print(&nodes.join("\n"))
}

/// A node's probes for a terminal.
fn probed(node: &NodeProbes) -> String {
    let us = |latency: &lab_results::Latency, quantile| match latency.quantile_us(quantile) {
        Some(us) => format!("{us} µs"),
        None => "-".to_owned(),
    };
    let mut lines = vec![format!(
        "{}: {} × {}, {} GiB, {} ({})",
        node.node,
        node.identity.cores,
        node.identity.cpu_model,
        node.identity.memory_bytes >> 30,
        node.identity.kernel,
        node.identity.distribution
    )];
    if let Some(cpu) = &node.cpu {
        lines.push(format!(
            "CPU        {:.0} events/s on one core, {:.0} on all (primes to 10,000, as sysbench cpu)",
            cpu.events_per_s, cpu.events_per_s_all_cores
        ));
    }
    if let Some(memory) = &node.memory {
        lines.push(format!(
            "memory     {:.0} MiB/s written in 1 KiB blocks, {:.0} MiB/s read, {:.0} ns at random",
            memory.write_1k_mib_per_s, memory.sequential_read_mib_per_s, memory.random_read_ns
        ));
    }
    if let Some(disk) = &node.disk {
        lines.push(format!(
            "disk       4 KiB and fdatasync {} (p99 {}), direct and synchronous {}, on {} ({})",
            us(&disk.write_fdatasync, 0.5),
            us(&disk.write_fdatasync, 0.99),
            us(&disk.sync_write, 0.5),
            disk.path,
            disk.filesystem
        ));
    }
    for (to, network) in &node.network {
        let trips: Vec<String> = network
            .round_trips
            .iter()
            .map(|(size, latency)| format!("{} for {size} bytes", us(latency, 0.5)))
            .collect();
        lines.push(format!(
            "network    to {to}: {}; {:.2} Gb/s",
            trips.join(", "),
            network.bytes_per_s * 8.0 / 1e9
        ));
    }
    if let Some(wakeup) = &node.wakeup {
        lines.push(format!(
            "wake-up    {} on the same core, {} on another; a sleep of 50 µs takes {} longer",
            us(&wakeup.same_core, 0.5),
            us(&wakeup.other_core, 0.5),
            us(&wakeup.sleep_overshoot, 0.5)
        ));
    }
    if let Some(stalls) = &node.stalls {
        lines.push(format!(
            "stalls     {} over 1 ms in {:.0} s, the longest {} µs",
            stalls.stalls.count(),
            stalls.watched_s,
            stalls.longest_us
        ));
    }
    lines.extend(
        node.cross_checks
            .iter()
            .map(|check| format!("against    {}", lab_host::probe::agreement::sentence(check))),
    );
    lines.extend(node.problems.iter().map(|problem| format!("problem    {problem}")));
    lines.join("\n  ")
}

pub fn verify(matches: &ArgMatches) -> Result<()> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let server = text("server").expect("clap insists on a server");
    let password = match text("password-env") {
        Some(variable) => std::env::var(&variable).with_context(|| format!("the variable {variable} is not set"))?,
        None => String::new(),
    };
    let target = lab_driver::Target {
        servers: vec![server.clone()],
        user: text("user").unwrap_or_default(),
        password: Password::new(password),
        database: text("database").unwrap_or_default(),
        tls: lab_driver::Tls::default(),
    };
    let asked = text("kind");
    let mut disagreements = 0;
    for kind in lab_driver::Workload::kinds() {
        let is_sysbench = kind.starts_with("oltp_") || kind.starts_with("select_");
        if !is_sysbench || asked.as_ref().is_some_and(|asked| asked != kind) {
            continue;
        }
        terminal::print(kind)?;
        let options = BTreeMap::from([("table_size".to_owned(), "1000".to_owned())]);
        let workload = lab_driver::Workload::new(kind, &options)?;
        for finding in lab_driver::verify::verify(&target, &server, &workload, 500)? {
            let mark = if finding.agrees { "agrees " } else { "DIFFERS" };
            terminal::print(&format!("  {mark} {}", finding.what))?;
            if !finding.agrees {
                disagreements += 1;
                terminal::print(&format!(
                    "          ours:   {}\n          theirs: {}",
                    finding.ours, finding.theirs
                ))?;
            }
        }
    }
    if disagreements > 0 {
        bail!("{disagreements} findings differ from sysbench");
    }
    Ok(())
}
