//! ALTER TABLE.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// After `ALTER TABLE`.
    pub(super) fn alter_table(&mut self) -> PResult<Statement> {
        let table = self.table_name()?;
        let mut alter = AlterTable {
            table,
            actions: Vec::new(),
            online: AlterOnline::default(),
            validation: None,
        };
        // Partition commands stand alone, after ALGORITHM and the like at most.
        loop {
            if let Some(action) = self.opt_partition_action()? {
                alter.actions.push(AlterAction::Partition(action));
                return Ok(Statement::AlterTable(Box::new(alter)));
            }
            if !self.alter_modifier(&mut alter)? {
                break;
            }
            if !self.eat_tok(Tok::Comma) {
                return self.alter_end(alter);
            }
        }
        if self.alter_action(&mut alter.actions)? {
            while self.eat_tok(Tok::Comma) {
                if !self.alter_modifier(&mut alter)? && !self.alter_action(&mut alter.actions)? {
                    return Err(self.unexpected());
                }
            }
        }
        self.alter_end(alter)
    }

    /// `[PARTITION BY .. | REMOVE PARTITIONING]`
    fn alter_end(&mut self, mut alter: AlterTable) -> PResult<Statement> {
        if self.at(Kw::PARTITION) {
            let partitioning = self.partition_by()?;
            alter.actions.push(AlterAction::PartitionBy(Box::new(partitioning)));
        } else if self.eat_pair(Kw::REMOVE, Kw::PARTITIONING) {
            alter.actions.push(AlterAction::RemovePartitioning);
        }
        Ok(Statement::AlterTable(Box::new(alter)))
    }

    /// ALGORITHM, LOCK, WITH VALIDATION, WITHOUT VALIDATION; false if none begins here.
    fn alter_modifier(&mut self, alter: &mut AlterTable) -> PResult<bool> {
        if self.opt_online(&mut alter.online)? {
            return Ok(true);
        }
        let validation = self.opt_validation()?;
        alter.validation = validation.or(alter.validation);
        Ok(validation.is_some())
    }

    /// `[WITH|WITHOUT VALIDATION]`
    fn opt_validation(&mut self) -> PResult<Option<bool>> {
        let with = match self.eat_any(&[Kw::WITH, Kw::WITHOUT]) {
            Some(keyword) => keyword == Kw::WITH,
            None => return Ok(None),
        };
        self.expect(Kw::VALIDATION)?;
        Ok(Some(with))
    }

    /// Reads one clause into `actions`; false if none begins here.
    fn alter_action(&mut self, actions: &mut Vec<AlterAction>) -> PResult<bool> {
        if self.at(Kw::REMOVE) && self.peek() == Tok::Ident {
            self.bump();
            if !self.eat_word("TTL") {
                return Err(self.unexpected());
            }
            actions.push(AlterAction::RemoveTtl);
            return Ok(true);
        }
        let Tok::Kw(keyword) = self.tok.kind else {
            return self.alter_options(actions);
        };
        let action = match keyword {
            Kw::ADD => {
                self.alter_add(actions)?;
                return Ok(true);
            }
            Kw::DROP => self.alter_drop()?,
            Kw::ALTER => self.alter_alter()?,
            Kw::CHANGE => {
                self.bump();
                self.eat(Kw::COLUMN);
                let old = self.ident()?;
                let column = Box::new(self.column_def()?);
                AlterAction::ChangeColumn {
                    old,
                    column,
                    position: self.column_position()?,
                }
            }
            Kw::MODIFY => {
                self.bump();
                self.eat(Kw::COLUMN);
                let column = Box::new(self.column_def()?);
                AlterAction::ModifyColumn {
                    column,
                    position: self.column_position()?,
                }
            }
            Kw::RENAME => self.alter_rename()?,
            Kw::CONVERT => {
                self.bump();
                self.expect(Kw::TO)?;
                if !self.eat_charset()? {
                    return Err(self.unexpected());
                }
                self.opt_eq();
                let charset = if self.eat(Kw::DEFAULT) {
                    None
                } else {
                    Some(self.charset_name()?)
                };
                let mut collation = None;
                if self.eat(Kw::COLLATE) {
                    self.opt_eq();
                    collation = Some(self.collation_name()?);
                }
                AlterAction::ConvertTo { charset, collation }
            }
            Kw::ENABLE | Kw::DISABLE => {
                self.bump();
                self.expect(Kw::KEYS)?;
                AlterAction::Keys {
                    enabled: keyword == Kw::ENABLE,
                }
            }
            Kw::FORCE => {
                self.bump();
                AlterAction::Force
            }
            Kw::ORDER => {
                self.bump();
                self.expect(Kw::BY)?;
                AlterAction::OrderBy(self.list(|parser| {
                    let column = parser.column_name()?;
                    let descending = parser.eat_any(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC);
                    Ok(OrderItem {
                        expr: Expr::Column(Box::new(column)),
                        descending,
                    })
                })?)
            }
            Kw::SECONDARY_LOAD => {
                self.bump();
                AlterAction::SecondaryLoad
            }
            Kw::SECONDARY_UNLOAD => {
                self.bump();
                AlterAction::SecondaryUnload
            }
            _ => return self.alter_options(actions),
        };
        actions.push(action);
        Ok(true)
    }

    /// Several options may follow without commas; false if none begins here.
    fn alter_options(&mut self, actions: &mut Vec<AlterAction>) -> PResult<bool> {
        let before = actions.len();
        while let Some(option) = self.opt_table_option()? {
            actions.push(AlterAction::Option(option));
        }
        Ok(actions.len() > before)
    }

    fn alter_add(&mut self, actions: &mut Vec<AlterAction>) -> PResult<()> {
        self.bump();
        if !self.eat(Kw::COLUMN)
            && let Some(constraint) = self.opt_constraint()?
        {
            actions.push(AlterAction::AddConstraint(constraint));
            return Ok(());
        }
        if self.eat_tok(Tok::LParen) {
            actions.push(AlterAction::AddElements(self.table_elements()?));
            return self.expect_tok(Tok::RParen);
        }
        let column = Box::new(self.column_def()?);
        // The foreign key of a column with `REFERENCES` is a clause behind the column's.
        let key = self.opt_column_references(&column)?;
        let position = self.column_position()?;
        actions.push(AlterAction::AddColumn { column, position });
        actions.extend(key.map(AlterAction::AddConstraint));
        Ok(())
    }

    /// `[FIRST|AFTER column]`
    fn column_position(&mut self) -> PResult<Option<ColumnPosition>> {
        if self.eat(Kw::FIRST) {
            return Ok(Some(ColumnPosition::First));
        }
        if self.eat(Kw::AFTER) {
            self.ident().map(|after| Some(ColumnPosition::After(after)))
        } else {
            Ok(None)
        }
    }

    fn alter_drop(&mut self) -> PResult<AlterAction> {
        self.bump();
        Ok(
            match self.eat_any(&[
                Kw::PRIMARY,
                Kw::FOREIGN,
                Kw::INDEX,
                Kw::KEY,
                Kw::CHECK,
                Kw::CONSTRAINT,
                Kw::COLUMN,
            ]) {
                Some(Kw::PRIMARY) => {
                    self.expect(Kw::KEY)?;
                    AlterAction::DropPrimaryKey
                }
                Some(Kw::FOREIGN) => {
                    self.expect(Kw::KEY)?;
                    AlterAction::DropForeignKey(self.ident()?)
                }
                Some(Kw::INDEX | Kw::KEY) => AlterAction::DropIndex(self.ident()?),
                Some(Kw::CHECK) => AlterAction::DropCheck(self.ident()?),
                Some(Kw::CONSTRAINT) => AlterAction::DropConstraint(self.ident()?),
                _ => {
                    let name = self.ident()?;
                    AlterAction::DropColumn {
                        name,
                        behavior: self.opt_drop_behavior(),
                    }
                }
            },
        )
    }

    /// `[RESTRICT|CASCADE]`
    pub(super) fn opt_drop_behavior(&mut self) -> Option<DropBehavior> {
        Some(match self.eat_any(&[Kw::RESTRICT, Kw::CASCADE])? {
            Kw::RESTRICT => DropBehavior::Restrict,
            _ => DropBehavior::Cascade,
        })
    }

    /// `ALTER [COLUMN] c ..`, `ALTER INDEX i ..`, `ALTER CHECK c ..`
    fn alter_alter(&mut self) -> PResult<AlterAction> {
        self.bump();
        if self.eat(Kw::INDEX) {
            let index = self.ident()?;
            let visible = self.expect_any(&[Kw::VISIBLE, Kw::INVISIBLE])? == Kw::VISIBLE;
            return Ok(AlterAction::SetIndexVisible { index, visible });
        }
        if let Some(keyword) = self.eat_any(&[Kw::CHECK, Kw::CONSTRAINT]) {
            let constraint = self.ident()?;
            let Some(enforced) = self.opt_enforced()? else {
                return Err(self.unexpected());
            };
            return Ok(AlterAction::SetEnforced {
                constraint,
                check: keyword == Kw::CHECK,
                enforced,
            });
        }
        self.eat(Kw::COLUMN);
        let column = self.ident()?;
        if self.eat(Kw::DROP) {
            self.expect(Kw::DEFAULT)?;
            return Ok(AlterAction::DropDefault(column));
        }
        self.expect(Kw::SET)?;
        match self.expect_any(&[Kw::DEFAULT, Kw::VISIBLE, Kw::INVISIBLE])? {
            Kw::DEFAULT => {
                let default = if self.at_tok(Tok::LParen) {
                    ColumnDefault::Expr(self.paren_expr()?)
                } else {
                    let (negative, value) = self.signed_literal()?;
                    ColumnDefault::Literal { negative, value }
                };
                Ok(AlterAction::SetDefault { column, default })
            }
            visible => Ok(AlterAction::SetColumnVisible {
                column,
                visible: visible == Kw::VISIBLE,
            }),
        }
    }

    fn alter_rename(&mut self) -> PResult<AlterAction> {
        self.bump();
        match self.eat_any(&[Kw::COLUMN, Kw::INDEX, Kw::KEY]) {
            Some(keyword) => {
                let old = self.ident()?;
                self.expect(Kw::TO)?;
                let new = self.ident()?;
                Ok(match keyword {
                    Kw::COLUMN => AlterAction::RenameColumn { old, new },
                    _ => AlterAction::RenameIndex { old, new },
                })
            }
            None => {
                if self.eat_any(&[Kw::TO, Kw::AS]).is_none() {
                    self.opt_eq();
                }
                self.table_name().map(AlterAction::RenameTable)
            }
        }
    }

    // ---- partitions ----

    fn opt_partition_action(&mut self) -> PResult<Option<PartitionAction>> {
        let Tok::Kw(keyword) = self.tok.kind else {
            return Ok(None);
        };
        let action = match keyword {
            Kw::DISCARD | Kw::IMPORT if self.peek_is(Kw::TABLESPACE) => {
                self.bump();
                self.bump();
                if keyword == Kw::DISCARD {
                    PartitionAction::DiscardTablespace
                } else {
                    PartitionAction::ImportTablespace
                }
            }
            Kw::ADD | Kw::DROP | Kw::DISCARD | Kw::IMPORT if self.peek_is(Kw::PARTITION) => {
                self.bump();
                self.bump();
                self.partition_action(keyword)?
            }
            Kw::TRUNCATE
            | Kw::COALESCE
            | Kw::REORGANIZE
            | Kw::EXCHANGE
            | Kw::ANALYZE
            | Kw::CHECK
            | Kw::OPTIMIZE
            | Kw::REBUILD
            | Kw::REPAIR => {
                self.bump();
                self.expect(Kw::PARTITION)?;
                self.partition_action(keyword)?
            }
            _ => return Ok(None),
        };
        Ok(Some(action))
    }

    /// After `<verb> PARTITION`.
    fn partition_action(&mut self, verb: Kw) -> PResult<PartitionAction> {
        let logged = matches!(
            verb,
            Kw::ADD | Kw::COALESCE | Kw::REORGANIZE | Kw::ANALYZE | Kw::OPTIMIZE | Kw::REBUILD | Kw::REPAIR
        );
        let no_write_to_binlog = logged && self.no_write_to_binlog();
        Ok(match verb {
            Kw::ADD if self.eat(Kw::PARTITIONS) => PartitionAction::AddCount {
                no_write_to_binlog,
                count: self.unsigned()?,
            },
            Kw::ADD => PartitionAction::Add {
                no_write_to_binlog,
                partitions: self.partition_defs()?,
            },
            Kw::DROP => PartitionAction::Drop(self.list(Self::ident)?),
            Kw::DISCARD => {
                let partitions = self.partition_set()?;
                self.expect(Kw::TABLESPACE)?;
                PartitionAction::Discard(partitions)
            }
            Kw::IMPORT => {
                let partitions = self.partition_set()?;
                self.expect(Kw::TABLESPACE)?;
                PartitionAction::Import(partitions)
            }
            Kw::TRUNCATE => PartitionAction::Truncate(self.partition_set()?),
            Kw::COALESCE => PartitionAction::Coalesce {
                no_write_to_binlog,
                count: self.unsigned()?,
            },
            Kw::REORGANIZE => {
                let (mut from, mut into) = (Vec::new(), Vec::new());
                if self.at_ident() {
                    from = self.list(Self::ident)?;
                    self.expect(Kw::INTO)?;
                    into = self.partition_defs()?;
                }
                PartitionAction::Reorganize {
                    no_write_to_binlog,
                    from,
                    into,
                }
            }
            Kw::EXCHANGE => {
                let partition = self.ident()?;
                self.expect_all(&[Kw::WITH, Kw::TABLE])?;
                let table = self.table_name()?;
                PartitionAction::Exchange {
                    partition,
                    table,
                    validation: self.opt_validation()?,
                }
            }
            Kw::ANALYZE => PartitionAction::Analyze {
                no_write_to_binlog,
                partitions: self.partition_set()?,
            },
            Kw::CHECK => {
                let partitions = self.partition_set()?;
                PartitionAction::Check {
                    partitions,
                    options: self.check_options()?,
                }
            }
            Kw::OPTIMIZE => {
                let partitions = self.partition_set()?;
                // Dropped by MySQL too, which never wrote what it would mean.
                self.eat(Kw::NO_WRITE_TO_BINLOG);
                PartitionAction::Optimize {
                    no_write_to_binlog,
                    partitions,
                }
            }
            Kw::REBUILD => PartitionAction::Rebuild {
                no_write_to_binlog,
                partitions: self.partition_set()?,
            },
            _ => {
                let partitions = self.partition_set()?;
                PartitionAction::Repair {
                    no_write_to_binlog,
                    partitions,
                    options: self.repair_options(),
                }
            }
        })
    }

    /// `ALL` or names.
    pub(super) fn partition_set(&mut self) -> PResult<PartitionSet> {
        if self.eat(Kw::ALL) {
            Ok(PartitionSet::All)
        } else {
            self.list(Self::ident).map(PartitionSet::Names)
        }
    }

    /// `[NO_WRITE_TO_BINLOG|LOCAL]`
    pub(super) fn no_write_to_binlog(&mut self) -> bool {
        self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]).is_some()
    }
}
