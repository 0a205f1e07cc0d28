//! The Unicode collation algorithm, as MySQL has it.
//!
//! Each character has collation elements: a weight for each of up to three levels. MySQL neither normalizes nor knows
//! the contractions of the default table, so the weights of a string are those of its characters, one after another,
//! without the zeros. Characters that the table lacks get weights by rule: Hangul syllables from their letters (9.0
//! only), ideographs and unassigned characters from their codes.

use super::Pad;
use super::tailored::Tailoring;
use super::weights::{LEVELS, Source, Weights};

/// A table of collation elements; `tables/generate.py` draws its layout.
pub(super) struct Uca {
    bytes: &'static [u8],
    version: Version,
    tailoring: Option<&'static Tailoring>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    /// Covers the basic multilingual plane; the characters beyond weigh 0xFFFD.
    V400,
    V520,
    V900,
}

/// Number of entries of the page index: a page has 256 characters.
const PAGE_INDEX: usize = 0x1100;
const NO_PAGE: u16 = 0xFFFF;

/// The two highest bits of an entry say what it is.
const KIND: u32 = 0xC000_0000;
/// One element, in the form that [`weight_of`] takes apart.
const SINGLE: u32 = 0;
/// Several: their number in six bits, and where they are in 24 bits.
const SEVERAL: u32 = 0x8000_0000;

impl Uca {
    const fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes([
            self.bytes[at],
            self.bytes[at + 1],
            self.bytes[at + 2],
            self.bytes[at + 3],
        ])
    }

    /// The entry of a character, if the table has it.
    #[inline(always)]
    const fn entry(&self, c: u32) -> Option<u32> {
        let index = (c >> 8) as usize;
        if index >= PAGE_INDEX {
            return None;
        }
        let page = u16::from_le_bytes([self.bytes[4 + index * 2], self.bytes[5 + index * 2]]);
        if page == NO_PAGE {
            return None;
        }
        let entry = self.u32_at(4 + PAGE_INDEX * 2 + (page as usize * 256 + (c & 0xFF) as usize) * 4);
        if entry & KIND == KIND { None } else { Some(entry) }
    }

    fn several(&self, entry: u32) -> impl Iterator<Item = u32> + '_ {
        let pages = self.u32_at(0) as usize;
        let first = 4 + PAGE_INDEX * 2 + pages * 256 * 4 + (entry & 0xFF_FFFF) as usize * 4;
        let count = (entry >> 24 & 0x3F) as usize;
        (0..count).map(move |i| self.u32_at(first + i * 4))
    }

    /// Gives the weights of a character at a level (0: primary) to `put`, in order and without zeros.
    pub(super) fn weights(&self, c: u32, level: u8, put: &mut impl FnMut(u32)) {
        if let Some(tailoring) = self.tailoring
            && let Some(tailored) = tailoring.find(c)
        {
            return (0..)
                .map_while(|i| tailoring.weight(tailored, level, i))
                .for_each(|weight| put(weight.into()));
        }
        let Some(tailoring) = self.tailoring else {
            return self.untailored(c, level, put);
        };
        if let Some(weight) = tailoring.of_ideograph(c, level) {
            if weight != 0 {
                put(weight);
            }
            return;
        }
        // Of two weights by the code the second tells the characters of a group apart: it stays.
        let mut stays = false;
        let is_by_code = level == 0 && self.is_by_code(c);
        self.untailored(c, level, &mut |weight| {
            match stays {
                true => put(weight),
                false => tailoring.put_moved(weight, level, put),
            }
            stays = is_by_code;
        });
    }

    /// The same of the characters that `at` begins with in `text`, if they weigh together, and how many bytes they take.
    pub(super) fn contracted(&self, text: &[u8], at: usize, level: u8, put: &mut impl FnMut(u32)) -> Option<usize> {
        let tailoring = self.tailoring?;
        let (contraction, len) = tailoring.contractions.longest(text, at)?;
        (0..)
            .map_while(|i| tailoring.weight(contraction, level, i))
            .for_each(|weight| put(weight.into()));
        Some(len)
    }

    fn untailored(&self, c: u32, level: u8, put: &mut impl FnMut(u32)) {
        match self.entry(c) {
            Some(entry) if entry & KIND == SINGLE => put_weight(entry, level, put),
            Some(entry) => {
                debug_assert_eq!(entry & KIND, SEVERAL);
                let room = self.tailoring.map_or(usize::MAX, Tailoring::room);
                self.several(entry)
                    .take(room)
                    .for_each(|element| put_weight(element, level, put));
            }
            None => self.implicit(c, level, put),
        }
    }

    /// Of Hangul, where that has no weights of its own.
    fn is_syllable(&self, c: u32) -> bool {
        self.version == Version::V900 && matches!(c, 0xAC00..=0xD7AF)
    }

    /// Whether a character has two primary weights by its code.
    fn is_by_code(&self, c: u32) -> bool {
        self.entry(c).is_none() && !self.is_syllable(c)
    }

    fn implicit(&self, c: u32, level: u8, put: &mut impl FnMut(u32)) {
        if self.version == Version::V400 && c > 0xFFFF {
            return put(0xFFFD);
        }
        if self.is_syllable(c) {
            if level > 2 {
                return;
            }
            let letters = hangul_letters(c).filter(|&letter| letter != 0);
            return letters.for_each(|letter| {
                let entry = self.entry(letter).expect("the table has all letters of Hangul");
                put(match (level, c) {
                    // So in MySQL. Without a language it is 2 here, and keys on disks have that.
                    (2, 0xD700..) if self.tailoring.is_some() => 3,
                    _ => weight_of(entry, level),
                });
            });
        }
        let (first, second) = match self.version {
            Version::V900 if matches!(c, 0x17000..=0x18AFF) => (0xFB00, c - 0x17000),
            version => (han_base(c, version) + (c >> 15), c & 0x7FFF),
        };
        match level {
            0 => {
                put(first);
                put(second | 0x8000);
            }
            1 => put(0x20),
            2 => put(0x02),
            _ => {}
        }
    }
}

/// An element holds 16 bits of primary, 9 of secondary and 5 of tertiary weight.
const fn weight_of(element: u32, level: u8) -> u32 {
    match level {
        0 => element >> 14,
        1 => element >> 5 & 0x1FF,
        2 => element & 0x1F,
        _ => 0,
    }
}

fn put_weight(element: u32, level: u8, put: &mut impl FnMut(u32)) {
    let weight = weight_of(element, level);
    if weight != 0 {
        put(weight);
    }
}

/// The leading consonant, the vowel and the trailing consonant (or 0) of a syllable.
fn hangul_letters(syllable: u32) -> impl Iterator<Item = u32> {
    let index = syllable - 0xAC00;
    let trailing = index % 28;
    let last = if trailing == 0 { 0 } else { 0x11A7 + trailing };
    [0x1100 + index / (21 * 28), 0x1161 + index / 28 % 21, last].into_iter()
}

/// The base of implicit weights: core ideographs, then the extensions, then what is not assigned.
fn han_base(c: u32, version: Version) -> u32 {
    let core = match version {
        Version::V900 => matches!(c, 0x4E00..=0x9FD5 | 0xFA0E..=0xFA29),
        _ => matches!(c, 0x4E00..=0x9FA5),
    };
    let extension = match version {
        Version::V900 => matches!(
            c,
            0x3400..=0x4DB5 | 0x20000..=0x2A6D6 | 0x2A700..=0x2B734 | 0x2B740..=0x2B81D | 0x2B820..=0x2CEA1
        ),
        _ => matches!(c, 0x3400..=0x4DB5),
    };
    match (core, extension) {
        (true, _) => 0xFB40,
        (_, true) => 0xFB80,
        _ => 0xFBC0,
    }
}

const fn by_uca(table: &'static Uca, levels: u8, pad: Pad) -> Weights {
    let mut ascii = [[0; 128]; LEVELS];
    let mut not_simple = 0;
    let mut c = 0;
    while c < 128 {
        // Every ASCII character has at most one element, unless a language has given it others.
        let tailored = match table.tailoring {
            Some(tailoring) => tailoring.find(c),
            None => None,
        };
        let mut level = 0;
        while level < LEVELS {
            ascii[level][c as usize] = match (tailored, table.tailoring, table.entry(c)) {
                (Some(tailored), Some(tailoring), _) => match tailoring.weight(tailored, level as u8, 0) {
                    Some(weight) => weight,
                    None => 0,
                },
                (_, Some(tailoring), Some(entry)) => match weight_of(entry, level as u8) {
                    0 => 0,
                    weight => tailoring.moved(weight, level as u8) as u16,
                },
                (_, None, Some(entry)) => weight_of(entry, level as u8) as u16,
                (_, _, None) => 0,
            };
            level += 1;
        }
        let leads = match table.tailoring {
            Some(tailoring) => tailoring.contractions.may_lead(c),
            None => false,
        };
        if leads || matches!(tailored, Some(tailored) if !tailored.is_simple()) {
            not_simple |= 1 << c;
        }
        c += 1;
    }
    let contractions = match table.tailoring {
        Some(tailoring) if !tailoring.contractions.is_empty() => Some(&tailoring.contractions),
        _ => None,
    };
    Weights::of_language(ascii, not_simple, contractions, Source::Uca(table), levels, pad)
}

static UCA_400: Uca = Uca {
    bytes: include_bytes!("../../tables/uca400.bin"),
    version: Version::V400,
    tailoring: None,
};
static UCA_520: Uca = Uca {
    bytes: include_bytes!("../../tables/uca520.bin"),
    version: Version::V520,
    tailoring: None,
};
static UCA_900: Uca = Uca {
    bytes: include_bytes!("../../tables/uca900.bin"),
    version: Version::V900,
    tailoring: None,
};

pub(super) static UNICODE_CI: Weights = by_uca(&UCA_400, 1, Pad::PadSpace);
pub(super) static UNICODE_520_CI: Weights = by_uca(&UCA_520, 1, Pad::PadSpace);
pub(super) static UTF8MB4_0900_AI_CI: Weights = by_uca(&UCA_900, 1, Pad::NoPad);
pub(super) static UTF8MB4_0900_AS_CI: Weights = by_uca(&UCA_900, 2, Pad::NoPad);
pub(super) static UTF8MB4_0900_AS_CS: Weights = by_uca(&UCA_900, 3, Pad::NoPad);

macro_rules! base {
    ($name:ident, $table:ident, $levels:literal, $pad:expr $(, $more:ident)*) => {
        /// What languages change.
        pub(super) mod $name {
            use super::*;

            pub(in crate::collation) const fn table(tailoring: &'static Tailoring) -> Uca {
                Uca {
                    bytes: $table.bytes,
                    version: $table.version,
                    tailoring: Some(tailoring),
                }
            }

            pub(in crate::collation) const fn weights(table: &'static Uca) -> Weights {
                by_uca(table, $levels, $pad)$(.$more())*
            }
        }
    };
}

base!(v400, UCA_400, 1, Pad::PadSpace);
base!(v900_ai_ci, UCA_900, 1, Pad::NoPad);
base!(v900_as_cs, UCA_900, 3, Pad::NoPad);
base!(v900_zh_as_cs, UCA_900, 3, Pad::NoPad, with_low_secondary);
base!(v900_ja_as_cs, UCA_900, 3, Pad::NoPad, with_marks);
base!(v900_ja_as_cs_ks, UCA_900, 4, Pad::NoPad, with_marks);
