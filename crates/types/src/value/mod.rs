//! Values: [`Value`] owns, [`ValueRef`] borrows from an encoded row. The same variants, so that code written for one reads
//! like code for the other. Numbers and temporals never allocate.
//!
//! A value knows what it needs to print itself (a decimal its scale, a temporal its fraction digits, an ENUM its labels);
//! display widths, ZEROFILL, collation and the digits of `FLOAT(M,D)` belong to the [`SqlType`](crate::SqlType) beside it.

mod convert;
mod str;
mod text;

pub use self::str::{Bytes, Str, utf8, utf8_string};
pub use self::text::lossy;

use crate::decimal::Decimal;
use crate::json::{Json, JsonRef};
use crate::sql_type::Labels;
use crate::time::{Date, DateTime, Time, UnixTime};

/// An owned SQL value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Decimal(Decimal),
    Date(Date),
    Time(Time),
    /// A DATETIME, or a TIMESTAMP already in the session's time zone.
    DateTime(DateTime),
    /// A TIMESTAMP as stored (UTC). Whoever reads a column turns it into `DateTime` by the session's time zone.
    Timestamp(UnixTime),
    /// 0 or 1901..=2155.
    Year(u16),
    Bit(Bit),
    /// Text of any character set, as UTF-8.
    Str(Str),
    /// A binary string.
    Bytes(Bytes),
    Enum(EnumValue),
    Set(SetValue),
    Json(Json),
}

/// A value borrowed from an encoded row (and from its layout, for labels).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueRef<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Decimal(Decimal),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    Timestamp(UnixTime),
    Year(u16),
    Bit(Bit),
    Str(&'a str),
    Bytes(&'a [u8]),
    Enum(EnumRef<'a>),
    Set(SetRef<'a>),
    Json(JsonRef<'a>),
}

/// BIT(n): an unsigned number in numeric context, `ceil(n / 8)` bytes in string context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bit {
    pub value: u64,
    /// 1..=64.
    pub width: u8,
}

/// An ENUM's value: its 1-based index; 0 is the empty string of a failed assignment.
#[derive(Debug, Clone, PartialEq)]
pub struct EnumValue {
    pub index: u16,
    pub labels: Labels,
}

/// A SET's value: bit i for member i.
#[derive(Debug, Clone, PartialEq)]
pub struct SetValue {
    pub bits: u64,
    pub labels: Labels,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnumRef<'a> {
    pub index: u16,
    pub labels: &'a Labels,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetRef<'a> {
    pub bits: u64,
    pub labels: &'a Labels,
}

impl Value {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    pub fn str(text: &str) -> Value {
        Value::Str(Str::new(text))
    }

    pub fn bytes(bytes: &[u8]) -> Value {
        Value::Bytes(Bytes::new(bytes))
    }

    /// The same value, borrowed.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Int(v) => ValueRef::Int(*v),
            Value::UInt(v) => ValueRef::UInt(*v),
            Value::Float(v) => ValueRef::Float(*v),
            Value::Double(v) => ValueRef::Double(*v),
            Value::Decimal(v) => ValueRef::Decimal(*v),
            Value::Date(v) => ValueRef::Date(*v),
            Value::Time(v) => ValueRef::Time(*v),
            Value::DateTime(v) => ValueRef::DateTime(*v),
            Value::Timestamp(v) => ValueRef::Timestamp(*v),
            Value::Year(v) => ValueRef::Year(*v),
            Value::Bit(v) => ValueRef::Bit(*v),
            Value::Str(v) => ValueRef::Str(v),
            Value::Bytes(v) => ValueRef::Bytes(v),
            Value::Enum(v) => ValueRef::Enum(EnumRef {
                index: v.index,
                labels: &v.labels,
            }),
            Value::Set(v) => ValueRef::Set(SetRef {
                bits: v.bits,
                labels: &v.labels,
            }),
            Value::Json(v) => ValueRef::Json(v.as_ref()),
        }
    }

    /// Bytes on the heap, for memory accounting.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Value::Str(v) => v.heap_bytes(),
            Value::Bytes(v) => v.heap_bytes(),
            Value::Json(v) => v.heap_bytes(),
            _ => 0,
        }
    }
}

impl<'a> ValueRef<'a> {
    pub fn is_null(&self) -> bool {
        matches!(self, ValueRef::Null)
    }

    /// An owned copy; allocates only for strings longer than 22 bytes and for JSON.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::UInt(v) => Value::UInt(v),
            ValueRef::Float(v) => Value::Float(v),
            ValueRef::Double(v) => Value::Double(v),
            ValueRef::Decimal(v) => Value::Decimal(v),
            ValueRef::Date(v) => Value::Date(v),
            ValueRef::Time(v) => Value::Time(v),
            ValueRef::DateTime(v) => Value::DateTime(v),
            ValueRef::Timestamp(v) => Value::Timestamp(v),
            ValueRef::Year(v) => Value::Year(v),
            ValueRef::Bit(v) => Value::Bit(v),
            ValueRef::Str(v) => Value::str(v),
            ValueRef::Bytes(v) => Value::bytes(v),
            ValueRef::Enum(v) => Value::Enum(EnumValue {
                index: v.index,
                labels: v.labels.clone(),
            }),
            ValueRef::Set(v) => Value::Set(SetValue {
                bits: v.bits,
                labels: v.labels.clone(),
            }),
            ValueRef::Json(v) => Value::Json(v.to_json()),
        }
    }
}

impl Bit {
    /// The big-endian bytes of string context.
    pub fn to_bytes(self) -> Bytes {
        let n = usize::from(self.width.div_ceil(8));
        Bytes::new(&self.value.to_be_bytes()[8 - n..])
    }
}

impl EnumValue {
    pub fn as_str(&self) -> &str {
        EnumRef {
            index: self.index,
            labels: &self.labels,
        }
        .as_str()
    }
}

impl<'a> EnumRef<'a> {
    /// The label; empty for index 0.
    pub fn as_str(self) -> &'a str {
        match self.index {
            0 => "",
            i => self.labels.get(usize::from(i) - 1).unwrap_or(""),
        }
    }
}

impl SetValue {
    /// Member names joined by commas.
    pub fn to_text(&self) -> String {
        ValueRef::Set(SetRef {
            bits: self.bits,
            labels: &self.labels,
        })
        .text()
        .into_owned()
    }
}

impl<'a> SetRef<'a> {
    /// The names of the members, in the type's order.
    pub fn members(self) -> impl Iterator<Item = &'a str> {
        self.labels
            .iter()
            .enumerate()
            .filter(move |(i, _)| self.bits >> i & 1 == 1)
            .map(|(_, label)| label)
    }

    /// Appends the member names joined by commas.
    pub fn write_text(self, out: &mut String) {
        for (i, label) in self.members().enumerate() {
            if i > 0 {
                out.push(',');
            }
            out.push_str(label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_four_words() {
        assert_eq!(size_of::<Value>(), 32);
        assert_eq!(size_of::<ValueRef<'_>>(), 32);
        assert_eq!(size_of::<Option<Value>>(), 32);
    }
}
