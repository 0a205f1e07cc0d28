//! Records whose superseded versions are kept for a while: because the past is read ([`Past`](crate::past::Past)), not because a
//! running transaction needs them.
//!
//! ```text
//!   newest                                    oldest readable moment
//!   v9 ─▶ v8 ─▶ v7 ─▶ v6 ─▶ v5 ─▶ v4 ─▶ │ ─▶ v3 ─▶ v2
//!                     mark ┘                  └ from here on nobody can read them
//! ```
//!
//! A record is filed once, with its newest version of that time, the *mark*, under the moment from which on what is older than the mark
//! cannot be read. However often the row changes meanwhile, nobody looks at it, and nobody walks from its newest version to the old ones:
//! when the moment has come, what hangs behind the mark is freed, and the record is filed anew with a new mark. So a change costs the
//! collector no more than without a past, and a row that changes all the time keeps less than twice the window.

use super::collect::Queued;
use crate::record::{Record, VersionPtr};
use crate::snapshot::Active;
use std::collections::{BTreeMap, VecDeque};
use types::{IndexId, Timestamp};

/// Records are listed in blocks: no long list is ever copied.
const BLOCK: usize = 1024;
/// Moments are rounded up to this part of what is kept, so that there are few lists.
const STEPS: u64 = 16;

#[derive(Clone, Copy)]
pub(super) struct Kept {
    pub(super) queued: Queued,
    /// Of a row.
    pub(super) mark: Option<VersionPtr>,
}

/// The records of one table, each at most once.
#[derive(Default)]
pub(super) struct PastQueue {
    filed: BTreeMap<Timestamp, Vec<Vec<Kept>>>,
    /// Their moment has come.
    due: VecDeque<Vec<Kept>>,
}

impl PastQueue {
    /// Until what was superseded at `end` cannot be read any more.
    pub(super) fn file(&mut self, active: &Active, end: Timestamp, record: Record<'_>, kept: Kept) {
        record.enter_past();
        let step = (active.published().0.saturating_sub(active.oldest().0) / STEPS + 1).next_power_of_two();
        let moment = Timestamp(end.0.saturating_add(step - 1) & !(step - 1));
        push(self.filed.entry(moment).or_default(), kept);
    }

    /// When there is something to do next.
    pub(super) fn first(&self) -> Option<Timestamp> {
        self.filed.first_key_value().map(|(moment, _)| *moment)
    }

    pub(super) fn wake(&mut self, active: &Active) {
        while let Some(entry) = self.filed.first_entry()
            && active.is_over(*entry.key())
        {
            self.due.extend(entry.remove());
        }
    }

    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    pub(super) fn next(&mut self) -> Option<Kept> {
        loop {
            match self.due.front_mut()?.pop() {
                Some(kept) => return Some(kept),
                None => self.due.pop_front(),
            };
        }
    }

    /// There is more to be done with it.
    pub(super) fn put_back(&mut self, kept: Kept) {
        self.due.push_front(vec![kept]);
    }

    /// Takes the records of an index out.
    pub(super) fn forget(&mut self, index: IndexId) {
        for block in self.filed.values_mut().flatten().chain(&mut self.due) {
            block.retain(|kept| kept.queued.index != index);
        }
    }
}

fn push(blocks: &mut Vec<Vec<Kept>>, kept: Kept) {
    match blocks.last_mut() {
        Some(block) if block.len() < BLOCK => block.push(kept),
        // Most tables have few.
        _ => blocks.push(vec![kept]),
    }
}
