//! JSON as values of statements.

use http_wire::base64;
use serde_json::value::RawValue;
use types::decimal::Decimal;
use types::{Value, number};

use crate::problem::Problem;

/// A value as it stands in a request, in JSON.
pub type Given = Box<RawValue>;

/// The value of a piece of JSON. Numbers keep all their digits; binary data is `{"$binary": "base 64"}`; other objects and lists are documents.
pub fn value_of(given: &RawValue) -> Result<Value, Problem> {
    let text = given.get();
    Ok(match text.as_bytes().first() {
        Some(b'n') => Value::Null,
        Some(b't') => Value::Int(1),
        Some(b'f') => Value::Int(0),
        Some(b'"') => {
            let text: String = serde_json::from_str(text).map_err(not_json)?;
            Value::str(&text)
        }
        Some(b'{') => match binary_object(text) {
            Some(bytes) => Value::bytes(&bytes?),
            None => Value::str(text),
        },
        Some(b'[') => Value::str(text),
        _ => number_of(text),
    })
}

/// The bytes of `{"$binary": "…"}`.
fn binary_object(text: &str) -> Option<Result<Vec<u8>, Problem>> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Binary {
        #[serde(rename = "$binary")]
        base64: String,
    }
    let object: Binary = serde_json::from_str(text).ok()?;
    Some(binary(&object.base64))
}

/// Binary data in base 64.
pub fn binary(text: &str) -> Result<Vec<u8>, Problem> {
    base64::decode(text.as_bytes()).ok_or_else(|| Problem::bad_request("binary data is not in base 64"))
}

fn number_of(text: &str) -> Value {
    if let Ok(n) = text.parse() {
        return Value::Int(n);
    }
    if let Ok(n) = text.parse() {
        return Value::UInt(n);
    }
    // As MySQL reads literals: with an exponent it is a double.
    match text.contains(['e', 'E']) {
        false => Decimal::parse(text).map_or_else(|| double(text), Value::Decimal),
        true => double(text),
    }
}

fn double(text: &str) -> Value {
    Value::Double(number::parse_double(text.as_bytes()).value)
}

pub fn not_json(error: serde_json::Error) -> Problem {
    Problem::bad_request(format!("the body is not the JSON that is expected: {error}"))
}
