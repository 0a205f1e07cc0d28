//! Rows in the way of new ones, locked ahead where another node gives locks: what INSERT … ON DUPLICATE KEY UPDATE and REPLACE change, and what
//! INSERT IGNORE leaves as it is.
//!
//! The keys of the next rows are looked at before the rows are made, as far as they can be told by then: an automatic id, or a value that is
//! computed, is not. Nothing is decided here; a row that is not foreseen asks for its locks itself.

use std::ops::ControlFlow;

use governor::stepwise::Stepwise;
use sql_expr::EvalContext;
use sql_expr::sql_mode::SqlMode;
use sql_plan::changes::{InsertPlan, InsertValue, OnDuplicate};
use sql_plan::query::QueryPlan;
use transaction::LOCKS_AT_ONCE;
use types::error::Warnings;
use types::{IndexId, SqlResult, Value};

use super::Ahead;
use super::change::RowChanger;
use super::insert::{Inserter, is_zero};
use crate::query::{QueryContext, is_of_a_value, query_rows, row_bytes};
use crate::runtime::QueryMemory;

/// What a row will have in a column, if it is known yet.
#[derive(Clone, Copy)]
pub enum Foreseen<'v> {
    /// To be converted to the column's type.
    Given(&'v Value),
    Default(&'v Value),
    Unknown,
}

/// What a list gives for a column.
pub fn foreseen<'v>(value: &'v InsertValue, ctx: &EvalContext<'v>) -> Foreseen<'v> {
    match value {
        InsertValue::Literal(value) => Foreseen::Given(value),
        InsertValue::Param(at) => Foreseen::Given(&ctx.params[*at]),
        InsertValue::Default(value) => Foreseen::Default(value),
        InsertValue::Expr(_) | InsertValue::NoDefault | InsertValue::AutoIncrement | InsertValue::Generated => {
            Foreseen::Unknown
        }
    }
}

/// Looks for the rows in the way of the next ones.
pub struct InWay<'a> {
    plan: &'a InsertPlan,
    /// What happens to the rows found; `None` if they stay.
    ahead: Option<Ahead<'a>>,
    /// Whether a column is in a unique key: others are of no interest.
    in_keys: Vec<bool>,
}

impl<'a> InWay<'a> {
    /// `None`: there is nothing to look for.
    pub fn new(plan: &'a InsertPlan, changer: &RowChanger<'a>) -> Option<InWay<'a>> {
        if !changer.runtime.transaction().locks_elsewhere(&plan.table.rows) {
            return None;
        }
        let ahead = match &plan.on_duplicate {
            OnDuplicate::Update(assignments) => Some(changer.updating_ahead(assignments)),
            OnDuplicate::Replace => Some(changer.deleting_ahead()),
            OnDuplicate::Fail if plan.ignore => None,
            OnDuplicate::Fail => return None,
        };
        let def = &plan.table.def;
        let is_in_key = |column: usize| {
            let mut unique = def.indexes.iter().filter(|index| index.is_unique());
            unique.any(|index| index.parts.iter().any(|part| part.column == column))
        };
        Some(InWay {
            plan,
            ahead,
            in_keys: (0..def.columns.len()).map(is_in_key).collect(),
        })
    }

    /// Locks what is in the way of these rows. `given` tells what a row has for each column of the list.
    pub fn lock<'v, R>(
        &self,
        rows: &'v [R],
        changer: &RowChanger<'a>,
        given: impl Fn(&'v R, usize) -> Foreseen<'v>,
    ) -> SqlResult<()> {
        let (mut keys, mut found) = (Vec::new(), Vec::new());
        for row in rows {
            governor::tick()?;
            let values = self.values_of(changer, |at| given(row, at));
            self.look_for(&values, changer, &mut keys, &mut found);
        }
        let runtime = changer.runtime;
        let keys = keys
            .iter()
            .map(|(index, key): &(IndexId, Vec<u8>)| (*index, key.as_slice()));
        runtime.lock_keys_ahead(&self.plan.table, keys)?;
        match &self.ahead {
            Some(ahead) => ahead.lock(found.iter().map(Vec::as_slice)),
            None => Ok(()),
        }
    }

    /// Inserts the rows of a query, many at a time. What is said of them is said in the same order as if each were written when it is read.
    pub fn insert_selected(
        &self,
        inserter: &mut Inserter<'a>,
        query: &QueryPlan,
        ctx: &QueryContext<'_>,
    ) -> SqlResult<()> {
        let mut batch = Batch {
            rows: Stepwise::default(),
            said: Some(ctx.take_warnings()),
            memory: ctx.runtime.query_memory(),
        };
        let read = query_rows(query, ctx, &mut |row| {
            batch.memory.grow(row_bytes(row))?;
            batch.rows.push((row.to_vec(), ctx.take_warnings()));
            // As if it were written, for what is said of the next one.
            ctx.set_row_number(inserter.changed.matched + batch.rows.len() as u64);
            if batch.rows.len() >= LOCKS_AT_ONCE {
                self.write(&mut batch, inserter, ctx)?;
            }
            Ok(ControlFlow::Continue(()))
        });
        // Otherwise it is a row that could not be written.
        let is_of_the_query = batch.said.is_some();
        let said_last = is_of_the_query.then(|| ctx.take_warnings());
        let written = match &read {
            Err(error) if !(is_of_the_query && is_of_a_value(error)) => Ok(()),
            _ => self.write(&mut batch, inserter, ctx),
        };
        if let Some(said) = batch.said.take() {
            ctx.with_warnings(|warnings| *warnings = said);
        }
        written?;
        if let Some(said) = said_last {
            ctx.with_warnings(|warnings| warnings.append(said));
        }
        read
    }

    fn write(&self, batch: &mut Batch, inserter: &mut Inserter<'a>, ctx: &QueryContext<'_>) -> SqlResult<()> {
        if let Some(said) = batch.said.take() {
            ctx.with_warnings(|warnings| *warnings = said);
        }
        let rows = std::mem::take(&mut batch.rows);
        self.lock(&rows, &inserter.changer, |(row, _), at| Foreseen::Given(&row[at]))?;
        for (row, said) in rows.iter() {
            ctx.with_warnings(|warnings| warnings.append(said.clone()));
            inserter.take_selected(row)?;
        }
        batch.memory = ctx.runtime.query_memory();
        batch.said = Some(ctx.take_warnings());
        Ok(())
    }

    /// The values that are known.
    fn values_of<'v>(&self, changer: &RowChanger<'_>, given: impl Fn(usize) -> Foreseen<'v>) -> Vec<Option<Value>> {
        let plan = self.plan;
        let mut values = vec![None; plan.table.def.columns.len()];
        for (column, default) in &plan.defaults {
            values[*column] = self.value(changer, *column, foreseen(default, changer.ctx));
        }
        for (at, &column) in plan.columns.iter().enumerate() {
            values[column] = self.value(changer, column, given(at));
        }
        for (column, _) in &plan.computed_defaults {
            values[*column] = None;
        }
        values
    }

    fn value(&self, changer: &RowChanger<'_>, column: usize, given: Foreseen<'_>) -> Option<Value> {
        let definition = &self.plan.table.def.columns[column];
        let value = match given {
            Foreseen::Unknown => return None,
            _ if !self.in_keys[column] || definition.generated.is_some() => return None,
            Foreseen::Default(value) => return Some(value.clone()),
            Foreseen::Given(Value::Null) if !definition.nullable => return None,
            Foreseen::Given(value) => value,
        };
        // What there is to say of a value is said when it is the row's turn.
        let assigned = changer.ctx.quietly(|| changer.assign(column, value.clone()));
        let zero_counts = changer.ctx.settings.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO);
        let is_automatic = |value: &Value| definition.auto_increment && is_zero(value) && !zero_counts;
        assigned.ok().filter(|value| !is_automatic(value))
    }

    /// The keys that others have already, and whose rows those are.
    fn look_for(
        &self,
        values: &[Option<Value>],
        changer: &RowChanger<'_>,
        keys: &mut Vec<(IndexId, Vec<u8>)>,
        found: &mut Vec<Vec<u8>>,
    ) {
        let table = &self.plan.table;
        // Columns that are not known are in no key that is looked at.
        let filled: Vec<Value> = values
            .iter()
            .zip(&table.def.columns)
            .map(|(value, column)| match value {
                Some(value) => value.clone(),
                None if column.nullable => Value::Null,
                None => types::cast::implicit_default(&column.ty),
            })
            .collect();
        let mut row = Vec::new();
        table.layout().encode(&filled, &mut row);
        let transaction = changer.runtime.transaction();
        for index in table.def.indexes.iter().filter(|index| index.is_unique()) {
            if index.parts.iter().any(|part| values[part.column].is_none()) {
                continue;
            }
            let mut key = Vec::new();
            let has_null = match index.id {
                IndexId::PRIMARY => {
                    table.primary_key(&row, &mut key);
                    false
                }
                id => table.rows.index_key(id, &row, &[], &mut key),
            };
            if !has_null && let Some(existing) = transaction.row_in_the_way(&table.rows, index.id, &key, &[]) {
                keys.push((index.id, key));
                found.push(existing);
                // REPLACE alone goes on to the next.
                if !matches!(self.plan.on_duplicate, OnDuplicate::Replace) {
                    return;
                }
            }
        }
    }
}

/// Rows of a query that are to be written, each with what was said when it was read.
struct Batch {
    rows: Stepwise<Vec<(Vec<Value>, Warnings)>>,
    /// What was said before; `None` while rows are written, or after one could not be.
    said: Option<Warnings>,
    memory: QueryMemory,
}
