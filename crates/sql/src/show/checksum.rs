//! CHECKSUM TABLE: the sum of the rows' checksums, each of a row as MySQL holds it in memory. So the number is MySQL's, too, and does not
//! depend on the order of the rows.
//!
//! ```text
//!   bits of NULL columns │ column │ column │ …      fixed widths as they are, strings of varying length without their lengths
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use catalog::ColumnDef;
use crc32fast::Hasher;
use parser::ast;
use types::time::TimeZone;
use types::{
    CharsetId, Decimal, ErrorKind, RowLayout, Severity, SqlError, SqlResult, SqlType, TypeKind, Value, ValueRef,
};

use super::{own_statement, send, text_column};
use crate::host::Host;
use crate::result::{Done, ResultColumn, ResultEnd, ResultShape, ResultSink, ServerStatus};
use crate::session::parameters::Parameters;
use crate::session::{Answer, Session};
use crate::table::Table;

/// Seconds and fraction digits of `0000-00-00 00:00:00` in a DATETIME's bytes: their order is that of the moments.
const DATETIME_BIAS: u64 = 1 << 39;
const TIME_BIAS: i64 = 1 << 23;

/// The columns of the answer.
pub(super) fn columns() -> Vec<ResultColumn> {
    vec![
        text_column("Table"),
        ResultColumn::computed("Checksum", SqlType::bigint()),
    ]
}

impl Session {
    pub(super) fn checksum(
        &mut self,
        maintenance: &ast::TableMaintenance,
        option: Option<ast::ChecksumOption>,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let mut rows = Vec::new();
        let mut seen = HashSet::new();
        for name in &maintenance.tables {
            let (database, table) = self.qualified(name)?;
            if !seen.insert((database.clone(), table.clone())) {
                return Err(SqlError::new(ErrorKind::NonUniqTable, &[&table]));
            }
        }
        for name in &maintenance.tables {
            let (database, table) = self.qualified(name)?;
            let sum = match (self.table(name), option) {
                (Err(error), _) => {
                    self.warnings.push(Severity::Error, error);
                    Value::Null
                }
                // No engine of ours keeps a sum beside the rows.
                (Ok(_), Some(ast::ChecksumOption::Quick)) => Value::Null,
                (Ok(table), Some(ast::ChecksumOption::Extended) | None) => {
                    Value::Int(i64::from(self.checksum_of(&table, host)?))
                }
            };
            rows.push(vec![Value::from(format!("{database}.{table}")), sum]);
        }
        send(columns(), rows, status, sink)
    }

    fn checksum_of(&mut self, table: &Arc<Table>, host: &dyn Host) -> SqlResult<u32> {
        let name = ast::TableName::new(Some(&table.def.database), &table.def.name);
        // The whole row comes with any column that needs no conversion. Where there is none, all are converted as for UTC.
        let column = |column: &ColumnDef| ast::ColumnName::bare(column.name.as_str()).to_string();
        let columns = table.def.named_columns();
        let wanted = match columns.iter().find(|column| column.ty.kind != TypeKind::Timestamp) {
            Some(plain) => column(plain),
            None => columns.iter().map(column).collect::<Vec<_>>().join(", "),
        };
        let query = own_statement(&format!("SELECT {wanted} FROM {name}"))?;
        let mut sum = Sum::new(table);
        let settings = &mut self.variables.settings;
        // It is for queries of the client.
        let longest = settings.max_execution_time.take();
        let zone = std::mem::replace(&mut settings.expressions.time_zone, TimeZone::UTC);
        let ran = self.without_client_limit(|session| {
            session.query_or_change(&query, None, Parameters::NONE, ServerStatus::default(), host, &mut sum)
        });
        let settings = &mut self.variables.settings;
        settings.max_execution_time = longest;
        settings.expressions.time_zone = zone;
        ran.map(|_| sum.total)
    }
}

/// Adds up the rows of a query as they come.
struct Sum {
    columns: Vec<SumColumn>,
    /// Where all rows have the same length, a bit of the row comes before those of its columns.
    has_own_bit: bool,
    /// The bits of the last byte that are nobody's. Where there are none, MySQL's mask covers the whole byte.
    last_bits: u8,
    total: u32,
    /// Of the row that is looked at.
    nulls: Vec<u8>,
    image: Vec<u8>,
}

struct SumColumn {
    ty: SqlType,
    /// Which bit tells that it is NULL; `None`: it never is.
    null_bit: Option<usize>,
    /// What MySQL's row holds in the column's place while it is NULL.
    when_null: Box<[u8]>,
}

impl SumColumn {
    fn new(column: &ColumnDef) -> SumColumn {
        let mut when_null = Vec::new();
        match crate::ddl::constant_default(column) {
            Some(value) if !value.is_null() => image_of(value.as_ref(), &column.ty, &mut when_null),
            _ => image_without_value(&column.ty, &mut when_null),
        }
        SumColumn {
            ty: column.ty.clone(),
            null_bit: None,
            when_null: when_null.into(),
        }
    }
}

impl Sum {
    fn new(table: &Table) -> Sum {
        let varies = |ty: &SqlType| {
            ty.kind.is_lob() || matches!(ty.kind, TypeKind::VarChar | TypeKind::VarBinary | TypeKind::Json)
        };
        let first_bit = usize::from(!table.def.columns.iter().any(|column| varies(&column.ty)));
        let columns = table.def.columns.iter();
        let mut columns: Vec<_> = columns.map(SumColumn::new).collect();
        // The bits of virtual columns come last.
        let mut bits = first_bit;
        for virtual_ones in [false, true] {
            for (column, definition) in columns.iter_mut().zip(&table.def.columns) {
                if definition.nullable && definition.is_virtual() == virtual_ones {
                    column.null_bit = Some(bits);
                    bits += 1;
                }
            }
        }
        Sum {
            columns,
            has_own_bit: first_bit > 0,
            last_bits: 0xff << (bits % 8),
            total: 0,
            nulls: vec![0; bits.div_ceil(8)],
            image: Vec::new(),
        }
    }

    /// Adds a row, whose column at each position has a value.
    fn add<'v>(&mut self, value: impl Fn(usize) -> ValueRef<'v>) {
        self.nulls.fill(0);
        if self.has_own_bit {
            self.nulls[0] |= 1;
        }
        for (at, column) in self.columns.iter().enumerate() {
            if let Some(bit) = column.null_bit {
                self.nulls[bit / 8] |= u8::from(value(at) == ValueRef::Null) << (bit % 8);
            }
        }
        if let Some(last) = self.nulls.last_mut() {
            *last |= self.last_bits;
        }
        let mut sum = Hasher::new();
        sum.update(&self.nulls);
        for (at, column) in self.columns.iter().enumerate() {
            match value(at) {
                ValueRef::Null => sum.update(&column.when_null),
                ValueRef::Bytes(bytes) if column.ty.kind != TypeKind::Binary => sum.update(bytes),
                value => {
                    self.image.clear();
                    image_of(value, &column.ty, &mut self.image);
                    sum.update(&self.image);
                }
            }
        }
        self.total = self.total.wrapping_add(sum.finalize());
    }
}

/// A value in the bytes that MySQL's rows have in memory (the manual's "Data Type Storage Requirements").
fn image_of(value: ValueRef<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null => {}
        ValueRef::Int(number) => out.extend_from_slice(&number.to_le_bytes()[..integer_bytes(ty)]),
        ValueRef::UInt(number) => out.extend_from_slice(&number.to_le_bytes()[..integer_bytes(ty)]),
        ValueRef::Float(number) => out.extend_from_slice(&number.to_le_bytes()),
        ValueRef::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
        ValueRef::Decimal(number) => decimal_image(number, ty, out),
        ValueRef::Date(date) => out.extend_from_slice(&date.to_packed().to_le_bytes()[..3]),
        ValueRef::Time(time) => time_image(time.micros, ty.decimals, out),
        ValueRef::DateTime(moment) if ty.kind == TypeKind::Timestamp => {
            let moment = TimeZone::UTC.to_unix(moment).unwrap_or_default();
            image_of(ValueRef::Timestamp(moment), ty, out);
        }
        ValueRef::DateTime(moment) => {
            // Year and month are one number, of thirteen months a year.
            let date = moment.date;
            let months = u64::from(date.year) * 13 + u64::from(date.month);
            let days = months << 5 | u64::from(date.day);
            let clock = u64::from(moment.hour) << 12 | u64::from(moment.minute) << 6 | u64::from(moment.second);
            let seconds = (days << 17 | clock) + DATETIME_BIAS;
            out.extend_from_slice(&seconds.to_be_bytes()[3..]);
            fraction_image(moment.micros, ty.decimals, out);
        }
        ValueRef::Timestamp(moment) => {
            let seconds = moment.micros.div_euclid(1_000_000) as u32;
            out.extend_from_slice(&seconds.to_be_bytes());
            fraction_image(moment.micros.rem_euclid(1_000_000) as u32, ty.decimals, out);
        }
        ValueRef::Year(year) => out.push(year.saturating_sub(1900) as u8),
        ValueRef::Bit(bits) => {
            let bytes = usize::from(bits.width).div_ceil(8);
            out.extend_from_slice(&bits.value.to_be_bytes()[8 - bytes..]);
        }
        ValueRef::Str(text) => {
            out.extend_from_slice(&ty.charset().encode(text));
            pad(ty, out);
        }
        ValueRef::Bytes(bytes) => {
            out.extend_from_slice(bytes);
            pad(ty, out);
        }
        ValueRef::Enum(label) => match ty.labels.len() < 256 {
            true => out.push(label.index as u8),
            false => out.extend_from_slice(&label.index.to_le_bytes()),
        },
        ValueRef::Set(set) => out.extend_from_slice(&set.bits.to_le_bytes()[..set_bytes(ty)]),
        ValueRef::Json(document) => out.extend_from_slice(Value::Json(document.to_json()).to_string().as_bytes()),
    }
}

/// A column that nothing has been written to.
fn image_without_value(ty: &SqlType, out: &mut Vec<u8>) {
    let zeros = match ty.kind {
        TypeKind::Null | TypeKind::VarChar | TypeKind::VarBinary => 0,
        TypeKind::Json => return out.extend_from_slice(b"null"),
        TypeKind::Decimal => return decimal_image(Decimal::ZERO, ty, out),
        TypeKind::Char | TypeKind::Binary => return pad(ty, out),
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            integer_bytes(ty)
        }
        TypeKind::Float => 4,
        TypeKind::Double => 8,
        TypeKind::Bit => (ty.length as usize).div_ceil(8),
        TypeKind::Date => 3,
        TypeKind::Time => 3 + fraction_bytes(ty.decimals),
        TypeKind::DateTime => 5 + fraction_bytes(ty.decimals),
        TypeKind::Timestamp => 4 + fraction_bytes(ty.decimals),
        TypeKind::Year => 1,
        TypeKind::Enum => 1 + usize::from(ty.labels.len() > 255),
        TypeKind::Set => set_bytes(ty),
        TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText => 0,
        TypeKind::TinyBlob | TypeKind::Blob | TypeKind::MediumBlob | TypeKind::LongBlob => 0,
    };
    out.resize(out.len() + zeros, 0);
}

fn integer_bytes(ty: &SqlType) -> usize {
    ty.integer_bits() as usize / 8
}

fn set_bytes(ty: &SqlType) -> usize {
    match ty.labels.len().div_ceil(8) {
        bytes @ 0..=4 => bytes,
        _ => 8,
    }
}

/// CHAR and BINARY have their full length.
fn pad(ty: &SqlType, out: &mut Vec<u8>) {
    let length = ty.length as usize;
    match ty.kind {
        TypeKind::Char if ty.charset() == CharsetId::BINARY => out.resize(length, 0),
        TypeKind::Char => {
            let blank = ty.charset().encode(" ");
            let length = length * ty.charset().max_bytes_per_char() as usize;
            while out.len() < length {
                out.extend_from_slice(&blank);
            }
        }
        TypeKind::Binary => out.resize(length, 0),
        _ => {}
    }
}

/// A TIME is a number that rises with it: 10, 6 and 6 bits for hours, minutes and seconds, and the fraction behind; negative ones are the
/// complement of the whole.
fn time_image(micros: i64, decimals: u8, out: &mut Vec<u8>) {
    let magnitude = micros.unsigned_abs();
    let seconds = magnitude / 1_000_000;
    let clock = (seconds / 3600) << 12 | (seconds / 60 % 60) << 6 | (seconds % 60);
    let bits = 8 * fraction_bytes(decimals) as u32;
    let fraction = fraction_of((magnitude % 1_000_000) as u32, decimals);
    let whole = (clock << bits | u64::from(fraction)) as i64;
    let whole = if micros < 0 { -whole } else { whole };
    let biased = whole + (TIME_BIAS << bits);
    let bytes = 3 + fraction_bytes(decimals);
    out.extend_from_slice(&biased.to_be_bytes()[8 - bytes..]);
}

fn fraction_bytes(decimals: u8) -> usize {
    usize::from(decimals).div_ceil(2)
}

/// The fraction in units of an even number of digits.
fn fraction_of(micros: u32, decimals: u8) -> u32 {
    match fraction_bytes(decimals) {
        0 => 0,
        1 => micros / 10_000,
        2 => micros / 100,
        _ => micros,
    }
}

fn fraction_image(micros: u32, decimals: u8, out: &mut Vec<u8>) {
    let bytes = fraction_of(micros, decimals).to_be_bytes();
    out.extend_from_slice(&bytes[4 - fraction_bytes(decimals)..]);
}

/// Groups of nine digits on both sides of the point, each in four bytes, shorter ones in fewer; the first bit tells the sign, and a negative
/// number is the complement of its magnitude.
fn decimal_image(number: Decimal, ty: &SqlType, out: &mut Vec<u8>) {
    const BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
    let scale = usize::from(ty.decimals);
    let integers = (ty.length as usize).saturating_sub(scale);
    let text = number.to_string();
    let (whole, fraction) = text
        .trim_start_matches('-')
        .split_once('.')
        .unwrap_or((text.trim_start_matches('-'), ""));
    let whole = whole.trim_start_matches('0');
    let digits = format!("{whole:0>integers$}{fraction:0<scale$}");
    let start = out.len();
    let mut rest = digits.as_str();
    let mut group = |count: usize| {
        let (digits, others) = rest.split_at(count.min(rest.len()));
        rest = others;
        let value: u32 = digits.parse().unwrap_or(0);
        out.extend_from_slice(&value.to_be_bytes()[4 - BYTES[count]..]);
    };
    group(integers % 9);
    (0..integers / 9).for_each(|_| group(9));
    (0..scale / 9).for_each(|_| group(9));
    group(scale % 9);
    if number.is_negative() && !number.is_zero() {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    if let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
}

impl ResultSink for Sum {
    fn columns(&mut self, _shape: &Arc<ResultShape>, _status: ServerStatus) -> SqlResult<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> SqlResult<()> {
        self.add(|at| values.get(at).map_or(ValueRef::Null, Value::as_ref));
        Ok(())
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], _projection: &[usize]) -> SqlResult<()> {
        self.add(|column| layout.column(row, column));
        Ok(())
    }

    fn end(&mut self, _end: ResultEnd) -> SqlResult<()> {
        Ok(())
    }

    fn ok(&mut self, _done: Done) -> SqlResult<()> {
        Ok(())
    }
}
