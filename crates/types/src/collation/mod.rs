//! Collations: how strings compare, sort, hash and match.
//!
//! A collation turns a string into a sequence of *weights*, numbers whose order is the order of the strings. Everything
//! else follows from the weights: comparison walks two sequences, equality and [`hash`](CollationId::hash) agree because
//! they see the same weights, `LIKE` matches characters of equal weight, and a [`sort_key`](CollationId::sort_key) is the
//! sequence written so that `memcmp` of two keys says what comparison says.
//!
//! These families make weights:
//!
//! | family | collations | weights |
//! |---|---|---|
//! | bytes | `binary`, `utf8mb4_0900_bin` | the bytes |
//! | code points | `utf8mb4_bin`, `utf8mb3_bin`, `ascii_bin`, `latin1_bin` | the code of a character |
//! | table | `*_general_ci`, `latin1_*_ci` | one per character, letters folded together |
//! | codes | those of the character sets that are neither Unicode nor latin1 | one per character, by a table or by its code |
//! | long codes | `ujis_*`, `eucjpms_*`, `gb18030_*` | one per pair of bytes of a character's code |
//! | whole texts | `*_czech_cs`, `tis620_thai_ci` | bytes that are made of the text; see `whole.rs` |
//! | UCA 4.0 and 5.2 | `*_unicode_ci`, `*_unicode_520_ci` | primary weights of the Unicode collation algorithm |
//! | UCA 9.0 | `utf8mb4_0900_*` | its primary, secondary and tertiary weights |
//!
//! Languages change the weights of some characters (`utf8mb4_swedish_ci`, `utf8mb4_sv_0900_ai_ci`), and weigh some together (`ch` in
//! `utf8mb4_czech_ci`; see `contractions.rs`).
//!
//! Text comes as bytes because rows hold bytes. For every collation but `binary` they are UTF-8; bytes that are not
//! give some order and never a panic. The collations are all of MySQL's.

mod bytes;
mod casemap;
mod chars;
mod coded;
mod contractions;
mod key;
mod like;
mod lines;
mod list;
mod long;
mod names;
mod ranks;
mod rolling;
mod search;
mod table;
mod tailored;
mod uca;
mod weights;
mod whole;

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
    BIG5_CHINESE_CI = 1,
    LATIN2_CZECH_CS = 2,
    DEC8_SWEDISH_CI = 3,
    CP850_GENERAL_CI = 4,
    LATIN1_GERMAN1_CI = 5,
    HP8_ENGLISH_CI = 6,
    KOI8R_GENERAL_CI = 7,
    LATIN1_SWEDISH_CI = 8,
    LATIN2_GENERAL_CI = 9,
    SWE7_SWEDISH_CI = 10,
    ASCII_GENERAL_CI = 11,
    UJIS_JAPANESE_CI = 12,
    SJIS_JAPANESE_CI = 13,
    CP1251_BULGARIAN_CI = 14,
    LATIN1_DANISH_CI = 15,
    HEBREW_GENERAL_CI = 16,
    TIS620_THAI_CI = 18,
    EUCKR_KOREAN_CI = 19,
    LATIN7_ESTONIAN_CS = 20,
    LATIN2_HUNGARIAN_CI = 21,
    KOI8U_GENERAL_CI = 22,
    CP1251_UKRAINIAN_CI = 23,
    GB2312_CHINESE_CI = 24,
    GREEK_GENERAL_CI = 25,
    CP1250_GENERAL_CI = 26,
    LATIN2_CROATIAN_CI = 27,
    GBK_CHINESE_CI = 28,
    CP1257_LITHUANIAN_CI = 29,
    LATIN5_TURKISH_CI = 30,
    LATIN1_GERMAN2_CI = 31,
    ARMSCII8_GENERAL_CI = 32,
    UTF8MB3_GENERAL_CI = 33,
    CP1250_CZECH_CS = 34,
    UCS2_GENERAL_CI = 35,
    CP866_GENERAL_CI = 36,
    KEYBCS2_GENERAL_CI = 37,
    MACCE_GENERAL_CI = 38,
    MACROMAN_GENERAL_CI = 39,
    CP852_GENERAL_CI = 40,
    LATIN7_GENERAL_CI = 41,
    LATIN7_GENERAL_CS = 42,
    MACCE_BIN = 43,
    CP1250_CROATIAN_CI = 44,
    UTF8MB4_GENERAL_CI = 45,
    UTF8MB4_BIN = 46,
    LATIN1_BIN = 47,
    LATIN1_GENERAL_CI = 48,
    LATIN1_GENERAL_CS = 49,
    CP1251_BIN = 50,
    CP1251_GENERAL_CI = 51,
    CP1251_GENERAL_CS = 52,
    MACROMAN_BIN = 53,
    UTF16_GENERAL_CI = 54,
    UTF16_BIN = 55,
    UTF16LE_GENERAL_CI = 56,
    CP1256_GENERAL_CI = 57,
    CP1257_BIN = 58,
    CP1257_GENERAL_CI = 59,
    UTF32_GENERAL_CI = 60,
    UTF32_BIN = 61,
    UTF16LE_BIN = 62,
    BINARY = 63,
    ARMSCII8_BIN = 64,
    ASCII_BIN = 65,
    CP1250_BIN = 66,
    CP1256_BIN = 67,
    CP866_BIN = 68,
    DEC8_BIN = 69,
    GREEK_BIN = 70,
    HEBREW_BIN = 71,
    HP8_BIN = 72,
    KEYBCS2_BIN = 73,
    KOI8R_BIN = 74,
    KOI8U_BIN = 75,
    UTF8MB3_TOLOWER_CI = 76,
    LATIN2_BIN = 77,
    LATIN5_BIN = 78,
    LATIN7_BIN = 79,
    CP850_BIN = 80,
    CP852_BIN = 81,
    SWE7_BIN = 82,
    UTF8MB3_BIN = 83,
    BIG5_BIN = 84,
    EUCKR_BIN = 85,
    GB2312_BIN = 86,
    GBK_BIN = 87,
    SJIS_BIN = 88,
    TIS620_BIN = 89,
    UCS2_BIN = 90,
    UJIS_BIN = 91,
    GEOSTD8_GENERAL_CI = 92,
    GEOSTD8_BIN = 93,
    LATIN1_SPANISH_CI = 94,
    CP932_JAPANESE_CI = 95,
    CP932_BIN = 96,
    EUCJPMS_JAPANESE_CI = 97,
    EUCJPMS_BIN = 98,
    CP1250_POLISH_CI = 99,
    UTF16_UNICODE_CI = 101,
    UTF16_ICELANDIC_CI = 102,
    UTF16_LATVIAN_CI = 103,
    UTF16_ROMANIAN_CI = 104,
    UTF16_SLOVENIAN_CI = 105,
    UTF16_POLISH_CI = 106,
    UTF16_ESTONIAN_CI = 107,
    UTF16_SPANISH_CI = 108,
    UTF16_SWEDISH_CI = 109,
    UTF16_TURKISH_CI = 110,
    UTF16_CZECH_CI = 111,
    UTF16_DANISH_CI = 112,
    UTF16_LITHUANIAN_CI = 113,
    UTF16_SLOVAK_CI = 114,
    UTF16_SPANISH2_CI = 115,
    UTF16_ROMAN_CI = 116,
    UTF16_PERSIAN_CI = 117,
    UTF16_ESPERANTO_CI = 118,
    UTF16_HUNGARIAN_CI = 119,
    UTF16_SINHALA_CI = 120,
    UTF16_GERMAN2_CI = 121,
    UTF16_CROATIAN_CI = 122,
    UTF16_UNICODE_520_CI = 123,
    UTF16_VIETNAMESE_CI = 124,
    UCS2_UNICODE_CI = 128,
    UCS2_ICELANDIC_CI = 129,
    UCS2_LATVIAN_CI = 130,
    UCS2_ROMANIAN_CI = 131,
    UCS2_SLOVENIAN_CI = 132,
    UCS2_POLISH_CI = 133,
    UCS2_ESTONIAN_CI = 134,
    UCS2_SPANISH_CI = 135,
    UCS2_SWEDISH_CI = 136,
    UCS2_TURKISH_CI = 137,
    UCS2_CZECH_CI = 138,
    UCS2_DANISH_CI = 139,
    UCS2_LITHUANIAN_CI = 140,
    UCS2_SLOVAK_CI = 141,
    UCS2_SPANISH2_CI = 142,
    UCS2_ROMAN_CI = 143,
    UCS2_PERSIAN_CI = 144,
    UCS2_ESPERANTO_CI = 145,
    UCS2_HUNGARIAN_CI = 146,
    UCS2_SINHALA_CI = 147,
    UCS2_GERMAN2_CI = 148,
    UCS2_CROATIAN_CI = 149,
    UCS2_UNICODE_520_CI = 150,
    UCS2_VIETNAMESE_CI = 151,
    UCS2_GENERAL_MYSQL500_CI = 159,
    UTF32_UNICODE_CI = 160,
    UTF32_ICELANDIC_CI = 161,
    UTF32_LATVIAN_CI = 162,
    UTF32_ROMANIAN_CI = 163,
    UTF32_SLOVENIAN_CI = 164,
    UTF32_POLISH_CI = 165,
    UTF32_ESTONIAN_CI = 166,
    UTF32_SPANISH_CI = 167,
    UTF32_SWEDISH_CI = 168,
    UTF32_TURKISH_CI = 169,
    UTF32_CZECH_CI = 170,
    UTF32_DANISH_CI = 171,
    UTF32_LITHUANIAN_CI = 172,
    UTF32_SLOVAK_CI = 173,
    UTF32_SPANISH2_CI = 174,
    UTF32_ROMAN_CI = 175,
    UTF32_PERSIAN_CI = 176,
    UTF32_ESPERANTO_CI = 177,
    UTF32_HUNGARIAN_CI = 178,
    UTF32_SINHALA_CI = 179,
    UTF32_GERMAN2_CI = 180,
    UTF32_CROATIAN_CI = 181,
    UTF32_UNICODE_520_CI = 182,
    UTF32_VIETNAMESE_CI = 183,
    UTF8MB3_UNICODE_CI = 192,
    UTF8MB3_ICELANDIC_CI = 193,
    UTF8MB3_LATVIAN_CI = 194,
    UTF8MB3_ROMANIAN_CI = 195,
    UTF8MB3_SLOVENIAN_CI = 196,
    UTF8MB3_POLISH_CI = 197,
    UTF8MB3_ESTONIAN_CI = 198,
    UTF8MB3_SPANISH_CI = 199,
    UTF8MB3_SWEDISH_CI = 200,
    UTF8MB3_TURKISH_CI = 201,
    UTF8MB3_CZECH_CI = 202,
    UTF8MB3_DANISH_CI = 203,
    UTF8MB3_LITHUANIAN_CI = 204,
    UTF8MB3_SLOVAK_CI = 205,
    UTF8MB3_SPANISH2_CI = 206,
    UTF8MB3_ROMAN_CI = 207,
    UTF8MB3_PERSIAN_CI = 208,
    UTF8MB3_ESPERANTO_CI = 209,
    UTF8MB3_HUNGARIAN_CI = 210,
    UTF8MB3_SINHALA_CI = 211,
    UTF8MB3_GERMAN2_CI = 212,
    UTF8MB3_CROATIAN_CI = 213,
    UTF8MB3_UNICODE_520_CI = 214,
    UTF8MB3_VIETNAMESE_CI = 215,
    UTF8MB3_GENERAL_MYSQL500_CI = 223,
    UTF8MB4_UNICODE_CI = 224,
    UTF8MB4_ICELANDIC_CI = 225,
    UTF8MB4_LATVIAN_CI = 226,
    UTF8MB4_ROMANIAN_CI = 227,
    UTF8MB4_SLOVENIAN_CI = 228,
    UTF8MB4_POLISH_CI = 229,
    UTF8MB4_ESTONIAN_CI = 230,
    UTF8MB4_SPANISH_CI = 231,
    UTF8MB4_SWEDISH_CI = 232,
    UTF8MB4_TURKISH_CI = 233,
    UTF8MB4_CZECH_CI = 234,
    UTF8MB4_DANISH_CI = 235,
    UTF8MB4_LITHUANIAN_CI = 236,
    UTF8MB4_SLOVAK_CI = 237,
    UTF8MB4_SPANISH2_CI = 238,
    UTF8MB4_ROMAN_CI = 239,
    UTF8MB4_PERSIAN_CI = 240,
    UTF8MB4_ESPERANTO_CI = 241,
    UTF8MB4_HUNGARIAN_CI = 242,
    UTF8MB4_SINHALA_CI = 243,
    UTF8MB4_GERMAN2_CI = 244,
    UTF8MB4_CROATIAN_CI = 245,
    UTF8MB4_UNICODE_520_CI = 246,
    UTF8MB4_VIETNAMESE_CI = 247,
    GB18030_CHINESE_CI = 248,
    GB18030_BIN = 249,
    GB18030_UNICODE_520_CI = 250,
    UTF8MB4_0900_AI_CI = 255,
    UTF8MB4_DE_PB_0900_AI_CI = 256,
    UTF8MB4_IS_0900_AI_CI = 257,
    UTF8MB4_LV_0900_AI_CI = 258,
    UTF8MB4_RO_0900_AI_CI = 259,
    UTF8MB4_SL_0900_AI_CI = 260,
    UTF8MB4_PL_0900_AI_CI = 261,
    UTF8MB4_ET_0900_AI_CI = 262,
    UTF8MB4_ES_0900_AI_CI = 263,
    UTF8MB4_SV_0900_AI_CI = 264,
    UTF8MB4_TR_0900_AI_CI = 265,
    UTF8MB4_CS_0900_AI_CI = 266,
    UTF8MB4_DA_0900_AI_CI = 267,
    UTF8MB4_LT_0900_AI_CI = 268,
    UTF8MB4_SK_0900_AI_CI = 269,
    UTF8MB4_ES_TRAD_0900_AI_CI = 270,
    UTF8MB4_LA_0900_AI_CI = 271,
    UTF8MB4_EO_0900_AI_CI = 273,
    UTF8MB4_HU_0900_AI_CI = 274,
    UTF8MB4_HR_0900_AI_CI = 275,
    UTF8MB4_VI_0900_AI_CI = 277,
    UTF8MB4_0900_AS_CS = 278,
    UTF8MB4_DE_PB_0900_AS_CS = 279,
    UTF8MB4_IS_0900_AS_CS = 280,
    UTF8MB4_LV_0900_AS_CS = 281,
    UTF8MB4_RO_0900_AS_CS = 282,
    UTF8MB4_SL_0900_AS_CS = 283,
    UTF8MB4_PL_0900_AS_CS = 284,
    UTF8MB4_ET_0900_AS_CS = 285,
    UTF8MB4_ES_0900_AS_CS = 286,
    UTF8MB4_SV_0900_AS_CS = 287,
    UTF8MB4_TR_0900_AS_CS = 288,
    UTF8MB4_CS_0900_AS_CS = 289,
    UTF8MB4_DA_0900_AS_CS = 290,
    UTF8MB4_LT_0900_AS_CS = 291,
    UTF8MB4_SK_0900_AS_CS = 292,
    UTF8MB4_ES_TRAD_0900_AS_CS = 293,
    UTF8MB4_LA_0900_AS_CS = 294,
    UTF8MB4_EO_0900_AS_CS = 296,
    UTF8MB4_HU_0900_AS_CS = 297,
    UTF8MB4_HR_0900_AS_CS = 298,
    UTF8MB4_VI_0900_AS_CS = 300,
    UTF8MB4_JA_0900_AS_CS = 303,
    UTF8MB4_JA_0900_AS_CS_KS = 304,
    UTF8MB4_0900_AS_CI = 305,
    UTF8MB4_RU_0900_AI_CI = 306,
    UTF8MB4_RU_0900_AS_CS = 307,
    UTF8MB4_ZH_0900_AS_CS = 308,
    UTF8MB4_0900_BIN = 309,
    UTF8MB4_NB_0900_AI_CI = 310,
    UTF8MB4_NB_0900_AS_CS = 311,
    UTF8MB4_NN_0900_AI_CI = 312,
    UTF8MB4_NN_0900_AS_CS = 313,
    UTF8MB4_SR_LATN_0900_AI_CI = 314,
    UTF8MB4_SR_LATN_0900_AS_CS = 315,
    UTF8MB4_BS_0900_AI_CI = 316,
    UTF8MB4_BS_0900_AS_CS = 317,
    UTF8MB4_BG_0900_AI_CI = 318,
    UTF8MB4_BG_0900_AS_CS = 319,
    UTF8MB4_GL_0900_AI_CI = 320,
    UTF8MB4_GL_0900_AS_CS = 321,
    UTF8MB4_MN_CYRL_0900_AI_CI = 322,
    UTF8MB4_MN_CYRL_0900_AS_CS = 323,
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
            Family::Whole(whole) => whole.compare(a, b),
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
            Family::Whole(whole) => whole.sort_key(text, out),
        }
    }

    /// Whether the key of a string begins with the keys of its beginnings: one level, and no padding at the end.
    pub fn has_prefix_keys(self) -> bool {
        matches!(
            self,
            CollationId::UTF8MB4_0900_AI_CI | CollationId::UTF8MB4_0900_BIN | CollationId::BINARY
        )
    }

    /// Whether there are differences between strings, of accents or cases, that count where no greater one is found.
    pub fn has_several_levels(self) -> bool {
        match self.family() {
            Family::Bytes | Family::Utf8 => false,
            Family::Weights(weights) => weights.has_several_levels(),
            Family::Whole(_) => true,
        }
    }

    /// Whether what a text weighs has nothing to do with what the texts weigh that it begins with.
    pub fn weighs_whole_texts(self) -> bool {
        matches!(self.family(), Family::Whole(_))
    }

    /// Feeds the hasher; strings that are [`equal`](Self::equal) feed it alike.
    pub fn hash<H: Hasher>(self, text: &[u8], state: &mut H) {
        match self.family() {
            Family::Bytes => bytes::hash(text, state),
            Family::Utf8 => bytes::hash(bytes::trim_spaces(text), state),
            Family::Weights(weights) => weights.hash(text, state),
            Family::Whole(whole) => {
                let mut key = Vec::new();
                whole.sort_key(text, &mut key);
                bytes::hash(&key, state);
            }
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
            Family::Whole(whole) => whole.weight_string(text, out),
        }
    }
}
