//! Collations of languages: the Unicode collation algorithm with other weights for some characters. `tables/generate_tailorings.py` draws the
//! layout of their tables.

use super::contractions::Contractions;
use super::ranks::Ranks;
use super::weights::{LEVELS, Weights};
use super::{CollationId, uca};

/// What a language changes.
pub(super) struct Tailoring {
    bytes: &'static [u8],
    upper_first: bool,
    shifts: u16,
    characters: u16,
    pub(super) contractions: Contractions,
    /// The primary weights of ideographs.
    ranks: Option<Ranks>,
    /// Where the parts begin.
    characters_at: usize,
    weights_at: usize,
}

/// Where the weights of a character are, or of some together.
#[derive(Clone, Copy)]
pub(super) struct Tailored {
    first: usize,
    counts: [u8; LEVELS],
}

/// What comes before the weights of scripts that are sorted behind all ideographs.
const LEAD: u32 = 0xFB86;

const HEADER: usize = 8;
const SHIFT: usize = 6;
const CHARACTER: usize = 10;

impl Tailoring {
    pub(super) const fn new(bytes: &'static [u8]) -> Tailoring {
        let (shifts, characters, contractions) = (u16_at(bytes, 2), u16_at(bytes, 4), u16_at(bytes, 6));
        let characters_at = HEADER + shifts as usize * SHIFT;
        let contractions_at = characters_at + characters as usize * CHARACTER;
        Tailoring {
            bytes,
            upper_first: u16_at(bytes, 0) & 1 != 0,
            shifts,
            characters,
            contractions: Contractions::new(bytes, contractions_at, contractions),
            ranks: None,
            characters_at,
            weights_at: contractions_at + contractions as usize * Contractions::ENTRY,
        }
    }

    /// The same of a language that has ideographs in an order of its own.
    pub(super) const fn with_ranks(mut self, ranks: &'static [u8]) -> Tailoring {
        self.ranks = Some(Ranks::new(ranks));
        self
    }

    /// The weight of an ideograph at a level, of those that have one in this language.
    pub(super) fn of_ideograph(&self, c: u32, level: u8) -> Option<u32> {
        let rank = self.ranks.as_ref()?.get(c);
        match (rank, level) {
            (0, _) => None,
            (rank, 0) => Some(rank.into()),
            (_, 1) => Some(0x20),
            (_, 2) => Some(0x02),
            _ => Some(0),
        }
    }

    /// How many collation elements a character of the table underneath may have. MySQL has room for eight.
    pub(super) const fn room(&self) -> usize {
        match self.ranks {
            Some(_) => 8,
            // Keys on disks have them all.
            None => usize::MAX,
        }
    }

    const fn character(&self, i: usize) -> u32 {
        let at = self.characters_at + i * CHARACTER;
        u16_at(self.bytes, at) as u32 | (u16_at(self.bytes, at + 2) as u32) << 16
    }

    /// The character, if it has weights of its own.
    pub(super) const fn find(&self, c: u32) -> Option<Tailored> {
        let len = self.characters as usize;
        let (mut low, mut high) = (0, len);
        while low < high {
            let middle = (low + high) / 2;
            if self.character(middle) < c {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == len || self.character(low) != c {
            return None;
        }
        Some(Tailored::at(self.bytes, self.characters_at + low * CHARACTER + 4))
    }

    /// The weight number `i` at a level.
    pub(super) const fn weight(&self, of: Tailored, level: u8, i: usize) -> Option<u16> {
        if i >= of.counts[level as usize] as usize {
            return None;
        }
        let mut at = of.first + i;
        let mut before = 0;
        while before < level as usize {
            at += of.counts[before] as usize;
            before += 1;
        }
        Some(u16_at(self.bytes, self.weights_at + at * 2))
    }

    /// What becomes of a weight of a character that is not among those: scripts are moved behind others, and cases before each other.
    pub(super) const fn moved(&self, weight: u32, level: u8) -> u32 {
        match level {
            0 => match self.shift(weight) {
                Some(by) => (weight as u16).wrapping_add(by) as u32,
                None => weight,
            },
            2 if self.upper_first => match weight {
                0x08..=0x0C | 0x0E | 0x11 | 0x12 | 0x1D => weight | 0x100,
                _ => weight | 0x300,
            },
            _ => weight,
        }
    }

    /// Gives the weight to `put` as it is [`moved`](Self::moved), behind [`LEAD`] where a script has no room of its own.
    pub(super) fn put_moved(&self, weight: u32, level: u8, put: &mut impl FnMut(u32)) {
        if level == 0 && self.shift(weight) == Some(0) {
            put(LEAD);
        }
        put(self.moved(weight, level));
    }

    /// What is added to a primary weight.
    const fn shift(&self, weight: u32) -> Option<u16> {
        let mut i = 0;
        while i < self.shifts as usize {
            let at = HEADER + i * SHIFT;
            if u16_at(self.bytes, at) as u32 <= weight && weight <= u16_at(self.bytes, at + 2) as u32 {
                return Some(u16_at(self.bytes, at + 4));
            }
            i += 1;
        }
        None
    }
}

impl Tailored {
    /// Place and counts as an entry has them.
    pub(super) const fn at(bytes: &[u8], at: usize) -> Tailored {
        Tailored {
            first: u16_at(bytes, at) as usize,
            counts: [bytes[at + 2], bytes[at + 3], bytes[at + 4], bytes[at + 5]],
        }
    }

    /// Whether there is one weight at most at each level.
    pub(super) const fn is_simple(self) -> bool {
        let [a, b, c, d] = self.counts;
        a <= 1 && b <= 1 && c <= 1 && d <= 1
    }
}

pub(super) const fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

macro_rules! tailored {
    ($($($collation:ident)|+: $base:ident $name:literal $(with $ranks:literal)?;)*) => {
        /// The weights of a collation of a language.
        pub(super) fn of(collation: CollationId) -> Option<&'static Weights> {
            Some(match collation {
                $(
                    $(CollationId::$collation)|+ => {
                        static TAILORING: Tailoring = Tailoring::new(include_bytes!(concat!("../../tables/tailorings/", $name, ".bin")))
                            $(.with_ranks(include_bytes!(concat!("../../tables/tailorings/", $ranks, ".ranks.bin"))))?;
                        static TABLE: uca::Uca = uca::$base::table(&TAILORING);
                        static WEIGHTS: Weights = uca::$base::weights(&TABLE);
                        &WEIGHTS
                    }
                )*
                _ => return None,
            })
        }
    };
}

tailored! {
    UTF8MB4_BG_0900_AI_CI: v900_ai_ci "bg_0900_ai_ci";
    UTF8MB4_BG_0900_AS_CS: v900_as_cs "bg_0900_as_cs";
    UTF8MB4_BS_0900_AI_CI: v900_ai_ci "bs_0900_ai_ci";
    UTF8MB4_BS_0900_AS_CS: v900_as_cs "bs_0900_as_cs";
    UCS2_CROATIAN_CI | UTF16_CROATIAN_CI | UTF32_CROATIAN_CI | UTF8MB3_CROATIAN_CI | UTF8MB4_CROATIAN_CI: v400 "croatian_ci";
    UTF8MB4_CS_0900_AI_CI: v900_ai_ci "cs_0900_ai_ci";
    UTF8MB4_CS_0900_AS_CS: v900_as_cs "cs_0900_as_cs";
    UCS2_CZECH_CI | UTF16_CZECH_CI | UTF32_CZECH_CI | UTF8MB3_CZECH_CI | UTF8MB4_CZECH_CI: v400 "czech_ci";
    UTF8MB4_DA_0900_AI_CI: v900_ai_ci "da_0900_ai_ci";
    UTF8MB4_DA_0900_AS_CS: v900_as_cs "da_0900_as_cs";
    UCS2_DANISH_CI | UTF16_DANISH_CI | UTF32_DANISH_CI | UTF8MB3_DANISH_CI | UTF8MB4_DANISH_CI: v400 "danish_ci";
    UTF8MB4_DE_PB_0900_AI_CI: v900_ai_ci "de_pb_0900_ai_ci";
    UTF8MB4_DE_PB_0900_AS_CS: v900_as_cs "de_pb_0900_as_cs";
    UTF8MB4_EO_0900_AI_CI: v900_ai_ci "eo_0900_ai_ci";
    UTF8MB4_EO_0900_AS_CS: v900_as_cs "eo_0900_as_cs";
    UTF8MB4_ES_0900_AI_CI: v900_ai_ci "es_0900_ai_ci";
    UTF8MB4_ES_0900_AS_CS: v900_as_cs "es_0900_as_cs";
    UTF8MB4_ES_TRAD_0900_AI_CI: v900_ai_ci "es_trad_0900_ai_ci";
    UTF8MB4_ES_TRAD_0900_AS_CS: v900_as_cs "es_trad_0900_as_cs";
    UCS2_ESPERANTO_CI | UTF16_ESPERANTO_CI | UTF32_ESPERANTO_CI | UTF8MB3_ESPERANTO_CI | UTF8MB4_ESPERANTO_CI: v400 "esperanto_ci";
    UCS2_ESTONIAN_CI | UTF16_ESTONIAN_CI | UTF32_ESTONIAN_CI | UTF8MB3_ESTONIAN_CI | UTF8MB4_ESTONIAN_CI: v400 "estonian_ci";
    UTF8MB4_ET_0900_AI_CI: v900_ai_ci "et_0900_ai_ci";
    UTF8MB4_ET_0900_AS_CS: v900_as_cs "et_0900_as_cs";
    UCS2_GERMAN2_CI | UTF16_GERMAN2_CI | UTF32_GERMAN2_CI | UTF8MB3_GERMAN2_CI | UTF8MB4_GERMAN2_CI: v400 "german2_ci";
    UTF8MB4_GL_0900_AI_CI: v900_ai_ci "gl_0900_ai_ci";
    UTF8MB4_GL_0900_AS_CS: v900_as_cs "gl_0900_as_cs";
    UTF8MB4_HR_0900_AI_CI: v900_ai_ci "hr_0900_ai_ci";
    UTF8MB4_HR_0900_AS_CS: v900_as_cs "hr_0900_as_cs";
    UTF8MB4_HU_0900_AI_CI: v900_ai_ci "hu_0900_ai_ci";
    UTF8MB4_HU_0900_AS_CS: v900_as_cs "hu_0900_as_cs";
    UCS2_HUNGARIAN_CI | UTF16_HUNGARIAN_CI | UTF32_HUNGARIAN_CI | UTF8MB3_HUNGARIAN_CI | UTF8MB4_HUNGARIAN_CI: v400 "hungarian_ci";
    UCS2_ICELANDIC_CI | UTF16_ICELANDIC_CI | UTF32_ICELANDIC_CI | UTF8MB3_ICELANDIC_CI | UTF8MB4_ICELANDIC_CI: v400 "icelandic_ci";
    UTF8MB4_IS_0900_AI_CI: v900_ai_ci "is_0900_ai_ci";
    UTF8MB4_IS_0900_AS_CS: v900_as_cs "is_0900_as_cs";
    UTF8MB4_LA_0900_AI_CI: v900_ai_ci "la_0900_ai_ci";
    UTF8MB4_LA_0900_AS_CS: v900_as_cs "la_0900_as_cs";
    UTF8MB4_JA_0900_AS_CS: v900_ja_as_cs "ja_0900_as_cs" with "ja_0900_as_cs";
    UTF8MB4_JA_0900_AS_CS_KS: v900_ja_as_cs_ks "ja_0900_as_cs_ks" with "ja_0900_as_cs";
    UCS2_LATVIAN_CI | UTF16_LATVIAN_CI | UTF32_LATVIAN_CI | UTF8MB3_LATVIAN_CI | UTF8MB4_LATVIAN_CI: v400 "latvian_ci";
    UCS2_LITHUANIAN_CI | UTF16_LITHUANIAN_CI | UTF32_LITHUANIAN_CI | UTF8MB3_LITHUANIAN_CI | UTF8MB4_LITHUANIAN_CI: v400 "lithuanian_ci";
    UTF8MB4_LT_0900_AI_CI: v900_ai_ci "lt_0900_ai_ci";
    UTF8MB4_LT_0900_AS_CS: v900_as_cs "lt_0900_as_cs";
    UTF8MB4_LV_0900_AI_CI: v900_ai_ci "lv_0900_ai_ci";
    UTF8MB4_LV_0900_AS_CS: v900_as_cs "lv_0900_as_cs";
    UTF8MB4_MN_CYRL_0900_AI_CI: v900_ai_ci "mn_cyrl_0900_ai_ci";
    UTF8MB4_MN_CYRL_0900_AS_CS: v900_as_cs "mn_cyrl_0900_as_cs";
    UTF8MB4_NB_0900_AI_CI: v900_ai_ci "nb_0900_ai_ci";
    UTF8MB4_NB_0900_AS_CS: v900_as_cs "nb_0900_as_cs";
    UTF8MB4_NN_0900_AI_CI: v900_ai_ci "nn_0900_ai_ci";
    UTF8MB4_NN_0900_AS_CS: v900_as_cs "nn_0900_as_cs";
    UCS2_PERSIAN_CI | UTF16_PERSIAN_CI | UTF32_PERSIAN_CI | UTF8MB3_PERSIAN_CI | UTF8MB4_PERSIAN_CI: v400 "persian_ci";
    UTF8MB4_PL_0900_AI_CI: v900_ai_ci "pl_0900_ai_ci";
    UTF8MB4_PL_0900_AS_CS: v900_as_cs "pl_0900_as_cs";
    UCS2_POLISH_CI | UTF16_POLISH_CI | UTF32_POLISH_CI | UTF8MB3_POLISH_CI | UTF8MB4_POLISH_CI: v400 "polish_ci";
    UTF8MB4_RO_0900_AI_CI: v900_ai_ci "ro_0900_ai_ci";
    UTF8MB4_RO_0900_AS_CS: v900_as_cs "ro_0900_as_cs";
    UCS2_ROMAN_CI | UTF16_ROMAN_CI | UTF32_ROMAN_CI | UTF8MB3_ROMAN_CI | UTF8MB4_ROMAN_CI: v400 "roman_ci";
    UCS2_ROMANIAN_CI | UTF16_ROMANIAN_CI | UTF32_ROMANIAN_CI | UTF8MB3_ROMANIAN_CI | UTF8MB4_ROMANIAN_CI: v400 "romanian_ci";
    UTF8MB4_RU_0900_AI_CI: v900_ai_ci "ru_0900_ai_ci";
    UTF8MB4_RU_0900_AS_CS: v900_as_cs "ru_0900_as_cs";
    UCS2_SINHALA_CI | UTF16_SINHALA_CI | UTF32_SINHALA_CI | UTF8MB3_SINHALA_CI | UTF8MB4_SINHALA_CI: v400 "sinhala_ci";
    UTF8MB4_SK_0900_AI_CI: v900_ai_ci "sk_0900_ai_ci";
    UTF8MB4_SK_0900_AS_CS: v900_as_cs "sk_0900_as_cs";
    UTF8MB4_SL_0900_AI_CI: v900_ai_ci "sl_0900_ai_ci";
    UTF8MB4_SL_0900_AS_CS: v900_as_cs "sl_0900_as_cs";
    UCS2_SLOVAK_CI | UTF16_SLOVAK_CI | UTF32_SLOVAK_CI | UTF8MB3_SLOVAK_CI | UTF8MB4_SLOVAK_CI: v400 "slovak_ci";
    UCS2_SLOVENIAN_CI | UTF16_SLOVENIAN_CI | UTF32_SLOVENIAN_CI | UTF8MB3_SLOVENIAN_CI | UTF8MB4_SLOVENIAN_CI: v400 "slovenian_ci";
    UCS2_SPANISH2_CI | UTF16_SPANISH2_CI | UTF32_SPANISH2_CI | UTF8MB3_SPANISH2_CI | UTF8MB4_SPANISH2_CI: v400 "spanish2_ci";
    UCS2_SPANISH_CI | UTF16_SPANISH_CI | UTF32_SPANISH_CI | UTF8MB3_SPANISH_CI | UTF8MB4_SPANISH_CI: v400 "spanish_ci";
    UTF8MB4_SR_LATN_0900_AI_CI: v900_ai_ci "sr_latn_0900_ai_ci";
    UTF8MB4_SR_LATN_0900_AS_CS: v900_as_cs "sr_latn_0900_as_cs";
    UTF8MB4_SV_0900_AI_CI: v900_ai_ci "sv_0900_ai_ci";
    UTF8MB4_SV_0900_AS_CS: v900_as_cs "sv_0900_as_cs";
    UCS2_SWEDISH_CI | UTF16_SWEDISH_CI | UTF32_SWEDISH_CI | UTF8MB3_SWEDISH_CI | UTF8MB4_SWEDISH_CI: v400 "swedish_ci";
    UTF8MB4_TR_0900_AI_CI: v900_ai_ci "tr_0900_ai_ci";
    UTF8MB4_TR_0900_AS_CS: v900_as_cs "tr_0900_as_cs";
    UCS2_TURKISH_CI | UTF16_TURKISH_CI | UTF32_TURKISH_CI | UTF8MB3_TURKISH_CI | UTF8MB4_TURKISH_CI: v400 "turkish_ci";
    UTF8MB4_VI_0900_AI_CI: v900_ai_ci "vi_0900_ai_ci";
    UTF8MB4_VI_0900_AS_CS: v900_as_cs "vi_0900_as_cs";
    UCS2_VIETNAMESE_CI | UTF16_VIETNAMESE_CI | UTF32_VIETNAMESE_CI | UTF8MB3_VIETNAMESE_CI | UTF8MB4_VIETNAMESE_CI: v400 "vietnamese_ci";
    UTF8MB4_ZH_0900_AS_CS: v900_zh_as_cs "zh_0900_as_cs" with "zh_0900_as_cs";
}
