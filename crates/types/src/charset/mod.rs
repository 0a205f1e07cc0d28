//! Character sets: which characters a string may hold, and how they look on the wire.
//!
//! Strings inside the server are UTF-8 whatever the character set of their column. A character set is an attribute
//! of a string's type: it limits the characters ([`Charset::contains`]), gives the length in bytes that `LENGTH()`
//! and `HEX()` speak of ([`Charset::encoded_len`], [`Charset::encode`]) and converts at the edges
//! ([`Charset::decode`], [`Charset::encode`]).

pub(crate) mod latin1;

use std::borrow::Cow;
use std::fmt;

use crate::collation::CollationId;

/// A character set of the server. MySQL's other character sets are refused by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Charset {
    /// Unicode, one to four bytes.
    Utf8mb4,
    /// Unicode's basic multilingual plane, one to three bytes; `utf8` is an alias.
    Utf8mb3,
    /// MySQL's latin1: Windows code page 1252 with its five holes filled by the C1 controls.
    Latin1,
    /// Seven bits.
    Ascii,
    /// Bytes, not characters.
    Binary,
}

/// The bytes are not a string of the character set; `position` is the offset of the first byte that is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidBytes {
    pub position: usize,
}

impl fmt::Display for InvalidBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid byte at offset {}", self.position)
    }
}

impl std::error::Error for InvalidBytes {}

impl Charset {
    /// Every character set, in the order of `SHOW CHARACTER SET`.
    pub const ALL: [Charset; 5] =
        [Charset::Ascii, Charset::Binary, Charset::Latin1, Charset::Utf8mb3, Charset::Utf8mb4];

    /// The character set called `name`, in any letter case.
    pub fn by_name(name: &str) -> Option<Charset> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Charset::Utf8mb3);
        }
        Charset::ALL.into_iter().find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    pub fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Latin1 => "latin1",
            Charset::Ascii => "ascii",
            Charset::Binary => "binary",
        }
    }

    /// The text of `SHOW CHARACTER SET`.
    pub fn description(self) -> &'static str {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Latin1 => "cp1252 West European",
            Charset::Ascii => "US ASCII",
            Charset::Binary => "Binary pseudo charset",
        }
    }

    pub fn default_collation(self) -> CollationId {
        match self {
            Charset::Utf8mb4 => CollationId::Utf8mb4_0900AiCi,
            Charset::Utf8mb3 => CollationId::Utf8mb3GeneralCi,
            Charset::Latin1 => CollationId::Latin1SwedishCi,
            Charset::Ascii => CollationId::AsciiGeneralCi,
            Charset::Binary => CollationId::Binary,
        }
    }

    /// The collation that compares code by code (`…_bin`).
    pub fn binary_collation(self) -> CollationId {
        match self {
            Charset::Utf8mb4 => CollationId::Utf8mb4Bin,
            Charset::Utf8mb3 => CollationId::Utf8mb3Bin,
            Charset::Latin1 => CollationId::Latin1Bin,
            Charset::Ascii => CollationId::AsciiBin,
            Charset::Binary => CollationId::Binary,
        }
    }

    /// The most bytes that one character takes.
    pub fn max_len(self) -> u32 {
        match self {
            Charset::Utf8mb4 => 4,
            Charset::Utf8mb3 => 3,
            Charset::Latin1 | Charset::Ascii | Charset::Binary => 1,
        }
    }

    /// Whether the character set has this character.
    pub fn contains(self, c: char) -> bool {
        match self {
            Charset::Utf8mb4 | Charset::Binary => true,
            Charset::Utf8mb3 => c <= '\u{FFFF}',
            Charset::Latin1 => latin1::byte_of(c).is_some(),
            Charset::Ascii => c.is_ascii(),
        }
    }

    /// The offset in `text` of the first character that this character set lacks.
    pub fn first_foreign(self, text: &str) -> Option<usize> {
        if text.is_ascii() || self.max_len() == 4 || self == Charset::Binary {
            return None;
        }
        text.char_indices().find(|&(_, c)| !self.contains(c)).map(|(at, _)| at)
    }

    /// The text that `bytes` of the wire mean. `binary` has no characters: its bytes are read as UTF-8.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, InvalidBytes> {
        let utf8 = |bytes| std::str::from_utf8(bytes).map_err(|e| InvalidBytes { position: e.valid_up_to() });
        match self {
            Charset::Utf8mb4 | Charset::Binary => utf8(bytes).map(Cow::Borrowed),
            Charset::Utf8mb3 => {
                let text = utf8(bytes)?;
                match self.first_foreign(text) {
                    None => Ok(Cow::Borrowed(text)),
                    Some(position) => Err(InvalidBytes { position }),
                }
            }
            Charset::Latin1 => Ok(latin1::decode(bytes)),
            Charset::Ascii => match bytes.iter().position(|b| !b.is_ascii()) {
                None => utf8(bytes).map(Cow::Borrowed),
                Some(position) => Err(InvalidBytes { position }),
            },
        }
    }

    /// The bytes of `text` in this character set; a character that it lacks becomes `?`.
    pub fn encode(self, text: &str) -> Cow<'_, [u8]> {
        if self == Charset::Utf8mb4 || self == Charset::Binary || text.is_ascii() {
            return Cow::Borrowed(text.as_bytes());
        }
        match self {
            Charset::Latin1 => Cow::Owned(text.chars().map(|c| latin1::byte_of(c).unwrap_or(b'?')).collect()),
            Charset::Ascii => Cow::Owned(text.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }).collect()),
            _ => match self.first_foreign(text) {
                None => Cow::Borrowed(text.as_bytes()),
                Some(_) => {
                    let known = |c| if self.contains(c) { c } else { '?' };
                    Cow::Owned(text.chars().map(known).collect::<String>().into_bytes())
                }
            },
        }
    }

    /// How many bytes `text` takes in this character set: MySQL's `LENGTH()`.
    pub fn encoded_len(self, text: &str) -> usize {
        match self {
            Charset::Utf8mb4 | Charset::Binary => text.len(),
            Charset::Latin1 | Charset::Ascii => char_count(text.as_bytes()),
            Charset::Utf8mb3 => self.encode(text).len(),
        }
    }
}

impl fmt::Display for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The number of characters of UTF-8 `text`.
pub fn char_count(text: &[u8]) -> usize {
    // A character is one byte that is not a continuation byte (0b10xx_xxxx, as a signed byte below -0x40).
    text.iter().filter(|&&b| (b as i8) >= -0x40).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin1_is_windows_1252_and_every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        let text = Charset::Latin1.decode(&all).unwrap();
        assert_eq!(Charset::Latin1.encode(&text), all.as_slice());
        assert_eq!(Charset::Latin1.decode(b"\x80\x99\xe9").unwrap(), "€™é");
        assert_eq!(Charset::Latin1.encode("a€Ω"), b"a\x80?".as_slice());
        assert_eq!(Charset::Latin1.encoded_len("a€é"), 3);
        assert_eq!(Charset::Latin1.first_foreign("a€Ω"), Some(4));
    }

    #[test]
    fn the_bad_byte_is_found() {
        let at = |charset: Charset, bytes: &[u8]| charset.decode(bytes).map_err(|e| e.position).err();
        assert_eq!(at(Charset::Utf8mb4, b"ab\xff"), Some(2));
        assert_eq!(at(Charset::Utf8mb4, b"ab\xe2\x82"), Some(2));
        assert_eq!(at(Charset::Utf8mb4, "a😀".as_bytes()), None);
        assert_eq!(at(Charset::Utf8mb3, "a😀".as_bytes()), Some(1));
        assert_eq!(at(Charset::Ascii, "aé".as_bytes()), Some(1));
        assert_eq!(Charset::Utf8mb3.encode("a😀b"), b"a?b".as_slice());
    }

    #[test]
    fn names() {
        assert_eq!(Charset::by_name("UTF8"), Some(Charset::Utf8mb3));
        assert_eq!(Charset::by_name("Latin1"), Some(Charset::Latin1));
        assert_eq!(Charset::by_name("koi8r"), None);
    }
}
