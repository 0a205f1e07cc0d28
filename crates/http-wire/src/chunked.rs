//! A body that comes in chunks (RFC 9112, 7.1).

use crate::field;
use crate::request::{Improper, Scan};

/// Bytes of a chunk's first line, with extensions, which mean nothing here.
const LINE_MAX: usize = 1 << 10;
/// Bytes by which a body that came in chunks may be longer than the longest that did not.
const FRAMES_MAX: usize = 1 << 20;
/// Chunks of one body. Each is kept track of.
const CHUNKS_MAX: usize = 1 << 20;
/// What is kept for the next body.
const CHUNKS_KEPT: usize = 64;
/// Bytes of all headers behind the last chunk, which mean nothing here.
const TRAILER_MAX: usize = 8 << 10;

/// Finds the chunks of one body. Looks at each byte once, however often it is asked.
#[derive(Debug, Clone, Default)]
pub struct Chunked {
    /// Up to here the bytes have been looked at.
    at: usize,
    chunks: Vec<std::ops::Range<usize>>,
    len: usize,
    /// Behind the last chunk.
    trailer: Option<usize>,
    /// Behind the body.
    end: Option<usize>,
}

impl Chunked {
    /// Begins anew, with another body.
    pub fn clear(&mut self) {
        *self = Chunked {
            chunks: std::mem::take(&mut self.chunks),
            ..Chunked::default()
        };
        self.chunks.clear();
        self.chunks.shrink_to(CHUNKS_KEPT);
    }

    /// Looks on in `bytes`, which begin with the body. How many bytes it takes, once it is whole. What comes around the chunks counts, too:
    /// all of it has to be held.
    pub fn scan(&mut self, bytes: &[u8], len_max: usize) -> Result<Scan<usize>, Improper> {
        const NO_CHUNK: Improper = Improper::Malformed("the body is not in chunks");
        loop {
            if let Some(end) = self.end {
                return Ok(Scan::Complete(end));
            }
            if let Some(begin) = self.trailer {
                let Some(end) = line(bytes, self.at, TRAILER_MAX - (self.at - begin))? else {
                    return Ok(Scan::Incomplete);
                };
                let is_last = end == self.at;
                self.at = end + 2;
                if is_last {
                    self.end = Some(self.at);
                } else if self.at - begin >= TRAILER_MAX {
                    return Err(Improper::HeadTooLarge);
                }
                continue;
            }
            let Some(end) = line(bytes, self.at, LINE_MAX)? else {
                return Ok(Scan::Incomplete);
            };
            let size = size_of(&bytes[self.at..end]).ok_or(NO_CHUNK)?;
            let begin = end + 2;
            if size == 0 {
                self.at = begin;
                self.trailer = Some(begin);
                continue;
            }
            let size = usize::try_from(size).map_err(|_| Improper::BodyTooLarge)?;
            let is_too_long = size > len_max - self.len || self.at > len_max + FRAMES_MAX;
            if is_too_long || self.chunks.len() == CHUNKS_MAX {
                return Err(Improper::BodyTooLarge);
            }
            match bytes.get(begin + size..begin + size + 2) {
                None => return Ok(Scan::Incomplete),
                Some(b"\r\n") => {}
                Some(_) => return Err(NO_CHUNK),
            }
            self.len += size;
            self.chunks.push(begin..begin + size);
            self.at = begin + size + 2;
        }
    }

    /// Of all chunks that were found.
    pub fn joined_len(&self) -> usize {
        self.len
    }

    /// Puts the chunks together at the beginning of `bytes`. The length of what is then there.
    pub fn join(&self, bytes: &mut [u8]) -> usize {
        let mut len = 0;
        for chunk in &self.chunks {
            bytes.copy_within(chunk.clone(), len);
            len += chunk.len();
        }
        len
    }
}

fn line(bytes: &[u8], at: usize, len_max: usize) -> Result<Option<usize>, Improper> {
    let rest = bytes.get(at..).unwrap_or_default();
    match memchr::memchr(b'\n', &rest[..rest.len().min(len_max)]) {
        Some(found) if found > 0 && rest[found - 1] == b'\r' => match rest[..found - 1].iter().any(field::is_control) {
            // Others may see a line's end in it.
            true => Err(Improper::Malformed("a line around chunks has control characters")),
            false => Ok(Some(at + found - 1)),
        },
        Some(_) => Err(Improper::Malformed("a line ends without CR")),
        None if rest.len() >= len_max => Err(Improper::HeadTooLarge),
        None => Ok(None),
    }
}

fn size_of(line: &[u8]) -> Option<u64> {
    let digits = match memchr::memchr(b';', line) {
        Some(end) => line[..end].trim_ascii_end(),
        None => line,
    };
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    digits.iter().try_fold(0_u64, |size, digit| {
        let digit = (*digit as char).to_digit(16)?;
        Some(size << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str, len_max: usize) -> Result<(String, usize), u16> {
        let (mut bytes, mut chunked) = (body.as_bytes().to_vec(), Chunked::default());
        // As it comes, byte by byte.
        for end in 0..=bytes.len() {
            match chunked.scan(&bytes[..end], len_max).map_err(Improper::status)? {
                Scan::Incomplete => {}
                Scan::Complete(taken) => {
                    assert_eq!(taken, end);
                    assert_eq!(
                        chunked.scan(&bytes, len_max),
                        Ok(Scan::Complete(taken)),
                        "asked once more"
                    );
                    let len = chunked.join(&mut bytes);
                    return Ok((String::from_utf8_lossy(&bytes[..len]).into_owned(), taken));
                }
            }
        }
        Err(0)
    }

    #[test]
    fn chunks_are_put_together() {
        assert_eq!(
            read("4\r\nWiki\r\nA;x=y\r\npedia, the\r\n0\r\nX: y\r\n\r\n", 99),
            Ok(("Wikipedia, the".into(), 39))
        );
        assert_eq!(read("0\r\n\r\n", 0), Ok((String::new(), 5)));
    }

    #[test]
    fn bad_chunks_are_refused() {
        for body in [
            "x\r\n",
            "\r\n",
            "-1\r\n",
            "4\r\nWikix\r\n",
            "4\nWiki",
            "1000000000000000\r\n",
            "4 4\r\n",
            "4;\rx\r\nWiki",
            "4\r;x\r\nWiki",
            "4;\0\r\nWiki",
            "0\r\nX: \ry\r\n\r\n",
            "0\r\nX: \x7f\r\n\r\n",
        ] {
            assert_eq!(read(body, 99), Err(400), "{body:?}");
        }
        assert_eq!(read("5\r\nWikip\r\n", 4), Err(413));
        // What stands around the chunks is bounded, too.
        let padded = format!("1;{}\r\nx\r\n", "y".repeat(LINE_MAX - 10));
        let mut chunked = Chunked::default();
        assert_eq!(
            chunked.scan(padded.repeat(2000).as_bytes(), 4000),
            Err(Improper::BodyTooLarge)
        );
        let mut chunked = Chunked::default();
        let many = "1\r\nx\r\n".repeat(CHUNKS_MAX + 1);
        assert_eq!(chunked.scan(many.as_bytes(), many.len()), Err(Improper::BodyTooLarge));
        assert_eq!(read(&format!("4;{}", "x".repeat(LINE_MAX)), 99), Err(431));
        assert_eq!(read(&format!("0\r\n{}", "x: y\r\n".repeat(TRAILER_MAX)), 99), Err(431));
    }
}
