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
use lab_results::run::{Event, LoadPlan, NotRun, Run, Slo};
use lab_results::{Folder, run};

use crate::clock;
use crate::interrupt::Interrupt;
use crate::machines::Machines;
use crate::plan::{Driver, Order, Plan};
use crate::preflight::{self, Demand, Existing};
use crate::progress::Progress;
use crate::subject::{self, Sent, Subject};

/// A series at work.
pub struct Bench {
    plan: Plan,
    subjects: Vec<Subject>,
    workloads: Vec<Sent>,
    machines: Machines,
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
        let mut bench = Bench {
            plan,
            subjects,
            workloads,
            machines,
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
        if self.plan.probes.watch && !self.interrupt.asked() {
            let processes = self.processes_by_node();
            for problem in self.machines.watch(&processes) {
                self.progress.say(&format!("warning: {problem}"));
            }
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
        for machine in self.machines.nodes.iter().filter(|machine| machine.node.is_local()) {
            let of_node = processes.entry(machine.node.name.clone()).or_default();
            of_node.extend([Driver::Latsdb, Driver::Sysbench].map(load_process));
        }
        processes
    }

    fn preflight(&mut self) -> Result<()> {
        self.progress.doing("looking at the targets");
        let mut problems = Vec::new();
        let threads = self.threads_per_server_most();
        let idle = self.workloads.iter().map(Sent::idle_per_server).max().unwrap_or(0);
        let connections_per_server = u64::from(threads) + u64::from(idle);
        let prepared = self.workloads.iter().map(|sent| sent.prepared_per_server(threads));
        let prepared_per_server = prepared.max().unwrap_or(0);
        let mut total = 0;
        for (index, subject) in self.subjects.iter().enumerate() {
            let demand = Demand {
                connections_per_server,
                connections_total: connections_per_server * subject.servers().len() as u64,
                prepared_per_server,
            };
            total = total.max(demand.connections_total);
            let facts = preflight::servers(subject, demand, &mut problems);
            self.run.targets[index].versions = facts.versions;
            self.run.targets[index].variables = facts.variables;
            self.run.targets[index].tls = Some(subject.tls_used(facts.encryption));
        }
        let here = Demand {
            connections_per_server,
            connections_total: total,
            prepared_per_server: 0,
        };
        for warning in preflight::this_machine(here, self.folder.path())? {
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

/// How the watch knows the process that drives the load: ours by its id, the other by its name.
fn load_process(driver: Driver) -> String {
    match driver {
        Driver::Latsdb => std::process::id().to_string(),
        Driver::Sysbench => "sysbench".to_owned(),
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
