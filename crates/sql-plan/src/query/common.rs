//! Common tables: what WITH gives names to.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parser::ast;
use sql_api::result::{ResultColumn, ResultShape};
use sql_expr::{Expr, Scope};
use types::{ErrorKind, SqlError, SqlResult};

use super::join::DerivedSource;
use super::{Body, QueryPlan};
use crate::planner::Planner;

/// The common tables (`WITH`) that a query sees. Case matters in their names, as in those of tables.
#[derive(Debug, Clone, Default)]
pub struct CommonTables {
    /// Shared by the queries that see the same ones.
    by_name: Arc<HashMap<String, CommonTable>>,
}

#[derive(Debug, Clone)]
pub struct CommonTable {
    pub source: CommonSource,
    pub shape: Arc<ResultShape>,
    /// How deep its query nests.
    pub levels: usize,
    /// The depth of the query around the WITH clause: its row is the outer one of the table's query.
    pub around: usize,
}

#[derive(Debug, Clone)]
pub enum CommonSource {
    Query(Arc<QueryPlan>),
    /// The recursive reference of a recursive one: the rows of the round before, kept under this number.
    Working(usize),
    Recursive(Arc<RecursivePlan>),
}

/// `WITH RECURSIVE`: the rows of `seed`, then of `step` over the rows of the round before, until there are none.
#[derive(Debug)]
pub struct RecursivePlan {
    pub seed: QueryPlan,
    pub step: QueryPlan,
    /// `UNION` without ALL: a row comes once.
    pub distinct: bool,
    /// Where the rows of all rounds together end, and begin.
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    /// The number under which the step finds its rows.
    pub working: usize,
    pub name: String,
}

impl RecursivePlan {
    /// Whether it names columns of enclosing queries.
    pub fn is_correlated(&self) -> bool {
        self.seed.correlated || self.step.correlated
    }
}

impl CommonSource {
    pub fn is_correlated(&self) -> bool {
        match self {
            CommonSource::Query(plan) => plan.correlated,
            CommonSource::Recursive(plan) => plan.is_correlated(),
            CommonSource::Working(_) => false,
        }
    }
}

impl CommonTables {
    /// The tables whose rows depend on a row around the WITH clause of a query at this depth.
    pub fn correlated_at(&self, around: usize) -> Vec<DerivedSource> {
        let own = self.by_name.values().filter(|table| table.around == around);
        own.filter(|table| table.source.is_correlated())
            .filter_map(|table| match &table.source {
                CommonSource::Query(plan) => Some(DerivedSource::Query(plan.clone())),
                CommonSource::Recursive(plan) => Some(DerivedSource::Recursive(plan.clone())),
                CommonSource::Working(_) => None,
            })
            .collect()
    }

    fn insert(&mut self, name: &str, table: CommonTable) {
        Arc::make_mut(&mut self.by_name).insert(name.to_owned(), table);
    }

    pub fn get(&self, name: &ast::TableName) -> Option<&CommonTable> {
        if name.schema.is_some() {
            None
        } else {
            self.by_name.get(name.name.as_str())
        }
    }
}

/// The common tables of a WITH clause, on top of those already seen. One that `user`, the statement without the clause, does not
/// lead to is parsed and no more: whatever it names need not exist.
pub fn with_common_tables(
    planner: &Planner<'_>,
    with: Option<&ast::With>,
    user: impl FnOnce() -> String,
    seen: &CommonTables,
    outer: &mut Option<&mut dyn Scope>,
) -> SqlResult<CommonTables> {
    let mut common = seen.clone();
    let Some(with) = with else { return Ok(common) };
    let wanted = wanted_tables(with, &user())?;
    let around = outer.as_ref().map_or(0, |outer| outer.depth());
    let mut named = HashSet::new();
    for table in &with.tables {
        if !named.insert(table.name.as_str()) {
            return Err(SqlError::new(ErrorKind::NonUniqTable, &[&table.name.as_str()]));
        }
    }
    for (table, _) in with.tables.iter().zip(wanted).filter(|(_, wanted)| *wanted) {
        governor::tick()?;
        let plan = || {
            if with.recursive && refers_to(table.query.clone(), &table.name) {
                return plan_recursive(planner, table, &common, outer);
            }
            let plan = super::plan_in(planner, &table.query, &common, super::reborrow(outer))?;
            let shape = renamed(&plan.shape, &table.columns, &table.name)?;
            check_names(&shape)?;
            Ok((CommonSource::Query(Arc::new(plan)), shape))
        };
        let ((source, shape), levels) = planner.views.nesting.below(plan)?;
        let planned = CommonTable {
            source,
            shape,
            levels,
            around,
        };
        common.insert(table.name.as_str(), planned);
    }
    Ok(common)
}

/// Which common tables the statement reads, by itself or through others; each sees those before it.
fn wanted_tables(with: &ast::With, user: &str) -> SqlResult<Vec<bool>> {
    let mut names = HashSet::new();
    add_names(user, &mut names)?;
    let mut wanted = Vec::with_capacity(with.tables.len());
    for table in with.tables.iter().rev() {
        governor::tick()?;
        let name = table.name.as_str();
        // A quote in a name is printed twice, so that it takes the name apart.
        let is_read = name.contains('`') || names.contains(name);
        if is_read {
            add_names(&table.query.to_string(), &mut names)?;
        }
        wanted.push(is_read);
    }
    wanted.reverse();
    Ok(wanted)
}

/// Adds whatever stands between two quotes: every name in printed SQL is quoted. What is no name does no harm.
fn add_names(sql: &str, names: &mut HashSet<String>) -> SqlResult<()> {
    for piece in sql.split('`') {
        governor::tick()?;
        names.insert(piece.to_owned());
    }
    Ok(())
}

fn plan_recursive(
    planner: &Planner<'_>,
    table: &ast::CommonTable,
    common: &CommonTables,
    outer: &mut Option<&mut dyn Scope>,
) -> SqlResult<(CommonSource, Arc<ResultShape>)> {
    let name = table.name.as_str().to_owned();
    let ast::QueryBody::SetOperation(set) = &table.query.body else {
        return Err(SqlError::new(ErrorKind::CteRecursiveRequiresUnion, &[&name]));
    };
    if set.rest.iter().any(|term| term.op != ast::SetOp::Union) {
        return Err(SqlError::new(ErrorKind::CteRecursiveRequiresUnion, &[&name]));
    }
    if !table.query.order_by.is_empty() {
        return Err(SqlError::not_supported(
            "ORDER BY over UNION in recursive Common Table Expression",
        ));
    }
    let is_recursive = |body: &ast::QueryBody| refers_to(ast::Query::plain(body.clone()), &table.name);
    if is_recursive(&set.first) {
        return Err(SqlError::new(
            ErrorKind::CteRecursiveRequiresNonrecursiveFirst,
            &[&name],
        ));
    }
    let split = set
        .rest
        .iter()
        .position(|term| is_recursive(&term.body))
        .unwrap_or(set.rest.len());
    for term in &set.rest[split..] {
        if let ast::QueryBody::SetOperation(inner) = &term.body
            && inner.rest.iter().any(|term| term.op != ast::SetOp::Union)
        {
            return Err(ErrorKind::CteRecursiveNotUnion.into());
        }
    }
    // The query's own WITH clause is seen by all of its parts.
    let user = || ast::Query::plain(table.query.body.clone()).to_string();
    let common = &with_common_tables(planner, table.query.with.as_ref(), user, common, outer)?;
    let (limit, offset) = super::bind_limit(planner, table.query.limit.as_ref())?;
    let combine = |first: &ast::QueryBody, rest: &[ast::SetTerm]| match rest.is_empty() {
        true => ast::Query::plain(first.clone()),
        false => ast::Query::plain(ast::QueryBody::SetOperation(Box::new(ast::SetOperation {
            first: first.clone(),
            rest: rest.to_vec(),
        }))),
    };
    let seed_query = combine(&set.first, &set.rest[..split]);
    let seed = super::plan_in(planner, &seed_query, common, super::reborrow(outer))?;
    let distinct = set.rest[split..].iter().any(|term| !term.all);
    // The columns have the types of the seed, and may always be NULL.
    let mut columns = renamed(&seed.shape, &table.columns, &table.name)?.columns.clone();
    for column in &mut columns {
        column.ty.nullable = true;
    }
    let shape = ResultShape::new(columns);
    check_names(&shape)?;
    let working = common.by_name.len() + 1;
    let mut inner = common.clone();
    let reference = CommonTable {
        source: CommonSource::Working(working),
        shape: shape.clone(),
        levels: 0,
        around: 0,
    };
    inner.insert(&name, reference);
    let step_query = combine(&set.rest[split].body, &set.rest[split + 1..]);
    let step = super::plan_in(planner, &step_query, &inner, super::reborrow(outer))?;
    if step.shape.columns.len() != shape.columns.len() {
        return Err(ErrorKind::WrongNumberOfColumnsInSelect.into());
    }
    if groups_rows(&step) {
        return Err(SqlError::new(ErrorKind::CteRecursiveForbidsAggregation, &[&name]));
    }
    let plan = RecursivePlan {
        seed,
        step,
        distinct,
        limit,
        offset,
        working,
        name,
    };
    Ok((CommonSource::Recursive(Arc::new(plan)), shape))
}

/// Whether a block of a recursive part has groups or windows: a round has not all the rows for them.
fn groups_rows(plan: &QueryPlan) -> bool {
    match &plan.body {
        Body::Select(select) => select.grouping.is_some() || !select.windows.is_empty(),
        Body::Set(set) => groups_rows(&set.first) || set.rest.iter().any(|(_, _, term)| groups_rows(term)),
        Body::Nested(query) => groups_rows(query),
        Body::Values(_) => false,
    }
}

/// 1060 where two columns of a common table have one name.
fn check_names(shape: &ResultShape) -> SqlResult<()> {
    let mut names = HashSet::new();
    for column in &shape.columns {
        governor::tick()?;
        if !names.insert(column.name.to_lowercase()) {
            return Err(SqlError::new(ErrorKind::DupFieldName, &[&column.name]));
        }
    }
    Ok(())
}

/// Whether a FROM clause anywhere in the query names the table.
fn refers_to(mut query: ast::Query, name: &ast::Ident) -> bool {
    let mut refers = false;
    query.for_each_table_name(&mut |table| refers |= table.schema.is_none() && table.name.is(name));
    refers
}

/// The columns of a derived table under its column list; 1353's kin for a list of another length.
pub fn renamed(shape: &Arc<ResultShape>, names: &[ast::Ident], table: &str) -> SqlResult<Arc<ResultShape>> {
    if names.is_empty() {
        return Ok(shape.clone());
    }
    if names.len() != shape.columns.len() {
        return Err(SqlError::new(ErrorKind::ViewWrongList, &[&table]));
    }
    let columns = shape.columns.iter().zip(names).map(|(column, name)| ResultColumn {
        name: name.as_str().to_owned(),
        ..column.clone()
    });
    Ok(ResultShape::new(columns.collect()))
}
