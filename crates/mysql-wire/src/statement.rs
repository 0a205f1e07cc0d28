//! Prepared statements: the answer to COM_STMT_PREPARE and the parameters of COM_STMT_EXECUTE.

use crate::column::ColumnType;
use crate::command::code;
use crate::value::BinaryValue;
use crate::{Malformed, Reader, put};

/// The first packet of the answer to COM_STMT_PREPARE; the definitions of the parameters and columns follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    pub statement_id: u32,
    pub columns: u16,
    pub parameters: u16,
    pub warnings: u16,
}

impl Prepared {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(0);
        put::u32(out, self.statement_id);
        put::u16(out, self.columns);
        put::u16(out, self.parameters);
        out.push(0);
        put::u16(out, self.warnings);
    }

    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        if reader.u8("prepared")? != 0 {
            return Err(Malformed("prepared"));
        }
        let statement_id = reader.u32("statement id")?;
        let (columns, parameters) = (reader.u16("columns")?, reader.u16("parameters")?);
        reader.u8("filler")?;
        let warnings = if reader.is_empty() { 0 } else { reader.u16("warnings")? };
        Ok(Prepared {
            statement_id,
            columns,
            parameters,
            warnings,
        })
    }
}

/// COM_STMT_EXECUTE; its parameters can be read once the statement's parameter count is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    pub statement_id: u32,
    pub cursor: CursorFlags,
    parameters: &'a [u8],
}

/// The `flags` byte of COM_STMT_EXECUTE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CursorFlags(pub u8);

impl CursorFlags {
    pub const NONE: CursorFlags = CursorFlags(0);
    pub const READ_ONLY: CursorFlags = CursorFlags(1);

    /// Whether the client wants to fetch the rows through a cursor.
    pub fn wants_cursor(self) -> bool {
        self.0 & 1 != 0
    }
}

impl<'a> Execute<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let statement_id = reader.u32("statement id")?;
        let cursor = CursorFlags(reader.u8("cursor flags")?);
        reader.u32("iterations")?;
        Ok(Execute {
            statement_id,
            cursor,
            parameters: reader.take_rest(),
        })
    }

    /// The parameters of a statement that has `count` of them.
    #[inline]
    pub fn parameters(&self, count: usize) -> Result<Parameters<'a>, Malformed> {
        let mut reader = Reader::new(self.parameters);
        if count == 0 {
            return Ok(Parameters {
                nulls: &[],
                types: None,
                values: reader,
            });
        }
        let nulls = reader.bytes(count.div_ceil(8), "null bitmap")?;
        let types = match reader.u8("types flag")? {
            0 => None,
            _ => Some(reader.bytes(2 * count, "parameter types")?),
        };
        Ok(Parameters {
            nulls,
            types,
            values: reader,
        })
    }

    /// `parameters` is what [`encode_parameters`] wrote.
    pub fn new(statement_id: u32, cursor: CursorFlags, parameters: &'a [u8]) -> Self {
        Execute {
            statement_id,
            cursor,
            parameters,
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(code::STMT_EXECUTE);
        put::u32(out, self.statement_id);
        out.push(self.cursor.0);
        put::u32(out, 1);
        out.extend_from_slice(self.parameters);
    }
}

/// The type a client binds to a parameter. Sent with the first execution and remembered by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterType {
    pub ty: ColumnType,
    pub unsigned: bool,
}

/// The parameter part of an execution: `values` are read one by one, in order.
#[derive(Debug, Clone, Copy)]
pub struct Parameters<'a> {
    nulls: &'a [u8],
    types: Option<&'a [u8]>,
    values: Reader<'a>,
}

impl<'a> Parameters<'a> {
    /// The types, if this execution (re)binds them.
    pub fn types(&self) -> Option<impl Iterator<Item = Result<ParameterType, Malformed>> + use<'a>> {
        self.types.map(|types| {
            types.chunks_exact(2).map(|pair| {
                let ty = ColumnType::from_code(pair[0]).ok_or(Malformed("parameter type"))?;
                Ok(ParameterType {
                    ty,
                    unsigned: pair[1] & 0x80 != 0,
                })
            })
        })
    }

    pub fn is_null(&self, index: usize) -> bool {
        self.nulls
            .get(index / 8)
            .is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }

    /// The next value, which is the one of parameter `index`. Parameters whose value was sent as long data are
    /// not in the packet and must not be read.
    #[inline]
    pub fn read(&mut self, index: usize, ty: ParameterType) -> Result<BinaryValue<'a>, Malformed> {
        if self.is_null(index) {
            return Ok(BinaryValue::Null);
        }
        BinaryValue::read(&mut self.values, ty.ty, ty.unsigned)
    }
}

/// The client's side: bitmap, types and values of all parameters.
pub fn encode_parameters(out: &mut Vec<u8>, parameters: &[(ParameterType, BinaryValue)], bind_types: TypeBinding) {
    if parameters.is_empty() {
        return;
    }
    let nulls_at = out.len();
    out.resize(nulls_at + parameters.len().div_ceil(8), 0);
    for (index, (_, value)) in parameters.iter().enumerate() {
        if *value == BinaryValue::Null {
            out[nulls_at + index / 8] |= 1 << (index % 8);
        }
    }
    match bind_types {
        TypeBinding::Remembered => out.push(0),
        TypeBinding::New => {
            out.push(1);
            for (ty, _) in parameters {
                out.extend_from_slice(&[ty.ty as u8, u8::from(ty.unsigned) << 7]);
            }
        }
    }
    for (ty, value) in parameters {
        value.write(out, ty.ty);
    }
}

/// Whether an execution sends the parameters' types or relies on those of an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeBinding {
    New,
    Remembered,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{BinaryDateTime, BinaryTime};
    use proptest::prelude::*;

    fn date_time() -> impl Strategy<Value = BinaryDateTime> {
        let day = (0..=9999u16, 0..=12u8, 0..=31u8);
        let time = (0..24u8, 0..60u8, 0..60u8, prop_oneof![Just(0), 0..1_000_000u32]);
        (day, time).prop_map(
            |((year, month, day), (hour, minute, second, microsecond))| BinaryDateTime {
                year,
                month,
                day,
                hour,
                minute,
                second,
                microsecond,
            },
        )
    }

    fn time() -> impl Strategy<Value = BinaryTime> {
        (any::<bool>(), 0..35u32, 0..24u8, 0..60u8, 1..60u8, 0..1_000_000u32).prop_map(
            |(negative, days, hour, minute, second, microsecond)| BinaryTime {
                negative,
                days,
                hour,
                minute,
                second,
                microsecond,
            },
        )
    }

    fn parameter() -> impl Strategy<Value = (ParameterType, BinaryValue<'static>)> {
        let typed = |ty, unsigned| move |value| (ParameterType { ty, unsigned }, value);
        prop_oneof![
            Just((
                ParameterType {
                    ty: ColumnType::LongLong,
                    unsigned: false
                },
                BinaryValue::Null
            )),
            any::<i8>()
                .prop_map(|n| BinaryValue::Int(n.into()))
                .prop_map(typed(ColumnType::Tiny, false)),
            any::<u8>()
                .prop_map(|n| BinaryValue::UInt(n.into()))
                .prop_map(typed(ColumnType::Tiny, true)),
            any::<i16>()
                .prop_map(|n| BinaryValue::Int(n.into()))
                .prop_map(typed(ColumnType::Short, false)),
            any::<i32>()
                .prop_map(|n| BinaryValue::Int(n.into()))
                .prop_map(typed(ColumnType::Long, false)),
            any::<u32>()
                .prop_map(|n| BinaryValue::UInt(n.into()))
                .prop_map(typed(ColumnType::Int24, true)),
            any::<i64>()
                .prop_map(BinaryValue::Int)
                .prop_map(typed(ColumnType::LongLong, false)),
            any::<u64>()
                .prop_map(BinaryValue::UInt)
                .prop_map(typed(ColumnType::LongLong, true)),
            (-1e9..1e9f32)
                .prop_map(BinaryValue::Float)
                .prop_map(typed(ColumnType::Float, false)),
            (-1e99..1e99f64)
                .prop_map(BinaryValue::Double)
                .prop_map(typed(ColumnType::Double, false)),
            date_time()
                .prop_map(BinaryValue::DateTime)
                .prop_map(typed(ColumnType::DateTime, false)),
            time()
                .prop_map(BinaryValue::Time)
                .prop_map(typed(ColumnType::Time, false)),
            prop_oneof![Just(&b""[..]), Just(&b"text"[..]), Just(&[0xff; 300][..])]
                .prop_map(BinaryValue::Bytes)
                .prop_map(typed(ColumnType::VarString, false)),
        ]
    }

    proptest! {
        #[test]
        fn parameters_read_back(parameters in prop::collection::vec(parameter(), 0..20)) {
            let mut encoded = Vec::new();
            encode_parameters(&mut encoded, &parameters, TypeBinding::New);
            let mut packet = Vec::new();
            Execute::new(7, CursorFlags::READ_ONLY, &encoded).encode(&mut packet);
            let execute = Execute::read(&mut Reader::new(&packet[1..])).unwrap();
            prop_assert!(execute.statement_id == 7 && execute.cursor.wants_cursor());
            let mut block = execute.parameters(parameters.len()).unwrap();
            let types: Vec<_> = block.types().into_iter().flatten().map(Result::unwrap).collect();
            for (index, (ty, value)) in parameters.iter().enumerate() {
                prop_assert_eq!(types[index], *ty);
                prop_assert_eq!(block.read(index, *ty).unwrap(), *value);
            }
            prop_assert!(block.values.is_empty());
        }
    }

    #[test]
    fn remembered_types_are_not_sent_again() {
        let ty = ParameterType {
            ty: ColumnType::LongLong,
            unsigned: false,
        };
        let mut encoded = Vec::new();
        encode_parameters(&mut encoded, &[(ty, BinaryValue::Int(-2))], TypeBinding::Remembered);
        let mut block = Execute::new(1, CursorFlags::NONE, &encoded).parameters(1).unwrap();
        assert!(block.types().is_none());
        assert_eq!(block.read(0, ty), Ok(BinaryValue::Int(-2)));
    }

    #[test]
    fn short_or_unknown_parameters_are_malformed() {
        let ty = ParameterType {
            ty: ColumnType::LongLong,
            unsigned: false,
        };
        assert!(Execute::new(1, CursorFlags::NONE, &[]).parameters(1).is_err());
        assert!(Execute::new(1, CursorFlags::NONE, &[0, 1, 8]).parameters(1).is_err());
        let mut short = Execute::new(1, CursorFlags::NONE, &[0, 1, 8, 0, 1, 2])
            .parameters(1)
            .unwrap();
        assert_eq!(short.read(0, ty), Err(Malformed("value")));
        let unknown = Execute::new(1, CursorFlags::NONE, &[0, 1, 99, 0])
            .parameters(1)
            .unwrap();
        assert!(unknown.types().unwrap().any(|ty| ty.is_err()));
    }
}
