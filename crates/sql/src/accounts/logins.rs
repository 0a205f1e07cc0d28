//! Whether an account lets in who has proved its password, and how much he may then do.
//!
//! ```text
//!   password proved ─▶ locked by failures (3955) ─▶ ACCOUNT LOCK (3118) ─▶ REQUIRE (1045) ─▶ expired (1862)
//!                   ─▶ connections per hour (1226)
//! ```
//!
//! Failures and hours are counted in memory, as in MySQL: a restart forgets them.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

use catalog::{AccountDef, DynamicPrivilege, LockTime, Privileges, ResourceLimits, TlsRequirement};
use parking_lot::Mutex;
use parser::ast::{FlushTarget, Statement};
use sql_api::login::{Client, Standing};
use types::{ErrorKind, SqlError, SqlResult};

use super::rights::Rights;
use crate::engine::Engine;
use crate::session::{Session, SessionAccount};
use crate::statement_class::class_of;
use crate::variables;

const SECONDS_PER_DAY: i64 = 86_400;
const SECONDS_PER_HOUR: i64 = 3_600;

/// What accounts have done since they were last asked about, by user and host. Only accounts with a limit are in here.
#[derive(Debug, Default)]
pub struct AccountUses {
    uses: Mutex<HashMap<(String, String), Arc<AccountUse>>>,
}

/// One account's counters.
#[derive(Debug, Default)]
pub struct AccountUse {
    counters: Mutex<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    limits: ResourceLimits,
    /// Seconds since 1970.
    hour_began: i64,
    queries: u32,
    updates: u32,
    connections: u32,
    /// Wrong passwords in a row.
    failures: u32,
    locked_at: Option<i64>,
}

impl AccountUses {
    fn of(&self, account: &AccountDef) -> Arc<AccountUse> {
        let key = (account.user.clone(), account.host.clone());
        self.uses.lock().entry(key).or_default().clone()
    }

    /// `FLUSH USER_RESOURCES`: every hour begins anew.
    pub fn forget_hours(&self) {
        for account_use in self.uses.lock().values() {
            account_use.counters.lock().hour_began = 0;
        }
    }

    /// `FLUSH PRIVILEGES`: locks by failures end, too.
    pub fn forget_everything(&self) {
        for account_use in self.uses.lock().values() {
            account_use.counters.lock().unlock();
        }
        self.forget_hours();
    }

    /// The account is changed, renamed or dropped: its failures are forgiven, and its hour begins anew.
    pub fn forget(&self, user: &str, host: &str) {
        if let Some(account_use) = self.uses.lock().get(&(user.to_owned(), host.to_owned())) {
            let mut counters = account_use.counters.lock();
            counters.unlock();
            counters.hour_began = 0;
        }
    }
}

impl Counters {
    fn unlock(&mut self) {
        (self.failures, self.locked_at) = (0, None);
    }

    /// Days that the lock still holds; none where the account is not locked.
    fn days_locked(&mut self, lock_time: LockTime, now: i64) -> Option<LockTime> {
        let locked_at = self.locked_at?;
        let LockTime::Days(days) = lock_time else {
            return Some(LockTime::Unbounded);
        };
        let left = locked_at + i64::from(days) * SECONDS_PER_DAY - now;
        if left <= 0 {
            self.unlock();
            return None;
        }
        Some(LockTime::Days((left as u64).div_ceil(SECONDS_PER_DAY as u64) as u16))
    }

    fn begin_hour(&mut self, now: i64) {
        if now.saturating_sub(self.hour_began) >= SECONDS_PER_HOUR {
            self.hour_began = now;
            (self.queries, self.updates, self.connections) = (0, 0, 0);
        }
    }
}

impl Engine {
    /// A wrong password; 3955 once there were too many in a row.
    pub fn login_failed(&self, user: &str, host: &str, client: &Client) -> SqlResult<()> {
        let catalog = self.catalog();
        let Some(account) = catalog
            .account(user, host)
            .filter(|account| account.policy.password.locks())
        else {
            return Ok(());
        };
        let now = self.unix_seconds();
        let account_use = self.account_uses().of(account);
        let mut counters = account_use.counters.lock();
        if counters.days_locked(account.policy.password.lock_time, now).is_none() {
            counters.failures += 1;
            if counters.failures >= u32::from(account.policy.password.failed_login_attempts) {
                counters.locked_at = Some(now);
            }
        }
        check_lock(&mut counters, account, client, now)
    }

    /// Whether the account lets in who has proved its password.
    pub fn login_proved(&self, user: &str, host: &str, client: &Client) -> SqlResult<Standing> {
        let catalog = self.catalog();
        // Dropped in between.
        let account = catalog.account(user, host).ok_or_else(|| denied(client))?;
        let policy = &account.policy;
        let now = self.unix_seconds();
        if policy.password.locks() {
            let account_use = self.account_uses().of(account);
            let mut counters = account_use.counters.lock();
            check_lock(&mut counters, account, client, now)?;
            counters.unlock();
        }
        if account.locked {
            return Err(SqlError::new(
                ErrorKind::AccountHasBeenLocked,
                &[&client.user, &client.host],
            ));
        }
        if !satisfies(&policy.tls, client) {
            return Err(denied(client));
        }
        let password_expired = self.password_expired(account);
        if password_expired && !client.handles_expired_password && self.is_on("disconnect_on_expired_password") {
            return Err(ErrorKind::MustChangePasswordLogin.into());
        }
        if !policy.limits.is_unlimited() {
            let account_use = self.account_uses().of(account);
            let mut counters = account_use.counters.lock();
            counters.limits = policy.limits;
            counters.begin_hour(now);
            let limit = policy.limits.connections_per_hour;
            take(
                &mut counters.connections,
                limit,
                &account.user,
                "max_connections_per_hour",
            )?;
        }
        let rights = self.rights_after_login(account);
        Ok(Standing {
            is_administrator: administers_connections(&rights),
            user_connections_max: policy.limits.user_connections,
            password_expired,
        })
    }

    /// Whether the account may end and hold up the connections of others (SUPER, CONNECTION_ADMIN).
    pub fn may_administer_connections(&self, user: &str, host: &str) -> bool {
        let catalog = self.catalog();
        let account = catalog.account(user, host);
        account.is_some_and(|account| administers_connections(&self.rights_after_login(account)))
    }

    /// Whether the account may see what the server does (PROCESS).
    pub fn may_see_server(&self, user: &str, host: &str) -> bool {
        let catalog = self.catalog();
        let account = catalog.account(user, host);
        account.is_some_and(|account| self.rights_after_login(account).global().contains(Privileges::PROCESS))
    }

    /// What the account may do with a table, with its default roles.
    pub fn privileges_on_table(&self, user: &str, host: &str, database: &str, table: &str) -> Privileges {
        let catalog = self.catalog();
        let account = catalog.account(user, host);
        account.map_or(Privileges::NONE, |account| {
            self.rights_after_login(account).on_table(database, table)
        })
    }

    /// Whether the account may have all rows (BACKUP_ADMIN).
    pub fn may_back_up(&self, user: &str, host: &str) -> bool {
        let catalog = self.catalog();
        let account = catalog.account(user, host);
        account.is_some_and(|account| {
            self.rights_after_login(account)
                .dynamic()
                .has(DynamicPrivilege::BACKUP_ADMIN)
        })
    }

    /// With the account's default roles.
    fn rights_after_login(&self, account: &AccountDef) -> Rights {
        Rights::of(&self.catalog(), account, &account.default_roles, self.database_names())
    }

    /// Whether the password has to be changed: it was said so, or it is too old.
    pub(crate) fn password_expired(&self, account: &AccountDef) -> bool {
        let password = &account.policy.password;
        let lifetime = match password.lifetime_days {
            Some(days) => i64::from(days),
            None => self.global_number("default_password_lifetime") as i64,
        };
        let too_old = lifetime > 0
            && password.changed_at > 0
            && self.unix_seconds() >= password.changed_at + lifetime * SECONDS_PER_DAY;
        password.expired || too_old
    }

    pub(crate) fn unix_seconds(&self) -> i64 {
        self.clock_micros() / 1_000_000
    }

    /// Whether a global switch is on.
    pub fn is_on(&self, variable: &str) -> bool {
        variables::find(variable).is_ok_and(|id| &*self.globals().get(id) == "ON")
    }

    /// A global number.
    pub fn global_number(&self, variable: &str) -> u64 {
        let value = variables::find(variable).map(|id| self.globals().get(id));
        value.ok().and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// The counters of a session's account, if a limit counts statements.
    pub(crate) fn statement_counters(&self, account: &SessionAccount) -> Option<Arc<AccountUse>> {
        let SessionAccount::Account { user, host } = account else {
            return None;
        };
        let catalog = self.catalog();
        let account = catalog.account(user, host)?;
        let limits = account.policy.limits;
        (limits.queries_per_hour > 0 || limits.updates_per_hour > 0).then(|| self.account_uses().of(account))
    }
}

impl AccountUse {
    /// Counts a statement; 1226 when the hour's are used up.
    fn count(&self, statement: &Statement, user: &str, now: i64) -> SqlResult<()> {
        let mut counters = self.counters.lock();
        counters.begin_hour(now);
        let limits = counters.limits;
        take(&mut counters.queries, limits.queries_per_hour, user, "max_questions")?;
        match class_of(statement).counted_as.is_update() {
            true => take(&mut counters.updates, limits.updates_per_hour, user, "max_updates"),
            false => Ok(()),
        }
    }
}

impl Session {
    /// FLUSH of what is counted here; the other targets are nothing that could be written.
    pub(crate) fn flush_targets(&self, targets: &[FlushTarget]) {
        let uses = self.engine.account_uses();
        for target in targets {
            match target {
                FlushTarget::UserResources => uses.forget_hours(),
                FlushTarget::Privileges => uses.forget_everything(),
                FlushTarget::Logs | FlushTarget::GeneralLogs | FlushTarget::SlowLogs => self.engine.logs().reopen(),
                _ => {}
            }
        }
    }

    /// What is looked at before any statement: 1820 while the password has expired, 1226 at the limits per hour.
    pub(crate) fn check_standing(&self, statement: &Statement) -> SqlResult<()> {
        if let Some(account_use) = &self.account_use {
            account_use.count(statement, self.options.account.name().0, self.engine.unix_seconds())?;
        }
        self.check_expiry(statement)
    }

    /// 1820 while the password has expired, for all but the statements that change it.
    pub(crate) fn check_expiry(&self, statement: &Statement) -> SqlResult<()> {
        match self.options.password_expired && !self.changes_own_password(statement) {
            true => Err(ErrorKind::MustChangePassword.into()),
            false => Ok(()),
        }
    }

    /// Whether the statement changes the password of the session's account, and nothing else of anybody.
    fn changes_own_password(&self, statement: &Statement) -> bool {
        match statement {
            Statement::AlterUser(alter) => self.is_own_password_change(alter),
            Statement::SetPassword(set) => set.account.as_ref().is_none_or(|account| self.is_own(account)),
            _ => false,
        }
    }
}

/// One more of what is limited; 0 is no limit.
fn take(count: &mut u32, limit: u32, user: &str, resource: &str) -> SqlResult<()> {
    if limit > 0 && *count >= limit {
        let arguments: [&dyn Display; 3] = [&user, &resource, &limit];
        return Err(SqlError::new(ErrorKind::UserLimitReached, &arguments));
    }
    *count = count.saturating_add(1);
    Ok(())
}

/// 3955
fn check_lock(counters: &mut Counters, account: &AccountDef, client: &Client, now: i64) -> SqlResult<()> {
    let lock_time = account.policy.password.lock_time;
    let Some(left) = counters.days_locked(lock_time, now) else {
        return Ok(());
    };
    let days = |time: LockTime| match time {
        LockTime::Days(days) => days.to_string(),
        LockTime::Unbounded => "unlimited".to_owned(),
    };
    let (all, left) = (days(lock_time), days(left));
    let attempts = account.policy.password.failed_login_attempts;
    let arguments: [&dyn Display; 5] = [&client.user, &client.host, &all, &left, &attempts];
    Err(SqlError::new(ErrorKind::AccountBlockedByPasswordLock, &arguments))
}

fn satisfies(requirement: &TlsRequirement, client: &Client) -> bool {
    let has_certificate = client.encryption.is_some() && client.certificate.is_some();
    match requirement {
        TlsRequirement::None => true,
        TlsRequirement::Encrypted => client.encryption.is_some(),
        TlsRequirement::Certificate => has_certificate,
        TlsRequirement::Exactly {
            cipher,
            issuer,
            subject,
        } => {
            let (used, shown) = (&client.encryption, &client.certificate);
            let is = |wanted: &Option<String>, found: Option<&String>| wanted.is_none() || wanted.as_ref() == found;
            used.is_some()
                && is(cipher, used.as_ref().map(|used| &used.cipher))
                && is(issuer, shown.as_ref().map(|shown| &shown.issuer))
                && is(subject, shown.as_ref().map(|shown| &shown.subject))
        }
    }
}

/// 1045
fn denied(client: &Client) -> SqlError {
    let using_password = if client.using_password { "YES" } else { "NO" };
    let arguments: [&dyn Display; 3] = [&client.user, &client.host, &using_password];
    SqlError::new(ErrorKind::AccessDenied, &arguments)
}

fn administers_connections(rights: &Rights) -> bool {
    rights.global().contains(Privileges::SUPER) || rights.has(DynamicPrivilege::CONNECTION_ADMIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql_api::login::Certificate;
    use sql_api::session::Encryption;

    fn encrypted(certificate: Option<(&str, &str)>) -> Client {
        Client {
            encryption: Some(Encryption {
                version: "TLSv1.3".into(),
                cipher: "TLS_AES_256_GCM_SHA384".into(),
            }),
            certificate: certificate.map(|(subject, issuer)| Certificate {
                subject: subject.into(),
                issuer: issuer.into(),
            }),
            ..Client::default()
        }
    }

    #[test]
    fn requirements_are_met_by_what_the_connection_is() {
        let plain = Client::default();
        let tls = encrypted(None);
        let certified = encrypted(Some(("/CN=app", "/CN=ca")));
        let exactly = |cipher: Option<&str>, issuer: Option<&str>, subject: Option<&str>| TlsRequirement::Exactly {
            cipher: cipher.map(str::to_owned),
            issuer: issuer.map(str::to_owned),
            subject: subject.map(str::to_owned),
        };
        let cipher = Some("TLS_AES_256_GCM_SHA384");
        for (requirement, of_plain, of_tls, of_certified) in [
            (TlsRequirement::None, true, true, true),
            (TlsRequirement::Encrypted, false, true, true),
            (TlsRequirement::Certificate, false, false, true),
            (exactly(cipher, None, None), false, true, true),
            (exactly(Some("other"), None, None), false, false, false),
            (exactly(None, Some("/CN=ca"), None), false, false, true),
            (exactly(None, None, Some("/CN=app")), false, false, true),
            (exactly(cipher, Some("/CN=ca"), Some("/CN=ap")), false, false, false),
        ] {
            assert_eq!(satisfies(&requirement, &plain), of_plain, "{requirement:?}");
            assert_eq!(satisfies(&requirement, &tls), of_tls, "{requirement:?}");
            assert_eq!(satisfies(&requirement, &certified), of_certified, "{requirement:?}");
        }
    }

    #[test]
    fn a_lock_ends_after_its_days() {
        let mut counters = Counters {
            failures: 3,
            locked_at: Some(1_000),
            ..Counters::default()
        };
        let days = LockTime::Days(2);
        assert_eq!(counters.days_locked(days, 1_000), Some(LockTime::Days(2)));
        assert_eq!(
            counters.days_locked(days, 1_000 + SECONDS_PER_DAY),
            Some(LockTime::Days(1))
        );
        assert_eq!(
            counters.days_locked(LockTime::Unbounded, i64::MAX),
            Some(LockTime::Unbounded)
        );
        assert_eq!(counters.days_locked(days, 1_000 + 2 * SECONDS_PER_DAY), None);
        assert_eq!((counters.failures, counters.locked_at), (0, None));
    }
}
