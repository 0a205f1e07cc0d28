//! Administration: table maintenance, KILL, FLUSH, RESET, plugins, CLONE.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn admin_statement(&mut self, keyword: Kw) -> PResult<Statement> {
        let verb = self.tok;
        self.bump();
        match keyword {
            Kw::ANALYZE | Kw::CHECK | Kw::CHECKSUM | Kw::OPTIMIZE | Kw::REPAIR => self.maintenance(keyword),
            Kw::KILL => {
                let query = self.eat_any(&[Kw::CONNECTION, Kw::QUERY]) == Some(Kw::QUERY);
                Ok(Statement::Kill(Kill {
                    query,
                    id: self.expr()?,
                }))
            }
            Kw::FLUSH => self.flush(),
            Kw::RESET => self.reset(),
            Kw::PURGE => {
                self.expect_any(&[Kw::BINARY, Kw::MASTER])?;
                self.expect(Kw::LOGS)?;
                Ok(Statement::Purge(Box::new(
                    match self.expect_any(&[Kw::TO, Kw::BEFORE])? {
                        Kw::TO => PurgeBinaryLogs::To(self.text()?),
                        _ => PurgeBinaryLogs::Before(self.expr()?),
                    },
                )))
            }
            Kw::CACHE => self.cache_index(),
            Kw::INSTALL => match self.expect_any(&[Kw::PLUGIN, Kw::COMPONENT])? {
                Kw::PLUGIN => {
                    let name = self.ident()?;
                    self.expect(Kw::SONAME)?;
                    Ok(Statement::InstallPlugin {
                        name,
                        library: self.text()?,
                    })
                }
                _ => self.list(Self::text).map(Statement::InstallComponent),
            },
            Kw::UNINSTALL => match self.expect_any(&[Kw::PLUGIN, Kw::COMPONENT])? {
                Kw::PLUGIN => self.ident().map(Statement::UninstallPlugin),
                _ => self.list(Self::text).map(Statement::UninstallComponent),
            },
            Kw::IMPORT => {
                self.expect_all(&[Kw::TABLE, Kw::FROM])?;
                self.list(Self::text).map(Statement::ImportTable)
            }
            Kw::SHUTDOWN => Ok(Statement::Shutdown),
            Kw::RESTART => Ok(Statement::Restart),
            Kw::CLONE => self.clone_statement(),
            Kw::BINLOG => self.bytes().map(Statement::Binlog),
            Kw::CHANGE => self.change_replication(),
            Kw::STOP => self.stop_replication(),
            _ => Err(self.unexpected_at(verb)),
        }
    }

    fn maintenance(&mut self, verb: Kw) -> PResult<Statement> {
        let logged = matches!(verb, Kw::ANALYZE | Kw::OPTIMIZE | Kw::REPAIR);
        let no_write_to_binlog = logged && self.no_write_to_binlog();
        self.expect_any(&[Kw::TABLE, Kw::TABLES])?;
        let tables = self.list(Self::table_name)?;
        let action = match verb {
            Kw::ANALYZE => self.analyze_action()?,
            Kw::CHECK => MaintenanceAction::Check(self.check_options()?),
            Kw::CHECKSUM => MaintenanceAction::Checksum(match self.eat_any(&[Kw::QUICK, Kw::EXTENDED]) {
                Some(Kw::QUICK) => Some(ChecksumOption::Quick),
                Some(_) => Some(ChecksumOption::Extended),
                None => None,
            }),
            Kw::OPTIMIZE => MaintenanceAction::Optimize,
            _ => MaintenanceAction::Repair(self.repair_options()),
        };
        Ok(Statement::TableMaintenance(Box::new(TableMaintenance {
            no_write_to_binlog,
            tables,
            action,
        })))
    }

    /// `[UPDATE|DROP HISTOGRAM ON ..]`
    fn analyze_action(&mut self) -> PResult<MaintenanceAction> {
        let Some(verb) = self.eat_any(&[Kw::UPDATE, Kw::DROP]) else {
            return Ok(MaintenanceAction::Analyze);
        };
        self.expect_all(&[Kw::HISTOGRAM, Kw::ON])?;
        let columns = self.list(Self::ident)?;
        if verb == Kw::DROP {
            return Ok(MaintenanceAction::DropHistogram { columns });
        }
        let (mut buckets, mut auto_update, mut data) = (None, None, None);
        if self.eat(Kw::WITH) {
            buckets = Some(self.unsigned()?);
            self.expect(Kw::BUCKETS)?;
        }
        if self.eat(Kw::USING) {
            self.expect(Kw::DATA)?;
            data = Some(self.text()?);
        } else if self.at(Kw::AUTO) || self.at_word("MANUAL") {
            auto_update = Some(self.bump().kind == Tok::Kw(Kw::AUTO));
            self.expect(Kw::UPDATE)?;
        }
        Ok(MaintenanceAction::UpdateHistogram {
            columns,
            buckets,
            auto_update,
            data,
        })
    }

    pub(super) fn check_options(&mut self) -> PResult<Vec<CheckOption>> {
        let mut options = Vec::new();
        loop {
            options.push(match self.kind() {
                Tok::Kw(Kw::FOR) => {
                    self.bump();
                    self.expect(Kw::UPGRADE)?;
                    options.push(CheckOption::ForUpgrade);
                    continue;
                }
                Tok::Kw(Kw::QUICK) => CheckOption::Quick,
                Tok::Kw(Kw::FAST) => CheckOption::Fast,
                Tok::Kw(Kw::MEDIUM) => CheckOption::Medium,
                Tok::Kw(Kw::EXTENDED) => CheckOption::Extended,
                Tok::Kw(Kw::CHANGED) => CheckOption::Changed,
                _ => return Ok(options),
            });
            self.bump();
        }
    }

    pub(super) fn repair_options(&mut self) -> Vec<RepairOption> {
        let mut options = Vec::new();
        while let Some(keyword) = self.eat_any(&[Kw::QUICK, Kw::EXTENDED, Kw::USE_FRM]) {
            options.push(match keyword {
                Kw::QUICK => RepairOption::Quick,
                Kw::EXTENDED => RepairOption::Extended,
                _ => RepairOption::UseFrm,
            });
        }
        options
    }

    fn flush(&mut self) -> PResult<Statement> {
        let no_write_to_binlog = self.no_write_to_binlog();
        let what = if self.eat_any(&[Kw::TABLES, Kw::TABLE]).is_some() {
            self.flush_tables()?
        } else {
            FlushWhat::Targets(self.list(Self::flush_target)?)
        };
        Ok(Statement::Flush(Flush {
            no_write_to_binlog,
            what,
        }))
    }

    fn flush_tables(&mut self) -> PResult<FlushWhat> {
        let tables = if self.at_ident() {
            self.list(Self::table_name)?
        } else {
            Vec::new()
        };
        let mode = if self.eat(Kw::WITH) {
            self.expect_all(&[Kw::READ, Kw::LOCK])?;
            FlushTables::WithReadLock
        } else if !tables.is_empty() && self.eat(Kw::FOR) {
            self.expect(Kw::EXPORT)?;
            FlushTables::ForExport
        } else {
            FlushTables::Close
        };
        Ok(FlushWhat::Tables { tables, mode })
    }

    fn flush_target(&mut self) -> PResult<FlushTarget> {
        let keyword = match self.kind() {
            Tok::Kw(keyword) => keyword,
            _ => return Err(self.unexpected()),
        };
        let (target, needs_logs) = match keyword {
            Kw::BINARY => (FlushTarget::BinaryLogs, true),
            Kw::ENGINE => (FlushTarget::EngineLogs, true),
            Kw::ERROR => (FlushTarget::ErrorLogs, true),
            Kw::GENERAL => (FlushTarget::GeneralLogs, true),
            Kw::RELAY => (FlushTarget::RelayLogs { channel: None }, true),
            Kw::SLOW => (FlushTarget::SlowLogs, true),
            Kw::HOSTS => (FlushTarget::Hosts, false),
            Kw::LOGS => (FlushTarget::Logs, false),
            Kw::OPTIMIZER_COSTS => (FlushTarget::OptimizerCosts, false),
            Kw::PRIVILEGES => (FlushTarget::Privileges, false),
            Kw::STATUS => (FlushTarget::Status, false),
            Kw::USER_RESOURCES => (FlushTarget::UserResources, false),
            _ => return Err(self.unexpected()),
        };
        self.bump();
        if needs_logs {
            self.expect(Kw::LOGS)?;
        }
        if keyword == Kw::RELAY {
            return Ok(FlushTarget::RelayLogs {
                channel: self.opt_channel()?,
            });
        }
        Ok(target)
    }

    fn reset(&mut self) -> PResult<Statement> {
        if self.eat(Kw::PERSIST) {
            let if_exists = self.if_exists()?;
            if !if_exists && !self.at_ident() {
                return Ok(Statement::ResetPersist { name: None, if_exists });
            }
            let first = self.ident()?;
            let name = if self.eat_tok(Tok::Dot) {
                format!("{}.{}", &*first, &*self.ident()?).into()
            } else {
                first.0
            };
            return Ok(Statement::ResetPersist {
                name: Some(name),
                if_exists,
            });
        }
        self.list(|parser| {
            Ok(match parser.kind() {
                Tok::Kw(Kw::MASTER) => {
                    parser.bump();
                    ResetTarget::BinaryLogs { to: parser.reset_to()? }
                }
                Tok::Kw(Kw::BINARY) => {
                    parser.bump();
                    parser.expect_all(&[Kw::LOGS, Kw::AND, Kw::GTIDS])?;
                    ResetTarget::BinaryLogs { to: parser.reset_to()? }
                }
                Tok::Kw(Kw::REPLICA | Kw::SLAVE) => {
                    parser.bump();
                    ResetTarget::Replica {
                        all: parser.eat(Kw::ALL),
                        channel: parser.opt_channel()?,
                    }
                }
                Tok::Kw(Kw::QUERY) => {
                    parser.bump();
                    parser.expect(Kw::CACHE)?;
                    ResetTarget::QueryCache
                }
                _ => return Err(parser.unexpected()),
            })
        })
        .map(Statement::Reset)
    }

    /// `[TO n]`
    fn reset_to(&mut self) -> PResult<Option<u64>> {
        if self.eat(Kw::TO) {
            self.unsigned().map(Some)
        } else {
            Ok(None)
        }
    }

    /// `CACHE INDEX .. IN cache`, after CACHE.
    fn cache_index(&mut self) -> PResult<Statement> {
        self.expect(Kw::INDEX)?;
        let tables = self.list(|parser| parser.key_cache_table(false))?;
        self.expect(Kw::IN)?;
        let cache = if self.eat(Kw::DEFAULT) {
            None
        } else {
            Some(self.ident()?)
        };
        Ok(Statement::CacheIndex(Box::new(CacheIndex { tables, cache })))
    }

    /// `LOAD INDEX INTO CACHE ..`, after LOAD.
    pub(super) fn load_index(&mut self) -> PResult<Statement> {
        self.expect_all(&[Kw::INDEX, Kw::INTO, Kw::CACHE])?;
        let tables = self.list(|parser| parser.key_cache_table(true))?;
        Ok(Statement::LoadIndex(Box::new(LoadIndex { tables })))
    }

    fn key_cache_table(&mut self, load: bool) -> PResult<KeyCacheTable> {
        let table = self.table_name()?;
        let mut partitions = None;
        if self.eat(Kw::PARTITION) {
            self.expect_tok(Tok::LParen)?;
            partitions = Some(self.partition_set()?);
            self.expect_tok(Tok::RParen)?;
        }
        let mut indexes = Vec::new();
        if self.eat_any(&[Kw::INDEX, Kw::KEY]).is_some() {
            self.expect_tok(Tok::LParen)?;
            if !self.at_tok(Tok::RParen) {
                indexes = self.list(Self::index_name)?;
            }
            self.expect_tok(Tok::RParen)?;
        }
        let ignore_leaves = load && self.eat(Kw::IGNORE);
        if ignore_leaves {
            self.expect(Kw::LEAVES)?;
        }
        Ok(KeyCacheTable {
            table,
            partitions,
            indexes,
            ignore_leaves,
        })
    }

    fn clone_statement(&mut self) -> PResult<Statement> {
        if self.eat(Kw::LOCAL) {
            self.expect_all(&[Kw::DATA, Kw::DIRECTORY])?;
            self.opt_eq();
            return Ok(Statement::Clone(Box::new(CloneStatement::Local(self.text()?))));
        }
        self.expect_all(&[Kw::INSTANCE, Kw::FROM])?;
        let from = self.account()?;
        self.expect_tok(Tok::Colon)?;
        let port = self.unsigned()?;
        self.expect_all(&[Kw::IDENTIFIED, Kw::BY])?;
        let password = self.text()?;
        let mut directory = None;
        if self.eat(Kw::DATA) {
            self.expect(Kw::DIRECTORY)?;
            self.opt_eq();
            directory = Some(self.text()?);
        }
        let mut require_ssl = None;
        if self.eat(Kw::REQUIRE) {
            require_ssl = Some(!self.eat(Kw::NO));
            self.expect(Kw::SSL)?;
        }
        let instance = CloneStatement::Instance {
            from,
            port,
            password,
            directory,
            require_ssl,
        };
        Ok(Statement::Clone(Box::new(instance)))
    }
}
