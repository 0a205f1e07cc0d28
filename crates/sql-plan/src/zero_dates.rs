//! `date IS NULL` of a DATE or DATETIME column that cannot be NULL finds `0000-00-00`, as clients of ODBC expect: in WHERE, beside AND.

use catalog::ColumnDef;
use parser::ast::IsTest;
use sql_expr::{Binder, Coercibility, CompareOp, Expr, ExprKind, NoColumns};
use types::{Date, DateTime, SqlResult, SqlType, TypeKind, Value};

use crate::planner::Planner;

/// Whether a condition asks for it. `column_of` knows the columns of stored tables that the query itself names.
pub fn asks_for_zero_date<'c>(condition: &Expr, column_of: impl Fn(usize) -> Option<&'c ColumnDef>) -> bool {
    let column = tested_for_null(condition).and_then(Expr::as_column).and_then(column_of);
    column.is_some_and(|column| !column.nullable && matches!(column.ty.kind, TypeKind::Date | TypeKind::DateTime))
}

/// Lets those conditions find it.
pub fn find_zero_dates<'c>(
    planner: &Planner<'_>,
    conditions: &mut [Expr],
    column_of: impl Fn(usize) -> Option<&'c ColumnDef>,
) -> SqlResult<()> {
    for condition in conditions {
        governor::tick()?;
        if asks_for_zero_date(condition, &column_of)
            && let Some(column) = tested_for_null(condition)
        {
            *condition = or_zero(planner, condition, column)?;
        }
    }
    Ok(())
}

fn or_zero(planner: &Planner<'_>, condition: &Expr, column: &Expr) -> SqlResult<Expr> {
    let (zero, ty) = match column.ty.kind {
        TypeKind::Date => (Value::Date(Date::ZERO), SqlType::date()),
        _ => (Value::DateTime(DateTime::from(Date::ZERO)), SqlType::datetime(0)),
    };
    let mut no_columns = NoColumns;
    let binder = Binder::new(&mut no_columns, planner.ctx, planner.options());
    let is_zero = binder.comparison(CompareOp::Eq, column.clone(), Expr::literal(zero, ty))?;
    // An outer join may have no row for it.
    if !column.ty.nullable {
        return Ok(is_zero);
    }
    Ok(Expr {
        ty: is_zero.ty.clone(),
        coercibility: Coercibility::Numeric,
        kind: ExprKind::Or(vec![condition.clone(), is_zero]),
    })
}

fn tested_for_null(condition: &Expr) -> Option<&Expr> {
    match &condition.kind {
        ExprKind::Is {
            operand,
            test: IsTest::Null,
            negated: false,
        } => Some(operand),
        ExprKind::Call(call) if call.function.name == "ISNULL" => call.args.first(),
        _ => None,
    }
}
