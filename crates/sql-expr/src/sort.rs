//! ORDER BY: keys, their order, and sorting by it.

use std::cmp::Ordering;

use governor::stepwise::Stepwise;
use types::{CollationId, SqlResult, Value, ValueRef};

use crate::Expr;

/// One expression of an ORDER BY.
#[derive(Debug, Clone)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
}

/// So many are sorted in one go; longer lists are made of such runs.
const RUN: usize = 128;

/// Sorts; equal items keep their order. A long sort gives way to other statements, and ends when its statement has to: the standard
/// library's sorts cannot be left, so they sort short runs only, which are merged here.
pub fn sort_by<T>(
    items: impl Into<Stepwise<Vec<T>>>,
    mut compare: impl FnMut(&T, &T) -> Ordering,
) -> SqlResult<Stepwise<Vec<T>>> {
    let mut items = items.into();
    let mut compare = |a: &T, b: &T| {
        governor::pause();
        compare(a, b)
    };
    if items.len() <= RUN {
        items.sort_by(&mut compare);
        governor::tick()?;
        return Ok(items);
    }
    let mut runs = Vec::with_capacity(items.len().div_ceil(RUN));
    let mut rest = items.into_iter();
    loop {
        governor::tick()?;
        let mut run: Stepwise<Vec<T>> = rest.by_ref().take(RUN).collect();
        if run.is_empty() {
            break;
        }
        run.sort_by(&mut compare);
        runs.push(run);
    }
    // Neighbours are merged, so that equal items stay in order.
    while runs.len() > 1 {
        let mut longer = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(first) = pairs.next() {
            longer.push(match pairs.next() {
                Some(second) => merge(first, second, &mut compare)?,
                None => first,
            });
        }
        runs = longer;
    }
    Ok(runs.pop().unwrap_or_else(|| Vec::new().into()))
}

fn merge<T>(
    mut first: Stepwise<Vec<T>>,
    second: Stepwise<Vec<T>>,
    compare: &mut impl FnMut(&T, &T) -> Ordering,
) -> SqlResult<Stepwise<Vec<T>>> {
    let in_order = |(a, b): (&T, &T)| compare(a, b).is_le();
    if first.last().zip(second.first()).is_none_or(in_order) {
        append(&mut first, second)?;
        return Ok(first);
    }
    let bytes = (first.len() + second.len()) * size_of::<T>();
    governor::ensure(bytes)?;
    let mut merged = Stepwise::from(Vec::with_capacity(first.len() + second.len()));
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        governor::tick()?;
        let next = match compare(a, b) {
            Ordering::Greater => second.next(),
            Ordering::Less | Ordering::Equal => first.next(),
        };
        merged.extend(next);
    }
    append(&mut merged, first)?;
    append(&mut merged, second)?;
    Ok(merged)
}

/// Moves the items behind the others.
fn append<T>(items: &mut Vec<T>, more: impl IntoIterator<Item = T>) -> SqlResult<()> {
    let mut more = more.into_iter().peekable();
    while more.peek().is_some() {
        governor::tick()?;
        items.extend(more.by_ref().take(RUN));
    }
    Ok(())
}

/// The order of two lists of sort values.
pub fn compare_keys(keys: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
    for (key, (a, b)) in keys.iter().zip(a.iter().zip(b)) {
        let order = compare_values(a.as_ref(), b.as_ref(), key.expr.ty.collation);
        let order = if key.descending { order.reverse() } else { order };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// The order of two values of one column: NULL first, text by the collation.
pub fn compare_values(a: ValueRef<'_>, b: ValueRef<'_>, collation: CollationId) -> Ordering {
    match (a, b) {
        (ValueRef::Str(a), ValueRef::Str(b)) => collation.compare(a.as_bytes(), b.as_bytes()),
        (ValueRef::Int(a), ValueRef::Int(b)) => a.cmp(&b),
        (a, b) => types::compare::sort_order(a, b, collation),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(count: u32) -> Vec<(u32, u32)> {
        (0..count).map(|at| (at.wrapping_mul(2_654_435_761) % 97, at)).collect()
    }

    #[test]
    fn long_and_short_lists_are_sorted_stably() {
        for count in [0, 1, 2, 127, 128, 129, 1000, 5000] {
            let mut expected = items(count);
            expected.sort();
            let sorted = sort_by(items(count), |a, b| a.0.cmp(&b.0)).expect("nobody stops it");
            assert_eq!(*sorted, expected);
            assert_eq!(
                *sort_by(sorted, |a, b| a.0.cmp(&b.0)).expect("nobody stops it"),
                expected
            );
        }
    }

    #[test]
    fn a_sort_ends_at_whatever_tick_its_statement_is_killed() {
        let sort = || sort_by(items(1000), |a, b| a.cmp(b));
        let ticks = governor::probe::count(sort).ticks;
        assert!(ticks > 1000);
        for tick in (1..ticks).step_by(97) {
            let killed = governor::probe::kill_at(tick, sort).result;
            assert_eq!(killed.err().map(|error| error.code()), Some(1317));
        }
    }
}
