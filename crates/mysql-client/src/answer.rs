//! What a server said, with every value as the text protocol writes it.

use mysql_wire::Malformed;
use mysql_wire::column::{ColumnDefinition, ColumnType, flag};
use mysql_wire::response::ErrPacket;
use mysql_wire::value::{BinaryDateTime, BinaryTime, BinaryValue};

/// What a server said to a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Ok {
        affected: u64,
        last_insert_id: u64,
        info: String,
        warnings: u16,
    },
    Rows {
        columns: Vec<Column>,
        rows: Vec<Vec<Option<Vec<u8>>>>,
        warnings: u16,
    },
    Error {
        code: u16,
        sqlstate: String,
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub ty: ColumnType,
    pub unsigned: bool,
    pub zerofill: bool,
    pub length: u32,
    pub decimals: u8,
}

impl Answer {
    pub(crate) fn error(packet: &[u8]) -> Result<Self, Malformed> {
        let error = ErrPacket::decode(packet)?;
        Ok(Answer::Error {
            code: error.code,
            sqlstate: String::from_utf8_lossy(&error.sqlstate).into_owned(),
            message: String::from_utf8_lossy(error.message).into_owned(),
        })
    }
}

impl Column {
    pub(crate) fn new(definition: &ColumnDefinition) -> Column {
        Column {
            name: String::from_utf8_lossy(definition.name).into_owned(),
            ty: definition.ty,
            unsigned: definition.flags & flag::UNSIGNED != 0,
            zerofill: definition.flags & flag::ZEROFILL != 0,
            length: definition.length,
            decimals: definition.decimals,
        }
    }

    /// A binary value as the text protocol would have written it.
    pub(crate) fn text(&self, value: &BinaryValue) -> Option<Vec<u8>> {
        Some(match value {
            BinaryValue::Null => return None,
            BinaryValue::Bytes(bytes) => bytes.to_vec(),
            BinaryValue::Int(n) => self.padded(n.to_string()).into_bytes(),
            BinaryValue::UInt(n) => self.padded(n.to_string()).into_bytes(),
            BinaryValue::Float(n) if self.decimals < 31 => format!("{n:.*}", usize::from(self.decimals)).into_bytes(),
            BinaryValue::Double(n) if self.decimals < 31 => format!("{n:.*}", usize::from(self.decimals)).into_bytes(),
            // The text protocol shows six digits of a FLOAT.
            BinaryValue::Float(n) => format!("{n:.5e}").into_bytes(),
            BinaryValue::Double(n) => n.to_string().into_bytes(),
            BinaryValue::Date(date) => day(date).into_bytes(),
            BinaryValue::DateTime(date) => {
                let clock = self.clock(date.hour.into(), date.minute, date.second, date.microsecond);
                format!("{} {clock}", day(date)).into_bytes()
            }
            BinaryValue::Time(time) => {
                let BinaryTime {
                    negative,
                    days,
                    hour,
                    minute,
                    second,
                    microsecond,
                } = *time;
                let sign = if negative { "-" } else { "" };
                format!(
                    "{sign}{}",
                    self.clock(days * 24 + u32::from(hour), minute, second, microsecond)
                )
                .into_bytes()
            }
        })
    }

    fn padded(&self, digits: String) -> String {
        if self.zerofill {
            format!("{digits:0>width$}", width = self.length as usize)
        } else {
            digits
        }
    }

    fn clock(&self, hours: u32, minute: u8, second: u8, microsecond: u32) -> String {
        let whole = format!("{hours:02}:{minute:02}:{second:02}");
        match usize::from(self.decimals) {
            digits @ 1..=6 => format!("{whole}.{}", &format!("{microsecond:06}")[..digits]),
            _ => whole,
        }
    }
}

fn day(date: &BinaryDateTime) -> String {
    format!("{:04}-{:02}-{:02}", date.year, date.month, date.day)
}
