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

/// Ids asked for at a time, at most.
const RANGE: u64 = 256;
/// Of those that a column can still have a node sets no greater part aside, or a few nodes would use up a small column's.
const RANGES_LEFT_MIN: u64 = 1024;

/// How many ids a node asks for that needs `count`, where `left` are left.
pub(super) fn wanted(count: u64, left: u64) -> u64 {
    count.max((left / RANGES_LEFT_MIN).clamp(1, RANGE))
}

/// Until when ids of a range may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    /// The lead under which it was given.
    pub epoch: u64,
    /// How often the table's counter had been set anew.
    pub resets: u64,
}

/// `offset`, `offset + step`, `offset + 2 * step`…
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    pub step: u64,
    pub offset: u64,
}

impl Sequence {
    /// All numbers.
    pub const ALL: Sequence = Sequence { step: 1, offset: 1 };

    /// The first of its numbers from here on, as `store::Table::take_auto_increments` has it.
    fn next(self, from: u64) -> u64 {
        let Sequence { step, offset } = self;
        match step {
            0 | 1 => from,
            _ => offset.saturating_add(from.saturating_sub(offset).div_ceil(step).saturating_mul(step)),
        }
    }
}

/// The rests of ranges.
#[derive(Default)]
pub(super) struct Leased {
    ranges: Mutex<HashMap<(TableId, IdKind), Rest>>,
}

struct Rest {
    valid: Validity,
    range: Range<u64>,
    /// Where the range before ended, if this one goes on with its rest. Who knows that all below are given has heard of that range.
    joint: u64,
}

impl Leased {
    /// Takes `count` ids in a row, the first one of a sequence, and none below `given` if that is within the range; fewer, or none, where there are no
    /// greater numbers.
    pub fn take(
        &self,
        valid: Validity,
        (table, kind): (TableId, IdKind),
        count: u64,
        sequence: Sequence,
        given: u64,
    ) -> Option<Range<u64>> {
        let mut ranges = self.ranges.lock();
        let Rest {
            valid: of,
            range,
            joint,
        } = ranges.get_mut(&(table, kind))?;
        let first = match given {
            given if given < range.end && given != *joint => range.start.max(given),
            _ => range.start,
        };
        let first = sequence.next(first);
        let is_last = range.end == u64::MAX;
        if *of != valid && !failpoints::goes_wrong("ids.lead") || range.end.saturating_sub(first) < count && !is_last {
            return None;
        }
        range.start = first.saturating_add(count);
        Some(first..range.start)
    }

    /// A statement has given an id itself: automatic ones go on at `next`.
    pub fn raise(&self, table: TableId, next: u64) {
        if let Some(Rest { range, .. }) = self.ranges.lock().get_mut(&(table, IdKind::AutoIncrement)) {
            range.start = range.start.max(next.min(range.end));
        }
    }

    /// Where nobody else was given any in between, a range goes on with the rest of the one before: so an idle cluster has no gaps.
    pub fn put(&self, valid: Validity, table: TableId, kind: IdKind, mut range: Range<u64>) {
        let mut ranges = self.ranges.lock();
        let joint = range.start;
        if let Some(rest) = ranges.get(&(table, kind))
            && rest.valid == valid
            && rest.range.end == range.start
        {
            range.start = rest.range.start;
        }
        ranges.insert((table, kind), Rest { valid, range, joint });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_node_sets_much_of_a_small_column_aside() {
        for (count, left, expected) in [
            (1, 255, 1),
            (1, 65_535, 63),
            (100, 65_535, 100),
            (1, u64::MAX, RANGE),
            (1, 0, 1),
        ] {
            assert_eq!(wanted(count, left), expected, "{count} of {left}");
        }
    }

    #[test]
    fn ids_are_of_one_lead_and_go_up() {
        let (leased, table, kind) = (Leased::default(), TableId(7), IdKind::AutoIncrement);
        let of = |epoch| Validity { epoch, resets: 0 };
        let take = |epoch, count, given| leased.take(of(epoch), (table, kind), count, Sequence::ALL, given);
        assert_eq!(take(1, 1, 0), None);
        leased.put(of(1), table, kind, 10..20);
        assert_eq!(take(1, 1, 0), Some(10..11));
        assert_eq!(take(1, 5, 11), Some(11..16));
        assert_eq!(take(1, 5, 0), None, "there are four left");
        assert_eq!(take(1, 1, 18), Some(18..19), "somebody has given 17 himself");
        assert_eq!(take(1, 1, 99), Some(19..20), "others go on elsewhere");
        assert_eq!(take(1, 1, 0), None, "there are none behind 19");
        leased.put(of(1), table, kind, 20..30);
        assert_eq!(take(1, 7, 0), Some(20..27));
        assert_eq!(take(1, 7, 0), None, "there are three left");
        leased.put(of(1), table, kind, 30..40);
        assert_eq!(take(1, 7, 0), Some(27..34), "nobody was given any between");
        leased.put(of(1), table, kind, 50..60);
        assert_eq!(take(1, 7, 0), Some(50..57), "others were");
        leased.put(of(2), table, kind, 60..70);
        assert_eq!(take(2, 7, 0), Some(60..67), "of another lead");
        leased.put(of(1), table, kind, 30..40);
        leased.raise(table, 35);
        assert_eq!(take(1, 1, 0), Some(35..36));
        leased.raise(table, 1000);
        assert_eq!(take(1, 1, 0), None);
        leased.put(of(1), table, kind, 1000..1001);
        assert_eq!(take(2, 1, 0), None, "of another lead");
        assert_eq!(
            leased.take(of(1), (table, IdKind::HiddenRow), 1, Sequence::ALL, 0),
            None
        );
        leased.put(of(1), table, kind, u64::MAX - 1..u64::MAX);
        assert_eq!(
            leased.take(Validity { epoch: 1, resets: 1 }, (table, kind), 1, Sequence::ALL, 0),
            None
        );
        assert_eq!(take(1, 3, 0), Some(u64::MAX - 1..u64::MAX));
        assert_eq!(take(1, 1, 0), Some(u64::MAX..u64::MAX));
    }

    #[test]
    fn the_rest_of_a_range_serves_sequences() {
        let (leased, key) = (Leased::default(), (TableId(7), IdKind::AutoIncrement));
        let valid = Validity { epoch: 1, resets: 0 };
        let third = Sequence { step: 10, offset: 3 };
        leased.put(valid, key.0, key.1, 11..60);
        assert_eq!(leased.take(valid, key, 20, third, 0), Some(13..33));
        assert_eq!(leased.take(valid, key, 1, Sequence::ALL, 0), Some(33..34));
        assert_eq!(leased.take(valid, key, 20, third, 0), None, "two of them reach further");
        assert_eq!(leased.take(valid, key, 10, third, 0), Some(43..53));
        assert_eq!(Sequence { step: 10, offset: 3 }.next(3), 3);
        assert_eq!(Sequence { step: 10, offset: 3 }.next(1), 3);
        assert_eq!(Sequence { step: 2, offset: 1 }.next(u64::MAX), u64::MAX);
    }
}
