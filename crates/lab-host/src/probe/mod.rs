//! What a machine can do, measured in process, without root, in less than a minute.
//!
//! Each probe says which well-known tool it can be held against, and `cross_check` does so where that tool is installed.
//! Disks are measured through a file of our own in a given directory, never through a device.

mod cpu;
mod cross_check;
mod disk;
mod identity;
mod memory;
pub mod network;
mod stall;
mod wakeup;

use std::path::PathBuf;
use std::time::Duration;

use lab_results::NodeProbes;
use serde::{Deserialize, Serialize};

/// What to probe on a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProbePlan {
    /// A directory on the disk that the data is on; a scratch file is made there and removed. None: no disk probe.
    pub directory: Option<PathBuf>,
    /// Run `sysbench`, `ioping` and `fio` as well, where they are installed.
    pub cross_checks: bool,
    pub cpu: bool,
    pub memory: bool,
    /// Loopback, under `self`; other nodes: [`crate::host::probe_pairs`].
    pub network: bool,
    pub wakeup: bool,
    /// Seconds that the stall watch looks, at most 60; 0 for none.
    pub stalls_s: f64,
}

impl Default for ProbePlan {
    /// Everything but the disk, whose place must be given, and the cross-checks.
    fn default() -> Self {
        ProbePlan {
            directory: None,
            cross_checks: false,
            cpu: true,
            memory: true,
            network: true,
            wakeup: true,
            stalls_s: 3.0,
        }
    }
}

const CPU_TIME: Duration = Duration::from_millis(1500);
const MEMORY_TIME: Duration = Duration::from_millis(1000);

/// Probes this machine under the name `node`, one thing after the other so that none disturbs another.
pub fn probe(node: &str, plan: &ProbePlan) -> NodeProbes {
    let mut probes = NodeProbes {
        node: node.to_owned(),
        identity: identity::identity(),
        ..NodeProbes::default()
    };
    if plan.cpu {
        probes.cpu = Some(cpu::probe(CPU_TIME));
    }
    if plan.memory {
        probes.memory = Some(memory::probe(MEMORY_TIME));
    }
    if plan.wakeup {
        probes.wakeup = Some(wakeup::probe(&mut probes.problems));
    }
    if plan.stalls_s > 0.0 {
        probes.stalls = Some(stall::probe(Duration::from_secs_f64(plan.stalls_s.min(60.0))));
    }
    if plan.network {
        match network::probe_loopback() {
            Ok(network) => {
                probes.network.insert("self".to_owned(), network);
            }
            Err(error) => probes.problems.push(format!("network to itself: {error}")),
        }
    }
    if let Some(directory) = &plan.directory {
        match disk::probe(directory, &mut probes.problems) {
            Ok(disk) => probes.disk = Some(disk),
            Err(error) => probes
                .problems
                .push(format!("disk at {}: {error}", directory.display())),
        }
    }
    if plan.cross_checks {
        cross_check::run(plan, &mut probes);
    }
    probes
}
