//! DELETE from one table.

use std::sync::Arc;

use types::SqlResult;

use super::change::{RowChanger, WriteRules};
use super::{Changed, ForeignKeys, Target};
use crate::exec::runtime::Runtime;
use crate::expr::EvalContext;
use crate::table::Table;

/// A bound DELETE from one table.
#[derive(Debug)]
pub struct DeletePlan {
    pub target: Target,
    pub foreign_keys: Option<Arc<ForeignKeys>>,
    pub ignore: bool,
    /// The tables whose rows its queries lock.
    pub locked: Vec<Arc<Table>>,
}

/// Removes all rows of the target.
pub fn delete(plan: &DeletePlan, runtime: &Runtime<'_>, ctx: &EvalContext<'_>) -> SqlResult<Changed> {
    let table = plan.target.table();
    let rules = WriteRules::default();
    let mut changer = RowChanger::new(table, &rules, runtime, ctx, plan.ignore).keeping(plan.foreign_keys.as_deref());
    let mut affected = 0;
    let matched = plan.target.for_each(runtime, ctx, &mut |key, old| {
        match changer.delete(key, &old) {
            Ok(()) => affected += 1,
            Err(error) => changer.warn_or_fail(error.into_sql(table))?,
        }
        Ok(())
    })?;
    Ok(Changed {
        matched,
        affected,
        ..Changed::default()
    })
}
