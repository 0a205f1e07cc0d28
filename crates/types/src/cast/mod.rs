//! Conversions between values.
//!
//! * [`to_f64`], [`to_decimal`], [`to_integer`], [`to_datetime`], ...: what an operand is in a numeric or temporal *context*. They never
//!   fail: a bad string gives the nearest value and warning 1292.
//! * [`cast`]: `CAST(... AS ...)`, the same rules with a target type.
//! * [`mod@assign`]: storing into a column, where strict mode makes errors of bad values.

mod assign;
mod explicit;
mod number;
mod temporal;

pub use assign::{assign, forgiven_null, implicit_default, shown_start};
pub use explicit::cast;
pub use number::{Integer, to_bool, to_decimal, to_f64, to_integer};
pub use temporal::{overflow, to_date, to_datetime, to_time};

use crate::error::{ErrorKind, SqlError, SqlResult, Warnings};
use crate::time::{DateRules, TimeZone, UnixTime};
use crate::value::ValueRef;

/// The parts of `sql_mode` that conversions look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlMode {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES: a bad value is an error instead of a warning and a nearby value.
    pub strict: bool,
    pub no_zero_date: bool,
    pub no_zero_in_date: bool,
    pub allow_invalid_dates: bool,
    /// TIME_TRUNCATE_FRACTIONAL: digits that a column has no room for are cut off, not rounded.
    pub truncates_fractions: bool,
    /// A strict mode's statement with IGNORE.
    pub ignores_errors: bool,
}

impl SqlMode {
    /// The default of MySQL 8.0.
    pub const DEFAULT: SqlMode = SqlMode {
        strict: true,
        no_zero_date: true,
        no_zero_in_date: true,
        allow_invalid_dates: false,
        truncates_fractions: false,
        ignores_errors: false,
    };
    /// `sql_mode = ''`.
    pub const LENIENT: SqlMode = SqlMode {
        strict: false,
        no_zero_date: false,
        no_zero_in_date: false,
        allow_invalid_dates: false,
        truncates_fractions: false,
        ignores_errors: false,
    };

    /// The mode for INSERT IGNORE and UPDATE IGNORE: errors become warnings.
    pub fn ignoring_errors(self) -> SqlMode {
        SqlMode {
            strict: false,
            ignores_errors: self.strict,
            ..self
        }
    }

    /// The dates that functions and columns accept. Without strict mode a column takes zero dates in any case.
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

impl Context<'_> {
    /// An error in strict mode, a warning otherwise.
    fn complain(&mut self, error: SqlError) -> SqlResult<()> {
        if self.mode.strict {
            return Err(error);
        }
        self.warnings.warn(error);
        Ok(())
    }
}

/// Where an assignment goes, for its messages.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub column: &'a str,
    /// 1-based row of the statement.
    pub row: u64,
}

/// 1292: `Truncated incorrect DOUBLE value: '12abc'`.
fn truncated(type_name: &str, value: ValueRef<'_>) -> SqlError {
    SqlError::new(ErrorKind::TruncatedWrongValue, &[&type_name, &excerpt(value)])
}

/// The value as messages quote it: cut to 128 characters, bytes that are not text as `\xHH`.
fn excerpt(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Bytes(bytes) if std::str::from_utf8(bytes).is_err() => {
            let mut out = String::new();
            for &b in bytes.iter().take(64) {
                if (0x20..0x7f).contains(&b) {
                    out.push(b.into())
                } else {
                    out.push_str(&format!("\\x{b:02X}"))
                }
            }
            out
        }
        value => value.text().chars().take(128).collect(),
    }
}

#[cfg(test)]
mod tests;
