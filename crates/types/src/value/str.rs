//! Owned strings that clone without allocating: short ones inline, long ones shared.

#![allow(unsafe_code)]

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

const INLINE: usize = 22;

/// Raw bytes. 24 bytes wide; up to 22 live inside, longer ones are shared.
#[derive(Clone)]
pub struct Bytes(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, bytes: [u8; INLINE] },
    Shared(Arc<[u8]>),
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
        } else {
            Bytes(Repr::Shared(bytes.into()))
        }
    }

    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Shared(shared) => shared,
        }
    }

    /// Bytes on the heap, for memory accounting. Shared text is counted by each owner.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Inline { .. } => 0,
            Repr::Shared(shared) => shared.len() + 16,
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
        if bytes.len() <= INLINE {
            Bytes::new(&bytes)
        } else {
            Bytes(Repr::Shared(bytes.into()))
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

    pub fn as_str(&self) -> &str {
        // SAFETY: every constructor takes a `str` or a `String`, and the bytes are never changed.
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
        for n in [0, 1, 21, 22, 23, 24, 100] {
            let text = "é".repeat(n / 2) + &"x".repeat(n % 2);
            assert_eq!(Str::new(&text).as_str(), text);
            assert_eq!(Str::from(text.clone()).as_str(), text);
        }
        assert_eq!(size_of::<Str>(), 24);
    }
}
