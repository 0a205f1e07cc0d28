//! Window functions: bound to what the executor computes per partition.

use parser::ast::{self, FrameBound, FrameUnit, Over, WindowFn};
use sql_expr::sort::SortKey;
use sql_expr::{AggregateCall, AggregateFunction, Binder, Expr, ExprKind};
use types::{ErrorKind, SqlError, SqlResult, SqlType, TypeKind};

use super::scope::QueryScope;

/// One window function of a query block.
#[derive(Debug, Clone)]
pub struct WindowPlan {
    /// Of the window, for errors.
    pub name: String,
    pub kind: WindowKind,
    pub partition: Vec<Expr>,
    pub order: Vec<SortKey>,
    pub frame: Option<Frame>,
    pub ty: SqlType,
    /// Where its value goes in the wide row.
    pub slot: usize,
}

#[derive(Debug, Clone)]
pub enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile(Expr),
    /// Value, offset, default; `LAG` looks back.
    Lead {
        value: Expr,
        offset: Option<Expr>,
        default: Option<Expr>,
        backwards: bool,
    },
    FirstValue(Expr),
    LastValue(Expr),
    NthValue(Expr, Expr),
    Aggregate(Box<AggregateCall>),
}

impl WindowKind {
    /// As MySQL prints it.
    pub fn name(&self) -> &'static str {
        match self {
            WindowKind::RowNumber => "row_number",
            WindowKind::Rank => "rank",
            WindowKind::DenseRank => "dense_rank",
            WindowKind::PercentRank => "percent_rank",
            WindowKind::CumeDist => "cume_dist",
            WindowKind::Ntile(_) => "ntile",
            WindowKind::Lead { backwards: true, .. } => "lag",
            WindowKind::Lead { .. } => "lead",
            WindowKind::FirstValue(_) => "first_value",
            WindowKind::LastValue(_) => "last_value",
            WindowKind::NthValue(..) => "nth_value",
            WindowKind::Aggregate(call) => call.function.name(),
        }
    }
}

/// The rows around the current one that a function looks at.
#[derive(Debug, Clone)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: FrameEdge,
    pub end: FrameEdge,
}

#[derive(Debug, Clone)]
pub enum FrameEdge {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

/// Binds a call with OVER and keeps it in the scope; a placeholder stands for its value until the slots are known.
pub fn bind_window(scope: &mut QueryScope<'_, '_, '_>, call: &ast::Expr) -> SqlResult<Expr> {
    // What an aggregate takes together is there before the first window.
    let allowed = if scope.inside_aggregate {
        None
    } else {
        scope.windows.take()
    };
    let Some(mut windows) = allowed else {
        return Err(SqlError::new(
            ErrorKind::WindowInvalidUse,
            &[&call.to_string().split('(').next().unwrap_or_default()],
        ));
    };
    let bound = bind_call(scope, call);
    let result = bound.map(|plan| {
        let ty = plan.ty.clone().of_result();
        windows.push(plan);
        let mut expr = Expr::column(0, "", ty);
        expr.kind = ExprKind::Window(windows.len() - 1);
        expr
    });
    scope.windows = Some(windows);
    result
}

fn bind_call(scope: &mut QueryScope<'_, '_, '_>, call: &ast::Expr) -> SqlResult<WindowPlan> {
    let (kind, ty, over) = match call {
        ast::Expr::Aggregate(aggregate) => {
            let function = AggregateFunction::of(aggregate.function)
                .ok_or_else(|| SqlError::not_supported("this aggregate as a window function"))?;
            if aggregate.distinct {
                return Err(SqlError::not_supported("DISTINCT in a window function"));
            }
            let args = bind_all(scope, &aggregate.args)?;
            let ctx = scope.planner.ctx;
            let call = AggregateCall::new(function, false, args, Vec::new(), None, &ctx)?;
            let ty = call.ty.clone();
            (WindowKind::Aggregate(Box::new(call)), ty, aggregate.over.as_ref())
        }
        ast::Expr::Window(window) => {
            if window.ignore_nulls {
                return Err(SqlError::not_supported("IGNORE NULLS"));
            }
            if window.from_last {
                return Err(SqlError::not_supported("FROM LAST"));
            }
            let mut args = bind_all(scope, &window.args)?.into_iter();
            let mut first = || {
                args.next()
                    .ok_or_else(|| SqlError::new(ErrorKind::WrongArguments, &[&"window function"]))
            };
            let count = SqlType::bigint_unsigned().not_null();
            let nullable = |expr: &Expr| SqlType {
                nullable: true,
                ..expr.ty.clone().of_result()
            };
            let (kind, ty) = match window.function {
                WindowFn::RowNumber => (WindowKind::RowNumber, count),
                WindowFn::Rank => (WindowKind::Rank, count),
                WindowFn::DenseRank => (WindowKind::DenseRank, count),
                WindowFn::PercentRank => (WindowKind::PercentRank, SqlType::double().not_null()),
                WindowFn::CumeDist => (WindowKind::CumeDist, SqlType::double().not_null()),
                WindowFn::Ntile => (WindowKind::Ntile(first()?), count),
                WindowFn::FirstValue => {
                    let value = first()?;
                    let ty = nullable(&value);
                    (WindowKind::FirstValue(value), ty)
                }
                WindowFn::LastValue => {
                    let value = first()?;
                    let ty = nullable(&value);
                    (WindowKind::LastValue(value), ty)
                }
                WindowFn::NthValue => {
                    let value = first()?;
                    let ty = nullable(&value);
                    (WindowKind::NthValue(value, first()?), ty)
                }
                WindowFn::Lead | WindowFn::Lag => {
                    let value = first()?;
                    let (offset, default) = (first().ok(), first().ok());
                    let ty = match &default {
                        Some(default) => sql_expr::unified_type(&[&value, default], &scope.planner.ctx)?,
                        None => value.ty.clone().of_result(),
                    };
                    let ty = SqlType { nullable: true, ..ty };
                    (
                        WindowKind::Lead {
                            value,
                            offset,
                            default,
                            backwards: window.function == WindowFn::Lag,
                        },
                        ty,
                    )
                }
            };
            (kind, ty, Some(&window.over))
        }
        _ => return Err(SqlError::internal("only calls with OVER are bound here")),
    };
    let over = over.ok_or_else(|| SqlError::internal("a window function has an OVER clause"))?;
    let spec = resolve(scope, over)?;
    let name = match over {
        Over::Name(name) => name.as_str(),
        Over::Spec(_) => "<unnamed window>",
    };
    let by_position = |item: &ast::OrderItem| matches!(item.expr, ast::Expr::Literal(ast::Literal::Int(_)));
    if spec.partition_by.iter().chain(&spec.order_by).any(by_position) {
        return Err(SqlError::new(ErrorKind::WindowIllegalOrderBy, &[&name]));
    }
    let partition = spec
        .partition_by
        .iter()
        .map(|item| item.expr.clone())
        .collect::<Vec<_>>();
    let partition = bind_all(scope, &partition)?;
    let mut order = Vec::with_capacity(spec.order_by.len());
    for item in &spec.order_by {
        let expr = bind_all(scope, std::slice::from_ref(&item.expr))?.remove(0);
        order.push(SortKey {
            expr,
            descending: item.descending,
        });
    }
    let frame = spec
        .frame
        .as_ref()
        .map(|frame| bind_frame(scope, frame, &order))
        .transpose()?;
    Ok(WindowPlan {
        name: name.to_owned(),
        kind,
        partition,
        order,
        frame,
        ty,
        slot: 0,
    })
}

fn bind_all(scope: &mut QueryScope<'_, '_, '_>, trees: &[ast::Expr]) -> SqlResult<Vec<Expr>> {
    let (ctx, options) = (scope.planner.ctx, scope.planner.options());
    trees
        .iter()
        .map(|tree| Binder::new(scope, ctx, options).bind(tree))
        .collect()
}

/// A window by name or as written, completed by the named one that it begins with.
fn resolve(scope: &QueryScope<'_, '_, '_>, over: &Over) -> SqlResult<ast::WindowSpec> {
    let named = |name: &ast::Ident| {
        let found = scope.named_windows.iter().find(|(known, _)| known.is(name));
        found
            .map(|(_, spec)| spec.clone())
            .ok_or_else(|| SqlError::new(ErrorKind::WindowNoSuchWindow, &[&name.as_str()]))
    };
    let mut spec = match over {
        Over::Name(name) => named(name)?,
        Over::Spec(spec) => spec.clone(),
    };
    // Each step takes the base's clauses; a chain cannot be longer than there are windows.
    for _ in 0..=scope.named_windows.len() {
        let Some(base) = spec.base.take() else { break };
        let base = named(&base)?;
        spec = ast::WindowSpec {
            base: base.base,
            partition_by: if base.partition_by.is_empty() {
                spec.partition_by
            } else {
                base.partition_by
            },
            order_by: if spec.order_by.is_empty() {
                base.order_by
            } else {
                spec.order_by
            },
            frame: spec.frame.or(base.frame),
        };
    }
    Ok(spec)
}

fn bind_frame(scope: &mut QueryScope<'_, '_, '_>, frame: &ast::Frame, order: &[SortKey]) -> SqlResult<Frame> {
    if frame.exclude.is_some() {
        return Err(SqlError::not_supported("EXCLUDE"));
    }
    if frame.unit == FrameUnit::Groups {
        return Err(SqlError::not_supported("GROUPS"));
    }
    let mut edge = |bound: &FrameBound| {
        let offset = |scope: &mut QueryScope<'_, '_, '_>, offset: &ast::FrameOffset| match offset {
            ast::FrameOffset::Rows(rows) => Ok(bind_all(scope, std::slice::from_ref(rows))?.remove(0)),
            ast::FrameOffset::Interval(..) => Err(SqlError::not_supported("INTERVAL in a window frame")),
        };
        Ok::<_, SqlError>(match bound {
            FrameBound::UnboundedPreceding => FrameEdge::UnboundedPreceding,
            FrameBound::Preceding(by) => FrameEdge::Preceding(offset(scope, by)?),
            FrameBound::CurrentRow => FrameEdge::CurrentRow,
            FrameBound::Following(by) => FrameEdge::Following(offset(scope, by)?),
            FrameBound::UnboundedFollowing => FrameEdge::UnboundedFollowing,
        })
    };
    let start = edge(&frame.start)?;
    let end = frame.end.as_ref().map_or(Ok(FrameEdge::CurrentRow), edge)?;
    let has_offset = |edge: &FrameEdge| matches!(edge, FrameEdge::Preceding(_) | FrameEdge::Following(_));
    let numeric = order.len() == 1 && (order[0].expr.ty.kind.is_numeric() || order[0].expr.ty.kind == TypeKind::Null);
    if frame.unit == FrameUnit::Range && (has_offset(&start) || has_offset(&end)) && !numeric {
        return Err(SqlError::not_supported("RANGE with an offset over this ORDER BY"));
    }
    Ok(Frame {
        unit: frame.unit,
        start,
        end,
    })
}

/// Puts the slots of window functions in place of their placeholders.
pub fn replace_windows(expr: &mut Expr, windows: &[WindowPlan], offset: usize) {
    if windows.is_empty() {
        return;
    }
    expr.transform(&mut |node| {
        if let ExprKind::Window(at) = node.kind {
            let ty = node.ty.clone();
            *node = Expr::column(offset + at, "", ty);
        }
    });
}
