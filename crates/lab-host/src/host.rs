//! A node as the coordinator holds it, wherever it is.

use std::collections::BTreeMap;
use std::time::Duration;

use lab_results::host::NetworkProbe;
use lab_results::{NodeProbes, NodeSample};
use serde::{Deserialize, Serialize};

use crate::{HostError, ProbePlan, WatchPlan};

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

/// A node with the line to its agent. Requests may be made from several threads at once. Dropping it ends the line.
#[derive(Debug)]
pub struct Host {
    name: String,
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

impl Host {
    pub fn connect(name: &str, reach: &Reach) -> Result<Host, HostError> {
        let _ = reach;
        Err(missing(name))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// `false` once the line to the node has ended.
    pub fn alive(&self) -> bool {
        false
    }

    /// The node's clock minus this machine's, and half the round trip it was taken over, in microseconds.
    pub fn clock_offset(&self) -> Result<(i64, u64), HostError> {
        Err(missing(&self.name))
    }

    /// Probes the node; what fails is named in `problems`. Takes up to a minute, two with cross-checks.
    pub fn probe(&self, plan: &ProbePlan) -> Result<NodeProbes, HostError> {
        let _ = plan;
        Err(missing(&self.name))
    }

    /// Starts (or restarts, with another plan) the stream of samples.
    pub fn watch(&self, plan: &WatchPlan) -> Result<(), HostError> {
        let _ = plan;
        Err(missing(&self.name))
    }

    /// The samples that came since the last call, times by this machine's clock.
    pub fn take_samples(&self) -> Vec<NodeSample> {
        Vec::new()
    }

    /// Runs `command` with the node's `sh -c`, to its end or for `limit`.
    pub fn run(&self, command: &str, limit: Duration) -> Result<CommandOutput, HostError> {
        let _ = (command, limit);
        Err(missing(&self.name))
    }
}

/// Probes the network between every two of `hosts`, each way, one pair at a time. `addresses`: node name → the address at
/// which the other nodes reach it. The result: from node → to node → probe; and what could not be probed.
pub fn probe_pairs(
    hosts: &[&Host],
    addresses: &BTreeMap<String, String>,
) -> (BTreeMap<String, BTreeMap<String, NetworkProbe>>, Vec<String>) {
    let _ = addresses;
    let problems = hosts.iter().map(|host| missing(&host.name).to_string()).collect();
    (BTreeMap::new(), problems)
}

fn missing(node: &str) -> HostError {
    HostError::Refused {
        node: node.to_owned(),
        why: "the agent is not built yet".into(),
    }
}
