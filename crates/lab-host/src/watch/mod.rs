//! What a machine does: one sample each second, from the kernel's counters.
//!
//! ```text
//!   /proc, /sys, ioctl ── counters.rs (text → numbers) ── difference.rs (two readings → a sample) ── Watcher
//! ```
//!
//! Where the node is a container, [`cgroup`] puts the group's processor time, quota, pressure and disk in the machine's place.

mod cgroup;
mod counters;
mod difference;
mod ethtool;
mod processes;

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lab_results::{NodeSample, UnixMicros};
use serde::{Deserialize, Serialize};

use crate::HostError;
use cgroup::Group;
use counters::Counters;
use ethtool::Allowances;
use processes::Processes;

/// What to look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WatchPlan {
    /// Processes whose CPU is told apart: a number is a pid, anything else a command's name (as in `ps -o comm`), which stands for
    /// all processes of that name whose pid is not in the list itself.
    /// They appear under the same words in [`lab_results::NodeSample::processes`].
    pub processes: Vec<String>,
    /// The node is this control group (`/a/b`, as /proc/PID/cgroup names it) rather than the machine: CPU, pressure and
    /// disk are the group's, its quota stands for the cores. `None`: the machine, or the container with a quota around us.
    pub cgroup: Option<String>,
    /// Between two samples; 100 to 60,000.
    pub interval_ms: u32,
}

impl Default for WatchPlan {
    fn default() -> Self {
        WatchPlan {
            processes: Vec::new(),
            cgroup: None,
            interval_ms: 1000,
        }
    }
}

impl WatchPlan {
    pub fn interval(&self) -> Duration {
        Duration::from_millis(u64::from(self.interval_ms.clamp(100, 60_000)))
    }
}

/// Reads the counters and keeps the last reading, to tell what came since.
#[derive(Debug)]
pub struct Watcher {
    node: String,
    interval: Duration,
    group: Option<Group>,
    processes: Processes,
    allowances: Allowances,
    last: Counters,
}

impl Watcher {
    /// Fails if the control group is not there: a machine's figures would pass for a container's.
    pub fn new(node: &str, plan: &WatchPlan) -> Result<Watcher, HostError> {
        let group = match &plan.cgroup {
            Some(name) => Some(Group::find(name)?),
            None => Group::of_container(),
        };
        let processes = Processes::new(&plan.processes);
        let allowances = Allowances::of_all_interfaces();
        let last = Counters::read(group.as_ref(), &processes, &allowances);
        Ok(Watcher {
            node: node.to_owned(),
            interval: plan.interval(),
            group,
            processes,
            allowances,
            last,
        })
    }

    /// Sleeps until the clock's next whole interval, then tells what came since the last sample.
    pub fn next_sample(&mut self) -> NodeSample {
        let interval = self.interval.as_micros() as u64;
        loop {
            let wait = Duration::from_micros(interval - now().0 % interval);
            thread::sleep(wait);
            // A sleep may end a little early by the other clock; a second sample within the same interval helps nobody.
            if self.last.since() * 2 >= self.interval {
                return self.sample();
            }
        }
    }

    /// What came since the last sample.
    pub fn sample(&mut self) -> NodeSample {
        let counters = Counters::read(self.group.as_ref(), &self.processes, &self.allowances);
        let sample = difference::sample(&self.node, &self.last, &counters);
        self.last = counters;
        sample
    }
}

/// This machine's wall clock.
pub fn now() -> UnixMicros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMicros(since.as_micros() as u64)
}

#[cfg(test)]
mod tests;
