//! The evaluator.

use std::borrow::Cow;
use std::cmp::Ordering;

use parser::ast::IsTest;
use types::error::{ErrorKind, SqlError};
use types::{SqlResult, SqlType, TypeKind, Value};

use super::compare::{CompareOp, Comparison};
use super::context::{EvalContext, StatementContext, Strictness, UserVariable};
use super::functions::Stability;
use super::{
    Between, Bitwise, Compare, Domain, Escape, Expr, ExprKind, In, InItems, Like, SubqueryKind, arithmetic, convert,
    functions,
};

impl Expr {
    /// The value for this row, as a client sees it. As [`eval`](Self::eval), but what IF and CASE choose has the digits of its branch:
    /// `IF(1, 1, 1.50)` prints as 1, and as 1.00 once it was stored, grouped, sorted out or computed with. (A user variable has its own
    /// digits everywhere, and its type has thirty.)
    pub fn eval_shown(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
        if self.ty.kind != TypeKind::Decimal || !self.is_choice() {
            return self.eval(row, ctx);
        }
        match self.eval_exact(row, ctx)? {
            Value::Decimal(number) if number.scale() > self.ty.decimals => {
                Ok(Value::Decimal(number.round(self.ty.decimals).unwrap_or(number)))
            }
            value => Ok(value),
        }
    }

    /// The value for this row, of the expression's type.
    pub fn eval(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
        let value = self.eval_exact(row, ctx)?;
        if matches!(
            self.kind,
            ExprKind::UserVariable { .. } | ExprKind::AssignUserVariable { .. }
        ) {
            return Ok(value);
        }
        match value {
            // Division keeps digits beyond those of its type for the operators around it; here they end.
            Value::Decimal(number) if number.scale() != self.ty.decimals && self.ty.kind == TypeKind::Decimal => {
                Ok(Value::Decimal(number.round(self.ty.decimals).unwrap_or(number)))
            }
            value => Ok(value),
        }
    }

    /// The value of what is made of literals alone, as far as it can be computed before there is a row and without a warning.
    pub fn computed(&self, ctx: &EvalContext<'_>) -> Option<Value> {
        if let Some(value) = self.as_literal() {
            return Some(value.clone());
        }
        let is_unknown = |part: &Expr| match &part.kind {
            ExprKind::Call(call) => call.function.stability > Stability::Session,
            kind => !kind.is_pure(),
        };
        if self.any(&mut |part| is_unknown(part)) {
            return None;
        }
        let scratch = StatementContext::new(ctx.settings, ctx.services, ctx.now).with_strictness(Strictness::Fail);
        let value = self.eval_exact(&[], &scratch.eval()).ok()?;
        scratch.take_warnings().is_empty().then_some(value)
    }

    /// The truth of a condition: `None` is unknown.
    #[inline]
    pub fn eval_bool(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        governor::descend()?;
        match &self.kind {
            ExprKind::Compare(compare) => compare.holds(row, ctx),
            ExprKind::And(operands) => {
                let mut result = Some(true);
                for (at, operand) in operands.iter().enumerate() {
                    tick_in_list(at)?;
                    match operand.eval_bool(row, ctx)? {
                        Some(false) => return Ok(Some(false)),
                        None => result = None,
                        Some(true) => {}
                    }
                }
                Ok(result)
            }
            ExprKind::Or(operands) => {
                let mut result = Some(false);
                for (at, operand) in operands.iter().enumerate() {
                    tick_in_list(at)?;
                    match operand.eval_bool(row, ctx)? {
                        Some(true) => return Ok(Some(true)),
                        None => result = None,
                        Some(false) => {}
                    }
                }
                Ok(result)
            }
            ExprKind::Xor(pair) => {
                let left = pair[0].eval_bool(row, ctx)?;
                let Some(left) = left else { return Ok(None) };
                Ok(pair[1].eval_bool(row, ctx)?.map(|right| left != right))
            }
            ExprKind::Not(operand) => Ok(operand.eval_bool(row, ctx)?.map(|truth| !truth)),
            ExprKind::HexLiteral(Value::Bytes(bytes)) => Ok(Some(convert::hex_number(bytes) != 0)),
            ExprKind::Is { operand, test, negated } => {
                let holds = match test {
                    IsTest::Null => operand.eval_ref(row, ctx)?.is_null(),
                    IsTest::Unknown => operand.eval_bool(row, ctx)?.is_none(),
                    IsTest::True => operand.eval_bool(row, ctx)? == Some(true),
                    IsTest::False => operand.eval_bool(row, ctx)? == Some(false),
                };
                Ok(Some(holds != *negated))
            }
            ExprKind::Between(between) => between.holds(row, ctx),
            ExprKind::In(list) => list.holds(row, ctx),
            ExprKind::Like(like) => like.holds(row, ctx),
            ExprKind::Subquery(subquery)
                if !matches!(subquery.kind, SubqueryKind::Scalar | SubqueryKind::Function { .. }) =>
            {
                subquery.holds(row, ctx)
            }
            // As a number, which is not always that of the text.
            _ if (self.ty.kind.is_text() || self.ty.kind.is_binary()) && self.is_choice() => {
                match self.chosen(row, ctx)? {
                    Some(branch) => branch.eval_bool(row, ctx),
                    None => Ok(None),
                }
            }
            _ => {
                let value = convert::as_operand_of_double(self, self.eval_ref(row, ctx)?);
                if value.is_null() {
                    Ok(None)
                } else {
                    convert::to_bool(&value, ctx).map(Some)
                }
            }
        }
    }

    /// The value, borrowed where it stands in the row or the expression. As [`eval_exact`](Self::eval_exact).
    #[inline]
    pub fn eval_ref<'v>(&'v self, row: &'v [Value], ctx: &EvalContext<'_>) -> SqlResult<Cow<'v, Value>> {
        match &self.kind {
            ExprKind::Literal(value) => Ok(Cow::Borrowed(value)),
            ExprKind::Column(column) => match &row[column.slot] {
                Value::Timestamp(at) => Ok(Cow::Owned(Value::DateTime(ctx.settings.time_zone.to_local(*at)))),
                value => Ok(Cow::Borrowed(value)),
            },
            _ => self.eval_exact(row, ctx).map(Cow::Owned),
        }
    }

    /// The value with all the digits that it was computed with: a decimal may have more than the type says. For arithmetic
    /// and comparisons; everybody else wants [`eval`](Self::eval).
    pub fn eval_exact(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
        match &self.kind {
            ExprKind::Literal(value) | ExprKind::HexLiteral(value) => Ok(value.clone()),
            ExprKind::Column(column) => Ok(local(&row[column.slot], ctx)),
            ExprKind::Outer { depth, column } => Ok(local(&ctx.outer_row(*depth)?[column.slot], ctx)),
            ExprKind::Param(index) => match ctx.params.get(*index) {
                Some(value) => Ok(local(value, ctx)),
                None => Err(SqlError::internal("a parameter has no value")),
            },
            ExprKind::NoDefault(column) => {
                ctx.warn(SqlError::new(ErrorKind::NoDefaultForField, &[column]))?;
                Ok(match self.ty.nullable {
                    true => Value::Null,
                    false => types::cast::implicit_default(&self.ty),
                })
            }
            ExprKind::UserVariable { name, .. } => {
                let value = ctx
                    .services
                    .user_variable(name)
                    .map_or(Value::Null, |variable| variable.value);
                like_type(value, &self.ty, ctx)
            }
            ExprKind::AssignUserVariable { name, value } => {
                let ty = value.ty.clone();
                let variable = UserVariable::new(value.eval_exact(row, ctx)?, ty);
                let value = variable.value.clone();
                ctx.services.set_user_variable(name, variable);
                Ok(value)
            }
            ExprKind::SystemVariable { scope, name } => Ok(ctx.services.system_variable(*scope, name)?.0),
            ExprKind::Aggregate(_) | ExprKind::Window(_) => {
                Err(SqlError::internal("an aggregate was evaluated before its group"))
            }
            ExprKind::Row(_) => Err(SqlError::new(ErrorKind::OperandColumns, &[&1])),
            ExprKind::Arithmetic(node) => {
                governor::descend()?;
                let mut left = node.left.eval_ref(row, ctx)?;
                // Of decimals the right one is not computed behind a NULL.
                if left.is_null() && node.domain == Domain::Decimal {
                    return Ok(Value::Null);
                }
                let mut right = node.right.eval_ref(row, ctx)?;
                if node.domain == Domain::Double {
                    left = convert::as_operand_of_double(&node.left, left);
                    right = convert::as_operand_of_double(&node.right, right);
                }
                if left.is_null() || right.is_null() {
                    // Bad text beside a NULL is bad nevertheless.
                    for text in [&left, &right] {
                        if matches!(text.as_ref(), Value::Str(_)) {
                            convert::to_f64(text, ctx)?;
                        }
                    }
                    return Ok(Value::Null);
                }
                if node.op == arithmetic::ArithmeticOp::IntDiv && node.domain == Domain::Decimal {
                    left = Cow::Owned(convert::as_operand_of_decimal(&node.left, left.into_owned(), ctx)?);
                    right = Cow::Owned(convert::as_operand_of_decimal(&node.right, right.into_owned(), ctx)?);
                }
                let shown = || self.to_string();
                arithmetic::compute(node.op, node.domain, &self.ty, &left, &right, ctx, &shown)
            }
            ExprKind::Negate { domain, operand } => {
                let operand = convert::as_operand_of_double(operand, operand.eval_ref(row, ctx)?);
                if operand.is_null() {
                    return Ok(Value::Null);
                }
                arithmetic::negate(*domain, &operand, ctx, &|| self.to_string())
            }
            ExprKind::Bitwise(node) => node.compute(&self.ty, row, ctx),
            ExprKind::BitNot(operand) => {
                let operand = operand.eval_ref(row, ctx)?;
                match operand.as_ref() {
                    Value::Null => Ok(Value::Null),
                    Value::Bytes(bytes) if self.ty.kind.is_binary() => {
                        Ok(Value::Bytes(bytes.iter().map(|byte| !byte).collect::<Vec<u8>>().into()))
                    }
                    value => Ok(Value::UInt(!convert::to_bits(value, ctx)?)),
                }
            }
            ExprKind::Case(case) => {
                governor::descend()?;
                match case.chosen(row, ctx)? {
                    Some(branch) => branch.eval_branch(&self.ty, row, ctx),
                    None => Ok(Value::Null),
                }
            }
            ExprKind::Cast(cast) => {
                governor::descend()?;
                let printed = self.ty.kind.is_text() || self.ty.kind.is_binary();
                let operand = if printed {
                    cast.operand.eval_shown(row, ctx)?
                } else {
                    cast.operand.eval_exact(row, ctx)?
                };
                if operand.is_null() {
                    return Ok(Value::Null);
                }
                if let Some(element) = &cast.elements {
                    return super::array::array_of(&operand, element);
                }
                if self.ty.kind == TypeKind::Json && !matches!(operand, Value::Str(_)) {
                    return functions::json::finish(&functions::json::node(&operand, &cast.operand));
                }
                let operand = match self.ty.kind {
                    TypeKind::Decimal => convert::as_operand_of_decimal(&cast.operand, operand, ctx)?,
                    TypeKind::Double | TypeKind::Float => {
                        convert::as_operand_of_double(&cast.operand, Cow::Owned(operand)).into_owned()
                    }
                    TypeKind::Date | TypeKind::DateTime | TypeKind::Time => {
                        convert::dated(&cast.operand, &operand).into_owned()
                    }
                    _ => operand,
                };
                convert::cast(operand, &cast.operand.ty, &self.ty, cast.length, ctx)
            }
            ExprKind::Collate(operand) => {
                let value = operand.eval(row, ctx)?;
                Ok(match value {
                    Value::Null | Value::Str(_) | Value::Bytes(_) => value,
                    other => Value::from(convert::to_text_as(&other, &operand.ty).into_owned()),
                })
            }
            ExprKind::Call(call) => functions::call(self, call.function, &call.args, row, ctx),
            ExprKind::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Scalar) => {
                governor::descend()?;
                let first = subquery.single_row(row, ctx)?;
                Ok(first
                    .and_then(|columns| columns.into_iter().next())
                    .unwrap_or(Value::Null))
            }
            ExprKind::Subquery(subquery) if let SubqueryKind::Function { args, once, .. } = &subquery.kind => {
                governor::descend()?;
                let args = args
                    .iter()
                    .map(|arg| arg.eval(row, ctx))
                    .collect::<SqlResult<Vec<_>>>()?;
                let value = ctx.statement.runner()?.call(&*subquery.query, &args, *once, ctx)?;
                Ok(local(&value, ctx))
            }
            ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Xor(_)
            | ExprKind::Not(_)
            | ExprKind::Is { .. }
            | ExprKind::Compare(_)
            | ExprKind::Between(_)
            | ExprKind::In(_)
            | ExprKind::Like(_)
            | ExprKind::Subquery(_) => Ok(truth_value(self.eval_bool(row, ctx)?)),
        }
    }

    /// The columns of a row expression or of a subquery's one row; `None` when there is no row.
    pub(super) fn eval_row(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<Vec<Value>>> {
        match &self.kind {
            ExprKind::Row(columns) => columns
                .iter()
                .map(|column| column.eval_exact(row, ctx))
                .collect::<SqlResult<_>>()
                .map(Some),
            ExprKind::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Scalar) => {
                subquery.single_row(row, ctx)
            }
            _ => Ok(Some(vec![self.eval_exact(row, ctx)?])),
        }
    }
}

fn truth_value(truth: Option<bool>) -> Value {
    match truth {
        Some(truth) => Value::Int(i64::from(truth)),
        None => Value::Null,
    }
}

/// A TIMESTAMP as the session's clock shows it; anything else as it is.
pub(super) fn local(value: &Value, ctx: &EvalContext<'_>) -> Value {
    match value {
        Value::Timestamp(at) => Value::DateTime(ctx.settings.time_zone.to_local(*at)),
        other => other.clone(),
    }
}

/// The value as the type that was known when binding: a variable may have changed its type since.
fn like_type(value: Value, ty: &SqlType, ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let fits = match (&value, ty.kind) {
        (Value::Null, _) | (_, TypeKind::Null) => true,
        (Value::Int(_) | Value::UInt(_), kind) => kind.is_integer(),
        (Value::Decimal(_), kind) => kind == TypeKind::Decimal,
        (Value::Double(_) | Value::Float(_), kind) => matches!(kind, TypeKind::Double | TypeKind::Float),
        (Value::Str(_), kind) => kind.is_text(),
        (Value::Bytes(_), kind) => kind.is_binary(),
        _ => true,
    };
    if fits {
        return Ok(value);
    }
    let own = super::bind::type_of_value(&value, ctx.settings.collation);
    convert::cast(value, &own, ty, None, ctx)
}

impl Compare {
    #[inline]
    fn holds(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        if let Comparison::Row(hows) = &self.how {
            return self.rows_hold(hows, row, ctx);
        }
        let mut left = self.left.eval_ref(row, ctx)?;
        if left.is_null() && self.op != CompareOp::NullSafeEq {
            return Ok(None);
        }
        let mut right = self.right.eval_ref(row, ctx)?;
        if self.how == Comparison::Double {
            left = convert::as_operand_of_double(&self.left, left);
            right = convert::as_operand_of_double(&self.right, right);
        }
        match self.how.compare(&left, &right, ctx)? {
            Some(order) => Ok(Some(self.op.holds(order))),
            None if self.op == CompareOp::NullSafeEq => Ok(Some(left.is_null() && right.is_null())),
            None => Ok(None),
        }
    }

    /// Rows: the first columns that differ decide; a NULL before them makes the result unknown.
    fn rows_hold(&self, hows: &[Comparison], row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        if let (ExprKind::Row(lefts), ExprKind::Row(rights)) = (&self.left.kind, &self.right.kind) {
            let mut found = RowOrder::new(self.op);
            self.order_columns(hows, lefts, rights, &mut found, row, ctx)?;
            return Ok(found.holds());
        }
        let (left, right) = (self.left.eval_row(row, ctx)?, self.right.eval_row(row, ctx)?);
        let (Some(left), Some(right)) = (left, right) else {
            return Ok((self.op == CompareOp::NullSafeEq).then_some(false));
        };
        compare_rows(self.op, hows, &left, &right, ctx)
    }

    /// Compares column by column, and rows within rows, until two differ; what is behind them is not computed.
    fn order_columns(
        &self,
        hows: &[Comparison],
        lefts: &[Expr],
        rights: &[Expr],
        found: &mut RowOrder,
        row: &[Value],
        ctx: &EvalContext<'_>,
    ) -> SqlResult<()> {
        governor::descend()?;
        for (at, ((how, left), right)) in hows.iter().zip(lefts).zip(rights).enumerate() {
            governor::tick()?;
            match (how, &left.kind, &right.kind) {
                (Comparison::Row(hows), ExprKind::Row(lefts), ExprKind::Row(rights)) => {
                    self.order_columns(hows, lefts, rights, found, row, ctx)?;
                }
                _ => {
                    let mut a = Cow::Owned(left.eval_exact(row, ctx)?);
                    let mut b = Cow::Owned(right.eval_exact(row, ctx)?);
                    if *how == Comparison::Double {
                        a = convert::as_operand_of_double(left, a);
                        b = convert::as_operand_of_double(right, b);
                    }
                    found.add(how, &a, &b, ctx)?;
                }
            }
            if found.is_decided() {
                // Two constants that differ are known to before anything is computed.
                let is_equality = matches!(self.op, CompareOp::Eq | CompareOp::NullSafeEq);
                if is_equality && left.as_literal().is_some() && right.as_literal().is_some() {
                    return Ok(());
                }
                return compute_constants(lefts[at + 1..].iter().chain(&rights[at + 1..]), row, ctx);
            }
        }
        Ok(())
    }
}

/// Constants that could not be computed when they were bound: they fail wherever they stand.
fn compute_constants<'e>(
    columns: impl Iterator<Item = &'e Expr>,
    row: &[Value],
    ctx: &EvalContext<'_>,
) -> SqlResult<()> {
    for column in columns {
        if column.as_literal().is_none() && column.width() == 1 && column.is_constant() {
            column.eval_exact(row, ctx)?;
        }
    }
    Ok(())
}

/// How two rows compare, up to the first columns that decide.
struct RowOrder {
    op: CompareOp,
    order: Ordering,
    /// A column before them was NULL.
    is_unknown: bool,
}

impl RowOrder {
    fn new(op: CompareOp) -> RowOrder {
        RowOrder {
            op,
            order: Ordering::Equal,
            is_unknown: false,
        }
    }

    /// The next column of both rows.
    fn add(&mut self, how: &Comparison, a: &Value, b: &Value, ctx: &EvalContext<'_>) -> SqlResult<()> {
        match how.compare(a, b, ctx)? {
            Some(order) => self.order = order,
            None if self.op != CompareOp::NullSafeEq => self.is_unknown = true,
            None if a.is_null() && b.is_null() => {}
            // Any order but equal will do.
            None => self.order = Ordering::Less,
        }
        Ok(())
    }

    /// Whether further columns change nothing: behind a NULL they do for = and <> alone.
    fn is_decided(&self) -> bool {
        self.order.is_ne() || self.is_unknown && !matches!(self.op, CompareOp::Eq | CompareOp::Ne)
    }

    fn holds(&self) -> Option<bool> {
        (self.order.is_ne() || !self.is_unknown).then(|| self.op.holds(self.order))
    }
}

/// `left op right` for rows.
pub fn compare_rows(
    op: CompareOp,
    hows: &[Comparison],
    left: &[Value],
    right: &[Value],
    ctx: &EvalContext<'_>,
) -> SqlResult<Option<bool>> {
    let mut found = RowOrder::new(op);
    for ((how, a), b) in hows.iter().zip(left).zip(right) {
        found.add(how, a, b, ctx)?;
        if found.is_decided() {
            break;
        }
    }
    Ok(found.holds())
}

impl Between {
    fn holds(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        let mut operand = self.operand.eval_ref(row, ctx)?;
        if operand.is_null() {
            return Ok(None);
        }
        // Text between numbers is read once, so that it warns once.
        if matches!(operand.as_ref(), Value::Str(_))
            && (&self.low_how, &self.high_how) == (&Comparison::Double, &Comparison::Double)
        {
            operand = convert::as_operand_of_double(&self.operand, operand);
            operand = Cow::Owned(Value::Double(convert::to_f64(&operand, ctx)?));
        }
        let low = self.low_how.operand(&self.low, row, ctx)?;
        let above = self.low_how.compare(&operand, &low, ctx)?.map(Ordering::is_ge);
        let high = self.high_how.operand(&self.high, row, ctx)?;
        let below = self.high_how.compare(&operand, &high, ctx)?.map(Ordering::is_le);
        let inside = match (above, below) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        Ok(inside.map(|inside| inside != self.negated))
    }
}

/// A tick for so many operands: most lists have two or three, and cost nothing more.
#[inline(always)]
fn tick_in_list(at: usize) -> SqlResult<()> {
    const OPERANDS: usize = 64;
    match at % OPERANDS == OPERANDS - 1 {
        true => Ok(governor::tick()?),
        false => Ok(()),
    }
}

impl In {
    fn holds(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        let found = match &self.list {
            InItems::Sorted { how, values, has_null } => {
                let mut operand = self.operand.eval_ref(row, ctx)?;
                if operand.is_null() {
                    return Ok(None);
                }
                if *how == Comparison::Double {
                    operand = convert::as_operand_of_double(&self.operand, operand);
                }
                match search(how, values, &operand, ctx)? {
                    true => Some(true),
                    false if *has_null => None,
                    false => Some(false),
                }
            }
            InItems::Each(items) if self.operand.width() > 1 => {
                let operand = self.operand.eval_row(row, ctx)?;
                let mut found = Some(false);
                for (at, (how, item)) in items.iter().enumerate() {
                    tick_in_list(at)?;
                    let Comparison::Row(hows) = how else { continue };
                    let equal = match (&operand, &item.kind) {
                        (Some(operand), ExprKind::Row(columns)) => {
                            let mut found = RowOrder::new(CompareOp::Eq);
                            for (at, ((how, value), column)) in hows.iter().zip(operand).zip(columns).enumerate() {
                                let item = how.of_operand(column, Cow::Owned(column.eval_exact(row, ctx)?));
                                found.add(how, value, &item, ctx)?;
                                if found.is_decided() {
                                    compute_constants(columns[at + 1..].iter(), row, ctx)?;
                                    break;
                                }
                            }
                            found.holds()
                        }
                        (operand, _) => match (operand, item.eval_row(row, ctx)?) {
                            (Some(operand), Some(item)) => compare_rows(CompareOp::Eq, hows, operand, &item, ctx)?,
                            _ => None,
                        },
                    };
                    match equal {
                        Some(true) => return Ok(Some(!self.negated)),
                        Some(false) => {}
                        None => found = None,
                    }
                }
                found
            }
            InItems::Each(items) => {
                let operand = self.operand.eval_ref(row, ctx)?;
                if operand.is_null() {
                    return Ok(None);
                }
                let mut found = Some(false);
                for (at, (how, item)) in items.iter().enumerate() {
                    tick_in_list(at)?;
                    let (mut operand, mut item_value) = (Cow::Borrowed(operand.as_ref()), item.eval_ref(row, ctx)?);
                    if *how == Comparison::Double {
                        operand = convert::as_operand_of_double(&self.operand, operand);
                        item_value = convert::as_operand_of_double(item, item_value);
                    }
                    match how.compare(&operand, &item_value, ctx)? {
                        Some(Ordering::Equal) => return Ok(Some(!self.negated)),
                        Some(_) => {}
                        None => found = None,
                    }
                }
                found
            }
        };
        Ok(found.map(|found| found != self.negated))
    }
}

fn search(how: &Comparison, values: &[Value], operand: &Value, ctx: &EvalContext<'_>) -> SqlResult<bool> {
    let (mut low, mut high) = (0, values.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match how.compare(&values[middle], operand, ctx)? {
            Some(Ordering::Equal) => return Ok(true),
            Some(Ordering::Less) => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(false)
}

impl Like {
    fn holds(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<bool>> {
        let operand = self.operand.eval_ref(row, ctx)?;
        if operand.is_null() {
            return Ok(None);
        }
        let pattern = self.pattern.eval_ref(row, ctx)?;
        if pattern.is_null() {
            return Ok(None);
        }
        let text = self.bytes(&operand, &self.operand.ty)?;
        let pattern = self.bytes(&pattern, &self.pattern.ty)?;
        let escape = match &self.escape {
            Escape::Char(escape) => *escape,
            Escape::Computed(constant) => Escape::of_value(constant.eval_ref(row, ctx)?.as_ref())?,
        };
        let matches = self.collation.like(&pattern, &text, escape);
        governor::check()?;
        Ok(Some(matches != self.negated))
    }

    /// A side as the collation looks at it.
    fn bytes<'v>(&self, value: &'v Value, ty: &SqlType) -> SqlResult<Cow<'v, [u8]>> {
        match value {
            _ if self.collation == types::CollationId::BINARY => Ok(convert::to_encoded_bytes(value, ty)),
            Value::Bytes(_) | Value::Bit(_) => {
                let text = convert::to_comparable_text(value, self.collation)?;
                Ok(Cow::Owned(text.into_owned().into_bytes()))
            }
            _ => Ok(convert::to_bytes_as(value, ty)),
        }
    }
}

impl Bitwise {
    fn compute(&self, ty: &SqlType, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
        let left = self.left.eval_exact(row, ctx)?;
        if left.is_null() {
            return Ok(Value::Null);
        }
        let right = self.right.eval_exact(row, ctx)?;
        if right.is_null() {
            return Ok(Value::Null);
        }
        use arithmetic::BitOp::{ShiftLeft, ShiftRight};
        match (&left, &right) {
            (Value::Bytes(bytes), count) if ty.kind.is_binary() && matches!(self.op, ShiftLeft | ShiftRight) => {
                let count = convert::to_bits(count, ctx)?;
                Ok(Value::Bytes(arithmetic::shift_bytes(self.op, bytes, count).into()))
            }
            (Value::Bytes(a), Value::Bytes(b)) if ty.kind.is_binary() => {
                Ok(Value::Bytes(arithmetic::binary_bits(self.op, a, b)?.into()))
            }
            (left, right) => {
                let (a, b) = (
                    convert::bits_of(&self.left, left, ctx)?,
                    convert::bits_of(&self.right, right, ctx)?,
                );
                Ok(Value::UInt(arithmetic::bits(self.op, a, b)))
            }
        }
    }
}

impl Expr {
    /// As [`eval_into`](Self::eval_into) for a branch of IF or CASE: a decimal keeps its own digits.
    pub fn eval_branch(&self, ty: &SqlType, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
        if ty.kind != TypeKind::Decimal {
            return self.eval_into(ty, row, ctx);
        }
        let value = self.eval_shown(row, ctx)?;
        if value.is_null() {
            return Ok(value);
        }
        convert::to_decimal(&value, ctx).map(Value::Decimal)
    }

    /// The value as one of `ty`, the common type of several expressions of which this is one.
    pub fn eval_into(&self, ty: &SqlType, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
        let mut value = self.eval(row, ctx)?;
        if ty.kind == TypeKind::Double {
            value = convert::as_operand_of_double(self, Cow::Owned(value)).into_owned();
        }
        convert::to_common(value, &self.ty, ty, ctx)
    }
}
