//! Storing a value into a column.
//!
//! In strict mode a value that does not fit is an error, otherwise a warning, and the nearest storable value is stored. Losing
//! digits of a DECIMAL, spaces of a VARCHAR or the time of a DATE is a note in every mode.

mod label;
mod numeric;
mod string;
pub use string::shown_start;
mod temporal;

use super::{Context, Target, excerpt};
use crate::error::{ErrorKind, SqlError, SqlResult, Warning, Warnings};
use crate::json::Json;
use crate::sql_type::{SqlType, TypeKind};
use crate::time::{Date, DateTime, Time, UnixTime};
use crate::value::{Bit, Bytes, EnumValue, SetValue, Str, Value, ValueRef};

/// Converts `value` to what a column of type `ty` stores: the variant that [`RowLayout`](crate::RowLayout) and
/// [`KeyLayout`](crate::KeyLayout) expect. Strict: 1048, 1264, 1265, 1292, 1366, 1406 are errors. Not strict: they are warnings and
/// the nearest storable value is returned. NULL for a NOT NULL column is 1048 in every mode; whether it becomes the
/// [`implicit_default`] is the statement's matter. Invalid JSON (3140) is an error in every mode.
pub fn assign(value: Value, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    // The common cases first: the value is of the column's type already.
    match (&value, ty.kind) {
        (Value::Null, _) if ty.nullable => return Ok(value),
        (Value::Null, _) => return Err(SqlError::new(ErrorKind::BadNull, &[&target.column])),
        (Value::Int(v), TypeKind::Int) if !ty.unsigned && i32::try_from(*v).is_ok() => return Ok(value),
        (Value::Int(_), TypeKind::BigInt) if !ty.unsigned => return Ok(value),
        _ => {}
    }
    if matches!(value, Value::Json(_)) && cx.mode.strict {
        return of_json(value, ty, target, cx);
    }
    convert(value, ty, target, cx)
}

/// A document that is no value of the type is 3156.
fn of_json(value: Value, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    let mut raised = Warnings::default();
    let stored = convert(
        value,
        ty,
        target,
        &mut Context {
            warnings: &mut raised,
            ..*cx
        },
    );
    let bad = |warning: &&Warning| warning.error.kind() == ErrorKind::InvalidJsonValueForCast;
    match raised.iter().find(bad) {
        Some(warning) => Err(warning.error.clone()),
        None => {
            cx.warnings.append(raised);
            stored
        }
    }
}

fn convert(value: Value, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    match ty.kind {
        TypeKind::Null => Ok(Value::Null),
        kind if kind.is_integer() => numeric::integer(value.as_ref(), ty, target, cx),
        TypeKind::Decimal => numeric::decimal(value.as_ref(), ty, target, cx),
        TypeKind::Float | TypeKind::Double => numeric::double(value.as_ref(), ty, target, cx),
        TypeKind::Bit => numeric::bit(value.as_ref(), ty, target, cx),
        TypeKind::Year => temporal::year(value.as_ref(), target, cx),
        TypeKind::Date => temporal::date(value.as_ref(), target, cx),
        TypeKind::Time => temporal::time(value.as_ref(), ty, target, cx),
        TypeKind::DateTime => temporal::datetime(value.as_ref(), ty, target, cx),
        TypeKind::Timestamp => temporal::timestamp(value.as_ref(), ty, target, cx),
        TypeKind::Enum => label::enumeration(value.as_ref(), ty, target, cx),
        TypeKind::Set => label::set(value.as_ref(), ty, target, cx),
        TypeKind::Json => json(value, target),
        kind if kind.is_binary() => string::binary(value, ty, target, cx),
        _ => string::text(value, ty, target, cx),
    }
}

/// What NULL becomes in a NOT NULL column where that is forgiven: the implicit default, but an ENUM's error value.
pub fn forgiven_null(ty: &SqlType) -> Value {
    match ty.kind {
        TypeKind::Enum => Value::Enum(EnumValue {
            index: 0,
            labels: ty.labels.clone(),
        }),
        _ => implicit_default(ty),
    }
}

/// The value of a NOT NULL column without a default when the mode lets it pass: 0, '', the zero date, the first label.
pub fn implicit_default(ty: &SqlType) -> Value {
    let fsp = ty.decimals;
    match ty.kind {
        TypeKind::Null => Value::Null,
        kind if kind.is_integer() => {
            if ty.unsigned {
                Value::UInt(0)
            } else {
                Value::Int(0)
            }
        }
        TypeKind::Decimal => Value::Decimal(crate::Decimal::from_scaled(0, ty.decimals)),
        TypeKind::Float => Value::Float(0.0),
        TypeKind::Double => Value::Double(0.0),
        TypeKind::Bit => Value::Bit(Bit {
            value: 0,
            width: ty.length as u8,
        }),
        TypeKind::Year => Value::Year(0),
        TypeKind::Date => Value::Date(Date::ZERO),
        TypeKind::Time => Value::Time(Time { micros: 0, fsp }),
        TypeKind::DateTime => Value::DateTime(DateTime {
            fsp,
            ..DateTime::default()
        }),
        TypeKind::Timestamp => Value::Timestamp(UnixTime { micros: 0, fsp }),
        TypeKind::Enum => Value::Enum(EnumValue {
            index: 1,
            labels: ty.labels.clone(),
        }),
        TypeKind::Set => Value::Set(SetValue {
            bits: 0,
            labels: ty.labels.clone(),
        }),
        TypeKind::Json => Value::Json(Json::null()),
        TypeKind::Binary => Value::Bytes(vec![0; ty.length as usize].into()),
        kind if kind.is_binary() => Value::Bytes(Bytes::default()),
        _ => Value::Str(Str::default()),
    }
}

/// Documents and their texts; a number or a date is no document until CAST makes it one.
fn json(value: Value, target: Target<'_>) -> SqlResult<Value> {
    let invalid = |why: &str, position: usize| {
        let column: &dyn std::fmt::Display = &target.column;
        SqlError::new(ErrorKind::InvalidJsonText, &[&why, &position, column])
    };
    let parse = |text: &str| match Json::parse(text) {
        Ok(json) => Ok(Value::Json(json)),
        Err(error) => Err(invalid(error.message, error.position)),
    };
    match value {
        Value::Json(_) => Ok(value),
        Value::Str(text) => parse(&text),
        Value::Enum(_) | Value::Set(_) => parse(&value.to_string()),
        Value::Bytes(_) => Err(SqlError::new(ErrorKind::InvalidJsonCharset, &[&"binary"])),
        _ => Err(invalid("not a JSON text, may need CAST", 0)),
    }
}

/// 1264.
fn out_of_range(target: Target<'_>) -> SqlError {
    SqlError::new(ErrorKind::OutOfRange, &[&target.column, &target.row])
}

/// 1265.
fn data_truncated(target: Target<'_>) -> SqlError {
    SqlError::new(ErrorKind::DataTruncated, &[&target.column, &target.row])
}

/// 1406.
fn too_long(target: Target<'_>) -> SqlError {
    SqlError::new(ErrorKind::DataTooLong, &[&target.column, &target.row])
}

/// 1366: `Incorrect integer value: 'abc' for column 'c' at row 1`.
fn incorrect(type_name: &str, value: ValueRef<'_>, target: Target<'_>) -> SqlError {
    let args: [&dyn std::fmt::Display; 4] = [&type_name, &excerpt(value), &target.column, &target.row];
    SqlError::new(ErrorKind::TruncatedWrongValueForField, &args)
}
