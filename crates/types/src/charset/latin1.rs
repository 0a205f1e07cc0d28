//! latin1 as MySQL means it: Windows code page 1252.

use std::borrow::Cow;

use governor::bulk;

use crate::value::utf8;

/// What the bytes 0x80 to 0x9F mean. The five that code page 1252 leaves out are the C1 controls.
const HIGH_CONTROLS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}', //
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

/// The byte of `c`, if latin1 has it.
pub(crate) fn byte_of(c: char) -> Option<u8> {
    match u32::from(c) {
        code @ (0..=0x7F | 0xA0..=0xFF) => Some(code as u8),
        _ => HIGH_CONTROLS.iter().position(|&high| high == c).map(|i| 0x80 + i as u8),
    }
}

pub(crate) fn char_of(byte: u8) -> char {
    match byte {
        0x80..=0x9F => HIGH_CONTROLS[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match utf8(bytes) {
        Ok(text) if super::is_ascii(bytes) => Cow::Borrowed(text),
        _ => {
            let mut text = String::with_capacity(bytes.len() + bytes.len() / 8);
            bulk::pieces(bytes).for_each(|piece| text.extend(piece.iter().copied().map(char_of)));
            Cow::Owned(text)
        }
    }
}
