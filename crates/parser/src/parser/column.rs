//! Data types, cast types and column definitions.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn data_type(&mut self) -> PResult<DataType> {
        let Tok::Kw(keyword) = self.tok.kind else {
            return Err(self.unexpected());
        };
        if let Some(name) = integer_type(keyword) {
            self.bump();
            let length = self.opt_length()?;
            return self.number(DataType {
                length,
                ..DataType::plain(name)
            });
        }
        if let Some(name) = bare_type(keyword) {
            self.bump();
            return Ok(DataType::plain(name));
        }
        match keyword {
            Kw::BOOL | Kw::BOOLEAN => self.fixed(DataType::with_length(TypeName::TinyInt, 1)),
            Kw::BIT => self.sized(TypeName::Bit),
            Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED => self.real(TypeName::Decimal),
            Kw::FLOAT | Kw::FLOAT4 => self.real(TypeName::Float),
            Kw::REAL if self.mode.real_as_float => self.real(TypeName::Float),
            Kw::REAL | Kw::FLOAT8 => self.real(TypeName::Double),
            Kw::DOUBLE => {
                if self.peek_is(Kw::PRECISION) {
                    self.bump();
                }
                self.real(TypeName::Double)
            }
            Kw::CHAR | Kw::CHARACTER => {
                self.bump();
                if self.eat(Kw::VARYING) {
                    self.varying()
                } else {
                    self.character(TypeName::Char)
                }
            }
            Kw::VARCHAR | Kw::VARCHARACTER => {
                self.bump();
                self.varying()
            }
            Kw::NATIONAL | Kw::NCHAR | Kw::NVARCHAR => self.national(),
            Kw::BINARY => self.sized(TypeName::Binary),
            Kw::VARBINARY => {
                self.bump();
                Ok(DataType::with_length(TypeName::VarBinary, self.length()?))
            }
            Kw::BLOB => self.sized(TypeName::Blob),
            Kw::TEXT => {
                self.bump();
                self.character(TypeName::Text)
            }
            Kw::TINYTEXT => self.text_type(TypeName::TinyText),
            Kw::MEDIUMTEXT => self.text_type(TypeName::MediumText),
            Kw::LONGTEXT => self.text_type(TypeName::LongText),
            Kw::LONG => self.long(),
            Kw::ENUM => self.members(TypeName::Enum),
            Kw::SET => self.members(TypeName::Set),
            Kw::TIME => self.temporal_type(TypeName::Time),
            Kw::DATETIME => self.temporal_type(TypeName::DateTime),
            Kw::TIMESTAMP => self.temporal_type(TypeName::Timestamp),
            Kw::YEAR => {
                self.bump();
                let length = self.opt_length()?;
                self.number(DataType {
                    length,
                    ..DataType::plain(TypeName::Year)
                })
            }
            _ => Err(self.unexpected()),
        }
    }

    fn fixed(&mut self, data_type: DataType) -> PResult<DataType> {
        self.bump();
        Ok(data_type)
    }

    /// `TYPE[(n)]`
    fn sized(&mut self, name: TypeName) -> PResult<DataType> {
        self.bump();
        Ok(DataType {
            length: self.opt_length()?,
            ..DataType::plain(name)
        })
    }

    /// `(n)`
    fn length(&mut self) -> PResult<u64> {
        self.expect_tok(Tok::LParen)?;
        let length = self.option_number()?;
        self.expect_tok(Tok::RParen)?;
        Ok(length)
    }

    fn opt_length(&mut self) -> PResult<Option<u64>> {
        if !self.at_tok(Tok::LParen) || self.peek() == Tok::RParen {
            // `INT()` is accepted, and says nothing.
            if self.eat_tok(Tok::LParen) {
                self.bump();
            }
            return Ok(None);
        }
        self.length().map(Some)
    }

    /// `TYPE[(precision[, scale])]` and number attributes.
    fn real(&mut self, name: TypeName) -> PResult<DataType> {
        self.bump();
        let mut data_type = DataType::plain(name);
        self.precision(&mut data_type)?;
        self.number(data_type)
    }

    fn precision(&mut self, data_type: &mut DataType) -> PResult<()> {
        if self.eat_tok(Tok::LParen) {
            if self.eat_tok(Tok::RParen) {
                return Ok(());
            }
            data_type.length = Some(self.option_number()?);
            if self.eat_tok(Tok::Comma) {
                data_type.decimals = Some(self.unsigned_to()?);
            }
            self.expect_tok(Tok::RParen)?;
        }
        Ok(())
    }

    /// `[UNSIGNED|SIGNED|ZEROFILL] ...`
    fn number(&mut self, mut data_type: DataType) -> PResult<DataType> {
        while let Some(keyword) = self.eat_any(&[Kw::UNSIGNED, Kw::SIGNED, Kw::ZEROFILL]) {
            match keyword {
                Kw::UNSIGNED => data_type.unsigned = true,
                Kw::ZEROFILL => {
                    data_type.unsigned = true;
                    data_type.zerofill = true;
                }
                _ => {}
            }
        }
        Ok(data_type)
    }

    fn temporal_type(&mut self, name: TypeName) -> PResult<DataType> {
        self.bump();
        let length = self.opt_precision()?.map(u64::from);
        Ok(DataType {
            length,
            ..DataType::plain(name)
        })
    }

    /// After the name of a character type whose length may be missing.
    fn character(&mut self, name: TypeName) -> PResult<DataType> {
        let length = self.opt_length()?;
        self.charset_attributes(DataType {
            length,
            ..DataType::plain(name)
        })
    }

    /// After `VARCHAR`.
    fn varying(&mut self) -> PResult<DataType> {
        let length = self.length()?;
        self.charset_attributes(DataType::with_length(TypeName::VarChar, length))
    }

    fn text_type(&mut self, name: TypeName) -> PResult<DataType> {
        self.bump();
        self.charset_attributes(DataType::plain(name))
    }

    /// `LONG [VARCHAR|CHAR VARYING|VARBINARY]`
    fn long(&mut self) -> PResult<DataType> {
        self.bump();
        if self.eat(Kw::VARBINARY) {
            return Ok(DataType::plain(TypeName::MediumBlob));
        }
        if self.eat_any(&[Kw::CHAR, Kw::CHARACTER]).is_some() {
            self.expect(Kw::VARYING)?;
        } else {
            self.eat_any(&[Kw::VARCHAR, Kw::VARCHARACTER]);
        }
        self.charset_attributes(DataType::plain(TypeName::MediumText))
    }

    /// `NATIONAL CHAR`, `NCHAR VARYING`, `NVARCHAR`, ...
    fn national(&mut self) -> PResult<DataType> {
        let first = self.bump().kind;
        let varying = match first {
            Tok::Kw(Kw::NVARCHAR) => true,
            Tok::Kw(Kw::NATIONAL) => {
                match self.expect_any(&[Kw::CHAR, Kw::CHARACTER, Kw::VARCHAR, Kw::VARCHARACTER])? {
                    Kw::CHAR | Kw::CHARACTER => self.eat(Kw::VARYING),
                    _ => true,
                }
            }
            _ => self.eat_any(&[Kw::VARCHAR, Kw::VARCHARACTER, Kw::VARYING]).is_some(),
        };
        let (name, length) = if varying {
            (TypeName::VarChar, Some(self.length()?))
        } else {
            (TypeName::Char, self.opt_length()?)
        };
        let binary = self.eat(Kw::BINARY);
        Ok(DataType {
            length,
            binary,
            charset: Some(Ident::from("utf8mb3")),
            ..DataType::plain(name)
        })
    }

    fn members(&mut self, name: TypeName) -> PResult<DataType> {
        self.bump();
        let values = self.paren_list(Self::bytes_or_hex)?;
        self.charset_attributes(DataType {
            values,
            ..DataType::plain(name)
        })
    }

    /// `[CHARACTER SET cs] [BINARY]` in either order, and `ASCII`, `UNICODE`, `BYTE`.
    fn charset_attributes(&mut self, mut data_type: DataType) -> PResult<DataType> {
        data_type.binary = self.eat(Kw::BINARY);
        if self.eat(Kw::ASCII) {
            data_type.charset = Some(Ident::from("latin1"));
        } else if self.eat(Kw::UNICODE) {
            data_type.charset = Some(Ident::from("ucs2"));
        } else if !data_type.binary && self.eat(Kw::BYTE) {
            data_type.name = binary_twin(data_type.name);
            if matches!(data_type.name, TypeName::Enum | TypeName::Set) {
                data_type.charset = Some(Ident::from("binary"));
            }
            return Ok(data_type);
        } else if self.eat_charset()? {
            data_type.charset = Some(self.charset_name()?);
        } else {
            return Ok(data_type);
        }
        data_type.binary |= self.eat(Kw::BINARY);
        Ok(data_type)
    }

    /// The type in CAST, CONVERT, RETURNING.
    pub(super) fn cast_type(&mut self) -> PResult<DataType> {
        let Tok::Kw(keyword) = self.tok.kind else {
            return Err(self.unexpected());
        };
        match keyword {
            Kw::BINARY => self.sized(TypeName::Binary),
            Kw::CHAR | Kw::CHARACTER => {
                self.bump();
                self.character(TypeName::Char)
            }
            Kw::NCHAR | Kw::NATIONAL => self.national(),
            Kw::SIGNED | Kw::UNSIGNED => {
                self.bump();
                self.eat_any(&[Kw::INT, Kw::INTEGER]);
                Ok(DataType {
                    unsigned: keyword == Kw::UNSIGNED,
                    ..DataType::plain(TypeName::BigInt)
                })
            }
            Kw::TIME => self.temporal_type(TypeName::Time),
            Kw::DATETIME => self.temporal_type(TypeName::DateTime),
            Kw::DECIMAL | Kw::DEC => {
                self.bump();
                let mut data_type = DataType::plain(TypeName::Decimal);
                self.precision(&mut data_type)?;
                Ok(data_type)
            }
            Kw::FLOAT => self.sized(TypeName::Float),
            Kw::REAL if self.mode.real_as_float => self.fixed(DataType::plain(TypeName::Float)),
            Kw::REAL => self.fixed(DataType::plain(TypeName::Double)),
            Kw::DOUBLE => {
                self.bump();
                self.eat(Kw::PRECISION);
                Ok(DataType::plain(TypeName::Double))
            }
            Kw::DATE => self.fixed(DataType::plain(TypeName::Date)),
            Kw::YEAR => self.fixed(DataType::plain(TypeName::Year)),
            Kw::JSON => self.fixed(DataType::plain(TypeName::Json)),
            Kw::POINT
            | Kw::LINESTRING
            | Kw::POLYGON
            | Kw::MULTIPOINT
            | Kw::MULTILINESTRING
            | Kw::MULTIPOLYGON
            | Kw::GEOMETRYCOLLECTION
            | Kw::GEOMCOLLECTION => self.data_type(),
            _ => Err(self.unexpected()),
        }
    }

    /// `name type attributes`
    pub(super) fn column_def(&mut self) -> PResult<ColumnDef> {
        let name = self.ident()?;
        self.column_def_named(name)
    }

    pub(super) fn column_def_named(&mut self, name: Ident) -> PResult<ColumnDef> {
        let mut column = if self.eat(Kw::SERIAL) {
            let unsigned = DataType {
                unsigned: true,
                ..DataType::plain(TypeName::BigInt)
            };
            ColumnDef {
                nullable: Some(false),
                auto_increment: true,
                unique: true,
                ..ColumnDef::plain(name, unsigned)
            }
        } else {
            let data_type = self.data_type()?;
            ColumnDef::plain(name, data_type)
        };
        if self.eat(Kw::COLLATE) {
            column.collation = Some(self.collation_name()?);
        }
        if self.at(Kw::GENERATED) || self.at(Kw::AS) {
            column.generated = Some(self.generated()?);
        }
        while self.column_attribute(&mut column)? {}
        Ok(column)
    }

    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL|STORED]`
    fn generated(&mut self) -> PResult<Generated> {
        if self.eat(Kw::GENERATED) {
            self.expect(Kw::ALWAYS)?;
        }
        self.expect(Kw::AS)?;
        let expr = self.paren_expr()?;
        let stored = self.eat_any(&[Kw::VIRTUAL, Kw::STORED]) == Some(Kw::STORED);
        Ok(Generated { expr, stored })
    }

    /// `(expr)`
    pub(super) fn paren_expr(&mut self) -> PResult<Expr> {
        self.expect_tok(Tok::LParen)?;
        let expr = self.expr()?;
        self.expect_tok(Tok::RParen)?;
        Ok(expr)
    }

    /// Reads one attribute into `column`; false if there is none.
    fn column_attribute(&mut self, column: &mut ColumnDef) -> PResult<bool> {
        let Tok::Kw(keyword) = self.tok.kind else {
            return Ok(false);
        };
        match keyword {
            Kw::CHECK | Kw::CONSTRAINT => {
                let name = self.opt_constraint_name()?;
                column.checks.push(self.check(name)?);
                return Ok(true);
            }
            Kw::NULL
            | Kw::NOT
            | Kw::DEFAULT
            | Kw::ON
            | Kw::AUTO_INCREMENT
            | Kw::SERIAL
            | Kw::PRIMARY
            | Kw::KEY
            | Kw::UNIQUE
            | Kw::COMMENT
            | Kw::COLLATE
            | Kw::COLUMN_FORMAT
            | Kw::STORAGE
            | Kw::SRID
            | Kw::ENGINE_ATTRIBUTE
            | Kw::SECONDARY_ENGINE_ATTRIBUTE
            | Kw::VISIBLE
            | Kw::INVISIBLE => self.bump(),
            _ => return Ok(false),
        };
        match keyword {
            Kw::NULL => column.nullable = Some(true),
            Kw::NOT => match self.expect_any(&[Kw::NULL, Kw::SECONDARY])? {
                Kw::NULL => column.nullable = Some(false),
                _ => column.not_secondary = true,
            },
            Kw::DEFAULT => column.default = Some(self.column_default()?),
            Kw::ON => {
                self.expect(Kw::UPDATE)?;
                match self.opt_now()? {
                    Some(digits) => column.on_update_now = Some(digits),
                    None => return Err(self.unexpected()),
                }
            }
            Kw::AUTO_INCREMENT => column.auto_increment = true,
            Kw::SERIAL => {
                self.expect_all(&[Kw::DEFAULT, Kw::VALUE])?;
                column.nullable = Some(false);
                column.auto_increment = true;
                column.unique = true;
            }
            Kw::PRIMARY => {
                self.expect(Kw::KEY)?;
                column.primary_key = true;
            }
            Kw::KEY => column.primary_key = true,
            Kw::UNIQUE => {
                self.eat(Kw::KEY);
                column.unique = true;
            }
            Kw::COMMENT => column.comment = Some(self.text()?),
            Kw::COLLATE => column.collation = Some(self.collation_name()?),
            Kw::COLUMN_FORMAT => {
                column.format = Some(match self.expect_any(&[Kw::DEFAULT, Kw::FIXED, Kw::DYNAMIC])? {
                    Kw::FIXED => ColumnFormat::Fixed,
                    Kw::DYNAMIC => ColumnFormat::Dynamic,
                    _ => ColumnFormat::Default,
                });
            }
            Kw::STORAGE => column.storage = Some(self.storage()?),
            Kw::SRID => column.srid = Some(self.unsigned()?),
            Kw::VISIBLE => column.visible = Some(true),
            Kw::INVISIBLE => column.visible = Some(false),
            Kw::ENGINE_ATTRIBUTE => {
                self.opt_eq();
                column.engine_attribute = Some(self.text()?);
            }
            _ => {
                self.opt_eq();
                column.secondary_engine_attribute = Some(self.text()?);
            }
        }
        Ok(true)
    }

    /// `DEFAULT|DISK|MEMORY`
    pub(super) fn storage(&mut self) -> PResult<ColumnStorage> {
        Ok(match self.expect_any(&[Kw::DEFAULT, Kw::DISK, Kw::MEMORY])? {
            Kw::DISK => ColumnStorage::Disk,
            Kw::MEMORY => ColumnStorage::Memory,
            _ => ColumnStorage::Default,
        })
    }

    /// After `DEFAULT`.
    pub(super) fn column_default(&mut self) -> PResult<ColumnDefault> {
        if let Some(digits) = self.opt_now()? {
            return Ok(ColumnDefault::Now(digits));
        }
        if self.at_tok(Tok::LParen) {
            return self.paren_expr().map(ColumnDefault::Expr);
        }
        let (negative, value) = self.signed_literal()?;
        Ok(ColumnDefault::Literal { negative, value })
    }

    /// `CURRENT_TIMESTAMP[([n])]` and synonyms: n.
    fn opt_now(&mut self) -> PResult<Option<u32>> {
        if self
            .eat_any(&[Kw::CURRENT_TIMESTAMP, Kw::NOW, Kw::LOCALTIME, Kw::LOCALTIMESTAMP])
            .is_none()
        {
            return Ok(None);
        }
        Ok(Some(self.opt_precision()?.unwrap_or(0)))
    }

    /// `[CONSTRAINT [name]]`
    pub(super) fn opt_constraint_name(&mut self) -> PResult<Option<Ident>> {
        if self.eat(Kw::CONSTRAINT) && self.at_ident() {
            self.ident().map(Some)
        } else {
            Ok(None)
        }
    }

    /// `CHECK (expr) [[NOT] ENFORCED]`
    pub(super) fn check(&mut self, name: Option<Ident>) -> PResult<CheckConstraint> {
        self.expect(Kw::CHECK)?;
        let expr = self.paren_expr()?;
        let enforced = self.opt_enforced()?.unwrap_or(true);
        Ok(CheckConstraint { name, expr, enforced })
    }

    /// `[[NOT] ENFORCED]`
    pub(super) fn opt_enforced(&mut self) -> PResult<Option<bool>> {
        if self.eat(Kw::ENFORCED) {
            return Ok(Some(true));
        }
        let not = self.eat_pair(Kw::NOT, Kw::ENFORCED);
        Ok(not.then_some(false))
    }

    /// `[REFERENCES t (columns) [MATCH ..] [ON DELETE ..] [ON UPDATE ..]]`
    pub(super) fn opt_references(&mut self) -> PResult<Option<References>> {
        if !self.eat(Kw::REFERENCES) {
            return Ok(None);
        }
        let table = self.table_name()?;
        let columns = self.opt_paren_idents()?;
        let mut references = References {
            table,
            columns,
            matching: None,
            on_delete: None,
            on_update: None,
        };
        if self.eat(Kw::MATCH) {
            references.matching = Some(match self.expect_any(&[Kw::FULL, Kw::PARTIAL, Kw::SIMPLE])? {
                Kw::FULL => MatchKind::Full,
                Kw::PARTIAL => MatchKind::Partial,
                _ => MatchKind::Simple,
            });
        }
        while self.at(Kw::ON) {
            let on = match self.peek() {
                Tok::Kw(Kw::DELETE) if references.on_delete.is_none() => &mut references.on_delete,
                Tok::Kw(Kw::UPDATE) if references.on_update.is_none() => &mut references.on_update,
                _ => {
                    self.bump();
                    return Err(self.unexpected());
                }
            };
            self.bump();
            self.bump();
            *on = Some(self.reference_action()?);
        }
        Ok(Some(references))
    }

    fn reference_action(&mut self) -> PResult<ReferenceAction> {
        Ok(match self.expect_any(&[Kw::RESTRICT, Kw::CASCADE, Kw::SET, Kw::NO])? {
            Kw::RESTRICT => ReferenceAction::Restrict,
            Kw::CASCADE => ReferenceAction::Cascade,
            Kw::NO => {
                self.expect(Kw::ACTION)?;
                ReferenceAction::NoAction
            }
            _ => match self.expect_any(&[Kw::NULL, Kw::DEFAULT])? {
                Kw::NULL => ReferenceAction::SetNull,
                _ => ReferenceAction::SetDefault,
            },
        })
    }
}

fn integer_type(keyword: Kw) -> Option<TypeName> {
    Some(match keyword {
        Kw::TINYINT | Kw::INT1 => TypeName::TinyInt,
        Kw::SMALLINT | Kw::INT2 => TypeName::SmallInt,
        Kw::MEDIUMINT | Kw::INT3 | Kw::MIDDLEINT => TypeName::MediumInt,
        Kw::INT | Kw::INTEGER | Kw::INT4 => TypeName::Int,
        Kw::BIGINT | Kw::INT8 => TypeName::BigInt,
        _ => return None,
    })
}

/// Types without parameters.
fn bare_type(keyword: Kw) -> Option<TypeName> {
    Some(match keyword {
        Kw::DATE => TypeName::Date,
        Kw::JSON => TypeName::Json,
        Kw::TINYBLOB => TypeName::TinyBlob,
        Kw::MEDIUMBLOB => TypeName::MediumBlob,
        Kw::LONGBLOB => TypeName::LongBlob,
        Kw::GEOMETRY => TypeName::Geometry,
        Kw::POINT => TypeName::Point,
        Kw::LINESTRING => TypeName::LineString,
        Kw::POLYGON => TypeName::Polygon,
        Kw::MULTIPOINT => TypeName::MultiPoint,
        Kw::MULTILINESTRING => TypeName::MultiLineString,
        Kw::MULTIPOLYGON => TypeName::MultiPolygon,
        Kw::GEOMETRYCOLLECTION | Kw::GEOMCOLLECTION => TypeName::GeometryCollection,
        _ => return None,
    })
}

/// What `BYTE` after a character type makes of it.
fn binary_twin(name: TypeName) -> TypeName {
    match name {
        TypeName::Char => TypeName::Binary,
        TypeName::VarChar => TypeName::VarBinary,
        TypeName::TinyText => TypeName::TinyBlob,
        TypeName::Text => TypeName::Blob,
        TypeName::MediumText => TypeName::MediumBlob,
        TypeName::LongText => TypeName::LongBlob,
        other => other,
    }
}
