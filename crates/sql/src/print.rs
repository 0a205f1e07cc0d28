//! Values as text, outside the protocol.

use types::{SqlType, Value};

/// A column's value as messages show it.
pub fn column_text(value: &Value, ty: &SqlType) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Double(number) if ty.decimals < types::sql_type::NOT_FIXED_DECIMALS => {
            format!("{number:.*}", usize::from(ty.decimals))
        }
        Value::Float(number) if ty.decimals < types::sql_type::NOT_FIXED_DECIMALS => {
            format!("{number:.*}", usize::from(ty.decimals))
        }
        value if ty.zerofill => format!("{:0>width$}", value.to_string(), width = ty.display_length(1) as usize),
        value => value.to_string(),
    }
}
