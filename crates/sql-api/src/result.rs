//! Where a statement's answer goes.
//!
//! The executor pushes rows into a [`ResultSink`]; the front writes them as text or binary protocol rows, the cursor
//! and the tests collect them. A sink never keeps the executor's memory: it copies what it needs.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use types::{ErrorKind, RowLayout, SqlError, SqlType, Value};

use crate::host::Host;

/// Receives the answer of one statement: either [`ok`](ResultSink::ok), or columns, rows and their end.
/// An error is returned by the statement, not pushed; it may come after rows.
pub trait ResultSink {
    /// Starts a result set.
    fn columns(&mut self, shape: &Arc<ResultShape>, status: ServerStatus) -> Result<(), SqlError>;

    /// One row, a value per column of the shape.
    fn row(&mut self, values: &[Value]) -> Result<(), SqlError>;

    /// One row straight from its stored form: column `projection[i]` of `row` is column `i` of the result.
    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> Result<(), SqlError>;

    /// Whether so much is buffered that the statement should call [`flush`](ResultSink::flush) before the next row.
    /// Asked between chunks, where no guard over stored rows is held.
    fn is_full(&self) -> bool {
        false
    }

    /// Hands what is buffered to the client, suspending the statement while the client is slow.
    fn flush(&mut self, _host: &dyn Host) -> Result<(), SqlError> {
        Ok(())
    }

    /// Asks the client for a file of its own (LOAD DATA LOCAL) and gives its pieces to `take`. After an error of `take` the rest is
    /// read and dropped, so that the client can hear of it.
    fn receive_file(
        &mut self,
        _path: &str,
        _host: &dyn Host,
        _take: &mut dyn FnMut(&[u8]) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        Err(ErrorKind::ClientLocalFilesDisabled.into())
    }

    /// Ends the result set.
    fn end(&mut self, end: ResultEnd) -> Result<(), SqlError>;

    /// Answers a statement without a result set.
    fn ok(&mut self, done: Done) -> Result<(), SqlError>;
}

/// The columns of a result set, made once per plan.
#[derive(Debug, Default)]
pub struct ResultShape {
    pub columns: Vec<ResultColumn>,
    wire: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl ResultShape {
    pub fn new(columns: Vec<ResultColumn>) -> Arc<ResultShape> {
        Arc::new(ResultShape {
            columns,
            wire: OnceLock::new(),
        })
    }

    /// What a front keeps beside the shape: its encoding of the columns, made at first use.
    pub fn wire<T: Send + Sync + 'static>(&self, make: impl FnOnce(&[ResultColumn]) -> T) -> &T {
        self.wire
            .get_or_init(|| Box::new(make(&self.columns)))
            .downcast_ref()
            .expect("one front encodes a shape, always in the same form")
    }
}

/// One column of a result set, as the column definition packet describes it.
#[derive(Debug, Clone)]
pub struct ResultColumn {
    /// Database, table alias and table of a plain column; empty for an expression.
    pub database: String,
    pub table: String,
    pub original_table: String,
    /// The alias or the expression's text.
    pub name: String,
    pub original_name: String,
    pub ty: SqlType,
    /// NOT_NULL, PRI_KEY, UNIQUE_KEY, MULTIPLE_KEY, AUTO_INCREMENT…: those that the type alone does not tell.
    pub flags: ColumnFlags,
}

impl ResultColumn {
    /// A column that comes from no table.
    pub fn computed(name: impl Into<String>, ty: SqlType) -> ResultColumn {
        ResultColumn {
            database: String::new(),
            table: String::new(),
            original_table: String::new(),
            name: name.into(),
            original_name: String::new(),
            ty,
            flags: ColumnFlags::default(),
        }
    }
}

/// The column definition flags of the protocol (MySQL source documentation, "Column Definition Flags").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ColumnFlags(pub u16);

impl ColumnFlags {
    pub const NOT_NULL: ColumnFlags = ColumnFlags(1);
    pub const PRI_KEY: ColumnFlags = ColumnFlags(2);
    pub const UNIQUE_KEY: ColumnFlags = ColumnFlags(4);
    pub const MULTIPLE_KEY: ColumnFlags = ColumnFlags(8);
    pub const AUTO_INCREMENT: ColumnFlags = ColumnFlags(512);
    pub const TIMESTAMP: ColumnFlags = ColumnFlags(1024);
    pub const PART_KEY: ColumnFlags = ColumnFlags(16384);
    pub const NO_DEFAULT_VALUE: ColumnFlags = ColumnFlags(4096);
    pub const ON_UPDATE_NOW: ColumnFlags = ColumnFlags(8192);

    pub fn with(self, other: ColumnFlags) -> ColumnFlags {
        ColumnFlags(self.0 | other.0)
    }

    pub fn without(self, other: ColumnFlags) -> ColumnFlags {
        ColumnFlags(self.0 & !other.0)
    }

    pub fn contains(self, other: ColumnFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The status flags at the end of every answer (MySQL source documentation, `SERVER_STATUS_flags_enum`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerStatus(pub u16);

impl ServerStatus {
    pub const IN_TRANS: ServerStatus = ServerStatus(1);
    pub const AUTOCOMMIT: ServerStatus = ServerStatus(2);
    pub const MORE_RESULTS: ServerStatus = ServerStatus(8);
    pub const NO_INDEX_USED: ServerStatus = ServerStatus(32);
    pub const CURSOR_EXISTS: ServerStatus = ServerStatus(64);
    pub const LAST_ROW_SENT: ServerStatus = ServerStatus(128);
    pub const DB_DROPPED: ServerStatus = ServerStatus(256);
    pub const NO_BACKSLASH_ESCAPES: ServerStatus = ServerStatus(512);
    pub const METADATA_CHANGED: ServerStatus = ServerStatus(1024);
    /// The result set has the OUT parameters of a prepared CALL.
    pub const PS_OUT_PARAMS: ServerStatus = ServerStatus(4096);
    pub const IN_TRANS_READONLY: ServerStatus = ServerStatus(8192);

    pub fn with(self, other: ServerStatus) -> ServerStatus {
        ServerStatus(self.0 | other.0)
    }

    pub fn without(self, other: ServerStatus) -> ServerStatus {
        ServerStatus(self.0 & !other.0)
    }

    pub fn contains(self, other: ServerStatus) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The end of a result set.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResultEnd {
    pub warnings: u16,
    pub status: ServerStatus,
}

/// The outcome of a statement without a result set.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// Changed rows; matched rows where the client asked for CLIENT_FOUND_ROWS.
    pub affected_rows: u64,
    /// The first automatic id that was made; failing that, the last id that the statement gave itself.
    pub last_insert_id: u64,
    pub warnings: u16,
    pub status: ServerStatus,
    /// `Rows matched: 1  Changed: 1  Warnings: 0` and the like; empty for most statements.
    pub info: String,
    /// The database that the statement made the current one; clients that track the session are told.
    pub current_database: Option<Box<str>>,
}
