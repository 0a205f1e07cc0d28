//! Replication commands: CHANGE REPLICATION, START and STOP REPLICA.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    /// `[FOR CHANNEL 'name']`
    pub(super) fn opt_channel(&mut self) -> PResult<Option<Box<str>>> {
        if !self.eat(Kw::FOR) {
            return Ok(None);
        }
        self.expect(Kw::CHANNEL)?;
        self.ident_or_text().map(|channel| Some(channel.0))
    }

    /// After `CHANGE`: `MASTER TO`, `REPLICATION SOURCE TO`, `REPLICATION FILTER`.
    pub(super) fn change_replication(&mut self) -> PResult<Statement> {
        if !self.eat(Kw::MASTER) {
            self.expect(Kw::REPLICATION)?;
            if self.eat(Kw::FILTER) {
                let filters = self.list(Self::replication_filter)?;
                let channel = self.opt_channel()?;
                return Ok(Statement::Replication(Box::new(Replication::ChangeFilter {
                    filters,
                    channel,
                })));
            }
            self.expect(Kw::SOURCE)?;
        }
        self.expect(Kw::TO)?;
        let options = self.list(|parser| {
            let name = parser.word_upper()?;
            let name = match name.strip_prefix("MASTER_") {
                Some("LOG_FILE" | "LOG_POS") | None => name,
                Some(rest) => format!("SOURCE_{rest}").into(),
            };
            let name = match &*name {
                "MASTER_LOG_FILE" => "SOURCE_LOG_FILE".into(),
                "MASTER_LOG_POS" => "SOURCE_LOG_POS".into(),
                _ => name,
            };
            parser.expect_tok(Tok::Eq)?;
            Ok((name, parser.replication_value()?))
        })?;
        let channel = self.opt_channel()?;
        Ok(Statement::Replication(Box::new(Replication::ChangeSource {
            options,
            channel,
        })))
    }

    fn replication_value(&mut self) -> PResult<ReplicationValue> {
        if self.eat_tok(Tok::LParen) {
            let ids = if self.at_tok(Tok::RParen) {
                Vec::new()
            } else {
                self.list(Self::unsigned)?
            };
            self.expect_tok(Tok::RParen)?;
            return Ok(ReplicationValue::Ids(ids));
        }
        if matches!(self.tok.kind, Tok::Ident | Tok::Kw(_)) && self.peek() != Tok::AtName {
            return self.word_upper().map(|word| ReplicationValue::Word(Ident(word)));
        }
        if matches!(self.peek(), Tok::AtName) {
            return self.account().map(ReplicationValue::Account);
        }
        match self.opt_literal()? {
            Some(literal) => Ok(ReplicationValue::Literal(literal)),
            None => Err(self.unexpected()),
        }
    }

    /// `RULE = (items)`
    fn replication_filter(&mut self) -> PResult<(Box<str>, Vec<FilterValue>)> {
        const RULES: &[&str] = &[
            "REPLICATE_DO_DB",
            "REPLICATE_IGNORE_DB",
            "REPLICATE_DO_TABLE",
            "REPLICATE_IGNORE_TABLE",
            "REPLICATE_WILD_DO_TABLE",
            "REPLICATE_WILD_IGNORE_TABLE",
            "REPLICATE_REWRITE_DB",
        ];
        let rule = self.one_of_words(RULES)?;
        self.expect_tok(Tok::Eq)?;
        self.expect_tok(Tok::LParen)?;
        if self.eat_tok(Tok::RParen) {
            return Ok((rule, Vec::new()));
        }
        let kind = rule.to_string();
        let values = self.list(|parser| {
            Ok(match kind.as_str() {
                "REPLICATE_DO_DB" | "REPLICATE_IGNORE_DB" => FilterValue::Schema(parser.ident()?),
                "REPLICATE_DO_TABLE" | "REPLICATE_IGNORE_TABLE" => FilterValue::Table(parser.table_name()?),
                "REPLICATE_REWRITE_DB" => {
                    parser.expect_tok(Tok::LParen)?;
                    let from = parser.ident()?;
                    parser.expect_tok(Tok::Comma)?;
                    let to = parser.ident()?;
                    parser.expect_tok(Tok::RParen)?;
                    FilterValue::Rewrite(from, to)
                }
                _ => FilterValue::Pattern(parser.text()?),
            })
        })?;
        self.expect_tok(Tok::RParen)?;
        Ok((rule, values))
    }

    /// After `START`: `REPLICA`, `SLAVE`, `GROUP_REPLICATION`.
    pub(super) fn start_replication(&mut self) -> PResult<Statement> {
        let replication = if self.eat(Kw::GROUP_REPLICATION) {
            let (mut user, mut password, mut default_auth) = (None, None, None);
            while let Some(keyword) = self.eat_any(&[Kw::USER, Kw::PASSWORD, Kw::DEFAULT_AUTH]) {
                self.expect_tok(Tok::Eq)?;
                let value = Some(self.text()?);
                match keyword {
                    Kw::USER => user = value,
                    Kw::PASSWORD => password = value,
                    _ => default_auth = value,
                }
                self.eat_tok(Tok::Comma);
            }
            Replication::StartGroupReplication {
                user,
                password,
                default_auth,
            }
        } else {
            self.expect_any(&[Kw::REPLICA, Kw::SLAVE])?;
            Replication::StartReplica(self.replica_threads(true)?)
        };
        Ok(Statement::Replication(Box::new(replication)))
    }

    /// After `STOP`.
    pub(super) fn stop_replication(&mut self) -> PResult<Statement> {
        let replication = if self.eat(Kw::GROUP_REPLICATION) {
            Replication::StopGroupReplication
        } else {
            self.expect_any(&[Kw::REPLICA, Kw::SLAVE])?;
            Replication::StopReplica(self.replica_threads(false)?)
        };
        Ok(Statement::Replication(Box::new(replication)))
    }

    fn replica_threads(&mut self, start: bool) -> PResult<ReplicaThreads> {
        let mut threads = ReplicaThreads::default();
        while let Some(keyword) = self.eat_any(&[Kw::IO_THREAD, Kw::SQL_THREAD, Kw::RELAY]) {
            match keyword {
                Kw::IO_THREAD => threads.io = true,
                _ => threads.sql = true,
            }
            if !self.eat_tok(Tok::Comma) {
                break;
            }
        }
        if start && self.eat(Kw::UNTIL) {
            if self.eat(Kw::SQL_AFTER_MTS_GAPS) {
                threads.until_after_gaps = true;
            } else {
                threads.until = self.list(|parser| {
                    let name = parser.word_upper()?;
                    parser.expect_tok(Tok::Eq)?;
                    match parser.opt_literal()? {
                        Some(literal) => Ok((name, literal)),
                        None => Err(parser.unexpected()),
                    }
                })?;
            }
        }
        while start && let Some(keyword) = self.eat_any(&[Kw::USER, Kw::PASSWORD, Kw::DEFAULT_AUTH, Kw::PLUGIN_DIR]) {
            self.expect_tok(Tok::Eq)?;
            let value = self.text()?;
            threads.connection.push((keyword.text().into(), value));
        }
        threads.channel = self.opt_channel()?;
        Ok(threads)
    }
}
