//! How many different values an index has, from a sample.
//!
//! In a sorted list the number of different keys is one more than the number of neighbours that differ. So a few leaves, spread
//! evenly, tell the share of differing neighbours; what they show in all is a lower bound for few, frequent values.

#![allow(unsafe_code)]

use crate::btree::Tree;
use crate::record::Record;
use crossbeam_epoch::Guard;
use parking_lot::Mutex;
use std::collections::HashSet;
use types::KeyLayout;

/// How many leaves are looked at.
const LEAVES: u64 = 24;

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
    }
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
