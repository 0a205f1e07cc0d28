//! Collations: how two strings compare, what their sort keys are.

use crate::charset::CharsetId;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A collation by MySQL's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CollationId(pub u16);

impl CollationId {
    pub const LATIN1_SWEDISH_CI: CollationId = CollationId(8);
    pub const ASCII_GENERAL_CI: CollationId = CollationId(11);
    pub const UTF8MB4_GENERAL_CI: CollationId = CollationId(45);
    pub const UTF8MB4_BIN: CollationId = CollationId(46);
    pub const LATIN1_BIN: CollationId = CollationId(47);
    pub const BINARY: CollationId = CollationId(63);
    pub const ASCII_BIN: CollationId = CollationId(65);
    pub const UTF8MB4_UNICODE_CI: CollationId = CollationId(224);
    pub const UTF8MB4_0900_AI_CI: CollationId = CollationId(255);
    /// What a string has when nobody says otherwise.
    pub const DEFAULT: CollationId = Self::UTF8MB4_0900_AI_CI;

    /// Orders two strings (UTF-8, or raw bytes under `binary`).
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }

    /// Appends the weights of `text`: comparing two sort keys bytewise is comparing the strings.
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(text);
    }

    /// A hash that is equal for strings that compare equal.
    pub fn hash(self, text: &[u8]) -> u64 {
        text.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    }

    /// Whether trailing spaces do not count (`PAD SPACE`).
    pub fn pad_space(self) -> bool {
        !matches!(self, Self::BINARY | Self::UTF8MB4_0900_AI_CI)
    }

    pub fn charset(self) -> CharsetId {
        match self.0 {
            8 | 47 => CharsetId::LATIN1,
            11 | 65 => CharsetId::ASCII,
            63 => CharsetId::BINARY,
            _ => CharsetId::UTF8MB4,
        }
    }

    /// The name as `SHOW COLLATION` has it.
    pub fn name(self) -> &'static str {
        match self.0 {
            8 => "latin1_swedish_ci",
            11 => "ascii_general_ci",
            45 => "utf8mb4_general_ci",
            46 => "utf8mb4_bin",
            47 => "latin1_bin",
            63 => "binary",
            65 => "ascii_bin",
            224 => "utf8mb4_unicode_ci",
            _ => "utf8mb4_0900_ai_ci",
        }
    }
}
