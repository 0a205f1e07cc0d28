//! The tables: filled in parallel also within one table, checked before a series, dropped after it.

use crate::{DriverError, Stop, Target, Workload};

#[derive(Debug, Clone)]
pub struct PrepareSpec {
    /// Connections that load; spread over the target's servers.
    pub connections: usize,
    pub seed: u64,
}

/// What was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prepared {
    pub tables: u64,
    pub rows: u64,
    pub bytes_sent: u64,
    pub seconds: f64,
}

/// What is there, compared with what the workload needs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Check {
    pub tables: Vec<TableCheck>,
    /// Each a sentence that says what to do. Empty: the workload can run.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableCheck {
    pub name: String,
    pub rows: u64,
    pub least_id: Option<i64>,
    pub greatest_id: Option<i64>,
    /// `column type` of each column in order, then `key (columns)` of each index: equal texts are equal schemas.
    pub schema: Vec<String>,
}

/// Creates and fills the workload's tables; `progress` gets (rows loaded, rows in all) about once a second. Tables that are there
/// already are an error of the server (1050): [`cleanup`] first.
pub fn prepare(
    target: &Target,
    workload: &Workload,
    spec: &PrepareSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Prepared, DriverError> {
    let _ = (target, workload, spec, stop, progress);
    Err(DriverError::Spec("prepare is not there yet".into()))
}

/// Drops the workload's tables, those that exist.
pub fn cleanup(target: &Target, workload: &Workload) -> Result<(), DriverError> {
    let _ = (target, workload);
    Err(DriverError::Spec("cleanup is not there yet".into()))
}

/// Looks through `server`: every table there, the right number of rows, ids without gaps.
pub fn check(target: &Target, server: &str, workload: &Workload) -> Result<Check, DriverError> {
    let _ = (target, server, workload);
    Err(DriverError::Spec("check is not there yet".into()))
}
