//! Errors of other layers as MySQL tells them.

use parser::{ParseError, ParseErrorKind};
use types::{ErrorKind, SqlError};

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
    let rest = String::from_utf8_lossy(&text[offset.min(text.len())..]);
    let near: String = rest.chars().take(NEAR_CHARS).collect();
    let line = 1 + text[..offset.min(text.len())]
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count();
    SqlError::new(ErrorKind::ParseError, &[&SYNTAX, &near, &line])
}

/// 1064 for a `?` outside a prepared statement.
pub fn parameter_in_text(text: &[u8]) -> SqlError {
    let offset = text.iter().position(|&byte| byte == b'?').unwrap_or(0);
    syntax_error_at(text, offset)
}
