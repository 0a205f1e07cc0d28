//! Text to tree, with MySQL's error messages.

use super::MAX_DEPTH;
use super::node::{Members, Node};
use crate::value::utf8_string;
use governor::bulk;
use governor::stepwise::Stepwise;
use std::fmt;

/// The text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonError {
    /// MySQL's wording of the reason: `Invalid value.`, `Missing a comma or '}' after an object member.`
    pub message: &'static str,
    /// Bytes from the start of the text.
    pub position: usize,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" at position {}", self.message, self.position)
    }
}

impl std::error::Error for JsonError {}

const INVALID_VALUE: &str = "Invalid value.";
const TOO_DEEP: &str = "The JSON document exceeds the maximum depth.";

pub(super) fn parse(text: &str) -> Result<Node, JsonError> {
    let mut parser = Parser {
        text: text.as_bytes(),
        at: 0,
    };
    parser.skip_blanks();
    if parser.peek().is_none() {
        return parser.fail("The document is empty.");
    }
    let node = parser.value(0)?;
    parser.skip_blanks();
    if parser.peek().is_some() {
        return parser.fail("The document root must not be followed by other values.");
    }
    Ok(node)
}

/// Parses a string literal with its quotes at the start of the text; the content and the bytes read.
pub(super) fn parse_string(text: &str) -> Result<(String, usize), JsonError> {
    let mut parser = Parser {
        text: text.as_bytes(),
        at: 0,
    };
    if parser.peek() != Some(b'"') {
        return parser.fail(INVALID_VALUE);
    }
    let content = parser.string()?;
    Ok((content, parser.at))
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn fail<T>(&self, message: &'static str) -> Result<T, JsonError> {
        Err(JsonError {
            message,
            position: self.at,
        })
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_blanks(&mut self) {
        self.at += bulk::prefix_len(&self.text[self.at..], |b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'));
    }

    fn value(&mut self, depth: usize) -> Result<Node, JsonError> {
        // The caller learns that the statement has to end; this result is thrown away.
        if !governor::go_on() {
            return self.fail(INVALID_VALUE);
        }
        match self.peek() {
            Some(b'{') if depth < MAX_DEPTH => self.object(depth),
            Some(b'[') if depth < MAX_DEPTH => self.array(depth),
            Some(b'{' | b'[') => self.fail(TOO_DEEP),
            Some(b'"') => self.string().map(Node::Str),
            Some(b'n') => self.word("null", Node::Null),
            Some(b't') => self.word("true", Node::Bool(true)),
            Some(b'f') => self.word("false", Node::Bool(false)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.fail(INVALID_VALUE),
        }
    }

    fn word(&mut self, word: &str, node: Node) -> Result<Node, JsonError> {
        if self.text[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(node);
        }
        // The position is that of the first byte that differs.
        self.at += 1;
        let same = self.text[self.at..]
            .iter()
            .zip(&word.as_bytes()[1..])
            .take_while(|(a, b)| a == b)
            .count();
        self.at += same;
        self.fail(INVALID_VALUE)
    }

    fn array(&mut self, depth: usize) -> Result<Node, JsonError> {
        self.at += 1;
        self.skip_blanks();
        let mut items = Stepwise::from(Vec::new());
        if self.take(b']') {
            return Ok(Node::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_blanks();
            if self.take(b']') {
                return Ok(Node::Array(items));
            }
            if !self.take(b',') {
                return self.fail("Missing a comma or ']' after an array element.");
            }
            self.skip_blanks();
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node, JsonError> {
        self.at += 1;
        self.skip_blanks();
        let mut members = Stepwise::from(Vec::new());
        if self.take(b'}') {
            return Ok(Node::Object(Members::default()));
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.fail("Missing a name for object member.");
            }
            let name = self.string()?;
            self.skip_blanks();
            if !self.take(b':') {
                return self.fail("Missing a colon after a name of object member.");
            }
            self.skip_blanks();
            members.push((name, self.value(depth + 1)?));
            self.skip_blanks();
            if self.take(b'}') {
                return Ok(Node::Object(Members::new(std::mem::take(&mut *members))));
            }
            if !self.take(b',') {
                return self.fail("Missing a comma or '}' after an object member.");
            }
            self.skip_blanks();
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let opening = self.at;
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let plain = bulk::prefix_len(&self.text[self.at..], |b| b != b'"' && b != b'\\' && b >= 0x20);
            bulk::append(&mut out, &self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(utf8_string(out).expect("pieces of UTF-8 cut at ASCII, and whole characters"));
                }
                Some(b'\\') => {
                    governor::pause();
                    bulk::make_room(&mut out, 4);
                    self.escape(&mut out)?
                }
                Some(_) => return self.fail("Invalid encoding in string."),
                None => {
                    self.at = opening;
                    return self.fail("Missing a closing quotation mark in string.");
                }
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        let start = self.at;
        let plain = match self.text.get(self.at + 1) {
            Some(c @ (b'"' | b'\\' | b'/')) => *c,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let c = self.unicode_escape(start)?;
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return self.fail("Invalid escape character in string."),
        };
        self.at += 2;
        out.push(plain);
        Ok(())
    }

    /// `\uXXXX`, or two of them that are a surrogate pair.
    fn unicode_escape(&mut self, start: usize) -> Result<char, JsonError> {
        const BAD_PAIR: &str = "The surrogate pair in string is invalid.";
        let first = self.hex_unit(start)?;
        if !(0xd800..0xe000).contains(&first) {
            return Ok(char::from_u32(first).expect("not a surrogate"));
        }
        if first >= 0xdc00 || self.text.get(self.at..self.at + 2) != Some(br"\u") {
            self.at = start;
            return self.fail(BAD_PAIR);
        }
        let second = self.hex_unit(start)?;
        if !(0xdc00..0xe000).contains(&second) {
            self.at = start;
            return self.fail(BAD_PAIR);
        }
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        Ok(char::from_u32(code).expect("a pair is a character"))
    }

    fn hex_unit(&mut self, start: usize) -> Result<u32, JsonError> {
        let digits = self
            .text
            .get(self.at + 2..self.at + 6)
            .filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else {
            self.at = start;
            return self.fail(r"Incorrect hex digit after \u escape in string.");
        };
        self.at += 6;
        let value = |d: u8| char::from(d).to_digit(16).expect("a hex digit");
        Ok(digits.iter().fold(0, |unit, &d| unit << 4 | value(d)))
    }

    fn digits(&mut self) -> usize {
        let n = bulk::prefix_len(&self.text[self.at..], |b| b.is_ascii_digit());
        self.at += n;
        n
    }

    fn number(&mut self) -> Result<Node, JsonError> {
        let start = self.at;
        let negative = self.take(b'-');
        if self.take(b'0') {
            // A leading zero stands alone.
        } else if self.digits() == 0 {
            return self.fail(INVALID_VALUE);
        }
        let mut integer = true;
        if self.take(b'.') {
            integer = false;
            if self.digits() == 0 {
                return self.fail("Miss fraction part in number.");
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return self.fail("Miss exponent in number.");
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).expect("a number is ASCII");
        if integer {
            if let Ok(v) = text.parse() {
                return Ok(Node::Int(v));
            }
            if let (false, Ok(v)) = (negative, text.parse()) {
                return Ok(Node::UInt(v));
            }
        }
        match text.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(Node::Double(v)),
            _ => {
                self.at = start;
                self.fail("Number too big to be stored in double.")
            }
        }
    }
}
