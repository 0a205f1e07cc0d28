//! What JSON_TABLE stores into its columns.

use std::borrow::Cow;

use types::cast::{SqlMode, Target, assign};
use types::error::{ErrorKind, SqlError, Warnings};
use types::json::{JsonRef, JsonView};
use types::{SqlResult, SqlType, TypeKind, Value, cast};

use crate::context::EvalContext;

/// A value of a document as one of a column. 3156 where it is no number, 3666 for an array or object, 3669 where it does not fit, whatever
/// the mode. An ENUM has the error value for what is none of its members, unless that `is_error`.
pub fn json_into_column(
    found: JsonRef<'_>,
    ty: &SqlType,
    column: &str,
    is_error: bool,
    ctx: &EvalContext<'_>,
) -> SqlResult<Value> {
    if ty.kind == TypeKind::Json {
        return Ok(Value::Json(found.to_json()));
    }
    if matches!(found.view(), JsonView::Array(_) | JsonView::Object(_)) {
        return Err(SqlError::new(ErrorKind::WrongJsonTableValue, &[&column]));
    }
    let is_number = ty.kind.is_integer()
        || matches!(
            ty.kind,
            TypeKind::Decimal | TypeKind::Double | TypeKind::Float | TypeKind::Bit | TypeKind::Year
        );
    let is_moment = matches!(
        ty.kind,
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time
    );
    let value = match found.as_temporal() {
        _ if is_number => Value::Json(found.to_json()),
        Some(moment) if is_moment && is_time(ty.kind) == matches!(moment.to_value(), Value::Time(_)) => {
            moment.to_value()
        }
        _ => match (found.view(), found.unquoted()) {
            (JsonView::Opaque(_, bytes), _) => Value::bytes(bytes),
            (_, Cow::Borrowed(text)) => Value::str(text),
            (_, Cow::Owned(text)) => Value::str(&text),
        },
    };
    governor::check()?;
    let mut raised = Warnings::default();
    let mut context = cast::Context {
        mode: SqlMode {
            strict: ty.kind != TypeKind::Enum || is_error,
            ..ctx.settings.sql_mode.for_casts()
        },
        zone: &ctx.settings.time_zone,
        now: ctx.now,
        warnings: &mut raised,
    };
    let target = Target { column, row: 1 };
    let value = match ty.kind {
        // Text that is no number is none of its bits.
        TypeKind::Bit => assign(value, &SqlType::bigint_unsigned(), target, &mut context),
        _ => Ok(value),
    };
    let stored = value.and_then(|value| assign(value, ty, target, &mut context));
    if is_moment {
        ctx.with_warnings(|warnings| warnings.append(raised));
    }
    let is_huge = matches!(found.view(), JsonView::Double(number) if number.abs() >= TWO_TO_63);
    stored.map_err(|error| match error.kind() {
        ErrorKind::InvalidJsonValueForCast => {
            SqlError::new(ErrorKind::InvalidJsonValueForCast, &[&number_name(ty), &column, &1])
        }
        _ if is_huge && number_name(ty) == "INTEGER" => {
            SqlError::new(ErrorKind::NumericJsonValueOutOfRange, &[&"INTEGER", &column, &1])
        }
        _ => SqlError::new(ErrorKind::JsonTableValueOutOfRange, &[&column]),
    })
}

/// From here on a double is no BIGINT.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

fn number_name(ty: &SqlType) -> &'static str {
    match ty.kind {
        TypeKind::Decimal => "DECIMAL",
        TypeKind::Double | TypeKind::Float => "DOUBLE",
        _ => "INTEGER",
    }
}

fn is_time(kind: TypeKind) -> bool {
    kind == TypeKind::Time
}
