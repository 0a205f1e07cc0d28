//! What the binder asks of the statement around an expression: names, subqueries, aggregates.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use parser::ast;
use types::error::{ErrorKind, SqlError};
use types::{SqlResult, SqlType, Value};

use super::collation::Coercibility;
use super::context::EvalContext;
use super::{AggregateCall, Comparison, Expr};

/// Where an expression stands: the words of 1052 and 1054.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clause {
    FieldList,
    Where,
    On,
    GroupBy,
    Having,
    OrderBy,
    WindowPartition,
    WindowOrder,
    Values,
    /// The document of JSON_TABLE.
    TableFunction,
}

impl Clause {
    pub fn name(self) -> &'static str {
        match self {
            Clause::FieldList | Clause::Values => "field list",
            Clause::Where => "where clause",
            Clause::On => "on clause",
            Clause::GroupBy => "group statement",
            Clause::Having => "having clause",
            Clause::OrderBy => "order clause",
            Clause::WindowPartition => "window partition by",
            Clause::WindowOrder => "window order by",
            Clause::TableFunction => "a table function argument",
        }
    }
}

/// What a column name means.
#[derive(Debug, Clone)]
pub enum Resolved {
    /// A slot of the input row.
    Column { slot: usize, name: Arc<str>, ty: SqlType },
    /// A slot of a row of an enclosing query; depth 1 is the query just outside.
    Outer {
        depth: usize,
        slot: usize,
        name: Arc<str>,
        ty: SqlType,
    },
    /// An expression that is bound already: a column of a merged view, an alias in HAVING or ORDER BY.
    Expr(Box<Expr>),
}

/// The names that an expression can use.
///
/// A scope that belongs to a query inside another also knows the outer ones, and answers [`Resolved::Outer`] for
/// what it found there.
pub trait Scope {
    /// The column of that name. 1052 where several have it, 1054 where none has it ([`unknown_column`]).
    fn resolve(&mut self, column: &ast::ColumnName) -> SqlResult<Resolved>;

    /// What a name means that a query below could not find among its own.
    fn resolve_from_below(&mut self, column: &ast::ColumnName) -> SqlResult<Resolved> {
        self.resolve(column)
    }

    /// Whether what [`resolve_from_below`](Self::resolve_from_below) finds is an item of a select list, by its alias.
    fn is_item_beside(&self, _column: &ast::ColumnName) -> bool {
        false
    }

    /// The names that follow stand inside of an aggregate, until it ends.
    fn begin_aggregate(&mut self) {}

    fn end_aggregate(&mut self) {}

    /// Binds a subquery of the expression. Its outer rows are the rows of this scope.
    fn subquery(&mut self, _query: &ast::Query) -> SqlResult<Arc<dyn Subquery>> {
        Err(SqlError::not_supported("subqueries here"))
    }

    /// The stored function of a call's name, as a subquery with one column; `None`: there is none, or none may stand here. 1318 for another number of
    /// arguments, 1370 for who may not run it.
    fn stored_function(&mut self, _call: &ast::FunctionCall) -> SqlResult<Option<Arc<dyn Subquery>>> {
        Ok(None)
    }

    /// Takes an aggregate whose arguments are bound, and says what stands for its result (mostly
    /// [`ExprKind::Aggregate`](super::ExprKind::Aggregate)). 1111 where aggregates are not allowed.
    fn aggregate(&mut self, _call: AggregateCall) -> SqlResult<Expr> {
        Err(ErrorKind::InvalidGroupFuncUse.into())
    }

    /// Takes an aggregate of a query below, bound `depth` queries below the one whose columns it reads, which is this one or that `levels`
    /// above. `None` where none of these may compute it.
    fn aggregate_from_below(
        &mut self,
        _levels: usize,
        _depth: usize,
        _call: &AggregateCall,
    ) -> SqlResult<Option<Expr>> {
        Ok(None)
    }

    /// Takes a window function, or an aggregate with `OVER`. 3593 where they are not allowed.
    fn window(&mut self, call: &ast::Expr) -> SqlResult<Expr> {
        Err(SqlError::new(ErrorKind::WindowInvalidUse, &[&window_name(call)]))
    }

    /// `VALUES(column)`: the value that INSERT .. ON DUPLICATE KEY UPDATE would have stored. NULL everywhere else.
    fn insert_value(&mut self, column: &ast::ColumnName) -> SqlResult<Expr> {
        self.resolve(column)?;
        Ok(Expr::null())
    }

    /// `DEFAULT(column)`. 1364 where the column has none.
    fn default_of(&mut self, column: &ast::ColumnName) -> SqlResult<Expr> {
        self.resolve(column)?;
        Err(SqlError::new(ErrorKind::NoDefaultForField, &[&column.name.as_str()]))
    }

    /// `MATCH (columns) AGAINST (…)`, of which the second part is bound.
    fn full_text(&mut self, _search: &ast::MatchAgainst, _against: Expr) -> SqlResult<Expr> {
        Err(SqlError::not_supported("MATCH … AGAINST here"))
    }

    /// Whether operations on literals stay as they are, for a literal may stand for something else.
    fn keeps_operations(&self) -> bool {
        false
    }

    /// Where the expression stands.
    fn clause(&self) -> Clause {
        Clause::FieldList
    }

    /// How many queries stand in each other, down to this one.
    fn depth(&self) -> usize {
        1
    }

    /// A query below, or this one, reads a row of the query of that depth.
    fn note_read_of(&mut self, _depth: usize) {}
}

/// 1054 for a name as it was written.
pub fn unknown_column(column: &ast::ColumnName, clause: Clause) -> SqlError {
    SqlError::new(ErrorKind::BadField, &[&written(column), &clause.name()])
}

/// For a name where there is no table at all: 1109 where it is qualified.
pub fn unknown_without_tables(column: &ast::ColumnName, clause: Clause) -> SqlError {
    match &column.table {
        Some(table) => SqlError::new(ErrorKind::UnknownTable, &[&table.as_str(), &clause.name()]),
        None => unknown_column(column, clause),
    }
}

/// 1052 for a name as it was written.
pub fn ambiguous_column(column: &ast::ColumnName, clause: Clause) -> SqlError {
    SqlError::new(ErrorKind::NonUniq, &[&written(column), &clause.name()])
}

fn written(column: &ast::ColumnName) -> String {
    [column.schema.as_ref(), column.table.as_ref(), Some(&column.name)]
        .into_iter()
        .flatten()
        .map(|part| part.as_str())
        .collect::<Vec<_>>()
        .join(".")
}

fn window_name(call: &ast::Expr) -> String {
    match call {
        ast::Expr::Window(window) => format!("{:?}", window.function),
        ast::Expr::Aggregate(aggregate) => format!("{:?}", aggregate.function),
        _ => "window".to_owned(),
    }
    .to_lowercase()
}

/// A scope without any column: `SELECT 1`, `SET @a = 1`.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoColumns;

impl Scope for NoColumns {
    fn resolve(&mut self, column: &ast::ColumnName) -> SqlResult<Resolved> {
        Err(unknown_without_tables(column, self.clause()))
    }
}

/// A planned subquery. The evaluator has it run for the current row by the statement's [`SubqueryRunner`].
pub trait Subquery: fmt::Debug + Send + Sync {
    /// The types of its columns.
    fn columns(&self) -> &[SqlType];

    /// The standing of a column's collation.
    fn coercibility(&self, column: usize) -> Coercibility;

    /// Whether its result depends on an enclosing query's row.
    fn is_correlated(&self) -> bool;

    /// What it reads of the row just around it, as far as that is known.
    fn outer_columns(&self) -> &[Expr] {
        &[]
    }

    /// The planner's own type behind it, for who runs it and for EXPLAIN.
    fn as_any(&self) -> &dyn std::any::Any;

    /// Only whether it has rows will be asked.
    fn note_existence(&self) {}

    /// Whether its result may change from one run to the next within a statement.
    fn is_deterministic(&self) -> bool {
        true
    }
}

/// Runs subqueries: the executor, with the statement's transaction.
pub trait SubqueryRunner {
    /// Gives the rows one after another, until `row` breaks off. `ctx` has the current row as its innermost outer one. The rows
    /// of a subquery that is not correlated are kept for the next run.
    fn run(
        &self,
        subquery: &dyn Subquery,
        ctx: &EvalContext<'_>,
        row: &mut dyn FnMut(&[Value]) -> SqlResult<ControlFlow<()>>,
    ) -> SqlResult<()>;

    /// Whether `key` equals a row, where the subquery can tell faster than by giving all rows (say, from a hash table over
    /// its kept rows); `hows` has the comparison of each column. `Ok(None)` is unknown: a NULL in the way. `None`: ask for
    /// the rows.
    fn contains(
        &self,
        subquery: &dyn Subquery,
        ctx: &EvalContext<'_>,
        hows: &[Comparison],
        key: &[Value],
    ) -> Option<SqlResult<Option<bool>>>;

    /// Calls a stored function, which was bound as a subquery. `once`: its value is kept for the next call of the statement.
    fn call(&self, function: &dyn Subquery, args: &[Value], once: bool, ctx: &EvalContext<'_>) -> SqlResult<Value>;
}
