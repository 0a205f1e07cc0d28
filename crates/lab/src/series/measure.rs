//! One rung, from the first connection to the file.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use lab_driver::{DriverError, Outcome, RungSpec};
use lab_host::explain::OneThread;
use lab_host::verdict::{DriverEvidence, NodeEvidence, WorkerEvidence};
use lab_host::{Evidence, cost, explain_one_thread, judge};
use lab_results::run::{Event, Load};
use lab_results::rung::{Bottleneck, LoadShare, NodeCost, SOAK_REPEAT, Second};
use lab_results::{NodeSample, Rung};

use super::{Bench, Measured};
use crate::clock;
use crate::cluster::{Watch, Watched};
use crate::fleet::Fleet;
use crate::fleet::{Carried, FleetError, Task};
use crate::machines::Machine;
use crate::plan::{Driver, Node};
use crate::preflight::{self, Existing};

/// Which rung, by places in the plan's lists.
#[derive(Debug, Clone)]
pub struct Asked {
    pub target: usize,
    pub workload: usize,
    pub load: Load,
    pub repeat: u32,
    pub warmup: Duration,
    pub measure: Duration,
    pub cooldown: Duration,
}

/// With the fewest threads of the series: what waiting for each other adds is seen against it.
#[derive(Debug, Clone, Copy)]
pub struct Alone {
    threads: u32,
    latency_us: Option<f64>,
    locking_us: Option<f64>,
}

/// A sample ends up to this long after its second, and then travels.
const SAMPLE_LATENESS: Duration = Duration::from_millis(1300);
/// After so many rungs in a row that could not begin, a target is given up.
const SILENT_MAX: u32 = 3;
/// A target that is being started again by its operator gets this long before a rung is given up.
const COME_BACK: Duration = Duration::from_secs(5);

/// A rung that the user stopped before it was a second long says nothing.
const WORTH_KEEPING_S: f64 = 1.0;

const LOCK_ERRORS: &[u16] = &[1205, 1213, 3572, 1020, 3058];
const WAIT_FOR_LOCKS: &[&str] = &["update", "delete", "insert"];

impl Bench {
    /// Runs it and writes it. `None`: it gave nothing, and `not_run` says why.
    pub fn measure(&mut self, asked: &Asked) -> Result<Option<Rung>> {
        let what = self.words(asked);
        if self.silent.get(&asked.target).is_some_and(|times| *times >= SILENT_MAX) {
            self.not_run(what, "the target did not answer any more");
            return Ok(None);
        }
        if let Some(node) = self.fleet.as_ref().and_then(Fleet::given_up) {
            let why = format!("the load node {node} could not take part any more");
            self.not_run(what, &why);
            return Ok(None);
        }
        self.index += 1;
        self.progress.begin(&what);
        let watch = self.run.targets[asked.target].cluster.as_ref().map(Watch::start);
        let Carried { mut outcome, shares } = match self.load(asked) {
            Ok(carried) => carried,
            Err(error) => {
                if self.interrupt.asked() {
                    return Ok(None);
                }
                // A load node that is away says nothing of the target.
                if !matches!(error.downcast_ref(), Some(FleetError::Node { .. })) {
                    *self.silent.entry(asked.target).or_default() += 1;
                }
                let why = match error.downcast_ref::<DriverError>() {
                    Some(error) => error.with_remedy(),
                    None => error.to_string(),
                };
                self.event(&format!("{what}: {why}"));
                self.not_run(what, &why);
                self.folder.write_run(&self.run)?;
                return Ok(None);
            }
        };
        self.silent.remove(&asked.target);
        if outcome.interrupted && outcome.measured_s < WORTH_KEEPING_S {
            return Ok(None);
        }
        self.interrupt.sleep(asked.cooldown.max(if self.plan.probes.watch {
            SAMPLE_LATENESS
        } else {
            Duration::ZERO
        }));
        let failed = outcome.failure.is_some();
        let watched = watch.map(|watch| watch.seen(outcome.started, outcome.measured_s));
        let Watched { nodes, changes } = watched.unwrap_or_default();
        outcome.events.extend(changes);
        outcome.events.sort_by_key(|event| event.at);
        let mut rung = self.judged(asked, outcome, shares, &what);
        rung.0.cluster = nodes;
        self.progress.end(&rung.0);
        let folder = self.folder.create_rung(&rung.0)?;
        folder.write_seconds(&rung.1)?;
        folder.write_samples(&rung.2)?;
        folder.write_rung(&rung.0)?;
        self.measured.push(Measured {
            target: asked.target,
            workload: asked.workload,
            load: asked.load.clone(),
            tps: tps(&rung.0),
            void: rung.0.void.is_some(),
            failed,
        });
        self.folder.write_run(&self.run)?;
        Ok(Some(rung.0))
    }

    /// `ours read_write 8 threads, repeat 2`.
    pub fn words(&self, asked: &Asked) -> String {
        let load = match &asked.load {
            Load::Closed {
                threads_per_server,
                threads_total,
            } if threads_per_server == threads_total => format!("{threads_total:>3} thr"),
            Load::Closed {
                threads_per_server,
                threads_total,
            } => format!("{threads_total:>3} thr ({threads_per_server}/server)"),
            Load::Open {
                profile: Some(profile), ..
            } => profile.name.clone(),
            Load::Open { rate_per_s, .. } => format!("{rate_per_s:.0}/s"),
        };
        let repeat = match asked.repeat {
            SOAK_REPEAT => "soak".to_owned(),
            repeat => format!("r{repeat}"),
        };
        format!(
            "{} {} {load} {repeat}",
            self.subjects[asked.target].name, self.workloads[asked.workload].name
        )
    }

    /// Sends the load; a target that went away gets a moment to come back.
    fn load(&mut self, asked: &Asked) -> Result<Carried> {
        let subject = &self.subjects[asked.target];
        let sent = &self.workloads[asked.workload];
        if sent.changes_rows && self.index > 1 {
            preflight::data(
                subject,
                sent,
                Existing::Reload,
                self.plan.seed,
                &mut self.progress,
                &self.interrupt,
            )?;
        }
        let target = subject.for_workload(sent);
        let mut spec = RungSpec::new(asked.load.clone(), asked.warmup, asked.measure, self.seed(asked));
        spec.idle = sent.idle;
        spec.survive = subject.survive();
        self.machines.drop_samples();
        let stop = self.interrupt.stop().clone();
        if self.fleet.is_some() {
            return self.load_from_nodes(asked, &spec);
        }
        let (progress, machines) = (&mut self.progress, &mut self.machines);
        let mut news: Vec<Event> = Vec::new();
        let mut each_second = |second: &Second| {
            progress.second(second);
            news.extend(machines.news());
        };
        let mut run = || match sent.driver {
            Driver::Latsdb => lab_driver::run(&target, &sent.workload, &spec, &stop, &mut each_second),
            Driver::Sysbench => lab_driver::sysbench::run(&target, &sent.workload, &spec, &stop, &mut each_second),
        };
        let mut outcome = match run() {
            Err(DriverError::Connect { .. } | DriverError::Closed { .. } | DriverError::Io { .. })
                if !self.interrupt.asked() =>
            {
                self.interrupt.sleep(COME_BACK);
                run()?
            }
            outcome => outcome?,
        };
        outcome.events.extend(news);
        outcome.events.sort_by_key(|event| event.at);
        let here = self.plan.load_nodes().next();
        let share = LoadShare {
            node: here.map_or("this machine", |node| &node.name).to_owned(),
            threads: asked.load.threads_total(),
            transactions: outcome.totals.transactions,
            cpu_s: outcome.client.cpu_s,
            context_switches: outcome.client.context_switches,
            worker_threads: u32::try_from(outcome.client.workers).unwrap_or(u32::MAX),
        };
        Ok(Carried {
            outcome,
            shares: vec![share],
        })
    }

    /// The same with the load nodes; one that went away gets the same moment to come back.
    fn load_from_nodes(&mut self, asked: &Asked, spec: &RungSpec) -> Result<Carried> {
        let first = self.try_load_from_nodes(asked, spec);
        let carried = match first {
            Err(FleetError::Node { .. } | FleetError::Target { .. }) if !self.interrupt.asked() => {
                self.interrupt.sleep(COME_BACK);
                self.try_load_from_nodes(asked, spec)
            }
            other => other,
        };
        if let (Err(error), Some(fleet)) = (&carried, &mut self.fleet) {
            fleet.gave_up_a_rung(error);
        }
        self.watch_new_agents();
        Ok(carried?)
    }

    fn try_load_from_nodes(&mut self, asked: &Asked, spec: &RungSpec) -> Result<Carried, FleetError> {
        let (subject, sent) = (&self.subjects[asked.target], &self.workloads[asked.workload]);
        let fleet = self.fleet.as_mut().expect("whoever calls has one");
        let hosts = self.machines.hosts_of(fleet.names())?;
        let task = Task {
            workload: &sent.workload,
            driver: sent.driver,
            spec,
        };
        let (progress, machines) = (&mut self.progress, &mut self.machines);
        let mut news: Vec<Event> = Vec::new();
        let mut carried = fleet.run(
            &hosts.iter().collect::<Vec<_>>(),
            &|host| subject.database_for(host, &sent.suffix),
            &task,
            self.interrupt.stop(),
            &mut |second| {
                progress.second(second);
                news.extend(machines.news());
            },
        )?;
        carried.outcome.events.extend(news);
        carried.outcome.events.sort_by_key(|event| event.at);
        Ok(carried)
    }

    /// The same for every target, so that all are asked for the same keys in the same order.
    fn seed(&self, asked: &Asked) -> u64 {
        let threads = u64::from(asked.load.threads_total());
        let mut seed = self.plan.seed;
        for part in [asked.workload as u64, u64::from(asked.repeat), threads] {
            // A step of splitmix64: near inputs give far outputs.
            seed = (seed ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
            seed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            seed = (seed ^ (seed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            seed ^= seed >> 31;
        }
        seed
    }

    /// The outcome with costs, verdict and explanation, its seconds and its samples.
    fn judged(
        &mut self,
        asked: &Asked,
        outcome: Outcome,
        shares: Vec<LoadShare>,
        what: &str,
    ) -> (Rung, Vec<lab_results::Second>, Vec<NodeSample>) {
        let nodes = self.subjects[asked.target].nodes.clone();
        let samples = self
            .machines
            .samples(|node| nodes.contains(&node.name) || node.roles.iter().any(|role| role == "load"));
        let costs = self.costs(asked, &outcome, &shares, &samples);
        let one = mean(&outcome.latency);
        let locking = locking_mean(&outcome);
        let threads = asked.load.threads_total();
        let key = (asked.target, asked.workload);
        let closed = matches!(asked.load, Load::Closed { .. });
        if closed && self.alone.get(&key).is_none_or(|alone| threads <= alone.threads) {
            self.alone.insert(
                key,
                Alone {
                    threads,
                    latency_us: one,
                    locking_us: locking,
                },
            );
        }
        let verdict = self
            .plan
            .probes
            .watch
            .then(|| judge(&self.evidence(asked, &outcome, &shares, &samples)));
        let void = self.void(asked, &outcome, verdict.as_ref());
        if let Some(failure) = &outcome.failure {
            self.event(&format!("{what}: ended after {:.1} s: {failure}", outcome.measured_s));
        }
        let explanation = (closed
            && matches!(
                asked.load,
                Load::Closed {
                    threads_per_server: 1,
                    ..
                }
            )
            && threads == 1)
            .then(|| self.explanation(asked, &outcome, &shares, &costs))
            .flatten();
        let rung = Rung {
            schema: lab_results::SCHEMA,
            index: self.index,
            target: self.subjects[asked.target].name.clone(),
            workload: self.workloads[asked.workload].name.clone(),
            load: asked.load.clone(),
            repeat: asked.repeat,
            started: outcome.started,
            measured_s: outcome.measured_s,
            totals: outcome.totals,
            statements: outcome.statements,
            latency: outcome.latency,
            service_latency: outcome.service_latency,
            errors: outcome.errors,
            costs,
            verdict,
            explanation,
            events: outcome.events,
            phases: outcome.phases,
            idle: outcome.idle,
            void,
            load_shares: shares,
            cluster: Vec::new(),
        };
        (rung, outcome.seconds, samples)
    }

    fn void(&self, asked: &Asked, outcome: &Outcome, verdict: Option<&lab_results::rung::Verdict>) -> Option<String> {
        if let Some(failure) = &outcome.failure {
            return Some(format!("ended after {:.1} s: {failure}", outcome.measured_s));
        }
        if outcome.interrupted {
            return Some(format!(
                "stopped by the user after {:.1} of {:.1} s",
                outcome.measured_s,
                asked.measure.as_secs_f64()
            ));
        }
        let verdict = verdict?;
        (verdict.bottleneck == Bottleneck::LoadGenerator).then(|| {
            let evidence = verdict.evidence.first().map_or("", String::as_str);
            format!("the load generator was the limit: {evidence}")
        })
    }

    fn costs(
        &self,
        asked: &Asked,
        outcome: &Outcome,
        shares: &[LoadShare],
        samples: &[NodeSample],
    ) -> BTreeMap<String, NodeCost> {
        let subject = &self.subjects[asked.target];
        let process: BTreeMap<String, String> = subject
            .process
            .iter()
            .flat_map(|process| subject.nodes.iter().map(|node| (node.clone(), process.clone())))
            .collect();
        let mut costs = cost::node_costs(samples, outcome.started, outcome.measured_s, &process);
        // A machine that only drives the load: the measured process there is ours.
        for share in shares {
            if !process.contains_key(&share.node)
                && let Some(cost) = costs.get_mut(&share.node)
            {
                cost.process_cpu_s = Some(share.cpu_s);
            }
        }
        costs
    }

    fn evidence(&self, asked: &Asked, outcome: &Outcome, shares: &[LoadShare], samples: &[NodeSample]) -> Evidence {
        let subject = &self.subjects[asked.target];
        let driver = self.workloads[asked.workload].driver;
        let loads = |machine: &Machine| shares.iter().any(|share| share.node == machine.node.name);
        let nodes = self
            .machines
            .nodes
            .iter()
            // A load node without a connection of this rung is no part of it.
            .filter(|machine| subject.nodes.contains(&machine.node.name) || loads(machine))
            .map(|machine| NodeEvidence {
                name: machine.node.name.clone(),
                roles: roles(&machine.node, &subject.nodes, loads(machine)),
                samples: samples
                    .iter()
                    .filter(|sample| sample.node == machine.node.name)
                    .cloned()
                    .collect(),
                probes: machine.probes.clone(),
                load_processes: self
                    .load_process(&machine.node, driver)
                    .filter(|_| loads(machine))
                    .into_iter()
                    .collect(),
                server_processes: subject.process.iter().cloned().collect(),
            })
            .collect();
        let alone = self.alone.get(&(asked.target, asked.workload));
        let alone = alone.filter(|alone| alone.threads < asked.load.threads_total());
        Evidence {
            started: outcome.started,
            measured_s: outcome.measured_s,
            nodes,
            driver: DriverEvidence {
                threads: asked.load.threads_total(),
                transactions: outcome.totals.transactions,
                queries: outcome.totals.queries,
                workers: shares
                    .iter()
                    .filter(|share| share.worker_threads > 0)
                    .map(|share| WorkerEvidence {
                        node: share.node.clone(),
                        threads: share.worker_threads,
                        cpu_s: share.cpu_s,
                    })
                    .collect(),
                retries: outcome.totals.retries,
                wasted_us: outcome.totals.wasted_us,
                lock_errors: outcome
                    .errors
                    .iter()
                    .filter(|error| LOCK_ERRORS.contains(&error.code))
                    .map(|error| error.count)
                    .sum(),
                mean_latency_us: mean(&outcome.latency),
                one_thread_latency_us: alone.and_then(|alone| alone.latency_us),
                locking_latency_us: locking_mean(outcome),
                locking_latency_one_thread_us: alone.and_then(|alone| alone.locking_us),
                commit_latency_us: outcome
                    .statements
                    .get("commit")
                    .and_then(|commit| mean(&commit.latency)),
            },
        }
    }

    fn explanation(
        &self,
        asked: &Asked,
        outcome: &Outcome,
        shares: &[LoadShare],
        costs: &BTreeMap<String, NodeCost>,
    ) -> Option<lab_results::rung::LatencyExplanation> {
        let subject = &self.subjects[asked.target];
        let server_node = subject.nodes.first()?;
        // The one that carried the one thread.
        let load_node = self.machines.get(&shares.first()?.node)?;
        let transactions = outcome.totals.transactions;
        if transactions == 0 {
            return None;
        }
        let per_tx = |total: f64| total / transactions as f64;
        let cost = costs.get(server_node);
        let together = load_node.node.name == *server_node;
        let server_cpu_s = cost.map_or(0.0, |cost| cost.process_cpu_s.unwrap_or(cost.cpu_s));
        let flushes = cost.and_then(|cost| cost.disk_flushes).unwrap_or(0) as f64;
        let (explanation, _not_probed) = explain_one_thread(&OneThread {
            load: load_node.probes.as_ref(),
            server_name: if together { "self" } else { server_node },
            server: self
                .machines
                .get(server_node)
                .and_then(|machine| machine.probes.as_ref()),
            round_trips_per_tx: per_tx(outcome.totals.queries as f64),
            answer_bytes: outcome.totals.bytes_received as f64 / outcome.totals.queries.max(1) as f64,
            client_cpu_us: per_tx(outcome.client.cpu_s * 1e6),
            server_cpu_us: per_tx(server_cpu_s * 1e6),
            syncs_per_tx: per_tx(flushes),
            hand_overs_per_tx: 2.0 * per_tx(flushes),
        });
        Some(explanation)
    }

    pub fn loaded(&self, target: usize, threads_per_server: u32) -> Load {
        let servers = u32::try_from(self.subjects[target].servers().len()).unwrap_or(u32::MAX);
        Load::Closed {
            threads_per_server,
            threads_total: threads_per_server.saturating_mul(servers),
        }
    }

    pub fn interrupted(&self) -> bool {
        self.interrupt.asked()
    }

    pub fn note(&mut self, what: &str) {
        self.progress.say(what);
        self.run.events.push(lab_results::run::Event {
            at: clock::now(),
            what: what.to_owned(),
        });
    }
}

/// A machine that also serves another target is, for this one, only what drives its load; one that drives no load of this rung is no
/// load generator.
fn roles(node: &Node, of_target: &[String], loads: bool) -> Vec<String> {
    let serves = of_target.contains(&node.name);
    let roles = node.roles.iter();
    roles
        .filter(|role| if role.as_str() == "load" { loads } else { serves })
        .cloned()
        .collect()
}

pub fn tps(rung: &Rung) -> f64 {
    rung.totals.transactions as f64 / rung.measured_s.max(1e-9)
}

fn mean(latency: &lab_results::Latency) -> Option<f64> {
    latency.mean_us()
}

/// Of the statements that may have to wait for somebody else's lock.
fn locking_mean(outcome: &Outcome) -> Option<f64> {
    let mut merged = lab_results::Latency::default();
    for (kind, totals) in &outcome.statements {
        if WAIT_FOR_LOCKS.iter().any(|word| kind.contains(word)) {
            merged.merge(&totals.latency);
        }
    }
    merged.mean_us()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_judged_by_what_it_does_in_this_rung() {
        let node: Node = toml::from_str("name = \"n\"\nroles = [\"load\", \"sql\"]").unwrap();
        let (own, others) = (["n".to_owned()], ["m".to_owned()]);
        assert_eq!(roles(&node, &own, true), ["load", "sql"]);
        assert_eq!(roles(&node, &others, true), ["load"], "it serves another target");
        assert_eq!(
            roles(&node, &own, false),
            ["sql"],
            "it carries no connection of this rung"
        );
        assert!(roles(&node, &others, false).is_empty());
    }
}
