//! JSON documents: a compact binary form that is read in place, parser and printer as MySQL has them, paths, the JSON functions.
//!
//! Two forms. [`Json`] and [`JsonRef`] are the binary one ([`binary`]): what rows hold and what everything that only reads works
//! on ([`JsonView`] shows one value). [`Node`] is the tree that parsing, building and modifying work on.
//!
//! MySQL manual, section 13.5, "The JSON Data Type".

mod binary;
mod compare;
mod modify;
mod node;
mod parse;
mod path;
mod print;
mod query;

pub use binary::{ArrayRef, ObjectRef};
pub use modify::Placement;
pub use node::{Members, Node};
pub use parse::JsonError;
pub use path::{JsonPath, JsonPathError, PathLeg};
pub use print::{quote, unquote};
pub use query::extract;

use crate::decimal::Decimal;
use crate::time::{Date, DateTime, Time};
use crate::value::{Bytes, ValueRef};
use std::borrow::Cow;
use std::fmt;

/// Deepest nesting, as in MySQL (error 3157 beyond).
pub const MAX_DEPTH: usize = 100;

/// An owned document; cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Bytes);

/// A document, or a part of one, in binary form. `==` is identity of the form; SQL's equality is [`JsonRef::compare`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JsonRef<'a>(&'a [u8]);

/// What a value is.
#[derive(Debug, Clone, Copy)]
pub enum JsonView<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// Above `i64::MAX`, or cast from BIGINT UNSIGNED.
    UInt(u64),
    Double(f64),
    /// Only by conversion from DECIMAL: the parser makes doubles.
    Decimal(Decimal),
    Str(&'a str),
    Array(ArrayRef<'a>),
    Object(ObjectRef<'a>),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// A binary string or BIT with the protocol's type byte, printed as `base64:type15:...`.
    Opaque(u8, &'a [u8]),
}

impl Json {
    /// Parses a text.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        parse::parse(text).map(|node| Json::from(&node))
    }

    /// The JSON literal null, which is not SQL's NULL.
    pub fn null() -> Json {
        Json::from(&Node::Null)
    }

    /// A scalar of a SQL value: strings become JSON strings (they are not parsed), NULL becomes null.
    pub fn from_value(value: ValueRef<'_>) -> Json {
        Json::from(&Node::from_value(value))
    }

    pub fn as_ref(&self) -> JsonRef<'_> {
        JsonRef(&self.0)
    }

    pub fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

impl From<&Node> for Json {
    fn from(node: &Node) -> Json {
        Json(binary::encode(node).into())
    }
}

impl<'a> JsonRef<'a> {
    /// A document from a disk or the network; `None` if the bytes are not one.
    pub fn from_bytes(bytes: &'a [u8]) -> Option<JsonRef<'a>> {
        binary::is_valid(bytes, MAX_DEPTH + 1).then_some(JsonRef(bytes))
    }

    /// A document that was checked before.
    pub(crate) fn from_valid_bytes(bytes: &'a [u8]) -> JsonRef<'a> {
        JsonRef(bytes)
    }

    /// The encoded form, as stored in rows.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    pub fn to_json(self) -> Json {
        Json(Bytes::new(self.0))
    }

    /// JSON_TYPE.
    pub fn type_name(self) -> &'static str {
        match self.view() {
            JsonView::Null => "NULL",
            JsonView::Bool(_) => "BOOLEAN",
            JsonView::Int(_) => "INTEGER",
            JsonView::UInt(_) => "UNSIGNED INTEGER",
            JsonView::Double(_) => "DOUBLE",
            JsonView::Decimal(_) => "DECIMAL",
            JsonView::Str(_) => "STRING",
            JsonView::Array(_) => "ARRAY",
            JsonView::Object(_) => "OBJECT",
            JsonView::Date(_) => "DATE",
            JsonView::Time(_) => "TIME",
            JsonView::DateTime(_) => "DATETIME",
            JsonView::Opaque(BIT_TYPE, _) => "BIT",
            JsonView::Opaque(..) => "BLOB",
        }
    }

    /// What numeric context sees: a number, a boolean as 0 or 1, a string to be read. `None` for the rest.
    pub fn as_number(self) -> Option<ValueRef<'a>> {
        match self.view() {
            JsonView::Bool(v) => Some(ValueRef::Int(v.into())),
            JsonView::Int(v) => Some(ValueRef::Int(v)),
            JsonView::UInt(v) => Some(ValueRef::UInt(v)),
            JsonView::Double(v) => Some(ValueRef::Double(v)),
            JsonView::Decimal(v) => Some(ValueRef::Decimal(v)),
            JsonView::Str(v) => Some(ValueRef::Str(v)),
            _ => None,
        }
    }

    /// A DATE, TIME or DATETIME.
    pub fn as_temporal(self) -> Option<ValueRef<'a>> {
        match self.view() {
            JsonView::Date(v) => Some(ValueRef::Date(v)),
            JsonView::Time(v) => Some(ValueRef::Time(v)),
            JsonView::DateTime(v) => Some(ValueRef::DateTime(v)),
            _ => None,
        }
    }

    /// The content of a JSON string.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        match self.view() {
            JsonView::Str(v) => Some(Cow::Borrowed(v)),
            _ => None,
        }
    }

    /// JSON_UNQUOTE: the content of a string, of a date and of a binary string, the text of everything else.
    pub fn unquoted(self) -> Cow<'a, str> {
        self.as_str().unwrap_or_else(|| {
            let mut text = self.to_string();
            // Dates and binary strings print as strings do.
            if matches!(
                self.view(),
                JsonView::Date(_) | JsonView::Time(_) | JsonView::DateTime(_) | JsonView::Opaque(..)
            ) {
                text.pop();
                text.remove(0);
            }
            Cow::Owned(text)
        })
    }
}

/// MYSQL_TYPE_BIT.
const BIT_TYPE: u8 = 16;
/// MYSQL_TYPE_VARCHAR, as binary strings have it.
const BINARY_STRING_TYPE: u8 = 15;
/// MYSQL_TYPE_BLOB and MYSQL_TYPE_STRING, for columns of these types.
const TINY_BLOB_TYPE: u8 = 249;
const MEDIUM_BLOB_TYPE: u8 = 250;
const LONG_BLOB_TYPE: u8 = 251;
const BLOB_TYPE: u8 = 252;
const BINARY_TYPE: u8 = 254;

impl fmt::Display for JsonRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(self.0.len() * 2);
        self.write(&mut out);
        f.write_str(crate::value::utf8(&out).expect("JSON prints as UTF-8"))
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for JsonRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
