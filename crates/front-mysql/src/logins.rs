//! What all logins of a node share, over whichever protocol: the passwords that are known, how fast they may be tried, and
//! the threads that check them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use mysql_wire::auth::sha2;
use types::{ErrorKind, SqlError, SqlResult};

use crate::authentication::{Check, Passwords, Proof};
use crate::backend::{Account, Backend, Client};
use crate::hashing::{Busy, Hasher};
use crate::peer::Peer;
use crate::registry::Registry;
use crate::throttle::{Attempt, Throttle, Turn};

/// Failures of a user from one address up to which each is logged; then only powers of two.
const LOGGED_FAILURES: u32 = 8;

pub struct Logins {
    pub(crate) passwords: Arc<Passwords>,
    throttle: Throttle,
    hasher: Hasher,
    registry: Arc<Registry>,
    backend: Arc<dyn Backend>,
}

impl Logins {
    /// `secret` decides what users who do not exist are asked.
    pub fn start(secret: [u8; 32], registry: Arc<Registry>, backend: Arc<dyn Backend>) -> io::Result<Arc<Logins>> {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        Ok(Arc::new(Logins {
            passwords: Passwords::new(secret),
            throttle: Throttle::new(),
            hasher: Hasher::start(cores / 2)?,
            registry,
            backend,
        }))
    }

    /// Checks a password that came as it is, over another protocol than MySQL's: the account, if it is his and open to
    /// him. The same delays, locks and requirements hold as for MySQL's clients.
    pub async fn check_password(&self, user: &str, password: &[u8], peer: &Peer) -> SqlResult<Account> {
        let host = peer.host();
        let client = Client {
            user: user.to_owned(),
            host: host.name(),
            using_password: true,
            ..Client::default()
        };
        let attempt = self.attempt(user, peer);
        self.wait_for_turn(attempt, &client).await?;
        let account = self.backend.find_account(user, &host);
        let nobody = self.backend.plugin_of_nobody(self.passwords.dice(user));
        let outcome = match self.passwords.compare(account.as_ref(), nobody, password) {
            Proof::Known(is_right) => is_right,
            Proof::Needs(check) => match self.check(check).await? {
                Some((stored, digest)) => {
                    self.passwords.remember(stored, digest);
                    true
                }
                None => false,
            },
        };
        match account {
            // The owner needs no login; the account's empty password is none.
            Some(account) if outcome && !account.is_owners_alone => {
                self.succeeded(attempt);
                self.backend.login_proved(&account, &client)?;
                Ok(account)
            }
            account => Err(self.denied(attempt, account.as_ref(), &client)),
        }
    }

    pub(crate) fn attempt(&self, user: &str, peer: &Peer) -> Attempt {
        self.throttle.attempt(user, peer.network())
    }

    /// Comes back when a password of this user may be checked.
    pub(crate) async fn wait_for_turn(&self, attempt: Attempt, client: &Client) -> SqlResult<()> {
        let counters = self.registry.counters();
        match self.throttle.take_turn(attempt, Instant::now()) {
            Turn::Now => Ok(()),
            Turn::After(wait) => {
                counters.logins_delayed.fetch_add(1, Relaxed);
                tokio::time::sleep(wait).await;
                Ok(())
            }
            Turn::Never(wait) => {
                counters.logins_refused.fetch_add(1, Relaxed);
                let seconds = wait.as_secs() + 1;
                let (user, host) = (&client.user, &client.host);
                Err(SqlError::with_message(
                    ErrorKind::AccessDenied,
                    format!(
                        "Access denied for user '{user}'@'{host}': too many failed logins, try again in {seconds} seconds"
                    ),
                ))
            }
        }
    }

    /// The stored form that the password fits, and its digest. 1040 where too many checks wait.
    pub(crate) async fn check(&self, check: Check) -> SqlResult<Option<(String, sha2::Digest)>> {
        self.hasher.run(check, &self.passwords).await.map_err(|Busy| {
            self.registry.counters().logins_refused.fetch_add(1, Relaxed);
            ErrorKind::ConCount.into()
        })
    }

    pub(crate) fn succeeded(&self, attempt: Attempt) {
        self.throttle.succeeded(attempt, Instant::now());
    }

    /// Counts and logs a wrong password; the error that answers it.
    pub(crate) fn denied(&self, attempt: Attempt, account: Option<&Account>, client: &Client) -> SqlError {
        self.registry.counters().passwords_denied.fetch_add(1, Relaxed);
        let failures = self.throttle.failed(attempt, Instant::now());
        if failures <= LOGGED_FAILURES || failures.is_power_of_two() {
            // With `?`, so that a name cannot end the line.
            tracing::warn!(user = ?client.user, host = %client.host, failures, "login denied");
        }
        match account.map(|account| self.backend.login_failed(account, client)) {
            Some(Err(locked)) => locked,
            Some(Ok(())) | None => access_denied(client),
        }
    }
}

/// 1045
pub(crate) fn access_denied(client: &Client) -> SqlError {
    let using_password = if client.using_password { "YES" } else { "NO" };
    let arguments: [&dyn std::fmt::Display; 3] = [&client.user, &client.host, &using_password];
    SqlError::new(ErrorKind::AccessDenied, &arguments)
}
