//! Aggregates in a subquery over columns of a query around it: they are that query's, computed over its groups.

use parser::ast;
use sql_expr::{AggregateCall, Clause, Expr, ExprKind};
use types::{ErrorKind, SqlResult};

use super::scope::QueryScope;

impl QueryScope<'_, '_, '_> {
    /// What stands for an aggregate that a query around this one computes: the outermost one that may, up to the nearest whose columns it
    /// reads. `None`: it is this query's.
    pub(super) fn aggregate_around(&mut self, call: &AggregateCall) -> SqlResult<Option<Expr>> {
        if self.aggregate_reads_item {
            return Ok(None);
        }
        let mut nearest: Option<usize> = None;
        let mut reads_others_only = true;
        call.for_each_expr(&mut |expr| match expr.nearest_outer() {
            Some(depth) => nearest = Some(nearest.map_or(depth, |nearest| nearest.min(depth))),
            None => reads_others_only &= expr.is_constant(),
        });
        match nearest.filter(|_| reads_others_only) {
            Some(levels) => self.pass_up(levels, levels, call),
            None => Ok(None),
        }
    }

    /// The same for one of a query below, which reads columns of the query `levels` above this one, or of this one. It was bound `depth`
    /// queries below that.
    pub(super) fn take_aggregate(
        &mut self,
        levels: usize,
        depth: usize,
        call: &AggregateCall,
    ) -> SqlResult<Option<Expr>> {
        if levels > 0
            && let Some(expr) = self.pass_up(levels, depth, call)?
        {
            return Ok(Some(expr));
        }
        let may_stand_here = matches!(self.clause, Clause::FieldList | Clause::Having | Clause::OrderBy);
        if !may_stand_here || self.aggregates.is_none() {
            return Ok(None);
        }
        if self.inside_aggregate {
            return Err(ErrorKind::InvalidGroupFuncUse.into());
        }
        let mut call = call.clone();
        call.for_each_expr_mut(&mut |expr| expr.seen_from_above(depth - levels));
        self.forget_read_below(&call);
        self.aggregate_here(call).map(Some)
    }

    /// The columns that an aggregate of this query reads are not read by the subquery that it stands in.
    fn forget_read_below(&mut self, call: &AggregateCall) {
        let Some(read) = &mut self.read_below else { return };
        call.for_each_expr(&mut |expr| {
            expr.any(&mut |part| {
                let slot = part.as_column();
                if let Some(at) = read
                    .iter()
                    .rposition(|column| slot.is_some() && column.as_column() == slot)
                {
                    read.remove(at);
                }
                false
            });
        });
    }

    fn pass_up(&mut self, levels: usize, depth: usize, call: &AggregateCall) -> SqlResult<Option<Expr>> {
        let Some(outer) = self.outer() else {
            return Ok(None);
        };
        let taken = outer.aggregate_from_below(levels - 1, depth, call)?;
        if taken.is_some() {
            self.mark_correlated();
        }
        Ok(taken.map(Expr::seen_from_below))
    }

    pub(super) fn names_item_beside(&self, name: &ast::ColumnName) -> bool {
        name.table.is_none() && self.beside.names.first(&name.name).is_some()
    }

    /// An aggregate of this query.
    pub(super) fn aggregate_here(&mut self, call: AggregateCall) -> SqlResult<Expr> {
        let base = self.width();
        let Some(aggregates) = &mut self.aggregates else {
            return Err(ErrorKind::InvalidGroupFuncUse.into());
        };
        let slot = base + aggregates.len();
        let mut expr = Expr::aggregated(slot, call.function.name(), call.ty.clone(), call.coercibility);
        if let ExprKind::Column(column) = &mut expr.kind {
            column.is_cached = !self.is_grouped && matches!(call.function.name(), "min" | "max");
        }
        aggregates.push(call);
        Ok(expr)
    }
}
