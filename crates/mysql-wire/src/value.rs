//! One value in the binary protocol, the same in a statement's parameter and in a result's row.

use crate::column::ColumnType;
use crate::{Malformed, Reader, put};

/// A decoded binary value, borrowing from the packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BinaryValue<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Date(BinaryDateTime),
    DateTime(BinaryDateTime),
    Time(BinaryTime),
    /// Everything that travels as a string: text, blobs, DECIMAL, BIT, ENUM, SET, JSON.
    Bytes(&'a [u8]),
}

/// DATE, DATETIME or TIMESTAMP. The fields are the peer's: they may name no real day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BinaryDateTime {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

/// TIME: a signed span of days, hours, minutes, seconds and microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BinaryTime {
    pub negative: bool,
    pub days: u32,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

impl<'a> BinaryValue<'a> {
    /// Reads a value that is not NULL, of the type a client bound or a server described.
    #[inline]
    pub fn read(reader: &mut Reader<'a>, ty: ColumnType, unsigned: bool) -> Result<Self, Malformed> {
        let what = "value";
        Ok(match ty {
            ColumnType::LongLong if unsigned => BinaryValue::UInt(reader.u64(what)?),
            ColumnType::LongLong => BinaryValue::Int(reader.u64(what)? as i64),
            ColumnType::Long | ColumnType::Int24 if unsigned => BinaryValue::UInt(reader.u32(what)?.into()),
            ColumnType::Long | ColumnType::Int24 => BinaryValue::Int((reader.u32(what)? as i32).into()),
            ColumnType::Short if unsigned => BinaryValue::UInt(reader.u16(what)?.into()),
            ColumnType::Year => BinaryValue::UInt(reader.u16(what)?.into()),
            ColumnType::Short => BinaryValue::Int((reader.u16(what)? as i16).into()),
            ColumnType::Tiny if unsigned => BinaryValue::UInt(reader.u8(what)?.into()),
            ColumnType::Tiny => BinaryValue::Int((reader.u8(what)? as i8).into()),
            ColumnType::Float => BinaryValue::Float(f32::from_bits(reader.u32(what)?)),
            ColumnType::Double => BinaryValue::Double(f64::from_bits(reader.u64(what)?)),
            ColumnType::Date => BinaryValue::Date(BinaryDateTime::read(reader)?),
            ColumnType::DateTime | ColumnType::Timestamp => BinaryValue::DateTime(BinaryDateTime::read(reader)?),
            ColumnType::Time => BinaryValue::Time(BinaryTime::read(reader)?),
            ColumnType::Null => BinaryValue::Null,
            _ => BinaryValue::Bytes(reader.lenenc_bytes(what)?),
        })
    }

    /// Writes the value in the width that `ty` has. A NULL writes nothing: it is a bit elsewhere.
    pub fn write(&self, out: &mut Vec<u8>, ty: ColumnType) {
        match *self {
            BinaryValue::Null => {}
            BinaryValue::Int(n) => put_integer(out, ty, n as u64),
            BinaryValue::UInt(n) => put_integer(out, ty, n),
            BinaryValue::Float(n) => put::u32(out, n.to_bits()),
            BinaryValue::Double(n) => put::u64(out, n.to_bits()),
            BinaryValue::Date(date) => date.write_date(out),
            BinaryValue::DateTime(date) => date.write(out),
            BinaryValue::Time(time) => time.write(out),
            BinaryValue::Bytes(bytes) => put::lenenc_bytes(out, bytes),
        }
    }
}

/// An integer in the width of its column's type.
#[inline]
pub fn put_integer(out: &mut Vec<u8>, ty: ColumnType, n: u64) {
    match ty {
        ColumnType::Tiny => out.push(n as u8),
        ColumnType::Short | ColumnType::Year => put::u16(out, n as u16),
        ColumnType::Long | ColumnType::Int24 => put::u32(out, n as u32),
        _ => put::u64(out, n),
    }
}

impl BinaryDateTime {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        let what = "date";
        let len = reader.u8(what)?;
        let mut date = BinaryDateTime::default();
        if !matches!(len, 0 | 4 | 7 | 11) {
            return Err(Malformed(what));
        }
        if len >= 4 {
            (date.year, date.month, date.day) = (reader.u16(what)?, reader.u8(what)?, reader.u8(what)?);
        }
        if len >= 7 {
            (date.hour, date.minute, date.second) = (reader.u8(what)?, reader.u8(what)?, reader.u8(what)?);
        }
        if len == 11 {
            date.microsecond = reader.u32(what)?;
        }
        Ok(date)
    }

    /// As a DATETIME or TIMESTAMP, in the shortest form that holds it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let with_time = (self.hour, self.minute, self.second) != (0, 0, 0);
        match (self.microsecond, with_time) {
            (0, false) => self.write_date(out),
            (0, true) => {
                out.push(7);
                self.write_day(out);
                out.extend_from_slice(&[self.hour, self.minute, self.second]);
            }
            (microsecond, _) => {
                out.push(11);
                self.write_day(out);
                out.extend_from_slice(&[self.hour, self.minute, self.second]);
                put::u32(out, microsecond);
            }
        }
    }

    /// As a DATE.
    pub fn write_date(&self, out: &mut Vec<u8>) {
        if (self.year, self.month, self.day) == (0, 0, 0) {
            out.push(0);
        } else {
            out.push(4);
            self.write_day(out);
        }
    }

    fn write_day(&self, out: &mut Vec<u8>) {
        put::u16(out, self.year);
        out.extend_from_slice(&[self.month, self.day]);
    }
}

impl BinaryTime {
    fn read(reader: &mut Reader) -> Result<Self, Malformed> {
        let what = "time";
        let len = reader.u8(what)?;
        let mut time = BinaryTime::default();
        if !matches!(len, 0 | 8 | 12) {
            return Err(Malformed(what));
        }
        if len >= 8 {
            time.negative = reader.u8(what)? != 0;
            time.days = reader.u32(what)?;
            (time.hour, time.minute, time.second) = (reader.u8(what)?, reader.u8(what)?, reader.u8(what)?);
        }
        if len == 12 {
            time.microsecond = reader.u32(what)?;
        }
        Ok(time)
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        if *self
            == (BinaryTime {
                negative: self.negative,
                ..Default::default()
            })
        {
            out.push(0);
            return;
        }
        out.push(if self.microsecond == 0 { 8 } else { 12 });
        out.push(self.negative.into());
        put::u32(out, self.days);
        out.extend_from_slice(&[self.hour, self.minute, self.second]);
        if self.microsecond != 0 {
            put::u32(out, self.microsecond);
        }
    }
}
