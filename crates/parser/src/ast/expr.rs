//! Expressions.
//!
//! [`Expr`] is 24 bytes: literals and short things are inline, everything else is one box. `AND` and `OR` are flat lists.

use super::{ColumnName, DataType, Ident, Local, OrderItem, Query};

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Literal(Literal),
    /// The n-th `?` of the statement, from 0.
    Param(u32),
    Column(Box<ColumnName>),
    /// A variable of the stored program around.
    Local(Box<Local>),
    /// `@name`
    UserVar(Ident),
    /// `@@[scope.]name`
    SystemVar(Box<SystemVar>),
    /// `@name := value`
    Assign(Box<Assign>),

    /// Two or more operands.
    And(Box<[Expr]>),
    /// Two or more operands.
    Or(Box<[Expr]>),
    Unary(Box<Unary>),
    Binary(Box<Binary>),
    Is(Box<Is>),
    Between(Box<Between>),
    InList(Box<InList>),
    InSubquery(Box<InSubquery>),
    Like(Box<Like>),
    /// `REGEXP`, `RLIKE`
    Regexp(Box<Regexp>),
    /// `value MEMBER OF (json)`
    MemberOf(Box<MemberOf>),
    /// `left op ALL|ANY (query)`
    Quantified(Box<Quantified>),
    Exists(Box<Query>),
    /// A scalar or row subquery.
    Subquery(Box<Query>),
    /// `(a, b)` and `ROW(a, b)`: two or more, or one in `ROW(a)` of a `VALUES` list only.
    Row(Box<[Expr]>),
    Case(Box<Case>),
    Collate(Box<Collate>),

    /// Any function that has no syntax of its own, native, loadable or stored.
    Function(Box<FunctionCall>),
    Aggregate(Box<Aggregate>),
    /// A function that exists only with `OVER`.
    Window(Box<WindowCall>),
    Cast(Box<Cast>),
    /// `CONVERT(value USING charset)`
    ConvertUsing(Box<ConvertUsing>),
    /// `date ± INTERVAL amount unit` in all its spellings (`DATE_ADD`, `ADDDATE`, `TIMESTAMPADD`, ...).
    DateArith(Box<DateArith>),
    Extract(Box<Extract>),
    TimestampDiff(Box<TimestampDiff>),
    GetFormat(Box<GetFormat>),
    Trim(Box<Trim>),
    /// `CHAR(n, ... [USING charset])`
    Char(Box<CharFn>),
    WeightString(Box<WeightString>),
    MatchAgainst(Box<MatchAgainst>),
    JsonValue(Box<JsonValue>),

    /// `DEFAULT` as a value of INSERT, UPDATE or SET.
    Default,
    /// `DEFAULT(column)`
    DefaultOf(Box<ColumnName>),
    /// `VALUES(column)` in `ON DUPLICATE KEY UPDATE`.
    InsertValue(Box<ColumnName>),
}

/// A constant of the statement's text. `TRUE` and `FALSE` are kept apart from 1 and 0 for `IS` and for printing.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    /// An integer that fits 64 bits. The sign, if any, is a [`UnaryOp::Minus`] around it.
    Int(u64),
    /// Digits with an optional point, exact; also an integer beyond 64 bits. Never a sign or an exponent.
    Decimal(Box<str>),
    /// With an exponent: a DOUBLE.
    Float(Box<str>),
    /// Unescaped; in the connection's character set.
    String(Box<[u8]>),
    /// `_charset'...'`, `_charset X'..'`, `N'...'` (which is `_utf8mb3`).
    Introduced(Box<IntroducedString>),
    /// `X'4D'`, `0x4D`: a binary string, or a number where one is wanted.
    Hex(Box<[u8]>),
    /// `B'101'`, `0b101`: like [`Literal::Hex`], right aligned.
    Bit(Box<[u8]>),
    /// `DATE '...'`, `{d '...'}`
    Date(Box<[u8]>),
    /// `TIME '...'`, `{t '...'}`
    Time(Box<[u8]>),
    /// `TIMESTAMP '...'`, `{ts '...'}`
    Timestamp(Box<[u8]>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct IntroducedString {
    /// Without the underscore, lower case.
    pub charset: Ident,
    pub value: Box<[u8]>,
    pub form: IntroducedForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntroducedForm {
    Text,
    Hex,
    Bit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VarScope {
    Global,
    /// `SESSION` and `LOCAL`.
    Session,
    Persist,
    PersistOnly,
}

/// `@@scope.name`; `name` may have a component before it (`@@hotcache.key_buffer_size`).
#[derive(Debug, Clone, PartialEq)]
pub struct SystemVar {
    /// None when not written: the session's value, or the global one where there is no other.
    pub scope: Option<VarScope>,
    pub component: Option<Ident>,
    pub name: Ident,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Assign {
    pub name: Ident,
    pub value: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `NOT`, and `!`, which binds tighter.
    Not,
    Minus,
    Plus,
    /// `~`
    BitNot,
    /// `BINARY expr`
    Binary,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Unary {
    pub op: UnaryOp,
    pub operand: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Xor,
    Eq,
    /// `<=>`
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    SoundsLike,
    BitOr,
    BitAnd,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Add,
    Sub,
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    /// `%`, `MOD`
    Mod,
}

impl BinaryOp {
    /// One of `= <=> <> < <= > >=`.
    pub fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(self, Eq | NullSafeEq | Ne | Lt | Le | Gt | Ge)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Binary {
    pub op: BinaryOp,
    pub left: Expr,
    pub right: Expr,
}

/// `operand IS [NOT] test`
#[derive(Debug, Clone, PartialEq)]
pub struct Is {
    pub operand: Expr,
    pub test: IsTest,
    pub negated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IsTest {
    Null,
    True,
    False,
    Unknown,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Between {
    pub operand: Expr,
    pub low: Expr,
    pub high: Expr,
    pub negated: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct InList {
    pub operand: Expr,
    pub list: Vec<Expr>,
    pub negated: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct InSubquery {
    pub operand: Expr,
    pub query: Query,
    pub negated: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Like {
    pub operand: Expr,
    pub pattern: Expr,
    pub escape: Option<Expr>,
    pub negated: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Regexp {
    pub operand: Expr,
    pub pattern: Expr,
    pub negated: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MemberOf {
    pub operand: Expr,
    pub array: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantifier {
    All,
    /// `ANY` and `SOME`.
    Any,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Quantified {
    /// A comparison.
    pub op: BinaryOp,
    pub quantifier: Quantifier,
    pub left: Expr,
    pub query: Query,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    pub operand: Option<Expr>,
    /// (WHEN, THEN), at least one.
    pub whens: Vec<(Expr, Expr)>,
    pub otherwise: Option<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Collate {
    pub operand: Expr,
    pub collation: Ident,
}

/// `[schema.]name(args)`. Synonyms that are grammar, not functions, are folded: `NOW`, `CURDATE`, `CURTIME`,
/// `CURRENT_USER`, `UTC_DATE`, `UTC_TIME`, `UTC_TIMESTAMP`, `SUBSTRING`, `LOCATE` (from `POSITION`), `JSON_EXTRACT` and
/// `JSON_UNQUOTE` (from `->`, `->>`), `CONCAT` (from `||` under PIPES_AS_CONCAT). Others keep the name as written, in the writer's case.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    pub schema: Option<Ident>,
    pub name: Ident,
    pub args: Vec<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateFn {
    /// No argument stands for `COUNT(*)`.
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    /// `STD`, `STDDEV`, `STDDEV_POP`
    StddevPop,
    StddevSamp,
    /// `VARIANCE`, `VAR_POP`
    VarPop,
    VarSamp,
    GroupConcat,
    JsonArrayAgg,
    JsonObjectAgg,
    StCollect,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    pub function: AggregateFn,
    pub distinct: bool,
    pub args: Vec<Expr>,
    /// `GROUP_CONCAT` only.
    pub order_by: Vec<OrderItem>,
    /// `GROUP_CONCAT` only; None stands for `','`.
    pub separator: Option<Box<[u8]>>,
    pub over: Option<Over>,
}

impl Aggregate {
    /// Without what only `GROUP_CONCAT` has, over the rows of a group.
    pub fn of(function: AggregateFn, distinct: bool, args: Vec<Expr>) -> Aggregate {
        Aggregate {
            function,
            distinct,
            args,
            order_by: Vec::new(),
            separator: None,
            over: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowFn {
    RowNumber,
    Rank,
    DenseRank,
    CumeDist,
    PercentRank,
    Ntile,
    Lead,
    Lag,
    FirstValue,
    LastValue,
    NthValue,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    pub function: WindowFn,
    pub args: Vec<Expr>,
    /// `IGNORE NULLS` (`RESPECT NULLS` is the default).
    pub ignore_nulls: bool,
    /// `NTH_VALUE(..) FROM LAST`
    pub from_last: bool,
    pub over: Over,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    /// `OVER name`
    Name(Ident),
    /// `OVER (spec)`
    Spec(WindowSpec),
}

/// `([name] [PARTITION BY ..] [ORDER BY ..] [frame])`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WindowSpec {
    pub base: Option<Ident>,
    pub partition_by: Vec<OrderItem>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<Frame>,
}

/// `unit start` and `unit BETWEEN start AND end`.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    pub end: Option<FrameBound>,
    pub exclude: Option<FrameExclusion>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(FrameOffset),
    CurrentRow,
    Following(FrameOffset),
    UnboundedFollowing,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FrameOffset {
    /// A number literal or parameter.
    Rows(Expr),
    Interval(Expr, IntervalUnit),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameExclusion {
    CurrentRow,
    Group,
    Ties,
    NoOthers,
}

/// `CAST(operand AS type)`, `CONVERT(operand, type)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cast {
    pub operand: Expr,
    /// One of the cast types: [`crate::ast::TypeName`] `Binary`, `Char`, `Date`, `Time`, `DateTime`, `Decimal`, `Double`,
    /// `Float`, `Json`, `Year`, a spatial type, or `BigInt` (`SIGNED`, or `UNSIGNED` with the flag).
    pub target: DataType,
    /// `CAST(.. AS type ARRAY)`, in functional key parts.
    pub array: bool,
    /// `CAST(operand AT TIME ZONE [INTERVAL] '...' AS DATETIME)`
    pub at_time_zone: Option<Box<[u8]>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ConvertUsing {
    pub operand: Expr,
    /// Lower case.
    pub charset: Ident,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    /// Whether its amount is one number.
    pub fn is_simple(self) -> bool {
        use IntervalUnit::*;
        matches!(
            self,
            Microsecond | Second | Minute | Hour | Day | Week | Month | Quarter | Year
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DateOp {
    Add,
    Sub,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DateArith {
    pub op: DateOp,
    pub date: Expr,
    pub amount: Expr,
    pub unit: IntervalUnit,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Extract {
    pub unit: IntervalUnit,
    pub operand: Expr,
}

/// `TIMESTAMPDIFF(unit, from, to)`
#[derive(Debug, Clone, PartialEq)]
pub struct TimestampDiff {
    pub unit: IntervalUnit,
    pub from: Expr,
    pub to: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TemporalKind {
    Date,
    Time,
    /// `DATETIME` and `TIMESTAMP`.
    DateTime,
}

/// `GET_FORMAT(DATE, 'EUR')`
#[derive(Debug, Clone, PartialEq)]
pub struct GetFormat {
    pub kind: TemporalKind,
    pub region: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// `TRIM([side] [remove] [FROM] operand)`
#[derive(Debug, Clone, PartialEq)]
pub struct Trim {
    pub side: TrimSide,
    /// None stands for a space.
    pub remove: Option<Expr>,
    pub operand: Expr,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CharFn {
    pub args: Vec<Expr>,
    /// Lower case.
    pub charset: Option<Ident>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WeightString {
    pub operand: Expr,
    pub cast: Option<WeightStringAs>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightStringAs {
    Char(u32),
    Binary(u32),
}

#[derive(Debug, Clone, PartialEq)]
pub struct MatchAgainst {
    pub columns: Vec<ColumnName>,
    pub against: Expr,
    pub mode: MatchMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchMode {
    /// The default, and `IN NATURAL LANGUAGE MODE`.
    NaturalLanguage,
    /// `[IN NATURAL LANGUAGE MODE] WITH QUERY EXPANSION`
    QueryExpansion,
    Boolean,
}

/// `JSON_VALUE(document, path [RETURNING type] [.. ON EMPTY] [.. ON ERROR])`
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue {
    pub document: Expr,
    pub path: Expr,
    pub returning: Option<DataType>,
    pub on_empty: Option<JsonOnResponse>,
    pub on_error: Option<JsonOnResponse>,
}

/// What `JSON_VALUE` and `JSON_TABLE` give when there is no value, or a wrong one.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonOnResponse {
    Error,
    Null,
    Default(Expr),
}

const _: () = assert!(size_of::<Expr>() == 24);
