//! Accounts and privileges.
//!
//! * this file: CREATE, ALTER, DROP and RENAME USER;
//! * [`passwords`]: what a new password has to satisfy, with [`password_policy`]; [`options`]: the other clauses;
//! * [`grants`]: GRANT and REVOKE of privileges;
//! * [`roles`]: roles, granted and active;
//! * [`show`]: SHOW GRANTS;
//! * [`rights`]: what an account and its active roles may do;
//! * [`access`]: what a session may do, and the errors for what it may not;
//! * [`checks`]: whether it has what a statement needs;
//! * [`logins`]: whether an account lets somebody in, and his limits.

pub mod access;
mod checks;
pub(crate) mod grants;
pub mod logins;
mod options;
pub mod password_policy;
mod passwords;
pub mod rights;
pub(crate) mod roles;
pub mod show;

use std::collections::HashSet;

use catalog::{AccountDef, CatalogEdit, Privileges};
use parser::ast::{self, Account, AuthFactor, AuthSecret, Statement, UserAction};
use types::{ErrorKind, SqlError, SqlResult, Value};

use crate::host::Host;
use crate::plan::text;
use crate::result::{ResultSink, ServerStatus};
use crate::session::{Answer, Session, SessionAccount};
use crate::statement_class::needs::changes_only_passwords;

use self::passwords::{Change, ChangedBy};
use self::rights::AccountName;

const MAX_USER_CHARS: usize = 32;
const MAX_HOST_CHARS: usize = 255;

/// An account, and the password that was made for it.
type Generated = (AccountName, String);

impl Session {
    /// Statements about accounts.
    pub(crate) fn account_statement(
        &mut self,
        statement: &Statement,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let none = |()| Vec::new();
        let generated = match statement {
            Statement::CreateUser(create) => self.create_user(create, host)?,
            Statement::AlterUser(alter) => self.alter_user(alter, host)?,
            Statement::SetPassword(set) => self.set_password(set, host)?,
            Statement::DropUser(drop) => self.drop_user(drop, host).map(none)?,
            Statement::RenameUser(renames) => self.rename_user(renames, host).map(none)?,
            Statement::Grant(grant) => self.grant(grant, host).map(none)?,
            Statement::Revoke(revoke) => self.revoke(revoke, host).map(none)?,
            Statement::CreateRole(create) => self.create_role(create, host).map(none)?,
            Statement::DropRole(drop) => self.drop_role(drop, host).map(none)?,
            Statement::SetDefaultRole(set) => self.set_default_role(set, host).map(none)?,
            other => return Err(crate::session::of_another_runner(other)),
        };
        Session::tell_generated(generated, status, sink)
    }

    /// The account that the session logged in to.
    pub(crate) fn own_account(&self) -> Option<AccountName> {
        match &self.options.account {
            SessionAccount::Server => None,
            SessionAccount::Account { user, host } => Some((user.clone(), host.clone())),
        }
    }

    /// User and host of an account as written; no host stands for every host.
    pub(crate) fn account_name(&self, account: &Account) -> SqlResult<AccountName> {
        let Account::Named { user, host } = account else {
            let (user, host) = self.options.account.name();
            return Ok((user.to_owned(), host.to_owned()));
        };
        let host = host.as_deref().unwrap_or("%");
        for (text, limit, what) in [
            (&**user, MAX_USER_CHARS, "user name"),
            (host, MAX_HOST_CHARS, "host name"),
        ] {
            if text.chars().count() > limit {
                return Err(SqlError::new(ErrorKind::WrongStringLength, &[&text, &what, &limit]));
            }
        }
        Ok((user.to_string(), host.to_owned()))
    }

    fn create_user(&mut self, create: &ast::CreateUser, host: &dyn Host) -> SqlResult<Vec<Generated>> {
        let roles = self.account_names(&create.default_roles)?;
        let mut wanted = Vec::with_capacity(create.users.len());
        let mut generated = Vec::new();
        for spec in &create.users {
            let name = self.account_name(&spec.account)?;
            let mut account = AccountDef {
                roles: roles.iter().map(granted).collect(),
                default_roles: roles.clone(),
                locked: create.options.locked == Some(true),
                ..AccountDef::new(&*name.0, &*name.1)
            };
            options::apply(&mut account.policy, &create.options)?;
            let factor = first_factor(spec)?.cloned().unwrap_or_else(no_password);
            if factor.retain_current || factor.replace.is_some() {
                return Err(SqlError::not_supported(
                    "REPLACE and RETAIN CURRENT PASSWORD in CREATE USER",
                ));
            }
            let change = Change {
                name: &name,
                operation: "CREATE USER",
                by: ChangedBy::Another,
            };
            let credentials = self.new_credentials(&account, &factor, &change)?;
            generated.extend(credentials.generated.clone().map(|password| (name.clone(), password)));
            credentials.put(&mut account);
            wanted.push(account);
        }
        if !roles.is_empty() {
            self.check_may_pass_on(&roles)?;
        }
        let if_not_exists = create.if_not_exists;
        let existing = self.change_accounts(host, |change| {
            if let Some(role) = roles
                .iter()
                .find(|role| change.before.account(&role.0, &role.1).is_none())
            {
                return Err(SqlError::new(ErrorKind::UserDoesNotExist, &[&identifier(role)]));
            }
            let exists = |account: &AccountDef| change.before.account(&account.user, &account.host).is_some();
            let (existing, new): (Vec<_>, Vec<_>) = wanted.into_iter().partition(exists);
            let existing: Vec<AccountName> = existing
                .into_iter()
                .map(|account| (account.user, account.host))
                .collect();
            if !existing.is_empty() && !if_not_exists {
                return Err(failed("CREATE USER", &existing));
            }
            new.into_iter().for_each(|account| change.edit.put_account(account));
            Ok(existing)
        })?;
        generated.retain(|(name, _)| !existing.contains(name));
        self.note_accounts(ErrorKind::UserAlreadyExists, &existing);
        Ok(generated)
    }

    fn alter_user(&mut self, alter: &ast::AlterUser, host: &dyn Host) -> SqlResult<Vec<Generated>> {
        // Stands alone in the grammar.
        if let Some(role) = &alter.default_role {
            let names: SqlResult<Vec<_>> = alter
                .users
                .iter()
                .map(|spec| self.account_name(&spec.account))
                .collect();
            return self.put_default_roles(&names?, role, host).map(|()| Vec::new());
        }
        let mut names = Vec::with_capacity(alter.users.len());
        let mut prepared = Vec::with_capacity(alter.users.len());
        let mut generated = Vec::new();
        let catalog = self.engine.catalog();
        for spec in &alter.users {
            let name = self.account_name(&spec.account)?;
            let factor = first_factor(spec)?;
            let mut credentials = None;
            if let (Some(account), Some(factor)) = (catalog.account(&name.0, &name.1), factor) {
                let mut account = AccountDef::clone(account);
                options::apply(&mut account.policy, &alter.options)?;
                let change = Change {
                    name: &name,
                    operation: "ALTER USER",
                    by: self.changed_by(&name),
                };
                credentials = Some(self.new_credentials(&account, factor, &change)?);
            }
            let password = credentials
                .as_ref()
                .and_then(|credentials| credentials.generated.clone());
            generated.extend(password.map(|password| (name.clone(), password)));
            names.push(name);
            prepared.push(credentials);
        }
        let missing = self.change_accounts(host, |change| {
            let mut missing = Vec::new();
            for ((spec, name), credentials) in alter.users.iter().zip(&names).zip(&prepared) {
                governor::tick()?;
                let Some(account) = change.edit.catalog().account(&name.0, &name.1) else {
                    missing.push(name.clone());
                    continue;
                };
                let mut account = AccountDef::clone(account);
                if let Some(credentials) = credentials {
                    account.policy.password.expired = false;
                    if !credentials.put(&mut account) {
                        return Err(failed("ALTER USER", std::slice::from_ref(name)));
                    }
                }
                if let Some(action) = &spec.action {
                    Session::account_action(&mut account, action)?;
                }
                options::apply(&mut account.policy, &alter.options)?;
                account.locked = alter.options.locked.unwrap_or(account.locked);
                change.edit.put_account(account);
            }
            if !missing.is_empty() && !alter.if_exists {
                return Err(failed("ALTER USER", &missing));
            }
            Ok(missing)
        })?;
        for (name, credentials) in names.iter().zip(&prepared) {
            self.password_changed(name, credentials.is_some());
        }
        self.note_accounts(ErrorKind::UserDoesNotExist, &missing);
        Ok(generated)
    }

    fn set_password(&mut self, set: &ast::SetPassword, host: &dyn Host) -> SqlResult<Vec<Generated>> {
        let name = self.account_name(set.account.as_ref().unwrap_or(&Account::CurrentUser))?;
        let catalog = self.engine.catalog();
        let account = catalog.account(&name.0, &name.1).ok_or(ErrorKind::PasswordNoMatch)?;
        let factor = AuthFactor {
            plugin: None,
            secret: match &set.password {
                Some(password) => AuthSecret::Password(password.clone()),
                None => AuthSecret::RandomPassword,
            },
            replace: set.replace.clone(),
            retain_current: set.retain_current,
            initial: None,
        };
        let change = Change {
            name: &name,
            operation: "SET PASSWORD",
            by: self.changed_by(&name),
        };
        let credentials = self.new_credentials(account, &factor, &change)?;
        self.change_accounts(host, |change| {
            let account = change.before.account(&name.0, &name.1);
            let mut account = AccountDef::clone(account.ok_or(ErrorKind::PasswordNoMatch)?);
            account.policy.password.expired = false;
            if !credentials.put(&mut account) {
                return Err(failed("SET PASSWORD", std::slice::from_ref(&name)));
            }
            change.edit.put_account(account);
            Ok(())
        })?;
        self.password_changed(&name, true);
        Ok(credentials
            .generated
            .map(|password| (name, password))
            .into_iter()
            .collect())
    }

    /// Who changes the password of `name` in this session.
    fn changed_by(&mut self, name: &AccountName) -> ChangedBy {
        match self.own_account().as_ref() == Some(name) {
            false => ChangedBy::Another,
            true if self.access().has_any(Privileges::CREATE_USER, &[]) => ChangedBy::ItselfPrivileged,
            true => ChangedBy::Itself,
        }
    }

    /// Failures of the past are forgiven, and a session that had to change its password may go on.
    fn password_changed(&mut self, name: &AccountName, has_new_one: bool) {
        self.engine.account_uses().forget(&name.0, &name.1);
        if has_new_one && self.own_account().as_ref() == Some(name) {
            let catalog = self.engine.catalog();
            let account = catalog.account(&name.0, &name.1);
            self.options.password_expired = account.is_some_and(|account| self.engine.password_expired(account));
        }
    }

    /// Whether ALTER USER changes the session's own password and nothing else: everybody may do that.
    pub(crate) fn is_own_password_change(&self, alter: &ast::AlterUser) -> bool {
        changes_only_passwords(alter) && alter.users.iter().all(|spec| self.is_own(&spec.account))
    }

    fn drop_user(&mut self, drop: &ast::DropUser, host: &dyn Host) -> SqlResult<()> {
        let names = self.account_names(&drop.accounts)?;
        self.drop_accounts("DROP USER", &names, drop.if_exists, host)
    }

    /// What IF EXISTS and IF NOT EXISTS passed over.
    fn note_accounts(&mut self, kind: ErrorKind, names: &[AccountName]) {
        for name in names {
            self.warnings.note(SqlError::new(kind, &[&quoted(name)]));
        }
    }

    fn rename_user(&mut self, renames: &[(Account, Account)], host: &dyn Host) -> SqlResult<()> {
        let mut names = Vec::with_capacity(renames.len());
        for (from, to) in renames {
            names.push((self.account_name(from)?, self.account_name(to)?));
        }
        let mandatory = self.mandatory_roles();
        self.change_accounts(host, |change| {
            let granted = change.before.accounts().flat_map(|account| &account.roles);
            let roles: HashSet<(&str, &str)> = granted.map(|role| (role.user.as_str(), role.host.as_str())).collect();
            for (from, to) in &names {
                governor::tick()?;
                if roles.contains(&(from.0.as_str(), from.1.as_str())) || mandatory.contains(from) {
                    return Err(ErrorKind::RenameRole.into());
                }
                rename(&mut change.edit, from, to)?;
            }
            Ok(())
        })
    }

    pub(crate) fn show_create_user(
        &mut self,
        account: &Account,
        status: ServerStatus,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let name = self.account_name(account)?;
        let catalog = self.engine.catalog();
        let account = catalog
            .account(&name.0, &name.1)
            .ok_or_else(|| failed("SHOW CREATE USER", std::slice::from_ref(&name)))?;
        let secret = match account.authentication.is_empty() {
            true => String::new(),
            false => format!(
                " AS '{}'",
                String::from_utf8_lossy(&account.authentication).replace('\'', "''")
            ),
        };
        let roles = match account.default_roles.is_empty() {
            true => String::new(),
            false => format!(" DEFAULT ROLE {}", list_of(&account.default_roles)),
        };
        let text = show::create_user(account, &secret, &roles);
        let column = crate::show::text_column(&format!("CREATE USER for {}@{}", name.0, name.1));
        crate::show::send(vec![column], vec![vec![Value::from(text)]], status, sink)
    }
}

fn rename(edit: &mut CatalogEdit, from: &AccountName, to: &AccountName) -> SqlResult<()> {
    let cannot = || failed("RENAME USER", std::slice::from_ref(from));
    if edit.catalog().account(&to.0, &to.1).is_some() {
        return Err(cannot());
    }
    let account = edit.remove_account(&from.0, &from.1).ok_or_else(cannot)?;
    edit.put_account(AccountDef {
        user: to.0.clone(),
        host: to.1.clone(),
        ..AccountDef::clone(&account)
    });
    Ok(())
}

/// The one factor that there is, if the statement says something about it.
fn first_factor(spec: &ast::UserSpec) -> SqlResult<Option<&AuthFactor>> {
    match spec.auth.as_slice() {
        [] => Ok(None),
        [factor] if matches!(spec.action, None | Some(UserAction::DiscardOldPassword)) => Ok(Some(factor)),
        _ => Err(SqlError::not_supported("multifactor authentication")),
    }
}

/// CREATE USER without `IDENTIFIED`.
fn no_password() -> AuthFactor {
    AuthFactor {
        plugin: None,
        secret: AuthSecret::None,
        replace: None,
        retain_current: false,
        initial: None,
    }
}

fn granted(role: &AccountName) -> catalog::GrantedRole {
    catalog::GrantedRole {
        user: role.0.clone(),
        host: role.1.clone(),
        admin: false,
    }
}

/// `` `user`@`host` ``
fn identifier(name: &AccountName) -> String {
    format!("{}@{}", text::name(&name.0), text::name(&name.1))
}

/// Names separated by commas.
fn list_of(names: &[AccountName]) -> String {
    names.iter().map(identifier).collect::<Vec<_>>().join(",")
}

/// 1396
fn failed(operation: &str, names: &[AccountName]) -> SqlError {
    let names: Vec<String> = names.iter().map(quoted).collect();
    SqlError::new(ErrorKind::CannotUser, &[&operation, &names.join(",")])
}

fn quoted(name: &AccountName) -> String {
    format!("'{}'@'{}'", name.0, name.1)
}
