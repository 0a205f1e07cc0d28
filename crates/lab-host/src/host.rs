//! A node as the coordinator holds it, wherever it is: what can be asked of it, over a line that is opened again when it broke.
//!
//! A series takes hours, and faults that are part of it restart whole machines: a request that finds its line dead opens another,
//! and the stream of samples goes on over it. A request that was under way when the line broke fails; nothing is done twice.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use lab_results::host::NetworkProbe;
use lab_results::{NodeProbes, NodeSample};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::agent::AgentOptions;
use crate::agent::Service;
use crate::agent::protocol::Request;
pub use crate::link::FromTalk;
use crate::link::{Link, SHORT};
use crate::probe::network::{Door, Width};
use crate::{HostError, ProbePlan, WatchPlan};

/// Between two attempts to open a line again.
const AGAIN: Duration = Duration::from_secs(5);
/// Of all pairs together.
const BANDWIDTH_TIME: Duration = Duration::from_secs(40);

/// How a node is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// This machine, this process.
    Local,
    /// `ssh destination command`, with the system's ssh and its configuration; `command` starts the agent there,
    /// usually `latsdb lab agent --stdio`.
    Ssh {
        destination: String,
        options: Vec<String>,
        command: String,
    },
    /// `latsdb lab agent --listen` at `host:port`.
    Agent { address: String, token: String },
}

/// A node with the line to its agent. Requests may be made from several threads at once. Dropping the last copy ends the line.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    name: String,
    reach: Reach,
    /// For good: no line is opened again.
    hung_up: AtomicBool,
    /// Of this machine's own agent.
    options: AgentOptions,
    state: Mutex<State>,
}

struct State {
    link: Arc<Link>,
    /// To go on with over the next line.
    watch: Option<WatchPlan>,
    /// Of earlier lines.
    samples: Vec<NodeSample>,
    not_before: Instant,
}

/// What a command on a node did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// Exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// The last 64 KiB of each.
    pub stdout: String,
    pub stderr: String,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("name", &self.0.name)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Connects and takes the node's clock offset.
    pub fn connect(name: &str, reach: &Reach) -> Result<Host, HostError> {
        Host::connect_with(name, reach, Vec::new())
    }

    /// As [`Host::connect`]; if the node is this machine, with services that it can be asked for.
    pub fn connect_with(name: &str, reach: &Reach, services: Vec<Arc<dyn Service>>) -> Result<Host, HostError> {
        let options = AgentOptions {
            allow_commands: true,
            services,
            ..AgentOptions::default()
        };
        let link = Arc::new(Link::connect(name, reach, &options)?);
        Ok(Host(Arc::new(Inner {
            name: name.to_owned(),
            reach: reach.clone(),
            hung_up: AtomicBool::new(false),
            options,
            state: Mutex::new(State {
                link,
                watch: None,
                samples: Vec::new(),
                not_before: Instant::now(),
            }),
        })))
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// `false` while the line to the node is broken.
    pub fn alive(&self) -> bool {
        self.0.state().link.alive()
    }

    /// Ends the line for good: whoever waits for an answer is told at once, and so is whoever asks again.
    pub fn hang_up(&self) {
        self.0.hung_up.store(true, Ordering::Relaxed);
        let link = self.0.state().link.clone();
        link.hang_up();
    }

    /// The node's clock minus this machine's, and half the round trip it was taken over, in microseconds.
    /// The samples' times are put right by the last one taken.
    pub fn clock_offset(&self) -> Result<(i64, u64), HostError> {
        self.0.link()?.clock_offset()
    }

    /// Probes the node; what fails is named in `problems`. Takes up to a minute, two with cross-checks.
    pub fn probe(&self, plan: &ProbePlan) -> Result<NodeProbes, HostError> {
        let offset = self.clock_offset()?;
        let limit = Duration::from_secs(if plan.cross_checks { 300 } else { 120 });
        let request = Request::Probe {
            node: self.0.name.clone(),
            plan: plan.clone(),
        };
        let mut probes: NodeProbes = self.ask(request, limit)?;
        probes.clock_offset_us = Some(offset);
        Ok(probes)
    }

    /// Starts (or restarts, with another plan) the stream of samples.
    pub fn watch(&self, plan: &WatchPlan) -> Result<(), HostError> {
        let link = self.0.link()?;
        link.watch(plan)?;
        self.0.state().watch = Some(plan.clone());
        Ok(())
    }

    /// The samples that came since the last call (the last 100,000 of them), times by this machine's clock. Never waits; if the
    /// line is broken, another is tried for meanwhile.
    pub fn take_samples(&self) -> Vec<NodeSample> {
        let mut state = self.0.state();
        let mut samples = std::mem::take(&mut state.samples);
        samples.extend(state.link.take_samples());
        let due = !state.link.alive() && state.watch.is_some() && Instant::now() >= state.not_before;
        drop(state);
        if due {
            let inner = self.0.clone();
            // Whether it worked shows in the next samples.
            let _ = thread::Builder::new()
                .name("lab-again".to_owned())
                .spawn(move || inner.link().map(drop));
        }
        samples
    }

    /// Runs `command` with the node's `sh -c`, to its end or for `limit` (10 minutes at most).
    pub fn run(&self, command: &str, limit: Duration) -> Result<CommandOutput, HostError> {
        let request = Request::Run {
            command: command.to_owned(),
            limit_ms: limit.as_millis() as u64,
        };
        self.ask(request, limit + SHORT)
    }

    /// Opens a listener for network probes on the node, which its other nodes reach at `address`.
    pub fn network_listener(&self, address: &str) -> Result<Door, HostError> {
        let bind = match address.parse::<IpAddr>() {
            Ok(IpAddr::V6(_)) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
            _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        };
        let mut door: Door = self.ask(Request::Listen { bind }, SHORT)?;
        // The agent gives `:port`.
        door.address = match address.contains(':') && !address.starts_with('[') {
            true => format!("[{address}]{}", door.address),
            false => format!("{address}{}", door.address),
        };
        Ok(door)
    }

    /// Measures the network from this node to the one behind `door`.
    pub fn network_probe(&self, door: &Door, width: Width) -> Result<NetworkProbe, HostError> {
        let limit = Duration::from_secs_f64(40.0 + width.seconds.clamp(0.0, 60.0));
        let request = Request::NetworkProbe {
            door: door.clone(),
            width,
        };
        self.ask(request, limit)
    }

    /// Whether what is said to the node can be read by nobody on the way.
    pub fn is_private(&self) -> bool {
        !matches!(self.0.reach, Reach::Agent { .. })
    }

    /// Begins a talk with a service of the node's agent. `listener` is called for everything that is said there, and for the talk's
    /// end, by the thread that reads the line: while it waits, so does all else that the node says.
    pub fn talk(
        &self,
        service: &str,
        listener: impl Fn(FromTalk) + Send + Sync + 'static,
    ) -> Result<Conversation, HostError> {
        let link = self.0.link()?;
        let number = link.talk(service, Arc::new(listener))?;
        Ok(Conversation { link, number })
    }

    fn ask<T: DeserializeOwned>(&self, request: Request, limit: Duration) -> Result<T, HostError> {
        self.0.link()?.ask(request, limit)
    }
}

/// The coordinator's end of a talk with a service; dropping it ends the talk.
pub struct Conversation {
    link: Arc<Link>,
    number: u64,
}

impl Conversation {
    pub fn say(&self, value: &impl Serialize) -> Result<(), HostError> {
        let said = serde_json::to_value(value).map_err(|error| HostError::Protocol {
            node: "here".to_owned(),
            why: error.to_string(),
        })?;
        self.link.say(self.number, said)
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.link.close(self.number);
    }
}

impl Inner {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// A line that lives: the one there is, or another.
    fn link(&self) -> Result<Arc<Link>, HostError> {
        let (broken, watch) = {
            let mut state = self.state();
            if state.link.alive() {
                return Ok(state.link.clone());
            }
            if self.hung_up.load(Ordering::Relaxed) || Instant::now() < state.not_before {
                return Err(state.link.gone(""));
            }
            state.not_before = Instant::now() + AGAIN;
            (state.link.clone(), state.watch.clone())
        };
        let opened = Link::connect(&self.name, &self.reach, &self.options).and_then(|link| {
            if let Some(watch) = &watch {
                link.watch(watch)?;
            }
            Ok(Arc::new(link))
        });
        let mut state = self.state();
        match opened {
            Ok(link) => {
                state.samples.extend(broken.take_samples());
                state.link = link.clone();
                Ok(link)
            }
            Err(error) => {
                state.not_before = Instant::now() + AGAIN;
                Err(broken.gone_and(&error))
            }
        }
    }
}

/// Probes the network between every two of `hosts`, each way, one pair at a time. `addresses`: node name → the address at
/// which the other nodes reach it. The result: from node → to node → probe; and what could not be probed.
pub fn probe_pairs(
    hosts: &[&Host],
    addresses: &BTreeMap<String, String>,
) -> (BTreeMap<String, BTreeMap<String, NetworkProbe>>, Vec<String>) {
    // Many nodes have very many pairs: each gets less of the time then.
    let pairs = (hosts.len() * hosts.len().saturating_sub(1)).max(1);
    let width = Width::default();
    let seconds = (BANDWIDTH_TIME.as_secs_f64() / pairs as f64).clamp(0.3, width.seconds);
    probe_pairs_for(hosts, addresses, Width { seconds, ..width })
}

/// [`probe_pairs`] with so many streams for so long: 20 s show what a cloud gives when its credit for bursts is spent.
pub fn probe_pairs_for(
    hosts: &[&Host],
    addresses: &BTreeMap<String, String>,
    width: Width,
) -> (BTreeMap<String, BTreeMap<String, NetworkProbe>>, Vec<String>) {
    let mut probes: BTreeMap<String, BTreeMap<String, NetworkProbe>> = BTreeMap::new();
    let mut problems = Vec::new();
    for to in hosts {
        let Some(address) = addresses.get(to.name()) else {
            problems.push(format!("network to {}: no address is known", to.name()));
            continue;
        };
        for from in hosts.iter().filter(|from| from.name() != to.name()) {
            let probe = to
                .network_listener(address)
                .and_then(|door| from.network_probe(&door, width));
            match probe {
                Ok(probe) => {
                    let of_node = probes.entry(from.name().to_owned()).or_default();
                    of_node.insert(to.name().to_owned(), probe);
                }
                Err(error) => problems.push(format!("network from {} to {}: {error}", from.name(), to.name())),
            }
        }
    }
    (probes, problems)
}
