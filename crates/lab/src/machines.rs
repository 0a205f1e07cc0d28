//! The plan's nodes with the lines to them: probed before the series, watched during it.
//!
//! A node that cannot be reached is a problem to tell, not a reason to measure nothing: its samples are missing then, and
//! the verdict says what it could not look at.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use lab_driver::Stop;
use lab_host::agent::Service;
use lab_host::{Host, ProbePlan, Reach, WatchPlan, host::probe_pairs};
use lab_results::run::Event;
use lab_results::{NodeProbes, NodeSample};

use crate::clock;
use crate::fleet::{FleetError, LoadService};
use crate::interrupt::Interrupt;
use crate::plan::{Node, Plan};

pub struct Machines {
    pub nodes: Vec<Machine>,
}

pub struct Machine {
    pub node: Node,
    pub host: Option<Host>,
    /// Why there is none.
    pub problem: Option<String>,
    pub probes: Option<NodeProbes>,
    /// Not yet asked for by a rung.
    samples: Vec<NodeSample>,
    /// The line to it was broken at the last look.
    lost: bool,
}

/// Offsets larger than this make the seconds of two nodes different seconds.
const CLOCK_OFFSET_MAX_US: i64 = 100_000;
const LOOK: Duration = Duration::from_millis(50);

impl Machines {
    /// Opens the lines; what failed is in the second part, as sentences.
    pub fn connect(plan: &Plan) -> (Machines, Vec<String>) {
        let mut problems = Vec::new();
        let nodes = plan
            .nodes
            .iter()
            .map(|node| {
                let load: Arc<dyn Service> = Arc::new(LoadService::default());
                let host = reach(node)
                    .map_err(|error| format!("{}: {error}", node.name))
                    // The line's own errors begin with the node's name.
                    .and_then(|reach| {
                        Host::connect_with(&node.name, &reach, vec![load]).map_err(|error| error.to_string())
                    });
                let (host, problem) = match host {
                    Ok(host) => (Some(host), None),
                    Err(error) => {
                        problems.push(format!("node {error}; it is not probed and not watched"));
                        (None, Some(error))
                    }
                };
                Machine {
                    node: node.clone(),
                    host,
                    problem,
                    probes: None,
                    samples: Vec::new(),
                    lost: false,
                }
            })
            .collect();
        (Machines { nodes }, problems)
    }

    pub fn get(&self, name: &str) -> Option<&Machine> {
        self.nodes.iter().find(|machine| machine.node.name == name)
    }

    /// Sentences on clocks that are too far apart.
    pub fn check_clocks(&self) -> Vec<String> {
        self.hosts()
            .filter_map(|host| {
                let (offset, uncertainty) = match host.clock_offset() {
                    Ok(offset) => offset,
                    Err(error) => return Some(format!("node {}: its clock: {error}", host.name())),
                };
                (offset.abs() > CLOCK_OFFSET_MAX_US + i64::try_from(uncertainty).unwrap_or(i64::MAX)).then(|| {
                    format!(
                        "node {}: its clock is {} ms off (samples are corrected for that; let NTP or chrony set it)",
                        host.name(),
                        offset / 1000
                    )
                })
            })
            .collect()
    }

    /// The nodes named, in this order; errors say which cannot be reached.
    pub fn hosts_of<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<Vec<Host>, FleetError> {
        names
            .map(|name| {
                let machine = self.get(name);
                let why = machine.and_then(|machine| machine.problem.as_deref());
                machine
                    .and_then(|machine| machine.host.clone())
                    .ok_or_else(|| FleetError::of_node(name, why.unwrap_or("it is not in the plan")))
            })
            .collect()
    }

    fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.nodes.iter().filter_map(|machine| machine.host.as_ref())
    }

    /// [`Machines::probe`], ended by the user's wish to stop; the lines to the nodes are of no use after that.
    pub fn probe_unless(
        &mut self,
        interrupt: &Interrupt,
        settings: &crate::plan::Probes,
        say: impl FnMut(&str),
    ) -> Vec<NodeProbes> {
        let hosts: Vec<Host> = self.hosts().cloned().collect();
        let done = Stop::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.is_requested() && !interrupt.asked() {
                    thread::sleep(LOOK);
                }
                if interrupt.asked() {
                    hosts.iter().for_each(Host::hang_up);
                }
            });
            let probes = self.probe(settings, say);
            done.request();
            probes
        })
    }

    /// Probes every node, one after the other so that none disturbs another; `say` is told which one is at work.
    pub fn probe(&mut self, settings: &crate::plan::Probes, mut say: impl FnMut(&str)) -> Vec<NodeProbes> {
        for machine in &mut self.nodes {
            let Some(host) = &machine.host else { continue };
            say(&machine.node.name);
            let plan = ProbePlan {
                directory: machine.node.disk.clone(),
                cross_checks: settings.cross_checks,
                stalls_s: if settings.short { 1.0 } else { 5.0 },
                ..ProbePlan::default()
            };
            machine.probes = Some(host.probe(&plan).unwrap_or_else(|error| NodeProbes {
                node: machine.node.name.clone(),
                problems: vec![error.to_string()],
                ..NodeProbes::default()
            }));
        }
        self.probe_network(&mut say);
        self.nodes.iter().filter_map(|machine| machine.probes.clone()).collect()
    }

    fn probe_network(&mut self, say: &mut impl FnMut(&str)) {
        let mut addresses: BTreeMap<String, String> = self
            .nodes
            .iter()
            .filter_map(|machine| Some((machine.node.name.clone(), address(&machine.node)?)))
            .collect();
        let own = addresses.values().find_map(|other| own_address(other));
        for machine in self.nodes.iter().filter(|machine| machine.node.is_local()) {
            if let Some(own) = &own {
                addresses
                    .entry(machine.node.name.clone())
                    .or_insert_with(|| own.clone());
            }
        }
        let hosts: Vec<&Host> = self
            .hosts()
            .filter(|host| addresses.contains_key(host.name()))
            .collect();
        if hosts.len() < 2 {
            return;
        }
        say("the network between nodes");
        let (mut pairs, problems) = probe_pairs(&hosts, &addresses);
        for machine in &mut self.nodes {
            if let (Some(probes), Some(found)) = (&mut machine.probes, pairs.remove(&machine.node.name)) {
                probes.network.extend(found);
            }
        }
        if let Some(first) = self.nodes.iter_mut().find_map(|machine| machine.probes.as_mut()) {
            first.problems.extend(problems);
        }
    }

    /// Starts a sample per second on every node; `processes`: by node, names of processes to tell apart.
    pub fn watch(&self, processes: &BTreeMap<String, Vec<String>>) -> Vec<String> {
        let mut problems = Vec::new();
        for host in self.hosts() {
            let plan = WatchPlan {
                processes: processes.get(host.name()).cloned().unwrap_or_default(),
                ..WatchPlan::default()
            };
            if let Err(error) = host.watch(&plan) {
                problems.push(format!("node {}: {error}; it is not watched", host.name()));
            }
        }
        problems
    }

    /// Forgets what was sampled before now.
    pub fn drop_samples(&mut self) {
        self.collect();
        for machine in &mut self.nodes {
            machine.samples.clear();
        }
    }

    /// What came since the last [`Machines::drop_samples`], of the nodes named.
    pub fn samples(&mut self, of: impl Fn(&Node) -> bool) -> Vec<NodeSample> {
        self.collect();
        self.nodes
            .iter()
            .filter(|machine| of(&machine.node))
            .flat_map(|machine| machine.samples.iter().cloned())
            .collect()
    }

    /// [`Machines::collect`], its sentences as events of now.
    pub fn news(&mut self) -> Vec<Event> {
        let at = clock::now();
        self.collect().into_iter().map(|what| Event { at, what }).collect()
    }

    /// Takes what came; a broken line is opened again by that, so somebody has to look also during a long rung. What is new about
    /// the lines: sentences.
    pub fn collect(&mut self) -> Vec<String> {
        let mut news = Vec::new();
        for machine in &mut self.nodes {
            let Some(host) = &machine.host else { continue };
            machine.samples.extend(host.take_samples());
            let lost = !host.alive();
            if lost != machine.lost {
                machine.lost = lost;
                news.push(match lost {
                    true => format!(
                        "node {}: the line to it broke: it is not watched until it is open again",
                        machine.node.name
                    ),
                    false => format!("node {}: the line to it is open again", machine.node.name),
                });
            }
        }
        news
    }
}

/// Where the other nodes reach it: as the plan says, or the host of its agent or of its ssh destination, which may be an alias
/// that only ssh knows.
fn address(node: &Node) -> Option<String> {
    let of_agent = || Some(node.agent.as_ref()?.rsplit_once(':')?.0.to_owned());
    let of_ssh = || lab_host::ssh_host_name(node.ssh.as_ref()?, &node.ssh_options);
    node.address.clone().or_else(of_agent).or_else(of_ssh)
}

/// The address that this machine uses towards `other`. Connecting a datagram socket sends nothing.
fn own_address(other: &str) -> Option<String> {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).ok()?;
    socket.connect((other, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

/// How the plan says that a node is reached.
pub fn reach(node: &Node) -> Result<Reach> {
    if let Some(destination) = &node.ssh {
        return Ok(Reach::Ssh {
            destination: destination.clone(),
            options: node.ssh_options.clone(),
            command: node.agent_command.clone(),
        });
    }
    let Some(address) = &node.agent else {
        return Ok(Reach::Local);
    };
    let token = std::env::var(&node.token_env)
        .map_err(|_| anyhow::anyhow!("the variable {} with its agent's token is not set", node.token_env))?;
    Ok(Reach::Agent {
        address: address.clone(),
        token,
    })
}
