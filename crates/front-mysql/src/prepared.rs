//! The network side of prepared statements: the types that parameters were bound with, and long data.

use std::collections::BTreeMap;
use std::sync::Arc;

use governor::bulk;
use mysql_wire::Malformed;
use mysql_wire::column::ColumnType;
use mysql_wire::statement::{Execute, ParameterType};
use mysql_wire::value::{BinaryDateTime, BinaryTime, BinaryValue};
use sql_api::processes::STATEMENT_TEXT_MAX;
use sql_api::result::ResultShape;
use types::{CharsetId, Date, DateTime, Decimal, ErrorKind, SqlError, SqlResult, Time, Value};

/// The prepared statements of one connection.
#[derive(Default)]
pub struct Statements {
    by_id: BTreeMap<u32, Statement>,
    /// Of all statements together.
    long_data_len: usize,
}

/// One prepared statement, as far as the network is concerned.
#[derive(Default)]
pub struct Statement {
    /// For the process list.
    pub text: Vec<u8>,
    /// The columns of the cursor that is open.
    pub cursor: Option<Arc<ResultShape>>,
    parameters: usize,
    /// Empty until an execution has bound types.
    types: Vec<ParameterType>,
    long_data: LongData,
}

/// Values that came in pieces, by parameter; used up by the next execution.
#[derive(Default)]
struct LongData {
    values: BTreeMap<u16, Vec<u8>>,
    /// More came than the server takes: the next execution fails.
    overflowed: bool,
}

impl Statements {
    pub fn insert(&mut self, id: u32, text: &[u8], parameters: usize) {
        self.by_id.insert(
            id,
            Statement {
                text: text[..text.len().min(STATEMENT_TEXT_MAX)].to_vec(),
                parameters,
                ..Statement::default()
            },
        );
    }

    pub fn get(&self, id: u32) -> Option<&Statement> {
        self.by_id.get(&id)
    }

    pub fn get_mut(&mut self, id: u32) -> Option<&mut Statement> {
        self.by_id.get_mut(&id)
    }

    /// Whether there was such a statement.
    pub fn remove(&mut self, id: u32) -> bool {
        self.reset(id);
        self.by_id.remove(&id).is_some()
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn clear(&mut self) {
        *self = Statements::default();
    }

    /// Forgets long data and cursor.
    pub fn reset(&mut self, id: u32) {
        if let Some(statement) = self.by_id.get_mut(&id) {
            let long_data = std::mem::take(&mut statement.long_data);
            self.long_data_len -= long_data.values.values().map(Vec::len).sum::<usize>();
            statement.cursor = None;
        }
    }

    /// Takes a piece of a parameter's value. There is no answer, so too much, or what belongs nowhere, is found when the
    /// statement is executed. `limit` bounds what one connection can make the server hold.
    pub fn append_long_data(&mut self, id: u32, parameter: u16, data: &[u8], limit: usize) {
        let Some(statement) = self.by_id.get_mut(&id) else {
            return;
        };
        if self.long_data_len + data.len() > limit || usize::from(parameter) >= statement.parameters {
            statement.long_data.overflowed = true;
            return;
        }
        self.long_data_len += data.len();
        let value = statement.long_data.values.entry(parameter).or_default();
        bulk::append(value, data);
    }

    /// The parameters of an execution, into `values`. `charset` is the one that the client's text is in.
    pub fn bind(&mut self, execute: &Execute, charset: CharsetId, values: &mut Vec<Value>) -> SqlResult<()> {
        values.clear();
        let id = execute.statement_id;
        let statement = self
            .by_id
            .get_mut(&id)
            .ok_or_else(|| unknown_statement(id, "mysqld_stmt_execute"))?;
        let bound = statement.bind(execute, charset, values);
        if !statement.long_data.values.is_empty() || statement.long_data.overflowed {
            self.reset(id);
        }
        bound
    }
}

/// 1243; `asked_by` is MySQL's name of the function that was asked.
pub fn unknown_statement(id: u32, asked_by: &str) -> SqlError {
    SqlError::new(ErrorKind::UnknownStmtHandler, &[&id, &asked_by])
}

impl Statement {
    fn bind(&mut self, execute: &Execute, charset: CharsetId, values: &mut Vec<Value>) -> SqlResult<()> {
        if self.long_data.overflowed {
            let message = "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
                           'max_allowed_packet' bytes";
            return Err(SqlError::with_message(ErrorKind::UnknownError, message));
        }
        if self.parameters == 0 {
            return Ok(());
        }
        let wrong_arguments = |_: Malformed| SqlError::new(ErrorKind::WrongArguments, &[&"mysqld_stmt_execute"]);
        let mut parameters = execute.parameters(self.parameters).map_err(wrong_arguments)?;
        if let Some(types) = parameters.types() {
            self.types.clear();
            for ty in types {
                self.types.push(ty.map_err(wrong_arguments)?);
            }
        }
        if self.types.len() != self.parameters {
            return Err(wrong_arguments(Malformed("no types were bound")));
        }
        for (index, ty) in self.types.iter().enumerate() {
            let value = match self.long_data.values.get(&(index as u16)) {
                Some(data) => BinaryValue::Bytes(data),
                None => parameters.read(index, *ty).map_err(wrong_arguments)?,
            };
            values.push(to_value(value, ty.ty, charset));
        }
        Ok(())
    }
}

/// A parameter as the SQL layer knows it.
fn to_value(value: BinaryValue, ty: ColumnType, charset: CharsetId) -> Value {
    match value {
        BinaryValue::Null => Value::Null,
        BinaryValue::Int(n) => Value::Int(n),
        BinaryValue::UInt(n) => Value::UInt(n),
        BinaryValue::Float(v) => Value::Float(v),
        BinaryValue::Double(v) => Value::Double(v),
        BinaryValue::Date(v) => Value::Date(date_time(v).date),
        BinaryValue::DateTime(v) => Value::DateTime(date_time(v)),
        BinaryValue::Time(v) => Value::Time(time(v)),
        BinaryValue::Bytes(bytes) => match ty {
            ColumnType::TinyBlob | ColumnType::Blob | ColumnType::MediumBlob | ColumnType::LongBlob => {
                Value::bytes(bytes)
            }
            ColumnType::NewDecimal | ColumnType::Decimal => decimal(bytes).unwrap_or_else(|| text(bytes, charset)),
            _ => text(bytes, charset),
        },
    }
}

/// Text in the client's character set. What is no text of it stays as bytes: several drivers send binary strings under a
/// text type, and a text column refuses them by itself.
fn text(bytes: &[u8], charset: CharsetId) -> Value {
    match charset.decode(bytes) {
        Ok(text) => Value::str(&text),
        Err(_) => Value::bytes(bytes),
    }
}

fn decimal(bytes: &[u8]) -> Option<Value> {
    std::str::from_utf8(bytes)
        .ok()
        .and_then(Decimal::parse)
        .map(Value::Decimal)
}

/// A parameter that is a time has them all, as in MySQL, whether they are zero or not.
const FRACTION_DIGITS: u8 = 6;

/// What names no moment becomes the zero date, as in MySQL.
fn date_time(v: BinaryDateTime) -> DateTime {
    let moment = DateTime {
        date: Date {
            year: v.year,
            month: v.month,
            day: v.day,
        },
        hour: v.hour,
        minute: v.minute,
        second: v.second,
        fsp: FRACTION_DIGITS,
        micros: v.microsecond,
    };
    if moment.is_in_range() {
        moment
    } else {
        DateTime::default()
    }
}

fn time(v: BinaryTime) -> Time {
    let seconds =
        i64::from(v.days) * 86_400 + i64::from(v.hour) * 3_600 + i64::from(v.minute) * 60 + i64::from(v.second);
    let micros = seconds
        .saturating_mul(1_000_000)
        .saturating_add(i64::from(v.microsecond));
    let time = Time {
        micros: if v.negative { -micros } else { micros },
        fsp: FRACTION_DIGITS,
    };
    if time.is_in_range() { time } else { Time::default() }
}
