//! Recognises the queries that OLTP is made of: one table, plain columns or simple sums, an index range.
//!
//! They need no operators: the executor walks the range and writes each row from its stored form. Whatever has anything
//! else in it (joins, grouping, expressions in the select list, locks) is left to the general planner.

use std::sync::Arc;

use parser::ast::{self, QueryBody, SelectItem, TableRef};
use sql_api::result::{ResultColumn, ResultShape};
use sql_expr::{AggregateFunction, Binder, Clause, Expr};
use types::{ErrorKind, SqlResult, TypeKind, Value};

use super::access::{AccessPath, Choice, OrderWish, choose};
use super::{Planner, TableScope};
use crate::columns::table_column;
use crate::computed_keys::ComputedKeys;
use crate::full_text;
use crate::hints::Steering;
use crate::table::Table;
use crate::zero_dates::asks_for_zero_date;

/// A query over one index range of one table.
#[derive(Debug)]
pub struct StraightPlan {
    pub shape: Arc<ResultShape>,
    pub path: AccessPath,
    /// What qualifies the table's columns.
    pub alias: String,
    pub output: Output,
    /// Columns that conditions look at.
    pub filter_columns: Vec<usize>,
    /// Sort by these columns (and whether each is descending); empty where the index gives the order.
    pub sort: Vec<(usize, bool)>,
    /// Rows equal in the columns of `sort` are one.
    pub distinct: bool,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
}

#[derive(Debug)]
pub enum Output {
    /// These columns of the table.
    Columns(Vec<usize>),
    /// One row of sums and counts.
    Totals(Vec<Total>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// `COUNT(*)`, or of a column that is never NULL.
    Rows,
    /// `COUNT(column)`
    NotNull(usize),
    /// `SUM(column)` of an integer column.
    Sum(usize),
}

/// Plans a query if it is one of these.
pub fn straight_plan(planner: &Planner<'_>, query: &ast::Query) -> SqlResult<Option<StraightPlan>> {
    let QueryBody::Select(select) = &query.body else {
        return Ok(None);
    };
    let plain = query.with.is_none()
        && query.locks.is_empty()
        && query.into.is_none()
        && select.group_by.is_empty()
        && select.having.is_none()
        && select.windows.is_empty()
        && !select.options.sql_calc_found_rows;
    let [TableRef::Table(factor)] = select.from.as_slice() else {
        return Ok(None);
    };
    let is_system = planner.virtual_database(&factor.name).is_some();
    if !plain || !factor.partitions.is_empty() || is_system {
        return Ok(None);
    }
    if planner.view(&factor.name).is_some() {
        return Ok(None);
    }
    let table = planner.table(&factor.name, factor.alias.as_ref())?;
    if !planner.reads_all_of(&table) {
        return Ok(None);
    }
    // A search is a part of the joins.
    if select.filter.as_ref().is_some_and(full_text::has_match) {
        return Ok(None);
    }
    let alias = factor.alias.as_ref().unwrap_or(&factor.name.name).as_str();
    let Some((output, shape)) = output(planner, &table, alias, &select.items)? else {
        return Ok(None);
    };
    let totals = matches!(output, Output::Totals(_));
    if totals && (select.options.distinct || !query.order_by.is_empty() || query.limit.is_some()) {
        return Ok(None);
    }
    let Some(order) = plain_order(&table, alias, query, &select.items)? else {
        return Ok(None);
    };
    let mut scope = TableScope::new(planner, table.clone(), alias, Clause::Where);
    let conditions = match &select.filter {
        None => Vec::new(),
        Some(filter) => Binder::new(&mut scope, planner.ctx, planner.options())
            .bind_condition(filter)?
            .into_conjuncts(),
    };
    // What has no columns is asked once, not per row; what may wait is asked between chunks of rows.
    let is_plain = |condition: &Expr| {
        !condition.has_subquery()
            && !condition.is_volatile()
            && !asks_for_zero_date(condition, |slot| table.def.columns.get(slot))
            && (!condition.is_constant() || is_number(condition))
    };
    if !conditions.iter().all(is_plain) {
        return Ok(None);
    }
    let mut filter_columns = scope.used;
    let mut computed = ComputedKeys::new(planner, &table, 0)?;
    let mut conditions = conditions;
    conditions
        .iter_mut()
        .for_each(|condition| computed.replace_in_condition(condition));
    let arrays = computed.arrays;
    for column in computed.used {
        if !filter_columns.contains(&column) {
            filter_columns.push(column);
        }
    }
    let mut limits = LimitBinder { planner };
    let (limit, offset) = match &query.limit {
        None => (None, None),
        Some(limit) => (
            Some(limits.bind(&limit.count)?),
            limit.offset.as_ref().map(|offset| limits.bind(offset)).transpose()?,
        ),
    };
    let mut needed = filter_columns.clone();
    match &output {
        Output::Columns(columns) => needed.extend(columns),
        Output::Totals(totals) => needed.extend(totals.iter().filter_map(|total| match total {
            Total::Rows => None,
            Total::NotNull(column) | Total::Sum(column) => Some(*column),
        })),
    }
    needed.sort_unstable();
    needed.dedup();
    let written = Steering::of(select.hints.as_deref()).index_hints(&table, alias, &factor.index_hints);
    let hints = super::query::index_hints(&table, &written)?;
    let wish = OrderWish {
        columns: order.clone(),
        limit: limit
            .as_ref()
            .and_then(Expr::as_literal)
            .and_then(|rows| rows.to_string().parse().ok()),
    };
    let chosen = choose(&Choice {
        table: &table,
        slots: 0..table.def.columns.len(),
        conditions: &conditions.iter().collect::<Vec<_>>(),
        bound: &|_| false,
        needed: &needed,
        order: &wish,
        hints: &hints,
        arrays: &arrays,
        ctx: &planner.ctx,
    })?;
    let path = chosen.with(conditions);
    let sort = if path.ordered { Vec::new() } else { order.clone() };
    if select.options.distinct {
        // Equal rows are neighbours only in the order of all output columns.
        let Output::Columns(columns) = &output else {
            return Ok(None);
        };
        let covers = columns
            .iter()
            .all(|column| sort.iter().any(|(sorted, _)| sorted == column));
        if sort.is_empty() || !covers || sort.len() != columns.len() {
            return Ok(None);
        }
    }
    super::query::note_table(planner, &table, factor)?;
    Ok(Some(StraightPlan {
        shape,
        path,
        alias: alias.to_owned(),
        output,
        filter_columns,
        sort,
        distinct: select.options.distinct,
        limit,
        offset,
    }))
}

/// A number or NULL, whose truth costs nothing to ask for.
fn is_number(condition: &Expr) -> bool {
    matches!(
        condition.as_literal(),
        Some(Value::Int(_) | Value::UInt(_) | Value::Null)
    )
}

/// The output, if it is plain columns or simple totals.
fn output(
    planner: &Planner<'_>,
    table: &Arc<Table>,
    alias: &str,
    items: &[SelectItem],
) -> SqlResult<Option<(Output, Arc<ResultShape>)>> {
    let mut columns = Vec::new();
    let mut totals = Vec::new();
    let mut shape = Vec::new();
    for item in items {
        match item {
            SelectItem::Wildcard => {
                for (position, column) in table.def.columns.iter().enumerate() {
                    if !column.invisible {
                        columns.push(position);
                        shape.push(table_column(&table.def, alias, position));
                    }
                }
            }
            SelectItem::TableWildcard(_) => return Ok(None),
            SelectItem::Expr {
                expr: ast::Expr::Column(name),
                alias: label,
                ..
            } => {
                let Some(position) = own_column(table, alias, name) else {
                    return Ok(None);
                };
                let mut column = table_column(&table.def, alias, position);
                // Named as the statement writes it.
                column.name = label.as_ref().unwrap_or(&name.name).as_str().to_owned();
                columns.push(position);
                shape.push(column);
            }
            SelectItem::Expr {
                expr: expr @ ast::Expr::Aggregate(aggregate),
                ..
            } => {
                let counts_or_sums_column = matches!(aggregate.args.as_slice(), [] | [ast::Expr::Column(_)]);
                let is_plain = aggregate.over.is_none() && !aggregate.distinct && aggregate.order_by.is_empty();
                if !is_plain || !counts_or_sums_column {
                    return Ok(None);
                }
                let mut scope = TotalScope {
                    inner: TableScope::new(planner, table.clone(), alias, Clause::FieldList),
                    call: None,
                };
                Binder::new(&mut scope, planner.ctx, planner.options()).bind(expr)?;
                let Some(call) = scope.call else { return Ok(None) };
                let column = call.args.first().and_then(Expr::as_column);
                let total = match (call.function, column) {
                    (AggregateFunction::Count, Some(column)) if !table.def.columns[column].nullable => Total::Rows,
                    (AggregateFunction::Count, Some(column)) => Total::NotNull(column),
                    (AggregateFunction::Count, None) if aggregate.args.is_empty() => Total::Rows,
                    (AggregateFunction::Sum, Some(column)) if table.def.columns[column].ty.kind.is_integer() => {
                        Total::Sum(column)
                    }
                    _ => return Ok(None),
                };
                totals.push(total);
                shape.push(ResultColumn::computed(
                    item.column_name().unwrap_or_default(),
                    call.ty.clone(),
                ));
            }
            SelectItem::Expr { .. } => return Ok(None),
        }
    }
    if columns
        .iter()
        .any(|&column| table.def.columns[column].ty.kind == TypeKind::Timestamp)
    {
        // A TIMESTAMP is shown in the session's time zone: not in its stored form.
        return Ok(None);
    }
    Ok(match (columns.is_empty(), totals.is_empty()) {
        (false, true) => Some((Output::Columns(columns), ResultShape::new(shape))),
        (true, false) => Some((Output::Totals(totals), ResultShape::new(shape))),
        _ => None,
    })
}

fn own_column(table: &Table, alias: &str, name: &ast::ColumnName) -> Option<usize> {
    let database = name
        .schema
        .as_ref()
        .is_none_or(|schema| schema.as_str() == table.def.database);
    let qualifier = name.table.as_ref().is_none_or(|qualifier| qualifier.as_str() == alias);
    if database && qualifier {
        table.def.column(&name.name)
    } else {
        None
    }
}

/// The columns of ORDER BY; nothing if there is something else in it, or a name that means a select item.
fn plain_order(
    table: &Table,
    alias: &str,
    query: &ast::Query,
    items: &[SelectItem],
) -> SqlResult<Option<Vec<(usize, bool)>>> {
    let labels = |name: &str| {
        items
            .iter()
            .any(|item| matches!(item, SelectItem::Expr { alias: Some(label), .. } if catalog::same_name(label, name)))
    };
    let mut order = Vec::with_capacity(query.order_by.len());
    for item in &query.order_by {
        let ast::Expr::Column(name) = &item.expr else {
            return Ok(None);
        };
        let Some(column) = own_column(table, alias, name).filter(|_| !labels(&name.name)) else {
            return Ok(None);
        };
        order.push((column, item.descending));
    }
    Ok(Some(order))
}

/// Takes the one aggregate of a select item.
struct TotalScope<'a> {
    inner: TableScope<'a>,
    call: Option<sql_expr::AggregateCall>,
}

impl sql_expr::Scope for TotalScope<'_> {
    fn resolve(&mut self, column: &ast::ColumnName) -> SqlResult<sql_expr::Resolved> {
        self.inner.resolve(column)
    }

    fn stored_function(&mut self, call: &ast::FunctionCall) -> SqlResult<Option<Arc<dyn sql_expr::Subquery>>> {
        self.inner.stored_function(call)
    }

    fn aggregate(&mut self, call: sql_expr::AggregateCall) -> SqlResult<Expr> {
        if self.call.is_some() {
            return Err(ErrorKind::InvalidGroupFuncUse.into());
        }
        let ty = call.ty.clone();
        self.call = Some(call);
        Ok(Expr::column(0, "", ty))
    }

    fn clause(&self) -> Clause {
        self.inner.clause
    }
}

/// Binds the numbers of LIMIT, which see no columns.
struct LimitBinder<'a, 'p> {
    planner: &'a Planner<'p>,
}

impl LimitBinder<'_, '_> {
    fn bind(&mut self, tree: &ast::Expr) -> SqlResult<Expr> {
        Binder::new(&mut sql_expr::NoColumns, self.planner.ctx, self.planner.options()).bind(tree)
    }
}
