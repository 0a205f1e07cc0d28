//! The first word decides: one arm per statement of the language.

use super::{PResult, Parser};
use crate::ast::*;
use crate::keywords::Kw;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> PResult<Statement> {
        let keyword = match self.kind() {
            Tok::Kw(keyword) => keyword,
            Tok::LParen => return self.query_statement(),
            _ => return Err(self.unexpected()),
        };
        match keyword {
            Kw::SELECT | Kw::TABLE | Kw::VALUES => self.query_statement(),
            Kw::WITH => self.with_statement(),
            Kw::INSERT | Kw::REPLACE => self.insert(),
            Kw::UPDATE => self.update(None),
            Kw::DELETE => self.delete(None),
            Kw::CALL => self.call_procedure(),
            Kw::DO => self.do_exprs(),
            Kw::HANDLER => self.handler(),
            Kw::LOAD => self.load(),
            Kw::BEGIN
            | Kw::START
            | Kw::COMMIT
            | Kw::ROLLBACK
            | Kw::SAVEPOINT
            | Kw::RELEASE
            | Kw::LOCK
            | Kw::UNLOCK
            | Kw::XA
            | Kw::PREPARE
            | Kw::EXECUTE
            | Kw::DEALLOCATE
            | Kw::SIGNAL
            | Kw::RESIGNAL
            | Kw::GET => self.transaction_statement(keyword),
            Kw::SET => self.set(),
            Kw::USE => {
                self.bump();
                self.ident().map(Statement::Use)
            }
            Kw::SHOW => self.show(),
            Kw::EXPLAIN | Kw::DESCRIBE | Kw::DESC => self.explain(),
            Kw::HELP => {
                self.bump();
                self.ident_or_text().map(|topic| Statement::Help(topic.0))
            }
            Kw::CREATE => self.create(),
            Kw::ALTER => self.alter(),
            Kw::DROP => self.drop(),
            Kw::RENAME => self.rename(),
            Kw::TRUNCATE => {
                self.bump();
                self.eat(Kw::TABLE);
                self.table_name().map(Statement::Truncate)
            }
            Kw::GRANT => self.grant(),
            Kw::REVOKE => self.revoke(),
            _ => self.admin_statement(keyword),
        }
    }

    fn query_statement(&mut self) -> PResult<Statement> {
        let query = self.nested_query(Self::query_expression)?;
        Ok(Statement::Query(query))
    }

    /// `WITH .. SELECT|UPDATE|DELETE`
    fn with_statement(&mut self) -> PResult<Statement> {
        let with = self.opt_with()?;
        match self.kind() {
            Tok::Kw(Kw::UPDATE) => self.update(with),
            Tok::Kw(Kw::DELETE) => self.delete(with),
            _ => {
                let query = self.nested_query(|parser| parser.query_after_with(with))?;
                Ok(Statement::Query(query))
            }
        }
    }

    /// `LOAD DATA`, `LOAD XML`, `LOAD INDEX INTO CACHE`
    fn load(&mut self) -> PResult<Statement> {
        self.bump();
        if self.at(Kw::INDEX) {
            self.load_index()
        } else {
            self.load_data()
        }
    }
}
