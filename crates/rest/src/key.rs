//! Keys as they stand in paths and requests: values of the primary key's columns.

use std::borrow::Cow;

use catalog::TableDef;
use serde_json::value::RawValue;
use types::cast::{self, Context, SqlMode, Target};
use types::decimal::Decimal;
use types::time::TimeZone;
use types::{SqlType, TypeKind, UnixTime, Value, ValueRef, Warnings};

use crate::json::{self, List, Named};
use crate::problem::Problem;
use crate::request::segment;

/// The texts of a key: `1`, or `1,two` of a composite one, each with percent signs.
pub fn of_path(text: &str) -> Result<Vec<Cow<'_, str>>, Problem> {
    text.split(',').map(segment).collect()
}

/// The value that a text stands for in a column of a type.
pub fn value_of_text(text: &str, ty: &SqlType) -> Result<Value, Problem> {
    let number = match ty.kind {
        kind if kind.is_integer() => text
            .parse()
            .map(Value::Int)
            .or_else(|_| text.parse().map(Value::UInt))
            .ok(),
        TypeKind::Decimal => Decimal::parse(text).map(Value::Decimal),
        TypeKind::Bit => match (ty.length, text) {
            (1, "true" | "1") => Some(Value::UInt(1)),
            (1, "false" | "0") => Some(Value::UInt(0)),
            _ => Some(Value::bytes(&json::binary(text)?)),
        },
        kind if is_binary(kind) => Some(Value::bytes(&json::binary(text)?)),
        _ => None,
    };
    Ok(number.unwrap_or_else(|| Value::str(text)))
}

/// The value that a piece of JSON stands for in a column of a type.
pub fn value_of_json(given: &RawValue, ty: &SqlType) -> Result<Value, Problem> {
    let text = given.get();
    match ty.kind {
        // A document is any JSON.
        TypeKind::Json if text != "null" => Ok(Value::str(text)),
        kind if (is_binary(kind) || kind == TypeKind::Bit) && text.starts_with('"') => {
            let text: String = serde_json::from_str(text).map_err(json::not_json)?;
            Ok(Value::bytes(&json::binary(&text)?))
        }
        _ => json::value_of(given),
    }
}

/// As [`value_of_text`], for a statement that compares it with the column.
pub fn compared_text(text: &str, ty: &SqlType) -> Result<Value, Problem> {
    compared(value_of_text(text, ty)?, ty)
}

/// As [`value_of_json`], for a statement that compares it with the column.
pub fn compared_json(given: &RawValue, ty: &SqlType) -> Result<Value, Problem> {
    compared(value_of_json(given, ty)?, ty)
}

/// A text is not what a FLOAT or a BIT of it is.
fn compared(value: Value, ty: &SqlType) -> Result<Value, Problem> {
    match ty.kind {
        TypeKind::Float | TypeKind::Bit => stored(value, ty),
        _ => Ok(value),
    }
}

/// As [`compared_text`], before and behind a column's values: an ENUM or a SET is sorted by its number.
pub fn ordered_text(text: &str, ty: &SqlType) -> Result<Value, Problem> {
    let value = value_of_text(text, ty)?;
    match ty.kind {
        TypeKind::Enum | TypeKind::Set => stored(value, ty),
        _ => compared(value, ty),
    }
}

/// The number that a column keeps of a value. 422 where it can keep none.
fn stored(value: Value, ty: &SqlType) -> Result<Value, Problem> {
    if value.is_null() {
        return Ok(value);
    }
    let mut context = Context {
        mode: SqlMode::DEFAULT,
        zone: &TimeZone::UTC,
        now: UnixTime::default(),
        warnings: &mut Warnings::default(),
    };
    let target = Target {
        column: "the key",
        row: 1,
    };
    let stored = cast::assign(value, ty, target, &mut context)?;
    Ok(number_of(stored.as_ref()).to_value())
}

/// The number by which a value is sorted whose text has another order.
pub fn number_of(value: ValueRef<'_>) -> ValueRef<'_> {
    match value {
        ValueRef::Float(v) => ValueRef::Double(v.into()),
        ValueRef::Bit(v) => ValueRef::UInt(v.value),
        ValueRef::Enum(v) => ValueRef::UInt(v.index.into()),
        ValueRef::Set(v) => ValueRef::UInt(v.bits),
        other => other,
    }
}

fn is_binary(kind: TypeKind) -> bool {
    matches!(
        kind,
        TypeKind::Binary
            | TypeKind::VarBinary
            | TypeKind::TinyBlob
            | TypeKind::Blob
            | TypeKind::MediumBlob
            | TypeKind::LongBlob
    )
}

/// The columns of the primary key, by name and type. 409 of a table that has none.
pub fn columns_of(def: &TableDef) -> Result<Vec<(&str, &SqlType)>, Problem> {
    let primary = def.primary().ok_or_else(|| {
        Problem::new(
            409,
            "no-primary-key",
            "The table has no primary key",
            format!("rows of {}.{} have no key; ask by SQL", def.database, def.name),
        )
    })?;
    let parts = primary.parts.iter().map(|part| &def.columns[part.column]);
    Ok(parts.map(|column| (column.name.as_str(), &column.ty)).collect())
}

/// Values for the key's columns, of texts.
pub fn of_texts(def: &TableDef, texts: &[Cow<'_, str>]) -> Result<Vec<Value>, Problem> {
    let columns = columns_of(def)?;
    check_count(columns.len(), texts.len())?;
    let each = columns.iter().zip(texts);
    each.map(|((_, ty), text)| compared_text(text, ty)).collect()
}

/// A key in JSON: one value, a list of values, or an object by names.
pub fn of_json(def: &TableDef, given: &RawValue) -> Result<Vec<Value>, Problem> {
    let columns = columns_of(def)?;
    let values: Vec<&RawValue> = match given.get().as_bytes().first() {
        Some(b'[') => serde_json::from_str::<List<_>>(given.get()).map_err(json::not_json)?.0,
        Some(b'{') => {
            let named: Named<&RawValue> = serde_json::from_str(given.get()).map_err(json::not_json)?;
            check_count(columns.len(), named.len())?;
            let value = |(name, _): &(&str, &SqlType)| {
                let found = named.iter().find(|(given, _)| catalog::same_name(given, name));
                found
                    .map(|(_, value)| *value)
                    .ok_or_else(|| Problem::bad_request(format!("the key has no {name}")))
            };
            columns.iter().map(value).collect::<Result<_, _>>()?
        }
        _ => vec![given],
    };
    check_count(columns.len(), values.len())?;
    let each = columns.iter().zip(values);
    each.map(|((_, ty), value)| compared_json(value, ty)).collect()
}

fn check_count(columns: usize, given: usize) -> Result<(), Problem> {
    match columns == given {
        true => Ok(()),
        false => Err(Problem::bad_request(format!(
            "the key has {columns} columns, and {given} values are given"
        ))),
    }
}

/// `a` = ? AND `b` = ?
pub fn condition(def: &TableDef) -> Result<String, Problem> {
    let columns = columns_of(def)?;
    let each = columns
        .iter()
        .map(|(name, _)| format!("{} = ?", sql::plan::text::name(name)));
    Ok(each.collect::<Vec<_>>().join(" AND "))
}
