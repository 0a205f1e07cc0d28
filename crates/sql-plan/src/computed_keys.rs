//! Indexes over what is computed: conditions and orders that name the expression of a generated column, read the column, and so find its
//! index. MySQL manual, "Functional Key Parts" and "Optimizer Use of Generated Column Indexes".

use std::sync::Arc;

use parser::ast;
use sql_expr::scope::{unknown_column, unknown_without_tables};
use sql_expr::{Binder, Clause, Expr, ExprKind, Resolved, Scope};
use types::{SqlResult, SqlType, TypeKind};

use crate::access::ArrayKeys;
use crate::planner::Planner;
use crate::table::Table;

/// What a table keeps the values of, in a column that leads somewhere in an index.
#[derive(Debug)]
pub struct ComputedKeys {
    /// The slot of the table's first column.
    offset: usize,
    keys: Vec<ComputedKey>,
    /// Those of multi-valued indexes; their documents keep their places.
    pub arrays: ArrayKeys,
    /// The columns that have taken an expression's place.
    pub used: Vec<usize>,
}

#[derive(Debug)]
struct ComputedKey {
    column: usize,
    /// Over the table's columns from slot 0 on.
    expr: Expr,
    ty: SqlType,
    /// What EXPLAIN shows for a column that has no name.
    shown: Option<Arc<str>>,
}

impl ComputedKeys {
    pub fn new(planner: &Planner<'_>, table: &Arc<Table>, offset: usize) -> SqlResult<ComputedKeys> {
        let (mut keys, mut arrays) = (Vec::new(), ArrayKeys::default());
        for (column, definition) in table.def.columns.iter().enumerate() {
            let Some(generated) = &definition.generated else {
                continue;
            };
            let is_part = |index: &catalog::IndexDef| {
                let is_usable = index.is_ordered() || index.is_multi_valued();
                index.visible && is_usable && index.parts.iter().any(|part| part.column == column)
            };
            if !table.def.indexes.iter().any(is_part) {
                continue;
            }
            let tree = parser::parse_expr(generated.expression.as_bytes(), parser::SqlMode::default())
                .map_err(|error| crate::errors::parse_error(&error))?;
            let mut scope = KeyScope { table };
            // What the session makes of it now may be an error, or another expression than the one that was stored.
            let bound = planner
                .ctx
                .statement
                .quietly(|| Binder::new(&mut scope, planner.ctx, planner.options()).bind_generated(&tree));
            governor::check()?;
            let Ok(expr) = bound else { continue };
            // What a moment is called depends on the session's time zone.
            let names_moment = |part: &Expr| part.as_column().is_some() && part.ty.kind == TypeKind::Timestamp;
            if expr.any(&mut |part| names_moment(part)) {
                continue;
            }
            if let ExprKind::Cast(cast) = &expr.kind
                && let Some(element) = &cast.elements
            {
                arrays.add(column, cast.operand.clone(), element.clone());
                continue;
            }
            if definition.hidden || keeps_all(&expr.ty, &definition.ty) {
                keys.push(ComputedKey {
                    column,
                    shown: definition.hidden.then(|| generated.expression.as_str().into()),
                    ty: definition.ty.clone(),
                    expr,
                });
            }
        }
        Ok(ComputedKeys {
            offset,
            keys,
            arrays,
            used: Vec::new(),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Puts columns into the operands of conditions that an index may answer.
    pub fn replace_in_condition(&mut self, condition: &mut Expr) {
        governor::pause();
        if self.is_empty() {
            return;
        }
        match &mut condition.kind {
            ExprKind::And(operands) | ExprKind::Or(operands) => {
                operands
                    .iter_mut()
                    .for_each(|operand| self.replace_in_condition(operand));
            }
            ExprKind::Compare(compare) => {
                self.replace(&mut compare.left);
                self.replace(&mut compare.right);
            }
            ExprKind::Between(between) => self.replace(&mut between.operand),
            ExprKind::In(test) => self.replace(&mut test.operand),
            ExprKind::Like(like) => self.replace(&mut like.operand),
            ExprKind::Is { operand, .. } => self.replace(operand),
            _ => {}
        }
    }

    /// Puts a column in the place of its expression.
    pub fn replace(&mut self, expr: &mut Expr) {
        if expr.as_column().is_some() || expr.as_literal().is_some() {
            return;
        }
        let is_of = |key: &&ComputedKey| expr.is_same(&key.expr, self.offset);
        let Some(key) = self.keys.iter().find(is_of) else {
            return;
        };
        let name: Arc<str> = match &key.shown {
            Some(shown) => shown.clone(),
            None => expr.to_string().into(),
        };
        *expr = Expr {
            coercibility: expr.coercibility,
            ..Expr::column(self.offset + key.column, name, key.ty.clone())
        };
        if !self.used.contains(&key.column) {
            self.used.push(key.column);
        }
    }
}

/// Whether every value of the expression's type is the column's value as it is.
fn keeps_all(expr: &SqlType, column: &SqlType) -> bool {
    let of = |ty: &SqlType| (ty.kind, ty.unsigned, ty.collation, ty.decimals);
    let is_text = expr.kind.is_text() && column.kind.is_text() && expr.collation == column.collation;
    let is_integer = expr.kind.is_integer() && column.kind == TypeKind::BigInt && expr.unsigned == column.unsigned;
    let is_longer = column.length >= expr.length;
    (of(expr) == of(column) && is_longer) || (is_text && is_longer && column.kind != TypeKind::Char) || is_integer
}

/// The columns of the table alone, which nobody is asked for: the statement that names them has been.
struct KeyScope<'a> {
    table: &'a Arc<Table>,
}

impl Scope for KeyScope<'_> {
    fn resolve(&mut self, name: &ast::ColumnName) -> SqlResult<Resolved> {
        if name.table.is_some() {
            return Err(unknown_without_tables(name, Clause::FieldList));
        }
        let column = self.table.def.column(&name.name);
        let slot = column.ok_or_else(|| unknown_column(name, Clause::FieldList))?;
        let definition = &self.table.def.columns[slot];
        Ok(Resolved::Column {
            slot,
            name: definition.name.as_str().into(),
            ty: definition.ty.clone(),
        })
    }
}
