//! `+ - * / DIV %`, unary minus and the bit operators: in which domain they run, what type comes out, and the computing.
//!
//! Integers and decimals are exact; what leaves BIGINT, BIGINT UNSIGNED or 65 digits is error 1690, never a wrapped number.

use types::decimal::{Decimal, MAX_PRECISION, MAX_SCALE};
use types::error::{ErrorKind, SqlError};
use types::sql_type::NOT_FIXED_DECIMALS;
use types::{SqlResult, SqlType, TypeKind, Value};

use super::context::EvalContext;
use super::convert;
use crate::sql_mode::SqlMode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticOp {
    Add,
    Sub,
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    Mod,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitOp {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

/// The numbers that an operator computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    Integer { unsigned: bool },
    Decimal,
    Double,
}

impl ArithmeticOp {
    pub fn symbol(self) -> &'static str {
        match self {
            ArithmeticOp::Add => "+",
            ArithmeticOp::Sub => "-",
            ArithmeticOp::Mul => "*",
            ArithmeticOp::Div => "/",
            ArithmeticOp::IntDiv => "DIV",
            ArithmeticOp::Mod => "%",
        }
    }
}

impl BitOp {
    pub fn symbol(self) -> &'static str {
        match self {
            BitOp::And => "&",
            BitOp::Or => "|",
            BitOp::Xor => "^",
            BitOp::ShiftLeft => "<<",
            BitOp::ShiftRight => ">>",
        }
    }
}

/// The domain of one operand: what its values are as numbers.
pub fn numeric_domain(ty: &SqlType) -> Domain {
    match ty.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            Domain::Integer { unsigned: ty.unsigned }
        }
        TypeKind::Bit | TypeKind::Year => Domain::Integer { unsigned: true },
        TypeKind::Decimal => Domain::Decimal,
        TypeKind::Date => Domain::Integer { unsigned: false },
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp if ty.decimals == 0 => {
            Domain::Integer { unsigned: false }
        }
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => Domain::Decimal,
        _ => Domain::Double,
    }
}

/// The domain of an operation over both.
fn common_domain(left: Domain, right: Domain) -> Domain {
    match (left, right) {
        (Domain::Double, _) | (_, Domain::Double) => Domain::Double,
        (Domain::Decimal, _) | (_, Domain::Decimal) => Domain::Decimal,
        (Domain::Integer { unsigned: left }, Domain::Integer { unsigned: right }) => Domain::Integer {
            unsigned: left || right,
        },
    }
}

/// Digits before and after the point of an operand as a decimal: (precision, scale).
pub fn precision_and_scale(ty: &SqlType) -> (u32, u32) {
    let digits = |most: u32| ty.length.clamp(1, most);
    match ty.kind {
        TypeKind::Decimal => (ty.length, u32::from(ty.decimals)),
        TypeKind::Null => (1, 0),
        TypeKind::Bit => (u32::from((ty.length as f64 * std::f64::consts::LOG10_2) as u8) + 1, 0),
        TypeKind::Year => (4, 0),
        TypeKind::Date => (8, 0),
        TypeKind::Time => (7 + u32::from(ty.decimals), u32::from(ty.decimals)),
        TypeKind::DateTime | TypeKind::Timestamp => (14 + u32::from(ty.decimals), u32::from(ty.decimals)),
        kind if kind.is_integer() => (digits(20).saturating_sub(u32::from(!ty.unsigned)).max(1), 0),
        TypeKind::Float | TypeKind::Double if ty.decimals != NOT_FIXED_DECIMALS => {
            (ty.length.min(u32::from(MAX_PRECISION)), u32::from(ty.decimals))
        }
        _ => (u32::from(MAX_PRECISION), u32::from(MAX_SCALE)),
    }
}

/// `DECIMAL(precision, scale)` within the limits: digits before the point stay before digits after it.
pub fn decimal_type(precision: u32, scale: u32) -> SqlType {
    let scale = scale.min(u32::from(MAX_SCALE));
    SqlType::decimal(
        precision.clamp(scale.max(1), u32::from(MAX_PRECISION)) as u8,
        scale as u8,
    )
}

/// A BIGINT that prints up to `digits` digits.
fn integer_type(digits: u32, unsigned: bool) -> SqlType {
    SqlType {
        length: digits + u32::from(!unsigned),
        ..SqlType::integer(TypeKind::BigInt, unsigned)
    }
}

/// A DOUBLE that prints `decimals` digits after the point (31: as many as it takes).
pub fn double_type(decimals: u8) -> SqlType {
    if decimals >= NOT_FIXED_DECIMALS {
        return SqlType {
            length: 23,
            ..SqlType::double()
        };
    }
    SqlType {
        length: 17 + u32::from(decimals),
        decimals,
        ..SqlType::double()
    }
}

/// The digits after the point that a value of the type prints; 31 where that depends on the value.
pub fn decimals_of(ty: &SqlType) -> u8 {
    match ty.kind {
        TypeKind::Decimal
        | TypeKind::Float
        | TypeKind::Double
        | TypeKind::Time
        | TypeKind::DateTime
        | TypeKind::Timestamp => ty.decimals,
        kind if kind.is_numeric() || matches!(kind, TypeKind::Null | TypeKind::Date) => 0,
        _ => NOT_FIXED_DECIMALS,
    }
}

/// The domain and the result's type of `left op right`.
pub fn infer(op: ArithmeticOp, left: &SqlType, right: &SqlType, increment: u8, mode: SqlMode) -> (Domain, SqlType) {
    let (left_domain, right_domain) = (numeric_domain(left), numeric_domain(right));
    let mut domain = common_domain(left_domain, right_domain);
    let ((p1, s1), (p2, s2)) = (precision_and_scale(left), precision_and_scale(right));
    // Digits before the point, which a scale above the precision (0.001) makes none.
    let (i1, i2) = (p1.saturating_sub(s1), p2.saturating_sub(s2));
    let (d1, d2) = (decimals_of(left), decimals_of(right));
    let always_nullable = matches!(op, ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod);
    let nullable = always_nullable || left.nullable || right.nullable;
    let ty = match op {
        ArithmeticOp::Add | ArithmeticOp::Sub => {
            let scale = s1.max(s2);
            let precision = i1.max(i2) + 1 + scale;
            match domain {
                Domain::Integer { mut unsigned } => {
                    if op == ArithmeticOp::Sub && mode.has(SqlMode::NO_UNSIGNED_SUBTRACTION) {
                        unsigned = false;
                        domain = Domain::Integer { unsigned };
                    }
                    integer_type(precision.min(20), unsigned)
                }
                Domain::Decimal => decimal_type(precision, scale),
                Domain::Double => double_type(d1.max(d2)),
            }
        }
        ArithmeticOp::Mul => match domain {
            Domain::Integer { unsigned } => integer_type((p1 + p2).min(20), unsigned),
            Domain::Decimal => decimal_type(p1 + p2, (s1 + s2).min(u32::from(MAX_SCALE))),
            Domain::Double => double_type(d1.max(d2)),
        },
        ArithmeticOp::Div => {
            if let Domain::Integer { .. } = domain {
                domain = Domain::Decimal;
            }
            match domain {
                Domain::Double => double_type(d1.max(d2).saturating_add(increment)),
                _ => {
                    let scale = (s1 + u32::from(increment)).min(u32::from(MAX_SCALE));
                    decimal_type(p1 + s2 + u32::from(increment), scale)
                }
            }
        }
        ArithmeticOp::IntDiv => {
            let unsigned = left.unsigned || right.unsigned;
            let ty = integer_type(i1.clamp(1, 20), unsigned);
            if domain == Domain::Double {
                // Text divides exactly, through decimals.
                domain = Domain::Decimal;
            }
            ty
        }
        ArithmeticOp::Mod => match domain {
            Domain::Integer { .. } => {
                let unsigned = matches!(left_domain, Domain::Integer { unsigned: true });
                domain = Domain::Integer { unsigned };
                integer_type(p1.max(p2).min(20), unsigned)
            }
            Domain::Decimal => decimal_type(i1.max(i2) + s1.max(s2), s1.max(s2)),
            Domain::Double => double_type(d1.max(d2)),
        },
    };
    (domain, SqlType { nullable, ..ty })
}

/// The domain and type of `-operand`. A literal that leaves BIGINT becomes a decimal at binding; a column's is error 1690.
pub fn infer_negation(operand: &SqlType) -> (Domain, SqlType) {
    let (precision, scale) = precision_and_scale(operand);
    let (domain, ty) = match numeric_domain(operand) {
        Domain::Integer { .. } => (
            Domain::Integer { unsigned: false },
            integer_type(precision.min(20), false),
        ),
        Domain::Decimal => (Domain::Decimal, decimal_type(precision, scale)),
        Domain::Double => (Domain::Double, double_type(decimals_of(operand))),
    };
    (
        domain,
        SqlType {
            nullable: operand.nullable,
            ..ty
        },
    )
}

/// Computes `left op right`; `None` is NULL. Neither operand is NULL. `shown` is asked for the expression's text when a
/// result is out of range.
#[inline]
pub fn compute(
    op: ArithmeticOp,
    domain: Domain,
    ty: &SqlType,
    left: &Value,
    right: &Value,
    ctx: &EvalContext<'_>,
    shown: &dyn Fn() -> String,
) -> SqlResult<Value> {
    match domain {
        Domain::Integer { unsigned } => {
            if let (Value::Int(a), Value::Int(b), false) = (left, right, unsigned) {
                let fast = match op {
                    ArithmeticOp::Add => a.checked_add(*b),
                    ArithmeticOp::Sub => a.checked_sub(*b),
                    ArithmeticOp::Mul => a.checked_mul(*b),
                    _ => None,
                };
                if let Some(result) = fast {
                    return Ok(Value::Int(result));
                }
            }
            let (a, b) = (convert::to_i128(left, ctx)?, convert::to_i128(right, ctx)?);
            integer(op, unsigned, a, b, ctx, shown)
        }
        Domain::Decimal if op == ArithmeticOp::IntDiv => {
            let (a, b) = (convert::to_decimal(left, ctx)?, convert::to_decimal(right, ctx)?);
            if b.is_zero() {
                ctx.division_by_zero()?;
                return Ok(Value::Null);
            }
            let quotient = a.int_div(b).ok().flatten().and_then(|quotient| match ty.unsigned {
                true => quotient.to_u64().ok().map(Value::UInt),
                false => quotient.to_i64().ok().map(Value::Int),
            });
            quotient.ok_or_else(|| integer_out_of_range(ty.unsigned, shown))
        }
        Domain::Decimal => {
            let (a, b) = (convert::to_decimal(left, ctx)?, convert::to_decimal(right, ctx)?);
            decimal(op, ty, a, b, ctx, shown)
        }
        Domain::Double => {
            let (a, b) = (convert::to_f64(left, ctx)?, convert::to_f64(right, ctx)?);
            double(op, a, b, ctx, shown)
        }
    }
}

fn integer(
    op: ArithmeticOp,
    unsigned: bool,
    a: i128,
    b: i128,
    ctx: &EvalContext<'_>,
    shown: &dyn Fn() -> String,
) -> SqlResult<Value> {
    // Products of two 65-bit numbers need 130 bits; what overflows even i128 is out of range all the more.
    let result = match op {
        ArithmeticOp::Add => Some(a + b),
        ArithmeticOp::Sub => Some(a - b),
        ArithmeticOp::Mul => a.checked_mul(b),
        ArithmeticOp::IntDiv | ArithmeticOp::Mod | ArithmeticOp::Div if b == 0 => {
            ctx.division_by_zero()?;
            return Ok(Value::Null);
        }
        ArithmeticOp::IntDiv | ArithmeticOp::Div => Some(a / b),
        ArithmeticOp::Mod => Some(a % b),
    };
    let fitting = result.and_then(|result| match unsigned {
        true => u64::try_from(result).ok().map(Value::UInt),
        false => i64::try_from(result).ok().map(Value::Int),
    });
    fitting.ok_or_else(|| integer_out_of_range(unsigned, shown))
}

fn decimal(
    op: ArithmeticOp,
    ty: &SqlType,
    a: Decimal,
    b: Decimal,
    ctx: &EvalContext<'_>,
    shown: &dyn Fn() -> String,
) -> SqlResult<Value> {
    let out_of_range = |_| SqlError::new(ErrorKind::DataOutOfRange, &[&"DECIMAL", &shown()]);
    let result = match op {
        ArithmeticOp::Add => a.checked_add(b).map_err(out_of_range)?,
        ArithmeticOp::Sub => a.checked_sub(b).map_err(out_of_range)?,
        ArithmeticOp::Mul => a.checked_mul(b).map_err(out_of_range)?,
        // A quotient has the digits of its type and no others: `1 / 3 * 3` is 0.9999. Of a variable, whose type has all digits that there
        // are, it has those that are computed.
        ArithmeticOp::Div => match a
            .quotient(b, ctx.settings.div_precision_increment, ty.decimals)
            .map_err(out_of_range)?
        {
            Some(quotient) => quotient,
            None => {
                ctx.division_by_zero()?;
                return Ok(Value::Null);
            }
        },
        ArithmeticOp::Mod => match a.checked_rem(b) {
            Some(remainder) => remainder,
            None => {
                ctx.division_by_zero()?;
                return Ok(Value::Null);
            }
        },
        ArithmeticOp::IntDiv => unreachable!("DIV has a result of its own"),
    };
    Ok(Value::Decimal(result))
}

fn double(op: ArithmeticOp, a: f64, b: f64, ctx: &EvalContext<'_>, shown: &dyn Fn() -> String) -> SqlResult<Value> {
    let result = match op {
        ArithmeticOp::Add => a + b,
        ArithmeticOp::Sub => a - b,
        ArithmeticOp::Mul => a * b,
        ArithmeticOp::Div | ArithmeticOp::Mod | ArithmeticOp::IntDiv if b == 0.0 => {
            ctx.division_by_zero()?;
            return Ok(Value::Null);
        }
        ArithmeticOp::Div => a / b,
        ArithmeticOp::IntDiv => (a / b).trunc(),
        ArithmeticOp::Mod => a % b,
    };
    finite(result, shown)
}

/// A result of floating point; 1690 when it is not a number.
pub fn finite(result: f64, shown: &dyn Fn() -> String) -> SqlResult<Value> {
    if !result.is_finite() {
        return Err(SqlError::new(ErrorKind::DataOutOfRange, &[&"DOUBLE", &shown()]));
    }
    Ok(Value::Double(result))
}

fn integer_out_of_range(unsigned: bool, shown: &dyn Fn() -> String) -> SqlError {
    let name = if unsigned { "BIGINT UNSIGNED" } else { "BIGINT" };
    SqlError::new(ErrorKind::DataOutOfRange, &[&name, &shown()])
}

/// `-operand`, not NULL.
pub fn negate(domain: Domain, operand: &Value, ctx: &EvalContext<'_>, shown: &dyn Fn() -> String) -> SqlResult<Value> {
    match domain {
        Domain::Integer { .. } => {
            let value = -convert::to_i128(operand, ctx)?;
            i64::try_from(value)
                .map(Value::Int)
                .map_err(|_| integer_out_of_range(false, shown))
        }
        Domain::Decimal => Ok(Value::Decimal(-convert::to_decimal(operand, ctx)?)),
        Domain::Double => Ok(Value::Double(-convert::to_f64(operand, ctx)?)),
    }
}

/// `left op right` over 64 bits, neither NULL.
pub fn bits(op: BitOp, left: u64, right: u64) -> u64 {
    let shift = u32::try_from(right).ok();
    match op {
        BitOp::And => left & right,
        BitOp::Or => left | right,
        BitOp::Xor => left ^ right,
        BitOp::ShiftLeft => shift.and_then(|n| left.checked_shl(n)).unwrap_or(0),
        BitOp::ShiftRight => shift.and_then(|n| left.checked_shr(n)).unwrap_or(0),
    }
}

/// `left op right` over binary strings of one length. 3513 where the lengths differ.
pub fn binary_bits(op: BitOp, left: &[u8], right: &[u8]) -> SqlResult<Vec<u8>> {
    if left.len() != right.len() {
        return Err(ErrorKind::InvalidBitwiseOperandsSize.into());
    }
    let pairs = left.iter().zip(right);
    Ok(match op {
        BitOp::And => pairs.map(|(a, b)| a & b).collect(),
        BitOp::Or => pairs.map(|(a, b)| a | b).collect(),
        BitOp::Xor => pairs.map(|(a, b)| a ^ b).collect(),
        BitOp::ShiftLeft | BitOp::ShiftRight => unreachable!("shifts take a number on the right"),
    })
}

/// `bytes << count`, or `>>`: the length stays, zeros come in.
pub fn shift_bytes(op: BitOp, bytes: &[u8], count: u64) -> Vec<u8> {
    let bit_len = bytes.len() as u64 * 8;
    let mut out = vec![0; bytes.len()];
    if count >= bit_len {
        return out;
    }
    let (whole, part) = ((count / 8) as usize, (count % 8) as u32);
    for (i, slot) in out.iter_mut().enumerate() {
        let at = |index: Option<usize>| index.and_then(|index| bytes.get(index)).copied().map_or(0, u16::from);
        *slot = match op {
            BitOp::ShiftLeft => {
                let pair = at(Some(i + whole)) << 8 | at(Some(i + whole + 1));
                (pair << part >> 8) as u8
            }
            _ => {
                let pair = at(i.checked_sub(whole + 1)) << 8 | at(i.checked_sub(whole));
                (pair >> part) as u8
            }
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_of_byte_strings() {
        assert_eq!(shift_bytes(BitOp::ShiftLeft, &[0x01, 0x80], 1), [0x03, 0x00]);
        assert_eq!(shift_bytes(BitOp::ShiftRight, &[0x01, 0x80], 1), [0x00, 0xC0]);
        assert_eq!(shift_bytes(BitOp::ShiftLeft, &[0x01, 0x80], 9), [0x00, 0x00]);
        assert_eq!(shift_bytes(BitOp::ShiftRight, &[0x81, 0x80], 8), [0x00, 0x81]);
        assert_eq!(shift_bytes(BitOp::ShiftRight, &[0xFF], 8), [0x00]);
    }

    #[test]
    fn types_of_results() {
        let infer = |op, left: &SqlType, right: &SqlType| infer(op, left, right, 4, SqlMode::default());
        let two = SqlType::decimal(10, 2);
        assert_eq!(
            infer(ArithmeticOp::Add, &two, &SqlType::decimal(5, 4)).1.to_string(),
            "decimal(13,4)"
        );
        assert_eq!(infer(ArithmeticOp::Mul, &two, &two).1.to_string(), "decimal(20,4)");
        assert_eq!(infer(ArithmeticOp::Div, &two, &two).1.to_string(), "decimal(16,6)");
        let (domain, ty) = infer(ArithmeticOp::Div, &SqlType::int(), &SqlType::int());
        assert_eq!((domain, ty.to_string().as_str()), (Domain::Decimal, "decimal(14,4)"));
        assert!(
            infer(ArithmeticOp::Add, &SqlType::bigint_unsigned(), &SqlType::int())
                .1
                .unsigned
        );
    }
}
