//! Multi-valued indexes: what a condition says about the elements of an array.
//!
//! ```text
//!   WHERE JSON_OVERLAPS(doc->'$.z', '[1, 2]')        KEY ((CAST(doc->'$.z' AS UNSIGNED ARRAY)))
//!           └─ the document of that key ──┘            ──▶ the entries of 1 and of 2
//! ```
//!
//! An index finds the rows that may pass, and the condition is looked at once more: documents compare more strictly than elements do. It
//! finds all of them, since scalars that are equal as documents have one element. What no element can be made of is not looked for, and
//! what every array passes, such as JSON_CONTAINS(.., '[]'), is no question to an index.

use std::ops::Range;

use sql_expr::{EvalContext, Expr, ExprKind};
use types::elements::element;
use types::json::{Json, JsonRef, JsonView};
use types::{SqlResult, SqlType, TypeKind, Value};

use super::conditions::{ColumnCondition, ColumnTest, IsBound, is_known};

/// The arrays of a table that indexes have the elements of.
#[derive(Debug, Default)]
pub struct ArrayKeys(Vec<ArrayKey>);

#[derive(Debug)]
struct ArrayKey {
    /// The hidden one that has the arrays.
    column: usize,
    /// What they are made of, over the table's columns from slot 0 on.
    document: Expr,
    element: SqlType,
}

impl ArrayKeys {
    pub fn add(&mut self, column: usize, document: Expr, element: SqlType) {
        self.0.push(ArrayKey {
            column,
            document,
            element,
        });
    }

    /// What the condition says about arrays of the table whose columns are the slots `slots`, as far as their indexes can tell.
    pub fn conditions(
        &self,
        condition: &Expr,
        slots: &Range<usize>,
        bound: &IsBound<'_>,
        ctx: &EvalContext<'_>,
    ) -> Vec<ColumnCondition> {
        let ExprKind::Call(call) = &condition.kind else {
            return Vec::new();
        };
        let [first, second] = call.args.as_slice() else {
            return Vec::new();
        };
        let (how, sides) = match call.function.name {
            "MEMBER OF" => (Membership::Member, [Some((second, first)), None]),
            "JSON_CONTAINS" => (Membership::Contains, [Some((first, second)), None]),
            "JSON_OVERLAPS" => (Membership::Overlaps, [Some((first, second)), Some((second, first))]),
            _ => return Vec::new(),
        };
        let test = |key: &ArrayKey, document: &Expr, operand: &Expr| {
            // As in MySQL it is a constant of the statement.
            let is_constant = is_known(operand, bound) && operand.referenced_columns().is_empty();
            if !is_constant || !document.is_same(&key.document, slots.start) {
                return None;
            }
            let mut test = ElementTest {
                how,
                operand: operand.clone(),
                element: key.element.clone(),
                count: 1,
            };
            if operand.as_literal().is_some() {
                test.count = test.wanted(&[], ctx).ok()??.len().max(1);
            }
            Some(ColumnCondition {
                column: key.column,
                test: ColumnTest::Elements(test),
            })
        };
        let pairs = sides.into_iter().flatten();
        pairs
            .flat_map(|(document, operand)| self.0.iter().filter_map(move |key| test(key, document, operand)))
            .collect()
    }
}

/// A test of an array by its elements.
#[derive(Debug, Clone)]
pub struct ElementTest {
    how: Membership,
    pub operand: Expr,
    element: SqlType,
    /// How many elements are looked for, as far as is known.
    pub count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Membership {
    /// `operand MEMBER OF (document)`
    Member,
    /// `JSON_CONTAINS(document, operand)`
    Contains,
    /// `JSON_OVERLAPS(document, operand)`
    Overlaps,
}

impl ElementTest {
    /// Whether it is one element that is looked for.
    pub fn is_single(&self) -> bool {
        self.how == Membership::Member
    }

    /// As EXPLAIN tells it, of the array's expression and the operand.
    pub fn shown(&self, array: &str, operand: &str) -> String {
        match self.how {
            Membership::Member => format!("({operand} MEMBER OF ({array}))"),
            Membership::Contains => format!("json_contains({array},{operand})"),
            Membership::Overlaps => format!("json_overlaps({array},{operand})"),
        }
    }

    /// The elements of which a row that passes has one, different ones in no order. `None`: an index cannot tell.
    pub fn wanted(&self, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Option<Vec<Value>>> {
        let document = match self.operand.eval(row, ctx)? {
            // MEMBER OF takes text for a scalar, the others for a document.
            Value::Null => return Ok(None),
            Value::Json(document) => document,
            Value::Str(text) if self.how != Membership::Member => match Json::parse(&text) {
                Ok(document) => document,
                // The condition says so, of a row.
                Err(_) => return Ok(None),
            },
            value @ (Value::Int(_)
            | Value::UInt(_)
            | Value::Double(_)
            | Value::Decimal(_)
            | Value::Str(_)
            | Value::Date(_)
            | Value::Time(_)
            | Value::DateTime(_))
                if self.how == Membership::Member =>
            {
                Json::from_value(value.as_ref())
            }
            _ => return Ok(None),
        };
        governor::check()?;
        Ok(self.elements(document.as_ref()))
    }

    fn elements(&self, document: JsonRef<'_>) -> Option<Vec<Value>> {
        let mut wanted = Vec::new();
        match document.view() {
            JsonView::Array(_) if self.how == Membership::Member => return None,
            JsonView::Array(array) => {
                for scalar in array.iter() {
                    governor::pause();
                    wanted.push(self.key_of(scalar)?);
                }
            }
            _ => wanted.push(self.key_of(document)?),
        }
        if self.how == Membership::Contains {
            // A row that passes has all of them: one is as good as another to find it by.
            wanted.truncate(1);
        }
        (!wanted.is_empty()).then_some(wanted)
    }

    /// The element of a scalar, of a kind that such arrays are asked for.
    fn key_of(&self, scalar: JsonRef<'_>) -> Option<Value> {
        let is_asked_for = match scalar.view() {
            JsonView::Bool(_) | JsonView::Int(_) | JsonView::UInt(_) | JsonView::Double(_) | JsonView::Decimal(_) => {
                matches!(self.element.kind, TypeKind::BigInt | TypeKind::Decimal)
            }
            // A number's text would have its digits: 1.0 is not the text of 1.
            JsonView::Str(_) => !matches!(self.element.kind, TypeKind::BigInt | TypeKind::Decimal),
            JsonView::Date(_) | JsonView::Time(_) | JsonView::DateTime(_) => self.element.kind.is_temporal(),
            JsonView::Opaque(..) => self.element.kind.is_binary(),
            JsonView::Null | JsonView::Array(_) | JsonView::Object(_) => false,
        };
        match is_asked_for {
            true => element(scalar, &self.element).ok(),
            false => None,
        }
    }
}
