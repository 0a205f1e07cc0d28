//! Column definitions: the head of a result set, and the parameters of a prepared statement.

use crate::{Malformed, Reader, put};

macro_rules! column_types {
    ($($(#[$doc:meta])* $name:ident = $code:expr,)*) => {
        /// The type of a column or parameter on the wire (`enum_field_types`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum ColumnType {
            $($(#[$doc])* $name = $code,)*
        }

        impl ColumnType {
            pub const ALL: &[ColumnType] = &[$(ColumnType::$name,)*];

            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(ColumnType::$name),)*
                    _ => None,
                }
            }
        }
    };
}

column_types! {
    Decimal = 0,
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    NewDate = 14,
    VarChar = 15,
    Bit = 16,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    TinyBlob = 249,
    MediumBlob = 250,
    LongBlob = 251,
    Blob = 252,
    VarString = 253,
    String = 254,
    Geometry = 255,
}

/// Flags of a column definition (`NOT_NULL_FLAG` and so on).
pub mod flag {
    pub const NOT_NULL: u16 = 1;
    pub const PRIMARY_KEY: u16 = 1 << 1;
    pub const UNIQUE_KEY: u16 = 1 << 2;
    pub const MULTIPLE_KEY: u16 = 1 << 3;
    pub const BLOB: u16 = 1 << 4;
    pub const UNSIGNED: u16 = 1 << 5;
    pub const ZEROFILL: u16 = 1 << 6;
    pub const BINARY: u16 = 1 << 7;
    pub const ENUM: u16 = 1 << 8;
    pub const AUTO_INCREMENT: u16 = 1 << 9;
    pub const TIMESTAMP: u16 = 1 << 10;
    pub const SET: u16 = 1 << 11;
    pub const NO_DEFAULT_VALUE: u16 = 1 << 12;
    pub const ON_UPDATE_NOW: u16 = 1 << 13;
    pub const NUM: u16 = 1 << 15;
}

/// One column of a result set (`ColumnDefinition41`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDefinition<'a> {
    pub schema: &'a [u8],
    /// The alias under which the statement uses the table, and its own name.
    pub table: &'a [u8],
    pub org_table: &'a [u8],
    /// The name shown, and the column's own.
    pub name: &'a [u8],
    pub org_name: &'a [u8],
    pub collation: u16,
    /// The longest value in bytes, in the connection's character set.
    pub length: u32,
    pub ty: ColumnType,
    pub flags: u16,
    /// Digits after the point; 31 where they vary.
    pub decimals: u8,
    /// Only in the answer to COM_FIELD_LIST.
    pub default: Option<DefaultValue<'a>>,
}

/// The last field of a definition in the answer to COM_FIELD_LIST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue<'a> {
    Null,
    Text(&'a [u8]),
}

const FIXED_FIELDS_LEN: u64 = 12;
const NULL_TEXT: u8 = 0xfb;

impl<'a> ColumnDefinition<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        for text in [
            b"def",
            self.schema,
            self.table,
            self.org_table,
            self.name,
            self.org_name,
        ] {
            put::lenenc_bytes(out, text);
        }
        let mut fixed = [0; 1 + FIXED_FIELDS_LEN as usize];
        fixed[0] = FIXED_FIELDS_LEN as u8;
        fixed[1..3].copy_from_slice(&self.collation.to_le_bytes());
        fixed[3..7].copy_from_slice(&self.length.to_le_bytes());
        fixed[7] = self.ty as u8;
        fixed[8..10].copy_from_slice(&self.flags.to_le_bytes());
        fixed[10] = self.decimals;
        out.extend_from_slice(&fixed);
        match self.default {
            None => {}
            Some(DefaultValue::Null) => out.push(NULL_TEXT),
            Some(DefaultValue::Text(text)) => put::lenenc_bytes(out, text),
        }
    }

    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        let mut text = || reader.lenenc_bytes("column definition");
        let [_catalog, schema, table, org_table, name, org_name] =
            [text()?, text()?, text()?, text()?, text()?, text()?];
        if reader.lenenc_int("column definition")? < FIXED_FIELDS_LEN {
            return Err(Malformed("column definition"));
        }
        let collation = reader.u16("collation")?;
        let length = reader.u32("length")?;
        let ty = ColumnType::from_code(reader.u8("type")?).ok_or(Malformed("type"))?;
        let flags = reader.u16("flags")?;
        let decimals = reader.u8("decimals")?;
        reader.u16("filler")?;
        let default = match reader.peek() {
            None => None,
            Some(NULL_TEXT) => Some(DefaultValue::Null),
            Some(_) => Some(DefaultValue::Text(reader.lenenc_bytes("default")?)),
        };
        Ok(ColumnDefinition {
            schema,
            table,
            org_table,
            name,
            org_name,
            collation,
            length,
            ty,
            flags,
            decimals,
            default,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_read_back() {
        let plain = ColumnDefinition {
            schema: b"test",
            table: b"t",
            org_table: b"sbtest1",
            name: b"n",
            org_name: b"id",
            collation: 63,
            length: 11,
            ty: ColumnType::Long,
            flags: flag::NOT_NULL | flag::PRIMARY_KEY | flag::AUTO_INCREMENT,
            decimals: 0,
            default: None,
        };
        for default in [None, Some(DefaultValue::Null), Some(DefaultValue::Text(b"0"))] {
            let definition = ColumnDefinition { default, ..plain };
            let mut out = Vec::new();
            definition.encode(&mut out);
            assert_eq!(ColumnDefinition::decode(&out), Ok(definition));
        }
    }

    #[test]
    fn codes_name_their_type() {
        for ty in ColumnType::ALL {
            assert_eq!(ColumnType::from_code(*ty as u8), Some(*ty));
        }
        assert_eq!(ColumnType::from_code(100), None);
    }
}
