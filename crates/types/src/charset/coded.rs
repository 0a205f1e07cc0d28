//! Character sets other than Unicode: codes of one byte, or of one and two, or of one to three, by tables. `tables/generate_charsets.py` draws their layout.

use governor::bulk;

use super::{InvalidBytes, text_of};

/// A map from 16 bits to 16 bits. What is not in it is 0.
pub(crate) struct Paged {
    bytes: &'static [u8],
}

impl Paged {
    const PAGES: usize = 256;

    pub(crate) const fn new(bytes: &'static [u8]) -> Paged {
        Paged { bytes }
    }

    pub(crate) const fn get(&self, key: u16) -> u16 {
        let page = self.bytes[key as usize >> 8];
        if page == 0xFF {
            return 0;
        }
        let at = Self::PAGES + (page as usize * 256 + (key as usize & 0xFF)) * 2;
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    /// The character that another one is mapped to; itself where it is not in the map.
    pub(crate) fn map(&self, c: char) -> char {
        let mapped = u16::try_from(u32::from(c)).map_or(0, |key| self.get(key));
        match mapped {
            0 => c,
            mapped => char::from_u32(mapped.into()).unwrap_or(c),
        }
    }
}

/// What a code of three bytes begins with.
const THREE: u8 = 0x8F;
/// The bit of its last byte that is not written in the 16 bits of a code.
const LAST: u8 = 0x80;

/// A character set by tables.
pub(crate) struct Coded {
    decode: Paged,
    encode: Paged,
    pub(crate) upper: Paged,
    pub(crate) lower: Paged,
    /// The most bytes of a code.
    width: u32,
}

impl Coded {
    pub(crate) const fn width(&self) -> u32 {
        self.width
    }

    /// The code of a character: one byte, or two with the first in the high half. One of three bytes, of which the first is always
    /// [`THREE`], is the other two without the highest bit of the last.
    pub(crate) const fn code_of(&self, c: u32) -> Option<u16> {
        match c {
            0 => Some(0),
            1..=0xFFFF => match self.encode.get(c as u16) {
                0 => None,
                code => Some(code),
            },
            _ => None,
        }
    }

    /// Of a set with codes of two bytes: whether bytes beyond ASCII are characters by themselves (the narrow katakana).
    pub(crate) const fn has_high_codes_of_one_byte(&self) -> bool {
        const NARROW_A: u16 = 0xB1;
        self.width == 2 && self.decode.get(NARROW_A) != 0
    }

    pub(crate) fn contains(&self, c: char) -> bool {
        self.code_of(u32::from(c)).is_some()
    }

    /// Codes that mean nothing are errors.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<String, InvalidBytes> {
        text_of(bytes, bytes.len() + bytes.len() / 2, |at| self.char_at(bytes, at))
    }

    fn char_at(&self, bytes: &[u8], at: usize) -> Option<(char, usize)> {
        let meant = |code: u16| match (code, self.decode.get(code)) {
            (0, _) => Some('\0'),
            (_, 0) => None,
            (_, c) => char::from_u32(c.into()),
        };
        let first = bytes[at];
        if let Some(c) = meant(first.into()) {
            return Some((c, 1));
        }
        if self.width == 1 {
            return None;
        }
        let second = *bytes.get(at + 1)?;
        if self.width == 3 {
            let is_behind = |byte: &u8| *byte >= LAST;
            is_behind(&second).then_some(())?;
            if first == THREE {
                let third = *bytes.get(at + 2).filter(|byte| is_behind(byte))?;
                return Some((meant(u16::from_be_bytes([second, third - LAST]))?, 3));
            }
        }
        Some((meant(u16::from_be_bytes([first, second]))?, 2))
    }

    /// The bytes of a code, and how many of them there are.
    pub(crate) fn bytes_of(&self, code: u16) -> ([u8; 3], usize) {
        match code.to_be_bytes() {
            [0, low] => ([low, 0, 0], 1),
            [second, third] if self.width == 3 && third < LAST => ([THREE, second, third | LAST], 3),
            [first, second] => ([first, second, 0], 2),
        }
    }

    /// The bytes of a character; those of `?` where it is not there.
    pub(crate) fn bytes_of_char(&self, c: u32) -> ([u8; 3], usize) {
        self.bytes_of(self.code_of(c).unwrap_or(b'?'.into()))
    }

    /// A character that is not there becomes `?`.
    pub(super) fn encode(&self, text: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len());
        for piece in bulk::text_pieces(text) {
            for c in piece.chars() {
                let (code, len) = self.bytes_of_char(u32::from(c));
                bytes.extend_from_slice(&code[..len]);
            }
        }
        bytes
    }

    pub(super) fn encoded_len(&self, text: &str) -> usize {
        let of_char = |c| self.bytes_of_char(u32::from(c)).1;
        bulk::text_pieces(text).flat_map(str::chars).map(of_char).sum()
    }
}

macro_rules! coded {
    ($($charset:ident $width:literal $name:literal)*) => {
        $(
            pub(crate) static $charset: Coded = Coded {
                decode: Paged::new(include_bytes!(concat!("../../tables/charsets/", $name, ".decode.bin"))),
                encode: Paged::new(include_bytes!(concat!("../../tables/charsets/", $name, ".encode.bin"))),
                upper: Paged::new(include_bytes!(concat!("../../tables/charsets/", $name, ".upper.bin"))),
                lower: Paged::new(include_bytes!(concat!("../../tables/charsets/", $name, ".lower.bin"))),
                width: $width,
            };
        )*
    };
}

coded! {
    ARMSCII8 1 "armscii8"
    BIG5 2 "big5"
    CP1250 1 "cp1250"
    CP1251 1 "cp1251"
    CP1256 1 "cp1256"
    CP1257 1 "cp1257"
    CP850 1 "cp850"
    CP852 1 "cp852"
    CP866 1 "cp866"
    CP932 2 "cp932"
    DEC8 1 "dec8"
    EUCJPMS 3 "eucjpms"
    EUCKR 2 "euckr"
    GB2312 2 "gb2312"
    GBK 2 "gbk"
    GEOSTD8 1 "geostd8"
    GREEK 1 "greek"
    HEBREW 1 "hebrew"
    HP8 1 "hp8"
    KEYBCS2 1 "keybcs2"
    KOI8R 1 "koi8r"
    KOI8U 1 "koi8u"
    LATIN2 1 "latin2"
    LATIN5 1 "latin5"
    LATIN7 1 "latin7"
    MACCE 1 "macce"
    MACROMAN 1 "macroman"
    SJIS 2 "sjis"
    SWE7 1 "swe7"
    TIS620 1 "tis620"
    UJIS 3 "ujis"
}
