//! Roles: CREATE and DROP ROLE, GRANT and REVOKE of roles, SET ROLE, default and mandatory roles.
//!
//! A role is an account that nobody logs in to: locked, without a password. Every account can be granted to others, and what it was
//! granted itself comes with it. Which roles are active belongs to the session; their privileges are added up in [`super::rights`].

use std::collections::{HashMap, HashSet};

use catalog::{AccountDef, Catalog, DynamicPrivilege, GrantedRole, Privileges};
use parser::ast::{self, Account, SetRole};
use types::{ErrorKind, SqlError, SqlResult};

use super::rights::{AccountName, all_roles};
use super::{failed, grants, identifier, list_of};
use crate::host::Host;
use crate::session::Session;

impl Session {
    pub(super) fn create_role(&mut self, create: &ast::CreateRole, host: &dyn Host) -> SqlResult<()> {
        let names = self.account_names(&create.roles)?;
        if names.iter().any(|(user, _)| user.is_empty()) {
            return Err(failed("CREATE ROLE", &names));
        }
        let existing = self.change_accounts(host, |change| {
            let exists = |name: &&AccountName| change.before.account(&name.0, &name.1).is_some();
            let existing: Vec<AccountName> = names.iter().filter(exists).cloned().collect();
            if !existing.is_empty() && !create.if_not_exists {
                return Err(failed("CREATE ROLE", &existing));
            }
            for name in names.iter().filter(|name| !existing.contains(name)) {
                let mut role = AccountDef {
                    locked: true,
                    ..AccountDef::new(&name.0, &name.1)
                };
                role.policy.password.expired = true;
                change.edit.put_account(role);
            }
            Ok(existing)
        })?;
        self.note_accounts(ErrorKind::UserAlreadyExists, &existing);
        Ok(())
    }

    pub(super) fn drop_role(&mut self, drop: &ast::DropRole, host: &dyn Host) -> SqlResult<()> {
        let names = self.account_names(&drop.roles)?;
        // Accounts that can be logged in to are not for those who may only drop roles.
        let drops_all = self.access().has_any(Privileges::CREATE_USER, &[]);
        let catalog = self.engine.catalog();
        let is_open = |name: &AccountName| catalog.account(&name.0, &name.1).is_some_and(|account| !account.locked);
        if !drops_all && names.iter().any(is_open) {
            return Err(SqlError::new(ErrorKind::SpecificAccessDenied, &[&"CREATE USER"]));
        }
        self.drop_accounts("DROP ROLE", &names, drop.if_exists, host)
    }

    /// Drops accounts, and takes them from whoever has them as roles.
    pub(super) fn drop_accounts(
        &mut self,
        operation: &'static str,
        names: &[AccountName],
        if_exists: bool,
        host: &dyn Host,
    ) -> SqlResult<()> {
        self.check_not_mandatory(names)?;
        let missing = self.change_accounts(host, |change| {
            let is_missing = |name: &&AccountName| change.before.account(&name.0, &name.1).is_none();
            let (missing, known): (Vec<_>, Vec<_>) = names.iter().partition(is_missing);
            let missing: Vec<AccountName> = missing.into_iter().cloned().collect();
            if !missing.is_empty() && !if_exists {
                return Err(failed(operation, &missing));
            }
            for (user, host) in &known {
                governor::tick()?;
                change.edit.remove_account(user, host);
            }
            let dropped: HashSet<(&str, &str)> = names
                .iter()
                .map(|(user, host)| (user.as_str(), host.as_str()))
                .collect();
            let is_dropped = |user: &str, host: &str| dropped.contains(&(user, host));
            let has_dropped = |account: &&std::sync::Arc<AccountDef>| {
                account.roles.iter().any(|role| is_dropped(&role.user, &role.host))
                    || account.default_roles.iter().any(|(user, host)| is_dropped(user, host))
            };
            let holders: Vec<_> = change.edit.catalog().accounts().filter(has_dropped).cloned().collect();
            for holder in holders {
                let mut holder = AccountDef::clone(&holder);
                holder.roles.retain(|role| !is_dropped(&role.user, &role.host));
                holder.default_roles.retain(|(user, host)| !is_dropped(user, host));
                change.edit.put_account(holder);
            }
            Ok(missing)
        })?;
        for (user, host) in names {
            self.engine.account_uses().forget(user, host);
        }
        self.note_accounts(ErrorKind::UserDoesNotExist, &missing);
        Ok(())
    }

    /// 3628
    fn check_not_mandatory(&self, names: &[AccountName]) -> SqlResult<()> {
        let mandatory = self.mandatory_roles();
        match names.iter().find(|name| mandatory.contains(name)) {
            Some(name) => {
                let name = identifier(name);
                Err(SqlError::new(ErrorKind::MandatoryRole, &[&name]))
            }
            None => Ok(()),
        }
    }

    pub(super) fn grant_roles(
        &mut self,
        roles: &[Account],
        accounts: &[Account],
        admin: bool,
        host: &dyn Host,
    ) -> SqlResult<()> {
        let (roles, names) = (self.account_names(roles)?, self.account_names(accounts)?);
        self.check_may_pass_on(&roles)?;
        // Whoever gets a role with SYSTEM_USER, or has it already, is out of reach for others.
        self.check_may_change(&roles)?;
        self.check_may_change(&names)?;
        self.change_accounts(host, |change| {
            for (user, host) in roles.iter().chain(&names) {
                if change.before.account(user, host).is_none() {
                    return Err(SqlError::new(ErrorKind::UnknownAuthid, &[user, host]));
                }
            }
            for name in &names {
                let account = change
                    .edit
                    .catalog()
                    .account(&name.0, &name.1)
                    .expect("looked for above");
                let mut account = AccountDef::clone(account);
                let held = account.roles.iter().enumerate();
                let mut places: HashMap<AccountName, usize> = held
                    .map(|(at, role)| ((role.user.clone(), role.host.clone()), at))
                    .collect();
                for role in &roles {
                    governor::tick()?;
                    // What is granted to the account here leads from it, and so not to it.
                    let below = all_roles(change.edit.catalog(), std::slice::from_ref(role));
                    if below.contains(name) {
                        return Err(SqlError::new(
                            ErrorKind::RoleGrantedToItself,
                            &[&name.0, &name.1, &role.0, &role.1],
                        ));
                    }
                    match places.get(role) {
                        Some(at) => account.roles[*at].admin |= admin,
                        None => {
                            places.insert(role.clone(), account.roles.len());
                            account.roles.push(GrantedRole {
                                user: role.0.clone(),
                                host: role.1.clone(),
                                admin,
                            });
                        }
                    }
                }
                change.edit.put_account(account);
            }
            Ok(())
        })
    }

    pub(super) fn revoke_roles(&mut self, roles: &[Account], revoke: &ast::Revoke, host: &dyn Host) -> SqlResult<()> {
        let (roles, names) = (self.account_names(roles)?, self.account_names(&revoke.accounts)?);
        self.check_may_pass_on(&roles)?;
        self.check_may_change(&names)?;
        self.check_not_mandatory(&roles)?;
        let passed_over = self.change_accounts(host, |change| {
            let mut passed_over = Vec::new();
            let mut known = HashSet::new();
            for role in &roles {
                match change.before.account(&role.0, &role.1) {
                    Some(_) => {
                        known.insert((role.0.as_str(), role.1.as_str()));
                    }
                    None => {
                        let unknown = SqlError::new(ErrorKind::UnknownAuthid, &[&role.0, &role.1]);
                        grants::pass_over(unknown, revoke.if_exists, &mut passed_over)?;
                    }
                }
            }
            for (user, host) in &names {
                let Some(account) = change.edit.catalog().account(user, host) else {
                    let (unknown, ignored) = match revoke.ignore_unknown_user {
                        true => (SqlError::new(ErrorKind::UserDoesNotExist, &[user]), true),
                        false => (SqlError::new(ErrorKind::UnknownAuthid, &[user, host]), false),
                    };
                    grants::pass_over(unknown, ignored, &mut passed_over)?;
                    continue;
                };
                let mut account = AccountDef::clone(account);
                let revoked = |user: &str, host: &str| known.contains(&(user, host));
                account.roles.retain(|role| !revoked(&role.user, &role.host));
                account.default_roles.retain(|(user, host)| !revoked(user, host));
                change.edit.put_account(account);
            }
            Ok(passed_over)
        })?;
        passed_over.into_iter().for_each(|error| self.warnings.warn(error));
        Ok(())
    }

    /// 1227 where a role is not one's own to pass on.
    pub(super) fn check_may_pass_on(&mut self, roles: &[AccountName]) -> SqlResult<()> {
        if self
            .access()
            .has_any(Privileges::SUPER, &[DynamicPrivilege::ROLE_ADMIN])
        {
            return Ok(());
        }
        let catalog = self.engine.catalog();
        let mut holders = self.access().active_roles().to_vec();
        holders.extend(self.own_account());
        let holders = all_roles(&catalog, &holders);
        let holders = holders.iter().filter_map(|(user, host)| catalog.account(user, host));
        let granted = holders.flat_map(|holder| &holder.roles).filter(|role| role.admin);
        let administered: HashSet<(&str, &str)> =
            granted.map(|role| (role.user.as_str(), role.host.as_str())).collect();
        let administers = |role: &AccountName| administered.contains(&(role.0.as_str(), role.1.as_str()));
        match roles.iter().all(administers) {
            true => Ok(()),
            false => Err(SqlError::new(
                ErrorKind::SpecificAccessDenied,
                &[&"WITH ADMIN, ROLE_ADMIN, SUPER"],
            )),
        }
    }

    /// `SET ROLE`: which of the granted roles are active.
    pub(crate) fn set_role(&mut self, role: &SetRole) -> SqlResult<()> {
        let Some(own) = self.own_account() else { return Ok(()) };
        let catalog = self.engine.catalog();
        let granted = self.granted_roles(&catalog, &own);
        let active = match role {
            SetRole::None => Vec::new(),
            SetRole::All => granted,
            SetRole::Default => self.default_roles_of(&catalog, &own),
            SetRole::AllExcept(except) => {
                let except: HashSet<AccountName> = self.account_names(except)?.into_iter().collect();
                granted.into_iter().filter(|role| !except.contains(role)).collect()
            }
            SetRole::Roles(roles) => {
                let roles = self.account_names(roles)?;
                check_granted(&granted, &roles, &own)?;
                roles
            }
        };
        self.activate(active);
        Ok(())
    }

    fn activate(&mut self, mut roles: Vec<AccountName>) {
        roles.sort();
        roles.dedup();
        *self.state.current_role.borrow_mut() = match roles.is_empty() {
            true => "NONE".to_owned(),
            false => list_of(&roles),
        };
        self.active_roles = roles;
        self.access = None;
    }

    /// The roles that are active after a login.
    pub(crate) fn activate_login_roles(&mut self) {
        let Some(own) = self.own_account() else { return };
        let catalog = self.engine.catalog();
        let roles = match self.engine.globals().activates_all_roles() {
            true => self.granted_roles(&catalog, &own),
            false => {
                let mut roles = self.default_roles_of(&catalog, &own);
                roles.extend(self.mandatory_roles());
                roles.retain(|(user, host)| catalog.account(user, host).is_some());
                roles
            }
        };
        self.activate(roles);
    }

    fn default_roles_of(&self, catalog: &Catalog, name: &AccountName) -> Vec<AccountName> {
        let account = catalog.account(&name.0, &name.1);
        account.map_or_else(Vec::new, |account| account.default_roles.clone())
    }

    /// The roles that an account can make active: its own, and the mandatory ones that exist.
    pub(super) fn granted_roles(&self, catalog: &Catalog, name: &AccountName) -> Vec<AccountName> {
        let own = catalog.account(&name.0, &name.1);
        let own = own.into_iter().flat_map(|account| &account.roles);
        let mut roles: Vec<AccountName> = own.map(|role| (role.user.clone(), role.host.clone())).collect();
        let mandatory = self.mandatory_roles();
        roles.extend(
            mandatory
                .into_iter()
                .filter(|(user, host)| catalog.account(user, host).is_some()),
        );
        roles.sort();
        roles.dedup();
        roles
    }

    /// The active roles that are the account's still. One that was revoked, or is another one of the same name, gives nothing.
    pub(super) fn roles_in_effect(&self, catalog: &Catalog, name: &AccountName) -> Vec<AccountName> {
        if self.active_roles.is_empty() {
            return Vec::new();
        }
        let granted: HashSet<AccountName> = self.granted_roles(catalog, name).into_iter().collect();
        let active = self.active_roles.iter();
        active.filter(|role| granted.contains(role)).cloned().collect()
    }

    pub(super) fn mandatory_roles(&self) -> Vec<AccountName> {
        self.engine.mandatory_roles()
    }

    pub(super) fn set_default_role(&mut self, set: &ast::SetDefaultRole, host: &dyn Host) -> SqlResult<()> {
        let names = self.account_names(&set.accounts)?;
        self.put_default_roles(&names, &set.role, host)
    }

    /// `SET DEFAULT ROLE`, `ALTER USER … DEFAULT ROLE`.
    pub(super) fn put_default_roles(
        &mut self,
        names: &[AccountName],
        role: &SetRole,
        host: &dyn Host,
    ) -> SqlResult<()> {
        let catalog = self.engine.catalog();
        let mut chosen = Vec::with_capacity(names.len());
        for name in names {
            let granted = self.granted_roles(&catalog, name);
            let roles = match role {
                SetRole::None | SetRole::Default => Vec::new(),
                SetRole::All => granted,
                SetRole::AllExcept(except) => {
                    let except: HashSet<AccountName> = self.account_names(except)?.into_iter().collect();
                    granted.into_iter().filter(|role| !except.contains(role)).collect()
                }
                SetRole::Roles(roles) => {
                    let roles = self.account_names(roles)?;
                    check_granted(&granted, &roles, name)?;
                    roles
                }
            };
            chosen.push(roles);
        }
        self.change_accounts(host, |change| {
            for ((user, host), roles) in names.iter().zip(&chosen) {
                let unknown = || SqlError::new(ErrorKind::UnknownAuthid, &[user, host]);
                let account = change.edit.catalog().account(user, host).ok_or_else(unknown)?;
                change.edit.put_account(AccountDef {
                    default_roles: roles.clone(),
                    ..AccountDef::clone(account)
                });
            }
            Ok(())
        })
    }

    pub(super) fn account_names(&self, accounts: &[Account]) -> SqlResult<Vec<AccountName>> {
        accounts.iter().map(|account| self.account_name(account)).collect()
    }
}

/// 3530
pub(super) fn check_granted(granted: &[AccountName], roles: &[AccountName], to: &AccountName) -> SqlResult<()> {
    let granted: HashSet<&AccountName> = granted.iter().collect();
    match roles.iter().find(|role| !granted.contains(role)) {
        Some(role) => Err(SqlError::new(
            ErrorKind::RoleNotGranted,
            &[&role.0, &role.1, &to.0, &to.1],
        )),
        None => Ok(()),
    }
}

/// The value of `mandatory_roles`: names with or without quotes and hosts, separated by commas.
pub(crate) fn parse_roles(text: &str) -> Vec<AccountName> {
    let unquoted = |part: &str| {
        let part = part.trim();
        let quoted = ['\'', '"', '`']
            .iter()
            .find_map(|quote| part.strip_prefix(*quote)?.strip_suffix(*quote));
        quoted.unwrap_or(part).to_owned()
    };
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names
        .map(|name| match name.rsplit_once('@') {
            Some((user, host)) => (unquoted(user), unquoted(host)),
            None => (unquoted(name), "%".to_owned()),
        })
        .collect()
}
