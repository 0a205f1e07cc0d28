//! Character sets: which characters a string may hold, and how they look on the wire.
//!
//! Strings inside the server are UTF-8 whatever the character set of their column. A character set is an attribute
//! of a string's type: it limits the characters ([`CharsetId::contains`]), gives the length in bytes that `LENGTH()`
//! and `HEX()` speak of ([`CharsetId::encoded_len`], [`CharsetId::encode`]) and converts at the edges
//! ([`CharsetId::decode`], [`CharsetId::encode`]).

pub(crate) mod coded;
pub(crate) mod gb18030;
pub(crate) mod latin1;
mod list;
mod wide;

use std::borrow::Cow;
use std::fmt;

use governor::bulk;
use serde::{Deserialize, Serialize};

use crate::collation::CollationId;
use crate::value::utf8;
use coded::Coded;
use list::{DEFS, Def};
use wide::Wide;

/// A character set of the server: all of MySQL's. Definitions hold their places in this list, so new ones come last.
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
    ARMSCII8,
    BIG5,
    CP1250,
    CP1251,
    CP1256,
    CP1257,
    CP850,
    CP852,
    CP866,
    CP932,
    DEC8,
    EUCKR,
    GB2312,
    GBK,
    GEOSTD8,
    GREEK,
    HEBREW,
    HP8,
    KEYBCS2,
    KOI8R,
    KOI8U,
    LATIN2,
    LATIN5,
    LATIN7,
    MACCE,
    MACROMAN,
    SJIS,
    SWE7,
    UCS2,
    UTF16,
    UTF16LE,
    UTF32,
    TIS620,
    UJIS,
    EUCJPMS,
    GB18030,
}

/// How the characters of a set look on the wire.
#[derive(Clone, Copy)]
pub(crate) enum Encoding {
    Utf8mb4,
    Utf8mb3,
    Latin1,
    Ascii,
    Bytes,
    Coded(&'static Coded),
    Gb18030,
    Wide(Wide),
}

/// Where each is in the list.
const PLACES: [u8; DEFS.len()] = {
    let mut places = [0; DEFS.len()];
    let mut at = 0;
    while at < DEFS.len() {
        places[DEFS[at].charset as usize] = at as u8;
        at += 1;
    }
    places
};

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
    const fn def(self) -> &'static Def {
        &DEFS[PLACES[self as usize] as usize]
    }

    /// Every character set, in the order of `SHOW CHARACTER SET`.
    pub fn all() -> impl Iterator<Item = CharsetId> {
        DEFS.iter().map(|def| def.charset)
    }

    /// The character set called `name`, in any letter case.
    pub fn by_name(name: &str) -> Option<CharsetId> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(CharsetId::UTF8MB3);
        }
        CharsetId::all().find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    pub const fn name(self) -> &'static str {
        self.def().name
    }

    /// The text of `SHOW CHARACTER SET`.
    pub const fn description(self) -> &'static str {
        self.def().description
    }

    pub const fn default_collation(self) -> CollationId {
        self.def().default
    }

    /// The collation that compares code by code (`…_bin`).
    pub const fn binary_collation(self) -> CollationId {
        self.def().binary
    }

    /// The most bytes that one character takes.
    pub const fn max_bytes_per_char(self) -> u32 {
        self.def().max_bytes_per_char
    }

    /// The fewest bytes that one character takes.
    pub const fn min_bytes_per_char(self) -> u32 {
        match self.def().encoding {
            Encoding::Wide(wide) => wide.unit() as u32,
            _ => 1,
        }
    }

    pub(crate) const fn coded(self) -> Option<&'static Coded> {
        match self.def().encoding {
            Encoding::Coded(coded) => Some(coded),
            _ => None,
        }
    }

    /// Whether its text is UTF-8 as it is, and bytes that are not can be told.
    pub const fn is_utf8(self) -> bool {
        matches!(
            self.def().encoding,
            Encoding::Utf8mb4 | Encoding::Utf8mb3 | Encoding::Ascii | Encoding::Bytes
        )
    }

    pub const fn is_unicode(self) -> bool {
        matches!(
            self.def().encoding,
            Encoding::Utf8mb4 | Encoding::Utf8mb3 | Encoding::Wide(_)
        )
    }

    /// Whether it has the characters beyond the basic multilingual plane, too.
    pub const fn is_all_of_unicode(self) -> bool {
        matches!(
            self.def().encoding,
            Encoding::Utf8mb4 | Encoding::Wide(Wide::Utf16 | Wide::Utf16Le | Wide::Utf32)
        )
    }

    /// Whether ASCII is itself in it. swe7 has letters in the place of brackets; sjis writes a backslash as the wide one.
    const fn keeps_ascii(self) -> bool {
        !matches!(self, CharsetId::SWE7 | CharsetId::SJIS) && self.min_bytes_per_char() == 1
    }

    /// Whether clients may speak it: a statement begins with a byte that means itself.
    pub const fn is_spoken(self) -> bool {
        self.min_bytes_per_char() == 1
    }

    /// Whether the character set has this character.
    pub fn contains(self, c: char) -> bool {
        match self.def().encoding {
            Encoding::Utf8mb4 | Encoding::Bytes => true,
            Encoding::Utf8mb3 | Encoding::Wide(Wide::Ucs2) => c <= '\u{FFFF}',
            Encoding::Latin1 => latin1::byte_of(c).is_some(),
            Encoding::Ascii => c.is_ascii(),
            Encoding::Coded(coded) => coded.contains(c),
            Encoding::Gb18030 | Encoding::Wide(_) => true,
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
            if !(self.keeps_ascii() && piece.is_ascii())
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
        match self.def().encoding {
            Encoding::Utf8mb4 | Encoding::Bytes => utf8(bytes).map(Cow::Borrowed),
            Encoding::Utf8mb3 => {
                let text = utf8(bytes)?;
                match self.first_foreign(text) {
                    None => Ok(Cow::Borrowed(text)),
                    Some(position) => Err(InvalidBytes { position }),
                }
            }
            Encoding::Latin1 => Ok(latin1::decode(bytes)),
            Encoding::Ascii => match is_ascii(bytes) {
                true => utf8(bytes).map(Cow::Borrowed),
                false => Err(InvalidBytes {
                    position: bytes.iter().position(|b| !b.is_ascii()).unwrap_or(bytes.len()),
                }),
            },
            Encoding::Coded(_) if self.keeps_ascii() && is_ascii(bytes) => utf8(bytes).map(Cow::Borrowed),
            Encoding::Coded(coded) => coded.decode(bytes).map(Cow::Owned),
            Encoding::Gb18030 if is_ascii(bytes) => utf8(bytes).map(Cow::Borrowed),
            Encoding::Gb18030 => gb18030::decode(bytes).map(Cow::Owned),
            Encoding::Wide(wide) => wide.decode(bytes).map(Cow::Owned),
        }
    }

    /// The bytes of `text` in this character set; a character that it lacks becomes `?`.
    pub fn encode(self, text: &str) -> Cow<'_, [u8]> {
        if self == CharsetId::UTF8MB4 || self == CharsetId::BINARY || self.keeps_ascii() && is_ascii(text.as_bytes()) {
            return Cow::Borrowed(text.as_bytes());
        }
        let bytes = |byte_of: fn(char) -> Option<u8>| {
            let mut out = Vec::with_capacity(text.len());
            for piece in bulk::text_pieces(text) {
                out.extend(piece.chars().map(|c| byte_of(c).unwrap_or(b'?')));
            }
            Cow::Owned(out)
        };
        match self.def().encoding {
            Encoding::Latin1 => bytes(latin1::byte_of),
            Encoding::Ascii => bytes(|c| c.is_ascii().then_some(c as u8)),
            Encoding::Coded(coded) => Cow::Owned(coded.encode(text)),
            Encoding::Gb18030 => Cow::Owned(gb18030::encode(text)),
            Encoding::Wide(wide) => Cow::Owned(wide.encode(text)),
            Encoding::Utf8mb4 | Encoding::Utf8mb3 | Encoding::Bytes => match self.keep_known(text) {
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

    /// How many of the bytes are the first character; of bytes that are none, one.
    pub fn first_char_len(self, bytes: &[u8]) -> usize {
        let longest = (self.max_bytes_per_char() as usize).min(bytes.len());
        let is_char = |&length: &usize| {
            self.decode(&bytes[..length])
                .is_ok_and(|text| text.chars().count() == 1)
        };
        (1..=longest).find(is_char).unwrap_or(1)
    }

    /// How many bytes `text` takes in this character set: MySQL's `LENGTH()`.
    pub fn encoded_len(self, text: &str) -> usize {
        match self.def().encoding {
            Encoding::Utf8mb4 | Encoding::Bytes => text.len(),
            Encoding::Latin1 | Encoding::Ascii => char_count(text.as_bytes()),
            Encoding::Utf8mb3 => self.encode(text).len(),
            Encoding::Coded(coded) if coded.width() == 1 => char_count(text.as_bytes()),
            Encoding::Coded(coded) => coded.encoded_len(text),
            Encoding::Gb18030 => gb18030::encoded_len(text),
            Encoding::Wide(wide) => wide.encoded_len(text),
        }
    }
}

/// The text of bytes whose characters `next` reads: the one that begins at an offset, and how many bytes it takes.
fn text_of(
    bytes: &[u8],
    capacity: usize,
    next: impl Fn(usize) -> Option<(char, usize)>,
) -> Result<String, InvalidBytes> {
    let mut text = String::with_capacity(capacity);
    let (mut at, mut look) = (0, bulk::PIECE);
    while at < bytes.len() {
        if at >= look {
            look = at + bulk::PIECE;
            if !governor::go_on() {
                break;
            }
        }
        let (c, length) = next(at).ok_or(InvalidBytes { position: at })?;
        text.push(c);
        at += length;
    }
    Ok(text)
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
    fn long_codes() {
        let same = |charset: CharsetId, bytes: &[u8], text: &str| {
            assert_eq!(charset.decode(bytes).unwrap(), text, "{charset}");
            assert_eq!(charset.encode(text), bytes, "{charset}");
            assert_eq!(charset.encoded_len(text), bytes.len(), "{charset}");
        };
        same(CharsetId::UJIS, b"a\xC6\xFC\x8E\xB1\x8F\xB0\xA1", "a日ｱ丂");
        same(CharsetId::EUCJPMS, b"\xAD\xA1\x8F\xB0\xA1~", "①丂~");
        same(
            CharsetId::GB18030,
            b"\xD6\xD0\x81\x30\x87\x37\x94\x39\xFC\x36\xE3\x32\x9A\x35",
            "中É😀\u{10FFFF}",
        );
        same(CharsetId::TIS620, b"\xA1\xE0~", "กเ~");
        let wrong = |charset: CharsetId, bytes: &[u8]| charset.decode(bytes).map_err(|e| e.position).err();
        assert_eq!(wrong(CharsetId::UJIS, b"a\x8F\xB0"), Some(1));
        assert_eq!(wrong(CharsetId::UJIS, b"a\x8F\x00\x80"), Some(1));
        assert_eq!(wrong(CharsetId::GB18030, b"a\x81\x30\x81"), Some(1));
        assert_eq!(wrong(CharsetId::GB18030, b"\x84\x31\xA5\x30"), Some(0));
        assert_eq!(wrong(CharsetId::GB18030, b"\xE3\x32\x9A\x36"), Some(0));
        assert_eq!(CharsetId::UJIS.encode("ก"), b"?".as_slice());
        assert_eq!(CharsetId::GB18030.first_char_len(b"\x81\x30\x87\x37a"), 4);
    }

    #[test]
    fn names() {
        assert_eq!(CharsetId::by_name("UTF8"), Some(CharsetId::UTF8MB3));
        assert_eq!(CharsetId::by_name("Latin1"), Some(CharsetId::LATIN1));
        assert_eq!(CharsetId::by_name("koi8r"), Some(CharsetId::KOI8R));
        assert_eq!(CharsetId::by_name("gb18030"), Some(CharsetId::GB18030));
        assert_eq!(CharsetId::by_name("utf7"), None);
        assert!(DEFS.is_sorted_by_key(|def| def.name));
    }
}
