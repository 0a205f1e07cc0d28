//! Runs a compiled program: one operation after another, conditions and their handlers between them.

use std::sync::Arc;

use parser::ast::{self, IntoVar, Local, Statement};
use types::cast::{self, Target};
use types::{ErrorKind, RowLayout, Severity, SqlError, SqlResult, SqlType, UnixTime, Value, Warning};

use super::code::{Bound, ExprCode, Frame, OpKind, Program, SqlCode};
use super::conditions::{self, Handled};
use crate::expr::context::UserVariable;
use crate::expr::convert::to_bool;
use crate::expr::{BindOptions, Binder, NoColumns, StatementContext};
use crate::host::Host;
use crate::result::{BufferedRows, Done, ResultEnd, ResultShape, ResultSink, ServerStatus};
use crate::session::Session;
use crate::session::parameters::Parameters;
use crate::statement_class::{Runner, class_of};

/// One run of a program.
pub(super) struct Run<'a> {
    pub program: &'a Program,
    pub frame: Frame,
    /// Of a trigger: which slots have been assigned.
    pub assigned: Vec<bool>,
    at: usize,
    cursors: Vec<Option<OpenCursor>>,
    /// Where each handler that is at work goes on.
    returns: Vec<usize>,
}

/// Rows of a cursor's query, as they were when it was opened.
struct OpenCursor {
    rows: BufferedRows,
    next: usize,
}

/// How an operation ended.
enum Next {
    At(usize),
    End(Option<Value>),
}

impl<'a> Run<'a> {
    pub fn new(program: &'a Program) -> Run<'a> {
        Run {
            program,
            frame: Frame {
                values: vec![Value::Null; program.slots.len()],
                types: program.types.clone(),
            },
            assigned: match program.rows.is_empty() {
                true => Vec::new(),
                false => vec![false; program.slots.len()],
            },
            at: 0,
            cursors: program.cursors.iter().map(|_| None).collect(),
            returns: Vec::new(),
        }
    }

    fn parameters(&self) -> Parameters<'_> {
        Parameters::declared(&self.frame.values, &self.frame.types)
    }

    fn name_of(&self, local: &Local) -> &'a str {
        &self.program.slots[local.slot as usize].name
    }
}

/// Whether the conditions raised before are forgotten: it is a statement to MySQL, as a declaration and a condition are. Statements of SQL
/// see to it themselves.
fn begins_area(kind: &OpKind) -> bool {
    match kind {
        OpKind::Set { .. } | OpKind::Clear(_) | OpKind::SetOperand { .. } | OpKind::Unless { .. } => true,
        OpKind::Jump(_)
        | OpKind::Sql(_)
        | OpKind::CaseNotFound
        | OpKind::Open(_)
        | OpKind::Fetch { .. }
        | OpKind::Close(_)
        | OpKind::CloseAll(_)
        | OpKind::HandlerEnd { .. }
        | OpKind::Return(_)
        | OpKind::End => false,
    }
}

impl Session {
    /// Runs a program from its start to its end; a function's gives its value.
    pub(super) fn run_program(
        &mut self,
        run: &mut Run<'_>,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Option<Value>> {
        let base = self.programs.handled.len();
        let around = std::mem::replace(&mut self.programs.handled_around, base);
        let outcome = self.run_ops(run, base, host, sink);
        self.programs.handled.truncate(base);
        self.programs.handled_around = around;
        outcome
    }

    fn run_ops(
        &mut self,
        run: &mut Run<'_>,
        base: usize,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Option<Value>> {
        loop {
            governor::tick()?;
            let (epoch, before) = (self.programs.epoch, self.warnings.iter().len());
            let at = run.at;
            let outcome = self.run_op(run, base, host, sink);
            let raised_from = match self.programs.epoch == epoch {
                true => before,
                false => 0,
            };
            let condition = match &outcome {
                Err(error) if conditions::ends_everything(error) => return Err(error.clone()),
                // The transaction is the statement's, which is to end it.
                Err(error) if self.transaction.is_part() && error.kind() == ErrorKind::LockDeadlock => {
                    return Err(error.clone());
                }
                Err(error) => {
                    self.note_error(error);
                    Some(Warning {
                        severity: Severity::Error,
                        error: error.clone(),
                    })
                }
                Ok(_) => self.last_handled(run.program, at, raised_from),
            };
            let Some(condition) = condition else {
                match outcome? {
                    Next::At(to) => run.at = to,
                    Next::End(value) => return Ok(value),
                }
                continue;
            };
            let op = &run.program.ops[at];
            match conditions::handler_for(run.program, op.scope, &condition) {
                Some(handler) => {
                    // A warning has not kept the operation from its end.
                    let resume = match outcome {
                        Ok(Next::At(to)) => to,
                        Ok(Next::End(value)) => return Ok(value),
                        Err(_) => op.resume,
                    };
                    self.programs.handled.push(Handled {
                        condition,
                        area: self.warnings.clone(),
                        epoch: self.programs.epoch,
                    });
                    run.returns.push(resume);
                    run.at = handler.body;
                }
                None => match outcome? {
                    Next::At(to) => run.at = to,
                    Next::End(value) => return Ok(value),
                },
            }
        }
    }

    /// The last condition that an operation has raised and a handler waits for. What GET DIAGNOSTICS does not find is told, and not raised.
    fn last_handled(&self, program: &Program, at: usize, raised_from: usize) -> Option<Warning> {
        if matches!(&program.ops[at].kind, OpKind::Sql(code) if matches!(*code.statement, Statement::GetDiagnostics(_)))
        {
            return None;
        }
        let scope = program.ops[at].scope;
        let mut raised = self.warnings.iter().skip(raised_from);
        raised
            .rfind(|warning| conditions::handler_for(program, scope, warning).is_some())
            .cloned()
    }

    fn run_op(
        &mut self,
        run: &mut Run<'_>,
        base: usize,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Next> {
        let program = run.program;
        let next = run.at + 1;
        let kind = &program.ops[run.at].kind;
        if begins_area(kind) {
            self.warnings.clear();
            self.programs.epoch += 1;
        }
        match kind {
            OpKind::Jump(to) => return Ok(Next::At(*to)),
            OpKind::Set { target, value } => {
                let value = self.value_of(value, run, host);
                // What has failed leaves NULL.
                run.frame.values[target.slot as usize] = Value::Null;
                self.assign_local(run, target, value?)?;
            }
            OpKind::Clear(slot) => run.frame.values[*slot as usize] = Value::Null,
            OpKind::SetOperand { slot, value } => {
                let (value, ty) = self.typed_value_of(value, run, host)?;
                let slot = *slot as usize;
                run.frame.values[slot] = value;
                Arc::make_mut(&mut run.frame.types)[slot] = ty;
            }
            OpKind::Unless { condition, to } => {
                if !self.is_true(condition, run, host)? {
                    return Ok(Next::At(*to));
                }
            }
            OpKind::Sql(code) => self.run_sql(code, run, host, sink)?,
            OpKind::CaseNotFound => return Err(ErrorKind::SpCaseNotFound.into()),
            OpKind::Open(cursor) => self.open_cursor(*cursor as usize, run, host)?,
            OpKind::Fetch { cursor, into } => self.fetch_cursor(*cursor as usize, into, run)?,
            OpKind::Close(cursor) => {
                let open = run.cursors[*cursor as usize].take();
                open.ok_or(ErrorKind::SpCursorNotOpen)?;
            }
            OpKind::CloseAll(cursors) => {
                for cursor in cursors {
                    run.cursors[*cursor as usize] = None;
                }
            }
            OpKind::HandlerEnd { exit } => {
                if let Some(handled) = self.programs.handled.pop()
                    && handled.epoch == self.programs.epoch
                {
                    self.warnings.forget_first(handled.area.iter().len());
                }
                let resume = run.returns.pop().unwrap_or(next);
                let to = exit.unwrap_or(resume);
                // Those that it was called from inside of are over, too, where it leaves them.
                let depth = program.ops[to].handlers;
                run.returns.truncate(depth);
                self.programs.handled.truncate(base + depth);
                return Ok(Next::At(to));
            }
            OpKind::Return(value) => {
                let value = self.value_of(value, run, host)?;
                return Ok(Next::End(Some(value)));
            }
            OpKind::End => return Ok(Next::End(None)),
        }
        Ok(Next::At(next))
    }

    /// An error that no statement has noted.
    pub(crate) fn note_error(&mut self, error: &SqlError) {
        let mut known = self.warnings.iter();
        let is_noted = known.any(|known| known.severity == Severity::Error && known.error == *error);
        if !is_noted {
            self.warnings.push(Severity::Error, error.clone());
        }
    }

    // ---- expressions ----

    /// Does `work` with the bound expression, which is kept where it means the same the next time.
    fn with_bound<R>(
        &mut self,
        code: &ExprCode,
        run: &Run<'_>,
        host: &dyn Host,
        work: impl FnOnce(&Bound, &StatementContext<'_>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        self.state.user_variables_use.set(code.user_variables);
        let increment = self.variables.settings.expressions.div_precision_increment;
        let now = match code.bound.get() {
            // It does not ask.
            Some(bound) if bound.is_quick => UnixTime { micros: 0, fsp: 6 },
            _ => self.statement_time(),
        };
        let strictness = conditions::strictness(&self.variables.settings);
        let services = self.services(host);
        let ctx = StatementContext::new(&self.variables.settings.expressions, &services, now)
            .with_params(&run.frame.values)
            .with_strictness(strictness);
        let known = code
            .bound
            .get()
            .filter(|bound| bound.div_precision_increment == increment);
        let result = match known {
            Some(bound) => work(bound, &ctx),
            None => {
                let options = BindOptions {
                    params: &run.frame.types,
                };
                let bound = Binder::new(&mut NoColumns, ctx.eval(), options).bind(&code.tree);
                bound.and_then(|expr| {
                    let bound = Bound {
                        div_precision_increment: increment,
                        is_quick: code.is_fixed && expr.is_of_parameters(),
                        expr,
                    };
                    match code.is_fixed {
                        true => work(code.bound.get_or_init(|| bound), &ctx),
                        false => work(&bound, &ctx),
                    }
                })
            }
        };
        let warnings = ctx.take_warnings();
        drop(ctx);
        if !warnings.is_empty() {
            self.warnings.append(warnings);
        }
        result
    }

    fn value_of(&mut self, code: &ExprCode, run: &Run<'_>, host: &dyn Host) -> SqlResult<Value> {
        match code.is_query {
            true => self.queried(code, run, host).map(|(value, _)| value),
            false => self.with_bound(code, run, host, |bound, ctx| bound.expr.eval(&[], &ctx.eval())),
        }
    }

    fn typed_value_of(&mut self, code: &ExprCode, run: &Run<'_>, host: &dyn Host) -> SqlResult<(Value, SqlType)> {
        match code.is_query {
            true => self.queried(code, run, host),
            false => self.with_bound(code, run, host, |bound, ctx| {
                Ok((bound.expr.eval(&[], &ctx.eval())?, bound.expr.ty.clone()))
            }),
        }
    }

    fn is_true(&mut self, code: &ExprCode, run: &Run<'_>, host: &dyn Host) -> SqlResult<bool> {
        match code.is_query {
            true => {
                let (value, _) = self.queried(code, run, host)?;
                self.with_context(host, Parameters::NONE, |_, ctx| {
                    Ok(!value.is_null() && to_bool(&value, &ctx.eval())?)
                })
            }
            false => self.with_bound(code, run, host, |bound, ctx| {
                Ok(bound.expr.eval_bool(&[], &ctx.eval())? == Some(true))
            }),
        }
    }

    /// The value of an expression that is run as a query.
    fn queried(&mut self, code: &ExprCode, run: &Run<'_>, host: &dyn Host) -> SqlResult<(Value, SqlType)> {
        let Some((statement, text)) = &code.query else {
            return Err(SqlError::internal("an expression that is no query"));
        };
        self.state.user_variables_use.set(code.user_variables);
        let mut rows = BufferedRows::default();
        let parameters = run.parameters();
        self.without_client_limit(|session| {
            session.query_or_change(
                statement,
                Some(text),
                parameters,
                ServerStatus::default(),
                host,
                &mut rows,
            )
        })?;
        let ty = rows
            .shape()
            .map_or_else(SqlType::null, |shape| shape.columns[0].ty.clone());
        let value = match rows.is_empty() {
            true => Value::Null,
            false => rows.row(0)[0].clone(),
        };
        Ok((value, ty))
    }

    /// Converts a value to a variable's type, as a column's would be.
    fn assign_local(&mut self, run: &mut Run<'_>, target: &Local, value: Value) -> SqlResult<()> {
        let slot = target.slot as usize;
        run.frame.values[slot] = Value::Null;
        let value = self.converted(value, &run.frame.types[slot], run.name_of(target))?;
        run.frame.values[slot] = value;
        if let Some(assigned) = run.assigned.get_mut(slot) {
            *assigned = true;
        }
        Ok(())
    }

    pub(super) fn converted(&mut self, value: Value, ty: &SqlType, name: &str) -> SqlResult<Value> {
        if value.is_null() {
            return Ok(value);
        }
        let now = self.statement_time();
        let settings = &self.variables.settings.expressions;
        let mut context = cast::Context {
            mode: settings.sql_mode.for_casts(),
            zone: &settings.time_zone,
            now,
            warnings: &mut self.warnings,
        };
        cast::assign(value, ty, Target { column: name, row: 1 }, &mut context)
    }

    // ---- statements ----

    fn run_sql(
        &mut self,
        code: &SqlCode,
        run: &mut Run<'_>,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.state.user_variables_use.set(code.user_variables);
        match &*code.statement {
            Statement::Call(call) => {
                let mut outs = Vec::new();
                self.answer_within(
                    &code.statement,
                    ServerStatus::MORE_RESULTS,
                    &mut Quiet(sink),
                    |session, sink| {
                        let called = session.call(call, run.parameters(), host, sink)?;
                        outs = called.outs;
                        Ok(called.answer)
                    },
                )?;
                for out in outs {
                    match &call.args[out.argument] {
                        ast::Expr::Local(local) => self.assign_local(run, local, out.value)?,
                        other => self.assign_out(other, out)?,
                    }
                }
                Ok(())
            }
            Statement::GetDiagnostics(get) => {
                let values = self.diagnostics_of(get, run.parameters(), host)?;
                for ((target, _), value) in get.items.iter().zip(values.into_iter().flatten()) {
                    self.assign_target(target, value, None, run)?;
                }
                Ok(())
            }
            Statement::Query(_) if !code.into.is_empty() => self.select_into(code, run, host),
            statement => {
                let parameters = run.parameters();
                self.answer_within(
                    statement,
                    ServerStatus::MORE_RESULTS,
                    &mut Quiet(sink),
                    |session, sink| match class_of(statement).runner {
                        Runner::Plan => session.query_or_change(
                            &code.statement,
                            Some(&code.text),
                            parameters,
                            ServerStatus::MORE_RESULTS,
                            host,
                            sink,
                        ),
                        _ => session.dispatch(&code.statement, parameters, ServerStatus::MORE_RESULTS, host, sink),
                    },
                )?;
                if sink.is_full() {
                    sink.flush(host)?;
                }
                Ok(())
            }
        }
    }

    /// `SELECT … INTO` variables: 1172 for a second row; none is a condition, and assigns nothing.
    fn select_into(&mut self, code: &SqlCode, run: &mut Run<'_>, host: &dyn Host) -> SqlResult<()> {
        let mut row = OneRow {
            columns: code.into.len(),
            ..OneRow::default()
        };
        self.query_within(code, run, host, &mut row)?;
        let Some(values) = row.row else {
            self.state.row_count.set(0);
            self.warnings.warn(ErrorKind::SpFetchNoData.into());
            return Ok(());
        };
        self.state.row_count.set(1);
        let shape = row.shape;
        for (at, (target, value)) in code.into.iter().zip(values).enumerate() {
            let ty = shape.as_ref().map(|shape| shape.columns[at].ty.clone());
            self.assign_target(target, value, ty, run)?;
        }
        Ok(())
    }

    /// Runs a query whose rows the client does not get.
    fn query_within(
        &mut self,
        code: &SqlCode,
        run: &Run<'_>,
        host: &dyn Host,
        rows: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let status = ServerStatus::default();
        self.answer_within(&code.statement, status, rows, |session, rows| {
            session.query_or_change(&code.statement, Some(&code.text), run.parameters(), status, host, rows)
        })
    }

    fn assign_target(
        &mut self,
        target: &IntoVar,
        value: Value,
        ty: Option<SqlType>,
        run: &mut Run<'_>,
    ) -> SqlResult<()> {
        match target {
            IntoVar::Local(local) => self.assign_local(run, local, value),
            IntoVar::User(name) => {
                self.set_user_variable(name, value, ty);
                Ok(())
            }
            IntoVar::Undeclared(name) => Err(SqlError::new(ErrorKind::SpUndeclaredVar, &[&name.as_str()])),
        }
    }

    pub(super) fn set_user_variable(&mut self, name: &str, value: Value, column: Option<SqlType>) {
        let mut ty = crate::expr::type_of_value(&value, self.variables.settings.expressions.collation);
        if let Some(column) = column
            && column.kind.is_text()
            && ty.kind.is_text()
        {
            ty.collation = column.collation;
        }
        self.state
            .set_user_variable(&name.to_lowercase(), UserVariable::new(value, ty));
    }

    // ---- cursors ----

    fn open_cursor(&mut self, cursor: usize, run: &mut Run<'_>, host: &dyn Host) -> SqlResult<()> {
        if run.cursors[cursor].is_some() {
            return Err(ErrorKind::SpCursorAlreadyOpen.into());
        }
        let code = &run.program.cursors[cursor].query;
        self.state.user_variables_use.set(code.user_variables);
        let mut rows = BufferedRows::default();
        self.without_client_limit(|session| session.query_within(code, run, host, &mut rows))?;
        run.cursors[cursor] = Some(OpenCursor { rows, next: 0 });
        Ok(())
    }

    fn fetch_cursor(&mut self, cursor: usize, into: &[Local], run: &mut Run<'_>) -> SqlResult<()> {
        let open = run.cursors[cursor].as_mut().ok_or(ErrorKind::SpCursorNotOpen)?;
        let columns = open.rows.shape().map_or(0, |shape| shape.columns.len());
        if columns != into.len() {
            return Err(ErrorKind::SpWrongNoOfFetchArgs.into());
        }
        if open.next == open.rows.len() {
            return Err(ErrorKind::SpFetchNoData.into());
        }
        let values = open.rows.row(open.next).to_vec();
        open.next += 1;
        for (target, value) in into.iter().zip(values) {
            self.assign_local(run, target, value)?;
        }
        Ok(())
    }
}

/// Passes rows on; answers without rows are the program's own affair.
struct Quiet<'a>(&'a mut dyn ResultSink);

impl ResultSink for Quiet<'_> {
    fn columns(&mut self, shape: &Arc<ResultShape>, status: ServerStatus) -> SqlResult<()> {
        self.0.columns(shape, status)
    }

    fn row(&mut self, values: &[Value]) -> SqlResult<()> {
        self.0.row(values)
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> SqlResult<()> {
        self.0.stored_row(layout, row, projection)
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn flush(&mut self, host: &dyn Host) -> SqlResult<()> {
        self.0.flush(host)
    }

    fn end(&mut self, end: ResultEnd) -> SqlResult<()> {
        self.0.end(end)
    }

    fn ok(&mut self, _done: Done) -> SqlResult<()> {
        Ok(())
    }
}

/// Takes the one row of SELECT … INTO.
#[derive(Default)]
struct OneRow {
    columns: usize,
    shape: Option<Arc<ResultShape>>,
    row: Option<Vec<Value>>,
}

impl OneRow {
    fn take(&mut self, row: Vec<Value>) -> SqlResult<()> {
        match self.row.replace(row) {
            None => Ok(()),
            Some(_) => Err(ErrorKind::TooManyRows.into()),
        }
    }
}

impl ResultSink for OneRow {
    fn columns(&mut self, shape: &Arc<ResultShape>, _status: ServerStatus) -> SqlResult<()> {
        if shape.columns.len() != self.columns {
            return Err(ErrorKind::WrongNumberOfColumnsInSelect.into());
        }
        self.shape = Some(shape.clone());
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> SqlResult<()> {
        self.take(values.to_vec())
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> SqlResult<()> {
        let value = |&column: &usize| layout.column(row, column).to_value();
        self.take(projection.iter().map(value).collect())
    }

    fn end(&mut self, _end: ResultEnd) -> SqlResult<()> {
        Ok(())
    }

    fn ok(&mut self, _done: Done) -> SqlResult<()> {
        Ok(())
    }
}
