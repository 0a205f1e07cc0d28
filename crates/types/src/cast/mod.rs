//! Conversions: [`assign`] stores a value into a column, [`cast`] is `CAST(... AS ...)`.

use crate::error::{SqlResult, Warnings};
use crate::sql_type::SqlType;
use crate::time::{DateRules, TimeZone, UnixTime};
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
    /// `sql_mode = ''`.
    pub const LENIENT: SqlMode =
        SqlMode { strict: false, no_zero_date: false, no_zero_in_date: false, allow_invalid_dates: false };

    /// The mode for INSERT IGNORE and UPDATE IGNORE: errors become warnings.
    pub fn ignoring_errors(self) -> SqlMode {
        SqlMode { strict: false, ..self }
    }

    pub fn date_rules(self) -> DateRules {
        DateRules {
            zero_date: !self.no_zero_date,
            zero_parts: !self.no_zero_in_date,
            invalid: self.allow_invalid_dates,
        }
    }
}

/// What conversions depend on beside the value: the session's mode and time zone, the statement's time, its warnings.
pub struct Context<'a> {
    pub mode: SqlMode,
    pub zone: &'a TimeZone,
    /// The statement's NOW(): a TIME becomes a DATETIME of that day.
    pub now: UnixTime,
    pub warnings: &'a mut Warnings,
}

/// Where an assignment goes, for its messages.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub column: &'a str,
    /// 1-based row of the statement.
    pub row: u64,
}

/// Converts `value` to what a column of type `ty` stores: the variant that [`RowLayout`](crate::RowLayout) and
/// [`KeyLayout`](crate::KeyLayout) expect. Strict: 1048, 1264, 1265, 1292, 1366, 1406 are errors. Not strict: they are warnings and
/// the nearest storable value is returned. NULL for a NOT NULL column is 1048 in every mode; whether it becomes an implicit
/// default is the statement's matter ([`implicit_default`]).
pub fn assign(value: Value, _ty: &SqlType, _target: Target<'_>, _cx: &mut Context<'_>) -> SqlResult<Value> {
    let _ = value;
    todo!()
}

/// `CAST(value AS ty)`: a bad value warns (1292) and gives the nearest value or NULL. Errors only for JSON.
pub fn cast(value: Value, _ty: &SqlType, _cx: &mut Context<'_>) -> SqlResult<Value> {
    let _ = value;
    todo!()
}

/// The value of a NOT NULL column without a default when the mode lets it pass: 0, '', the zero date, the first label.
pub fn implicit_default(_ty: &SqlType) -> Value {
    todo!()
}
