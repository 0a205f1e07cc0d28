//! The collations' names and properties, as `SHOW COLLATION` lists them.

use std::fmt;

use super::{CollationId, Pad};
use crate::charset::CharsetId;

struct Entry {
    collation: CollationId,
    name: &'static str,
    charset: CharsetId,
    sort_len: u32,
}

const fn entry(collation: CollationId, name: &'static str, charset: CharsetId, sort_len: u32) -> Entry {
    Entry {
        collation,
        name,
        charset,
        sort_len,
    }
}

/// In the order of their names.
static TABLE: [Entry; 211] = [
    entry(CollationId::ARMSCII8_BIN, "armscii8_bin", CharsetId::ARMSCII8, 1),
    entry(
        CollationId::ARMSCII8_GENERAL_CI,
        "armscii8_general_ci",
        CharsetId::ARMSCII8,
        1,
    ),
    entry(CollationId::ASCII_BIN, "ascii_bin", CharsetId::ASCII, 1),
    entry(CollationId::ASCII_GENERAL_CI, "ascii_general_ci", CharsetId::ASCII, 1),
    entry(CollationId::BIG5_BIN, "big5_bin", CharsetId::BIG5, 1),
    entry(CollationId::BIG5_CHINESE_CI, "big5_chinese_ci", CharsetId::BIG5, 1),
    entry(CollationId::BINARY, "binary", CharsetId::BINARY, 1),
    entry(CollationId::CP1250_BIN, "cp1250_bin", CharsetId::CP1250, 1),
    entry(
        CollationId::CP1250_CROATIAN_CI,
        "cp1250_croatian_ci",
        CharsetId::CP1250,
        1,
    ),
    entry(
        CollationId::CP1250_GENERAL_CI,
        "cp1250_general_ci",
        CharsetId::CP1250,
        1,
    ),
    entry(CollationId::CP1250_POLISH_CI, "cp1250_polish_ci", CharsetId::CP1250, 1),
    entry(CollationId::CP1251_BIN, "cp1251_bin", CharsetId::CP1251, 1),
    entry(
        CollationId::CP1251_BULGARIAN_CI,
        "cp1251_bulgarian_ci",
        CharsetId::CP1251,
        1,
    ),
    entry(
        CollationId::CP1251_GENERAL_CI,
        "cp1251_general_ci",
        CharsetId::CP1251,
        1,
    ),
    entry(
        CollationId::CP1251_GENERAL_CS,
        "cp1251_general_cs",
        CharsetId::CP1251,
        1,
    ),
    entry(
        CollationId::CP1251_UKRAINIAN_CI,
        "cp1251_ukrainian_ci",
        CharsetId::CP1251,
        1,
    ),
    entry(CollationId::CP1256_BIN, "cp1256_bin", CharsetId::CP1256, 1),
    entry(
        CollationId::CP1256_GENERAL_CI,
        "cp1256_general_ci",
        CharsetId::CP1256,
        1,
    ),
    entry(CollationId::CP1257_BIN, "cp1257_bin", CharsetId::CP1257, 1),
    entry(
        CollationId::CP1257_GENERAL_CI,
        "cp1257_general_ci",
        CharsetId::CP1257,
        1,
    ),
    entry(
        CollationId::CP1257_LITHUANIAN_CI,
        "cp1257_lithuanian_ci",
        CharsetId::CP1257,
        1,
    ),
    entry(CollationId::CP850_BIN, "cp850_bin", CharsetId::CP850, 1),
    entry(CollationId::CP850_GENERAL_CI, "cp850_general_ci", CharsetId::CP850, 1),
    entry(CollationId::CP852_BIN, "cp852_bin", CharsetId::CP852, 1),
    entry(CollationId::CP852_GENERAL_CI, "cp852_general_ci", CharsetId::CP852, 1),
    entry(CollationId::CP866_BIN, "cp866_bin", CharsetId::CP866, 1),
    entry(CollationId::CP866_GENERAL_CI, "cp866_general_ci", CharsetId::CP866, 1),
    entry(CollationId::CP932_BIN, "cp932_bin", CharsetId::CP932, 1),
    entry(CollationId::CP932_JAPANESE_CI, "cp932_japanese_ci", CharsetId::CP932, 1),
    entry(CollationId::DEC8_BIN, "dec8_bin", CharsetId::DEC8, 1),
    entry(CollationId::DEC8_SWEDISH_CI, "dec8_swedish_ci", CharsetId::DEC8, 1),
    entry(CollationId::EUCKR_BIN, "euckr_bin", CharsetId::EUCKR, 1),
    entry(CollationId::EUCKR_KOREAN_CI, "euckr_korean_ci", CharsetId::EUCKR, 1),
    entry(CollationId::GB2312_BIN, "gb2312_bin", CharsetId::GB2312, 1),
    entry(
        CollationId::GB2312_CHINESE_CI,
        "gb2312_chinese_ci",
        CharsetId::GB2312,
        1,
    ),
    entry(CollationId::GBK_BIN, "gbk_bin", CharsetId::GBK, 1),
    entry(CollationId::GBK_CHINESE_CI, "gbk_chinese_ci", CharsetId::GBK, 1),
    entry(CollationId::GEOSTD8_BIN, "geostd8_bin", CharsetId::GEOSTD8, 1),
    entry(
        CollationId::GEOSTD8_GENERAL_CI,
        "geostd8_general_ci",
        CharsetId::GEOSTD8,
        1,
    ),
    entry(CollationId::GREEK_BIN, "greek_bin", CharsetId::GREEK, 1),
    entry(CollationId::GREEK_GENERAL_CI, "greek_general_ci", CharsetId::GREEK, 1),
    entry(CollationId::HEBREW_BIN, "hebrew_bin", CharsetId::HEBREW, 1),
    entry(
        CollationId::HEBREW_GENERAL_CI,
        "hebrew_general_ci",
        CharsetId::HEBREW,
        1,
    ),
    entry(CollationId::HP8_BIN, "hp8_bin", CharsetId::HP8, 1),
    entry(CollationId::HP8_ENGLISH_CI, "hp8_english_ci", CharsetId::HP8, 1),
    entry(CollationId::KEYBCS2_BIN, "keybcs2_bin", CharsetId::KEYBCS2, 1),
    entry(
        CollationId::KEYBCS2_GENERAL_CI,
        "keybcs2_general_ci",
        CharsetId::KEYBCS2,
        1,
    ),
    entry(CollationId::KOI8R_BIN, "koi8r_bin", CharsetId::KOI8R, 1),
    entry(CollationId::KOI8R_GENERAL_CI, "koi8r_general_ci", CharsetId::KOI8R, 1),
    entry(CollationId::KOI8U_BIN, "koi8u_bin", CharsetId::KOI8U, 1),
    entry(CollationId::KOI8U_GENERAL_CI, "koi8u_general_ci", CharsetId::KOI8U, 1),
    entry(CollationId::LATIN1_BIN, "latin1_bin", CharsetId::LATIN1, 1),
    entry(CollationId::LATIN1_DANISH_CI, "latin1_danish_ci", CharsetId::LATIN1, 1),
    entry(
        CollationId::LATIN1_GENERAL_CI,
        "latin1_general_ci",
        CharsetId::LATIN1,
        1,
    ),
    entry(
        CollationId::LATIN1_GENERAL_CS,
        "latin1_general_cs",
        CharsetId::LATIN1,
        1,
    ),
    entry(
        CollationId::LATIN1_GERMAN1_CI,
        "latin1_german1_ci",
        CharsetId::LATIN1,
        1,
    ),
    entry(
        CollationId::LATIN1_SPANISH_CI,
        "latin1_spanish_ci",
        CharsetId::LATIN1,
        1,
    ),
    entry(
        CollationId::LATIN1_SWEDISH_CI,
        "latin1_swedish_ci",
        CharsetId::LATIN1,
        1,
    ),
    entry(CollationId::LATIN2_BIN, "latin2_bin", CharsetId::LATIN2, 1),
    entry(
        CollationId::LATIN2_CROATIAN_CI,
        "latin2_croatian_ci",
        CharsetId::LATIN2,
        1,
    ),
    entry(
        CollationId::LATIN2_GENERAL_CI,
        "latin2_general_ci",
        CharsetId::LATIN2,
        1,
    ),
    entry(
        CollationId::LATIN2_HUNGARIAN_CI,
        "latin2_hungarian_ci",
        CharsetId::LATIN2,
        1,
    ),
    entry(CollationId::LATIN5_BIN, "latin5_bin", CharsetId::LATIN5, 1),
    entry(
        CollationId::LATIN5_TURKISH_CI,
        "latin5_turkish_ci",
        CharsetId::LATIN5,
        1,
    ),
    entry(CollationId::LATIN7_BIN, "latin7_bin", CharsetId::LATIN7, 1),
    entry(
        CollationId::LATIN7_ESTONIAN_CS,
        "latin7_estonian_cs",
        CharsetId::LATIN7,
        1,
    ),
    entry(
        CollationId::LATIN7_GENERAL_CI,
        "latin7_general_ci",
        CharsetId::LATIN7,
        1,
    ),
    entry(
        CollationId::LATIN7_GENERAL_CS,
        "latin7_general_cs",
        CharsetId::LATIN7,
        1,
    ),
    entry(CollationId::MACCE_BIN, "macce_bin", CharsetId::MACCE, 1),
    entry(CollationId::MACCE_GENERAL_CI, "macce_general_ci", CharsetId::MACCE, 1),
    entry(CollationId::MACROMAN_BIN, "macroman_bin", CharsetId::MACROMAN, 1),
    entry(
        CollationId::MACROMAN_GENERAL_CI,
        "macroman_general_ci",
        CharsetId::MACROMAN,
        1,
    ),
    entry(CollationId::SJIS_BIN, "sjis_bin", CharsetId::SJIS, 1),
    entry(CollationId::SJIS_JAPANESE_CI, "sjis_japanese_ci", CharsetId::SJIS, 1),
    entry(CollationId::SWE7_BIN, "swe7_bin", CharsetId::SWE7, 1),
    entry(CollationId::SWE7_SWEDISH_CI, "swe7_swedish_ci", CharsetId::SWE7, 1),
    entry(CollationId::UCS2_BIN, "ucs2_bin", CharsetId::UCS2, 1),
    entry(CollationId::UCS2_ESPERANTO_CI, "ucs2_esperanto_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_ESTONIAN_CI, "ucs2_estonian_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_GENERAL_CI, "ucs2_general_ci", CharsetId::UCS2, 1),
    entry(CollationId::UCS2_GERMAN2_CI, "ucs2_german2_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_HUNGARIAN_CI, "ucs2_hungarian_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_ICELANDIC_CI, "ucs2_icelandic_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_LATVIAN_CI, "ucs2_latvian_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_PERSIAN_CI, "ucs2_persian_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_POLISH_CI, "ucs2_polish_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_ROMAN_CI, "ucs2_roman_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_ROMANIAN_CI, "ucs2_romanian_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_SINHALA_CI, "ucs2_sinhala_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_SLOVENIAN_CI, "ucs2_slovenian_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_SPANISH_CI, "ucs2_spanish_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_SWEDISH_CI, "ucs2_swedish_ci", CharsetId::UCS2, 8),
    entry(CollationId::UCS2_TURKISH_CI, "ucs2_turkish_ci", CharsetId::UCS2, 8),
    entry(
        CollationId::UCS2_UNICODE_520_CI,
        "ucs2_unicode_520_ci",
        CharsetId::UCS2,
        8,
    ),
    entry(CollationId::UCS2_UNICODE_CI, "ucs2_unicode_ci", CharsetId::UCS2, 8),
    entry(
        CollationId::UCS2_VIETNAMESE_CI,
        "ucs2_vietnamese_ci",
        CharsetId::UCS2,
        8,
    ),
    entry(CollationId::UTF16_BIN, "utf16_bin", CharsetId::UTF16, 1),
    entry(
        CollationId::UTF16_ESPERANTO_CI,
        "utf16_esperanto_ci",
        CharsetId::UTF16,
        8,
    ),
    entry(CollationId::UTF16_ESTONIAN_CI, "utf16_estonian_ci", CharsetId::UTF16, 8),
    entry(CollationId::UTF16_GENERAL_CI, "utf16_general_ci", CharsetId::UTF16, 1),
    entry(CollationId::UTF16_GERMAN2_CI, "utf16_german2_ci", CharsetId::UTF16, 8),
    entry(
        CollationId::UTF16_HUNGARIAN_CI,
        "utf16_hungarian_ci",
        CharsetId::UTF16,
        8,
    ),
    entry(
        CollationId::UTF16_ICELANDIC_CI,
        "utf16_icelandic_ci",
        CharsetId::UTF16,
        8,
    ),
    entry(CollationId::UTF16_LATVIAN_CI, "utf16_latvian_ci", CharsetId::UTF16, 8),
    entry(CollationId::UTF16_PERSIAN_CI, "utf16_persian_ci", CharsetId::UTF16, 8),
    entry(CollationId::UTF16_POLISH_CI, "utf16_polish_ci", CharsetId::UTF16, 8),
    entry(CollationId::UTF16_ROMAN_CI, "utf16_roman_ci", CharsetId::UTF16, 8),
    entry(CollationId::UTF16_ROMANIAN_CI, "utf16_romanian_ci", CharsetId::UTF16, 8),
    entry(CollationId::UTF16_SINHALA_CI, "utf16_sinhala_ci", CharsetId::UTF16, 8),
    entry(
        CollationId::UTF16_SLOVENIAN_CI,
        "utf16_slovenian_ci",
        CharsetId::UTF16,
        8,
    ),
    entry(CollationId::UTF16_SPANISH_CI, "utf16_spanish_ci", CharsetId::UTF16, 8),
    entry(CollationId::UTF16_SWEDISH_CI, "utf16_swedish_ci", CharsetId::UTF16, 8),
    entry(CollationId::UTF16_TURKISH_CI, "utf16_turkish_ci", CharsetId::UTF16, 8),
    entry(
        CollationId::UTF16_UNICODE_520_CI,
        "utf16_unicode_520_ci",
        CharsetId::UTF16,
        8,
    ),
    entry(CollationId::UTF16_UNICODE_CI, "utf16_unicode_ci", CharsetId::UTF16, 8),
    entry(
        CollationId::UTF16_VIETNAMESE_CI,
        "utf16_vietnamese_ci",
        CharsetId::UTF16,
        8,
    ),
    entry(CollationId::UTF16LE_BIN, "utf16le_bin", CharsetId::UTF16LE, 1),
    entry(
        CollationId::UTF16LE_GENERAL_CI,
        "utf16le_general_ci",
        CharsetId::UTF16LE,
        1,
    ),
    entry(CollationId::UTF32_BIN, "utf32_bin", CharsetId::UTF32, 1),
    entry(
        CollationId::UTF32_ESPERANTO_CI,
        "utf32_esperanto_ci",
        CharsetId::UTF32,
        8,
    ),
    entry(CollationId::UTF32_ESTONIAN_CI, "utf32_estonian_ci", CharsetId::UTF32, 8),
    entry(CollationId::UTF32_GENERAL_CI, "utf32_general_ci", CharsetId::UTF32, 1),
    entry(CollationId::UTF32_GERMAN2_CI, "utf32_german2_ci", CharsetId::UTF32, 8),
    entry(
        CollationId::UTF32_HUNGARIAN_CI,
        "utf32_hungarian_ci",
        CharsetId::UTF32,
        8,
    ),
    entry(
        CollationId::UTF32_ICELANDIC_CI,
        "utf32_icelandic_ci",
        CharsetId::UTF32,
        8,
    ),
    entry(CollationId::UTF32_LATVIAN_CI, "utf32_latvian_ci", CharsetId::UTF32, 8),
    entry(CollationId::UTF32_PERSIAN_CI, "utf32_persian_ci", CharsetId::UTF32, 8),
    entry(CollationId::UTF32_POLISH_CI, "utf32_polish_ci", CharsetId::UTF32, 8),
    entry(CollationId::UTF32_ROMAN_CI, "utf32_roman_ci", CharsetId::UTF32, 8),
    entry(CollationId::UTF32_ROMANIAN_CI, "utf32_romanian_ci", CharsetId::UTF32, 8),
    entry(CollationId::UTF32_SINHALA_CI, "utf32_sinhala_ci", CharsetId::UTF32, 8),
    entry(
        CollationId::UTF32_SLOVENIAN_CI,
        "utf32_slovenian_ci",
        CharsetId::UTF32,
        8,
    ),
    entry(CollationId::UTF32_SPANISH_CI, "utf32_spanish_ci", CharsetId::UTF32, 8),
    entry(CollationId::UTF32_SWEDISH_CI, "utf32_swedish_ci", CharsetId::UTF32, 8),
    entry(CollationId::UTF32_TURKISH_CI, "utf32_turkish_ci", CharsetId::UTF32, 8),
    entry(
        CollationId::UTF32_UNICODE_520_CI,
        "utf32_unicode_520_ci",
        CharsetId::UTF32,
        8,
    ),
    entry(CollationId::UTF32_UNICODE_CI, "utf32_unicode_ci", CharsetId::UTF32, 8),
    entry(
        CollationId::UTF32_VIETNAMESE_CI,
        "utf32_vietnamese_ci",
        CharsetId::UTF32,
        8,
    ),
    entry(CollationId::UTF8MB3_BIN, "utf8mb3_bin", CharsetId::UTF8MB3, 1),
    entry(
        CollationId::UTF8MB3_ESPERANTO_CI,
        "utf8mb3_esperanto_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_ESTONIAN_CI,
        "utf8mb3_estonian_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_GENERAL_CI,
        "utf8mb3_general_ci",
        CharsetId::UTF8MB3,
        1,
    ),
    entry(
        CollationId::UTF8MB3_GERMAN2_CI,
        "utf8mb3_german2_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_HUNGARIAN_CI,
        "utf8mb3_hungarian_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_ICELANDIC_CI,
        "utf8mb3_icelandic_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_LATVIAN_CI,
        "utf8mb3_latvian_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_PERSIAN_CI,
        "utf8mb3_persian_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_POLISH_CI,
        "utf8mb3_polish_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(CollationId::UTF8MB3_ROMAN_CI, "utf8mb3_roman_ci", CharsetId::UTF8MB3, 8),
    entry(
        CollationId::UTF8MB3_ROMANIAN_CI,
        "utf8mb3_romanian_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_SINHALA_CI,
        "utf8mb3_sinhala_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_SLOVENIAN_CI,
        "utf8mb3_slovenian_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_SPANISH_CI,
        "utf8mb3_spanish_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_SWEDISH_CI,
        "utf8mb3_swedish_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_TURKISH_CI,
        "utf8mb3_turkish_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_UNICODE_520_CI,
        "utf8mb3_unicode_520_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_UNICODE_CI,
        "utf8mb3_unicode_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB3_VIETNAMESE_CI,
        "utf8mb3_vietnamese_ci",
        CharsetId::UTF8MB3,
        8,
    ),
    entry(
        CollationId::UTF8MB4_0900_AI_CI,
        "utf8mb4_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_0900_AS_CI,
        "utf8mb4_0900_as_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_0900_AS_CS,
        "utf8mb4_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(CollationId::UTF8MB4_0900_BIN, "utf8mb4_0900_bin", CharsetId::UTF8MB4, 1),
    entry(
        CollationId::UTF8MB4_BG_0900_AI_CI,
        "utf8mb4_bg_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_BG_0900_AS_CS,
        "utf8mb4_bg_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(CollationId::UTF8MB4_BIN, "utf8mb4_bin", CharsetId::UTF8MB4, 1),
    entry(
        CollationId::UTF8MB4_DE_PB_0900_AI_CI,
        "utf8mb4_de_pb_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_DE_PB_0900_AS_CS,
        "utf8mb4_de_pb_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_EO_0900_AI_CI,
        "utf8mb4_eo_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_EO_0900_AS_CS,
        "utf8mb4_eo_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_ES_0900_AI_CI,
        "utf8mb4_es_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_ES_0900_AS_CS,
        "utf8mb4_es_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_ESPERANTO_CI,
        "utf8mb4_esperanto_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_ESTONIAN_CI,
        "utf8mb4_estonian_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_GENERAL_CI,
        "utf8mb4_general_ci",
        CharsetId::UTF8MB4,
        1,
    ),
    entry(
        CollationId::UTF8MB4_GERMAN2_CI,
        "utf8mb4_german2_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_GL_0900_AI_CI,
        "utf8mb4_gl_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_GL_0900_AS_CS,
        "utf8mb4_gl_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_HUNGARIAN_CI,
        "utf8mb4_hungarian_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_ICELANDIC_CI,
        "utf8mb4_icelandic_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_IS_0900_AI_CI,
        "utf8mb4_is_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_IS_0900_AS_CS,
        "utf8mb4_is_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_LA_0900_AI_CI,
        "utf8mb4_la_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_LATVIAN_CI,
        "utf8mb4_latvian_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_LT_0900_AI_CI,
        "utf8mb4_lt_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_LV_0900_AI_CI,
        "utf8mb4_lv_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_MN_CYRL_0900_AI_CI,
        "utf8mb4_mn_cyrl_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_MN_CYRL_0900_AS_CS,
        "utf8mb4_mn_cyrl_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_PERSIAN_CI,
        "utf8mb4_persian_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_PL_0900_AI_CI,
        "utf8mb4_pl_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_PL_0900_AS_CS,
        "utf8mb4_pl_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_POLISH_CI,
        "utf8mb4_polish_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_RO_0900_AI_CI,
        "utf8mb4_ro_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_RO_0900_AS_CS,
        "utf8mb4_ro_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(CollationId::UTF8MB4_ROMAN_CI, "utf8mb4_roman_ci", CharsetId::UTF8MB4, 8),
    entry(
        CollationId::UTF8MB4_ROMANIAN_CI,
        "utf8mb4_romanian_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_RU_0900_AI_CI,
        "utf8mb4_ru_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_RU_0900_AS_CS,
        "utf8mb4_ru_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_SINHALA_CI,
        "utf8mb4_sinhala_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_SL_0900_AI_CI,
        "utf8mb4_sl_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_SL_0900_AS_CS,
        "utf8mb4_sl_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_SLOVENIAN_CI,
        "utf8mb4_slovenian_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_SPANISH_CI,
        "utf8mb4_spanish_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_SV_0900_AI_CI,
        "utf8mb4_sv_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_SV_0900_AS_CS,
        "utf8mb4_sv_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_SWEDISH_CI,
        "utf8mb4_swedish_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_TURKISH_CI,
        "utf8mb4_turkish_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_UNICODE_520_CI,
        "utf8mb4_unicode_520_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_UNICODE_CI,
        "utf8mb4_unicode_ci",
        CharsetId::UTF8MB4,
        8,
    ),
    entry(
        CollationId::UTF8MB4_VI_0900_AI_CI,
        "utf8mb4_vi_0900_ai_ci",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_VI_0900_AS_CS,
        "utf8mb4_vi_0900_as_cs",
        CharsetId::UTF8MB4,
        0,
    ),
    entry(
        CollationId::UTF8MB4_VIETNAMESE_CI,
        "utf8mb4_vietnamese_ci",
        CharsetId::UTF8MB4,
        8,
    ),
];

/// Where each number is in the table; `NOWHERE` if it is no collation of this server.
const PLACES: [u8; 324] = {
    let mut places = [NOWHERE; 324];
    let mut at = 0;
    while at < TABLE.len() {
        places[TABLE[at].collation as usize] = at as u8;
        at += 1;
    }
    places
};

const NOWHERE: u8 = 0xFF;

impl CollationId {
    /// What a string has when nobody says otherwise.
    pub const DEFAULT: CollationId = CollationId::UTF8MB4_0900_AI_CI;

    /// Every collation, in the order of `SHOW COLLATION`.
    pub fn all() -> impl Iterator<Item = CollationId> {
        TABLE.iter().map(|entry| entry.collation)
    }

    /// The collation called `name`, in any letter case. `utf8_…` is an old name of `utf8mb3_…`.
    pub fn by_name(name: &str) -> Option<CollationId> {
        let is = |full: &str| match full.strip_prefix("utf8mb3_") {
            Some(rest) if name.len() == full.len() - 3 => {
                name.as_bytes()[..5].eq_ignore_ascii_case(b"utf8_")
                    && name.as_bytes()[5..].eq_ignore_ascii_case(rest.as_bytes())
            }
            _ => full.eq_ignore_ascii_case(name),
        };
        TABLE.iter().find(|entry| is(entry.name)).map(|entry| entry.collation)
    }

    /// The collation with this number in the protocol.
    pub fn by_id(id: u16) -> Option<CollationId> {
        let place = PLACES.get(usize::from(id)).copied();
        let entry = TABLE.get(usize::from(place.unwrap_or(NOWHERE)));
        entry.map(|entry| entry.collation)
    }

    /// The number in the protocol.
    pub const fn id(self) -> u16 {
        self as u16
    }

    pub fn name(self) -> &'static str {
        self.entry().name
    }

    pub const fn charset(self) -> CharsetId {
        self.entry().charset
    }

    /// Whether a string of this collation's charset has it unless another is named.
    pub fn is_default(self) -> bool {
        self.charset().default_collation() == self
    }

    /// The `Sortlen` of `SHOW COLLATION`.
    pub fn sort_len(self) -> u32 {
        self.entry().sort_len
    }

    pub const fn pad(self) -> Pad {
        match self.entry().sort_len == 0 || matches!(self, CollationId::BINARY | CollationId::UTF8MB4_0900_BIN) {
            true => Pad::NoPad,
            false => Pad::PadSpace,
        }
    }

    /// Whether spaces at the end do not count.
    pub const fn pad_space(self) -> bool {
        matches!(self.pad(), Pad::PadSpace)
    }

    /// Whether strings are equal only when their characters are (up to spaces at the end).
    pub const fn is_binary(self) -> bool {
        let binary = self.charset().binary_collation();
        self as u16 == binary as u16 || matches!(self, CollationId::UTF8MB4_0900_BIN)
    }

    /// Whether every version of this server knows it.
    pub const fn is_of_the_first(self) -> bool {
        matches!(
            self.id(),
            5 | 8 | 11 | 15 | 33 | 45..=49 | 63 | 65 | 83 | 94 | 192 | 214 | 224 | 246 | 255 | 278 | 305 | 309
        )
    }

    const fn entry(self) -> &'static Entry {
        &TABLE[PLACES[self as usize] as usize]
    }
}

impl From<CollationId> for u16 {
    fn from(collation: CollationId) -> u16 {
        collation.id()
    }
}

/// No collation of this server has the number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownCollation(pub u16);

impl fmt::Display for UnknownCollation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown collation number {}", self.0)
    }
}

impl std::error::Error for UnknownCollation {}

impl TryFrom<u16> for CollationId {
    type Error = UnknownCollation;

    fn try_from(id: u16) -> Result<CollationId, UnknownCollation> {
        CollationId::by_id(id).ok_or(UnknownCollation(id))
    }
}

impl fmt::Display for CollationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_find_each_other() {
        for collation in CollationId::all() {
            assert_eq!(CollationId::by_name(collation.name()), Some(collation));
            assert_eq!(CollationId::by_id(collation.id()), Some(collation));
            assert_eq!(CollationId::by_name(&collation.name().to_uppercase()), Some(collation));
        }
        assert_eq!(
            CollationId::by_name("utf8_general_ci"),
            Some(CollationId::UTF8MB3_GENERAL_CI)
        );
        assert_eq!(CollationId::by_name("utf8mb4_cs_0900_ai_ci"), None);
        assert_eq!(CollationId::by_id(2), None);
        assert_eq!(CollationId::by_id(u16::MAX), None);
        assert!(TABLE.is_sorted_by_key(|entry| entry.name));
    }

    #[test]
    fn every_charset_has_one_default() {
        for charset in CharsetId::all() {
            let defaults: Vec<_> = CollationId::all()
                .filter(|c| c.charset() == charset && c.is_default())
                .collect();
            assert_eq!(defaults, [charset.default_collation()]);
        }
    }
}
