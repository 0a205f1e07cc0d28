//! Functions over bits.

use types::{SqlType, Value};

use super::{Function, exactly};
use crate::convert;

pub const FUNCTIONS: &[Function] = &[Function::strict(
    "BIT_COUNT",
    exactly(1),
    |inference| {
        let bytes = inference.args[0].ty.kind.is_binary();
        if matches!(inference.args[0].kind, crate::ExprKind::HexLiteral(_)) || !bytes {
            inference.hex_as_numbers();
        }
        Ok(inference.nullable_as_args(SqlType {
            length: 2,
            ..SqlType::bigint()
        }))
    },
    |args| {
        let count = match args.value(0) {
            Value::Bytes(bytes) => bytes.iter().map(|byte| byte.count_ones()).sum(),
            value => convert::to_bits(value, args.ctx)?.count_ones(),
        };
        Ok(Value::Int(i64::from(count)))
    },
)];
