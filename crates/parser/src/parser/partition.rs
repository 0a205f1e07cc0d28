//! PARTITION BY and partition definitions.

use super::expr::level;
use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// `PARTITION BY method [PARTITIONS n] [SUBPARTITION BY ..] [(definitions)]`
    pub(super) fn partition_by(&mut self) -> PResult<Partitioning> {
        self.expect_all(&[Kw::PARTITION, Kw::BY])?;
        let method = match self.kind() {
            Tok::Kw(keyword @ (Kw::RANGE | Kw::LIST)) => {
                self.bump();
                let range = keyword == Kw::RANGE;
                if self.eat(Kw::COLUMNS) {
                    let columns = self.paren_idents()?;
                    if range {
                        PartitionMethod::RangeColumns(columns)
                    } else {
                        PartitionMethod::ListColumns(columns)
                    }
                } else {
                    let expr = self.partition_function()?;
                    if range {
                        PartitionMethod::Range(expr)
                    } else {
                        PartitionMethod::List(expr)
                    }
                }
            }
            _ => self.hash_or_key()?,
        };
        let count = if self.eat(Kw::PARTITIONS) {
            Some(self.unsigned()?)
        } else {
            None
        };
        let mut subpartition = None;
        if self.eat(Kw::SUBPARTITION) {
            self.expect(Kw::BY)?;
            let method = self.hash_or_key()?;
            let count = if self.eat(Kw::SUBPARTITIONS) {
                Some(self.unsigned()?)
            } else {
                None
            };
            subpartition = Some(Subpartitioning { method, count });
        }
        let partitions = if self.at_tok(Tok::LParen) {
            self.partition_defs()?
        } else {
            Vec::new()
        };
        Ok(Partitioning {
            method,
            count,
            subpartition,
            partitions,
        })
    }

    fn partition_function(&mut self) -> PResult<Expr> {
        self.expect_tok(Tok::LParen)?;
        let expr = self.expr_at(level::BIT_OR)?;
        self.expect_tok(Tok::RParen)?;
        Ok(expr)
    }

    fn hash_or_key(&mut self) -> PResult<PartitionMethod> {
        let linear = self.eat(Kw::LINEAR);
        if self.eat(Kw::HASH) {
            return Ok(PartitionMethod::Hash {
                linear,
                expr: self.partition_function()?,
            });
        }
        self.expect(Kw::KEY)?;
        let mut algorithm = None;
        if self.eat(Kw::ALGORITHM) {
            self.expect_tok(Tok::Eq)?;
            let token = self.tok;
            match self.unsigned()? {
                version @ (1 | 2) => algorithm = Some(version as u8),
                _ => return Err(self.unexpected_at(token)),
            }
        }
        self.expect_tok(Tok::LParen)?;
        let columns = if self.at_tok(Tok::RParen) {
            Vec::new()
        } else {
            self.list(Self::ident)?
        };
        self.expect_tok(Tok::RParen)?;
        Ok(PartitionMethod::Key {
            linear,
            algorithm,
            columns,
        })
    }

    /// `(PARTITION ..., ...)`
    pub(super) fn partition_defs(&mut self) -> PResult<Vec<PartitionDef>> {
        self.paren_list(|parser| {
            parser.expect(Kw::PARTITION)?;
            let name = parser.ident()?;
            let values = parser.opt_partition_values()?;
            let options = parser.partition_options()?;
            let mut subpartitions = Vec::new();
            if parser.at_tok(Tok::LParen) {
                subpartitions = parser.paren_list(|parser| {
                    parser.expect(Kw::SUBPARTITION)?;
                    Ok(SubpartitionDef {
                        name: parser.ident_or_text()?,
                        options: parser.partition_options()?,
                    })
                })?;
            }
            Ok(PartitionDef {
                name,
                values,
                options,
                subpartitions,
            })
        })
    }

    fn opt_partition_values(&mut self) -> PResult<Option<PartitionValues>> {
        if !self.eat(Kw::VALUES) {
            return Ok(None);
        }
        if self.eat(Kw::LESS) {
            self.expect(Kw::THAN)?;
            if self.eat(Kw::MAXVALUE) {
                return Ok(Some(PartitionValues::LessThanMax));
            }
            return self
                .paren_list(Self::partition_value)
                .map(|values| Some(PartitionValues::LessThan(values)));
        }
        self.expect(Kw::IN)?;
        // `((1, 2), (3, 4))` are tuples of several columns, `(1, 2)` values of one.
        let tuples = self.paren_list(|parser| {
            if parser.at_tok(Tok::LParen) && parser.tuple_follows() {
                return parser.paren_list(Self::partition_value);
            }
            Ok(vec![parser.partition_value()?])
        })?;
        Ok(Some(PartitionValues::In(tuples)))
    }

    /// The parenthesis holds a list, not a part of an expression: its closing one is followed by `,` or `)`.
    fn tuple_follows(&mut self) -> bool {
        let mut lexer = self.lexer.clone();
        let mut depth = match self.peek() {
            Tok::LParen => 2,
            Tok::RParen => return false,
            _ => 1,
        };
        while depth > 0 {
            match lexer.next().kind {
                Tok::LParen => depth += 1,
                Tok::RParen => depth -= 1,
                Tok::Eof | Tok::Bad | Tok::Semicolon => return false,
                _ => {}
            }
        }
        matches!(lexer.next().kind, Tok::Comma | Tok::RParen)
    }

    fn partition_value(&mut self) -> PResult<PartitionValue> {
        if self.eat(Kw::MAXVALUE) {
            return Ok(PartitionValue::Max);
        }
        self.expr_at(level::BIT_OR).map(PartitionValue::Expr)
    }

    fn partition_options(&mut self) -> PResult<Vec<PartitionOption>> {
        let mut options = Vec::new();
        loop {
            let option = match self.kind() {
                Tok::Kw(Kw::STORAGE) if self.peek_is(Kw::ENGINE) => {
                    self.bump();
                    continue;
                }
                Tok::Kw(keyword @ (Kw::DATA | Kw::INDEX)) => {
                    self.bump();
                    self.expect(Kw::DIRECTORY)?;
                    self.opt_eq();
                    let path = self.text()?;
                    if keyword == Kw::DATA {
                        PartitionOption::DataDirectory(path)
                    } else {
                        PartitionOption::IndexDirectory(path)
                    }
                }
                Tok::Kw(
                    keyword @ (Kw::ENGINE | Kw::COMMENT | Kw::MAX_ROWS | Kw::MIN_ROWS | Kw::TABLESPACE | Kw::NODEGROUP),
                ) => {
                    self.bump();
                    self.opt_eq();
                    match keyword {
                        Kw::ENGINE => PartitionOption::Engine(self.ident_or_text()?),
                        Kw::COMMENT => PartitionOption::Comment(self.text()?),
                        Kw::MAX_ROWS => PartitionOption::MaxRows(self.unsigned()?),
                        Kw::MIN_ROWS => PartitionOption::MinRows(self.unsigned()?),
                        Kw::TABLESPACE => PartitionOption::Tablespace(self.ident_or_text()?),
                        _ => PartitionOption::NodeGroup(self.unsigned()?),
                    }
                }
                _ => return Ok(options),
            };
            options.push(option);
        }
    }
}
