//! Collations of the character sets whose codes have up to three or four bytes: by the codes, or Chinese by its sound.
//!
//! A weight has 16 bits, so the weights of a character are the bytes of its code by pairs. They compare as the codes do, since none begins with
//! another one.

use super::Pad;
use super::ranks::Ranks;
use super::weights::{LEVELS, Source, Weights};
use crate::charset::coded::{self as charset, Coded};
use crate::charset::gb18030::{self, Code};

pub(super) enum Long {
    /// The bytes of ujis or eucjpms; the Japanese order folds the cases of ASCII.
    Japanese { set: &'static Coded, folds_ascii: bool },
    /// The bytes of gb18030.
    Gb18030,
    /// gb18030 with cases folded: ASCII, then the codes of two bytes, those of four by their numbers, and behind all the ideographs by pinyin.
    Chinese,
}

static PINYIN: Ranks = Ranks::new(include_bytes!("../../tables/charsets/gb18030_chinese_ci.bin"));

/// MySQL's weights of codes of four bytes and of ideographs: these and a number of 24 bits.
const FOUR_BYTES: u32 = 0xFF00_0000;
const BY_PINYIN: u32 = 0xA0_0000;
/// What the ideographs have here in its place, so that a number fits two units of which the second has its highest bit set: a space has not.
const BY_PINYIN_HERE: u32 = 0x19_0000;
const FIRST_UNIT: u32 = 0xFF00;
const SECOND_UNIT: u32 = 0x8000;

impl Long {
    /// Gives the weights of a character to `put`: units of one byte or two, each and one.
    pub(super) fn weights(&self, c: u32, put: &mut impl FnMut(u32)) {
        match self {
            Long::Japanese { set, folds_ascii } => {
                let (mut bytes, len) = set.bytes_of_char(c);
                if *folds_ascii && len == 1 {
                    bytes[0].make_ascii_uppercase();
                }
                pairs(&bytes[..len], put);
            }
            Long::Gb18030 => {
                let (bytes, len) = Code::of(c).bytes();
                pairs(&bytes[..len], put);
            }
            Long::Chinese => {
                let number = match PINYIN.get(c) {
                    0 => {
                        let upper = char::from_u32(c).map_or(c, |c| gb18030::to_upper(c).into());
                        match Code::of(upper) {
                            Code::One(byte) => return put(u32::from(byte) + 1),
                            Code::Two(code) => return put(u32::from(code) + 1),
                            Code::Four(number) => number,
                        }
                    }
                    rank => BY_PINYIN_HERE + u32::from(rank),
                };
                put((FIRST_UNIT | number >> 15) + 1);
                put((SECOND_UNIT | number & 0x7FFF) + 1);
            }
        }
    }

    /// A weight as WEIGHT_STRING writes it. `first` holds the first unit of two that are written as one.
    pub(super) fn write(&self, weight: u32, first: &mut Option<u32>, out: &mut Vec<u8>) {
        let unit = weight - 1;
        if let Some(first) = first.take() {
            let number = (first - FIRST_UNIT) << 15 | unit & 0x7FFF;
            let shown = match number.checked_sub(BY_PINYIN_HERE) {
                Some(rank) => BY_PINYIN + rank,
                None => number,
            };
            return out.extend_from_slice(&(FOUR_BYTES | shown).to_be_bytes());
        }
        match (self, unit) {
            (Long::Chinese, FIRST_UNIT..) => *first = Some(unit),
            (_, 0..=0xFF) => out.push(unit as u8),
            _ => out.extend_from_slice(&(unit as u16).to_be_bytes()),
        }
    }
}

fn pairs(bytes: &[u8], put: &mut impl FnMut(u32)) {
    for pair in bytes.chunks(2) {
        put(pair.iter().fold(0, |unit, &byte| unit << 8 | u32::from(byte)) + 1);
    }
}

const fn weights(order: &'static Long, folds_case: bool) -> Weights {
    let mut ascii = [[0; 128]; LEVELS];
    let mut c = 0;
    while c < 128 {
        let byte = c as u8;
        ascii[0][c] = if folds_case { byte.to_ascii_uppercase() } else { byte } as u16 + 1;
        c += 1;
    }
    Weights::new(ascii, Source::Long(order), 1, Pad::PadSpace)
}

macro_rules! orders {
    ($($name:ident, $folds_case:literal: $order:expr;)*) => {
        $(
            pub(super) static $name: Weights = {
                static ORDER: Long = $order;
                weights(&ORDER, $folds_case)
            };
        )*
    };
}

orders! {
    UJIS_BIN, false: Long::Japanese { set: &charset::UJIS, folds_ascii: false };
    UJIS_JAPANESE_CI, true: Long::Japanese { set: &charset::UJIS, folds_ascii: true };
    EUCJPMS_BIN, false: Long::Japanese { set: &charset::EUCJPMS, folds_ascii: false };
    EUCJPMS_JAPANESE_CI, true: Long::Japanese { set: &charset::EUCJPMS, folds_ascii: true };
    GB18030_BIN, false: Long::Gb18030;
    GB18030_CHINESE_CI, true: Long::Chinese;
}
