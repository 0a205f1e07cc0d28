//! The collations' names and properties, as `SHOW COLLATION` lists them.

use std::fmt;

use super::list::{Entry, TABLE};
use super::{CollationId, Pad};
use crate::charset::CharsetId;

/// Where each number is in the table; `NOWHERE` if it is no collation of this server.
const PLACES: [u16; 324] = {
    let mut places = [NOWHERE; 324];
    let mut at = 0;
    while at < TABLE.len() {
        places[TABLE[at].collation as usize] = at as u16;
        at += 1;
    }
    places
};

const NOWHERE: u16 = u16::MAX;

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
        use CollationId::{BINARY, UTF8MB4_0900_BIN, UTF8MB4_JA_0900_AS_CS_KS};
        match self.entry().sort_len == 0 || matches!(self, BINARY | UTF8MB4_0900_BIN | UTF8MB4_JA_0900_AS_CS_KS) {
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
        assert_eq!(CollationId::by_name("utf8mb4_xx_0900_ai_ci"), None);
        assert_eq!(CollationId::by_id(17), None);
        assert_eq!(CollationId::by_id(304), Some(CollationId::UTF8MB4_JA_0900_AS_CS_KS));
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
