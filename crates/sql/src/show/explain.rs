//! EXPLAIN.

use parser::ast;
use types::{SqlError, SqlResult, Value};

use crate::host::Host;
use crate::result::{ResultSink, ServerStatus};
use crate::session::{Answer, Session};

impl Session {
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
}
