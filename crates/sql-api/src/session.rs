//! A session as a front drives it: one per client, one command after another.

use std::sync::Arc;
use std::time::Duration;

use types::{CharsetId, SqlResult, Value};

use crate::host::Host;
use crate::result::{ResultShape, ResultSink, ServerStatus};

/// Who logged in, and how the client wants to be talked to.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    pub connection_id: u32,
    /// The user name that the client gave, and the host it came from (`USER()`).
    pub user: String,
    pub host: String,
    pub account: SessionAccount,
    /// Whether the client logged in with a password, right or not needed.
    pub gave_password: bool,
    pub database: Option<String>,
    /// The collation id of the handshake; an unknown one stands for the server's default.
    pub collation_id: u16,
    /// CLIENT_FOUND_ROWS: affected rows are matched rows.
    pub found_rows: bool,
    /// CLIENT_MULTI_STATEMENTS.
    pub multi_statements: bool,
    /// CLIENT_IGNORE_SPACE.
    pub ignore_space: bool,
    /// CLIENT_INTERACTIVE: `interactive_timeout` in place of `wait_timeout`.
    pub interactive: bool,
    /// Where the connection is encrypted.
    pub encryption: Option<Encryption>,
    /// How what goes over the connection is packed.
    pub compression: Option<Compression>,
    /// Nothing may run before the password has been changed.
    pub password_expired: bool,
}

/// How the frames of the compressed protocol are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// CLIENT_COMPRESS.
    Zlib,
    /// CLIENT_ZSTD_COMPRESSION_ALGORITHM, with the level that the client asked for.
    Zstd { level: u8 },
}

/// Whose session it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SessionAccount {
    /// The server's own: everything is allowed.
    #[default]
    Server,
    /// The account that a login was matched with (`CURRENT_USER()`).
    Account { user: String, host: String },
}

impl SessionAccount {
    /// User and host; the server's own work is told as root's.
    pub fn name(&self) -> (&str, &str) {
        match self {
            SessionAccount::Server => ("root", "localhost"),
            SessionAccount::Account { user, host } => (user, host),
        }
    }
}

/// How a connection is encrypted, in OpenSSL's words: clients compare them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encryption {
    /// As `TLSv1.3`.
    pub version: String,
    /// As `TLS_AES_256_GCM_SHA384`.
    pub cipher: String,
}

/// What `COM_STMT_PREPARE` answers.
#[derive(Debug, Clone)]
pub struct PreparedInfo {
    pub id: u32,
    pub parameters: usize,
    /// The result's columns; none for a statement without a result set.
    pub columns: Option<Arc<ResultShape>>,
    pub warnings: u16,
}

/// How a prepared statement's rows are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    All,
    /// CURSOR_TYPE_READ_ONLY: the rows stay here until `COM_STMT_FETCH` asks for them.
    Cursor,
}

/// One client's session; lives on one thread.
pub trait Session {
    fn query(&mut self, text: &[u8], host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()>;
    fn prepare(&mut self, text: &[u8], host: &dyn Host) -> SqlResult<PreparedInfo>;
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
    /// After a panic inside a command: rolls back, lets go of all locks and temporary tables. Variables and prepared statements stay.
    fn recover(&mut self);
    fn field_list(&mut self, table: &str, pattern: &str) -> SqlResult<Arc<ResultShape>>;
    fn status(&self) -> ServerStatus;
    /// COM_SET_OPTION: whether one COM_QUERY may hold several statements.
    fn set_multi_statements(&mut self, allowed: bool);
    /// The current database, for the process list.
    fn database(&self) -> Option<&str>;
    fn results_collation(&self) -> Option<u16>;
    fn client_charset(&self) -> CharsetId;
    fn wait_timeout_seconds(&self) -> u64;
    /// How long a client that has begun a packet may send none of it (`net_read_timeout`).
    fn net_read_timeout(&self) -> Duration;
    /// How long a client may take none of an answer (`net_write_timeout`).
    fn net_write_timeout(&self) -> Duration;
    fn max_allowed_packet(&self) -> u64;
    fn ends(&self) -> bool;
}
