//! SHOW, EXPLAIN, DESCRIBE.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::{Tok, Token};

impl Parser<'_> {
    pub(super) fn show(&mut self) -> PResult<Statement> {
        self.bump();
        let show = self.show_what()?;
        Ok(Statement::Show(Box::new(show)))
    }

    fn show_what(&mut self) -> PResult<Show> {
        let keyword = match self.kind() {
            Tok::Kw(keyword) => keyword,
            _ => return Err(self.unexpected()),
        };
        if let Some(show) = self.show_list(keyword)? {
            return Ok(show);
        }
        let verb = self.bump();
        Ok(match keyword {
            Kw::EXTENDED | Kw::FULL => {
                let extended = keyword == Kw::EXTENDED;
                let full = !extended || self.eat(Kw::FULL);
                return self.show_extended_full(extended, full);
            }
            Kw::GLOBAL | Kw::SESSION | Kw::LOCAL => {
                let scope = Some(if keyword == Kw::GLOBAL {
                    ShowScope::Global
                } else {
                    ShowScope::Session
                });
                match self.expect_any(&[Kw::VARIABLES, Kw::STATUS])? {
                    Kw::VARIABLES => Show::Variables {
                        scope,
                        filter: self.show_filter()?,
                    },
                    _ => Show::Status {
                        scope,
                        filter: self.show_filter()?,
                    },
                }
            }
            Kw::TABLE => {
                self.expect(Kw::STATUS)?;
                Show::TableStatus {
                    schema: self.opt_from_schema()?,
                    filter: self.show_filter()?,
                }
            }
            Kw::OPEN => {
                self.expect(Kw::TABLES)?;
                Show::OpenTables {
                    schema: self.opt_from_schema()?,
                    filter: self.show_filter()?,
                }
            }
            Kw::WARNINGS => Show::Warnings(self.opt_limit()?),
            Kw::ERRORS => Show::Errors(self.opt_limit()?),
            Kw::COUNT => {
                self.expect_tok(Tok::LParen)?;
                self.expect_tok(Tok::Star)?;
                self.expect_tok(Tok::RParen)?;
                match self.expect_any(&[Kw::WARNINGS, Kw::ERRORS])? {
                    Kw::WARNINGS => Show::WarningCount,
                    _ => Show::ErrorCount,
                }
            }
            Kw::STORAGE => {
                self.expect(Kw::ENGINES)?;
                Show::Engines
            }
            Kw::ENGINE => {
                let name = if self.eat(Kw::ALL) {
                    None
                } else {
                    Some(self.ident_or_text()?)
                };
                let what = match self.expect_any(&[Kw::STATUS, Kw::MUTEX, Kw::LOGS])? {
                    Kw::STATUS => EngineInfo::Status,
                    Kw::MUTEX => EngineInfo::Mutex,
                    _ => EngineInfo::Logs,
                };
                Show::Engine { name, what }
            }
            Kw::CHARSET => Show::CharacterSets(self.show_filter()?),
            Kw::CHARACTER | Kw::CHAR => {
                self.expect(Kw::SET)?;
                Show::CharacterSets(self.show_filter()?)
            }
            Kw::PROFILE => self.show_profile()?,
            Kw::PROCEDURE | Kw::FUNCTION => self.show_routine(keyword == Kw::PROCEDURE)?,
            Kw::GRANTS => self.show_grants()?,
            Kw::CREATE => self.show_create()?,
            _ => return self.show_replication(verb, keyword),
        })
    }

    /// The common ones: a plural and a filter.
    fn show_list(&mut self, keyword: Kw) -> PResult<Option<Show>> {
        let known = [
            Kw::DATABASES,
            Kw::SCHEMAS,
            Kw::TABLES,
            Kw::COLUMNS,
            Kw::FIELDS,
            Kw::INDEX,
            Kw::INDEXES,
            Kw::KEYS,
            Kw::TRIGGERS,
            Kw::EVENTS,
            Kw::VARIABLES,
            Kw::STATUS,
            Kw::PROCESSLIST,
            Kw::ENGINES,
            Kw::COLLATION,
            Kw::PRIVILEGES,
            Kw::PLUGINS,
            Kw::PROFILES,
        ];
        if self.eat_any(&known).is_none() {
            return Ok(None);
        }
        Ok(Some(match keyword {
            Kw::DATABASES | Kw::SCHEMAS => Show::Databases(self.show_filter()?),
            Kw::TABLES => self.show_tables(false, false)?,
            Kw::COLUMNS | Kw::FIELDS => self.show_columns(false, false)?,
            Kw::INDEX | Kw::INDEXES | Kw::KEYS => self.show_indexes(false)?,
            Kw::TRIGGERS => self.show_triggers(false)?,
            Kw::EVENTS => Show::Events {
                schema: self.opt_from_schema()?,
                filter: self.show_filter()?,
            },
            Kw::VARIABLES => Show::Variables {
                scope: None,
                filter: self.show_filter()?,
            },
            Kw::STATUS => Show::Status {
                scope: None,
                filter: self.show_filter()?,
            },
            Kw::PROCESSLIST => Show::ProcessList { full: false },
            Kw::ENGINES => Show::Engines,
            Kw::COLLATION => Show::Collations(self.show_filter()?),
            Kw::PRIVILEGES => Show::Privileges,
            Kw::PLUGINS => Show::Plugins,
            _ => Show::Profiles,
        }))
    }

    /// After `SHOW [EXTENDED] [FULL]`.
    fn show_extended_full(&mut self, extended: bool, full: bool) -> PResult<Show> {
        let Tok::Kw(keyword) = self.tok.kind else {
            return Err(self.unexpected());
        };
        match keyword {
            Kw::TABLES => {
                self.bump();
                self.show_tables(extended, full)
            }
            Kw::COLUMNS | Kw::FIELDS => {
                self.bump();
                self.show_columns(extended, full)
            }
            Kw::INDEX | Kw::INDEXES | Kw::KEYS if !full => {
                self.bump();
                self.show_indexes(extended)
            }
            Kw::PROCESSLIST if !extended => {
                self.bump();
                Ok(Show::ProcessList { full })
            }
            Kw::TRIGGERS if !extended => {
                self.bump();
                self.show_triggers(full)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn show_tables(&mut self, extended: bool, full: bool) -> PResult<Show> {
        Ok(Show::Tables {
            extended,
            full,
            schema: self.opt_from_schema()?,
            filter: self.show_filter()?,
        })
    }

    fn show_columns(&mut self, extended: bool, full: bool) -> PResult<Show> {
        let table = self.shown_table()?;
        Ok(Show::Columns {
            extended,
            full,
            table,
            filter: self.show_filter()?,
        })
    }

    fn show_indexes(&mut self, extended: bool) -> PResult<Show> {
        let table = self.shown_table()?;
        Ok(Show::Indexes {
            extended,
            table,
            filter: self.opt_where()?,
        })
    }

    fn show_triggers(&mut self, full: bool) -> PResult<Show> {
        Ok(Show::Triggers {
            full,
            schema: self.opt_from_schema()?,
            filter: self.show_filter()?,
        })
    }

    /// `[LIKE 'pattern' | WHERE condition]`
    fn show_filter(&mut self) -> PResult<Option<ShowFilter>> {
        if self.eat(Kw::LIKE) {
            return self.bytes().map(|pattern| Some(ShowFilter::Like(pattern)));
        }
        Ok(self.opt_where()?.map(ShowFilter::Where))
    }

    /// `[FROM|IN schema]`
    fn opt_from_schema(&mut self) -> PResult<Option<Ident>> {
        if self.eat_any(&[Kw::FROM, Kw::IN]).is_some() {
            self.ident().map(Some)
        } else {
            Ok(None)
        }
    }

    /// `FROM|IN table [FROM|IN schema]`
    fn shown_table(&mut self) -> PResult<TableName> {
        self.expect_any(&[Kw::FROM, Kw::IN])?;
        let mut table = self.table_name()?;
        if let Some(schema) = self.opt_from_schema()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }

    fn show_profile(&mut self) -> PResult<Show> {
        let mut types = Vec::new();
        loop {
            types.push(match self.kind() {
                Tok::Kw(Kw::BLOCK) => self.words(&[Kw::BLOCK, Kw::IO])?,
                Tok::Kw(Kw::CONTEXT) => self.words(&[Kw::CONTEXT, Kw::SWITCHES])?,
                Tok::Kw(Kw::PAGE) => self.words(&[Kw::PAGE, Kw::FAULTS])?,
                Tok::Kw(keyword @ (Kw::ALL | Kw::CPU | Kw::IPC | Kw::MEMORY | Kw::SOURCE)) => self.words(&[keyword])?,
                Tok::Ident if self.at_word("SWAPS") => self.word_upper()?,
                _ if types.is_empty() => break,
                _ => return Err(self.unexpected()),
            });
            if !self.eat_tok(Tok::Comma) {
                break;
            }
        }
        let mut query = None;
        if self.eat(Kw::FOR) {
            self.expect(Kw::QUERY)?;
            query = Some(self.unsigned()?);
        }
        Ok(Show::Profile {
            types,
            query,
            limit: self.opt_limit()?,
        })
    }

    /// The keywords, which must stand here, as one text.
    fn words(&mut self, keywords: &[Kw]) -> PResult<Box<str>> {
        self.expect_all(keywords)?;
        Ok(keywords
            .iter()
            .map(|keyword| keyword.text())
            .collect::<Vec<_>>()
            .join(" ")
            .into())
    }

    fn show_routine(&mut self, procedure: bool) -> PResult<Show> {
        Ok(match self.expect_any(&[Kw::STATUS, Kw::CODE])? {
            Kw::STATUS if procedure => Show::ProcedureStatus(self.show_filter()?),
            Kw::STATUS => Show::FunctionStatus(self.show_filter()?),
            _ if procedure => Show::ProcedureCode(self.table_name()?),
            _ => Show::FunctionCode(self.table_name()?),
        })
    }

    fn show_grants(&mut self) -> PResult<Show> {
        let (mut account, mut using) = (None, Vec::new());
        if self.eat(Kw::FOR) {
            account = Some(self.account()?);
            if self.eat(Kw::USING) {
                using = self.list(Self::account)?;
            }
        }
        Ok(Show::Grants { account, using })
    }

    fn show_create(&mut self) -> PResult<Show> {
        let kinds = [
            Kw::DATABASE,
            Kw::SCHEMA,
            Kw::TABLE,
            Kw::VIEW,
            Kw::PROCEDURE,
            Kw::FUNCTION,
            Kw::TRIGGER,
            Kw::EVENT,
            Kw::USER,
        ];
        Ok(match self.expect_any(&kinds)? {
            Kw::DATABASE | Kw::SCHEMA => {
                let if_not_exists = self.if_not_exists()?;
                Show::CreateDatabase {
                    name: self.ident()?,
                    if_not_exists,
                }
            }
            Kw::TABLE => Show::CreateTable(self.table_name()?),
            Kw::VIEW => Show::CreateView(self.table_name()?),
            Kw::PROCEDURE => Show::CreateProcedure(self.table_name()?),
            Kw::FUNCTION => Show::CreateFunction(self.table_name()?),
            Kw::TRIGGER => Show::CreateTrigger(self.table_name()?),
            Kw::EVENT => Show::CreateEvent(self.table_name()?),
            _ => Show::CreateUser(self.account()?),
        })
    }

    fn show_replication(&mut self, verb: Token, keyword: Kw) -> PResult<Show> {
        Ok(match keyword {
            Kw::BINARY if self.eat(Kw::LOGS) => Show::BinaryLogs,
            Kw::BINARY if self.eat_word("LOG") => {
                self.expect(Kw::STATUS)?;
                Show::BinaryLogStatus
            }
            Kw::MASTER => match self.expect_any(&[Kw::LOGS, Kw::STATUS])? {
                Kw::LOGS => Show::BinaryLogs,
                _ => Show::BinaryLogStatus,
            },
            Kw::BINLOG => {
                self.expect(Kw::EVENTS)?;
                let log = self.opt_log()?;
                let from = self.opt_position()?;
                Show::BinlogEvents {
                    log,
                    from,
                    limit: self.opt_limit()?,
                }
            }
            Kw::RELAYLOG => {
                self.expect(Kw::EVENTS)?;
                let log = self.opt_log()?;
                let from = self.opt_position()?;
                let limit = self.opt_limit()?;
                Show::RelayLogEvents {
                    log,
                    from,
                    limit,
                    channel: self.opt_channel()?,
                }
            }
            Kw::REPLICAS => Show::Replicas,
            Kw::SLAVE if self.eat(Kw::HOSTS) => Show::Replicas,
            Kw::REPLICA | Kw::SLAVE => {
                self.expect(Kw::STATUS)?;
                Show::ReplicaStatus {
                    channel: self.opt_channel()?,
                }
            }
            Kw::BINARY => return Err(self.unexpected()),
            _ => return Err(self.unexpected_at(verb)),
        })
    }

    /// `[IN 'log']`
    fn opt_log(&mut self) -> PResult<Option<Box<str>>> {
        if self.eat(Kw::IN) {
            self.text().map(Some)
        } else {
            Ok(None)
        }
    }

    /// `[FROM position]`
    fn opt_position(&mut self) -> PResult<Option<u64>> {
        if self.eat(Kw::FROM) {
            self.unsigned().map(Some)
        } else {
            Ok(None)
        }
    }

    /// `EXPLAIN`, `DESCRIBE`, `DESC`: of a table or of a statement.
    pub(super) fn explain(&mut self) -> PResult<Statement> {
        self.bump();
        let analyze = self.eat(Kw::ANALYZE);
        let mut format = None;
        if self.at(Kw::FORMAT) && self.peek() == Tok::Eq {
            self.bump();
            self.bump();
            format = Some(self.explain_format()?);
        }
        if !analyze && format.is_none() && self.at_ident() {
            return self.describe();
        }
        let target = match self.kind() {
            Tok::Kw(Kw::FOR) => {
                self.bump();
                self.expect(Kw::CONNECTION)?;
                ExplainTarget::Connection(self.unsigned()?)
            }
            Tok::LParen
            | Tok::Kw(
                Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE,
            ) => ExplainTarget::Statement(self.statement()?),
            _ => return Err(self.unexpected()),
        };
        Ok(Statement::Explain(Box::new(Explain {
            analyze,
            format,
            target,
        })))
    }

    fn explain_format(&mut self) -> PResult<ExplainFormat> {
        let name = self.ident_or_text()?;
        Ok(match () {
            () if name.is("traditional") => ExplainFormat::Traditional,
            () if name.is("json") => ExplainFormat::Json,
            () if name.is("tree") => ExplainFormat::Tree,
            () => {
                let message = format!("Unknown EXPLAIN format name: '{}'", name.as_str());
                return Err(self.other(1791, b"HY000", message));
            }
        })
    }

    fn describe(&mut self) -> PResult<Statement> {
        let table = self.table_name()?;
        let column = match self.kind() {
            Tok::String => Some(self.bytes()?),
            _ if self.at_ident() => Some(self.ident()?.as_bytes().into()),
            _ => None,
        };
        Ok(Statement::Describe(Box::new(Describe { table, column })))
    }
}
