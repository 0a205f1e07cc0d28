//! Rows in the way of new ones, locked ahead where another node gives locks: what INSERT … ON DUPLICATE KEY UPDATE and REPLACE change, and what
//! INSERT IGNORE leaves as it is; and the parents of new rows, where these cannot claim them.
//!
//! The keys of the next rows are looked at before the rows are made, as far as they can be told by then: an automatic id, or a value that depends
//! on more than its own list, is not. Nothing is decided here; a row that is not foreseen asks for its locks itself.

use std::borrow::Cow;
use std::ops::ControlFlow;

use governor::stepwise::Stepwise;
use sql_expr::sql_mode::SqlMode;
use sql_expr::{EvalContext, Expr};
use sql_plan::changes::{InsertPlan, InsertValue, OnDuplicate};
use sql_plan::foreign_keys::Reference;
use sql_plan::query::QueryPlan;
use store::LockMode;
use transaction::LOCKS_AT_ONCE;
use types::error::Warnings;
use types::{EntryKeys, IndexId, SqlResult, Value};

use super::Ahead;
use super::change::RowChanger;
use super::foreign_keys::foreseen_parent;
use super::insert::{Inserter, is_zero};
use crate::query::{QueryContext, is_of_a_value, query_rows, row_bytes};
use crate::runtime::QueryMemory;

/// What a row will have in a column, if it is known yet.
pub enum Foreseen<'v> {
    /// To be converted to the column's type.
    Given(Cow<'v, Value>),
    Default(&'v Value),
    Unknown,
}

/// What a list gives for a column.
pub fn foreseen<'v>(value: &'v InsertValue, ctx: &EvalContext<'v>) -> Foreseen<'v> {
    match value {
        InsertValue::Literal(value) => Foreseen::Given(Cow::Borrowed(value)),
        InsertValue::Param(at) => Foreseen::Given(Cow::Borrowed(&ctx.params[*at])),
        InsertValue::Default(value) => Foreseen::Default(value),
        // What it says, it says when it is the row's turn.
        InsertValue::Expr(expr) if is_the_same_twice(expr) => match ctx.quietly(|| expr.eval(&[], ctx)) {
            Ok(value) => Foreseen::Given(Cow::Owned(value)),
            Err(_) => Foreseen::Unknown,
        },
        InsertValue::Expr(_) | InsertValue::NoDefault | InsertValue::AutoIncrement | InsertValue::Generated => {
            Foreseen::Unknown
        }
    }
}

/// A subquery may read what the statement itself has written by then.
fn is_the_same_twice(expr: &Expr) -> bool {
    !expr.is_volatile() && !expr.has_subquery() && expr.referenced_columns().is_empty()
}

/// Looks for the rows in the way of the next ones.
pub struct InWay<'a> {
    plan: &'a InsertPlan,
    /// Whether rows may be in the way, and not only end the statement.
    finds: bool,
    /// What happens to the rows found; `None` if they stay.
    ahead: Option<Ahead<'a>>,
    /// The foreign keys whose parents would cost a call each.
    references: Vec<&'a Reference>,
    /// Whether a column is in a key that is looked at: others are of no interest.
    in_keys: Vec<bool>,
}

impl<'a> InWay<'a> {
    /// `None`: there is nothing to look for.
    pub fn new(plan: &'a InsertPlan, changer: &RowChanger<'a>) -> Option<InWay<'a>> {
        let runtime = changer.runtime;
        // What triggers set is not foreseen.
        if !plan.table.def.triggers.is_empty() || !runtime.transaction().locks_elsewhere(&plan.table.rows) {
            return None;
        }
        let ahead = match &plan.on_duplicate {
            OnDuplicate::Update(assignments) => Some(changer.updating_ahead(assignments)),
            OnDuplicate::Replace => Some(changer.deleting_ahead()),
            OnDuplicate::Fail => None,
        };
        let finds = ahead.is_some() || plan.ignore;
        // Of a table's own rows a later one may be the parent, which is to be locked otherwise.
        let foreign_keys = plan.foreign_keys.as_deref();
        let foreign_keys = foreign_keys.filter(|_| {
            // Those that are not there are asked for, each.
            runtime.settings.foreign_key_checks && (plan.ignore || !runtime.transaction().claims_references())
        });
        let own = foreign_keys.and_then(|keys| keys.tables.get(&plan.table.id()));
        let is_elsewhere = |reference: &&Reference| {
            let parent = reference.parent.as_ref();
            parent.is_some_and(|parent| parent.table.id() != plan.table.id())
        };
        let references = own.iter().flat_map(|keys| &keys.own).filter(is_elsewhere);
        let references: Vec<&Reference> = references.collect();
        if !finds && references.is_empty() {
            return None;
        }
        let def = &plan.table.def;
        let is_in_key = |column: usize| {
            let mut unique = def.indexes.iter().filter(|index| finds && index.is_unique());
            unique.any(|index| index.parts.iter().any(|part| part.column == column))
                || references.iter().any(|reference| reference.columns.contains(&column))
        };
        let in_keys = (0..def.columns.len()).map(is_in_key).collect();
        Some(InWay {
            plan,
            finds,
            ahead,
            references,
            in_keys,
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
        let mut parents: Vec<Vec<(IndexId, Vec<u8>)>> = vec![Vec::new(); self.references.len()];
        let runtime = changer.runtime;
        for row in rows {
            governor::tick()?;
            let values = self.values_of(changer, |at| given(row, at));
            let filled = self.filled(&values);
            if self.finds {
                self.look_for(&values, &filled, changer, &mut keys, &mut found);
            }
            for (reference, parents) in self.references.iter().zip(&mut parents) {
                let is_known = reference.columns.iter().all(|&column| values[column].is_some());
                let key = reference.key_of(&filled).filter(|_| is_known);
                if let (Some(key), Some(parent)) = (key, &reference.parent) {
                    parents.extend(foreseen_parent(parent, &key, runtime)?);
                }
            }
        }
        let keys = keys
            .iter()
            .map(|(index, key): &(IndexId, Vec<u8>)| (*index, key.as_slice()));
        runtime.lock_keys_ahead(&self.plan.table, keys, LockMode::Exclusive)?;
        if let Some(ahead) = &self.ahead {
            ahead.lock(found.iter().map(Vec::as_slice))?;
        }
        for (reference, parents) in self.references.iter().zip(&parents) {
            if let Some(parent) = &reference.parent {
                let keys = parents.iter().map(|(index, key)| (*index, key.as_slice()));
                runtime.lock_keys_ahead(&parent.table, keys, LockMode::Shared)?;
            }
        }
        Ok(())
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
        self.lock(&rows, &inserter.changer, |(row, _), at| {
            Foreseen::Given(Cow::Borrowed(&row[at]))
        })?;
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
            Foreseen::Given(value) if value.is_null() && !definition.nullable => return None,
            Foreseen::Given(value) => value.into_owned(),
        };
        // What there is to say of a value is said when it is the row's turn.
        let assigned = changer.ctx.quietly(|| changer.assign(column, value));
        let zero_counts = changer.ctx.settings.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO);
        let is_automatic = |value: &Value| definition.auto_increment && is_zero(value) && !zero_counts;
        assigned.ok().filter(|value| !is_automatic(value))
    }

    /// Columns that are not known are in no key that is looked at.
    fn filled(&self, values: &[Option<Value>]) -> Vec<Value> {
        let columns = values.iter().zip(&self.plan.table.def.columns);
        let filled = columns.map(|(value, column)| match value {
            Some(value) => value.clone(),
            None if column.nullable => Value::Null,
            None => types::cast::implicit_default(&column.ty),
        });
        filled.collect()
    }

    /// The keys that others have already, and whose rows those are.
    fn look_for(
        &self,
        values: &[Option<Value>],
        filled: &[Value],
        changer: &RowChanger<'_>,
        keys: &mut Vec<(IndexId, Vec<u8>)>,
        found: &mut Vec<Vec<u8>>,
    ) {
        let table = &self.plan.table;
        let (mut row, mut own) = (Vec::new(), EntryKeys::default());
        table.layout().encode(filled, &mut row);
        let transaction = changer.runtime.transaction();
        for index in table.def.indexes.iter().filter(|index| index.is_unique()) {
            if index.parts.iter().any(|part| values[part.column].is_none()) {
                continue;
            }
            match index.id {
                IndexId::PRIMARY => {
                    own.clear();
                    own.push(|key| table.primary_key(&row, key));
                }
                id => table.rows.unique_keys(id, &row, &mut own),
            }
            for key in own.iter() {
                if let Some(existing) = transaction.row_in_the_way(&table.rows, index.id, key, &[]) {
                    keys.push((index.id, key.to_vec()));
                    found.push(existing);
                    // REPLACE alone goes on to the next.
                    if !matches!(self.plan.on_duplicate, OnDuplicate::Replace) {
                        return;
                    }
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
