//! Fixed-size column types as bytes whose order is the order of the values.
//!
//! Rows and keys share this form: making a key from a row copies the bytes. All are big-endian unsigned integers in effect:
//!
//! | type | bytes | content |
//! |---|---|---|
//! | integers | 1, 2, 3, 4, 8 | sign bit flipped unless unsigned |
//! | FLOAT, DOUBLE | 4, 8 | IEEE bits; sign flipped if positive, all flipped if negative |
//! | DECIMAL(p,s) | by p: 5 for 10 | coefficient at scale s, plus half of the range |
//! | DATE | 3 | year 14 bits, month 4, day 5 |
//! | DATETIME(f) | 5 + (f+1)/2 | year 14, month 4, day 5, hour 5, minute 6, second 6 bits; fraction |
//! | TIME(f) | 3 + (f+1)/2 | fraction units, plus half of the range |
//! | TIMESTAMP(f) | 4 + (f+1)/2 | fraction units since 1970 |
//! | YEAR | 1 | 0, or the year less 1900 |
//! | BIT(n) | (n+7)/8 | |
//! | ENUM, SET | 1-2, 1-8 | index, member bits |
//! | BINARY(n) | n | the bytes |

use crate::decimal::Decimal;
use crate::sql_type::{SqlType, TypeKind};
use crate::time::{Date, DateTime, Time, UnixTime};
use crate::value::{Bit, EnumRef, SetRef, ValueRef};

/// The encoding of one fixed-size type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fixed {
    form: Form,
    len: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Signed,
    Unsigned,
    Float,
    Double,
    Decimal {
        scale: u8,
    },
    Date,
    /// `unit` is the number of microseconds in the last stored digit pair.
    Time {
        unit: u32,
        fsp: u8,
    },
    DateTime {
        unit: u32,
        fsp: u8,
    },
    Timestamp {
        unit: u32,
        fsp: u8,
    },
    Year,
    Bit {
        width: u8,
    },
    Enum,
    Set,
    Binary,
}

impl Fixed {
    /// `None` for types of variable size.
    pub(crate) fn of(ty: &SqlType) -> Option<Fixed> {
        let integer = if ty.unsigned { Form::Unsigned } else { Form::Signed };
        let fsp = ty.decimals;
        let fraction = u16::from(fsp).div_ceil(2);
        let unit = [1_000_000, 10_000, 100, 1][usize::from(fraction.min(3))];
        let (form, len) = match ty.kind {
            TypeKind::TinyInt => (integer, 1),
            TypeKind::SmallInt => (integer, 2),
            TypeKind::MediumInt => (integer, 3),
            TypeKind::Int => (integer, 4),
            TypeKind::BigInt => (integer, 8),
            TypeKind::Float => (Form::Float, 4),
            TypeKind::Double => (Form::Double, 8),
            TypeKind::Decimal => (
                Form::Decimal { scale: ty.decimals },
                Decimal::sortable_len(ty.length as u8) as u16,
            ),
            TypeKind::Date => (Form::Date, 3),
            TypeKind::Time => (Form::Time { unit, fsp }, 3 + fraction),
            TypeKind::DateTime => (Form::DateTime { unit, fsp }, 5 + fraction),
            TypeKind::Timestamp => (Form::Timestamp { unit, fsp }, 4 + fraction),
            TypeKind::Year => (Form::Year, 1),
            TypeKind::Bit => (Form::Bit { width: ty.length as u8 }, (ty.length as u16).div_ceil(8)),
            TypeKind::Enum => (Form::Enum, if ty.labels.len() < 256 { 1 } else { 2 }),
            TypeKind::Set => match ty.labels.len().div_ceil(8) {
                bytes @ 0..=4 => (Form::Set, bytes.max(1) as u16),
                _ => (Form::Set, 8),
            },
            TypeKind::Binary => (Form::Binary, ty.length as u16),
            _ => return None,
        };
        Some(Fixed { form, len })
    }

    pub(crate) fn len(self) -> usize {
        usize::from(self.len)
    }

    /// Appends `len` bytes. The value must be one that was assigned to the type; it is not NULL.
    #[inline]
    pub(crate) fn write(self, value: ValueRef<'_>, out: &mut Vec<u8>) {
        match (self.form, value) {
            (Form::Signed, ValueRef::Int(v)) => self.push(v as u64 ^ self.sign_bit(), out),
            (Form::Signed, ValueRef::UInt(v)) => self.push(v ^ self.sign_bit(), out),
            (Form::Unsigned, ValueRef::UInt(v)) => self.push(v, out),
            (Form::Unsigned, ValueRef::Int(v)) => self.push(v as u64, out),
            (Form::Decimal { scale }, ValueRef::Decimal(v)) => v.write_sortable(scale, self.len(), out),
            (Form::Binary, ValueRef::Bytes(v)) => self.push_padded(v, out),
            (Form::Binary, ValueRef::Str(v)) => self.push_padded(v.as_bytes(), out),
            _ => match self.to_word(value) {
                Some(word) => self.push(word, out),
                None => panic!("{value:?} was not assigned to the column's type ({:?})", self.form),
            },
        }
    }

    /// [`Fixed::write`] of an integer type.
    #[inline]
    pub(crate) fn write_integer(self, value: i64, out: &mut Vec<u8>) {
        let flip = if self.form == Form::Signed { self.sign_bit() } else { 0 };
        self.push(value as u64 ^ flip, out);
    }

    fn to_word(self, value: ValueRef<'_>) -> Option<u64> {
        Some(match (self.form, value) {
            (Form::Float, ValueRef::Float(v)) => float_word(v),
            (Form::Float, ValueRef::Double(v)) => float_word(v as f32),
            (Form::Double, ValueRef::Double(v)) => double_word(v),
            (Form::Double, ValueRef::Float(v)) => double_word(f64::from(v)),
            (Form::Date, ValueRef::Date(v)) => u64::from(v.to_packed()),
            (Form::Date, ValueRef::DateTime(v)) => u64::from(v.date.to_packed()),
            (Form::Time { unit, .. }, ValueRef::Time(v)) => (v.micros / i64::from(unit)) as u64 ^ self.sign_bit(),
            (Form::DateTime { unit, .. }, ValueRef::DateTime(v)) => {
                v.packed_seconds() << (8 * (self.len - 5)) | u64::from(v.micros / unit)
            }
            (Form::DateTime { .. }, ValueRef::Date(v)) => DateTime::from(v).packed_seconds() << (8 * (self.len - 5)),
            (Form::Timestamp { unit, .. }, ValueRef::Timestamp(v)) => v.micros as u64 / u64::from(unit),
            (Form::Year, ValueRef::Year(v)) => u64::from(v.saturating_sub(1900)),
            (Form::Bit { .. }, ValueRef::Bit(v)) => v.value,
            (Form::Bit { .. }, ValueRef::UInt(v)) => v,
            (Form::Enum, ValueRef::Enum(v)) => u64::from(v.index),
            (Form::Set, ValueRef::Set(v)) => v.bits,
            _ => return None,
        })
    }

    /// The value of `len` bytes that passed [`Fixed::is_valid`].
    #[inline]
    pub(crate) fn read<'a>(self, bytes: &'a [u8], ty: &'a SqlType) -> ValueRef<'a> {
        match self.form {
            Form::Signed => ValueRef::Int(self.signed(bytes)),
            Form::Unsigned => ValueRef::UInt(word(bytes)),
            Form::Float => ValueRef::Float(float_from(word(bytes) as u32)),
            Form::Double => ValueRef::Double(double_from(word(bytes))),
            Form::Decimal { scale } => {
                ValueRef::Decimal(Decimal::read_sortable(bytes, scale).expect("the row was validated"))
            }
            Form::Date => ValueRef::Date(Date::from_packed(word(bytes) as u32)),
            Form::Time { unit, fsp } => ValueRef::Time(Time {
                micros: self.signed(bytes) * i64::from(unit),
                fsp,
            }),
            Form::DateTime { unit, fsp } => {
                let packed = word(bytes);
                let bits = 8 * (self.len - 5);
                let fraction = (packed & ((1 << bits) - 1)) as u32 * if bits == 0 { 0 } else { unit };
                ValueRef::DateTime(DateTime::from_packed(packed >> bits, fraction, fsp))
            }
            Form::Timestamp { unit, fsp } => ValueRef::Timestamp(UnixTime {
                micros: word(bytes) as i64 * i64::from(unit),
                fsp,
            }),
            Form::Year => ValueRef::Year(if bytes[0] == 0 { 0 } else { 1900 + u16::from(bytes[0]) }),
            Form::Bit { width } => ValueRef::Bit(Bit {
                value: word(bytes),
                width,
            }),
            Form::Enum => ValueRef::Enum(EnumRef {
                index: word(bytes) as u16,
                labels: &ty.labels,
            }),
            Form::Set => ValueRef::Set(SetRef {
                bits: word(bytes),
                labels: &ty.labels,
            }),
            Form::Binary => ValueRef::Bytes(bytes),
        }
    }

    /// Whether `len` bytes are an encoded value.
    pub(crate) fn is_valid(self, bytes: &[u8], ty: &SqlType) -> bool {
        match self.form {
            Form::Signed | Form::Unsigned | Form::Year | Form::Binary => true,
            Form::Float => float_from(word(bytes) as u32).is_finite(),
            // No SQL value is infinite; the scores of sorted sets may be.
            Form::Double => !double_from(word(bytes)).is_nan(),
            Form::Decimal { scale } => {
                Decimal::read_sortable(bytes, scale).is_some_and(|d| d.precision() <= ty.length.max(1) as u8)
            }
            Form::Date => Date::from_packed(word(bytes) as u32).is_in_range(),
            Form::Time { unit, fsp } => Time {
                micros: self.signed(bytes).saturating_mul(i64::from(unit)),
                fsp,
            }
            .is_in_range(),
            Form::DateTime { .. } => match self.read(bytes, ty) {
                ValueRef::DateTime(v) => v.is_in_range(),
                _ => false,
            },
            Form::Timestamp { .. } => true,
            Form::Bit { width } => width >= 64 || word(bytes) >> width == 0,
            Form::Enum => word(bytes) <= ty.labels.len() as u64,
            Form::Set => ty.labels.len() >= 64 || word(bytes) >> ty.labels.len() == 0,
        }
    }

    #[inline]
    fn sign_bit(self) -> u64 {
        1 << (8 * self.len - 1)
    }

    #[inline]
    fn signed(self, bytes: &[u8]) -> i64 {
        let unused = 64 - 8 * u32::from(self.len);
        ((word(bytes) ^ self.sign_bit()) << unused) as i64 >> unused
    }

    #[inline]
    fn push(self, word: u64, out: &mut Vec<u8>) {
        match self.len {
            4 => out.extend_from_slice(&(word as u32).to_be_bytes()),
            8 => out.extend_from_slice(&word.to_be_bytes()),
            len => out.extend_from_slice(&word.to_be_bytes()[8 - usize::from(len)..]),
        }
    }

    fn push_padded(self, bytes: &[u8], out: &mut Vec<u8>) {
        let n = bytes.len().min(self.len());
        out.extend_from_slice(&bytes[..n]);
        out.resize(out.len() + self.len() - n, 0);
    }
}

/// Up to 8 big-endian bytes.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return u64::from(u32::from_be_bytes(four));
    }
    if let Ok(eight) = <[u8; 8]>::try_from(bytes) {
        return u64::from_be_bytes(eight);
    }
    bytes.iter().fold(0, |word, &b| word << 8 | u64::from(b))
}

fn float_word(v: f32) -> u64 {
    // Adding zero makes -0.0 into 0.0: they are equal, so they must be one key.
    let bits = (v + 0.0).to_bits();
    u64::from(if bits >> 31 == 1 { !bits } else { bits | 1 << 31 })
}

fn float_from(word: u32) -> f32 {
    f32::from_bits(if word >> 31 == 1 { word & !(1 << 31) } else { !word })
}

fn double_word(v: f64) -> u64 {
    let bits = (v + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn double_from(word: u64) -> f64 {
    f64::from_bits(if word >> 63 == 1 { word & !(1 << 63) } else { !word })
}
