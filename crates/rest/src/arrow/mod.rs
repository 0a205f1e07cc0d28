//! Rows as an Arrow IPC stream (<https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>): a schema, batches of columns, an end.
//!
//! Each message is a FlatBuffer that says where the buffers of the body behind it are: of each column the bits of its values that are there, offsets
//! where values differ in length, and the values.

mod flat;

use std::sync::Arc;

use sql::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};
use sql_api::host::Host;
use types::{Date, DateTime, ErrorKind, RowLayout, SqlError, SqlResult, SqlType, TypeKind, Value, ValueRef};

use self::flat::{At, Field, Flat};
use crate::answer::{Answer, JSON, SENT_AT_ONCE};
use crate::moment::micros_since_1970;

pub const CONTENT_TYPE: &str = "application/vnd.apache.arrow.stream";

/// The version of the format.
const V5: i16 = 4;
/// Kinds of messages.
const SCHEMA: u8 = 1;
const RECORD_BATCH: u8 = 3;
/// Begins a message; with no length behind it, it ends the stream.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// DECIMAL has more digits; those are sent as text.
const DECIMAL_DIGITS_MAX: u32 = 38;

/// What a column is in Arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int {
        bytes: u8,
        signed: bool,
    },
    Float,
    Double,
    Decimal {
        precision: u32,
        scale: u8,
    },
    Date,
    /// In microseconds; of moments in UTC.
    Timestamp {
        is_moment: bool,
    },
    Text,
    Binary,
}

impl Kind {
    fn of(ty: &SqlType) -> Kind {
        let int = |bytes| Kind::Int {
            bytes,
            signed: !ty.unsigned,
        };
        match ty.kind {
            TypeKind::TinyInt => int(1),
            TypeKind::SmallInt => int(2),
            TypeKind::MediumInt | TypeKind::Int => int(4),
            TypeKind::BigInt => int(8),
            TypeKind::Year => Kind::Int {
                bytes: 2,
                signed: false,
            },
            TypeKind::Bit => Kind::Int {
                bytes: 8,
                signed: false,
            },
            TypeKind::Float => Kind::Float,
            TypeKind::Double => Kind::Double,
            TypeKind::Decimal if ty.length <= DECIMAL_DIGITS_MAX => Kind::Decimal {
                precision: ty.length.max(1),
                scale: ty.decimals,
            },
            TypeKind::Date => Kind::Date,
            TypeKind::DateTime => Kind::Timestamp { is_moment: false },
            TypeKind::Timestamp => Kind::Timestamp { is_moment: true },
            TypeKind::Binary
            | TypeKind::VarBinary
            | TypeKind::TinyBlob
            | TypeKind::Blob
            | TypeKind::MediumBlob
            | TypeKind::LongBlob => Kind::Binary,
            _ => Kind::Text,
        }
    }

    fn is_long(self) -> bool {
        matches!(self, Kind::Text | Kind::Binary)
    }

    /// The type's number in Arrow's union of types, and its table.
    fn write(self, flat: &mut Flat) -> (u8, At) {
        match self {
            Kind::Int { bytes, signed } => {
                let fields = [(0, Field::I32(i32::from(bytes) * 8)), (1, Field::U8(u8::from(signed)))];
                (2, flat.table(&fields))
            }
            Kind::Float => (3, flat.table(&[(0, Field::I16(1))])),
            Kind::Double => (3, flat.table(&[(0, Field::I16(2))])),
            Kind::Binary => (4, flat.table(&[])),
            Kind::Text => (5, flat.table(&[])),
            Kind::Decimal { precision, scale } => {
                let fields = [
                    (0, Field::I32(precision as i32)),
                    (1, Field::I32(scale.into())),
                    (2, Field::I32(128)),
                ];
                (7, flat.table(&fields))
            }
            // Days; the default would be milliseconds.
            Kind::Date => (8, flat.table(&[(0, Field::I16(0))])),
            Kind::Timestamp { is_moment: false } => (10, flat.table(&[(0, Field::I16(2))])),
            Kind::Timestamp { is_moment: true } => {
                let zone = flat.text("UTC");
                (10, flat.table(&[(0, Field::I16(2)), (1, Field::Offset(zone))]))
            }
        }
    }
}

/// A column of the batch that is being collected.
struct Column {
    kind: Kind,
    /// A bit for each value that is there.
    present: Vec<u8>,
    nulls: usize,
    /// Of long values: where each begins, and the end of the last.
    offsets: Vec<i32>,
    data: Vec<u8>,
}

impl Column {
    fn new(ty: &SqlType) -> Column {
        let mut column = Column {
            kind: Kind::of(ty),
            present: Vec::new(),
            nulls: 0,
            offsets: Vec::new(),
            data: Vec::new(),
        };
        column.clear();
        column
    }

    fn clear(&mut self) {
        self.present.clear();
        self.offsets.clear();
        self.data.clear();
        self.nulls = 0;
        if self.kind.is_long() {
            self.offsets.push(0);
        }
    }

    /// Appends the value of a row.
    fn push(&mut self, row: usize, value: ValueRef<'_>) {
        if row.is_multiple_of(8) {
            self.present.push(0);
        }
        let is_there = self.push_data(value);
        match is_there {
            true => self.present[row / 8] |= 1 << (row % 8),
            false => self.nulls += 1,
        }
        if self.kind.is_long() {
            self.offsets.push(self.data.len() as i32);
        }
    }

    /// False: there is none that the type has.
    fn push_data(&mut self, value: ValueRef<'_>) -> bool {
        let data = &mut self.data;
        match self.kind {
            Kind::Int { bytes, .. } => {
                let number = integer_of(value);
                data.extend_from_slice(&number.unwrap_or(0).to_le_bytes()[..usize::from(bytes)]);
                number.is_some()
            }
            Kind::Float => {
                let number = double_of(value);
                data.extend_from_slice(&(number.unwrap_or(0.0) as f32).to_le_bytes());
                number.is_some()
            }
            Kind::Double => {
                let number = double_of(value);
                data.extend_from_slice(&number.unwrap_or(0.0).to_le_bytes());
                number.is_some()
            }
            Kind::Decimal { scale, .. } => {
                let number = match value {
                    ValueRef::Decimal(number) => number.round(scale).ok().and_then(|number| number.to_scaled()),
                    _ => None,
                };
                // A decimal may have fewer digits behind the point than its column.
                let number = number.and_then(|(number, own)| {
                    let missing = u32::from(scale.saturating_sub(own));
                    number.checked_mul(10_i128.checked_pow(missing)?)
                });
                data.extend_from_slice(&number.unwrap_or(0).to_le_bytes());
                number.is_some()
            }
            Kind::Date => {
                let days = micros_of(value).map(|micros| micros.div_euclid(86_400_000_000) as i32);
                data.extend_from_slice(&days.unwrap_or(0).to_le_bytes());
                days.is_some()
            }
            Kind::Timestamp { .. } => {
                let micros = micros_of(value);
                data.extend_from_slice(&micros.unwrap_or(0).to_le_bytes());
                micros.is_some()
            }
            Kind::Text | Kind::Binary => {
                value.write_text(data);
                !value.is_null()
            }
        }
    }

    fn len(&self) -> usize {
        self.data.len() + self.offsets.len() * 4
    }
}

fn integer_of(value: ValueRef<'_>) -> Option<u64> {
    match value {
        ValueRef::Int(n) => Some(n as u64),
        ValueRef::UInt(n) => Some(n),
        ValueRef::Year(n) => Some(n.into()),
        ValueRef::Bit(bits) => Some(bits.value),
        _ => None,
    }
}

fn double_of(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Double(v) => Some(v),
        ValueRef::Float(v) => Some(v.into()),
        _ => None,
    }
}

/// Microseconds since 1970; none of dates that are no days (`0000-00-00`).
fn micros_of(value: ValueRef<'_>) -> Option<i64> {
    let is_day = |date: Date| date.month > 0 && date.day > 0;
    match value {
        ValueRef::Timestamp(at) => Some(at.micros),
        ValueRef::DateTime(at) if is_day(at.date) => Some(micros_since_1970(at)),
        ValueRef::Date(date) if is_day(date) => Some(micros_since_1970(DateTime {
            date,
            hour: 0,
            minute: 0,
            second: 0,
            fsp: 0,
            micros: 0,
        })),
        _ => None,
    }
}

/// Writes one result as a stream.
pub struct ArrowSink<'a, 'o> {
    answer: &'a mut Answer<'o>,
    columns: Vec<Column>,
    rows: usize,
    results: usize,
}

impl<'a, 'o> ArrowSink<'a, 'o> {
    pub fn new(answer: &'a mut Answer<'o>) -> ArrowSink<'a, 'o> {
        ArrowSink {
            answer,
            columns: Vec::new(),
            rows: 0,
            results: 0,
        }
    }

    fn push_row<'v>(&mut self, value: impl Fn(usize) -> ValueRef<'v>) -> Result<(), SqlError> {
        for (at, column) in self.columns.iter_mut().enumerate() {
            column.push(self.rows, value(at));
        }
        self.rows += 1;
        governor::check().map_err(SqlError::from)
    }

    /// Writes what is collected as a batch.
    fn write_batch(&mut self) {
        if self.rows == 0 {
            return;
        }
        let (mut nodes, mut buffers, mut body) = (Vec::new(), Vec::new(), Vec::new());
        let mut add = |bytes: &[u8]| {
            buffers.push((body.len() as i64, bytes.len() as i64));
            body.extend_from_slice(bytes);
            body.resize(body.len().next_multiple_of(8), 0);
        };
        for column in &mut self.columns {
            nodes.push((self.rows as i64, column.nulls as i64));
            add(&column.present);
            if column.kind.is_long() {
                add(&column
                    .offsets
                    .iter()
                    .flat_map(|at| at.to_le_bytes())
                    .collect::<Vec<u8>>());
            }
            add(&column.data);
            column.clear();
        }
        let mut flat = Flat::default();
        let (buffers, nodes) = (flat.pairs(&buffers), flat.pairs(&nodes));
        let batch = flat.table(&[
            (0, Field::I64(self.rows as i64)),
            (1, Field::Offset(nodes)),
            (2, Field::Offset(buffers)),
        ]);
        self.rows = 0;
        write_message(flat, RECORD_BATCH, batch, &body, &mut self.answer.body);
    }
}

fn write_message(mut flat: Flat, kind: u8, header: At, body: &[u8], out: &mut Vec<u8>) {
    let message = flat.table(&[
        (3, Field::I64(body.len() as i64)),
        (2, Field::Offset(header)),
        (0, Field::I16(V5)),
        (1, Field::U8(kind)),
    ]);
    let metadata = flat.finish(message);
    out.extend_from_slice(&CONTINUATION);
    out.extend_from_slice(&(metadata.len() as i32).to_le_bytes());
    out.extend_from_slice(&metadata);
    out.extend_from_slice(body);
}

fn write_schema(shape: &ResultShape, out: &mut Vec<u8>) {
    let mut flat = Flat::default();
    let mut fields = Vec::with_capacity(shape.columns.len());
    for column in &shape.columns {
        let children = flat.offsets(&[]);
        let (number, ty) = Kind::of(&column.ty).write(&mut flat);
        let name = flat.text(&column.name);
        fields.push(flat.table(&[
            (0, Field::Offset(name)),
            (3, Field::Offset(ty)),
            (5, Field::Offset(children)),
            (1, Field::U8(1)),
            (2, Field::U8(number)),
        ]));
    }
    let fields = flat.offsets(&fields);
    let schema = flat.table(&[(1, Field::Offset(fields)), (0, Field::I16(0))]);
    write_message(flat, SCHEMA, schema, &[], out);
}

impl ResultSink for ArrowSink<'_, '_> {
    fn columns(&mut self, shape: &Arc<ResultShape>, _status: ServerStatus) -> Result<(), SqlError> {
        self.results += 1;
        if self.results > 1 {
            return Err(SqlError::not_supported("several results as one Arrow stream"));
        }
        self.answer.head.content_type = CONTENT_TYPE;
        self.columns = shape.columns.iter().map(|column| Column::new(&column.ty)).collect();
        write_schema(shape, &mut self.answer.body);
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Result<(), SqlError> {
        self.push_row(|at| values.get(at).map_or(ValueRef::Null, Value::as_ref))
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> Result<(), SqlError> {
        governor::ensure(row.len())?;
        self.push_row(|at| {
            projection
                .get(at)
                .map_or(ValueRef::Null, |column| layout.column(row, *column))
        })
    }

    fn is_full(&self) -> bool {
        self.columns.iter().map(Column::len).sum::<usize>() >= SENT_AT_ONCE
    }

    fn flush(&mut self, host: &dyn Host) -> SqlResult<()> {
        self.write_batch();
        self.answer.flush(host)
    }

    fn end(&mut self, _end: ResultEnd) -> Result<(), SqlError> {
        self.write_batch();
        self.answer.body.extend_from_slice(&CONTINUATION);
        self.answer.body.extend_from_slice(&[0; 4]);
        Ok(())
    }

    fn ok(&mut self, done: Done) -> Result<(), SqlError> {
        // Of a CALL, behind its result.
        if self.results > 0 {
            return Ok(());
        }
        if self.answer.has_begun() {
            return Err(SqlError::from(ErrorKind::UnknownError));
        }
        self.answer.head.content_type = JSON;
        crate::statements::write_done(&done, &mut self.answer.body);
        Ok(())
    }
}
