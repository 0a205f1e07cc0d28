//! Expressions by precedence climbing.
//!
//! ```text
//! lowest   := (in a variable's assignment)
//!          OR ||
//!          XOR
//!          AND &&
//!          NOT
//!          IS TRUE, IS NULL, = <=> >= > <= < <> !=
//!          LIKE REGEXP IN BETWEEN SOUNDS LIKE MEMBER OF      (do not chain: operands are bit expressions)
//!          |
//!          &
//!          << >>
//!          + -
//!          * / DIV % MOD
//!          ^
//!          || under PIPES_AS_CONCAT
//! highest  unary - + ~ !  BINARY, COLLATE
//! ```

use governor::stepwise::Stepwise;

use super::{PResult, Parser};
use crate::UserVariables;
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

/// Binding power of the operators.
pub(crate) mod level {
    pub const LOWEST: u8 = 0;
    pub const OR: u8 = 1;
    pub const XOR: u8 = 2;
    pub const AND: u8 = 3;
    pub const NOT: u8 = 4;
    pub const COMPARISON: u8 = 5;
    pub const PREDICATE: u8 = 6;
    pub const BIT_OR: u8 = 7;
    pub const BIT_AND: u8 = 8;
    pub const SHIFT: u8 = 9;
    pub const ADD: u8 = 10;
    pub const MUL: u8 = 11;
    pub const BIT_XOR: u8 = 12;
    pub const CONCAT: u8 = 13;
    pub const SIMPLE: u8 = 14;
}

/// What may stand between two operands.
enum Infix {
    And,
    Or,
    Is,
    Predicate,
    Concat,
    Binary(BinaryOp),
}

impl Parser<'_> {
    pub(crate) fn expr(&mut self) -> PResult<Expr> {
        self.expr_at(level::LOWEST)
    }

    /// An expression whose operators all bind at `min` or tighter.
    pub(super) fn expr_at(&mut self, min: u8) -> PResult<Expr> {
        self.enter()?;
        let outer = std::mem::replace(&mut self.peak, 0);
        let (left, left_level) = if self.at(Kw::NOT) && !self.mode.high_not_precedence {
            if min > level::NOT {
                return Err(self.unexpected());
            }
            // A run of them takes no more stack than one.
            let mut count = 0;
            while self.eat(Kw::NOT) {
                count += 1;
            }
            let mut operand = self.expr_at(level::NOT)?;
            self.peak += count;
            self.check_height(self.peak)?;
            for _ in 0..count {
                operand = unary(UnaryOp::Not, operand);
            }
            (operand, level::NOT)
        } else {
            (self.simple_expr()?, level::SIMPLE)
        };
        let expr = self.operators(left, left_level, min)?;
        self.peak = outer.max(self.peak);
        self.leave();
        Ok(expr)
    }

    /// An expression that begins with `left`, already read.
    pub(super) fn expr_from(&mut self, left: Expr) -> PResult<Expr> {
        self.operators(left, level::SIMPLE, level::LOWEST)
    }

    /// Adds operators and right sides to `left` as long as they bind at `min` or tighter. On return `peak` is at least the
    /// height of the result.
    #[inline(never)]
    fn operators(&mut self, mut left: Expr, mut left_level: u8, min: u8) -> PResult<Expr> {
        let mut height = self.peak + 1;
        while let Some((infix, power)) = self.infix() {
            if power < min || left_level < Self::least_left(power) {
                break;
            }
            left_level = power;
            left = match infix {
                Infix::And => Expr::And(self.chain(left, level::AND, |p| p.at(Kw::AND) || p.at_tok(Tok::AndAnd))?),
                Infix::Or => Expr::Or(self.chain(left, level::OR, |p| p.at(Kw::OR) || p.at_tok(Tok::OrOr))?),
                Infix::Is => {
                    let is = self.is_test(left)?;
                    if is.test != IsTest::Null {
                        left_level = level::NOT;
                    }
                    Expr::Is(Box::new(is))
                }
                Infix::Predicate => self.predicate(left)?,
                Infix::Concat => function(
                    "CONCAT",
                    self.chain(left, level::CONCAT, |p| p.at_tok(Tok::OrOr))?.into_vec(),
                ),
                Infix::Binary(op) => {
                    self.bump();
                    self.binary(op, power, left)?
                }
            };
            height = height.max(self.peak) + 1;
            self.check_height(height)?;
        }
        self.peak = height;
        Ok(left)
    }

    /// The loosest left operand an operator takes.
    fn least_left(power: u8) -> u8 {
        match power {
            level::PREDICATE => level::BIT_OR,
            other => other,
        }
    }

    fn infix(&mut self) -> Option<(Infix, u8)> {
        use Infix::Binary;
        Some(match self.kind() {
            Tok::Kw(keyword) => match keyword {
                Kw::AND => (Infix::And, level::AND),
                Kw::OR => (Infix::Or, level::OR),
                Kw::XOR => (Binary(BinaryOp::Xor), level::XOR),
                Kw::IS => (Infix::Is, level::COMPARISON),
                Kw::IN | Kw::BETWEEN | Kw::LIKE | Kw::REGEXP | Kw::RLIKE => (Infix::Predicate, level::PREDICATE),
                // Whether a predicate follows is that one's matter: the error is behind the NOT.
                Kw::NOT => (Infix::Predicate, level::PREDICATE),
                Kw::SOUNDS if self.peek_is(Kw::LIKE) => (Infix::Predicate, level::PREDICATE),
                Kw::MEMBER if matches!(self.peek(), Tok::LParen | Tok::Kw(Kw::OF)) => {
                    (Infix::Predicate, level::PREDICATE)
                }
                Kw::DIV => (Binary(BinaryOp::IntDiv), level::MUL),
                Kw::MOD => (Binary(BinaryOp::Mod), level::MUL),
                _ => return None,
            },
            Tok::AndAnd => (Infix::And, level::AND),
            Tok::OrOr if self.mode.pipes_as_concat => (Infix::Concat, level::CONCAT),
            Tok::OrOr => (Infix::Or, level::OR),
            Tok::Eq => (Binary(BinaryOp::Eq), level::COMPARISON),
            Tok::NullSafeEq => (Binary(BinaryOp::NullSafeEq), level::COMPARISON),
            Tok::Ne => (Binary(BinaryOp::Ne), level::COMPARISON),
            Tok::Lt => (Binary(BinaryOp::Lt), level::COMPARISON),
            Tok::Le => (Binary(BinaryOp::Le), level::COMPARISON),
            Tok::Gt => (Binary(BinaryOp::Gt), level::COMPARISON),
            Tok::Ge => (Binary(BinaryOp::Ge), level::COMPARISON),
            Tok::Pipe => (Binary(BinaryOp::BitOr), level::BIT_OR),
            Tok::Ampersand => (Binary(BinaryOp::BitAnd), level::BIT_AND),
            Tok::ShiftLeft => (Binary(BinaryOp::ShiftLeft), level::SHIFT),
            Tok::ShiftRight => (Binary(BinaryOp::ShiftRight), level::SHIFT),
            Tok::Plus => (Binary(BinaryOp::Add), level::ADD),
            Tok::Minus => (Binary(BinaryOp::Sub), level::ADD),
            Tok::Star => (Binary(BinaryOp::Mul), level::MUL),
            Tok::Slash => (Binary(BinaryOp::Div), level::MUL),
            Tok::Percent => (Binary(BinaryOp::Mod), level::MUL),
            Tok::Caret => (Binary(BinaryOp::BitXor), level::BIT_XOR),
            _ => return None,
        })
    }

    /// `left op a op b ...` as one flat list.
    fn chain(&mut self, left: Expr, power: u8, at_operator: fn(&Self) -> bool) -> PResult<Box<[Expr]>> {
        let mut operands = Stepwise::from(Vec::with_capacity(2));
        operands.push(left);
        while at_operator(self) {
            self.bump();
            operands.push(self.expr_at(power + 1)?);
        }
        Ok(std::mem::take(&mut *operands).into())
    }

    /// The right side of a binary operator.
    fn binary(&mut self, op: BinaryOp, power: u8, left: Expr) -> PResult<Expr> {
        if matches!(op, BinaryOp::Add | BinaryOp::Sub) && self.at(Kw::INTERVAL) {
            return self.plus_interval(op, left);
        }
        if op.is_comparison() && self.at_any(&[Kw::ALL, Kw::ANY, Kw::SOME]) && self.peek() == Tok::LParen {
            let quantifier = if self.bump().kind == Tok::Kw(Kw::ALL) {
                Quantifier::All
            } else {
                Quantifier::Any
            };
            let query = *self.subquery()?;
            return Ok(Expr::Quantified(Box::new(Quantified {
                op,
                quantifier,
                left,
                query,
            })));
        }
        let right = self.expr_at(power + 1)?;
        Ok(Expr::Binary(Box::new(Binary { op, left, right })))
    }

    /// `left + INTERVAL amount unit`, unless it is the function `INTERVAL(..)`.
    #[inline(never)]
    fn plus_interval(&mut self, op: BinaryOp, left: Expr) -> PResult<Expr> {
        match self.interval_or_function()? {
            Interval::Span(amount, unit) => {
                let op = if op == BinaryOp::Add { DateOp::Add } else { DateOp::Sub };
                Ok(Expr::DateArith(Box::new(DateArith {
                    op,
                    date: left,
                    amount,
                    unit,
                })))
            }
            Interval::Function(call) => {
                let right = self.operators(call, level::SIMPLE, level::ADD + 1)?;
                Ok(Expr::Binary(Box::new(Binary { op, left, right })))
            }
        }
    }

    #[inline(never)]
    fn is_test(&mut self, operand: Expr) -> PResult<Is> {
        self.bump();
        let negated = self.eat(Kw::NOT);
        let test = match self.kind() {
            Tok::Kw(Kw::NULL) | Tok::BackslashN => IsTest::Null,
            Tok::Kw(Kw::TRUE) => IsTest::True,
            Tok::Kw(Kw::FALSE) => IsTest::False,
            Tok::Kw(Kw::UNKNOWN) => IsTest::Unknown,
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(Is { operand, test, negated })
    }

    /// Prefix operators, a primary, collations: MySQL's `simple_expr`.
    pub(super) fn simple_expr(&mut self) -> PResult<Expr> {
        let op = match self.kind() {
            Tok::Minus => UnaryOp::Minus,
            Tok::Plus => UnaryOp::Plus,
            Tok::Tilde => UnaryOp::BitNot,
            Tok::Bang => UnaryOp::Not,
            Tok::Kw(Kw::NOT) if self.mode.high_not_precedence => UnaryOp::Not,
            Tok::Kw(Kw::BINARY) => UnaryOp::Binary,
            _ => {
                let primary = self.primary()?;
                return self.collations(primary);
            }
        };
        self.bump();
        let operand = self.nested(Self::simple_expr)?;
        Ok(unary(op, operand))
    }

    /// `expr [COLLATE collation] ...`
    pub(super) fn collations(&mut self, mut expr: Expr) -> PResult<Expr> {
        while self.eat(Kw::COLLATE) {
            let collation = self.collation_name()?;
            expr = Expr::Collate(Box::new(Collate {
                operand: expr,
                collation,
            }));
            self.peak += 1;
            self.check_height(self.peak)?;
        }
        Ok(expr)
    }

    fn primary(&mut self) -> PResult<Expr> {
        match self.kind() {
            Tok::Ident | Tok::QuotedIdent => {
                if self.tok.kind == Tok::Ident
                    && let Some(literal) = self.opt_literal()?
                {
                    return Ok(Expr::Literal(literal));
                }
                self.name_or_call()
            }
            Tok::Param if !self.in_program() => {
                self.bump();
                self.params += 1;
                Ok(Expr::Param(self.params - 1))
            }
            Tok::LParen => self.parenthesised(),
            Tok::AtName => self.user_variable(),
            Tok::AtAt => self.system_variable(),
            Tok::LBrace => self.odbc_escape(),
            Tok::Kw(keyword) => self.keyword_primary(keyword),
            _ => match self.opt_literal()? {
                Some(literal) => Ok(Expr::Literal(literal)),
                None => Err(self.unexpected()),
            },
        }
    }

    /// A column or variable, `column -> path`, or a function by a name that is no keyword.
    #[inline(never)]
    pub(super) fn name_or_call(&mut self) -> PResult<Expr> {
        if self.peek() == Tok::LParen && matches!(self.tok.kind, Tok::Ident | Tok::QuotedIdent) {
            let name = self.ident()?;
            return self.call(None, name);
        }
        let column = self.column_name()?;
        if self.at_tok(Tok::LParen) && column.schema.is_none() {
            return self.call(column.table, column.name);
        }
        let document = match self.local_of(&column)? {
            Some(local) => Expr::Local(Box::new(local)),
            None => Expr::Column(Box::new(column)),
        };
        self.json_path(document)
    }

    /// `column -> 'path'` and `column ->> 'path'`
    fn json_path(&mut self, document: Expr) -> PResult<Expr> {
        let unquote = match self.kind() {
            Tok::Arrow => false,
            Tok::LongArrow => true,
            _ => return Ok(document),
        };
        self.bump();
        let path = Expr::Literal(Literal::String(self.bytes()?));
        let extract = function("JSON_EXTRACT", vec![document, path]);
        Ok(if unquote {
            function("JSON_UNQUOTE", vec![extract])
        } else {
            extract
        })
    }

    /// A function's arguments, of which there may be none.
    fn call(&mut self, schema: Option<Ident>, name: Ident) -> PResult<Expr> {
        let args = self.call_args()?;
        Ok(Expr::Function(Box::new(FunctionCall { schema, name, args })))
    }

    /// `([expr, ...])`
    pub(super) fn call_args(&mut self) -> PResult<Vec<Expr>> {
        self.expect_tok(Tok::LParen)?;
        if self.eat_tok(Tok::RParen) {
            return Ok(Vec::new());
        }
        let args = self.list(Self::expr)?;
        self.expect_tok(Tok::RParen)?;
        Ok(args)
    }

    /// `(expr)`, `(a, b)`, `(query)`.
    #[inline(never)]
    fn parenthesised(&mut self) -> PResult<Expr> {
        self.bump();
        if self.at_query() {
            let query = self.inner_query()?;
            self.expect_tok(Tok::RParen)?;
            return Ok(Expr::Subquery(query));
        }
        let starts_with_parenthesis = self.at_tok(Tok::LParen);
        let first = self.expr()?;
        let first = if starts_with_parenthesis {
            self.query_from(first)?
        } else {
            first
        };
        if !self.at_tok(Tok::Comma) {
            self.expect_tok(Tok::RParen)?;
            return Ok(first);
        }
        self.row_from(first)
    }

    /// `((query) UNION ...)`: what began as an expression in parentheses goes on as a query.
    pub(super) fn query_from(&mut self, first: Expr) -> PResult<Expr> {
        match first {
            Expr::Subquery(query) if self.at_query_tail() => {
                let query = self.nested_query(|parser| parser.query_expression_from(query))?;
                Ok(Expr::Subquery(query))
            }
            other => Ok(other),
        }
    }

    /// The rest of `(first, ...)`.
    fn row_from(&mut self, first: Expr) -> PResult<Expr> {
        let mut values = vec![first];
        while self.eat_tok(Tok::Comma) {
            values.push(self.expr()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::Row(values.into()))
    }

    #[inline(never)]
    fn user_variable(&mut self) -> PResult<Expr> {
        let name = self.user_var()?;
        if !self.eat_tok(Tok::Assign) {
            self.user_variables = self.user_variables.max(UserVariables::Read);
            return Ok(Expr::UserVar(name));
        }
        self.user_variables = UserVariables::Assigned;
        let value = self.expr()?;
        Ok(Expr::Assign(Box::new(Assign { name, value })))
    }

    /// `@@[scope.][component.]name`
    pub(super) fn system_variable(&mut self) -> PResult<Expr> {
        let variable = self.system_var()?;
        Ok(Expr::SystemVar(Box::new(variable)))
    }

    pub(super) fn system_var(&mut self) -> PResult<SystemVar> {
        self.expect_tok(Tok::AtAt)?;
        let scope = self.dotted_scope()?;
        let first = self.ident()?;
        if self.eat_tok(Tok::Dot) {
            return Ok(SystemVar {
                scope,
                component: Some(first),
                name: self.ident()?,
            });
        }
        Ok(SystemVar {
            scope,
            component: None,
            name: first,
        })
    }

    /// `GLOBAL.` and its like. The lexer gives a word that touches a dot as a plain name.
    fn dotted_scope(&mut self) -> PResult<Option<VarScope>> {
        if self.tok.kind == Tok::QuotedIdent || self.peek() != Tok::Dot {
            return Ok(None);
        }
        let word = self.slice(self.tok);
        let scope = if word.eq_ignore_ascii_case(b"GLOBAL") {
            VarScope::Global
        } else if word.eq_ignore_ascii_case(b"SESSION") || word.eq_ignore_ascii_case(b"LOCAL") {
            VarScope::Session
        } else if word.eq_ignore_ascii_case(b"PERSIST") {
            VarScope::Persist
        } else if word.eq_ignore_ascii_case(b"PERSIST_ONLY") {
            VarScope::PersistOnly
        } else {
            return Ok(None);
        };
        self.bump();
        self.bump();
        Ok(Some(scope))
    }

    /// `{d '..'}`, `{t '..'}`, `{ts '..'}`, `{fn expr}`: other words are dropped too, as in MySQL.
    #[inline(never)]
    fn odbc_escape(&mut self) -> PResult<Expr> {
        self.bump();
        let kind = self.ident()?;
        let expr = if self.at_tok(Tok::String) && !matches!(self.peek(), Tok::String) {
            let value = self.bytes()?;
            Expr::Literal(match () {
                () if kind.is("d") => Literal::Date(value),
                () if kind.is("t") => Literal::Time(value),
                () if kind.is("ts") => Literal::Timestamp(value),
                () => Literal::String(value),
            })
        } else {
            self.expr()?
        };
        self.expect_tok(Tok::RBrace)?;
        Ok(expr)
    }

    /// At `INTERVAL`: a span of time, or the function of that name.
    #[inline(never)]
    pub(super) fn interval_or_function(&mut self) -> PResult<Interval> {
        self.expect(Kw::INTERVAL)?;
        let amount = if self.at_tok(Tok::LParen) {
            match self.parenthesised()? {
                Expr::Row(args) => return Ok(Interval::Function(function("INTERVAL", args.into_vec()))),
                first => {
                    let first = self.collations(first)?;
                    self.expr_from(first)?
                }
            }
        } else {
            self.expr()?
        };
        let unit = self.interval_unit()?;
        Ok(Interval::Span(amount, unit))
    }

    /// `INTERVAL amount unit` where nothing else can stand.
    pub(super) fn interval(&mut self) -> PResult<(Expr, IntervalUnit)> {
        self.expect(Kw::INTERVAL)?;
        let amount = self.expr()?;
        Ok((amount, self.interval_unit()?))
    }

    /// `INTERVAL amount unit + date` as a primary, or the function.
    pub(super) fn leading_interval(&mut self) -> PResult<Expr> {
        match self.interval_or_function()? {
            Interval::Function(call) => Ok(call),
            Interval::Span(amount, unit) => {
                self.expect_tok(Tok::Plus)?;
                let date = self.expr_at(level::SIMPLE)?;
                Ok(Expr::DateArith(Box::new(DateArith {
                    op: DateOp::Add,
                    date,
                    amount,
                    unit,
                })))
            }
        }
    }

    pub(super) fn interval_unit(&mut self) -> PResult<IntervalUnit> {
        let Tok::Kw(keyword) = self.tok.kind else {
            return Err(self.unexpected());
        };
        let unit = match keyword {
            Kw::MICROSECOND => IntervalUnit::Microsecond,
            Kw::SECOND => IntervalUnit::Second,
            Kw::MINUTE => IntervalUnit::Minute,
            Kw::HOUR => IntervalUnit::Hour,
            Kw::DAY => IntervalUnit::Day,
            Kw::WEEK => IntervalUnit::Week,
            Kw::MONTH => IntervalUnit::Month,
            Kw::QUARTER => IntervalUnit::Quarter,
            Kw::YEAR => IntervalUnit::Year,
            Kw::SECOND_MICROSECOND => IntervalUnit::SecondMicrosecond,
            Kw::MINUTE_MICROSECOND => IntervalUnit::MinuteMicrosecond,
            Kw::MINUTE_SECOND => IntervalUnit::MinuteSecond,
            Kw::HOUR_MICROSECOND => IntervalUnit::HourMicrosecond,
            Kw::HOUR_SECOND => IntervalUnit::HourSecond,
            Kw::HOUR_MINUTE => IntervalUnit::HourMinute,
            Kw::DAY_MICROSECOND => IntervalUnit::DayMicrosecond,
            Kw::DAY_SECOND => IntervalUnit::DaySecond,
            Kw::DAY_MINUTE => IntervalUnit::DayMinute,
            Kw::DAY_HOUR => IntervalUnit::DayHour,
            Kw::YEAR_MONTH => IntervalUnit::YearMonth,
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(unit)
    }
}

/// What the word INTERVAL began.
pub(super) enum Interval {
    Span(Expr, IntervalUnit),
    Function(Expr),
}

pub(super) fn unary(op: UnaryOp, operand: Expr) -> Expr {
    Expr::Unary(Box::new(Unary { op, operand }))
}

/// A call of a native function that the parser itself names.
pub(super) fn function(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function(Box::new(FunctionCall {
        schema: None,
        name: Ident::from(name),
        args,
    }))
}
