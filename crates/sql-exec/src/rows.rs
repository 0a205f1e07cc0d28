//! Stored rows into the values that expressions see. They are in their stored form: a TIMESTAMP becomes local time where an
//! expression reads it.

use types::{RowLayout, Value};

/// All columns of a row.
pub fn read_row(layout: &RowLayout, row: &[u8]) -> Vec<Value> {
    layout.decode(row)
}

/// The columns `needed` of a row into `values`, from position `offset`; the other positions are left as they are.
#[inline]
pub fn read_columns_at(layout: &RowLayout, row: &[u8], needed: &[usize], offset: usize, values: &mut [Value]) {
    for &column in needed {
        values[offset + column] = layout.column(row, column).to_value();
    }
}

/// The columns `needed` of a row, the others NULL.
pub fn read_columns(layout: &RowLayout, row: &[u8], needed: &[usize], values: &mut Vec<Value>) {
    values.clear();
    values.resize(layout.columns().len(), Value::Null);
    read_columns_at(layout, row, needed, 0, values);
}
