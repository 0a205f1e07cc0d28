//! How two operands compare: chosen from their types when binding ([`unify`]), applied to values when evaluating
//! ([`Comparison::compare`]).
//!
//! A constant beside a column is converted to the column's type when that loses nothing, so that evaluation compares like
//! with like and an index can find the value.

use std::borrow::Cow;
use std::cmp::Ordering;

use parser::ast::BinaryOp;
use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::time::{Date, DateTime};
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use super::collation;
use super::context::{Definition, EvalContext};
use super::convert;
use super::exact_text::{exact_literal, is_exact_text};
use super::functions::json;
use super::sql_mode::SqlMode;
use super::{Expr, ExprKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareOp {
    Eq,
    /// `<=>`
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CompareOp {
    pub fn of(op: BinaryOp) -> Option<CompareOp> {
        Some(match op {
            BinaryOp::Eq => CompareOp::Eq,
            BinaryOp::NullSafeEq => CompareOp::NullSafeEq,
            BinaryOp::Ne => CompareOp::Ne,
            BinaryOp::Lt => CompareOp::Lt,
            BinaryOp::Le => CompareOp::Le,
            BinaryOp::Gt => CompareOp::Gt,
            BinaryOp::Ge => CompareOp::Ge,
            _ => return None,
        })
    }

    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Eq => "=",
            CompareOp::NullSafeEq => "<=>",
            CompareOp::Ne => "<>",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
        }
    }

    /// The operator with its sides exchanged: `a < b` is `b > a`.
    pub fn flipped(self) -> CompareOp {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            same => same,
        }
    }

    /// The operator that is true where this one is false (and unknown where it is unknown).
    pub fn negated(self) -> Option<CompareOp> {
        Some(match self {
            CompareOp::Eq => CompareOp::Ne,
            CompareOp::Ne => CompareOp::Eq,
            CompareOp::Lt => CompareOp::Ge,
            CompareOp::Le => CompareOp::Gt,
            CompareOp::Gt => CompareOp::Le,
            CompareOp::Ge => CompareOp::Lt,
            CompareOp::NullSafeEq => return None,
        })
    }

    /// Whether the operator holds for operands in this order. Not for `<=>`, which NULLs do not make unknown.
    #[inline]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            CompareOp::Eq | CompareOp::NullSafeEq => order.is_eq(),
            CompareOp::Ne => order.is_ne(),
            CompareOp::Lt => order.is_lt(),
            CompareOp::Le => order.is_le(),
            CompareOp::Gt => order.is_gt(),
            CompareOp::Ge => order.is_ge(),
        }
    }
}

/// The domain in which two operands are compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    Integer,
    Decimal,
    Double,
    Text(CollationId),
    Bytes,
    /// Dates and dates with times, as dates with times.
    DateTime,
    /// A DATE beside text that is no constant: the text's time of day does not count.
    Date,
    /// As DateTime, with a list of constants: what is no date equals no date.
    ListedDates,
    Time,
    Json,
    /// Rows, column by column.
    Row(Vec<Comparison>),
}

impl Comparison {
    /// Of texts under a collation.
    pub fn of_text(collation: CollationId) -> Comparison {
        match collation {
            CollationId::BINARY => Comparison::Bytes,
            collation => Comparison::Text(collation),
        }
    }

    /// Whether a column of this type is in the order of the comparison, so that an index over it can serve.
    pub fn keeps_order_of(&self, ty: &SqlType) -> bool {
        match self {
            Comparison::Integer | Comparison::Decimal => ty.kind.is_integer() || ty.kind == TypeKind::Decimal,
            Comparison::Double => ty.kind.is_integer() || ty.kind == TypeKind::Double,
            Comparison::Text(collation) => ty.kind.is_text() && ty.collation == *collation,
            Comparison::Bytes => ty.kind.is_binary(),
            Comparison::DateTime => matches!(ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp),
            Comparison::Time => ty.kind == TypeKind::Time,
            Comparison::Date | Comparison::ListedDates | Comparison::Json | Comparison::Row(_) => false,
        }
    }

    /// As this comparison of the two operands, made by an operator: to it, a DATE is a day.
    pub fn by_days(self, left: &Expr, right: &Expr) -> Comparison {
        let is_day = |expr: &Expr| expr.ty.kind == TypeKind::Date;
        let is_text = |expr: &Expr| class(&expr.ty) == Class::String && !is_fixed(expr);
        match self {
            Comparison::DateTime if is_day(left) && is_text(right) || is_text(left) && is_day(right) => {
                Comparison::Date
            }
            other => other,
        }
    }

    /// The order of two values; `None` when one is NULL.
    #[inline]
    pub fn compare(&self, left: &Value, right: &Value, ctx: &EvalContext<'_>) -> SqlResult<Option<Ordering>> {
        if let (Comparison::Integer, Value::Int(a), Value::Int(b)) = (self, left, right) {
            return Ok(Some(a.cmp(b)));
        }
        if left.is_null() || right.is_null() {
            return Ok(None);
        }
        self.compare_not_null(left, right, ctx).map(Some)
    }

    /// Appends a key that two values share exactly when they compare as equal, whatever their types. For integers, texts and bytes
    /// only: other comparisons have no such key.
    pub fn write_hash_key(&self, value: &Value, ctx: &EvalContext<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
        match self {
            Comparison::Integer => {
                let number = convert::to_i128(value, ctx)?;
                out.extend_from_slice(&number.to_le_bytes());
            }
            Comparison::Text(collation) => {
                let mut key = Vec::new();
                match value {
                    Value::Str(text) => collation.sort_key(text.as_bytes(), &mut key),
                    other => collation.sort_key(convert::to_comparable_text(other, *collation)?.as_bytes(), &mut key),
                }
                out.extend_from_slice(&(key.len() as u32).to_le_bytes());
                out.extend_from_slice(&key);
            }
            Comparison::Bytes => {
                let bytes = convert::to_bytes(value);
                out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                out.extend_from_slice(bytes.as_ref());
            }
            _ => return Err(SqlError::internal("this comparison has no hash key")),
        }
        Ok(())
    }

    fn compare_not_null(&self, left: &Value, right: &Value, ctx: &EvalContext<'_>) -> SqlResult<Ordering> {
        Ok(match self {
            Comparison::Integer => convert::to_i128(left, ctx)?.cmp(&convert::to_i128(right, ctx)?),
            Comparison::Decimal => convert::to_decimal(left, ctx)?.cmp(&convert::to_decimal(right, ctx)?),
            Comparison::Double => {
                let (a, b) = (convert::to_f64(left, ctx)?, convert::to_f64(right, ctx)?);
                a.partial_cmp(&b).unwrap_or(Ordering::Equal)
            }
            Comparison::Text(collation) => match (left, right) {
                (Value::Str(a), Value::Str(b)) => collation.compare(a.as_bytes(), b.as_bytes()),
                _ => {
                    let left = convert::to_comparable_text(left, *collation)?;
                    let right = convert::to_comparable_text(right, *collation)?;
                    collation.compare(left.as_bytes(), right.as_bytes())
                }
            },
            Comparison::Bytes => convert::to_bytes(left).as_ref().cmp(convert::to_bytes(right).as_ref()),
            // What is no date is the zero date.
            Comparison::DateTime => {
                let date = |value| Ok::<_, SqlError>(convert::to_datetime(value, ctx)?.unwrap_or(Date::ZERO.into()));
                date(left)?.cmp(&date(right)?)
            }
            Comparison::Date => {
                let day = |value| {
                    Ok::<_, SqlError>(convert::to_datetime(value, ctx)?.map_or(Date::ZERO, |moment| moment.date))
                };
                day(left)?.cmp(&day(right)?)
            }
            Comparison::ListedDates => match (convert::to_datetime(left, ctx)?, convert::to_datetime(right, ctx)?) {
                (Some(a), Some(b)) => a.cmp(&b),
                // Beside a date with time it is the zero date.
                (Some(a), None) if matches!(left, Value::DateTime(_) | Value::Timestamp(_)) => {
                    a.cmp(&Date::ZERO.into())
                }
                _ => Ordering::Less,
            },
            Comparison::Time => match (convert::to_time(left, ctx)?, convert::to_time(right, ctx)?) {
                (Some(a), Some(b)) => a.cmp(&b),
                (None, None) => Ordering::Equal,
                _ => convert::to_text(left)
                    .as_bytes()
                    .cmp(convert::to_text(right).as_bytes()),
            },
            Comparison::Json => convert::compare_json(left, right),
            Comparison::Row(_) => return Err(SqlError::internal("rows are compared column by column")),
        })
    }
}

impl Comparison {
    /// The value of an operand: beside a number a TEXT column is read without a warning.
    pub(super) fn operand<'v>(
        &self,
        expr: &'v Expr,
        row: &'v [Value],
        ctx: &EvalContext<'_>,
    ) -> SqlResult<Cow<'v, Value>> {
        Ok(self.of_operand(expr, expr.eval_ref(row, ctx)?))
    }

    /// The same of a value that is known.
    pub(super) fn of_operand<'v>(&self, expr: &Expr, value: Cow<'v, Value>) -> Cow<'v, Value> {
        match self {
            Comparison::Double => convert::as_operand_of_double(expr, value),
            _ => value,
        }
    }
}

/// What the type of an operand means for comparing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Null,
    Integer,
    Decimal,
    Double,
    String,
    /// DATE, DATETIME, TIMESTAMP.
    DateTime,
    Time,
    Json,
}

pub(crate) fn class(ty: &SqlType) -> Class {
    match ty.kind {
        TypeKind::Null => Class::Null,
        TypeKind::Bit | TypeKind::Year => Class::Integer,
        TypeKind::Decimal => Class::Decimal,
        TypeKind::Float | TypeKind::Double => Class::Double,
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => Class::DateTime,
        TypeKind::Time => Class::Time,
        TypeKind::Json => Class::Json,
        kind if kind.is_integer() => Class::Integer,
        _ => Class::String,
    }
}

/// Chooses how `left op right` compares and converts a constant side. `operation` is the operator's name for 1267.
pub fn unify(
    left: Expr,
    right: Expr,
    operation: &str,
    connection: CollationId,
    ctx: &EvalContext<'_>,
) -> SqlResult<(Comparison, Expr, Expr)> {
    let is_row = |expr: &Expr| matches!(expr.kind, ExprKind::Row(_)) || expr.width() > 1;
    if is_row(&left) || is_row(&right) {
        return unify_rows(left, right, operation, connection, ctx);
    }
    let how = |how: Comparison, left, right| Ok((how, left, right));
    match (class(&left.ty), class(&right.ty)) {
        // To BETWEEN a truth is a number.
        (Class::Json, _) | (_, Class::Json) if operation == "between" => how(Comparison::Json, left, right),
        (Class::Json, _) => how(Comparison::Json, left, json::beside_document(right)),
        (_, Class::Json) => how(Comparison::Json, json::beside_document(left), right),
        (Class::Null, Class::Null) => how(Comparison::Bytes, left, right),
        (Class::Null, other) | (other, Class::Null) => {
            let comparison = match other {
                Class::Integer => Comparison::Integer,
                Class::Decimal => Comparison::Decimal,
                Class::Double => Comparison::Double,
                Class::DateTime => Comparison::DateTime,
                Class::Time => Comparison::Time,
                _ => text_comparison(&left, &right, operation, connection)?,
            };
            how(comparison, left, right)
        }
        (Class::String, Class::String) => {
            let comparison = text_comparison(&left, &right, operation, connection)?;
            how(comparison, left, right)
        }
        (Class::Time, Class::Time) => how(Comparison::Time, left, right),
        (Class::DateTime | Class::Time, Class::DateTime | Class::Time) => how(Comparison::DateTime, left, right),
        (Class::DateTime, Class::String) => {
            let right = constant_datetime(right, &left.ty, ctx)?;
            how(Comparison::DateTime, left, right)
        }
        (Class::String, Class::DateTime) => {
            let left = constant_datetime(left, &right.ty, ctx)?;
            how(Comparison::DateTime, left, right)
        }
        // Text is read as a time where it is a constant beside a column; otherwise the time is printed, and texts are compared.
        (Class::Time, Class::String) if left.is_stored() && is_fixed(&right) => {
            let right = constant_time(right, ctx)?;
            how(Comparison::Time, left, right)
        }
        (Class::String, Class::Time) if right.is_stored() && is_fixed(&left) => {
            let left = constant_time(left, ctx)?;
            how(Comparison::Time, left, right)
        }
        (Class::Time, Class::String) | (Class::String, Class::Time) => {
            let comparison = text_comparison(&left, &right, operation, connection)?;
            how(comparison, left, right)
        }
        // A column beside a number that reads as a date or a time: 20240131, 101112.
        (Class::DateTime | Class::Time, _) if left.is_some_column() && right.as_literal().is_some() => {
            match number_as_temporal(&right, &left.ty) {
                Some((comparison, constant)) => how(comparison, left, constant),
                None => refused_number(&right, &left.ty, ctx).map_or_else(|| numbers(left, right, operation), Err),
            }
        }
        (_, Class::DateTime | Class::Time) if right.is_some_column() && left.as_literal().is_some() => {
            match number_as_temporal(&left, &right.ty) {
                Some((comparison, constant)) => how(comparison, constant, right),
                None => refused_number(&left, &right.ty, ctx).map_or_else(|| numbers(left, right, operation), Err),
            }
        }
        _ => numbers(left, right, operation),
    }
}

/// Why a table's definition may not have this number beside a date or a time.
fn refused_number(constant: &Expr, column: &SqlType, ctx: &EvalContext<'_>) -> Option<SqlError> {
    let value = constant.as_literal().filter(|value| !value.is_null())?;
    if column.kind == TypeKind::Time && matches!(value, Value::Double(_)) {
        return None;
    }
    let is_refused = ctx.statement.definition() == Some(Definition::Table);
    is_refused.then(|| convert::truncated("datetime", convert::to_text(value).as_bytes()))
}

/// Whether it is a constant of the statement, and not of an outer row only.
pub(crate) fn is_fixed(expr: &Expr) -> bool {
    expr.is_constant() && !expr.any(&mut |part| matches!(part.kind, ExprKind::Outer { .. }))
}

/// How the items of an IN list or of a CASE compare with its operand.
pub struct ListComparison {
    /// That of all items, where all are texts, dates and times.
    shared: Option<Comparison>,
    /// Whether a table's definition may not have a constant that is no date.
    refuses: bool,
}

impl ListComparison {
    /// Of a list: with a date in any place every text is a date, with a time a time.
    pub fn of_list(operand: &Expr, items: &[Expr], ctx: &EvalContext<'_>) -> ListComparison {
        let classes = || std::iter::once(operand).chain(items).map(|expr| class(&expr.ty));
        let is_textual = |class| matches!(class, Class::Null | Class::String | Class::DateTime | Class::Time);
        let is_no_date = |item: &Expr| class(&item.ty) == Class::String && readable_datetime(item, ctx).is_none();
        // A time is one of today.
        let is_constant = |item: &Expr| item.as_literal().is_some() && class(&item.ty) != Class::Time;
        let are_constants = items.iter().all(is_constant);
        let shared = match operand.width() == 1 && classes().all(is_textual) {
            true if classes().any(|class| class == Class::DateTime)
                && are_constants
                && items.iter().any(is_no_date) =>
            {
                Some(Comparison::ListedDates)
            }
            true if classes().any(|class| class == Class::DateTime) => Some(Comparison::DateTime),
            true if classes().any(|class| class == Class::Time) => Some(Comparison::Time),
            _ => None,
        };
        let refuses = shared.is_some() && ctx.statement.definition() == Some(Definition::Table);
        ListComparison { shared, refuses }
    }

    /// Of BETWEEN, with a date in some place.
    pub fn of_dates() -> ListComparison {
        ListComparison {
            shared: Some(Comparison::DateTime),
            refuses: false,
        }
    }

    /// Of a CASE, where the operand alone decides.
    pub fn by_operand() -> ListComparison {
        ListComparison {
            shared: None,
            refuses: false,
        }
    }

    /// As [`unify`]; but a constant that is no date is a value that warns whenever it is compared.
    pub fn unify(
        &self,
        operand: Expr,
        item: Expr,
        operation: &str,
        connection: CollationId,
        ctx: &EvalContext<'_>,
    ) -> SqlResult<(Comparison, Expr, Expr)> {
        if let (ExprKind::Row(left), ExprKind::Row(right)) = (&operand.kind, &item.kind)
            && left.len() == right.len()
        {
            let pairs = left.iter().cloned().zip(right.iter().cloned());
            let list = ListComparison::by_operand();
            return unified_columns(pairs, |a, b| list.unify(a, b, operation, connection, ctx));
        }
        let how = match (&self.shared, class(&operand.ty), class(&item.ty)) {
            (Some(how), ..) => how.clone(),
            (None, Class::DateTime, Class::String) => Comparison::DateTime,
            (None, Class::Time, Class::String) => Comparison::Time,
            // In a list a year of two digits is no year.
            (
                None,
                Class::Integer,
                Class::Integer | Class::Decimal | Class::Double | Class::String | Class::DateTime,
            ) if operand.ty.kind == TypeKind::Year => numeric(&operand, &item),
            (
                None,
                Class::Integer | Class::Decimal | Class::Double | Class::String | Class::DateTime,
                Class::Integer,
            ) if item.ty.kind == TypeKind::Year => numeric(&operand, &item),
            (None, Class::String, Class::DateTime | Class::Time) => {
                text_comparison(&operand, &item, operation, connection)?
            }
            _ => return unify(operand, item, operation, connection, ctx),
        };
        let constant = |expr: Expr| match how {
            Comparison::DateTime | Comparison::ListedDates => readable_datetime(&expr, ctx).unwrap_or(expr),
            Comparison::Time => constant_time(expr, ctx).unwrap_or_else(|_| Expr::null()),
            _ => expr,
        };
        if self.refuses {
            for text in [&operand, &item].into_iter().filter_map(Expr::as_literal) {
                self.check_moment(text, ctx)?;
            }
        }
        let (operand, item) = (constant(operand), constant(item));
        Ok((how, operand, item))
    }

    fn check_moment(&self, value: &Value, ctx: &EvalContext<'_>) -> SqlResult<()> {
        let (Value::Str(_), Some(how)) = (value, &self.shared) else {
            return Ok(());
        };
        let (kind, reads) = match how {
            Comparison::Time => ("time", convert::parse_time_quietly(value, ctx).is_some()),
            _ => ("date", convert::parse_datetime_quietly(value, ctx).is_some()),
        };
        match reads {
            true => Ok(()),
            false => Err(convert::truncated(kind, convert::to_text(value).as_bytes())),
        }
    }
}

/// One side is a number: compares as numbers, exactly where both are exact.
fn numbers(left: Expr, right: Expr, operation: &str) -> SqlResult<(Comparison, Expr, Expr)> {
    let left = convert::as_number(left);
    let right = convert::as_number(right);
    if is_exact_text(&left, &right, operation) || is_exact_text(&right, &left, operation) {
        return Ok((Comparison::Decimal, exact_literal(left), exact_literal(right)));
    }
    // Beside the smallest or largest of a column of years a number is no year.
    let is_column = |expr: &Expr| expr.is_some_column() && (expr.ty.kind != TypeKind::Year || expr.is_stored());
    if is_column(&left)
        && let Some(constant) = constant_like_column(&right, &left.ty)
    {
        return Ok((like_column(&left.ty, &constant), left, constant));
    }
    if is_column(&right)
        && let Some(constant) = constant_like_column(&left, &right.ty)
    {
        return Ok((like_column(&right.ty, &constant), constant, right));
    }
    Ok((numeric(&left, &right), left, right))
}

/// As numbers, whatever the types.
fn numeric(left: &Expr, right: &Expr) -> Comparison {
    let domain = |expr: &Expr| match class(&expr.ty) {
        Class::Integer => Comparison::Integer,
        Class::Decimal => Comparison::Decimal,
        Class::DateTime | Class::Time if expr.ty.decimals == 0 => Comparison::Integer,
        Class::DateTime | Class::Time => Comparison::Decimal,
        _ => Comparison::Double,
    };
    match (domain(left), domain(right)) {
        (Comparison::Double, _) | (_, Comparison::Double) => Comparison::Double,
        (Comparison::Decimal, _) | (_, Comparison::Decimal) => Comparison::Decimal,
        _ => Comparison::Integer,
    }
}

/// The comparison of a numeric column with a constant of its own type.
fn like_column(column: &SqlType, constant: &Expr) -> Comparison {
    match class(column) {
        Class::Integer if constant.ty.kind == TypeKind::Decimal => Comparison::Decimal,
        Class::Integer => Comparison::Integer,
        Class::Decimal => Comparison::Decimal,
        _ => Comparison::Double,
    }
}

/// From here on a double is not every whole number.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The constant as a value of the numeric column's type, where it is one without loss.
fn constant_like_column(constant: &Expr, column: &SqlType) -> Option<Expr> {
    let value = constant.as_literal()?;
    let converted = match (class(column), value) {
        // A part of a year is rounded as it is stored.
        (Class::Integer, Value::Str(text)) if column.kind == TypeKind::Year && text.contains('.') => {
            year_of_number(Decimal::parse(text.trim())?.to_f64().round())?
        }
        (Class::Integer, Value::Decimal(number)) if column.kind == TypeKind::Year => {
            year_of_number(number.to_f64().round())?
        }
        (Class::Integer, Value::Double(number)) if column.kind == TypeKind::Year => year_of_number(number.trunc())?,
        (Class::Integer, Value::Str(text)) => {
            let number = Decimal::parse(text.trim())?;
            // A number too small for the digits of a DECIMAL is none without loss.
            if number == Decimal::ZERO && text.trim().parse() != Ok(0.0) {
                return None;
            }
            match exact_integer(number) {
                // Beyond what any column holds: as a double it would be the largest.
                None if number.to_f64().abs() >= LARGEST_EXACT => Value::Decimal(number),
                None => return None,
                Some(integer) => match integer {
                    // As it is stored: the year zero has four digits.
                    Value::Int(0) if column.kind == TypeKind::Year && text.len() != 4 => Value::Int(2000),
                    integer => two_digit_year(integer, column),
                },
            }
        }
        (Class::Integer, Value::Decimal(number)) => exact_integer(*number)?,
        (
            Class::Integer,
            Value::Date(Date { year, .. })
            | Value::DateTime(DateTime {
                date: Date { year, .. },
                ..
            }),
        ) if column.kind == TypeKind::Year => Value::Int(i64::from(*year)),
        (Class::Integer, Value::Int(_) | Value::UInt(_)) => two_digit_year(value.clone(), column),
        (Class::Decimal, Value::Int(number)) => Value::Decimal(Decimal::from(*number)),
        (Class::Decimal, Value::UInt(number)) => Value::Decimal(Decimal::from(*number)),
        (Class::Decimal, Value::Decimal(_)) => value.clone(),
        (Class::Double, Value::Int(number)) => Value::Double(*number as f64),
        (Class::Double, Value::UInt(number)) => Value::Double(*number as f64),
        (Class::Double, Value::Decimal(number)) => Value::Double(number.to_f64()),
        _ => return None,
    };
    let ty = match &converted {
        Value::Int(_) => SqlType::bigint(),
        Value::UInt(_) => SqlType::bigint_unsigned(),
        Value::Decimal(number) => SqlType::decimal(number.precision().max(1), number.scale()),
        _ => SqlType::double(),
    };
    Some(Expr::literal(converted, ty.not_null()))
}

fn exact_integer(number: Decimal) -> Option<Value> {
    let whole = number.truncate(0).ok()?;
    if whole != number {
        return None;
    }
    whole
        .to_i64()
        .map(Value::Int)
        .or_else(|_| whole.to_u64().map(Value::UInt))
        .ok()
}

/// A whole number as the year that a column would store; none where there is no such year.
fn year_of_number(number: f64) -> Option<Value> {
    let is_year = (0.0..=99.0).contains(&number) || (1901.0..=2155.0).contains(&number);
    is_year.then(|| two_digit_year(Value::Int(number as i64), &SqlType::year()))
}

/// YEAR columns read 0..=99 as 2000..=2069 and 1970..=1999.
fn two_digit_year(value: Value, column: &SqlType) -> Value {
    if column.kind != TypeKind::Year {
        return value;
    }
    match value {
        Value::Int(year @ 1..=69) => Value::Int(year + 2000),
        Value::Int(year @ 70..=99) => Value::Int(year + 1900),
        other => other,
    }
}

fn text_comparison(left: &Expr, right: &Expr, operation: &str, connection: CollationId) -> SqlResult<Comparison> {
    let mixed = collation::aggregate([left, right], connection, operation, true)?;
    Ok(match mixed.collation {
        CollationId::BINARY => Comparison::Bytes,
        collation => Comparison::Text(collation),
    })
}

/// A literal beside a DATE, DATETIME or TIMESTAMP, as a date with time. 1525 for text that is none.
fn constant_datetime(constant: Expr, other: &SqlType, ctx: &EvalContext<'_>) -> SqlResult<Expr> {
    let Some(value @ (Value::Str(_) | Value::Bytes(_))) = constant.computed(ctx) else {
        return Ok(constant);
    };
    let is_partial = |date: &DateTime| {
        let day = date.date;
        let lacks_part = !day.is_zero() && (day.month == 0 || day.day == 0);
        lacks_part && ctx.settings.sql_mode.has(SqlMode::NO_ZERO_IN_DATE)
    };
    if let Some(date) = convert::parse_datetime_quietly(&value, ctx).filter(|date| !is_partial(date)) {
        let literal = || Expr::literal(Value::DateTime(date), SqlType::datetime(date.fsp).not_null());
        // What the session's settings make of it they may make otherwise the next time.
        return Ok(if constant.as_literal().is_some() {
            literal()
        } else {
            constant
        });
    }
    let (name, warned) = match other.kind {
        TypeKind::Date => ("DATE", "date"),
        TypeKind::Timestamp => ("TIMESTAMP", "datetime"),
        _ => ("DATETIME", "datetime"),
    };
    let text = convert::to_text(&value);
    match ctx.statement.definition() {
        Some(Definition::View) => return Ok(constant),
        Some(Definition::Table) => return Err(convert::truncated(warned, text.as_bytes())),
        None => {}
    }
    // First the warning, which ends a strict change.
    ctx.warn(convert::truncated(warned, text.as_bytes()))?;
    // A date with something else behind it is that date.
    if let Some(date) = convert::parse_datetime_start(&value, ctx).filter(|date| !is_partial(date)) {
        return Ok(Expr::literal(
            Value::DateTime(date),
            SqlType::datetime(date.fsp).not_null(),
        ));
    }
    Err(SqlError::new(ErrorKind::WrongValue, &[&name, &text]))
}

/// A literal that reads as a date with time, as such.
fn readable_datetime(constant: &Expr, ctx: &EvalContext<'_>) -> Option<Expr> {
    let value @ (Value::Str(_) | Value::Bytes(_)) = constant.as_literal()? else {
        return None;
    };
    let parsed = convert::parse_datetime_quietly(value, ctx)?;
    Some(Expr::literal(
        Value::DateTime(parsed),
        SqlType::datetime(parsed.fsp).not_null(),
    ))
}

/// A literal beside a TIME, as a time; text that is none stays and warns when compared.
fn constant_time(constant: Expr, ctx: &EvalContext<'_>) -> SqlResult<Expr> {
    let Some(value @ (Value::Str(_) | Value::Bytes(_))) = constant.as_literal() else {
        return Ok(constant);
    };
    match convert::parse_time_quietly(value, ctx) {
        Some(parsed) => Ok(Expr::literal(Value::Time(parsed), SqlType::time(parsed.fsp).not_null())),
        None if ctx.statement.definition() == Some(Definition::Table) => {
            Err(convert::truncated("time", convert::to_text(value).as_bytes()))
        }
        None => Ok(constant),
    }
}

fn number_as_temporal(constant: &Expr, column: &SqlType) -> Option<(Comparison, Expr)> {
    let value = constant.as_literal()?;
    if column.kind == TypeKind::Time {
        let time = convert::number_as_time(value)?;
        return Some((
            Comparison::Time,
            Expr::literal(Value::Time(time), SqlType::time(time.fsp).not_null()),
        ));
    }
    let datetime = convert::number_as_datetime(value)?;
    let ty = SqlType::datetime(datetime.fsp).not_null();
    Some((Comparison::DateTime, Expr::literal(Value::DateTime(datetime), ty)))
}

/// Rows of one width compare column by column; 1241 otherwise.
/// The columns of two rows, each pair by `unify`.
fn unified_columns(
    pairs: impl Iterator<Item = (Expr, Expr)>,
    mut unify: impl FnMut(Expr, Expr) -> SqlResult<(Comparison, Expr, Expr)>,
) -> SqlResult<(Comparison, Expr, Expr)> {
    let (mut hows, mut lefts, mut rights) = (Vec::new(), Vec::new(), Vec::new());
    for (left, right) in pairs {
        let (how, left, right) = unify(left, right)?;
        hows.push(how);
        lefts.push(left);
        rights.push(right);
    }
    Ok((Comparison::Row(hows), Expr::row(lefts), Expr::row(rights)))
}

fn unify_rows(
    left: Expr,
    right: Expr,
    operation: &str,
    connection: CollationId,
    ctx: &EvalContext<'_>,
) -> SqlResult<(Comparison, Expr, Expr)> {
    let width = left.width();
    if width != right.width() {
        return Err(SqlError::new(ErrorKind::OperandColumns, &[&width]));
    }
    match (left.kind, right.kind) {
        (ExprKind::Row(left_columns), ExprKind::Row(right_columns)) => {
            let pairs = left_columns.into_iter().zip(right_columns);
            let list = ListComparison::by_operand();
            unified_columns(pairs, |a, b| match operation {
                "=" | "<>" | "<=>" => unify(a, b, operation, connection, ctx),
                // Which of two is less is asked of numbers, and of no years of two digits.
                _ if [&a, &b].iter().any(|side| side.ty.kind == TypeKind::Year) => {
                    list.unify(a, b, operation, connection, ctx)
                }
                _ => unify(a, b, operation, connection, ctx),
            })
        }
        // A row beside a subquery of several columns: its columns are known by type only.
        (left_kind, right_kind) => {
            let left = Expr {
                kind: left_kind,
                ty: left.ty,
                coercibility: left.coercibility,
            };
            let right = Expr {
                kind: right_kind,
                ty: right.ty,
                coercibility: right.coercibility,
            };
            let columns = left.column_stand_ins().into_iter().zip(right.column_stand_ins());
            let hows = columns
                .map(|(a, b)| unify(a, b, operation, connection, ctx).map(|(how, _, _)| how))
                .collect::<SqlResult<_>>()?;
            Ok((Comparison::Row(hows), left, right))
        }
    }
}
