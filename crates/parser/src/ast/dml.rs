//! Statements that change rows.

use super::{
    Assignment, ColumnName, Expr, FieldFormat, Ident, Limit, LineFormat, ObjectName, OrderItem, Query, TableName,
    TableRef, With,
};

/// INSERT and REPLACE.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub hints: Option<Box<str>>,
    pub verb: InsertVerb,
    pub priority: Option<Priority>,
    pub ignore: bool,
    pub table: TableName,
    pub partitions: Vec<Ident>,
    /// None: all columns, as no list was written, or an empty one.
    pub columns: Option<Vec<ColumnName>>,
    pub source: InsertSource,
    /// `AS alias [(columns)]` of the new row.
    pub row_alias: Option<RowAlias>,
    /// `ON DUPLICATE KEY UPDATE`; empty without.
    pub on_duplicate: Vec<Assignment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InsertVerb {
    Insert,
    Replace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Priority {
    Low,
    High,
    Delayed,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `VALUES (..), (..)`; a row may be empty. [`Expr::Default`] may stand for a value.
    Values(Vec<Vec<Expr>>),
    /// `SET column = value, ...`; `columns` is None then.
    Set(Vec<Assignment>),
    /// `SELECT`, `TABLE t`, `VALUES ROW(..)`.
    Query(Box<Query>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct RowAlias {
    pub name: Ident,
    pub columns: Vec<Ident>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub with: Option<With>,
    pub hints: Option<Box<str>>,
    pub low_priority: bool,
    pub ignore: bool,
    /// One plain table for the single-table form, which alone may have `order_by` and `limit`.
    pub tables: Vec<TableRef>,
    pub assignments: Vec<Assignment>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    /// Never with an offset.
    pub limit: Option<Limit>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    pub with: Option<With>,
    pub hints: Option<Box<str>>,
    pub low_priority: bool,
    pub quick: bool,
    pub ignore: bool,
    pub form: DeleteForm,
    pub filter: Option<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DeleteForm {
    /// `DELETE FROM t [AS alias] [PARTITION (..)] [WHERE ..] [ORDER BY ..] [LIMIT n]`
    Single {
        table: TableName,
        alias: Option<Ident>,
        partitions: Vec<Ident>,
        order_by: Vec<OrderItem>,
        limit: Option<Limit>,
    },
    /// `DELETE a, b FROM refs` and `DELETE FROM a, b USING refs`. Targets are names or aliases in `tables`.
    Multi {
        targets: Vec<TableName>,
        tables: Vec<TableRef>,
    },
}

/// `LOAD DATA` and `LOAD XML`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadData {
    pub xml: bool,
    pub priority: Option<LoadPriority>,
    pub local: bool,
    pub path: Box<str>,
    pub duplicates: Option<OnDuplicateRow>,
    pub table: TableName,
    pub partitions: Vec<Ident>,
    pub charset: Option<Ident>,
    /// `ROWS IDENTIFIED BY '<tag>'`
    pub row_tag: Option<Box<[u8]>>,
    pub fields: FieldFormat,
    pub lines: LineFormat,
    /// `IGNORE n LINES`
    pub skip: u64,
    pub targets: Vec<LoadTarget>,
    pub assignments: Vec<Assignment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoadPriority {
    Low,
    Concurrent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnDuplicateRow {
    Replace,
    Ignore,
}

#[derive(Debug, Clone, PartialEq)]
pub enum LoadTarget {
    Column(ColumnName),
    /// `@name`
    UserVar(Ident),
}

/// `CALL name[(args)]`
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: ObjectName,
    pub args: Vec<Expr>,
}

/// `HANDLER t OPEN | READ .. | CLOSE`
#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    pub table: TableName,
    pub action: HandlerAction,
}

#[derive(Debug, Clone, PartialEq)]
pub enum HandlerAction {
    Open {
        alias: Option<Ident>,
    },
    Close,
    Read {
        scan: HandlerScan,
        filter: Option<Expr>,
        limit: Option<Limit>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum HandlerScan {
    First,
    Next,
    /// `READ index FIRST|NEXT|PREV|LAST`
    Index {
        index: Ident,
        direction: HandlerDirection,
    },
    /// `READ index op (values)`; `op` is `=`, `<=`, `>=`, `<` or `>`.
    Key {
        index: Ident,
        op: super::BinaryOp,
        values: Vec<Expr>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandlerDirection {
    First,
    Next,
    Prev,
    Last,
}
