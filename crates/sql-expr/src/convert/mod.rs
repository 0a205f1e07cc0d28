//! A value in another context: as a number, as text, as a date. What MySQL does when an operand has not the type that an
//! operator wants; bad text warns (1292) and gives the nearest value.
//!
//! Values here are not NULL: callers look first.

mod explicit;
mod json_column;
mod temporal;

use std::borrow::Cow;
use std::cmp::Ordering;

use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::json::Json;
use types::value::{lossy, utf8_string};
use types::{CharsetId, CollationId, SqlResult, SqlType, TypeKind, Value, cast};

use super::collation::Coercibility;
use super::context::EvalContext;
use super::functions::temporal_math::is_moved_text;
use super::functions::{control, printed_chars, string_type};
use super::{Expr, ExprKind};

pub use explicit::{cast, real_date, real_parts, to_common};
pub use json_column::json_into_column;
pub use temporal::{
    date_literal, dated, incorrect_datetime, number_as_datetime, number_as_time, parse_datetime_quietly,
    parse_datetime_start, parse_time_quietly, time_literal, timestamp_literal, to_date, to_datetime, to_time,
};

/// Longest piece of a bad value that a message shows.
const SHOWN: usize = 128;

/// 1292 `Truncated incorrect <kind> value: '<text>'`.
pub fn truncated(kind: &str, text: &[u8]) -> SqlError {
    let shown = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).into_owned();
    SqlError::new(ErrorKind::TruncatedWrongValue, &[&kind, &shown])
}

/// The truth of a value: whether it is a number other than zero.
pub fn to_bool(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<bool> {
    match value {
        Value::Int(number) => Ok(*number != 0),
        other => ctx.gather(|warnings| cast::to_bool(other.as_ref(), warnings).unwrap_or(false)),
    }
}

/// As an exact whole number; fractions round half away from zero, text is read up to its first other character.
#[inline]
pub fn to_i128(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<i128> {
    match value {
        Value::Int(number) => Ok(i128::from(*number)),
        Value::UInt(number) => Ok(i128::from(*number)),
        other => ctx.gather(|warnings| cast::to_integer(other.as_ref(), warnings).as_i128()),
    }
}

/// As a signed 64-bit number: what functions take for counts and positions. Beyond the limits it is the nearest one.
pub fn to_i64(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<i64> {
    if let Value::Int(number) = value {
        return Ok(*number);
    }
    let wide = to_i128(value, ctx)?;
    Ok(wide.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
}

/// As 64 bits: negative numbers in two's complement.
pub fn to_bits(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<u64> {
    let wide = to_i128(value, ctx)?;
    // A decimal is cut to a BIGINT, whatever it is cut to elsewhere.
    if let Value::Decimal(number) = value
        && wide > i128::from(i64::MAX)
    {
        if wide < i128::from(u64::MAX) {
            ctx.warn(truncated("DECIMAL", number.to_string().as_bytes()))?;
        }
        return Ok(i64::MAX as u64);
    }
    Ok(if wide < 0 {
        wide.max(i128::from(i64::MIN)) as i64 as u64
    } else {
        wide.min(i128::from(u64::MAX)) as u64
    })
}

#[inline]
pub fn to_f64(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<f64> {
    match value {
        Value::Double(number) => Ok(*number),
        Value::Int(number) => Ok(*number as f64),
        other => ctx.gather(|warnings| cast::to_f64(other.as_ref(), warnings)),
    }
}

#[inline]
pub fn to_decimal(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<Decimal> {
    match value {
        Value::Decimal(number) => Ok(*number),
        Value::Int(number) => Ok(Decimal::from(*number)),
        other => ctx.gather(|warnings| cast::to_decimal(other.as_ref(), warnings)),
    }
}

/// The value of `expr` where a decimal is wanted. Text is read up to its first other character, and MySQL warns by where it comes
/// from: 1292 for the rest of a literal or column that is no TEXT, 1366 where there is no digit at all, except in a literal.
pub fn as_operand_of_decimal(expr: &Expr, value: Value, ctx: &EvalContext<'_>) -> SqlResult<Value> {
    if !matches!(value, Value::Str(_) | Value::Bytes(_)) || expr.as_literal().is_some() {
        return Ok(value);
    }
    let parsed = Decimal::parse_prefix(&value.as_ref().text_bytes());
    if parsed.consumed == 0 {
        let args: [&dyn std::fmt::Display; 4] = [&"DECIMAL", &"0", &"", &"-1"];
        ctx.warn(SqlError::new(ErrorKind::TruncatedWrongValueForField, &args))?;
    }
    Ok(match (expr.is_stored() && !is_read_quietly(expr)) || parsed.overflow {
        true => value,
        false => Value::Decimal(parsed.value),
    })
}

/// The value of `expr` where a double is wanted. A TEXT or BLOB column is read without a warning, as MySQL reads it.
#[inline]
pub fn as_operand_of_double<'v>(expr: &Expr, value: Cow<'v, Value>) -> Cow<'v, Value> {
    if !is_read_quietly(expr) || !matches!(value.as_ref(), Value::Str(_) | Value::Bytes(_)) {
        return value;
    }
    let number = cast::to_f64(value.as_ref().as_ref(), &mut types::error::Warnings::with_limit(0));
    Cow::Owned(Value::Double(number))
}

/// The value of `expr` as 64 bits; a TEXT or BLOB column is read without a warning.
pub fn bits_of(expr: &Expr, value: &Value, ctx: &EvalContext<'_>) -> SqlResult<u64> {
    if is_read_quietly(expr) {
        let mut unheard = types::error::Warnings::with_limit(0);
        return Ok(cast::to_integer(value.as_ref(), &mut unheard).as_u64());
    }
    to_bits(value, ctx)
}

/// Whether it is a column, or the ENUM or SET of an aggregate, that warns of nothing when it is read as a number.
pub fn is_read_quietly(expr: &Expr) -> bool {
    use types::TypeKind::{Blob, Enum, LongBlob, LongText, MediumBlob, MediumText, Set, Text, TinyBlob, TinyText};
    if let ExprKind::Collate(choice) = &expr.kind {
        return matches!(choice.ty.kind, Enum | Set) && !choice.is_stored();
    }
    if expr.ty.kind.is_text() || expr.ty.kind.is_binary() {
        match &expr.kind {
            ExprKind::Column(column) if column.is_cached => return true,
            ExprKind::Subquery(_) => return true,
            ExprKind::Call(call) => {
                return match call.function.name {
                    "ANY_VALUE" | "IFNULL" | "COALESCE" | "LEAST" | "GREATEST" => true,
                    "NULLIF" => is_read_quietly(&call.args[0]),
                    _ => false,
                };
            }
            _ => {}
        }
    }
    expr.is_stored()
        && matches!(
            expr.ty.kind,
            TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob
        )
}

/// The nearest decimal with all digits of the double's shortest form.
pub fn double_to_decimal(number: f64) -> Decimal {
    Decimal::from_f64(number).unwrap_or_else(|_| {
        let most = Decimal::max(types::decimal::MAX_PRECISION, 0);
        if number < 0.0 { -most } else { most }
    })
}

/// As text. Binary strings are read as UTF-8 with replacement, which only messages and mixed comparisons need.
pub fn to_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Str(text) => Cow::Borrowed(text),
        Value::Null => Cow::Borrowed("NULL"),
        other => other.as_ref().text(),
    }
}

/// As text, printed as a column of type `ty` prints: FLOAT(M,D), ZEROFILL.
pub fn to_text_as<'v>(value: &'v Value, ty: &SqlType) -> Cow<'v, str> {
    match value {
        Value::Str(text) => Cow::Borrowed(text),
        _ => match to_bytes_as(value, ty) {
            Cow::Borrowed(bytes) => lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(utf8_string(bytes).unwrap_or_else(|bytes| lossy(&bytes).into_owned())),
        },
    }
}

/// As text of the character set of `to`. 3854 where it has not all of it: foreign characters, bytes that are no text.
#[inline]
pub fn to_text_under<'v>(value: &'v Value, from: &SqlType, to: CollationId) -> SqlResult<Cow<'v, str>> {
    match value {
        Value::Str(text) if to.charset().first_foreign(text).is_some() => {
            Err(foreign(&to_encoded_bytes(value, from), from.charset(), to))
        }
        Value::Bytes(_) | Value::Bit(_) => read_bytes(value, to),
        _ => Ok(to_text_as(value, from)),
    }
}

/// A string as text that a comparison under `to` can look at: bytes are read in its character set. 3854 where they are no text.
pub fn to_comparable_text(value: &Value, to: CollationId) -> SqlResult<Cow<'_, str>> {
    match value {
        Value::Bytes(_) | Value::Bit(_) => read_bytes(value, to),
        _ => Ok(to_text(value)),
    }
}

fn read_bytes(value: &Value, to: CollationId) -> SqlResult<Cow<'_, str>> {
    let bytes = to_bytes(value);
    match to.charset().decode(&bytes) {
        Ok(text) => Ok(Cow::Owned(text.into_owned())),
        Err(_) => Err(foreign(&bytes, CharsetId::BINARY, to)),
    }
}

fn foreign(bytes: &[u8], from: CharsetId, to: CollationId) -> SqlError {
    let names: [&dyn std::fmt::Display; 3] = [&cast::shown_start(bytes), &from.name(), &to.charset().name()];
    SqlError::new(ErrorKind::CannotConvertString, &names)
}

/// As the bytes that the value's text has inside.
pub fn to_bytes(value: &Value) -> Cow<'_, [u8]> {
    value.as_ref().text_bytes()
}

/// As the bytes inside, printed as a column of type `ty` prints.
pub fn to_bytes_as<'v>(value: &'v Value, ty: &SqlType) -> Cow<'v, [u8]> {
    match value {
        Value::Str(text) => Cow::Borrowed(text.as_bytes()),
        Value::Bytes(bytes) => Cow::Borrowed(bytes),
        other => {
            let mut out = Vec::with_capacity(24);
            other.as_ref().write_typed_text(ty, &mut out);
            Cow::Owned(out)
        }
    }
}

/// As the bytes that the value has in the character set of its type: what LENGTH, HEX, MD5 look at.
pub fn to_encoded_bytes<'v>(value: &'v Value, ty: &SqlType) -> Cow<'v, [u8]> {
    match ty.charset() {
        CharsetId::BINARY | CharsetId::UTF8MB4 => to_bytes_as(value, ty),
        _ if matches!(value, Value::Bytes(_) | Value::Bit(_)) => to_bytes(value),
        charset => match to_text_as(value, ty) {
            Cow::Borrowed(text) => charset.encode(text),
            Cow::Owned(text) => match charset.encode(&text) {
                Cow::Owned(bytes) => Cow::Owned(bytes),
                Cow::Borrowed(_) => Cow::Owned(text.into_bytes()),
            },
        },
    }
}

/// A hex or bit literal as the unsigned number that it is in numeric context; anything else as it is.
pub fn hex_as_number(expr: Expr) -> Expr {
    match &expr.kind {
        ExprKind::HexLiteral(Value::Bytes(bytes)) => {
            Expr::literal(Value::UInt(hex_number(bytes)), SqlType::bigint_unsigned().not_null())
        }
        _ => expr,
    }
}

/// Text as the bytes of its character set.
pub fn as_bytes(expr: Expr) -> Expr {
    let bytes = crate::functions::units_of(&expr.ty, CollationId::BINARY);
    let ty = crate::functions::string_type(bytes, CollationId::BINARY);
    let ty = SqlType {
        nullable: expr.ty.nullable,
        ..ty
    };
    let cast = crate::Cast {
        operand: expr,
        length: None,
        elements: None,
    };
    Expr {
        kind: ExprKind::Cast(Box::new(cast)),
        ty,
        coercibility: Coercibility::Implicit,
    }
}

/// An operand where a number is wanted: a hex literal as one, and IF, CASE and NULLIF with the numbers of what they choose. That of an ENUM or
/// SET column is its index, while their text would be read as a number; COALESCE and LEAST give the text, LEAST of dates and times the number.
pub fn as_number(expr: Expr) -> Expr {
    match expr.ty.kind {
        // Of MAX, of a window and of a subquery the text is read as well.
        TypeKind::Enum | TypeKind::Set if !expr.is_stored() => as_text(expr),
        _ if chooses_number(&expr) => with_numbers(expr),
        _ if control::is_extreme_moment(&expr) || is_moved_text(&expr) => Expr {
            ty: SqlType {
                nullable: true,
                ..SqlType::double()
            },
            ..expr
        },
        _ => hex_as_number(expr),
    }
}

fn as_text(expr: Expr) -> Expr {
    let ty = SqlType {
        nullable: expr.ty.nullable,
        ..string_type(printed_chars(&expr.ty), expr.ty.collation)
    };
    Expr {
        coercibility: expr.coercibility,
        kind: ExprKind::Collate(Box::new(expr)),
        ty,
    }
}

/// Whether it is a text that gives another number, or warns otherwise, than a literal of the same text.
pub fn has_own_number(expr: &Expr) -> bool {
    chooses_number(expr) || expr.ty.kind.is_text() && (is_read_quietly(expr) || is_moved_text(expr))
}

/// Whether it is IF, CASE or NULLIF, of texts or bytes, with a branch whose number is not that of its text.
fn chooses_number(expr: &Expr) -> bool {
    governor::pause();
    let is_number = |branch: &Expr| match branch.ty.kind {
        TypeKind::Enum | TypeKind::Set => branch.is_stored(),
        TypeKind::Float | TypeKind::Bit => true,
        kind => kind.is_temporal() || matches!(branch.kind, ExprKind::HexLiteral(_)) || chooses_number(branch),
    };
    (expr.ty.kind.is_text() || expr.ty.kind.is_binary()) && expr.branches().any(is_number)
}

fn with_numbers(mut expr: Expr) -> Expr {
    expr.for_each_branch_mut(&mut |branch| {
        if chooses_number(branch) {
            *branch = with_numbers(std::mem::replace(branch, Expr::null()));
        } else if matches!(branch.kind, ExprKind::HexLiteral(_)) {
            *branch = hex_as_number(std::mem::replace(branch, Expr::null()));
        }
    });
    Expr {
        ty: SqlType {
            nullable: expr.ty.nullable,
            ..SqlType::double()
        },
        coercibility: Coercibility::Numeric,
        ..expr
    }
}

/// The bytes of a hex literal as a number; 0 where more than eight count.
pub fn hex_number(bytes: &[u8]) -> u64 {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = &bytes[zeros..];
    if digits.len() > 8 {
        return 0;
    }
    digits.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte))
}

/// The order of two values of which one is JSON; the other is taken as a scalar.
pub fn compare_json(left: &Value, right: &Value) -> Ordering {
    let json = |value: &Value| match value {
        Value::Json(json) => json.clone(),
        other => Json::from_value(other.as_ref()),
    };
    json(left).as_ref().compare(json(right).as_ref())
}
