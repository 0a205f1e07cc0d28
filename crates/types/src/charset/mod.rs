//! Character sets: which characters a string may hold, and how they look on the wire.
//!
//! Strings inside the server are UTF-8 whatever the character set of their column. A character set is an attribute
//! of a string's type: it limits the characters ([`CharsetId::contains`]), gives the length in bytes that `LENGTH()`
//! and `HEX()` speak of ([`CharsetId::encoded_len`], [`CharsetId::encode`]) and converts at the edges
//! ([`CharsetId::decode`], [`CharsetId::encode`]).

pub(crate) mod coded;
pub(crate) mod latin1;
mod wide;

use std::borrow::Cow;
use std::fmt;

use governor::bulk;
use serde::{Deserialize, Serialize};

use crate::collation::CollationId;
use crate::value::utf8;
use coded::Coded;
use wide::Wide;

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
    Wide(Wide),
}

struct Def {
    charset: CharsetId,
    name: &'static str,
    description: &'static str,
    default: CollationId,
    binary: CollationId,
    max_bytes_per_char: u32,
    encoding: Encoding,
}

const fn def(
    charset: CharsetId,
    name: &'static str,
    description: &'static str,
    default: CollationId,
    binary: CollationId,
    max_bytes_per_char: u32,
    encoding: Encoding,
) -> Def {
    Def {
        charset,
        name,
        description,
        default,
        binary,
        max_bytes_per_char,
        encoding,
    }
}

/// In the order of their names.
static DEFS: [Def; 37] = [
    def(
        CharsetId::ARMSCII8,
        "armscii8",
        "ARMSCII-8 Armenian",
        CollationId::ARMSCII8_GENERAL_CI,
        CollationId::ARMSCII8_BIN,
        1,
        Encoding::Coded(&coded::ARMSCII8),
    ),
    def(
        CharsetId::ASCII,
        "ascii",
        "US ASCII",
        CollationId::ASCII_GENERAL_CI,
        CollationId::ASCII_BIN,
        1,
        Encoding::Ascii,
    ),
    def(
        CharsetId::BIG5,
        "big5",
        "Big5 Traditional Chinese",
        CollationId::BIG5_CHINESE_CI,
        CollationId::BIG5_BIN,
        2,
        Encoding::Coded(&coded::BIG5),
    ),
    def(
        CharsetId::BINARY,
        "binary",
        "Binary pseudo charset",
        CollationId::BINARY,
        CollationId::BINARY,
        1,
        Encoding::Bytes,
    ),
    def(
        CharsetId::CP1250,
        "cp1250",
        "Windows Central European",
        CollationId::CP1250_GENERAL_CI,
        CollationId::CP1250_BIN,
        1,
        Encoding::Coded(&coded::CP1250),
    ),
    def(
        CharsetId::CP1251,
        "cp1251",
        "Windows Cyrillic",
        CollationId::CP1251_GENERAL_CI,
        CollationId::CP1251_BIN,
        1,
        Encoding::Coded(&coded::CP1251),
    ),
    def(
        CharsetId::CP1256,
        "cp1256",
        "Windows Arabic",
        CollationId::CP1256_GENERAL_CI,
        CollationId::CP1256_BIN,
        1,
        Encoding::Coded(&coded::CP1256),
    ),
    def(
        CharsetId::CP1257,
        "cp1257",
        "Windows Baltic",
        CollationId::CP1257_GENERAL_CI,
        CollationId::CP1257_BIN,
        1,
        Encoding::Coded(&coded::CP1257),
    ),
    def(
        CharsetId::CP850,
        "cp850",
        "DOS West European",
        CollationId::CP850_GENERAL_CI,
        CollationId::CP850_BIN,
        1,
        Encoding::Coded(&coded::CP850),
    ),
    def(
        CharsetId::CP852,
        "cp852",
        "DOS Central European",
        CollationId::CP852_GENERAL_CI,
        CollationId::CP852_BIN,
        1,
        Encoding::Coded(&coded::CP852),
    ),
    def(
        CharsetId::CP866,
        "cp866",
        "DOS Russian",
        CollationId::CP866_GENERAL_CI,
        CollationId::CP866_BIN,
        1,
        Encoding::Coded(&coded::CP866),
    ),
    def(
        CharsetId::CP932,
        "cp932",
        "SJIS for Windows Japanese",
        CollationId::CP932_JAPANESE_CI,
        CollationId::CP932_BIN,
        2,
        Encoding::Coded(&coded::CP932),
    ),
    def(
        CharsetId::DEC8,
        "dec8",
        "DEC West European",
        CollationId::DEC8_SWEDISH_CI,
        CollationId::DEC8_BIN,
        1,
        Encoding::Coded(&coded::DEC8),
    ),
    def(
        CharsetId::EUCKR,
        "euckr",
        "EUC-KR Korean",
        CollationId::EUCKR_KOREAN_CI,
        CollationId::EUCKR_BIN,
        2,
        Encoding::Coded(&coded::EUCKR),
    ),
    def(
        CharsetId::GB2312,
        "gb2312",
        "GB2312 Simplified Chinese",
        CollationId::GB2312_CHINESE_CI,
        CollationId::GB2312_BIN,
        2,
        Encoding::Coded(&coded::GB2312),
    ),
    def(
        CharsetId::GBK,
        "gbk",
        "GBK Simplified Chinese",
        CollationId::GBK_CHINESE_CI,
        CollationId::GBK_BIN,
        2,
        Encoding::Coded(&coded::GBK),
    ),
    def(
        CharsetId::GEOSTD8,
        "geostd8",
        "GEOSTD8 Georgian",
        CollationId::GEOSTD8_GENERAL_CI,
        CollationId::GEOSTD8_BIN,
        1,
        Encoding::Coded(&coded::GEOSTD8),
    ),
    def(
        CharsetId::GREEK,
        "greek",
        "ISO 8859-7 Greek",
        CollationId::GREEK_GENERAL_CI,
        CollationId::GREEK_BIN,
        1,
        Encoding::Coded(&coded::GREEK),
    ),
    def(
        CharsetId::HEBREW,
        "hebrew",
        "ISO 8859-8 Hebrew",
        CollationId::HEBREW_GENERAL_CI,
        CollationId::HEBREW_BIN,
        1,
        Encoding::Coded(&coded::HEBREW),
    ),
    def(
        CharsetId::HP8,
        "hp8",
        "HP West European",
        CollationId::HP8_ENGLISH_CI,
        CollationId::HP8_BIN,
        1,
        Encoding::Coded(&coded::HP8),
    ),
    def(
        CharsetId::KEYBCS2,
        "keybcs2",
        "DOS Kamenicky Czech-Slovak",
        CollationId::KEYBCS2_GENERAL_CI,
        CollationId::KEYBCS2_BIN,
        1,
        Encoding::Coded(&coded::KEYBCS2),
    ),
    def(
        CharsetId::KOI8R,
        "koi8r",
        "KOI8-R Relcom Russian",
        CollationId::KOI8R_GENERAL_CI,
        CollationId::KOI8R_BIN,
        1,
        Encoding::Coded(&coded::KOI8R),
    ),
    def(
        CharsetId::KOI8U,
        "koi8u",
        "KOI8-U Ukrainian",
        CollationId::KOI8U_GENERAL_CI,
        CollationId::KOI8U_BIN,
        1,
        Encoding::Coded(&coded::KOI8U),
    ),
    def(
        CharsetId::LATIN1,
        "latin1",
        "cp1252 West European",
        CollationId::LATIN1_SWEDISH_CI,
        CollationId::LATIN1_BIN,
        1,
        Encoding::Latin1,
    ),
    def(
        CharsetId::LATIN2,
        "latin2",
        "ISO 8859-2 Central European",
        CollationId::LATIN2_GENERAL_CI,
        CollationId::LATIN2_BIN,
        1,
        Encoding::Coded(&coded::LATIN2),
    ),
    def(
        CharsetId::LATIN5,
        "latin5",
        "ISO 8859-9 Turkish",
        CollationId::LATIN5_TURKISH_CI,
        CollationId::LATIN5_BIN,
        1,
        Encoding::Coded(&coded::LATIN5),
    ),
    def(
        CharsetId::LATIN7,
        "latin7",
        "ISO 8859-13 Baltic",
        CollationId::LATIN7_GENERAL_CI,
        CollationId::LATIN7_BIN,
        1,
        Encoding::Coded(&coded::LATIN7),
    ),
    def(
        CharsetId::MACCE,
        "macce",
        "Mac Central European",
        CollationId::MACCE_GENERAL_CI,
        CollationId::MACCE_BIN,
        1,
        Encoding::Coded(&coded::MACCE),
    ),
    def(
        CharsetId::MACROMAN,
        "macroman",
        "Mac West European",
        CollationId::MACROMAN_GENERAL_CI,
        CollationId::MACROMAN_BIN,
        1,
        Encoding::Coded(&coded::MACROMAN),
    ),
    def(
        CharsetId::SJIS,
        "sjis",
        "Shift-JIS Japanese",
        CollationId::SJIS_JAPANESE_CI,
        CollationId::SJIS_BIN,
        2,
        Encoding::Coded(&coded::SJIS),
    ),
    def(
        CharsetId::SWE7,
        "swe7",
        "7bit Swedish",
        CollationId::SWE7_SWEDISH_CI,
        CollationId::SWE7_BIN,
        1,
        Encoding::Coded(&coded::SWE7),
    ),
    def(
        CharsetId::UCS2,
        "ucs2",
        "UCS-2 Unicode",
        CollationId::UCS2_GENERAL_CI,
        CollationId::UCS2_BIN,
        2,
        Encoding::Wide(Wide::Ucs2),
    ),
    def(
        CharsetId::UTF16,
        "utf16",
        "UTF-16 Unicode",
        CollationId::UTF16_GENERAL_CI,
        CollationId::UTF16_BIN,
        4,
        Encoding::Wide(Wide::Utf16),
    ),
    def(
        CharsetId::UTF16LE,
        "utf16le",
        "UTF-16LE Unicode",
        CollationId::UTF16LE_GENERAL_CI,
        CollationId::UTF16LE_BIN,
        4,
        Encoding::Wide(Wide::Utf16Le),
    ),
    def(
        CharsetId::UTF32,
        "utf32",
        "UTF-32 Unicode",
        CollationId::UTF32_GENERAL_CI,
        CollationId::UTF32_BIN,
        4,
        Encoding::Wide(Wide::Utf32),
    ),
    def(
        CharsetId::UTF8MB3,
        "utf8mb3",
        "UTF-8 Unicode",
        CollationId::UTF8MB3_GENERAL_CI,
        CollationId::UTF8MB3_BIN,
        3,
        Encoding::Utf8mb3,
    ),
    def(
        CharsetId::UTF8MB4,
        "utf8mb4",
        "UTF-8 Unicode",
        CollationId::UTF8MB4_0900_AI_CI,
        CollationId::UTF8MB4_BIN,
        4,
        Encoding::Utf8mb4,
    ),
];

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
            Encoding::Wide(_) => true,
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
    fn names() {
        assert_eq!(CharsetId::by_name("UTF8"), Some(CharsetId::UTF8MB3));
        assert_eq!(CharsetId::by_name("Latin1"), Some(CharsetId::LATIN1));
        assert_eq!(CharsetId::by_name("koi8r"), Some(CharsetId::KOI8R));
        assert_eq!(CharsetId::by_name("tis620"), None);
        assert!(DEFS.is_sorted_by_key(|def| def.name));
    }
}
