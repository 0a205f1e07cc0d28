//! Errors of other layers as MySQL tells them: of the parser, of a transaction, of a commit, of an interrupt.

use governor::bulk;
use parser::{ParseError, ParseErrorKind};
use shard::ProposeError;
use sql_api::host::Interrupt;
use transaction::TransactionError;
use types::{ErrorKind, SqlError};

use crate::table::Table;

const SYNTAX: &str = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use";
/// Bytes of the statement that a syntax error repeats.
const NEAR_CHARS: usize = 80;

/// 1064, 1065 and their kin from the parser's error.
pub fn parse_error(error: &ParseError) -> SqlError {
    match &error.kind {
        ParseErrorKind::EmptyQuery => ErrorKind::EmptyQuery.into(),
        ParseErrorKind::Syntax { near, line } => SqlError::new(ErrorKind::ParseError, &[&SYNTAX, near, line]),
        ParseErrorKind::TooDeep { .. } => governor::stack::overrun().into(),
        ParseErrorKind::Other { code, message, .. } => {
            let kind = ErrorKind::from_code(*code).unwrap_or(ErrorKind::ParseError);
            SqlError::with_message(kind, &**message)
        }
    }
}

/// 1064 at a byte of the text.
pub fn syntax_error_at(text: &[u8], offset: usize) -> SqlError {
    const CHAR_BYTES: usize = 4;
    let (before, rest) = text.split_at(offset.min(text.len()));
    let rest = String::from_utf8_lossy(&rest[..rest.len().min(NEAR_CHARS * CHAR_BYTES)]);
    let near: String = rest.chars().take(NEAR_CHARS).collect();
    let lines = |piece: &[u8]| piece.iter().filter(|&&byte| byte == b'\n').count();
    let line = 1 + bulk::pieces(before).map(lines).sum::<usize>();
    SqlError::new(ErrorKind::ParseError, &[&SYNTAX, &near, &line])
}

/// 1064 for a `?` outside a prepared statement.
pub fn parameter_in_text(text: &[u8]) -> SqlError {
    let offset = bulk::prefix_len(text, |byte| byte != b'?');
    syntax_error_at(text, if offset == text.len() { 0 } else { offset })
}

/// An error of a statement before it has MySQL's number: a duplicate key is still told by its index, because INSERT
/// may have an answer to it.
#[derive(Debug)]
pub enum StatementError {
    Sql(SqlError),
    Transaction(TransactionError),
}

impl From<SqlError> for StatementError {
    fn from(error: SqlError) -> StatementError {
        StatementError::Sql(error)
    }
}

impl From<ErrorKind> for StatementError {
    fn from(kind: ErrorKind) -> StatementError {
        StatementError::Sql(kind.into())
    }
}

impl From<governor::Stop> for StatementError {
    fn from(stop: governor::Stop) -> StatementError {
        StatementError::Sql(stop.into())
    }
}

impl From<TransactionError> for StatementError {
    fn from(error: TransactionError) -> StatementError {
        StatementError::Transaction(error)
    }
}

impl StatementError {
    /// MySQL's error, with what it says of the table.
    pub fn into_sql(self, table: &Table) -> SqlError {
        match self {
            StatementError::Sql(error) => error,
            StatementError::Transaction(error) => transaction_error(&error, &table.def.name),
        }
    }

    /// MySQL's error, where no table's definition is at hand.
    pub fn into_sql_named(self, table: &str) -> SqlError {
        match self {
            StatementError::Sql(error) => error,
            StatementError::Transaction(error) => transaction_error(&error, table),
        }
    }
}

/// MySQL's error for a failed operation on the table `table`. A duplicate key is told without its values; the callers
/// that know the row say more.
pub fn transaction_error(error: &TransactionError, table: &str) -> SqlError {
    match error {
        TransactionError::DuplicateKey { index, .. } => {
            SqlError::new(ErrorKind::DupEntry, &[&"?", &format_args!("{table}.{index}")])
        }
        TransactionError::WriteConflict(_) => {
            let text = SqlError::from(ErrorKind::LockDeadlock);
            let what = format!(
                "{}; a row of table '{table}' has changed since the transaction's snapshot",
                text.message()
            );
            SqlError::with_message(ErrorKind::LockDeadlock, what)
        }
        TransactionError::Deadlock => ErrorKind::LockDeadlock.into(),
        TransactionError::LocksLost => locks_lost(),
        TransactionError::Unavailable => no_majority(),
        TransactionError::LockNotAvailable => ErrorKind::LockNowait.into(),
        TransactionError::DefinitionChanged(_) => ErrorKind::TableDefChanged.into(),
        TransactionError::Memory(_) => SqlError::new(ErrorKind::RecordFileFull, &[&table]),
        TransactionError::KeyTooLong => SqlError::new(ErrorKind::TooLongKey, &[&3072]),
    }
}

/// Galera's error for the same condition, of SQLSTATE 08S01: drivers that know several hosts go to another one.
pub fn no_majority() -> SqlError {
    let what = "This node does not reach a majority of its cluster".to_owned();
    SqlError::with_message(ErrorKind::UnknownCom, what)
}

const LOCKS_LOST: &str = "another node has led since the transaction took its locks";

/// MySQL's deadlock, of a transaction whose locks went with the lead.
pub fn locks_lost() -> SqlError {
    let text = SqlError::from(ErrorKind::LockDeadlock);
    SqlError::with_message(ErrorKind::LockDeadlock, format!("{}; {LOCKS_LOST}", text.message()))
}

/// Whether nothing of a statement was done because the lead of the shard has changed: it may be run again at once.
pub fn is_for_another_leader(error: &SqlError) -> bool {
    error.kind() == ErrorKind::LockDeadlock && error.message().ends_with(LOCKS_LOST)
}

/// MySQL's error for an interrupted statement.
pub fn interrupted(interrupt: Interrupt) -> SqlError {
    governor::Stop::Interrupt(interrupt).into()
}

/// MySQL's error for a commit that did not happen, or whose outcome nobody knows.
pub fn commit_error(error: &ProposeError) -> SqlError {
    let during_commit = |what: &str| SqlError::new(ErrorKind::ErrorDuringCommit, &[&1, &what]);
    match error {
        ProposeError::DiskFull => SqlError::new(ErrorKind::DiskFull, &[&"log", &28, &"No space left on device"]),
        ProposeError::TooLarge { bytes, limit } => during_commit(&format!(
            "transaction of {bytes} bytes is larger than the limit of {limit}"
        )),
        ProposeError::Malformed(error) => during_commit(&error.to_string()),
        ProposeError::NotLeader => locks_lost(),
        ProposeError::Memory(_) => SqlError::new(ErrorKind::RecordFileFull, &[&"the rows"]),
        ProposeError::Stopped { reason } => during_commit(&format!("no commits are taken any more: {reason}")),
        ProposeError::Aborted { reason } => during_commit(&format!("the transaction does not fit the rows: {reason}")),
        ProposeError::LocksLost => locks_lost(),
        ProposeError::Forgotten => during_commit("it was known whether the transaction committed, and is forgotten"),
        ProposeError::Unknown { reason } => {
            during_commit(&format!("it is not known whether the transaction committed: {reason}"))
        }
    }
}
