//! DELETE from one table.

use types::SqlResult;

use super::change::{RowChanger, WriteRules};
use super::{Changed, Target};
use crate::exec::runtime::Runtime;
use crate::expr::EvalContext;

/// A bound DELETE from one table.
#[derive(Debug)]
pub struct DeletePlan {
    pub target: Target,
    pub ignore: bool,
}

/// Removes all rows of the target.
pub fn delete(plan: &DeletePlan, runtime: &Runtime<'_>, ctx: &EvalContext<'_>) -> SqlResult<Changed> {
    let table = plan.target.table();
    let rules = WriteRules::default();
    let mut changer = RowChanger::new(table, &rules, runtime, ctx, plan.ignore);
    let matched = plan.target.for_each(runtime, ctx, &mut |key, _| {
        changer.delete(key).map_err(|error| error.into_sql(table))
    })?;
    Ok(Changed {
        matched,
        affected: matched,
        ..Changed::default()
    })
}
