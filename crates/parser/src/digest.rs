//! A statement's text with the literals taken out, so that a plan made for one statement serves all that differ from it in
//! literals only. One pass of the lexer, no tree: several times faster than parsing.
//!
//! ```
//! # use parser::{SqlMode, ast::Literal, digest::normalize};
//! let digest = normalize(b"SELECT c  FROM t WHERE id = 5", SqlMode::default()).unwrap();
//! assert_eq!(digest.sql(), b"SELECT c FROM t WHERE id = ?");
//! assert_eq!(digest.literals, [Literal::Int(5)]);
//! ```
//!
//! What comes out is SQL with parameters: on the first encounter it is parsed and planned like a prepared statement, later the
//! plan is found by [`Digest::key`] and run with the new literals. A literal is taken out only where a parameter means
//! the same thing, and stays in the text where it is part of what the statement *is*: in the select list (it names the column),
//! in ORDER BY and GROUP BY (it is a position), as a function's argument (it may decide the type), in types, hints, intervals.
//! The digest says of which kind each literal was, because the plan depends on it.

use crate::SqlMode;
use crate::ast::Literal;
use crate::keywords::Kw;
use crate::lexer::{Lexer, Tok};
use crate::parser::literal_value;

/// A normalized statement. Comparable only between sessions of the same [`SqlMode`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Digest {
    /// The statement, a zero byte, a letter per literal.
    key: Vec<u8>,
    sql_length: usize,
    /// In the order of the `?`s in the text.
    pub literals: Vec<Literal>,
}

impl Digest {
    /// Equal for statements that differ in literals only (and in white space).
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The statement with `?` for each literal.
    pub fn sql(&self) -> &[u8] {
        &self.key[..self.sql_length]
    }
}

/// The digest of `sql`, or None if its plan should not be cached: it is not one SELECT, INSERT, REPLACE, UPDATE or DELETE, it
/// has comments, hints or parameters, or it does not even make tokens.
pub fn normalize(sql: &[u8], mode: SqlMode) -> Option<Digest> {
    let mut digest = Digest::default();
    normalize_into(sql, mode, &mut digest).then_some(digest)
}

/// Like [`normalize`], into a digest whose memory is used again. If false, the content means nothing.
pub fn normalize_into(sql: &[u8], mode: SqlMode, digest: &mut Digest) -> bool {
    digest.key.clear();
    digest.literals.clear();
    if sql.len() > LONGEST {
        return false;
    }
    let mut scan = Scan {
        sql,
        mode,
        digest,
        allowed: [false; DEEPEST],
        depth: 0,
        is_update: false,
    };
    scan.run().is_some()
}

/// Longer statements are bulk loads, whose plans nobody asks for again.
const LONGEST: usize = 4096;
/// Nesting of parentheses.
const DEEPEST: usize = 16;

struct Scan<'a> {
    sql: &'a [u8],
    mode: SqlMode,
    digest: &'a mut Digest,
    /// Per open parenthesis: literals may be taken out.
    allowed: [bool; DEEPEST],
    depth: usize,
    /// In the assignments of an UPDATE.
    is_update: bool,
}

impl Scan<'_> {
    /// None if the statement is not to be cached.
    fn run(&mut self) -> Option<()> {
        let mut lexer = Lexer::new(self.sql, self.mode);
        let (mut before, mut last) = (Tok::Eof, Tok::Eof);
        // `run..end` is text to be kept as it is, not copied yet.
        let (mut run, mut end) = (0, 0);
        let mut kinds = [0; COUNT_MAX];
        loop {
            let token = lexer.next();
            let start = token.start as usize;
            match &self.sql[end..start] {
                b"" | b" " if last != Tok::Eof => {}
                gap if gap.iter().all(u8::is_ascii_whitespace) => {
                    self.keep(run, end);
                    if last != Tok::Eof && !matches!(token.kind, Tok::Eof | Tok::Semicolon) {
                        self.digest.key.push(b' ');
                    }
                    run = start;
                }
                _ => return None,
            }
            match token.kind {
                Tok::Eof | Tok::Semicolon => {
                    let ended = token.kind == Tok::Eof || lexer.next().kind == Tok::Eof;
                    if !ended || last == Tok::Eof {
                        return None;
                    }
                    self.keep(run, end.max(run));
                    break;
                }
                Tok::Bad | Tok::Param => return None,
                Tok::String if last == Tok::String => return None,
                kind => {
                    self.structure(kind, last)?;
                    end = token.end as usize;
                    if self.is_parameter(kind, last, before) {
                        *kinds.get_mut(self.digest.literals.len())? = letter(kind);
                        let literal = literal_value(self.sql, token, self.mode)?;
                        self.digest.literals.push(literal);
                        self.keep(run, start);
                        self.digest.key.push(b'?');
                        run = end;
                    }
                    (before, last) = (last, kind);
                }
            }
        }
        self.digest.sql_length = self.digest.key.len();
        self.digest.key.push(0);
        self.digest.key.extend_from_slice(&kinds[..self.digest.literals.len()]);
        Some(())
    }

    fn keep(&mut self, from: usize, to: usize) {
        self.digest.key.extend_from_slice(&self.sql[from..to]);
    }

    /// Notes what the token says about where literals may be taken out.
    fn structure(&mut self, kind: Tok, last: Tok) -> Option<()> {
        if last == Tok::Eof && !matches!(kind, Tok::Kw(_)) {
            return None;
        }
        let allowed = match kind {
            Tok::Kw(keyword) => {
                if last == Tok::Eof {
                    self.is_update = keyword == Kw::UPDATE;
                    if !matches!(keyword, Kw::SELECT | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE) {
                        return None;
                    }
                }
                // From here on it is a condition, whose expressions an index may keep.
                self.is_update &= keyword != Kw::WHERE;
                match keyword {
                    Kw::WHERE | Kw::ON | Kw::HAVING | Kw::VALUES | Kw::VALUE | Kw::SET | Kw::LIMIT => true,
                    Kw::SELECT | Kw::FROM | Kw::ORDER | Kw::GROUP | Kw::WINDOW => false,
                    _ => return Some(()),
                }
            }
            Tok::LParen => {
                let inherited = self.allowed[self.depth] && !names_function(last);
                self.depth += 1;
                if self.depth == DEEPEST {
                    return None;
                }
                inherited
            }
            Tok::RParen => {
                self.depth = self.depth.checked_sub(1)?;
                return Some(());
            }
            _ => return Some(()),
        };
        self.allowed[self.depth] = allowed;
        Some(())
    }

    /// The token is a literal, and a parameter in its place means the same.
    fn is_parameter(&self, kind: Tok, last: Tok, before: Tok) -> bool {
        if !matches!(kind, Tok::Integer | Tok::Decimal | Tok::Float | Tok::String) || !self.allowed[self.depth] {
            return false;
        }
        match last {
            Tok::Minus if is_value_follows(before) => kind != Tok::String,
            Tok::Plus | Tok::Minus => self.is_update && kind == Tok::Integer,
            _ => is_value_follows(last),
        }
    }
}

/// More literals than this are a bulk statement.
const COUNT_MAX: usize = 256;

fn letter(kind: Tok) -> u8 {
    match kind {
        Tok::Integer => b'i',
        Tok::Decimal => b'd',
        Tok::Float => b'f',
        _ => b's',
    }
}

/// `name(` is a function, or a list of something else than values.
fn names_function(last: Tok) -> bool {
    match last {
        Tok::Ident | Tok::QuotedIdent => true,
        Tok::Kw(keyword) => !matches!(
            keyword,
            Kw::VALUES
                | Kw::VALUE
                | Kw::IN
                | Kw::AND
                | Kw::OR
                | Kw::NOT
                | Kw::WHERE
                | Kw::ON
                | Kw::HAVING
                | Kw::BETWEEN
        ),
        _ => false,
    }
}

/// What follows is a value of its own.
fn is_value_follows(last: Tok) -> bool {
    matches!(
        last,
        Tok::Eq
            | Tok::NullSafeEq
            | Tok::Ne
            | Tok::Lt
            | Tok::Le
            | Tok::Gt
            | Tok::Ge
            | Tok::LParen
            | Tok::Comma
            | Tok::Kw(Kw::BETWEEN | Kw::AND | Kw::LIKE | Kw::LIMIT | Kw::OFFSET)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(sql: &str) -> Option<(String, Vec<Literal>)> {
        let digest = normalize(sql.as_bytes(), SqlMode::default())?;
        Some((String::from_utf8(digest.sql().to_vec()).unwrap(), digest.literals))
    }

    fn sql(text: &str) -> String {
        digest(text).unwrap_or_else(|| panic!("no digest of {text}")).0
    }

    #[test]
    fn literals_leave_where_a_parameter_means_the_same() {
        for (text, normalized) in [
            ("SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id=?"),
            (
                "SELECT c FROM t WHERE id BETWEEN 5 AND -7",
                "SELECT c FROM t WHERE id BETWEEN ? AND -?",
            ),
            (
                "SELECT c\n\tFROM t WHERE a IN (1, 'x', 2.5)  LIMIT 10 ",
                "SELECT c FROM t WHERE a IN (?, ?, ?) LIMIT ?",
            ),
            (
                "UPDATE t SET k=k+1, c='x' WHERE id = 5;",
                "UPDATE t SET k=k+?, c=? WHERE id = ?",
            ),
            (
                "INSERT INTO t (a) VALUES (1, 'x'), (-2, NULL)",
                "INSERT INTO t (a) VALUES (?, ?), (-?, NULL)",
            ),
            (
                "DELETE FROM t WHERE a LIKE 'x%' AND (b > 1e3)",
                "DELETE FROM t WHERE a LIKE ? AND (b > ?)",
            ),
        ] {
            assert_eq!(sql(text), normalized);
        }
        let (_, literals) = digest("SELECT a FROM t WHERE b = 'it''s\\n' AND c = 7").unwrap();
        assert_eq!(literals, [Literal::String((*b"it's\n").into()), Literal::Int(7)]);
    }

    #[test]
    fn literals_stay_where_they_are_part_of_the_statement() {
        for text in [
            "SELECT 1, 'x' FROM t",
            "SELECT a + 1 FROM t GROUP BY a + 1, 2 ORDER BY 1",
            "SELECT a FROM t WHERE ROUND(b, 2) > c",
            "UPDATE t SET a = b WHERE c + 1 > d",
            "SELECT a FROM t WHERE b > c + INTERVAL 1 DAY",
            "SELECT a FROM t WHERE CAST(b AS CHAR(10)) = c",
            "SELECT a FROM t WHERE d->'$.x' = DATE '2020-01-01'",
            "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u)",
            "SELECT a FROM t WHERE a = _latin1'x' OR a = X'41' OR a = 0x41 OR a = N'x'",
        ] {
            assert_eq!(sql(text), text);
        }
    }

    #[test]
    fn kinds_of_literals_are_part_of_the_key() {
        let key = |sql: &str| normalize(sql.as_bytes(), SqlMode::default()).map(|digest| digest.key().to_vec());
        assert_eq!(key("SELECT a FROM t WHERE b = 1"), key("SELECT a FROM t WHERE  b = 23"));
        assert_ne!(key("SELECT a FROM t WHERE b = 1"), key("SELECT a FROM t WHERE b = '1'"));
        assert_ne!(key("SELECT a FROM t WHERE b = 1"), key("SELECT a FROM t WHERE b = 1.0"));
    }

    #[test]
    fn odd_statements_have_no_digest() {
        for text in [
            "",
            "BEGIN",
            "SET a = 1",
            "SELECT /*+ BKA() */ a FROM t",
            "SELECT /*! 1 */",
            "SELECT a FROM t -- x",
            "SELECT a FROM t WHERE b = ?",
            "SELECT 1; SELECT 2",
            "SELECT a FROM t WHERE b = 'x' 'y'",
            "SELECT 'x",
            "SELECT a)))))",
            "(SELECT 1)",
        ] {
            assert_eq!(digest(text), None, "{text}");
        }
        let deep = format!("SELECT a FROM t WHERE {}1{}", "(".repeat(100), ")".repeat(100));
        assert_eq!(digest(&deep), None);
    }
}
