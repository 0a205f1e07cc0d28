//! SELECT and its relatives: query expressions, table references, CTEs, locking clauses.

use super::{ColumnName, DataType, Expr, Ident, JsonOnResponse, Literal, Local, SourceText, TableName, WindowSpec};

/// A query expression: a body with what applies to the whole of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub with: Option<With>,
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub locks: Vec<Locking>,
    /// `INTO OUTFILE | DUMPFILE | @var, ...`, wherever it was written. Only at the top level of a statement.
    pub into: Option<Box<SelectInto>>,
}

impl Query {
    /// A query that is its body alone.
    pub fn plain(body: QueryBody) -> Self {
        Query {
            with: None,
            body,
            order_by: Vec::new(),
            limit: None,
            locks: Vec::new(),
            into: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    /// `VALUES ROW(..), ROW(..)`
    Values(Vec<Vec<Expr>>),
    /// `TABLE t`
    Table(TableName),
    SetOperation(Box<SetOperation>),
    /// A parenthesised query with an ORDER BY, LIMIT, WITH or lock of its own. (Without any, the parentheses vanish.)
    Query(Box<Query>),
}

/// `first op term op term ...`, to be folded from the left. All operators of one node have one precedence:
/// either every one is INTERSECT or none is.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperation {
    pub first: QueryBody,
    /// At least one.
    pub rest: Vec<SetTerm>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SetTerm {
    pub op: SetOp,
    /// `ALL`; otherwise DISTINCT.
    pub all: bool,
    pub body: QueryBody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetOp {
    Union,
    Intersect,
    Except,
}

/// `WITH [RECURSIVE] name [(columns)] AS (query), ...`
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    pub recursive: bool,
    pub tables: Vec<CommonTable>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    pub name: Ident,
    pub columns: Vec<Ident>,
    pub query: Query,
}

/// One SELECT. Its ORDER BY, LIMIT and locks stand in the [`Query`] around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// The text inside `/*+ ... */`, not interpreted.
    pub hints: Option<Box<str>>,
    pub options: SelectOptions,
    pub items: Vec<SelectItem>,
    /// Comma-separated table references; empty without FROM and for `FROM DUAL`.
    pub from: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub group_by: Vec<OrderItem>,
    /// `GROUP BY .. WITH ROLLUP`, `GROUP BY ROLLUP (..)`
    pub rollup: bool,
    pub having: Option<Expr>,
    /// `WINDOW name AS (spec), ...`
    pub windows: Vec<(Ident, WindowSpec)>,
}

impl Select {
    /// `SELECT * FROM from`
    pub fn all_of(from: Vec<TableRef>) -> Self {
        Select {
            hints: None,
            options: SelectOptions::default(),
            items: vec![SelectItem::Wildcard],
            from,
            filter: None,
            group_by: Vec::new(),
            rollup: false,
            having: None,
            windows: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SelectOptions {
    pub distinct: bool,
    pub high_priority: bool,
    pub straight_join: bool,
    pub sql_small_result: bool,
    pub sql_big_result: bool,
    pub sql_buffer_result: bool,
    pub sql_no_cache: bool,
    pub sql_calc_found_rows: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`
    Wildcard,
    /// `[schema.]table.*`
    TableWildcard(TableName),
    Expr {
        expr: Expr,
        alias: Option<Ident>,
        /// The item as written: the column's name in the result. Absent when `alias` or a plain column gives it.
        text: SourceText,
    },
}

impl SelectItem {
    /// The name MySQL shows over the column (None for the wildcards).
    pub fn column_name(&self) -> Option<&str> {
        match self {
            SelectItem::Expr { alias: Some(alias), .. } => Some(alias),
            SelectItem::Expr {
                expr: Expr::Column(column),
                ..
            } => Some(&column.name),
            SelectItem::Expr {
                expr: Expr::Function(call),
                text,
                ..
            } => match (call.name.eq_ignore_ascii_case("NAME_CONST"), call.args.first()) {
                (true, Some(Expr::Literal(Literal::String(name)))) => std::str::from_utf8(name).ok(),
                _ => Some(text.0.as_deref().unwrap_or("")),
            },
            SelectItem::Expr { text, .. } => Some(text.0.as_deref().unwrap_or("")),
            SelectItem::Wildcard | SelectItem::TableWildcard(_) => None,
        }
    }
}

/// An expression to sort or group by.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

/// `LIMIT [offset,] count`; both are integer literals or parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub count: Expr,
    pub offset: Option<Expr>,
}

/// `FOR UPDATE|SHARE [OF t, ...] [NOWAIT|SKIP LOCKED]`; `LOCK IN SHARE MODE` is `Share` without the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Locking {
    pub strength: LockStrength,
    pub tables: Vec<TableName>,
    pub wait: LockWait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockStrength {
    Update,
    Share,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LockWait {
    #[default]
    Wait,
    NoWait,
    SkipLocked,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SelectInto {
    /// `INTO OUTFILE 'f' [CHARACTER SET cs] [FIELDS ..] [LINES ..]`
    OutFile {
        path: Box<str>,
        charset: Option<Ident>,
        fields: FieldFormat,
        lines: LineFormat,
    },
    DumpFile(Box<str>),
    Variables(Vec<IntoVar>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum IntoVar {
    /// `@name`
    User(Ident),
    /// A variable of the stored program around.
    Local(Local),
    /// A name that no variable in sight has.
    Undeclared(Ident),
}

/// `FIELDS|COLUMNS ...` of LOAD DATA and INTO OUTFILE; None keeps the default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldFormat {
    pub terminated_by: Option<Box<[u8]>>,
    pub enclosed_by: Option<Box<[u8]>>,
    pub optionally_enclosed: bool,
    pub escaped_by: Option<Box<[u8]>>,
}

/// `LINES ...` of LOAD DATA and INTO OUTFILE; None keeps the default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LineFormat {
    pub starting_by: Option<Box<[u8]>>,
    pub terminated_by: Option<Box<[u8]>>,
}

/// One element of FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum TableRef {
    Table(Box<TableFactor>),
    /// `[LATERAL] (query) AS alias [(columns)]`
    Derived(Box<Derived>),
    JsonTable(Box<JsonTable>),
    Join(Box<Join>),
    /// `(a, b)`: a parenthesised list, the operand of a join.
    List(Vec<TableRef>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableFactor {
    pub name: TableName,
    /// `PARTITION (p0, ...)`
    pub partitions: Vec<Ident>,
    pub alias: Option<Ident>,
    /// `AS OF TIMESTAMP moment`, before or behind the alias.
    pub as_of: Option<Box<Expr>>,
    pub index_hints: Vec<IndexHint>,
}

impl TableFactor {
    /// A table by its name alone.
    pub fn plain(name: TableName) -> Self {
        TableFactor {
            name,
            partitions: Vec::new(),
            alias: None,
            as_of: None,
            index_hints: Vec::new(),
        }
    }
}

/// `USE|FORCE|IGNORE INDEX [FOR ..] (names)`; `PRIMARY` is the primary key; `USE INDEX ()` is no index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    pub scope: Option<IndexHintScope>,
    pub indexes: Vec<Ident>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexHintScope {
    Join,
    OrderBy,
    GroupBy,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    pub lateral: bool,
    pub query: Query,
    pub alias: Ident,
    pub columns: Vec<Ident>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub left: TableRef,
    pub right: TableRef,
    pub condition: JoinCondition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// `JOIN`, `INNER JOIN`, `CROSS JOIN`: one thing in MySQL.
    Inner,
    /// `STRAIGHT_JOIN`: inner, and the left side is read first.
    Straight,
    Left,
    Right,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    None,
    On(Expr),
    Using(Vec<Ident>),
    /// `NATURAL`
    Natural,
}

/// `JSON_TABLE(document, path COLUMNS (...)) AS alias`
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    pub document: Expr,
    pub path: Box<[u8]>,
    pub columns: Vec<JsonTableColumn>,
    pub alias: Ident,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JsonTableColumn {
    /// `name FOR ORDINALITY`
    Ordinality(Ident),
    /// `name type [EXISTS] PATH 'path' [on empty] [on error]`
    Path(Box<JsonTablePath>),
    /// `NESTED [PATH] 'path' COLUMNS (...)`
    Nested {
        path: Box<[u8]>,
        columns: Vec<JsonTableColumn>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct JsonTablePath {
    pub name: Ident,
    pub data_type: DataType,
    pub collation: Option<Ident>,
    pub exists: bool,
    pub path: Box<[u8]>,
    pub on_empty: Option<JsonOnResponse>,
    pub on_error: Option<JsonOnResponse>,
}

/// `column = value` of UPDATE, INSERT .. SET and ON DUPLICATE KEY UPDATE.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub column: ColumnName,
    pub value: Expr,
}
