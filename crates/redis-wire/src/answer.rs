//! Replies as a client reads them, for tests and the simulation.

use std::fmt;

/// A reply; each with the byte that says its type.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A line of text; a missing string or list is a line, too (`$-1`, `*-1`).
    Line(char, String),
    Bulk(char, Vec<u8>),
    /// Of a map its keys and values in turn.
    List(char, Vec<Answer>),
}

impl Answer {
    /// A reply at the beginning of some bytes, and its length; `None`: it is not whole.
    pub fn read(bytes: &[u8]) -> Option<(Answer, usize)> {
        let end = bytes.windows(2).position(|two| two == b"\r\n")?;
        let text = String::from_utf8_lossy(bytes.get(1..end)?).into_owned();
        let (kind, begin) = (char::from(bytes[0]), end + 2);
        if text == "-1" && matches!(kind, '$' | '*') {
            return Some((Answer::Line(kind, text), begin));
        }
        match kind {
            '$' | '=' => {
                let len: usize = text.parse().ok()?;
                let value = bytes.get(begin..)?.get(..len)?;
                bytes.get(begin + len + 1)?;
                Some((Answer::Bulk(kind, value.to_vec()), begin + len + 2))
            }
            '*' | '~' | '%' | '>' => {
                let elements_each = if kind == '%' { 2 } else { 1 };
                let (mut elements, mut at) = (Vec::new(), begin);
                for _ in 0..text.parse::<usize>().ok()?.checked_mul(elements_each)? {
                    let (element, len) = Answer::read(bytes.get(at..)?)?;
                    elements.push(element);
                    at += len;
                }
                Some((Answer::List(kind, elements), at))
            }
            _ => Some((Answer::Line(kind, text), begin)),
        }
    }

    fn write(&self, indent: usize, out: &mut String) {
        let space = "  ".repeat(indent);
        match self {
            Answer::Line(kind, text) => out.push_str(&format!("{space}{kind}{text}\n")),
            Answer::Bulk(kind, bytes) => {
                let kind = if *kind == '$' { String::new() } else { kind.to_string() };
                out.push_str(&format!("{space}{kind}\"{}\"\n", bytes.escape_ascii()));
            }
            Answer::List(kind, elements) => {
                out.push_str(&format!("{space}{kind}{}\n", elements.len()));
                elements.iter().for_each(|element| element.write(indent + 1, out));
            }
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(0, &mut text);
        f.write_str(text.trim_end_matches('\n'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_replies_are_read_and_others_are_none() {
        let bytes = b"*3\r\n$1\r\na\r\n%1\r\n+k\r\n:1\r\n*-1\r\n";
        let (answer, len) = Answer::read(bytes).expect("it is whole");
        assert_eq!(len, bytes.len());
        assert_eq!(answer.to_string(), "*3\n  \"a\"\n  %2\n    +k\n    :1\n  *-1");
        for cut in 0..bytes.len() {
            assert_eq!(Answer::read(&bytes[..cut]), None, "{cut} bytes");
        }
        for garbled in [&b"\r\n"[..], b"$x\r\n", b"%18446744073709551615\r\n"] {
            assert_eq!(Answer::read(garbled), None);
        }
    }
}
