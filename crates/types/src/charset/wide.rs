//! Unicode in units of two or four bytes: ucs2, utf16, utf16le and utf32.

use governor::bulk;

use super::{InvalidBytes, text_of};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wide {
    /// Two bytes, the higher first; nothing beyond the basic multilingual plane.
    Ucs2,
    Utf16,
    /// The lower byte first.
    Utf16Le,
    Utf32,
}

impl Wide {
    /// The least bytes of a character.
    pub(crate) const fn unit(self) -> usize {
        match self {
            Wide::Ucs2 | Wide::Utf16 | Wide::Utf16Le => 2,
            Wide::Utf32 => 4,
        }
    }

    /// Bytes that are no whole number of units have zeros before them, as in MySQL.
    pub(super) fn decode(self, bytes: &[u8]) -> Result<String, InvalidBytes> {
        let missing = bytes.len().next_multiple_of(self.unit()) - bytes.len();
        let padded;
        let bytes = match missing {
            0 => bytes,
            _ => {
                padded = [&[0; 4][..missing], bytes].concat();
                &padded
            }
        };
        text_of(bytes, bytes.len(), |at| self.char_at(bytes, at))
    }

    fn char_at(self, bytes: &[u8], at: usize) -> Option<(char, usize)> {
        let unit = |at: usize| {
            let pair = bytes.get(at..at + 2)?.try_into().ok()?;
            Some(match self {
                Wide::Utf16Le => u16::from_le_bytes(pair),
                _ => u16::from_be_bytes(pair),
            })
        };
        match self {
            Wide::Utf32 => {
                let code = bytes.get(at..at + 4)?.try_into().ok()?;
                Some((char::from_u32(u32::from_be_bytes(code))?, 4))
            }
            Wide::Ucs2 => Some((char::from_u32(unit(at)?.into())?, 2)),
            Wide::Utf16 | Wide::Utf16Le => match unit(at)? {
                high @ 0xD800..=0xDBFF => {
                    let c = char::decode_utf16([high, unit(at + 2)?]).next()?.ok()?;
                    Some((c, 4))
                }
                code => Some((char::from_u32(code.into())?, 2)),
            },
        }
    }

    /// A character that is not there becomes `?`.
    pub(super) fn encode(self, text: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len() * self.unit());
        for c in bulk::text_pieces(text).flat_map(str::chars) {
            let mut units = [0; 2];
            match self {
                Wide::Utf32 => bytes.extend_from_slice(&u32::from(c).to_be_bytes()),
                Wide::Ucs2 => {
                    let code = u16::try_from(u32::from(c)).unwrap_or(b'?'.into());
                    bytes.extend_from_slice(&code.to_be_bytes());
                }
                Wide::Utf16 => c
                    .encode_utf16(&mut units)
                    .iter()
                    .for_each(|unit| bytes.extend_from_slice(&unit.to_be_bytes())),
                Wide::Utf16Le => c
                    .encode_utf16(&mut units)
                    .iter()
                    .for_each(|unit| bytes.extend_from_slice(&unit.to_le_bytes())),
            }
        }
        bytes
    }

    pub(super) fn encoded_len(self, text: &str) -> usize {
        let of_char = |c: char| match self {
            Wide::Utf32 => 4,
            Wide::Ucs2 => 2,
            Wide::Utf16 | Wide::Utf16Le => 2 * c.len_utf16(),
        };
        bulk::text_pieces(text).flat_map(str::chars).map(of_char).sum()
    }
}
