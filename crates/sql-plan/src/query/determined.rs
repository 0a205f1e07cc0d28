//! What the one row of a correlated aggregate depends on: for rows around that have the same values there, it is computed once.

use std::collections::BTreeSet;

use sql_expr::{Expr, ExprKind, SubqueryKind};
use types::TypeKind;

use super::from::FromTree;
use super::lookup::{Made, is_readable_ahead};
use super::scope::QueryScope;

/// Keys of more columns are hardly ever met again.
const COLUMNS_MAX: usize = 8;

/// The columns of the rows around that decide the row of an aggregate without groups; `None` where something else does, too.
pub fn determined_by<'e>(
    scope: &QueryScope<'_, '_, '_>,
    tree: &FromTree,
    conditions: impl Iterator<Item = &'e Expr>,
    has_locks: bool,
    made: &Made<'_>,
) -> Option<Vec<Expr>> {
    let gives_one_row = made
        .grouping
        .is_some_and(|grouping| grouping.keys.is_empty() && grouping.rollup.is_none());
    let may_be = scope.correlated()
        && gives_one_row
        && !has_locks
        && !made.has_windows
        && !made.leaves_out
        && scope.tables.iter().all(is_readable_ahead);
    if !may_be {
        return None;
    }
    let mut read = Read::default();
    made.for_each_expr(tree, conditions, &mut |expr| read.add(expr));
    (read.is_known && read.columns.len() <= COLUMNS_MAX).then_some(read.columns)
}

struct Read {
    is_known: bool,
    places: BTreeSet<(usize, usize)>,
    columns: Vec<Expr>,
}

impl Default for Read {
    fn default() -> Read {
        Read {
            is_known: true,
            places: BTreeSet::new(),
            columns: Vec::new(),
        }
    }
}

impl Read {
    fn add(&mut self, expr: &Expr) {
        if !self.is_known {
            return;
        }
        self.is_known = !expr.is_volatile();
        expr.walk(&mut |part| match &part.kind {
            ExprKind::Outer { depth, column } => {
                self.is_known &= is_told_by_bytes(part.ty.kind);
                if self.places.insert((*depth, column.slot)) {
                    self.columns.push(part.clone());
                }
            }
            // What it reads is not known here; and a function may do anything.
            ExprKind::Subquery(node) => {
                let is_function = matches!(node.kind, SubqueryKind::Function { .. });
                self.is_known &= !is_function && !node.query.is_correlated();
            }
            _ => {}
        });
    }
}

/// Whether two values of such a column are the same to all that is computed of them, if their keys under the binary collation are.
fn is_told_by_bytes(kind: TypeKind) -> bool {
    kind.is_integer() || kind.is_text() || kind.is_binary() || kind.is_temporal() || kind == TypeKind::Decimal
}
