//! The types of CAST, and names of character sets and collations.

use parser::ast::{DataType, TypeName};
use types::error::{ErrorKind, SqlError};
use types::sql_type::NOT_FIXED_DECIMALS;
use types::{CharsetId, CollationId, SqlResult, SqlType, TypeKind};

use crate::arithmetic::double_type;
use crate::functions::string_type;

/// The character set of that name; 1115 when there is none, 1235 when MySQL has it and this server has not.
pub fn charset_by_name(name: &str) -> SqlResult<CharsetId> {
    CharsetId::by_name(name).ok_or_else(|| SqlError::new(ErrorKind::UnknownCharacterSet, &[&name]))
}

/// The collation of that name; 1273 when there is none.
pub fn collation_by_name(name: &str) -> SqlResult<CollationId> {
    CollationId::by_name(name).ok_or_else(|| SqlError::new(ErrorKind::UnknownCollation, &[&name]))
}

/// The type that `CAST(.. AS target)` gives. 1425, 1426, 1427 for digits out of range; `shown` names the operand there.
pub fn cast_type(target: &DataType, connection: CollationId, shown: &dyn Fn() -> String) -> SqlResult<SqlType> {
    let fsp = |limit: u64| match target.length.unwrap_or(0) {
        digits if digits > limit => Err(SqlError::new(ErrorKind::TooBigPrecision, &[&digits, &shown(), &limit])),
        digits => Ok(digits as u8),
    };
    Ok(match target.name {
        TypeName::BigInt => SqlType::integer(TypeKind::BigInt, target.unsigned),
        TypeName::Decimal => decimal(target, shown)?,
        TypeName::Double => double_type(NOT_FIXED_DECIMALS),
        // FLOAT(p): single precision up to 24 bits.
        TypeName::Float => match target.length {
            Some(bits) if bits > 53 => {
                return Err(SqlError::new(ErrorKind::TooBigPrecision, &[&bits, &shown(), &53]));
            }
            Some(25..) => double_type(NOT_FIXED_DECIMALS),
            _ => SqlType::float(),
        },
        TypeName::Date => SqlType::date(),
        TypeName::Time => SqlType::time(fsp(6)?),
        TypeName::DateTime | TypeName::Timestamp => SqlType::datetime(fsp(6)?),
        // A number of the type YEAR: 0, not 0000.
        TypeName::Year => SqlType {
            zerofill: false,
            ..SqlType::year()
        },
        TypeName::Json => SqlType::json(),
        TypeName::Binary | TypeName::VarBinary => {
            string_type(target.length.unwrap_or(u64::from(u32::MAX)), CollationId::BINARY)
        }
        TypeName::Char | TypeName::VarChar => {
            let collation = match &target.charset {
                Some(charset) => {
                    let charset = charset_by_name(charset)?;
                    if connection.charset() == charset {
                        connection
                    } else {
                        charset.default_collation()
                    }
                }
                None => connection,
            };
            let collation = if target.binary {
                collation.charset().binary_collation()
            } else {
                collation
            };
            string_type(target.length.unwrap_or(u64::from(u32::MAX)), collation)
        }
        other => return Err(SqlError::not_supported(format!("CAST AS {other:?}").to_uppercase())),
    })
}

fn decimal(target: &DataType, shown: &dyn Fn() -> String) -> SqlResult<SqlType> {
    let precision = target.length.unwrap_or(10);
    let scale = u64::from(target.decimals.unwrap_or(0));
    if precision != 0 && scale > precision {
        return Err(SqlError::new(ErrorKind::MBiggerThanD, &[&""]));
    }
    if precision > 65 {
        return Err(SqlError::new(ErrorKind::TooBigPrecision, &[&precision, &shown(), &65]));
    }
    if scale > 30 {
        return Err(SqlError::new(ErrorKind::TooBigScale, &[&scale, &shown(), &30]));
    }
    let precision = if precision == 0 { 10 } else { precision };
    Ok(SqlType::decimal(precision as u8, scale as u8))
}
