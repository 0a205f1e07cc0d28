//! Recursive descent over the tokens, one module per family of statements.
//!
//! The parser looks at the current token and rarely at the next one; it never goes back. An error is always about the
//! current token, which gives MySQL's "near" text.
//!
//! Two counters keep trees as low as a stack can hold. `depth` is how deep the parser's own recursion is. `peak` is the height of the highest
//! expression, query or join parsed since its enclosing one began; what grows to the left in a loop (`a + b + c`) adds to it
//! at every turn, so that the tree stays below [`MAX_DEPTH`] too.

mod account;
mod admin;
mod aggregate;
mod alter;
mod column;
mod create_table;
mod ddl;
mod dml;
mod expr;
mod function;
mod literal;
mod names;
mod partition;
mod predicate;
mod program;
mod query;
mod replication;
mod set;
mod show;
mod statement;
mod stored;
mod table_option;
mod table_ref;
mod transaction;

pub(crate) use expr::level;
pub(crate) use function::is_plain_call;
pub(crate) use literal::literal_value;

use governor::stepwise::Stepwise;

use crate::ast::*;
use crate::error::{ParseError, ParseErrorKind};
use crate::keywords::{Class, Kw};
use crate::lexer::{self, Lexer, Tok, Token};
use crate::{AsSent, MAX_DEPTH, MAX_QUERY_DEPTH, Parsed, SqlMode, UserVariables};

/// The parse failed; [`Parser::error`] says why.
#[derive(Debug)]
pub(crate) struct Fail;

pub(crate) type PResult<T> = Result<T, Fail>;

pub(crate) struct Parser<'a> {
    text: &'a [u8],
    mode: SqlMode,
    as_sent: Option<AsSent<'a>>,
    lexer: Lexer<'a>,
    tok: Token,
    ahead: Option<Token>,
    /// End of the last token consumed.
    prev_end: u32,
    params: u32,
    user_variables: UserVariables,
    depth: usize,
    query_depth: usize,
    peak: usize,
    /// The INTO of a SELECT whose query is not finished yet.
    pending_into: Option<Box<SelectInto>>,
    /// The stored program whose body is being read.
    program: Option<Box<program::ProgramScope>>,
    /// The one that has been read.
    finished: Option<Box<Program>>,
    error: Option<ParseError>,
}

/// Parses the first statement of `text`.
pub(crate) fn parse_first<'a>(
    text: &'a [u8],
    mode: SqlMode,
    as_sent: Option<AsSent<'a>>,
) -> Result<Parsed, ParseError> {
    let mut parser = Parser::new(text, mode)?;
    parser.as_sent = as_sent;
    match parser.first_statement() {
        Ok(parsed) => Ok(parsed),
        Err(Fail) => Err(parser.take_error()),
    }
}

/// Parses the definition of a stored program with its inside; `None`: it is another statement.
pub(crate) fn parse_definition(text: &[u8], mode: SqlMode) -> Result<(Statement, Option<Program>), ParseError> {
    let mut parser = Parser::new(text, mode)?;
    match parser.first_statement() {
        Ok(parsed) => Ok((parsed.statement, parser.finished.take().map(|program| *program))),
        Err(Fail) => Err(parser.take_error()),
    }
}

/// Parses `text` as one expression.
pub(crate) fn parse_whole_expr(text: &[u8], mode: SqlMode) -> Result<Expr, ParseError> {
    let mut parser = Parser::new(text, mode)?;
    let whole = parser
        .expr()
        .and_then(|expr| parser.expect_tok(Tok::Eof).map(|()| expr));
    whole.map_err(|Fail| parser.take_error())
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8], mode: SqlMode) -> Result<Self, ParseError> {
        if u32::try_from(text.len()).is_err() {
            return Err(ParseError {
                kind: ParseErrorKind::TooDeep {
                    near: "".into(),
                    line: 1,
                },
                offset: 0,
            });
        }
        let text = crate::without_end(text);
        let mut lexer = Lexer::new(text, mode);
        let tok = lexer.next();
        Ok(Parser {
            text,
            mode,
            as_sent: None,
            lexer,
            tok,
            ahead: None,
            prev_end: 0,
            params: 0,
            user_variables: UserVariables::None,
            depth: 0,
            query_depth: 0,
            peak: 0,
            pending_into: None,
            program: None,
            finished: None,
            error: None,
        })
    }

    fn first_statement(&mut self) -> PResult<Parsed> {
        if self.tok.kind == Tok::Eof {
            return Err(self.fail(ParseErrorKind::EmptyQuery));
        }
        let statement = self.statement()?;
        let mut consumed = self.tok.end as usize;
        if self.tok.kind == Tok::Semicolon {
            self.bump();
        } else if self.tok.kind == Tok::Eof {
            consumed = self.text.len();
        } else {
            return Err(self.unexpected());
        }
        Ok(Parsed {
            statement,
            params: self.params,
            user_variables: self.user_variables,
            consumed,
            last: self.tok.kind == Tok::Eof,
        })
    }

    fn take_error(&mut self) -> ParseError {
        self.error.take().expect("a failed parse has recorded its error")
    }

    // ---- errors ----

    fn fail(&mut self, kind: ParseErrorKind) -> Fail {
        let offset = self.tok.start as usize;
        self.error.get_or_insert(ParseError { kind, offset });
        Fail
    }

    /// A syntax error at the current token.
    #[cold]
    fn unexpected(&mut self) -> Fail {
        let (near, line) = self.near(self.tok.start as usize);
        self.fail(ParseErrorKind::Syntax { near, line })
    }

    #[cold]
    fn too_deep(&mut self) -> Fail {
        let (near, line) = self.near(self.tok.start as usize);
        self.fail(ParseErrorKind::TooDeep { near, line })
    }

    #[cold]
    fn other(&mut self, code: u16, sqlstate: &[u8; 5], message: String) -> Fail {
        self.fail(ParseErrorKind::Other {
            code,
            sqlstate: *sqlstate,
            message: message.into(),
        })
    }

    /// The text from `offset` on, as far as it goes into a message, and its line. The server's messages are in `utf8mb3`: what
    /// that lacks is a question mark.
    fn near(&self, offset: usize) -> (Box<str>, u32) {
        const LONGEST: usize = 80;
        // Of a statement that has to end nobody reads the message.
        if governor::check().is_err() {
            return ("".into(), 1);
        }
        // Enough for every character to take the most bytes, and for a secret that stands between them.
        let end = self.text.len().min(offset + 2 * LONGEST);
        // A message may end up in anybody's log.
        let rest = crate::secrets::redacted_from(&self.text[..end], offset);
        let mut near = String::new();
        for char in String::from_utf8_lossy(&rest[..rest.len().min(2 * LONGEST)]).chars() {
            let char = if u32::from(char) > 0xffff { '?' } else { char };
            if near.len() + char.len_utf8() > LONGEST {
                break;
            }
            near.push(char);
        }
        let lines = |piece: &[u8]| piece.iter().filter(|&&byte| byte == b'\n').count() as u32;
        let line = 1 + governor::bulk::pieces(&self.text[..offset]).map(lines).sum::<u32>();
        (near.into(), line)
    }

    // ---- depth ----

    fn enter(&mut self) -> PResult<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH || governor::descend().is_err() {
            Err(self.too_deep())
        } else {
            Ok(())
        }
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Runs `parse` one level deeper. What it makes counts as one higher than the highest thing inside.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        self.enter()?;
        let outer = std::mem::replace(&mut self.peak, 0);
        let parsed = parse(self)?;
        let height = self.peak + 1;
        self.check_height(height)?;
        self.peak = outer.max(height);
        self.leave();
        Ok(parsed)
    }

    /// A query in a query.
    fn nested_query<T>(&mut self, parse: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        self.query_depth += 1;
        if self.query_depth > MAX_QUERY_DEPTH {
            let message = "Too high level of nesting for select".to_owned();
            return Err(self.other(1473, b"HY000", message));
        }
        let parsed = self.nested(parse)?;
        self.query_depth -= 1;
        Ok(parsed)
    }

    fn check_height(&mut self, height: usize) -> PResult<()> {
        if height > MAX_DEPTH {
            Err(self.too_deep())
        } else {
            Ok(())
        }
    }

    // ---- tokens ----

    fn bump(&mut self) -> Token {
        let consumed = self.tok;
        self.prev_end = consumed.end;
        self.tok = match self.ahead.take() {
            Some(token) => token,
            None => self.lexer.next(),
        };
        // Nobody looks at what was made of a statement that has to end.
        if !governor::go_on() {
            self.tok.kind = Tok::Eof;
        }
        consumed
    }

    /// The kind of the current token.
    fn kind(&self) -> Tok {
        self.tok.kind
    }

    /// The kind of the token after the current one.
    fn peek(&mut self) -> Tok {
        match self.ahead {
            Some(token) => token.kind,
            None => self.ahead.insert(self.lexer.next()).kind,
        }
    }

    fn slice(&self, token: Token) -> &'a [u8] {
        &self.text[token.start as usize..token.end as usize]
    }

    fn at(&self, keyword: Kw) -> bool {
        self.tok.kind == Tok::Kw(keyword)
    }

    fn at_tok(&self, kind: Tok) -> bool {
        self.tok.kind == kind
    }

    fn at_any(&self, keywords: &[Kw]) -> bool {
        matches!(self.tok.kind, Tok::Kw(keyword) if keywords.contains(&keyword))
    }

    fn peek_is(&mut self, keyword: Kw) -> bool {
        self.peek() == Tok::Kw(keyword)
    }

    fn eat(&mut self, keyword: Kw) -> bool {
        let there = self.at(keyword);
        if there {
            self.bump();
        }
        there
    }

    fn eat_tok(&mut self, kind: Tok) -> bool {
        let there = self.at_tok(kind);
        if there {
            self.bump();
        }
        there
    }

    /// Consumes one of the keywords, and says which.
    fn eat_any(&mut self, keywords: &[Kw]) -> Option<Kw> {
        match self.kind() {
            Tok::Kw(keyword) if keywords.contains(&keyword) => {
                self.bump();
                Some(keyword)
            }
            _ => None,
        }
    }

    /// Consumes both keywords, or neither.
    fn eat_pair(&mut self, first: Kw, second: Kw) -> bool {
        let there = self.at(first) && self.peek_is(second);
        if there {
            self.bump();
            self.bump();
        }
        there
    }

    fn expect(&mut self, keyword: Kw) -> PResult<()> {
        if self.eat(keyword) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn expect_all(&mut self, keywords: &[Kw]) -> PResult<()> {
        keywords.iter().try_for_each(|&keyword| self.expect(keyword))
    }

    fn expect_tok(&mut self, kind: Tok) -> PResult<()> {
        if self.eat_tok(kind) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn expect_any(&mut self, keywords: &[Kw]) -> PResult<Kw> {
        match self.eat_any(keywords) {
            Some(keyword) => Ok(keyword),
            None => Err(self.unexpected()),
        }
    }

    /// `IF EXISTS`
    fn if_exists(&mut self) -> PResult<bool> {
        if !self.eat(Kw::IF) {
            return Ok(false);
        }
        self.expect(Kw::EXISTS)?;
        Ok(true)
    }

    /// `IF NOT EXISTS`
    fn if_not_exists(&mut self) -> PResult<bool> {
        if !self.eat(Kw::IF) {
            return Ok(false);
        }
        self.expect_all(&[Kw::NOT, Kw::EXISTS])?;
        Ok(true)
    }

    /// `=`, which many options allow and none needs.
    fn opt_eq(&mut self) {
        self.eat_tok(Tok::Eq);
    }

    /// `=` or `:=`
    fn expect_set(&mut self) -> PResult<()> {
        if self.eat_tok(Tok::Eq) || self.eat_tok(Tok::Assign) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// One or more, separated by commas.
    fn list<T: Send + 'static>(&mut self, mut item: impl FnMut(&mut Self) -> PResult<T>) -> PResult<Vec<T>> {
        let mut items = Stepwise::from(vec![item(self)?]);
        while self.eat_tok(Tok::Comma) {
            items.push(item(self)?);
        }
        Ok(std::mem::take(&mut *items))
    }

    /// `(a, b)`
    fn paren_list<T: Send + 'static>(&mut self, item: impl FnMut(&mut Self) -> PResult<T>) -> PResult<Vec<T>> {
        self.expect_tok(Tok::LParen)?;
        let items = self.list(item)?;
        self.expect_tok(Tok::RParen)?;
        Ok(items)
    }

    // ---- names ----

    fn is_ident(kind: Tok) -> bool {
        match kind {
            Tok::Ident | Tok::QuotedIdent => true,
            Tok::Kw(keyword) => keyword.class() == Class::Free,
            _ => false,
        }
    }

    fn at_ident(&self) -> bool {
        Self::is_ident(self.tok.kind)
    }

    fn ident(&mut self) -> PResult<Ident> {
        match self.kind() {
            Tok::Ident => {}
            Tok::QuotedIdent => {}
            Tok::Kw(keyword) if keyword.class() == Class::Free => {}
            _ => return Err(self.unexpected()),
        }
        let ident = self.name_of(self.tok)?;
        self.bump();
        Ok(ident)
    }

    /// The name a word or quoted name stands for.
    fn name_of(&mut self, token: Token) -> PResult<Ident> {
        let text = self.slice(token);
        if token.kind != Tok::QuotedIdent {
            return self.utf8(text).map(|name| Ident(name.into()));
        }
        let inner = &text[1..text.len() - 1];
        if token.escaped {
            let unescaped = lexer::unescape(inner, text[0], false);
            return self.utf8(&unescaped).map(|name| Ident(name.into()));
        }
        self.utf8(inner).map(|name| Ident(name.into()))
    }

    fn utf8<'b>(&mut self, bytes: &'b [u8]) -> PResult<&'b str> {
        std::str::from_utf8(bytes).map_err(|_| self.invalid_characters(bytes))
    }

    #[cold]
    fn invalid_characters(&mut self, bytes: &[u8]) -> Fail {
        let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        let shown: String = bytes[valid..]
            .iter()
            .take(6)
            .map(|byte| format!("\\x{byte:02X}"))
            .collect();
        self.other(1300, b"HY000", format!("Invalid utf8mb4 character string: '{shown}'"))
    }

    /// A name, or a string in its place: aliases, engines, character sets.
    fn ident_or_text(&mut self) -> PResult<Ident> {
        if self.at_tok(Tok::String) {
            return self.text().map(Ident);
        }
        self.ident()
    }

    /// `[schema.]name`
    fn table_name(&mut self) -> PResult<TableName> {
        let first = self.ident()?;
        if self.eat_tok(Tok::Dot) {
            return Ok(TableName {
                schema: Some(first),
                name: self.ident()?,
            });
        }
        Ok(TableName {
            schema: None,
            name: first,
        })
    }

    /// `[[schema.]table.]column`
    fn column_name(&mut self) -> PResult<ColumnName> {
        let first = self.ident()?;
        if !self.eat_tok(Tok::Dot) {
            return Ok(ColumnName {
                schema: None,
                table: None,
                name: first,
            });
        }
        let second = self.ident()?;
        if !self.eat_tok(Tok::Dot) {
            return Ok(ColumnName {
                schema: None,
                table: Some(first),
                name: second,
            });
        }
        Ok(ColumnName {
            schema: Some(first),
            table: Some(second),
            name: self.ident()?,
        })
    }

    fn paren_idents(&mut self) -> PResult<Vec<Ident>> {
        self.paren_list(Self::ident)
    }

    /// `[(a, b)]`
    fn opt_paren_idents(&mut self) -> PResult<Vec<Ident>> {
        if self.at_tok(Tok::LParen) {
            self.paren_idents()
        } else {
            Ok(Vec::new())
        }
    }

    /// A character set by name, lower case; `BINARY` is one.
    fn charset_name(&mut self) -> PResult<Ident> {
        let name = if self.eat(Kw::BINARY) {
            Ident::from("binary")
        } else {
            self.ident_or_text()?
        };
        Ok(Ident(name.to_ascii_lowercase().into()))
    }

    /// A collation by name; `BINARY` is one.
    fn collation_name(&mut self) -> PResult<Ident> {
        if self.eat(Kw::BINARY) {
            Ok(Ident::from("binary"))
        } else {
            self.ident_or_text()
        }
    }

    /// Consumes `CHARSET` or `CHARACTER SET`.
    fn eat_charset(&mut self) -> PResult<bool> {
        if self.eat(Kw::CHARSET) {
            return Ok(true);
        }
        if self.at(Kw::CHARACTER) || self.at(Kw::CHAR) {
            self.bump();
            self.expect(Kw::SET)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// The word at the current token, in upper case, whatever it is in the grammar.
    fn word_upper(&mut self) -> PResult<Box<str>> {
        let word = match self.kind() {
            Tok::Ident | Tok::Kw(_) => self.utf8(self.slice(self.tok))?.to_ascii_uppercase(),
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(word.into())
    }

    /// The current token is this word, which is no keyword of the grammar elsewhere.
    fn at_word(&self, word: &str) -> bool {
        self.at_tok(Tok::Ident) && self.slice(self.tok).eq_ignore_ascii_case(word.as_bytes())
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let there = self.at_word(word);
        if there {
            self.bump();
        }
        there
    }

    /// One of the words, which are in upper case.
    fn one_of_words(&mut self, words: &[&str]) -> PResult<Box<str>> {
        if let Tok::Ident | Tok::Kw(_) = self.tok.kind {
            let written = self.slice(self.tok);
            if let Some(word) = words.iter().find(|word| written.eq_ignore_ascii_case(word.as_bytes())) {
                self.bump();
                return Ok((*word).into());
            }
        }
        Err(self.unexpected())
    }

    /// A syntax error at `token`, which has been consumed.
    #[cold]
    fn unexpected_at(&mut self, token: Token) -> Fail {
        self.tok = token;
        self.unexpected()
    }

    /// The longest of the phrases (words in upper case, a space between) that stands here; an error where none goes on.
    fn phrase(&mut self, phrases: &[&str]) -> PResult<Box<str>> {
        let mut found = String::new();
        loop {
            let goes_on = |words: &str| {
                phrases.iter().any(|phrase| {
                    phrase
                        .strip_prefix(words)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
                })
            };
            if let Tok::Ident | Tok::Kw(_) = self.tok.kind {
                let word = String::from_utf8_lossy(self.slice(self.tok)).to_ascii_uppercase();
                let longer = if found.is_empty() {
                    word
                } else {
                    format!("{found} {word}")
                };
                if goes_on(&longer) {
                    found = longer;
                    self.bump();
                    continue;
                }
            }
            return if phrases.contains(&found.as_str()) {
                Ok(found.into())
            } else {
                Err(self.unexpected())
            };
        }
    }
}
