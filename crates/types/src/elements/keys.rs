//! A row into the keys of its entries.
//!
//! The key of an entry is that of an index over columns, with an element in the place of the array. A row without elements has no entry; one
//! whose array is NULL has one, with NULL.

use super::element;
use crate::json::{JsonRef, JsonView};
use crate::key::{EntryKeys, KeyLayout};
use crate::row::RowLayout;
use crate::value::ValueRef;

/// So many elements of a row go into an index. Far more than an array of an expression may have.
pub const MAX_ELEMENTS: usize = 1 << 16;

/// Makes the entries of a multi-valued index. Made once per index definition.
#[derive(Debug, Clone)]
pub struct ElementKeys {
    /// The array's part has the type of an element, and the array's column.
    layout: KeyLayout,
    part: usize,
}

impl ElementKeys {
    /// `part`: which one has elements.
    pub fn new(layout: KeyLayout, part: usize) -> ElementKeys {
        ElementKeys { layout, part }
    }

    pub fn layout(&self) -> &KeyLayout {
        &self.layout
    }

    /// Adds the keys of a row's entries, which are different and in order. Gives way.
    pub fn entries(&self, rows: &RowLayout, row: &[u8], primary_key: &[u8], keys: &mut EntryKeys) {
        let mut before = Vec::new();
        for part in 0..self.part {
            self.layout.encode_row_part(part, rows, row, &mut before);
        }
        let mut after = Vec::new();
        for part in self.part + 1..self.layout.parts().len() {
            self.layout.encode_row_part(part, rows, row, &mut after);
        }
        after.extend_from_slice(primary_key);
        for element in self.elements(rows, row) {
            keys.push(|key| {
                key.extend_from_slice(&before);
                key.extend_from_slice(&element);
                key.extend_from_slice(&after);
            });
        }
    }

    /// The keys of the elements alone: different, in order.
    fn elements(&self, rows: &RowLayout, row: &[u8]) -> Vec<Vec<u8>> {
        let part = &self.layout.parts()[self.part];
        let key_of = |value: ValueRef<'_>| {
            let mut key = Vec::new();
            self.layout.encode_part_ref_to(self.part, value, &mut key);
            key
        };
        let Some(array) = self.array(rows, row) else {
            return vec![key_of(ValueRef::Null)];
        };
        let JsonView::Array(array) = array.view() else {
            return Vec::new();
        };
        // What is no element can only come from who writes other rows than this server does. It has no entry, on any replica.
        let values = array.iter().filter_map(|scalar| {
            governor::pause();
            element(scalar, &part.ty).ok()
        });
        let mut keys: Vec<Vec<u8>> = values.map(|value| key_of(value.as_ref())).collect();
        // The collation has an order of its own, and may find two of them equal.
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The array of a row; none where it is NULL.
    fn array<'r>(&self, rows: &'r RowLayout, row: &'r [u8]) -> Option<JsonRef<'r>> {
        match rows.column(row, self.layout.parts()[self.part].column) {
            ValueRef::Json(array) => Some(array),
            _ => None,
        }
    }

    /// Whether a part of the row's keys is NULL: such keys are never those of another row.
    pub fn has_null(&self, rows: &RowLayout, row: &[u8]) -> bool {
        let mut parts = self.layout.parts().iter();
        parts.any(|part| rows.raw(row, part.column).is_none())
    }

    /// Whether two states of a row have the same values in all parts.
    pub fn are_same(&self, rows: &RowLayout, old: &[u8], new: &[u8]) -> bool {
        let mut parts = self.layout.parts().iter();
        parts.all(|part| rows.raw(old, part.column) == rows.raw(new, part.column))
    }

    /// No fewer entries than the row has.
    pub fn most_entries(&self, rows: &RowLayout, row: &[u8]) -> usize {
        match self.array(rows, row).map(JsonRef::view) {
            None => 1,
            Some(JsonView::Array(array)) => array.len(),
            Some(_) => 0,
        }
    }
}
