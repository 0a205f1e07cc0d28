//! Changes of the rows of one table, bound: INSERT, UPDATE, DELETE.

use std::sync::Arc;

use sql_expr::Expr;
use sql_expr::sort::SortKey;
use types::Value;

use crate::access::AccessPath;
use crate::foreign_keys::ForeignKeys;
use crate::query::QueryPlan;
use crate::table::Table;

/// A bound INSERT.
#[derive(Debug)]
pub struct InsertPlan {
    pub table: Arc<Table>,
    pub rules: WriteRules,
    pub foreign_keys: Option<Arc<ForeignKeys>>,
    /// For each column of a source row, the table's column it goes to.
    pub columns: Vec<usize>,
    /// For each column of the table without a value in the source: where it comes from.
    pub defaults: Vec<(usize, InsertValue)>,
    /// What a row is before its list is looked at, where expressions of the list read columns: a constant default for each column
    /// that has one.
    pub before: Option<Vec<Value>>,
    /// Defaults that other columns' values are computed into, in order.
    pub computed_defaults: Vec<(usize, InsertValue)>,
    pub source: Source,
    pub ignore: bool,
    pub on_duplicate: OnDuplicate,
    /// The tables whose rows its queries lock.
    pub locked: Vec<Arc<Table>>,
    /// The view that it names in place of the table, as `database.view`.
    pub view: Option<String>,
}

/// Where the rows come from.
#[derive(Debug)]
pub enum Source {
    Values(Vec<Vec<InsertValue>>),
    Query(Box<SourceQuery>),
}

/// The query of INSERT … SELECT.
#[derive(Debug)]
pub struct SourceQuery {
    pub plan: QueryPlan,
    /// Its rows are complete before the first is inserted.
    pub reads_target: bool,
    /// They are of a moment of the past.
    pub is_past: bool,
}

/// A value of a VALUES list.
#[derive(Debug, Clone)]
pub enum InsertValue {
    Literal(Value),
    Param(usize),
    /// An expression over the columns before it in the list.
    Expr(Expr),
    /// `DEFAULT`, a constant.
    Default(Value),
    /// `DEFAULT` of a column without one: 1364.
    NoDefault,
    /// The next automatic id.
    AutoIncrement,
    /// Computed later.
    Generated,
}

impl InsertPlan {
    /// Whether its rows are a list, and no query's.
    pub fn lists_rows(&self) -> bool {
        matches!(self.source, Source::Values(_))
    }

    /// Whether the answer counts records: lists of several rows and queries.
    pub fn counts_records(&self) -> bool {
        match &self.source {
            Source::Values(rows) => rows.len() > 1,
            Source::Query(_) => true,
        }
    }
}

/// What happens to a row whose key is taken.
#[derive(Debug)]
pub enum OnDuplicate {
    Fail,
    /// REPLACE.
    Replace,
    /// `ON DUPLICATE KEY UPDATE`: assignments over the old row followed by the new one.
    Update(Vec<Assignment>),
}

/// A bound UPDATE of one table.
#[derive(Debug)]
pub struct UpdatePlan {
    pub target: Target,
    pub rules: WriteRules,
    pub foreign_keys: Option<Arc<ForeignKeys>>,
    pub assignments: Vec<Assignment>,
    pub ignore: bool,
    /// The tables whose rows its queries lock.
    pub locked: Vec<Arc<Table>>,
}

/// `column = value`; later assignments see the columns that earlier ones have set.
#[derive(Debug, Clone)]
pub struct Assignment {
    pub column: usize,
    pub value: Expr,
}

/// A bound DELETE from one table.
#[derive(Debug)]
pub struct DeletePlan {
    pub target: Target,
    pub foreign_keys: Option<Arc<ForeignKeys>>,
    pub ignore: bool,
    /// The tables whose rows its queries lock.
    pub locked: Vec<Arc<Table>>,
}

/// Which rows to change, and in which order.
#[derive(Debug)]
pub struct Target {
    pub path: AccessPath,
    /// What qualifies the table's columns.
    pub alias: String,
    /// Columns that the conditions and the order look at.
    pub needed: Vec<usize>,
    pub order: Vec<SortKey>,
    pub limit: Option<Expr>,
}

/// A table's rules for rows, bound once per plan.
#[derive(Debug, Clone, Default)]
pub struct WriteRules {
    /// In an order in which each finds those it needs.
    pub generated: Vec<Generated>,
    /// Enforced CHECK constraints.
    pub checks: Vec<Check>,
    /// Of the view that the statement changes rows through, over the row.
    pub views: Vec<ViewRule>,
}

/// What a view WITH CHECK OPTION lets through: rows that it shows.
#[derive(Debug, Clone)]
pub struct ViewRule {
    /// The view that the statement names.
    pub database: String,
    pub view: String,
    pub condition: Expr,
}

/// A generated column.
#[derive(Debug, Clone)]
pub struct Generated {
    pub column: usize,
    /// Over the row.
    pub expr: Expr,
    pub sources: Sources,
}

/// An enforced CHECK constraint.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: String,
    /// Over the row.
    pub condition: Expr,
    pub sources: Sources,
}

/// The columns that something depends on, by generated columns, too.
#[derive(Debug, Clone)]
pub struct Sources(pub Vec<usize>);

impl Sources {
    /// Whether a statement that assigns these may change it.
    pub fn have_any_of(&self, assignments: &[Assignment]) -> bool {
        self.have_any(assignments.iter().map(|assignment| assignment.column))
    }

    pub fn have_any(&self, mut columns: impl Iterator<Item = usize>) -> bool {
        columns.any(|column| self.0.contains(&column))
    }
}

impl InsertValue {
    /// Whether the value may depend on the row's other columns, which must be there first.
    pub fn is_expression(&self) -> bool {
        matches!(self, InsertValue::Expr(_))
    }
}

impl Target {
    pub fn table(&self) -> &Table {
        &self.path.table
    }
}
