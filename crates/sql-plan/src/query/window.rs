//! Window functions: bound to what the executor computes per partition.

use parser::ast::{self, DateOp, FrameBound, FrameUnit, Over, WindowFn};
use sql_expr::scope::Clause;
use sql_expr::sort::SortKey;
use sql_expr::{AggregateCall, AggregateFunction, ArithmeticOp, Binder, CompareOp, Expr, ExprKind};
use types::{ErrorKind, SqlError, SqlResult, SqlType, TypeKind, Value};

use super::named_windows::UNNAMED;
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

    /// What it is computed of, row by row.
    pub fn arguments(&self) -> Vec<&Expr> {
        match self {
            WindowKind::RowNumber
            | WindowKind::Rank
            | WindowKind::DenseRank
            | WindowKind::PercentRank
            | WindowKind::CumeDist => Vec::new(),
            WindowKind::Ntile(argument) | WindowKind::FirstValue(argument) | WindowKind::LastValue(argument) => {
                vec![argument]
            }
            WindowKind::Lead {
                value, offset, default, ..
            } => std::iter::once(value).chain(offset).chain(default).collect(),
            WindowKind::NthValue(value, place) => vec![value, place],
            WindowKind::Aggregate(call) => call.args.iter().collect(),
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
    /// RANGE: where the rows of a value begin or end.
    Value(Box<ValueEdge>),
}

/// A value that is so far from the current row's, and how the keys of other rows compare with it.
#[derive(Debug, Clone)]
pub struct ValueEdge {
    /// How far: a constant.
    pub distance: Expr,
    /// The value, from the current row.
    pub bound: Expr,
    /// Whether the key in slot 0 comes before the value in slot 1.
    pub before: Expr,
    /// Whether it comes behind it.
    pub behind: Expr,
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
        return Err(match &scope.named_windows.bound {
            Some(window) => SqlError::new(ErrorKind::WindowNested, &[window]),
            None => {
                let name = call.to_string().to_lowercase();
                SqlError::new(
                    ErrorKind::WindowInvalidUse,
                    &[&name.split('(').next().unwrap_or_default()],
                )
            }
        });
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
            check_count(window)?;
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
                    let (value, place) = (first()?, first()?);
                    let is_no_place = place
                        .as_literal()
                        .is_some_and(|value| !matches!(value, Value::Int(1..) | Value::UInt(1..)));
                    if !place.is_constant() || is_no_place {
                        return Err(SqlError::new(ErrorKind::WrongArguments, &[&"nth_value"]));
                    }
                    let ty = nullable(&value);
                    (WindowKind::NthValue(value, place), ty)
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
    let spec = scope.named_windows.spec_of(over)?;
    let name = match over {
        Over::Name(name) => name.as_str(),
        Over::Spec(_) => UNNAMED,
    };
    let WindowOrder {
        partition,
        order,
        frame,
    } = bind_spec(scope, name, &spec)?;
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

/// How many rows or parts is no column's to say: a name means a variable of the routine.
fn check_count(window: &ast::WindowCall) -> SqlResult<()> {
    let count = match window.function {
        WindowFn::Ntile => window.args.first(),
        WindowFn::Lead | WindowFn::Lag => window.args.get(1),
        _ => None,
    };
    match count {
        Some(ast::Expr::Column(name)) => Err(SqlError::new(ErrorKind::SpUndeclaredVar, &[&name.name.as_str()])),
        _ => Ok(()),
    }
}

/// Binds the windows that no function is over yet: what is wrong in them is an error all the same.
pub fn check_unused_windows(scope: &mut QueryScope<'_, '_, '_>) -> SqlResult<()> {
    let named = std::mem::take(&mut scope.named_windows);
    let checked = named.unused().try_for_each(|(name, spec)| {
        governor::tick()?;
        bind_spec(scope, name, &spec).map(|_| ())
    });
    scope.named_windows = named;
    checked
}

/// What a window says of the rows, bound.
struct WindowOrder {
    partition: Vec<Expr>,
    order: Vec<SortKey>,
    frame: Option<Frame>,
}

fn bind_spec(scope: &mut QueryScope<'_, '_, '_>, name: &str, spec: &ast::WindowSpec) -> SqlResult<WindowOrder> {
    let by_position = |item: &ast::OrderItem| matches!(item.expr, ast::Expr::Literal(ast::Literal::Int(_)));
    if spec.partition_by.iter().chain(&spec.order_by).any(by_position) {
        return Err(SqlError::new(ErrorKind::WindowIllegalOrderBy, &[&name]));
    }
    let clause = scope.clause;
    let around = scope.named_windows.bound.replace(name.to_owned());
    let bound = (|| {
        scope.clause = Clause::WindowPartition;
        let mut partition = Vec::with_capacity(spec.partition_by.len());
        for item in &spec.partition_by {
            partition.push(bind_one(scope, &item.expr)?);
        }
        scope.clause = Clause::WindowOrder;
        let mut order = Vec::with_capacity(spec.order_by.len());
        for item in &spec.order_by {
            let expr = bind_one(scope, &item.expr)?;
            order.push(SortKey {
                expr,
                descending: item.descending,
            });
        }
        scope.clause = clause;
        let frame = spec.frame.as_ref();
        let frame = frame.map(|frame| bind_frame(scope, name, frame, &order)).transpose()?;
        Ok(WindowOrder {
            partition,
            order,
            frame,
        })
    })();
    scope.clause = clause;
    scope.named_windows.bound = around;
    bound
}

fn bind_one(scope: &mut QueryScope<'_, '_, '_>, tree: &ast::Expr) -> SqlResult<Expr> {
    let (ctx, options) = (scope.planner.ctx, scope.planner.options());
    Binder::new(scope, ctx, options).bind(tree)
}

fn bind_all(scope: &mut QueryScope<'_, '_, '_>, trees: &[ast::Expr]) -> SqlResult<Vec<Expr>> {
    trees.iter().map(|tree| bind_one(scope, tree)).collect()
}

fn bind_frame(
    scope: &mut QueryScope<'_, '_, '_>,
    window: &str,
    frame: &ast::Frame,
    order: &[SortKey],
) -> SqlResult<Frame> {
    if frame.exclude.is_some() {
        return Err(SqlError::not_supported("EXCLUDE"));
    }
    if frame.unit == FrameUnit::Groups {
        return Err(SqlError::not_supported("GROUPS"));
    }
    if frame.start == FrameBound::UnboundedFollowing {
        return Err(SqlError::new(ErrorKind::WindowFrameStartIllegal, &[&window]));
    }
    if frame.end == Some(FrameBound::UnboundedPreceding) {
        return Err(SqlError::new(ErrorKind::WindowFrameEndIllegal, &[&window]));
    }
    if is_backwards(frame) {
        return Err(SqlError::new(ErrorKind::WindowFrameIllegal, &[&window]));
    }
    let mut edge = |bound: &FrameBound| {
        let (offset, side) = match bound {
            FrameBound::UnboundedPreceding => return Ok(FrameEdge::UnboundedPreceding),
            FrameBound::CurrentRow => return Ok(FrameEdge::CurrentRow),
            FrameBound::UnboundedFollowing => return Ok(FrameEdge::UnboundedFollowing),
            FrameBound::Preceding(offset) => (offset, Side::Preceding),
            FrameBound::Following(offset) => (offset, Side::Following),
        };
        if frame.unit == FrameUnit::Range {
            return bind_value_edge(scope, window, offset, side, order);
        }
        match (offset, side) {
            (ast::FrameOffset::Interval(..), _) => Err(SqlError::new(ErrorKind::WindowRowsInterval, &[&window])),
            (ast::FrameOffset::Rows(rows), side) => {
                let rows = bind_one(scope, rows)?;
                Ok(match side {
                    Side::Preceding => FrameEdge::Preceding(rows),
                    Side::Following => FrameEdge::Following(rows),
                })
            }
        }
    };
    let start = edge(&frame.start)?;
    let end = frame.end.as_ref().map_or(Ok(FrameEdge::CurrentRow), edge)?;
    Ok(Frame {
        unit: frame.unit,
        start,
        end,
    })
}

/// Whether its end comes before its start, whatever the distances are.
fn is_backwards(frame: &ast::Frame) -> bool {
    let end = frame.end.as_ref().unwrap_or(&FrameBound::CurrentRow);
    match &frame.start {
        FrameBound::CurrentRow => matches!(end, FrameBound::Preceding(_)),
        FrameBound::Following(_) => matches!(end, FrameBound::CurrentRow | FrameBound::Preceding(_)),
        _ => false,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Preceding,
    Following,
}

/// `n PRECEDING` of a RANGE frame: the one key of the window less the number or INTERVAL, or more where the order is descending.
fn bind_value_edge(
    scope: &mut QueryScope<'_, '_, '_>,
    window: &str,
    offset: &ast::FrameOffset,
    side: Side,
    order: &[SortKey],
) -> SqlResult<FrameEdge> {
    let refused = |kind: ErrorKind| Err(SqlError::new(kind, &[&window]));
    let [key] = order else {
        return refused(ErrorKind::WindowRangeOrderType);
    };
    let is_dated = key.expr.ty.kind.is_temporal();
    let is_number = key.expr.ty.kind.is_numeric() || key.expr.ty.kind == TypeKind::Year;
    let (amount, unit) = match offset {
        _ if key.expr.is_volatile() || !is_dated && !is_number => return refused(ErrorKind::WindowRangeOrderType),
        ast::FrameOffset::Rows(_) if is_dated => return refused(ErrorKind::WindowRangeTemporal),
        ast::FrameOffset::Interval(..) if !is_dated => return refused(ErrorKind::WindowRangeNumeric),
        ast::FrameOffset::Rows(amount) => (amount, None),
        ast::FrameOffset::Interval(amount, unit) => (amount, Some(*unit)),
    };
    let distance = bind_one(scope, amount)?;
    if !distance.is_constant() {
        return refused(ErrorKind::WindowRangeNotConstant);
    }
    if distance.as_literal().is_some_and(is_no_distance) {
        return refused(ErrorKind::WindowFrameIllegal);
    }
    let (ctx, options) = (scope.planner.ctx, scope.planner.options());
    let binder = Binder::new(scope, ctx, options);
    let is_less = (side == Side::Preceding) != key.descending;
    let (value, by) = (key.expr.clone(), distance.clone());
    let bound = match (unit, is_less) {
        (None, true) => binder.arithmetic(ArithmeticOp::Sub, value, by),
        (None, false) => binder.arithmetic(ArithmeticOp::Add, value, by),
        (Some(unit), true) => binder.date_moved(DateOp::Sub, value, by, unit)?,
        (Some(unit), false) => binder.date_moved(DateOp::Add, value, by, unit)?,
    };
    let compared = |op: CompareOp| {
        let slot = |slot: usize, expr: &Expr| Expr::column(slot, "", expr.ty.clone());
        binder.comparison(op, slot(0, &key.expr), slot(1, &bound))
    };
    let (before, behind) = match key.descending {
        false => (compared(CompareOp::Lt)?, compared(CompareOp::Gt)?),
        true => (compared(CompareOp::Gt)?, compared(CompareOp::Lt)?),
    };
    Ok(FrameEdge::Value(Box::new(ValueEdge {
        distance,
        bound,
        before,
        behind,
    })))
}

/// Whether the end of a frame cannot be so far away: NULL, or a number or an interval below zero.
pub fn is_no_distance(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Int(number) => *number < 0,
        Value::Double(number) => *number < 0.0,
        Value::Float(number) => *number < 0.0,
        Value::Decimal(number) => number.is_negative(),
        Value::Str(text) => text.trim_start().starts_with('-'),
        _ => false,
    }
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
