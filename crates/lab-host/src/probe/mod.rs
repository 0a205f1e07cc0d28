//! What a machine can do, measured in process, without root, in less than a minute.
//!
//! Each probe says which well-known tool it can be held against, and `cross_check` does so where that tool is installed.
//! Disks are measured through a file of our own in a given directory, never through a device.

pub mod agreement;
mod cpu;
mod cross_check;
mod disk;
mod identity;
mod memory;
pub mod network;
mod stall;
mod wakeup;

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use lab_results::NodeProbes;
use serde::{Deserialize, Serialize};

use crate::WatchPlan;
use crate::cost::busy_share;
use crate::watch::Watcher;

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

/// What a machine that waits for its measurement may do besides.
const OTHERS_LIMIT: f64 = 0.15;
const LOOK: Duration = Duration::from_millis(300);

/// Share of this machine that works while we do not.
fn busy_with_others() -> f64 {
    let Ok(mut watcher) = Watcher::new("", &WatchPlan::default()) else {
        return 0.0;
    };
    thread::sleep(LOOK);
    let sample = watcher.sample();
    busy_share(&sample) + sample.cpu.steal
}

/// Probes this machine under the name `node`, one thing after the other so that none disturbs another.
pub fn probe(node: &str, plan: &ProbePlan) -> NodeProbes {
    let mut probes = NodeProbes {
        node: node.to_owned(),
        identity: identity::identity(),
        ..NodeProbes::default()
    };
    let before = busy_with_others();
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
    let others = before.max(busy_with_others());
    if others >= OTHERS_LIMIT {
        probes.problems.push(format!(
            "other work kept {:.0} % of this machine busy while it was probed (limit {:.0} %): it can do more than these figures say",
            100.0 * others,
            100.0 * OTHERS_LIMIT
        ));
    }
    if plan.cross_checks {
        cross_check::run(plan, &mut probes);
    }
    probes
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const NOTHING: ProbePlan = ProbePlan {
        directory: None,
        cross_checks: false,
        cpu: false,
        memory: false,
        network: false,
        wakeup: false,
        stalls_s: 0.0,
    };

    #[test]
    fn other_work_on_the_machine_is_a_problem() {
        let stop = AtomicBool::new(false);
        let probes = thread::scope(|scope| {
            for _ in 0..cpu::cores() {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let probes = probe("here", &NOTHING);
            stop.store(true, Ordering::Relaxed);
            probes
        });
        assert!(
            probes.problems.iter().any(|problem| problem.contains("other work")),
            "{probes:?}"
        );
        assert!(probes.cpu.is_none() && probes.memory.is_none() && probes.stalls.is_none());
    }

    #[test]
    fn a_directory_that_is_not_there_is_a_problem_and_no_figure() {
        let plan = ProbePlan {
            directory: Some(PathBuf::from("/no/such/directory")),
            ..NOTHING
        };
        let probes = probe("here", &plan);
        assert!(probes.disk.is_none());
        assert!(
            probes
                .problems
                .iter()
                .any(|problem| problem.contains("/no/such/directory")),
            "{probes:?}"
        );
    }
}
