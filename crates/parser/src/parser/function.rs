//! Primaries that begin with a keyword: functions with syntax of their own, CASE, CAST, aggregates and windows.
//!
//! All of them recurse into expressions, so they are kept out of line: a level of nesting then takes the stack of the functions
//! on its path, not of everything an expression can be.

use super::expr::{function, level};
use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::{Class, Kw};
use crate::lexer::Tok;

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn keyword_primary(&mut self, keyword: Kw) -> PResult<Expr> {
        match keyword {
            Kw::NULL | Kw::TRUE | Kw::FALSE => self.literal_primary(),
            Kw::CASE => self.case(),
            Kw::EXISTS => {
                self.bump();
                self.subquery().map(Expr::Exists)
            }
            Kw::ROW => self.row(),
            Kw::DEFAULT => self.default_of(),
            Kw::INTERVAL => self.leading_interval(),
            Kw::VALUES => self.insert_value(),
            Kw::MATCH => self.match_against(),
            Kw::CONVERT => self.convert(),
            Kw::CHAR => self.char_fn(),
            Kw::CURRENT_USER => self.call_without_args("CURRENT_USER"),
            Kw::CURRENT_DATE => self.call_without_args("CURDATE"),
            Kw::UTC_DATE => self.call_without_args("UTC_DATE"),
            Kw::CURRENT_TIME => self.call_with_precision("CURTIME"),
            Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP => self.call_with_precision("NOW"),
            Kw::UTC_TIME => self.call_with_precision("UTC_TIME"),
            Kw::UTC_TIMESTAMP => self.call_with_precision("UTC_TIMESTAMP"),
            _ if is_reserved_function(keyword) => self.plain_call(keyword),
            Kw::DATABASE | Kw::SCHEMA => self.call_without_parameters("DATABASE"),
            Kw::ROW_NUMBER
            | Kw::RANK
            | Kw::DENSE_RANK
            | Kw::CUME_DIST
            | Kw::PERCENT_RANK
            | Kw::NTILE
            | Kw::LEAD
            | Kw::LAG
            | Kw::FIRST_VALUE
            | Kw::LAST_VALUE
            | Kw::NTH_VALUE => self.window_call(keyword),
            _ => match keyword.class() {
                Class::Function => self.function_keyword(keyword),
                Class::Free => self.free_keyword(keyword),
                Class::Reserved => Err(self.unexpected()),
            },
        }
    }

    fn literal_primary(&mut self) -> PResult<Expr> {
        match self.opt_literal()? {
            Some(literal) => Ok(Expr::Literal(literal)),
            None => Err(self.unexpected()),
        }
    }

    /// A keyword that is also a name: a function if `(` follows, else a column.
    #[inline(never)]
    fn free_keyword(&mut self, keyword: Kw) -> PResult<Expr> {
        if self.peek() != Tok::LParen {
            if let Some(literal) = self.opt_literal()? {
                return Ok(Expr::Literal(literal));
            }
            return self.name_or_call();
        }
        match keyword {
            Kw::AVG => self.aggregate(AggregateFn::Avg),
            Kw::GET_FORMAT => self.get_format(),
            Kw::TIMESTAMPADD => self.timestamp_add(),
            Kw::TIMESTAMPDIFF => self.timestamp_diff(),
            Kw::WEIGHT_STRING => self.weight_string(),
            Kw::JSON_VALUE => self.json_value(),
            _ if is_free_function(keyword) => self.plain_call(keyword),
            _ => {
                self.bump();
                Err(self.unexpected())
            }
        }
    }

    /// A keyword that was one only because `(` follows.
    #[inline(never)]
    fn function_keyword(&mut self, keyword: Kw) -> PResult<Expr> {
        match keyword {
            Kw::COUNT => self.count(),
            Kw::SUM => self.aggregate(AggregateFn::Sum),
            Kw::MIN => self.aggregate(AggregateFn::Min),
            Kw::MAX => self.aggregate(AggregateFn::Max),
            Kw::BIT_AND => self.aggregate(AggregateFn::BitAnd),
            Kw::BIT_OR => self.aggregate(AggregateFn::BitOr),
            Kw::BIT_XOR => self.aggregate(AggregateFn::BitXor),
            Kw::STD | Kw::STDDEV | Kw::STDDEV_POP => self.aggregate(AggregateFn::StddevPop),
            Kw::STDDEV_SAMP => self.aggregate(AggregateFn::StddevSamp),
            Kw::VARIANCE | Kw::VAR_POP => self.aggregate(AggregateFn::VarPop),
            Kw::VAR_SAMP => self.aggregate(AggregateFn::VarSamp),
            Kw::JSON_ARRAYAGG => self.aggregate(AggregateFn::JsonArrayAgg),
            Kw::JSON_OBJECTAGG => self.aggregate(AggregateFn::JsonObjectAgg),
            Kw::ST_COLLECT => self.aggregate(AggregateFn::StCollect),
            Kw::GROUP_CONCAT => self.group_concat(),
            Kw::CAST => self.cast(),
            Kw::EXTRACT => self.extract(),
            Kw::TRIM => self.trim(),
            Kw::POSITION => self.position(),
            Kw::SUBSTRING | Kw::SUBSTR | Kw::MID => self.substring(),
            Kw::ADDDATE | Kw::DATE_ADD => self.date_arith(DateOp::Add, keyword == Kw::ADDDATE),
            Kw::SUBDATE | Kw::DATE_SUB => self.date_arith(DateOp::Sub, keyword == Kw::SUBDATE),
            Kw::CURDATE => self.call_without_args("CURDATE"),
            Kw::CURTIME => self.call_with_precision("CURTIME"),
            Kw::NOW => self.call_with_precision("NOW"),
            Kw::SYSDATE => self.call_with_precision("SYSDATE"),
            // SESSION_USER, SYSTEM_USER
            _ => self.call_without_parameters("USER"),
        }
    }

    /// `KEYWORD(args)`; how many there may be is grammar for these.
    #[inline(never)]
    fn plain_call(&mut self, keyword: Kw) -> PResult<Expr> {
        self.bump();
        let (least, most) = arity(keyword);
        self.expect_tok(Tok::LParen)?;
        let mut args = Vec::new();
        while args.len() < most && (args.len() < least || !self.at_tok(Tok::RParen)) {
            if !args.is_empty() {
                self.expect_tok(Tok::Comma)?;
            }
            args.push(self.expr()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(function(keyword.text(), args))
    }

    /// The keyword alone or with `()`.
    fn call_without_args(&mut self, name: &str) -> PResult<Expr> {
        self.bump();
        if self.eat_tok(Tok::LParen) {
            self.expect_tok(Tok::RParen)?;
        }
        Ok(function(name, Vec::new()))
    }

    /// The keyword with `()`.
    fn call_without_parameters(&mut self, name: &str) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        self.expect_tok(Tok::RParen)?;
        Ok(function(name, Vec::new()))
    }

    /// The keyword alone, with `()` or `(n)`.
    fn call_with_precision(&mut self, name: &str) -> PResult<Expr> {
        self.bump();
        let precision = self.opt_precision()?;
        let args = precision.map(|digits| Expr::Literal(Literal::Int(u64::from(digits))));
        Ok(function(name, args.into_iter().collect()))
    }

    /// `[([n])]`
    pub(super) fn opt_precision(&mut self) -> PResult<Option<u32>> {
        if !self.eat_tok(Tok::LParen) {
            return Ok(None);
        }
        let digits = if self.at_tok(Tok::RParen) {
            None
        } else {
            Some(self.unsigned_to::<u32>()?)
        };
        self.expect_tok(Tok::RParen)?;
        Ok(digits)
    }

    #[inline(never)]
    fn case(&mut self) -> PResult<Expr> {
        self.bump();
        let operand = if self.at(Kw::WHEN) { None } else { Some(self.expr()?) };
        let mut whens = Vec::with_capacity(1);
        while self.at(Kw::WHEN) || whens.is_empty() {
            self.expect(Kw::WHEN)?;
            let when = self.expr()?;
            self.expect(Kw::THEN)?;
            whens.push((when, self.expr()?));
        }
        let otherwise = if self.eat(Kw::ELSE) { Some(self.expr()?) } else { None };
        self.expect(Kw::END)?;
        Ok(Expr::Case(Box::new(Case {
            operand,
            whens,
            otherwise,
        })))
    }

    /// `ROW(a, b, ...)`
    #[inline(never)]
    fn row(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let mut values = vec![self.expr()?];
        self.expect_tok(Tok::Comma)?;
        values.extend(self.list(Self::expr)?);
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::Row(values.into()))
    }

    fn default_of(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let column = self.column_name()?;
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::DefaultOf(Box::new(column)))
    }

    /// `VALUES(column)`
    fn insert_value(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let column = self.column_name()?;
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::InsertValue(Box::new(column)))
    }

    #[inline(never)]
    fn match_against(&mut self) -> PResult<Expr> {
        self.bump();
        let columns = if self.at_tok(Tok::LParen) {
            self.paren_list(Self::column_name)?
        } else {
            self.list(Self::column_name)?
        };
        self.expect(Kw::AGAINST)?;
        self.expect_tok(Tok::LParen)?;
        let against = self.expr_at(level::BIT_OR)?;
        let mut mode = MatchMode::NaturalLanguage;
        if self.eat(Kw::IN) {
            if self.eat(Kw::BOOLEAN) {
                mode = MatchMode::Boolean;
            } else {
                self.expect(Kw::NATURAL)?;
                self.expect(Kw::LANGUAGE)?;
            }
            self.expect(Kw::MODE)?;
        }
        if mode != MatchMode::Boolean && self.eat(Kw::WITH) {
            self.expect_all(&[Kw::QUERY, Kw::EXPANSION])?;
            mode = MatchMode::QueryExpansion;
        }
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::MatchAgainst(Box::new(MatchAgainst { columns, against, mode })))
    }

    /// `CONVERT(expr, type)`, `CONVERT(expr USING charset)`
    #[inline(never)]
    fn convert(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let operand = self.expr()?;
        let converted = if self.eat(Kw::USING) {
            let charset = self.charset_name()?;
            Expr::ConvertUsing(Box::new(ConvertUsing { operand, charset }))
        } else {
            self.expect_tok(Tok::Comma)?;
            let target = self.cast_type()?;
            Expr::Cast(Box::new(Cast {
                operand,
                target,
                array: false,
                at_time_zone: None,
            }))
        };
        self.expect_tok(Tok::RParen)?;
        Ok(converted)
    }

    #[inline(never)]
    fn cast(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let operand = self.expr()?;
        let mut at_time_zone = None;
        if self.eat(Kw::AT) {
            self.expect_all(&[Kw::TIME, Kw::ZONE])?;
            self.eat(Kw::INTERVAL);
            at_time_zone = Some(self.bytes()?);
        }
        self.expect(Kw::AS)?;
        let target = self.cast_type()?;
        let array = at_time_zone.is_none() && self.eat(Kw::ARRAY);
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::Cast(Box::new(Cast {
            operand,
            target,
            array,
            at_time_zone,
        })))
    }

    #[inline(never)]
    fn char_fn(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let args = self.list(Self::expr)?;
        let charset = if self.eat(Kw::USING) {
            Some(self.charset_name()?)
        } else {
            None
        };
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::Char(Box::new(CharFn { args, charset })))
    }

    #[inline(never)]
    fn extract(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let unit = self.interval_unit()?;
        self.expect(Kw::FROM)?;
        let operand = self.expr()?;
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::Extract(Box::new(Extract { unit, operand })))
    }

    #[inline(never)]
    fn trim(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let side = match self.eat_any(&[Kw::BOTH, Kw::LEADING, Kw::TRAILING]) {
            Some(Kw::LEADING) => Some(TrimSide::Leading),
            Some(Kw::TRAILING) => Some(TrimSide::Trailing),
            Some(_) => Some(TrimSide::Both),
            None => None,
        };
        let mut remove = None;
        let operand = if side.is_some() && self.eat(Kw::FROM) {
            self.expr()?
        } else {
            let first = self.expr()?;
            if side.is_some() || self.at(Kw::FROM) {
                self.expect(Kw::FROM)?;
                remove = Some(first);
                self.expr()?
            } else {
                first
            }
        };
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::Trim(Box::new(Trim {
            side: side.unwrap_or(TrimSide::Both),
            remove,
            operand,
        })))
    }

    /// `POSITION(part IN whole)` is `LOCATE(part, whole)`.
    #[inline(never)]
    fn position(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let part = self.expr_at(level::BIT_OR)?;
        self.expect(Kw::IN)?;
        let whole = self.expr()?;
        self.expect_tok(Tok::RParen)?;
        Ok(function("LOCATE", vec![part, whole]))
    }

    /// `SUBSTRING(s, from [, length])`, `SUBSTRING(s FROM from [FOR length])`
    #[inline(never)]
    fn substring(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let mut args = vec![self.expr()?];
        let before_length = if self.eat(Kw::FROM) {
            Tok::Kw(Kw::FOR)
        } else {
            self.expect_tok(Tok::Comma)?;
            Tok::Comma
        };
        args.push(self.expr()?);
        if self.eat_tok(before_length) {
            args.push(self.expr()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(function("SUBSTRING", args))
    }

    /// `DATE_ADD(date, INTERVAL ..)`, and `ADDDATE(date, days)`.
    #[inline(never)]
    fn date_arith(&mut self, op: DateOp, allow_days: bool) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let date = self.expr()?;
        self.expect_tok(Tok::Comma)?;
        // `ADDDATE(d, INTERVAL(1, 2))` is a number of days, computed.
        let (amount, unit) = if self.at(Kw::INTERVAL) {
            match self.interval_or_function()? {
                super::expr::Interval::Span(amount, unit) => (amount, unit),
                super::expr::Interval::Function(call) if allow_days => (self.expr_from(call)?, IntervalUnit::Day),
                super::expr::Interval::Function(_) => return Err(self.unexpected()),
            }
        } else if allow_days {
            (self.expr()?, IntervalUnit::Day)
        } else {
            return Err(self.unexpected());
        };
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::DateArith(Box::new(DateArith { op, date, amount, unit })))
    }

    /// The unit of TIMESTAMPADD and TIMESTAMPDIFF, with or without `SQL_TSI_` before it.
    fn timestamp_unit(&mut self) -> PResult<IntervalUnit> {
        const PREFIX: &[u8] = b"SQL_TSI_";
        if self.at_tok(Tok::Ident) {
            let word = self.slice(self.tok);
            if word.len() > PREFIX.len() && word[..PREFIX.len()].eq_ignore_ascii_case(PREFIX) {
                let unit = match word[PREFIX.len()..].to_ascii_uppercase().as_slice() {
                    b"MICROSECOND" | b"FRAC_SECOND" => IntervalUnit::Microsecond,
                    b"SECOND" => IntervalUnit::Second,
                    b"MINUTE" => IntervalUnit::Minute,
                    b"HOUR" => IntervalUnit::Hour,
                    b"DAY" => IntervalUnit::Day,
                    b"WEEK" => IntervalUnit::Week,
                    b"MONTH" => IntervalUnit::Month,
                    b"QUARTER" => IntervalUnit::Quarter,
                    b"YEAR" => IntervalUnit::Year,
                    _ => return Err(self.unexpected()),
                };
                self.bump();
                return Ok(unit);
            }
        }
        if matches!(self.tok.kind, Tok::Kw(keyword) if keyword.class() == Class::Reserved) {
            return Err(self.unexpected());
        }
        self.interval_unit()
    }

    #[inline(never)]
    fn timestamp_add(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let unit = self.timestamp_unit()?;
        self.expect_tok(Tok::Comma)?;
        let amount = self.expr()?;
        self.expect_tok(Tok::Comma)?;
        let date = self.expr()?;
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::DateArith(Box::new(DateArith {
            op: DateOp::Add,
            date,
            amount,
            unit,
        })))
    }

    #[inline(never)]
    fn timestamp_diff(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let unit = self.timestamp_unit()?;
        self.expect_tok(Tok::Comma)?;
        let from = self.expr()?;
        self.expect_tok(Tok::Comma)?;
        let to = self.expr()?;
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::TimestampDiff(Box::new(TimestampDiff { unit, from, to })))
    }

    #[inline(never)]
    fn get_format(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let kind = match self.expect_any(&[Kw::DATE, Kw::TIME, Kw::DATETIME, Kw::TIMESTAMP])? {
            Kw::DATE => TemporalKind::Date,
            Kw::TIME => TemporalKind::Time,
            _ => TemporalKind::DateTime,
        };
        self.expect_tok(Tok::Comma)?;
        let region = self.expr()?;
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::GetFormat(Box::new(GetFormat { kind, region })))
    }

    #[inline(never)]
    fn weight_string(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let operand = self.expr()?;
        let mut cast = None;
        if self.eat(Kw::AS) {
            let kind = self.expect_any(&[Kw::CHAR, Kw::BINARY])?;
            self.expect_tok(Tok::LParen)?;
            let length = self.unsigned_to()?;
            self.expect_tok(Tok::RParen)?;
            cast = Some(if kind == Kw::CHAR {
                WeightStringAs::Char(length)
            } else {
                WeightStringAs::Binary(length)
            });
        }
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::WeightString(Box::new(WeightString { operand, cast })))
    }

    #[inline(never)]
    fn json_value(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let document = self.expr_at(level::CONCAT)?;
        self.expect_tok(Tok::Comma)?;
        let path = self.literal_primary()?;
        let returning = if self.eat(Kw::RETURNING) {
            Some(self.cast_type()?)
        } else {
            None
        };
        let (on_empty, on_error) = self.json_responses()?;
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::JsonValue(Box::new(JsonValue {
            document,
            path,
            returning,
            on_empty,
            on_error,
        })))
    }

    /// `[.. ON EMPTY] [.. ON ERROR]`
    pub(super) fn json_responses(&mut self) -> PResult<(Option<JsonOnResponse>, Option<JsonOnResponse>)> {
        let mut on_empty = None;
        while let Some(keyword) = self.eat_any(&[Kw::ERROR, Kw::NULL, Kw::DEFAULT]) {
            let response = match keyword {
                Kw::ERROR => JsonOnResponse::Error,
                Kw::NULL => JsonOnResponse::Null,
                _ => {
                    let (negative, literal) = self.signed_literal()?;
                    let literal = Expr::Literal(literal);
                    JsonOnResponse::Default(if negative {
                        super::expr::unary(UnaryOp::Minus, literal)
                    } else {
                        literal
                    })
                }
            };
            self.expect(Kw::ON)?;
            if on_empty.is_none() && self.eat(Kw::EMPTY) {
                on_empty = Some(response);
                continue;
            }
            self.expect(Kw::ERROR)?;
            return Ok((on_empty, Some(response)));
        }
        Ok((on_empty, None))
    }
}

/// Reserved words that are functions with ordinary arguments.
fn is_reserved_function(keyword: Kw) -> bool {
    matches!(
        keyword,
        Kw::IF | Kw::LEFT | Kw::RIGHT | Kw::REPLACE | Kw::INSERT | Kw::REPEAT | Kw::MOD | Kw::GROUPING
    )
}

/// Words, names elsewhere, that are functions with ordinary arguments.
fn is_free_function(keyword: Kw) -> bool {
    matches!(
        keyword,
        Kw::ASCII
            | Kw::CHARSET
            | Kw::COALESCE
            | Kw::COLLATION
            | Kw::DATE
            | Kw::DAY
            | Kw::FORMAT
            | Kw::GEOMCOLLECTION
            | Kw::GEOMETRYCOLLECTION
            | Kw::HOUR
            | Kw::LINESTRING
            | Kw::MICROSECOND
            | Kw::MINUTE
            | Kw::MONTH
            | Kw::MULTILINESTRING
            | Kw::MULTIPOINT
            | Kw::MULTIPOLYGON
            | Kw::POINT
            | Kw::POLYGON
            | Kw::QUARTER
            | Kw::REVERSE
            | Kw::SECOND
            | Kw::TIME
            | Kw::TIMESTAMP
            | Kw::TRUNCATE
            | Kw::USER
            | Kw::WEEK
            | Kw::YEAR
    )
}

/// The least and the most arguments of [`is_reserved_function`] and [`is_free_function`] words.
fn arity(keyword: Kw) -> (usize, usize) {
    match keyword {
        Kw::USER => (0, 0),
        Kw::LEFT | Kw::RIGHT | Kw::MOD | Kw::REPEAT | Kw::TRUNCATE | Kw::POINT => (2, 2),
        Kw::IF | Kw::REPLACE => (3, 3),
        Kw::INSERT => (4, 4),
        Kw::FORMAT => (2, 3),
        Kw::TIMESTAMP | Kw::WEEK => (1, 2),
        Kw::GEOMCOLLECTION | Kw::GEOMETRYCOLLECTION => (0, usize::MAX),
        Kw::COALESCE
        | Kw::GROUPING
        | Kw::LINESTRING
        | Kw::MULTILINESTRING
        | Kw::MULTIPOINT
        | Kw::MULTIPOLYGON
        | Kw::POLYGON => (1, usize::MAX),
        _ => (1, 1),
    }
}

/// `KEYWORD(args)` is read as [`Expr::Function`] of that name.
pub(crate) fn is_plain_call(keyword: Kw) -> bool {
    is_reserved_function(keyword)
        || is_free_function(keyword)
        || matches!(
            keyword,
            Kw::CURRENT_USER
                | Kw::CURDATE
                | Kw::CURTIME
                | Kw::DATABASE
                | Kw::INTERVAL
                | Kw::NOW
                | Kw::SUBSTRING
                | Kw::SYSDATE
                | Kw::UTC_DATE
                | Kw::UTC_TIME
                | Kw::UTC_TIMESTAMP
        )
}
