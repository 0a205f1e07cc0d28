//! What names and privileges mean inside of a view.
//!
//! A view's text is planned where the view is named, in the same pass. While that goes on the planner keeps the view open: names
//! have their databases written out, the session's temporary tables are not seen, and the tables below are looked at with the
//! privileges of the view's definer (`SQL SECURITY DEFINER`).

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use catalog::{Privileges, ViewDef, ViewSecurity};
use parser::ast::{self, Statement};
use types::{ErrorKind, SqlError, SqlResult};

use super::Planner;
use super::nesting::Nesting;
use crate::node::Authorizer;
use crate::table::Table;

/// The views being planned, the innermost last.
#[derive(Default)]
pub struct OpenViews {
    /// Queries around the one being planned, views' and others.
    pub(super) nesting: Nesting,
    stack: RefCell<Vec<OpenView>>,
    /// Views that cannot be merged, by whether an outer join may leave them without a row. Each is found out once: trying again at each
    /// level of views over views would double the work with every one.
    unmergeable: RefCell<HashSet<(String, String, bool)>>,
    /// While the view to be changed is bound: what is to be asked of whoever reads its columns.
    deferred: RefCell<Option<Vec<Question>>>,
    purpose: Purpose,
}

/// What somebody must be allowed to do.
#[derive(Debug, Clone)]
pub struct Question {
    of: Arc<dyn Authorizer>,
    database: String,
    table: String,
    what: Wanted<'static>,
    privileges: Privileges,
}

#[derive(Debug, Clone)]
enum Wanted<'a> {
    Table,
    TableOrColumns,
    Column(Cow<'a, str>),
}

impl Wanted<'_> {
    fn ask(&self, access: &dyn Authorizer, database: &str, table: &str, privileges: Privileges) -> SqlResult<()> {
        match self {
            Wanted::Table => access.check_table(database, table, privileges),
            Wanted::TableOrColumns => access.check_table_or_columns(database, table, privileges),
            Wanted::Column(column) => access.check_column(database, table, column, privileges),
        }
    }
}

impl Question {
    fn ask(&self, access: &dyn Authorizer) -> SqlResult<()> {
        self.what.ask(access, &self.database, &self.table, self.privileges)
    }
}

/// What a plan is made for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Purpose {
    #[default]
    Run,
    /// EXPLAIN tells what is below a view.
    Explain,
    /// EXPLAIN ANALYZE tells of every join that runs.
    Measure,
}

impl OpenViews {
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    pub fn to(purpose: Purpose) -> OpenViews {
        OpenViews {
            purpose,
            ..OpenViews::default()
        }
    }
}

struct OpenView {
    def: Arc<ViewDef>,
    /// What may be done with the tables below.
    access: Arc<dyn Authorizer>,
}

/// Closes the view again.
pub struct ViewGuard<'a> {
    views: &'a OpenViews,
}

impl Drop for ViewGuard<'_> {
    fn drop(&mut self) {
        self.views.stack.borrow_mut().pop();
    }
}

impl Planner<'_> {
    /// The view of a name, unless a temporary table hides it.
    pub fn view(&self, name: &ast::TableName) -> Option<Arc<ViewDef>> {
        let database = match &name.schema {
            Some(schema) => schema.as_str(),
            None => self.current_database()?,
        };
        match self.temporary_table(database, &name.name) {
            Some(_) => None,
            None => self.catalog.view(database, &name.name).cloned(),
        }
    }

    /// Begins to plan the view's text; 1462 where it is being planned already, 1449 where its definer is gone.
    pub fn open_view(&self, def: &Arc<ViewDef>) -> SqlResult<ViewGuard<'_>> {
        let is_open = |open: &OpenView| open.def.database == def.database && open.def.name == def.name;
        if self.views.stack.borrow().iter().any(is_open) {
            return Err(SqlError::new(ErrorKind::ViewRecursive, &[&def.database, &def.name]));
        }
        let access = match def.security {
            ViewSecurity::Invoker => self.access(),
            ViewSecurity::Definer => {
                let (user, host) = &def.definer;
                let account = self.catalog.account(user, host);
                let missing = || SqlError::new(ErrorKind::NoSuchUser, &[user, host]);
                self.node.authorizer_of(self.catalog, account.ok_or_else(missing)?)
            }
        };
        self.uses.borrow_mut().add_view(def);
        let def = def.clone();
        self.views.stack.borrow_mut().push(OpenView { def, access });
        Ok(ViewGuard { views: &self.views })
    }

    /// Whether a view was found to be no part of a join, on the side of an outer join that may have no row or elsewhere.
    pub fn is_unmergeable(&self, def: &ViewDef, optional: bool) -> bool {
        let key = (def.database.clone(), def.name.clone(), optional);
        self.views.unmergeable.borrow().contains(&key)
    }

    pub fn note_unmergeable(&self, def: &ViewDef, optional: bool) {
        let key = (def.database.clone(), def.name.clone(), optional);
        self.views.unmergeable.borrow_mut().insert(key);
    }

    pub fn is_in_view(&self) -> bool {
        !self.views.stack.borrow().is_empty()
    }

    /// What may be done with the tables that are named here.
    pub fn access(&self) -> Arc<dyn Authorizer> {
        match self.views.stack.borrow().last() {
            Some(open) => open.access.clone(),
            None => self.access.clone(),
        }
    }

    /// 1142 where one of the privileges on a table is missing.
    pub fn check_table(&self, database: &str, table: &str, privileges: Privileges) -> SqlResult<()> {
        self.check(database, table, Wanted::Table, privileges)
    }

    /// 1142 where one of the privileges is neither held on the table nor on a column of it.
    pub fn check_table_or_columns(&self, database: &str, table: &str, privileges: Privileges) -> SqlResult<()> {
        self.check(database, table, Wanted::TableOrColumns, privileges)
    }

    /// 1143 where a privilege on a column is missing.
    pub fn check_column(&self, database: &str, table: &str, column: &str, privileges: Privileges) -> SqlResult<()> {
        self.check(database, table, Wanted::Column(column.into()), privileges)
    }

    /// Asks those who count where a name stands: the definer in a view, and for EXPLAIN whoever asks, too; 1345 where only he may not.
    fn check(&self, database: &str, table: &str, what: Wanted<'_>, privileges: Privileges) -> SqlResult<()> {
        if !self.is_in_view() {
            return what.ask(&*self.access, database, table, privileges);
        }
        let question = Question {
            of: self.access(),
            database: database.to_owned(),
            table: table.to_owned(),
            what: match what {
                Wanted::Table => Wanted::Table,
                Wanted::TableOrColumns => Wanted::TableOrColumns,
                Wanted::Column(column) => Wanted::Column(column.into_owned().into()),
            },
            privileges,
        };
        match &mut *self.views.deferred.borrow_mut() {
            Some(deferred) => {
                deferred.push(question);
                Ok(())
            }
            None => self.ask_in_view(&question),
        }
    }

    fn ask_in_view(&self, question: &Question) -> SqlResult<()> {
        question.ask(&*question.of)?;
        match self.views.purpose {
            Purpose::Run => Ok(()),
            Purpose::Explain | Purpose::Measure => {
                question.ask(&*self.access).map_err(|_| ErrorKind::ViewNoExplain.into())
            }
        }
    }

    /// Runs `bind`, which asks nothing of what is below a view. Also gives what it would have asked.
    pub fn asking_later<T>(&self, bind: impl FnOnce() -> SqlResult<T>) -> SqlResult<(T, Vec<Question>)> {
        let outer = self.views.deferred.replace(Some(Vec::new()));
        let bound = bind();
        let deferred = self.views.deferred.replace(outer);
        Ok((bound?, deferred.unwrap_or_default()))
    }

    /// Runs `bind`, which asks at once what it has to ask.
    pub fn asking_now<T>(&self, bind: impl FnOnce() -> T) -> T {
        let deferred = self.views.deferred.replace(None);
        let bound = bind();
        self.views.deferred.replace(deferred);
        bound
    }

    /// Asks what was put off, for whoever reads columns of the view; 1356 where its definer may not.
    pub fn ask_deferred(&self, view: &ViewDef, questions: &[Question]) -> SqlResult<()> {
        let asked = questions.iter().try_for_each(|question| self.ask_in_view(question));
        asked.map_err(|error| told_of_view(view, error))
    }

    /// 1345 for EXPLAIN of what may be read, but not shown.
    pub fn check_explained(&self, view: &ViewDef) -> SqlResult<()> {
        match self.views.purpose {
            Purpose::Run => Ok(()),
            Purpose::Explain | Purpose::Measure => {
                let shown = self
                    .access
                    .check_table(&view.database, &view.name, Privileges::SHOW_VIEW);
                shown.map_err(|_| ErrorKind::ViewNoExplain.into())
            }
        }
    }

    /// 1100 for a table that the session's LOCK TABLES leaves out; a view brings its tables with it.
    pub fn check_lock(&self, database: &str, name: &str, alias: &str) -> SqlResult<()> {
        match self.is_in_view() {
            true => Ok(()),
            false => self
                .table_locks
                .map_or(Ok(()), |locks| locks.check_use(database, name, alias)),
        }
    }

    /// The database of unqualified names; none in a view, which has no such names.
    pub fn current_database(&self) -> Option<&str> {
        self.database.filter(|_| !self.is_in_view())
    }

    pub fn temporary_table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        self.temporary
            .filter(|_| !self.is_in_view())
            .and_then(|tables| tables.get(database, name))
    }
}

/// The query of a view; 1356 for a text that does not parse any more.
pub fn view_query(def: &ViewDef) -> SqlResult<Box<ast::Query>> {
    match parser::parse(def.query.as_bytes(), parser::SqlMode::default()) {
        Ok(parsed) => match parsed.statement {
            Statement::Query(query) => Ok(query),
            _ => Err(invalid_view(def)),
        },
        Err(_) => Err(invalid_view(def)),
    }
}

/// 1356
pub fn invalid_view(def: &ViewDef) -> SqlError {
    SqlError::new(ErrorKind::ViewInvalid, &[&def.database, &def.name])
}

/// What is wrong below a view is told of the view, so that nobody learns what he may not see.
pub fn told_of_view(def: &ViewDef, error: SqlError) -> SqlError {
    use ErrorKind::*;
    match error.kind() {
        BadDb
        | NoSuchTable
        | UnknownTable
        | BadField
        | NonUniq
        | SpDoesNotExist
        | SpWrongNoOfArgs
        | ProcaccessDenied
        | TableAccessDenied
        | ColumnAccessDenied
        | DbAccessDenied
        | WrongNumberOfColumnsInSelect
        | ViewWrongList => invalid_view(def),
        _ => error,
    }
}
