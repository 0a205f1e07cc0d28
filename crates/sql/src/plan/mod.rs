//! From a statement's tree to what the executor runs.
//!
//! A plan is bound to one version of the catalog, one list of parameter types and one sql_mode. It holds no values of
//! parameters and nothing of a transaction, so that sessions share it.

pub mod access;
mod dml;
mod foreign_keys;
mod load;
mod nesting;
pub mod query;
mod scope;
mod source_columns;
pub mod straight;
mod views;

use std::cell::RefCell;
use std::sync::Arc;

use catalog::{Catalog, Privileges, ViewDef};
use parser::ast::{self, Statement};
use types::{ErrorKind, SqlError, SqlResult, SqlType, Value};

use crate::accounts::access::Access;
use crate::engine::Engine;
use crate::exec::dml::{DeletePlan, ForeignKeys, InsertPlan, LoadPlan, UpdatePlan};
use crate::expr::{BindOptions, EvalContext, Expr};
use crate::result::ResultShape;
use crate::session::TableLocks;
use crate::table::Table;
use crate::temporary::TemporaryTables;

pub use dml::{added_values, write_rules};
pub use foreign_keys::{RowChange, foreign_keys};
pub use query::QueryPlan;
pub use scope::TableScope;
pub use straight::StraightPlan;
pub use views::{OpenViews, Purpose, invalid_view, view_query};

/// A statement that reads or changes rows, ready to run.
#[derive(Debug)]
pub enum Plan {
    /// A query with a straight path from the store to the client.
    Straight(StraightPlan),
    Query(QueryPlan),
    Insert(InsertPlan),
    Load(LoadPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    /// UPDATE or DELETE over several tables.
    Multi(query::MultiTableChange),
}

/// A plan, and what its statement names: whoever changes one of these makes another plan of it.
#[derive(Debug)]
pub struct Planned {
    pub plan: Plan,
    pub uses: Uses,
}

impl std::ops::Deref for Planned {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

/// The tables and views that a statement names, and those that the views name.
#[derive(Debug, Default)]
pub struct Uses {
    pub tables: Vec<Arc<Table>>,
    pub views: Vec<Arc<ViewDef>>,
}

impl Uses {
    fn add_table(&mut self, table: &Arc<Table>) {
        if self.tables.iter().all(|known| known.id() != table.id()) {
            self.tables.push(table.clone());
        }
    }

    fn add_view(&mut self, view: &Arc<ViewDef>) {
        if self.views.iter().all(|known| !Arc::ptr_eq(known, view)) {
            self.views.push(view.clone());
        }
    }
}

impl Plan {
    /// The result's columns; none for a change.
    pub fn shape(&self) -> Option<&Arc<ResultShape>> {
        match self {
            Plan::Straight(plan) => Some(&plan.shape),
            Plan::Query(plan) => plan.shape(),
            _ => None,
        }
    }

    /// Whether it may change rows.
    pub fn is_change(&self) -> bool {
        matches!(
            self,
            Plan::Insert(_) | Plan::Load(_) | Plan::Update(_) | Plan::Delete(_) | Plan::Multi(_)
        )
    }

    /// Whether it says IGNORE: what is wrong with a value or a row becomes a warning.
    pub fn ignores_errors(&self) -> bool {
        match self {
            Plan::Straight(_) | Plan::Query(_) => false,
            Plan::Insert(plan) | Plan::Load(LoadPlan { insert: plan, .. }) => plan.ignore,
            Plan::Update(plan) => plan.ignore,
            Plan::Delete(plan) => plan.ignore,
            Plan::Multi(plan) => plan.ignore,
        }
    }

    /// Whether it computes a row out of nothing.
    pub fn is_without_tables(&self) -> bool {
        matches!(self, Plan::Query(plan) if plan.is_without_tables())
    }

    /// Whether it finds the rows to change without the help of a key, nor is held to a number of them: what `sql_safe_updates`
    /// refuses.
    pub fn changes_without_key(&self) -> bool {
        let all = access::AccessPath::reads_all;
        match self {
            Plan::Straight(_) | Plan::Query(_) | Plan::Insert(_) | Plan::Load(_) => false,
            Plan::Update(plan) => plan.target.limit.is_none() && all(&plan.target.path),
            Plan::Delete(plan) => plan.target.limit.is_none() && all(&plan.target.path),
            Plan::Multi(plan) => {
                let mut found = false;
                plan.join.for_each_table(&mut |access| {
                    let changes = plan.targets.iter().any(|target| target.offset == access.offset);
                    found |= changes && all(&access.path);
                });
                found
            }
        }
    }

    /// Whether it locks rows that it does not change.
    pub fn is_locking_read(&self) -> bool {
        matches!(self, Plan::Query(plan) if !plan.locked.is_empty())
    }

    /// Whether it looks for the rows to lock or to change, so that others could come into what it has looked through.
    pub fn locks_ranges(&self) -> bool {
        match self {
            Plan::Straight(_) | Plan::Insert(_) | Plan::Load(_) => false,
            Plan::Update(plan) => !plan.target.path.is_key_read(),
            Plan::Delete(plan) => !plan.target.path.is_key_read(),
            Plan::Multi(_) => true,
            Plan::Query(plan) => {
                let (mut by_key, mut waits) = (0, true);
                plan.for_each_table(&mut |access| {
                    by_key += usize::from(access.lock.is_some() && access.path.is_key_read());
                    // NOWAIT and SKIP LOCKED are obeyed where the rows are read.
                    waits &= access
                        .lock
                        .is_none_or(|lock| lock.policy == transaction::LockPolicy::Wait);
                });
                waits && by_key < plan.locked.len()
            }
        }
    }

    /// The tables that it changes, or reads with locks.
    pub fn changed_tables(&self) -> Vec<Arc<Table>> {
        match self {
            Plan::Straight(_) => Vec::new(),
            Plan::Query(plan) => plan.locked.clone(),
            Plan::Insert(plan) => vec![plan.table.clone()],
            Plan::Load(plan) => vec![plan.insert.table.clone()],
            Plan::Update(plan) => vec![plan.target.path.table.clone()],
            Plan::Delete(plan) => vec![plan.target.path.table.clone()],
            Plan::Multi(plan) => plan.changed_tables(),
        }
    }

    /// The tables that a change does not change, and locks rows of.
    pub fn locked_sources(&self) -> &[Arc<Table>] {
        match self {
            Plan::Straight(_) | Plan::Query(_) => &[],
            Plan::Insert(plan) | Plan::Load(LoadPlan { insert: plan, .. }) => &plan.locked,
            Plan::Update(plan) => &plan.locked,
            Plan::Delete(plan) => &plan.locked,
            Plan::Multi(plan) => &plan.locked,
        }
    }

    /// The foreign keys that its changes have to do with.
    pub fn foreign_keys(&self) -> Vec<&ForeignKeys> {
        match self {
            Plan::Straight(_) | Plan::Query(_) => Vec::new(),
            Plan::Insert(plan) => plan.foreign_keys.as_deref().into_iter().collect(),
            Plan::Load(plan) => plan.insert.foreign_keys.as_deref().into_iter().collect(),
            Plan::Update(plan) => plan.foreign_keys.as_deref().into_iter().collect(),
            Plan::Delete(plan) => plan.foreign_keys.as_deref().into_iter().collect(),
            Plan::Multi(plan) => plan
                .targets
                .iter()
                .filter_map(|target| target.foreign_keys.as_deref())
                .collect(),
        }
    }
}

/// What planning one statement works with.
pub struct Planner<'a> {
    pub engine: &'a Engine,
    pub catalog: &'a Catalog,
    /// The current database.
    pub database: Option<&'a str>,
    /// Evaluates constants.
    pub ctx: EvalContext<'a>,
    /// The types of the parameters, as far as they are known.
    pub params: &'a [SqlType],
    /// What whoever asks may do.
    pub access: &'a Access,
    /// What LOCK TABLES lets the session use.
    pub table_locks: &'a TableLocks,
    /// The session's own tables.
    pub temporary: Option<&'a TemporaryTables>,
    /// The views whose text is being planned.
    pub views: OpenViews,
    /// Tables that locking reads have been planned for.
    pub locked: RefCell<Vec<Arc<Table>>>,
    /// What has been planned by now.
    pub uses: RefCell<Uses>,
}

impl<'a> Planner<'a> {
    /// Plans a query or a change; `None` for every other statement.
    pub fn plan(&self, statement: &Statement) -> SqlResult<Option<Plan>> {
        Ok(Some(match statement {
            Statement::Query(query) => match straight::straight_plan(self, query)? {
                Some(plan) => Plan::Straight(plan),
                None => Plan::Query(query::plan_query(self, query)?),
            },
            Statement::Insert(insert) => Plan::Insert(dml::plan_insert(self, insert)?),
            Statement::LoadData(load) => Plan::Load(load::plan_load(self, load)?),
            Statement::Update(update) if dml::is_single_table(self, &update.tables) => {
                Plan::Update(dml::plan_update(self, update)?)
            }
            Statement::Update(update) => Plan::Multi(query::plan_multi_update(self, update)?),
            Statement::Delete(delete) => match &delete.form {
                ast::DeleteForm::Single { table, .. } if self.view(table).is_some() => {
                    Plan::Multi(query::plan_delete_from_view(self, delete)?)
                }
                ast::DeleteForm::Single { .. } => Plan::Delete(dml::plan_delete(self, delete)?),
                ast::DeleteForm::Multi { .. } => Plan::Multi(query::plan_multi_delete(self, delete)?),
            },
            _ => return Ok(None),
        }))
    }

    pub fn options(&self) -> BindOptions<'a> {
        BindOptions { params: self.params }
    }

    /// A table to read, or some columns of it; 1046 without a database, 1142 where that is not allowed, 1049 and 1146 where there is
    /// none. Each column is asked for where its name is met ([`Self::check_read`]).
    pub fn table(&self, name: &ast::TableName, alias: Option<&ast::Ident>) -> SqlResult<Arc<Table>> {
        self.table_for(name, alias, Privileges::SELECT)
    }

    /// 1143 where a column may not be read.
    pub fn check_read(&self, table: &Table, column: &str) -> SqlResult<()> {
        match table.id().is_local() {
            true => Ok(()),
            false => self.check_column(&table.def.database, &table.def.name, column, Privileges::SELECT),
        }
    }

    /// Whether every column of the table may be read.
    pub fn reads_all_of(&self, table: &Table) -> bool {
        let wanted = Privileges::SELECT;
        table.id().is_local() || self.check_table(&table.def.database, &table.def.name, wanted).is_ok()
    }

    /// A table for which these privileges are needed, on all of it or on some of its columns.
    pub fn table_for(
        &self,
        name: &ast::TableName,
        alias: Option<&ast::Ident>,
        privileges: Privileges,
    ) -> SqlResult<Arc<Table>> {
        let database = match &name.schema {
            Some(schema) => schema.as_str(),
            None => self.current_database().ok_or(ErrorKind::NoDb)?,
        };
        if let Some(table) = self.temporary_table(database, &name.name) {
            return Ok(table.clone());
        }
        self.check_table_or_columns(database, &name.name, privileges)?;
        self.check_lock(database, &name.name, alias.unwrap_or(&name.name))?;
        if crate::information_schema::is_virtual_database(database) && privileges != Privileges::SELECT {
            return Err(self.access.database_denied(database));
        }
        if self.catalog.view(database, &name.name).is_some() {
            return Err(SqlError::not_supported("a view in this place"));
        }
        let missing = || crate::names::missing_table(self.catalog, database, &name.name);
        let def = self.catalog.table(database, &name.name).ok_or_else(missing)?;
        let table = self.engine.table(def).ok_or_else(missing)?;
        self.uses.borrow_mut().add_table(&table);
        Ok(table)
    }
}

/// The number of a LIMIT: a literal or a parameter; 1210 for what is none. Drivers send numbers as strings, too.
pub fn limit_value(limit: &Expr, ctx: &EvalContext<'_>) -> SqlResult<u64> {
    match limit.eval(&[], ctx)? {
        Value::Null => Ok(0),
        Value::Int(rows) if rows >= 0 => Ok(rows as u64),
        Value::UInt(rows) => Ok(rows),
        Value::Str(text) => Ok(number_of_rows(text.as_bytes())),
        Value::Bytes(text) => Ok(number_of_rows(&text)),
        _ => Err(SqlError::new(ErrorKind::WrongArguments, &[&"LIMIT"])),
    }
}

/// A string as a number of rows, as MySQL reads it: the digits that it begins with; a negative number, and one that is too great,
/// limits nothing.
fn number_of_rows(text: &[u8]) -> u64 {
    let text = text.trim_ascii_start();
    if text.first() == Some(&b'-') {
        return u64::MAX;
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0u64, |rows, digit| {
        rows.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
    })
}
