//! Answers, read back: by who passes them on in another form.

use std::ops::Range;

use crate::field;
use crate::request::{HEAD_MAX, Improper, Scan, header, next_line};
use crate::response::Framing;

/// The head of an answer, as ranges of the bytes that it was found in.
#[derive(Debug)]
pub struct AnswerHead {
    pub status: u16,
    /// How the body ends, for who does not know the request: a HEAD has none.
    pub framing: Framing,
    /// Whether the connection goes on.
    pub keep_alive: bool,
    /// Of the head, with its empty line.
    pub len: usize,
    headers: Vec<(Range<usize>, Range<usize>)>,
}

const NO_ANSWER: Improper = Improper::Malformed("this is no answer");

impl AnswerHead {
    /// Looks for a whole head at the beginning of `bytes`.
    pub fn scan(bytes: &[u8]) -> Result<Scan<AnswerHead>, Improper> {
        let Some(mut at) = next_line(bytes, 0)? else {
            return incomplete(bytes);
        };
        let mut answer = AnswerHead {
            status: status(&bytes[..at]).ok_or(NO_ANSWER)?,
            framing: Framing::Close,
            keep_alive: true,
            len: 0,
            headers: Vec::new(),
        };
        at += 2;
        loop {
            let Some(end) = next_line(bytes, at)? else {
                return incomplete(bytes);
            };
            if end == at {
                break;
            }
            let (name, value) = header(bytes, at..end)?;
            answer.read(&bytes[name.clone()], &bytes[value.clone()])?;
            answer.headers.push((name, value));
            at = end + 2;
        }
        answer.len = at + 2;
        if matches!(answer.status, 204 | 304) {
            answer.framing = Framing::None;
        }
        Ok(Scan::Complete(answer))
    }

    /// Reads what decides where the answer ends.
    fn read(&mut self, name: &[u8], value: &[u8]) -> Result<(), Improper> {
        if name.eq_ignore_ascii_case(b"content-length") {
            let len = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
            self.framing = Framing::Length(len.ok_or(NO_ANSWER)?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.framing = Framing::Chunked;
        } else if name.eq_ignore_ascii_case(b"connection") {
            self.keep_alive = !field::list(value).any(|option| option.eq_ignore_ascii_case(b"close"));
        }
        Ok(())
    }

    /// But for those that are about the connection.
    pub fn headers<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let all = self.headers.iter();
        all.map(|(name, value)| (&bytes[name.clone()], &bytes[value.clone()]))
            .filter(|(name, _)| {
                let of_connection = [&b"connection"[..], b"keep-alive", b"transfer-encoding"];
                !of_connection.iter().any(|one| name.eq_ignore_ascii_case(one))
            })
    }
}

fn incomplete(bytes: &[u8]) -> Result<Scan<AnswerHead>, Improper> {
    match bytes.len() > 4 * HEAD_MAX {
        true => Err(Improper::HeadTooLarge),
        false => Ok(Scan::Incomplete),
    }
}

fn status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.")?;
    match rest {
        [b'0' | b'1', b' ', digits @ ..] => {
            let digits = digits.get(..3)?;
            std::str::from_utf8(digits).ok()?.parse().ok()
        }
        _ => None,
    }
}

/// Takes the body of an answer out of what frames it, piece by piece.
#[derive(Debug)]
pub struct BodyReader {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Bytes(usize),
    /// The line that tells a chunk's length.
    ChunkLine,
    ChunkBytes(usize),
    /// The line end behind a chunk.
    ChunkEnd,
    /// The lines behind the last chunk.
    Trailer,
    UntilClose,
    Done,
}

/// What comes next in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// So many bytes that are not of the body.
    Frame(usize),
    /// So many bytes of the body.
    Body(usize),
    /// More bytes are needed.
    More,
    Done,
}

impl BodyReader {
    pub fn new(framing: Framing) -> BodyReader {
        let state = match framing {
            Framing::Length(0) | Framing::None => State::Done,
            Framing::Length(len) => State::Bytes(len),
            Framing::Chunked => State::ChunkLine,
            Framing::Close => State::UntilClose,
        };
        BodyReader { state }
    }

    /// What `bytes` begin with, which are then passed over.
    pub fn next(&mut self, bytes: &[u8]) -> Result<Next, Improper> {
        if self.state == State::Done {
            return Ok(Next::Done);
        }
        if bytes.is_empty() {
            return Ok(Next::More);
        }
        Ok(match self.state {
            State::UntilClose => Next::Body(bytes.len()),
            State::Bytes(left) | State::ChunkBytes(left) => {
                let len = left.min(bytes.len());
                self.state = match (self.state, left - len) {
                    (State::Bytes(_), 0) => State::Done,
                    (State::Bytes(_), left) => State::Bytes(left),
                    (_, 0) => State::ChunkEnd,
                    (_, left) => State::ChunkBytes(left),
                };
                Next::Body(len)
            }
            State::ChunkLine | State::ChunkEnd | State::Trailer => {
                let Some(end) = next_line(bytes, 0)? else {
                    return match bytes.len() > HEAD_MAX {
                        true => Err(NO_ANSWER),
                        false => Ok(Next::More),
                    };
                };
                self.state = match (self.state, &bytes[..end]) {
                    (State::ChunkEnd, b"") => State::ChunkLine,
                    (State::Trailer, b"") => State::Done,
                    (State::Trailer, _) => State::Trailer,
                    (State::ChunkLine, line) => {
                        let len = std::str::from_utf8(line).ok();
                        let len = len.and_then(|line| usize::from_str_radix(line, 16).ok());
                        match len.ok_or(NO_ANSWER)? {
                            0 => State::Trailer,
                            len => State::ChunkBytes(len),
                        }
                    }
                    _ => return Err(NO_ANSWER),
                };
                Next::Frame(end + 2)
            }
            State::Done => Next::Done,
        })
    }

    /// The connection has ended: an error where that is not the body's end.
    pub fn end(&self) -> Result<(), Improper> {
        match self.state {
            State::Done | State::UntilClose => Ok(()),
            _ => Err(NO_ANSWER),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::{LAST_CHUNK, ResponseHead, chunk};

    /// The status, the headers and the body of an answer that comes in pieces of `step` bytes.
    fn read(bytes: &[u8], step: usize) -> (u16, Vec<String>, Vec<u8>) {
        let mut len = 0;
        let head = loop {
            match AnswerHead::scan(&bytes[..len]).expect("an answer") {
                Scan::Complete(head) => break head,
                Scan::Incomplete => len = (len + step).min(bytes.len()),
            }
        };
        let headers = head
            .headers(bytes)
            .map(|(name, value)| format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
        let headers = headers.collect();
        let (mut reader, mut body, mut at) = (BodyReader::new(head.framing), Vec::new(), head.len);
        loop {
            match reader.next(&bytes[at..len.max(at)]).expect("a body") {
                Next::Frame(count) => at += count,
                Next::Body(count) => {
                    body.extend_from_slice(&bytes[at..at + count]);
                    at += count;
                }
                Next::More if len == bytes.len() => panic!("more is asked for"),
                Next::More => len = (len.max(at) + step).min(bytes.len()),
                Next::Done => break,
            }
        }
        assert_eq!(at, bytes.len());
        (head.status, headers, body)
    }

    #[test]
    fn what_was_written_is_read() {
        let mut whole = Vec::new();
        let mut head = ResponseHead::begin(&mut whole, 404);
        head.header("content-type", "text/plain");
        head.header("connection", "close");
        head.end(Framing::Length(5));
        whole.extend_from_slice(b"a\r\nb\n");
        let mut chunked = Vec::new();
        ResponseHead::begin(&mut chunked, 200).end(Framing::Chunked);
        let pieces = [&b"0\r\n\r\n"[..], &[7; 300], b"x"];
        pieces.iter().for_each(|piece| chunk(piece, &mut chunked));
        chunked.extend_from_slice(LAST_CHUNK);
        for step in [1, 2, 7, 1000] {
            let (status, headers, body) = read(&whole, step);
            assert_eq!((status, body), (404, b"a\r\nb\n".to_vec()));
            assert_eq!(headers, ["content-type=text/plain", "content-length=5"]);
            let (status, headers, body) = read(&chunked, step);
            assert_eq!((status, body), (200, pieces.concat()));
            assert!(headers.is_empty());
        }
        let mut none = Vec::new();
        ResponseHead::begin(&mut none, 204).end(Framing::None);
        assert_eq!(read(&none, 3), (204, Vec::new(), Vec::new()));
    }

    #[test]
    fn nonsense_is_refused() {
        for bytes in [
            &b"HTTP/2 200\r\n\r\n"[..],
            b"HTTP/1.1 2x0 OK\r\n\r\n",
            b"HTTP/1.1 20\r\n\r\n",
            b"\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        ] {
            assert!(AnswerHead::scan(bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
        let mut reader = BodyReader::new(Framing::Chunked);
        assert!(reader.next(b"xyz\r\n").is_err());
    }
}
