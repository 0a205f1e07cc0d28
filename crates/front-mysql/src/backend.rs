//! What the front needs of the SQL layer, as traits of its own.
//!
//! [`sql::session::Session`] is a [`Session`]; tests and benchmarks put canned answers in its place.

use std::net::IpAddr;
use std::sync::Arc;

use sql::host::Host;
use sql::result::{ResultShape, ResultSink, ServerStatus};
use sql::session::{Fetch, PreparedInfo, SessionOptions};
use types::{CharsetId, SqlResult, Value};

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

/// One client's session; lives on one thread. The methods mean what those of [`sql::session::Session`] say.
pub trait Session {
    fn query(&mut self, text: &[u8], host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()>;
    fn prepare(&mut self, text: &[u8]) -> SqlResult<PreparedInfo>;
    fn execute(
        &mut self,
        id: u32,
        parameters: &[Value],
        fetch: Fetch,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()>;
    fn fetch(&mut self, id: u32, rows: usize, host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()>;
    fn reset_statement(&mut self, id: u32) -> SqlResult<()>;
    fn close_statement(&mut self, id: u32);
    fn use_database(&mut self, name: &str) -> SqlResult<()>;
    fn reset(&mut self);
    fn field_list(&mut self, table: &str, pattern: &str) -> SqlResult<Arc<ResultShape>>;
    fn status(&self) -> ServerStatus;
    /// COM_SET_OPTION: whether one COM_QUERY may hold several statements.
    fn set_multi_statements(&mut self, allowed: bool);
    /// The current database, for the process list.
    fn database(&self) -> Option<&str>;
    fn results_collation(&self) -> Option<u16>;
    fn client_charset(&self) -> CharsetId;
    fn wait_timeout_seconds(&self) -> u64;
    fn max_allowed_packet(&self) -> u64;
    fn ends(&self) -> bool;
}

impl Session for sql::session::Session {
    fn query(&mut self, text: &[u8], host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.query(text, host, sink)
    }

    fn prepare(&mut self, text: &[u8]) -> SqlResult<PreparedInfo> {
        self.prepare(text)
    }

    fn execute(
        &mut self,
        id: u32,
        parameters: &[Value],
        fetch: Fetch,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.execute(id, parameters, fetch, host, sink)
    }

    fn fetch(&mut self, id: u32, rows: usize, host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.fetch(id, rows, host, sink)
    }

    fn reset_statement(&mut self, id: u32) -> SqlResult<()> {
        self.reset_statement(id)
    }

    fn close_statement(&mut self, id: u32) {
        self.close_statement(id);
    }

    fn use_database(&mut self, name: &str) -> SqlResult<()> {
        self.use_database(name)
    }

    fn reset(&mut self) {
        self.reset();
    }

    fn field_list(&mut self, table: &str, pattern: &str) -> SqlResult<Arc<ResultShape>> {
        self.field_list(table, pattern)
    }

    fn status(&self) -> ServerStatus {
        self.status()
    }

    fn set_multi_statements(&mut self, allowed: bool) {
        self.set_multi_statements(allowed);
    }

    fn database(&self) -> Option<&str> {
        self.database()
    }

    fn results_collation(&self) -> Option<u16> {
        self.results_collation()
    }

    fn client_charset(&self) -> CharsetId {
        self.client_charset()
    }

    fn ends(&self) -> bool {
        self.ends()
    }

    fn wait_timeout_seconds(&self) -> u64 {
        self.wait_timeout_seconds()
    }

    fn max_allowed_packet(&self) -> u64 {
        self.max_allowed_packet()
    }
}
