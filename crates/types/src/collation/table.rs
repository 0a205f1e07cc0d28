//! Collations with one weight for each character.

use super::Pad;
use super::weights::{LEVELS, Source, Weights};
use crate::charset::latin1;

/// Weights of the bytes of a one-byte character set.
pub(super) struct EightBit([u8; 256]);

impl EightBit {
    /// The weight of a character; one that the character set lacks counts as `?`.
    pub(super) fn weight(&self, c: u32) -> u8 {
        let byte = char::from_u32(c).and_then(latin1::byte_of).unwrap_or(b'?');
        self.0[usize::from(byte)]
    }
}

/// Weights of the bytes of latin1, of which some have two.
pub(super) struct Doubled {
    /// The first weights, then the second ones; 0 where there is none.
    bytes: &'static [u8; 512],
}

impl Doubled {
    /// Gives the weights of a character to `put`; one that the character set lacks counts as `?`.
    pub(super) fn weights(&self, c: u32, put: &mut impl FnMut(u32)) {
        let byte = usize::from(char::from_u32(c).and_then(latin1::byte_of).unwrap_or(b'?'));
        put(u32::from(self.bytes[byte]) + 1);
        if self.bytes[256 + byte] != 0 {
            put(u32::from(self.bytes[256 + byte]) + 1);
        }
    }
}

/// Weights of `general_ci` and its like: the basic multilingual plane, by pages; the characters beyond are all equal.
pub(super) struct General {
    bytes: &'static [u8],
}

impl General {
    const PAGES: usize = 256;

    pub(super) const fn weight(&self, c: u32) -> u16 {
        if c > 0xFFFF {
            return 0xFFFD;
        }
        let page = self.bytes[c as usize >> 8];
        // Page 0xFF stands for one whose characters weigh what their codes say.
        if page == 0xFF {
            return c as u16;
        }
        let at = Self::PAGES + (page as usize * 256 + (c as usize & 0xFF)) * 2;
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }
}

const fn eight_bit(table: usize) -> EightBit {
    let bytes = include_bytes!("../../tables/eight_bit.bin");
    let mut weights = [0; 256];
    let mut i = 0;
    while i < 256 {
        weights[i] = bytes[table * 256 + i];
        i += 1;
    }
    EightBit(weights)
}

const fn identity() -> EightBit {
    let mut weights = [0; 256];
    let mut i = 0;
    while i < 256 {
        weights[i] = i as u8;
        i += 1;
    }
    EightBit(weights)
}

const fn by_eight_bit(table: &'static EightBit) -> Weights {
    let mut ascii = [[0; 128]; LEVELS];
    let mut i = 0;
    while i < 128 {
        ascii[0][i] = table.0[i] as u16 + 1;
        i += 1;
    }
    Weights::new(ascii, Source::EightBit(table), 1, Pad::PadSpace)
}

const fn by_doubled(table: &'static Doubled) -> Weights {
    let mut ascii = [[0; 128]; LEVELS];
    let mut i = 0;
    while i < 128 {
        ascii[0][i] = table.bytes[i] as u16 + 1;
        i += 1;
    }
    Weights::new(ascii, Source::Doubled(table), 1, Pad::PadSpace)
}

/// For finding, characters with two weights are letters of their own: they have a weight that no byte has alone.
const fn as_letters(table: &Doubled) -> EightBit {
    let mut weights = [0; 256];
    let mut i = 0;
    while i < 256 {
        let is_pair = table.bytes[256 + i] != 0;
        let mut same = 0;
        while is_pair && (table.bytes[same] != table.bytes[i] || table.bytes[256 + same] != table.bytes[256 + i]) {
            same += 1;
        }
        weights[i] = if is_pair { same as u8 } else { table.bytes[i] };
        i += 1;
    }
    EightBit(weights)
}

const fn by_general(table: &'static General) -> Weights {
    let mut ascii = [[0; 128]; LEVELS];
    let mut i = 0;
    while i < 128 {
        ascii[0][i] = table.weight(i as u32) + 1;
        i += 1;
    }
    Weights::new(ascii, Source::General(table), 1, Pad::PadSpace)
}

static GERMAN1: EightBit = eight_bit(0);
static SWEDISH: EightBit = eight_bit(1);
static DANISH: EightBit = eight_bit(2);
static LATIN1_GENERAL_IGNORING_CASE: EightBit = eight_bit(3);
static LATIN1_GENERAL_MINDING_CASE: EightBit = eight_bit(4);
static SPANISH: EightBit = eight_bit(5);
static ASCII: EightBit = eight_bit(6);
static GERMAN2: Doubled = Doubled {
    bytes: include_bytes!("../../tables/charsets/latin1_german2_ci.bin"),
};
static GERMAN2_AS_LETTERS: EightBit = as_letters(&GERMAN2);
static IDENTITY: EightBit = identity();
static GENERAL: General = General {
    bytes: include_bytes!("../../tables/general_ci.bin"),
};
static GENERAL_MYSQL500: General = General {
    bytes: include_bytes!("../../tables/charsets/utf8mb3_general_mysql500_ci.bin"),
};
static TOLOWER: General = General {
    bytes: include_bytes!("../../tables/charsets/utf8mb3_tolower_ci.bin"),
};

pub(super) static LATIN1_GERMAN1_CI: Weights = by_eight_bit(&GERMAN1);
pub(super) static LATIN1_SWEDISH_CI: Weights = by_eight_bit(&SWEDISH);
pub(super) static LATIN1_DANISH_CI: Weights = by_eight_bit(&DANISH);
pub(super) static LATIN1_GENERAL_CI: Weights = by_eight_bit(&LATIN1_GENERAL_IGNORING_CASE);
pub(super) static LATIN1_GENERAL_CS: Weights = by_eight_bit(&LATIN1_GENERAL_MINDING_CASE);
pub(super) static LATIN1_SPANISH_CI: Weights = by_eight_bit(&SPANISH);
pub(super) static LATIN1_BIN: Weights = by_eight_bit(&IDENTITY);
pub(super) static ASCII_GENERAL_CI: Weights = by_eight_bit(&ASCII);
pub(super) static GENERAL_CI: Weights = by_general(&GENERAL);
pub(super) static GENERAL_MYSQL500_CI: Weights = by_general(&GENERAL_MYSQL500);
pub(super) static TOLOWER_CI: Weights = by_general(&TOLOWER);
pub(super) static LATIN1_GERMAN2_CI: Weights = by_doubled(&GERMAN2);
pub(super) static LATIN1_GERMAN2_CHARS: Weights = by_eight_bit(&GERMAN2_AS_LETTERS);
