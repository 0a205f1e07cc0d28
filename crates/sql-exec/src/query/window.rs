//! Window functions over the collected rows of a query block.

use std::ops::Range;

use governor::sort::sort_by;
use governor::stepwise::Stepwise;
use parser::ast::FrameUnit;
use sql_expr::aggregate::{Accumulator, write_group_key};
use sql_expr::sort::{SortKey, compare_keys};
use sql_expr::{AggregateCall, EvalContext, Expr, ExprKind};
use sql_plan::limit_value;
use sql_plan::query::{FrameEdge, WindowKind, WindowPlan, is_no_distance};
use types::{ErrorKind, SqlError, SqlResult, Value};

/// Fills the slots of all window functions. The rows are left in the order of the last window that has one, as MySQL's are: what
/// ORDER BY does not tell apart comes in that order.
pub fn compute(windows: &[WindowPlan], rows: &mut [Vec<Value>], ctx: &EvalContext<'_>) -> SqlResult<()> {
    for window in windows {
        check_numbers(window, ctx)?;
        let by_value = |expr: &Expr| SortKey {
            expr: expr.clone(),
            descending: false,
        };
        let partition_order: Vec<SortKey> = window.partition.iter().map(by_value).collect();
        let mut keyed = Stepwise::from(Vec::with_capacity(rows.len()));
        for (at, row) in rows.iter().enumerate() {
            governor::tick()?;
            let mut partition = Vec::new();
            let mut values = Vec::with_capacity(window.partition.len());
            for expr in &window.partition {
                let value = expr.eval(row, ctx)?;
                write_group_key(&value, expr.ty.collation, &mut partition);
                values.push(value);
            }
            let order = window
                .order
                .iter()
                .map(|key| key.expr.eval(row, ctx))
                .collect::<SqlResult<Vec<_>>>()?;
            keyed.push(Keyed {
                partition,
                values,
                order,
                row: at,
            });
        }
        sort_by(&mut keyed, |a, b| {
            compare_keys(&partition_order, &a.values, &b.values)
                .then_with(|| a.partition.cmp(&b.partition))
                .then_with(|| compare_keys(&window.order, &a.order, &b.order))
        })?;
        let mut start = 0;
        while start < keyed.len() {
            governor::tick()?;
            let same = |other: &Keyed| other.partition == keyed[start].partition;
            let end = start + run_len(&keyed[start..], same)?;
            let values = partition_values(window, &keyed[start..end], rows, ctx)?;
            for (entry, value) in keyed[start..end].iter().zip(values) {
                governor::tick()?;
                rows[entry.row][window.slot] = value;
            }
            start = end;
        }
        if !window.partition.is_empty() || !window.order.is_empty() {
            let mut ordered = Stepwise::from(Vec::with_capacity(rows.len()));
            for entry in &keyed {
                governor::tick()?;
                ordered.push(std::mem::take(&mut rows[entry.row]));
            }
            for (place, row) in rows.iter_mut().zip(ordered) {
                governor::tick()?;
                *place = row;
            }
        }
    }
    Ok(())
}

/// What parameters have made of the numbers of a window, which are looked at whether there are rows or not: 1210 for those of
/// functions, 3586 for the ends of a frame. NTH_VALUE of the row NULL is NULL.
fn check_numbers(window: &WindowPlan, ctx: &EvalContext<'_>) -> SqlResult<()> {
    let parameter = |expr: &Expr| match expr.kind {
        ExprKind::Param(_) => expr.eval(&[], ctx).map(Some),
        _ => Ok(None),
    };
    let wrong_argument = || SqlError::new(ErrorKind::WrongArguments, &[&window.kind.name()]);
    let is_negative = |value: &Value| matches!(value, Value::Int(number) if *number < 0);
    match &window.kind {
        WindowKind::Lead {
            offset: Some(offset), ..
        } => {
            if let Some(value) = parameter(offset)?
                && (value.is_null() || is_negative(&value))
            {
                return Err(wrong_argument());
            }
        }
        WindowKind::NthValue(_, row) => {
            if let Some(value) = parameter(row)?
                && (is_negative(&value) || matches!(value, Value::Int(0) | Value::UInt(0)))
            {
                return Err(wrong_argument());
            }
        }
        WindowKind::Ntile(buckets) => {
            if let Some(value) = parameter(buckets)?
                && !matches!(value, Value::Int(1..) | Value::UInt(1..))
            {
                return Err(wrong_argument());
            }
        }
        _ => {}
    }
    let Some(frame) = &window.frame else { return Ok(()) };
    for edge in [&frame.start, &frame.end] {
        if let FrameEdge::Value(edge) = edge
            && is_no_distance(&edge.distance.eval(&[], ctx)?)
        {
            return Err(SqlError::new(ErrorKind::WindowFrameIllegal, &[&window.name]));
        }
        if let FrameEdge::Preceding(by) | FrameEdge::Following(by) = edge
            && let Some(value) = parameter(by)?
            && (value.is_null() || is_negative(&value))
        {
            return Err(SqlError::new(ErrorKind::WindowFrameIllegal, &[&window.name]));
        }
    }
    Ok(())
}

/// How many items at the beginning are such.
fn run_len<T>(items: &[T], is_such: impl Fn(&T) -> bool) -> SqlResult<usize> {
    for (at, item) in items.iter().enumerate() {
        governor::tick()?;
        if !is_such(item) {
            return Ok(at);
        }
    }
    Ok(items.len())
}

struct Keyed {
    /// Equal within a partition.
    partition: Vec<u8>,
    /// What the partition is made by.
    values: Vec<Value>,
    order: Vec<Value>,
    row: usize,
}

/// Appends the values of a partition's rows.
fn fill(values: &mut Vec<Value>, more: impl Iterator<Item = Value>) -> SqlResult<()> {
    for value in more {
        governor::tick()?;
        values.push(value);
    }
    Ok(())
}

/// The function's value for each row of a partition, in window order.
fn partition_values(
    window: &WindowPlan,
    keyed: &[Keyed],
    rows: &[Vec<Value>],
    ctx: &EvalContext<'_>,
) -> SqlResult<Stepwise<Vec<Value>>> {
    let count = keyed.len();
    let row = |at: usize| rows[keyed[at].row].as_slice();
    // The first and one past the last peer of each row.
    let mut peers = Vec::with_capacity(count);
    let mut start = 0;
    while start < count {
        governor::tick()?;
        let of_start = |other: &Keyed| compare_keys(&window.order, &keyed[start].order, &other.order).is_eq();
        let end = start + 1 + run_len(&keyed[start + 1..], of_start)?;
        for _ in start..end {
            governor::tick()?;
            peers.push((start, end));
        }
        start = end;
    }
    let not_null = not_null(keyed);
    let number = |value: usize| Value::UInt(value as u64);
    let mut values = Stepwise::from(Vec::with_capacity(count));
    match &window.kind {
        WindowKind::RowNumber => fill(&mut values, (1..=count).map(number))?,
        WindowKind::Rank => fill(&mut values, peers.iter().map(|(first, _)| number(first + 1)))?,
        WindowKind::DenseRank => {
            let mut rank = 0;
            for (at, (first, _)) in peers.iter().enumerate() {
                governor::tick()?;
                rank += usize::from(*first == at);
                values.push(number(rank));
            }
        }
        WindowKind::PercentRank => {
            let of = |first: usize| {
                if count == 1 {
                    0.0
                } else {
                    first as f64 / (count - 1) as f64
                }
            };
            fill(&mut values, peers.iter().map(|(first, _)| Value::Double(of(*first))))?;
        }
        WindowKind::CumeDist => {
            let of = |end: usize| Value::Double(end as f64 / count as f64);
            fill(&mut values, peers.iter().map(|(_, end)| of(*end)))?;
        }
        WindowKind::Ntile(buckets) => {
            let buckets = match buckets.eval(row(0), ctx)? {
                Value::Int(n) if n > 0 => n as usize,
                Value::UInt(n) if n > 0 => n as usize,
                _ => return Err(SqlError::new(ErrorKind::WrongArguments, &[&"ntile"])),
            };
            let (size, larger) = (count / buckets, count % buckets);
            for at in 0..count {
                governor::tick()?;
                let in_larger = larger * (size + 1);
                let bucket = if at < in_larger {
                    at / (size + 1)
                } else {
                    larger + (at - in_larger) / size.max(1)
                };
                values.push(number(bucket + 1));
            }
        }
        WindowKind::Lead {
            value,
            offset,
            default,
            backwards,
        } => {
            for at in 0..count {
                governor::tick()?;
                let by = match offset {
                    None => 1,
                    Some(offset) => limit_of(offset, row(at), ctx)?,
                };
                let target = match backwards {
                    true => at.checked_sub(by),
                    false => at.checked_add(by).filter(|target| *target < count),
                };
                values.push(match (target, default) {
                    (Some(target), None) => value.eval(row(target), ctx)?,
                    (Some(target), Some(_)) => value.eval_into(&window.ty, row(target), ctx)?,
                    (None, Some(default)) => default.eval_into(&window.ty, row(at), ctx)?,
                    (None, None) => Value::Null,
                });
            }
        }
        WindowKind::FirstValue(_) | WindowKind::LastValue(_) | WindowKind::NthValue(..) => {
            for at in 0..count {
                governor::tick()?;
                let frame = frame_of(window, keyed, &peers, &not_null, at, rows, ctx)?;
                values.push(frame_value(window, &frame, &row, ctx)?);
            }
        }
        WindowKind::Aggregate(call) => {
            let mut running = Running::new(call);
            for at in 0..count {
                governor::tick()?;
                let frame = frame_of(window, keyed, &peers, &not_null, at, rows, ctx)?;
                values.push(running.move_to(frame, &row, ctx)?);
            }
        }
    }
    Ok(values)
}

fn frame_value<'r>(
    window: &WindowPlan,
    frame: &Range<usize>,
    row: &dyn Fn(usize) -> &'r [Value],
    ctx: &EvalContext<'_>,
) -> SqlResult<Value> {
    match &window.kind {
        WindowKind::FirstValue(value) if !frame.is_empty() => value.eval(row(frame.start), ctx),
        WindowKind::LastValue(value) if !frame.is_empty() => value.eval(row(frame.end - 1), ctx),
        WindowKind::NthValue(value, n) if !frame.is_empty() => {
            if n.eval(row(frame.start), ctx)?.is_null() {
                return Ok(Value::Null);
            }
            let n = limit_of(n, row(frame.start), ctx)?;
            match n
                .checked_sub(1)
                .map(|skip| frame.start + skip)
                .filter(|at| *at < frame.end)
            {
                Some(at) => value.eval(row(at), ctx),
                None if n == 0 => Err(SqlError::new(ErrorKind::WrongArguments, &[&"nth_value"])),
                None => Ok(Value::Null),
            }
        }
        _ => Ok(Value::Null),
    }
}

/// An aggregate over a frame that moves on from row to row. A frame that only grows, as that of a running total, takes each row once;
/// one that slides lets go of those it has left where the aggregate can, and is else added up anew.
struct Running<'w> {
    call: &'w AggregateCall,
    state: Accumulator,
    frame: Range<usize>,
    value: Option<Value>,
}

impl<'w> Running<'w> {
    fn new(call: &'w AggregateCall) -> Running<'w> {
        Running {
            call,
            state: call.start(),
            frame: 0..0,
            value: None,
        }
    }

    fn move_to<'r>(
        &mut self,
        frame: Range<usize>,
        row: &dyn Fn(usize) -> &'r [Value],
        ctx: &EvalContext<'_>,
    ) -> SqlResult<Value> {
        if let Some(value) = self.value.as_ref().filter(|_| frame == self.frame) {
            return Ok(value.clone());
        }
        if !self.leave_behind(&frame, row, ctx)? {
            self.state = self.call.start();
            self.frame = frame.start..frame.start;
        }
        for at in self.frame.end..frame.end {
            governor::tick()?;
            self.call.add(&mut self.state, row(at), ctx)?;
        }
        self.frame = frame;
        let value = self.call.finish(&self.state, ctx)?;
        self.value = Some(value.clone());
        Ok(value)
    }

    /// Takes the rows back that are before the new frame. False: it is to be added up anew.
    fn leave_behind<'r>(
        &mut self,
        frame: &Range<usize>,
        row: &dyn Fn(usize) -> &'r [Value],
        ctx: &EvalContext<'_>,
    ) -> SqlResult<bool> {
        let moves_on = self.frame.start <= frame.start && frame.start <= self.frame.end && self.frame.end <= frame.end;
        if !moves_on || frame.start - self.frame.start > frame.len() {
            return Ok(false);
        }
        for at in self.frame.start..frame.start {
            governor::tick()?;
            if !self.call.remove(&mut self.state, row(at), ctx)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The rows whose first sort key is not NULL: the NULLs are at one end of the order.
fn not_null(keyed: &[Keyed]) -> Range<usize> {
    let is_value = |entry: &Keyed| entry.order.first().is_some_and(|key| !key.is_null());
    if keyed.first().is_some_and(is_value) {
        return 0..keyed.partition_point(is_value);
    }
    keyed.partition_point(|entry| !is_value(entry))..keyed.len()
}

/// How many of the rows, which are in order, a condition on their key holds for from the first one on.
fn how_many(keys: &[Keyed], holds: impl Fn(&Value) -> SqlResult<bool>) -> SqlResult<usize> {
    let (mut low, mut high) = (0, keys.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match holds(&keys[middle].order[0])? {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}

/// The rows of the frame around a row.
fn frame_of(
    window: &WindowPlan,
    keyed: &[Keyed],
    peers: &[(usize, usize)],
    not_null: &Range<usize>,
    at: usize,
    rows: &[Vec<Value>],
    ctx: &EvalContext<'_>,
) -> SqlResult<Range<usize>> {
    let count = keyed.len();
    let Some(frame) = &window.frame else {
        // Without a frame: up to the peers of the current row, or all of it without ORDER BY.
        return Ok(0..if window.order.is_empty() { count } else { peers[at].1 });
    };
    let row = rows[keyed[at].row].as_slice();
    if frame.unit == FrameUnit::Range {
        let edge = |edge: &FrameEdge, is_start: bool| -> SqlResult<usize> {
            Ok(match edge {
                FrameEdge::UnboundedPreceding => 0,
                FrameEdge::UnboundedFollowing => count,
                FrameEdge::CurrentRow if is_start => peers[at].0,
                FrameEdge::CurrentRow => peers[at].1,
                FrameEdge::Preceding(_) | FrameEdge::Following(_) => {
                    return Err(SqlError::internal("a RANGE frame counts no rows"));
                }
                // The rows without a value are a frame of their own.
                FrameEdge::Value(_) if !not_null.contains(&at) => {
                    if is_start {
                        peers[at].0
                    } else {
                        peers[at].1
                    }
                }
                FrameEdge::Value(edge) => {
                    let bound = edge.bound.eval(row, ctx)?;
                    // Out of the range of dates, before or behind it: behind all dates, as in MySQL.
                    if bound.is_null() {
                        return Ok(match window.order[0].descending {
                            true => not_null.start,
                            false => not_null.end,
                        });
                    }
                    let keys = &keyed[not_null.clone()];
                    let holds = |test: &Expr, key: &Value| -> SqlResult<bool> {
                        Ok(test.eval_bool(&[key.clone(), bound.clone()], ctx)? == Some(true))
                    };
                    match is_start {
                        true => not_null.start + how_many(keys, |key| holds(&edge.before, key))?,
                        false => {
                            not_null.start + how_many(keys, |key| holds(&edge.behind, key).map(|is_behind| !is_behind))?
                        }
                    }
                }
            })
        };
        let (start, end) = (edge(&frame.start, true)?, edge(&frame.end, false)?);
        return Ok(start..end.max(start));
    }
    let edge = |edge: &FrameEdge| -> SqlResult<i128> {
        let at = at as i128;
        Ok(match edge {
            FrameEdge::UnboundedPreceding => 0,
            FrameEdge::UnboundedFollowing => count as i128,
            FrameEdge::CurrentRow => at,
            FrameEdge::Preceding(by) => at - limit_of(by, row, ctx)? as i128,
            FrameEdge::Following(by) => at + limit_of(by, row, ctx)? as i128,
            FrameEdge::Value(_) => return Err(SqlError::internal("a ROWS frame is no distance of values")),
        })
    };
    let start = edge(&frame.start)?.clamp(0, count as i128) as usize;
    let end = match &frame.end {
        FrameEdge::UnboundedFollowing => count,
        end => (edge(end)? + 1).clamp(0, count as i128) as usize,
    };
    Ok(start..end.max(start))
}

/// A count of rows.
fn limit_of(expr: &Expr, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<usize> {
    let value = expr.eval(row, ctx)?;
    let literal = Expr::literal(value, expr.ty.clone());
    limit_value(&literal, ctx).map(|rows| usize::try_from(rows).unwrap_or(usize::MAX))
}
