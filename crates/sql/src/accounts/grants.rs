//! GRANT, REVOKE, SHOW GRANTS.

use catalog::{AccountDef, Privileges};
use parser::ast::{self, Account, GrantKind, GrantLevel, RevokeWhat};
use types::{ErrorKind, SqlError, SqlResult, Value};

use super::AccountName;
use crate::host::Host;
use crate::result::{ResultSink, ServerStatus};
use crate::session::{Answer, Session};

/// What privileges are granted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Level {
    Global,
    Database(String),
    Table(String, String),
}

/// What a database can be granted beyond what its tables can.
pub(super) const ON_DATABASES_ALONE: [&str; 6] = [
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EVENT",
];
pub(super) const ON_TABLES: [&str; 12] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "CREATE VIEW",
    "SHOW VIEW",
    "TRIGGER",
];

impl Level {
    /// What ALL PRIVILEGES means there.
    fn all(&self) -> Privileges {
        let set = |names: &[&str]| {
            let each = names.iter().filter_map(|name| Privileges::by_name(name));
            each.fold(Privileges::NONE, Privileges::with)
        };
        match self {
            Level::Global => Privileges::ALL,
            Level::Database(_) => set(&ON_TABLES).with(set(&ON_DATABASES_ALONE)),
            Level::Table(..) => set(&ON_TABLES),
        }
    }

    /// The account's privileges at exactly this level.
    fn of<'a>(&self, account: &'a mut AccountDef) -> &'a mut Privileges {
        match self {
            Level::Global => &mut account.privileges,
            Level::Database(database) => {
                let list = &mut account.database_privileges;
                let at = list.iter().position(|(name, _)| name == database).unwrap_or_else(|| {
                    list.push((database.clone(), Privileges::NONE));
                    list.len() - 1
                });
                &mut list[at].1
            }
            Level::Table(database, table) => {
                let list = &mut account.table_privileges;
                let at = list
                    .iter()
                    .position(|(d, t, _)| d == database && t == table)
                    .unwrap_or_else(|| {
                        list.push((database.clone(), table.clone(), Privileges::NONE));
                        list.len() - 1
                    });
                &mut list[at].2
            }
        }
    }
}

fn forget_empty(account: &mut AccountDef) {
    account
        .database_privileges
        .retain(|(_, privileges)| !privileges.is_empty());
    account
        .table_privileges
        .retain(|(_, _, privileges)| !privileges.is_empty());
}

impl Session {
    pub(super) fn grant(&mut self, grant: &ast::Grant, host: &dyn Host) -> SqlResult<()> {
        let ast::Grant::Privileges {
            privileges,
            target,
            accounts,
            grant_option,
            grantor,
        } = grant
        else {
            return Err(SqlError::not_supported("GRANT of roles and proxies"));
        };
        if grantor.is_some() {
            return Err(SqlError::not_supported("GRANT ... AS"));
        }
        let level = self.grant_level(target)?;
        let mut granted = privileges_of(privileges, &level)?;
        if *grant_option {
            granted = granted.with(Privileges::GRANT_OPTION);
        }
        self.check_may_grant(&level, granted)?;
        self.check_grant_target(&level, granted)?;
        let names = self.account_names(accounts)?;
        self.change_schema(host, |change| {
            for name in &names {
                let account = change.edit.catalog().account(&name.0, &name.1);
                let mut account = AccountDef::clone(account.ok_or(ErrorKind::CantCreateUserWithGrant)?);
                let held = level.of(&mut account);
                *held = held.with(granted);
                forget_empty(&mut account);
                change.edit.put_account(account);
            }
            Ok(())
        })
    }

    pub(super) fn revoke(&mut self, revoke: &ast::Revoke, host: &dyn Host) -> SqlResult<()> {
        let names = self.account_names(&revoke.accounts)?;
        let (level, revoked) = match &revoke.what {
            RevokeWhat::Privileges { privileges, target } => {
                let level = self.grant_level(target)?;
                let revoked = privileges_of(privileges, &level)?;
                (level, revoked)
            }
            RevokeWhat::Everything => {
                self.require_global("CREATE USER")?;
                return self.revoke_everything(&names, host);
            }
            RevokeWhat::Roles(_) | RevokeWhat::Proxy(_) => {
                return Err(SqlError::not_supported("REVOKE of roles and proxies"));
            }
        };
        self.check_may_grant(&level, revoked)?;
        self.change_schema(host, |change| {
            for (user, host) in &names {
                let missing = || SqlError::new(ErrorKind::NonexistingGrant, &[user, host]);
                let mut account = AccountDef::clone(change.edit.catalog().account(user, host).ok_or_else(missing)?);
                let held = level.of(&mut account);
                if held.is_empty() && level != Level::Global && !revoke.if_exists {
                    return Err(match &level {
                        Level::Table(_, table) => SqlError::new(ErrorKind::NonexistingTableGrant, &[user, host, table]),
                        _ => missing(),
                    });
                }
                *held = held.without(revoked);
                forget_empty(&mut account);
                change.edit.put_account(account);
            }
            Ok(())
        })
    }

    fn revoke_everything(&mut self, names: &[AccountName], host: &dyn Host) -> SqlResult<()> {
        self.change_schema(host, |change| {
            for (user, host) in names {
                let missing = || SqlError::new(ErrorKind::NonexistingGrant, &[user, host]);
                let account = AccountDef::clone(change.edit.catalog().account(user, host).ok_or_else(missing)?);
                change.edit.put_account(AccountDef {
                    privileges: Privileges::NONE,
                    database_privileges: Vec::new(),
                    table_privileges: Vec::new(),
                    ..account
                });
            }
            Ok(())
        })
    }

    fn account_names(&self, accounts: &[Account]) -> SqlResult<Vec<AccountName>> {
        accounts.iter().map(|account| self.account_name(account)).collect()
    }

    fn grant_level(&self, target: &ast::GrantTarget) -> SqlResult<Level> {
        if target.kind != GrantKind::Table {
            return Err(SqlError::not_supported("privileges on stored routines"));
        }
        Ok(match &target.level {
            GrantLevel::Global => Level::Global,
            GrantLevel::Schema(name) => Level::Database(name.as_str().to_owned()),
            GrantLevel::CurrentSchema => Level::Database(self.database.as_deref().ok_or(ErrorKind::NoDb)?.to_owned()),
            GrantLevel::Object(name) => {
                let (database, table) = self.qualified(name)?;
                Level::Table(database, table)
            }
        })
    }

    /// A table must exist, unless CREATE on it is granted.
    fn check_grant_target(&self, level: &Level, granted: Privileges) -> SqlResult<()> {
        let Level::Table(database, table) = level else {
            return Ok(());
        };
        let creates = Privileges::by_name("CREATE").is_some_and(|create| granted.contains(create));
        match creates || self.engine.catalog().is_taken(database, table) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorKind::NoSuchTable, &[database, table])),
        }
    }

    pub(crate) fn show_grants(
        &mut self,
        account: Option<&Account>,
        status: ServerStatus,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let name = self.account_name(account.unwrap_or(&Account::CurrentUser))?;
        let catalog = self.engine.catalog();
        let missing = || SqlError::new(ErrorKind::NonexistingGrant, &[&name.0, &name.1]);
        let account = catalog.account(&name.0, &name.1).ok_or_else(missing)?;
        let to = identifier(&name);
        let global = account.privileges;
        let mut lines = vec![line(global, Privileges::NONE, "*.*", &to)];
        for (database, privileges) in &account.database_privileges {
            let level = Level::Database(database.clone());
            lines.push(line(
                *privileges,
                level.all(),
                &format!("{}.*", backquoted(database)),
                &to,
            ));
        }
        for (database, table, privileges) in &account.table_privileges {
            let level = Level::Table(database.clone(), table.clone());
            let on = format!("{}.{}", backquoted(database), backquoted(table));
            lines.push(line(*privileges, level.all(), &on, &to));
        }
        let column = crate::show::text_column(&format!("Grants for {}@{}", name.0, name.1));
        let rows = lines.into_iter().map(|line| vec![Value::from(line)]).collect();
        crate::show::send(vec![column], rows, status, sink)
    }
}

/// One line of SHOW GRANTS; `all` is what prints as ALL PRIVILEGES.
fn line(privileges: Privileges, all: Privileges, on: &str, to: &str) -> String {
    let option = Privileges::GRANT_OPTION;
    let plain = privileges.without(option);
    let list = match plain {
        none if none.is_empty() => "USAGE".to_owned(),
        plain if plain == all => "ALL PRIVILEGES".to_owned(),
        plain => plain.names().collect::<Vec<_>>().join(", "),
    };
    let with = if privileges.contains(option) {
        " WITH GRANT OPTION"
    } else {
        ""
    };
    format!("GRANT {list} ON {on} TO {to}{with}")
}

/// The set that a statement names; 1221 and 1144 for privileges that the level does not have.
fn privileges_of(written: &ast::Privileges, level: &Level) -> SqlResult<Privileges> {
    let list = match written {
        ast::Privileges::All => return Ok(level.all()),
        ast::Privileges::List(list) => list,
    };
    let mut set = Privileges::NONE;
    for privilege in list {
        if !privilege.columns.is_empty() {
            return Err(SqlError::not_supported("privileges on columns"));
        }
        set = set.with(match &*privilege.name {
            "USAGE" => Privileges::NONE,
            "GRANT OPTION" => Privileges::GRANT_OPTION,
            "ALL" | "ALL PRIVILEGES" => level.all(),
            name => {
                let unknown = || SqlError::not_supported(format!("the privilege {name}"));
                Privileges::by_name(name).ok_or_else(unknown)?
            }
        });
    }
    if level.all().with(Privileges::GRANT_OPTION).contains(set) {
        return Ok(set);
    }
    Err(match level {
        Level::Table(..) => ErrorKind::IllegalGrantForTable.into(),
        _ => SqlError::new(ErrorKind::WrongUsage, &[&"DB GRANT", &"GLOBAL PRIVILEGES"]),
    })
}

fn backquoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `` `user`@`host` ``
pub(super) fn identifier(name: &AccountName) -> String {
    format!("{}@{}", backquoted(&name.0), backquoted(&name.1))
}
