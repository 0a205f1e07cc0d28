//! Literal defaults: checked when the column is made, converted when a row needs them.

use catalog::ColumnDefault;
use parser::ast::Literal;
use types::cast::SqlMode;
use types::{ErrorKind, SqlError, SqlResult, SqlType, TypeKind, Value};

use crate::expr::plain_literal;
use crate::plan::columns::convert;

/// The dates that a default may be under a session's mode, as MySQL takes them: zero dates are refused only where they would be in a
/// row. Everything else has to fit the column, whatever the mode.
pub fn rules_of_defaults(session: crate::expr::sql_mode::SqlMode) -> SqlMode {
    let session = session.for_casts();
    SqlMode {
        strict: true,
        no_zero_date: session.strict && session.no_zero_date,
        no_zero_in_date: session.strict && session.no_zero_in_date,
        ..session
    }
}

/// A literal as the default of a column of type `ty`, or error 1067.
pub fn check_default(
    name: &str,
    negative: bool,
    literal: &Literal,
    ty: &SqlType,
    rules: SqlMode,
) -> SqlResult<ColumnDefault> {
    let invalid = || SqlError::new(ErrorKind::InvalidDefault, &[&name]);
    if let Some(value @ (Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Str(_))) = plain_literal(literal)
        && ty.kind.is_temporal()
        && !negative
    {
        // A TIMESTAMP's default is the text of a clock, whatever the time zone.
        let clock = match ty.kind {
            TypeKind::Timestamp => &SqlType::datetime(ty.decimals),
            _ => ty,
        };
        let stored = convert(value, name, clock, rules).map_err(|_| invalid())?;
        return Ok(ColumnDefault::Literal(stored.to_string()));
    }
    if ty.kind == TypeKind::Bit {
        return bit_default(negative, literal, ty, rules).ok_or_else(invalid);
    }
    let text = match (plain_literal(literal), literal) {
        (_, Literal::Hex(bytes) | Literal::Bit(bytes)) => return Ok(ColumnDefault::Bytes(bytes.to_vec())),
        (Some(value), _) => value.to_string(),
        (None, Literal::Date(text) | Literal::Time(text) | Literal::Timestamp(text)) => {
            String::from_utf8_lossy(text).into_owned()
        }
        (None, Literal::Float(digits)) => digits.to_string(),
        (None, Literal::String(bytes)) => std::str::from_utf8(bytes).map_err(|_| invalid())?.to_owned(),
        (None, Literal::Introduced(string)) => String::from_utf8_lossy(&string.value).into_owned(),
        (None, _) => return Err(invalid()),
    };
    let text = if negative { format!("-{text}") } else { text };
    let stored = convert(Value::str(&text), name, ty, rules).map_err(|_| invalid())?;
    if stored.is_null() {
        return Err(invalid());
    }
    Ok(ColumnDefault::Literal(text))
}

/// A number is the value of the bits, a string their bytes; none may be cut.
fn bit_default(negative: bool, literal: &Literal, ty: &SqlType, rules: SqlMode) -> Option<ColumnDefault> {
    let value = match (plain_literal(literal), literal) {
        (_, Literal::Hex(bytes) | Literal::Bit(bytes)) => Value::bytes(bytes),
        (Some(Value::Int(number)), _) if negative => Value::Int(number.checked_neg()?),
        (Some(_), _) if negative => return None,
        (Some(value), _) => value,
        (None, Literal::Float(digits)) => Value::Double(digits.parse().ok()?),
        (None, Literal::String(bytes)) => Value::bytes(bytes),
        (None, Literal::Introduced(string)) => Value::bytes(&string.value),
        (None, _) => return None,
    };
    match convert(value, "", ty, rules).ok()? {
        Value::Bit(bits) => Some(ColumnDefault::Bytes(bits.value.to_be_bytes().to_vec())),
        _ => None,
    }
}
