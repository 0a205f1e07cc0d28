//! How one table's rows are found: which index, which key ranges.
//!
//! The WHERE and ON conditions that speak of one table's columns and of nothing unknown when the table is read become
//! ranges of an index, as in MySQL's "range" and "ref" access. The same description serves a point select, an IN list,
//! an UPDATE and the inner side of a join.
//!
//! * [`conditions`]: what a condition says about a column; [`arrays`]: about the elements of an array;
//! * [`mod@choose`]: the cheapest index for a set of conditions;
//! * [`ranges`]: at execution, operands into encoded key ranges.

pub mod arrays;
pub mod choose;
pub mod conditions;
mod nearest;
pub mod ranges;
mod share;

use std::sync::Arc;

use catalog::IndexDef;
use governor::stepwise::Stepwise;
use sql_expr::Expr;
use store::Cursor;
use types::IndexId;

use crate::table::Table;

pub use arrays::ArrayKeys;
pub use choose::{Choice, Chosen, IndexHints, OrderWish, choose, found_by_words, sort_cost};
pub use conditions::{Bound, ColumnCondition, ColumnTest, IsBound};
pub use ranges::KeyRanges;
pub use share::passing_share;

/// Those that are such, and the others. Gives way, however many they are.
pub fn partition(conditions: Vec<Expr>, mut is_such: impl FnMut(&Expr) -> bool) -> (Vec<Expr>, Vec<Expr>) {
    conditions.into_iter().partition(|condition| {
        governor::pause();
        is_such(condition)
    })
}

/// The chosen way to a table's rows.
#[derive(Debug, Clone)]
pub struct AccessPath {
    pub table: Arc<Table>,
    pub index: IndexId,
    pub spec: RangeSpec,
    /// Conditions that the ranges imply, if every operand has a value that the key can hold. Checked per row where not.
    pub implied: Stepwise<Vec<Expr>>,
    /// Conditions to check on every row.
    pub residual: Stepwise<Vec<Expr>>,
    /// Rows come in the wanted order, reading the index backwards if so.
    pub backward: bool,
    /// Rows come in the order that was wished for, so that no sort is needed.
    pub ordered: bool,
    /// All columns the statement needs are in the index entry.
    pub covering: bool,
    /// The indexes whose ranges the conditions could have narrowed: EXPLAIN's `possible_keys`.
    pub possible: Vec<IndexId>,
    pub estimated_rows: f64,
    pub cost: f64,
}

/// The part of an index to read, with operands not evaluated yet.
#[derive(Debug, Clone)]
pub enum RangeSpec {
    /// The whole index.
    All,
    /// Alternatives for the first columns (an equality has one, an IN list several; all combinations are read), and then
    /// at most one column with ranges.
    Prefix {
        equal: Vec<ColumnTest>,
        then: Option<ColumnTest>,
    },
    /// What a search of the table finds, by its number among those of the table.
    Words(usize),
}

impl AccessPath {
    /// Whether no condition narrows what is read.
    pub fn reads_all(&self) -> bool {
        matches!(self.spec, RangeSpec::All)
    }

    /// The primary keys that the ranges stand for, if each is one key in full. An operand may have no key in the column's order, and
    /// then the ranges are wider than what was planned.
    pub fn primary_keys<'k>(&self, keys: &'k KeyRanges) -> Option<impl Iterator<Item = &'k [u8]> + use<'k>> {
        let whole = self.is_key_read() && keys.exact;
        whole.then(|| keys.ranges.iter().map(|range| range.from.as_slice()))
    }

    /// Whether a row may have several entries in the index that was chosen, or none.
    pub fn is_multi_valued(&self) -> bool {
        self.table.index(self.index).is_some_and(IndexDef::is_multi_valued)
    }

    /// What walks the ranges, in the order in which the path reads them.
    pub fn cursors<'k>(&self, keys: &'k KeyRanges) -> impl Iterator<Item = Cursor> + use<'k> {
        let (ranges, backward) = (&keys.ranges, self.backward);
        (0..ranges.len()).map(move |at| match backward {
            true => Cursor::backward(ranges[ranges.len() - 1 - at].clone()),
            false => Cursor::forward(ranges[at].clone()),
        })
    }

    /// Whether it is planned to read single keys of the primary index.
    pub fn is_key_read(&self) -> bool {
        self.index == IndexId::PRIMARY && self.is_point()
    }

    /// At most one row, as far as the plan can say: every column of a unique key is compared with one value that is not NULL.
    pub fn is_point(&self) -> bool {
        let RangeSpec::Prefix { equal, then: None } = &self.spec else {
            return false;
        };
        let unique = self.table.is_unique(self.index);
        unique
            && equal.len() == self.table.key_column_count(self.index)
            && equal.iter().all(|test| matches!(test, ColumnTest::Equal(_)))
    }

    /// MySQL's word for it in EXPLAIN: `const`, `ref`, `range`, `index` or `ALL`.
    pub fn kind(&self) -> AccessKind {
        match &self.spec {
            _ if self.is_point() => AccessKind::Const,
            RangeSpec::All if self.index == IndexId::PRIMARY && !self.ordered => AccessKind::All,
            RangeSpec::All => AccessKind::Index,
            RangeSpec::Prefix { equal, then: None } if equal.iter().all(ColumnTest::is_single) => AccessKind::Ref,
            RangeSpec::Prefix { .. } => AccessKind::Range,
            RangeSpec::Words(_) => AccessKind::FullText,
        }
    }
}

/// MySQL's join types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    Const,
    EqRef,
    Ref,
    Range,
    Index,
    All,
    FullText,
}

impl AccessKind {
    pub fn name(self) -> &'static str {
        match self {
            AccessKind::Const => "const",
            AccessKind::EqRef => "eq_ref",
            AccessKind::Ref => "ref",
            AccessKind::Range => "range",
            AccessKind::Index => "index",
            AccessKind::All => "ALL",
            AccessKind::FullText => "fulltext",
        }
    }
}
