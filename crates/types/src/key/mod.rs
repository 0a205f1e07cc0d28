//! The order-preserving key encoding: comparing two keys bytewise is comparing the rows by the index.
//!
//! Parts follow each other. A nullable part starts with a byte: 0 for NULL, 1 otherwise. Numbers, temporals, ENUM, SET, BIT and
//! BINARY have the same fixed-size form as in rows (`row/fixed.rs`). Other strings are written as their collation's weights
//! (under `binary` as themselves), byte 0 as `01 01`, byte 1 as `01 02`, and end with a 0, so that a string sorts before its
//! extensions. The bytes of a DESC part are complemented.

mod entries;

use crate::collation::CollationId;
use crate::row::RowLayout;
use crate::row::fixed::Fixed;
use crate::sql_type::SqlType;
use crate::value::{Value, ValueRef};

pub use entries::EntryKeys;

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
    /// The encodings of the fixed-size parts; `None` for strings.
    fixed: Vec<Option<Fixed>>,
    /// Parts that are ascending NOT NULL integers: most primary keys.
    is_plain_integer: Vec<bool>,
}

impl KeyPart {
    /// A whole column in ascending order.
    pub fn ascending(column: usize, ty: SqlType) -> KeyPart {
        KeyPart {
            column,
            ty,
            prefix: None,
            descending: false,
        }
    }
}

impl KeyLayout {
    pub fn new(parts: Vec<KeyPart>) -> KeyLayout {
        let fixed = parts
            .iter()
            .map(|p| if p.prefix.is_some() { None } else { Fixed::of(&p.ty) })
            .collect();
        let is_plain_integer = parts
            .iter()
            .map(|p| p.ty.kind.is_integer() && !p.ty.nullable && !p.descending)
            .collect();
        KeyLayout {
            parts,
            fixed,
            is_plain_integer,
        }
    }

    pub fn parts(&self) -> &[KeyPart] {
        &self.parts
    }

    /// Appends the key of the values, one per part; fewer values make a prefix of all keys that start with them.
    /// The values must be of the parts' types. Returns whether one of them is NULL (such a key never violates uniqueness).
    #[inline]
    pub fn encode_values(&self, values: &[Value], out: &mut Vec<u8>) -> bool {
        let mut has_null = false;
        for (i, value) in values.iter().enumerate() {
            has_null |= match value {
                Value::Int(v) if self.is_plain_integer[i] => {
                    self.write_plain_integer(i, *v, out);
                    false
                }
                value => self.encode_part(i, value.as_ref(), out),
            };
        }
        has_null
    }

    /// [`KeyLayout::encode_values`] of borrowed values.
    #[inline]
    pub fn encode_refs<'a>(&self, values: impl IntoIterator<Item = ValueRef<'a>>, out: &mut Vec<u8>) -> bool {
        let mut has_null = false;
        for (i, value) in values.into_iter().enumerate() {
            has_null |= self.encode_part(i, value, out);
        }
        has_null
    }

    /// Appends the key of an encoded row. Returns whether a part is NULL.
    #[inline]
    pub fn encode_row(&self, layout: &RowLayout, row: &[u8], out: &mut Vec<u8>) -> bool {
        let mut has_null = false;
        for part in 0..self.parts.len() {
            has_null |= self.encode_row_part(part, layout, row, out);
        }
        has_null
    }

    /// Appends one part of the key of an encoded row. Returns whether it is NULL.
    #[inline]
    pub fn encode_row_part(&self, index: usize, layout: &RowLayout, row: &[u8], out: &mut Vec<u8>) -> bool {
        let part = &self.parts[index];
        let start = out.len();
        let bytes = layout.raw(row, part.column);
        match bytes {
            None => out.push(0),
            Some(bytes) => {
                if part.ty.nullable {
                    out.push(1);
                }
                match self.fixed[index] {
                    Some(_) => out.extend_from_slice(bytes),
                    None => part.write_string(bytes, out),
                }
            }
        }
        if part.descending {
            complement(&mut out[start..]);
        }
        bytes.is_none()
    }

    /// Appends one part alone: keys are put together part by part where each has several values.
    pub fn encode_part_to(&self, part: usize, value: &Value, out: &mut Vec<u8>) {
        self.encode_part(part, value.as_ref(), out);
    }

    /// [`KeyLayout::encode_part_to`] of a borrowed value.
    pub fn encode_part_ref_to(&self, part: usize, value: ValueRef<'_>, out: &mut Vec<u8>) {
        self.encode_part(part, value, out);
    }

    /// What the part's encodings of all strings that begin with `prefix` begin with; `None` where the weights of a prefix are not
    /// the beginning of the weights.
    pub fn encode_string_prefix(&self, part: usize, prefix: &Value) -> Option<Vec<u8>> {
        let KeyPart { ty, descending, .. } = &self.parts[part];
        let bytes = match prefix {
            Value::Str(text) if text.is_ascii() => text.as_bytes(),
            Value::Bytes(bytes) => bytes,
            _ => return None,
        };
        // A part of `KEY (c(3))` holds no more than three characters to begin with.
        let bytes = self.parts[part].within_prefix(bytes);
        let raw = self.parts[part].is_raw();
        if self.fixed[part].is_some() || *descending || !(raw || ty.collation.has_prefix_keys()) {
            return None;
        }
        let mut key = Vec::new();
        if ty.nullable {
            key.push(1);
        }
        let start = key.len();
        if raw {
            key.extend_from_slice(bytes);
        } else {
            ty.collation.sort_key(bytes, &mut key);
        }
        escape(&mut key, start);
        Some(key)
    }

    /// Appends one part. Returns whether it is NULL.
    #[inline]
    fn write_plain_integer(&self, index: usize, value: i64, out: &mut Vec<u8>) {
        let fixed = self.fixed[index].expect("an integer has a fixed size");
        fixed.write_integer(value, out);
    }

    /// Appends one part. Returns whether it is NULL.
    fn encode_part(&self, index: usize, value: ValueRef<'_>, out: &mut Vec<u8>) -> bool {
        let part = &self.parts[index];
        let start = out.len();
        if value.is_null() {
            // In a NOT NULL part no row has this: the caller looks at the answer, not at the key.
            out.push(0);
        } else {
            if part.ty.nullable {
                out.push(1);
            }
            match (self.fixed[index], value) {
                (Some(fixed), value) => fixed.write(value, out),
                (None, ValueRef::Str(text)) => part.write_string(text.as_bytes(), out),
                (None, ValueRef::Bytes(bytes)) => part.write_string(bytes, out),
                (None, ValueRef::Json(json)) => part.write_string(json.to_string().as_bytes(), out),
                (None, other) => panic!("{other:?} was not assigned to the key part's type {}", part.ty),
            }
        }
        if part.descending {
            complement(&mut out[start..]);
        }
        value.is_null()
    }

    /// The length of the longest key, where only fixed-size parts make it.
    pub fn most_bytes(&self) -> Option<usize> {
        let parts = self.parts.iter().zip(&self.fixed);
        parts
            .map(|(part, fixed)| Some(fixed.as_ref()?.len() + usize::from(part.ty.nullable)))
            .sum()
    }

    /// Whether the part's value can be read back from a key: not for prefixes and not for collation weights.
    pub fn recoverable(&self, part: usize) -> bool {
        self.fixed[part].is_some() || (self.parts[part].prefix.is_none() && self.parts[part].is_raw())
    }

    /// The value of a part, if recoverable. `key` must be one of this layout (it may have a suffix).
    pub fn decode_part(&self, key: &[u8], part: usize) -> Option<Value> {
        if !self.recoverable(part) {
            return None;
        }
        let start = self.end_of_parts(key, part)?;
        let end = start + self.part_len(&key[start..], part)?;
        let KeyPart { ty, descending, .. } = &self.parts[part];
        let mut bytes = key[start..end].to_vec();
        if *descending {
            complement(&mut bytes);
        }
        let mut bytes = bytes.as_slice();
        if ty.nullable {
            let (&marker, rest) = bytes.split_first()?;
            if marker == 0 {
                return Some(Value::Null);
            }
            bytes = rest;
        }
        match self.fixed[part] {
            Some(fixed) => fixed.is_valid(bytes, ty).then(|| fixed.read(bytes, ty).to_value()),
            None if ty.kind.is_text() => String::from_utf8(unescape(bytes)?).ok().map(Value::from),
            None => Some(Value::Bytes(unescape(bytes)?.into())),
        }
    }

    /// Where this layout's key ends in bytes that start with it: an index entry may carry a primary key behind.
    /// `None` if the bytes are not a key of this layout.
    pub fn key_len(&self, bytes: &[u8]) -> Option<usize> {
        self.end_of_parts(bytes, self.parts.len())
    }

    /// Where the first `parts` parts of a key end: keys that are equal up to there agree in those columns.
    pub fn end_of_parts(&self, bytes: &[u8], parts: usize) -> Option<usize> {
        let mut at = 0;
        for part in 0..parts {
            at += self.part_len(bytes.get(at..)?, part)?;
        }
        Some(at)
    }

    /// Bytes of the part at the start of `bytes`.
    fn part_len(&self, bytes: &[u8], part: usize) -> Option<usize> {
        let KeyPart { ty, descending, .. } = &self.parts[part];
        let flip = if *descending { 0xff } else { 0 };
        let mut len = 0;
        if ty.nullable {
            match bytes.first()? ^ flip {
                0 => return Some(1),
                1 => len = 1,
                _ => return None,
            }
        }
        len += match self.fixed[part] {
            Some(fixed) => fixed.len(),
            None => bytes[len..].iter().position(|&b| b ^ flip == 0)? + 1,
        };
        (len <= bytes.len()).then_some(len)
    }
}

impl KeyPart {
    /// Whether a string is written as itself.
    fn is_raw(&self) -> bool {
        // JSON, which no index has, is here for sorting by a column of it.
        !self.ty.kind.is_text() || matches!(self.ty.collation, CollationId::BINARY | CollationId::UTF8MB4_0900_BIN)
    }

    /// The beginning of a string that the part holds.
    fn within_prefix<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        match self.prefix {
            Some(limit) if self.ty.kind.is_text() => text_prefix(bytes, limit as usize),
            Some(limit) => &bytes[..bytes.len().min(limit as usize)],
            None => bytes,
        }
    }

    fn write_string(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let bytes = self.within_prefix(bytes);
        let start = out.len();
        if self.is_raw() {
            out.extend_from_slice(bytes);
        } else {
            self.ty.collation.sort_key(bytes, out);
        }
        escape(out, start);
        out.push(0);
    }
}

/// The first `chars` characters of UTF-8 text.
fn text_prefix(bytes: &[u8], chars: usize) -> &[u8] {
    if bytes.len() <= chars {
        return bytes;
    }
    // A character starts wherever a byte is not a continuation (10xxxxxx).
    let starts = bytes.iter().enumerate().filter(|(_, b)| **b & 0xc0 != 0x80);
    match starts.map(|(i, _)| i).nth(chars) {
        Some(end) => &bytes[..end],
        None => bytes,
    }
}

/// Replaces bytes 0 and 1 from `start` on by their pairs.
fn escape(out: &mut Vec<u8>, start: usize) {
    let extra = out[start..].iter().filter(|&&b| b <= 1).count();
    if extra == 0 {
        return;
    }
    let mut from = out.len();
    let mut to = from + extra;
    out.resize(to, 0);
    while from < to {
        from -= 1;
        to -= 1;
        if out[from] <= 1 {
            out[to] = out[from] + 1;
            to -= 1;
            out[to] = 1;
        } else {
            out[to] = out[from];
        }
    }
}

/// The inverse, of a terminated string.
fn unescape(bytes: &[u8]) -> Option<Vec<u8>> {
    let (&0, escaped) = bytes.split_last()? else {
        return None;
    };
    let mut out = Vec::with_capacity(escaped.len());
    let mut bytes = escaped.iter();
    while let Some(&b) = bytes.next() {
        match b {
            1 => match bytes.next()? {
                pair @ (1 | 2) => out.push(pair - 1),
                _ => return None,
            },
            b => out.push(b),
        }
    }
    Some(out)
}

fn complement(bytes: &mut [u8]) {
    for b in bytes {
        *b = !*b;
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

#[cfg(test)]
mod tests;
