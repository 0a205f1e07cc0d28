//! What the front needs of the SQL layer, as traits of its own.
//!
//! The node gives it accounts and sessions; tests and benchmarks put canned answers in their place.

use std::net::IpAddr;

use sql_api::session::{Session, SessionOptions};
use types::SqlResult;

use crate::config::Plugin;

/// The node behind the front: who may log in, and what a login opens.
pub trait Backend: Send + Sync + 'static {
    /// The account that `user` from `host` logs in to, by MySQL's rules: the most specific host that matches wins.
    fn find_account(&self, user: &str, host: &ClientHost) -> Option<Account>;

    /// Opens the session of a client that has proved who it is. 1044 and 1049 where the database may not or cannot be used.
    fn open_session(&self, options: SessionOptions) -> SqlResult<Box<dyn Session>>;
}

/// Where a client comes from. The loopback addresses are `localhost`, as after MySQL's reverse lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientHost(pub IpAddr);

impl ClientHost {
    pub fn is_loopback(&self) -> bool {
        self.0.to_canonical().is_loopback()
    }

    /// The name that `USER()` and error messages show.
    pub fn name(&self) -> String {
        if self.is_loopback() {
            "localhost".into()
        } else {
            self.0.to_canonical().to_string()
        }
    }
}

/// An account, as far as the login needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub user: String,
    /// The host part as the account was created with: `localhost`, `%`, `10.1.%`.
    pub host: String,
    pub plugin: Plugin,
    /// What the plugin stores ([`mysql_wire::auth`]); empty for an account without password.
    pub authentication_string: String,
    /// `ACCOUNT LOCK`: nobody logs in (3118).
    pub locked: bool,
}
