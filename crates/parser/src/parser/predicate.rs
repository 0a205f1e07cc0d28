//! `IN`, `BETWEEN`, `LIKE`, `REGEXP`, `SOUNDS LIKE`, `MEMBER OF`: the predicates with syntax of their own.

use super::expr::level;
use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// The current token begins a predicate on `operand`.
    #[inline(never)]
    pub(super) fn predicate(&mut self, operand: Expr) -> PResult<Expr> {
        let negated = self.eat(Kw::NOT);
        if negated && !self.at_any(&[Kw::IN, Kw::BETWEEN, Kw::LIKE, Kw::REGEXP, Kw::RLIKE]) {
            return Err(self.unexpected());
        }
        match self.bump().kind {
            Tok::Kw(Kw::IN) => self.in_operand(operand, negated),
            Tok::Kw(Kw::BETWEEN) => {
                let low = self.expr_at(level::BIT_OR)?;
                self.expect(Kw::AND)?;
                let high = self.expr_at(level::PREDICATE)?;
                Ok(Expr::Between(Box::new(Between {
                    operand,
                    low,
                    high,
                    negated,
                })))
            }
            Tok::Kw(Kw::LIKE) => {
                let pattern = self.expr_at(level::CONCAT)?;
                let escape = if self.eat(Kw::ESCAPE) {
                    Some(self.expr_at(level::CONCAT)?)
                } else {
                    None
                };
                Ok(Expr::Like(Box::new(Like {
                    operand,
                    pattern,
                    escape,
                    negated,
                })))
            }
            Tok::Kw(Kw::SOUNDS) => {
                self.expect(Kw::LIKE)?;
                let right = self.expr_at(level::BIT_OR)?;
                Ok(Expr::Binary(Box::new(Binary {
                    op: BinaryOp::SoundsLike,
                    left: operand,
                    right,
                })))
            }
            Tok::Kw(Kw::MEMBER) => {
                self.eat(Kw::OF);
                self.expect_tok(Tok::LParen)?;
                let array = self.expr_at(level::CONCAT)?;
                self.expect_tok(Tok::RParen)?;
                Ok(Expr::MemberOf(Box::new(MemberOf { operand, array })))
            }
            // REGEXP, RLIKE
            _ => {
                let pattern = self.expr_at(level::BIT_OR)?;
                Ok(Expr::Regexp(Box::new(Regexp {
                    operand,
                    pattern,
                    negated,
                })))
            }
        }
    }

    /// `(query)` or `(value, ...)`
    #[inline(never)]
    fn in_operand(&mut self, operand: Expr, negated: bool) -> PResult<Expr> {
        self.expect_tok(Tok::LParen)?;
        if self.at_query() {
            let query = *self.inner_query()?;
            self.expect_tok(Tok::RParen)?;
            return Ok(Expr::InSubquery(Box::new(InSubquery {
                operand,
                query,
                negated,
            })));
        }
        let starts_with_parenthesis = self.at_tok(Tok::LParen);
        let mut first = self.in_value()?;
        if starts_with_parenthesis {
            first = self.query_from(first)?;
            if let Expr::Subquery(query) = first {
                if self.eat_tok(Tok::RParen) {
                    return Ok(Expr::InSubquery(Box::new(InSubquery {
                        operand,
                        query: *query,
                        negated,
                    })));
                }
                first = Expr::Subquery(query);
            }
        }
        let mut list = vec![first];
        while self.eat_tok(Tok::Comma) {
            list.push(self.in_value()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(Expr::InList(Box::new(InList { operand, list, negated })))
    }

    /// One expression; lists of literals are common and long, and need no climbing.
    pub(super) fn in_value(&mut self) -> PResult<Expr> {
        if !matches!(self.tok.kind, Tok::Integer | Tok::String) {
            return self.expr();
        }
        let Some(literal) = self.opt_literal()? else {
            return Err(self.unexpected());
        };
        let literal = Expr::Literal(literal);
        if matches!(self.tok.kind, Tok::Comma | Tok::RParen) {
            self.peak = self.peak.max(1);
            return Ok(literal);
        }
        // `'a' COLLATE c + ..`: rare enough to be read as a level of its own.
        self.nested(|parser| parser.value_from(literal))
    }

    #[inline(never)]
    fn value_from(&mut self, literal: Expr) -> PResult<Expr> {
        let literal = self.collations(literal)?;
        self.expr_from(literal)
    }
}
