//! What a machine can do, measured in process, without root, in less than a minute.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What to probe on a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Seconds that the stall watch looks; 0 for none.
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
