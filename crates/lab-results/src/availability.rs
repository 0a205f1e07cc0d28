//! What became of a target that lost servers under load (`availability.json`): how long nobody was answered, what it cost,
//! and whether every write that was acknowledged is still there.
//!
//! A write whose answer never came is *unknown*: it may be there or not, and both are right. Only an acknowledged write
//! that is missing, a refused one that is there, or one that is there twice, is wrong.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cluster::NodeWatch;
use crate::run::Event;
use crate::rung::ErrorCount;
use crate::{Latency, UnixMicros};

/// `availability.json`, of one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Availability {
    pub target: String,
    pub started: UnixMicros,
    pub measured_s: f64,
    /// Connections that write the ledger.
    pub writers: u32,
    pub faults: Vec<FaultReport>,
    /// Every second of the interval.
    pub seconds: Vec<LedgerSecond>,
    /// Of the whole interval, by code and server.
    pub errors: Vec<ErrorCount>,
    pub data: DataCheck,
    /// The nodes of a LatsDB cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster: Vec<NodeWatch>,
    /// Who led and who answered, when that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Event>,
}

/// What the ledger's writers saw in one second of the interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerSecond {
    pub second: u64,
    pub acknowledged: u64,
    pub unknown: u64,
    pub refused: u64,
    /// Acknowledged, by server.
    pub servers: BTreeMap<String, u64>,
    /// Of those acknowledged in it, from the sending; absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Latency::is_empty")]
    pub latency: Latency,
}

/// One fault, from the moment it was made to the next fault or the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultReport {
    pub name: String,
    pub node: Option<String>,
    pub at: UnixMicros,
    /// When its end was ordered (the server started again, the cut mended).
    pub restored: Option<UnixMicros>,
    /// Why the fault, or its end, could not be made; the figures then say nothing of it.
    pub problems: Vec<String>,
    /// Over all servers: the longest time without one acknowledged write.
    pub gap: Option<Gap>,
    /// The same for each server alone.
    pub servers: BTreeMap<String, Gap>,
    /// Acknowledged writes per second before the first fault.
    pub rate_before_per_s: f64,
    /// Writes that the rate before would have given and the window did not.
    pub dip_writes: f64,
    /// Seconds from the fault until the rate was at nine tenths of the one before, and stayed there for three seconds.
    pub recovered_after_s: Option<f64>,
    /// Of acknowledged writes.
    pub p999_before_us: Option<u64>,
    pub p999_window_us: Option<u64>,
    pub errors: Vec<ErrorCount>,
}

/// A time without success: the last acknowledgement before and the first after. Without `until`, none came again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub from: UnixMicros,
    pub until: Option<UnixMicros>,
}

impl Gap {
    /// `None` if it did not end.
    pub fn us(&self) -> Option<u64> {
        self.until.map(|until| until.0.saturating_sub(self.from.0))
    }
}

/// The ledger against the tables, after the faults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataCheck {
    pub acknowledged: u64,
    pub unknown: u64,
    /// Of the unknown, those that turned out to be there.
    pub unknown_present: u64,
    pub refused: u64,
    pub lost: u64,
    pub doubled: u64,
    /// Refused or never sent, and there.
    pub unexpected: u64,
    /// Rows whose counter is below the acknowledged increments, or above these and the unknown ones.
    pub wrong_counters: u64,
    /// The first findings, each a sentence.
    pub findings: Vec<String>,
    /// Servers that did not come back; the others were checked.
    #[serde(default)]
    pub missing_servers: Vec<String>,
    /// Why the check could not be made, if so.
    pub not_checked: Option<String>,
}

impl DataCheck {
    /// Every server that answers has exactly what was acknowledged.
    pub fn holds(&self) -> bool {
        self.not_checked.is_none()
            && self.lost == 0
            && self.doubled == 0
            && self.unexpected == 0
            && self.wrong_counters == 0
    }
}
