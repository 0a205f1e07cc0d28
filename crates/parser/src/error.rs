//! What can be wrong with a statement's text.

use std::fmt;

/// Why a statement was not parsed. `Display` gives MySQL's message; [`ParseError::code`] its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    pub kind: ParseErrorKind,
    /// Byte offset of the offending token in the text given to the parser.
    pub offset: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// 1064 with the text from the offending token on (at most 80 characters) and its line.
    Syntax { near: Box<str>, line: u32 },
    /// 1436: the statement nests deeper than the stack, or than [`crate::MAX_DEPTH`].
    TooDeep { near: Box<str>, line: u32 },
    /// 1065: nothing but white space and comments.
    EmptyQuery,
    /// Any other error MySQL's parser raises, with its number, SQLSTATE and message.
    Other {
        code: u16,
        sqlstate: [u8; 5],
        message: Box<str>,
    },
}

impl ParseError {
    /// MySQL's error number.
    pub fn code(&self) -> u16 {
        match &self.kind {
            ParseErrorKind::Syntax { .. } => 1064,
            ParseErrorKind::TooDeep { .. } => 1436,
            ParseErrorKind::EmptyQuery => 1065,
            ParseErrorKind::Other { code, .. } => *code,
        }
    }

    /// The five characters of the SQLSTATE.
    pub fn sqlstate(&self) -> [u8; 5] {
        match &self.kind {
            ParseErrorKind::Other { sqlstate, .. } => *sqlstate,
            ParseErrorKind::TooDeep { .. } => *b"HY000",
            _ => *b"42000",
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ParseErrorKind::Syntax { near, line } => write!(
                f,
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
                 for the right syntax to use near '{near}' at line {line}"
            ),
            ParseErrorKind::TooDeep { near, line } => write!(f, "Thread stack overrun near '{near}' at line {line}"),
            ParseErrorKind::EmptyQuery => f.write_str("Query was empty"),
            ParseErrorKind::Other { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for ParseError {}
