//! CREATE TABLE and what stands between its parentheses.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// After `CREATE [TEMPORARY] TABLE`.
    pub(super) fn create_table(&mut self, temporary: bool) -> PResult<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.table_name()?;
        let body = self.create_table_body()?;
        Ok(Statement::CreateTable(Box::new(CreateTable {
            temporary,
            if_not_exists,
            name,
            body,
        })))
    }

    fn create_table_body(&mut self) -> PResult<CreateTableBody> {
        if self.eat(Kw::LIKE) {
            return self.table_name().map(CreateTableBody::Like);
        }
        let mut definition = TableDefinition::default();
        let list_follows = self.at_tok(Tok::LParen)
            && !matches!(
                self.peek(),
                Tok::LParen | Tok::Kw(Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES)
            );
        if list_follows {
            self.bump();
            if self.eat(Kw::LIKE) {
                let like = self.table_name()?;
                self.expect_tok(Tok::RParen)?;
                return Ok(CreateTableBody::Like(like));
            }
            definition.elements = self.table_elements()?;
            self.expect_tok(Tok::RParen)?;
        }
        self.create_table_tail(&mut definition)?;
        if definition.elements.is_empty() && definition.query.is_none() {
            if !matches!(self.tok.kind, Tok::Eof | Tok::Semicolon) {
                return Err(self.unexpected());
            }
            return Err(self.other(1113, b"42000", "A table must have at least 1 column".into()));
        }
        Ok(CreateTableBody::Definition(Box::new(definition)))
    }

    /// `[options] [PARTITION BY ..] [[REPLACE|IGNORE] [AS] query]`
    fn create_table_tail(&mut self, definition: &mut TableDefinition) -> PResult<()> {
        definition.options = self.table_options()?;
        if self.at(Kw::PARTITION) {
            definition.partitioning = Some(self.partition_by()?);
        }
        definition.duplicates = self.opt_on_duplicate_row();
        let must = self.eat(Kw::AS) || definition.duplicates.is_some();
        if must || self.at_tok(Tok::LParen) || self.at_query() {
            definition.query = Some(*self.inner_query()?);
        }
        Ok(())
    }

    /// Elements of a table between commas. `REFERENCES` behind a column is a foreign key behind it.
    pub(super) fn table_elements(&mut self) -> PResult<Vec<TableElement>> {
        let mut elements = Vec::new();
        loop {
            match self.opt_constraint()? {
                Some(constraint) => elements.push(constraint),
                None => {
                    let column = self.column_def()?;
                    let key = self.opt_column_references(&column)?;
                    elements.push(TableElement::Column(Box::new(column)));
                    elements.extend(key);
                }
            }
            if !self.eat_tok(Tok::Comma) {
                return Ok(elements);
            }
        }
    }

    /// `REFERENCES …` behind a column.
    pub(super) fn opt_column_references(&mut self, column: &ColumnDef) -> PResult<Option<TableElement>> {
        let key = self.opt_references()?.map(|references| ForeignKey {
            constraint: None,
            index: None,
            columns: vec![column.name.clone()],
            references,
        });
        Ok(key.map(|key| TableElement::ForeignKey(Box::new(key))))
    }

    /// A key, foreign key or check, if one begins here.
    pub(super) fn opt_constraint(&mut self) -> PResult<Option<TableElement>> {
        let Tok::Kw(keyword) = self.tok.kind else {
            return Ok(None);
        };
        let key = match keyword {
            Kw::KEY | Kw::INDEX => {
                self.bump();
                self.key(KeyKind::Index, None)?
            }
            Kw::FULLTEXT | Kw::SPATIAL => {
                self.bump();
                self.eat_any(&[Kw::KEY, Kw::INDEX]);
                let kind = if keyword == Kw::FULLTEXT {
                    KeyKind::FullText
                } else {
                    KeyKind::Spatial
                };
                self.key(kind, None)?
            }
            Kw::CONSTRAINT | Kw::PRIMARY | Kw::UNIQUE | Kw::FOREIGN | Kw::CHECK => {
                let name = self.opt_constraint_name()?;
                return self.named_constraint(name).map(Some);
            }
            _ => return Ok(None),
        };
        Ok(Some(TableElement::Key(Box::new(key))))
    }

    fn named_constraint(&mut self, constraint: Option<Ident>) -> PResult<TableElement> {
        let key = match self.kind() {
            Tok::Kw(Kw::PRIMARY) => {
                self.bump();
                self.expect(Kw::KEY)?;
                self.key(KeyKind::Primary, constraint)?
            }
            Tok::Kw(Kw::UNIQUE) => {
                self.bump();
                self.eat_any(&[Kw::KEY, Kw::INDEX]);
                self.key(KeyKind::Unique, constraint)?
            }
            Tok::Kw(Kw::FOREIGN) => {
                self.bump();
                self.expect(Kw::KEY)?;
                let index = if self.at_ident() { Some(self.ident()?) } else { None };
                let columns = self.paren_idents()?;
                let Some(references) = self.opt_references()? else {
                    return Err(self.unexpected());
                };
                let key = ForeignKey {
                    constraint,
                    index,
                    columns,
                    references,
                };
                return Ok(TableElement::ForeignKey(Box::new(key)));
            }
            _ => return self.check(constraint).map(TableElement::from),
        };
        Ok(TableElement::Key(Box::new(key)))
    }

    /// `[name] [USING ..] (parts) options`
    fn key(&mut self, kind: KeyKind, constraint: Option<Ident>) -> PResult<KeyDef> {
        let name = if self.at_ident() { Some(self.ident()?) } else { None };
        let mut algorithm = None;
        if kind != KeyKind::FullText && (self.at(Kw::USING) || (name.is_some() && self.at(Kw::TYPE))) {
            self.bump();
            algorithm = Some(self.index_algorithm()?);
        }
        self.key_parts(kind, constraint, name, algorithm)
    }

    /// `(parts) options`
    pub(super) fn key_parts(
        &mut self,
        kind: KeyKind,
        constraint: Option<Ident>,
        name: Option<Ident>,
        algorithm: Option<IndexAlgorithm>,
    ) -> PResult<KeyDef> {
        let parts = self.paren_list(Self::key_part)?;
        let mut options = KeyOptions {
            algorithm,
            ..KeyOptions::default()
        };
        while self.key_option(kind, &mut options)? {}
        Ok(KeyDef {
            kind,
            constraint,
            name,
            parts,
            options,
        })
    }

    pub(super) fn index_algorithm(&mut self) -> PResult<IndexAlgorithm> {
        Ok(match self.expect_any(&[Kw::BTREE, Kw::HASH, Kw::RTREE])? {
            Kw::BTREE => IndexAlgorithm::BTree,
            Kw::HASH => IndexAlgorithm::Hash,
            _ => IndexAlgorithm::RTree,
        })
    }

    fn key_part(&mut self) -> PResult<KeyPart> {
        if self.at_tok(Tok::LParen) {
            let expr = self.paren_expr()?;
            return Ok(KeyPart::Expr {
                expr,
                descending: self.descending(),
            });
        }
        let name = self.ident()?;
        let mut length = None;
        if self.eat_tok(Tok::LParen) {
            length = Some(self.unsigned_to()?);
            self.expect_tok(Tok::RParen)?;
        }
        Ok(KeyPart::Column {
            name,
            length,
            descending: self.descending(),
        })
    }

    /// `[ASC|DESC]`
    fn descending(&mut self) -> bool {
        self.eat_any(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC)
    }

    /// Reads one option into `options`; false if there is none.
    fn key_option(&mut self, kind: KeyKind, options: &mut KeyOptions) -> PResult<bool> {
        // Only one of words has a parser, and it has no algorithm.
        let is_of_other_kind = match kind {
            KeyKind::FullText => self.at_any(&[Kw::USING, Kw::TYPE]),
            _ => self.at(Kw::WITH),
        };
        if is_of_other_kind {
            return Ok(false);
        }
        let Some(keyword) = self.eat_any(&[
            Kw::KEY_BLOCK_SIZE,
            Kw::COMMENT,
            Kw::USING,
            Kw::TYPE,
            Kw::VISIBLE,
            Kw::INVISIBLE,
            Kw::WITH,
            Kw::ENGINE_ATTRIBUTE,
            Kw::SECONDARY_ENGINE_ATTRIBUTE,
        ]) else {
            return Ok(false);
        };
        match keyword {
            Kw::KEY_BLOCK_SIZE => {
                self.opt_eq();
                options.block_size = Some(self.unsigned()?);
            }
            Kw::COMMENT => options.comment = Some(self.text()?),
            Kw::USING | Kw::TYPE => options.algorithm = Some(self.index_algorithm()?),
            Kw::VISIBLE => options.visible = Some(true),
            Kw::INVISIBLE => options.visible = Some(false),
            Kw::WITH => {
                self.expect(Kw::PARSER)?;
                options.parser = Some(self.ident()?);
            }
            Kw::ENGINE_ATTRIBUTE => {
                self.opt_eq();
                options.engine_attribute = Some(self.text()?);
            }
            _ => {
                self.opt_eq();
                options.secondary_engine_attribute = Some(self.text()?);
            }
        }
        Ok(true)
    }
}
