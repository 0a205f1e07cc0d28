//! The real sysbench as the driver (`driver = "sysbench"`), and its output as figures.

use crate::{DriverError, Outcome, RungSpec, Stop, Target, Workload};

/// `sysbench --version`, if it is installed: as `1.0.20`.
pub fn version() -> Option<String> {
    let output = std::process::Command::new("sysbench").arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_whitespace().nth(1).map(str::to_owned)
}

/// As [`crate::run`], by the real sysbench: what it does not say (latency per statement, rows, bytes) is absent or zero.
/// Options that it does not have are refused by name.
pub fn run(
    target: &Target,
    workload: &Workload,
    spec: &RungSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(&lab_results::Second),
) -> Result<Outcome, DriverError> {
    let _ = (target, workload, spec, stop, progress);
    Err(DriverError::Sysbench("the runner is not there yet".into()))
}
