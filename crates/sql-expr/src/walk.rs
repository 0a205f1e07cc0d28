//! Looking through expressions, taking them apart, rewriting them.

use std::collections::{BTreeSet, HashSet};
use std::mem;

use types::Value;

use super::compare::CompareOp;
use super::functions::Stability;
use super::{Escape, Expr, ExprKind, InItems, SubqueryKind};

impl ExprKind {
    /// Whether the operation itself always gives the same for the same operands, whatever row, session or moment.
    pub(super) fn is_pure(&self) -> bool {
        match self {
            ExprKind::Literal(_)
            | ExprKind::HexLiteral(_)
            | ExprKind::Row(_)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Xor(_)
            | ExprKind::Not(_)
            | ExprKind::Is { .. }
            | ExprKind::Compare(_)
            | ExprKind::Between(_)
            | ExprKind::In(_)
            | ExprKind::Like(_)
            | ExprKind::Arithmetic(_)
            | ExprKind::Bitwise(_)
            | ExprKind::Negate { .. }
            | ExprKind::BitNot(_)
            | ExprKind::Case(_)
            | ExprKind::Collate(_) => true,
            // A time becomes a date by the current day.
            ExprKind::Cast(cast) => cast.operand.ty.kind != types::TypeKind::Time,
            ExprKind::Call(call) => call.function.stability == Stability::Immutable,
            ExprKind::Column(_)
            | ExprKind::Outer { .. }
            | ExprKind::Param(_)
            | ExprKind::NoDefault(_)
            | ExprKind::UserVariable { .. }
            | ExprKind::AssignUserVariable { .. }
            | ExprKind::SystemVariable { .. }
            | ExprKind::Aggregate(_)
            | ExprKind::Window(_)
            | ExprKind::Subquery(_) => false,
        }
    }
}

impl Expr {
    /// The operands, left to right. Not into subqueries, but to the operand beside one. Gives way: a client makes it as large as it likes.
    pub fn for_each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        governor::pause();
        match &self.kind {
            ExprKind::Literal(_)
            | ExprKind::HexLiteral(_)
            | ExprKind::Column(_)
            | ExprKind::Outer { .. }
            | ExprKind::Param(_)
            | ExprKind::NoDefault(_)
            | ExprKind::UserVariable { .. }
            | ExprKind::SystemVariable { .. }
            | ExprKind::Aggregate(_)
            | ExprKind::Window(_) => {}
            ExprKind::Row(items) | ExprKind::And(items) | ExprKind::Or(items) => items.iter().for_each(visit),
            ExprKind::Xor(pair) => pair.iter().for_each(visit),
            ExprKind::Not(operand)
            | ExprKind::BitNot(operand)
            | ExprKind::Collate(operand)
            | ExprKind::Is { operand, .. }
            | ExprKind::Negate { operand, .. }
            | ExprKind::AssignUserVariable { value: operand, .. } => visit(operand),
            ExprKind::Compare(node) => [&node.left, &node.right].into_iter().for_each(visit),
            ExprKind::Between(node) => [&node.operand, &node.low, &node.high].into_iter().for_each(visit),
            ExprKind::In(node) => {
                visit(&node.operand);
                if let InItems::Each(items) = &node.list {
                    items.iter().for_each(|(_, item)| visit(item));
                }
            }
            ExprKind::Like(node) => {
                [&node.operand, &node.pattern].into_iter().for_each(&mut *visit);
                if let Escape::Computed(constant) = &node.escape {
                    visit(constant);
                }
            }
            ExprKind::Arithmetic(node) => [&node.left, &node.right].into_iter().for_each(visit),
            ExprKind::Bitwise(node) => [&node.left, &node.right].into_iter().for_each(visit),
            ExprKind::Case(node) => {
                node.operand.iter().for_each(&mut *visit);
                for when in &node.whens {
                    visit(&when.condition);
                    visit(&when.result);
                }
                node.otherwise.iter().for_each(visit);
            }
            ExprKind::Cast(node) => visit(&node.operand),
            ExprKind::Call(node) => node.args.iter().for_each(visit),
            ExprKind::Subquery(node) => match &node.kind {
                SubqueryKind::In { operand, .. } | SubqueryKind::Quantified { operand, .. } => visit(operand),
                SubqueryKind::Function { args, .. } => args.iter().for_each(visit),
                SubqueryKind::Scalar | SubqueryKind::Exists => {}
            },
        }
    }

    /// As [`for_each_child`](Self::for_each_child), to change them.
    pub fn for_each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        governor::pause();
        match &mut self.kind {
            ExprKind::Literal(_)
            | ExprKind::HexLiteral(_)
            | ExprKind::Column(_)
            | ExprKind::Outer { .. }
            | ExprKind::Param(_)
            | ExprKind::NoDefault(_)
            | ExprKind::UserVariable { .. }
            | ExprKind::SystemVariable { .. }
            | ExprKind::Aggregate(_)
            | ExprKind::Window(_) => {}
            ExprKind::Row(items) | ExprKind::And(items) | ExprKind::Or(items) => items.iter_mut().for_each(visit),
            ExprKind::Xor(pair) => pair.iter_mut().for_each(visit),
            ExprKind::Not(operand)
            | ExprKind::BitNot(operand)
            | ExprKind::Collate(operand)
            | ExprKind::Is { operand, .. }
            | ExprKind::Negate { operand, .. }
            | ExprKind::AssignUserVariable { value: operand, .. } => visit(operand),
            ExprKind::Compare(node) => [&mut node.left, &mut node.right].into_iter().for_each(visit),
            ExprKind::Between(node) => {
                [&mut node.operand, &mut node.low, &mut node.high]
                    .into_iter()
                    .for_each(visit);
            }
            ExprKind::In(node) => {
                visit(&mut node.operand);
                if let InItems::Each(items) = &mut node.list {
                    items.iter_mut().for_each(|(_, item)| visit(item));
                }
            }
            ExprKind::Like(node) => {
                [&mut node.operand, &mut node.pattern].into_iter().for_each(&mut *visit);
                if let Escape::Computed(constant) = &mut node.escape {
                    visit(constant);
                }
            }
            ExprKind::Arithmetic(node) => [&mut node.left, &mut node.right].into_iter().for_each(visit),
            ExprKind::Bitwise(node) => [&mut node.left, &mut node.right].into_iter().for_each(visit),
            ExprKind::Case(node) => {
                node.operand.iter_mut().for_each(&mut *visit);
                for when in &mut node.whens {
                    visit(&mut when.condition);
                    visit(&mut when.result);
                }
                node.otherwise.iter_mut().for_each(visit);
            }
            ExprKind::Cast(node) => visit(&mut node.operand),
            ExprKind::Call(node) => node.args.iter_mut().for_each(visit),
            ExprKind::Subquery(node) => match &mut node.kind {
                SubqueryKind::In { operand, .. } | SubqueryKind::Quantified { operand, .. } => visit(operand),
                SubqueryKind::Function { args, .. } => args.iter_mut().for_each(visit),
                SubqueryKind::Scalar | SubqueryKind::Exists => {}
            },
        }
    }

    /// Whether at most `nodes` expressions, no more than `depth` in each other, make it; takes them off.
    pub fn fits(&self, nodes: &mut usize, depth: usize) -> bool {
        if *nodes == 0 || depth == 0 {
            return false;
        }
        *nodes -= 1;
        let mut fits = true;
        self.for_each_child(&mut |child| fits = fits && child.fits(nodes, depth - 1));
        fits
    }

    /// This expression and everything below it, parents first.
    pub fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        self.for_each_child(&mut |child| child.walk(visit));
    }

    /// Whether it or something below it is such.
    pub fn any(&self, is_such: &mut dyn FnMut(&Expr) -> bool) -> bool {
        if is_such(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any(is_such));
        found
    }

    /// Slots of the row are counted from `first` on.
    pub fn shift_columns(&mut self, first: usize) {
        self.transform(&mut |part| {
            if let ExprKind::Column(column) = &mut part.kind {
                column.slot -= first;
            }
        });
    }

    /// Changes it and everything below it, children first.
    pub fn transform(&mut self, change: &mut dyn FnMut(&mut Expr)) {
        self.for_each_child_mut(&mut |child| child.transform(change));
        change(self);
    }

    /// The same expression over a row with other slots: `slot(old)` is the new place of each column.
    pub fn with_slots(mut self, slot: &dyn Fn(usize) -> usize) -> Expr {
        self.transform(&mut |expr| {
            if let ExprKind::Column(column) = &mut expr.kind {
                column.slot = slot(column.slot);
            }
        });
        self
    }

    /// The slots of the input row that it reads. A correlated subquery reads slots that are not among these.
    pub fn referenced_columns(&self) -> BTreeSet<usize> {
        let mut slots = BTreeSet::new();
        self.walk(&mut |expr| slots.extend(expr.as_column()));
        slots
    }

    /// The same for a query just below, whose outer row is this one's.
    pub fn seen_from_below(mut self) -> Expr {
        self.transform(&mut |expr| {
            let kind = std::mem::replace(&mut expr.kind, ExprKind::Literal(Value::Null));
            expr.kind = match kind {
                ExprKind::Column(column) => ExprKind::Outer { depth: 1, column },
                ExprKind::Outer { depth, column } => ExprKind::Outer {
                    depth: depth + 1,
                    column,
                },
                other => other,
            };
        });
        self
    }

    /// The same for the query that is `levels` queries above, whose row this one's outer row is.
    pub fn seen_from_above(&mut self, levels: usize) {
        self.transform(&mut |expr| {
            let kind = std::mem::replace(&mut expr.kind, ExprKind::Literal(Value::Null));
            expr.kind = match kind {
                ExprKind::Outer { depth, column } if depth == levels => ExprKind::Column(column),
                ExprKind::Outer { depth, column } => ExprKind::Outer {
                    depth: depth - levels,
                    column,
                },
                other => other,
            };
        });
    }

    /// How many queries above its own the nearest row is that it reads; `None` where it reads its own row, or none.
    pub fn nearest_outer(&self) -> Option<usize> {
        let mut nearest = Some(usize::MAX);
        self.walk(&mut |expr| match expr.kind {
            ExprKind::Outer { depth, .. } => nearest = nearest.map(|nearest| nearest.min(depth)),
            ExprKind::Column(_) | ExprKind::Subquery(_) => nearest = None,
            _ => {}
        });
        nearest.filter(|nearest| *nearest < usize::MAX)
    }

    /// Whether an aggregate or a window function stands in it that has no slot yet.
    pub fn has_placeholder(&self) -> bool {
        self.any(&mut |expr| matches!(expr.kind, ExprKind::Aggregate(_) | ExprKind::Window(_)))
    }

    /// Whether it reads the row of a query around its own.
    pub fn reads_outer(&self) -> bool {
        self.any(&mut |expr| matches!(expr.kind, ExprKind::Outer { .. }))
    }

    /// Whether a subquery below it reads the row.
    pub fn has_correlated_subquery(&self) -> bool {
        self.any(&mut |expr| matches!(&expr.kind, ExprKind::Subquery(node) if node.query.is_correlated()))
    }

    pub fn has_subquery(&self) -> bool {
        self.any(&mut |expr| matches!(expr.kind, ExprKind::Subquery(_)))
    }

    /// Whether it has the same value for every row, so that computing it once per statement is enough.
    pub fn is_constant(&self) -> bool {
        !self.any(&mut |expr| match &expr.kind {
            ExprKind::Column(_) | ExprKind::Aggregate(_) | ExprKind::Window(_) => true,
            // The enclosing query's row is fixed while this one runs.
            ExprKind::Outer { .. } => false,
            ExprKind::Subquery(node) => node.query.is_correlated() || !node.query.is_deterministic(),
            _ => expr.is_volatile_itself(),
        })
    }

    /// Whether computing it twice may give two results, or does something beside computing.
    pub fn is_volatile(&self) -> bool {
        self.any(&mut |expr| match &expr.kind {
            ExprKind::Subquery(node) => !node.query.is_deterministic(),
            _ => expr.is_volatile_itself(),
        })
    }

    fn is_volatile_itself(&self) -> bool {
        match &self.kind {
            ExprKind::Call(call) => call.function.stability == Stability::Volatile,
            // Another expression of the statement may assign the variable.
            ExprKind::UserVariable { changes, .. } => *changes,
            ExprKind::AssignUserVariable { .. } => true,
            _ => false,
        }
    }

    /// Whether it is a pure function of its columns: what a generated column or a CHECK may be.
    pub fn is_immutable(&self) -> bool {
        !self.any(&mut |expr| !matches!(expr.kind, ExprKind::Column(_)) && !expr.kind.is_pure())
    }

    /// Whether it is a pure function of the statement's parameters.
    pub fn is_of_parameters(&self) -> bool {
        !self.any(&mut |expr| !matches!(expr.kind, ExprKind::Param(_)) && !expr.kind.is_pure())
    }

    pub fn has_aggregate(&self) -> bool {
        self.any(&mut |expr| matches!(expr.kind, ExprKind::Aggregate(_)))
    }

    pub fn has_window(&self) -> bool {
        self.any(&mut |expr| matches!(expr.kind, ExprKind::Window(_)))
    }

    /// The conditions that must all hold: the operands of AND, at any depth, and the joins that each operand of an OR asks for:
    /// `a = b AND x OR a = b AND y` is `a = b AND (x OR y)`.
    pub fn into_conjuncts(self) -> Vec<Expr> {
        let mut out = Vec::new();
        for condition in self.into_operands_of_and() {
            match condition.kind {
                ExprKind::Or(operands) if operands.len() > 1 => {
                    Expr::factored(operands, condition.ty.nullable, &mut out)
                }
                kind => out.push(Expr { kind, ..condition }),
            }
        }
        // Where nothing can be true, nothing is computed of a row.
        let is_never_true = |condition: &Expr| {
            governor::pause();
            matches!(condition.as_literal(), Some(Value::Int(0) | Value::Null))
        };
        if out.iter().any(is_never_true) {
            out.retain(Expr::is_constant);
        }
        out
    }

    /// What all operands of an OR have in common, and the OR of the rest.
    fn factored(operands: Vec<Expr>, nullable: bool, out: &mut Vec<Expr>) {
        let operands_of = |expr: &Expr| match &expr.kind {
            ExprKind::And(operands) => operands.iter().filter_map(Expr::as_equal_columns).collect(),
            _ => HashSet::from_iter(expr.as_equal_columns()),
        };
        let mut common: HashSet<(usize, usize)> = operands_of(&operands[0]);
        for operand in &operands[1..] {
            governor::pause();
            if common.is_empty() {
                break;
            }
            let others = operands_of(operand);
            common.retain(|columns| others.contains(columns));
        }
        if common.is_empty() || operands.iter().any(Expr::is_volatile) {
            return out.push(Expr::boolean(ExprKind::Or(operands), nullable));
        }
        let mut rest = Some(Vec::with_capacity(operands.len()));
        for (at, operand) in operands.into_iter().enumerate() {
            governor::pause();
            let is_common = |expr: &Expr| expr.as_equal_columns().is_some_and(|columns| common.contains(&columns));
            let parts = match operand.kind {
                ExprKind::And(parts) => parts,
                kind => vec![Expr { kind, ..operand }],
            };
            let (shared, own): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_common);
            if at == 0 {
                out.extend(shared);
            }
            // An operand that asks for nothing more makes the others superfluous.
            match &mut rest {
                Some(rest) if !own.is_empty() => rest.push(Expr::conjunction(own)),
                _ => rest = None,
            }
        }
        if let Some(rest) = rest {
            out.push(Expr::boolean(ExprKind::Or(rest), nullable));
        }
    }

    /// The slots of `column = column`. How two columns are compared follows from their types, so it is the same wherever it stands.
    fn as_equal_columns(&self) -> Option<(usize, usize)> {
        let ExprKind::Compare(compare) = &self.kind else {
            return None;
        };
        match (compare.op, compare.left.as_column(), compare.right.as_column()) {
            (CompareOp::Eq, Some(left), Some(right)) => Some((left, right)),
            _ => None,
        }
    }

    fn into_operands_of_and(self) -> Vec<Expr> {
        let mut out = Vec::new();
        let mut open = vec![self];
        while let Some(expr) = open.pop() {
            governor::pause();
            match expr.kind {
                ExprKind::And(operands) => open.extend(operands.into_iter().rev()),
                kind => out.push(Expr { kind, ..expr }),
            }
        }
        out
    }

    /// The conditions joined by AND; TRUE for none.
    pub fn conjunction(mut conditions: Vec<Expr>) -> Expr {
        match conditions.len() {
            0 => Expr::literal(Value::Int(1), types::SqlType::boolean().not_null()),
            1 => conditions.remove(0),
            _ => {
                let nullable = conditions.iter().any(|condition| condition.ty.nullable);
                Expr::boolean(ExprKind::And(conditions), nullable)
            }
        }
    }

    /// Takes it out, leaving NULL.
    pub fn take(&mut self) -> Expr {
        mem::replace(self, Expr::null())
    }
}
