//! What a condition says about one column of a table.

use std::ops::Range;

use sql_expr::{CompareOp, Expr, ExprKind, InItems};
use types::{SqlType, Value};

use super::arrays::ElementTest;

/// A test of one column against values that are known before the table is read.
#[derive(Debug, Clone)]
pub struct ColumnCondition {
    /// Position in the table.
    pub column: usize,
    pub test: ColumnTest,
}

#[derive(Debug, Clone)]
pub enum ColumnTest {
    /// `= operand`
    Equal(Expr),
    /// `<=> operand`
    NullSafeEqual(Expr),
    IsNull,
    /// `IN (…)`, none of them NULL when it is a constant.
    AnyOf(Vec<Expr>),
    /// Between two bounds.
    Range(Interval),
    /// Within one of several intervals, joined by OR.
    Intervals(Vec<Interval>),
    /// Text that begins with this: `LIKE 'abc%'`.
    StartsWith(Value),
    /// Of an array whose elements are in a multi-valued index.
    Elements(ElementTest),
}

/// Values from `lower` to `upper`, without NULL.
#[derive(Debug, Clone, Default)]
pub struct Interval {
    pub lower: Option<Bound>,
    pub upper: Option<Bound>,
}

impl Interval {
    fn operands(&self) -> impl Iterator<Item = &Expr> {
        self.lower.iter().chain(&self.upper).map(|bound| &bound.operand)
    }
}

#[derive(Debug, Clone)]
pub struct Bound {
    pub operand: Expr,
    pub inclusive: bool,
}

impl ColumnTest {
    /// One value, so that later columns of an index can be used too and rows come in their order.
    pub fn is_single(&self) -> bool {
        match self {
            ColumnTest::Equal(_) | ColumnTest::NullSafeEqual(_) | ColumnTest::IsNull => true,
            ColumnTest::Elements(test) => test.is_single(),
            _ => false,
        }
    }

    /// A list of values, each of which can be followed by tests of later columns.
    pub fn is_list(&self) -> bool {
        self.is_single() || matches!(self, ColumnTest::AnyOf(_) | ColumnTest::Elements(_))
    }

    /// How many values it lets through, as far as is known: those of a list, or one.
    pub fn alternatives(&self) -> usize {
        match self {
            ColumnTest::Elements(test) => test.count,
            test => test.operands().len().max(1),
        }
    }

    /// The values that have to be computed before the index is read.
    pub fn operands(&self) -> Vec<&Expr> {
        match self {
            ColumnTest::Equal(operand) | ColumnTest::NullSafeEqual(operand) => vec![operand],
            ColumnTest::IsNull | ColumnTest::StartsWith(_) => Vec::new(),
            ColumnTest::AnyOf(operands) => operands.iter().collect(),
            ColumnTest::Elements(test) => vec![&test.operand],
            ColumnTest::Range(interval) => interval.operands().collect(),
            ColumnTest::Intervals(intervals) => intervals.iter().flat_map(Interval::operands).collect(),
        }
    }
}

/// Whether a slot has its value before the table is read.
pub type IsBound<'a> = dyn Fn(usize) -> bool + 'a;

/// What `condition` says about a column of the table whose columns are the slots `slots`, if it can be a range of an index.
pub fn column_condition(condition: &Expr, slots: &Range<usize>, bound: &IsBound<'_>) -> Option<ColumnCondition> {
    match &condition.kind {
        ExprKind::Compare(compare) => {
            let (column, op, operand) = match (own_column(&compare.left, slots), own_column(&compare.right, slots)) {
                (Some(column), None) => (column, compare.op, &compare.right),
                (None, Some(column)) => (column, compare.op.flipped(), &compare.left),
                _ => return None,
            };
            let side = if own_column(&compare.left, slots).is_some() {
                &compare.left
            } else {
                &compare.right
            };
            if !is_known(operand, bound) || !compare.how.keeps_order_of(&side.ty) {
                return None;
            }
            Some(ColumnCondition {
                column,
                test: comparison_test(op, operand)?,
            })
        }
        ExprKind::Between(between) if !between.negated => {
            let column = own_column(&between.operand, slots)?;
            let ty = &between.operand.ty;
            let usable = is_known(&between.low, bound)
                && is_known(&between.high, bound)
                && between.low_how.keeps_order_of(ty)
                && between.high_how.keeps_order_of(ty);
            let bound = |operand: &Expr| {
                Some(Bound {
                    operand: operand.clone(),
                    inclusive: true,
                })
            };
            usable.then(|| ColumnCondition {
                column,
                test: ColumnTest::Range(Interval {
                    lower: bound(&between.low),
                    upper: bound(&between.high),
                }),
            })
        }
        ExprKind::In(list) if !list.negated => {
            let column = own_column(&list.operand, slots)?;
            let ty = &list.operand.ty;
            let operands = match &list.list {
                InItems::Sorted { how, values, .. } if how.keeps_order_of(ty) => values
                    .iter()
                    .inspect(|_| governor::pause())
                    .map(|value| Expr::literal(value.clone(), type_of(value, ty)))
                    .collect(),
                InItems::Each(items)
                    if items
                        .iter()
                        .all(|(how, item)| how.keeps_order_of(ty) && is_known(item, bound)) =>
                {
                    items.iter().map(|(_, item)| item.clone()).collect()
                }
                _ => return None,
            };
            Some(ColumnCondition {
                column,
                test: ColumnTest::AnyOf(operands),
            })
        }
        ExprKind::Is {
            operand,
            test: parser::ast::IsTest::Null,
            negated,
        } => {
            let column = own_column(operand, slots)?;
            let test = if *negated {
                ColumnTest::Range(Interval::default())
            } else {
                ColumnTest::IsNull
            };
            Some(ColumnCondition { column, test })
        }
        ExprKind::Like(like) if !like.negated => {
            let column = own_column(&like.operand, slots)?;
            if like.collation != like.operand.ty.collation {
                return None;
            }
            let prefix = literal_prefix(like.pattern.as_literal()?, like.escape.known()?)?;
            Some(ColumnCondition {
                column,
                test: ColumnTest::StartsWith(prefix),
            })
        }
        ExprKind::Or(alternatives) => any_of(alternatives, slots, bound),
        _ => None,
    }
}

/// The type of a constant beside a column: with the digits that the constant has, which may be more than the column's.
fn type_of(value: &Value, column: &SqlType) -> SqlType {
    match value {
        Value::Decimal(number) => SqlType::decimal(number.precision().max(1), number.scale()).not_null(),
        Value::DateTime(moment) => SqlType::datetime(moment.fsp).not_null(),
        Value::Time(time) => SqlType::time(time.fsp).not_null(),
        _ => column.clone(),
    }
}

fn comparison_test(op: CompareOp, operand: &Expr) -> Option<ColumnTest> {
    let bound = |inclusive| {
        Some(Bound {
            operand: operand.clone(),
            inclusive,
        })
    };
    let interval = match op {
        CompareOp::Eq => return Some(ColumnTest::Equal(operand.clone())),
        CompareOp::NullSafeEq => return Some(ColumnTest::NullSafeEqual(operand.clone())),
        CompareOp::Lt => Interval {
            lower: None,
            upper: bound(false),
        },
        CompareOp::Le => Interval {
            lower: None,
            upper: bound(true),
        },
        CompareOp::Gt => Interval {
            lower: bound(false),
            upper: None,
        },
        CompareOp::Ge => Interval {
            lower: bound(true),
            upper: None,
        },
        CompareOp::Ne => return None,
    };
    Some(ColumnTest::Range(interval))
}

/// `OR` of tests of one column: all equalities, or all intervals.
fn any_of(alternatives: &[Expr], slots: &Range<usize>, bound: &IsBound<'_>) -> Option<ColumnCondition> {
    let mut column = None;
    let mut intervals = Vec::with_capacity(alternatives.len());
    let mut equals = Vec::new();
    for alternative in alternatives {
        governor::pause();
        let condition = match &alternative.kind {
            // `c >= 1 AND c <= 5` within an OR.
            ExprKind::And(parts) => both(parts, slots, bound)?,
            _ => column_condition(alternative, slots, bound)?,
        };
        if *column.get_or_insert(condition.column) != condition.column {
            return None;
        }
        match condition.test {
            ColumnTest::Range(interval) => intervals.push(interval),
            ColumnTest::Intervals(more) => intervals.extend(more),
            ColumnTest::Equal(operand) => equals.push(operand),
            ColumnTest::AnyOf(operands) => equals.extend(operands),
            _ => return None,
        }
    }
    let test = if intervals.is_empty() {
        ColumnTest::AnyOf(equals)
    } else {
        let point = |operand: Expr| {
            let bound = Bound {
                operand,
                inclusive: true,
            };
            Interval {
                lower: Some(bound.clone()),
                upper: Some(bound),
            }
        };
        intervals.extend(equals.into_iter().map(point));
        ColumnTest::Intervals(intervals)
    };
    Some(ColumnCondition { column: column?, test })
}

/// `AND` of two ranges of one column, as one.
fn both(parts: &[Expr], slots: &Range<usize>, bound: &IsBound<'_>) -> Option<ColumnCondition> {
    let mut merged: Option<ColumnCondition> = None;
    for part in parts {
        let condition = column_condition(part, slots, bound)?;
        merged = Some(match merged {
            None => condition,
            Some(before) if before.column == condition.column => ColumnCondition {
                column: before.column,
                test: intersect(before.test, condition.test)?,
            },
            Some(_) => return None,
        });
    }
    merged
}

/// Two tests of one column that both hold, where one test can say it.
pub fn intersect(a: ColumnTest, b: ColumnTest) -> Option<ColumnTest> {
    match (a, b) {
        (ColumnTest::Range(a), ColumnTest::Range(b)) => {
            let lower = one_of(a.lower, b.lower)?;
            let upper = one_of(a.upper, b.upper)?;
            Some(ColumnTest::Range(Interval { lower, upper }))
        }
        _ => None,
    }
}

/// The only bound of two; nothing where there are two, since their order is not known yet.
fn one_of(a: Option<Bound>, b: Option<Bound>) -> Option<Option<Bound>> {
    match (a, b) {
        (Some(_), Some(_)) => None,
        (bound, None) | (None, bound) => Some(bound),
    }
}

/// The position in the table of a plain column of it.
fn own_column(expr: &Expr, slots: &Range<usize>) -> Option<usize> {
    expr.as_column()
        .filter(|slot| slots.contains(slot))
        .map(|slot| slot - slots.start)
}

/// Whether an operand has its value before the table is read: it names only columns of tables read before, and gives the
/// same value each time.
pub(super) fn is_known(operand: &Expr, bound: &IsBound<'_>) -> bool {
    !operand.is_volatile()
        && !operand.has_correlated_subquery()
        && operand.referenced_columns().iter().all(|slot| bound(*slot))
}

/// The text before the first wildcard of a LIKE pattern; nothing where there is none.
fn literal_prefix(pattern: &Value, escape: Option<char>) -> Option<Value> {
    let Value::Str(pattern) = pattern else { return None };
    let mut prefix = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' | '_' => break,
            c if Some(c) == escape => prefix.push(chars.next().unwrap_or(c)),
            c => prefix.push(c),
        }
    }
    (!prefix.is_empty()).then(|| Value::str(&prefix))
}
