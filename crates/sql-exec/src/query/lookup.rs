//! Rows of a correlated query, looked up for the row around.

use std::ops::ControlFlow;
use std::rc::Rc;

use sql_plan::query::{Lookup, SelectPlan};
use types::{SqlResult, Value};

use super::QueryContext;
use super::join::{HashTable, Next, join_rows, pass};

/// The table that the rows around look up in; `None` while the query is better run for each of them.
pub fn table(plan: &SelectPlan, lookup: &Lookup, ctx: &QueryContext<'_>) -> SqlResult<Option<Rc<Found>>> {
    // What is locked, is locked for the row around.
    if ctx.runtime.locks_reads() || (lookup.only_existence && !plan.asks_existence()) {
        return Ok(None);
    }
    let place = std::ptr::from_ref(lookup) as usize;
    ctx.runtime.lookup_table(place, lookup, || read(plan, lookup, ctx))
}

/// All rows that may be looked up.
pub struct Found {
    rows: HashTable,
    /// What is kept of each.
    slots: Vec<usize>,
}

impl Found {
    /// There was no memory for them.
    pub fn is_too_large(&self) -> bool {
        self.rows.is_too_large
    }

    /// Gives those that belong to the row around to `next`.
    pub fn each(
        &self,
        lookup: &Lookup,
        row: &mut Vec<Value>,
        ctx: &QueryContext<'_>,
        next: &mut Next<'_>,
    ) -> SqlResult<ControlFlow<()>> {
        let Some(rows) = self.rows.find(&lookup.key, row, ctx)? else {
            return Ok(ControlFlow::Continue(()));
        };
        for kept in rows {
            governor::tick()?;
            for (slot, value) in self.slots.iter().zip(kept) {
                row[*slot] = value.clone();
            }
            if pass(&lookup.conditions, row, ctx)? && next(row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn read(plan: &SelectPlan, lookup: &Lookup, ctx: &QueryContext<'_>) -> SqlResult<Found> {
    let slots = plan.looked_up_slots(lookup);
    // LIMIT may leave out the first of several.
    let is_set = slots.is_empty() && plan.gives_existence() && !lookup.only_existence;
    let mut rows = HashTable::new(ctx);
    let mut own = vec![Value::Null; plan.width];
    let read = join_rows(&lookup.join, &mut own, ctx, &mut |own| {
        governor::tick()?;
        match is_set {
            true => rows.add_once(&lookup.key, own, ctx)?,
            false => {
                let kept = slots.iter().map(|slot| own[*slot].clone()).collect();
                rows.add(&lookup.key, own, ctx, kept)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    });
    let rows = rows.complete(read.map(drop))?;
    Ok(Found { rows, slots })
}
