//! What a machine does: one sample each second, from the kernel's counters.

use serde::{Deserialize, Serialize};

/// What to look at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchPlan {
    /// Processes whose CPU is told apart: a number is a pid, anything else a command's name (as in `ps -o comm`).
    /// They appear under the same words in [`lab_results::NodeSample::processes`].
    pub processes: Vec<String>,
    /// The node is this control group (`/a/b`, as /proc/PID/cgroup names it) rather than the machine: CPU, pressure and
    /// disk are the group's, its quota stands for the cores.
    pub cgroup: Option<String>,
}
