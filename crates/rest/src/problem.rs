//! Errors as HTTP tells them: problem details (RFC 9457).
//!
//! ```json
//! {"type": "https://latsdb.org/problems/duplicate-key", "title": "The key is there already", "status": 409,
//!  "detail": "Duplicate entry '1' for key 't.PRIMARY'", "code": 1062, "sqlstate": "23000", "retry": false}
//! ```

use std::borrow::Cow;

use types::{ErrorKind, SqlError};

use crate::json;

pub const CONTENT_TYPE: &str = "application/problem+json";
/// After which a node that does not serve may be asked again.
const RETRY_AFTER_SECONDS: &str = "1";
const TYPES: &str = "https://latsdb.org/problems/";

/// Status, name and title.
type Class = (u16, &'static str, &'static str);

const UNAVAILABLE: Class = (503, "unavailable", "The node does not serve now");
const COMMIT: Class = (500, "commit", "The commit has failed, or its outcome is not known");

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub status: u16,
    /// The end of its type's address.
    pub name: &'static str,
    pub title: &'static str,
    pub detail: Cow<'static, str>,
    /// MySQL's number and SQLSTATE, where a statement has failed.
    pub error: Option<Box<(u16, String)>>,
    /// Whether the same request may be done the next time.
    pub retry: bool,
    /// Of a batch, which operation it was.
    pub operation: Option<usize>,
    pub headers: Vec<(&'static str, String)>,
}

impl Problem {
    pub fn new(status: u16, name: &'static str, title: &'static str, detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem {
            status,
            name,
            title,
            detail: detail.into(),
            error: None,
            retry: false,
            operation: None,
            headers: Vec::new(),
        }
    }

    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Problem {
        self.headers.push((name, value.into()));
        self
    }

    pub fn bad_request(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::new(400, "bad-request", "The request cannot be understood", detail)
    }

    pub fn not_found(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::new(404, "not-found", "There is nothing of this name", detail)
    }

    pub fn not_implemented(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::new(501, "not-implemented", "This is not implemented", detail)
    }

    pub fn unavailable(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem {
            retry: true,
            ..Problem::of_class(UNAVAILABLE, detail).with_header("retry-after", RETRY_AFTER_SECONDS)
        }
    }

    /// A commit whose answer did not come.
    pub fn unknown_commit(why: &str) -> Problem {
        Problem::of_class(
            COMMIT,
            format!("it is not known whether the transaction committed: {why}"),
        )
    }

    fn of_class((status, name, title): Class, detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::new(status, name, title, detail)
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(TYPES.as_bytes());
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(b"\",\"title\":");
        json::write_text(self.title, out);
        out.extend_from_slice(format!(",\"status\":{},\"detail\":", self.status).as_bytes());
        json::write_text(&self.detail, out);
        if let Some((code, sqlstate)) = self.error.as_deref() {
            out.extend_from_slice(format!(",\"code\":{code},\"sqlstate\":\"{sqlstate}\"").as_bytes());
        }
        if let Some(operation) = self.operation {
            out.extend_from_slice(format!(",\"operation\":{operation}").as_bytes());
        }
        out.extend_from_slice(match self.retry {
            true => b",\"retry\":true}",
            false => b",\"retry\":false}",
        });
    }
}

impl From<SqlError> for Problem {
    fn from(error: SqlError) -> Problem {
        let (status, name, title) = class_of(error.kind());
        let retry = matches!(status, 503 | 429) || name == "conflict";
        let mut problem = Problem {
            error: Some(Box::new((error.code(), error.sqlstate().to_owned()))),
            retry,
            ..Problem::new(status, name, title, error.message().to_owned())
        };
        if status == 503 {
            problem = problem.with_header("retry-after", RETRY_AFTER_SECONDS);
        }
        problem
    }
}

/// What HTTP calls an error of a statement.
fn class_of(kind: ErrorKind) -> Class {
    match kind.code() {
        // ER_DBACCESS_DENIED, ER_TABLEACCESS_DENIED, ER_COLUMNACCESS_DENIED, ER_SPECIFIC_ACCESS_DENIED, ER_PROCACCESS_DENIED,
        // ER_NONEXISTING_GRANT, ER_ACCESS_DENIED, expired and locked accounts.
        1044 | 1045 | 1141 | 1142 | 1143 | 1227 | 1370 | 1820 | 1862 | 3118 | 3159 | 3955 => {
            (403, "forbidden", "The account has not the right to do this")
        }
        // ER_BAD_DB, ER_NO_SUCH_TABLE, ER_SP_DOES_NOT_EXIST, ER_KEY_DOES_NOT_EXIST
        1049 | 1146 | 1305 | 1176 => (404, "not-found", "There is nothing of this name"),
        // ER_DUP_KEY, ER_DUP_ENTRY
        1022 | 1062 | 1586 => (409, "duplicate-key", "The key is there already"),
        // Foreign keys.
        1216 | 1217 | 1451 | 1452 => (409, "foreign-key", "Another row refers to it, or is missing"),
        // ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK, ER_LOCK_NOWAIT, ER_CHECKREAD, ER_TABLE_DEF_CHANGED
        1205 | 1213 | 3572 | 1020 | 1412 => (409, "conflict", "Another transaction was in the way"),
        // ER_CHECK_CONSTRAINT_VIOLATED, values that do not fit.
        3819 | 1048 | 1264 | 1265 | 1292 | 1364 | 1366 | 1406 | 3140 | 3141 => {
            (422, "bad-value", "A value does not fit its column")
        }
        // ER_CON_COUNT, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
        1040 | 1203 | 1226 => (429, "too-many", "There are too many of this account"),
        // ER_QUERY_TIMEOUT
        3024 => (504, "timeout", "The statement took too long"),
        // ER_SERVER_SHUTDOWN, ER_QUERY_INTERRUPTED, ER_SESSION_WAS_KILLED
        1053 | 1317 | 3169 => (503, "interrupted", "The statement was interrupted"),
        // No majority is reached.
        1047 => UNAVAILABLE,
        // ER_ERROR_DURING_COMMIT: whoever sends the request again has to find out first, or to have an idempotency key.
        1180 => COMMIT,
        // Memory, locks, the disk.
        1037 | 1038 | 1041 | 1114 | 1206 | 1021 => (507, "out-of-memory", "The node has no room for this"),
        // ER_NOT_SUPPORTED_YET
        1235 => (501, "not-implemented", "This is not implemented"),
        // ER_UNKNOWN_ERROR
        1105 => (500, "internal", "The node has failed"),
        _ => (400, "bad-statement", "The statement cannot be run"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_try_again_is_told_so() {
        let told = |kind: ErrorKind| {
            let problem = Problem::from(SqlError::with_message(kind, "why".to_owned()));
            let waits = problem.headers.iter().any(|(name, _)| *name == "retry-after");
            (problem.status, problem.name, problem.retry, waits)
        };
        assert_eq!(told(ErrorKind::UnknownCom), (503, "unavailable", true, true));
        assert_eq!(told(ErrorKind::ServerShutdown), (503, "interrupted", true, true));
        assert_eq!(told(ErrorKind::LockDeadlock), (409, "conflict", true, false));
        assert_eq!(
            told(ErrorKind::ErrorDuringCommit),
            (500, "commit", false, false),
            "what may have been done is not sent again"
        );
        assert_eq!(told(ErrorKind::NoSuchTable), (404, "not-found", false, false));
    }
}
