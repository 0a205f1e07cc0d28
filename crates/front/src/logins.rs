//! What all logins of a node share, over whichever protocol: the passwords that are known, how fast they may be tried, and
//! the threads that check them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use sql_api::login::{Client, Standing};
use types::{ErrorKind, SqlError, SqlResult};

use crate::backend::{Account, Backend};
use crate::hashing::{Busy, Hasher};
use crate::passwords::{Passwords, Proof};
use crate::peer::{Channel, Peer};
use crate::registry::{Handle, Registry};
use crate::throttle::{Attempt, Throttle, Turn};

/// Failures of a user from one address up to which each is logged; then only powers of two.
const LOGGED_FAILURES: u32 = 8;

pub struct Logins {
    passwords: Arc<Passwords>,
    throttle: Throttle,
    hasher: Hasher,
    registry: Arc<Registry>,
    backend: Arc<dyn Backend>,
}

impl Logins {
    /// `secret` decides what users who do not exist are asked; the same after a restart, so that they are, too.
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

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    pub fn passwords(&self) -> &Arc<Passwords> {
        &self.passwords
    }

    /// For a client that sends its password as it is and gets no session: its account, if the account lets it in.
    pub async fn check_password(&self, client: &Client, password: &[u8], peer: &Peer) -> SqlResult<Account> {
        let account = self.prove_password(client, password, peer).await?;
        self.backend.login_proved(&account, client)?;
        Ok(account)
    }

    /// The account of a client that sends its password as it is, if the password is right and the account not its
    /// [owner's alone](Account::is_owners_alone). Wrong ones are counted and slowed down, whatever the protocol.
    pub async fn prove_password(&self, client: &Client, password: &[u8], peer: &Peer) -> SqlResult<Account> {
        let attempt = self.attempt(&client.user, peer);
        self.wait_for_turn(attempt, client).await?;
        let account = self.backend.find_account(&client.user, &peer.host());
        let nobody = self.backend.plugin_of_nobody(self.passwords.dice(&client.user));
        let is_right = match self.passwords.compare(account.as_ref(), nobody, password) {
            Proof::Known(is_right) => is_right,
            Proof::Needs(check) => match self.check(|| check.run()).await? {
                Some(proved) => {
                    self.passwords.remember(proved);
                    true
                }
                None => false,
            },
        };
        match account {
            // The owner needs no login; the account's empty password is none.
            Some(account) if is_right && !account.is_owners_alone => {
                self.succeeded(attempt);
                Ok(account)
            }
            account => Err(self.denied(attempt, account.as_ref(), client)),
        }
    }

    /// Gives a connection whose client has proved to be `account` its place as a session, if the account and the node's limits let it in.
    pub fn admit(&self, handle: &Handle, account: &Account, client: &Client, channel: Channel) -> SqlResult<Standing> {
        let limits = self.backend.limits();
        if limits.require_secure_transport && channel != Channel::Private {
            return Err(ErrorKind::SecureTransportRequired.into());
        }
        let standing = self.backend.login_proved(account, client)?;
        let name = (account.user.clone(), account.host.clone());
        self.registry.open(handle, name, &standing, &limits)?;
        Ok(standing)
    }

    pub fn attempt(&self, user: &str, peer: &Peer) -> Attempt {
        self.throttle.attempt(user, peer.network())
    }

    /// Comes back when a password of this user may be checked.
    pub async fn wait_for_turn(&self, attempt: Attempt, client: &Client) -> SqlResult<()> {
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

    /// Runs what takes milliseconds where it disturbs nobody. 1040 where too many checks wait.
    pub async fn check<T: Send + 'static>(
        &self,
        check: impl FnOnce() -> Option<T> + Send + 'static,
    ) -> SqlResult<Option<T>> {
        self.hasher.run(check).await.map_err(|Busy| {
            self.registry.counters().logins_refused.fetch_add(1, Relaxed);
            ErrorKind::ConCount.into()
        })
    }

    pub fn succeeded(&self, attempt: Attempt) {
        self.throttle.succeeded(attempt, Instant::now());
    }

    /// Counts and logs a wrong password; the error that answers it.
    pub fn denied(&self, attempt: Attempt, account: Option<&Account>, client: &Client) -> SqlError {
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
pub fn access_denied(client: &Client) -> SqlError {
    let using_password = if client.using_password { "YES" } else { "NO" };
    let arguments: [&dyn std::fmt::Display; 3] = [&client.user, &client.host, &using_password];
    SqlError::new(ErrorKind::AccessDenied, &arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{ClientHost, Limits, Plugin};
    use mysql_wire::auth::native;
    use sql_api::session::{Session, SessionOptions};

    /// `u` has the password `secret`, `root` none.
    struct Accounts;

    impl Backend for Accounts {
        fn find_account(&self, user: &str, _host: &ClientHost) -> Option<Account> {
            let password = match user {
                "u" => "secret",
                "root" => "",
                _ => return None,
            };
            Some(Account {
                user: user.into(),
                host: "%".into(),
                plugin: Plugin::MysqlNativePassword,
                authentication_string: native::authentication_string(password.as_bytes()),
                second_authentication_string: String::new(),
                is_owners_alone: password.is_empty(),
            })
        }

        fn plugin_of_nobody(&self, _dice: u64) -> Plugin {
            Plugin::CachingSha2Password
        }

        fn login_failed(&self, _account: &Account, _client: &Client) -> SqlResult<()> {
            Ok(())
        }

        fn login_proved(&self, _account: &Account, _client: &Client) -> SqlResult<Standing> {
            Ok(Standing::default())
        }

        fn open_session(&self, _options: SessionOptions) -> SqlResult<Box<dyn Session>> {
            unreachable!("a login opens none by itself")
        }

        fn limits(&self) -> Limits {
            Limits {
                connections_max: 1,
                require_secure_transport: true,
                ..Limits::default()
            }
        }
    }

    fn logins() -> Arc<Logins> {
        Logins::start([7; 32], Registry::new(), Arc::new(Accounts)).expect("threads")
    }

    fn client(user: &str) -> Client {
        Client {
            user: user.into(),
            host: "localhost".into(),
            using_password: true,
            ..Client::default()
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_password_is_proved_and_wrong_ones_are_counted() {
        let logins = logins();
        let peer = Peer::Unix { user: None };
        for (user, password, lets_in) in [
            ("u", "secret", true),
            ("u", "wrong", false),
            ("u", "", false),
            ("nobody", "secret", false),
            ("root", "", false),
        ] {
            let proved = logins.prove_password(&client(user), password.as_bytes(), &peer).await;
            match proved {
                Ok(account) => assert!(lets_in && account.user == user, "{user} {password}"),
                Err(error) => assert!(!lets_in && error.code() == 1045, "{user} {password}: {error:?}"),
            }
        }
        assert_eq!(logins.registry().statistics().passwords_denied, 4);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn who_is_admitted_has_a_place_and_a_private_line() {
        let logins = logins();
        let peer = Peer::Unix { user: None };
        let account = logins.prove_password(&client("u"), b"secret", &peer).await.expect("u");
        let admit = |channel| {
            let handle = logins.registry().enter(peer).expect("a place");
            let admitted = logins.admit(&handle, &account, &client("u"), channel);
            (handle, admitted.map_or_else(|error| error.code(), |_| 0))
        };
        assert_eq!(admit(Channel::Loopback).1, 3159);
        let (first, error) = admit(Channel::Private);
        assert_eq!(error, 0);
        let (_second, error) = admit(Channel::Private);
        assert_eq!(error, 1040, "the one place is taken");
        logins.registry().leave(&first);
        assert_eq!(admit(Channel::Private).1, 0);
    }
}
