//! A statement's text as STATEMENT_DIGEST_TEXT shows it: words in one form, values as `?`, lists of values as one.
//!
//! The rules are those of MySQL's digests, over our own tokens: a sign before a value belongs to it, values in a row make `?, ...`, rows of values
//! make one row, and a list behind IN is `IN (...)` however long it is.

use std::borrow::Cow;

use crate::SqlMode;
use crate::keywords::{self, Kw};
use crate::lexer::{Lexer, Tok, Token};

/// What MySQL keeps of a statement (`max_digest_length`): two bytes for a token, and for a name two more and its own.
const LONGEST: usize = 1024;

/// What may stand between `@@` and a variable.
const SCOPES: [&str; 3] = ["GLOBAL", "SESSION", "LOCAL"];

/// The digest of `sql`, a statement that parses.
pub fn digest_text(sql: &[u8], mode: SqlMode) -> String {
    let mut lexer = Lexer::new(sql, mode);
    let mut pieces = Pieces::default();
    // In ORDER BY and GROUP BY a number alone is a place.
    let mut may_be_place = false;
    while pieces.used <= LONGEST {
        governor::pause();
        let token = lexer.next();
        match token.kind {
            Tok::Eof | Tok::Bad => break,
            Tok::Integer if may_be_place && pieces.ends_in(&["BY", ","]) => pieces.push(text_of(sql, token)),
            Tok::Integer
            | Tok::Decimal
            | Tok::Float
            | Tok::HexNumber
            | Tok::BitNumber
            | Tok::HexString
            | Tok::BitString => pieces.number(),
            Tok::String | Tok::NationalString | Tok::Param | Tok::BackslashN => pieces.value(),
            Tok::Kw(Kw::NULL) if pieces.at_value() => pieces.value(),
            Tok::Kw(keyword) => {
                match keyword {
                    Kw::BY => may_be_place = pieces.ends_in(&["ORDER", "GROUP"]),
                    Kw::LIMIT | Kw::SELECT | Kw::HAVING | Kw::WITH | Kw::FOR => may_be_place = false,
                    _ => {}
                }
                pieces.push(word(keyword.text()));
            }
            Tok::RParen => pieces.close(),
            Tok::LParen => pieces.push("("),
            Tok::Ident => {
                let name = text_of(sql, token);
                if pieces.ends_in(&["@@"]) && SCOPES.iter().any(|scope| name.eq_ignore_ascii_case(scope)) {
                    pieces.push(name.to_ascii_uppercase());
                    continue;
                }
                match name.strip_prefix('_') {
                    Some(charset) if keywords::is_charset(charset.as_bytes()) => pieces.push("(_charset)"),
                    _ => pieces.push(format!("`{name}`")),
                }
            }
            Tok::QuotedIdent => {
                let text = text_of(sql, token);
                let quote = &text[..text.len().min(1)];
                let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
                pieces.push(format!("`{}`", inner.unwrap_or("").replace(&quote.repeat(2), quote)));
            }
            Tok::AtName => match text_of(sql, token) {
                name if name.starts_with("@`") => pieces.push(name),
                _ => pieces.push("@?"),
            },
            Tok::Ne => pieces.push("!="),
            _ => pieces.push(text_of(sql, token)),
        }
    }
    if pieces.used > LONGEST {
        pieces.pop();
    }
    while pieces.ends_in(&[";"]) {
        pieces.pop();
    }
    pieces.shown()
}

fn text_of<'a>(sql: &'a [u8], token: Token) -> Cow<'a, str> {
    String::from_utf8_lossy(&sql[token.start as usize..token.end as usize])
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece<'a> {
    Text(Cow<'a, str>),
    /// `?`
    Value,
    /// `?, ...`
    Values,
    /// `(?)`
    Row,
    Rows,
    /// `(...)`
    LongRow,
    LongRows,
    /// `IN (...)`
    InList,
}

impl Piece<'_> {
    fn text(&self) -> &str {
        match self {
            Piece::Text(text) => text,
            Piece::Value => "?",
            Piece::Values => "?, ...",
            Piece::Row => "(?)",
            Piece::Rows => "(?) /* , ... */",
            Piece::LongRow => "(...)",
            Piece::LongRows => "(...) /* , ... */",
            Piece::InList => "IN (...)",
        }
    }

    fn is(&self, wanted: &str) -> bool {
        matches!(self, Piece::Text(text) if text == wanted)
    }

    /// Of [`LONGEST`].
    fn bytes(&self) -> usize {
        match self {
            // Names have a number of two bytes beside the token's, and quotes here.
            Piece::Text(text) if text.starts_with('`') => text.len() + 2,
            _ => 2,
        }
    }
}

/// Of several words for one thing, the one that MySQL shows.
fn word(keyword: &'static str) -> &'static str {
    match keyword {
        "DISTINCT" => "DISTINCTROW",
        "INT" | "INT4" => "INTEGER",
        "INT1" => "TINYINT",
        "INT2" => "SMALLINT",
        "INT3" | "MEDIUMINT" => "MIDDLEINT",
        "BIGINT" => "INT8",
        "DEC" => "DECIMAL",
        "DOUBLE" => "FLOAT8",
        "VARCHAR" => "VARCHARACTER",
        "CHAR" => "CHARACTER",
        "REGEXP" => "RLIKE",
        "COLUMNS" => "FIELDS",
        "DESCRIBE" => "EXPLAIN",
        "ANY" => "SOME",
        "CURRENT_DATE" => "CURDATE",
        "CURRENT_TIME" => "CURTIME",
        "VARIANCE" => "VAR_POP",
        "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" => "NOW",
        "DATABASE" => "SCHEMA",
        "DATABASES" => "SCHEMAS",
        "USER" | "SESSION_USER" => "SYSTEM_USER",
        "MID" | "SUBSTR" => "SUBSTRING",
        "STD" | "STDDEV" => "STDDEV_POP",
        "DAY" => "SQL_TSI_DAY",
        "HOUR" => "SQL_TSI_HOUR",
        "MINUTE" => "SQL_TSI_MINUTE",
        "MONTH" => "SQL_TSI_MONTH",
        "QUARTER" => "SQL_TSI_QUARTER",
        "SECOND" => "SQL_TSI_SECOND",
        other => other,
    }
}

#[derive(Default)]
struct Pieces<'a> {
    list: Vec<Piece<'a>>,
    /// Of [`LONGEST`].
    used: usize,
}

impl<'a> Pieces<'a> {
    fn push(&mut self, text: impl Into<Cow<'a, str>>) {
        self.add(Piece::Text(text.into()));
    }

    fn add(&mut self, piece: Piece<'a>) {
        self.used += piece.bytes();
        self.list.push(piece);
    }

    fn pop(&mut self) {
        self.used -= self.list.pop().map_or(0, |piece| piece.bytes());
    }

    /// Puts a piece in the place of the last ones.
    fn replace(&mut self, last: usize, piece: Piece<'a>) {
        (0..last).for_each(|_| self.pop());
        self.add(piece);
    }

    fn ends_in(&self, words: &[&str]) -> bool {
        self.list
            .last()
            .is_some_and(|last| words.iter().any(|word| last.is(word)))
    }

    /// Whether a NULL here is a value, and not a word of a condition or of a definition.
    fn at_value(&self) -> bool {
        match self.list.as_slice() {
            [.., before, not] if not.is("NOT") => begins_expression(before),
            [.., set] if set.is("SET") => false,
            [.., before] => begins_expression(before),
            [] => false,
        }
    }

    /// A number, to which the signs before it belong unless something is before them that they could be operators of.
    fn number(&mut self) {
        while let [before @ .., sign] = self.list.as_slice()
            && (sign.is("-") || sign.is("+"))
            && before.last().is_none_or(begins_expression)
        {
            self.pop();
        }
        self.value();
    }

    fn value(&mut self) {
        match self.list.as_slice() {
            [.., Piece::Value | Piece::Values, comma] if comma.is(",") => self.replace(2, Piece::Values),
            _ => self.add(Piece::Value),
        }
    }

    /// `)`
    fn close(&mut self) {
        let (row, rows) = match self.list.as_slice() {
            [.., open, Piece::Value] if open.is("(") => (Piece::Row, Piece::Rows),
            [.., open, Piece::Values] if open.is("(") => (Piece::LongRow, Piece::LongRows),
            _ => return self.push(")"),
        };
        let before = &self.list[..self.list.len() - 2];
        match before {
            [.., word] if word.is("IN") => self.replace(3, Piece::InList),
            [.., before, comma] if comma.is(",") && (*before == row || *before == rows) => self.replace(4, rows),
            _ => self.replace(2, row),
        }
    }

    fn shown(&self) -> String {
        let mut shown = String::new();
        for piece in &self.list {
            if !shown.is_empty() && !shown.ends_with("@@") {
                shown.push(' ');
            }
            shown.push_str(piece.text());
        }
        shown
    }
}

/// Whether an expression may begin behind it.
fn begins_expression(piece: &Piece<'_>) -> bool {
    let Piece::Text(text) = piece else { return false };
    matches!(
        &**text,
        "(" | ","
            | "="
            | "!="
            | "<"
            | ">"
            | "<="
            | ">="
            | "<=>"
            | "+"
            | "-"
            | "*"
            | "/"
            | "%"
            | "&"
            | "|"
            | "^"
            | "~"
            | "!"
            | "<<"
            | ">>"
            | "&&"
            | "||"
            | ":="
            | "AND"
            | "OR"
            | "XOR"
            | "NOT"
            | "SELECT"
            | "WHERE"
            | "ON"
            | "HAVING"
            | "BY"
            | "WHEN"
            | "THEN"
            | "ELSE"
            | "CASE"
            | "BETWEEN"
            | "LIKE"
            | "IN"
            | "DIV"
            | "MOD"
            | "RLIKE"
            | "ESCAPE"
            | "INTERVAL"
            | "LIMIT"
            | "OFFSET"
            | "SET"
            | "RETURN"
            | "DEFAULT"
            | "VALUES"
            | "DISTINCTROW"
            | "ALL"
            | "IF"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(sql: &str) -> String {
        digest_text(sql.as_bytes(), SqlMode::default())
    }

    #[test]
    fn values_leave_the_text() {
        for (sql, shown) in [
            (
                "select a, -1 from t where b in (1, 2) -- c",
                "SELECT `a` , ? FROM `t` WHERE `b` IN (...)",
            ),
            (
                "insert into t values (1,2),(3,4);",
                "INSERT INTO `t` VALUES (...) /* , ... */",
            ),
            ("select _utf8mb4'x', _b, 'y' 'z'", "SELECT (_charset) ? , `_b` , ? ?"),
            (
                "create table t (a int not null default null)",
                "CREATE TABLE `t` ( `a` INTEGER NOT NULL DEFAULT ? )",
            ),
            ("select a is not null, not null", "SELECT `a` IS NOT NULL , NOT ?"),
        ] {
            assert_eq!(digest(sql), shown);
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let columns = digest(&format!("select {}a", "a,".repeat(2000)));
        assert_eq!(columns.len(), 882);
        let values = digest(&format!("select {}1", "1,".repeat(2000)));
        assert_eq!(values, "SELECT ?, ...");
        assert_eq!(digest(&format!("select {}", "a".repeat(2000))), "SELECT");
    }

    #[test]
    fn no_text_panics() {
        for text in [
            "`", "@`", "\"", "''", "(((", "1,,1", ")", "\\N", "@@", "x'4", "_utf8'x'", "/*!", "\u{fffd}", ";;",
        ] {
            digest(text);
        }
    }
}
