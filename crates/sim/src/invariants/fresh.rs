//! What begins after a commit was answered sees it, wherever it runs; and a commit comes after all that were answered before it began.
//!
//! Whoever leads by a lease answers readers without asking anybody: so it has everything that was answered, at any moment.

use std::sync::atomic::{AtomicU64, Ordering};

use shard::Shard;
use types::Timestamp;

use crate::report::Report;

/// The newest commit that anybody was told of.
#[derive(Default)]
pub struct Fresh {
    answered: AtomicU64,
}

impl Fresh {
    /// What begins now must see commits up to here.
    pub fn floor(&self) -> Timestamp {
        Timestamp(self.answered.load(Ordering::Relaxed))
    }

    pub fn answered(&self, at: Timestamp) {
        self.answered.fetch_max(at.0, Ordering::Relaxed);
    }

    /// A read that began on this node now, and could, would see everything.
    pub fn check_lease(&self, node: u32, shard: &Shard, report: &Report) {
        let (floor, newest) = (self.floor(), shard.store().published());
        let leads = shard.lock_epoch() != u64::MAX;
        if leads && shard.freshness().is_none() && newest < floor {
            report.violation(
                "fresh",
                format_args!(
                    "node {node} reads at {} under its lease, and {} has been answered",
                    newest.0, floor.0
                ),
            );
        }
    }

    pub fn check_read(&self, who: &str, floor: Timestamp, snapshot: Timestamp, report: &Report) {
        if snapshot < floor {
            report.violation(
                "fresh",
                format_args!(
                    "{who} reads at {}, and {} had been answered before it began",
                    snapshot.0, floor.0
                ),
            );
        }
    }

    pub fn check_commit(&self, who: &str, floor: Timestamp, at: Timestamp, report: &Report) {
        if at <= floor {
            report.violation(
                "fresh",
                format_args!(
                    "{who} commits at {}, and {} had been answered before it began",
                    at.0, floor.0
                ),
            );
        }
    }
}
