//! Prepared statements, of the protocol and by name, and cursors over their results.

use std::collections::HashMap;
use std::sync::Arc;

use parser::UserVariables;
use parser::ast::{self, Statement};
use types::{ErrorKind, SqlError, SqlResult, Value};

use super::parameters::Parameters;
use super::{Fetch, PreparedInfo, Session, drop_shared};
use crate::exec::Answer;
use crate::host::Host;
use crate::plan_cache::PlanText;
use crate::result::{BufferedRows, ResultEnd, ResultSink, ServerStatus};
use crate::statement_class::{Diagnostics, Prepared as MayBePrepared, Runner, class_of};

/// The protocol counts both in 16 bits.
const PARAMETERS_MAX: u32 = u16::MAX as u32;
const COLUMNS_MAX: usize = u16::MAX as usize;

/// The prepared statements of a session.
#[derive(Default)]
pub struct PreparedStatements {
    last_id: u32,
    by_id: HashMap<u32, Prepared>,
    by_name: HashMap<String, Prepared>,
}

#[derive(Clone)]
struct Prepared {
    statement: Arc<Statement>,
    text: PlanText,
    parameters: usize,
    user_variables: UserVariables,
    /// What the tree takes.
    bytes: u64,
    cursor: Option<Cursor>,
}

/// Rows that were computed and not fetched yet.
#[derive(Clone)]
struct Cursor {
    rows: Arc<BufferedRows>,
    next: usize,
}

impl Session {
    /// `COM_STMT_PREPARE`.
    pub fn prepare(&mut self, text: &[u8], host: &dyn Host) -> SqlResult<PreparedInfo> {
        self.begin_statement();
        let open = self.engine.prepared_count();
        if open >= self.engine.max_prepared() {
            return Err(self.remember(SqlError::new(
                ErrorKind::MaxPreparedStmtCountReached,
                &[&self.engine.max_prepared()],
            )));
        }
        let prepared = self.parse_prepared(&self.client_text(text))?;
        self.check_expiry(&prepared.statement)
            .map_err(|error| self.remember(error))?;
        self.state.user_variables_use.set(prepared.user_variables);
        let class = class_of(&prepared.statement);
        if class.diagnostics == Diagnostics::Cleared {
            self.warnings.clear();
        }
        let columns = match class.runner == Runner::Plan {
            // Without values for the parameters: the columns are known, the plan is made when the values' types are.
            true => match self.plan_for(&prepared.statement, None, Parameters::NONE, host) {
                Ok(plan) => plan.shape().cloned(),
                Err(error) => return Err(self.remember(error)),
            },
            false => self.shape_of(&prepared.statement, host)?,
        };
        if columns.as_ref().is_some_and(|shape| shape.columns.len() > COLUMNS_MAX) {
            return Err(self.remember(ErrorKind::TooManyFields.into()));
        }
        self.prepared.last_id = self.prepared.last_id.wrapping_add(1).max(1);
        let id = self.prepared.last_id;
        let parameters = prepared.parameters;
        self.prepared.by_id.insert(id, prepared);
        self.engine.count_prepared(1);
        Ok(PreparedInfo {
            id,
            parameters,
            columns,
            warnings: self.warning_count(),
        })
    }

    fn parse_prepared(&mut self, text: &[u8]) -> SqlResult<Prepared> {
        let (parsed, bytes) = governor::measured(|| self.parse(text));
        let parsed = parsed?;
        if !parsed.last {
            return Err(self.remember(crate::errors::syntax_error_at(text, parsed.consumed)));
        }
        if class_of(&parsed.statement).prepared == MayBePrepared::Refused {
            return Err(self.remember(ErrorKind::UnsupportedPs.into()));
        }
        if parsed.params > PARAMETERS_MAX {
            return Err(self.remember(ErrorKind::PsManyParam.into()));
        }
        Ok(Prepared {
            statement: Arc::new(parsed.statement),
            text: PlanText::new(text, self.client_charset()),
            parameters: parsed.params as usize,
            user_variables: parsed.user_variables,
            bytes,
            cursor: None,
        })
    }

    /// How many parameters a prepared statement has; 1243 for an unknown one.
    pub fn parameter_count(&self, id: u32) -> SqlResult<usize> {
        self.prepared
            .by_id
            .get(&id)
            .map(|prepared| prepared.parameters)
            .ok_or_else(|| unknown(&id, "EXECUTE"))
    }

    /// `COM_STMT_EXECUTE`, with a value per parameter.
    pub fn execute(
        &mut self,
        id: u32,
        parameters: &[Value],
        fetch: Fetch,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.begin_statement();
        let prepared = self
            .prepared
            .by_id
            .get_mut(&id)
            .ok_or_else(|| unknown(&id, "mysqld_stmt_execute"))?;
        prepared.cursor = None;
        if parameters.len() != prepared.parameters {
            return Err(SqlError::new(ErrorKind::WrongArguments, &[&"mysqld_stmt_execute"]));
        }
        let (statement, text) = (prepared.statement.clone(), prepared.text.clone());
        self.state.user_variables_use.set(prepared.user_variables);
        self.run_and_tell("Execute", (&statement, text.bytes()), sink, |session, sink| {
            session.execute_known(id, (&statement, &text), parameters, fetch, host, sink)
        })
    }

    fn execute_known(
        &mut self,
        id: u32,
        (statement, text): (&Arc<Statement>, &PlanText),
        parameters: &[Value],
        fetch: Fetch,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let query = match &**statement {
            Statement::Query(query) if fetch == Fetch::Cursor => query,
            _ => return self.run_planned(statement, text, parameters.into(), host, sink),
        };
        if query.into.is_some() {
            return Err(self.remember(ErrorKind::SpBadCursorSelect.into()));
        }
        let mut rows = BufferedRows::default();
        self.run_planned(statement, text, parameters.into(), host, &mut rows)?;
        let status = self.status().with(ServerStatus::CURSOR_EXISTS);
        if let Some(shape) = rows.shape() {
            sink.columns(&shape.clone(), status)?;
        }
        if let Some(prepared) = self.prepared.by_id.get_mut(&id) {
            prepared.cursor = Some(Cursor {
                rows: Arc::new(rows),
                next: 0,
            });
        }
        sink.end(ResultEnd {
            warnings: self.warning_count(),
            status,
        })
    }

    /// `COM_STMT_FETCH`: the next rows of a cursor; ends with [`ServerStatus::LAST_ROW_SENT`] after the last one.
    pub fn fetch(&mut self, id: u32, rows: usize, host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.begin_statement();
        let status = self.status();
        let prepared = self
            .prepared
            .by_id
            .get_mut(&id)
            .ok_or_else(|| unknown(&id, "mysqld_stmt_fetch"))?;
        let cursor = prepared
            .cursor
            .as_mut()
            .ok_or_else(|| SqlError::new(ErrorKind::StmtHasNoOpenCursor, &[&id]))?;
        let end = (cursor.next + rows).min(cursor.rows.len());
        while cursor.next < end {
            governor::tick()?;
            if sink.is_full() {
                sink.flush(host)?;
            }
            sink.row(cursor.rows.row(cursor.next))?;
            cursor.next += 1;
        }
        let status = match cursor.next == cursor.rows.len() {
            true => {
                prepared.cursor = None;
                status.with(ServerStatus::LAST_ROW_SENT)
            }
            false => status.with(ServerStatus::CURSOR_EXISTS),
        };
        sink.end(ResultEnd { warnings: 0, status })
    }

    /// `COM_STMT_RESET`: closes the cursor; 1243 where there is no such statement.
    pub fn reset_statement(&mut self, id: u32) -> SqlResult<()> {
        self.prepared
            .by_id
            .get_mut(&id)
            .ok_or_else(|| unknown(&id, "mysqld_stmt_reset"))?
            .cursor = None;
        Ok(())
    }

    /// `COM_STMT_CLOSE`. Unknown ids are ignored: the command has no answer.
    pub fn close_statement(&mut self, id: u32) {
        if let Some(prepared) = self.prepared.by_id.remove(&id) {
            drop_shared(prepared.statement, prepared.bytes);
            self.engine.count_prepared(-1);
        }
    }

    /// Forgets all prepared statements.
    pub(crate) fn close_all_statements(&mut self) {
        self.engine.count_prepared(-(self.prepared.by_id.len() as i64));
        let closed = PreparedStatements {
            last_id: self.prepared.last_id,
            ..PreparedStatements::default()
        };
        let closed = std::mem::replace(&mut self.prepared, closed);
        let bytes = closed.by_id.values().map(|prepared| prepared.bytes).sum();
        governor::large::drop_aside(closed, bytes);
    }

    /// `PREPARE name FROM …`
    pub(crate) fn prepare_named(&mut self, prepare: &ast::Prepare, host: &dyn Host) -> SqlResult<()> {
        let text = match &prepare.source {
            ast::PrepareSource::Text(text) => text.to_vec(),
            ast::PrepareSource::UserVar(name) => {
                match self.evaluate(&ast::Expr::UserVar(name.clone()), Parameters::NONE, host)? {
                    Value::Bytes(bytes) => bytes.to_vec(),
                    value => value.to_string().into_bytes(),
                }
            }
        };
        self.prepared.by_name.remove(&prepare.name.to_lowercase());
        // The text goes through the connection's character set, and is read as the client's all the same.
        let text = match std::str::from_utf8(&text) {
            Ok(text) => {
                let connection = self.variables.settings.expressions.collation.charset();
                let text = connection.encode(text);
                self.client_text(&text).into_owned()
            }
            Err(_) => text,
        };
        let prepared = self.parse_prepared(&text)?;
        if class_of(&prepared.statement).runner == Runner::Plan {
            self.plan_for(&prepared.statement, None, Parameters::NONE, host)?;
        }
        self.prepared.by_name.insert(prepare.name.to_lowercase(), prepared);
        Ok(())
    }

    /// `EXECUTE name USING …`
    pub(crate) fn execute_named(
        &mut self,
        execute: &ast::Execute,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let name = execute.name.to_lowercase();
        let prepared = self
            .prepared
            .by_name
            .get(&name)
            .cloned()
            .ok_or_else(|| unknown(&&*execute.name, "EXECUTE"))?;
        if execute.using.len() != prepared.parameters {
            return Err(SqlError::new(ErrorKind::WrongArguments, &[&"EXECUTE"]));
        }
        let mut parameters = Vec::with_capacity(execute.using.len());
        for name in &execute.using {
            parameters.push(self.evaluate(&ast::Expr::UserVar(name.clone()), Parameters::NONE, host)?);
        }
        self.state.user_variables_use.set(prepared.user_variables);
        let parameters = Parameters::from(&parameters[..]);
        if class_of(&prepared.statement).runner == Runner::Plan {
            self.query_or_change(&prepared.statement, Some(&prepared.text), parameters, more, host, sink)
        } else {
            self.programs.using = Some(execute.using.clone());
            let outcome = self.dispatch(&prepared.statement, parameters, more, host, sink);
            self.programs.using = None;
            outcome
        }
    }

    /// `DEALLOCATE PREPARE name`
    pub(crate) fn deallocate(&mut self, name: &str) -> SqlResult<()> {
        match self.prepared.by_name.remove(&name.to_lowercase()) {
            Some(_) => Ok(()),
            None => Err(unknown(&name, "DEALLOCATE PREPARE")),
        }
    }
}

fn unknown(name: &dyn std::fmt::Display, command: &str) -> SqlError {
    SqlError::new(ErrorKind::UnknownStmtHandler, &[name, &command])
}
