//! Bytes to tokens.
//!
//! A token is a kind and a range of the text; what it stands for (a name, the bytes of a string) is taken out later, when
//! it is wanted. Comments vanish here, executable ones (`/*!80000 ... */`) are read as the text they contain.
//!
//! Whether a word is a keyword depends, as in MySQL, on what touches it: after a dot it is always a name (`t.select`), before
//! one too (`select.a`), and some function names are keywords only when `(` follows at once.

use governor::bulk;

use crate::SqlMode;
use crate::keywords::{self, Class, Kw};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tok {
    Eof,
    /// A character or sequence that begins no token, an unterminated string, quoted name or comment.
    Bad,
    Kw(Kw),
    /// An unquoted name.
    Ident,
    /// In backticks, or double quotes under ANSI_QUOTES.
    QuotedIdent,
    String,
    /// `N'...'`
    NationalString,
    /// `X'..'`, with an even number of digits.
    HexString,
    /// `0x..`
    HexNumber,
    BitString,
    BitNumber,
    Integer,
    /// With a point.
    Decimal,
    /// With an exponent.
    Float,
    /// `@name`, `@'name'`; also the host of an account.
    AtName,
    /// `@@`, directly followed by a name.
    AtAt,
    /// `\N`
    BackslashN,
    Param,
    LParen,
    RParen,
    LBrace,
    RBrace,
    Comma,
    Semicolon,
    Dot,
    Colon,
    /// `:=`
    Assign,
    Eq,
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    ShiftLeft,
    ShiftRight,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Tilde,
    Bang,
    Ampersand,
    AndAnd,
    Pipe,
    OrOr,
    /// `->`
    Arrow,
    /// `->>`
    LongArrow,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub kind: Tok,
    pub start: u32,
    pub end: u32,
    /// A quoted token with escapes or doubled quotes inside.
    pub escaped: bool,
}

/// Executable comments run up to this server version.
const VERSION: u32 = 80036;
/// How TiDB writes what MySQL has not, and is to skip; of its features this is the one known here.
const EXECUTABLE_FOR_US: &[u8] = b"/*T![ttl]";

#[derive(Debug, Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    pos: usize,
    mode: SqlMode,
    /// The last token was an unquoted name and a dot touches it: `a.5` is a name in `a`, not `.5`.
    dot_touches: bool,
    /// The last token was a dot and a name touches it.
    name_touches: bool,
    in_executable_comment: bool,
    after_verb: bool,
    /// Inside of the optimizer hint after the last SELECT, INSERT, REPLACE, UPDATE or DELETE.
    pub hint: Option<(u32, u32)>,
}

impl<'a> Lexer<'a> {
    /// `text` is shorter than 4 GiB.
    pub fn new(text: &'a [u8], mode: SqlMode) -> Self {
        Lexer {
            text,
            pos: 0,
            mode,
            dot_touches: false,
            name_touches: false,
            in_executable_comment: false,
            after_verb: false,
            hint: None,
        }
    }

    pub fn next(&mut self) -> Token {
        if self.name_touches {
            self.name_touches = false;
            let start = self.pos;
            self.skip_word();
            self.dot_touches = self.dot_then_name();
            return self.token(Tok::Ident, start);
        }
        let unclosed = self.skip_blanks();
        let start = self.pos;
        self.after_verb = false;
        if unclosed.is_some() {
            self.pos = self.text.len();
            return self.token(Tok::Bad, start);
        }
        let Some(&byte) = self.text.get(start) else {
            let kind = if self.in_executable_comment { Tok::Bad } else { Tok::Eof };
            return self.token(kind, start);
        };
        match CLASSES[byte as usize] {
            ByteClass::Letter => self.word(start),
            ByteClass::Digit => self.number(start),
            _ => self.symbol(byte, start),
        }
    }

    fn token(&self, kind: Tok, start: usize) -> Token {
        Token {
            kind,
            start: start as u32,
            end: self.pos as u32,
            escaped: false,
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// Skips white space and comments. Returns the start of a comment that has no end.
    fn skip_blanks(&mut self) -> Option<usize> {
        loop {
            let byte = *self.text.get(self.pos)?;
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => {
                    self.pos += 1;
                    if self.pos.is_multiple_of(bulk::PIECE) {
                        governor::pause();
                    }
                }
                b'#' => self.skip_line(),
                b'-' if self.peek(1) == b'-' && self.pos + 2 >= self.text.len() => self.skip_line(),
                b'-' if self.peek(1) == b'-' && (self.peek(2) <= b' ' || self.peek(2) == 0x7f) => self.skip_line(),
                b'/' if self.peek(1) == b'*' => {
                    let start = self.pos;
                    if !self.comment() {
                        self.pos = start;
                        return Some(start);
                    }
                }
                b'*' if self.in_executable_comment && self.peek(1) == b'/' => {
                    self.in_executable_comment = false;
                    self.pos += 2;
                }
                _ => return None,
            }
        }
    }

    fn skip_line(&mut self) {
        while let Some(&byte) = self.text.get(self.pos) {
            if byte == b'\n' {
                break;
            }
            self.pos += 1;
            if self.pos.is_multiple_of(bulk::PIECE) {
                governor::pause();
            }
        }
    }

    /// Reads past a comment, or into an executable one. False if it has no end.
    fn comment(&mut self) -> bool {
        if self.peek(2) == b'!' {
            self.pos += 3;
            let digits = (0..6).take_while(|&i| self.peek(i).is_ascii_digit()).count();
            if digits < 5 {
                self.in_executable_comment = true;
                return true;
            }
            let version = self.text[self.pos..self.pos + digits]
                .iter()
                .fold(0, |v, d| v * 10 + u32::from(d - b'0'));
            if version <= VERSION {
                self.pos += digits;
                self.in_executable_comment = true;
                return true;
            }
            return self.skip_comment(true);
        }
        if self.text[self.pos..].starts_with(EXECUTABLE_FOR_US) {
            self.pos += EXECUTABLE_FOR_US.len();
            self.in_executable_comment = true;
            return true;
        }
        let is_hint = self.after_verb && self.peek(2) == b'+';
        let start = self.pos + 3;
        self.pos += 2;
        let closed = self.skip_comment(false);
        if is_hint && closed {
            self.after_verb = false;
            self.hint = Some((start as u32, (self.pos - 2).max(start) as u32));
        }
        closed
    }

    /// Reads past the `*/`; a skipped executable comment may hold one ordinary comment at a time.
    fn skip_comment(&mut self, mut may_nest: bool) -> bool {
        let outer = may_nest;
        loop {
            match self.text.get(self.pos) {
                None => return false,
                Some(b'*') if self.peek(1) == b'/' => {
                    self.pos += 2;
                    if may_nest == outer {
                        return true;
                    }
                    may_nest = true;
                }
                Some(b'/') if may_nest && self.peek(1) == b'*' => {
                    self.pos += 2;
                    may_nest = false;
                }
                Some(_) => {
                    self.pos += 1;
                    governor::pause();
                }
            }
        }
    }

    fn skip_word(&mut self) {
        while self
            .text
            .get(self.pos)
            .is_some_and(|&byte| CLASSES[byte as usize].in_word())
        {
            self.pos += 1;
            if self.pos.is_multiple_of(bulk::PIECE) {
                governor::pause();
            }
        }
    }

    fn dot_then_name(&self) -> bool {
        self.peek(0) == b'.'
            && self
                .text
                .get(self.pos + 1)
                .is_some_and(|&byte| CLASSES[byte as usize].in_word())
    }

    fn word(&mut self, start: usize) -> Token {
        if self.peek(1) == b'\'' {
            match self.text[start] {
                b'n' | b'N' => {
                    self.pos += 1;
                    let token = self.quoted(b'\'', Tok::NationalString);
                    return Token {
                        start: start as u32,
                        ..token
                    };
                }
                b'x' | b'X' => return self.digits_in_quotes(Tok::HexString, start),
                b'b' | b'B' => return self.digits_in_quotes(Tok::BitString, start),
                _ => {}
            }
        }
        self.skip_word();
        if self.dot_then_name() {
            self.dot_touches = true;
            return self.token(Tok::Ident, start);
        }
        let kind = match keywords::lookup(&self.text[start..self.pos]) {
            Some(keyword) if keyword.class() != Class::Function || self.parenthesis_follows() => {
                self.after_verb = matches!(keyword, Kw::SELECT | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE);
                Tok::Kw(keyword)
            }
            _ => Tok::Ident,
        };
        self.token(kind, start)
    }

    /// `(` touches the word, or comes after white space under IGNORE_SPACE.
    fn parenthesis_follows(&self) -> bool {
        let mut rest = &self.text[self.pos..];
        if self.mode.ignore_space {
            rest = rest.trim_ascii_start();
        }
        rest.first() == Some(&b'(')
    }

    fn number(&mut self, start: usize) -> Token {
        if self.text[start] == b'0' && matches!(self.peek(1), b'x' | b'b') {
            let (kind, is_digit): (Tok, fn(&u8) -> bool) = match self.peek(1) {
                b'x' => (Tok::HexNumber, u8::is_ascii_hexdigit),
                _ => (Tok::BitNumber, |digit| matches!(digit, b'0' | b'1')),
            };
            self.pos += 2;
            let digits = bulk::pieces(&self.text[self.pos..]).flatten();
            let digits = digits.take_while(|byte| is_digit(byte)).count();
            self.pos += digits;
            if digits > 0 && !CLASSES[self.peek(0) as usize].in_word() {
                return self.token(kind, start);
            }
            return self.name_from_digits(start);
        }
        self.skip_digits();
        match self.peek(0) {
            b'.' => {
                self.pos += 1;
                self.fraction(start)
            }
            b'e' | b'E' if self.exponent() => self.token(Tok::Float, start),
            byte if CLASSES[byte as usize].in_word() => self.name_from_digits(start),
            _ => self.token(Tok::Integer, start),
        }
    }

    fn skip_digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.pos += 1;
            if self.pos.is_multiple_of(bulk::PIECE) {
                governor::pause();
            }
        }
    }

    /// After the point.
    fn fraction(&mut self, start: usize) -> Token {
        self.skip_digits();
        if matches!(self.peek(0), b'e' | b'E') {
            let kind = if self.exponent() { Tok::Float } else { Tok::Bad };
            return self.token(kind, start);
        }
        self.token(Tok::Decimal, start)
    }

    /// Reads `e`, a sign and digits if they are all there.
    fn exponent(&mut self) -> bool {
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        let there = self.peek(1 + sign).is_ascii_digit();
        if there {
            self.pos += 1 + sign;
            self.skip_digits();
        }
        there
    }

    fn name_from_digits(&mut self, start: usize) -> Token {
        self.skip_word();
        self.dot_touches = self.dot_then_name();
        self.token(Tok::Ident, start)
    }

    /// `X'..'` or `B'..'`; the position is at the letter.
    fn digits_in_quotes(&mut self, kind: Tok, start: usize) -> Token {
        self.pos += 2;
        let is_digit: fn(&u8) -> bool = match kind {
            Tok::HexString => u8::is_ascii_hexdigit,
            _ => |digit| matches!(digit, b'0' | b'1'),
        };
        let digits = bulk::pieces(&self.text[self.pos..]).flatten();
        let digits = digits.take_while(|byte| is_digit(byte)).count();
        self.pos += digits;
        let whole = self.peek(0) == b'\'' && (kind == Tok::BitString || digits % 2 == 0);
        if whole {
            self.pos += 1;
        }
        self.token(if whole { kind } else { Tok::Bad }, start)
    }

    /// From the opening quote to the closing one.
    fn quoted(&mut self, quote: u8, kind: Tok) -> Token {
        let start = self.pos;
        let backslash = if kind == Tok::QuotedIdent || self.mode.no_backslash_escapes {
            quote
        } else {
            b'\\'
        };
        let mut escaped = false;
        self.pos += 1;
        loop {
            let rest = &self.text[self.pos..];
            let Some(ordinary) = find_either_in_pieces(rest, quote, backslash) else {
                self.pos = self.text.len();
                return self.token(Tok::Bad, start);
            };
            self.pos += ordinary;
            if rest[ordinary] == quote {
                self.pos += 1;
                if self.peek(0) != quote {
                    return Token {
                        escaped,
                        ..self.token(kind, start)
                    };
                }
            } else {
                self.pos += 1;
                if self.pos == self.text.len() {
                    return self.token(Tok::Bad, start);
                }
            }
            self.pos += 1;
            escaped = true;
        }
    }

    fn symbol(&mut self, byte: u8, start: usize) -> Token {
        let second = self.peek(1);
        let (kind, length) = match byte {
            b'(' => (Tok::LParen, 1),
            b')' => (Tok::RParen, 1),
            b',' => (Tok::Comma, 1),
            b';' => (Tok::Semicolon, 1),
            // A parameter must not grow into a name when its value takes its place.
            b'?' if CLASSES[second as usize].in_word() => (Tok::Bad, 1),
            b'?' => (Tok::Param, 1),
            b'\'' => return self.quoted(byte, Tok::String),
            b'"' if self.mode.ansi_quotes => return self.name_in_quotes(byte),
            b'"' => return self.quoted(byte, Tok::String),
            b'`' => return self.name_in_quotes(byte),
            b'.' => return self.dot(start),
            b'@' => return self.at(start),
            b'=' => (Tok::Eq, 1),
            b'<' if second == b'=' && self.peek(2) == b'>' => (Tok::NullSafeEq, 3),
            b'<' if second == b'=' => (Tok::Le, 2),
            b'<' if second == b'>' => (Tok::Ne, 2),
            b'<' if second == b'<' => (Tok::ShiftLeft, 2),
            b'<' => (Tok::Lt, 1),
            b'>' if second == b'=' => (Tok::Ge, 2),
            b'>' if second == b'>' => (Tok::ShiftRight, 2),
            b'>' => (Tok::Gt, 1),
            b'!' if second == b'=' => (Tok::Ne, 2),
            b'!' => (Tok::Bang, 1),
            b'+' => (Tok::Plus, 1),
            b'-' if second == b'>' && self.peek(2) == b'>' => (Tok::LongArrow, 3),
            b'-' if second == b'>' => (Tok::Arrow, 2),
            b'-' => (Tok::Minus, 1),
            b'*' => (Tok::Star, 1),
            b'/' => (Tok::Slash, 1),
            b'%' => (Tok::Percent, 1),
            b'^' => (Tok::Caret, 1),
            b'~' => (Tok::Tilde, 1),
            b'&' if second == b'&' => (Tok::AndAnd, 2),
            b'&' => (Tok::Ampersand, 1),
            b'|' if second == b'|' => (Tok::OrOr, 2),
            b'|' => (Tok::Pipe, 1),
            b':' if second == b'=' => (Tok::Assign, 2),
            b':' => (Tok::Colon, 1),
            b'{' => (Tok::LBrace, 1),
            b'}' => (Tok::RBrace, 1),
            b'\\' if second == b'N' => (Tok::BackslashN, 2),
            _ => (Tok::Bad, 1),
        };
        self.pos += length;
        self.token(kind, start)
    }

    fn name_in_quotes(&mut self, quote: u8) -> Token {
        self.quoted(quote, Tok::QuotedIdent)
    }

    fn dot(&mut self, start: usize) -> Token {
        let touches = std::mem::take(&mut self.dot_touches);
        self.pos += 1;
        let next = self.peek(0);
        if next.is_ascii_digit() && !touches {
            return self.fraction(start);
        }
        self.name_touches = self.pos < self.text.len() && CLASSES[next as usize].in_word();
        self.token(Tok::Dot, start)
    }

    fn at(&mut self, start: usize) -> Token {
        self.pos += 1;
        match self.peek(0) {
            b'@' => {
                self.pos += 1;
                let next = self.peek(0);
                let names = next == b'`' || CLASSES[next as usize].in_word();
                self.token(
                    if names && self.pos < self.text.len() {
                        Tok::AtAt
                    } else {
                        Tok::Bad
                    },
                    start,
                )
            }
            quote @ (b'\'' | b'"' | b'`') => {
                let kind = if quote == b'`' { Tok::QuotedIdent } else { Tok::String };
                let token = self.quoted(quote, kind);
                let kind = if token.kind == Tok::Bad { Tok::Bad } else { Tok::AtName };
                Token {
                    kind,
                    start: start as u32,
                    ..token
                }
            }
            _ => {
                while self
                    .text
                    .get(self.pos)
                    .is_some_and(|&b| CLASSES[b as usize].in_word() || b == b'.')
                {
                    self.pos += 1;
                }
                self.token(Tok::AtName, start)
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Letter,
    Digit,
    Other,
}

impl ByteClass {
    fn in_word(self) -> bool {
        self != ByteClass::Other
    }
}

/// Letters, `_`, `$` and every byte of a multi-byte character may begin a name.
static CLASSES: [ByteClass; 256] = {
    let mut classes = [ByteClass::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => ByteClass::Digit,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => ByteClass::Letter,
            _ => ByteClass::Other,
        };
        byte += 1;
    }
    classes
};

fn find_either_in_pieces(bytes: &[u8], a: u8, b: u8) -> Option<usize> {
    for (number, piece) in bytes.chunks(bulk::PIECE).enumerate() {
        if let Some(at) = find_either(piece, a, b) {
            return Some(number * bulk::PIECE + at);
        }
        governor::pause();
    }
    None
}

/// Position of the first byte that is `a` or `b`, looking at eight at a time.
fn find_either(bytes: &[u8], a: u8, b: u8) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // The lowest high bit set marks the first zero byte.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let (chunks, rest) = bytes.as_chunks::<8>();
    for (index, chunk) in chunks.iter().enumerate() {
        let word = u64::from_le_bytes(*chunk);
        let hits = zeros(word ^ (ONES * u64::from(a))) | zeros(word ^ (ONES * u64::from(b)));
        if hits != 0 {
            return Some(index * 8 + hits.trailing_zeros() as usize / 8);
        }
    }
    let tail = rest.iter().position(|&byte| byte == a || byte == b)?;
    Some(chunks.len() * 8 + tail)
}

/// Takes doubled quotes and backslash escapes out of what stood between the quotes.
pub(crate) fn unescape(inner: &[u8], quote: u8, backslash: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = bulk::pieces(inner).flatten().copied();
    while let Some(byte) = bytes.next() {
        if byte == quote {
            // The lexer saw to it that a second one follows.
            bytes.next();
            out.push(quote);
        } else if byte == b'\\' && backslash {
            match bytes.next() {
                Some(b'0') => out.push(0),
                Some(b'b') => out.push(8),
                Some(b'n') => out.push(b'\n'),
                Some(b'r') => out.push(b'\r'),
                Some(b't') => out.push(b'\t'),
                Some(b'Z') => out.push(26),
                // LIKE wants to see these itself.
                Some(wildcard @ (b'%' | b'_')) => out.extend([b'\\', wildcard]),
                Some(other) => out.push(other),
                None => out.push(b'\\'),
            }
        } else {
            out.push(byte);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::find_either;

    #[test]
    fn find_either_agrees_with_a_byte_loop() {
        let mut bytes = [b'-'; 40];
        assert_eq!(find_either(&bytes, b'x', b'y'), None);
        for position in 0..bytes.len() {
            for (hit, after) in [(b'x', b'y'), (b'y', b'x'), (b'x', b'w'), (b'y', b'z')] {
                bytes[position] = hit;
                if position + 1 < bytes.len() {
                    bytes[position + 1] = after;
                }
                for start in 0..=position {
                    assert_eq!(find_either(&bytes[start..], b'x', b'y'), Some(position - start));
                }
            }
            bytes = [b'-'; 40];
        }
    }
}
