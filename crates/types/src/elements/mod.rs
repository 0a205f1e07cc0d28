//! Multi-valued index parts: `CAST(document AS type ARRAY)`.
//!
//! ```text
//!   '{"z": [7, "3", 7]}' ── $.z, UNSIGNED ──▶ [3, 7] ── one entry for each element ──▶ ⟨3⟩, ⟨7⟩
//! ```
//!
//! The expression's value is a document, too: an array of its different elements, in order, each of the type. It lies in the row, in a hidden
//! column; so whoever keeps entries makes them of the row alone. An element's key is that of a column of its type.
//!
//! * [`elements`], [`element`]: documents into elements, as MySQL converts them;
//! * [`keys`]: a row into the keys of its entries.
//!
//! Scalars that are equal as documents have the same element, whatever the session: what is looked for by its element is not missed.

mod keys;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use crate::cast::{Context, SqlMode, Target, assign};
use crate::collation::CollationId;
use crate::decimal::Decimal;
use crate::error::{ErrorKind, Warnings};
use crate::json::{Json, JsonRef, JsonView, Node};
use crate::row::fixed::Fixed;
use crate::sql_type::{SqlType, TypeKind};
use crate::time::{TimeZone, UnixTime};
use crate::value::Value;

pub use keys::{ElementKeys, MAX_ELEMENTS};

/// The longest text of an element, in characters, and the longest binary string.
pub const MAX_CHARS: u32 = 512;

/// Why a document has no elements of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementError {
    /// It is an object.
    Object,
    /// An element is an array or an object.
    Nested,
    /// An element is JSON's null, or nothing of the type.
    Invalid,
    /// A number that is none of 64 bits.
    NoInteger,
    /// A number outside of the type's range.
    OutOfRange,
    /// What is no date or time.
    Truncated,
    TooLong,
    /// There are so many more of them than a row may have.
    TooMany(usize),
    /// They take so many bytes more than those of a row may.
    TooMuch(usize),
}

/// What the elements of a row may take: that is as much as InnoDB has in its log to undo a change.
const MAX_BYTES: usize = 16_064;

/// The type of the elements of text. MySQL has no other collation for them.
pub fn text_type(chars: u32) -> SqlType {
    let collation = CollationId::by_name("utf8mb4_0900_as_cs").expect("a collation of every MySQL");
    SqlType::varchar(chars, collation)
}

/// Whether elements can be of this type.
pub fn is_element_type(ty: &SqlType) -> bool {
    match ty.kind {
        TypeKind::BigInt | TypeKind::Decimal | TypeKind::Date | TypeKind::Time | TypeKind::DateTime => ty.nullable,
        TypeKind::VarChar => *ty == text_type(ty.length) && ty.length <= MAX_CHARS,
        TypeKind::VarBinary => ty.nullable && ty.length <= MAX_CHARS,
        _ => false,
    }
}

/// The different elements of a document, in order: those of an array, or a scalar as the only one.
pub fn elements(document: JsonRef<'_>, ty: &SqlType) -> Result<Json, ElementError> {
    let mut found = match document.view() {
        JsonView::Object(_) => return Err(ElementError::Object),
        JsonView::Array(array) => {
            let scalars = array.iter().inspect(|_| governor::pause());
            scalars
                .map(|scalar| element(scalar, ty))
                .collect::<Result<Vec<_>, _>>()?
        }
        _ => vec![element(document, ty)?],
    };
    found.sort_by(|a, b| {
        governor::pause();
        compare(a, b)
    });
    found.dedup_by(|a, b| compare(a, b).is_eq());
    check_size(&found, ty)?;
    let nodes: Vec<Node> = found.iter().map(|value| Node::from_value(value.as_ref())).collect();
    Ok(Json::from(&Node::Array(nodes.into())))
}

/// InnoDB writes an element of a fixed size with two bytes for its length.
fn check_size(found: &[Value], ty: &SqlType) -> Result<(), ElementError> {
    if let Some(fixed) = Fixed::of(ty) {
        let most = MAX_BYTES / (fixed.len() + 2);
        return match found.len().checked_sub(most) {
            None | Some(0) => Ok(()),
            Some(beyond) => Err(ElementError::TooMany(beyond)),
        };
    }
    let bytes: usize = found.iter().map(|value| 3 * value.as_ref().text_bytes().len()).sum();
    match bytes.checked_sub(MAX_BYTES) {
        None | Some(0) => Ok(()),
        Some(beyond) => Err(ElementError::TooMuch(beyond)),
    }
}

/// Elements of one type.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        _ => crate::compare::sort_order(a.as_ref(), b.as_ref(), CollationId::BINARY),
    }
}

/// A scalar of a document as an element. An element that lies in such a document is itself.
pub fn element(scalar: JsonRef<'_>, ty: &SqlType) -> Result<Value, ElementError> {
    match scalar.view() {
        JsonView::Null => return Err(ElementError::Invalid),
        JsonView::Array(_) | JsonView::Object(_) => return Err(ElementError::Nested),
        _ => {}
    }
    match ty.kind {
        TypeKind::BigInt => integer(scalar, ty),
        TypeKind::Decimal => decimal(scalar, ty),
        TypeKind::Date | TypeKind::Time | TypeKind::DateTime => moment(scalar, ty),
        kind if kind.is_text() => match scalar.view() {
            JsonView::Opaque(_, bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => within(text.chars().count(), ty, Value::str(text)),
                Err(_) => Err(ElementError::Invalid),
            },
            _ => {
                let text = scalar.unquoted();
                within(text.chars().count(), ty, Value::str(&text))
            }
        },
        _ => match scalar.view() {
            JsonView::Opaque(_, bytes) => within(bytes.len(), ty, Value::Bytes(bytes.into())),
            _ => {
                let text = scalar.unquoted();
                within(text.len(), ty, Value::Bytes(text.as_bytes().into()))
            }
        },
    }
}

fn within(length: usize, ty: &SqlType, value: Value) -> Result<Value, ElementError> {
    match length <= ty.length as usize {
        true => Ok(value),
        false => Err(ElementError::TooLong),
    }
}

/// Numbers by their digits: those that are equal as documents are the same one here.
fn number(scalar: JsonRef<'_>) -> Option<Result<Decimal, ElementError>> {
    let of_double = |v: f64| Decimal::parse(&v.to_string()).ok_or(ElementError::NoInteger);
    Some(match scalar.view() {
        JsonView::Bool(v) => Ok(i64::from(v).into()),
        JsonView::Int(v) => Ok(v.into()),
        JsonView::UInt(v) => Ok(v.into()),
        JsonView::Decimal(v) => Ok(v),
        JsonView::Double(v) => of_double(v),
        _ => return None,
    })
}

fn integer(scalar: JsonRef<'_>, ty: &SqlType) -> Result<Value, ElementError> {
    let value = match (scalar.view(), number(scalar)) {
        (JsonView::Int(v), _) => i128::from(v),
        (JsonView::UInt(v), _) => i128::from(v),
        (_, Some(number)) => half_even(number?).ok_or(ElementError::NoInteger)?,
        // The text of a whole number and nothing else.
        (JsonView::Str(text), None) => match text.parse::<i128>() {
            Ok(value) if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value) => value,
            Ok(_) => return Err(ElementError::NoInteger),
            Err(_) => return Err(ElementError::Invalid),
        },
        _ => return Err(ElementError::Invalid),
    };
    let (least, most) = ty.integer_range();
    if !(least..=most).contains(&value) {
        return Err(ElementError::OutOfRange);
    }
    Ok(match ty.unsigned {
        true => Value::UInt(value as u64),
        false => Value::Int(value as i64),
    })
}

/// The nearest whole number, the even one of two; none where 64 bits do not hold it.
fn half_even(number: Decimal) -> Option<i128> {
    let whole = |number: Decimal| -> Option<i128> {
        match number.is_negative() {
            true => number.to_i64().ok().map(i128::from),
            false => number.to_u64().ok().map(i128::from),
        }
    };
    let (below, above) = (number.floor().ok()?, number.ceil().ok()?);
    let to_below = number.checked_sub(below).ok()?;
    let to_above = above.checked_sub(number).ok()?;
    let is_even = |number: Decimal| whole(number).is_some_and(|value| value % 2 == 0);
    let nearest = match to_below.cmp(&to_above) {
        Ordering::Less => below,
        Ordering::Greater => above,
        Ordering::Equal if is_even(below) => below,
        Ordering::Equal => above,
    };
    whole(nearest)
}

fn decimal(scalar: JsonRef<'_>, ty: &SqlType) -> Result<Value, ElementError> {
    let number = match (scalar.view(), number(scalar)) {
        (_, Some(number)) => number?,
        (JsonView::Str(text), None) => Decimal::parse(text.trim()).ok_or(ElementError::Invalid)?,
        _ => return Err(ElementError::Invalid),
    };
    let rounded = number.round(ty.decimals).map_err(|_| ElementError::OutOfRange)?;
    match rounded.fits(ty.length as u8, ty.decimals) {
        true => Ok(Value::Decimal(rounded)),
        false => Err(ElementError::OutOfRange),
    }
}

/// A date or a time. What a session has set does not matter here.
fn moment(scalar: JsonRef<'_>, ty: &SqlType) -> Result<Value, ElementError> {
    let value = match (scalar.view(), ty.kind) {
        (JsonView::Date(v), TypeKind::Date | TypeKind::DateTime) => Value::Date(v),
        (JsonView::Time(v), TypeKind::Time) => Value::Time(v),
        (JsonView::DateTime(v), _) => Value::DateTime(v),
        (JsonView::Str(text), _) => Value::str(text),
        (JsonView::Int(v), _) => Value::Int(v),
        (JsonView::UInt(v), _) => Value::UInt(v),
        (JsonView::Double(v), TypeKind::Time) => Value::Double(v),
        (JsonView::Decimal(v), TypeKind::Time) => Value::Decimal(v),
        _ => return Err(ElementError::Truncated),
    };
    let target = Target { column: "", row: 1 };
    let mut context = Context {
        mode: SqlMode::DEFAULT,
        zone: &TimeZone::UTC,
        now: UnixTime::default(),
        warnings: &mut Warnings::default(),
    };
    assign(value, ty, target, &mut context).map_err(|error| match error.kind() {
        ErrorKind::OutOfRange => ElementError::OutOfRange,
        _ => ElementError::Truncated,
    })
}
