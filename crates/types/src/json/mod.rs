//! JSON documents: a compact binary form that is read in place, parser and printer as MySQL has them, paths, comparison.

use crate::value::Bytes;

/// An owned JSON document in binary form; cheap to clone.
#[derive(Clone, PartialEq)]
pub struct Json(Bytes);

/// A document, or a part of one, in binary form.
#[derive(Clone, Copy, PartialEq, Hash)]
pub struct JsonRef<'a>(&'a [u8]);

impl Json {
    pub fn as_ref(&self) -> JsonRef<'_> {
        JsonRef(&self.0)
    }

    pub fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

/// The text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// MySQL's wording of the reason: `Invalid value.`, `Missing a comma or '}' after an object member.`
    pub message: &'static str,
    /// Bytes from the start of the text.
    pub position: usize,
}

impl Json {
    pub fn parse(_text: &str) -> Result<Json, JsonError> {
        todo!()
    }

    pub fn null() -> Json {
        todo!()
    }

    pub fn from_value(_value: crate::ValueRef<'_>) -> Json {
        todo!()
    }
}

impl<'a> JsonRef<'a> {
    pub fn compare(self, _other: JsonRef<'_>) -> std::cmp::Ordering {
        todo!()
    }

    pub fn as_number(self) -> Option<crate::ValueRef<'a>> {
        todo!()
    }

    pub fn as_temporal(self) -> Option<crate::ValueRef<'a>> {
        todo!()
    }

    pub fn as_str(self) -> Option<std::borrow::Cow<'a, str>> {
        todo!()
    }

    /// A document from a disk or the network; `None` if the bytes are not one.
    pub fn from_bytes(bytes: &'a [u8]) -> Option<JsonRef<'a>> {
        Some(JsonRef(bytes))
    }

    /// A document that was checked before.
    pub(crate) fn from_valid_bytes(bytes: &'a [u8]) -> JsonRef<'a> {
        JsonRef(bytes)
    }

    /// The encoded form, as stored in rows.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Appends the text.
    pub fn write(self, _out: &mut Vec<u8>) {
        todo!()
    }

    pub fn to_json(self) -> Json {
        Json(Bytes::new(self.0))
    }
}

impl std::fmt::Debug for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl std::fmt::Debug for JsonRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::fmt::Display for JsonRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
