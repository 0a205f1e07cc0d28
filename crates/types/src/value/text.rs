//! Values in string context.

use super::{Value, ValueRef, utf8_string};
use crate::number;
use governor::bulk;
use std::borrow::Cow;
use std::fmt;

/// Bytes as text: those that are no UTF-8 become U+FFFD.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = super::utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + bytes.len() / 8);
    for chunk in bytes.utf8_chunks().take_while(|_| governor::go_on()) {
        bulk::text_pieces(chunk.valid()).for_each(|piece| out.push_str(piece));
        if !chunk.invalid().is_empty() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
    Cow::Owned(out)
}

impl<'a> ValueRef<'a> {
    /// Appends the value as a string has it: UTF-8, except that binary strings and BIT are their bytes. NULL appends nothing.
    ///
    /// The digits of FLOAT(M,D) and the zeros of ZEROFILL, which every YEAR column is, are the type's matter
    /// ([`ValueRef::write_typed_text`]).
    pub fn write_text(self, out: &mut Vec<u8>) {
        match self {
            ValueRef::Null => {}
            ValueRef::Int(v) => number::write_i64(v, out),
            ValueRef::UInt(v) => number::write_u64(v, out),
            ValueRef::Float(v) => number::write_float(v, out),
            ValueRef::Double(v) => number::write_double(v, out),
            ValueRef::Decimal(v) => v.write(out),
            ValueRef::Date(v) => v.write(out),
            ValueRef::Time(v) => v.write(out),
            ValueRef::DateTime(v) => v.write(out),
            ValueRef::Timestamp(v) => crate::time::TimeZone::UTC.to_local(v).write(out),
            ValueRef::Year(v) => number::write_u64(v.into(), out),
            ValueRef::Bit(v) => out.extend_from_slice(&v.to_bytes()),
            ValueRef::Str(v) => bulk::append(out, v.as_bytes()),
            ValueRef::Bytes(v) => bulk::append(out, v),
            ValueRef::Enum(v) => out.extend_from_slice(v.as_str().as_bytes()),
            ValueRef::Set(v) => {
                for (i, label) in v.members().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(label.as_bytes());
                }
            }
            ValueRef::Json(v) => v.write(out),
        }
    }

    /// [`ValueRef::write_text`] as a column of the type prints: with the fixed digits of FLOAT(M,D) and the zeros of ZEROFILL.
    pub fn write_typed_text(self, ty: &crate::SqlType, out: &mut Vec<u8>) {
        let start = out.len();
        match self {
            ValueRef::Float(v) if ty.decimals < crate::sql_type::NOT_FIXED_DECIMALS => {
                number::write_fixed(v.into(), ty.decimals, out);
            }
            ValueRef::Double(v) if ty.decimals < crate::sql_type::NOT_FIXED_DECIMALS => {
                number::write_fixed(v, ty.decimals, out);
            }
            other => other.write_text(out),
        }
        let printed = out.len() - start;
        let width = ty.display_length(1) as usize;
        if ty.zerofill && printed < width && !matches!(self, ValueRef::Null) {
            let zeros = width - printed;
            out.splice(start..start, std::iter::repeat_n(b'0', zeros));
        }
    }

    /// The bytes of string context, borrowed where the value is a string.
    pub fn text_bytes(self) -> Cow<'a, [u8]> {
        match self {
            ValueRef::Str(v) => Cow::Borrowed(v.as_bytes()),
            ValueRef::Bytes(v) => Cow::Borrowed(v),
            ValueRef::Enum(v) => Cow::Borrowed(v.as_str().as_bytes()),
            other => {
                let mut out = Vec::with_capacity(24);
                other.write_text(&mut out);
                Cow::Owned(out)
            }
        }
    }

    /// The text of string context; bytes that are not UTF-8 become U+FFFD.
    pub fn text(self) -> Cow<'a, str> {
        match self {
            ValueRef::Str(v) => Cow::Borrowed(v),
            ValueRef::Enum(v) => Cow::Borrowed(v.as_str()),
            ValueRef::Bytes(v) => lossy(v),
            other => match other.text_bytes() {
                Cow::Borrowed(bytes) => lossy(bytes),
                Cow::Owned(bytes) => match utf8_string(bytes) {
                    Ok(text) => Cow::Owned(text),
                    Err(bytes) => Cow::Owned(lossy(&bytes).into_owned()),
                },
            },
        }
    }

    /// Whether string context sees a binary string: no character set, compared bytewise.
    pub fn is_binary_string(self) -> bool {
        matches!(self, ValueRef::Bytes(_) | ValueRef::Bit(_))
    }
}

impl fmt::Display for ValueRef<'_> {
    /// The text; `NULL` for NULL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            f.write_str("NULL")
        } else {
            f.write_str(&self.text())
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}
