//! JSON as values of statements.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::marker::PhantomData;

use http_wire::base64;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use types::decimal::Decimal;
use types::{SqlError, Value, number};

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
        _ => number_of(text)?,
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

fn number_of(text: &str) -> Result<Value, Problem> {
    if let Ok(n) = text.parse() {
        return Ok(Value::Int(n));
    }
    if let Ok(n) = text.parse() {
        return Ok(Value::UInt(n));
    }
    // As MySQL reads literals: with an exponent it is a double.
    if !text.contains(['e', 'E'])
        && let Some(decimal) = Decimal::parse(text)
    {
        return Ok(Value::Decimal(decimal));
    }
    let double = number::parse_double(text.as_bytes());
    match double.overflow {
        false => Ok(Value::Double(double.value)),
        true => Err(Problem::new(
            422,
            "bad-value",
            "A value does not fit its column",
            "a number is larger than any DOUBLE or DECIMAL",
        )),
    }
}

/// A list that is read turn by turn, under the limits of a statement: bodies may be long, and small in bytes but large in memory.
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List(Vec::new())
    }
}

impl<T> std::ops::Deref for List<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<List<T>, D::Error> {
        struct InTurns<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for InTurns<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(element) = seq.next_element()? {
                    list.push(element);
                    // What stopped it is told by `not_json`.
                    governor::tick().map_err(|_| A::Error::custom("the request was stopped"))?;
                }
                Ok(list)
            }
        }

        deserializer.deserialize_seq(InTurns(PhantomData)).map(List)
    }
}

/// An object by its names, none of which stands there twice: readers would not agree on which one counts. Read as a [`List`] is.
pub struct Named<T>(pub BTreeMap<String, T>);

impl<T> Default for Named<T> {
    fn default() -> Named<T> {
        Named(BTreeMap::new())
    }
}

impl<T> std::ops::Deref for Named<T> {
    type Target = BTreeMap<String, T>;

    fn deref(&self) -> &BTreeMap<String, T> {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named<T>, D::Error> {
        struct InTurns<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for InTurns<T> {
            type Value = BTreeMap<String, T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BTreeMap<String, T>, A::Error> {
                let mut named = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    match named.entry(name) {
                        Entry::Vacant(place) => drop(place.insert(map.next_value()?)),
                        Entry::Occupied(place) => {
                            return Err(A::Error::custom(format!("{} stands there twice", place.key())));
                        }
                    }
                    governor::tick().map_err(|_| A::Error::custom("the request was stopped"))?;
                }
                Ok(named)
            }
        }

        deserializer.deserialize_map(InTurns(PhantomData)).map(Named)
    }
}

/// The body is something else; or its reading was stopped by a limit, a KILL or the end of its client.
pub fn not_json(error: serde_json::Error) -> Problem {
    if let Err(stop) = governor::check() {
        return SqlError::from(stop).into();
    }
    Problem::bad_request(format!("the body is not the JSON that is expected: {error}"))
}
