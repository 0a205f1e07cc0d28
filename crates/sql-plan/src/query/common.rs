//! Common tables: what WITH gives names to.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parser::ast;
use sql_api::result::{ResultColumn, ResultShape};
use sql_expr::Scope;
use types::{ErrorKind, SqlError, SqlResult};

use super::QueryPlan;
use super::join::DerivedSource;
use crate::planner::Planner;

/// The common tables (`WITH`) that a query sees.
#[derive(Debug, Clone, Default)]
pub struct CommonTables {
    by_name: HashMap<String, CommonTable>,
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

    pub fn get(&self, name: &ast::TableName) -> Option<&CommonTable> {
        if name.schema.is_some() {
            None
        } else {
            self.by_name.get(&name.name.to_lowercase())
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
    for (table, _) in with.tables.iter().zip(wanted).filter(|(_, wanted)| *wanted) {
        governor::tick()?;
        let plan = || {
            if with.recursive && refers_to(&table.query, &table.name) {
                return plan_recursive(planner, table, &common, outer);
            }
            let plan = super::plan_in(planner, &table.query, &common, super::reborrow(outer))?;
            let shape = renamed(&plan.shape, &table.columns, &table.name)?;
            Ok((CommonSource::Query(Arc::new(plan)), shape))
        };
        let ((source, shape), levels) = planner.views.nesting.below(plan)?;
        let planned = CommonTable {
            source,
            shape,
            levels,
            around,
        };
        common.by_name.insert(table.name.to_lowercase(), planned);
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
        let is_read = name.contains('`') || names.contains(&name.to_lowercase());
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
        names.insert(piece.to_lowercase());
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
    let is_recursive = |body: &ast::QueryBody| refers_to(&ast::Query::plain(body.clone()), &table.name);
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
    if set.rest.iter().any(|term| term.op != ast::SetOp::Union) {
        return Err(SqlError::not_supported(
            "INTERSECT and EXCEPT in a recursive common table",
        ));
    }
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
    let working = common.by_name.len() + 1;
    let mut inner = common.clone();
    let reference = CommonTable {
        source: CommonSource::Working(working),
        shape: shape.clone(),
        levels: 0,
        around: 0,
    };
    inner.by_name.insert(table.name.to_lowercase(), reference);
    let step_query = combine(&set.rest[split].body, &set.rest[split + 1..]);
    let step = super::plan_in(planner, &step_query, &inner, super::reborrow(outer))?;
    if step.shape.columns.len() != shape.columns.len() {
        return Err(ErrorKind::WrongNumberOfColumnsInSelect.into());
    }
    let plan = RecursivePlan {
        seed,
        step,
        distinct,
        working,
        name,
    };
    Ok((CommonSource::Recursive(Arc::new(plan)), shape))
}

/// Whether a FROM clause anywhere in the query names the table.
fn refers_to(query: &ast::Query, name: &ast::Ident) -> bool {
    // The printed form shows every table reference as a quoted name; a false match only costs the recursive plan.
    let quoted = format!("`{}`", name.as_str());
    query.to_string().to_lowercase().contains(&quoted.to_lowercase())
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
