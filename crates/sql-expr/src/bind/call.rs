//! Calls: functions of the table, aggregates.

use parser::ast;
use types::error::{ErrorKind, SqlError};
use types::{SqlResult, Value};

use super::Binder;
use crate::aggregate::{AggregateCall, AggregateFunction, SortKey};
use crate::collation::Coercibility;
use crate::functions::{self, Function, Inference};
use crate::{Call, Expr, ExprKind, SubqueryExpr, SubqueryKind};

impl Binder<'_> {
    pub(super) fn function(&mut self, call: &ast::FunctionCall) -> SqlResult<Expr> {
        let is_known = || functions::find(&call.name).is_some() || functions::is_known_elsewhere(&call.name);
        let is_native = call.schema.is_none() && is_known();
        if !is_native && let Some(expr) = self.stored_function(call)? {
            return Ok(expr);
        }
        if let Some(schema) = &call.schema {
            return Err(no_function(Some(schema.as_str()), &call.name));
        }
        let Some(function) = functions::find(&call.name) else {
            if functions::is_known_elsewhere(&call.name) {
                return Err(SqlError::not_supported(call.name.to_ascii_uppercase()));
            }
            return Err(no_function(self.ctx.services.database().as_deref(), &call.name));
        };
        if !function.takes(call.args.len()) {
            return Err(wrong_count(function));
        }
        let args = self.bind_all(&call.args)?;
        self.call(function, args)
    }

    /// A function of the catalog; `None`: there is none, or none may stand here.
    fn stored_function(&mut self, call: &ast::FunctionCall) -> SqlResult<Option<Expr>> {
        let Some(query) = self.scope.stored_function(call)? else {
            return Ok(None);
        };
        let args = self.bind_all(&call.args)?;
        let ty = query.columns()[0].clone();
        // What it returns gives way to what a column has.
        let coercibility = match Coercibility::of_column(&ty) {
            Coercibility::Implicit => Coercibility::Coercible,
            other => other,
        };
        let is_fixed = |arg: &Expr| arg.is_constant() && !arg.reads_outer();
        let once = query.is_deterministic() && args.iter().all(is_fixed);
        let function = SubqueryExpr {
            query,
            kind: SubqueryKind::Function {
                name: call.name.as_str().into(),
                args,
                once,
            },
        };
        Ok(Some(Expr {
            kind: ExprKind::Subquery(Box::new(function)),
            ty,
            coercibility,
        }))
    }

    /// A call of a function of the table by name, with trees as arguments.
    pub(super) fn native(&mut self, name: &str, args: &[&ast::Expr]) -> SqlResult<Expr> {
        let args = self.bind_all(args.iter().copied())?;
        self.native_bound(name, args)
    }

    /// A call of a function of the table by name.
    pub(super) fn native_bound(&self, name: &str, args: Vec<Expr>) -> SqlResult<Expr> {
        let function = functions::find(name).ok_or_else(|| SqlError::not_supported(name))?;
        if !function.takes(args.len()) {
            return Err(wrong_count(function));
        }
        let bound = self.call(function, args)?;
        Ok(self.fold(bound))
    }

    /// A call with bound arguments.
    pub fn call(&self, function: &'static Function, mut args: Vec<Expr>) -> SqlResult<Expr> {
        let mut inference = Inference {
            name: function.name,
            args: &mut args,
            ctx: &self.ctx,
            coercibility: None,
        };
        let ty = (function.infer)(&mut inference)?;
        let coercibility = inference.coercibility.unwrap_or_else(|| Coercibility::of_result(&ty));
        Ok(Expr {
            kind: ExprKind::Call(Box::new(Call { function, args })),
            ty,
            coercibility,
        })
    }

    pub(super) fn aggregate(&mut self, tree: &ast::Aggregate) -> SqlResult<Expr> {
        if self.inside_aggregate {
            return Err(ErrorKind::InvalidGroupFuncUse.into());
        }
        let function = AggregateFunction::of(tree.function)
            .ok_or_else(|| SqlError::not_supported(format!("{:?}", tree.function).to_uppercase()))?;
        self.inside_aggregate = true;
        self.scope.begin_aggregate();
        let bound = self.aggregate_operands(tree);
        self.scope.end_aggregate();
        self.inside_aggregate = false;
        let (args, order_by) = bound?;
        let separator = tree
            .separator
            .as_deref()
            .map(|text| String::from_utf8_lossy(text).into_owned());
        let call = AggregateCall::new(function, tree.distinct, args, order_by, separator, &self.ctx)?;
        self.scope.aggregate(call)
    }

    fn aggregate_operands(&mut self, tree: &ast::Aggregate) -> SqlResult<(Vec<Expr>, Vec<SortKey>)> {
        let args = self.bind_all(&tree.args)?;
        let mut keys = Vec::with_capacity(tree.order_by.len());
        for item in &tree.order_by {
            let bound = self.bind(&item.expr)?;
            // A position names an argument.
            let expr = match (&item.expr, bound.as_literal()) {
                (ast::Expr::Literal(ast::Literal::Int(_)), Some(Value::Int(position))) => {
                    let index = usize::try_from(*position - 1).ok().filter(|index| *index < args.len());
                    let index =
                        index.ok_or_else(|| SqlError::new(ErrorKind::BadField, &[position, &"order clause"]))?;
                    args[index].clone()
                }
                _ => bound,
            };
            keys.push(SortKey {
                expr,
                descending: item.descending,
            });
        }
        Ok((args, keys))
    }
}

fn wrong_count(function: &Function) -> SqlError {
    SqlError::new(ErrorKind::WrongParamcountToNativeFct, &[&function.name])
}

fn no_function(schema: Option<&str>, name: &str) -> SqlError {
    match schema {
        Some(schema) => SqlError::new(ErrorKind::SpDoesNotExist, &[&"FUNCTION", &format!("{schema}.{name}")]),
        None => SqlError::new(ErrorKind::SpDoesNotExist, &[&"FUNCTION", &name]),
    }
}
