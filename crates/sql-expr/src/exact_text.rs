//! Text beside numbers that is read as a DECIMAL, so that no digit is lost.

use types::{Decimal, SqlType, TypeKind, Value};

use super::collation::Coercibility;
use super::compare::{Class, class, is_fixed};
use super::{Expr, ExprKind};

/// Whether text beside this number is read as a DECIMAL, and not as a double. So is that of a parameter beside exact numbers, and that of a
/// constant beside a decimal that is none. CASE reads doubles, and IN does unless it is asked of a column, where a key may find the values.
pub fn is_exact_text(text: &Expr, number: &Expr, operation: &str) -> bool {
    if class(&text.ty) != Class::String {
        return false;
    }
    // A variable of a program has the coercibility of a column.
    let is_parameter = matches!(text.kind, ExprKind::Param(_)) && text.coercibility == Coercibility::Coercible;
    if is_parameter {
        return number.ty.kind.is_integer() || number.ty.kind == TypeKind::Decimal;
    }
    let reads_exactly = match operation {
        "case" => false,
        " IN " => number.is_some_column(),
        _ => true,
    };
    class(&number.ty) == Class::Decimal && reads_exactly && !is_written_out(number) && is_written_out(text)
}

/// Whether its value stands in the statement itself.
fn is_written_out(expr: &Expr) -> bool {
    let is_variable = |part: &Expr| {
        matches!(
            part.kind,
            ExprKind::Param(_) | ExprKind::UserVariable { .. } | ExprKind::Subquery(_)
        )
    };
    is_fixed(expr) && !expr.any(&mut |part| is_variable(part))
}

/// Literal text as the DECIMAL that it is; any other expression as it is.
pub fn exact_literal(expr: Expr) -> Expr {
    let number = match expr.as_literal() {
        Some(Value::Str(text)) => Decimal::parse(text.trim()),
        _ => None,
    };
    match number {
        Some(number) => {
            let ty = SqlType::decimal(number.precision().max(1), number.scale());
            Expr::literal(Value::Decimal(number), ty.not_null())
        }
        None => expr,
    }
}
