//! A new password for an account: what it has to satisfy, and what is kept of the old ones.
//!
//! ```text
//!   current password named (3891..3893) ─▶ length ─▶ policy (1819) ─▶ history (3638) ─▶ hash ─▶ kept as the second (RETAIN)
//! ```
//!
//! All of it happens before the catalog is locked: hashes take milliseconds by design, and whoever has many of them to make
//! gives way after each.

use catalog::{AccountDef, AuthenticationPlugin, DynamicPrivilege, PastPassword};
use mysql_wire::auth;
use parser::ast::{AuthFactor, AuthSecret, UserAction};
use types::{ErrorKind, SqlError, SqlResult, SqlType, Value};

use super::access::Access;
use super::{AccountName, failed, password_policy};
use crate::engine::Engine;
use crate::result::{ResultColumn, ResultSink, ServerStatus};
use crate::session::{Answer, Session};

/// MySQL's limit, in bytes.
const PASSWORD_LEN_MAX: usize = 256;
const SECONDS_PER_DAY: i64 = 86_400;
/// Old passwords that are kept for an account, whatever its history asks for: each is compared, slowly, with a new one.
const HISTORY_MAX: usize = 100;

/// What an account's passwords become.
#[derive(Debug)]
pub(super) struct Credentials {
    plugin: AuthenticationPlugin,
    authentication: Vec<u8>,
    second: Vec<u8>,
    past: Vec<PastPassword>,
    changed_at: i64,
    /// What was stored when they were made; somebody else may change it meanwhile.
    replaced: Vec<u8>,
    /// The password that `RANDOM` made, to be told once.
    pub(super) generated: Option<String>,
}

/// Whose password is changed by whom, for what messages call the statement.
pub(super) struct Change<'a> {
    pub(super) name: &'a AccountName,
    pub(super) operation: &'static str,
    pub(super) by: ChangedBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangedBy {
    /// The account itself, without the right to change others.
    Itself,
    /// The account itself, which may change others, too.
    ItselfPrivileged,
    Another,
}

impl Credentials {
    /// Puts them into the account. False where its password has been changed since they were made.
    pub(super) fn put(&self, account: &mut AccountDef) -> bool {
        if account.authentication != self.replaced {
            return false;
        }
        account.plugin = self.plugin;
        account.authentication.clone_from(&self.authentication);
        let password = &mut account.policy.password;
        password.second.clone_from(&self.second);
        password.past.clone_from(&self.past);
        password.changed_at = self.changed_at;
        true
    }
}

impl Session {
    /// What `IDENTIFIED …` makes of an account, whose other clauses are applied already.
    pub(super) fn new_credentials(
        &mut self,
        account: &AccountDef,
        factor: &AuthFactor,
        change: &Change<'_>,
    ) -> SqlResult<Credentials> {
        if factor.initial.is_some() {
            return Err(SqlError::not_supported("multifactor authentication"));
        }
        let engine = self.engine.clone();
        self.check_current(account, factor, change, &engine)?;
        let plugin = match &factor.plugin {
            None => account.plugin,
            Some(plugin) => {
                let unknown = || SqlError::new(ErrorKind::PluginIsNotLoaded, &[&plugin.as_str()]);
                AuthenticationPlugin::by_name(plugin).ok_or_else(unknown)?
            }
        };
        let generated = match factor.secret {
            AuthSecret::RandomPassword => Some(random_password(&engine)),
            _ => None,
        };
        let mut past = account.policy.password.past.clone();
        let authentication = match (&factor.secret, &generated) {
            (AuthSecret::Hash(hash), _) => {
                check_form(plugin, hash)?;
                hash.to_vec()
            }
            (AuthSecret::Password(password), None) => {
                if password.len() > PASSWORD_LEN_MAX {
                    return Err(failed(change.operation, std::slice::from_ref(change.name)));
                }
                self.check_policy(password)?;
                check_history(&engine, account, password)?;
                hash(plugin, password, &engine)
            }
            (_, Some(password)) => hash(plugin, password.as_bytes(), &engine),
            (_, None) => {
                self.check_policy(b"")?;
                Vec::new()
            }
        };
        governor::pause();
        let now = engine.unix_seconds();
        if !authentication.is_empty() {
            past.insert(
                0,
                PastPassword {
                    authentication: authentication.clone(),
                    set_at: now,
                },
            );
        }
        let reuse = Reuse::of(account, &engine);
        let kept = past
            .iter()
            .enumerate()
            .filter(|(place, old)| reuse.forbids(*place, old, now));
        let past = kept.map(|(_, old)| old.clone()).take(HISTORY_MAX).collect();
        Ok(Credentials {
            second: second_password(account, plugin, &authentication, factor)?,
            plugin,
            authentication,
            past,
            changed_at: now,
            replaced: account.authentication.clone(),
            generated,
        })
    }

    /// `DISCARD OLD PASSWORD`; other actions belong to factors that are not there.
    pub(super) fn account_action(account: &mut AccountDef, action: &UserAction) -> SqlResult<()> {
        match action {
            UserAction::DiscardOldPassword => {
                account.policy.password.second.clear();
                Ok(())
            }
            _ => Err(SqlError::not_supported("multifactor authentication")),
        }
    }

    /// Whoever changes his own password may have to name the current one; nobody names another's.
    fn check_current(
        &mut self,
        account: &AccountDef,
        factor: &AuthFactor,
        change: &Change<'_>,
        engine: &Engine,
    ) -> SqlResult<()> {
        let retains = |access: &Access| access.rights().has(DynamicPrivilege::APPLICATION_PASSWORD_ADMIN);
        if factor.retain_current && change.by == ChangedBy::Itself && !retains(&self.access()) {
            return Err(SqlError::new(
                ErrorKind::SpecificAccessDenied,
                &[&"CREATE USER or APPLICATION_PASSWORD_ADMIN"],
            ));
        }
        let Some(current) = &factor.replace else {
            let policy = account.policy.password.require_current;
            let required = policy.unwrap_or_else(|| engine.is_on("password_require_current"));
            return match required && change.by == ChangedBy::Itself {
                true => Err(ErrorKind::MissingCurrentPassword.into()),
                false => Ok(()),
            };
        };
        if change.by == ChangedBy::Another {
            return Err(ErrorKind::CurrentPasswordNotRequired.into());
        }
        match current.len() <= PASSWORD_LEN_MAX && fits(&account.authentication, current) {
            true => Ok(()),
            false => Err(ErrorKind::IncorrectCurrentPassword.into()),
        }
    }

    /// 1819 where `validate_password` does not like the password.
    fn check_policy(&mut self, password: &[u8]) -> SqlResult<()> {
        let own = [self.options.user.as_str(), self.options.account.name().0];
        match password_policy::Policy::of(&self.engine) {
            Some(policy) if !policy.allows(password, &own) => Err(ErrorKind::NotValidPassword.into()),
            _ => Ok(()),
        }
    }

    /// The passwords that `RANDOM` made; OK where none was asked for.
    pub(super) fn tell_generated(
        generated: Vec<(AccountName, String)>,
        status: ServerStatus,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        if generated.is_empty() {
            return Ok(Answer::done());
        }
        let columns = ["user", "host", "generated password"];
        let rows = generated
            .into_iter()
            .map(|((user, host), password)| {
                vec![
                    Value::from(user),
                    Value::from(host),
                    Value::from(password),
                    Value::UInt(1),
                ]
            })
            .collect();
        let factor = ResultColumn::computed("auth_factor", SqlType::bigint_unsigned().not_null());
        let columns = columns
            .iter()
            .map(|name| crate::show::text_column(name))
            .chain([factor])
            .collect();
        crate::show::send(columns, rows, status, sink)
    }
}

/// Which old passwords may not come again: those within the last `history` ones or the last `days`.
struct Reuse {
    history: usize,
    days: i64,
}

impl Reuse {
    fn of(account: &AccountDef, engine: &Engine) -> Reuse {
        let policy = &account.policy.password;
        let or_global = |own: Option<u16>, name: &str| own.map_or_else(|| engine.global_number(name), u64::from);
        Reuse {
            history: usize::try_from(or_global(policy.history, "password_history")).unwrap_or(usize::MAX),
            days: or_global(policy.reuse_days, "password_reuse_interval").min(u64::from(u16::MAX)) as i64,
        }
    }

    fn forbids(&self, place: usize, old: &PastPassword, now: i64) -> bool {
        place < self.history || (self.days > 0 && now < old.set_at + self.days * SECONDS_PER_DAY)
    }
}

/// 3638 where the password was used before.
fn check_history(engine: &Engine, account: &AccountDef, password: &[u8]) -> SqlResult<()> {
    if password.is_empty() {
        return Ok(());
    }
    let reuse = Reuse::of(account, engine);
    let now = engine.unix_seconds();
    let past = account.policy.password.past.iter().enumerate();
    for (_, old) in past.filter(|(place, old)| reuse.forbids(*place, old, now)) {
        governor::tick()?;
        if fits(&old.authentication, password) {
            let arguments: [&dyn std::fmt::Display; 2] = [&account.user, &account.host];
            return Err(SqlError::new(ErrorKind::CredentialsContradictToHistory, &arguments));
        }
    }
    Ok(())
}

/// The password that still counts beside the new one.
fn second_password(
    account: &AccountDef,
    plugin: AuthenticationPlugin,
    authentication: &[u8],
    factor: &AuthFactor,
) -> SqlResult<Vec<u8>> {
    let refuse = |kind| Err(SqlError::new(kind, &[&account.user, &account.host]));
    match factor.retain_current {
        false if plugin != account.plugin || authentication.is_empty() => Ok(Vec::new()),
        false => Ok(account.policy.password.second.clone()),
        true if plugin != account.plugin => refuse(ErrorKind::PasswordCannotBeRetainedOnPluginChange),
        true if account.authentication.is_empty() => refuse(ErrorKind::SecondPasswordCannotBeEmpty),
        true if authentication.is_empty() => refuse(ErrorKind::CurrentPasswordCannotBeRetained),
        true => Ok(account.authentication.clone()),
    }
}

/// Whether a stored form, of whichever plugin, was made from the password.
fn fits(stored: &[u8], password: &[u8]) -> bool {
    match stored.first() {
        Some(b'*') => stored == auth::native::authentication_string(password).as_bytes(),
        _ => auth::sha2::verify_password(stored, password),
    }
}

fn check_form(plugin: AuthenticationPlugin, stored: &[u8]) -> SqlResult<()> {
    let fits = match plugin {
        AuthenticationPlugin::NativePassword => stored.is_empty() || auth::native::parse(stored).is_some(),
        AuthenticationPlugin::CachingSha2Password => auth::sha2::is_well_formed(stored),
    };
    match fits {
        true => Ok(()),
        false => Err(ErrorKind::PasswordFormat.into()),
    }
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

/// Printable characters, of every kind that a policy may ask for.
fn random_password(engine: &Engine) -> String {
    const KINDS: [&[u8]; 4] = [
        b"abcdefghijklmnopqrstuvwxyz",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        b"0123456789",
        b"!#$%&()*+,-./:;<=>?@[]^_{|}~",
    ];
    let all = KINDS.concat();
    let wanted = engine.global_number("generated_random_password_length") as usize;
    loop {
        let mut password = String::with_capacity(wanted);
        while password.len() < wanted {
            let mut bytes = [0; 64];
            engine.random_bytes(&mut bytes);
            // Those beyond the last whole multiple would make the first characters likelier.
            let fair = 256 / all.len() * all.len();
            let fair = bytes.into_iter().map(usize::from).filter(|byte| *byte < fair);
            password.extend(
                fair.map(|byte| char::from(all[byte % all.len()]))
                    .take(wanted - password.len()),
            );
        }
        if KINDS.iter().all(|kind| password.bytes().any(|c| kind.contains(&c))) {
            return password;
        }
    }
}
