//! What a client gets, in RESP2 or in RESP3.
//!
//! | | RESP2 | RESP3 |
//! |---|---|---|
//! | text, error, number, string, list | the same | the same |
//! | null | `$-1`, `*-1` | `_` |
//! | map, set, push | list | `%`, `~`, `>` |
//! | double, boolean, big number | string, `:0` and `:1`, string | `,`, `#f` and `#t`, `(` |
//! | verbatim text | string | `=` |

use std::io::Write as _;

use crate::number::write_f64;

/// Which form replies have, as the client has chosen by HELLO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    #[default]
    Resp2,
    Resp3,
}

/// Writes replies to the end of a buffer.
#[derive(Debug, Default)]
pub struct Reply {
    pub bytes: Vec<u8>,
    pub protocol: Protocol,
}

/// The place of a length that is known later.
#[derive(Debug)]
#[must_use]
pub struct Deferred {
    at: usize,
}

impl Reply {
    pub fn new(protocol: Protocol) -> Reply {
        Reply {
            bytes: Vec::new(),
            protocol,
        }
    }

    fn is_resp3(&self) -> bool {
        self.protocol == Protocol::Resp3
    }

    /// A type and a number on a line.
    #[inline]
    fn header(&mut self, kind: u8, number: i64) {
        // The longest: a type, 20 digits, two bytes for the end.
        let mut line = [0; 23];
        let mut at = line.len() - 2;
        line[at..].copy_from_slice(b"\r\n");
        let mut rest = number.unsigned_abs();
        loop {
            at -= 1;
            line[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            at -= 1;
            line[at] = b'-';
        }
        at -= 1;
        line[at] = kind;
        self.bytes.extend_from_slice(&line[at..]);
    }

    /// A short text without line ends.
    pub fn simple(&mut self, text: &str) {
        self.bytes.push(b'+');
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.extend_from_slice(b"\r\n");
    }

    #[inline]
    pub fn ok(&mut self) {
        self.bytes.extend_from_slice(b"+OK\r\n");
    }

    /// An error with its code in front: `ERR syntax error`. What would end the line is a space instead.
    pub fn error(&mut self, text: &str) {
        self.error_bytes(text.as_bytes());
    }

    /// As [`error`](Self::error), of a text with names in it that may be any bytes.
    pub fn error_bytes(&mut self, text: &[u8]) {
        self.bytes.push(b'-');
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(text);
        for byte in &mut self.bytes[begin..] {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        self.bytes.extend_from_slice(b"\r\n");
    }

    #[inline]
    pub fn integer(&mut self, value: i64) {
        self.header(b':', value);
    }

    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.header(b'$', bytes.len() as i64);
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// A string of so many bytes, which are appended by `write`. Where that fails, the reply is not whole.
    pub fn bulk_by<E>(&mut self, len: usize, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        self.header(b'$', len as i64);
        let begin = self.bytes.len();
        write(&mut self.bytes)?;
        debug_assert_eq!(self.bytes.len(), begin + len, "as many bytes as were told");
        self.bytes.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// An integer as a string.
    pub fn bulk_integer(&mut self, value: i64) {
        self.bulk(value.to_string().as_bytes());
    }

    /// Nothing, where a string or anything else would be.
    #[inline]
    pub fn null(&mut self) {
        self.bytes
            .extend_from_slice(if self.is_resp3() { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// Nothing, where a list would be.
    pub fn null_array(&mut self) {
        self.bytes
            .extend_from_slice(if self.is_resp3() { b"_\r\n" } else { b"*-1\r\n" });
    }

    /// So many replies follow.
    #[inline]
    pub fn array(&mut self, len: usize) {
        self.header(b'*', len as i64);
    }

    /// So many pairs of replies follow.
    pub fn map(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', 2 * len as i64),
            Protocol::Resp3 => self.header(b'%', len as i64),
        }
    }

    /// So many different replies follow, in no order.
    pub fn set(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', len as i64),
            Protocol::Resp3 => self.header(b'~', len as i64),
        }
    }

    /// What was not asked for: so many replies follow.
    pub fn push(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', len as i64),
            Protocol::Resp3 => self.header(b'>', len as i64),
        }
    }

    pub fn boolean(&mut self, value: bool) {
        match (self.protocol, value) {
            (Protocol::Resp2, _) => self.integer(i64::from(value)),
            (Protocol::Resp3, true) => self.bytes.extend_from_slice(b"#t\r\n"),
            (Protocol::Resp3, false) => self.bytes.extend_from_slice(b"#f\r\n"),
        }
    }

    /// A floating-point number, which is a string in RESP2.
    pub fn double(&mut self, value: f64) {
        let mut text = Vec::with_capacity(24);
        write_f64(value, &mut text);
        self.double_text(&text);
    }

    /// A double that is written as text already.
    pub fn double_text(&mut self, text: &[u8]) {
        self.number_text(b',', text);
    }

    pub fn big_number(&mut self, digits: &[u8]) {
        self.number_text(b'(', digits);
    }

    /// RESP2 has no such types: there it is a string.
    fn number_text(&mut self, sign: u8, text: &[u8]) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(text),
            Protocol::Resp3 => {
                self.bytes.push(sign);
                self.bytes.extend_from_slice(text);
                self.bytes.extend_from_slice(b"\r\n");
            }
        }
    }

    /// Text for people; `format` is `txt` or `mkd`.
    pub fn verbatim(&mut self, format: &str, text: &[u8]) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(text),
            Protocol::Resp3 => {
                let _ = write!(self.bytes, "={}\r\n{format}:", text.len() + 4);
                self.bytes.extend_from_slice(text);
                self.bytes.extend_from_slice(b"\r\n");
            }
        }
    }

    /// A list, a set or a map follows, whose length [`close`](Self::close) says.
    pub fn open(&mut self) -> Deferred {
        Deferred { at: self.bytes.len() }
    }

    /// The list that was opened there has so many replies.
    pub fn close(&mut self, deferred: Deferred, write_header: impl FnOnce(&mut Reply)) {
        let end = self.bytes.len();
        write_header(self);
        // The header moves in front of what it counts.
        let len = self.bytes.len() - end;
        self.bytes[deferred.at..].rotate_right(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(protocol: Protocol, write: impl FnOnce(&mut Reply)) -> String {
        let mut reply = Reply::new(protocol);
        write(&mut reply);
        String::from_utf8(reply.bytes).unwrap()
    }

    fn both(write: impl Fn(&mut Reply)) -> [String; 2] {
        [Protocol::Resp2, Protocol::Resp3].map(|protocol| written(protocol, &write))
    }

    #[test]
    fn each_kind_has_its_forms() {
        let same = |text: &str| [text.to_owned(), text.to_owned()];
        assert_eq!(both(Reply::ok), same("+OK\r\n"));
        assert_eq!(both(|reply| reply.integer(i64::MIN)), same(":-9223372036854775808\r\n"));
        assert_eq!(both(|reply| reply.bulk(b"a\r\nb")), same("$4\r\na\r\nb\r\n"));
        assert_eq!(both(|reply| reply.error("ERR a\r\nb")), same("-ERR a  b\r\n"));
        assert_eq!(both(Reply::null), ["$-1\r\n", "_\r\n"]);
        assert_eq!(both(Reply::null_array), ["*-1\r\n", "_\r\n"]);
        assert_eq!(both(|reply| reply.map(2)), ["*4\r\n", "%2\r\n"]);
        assert_eq!(both(|reply| reply.double(1.5)), ["$3\r\n1.5\r\n", ",1.5\r\n"]);
        assert_eq!(both(|reply| reply.boolean(true)), [":1\r\n", "#t\r\n"]);
        assert_eq!(
            both(|reply| reply.verbatim("txt", b"ab")),
            ["$2\r\nab\r\n", "=6\r\ntxt:ab\r\n"]
        );
    }

    #[test]
    fn a_length_may_come_later() {
        let text = written(Protocol::Resp2, |reply| {
            reply.integer(1);
            let list = reply.open();
            reply.bulk(b"a");
            reply.bulk(b"b");
            reply.close(list, |reply| reply.array(2));
            reply.integer(2);
        });
        assert_eq!(text, ":1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n:2\r\n");
    }
}
