//! The collations' names and properties, as `SHOW COLLATION` lists them.

use std::fmt;

use super::{CollationId, Pad};
use crate::charset::Charset;

struct Entry {
    collation: CollationId,
    name: &'static str,
    sort_len: u32,
}

const fn entry(collation: CollationId, name: &'static str, sort_len: u32) -> Entry {
    Entry { collation, name, sort_len }
}

/// In the order of their names.
const TABLE: [Entry; 22] = [
    entry(CollationId::AsciiBin, "ascii_bin", 1),
    entry(CollationId::AsciiGeneralCi, "ascii_general_ci", 1),
    entry(CollationId::Binary, "binary", 1),
    entry(CollationId::Latin1Bin, "latin1_bin", 1),
    entry(CollationId::Latin1DanishCi, "latin1_danish_ci", 1),
    entry(CollationId::Latin1GeneralCi, "latin1_general_ci", 1),
    entry(CollationId::Latin1GeneralCs, "latin1_general_cs", 1),
    entry(CollationId::Latin1German1Ci, "latin1_german1_ci", 1),
    entry(CollationId::Latin1SpanishCi, "latin1_spanish_ci", 1),
    entry(CollationId::Latin1SwedishCi, "latin1_swedish_ci", 1),
    entry(CollationId::Utf8mb3Bin, "utf8mb3_bin", 1),
    entry(CollationId::Utf8mb3GeneralCi, "utf8mb3_general_ci", 1),
    entry(CollationId::Utf8mb3Unicode520Ci, "utf8mb3_unicode_520_ci", 8),
    entry(CollationId::Utf8mb3UnicodeCi, "utf8mb3_unicode_ci", 8),
    entry(CollationId::Utf8mb4_0900AiCi, "utf8mb4_0900_ai_ci", 0),
    entry(CollationId::Utf8mb4_0900AsCi, "utf8mb4_0900_as_ci", 0),
    entry(CollationId::Utf8mb4_0900AsCs, "utf8mb4_0900_as_cs", 0),
    entry(CollationId::Utf8mb4_0900Bin, "utf8mb4_0900_bin", 1),
    entry(CollationId::Utf8mb4Bin, "utf8mb4_bin", 1),
    entry(CollationId::Utf8mb4GeneralCi, "utf8mb4_general_ci", 1),
    entry(CollationId::Utf8mb4Unicode520Ci, "utf8mb4_unicode_520_ci", 8),
    entry(CollationId::Utf8mb4UnicodeCi, "utf8mb4_unicode_ci", 8),
];

impl CollationId {
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
        CollationId::all().find(|collation| collation.id() == id)
    }

    /// The number in the protocol.
    pub const fn id(self) -> u16 {
        self as u16
    }

    pub fn name(self) -> &'static str {
        self.entry().name
    }

    pub const fn charset(self) -> Charset {
        use CollationId::*;
        match self {
            Latin1German1Ci | Latin1SwedishCi | Latin1DanishCi | Latin1Bin | Latin1GeneralCi | Latin1GeneralCs
            | Latin1SpanishCi => Charset::Latin1,
            AsciiGeneralCi | AsciiBin => Charset::Ascii,
            Binary => Charset::Binary,
            Utf8mb3GeneralCi | Utf8mb3Bin | Utf8mb3UnicodeCi | Utf8mb3Unicode520Ci => Charset::Utf8mb3,
            Utf8mb4GeneralCi | Utf8mb4Bin | Utf8mb4UnicodeCi | Utf8mb4Unicode520Ci | Utf8mb4_0900AiCi
            | Utf8mb4_0900AsCs | Utf8mb4_0900AsCi | Utf8mb4_0900Bin => Charset::Utf8mb4,
        }
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
        use CollationId::*;
        match self {
            Binary | Utf8mb4_0900AiCi | Utf8mb4_0900AsCi | Utf8mb4_0900AsCs | Utf8mb4_0900Bin => Pad::NoPad,
            _ => Pad::PadSpace,
        }
    }

    /// Whether strings are equal only when their characters are (up to spaces at the end).
    pub const fn is_binary(self) -> bool {
        use CollationId::*;
        matches!(self, Binary | Utf8mb4_0900Bin | Utf8mb4Bin | Utf8mb3Bin | Latin1Bin | AsciiBin)
    }

    fn entry(self) -> &'static Entry {
        TABLE.iter().find(|entry| entry.collation == self).expect("every collation is in the table")
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
        assert_eq!(CollationId::by_name("utf8_general_ci"), Some(CollationId::Utf8mb3GeneralCi));
        assert_eq!(CollationId::by_name("utf8mb4_sv_0900_ai_ci"), None);
        assert_eq!(CollationId::by_id(1), None);
        assert!(TABLE.is_sorted_by_key(|entry| entry.name));
    }

    #[test]
    fn every_charset_has_one_default() {
        for charset in Charset::ALL {
            let defaults: Vec<_> = CollationId::all().filter(|c| c.charset() == charset && c.is_default()).collect();
            assert_eq!(defaults, [charset.default_collation()]);
        }
    }
}
