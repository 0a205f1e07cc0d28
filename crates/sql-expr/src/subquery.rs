//! Subqueries in expressions: what their rows are asked for. The statement's executor runs them ([`SubqueryRunner`](super::SubqueryRunner)).

use std::ops::ControlFlow;

use parser::ast::Quantifier;
use types::error::{ErrorKind, SqlError};
use types::{SqlResult, Value};

use super::compare::{CompareOp, Comparison};
use super::context::{EvalContext, OuterRow};
use super::eval::{compare_rows, local};
use super::{Expr, SubqueryExpr, SubqueryKind};

/// Takes a row of a subquery, in the context of the query around it.
type EachRow<'a> = dyn FnMut(&[Value], &EvalContext<'_>) -> SqlResult<ControlFlow<()>> + 'a;

impl SubqueryExpr {
    /// The one row of a scalar or row subquery; 1242 when there are more.
    pub(super) fn single_row(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<Vec<Value>>> {
        let mut found: Option<Vec<Value>> = None;
        self.run(row, ctx, &mut |columns, ctx| {
            if found.is_some() {
                return Err(ErrorKind::SubqueryNo1Row.into());
            }
            found = Some(columns.iter().map(|value| local(value, ctx)).collect());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    fn run(&self, row: &[Value], ctx: &EvalContext<'_>, each: &mut EachRow<'_>) -> SqlResult<()> {
        let outer = OuterRow { row, outer: ctx.outer };
        let inside = EvalContext {
            statement: ctx.statement,
            outer: Some(&outer),
        };
        ctx.statement
            .runner()?
            .run(&*self.query, &inside, &mut |columns| each(columns, ctx))
    }

    pub(super) fn holds(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        match &self.kind {
            SubqueryKind::Scalar | SubqueryKind::Function { .. } => {
                Err(SqlError::internal("a scalar subquery has a value, not a truth"))
            }
            SubqueryKind::Exists => {
                let mut exists = false;
                self.run(row, ctx, &mut |_, _| {
                    exists = true;
                    Ok(ControlFlow::Break(()))
                })?;
                Ok(Some(exists))
            }
            SubqueryKind::In { operand, how, negated } => {
                let found = self.contains(operand, how, row, ctx)?;
                Ok(found.map(|found| found != *negated))
            }
            SubqueryKind::Quantified {
                operand,
                op,
                how,
                quantifier,
            } => {
                let operand = operand.eval_exact(row, ctx)?;
                // ANY starts false and one true row decides; ALL the other way round.
                let deciding = *quantifier == Quantifier::Any;
                let mut result = Some(!deciding);
                self.run(row, ctx, &mut |columns, ctx| {
                    let value = columns.first().map_or(Value::Null, |value| local(value, ctx));
                    match how.compare(&operand, &value, ctx)?.map(|order| op.holds(order)) {
                        Some(truth) if truth == deciding => {
                            result = Some(deciding);
                            return Ok(ControlFlow::Break(()));
                        }
                        Some(_) => {}
                        None => result = None,
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
                Ok(result)
            }
        }
    }

    fn contains(
        &self,
        operand: &Expr,
        hows: &[Comparison],
        row: &[Value],
        ctx: &EvalContext<'_>,
    ) -> SqlResult<Option<bool>> {
        let Some(key) = operand.eval_row(row, ctx)? else {
            return Ok(None);
        };
        let outer = OuterRow { row, outer: ctx.outer };
        let inside = EvalContext {
            statement: ctx.statement,
            outer: Some(&outer),
        };
        if let Some(found) = ctx.statement.runner()?.contains(&*self.query, &inside, hows, &key) {
            return found;
        }
        let mut found = Some(false);
        self.run(row, ctx, &mut |columns, ctx| {
            let columns: Vec<Value> = columns.iter().map(|value| local(value, ctx)).collect();
            match compare_rows(CompareOp::Eq, hows, &key, &columns, ctx)? {
                Some(true) => {
                    found = Some(true);
                    return Ok(ControlFlow::Break(()));
                }
                Some(false) => {}
                None => found = None,
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }
}
