//! What a client sends: arrays of bulk strings, or a line of words.
//!
//! ```text
//!   *2\r\n$3\r\nGET\r\n$1\r\nk\r\n        an array, whose strings may hold any bytes
//!   GET k\r\n                             a line, with words in quotes as in a shell
//! ```
//!
//! A request is scanned as it comes. What has been understood of a part is kept, so that a request of many pieces costs no more than one that comes
//! whole. Arguments are ranges of the bytes, from the beginning of the request on: nothing is copied, except from lines with
//! quotes.

use std::fmt;
use std::ops::Range;

/// The most arguments of a request.
const ARGS_MAX: i64 = 1 << 31;
/// The longest argument (`proto-max-bulk-len`).
pub const BULK_MAX: usize = 512 << 20;
/// The longest line, and the longest header of a string.
const LINE_MAX: usize = 64 << 10;
/// Before a client has said who it is.
const STRANGERS_ARGS_MAX: i64 = 10;
const STRANGERS_BULK_MAX: usize = 16 << 10;

/// The client's bytes are no request. It is told so, and its connection is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolError(String);

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Protocol error: {}", self.0)
    }
}

impl std::error::Error for ProtocolError {}

fn wrong<T>(what: impl Into<String>) -> Result<T, ProtocolError> {
    Err(ProtocolError(what.into()))
}

/// How far the request at the beginning of some bytes has come.
#[derive(Debug, PartialEq, Eq)]
pub enum Scan {
    /// It is whole, and takes so many bytes. Its arguments are [`Requests::args`]; none: there is nothing to be done.
    Complete { len: usize },
    /// More is needed: so many bytes in all are known to be.
    Incomplete { wanted: usize },
}

/// Reads requests from the bytes of one client.
#[derive(Debug, Default)]
pub struct Requests {
    state: State,
    /// Of the request so far, relative to its beginning.
    args: Vec<Range<u32>>,
    /// Where a line had quotes: its words, to which the ranges then refer.
    words: Vec<u8>,
    is_quoted: bool,
    /// The client has not logged in.
    pub is_stranger: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Begin,
    /// So many strings are missing, the next of which begins at `at`.
    Array { missing: u32, at: usize },
    /// As above; the string has been announced with its length, and its bytes begin at `at`.
    Bulk { missing: u32, at: usize, len: usize },
}

impl Requests {
    /// Of a client that has logged in, or has not.
    pub fn of(is_stranger: bool) -> Requests {
        Requests {
            is_stranger,
            ..Requests::default()
        }
    }

    /// Looks at the bytes of a request from its beginning, as many as there are. After [`Scan::Complete`] the next request begins behind.
    pub fn scan(&mut self, bytes: &[u8]) -> Result<Scan, ProtocolError> {
        if self.state == State::Begin {
            self.args.clear();
            self.is_quoted = false;
            match bytes.first() {
                None => return Ok(Scan::Incomplete { wanted: 1 }),
                Some(b'*') => {}
                Some(_) => return self.scan_line(bytes),
            }
            let Some((count, at)) = header(bytes, 0, "too big mbulk count string")? else {
                return Ok(Scan::Incomplete {
                    wanted: bytes.len() + 1,
                });
            };
            let count = match integer(count) {
                Some(count) if count < ARGS_MAX => count,
                _ => return wrong("invalid multibulk length"),
            };
            if self.is_stranger && count > STRANGERS_ARGS_MAX {
                return wrong("unauthenticated multibulk length");
            }
            if count <= 0 {
                return Ok(Scan::Complete { len: at });
            }
            let missing = count as u32;
            // Room grows with what comes, not with what is announced.
            self.args.reserve(count.min(64) as usize);
            self.state = State::Array { missing, at };
        }
        self.scan_array(bytes)
    }

    /// The arguments of the request that was complete, over its bytes.
    pub fn args<'a>(&'a self, bytes: &'a [u8]) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        let bytes = if self.is_quoted { &self.words } else { bytes };
        self.args.iter().map(|arg| &bytes[arg.start as usize..arg.end as usize])
    }

    /// Where its arguments are in its bytes; `None` where a line had quotes.
    pub fn ranges(&self) -> Option<&[Range<u32>]> {
        (!self.is_quoted).then_some(self.args.as_slice())
    }

    fn scan_array(&mut self, bytes: &[u8]) -> Result<Scan, ProtocolError> {
        loop {
            match self.state {
                State::Begin => unreachable!("an array has begun"),
                State::Array { missing: 0, at } => {
                    self.state = State::Begin;
                    return Ok(Scan::Complete { len: at });
                }
                State::Array { missing, at } => {
                    match bytes.get(at) {
                        None => return Ok(Scan::Incomplete { wanted: at + 1 }),
                        Some(b'$') => {}
                        Some(other) => return wrong(format!("expected '$', got '{}'", char::from(*other))),
                    }
                    let Some((len, begin)) = header(bytes, at, "too big bulk count string")? else {
                        return Ok(Scan::Incomplete {
                            wanted: bytes.len() + 1,
                        });
                    };
                    let len = match integer(len) {
                        Some(len) if (0..=BULK_MAX as i64).contains(&len) => len as usize,
                        _ => return wrong("invalid bulk length"),
                    };
                    if self.is_stranger && len > STRANGERS_BULK_MAX {
                        return wrong("unauthenticated bulk length");
                    }
                    if begin + len + 2 > u32::MAX as usize {
                        return wrong("invalid bulk length");
                    }
                    self.state = State::Bulk {
                        missing,
                        at: begin,
                        len,
                    };
                }
                State::Bulk { missing, at, len } => {
                    let end = at + len;
                    if bytes.len() < end + 2 {
                        return Ok(Scan::Incomplete { wanted: end + 2 });
                    }
                    self.args.push(at as u32..end as u32);
                    self.state = State::Array {
                        missing: missing - 1,
                        at: end + 2,
                    };
                }
            }
        }
    }

    fn scan_line(&mut self, bytes: &[u8]) -> Result<Scan, ProtocolError> {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            return match bytes.len() > LINE_MAX {
                true => wrong("too big inline request"),
                false => Ok(Scan::Incomplete {
                    wanted: bytes.len() + 1,
                }),
            };
        };
        if end > LINE_MAX {
            return wrong("too big inline request");
        }
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        if line.iter().any(|byte| matches!(byte, b'"' | b'\'')) {
            self.is_quoted = true;
            self.words.clear();
            split_quoted(line, &mut self.words, &mut self.args)?;
        } else {
            let mut at = 0;
            for word in line.split(u8::is_ascii_whitespace) {
                if !word.is_empty() {
                    self.args.push(at as u32..(at + word.len()) as u32);
                }
                at += word.len() + 1;
            }
        }
        Ok(Scan::Complete { len: end + 1 })
    }
}

/// The digits of a header that begins at `at` with its type, and where what follows begins; `None`: its end has not come.
fn header<'b>(bytes: &'b [u8], at: usize, too_long: &str) -> Result<Option<(&'b [u8], usize)>, ProtocolError> {
    let rest = &bytes[at + 1..];
    let looked_at = &rest[..rest.len().min(LINE_MAX)];
    match memchr::memchr(b'\r', looked_at) {
        // Redis takes any byte for the line feed.
        Some(end) if rest.len() > end + 1 => Ok(Some((&rest[..end], at + end + 3))),
        Some(_) => Ok(None),
        None if rest.len() > LINE_MAX => wrong(too_long),
        None => Ok(None),
    }
}

/// A number as headers have it.
fn integer(digits: &[u8]) -> Option<i64> {
    crate::number::parse_i64(digits)
}

/// The words of a line, as inline commands have them; `None`: a quote is not closed, or its word goes on behind it.
pub fn split_words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (mut words, mut ranges) = (Vec::new(), Vec::new());
    split_quoted(line, &mut words, &mut ranges).ok()?;
    let word = |range: &Range<u32>| words[range.start as usize..range.end as usize].to_vec();
    Some(ranges.iter().map(word).collect())
}

/// Words as `redis-cli` writes them: `"…"` with escapes, `'…'` with `\'` alone.
fn split_quoted(line: &[u8], words: &mut Vec<u8>, args: &mut Vec<Range<u32>>) -> Result<(), ProtocolError> {
    const UNBALANCED: &str = "unbalanced quotes in request";
    let mut at = 0;
    loop {
        while line.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        if at == line.len() {
            return Ok(());
        }
        let begin = words.len();
        while let Some(&byte) = line.get(at).filter(|byte| !byte.is_ascii_whitespace()) {
            at += 1;
            if !matches!(byte, b'"' | b'\'') {
                words.push(byte);
                continue;
            }
            loop {
                let Some(&inside) = line.get(at) else {
                    return wrong(UNBALANCED);
                };
                at += 1;
                if inside == byte {
                    break;
                }
                match (byte, inside, line.get(at)) {
                    (b'\'', b'\\', Some(b'\'')) => {
                        words.push(b'\'');
                        at += 1;
                    }
                    (b'"', b'\\', Some(b'x')) if hex(line.get(at + 1..at + 3)).is_some() => {
                        words.extend(hex(line.get(at + 1..at + 3)));
                        at += 3;
                    }
                    (b'"', b'\\', Some(&escaped)) => {
                        words.push(match escaped {
                            b'n' => b'\n',
                            b'r' => b'\r',
                            b't' => b'\t',
                            b'b' => 8,
                            b'a' => 7,
                            other => other,
                        });
                        at += 1;
                    }
                    _ => words.push(inside),
                }
            }
            // A closing quote ends its word.
            if line.get(at).is_some_and(|next| !next.is_ascii_whitespace()) {
                return wrong(UNBALANCED);
            }
        }
        args.push(begin as u32..words.len() as u32);
    }
}

fn hex(digits: Option<&[u8]>) -> Option<u8> {
    let &[high, low] = digits? else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(high)? << 4 | digit(low)?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut bytes: &[u8]) -> Result<Vec<Vec<Vec<u8>>>, ProtocolError> {
        let mut requests = Requests::default();
        let mut found = Vec::new();
        loop {
            match requests.scan(bytes)? {
                Scan::Incomplete { .. } => return Ok(found),
                Scan::Complete { len } => {
                    found.push(requests.args(bytes).map(<[u8]>::to_vec).collect());
                    bytes = &bytes[len..];
                }
            }
        }
    }

    fn words(line: &str) -> Vec<Vec<u8>> {
        all(line.as_bytes()).unwrap().remove(0)
    }

    #[test]
    fn arrays_and_lines_follow_each_other() {
        let found =
            all(b"*2\r\n$3\r\nGET\r\n$3\r\na\r\n\r\nPING\r\n\r\nset  k v \n*0\r\n*-1\r\n*1\r\n$0\r\n\r\n").unwrap();
        let text = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        assert_eq!(
            found,
            [
                text(&["GET", "a\r\n"]),
                text(&["PING"]),
                text(&[]),
                text(&["set", "k", "v"]),
                text(&[]),
                text(&[]),
                text(&[""]),
            ]
        );
    }

    #[test]
    fn a_request_in_pieces_is_the_same_request() {
        let bytes = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nhello\r\n";
        let mut requests = Requests::default();
        for end in 0..bytes.len() {
            let scan = requests.scan(&bytes[..end]).unwrap();
            assert!(
                matches!(scan, Scan::Incomplete { wanted } if wanted > end),
                "{end}: {scan:?}"
            );
        }
        assert_eq!(requests.scan(bytes), Ok(Scan::Complete { len: bytes.len() }));
        assert_eq!(requests.args(bytes).collect::<Vec<_>>(), [&b"SET"[..], b"k", b"hello"]);
    }

    #[test]
    fn lines_have_quotes() {
        assert_eq!(words("set k \"a b\\n\\x41\\\"\"\r\n")[2], b"a b\nA\"");
        assert_eq!(words("set k 'a\\n\\'b'\r\n")[2], b"a\\n'b");
        assert_eq!(words("set '' x\r\n")[1], b"");
        for line in ["set k \"a\r\n", "set k 'a\r\n", "set k \"a\"b\r\n"] {
            assert_eq!(
                all(line.as_bytes()).unwrap_err().to_string(),
                "Protocol error: unbalanced quotes in request"
            );
        }
    }

    #[test]
    fn nonsense_is_told_as_redis_does() {
        for (bytes, message) in [
            (&b"*x\r\n"[..], "invalid multibulk length"),
            (b"*3000000000\r\n", "invalid multibulk length"),
            (b"*1\r\n+OK\r\n", "expected '$', got '+'"),
            (b"*1\r\n$-1\r\n", "invalid bulk length"),
            (b"*1\r\n$999999999999\r\n", "invalid bulk length"),
            (b"*1\r\n$x\r\n", "invalid bulk length"),
        ] {
            assert_eq!(
                all(bytes).unwrap_err().to_string(),
                format!("Protocol error: {message}")
            );
        }
        let long = vec![b'1'; LINE_MAX + 2];
        let begins = |with: &[u8]| [with, &long].concat();
        for (bytes, message) in [
            (begins(b""), "too big inline request"),
            (begins(b"*"), "too big mbulk count string"),
            (begins(b"*1\r\n$"), "too big bulk count string"),
        ] {
            assert_eq!(
                all(&bytes).unwrap_err().to_string(),
                format!("Protocol error: {message}")
            );
        }
    }

    #[test]
    fn strangers_get_little() {
        let ask = |bytes: &[u8]| {
            let mut requests = Requests::of(true);
            requests.scan(bytes).unwrap_err().to_string()
        };
        assert_eq!(ask(b"*11\r\n"), "Protocol error: unauthenticated multibulk length");
        assert_eq!(ask(b"*1\r\n$16385\r\n"), "Protocol error: unauthenticated bulk length");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, cuts: Vec<u8>) {
            let whole = all(&bytes);
            // In pieces, nothing else comes out.
            let mut requests = Requests::default();
            let (mut begin, mut end, mut found) = (0, 0, Vec::new());
            let mut cuts = cuts.into_iter().map(usize::from).chain(std::iter::repeat(1));
            let pieces = loop {
                match requests.scan(&bytes[begin..end]) {
                    Err(error) => break Err(error),
                    Ok(Scan::Complete { len }) => {
                        found.push(requests.args(&bytes[begin..end]).map(<[u8]>::to_vec).collect());
                        begin += len;
                    }
                    Ok(Scan::Incomplete { .. }) if end == bytes.len() => break Ok(found),
                    Ok(Scan::Incomplete { .. }) => end = (end + cuts.next().unwrap_or(1)).min(bytes.len()),
                }
            };
            proptest::prop_assert_eq!(whole, pieces);
        }
    }
}
