//! Runs UPDATE and DELETE over several tables.
//!
//! The join is read to its end first; then each row found is locked and changed once, however often the join has met it. A row that
//! has changed since makes the statement run again, because nothing says that the join would find it still.

use std::ops::ControlFlow;

use governor::stepwise::Set;
use types::{SqlResult, Value};

use super::QueryContext;
use super::join::pass;
use super::{Rows, row_bytes};
use crate::exec::Runtime;
use crate::exec::dml::{Changed, RowChanger};
use crate::exec::rows::read_row;
use crate::exec::runtime::Locked;
use crate::expr::EvalContext;
use crate::plan::query::{MultiTableChange, TargetTable};

impl MultiTableChange {
    pub fn run(&self, runtime: &Runtime<'_>, ctx: &EvalContext<'_>) -> SqlResult<Changed> {
        let ctx = &QueryContext::new(runtime, ctx);
        let mut memory = runtime.query_memory();
        let mut found = Rows::default();
        let mut row = vec![Value::Null; self.width];
        let _complete = self.join.rows(&mut row, ctx, &mut |row| {
            if pass(&self.filter, row, ctx)? {
                memory.grow(row_bytes(row))?;
                found.push(row.clone());
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let mut changed = Changed::default();
        for target in &self.targets {
            let mut done = Set::new();
            let mut changer = RowChanger::new(&target.table, &target.rules, runtime, ctx, self.ignore)
                .keeping(target.foreign_keys.as_deref());
            for (wide, number) in found.iter().zip(1..) {
                governor::tick()?;
                let Some(key) = target.key(wide) else { continue };
                if !done.insert(key.clone()) {
                    continue;
                }
                changed.matched += 1;
                ctx.set_row_number(number);
                changed.affected += u64::from(target.change(&key, wide, &mut changer, runtime, ctx)?);
            }
        }
        Ok(changed)
    }
}

impl TargetTable {
    /// The primary key of the table's row in the wide one, or its hidden row id; none where an outer join has no row.
    fn key(&self, wide: &[Value]) -> Option<Vec<u8>> {
        if let Some(slot) = self.row_id {
            return match &wide[slot] {
                Value::Bytes(id) => Some(id.to_vec()),
                _ => None,
            };
        }
        let layout = self.table.rows.primary_layout()?;
        let parts = &self.table.def.primary()?.parts;
        let values: Vec<Value> = parts
            .iter()
            .map(|part| wide[self.offset + part.column].clone())
            .collect();
        let mut key = Vec::new();
        let has_null = layout.encode_values(&values, &mut key);
        (!has_null).then_some(key)
    }

    fn change(
        &self,
        key: &[u8],
        wide: &[Value],
        changer: &mut RowChanger<'_>,
        runtime: &Runtime<'_>,
        ctx: &QueryContext<'_>,
    ) -> SqlResult<bool> {
        let table = &self.table;
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
        let Some(assignments) = &self.assignments else {
            return match changer.delete(key, &old) {
                Ok(()) => Ok(true),
                Err(error) => changer.warn_or_fail(error.into_sql(table)).map(|()| false),
            };
        };
        let mut wide = wide.to_vec();
        wide[self.offset..self.offset + old.len()].clone_from_slice(&old);
        let mut new = old.clone();
        for assignment in assignments {
            let value = assignment.value.eval(&wide, ctx)?;
            new[assignment.column] = changer.reassign(assignment.column, value)?;
            wide[self.offset + assignment.column] = new[assignment.column].clone();
        }
        crate::exec::dml::write_changed(changer, assignments, key, &old, new, ctx)
    }
}
