//! IF, IFNULL, NULLIF, COALESCE, GREATEST, LEAST, INTERVAL, ISNULL: choices between their arguments.

use std::borrow::Cow;
use std::cmp::Ordering;

use governor::stepwise::Stepwise;
use types::{CollationId, Date, DateTime, ErrorKind, SqlError, SqlResult, SqlType, TypeKind, Value};

use super::args::{Inference, printed_chars, string_type};
use super::{Function, at_least, between, exactly};
use crate::arithmetic::{decimal_type, decimals_of, double_type, precision_and_scale};
use crate::collation::Coercibility;
use crate::compare::{self, Comparison};
use crate::context::EvalContext;
use crate::{Expr, ExprKind, convert};

pub const FUNCTIONS: &[Function] = &[
    Function::lazy("IF", exactly(3), infer_if, eval_if),
    Function::lazy("IFNULL", exactly(2), infer_coalesce, eval_coalesce),
    Function::lazy("NULLIF", exactly(2), infer_nullif, eval_nullif),
    Function::lazy("COALESCE", at_least(1), infer_coalesce, eval_coalesce),
    Function::lazy("GREATEST", at_least(2), infer_extreme, eval_extreme::<true>),
    Function::lazy("LEAST", at_least(2), infer_extreme, eval_extreme::<false>),
    Function::lazy("INTERVAL", at_least(2), infer_interval, eval_interval),
    Function::nullable("ISNULL", exactly(1), infer_isnull, |args| {
        Ok(Value::from(args.is_null(0)))
    }),
    Function::nullable("ANY_VALUE", exactly(1), infer_same, |args| Ok(args.value(0).clone())),
    // Its arguments are whether a row sums over each of the keys: a bit per key, the last one lowest.
    Function::strict(
        "GROUPING",
        at_least(1),
        |_| Ok(SqlType::bigint().not_null()),
        |args| {
            let bits = (0..args.len()).try_fold(0, |bits, at| args.int(at).map(|bit| bits << 1 | bit));
            bits.map(Value::Int)
        },
    )
    .volatile(),
    Function::lazy(
        "NAME_CONST",
        exactly(2),
        |i| i.common_type(1),
        |_, args, row, ctx| args[1].eval(row, ctx),
    ),
    Function::lazy("BENCHMARK", between(2, 2), infer_benchmark, eval_benchmark).volatile(),
];

impl Inference<'_> {
    /// The type that takes the values of all arguments from `from` on: of IF, CASE, COALESCE, UNION columns.
    pub fn common_type(&mut self, from: usize) -> SqlResult<SqlType> {
        let args = self.args.get(from..).unwrap_or_default();
        let nullable = args.iter().any(|arg| arg.ty.nullable);
        let Some(ty) = merge_types(args.iter().map(|arg| &arg.ty)) else {
            self.coercibility = Some(Coercibility::Ignorable);
            return Ok(SqlType::null());
        };
        let ty = if ty.kind.is_text() || ty.kind.is_binary() {
            let collation = self.mix_collations(from, self.args.len())?;
            let types = || self.args[from..].iter().map(|arg| &arg.ty);
            match types().filter(|ty| ty.kind.is_lob()).map(large_bytes).max() {
                Some(bytes) if self.name == "UNION" => large_type(bytes, collation),
                Some(_) => large_type(u64::MAX, collation),
                None => string_type(types().map(printed_chars).max().unwrap_or(0), collation),
            }
        } else {
            ty
        };
        Ok(SqlType { nullable, ..ty })
    }
}

/// The most bytes of a TEXT or BLOB, as MySQL counts them: of a TEXT each byte could be a character.
fn large_bytes(ty: &SqlType) -> u64 {
    u64::from(ty.length) * u64::from(ty.charset().max_bytes_per_char())
}

/// The smallest TEXT or BLOB that takes so many bytes.
fn large_type(bytes: u64, collation: CollationId) -> SqlType {
    use TypeKind::{Blob, LongBlob, LongText, MediumBlob, MediumText, Text, TinyBlob, TinyText};
    let (text, blob) = match bytes {
        0..=0xFF => (TinyText, TinyBlob),
        0x100..=0xFFFF => (Text, Blob),
        0x1_0000..=0xFF_FFFF => (MediumText, MediumBlob),
        _ => (LongText, LongBlob),
    };
    match collation {
        CollationId::BINARY => SqlType::blob(blob),
        _ => SqlType::text(text, collation),
    }
}

/// The type that holds the values of all of these, with the collation that they mix to: the columns of a UNION. 1271 where none of
/// the collations wins, for equal rows could not be told.
pub fn unified_type(exprs: &[&Expr], ctx: &EvalContext<'_>) -> SqlResult<SqlType> {
    match mixed_type(exprs, ctx)? {
        (_, Coercibility::None) => Err(SqlError::new(ErrorKind::CantAggregateNcollations, &[&"UNION"])),
        (ty, _) => Ok(ty),
    }
}

/// As [`unified_type`], with the standing of the collation.
pub fn mixed_type(exprs: &[&Expr], ctx: &EvalContext<'_>) -> SqlResult<(SqlType, Coercibility)> {
    let mut args: Stepwise<Vec<Expr>> = exprs.iter().copied().cloned().collect();
    let mut inference = Inference {
        name: "UNION",
        args: &mut args,
        ctx,
        coercibility: None,
    };
    let mut ty = inference.common_type(0)?;
    let is_fixed = |expr: &&Expr| matches!(expr.ty.kind, TypeKind::Char | TypeKind::Binary);
    if ty.kind == TypeKind::VarBinary && exprs.iter().all(is_fixed) {
        let bytes = exprs.iter().map(|expr| large_bytes(&expr.ty)).max();
        ty.length = bytes.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(ty.length);
        ty.kind = TypeKind::Binary;
    }
    ty.zerofill = ty.kind == TypeKind::Year && exprs.iter().all(|expr| expr.ty.zerofill);
    let coercibility = inference.coercibility.unwrap_or_else(|| Coercibility::of_result(&ty));
    // NULL decides for nothing.
    let mut texts = exprs.iter().filter(|expr| expr.ty.kind != TypeKind::Null).peekable();
    let are_undecided = texts.peek().is_some() && texts.all(|expr| expr.coercibility == Coercibility::None);
    Ok((
        ty,
        if are_undecided {
            Coercibility::None
        } else {
            coercibility
        },
    ))
}

/// The common type; `None` when all are NULL. For text the collation is the caller's to decide.
pub fn merge_types<'t>(types: impl Iterator<Item = &'t SqlType>) -> Option<SqlType> {
    types
        .inspect(|_| governor::pause())
        .filter(|ty| ty.kind != TypeKind::Null)
        .fold(None, |merged: Option<SqlType>, ty| {
            Some(match merged {
                None => match ty.kind {
                    TypeKind::Enum | TypeKind::Set => string_type(printed_chars(ty), ty.collation),
                    _ => ty.clone().of_result(),
                },
                Some(merged) => merge(&merged, ty),
            })
        })
}

fn merge(a: &SqlType, b: &SqlType) -> SqlType {
    use TypeKind::*;
    let text = || string_type(printed_chars(a).max(printed_chars(b)), a.collation);
    let exact = |kind: TypeKind| kind.is_integer() || matches!(kind, Decimal | Bit | Year);
    let approximate = |kind: TypeKind| matches!(kind, Float | Double);
    match (a.kind, b.kind) {
        (x, y) if x.is_integer() && y.is_integer() => merge_integers(a, b),
        (Bit, Bit) => SqlType::bit(a.length.max(b.length) as u8),
        (Year, Year) | (Json, Json) | (Date, Date) => a.clone(),
        (x, y) if exact(x) && exact(y) => {
            if x == Decimal || y == Decimal {
                let ((p1, s1), (p2, s2)) = (precision_and_scale(a), precision_and_scale(b));
                let scale = s1.max(s2);
                decimal_type((p1.saturating_sub(s1)).max(p2.saturating_sub(s2)) + scale, scale)
            } else {
                merge_integers(&as_integer(a), &as_integer(b))
            }
        }
        (Float, Float) => SqlType::float(),
        (Float, x) | (x, Float) if x.is_integer() && x != Int || x == Year => SqlType::float(),
        // PI() beside a whole number keeps its six digits.
        (x, y) if (approximate(x) || exact(x)) && (approximate(y) || exact(y)) => {
            double_type(decimals_of(a).max(decimals_of(b)))
        }
        (Time, Time) => SqlType::time(a.decimals.max(b.decimals)),
        (Date | DateTime | Timestamp | Time, Date | DateTime | Timestamp | Time) => {
            SqlType::datetime(a.decimals.max(b.decimals))
        }
        _ => text(),
    }
}

fn as_integer(ty: &SqlType) -> SqlType {
    match ty.kind {
        TypeKind::Bit => SqlType::bigint_unsigned(),
        TypeKind::Year => SqlType::integer(TypeKind::Int, true),
        _ => ty.clone(),
    }
}

/// The wider of the two; signed and unsigned meet in the next wider signed one, and beyond BIGINT in a decimal.
fn merge_integers(a: &SqlType, b: &SqlType) -> SqlType {
    const SIZES: [TypeKind; 5] = [
        TypeKind::TinyInt,
        TypeKind::SmallInt,
        TypeKind::MediumInt,
        TypeKind::Int,
        TypeKind::BigInt,
    ];
    let size = |ty: &SqlType| SIZES.iter().position(|kind| *kind == ty.kind).unwrap_or(4);
    let (a_size, b_size) = (size(a), size(b));
    let length = a.length.max(b.length);
    if a.unsigned == b.unsigned {
        return SqlType {
            length,
            ..SqlType::integer(SIZES[a_size.max(b_size)], a.unsigned)
        };
    }
    let (unsigned_size, signed_size) = if a.unsigned { (a_size, b_size) } else { (b_size, a_size) };
    if unsigned_size < signed_size {
        return SqlType {
            length,
            ..SqlType::integer(SIZES[signed_size], false)
        };
    }
    match SIZES.get(unsigned_size + 1) {
        Some(kind) => SqlType {
            length: length + 1,
            ..SqlType::integer(*kind, false)
        },
        None => decimal_type(20, 0),
    }
}

fn infer_if(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.common_type(1)
}

/// The branch of IF for this row.
pub fn chosen_by_if<'e>(args: &'e [Expr], row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<&'e Expr> {
    match args[0].eval_bool(row, ctx)? {
        Some(true) => Ok(&args[1]),
        _ => Ok(&args[2]),
    }
}

fn eval_if(expr: &Expr, args: &[Expr], row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
    chosen_by_if(args, row, ctx)?.eval_branch(&expr.ty, row, ctx)
}

fn infer_coalesce(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let ty = inference.common_type(0)?;
    // One argument that is never NULL is enough.
    let nullable = inference.args.iter().all(|arg| arg.ty.nullable);
    Ok(SqlType { nullable, ..ty })
}

fn eval_coalesce(expr: &Expr, args: &[Expr], row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
    for arg in args {
        let value = arg.eval_into(&expr.ty, row, ctx)?;
        if !value.is_null() {
            return Ok(value);
        }
    }
    Ok(Value::Null)
}

/// The type is the first argument's; the two compare as `=` does.
fn infer_nullif(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let first = &inference.args[0];
    inference.coercibility = Some(first.coercibility);
    let ty = SqlType {
        nullable: true,
        ..first.ty.clone()
    };
    // Refuses collations that do not mix.
    let (comparison, ..) = how(&inference.args[0], &inference.args[1], "nullif", inference.ctx)?;
    // A literal is converted to what it is compared by, and the result is what was compared.
    let ty = match comparison {
        Comparison::Text(collation) if inference.literal(0).is_some() => string_type(printed_chars(&ty), collation),
        Comparison::Bytes
            if inference.literal(0).is_some() && !ty.kind.is_binary() && !inference.args[1].is_null_literal() =>
        {
            string_type(printed_chars(&ty), CollationId::BINARY)
        }
        _ => ty,
    };
    let ty = SqlType { nullable: true, ..ty };
    Ok(match ty.kind {
        TypeKind::Enum | TypeKind::Set => SqlType {
            nullable: true,
            ..string_type(printed_chars(&ty), ty.collation)
        },
        kind if kind.is_lob() => SqlType {
            nullable: true,
            ..large_type(u64::MAX, ty.collation)
        },
        _ => ty.of_result(),
    })
}

fn how(a: &Expr, b: &Expr, name: &str, ctx: &EvalContext<'_>) -> SqlResult<(Comparison, Expr, Expr)> {
    compare::unify(a.clone(), b.clone(), name, ctx.settings.collation, ctx)
}

fn eval_nullif(expr: &Expr, args: &[Expr], row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let (comparison, left, right) = how(&args[0], &args[1], "nullif", ctx)?;
    let a = left.eval_exact(row, ctx)?;
    if a.is_null() {
        return Ok(Value::Null);
    }
    let b = right.eval_exact(row, ctx)?;
    let a = comparison.of_operand(&left, Cow::Owned(a));
    let b = comparison.of_operand(&right, Cow::Owned(b));
    if comparison.compare(&a, &b, ctx)? == Some(Ordering::Equal) {
        return Ok(Value::Null);
    }
    args[0].eval_into(&expr.ty, row, ctx)
}

fn infer_extreme(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let nullable = inference.any_nullable();
    let mut ty = inference.common_type(0)?;
    if let Some(date) = printed_date(inference.args)
        && matches!(ty.kind, TypeKind::VarChar | TypeKind::VarBinary)
    {
        ty.length = ty.length.max(date.length);
    }
    Ok(SqlType { nullable, ..ty })
}

fn eval_extreme<const GREATEST: bool>(
    expr: &Expr,
    args: &[Expr],
    row: &[Value],
    ctx: &EvalContext<'_>,
) -> SqlResult<Value> {
    let better = if GREATEST { Ordering::Greater } else { Ordering::Less };
    if is_text_of_dates(expr, args) {
        return extreme_date(better, expr, args, row, ctx);
    }
    let comparison = extreme_comparison(expr);
    let mut best = Value::Null;
    for (i, arg) in args.iter().enumerate() {
        let value = arg.eval_into(&expr.ty, row, ctx)?;
        if value.is_null() {
            return Ok(Value::Null);
        }
        if i == 0 || comparison.compare(&value, &best, ctx)? == Some(better) {
            best = value;
        }
    }
    Ok(best)
}

fn is_dated(kind: TypeKind) -> bool {
    matches!(kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp)
}

/// Whether dates stand beside something else: the result is text, or a number where one is wanted, and of a date all the same.
fn is_text_of_dates(expr: &Expr, args: &[Expr]) -> bool {
    let ty = expr.ty.kind;
    (ty.is_text() || ty.is_binary() || ty == TypeKind::Double) && args.iter().any(|arg| is_dated(arg.ty.kind))
}

/// Whether it is the text of the least or greatest date, or of the least or greatest of times and texts.
pub fn is_extreme_moment(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(call) => {
            let is_time = |arg: &Expr| arg.ty.kind == TypeKind::Time;
            matches!(call.function.name, "LEAST" | "GREATEST")
                && (is_text_of_dates(expr, &call.args) || expr.ty.kind.is_text() && call.args.iter().any(is_time))
        }
        _ => false,
    }
}

/// The least or greatest date, printed as the most exact of the arguments that are dates; what is no date is passed over.
fn extreme_date(
    better: Ordering,
    expr: &Expr,
    args: &[Expr],
    row: &[Value],
    ctx: &EvalContext<'_>,
) -> SqlResult<Value> {
    let mut best: Option<DateTime> = None;
    for arg in args {
        // Beside dates without a time a number is read as one.
        let is_day = arg.ty.kind.is_numeric() && printed_date(args).is_some_and(|ty| ty.kind == TypeKind::Date);
        let value = match arg.ty.kind {
            TypeKind::Year => arg.eval(row, ctx)?,
            _ if is_day => arg.eval(row, ctx)?,
            _ if expr.ty.kind == TypeKind::Double => arg.eval(row, ctx)?,
            _ => arg.eval_into(&expr.ty, row, ctx)?,
        };
        let date = match value {
            Value::Null => return Ok(Value::Null),
            Value::Year(year) => Some(first_day_of(year)),
            number if is_day => match super::temporal::day_of_number(&number) {
                Some(day) => Some(DateTime::from(day)),
                None => convert::to_datetime(&number, ctx)?,
            },
            other => convert::to_datetime(&other, ctx)?,
        };
        if let Some(date) = date
            && best.is_none_or(|best| date.cmp(&best) == better)
        {
            best = Some(date);
        }
    }
    let Some(best) = best else { return Ok(Value::Null) };
    let printed = match printed_date(args) {
        Some(ty) if ty.kind == TypeKind::DateTime => Value::DateTime(DateTime {
            fsp: ty.decimals,
            ..best
        }),
        _ => Value::Date(best.date),
    };
    if expr.ty.kind == TypeKind::Double {
        return convert::to_f64(&printed, ctx).map(Value::Double);
    }
    Ok(match expr.ty.kind.is_binary() {
        true => Value::bytes(printed.to_string().as_bytes()),
        false => Value::str(&printed.to_string()),
    })
}

/// As what the least or greatest of them is printed, where dates are among them.
fn printed_date(args: &[Expr]) -> Option<SqlType> {
    let mut kinds = args
        .iter()
        .map(|arg| arg.ty.kind)
        .filter(|kind| is_dated(*kind))
        .peekable();
    kinds.peek()?;
    Some(match kinds.all(|kind| kind == TypeKind::Date) {
        true => SqlType::date(),
        false => SqlType::datetime(args.iter().map(fraction_of_date).max().unwrap_or(0)),
    })
}

/// The digits behind the second that the argument may have.
fn fraction_of_date(arg: &Expr) -> u8 {
    match arg.as_literal() {
        Some(Value::Str(text)) => super::temporal::datetime_digits(text).unwrap_or(6),
        _ => decimals_of(&arg.ty).min(6),
    }
}

fn first_day_of(year: u16) -> DateTime {
    DateTime {
        date: Date { year, month: 1, day: 1 },
        ..DateTime::default()
    }
}

/// Arguments compare as values of the common type.
fn extreme_comparison(expr: &Expr) -> Comparison {
    match expr.ty.kind {
        TypeKind::Decimal => Comparison::Decimal,
        TypeKind::Float | TypeKind::Double => Comparison::Double,
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => Comparison::DateTime,
        TypeKind::Time => Comparison::Time,
        TypeKind::Json => Comparison::Json,
        kind if kind.is_text() || kind.is_binary() => match expr.ty.collation {
            CollationId::BINARY => Comparison::Bytes,
            collation => Comparison::Text(collation),
        },
        TypeKind::Null => Comparison::Bytes,
        _ => Comparison::Integer,
    }
}

fn infer_interval(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_numbers();
    Ok(SqlType {
        length: 2,
        ..SqlType::bigint()
    }
    .not_null())
}

/// How many of the numbers after the first are not above it; they must ascend, NULLs count as smallest.
fn eval_interval(_: &Expr, args: &[Expr], row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let exact = args
        .iter()
        .all(|arg| arg.ty.kind.is_integer() || matches!(arg.ty.kind, TypeKind::Decimal | TypeKind::Null));
    let comparison = if exact { Comparison::Decimal } else { Comparison::Double };
    let number = comparison.of_operand(&args[0], Cow::Owned(args[0].eval(row, ctx)?));
    if number.is_null() {
        return Ok(Value::Int(-1));
    }
    for (i, arg) in args[1..].iter().enumerate() {
        let bound = comparison.of_operand(arg, Cow::Owned(arg.eval(row, ctx)?));
        if comparison.compare(&bound, &number, ctx)? == Some(Ordering::Greater) {
            return Ok(Value::Int(i as i64));
        }
    }
    Ok(Value::Int(args.len() as i64 - 1))
}

fn infer_isnull(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType::boolean().not_null())
}

/// The type and standing of the one argument.
fn infer_same(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let first = &inference.args[0];
    inference.coercibility = Some(first.coercibility);
    Ok(first.ty.clone().of_result())
}

fn infer_benchmark(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_number(0);
    Ok(SqlType::bigint())
}

fn eval_benchmark(_: &Expr, args: &[Expr], row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let count = args[0].eval(row, ctx)?;
    if count.is_null() {
        return Ok(Value::Null);
    }
    let count = convert::to_i64(&count, ctx)?;
    if count < 0 {
        ctx.warn(types::SqlError::new(
            types::ErrorKind::WrongValueForType,
            &[&"count", &count, &"benchmark"],
        ))?;
        return Ok(Value::Null);
    }
    for _ in 0..count {
        governor::tick()?;
        args[1].eval(row, ctx)?;
    }
    Ok(Value::Int(0))
}
