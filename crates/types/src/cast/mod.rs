//! Conversions: [`assign`] stores a value into a column, [`cast`] is `CAST(... AS ...)`.

use crate::error::{SqlResult, Warnings};
use crate::sql_type::SqlType;
use crate::value::Value;

/// The parts of `sql_mode` that conversions look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlMode {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES: a bad value is an error instead of a warning and a nearby value.
    pub strict: bool,
    pub no_zero_date: bool,
    pub no_zero_in_date: bool,
    pub allow_invalid_dates: bool,
}

impl SqlMode {
    /// The default of MySQL 8.0.
    pub const DEFAULT: SqlMode =
        SqlMode { strict: true, no_zero_date: true, no_zero_in_date: true, allow_invalid_dates: false };
    /// `sql_mode = ''`; also what INSERT IGNORE amounts to.
    pub const LENIENT: SqlMode =
        SqlMode { strict: false, no_zero_date: false, no_zero_in_date: false, allow_invalid_dates: false };
}

/// Where an assignment goes, for its messages, and where warnings are collected.
pub struct Assignment<'a> {
    pub mode: SqlMode,
    pub column: &'a str,
    /// 1-based row of the statement.
    pub row: u64,
    pub warnings: &'a mut Warnings,
}

/// Converts `value` to what a column of type `ty` stores. Strict: 1048, 1264, 1265, 1292, 1366, 1406 are errors. Not strict: they
/// are warnings and the nearest storable value is returned. A TIMESTAMP column takes `Value::Timestamp` (the caller has
/// converted by the session's time zone) or zero.
pub fn assign(value: Value, _ty: &SqlType, _to: &mut Assignment<'_>) -> SqlResult<Value> {
    let _ = value;
    todo!()
}

/// `CAST(value AS target)`: never fails on a bad value, warns (1292) and gives the nearest value or NULL.
pub fn cast(value: Value, _target: &SqlType, _mode: SqlMode, _warnings: &mut Warnings) -> SqlResult<Value> {
    let _ = value;
    todo!()
}
