//! Sorting, however much, in steps.

use std::cmp::Ordering;

use crate::Stop;

/// So many are sorted in one go; longer lists are made of such runs.
const RUN: usize = 128;

/// Sorts; equal items keep their order. A long sort gives way to other statements, and ends when its statement has to: the standard
/// library's sorts cannot be left, so they sort short runs only. Merged are the places of the items, which are moved once at the end.
pub fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) -> Result<(), Stop> {
    let mut compare = |a: &T, b: &T| {
        crate::pause();
        compare(a, b)
    };
    for run in items.chunks_mut(RUN) {
        crate::tick()?;
        run.sort_by(&mut compare);
    }
    if items.len() <= RUN {
        crate::tick()?;
        return Ok(());
    }
    let places = merged_places(items, &mut compare)?;
    arrange(items, places)
}

/// For each place, that of the item which belongs there. The runs of `items` are sorted.
fn merged_places<T>(items: &[T], compare: &mut impl FnMut(&T, &T) -> Ordering) -> Result<Vec<u32>, Stop> {
    // More would not fit into memory.
    let count = u32::try_from(items.len()).expect("fewer items than a place can name");
    crate::ensure(2 * items.len() * size_of::<u32>())?;
    let mut places = Vec::with_capacity(items.len());
    append(&mut places, 0..count)?;
    let mut merged = Vec::with_capacity(items.len());
    let mut run = RUN;
    // Neighbours are merged, so that equal items stay in order.
    while run < items.len() {
        merged.clear();
        for pair in places.chunks(run * 2) {
            let (first, second) = pair.split_at(run.min(pair.len()));
            merge(first, second, &mut merged, &mut |a, b| {
                compare(&items[a as usize], &items[b as usize])
            })?;
        }
        std::mem::swap(&mut places, &mut merged);
        run *= 2;
    }
    Ok(places)
}

fn merge(
    first: &[u32],
    second: &[u32],
    merged: &mut Vec<u32>,
    compare: &mut impl FnMut(u32, u32) -> Ordering,
) -> Result<(), Stop> {
    let (mut first, mut second) = (first.iter().copied().peekable(), second.iter().copied().peekable());
    let in_order = first.clone().last().zip(second.peek().copied());
    if in_order.is_some_and(|(a, b)| compare(a, b).is_gt()) {
        while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
            crate::tick()?;
            merged.extend(match compare(*a, *b) {
                Ordering::Greater => second.next(),
                Ordering::Less | Ordering::Equal => first.next(),
            });
        }
    }
    append(merged, first)?;
    append(merged, second)
}

fn append(places: &mut Vec<u32>, more: impl Iterator<Item = u32>) -> Result<(), Stop> {
    let mut more = more.peekable();
    while more.peek().is_some() {
        crate::tick()?;
        places.extend(more.by_ref().take(RUN));
    }
    Ok(())
}

/// Moves the items to their places.
fn arrange<T>(items: &mut [T], mut places: Vec<u32>) -> Result<(), Stop> {
    for start in 0..items.len() {
        let mut at = start;
        loop {
            crate::tick()?;
            // From here on the place has the right item.
            let from = std::mem::replace(&mut places[at], at as u32) as usize;
            if from == start || from == at {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interrupt, probe};

    fn items(count: u32) -> Vec<(u32, u32)> {
        (0..count).map(|at| (at.wrapping_mul(2_654_435_761) % 97, at)).collect()
    }

    #[test]
    fn long_and_short_lists_are_sorted_stably() {
        for count in [0, 1, 2, 127, 128, 129, 1000, 5000] {
            let mut expected = items(count);
            expected.sort();
            let mut sorted = items(count);
            for _ in 0..2 {
                sort_by(&mut sorted, |a, b| a.0.cmp(&b.0)).expect("nobody stops it");
                assert_eq!(sorted, expected);
            }
        }
    }

    #[test]
    fn a_sort_ends_at_whatever_tick_its_statement_is_killed() {
        let sort = || sort_by(&mut items(1000), |a, b| a.cmp(b));
        let ticks = probe::count(sort).ticks;
        assert!(ticks > 1000);
        for tick in (1..ticks).step_by(97) {
            let killed = probe::kill_at(tick, sort).result;
            assert_eq!(killed, Err(Stop::Interrupt(Interrupt::KillQuery)));
        }
    }
}
