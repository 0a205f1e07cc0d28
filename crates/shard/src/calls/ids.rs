//! Ids that the leader has set aside for this node.
//!
//! An id that a row of this node was given by its statement moves the range on, and so does one that came from elsewhere and lies within it. Where
//! others go on behind the range, it is not given up: or nodes that take turns would use up a range for each row.
//!
//! They are good as long as the leader's locks are: a transaction that commits under them has an id that nobody else was given. Who leads
//! next gives the rest of the range again.

use std::collections::HashMap;
use std::ops::Range;

use env::failpoints;
use parking_lot::Mutex;
use types::TableId;

use super::message::IdKind;

/// Ids asked for at a time.
pub(super) const RANGE: u64 = 256;

/// Until when ids of a range may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    /// The lead under which it was given.
    pub epoch: u64,
    /// How often the table's counter had been set anew.
    pub resets: u64,
}

/// The rests of ranges.
#[derive(Default)]
pub(super) struct Leased {
    ranges: Mutex<HashMap<(TableId, IdKind), (Validity, Range<u64>)>>,
}

impl Leased {
    /// Takes `count` ids in a row, none below `given` if that is within the range; fewer, or none, where there are no greater numbers.
    pub fn take(&self, valid: Validity, table: TableId, kind: IdKind, count: u64, given: u64) -> Option<Range<u64>> {
        let mut ranges = self.ranges.lock();
        let (of, range) = ranges.get_mut(&(table, kind))?;
        let first = match given {
            given if given < range.end => range.start.max(given),
            _ => range.start,
        };
        let is_last = range.end == u64::MAX;
        if *of != valid && !failpoints::goes_wrong("ids.lead") || range.end.saturating_sub(first) < count && !is_last {
            return None;
        }
        range.start = first.saturating_add(count);
        Some(first..range.start)
    }

    /// A statement has given an id itself: automatic ones go on at `next`.
    pub fn raise(&self, table: TableId, next: u64) {
        if let Some((_, range)) = self.ranges.lock().get_mut(&(table, IdKind::AutoIncrement)) {
            range.start = range.start.max(next.min(range.end));
        }
    }

    pub fn put(&self, valid: Validity, table: TableId, kind: IdKind, range: Range<u64>) {
        self.ranges.lock().insert((table, kind), (valid, range));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_of_one_lead_and_go_up() {
        let (leased, table, kind) = (Leased::default(), TableId(7), IdKind::AutoIncrement);
        let of = |epoch| Validity { epoch, resets: 0 };
        assert_eq!(leased.take(of(1), table, kind, 1, 0), None);
        leased.put(of(1), table, kind, 10..20);
        assert_eq!(leased.take(of(1), table, kind, 1, 0), Some(10..11));
        assert_eq!(leased.take(of(1), table, kind, 5, 11), Some(11..16));
        assert_eq!(leased.take(of(1), table, kind, 5, 0), None, "there are four left");
        assert_eq!(
            leased.take(of(1), table, kind, 1, 18),
            Some(18..19),
            "somebody has given 17 himself"
        );
        assert_eq!(
            leased.take(of(1), table, kind, 1, 99),
            Some(19..20),
            "others go on elsewhere"
        );
        assert_eq!(leased.take(of(1), table, kind, 1, 0), None, "there are none behind 19");
        leased.put(of(1), table, kind, 30..40);
        leased.raise(table, 35);
        assert_eq!(leased.take(of(1), table, kind, 1, 0), Some(35..36));
        leased.raise(table, 1000);
        assert_eq!(leased.take(of(1), table, kind, 1, 0), None);
        leased.put(of(1), table, kind, 1000..1001);
        assert_eq!(leased.take(of(2), table, kind, 1, 0), None, "of another lead");
        assert_eq!(leased.take(of(1), table, IdKind::HiddenRow, 1, 0), None);
        leased.put(of(1), table, kind, u64::MAX - 1..u64::MAX);
        assert_eq!(leased.take(Validity { epoch: 1, resets: 1 }, table, kind, 1, 0), None);
        assert_eq!(leased.take(of(1), table, kind, 3, 0), Some(u64::MAX - 1..u64::MAX));
        assert_eq!(leased.take(of(1), table, kind, 1, 0), Some(u64::MAX..u64::MAX));
    }
}
