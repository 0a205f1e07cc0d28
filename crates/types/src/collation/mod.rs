//! Collations: how strings compare, sort, hash and match.
//!
//! A collation turns a string into a sequence of *weights*, numbers whose order is the order of the strings. Everything
//! else follows from the weights: comparison walks two sequences, equality and [`hash`](CollationId::hash) agree because
//! they see the same weights, `LIKE` matches characters of equal weight, and a [`sort_key`](CollationId::sort_key) is the
//! sequence written so that `memcmp` of two keys says what comparison says.
//!
//! Five families make weights:
//!
//! | family | collations | weights |
//! |---|---|---|
//! | bytes | `binary`, `utf8mb4_0900_bin` | the bytes |
//! | code points | `utf8mb4_bin`, `utf8mb3_bin`, `ascii_bin`, `latin1_bin` | the code of a character |
//! | table | `*_general_ci`, `latin1_*_ci` | one per character, letters folded together |
//! | UCA 4.0 and 5.2 | `*_unicode_ci`, `*_unicode_520_ci` | primary weights of the Unicode collation algorithm |
//! | UCA 9.0 | `utf8mb4_0900_*` | its primary, secondary and tertiary weights |
//!
//! Text comes as bytes because rows hold bytes. For every collation but `binary` they are UTF-8; bytes that are not
//! give some order and never a panic. The collations of MySQL that are not in [`CollationId`] are refused by name.

mod bytes;
mod casemap;
mod chars;
mod key;
mod like;
mod names;
mod rolling;
mod search;
mod table;
mod uca;
mod weights;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::hash::Hasher;

use governor::bulk;
use serde::{Deserialize, Serialize};

pub use names::UnknownCollation;
pub use search::Finder;
use weights::Family;

/// A collation, by the number that it has in MySQL's protocol. The names are MySQL's own.
#[expect(non_camel_case_types, reason = "a collation is known by its name")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u16", try_from = "u16")]
#[repr(u16)]
pub enum CollationId {
    LATIN1_GERMAN1_CI = 5,
    LATIN1_SWEDISH_CI = 8,
    ASCII_GENERAL_CI = 11,
    LATIN1_DANISH_CI = 15,
    UTF8MB3_GENERAL_CI = 33,
    UTF8MB4_GENERAL_CI = 45,
    UTF8MB4_BIN = 46,
    LATIN1_BIN = 47,
    LATIN1_GENERAL_CI = 48,
    LATIN1_GENERAL_CS = 49,
    BINARY = 63,
    ASCII_BIN = 65,
    UTF8MB3_BIN = 83,
    LATIN1_SPANISH_CI = 94,
    UTF8MB3_UNICODE_CI = 192,
    UTF8MB3_UNICODE_520_CI = 214,
    UTF8MB4_UNICODE_CI = 224,
    UTF8MB4_UNICODE_520_CI = 246,
    UTF8MB4_0900_AI_CI = 255,
    UTF8MB4_0900_AS_CS = 278,
    UTF8MB4_0900_AS_CI = 305,
    UTF8MB4_0900_BIN = 309,
}

/// What spaces at the end of a string count for in comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pad {
    /// Nothing: `'a' = 'a '`.
    PadSpace,
    /// As much as any other character.
    NoPad,
}

/// Comparison, keys and matching. Names and numbers are in `names.rs`.
impl CollationId {
    /// The order of two strings.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self.family() {
            Family::Bytes => bytes::compare(a, b),
            Family::Utf8 => bytes::compare_padded(a, b),
            Family::Weights(weights) => weights.compare(a, b),
        }
    }

    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        match self.family() {
            Family::Bytes => bytes::equal(a, b),
            _ => bytes::equal(a, b) || self.compare(a, b) == Ordering::Equal,
        }
    }

    /// Appends a key to `out`: `memcmp` of two keys is [`compare`](Self::compare) of their strings, and no key is a prefix of
    /// a different one of the same collation unless the collation is [`Pad::NoPad`]. An ASCII character takes one byte.
    /// This is the form of index keys, so it is part of the format on disk.
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        match self.family() {
            Family::Bytes => bulk::append(out, text),
            Family::Utf8 => bytes::padded_key(text, out),
            Family::Weights(weights) => weights.sort_key(text, out),
        }
    }

    /// Whether the key of a string begins with the keys of its beginnings: one level, and no padding at the end.
    pub fn has_prefix_keys(self) -> bool {
        matches!(
            self,
            CollationId::UTF8MB4_0900_AI_CI | CollationId::UTF8MB4_0900_BIN | CollationId::BINARY
        )
    }

    /// Feeds the hasher; strings that are [`equal`](Self::equal) feed it alike.
    pub fn hash<H: Hasher>(self, text: &[u8], state: &mut H) {
        match self.family() {
            Family::Bytes => bytes::hash(text, state),
            Family::Utf8 => bytes::hash(bytes::trim_spaces(text), state),
            Family::Weights(weights) => weights.hash(text, state),
        }
        state.write_u8(0xFF);
    }

    /// Whether `text LIKE pattern ESCAPE escape`. `None` means that no character escapes.
    ///
    /// Takes time in proportion to the sum of the lengths; for segments with `_`, to the product of the lengths at worst.
    pub fn like(self, pattern: &[u8], text: &[u8], escape: Option<char>) -> bool {
        like::matches(self, pattern, text, escape)
    }

    /// The offset in bytes of the first place at or after `from` where `needle` stands in `haystack`.
    ///
    /// As in MySQL 9.7 it is enough that the weights begin alike: `INSTR('é', 'e')` is 1, also where accents count.
    pub fn find(self, haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
        search::find(self, haystack, needle, from)
    }

    /// `UPPER()`: characters map one to one, so `ß` stays. Text of `binary` stays as it is.
    pub fn to_upper(self, text: &str) -> String {
        casemap::to_upper(self, text)
    }

    /// `LOWER()`: characters map one to one. Text of `binary` stays as it is.
    pub fn to_lower(self, text: &str) -> String {
        casemap::to_lower(self, text)
    }

    /// The first `chars` characters of `text` (bytes, for `binary`).
    pub fn prefix(self, text: &[u8], chars: usize) -> &[u8] {
        if self == CollationId::BINARY || text.len() <= chars {
            return &text[..text.len().min(chars)];
        }
        &text[..chars::offset_of(text, chars)]
    }

    /// How many characters `text` has (bytes, for `binary`).
    pub fn char_count(self, text: &[u8]) -> usize {
        if self == CollationId::BINARY {
            text.len()
        } else {
            crate::charset::char_count(text)
        }
    }

    /// Appends MySQL's `WEIGHT_STRING(text)` to `out`.
    pub fn weight_string(self, text: &[u8], out: &mut Vec<u8>) {
        match self.family() {
            Family::Bytes => bulk::append(out, text),
            Family::Utf8 => bytes::weight_string(self, text, out),
            Family::Weights(weights) => weights.weight_string(text, out),
        }
    }
}
