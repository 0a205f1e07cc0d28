//! Values for the parameters of a prepared statement.

use mysql_wire::column::ColumnType;
use mysql_wire::statement::ParameterType;
use mysql_wire::value::{BinaryDateTime, BinaryTime, BinaryValue};

/// A parameter's value, in the type that it is sent in.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    Null,
    /// TINYINT, INT or BIGINT: the type says how many bytes are sent.
    Int(ColumnType, i64),
    Unsigned(u64),
    Double(f64),
    /// The digits.
    Decimal(String),
    Text(String),
    Blob(Vec<u8>),
    Date(BinaryDateTime),
    DateTime(BinaryDateTime),
    Time(BinaryTime),
}

impl Parameter {
    pub(crate) fn typed(&self) -> (ParameterType, BinaryValue<'_>) {
        let (ty, value) = match self {
            Parameter::Null => (ColumnType::Null, BinaryValue::Null),
            Parameter::Int(ty, number) => (*ty, BinaryValue::Int(*number)),
            Parameter::Unsigned(number) => (ColumnType::LongLong, BinaryValue::UInt(*number)),
            Parameter::Double(number) => (ColumnType::Double, BinaryValue::Double(*number)),
            Parameter::Decimal(digits) => (ColumnType::NewDecimal, BinaryValue::Bytes(digits.as_bytes())),
            Parameter::Text(text) => (ColumnType::VarString, BinaryValue::Bytes(text.as_bytes())),
            Parameter::Blob(bytes) => (ColumnType::Blob, BinaryValue::Bytes(bytes)),
            Parameter::Date(date) => (ColumnType::Date, BinaryValue::Date(*date)),
            Parameter::DateTime(moment) => (ColumnType::DateTime, BinaryValue::DateTime(*moment)),
            Parameter::Time(time) => (ColumnType::Time, BinaryValue::Time(*time)),
        };
        let unsigned = matches!(self, Parameter::Unsigned(_));
        (ParameterType { ty, unsigned }, value)
    }
}
