//! The rows that an UPDATE or DELETE of one table changes.
//!
//! Rows are found first and changed afterwards, so that no row is met twice because a change moved it in the index that is being
//! read. They are found at the snapshot where writes are held against it, and as they are now otherwise. A row found is
//! locked, read again as it is now, and looked at again before it is changed. Once a row shows that the statement has to run
//! again, the others are only locked.

use std::ops::ControlFlow;

use governor::sort::sort_by;
use governor::stepwise::Stepwise;
use sql_expr::sort::compare_keys;
use sql_expr::{EvalContext, Expr};
use sql_plan::access::KeyRanges;
use sql_plan::access::ranges::key_ranges;
use sql_plan::changes::Target;
use transaction::{LOCKS_AT_ONCE, LockPolicy, Missed};
use types::IndexId;
use types::{SqlResult, Value};

use super::Ahead;
use crate::rows::{read_columns, read_row};
use crate::runtime::{Locked, Runtime};
use crate::seen::Seen;

/// Index entries looked at before others of the same core get their turn.
const ENTRIES_PER_CHUNK: usize = 4096;

/// Locks every row, many of them `ahead`, and gives its key and its columns to `change`. Returns how many rows there were.
pub fn for_each_row(
    target: &Target,
    runtime: &Runtime<'_>,
    ctx: &EvalContext<'_>,
    ahead: &Ahead<'_>,
    change: &mut dyn FnMut(&[u8], Vec<Value>) -> SqlResult<()>,
) -> SqlResult<u64> {
    let limit = match &target.limit {
        None => u64::MAX,
        Some(limit) => sql_plan::limit_value(limit, ctx)?,
    };
    if limit == 0 {
        return Ok(0);
    }
    let keys = key_ranges(&target.path, &[], ctx)?;
    if let Some(key) = single_key(target, &keys) {
        let mut passes = |values: &[Value]| passes(target, keys.exact, values, ctx);
        return Ok(u64::from(change_row(target, key, runtime, &mut passes, change)?));
    }
    runtime.begin_locking_read(&target.path, &keys, LockPolicy::Wait)?;
    let conditions = conditions_of_a_row(target, keys.exact);
    let mut passes = |values: &[Value]| all_hold(conditions.iter().copied(), values, ctx);
    let mut matched = 0;
    loop {
        let (before, mut has_missed_own) = (matched, false);
        let found = find(target, &keys, limit - matched, runtime, ctx)?;
        for (at, key) in found.iter().enumerate() {
            if at % LOCKS_AT_ONCE == 0 {
                let next = &found[at..found.len().min(at + LOCKS_AT_ONCE)];
                ahead.lock(next.iter().map(Vec::as_slice))?;
            }
            if change_row(target, key, runtime, &mut passes, change)? {
                matched += 1;
            } else if target.limit.is_some() {
                // Another row takes its place.
                has_missed_own |= runtime.transaction_mut().note_missed(&target.table().rows, key) == Missed::ByUs;
            }
            if matched == limit {
                break;
            }
            governor::tick()?;
        }
        // A foreign key's action has deleted some of the rows that were found, so they did not count.
        if !has_missed_own || matched == before || matched == limit {
            break;
        }
    }
    Ok(matched)
}

/// What a row that was found has to fulfil when it is looked at again: conditions that tell the same of the same row. RAND() does
/// not, and is asked once.
fn conditions_of_a_row(target: &Target, exact: bool) -> Vec<&Expr> {
    // The primary key says nothing new of a row found by it; another index may have found an older version.
    let exact = exact && target.path.index == IndexId::PRIMARY;
    conditions(target, exact).filter(|expr| !expr.is_volatile()).collect()
}

/// The primary key, where the path leads to one row of the primary index: it can be locked without looking for it.
fn single_key<'k>(target: &Target, keys: &'k KeyRanges) -> Option<&'k [u8]> {
    let mut keys = target.path.primary_keys(keys)?;
    keys.next().filter(|_| keys.next().is_none())
}

/// The primary keys of the rows that pass the conditions, in order.
fn find(
    target: &Target,
    keys: &KeyRanges,
    limit: u64,
    runtime: &Runtime<'_>,
    ctx: &EvalContext<'_>,
) -> SqlResult<Stepwise<Vec<Vec<u8>>>> {
    let mut found = Found {
        target,
        exact: keys.exact,
        most: match target.order.is_empty() || target.path.ordered {
            true => limit,
            false => u64::MAX,
        },
        rows: Stepwise::default(),
        seen: Seen::of(keys, runtime),
    };
    // What asks a subquery, or may sleep, is looked at between chunks: it reads, locks and waits itself.
    let may_wait = target
        .path
        .implied
        .iter()
        .chain(&target.path.residual)
        .chain(target.order.iter().map(|key| &key.expr))
        .any(|expr| expr.has_subquery() || expr.is_volatile());
    let mut values = Vec::new();
    let mut chunk: Vec<(Vec<u8>, Vec<Value>)> = Vec::new();
    for mut cursor in target.path.cursors(keys) {
        while !cursor.is_finished() && !found.is_complete() {
            let mut failed = Ok(());
            let visit = |entry: store::Entry<'_>| {
                read_columns(target.table().layout(), entry.row(), &target.needed, &mut values);
                if may_wait {
                    chunk.push((entry.primary_key().to_vec(), values.clone()));
                } else {
                    failed = found.look_at(entry.primary_key(), &values, ctx);
                }
                match failed.is_err() || found.is_complete() || governor::is_due() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            };
            let transaction = runtime.transaction();
            let (rows, index) = (&target.table().rows, keys.index);
            transaction.scan_to_lock(rows, index, &mut cursor, ENTRIES_PER_CHUNK, visit);
            drop(transaction);
            failed?;
            for (key, values) in chunk.drain(..) {
                governor::tick()?;
                if !found.is_complete() {
                    found.look_at(&key, &values, ctx)?;
                }
            }
            governor::tick()?;
        }
    }
    let mut rows = found.rows;
    if !target.path.ordered {
        sort_by(&mut rows, |(a, _), (b, _)| compare_keys(&target.order, a, b))?;
    }
    let mut found = Stepwise::from(Vec::with_capacity(rows.len()));
    for (_, key) in rows {
        governor::tick()?;
        found.push(key);
    }
    Ok(found)
}

fn sort_values(target: &Target, values: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Vec<Value>> {
    if target.path.ordered {
        return Ok(Vec::new());
    }
    target.order.iter().map(|key| key.expr.eval(values, ctx)).collect()
}

/// The conditions that a row's place in the index does not already answer.
fn conditions(target: &Target, exact: bool) -> impl Iterator<Item = &Expr> {
    let implied = if exact { &[] } else { target.path.implied.as_slice() };
    implied.iter().chain(&target.path.residual)
}

fn passes(target: &Target, exact: bool, values: &[Value], ctx: &EvalContext<'_>) -> SqlResult<bool> {
    all_hold(conditions(target, exact), values, ctx)
}

/// Locks a row, looks at it as it is now, and changes it. False when it is gone or does not pass.
fn change_row(
    target: &Target,
    key: &[u8],
    runtime: &Runtime<'_>,
    passes: &mut dyn FnMut(&[Value]) -> SqlResult<bool>,
    change: &mut dyn FnMut(&[u8], Vec<Value>) -> SqlResult<()>,
) -> SqlResult<bool> {
    let table = target.table();
    let locked = runtime
        .with_locks(|transaction| transaction.lock_for_write(&table.rows, key))
        .map_err(|error| error.into_sql(table))?;
    if locked == Locked::Skipped {
        return Ok(false);
    }
    if runtime.transaction().is_stale() {
        return Ok(true);
    }
    let current = runtime
        .transaction()
        .get_current(&table.rows, key, |row| read_row(table.layout(), row));
    let Some(values) = current else {
        return Ok(false);
    };
    if !passes(&values)? {
        return Ok(false);
    }
    change(key, values)?;
    Ok(true)
}

fn all_hold<'e>(
    conditions: impl Iterator<Item = &'e Expr>,
    values: &[Value],
    ctx: &EvalContext<'_>,
) -> SqlResult<bool> {
    for condition in conditions {
        if condition.eval_bool(values, ctx)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The rows that pass, with what they are sorted by.
struct Found<'t> {
    target: &'t Target,
    /// The ranges hold exactly what the path's implied conditions let through.
    exact: bool,
    /// Further rows are not wanted.
    most: u64,
    rows: Stepwise<Vec<(Vec<Value>, Vec<u8>)>>,
    seen: Seen,
}

impl Found<'_> {
    fn is_complete(&self) -> bool {
        self.rows.len() as u64 >= self.most
    }

    fn look_at(&mut self, key: &[u8], values: &[Value], ctx: &EvalContext<'_>) -> SqlResult<()> {
        if passes(self.target, self.exact, values, ctx)? && self.seen.is_new(key)? {
            self.rows.push((sort_values(self.target, values, ctx)?, key.to_vec()));
        }
        Ok(())
    }
}
