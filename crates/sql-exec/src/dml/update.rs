//! UPDATE of one table.

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
    write_changed(changer, assignments, key, &old, new, ctx, &mut |_| Ok(true))
}

/// Writes a row's new values, if they are new, and wanted when they are complete. True when they were.
pub fn write_changed(
    changer: &mut RowChanger<'_>,
    assignments: &[Assignment],
    key: &[u8],
    old: &[Value],
    mut new: Vec<Value>,
    ctx: &EvalContext<'_>,
    is_wanted: &mut dyn FnMut(&[Value]) -> SqlResult<bool>,
) -> SqlResult<bool> {
    if new == old {
        return Ok(false);
    }
    touch_timestamps(changer.table, &mut new, assignments, ctx);
    if !changer.complete(&mut new, Some(assignments))? || !is_wanted(&new)? {
        return Ok(false);
    }
    match changer.update(key, old, &new) {
        Ok(()) => {
            if let Some(column) = changer.table.def.auto_increment()
                && new[column] != old[column]
            {
                super::insert::note_given_id(changer.runtime, changer.table, &new[column]);
            }
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
    for (position, column) in table.def.columns.iter().enumerate() {
        let Some(digits) = column.on_update_now else { continue };
        if assignments.iter().all(|assignment| assignment.column != position) {
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
