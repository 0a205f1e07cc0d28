//! The compact row encoding: any column in O(1), strings as raw UTF-8, so that protocol rows are written with copies and
//! integer formatting.
//!
//! ```text
//! ┌─────────────────┬──────────────────────────┬───────────────────────┬───────────────────┐
//! │ bit 0: wide     │ fixed columns, in order, │ end offsets of the    │ variable columns, │
//! │ bits 1...: NULL │ at offsets known to the  │ variable columns:     │ back to back      │
//! │ of the nullable │ layout; zero when NULL   │ 2 bytes each, little- │                   │
//! │ columns         │                          │ endian; 4 when wide   │                   │
//! └─────────────────┴──────────────────────────┴───────────────────────┴───────────────────┘
//! ```
//!
//! In a table whose columns may be added and dropped without touching its rows (see [`generation`]), bit 1 tells rows of a later
//! generation, which end with the byte of its number; the NULL bits begin at bit 2.
//!
//! A fixed column has the bytes that it has in keys. Rows that come from a disk or the network pass [`RowLayout::validate`]
//! once; the accessors rely on it, and panic on a row that would not pass.

pub(crate) mod fixed;
pub mod generation;

use crate::json::JsonRef;
use crate::sql_type::{SqlType, TypeKind};
use crate::value::{Value, ValueRef};
use fixed::Fixed;
use generation::{Generations, Older};
use std::fmt;

/// How the rows of one table are encoded. Made once per table definition.
#[derive(Debug, Clone)]
pub struct RowLayout {
    columns: Vec<SqlType>,
    frame: Frame,
    /// Whether rows say of which generation they are.
    is_marked: bool,
    /// Earlier generations, oldest first; rows are written as the next one.
    older: Box<[Older]>,
}

/// Where the columns of a row lie.
#[derive(Debug, Clone)]
struct Frame {
    places: Vec<Place>,
    /// Bytes of the header: the wide bit, the mark and the NULL bits.
    header_len: usize,
    /// Where the end offsets start: header and fixed columns.
    fixed_end: usize,
    variable_columns: usize,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    /// Bit in the header.
    null_bit: Option<u32>,
    data: Data,
}

#[derive(Debug, Clone, Copy)]
enum Data {
    Fixed {
        offset: u32,
        codec: Fixed,
    },
    /// Position among the variable columns.
    Variable {
        index: u32,
    },
}

/// A row does not have the form that its layout demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorruptRow {
    /// 0-based; `None` for damage that concerns the row's frame.
    pub column: Option<usize>,
    pub what: &'static str,
}

impl fmt::Display for CorruptRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            Some(column) => write!(f, "corrupt row: column {column}: {}", self.what),
            None => write!(f, "corrupt row: {}", self.what),
        }
    }
}

impl std::error::Error for CorruptRow {}

/// Where a column of a row under construction comes from.
enum Source<'a> {
    Null,
    Value(ValueRef<'a>),
    /// Bytes of another row of this layout.
    Raw(&'a [u8]),
}

/// The bit of the header that tells rows of a later generation than the first.
const MARK: u8 = 2;

impl Frame {
    fn new(columns: &[SqlType], is_marked: bool) -> Frame {
        let flags = 1 + usize::from(is_marked);
        let nullable = columns.iter().filter(|c| c.nullable).count();
        let header_len = (flags + nullable).div_ceil(8);
        let mut null_bits = flags as u32..;
        let mut fixed_end = header_len;
        let mut variable_columns = 0;
        let places = columns
            .iter()
            .map(|ty| {
                let null_bit = if ty.nullable { null_bits.next() } else { None };
                let data = match Fixed::of(ty) {
                    Some(codec) => {
                        let offset = fixed_end as u32;
                        fixed_end += codec.len();
                        Data::Fixed { offset, codec }
                    }
                    None => {
                        variable_columns += 1;
                        Data::Variable {
                            index: variable_columns as u32 - 1,
                        }
                    }
                };
                Place { null_bit, data }
            })
            .collect();
        Frame {
            places,
            header_len,
            fixed_end,
            variable_columns,
        }
    }

    #[inline(always)]
    fn raw<'a>(&self, row: &'a [u8], column: usize) -> Option<&'a [u8]> {
        if self.is_null(row, column) {
            return None;
        }
        Some(match self.places[column].data {
            Data::Fixed { offset, codec } => &row[offset as usize..offset as usize + codec.len()],
            Data::Variable { index } => {
                let width = offset_width(row);
                let data = &row[self.fixed_end + width * self.variable_columns..];
                let end = self.end_offset(row, index as usize, width);
                let start = if index == 0 {
                    0
                } else {
                    self.end_offset(row, index as usize - 1, width)
                };
                &data[start..end]
            }
        })
    }

    #[inline]
    fn end_offset(&self, row: &[u8], index: usize, width: usize) -> usize {
        let at = self.fixed_end + width * index;
        if width == 2 {
            usize::from(u16::from_le_bytes([row[at], row[at + 1]]))
        } else {
            u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]) as usize
        }
    }

    #[inline(always)]
    fn is_null(&self, row: &[u8], column: usize) -> bool {
        match self.places[column].null_bit {
            Some(bit) => row[bit as usize / 8] >> (bit % 8) & 1 == 1,
            None => false,
        }
    }

    /// Checks a row's own bytes, without the number of its generation.
    fn validate(&self, row: &[u8], columns: &[SqlType]) -> Result<(), CorruptRow> {
        let frame = |what| CorruptRow { column: None, what };
        if row.len() < self.fixed_end {
            return Err(frame("shorter than its fixed columns"));
        }
        let width = offset_width(row);
        let data_start = self.fixed_end + width * self.variable_columns;
        let data_len = row
            .len()
            .checked_sub(data_start)
            .ok_or(frame("shorter than its table of offsets"))?;
        let mut last = 0;
        for i in 0..self.variable_columns {
            let end = self.end_offset(row, i, width);
            if end < last || end > data_len {
                return Err(frame("an offset points outside"));
            }
            last = end;
        }
        if last != data_len {
            return Err(frame("bytes beyond the last column"));
        }
        for (i, (ty, place)) in columns.iter().zip(&self.places).enumerate() {
            let Some(bytes) = self.raw(row, i) else { continue };
            if !place.data.is_valid(bytes, ty) {
                return Err(CorruptRow {
                    column: Some(i),
                    what: "not a value of its type",
                });
            }
        }
        Ok(())
    }
}

impl Data {
    fn is_valid(self, bytes: &[u8], ty: &SqlType) -> bool {
        match self {
            Data::Fixed { codec, .. } => codec.is_valid(bytes, ty),
            Data::Variable { .. } if ty.kind.is_text() => crate::value::utf8(bytes).is_ok(),
            Data::Variable { .. } if ty.kind == TypeKind::Json => JsonRef::from_bytes(bytes).is_some(),
            Data::Variable { .. } => true,
        }
    }
}

impl RowLayout {
    /// Rows that do not say of which generation they are.
    pub fn new(columns: &[SqlType]) -> RowLayout {
        RowLayout::of_generations(columns, None)
    }

    /// Rows of these columns, and those that were written before the columns became these. `None`: as [`RowLayout::new`].
    pub fn of_generations(columns: &[SqlType], generations: Option<&Generations>) -> RowLayout {
        let older = generations.map_or(&[][..], |generations| &generations.older);
        RowLayout {
            columns: columns.to_vec(),
            frame: Frame::new(columns, generations.is_some()),
            is_marked: generations.is_some(),
            older: older.iter().map(Older::new).collect(),
        }
    }

    pub fn columns(&self) -> &[SqlType] {
        &self.columns
    }

    /// Appends the encoded row. The values must be what [`cast::assign`](crate::cast::assign) returned for the columns' types.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) {
        assert_eq!(values.len(), self.columns.len(), "one value per column");
        self.encode_with(|i| values[i].as_ref(), out);
    }

    /// Appends the row whose column `i` is `value(i)`. Asks for every column at least once, in no particular order.
    pub fn encode_with<'a>(&self, value: impl Fn(usize) -> ValueRef<'a>, out: &mut Vec<u8>) {
        self.build(
            |i| match value(i) {
                ValueRef::Null => Source::Null,
                value => Source::Value(value),
            },
            out,
        );
    }

    /// Appends `row` with some columns replaced; the others are copied as bytes.
    pub fn encode_update(&self, row: &[u8], changes: &[(usize, Value)], out: &mut Vec<u8>) {
        self.build(
            |i| match changes.iter().find(|(column, _)| *column == i) {
                Some((_, Value::Null)) => Source::Null,
                Some((_, value)) => Source::Value(value.as_ref()),
                None => self.raw(row, i).map_or(Source::Null, Source::Raw),
            },
            out,
        );
    }

    fn build<'a>(&self, source: impl Fn(usize) -> Source<'a>, out: &mut Vec<u8>) {
        let start = out.len();
        out.reserve(self.frame.fixed_end + 4 * self.frame.variable_columns + 1);
        out.resize(start + self.frame.header_len, 0);
        self.build_columns(start, source, out);
        if !self.older.is_empty() {
            out[start] |= MARK;
            out.push(self.older.len() as u8);
        }
    }

    /// The columns behind the header, which begins at `start`.
    fn build_columns<'a>(&self, start: usize, source: impl Fn(usize) -> Source<'a>, out: &mut Vec<u8>) {
        let mut data_len = 0;
        for (i, place) in self.frame.places.iter().enumerate() {
            let source = source(i);
            if let Source::Null = source {
                let bit = place.null_bit.expect("a NOT NULL column was assigned a value");
                out[start + bit as usize / 8] |= 1 << (bit % 8);
            }
            match place.data {
                Data::Fixed { codec, .. } => match source {
                    Source::Null => out.resize(out.len() + codec.len(), 0),
                    Source::Value(value) => codec.write(value, out),
                    Source::Raw(bytes) => out.extend_from_slice(bytes),
                },
                Data::Variable { .. } => data_len += variable_bytes(&source).len(),
            }
        }
        if self.frame.variable_columns == 0 {
            return;
        }
        let width = if data_len > usize::from(u16::MAX) { 4 } else { 2 };
        out[start] |= u8::from(width == 4);
        let mut table = out.len();
        out.resize(table + width * self.frame.variable_columns, 0);
        out.reserve(data_len);
        let data = out.len();
        for (i, place) in self.frame.places.iter().enumerate() {
            if let Data::Variable { .. } = place.data {
                out.extend_from_slice(variable_bytes(&source(i)));
                let end = (out.len() - data) as u32;
                out[table..table + width].copy_from_slice(&end.to_le_bytes()[..width]);
                table += width;
            }
        }
    }

    /// A view of one column. Inlined into every loop over rows, where most of it falls away.
    #[inline(always)]
    pub fn column<'a>(&'a self, row: &'a [u8], column: usize) -> ValueRef<'a> {
        let Some(bytes) = self.raw(row, column) else {
            return ValueRef::Null;
        };
        let ty = &self.columns[column];
        match self.frame.places[column].data {
            Data::Fixed { codec, .. } => codec.read(bytes, ty),
            Data::Variable { .. } => match ty.kind {
                TypeKind::Json => ValueRef::Json(JsonRef::from_valid_bytes(bytes)),
                kind if kind.is_text() => ValueRef::Str(text(bytes)),
                _ => ValueRef::Bytes(bytes),
            },
        }
    }

    /// The column's bytes as they lie in the row; `None` for NULL. Strings are their text; the rest has its key form.
    #[inline]
    pub fn raw<'a>(&'a self, row: &'a [u8], column: usize) -> Option<&'a [u8]> {
        if self.older.is_empty() {
            return self.frame.raw(row, column);
        }
        self.raw_of_any_generation(row, column)
    }

    #[inline]
    pub fn is_null(&self, row: &[u8], column: usize) -> bool {
        match self.older.is_empty() {
            true => self.frame.is_null(row, column),
            false => self.raw_of_any_generation(row, column).is_none(),
        }
    }

    /// All columns, owned.
    pub fn decode(&self, row: &[u8]) -> Vec<Value> {
        (0..self.columns.len())
            .map(|i| self.column(row, i).to_value())
            .collect()
    }

    /// Checks bytes from a disk or the network.
    pub fn validate(&self, row: &[u8]) -> Result<(), CorruptRow> {
        if self.is_marked {
            return self.validate_marked(row);
        }
        self.frame.validate(row, &self.columns)
    }
}

#[inline]
fn offset_width(row: &[u8]) -> usize {
    if row[0] & 1 == 1 { 4 } else { 2 }
}

/// A text column. Not inlined: reading a number, which is done for each row, stays small.
fn text(bytes: &[u8]) -> &str {
    crate::value::utf8(bytes).expect("text was valid when the row was made or loaded")
}

fn variable_bytes<'a>(source: &Source<'a>) -> &'a [u8] {
    match *source {
        Source::Null => &[],
        Source::Raw(bytes) | Source::Value(ValueRef::Bytes(bytes)) => bytes,
        Source::Value(ValueRef::Str(text)) => text.as_bytes(),
        Source::Value(ValueRef::Json(json)) => json.as_bytes(),
        Source::Value(other) => panic!("{other:?} was not assigned to a string column"),
    }
}

#[cfg(test)]
mod tests;
