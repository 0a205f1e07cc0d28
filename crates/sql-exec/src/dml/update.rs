//! UPDATE of one table.

use catalog::{TriggerEvent, TriggerTiming};
use sql_expr::EvalContext;
use sql_plan::changes::{Assignment, UpdatePlan};
use sql_plan::table::Table;
use types::{SqlResult, TypeKind, UnixTime, Value};

use super::Changed;
use super::change::RowChanger;
use super::target::for_each_row;
use crate::runtime::Runtime;

/// Changes all rows of the target. `affected` counts the rows whose values changed.
pub fn update(plan: &UpdatePlan, runtime: &Runtime<'_>, ctx: &EvalContext<'_>) -> SqlResult<Changed> {
    let table = plan.target.table();
    let mut changer =
        RowChanger::new(table, &plan.rules, runtime, ctx, plan.ignore).keeping(plan.foreign_keys.as_deref());
    let mut changed = Changed::default();
    let mut row = 0;
    let ahead = changer.updating_ahead(&plan.assignments);
    let matched = for_each_row(&plan.target, runtime, ctx, &ahead, &mut |key, old| {
        row += 1;
        ctx.set_row_number(row);
        changed.affected += u64::from(update_row(&mut changer, &plan.assignments, key, old, ctx)?);
        Ok(())
    })?;
    changed.matched = matched;
    Ok(changed)
}

/// Applies assignments to one locked row. True when its values changed.
pub fn update_row(
    changer: &mut RowChanger<'_>,
    assignments: &[Assignment],
    key: &[u8],
    old: Vec<Value>,
    ctx: &EvalContext<'_>,
) -> SqlResult<bool> {
    changer.read_again(&old, Some(assignments))?;
    let mut new = old.clone();
    for assignment in assignments {
        let value = assignment.value.eval(&new, ctx)?;
        new[assignment.column] = changer.reassign(assignment.column, value)?;
    }
    let touched = Touched::BeforeTriggers;
    let found = Found { key, values: &old };
    write_changed(changer, assignments, found, new, ctx, touched, &mut |_| Ok(true))
}

/// When `ON UPDATE CURRENT_TIMESTAMP` sets its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touched {
    /// What BEFORE triggers change besides touches nothing.
    BeforeTriggers,
    /// UPDATE of several tables.
    AfterTriggers,
}

/// A row that is changed, as it was found.
#[derive(Clone, Copy)]
pub struct Found<'r> {
    pub key: &'r [u8],
    pub values: &'r [Value],
}

/// Writes a row's new values, if they are new, and wanted when they are complete. True when they were.
pub fn write_changed(
    changer: &mut RowChanger<'_>,
    assignments: &[Assignment],
    found: Found<'_>,
    mut new: Vec<Value>,
    ctx: &EvalContext<'_>,
    touched: Touched,
    is_wanted: &mut dyn FnMut(&[Value]) -> SqlResult<bool>,
) -> SqlResult<bool> {
    let Found { key, values: old } = found;
    let fires = changer.has_triggers(TriggerTiming::Before, TriggerEvent::Update);
    if fires {
        if touched == Touched::BeforeTriggers && new != old {
            touch_timestamps(changer.table, &mut new, assignments, ctx);
        }
        let set = changer.before_update(old, &mut new)?;
        if touched == Touched::AfterTriggers && new != old {
            let is_assigned = |column| assignments.iter().any(|assignment| assignment.column == column);
            let is_set = |column| is_assigned(column) || set.contains(&column);
            touch_unset(changer.table, &mut new, &is_set, ctx);
        }
    }
    if new == old {
        changer.fire(TriggerTiming::After, TriggerEvent::Update, Some(old), Some(&mut new))?;
        return Ok(false);
    }
    let assigned = match fires {
        // They may have set any column.
        true => None,
        false => {
            touch_timestamps(changer.table, &mut new, assignments, ctx);
            Some(assignments)
        }
    };
    if !changer.complete(&mut new, assigned)? || !is_wanted(&new)? {
        return Ok(false);
    }
    match changer.update(key, old, &new) {
        Ok(()) => {
            if let Some(column) = changer.table.def.auto_increment()
                && new[column] != old[column]
            {
                super::insert::note_given_id(changer.runtime, changer.table, &new[column]);
            }
            changer.fire(TriggerTiming::After, TriggerEvent::Update, Some(old), Some(&mut new))?;
            Ok(true)
        }
        Err(error) => {
            changer.warn_or_fail(changer.error(error, &new))?;
            Ok(false)
        }
    }
}

/// `ON UPDATE CURRENT_TIMESTAMP`: sets the columns that were not assigned, once something else has changed.
pub fn touch_timestamps(table: &Table, new: &mut [Value], assignments: &[Assignment], ctx: &EvalContext<'_>) {
    let is_set = |column| assignments.iter().any(|assignment| assignment.column == column);
    touch_unset(table, new, &is_set, ctx);
}

/// As [`touch_timestamps`], of the columns that are not set otherwise.
pub fn touch_unset(table: &Table, new: &mut [Value], is_set: &dyn Fn(usize) -> bool, ctx: &EvalContext<'_>) {
    for (position, column) in table.def.columns.iter().enumerate() {
        let Some(digits) = column.on_update_now else { continue };
        if !is_set(position) {
            let now = ctx.settings.time_zone.to_local(ctx.now).truncate(digits);
            new[position] = match column.ty.kind {
                TypeKind::Timestamp => Value::Timestamp(
                    UnixTime {
                        micros: ctx.now.micros,
                        fsp: 6,
                    }
                    .truncate(digits),
                ),
                _ => Value::DateTime(now),
            };
        }
    }
}
