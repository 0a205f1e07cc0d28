//! Queries in general: joins, grouping, subqueries, unions, common tables.
//!
//! A query block works on one wide row: every table of its FROM clause has its own slots in it, wherever the join order puts
//! the table. Aggregates and window functions get further slots behind. So every expression of the block is bound once,
//! before the join order is known.
//!
//! * [`scope`]: what names mean, [`full_text`]: those in searches; [`common`]: what WITH gives names to;
//! * [`from`]: table references into a tree of joins; [`join`]: joins and the access to each table, [`join_order`]: their order;
//!   [`json_table`]: tables out of documents;
//! * [`select`]: one SELECT; [`semijoin`]: IN (SELECT …) as a join, [`lookup`]: correlated queries by hash tables, [`determined`]: which are computed again, [`implied`]: what an OR says of each table, [`estimate`]: how many rows; [`dependence`]: which columns its groups determine; [`window`]: window functions,
//!   [`named_windows`]: what they are over;
//! * [`change`]: UPDATE and DELETE over several tables;
//! * this file: set operations, VALUES, LIMIT, subqueries.

mod aliases;
mod change;
mod common;
mod dependence;
mod determined;
mod estimate;
mod from;
mod full_text;
mod implied;
mod join;
mod join_order;
mod json_table;
mod kept_keys;
mod locks;
mod lookup;
mod named_windows;
mod outer_aggregates;
mod read_items;
mod rollup;
mod scope;
mod scope_table;
mod select;
mod semijoin;
mod subquery;
mod window;

use std::collections::HashSet;
use std::sync::Arc;

use catalog::Privileges;
use parser::ast::{self, QueryBody, SelectItem, SetOp, Statement};
use sql_api::result::{ResultColumn, ResultShape};
use sql_expr::collation::Coercibility;
use sql_expr::sort::SortKey;
use sql_expr::{Binder, Clause, Expr, NoColumns, Scope};
use types::{ErrorKind, SqlError, SqlResult, SqlType, TypeKind};

use super::Planner;
use crate::access::IndexHints;
use crate::changes::SourceQuery;
use crate::files::{FileTarget, file_target, no_server_files};
use crate::table::Table;

pub use change::{
    MultiTableChange, TargetTable, plan_delete_by_join, plan_delete_by_query, plan_multi_delete, plan_multi_update,
    plan_update_by_query,
};
pub use common::{CommonTables, RecursivePlan};
use estimate::rows_of;
pub use from::insert_target;
pub(crate) use from::note_table;
pub use join::{BaseAccess, DerivedAccess, DerivedRow, DerivedSource, HashKey, Join, LockRequest};
pub use json_table::{JsonLevel, JsonTableColumn, JsonTablePlan, OnEmpty, OnError};
pub use lookup::Lookup;
pub use read_items::ReadItems;
pub use select::{Grouping, SelectPlan};
pub use subquery::SubqueryPlan;
pub use window::{FrameEdge, WindowKind, WindowPlan, is_no_distance};

/// A planned query.
#[derive(Debug)]
pub struct QueryPlan {
    pub shape: Arc<ResultShape>,
    pub body: Body,
    /// Of a set operation or VALUES, over its output columns; a SELECT sorts by itself.
    pub order: Vec<SortKey>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    /// Whether it names columns of enclosing queries.
    pub correlated: bool,
    /// `SELECT … INTO @a, @b`
    pub into: Vec<Arc<str>>,
    /// `SELECT … INTO OUTFILE` and DUMPFILE
    pub into_file: Option<FileTarget>,
    /// `SQL_CALC_FOUND_ROWS`
    pub count_all: bool,
    /// Of a whole statement: base tables that are read with row locks, also in its subqueries.
    pub locked: Vec<Arc<Table>>,
    /// Derived and common tables whose rows depend on a row around this query: they are computed anew whenever it runs.
    pub renewed: Vec<DerivedSource>,
    /// How many it is guessed to give.
    pub rows: f64,
    /// What its columns determine of each other, of a query within another one.
    dependences: Arc<dependence::Dependences>,
}

#[derive(Debug)]
pub enum Body {
    Select(Box<SelectPlan>),
    Values(Vec<Vec<Expr>>),
    Set(SetPlan),
    /// A parenthesised query with an order or limit of its own.
    Nested(Arc<QueryPlan>),
}

/// `first op term op term …`, from the left.
#[derive(Debug)]
pub struct SetPlan {
    pub first: Arc<QueryPlan>,
    pub rest: Vec<(SetOp, bool, Arc<QueryPlan>)>,
    /// The columns for whose collation none of the terms decides: a set operation around it may.
    undecided: Vec<usize>,
}

impl QueryPlan {
    pub fn shape(&self) -> Option<&Arc<ResultShape>> {
        (self.into.is_empty() && self.into_file.is_none()).then_some(&self.shape)
    }

    pub fn column_types(&self) -> Vec<SqlType> {
        self.shape.columns.iter().map(|column| column.ty.clone()).collect()
    }

    /// The standing of an output column's collation, where it meets others.
    pub(super) fn coercibility(&self, column: usize) -> Coercibility {
        match &self.body {
            Body::Select(select) => select.items[column].coercibility,
            Body::Values(rows) => {
                let standings = rows.iter().map(|row| row[column].coercibility);
                standings.min().unwrap_or(Coercibility::Ignorable)
            }
            Body::Set(set) if set.undecided.contains(&column) => Coercibility::None,
            Body::Set(set) => {
                let rest = set.rest.iter().map(|(_, _, term)| term.coercibility(column));
                rest.fold(set.first.coercibility(column), Coercibility::min)
            }
            Body::Nested(query) => query.coercibility(column),
        }
    }

    /// Whether it is a set operation in which no collation wins for some column.
    fn is_undecided(&self) -> bool {
        match &self.body {
            Body::Set(set) => !set.undecided.is_empty(),
            Body::Nested(query) => query.is_undecided(),
            Body::Select(_) | Body::Values(_) => false,
        }
    }

    /// Whether an output column is an aggregate and nothing around it.
    /// Whether a DECIMAL may have other digits than those of its type, as what IF and CASE choose.
    pub fn has_digits_of_choice(&self) -> bool {
        let is_such = |item: &Expr| item.ty.kind == TypeKind::Decimal && item.is_choice();
        match &self.body {
            Body::Select(select) => select.items.iter().any(is_such),
            Body::Values(rows) => rows.iter().flatten().any(is_such),
            Body::Set(_) => false,
            Body::Nested(query) => query.has_digits_of_choice(),
        }
    }

    fn is_aggregate(&self, column: usize) -> bool {
        match &self.body {
            Body::Select(select) => select.grouping.as_ref().is_some_and(|grouping| {
                let slots = grouping.offset..grouping.offset + grouping.aggregates.len();
                select.items[column]
                    .as_column()
                    .is_some_and(|slot| slots.contains(&slot))
            }),
            Body::Nested(query) => query.is_aggregate(column),
            Body::Values(_) | Body::Set(_) => false,
        }
    }

    /// Whether MySQL makes such a query a part of the one around it: rows of a FROM clause, as they are.
    pub(super) fn is_mergeable(&self) -> bool {
        match &self.body {
            Body::Select(select) => {
                let is_plain = select.grouping.is_none() && select.windows.is_empty() && !select.is_distinct();
                is_plain && select.having.is_none() && select.from.is_some() && self.limit.is_none()
            }
            Body::Nested(query) => self.limit.is_none() && self.order.is_empty() && query.is_mergeable(),
            Body::Values(_) | Body::Set(_) => false,
        }
    }

    /// The columns of the rows around that alone decide its one row.
    pub fn determined_by(&self) -> Option<&[Expr]> {
        match &self.body {
            Body::Select(select) if self.limit.is_none() => select.determined_by.as_deref(),
            _ => None,
        }
    }

    /// All base tables that are read.
    pub fn read_tables(&self) -> Vec<Arc<Table>> {
        let mut tables = Vec::new();
        self.for_each_table(&mut |access| tables.push(access.table.clone()));
        tables
    }

    /// Whether it is a SELECT without FROM.
    pub fn is_without_tables(&self) -> bool {
        matches!(&self.body, Body::Select(select) if select.from.is_none())
    }

    /// Whether it is a SELECT without FROM and without subqueries: no row and no catalog changes its answer.
    pub fn reads_nothing(&self) -> bool {
        let Body::Select(select) = &self.body else { return false };
        let is_plain = select.from.is_none()
            && select.grouping.is_none()
            && select.windows.is_empty()
            && select.having.is_none()
            && select.order.is_empty();
        let filters = select.constant_filter.iter().chain(&select.filter);
        let mut expressions = filters.chain(&select.items).chain(&self.limit).chain(&self.offset);
        is_plain && !expressions.any(Expr::has_subquery)
    }

    /// Shows each access to a base table once: a common table is one plan, however many read it.
    pub fn for_each_table(&self, visit: &mut dyn FnMut(&BaseAccess)) {
        self.visit_tables(&mut HashSet::new(), visit);
    }

    fn visit_tables(&self, seen: &mut HashSet<*const QueryPlan>, visit: &mut dyn FnMut(&BaseAccess)) {
        if !seen.insert(std::ptr::from_ref(self)) {
            return;
        }
        match &self.body {
            Body::Select(select) => {
                if let Some(join) = &select.from {
                    join.visit_tables(seen, visit);
                }
            }
            Body::Values(_) => {}
            Body::Set(set) => {
                set.first.visit_tables(seen, visit);
                set.rest.iter().for_each(|(_, _, term)| term.visit_tables(seen, visit));
            }
            Body::Nested(query) => query.visit_tables(seen, visit),
        }
    }
}

/// Plans a statement's query.
pub fn plan_query(planner: &Planner<'_>, query: &ast::Query) -> SqlResult<QueryPlan> {
    if let Some(ast::SelectInto::OutFile { .. } | ast::SelectInto::DumpFile(_)) = query.into.as_deref() {
        planner.access().require_any(Privileges::FILE, &[], "FILE")?;
    }
    let variables = match query.into.as_deref() {
        Some(ast::SelectInto::Variables(names)) => names.iter().map(user_variable).collect::<SqlResult<_>>()?,
        _ => Vec::new(),
    };
    let mut plan = plan_in(planner, query, &CommonTables::default(), None)?;
    plan.locked = planner.locked.take();
    match query.into.as_deref() {
        None => {}
        Some(ast::SelectInto::Variables(_)) => {
            plan.into = variables;
            if plan.into.len() != plan.shape.columns.len() {
                return Err(ErrorKind::WrongNumberOfColumnsInSelect.into());
            }
        }
        Some(into @ (ast::SelectInto::OutFile { .. } | ast::SelectInto::DumpFile(_))) => {
            if !planner.node.has_server_files() {
                return Err(no_server_files());
            }
            plan.into_file = file_target(into)?;
        }
    }
    Ok(plan)
}

/// The name of a variable that `INTO` names. 1327 for one that is not declared, which is said before anything of the query is looked at.
fn user_variable(name: &ast::IntoVar) -> SqlResult<Arc<str>> {
    match name {
        ast::IntoVar::User(name) => Ok(name.to_lowercase().into()),
        // What a program selects into its own variables, it takes from the rows.
        ast::IntoVar::Local(ast::Local { name, .. }) | ast::IntoVar::Undeclared(name) => {
            Err(SqlError::new(ErrorKind::SpUndeclaredVar, &[&name.as_str()]))
        }
    }
}

/// Plans a query that may see common tables and the rows of an enclosing one.
fn plan_in(
    planner: &Planner<'_>,
    query: &ast::Query,
    common: &CommonTables,
    outer: Option<&mut dyn Scope>,
) -> SqlResult<QueryPlan> {
    let plan = plan_term(planner, query, common, outer)?;
    match plan.is_undecided() {
        // Equal rows could not be told.
        true => Err(SqlError::new(ErrorKind::CantAggregateNcollations, &[&"UNION"])),
        false => Ok(plan),
    }
}

/// As [`plan_in`], of a query that may be part of a set operation, which decides for collations.
fn plan_term(
    planner: &Planner<'_>,
    query: &ast::Query,
    common: &CommonTables,
    outer: Option<&mut dyn Scope>,
) -> SqlResult<QueryPlan> {
    governor::tick()?;
    governor::descend()?;
    let user = || {
        let with = None;
        ast::Query { with, ..query.clone() }.to_string()
    };
    let mut outer = outer;
    let around = outer.as_ref().map_or(0, |outer| outer.depth());
    let common = &common::with_common_tables(planner, query.with.as_ref(), user, common, &mut outer)?;
    let renewed = match &query.with {
        Some(_) => common.correlated_at(around),
        None => Vec::new(),
    };
    let is_select = matches!(query.body, QueryBody::Select(_) | QueryBody::Table(_));
    if is_select {
        let mut plan = select::plan_select_query(planner, query, common, outer)?;
        plan.renewed.extend(renewed);
        return Ok(plan);
    }
    let locked = with_locks_inside(query);
    let body = locked.as_ref().unwrap_or(&query.body);
    let (body, shape, correlated) = plan_body(planner, body, common, &mut outer)?;
    let mut scope = scope::OutputScope::new(planner, &shape, 0);
    let mut order = Vec::new();
    for item in &query.order_by {
        let expr = order_expr(planner, &item.expr, &mut scope, shape.columns.len());
        let expr = expr.map_err(|error| match error.kind() {
            ErrorKind::InvalidGroupFuncUse => SqlError::new(ErrorKind::AggregateOrderForUnion, &[&(order.len() + 1)]),
            _ => error,
        })?;
        order.push(SortKey {
            expr,
            descending: item.descending,
        });
    }
    let (limit, offset) = bind_limit(planner, query.limit.as_ref())?;
    let dependences = match &body {
        Body::Nested(query) => query.dependences.clone(),
        Body::Select(_) | Body::Values(_) | Body::Set(_) => Arc::default(),
    };
    Ok(QueryPlan {
        rows: rows_of(&body, limit.as_ref()),
        dependences,
        shape,
        body,
        order,
        limit,
        offset,
        correlated,
        into: Vec::new(),
        into_file: None,
        count_all: counts_all(&query.body),
        locked: Vec::new(),
        renewed,
    })
}

/// SQL_CALC_FOUND_ROWS is written in the first SELECT of a set operation, and counts the rows of the whole.
fn counts_all(body: &QueryBody) -> bool {
    match body {
        QueryBody::Select(select) => select.options.sql_calc_found_rows,
        QueryBody::SetOperation(operation) => counts_all(&operation.first),
        QueryBody::Query(query) => counts_all(&query.body),
        QueryBody::Values(_) | QueryBody::Table(_) => false,
    }
}

/// ORDER BY of a set operation: a position or an expression over the output.
fn order_expr(
    planner: &Planner<'_>,
    tree: &ast::Expr,
    scope: &mut scope::OutputScope<'_, '_>,
    width: usize,
) -> SqlResult<Expr> {
    if let ast::Expr::Literal(ast::Literal::Int(position)) = tree {
        let position = usize::try_from(*position).unwrap_or(0);
        if position == 0 || position > width {
            return Err(SqlError::new(
                ErrorKind::BadField,
                &[&position, &Clause::OrderBy.name()],
            ));
        }
        let column = &scope.shape.columns[position - 1];
        return Ok(Expr::column(position - 1, column.name.as_str(), column.ty.clone()));
    }
    Binder::new(scope, planner.ctx, planner.options()).bind(tree)
}

pub fn bind_limit(planner: &Planner<'_>, limit: Option<&ast::Limit>) -> SqlResult<(Option<Expr>, Option<Expr>)> {
    let Some(limit) = limit else { return Ok((None, None)) };
    let bind = |tree| Binder::new(&mut NoColumns, planner.ctx, planner.options()).bind(tree);
    let offset = limit.offset.as_ref().map(bind).transpose()?;
    Ok((Some(bind(&limit.count)?), offset))
}

type PlannedBody = (Body, Arc<ResultShape>, bool);

fn plan_body(
    planner: &Planner<'_>,
    body: &QueryBody,
    common: &CommonTables,
    outer: &mut Option<&mut dyn Scope>,
) -> SqlResult<PlannedBody> {
    match body {
        QueryBody::Values(rows) => plan_values(planner, rows, outer),
        QueryBody::SetOperation(set) => plan_set(planner, set, common, outer),
        QueryBody::Query(query) => {
            let plan = plan_term(planner, query, common, reborrow(outer))?;
            let (shape, correlated) = (plan.shape.clone(), plan.correlated);
            Ok((Body::Nested(Arc::new(plan)), shape, correlated))
        }
        QueryBody::Select(_) | QueryBody::Table(_) => {
            let plan = plan_in(planner, &ast::Query::plain(body.clone()), common, reborrow(outer))?;
            let (shape, correlated) = (plan.shape.clone(), plan.correlated);
            Ok((Body::Nested(Arc::new(plan)), shape, correlated))
        }
    }
}

/// The enclosing scope, lent for one part of a query.
fn reborrow<'a>(outer: &'a mut Option<&mut dyn Scope>) -> Option<&'a mut dyn Scope> {
    match outer {
        Some(outer) => Some(&mut **outer),
        None => None,
    }
}

fn plan_values(
    planner: &Planner<'_>,
    rows: &[Vec<ast::Expr>],
    outer: &mut Option<&mut dyn Scope>,
) -> SqlResult<PlannedBody> {
    let mut scope = scope::QueryScope::new(planner, reborrow(outer));
    let width = rows.first().map_or(0, Vec::len);
    if width == 0 {
        return Err(ErrorKind::TableValueConstructorMustHaveColumns.into());
    }
    let mut bound = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        governor::tick()?;
        if row.len() != width {
            return Err(SqlError::new(ErrorKind::WrongValueCountOnRow, &[&(at + 1)]));
        }
        let values = row
            .iter()
            .map(|value| Binder::new(&mut scope, planner.ctx, planner.options()).bind(value));
        bound.push(values.collect::<SqlResult<Vec<_>>>()?);
    }
    let correlated = scope.correlated();
    let mut columns = Vec::with_capacity(width);
    for at in 0..width {
        let types: Vec<&Expr> = bound
            .iter()
            .inspect(|_| governor::pause())
            .map(|row| &row[at])
            .collect();
        columns.push(ResultColumn::computed(
            format!("column_{at}"),
            unified(planner, &types)?,
        ));
    }
    Ok((Body::Values(bound), ResultShape::new(columns), correlated))
}

fn plan_set(
    planner: &Planner<'_>,
    set: &ast::SetOperation,
    common: &CommonTables,
    outer: &mut Option<&mut dyn Scope>,
) -> SqlResult<PlannedBody> {
    let term = |body: &QueryBody, outer: &mut Option<&mut dyn Scope>| -> SqlResult<Arc<QueryPlan>> {
        let query = match body {
            QueryBody::Query(query) => (**query).clone(),
            body => ast::Query::plain(body.clone()),
        };
        Ok(Arc::new(plan_term(planner, &query, common, reborrow(outer))?))
    };
    let first = term(&set.first, outer)?;
    let mut rest = Vec::with_capacity(set.rest.len());
    for next in &set.rest {
        let plan = term(&next.body, outer)?;
        if plan.shape.columns.len() != first.shape.columns.len() {
            return Err(ErrorKind::WrongNumberOfColumnsInSelect.into());
        }
        rest.push((next.op, next.all, plan));
    }
    let mut undecided = Vec::new();
    let mut columns = Vec::with_capacity(first.shape.columns.len());
    for (at, column) in first.shape.columns.iter().enumerate() {
        let of = |plan: &QueryPlan| {
            let column = &plan.shape.columns[at];
            Expr {
                coercibility: plan.coercibility(at),
                ..Expr::column(at, column.name.as_str(), column.ty.clone())
            }
        };
        let terms: Vec<Expr> = std::iter::once(of(&first))
            .chain(rest.iter().map(|(_, _, plan)| of(plan)))
            .collect();
        let (ty, coercibility) = sql_expr::mixed_type(&terms.iter().collect::<Vec<_>>(), &planner.ctx)?;
        if coercibility == Coercibility::None {
            undecided.push(at);
        }
        columns.push(ResultColumn::computed(column.name.clone(), ty));
    }
    let correlated = first.correlated || rest.iter().any(|(_, _, plan)| plan.correlated);
    Ok((
        Body::Set(SetPlan { first, rest, undecided }),
        ResultShape::new(columns),
        correlated,
    ))
}

/// The type that holds the values of all of these, as COALESCE would give it.
fn unified(planner: &Planner<'_>, exprs: &[&Expr]) -> SqlResult<SqlType> {
    sql_expr::unified_type(exprs, &planner.ctx)
}

/// A subquery of an expression; its outer rows are those of `outer`.
pub fn plan_subquery(
    planner: &Planner<'_>,
    query: &ast::Query,
    common: &CommonTables,
    outer: &mut dyn Scope,
) -> SqlResult<SubqueryPlan> {
    let nesting = &planner.views.nesting;
    let plan = nesting.inside(|| plan_in(planner, query, common, Some(outer)))?;
    let is_deterministic = !planner.ctx.services.assigns_user_variables();
    Ok(SubqueryPlan::new(plan, is_deterministic))
}

/// The query of an INSERT … SELECT, which must give `width` columns if that is told.
pub fn plan_insert_source(
    planner: &Planner<'_>,
    query: &ast::Query,
    width: Option<usize>,
    into: &Arc<Table>,
) -> SqlResult<Box<SourceQuery>> {
    planner.plan_source(|| {
        let plan = plan_query(planner, query)?;
        if width.is_some_and(|width| plan.shape.columns.len() != width) {
            return Err(SqlError::new(ErrorKind::WrongValueCountOnRow, &[&1]));
        }
        // A subquery that reads it must not meet the new rows either.
        let is_target = |table: &Arc<Table>| table.id() == into.id();
        let reads_target =
            planner.uses.borrow().tables.iter().any(is_target) || plan.read_tables().iter().any(is_target);
        Ok(Box::new(SourceQuery {
            plan,
            reads_target,
            is_past: false,
        }))
    })
}

/// Which indexes the hints leave; 1176 for an unknown one.
pub fn index_hints(table: &Arc<Table>, written: &[ast::IndexHint]) -> SqlResult<IndexHints> {
    let mut hints = IndexHints::default();
    for hint in written {
        let mut named = Vec::with_capacity(hint.indexes.len());
        for name in &hint.indexes {
            let unknown = || SqlError::new(ErrorKind::KeyDoesNotExist, &[&name.as_str(), &table.def.name]);
            // One that is invisible is not there for a query.
            let index = table.def.index(name).filter(|index| index.visible);
            named.push(index.ok_or_else(unknown)?.id);
        }
        match hint.kind {
            ast::IndexHintKind::Ignore => hints.never.extend(named),
            ast::IndexHintKind::Use | ast::IndexHintKind::Force => hints.only.get_or_insert_default().extend(named),
        }
        hints.forced |= hint.kind == ast::IndexHintKind::Force;
    }
    Ok(hints)
}

/// `SELECT * FROM table`
pub fn select_all_of(table: ast::TableFactor) -> Arc<Statement> {
    let select = ast::Select::all_of(vec![ast::TableRef::Table(Box::new(table))]);
    Arc::new(Statement::Query(Box::new(ast::Query::plain(QueryBody::Select(
        Box::new(select),
    )))))
}

/// `SELECT expr`, to evaluate an expression as a query does.
pub fn select_of(expr: &ast::Expr) -> Arc<Statement> {
    let select = ast::Select {
        items: vec![SelectItem::Expr {
            expr: expr.clone(),
            alias: None,
            text: ast::SourceText::default(),
        }],
        ..ast::Select::all_of(Vec::new())
    };
    Arc::new(Statement::Query(Box::new(ast::Query::plain(QueryBody::Select(
        Box::new(select),
    )))))
}

/// `… UNION … FOR UPDATE` locks the rows of its last part, `(… LIMIT 1) FOR UPDATE` those of what is in parentheses.
fn with_locks_inside(query: &ast::Query) -> Option<QueryBody> {
    if query.locks.is_empty() {
        return None;
    }
    let mut body = query.body.clone();
    let mut locked = &mut body;
    while let QueryBody::SetOperation(set) = locked {
        locked = &mut set.rest.last_mut()?.body;
    }
    match locked {
        QueryBody::Query(inner) => inner.locks.extend(query.locks.iter().cloned()),
        // Rows that are written out have nobody to keep away.
        QueryBody::Values(_) => {}
        part => {
            *part = QueryBody::Query(Box::new(ast::Query {
                locks: query.locks.clone(),
                ..ast::Query::plain(part.clone())
            }));
        }
    }
    Some(body)
}
