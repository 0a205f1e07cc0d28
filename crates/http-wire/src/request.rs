//! The head of a request: its first line and its headers.

use std::ops::Range;

use crate::field;
use crate::target::Target;

/// Bytes of a head, with its empty line.
pub const HEAD_MAX: usize = 16 << 10;
/// Bytes of a target.
pub const TARGET_MAX: usize = 8 << 10;
/// Headers of a request.
pub const HEADERS_MAX: usize = 100;

/// What is found at the beginning of a client's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan<T> {
    /// Not whole yet, so far.
    Incomplete,
    Complete(T),
}

/// Why bytes are no request. Nothing behind them can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Improper {
    /// 400, with what is wrong, for a person.
    Malformed(&'static str),
    /// 414
    TargetTooLong,
    /// 431
    HeadTooLarge,
    /// 413
    BodyTooLarge,
    /// 501: a transfer coding that is not chunked.
    Coding,
    /// 505
    Version,
}

impl Improper {
    pub fn status(self) -> u16 {
        match self {
            Improper::Malformed(_) => 400,
            Improper::BodyTooLarge => 413,
            Improper::TargetTooLong => 414,
            Improper::HeadTooLarge => 431,
            Improper::Coding => 501,
            Improper::Version => 505,
        }
    }

    pub fn reason(self) -> &'static str {
        match self {
            Improper::Malformed(reason) => reason,
            Improper::BodyTooLarge => "the body is longer than is taken",
            Improper::TargetTooLong => "the target is longer than 8 KiB",
            Improper::HeadTooLarge => "the head is longer than 16 KiB, or has more than 100 headers",
            Improper::Coding => "of the transfer codings, only chunked is understood",
            Improper::Version => "HTTP/2, HTTP/1.1 and HTTP/1.0 are spoken",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    Http10,
    Http11,
}

/// How long the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    Length(u64),
    Chunked,
}

/// A request's head, as ranges of the bytes that it was found in. Kept from request to request for its memory.
#[derive(Debug, Clone, Default)]
pub struct Head {
    method: Range<usize>,
    target: Range<usize>,
    headers: Vec<(Range<usize>, Range<usize>)>,
    pub info: Info,
}

/// What of a head is understood here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    pub version: Version,
    /// Of the head, with its empty line.
    pub len: usize,
    pub body: Body,
    /// Whether the client means to send another request.
    pub keep_alive: bool,
    /// It waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

impl Default for Info {
    fn default() -> Info {
        Info {
            version: Version::Http11,
            len: 0,
            body: Body::Length(0),
            keep_alive: true,
            expects_continue: false,
        }
    }
}

/// The headers of a request.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a> {
    bytes: &'a [u8],
    all: &'a [(Range<usize>, Range<usize>)],
}

impl<'a> Headers<'a> {
    pub fn iter(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let bytes = self.bytes;
        self.all
            .iter()
            .map(move |(name, value)| (&bytes[name.clone()], &bytes[value.clone()]))
    }

    /// The first value under a name, which is given in lower case.
    pub fn get(self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    pub fn all(self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.iter()
            .filter(move |(given, _)| given.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }
}

impl Head {
    /// Looks for a whole head at the beginning of `bytes`. Empty lines before it are passed over, as RFC 9112 (2.2) asks for.
    pub fn scan(&mut self, bytes: &[u8]) -> Result<Scan<()>, Improper> {
        self.headers.clear();
        let mut at = 0;
        while bytes[at..].starts_with(b"\r\n") {
            at += 2;
            if at > HEAD_MAX {
                return Err(Improper::Malformed("nothing but empty lines"));
            }
        }
        let Some(line) = next_line(bytes, at)? else {
            return incomplete(bytes);
        };
        self.read_request_line(bytes, at..line)?;
        at = line + 2;
        loop {
            let Some(end) = next_line(bytes, at)? else {
                return incomplete(bytes);
            };
            if end == at {
                break;
            }
            if self.headers.len() == HEADERS_MAX {
                return Err(Improper::HeadTooLarge);
            }
            self.headers.push(header(bytes, at..end)?);
            at = end + 2;
        }
        self.info.len = at + 2;
        if self.info.len > HEAD_MAX {
            return Err(Improper::HeadTooLarge);
        }
        self.read_framing(bytes)?;
        Ok(Scan::Complete(()))
    }

    fn read_request_line(&mut self, bytes: &[u8], line: Range<usize>) -> Result<(), Improper> {
        const NO_REQUEST: Improper = Improper::Malformed("the first line is no request");
        let text = &bytes[line.clone()];
        let first = memchr::memchr(b' ', text).ok_or(NO_REQUEST)?;
        let last = memchr::memrchr(b' ', text).ok_or(NO_REQUEST)?;
        if first == 0 || first >= last || !text[..first].iter().all(|byte| is_token(*byte)) {
            return Err(NO_REQUEST);
        }
        let target = &text[first + 1..last];
        if target.len() > TARGET_MAX {
            return Err(Improper::TargetTooLong);
        }
        if target.is_empty() || !target.iter().all(|byte| matches!(byte, 0x21..=0x7e)) {
            return Err(Improper::Malformed("the target has bytes that no target has"));
        }
        self.info.version = match &text[last + 1..] {
            b"HTTP/1.1" => Version::Http11,
            b"HTTP/1.0" => Version::Http10,
            version if version.starts_with(b"HTTP/") => return Err(Improper::Version),
            _ => return Err(NO_REQUEST),
        };
        self.method = line.start..line.start + first;
        self.target = line.start + first + 1..line.start + last;
        Ok(())
    }

    /// Reads what decides where the request ends.
    fn read_framing(&mut self, bytes: &[u8]) -> Result<(), Improper> {
        let (mut length, mut is_chunked, mut hosts) = (None, false, 0);
        let named = Target::authority(self.target(bytes));
        let mut keep_alive = self.info.version == Version::Http11;
        self.info.expects_continue = false;
        for (name, value) in &self.headers {
            let (name, value) = (&bytes[name.clone()], &bytes[value.clone()]);
            match name.len() {
                4 if name.eq_ignore_ascii_case(b"host") => {
                    hosts += 1;
                    if named.is_some_and(|named| !named.eq_ignore_ascii_case(value)) {
                        return Err(Improper::Malformed("the target names another host"));
                    }
                }
                6 if name.eq_ignore_ascii_case(b"expect") => {
                    self.info.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
                }
                10 if name.eq_ignore_ascii_case(b"connection") => {
                    for option in field::list(value) {
                        if option.eq_ignore_ascii_case(b"close") {
                            keep_alive = false;
                        } else if option.eq_ignore_ascii_case(b"keep-alive") && self.info.version == Version::Http10 {
                            keep_alive = true;
                        }
                    }
                }
                14 if name.eq_ignore_ascii_case(b"content-length") => {
                    if length.is_some() {
                        return Err(Improper::Malformed("the length is given twice"));
                    }
                    length = Some(decimal(value).ok_or(Improper::Malformed("the length is no number"))?);
                }
                17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                    if is_chunked {
                        return Err(Improper::Malformed("the transfer coding is given twice"));
                    }
                    if !value.eq_ignore_ascii_case(b"chunked") {
                        return Err(Improper::Coding);
                    }
                    is_chunked = true;
                }
                _ => {}
            }
        }
        if is_chunked && (length.is_some() || self.info.version == Version::Http10) {
            return Err(Improper::Malformed("chunks and a length, or chunks in HTTP/1.0"));
        }
        if hosts > 1 || hosts == 0 && self.info.version == Version::Http11 {
            return Err(Improper::Malformed("a request of HTTP/1.1 has one Host"));
        }
        self.info.keep_alive = keep_alive;
        self.info.body = match is_chunked {
            true => Body::Chunked,
            false => Body::Length(length.unwrap_or(0)),
        };
        Ok(())
    }

    pub fn method<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.method.clone()]
    }

    pub fn target<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.target.clone()]
    }

    /// The method and the target, as they stand beside each other.
    pub fn what<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.method.start..self.target.end]
    }

    pub fn headers<'a>(&'a self, bytes: &'a [u8]) -> Headers<'a> {
        Headers {
            bytes,
            all: &self.headers,
        }
    }
}

/// Nothing whole yet, unless it never will be.
fn incomplete(bytes: &[u8]) -> Result<Scan<()>, Improper> {
    match bytes.len() >= HEAD_MAX {
        true => Err(Improper::HeadTooLarge),
        // What is no request is not waited for: a TLS handshake, say.
        false => match bytes.iter().find(|byte| !matches!(byte, b'\r' | b'\n')) {
            Some(first) if !is_token(*first) => Err(Improper::Malformed("the first line is no request")),
            _ => Ok(Scan::Incomplete),
        },
    }
}

/// The end of the line that begins at `at`.
pub(crate) fn next_line(bytes: &[u8], at: usize) -> Result<Option<usize>, Improper> {
    let Some(found) = memchr::memchr(b'\n', &bytes[at..]) else {
        return Ok(None);
    };
    match found.checked_sub(1) {
        Some(end) if bytes[at + end] == b'\r' => Ok(Some(at + end)),
        _ => Err(Improper::Malformed("a line ends without CR")),
    }
}

pub(crate) fn header(bytes: &[u8], line: Range<usize>) -> Result<(Range<usize>, Range<usize>), Improper> {
    let text = &bytes[line.clone()];
    let colon = memchr::memchr(b':', text).ok_or(Improper::Malformed("a header without a colon"))?;
    // Also a line that goes on the one before: it begins with white space.
    if colon == 0 || !text[..colon].iter().all(|byte| is_token(*byte)) {
        return Err(Improper::Malformed("the name of a header has bytes that no name has"));
    }
    let value = &text[colon + 1..];
    if value.iter().any(field::is_control) {
        return Err(Improper::Malformed("the value of a header has control characters"));
    }
    let begin = value
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t'))
        .unwrap_or(value.len());
    let end = value
        .iter()
        .rposition(|byte| !matches!(byte, b' ' | b'\t'))
        .map_or(begin, |last| last + 1);
    let base = line.start + colon + 1;
    Ok((line.start..line.start + colon, base + begin..base + end))
}

/// Digits alone, and not more than fit.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| match byte {
        b'0'..=b'9' => Some(number * 10 + u64::from(byte - b'0')),
        _ => None,
    })
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Result<Scan<Info>, Improper> {
        let mut head = Head::default();
        Ok(match head.scan(text.as_bytes())? {
            Scan::Complete(()) => Scan::Complete(head.info),
            Scan::Incomplete => Scan::Incomplete,
        })
    }

    #[test]
    fn a_head_is_ranges_of_its_bytes() {
        let bytes =
            b"\r\nPUT /a/b?c=d HTTP/1.1\r\nHost: db\r\nX-One: 1\r\nx-one:\t2 \r\nContent-Length: 12\r\n\r\nbody";
        let mut head = Head::default();
        assert_eq!(head.scan(bytes), Ok(Scan::Complete(())));
        assert_eq!(
            (head.method(bytes), head.target(bytes)),
            (&b"PUT"[..], &b"/a/b?c=d"[..])
        );
        let headers = head.headers(bytes);
        assert_eq!(headers.all("x-one").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(headers.get("none"), None);
        assert_eq!((head.info.body, head.info.len), (Body::Length(12), bytes.len() - 4));
        assert!(head.info.keep_alive && !head.info.expects_continue);
    }

    #[test]
    fn whether_another_request_follows() {
        let of = |version: &str, connection: &str| match scan(&format!(
            "GET / HTTP/{version}\r\nhost: x\r\nconnection: {connection}\r\n\r\n"
        )) {
            Ok(Scan::Complete(info)) => info.keep_alive,
            other => panic!("{other:?}"),
        };
        assert!(of("1.1", "") && !of("1.1", "x, close") && !of("1.0", "") && of("1.0", "Keep-Alive"));
    }

    #[test]
    fn what_may_be_read_in_two_ways_is_refused() {
        for (headers, status) in [
            ("content-length: 1\r\ntransfer-encoding: chunked\r\n", 400),
            ("content-length: 1\r\ncontent-length: 1\r\n", 400),
            ("content-length: +1\r\n", 400),
            ("content-length: 1, 1\r\n", 400),
            ("content-length:\r\n", 400),
            ("content-length: 99999999999999999999\r\n", 400),
            ("content-length : 1\r\n", 400),
            ("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n", 400),
            ("transfer-encoding: gzip, chunked\r\n", 501),
            ("transfer-encoding: \x0bchunked\r\n", 400),
            ("a: b\r\n c\r\n", 400),
            ("a\r\n", 400),
            (": b\r\n", 400),
            ("a: b\n", 400),
            ("a: \0\r\n", 400),
            ("host: y\r\n", 400),
        ] {
            let outcome = scan(&format!("POST / HTTP/1.1\r\nhost: x\r\n{headers}\r\n"));
            assert_eq!(outcome.map_err(Improper::status), Err(status), "{headers:?}");
        }
        for (line, status) in [
            ("GET / HTTP/2.0", 505),
            ("GET /", 400),
            ("GET  HTTP/1.1", 400),
            ("GET / x HTTP/1.1", 400),
            ("G@T / HTTP/1.1", 400),
            ("GET /ä HTTP/1.1", 400),
            ("GET http://y/ HTTP/1.1", 400),
            ("GET http://y@x/ HTTP/1.1", 400),
            ("GET HTTPS://y HTTP/1.1", 400),
            ("\u{16}\u{3}", 400),
        ] {
            let outcome = scan(&format!("{line}\r\nhost: x\r\n\r\n"));
            assert_eq!(outcome.map_err(Improper::status), Err(status), "{line:?}");
        }
        assert_eq!(
            scan("GET / HTTP/1.1\r\n\r\n").map_err(Improper::status),
            Err(400),
            "no host"
        );
        assert!(scan("GET / HTTP/1.0\r\n\r\n").is_ok());
        assert!(scan("GET http://X/ HTTP/1.1\r\nhost: x\r\n\r\n").is_ok());
    }

    #[test]
    fn heads_have_bounds() {
        let of = |headers: String| scan(&format!("GET / HTTP/1.1\r\nhost: x\r\n{headers}")).map_err(Improper::status);
        assert_eq!(of(format!("x: {}", "y".repeat(HEAD_MAX))), Err(431));
        assert_eq!(of(format!("{}\r\n", "x: y\r\n".repeat(HEADERS_MAX))), Err(431));
        assert!(matches!(of("x: y\r\n".repeat(HEADERS_MAX - 1)), Ok(Scan::Incomplete)));
        let long = scan(&format!("GET /{} HTTP/1.1\r\n", "x".repeat(TARGET_MAX)));
        assert_eq!(long.map_err(Improper::status), Err(414));
    }

    #[test]
    fn what_is_no_request_is_not_waited_for() {
        assert_eq!(scan("\u{16}\u{3}\u{1}").map_err(Improper::status), Err(400));
        assert_eq!(scan("GE"), Ok(Scan::Incomplete));
        assert_eq!(scan("\r\n"), Ok(Scan::Incomplete));
    }
}
