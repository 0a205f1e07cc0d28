//! Transactions, table locks, XA, prepared statements, conditions.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn transaction_statement(&mut self, keyword: Kw) -> PResult<Statement> {
        self.bump();
        match keyword {
            Kw::BEGIN => {
                self.eat(Kw::WORK);
                Ok(Statement::Begin(Begin::default()))
            }
            Kw::START => self.start(),
            Kw::COMMIT => {
                self.eat(Kw::WORK);
                self.end_transaction().map(Statement::Commit)
            }
            Kw::ROLLBACK => self.rollback(),
            Kw::SAVEPOINT => self.ident().map(Statement::Savepoint),
            Kw::RELEASE => {
                self.expect(Kw::SAVEPOINT)?;
                self.ident().map(Statement::ReleaseSavepoint)
            }
            Kw::LOCK => self.lock(),
            Kw::UNLOCK => match self.expect_any(&[Kw::TABLES, Kw::TABLE, Kw::INSTANCE])? {
                Kw::INSTANCE => Ok(Statement::UnlockInstance),
                _ => Ok(Statement::UnlockTables),
            },
            Kw::XA => self.xa().map(|xa| Statement::Xa(Box::new(xa))),
            Kw::PREPARE => self.prepare(),
            Kw::EXECUTE => {
                let name = self.ident()?;
                let using = if self.eat(Kw::USING) {
                    self.list(Self::user_var)?
                } else {
                    Vec::new()
                };
                Ok(Statement::Execute(Box::new(Execute { name, using })))
            }
            Kw::DEALLOCATE => {
                self.expect(Kw::PREPARE)?;
                self.ident().map(Statement::Deallocate)
            }
            Kw::SIGNAL => {
                let condition = Some(self.signal_condition()?);
                Ok(Statement::Signal(Box::new(Signal {
                    condition,
                    items: self.signal_items()?,
                })))
            }
            Kw::RESIGNAL => {
                let condition = if self.at(Kw::SQLSTATE) || self.at_ident() {
                    Some(self.signal_condition()?)
                } else {
                    None
                };
                Ok(Statement::Resignal(Box::new(Signal {
                    condition,
                    items: self.signal_items()?,
                })))
            }
            _ => self.get_diagnostics(),
        }
    }

    /// `START TRANSACTION ..`, `START REPLICA ..`, `START GROUP_REPLICATION ..`
    fn start(&mut self) -> PResult<Statement> {
        if !self.eat(Kw::TRANSACTION) {
            return self.start_replication();
        }
        let mut begin = Begin::default();
        loop {
            if self.eat(Kw::WITH) {
                self.expect_all(&[Kw::CONSISTENT, Kw::SNAPSHOT])?;
                begin.consistent_snapshot = true;
            } else if self.at(Kw::READ) {
                let access = self.access_mode()?;
                if begin.access.is_some_and(|other| other != access) {
                    return Err(self.unexpected());
                }
                begin.access = Some(access);
                if access == AccessMode::ReadOnly && begin.as_of.is_none() {
                    begin.as_of = self.opt_as_of()?;
                }
            } else if begin == Begin::default() {
                return Ok(Statement::Begin(begin));
            } else {
                return Err(self.unexpected());
            }
            if !self.eat_tok(Tok::Comma) {
                return Ok(Statement::Begin(begin));
            }
        }
    }

    /// `READ ONLY|WRITE`
    fn access_mode(&mut self) -> PResult<AccessMode> {
        self.expect(Kw::READ)?;
        if self.eat(Kw::WRITE) {
            return Ok(AccessMode::ReadWrite);
        }
        if self.eat_word("ONLY") {
            Ok(AccessMode::ReadOnly)
        } else {
            Err(self.unexpected())
        }
    }

    /// `[AND [NO] CHAIN] [[NO] RELEASE]`
    fn end_transaction(&mut self) -> PResult<EndTransaction> {
        let mut end = EndTransaction::default();
        if self.eat(Kw::AND) {
            end.chain = Some(!self.eat(Kw::NO));
            self.expect(Kw::CHAIN)?;
        }
        if self.eat(Kw::NO) {
            self.expect(Kw::RELEASE)?;
            end.release = Some(false);
        } else if self.at(Kw::RELEASE) {
            if end.chain == Some(true) {
                return Err(self.unexpected());
            }
            self.bump();
            end.release = Some(true);
        }
        Ok(end)
    }

    fn rollback(&mut self) -> PResult<Statement> {
        self.eat(Kw::WORK);
        if self.eat(Kw::TO) {
            self.eat(Kw::SAVEPOINT);
            return self.ident().map(Statement::RollbackTo);
        }
        self.end_transaction().map(Statement::Rollback)
    }

    /// `LOCK TABLES ..`, `LOCK INSTANCE FOR BACKUP`
    fn lock(&mut self) -> PResult<Statement> {
        if self.eat(Kw::INSTANCE) {
            self.expect_all(&[Kw::FOR, Kw::BACKUP])?;
            return Ok(Statement::LockInstanceForBackup);
        }
        self.expect_any(&[Kw::TABLES, Kw::TABLE])?;
        let tables = self.list(|parser| {
            let table = parser.table_name()?;
            let alias = parser.opt_table_alias()?;
            let mode = match parser.expect_any(&[Kw::READ, Kw::WRITE, Kw::LOW_PRIORITY])? {
                Kw::READ if parser.eat(Kw::LOCAL) => TableLockMode::ReadLocal,
                Kw::READ => TableLockMode::Read,
                Kw::WRITE => TableLockMode::Write,
                _ => {
                    parser.expect(Kw::WRITE)?;
                    TableLockMode::Write
                }
            };
            Ok(LockTable { table, alias, mode })
        })?;
        Ok(Statement::LockTables(tables))
    }

    /// `SET [scope] TRANSACTION ..`, after TRANSACTION.
    pub(super) fn set_transaction(&mut self, scope: Option<VarScope>) -> PResult<Statement> {
        let mut transaction = SetTransaction {
            scope,
            isolation: None,
            access: None,
            as_of: None,
        };
        loop {
            if self.at(Kw::READ) && transaction.access.is_none() {
                let access = self.access_mode()?;
                transaction.access = Some(access);
                if access == AccessMode::ReadOnly {
                    transaction.as_of = self.opt_as_of()?;
                }
            } else if self.at(Kw::ISOLATION) && transaction.isolation.is_none() {
                self.bump();
                self.expect(Kw::LEVEL)?;
                transaction.isolation = Some(self.isolation_level()?);
            } else {
                return Err(self.unexpected());
            }
            if !self.eat_tok(Tok::Comma) {
                return Ok(Statement::SetTransaction(transaction));
            }
        }
    }

    fn isolation_level(&mut self) -> PResult<IsolationLevel> {
        Ok(match self.expect_any(&[Kw::READ, Kw::REPEATABLE, Kw::SERIALIZABLE])? {
            Kw::READ => match self.expect_any(&[Kw::UNCOMMITTED, Kw::COMMITTED])? {
                Kw::COMMITTED => IsolationLevel::ReadCommitted,
                _ => IsolationLevel::ReadUncommitted,
            },
            Kw::REPEATABLE => {
                self.expect(Kw::READ)?;
                IsolationLevel::RepeatableRead
            }
            _ => IsolationLevel::Serializable,
        })
    }

    fn xa(&mut self) -> PResult<Xa> {
        let verbs = [
            Kw::START,
            Kw::BEGIN,
            Kw::END,
            Kw::PREPARE,
            Kw::COMMIT,
            Kw::ROLLBACK,
            Kw::RECOVER,
        ];
        Ok(match self.expect_any(&verbs)? {
            Kw::START | Kw::BEGIN => {
                let xid = self.xid()?;
                let join = match self.eat_any(&[Kw::JOIN, Kw::RESUME]) {
                    Some(Kw::JOIN) => Some(XaJoin::Join),
                    Some(_) => Some(XaJoin::Resume),
                    None => None,
                };
                Xa::Start { xid, join }
            }
            Kw::END => {
                let xid = self.xid()?;
                let mut suspend = None;
                if self.eat(Kw::SUSPEND) {
                    suspend = Some(XaSuspend::Suspend);
                    if self.eat(Kw::FOR) {
                        self.expect(Kw::MIGRATE)?;
                        suspend = Some(XaSuspend::ForMigrate);
                    }
                }
                Xa::End { xid, suspend }
            }
            Kw::PREPARE => Xa::Prepare(self.xid()?),
            Kw::COMMIT => {
                let xid = self.xid()?;
                let one_phase = self.eat(Kw::ONE);
                if one_phase {
                    self.expect(Kw::PHASE)?;
                }
                Xa::Commit { xid, one_phase }
            }
            Kw::ROLLBACK => Xa::Rollback(self.xid()?),
            _ => {
                let convert_xid = self.eat(Kw::CONVERT);
                if convert_xid {
                    self.expect(Kw::XID)?;
                }
                Xa::Recover { convert_xid }
            }
        })
    }

    /// `gtrid[, bqual[, format]]`
    fn xid(&mut self) -> PResult<Xid> {
        let mut xid = Xid {
            gtrid: self.xid_part()?,
            bqual: None,
            format_id: None,
        };
        if self.eat_tok(Tok::Comma) {
            xid.bqual = Some(self.xid_part()?);
            if self.eat_tok(Tok::Comma) {
                xid.format_id = Some(self.unsigned_to::<i64>()?.unsigned_abs());
            }
        }
        Ok(xid)
    }

    fn xid_part(&mut self) -> PResult<Box<[u8]>> {
        let part = self.bytes_or_hex()?;
        if part.len() > 64 {
            return Err(self.unexpected());
        }
        Ok(part)
    }

    fn prepare(&mut self) -> PResult<Statement> {
        let name = self.ident()?;
        self.expect(Kw::FROM)?;
        let source = if self.at_tok(Tok::AtName) {
            PrepareSource::UserVar(self.user_var()?)
        } else {
            PrepareSource::Text(self.bytes()?)
        };
        Ok(Statement::Prepare(Box::new(Prepare { name, source })))
    }

    /// `SQLSTATE [VALUE] 'state'` or a condition's name.
    fn signal_condition(&mut self) -> PResult<SignalCondition> {
        if self.eat(Kw::SQLSTATE) {
            return self.sqlstate().map(SignalCondition::SqlState);
        }
        let name = self.ident()?;
        match self.condition_of(&name)? {
            None => Ok(SignalCondition::Name(name)),
            Some(Condition::State(state)) => Ok(SignalCondition::SqlState(state)),
            Some(_) => {
                let message = "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE".to_owned();
                Err(self.other(1646, b"HY000", message))
            }
        }
    }

    /// After `SQLSTATE`.
    pub(super) fn sqlstate(&mut self) -> PResult<Box<str>> {
        self.eat(Kw::VALUE);
        let state = self.text()?;
        let valid = state.len() == 5
            && state
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        if !valid || state.starts_with("00") {
            return Err(self.other(1407, b"42000", format!("Bad SQLSTATE: '{state}'")));
        }
        Ok(state)
    }

    /// `[SET item = value, ...]`
    fn signal_items(&mut self) -> PResult<Vec<(Box<str>, Expr)>> {
        const ITEMS: &[&str] = &[
            "CLASS_ORIGIN",
            "SUBCLASS_ORIGIN",
            "CONSTRAINT_CATALOG",
            "CONSTRAINT_SCHEMA",
            "CONSTRAINT_NAME",
            "CATALOG_NAME",
            "SCHEMA_NAME",
            "TABLE_NAME",
            "COLUMN_NAME",
            "CURSOR_NAME",
            "MESSAGE_TEXT",
            "MYSQL_ERRNO",
        ];
        if !self.eat(Kw::SET) {
            return Ok(Vec::new());
        }
        self.list(|parser| {
            let name = parser.one_of_words(ITEMS)?;
            parser.expect_tok(Tok::Eq)?;
            let value = match parser.opt_literal()? {
                Some(literal) => Expr::Literal(literal),
                None => match parser.kind() {
                    Tok::AtName => Expr::UserVar(parser.user_var()?),
                    Tok::AtAt => parser.system_variable()?,
                    _ => {
                        let name = ColumnName::bare(parser.ident()?);
                        match parser.local_of(&name)? {
                            Some(local) => Expr::Local(Box::new(local)),
                            None => Expr::Column(Box::new(name)),
                        }
                    }
                },
            };
            Ok((name, value))
        })
    }

    /// `[CURRENT|STACKED] DIAGNOSTICS ..`, after GET.
    fn get_diagnostics(&mut self) -> PResult<Statement> {
        const STATEMENT_ITEMS: &[&str] = &["NUMBER", "ROW_COUNT"];
        const CONDITION_ITEMS: &[&str] = &[
            "RETURNED_SQLSTATE",
            "MESSAGE_TEXT",
            "MYSQL_ERRNO",
            "CLASS_ORIGIN",
            "SUBCLASS_ORIGIN",
            "CONSTRAINT_CATALOG",
            "CONSTRAINT_SCHEMA",
            "CONSTRAINT_NAME",
            "CATALOG_NAME",
            "SCHEMA_NAME",
            "TABLE_NAME",
            "COLUMN_NAME",
            "CURSOR_NAME",
        ];
        let stacked = self.eat_any(&[Kw::CURRENT, Kw::STACKED]) == Some(Kw::STACKED);
        self.expect(Kw::DIAGNOSTICS)?;
        let condition = if self.eat(Kw::CONDITION) {
            Some(self.expr()?)
        } else {
            None
        };
        let names = if condition.is_some() {
            CONDITION_ITEMS
        } else {
            STATEMENT_ITEMS
        };
        let items = self.list(|parser| {
            let target = parser.target_var()?;
            parser.expect_tok(Tok::Eq)?;
            Ok((target, parser.one_of_words(names)?))
        })?;
        Ok(Statement::GetDiagnostics(Box::new(GetDiagnostics {
            stacked,
            condition,
            items,
        })))
    }
}
