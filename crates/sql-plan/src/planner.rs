//! What planning one statement works with, and which kind of plan it becomes.

use std::cell::RefCell;
use std::sync::Arc;

use catalog::{Catalog, Privileges};
use parser::ast::{self, Statement};
use sql_expr::{BindOptions, EvalContext, Expr, Subquery};
use types::{ErrorKind, SqlError, SqlResult, SqlType, Value};

use crate::changes::SourceQuery;
use crate::node::{Authorizer, LockedTables, Node, VirtualTable, is_virtual_database};
use crate::plan::{Plan, Uses};
use crate::table::Table;
use crate::temporary::TemporaryTables;
use crate::views::{OpenViews, Purpose};
use crate::{dml, load, query, straight};

pub(crate) const AS_OF_IN_CHANGE: &str = "AS OF TIMESTAMP in a statement that changes rows";

/// What planning one statement works with.
pub struct Planner<'a> {
    pub node: &'a dyn Node,
    pub catalog: &'a Catalog,
    /// The current database.
    pub database: Option<&'a str>,
    /// Evaluates constants.
    pub ctx: EvalContext<'a>,
    /// The types of the parameters, as far as they are known.
    pub params: &'a [SqlType],
    /// What whoever asks may do.
    pub access: Arc<dyn Authorizer>,
    /// What LOCK TABLES lets the session use, where it is in force.
    pub table_locks: Option<&'a dyn LockedTables>,
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
    /// Without a current database, parameters, locked or temporary tables.
    pub fn new(
        node: &'a dyn Node,
        catalog: &'a Catalog,
        ctx: EvalContext<'a>,
        access: Arc<dyn Authorizer>,
    ) -> Planner<'a> {
        Planner {
            node,
            catalog,
            database: None,
            ctx,
            params: &[],
            access,
            table_locks: None,
            temporary: None,
            views: OpenViews::default(),
            locked: RefCell::default(),
            uses: RefCell::default(),
        }
    }

    /// Plans a query or a change; `None` for every other statement.
    pub fn plan(&self, statement: &Statement) -> SqlResult<Option<Plan>> {
        let plan = self.plan_any(statement)?;
        if let Some(plan) = &plan {
            self.check_as_of(plan)?;
        }
        Ok(plan)
    }

    fn plan_any(&self, statement: &Statement) -> SqlResult<Option<Plan>> {
        Ok(Some(match statement {
            // What is read straight from the store is no join.
            Statement::Query(query) if self.views.purpose() == Purpose::Measure => {
                Plan::Query(query::plan_query(self, query)?)
            }
            Statement::Query(query) => match straight::straight_plan(self, query)? {
                Some(plan) => Plan::Straight(plan),
                None => Plan::Query(query::plan_query(self, query)?),
            },
            Statement::Insert(insert) => Plan::Insert(dml::plan_insert(self, insert)?),
            Statement::LoadData(load) => Plan::Load(load::plan_load(self, load)?),
            Statement::Update(update) if update.with.is_none() && dml::is_single_table(self, update) => {
                match query::plan_update_by_query(self, update) {
                    Some(plan) => Plan::Multi(plan),
                    None => Plan::Update(dml::plan_update(self, update)?),
                }
            }
            Statement::Update(update) => Plan::Multi(query::plan_multi_update(self, update)?),
            Statement::Delete(delete) => match &delete.form {
                ast::DeleteForm::Single { table, .. }
                    if delete.with.is_some()
                        || self.view(table).is_some()
                        || delete.filter.as_ref().is_some_and(crate::full_text::has_match) =>
                {
                    Plan::Multi(query::plan_delete_by_join(self, delete)?)
                }
                ast::DeleteForm::Single { .. } => match query::plan_delete_by_query(self, delete)? {
                    Some(plan) => Plan::Multi(plan),
                    None => Plan::Delete(dml::plan_delete(self, delete)?),
                },
                ast::DeleteForm::Multi { .. } => Plan::Multi(query::plan_multi_delete(self, delete)?),
            },
            _ => return Ok(None),
        }))
    }

    /// The stored function that a call names, as a subquery: 1318 for another number of arguments, 1370 for who may not run it.
    pub(crate) fn stored_function(&self, call: &ast::FunctionCall) -> SqlResult<Option<Arc<dyn Subquery>>> {
        let services = self.ctx.services;
        let own = services.database();
        let Some(database) = call.schema.as_ref().map(|schema| schema.as_str()).or(own.as_deref()) else {
            return Ok(None);
        };
        let Some(function) = services.stored_function(database, &call.name, call.args.len())? else {
            return Ok(None);
        };
        self.access().check_function(database, &call.name)?;
        let uses = &mut *self.uses.borrow_mut();
        uses.changes_by_functions |= function.changes_rows;
        uses.tables_by_functions |= function.uses_tables;
        Ok(Some(function.query))
    }

    /// A name in FROM, of rows that others change: at which moment it is read. What is below a view is read as the view is.
    pub(crate) fn note_moment(&self, factor: &ast::TableFactor) {
        if self.is_in_view() {
            return;
        }
        let uses = &mut *self.uses.borrow_mut();
        match &factor.as_of {
            Some(moment) => uses.as_of.push(ast::Expr::clone(moment)),
            None => uses.reads_now = true,
        }
    }

    /// All of a statement is read at one moment, and nothing is locked or changed by one that reads the past.
    fn check_as_of(&self, plan: &Plan) -> SqlResult<()> {
        let uses = self.uses.borrow();
        match uses.as_of.is_empty() {
            true => Ok(()),
            false if plan.is_change() => match &uses.past_source {
                Some(source) if source.as_of.len() == uses.as_of.len() => Ok(()),
                _ => Err(SqlError::not_supported(AS_OF_IN_CHANGE)),
            },
            false if plan.is_locking_read() => Err(ErrorKind::CantExecuteInReadOnlyTransaction.into()),
            false if uses.reads_now => Err(several_moments()),
            false => Ok(()),
        }
    }

    /// Plans the query of an INSERT. It may read the past, all of it at one moment, and then locks nothing.
    pub(crate) fn plan_source(
        &self,
        plan: impl FnOnce() -> SqlResult<Box<SourceQuery>>,
    ) -> SqlResult<Box<SourceQuery>> {
        let around = self.uses.take();
        let planned = plan();
        let source = self.uses.replace(around);
        let uses = &mut *self.uses.borrow_mut();
        source.tables.iter().for_each(|table| uses.add_table(table));
        source.views.iter().for_each(|view| uses.add_view(view));
        uses.changes_by_functions |= source.changes_by_functions;
        uses.tables_by_functions |= source.tables_by_functions;
        let mut planned = planned?;
        if source.as_of.is_empty() {
            uses.reads_now |= source.reads_now;
            return Ok(planned);
        }
        if !planned.plan.locked.is_empty() {
            return Err(ErrorKind::CantExecuteInReadOnlyTransaction.into());
        }
        if source.reads_now {
            return Err(several_moments());
        }
        // What the transaction has done to it would not be seen.
        if planned.plan.read_tables().iter().any(|table| table.id().is_local()) {
            return Err(SqlError::not_supported(
                "a temporary table beside AS OF TIMESTAMP in INSERT ... SELECT",
            ));
        }
        planned.is_past = true;
        // It is planned twice where ON DUPLICATE KEY UPDATE names more of its columns.
        if uses.past_source.is_none() {
            uses.as_of.extend(source.as_of.iter().cloned());
        }
        uses.past_source = Some(Box::new(source));
        Ok(planned)
    }

    /// Plans what is not run so: its moments are those of what is.
    pub(crate) fn aside<T>(&self, plan: impl FnOnce() -> T) -> T {
        let moments = self.uses.borrow().as_of.len();
        let planned = plan();
        self.uses.borrow_mut().as_of.truncate(moments);
        planned
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

    /// The virtual table of a name; `None` for a name in another database, 1146 or 1109 for an unknown one in these.
    pub fn virtual_table(&self, name: &ast::TableName) -> SqlResult<Option<&'static dyn VirtualTable>> {
        let Some(database) = self.virtual_database(name) else {
            return Ok(None);
        };
        match self.node.virtual_table(database, &name.name) {
            Some(table) => {
                if table.database() == "mysql" {
                    self.check_table(table.database(), table.name(), Privileges::SELECT)?;
                }
                Ok(Some(table))
            }
            None if database.eq_ignore_ascii_case("information_schema") => Err(SqlError::new(
                ErrorKind::UnknownTable,
                &[&name.name.as_str(), &"information_schema"],
            )),
            None => Err(SqlError::new(ErrorKind::NoSuchTable, &[&database, &name.name.as_str()])),
        }
    }

    /// The database that a name is in, where that is made up when it is read.
    pub fn virtual_database<'n>(&'n self, name: &'n ast::TableName) -> Option<&'n str> {
        let database = match &name.schema {
            Some(schema) => Some(schema.as_str()),
            None => self.current_database(),
        };
        database.filter(|database| is_virtual_database(database))
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
            self.uses.borrow_mut().temporary = true;
            return Ok(table.clone());
        }
        self.check_table_or_columns(database, &name.name, privileges)?;
        self.check_lock(database, &name.name, alias.unwrap_or(&name.name))?;
        if is_virtual_database(database) && privileges != Privileges::SELECT {
            return Err(self.access.database_denied(database));
        }
        if self.catalog.view(database, &name.name).is_some() {
            return Err(SqlError::not_supported("a view in this place"));
        }
        let missing = || crate::names::missing_table(self.catalog, database, &name.name);
        let def = self.catalog.table(database, &name.name).ok_or_else(missing)?;
        let table = self.node.table(def).ok_or_else(missing)?;
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

fn several_moments() -> SqlError {
    let what = "can not set different time in the as of";
    SqlError::new(ErrorKind::InvalidAsOf, &[&what])
}
