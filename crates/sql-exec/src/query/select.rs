//! One SELECT: rows of the FROM clause through grouping, HAVING, windows, the select list, DISTINCT and ORDER BY.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use governor::sort::sort_by;
use governor::stepwise::{Map, Set, Stepwise};
use sql_expr::aggregate::write_group_key;
use sql_expr::sort::{SortKey, compare_keys, compare_values};
use sql_expr::{Accumulator, Expr, ExprKind};
use sql_plan::query::{Grouping, SelectPlan};
use types::{SqlResult, Value};

use super::join::{join_rows, pass};
use super::{Emit, QueryContext, Rows, row_bytes};
use crate::runtime::QueryMemory;

/// Below this many wanted rows a heap keeps the best instead of sorting all.
const HEAP_ROWS: u64 = 4096;

/// The rows of the SELECT, in order. `wanted`: no more than this many are looked at.
pub fn select_rows(
    plan: &SelectPlan,
    ctx: &QueryContext<'_>,
    wanted: Option<u64>,
    emit: &mut Emit<'_>,
) -> SqlResult<()> {
    if plan.gives_existence() {
        return input_rows(plan, ctx, &mut |_| emit(&[]));
    }
    let mut output = Output::new(plan, ctx, wanted, emit)?;
    if !plan.windows.is_empty() {
        let mut memory = ctx.runtime.query_memory();
        let mut rows = Rows::default();
        wide_rows(plan, ctx, &mut |row| {
            memory.grow(row_bytes(row))?;
            rows.push(row.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        super::window::compute(&plan.windows, &mut rows, ctx)?;
        for row in &rows {
            governor::tick()?;
            if output.take(row)?.is_break() {
                break;
            }
        }
    } else {
        wide_rows(plan, ctx, &mut |row| output.take(row))?;
    }
    output.finish()
}

/// The wide rows after grouping and HAVING.
fn wide_rows(plan: &SelectPlan, ctx: &QueryContext<'_>, next: &mut Emit<'_>) -> SqlResult<()> {
    let mut having = |row: &[Value]| -> SqlResult<ControlFlow<()>> {
        match &plan.having {
            Some(having) if having.eval_bool(row, ctx)? != Some(true) => Ok(ControlFlow::Continue(())),
            _ => next(row),
        }
    };
    match &plan.grouping {
        None => input_rows(plan, ctx, &mut having),
        Some(grouping) => {
            let mut groups = Groups::new(grouping, plan.width, ctx.runtime.query_memory());
            input_rows(plan, ctx, &mut |row| {
                groups.add(row, ctx)?;
                Ok(ControlFlow::Continue(()))
            })?;
            groups.finish(ctx, &mut having)
        }
    }
}

/// The joined rows that pass WHERE.
fn input_rows(plan: &SelectPlan, ctx: &QueryContext<'_>, next: &mut Emit<'_>) -> SqlResult<()> {
    let mut row = vec![Value::Null; plan.width];
    if !pass(&plan.constant_filter, &row, ctx)? {
        return Ok(());
    }
    let Some(join) = &plan.from else {
        if pass(&plan.filter, &row, ctx)? {
            let _last = next(&row)?;
        }
        return Ok(());
    };
    if let Some(lookup) = &plan.lookup
        && let Some(found) = super::lookup::table(plan, lookup, ctx)?
    {
        let _complete = found.each(lookup, &mut row, ctx, &mut |row| next(row))?;
        return Ok(());
    }
    let _complete = join_rows(join, &mut row, ctx, &mut |row| match pass(&plan.filter, row, ctx)? {
        true => next(row),
        false => Ok(ControlFlow::Continue(())),
    })?;
    Ok(())
}

/// The groups of a query, by the keys of their values.
struct Groups<'p> {
    grouping: &'p Grouping,
    width: usize,
    by_key: Map<Vec<u8>, usize>,
    groups: Stepwise<Vec<Group>>,
    memory: QueryMemory,
    key: Vec<u8>,
    /// The values of the keys in the current row.
    values: Vec<Value>,
}

struct Group {
    /// The first row: what columns outside of aggregates show.
    row: Vec<Value>,
    states: Vec<Accumulator>,
}

impl<'p> Groups<'p> {
    fn new(grouping: &'p Grouping, width: usize, memory: QueryMemory) -> Groups<'p> {
        Groups {
            grouping,
            width,
            by_key: Map::new(),
            groups: Stepwise::default(),
            memory,
            key: Vec::new(),
            values: Vec::new(),
        }
    }

    fn add(&mut self, row: &[Value], ctx: &QueryContext<'_>) -> SqlResult<()> {
        governor::tick()?;
        self.values.clear();
        for key in &self.grouping.keys {
            self.values.push(key.eval(row, ctx)?);
        }
        if self.grouping.rollup.is_some() {
            for kept in 0..self.values.len() {
                governor::tick()?;
                self.add_to(kept, row, ctx)?;
            }
        }
        self.add_to(self.values.len(), row, ctx)
    }

    /// Adds a row to its group by the first `kept` keys.
    fn add_to(&mut self, kept: usize, row: &[Value], ctx: &QueryContext<'_>) -> SqlResult<()> {
        self.key.clear();
        if self.grouping.rollup.is_some() {
            self.key.extend((kept as u32).to_be_bytes());
        }
        for (key, value) in self.grouping.keys.iter().zip(&self.values).take(kept) {
            write_group_key(value, key.ty.collation, &mut self.key);
        }
        let at = match self.by_key.get(&self.key) {
            Some(at) => *at,
            None => {
                self.memory
                    .grow(self.key.len() + row_bytes(row) + 64 * self.grouping.aggregates.len() + 64)?;
                self.by_key.insert(self.key.clone(), self.groups.len());
                let mut first = row.to_vec();
                if let Some(rollup) = self.grouping.rollup {
                    rollup.fill(&mut first, &self.grouping.keys, &self.values, kept);
                }
                self.grouping.kept.fill(&mut first, &self.values);
                let group = self.start(first);
                self.groups.push(group);
                self.groups.len() - 1
            }
        };
        let group = &mut self.groups[at];
        for (call, state) in self.grouping.aggregates.iter().zip(&mut group.states) {
            call.add(state, row, ctx)?;
        }
        Ok(())
    }

    fn start(&self, row: Vec<Value>) -> Group {
        Group {
            row,
            states: self.grouping.aggregates.iter().map(|call| call.start()).collect(),
        }
    }

    /// The order of a rollup: by the keys, each sum behind what it sums up.
    fn sort_rollup(&mut self) -> SqlResult<()> {
        let Some(rollup) = self.grouping.rollup else {
            return Ok(());
        };
        let keys = &self.grouping.keys;
        sort_by(&mut self.groups, |a, b| {
            for (at, key) in keys.iter().enumerate() {
                let (mark, slot) = (rollup.mark_slot(at), rollup.value_slot(at));
                let marks = compare_values(a.row[mark].as_ref(), b.row[mark].as_ref(), key.ty.collation);
                let values = || compare_values(a.row[slot].as_ref(), b.row[slot].as_ref(), key.ty.collation);
                let order = marks.then_with(values);
                if order.is_ne() {
                    return order;
                }
            }
            Ordering::Equal
        })?;
        Ok(())
    }

    /// Gives one row per group, in the order in which they appeared; without GROUP BY, and WITH ROLLUP, there is always one.
    fn finish(mut self, ctx: &QueryContext<'_>, next: &mut Emit<'_>) -> SqlResult<()> {
        if self.groups.is_empty() && (self.grouping.keys.is_empty() || self.grouping.rollup.is_some()) {
            let mut row = vec![Value::Null; self.width];
            if let Some(rollup) = self.grouping.rollup {
                let values = vec![Value::Null; self.grouping.keys.len()];
                rollup.fill(&mut row, &self.grouping.keys, &values, 0);
            }
            let empty = self.start(row);
            self.groups.push(empty);
        }
        self.sort_rollup()?;
        for mut group in std::mem::take(&mut self.groups) {
            governor::tick()?;
            for (at, (call, state)) in self.grouping.aggregates.iter().zip(&group.states).enumerate() {
                group.row[self.grouping.offset + at] = call.finish(state, ctx)?;
            }
            if next(&group.row)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The select list, DISTINCT and ORDER BY.
struct Output<'p, 'c, 'e, 'f> {
    plan: &'p SelectPlan,
    ctx: &'c QueryContext<'c>,
    emit: &'e mut Emit<'f>,
    seen: Set<Vec<u8>>,
    memory: QueryMemory,
    sorter: Option<Sorter<'p>>,
    /// Which items were stored as values of their types before they are shown.
    stored: Vec<bool>,
    /// The items that the keys of the order take their values from.
    key_items: Vec<Option<usize>>,
    /// The items are computed when the rows are in order, of rows that are kept as they were read.
    is_late: bool,
    row: Vec<Value>,
}

impl<'p, 'c, 'e, 'f> Output<'p, 'c, 'e, 'f> {
    fn new(
        plan: &'p SelectPlan,
        ctx: &'c QueryContext<'c>,
        wanted: Option<u64>,
        emit: &'e mut Emit<'f>,
    ) -> SqlResult<Output<'p, 'c, 'e, 'f>> {
        let sorter = (!plan.order.is_empty()).then(|| Sorter::new(&plan.order, wanted));
        let memory = ctx.runtime.query_memory();
        let key_items: Vec<_> = plan.order.iter().map(|key| key_item(plan, &key.expr)).collect();
        Ok(Output {
            plan,
            ctx,
            emit,
            seen: Set::new(),
            memory,
            sorter,
            stored: plan.items.iter().map(|item| is_stored(plan, item)).collect(),
            is_late: counts_in_order(plan) && key_items.iter().all(Option::is_none),
            key_items,
            row: Vec::new(),
        })
    }

    fn take(&mut self, wide: &[Value]) -> SqlResult<ControlFlow<()>> {
        governor::tick()?;
        if self.is_late
            && let Some(sorter) = &mut self.sorter
        {
            let keys = self.plan.order.iter().map(|key| key.expr.eval(wide, self.ctx));
            sorter.add(keys.collect::<SqlResult<_>>()?, wide, &mut self.memory)?;
            return Ok(ControlFlow::Continue(()));
        }
        self.compute(wide)?;
        if self.plan.is_distinct() {
            let mut key = Vec::new();
            for (value, item) in self.row.iter().zip(&self.plan.items) {
                write_group_key(value, item.ty.collation, &mut key);
            }
            if self.seen.contains(&key) {
                return Ok(ControlFlow::Continue(()));
            }
            self.memory.grow(key.len() + 48)?;
            self.seen.insert(key);
        }
        let Some(sorter) = &mut self.sorter else {
            return (self.emit)(&self.row);
        };
        let mut keys = Vec::with_capacity(self.plan.order.len());
        for (key, item) in self.plan.order.iter().zip(&self.key_items) {
            keys.push(match item {
                Some(item) => self.row[*item].clone(),
                None => key.expr.eval(wide, self.ctx)?,
            });
        }
        sorter.add(keys, &self.row, &mut self.memory)?;
        Ok(ControlFlow::Continue(()))
    }

    /// The row of the select list.
    fn compute(&mut self, wide: &[Value]) -> SqlResult<()> {
        self.row.clear();
        for (at, (item, stored)) in self.plan.items.iter().zip(&self.stored).enumerate() {
            let value = if !self.plan.read.contains(at) {
                Value::Null
            } else if *stored {
                item.eval(wide, self.ctx)?
            } else if self.ctx.runtime.settings.exact_values {
                item.eval_exact(wide, self.ctx)?
            } else {
                item.eval_shown(wide, self.ctx)?
            };
            self.row.push(value);
        }
        Ok(())
    }

    fn finish(mut self) -> SqlResult<()> {
        let Some(sorter) = self.sorter.take() else {
            return Ok(());
        };
        for row in sorter.sorted()? {
            governor::tick()?;
            let values = match self.is_late {
                true => {
                    self.compute(&row.values)?;
                    &self.row
                }
                false => &row.values,
            };
            if (self.emit)(values)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Whether items number the rows, or sum over them, in user variables: in the order that is asked for, as in MySQL.
fn counts_in_order(plan: &SelectPlan) -> bool {
    let is_variable = |part: &Expr| {
        matches!(
            part.kind,
            ExprKind::AssignUserVariable { .. } | ExprKind::UserVariable { changes: true, .. }
        )
    };
    let counts = |item: &Expr| item.any(&mut |part| is_variable(part));
    let is_plain = !plan.order.is_empty() && plan.grouping.is_none() && plan.windows.is_empty() && !plan.is_distinct();
    is_plain && plan.items.iter().any(counts)
}

/// Whether a value of the select list went through a key or a window, and has the digits of its type since.
fn is_stored(plan: &SelectPlan, item: &Expr) -> bool {
    let is_key = || {
        let shown = item.to_string();
        let keys = plan.grouping.iter().flat_map(|grouping| &grouping.keys);
        keys.map(Expr::to_string).any(|key| key == shown)
    };
    let is_in_table = |grouping: &Grouping| {
        let aggregates = grouping.offset..grouping.offset + grouping.aggregates.len();
        grouping.is_table && !item.referenced_columns().iter().any(|slot| aggregates.contains(slot))
    };
    let is_grouped = || plan.grouping.as_ref().is_some_and(is_in_table) || is_key();
    plan.is_distinct() || !plan.windows.is_empty() || (item.is_choice() && is_grouped())
}

/// The item that a key of the order is, where it may not be computed twice: it could have another value then, or does something beside
/// computing.
fn key_item(plan: &SelectPlan, key: &Expr) -> Option<usize> {
    if !key.is_volatile() {
        return None;
    }
    let shown = key.to_string();
    let is_it = |at: &usize| plan.read.contains(*at) && plan.items[*at].to_string() == shown;
    (0..plan.items.len()).find(is_it)
}

/// Sorts rows, or keeps the first ones where only some are wanted.
struct Sorter<'p> {
    order: &'p [SortKey],
    wanted: Option<usize>,
    rows: Stepwise<Vec<SortedRow>>,
    heap: BinaryHeap<Ranked<'p>>,
    sequence: u64,
}

struct SortedRow {
    keys: Vec<Value>,
    values: Vec<Value>,
    /// Rows that compare equal stay in the order in which they came.
    sequence: u64,
}

impl SortedRow {
    fn compare(&self, other: &SortedRow, order: &[SortKey]) -> Ordering {
        compare_keys(order, &self.keys, &other.keys).then(self.sequence.cmp(&other.sequence))
    }
}

/// A row in a heap, which knows its order.
struct Ranked<'p> {
    row: SortedRow,
    order: &'p [SortKey],
}

impl PartialEq for Ranked<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked<'_> {}

impl PartialOrd for Ranked<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.row.compare(&other.row, self.order)
    }
}

impl<'p> Sorter<'p> {
    fn new(order: &'p [SortKey], wanted: Option<u64>) -> Sorter<'p> {
        let wanted = wanted.filter(|rows| *rows <= HEAP_ROWS).map(|rows| rows as usize);
        Sorter {
            order,
            wanted,
            rows: Stepwise::default(),
            heap: BinaryHeap::new(),
            sequence: 0,
        }
    }

    fn add(&mut self, keys: Vec<Value>, values: &[Value], memory: &mut QueryMemory) -> SqlResult<()> {
        self.sequence += 1;
        let row = |values: &[Value], keys| SortedRow {
            keys,
            values: values.to_vec(),
            sequence: self.sequence,
        };
        let Some(wanted) = self.wanted else {
            memory.grow(row_bytes(values) + row_bytes(&keys))?;
            let row = row(values, keys);
            self.rows.push(row);
            return Ok(());
        };
        if self.heap.len() < wanted {
            memory.grow(row_bytes(values) + row_bytes(&keys))?;
            let row = row(values, keys);
            self.heap.push(self.ranked(row));
        } else if self
            .heap
            .peek()
            .is_some_and(|worst| compare_keys(self.order, &keys, &worst.row.keys).is_lt())
        {
            let row = row(values, keys);
            self.heap.pop();
            self.heap.push(self.ranked(row));
        }
        Ok(())
    }

    fn ranked(&self, row: SortedRow) -> Ranked<'p> {
        let order = self.order;
        Ranked { row, order }
    }

    fn sorted(mut self) -> SqlResult<Stepwise<Vec<SortedRow>>> {
        self.rows.extend(self.heap.into_iter().map(|ranked| ranked.row));
        sort_by(&mut self.rows, |a, b| a.compare(b, self.order))?;
        Ok(self.rows)
    }
}
