//! One client's session: its database, variables, transaction and prepared statements.

use std::sync::Arc;

use types::{SqlError, SqlResult, Value};

use crate::engine::Engine;
use crate::host::Host;
use crate::result::{ResultShape, ResultSink, ServerStatus};

/// Who logged in, and how the client wants to be talked to.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    pub connection_id: u32,
    /// The user name that the client gave, and the host it came from (`USER()`).
    pub user: String,
    pub host: String,
    /// The account it was matched with (`CURRENT_USER()`).
    pub account_user: String,
    pub account_host: String,
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

/// One client's session. Lives on one thread at a time; statements run one after another.
pub struct Session {
    engine: Arc<Engine>,
    options: SessionOptions,
}

impl Session {
    /// Opens a session; 1049 where the database does not exist.
    pub fn new(engine: Arc<Engine>, options: SessionOptions) -> SqlResult<Session> {
        Ok(Session { engine, options })
    }

    /// `COM_QUERY`. Runs one statement, or several where the client asked for multi-statements; each pushes its own
    /// answer, all but the last with [`ServerStatus::MORE_RESULTS`]. An error ends the series.
    pub fn query(&mut self, _text: &[u8], _host: &dyn Host, _sink: &mut dyn ResultSink) -> SqlResult<()> {
        let _ = (&self.engine, &self.options);
        Err(SqlError::not_supported("statements"))
    }

    /// `COM_STMT_PREPARE`.
    pub fn prepare(&mut self, _text: &[u8]) -> SqlResult<PreparedInfo> {
        Err(SqlError::not_supported("prepared statements"))
    }

    /// `COM_STMT_EXECUTE`, with a value per parameter.
    pub fn execute(
        &mut self,
        _id: u32,
        _parameters: &[Value],
        _fetch: Fetch,
        _host: &dyn Host,
        _sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        Err(SqlError::not_supported("prepared statements"))
    }

    /// `COM_STMT_FETCH`: the next rows of a cursor; ends with [`ServerStatus::LAST_ROW_SENT`] after the last one.
    pub fn fetch(&mut self, _id: u32, _rows: usize, _sink: &mut dyn ResultSink) -> SqlResult<()> {
        Err(SqlError::not_supported("cursors"))
    }

    /// `COM_STMT_RESET`: closes the cursor; 1243 where there is no such statement.
    pub fn reset_statement(&mut self, _id: u32) -> SqlResult<()> {
        Ok(())
    }

    /// `COM_STMT_CLOSE`. Unknown ids are ignored: the command has no answer.
    pub fn close_statement(&mut self, _id: u32) {}

    /// `COM_INIT_DB`.
    pub fn use_database(&mut self, _name: &str) -> SqlResult<()> {
        Ok(())
    }

    /// `COM_RESET_CONNECTION`: rolls back, forgets variables, prepared statements, locks; keeps the database and the user.
    pub fn reset(&mut self) {}

    /// `COM_FIELD_LIST`: the columns of a table whose names match a LIKE pattern, with their defaults.
    pub fn field_list(&mut self, _table: &str, _pattern: &str) -> SqlResult<Arc<ResultShape>> {
        Err(SqlError::not_supported("COM_FIELD_LIST"))
    }

    /// The status flags for an OK packet that no statement made (COM_PING, COM_INIT_DB…).
    pub fn status(&self) -> ServerStatus {
        ServerStatus::AUTOCOMMIT
    }

    /// `COM_SET_OPTION`: whether one `COM_QUERY` may hold several statements.
    pub fn set_multi_statements(&mut self, allowed: bool) {
        self.options.multi_statements = allowed;
    }

    /// The current database, for the process list.
    pub fn database(&self) -> Option<&str> {
        self.options.database.as_deref()
    }

    /// `character_set_results` as a collation id: what text columns are sent in. `None`: as stored.
    pub fn results_collation(&self) -> Option<u16> {
        Some(255)
    }

    /// Seconds that an idle connection may live (`wait_timeout`).
    pub fn wait_timeout_seconds(&self) -> u64 {
        28_800
    }

    /// Bytes of the largest packet (`max_allowed_packet`).
    pub fn max_allowed_packet(&self) -> u64 {
        64 << 20
    }
}
