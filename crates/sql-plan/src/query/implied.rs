//! What an OR of conditions on several tables says of each table alone: `a.x = 1 AND b.y = 1 OR a.x = 2 AND b.y = 2` is never true
//! of a row of `a` that has neither `x = 1` nor `x = 2`. So fewer rows of each are read and joined.

use std::ops::Range;

use sql_expr::{Expr, ExprKind};

/// An OR of more operands is left alone: what it implies would be checked beside it, and not spare much.
const OPERANDS_MAX: usize = 64;

/// Adds what the ORs among the conditions imply of each table, by the slots of its columns.
pub fn add_implied(conditions: &mut Vec<Expr>, tables: &[Range<usize>]) {
    let mut implied = Vec::new();
    for condition in conditions.iter() {
        governor::pause();
        let ExprKind::Or(operands) = &condition.kind else {
            continue;
        };
        let is_plain = operands.len() <= OPERANDS_MAX && !condition.is_volatile() && !condition.has_subquery();
        if !is_plain {
            continue;
        }
        let read = condition.referenced_columns();
        for slots in tables {
            let is_of_table = |slot: &usize| slots.contains(slot);
            if read.iter().any(is_of_table) && !read.iter().all(is_of_table) {
                implied.extend(of_table(operands, slots, condition.ty.nullable));
            }
        }
    }
    conditions.append(&mut implied);
}

/// The OR of what each operand says of the table alone; None where one says nothing.
fn of_table(operands: &[Expr], slots: &Range<usize>, nullable: bool) -> Option<Expr> {
    let is_of_table = |part: &&Expr| {
        let columns = part.referenced_columns();
        !columns.is_empty() && columns.iter().all(|slot| slots.contains(slot))
    };
    let mut alternatives = Vec::with_capacity(operands.len());
    for operand in operands {
        governor::pause();
        let parts = match &operand.kind {
            ExprKind::And(parts) => parts.as_slice(),
            _ => std::slice::from_ref(operand),
        };
        let own: Vec<Expr> = parts.iter().filter(is_of_table).cloned().collect();
        if own.is_empty() {
            return None;
        }
        alternatives.push(Expr::conjunction(own));
    }
    Some(Expr::boolean(ExprKind::Or(alternatives), nullable))
}
