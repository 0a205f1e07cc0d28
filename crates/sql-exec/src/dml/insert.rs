//! INSERT and REPLACE.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::ops::Range;

use catalog::{TriggerEvent, TriggerTiming};
use sql_expr::EvalContext;
use sql_expr::sql_mode::SqlMode;
use sql_plan::changes::{Assignment, InsertPlan, InsertValue, OnDuplicate, Source};
use sql_plan::errors::StatementError;
use sql_plan::table::Table;
use transaction::{LOCKS_AT_ONCE, TransactionError};
use types::{ErrorKind, IndexId, SqlError, SqlResult, SqlType, TypeKind, Value};

use super::Changed;
use super::change::RowChanger;
use super::in_way::{Foreseen, InWay, foreseen};
use crate::query::{QueryContext, collect};
use crate::rows::read_row;
use crate::runtime::{Locked, Runtime};

/// The value for a column of a row that ALTER TABLE adds it to; `row` has its other columns.
pub fn added_value(
    value: &InsertValue,
    row: &[Value],
    runtime: &Runtime<'_>,
    table: &Table,
    ctx: &EvalContext<'_>,
) -> SqlResult<Value> {
    Ok(match value_of(value, row, ctx)? {
        Given::Value(value) | Given::Default(value) => value,
        Given::AutoIncrement => {
            runtime
                .with_locks(|transaction| transaction.reserve_auto_increments(&table.rows, 1, 1, 1, greatest(table)))
                .map_err(|error| error.into_sql(table))?;
            Value::UInt(runtime.transaction_mut().next_auto_increment(&table.rows))
        }
        Given::NoDefault | Given::Generated => Value::Null,
    })
}

/// Inserts all rows of the plan.
pub fn insert(plan: &InsertPlan, runtime: &Runtime<'_>, ctx: &EvalContext<'_>) -> SqlResult<Changed> {
    let mut inserter = Inserter::new(plan, runtime, ctx);
    let in_way = InWay::new(plan, &inserter.changer);
    match &plan.source {
        Source::Values(rows) => {
            for batch in rows.chunks(LOCKS_AT_ONCE) {
                if let Some(in_way) = in_way.as_ref().filter(|_| batch.len() > 1) {
                    in_way.lock(batch, &inserter.changer, |row, at| foreseen(&row[at], ctx))?;
                }
                for row in batch {
                    inserter.take(row.len(), |at, values| value_of(&row[at], values, ctx))?;
                }
            }
        }
        Source::Query(query) => {
            let ctx = QueryContext::new(runtime, ctx);
            if runtime.measures().is_some() {
                let read = || crate::query::query_rows(&query.plan, &ctx, &mut |_| Ok(ControlFlow::Continue(())));
                match query.is_past {
                    true => runtime.in_past(read)?,
                    false => read()?,
                }
            } else if query.reads_target || query.is_past {
                let rows = match query.is_past {
                    true => runtime.in_past(|| collect(&query.plan, &ctx))?,
                    false => collect(&query.plan, &ctx)?,
                };
                for batch in rows.chunks(LOCKS_AT_ONCE) {
                    if let Some(in_way) = &in_way {
                        in_way.lock(batch, &inserter.changer, |row, at| {
                            Foreseen::Given(Cow::Borrowed(&row[at]))
                        })?;
                    }
                    batch.iter().try_for_each(|row| inserter.take_selected(row))?;
                }
            } else if let Some(in_way) = in_way.filter(|_| !is_volatile(plan)) {
                in_way.insert_selected(&mut inserter, &query.plan, &ctx)?;
            } else {
                crate::query::query_rows(&query.plan, &ctx, &mut |row| {
                    inserter.take_selected(row).map(|()| ControlFlow::Continue(()))
                })?;
            }
        }
    }
    Ok(inserter.changed)
}

/// Whether what is written depends on more than the rows: on a variable, say, that the query assigns for each of them.
fn is_volatile(plan: &InsertPlan) -> bool {
    let computed = plan.defaults.iter().chain(&plan.computed_defaults);
    let mut computed = computed.map(|(_, value)| value);
    let assignments = match &plan.on_duplicate {
        OnDuplicate::Update(assignments) => assignments.as_slice(),
        OnDuplicate::Fail | OnDuplicate::Replace => &[],
    };
    computed.any(|value| matches!(value, InsertValue::Expr(expr) if expr.is_volatile()))
        || assignments.iter().any(|assignment| assignment.value.is_volatile())
}

/// The types of the columns of a query whose text has other codes than UTF-8, and goes into columns of bytes.
fn encoded(plan: &InsertPlan) -> Vec<Option<&SqlType>> {
    let Source::Query(query) = &plan.source else {
        return Vec::new();
    };
    let given = plan.columns.iter().zip(&query.plan.shape.columns);
    let given = given.map(|(&column, given)| (&plan.table.def.columns[column].ty, &given.ty));
    given
        .map(|(to, from)| sql_plan::columns::takes_codes(to, from).then_some(from))
        .collect()
}

/// What a list gives for a column.
pub(super) enum Given {
    Value(Value),
    /// The column's own default, converted already.
    Default(Value),
    NoDefault,
    AutoIncrement,
    Generated,
}

pub(super) fn value_of(value: &InsertValue, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Given> {
    Ok(match value {
        InsertValue::Literal(value) => Given::Value(value.clone()),
        InsertValue::Param(at) => Given::Value(ctx.params[*at].clone()),
        InsertValue::Expr(expr) => Given::Value(expr.eval(row, ctx)?),
        InsertValue::Default(value) => Given::Default(value.clone()),
        InsertValue::NoDefault => Given::NoDefault,
        InsertValue::AutoIncrement => Given::AutoIncrement,
        InsertValue::Generated => Given::Generated,
    })
}

pub(super) struct Inserter<'a> {
    plan: &'a InsertPlan,
    runtime: &'a Runtime<'a>,
    ctx: &'a EvalContext<'a>,
    pub(super) changer: RowChanger<'a>,
    pub changed: Changed,
    values: Vec<Value>,
    /// The row of the source that ON DUPLICATE KEY UPDATE may name columns of.
    source_row: Vec<Value>,
    /// Of each column of a query: its type, where the bytes of its text go into a column of bytes.
    encoded: Vec<Option<&'a SqlType>>,
    automatic_ids: AutomaticIds,
    /// BEFORE triggers see the row before what is missing in it is an error.
    fires_before: bool,
    /// The columns that have neither a value nor a default.
    missing: Vec<usize>,
}

/// Automatic ids that the statement has taken from the table's counter and not used yet.
///
/// As in MySQL, a list of rows takes as many as it has rows, at its first, so that its ids follow each other whoever else inserts:
/// drivers compute the ids of a list from the first. Whoever does not know how many rows there are takes twice as many each time.
struct AutomaticIds {
    unused: Range<u64>,
    /// How often some were taken.
    taken: u32,
    /// How many to take at first.
    expected: u64,
}

impl AutomaticIds {
    /// How many to take next.
    fn wanted(&self) -> u64 {
        match self.taken {
            0 => self.expected.max(1),
            taken => 1 << taken.min(16),
        }
    }
}

impl<'a> Inserter<'a> {
    pub fn new(plan: &'a InsertPlan, runtime: &'a Runtime<'a>, ctx: &'a EvalContext<'a>) -> Inserter<'a> {
        Inserter {
            plan,
            runtime,
            ctx,
            changer: RowChanger::new(&plan.table, &plan.rules, runtime, ctx, plan.ignore)
                .keeping(plan.foreign_keys.as_deref()),
            changed: Changed::default(),
            fires_before: plan.table.def.has_triggers(TriggerTiming::Before, TriggerEvent::Insert),
            missing: Vec::new(),
            values: Vec::new(),
            source_row: Vec::new(),
            encoded: encoded(plan),
            automatic_ids: AutomaticIds {
                unused: 0..0,
                taken: 0,
                expected: match &plan.source {
                    Source::Values(rows) => rows.len() as u64,
                    Source::Query(_) => 1,
                },
            },
        }
    }

    /// Inserts one row, whose `at`-th value `given` tells.
    pub fn take(&mut self, width: usize, given: impl Fn(usize, &[Value]) -> SqlResult<Given>) -> SqlResult<()> {
        self.changed.matched += 1;
        self.ctx.set_row_number(self.changed.matched);
        governor::tick()?;
        let plan = self.plan;
        self.missing.clear();
        match &plan.before {
            Some(before) => self.values.clone_from(before),
            None => {
                self.values.clear();
                self.values.resize(plan.table.def.columns.len(), Value::Null);
            }
        }
        // Constant defaults first: an expression may look at a column that is not in its list.
        let mut wants_id = false;
        for (column, default) in &plan.defaults {
            let given = value_of(default, &self.values, self.ctx)?;
            wants_id |= self.put(*column, given)?;
        }
        for at in 0..width {
            let given = given(at, &self.values)?;
            wants_id |= self.put(plan.columns[at], given)?;
        }
        for (column, default) in &plan.computed_defaults {
            let given = value_of(default, &self.values, self.ctx)?;
            self.put(*column, given)?;
        }
        match self.fires_before {
            true => self.fire_before(&mut wants_id)?,
            // Behind what is wrong with the values that are given.
            false => self.fill_missing(&[])?,
        }
        if !self.changer.complete(&mut self.values, None)? {
            return Ok(());
        }
        let Some(column) = plan.table.def.auto_increment() else {
            self.write(None)?;
            return Ok(());
        };
        // Only now: a row that breaks a constraint takes no id.
        let automatic = match wants_id {
            true => Some(self.set_automatic_id(column)?),
            false => None,
        };
        let id = as_id(&self.values[column]);
        let written = self.write(automatic)?;
        match (written, automatic) {
            (Written::New, Some(id)) if self.runtime.first_automatic_id.get().is_none() => {
                self.runtime.first_automatic_id.set(Some(id));
            }
            (Written::New, Some(_)) => {}
            (Written::New, None) => self.note_given_id(&self.values[column].clone()),
            // The next row of the statement has it.
            (_, Some(id)) => self.automatic_ids.unused.start = id,
            _ => {}
        }
        self.changed.last_id = match written {
            Written::New => Some(id),
            Written::Updated(existing) => Some(existing),
            Written::Nothing => self.changed.last_id.map(|_| id),
        };
        Ok(())
    }

    /// Inserts a row of the plan's query.
    pub(super) fn take_selected(&mut self, row: &[Value]) -> SqlResult<()> {
        self.source_row.clear();
        if matches!(self.plan.on_duplicate, OnDuplicate::Update(_)) {
            self.source_row.extend_from_slice(row);
        }
        let encoded = std::mem::take(&mut self.encoded);
        let taken = self.take(self.plan.columns.len(), |at, _| {
            Ok(Given::Value(match (&row[at], encoded.get(at).copied().flatten()) {
                (value @ Value::Str(_), Some(ty)) => {
                    Value::Bytes(sql_expr::convert::to_encoded_bytes(value, ty).into_owned().into())
                }
                (value, _) => value.clone(),
            }))
        });
        self.encoded = encoded;
        taken
    }

    /// Sets a column; true when it waits for an automatic id.
    fn put(&mut self, column: usize, given: Given) -> SqlResult<bool> {
        let definition = &self.plan.table.def.columns[column];
        if definition.auto_increment {
            return self.put_counter(column, given);
        }
        self.values[column] = match given {
            // A trigger may set another value.
            Given::Value(Value::Null) if self.fires_before => Value::Null,
            Given::Value(Value::Null) if !definition.nullable => {
                self.changer.bend_null(column, self.lets_null_become_default())?
            }
            Given::Value(value) => self.changer.assign(column, value)?,
            Given::Default(value) => value,
            // Without a default of its own an ENUM has its first member, in strict mode, too.
            Given::NoDefault if definition.ty.kind == TypeKind::Enum => match definition.nullable {
                true => Value::Null,
                false => types::cast::implicit_default(&definition.ty),
            },
            // In strict mode what is wrong with the given values comes first; without it, the warning of what is missing.
            Given::NoDefault if !self.fires_before && !self.fails_without_default() => self.without_default(column)?,
            Given::NoDefault => {
                self.missing.push(column);
                Value::Null
            }
            Given::AutoIncrement | Given::Generated => Value::Null,
        };
        Ok(false)
    }

    /// 1364, of a view 1423, for a column that is given no value and has no default; without strict mode, its implicit default.
    fn without_default(&self, column: usize) -> SqlResult<Value> {
        let definition = &self.plan.table.def.columns[column];
        let missing = match &self.plan.view {
            Some(view) => SqlError::new(ErrorKind::NoDefaultForViewField, &[view]),
            None => SqlError::new(ErrorKind::NoDefaultForField, &[&definition.name]),
        };
        if self.fails_without_default() {
            return Err(missing);
        }
        // Once for the statement.
        if self.changed.matched == 1 {
            self.ctx.with_warnings(|warnings| warnings.warn(missing));
        }
        Ok(match definition.nullable {
            true => Value::Null,
            false => types::cast::implicit_default(&definition.ty),
        })
    }

    /// Sets the columns that were given no value and have no default, but for those that a trigger has `set`.
    fn fill_missing(&mut self, set: &[usize]) -> SqlResult<()> {
        for at in 0..self.missing.len() {
            let column = self.missing[at];
            if !set.contains(&column) {
                self.values[column] = self.without_default(column)?;
            }
        }
        Ok(())
    }

    fn fails_without_default(&self) -> bool {
        self.ctx.settings.sql_mode.is_strict() && !self.plan.ignore
    }

    /// Fires the BEFORE triggers, and looks afterwards whether the row is one.
    fn fire_before(&mut self, wants_id: &mut bool) -> SqlResult<()> {
        self.changer.generate(&mut self.values, None)?;
        let (timing, event) = (TriggerTiming::Before, TriggerEvent::Insert);
        let set = self.changer.fire(timing, event, None, Some(&mut self.values))?;
        self.fill_missing(&set)?;
        let counter = self.plan.table.def.auto_increment();
        if let Some(column) = counter.filter(|column| set.contains(column)) {
            let value = std::mem::replace(&mut self.values[column], Value::Null);
            *wants_id = self.put_counter(column, Given::Value(value))?;
        }
        let is_bent = self.lets_null_become_default();
        self.changer.bend_nulls(&mut self.values, &set, is_bent)
    }

    /// MySQL lets NULL become the implicit default under IGNORE, and in lists of several rows without strict mode.
    fn lets_null_become_default(&self) -> bool {
        let several = match &self.plan.source {
            Source::Values(rows) => rows.len() > 1,
            Source::Query(_) => true,
        };
        self.plan.ignore || (several && !self.ctx.settings.sql_mode.is_strict())
    }

    /// Sets the AUTO_INCREMENT column: NULL, and 0 unless NO_AUTO_VALUE_ON_ZERO, take the next id.
    fn put_counter(&mut self, column: usize, given: Given) -> SqlResult<bool> {
        let value = match given {
            Given::Value(value) => match value {
                Value::Null => Value::Null,
                value => self.changer.assign(column, value)?,
            },
            _ => Value::Null,
        };
        let zero_counts = self.ctx.settings.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO);
        if !value.is_null() && (!is_zero(&value) || zero_counts) {
            self.values[column] = value;
            return Ok(false);
        }
        // Expressions of the list see a 0.
        self.values[column] = self.changer.assign(column, Value::UInt(0))?;
        Ok(true)
    }

    /// Gives the row the next automatic id.
    fn set_automatic_id(&mut self, column: usize) -> SqlResult<u64> {
        let (next, greatest) = (self.next_id()?, greatest_id(&self.plan.table.def.columns[column].ty));
        // The greatest number of 64 bits is no id, and after an id of this statement none is given twice.
        if next == u64::MAX || next > greatest && self.runtime.first_automatic_id.get().is_some() {
            return Err(ErrorKind::AutoincReadFailed.into());
        }
        // Behind the last id comes the last id again, which then is a duplicate.
        let id = next.min(greatest);
        let exhausted = |_| SqlError::from(ErrorKind::AutoincReadFailed);
        self.values[column] = self.changer.assign(column, Value::UInt(id)).map_err(exhausted)?;
        Ok(id)
    }

    /// The next automatic id: with `auto_increment_increment` n and `auto_increment_offset` o, the next of o, o+n, o+2n…
    fn next_id(&mut self) -> SqlResult<u64> {
        let table = &self.plan.table.rows;
        let (step, offset) = self.runtime.settings.auto_increment;
        if let Some(id) = self.runtime.insert_id.take() {
            self.runtime.transaction_mut().note_auto_increment(table, id);
            self.automatic_ids.expected -= 1;
            return Ok(id);
        }
        let ids = &mut self.automatic_ids;
        if ids.unused.is_empty() {
            let count = ids.wanted();
            let greatest = greatest(&self.plan.table);
            self.runtime
                .with_locks(|transaction| transaction.reserve_auto_increments(table, count, step, offset, greatest))
                .map_err(|error| error.into_sql(&self.plan.table))?;
            ids.unused = self
                .runtime
                .transaction_mut()
                .take_auto_increments(table, count, step, offset);
            ids.taken += 1;
        }
        let id = ids.unused.start;
        ids.unused.start = id.saturating_add(step.max(1));
        Ok(id)
    }

    /// A row has an id of its own: automatic ones go on behind it.
    fn note_given_id(&mut self, id: &Value) {
        note_given_id(self.runtime, &self.plan.table, id);
        if is_negative(id) {
            return;
        }
        let (step, _) = self.runtime.settings.auto_increment;
        let unused = &mut self.automatic_ids.unused;
        while !unused.is_empty() && unused.start <= as_id(id) {
            unused.start = unused.start.saturating_add(step.max(1));
        }
    }

    /// Writes the row in `values`, with the plan's answer to duplicates. `automatic` is its id if it did not bring one.
    fn write(&mut self, automatic: Option<u64>) -> SqlResult<Written> {
        loop {
            self.runtime.check_not_stale()?;
            let error = match self.changer.insert(&self.values) {
                Ok(()) => {
                    self.changed.affected += 1;
                    let new = Some(self.values.as_mut_slice());
                    self.changer
                        .fire(TriggerTiming::After, TriggerEvent::Insert, None, new)?;
                    return Ok(Written::New);
                }
                Err(error) => error,
            };
            let StatementError::Transaction(TransactionError::DuplicateKey { existing, index, .. }) = &error else {
                self.changed.duplicates += 1;
                self.changer.warn_or_fail(self.changer.error(error, &self.values))?;
                return Ok(Written::Nothing);
            };
            let plan = self.plan;
            match &plan.on_duplicate {
                OnDuplicate::Update(assignments) => {
                    return self.update_existing(&existing.clone(), assignments, automatic);
                }
                // Behind the last id comes the last id again: REPLACE would remove a row that it does not mean.
                OnDuplicate::Replace if automatic.is_some() && self.begins_with_counter(*index) => {
                    return Err(self.changer.error(error, &self.values));
                }
                OnDuplicate::Replace => {
                    if self.replace_existing(&existing.clone(), *index)? {
                        return Ok(Written::New);
                    }
                }
                OnDuplicate::Fail => {
                    self.changed.duplicates += 1;
                    self.changer.warn_or_fail(self.changer.error(error, &self.values))?;
                    return Ok(Written::Nothing);
                }
            }
        }
    }

    fn begins_with_counter(&self, index: IndexId) -> bool {
        let def = &self.plan.table.def;
        let index = def.indexes.iter().find(|known| known.id == index);
        index.is_some_and(|index| Some(index.parts[0].column) == def.auto_increment())
    }

    /// Locks the row in the way and reads it; nothing when it has gone meanwhile.
    fn lock_existing(&self, key: &[u8]) -> SqlResult<Option<Vec<Value>>> {
        let table = &self.plan.table;
        let locked = self
            .runtime
            .with_locks(|transaction| transaction.lock_for_write(&table.rows, key))
            .map_err(|error| error.into_sql(table))?;
        if locked == Locked::Skipped {
            return Ok(None);
        }
        Ok(self
            .runtime
            .transaction()
            .get_current(&table.rows, key, |row| read_row(table.layout(), row)))
    }

    /// REPLACE: removes the row in the way. True when it was the same row, so that nothing is left to do.
    fn replace_existing(&mut self, key: &[u8], index: IndexId) -> SqlResult<bool> {
        let mut unique = self.plan.table.def.indexes.iter().filter(|index| index.is_unique());
        let last_unique = unique.next_back().is_some_and(|last| last.id == index);
        let Some(old) = self.lock_existing(key)? else {
            return Ok(false);
        };
        // MySQL finds a row unchanged only where it would update it: where no other unique key may have a conflict too, and nobody
        // refers to it.
        let (before, after) = (TriggerTiming::Before, TriggerTiming::After);
        let fires = [before, after].map(|timing| self.changer.has_triggers(timing, TriggerEvent::Delete));
        if old == self.values && last_unique && !self.changer.is_parent() && fires == [false; 2] {
            self.changed.affected += 1;
            let new = Some(self.values.as_mut_slice());
            self.changer.fire(after, TriggerEvent::Insert, None, new)?;
            return Ok(true);
        }
        self.changer.fire(before, TriggerEvent::Delete, Some(&old), None)?;
        self.changer
            .give_way(key, &old, &self.values)
            .map_err(|error| error.into_sql(&self.plan.table))?;
        self.changer.fire(after, TriggerEvent::Delete, Some(&old), None)?;
        self.changed.affected += 1;
        self.changed.duplicates += 1;
        Ok(false)
    }

    /// `ON DUPLICATE KEY UPDATE`: counts 2 when the old row changed, 1 or 0 when it did not.
    fn update_existing(
        &mut self,
        key: &[u8],
        assignments: &[Assignment],
        automatic: Option<u64>,
    ) -> SqlResult<Written> {
        let Some(old) = self.lock_existing(key)? else {
            return self.write(automatic);
        };
        let table = &self.plan.table;
        // Under IGNORE those are duplicates of which nothing came, otherwise those that changed a row.
        let ignore = self.plan.ignore;
        self.changer.read_again(&old, None)?;
        // The expressions see the old row, as changed so far, followed by the new one and by that of the source.
        let mut both = old.clone();
        both.extend(self.values.iter().chain(&self.source_row).cloned());
        // Of a query the row that is there is not given what one that comes is.
        let is_bent = match &self.plan.source {
            Source::Values(_) => self.lets_null_become_default(),
            Source::Query(_) => self.plan.ignore,
        };
        for assignment in assignments {
            let value = assignment.value.eval(&both, self.ctx)?;
            both[assignment.column] = self.changer.reassign_bent(assignment.column, value, is_bent)?;
        }
        let mut new = both;
        new.truncate(old.len());
        let fires = self.changer.has_triggers(TriggerTiming::Before, TriggerEvent::Update);
        if new != old {
            super::update::touch_timestamps(table, &mut new, assignments, self.ctx);
        }
        if fires {
            self.changer.before_update(&old, &mut new)?;
        }
        let (after, event) = (TriggerTiming::After, TriggerEvent::Update);
        if new == old {
            self.changed.affected += u64::from(self.runtime.settings.found_rows);
            self.changer.fire(after, event, Some(&old), Some(&mut new))?;
            self.changed.duplicates += u64::from(ignore);
            return Ok(Written::Nothing);
        }
        if !self.changer.complete(&mut new, None)? {
            self.changed.duplicates += u64::from(ignore);
            return Ok(Written::Nothing);
        }
        if let Err(error) = self.changer.update(key, &old, &new) {
            self.changer.warn_or_fail(self.changer.error(error, &new))?;
            self.changed.duplicates += u64::from(ignore);
            return Ok(Written::Nothing);
        }
        self.changer.fire(after, event, Some(&old), Some(&mut new))?;
        self.changed.affected += 2;
        self.changed.duplicates += u64::from(!ignore);
        let Some(column) = table.def.auto_increment() else {
            return Ok(Written::Updated(0));
        };
        if new[column] != old[column] {
            self.note_given_id(&new[column]);
        }
        Ok(Written::Updated(as_id(&new[column])))
    }
}

/// What became of a row that was given to INSERT.
#[derive(Clone, Copy)]
enum Written {
    /// It was inserted, also in place of another.
    New,
    /// The row with this id was in its way and was changed.
    Updated(u64),
    /// It was left out, or changed nothing.
    Nothing,
}

/// An id as answers tell it: a negative one in two's complement.
fn as_id(value: &Value) -> u64 {
    match value {
        Value::Int(id) => *id as u64,
        Value::UInt(id) => *id,
        Value::Float(id) => f64::from(*id) as u64,
        Value::Double(id) => *id as u64,
        _ => 0,
    }
}

/// The greatest automatic id that a table can give.
fn greatest(table: &Table) -> u64 {
    let column = table.def.auto_increment();
    column.map_or(u64::MAX, |column| greatest_id(&table.def.columns[column].ty))
}

/// The greatest id that a column can hold.
fn greatest_id(ty: &SqlType) -> u64 {
    ty.integer_range().1 as u64
}

pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Int(id) => *id == 0,
        Value::UInt(id) => *id == 0,
        Value::Float(id) => *id == 0.0,
        Value::Double(id) => *id == 0.0,
        _ => false,
    }
}

/// Lets automatic ids go on behind one that a statement gave itself.
pub fn note_given_id(runtime: &Runtime<'_>, table: &Table, id: &Value) {
    if !id.is_null() && !is_negative(id) {
        runtime.transaction_mut().note_auto_increment(&table.rows, as_id(id));
    }
}

/// The first automatic id behind one that a row has.
pub fn id_behind(id: &Value) -> u64 {
    match is_negative(id) {
        true => 1,
        false => as_id(id).saturating_add(1),
    }
}

fn is_negative(value: &Value) -> bool {
    match value {
        Value::Int(id) => *id < 0,
        Value::Float(id) => *id < 0.0,
        Value::Double(id) => *id < 0.0,
        _ => false,
    }
}
