//! DELETE from one table.

use sql_expr::EvalContext;
use sql_plan::changes::{DeletePlan, WriteRules};
use types::SqlResult;

use super::Changed;
use super::change::RowChanger;
use super::target::for_each_row;
use crate::runtime::Runtime;

/// Removes all rows of the target.
pub fn delete(plan: &DeletePlan, runtime: &Runtime<'_>, ctx: &EvalContext<'_>) -> SqlResult<Changed> {
    let table = plan.target.table();
    let rules = WriteRules::default();
    let mut changer = RowChanger::new(table, &rules, runtime, ctx, plan.ignore).keeping(plan.foreign_keys.as_deref());
    let mut affected = 0;
    let ahead = changer.deleting_ahead();
    let matched = for_each_row(&plan.target, runtime, ctx, &ahead, &mut |key, old| {
        affected += u64::from(changer.delete_fired(key, &old)?);
        Ok(())
    })?;
    Ok(Changed {
        matched,
        affected,
        ..Changed::default()
    })
}
