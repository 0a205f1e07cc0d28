//! Owned strings that clone without allocating: short ones inline, long ones shared.

#![allow(unsafe_code)]

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use governor::bulk;

const INLINE: usize = 22;

/// From this length on, bytes stay where they were made: a copy of them would take long, and the second look costs nothing then.
const LONG: usize = 32 << 10;

/// Raw bytes. 24 bytes wide; up to 22 live inside, longer ones are shared.
#[derive(Clone)]
pub struct Bytes(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, bytes: [u8; INLINE] },
    Shared(Arc<[u8]>),
    Long(Arc<Vec<u8>>),
}

impl Bytes {
    pub fn new(bytes: &[u8]) -> Bytes {
        if bytes.len() <= INLINE {
            let mut inline = [0; INLINE];
            inline[..bytes.len()].copy_from_slice(bytes);
            Bytes(Repr::Inline {
                len: bytes.len() as u8,
                bytes: inline,
            })
        } else if bytes.len() < LONG {
            Bytes(Repr::Shared(bytes.into()))
        } else {
            Bytes(Repr::Long(Arc::new(bulk::copy(bytes))))
        }
    }

    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Shared(shared) => shared,
            Repr::Long(long) => long,
        }
    }

    /// Bytes on the heap, for memory accounting. Shared text is counted by each owner.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Inline { .. } => 0,
            Repr::Shared(shared) => shared.len() + 16,
            Repr::Long(long) => long.capacity() + 16 + size_of::<Vec<u8>>(),
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes::new(&[])
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        Bytes::new(bytes)
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        // A buffer with much room left is not worth keeping as it is.
        if bytes.len() < LONG || bytes.len() < bytes.capacity() / 2 {
            Bytes::new(&bytes)
        } else {
            Bytes(Repr::Long(Arc::new(bytes)))
        }
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Bytes {}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.as_slice().escape_ascii())
    }
}

/// UTF-8 text. Same shape as [`Bytes`].
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Str(Bytes);

impl Str {
    pub fn new(text: &str) -> Str {
        Str(Bytes::new(text.as_bytes()))
    }

    /// The bytes as text if they are UTF-8, else as they were.
    pub fn from_utf8(bytes: Vec<u8>) -> Result<Str, Vec<u8>> {
        match bulk::valid_utf8_len(&bytes) == bytes.len() {
            true => Ok(Str(bytes.into())),
            false => Err(bytes),
        }
    }

    pub fn as_str(&self) -> &str {
        // SAFETY: every constructor takes a `str` or a `String` or looks at the bytes, and they are never changed.
        unsafe { std::str::from_utf8_unchecked(&self.0) }
    }

    /// The same bytes as a binary string, without copying.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    pub fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

/// As [`String::from_utf8`], and gives way on the way through a long text. Err has the bytes as they were.
pub fn utf8_string(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    match bulk::valid_utf8_len(&bytes) == bytes.len() {
        // SAFETY: all of the bytes are valid.
        true => Ok(unsafe { String::from_utf8_unchecked(bytes) }),
        false => Err(bytes),
    }
}

/// Whether the text is ASCII, as most is: a word at a time and without a look at each byte of the last one, so that a text of a column
/// costs a fifth of the check for UTF-8.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.iter().all(u8::is_ascii);
    };
    let (words, _) = bytes.as_chunks::<8>();
    let mut blocks = words.chunks(8);
    u64::from_ne_bytes(*last) & HIGH_BITS == 0
        && blocks.all(|block| block.iter().fold(0, |all, word| all | u64::from_ne_bytes(*word)) & HIGH_BITS == 0)
}

/// As [`std::str::from_utf8`], and gives way on the way through a long text. Err has the length of the beginning that is UTF-8.
#[inline]
pub fn utf8(bytes: &[u8]) -> Result<&str, usize> {
    if bytes.len() <= bulk::PIECE {
        if is_ascii(bytes) {
            // SAFETY: ASCII is valid.
            return Ok(unsafe { std::str::from_utf8_unchecked(bytes) });
        }
        return std::str::from_utf8(bytes).map_err(|error| error.valid_up_to());
    }
    match bulk::valid_utf8_len(bytes) {
        // SAFETY: all of the bytes are valid.
        len if len == bytes.len() => Ok(unsafe { std::str::from_utf8_unchecked(bytes) }),
        len => Err(len),
    }
}

impl Deref for Str {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Str {
        Str::new(text)
    }
}

impl From<String> for Str {
    fn from(text: String) -> Str {
        Str(text.into_bytes().into())
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_on_both_sides_of_the_inline_limit() {
        for n in [0, 1, 21, 22, 23, 24, 100, LONG - 1, LONG, LONG + 1] {
            let text = "é".repeat(n / 2) + &"x".repeat(n % 2);
            assert_eq!(Str::new(&text).as_str(), text);
            assert_eq!(Str::from(text.clone()).as_str(), text);
            assert_eq!(Str::from_utf8(text.clone().into_bytes()).expect("UTF-8").as_str(), text);
        }
        assert_eq!(size_of::<Str>(), 24);
    }

    #[test]
    fn a_foreign_byte_is_seen_wherever_it_is() {
        for len in 0..150 {
            let mut text = vec![b'a'; len];
            assert_eq!(utf8(&text), Ok("a".repeat(len).as_str()));
            for at in 0..len {
                text[at] = 0xff;
                assert_eq!(utf8(&text), Err(at), "{len}");
                text[at] = b'a';
            }
        }
    }
}
