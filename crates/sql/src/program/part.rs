//! What runs as a part of a statement: stored functions that its expressions call, and triggers of the rows that it changes.
//!
//! The statement opens a session of its own for them ([`Session::part_of_statement`]), when it needs it. The part shares the statement's
//! transaction, and so what it sees and what its failure undoes, and the session's user variables and locks. What runs in it
//! neither begins nor ends anything, sends no rows, and may not change a table that the statements around it use (1442).

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use catalog::{TriggerEvent, TriggerTiming};
use parser::ast::Statement;
use transaction::Transaction;
use types::{ErrorKind, RowLayout, SqlError, SqlResult, Value, Warnings};

use super::function::Function;
use crate::exec::runtime::{StoredPrograms, TriggerRows};
use crate::expr::context::UserVariable;
use crate::expr::{EvalContext, Subquery};
use crate::host::Host;
use crate::plan::Planned;
use crate::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};
use crate::session::Session;
use crate::statement_class::{InPrograms, in_programs};
use crate::table::Table;

/// The programs that one statement has run.
pub struct ProgramsOfStatement<'a> {
    session: &'a Session,
    host: &'a dyn Host,
    planned: &'a Planned,
    transaction: &'a RefCell<Transaction>,
    /// The session that they run in, made for the first; taken while one runs.
    part: RefCell<Option<Box<Session>>>,
    /// The user variables before the first, where the statement may run again.
    before: RefCell<Option<HashMap<String, UserVariable>>>,
}

impl<'a> ProgramsOfStatement<'a> {
    pub fn new(
        session: &'a Session,
        planned: &'a Planned,
        transaction: &'a RefCell<Transaction>,
        host: &'a dyn Host,
    ) -> ProgramsOfStatement<'a> {
        ProgramsOfStatement {
            session,
            host,
            planned,
            transaction,
            part: RefCell::default(),
            before: RefCell::default(),
        }
    }

    /// The statement runs again: what programs have assigned is taken back.
    pub fn undo(&self) {
        if let Some(before) = self.before.borrow_mut().take() {
            self.session.state.set_user_variables(before);
        }
    }

    /// The session that they ran in, if they have changed something of it that stays.
    pub fn into_changed(self) -> Option<Box<Session>> {
        self.part.into_inner().filter(|part| part.programs.has_set || part.ends)
    }

    /// Does `work` in the part; its warnings are the statement's.
    fn with_part<R>(
        &self,
        ctx: &EvalContext<'_>,
        work: impl FnOnce(&mut Session, &dyn Host) -> SqlResult<R>,
    ) -> SqlResult<R> {
        governor::descend()?;
        let known = self.part.borrow_mut().take();
        let mut part = match known {
            Some(part) => part,
            None => self.new_part(),
        };
        let counters = Counters::of(&part);
        let result = work(&mut part, self.host);
        counters.restore(&part);
        let none = part.no_warnings();
        let warnings = std::mem::replace(&mut part.warnings, none);
        if result.is_ok() && !warnings.is_empty() {
            ctx.with_warnings(|known| known.append(warnings));
        }
        *self.part.borrow_mut() = Some(part);
        result
    }

    fn new_part(&self) -> Box<Session> {
        let mut part = Box::new(self.session.part_of_statement());
        let used = self.planned.uses.tables.iter().chain(self.planned.changed_tables());
        let used = used.map(|table| (table.id(), table.def.name.clone()));
        part.programs.used.extend(used);
        if self.transaction.borrow().is_settling() && self.before.borrow().is_none() {
            *self.before.borrow_mut() = Some(self.session.state.user_variables());
        }
        part
    }
}

impl StoredPrograms for ProgramsOfStatement<'_> {
    fn call(&self, function: &dyn Subquery, args: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
        let function: &Function = function
            .as_any()
            .downcast_ref()
            .ok_or_else(|| SqlError::internal("a subquery that is called as a function"))?;
        self.with_part(ctx, |part, host| part.call_function(function, args, host))
    }

    fn fire(
        &self,
        table: &Table,
        timing: TriggerTiming,
        event: TriggerEvent,
        rows: &mut TriggerRows<'_>,
        ctx: &EvalContext<'_>,
    ) -> SqlResult<()> {
        self.with_part(ctx, |part, host| {
            let fired = part.fire_triggers(&table.def, timing, event, rows, host);
            // Nobody is told of the warnings of its statements.
            part.warnings = part.no_warnings();
            fired
        })
    }
}

/// What programs leave as it was for the statement that they are a part of.
struct Counters {
    last_insert_id: u64,
    explicit_insert_id: Option<u64>,
    automatic_insert_id: Option<u64>,
    row_count: i64,
    found_rows: u64,
    user_variables: parser::UserVariables,
}

impl Counters {
    fn of(session: &Session) -> Counters {
        let state = &session.state;
        Counters {
            last_insert_id: state.last_insert_id.get(),
            explicit_insert_id: state.explicit_insert_id.get(),
            automatic_insert_id: state.automatic_insert_id.get(),
            row_count: state.row_count.get(),
            found_rows: state.found_rows.get(),
            user_variables: state.user_variables_use.get(),
        }
    }

    fn restore(self, session: &Session) {
        let state = &session.state;
        state.last_insert_id.set(self.last_insert_id);
        state.explicit_insert_id.set(self.explicit_insert_id);
        state.automatic_insert_id.set(self.automatic_insert_id);
        state.row_count.set(self.row_count);
        state.found_rows.set(self.found_rows);
        state.user_variables_use.set(self.user_variables);
    }
}

impl Session {
    /// In a part of a statement, the errors for what would end its transaction, or send rows: 1422, 1336, 1415. A procedure that is called there
    /// was not asked when it was made.
    pub(crate) fn check_in_part(&self, statement: &Statement) -> SqlResult<()> {
        if !self.transaction.is_part() {
            return Ok(());
        }
        let makes_table = match statement {
            Statement::CreateTable(create) => create.temporary,
            Statement::DropTable(drop) => drop.temporary,
            _ => false,
        };
        if makes_table {
            return Err(SqlError::not_supported(
                "CREATE or DROP TEMPORARY TABLE in a function or trigger",
            ));
        }
        match in_programs(statement) {
            InPrograms::ReturnsRows => Err(SqlError::new(ErrorKind::SpNoRetset, &[&"function"])),
            InPrograms::Commits | InPrograms::Creates(_) | InPrograms::Changes(_) => {
                Err(ErrorKind::CommitNotAllowedInSfOrTrg.into())
            }
            InPrograms::NotInStatements(name) => Err(SqlError::new(ErrorKind::StmtNotAllowedInSfOrTrg, &[&name])),
            InPrograms::Allowed | InPrograms::Refused(_) => Ok(()),
        }
    }

    /// An empty list for the next statement.
    fn no_warnings(&self) -> Warnings {
        Warnings::with_limit(self.variables.settings.expressions.max_error_count)
    }
}

/// Nothing that runs as a part of a statement may send rows: 1415, said of a program of this kind.
pub struct NoRows(pub &'static str);

impl NoRows {
    fn refused(&self) -> SqlError {
        SqlError::new(ErrorKind::SpNoRetset, &[&self.0])
    }
}

impl ResultSink for NoRows {
    fn columns(&mut self, _shape: &Arc<ResultShape>, _status: ServerStatus) -> SqlResult<()> {
        Err(self.refused())
    }

    fn row(&mut self, _values: &[Value]) -> SqlResult<()> {
        Err(self.refused())
    }

    fn stored_row(&mut self, _layout: &RowLayout, _row: &[u8], _projection: &[usize]) -> SqlResult<()> {
        Err(self.refused())
    }

    fn end(&mut self, _end: ResultEnd) -> SqlResult<()> {
        Ok(())
    }

    fn ok(&mut self, _done: Done) -> SqlResult<()> {
        Ok(())
    }
}
