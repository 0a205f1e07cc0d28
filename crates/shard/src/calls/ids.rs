//! Ids that the leader has set aside for this node.
//!
//! They are good as long as the leader's locks are: a transaction that commits under them has an id that nobody else was given. Who leads
//! next gives the rest of the range again.

use std::collections::HashMap;
use std::ops::Range;

use parking_lot::Mutex;
use types::TableId;

use super::message::IdKind;

/// Ids asked for at a time.
pub(super) const RANGE: u64 = 256;

/// The rests of ranges.
#[derive(Default)]
pub(super) struct Leased {
    ranges: Mutex<HashMap<(TableId, IdKind), (u64, Range<u64>)>>,
}

impl Leased {
    /// Takes `count` ids in a row, none below `at_least`.
    pub fn take(&self, epoch: u64, table: TableId, kind: IdKind, count: u64, at_least: u64) -> Option<Range<u64>> {
        let mut ranges = self.ranges.lock();
        let (of, range) = ranges.get_mut(&(table, kind))?;
        let first = range.start;
        if *of != epoch || first < at_least || range.end - first < count {
            return None;
        }
        range.start += count;
        Some(first..first + count)
    }

    pub fn put(&self, epoch: u64, table: TableId, kind: IdKind, range: Range<u64>) {
        self.ranges.lock().insert((table, kind), (epoch, range));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_of_one_lead_and_go_up() {
        let (leased, table, kind) = (Leased::default(), TableId(7), IdKind::AutoIncrement);
        assert_eq!(leased.take(1, table, kind, 1, 0), None);
        leased.put(1, table, kind, 10..20);
        assert_eq!(leased.take(1, table, kind, 1, 0), Some(10..11));
        assert_eq!(leased.take(1, table, kind, 5, 11), Some(11..16));
        assert_eq!(leased.take(1, table, kind, 5, 0), None, "there are four left");
        assert_eq!(leased.take(1, table, kind, 1, 18), None, "somebody has given 17 himself");
        assert_eq!(leased.take(2, table, kind, 1, 0), None, "of another lead");
        assert_eq!(leased.take(1, table, IdKind::HiddenRow, 1, 0), None);
    }
}
