//! Literal defaults: checked when the column is made, converted when a row needs them.

use catalog::{ColumnDef, ColumnDefault};
use parser::ast::Literal;
use types::cast::{self, SqlMode, Target, assign};
use types::time::TimeZone;
use types::{ErrorKind, SqlError, SqlResult, SqlType, UnixTime, Value, Warnings};

use crate::expr::plain_literal;

/// A literal as the default of a column of type `ty`, or error 1067.
pub fn check_default(name: &str, negative: bool, literal: &Literal, ty: &SqlType) -> SqlResult<ColumnDefault> {
    let invalid = || SqlError::new(ErrorKind::InvalidDefault, &[&name]);
    let text = match (plain_literal(literal), literal) {
        (_, Literal::Hex(bytes) | Literal::Bit(bytes)) => return Ok(ColumnDefault::Bytes(bytes.to_vec())),
        (Some(value), _) => value.to_string(),
        (None, Literal::Date(text) | Literal::Time(text) | Literal::Timestamp(text)) => {
            String::from_utf8_lossy(text).into_owned()
        }
        (None, Literal::Float(digits)) => digits.to_string(),
        (None, Literal::Introduced(string)) => String::from_utf8_lossy(&string.value).into_owned(),
        (None, _) => return Err(invalid()),
    };
    let text = if negative { format!("-{text}") } else { text };
    let stored = convert(Value::str(&text), name, ty, SqlMode::DEFAULT).map_err(|_| invalid())?;
    if stored.is_null() {
        return Err(invalid());
    }
    Ok(ColumnDefault::Literal(text))
}

/// The value of a column's constant default; `None` for `CURRENT_TIMESTAMP`, expressions and columns without one.
pub fn constant_default(column: &ColumnDef) -> Option<Value> {
    let text = match column.default.as_ref() {
        None => return column.nullable.then_some(Value::Null),
        Some(ColumnDefault::Null) => return Some(Value::Null),
        Some(ColumnDefault::Literal(text)) => Value::str(text),
        Some(ColumnDefault::Bytes(bytes)) => Value::bytes(bytes),
        Some(ColumnDefault::Now(_) | ColumnDefault::Expression(_)) => return None,
    };
    convert(text, &column.name, &column.ty, SqlMode::LENIENT).ok()
}

/// A default depends on no session: its time zone is UTC and its moment the epoch.
fn convert(value: Value, column: &str, ty: &SqlType, mode: SqlMode) -> SqlResult<Value> {
    let mut warnings = Warnings::default();
    let mut context = cast::Context {
        mode,
        zone: &TimeZone::UTC,
        now: UnixTime { micros: 0, fsp: 6 },
        warnings: &mut warnings,
    };
    assign(value, ty, Target { column, row: 1 }, &mut context)
}
