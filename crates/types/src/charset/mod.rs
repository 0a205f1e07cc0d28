//! Character sets: what a column's strings may hold. Inside, all text is UTF-8; the set matters for validation, lengths in
//! bytes and conversion at the protocol.

use serde::{Deserialize, Serialize};

/// A character set, by the id of its default collation in MySQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CharsetId(pub u16);

impl CharsetId {
    pub const UTF8MB4: CharsetId = CharsetId(255);
    pub const LATIN1: CharsetId = CharsetId(8);
    pub const ASCII: CharsetId = CharsetId(11);
    pub const BINARY: CharsetId = CharsetId(63);

    /// Most bytes that one character takes on the wire.
    pub fn max_bytes_per_char(self) -> u32 {
        if self == Self::UTF8MB4 { 4 } else { 1 }
    }

    /// `utf8mb4`, `latin1`, `ascii`, `binary`.
    pub fn name(self) -> &'static str {
        match self {
            Self::UTF8MB4 => "utf8mb4",
            Self::LATIN1 => "latin1",
            Self::ASCII => "ascii",
            _ => "binary",
        }
    }
}
