//! Rows of a result set, text and binary.
//!
//! A writer appends straight to the send buffer, so that a row is encoded once, from wherever its values are.

use crate::column::ColumnType;
use crate::value::{BinaryDateTime, BinaryTime, BinaryValue, put_integer};
use crate::{Malformed, Reader, put};

const NULL_TEXT: u8 = 0xfb;
/// The null bitmap of a binary row begins at its third bit.
const NULL_BIT_OFFSET: usize = 2;

/// Writes a row of the text protocol: each value as text with its length.
#[derive(Debug)]
pub struct TextRow<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> TextRow<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        TextRow { out }
    }

    #[inline]
    pub fn null(&mut self) {
        self.out.push(NULL_TEXT);
    }

    #[inline]
    pub fn int(&mut self, n: i64) {
        put::lenenc_with(self.out, |out| put::decimal_i64(out, n));
    }

    #[inline]
    pub fn uint(&mut self, n: u64) {
        put::lenenc_with(self.out, |out| put::decimal_u64(out, n));
    }

    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        put::lenenc_bytes(self.out, bytes);
    }

    /// A value whose text `write` appends.
    #[inline]
    pub fn text_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        put::lenenc_with(self.out, write);
    }

    /// A long value, which is not moved after `write` has appended it.
    pub fn long_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        put::long_lenenc_with(self.out, write);
    }
}

/// Writes a row of the binary protocol. Values come in the order of the columns, each once.
#[derive(Debug)]
pub struct BinaryRow<'a> {
    out: &'a mut Vec<u8>,
    nulls_at: usize,
    column: usize,
}

impl<'a> BinaryRow<'a> {
    pub fn new(out: &'a mut Vec<u8>, columns: usize) -> Self {
        out.push(0);
        let nulls_at = out.len();
        out.resize(nulls_at + (columns + NULL_BIT_OFFSET).div_ceil(8), 0);
        BinaryRow {
            out,
            nulls_at,
            column: 0,
        }
    }

    #[inline]
    pub fn null(&mut self) {
        let bit = self.column + NULL_BIT_OFFSET;
        self.out[self.nulls_at + bit / 8] |= 1 << (bit % 8);
        self.column += 1;
    }

    /// An integer in the width of its column's type; signed ones as their two's complement.
    #[inline]
    pub fn integer(&mut self, ty: ColumnType, n: u64) {
        put_integer(self.out, ty, n);
        self.column += 1;
    }

    #[inline]
    pub fn float(&mut self, n: f32) {
        put::u32(self.out, n.to_bits());
        self.column += 1;
    }

    #[inline]
    pub fn double(&mut self, n: f64) {
        put::u64(self.out, n.to_bits());
        self.column += 1;
    }

    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        put::lenenc_bytes(self.out, bytes);
        self.column += 1;
    }

    pub fn date(&mut self, date: BinaryDateTime) {
        date.write_date(self.out);
        self.column += 1;
    }

    pub fn date_time(&mut self, date: BinaryDateTime) {
        date.write(self.out);
        self.column += 1;
    }

    pub fn time(&mut self, time: BinaryTime) {
        time.write(self.out);
        self.column += 1;
    }

    /// A value that travels as a string, whose text `write` appends.
    #[inline]
    pub fn text_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        put::lenenc_with(self.out, write);
        self.column += 1;
    }

    /// A long value, which is not moved after `write` has appended it.
    pub fn long_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        put::long_lenenc_with(self.out, write);
        self.column += 1;
    }
}

/// The client's side of a text row: its values in order, `None` for NULL.
pub fn text_values(payload: &[u8]) -> impl Iterator<Item = Result<Option<&[u8]>, Malformed>> {
    let mut reader = Reader::new(payload);
    std::iter::from_fn(move || {
        if reader.peek()? == NULL_TEXT {
            return Some(reader.u8("NULL").map(|_| None));
        }
        let value = reader.lenenc_bytes("text value").map(Some);
        if value.is_err() {
            reader.take_rest();
        }
        Some(value)
    })
}

/// The client's side of a binary row; `columns` are the types of the result set, each with whether it is unsigned.
pub fn binary_values<'a>(
    payload: &'a [u8],
    columns: impl ExactSizeIterator<Item = (ColumnType, bool)>,
) -> Result<Vec<BinaryValue<'a>>, Malformed> {
    let reader = &mut Reader::new(payload);
    if reader.u8("binary row")? != 0 {
        return Err(Malformed("binary row"));
    }
    let nulls = reader.bytes((columns.len() + NULL_BIT_OFFSET).div_ceil(8), "null bitmap")?;
    let is_null = |column: usize| {
        let bit = column + NULL_BIT_OFFSET;
        nulls[bit / 8] >> (bit % 8) & 1 == 1
    };
    columns
        .enumerate()
        .map(|(column, (ty, unsigned))| match is_null(column) {
            true => Ok(BinaryValue::Null),
            false => BinaryValue::read(reader, ty, unsigned),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_rows_read_back() {
        let mut out = Vec::new();
        let mut row = TextRow::new(&mut out);
        row.null();
        row.int(-7);
        row.uint(u64::MAX);
        row.bytes(&[b'x'; 300]);
        row.text_with(|out| out.extend_from_slice(b"1.50"));
        row.bytes(b"");
        let values: Result<Vec<_>, _> = text_values(&out).collect();
        let expected: [Option<&[u8]>; 6] = [
            None,
            Some(b"-7"),
            Some(b"18446744073709551615"),
            Some(&[b'x'; 300]),
            Some(b"1.50"),
            Some(b""),
        ];
        assert_eq!(values.unwrap(), expected);
    }

    #[test]
    fn a_damaged_text_row_ends_with_an_error() {
        let values: Vec<_> = text_values(&[1, b'a', 5, b'b']).collect();
        assert_eq!(values, [Ok(Some(&b"a"[..])), Err(Malformed("text value"))]);
    }

    #[test]
    fn binary_rows_read_back() {
        let date = BinaryDateTime {
            year: 2024,
            month: 2,
            day: 29,
            hour: 23,
            ..Default::default()
        };
        let time = BinaryTime {
            negative: true,
            days: 34,
            hour: 22,
            minute: 59,
            second: 59,
            microsecond: 1,
        };
        let columns = [
            (ColumnType::Tiny, false),
            (ColumnType::Null, false),
            (ColumnType::LongLong, true),
            (ColumnType::Double, false),
            (ColumnType::VarString, false),
            (ColumnType::DateTime, false),
            (ColumnType::VarString, false),
            (ColumnType::Time, false),
            (ColumnType::Date, false),
        ];
        let mut out = Vec::new();
        let mut row = BinaryRow::new(&mut out, columns.len());
        row.integer(ColumnType::Tiny, -1i64 as u64);
        row.null();
        row.integer(ColumnType::LongLong, u64::MAX);
        row.double(0.5);
        row.bytes(b"text");
        row.date_time(date);
        row.null();
        row.time(time);
        row.date(BinaryDateTime::default());
        let values = binary_values(&out, columns.into_iter()).unwrap();
        let expected = [
            BinaryValue::Int(-1),
            BinaryValue::Null,
            BinaryValue::UInt(u64::MAX),
            BinaryValue::Double(0.5),
            BinaryValue::Bytes(b"text"),
            BinaryValue::DateTime(date),
            BinaryValue::Null,
            BinaryValue::Time(time),
            BinaryValue::Date(BinaryDateTime::default()),
        ];
        assert_eq!(values, expected);
    }
}
