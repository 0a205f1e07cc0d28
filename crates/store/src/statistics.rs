//! How many different values an index has, and how many bytes it takes, from a sample.
//!
//! In a sorted list the number of different keys is one more than the number of neighbours that differ. So a few leaves, spread
//! evenly, tell the share of differing neighbours; what they show in all is a lower bound for few, frequent values.

#![allow(unsafe_code)]

use crate::btree::{Tree, TreeKind};
use crate::record::{Record, RecordPtr, Version, record_bytes, version_bytes};
use crossbeam_epoch::Guard;
use parking_lot::Mutex;
use std::collections::HashSet;
use types::KeyLayout;

/// How many leaves are looked at.
const LEAVES: u64 = 24;

/// What a leaf has beside each record: the beginning of its key and a pointer, and some room.
const PLACE_BYTES: usize = 24;

/// Shows some leaves, spread evenly: the position where each begins, and its records.
fn each_sampled<'g>(tree: &Tree, entries: u64, guard: &'g Guard, mut show: impl FnMut(u64, &'g [RecordPtr])) {
    let mut next = 0;
    for sample in 0..LEAVES {
        let position = entries * sample / LEAVES;
        // Small indexes have fewer leaves than that.
        if position < next {
            continue;
        }
        let Some((begin, leaf)) = tree.leaf_at(position, guard) else {
            break;
        };
        next = begin + leaf.len() as u64;
        show(begin, leaf);
    }
}

/// Bytes of all entries, with the rows of a primary index: the mean of some leaves, times their number.
pub(crate) fn estimated_bytes(tree: &Tree, guard: &Guard) -> u64 {
    let entries = tree.entries(guard);
    let is_primary = tree.kind() == TreeKind::Primary;
    let (mut bytes, mut looked_at) = (0, 0u64);
    each_sampled(tree, entries, guard, |_, leaf| {
        for record in leaf {
            // SAFETY: found under the guard.
            let record: Record<'_> = unsafe { record.get() };
            bytes += PLACE_BYTES + record_bytes(record.key().len(), !is_primary);
            if is_primary {
                // SAFETY: the tree is a primary one.
                let row = unsafe { record.newest() }.and_then(Version::row);
                bytes += version_bytes(row.map_or(0, <[u8]>::len));
            }
        }
        looked_at += leaf.len() as u64;
    });
    match looked_at {
        0 => 0,
        _ => (bytes as u64 * entries) / looked_at,
    }
}

/// Remembers a sample until the index has grown or shrunk by an eighth.
#[derive(Default)]
pub(crate) struct Statistics {
    sample: Mutex<Option<Sample>>,
}

struct Sample {
    entries: u64,
    distinct: Vec<u64>,
}

impl Statistics {
    pub(crate) fn distinct(&self, tree: &Tree, layout: &KeyLayout, guard: &Guard) -> Vec<u64> {
        let entries = tree.entries(guard);
        let mut known = self.sample.lock();
        match &*known {
            Some(sample) if sample.entries.abs_diff(entries) <= sample.entries / 8 => sample.distinct.clone(),
            _ => {
                let distinct = sample(tree, entries, layout, guard);
                *known = Some(Sample {
                    entries,
                    distinct: distinct.clone(),
                });
                distinct
            }
        }
    }
}

fn sample(tree: &Tree, entries: u64, layout: &KeyLayout, guard: &Guard) -> Vec<u64> {
    let parts = layout.parts().len();
    let mut pairs = 0u64;
    let mut differing = vec![0u64; parts];
    let mut seen: Vec<HashSet<&[u8]>> = vec![HashSet::new(); parts];
    each_sampled(tree, entries, guard, |begin, leaf| {
        // Leaves like to begin with a new value.
        let mut before = begin
            .checked_sub(1)
            .and_then(|last| tree.nth(last, guard))
            .map(Record::key);
        for record in leaf {
            // SAFETY: found under the guard.
            let record: Record<'_> = unsafe { record.get() };
            let key = record.key();
            for part in 0..parts {
                let value = layout.end_of_parts(key, part + 1).map_or(key, |end| &key[..end]);
                seen[part].insert(value);
                differing[part] += u64::from(before.is_some_and(|before| !before.starts_with(value)));
            }
            pairs += u64::from(before.is_some());
            before = Some(key);
        }
    });
    let estimate = |part: usize| match pairs {
        0 => entries,
        _ => {
            let share = differing[part] as f64 / pairs as f64;
            ((share * entries as f64).round() as u64)
                .max(seen[part].len() as u64)
                .min(entries)
        }
    };
    (0..parts).map(estimate).collect()
}
