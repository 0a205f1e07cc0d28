//! The tables whose columns a query's names may mean.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use catalog::{Names, Place, Privileges, TableDef, ViewDef, same_name};
use parser::ast;
use sql_api::result::ResultColumn;
use sql_expr::Expr;
use types::SqlResult;

use super::QueryPlan;
use super::common::RecursivePlan;
use super::join::{DerivedRow, DerivedSource};
use super::json_table::JsonTablePlan;
use crate::access::ArrayKeys;
use crate::columns::table_column;
use crate::full_text::{Match, relevance_type, slots_of};
use crate::node::Authorizer;
use crate::planner::Planner;
use crate::table::{NAMES_COMPARED, Table};
use crate::views::Question;

/// One table of a FROM clause.
#[derive(Debug)]
pub struct ScopeTable {
    /// What qualifies its columns.
    pub alias: String,
    /// The database of a base table.
    pub database: Option<String>,
    pub columns: Vec<ResultColumn>,
    /// Of the columns, once somebody looks for one among many; a base table has its own.
    pub(super) names: OnceCell<Names>,
    /// Invisible columns are found by name and not by `*`. In order.
    pub invisible: Vec<usize>,
    /// The slot of the first column.
    pub offset: usize,
    pub source: TableSource,
    /// Columns that somebody asked for.
    pub used: Vec<bool>,
    /// The arrays of a base table that indexes have the elements of, once they are looked for.
    pub arrays: ArrayKeys,
    /// The searches of a base table: the first of these has the slot behind those of its columns.
    pub matches: Vec<Match>,
    /// Of a table that a merged view brought in.
    pub below: Option<BelowView>,
    /// Whose row its own rows depend on, of a derived table.
    pub reads: DerivedRow,
    /// The tables before it that a LATERAL one reads.
    pub follows: Vec<usize>,
}

/// A table of a merged view: its own names mean nothing in the query around it.
#[derive(Debug, Clone)]
pub struct BelowView {
    /// The outermost view, by its place among the tables.
    pub view: usize,
    /// What the innermost view may do with the table.
    pub access: Arc<dyn Authorizer>,
}

/// The slots of a merged view's columns begin here. They stand for expressions over the slots of its tables, and no row has them.
pub(super) const MERGED_SLOTS: usize = 1 << 40;

#[derive(Debug, Clone)]
pub enum TableSource {
    Base {
        table: Arc<Table>,
        hints: Vec<ast::IndexHint>,
    },
    Derived(Arc<QueryPlan>),
    Working(usize),
    Recursive(Arc<RecursivePlan>),
    /// JSON_TABLE
    Json(Arc<JsonTablePlan>),
    /// A table of information_schema and its like, by database and name.
    Virtual(&'static dyn crate::node::VirtualTable),
    /// A view that is a part of this query: its columns over the slots of its tables.
    Merged {
        view: Arc<ViewDef>,
        columns: Vec<Expr>,
        /// What is still to be asked of whoever reads its columns.
        questions: Arc<[Question]>,
        /// What holds for rows that are changed through it, by its CHECK OPTION and by those of the views below: over the slots of
        /// its tables.
        checked: Arc<[Expr]>,
    },
}

impl ScopeTable {
    /// A table of its own, all of whose columns can be seen, and whose rows depend on no other's.
    pub fn new(alias: &str, columns: Vec<ResultColumn>, offset: usize, source: TableSource) -> ScopeTable {
        ScopeTable {
            alias: alias.to_owned(),
            database: None,
            invisible: Vec::new(),
            offset,
            source,
            used: vec![false; columns.len()],
            arrays: ArrayKeys::default(),
            matches: Vec::new(),
            columns,
            names: OnceCell::new(),
            below: None,
            reads: DerivedRow::None,
            follows: Vec::new(),
        }
    }

    /// Whether it fills slots of the wide row.
    pub fn has_rows(&self) -> bool {
        !matches!(self.source, TableSource::Merged { .. })
    }

    /// The derived table whose rows depend on the row around this query. What a WITH clause makes is its query's to renew.
    pub fn renewed(&self) -> Option<DerivedSource> {
        match (&self.source, self.reads) {
            (TableSource::Derived(plan), DerivedRow::Around { levels: 0 }) => Some(DerivedSource::Query(plan.clone())),
            _ => None,
        }
    }

    /// Where a column of that name stands. A derived table may have two of one name.
    pub(super) fn place(&self, name: &str) -> Option<Place> {
        if let TableSource::Base { table, .. } = &self.source {
            let is_repeated = false;
            return table.column(name).map(|first| Place { first, is_repeated });
        }
        let columns = &self.columns;
        if columns.len() > NAMES_COMPARED {
            let named = || columns.iter().map(|column| column.name.as_str()).collect::<Names>();
            return self.names.get_or_init(named).get(name);
        }
        let is_named = |column: &ResultColumn| same_name(&column.name, name);
        let first = columns.iter().position(is_named)?;
        Some(Place {
            first,
            is_repeated: columns[first + 1..].iter().any(is_named),
        })
    }

    /// The slots that `*` means.
    pub fn shown(&self) -> impl Iterator<Item = usize> {
        let is_shown = |slot: &usize| self.invisible.binary_search(&(slot - self.offset)).is_err();
        self.slots().filter(is_shown)
    }

    /// Whether names of the query may mean it.
    pub fn is_visible(&self) -> bool {
        self.below.is_none()
    }

    /// Whether a qualifier `[schema.]name` means it.
    pub fn is_named(&self, schema: Option<&ast::Ident>, name: &ast::Ident) -> bool {
        self.is_visible()
            && self.alias == name.as_str()
            && schema.is_none_or(|schema| self.database.as_deref() == Some(schema.as_str()))
    }

    /// 1142 where one of the privileges is missing; 1356 where a view's definer lacks it.
    pub fn check_privileges(&self, planner: &Planner<'_>, def: &TableDef, privileges: Privileges) -> SqlResult<()> {
        match &self.below {
            Some(below) => below.access.check_table(&def.database, &def.name, privileges),
            None => planner.check_table(&def.database, &def.name, privileges),
        }
    }

    pub fn slots(&self) -> Range<usize> {
        self.offset..self.offset + self.columns.len()
    }

    /// The slots of what is stored, without those of searches.
    pub fn column_slots(&self) -> Range<usize> {
        match &self.source {
            TableSource::Base { table, .. } => self.offset..self.offset + table.def.columns.len(),
            _ => self.slots(),
        }
    }

    /// The slot of a search, by its number.
    pub fn match_slot(&self, number: usize) -> usize {
        self.column_slots().end + number
    }
}

/// The columns of a base table under an alias, and what its searches give.
pub fn base_columns(table: &Table, alias: &str) -> Vec<ResultColumn> {
    let columns = (0..table.def.columns.len()).map(|position| table_column(&table.def, alias, position));
    let searches = (0..slots_of(table)).map(|_| ResultColumn::computed("", relevance_type()));
    columns.chain(searches).collect()
}

/// `` `database`.`table`.`column` ``, as messages and EXPLAIN show a column.
pub(super) fn quoted_name(column: &ResultColumn) -> String {
    let parts = [&column.database, &column.table, &column.name]
        .into_iter()
        .filter(|part| !part.is_empty());
    parts.map(|part| format!("`{part}`")).collect::<Vec<_>>().join(".")
}
