//! Values as SQL that gives them back.

use std::fmt::Write;

use types::{Value, time::TimeZone};

/// Appends a literal of the value.
pub fn write_literal(value: &Value, to: &mut String) {
    // Writing to a string does not fail.
    let _ = match value {
        Value::Null => write!(to, "NULL"),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Year(_) => write!(to, "{value}"),
        Value::Float(number) => write!(to, "{number:e}"),
        Value::Double(number) => write!(to, "{number:e}"),
        Value::Bytes(bytes) if bytes.is_empty() => write!(to, "''"),
        Value::Bytes(bytes) => {
            to.push_str("0x");
            bytes.iter().try_for_each(|byte| write!(to, "{byte:02X}"))
        }
        Value::Bit(bit) => write!(to, "{}", bit.value),
        Value::Timestamp(moment) => write!(to, "'{}'", TimeZone::UTC.to_local(*moment)),
        value => {
            quote(&value.to_string(), to);
            Ok(())
        }
    };
}

/// A string literal that means the same whatever it holds.
pub fn quote(text: &str, to: &mut String) {
    to.push('\'');
    for character in text.chars() {
        match character {
            '\'' => to.push_str("\\'"),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\0' => to.push_str("\\0"),
            '\u{1a}' => to.push_str("\\Z"),
            other => to.push(other),
        }
    }
    to.push('\'');
}
