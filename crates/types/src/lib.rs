//! Layer 0: what a MySQL value is, how it compares, converts, prints, and which bytes it becomes in a row and in a key.
//!
//! Everything here is a pure function of its arguments: no storage, no network, no clock. The modules in reading order:
//!
//! * [`sql_type`] – the type of a column or an expression, with all that `SHOW CREATE TABLE` and a column definition packet need.
//! * [`value`] – [`Value`] (owned) and [`ValueRef`] (a view into an encoded row).
//! * [`decimal`], [`time`], [`json`], [`number`] – the scalar domains: arithmetic, parsing, printing.
//! * [`charset`], [`collation`] – what a string's bytes mean, how two strings compare.
//! * [`compare`] – MySQL's comparison rules between any two values.
//! * [`cast`] – storing a value into a column (strict or not) and `CAST(... AS ...)`.
//! * [`row`] – the compact row encoding, O(1) access to any column.
//! * [`key`] – the order-preserving key encoding; [`fulltext`] – the keys of a text's words, [`elements`] those of a document's elements.
//! * [`expiry`] – when a row expires.
//! * [`error`] – every error a client can see: number, SQLSTATE, text.
//! * [`ids`] – newtypes for the ids and positions the layers exchange.

pub mod cast;
pub mod charset;
pub mod collation;
pub mod compare;
pub mod decimal;
pub mod elements;
pub mod error;
pub mod expiry;
pub mod fulltext;
pub mod ids;
pub mod json;
pub mod key;
pub mod number;
pub mod row;
pub mod sql_type;
pub mod time;
pub mod value;

#[cfg(test)]
mod samples;

pub use charset::CharsetId;
pub use collation::CollationId;
pub use decimal::Decimal;
pub use error::{ErrorKind, Severity, SqlError, SqlResult, Warning, Warnings};
pub use expiry::Expiry;
pub use ids::{IndexId, LogIndex, ShardId, TableId, Timestamp};
pub use json::{Json, JsonRef};
pub use key::{EntryKeys, KeyLayout, KeyPart};
pub use row::RowLayout;
pub use sql_type::{Labels, SqlType, TypeKind};
pub use time::{Date, DateTime, Time, UnixTime};
pub use value::{Bytes, Str, Value, ValueRef};
