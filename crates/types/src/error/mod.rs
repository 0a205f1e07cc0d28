//! Errors and warnings as a client sees them: number, SQLSTATE, text.
//!
//! [`kinds`] is the one table that maps a kind to MySQL's number, SQLSTATE and message format; every other layer names
//! kinds. An error is one pointer wide, so that `Result<T, SqlError>` costs nothing on the good path.

mod kinds;

pub use kinds::ErrorKind;
use std::fmt;

use governor::{Interrupt, MemoryStop, Stop};

pub type SqlResult<T> = Result<T, SqlError>;

/// An error for the client. The text is complete; `kind` is what callers match on.
#[derive(Clone, PartialEq, Eq)]
pub struct SqlError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    signal: Option<Box<Signal>>,
}

/// What SIGNAL and RESIGNAL have said of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    pub code: u16,
    /// Five characters.
    pub sqlstate: Box<str>,
    /// `CLASS_ORIGIN`, `TABLE_NAME` and the like, by these names.
    pub items: Vec<(Box<str>, Box<str>)>,
}

impl SqlError {
    /// Fills the kind's message format: each `%` placeholder takes the next argument.
    ///
    /// ```
    /// use types::{ErrorKind, SqlError};
    /// let e = SqlError::new(ErrorKind::DupEntry, &[&"7", &"t.PRIMARY"]);
    /// assert_eq!(e.to_string(), "ERROR 1062 (23000): Duplicate entry '7' for key 't.PRIMARY'");
    /// ```
    pub fn new(kind: ErrorKind, args: &[&dyn fmt::Display]) -> SqlError {
        SqlError::with_message(kind, fill(kind.format(), args))
    }

    /// The kind's number and SQLSTATE under a text of the caller's own.
    pub fn with_message(kind: ErrorKind, message: impl Into<String>) -> SqlError {
        SqlError(Box::new(Inner {
            kind,
            message: message.into(),
            signal: None,
        }))
    }

    /// A condition of a program's own.
    pub fn signalled(kind: ErrorKind, message: impl Into<String>, signal: Signal) -> SqlError {
        SqlError(Box::new(Inner {
            kind,
            message: message.into(),
            signal: Some(Box::new(signal)),
        }))
    }

    /// What a program has said of it, if it is a condition of one.
    pub fn signal(&self) -> Option<&Signal> {
        self.0.signal.as_deref()
    }

    /// 1235 for a feature that LatsDB refuses: "This version of LatsDB doesn't yet support 'what'".
    pub fn not_supported(what: impl fmt::Display) -> SqlError {
        SqlError::new(ErrorKind::NotSupportedYet, &[&what])
    }

    /// 1815 for a broken invariant that concerns one statement only.
    pub fn internal(what: impl fmt::Display) -> SqlError {
        SqlError::new(ErrorKind::InternalError, &[&what])
    }

    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// MySQL's error number.
    pub fn code(&self) -> u16 {
        match &self.0.signal {
            Some(signal) => signal.code,
            None => self.0.kind.code(),
        }
    }

    /// Five characters.
    pub fn sqlstate(&self) -> &str {
        match &self.0.signal {
            Some(signal) => &signal.sqlstate,
            None => self.0.kind.sqlstate(),
        }
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl From<ErrorKind> for SqlError {
    /// For formats without placeholders.
    fn from(kind: ErrorKind) -> SqlError {
        SqlError::new(kind, &[])
    }
}

impl From<Stop> for SqlError {
    /// What a client reads when its statement was ended.
    #[cold]
    fn from(stop: Stop) -> SqlError {
        let no_memory = |text: String| SqlError::with_message(ErrorKind::OutOfSortMemory, text);
        match stop {
            Stop::Interrupt(Interrupt::KillQuery | Interrupt::KillConnection) => ErrorKind::QueryInterrupted.into(),
            Stop::Interrupt(Interrupt::Timeout) => ErrorKind::QueryTimeout.into(),
            Stop::Interrupt(Interrupt::Shutdown) => ErrorKind::ServerShutdown.into(),
            Stop::Memory(MemoryStop::Statement { bytes, limit }) => no_memory(format!(
                "Out of memory: the statement needs {bytes} bytes, query_memory_limit is {limit}"
            )),
            Stop::Memory(MemoryStop::Node { bytes, limit }) => no_memory(format!(
                "Out of memory: the session holds {bytes} bytes, and memory_limit of {limit} bytes is used up"
            )),
            Stop::Stack(stack) => SqlError::new(
                ErrorKind::StackOverrunNeedMore,
                &[&stack.used, &stack.size, &stack.needed],
            ),
        }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code(), self.sqlstate(), self.message())
    }
}

impl fmt::Debug for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SqlError {}

/// Most bytes of a message that arguments are filled into (MySQL's `MYSQL_ERRMSG_SIZE`, with the zero at its end).
const MAX_MESSAGE: usize = 511;

/// Takes text up to [`MAX_MESSAGE`], then fails: an argument may be a value of many megabytes.
struct Message(String);

impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_MESSAGE.saturating_sub(self.0.len());
        let end = text.floor_char_boundary(room);
        self.0.push_str(&text[..end]);
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

fn fill(format: &str, args: &[&dyn fmt::Display]) -> String {
    use fmt::Write;
    debug_assert_eq!(
        format.matches('%').count(),
        args.len(),
        "not the number of arguments that {format:?} takes"
    );
    let mut out = Message(String::with_capacity(format.len() + 16));
    let mut args = args.iter();
    for (i, piece) in format.split('%').enumerate() {
        let filled = match if i > 0 { args.next() } else { None } {
            Some(arg) => write!(out, "{arg}"),
            None => Ok(()),
        };
        if filled.and_then(|()| out.write_str(piece)).is_err() {
            break;
        }
    }
    out.0
}

/// The `Level` column of `SHOW WARNINGS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Note,
    Warning,
    Error,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "Note",
            Severity::Warning => "Warning",
            Severity::Error => "Error",
        }
    }
}

/// One row of `SHOW WARNINGS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub severity: Severity,
    pub error: SqlError,
}

/// The diagnostics of one statement: counts all, keeps the first `limit` (`max_error_count`).
#[derive(Debug, Clone)]
pub struct Warnings {
    kept: Vec<Warning>,
    total: u64,
    limit: usize,
}

impl Default for Warnings {
    fn default() -> Self {
        Warnings::with_limit(1024)
    }
}

impl Warnings {
    pub fn with_limit(limit: usize) -> Warnings {
        Warnings {
            kept: Vec::new(),
            total: 0,
            limit,
        }
    }

    pub fn push(&mut self, severity: Severity, error: SqlError) {
        self.total += 1;
        if self.kept.len() < self.limit {
            self.kept.push(Warning { severity, error });
        }
    }

    /// Adds at `Warning` level, the common case.
    pub fn warn(&mut self, error: SqlError) {
        self.push(Severity::Warning, error);
    }

    pub fn note(&mut self, error: SqlError) {
        self.push(Severity::Note, error);
    }

    /// Takes over what another list has collected.
    pub fn append(&mut self, mut other: Warnings) {
        let room = self.limit.saturating_sub(self.kept.len());
        other.kept.truncate(room);
        self.kept.append(&mut other.kept);
        self.total += other.total;
    }

    /// Tells otherwise what was raised after the first `told`.
    pub fn reword(&mut self, told: usize, word: impl Fn(SqlError) -> SqlError) {
        for warning in self.kept.iter_mut().skip(told) {
            warning.error = word(warning.error.clone());
        }
    }

    /// Errors among those kept: `@@error_count`.
    pub fn error_count(&self) -> u64 {
        self.kept
            .iter()
            .filter(|warning| warning.severity == Severity::Error)
            .count() as u64
    }

    pub fn clear(&mut self) {
        self.kept.clear();
        self.total = 0;
    }

    /// All that were raised, also those beyond the limit: `@@warning_count`.
    pub fn count(&self) -> u64 {
        self.total
    }

    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Warning> {
        self.kept.iter()
    }

    /// Forgets the first ones.
    pub fn forget_first(&mut self, count: usize) {
        let count = count.min(self.kept.len());
        self.kept.drain(..count);
        self.total = self.total.saturating_sub(count as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_takes_arguments_in_order() {
        let e = SqlError::new(ErrorKind::DataTooLong, &[&"c", &3]);
        assert_eq!(
            (e.code(), e.sqlstate(), e.message()),
            (1406, "22001", "Data too long for column 'c' at row 3")
        );
    }

    #[test]
    fn arguments_may_hold_percent_signs() {
        let e = SqlError::new(ErrorKind::DupEntry, &[&"100%", &"t.k"]);
        assert_eq!(e.message(), "Duplicate entry '100%' for key 't.k'");
    }

    #[test]
    fn a_message_has_an_end() {
        let long = "é".repeat(1 << 20);
        let e = SqlError::new(ErrorKind::DupEntry, &[&long, &"t.k"]);
        assert_eq!(e.message().len(), MAX_MESSAGE);
        assert!(e.message().starts_with("Duplicate entry 'éé"));
    }

    #[test]
    fn warnings_beyond_the_limit_are_counted_only() {
        let mut w = Warnings::with_limit(2);
        for _ in 0..5 {
            w.warn(ErrorKind::DivisionByZero.into());
        }
        assert_eq!((w.count(), w.iter().len()), (5, 2));
    }
}
