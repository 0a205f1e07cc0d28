//! Runs UPDATE and DELETE over several tables.
//!
//! The join is read to its end first; then each row found is locked and changed once, however often the join has met it. A row that
//! has changed since makes the statement run again, because nothing says that the join would find it still.

use std::ops::ControlFlow;

use governor::stepwise::Set;
use sql_expr::EvalContext;
use sql_plan::query::{MultiTableChange, TargetTable};
use transaction::LOCKS_AT_ONCE;
use types::{SqlResult, Value};

use super::QueryContext;
use super::join::{join_rows, pass};
use super::{Rows, row_bytes};
use crate::Runtime;
use crate::dml::{Changed, RowChanger, Touched};
use crate::rows::read_row;
use crate::runtime::Locked;

/// Changes the rows that the join has found.
pub fn change_tables(plan: &MultiTableChange, runtime: &Runtime<'_>, ctx: &EvalContext<'_>) -> SqlResult<Changed> {
    let ctx = &QueryContext::new(runtime, ctx);
    let mut memory = runtime.query_memory();
    let mut found = Rows::default();
    let mut row = vec![Value::Null; plan.width];
    let _complete = join_rows(&plan.join, &mut row, ctx, &mut |row| {
        if pass(&plan.filter, row, ctx)? {
            memory.grow(row_bytes(row))?;
            found.push(row.clone());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut changed = Changed::default();
    if runtime.measures().is_some() {
        return Ok(changed);
    }
    let first = first_written(plan);
    let mut order: Vec<usize> = (0..plan.targets.len()).collect();
    order.sort_by_key(|at| Some(*at) != first);
    for at in order {
        let target = &plan.targets[at];
        let sees = match Some(at) == first {
            true => Sees::Assigned,
            false => Sees::Before(first.map(|first| &plan.targets[first])),
        };
        let mut done = Set::new();
        let mut changer = RowChanger::new(&target.table, &target.rules, runtime, ctx, plan.ignore)
            .keeping(target.foreign_keys.as_deref());
        let ahead = match &target.assignments {
            Some(assignments) => changer.updating_ahead(assignments),
            None => changer.deleting_ahead(),
        };
        for (batch, first) in found.chunks(LOCKS_AT_ONCE).zip((1..).step_by(LOCKS_AT_ONCE)) {
            let mut next = Vec::with_capacity(batch.len());
            for (wide, number) in batch.iter().zip(first..) {
                governor::tick()?;
                let key = key_of(target, wide);
                next.extend(
                    key.filter(|key| done.insert(key.clone()))
                        .map(|key| (key, wide, number)),
                );
            }
            ahead.lock(next.iter().map(|(key, ..)| key.as_slice()))?;
            for (key, wide, number) in next {
                governor::tick()?;
                changed.matched += 1;
                ctx.set_row_number(number);
                changed.affected += u64::from(change_row(target, &key, wide, sees, &mut changer, runtime, ctx)?);
            }
        }
    }
    Ok(changed)
}

/// The target that is changed as if the join were still being read: the table that is written first, unless its rows are met under
/// another name, too. MySQL takes the one that it reads first, which mostly is that.
fn first_written(plan: &MultiTableChange) -> Option<usize> {
    let is_first = |target: &TargetTable| target.offset == 0 && target.assignments.is_some();
    let first = plan.targets.iter().position(is_first)?;
    let (id, mut names) = (plan.targets[first].table.id(), 0);
    plan.join
        .for_each_table(&mut |access| names += usize::from(access.table.id() == id));
    (names == 1).then_some(first)
}

/// What the values that are assigned to a row see of the assignments.
#[derive(Clone, Copy)]
enum Sees<'a> {
    /// Those before them, of the same row.
    Assigned,
    /// None of the same row, and those of this table, which is changed first.
    Before(Option<&'a TargetTable>),
}

/// Puts the row as it is now into the wide one.
fn refresh(target: &TargetTable, wide: &mut [Value], runtime: &Runtime<'_>) {
    let Some(key) = key_of(target, wide) else { return };
    let layout = target.table.layout();
    let read = |stored: &[u8]| read_row(layout, stored);
    if let Some(values) = runtime.transaction().get_current(&target.table.rows, &key, read) {
        wide[target.offset..target.offset + values.len()].clone_from_slice(&values);
    }
}

/// The primary key of the table's row in the wide one, or its hidden row id; none where an outer join has no row.
fn key_of(target: &TargetTable, wide: &[Value]) -> Option<Vec<u8>> {
    if let Some(slot) = target.row_id {
        return match &wide[slot] {
            Value::Bytes(id) => Some(id.to_vec()),
            _ => None,
        };
    }
    let layout = target.table.rows.primary_layout()?;
    let parts = &target.table.def.primary()?.parts;
    let values: Vec<Value> = parts
        .iter()
        .map(|part| wide[target.offset + part.column].clone())
        .collect();
    let mut key = Vec::new();
    let has_null = layout.encode_values(&values, &mut key);
    (!has_null).then_some(key)
}

fn change_row(
    target: &TargetTable,
    key: &[u8],
    wide: &[Value],
    sees: Sees<'_>,
    changer: &mut RowChanger<'_>,
    runtime: &Runtime<'_>,
    ctx: &QueryContext<'_>,
) -> SqlResult<bool> {
    let table = &target.table;
    let locked = runtime
        .with_locks(|transaction| transaction.lock_found(&table.rows, key))
        .map_err(|error| error.into_sql(table))?;
    if runtime.transaction().is_stale() {
        return Ok(false);
    }
    let current = runtime
        .transaction()
        .get_current(&table.rows, key, |stored| read_row(table.layout(), stored));
    let (Locked::Yes, Some(old)) = (locked, current) else {
        return Ok(false);
    };
    let Some(assignments) = &target.assignments else {
        return changer.delete_fired(key, &old);
    };
    let mut wide = wide.to_vec();
    if let Sees::Before(Some(first)) = sees {
        refresh(first, &mut wide, runtime);
    }
    wide[target.offset..target.offset + old.len()].clone_from_slice(&old);
    let mut new = old.clone();
    for assignment in assignments {
        let value = assignment.value.eval(&wide, ctx)?;
        new[assignment.column] = changer.reassign(assignment.column, value)?;
        if let Sees::Assigned = sees {
            wide[target.offset + assignment.column] = new[assignment.column].clone();
        }
    }
    let slots = target.offset..target.offset + old.len();
    let ignore = changer.ignore;
    let touched = Touched::AfterTriggers;
    let found = crate::dml::Found { key, values: &old };
    crate::dml::write_changed(changer, assignments, found, new, ctx, touched, &mut |new| {
        wide[slots.clone()].clone_from_slice(new);
        crate::dml::stays_in_views(&target.views, &wide, ignore, ctx)
    })
}
