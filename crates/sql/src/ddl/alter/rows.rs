//! What ALTER TABLE does to the rows: indexes built and dropped, columns changed in place, and the copy of a table that takes its place.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::{IndexDef, TableDef};
use governor::stepwise::Stepwise;
use store::{Cursor, Direction, KeyRange};
use transaction::{Options, Transaction, TransactionError};
use types::row::generation::{ColumnChange, ColumnSource};
use types::{ErrorKind, IndexId, SqlError, SqlResult, SqlType, TypeKind, Value};

use crate::accounts::access::Access;
use crate::ddl::online;
use crate::ddl::{SchemaChange, no_such_table, unknown_database};
use crate::exec::Runtime;
use crate::exec::dml::{RowChanger, added_value, duplicate_error, id_behind, note_given_id};
use crate::exec::rows::read_row;
use crate::expr::{StatementContext, convert};
use crate::failpoint;
use crate::host::Host;
use crate::plan::Planner;
use crate::plan::changes::WriteRules;
use crate::session::wait_for_commit;
use crate::table::{Table, store_spec};
use crate::table_ids::CopyGuard;

/// Rows of a rebuild that are committed together.
const ROWS_PER_COMMIT: usize = 8192;

/// A table that is to take another one's place.
pub(super) struct Copy {
    table: Arc<Table>,
    job: CopyGuard,
    /// How many there are.
    rows: u64,
}

impl SchemaChange<'_> {
    /// Builds and drops indexes; the rows stay.
    pub(super) fn alter_in_place(&mut self, old: &TableDef, new: &TableDef) -> SqlResult<()> {
        for index in old.secondaries() {
            if new.indexes.iter().all(|kept| kept.id != index.id) {
                self.runtime.transaction_mut().drop_index(old.id, index.id);
            }
        }
        for index in new.secondaries() {
            if old.indexes.iter().all(|known| known.id != index.id) {
                self.create_index(new, index)?;
            }
        }
        Ok(())
    }

    /// Whether the table is the one that the new definition was made for, and the new one's place is free.
    pub(super) fn check_place(&self, old: &Arc<TableDef>, new: &TableDef) -> SqlResult<()> {
        let current = self.before.table_by_id(old.id).ok_or_else(|| no_such_table(old))?;
        if !Arc::ptr_eq(current, old) {
            return Err(ErrorKind::TableDefChanged.into());
        }
        if self.before.database(&new.database).is_none() {
            return Err(unknown_database(&new.database));
        }
        let moves = (&new.database, &new.name) != (&old.database, &old.name);
        match moves && self.before.is_taken(&new.database, &new.name) {
            true => Err(SqlError::new(ErrorKind::TableExists, &[&new.name])),
            false => Ok(()),
        }
    }

    /// Gives the rows there are the new columns, and the added ones their values.
    pub(super) fn change_columns(
        &mut self,
        old: &Table,
        new: &Arc<Table>,
        sources: &[Option<usize>],
        ctx: &StatementContext<'_>,
    ) -> SqlResult<()> {
        let plan = self.planner(ctx);
        let rules: WriteRules = crate::plan::write_rules(&plan, new)?;
        let added = crate::plan::added_values(&plan, new, sources)?;
        let eval = ctx.eval();
        let changer = RowChanger::new(new, &rules, &self.runtime, &eval, false);
        let source = |column: usize| match online::stored(sources[column]) {
            Some(stored) => Ok(stored),
            None => {
                let value = added_value(&added[column], &[], &self.runtime, new, &eval)?;
                let value = self.converted(&changer, column, value, old, None)?;
                Ok(ColumnSource::added(&new.def.columns[column].ty, &value))
            }
        };
        let sources = (0..sources.len()).map(source).collect::<SqlResult<_>>()?;
        let columns = new.column_types().cloned().collect();
        let change = ColumnChange { columns, sources };
        self.runtime.transaction_mut().change_columns(old.id(), change);
        Ok(())
    }

    fn planner<'p>(&'p self, ctx: &'p StatementContext<'_>) -> Planner<'p> {
        Planner::new(
            &**self.engine,
            &self.before,
            ctx.eval(),
            Arc::new(Access::of_the_server()),
        )
    }

    /// Copies all rows into a new table.
    pub(super) fn copy_table(
        &mut self,
        old: &Arc<Table>,
        def: TableDef,
        sources: &[Option<usize>],
        ctx: &StatementContext<'_>,
        host: &dyn Host,
    ) -> SqlResult<Copy> {
        let id = self.engine.allocate_table_id(&self.runtime)?;
        let def = TableDef { id, ..def };
        let (job, rows) = self.engine.begin_copy(store_spec(&def), host)?;
        let table = Arc::new(Table::new(Arc::new(def), rows));
        failpoint::hit("alter.copy_made")?;
        let mut commit = |part: Transaction| wait_for_commit(part.commit(), host);
        let copied = self.copy_rows(old, &table, sources, ctx, &mut commit);
        let copied = copied.and_then(|copied| self.check_new_keys(&old.def, &table).map(|_| copied));
        let rows = match copied {
            Ok(copied) => copied,
            Err(error) => {
                if let Some(removal) = self.engine.removal(&[id])? {
                    wait_for_commit(removal.commit(), host)?;
                }
                job.dismiss();
                return Err(error);
            }
        };
        failpoint::hit("alter.copied")?;
        Ok(Copy { table, job, rows })
    }

    /// Puts a copy in the old table's place. Returns how many rows there are.
    pub(super) fn replace(&mut self, old: &Table, copy: Copy, def: TableDef, auto_increment: Option<u64>) -> u64 {
        let id = copy.table.id();
        // The counter of the copy is behind the greatest id of its rows.
        let before = auto_increment.unwrap_or_else(|| old.rows.next_auto_increment());
        let mut transaction = self.runtime.transaction_mut();
        transaction.set_auto_increment(id, before.max(copy.table.rows.next_auto_increment()));
        transaction.drop_table(old.id());
        drop(transaction);
        self.edit.remove_table(old.id());
        self.edit.put_table(TableDef { id, ..def });
        self.edit.remove_copy(id);
        self.copies.push(copy.job);
        copy.rows
    }

    /// The first automatic id that is greater than all ids of the rows.
    pub(super) fn behind_greatest_id(&self, table: &Table) -> SqlResult<u64> {
        let Some(column) = table.def.auto_increment() else {
            return Ok(1);
        };
        let index = table
            .def
            .index_beginning_with(&[column])
            .ok_or_else(|| SqlError::internal("an AUTO_INCREMENT column has no index"))?;
        let direction = match index.parts[0].descending {
            true => Direction::Forward,
            false => Direction::Backward,
        };
        let mut cursor = Cursor::new(KeyRange::all(), direction);
        let mut greatest = None;
        while greatest.is_none() && !cursor.is_finished() {
            governor::tick()?;
            let transaction = self.runtime.transaction();
            transaction.scan_newest(&table.rows, index.id, &mut cursor, ROWS_PER_COMMIT, |entry| {
                greatest = Some(table.layout().column(entry.row(), column).to_value());
                std::ops::ControlFlow::Break(())
            });
        }
        Ok(greatest.map_or(1, |id| id_behind(&id)))
    }

    /// A transaction beside the change's own, for what need not be seen at once.
    fn begin_part(&self) -> Transaction {
        Transaction::begin(self.engine.participant().clone(), Options::default())
    }

    /// Copies all rows, and returns how many. They are committed piece by piece.
    pub(in crate::ddl) fn copy_rows(
        &self,
        old: &Arc<Table>,
        new: &Arc<Table>,
        sources: &[Option<usize>],
        ctx: &StatementContext<'_>,
        commit: &mut dyn FnMut(Transaction) -> SqlResult<()>,
    ) -> SqlResult<u64> {
        let plan = self.planner(ctx);
        let rules: WriteRules = crate::plan::write_rules(&plan, new)?;
        let added = crate::plan::added_values(&plan, new, sources)?;
        // Expressions see the other columns of the row: literals and kept values come first.
        let is_expression = |&column: &usize| sources[column].is_none() && added[column].is_expression();
        // A virtual column is not looked at before it is read, unless an index is over it.
        let is_unchecked = |&column: &usize| {
            let mut parts = new.def.indexes.iter().flat_map(|index| &index.parts);
            let has_index = parts.any(|part| part.column == column);
            let definition = &new.def.columns[column];
            definition.is_virtual() && !definition.hidden && !has_index
        };
        let unchecked: Vec<usize> = (0..sources.len()).filter(is_unchecked).collect();
        let (expressions, mut order): (Vec<_>, Vec<_>) = (0..sources.len()).partition(is_expression);
        order.extend(expressions);
        let mut cursor = Cursor::forward(KeyRange::all());
        let mut copied = 0;
        while !cursor.is_finished() {
            let mut batch = Stepwise::from(Vec::with_capacity(ROWS_PER_COMMIT));
            while batch.len() < ROWS_PER_COMMIT && !cursor.is_finished() {
                governor::tick()?;
                let left = ROWS_PER_COMMIT - batch.len();
                let transaction = self.runtime.transaction();
                transaction.scan(&old.rows, IndexId::PRIMARY, &mut cursor, left, |entry| {
                    batch.push(read_row(old.layout(), entry.row()));
                    match governor::is_due() {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                });
            }
            let transaction = RefCell::new(self.begin_part());
            transaction.borrow_mut().begin_claims();
            let runtime = self.runtime.with_transaction(&transaction);
            let eval = ctx.eval();
            let changer = RowChanger::new(new, &rules, &runtime, &eval, false);
            let mut changer = changer.leaving_unchecked(unchecked.clone());
            for old_values in &batch {
                governor::tick()?;
                copied += 1;
                ctx.set_row_number(copied);
                let mut values = vec![Value::Null; sources.len()];
                for &column in &order {
                    let value = match sources[column] {
                        Some(source) => old_values[source].clone(),
                        None => added_value(&added[column], &values, &runtime, new, &eval)?,
                    };
                    values[column] = self.converted(&changer, column, value, old, sources[column])?;
                }
                changer.complete(&mut values, None)?;
                changer.insert(&values).map_err(|error| changer.error(error, &values))?;
                if let Some(column) = new.def.auto_increment() {
                    note_given_id(&runtime, new, &values[column]);
                }
            }
            runtime.settle_claims()?;
            commit(transaction.into_inner())?;
            failpoint::hit("alter.copied_some")?;
            governor::tick()?;
        }
        Ok(copied)
    }

    /// A value in the new column's type. NULL where it is no longer allowed, and text that is cut, are MySQL's errors of such a
    /// change; without strict mode NULL becomes the implicit default.
    fn converted(
        &self,
        changer: &RowChanger<'_>,
        column: usize,
        value: Value,
        old: &Table,
        source: Option<usize>,
    ) -> SqlResult<Value> {
        let definition = &changer.table.def.columns[column];
        let before = source.map(|source| &old.def.columns[source].ty);
        if definition.generated.is_some() || before == Some(&definition.ty) {
            return Ok(value);
        }
        let names: [&dyn std::fmt::Display; 2] = [&definition.name, &changer.ctx.row_number()];
        let value = match value {
            Value::Timestamp(moment) => Value::DateTime(changer.ctx.settings.time_zone.to_local(moment)),
            value => value,
        };
        // A column becomes one of documents by the texts of its values, and documents become what their texts are.
        let value = match value {
            Value::Null | Value::Bytes(_) => value,
            value if (definition.ty.kind == TypeKind::Json) != matches!(value, Value::Json(_)) => {
                Value::from(&*convert::to_text(&value))
            }
            value => value,
        };
        let nullability_alone = before.is_some_and(|before| {
            SqlType {
                nullable: false,
                ..before.clone()
            } == definition.ty
        });
        if value.is_null() && !definition.nullable {
            let truncated = SqlError::new(ErrorKind::DataTruncated, &names);
            if !changer.ctx.settings.sql_mode.is_strict() {
                if definition.ty.kind == TypeKind::Enum {
                    // Not its first member, but what no text of it becomes; with the same warning.
                    return changer.assign(column, Value::from(""));
                }
                changer.ctx.warn(truncated)?;
                return Ok(types::cast::implicit_default(&definition.ty));
            }
            return Err(match nullability_alone {
                true => ErrorKind::InvalidUseOfNull.into(),
                false => truncated,
            });
        }
        let cuts_text = before.is_some_and(|before| before.kind.is_text() && definition.ty.kind.is_text());
        changer.assign(column, value).map_err(|error| match error.kind() {
            ErrorKind::DataTooLong if cuts_text => SqlError::new(ErrorKind::DataTruncated, &names),
            _ => error,
        })
    }
}

/// MySQL's error for an index that cannot be built: a duplicate is told with its values.
pub(in crate::ddl) fn index_error(
    error: &TransactionError,
    def: &TableDef,
    index: &IndexDef,
    rows: &Arc<store::Table>,
    runtime: &Runtime<'_>,
) -> SqlError {
    let TransactionError::DuplicateKey { existing, .. } = error else {
        return crate::errors::transaction_error(error, &def.name);
    };
    let table = Table::new(Arc::new(def.clone()), rows.clone());
    let values = runtime
        .transaction()
        .get_current(rows, existing, |row| read_row(rows.row_layout(), row));
    match values {
        Some(values) => duplicate_error(&table, index.id, &values, &types::time::TimeZone::UTC),
        None => SqlError::new(ErrorKind::DupUnknownInIndex, &[&index.name]),
    }
}
