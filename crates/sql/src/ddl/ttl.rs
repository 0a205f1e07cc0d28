//! `TTL = column + INTERVAL count unit` in definitions, and what a change of it means for the rows.
//!
//! What has expired is gone: where a table gets another rule, or none, the rows that are expired by the one before are removed, so that none comes back.

use std::ops::ControlFlow;

use catalog::{ColumnDef, TableDef, TtlDef, same_name};
use parser::ast::{AlterAction, TableOption};
use store::{Cursor, KeyRange};
use types::time::IntervalUnit;
use types::{ErrorKind, Expiry, IndexId, SqlError, SqlResult};

use super::SchemaChange;
use crate::table::Table;

/// Rows looked at before others of the same core get their turn.
const ROWS_PER_CHUNK: usize = 1024;

/// What options say.
#[derive(Debug, Clone, Default)]
pub struct TtlOptions {
    rule: Option<TtlDef>,
    enabled: Option<bool>,
}

impl TtlOptions {
    pub(super) fn add(&mut self, option: &TableOption) -> SqlResult<()> {
        match option {
            TableOption::Ttl(ttl) => {
                let (count, unit) = match &ttl.interval {
                    Some((count, unit)) => (*count, sql_expr::interval_unit(*unit)),
                    None => (0, IntervalUnit::Second),
                };
                let rule = TtlDef {
                    column: ttl.column.as_str().to_owned(),
                    count,
                    unit: unit.name().to_owned(),
                    enabled: true,
                };
                if rule.interval().is_none() {
                    return Err(SqlError::new(ErrorKind::DatetimeFunctionOverflow, &[&"interval"]));
                }
                self.rule = Some(rule);
            }
            TableOption::TtlEnable(enabled) => self.enabled = Some(*enabled),
            _ => {}
        }
        Ok(())
    }

    /// Of a table that there was not.
    pub(super) fn of_new_table(&self) -> SqlResult<Option<TtlDef>> {
        let mut ttl = None;
        self.apply_to(&mut ttl)?;
        Ok(ttl)
    }

    /// What is not said stays.
    pub(super) fn apply_to(&self, ttl: &mut Option<TtlDef>) -> SqlResult<()> {
        if let Some(rule) = &self.rule {
            let enabled = ttl.as_ref().is_none_or(|before| before.enabled);
            *ttl = Some(TtlDef {
                enabled,
                ..rule.clone()
            });
        }
        match (self.enabled, ttl) {
            (None, _) => {}
            (Some(enabled), Some(ttl)) => ttl.enabled = enabled,
            (Some(_), None) => return Err(SqlError::new(ErrorKind::TtlOptionWithoutTtl, &[&"TTL_ENABLE"])),
        }
        Ok(())
    }
}

/// Whether the column is there and tells a moment; its name is written as the column's.
pub(super) fn check(def: &mut TableDef) -> SqlResult<()> {
    let Some(ttl) = &mut def.ttl else { return Ok(()) };
    let named = |column: &&ColumnDef| !column.hidden && same_name(&column.name, &ttl.column);
    let column = def.columns.iter().find(named);
    let missing = || SqlError::new(ErrorKind::BadField, &[&ttl.column, &"TTL config"]);
    let column = column.ok_or_else(missing)?;
    if !Expiry::is_of(&column.ty) {
        return Err(SqlError::new(ErrorKind::TtlColumnType, &[&column.name]));
    }
    if column.is_virtual() {
        return Err(SqlError::not_supported("TTL of a virtual generated column"));
    }
    ttl.column.clone_from(&column.name);
    Ok(())
}

/// Columns have new names.
pub(super) fn rename(def: &mut TableDef, renamed: &[(String, String)]) {
    let Some(ttl) = &mut def.ttl else { return };
    if let Some((_, new)) = renamed.iter().find(|(old, _)| same_name(&ttl.column, old)) {
        ttl.column.clone_from(new);
    }
}

/// 8149 where a statement takes the column away that the rule is about, and does not give another rule.
pub(super) fn check_column_stays(
    old: &TableDef,
    new: &TableDef,
    actions: &[AlterAction],
    sources: &[Option<usize>],
) -> SqlResult<()> {
    let gives_rule = |action: &AlterAction| matches!(action, AlterAction::Option(TableOption::Ttl(_)));
    let (Some(before), Some(ttl)) = (&old.ttl, &new.ttl) else {
        return Ok(());
    };
    if actions.iter().any(gives_rule) {
        return Ok(());
    }
    let now = new.column(&ttl.column).and_then(|at| sources[at]);
    match now.is_some() && now == old.column(&before.column) {
        true => Ok(()),
        false => Err(SqlError::new(ErrorKind::TtlColumnCannotDrop, &[&before.column])),
    }
}

/// The rule of before, as it is about the columns of now; `None` where there was none, or its column has gone.
fn kept(old: &TableDef, sources: &[Option<usize>]) -> Option<Expiry> {
    let rule = old.expiry()?;
    let column = sources
        .iter()
        .position(|source| *source == Some(usize::from(rule.column)))?;
    let column = u16::try_from(column).ok()?;
    Some(Expiry { column, ..rule })
}

/// Whether rows expire by another rule than before.
pub(super) fn changes(old: &TableDef, new: &TableDef, sources: &[Option<usize>]) -> bool {
    let before = kept(old, sources);
    old.expiry().is_some() && (before.is_none() || before != new.expiry())
}

impl SchemaChange<'_> {
    /// Takes the rule away, before its column can go, where it does not stay.
    pub(super) fn end_expiry(&mut self, old: &TableDef, new: &TableDef, sources: &[Option<usize>]) {
        if changes(old, new, sources) {
            self.runtime.transaction_mut().set_expiry(old.id, None);
        }
    }

    /// Gives the new rule, when its column is there, where it is another one.
    pub(super) fn begin_expiry(&mut self, old: &TableDef, new: &TableDef, sources: &[Option<usize>]) {
        let expiry = new.expiry();
        if expiry.is_some() && kept(old, sources) != expiry {
            self.runtime.transaction_mut().set_expiry(old.id, expiry);
        }
    }

    /// Removes the rows that have expired. The change has the table for itself.
    pub(super) fn remove_expired(&mut self, table: &Table) -> SqlResult<()> {
        let mut cursor = Cursor::forward(KeyRange::all());
        while !cursor.is_finished() {
            governor::tick()?;
            let mut keys = Vec::new();
            let mut transaction = self.runtime.transaction_mut();
            transaction.scan_expired(&table.rows, IndexId::PRIMARY, &mut cursor, ROWS_PER_CHUNK, |entry| {
                keys.push(entry.primary_key().to_vec());
                ControlFlow::Continue(())
            });
            for key in &keys {
                let removed = transaction.put_unlocked(&table.rows, key, None);
                removed.map_err(|error| crate::errors::transaction_error(&error, &table.def.name))?;
            }
        }
        Ok(())
    }
}
