//! Accounts and privileges.
//!
//! * this file: CREATE, ALTER, DROP and RENAME USER;
//! * [`passwords`]: what a new password has to satisfy, with [`password_policy`]; [`options`]: the other clauses;
//! * [`grants`]: GRANT, REVOKE and their SHOW;
//! * [`access`]: whether a statement may run;
//! * [`logins`]: whether an account lets somebody in, and his limits.

pub mod access;
mod grants;
pub mod logins;
mod options;
pub mod password_policy;
mod passwords;

use catalog::{AccountDef, CatalogEdit};
use parser::ast::{self, Account, AuthFactor, AuthSecret, Statement, UserAction};
use types::{ErrorKind, SqlError, SqlResult, Value};

use crate::host::Host;
use crate::result::{ResultSink, ServerStatus};
use crate::session::{Answer, Session};

use self::passwords::{Change, ChangedBy};

const MAX_USER_CHARS: usize = 32;
const MAX_HOST_CHARS: usize = 255;

/// User and host, as the catalog's keys have them.
type AccountName = (String, String);
/// An account, and the password that was made for it.
type Generated = (AccountName, String);

impl Session {
    /// Statements about accounts; `None` for others.
    pub(crate) fn account_statement(
        &mut self,
        statement: &Statement,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Option<Answer>> {
        let generated = match statement {
            Statement::CreateUser(create) => self.create_user(create, host)?,
            Statement::AlterUser(alter) => self.alter_user(alter, host)?,
            Statement::SetPassword(set) => self.set_password(set, host)?,
            Statement::DropUser(drop) => self.drop_user(drop, host).map(|()| Vec::new())?,
            Statement::RenameUser(renames) => self.rename_user(renames, host).map(|()| Vec::new())?,
            Statement::Grant(grant) => self.grant(grant, host).map(|()| Vec::new())?,
            Statement::Revoke(revoke) => self.revoke(revoke, host).map(|()| Vec::new())?,
            _ => return Ok(None),
        };
        Session::tell_generated(generated, status, sink).map(Some)
    }

    /// User and host of an account as written; no host stands for every host.
    pub(crate) fn account_name(&self, account: &Account) -> SqlResult<AccountName> {
        let Account::Named { user, host } = account else {
            return Ok((self.options.account_user.clone(), self.options.account_host.clone()));
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
        if !create.default_roles.is_empty() {
            return Err(SqlError::not_supported("DEFAULT ROLE"));
        }
        let mut wanted = Vec::with_capacity(create.users.len());
        let mut generated = Vec::new();
        for spec in &create.users {
            let name = self.account_name(&spec.account)?;
            let mut account = AccountDef {
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
        let if_not_exists = create.if_not_exists;
        let existing = self.change_schema(host, |change| {
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
        if alter.default_role.is_some() {
            return Err(SqlError::not_supported("DEFAULT ROLE"));
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
        let missing = self.change_schema(host, |change| {
            let mut missing = Vec::new();
            for ((spec, name), credentials) in alter.users.iter().zip(&names).zip(&prepared) {
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
        self.change_schema(host, |change| {
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
        let is_own = self.options.account_user == name.0 && self.options.account_host == name.1;
        match is_own {
            false => ChangedBy::Another,
            true if self.require_global("CREATE USER").is_ok() => ChangedBy::ItselfPrivileged,
            true => ChangedBy::Itself,
        }
    }

    /// Failures of the past are forgiven, and a session that had to change its password may go on.
    fn password_changed(&mut self, name: &AccountName, has_new_one: bool) {
        self.engine.account_uses().forget(&name.0, &name.1);
        let is_own = self.options.account_user == name.0 && self.options.account_host == name.1;
        if is_own && has_new_one {
            let catalog = self.engine.catalog();
            let account = catalog.account(&name.0, &name.1);
            self.options.password_expired = account.is_some_and(|account| self.engine.password_expired(account));
        }
    }

    /// Whether ALTER USER changes the session's own password and nothing else: everybody may do that.
    pub(crate) fn is_own_password_change(&self, alter: &ast::AlterUser) -> bool {
        let is_own = |spec: &ast::UserSpec| {
            let name = self.account_name(&spec.account);
            name.is_ok_and(|name| self.options.account_user == name.0 && self.options.account_host == name.1)
                && spec.action.is_none()
                && spec.auth.iter().all(|factor| factor.plugin.is_none())
                && !spec.auth.is_empty()
        };
        alter.options == ast::AccountOptions::default()
            && alter.default_role.is_none()
            && alter.users.iter().all(is_own)
    }

    fn drop_user(&mut self, drop: &ast::DropUser, host: &dyn Host) -> SqlResult<()> {
        let names: SqlResult<Vec<_>> = drop.accounts.iter().map(|account| self.account_name(account)).collect();
        let names = names?;
        let missing = self.change_schema(host, |change| {
            let is_missing = |name: &&AccountName| change.before.account(&name.0, &name.1).is_none();
            let missing: Vec<AccountName> = names.iter().filter(is_missing).cloned().collect();
            if !missing.is_empty() && !drop.if_exists {
                return Err(failed("DROP USER", &missing));
            }
            for (user, host) in names.iter().filter(|name| !missing.contains(name)) {
                change.edit.remove_account(user, host);
            }
            Ok(missing)
        })?;
        for (user, host) in &names {
            self.engine.account_uses().forget(user, host);
        }
        self.note_accounts(ErrorKind::UserDoesNotExist, &missing);
        Ok(())
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
        self.change_schema(host, |change| {
            for (from, to) in &names {
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
        let text = format!(
            "CREATE USER {} IDENTIFIED WITH '{}'{secret} {}",
            grants::identifier(&name),
            account.plugin.name(),
            options::print(&account.policy, account.locked),
        );
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

/// 1396
fn failed(operation: &str, names: &[AccountName]) -> SqlError {
    let names: Vec<String> = names.iter().map(quoted).collect();
    SqlError::new(ErrorKind::CannotUser, &[&operation, &names.join(",")])
}

fn quoted(name: &AccountName) -> String {
    format!("'{}'@'{}'", name.0, name.1)
}
