//! The collations' names and properties, as `SHOW COLLATION` lists them.

use std::fmt;

use super::{CollationId, Pad};
use crate::charset::CharsetId;

struct Entry {
    collation: CollationId,
    name: &'static str,
    sort_len: u32,
}

const fn entry(collation: CollationId, name: &'static str, sort_len: u32) -> Entry {
    Entry {
        collation,
        name,
        sort_len,
    }
}

/// In the order of their names.
const TABLE: [Entry; 22] = [
    entry(CollationId::ASCII_BIN, "ascii_bin", 1),
    entry(CollationId::ASCII_GENERAL_CI, "ascii_general_ci", 1),
    entry(CollationId::BINARY, "binary", 1),
    entry(CollationId::LATIN1_BIN, "latin1_bin", 1),
    entry(CollationId::LATIN1_DANISH_CI, "latin1_danish_ci", 1),
    entry(CollationId::LATIN1_GENERAL_CI, "latin1_general_ci", 1),
    entry(CollationId::LATIN1_GENERAL_CS, "latin1_general_cs", 1),
    entry(CollationId::LATIN1_GERMAN1_CI, "latin1_german1_ci", 1),
    entry(CollationId::LATIN1_SPANISH_CI, "latin1_spanish_ci", 1),
    entry(CollationId::LATIN1_SWEDISH_CI, "latin1_swedish_ci", 1),
    entry(CollationId::UTF8MB3_BIN, "utf8mb3_bin", 1),
    entry(CollationId::UTF8MB3_GENERAL_CI, "utf8mb3_general_ci", 1),
    entry(CollationId::UTF8MB3_UNICODE_520_CI, "utf8mb3_unicode_520_ci", 8),
    entry(CollationId::UTF8MB3_UNICODE_CI, "utf8mb3_unicode_ci", 8),
    entry(CollationId::UTF8MB4_0900_AI_CI, "utf8mb4_0900_ai_ci", 0),
    entry(CollationId::UTF8MB4_0900_AS_CI, "utf8mb4_0900_as_ci", 0),
    entry(CollationId::UTF8MB4_0900_AS_CS, "utf8mb4_0900_as_cs", 0),
    entry(CollationId::UTF8MB4_0900_BIN, "utf8mb4_0900_bin", 1),
    entry(CollationId::UTF8MB4_BIN, "utf8mb4_bin", 1),
    entry(CollationId::UTF8MB4_GENERAL_CI, "utf8mb4_general_ci", 1),
    entry(CollationId::UTF8MB4_UNICODE_520_CI, "utf8mb4_unicode_520_ci", 8),
    entry(CollationId::UTF8MB4_UNICODE_CI, "utf8mb4_unicode_ci", 8),
];

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
        CollationId::all().find(|collation| collation.id() == id)
    }

    /// The number in the protocol.
    pub const fn id(self) -> u16 {
        self as u16
    }

    pub fn name(self) -> &'static str {
        self.entry().name
    }

    pub const fn charset(self) -> CharsetId {
        use CollationId::*;
        match self {
            LATIN1_GERMAN1_CI | LATIN1_SWEDISH_CI | LATIN1_DANISH_CI | LATIN1_BIN | LATIN1_GENERAL_CI
            | LATIN1_GENERAL_CS | LATIN1_SPANISH_CI => CharsetId::LATIN1,
            ASCII_GENERAL_CI | ASCII_BIN => CharsetId::ASCII,
            BINARY => CharsetId::BINARY,
            UTF8MB3_GENERAL_CI | UTF8MB3_BIN | UTF8MB3_UNICODE_CI | UTF8MB3_UNICODE_520_CI => CharsetId::UTF8MB3,
            UTF8MB4_GENERAL_CI
            | UTF8MB4_BIN
            | UTF8MB4_UNICODE_CI
            | UTF8MB4_UNICODE_520_CI
            | UTF8MB4_0900_AI_CI
            | UTF8MB4_0900_AS_CS
            | UTF8MB4_0900_AS_CI
            | UTF8MB4_0900_BIN => CharsetId::UTF8MB4,
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
            BINARY | UTF8MB4_0900_AI_CI | UTF8MB4_0900_AS_CI | UTF8MB4_0900_AS_CS | UTF8MB4_0900_BIN => Pad::NoPad,
            _ => Pad::PadSpace,
        }
    }

    /// Whether spaces at the end do not count.
    pub const fn pad_space(self) -> bool {
        matches!(self.pad(), Pad::PadSpace)
    }

    /// Whether strings are equal only when their characters are (up to spaces at the end).
    pub const fn is_binary(self) -> bool {
        use CollationId::*;
        matches!(
            self,
            BINARY | UTF8MB4_0900_BIN | UTF8MB4_BIN | UTF8MB3_BIN | LATIN1_BIN | ASCII_BIN
        )
    }

    fn entry(self) -> &'static Entry {
        TABLE
            .iter()
            .find(|entry| entry.collation == self)
            .expect("every collation is in the table")
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
        assert_eq!(CollationId::by_name("utf8mb4_sv_0900_ai_ci"), None);
        assert_eq!(CollationId::by_id(1), None);
        assert!(TABLE.is_sorted_by_key(|entry| entry.name));
    }

    #[test]
    fn every_charset_has_one_default() {
        for charset in CharsetId::ALL {
            let defaults: Vec<_> = CollationId::all()
                .filter(|c| c.charset() == charset && c.is_default())
                .collect();
            assert_eq!(defaults, [charset.default_collation()]);
        }
    }
}
