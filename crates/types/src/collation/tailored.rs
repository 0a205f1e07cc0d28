//! Collations of languages: the Unicode collation algorithm with other weights for some characters. `tables/generate_tailorings.py` draws the
//! layout of their tables.

use super::weights::Weights;
use super::{CollationId, uca};

/// The characters that weigh otherwise.
pub(super) struct Tailoring {
    bytes: &'static [u8],
}

/// Where the weights of a character are.
#[derive(Clone, Copy)]
pub(super) struct Tailored {
    first: usize,
    counts: [u8; 3],
}

const ENTRY: usize = 10;

impl Tailoring {
    pub(super) const fn new(bytes: &'static [u8]) -> Tailoring {
        Tailoring { bytes }
    }

    const fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    const fn len(&self) -> usize {
        self.u16_at(0) as usize
    }

    const fn character(&self, i: usize) -> u32 {
        let at = 2 + i * ENTRY;
        self.u16_at(at) as u32 | (self.u16_at(at + 2) as u32) << 16
    }

    pub(super) const fn find(&self, c: u32) -> Option<Tailored> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.character(middle) < c {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == self.len() || self.character(low) != c {
            return None;
        }
        let at = 2 + low * ENTRY;
        Some(Tailored {
            first: self.u16_at(at + 4) as usize,
            counts: [self.bytes[at + 6], self.bytes[at + 7], self.bytes[at + 8]],
        })
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
        Some(self.u16_at(2 + self.len() * ENTRY + at * 2))
    }
}

macro_rules! tailored {
    ($($($collation:ident)|+: $base:ident $name:literal;)*) => {
        /// The weights of a collation of a language.
        pub(super) fn of(collation: CollationId) -> Option<&'static Weights> {
            Some(match collation {
                $(
                    $(CollationId::$collation)|+ => {
                        static TAILORING: Tailoring = Tailoring::new(include_bytes!(concat!("../../tables/tailorings/", $name, ".bin")));
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
    UTF8MB4_DE_PB_0900_AI_CI: v900_ai_ci "de_pb_0900_ai_ci";
    UTF8MB4_DE_PB_0900_AS_CS: v900_as_cs "de_pb_0900_as_cs";
    UTF8MB4_EO_0900_AI_CI: v900_ai_ci "eo_0900_ai_ci";
    UTF8MB4_EO_0900_AS_CS: v900_as_cs "eo_0900_as_cs";
    UTF8MB4_ES_0900_AI_CI: v900_ai_ci "es_0900_ai_ci";
    UTF8MB4_ES_0900_AS_CS: v900_as_cs "es_0900_as_cs";
    UCS2_ESPERANTO_CI | UTF16_ESPERANTO_CI | UTF32_ESPERANTO_CI | UTF8MB3_ESPERANTO_CI | UTF8MB4_ESPERANTO_CI: v400 "esperanto_ci";
    UCS2_ESTONIAN_CI | UTF16_ESTONIAN_CI | UTF32_ESTONIAN_CI | UTF8MB3_ESTONIAN_CI | UTF8MB4_ESTONIAN_CI: v400 "estonian_ci";
    UCS2_GERMAN2_CI | UTF16_GERMAN2_CI | UTF32_GERMAN2_CI | UTF8MB3_GERMAN2_CI | UTF8MB4_GERMAN2_CI: v400 "german2_ci";
    UTF8MB4_GL_0900_AI_CI: v900_ai_ci "gl_0900_ai_ci";
    UTF8MB4_GL_0900_AS_CS: v900_as_cs "gl_0900_as_cs";
    UCS2_HUNGARIAN_CI | UTF16_HUNGARIAN_CI | UTF32_HUNGARIAN_CI | UTF8MB3_HUNGARIAN_CI | UTF8MB4_HUNGARIAN_CI: v400 "hungarian_ci";
    UCS2_ICELANDIC_CI | UTF16_ICELANDIC_CI | UTF32_ICELANDIC_CI | UTF8MB3_ICELANDIC_CI | UTF8MB4_ICELANDIC_CI: v400 "icelandic_ci";
    UTF8MB4_IS_0900_AI_CI: v900_ai_ci "is_0900_ai_ci";
    UTF8MB4_IS_0900_AS_CS: v900_as_cs "is_0900_as_cs";
    UTF8MB4_LA_0900_AI_CI: v900_ai_ci "la_0900_ai_ci";
    UCS2_LATVIAN_CI | UTF16_LATVIAN_CI | UTF32_LATVIAN_CI | UTF8MB3_LATVIAN_CI | UTF8MB4_LATVIAN_CI: v400 "latvian_ci";
    UTF8MB4_LT_0900_AI_CI: v900_ai_ci "lt_0900_ai_ci";
    UTF8MB4_LV_0900_AI_CI: v900_ai_ci "lv_0900_ai_ci";
    UTF8MB4_MN_CYRL_0900_AI_CI: v900_ai_ci "mn_cyrl_0900_ai_ci";
    UTF8MB4_MN_CYRL_0900_AS_CS: v900_as_cs "mn_cyrl_0900_as_cs";
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
    UTF8MB4_SL_0900_AI_CI: v900_ai_ci "sl_0900_ai_ci";
    UTF8MB4_SL_0900_AS_CS: v900_as_cs "sl_0900_as_cs";
    UCS2_SLOVENIAN_CI | UTF16_SLOVENIAN_CI | UTF32_SLOVENIAN_CI | UTF8MB3_SLOVENIAN_CI | UTF8MB4_SLOVENIAN_CI: v400 "slovenian_ci";
    UCS2_SPANISH_CI | UTF16_SPANISH_CI | UTF32_SPANISH_CI | UTF8MB3_SPANISH_CI | UTF8MB4_SPANISH_CI: v400 "spanish_ci";
    UTF8MB4_SV_0900_AI_CI: v900_ai_ci "sv_0900_ai_ci";
    UTF8MB4_SV_0900_AS_CS: v900_as_cs "sv_0900_as_cs";
    UCS2_SWEDISH_CI | UTF16_SWEDISH_CI | UTF32_SWEDISH_CI | UTF8MB3_SWEDISH_CI | UTF8MB4_SWEDISH_CI: v400 "swedish_ci";
    UCS2_TURKISH_CI | UTF16_TURKISH_CI | UTF32_TURKISH_CI | UTF8MB3_TURKISH_CI | UTF8MB4_TURKISH_CI: v400 "turkish_ci";
    UTF8MB4_VI_0900_AI_CI: v900_ai_ci "vi_0900_ai_ci";
    UTF8MB4_VI_0900_AS_CS: v900_as_cs "vi_0900_as_cs";
    UCS2_VIETNAMESE_CI | UTF16_VIETNAMESE_CI | UTF32_VIETNAMESE_CI | UTF8MB3_VIETNAMESE_CI | UTF8MB4_VIETNAMESE_CI: v400 "vietnamese_ci";
}
