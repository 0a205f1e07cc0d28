//! Whether two expressions compute the same: a condition and what an index keeps.

use types::SqlType;

use super::{Escape, Expr, ExprKind, InItems};

impl Expr {
    /// Whether it gives what `other` gives of every row, the columns of `other` being those from slot `offset` on here. Not where that
    /// depends on more than the row.
    pub fn is_same(&self, other: &Expr, offset: usize) -> bool {
        governor::pause();
        if !is_same_type(&self.ty, &other.ty) || !has_same_head(&self.kind, &other.kind, offset) {
            return false;
        }
        let (mut own, mut others) = (Vec::new(), Vec::new());
        self.for_each_child(&mut |child| own.push(child));
        other.for_each_child(&mut |child| others.push(child));
        own.len() == others.len() && own.iter().zip(others).all(|(own, other)| own.is_same(other, offset))
    }
}

fn is_same_type(a: &SqlType, b: &SqlType) -> bool {
    let of = |ty: &SqlType| (ty.kind, ty.unsigned, ty.collation, ty.decimals, ty.length);
    of(a) == of(b)
}

/// Whether the operators are the same; their operands are not looked at.
fn has_same_head(a: &ExprKind, b: &ExprKind, offset: usize) -> bool {
    use ExprKind::{
        And, Arithmetic, Between, BitNot, Bitwise, Call, Case, Cast, Collate, Column, Compare, HexLiteral, In, Is,
        Like, Literal, Negate, Not, Or, Row, Xor,
    };
    match (a, b) {
        (Literal(a), Literal(b)) | (HexLiteral(a), HexLiteral(b)) => a == b,
        (Column(a), Column(b)) => a.slot == b.slot + offset && !a.computed,
        (And(_), And(_))
        | (Or(_), Or(_))
        | (Xor(_), Xor(_))
        | (Not(_), Not(_))
        | (BitNot(_), BitNot(_))
        | (Collate(_), Collate(_))
        | (Row(_), Row(_)) => true,
        (
            Is { test, negated, .. },
            Is {
                test: other,
                negated: other_negated,
                ..
            },
        ) => test == other && negated == other_negated,
        (Compare(a), Compare(b)) => a.op == b.op && a.how == b.how,
        (Between(a), Between(b)) => a.negated == b.negated && a.low_how == b.low_how && a.high_how == b.high_how,
        (In(a), In(b)) => {
            a.negated == b.negated
                && match (&a.list, &b.list) {
                    (
                        InItems::Sorted { how, values, has_null },
                        InItems::Sorted {
                            how: other_how,
                            values: other_values,
                            has_null: other_null,
                        },
                    ) => how == other_how && values == other_values && has_null == other_null,
                    (InItems::Each(a), InItems::Each(b)) => {
                        a.len() == b.len() && a.iter().zip(b).all(|((a, _), (b, _))| a == b)
                    }
                    _ => false,
                }
        }
        (Like(a), Like(b)) => {
            let is_same_escape = match (&a.escape, &b.escape) {
                (Escape::Char(a), Escape::Char(b)) => a == b,
                _ => false,
            };
            a.negated == b.negated && a.collation == b.collation && is_same_escape
        }
        (Arithmetic(a), Arithmetic(b)) => a.op == b.op && a.domain == b.domain,
        (Bitwise(a), Bitwise(b)) => a.op == b.op,
        (Negate { domain: a, .. }, Negate { domain: b, .. }) => a == b,
        (Case(a), Case(b)) => {
            a.operand.is_some() == b.operand.is_some()
                && a.whens.len() == b.whens.len()
                && a.whens.iter().zip(&b.whens).all(|(a, b)| a.how == b.how)
        }
        (Cast(a), Cast(b)) => a.length == b.length && a.elements == b.elements,
        (Call(a), Call(b)) => {
            a.function.name == b.function.name && a.function.stability == super::functions::Stability::Immutable
        }
        _ => false,
    }
}
