//! Running queries.
//!
//! Rows are pushed: each stage gives its rows to the next one, which may break off (LIMIT, EXISTS). Stages that have to see
//! everything first (grouping, sorting, window functions) hold their rows under the node's memory budget.
//!
//! * this file: whole queries, set operations, LIMIT; [`select`]: one SELECT; [`join`]: rows of the FROM clause, [`locking`]: those that are locked, [`lookup`]: those looked up for the row around a query,
//!   [`json_table`]: those out of documents;
//! * [`window`]: window functions; [`subquery`]: queries inside expressions, [`memo`]: their rows, kept;
//! * [`change`]: UPDATE and DELETE over several tables.

mod change;
mod join;
mod json_table;
mod locking;
mod lookup;
mod memo;
mod select;
mod subquery;
mod window;

use std::ops::{ControlFlow, Deref};

use governor::sort::sort_by;
use governor::stepwise::{Map, Set, Stepwise};
use parser::ast::SetOp;
use sql_api::result::{ResultSink, ServerStatus};
use sql_expr::context::UserVariable;
use sql_expr::sort::compare_keys;
use sql_expr::{EvalContext, Expr, OuterRow, Services};
use sql_plan::limit_value;
use sql_plan::query::{Body, QueryPlan, SetPlan};
use types::{SqlError, SqlResult, SqlType, TypeKind, Value};

use super::runtime::Runtime;
use crate::answer::Answer;

pub use change::change_tables;
pub use join::HashTable;
pub use locking::is_of_a_value;
pub use lookup::Found;
pub use memo::Memo;
use select::select_rows;
pub use subquery::KeptRows;

/// Rows that are kept: as many as the memory takes.
pub type Rows = Stepwise<Vec<Vec<Value>>>;

/// Takes rows; breaks off when it needs no more.
pub type Emit<'e> = dyn FnMut(&[Value]) -> SqlResult<ControlFlow<()>> + 'e;

/// The evaluation of a query's expressions, and what the query works with.
#[derive(Clone, Copy)]
pub struct QueryContext<'a> {
    eval: EvalContext<'a>,
    pub runtime: &'a Runtime<'a>,
}

impl<'a> QueryContext<'a> {
    pub fn new(runtime: &'a Runtime<'a>, eval: &EvalContext<'a>) -> QueryContext<'a> {
        QueryContext { eval: *eval, runtime }
    }

    /// The same below another outer row.
    pub fn with_outer<'b>(&'b self, outer: Option<&'b OuterRow<'b>>) -> QueryContext<'b> {
        let eval = EvalContext {
            statement: self.eval.statement,
            outer,
        };
        QueryContext {
            eval,
            runtime: self.runtime,
        }
    }
}

impl<'a> Deref for QueryContext<'a> {
    type Target = EvalContext<'a>;

    fn deref(&self) -> &EvalContext<'a> {
        &self.eval
    }
}

/// Runs the statement's query: rows to the client, or into variables.
pub fn run(
    plan: &QueryPlan,
    runtime: &Runtime<'_>,
    ctx: &EvalContext<'_>,
    sink: &mut dyn ResultSink,
    status: ServerStatus,
) -> SqlResult<Answer> {
    let ctx = &QueryContext::new(runtime, ctx);
    if !plan.into.is_empty() {
        return store_in_variables(plan, ctx);
    }
    let mut sent = 0;
    let mut started = false;
    let most = match plan.limit {
        Some(_) => u64::MAX,
        None => runtime.settings.select_limit,
    };
    let found = counted_rows(plan, ctx, &mut |row| {
        if sent == most {
            return Ok(ControlFlow::Break(()));
        }
        // An error before the first row is the whole answer.
        if !started {
            sink.columns(&plan.shape, status)?;
            started = true;
        }
        sink.row(row)?;
        sent += 1;
        if sink.is_full() {
            sink.flush(runtime.host)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if !started {
        sink.columns(&plan.shape, status)?;
    }
    Ok(Answer::Rows {
        found: match plan.count_all || plan.limit.is_some() {
            true => found,
            false => sent,
        },
    })
}

fn store_in_variables(plan: &QueryPlan, ctx: &QueryContext<'_>) -> SqlResult<Answer> {
    let mut found: Option<Vec<Value>> = None;
    query_rows(plan, ctx, &mut |row| {
        if found.is_some() {
            return Err(types::ErrorKind::TooManyRows.into());
        }
        found = Some(row.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    let services: &dyn Services = ctx.statement.services;
    match found {
        None => ctx.with_warnings(|warnings| warnings.warn(types::ErrorKind::SpFetchNoData.into())),
        Some(row) => {
            for ((name, value), column) in plan.into.iter().zip(row).zip(&plan.shape.columns) {
                services.set_user_variable(name, UserVariable::new(value, column.ty.clone()));
            }
            return Ok(Answer::affected(1));
        }
    }
    Ok(Answer::done())
}

/// The query's rows, its LIMIT applied.
pub fn query_rows(plan: &QueryPlan, ctx: &QueryContext<'_>, emit: &mut Emit<'_>) -> SqlResult<()> {
    counted_rows(plan, ctx, emit).map(|_| ())
}

/// The query's rows. Returns how many were found: those that OFFSET left out, too, and with SQL_CALC_FOUND_ROWS all there are.
fn counted_rows(plan: &QueryPlan, ctx: &QueryContext<'_>, emit: &mut Emit<'_>) -> SqlResult<u64> {
    for source in &plan.renewed {
        ctx.runtime.forget_rows(source);
    }
    let offset = plan.offset.as_ref().map_or(Ok(0), |offset| limit_value(offset, ctx))?;
    let limit = plan
        .limit
        .as_ref()
        .map_or(Ok(u64::MAX), |limit| limit_value(limit, ctx))?;
    if limit == 0 && !plan.count_all {
        return Ok(0);
    }
    let mut seen: u64 = 0;
    let last = offset.saturating_add(limit);
    let mut broken = false;
    let mut window = |row: &[Value]| -> SqlResult<ControlFlow<()>> {
        seen += 1;
        if seen > offset && seen <= last && !broken {
            broken = emit(row)?.is_break();
        }
        Ok(match (broken || seen >= last) && !plan.count_all {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    };
    let wanted = if plan.count_all || plan.limit.is_none() {
        None
    } else {
        Some(last)
    };
    match &plan.body {
        Body::Select(select) => select_rows(select, ctx, wanted, &mut window)?,
        Body::Nested(query) if plan.order.is_empty() => query_rows(query, ctx, &mut window)?,
        Body::Values(rows) if plan.order.is_empty() => {
            for row in rows {
                governor::tick()?;
                let values = converted(
                    row,
                    &plan.shape.columns.iter().map(|column| &column.ty).collect::<Vec<_>>(),
                    ctx,
                )?;
                if window(&values)?.is_break() {
                    break;
                }
            }
        }
        _ => {
            for row in sorted_rows(plan, ctx)? {
                governor::tick()?;
                if window(&row)?.is_break() {
                    break;
                }
            }
        }
    }
    Ok(seen)
}

/// The rows of a set operation or list, in order.
fn sorted_rows(plan: &QueryPlan, ctx: &QueryContext<'_>) -> SqlResult<Rows> {
    let types: Vec<&SqlType> = plan.shape.columns.iter().map(|column| &column.ty).collect();
    let mut rows = match &plan.body {
        Body::Set(set) => set_rows(set, &types, ctx)?,
        Body::Values(values) => {
            let mut rows = Rows::default();
            for row in values {
                governor::tick()?;
                rows.push(converted(row, &types, ctx)?);
            }
            rows
        }
        Body::Nested(query) => collect(query, ctx)?,
        Body::Select(_) => return Err(SqlError::internal("a SELECT sorts its own rows")),
    };
    if !plan.order.is_empty() {
        let mut keyed = Stepwise::from(Vec::with_capacity(rows.len()));
        for row in rows {
            governor::tick()?;
            let keys = plan
                .order
                .iter()
                .map(|key| key.expr.eval(&row, ctx))
                .collect::<SqlResult<Vec<_>>>()?;
            keyed.push((keys, row));
        }
        sort_by(&mut keyed, |(a, _): &(Vec<Value>, _), (b, _)| {
            compare_keys(&plan.order, a, b)
        })?;
        rows = Rows::default();
        for (_, row) in keyed {
            governor::tick()?;
            rows.push(row);
        }
    }
    Ok(rows)
}

fn converted(row: &[Expr], types: &[&SqlType], ctx: &QueryContext<'_>) -> SqlResult<Vec<Value>> {
    row.iter()
        .zip(types)
        .map(|(expr, ty)| expr.eval_into(ty, &[], ctx))
        .collect()
}

/// All rows of a query, under the memory budget.
pub fn collect(query: &QueryPlan, ctx: &QueryContext<'_>) -> SqlResult<Rows> {
    governor::descend()?;
    let mut memory = ctx.runtime.query_memory();
    let mut rows = Rows::default();
    query_rows(query, ctx, &mut |row| {
        memory.grow(row_bytes(row))?;
        rows.push(row.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

/// What a kept row takes.
pub fn row_bytes(row: &[Value]) -> usize {
    size_of::<Vec<Value>>()
        + row
            .iter()
            .map(|value| size_of::<Value>() + value.heap_bytes())
            .sum::<usize>()
}

/// A key that two rows share when they are equal column by column (NULL equals NULL).
pub fn row_key(row: &[Value], types: &[&SqlType]) -> Vec<u8> {
    let mut key = Vec::new();
    for (value, ty) in row.iter().zip(types) {
        sql_expr::aggregate::write_group_key(value, ty.collation, &mut key);
    }
    key
}

/// `first op term op term …`, folded from the left.
fn set_rows(set: &SetPlan, types: &[&SqlType], ctx: &QueryContext<'_>) -> SqlResult<Rows> {
    let term = |query: &QueryPlan| -> SqlResult<Rows> {
        let columns: Vec<Expr> = query
            .shape
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| Expr::column(at, column.name.as_str(), column.ty.clone()))
            .collect();
        let mut memory = ctx.runtime.query_memory();
        let mut rows = Rows::default();
        let has_its_digits = !query.has_digits_of_choice();
        query_rows(query, ctx, &mut |row| {
            let same = has_its_digits
                && columns.iter().zip(types).all(|(column, ty)| {
                    let is_as_long = ty.kind != TypeKind::Binary || column.ty.length == ty.length;
                    column.ty.kind == ty.kind && column.ty.decimals == ty.decimals && is_as_long
                });
            let row = match same {
                true => row.to_vec(),
                false => columns
                    .iter()
                    .zip(types)
                    .map(|(column, ty)| column.eval_into(ty, row, ctx))
                    .collect::<SqlResult<Vec<_>>>()?,
            };
            memory.grow(row_bytes(&row))?;
            rows.push(row);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(rows)
    };
    let mut rows = term(&set.first)?;
    // The keys of all rows, while no two are equal.
    let mut keys: Option<Set<Vec<u8>>> = None;
    // Nothing is left of no rows: the terms of one operator after them are not computed.
    let mut empty_before: Option<SetOp> = None;
    let mut previous = None;
    for ((op, all, next), keeps_equal) in set.rest.iter().zip(keeps_equal(set)) {
        if previous.replace(*op) != Some(*op) {
            empty_before = (rows.is_empty() && *op != SetOp::Union).then_some(*op);
        }
        if empty_before == Some(*op) {
            continue;
        }
        let more = term(next)?;
        match op {
            SetOp::Union if keeps_equal => {
                for row in more {
                    governor::tick()?;
                    rows.push(row);
                }
                keys = None;
            }
            SetOp::Union => {
                let seen = match &mut keys {
                    Some(seen) => seen,
                    None => {
                        let (kept, seen) = distinct(rows, types)?;
                        rows = kept;
                        keys.insert(seen)
                    }
                };
                for row in more {
                    governor::tick()?;
                    if seen.insert(row_key(&row, types)) {
                        rows.push(row);
                    }
                }
            }
            SetOp::Intersect | SetOp::Except => {
                keys = None;
                let mut counts: Map<Vec<u8>, usize> = Map::new();
                for row in &more {
                    governor::tick()?;
                    *counts.or_insert_with(row_key(row, types), || 0) += 1;
                }
                if !all {
                    rows = distinct(rows, types)?.0;
                }
                let keep_common = *op == SetOp::Intersect;
                rows = retain(rows, |row| {
                    let Some(count) = counts.get_mut(&row_key(row, types)) else {
                        return !keep_common;
                    };
                    if *all {
                        if *count == 0 {
                            return !keep_common;
                        }
                        *count -= 1;
                    }
                    keep_common
                })?;
            }
        }
    }
    Ok(rows)
}

/// For each term, whether equal rows count from there on: not where a DISTINCT operator behind it lets one of them through
/// anyway. So a long chain of both kinds is made distinct once.
fn keeps_equal(set: &SetPlan) -> Vec<bool> {
    let mut distinct_follows = false;
    let mut keeps: Vec<bool> = Vec::with_capacity(set.rest.len());
    for (op, all, _) in set.rest.iter().rev() {
        distinct_follows = match op {
            SetOp::Union => distinct_follows || !all,
            SetOp::Intersect | SetOp::Except => !all,
        };
        keeps.push(!distinct_follows);
    }
    keeps.reverse();
    keeps
}

/// Keeps the first of equal rows. Returns their keys, too.
fn distinct(rows: Rows, types: &[&SqlType]) -> SqlResult<(Rows, Set<Vec<u8>>)> {
    let mut seen = Set::new();
    let kept = retain(rows, |row| seen.insert(row_key(row, types)))?;
    Ok((kept, seen))
}

/// The rows that `keep` says so of.
pub(super) fn retain(rows: Rows, mut keep: impl FnMut(&Vec<Value>) -> bool) -> SqlResult<Rows> {
    let mut kept = Rows::default();
    for row in rows {
        governor::tick()?;
        if keep(&row) {
            kept.push(row);
        }
    }
    Ok(kept)
}
