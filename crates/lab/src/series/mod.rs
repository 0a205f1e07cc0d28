//! The coordinator: from a checked plan to a folder of results.
//!
//! ```text
//!   Bench::open     machines reached, folder made, plan kept beside the results
//!   preflight       servers, limits, tables       ── refuses before anything is measured
//!   probes          every node, once
//!   phases          ladder ─▶ open loop ─▶ search for the service level's rate ─▶ soak
//!     measure         one rung: load, samples, costs, verdict, written at once
//!   close           run.json says how it ended
//! ```
//!
//! Whatever happens to a target on the way is an event and a reason in `not_run`; the series goes on with the others.

pub use measure::tps;
pub use phases::median;

mod measure;
mod phases;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use lab_driver::Check;
use lab_host::Host;
use lab_results::run::{Event, LoadPlan, NotRun, Run, Slo};
use lab_results::{Folder, run};

use crate::clock;
use crate::fleet::{Database, Fleet};
use crate::interrupt::Interrupt;
use crate::machines::Machines;
use crate::plan::{Driver, Node, Order, Plan};
use crate::preflight::{self, Demand, Existing};
use crate::progress::Progress;
use crate::subject::{self, Sent, Subject};

/// A series at work.
pub struct Bench {
    plan: Plan,
    subjects: Vec<Subject>,
    workloads: Vec<Sent>,
    machines: Machines,
    /// Who drives the load; `None`: this process by itself.
    fleet: Option<Fleet>,
    /// Process ids of the load nodes' agents that the watch tells apart.
    watched: BTreeMap<String, u32>,
    folder: Folder,
    run: Run,
    pub progress: Progress,
    interrupt: Interrupt,
    existing: Existing,
    /// Of the last rung that was begun; rungs count from 1.
    index: u32,
    /// Mean latencies with the fewest threads, by target and workload: what more threads are held against.
    alone: BTreeMap<(usize, usize), measure::Alone>,
    /// Targets that did not answer, with the number of times in a row.
    silent: BTreeMap<usize, u32>,
    /// Rungs measured so far, for medians.
    measured: Vec<Measured>,
    said_not_run: BTreeSet<String>,
}

/// What later decisions need of a rung.
#[derive(Debug, Clone)]
struct Measured {
    target: usize,
    workload: usize,
    load: run::Load,
    tps: f64,
    void: bool,
    /// An error ended it.
    failed: bool,
}

impl Bench {
    /// Reaches the machines and makes the folder.
    pub fn open(
        plan: Plan,
        plan_text: &str,
        existing: Existing,
        processes: &BTreeMap<String, String>,
        interrupt: Interrupt,
    ) -> Result<Bench> {
        let subjects = plan.targets.iter().map(Subject::new).collect::<Result<Vec<_>>>()?;
        let workloads = subject::workloads(&plan)?;
        let path = plan.results.join(&plan.name);
        let folder = Folder::create(&path)?;
        folder.write_text("plan.toml", plan_text)?;
        let mut progress = Progress::new();
        let (machines, problems) = Machines::connect(&plan);
        for problem in problems.iter().chain(&machines.check_clocks()) {
            progress.say(&format!("warning: {problem}"));
        }
        let run = described(&plan, &subjects, &workloads, &mut progress)?;
        let fleet = (!plan.drives_here()).then(|| Fleet::new(plan.load_nodes().map(|node| node.name.clone())));
        let mut bench = Bench {
            plan,
            subjects,
            workloads,
            machines,
            fleet,
            watched: BTreeMap::new(),
            folder,
            run,
            progress,
            interrupt,
            existing,
            index: 0,
            alone: BTreeMap::new(),
            silent: BTreeMap::new(),
            measured: Vec::new(),
            said_not_run: BTreeSet::new(),
        };
        for subject in &mut bench.subjects {
            if let Some(process) = processes.get(&subject.name) {
                subject.process = Some(process.clone());
            }
        }
        bench.run.not_run.extend(problems.into_iter().map(|why| NotRun {
            what: "watching a node".to_owned(),
            why,
        }));
        Ok(bench)
    }

    /// Everything that the plan asks for. `Ok` also when it was interrupted: what was measured is in the folder.
    pub fn run(&mut self) -> Result<()> {
        let outcome = self.whole();
        self.close()?;
        outcome
    }

    fn whole(&mut self) -> Result<()> {
        self.folder.write_run(&self.run)?;
        self.preflight()?;
        if self.plan.probes.before && !self.interrupt.asked() {
            let progress = &mut self.progress;
            let probes = self.machines.probe_unless(&self.interrupt, &self.plan.probes, |what| {
                progress.doing(&format!("probing {what}"));
            });
            if self.interrupt.asked() {
                return Ok(());
            }
            self.folder.write_probes(&probes)?;
            for problem in probes.iter().flat_map(|probes| &probes.problems) {
                self.progress.say(&format!("warning: {problem}"));
            }
        }
        if !self.interrupt.asked() {
            self.watch();
        }
        self.phases()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Whether there is a single rung.
    pub fn has_results(&self) -> bool {
        !self.measured.is_empty()
    }

    /// Whether an error ended every rung that there is.
    pub fn all_failed(&self) -> bool {
        self.measured.iter().all(|rung| rung.failed)
    }

    pub fn was_interrupted(&self) -> bool {
        self.run.interrupted
    }

    fn close(&mut self) -> Result<()> {
        self.run.ended = Some(clock::now());
        self.run.interrupted = self.interrupt.asked();
        if self.run.interrupted {
            self.event("the user stopped the series");
        }
        self.folder.write_run(&self.run)?;
        Ok(())
    }

    fn event(&mut self, what: &str) {
        self.run.events.push(Event {
            at: clock::now(),
            what: what.to_owned(),
        });
    }

    /// Each reason once, however many repeats it cost.
    fn not_run(&mut self, what: String, why: &str) {
        self.progress.not_run(&what, why);
        if self.said_not_run.insert(what.clone()) {
            self.run.not_run.push(NotRun {
                what,
                why: why.to_owned(),
            });
        }
    }

    fn watch(&mut self) {
        if !self.plan.probes.watch {
            return;
        }
        self.watched = self.fleet.as_ref().map(Fleet::pids).unwrap_or_default();
        let processes = self.processes_by_node();
        for problem in self.machines.watch(&processes) {
            self.progress.say(&format!("warning: {problem}"));
        }
    }

    /// An agent that was started again is another process.
    fn watch_new_agents(&mut self) {
        if self.fleet.as_ref().is_some_and(|fleet| fleet.pids() != self.watched) {
            self.watch();
        }
    }

    fn processes_by_node(&self) -> BTreeMap<String, Vec<String>> {
        let mut processes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for subject in &self.subjects {
            for node in &subject.nodes {
                processes
                    .entry(node.clone())
                    .or_default()
                    .extend(subject.process.clone());
            }
        }
        for machine in &self.machines.nodes {
            let name = &machine.node.name;
            let of_node = [Driver::Latsdb, Driver::Sysbench].map(|driver| self.load_process(&machine.node, driver));
            let of_node: Vec<String> = of_node.into_iter().flatten().collect();
            if !of_node.is_empty() {
                processes.entry(name.clone()).or_default().extend(of_node);
            }
        }
        processes
    }

    fn preflight(&mut self) -> Result<()> {
        self.progress.doing("looking at the targets");
        let mut problems = self.look_from_load_nodes()?;
        let threads = self.threads_per_server_most();
        let idle = self.workloads.iter().map(Sent::idle_per_server).max().unwrap_or(0);
        let connections_per_server = u64::from(threads) + u64::from(idle);
        let prepared = self.workloads.iter().map(|sent| sent.prepared_per_server(threads));
        let prepared_per_server = prepared.max().unwrap_or(0);
        for (index, subject) in self.subjects.iter().enumerate() {
            let demand = Demand {
                connections_per_server,
                prepared_per_server,
            };
            let facts = preflight::servers(subject, demand, &mut problems);
            self.run.targets[index].versions = facts.versions;
            self.run.targets[index].variables = facts.variables;
            self.run.targets[index].tls = Some(subject.tls_used(facts.encryption));
            self.run.targets[index].cluster = subject.cluster(self.run.targets[index].price.as_ref(), &mut problems);
        }
        if self.fleet.is_none() {
            preflight::files(self.connections_most())?;
        }
        for warning in preflight::disk(self.folder.path())? {
            self.progress.say(&format!("warning: {warning}"));
        }
        if !problems.is_empty() {
            bail!("nothing was measured:\n  {}", problems.join("\n  "));
        }
        self.tables()?;
        self.folder.write_run(&self.run)?;
        Ok(())
    }

    /// Fills and checks the tables of every workload on every target, and holds the targets against each other.
    fn tables(&mut self) -> Result<()> {
        let mut done = BTreeSet::new();
        for place in 0..self.workloads.len() {
            let mut checks: Vec<(String, Vec<Check>)> = Vec::new();
            for subject in &self.subjects {
                let sent = &self.workloads[place];
                let again = !done.insert((subject.name.clone(), sent.suffix.clone()));
                let existing = if again { Existing::Keep } else { self.existing };
                let check = preflight::data(
                    subject,
                    sent,
                    existing,
                    self.plan.seed,
                    &mut self.progress,
                    &self.interrupt,
                )?;
                checks.push((subject.name.clone(), check));
            }
            if let Some(((first, ours), others)) = checks.split_first() {
                let unequal: Vec<String> = others
                    .iter()
                    .flat_map(|(other, theirs)| preflight::unequal((first, ours), (other, theirs)))
                    .collect();
                if !unequal.is_empty() {
                    bail!("the targets do not hold the same data:\n  {}", unequal.join("\n  "));
                }
            }
        }
        Ok(())
    }

    /// What the load nodes say before anything is measured: who cannot be reached, or cannot reach a target.
    fn look_from_load_nodes(&mut self) -> Result<Vec<String>> {
        let connections = self.connections_most();
        let Some(fleet) = &mut self.fleet else {
            return Ok(Vec::new());
        };
        let hosts = match self.machines.hosts_of(fleet.names()) {
            Ok(hosts) => hosts,
            Err(error) => bail!("nothing was measured:\n  {error}"),
        };
        let hosts: Vec<&Host> = hosts.iter().collect();
        let mut problems = Vec::new();
        for subject in &self.subjects {
            let refused = hosts.iter().filter_map(|host| subject.database_for(host, "").err());
            problems.extend(refused.take(1));
        }
        let databases = |host: &Host| -> Vec<Database> {
            let of_node = self.subjects.iter();
            of_node
                .filter_map(|subject| subject.database_for(host, "").ok())
                .collect()
        };
        let files = connections.div_ceil(hosts.len().max(1) as u64);
        problems.extend(fleet.look(&hosts, files, &databases, self.interrupt.stop()));
        if self.interrupt.asked() {
            bail!("stopped");
        }
        if self.workloads.iter().any(|sent| sent.driver == Driver::Sysbench) {
            let versions: BTreeSet<Option<&str>> = fleet.sysbench().map(|(_, version)| version).collect();
            for (node, version) in fleet.sysbench() {
                if version.is_none() {
                    problems.push(format!(
                        "load node {node}: sysbench is not installed there: install it, or leave `driver` out of the workload"
                    ));
                }
            }
            match versions.iter().flatten().collect::<Vec<_>>().as_slice() {
                [version] => {
                    for (sent, described) in self.workloads.iter().zip(&mut self.run.workloads) {
                        if sent.driver == Driver::Sysbench {
                            described.driver = format!("sysbench {version}");
                        }
                    }
                }
                [] => {}
                several => problems.push(format!(
                    "the load nodes have unlike versions of sysbench ({several:?}): install the same one on all"
                )),
            }
        }
        Ok(problems)
    }

    /// Connections of all drivers together, at once; those that are idle among them.
    fn connections_most(&self) -> u64 {
        let servers = self.subjects.iter().map(|subject| subject.servers().len()).max();
        let idle = self.workloads.iter().map(Sent::idle_per_server).max();
        (u64::from(self.threads_per_server_most()) + u64::from(idle.unwrap_or(0))) * servers.unwrap_or(1) as u64
    }

    /// How the watch knows the process that drives the load on a node: ours by its id, the other by its name.
    fn load_process(&self, node: &Node, driver: Driver) -> Option<String> {
        let ours = match &self.fleet {
            None => node.is_local().then(std::process::id),
            Some(_) => self.watched.get(&node.name).copied(),
        };
        match driver {
            Driver::Latsdb => ours.map(|pid| pid.to_string()),
            Driver::Sysbench => ours.map(|_| "sysbench".to_owned()),
        }
    }

    fn threads_per_server_most(&self) -> u32 {
        let ladder = self
            .plan
            .ladder
            .iter()
            .flat_map(|ladder| ladder.threads_per_server.iter().copied());
        let open = self.plan.open_loop.iter().map(|open| open.threads_per_server);
        let soak = self.plan.soak.iter().map(|soak| soak.threads_per_server);
        let profiles = self.plan.profiles.iter().map(|profile| profile.threads_per_server);
        ladder.chain(open).chain(profiles).chain(soak).max().unwrap_or(1)
    }
}

/// The series before anything of it is known but the plan.
pub fn described(plan: &Plan, subjects: &[Subject], workloads: &[Sent], progress: &mut Progress) -> Result<Run> {
    let mut targets = Vec::new();
    for (target, subject) in plan.targets.iter().zip(subjects) {
        let price = subject::price(target, plan).with_context(|| format!("the price of target `{}`", target.name));
        let price = match price {
            Ok(price) => price,
            Err(error) => {
                progress.say(&format!("warning: {error:#}; it is reported without a price"));
                None
            }
        };
        targets.push(run::Target {
            name: subject.name.clone(),
            servers: subject.servers().to_vec(),
            versions: Vec::new(),
            variables: BTreeMap::new(),
            price,
            nodes: subject.nodes.clone(),
            tls: None,
            cluster: None,
            reopen_after_s: target.reopen_after.map(|after| after.as_secs_f64()),
        });
    }
    let ladder = plan.ladder.as_ref();
    Ok(Run {
        schema: lab_results::SCHEMA,
        name: plan.name.clone(),
        started: clock::now(),
        ended: None,
        interrupted: false,
        lab_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: plan.seed,
        targets,
        nodes: plan
            .nodes
            .iter()
            .map(|node| run::Node {
                name: node.name.clone(),
                roles: node.roles.clone(),
                facts: node
                    .facts
                    .iter()
                    .map(|(name, fact)| (name.clone(), fact.0.clone()))
                    .collect(),
            })
            .collect(),
        workloads: workloads.iter().map(Sent::described).collect(),
        plan: LoadPlan {
            warmup_s: ladder.map_or(0.0, |ladder| ladder.warmup.as_secs_f64()),
            measure_s: ladder.map_or(0.0, |ladder| ladder.measure.as_secs_f64()),
            cooldown_s: ladder.map_or(0.0, |ladder| ladder.cooldown.as_secs_f64()),
            repeats: ladder.map_or(1, |ladder| ladder.repeats),
            order: ladder.map_or(Order::Abba, |ladder| ladder.order).name().to_owned(),
            // Filled as loads are asked for: the threads in all depend on each target's servers.
            loads: Vec::new(),
        },
        slo: plan.slo.as_ref().map(|slo| Slo {
            quantile: slo.quantile,
            latency_ms: slo.latency.as_secs_f64() * 1000.0,
        }),
        slo_rates: Vec::new(),
        not_run: Vec::new(),
        events: Vec::new(),
    })
}
