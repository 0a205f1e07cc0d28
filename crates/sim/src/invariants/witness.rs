//! A witness has no rows, gives no locks, and decides nothing: whoever asked it would be told wrong.

use shard::Shard;

use crate::report::Report;

pub fn check(node: u32, shard: &Shard, report: &Report) {
    let status = shard.status();
    if !shard.store().tables().is_empty() {
        report.violation("witness", format_args!("node {node} has tables"));
    }
    if status.is_leader || status.leader == Some(node) || shard.lock_epoch() != u64::MAX {
        report.violation("witness", format_args!("node {node} is asked for what only rows tell"));
    }
}
