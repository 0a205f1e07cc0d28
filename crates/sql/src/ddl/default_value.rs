//! Literal defaults: checked when the column is made, converted when a row needs them.

use cluster::catalog::{ColumnDef, ColumnDefault};
use parser::ast::Literal;
use types::cast::{AssignMode, assign};
use types::{ErrorKind, SqlError, SqlResult, SqlType, Value, Warnings};

use crate::expr::literal_value;

/// A literal as the default of a column of type `ty`, or error 1067.
pub fn check_default(name: &str, negative: bool, literal: &Literal, ty: &SqlType) -> SqlResult<ColumnDefault> {
    let invalid = || SqlError::new(ErrorKind::InvalidDefault, &[&name]);
    let value = literal_value(literal).map_err(|_| invalid())?;
    let text = match (&value, literal) {
        (_, Literal::Bool(value)) => i32::from(*value).to_string(),
        (Value::Bytes(bytes), _) => return Ok(ColumnDefault::Bytes(bytes.to_vec())),
        (value, _) => value.to_string(),
    };
    let text = if negative { format!("-{text}") } else { text };
    let mut warnings = Warnings::default();
    let stored = assign(Value::str(&text), ty, name, AssignMode::Strict, &mut warnings).map_err(|_| invalid())?;
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
    assign(text, &column.ty, &column.name, AssignMode::Lenient, &mut Warnings::default()).ok()
}
