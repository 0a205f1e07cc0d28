//! Equal values have equal keys: for DISTINCT inside aggregates, for GROUP BY, for hash tables.

use types::{CollationId, Value};

/// Appends a key of the value: two values of one expression have the same key exactly when `=` holds between them, and NULL
/// has a key of its own. Keys do not order; several in a row stay apart.
pub fn write_group_key(value: &Value, collation: CollationId, out: &mut Vec<u8>) {
    let number = |out: &mut Vec<u8>, number: i128| {
        out.push(2);
        out.extend_from_slice(&number.to_le_bytes());
    };
    match value {
        Value::Null => out.push(0),
        Value::Int(v) => number(out, i128::from(*v)),
        Value::UInt(v) => number(out, i128::from(*v)),
        Value::Year(v) => number(out, i128::from(*v)),
        Value::Bit(v) => number(out, i128::from(v.value)),
        Value::Enum(v) => number(out, i128::from(v.index)),
        Value::Set(v) => number(out, i128::from(v.bits)),
        Value::Date(v) => number(out, i128::from(v.to_packed())),
        Value::Time(v) => number(out, i128::from(v.micros)),
        Value::Timestamp(v) => number(out, i128::from(v.micros)),
        Value::DateTime(v) => number(out, i128::from(v.packed_seconds()) << 32 | i128::from(v.micros)),
        // Zeros of both signs are equal.
        Value::Float(v) => double(f64::from(*v), out),
        Value::Double(v) => double(*v, out),
        Value::Decimal(v) => string(v.normalized().to_string().as_bytes(), out),
        Value::Str(v) => {
            let mut key = Vec::with_capacity(v.len());
            collation.sort_key(v.as_bytes(), &mut key);
            string(&key, out);
        }
        Value::Bytes(v) => string(v, out),
        Value::Json(v) => {
            out.push(4);
            v.as_ref().write_key(out);
        }
    }
}

fn double(v: f64, out: &mut Vec<u8>) {
    out.push(3);
    out.extend_from_slice(&(if v == 0.0 { 0.0 } else { v }).to_bits().to_le_bytes());
}

fn string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(4);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The key of several values.
pub fn group_key(values: &[Value], collations: impl Fn(usize) -> CollationId) -> Box<[u8]> {
    let mut out = Vec::with_capacity(values.len() * 17);
    for (i, value) in values.iter().enumerate() {
        write_group_key(value, collations(i), &mut out);
    }
    out.into_boxed_slice()
}
