//! SHOW, DESCRIBE, EXPLAIN, and the statements of administration.

use std::sync::Arc;

use parser::ast::{self, Statement};
use types::{SqlError, SqlResult, Value};

use crate::host::Host;
use crate::result::{ResultShape, ResultSink, ServerStatus};
use crate::session::{Answer, Session};

/// The columns of a statement that is no query, for COM_STMT_PREPARE; none for one without a result set.
pub fn shape_of(_statement: &Statement) -> Option<Arc<ResultShape>> {
    None
}

impl Session {
    pub(crate) fn show(
        &mut self,
        _show: &ast::Show,
        _status: ServerStatus,
        _host: &dyn Host,
        _sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        Err(SqlError::not_supported("SHOW"))
    }

    pub(crate) fn describe(
        &mut self,
        _describe: &ast::Describe,
        _status: ServerStatus,
        _host: &dyn Host,
        _sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        Err(SqlError::not_supported("DESCRIBE"))
    }

    pub(crate) fn explain(
        &mut self,
        _explain: &ast::Explain,
        _parameters: &[Value],
        _status: ServerStatus,
        _host: &dyn Host,
        _sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        Err(SqlError::not_supported("EXPLAIN"))
    }

    /// Everything that has no module of its own: changes of the schema, accounts, maintenance.
    pub(crate) fn administer(
        &mut self,
        statement: &Statement,
        _status: ServerStatus,
        host: &dyn Host,
        _sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        if let Some(rows) = self.data_definition(statement, host)? {
            return Ok(Answer::affected(rows));
        }
        Err(SqlError::not_supported(crate::refuse::name_of(statement)))
    }
}
