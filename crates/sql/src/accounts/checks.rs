//! Whether what a statement needs is held ([`crate::statement_class::needs`]).

use catalog::{DynamicPrivilege, Privileges};
use parser::ast::{self, Account, Ident, Statement, TableName, VarScope};
use types::{ErrorKind, SqlError, SqlResult};

use super::access::is_public;
use crate::plan::Authorizer as _;
use crate::session::Session;
use crate::statement_class::needs::{GLOBAL_VARIABLES, Need, needs};
use crate::variables;

impl Session {
    /// Checks a statement that is neither a query nor a change of rows.
    pub(crate) fn check_statement(&mut self, statement: &Statement) -> SqlResult<()> {
        let needs = needs(statement);
        needs.iter().try_for_each(|need| self.check_need(need))
    }

    pub(crate) fn check_need(&mut self, need: &Need<'_>) -> SqlResult<()> {
        let access = self.access();
        match need {
            Need::OneOf(privileges, dynamic, named) => self.require_any(*privileges, dynamic, named),
            Need::Files => match access.rights().global().contains(Privileges::FILE) {
                true => Ok(()),
                false => Err(access.denied()),
            },
            Need::Database(name, wanted) => access.check_database(self.database_or_current(*name)?, *wanted),
            Need::DatabaseOf(name, wanted) => {
                access.check_database(self.database_or_current(name.schema.as_ref())?, *wanted)
            }
            // Without a database, the statement itself says so.
            Need::SomethingIn(name) => match self.database_or_current(*name) {
                Ok(database) => access.check_enter(database),
                Err(_) => Ok(()),
            },
            Need::Table(name, wanted) => {
                let database = self.database_or_current(name.schema.as_ref())?;
                match self.temporary.get(database, &name.name) {
                    // A temporary table is the session's own.
                    Some(_) => Ok(()),
                    // Nothing but reading is done there.
                    None if database.eq_ignore_ascii_case("information_schema") && *wanted != Privileges::SELECT => {
                        Err(access.database_denied(database))
                    }
                    None => access.check_table(database, &name.name, *wanted),
                }
            }
            Need::SystemTable("", wanted) => access.check_database("mysql", *wanted),
            Need::SystemTable(name, wanted) => access.check_table("mysql", name, *wanted),
            Need::SomethingOn(name, wanted) => {
                let database = self.database_or_current(name.schema.as_ref())?;
                match is_public(database) || self.temporary.get(database, &name.name).is_some() {
                    true => Ok(()),
                    false => access.check_something_on(database, &name.name, *wanted),
                }
            }
            Need::SomethingOnAllOf(name, command) => {
                let database = self.database_or_current(name.schema.as_ref())?;
                match is_public(database) || self.temporary.get(database, &name.name).is_some() {
                    true => Ok(()),
                    false => access.check_table_for_any(database, &name.name, Privileges::OF_TABLES, command),
                }
            }
            Need::Routine(kind, name, wanted, command) => {
                let database = self.database_or_current(name.schema.as_ref())?;
                let kind = crate::ddl::programs::kind_of(*kind);
                match access.on_routine(database, kind, &name.name).contains(*wanted) {
                    true => Ok(()),
                    false => Err(access.routine_denied(command, database, &name.name)),
                }
            }
            Need::Parents(child, elements) => self.check_parents(child, elements),
            Need::Variables(items) => items.iter().try_for_each(|item| self.check_variable(item)),
            Need::ForOthers(accounts, need) => match accounts.iter().all(|account| self.is_own(account)) {
                true => Ok(()),
                false => self.check_need(need),
            },
            Need::ToChange(accounts) => {
                let names = accounts.iter().map(|account| self.account_name(account));
                let names = names.collect::<SqlResult<Vec<_>>>()?;
                let own = self.own_account();
                let others: Vec<_> = names.into_iter().filter(|name| Some(name) != own.as_ref()).collect();
                self.check_may_change(&others)
            }
        }
    }

    /// 1046 without a database.
    fn database_or_current<'a>(&'a self, name: Option<&'a Ident>) -> SqlResult<&'a str> {
        match name {
            Some(name) => Ok(name.as_str()),
            None => Ok(self.database.as_deref().ok_or(ErrorKind::NoDb)?),
        }
    }

    pub(super) fn is_own(&self, account: &Account) -> bool {
        let name = self.account_name(account).ok();
        name.is_some() && name == self.own_account()
    }

    /// Whoever refers to a table must be allowed to; without a database, the parent is in the child's.
    fn check_parents(&mut self, child: &TableName, elements: &[ast::TableElement]) -> SqlResult<()> {
        let access = self.access();
        for element in elements {
            let parent = match element {
                ast::TableElement::ForeignKey(key) => &key.references.table,
                _ => continue,
            };
            let database = self.database_or_current(parent.schema.as_ref().or(child.schema.as_ref()))?;
            let named = |_| access.table_denied("REFERENCES", &format!("{database}.{}", parent.name.as_str()));
            let wanted = Privileges::REFERENCES;
            access
                .check_table_for_any(database, &parent.name, wanted, "REFERENCES")
                .map_err(named)?;
        }
        Ok(())
    }

    /// Who sets `mandatory_roles` grants them to everybody.
    fn check_grants_by(&mut self, variable: &str) -> SqlResult<()> {
        match variable.eq_ignore_ascii_case("mandatory_roles") {
            true => self.require_any(
                Privileges::NONE,
                &[DynamicPrivilege::ROLE_ADMIN],
                "SYSTEM_VARIABLES_ADMIN or SUPER privileges, as well as the ROLE_ADMIN",
            ),
            false => Ok(()),
        }
    }

    fn check_variable(&mut self, item: &ast::SetItem) -> SqlResult<()> {
        let ast::SetItem::Variable { scope, name, .. } = item else {
            return Ok(());
        };
        match scope {
            Some(VarScope::Global | VarScope::Persist) => {
                self.check_need(&GLOBAL_VARIABLES)?;
                self.check_grants_by(name)
            }
            Some(VarScope::PersistOnly) => {
                let rights = self.access();
                let has = |privilege| rights.rights().has(privilege);
                let both =
                    has(DynamicPrivilege::SYSTEM_VARIABLES_ADMIN) && has(DynamicPrivilege::PERSIST_RO_VARIABLES_ADMIN);
                match both {
                    true => self.check_grants_by(name),
                    false => {
                        let named = "SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN";
                        Err(SqlError::new(ErrorKind::PersistOnlyAccessDenied, &[&named]))
                    }
                }
            }
            Some(VarScope::Session) | None if variables::is_restricted(name) => self.require_any(
                Privileges::SUPER,
                &[
                    DynamicPrivilege::SYSTEM_VARIABLES_ADMIN,
                    DynamicPrivilege::SESSION_VARIABLES_ADMIN,
                ],
                "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN",
            ),
            Some(VarScope::Session) | None => Ok(()),
        }
    }
}
