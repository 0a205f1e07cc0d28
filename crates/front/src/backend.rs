//! What the fronts need of the SQL layer, as traits of their own.
//!
//! The node gives them accounts and sessions; tests and benchmarks put canned answers in their place.

use std::net::IpAddr;
use std::time::Duration;

use sql_api::login::{Client, Standing};
use sql_api::session::{Session, SessionOptions};
use types::SqlResult;

/// The node behind the fronts: who may log in, and what a login opens.
pub trait Backend: Send + Sync + 'static {
    /// The account that `user` from `host` logs in to, by MySQL's rules: the most specific host that matches wins.
    fn find_account(&self, user: &str, host: &ClientHost) -> Option<Account>;

    /// The plugin that a client is asked for who names no account: like those of the accounts there are, so that
    /// the question does not tell. `dice` is a number that belongs to the name.
    fn plugin_of_nobody(&self, dice: u64) -> Plugin;

    /// A wrong password for an account; 3955 once there were too many of them.
    fn login_failed(&self, account: &Account, client: &Client) -> SqlResult<()>;

    /// Whether the account lets a client in that has proved its password: locks, TLS, certificates, expiry, limits per hour.
    fn login_proved(&self, account: &Account, client: &Client) -> SqlResult<Standing>;

    /// Opens the session of a client that was let in. 1044 and 1049 where the database may not or cannot be used.
    fn open_session(&self, options: SessionOptions) -> SqlResult<Box<dyn Session>>;

    /// The limits that hold now.
    fn limits(&self) -> Limits;
}

/// Limits that an administrator sets while the server runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// `max_connections`
    pub connections_max: usize,
    /// `max_user_connections`: of one account that has no limit of its own; 0 is none.
    pub user_connections_max: usize,
    /// The part of all places that one account gets when neither limit is set, unless it administrates.
    pub account_share_percent: usize,
    /// The part that one address gets.
    pub address_share_percent: usize,
    /// From accepting a connection to the end of its login (`connect_timeout`).
    pub login_timeout: Duration,
    /// `require_secure_transport`
    pub require_secure_transport: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 10_000,
            user_connections_max: 0,
            account_share_percent: 75,
            address_share_percent: 90,
            login_timeout: Duration::from_secs(10),
            require_secure_transport: false,
        }
    }
}

/// Where a client comes from. The loopback addresses are `localhost`, as after MySQL's reverse lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientHost {
    Address(IpAddr),
    /// A Unix socket of this machine.
    Socket,
}

impl ClientHost {
    /// Whether what is sent stays on this machine.
    pub fn is_local(&self) -> bool {
        match self {
            ClientHost::Address(ip) => ip.to_canonical().is_loopback(),
            ClientHost::Socket => true,
        }
    }

    /// The name that `USER()` and error messages show.
    pub fn name(&self) -> String {
        match self {
            ClientHost::Address(ip) if !ip.to_canonical().is_loopback() => ip.to_canonical().to_string(),
            _ => "localhost".into(),
        }
    }

    /// The names under which an account's host is looked for.
    pub fn names(&self) -> Vec<String> {
        match self {
            ClientHost::Address(ip) => vec![self.name(), ip.to_canonical().to_string()],
            ClientHost::Socket => vec![self.name()],
        }
    }
}

/// MySQL's plugins, by which an account stores its password ([`mysql_wire::auth`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    CachingSha2Password,
    MysqlNativePassword,
}

/// An account, as far as the login needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub user: String,
    /// The host part as the account was created with: `localhost`, `%`, `10.1.%`.
    pub host: String,
    pub plugin: Plugin,
    /// What the plugin stores; empty for an account without password.
    pub authentication_string: String,
    /// The password before the current one, while it still counts; empty where there is none.
    pub second_authentication_string: String,
    /// An administrator without a password: open to the operating-system user who runs the server, and to nobody else.
    pub is_owners_alone: bool,
}

impl Account {
    pub fn has_no_password(&self) -> bool {
        self.authentication_string.is_empty()
    }
}
