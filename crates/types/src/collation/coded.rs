//! Collations of the character sets that go by tables: one weight for each character, by a table of their own or by the codes.

use super::weights::{LEVELS, Source, Weights};
use super::{CollationId, Pad};
use crate::charset::coded::{self as charset, Coded, Paged};

/// Weights of the characters of a set; one that the set lacks counts as `?`.
pub(super) struct Order {
    set: &'static Coded,
    by: By,
}

enum By {
    Codes,
    /// From the character to the weight and one.
    Chars(Paged),
    /// From the code of one byte to the weight.
    Bytes(&'static [u8]),
}

impl Order {
    /// The weight and one.
    pub(super) const fn weight(&self, c: u32) -> u32 {
        match self.known(c) {
            Some(weight) => weight,
            None => match self.known(b'?' as u32) {
                Some(weight) => weight,
                None => 1,
            },
        }
    }

    const fn known(&self, c: u32) -> Option<u32> {
        match (&self.by, self.set.code_of(c)) {
            (By::Chars(table), _) if c <= 0xFFFF => match table.get(c as u16) {
                0 => None,
                weight => Some(weight as u32),
            },
            (By::Chars(_), _) | (_, None) => None,
            (By::Bytes(table), Some(code)) => Some(table[code as usize & 0xFF] as u32 + 1),
            // Codes of one byte come among those of two by their first byte.
            (By::Codes, Some(code @ 0x80..=0xFF)) if self.set.width() == 2 => Some(((code as u32) << 8) + 1),
            (By::Codes, Some(code)) => Some(code as u32 + 1),
        }
    }

    /// A weight as WEIGHT_STRING writes it.
    pub(super) fn write(&self, weight: u32, out: &mut Vec<u8>) {
        match ((weight - 1) as u16).to_be_bytes() {
            [0, low] => out.push(low),
            [high, 0] if self.set.has_high_codes_of_one_byte() => out.push(high),
            both => out.extend_from_slice(&both),
        }
    }
}

const fn weights(order: &'static Order) -> Weights {
    let mut ascii = [[0; 128]; LEVELS];
    let mut c = 0;
    while c < 128 {
        ascii[0][c] = order.weight(c as u32) as u16;
        c += 1;
    }
    Weights::new(ascii, Source::Coded(order), 1, Pad::PadSpace)
}

const fn by_table(set: &'static Coded, table: &'static [u8]) -> Order {
    Order {
        set,
        by: By::Chars(Paged::new(table)),
    }
}

const fn by_codes(set: &'static Coded) -> Order {
    Order { set, by: By::Codes }
}

const fn by_bytes(set: &'static Coded, table: &'static [u8]) -> Order {
    Order {
        set,
        by: By::Bytes(table),
    }
}

const THAI_TABLE: &[u8] = include_bytes!("../../tables/charsets/tis620_thai_ci.bin");
const CZECH_TABLE: &[u8] = include_bytes!("../../tables/charsets/latin2_czech_cs.bin");

static THAI_ORDER: Order = by_bytes(&charset::TIS620, THAI_TABLE);
static CZECH_ORDER: Order = by_bytes(&charset::LATIN2, CZECH_TABLE.split_at(CZECH_TABLE.len() - 256).1);
static WINDOWS_CZECH_ORDER: Order = by_codes(&charset::CP1250);

/// The order of single characters in collations that compare texts as a whole.
pub(super) static THAI_CHARS: Weights = weights(&THAI_ORDER);
pub(super) static CZECH_CHARS: Weights = weights(&CZECH_ORDER);
pub(super) static WINDOWS_CZECH_CHARS: Weights = weights(&WINDOWS_CZECH_ORDER);

macro_rules! orders {
    ($($collation:ident: $order:expr,)*) => {
        /// The weights of a collation of such a character set.
        pub(super) fn of(collation: CollationId) -> Option<&'static Weights> {
            Some(match collation {
                $(
                    CollationId::$collation => {
                        static ORDER: Order = $order;
                        static WEIGHTS: Weights = weights(&ORDER);
                        &WEIGHTS
                    }
                )*
                _ => return None,
            })
        }
    };
}

orders! {
    ARMSCII8_BIN: by_codes(&charset::ARMSCII8),
    ARMSCII8_GENERAL_CI: by_table(&charset::ARMSCII8, include_bytes!("../../tables/charsets/armscii8_general_ci.bin")),
    BIG5_BIN: by_codes(&charset::BIG5),
    BIG5_CHINESE_CI: by_table(&charset::BIG5, include_bytes!("../../tables/charsets/big5_chinese_ci.bin")),
    CP1250_BIN: by_codes(&charset::CP1250),
    CP1250_CROATIAN_CI: by_table(&charset::CP1250, include_bytes!("../../tables/charsets/cp1250_croatian_ci.bin")),
    CP1250_GENERAL_CI: by_table(&charset::CP1250, include_bytes!("../../tables/charsets/cp1250_general_ci.bin")),
    CP1250_POLISH_CI: by_table(&charset::CP1250, include_bytes!("../../tables/charsets/cp1250_polish_ci.bin")),
    CP1251_BIN: by_codes(&charset::CP1251),
    CP1251_BULGARIAN_CI: by_table(&charset::CP1251, include_bytes!("../../tables/charsets/cp1251_bulgarian_ci.bin")),
    CP1251_GENERAL_CI: by_table(&charset::CP1251, include_bytes!("../../tables/charsets/cp1251_general_ci.bin")),
    CP1251_GENERAL_CS: by_table(&charset::CP1251, include_bytes!("../../tables/charsets/cp1251_general_cs.bin")),
    CP1251_UKRAINIAN_CI: by_table(&charset::CP1251, include_bytes!("../../tables/charsets/cp1251_ukrainian_ci.bin")),
    CP1256_BIN: by_codes(&charset::CP1256),
    CP1256_GENERAL_CI: by_table(&charset::CP1256, include_bytes!("../../tables/charsets/cp1256_general_ci.bin")),
    CP1257_BIN: by_codes(&charset::CP1257),
    CP1257_GENERAL_CI: by_table(&charset::CP1257, include_bytes!("../../tables/charsets/cp1257_general_ci.bin")),
    CP1257_LITHUANIAN_CI: by_table(&charset::CP1257, include_bytes!("../../tables/charsets/cp1257_lithuanian_ci.bin")),
    CP850_BIN: by_codes(&charset::CP850),
    CP850_GENERAL_CI: by_table(&charset::CP850, include_bytes!("../../tables/charsets/cp850_general_ci.bin")),
    CP852_BIN: by_codes(&charset::CP852),
    CP852_GENERAL_CI: by_table(&charset::CP852, include_bytes!("../../tables/charsets/cp852_general_ci.bin")),
    CP866_BIN: by_codes(&charset::CP866),
    CP866_GENERAL_CI: by_table(&charset::CP866, include_bytes!("../../tables/charsets/cp866_general_ci.bin")),
    CP932_BIN: by_codes(&charset::CP932),
    CP932_JAPANESE_CI: by_table(&charset::CP932, include_bytes!("../../tables/charsets/cp932_japanese_ci.bin")),
    DEC8_BIN: by_codes(&charset::DEC8),
    DEC8_SWEDISH_CI: by_table(&charset::DEC8, include_bytes!("../../tables/charsets/dec8_swedish_ci.bin")),
    EUCKR_BIN: by_codes(&charset::EUCKR),
    EUCKR_KOREAN_CI: by_table(&charset::EUCKR, include_bytes!("../../tables/charsets/euckr_korean_ci.bin")),
    GB2312_BIN: by_codes(&charset::GB2312),
    GB2312_CHINESE_CI: by_table(&charset::GB2312, include_bytes!("../../tables/charsets/gb2312_chinese_ci.bin")),
    GBK_BIN: by_codes(&charset::GBK),
    GBK_CHINESE_CI: by_table(&charset::GBK, include_bytes!("../../tables/charsets/gbk_chinese_ci.bin")),
    GEOSTD8_BIN: by_codes(&charset::GEOSTD8),
    GEOSTD8_GENERAL_CI: by_table(&charset::GEOSTD8, include_bytes!("../../tables/charsets/geostd8_general_ci.bin")),
    GREEK_BIN: by_codes(&charset::GREEK),
    GREEK_GENERAL_CI: by_table(&charset::GREEK, include_bytes!("../../tables/charsets/greek_general_ci.bin")),
    HEBREW_BIN: by_codes(&charset::HEBREW),
    HEBREW_GENERAL_CI: by_table(&charset::HEBREW, include_bytes!("../../tables/charsets/hebrew_general_ci.bin")),
    HP8_BIN: by_codes(&charset::HP8),
    HP8_ENGLISH_CI: by_table(&charset::HP8, include_bytes!("../../tables/charsets/hp8_english_ci.bin")),
    KEYBCS2_BIN: by_codes(&charset::KEYBCS2),
    KEYBCS2_GENERAL_CI: by_table(&charset::KEYBCS2, include_bytes!("../../tables/charsets/keybcs2_general_ci.bin")),
    KOI8R_BIN: by_codes(&charset::KOI8R),
    KOI8R_GENERAL_CI: by_table(&charset::KOI8R, include_bytes!("../../tables/charsets/koi8r_general_ci.bin")),
    KOI8U_BIN: by_codes(&charset::KOI8U),
    KOI8U_GENERAL_CI: by_table(&charset::KOI8U, include_bytes!("../../tables/charsets/koi8u_general_ci.bin")),
    LATIN2_BIN: by_codes(&charset::LATIN2),
    LATIN2_CROATIAN_CI: by_table(&charset::LATIN2, include_bytes!("../../tables/charsets/latin2_croatian_ci.bin")),
    LATIN2_GENERAL_CI: by_table(&charset::LATIN2, include_bytes!("../../tables/charsets/latin2_general_ci.bin")),
    LATIN2_HUNGARIAN_CI: by_table(&charset::LATIN2, include_bytes!("../../tables/charsets/latin2_hungarian_ci.bin")),
    LATIN5_BIN: by_codes(&charset::LATIN5),
    LATIN5_TURKISH_CI: by_table(&charset::LATIN5, include_bytes!("../../tables/charsets/latin5_turkish_ci.bin")),
    LATIN7_BIN: by_codes(&charset::LATIN7),
    LATIN7_ESTONIAN_CS: by_table(&charset::LATIN7, include_bytes!("../../tables/charsets/latin7_estonian_cs.bin")),
    LATIN7_GENERAL_CI: by_table(&charset::LATIN7, include_bytes!("../../tables/charsets/latin7_general_ci.bin")),
    LATIN7_GENERAL_CS: by_table(&charset::LATIN7, include_bytes!("../../tables/charsets/latin7_general_cs.bin")),
    MACCE_BIN: by_codes(&charset::MACCE),
    MACCE_GENERAL_CI: by_table(&charset::MACCE, include_bytes!("../../tables/charsets/macce_general_ci.bin")),
    MACROMAN_BIN: by_codes(&charset::MACROMAN),
    MACROMAN_GENERAL_CI: by_table(&charset::MACROMAN, include_bytes!("../../tables/charsets/macroman_general_ci.bin")),
    SJIS_BIN: by_codes(&charset::SJIS),
    SJIS_JAPANESE_CI: by_table(&charset::SJIS, include_bytes!("../../tables/charsets/sjis_japanese_ci.bin")),
    SWE7_BIN: by_codes(&charset::SWE7),
    SWE7_SWEDISH_CI: by_table(&charset::SWE7, include_bytes!("../../tables/charsets/swe7_swedish_ci.bin")),
    TIS620_BIN: by_codes(&charset::TIS620),
}
