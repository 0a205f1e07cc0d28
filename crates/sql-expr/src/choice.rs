//! IF, CASE and NULLIF: expressions that give one of their operands, their *branches*.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use types::{SqlResult, Value};

use super::context::EvalContext;
use super::{Case, Expr, ExprKind, functions};

impl Expr {
    /// Whether it gives one of its operands as it is.
    pub fn is_choice(&self) -> bool {
        match &self.kind {
            ExprKind::Case(_) => true,
            ExprKind::Call(call) => call.function.name == "IF",
            _ => false,
        }
    }

    /// What IF or CASE gives for this row.
    pub(super) fn chosen(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<&Expr>> {
        match &self.kind {
            ExprKind::Case(case) => case.chosen(row, ctx),
            ExprKind::Call(call) => functions::control::chosen_by_if(&call.args, row, ctx).map(Some),
            _ => Ok(None),
        }
    }

    /// What IF, CASE and NULLIF give as it is; nothing of any other expression.
    pub fn branches(&self) -> impl Iterator<Item = &Expr> {
        let (whens, otherwise, args) = match &self.kind {
            ExprKind::Case(case) => (case.whens.as_slice(), case.otherwise.as_ref(), [].as_slice()),
            ExprKind::Call(call) => (
                [].as_slice(),
                None,
                &call.args[branches_of(call.function.name, call.args.len())],
            ),
            _ => ([].as_slice(), None, [].as_slice()),
        };
        whens.iter().map(|when| &when.result).chain(otherwise).chain(args)
    }

    /// The branches of IF and CASE: that of NULLIF is compared, too, by its type.
    pub fn for_each_branch_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            ExprKind::Case(case) => {
                case.whens.iter_mut().for_each(|when| visit(&mut when.result));
                case.otherwise.iter_mut().for_each(visit);
            }
            ExprKind::Call(call) if call.function.name == "IF" => call.args[1..].iter_mut().for_each(visit),
            _ => {}
        }
    }
}

/// Which arguments of a function are its branches.
fn branches_of(function: &str, args: usize) -> Range<usize> {
    match function {
        "IF" => 1..args,
        "NULLIF" => 0..1,
        _ => 0..0,
    }
}

impl Case {
    /// What it gives for this row; none without an ELSE.
    pub(super) fn chosen(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<&Expr>> {
        let operand = match &self.operand {
            None => None,
            Some(operand) => Some((operand, operand.eval_exact(row, ctx)?)),
        };
        for when in &self.whens {
            let chosen = match (&operand, &when.how) {
                (Some((expr, value)), Some(how)) => {
                    let operand = how.of_operand(expr, Cow::Borrowed(value));
                    let condition = how.operand(&when.condition, row, ctx)?;
                    how.compare(&operand, &condition, ctx)? == Some(Ordering::Equal)
                }
                _ => when.condition.eval_bool(row, ctx)? == Some(true),
            };
            if chosen {
                return Ok(Some(&when.result));
            }
        }
        Ok(self.otherwise.as_ref())
    }
}
