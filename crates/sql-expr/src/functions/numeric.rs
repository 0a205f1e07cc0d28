//! Numbers: rounding, powers, logarithms, trigonometry, bases, random numbers.

use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::sql_type::NOT_FIXED_DECIMALS;
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use super::args::{Args, Inference, string_type};
use super::{Function, between, exactly};
use crate::arithmetic::{self, ArithmeticOp, Domain, decimal_type, double_type, numeric_domain, precision_and_scale};
use crate::context::EvalContext;
use crate::{Coercibility, Expr, ExprKind, convert};

pub const FUNCTIONS: &[Function] = &[
    Function::exact("ABS", exactly(1), infer_abs, abs),
    Function::exact("CEIL", exactly(1), infer_whole, ceil),
    Function::exact("CEILING", exactly(1), infer_whole, ceil),
    Function::exact("FLOOR", exactly(1), infer_whole, floor),
    Function::exact("ROUND", between(1, 2), infer_round, round::<false>),
    Function::exact("TRUNCATE", exactly(2), infer_truncate, round::<true>),
    Function::exact("SIGN", exactly(1), infer_sign, sign),
    Function::exact("MOD", exactly(2), infer_mod, modulo),
    Function::strict("SQRT", exactly(1), infer_double, |args| {
        real(args, |x| (x >= 0.0).then(|| x.sqrt()))
    }),
    Function::strict("EXP", exactly(1), infer_double, |args| real(args, |x| Some(x.exp()))),
    Function::strict("LN", exactly(1), infer_double, |args| logarithm(args, f64::ln)),
    Function::strict("LOG", between(1, 2), infer_double, log),
    Function::strict("LOG2", exactly(1), infer_double, |args| logarithm(args, f64::log2)),
    Function::strict("LOG10", exactly(1), infer_double, |args| logarithm(args, f64::log10)),
    Function::strict("POW", exactly(2), infer_double, pow),
    Function::strict("POWER", exactly(2), infer_double, pow),
    Function::strict("SIN", exactly(1), infer_double, |args| real(args, |x| Some(x.sin()))),
    Function::strict("COS", exactly(1), infer_double, |args| real(args, |x| Some(x.cos()))),
    Function::strict("TAN", exactly(1), infer_double, |args| real(args, |x| Some(x.tan()))),
    Function::strict("ASIN", exactly(1), infer_double, |args| {
        real(args, |x| (x.abs() <= 1.0).then(|| x.asin()))
    }),
    Function::strict("ACOS", exactly(1), infer_double, |args| {
        real(args, |x| (x.abs() <= 1.0).then(|| x.acos()))
    }),
    Function::strict("ATAN", between(1, 2), infer_double, atan),
    Function::strict("ATAN2", between(1, 2), infer_double, atan),
    Function::strict("COT", exactly(1), infer_double, |args| {
        real(args, |x| Some(1.0 / x.tan()))
    }),
    Function::strict("DEGREES", exactly(1), infer_double, |args| {
        real(args, |x| Some(x * (180.0 / std::f64::consts::PI)))
    }),
    Function::strict("RADIANS", exactly(1), infer_double, |args| {
        real(args, |x| Some(x * (std::f64::consts::PI / 180.0)))
    }),
    Function::strict(
        "PI",
        exactly(0),
        |_| Ok(double_type(6).not_null()),
        |_| Ok(Value::Double(std::f64::consts::PI)),
    ),
    Function::strict("CRC32", exactly(1), infer_crc32, crc32),
    Function::lazy(
        "RAND",
        between(0, 1),
        |i| {
            i.hex_as_numbers();
            Ok(double_type(NOT_FIXED_DECIMALS).not_null())
        },
        rand,
    )
    .volatile(),
    Function::strict("CONV", exactly(3), infer_conv, conv),
    Function::strict("BIN", exactly(1), infer_conv, |args| from_base_ten(args, 2)),
    Function::strict("OCT", exactly(1), infer_conv, |args| from_base_ten(args, 8)),
    Function::strict("FORMAT_BYTES", exactly(1), infer_format_bytes, format_bytes),
    Function::strict("FORMAT_PICO_TIME", exactly(1), infer_format_bytes, format_pico_time),
];

fn shown(name: &str, args: &Args<'_>) -> String {
    let list: Vec<String> = args.exprs.iter().map(Expr::to_string).collect();
    format!("{name}({})", list.join(","))
}

/// A DOUBLE, NULL where the function is not defined.
fn infer_double(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_numbers();
    Ok(double_type(NOT_FIXED_DECIMALS))
}

/// A function of one double; 1690 when it leaves the doubles.
fn real(args: &Args<'_>, function: impl Fn(f64) -> Option<f64>) -> SqlResult<Value> {
    match function(args.double(0)?) {
        None => Ok(Value::Null),
        Some(result) => arithmetic::finite(result, &|| shown(&args.name.to_lowercase(), args)),
    }
}

fn logarithm(args: &Args<'_>, function: fn(f64) -> f64) -> SqlResult<Value> {
    let x = args.double(0)?;
    if x <= 0.0 {
        args.ctx.warn(ErrorKind::InvalidArgumentForLogarithm.into())?;
        return Ok(Value::Null);
    }
    Ok(Value::Double(function(x)))
}

/// `LOG(x)`, `LOG(base, x)`
fn log(args: &Args<'_>) -> SqlResult<Value> {
    if args.len() == 1 {
        return logarithm(args, f64::ln);
    }
    let (base, x) = (args.double(0)?, args.double(1)?);
    if base <= 0.0 || x <= 0.0 || base == 1.0 {
        args.ctx.warn(ErrorKind::InvalidArgumentForLogarithm.into())?;
        return Ok(Value::Null);
    }
    Ok(Value::Double(x.ln() / base.ln()))
}

fn pow(args: &Args<'_>) -> SqlResult<Value> {
    arithmetic::finite(args.double(0)?.powf(args.double(1)?), &|| shown("pow", args))
}

fn atan(args: &Args<'_>) -> SqlResult<Value> {
    let y = args.double(0)?;
    Ok(Value::Double(if args.len() == 1 {
        y.atan()
    } else {
        y.atan2(args.double(1)?)
    }))
}

fn infer_abs(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_numbers();
    let ty = &inference.args[0].ty;
    let result = match numeric_domain(ty) {
        Domain::Integer { unsigned } => {
            let (digits, _) = precision_and_scale(ty);
            SqlType {
                length: digits + 1,
                ..SqlType::integer(TypeKind::BigInt, unsigned)
            }
        }
        Domain::Decimal => {
            let (precision, scale) = precision_and_scale(ty);
            decimal_type(precision, scale)
        }
        Domain::Double => double_type(arithmetic::decimals_of(ty)),
    };
    Ok(inference.nullable_as_args(result))
}

fn abs(args: &Args<'_>) -> SqlResult<Value> {
    match args.ty.kind {
        TypeKind::Decimal => Ok(Value::Decimal(args.decimal(0)?.abs())),
        TypeKind::Double => Ok(Value::Double(args.double(0)?.abs())),
        _ if args.ty.unsigned => Ok(Value::UInt(args.bits(0)?)),
        _ => args
            .int(0)?
            .checked_abs()
            .map(Value::Int)
            .ok_or_else(|| SqlError::new(ErrorKind::DataOutOfRange, &[&"BIGINT", &shown("abs", args)])),
    }
}

/// CEIL, FLOOR: integers where they fit.
fn infer_whole(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_numbers();
    let ty = &inference.args[0].ty;
    let (precision, scale) = precision_and_scale(ty);
    let result = match numeric_domain(ty) {
        Domain::Integer { unsigned } => SqlType::integer(TypeKind::BigInt, unsigned),
        // A sign, a point, and 18 digits fit a BIGINT.
        Domain::Decimal if precision.saturating_sub(scale) < 18 => SqlType::bigint(),
        Domain::Decimal => decimal_type(precision.saturating_sub(scale) + u32::from(scale > 0), 0),
        Domain::Double => double_type(NOT_FIXED_DECIMALS),
    };
    Ok(inference.nullable_as_args(result))
}

fn whole(args: &Args<'_>, decimal: fn(Decimal) -> Option<Decimal>, double: fn(f64) -> f64) -> SqlResult<Value> {
    match numeric_domain(args.arg_type(0)) {
        Domain::Integer { .. } => as_integer_result(args.value(0), args),
        Domain::Double => Ok(Value::Double(double(args.double(0)?))),
        Domain::Decimal => {
            let number = args.decimal(0)?;
            let result = Value::Decimal(decimal(number).unwrap_or(number));
            if args.ty.kind == TypeKind::Decimal {
                Ok(result)
            } else {
                as_integer_result(&result, args)
            }
        }
    }
}

fn as_integer_result(value: &Value, args: &Args<'_>) -> SqlResult<Value> {
    let wide = convert::to_i128(value, args.ctx)?;
    Ok(if args.ty.unsigned {
        Value::UInt(wide as u64)
    } else {
        Value::Int(wide as i64)
    })
}

fn ceil(args: &Args<'_>) -> SqlResult<Value> {
    whole(args, |number| number.ceil().ok(), f64::ceil)
}

fn floor(args: &Args<'_>) -> SqlResult<Value> {
    whole(args, |number| number.floor().ok(), f64::floor)
}

fn infer_round(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    rounded_type(inference, RoundingUp::Possible)
}

fn infer_truncate(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    rounded_type(inference, RoundingUp::Impossible)
}

/// Whether a digit may be carried, so that 99.9 becomes 100.
#[derive(PartialEq)]
enum RoundingUp {
    Possible,
    Impossible,
}

fn rounded_type(inference: &mut Inference<'_>, carry: RoundingUp) -> SqlResult<SqlType> {
    inference.hex_as_numbers();
    let digits = match inference.args.len() {
        1 => Some(0),
        _ => match inference.literal(1) {
            Some(Value::Null) => return Ok(double_type(NOT_FIXED_DECIMALS)),
            Some(value) => Some(digits_of(&value.clone(), inference.ctx)?),
            None => None,
        },
    };
    let ty = &inference.args[0].ty;
    let (precision, scale) = precision_and_scale(ty);
    let carried = u32::from(carry == RoundingUp::Possible);
    let result = match numeric_domain(ty) {
        Domain::Integer { unsigned } => {
            let grows = digits.is_none_or(|digits| digits < 0) as u32 * carried;
            SqlType {
                length: ty.length + grows,
                ..SqlType::integer(TypeKind::BigInt, unsigned)
            }
        }
        Domain::Decimal => {
            // Unknown digits: as many as there are. Rounding makes no new ones.
            let kept = digits.map_or(scale, |digits| (digits.max(0) as u32).min(scale));
            let grows = if kept < scale { carried } else { 0 };
            decimal_type((precision + kept).saturating_sub(scale) + grows, kept)
        }
        Domain::Double => double_type(NOT_FIXED_DECIMALS),
    };
    Ok(inference.nullable_as_args(result))
}

/// The second argument of ROUND within sensible limits.
fn digits_of(value: &Value, ctx: &EvalContext<'_>) -> SqlResult<i32> {
    const DIGITS_MAX: i128 = 400;
    Ok(convert::to_i128(value, ctx)?.clamp(-DIGITS_MAX, DIGITS_MAX) as i32)
}

fn round<const TRUNCATE: bool>(args: &Args<'_>) -> SqlResult<Value> {
    let digits = if args.len() == 1 {
        0
    } else {
        digits_of(args.value(1), args.ctx)?
    };
    match numeric_domain(args.arg_type(0)) {
        Domain::Double => Ok(Value::Double(round_double(args.double(0)?, digits, TRUNCATE))),
        Domain::Decimal => {
            let digits = digits.min(i32::from(args.ty.decimals));
            let number = args.decimal(0)?;
            let rounded = if TRUNCATE {
                number.truncate_at(digits)
            } else {
                number.round_at(digits)
            };
            rounded
                .map(Value::Decimal)
                .map_err(|_| SqlError::new(ErrorKind::DataOutOfRange, &[&"DECIMAL", &shown("round", args)]))
        }
        Domain::Integer { .. } if digits >= 0 => as_integer_result(args.value(0), args),
        Domain::Integer { unsigned } => {
            let number = convert::to_i128(args.value(0), args.ctx)?;
            let unit = 10i128.checked_pow(digits.unsigned_abs()).unwrap_or(i128::MAX);
            let below = number - number % unit;
            let up = !TRUNCATE && (number % unit).unsigned_abs() >= unit.unsigned_abs().div_ceil(2);
            let result = if up {
                below.saturating_add(unit * number.signum())
            } else {
                below
            };
            let fitting = match unsigned {
                true => u64::try_from(result).ok().map(Value::UInt),
                false => i64::try_from(result).ok().map(Value::Int),
            };
            let name = if unsigned { "BIGINT UNSIGNED" } else { "BIGINT" };
            fitting.ok_or_else(|| SqlError::new(ErrorKind::DataOutOfRange, &[&name, &shown("round", args)]))
        }
    }
}

/// MySQL's `my_double_round`: halves go to the even neighbour.
pub(super) fn round_double(number: f64, digits: i32, truncate: bool) -> f64 {
    let unit = 10f64.powi(digits.abs());
    let (scaled, back): (f64, fn(f64, f64) -> f64) = if digits < 0 {
        if unit.is_infinite() {
            return 0.0;
        }
        (number / unit, |x, unit| x * unit)
    } else {
        (number * unit, |x, unit| x / unit)
    };
    if scaled.is_infinite() || unit.is_infinite() {
        return number;
    }
    back(
        if truncate {
            scaled.trunc()
        } else {
            scaled.round_ties_even()
        },
        unit,
    )
}

fn infer_sign(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_numbers();
    Ok(inference.nullable_as_args(SqlType {
        length: 2,
        ..SqlType::bigint()
    }))
}

fn sign(args: &Args<'_>) -> SqlResult<Value> {
    let sign = match numeric_domain(args.arg_type(0)) {
        Domain::Integer { .. } => convert::to_i128(args.value(0), args.ctx)?.signum() as i64,
        Domain::Decimal => match args.decimal(0)? {
            zero if zero.is_zero() => 0,
            number if number.is_negative() => -1,
            _ => 1,
        },
        Domain::Double => match args.double(0)? {
            0.0 => 0,
            number => number.signum() as i64,
        },
    };
    Ok(Value::Int(sign))
}

fn infer_mod(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_numbers();
    Ok(mod_of(inference.args, inference.ctx).1)
}

fn mod_of(args: &[Expr], ctx: &EvalContext<'_>) -> (Domain, SqlType) {
    let settings = ctx.settings;
    arithmetic::infer(
        ArithmeticOp::Mod,
        &args[0].ty,
        &args[1].ty,
        settings.div_precision_increment,
        settings.sql_mode,
    )
}

fn modulo(args: &Args<'_>) -> SqlResult<Value> {
    let (domain, ty) = mod_of(args.exprs, args.ctx);
    let shown = || shown("mod", args);
    arithmetic::compute(
        ArithmeticOp::Mod,
        domain,
        &ty,
        args.value(0),
        args.value(1),
        args.ctx,
        &shown,
    )
}

fn infer_crc32(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(inference.nullable_as_args(SqlType {
        length: 10,
        ..SqlType::bigint_unsigned()
    }))
}

fn crc32(args: &Args<'_>) -> SqlResult<Value> {
    let mut crc = crc32fast::Hasher::new();
    governor::bulk::pieces(&args.encoded(0)).for_each(|piece| crc.update(piece));
    Ok(Value::UInt(u64::from(crc.finalize())))
}

/// With a constant seed a sequence of its own, kept for the statement; without, the session's.
fn rand(expr: &Expr, args: &[Expr], row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let Some(seed) = args.first() else {
        return Ok(Value::Double(ctx.services.random().next()));
    };
    let seed_value = || match seed.eval(row, ctx)? {
        Value::Null => Ok(0),
        value => convert::to_i64(&value, ctx),
    };
    if !seed.is_constant() {
        let state = crate::context::RandomState::from_seed(seed_value()?);
        return Ok(Value::Double(state.next()));
    }
    let site = std::ptr::from_ref(expr).addr();
    ctx.seeded_random(site, seed_value).map(Value::Double)
}

fn infer_conv(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    if inference.args.len() == 1 {
        inference.hex_as_numbers();
    }
    Ok(inference.connection_text(65))
}

/// `CONV(number, from, to)`; negative bases are signed. NULL for a base outside of 2 to 36.
fn conv(args: &Args<'_>) -> SqlResult<Value> {
    let (from, to) = (args.int(1)?, args.int(2)?);
    let valid = |base: i64| (2..=36).contains(&base.unsigned_abs());
    if !valid(from) || !valid(to) {
        return Ok(Value::Null);
    }
    // Bits are a number as they are; other numbers are read by their decimal text.
    let bits = match convert::hex_as_number(args.exprs[0].clone()).as_literal() {
        Some(Value::UInt(bits)) if matches!(args.exprs[0].kind, ExprKind::HexLiteral(_)) => *bits,
        _ => match args.value(0) {
            Value::Bit(bit) => bit.value,
            _ if args.encoded(0).is_empty() => return Ok(Value::Null),
            _ => read_in_base(&args.encoded(0), from, args)?,
        },
    };
    Ok(args.text_result(print_in_base(bits, to)))
}

fn from_base_ten(args: &Args<'_>, base: i64) -> SqlResult<Value> {
    let bits = match args.value(0) {
        Value::Str(_) | Value::Bytes(_) => {
            let text = args.encoded(0);
            if text.is_empty() {
                return Ok(Value::Null);
            }
            read_in_base(&text, 10, args)?
        }
        // Fractions are cut, not rounded.
        Value::Double(number) => *number as i64 as u64,
        Value::Decimal(number) => {
            let whole = number.truncate(0).unwrap_or(*number);
            whole
                .to_i64()
                .map_or_else(|_| whole.to_u64().unwrap_or(u64::MAX), |number| number as u64)
        }
        value => convert::to_bits(value, args.ctx)?,
    };
    Ok(args.text_result(print_in_base(bits, base)))
}

/// [`parse_in_base`], with warning 1292 for text that begins with no digit and for numbers beyond 64 bits.
fn read_in_base(text: &[u8], base: i64, args: &Args<'_>) -> SqlResult<u64> {
    let radix = base.unsigned_abs() as u32;
    let digits = text.trim_ascii_start();
    let digits = digits
        .strip_prefix(b"-")
        .or(digits.strip_prefix(b"+"))
        .unwrap_or(digits);
    let limit = if base < 0 { 1u128 << 63 } else { 1 << 64 };
    let mut magnitude = Some(0u128).filter(|_| digits.first().is_some_and(|b| (*b as char).is_digit(radix)));
    for digit in digits.iter().map_while(|b| (*b as char).to_digit(radix)) {
        magnitude = magnitude
            .map(|magnitude| magnitude * u128::from(radix) + u128::from(digit))
            .filter(|magnitude| *magnitude < limit);
    }
    if magnitude.is_none() {
        args.ctx.warn(convert::truncated("DECIMAL", text))?;
    }
    Ok(parse_in_base(text, base))
}

/// The longest prefix that is a number of the base, as 64 bits; what is larger is all ones (or the signed limits, for a
/// negative base).
fn parse_in_base(text: &[u8], base: i64) -> u64 {
    let radix = base.unsigned_abs() as u128;
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let mut magnitude = 0u128;
    for digit in digits {
        let Some(digit) = (*digit as char).to_digit(radix as u32) else {
            break;
        };
        magnitude = (magnitude * radix + u128::from(digit)).min(u128::from(u64::MAX) + 1);
    }
    if base < 0 {
        let signed = if negative {
            -(magnitude.min(1 << 63) as i128)
        } else {
            magnitude.min(i64::MAX as u128) as i128
        };
        return signed as i64 as u64;
    }
    let bits = u64::try_from(magnitude).unwrap_or(u64::MAX);
    match negative {
        true if magnitude <= u128::from(u64::MAX) => bits.wrapping_neg(),
        _ => bits,
    }
}

fn print_in_base(bits: u64, base: i64) -> String {
    let radix = base.unsigned_abs();
    let (negative, mut rest) = match bits as i64 {
        signed if base < 0 && signed < 0 => (true, signed.unsigned_abs()),
        _ => (false, bits),
    };
    let mut digits = Vec::new();
    loop {
        let digit = (rest % radix) as u32;
        digits.push(
            char::from_digit(digit, 36)
                .expect("a digit is below the base")
                .to_ascii_uppercase(),
        );
        rest /= radix;
        if rest == 0 {
            break;
        }
    }
    if negative {
        digits.push('-');
    }
    digits.iter().rev().collect()
}

fn infer_format_bytes(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.coercibility = Some(Coercibility::Coercible);
    Ok(string_type(11, CollationId::UTF8MB3_GENERAL_CI))
}

fn format_bytes(args: &Args<'_>) -> SqlResult<Value> {
    const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    Ok(args.text_result(in_units(args.double(0)?, &UNITS, &[1024.0; 6])))
}

fn format_pico_time(args: &Args<'_>) -> SqlResult<Value> {
    const UNITS: [&str; 8] = ["ps", "ns", "us", "ms", "s", "min", "h", "d"];
    Ok(args.text_result(in_units(
        args.double(0)?,
        &UNITS,
        &[1e3, 1e3, 1e3, 1e3, 60.0, 60.0, 24.0],
    )))
}

/// The number in the largest unit of which it has one: `512 bytes`, `1.00 KiB`.
fn in_units(number: f64, units: &[&str], steps: &[f64]) -> String {
    let mut rest = number;
    let mut unit = 0;
    while unit < steps.len() && rest.abs() >= steps[unit] {
        rest /= steps[unit];
        unit += 1;
    }
    match unit {
        0 => format!("{:>4} {}", rest.trunc(), units[0]),
        _ if rest.abs() >= 100_000.0 => format!("{rest:.2e} {}", units[unit]),
        _ => format!("{rest:.2} {}", units[unit]),
    }
}
