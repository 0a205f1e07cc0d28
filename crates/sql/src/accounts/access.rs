//! Whether a statement may run.
//!
//! An account with every global privilege is never looked at again. The plans of others are made for each statement and not
//! shared: the planner asks for the privilege on a table where it meets the table's name. Statements without a plan are
//! checked by kind ([`Session::check_statement`]).

use std::sync::Arc;

use catalog::{AccountDef, Privileges};
use parser::ast::{self, Account, Statement};
use types::{ErrorKind, SqlError, SqlResult};

use super::grants::{Level, ON_DATABASES_ALONE, ON_TABLES};
use crate::information_schema::is_virtual_database;
use crate::session::Session;

/// What one session may do.
#[derive(Debug, Clone)]
pub struct Access {
    /// User and host as messages name them.
    user: String,
    host: String,
    /// `None`: everything is allowed.
    account: Option<Arc<AccountDef>>,
}

impl Access {
    /// For the server's own work.
    pub const EVERYTHING: Access = Access {
        user: String::new(),
        host: String::new(),
        account: None,
    };

    /// What the account may do; `host` is what messages call its host.
    pub fn of(account: Arc<AccountDef>, host: String) -> Access {
        let everything = Privileges::ALL.with(Privileges::GRANT_OPTION);
        Access {
            user: account.user.clone(),
            host,
            account: (!account.privileges.contains(everything)).then_some(account),
        }
    }

    pub fn is_unlimited(&self) -> bool {
        self.account.is_none()
    }

    fn on(&self, level: &Level) -> Privileges {
        let Some(account) = &self.account else {
            return Privileges::ALL.with(Privileges::GRANT_OPTION);
        };
        let mut held = account.privileges;
        let (Level::Database(database) | Level::Table(database, _)) = level else {
            return held;
        };
        for (pattern, privileges) in &account.database_privileges {
            if pattern == database
                || types::CollationId::BINARY.like(database.as_bytes(), pattern.as_bytes(), Some('\\'))
            {
                held = held.with(*privileges);
            }
        }
        if let Level::Table(_, table) = level {
            let own = account
                .table_privileges
                .iter()
                .filter(|(d, t, _)| d == database && t == table);
            held = own.fold(held, |held, (_, _, privileges)| held.with(*privileges));
        }
        held
    }

    /// 1142 where one of the named privileges on a table is missing.
    pub fn check_table(&self, database: &str, table: &str, names: &[&str]) -> SqlResult<()> {
        if self.is_unlimited() {
            return Ok(());
        }
        let held = self.on(&Level::Table(database.to_owned(), table.to_owned()));
        for name in names {
            if !has(held, name) {
                return Err(SqlError::new(
                    ErrorKind::TableAccessDenied,
                    &[name, &self.user, &self.host, &table],
                ));
            }
        }
        Ok(())
    }

    /// 1044 where the privilege on a database is missing.
    fn check_database(&self, database: &str, name: &str) -> SqlResult<()> {
        match has(self.on(&Level::Database(database.to_owned())), name) {
            true => Ok(()),
            false => Err(self.database_denied(database)),
        }
    }

    /// 1044
    pub fn database_denied(&self, database: &str) -> SqlError {
        SqlError::new(ErrorKind::DbAccessDenied, &[&self.user, &self.host, &database])
    }

    /// 1044 where nothing in the database may be touched: what USE asks for.
    pub fn check_enter(&self, database: &str) -> SqlResult<()> {
        let may_touch = |account: &AccountDef| {
            let held = self.on(&Level::Database(database.to_owned()));
            has_any(held, &ON_DATABASES_ALONE) || has_any(held, &ON_TABLES) || has_tables_in(account, database)
        };
        let is_public = is_virtual_database(database) && !database.eq_ignore_ascii_case("mysql");
        match is_public || self.account.as_deref().is_none_or(may_touch) {
            true => Ok(()),
            false => Err(self.database_denied(database)),
        }
    }

    /// Whether there is any privilege on the database; only then it is shown. Every global privilege counts as one.
    pub fn sees_database(&self, database: &str) -> bool {
        let Some(account) = &self.account else { return true };
        let is_public = is_virtual_database(database) && !database.eq_ignore_ascii_case("mysql");
        is_public || !self.on(&Level::Database(database.to_owned())).is_empty() || has_tables_in(account, database)
    }

    /// Whether anything may be done with the table; only then it is shown.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        let held = self.on(&Level::Table(database.to_owned(), table.to_owned()));
        self.is_unlimited() || has_any(held, &ON_TABLES)
    }

    /// Whether the grants of this account are shown.
    pub fn sees_account(&self, account: &AccountDef) -> bool {
        self.account
            .as_ref()
            .is_none_or(|own| (&own.user, &own.host) == (&account.user, &account.host))
            || self.check_database("mysql", "SELECT").is_ok()
    }

    /// Whether the session of this user is shown, and may be ended.
    pub fn sees_session_of(&self, user: &str) -> bool {
        self.user == user || has(self.on(&Level::Global), "PROCESS")
    }

    pub fn may_kill_session_of(&self, user: &str) -> bool {
        self.user == user || has(self.on(&Level::Global), "SUPER")
    }
}

fn has_any(held: Privileges, names: &[&str]) -> bool {
    names.iter().any(|name| has(held, name))
}

fn has_tables_in(account: &AccountDef, database: &str) -> bool {
    account
        .table_privileges
        .iter()
        .any(|(granted, _, _)| granted == database)
}

fn has(held: Privileges, name: &str) -> bool {
    Privileges::by_name(name).is_some_and(|wanted| held.contains(wanted))
}

impl Session {
    /// The session's privileges by the current catalog.
    pub(crate) fn access(&mut self) -> Access {
        let version = self.engine.catalog_version();
        if let Some((known, access)) = &self.access
            && *known == version
        {
            return access.clone();
        }
        let options = &self.options;
        // Nobody logged in: a session of the server's own.
        let is_own = options.account_user.is_empty() && options.account_host.is_empty();
        let access = match self
            .engine
            .catalog()
            .account(&options.account_user, &options.account_host)
            .cloned()
        {
            _ if is_own => Access::EVERYTHING,
            Some(account)
                if account
                    .privileges
                    .contains(Privileges::ALL.with(Privileges::GRANT_OPTION)) =>
            {
                Access::EVERYTHING
            }
            account => Access {
                user: options.account_user.clone(),
                host: options.host.clone(),
                // A dropped account has nothing left.
                account: Some(account.unwrap_or_else(|| Arc::new(nobody(options.account_user.clone())))),
            },
        };
        self.access = Some((version, access.clone()));
        access
    }

    /// 1227 where a global privilege is missing.
    pub(crate) fn require_global(&mut self, name: &str) -> SqlResult<()> {
        match has(self.access().on(&Level::Global), name) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorKind::SpecificAccessDenied, &[&name])),
        }
    }

    /// Who grants or revokes must have the privileges, and the right to pass them on.
    pub(super) fn check_may_grant(&mut self, level: &Level, privileges: Privileges) -> SqlResult<()> {
        let access = self.access();
        if access.on(level).contains(privileges.with(Privileges::GRANT_OPTION)) {
            return Ok(());
        }
        Err(match level {
            Level::Global => SqlError::new(ErrorKind::AccessDenied, &[&access.user, &access.host, &"YES"]),
            Level::Database(database) => access.database_denied(database),
            Level::Table(_, table) => SqlError::new(
                ErrorKind::TableAccessDenied,
                &[&"GRANT", &access.user, &access.host, table],
            ),
        })
    }

    /// Checks a statement that is neither a query nor a change of rows.
    pub(crate) fn check_statement(&mut self, statement: &Statement) -> SqlResult<()> {
        let access = self.access();
        if access.is_unlimited() {
            return Ok(());
        }
        let on = |session: &Session, name: &ast::TableName, privileges: &[&str]| {
            let database = match &name.schema {
                Some(schema) => schema.as_str(),
                None => session.database.as_deref().ok_or(ErrorKind::NoDb)?,
            };
            access.check_table(database, &name.name, privileges)
        };
        // What a table is made of is told to whoever may do anything with it; who may not is told of SELECT.
        let seen = |session: &Session, name: &ast::TableName| {
            let database = name.schema.as_deref().or(session.database.as_deref());
            let database = database.ok_or(ErrorKind::NoDb)?;
            let is_public = is_virtual_database(database) && !database.eq_ignore_ascii_case("mysql");
            match is_public || access.sees_table(database, &name.name) {
                true => Ok(()),
                false => access.check_table(database, &name.name, &["SELECT"]),
            }
        };
        let own_database = self.database.clone();
        // Whoever refers to a table must be allowed to; without a database, the parent is in the child's.
        let check_parents = |child: &ast::TableName, elements: &[ast::TableElement]| {
            elements.iter().try_for_each(|element| {
                let ast::TableElement::ForeignKey(key) = element else {
                    return Ok(());
                };
                let parent = &key.references.table;
                let schema = parent.schema.as_deref().or(child.schema.as_deref());
                let database = schema.or(own_database.as_deref()).ok_or(ErrorKind::NoDb)?;
                access.check_table(database, &parent.name, &["REFERENCES"])
            })
        };
        let is_self = |session: &Session, account: &Account| {
            let own = (
                session.options.account_user.clone(),
                session.options.account_host.clone(),
            );
            session.account_name(account).is_ok_and(|name| name == own)
        };
        match statement {
            Statement::CreateDatabase(create) => access.check_database(&create.name, "CREATE"),
            Statement::DropDatabase(drop) => access.check_database(&drop.name, "DROP"),
            Statement::AlterDatabase(alter) => match alter.name.as_deref().or(self.database.as_deref()) {
                Some(name) => access.check_database(name, "ALTER"),
                None => Ok(()),
            },
            Statement::CreateTable(create) => {
                match create.name.schema.as_deref().or(self.database.as_deref()) {
                    Some(database) if create.temporary => {
                        access.check_database(database, "CREATE TEMPORARY TABLES")?;
                    }
                    _ => on(self, &create.name, &["CREATE"])?,
                }
                if let ast::CreateTableBody::Definition(body) = &create.body {
                    check_parents(&create.name, &body.elements)?;
                }
                match &create.body {
                    ast::CreateTableBody::Like(other) => on(self, other, &["SELECT"]),
                    ast::CreateTableBody::Definition(body) if body.query.is_some() && !create.temporary => {
                        on(self, &create.name, &["INSERT"])
                    }
                    ast::CreateTableBody::Definition(_) => Ok(()),
                }
            }
            Statement::CreateView(create) => {
                on(self, &create.name, &["CREATE VIEW"])?;
                match create.action {
                    ast::ViewAction::Create => Ok(()),
                    _ => on(self, &create.name, &["DROP"]),
                }
            }
            Statement::DropView(drop) => drop.names.iter().try_for_each(|name| on(self, name, &["DROP"])),
            Statement::DropTable(drop) if drop.temporary => Ok(()),
            Statement::DropTable(drop) => drop.names.iter().try_for_each(|name| on(self, name, &["DROP"])),
            Statement::Truncate(name) => on(self, name, &["DROP"]),
            Statement::AlterTable(alter) => {
                on(self, &alter.table, &["ALTER"])?;
                alter.actions.iter().try_for_each(|action| match action {
                    ast::AlterAction::AddConstraint(element) => {
                        check_parents(&alter.table, std::slice::from_ref(element))
                    }
                    ast::AlterAction::AddElements(elements) => check_parents(&alter.table, elements),
                    ast::AlterAction::RenameTable(to) => {
                        on(self, &alter.table, &["DROP"])?;
                        on(self, to, &["CREATE", "INSERT"])
                    }
                    _ => Ok(()),
                })
            }
            Statement::CreateIndex(create) => on(self, &create.table, &["INDEX"]),
            Statement::DropIndex(drop) => on(self, &drop.table, &["INDEX"]),
            Statement::RenameTable(renames) => renames.iter().try_for_each(|rename| {
                on(self, &rename.from, &["ALTER", "DROP"])?;
                on(self, &rename.to, &["CREATE", "INSERT"])
            }),
            Statement::LockTables(tables) => tables.iter().try_for_each(|lock| {
                let database = lock
                    .table
                    .schema
                    .as_ref()
                    .map(|schema| schema.as_str())
                    .or(self.database.as_deref());
                access.check_database(database.ok_or(ErrorKind::NoDb)?, "LOCK TABLES")?;
                on(self, &lock.table, &["SELECT"])
            }),
            Statement::AlterUser(alter) if self.is_own_password_change(alter) => Ok(()),
            Statement::SetPassword(set) if set.account.as_ref().is_none_or(|account| is_self(self, account)) => Ok(()),
            Statement::CreateUser(_)
            | Statement::AlterUser(_)
            | Statement::DropUser(_)
            | Statement::RenameUser(_)
            | Statement::SetPassword(_) => self.require_global("CREATE USER"),
            Statement::Flush(_) | Statement::Reset(_) => self.require_global("RELOAD"),
            Statement::Shutdown | Statement::Restart => self.require_global("SHUTDOWN"),
            Statement::Set(items) => {
                let is_global = |item: &ast::SetItem| {
                    matches!(
                        item,
                        ast::SetItem::Variable {
                            scope: Some(ast::VarScope::Global | ast::VarScope::Persist | ast::VarScope::PersistOnly),
                            ..
                        }
                    )
                };
                match items.iter().any(is_global) && !has(access.on(&Level::Global), "SUPER") {
                    true => Err(SqlError::new(
                        ErrorKind::SpecificAccessDenied,
                        &[&"SUPER or SYSTEM_VARIABLES_ADMIN"],
                    )),
                    false => Ok(()),
                }
            }
            Statement::SetTransaction(set) if set.scope.is_some_and(|scope| scope == ast::VarScope::Global) => {
                self.require_global("SUPER")
            }
            Statement::TableMaintenance(maintenance) => {
                let privileges: &[&str] = match maintenance.action {
                    ast::MaintenanceAction::Check(_) | ast::MaintenanceAction::Checksum(_) => &["SELECT"],
                    _ => &["SELECT", "INSERT"],
                };
                maintenance
                    .tables
                    .iter()
                    .try_for_each(|name| on(self, name, privileges))
            }
            Statement::Show(show) => match &**show {
                ast::Show::CreateTable(name)
                | ast::Show::CreateView(name)
                | ast::Show::Columns { table: name, .. }
                | ast::Show::Indexes { table: name, .. } => seen(self, name),
                ast::Show::Tables { schema, .. }
                | ast::Show::TableStatus { schema, .. }
                | ast::Show::OpenTables { schema, .. }
                | ast::Show::Triggers { schema, .. }
                | ast::Show::Events { schema, .. } => match schema.as_deref().or(self.database.as_deref()) {
                    Some(database) => access.check_enter(database),
                    None => Ok(()),
                },
                ast::Show::CreateDatabase { name, .. } => access.check_enter(name),
                ast::Show::Engine { .. } => self.require_global("PROCESS"),
                ast::Show::BinaryLogs | ast::Show::BinaryLogStatus | ast::Show::ReplicaStatus { .. } => {
                    self.require_global("REPLICATION CLIENT")
                }
                ast::Show::Replicas | ast::Show::BinlogEvents { .. } | ast::Show::RelayLogEvents { .. } => {
                    self.require_global("REPLICATION SLAVE")
                }
                ast::Show::Grants {
                    account: Some(account), ..
                }
                | ast::Show::CreateUser(account)
                    if !is_self(self, account) =>
                {
                    access.check_database("mysql", "SELECT")
                }
                _ => Ok(()),
            },
            Statement::Describe(describe) => seen(self, &describe.table),
            _ => Ok(()),
        }
    }
}

fn nobody(user: String) -> AccountDef {
    AccountDef {
        locked: true,
        ..AccountDef::new(user, "")
    }
}
