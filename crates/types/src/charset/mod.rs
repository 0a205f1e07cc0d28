//! Character sets: which characters a string may hold, and how they look on the wire.
//!
//! Strings inside the server are UTF-8 whatever the character set of their column. A character set is an attribute
//! of a string's type: it limits the characters ([`CharsetId::contains`]), gives the length in bytes that `LENGTH()`
//! and `HEX()` speak of ([`CharsetId::encoded_len`], [`CharsetId::encode`]) and converts at the edges
//! ([`CharsetId::decode`], [`CharsetId::encode`]).

pub(crate) mod latin1;

use std::borrow::Cow;
use std::fmt;

use governor::bulk;
use serde::{Deserialize, Serialize};

use crate::collation::CollationId;
use crate::value::utf8;

/// A character set of the server. MySQL's other character sets are refused by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CharsetId {
    /// Unicode, one to four bytes.
    UTF8MB4,
    /// Unicode's basic multilingual plane, one to three bytes; `utf8` is an alias.
    UTF8MB3,
    /// MySQL's latin1: Windows code page 1252 with its five holes filled by the C1 controls.
    LATIN1,
    /// Seven bits.
    ASCII,
    /// Bytes, not characters.
    BINARY,
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

impl CharsetId {
    /// Every character set, in the order of `SHOW CHARACTER SET`.
    pub const ALL: [CharsetId; 5] = [
        CharsetId::ASCII,
        CharsetId::BINARY,
        CharsetId::LATIN1,
        CharsetId::UTF8MB3,
        CharsetId::UTF8MB4,
    ];

    /// The character set called `name`, in any letter case.
    pub fn by_name(name: &str) -> Option<CharsetId> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(CharsetId::UTF8MB3);
        }
        CharsetId::ALL
            .into_iter()
            .find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    pub fn name(self) -> &'static str {
        match self {
            CharsetId::UTF8MB4 => "utf8mb4",
            CharsetId::UTF8MB3 => "utf8mb3",
            CharsetId::LATIN1 => "latin1",
            CharsetId::ASCII => "ascii",
            CharsetId::BINARY => "binary",
        }
    }

    /// The text of `SHOW CHARACTER SET`.
    pub fn description(self) -> &'static str {
        match self {
            CharsetId::UTF8MB4 | CharsetId::UTF8MB3 => "UTF-8 Unicode",
            CharsetId::LATIN1 => "cp1252 West European",
            CharsetId::ASCII => "US ASCII",
            CharsetId::BINARY => "Binary pseudo charset",
        }
    }

    pub fn default_collation(self) -> CollationId {
        match self {
            CharsetId::UTF8MB4 => CollationId::UTF8MB4_0900_AI_CI,
            CharsetId::UTF8MB3 => CollationId::UTF8MB3_GENERAL_CI,
            CharsetId::LATIN1 => CollationId::LATIN1_SWEDISH_CI,
            CharsetId::ASCII => CollationId::ASCII_GENERAL_CI,
            CharsetId::BINARY => CollationId::BINARY,
        }
    }

    /// The collation that compares code by code (`…_bin`).
    pub fn binary_collation(self) -> CollationId {
        match self {
            CharsetId::UTF8MB4 => CollationId::UTF8MB4_BIN,
            CharsetId::UTF8MB3 => CollationId::UTF8MB3_BIN,
            CharsetId::LATIN1 => CollationId::LATIN1_BIN,
            CharsetId::ASCII => CollationId::ASCII_BIN,
            CharsetId::BINARY => CollationId::BINARY,
        }
    }

    /// The most bytes that one character takes.
    pub const fn max_bytes_per_char(self) -> u32 {
        match self {
            CharsetId::UTF8MB4 => 4,
            CharsetId::UTF8MB3 => 3,
            CharsetId::LATIN1 | CharsetId::ASCII | CharsetId::BINARY => 1,
        }
    }

    /// Whether the character set has this character.
    pub fn contains(self, c: char) -> bool {
        match self {
            CharsetId::UTF8MB4 | CharsetId::BINARY => true,
            CharsetId::UTF8MB3 => c <= '\u{FFFF}',
            CharsetId::LATIN1 => latin1::byte_of(c).is_some(),
            CharsetId::ASCII => c.is_ascii(),
        }
    }

    /// The offset in `text` of the first character that this character set lacks.
    pub fn first_foreign(self, text: &str) -> Option<usize> {
        if self.max_bytes_per_char() == 4 || self == CharsetId::BINARY {
            return None;
        }
        let mut before = 0;
        for piece in bulk::text_pieces(text) {
            let foreign = || piece.char_indices().find(|&(_, c)| !self.contains(c));
            if !piece.is_ascii()
                && let Some((at, _)) = foreign()
            {
                return Some(before + at);
            }
            before += piece.len();
        }
        None
    }

    /// The text that `bytes` of the wire mean. `binary` has no characters: its bytes are read as UTF-8.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, InvalidBytes> {
        let utf8 = |bytes| utf8(bytes).map_err(|position| InvalidBytes { position });
        match self {
            CharsetId::UTF8MB4 | CharsetId::BINARY => utf8(bytes).map(Cow::Borrowed),
            CharsetId::UTF8MB3 => {
                let text = utf8(bytes)?;
                match self.first_foreign(text) {
                    None => Ok(Cow::Borrowed(text)),
                    Some(position) => Err(InvalidBytes { position }),
                }
            }
            CharsetId::LATIN1 => Ok(latin1::decode(bytes)),
            CharsetId::ASCII => match is_ascii(bytes) {
                true => utf8(bytes).map(Cow::Borrowed),
                false => Err(InvalidBytes {
                    position: bytes.iter().position(|b| !b.is_ascii()).unwrap_or(bytes.len()),
                }),
            },
        }
    }

    /// The bytes of `text` in this character set; a character that it lacks becomes `?`.
    pub fn encode(self, text: &str) -> Cow<'_, [u8]> {
        if self == CharsetId::UTF8MB4 || self == CharsetId::BINARY || is_ascii(text.as_bytes()) {
            return Cow::Borrowed(text.as_bytes());
        }
        let bytes = |byte_of: fn(char) -> Option<u8>| {
            let mut out = Vec::with_capacity(text.len());
            for piece in bulk::text_pieces(text) {
                out.extend(piece.chars().map(|c| byte_of(c).unwrap_or(b'?')));
            }
            Cow::Owned(out)
        };
        match self {
            CharsetId::LATIN1 => bytes(latin1::byte_of),
            CharsetId::ASCII => bytes(|c| c.is_ascii().then_some(c as u8)),
            _ => match self.keep_known(text) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
        }
    }

    /// The text with `?` for each character that this character set lacks; borrowed where it has them all.
    pub fn keep_known(self, text: &str) -> Cow<'_, str> {
        match self.first_foreign(text) {
            None => Cow::Borrowed(text),
            Some(_) => {
                let known = |c| if self.contains(c) { c } else { '?' };
                let mut out = String::with_capacity(text.len());
                bulk::text_pieces(text).for_each(|piece| out.extend(piece.chars().map(known)));
                Cow::Owned(out)
            }
        }
    }

    /// How many bytes `text` takes in this character set: MySQL's `LENGTH()`.
    pub fn encoded_len(self, text: &str) -> usize {
        match self {
            CharsetId::UTF8MB4 | CharsetId::BINARY => text.len(),
            CharsetId::LATIN1 | CharsetId::ASCII => char_count(text.as_bytes()),
            CharsetId::UTF8MB3 => self.encode(text).len(),
        }
    }
}

impl fmt::Display for CharsetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The number of characters of UTF-8 `text`.
pub fn char_count(text: &[u8]) -> usize {
    // A character is one byte that is not a continuation byte (0b10xx_xxxx, as a signed byte below -0x40).
    let count = |piece: &[u8]| piece.iter().filter(|&&b| (b as i8) >= -0x40).count();
    match text.len() <= bulk::PIECE {
        true => count(text),
        false => bulk::pieces(text).map(count).sum(),
    }
}

/// Whether all bytes are ASCII; looked at in pieces.
pub fn is_ascii(bytes: &[u8]) -> bool {
    bulk::pieces(bytes).all(<[u8]>::is_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin1_is_windows_1252_and_every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        let text = CharsetId::LATIN1.decode(&all).unwrap();
        assert_eq!(CharsetId::LATIN1.encode(&text), all.as_slice());
        assert_eq!(CharsetId::LATIN1.decode(b"\x80\x99\xe9").unwrap(), "€™é");
        assert_eq!(CharsetId::LATIN1.encode("a€Ω"), b"a\x80?".as_slice());
        assert_eq!(CharsetId::LATIN1.encoded_len("a€é"), 3);
        assert_eq!(CharsetId::LATIN1.first_foreign("a€Ω"), Some(4));
    }

    #[test]
    fn the_bad_byte_is_found() {
        let at = |charset: CharsetId, bytes: &[u8]| charset.decode(bytes).map_err(|e| e.position).err();
        assert_eq!(at(CharsetId::UTF8MB4, b"ab\xff"), Some(2));
        assert_eq!(at(CharsetId::UTF8MB4, b"ab\xe2\x82"), Some(2));
        assert_eq!(at(CharsetId::UTF8MB4, "a😀".as_bytes()), None);
        assert_eq!(at(CharsetId::UTF8MB3, "a😀".as_bytes()), Some(1));
        assert_eq!(at(CharsetId::ASCII, "aé".as_bytes()), Some(1));
        assert_eq!(CharsetId::UTF8MB3.encode("a😀b"), b"a?b".as_slice());
    }

    #[test]
    fn names() {
        assert_eq!(CharsetId::by_name("UTF8"), Some(CharsetId::UTF8MB3));
        assert_eq!(CharsetId::by_name("Latin1"), Some(CharsetId::LATIN1));
        assert_eq!(CharsetId::by_name("koi8r"), None);
    }
}
