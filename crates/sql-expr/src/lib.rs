//! Expressions: the one binder and the one evaluator, with MySQL's semantics, behind every path (WHERE, select lists, SET
//! clauses, defaults, generated columns, CHECK).
//!
//! ```text
//!   ast::Expr ──Binder──▶ Expr (typed, columns are slots of a row) ──eval(row, ctx)──▶ Value
//!                 │                                                        │
//!               Scope: names, subqueries, aggregates            EvalContext: session, warnings, outer rows
//! ```
//!
//! All decisions that depend on types alone are made once, when binding: how two operands compare ([`compare`]), in which
//! domain arithmetic runs ([`arithmetic`]), which collation a function's result has ([`collation`]), and a constant
//! operand is converted to the other side's type, so that evaluation only computes and an index can be used.
//!
//! In reading order:
//!
//! * this file: [`Expr`] and its kinds;
//! * [`scope`]: what a binder asks of the statement around the expression;
//! * [`context`]: what an evaluation asks of the session around the statement;
//! * [`bind`]: from the parser's tree to [`Expr`], with types;
//! * [`eval`]: the evaluator; `choice`: what IF, CASE and NULLIF give; `subquery`: what the rows of queries inside are asked for;
//! * [`compare`], [`arithmetic`], [`convert`], [`collation`]: MySQL's rules for comparing, computing, converting and mixing;
//! * [`functions`]: the table of functions, a file per family;
//! * [`aggregate`]: aggregate functions as state machines; [`sort`]: the order of rows by their keys;
//! * [`sql_mode`]: the flags that change what expressions mean;
//! * [`walk`]: looking through and rewriting expressions; `same`: comparing them; [`display`]: printing them for EXPLAIN and messages.

pub mod aggregate;
pub mod arithmetic;
mod array;
pub mod bind;
mod choice;
pub mod collation;
pub mod compare;
pub mod context;
pub mod convert;
pub mod display;
pub mod eval;
mod exact_text;
pub mod functions;
mod pattern;
mod same;
pub mod scope;
pub mod sort;
pub mod sql_mode;
mod subquery;
pub mod walk;

use std::sync::Arc;

use types::{CollationId, ErrorKind, SqlError, SqlResult, SqlType, Value};

pub use aggregate::{Accumulator, AggregateCall, AggregateFunction};
pub use arithmetic::{ArithmeticOp, BitOp, Domain};
pub use array::element_type;
pub use bind::literal::plain_literal;
pub use bind::{BindOptions, Binder, interval_unit, type_of_value};
pub use collation::Coercibility;
pub use compare::{CompareOp, Comparison};
pub use context::{EvalContext, OuterRow, Services, Settings, StatementContext};
pub use functions::Function;
pub use functions::control::{mixed_type, unified_type};
pub use scope::{Clause, NoColumns, Resolved, Scope, Subquery, SubqueryRunner};

/// A bound expression: what to compute, and the type of what comes out.
#[derive(Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: SqlType,
    /// How firmly the collation of `ty` stands against another's.
    pub coercibility: Coercibility,
}

/// Gives way between two nodes.
impl Clone for Expr {
    fn clone(&self) -> Expr {
        governor::pause();
        Expr {
            kind: self.kind.clone(),
            ty: self.ty.clone(),
            coercibility: self.coercibility,
        }
    }
}

#[derive(Debug, Clone)]
pub enum ExprKind {
    Literal(Value),
    /// `X'41'`, `0x41`, `B'1'`: a binary string. Where a number is wanted the binder replaces it by one.
    HexLiteral(Value),
    /// The value in this slot of the input row.
    Column(ColumnRef),
    /// The value in a slot of a row of an enclosing query; depth 1 is the query just outside.
    Outer {
        depth: usize,
        column: ColumnRef,
    },
    /// The n-th `?`, from 0.
    Param(usize),
    /// `DEFAULT` for this column, which has none: 1364, or its type's implicit default where the mode lets it pass.
    NoDefault(Arc<str>),
    /// `@name`
    UserVariable {
        name: Arc<str>,
        /// The statement assigns user variables, so that the value may differ from row to row.
        changes: bool,
    },
    /// `@name := value`
    AssignUserVariable {
        name: Arc<str>,
        value: Box<Expr>,
    },
    /// `@@[scope.]name`
    SystemVariable {
        scope: Option<parser::ast::VarScope>,
        name: Arc<str>,
    },
    /// The n-th aggregate of the query block. The executor replaces it by the column that holds its result.
    Aggregate(usize),
    /// The n-th window function of the query block; as above.
    Window(usize),
    /// `(a, b, …)`: an operand of a comparison; has no value of its own.
    Row(Vec<Expr>),

    /// Two or more operands, three-valued.
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Xor(Box<[Expr; 2]>),
    Not(Box<Expr>),
    /// `operand IS [NOT] NULL | TRUE | FALSE | UNKNOWN`
    Is {
        operand: Box<Expr>,
        test: parser::ast::IsTest,
        negated: bool,
    },
    Compare(Box<Compare>),
    Between(Box<Between>),
    In(Box<In>),
    Like(Box<Like>),

    Arithmetic(Box<Arithmetic>),
    Bitwise(Box<Bitwise>),
    /// `-operand`
    Negate {
        domain: Domain,
        operand: Box<Expr>,
    },
    /// `~operand`
    BitNot(Box<Expr>),
    Case(Box<Case>),
    Cast(Box<Cast>),
    /// `operand COLLATE …`: the value is the operand's, the collation the expression's.
    Collate(Box<Expr>),
    Call(Box<Call>),
    Subquery(Box<SubqueryExpr>),
}

/// A slot of a row with the name that EXPLAIN and messages show.
#[derive(Debug, Clone)]
pub struct ColumnRef {
    pub slot: usize,
    pub name: Arc<str>,
    /// Whether it holds the result of an aggregate: of a column's type, and no column's value.
    pub computed: bool,
    /// Whether MySQL reads it from a cache, which warns of no text that is no number: the least or greatest of all rows.
    pub is_cached: bool,
}

/// `left op right`
#[derive(Debug, Clone)]
pub struct Compare {
    pub op: CompareOp,
    pub how: Comparison,
    pub left: Expr,
    pub right: Expr,
}

/// `operand [NOT] BETWEEN low AND high`
#[derive(Debug, Clone)]
pub struct Between {
    pub operand: Expr,
    pub low: Expr,
    pub high: Expr,
    pub low_how: Comparison,
    pub high_how: Comparison,
    pub negated: bool,
}

/// `operand [NOT] IN (list)`
#[derive(Debug, Clone)]
pub struct In {
    pub operand: Expr,
    pub list: InItems,
    pub negated: bool,
}

#[derive(Debug, Clone)]
pub enum InItems {
    /// Constants of one comparison, none NULL, sorted by it: a binary search decides.
    Sorted {
        how: Comparison,
        values: Vec<Value>,
        /// A NULL stood among them: no match is then unknown, not false.
        has_null: bool,
    },
    /// Each item with its own comparison.
    Each(Vec<(Comparison, Expr)>),
}

/// `operand [NOT] LIKE pattern [ESCAPE escape]`
#[derive(Debug, Clone)]
pub struct Like {
    pub operand: Expr,
    pub pattern: Expr,
    pub escape: Escape,
    pub collation: CollationId,
    pub negated: bool,
}

/// What stands before `%` and `_` that mean themselves.
#[derive(Debug, Clone)]
pub enum Escape {
    /// This character; or none.
    Char(Option<char>),
    /// The value of this constant, which is known when the statement runs.
    Computed(Expr),
}

impl Escape {
    /// As far as it is known before.
    pub fn known(&self) -> Option<Option<char>> {
        match self {
            Escape::Char(escape) => Some(*escape),
            Escape::Computed(_) => None,
        }
    }

    /// Of the value after ESCAPE: at most one character; 1210 otherwise. NULL is the default, `''` is none.
    fn of_value(value: &Value) -> SqlResult<Option<char>> {
        if value.is_null() {
            return Ok(Some('\\'));
        }
        let text = convert::to_text(value);
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (escape, None) => Ok(escape),
            _ => Err(SqlError::new(ErrorKind::WrongArguments, &[&"ESCAPE"])),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Arithmetic {
    pub op: ArithmeticOp,
    pub domain: Domain,
    pub left: Expr,
    pub right: Expr,
}

#[derive(Debug, Clone)]
pub struct Bitwise {
    pub op: BitOp,
    pub left: Expr,
    pub right: Expr,
}

/// `CASE [operand] WHEN .. THEN .. [ELSE ..] END`; with an operand, every WHEN is bound as a comparison with it.
#[derive(Debug, Clone)]
pub struct Case {
    pub operand: Option<Expr>,
    pub whens: Vec<When>,
    pub otherwise: Option<Expr>,
}

#[derive(Debug, Clone)]
pub struct When {
    /// How `condition` compares with the operand; none where it is a condition by itself.
    pub how: Option<Comparison>,
    pub condition: Expr,
    pub result: Expr,
}

/// `CAST(operand AS type)` to the type of the expression, `CONVERT(operand USING ..)`.
#[derive(Debug, Clone)]
pub struct Cast {
    pub operand: Expr,
    /// Where text is cut: characters, or bytes of a binary string.
    pub length: Option<u32>,
    /// `CAST(operand AS type ARRAY)`: the expression is a document, an array of these.
    pub elements: Option<SqlType>,
}

/// A call of a function from the table.
#[derive(Debug, Clone)]
pub struct Call {
    pub function: &'static Function,
    pub args: Vec<Expr>,
}

#[derive(Debug, Clone)]
pub struct SubqueryExpr {
    pub query: Arc<dyn Subquery>,
    pub kind: SubqueryKind,
}

#[derive(Debug, Clone)]
pub enum SubqueryKind {
    /// One column, at most one row. (Several columns only below a row comparison.)
    Scalar,
    Exists,
    /// `operand [NOT] IN (query)`, with a comparison per column.
    In {
        operand: Expr,
        how: Vec<Comparison>,
        negated: bool,
    },
    /// A call of a stored function, which has one value: as a subquery it is run by the statement around.
    Function {
        name: Box<str>,
        args: Vec<Expr>,
        /// Every call of the statement gives the same.
        once: bool,
    },
    /// `operand op ALL|ANY (query)`
    Quantified {
        operand: Expr,
        op: CompareOp,
        how: Comparison,
        quantifier: parser::ast::Quantifier,
    },
}

impl Expr {
    /// A constant.
    pub fn literal(value: Value, ty: SqlType) -> Expr {
        Expr {
            coercibility: Coercibility::of_constant(&value),
            kind: ExprKind::Literal(value),
            ty,
        }
    }

    /// NULL, of no type.
    pub fn null() -> Expr {
        Expr::literal(Value::Null, SqlType::null())
    }

    /// The column in `slot` of the input row.
    pub fn column(slot: usize, name: impl Into<Arc<str>>, ty: SqlType) -> Expr {
        let coercibility = Coercibility::of_column(&ty);
        Expr {
            kind: ExprKind::Column(ColumnRef {
                slot,
                name: name.into(),
                computed: false,
                is_cached: false,
            }),
            ty,
            coercibility,
        }
    }

    /// The result of an aggregate, in `slot` of the input row.
    pub fn aggregated(slot: usize, name: impl Into<Arc<str>>, ty: SqlType, coercibility: Coercibility) -> Expr {
        let column = ColumnRef {
            slot,
            name: name.into(),
            computed: true,
            is_cached: false,
        };
        Expr {
            kind: ExprKind::Column(column),
            ty,
            coercibility,
        }
    }

    /// The value, where it is a literal.
    pub fn as_literal(&self) -> Option<&Value> {
        match &self.kind {
            ExprKind::Literal(value) | ExprKind::HexLiteral(value) => Some(value),
            _ => None,
        }
    }

    pub fn is_null_literal(&self) -> bool {
        self.as_literal().is_some_and(Value::is_null)
    }

    /// Whether it is a column, of this query or of one around it.
    pub fn is_stored(&self) -> bool {
        match &self.kind {
            ExprKind::Column(column) | ExprKind::Outer { column, .. } => !column.computed,
            _ => false,
        }
    }

    /// Whether it is a column of a row, of this query or of one around it; the result of an aggregate is one, too.
    pub fn is_some_column(&self) -> bool {
        matches!(self.kind, ExprKind::Column(_) | ExprKind::Outer { .. })
    }

    /// The slot, where it is a plain column of the input row.
    pub fn as_column(&self) -> Option<usize> {
        match &self.kind {
            ExprKind::Column(column) => Some(column.slot),
            _ => None,
        }
    }
}
