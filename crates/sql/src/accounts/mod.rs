//! Accounts and privileges.
//!
//! * this file: CREATE, ALTER, DROP and RENAME USER, passwords;
//! * [`grants`]: GRANT, REVOKE and their SHOW;
//! * [`access`]: whether a statement may run.

pub mod access;
mod grants;

use catalog::{AccountDef, AuthenticationPlugin, CatalogEdit};
use mysql_wire::auth;
use parser::ast::{self, Account, AuthSecret, PasswordOption, Statement, TlsRequirement};
use types::{ErrorKind, SqlError, SqlResult, Value};

use crate::engine::Engine;
use crate::host::Host;
use crate::result::{ResultSink, ServerStatus};
use crate::session::{Answer, Session};

const MAX_USER_CHARS: usize = 32;
const MAX_HOST_CHARS: usize = 255;

/// User and host, as the catalog's keys have them.
type AccountName = (String, String);

impl Session {
    /// Statements about accounts; false for others.
    pub(crate) fn account_statement(&mut self, statement: &Statement, host: &dyn Host) -> SqlResult<bool> {
        match statement {
            Statement::CreateUser(create) => self.create_user(create, host)?,
            Statement::AlterUser(alter) => self.alter_user(alter, host)?,
            Statement::SetPassword(set) => self.set_password(set, host)?,
            Statement::DropUser(drop) => self.drop_user(drop, host)?,
            Statement::RenameUser(renames) => self.rename_user(renames, host)?,
            Statement::Grant(grant) => self.grant(grant, host)?,
            Statement::Revoke(revoke) => self.revoke(revoke, host)?,
            _ => return Ok(false),
        }
        Ok(true)
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

    fn create_user(&mut self, create: &ast::CreateUser, host: &dyn Host) -> SqlResult<()> {
        if !create.default_roles.is_empty() {
            return Err(SqlError::not_supported("DEFAULT ROLE"));
        }
        check_options(&create.options)?;
        let mut wanted = Vec::with_capacity(create.users.len());
        for spec in &create.users {
            let (user, host) = self.account_name(&spec.account)?;
            let mut account = AccountDef {
                locked: create.options.locked == Some(true),
                ..AccountDef::new(user, host)
            };
            authenticate(&mut account, spec, &self.engine)?;
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
        self.note_accounts(ErrorKind::UserAlreadyExists, &existing);
        Ok(())
    }

    fn alter_user(&mut self, alter: &ast::AlterUser, host: &dyn Host) -> SqlResult<()> {
        if alter.default_role.is_some() {
            return Err(SqlError::not_supported("DEFAULT ROLE"));
        }
        check_options(&alter.options)?;
        let mut names = Vec::with_capacity(alter.users.len());
        for spec in &alter.users {
            names.push(self.account_name(&spec.account)?);
        }
        let engine = self.engine.clone();
        let missing = self.change_schema(host, |change| {
            let mut missing = Vec::new();
            for (spec, name) in alter.users.iter().zip(&names) {
                let Some(account) = change.edit.catalog().account(&name.0, &name.1) else {
                    missing.push(name.clone());
                    continue;
                };
                let mut account = AccountDef::clone(account);
                authenticate(&mut account, spec, &engine)?;
                account.locked = alter.options.locked.unwrap_or(account.locked);
                change.edit.put_account(account);
            }
            if !missing.is_empty() && !alter.if_exists {
                return Err(failed("ALTER USER", &missing));
            }
            Ok(missing)
        })?;
        self.note_accounts(ErrorKind::UserDoesNotExist, &missing);
        Ok(())
    }

    fn set_password(&mut self, set: &ast::SetPassword, host: &dyn Host) -> SqlResult<()> {
        if set.replace.is_some() || set.retain_current || set.password.is_none() {
            return Err(SqlError::not_supported(
                "SET PASSWORD with REPLACE, RETAIN or TO RANDOM",
            ));
        }
        let name = self.account_name(set.account.as_ref().unwrap_or(&Account::CurrentUser))?;
        let engine = self.engine.clone();
        self.change_schema(host, |change| {
            let account = change
                .before
                .account(&name.0, &name.1)
                .ok_or(ErrorKind::PasswordNoMatch)?;
            let mut account = AccountDef::clone(account);
            let password = set.password.as_deref().unwrap_or_default();
            account.authentication = hash(account.plugin, password, &engine);
            change.edit.put_account(account);
            Ok(())
        })
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
            "CREATE USER {} IDENTIFIED WITH '{}'{secret} REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT {} \
             PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT",
            grants::identifier(&name),
            account.plugin.name(),
            if account.locked { "LOCK" } else { "UNLOCK" },
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

/// Sets how an account logs in, where the statement says so.
fn authenticate(account: &mut AccountDef, spec: &ast::UserSpec, engine: &Engine) -> SqlResult<()> {
    if spec.action.is_some() || spec.auth.len() > 1 {
        return Err(SqlError::not_supported("multifactor authentication"));
    }
    let Some(factor) = spec.auth.first() else { return Ok(()) };
    if factor.replace.is_some() || factor.retain_current || factor.initial.is_some() {
        return Err(SqlError::not_supported("REPLACE and RETAIN CURRENT PASSWORD"));
    }
    if let Some(plugin) = &factor.plugin {
        let unknown = || SqlError::new(ErrorKind::PluginIsNotLoaded, &[&plugin.as_str()]);
        account.plugin = AuthenticationPlugin::by_name(plugin).ok_or_else(unknown)?;
    }
    account.authentication = match &factor.secret {
        AuthSecret::None => Vec::new(),
        AuthSecret::Password(password) => hash(account.plugin, password, engine),
        AuthSecret::RandomPassword => return Err(SqlError::not_supported("BY RANDOM PASSWORD")),
        AuthSecret::Hash(hash) => {
            let fits = match account.plugin {
                AuthenticationPlugin::NativePassword => hash.is_empty() || auth::native::parse(hash).is_some(),
                AuthenticationPlugin::CachingSha2Password => auth::sha2::is_well_formed(hash),
            };
            if !fits {
                return Err(ErrorKind::PasswordFormat.into());
            }
            hash.to_vec()
        }
    };
    Ok(())
}

fn hash(plugin: AuthenticationPlugin, password: &[u8], engine: &Engine) -> Vec<u8> {
    match plugin {
        AuthenticationPlugin::NativePassword => auth::native::authentication_string(password),
        AuthenticationPlugin::CachingSha2Password => {
            let mut salt = [0; 20];
            engine.random_bytes(&mut salt);
            auth::sha2::authentication_string(password, salt)
        }
    }
    .into_bytes()
}

/// Refuses options that would promise what no login checks.
fn check_options(options: &ast::AccountOptions) -> SqlResult<()> {
    if options
        .require
        .as_ref()
        .is_some_and(|require| *require != TlsRequirement::None)
    {
        return Err(SqlError::not_supported("REQUIRE"));
    }
    if options.limits.iter().any(|(_, limit)| *limit != 0) {
        return Err(SqlError::not_supported("resource limits of accounts"));
    }
    let is_default = |option: &PasswordOption| {
        use PasswordOption as P;
        matches!(
            option,
            P::ExpireDefault
                | P::ExpireNever
                | P::History(None)
                | P::ReuseInterval(None)
                | P::RequireCurrentDefault
                | P::RequireCurrentOptional
                | P::FailedLoginAttempts(0)
        )
    };
    if !options.password_options.iter().all(is_default) {
        return Err(SqlError::not_supported("password policies of accounts"));
    }
    if options.comment.is_some() || options.attribute.is_some() {
        return Err(SqlError::not_supported("COMMENT and ATTRIBUTE of accounts"));
    }
    Ok(())
}

/// 1396
fn failed(operation: &str, names: &[AccountName]) -> SqlError {
    let names: Vec<String> = names.iter().map(quoted).collect();
    SqlError::new(ErrorKind::CannotUser, &[&operation, &names.join(",")])
}

fn quoted(name: &AccountName) -> String {
    format!("'{}'@'{}'", name.0, name.1)
}
