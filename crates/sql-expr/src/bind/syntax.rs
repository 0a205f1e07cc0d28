//! Functions with a syntax of their own, turned into calls of the table.

use parser::ast;
use parser::ast::{DateOp, IntervalUnit, JsonOnResponse, TemporalKind, TrimSide, WeightStringAs};
use types::error::SqlError;
use types::{CharsetId, CollationId, SqlResult, SqlType, TypeKind, Value};

use super::target::{cast_type, charset_by_name};
use super::{Binder, literal};
use crate::collation::{self, Coercibility};
use crate::functions::{string_type, units_of};
use crate::{Cast, Expr, ExprKind, convert};

impl Binder<'_> {
    pub(super) fn cast(&mut self, cast: &ast::Cast) -> SqlResult<Expr> {
        if cast.array {
            return Err(SqlError::not_supported(
                "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in general expressions",
            ));
        }
        if cast.at_time_zone.is_some() {
            return Err(SqlError::not_supported("AT TIME ZONE"));
        }
        let operand = self.bind(&cast.operand)?;
        let shown = || operand.to_string();
        let ty = cast_type(&cast.target, self.connection(), &shown)?;
        let length = cast.target.length.and_then(|length| u32::try_from(length).ok());
        self.cast_to(operand, ty, length)
    }

    /// `CAST(operand AS ty)`; `length` cuts text.
    pub fn cast_to(&self, operand: Expr, ty: SqlType, length: Option<u32>) -> SqlResult<Expr> {
        let is_string = ty.kind.is_text() || ty.kind.is_binary();
        let number = !is_string && ty.kind != TypeKind::Json;
        let operand = match ty.kind {
            // As an integer the text is read.
            TypeKind::Decimal | TypeKind::Double | TypeKind::Float => convert::as_number(operand),
            // A date is read from the text of the bytes.
            _ if number && !ty.kind.is_temporal() => convert::hex_as_number(operand),
            _ => operand,
        };
        let ty = match length {
            None if is_string => string_type(units_of(&operand.ty, ty.collation), ty.collation),
            _ => ty,
        };
        // Text that is no date becomes NULL.
        let nullable = operand.ty.nullable
            || ty.kind.is_binary()
            || (ty.kind.is_temporal() && !operand.ty.kind.is_temporal())
            || matches!(ty.kind, TypeKind::Year | TypeKind::Json);
        let coercibility = Coercibility::of_column(&ty);
        let length = length.filter(|_| is_string);
        let kind = ExprKind::Cast(Box::new(Cast {
            operand,
            length,
            elements: None,
        }));
        Ok(Expr {
            kind,
            ty: SqlType { nullable, ..ty },
            coercibility,
        })
    }

    /// `CONVERT(operand USING charset)`
    pub(super) fn convert_using(&mut self, tree: &ast::ConvertUsing) -> SqlResult<Expr> {
        let operand = self.bind(&tree.operand)?;
        let charset = charset_by_name(&tree.charset)?;
        let connection = self.connection();
        let collation = if connection.charset() == charset {
            connection
        } else {
            charset.default_collation()
        };
        let ty = string_type(units_of(&operand.ty, collation), collation);
        // Text that the other set lacks may become NULL.
        let nullable = operand.ty.nullable || collation == CollationId::BINARY;
        let kind = ExprKind::Cast(Box::new(Cast {
            operand,
            length: None,
            elements: None,
        }));
        Ok(Expr {
            kind,
            ty: SqlType { nullable, ..ty },
            coercibility: Coercibility::Implicit,
        })
    }

    pub(super) fn date_arith(&mut self, tree: &ast::DateArith) -> SqlResult<Expr> {
        let (date, amount) = (self.bind(&tree.date)?, self.bind(&tree.amount)?);
        self.date_moved(tree.op, date, amount, tree.unit)
    }

    /// `date + INTERVAL amount unit`, or less it.
    pub fn date_moved(&self, op: DateOp, date: Expr, amount: Expr, of: IntervalUnit) -> SqlResult<Expr> {
        let name = match op {
            DateOp::Add => "DATE_ADD",
            DateOp::Sub => "DATE_SUB",
        };
        self.native_bound(name, vec![date, amount, unit(of)])
    }

    pub(super) fn extract(&mut self, tree: &ast::Extract) -> SqlResult<Expr> {
        let operand = self.bind(&tree.operand)?;
        self.native_bound("EXTRACT", vec![unit(tree.unit), operand])
    }

    pub(super) fn timestamp_diff(&mut self, tree: &ast::TimestampDiff) -> SqlResult<Expr> {
        let (from, to) = (self.bind(&tree.from)?, self.bind(&tree.to)?);
        self.native_bound("TIMESTAMPDIFF", vec![unit(tree.unit), from, to])
    }

    pub(super) fn get_format(&mut self, tree: &ast::GetFormat) -> SqlResult<Expr> {
        let kind = match tree.kind {
            TemporalKind::Date => "DATE",
            TemporalKind::Time => "TIME",
            TemporalKind::DateTime => "DATETIME",
        };
        let region = self.bind(&tree.region)?;
        self.native_bound("GET_FORMAT", vec![word(kind), region])
    }

    pub(super) fn trim(&mut self, tree: &ast::Trim) -> SqlResult<Expr> {
        let name = match tree.side {
            TrimSide::Both => "TRIM",
            TrimSide::Leading => "LTRIM",
            TrimSide::Trailing => "RTRIM",
        };
        let mut args = vec![self.bind(&tree.operand)?];
        if let Some(remove) = &tree.remove {
            args.push(self.bind(remove)?);
        }
        self.native_bound(name, args)
    }

    pub(super) fn char_function(&mut self, tree: &ast::CharFn) -> SqlResult<Expr> {
        let charset = match &tree.charset {
            Some(name) => charset_by_name(name)?,
            None => CharsetId::BINARY,
        };
        let mut args = vec![word(charset.name())];
        args.extend(self.bind_all(&tree.args)?);
        self.native_bound("CHAR", args)
    }

    pub(super) fn weight_string(&mut self, tree: &ast::WeightString) -> SqlResult<Expr> {
        let operand = self.bind(&tree.operand)?;
        let operand = match tree.cast {
            None => operand,
            // A number weighs as it is.
            Some(WeightStringAs::Char(_)) if !collation::is_stringlike(&operand.ty) => operand,
            // Cut without a warning, and filled up where spaces at the end weigh nothing.
            Some(WeightStringAs::Char(chars)) => {
                let count = || Expr::literal(Value::Int(i64::from(chars)), SqlType::bigint().not_null());
                let cut = self.native_bound("LEFT", vec![operand, count()])?;
                match cut.ty.collation.pad_space() {
                    true => self.native_bound("RPAD", vec![cut, count(), word(" ")])?,
                    false => cut,
                }
            }
            Some(WeightStringAs::Binary(bytes)) => {
                let ty = string_type(u64::from(bytes), CollationId::BINARY);
                self.cast_to(operand, ty, Some(bytes))?
            }
        };
        self.native_bound("WEIGHT_STRING", vec![operand])
    }

    /// `JSON_VALUE` becomes a call with the responses as words and defaults, and a NULL of the RETURNING type.
    pub(super) fn json_value(&mut self, tree: &ast::JsonValue) -> SqlResult<Expr> {
        let (document, path) = (self.bind(&tree.document)?, self.bind(&tree.path)?);
        let returning = match &tree.returning {
            None => None,
            Some(target) => {
                let shown = || "json_value".to_owned();
                Some(cast_type(target, CollationId::UTF8MB4_0900_BIN, &shown)?)
            }
        };
        let mut args = vec![document, path];
        for response in [&tree.on_empty, &tree.on_error] {
            let (name, default) = match response {
                None | Some(JsonOnResponse::Null) => ("NULL", Expr::null()),
                Some(JsonOnResponse::Error) => ("ERROR", Expr::null()),
                Some(JsonOnResponse::Default(tree)) => {
                    let default = self.bind(tree)?;
                    let default = match &returning {
                        Some(ty) => self.json_default(default, ty)?,
                        None => default,
                    };
                    ("DEFAULT", default)
                }
            };
            args.push(word(name));
            args.push(default);
        }
        args.push(Expr {
            ty: returning.unwrap_or_else(SqlType::null),
            ..Expr::null()
        });
        self.native_bound("JSON_VALUE", args)
    }

    /// The default of a RETURNING type, as one of it: 1292 for a constant that is none.
    fn json_default(&self, default: Expr, ty: &SqlType) -> SqlResult<Expr> {
        let text = default.as_literal().map(|value| convert::to_text(value).into_owned());
        let (kind, is_whole) = match ty.kind {
            kind if kind.is_integer() => (
                if ty.unsigned {
                    "INTEGER UNSIGNED"
                } else {
                    "INTEGER SIGNED"
                },
                true,
            ),
            TypeKind::Date => ("date", false),
            TypeKind::DateTime => ("datetime", false),
            TypeKind::Time => ("time", false),
            TypeKind::Double | TypeKind::Float => ("DOUBLE", false),
            TypeKind::Decimal => ("DECIMAL", false),
            TypeKind::Year => ("YEAR", false),
            _ => return Ok(default),
        };
        let wrong = |text: &str| convert::truncated(kind, text.as_bytes());
        if let Some(text) = text.as_deref()
            && is_whole
            && text.parse::<i64>().is_err()
            && text.parse::<u64>().is_err()
        {
            return Err(wrong(text));
        }
        let bound = self.cast_to(default, ty.clone(), None)?;
        let folded = self.fold(bound);
        match (folded.as_literal(), text) {
            (Some(value), Some(text)) if value.is_null() => Err(wrong(&text)),
            (None, Some(text)) => Err(wrong(&text)),
            _ => Ok(folded),
        }
    }
}

/// A keyword as an argument.
fn word(text: &str) -> Expr {
    literal::text_literal(text, CollationId::UTF8MB4_0900_AI_CI)
}

/// A unit as an argument: its keyword.
fn unit(unit: IntervalUnit) -> Expr {
    word(interval_unit(unit).name())
}

/// The unit that a keyword names.
pub fn interval_unit(unit: IntervalUnit) -> types::time::IntervalUnit {
    use types::time::IntervalUnit as Unit;
    match unit {
        IntervalUnit::Microsecond => Unit::Microsecond,
        IntervalUnit::Second => Unit::Second,
        IntervalUnit::Minute => Unit::Minute,
        IntervalUnit::Hour => Unit::Hour,
        IntervalUnit::Day => Unit::Day,
        IntervalUnit::Week => Unit::Week,
        IntervalUnit::Month => Unit::Month,
        IntervalUnit::Quarter => Unit::Quarter,
        IntervalUnit::Year => Unit::Year,
        IntervalUnit::SecondMicrosecond => Unit::SecondMicrosecond,
        IntervalUnit::MinuteMicrosecond => Unit::MinuteMicrosecond,
        IntervalUnit::MinuteSecond => Unit::MinuteSecond,
        IntervalUnit::HourMicrosecond => Unit::HourMicrosecond,
        IntervalUnit::HourSecond => Unit::HourSecond,
        IntervalUnit::HourMinute => Unit::HourMinute,
        IntervalUnit::DayMicrosecond => Unit::DayMicrosecond,
        IntervalUnit::DaySecond => Unit::DaySecond,
        IntervalUnit::DayMinute => Unit::DayMinute,
        IntervalUnit::DayHour => Unit::DayHour,
        IntervalUnit::YearMonth => Unit::YearMonth,
    }
}
