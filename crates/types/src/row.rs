//! The compact row encoding: any column in O(1), strings as raw UTF-8, so that protocol rows are written with copies and
//! integer formatting.
//!
//! ```text
//! ┌────────┬─────────────┬──────────────────────────┬──────────────────────┬───────────────────┐
//! │ header │ null bitmap │ fixed columns, in order, │ end offsets of the   │ variable columns, │
//! │ bit 0: │ 1 bit per   │ at offsets known to the  │ variable columns:    │ back to back      │
//! │ wide   │ nullable    │ layout; zero when NULL   │ 2 bytes, 4 when wide │                   │
//! └────────┴─────────────┴──────────────────────────┴──────────────────────┴───────────────────┘
//! ```
//!
//! Rows that come from a disk or the network pass [`RowLayout::validate`] once; the accessors rely on it.

use crate::sql_type::SqlType;
use crate::value::{Value, ValueRef};

/// How the rows of one table are encoded. Made once per table definition.
#[derive(Debug, Clone)]
pub struct RowLayout {
    columns: Vec<SqlType>,
}

/// A row does not have the form that its layout demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorruptRow {
    /// 0-based.
    pub column: Option<usize>,
    pub what: &'static str,
}

impl RowLayout {
    pub fn new(columns: &[SqlType]) -> RowLayout {
        RowLayout { columns: columns.to_vec() }
    }

    pub fn columns(&self) -> &[SqlType] {
        &self.columns
    }

    /// Appends the encoded row. The values must be what [`cast::assign`](crate::cast::assign) returned for the columns' types.
    pub fn encode(&self, _values: &[Value], _out: &mut Vec<u8>) {
        todo!()
    }

    /// Appends `row` with some columns replaced; the others are copied as bytes.
    pub fn encode_update(&self, _row: &[u8], _changes: &[(usize, Value)], _out: &mut Vec<u8>) {
        todo!()
    }

    /// A view of one column.
    pub fn column<'a>(&'a self, _row: &'a [u8], _column: usize) -> ValueRef<'a> {
        todo!()
    }

    pub fn is_null(&self, _row: &[u8], _column: usize) -> bool {
        todo!()
    }

    /// All columns, owned.
    pub fn decode(&self, row: &[u8]) -> Vec<Value> {
        (0..self.columns.len()).map(|i| self.column(row, i).to_value()).collect()
    }

    /// Checks bytes from a disk or the network.
    pub fn validate(&self, _row: &[u8]) -> Result<(), CorruptRow> {
        todo!()
    }
}
