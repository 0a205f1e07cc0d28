//! Constants: strings, numbers, bits, temporal literals.

use governor::bulk;

use super::{PResult, Parser};
use crate::SqlMode;
use crate::ast::*;
use crate::keywords::{self, Kw};
use crate::lexer::{self, Tok, Token};

impl<'a> Parser<'a> {
    /// The bytes of one string token, unescaped.
    pub(super) fn string_value(&self, token: Token) -> Box<[u8]> {
        string_value(self.slice(token), token, self.mode)
    }

    /// One string token, not joined with those after it.
    pub(super) fn bytes(&mut self) -> PResult<Box<[u8]>> {
        if !self.at_tok(Tok::String) {
            return Err(self.unexpected());
        }
        let value = self.string_value(self.tok);
        self.bump();
        Ok(value)
    }

    /// A string, or its hexadecimal or bit form, as in `DEFAULT`-like places and ENUM members.
    pub(super) fn bytes_or_hex(&mut self) -> PResult<Box<[u8]>> {
        match self.kind() {
            Tok::HexString | Tok::HexNumber => Ok(hex_value(self.digits())),
            Tok::BitString | Tok::BitNumber => Ok(bit_value(self.digits())),
            _ => self.bytes(),
        }
    }

    /// One string token that must be text: comments, paths, names.
    pub(super) fn text(&mut self) -> PResult<Box<str>> {
        if !self.at_tok(Tok::String) {
            return Err(self.unexpected());
        }
        let value = self.string_value(self.tok);
        let text = self.utf8(&value)?.into();
        self.bump();
        Ok(text)
    }

    /// A string with the ones that follow it joined: `'a' 'b'`.
    pub(super) fn joined_string(&mut self) -> PResult<Box<[u8]>> {
        let token = self.bump();
        let first = self.string_value(token);
        if !self.at_tok(Tok::String) {
            return Ok(first);
        }
        let mut joined = first.into_vec();
        while self.at_tok(Tok::String) {
            let token = self.bump();
            bulk::append(&mut joined, &self.string_value(token));
        }
        Ok(joined.into())
    }

    /// The name in a token `@name`, `@'name'`.
    pub(super) fn at_name(&mut self) -> PResult<Ident> {
        if !self.at_tok(Tok::AtName) {
            return Err(self.unexpected());
        }
        let token = self.tok;
        let name = match self.slice(token) {
            [_, b'`', ..] => self.name_of(Token {
                kind: Tok::QuotedIdent,
                start: token.start + 1,
                ..token
            })?,
            [_, b'\'' | b'"', ..] => {
                let value = self.string_value(token);
                Ident(self.utf8(&value)?.into())
            }
            [_, rest @ ..] => Ident(self.utf8(rest)?.into()),
            [] => return Err(self.unexpected()),
        };
        self.bump();
        Ok(name)
    }

    /// `@name` of a user variable: unlike a host, it has a name.
    pub(super) fn user_var(&mut self) -> PResult<Ident> {
        if self.at_tok(Tok::AtName) && self.tok.end - self.tok.start == 1 {
            self.bump();
            return Err(self.unexpected());
        }
        self.at_name()
    }

    /// Digits of the hexadecimal or bit token, without prefix and quotes.
    fn digits(&mut self) -> &'a [u8] {
        let token = self.bump();
        let text = &self.text[token.start as usize..token.end as usize];
        match token.kind {
            Tok::HexString | Tok::BitString => &text[2..text.len() - 1],
            _ => &text[2..],
        }
    }

    /// The literal at the current token, or None if there is none. Reads no sign.
    pub(super) fn opt_literal(&mut self) -> PResult<Option<Literal>> {
        let literal = match self.kind() {
            Tok::Integer => {
                let token = self.bump();
                integer(self.slice(token))
            }
            Tok::Decimal => Literal::Decimal(self.number_text()),
            Tok::Float => Literal::Float(self.number_text()),
            Tok::String => Literal::String(self.joined_string()?),
            Tok::NationalString => introduced("utf8mb3", self.sent_string()?, IntroducedForm::Text),
            Tok::HexString | Tok::HexNumber => Literal::Hex(hex_value(self.digits())),
            Tok::BitString | Tok::BitNumber => Literal::Bit(bit_value(self.digits())),
            Tok::Kw(Kw::NULL) | Tok::BackslashN => {
                self.bump();
                Literal::Null
            }
            Tok::Kw(Kw::TRUE) => {
                self.bump();
                Literal::Bool(true)
            }
            Tok::Kw(Kw::FALSE) => {
                self.bump();
                Literal::Bool(false)
            }
            Tok::Kw(Kw::DATE) if self.peek() == Tok::String => Literal::Date(self.temporal()?),
            Tok::Kw(Kw::TIME) if self.peek() == Tok::String => Literal::Time(self.temporal()?),
            Tok::Kw(Kw::TIMESTAMP) if self.peek() == Tok::String => Literal::Timestamp(self.temporal()?),
            Tok::Ident if self.at_introducer() => self.introduced()?,
            _ => return Ok(None),
        };
        Ok(Some(literal))
    }

    fn temporal(&mut self) -> PResult<Box<[u8]>> {
        self.bump();
        self.bytes()
    }

    /// Whether the word is an underscore and a character set's name.
    fn at_introducer(&self) -> bool {
        let word = self.slice(self.tok);
        word[0] == b'_' && keywords::is_charset(&word[1..])
    }

    /// A string whose bytes mean what the introducer says, not what the client's character set does.
    fn sent_string(&mut self) -> PResult<Box<[u8]>> {
        let text = self.joined_string()?;
        Ok(match self.as_sent {
            Some(as_sent) => as_sent(&text),
            None => text,
        })
    }

    fn introduced(&mut self) -> PResult<Literal> {
        let word = self.slice(self.tok);
        let charset = self.utf8(&word[1..])?.to_ascii_lowercase();
        self.bump();
        let (value, form) = match self.kind() {
            Tok::String => (self.sent_string()?, IntroducedForm::Text),
            Tok::HexString | Tok::HexNumber => (hex_value(self.digits()), IntroducedForm::Hex),
            Tok::BitString | Tok::BitNumber => (bit_value(self.digits()), IntroducedForm::Bit),
            _ => return Err(self.unexpected()),
        };
        Ok(introduced(&charset, value, form))
    }

    fn number_text(&mut self) -> Box<str> {
        let token = self.bump();
        self.slice(token)
            .iter()
            .map(|&byte| char::from(byte))
            .collect::<String>()
            .into()
    }

    /// A literal with an optional sign: what DEFAULT and server options allow.
    pub(super) fn signed_literal(&mut self) -> PResult<(bool, Literal)> {
        let signed = self.at_tok(Tok::Minus) || self.at_tok(Tok::Plus);
        let negative = signed && self.bump().kind == Tok::Minus;
        if signed && !matches!(self.tok.kind, Tok::Integer | Tok::Decimal | Tok::Float) {
            return Err(self.unexpected());
        }
        match self.opt_literal()? {
            Some(literal) => Ok((negative, literal)),
            None => Err(self.unexpected()),
        }
    }

    /// An unsigned integer, decimal or hexadecimal.
    pub(super) fn unsigned(&mut self) -> PResult<u64> {
        let token = self.tok;
        let value = match token.kind {
            Tok::Integer => parse_digits(self.slice(token), 10),
            Tok::HexNumber => parse_digits(&self.slice(token)[2..], 16),
            Tok::HexString => parse_digits(&self.slice(token)[2..(token.end - token.start - 1) as usize], 16),
            _ => None,
        };
        match value {
            Some(value) => {
                self.bump();
                Ok(value)
            }
            None => Err(self.unexpected()),
        }
    }

    /// An unsigned integer no greater than `max`.
    pub(super) fn unsigned_to<T: TryFrom<u64>>(&mut self) -> PResult<T> {
        let token = self.tok;
        let value = self.unsigned()?;
        T::try_from(value).map_err(|_| self.unexpected_at(token))
    }

    /// Like [`Parser::unsigned`], and what a table option takes for a number: also DECIMAL and FLOAT, their integer part.
    pub(super) fn option_number(&mut self) -> PResult<u64> {
        if matches!(self.tok.kind, Tok::Decimal | Tok::Float) {
            let text = self.number_text();
            return Ok(text.parse::<f64>().unwrap_or(f64::MAX) as u64);
        }
        if self.at_tok(Tok::Integer) && parse_digits(self.slice(self.tok), 10).is_none() {
            self.bump();
            return Ok(u64::MAX);
        }
        self.unsigned()
    }

    /// `n`, or `n` with a unit `K`, `M`, `G`: sizes of files.
    pub(super) fn size(&mut self) -> PResult<u64> {
        if self.at_tok(Tok::Ident) {
            let word = self.slice(self.tok);
            let (digits, unit) = word.split_at(word.len() - 1);
            let shift = match unit[0].to_ascii_uppercase() {
                b'K' => 10,
                b'M' => 20,
                b'G' => 30,
                _ => return Err(self.unexpected()),
            };
            let Some(bytes) = parse_digits(digits, 10).and_then(|n| n.checked_mul(1 << shift)) else {
                return Err(self.unexpected());
            };
            self.bump();
            return Ok(bytes);
        }
        self.unsigned()
    }
}

fn introduced(charset: &str, value: Box<[u8]>, form: IntroducedForm) -> Literal {
    Literal::Introduced(Box::new(IntroducedString {
        charset: Ident::from(charset),
        value,
        form,
    }))
}

/// An integer literal: DECIMAL beyond 64 bits.
fn integer(digits: &[u8]) -> Literal {
    match parse_digits(digits, 10) {
        Some(value) => Literal::Int(value),
        None => {
            let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
            Literal::Decimal(
                digits[zeros..]
                    .iter()
                    .map(|&byte| char::from(byte))
                    .collect::<String>()
                    .into(),
            )
        }
    }
}

fn parse_digits(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &byte| {
        let digit = char::from(byte).to_digit(radix)?;
        value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    })
}

fn nibble(digit: u8) -> u8 {
    char::from(digit).to_digit(16).unwrap_or(0) as u8
}

/// An odd number of digits begins with half a byte.
fn hex_value(digits: &[u8]) -> Box<[u8]> {
    let (half, whole) = digits.split_at(digits.len() % 2);
    let mut bytes = Vec::with_capacity(digits.len().div_ceil(2));
    bytes.extend(half.iter().map(|&digit| nibble(digit)));
    for piece in bulk::pieces(whole) {
        bytes.extend(piece.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])));
    }
    bytes.into()
}

/// Right aligned: the first byte may be incomplete.
fn bit_value(digits: &[u8]) -> Box<[u8]> {
    let (part, whole) = digits.split_at(digits.len() % 8);
    let byte = |bits: &[u8]| bits.iter().fold(0u8, |value, bit| value << 1 | (bit - b'0'));
    let first = (!part.is_empty()).then(|| byte(part));
    let mut bytes = Vec::with_capacity(digits.len().div_ceil(8));
    bytes.extend(first);
    bulk::pieces(whole).for_each(|piece| bytes.extend(piece.chunks_exact(8).map(byte)));
    bytes.into()
}

/// The bytes between the quotes of a string token, unescaped.
fn string_value(text: &[u8], token: Token, mode: SqlMode) -> Box<[u8]> {
    // `N'..'` and `@'..'` have a letter before the quote.
    let has_prefix = matches!(token.kind, Tok::NationalString | Tok::AtName);
    let text = if has_prefix { &text[1..] } else { text };
    let inner = &text[1..text.len() - 1];
    if token.escaped {
        lexer::unescape(inner, text[0], !mode.no_backslash_escapes).into()
    } else {
        bulk::copy(inner).into()
    }
}

/// The value of a number or string token of `text`.
pub(crate) fn literal_value(text: &[u8], token: Token, mode: SqlMode) -> Option<Literal> {
    let slice = &text[token.start as usize..token.end as usize];
    Some(match token.kind {
        Tok::Integer => integer(slice),
        Tok::Decimal => Literal::Decimal(ascii(slice)),
        Tok::Float => Literal::Float(ascii(slice)),
        Tok::String => Literal::String(string_value(slice, token, mode)),
        _ => return None,
    })
}

/// The text of a token that is ASCII by its kind.
fn ascii(slice: &[u8]) -> Box<str> {
    String::from_utf8_lossy(slice).into()
}
