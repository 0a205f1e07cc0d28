//! Aggregates and window functions.

use super::expr::level;
use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// Functions of one argument (two for JSON_OBJECTAGG).
    #[inline(never)]
    pub(super) fn aggregate(&mut self, function: AggregateFn) -> PResult<Expr> {
        use AggregateFn::{Avg, JsonObjectAgg, Max, Min, StCollect, Sum};
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let mut distinct = false;
        if matches!(function, Sum | Avg | Min | Max | StCollect) {
            distinct = self.distinct();
        }
        if !distinct || matches!(function, Sum | Avg) {
            self.eat(Kw::ALL);
        }
        let mut args = vec![self.expr()?];
        if function == JsonObjectAgg {
            self.expect_tok(Tok::Comma)?;
            self.eat(Kw::ALL);
            args.push(self.expr()?);
        }
        self.aggregate_end(Box::new(Aggregate::of(function, distinct, args)))
    }

    #[inline(never)]
    pub(super) fn count(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let distinct = self.distinct();
        let args = if distinct {
            self.list(Self::expr)?
        } else {
            let all = self.eat(Kw::ALL);
            if self.eat_tok(Tok::Star) {
                Vec::new()
            } else {
                let arg = self.expr()?;
                if all || !self.at_tok(Tok::Comma) {
                    vec![arg]
                } else {
                    return Err(self.unexpected());
                }
            }
        };
        self.aggregate_end(Box::new(Aggregate::of(AggregateFn::Count, distinct, args)))
    }

    #[inline(never)]
    pub(super) fn group_concat(&mut self) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let distinct = self.distinct();
        let args = self.list(Self::expr)?;
        let order_by = self.nested(Self::opt_order_by)?;
        let separator = if self.eat(Kw::SEPARATOR) {
            Some(self.bytes_or_hex()?)
        } else {
            None
        };
        self.aggregate_end(Box::new(Aggregate {
            order_by,
            separator,
            ..Aggregate::of(AggregateFn::GroupConcat, distinct, args)
        }))
    }

    /// `DISTINCT`, which has two spellings.
    fn distinct(&mut self) -> bool {
        self.eat_any(&[Kw::DISTINCT, Kw::DISTINCTROW]).is_some()
    }

    #[inline(never)]
    fn aggregate_end(&mut self, mut aggregate: Box<Aggregate>) -> PResult<Expr> {
        self.expect_tok(Tok::RParen)?;
        if self.at(Kw::OVER) {
            aggregate.over = Some(self.over()?);
        }
        Ok(Expr::Aggregate(aggregate))
    }

    #[inline(never)]
    pub(super) fn window_call(&mut self, keyword: Kw) -> PResult<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let (function, least, most) = match keyword {
            Kw::ROW_NUMBER => (WindowFn::RowNumber, 0, 0),
            Kw::RANK => (WindowFn::Rank, 0, 0),
            Kw::DENSE_RANK => (WindowFn::DenseRank, 0, 0),
            Kw::CUME_DIST => (WindowFn::CumeDist, 0, 0),
            Kw::PERCENT_RANK => (WindowFn::PercentRank, 0, 0),
            Kw::NTILE => (WindowFn::Ntile, 1, 1),
            Kw::LEAD => (WindowFn::Lead, 1, 3),
            Kw::LAG => (WindowFn::Lag, 1, 3),
            Kw::FIRST_VALUE => (WindowFn::FirstValue, 1, 1),
            Kw::LAST_VALUE => (WindowFn::LastValue, 1, 1),
            _ => (WindowFn::NthValue, 2, 2),
        };
        let mut args = Vec::new();
        while args.len() < most {
            if !args.is_empty() {
                if args.len() >= least && !self.at_tok(Tok::Comma) {
                    break;
                }
                self.expect_tok(Tok::Comma)?;
            }
            let is_count = match function {
                WindowFn::Ntile => args.is_empty(),
                WindowFn::Lead | WindowFn::Lag => args.len() == 1,
                _ => false,
            };
            args.push(if is_count { self.window_count()? } else { self.expr()? });
        }
        self.expect_tok(Tok::RParen)?;
        let mut from_last = false;
        if function == WindowFn::NthValue && self.eat(Kw::FROM) {
            from_last = self.expect_any(&[Kw::FIRST, Kw::LAST])? == Kw::LAST;
        }
        let mut ignore_nulls = false;
        if !matches!(most, 0) && function != WindowFn::Ntile && self.at_any(&[Kw::RESPECT, Kw::IGNORE]) {
            ignore_nulls = self.bump().kind == Tok::Kw(Kw::IGNORE);
            self.expect(Kw::NULLS)?;
        }
        let over = self.over()?;
        Ok(Expr::Window(Box::new(WindowCall {
            function,
            args,
            ignore_nulls,
            from_last,
            over,
        })))
    }

    /// How many rows or parts: the same for all rows, a number or a variable.
    fn window_count(&mut self) -> PResult<Expr> {
        match self.kind() {
            Tok::Integer | Tok::Param | Tok::AtName => self.expr_at(level::SIMPLE),
            _ if self.at_ident() => self.expr_at(level::SIMPLE),
            _ => Err(self.unexpected()),
        }
    }

    #[inline(never)]
    fn over(&mut self) -> PResult<Over> {
        self.expect(Kw::OVER)?;
        if self.at_tok(Tok::LParen) {
            self.nested(Self::window_spec).map(Over::Spec)
        } else {
            self.ident().map(Over::Name)
        }
    }

    /// `([base] [PARTITION BY ..] [ORDER BY ..] [frame])`
    #[inline(never)]
    pub(super) fn window_spec(&mut self) -> PResult<WindowSpec> {
        self.expect_tok(Tok::LParen)?;
        let base = if self.at_ident() { Some(self.ident()?) } else { None };
        let mut partition_by = Vec::new();
        if self.eat(Kw::PARTITION) {
            self.expect(Kw::BY)?;
            partition_by = self.list(Self::order_item)?;
        }
        let order_by = self.opt_order_by()?;
        let unit = match self.eat_any(&[Kw::ROWS, Kw::RANGE, Kw::GROUPS]) {
            Some(Kw::ROWS) => Some(FrameUnit::Rows),
            Some(Kw::RANGE) => Some(FrameUnit::Range),
            Some(_) => Some(FrameUnit::Groups),
            None => None,
        };
        let frame = match unit {
            Some(unit) => Some(self.frame(unit)?),
            None => None,
        };
        self.expect_tok(Tok::RParen)?;
        Ok(WindowSpec {
            base,
            partition_by,
            order_by,
            frame,
        })
    }

    #[inline(never)]
    fn frame(&mut self, unit: FrameUnit) -> PResult<Frame> {
        let (start, end) = if self.eat(Kw::BETWEEN) {
            let sides = [Kw::PRECEDING, Kw::FOLLOWING];
            let start = self.frame_bound(&sides)?;
            self.expect(Kw::AND)?;
            (start, Some(self.frame_bound(&sides)?))
        } else {
            (self.frame_bound(&[Kw::PRECEDING])?, None)
        };
        let mut exclude = None;
        if self.eat(Kw::EXCLUDE) {
            exclude = Some(match self.expect_any(&[Kw::CURRENT, Kw::GROUP, Kw::TIES, Kw::NO])? {
                Kw::CURRENT => {
                    self.expect(Kw::ROW)?;
                    FrameExclusion::CurrentRow
                }
                Kw::GROUP => FrameExclusion::Group,
                Kw::TIES => FrameExclusion::Ties,
                _ => {
                    self.expect(Kw::OTHERS)?;
                    FrameExclusion::NoOthers
                }
            });
        }
        Ok(Frame {
            unit,
            start,
            end,
            exclude,
        })
    }

    fn frame_bound(&mut self, sides: &[Kw]) -> PResult<FrameBound> {
        if self.eat(Kw::UNBOUNDED) {
            return Ok(match self.expect_any(sides)? {
                Kw::PRECEDING => FrameBound::UnboundedPreceding,
                _ => FrameBound::UnboundedFollowing,
            });
        }
        if self.eat(Kw::CURRENT) {
            self.expect(Kw::ROW)?;
            return Ok(FrameBound::CurrentRow);
        }
        let offset = match self.kind() {
            Tok::Kw(Kw::INTERVAL) => {
                let (amount, unit) = self.interval()?;
                FrameOffset::Interval(amount, unit)
            }
            Tok::Integer | Tok::Decimal | Tok::Float | Tok::Param => FrameOffset::Rows(self.expr_at(level::SIMPLE)?),
            _ => return Err(self.unexpected()),
        };
        Ok(match self.expect_any(sides)? {
            Kw::PRECEDING => FrameBound::Preceding(offset),
            _ => FrameBound::Following(offset),
        })
    }
}
