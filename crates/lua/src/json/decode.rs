//! JSON to values.

use super::JsonSettings;
use crate::frame::{Frame, Raised};
use crate::number::strtod;

pub fn decode(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    if frame.args() != 1 {
        return Err(frame.bad_argument(1, "expected 1 argument"));
    }
    let text = frame.check_bytes(1)?;
    if text.len() >= 2 && text[..2].contains(&0) {
        return Err(frame.raise_here("JSON parser does not support UTF-16 or UTF-32"));
    }
    let mut decoder = Decoder {
        settings: frame.context().json.get(),
        text,
        at: 0,
        depth: 0,
    };
    let token = decoder.next(frame)?;
    decoder.value(frame, token)?;
    match decoder.next(frame)? {
        Found { token: Token::End, .. } => Ok(1),
        other => Err(unexpected(frame, &other, "the end")),
    }
}

enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String(Vec<u8>),
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Error(&'static str),
}

struct Found {
    token: Token,
    /// Where it begins, or what is wrong is.
    at: usize,
}

fn unexpected(frame: &Frame<'_>, found: &Found, wanted: &str) -> Raised {
    let name = match &found.token {
        Token::ObjectBegin => "T_OBJ_BEGIN",
        Token::ObjectEnd => "T_OBJ_END",
        Token::ArrayBegin => "T_ARR_BEGIN",
        Token::ArrayEnd => "T_ARR_END",
        Token::String(_) => "T_STRING",
        Token::Number(_) => "T_NUMBER",
        Token::Boolean(_) => "T_BOOLEAN",
        Token::Null => "T_NULL",
        Token::Colon => "T_COLON",
        Token::Comma => "T_COMMA",
        Token::End => "T_END",
        Token::Error(what) => what,
    };
    frame.raise_here(&format!(
        "Expected {wanted} but found {name} at character {}",
        found.at + 1
    ))
}

struct Decoder<'t> {
    settings: JsonSettings,
    text: &'t [u8],
    at: usize,
    depth: i32,
}

impl Decoder<'_> {
    /// Pushes the value that begins with a token.
    fn value(&mut self, frame: &mut Frame<'_>, found: Found) -> Result<(), Raised> {
        match found.token {
            Token::String(bytes) => frame.push_bytes(&bytes),
            Token::Number(value) => frame.push_number(value),
            Token::Boolean(value) => frame.push_boolean(value),
            Token::Null => frame.push_null(),
            Token::ArrayBegin => self.array(frame)?,
            Token::ObjectBegin => self.object(frame)?,
            _ => return Err(unexpected(frame, &found, "value")),
        }
        Ok(())
    }

    fn descend(&mut self, frame: &Frame<'_>) -> Result<(), Raised> {
        self.depth += 1;
        if self.depth > self.settings.decode_depth || frame.reserve(4).is_err() || governor::descend().is_err() {
            let text = format!(
                "Found too many nested data structures ({}) at character {}",
                self.depth, self.at
            );
            return Err(frame.raise_here(&text));
        }
        Ok(())
    }

    fn array(&mut self, frame: &mut Frame<'_>) -> Result<(), Raised> {
        self.descend(frame)?;
        frame.new_table(0, 0);
        let mut found = self.next(frame)?;
        if !matches!(found.token, Token::ArrayEnd) {
            for index in 1.. {
                self.value(frame, found)?;
                frame.set_index(-2, index);
                found = self.next(frame)?;
                match found.token {
                    Token::ArrayEnd => break,
                    Token::Comma => found = self.next(frame)?,
                    _ => return Err(unexpected(frame, &found, "comma or array end")),
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn object(&mut self, frame: &mut Frame<'_>) -> Result<(), Raised> {
        self.descend(frame)?;
        frame.new_table(0, 0);
        let mut found = self.next(frame)?;
        if !matches!(found.token, Token::ObjectEnd) {
            loop {
                let Token::String(key) = &found.token else {
                    return Err(unexpected(frame, &found, "object key string"));
                };
                frame.push_bytes(key);
                found = self.next(frame)?;
                if !matches!(found.token, Token::Colon) {
                    return Err(unexpected(frame, &found, "colon"));
                }
                let begin = self.next(frame)?;
                self.value(frame, begin)?;
                frame.set(-3);
                found = self.next(frame)?;
                match found.token {
                    Token::ObjectEnd => break,
                    Token::Comma => found = self.next(frame)?,
                    _ => return Err(unexpected(frame, &found, "comma or object end")),
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn next(&mut self, frame: &Frame<'_>) -> Result<Found, Raised> {
        frame.tick()?;
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        let at = self.at;
        let rest = &self.text[at..];
        let simple = match rest.first() {
            None | Some(0) => return Ok(Found { token: Token::End, at }),
            Some(b'{') => Token::ObjectBegin,
            Some(b'}') => Token::ObjectEnd,
            Some(b'[') => Token::ArrayBegin,
            Some(b']') => Token::ArrayEnd,
            Some(b':') => Token::Colon,
            Some(b',') => Token::Comma,
            Some(b'"') => return self.string(frame),
            Some(b'-' | b'0'..=b'9') => return Ok(self.number()),
            _ => {
                for (word, token) in [
                    (&b"true"[..], Token::Boolean(true)),
                    (b"false", Token::Boolean(false)),
                    (b"null", Token::Null),
                ] {
                    if rest.starts_with(word) {
                        self.at += word.len();
                        return Ok(Found { token, at });
                    }
                }
                if self.settings.decodes_invalid && is_invalid_number(rest) {
                    return Ok(self.number());
                }
                Token::Error("invalid token")
            }
        };
        self.at += 1;
        Ok(Found { token: simple, at })
    }

    fn number(&mut self) -> Found {
        let at = self.at;
        let rest = &self.text[at..];
        let is_allowed = self.settings.decodes_invalid || !is_invalid_number(rest);
        let token = match strtod(rest).filter(|_| is_allowed) {
            Some((value, len)) => {
                self.at += len;
                Token::Number(value)
            }
            None => Token::Error("invalid number"),
        };
        Found { token, at }
    }

    fn string(&mut self, frame: &Frame<'_>) -> Result<Found, Raised> {
        let begin = self.at;
        self.at += 1;
        let mut out = Vec::new();
        loop {
            if out.len() % 4096 == 4095 {
                frame.tick()?;
            }
            let at = self.at;
            match self.text.get(at) {
                None | Some(0) => {
                    return Ok(Found {
                        token: Token::Error("unexpected end of string"),
                        at,
                    });
                }
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Found {
                        token: Token::String(out),
                        at: begin,
                    });
                }
                Some(b'\\') => {
                    let byte = match self.text.get(at + 1) {
                        Some(b'b') => 8,
                        Some(b't') => b'\t',
                        Some(b'n') => b'\n',
                        Some(b'f') => 12,
                        Some(b'r') => b'\r',
                        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
                        Some(b'u') => {
                            let Some(len) = unescape(&self.text[at..], &mut out) else {
                                let token = Token::Error("invalid unicode escape code");
                                return Ok(Found { token, at });
                            };
                            self.at += len;
                            continue;
                        }
                        _ => {
                            let token = Token::Error("invalid escape code");
                            return Ok(Found { token, at });
                        }
                    };
                    out.push(byte);
                    self.at += 2;
                }
                Some(&byte) => {
                    out.push(byte);
                    self.at += 1;
                }
            }
        }
    }
}

/// Appends what `\uXXXX`, or a pair of them, stands for; how long it is.
fn unescape(text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let unit = |text: &[u8]| {
        let digits = text.strip_prefix(b"\\u")?.get(..4)?;
        digits
            .iter()
            .try_fold(0u32, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
    };
    let first = unit(text)?;
    let (code, len) = match first {
        0xD800..0xDC00 => {
            let second = unit(text.get(6..)?).filter(|second| (0xDC00..0xE000).contains(second))?;
            (0x1_0000 + ((first & 0x3FF) << 10 | second & 0x3FF), 12)
        }
        _ => (first, 6),
    };
    let mut utf8 = [0; 4];
    out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut utf8).as_bytes());
    Some(len)
}

/// Whether it is a number of C's that is none of JSON's.
fn is_invalid_number(text: &[u8]) -> bool {
    if text.first() == Some(&b'+') {
        return true;
    }
    let text = text.strip_prefix(b"-").unwrap_or(text);
    match text {
        [b'0', b'x' | b'X' | b'0'..=b'9', ..] => true,
        [b'0', ..] => false,
        [byte, ..] if *byte <= b'9' => false,
        _ => text
            .get(..3)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"nan")),
    }
}
