//! GRANT and REVOKE of privileges.
//!
//! What a statement names becomes a [`Wanted`]: static and dynamic privileges on a level, or on columns of a table. Who grants or revokes
//! must hold them with the right to pass them on; then they are put into or taken out of the accounts, all in one change of the
//! catalog.

use catalog::{
    AccountDef, Catalog, ColumnPrivileges, DynamicPrivilege, DynamicPrivileges, Names, Privileges, RoutineKind,
    RoutinePrivileges,
};
use parser::ast::{self, GrantKind, GrantLevel, RevokeWhat};
use types::{ErrorKind, SqlError, SqlResult};

use super::access::Access;
use super::rights::{AccountName, DatabaseNames};
use crate::host::Host;
use crate::plan::Authorizer as _;
use crate::session::Session;

/// What privileges are granted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Level {
    Global,
    /// The databases that a pattern stands for.
    Database(String),
    Table(String, String),
    /// Kind, database, and name in lower case.
    Routine(RoutineKind, String, String),
}

/// What a statement grants or revokes.
#[derive(Debug)]
struct Wanted {
    level: Level,
    privileges: Privileges,
    dynamic: DynamicPrivileges,
    /// Each column with what is granted on it.
    columns: Vec<(String, Privileges)>,
    /// Where each of them stands.
    column_names: Names,
}

impl Level {
    /// What ALL PRIVILEGES means there.
    pub(super) fn all(&self) -> Privileges {
        match self {
            Level::Global => Privileges::ALL,
            Level::Database(_) => Privileges::OF_DATABASES,
            Level::Table(..) => Privileges::OF_TABLES,
            Level::Routine(..) => Privileges::OF_ROUTINES,
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
            Level::Routine(kind, database, name) => {
                let list = &mut account.routine_privileges;
                let known =
                    |held: &RoutinePrivileges| held.kind == *kind && held.database == *database && held.name == *name;
                let at = list.iter().position(known).unwrap_or_else(|| {
                    list.push(RoutinePrivileges {
                        database: database.clone(),
                        kind: *kind,
                        name: name.clone(),
                        privileges: Privileges::NONE,
                    });
                    list.len() - 1
                });
                &mut list[at].privileges
            }
        }
    }

    fn columns_of<'a>(&self, account: &'a AccountDef) -> impl Iterator<Item = &'a ColumnPrivileges> {
        let table = match self {
            Level::Table(database, table) => Some((database.clone(), table.clone())),
            Level::Global | Level::Database(_) | Level::Routine(..) => None,
        };
        account.column_privileges.iter().filter(move |held| {
            table
                .as_ref()
                .is_some_and(|(database, table)| held.database == *database && held.table == *table)
        })
    }
}

fn forget_empty(account: &mut AccountDef) {
    account
        .database_privileges
        .retain(|(_, privileges)| !privileges.is_empty());
    account
        .table_privileges
        .retain(|(_, _, privileges)| !privileges.is_empty());
    account.column_privileges.retain(|column| !column.privileges.is_empty());
    account
        .routine_privileges
        .retain(|routine| !routine.privileges.is_empty());
    // What is not held globally is not taken back on a database.
    let global = account.privileges;
    for (_, taken) in &mut account.restrictions {
        *taken = taken.common(global);
    }
    account.restrictions.retain(|(_, taken)| !taken.is_empty());
}

/// Keeps an error as a warning where the statement asks for that.
pub(super) fn pass_over(error: SqlError, ignored: bool, passed_over: &mut Vec<SqlError>) -> SqlResult<()> {
    match ignored {
        true => {
            passed_over.push(error);
            Ok(())
        }
        false => Err(error),
    }
}

impl Session {
    pub(super) fn grant(&mut self, grant: &ast::Grant, host: &dyn Host) -> SqlResult<()> {
        let (privileges, target, accounts, grant_option, grantor) = match grant {
            ast::Grant::Privileges {
                privileges,
                target,
                accounts,
                grant_option,
                grantor,
            } => (privileges, target, accounts, *grant_option, grantor),
            ast::Grant::Roles {
                roles,
                accounts,
                admin_option,
            } => return self.grant_roles(roles, accounts, *admin_option, host),
            ast::Grant::Proxy { .. } => return Err(SqlError::not_supported("GRANT PROXY")),
        };
        let mut wanted = self.wanted(privileges, target, Use::Grant)?;
        if let Some((account, roles)) = grantor {
            return self.grant_as(wanted, accounts, grant_option, account, roles.as_ref(), host);
        }
        if grant_option {
            wanted.privileges = wanted.privileges.with(Privileges::GRANT_OPTION);
            wanted.dynamic = wanted.dynamic.grantable();
        }
        let restrictions = self.access().rights().own_restrictions();
        self.grant_wanted(&wanted, accounts, restrictions, host)
    }

    /// `GRANT … AS user [WITH ROLE …]`: the restrictions of that account, with those roles, go to the grantees.
    fn grant_as(
        &mut self,
        mut wanted: Wanted,
        accounts: &[ast::Account],
        grant_option: bool,
        account: &ast::Account,
        roles: Option<&ast::SetRole>,
        host: &dyn Host,
    ) -> SqlResult<()> {
        if wanted.level != Level::Global {
            return Err(ErrorKind::UnsupportedGrantAs.into());
        }
        if roles.is_some() {
            return Err(SqlError::not_supported("GRANT ... AS ... WITH ROLE"));
        }
        let name = self.account_name(account)?;
        let catalog = self.engine.catalog();
        let unknown = || SqlError::new(ErrorKind::UnknownAuthid, &[&name.0, &name.1]);
        let restrictions = catalog
            .account(&name.0, &name.1)
            .ok_or_else(unknown)?
            .restrictions
            .clone();
        if grant_option {
            wanted.privileges = wanted.privileges.with(Privileges::GRANT_OPTION);
            wanted.dynamic = wanted.dynamic.grantable();
        }
        self.grant_wanted(&wanted, accounts, restrictions, host)
    }

    fn grant_wanted(
        &mut self,
        wanted: &Wanted,
        accounts: &[ast::Account],
        restrictions: Vec<(String, Privileges)>,
        host: &dyn Host,
    ) -> SqlResult<()> {
        self.check_may_give(wanted)?;
        let names = self.account_names(accounts)?;
        self.check_may_change(&names)?;
        self.change_accounts(host, |change| {
            check_target(&change.before, wanted)?;
            for name in &names {
                governor::tick()?;
                let account = change.edit.catalog().account(&name.0, &name.1);
                let mut account = AccountDef::clone(account.ok_or(ErrorKind::CantCreateUserWithGrant)?);
                put(&mut account, wanted, &restrictions);
                change.edit.put_account(account);
            }
            Ok(())
        })
    }

    pub(super) fn revoke(&mut self, revoke: &ast::Revoke, host: &dyn Host) -> SqlResult<()> {
        let wanted = match &revoke.what {
            RevokeWhat::Privileges { privileges, target } => self.wanted(privileges, target, Use::Revoke)?,
            RevokeWhat::Everything => return self.revoke_everything(revoke, host),
            RevokeWhat::Roles(roles) => return self.revoke_roles(roles, revoke, host),
            RevokeWhat::Proxy(_) => return Err(SqlError::not_supported("REVOKE PROXY")),
        };
        self.check_may_give(&wanted)?;
        let names = self.account_names(&revoke.accounts)?;
        self.check_may_change(&names)?;
        let database_names = self.engine.database_names();
        let passed_over = self.change_accounts(host, |change| {
            let mut passed_over = Vec::new();
            for name in &names {
                governor::tick()?;
                let Some(account) = change.edit.catalog().account(&name.0, &name.1) else {
                    match revoke.ignore_unknown_user {
                        true => passed_over.push(SqlError::new(ErrorKind::UserDoesNotExist, &[&name.0])),
                        false => return Err(no_such_grant(name, &Level::Global)),
                    }
                    continue;
                };
                let mut account = AccountDef::clone(account);
                match take(&mut account, &wanted, database_names) {
                    true => change.edit.put_account(account),
                    false => pass_over(no_such_grant(name, &wanted.level), revoke.if_exists, &mut passed_over)?,
                }
            }
            Ok(passed_over)
        })?;
        passed_over.into_iter().for_each(|error| self.warnings.warn(error));
        Ok(())
    }

    /// `REVOKE ALL PRIVILEGES, GRANT OPTION FROM …`: everything but the roles.
    fn revoke_everything(&mut self, revoke: &ast::Revoke, host: &dyn Host) -> SqlResult<()> {
        self.require_any(Privileges::CREATE_USER, &[], "CREATE USER")?;
        let names = self.account_names(&revoke.accounts)?;
        self.check_may_change(&names)?;
        let unknown = self.change_accounts(host, |change| {
            let mut unknown = Vec::new();
            for (user, host) in &names {
                governor::tick()?;
                let Some(account) = change.edit.catalog().account(user, host) else {
                    match revoke.ignore_unknown_user {
                        true => unknown.push(SqlError::new(ErrorKind::UserDoesNotExist, &[user])),
                        false => return Err(ErrorKind::RevokeGrants.into()),
                    }
                    continue;
                };
                change.edit.put_account(AccountDef {
                    privileges: Privileges::NONE,
                    dynamic_privileges: Some(DynamicPrivileges::NONE),
                    restrictions: Vec::new(),
                    database_privileges: Vec::new(),
                    table_privileges: Vec::new(),
                    column_privileges: Vec::new(),
                    routine_privileges: Vec::new(),
                    ..AccountDef::clone(account)
                });
            }
            Ok(unknown)
        })?;
        unknown.into_iter().for_each(|error| self.warnings.warn(error));
        Ok(())
    }

    /// Whoever grants or revokes holds the privileges, and the right to pass them on.
    fn check_may_give(&mut self, wanted: &Wanted) -> SqlResult<()> {
        let access = self.access();
        if !wanted.columns.is_empty()
            && let Level::Table(database, table) = &wanted.level
        {
            return check_may_give_columns(&access, database, table, wanted);
        }
        if let Level::Database(database) | Level::Table(database, _) = &wanted.level
            && database.eq_ignore_ascii_case("information_schema")
        {
            return Err(access.database_denied(database));
        }
        for privilege in wanted.dynamic.iter() {
            if !access.rights().dynamic().may_grant(privilege) {
                return Err(SqlError::new(ErrorKind::SpecificAccessDenied, &[&"GRANT OPTION"]));
            }
        }
        match wanted.privileges.is_empty() && !wanted.dynamic.is_empty() {
            true => Ok(()),
            false => self.check_may_grant(&wanted.level, wanted.privileges),
        }
    }

    fn wanted(&mut self, written: &ast::Privileges, target: &ast::GrantTarget, used: Use) -> SqlResult<Wanted> {
        let level = self.grant_level(target)?;
        let mut wanted = Wanted {
            privileges: Privileges::NONE,
            dynamic: DynamicPrivileges::NONE,
            columns: Vec::new(),
            column_names: Names::default(),
            level,
        };
        let list = match written {
            ast::Privileges::All => {
                wanted.privileges = wanted.level.all();
                if wanted.level == Level::Global {
                    wanted.dynamic = match used {
                        Use::Grant => self.dynamic_to_pass_on(),
                        Use::Revoke => DynamicPrivileges::ALL,
                    };
                }
                return Ok(wanted);
            }
            ast::Privileges::List(list) => list,
        };
        for privilege in list {
            self.add_wanted(privilege, &mut wanted, used)?;
        }
        Ok(wanted)
    }

    /// `GRANT ALL ON *.*` grants the dynamic privileges that may be granted.
    fn dynamic_to_pass_on(&mut self) -> DynamicPrivileges {
        let held = self.access().rights().dynamic();
        let may_grant = DynamicPrivilege::all().filter(|privilege| held.may_grant(*privilege));
        may_grant
            .map(DynamicPrivileges::of)
            .fold(DynamicPrivileges::NONE, DynamicPrivileges::with)
    }

    fn add_wanted(&mut self, written: &ast::Privilege, wanted: &mut Wanted, used: Use) -> SqlResult<()> {
        let set = match &*written.name {
            "USAGE" => Privileges::NONE,
            "GRANT OPTION" => Privileges::GRANT_OPTION,
            "ALL" | "ALL PRIVILEGES" => wanted.level.all(),
            name => match (Privileges::by_name(name), DynamicPrivilege::by_name(name)) {
                (Some(privilege), _) => privilege,
                (None, Some(dynamic)) if wanted.level == Level::Global => {
                    wanted.dynamic = wanted.dynamic.with(DynamicPrivileges::of(dynamic));
                    return Ok(());
                }
                (None, Some(dynamic)) => {
                    return Err(SqlError::new(ErrorKind::IllegalPrivilegeLevel, &[&dynamic.name()]));
                }
                (None, None) if used == Use::Revoke => {
                    let unknown = SqlError::new(ErrorKind::DynamicPrivilegeNotRegistered, &[&name]);
                    self.warnings.warn(unknown);
                    return Ok(());
                }
                (None, None) => return Err(ErrorKind::SyntaxError.into()),
            },
        };
        if !written.columns.is_empty() {
            if !matches!(wanted.level, Level::Table(..)) || !Privileges::OF_COLUMNS.contains(set) {
                return Err(ErrorKind::IllegalGrantForTable.into());
            }
            for column in &written.columns {
                governor::tick()?;
                match wanted.column_names.first(column) {
                    Some(at) => wanted.columns[at].1 = wanted.columns[at].1.with(set),
                    None => {
                        wanted.column_names.push(column);
                        wanted.columns.push((column.as_str().to_owned(), set));
                    }
                }
            }
            return Ok(());
        }
        if !wanted.level.all().with(Privileges::GRANT_OPTION).contains(set) {
            return Err(match wanted.level {
                Level::Table(..) | Level::Routine(..) => ErrorKind::IllegalGrantForTable.into(),
                _ => SqlError::new(ErrorKind::WrongUsage, &[&"DB GRANT", &"GLOBAL PRIVILEGES"]),
            });
        }
        wanted.privileges = wanted.privileges.with(set);
        Ok(())
    }

    fn grant_level(&self, target: &ast::GrantTarget) -> SqlResult<Level> {
        let routine = match target.kind {
            GrantKind::Table => None,
            GrantKind::Procedure => Some(RoutineKind::Procedure),
            GrantKind::Function => Some(RoutineKind::Function),
        };
        if let Some(kind) = routine {
            return match &target.level {
                GrantLevel::Object(name) => {
                    let (database, name) = self.qualified(name)?;
                    Ok(Level::Routine(kind, database, name.to_lowercase()))
                }
                _ => Err(ErrorKind::IllegalGrantForTable.into()),
            };
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Grant,
    Revoke,
}

/// 1142 without the right to grant on the table or one of its columns, 1143 for a column's privilege that is missing.
fn check_may_give_columns(access: &Access, database: &str, table: &str, wanted: &Wanted) -> SqlResult<()> {
    if !access.has_on_some_column(database, table, Privileges::GRANT_OPTION) {
        return Err(access.table_denied("GRANT", table));
    }
    access.check_table(database, table, wanted.privileges.without(Privileges::GRANT_OPTION))?;
    let mut columns = wanted.columns.iter();
    columns.try_for_each(|(column, privileges)| access.check_column(database, table, column, *privileges))
}

/// A table must exist, unless CREATE on it is granted; 1054 for a column that it does not have.
fn check_target(catalog: &Catalog, wanted: &Wanted) -> SqlResult<()> {
    if let Level::Routine(kind, database, name) = &wanted.level
        && catalog.routine(database, *kind, name).is_none()
    {
        return Err(crate::ddl::programs::no_such_routine(*kind, database, name));
    }
    let Level::Table(database, table) = &wanted.level else {
        return Ok(());
    };
    let creates = wanted.privileges.contains(Privileges::CREATE);
    if !creates && !catalog.is_taken(database, table) {
        let is_virtual = crate::plan::is_virtual_database(database);
        if !is_virtual {
            return Err(SqlError::new(ErrorKind::NoSuchTable, &[database, table]));
        }
    }
    for (column, _) in &wanted.columns {
        governor::tick()?;
        let of_table = catalog.table(database, table).map(|def| def.column(column).is_some());
        let of_view = || {
            let view = catalog.view(database, table)?;
            Some(view.columns.iter().any(|known| catalog::same_name(known, column)))
        };
        if of_table.or_else(of_view) == Some(false) {
            return Err(SqlError::new(ErrorKind::BadField, &[column, table]));
        }
    }
    Ok(())
}

/// Gives privileges on a routine to who has made it.
pub(crate) fn give_on_routine(account: &mut AccountDef, def: &catalog::RoutineDef, privileges: Privileges) {
    let level = Level::Routine(def.kind, def.database.clone(), def.name.to_lowercase());
    let held = level.of(account);
    *held = held.with(privileges);
}

/// Takes away what an account has on a routine that is gone; false where that was nothing.
pub(crate) fn forget_routine(account: &mut AccountDef, kind: RoutineKind, database: &str, name: &str) -> bool {
    let before = account.routine_privileges.len();
    let name = name.to_lowercase();
    account
        .routine_privileges
        .retain(|held| !(held.kind == kind && held.database == database && held.name == name));
    account.routine_privileges.len() != before
}

/// Grants.
fn put(account: &mut AccountDef, wanted: &Wanted, restrictions: &[(String, Privileges)]) {
    let held = wanted.level.of(account);
    let added = wanted.privileges.without(*held);
    *held = held.with(wanted.privileges);
    account.dynamic_privileges = Some(account.dynamic().with(wanted.dynamic));
    if wanted.level == Level::Global {
        // A privilege that is granted anew is granted everywhere, but where the grantor is restricted himself.
        for (database, taken) in &mut account.restrictions {
            let kept = restrictions.iter().find(|(other, _)| other == database);
            let kept = kept.map_or(Privileges::NONE, |(_, kept)| *kept);
            *taken = taken.without(wanted.privileges.without(kept));
        }
        for (database, kept) in restrictions {
            restrict(account, database, kept.common(added));
        }
    }
    if let Level::Database(database) = &wanted.level
        && let Some((_, taken)) = account.restrictions.iter_mut().find(|(name, _)| name == database)
    {
        // What a partial revoke took is given back, not granted beside it.
        let back = taken.common(wanted.privileges);
        *taken = taken.without(back);
        let held = wanted.level.of(account);
        *held = held.without(back);
    }
    if let Level::Table(database, table) = &wanted.level {
        for (column, privileges) in &wanted.columns {
            governor::pause();
            let held = &mut account.column_privileges;
            let known = held.iter_mut().find(|known| {
                known.database == *database && known.table == *table && catalog::same_name(&known.column, column)
            });
            match known {
                Some(known) => known.privileges = known.privileges.with(*privileges),
                None => held.push(ColumnPrivileges {
                    database: database.clone(),
                    table: table.clone(),
                    column: column.clone(),
                    privileges: *privileges,
                }),
            }
        }
    }
    forget_empty(account);
}

fn restrict(account: &mut AccountDef, database: &str, privileges: Privileges) {
    let list = &mut account.restrictions;
    match list.iter_mut().find(|(name, _)| name == database) {
        Some((_, taken)) => *taken = taken.with(privileges),
        None => list.push((database.to_owned(), privileges)),
    }
}

/// Revokes; false where nothing like it was granted.
fn take(account: &mut AccountDef, wanted: &Wanted, names: DatabaseNames) -> bool {
    let held = *wanted.level.of(account);
    let has_columns = wanted.level.columns_of(account).next().is_some();
    let mut found = !held.is_empty() || has_columns || wanted.level == Level::Global;
    *wanted.level.of(account) = held.without(wanted.privileges);
    account.dynamic_privileges = Some(account.dynamic().without(wanted.dynamic));
    if wanted.level == Level::Global && wanted.privileges.contains(Privileges::GRANT_OPTION) {
        account.dynamic_privileges = Some(account.dynamic().ungrantable());
    }
    if let Level::Database(database) = &wanted.level
        && names == DatabaseNames::Literal
    {
        let taken = wanted.privileges.common(account.privileges).without(held);
        if !taken.is_empty() {
            restrict(account, database, taken);
            found = true;
        }
    }
    if let Level::Table(database, table) = &wanted.level {
        for held in &mut account.column_privileges {
            if held.database != *database || held.table != *table {
                continue;
            }
            let named = wanted.column_names.first(&held.column);
            let named = named.map_or(Privileges::NONE, |at| wanted.columns[at].1);
            // A privilege revoked on the table is revoked on its columns.
            held.privileges = held.privileges.without(named).without(wanted.privileges);
        }
    }
    forget_empty(account);
    found
}

/// 1141, 1147
fn no_such_grant(name: &AccountName, level: &Level) -> SqlError {
    match level {
        Level::Table(_, table) => SqlError::new(ErrorKind::NonexistingTableGrant, &[&name.0, &name.1, table]),
        Level::Routine(_, _, routine) => SqlError::new(ErrorKind::NonexistingProcGrant, &[&name.0, &name.1, routine]),
        Level::Global | Level::Database(_) => SqlError::new(ErrorKind::NonexistingGrant, &[&name.0, &name.1]),
    }
}
