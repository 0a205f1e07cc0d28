//! The last step of every change: from column values to a stored row.

use catalog::{IndexKind, TriggerEvent, TriggerTiming};
use sql_expr::{EvalContext, Expr};
use sql_plan::changes::{Assignment, Sources, ViewRule, WriteRules};
use sql_plan::errors::{StatementError, transaction_error};
use sql_plan::foreign_keys::ForeignKeys;
use sql_plan::table::Table;
use transaction::TransactionError;
use types::cast::{self, Context, SqlMode, Target};
use types::time::TimeZone;
use types::{ErrorKind, SqlError, SqlResult, Value};

use super::ahead::{Ahead, Changes, changed_columns};
use super::foreign_keys::Enforcer;
use crate::runtime::{Runtime, TriggerRows};

/// The class of SQLSTATEs that tell of a value.
const DATA_EXCEPTION: &str = "22";

/// Writes rows of one table.
pub struct RowChanger<'a> {
    pub table: &'a Table,
    pub rules: &'a WriteRules,
    pub runtime: &'a Runtime<'a>,
    pub ctx: &'a EvalContext<'a>,
    /// `IGNORE`: errors of one row become warnings.
    pub ignore: bool,
    foreign_keys: Option<&'a ForeignKeys>,
    /// Virtual columns whose values need not fit: see [`leaving_unchecked`](Self::leaving_unchecked).
    unchecked: Vec<usize>,
    key: Vec<u8>,
    row: Vec<u8>,
}

impl<'a> RowChanger<'a> {
    pub fn new(
        table: &'a Table,
        rules: &'a WriteRules,
        runtime: &'a Runtime<'a>,
        ctx: &'a EvalContext<'a>,
        ignore: bool,
    ) -> RowChanger<'a> {
        RowChanger {
            table,
            rules,
            runtime,
            ctx,
            ignore,
            foreign_keys: None,
            unchecked: Vec::new(),
            key: Vec::new(),
            row: Vec::new(),
        }
    }

    /// Takes what comes nearest, without a word, for values of these virtual columns: MySQL computes them when they are read.
    pub fn leaving_unchecked(self, unchecked: Vec<usize>) -> RowChanger<'a> {
        RowChanger { unchecked, ..self }
    }

    /// Also keeps these foreign keys whole, unless the session has set `foreign_key_checks` to 0.
    pub fn keeping(self, foreign_keys: Option<&'a ForeignKeys>) -> RowChanger<'a> {
        RowChanger {
            foreign_keys: foreign_keys.filter(|_| self.runtime.settings.foreign_key_checks),
            ..self
        }
    }

    /// To lock many rows that will be deleted.
    pub fn deleting_ahead(&self) -> Ahead<'a> {
        self.ahead(Changes::Delete)
    }

    fn ahead(&self, changes: Changes<'_>) -> Ahead<'a> {
        let ahead = Ahead::new(self.table, changes, self.foreign_keys, self.runtime);
        match self.ignore {
            true => ahead.of_what_goes_on(changes),
            false => ahead,
        }
    }

    /// To lock many rows that will get these values.
    pub fn updating_ahead(&self, assignments: &[Assignment]) -> Ahead<'a> {
        let columns = match self.runtime.transaction().locks_elsewhere(&self.table.rows) {
            true => changed_columns(self.table, self.rules, assignments),
            false => Vec::new(),
        };
        self.ahead(Changes::Update(&columns))
    }

    /// Whether rows of others may refer to those of the table.
    pub fn is_parent(&self) -> bool {
        let keys = self.foreign_keys.and_then(|keys| keys.tables.get(&self.table.id()));
        keys.is_some_and(|keys| !keys.incoming.is_empty())
    }

    /// Whether triggers fire then for each row.
    #[inline]
    pub fn has_triggers(&self, timing: TriggerTiming, event: TriggerEvent) -> bool {
        self.table.def.has_triggers(timing, event)
    }

    /// Fires the triggers for a row, if there are any. Returns the columns that they have set.
    #[inline]
    pub fn fire(
        &self,
        timing: TriggerTiming,
        event: TriggerEvent,
        old: Option<&[Value]>,
        new: Option<&mut [Value]>,
    ) -> SqlResult<Vec<usize>> {
        match self.has_triggers(timing, event) {
            true => self.fire_them(timing, event, old, new),
            false => Ok(Vec::new()),
        }
    }

    fn fire_them(
        &self,
        timing: TriggerTiming,
        event: TriggerEvent,
        old: Option<&[Value]>,
        new: Option<&mut [Value]>,
    ) -> SqlResult<Vec<usize>> {
        let mut rows = TriggerRows {
            old,
            new,
            set: Vec::new(),
        };
        let row = self.ctx.row_number();
        self.runtime
            .programs()?
            .fire(self.table, timing, event, &mut rows, self.ctx)?;
        self.ctx.set_row_number(row);
        Ok(rows.set)
    }

    /// Converts a value to a column's type by the rules of assignment; 1048 for NULL in a NOT NULL column.
    pub fn assign(&self, column: usize, value: Value) -> SqlResult<Value> {
        self.assign_by(column, value, |mode| match self.ignore {
            true => mode.ignoring_errors(),
            false => mode,
        })
    }

    fn assign_by(&self, column: usize, value: Value, mode: impl Fn(SqlMode) -> SqlMode) -> SqlResult<Value> {
        let definition = &self.table.def.columns[column];
        let mode = mode(self.ctx.settings.sql_mode.for_casts());
        let zone = &self.ctx.settings.time_zone;
        let target = Target {
            column: &definition.name,
            row: self.ctx.row_number(),
        };
        self.ctx.with_warnings(|warnings| {
            let mut context = Context {
                mode,
                zone,
                now: self.ctx.now,
                warnings,
            };
            cast::assign(value, &definition.ty, target, &mut context)
        })
    }

    /// As [`Self::assign`], for a row that is there already: under IGNORE and without strict mode, NULL in a NOT NULL column
    /// becomes the type's implicit default, with 1048 as a warning.
    pub fn reassign(&self, column: usize, value: Value) -> SqlResult<Value> {
        self.reassign_bent(column, value, self.null_becomes_default())
    }

    /// The same where the statement decides whether NULL is bent.
    pub fn reassign_bent(&self, column: usize, value: Value, is_bent: bool) -> SqlResult<Value> {
        if value.is_null() && self.has_triggers(TriggerTiming::Before, TriggerEvent::Update) {
            // They may set another value, and are asked first.
            return Ok(value);
        }
        self.assign_bent(column, value, is_bent)
    }

    /// As [`Self::assign`], but for NULL where the column cannot have it.
    fn assign_bent(&self, column: usize, value: Value, is_bent: bool) -> SqlResult<Value> {
        match value.is_null() && !self.table.def.columns[column].nullable {
            true => self.bend_null(column, is_bent),
            false => self.assign(column, value),
        }
    }

    fn null_becomes_default(&self) -> bool {
        self.ignore || !self.ctx.settings.sql_mode.is_strict()
    }

    /// NULL in a column that cannot have it: 1048, or where it is bent the type's implicit default, with that as a warning.
    pub fn bend_null(&self, column: usize, is_bent: bool) -> SqlResult<Value> {
        if !is_bent {
            return self.assign(column, Value::Null);
        }
        let definition = &self.table.def.columns[column];
        let null = SqlError::new(ErrorKind::BadNull, &[&definition.name]);
        self.ctx.with_warnings(|warnings| warnings.warn(null));
        Ok(cast::forgiven_null(&definition.ty))
    }

    /// The NULLs that are left when BEFORE triggers have set these columns. What a trigger has set is bent under IGNORE alone.
    pub fn bend_nulls(&self, values: &mut [Value], set: &[usize], is_bent: bool) -> SqlResult<()> {
        for (column, definition) in self.table.def.columns.iter().enumerate() {
            if values[column].is_null() && !definition.nullable && definition.generated.is_none() {
                values[column] = self.bend_null(column, is_bent && (self.ignore || !set.contains(&column)))?;
            }
        }
        Ok(())
    }

    /// Fires the BEFORE triggers of a row that gets new values, and looks afterwards whether it may have them. Returns the columns that they
    /// have set.
    pub fn before_update(&self, old: &[Value], new: &mut [Value]) -> SqlResult<Vec<usize>> {
        self.generate(new, None)?;
        let set = self.fire(TriggerTiming::Before, TriggerEvent::Update, Some(old), Some(&mut *new))?;
        self.bend_nulls(new, &set, self.null_becomes_default())?;
        Ok(set)
    }

    /// Computes the virtual columns of a row before it is changed, as MySQL reads them: UPDATE those that depend on what is assigned. What does not fit
    /// its column, as it came there under IGNORE or another `sql_mode`, is told once more.
    pub fn read_again(&self, old: &[Value], assigned: Option<&[Assignment]>) -> SqlResult<()> {
        for generated in &self.rules.generated {
            let definition = &self.table.def.columns[generated.column];
            if !definition.is_virtual()
                || assigned.is_some_and(|assignments| !generated.sources.have_any_of(assignments))
            {
                continue;
            }
            let value = generated.expr.eval(old, self.ctx)?;
            let read = self.assign_bent(generated.column, value, self.ignore);
            read.map_err(|error| match error.kind() {
                // It is stored nowhere.
                ErrorKind::DataTooLong => {
                    let names: [&dyn std::fmt::Display; 2] = [&definition.name, &self.ctx.row_number()];
                    SqlError::new(ErrorKind::DataTruncated, &names)
                }
                _ => error,
            })?;
        }
        Ok(())
    }

    /// Fills in generated columns and checks constraints: of a row that UPDATE changes, those that depend on what is assigned.
    /// Returns whether the row may be written: under IGNORE, a row that breaks a CHECK is left out.
    pub fn complete(&self, values: &mut [Value], assigned: Option<&[Assignment]>) -> SqlResult<bool> {
        self.generate(values, assigned)?;
        let is_same = |sources: &Sources| assigned.is_some_and(|assignments| !sources.have_any_of(assignments));
        for check in &self.rules.checks {
            if is_same(&check.sources) {
                continue;
            }
            let is_met = match check.condition.eval_bool(values, self.ctx) {
                // A value that the condition cannot be computed of breaks it.
                Err(error) if !self.ignore && error.sqlstate().starts_with(DATA_EXCEPTION) => Some(false),
                computed => computed?,
            };
            if is_met == Some(false) {
                let violated = SqlError::new(ErrorKind::CheckConstraintViolated, &[&check.name]);
                if !self.ignore {
                    return Err(violated);
                }
                self.ctx.with_warnings(|warnings| warnings.warn(violated));
                return Ok(false);
            }
        }
        stays_in_views(&self.rules.views, values, self.ignore, self.ctx)
    }

    /// Fills in generated columns, as [`complete`](Self::complete).
    pub fn generate(&self, values: &mut [Value], assigned: Option<&[Assignment]>) -> SqlResult<()> {
        self.generate_those(values, |sources| {
            assigned.is_none_or(|assignments| sources.have_any_of(assignments))
        })
    }

    /// Fills in the generated columns that depend on these columns.
    pub fn generate_from(&self, values: &mut [Value], columns: &[usize]) -> SqlResult<()> {
        self.generate_those(values, |sources| sources.have_any(columns.iter().copied()))
    }

    fn generate_those(&self, values: &mut [Value], may_change: impl Fn(&Sources) -> bool) -> SqlResult<()> {
        for generated in &self.rules.generated {
            if !may_change(&generated.sources) {
                continue;
            }
            let column = generated.column;
            if self.unchecked.contains(&column) {
                values[column] = self.ctx.quietly(|| self.nearest(column, &generated.expr, values));
                continue;
            }
            let told = self.ctx.with_warnings(|warnings| warnings.iter().len());
            let value = generated.expr.eval(values, self.ctx);
            let value = value.and_then(|value| self.assign_bent(column, value, self.ignore));
            if self.table.def.columns[column].hidden {
                let word = |error| self.told_of_index(column, error);
                self.ctx.with_warnings(|warnings| warnings.reword(told, word));
            }
            values[column] = value.map_err(|error| self.told_of_index(column, error))?;
        }
        Ok(())
    }

    /// The value of an expression in a column, or what stands there for one that is none.
    fn nearest(&self, column: usize, expr: &Expr, row: &[Value]) -> Value {
        let definition = &self.table.def.columns[column];
        let value = expr.eval(row, self.ctx);
        let value = value.and_then(|value| self.assign_by(column, value, |mode| mode.ignoring_errors()));
        match value {
            Ok(Value::Null) | Err(_) if !definition.nullable => cast::implicit_default(&definition.ty),
            Ok(value) => value,
            Err(_) => Value::Null,
        }
    }

    /// What is wrong with the value of a key part that is an expression, is told of its index: 3751, 3752, 3903 to 3908.
    fn told_of_index(&self, column: usize, error: SqlError) -> SqlError {
        let def = &self.table.def;
        let Some(index) = def.index_of_hidden(column).filter(|_| def.columns[column].hidden) else {
            return error;
        };
        let of_row = |kind| SqlError::new(kind, &[&index.name, &self.ctx.row_number()]);
        match error.kind() {
            ErrorKind::TruncatedWrongValue | ErrorKind::DataTruncated => {
                of_row(ErrorKind::DataTruncatedFunctionalIndex)
            }
            ErrorKind::OutOfRange => of_row(ErrorKind::DataOutOfRangeFunctionalIndex),
            ErrorKind::DataTooLong => SqlError::new(ErrorKind::DataTooLongFunctionalIndex, &[&index.name]),
            kind @ (ErrorKind::InvalidJsonValueForFunctionalIndex
            | ErrorKind::JsonValueOutOfRangeForFunctionalIndex
            | ErrorKind::ExceededMultiValuedKeys
            | ErrorKind::ExceededMultiValuedBytes
            | ErrorKind::NestedInMultiValuedIndex) => {
                // The expression does not know whose part it is.
                let name = format!("'{}'", index.name);
                SqlError::with_message(kind, error.message().replacen("''", &name, 1))
            }
            _ => error,
        }
    }

    /// Adds a complete row.
    pub fn insert(&mut self, values: &[Value]) -> Result<(), StatementError> {
        self.whole(|changer| changer.add(values), |enforcer| enforcer.inserted(values))
    }

    /// Replaces the row `old` under `key`, which is locked, by complete values.
    pub fn update(&mut self, key: &[u8], old: &[Value], values: &[Value]) -> Result<(), StatementError> {
        self.whole(
            |changer| changer.replace(key, values),
            |enforcer| enforcer.updated(old, values),
        )
    }

    /// Removes the row `old` under `key`, which is locked.
    pub fn delete(&mut self, key: &[u8], old: &[Value]) -> Result<(), StatementError> {
        self.whole(|changer| changer.remove(key), |enforcer| enforcer.deleted(old))
    }

    /// Removes the row `old` under `key`, which is locked, with its triggers. False where it stays under IGNORE.
    pub fn delete_fired(&mut self, key: &[u8], old: &[Value]) -> SqlResult<bool> {
        self.fire(TriggerTiming::Before, TriggerEvent::Delete, Some(old), None)?;
        if let Err(error) = self.delete(key, old) {
            self.warn_or_fail(error.into_sql(self.table))?;
            return Ok(false);
        }
        self.fire(TriggerTiming::After, TriggerEvent::Delete, Some(old), None)?;
        Ok(true)
    }

    /// REPLACE: removes the row `old` under `key`, which is locked, for complete values that come in its place.
    pub fn give_way(&mut self, key: &[u8], old: &[Value], values: &[Value]) -> Result<(), StatementError> {
        self.whole(|changer| changer.remove(key), |enforcer| enforcer.replaced(old, values))
    }

    /// Changes a row and what follows from it. Under IGNORE the statement goes on after an error, so nothing must be left of it.
    fn whole(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<(), StatementError>,
        enforce: impl FnOnce(&Enforcer<'_>) -> Result<(), StatementError>,
    ) -> Result<(), StatementError> {
        let Some(keys) = self.foreign_keys else {
            return change(self);
        };
        let runtime = self.runtime;
        let savepoint = self.ignore.then(|| runtime.transaction_mut().savepoint());
        let result = change(self).and_then(|()| {
            enforce(&Enforcer {
                keys,
                table: self.table,
                runtime,
                ctx: self.ctx,
            })
        });
        if let Some(savepoint) = savepoint {
            let mut transaction = runtime.transaction_mut();
            if result.is_err() {
                transaction.rollback_to(savepoint);
            }
            transaction.release(savepoint);
        }
        result
    }

    /// Under IGNORE, what is wrong with one row becomes a warning, and the row is left as it was.
    pub fn warn_or_fail(&self, error: SqlError) -> SqlResult<()> {
        let is_of_one_row = matches!(
            error.kind(),
            ErrorKind::DupEntry
                | ErrorKind::NoReferencedRow2
                | ErrorKind::RowIsReferenced2
                | ErrorKind::ForeignDuplicateKeyWithChildInfo
        );
        if !(self.ignore && is_of_one_row) {
            return Err(error);
        }
        self.ctx.with_warnings(|warnings| warnings.warn(error));
        Ok(())
    }

    // --- the row alone ---

    fn add(&mut self, values: &[Value]) -> Result<(), StatementError> {
        self.encode(values);
        if self.table.def.primary().is_none() {
            self.runtime
                .with_locks(|transaction| transaction.reserve_row_id(&self.table.rows))?;
            let id = self.runtime.transaction_mut().next_row_id(&self.table.rows);
            self.key.extend_from_slice(&id);
        }
        let (table, key, row) = (&self.table.rows, &self.key, &self.row);
        self.runtime
            .with_locks(|transaction| transaction.insert(table, key, row))?;
        Ok(())
    }

    pub(super) fn replace(&mut self, key: &[u8], values: &[Value]) -> Result<(), StatementError> {
        self.encode(values);
        if self.table.def.primary().is_none() {
            self.key.extend_from_slice(key);
        }
        let (table, new_key, row) = (&self.table.rows, &self.key, &self.row);
        self.runtime
            .with_locks(|transaction| transaction.update(table, key, new_key, row))?;
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), StatementError> {
        let table = &self.table.rows;
        self.runtime.with_locks(|transaction| transaction.delete(table, key))?;
        Ok(())
    }

    /// Encodes row and primary key into the buffers.
    fn encode(&mut self, values: &[Value]) {
        self.row.clear();
        self.table.layout().encode(values, &mut self.row);
        self.key.clear();
        self.table.primary_key(&self.row, &mut self.key);
    }

    /// MySQL's error for a failed change of a row with these values: a duplicate is told with the key's values.
    pub fn error(&self, error: StatementError, values: &[Value]) -> SqlError {
        match error {
            StatementError::Transaction(TransactionError::DuplicateKey { index, .. }) => {
                duplicate_error(self.table, index, values, &self.ctx.settings.time_zone)
            }
            StatementError::Transaction(error) => transaction_error(&error, &self.table.def.name),
            StatementError::Sql(error) => error,
        }
    }
}

/// 1062 with the values of the key, joined by `-`.
pub fn duplicate_error(table: &Table, index: types::IndexId, values: &[Value], zone: &TimeZone) -> SqlError {
    let Some(definition) = table.index(index) else {
        return SqlError::new(ErrorKind::DupUnknownInIndex, &[&table.def.name]);
    };
    let text = |column: usize| match &values[column] {
        Value::Null => "NULL".to_owned(),
        Value::Timestamp(moment) => zone.to_local(*moment).to_string(),
        Value::Bytes(bytes) if table.def.columns[column].ty.kind.is_binary() => printable(bytes),
        value => sql_plan::text::column_text(value, &table.def.columns[column].ty),
    };
    let entry: Vec<String> = definition
        .parts
        .iter()
        .map(|part| match part.prefix {
            Some(prefix) => text(part.column).chars().take(prefix as usize).collect(),
            None => text(part.column),
        })
        .collect();
    let name = if definition.kind == IndexKind::Primary {
        "PRIMARY"
    } else {
        &definition.name
    };
    let mut entry = entry.join("-");
    if let Some((cut, _)) = entry.char_indices().nth(MESSAGE_CHARS) {
        entry.truncate(cut);
    }
    SqlError::new(
        ErrorKind::DupEntry,
        &[&entry, &format_args!("{}.{}", table.def.name, name)],
    )
}

/// Of a key in a message.
const MESSAGE_CHARS: usize = 64;

/// Bytes as messages show them: what is no printable ASCII as `\xHH`.
fn printable(bytes: &[u8]) -> String {
    let shown = bytes.iter().take(MESSAGE_CHARS).map(|byte| match byte {
        b' '..=b'~' => char::from(*byte).to_string(),
        _ => format!("\\x{byte:02X}"),
    });
    shown.collect()
}

/// Whether views WITH CHECK OPTION show the row as it becomes: 1369, with IGNORE a warning, where one does not.
pub fn stays_in_views(rules: &[ViewRule], row: &[Value], ignore: bool, ctx: &EvalContext<'_>) -> SqlResult<bool> {
    for rule in rules {
        if rule.condition.eval_bool(row, ctx)? == Some(true) {
            continue;
        }
        let failed = SqlError::new(ErrorKind::ViewCheckFailed, &[&rule.database, &rule.view]);
        if !ignore {
            return Err(failed);
        }
        ctx.with_warnings(|warnings| warnings.warn(failed));
        return Ok(false);
    }
    Ok(true)
}
