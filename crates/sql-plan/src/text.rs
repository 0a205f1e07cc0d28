//! Names, values and foreign keys as messages and definitions show them.

use std::fmt::Write;

use catalog::{ForeignKeyDef, ReferenceAction, TableDef};
use types::{SqlType, Value};

/// A name in backticks.
pub fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

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

/// A foreign key of a table in `database`, also as errors tell it. NO ACTION, which is the default, is left out.
pub fn foreign_key(key: &ForeignKeyDef, database: &str) -> String {
    let names = |columns: &[String]| columns.iter().map(|column| name(column)).collect::<Vec<_>>().join(", ");
    let parent = match key.parent_database == database {
        true => name(&key.parent_table),
        false => [name(&key.parent_database), name(&key.parent_table)].join("."),
    };
    let mut text = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({})",
        name(&key.name),
        names(&key.columns),
        names(&key.parent_columns)
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        if action != ReferenceAction::NoAction {
            let _ = write!(text, " ON {event} {}", action.as_str());
        }
    }
    text
}

/// The table and its foreign key, as the errors 1451 and 1452 tell them.
pub fn failed_foreign_key(table: &TableDef, key: &ForeignKeyDef) -> String {
    let names = [name(&table.database), name(&table.name)].join(".");
    format!("{names}, {}", foreign_key(key, &table.database))
}
