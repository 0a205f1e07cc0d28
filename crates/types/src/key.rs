//! The order-preserving key encoding: comparing two keys bytewise is comparing the rows by the index.
//!
//! Parts follow each other. A nullable part starts with a byte, 0 for NULL, 1 otherwise. Integers are big-endian with the
//! sign bit flipped; decimals, temporals, ENUM, SET and BIT likewise as integers; doubles with the usual sign trick;
//! strings as collation weights (or the bytes themselves, for binary collations), escaped and terminated. DESC parts are
//! complemented.

use crate::row::RowLayout;
use crate::sql_type::SqlType;
use crate::value::Value;

/// One part of an index.
#[derive(Debug, Clone)]
pub struct KeyPart {
    /// Position of the column in the row.
    pub column: usize,
    pub ty: SqlType,
    /// Characters (bytes for binary strings) that count, for `KEY(c(10))`.
    pub prefix: Option<u32>,
    pub descending: bool,
}

/// How the keys of one index are encoded. Made once per index definition.
#[derive(Debug, Clone)]
pub struct KeyLayout {
    parts: Vec<KeyPart>,
}

impl KeyLayout {
    pub fn new(parts: Vec<KeyPart>) -> KeyLayout {
        KeyLayout { parts }
    }

    pub fn parts(&self) -> &[KeyPart] {
        &self.parts
    }

    /// Appends the key of the values, one per part; fewer values make a prefix of all keys that start with them.
    /// The values must be of the parts' types. Returns whether one of them is NULL (such a key never violates uniqueness).
    pub fn encode_values(&self, _values: &[Value], _out: &mut Vec<u8>) -> bool {
        todo!()
    }

    /// Appends the key of an encoded row. Returns whether a part is NULL.
    pub fn encode_row(&self, _layout: &RowLayout, _row: &[u8], _out: &mut Vec<u8>) -> bool {
        todo!()
    }

    /// Whether the part's value can be read back from a key: not for prefixes and not for collation weights.
    pub fn recoverable(&self, _part: usize) -> bool {
        todo!()
    }

    /// The value of a part, if recoverable. `key` must be one of this layout (it may have a suffix).
    pub fn decode_part(&self, _key: &[u8], _part: usize) -> Option<Value> {
        todo!()
    }
}

/// Turns a key prefix into the smallest byte string greater than every key that starts with it. False if there is none (the
/// prefix is all 0xff): the range has no upper end.
#[must_use]
pub fn prefix_successor(key: &mut Vec<u8>) -> bool {
    while let Some(last) = key.pop() {
        if last != 0xff {
            key.push(last + 1);
            return true;
        }
    }
    false
}
