//! `CREATE VIEW`, `ALTER VIEW`, `DROP VIEW`.
//!
//! A view is kept as text. It is planned once when it is made, so that a wrong one is refused there; what is kept then has every
//! name written out ([`canonical`]), and means the same for every session, whatever columns its tables get later. A view whose tables
//! have gone stays, and answers 1356 until they are back.

mod canonical;

use std::sync::Arc;

use catalog::{DynamicPrivilege, Names, Privileges, ViewAlgorithm, ViewCheck, ViewDef, ViewSecurity};
use parser::ast::{self, ViewAction};
use types::{ErrorKind, SqlError, SqlResult};

use super::{ObjectLocks, SchemaChange, check_name, unknown_database};
use crate::accounts::access::Access;
use crate::host::Host;
use crate::plan::Planner;
use crate::plan::query::{Body, QueryPlan};
use crate::session::Session;
use crate::session::parameters::Parameters;

impl Session {
    pub(super) fn create_view(
        &mut self,
        create: &ast::CreateView,
        locks: ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<()> {
        let (database, name) = self.qualified(&create.name)?;
        check_name(&name, ErrorKind::WrongTableName)?;
        let catalog = self.engine.catalog();
        if catalog.database(&database).is_none() {
            return Err(unknown_database(&database));
        }
        check_place(&catalog, create.action, &database, &name)?;
        // ALTER VIEW keeps what it does not name.
        let altered = catalog.view(&database, &name);
        let altered = altered.filter(|_| create.action == ViewAction::Alter);
        let definer = match (&create.definer, altered) {
            (None, Some(view)) => self.checked_definer(view.definer.clone())?,
            (written, _) => self.definer_of(written.as_ref())?,
        };
        let security = match (create.security, altered) {
            (None, Some(view)) => view.security,
            (Some(ast::SqlSecurity::Invoker), _) => ViewSecurity::Invoker,
            (Some(ast::SqlSecurity::Definer) | None, _) => ViewSecurity::Definer,
        };
        let def = self.view_def(create, (database.clone(), name.clone()), (definer, security), host)?;
        self.change_schema(locks, host, |change| {
            check_place(&change.before, create.action, &database, &name)?;
            change.edit.put_view(def);
            Ok(())
        })
    }

    /// Whoever defines a view or a program for another account must have SET_ANY_DEFINER, for one that has SYSTEM_USER that, too, and for one that is
    /// not there ALLOW_NONEXISTENT_DEFINER.
    pub(crate) fn definer_of(&mut self, written: Option<&ast::Account>) -> SqlResult<(String, String)> {
        let (user, host) = self.options.account.name();
        let own = (user.to_owned(), host.to_owned());
        let Some(account @ ast::Account::Named { .. }) = written else {
            return Ok(own);
        };
        let definer = self.account_name(account)?;
        self.checked_definer(definer)
    }

    fn checked_definer(&mut self, definer: (String, String)) -> SqlResult<(String, String)> {
        let (user, host) = self.options.account.name();
        if definer != (user.to_owned(), host.to_owned()) {
            self.require_any(
                Privileges::SUPER,
                &[DynamicPrivilege::SET_ANY_DEFINER],
                "SUPER or SET_ANY_DEFINER",
            )?;
            self.check_may_change(std::slice::from_ref(&definer))?;
        }
        if self.engine.catalog().account(&definer.0, &definer.1).is_none() {
            self.require_any(
                Privileges::SUPER,
                &[DynamicPrivilege::ALLOW_NONEXISTENT_DEFINER],
                "SUPER or ALLOW_NONEXISTENT_DEFINER",
            )?;
            self.warnings
                .note(SqlError::new(ErrorKind::NoSuchUser, &[&definer.0, &definer.1]));
        }
        Ok(definer)
    }

    /// Plans the query, and writes its names out.
    fn view_def(
        &mut self,
        create: &ast::CreateView,
        (database, name): (String, String),
        (definer, security): ((String, String), ViewSecurity),
        host: &dyn Host,
    ) -> SqlResult<ViewDef> {
        let access = self.access();
        let catalog = self.engine.catalog();
        let collation = self.variables.settings.expressions.collation;
        let (query, plan) = self.with_context(host, Parameters::NONE, |session, ctx| {
            ctx.binds_view();
            let planner = Planner {
                database: session.database.as_deref(),
                table_locks: Some(&*session.table_locks),
                temporary: Some(&session.temporary),
                ..Planner::new(&*session.engine, &catalog, ctx.eval(), access.clone())
            };
            let query = canonical::canonical(&planner, &create.query)?;
            let plan = crate::plan::query::plan_query(&planner, &query)?;
            if !planner.uses.borrow().as_of.is_empty() {
                return Err(SqlError::not_supported("AS OF TIMESTAMP in a view"));
            }
            Ok::<_, SqlError>((query, plan))
        })?;
        let columns = column_names(create, &plan)?;
        let mergeable = is_mergeable(&query, &plan);
        if create.check.is_some() && !mergeable {
            return Err(SqlError::new(ErrorKind::ViewNonupdCheck, &[&database, &name]));
        }
        if create.algorithm == Some(ast::ViewAlgorithm::Merge) && !mergeable {
            self.warnings.warn(SqlError::from(ErrorKind::ViewMerge));
        }
        let def = ViewDef {
            names_columns: !create.columns.is_empty(),
            columns,
            query: text_of(&query)?,
            algorithm: match create.algorithm {
                Some(ast::ViewAlgorithm::Merge) if mergeable => ViewAlgorithm::Merge,
                Some(ast::ViewAlgorithm::TempTable) => ViewAlgorithm::TempTable,
                _ => ViewAlgorithm::Undefined,
            },
            definer,
            security,
            check: create.check.map(|check| match check {
                ast::ViewCheck::Cascaded => ViewCheck::Cascaded,
                ast::ViewCheck::Local => ViewCheck::Local,
            }),
            mergeable,
            collation,
            database,
            name,
        };
        self.check_recursion(&def, host)?;
        Ok(def)
    }

    /// 1146 and 1462: replaced, the view must not come to name itself.
    fn check_recursion(&mut self, def: &ViewDef, host: &dyn Host) -> SqlResult<()> {
        let catalog = self.engine.catalog();
        let Some(old) = catalog.view(&def.database, &def.name) else {
            return Ok(());
        };
        let query = crate::plan::view_query(def)?;
        self.with_context(host, Parameters::NONE, |session, ctx| {
            let server = Arc::new(Access::of_the_server());
            let planner = Planner::new(&*session.engine, &catalog, ctx.eval(), server);
            let invoker = Arc::new(ViewDef {
                security: ViewSecurity::Invoker,
                ..ViewDef::clone(old)
            });
            let _open = planner.open_view(&invoker)?;
            match crate::plan::query::plan_query(&planner, &query) {
                Err(error) if error.kind() == ErrorKind::ViewRecursive => {
                    Err(SqlError::new(ErrorKind::NoSuchTable, &[&def.database, &def.name]))
                }
                _ => Ok(()),
            }
        })
    }

    pub(super) fn drop_views(&mut self, drop: &ast::DropView, locks: ObjectLocks, host: &dyn Host) -> SqlResult<()> {
        let mut names = Vec::with_capacity(drop.names.len());
        let mut absent = Vec::new();
        let catalog = self.engine.catalog();
        for name in &drop.names {
            let (database, name) = self.qualified(name)?;
            if catalog.table(&database, &name).is_some() {
                return Err(SqlError::new(ErrorKind::WrongObject, &[&database, &name, &"VIEW"]));
            }
            match catalog.view(&database, &name) {
                Some(_) => names.push((database, name)),
                None => absent.push(format!("{database}.{name}")),
            }
        }
        if !absent.is_empty() && !drop.if_exists {
            return Err(SqlError::new(ErrorKind::BadTable, &[&absent.join(",")]));
        }
        for name in &absent {
            self.warnings.note(SqlError::new(ErrorKind::BadTable, &[name]));
        }
        if names.is_empty() {
            return Ok(());
        }
        self.change_schema(locks, host, |change| {
            for (database, name) in &names {
                change.edit.remove_view(database, name);
            }
            Ok(())
        })
    }
}

impl SchemaChange<'_> {
    /// `RENAME TABLE` of a view: within its database only.
    pub(super) fn rename_view(&mut self, view: &ViewDef, to_database: &str, to: &str) -> SqlResult<()> {
        if to_database != view.database {
            return Err(SqlError::new(
                ErrorKind::ForbidSchemaChange,
                &[&view.database, &to_database],
            ));
        }
        self.edit.remove_view(&view.database, &view.name);
        self.edit.put_view(ViewDef {
            name: to.to_owned(),
            ..view.clone()
        });
        Ok(())
    }
}

/// 1050 where the name is taken, 1347 where it is a table's, 1146 where there is nothing to alter.
fn check_place(catalog: &catalog::Catalog, action: ViewAction, database: &str, name: &str) -> SqlResult<()> {
    let is_view = catalog.view(database, name).is_some();
    let is_table = catalog.table(database, name).is_some();
    match action {
        ViewAction::Create if is_view || is_table => Err(SqlError::new(ErrorKind::TableExists, &[&name])),
        ViewAction::CreateOrReplace | ViewAction::Alter if is_table => {
            Err(SqlError::new(ErrorKind::WrongObject, &[&database, &name, &"VIEW"]))
        }
        ViewAction::Alter if !is_view => Err(SqlError::new(ErrorKind::NoSuchTable, &[&database, &name])),
        _ => Ok(()),
    }
}

/// The names of the view's columns: those of the list, or of the query. 1353 for a list of another length, 1060 for a name that comes
/// twice.
fn column_names(create: &ast::CreateView, plan: &QueryPlan) -> SqlResult<Vec<String>> {
    let selected = &plan.shape.columns;
    let names: Vec<String> = match create.columns.is_empty() {
        true => selected.iter().map(|column| column.name.clone()).collect(),
        false if create.columns.len() != selected.len() => {
            return Err(SqlError::new(ErrorKind::ViewWrongList, &[&create.name.name.as_str()]));
        }
        false => create.columns.iter().map(|name| name.as_str().to_owned()).collect(),
    };
    let mut before = Names::default();
    for name in &names {
        governor::tick()?;
        check_name(name, ErrorKind::WrongColumnName)?;
        if before.push(name).is_some() {
            return Err(SqlError::new(ErrorKind::DupFieldName, &[name]));
        }
    }
    Ok(names)
}

/// Whether the query's rows are those of its joins, one for one, so that it can be a part of another query.
fn is_mergeable(query: &ast::Query, plan: &QueryPlan) -> bool {
    let Body::Select(select) = &plan.body else { return false };
    let plain_body = matches!(query.body, ast::QueryBody::Select(_));
    plain_body
        && query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && select.from.is_some()
        && select.grouping.is_none()
        && select.having.is_none()
        && select.windows.is_empty()
        && !select.distinct
        && !select
            .items
            .iter()
            .any(|item| item.has_subquery() || item.is_volatile())
}

/// The catalog keeps text: 1235 for a string literal whose bytes are none.
fn text_of(query: &ast::Query) -> SqlResult<String> {
    let statement = ast::Statement::Query(Box::new(query.clone()));
    let text = String::from_utf8(parser::printer::to_sql(&statement));
    text.map_err(|_| SqlError::not_supported("a view with a string literal that is no UTF-8"))
}

/// Takes the database off the names of tables in it.
pub(crate) fn without_database(query: &mut ast::Query, database: &str) {
    query.for_each_table_name(&mut |name| {
        if name.schema.as_ref().is_some_and(|schema| schema.as_str() == database) {
            name.schema = None;
        }
    });
}
