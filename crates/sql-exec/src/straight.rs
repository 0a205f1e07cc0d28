//! Runs [`StraightPlan`]s: from the index range to the client's buffer.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use governor::sort::sort_by;
use sql_api::result::{ResultSink, ServerStatus};
use sql_expr::EvalContext;
use sql_expr::sort::compare_values;
use sql_plan::access::KeyRanges;
use sql_plan::access::ranges::key_ranges;
use sql_plan::limit_value;
use sql_plan::straight::{Output, StraightPlan, Total};
use transaction::LockPolicy;
use types::decimal::Decimal;
use types::{RowLayout, SqlResult, Value, ValueRef};

use super::rows::read_columns;
use super::runtime::Runtime;
use super::seen::Seen;

/// Index entries looked at before the client's buffer is flushed and others of the same core get their turn.
const ENTRIES_PER_CHUNK: usize = 1024;

/// Runs the plan; the caller ends the result set. Returns how many rows were found, with those that OFFSET left out.
pub fn run(
    plan: &StraightPlan,
    runtime: &Runtime<'_>,
    ctx: &EvalContext<'_>,
    sink: &mut dyn ResultSink,
    status: ServerStatus,
) -> SqlResult<u64> {
    let keys = key_ranges(&plan.path, &[], ctx)?;
    let offset = plan.offset.as_ref().map_or(Ok(0), |offset| limit_value(offset, ctx))?;
    let limit = plan
        .limit
        .as_ref()
        .map_or(Ok(runtime.settings.select_limit), |limit| limit_value(limit, ctx))?;
    runtime.begin_read(&plan.path, &keys, LockPolicy::Wait)?;
    sink.columns(&plan.shape, status)?;
    match &plan.output {
        Output::Totals(_) if limit == 0 => Ok(0),
        Output::Totals(totals) => totals_row(plan, totals, &keys, runtime, ctx, sink),
        Output::Columns(columns) if plan.sort.is_empty() => {
            let window = Window { offset, limit };
            rows_in_index_order(plan, columns, &keys, window, runtime, ctx, sink)
        }
        Output::Columns(columns) => {
            let window = Window { offset, limit };
            rows_sorted(plan, columns, &keys, window, runtime, ctx, sink)
        }
    }
}

/// LIMIT and OFFSET.
#[derive(Clone, Copy)]
struct Window {
    offset: u64,
    limit: u64,
}

fn rows_in_index_order(
    plan: &StraightPlan,
    columns: &[usize],
    keys: &KeyRanges,
    window: Window,
    runtime: &Runtime<'_>,
    ctx: &EvalContext<'_>,
    sink: &mut dyn ResultSink,
) -> SqlResult<u64> {
    let layout = plan.path.table.layout();
    let (mut seen, mut sent) = (0, 0);
    scan(plan, keys, runtime, ctx, Some(sink), &mut |row, sink| {
        seen += 1;
        if seen <= window.offset {
            return Ok(ControlFlow::Continue(()));
        }
        if sent == window.limit {
            return Ok(ControlFlow::Break(()));
        }
        sent += 1;
        sink.expect("rows are sent as they come")
            .stored_row(layout, row, columns)?;
        Ok(if sent == window.limit {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })?;
    Ok(window.offset.min(seen) + sent)
}

/// Collects the rows side by side in one buffer, sorts references to them, and sends them.
fn rows_sorted(
    plan: &StraightPlan,
    columns: &[usize],
    keys: &KeyRanges,
    window: Window,
    runtime: &Runtime<'_>,
    ctx: &EvalContext<'_>,
    sink: &mut dyn ResultSink,
) -> SqlResult<u64> {
    let layout = plan.path.table.layout();
    let mut memory = runtime.query_memory();
    let mut bytes: Vec<u8> = Vec::new();
    let mut rows: Vec<std::ops::Range<usize>> = Vec::new();
    scan(plan, keys, runtime, ctx, None, &mut |row, _| {
        memory.grow(row.len() + size_of::<std::ops::Range<usize>>())?;
        let start = bytes.len();
        bytes.extend_from_slice(row);
        rows.push(start..bytes.len());
        Ok(ControlFlow::Continue(()))
    })?;
    let value = |row: &std::ops::Range<usize>, column: usize| layout.column(&bytes[row.clone()], column);
    // One value per row is by far the most frequent: no list for it.
    if let [(column, descending)] = plan.sort.as_slice() {
        let collation = layout.columns()[*column].collation;
        let mut keyed = Vec::with_capacity(rows.len());
        for row in &rows {
            governor::tick()?;
            keyed.push((value(row, *column), row));
        }
        sort_by(&mut keyed, |(a, _), (b, _)| {
            let order = compare_values(*a, *b, collation);
            if *descending { order.reverse() } else { order }
        })?;
        if plan.distinct {
            keyed.dedup_by(|(a, _), (b, _)| {
                governor::pause();
                compare_values(*a, *b, collation).is_eq()
            });
        }
        let sorted = keyed.into_iter().map(|(_, row)| &bytes[row.clone()]);
        return send(sorted, layout, columns, window, runtime, sink);
    }
    // The values of all rows, one row's behind the other's.
    let width = plan.sort.len();
    let mut values = Vec::with_capacity(rows.len() * width);
    let mut keyed = Vec::with_capacity(rows.len());
    for row in &rows {
        governor::tick()?;
        keyed.push((values.len(), row));
        values.extend(plan.sort.iter().map(|(column, _)| value(row, *column)));
    }
    let compare = |a: usize, b: usize| compare_sorted(plan, layout, &values[a..][..width], &values[b..][..width]);
    sort_by(&mut keyed, |(a, _), (b, _)| compare(*a, *b))?;
    if plan.distinct {
        keyed.dedup_by(|(a, _), (b, _)| {
            governor::pause();
            compare(*a, *b).is_eq()
        });
    }
    let sorted = keyed.into_iter().map(|(_, row)| &bytes[row.clone()]);
    send(sorted, layout, columns, window, runtime, sink)
}

fn compare_sorted(plan: &StraightPlan, layout: &RowLayout, a: &[ValueRef<'_>], b: &[ValueRef<'_>]) -> Ordering {
    for ((column, descending), (a, b)) in plan.sort.iter().zip(a.iter().zip(b)) {
        let order = compare_values(*a, *b, layout.columns()[*column].collation);
        if order != Ordering::Equal {
            return if *descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

fn send<'r>(
    rows: impl Iterator<Item = &'r [u8]>,
    layout: &RowLayout,
    columns: &[usize],
    window: Window,
    runtime: &Runtime<'_>,
    sink: &mut dyn ResultSink,
) -> SqlResult<u64> {
    let mut found = 0;
    let last = window.offset.saturating_add(window.limit);
    for row in rows.take(usize::try_from(last).unwrap_or(usize::MAX)) {
        governor::tick()?;
        found += 1;
        if found <= window.offset {
            continue;
        }
        sink.stored_row(layout, row, columns)?;
        if sink.is_full() {
            sink.flush(runtime.host)?;
        }
    }
    Ok(found)
}

fn totals_row(
    plan: &StraightPlan,
    totals: &[Total],
    keys: &KeyRanges,
    runtime: &Runtime<'_>,
    ctx: &EvalContext<'_>,
    sink: &mut dyn ResultSink,
) -> SqlResult<u64> {
    let unfiltered = !keys.repeats && plan.path.residual.is_empty() && (keys.exact || plan.path.implied.is_empty());
    let mut row_count: i64 = 0;
    let mut counts = vec![0i64; totals.len()];
    let mut sums = vec![0i128; totals.len()];
    if unfiltered && totals.iter().all(|total| *total == Total::Rows) {
        for mut cursor in plan.path.cursors(keys) {
            while !cursor.is_finished() {
                let table = &plan.path.table.rows;
                row_count += runtime
                    .transaction()
                    .count(table, keys.index, &mut cursor, 16 * ENTRIES_PER_CHUNK) as i64;
                if !cursor.is_finished() {
                    governor::tick()?;
                }
            }
        }
    } else {
        let layout = plan.path.table.layout();
        scan(plan, keys, runtime, ctx, None, &mut |row, _| {
            row_count += 1;
            for (at, total) in totals.iter().enumerate() {
                let (Total::NotNull(column) | Total::Sum(column)) = total else {
                    continue;
                };
                match layout.column(row, *column) {
                    ValueRef::Null => continue,
                    ValueRef::Int(value) => sums[at] += i128::from(value),
                    ValueRef::UInt(value) => sums[at] += i128::from(value),
                    _ => {}
                }
                counts[at] += 1;
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let values: Vec<Value> = totals
        .iter()
        .enumerate()
        .map(|(at, total)| match total {
            Total::Rows => Value::Int(row_count),
            Total::NotNull(_) => Value::Int(counts[at]),
            Total::Sum(_) if counts[at] == 0 => Value::Null,
            Total::Sum(_) => Value::Decimal(Decimal::from_scaled(sums[at], 0)),
        })
        .collect();
    sink.row(&values)?;
    Ok(1)
}

/// What is done with each row; the sink is there when rows are sent as they come.
type Visit<'v> = dyn FnMut(&[u8], Option<&mut dyn ResultSink>) -> SqlResult<ControlFlow<()>> + 'v;

/// Walks the ranges in order and gives every row that passes the conditions to `visit`.
fn scan(
    plan: &StraightPlan,
    keys: &KeyRanges,
    runtime: &Runtime<'_>,
    ctx: &EvalContext<'_>,
    mut sink: Option<&mut dyn ResultSink>,
    visit: &mut Visit<'_>,
) -> SqlResult<()> {
    let path = &plan.path;
    let table = &path.table;
    let implied = if keys.exact { &[] } else { path.implied.as_slice() };
    let filtered = !implied.is_empty() || !path.residual.is_empty();
    let mut values = Vec::new();
    let mut passes = |row: &[u8]| -> SqlResult<bool> {
        if !filtered {
            return Ok(true);
        }
        read_columns(table.layout(), row, &plan.filter_columns, &mut values);
        for condition in implied.iter().chain(&path.residual) {
            if condition.eval_bool(&values, ctx)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let mut outcome = Ok(ControlFlow::Continue(()));
    if let Some(keys) = path.primary_keys(keys) {
        for key in keys {
            let sink = sink.as_mut().map(|sink| &mut **sink as &mut dyn ResultSink);
            runtime.transaction().get(&table.rows, key, |row| {
                outcome = match passes(row) {
                    Ok(true) => visit(row, sink),
                    Ok(false) => Ok(ControlFlow::Continue(())),
                    Err(error) => Err(error),
                };
            });
        }
        return outcome.map(|_| ());
    }
    let mut seen = Seen::of(keys, runtime);
    for mut cursor in path.cursors(keys) {
        while !cursor.is_finished() {
            runtime
                .transaction()
                .scan(&table.rows, keys.index, &mut cursor, ENTRIES_PER_CHUNK, |entry| {
                    let row = entry.row();
                    let sink = sink.as_mut().map(|sink| &mut **sink as &mut dyn ResultSink);
                    let is_wanted = seen.is_new(entry.primary_key()).and_then(|new| Ok(new && passes(row)?));
                    outcome = match is_wanted {
                        Ok(true) => visit(row, sink),
                        Ok(false) => Ok(ControlFlow::Continue(())),
                        Err(error) => Err(error),
                    };
                    // Whoever gives way does so without the guard over stored rows.
                    match outcome {
                        Ok(ControlFlow::Continue(())) if !governor::is_due() => ControlFlow::Continue(()),
                        _ => ControlFlow::Break(()),
                    }
                });
            if std::mem::replace(&mut outcome, Ok(ControlFlow::Continue(())))?.is_break() {
                return Ok(());
            }
            if !cursor.is_finished() {
                if let Some(sink) = sink.as_mut()
                    && sink.is_full()
                {
                    sink.flush(runtime.host)?;
                }
                governor::tick()?;
            }
        }
    }
    Ok(())
}
