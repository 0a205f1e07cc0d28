//! EXPLAIN FOR CONNECTION: the plan of what another session of the node runs.
//!
//! That session keeps no plan that another could look at while it runs. Its statement is planned anew, by this session, in the database
//! of that one.

use std::sync::Arc;

use parser::ast::Statement;
use types::{ErrorKind, SqlError, SqlResult};

use crate::host::Host;
use crate::plan::Planned;
use crate::processes::{Process, STATEMENT_TEXT_MAX};
use crate::session::Session;
use crate::session::kill::silent;
use crate::session::parameters::Parameters;
use crate::waiting::wait_for;

impl Session {
    /// `None` while the connection runs nothing. 1094 for an unknown one, 1045 for another user's without PROCESS.
    pub(super) fn plan_of_connection(&mut self, id: u64, host: &dyn Host) -> SqlResult<Option<Arc<Planned>>> {
        let process = self.process(id, host)?;
        // As in MySQL, anybody may ask whether it runs something.
        let Some(text) = process.statement else { return Ok(None) };
        if !self.access().sees_session_of(&process.user) {
            return Err(self.access().denied());
        }
        let statement = running(self.parse(text.as_bytes()), &text)?;
        let own_database = std::mem::replace(&mut self.database, process.database.map(Arc::from));
        let plan = self.plan_to_explain(&Arc::new(statement), Parameters::NONE, host);
        self.database = own_database;
        plan.map(Some)
    }

    fn process(&mut self, id: u64, host: &dyn Host) -> SqlResult<Process> {
        let here = self.engine.processes().map_or_else(Vec::new, |here| here.list());
        if let Some(process) = here.into_iter().find(|process| u64::from(process.id) == id) {
            return Ok(process);
        }
        let unknown = SqlError::new(ErrorKind::NoSuchThread, &[&id]);
        let (Some(nodes), Ok(number)) = (self.engine.other_nodes(), u32::try_from(id)) else {
            return Err(unknown);
        };
        let user = wait_for(nodes.user_of(number), host)?.map_err(silent)?.ok_or(unknown)?;
        match self.access().sees_session_of(&user) {
            true => Err(SqlError::not_supported(
                "EXPLAIN FOR CONNECTION of another node's session",
            )),
            false => Err(self.access().denied()),
        }
    }
}

/// The statement of a text that the process list shows; 3012 for one that has no plan.
fn running(parsed: SqlResult<parser::Parsed>, text: &str) -> SqlResult<Statement> {
    // A character that was cut is longer than what is left of it.
    if text.len() + 1 >= STATEMENT_TEXT_MAX {
        return Err(SqlError::not_supported("EXPLAIN FOR CONNECTION of so long a statement"));
    }
    let parsed = parsed.map_err(|_| SqlError::from(ErrorKind::ExplainNotSupported))?;
    if !parsed.last {
        return Err(SqlError::not_supported(
            "EXPLAIN FOR CONNECTION of several statements in one text",
        ));
    }
    let (Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)) = parsed.statement
    else {
        return Err(ErrorKind::ExplainNotSupported.into());
    };
    if parsed.params > 0 {
        return Err(SqlError::not_supported(
            "EXPLAIN FOR CONNECTION of a statement with parameters",
        ));
    }
    Ok(parsed.statement)
}
