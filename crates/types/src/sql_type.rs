//! The SQL type of a column or an expression: everything that `SHOW CREATE TABLE`, a column definition packet, an encoding
//! or an assignment needs to know.

use crate::charset::CharsetId;
use crate::collation::CollationId;
use crate::value::Str;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// `decimals` of a floating point type without a fixed number of digits, in the protocol and here.
pub const NOT_FIXED_DECIMALS: u8 = 31;

/// A type. Build one with the constructors ([`SqlType::int`], [`SqlType::varchar`], ...) and adjust the public fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlType {
    pub kind: TypeKind,
    pub unsigned: bool,
    /// Implies `unsigned`; numbers are printed with leading zeros up to `length`.
    pub zerofill: bool,
    pub nullable: bool,
    /// Integers: display width. DECIMAL, FLOAT(M,D): digits in all. BIT: bits. CHAR, VARCHAR: characters; BINARY, VARBINARY: bytes.
    /// TEXT, BLOB, JSON: most bytes. ENUM, SET: unused. Temporals: characters of the printed form.
    pub length: u32,
    /// Digits after the point: DECIMAL's scale, a temporal's fraction (0..=6), 31 for FLOAT and DOUBLE without (M,D).
    pub decimals: u8,
    /// `binary` for everything that is not text.
    pub collation: CollationId,
    /// The members of ENUM and SET; empty otherwise.
    pub labels: Labels,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TypeKind {
    /// The type of a bare NULL.
    Null,
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Decimal,
    Float,
    Double,
    Bit,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyText,
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Enum,
    Set,
    Json,
}

/// The members of an ENUM or a SET, shared by the type and its values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels(Option<Arc<[Str]>>);

impl Labels {
    pub fn new<T: AsRef<str>>(labels: impl IntoIterator<Item = T>) -> Labels {
        let labels: Arc<[Str]> = labels.into_iter().map(|l| Str::new(l.as_ref())).collect();
        Labels((!labels.is_empty()).then_some(labels))
    }

    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |l| l.len())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The label at the 0-based position.
    pub fn get(&self, position: usize) -> Option<&str> {
        self.0.as_ref()?.get(position).map(Str::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|l| l.iter()).map(Str::as_str)
    }

    /// The 0-based position of the label that equals `text` under the collation.
    pub fn position(&self, text: &str, collation: CollationId) -> Option<usize> {
        self.iter().position(|l| l == text).or_else(|| {
            self.iter()
                .position(|l| collation.compare(l.as_bytes(), text.as_bytes()).is_eq())
        })
    }
}

impl Serialize for Labels {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Labels, D::Error> {
        Ok(Labels::new(Vec::<String>::deserialize(deserializer)?))
    }
}

impl TypeKind {
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            Self::TinyInt | Self::SmallInt | Self::MediumInt | Self::Int | Self::BigInt
        )
    }

    pub fn is_numeric(self) -> bool {
        self.is_integer()
            || matches!(
                self,
                Self::Decimal | Self::Float | Self::Double | Self::Bit | Self::Year
            )
    }

    pub fn is_temporal(self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::DateTime | Self::Timestamp)
    }

    /// CHAR, VARCHAR, the TEXT family: strings with a collation.
    pub fn is_text(self) -> bool {
        matches!(
            self,
            Self::Char | Self::VarChar | Self::TinyText | Self::Text | Self::MediumText | Self::LongText
        )
    }

    /// BINARY, VARBINARY, the BLOB family.
    pub fn is_binary(self) -> bool {
        matches!(
            self,
            Self::Binary | Self::VarBinary | Self::TinyBlob | Self::Blob | Self::MediumBlob | Self::LongBlob
        )
    }

    /// TEXT and BLOB families: no default value, keys only with a prefix length.
    pub fn is_lob(self) -> bool {
        matches!(
            self,
            Self::TinyText
                | Self::Text
                | Self::MediumText
                | Self::LongText
                | Self::TinyBlob
                | Self::Blob
                | Self::MediumBlob
                | Self::LongBlob
        )
    }
}

impl SqlType {
    fn base(kind: TypeKind, length: u32, decimals: u8) -> SqlType {
        SqlType {
            kind,
            unsigned: false,
            zerofill: false,
            nullable: true,
            length,
            decimals,
            collation: CollationId::BINARY,
            labels: Labels::default(),
        }
    }

    pub fn null() -> SqlType {
        Self::base(TypeKind::Null, 0, 0)
    }

    /// An integer of any of the five sizes, with MySQL's default display width. Panics on another kind.
    pub fn integer(kind: TypeKind, unsigned: bool) -> SqlType {
        let (signed_width, unsigned_width) = match kind {
            TypeKind::TinyInt => (4, 3),
            TypeKind::SmallInt => (6, 5),
            TypeKind::MediumInt => (9, 8),
            TypeKind::Int => (11, 10),
            TypeKind::BigInt => (20, 20),
            other => unreachable!("{other:?} is not an integer"),
        };
        let length = if unsigned { unsigned_width } else { signed_width };
        SqlType {
            unsigned,
            ..Self::base(kind, length, 0)
        }
    }

    pub fn int() -> SqlType {
        Self::integer(TypeKind::Int, false)
    }

    pub fn bigint() -> SqlType {
        Self::integer(TypeKind::BigInt, false)
    }

    pub fn bigint_unsigned() -> SqlType {
        Self::integer(TypeKind::BigInt, true)
    }

    /// What a comparison yields: an INT of width 1.
    pub fn boolean() -> SqlType {
        SqlType {
            length: 1,
            ..Self::bigint()
        }
    }

    /// `DECIMAL(precision, scale)`: 1..=65, 0..=30.
    pub fn decimal(precision: u8, scale: u8) -> SqlType {
        Self::base(TypeKind::Decimal, u32::from(precision), scale)
    }

    pub fn float() -> SqlType {
        Self::base(TypeKind::Float, 12, NOT_FIXED_DECIMALS)
    }

    pub fn double() -> SqlType {
        Self::base(TypeKind::Double, 22, NOT_FIXED_DECIMALS)
    }

    /// `BIT(bits)`: 1..=64.
    pub fn bit(bits: u8) -> SqlType {
        SqlType {
            unsigned: true,
            ..Self::base(TypeKind::Bit, u32::from(bits), 0)
        }
    }

    pub fn char(chars: u32, collation: CollationId) -> SqlType {
        SqlType {
            collation,
            ..Self::base(TypeKind::Char, chars, 0)
        }
    }

    pub fn varchar(chars: u32, collation: CollationId) -> SqlType {
        SqlType {
            collation,
            ..Self::base(TypeKind::VarChar, chars, 0)
        }
    }

    pub fn binary(bytes: u32) -> SqlType {
        Self::base(TypeKind::Binary, bytes, 0)
    }

    pub fn varbinary(bytes: u32) -> SqlType {
        Self::base(TypeKind::VarBinary, bytes, 0)
    }

    /// One of the TEXT family. Panics on another kind.
    pub fn text(kind: TypeKind, collation: CollationId) -> SqlType {
        let length = match kind {
            TypeKind::TinyText => 0xff,
            TypeKind::Text => 0xffff,
            TypeKind::MediumText => 0xff_ffff,
            TypeKind::LongText => u32::MAX,
            other => unreachable!("{other:?} is not a TEXT"),
        };
        SqlType {
            collation,
            ..Self::base(kind, length, 0)
        }
    }

    /// One of the BLOB family. Panics on another kind.
    pub fn blob(kind: TypeKind) -> SqlType {
        let length = match kind {
            TypeKind::TinyBlob => 0xff,
            TypeKind::Blob => 0xffff,
            TypeKind::MediumBlob => 0xff_ffff,
            TypeKind::LongBlob => u32::MAX,
            other => unreachable!("{other:?} is not a BLOB"),
        };
        Self::base(kind, length, 0)
    }

    pub fn date() -> SqlType {
        Self::base(TypeKind::Date, 10, 0)
    }

    /// `TIME(fsp)`.
    pub fn time(fsp: u8) -> SqlType {
        Self::base(TypeKind::Time, 10 + fraction_width(fsp), fsp)
    }

    pub fn datetime(fsp: u8) -> SqlType {
        Self::base(TypeKind::DateTime, 19 + fraction_width(fsp), fsp)
    }

    pub fn timestamp(fsp: u8) -> SqlType {
        Self::base(TypeKind::Timestamp, 19 + fraction_width(fsp), fsp)
    }

    /// The type of a value that was computed of one of this type: zeros stand before a column's numbers alone.
    pub fn of_result(self) -> SqlType {
        SqlType {
            zerofill: false,
            ..self
        }
    }

    /// How many bits the values of an integer type have.
    pub fn integer_bits(&self) -> u32 {
        match self.kind {
            TypeKind::TinyInt => 8,
            TypeKind::SmallInt => 16,
            TypeKind::MediumInt => 24,
            TypeKind::Int => 32,
            _ => 64,
        }
    }

    /// The least and the greatest value of an integer type.
    pub fn integer_range(&self) -> (i128, i128) {
        let bits = self.integer_bits();
        match self.unsigned {
            true => (0, (1 << bits) - 1),
            false => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        }
    }

    pub fn year() -> SqlType {
        SqlType {
            unsigned: true,
            zerofill: true,
            ..Self::base(TypeKind::Year, 4, 0)
        }
    }

    pub fn enumeration(labels: Labels, collation: CollationId) -> SqlType {
        SqlType {
            collation,
            labels,
            ..Self::base(TypeKind::Enum, 0, 0)
        }
    }

    pub fn set(labels: Labels, collation: CollationId) -> SqlType {
        SqlType {
            collation,
            labels,
            ..Self::base(TypeKind::Set, 0, 0)
        }
    }

    pub fn json() -> SqlType {
        Self::base(TypeKind::Json, u32::MAX, 0)
    }

    pub fn not_null(self) -> SqlType {
        SqlType {
            nullable: false,
            ..self
        }
    }

    pub fn charset(&self) -> CharsetId {
        self.collation.charset()
    }

    /// The type byte of a column definition packet (`MYSQL_TYPE_*`).
    pub fn protocol_type(&self) -> u8 {
        match self.kind {
            TypeKind::TinyInt => 1,
            TypeKind::SmallInt => 2,
            TypeKind::Int => 3,
            TypeKind::Float => 4,
            TypeKind::Double => 5,
            TypeKind::Null => 6,
            TypeKind::Timestamp => 7,
            TypeKind::BigInt => 8,
            TypeKind::MediumInt => 9,
            TypeKind::Date => 10,
            TypeKind::Time => 11,
            TypeKind::DateTime => 12,
            TypeKind::Year => 13,
            TypeKind::Bit => 16,
            TypeKind::Json => 245,
            TypeKind::Decimal => 246,
            TypeKind::TinyText
            | TypeKind::Text
            | TypeKind::MediumText
            | TypeKind::LongText
            | TypeKind::TinyBlob
            | TypeKind::Blob
            | TypeKind::MediumBlob
            | TypeKind::LongBlob => 252,
            TypeKind::VarChar | TypeKind::VarBinary => 253,
            TypeKind::Char | TypeKind::Binary | TypeKind::Enum | TypeKind::Set => 254,
        }
    }

    /// The flags of a column definition packet that the type alone decides; key flags, AUTO_INCREMENT and the like are the
    /// catalog's.
    pub fn protocol_flags(&self) -> u16 {
        let mut flags = 0;
        if !self.nullable {
            flags |= column_flags::NOT_NULL;
        }
        if self.unsigned {
            flags |= column_flags::UNSIGNED;
        }
        if self.zerofill {
            flags |= column_flags::ZEROFILL;
        }
        if self.kind.is_lob() || self.kind == TypeKind::Json {
            flags |= column_flags::BLOB;
        }
        if self.kind.is_binary() || self.kind.is_temporal() || self.kind == TypeKind::Json {
            flags |= column_flags::BINARY;
        }
        match self.kind {
            TypeKind::Enum => flags |= column_flags::ENUM,
            TypeKind::Set => flags |= column_flags::SET,
            _ => {}
        }
        flags
    }

    /// The length of a column definition packet: bytes of the widest printed form, in the character set of the result
    /// (`bytes_per_char` of it) for text.
    pub fn display_length(&self, bytes_per_char: u32) -> u32 {
        let widest = |len: usize| (len as u32).saturating_mul(bytes_per_char);
        match self.kind {
            TypeKind::Char | TypeKind::VarChar => self.length.saturating_mul(bytes_per_char),
            // TEXT: the column's own byte limit, as MySQL reports it for utf8mb4 results.
            TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText => self.length.saturating_mul(bytes_per_char),
            TypeKind::Enum => widest(self.labels.iter().map(|l| l.chars().count()).max().unwrap_or(0)),
            TypeKind::Set => {
                let chars: usize = self.labels.iter().map(|l| l.chars().count()).sum();
                widest(chars + self.labels.len().saturating_sub(1))
            }
            // A sign, unless unsigned, and a point when there is a fraction.
            TypeKind::Decimal => self.length + u32::from(!self.unsigned) + u32::from(self.decimals > 0),
            _ => self.length,
        }
    }

    /// The type as `SHOW CREATE TABLE` and `information_schema.columns.column_type` print it, without collation and NULL.
    pub fn column_type(&self) -> String {
        self.to_string()
    }
}

fn fraction_width(fsp: u8) -> u32 {
    if fsp == 0 { 0 } else { u32::from(fsp) + 1 }
}

/// Flags of a column definition packet.
pub mod column_flags {
    pub const NOT_NULL: u16 = 1;
    pub const PRI_KEY: u16 = 2;
    pub const UNIQUE_KEY: u16 = 4;
    pub const MULTIPLE_KEY: u16 = 8;
    pub const BLOB: u16 = 16;
    pub const UNSIGNED: u16 = 32;
    pub const ZEROFILL: u16 = 64;
    pub const BINARY: u16 = 128;
    pub const ENUM: u16 = 256;
    pub const AUTO_INCREMENT: u16 = 512;
    pub const TIMESTAMP: u16 = 1024;
    pub const SET: u16 = 2048;
    pub const NO_DEFAULT_VALUE: u16 = 4096;
    pub const ON_UPDATE_NOW: u16 = 8192;
    pub const NUM: u16 = 32768;
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            TypeKind::Null => "null",
            TypeKind::TinyInt => "tinyint",
            TypeKind::SmallInt => "smallint",
            TypeKind::MediumInt => "mediumint",
            TypeKind::Int => "int",
            TypeKind::BigInt => "bigint",
            TypeKind::Decimal => "decimal",
            TypeKind::Float => "float",
            TypeKind::Double => "double",
            TypeKind::Bit => "bit",
            TypeKind::Char => "char",
            TypeKind::VarChar => "varchar",
            TypeKind::Binary => "binary",
            TypeKind::VarBinary => "varbinary",
            TypeKind::TinyText => "tinytext",
            TypeKind::Text => "text",
            TypeKind::MediumText => "mediumtext",
            TypeKind::LongText => "longtext",
            TypeKind::TinyBlob => "tinyblob",
            TypeKind::Blob => "blob",
            TypeKind::MediumBlob => "mediumblob",
            TypeKind::LongBlob => "longblob",
            TypeKind::Date => "date",
            TypeKind::Time => "time",
            TypeKind::DateTime => "datetime",
            TypeKind::Timestamp => "timestamp",
            TypeKind::Year => "year",
            TypeKind::Enum => "enum",
            TypeKind::Set => "set",
            TypeKind::Json => "json",
        };
        f.write_str(name)?;
        match self.kind {
            // MySQL 8.0 hides the display width, except of TINYINT(1) and under ZEROFILL.
            kind if kind.is_integer() => {
                let shown = self.zerofill || (kind == TypeKind::TinyInt && self.length == 1 && !self.unsigned);
                if shown {
                    write!(f, "({})", self.length)?;
                }
            }
            TypeKind::Decimal => write!(f, "({},{})", self.length, self.decimals)?,
            TypeKind::Float | TypeKind::Double if self.decimals != NOT_FIXED_DECIMALS => {
                write!(f, "({},{})", self.length, self.decimals)?;
            }
            TypeKind::Bit | TypeKind::Char | TypeKind::VarChar | TypeKind::Binary | TypeKind::VarBinary => {
                write!(f, "({})", self.length)?;
            }
            TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp if self.decimals > 0 => {
                write!(f, "({})", self.decimals)?;
            }
            TypeKind::Enum | TypeKind::Set => {
                f.write_str("(")?;
                for (i, label) in self.labels.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}'{}'", label.replace('\'', "''"))?;
                }
                f.write_str(")")?;
            }
            _ => {}
        }
        if self.kind.is_integer() || matches!(self.kind, TypeKind::Decimal | TypeKind::Float | TypeKind::Double) {
            if self.unsigned {
                f.write_str(" unsigned")?;
            }
            if self.zerofill {
                f.write_str(" zerofill")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_show_create_table() {
        let ci = CollationId::DEFAULT;
        for (ty, text) in [
            (SqlType::int(), "int"),
            (SqlType::integer(TypeKind::BigInt, true), "bigint unsigned"),
            (
                SqlType {
                    length: 1,
                    ..SqlType::integer(TypeKind::TinyInt, false)
                },
                "tinyint(1)",
            ),
            (
                SqlType {
                    zerofill: true,
                    ..SqlType::integer(TypeKind::Int, true)
                },
                "int(10) unsigned zerofill",
            ),
            (SqlType::decimal(10, 2), "decimal(10,2)"),
            (SqlType::double(), "double"),
            (
                SqlType {
                    length: 7,
                    decimals: 4,
                    ..SqlType::float()
                },
                "float(7,4)",
            ),
            (SqlType::bit(8), "bit(8)"),
            (SqlType::varchar(255, ci), "varchar(255)"),
            (SqlType::text(TypeKind::MediumText, ci), "mediumtext"),
            (SqlType::datetime(6), "datetime(6)"),
            (SqlType::timestamp(0), "timestamp"),
            (SqlType::year(), "year"),
            (
                SqlType::enumeration(Labels::new(["a", "it's"]), ci),
                "enum('a','it''s')",
            ),
            (SqlType::set(Labels::new(["x"]), ci), "set('x')"),
        ] {
            assert_eq!(ty.to_string(), text);
        }
    }
}
