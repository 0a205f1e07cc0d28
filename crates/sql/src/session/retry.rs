//! What a statement leaves beside its transaction, for one that may run again.
//!
//! A statement that locks rows runs again when its locks turn out to be newer than its snapshot (`transaction::settle`), and is planned again
//! when a definition has changed before its lock came. Nobody may notice: rows are not sent before it has settled, and variables that it has assigned get their old values back.

use std::collections::HashMap;
use std::sync::Arc;

use parser::UserVariables;
use types::{RowLayout, SqlError, SqlResult, Value};

use super::services::SessionState;
use crate::exec::Runtime;
use crate::exec::query::row_bytes;
use crate::exec::runtime::QueryMemory;
use crate::expr::context::UserVariable;
use crate::host::Host;
use crate::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};

/// How things stood before the statement.
pub struct RetryPoint {
    user_variables: Option<HashMap<String, UserVariable>>,
    insert_id: Option<u64>,
}

impl RetryPoint {
    pub fn new(state: &SessionState, runtime: &Runtime<'_>) -> RetryPoint {
        let assigns = state.user_variables_use.get() == UserVariables::Assigned;
        RetryPoint {
            user_variables: assigns.then(|| state.user_variables()),
            insert_id: runtime.insert_id.get(),
        }
    }

    pub fn restore(&self, state: &SessionState, runtime: &Runtime<'_>) {
        if let Some(variables) = &self.user_variables {
            state.set_user_variables(variables.clone());
        }
        state.explicit_insert_id.set(None);
        runtime.insert_id.set(self.insert_id);
        runtime.forget_kept();
    }
}

/// A result set that is sent when it is certain.
pub struct HeldRows {
    head: Option<(Arc<ResultShape>, ServerStatus)>,
    rows: Vec<Box<[Value]>>,
    memory: QueryMemory,
}

impl HeldRows {
    pub fn new(memory: QueryMemory) -> HeldRows {
        HeldRows {
            head: None,
            rows: Vec::new(),
            memory,
        }
    }

    pub fn send(self, sink: &mut dyn ResultSink, host: &dyn Host) -> SqlResult<()> {
        let Some((shape, status)) = self.head else {
            return Ok(());
        };
        sink.columns(&shape, status)?;
        for row in self.rows {
            sink.row(&row)?;
            if sink.is_full() {
                sink.flush(host)?;
            }
        }
        Ok(())
    }

    fn hold(&mut self, row: Box<[Value]>) -> SqlResult<()> {
        self.memory.grow(row_bytes(&row))?;
        self.rows.push(row);
        Ok(())
    }
}

impl ResultSink for HeldRows {
    fn columns(&mut self, shape: &Arc<ResultShape>, status: ServerStatus) -> SqlResult<()> {
        self.head = Some((shape.clone(), status));
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> SqlResult<()> {
        self.hold(values.into())
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> SqlResult<()> {
        let value = |&column: &usize| layout.column(row, column).to_value();
        self.hold(projection.iter().map(value).collect())
    }

    fn end(&mut self, _end: ResultEnd) -> SqlResult<()> {
        Err(SqlError::internal("the end of a result set is not held back"))
    }

    fn ok(&mut self, _done: Done) -> SqlResult<()> {
        Err(SqlError::internal("an answer without rows is not held back"))
    }
}
