//! Options of tables, databases and ALTER's ALGORITHM and LOCK.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// Options with or without commas between them.
    pub(super) fn table_options(&mut self) -> PResult<Vec<TableOption>> {
        let mut options = Vec::new();
        let mut after_comma = false;
        while let Some(option) = self.opt_table_option()? {
            options.push(option);
            after_comma = self.eat_tok(Tok::Comma);
        }
        if after_comma {
            Err(self.unexpected())
        } else {
            Ok(options)
        }
    }

    pub(super) fn opt_table_option(&mut self) -> PResult<Option<TableOption>> {
        let Tok::Kw(keyword) = self.tok.kind else {
            return self.opt_ttl_option();
        };
        let option = match keyword {
            Kw::DEFAULT => {
                self.bump();
                if self.eat(Kw::COLLATE) {
                    self.collate_option()?
                } else {
                    self.charset_option()?
                }
            }
            Kw::CHARSET | Kw::CHARACTER | Kw::CHAR => self.charset_option()?,
            Kw::COLLATE => {
                self.bump();
                self.collate_option()?
            }
            Kw::DATA | Kw::INDEX if self.peek_is(Kw::DIRECTORY) => {
                self.bump();
                self.bump();
                self.opt_eq();
                let path = self.text()?;
                if keyword == Kw::DATA {
                    TableOption::DataDirectory(path)
                } else {
                    TableOption::IndexDirectory(path)
                }
            }
            Kw::START => {
                self.bump();
                self.expect(Kw::TRANSACTION)?;
                TableOption::StartTransaction
            }
            Kw::STORAGE => {
                self.bump();
                TableOption::Storage(self.storage()?)
            }
            _ => return self.opt_assigned_option(keyword),
        };
        Ok(Some(option))
    }

    /// `TTL [=] column [+ INTERVAL count unit]` and what goes with it. These words are no keywords of MySQL's.
    fn opt_ttl_option(&mut self) -> PResult<Option<TableOption>> {
        if self.eat_word("TTL") {
            self.opt_eq();
            let column = self.ident()?;
            let interval = match self.eat_tok(Tok::Plus) {
                false => None,
                true => {
                    self.expect(Kw::INTERVAL)?;
                    let count = self.unsigned()?;
                    let token = self.tok;
                    let unit = self.interval_unit()?;
                    if !unit.is_simple() {
                        return Err(self.unexpected_at(token));
                    }
                    Some((count, unit))
                }
            };
            return Ok(Some(TableOption::Ttl(Ttl { column, interval })));
        }
        if self.eat_word("TTL_ENABLE") {
            self.opt_eq();
            let token = self.tok;
            return match &*self.text()?.to_ascii_uppercase() {
                "ON" => Ok(Some(TableOption::TtlEnable(true))),
                "OFF" => Ok(Some(TableOption::TtlEnable(false))),
                _ => Err(self.unexpected_at(token)),
            };
        }
        if self.eat_word("TTL_JOB_INTERVAL") {
            self.opt_eq();
            return Ok(Some(TableOption::TtlJobInterval(self.text()?)));
        }
        Ok(None)
    }

    /// Options of the form `NAME [=] value`.
    fn opt_assigned_option(&mut self, keyword: Kw) -> PResult<Option<TableOption>> {
        const NAMES: &[Kw] = &[
            Kw::ENGINE,
            Kw::TYPE,
            Kw::SECONDARY_ENGINE,
            Kw::AUTO_INCREMENT,
            Kw::AVG_ROW_LENGTH,
            Kw::CHECKSUM,
            Kw::TABLE_CHECKSUM,
            Kw::COMMENT,
            Kw::COMPRESSION,
            Kw::CONNECTION,
            Kw::DELAY_KEY_WRITE,
            Kw::ENCRYPTION,
            Kw::ENGINE_ATTRIBUTE,
            Kw::SECONDARY_ENGINE_ATTRIBUTE,
            Kw::INSERT_METHOD,
            Kw::KEY_BLOCK_SIZE,
            Kw::MAX_ROWS,
            Kw::MIN_ROWS,
            Kw::PACK_KEYS,
            Kw::PASSWORD,
            Kw::ROW_FORMAT,
            Kw::STATS_AUTO_RECALC,
            Kw::STATS_PERSISTENT,
            Kw::STATS_SAMPLE_PAGES,
            Kw::TABLESPACE,
            Kw::AUTOEXTEND_SIZE,
            Kw::UNION,
        ];
        if keyword == Kw::TYPE || !NAMES.contains(&keyword) {
            return Ok(None);
        }
        self.bump();
        self.opt_eq();
        Ok(Some(match keyword {
            Kw::ENGINE => TableOption::Engine(self.ident_or_text()?),
            Kw::SECONDARY_ENGINE => TableOption::SecondaryEngine(if self.eat(Kw::NULL) {
                None
            } else {
                Some(self.ident_or_text()?)
            }),
            Kw::AUTO_INCREMENT => TableOption::AutoIncrement(self.option_number()?),
            Kw::AVG_ROW_LENGTH => TableOption::AvgRowLength(self.option_number()?),
            Kw::CHECKSUM => TableOption::Checksum(self.flag()?),
            Kw::TABLE_CHECKSUM => TableOption::TableChecksum(self.flag()?),
            Kw::COMMENT => TableOption::Comment(self.text()?),
            Kw::COMPRESSION => TableOption::Compression(self.text()?),
            Kw::CONNECTION => TableOption::Connection(self.text()?),
            Kw::DELAY_KEY_WRITE => TableOption::DelayKeyWrite(self.flag()?),
            Kw::ENCRYPTION => TableOption::Encryption(self.text()?),
            Kw::ENGINE_ATTRIBUTE => TableOption::EngineAttribute(self.text()?),
            Kw::SECONDARY_ENGINE_ATTRIBUTE => TableOption::SecondaryEngineAttribute(self.text()?),
            Kw::INSERT_METHOD => TableOption::InsertMethod(match self.expect_any(&[Kw::NO, Kw::FIRST, Kw::LAST])? {
                Kw::FIRST => InsertMethod::First,
                Kw::LAST => InsertMethod::Last,
                _ => InsertMethod::No,
            }),
            Kw::KEY_BLOCK_SIZE => TableOption::KeyBlockSize(self.option_number()?),
            Kw::MAX_ROWS => TableOption::MaxRows(self.option_number()?),
            Kw::MIN_ROWS => TableOption::MinRows(self.option_number()?),
            Kw::PACK_KEYS => TableOption::PackKeys(self.ternary()?),
            Kw::PASSWORD => TableOption::Password(self.text()?),
            Kw::ROW_FORMAT => TableOption::RowFormat(self.row_format()?),
            Kw::STATS_AUTO_RECALC => TableOption::StatsAutoRecalc(self.ternary()?),
            Kw::STATS_PERSISTENT => TableOption::StatsPersistent(self.ternary()?),
            Kw::STATS_SAMPLE_PAGES => TableOption::StatsSamplePages(if self.eat(Kw::DEFAULT) {
                None
            } else {
                Some(self.unsigned()?)
            }),
            Kw::TABLESPACE => TableOption::Tablespace(self.ident_or_text()?),
            Kw::AUTOEXTEND_SIZE => TableOption::AutoextendSize(self.size()?),
            _ => {
                self.expect_tok(Tok::LParen)?;
                let tables = if self.at_tok(Tok::RParen) {
                    Vec::new()
                } else {
                    self.list(Self::table_name)?
                };
                self.expect_tok(Tok::RParen)?;
                TableOption::Union(tables)
            }
        }))
    }

    fn charset_option(&mut self) -> PResult<TableOption> {
        self.charset_value().map(TableOption::Charset)
    }

    /// `CHARACTER SET [=] name|DEFAULT`
    fn charset_value(&mut self) -> PResult<Option<Ident>> {
        if !self.eat_charset()? {
            return Err(self.unexpected());
        }
        self.opt_eq();
        if self.eat(Kw::DEFAULT) {
            Ok(None)
        } else {
            self.charset_name().map(Some)
        }
    }

    /// After `COLLATE`.
    fn collate_option(&mut self) -> PResult<TableOption> {
        self.collate_value().map(TableOption::Collate)
    }

    fn collate_value(&mut self) -> PResult<Option<Ident>> {
        self.opt_eq();
        if self.eat(Kw::DEFAULT) {
            Ok(None)
        } else {
            self.collation_name().map(Some)
        }
    }

    /// A number that is zero or not.
    fn flag(&mut self) -> PResult<bool> {
        self.unsigned().map(|value| value != 0)
    }

    /// `0|1|DEFAULT`
    fn ternary(&mut self) -> PResult<Option<bool>> {
        if self.eat(Kw::DEFAULT) {
            return Ok(None);
        }
        let token = self.tok;
        match self.unsigned()? {
            0 => Ok(Some(false)),
            1 => Ok(Some(true)),
            _ => Err(self.unexpected_at(token)),
        }
    }

    fn row_format(&mut self) -> PResult<RowFormat> {
        let formats = [
            Kw::DEFAULT,
            Kw::DYNAMIC,
            Kw::FIXED,
            Kw::COMPRESSED,
            Kw::REDUNDANT,
            Kw::COMPACT,
        ];
        Ok(match self.expect_any(&formats)? {
            Kw::DYNAMIC => RowFormat::Dynamic,
            Kw::FIXED => RowFormat::Fixed,
            Kw::COMPRESSED => RowFormat::Compressed,
            Kw::REDUNDANT => RowFormat::Redundant,
            Kw::COMPACT => RowFormat::Compact,
            _ => RowFormat::Default,
        })
    }

    /// Options of CREATE and ALTER DATABASE.
    pub(super) fn database_options(&mut self, alter: bool) -> PResult<Vec<DatabaseOption>> {
        let mut options = Vec::new();
        loop {
            let default = self.eat(Kw::DEFAULT);
            let option = match self.kind() {
                Tok::Kw(Kw::CHARSET | Kw::CHARACTER | Kw::CHAR) => DatabaseOption::Charset(self.charset_value()?),
                Tok::Kw(Kw::COLLATE) => {
                    self.bump();
                    DatabaseOption::Collate(self.collate_value()?)
                }
                Tok::Kw(Kw::ENCRYPTION) => {
                    self.bump();
                    self.opt_eq();
                    DatabaseOption::Encryption(self.text()?)
                }
                Tok::Kw(Kw::READ) if alter && !default => {
                    self.bump();
                    // ONLY is no keyword of this grammar elsewhere.
                    if !self.eat_word("ONLY") {
                        return Err(self.unexpected());
                    }
                    self.opt_eq();
                    DatabaseOption::ReadOnly(self.ternary()?)
                }
                _ if default => return Err(self.unexpected()),
                _ => return Ok(options),
            };
            options.push(option);
        }
    }

    /// One `ALGORITHM [=] ..` or `LOCK [=] ..`; false if there is none.
    pub(super) fn opt_online(&mut self, online: &mut AlterOnline) -> PResult<bool> {
        match self.eat_any(&[Kw::ALGORITHM, Kw::LOCK]) {
            Some(Kw::ALGORITHM) => {
                self.opt_eq();
                online.algorithm = Some(match () {
                    () if self.eat(Kw::DEFAULT) => AlterAlgorithm::Default,
                    () if self.eat_word("INSTANT") => AlterAlgorithm::Instant,
                    () if self.eat_word("INPLACE") => AlterAlgorithm::InPlace,
                    () if self.eat_word("COPY") => AlterAlgorithm::Copy,
                    () => return self.unknown_word(1800, "ALGORITHM"),
                });
            }
            Some(_) => {
                self.opt_eq();
                online.lock = Some(match () {
                    () if self.eat(Kw::DEFAULT) => AlterLock::Default,
                    () if self.eat(Kw::NONE) => AlterLock::None,
                    () if self.eat_word("SHARED") => AlterLock::Shared,
                    () if self.eat_word("EXCLUSIVE") => AlterLock::Exclusive,
                    () => return self.unknown_word(1801, "LOCK type"),
                });
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    fn unknown_word(&mut self, code: u16, what: &str) -> PResult<bool> {
        let word = self.ident()?;
        Err(self.other(code, b"HY000", format!("Unknown {what} '{}'", word.as_str())))
    }
}
