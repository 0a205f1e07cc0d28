//! What FROM lists: tables, derived tables, JSON_TABLE and joins of them.

use super::{Fail, PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

/// An operand of joins, and how many joins its left edge has outside of parentheses.
struct Operand {
    table: TableRef,
    edge: usize,
}

/// What stood in parentheses where a table was expected.
enum Parenthesised {
    Query(Box<Query>),
    Tables(TableRef),
}

impl Parser<'_> {
    /// `a, b JOIN c ..`
    pub(super) fn table_refs(&mut self) -> PResult<Vec<TableRef>> {
        self.list(Self::table_ref)
    }

    pub(super) fn table_ref(&mut self) -> PResult<TableRef> {
        self.enter()?;
        let outer = std::mem::replace(&mut self.peak, 0);
        let first = self.table_factor()?;
        let table = self.joins(first)?;
        self.peak = outer.max(self.peak);
        self.leave();
        Ok(table)
    }

    /// Joins to the right of `first`.
    ///
    /// A condition belongs to the last join that has none yet, so joins wait on a stack for theirs. Those that never get
    /// one (inner joins may) associate to the left: `a JOIN b JOIN c ON x` is `(a JOIN b) JOIN c ON x`.
    fn joins(&mut self, first: TableRef) -> PResult<TableRef> {
        let mut operands = vec![Operand { table: first, edge: 0 }];
        let mut waiting = Vec::new();
        let mut count = 1;
        loop {
            if !waiting.is_empty() && self.at_any(&[Kw::ON, Kw::USING]) {
                let condition = self.join_condition()?;
                let kind = waiting.pop().expect("checked above");
                join_last_two(&mut operands, kind, condition);
                continue;
            }
            let natural = self.eat(Kw::NATURAL);
            let Some(kind) = self.join_operator(natural)? else {
                break;
            };
            count += 1;
            self.check_height(count + self.peak)?;
            let table = self.table_factor()?;
            operands.push(Operand { table, edge: 0 });
            if natural {
                join_last_two(&mut operands, kind, JoinCondition::Natural);
            } else {
                waiting.push(kind);
            }
        }
        while let Some(kind) = waiting.pop() {
            if matches!(kind, JoinKind::Left | JoinKind::Right) {
                return Err(self.unexpected());
            }
            cross_join_last_two(&mut operands, kind);
        }
        self.peak += count;
        self.check_height(self.peak)?;
        Ok(operands.pop().expect("every join left one operand").table)
    }

    fn join_operator(&mut self, natural: bool) -> PResult<Option<JoinKind>> {
        let kind = match self.kind() {
            Tok::Kw(Kw::JOIN) => JoinKind::Inner,
            Tok::Kw(Kw::INNER) => {
                self.bump();
                JoinKind::Inner
            }
            Tok::Kw(Kw::CROSS) if !natural => {
                self.bump();
                JoinKind::Inner
            }
            Tok::Kw(Kw::STRAIGHT_JOIN) if !natural => {
                self.bump();
                return Ok(Some(JoinKind::Straight));
            }
            Tok::Kw(side @ (Kw::LEFT | Kw::RIGHT)) => {
                self.bump();
                self.eat(Kw::OUTER);
                if side == Kw::LEFT {
                    JoinKind::Left
                } else {
                    JoinKind::Right
                }
            }
            _ if natural => return Err(self.unexpected()),
            _ => return Ok(None),
        };
        self.expect(Kw::JOIN)?;
        Ok(Some(kind))
    }

    fn join_condition(&mut self) -> PResult<JoinCondition> {
        if self.eat(Kw::ON) {
            return self.expr().map(JoinCondition::On);
        }
        self.expect(Kw::USING)?;
        self.paren_idents().map(JoinCondition::Using)
    }

    fn table_factor(&mut self) -> PResult<TableRef> {
        match self.kind() {
            Tok::LParen => match self.nested(Self::parenthesised_table)? {
                Parenthesised::Query(query) => self.derived(false, *query),
                Parenthesised::Tables(tables) => Ok(tables),
            },
            Tok::Kw(Kw::LATERAL) => {
                self.bump();
                let query = *self.subquery()?;
                self.derived(true, query)
            }
            Tok::Kw(Kw::JSON_TABLE) => self.json_table(),
            Tok::LBrace => {
                self.bump();
                self.expect(Kw::OJ)?;
                let table = self.table_ref()?;
                self.expect_tok(Tok::RBrace)?;
                Ok(table)
            }
            _ => self.plain_table().map(|table| TableRef::Table(Box::new(table))),
        }
    }

    fn plain_table(&mut self) -> PResult<TableFactor> {
        let name = self.table_name()?;
        let partitions = self.opt_partition_names()?;
        let before = self.opt_as_of()?;
        let alias = self.opt_table_alias()?;
        let as_of = match before {
            Some(moment) => Some(moment),
            None => self.opt_as_of()?,
        };
        let index_hints = self.index_hints()?;
        Ok(TableFactor {
            name,
            partitions,
            alias,
            as_of,
            index_hints,
        })
    }

    /// `[AS OF TIMESTAMP expr]`
    pub(super) fn opt_as_of(&mut self) -> PResult<Option<Box<Expr>>> {
        if !(self.at(Kw::AS) && self.peek_is(Kw::OF)) {
            return Ok(None);
        }
        self.bump();
        self.bump();
        self.expect(Kw::TIMESTAMP)?;
        self.expr().map(Box::new).map(Some)
    }

    /// `[PARTITION (names)]`
    pub(super) fn opt_partition_names(&mut self) -> PResult<Vec<Ident>> {
        if self.eat(Kw::PARTITION) {
            self.paren_idents()
        } else {
            Ok(Vec::new())
        }
    }

    /// `[[AS] alias]`
    pub(super) fn opt_table_alias(&mut self) -> PResult<Option<Ident>> {
        if self.eat(Kw::AS) || self.at_ident() {
            self.ident().map(Some)
        } else {
            Ok(None)
        }
    }

    fn index_hints(&mut self) -> PResult<Vec<IndexHint>> {
        let mut hints = Vec::new();
        while let Some(keyword) = self.eat_any(&[Kw::USE, Kw::FORCE, Kw::IGNORE]) {
            let kind = match keyword {
                Kw::USE => IndexHintKind::Use,
                Kw::FORCE => IndexHintKind::Force,
                _ => IndexHintKind::Ignore,
            };
            self.expect_any(&[Kw::INDEX, Kw::KEY])?;
            let mut scope = None;
            if self.eat(Kw::FOR) {
                scope = Some(match self.expect_any(&[Kw::JOIN, Kw::ORDER, Kw::GROUP])? {
                    Kw::JOIN => IndexHintScope::Join,
                    by => {
                        self.expect(Kw::BY)?;
                        if by == Kw::ORDER {
                            IndexHintScope::OrderBy
                        } else {
                            IndexHintScope::GroupBy
                        }
                    }
                });
            }
            self.expect_tok(Tok::LParen)?;
            let none = kind == IndexHintKind::Use && self.at_tok(Tok::RParen);
            let indexes = if none { Vec::new() } else { self.list(Self::index_name)? };
            self.expect_tok(Tok::RParen)?;
            hints.push(IndexHint { kind, scope, indexes });
        }
        Ok(hints)
    }

    /// An index by name; `PRIMARY` is one.
    pub(super) fn index_name(&mut self) -> PResult<Ident> {
        if self.eat(Kw::PRIMARY) {
            Ok(Ident::from("PRIMARY"))
        } else {
            self.ident()
        }
    }

    /// `(query)`, `((query) UNION ..)`, `(a, b JOIN c)`, `((query) AS d JOIN ..)`
    fn parenthesised_table(&mut self) -> PResult<Parenthesised> {
        self.bump();
        if self.at_query() {
            let query = self.inner_query()?;
            self.expect_tok(Tok::RParen)?;
            return Ok(Parenthesised::Query(query));
        }
        let mut first = None;
        if self.at_tok(Tok::LParen) {
            match self.nested(Self::parenthesised_table)? {
                Parenthesised::Query(mut query) => {
                    if self.at_query_tail() {
                        query = self.nested_query(|parser| parser.query_expression_from(query))?;
                    }
                    if self.eat_tok(Tok::RParen) {
                        return Ok(Parenthesised::Query(query));
                    }
                    first = Some(self.derived(false, *query)?);
                }
                Parenthesised::Tables(tables) => first = Some(tables),
            }
        }
        let mut tables = vec![match first {
            Some(first) => self.joins(first)?,
            None => self.table_ref()?,
        }];
        while self.eat_tok(Tok::Comma) {
            tables.push(self.table_ref()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(Parenthesised::Tables(match tables.pop() {
            Some(only) if tables.is_empty() => only,
            last => {
                tables.extend(last);
                TableRef::List(tables)
            }
        }))
    }

    /// What follows a subquery in FROM.
    fn derived(&mut self, lateral: bool, query: Query) -> PResult<TableRef> {
        let Some(alias) = self.opt_table_alias()? else {
            return Err(self.alias_missing());
        };
        let columns = self.opt_paren_idents()?;
        Ok(TableRef::Derived(Box::new(Derived {
            lateral,
            query,
            alias,
            columns,
        })))
    }

    #[cold]
    fn alias_missing(&mut self) -> Fail {
        // Only where the table could end: elsewhere the token itself is wrong.
        match self.kind() {
            Tok::Bad | Tok::Dot => self.unexpected(),
            _ => self.other(1248, b"42000", "Every derived table must have its own alias".into()),
        }
    }

    /// `JSON_TABLE(document, 'path' COLUMNS (..)) [AS] alias`
    fn json_table(&mut self) -> PResult<TableRef> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let document = self.expr()?;
        self.expect_tok(Tok::Comma)?;
        let path = self.bytes()?;
        let columns = self.json_columns()?;
        self.expect_tok(Tok::RParen)?;
        let Some(alias) = self.opt_table_alias()? else {
            return Err(self.other(3667, b"42000", "Every table function must have an alias".into()));
        };
        Ok(TableRef::JsonTable(Box::new(JsonTable {
            document,
            path,
            columns,
            alias,
        })))
    }

    fn json_columns(&mut self) -> PResult<Vec<JsonTableColumn>> {
        self.expect(Kw::COLUMNS)?;
        self.nested(|parser| parser.paren_list(Self::json_column))
    }

    fn json_column(&mut self) -> PResult<JsonTableColumn> {
        if self.at(Kw::NESTED) && matches!(self.peek(), Tok::String | Tok::Kw(Kw::PATH)) {
            self.bump();
            self.eat(Kw::PATH);
            let path = self.bytes()?;
            return Ok(JsonTableColumn::Nested {
                path,
                columns: self.json_columns()?,
            });
        }
        let name = self.ident()?;
        if self.eat(Kw::FOR) {
            self.expect(Kw::ORDINALITY)?;
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let data_type = self.data_type()?;
        let collation = if self.eat(Kw::COLLATE) {
            Some(self.collation_name()?)
        } else {
            None
        };
        let exists = self.eat(Kw::EXISTS);
        self.expect(Kw::PATH)?;
        let path = self.bytes()?;
        let (on_empty, on_error) = self.json_responses()?;
        let column = JsonTablePath {
            name,
            data_type,
            collation,
            exists,
            path,
            on_empty,
            on_error,
        };
        Ok(JsonTableColumn::Path(Box::new(column)))
    }
}

fn join_last_two(operands: &mut Vec<Operand>, kind: JoinKind, condition: JoinCondition) {
    let (Some(right), Some(left)) = (operands.pop(), operands.pop()) else {
        unreachable!("every join operator pushed an operand");
    };
    let join = Join {
        kind,
        left: left.table,
        right: right.table,
        condition,
    };
    operands.push(Operand {
        table: TableRef::Join(Box::new(join)),
        edge: left.edge + 1,
    });
}

/// A join without condition is put at the far end of its right side's left edge.
fn cross_join_last_two(operands: &mut Vec<Operand>, kind: JoinKind) {
    let (Some(mut right), Some(left)) = (operands.pop(), operands.pop()) else {
        unreachable!("every join operator pushed an operand");
    };
    let mut end = &mut right.table;
    for _ in 0..right.edge {
        let TableRef::Join(join) = end else {
            unreachable!("the edge counts joins");
        };
        end = &mut join.left;
    }
    let innermost = std::mem::replace(end, TableRef::List(Vec::new()));
    *end = TableRef::Join(Box::new(Join {
        kind,
        left: left.table,
        right: innermost,
        condition: JoinCondition::None,
    }));
    operands.push(Operand {
        table: right.table,
        edge: left.edge + right.edge + 1,
    });
}
