//! What became of transactions follows from the log alone: replicas that have applied the same entries say the same of each of them. Whoever
//! leads next would otherwise tell an issuer that its commit was not made, or give it another's timestamp.

use std::collections::BTreeMap;

use shard::Shard;

use crate::report::Report;

#[derive(Default)]
pub struct Outcomes {
    /// Hashes of what is known behind an entry, and who knew it first.
    known: BTreeMap<u64, (u64, u32)>,
    /// Up to which entry each node was looked at last.
    seen: BTreeMap<u32, Option<u64>>,
}

impl Outcomes {
    /// The node has begun another life: it may be at an earlier entry again.
    pub fn forget(&mut self, node: u32) {
        self.seen.remove(&node);
    }

    /// The node has applied the log up to here.
    pub fn look(&mut self, node: u32, applied: Option<u64>, shard: &Shard, report: &Report) {
        if self.seen.insert(node, applied) == Some(applied) {
            return;
        }
        if let (Some(index), hash) = shard.outcomes_digest() {
            self.compare(node, index, hash, report);
        }
    }

    fn compare(&mut self, node: u32, index: u64, hash: u64, report: &Report) {
        let (first, whose) = *self.known.entry(index).or_insert((hash, node));
        if first != hash {
            report.violation(
                "outcomes",
                format_args!("behind entry {index} node {node} knows other outcomes than node {whose}"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::trace::Trace;

    #[test]
    fn another_outcome_at_the_same_entry_is_found() {
        let report = Report::new(Arc::new(Trace::new(false)));
        let mut outcomes = Outcomes::default();
        for (node, index, hash) in [(1, 5, 10), (2, 6, 11), (2, 5, 10), (3, 6, 11)] {
            outcomes.compare(node, index, hash, &report);
        }
        assert!(!report.has_any());
        outcomes.compare(1, 6, 12, &report);
        assert_eq!(report.all().len(), 1);
    }
}
