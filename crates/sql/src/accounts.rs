//! Accounts and privileges.

use parser::ast::{self, Statement};
use types::{SqlError, SqlResult};

use crate::host::Host;
use crate::result::{ResultSink, ServerStatus};
use crate::session::{Answer, Session};

impl Session {
    /// Statements about accounts; false for others.
    pub(crate) fn account_statement(&mut self, _statement: &Statement, _host: &dyn Host) -> SqlResult<bool> {
        Ok(false)
    }

    pub(crate) fn show_grants(
        &mut self,
        _account: Option<&ast::Account>,
        _status: ServerStatus,
        _sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        Err(SqlError::not_supported("SHOW GRANTS"))
    }

    pub(crate) fn show_create_user(
        &mut self,
        _account: &ast::Account,
        _status: ServerStatus,
        _sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        Err(SqlError::not_supported("SHOW CREATE USER"))
    }
}
