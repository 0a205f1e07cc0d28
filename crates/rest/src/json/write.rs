//! Values as JSON: integers as exact numbers, decimals as strings, binary data in base 64, documents as they are, the rest as the text that
//! MySQL prints.

use http_wire::base64;
use types::sql_type::NOT_FIXED_DECIMALS;
use types::time::TimeZone;
use types::{SqlType, ValueRef, number};

/// The form of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Numbers {
    /// Integers as numbers, decimals as strings: no reader can lose digits of a decimal.
    #[default]
    Default,
    /// `exact`: decimals as numbers with all their digits, too.
    Exact,
    /// `string`: 64-bit integers as strings, too, for readers whose numbers are doubles.
    Text,
}

/// Appends a text as a JSON string.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut begin = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[begin..at]);
        begin = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[begin..]);
    out.push(b'"');
}

/// Appends a column's value.
#[inline]
pub fn write_cell(value: ValueRef<'_>, ty: Option<&SqlType>, numbers: Numbers, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null => out.extend_from_slice(b"null"),
        ValueRef::Int(n) => match numbers {
            Numbers::Text => quoted(out, |out| number::write_i64(n, out)),
            Numbers::Default | Numbers::Exact => number::write_i64(n, out),
        },
        ValueRef::UInt(n) => match numbers {
            Numbers::Text => quoted(out, |out| number::write_u64(n, out)),
            Numbers::Default | Numbers::Exact => number::write_u64(n, out),
        },
        ValueRef::Year(n) => number::write_u64(n.into(), out),
        ValueRef::Str(text) => write_text(text, out),
        ValueRef::Bytes(bytes) => quoted(out, |out| base64::encode(bytes, out)),
        ValueRef::Bit(bits) => match ty.is_some_and(|ty| ty.length == 1) || bits.width == 1 {
            true => out.extend_from_slice(if bits.value == 0 { b"false" } else { b"true" }),
            false => quoted(out, |out| base64::encode(&bits.to_bytes(), out)),
        },
        ValueRef::Float(v) => match ty.filter(|ty| ty.decimals < NOT_FIXED_DECIMALS) {
            Some(ty) => number::write_fixed(v.into(), ty.decimals, out),
            None => number::write_float(v, out),
        },
        ValueRef::Double(v) => match ty.filter(|ty| ty.decimals < NOT_FIXED_DECIMALS) {
            Some(ty) => number::write_fixed(v, ty.decimals, out),
            None => number::write_double(v, out),
        },
        ValueRef::Decimal(v) => match numbers {
            Numbers::Exact => v.write(out),
            Numbers::Default | Numbers::Text => quoted(out, |out| v.write(out)),
        },
        ValueRef::Json(document) => document.write(out),
        ValueRef::Timestamp(at) => quoted_text(ValueRef::DateTime(TimeZone::UTC.to_local(at)), out),
        value @ (ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_)) => quoted_text(value, out),
        ValueRef::Enum(label) => write_text(label.as_str(), out),
        value @ ValueRef::Set(_) => write_text(&value.text(), out),
    }
}

fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

/// Of values whose text has nothing that JSON escapes.
fn quoted_text(value: ValueRef<'_>, out: &mut Vec<u8>) {
    quoted(out, |out| value.write_text(out));
}
