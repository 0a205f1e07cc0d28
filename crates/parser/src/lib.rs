//! MySQL 8.0's SQL, from text to tree and back.
//!
//! The parser knows the grammar and nothing else: no catalog, no types of columns, no execution. It reads one statement
//! from the front of a buffer and says where the next begins, so that a session can run several one after another.
//!
//! ```
//! # use parser::{parse, SqlMode};
//! let parsed = parse(b"SELECT c FROM sbtest1 WHERE id = ?; COMMIT", SqlMode::default()).unwrap();
//! assert_eq!(parsed.params, 1);
//! assert_eq!(parsed.statement.to_string(), "SELECT `c` FROM `sbtest1` WHERE `id` = ?");
//! ```
//!
//! In reading order:
//!
//! * [`ast`]: the tree, the vocabulary of everything behind the parser;
//! * [`mode`]: the SQL modes that change reading;
//! * [`error`]: MySQL's syntax errors, text included;
//! * [`printer`]: from the tree back to text;
//! * [`digest`]: a statement without its literals, the key of cached plans;
//! * [`digest_text`]: the same for people, as MySQL shows it.

pub mod ast;
pub mod digest;
pub mod digest_text;
pub mod error;
mod keywords;
mod lexer;
pub mod mode;
mod parser;
pub mod printer;
mod secrets;

pub use error::{ParseError, ParseErrorKind};
pub use mode::SqlMode;
pub use secrets::redacted;

use ast::{Expr, Statement};

/// The greatest height of a tree the parser makes, and the deepest nesting it reads, where the stack suffices: a little more than
/// MySQL accepts of anything. Beyond, the error is 1436.
pub const MAX_DEPTH: usize = 13_000;
/// Queries nest this deep; beyond, the error is 1473.
pub const MAX_QUERY_DEPTH: usize = 63;

/// A statement with what its text said beside the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    pub statement: Statement,
    /// Number of `?` parameters.
    pub params: u32,
    /// What the statement does with `@variables`.
    pub user_variables: UserVariables,
    /// Bytes read, the closing `;` included: the next statement begins here.
    pub consumed: usize,
    /// Nothing but white space, comments and semicolons follows.
    pub last: bool,
}

/// What a statement does with `@variables`, most first: whoever assigns one may read it, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum UserVariables {
    #[default]
    None,
    /// Their values, and so their types, are the same for the whole statement.
    Read,
    /// `@name := value`: they may change from row to row.
    Assigned,
}

/// Parses the first statement of `text`.
pub fn parse(text: &[u8], mode: SqlMode) -> Result<Parsed, ParseError> {
    parser::parse_first(text, mode, None)
}

/// The text without the blanks and semicolons at its end: MySQL drops them from a packet before it parses. Whoever parses statement after
/// statement of a text does so once before.
pub fn without_end(text: &[u8]) -> &[u8] {
    let dropped = governor::bulk::suffix_len(text, |byte| byte == b';' || byte.is_ascii_whitespace());
    &text[..text.len() - dropped]
}

/// Gives the bytes that a client sent for a text.
pub type AsSent<'a> = &'a dyn Fn(&[u8]) -> Box<[u8]>;

/// As [`parse`], for a text that came in another character set: a string behind an introducer consists of the bytes that were sent.
pub fn parse_converted(text: &[u8], mode: SqlMode, as_sent: AsSent<'_>) -> Result<Parsed, ParseError> {
    parser::parse_first(text, mode, Some(as_sent))
}

/// Parses the definition of a stored program, and what is in it; `None` beside another statement.
pub fn parse_program(text: &[u8], mode: SqlMode) -> Result<(Statement, Option<ast::Program>), ParseError> {
    parser::parse_definition(text, mode)
}

/// Parses `text` as one expression: what the catalog keeps of defaults, checks and generated columns.
pub fn parse_expr(text: &[u8], mode: SqlMode) -> Result<Expr, ParseError> {
    parser::parse_whole_expr(text, mode)
}
