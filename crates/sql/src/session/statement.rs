//! One statement, from its tree to its answer.
//!
//! ```text
//!   query/change ──plan (cached)──▶ lock tables ──▶ run ──▶ end statement ──▶ commit (autocommit) ──▶ answer
//!                                       ▲            │ its locks are newer than its snapshot: once more
//!                                       └────────────┘
//!   everything else ──▶ its own module (transaction, set, ddl, show, account, ...)
//! ```

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use catalog::ViewDef;
use parser::UserVariables;
use parser::ast::{self, Statement};
use store::LockMode;
use transaction::{Isolation, LockPolicy, Settled, StatementScope};
use types::{ErrorKind, Severity, SqlError, SqlResult, SqlType, UnixTime, Value};

use super::Session;
use super::retry::{HeldRows, RetryPoint};
use super::services::SessionServices;
use super::transaction::End;
use crate::exec::dml::{self, Changed};
use crate::exec::{self, Runtime};
use crate::expr::StatementContext;
use crate::expr::context::{Strictness, UserVariable};
use crate::failpoint;
use crate::host::Host;
use crate::plan::{OpenViews, Plan, Planner};
use crate::plan_cache::{CachedPlan, ParameterType, PlanKey};
use crate::processes::Kill;
use crate::result::{BufferedRows, Done, ResultEnd, ResultSink, ServerStatus};
use crate::table::Table;
use crate::temporary::is_temporary;
use crate::variables::{self, WriteBarrier};

/// What a statement did, before its answer is written.
pub(crate) enum Answer {
    /// A result set whose rows are sent; it has still to be ended.
    Rows {
        sent: u64,
    },
    Done(Done),
    /// Rows were changed by a statement whose answer tells an id: the first automatic one, else that of `LAST_INSERT_ID(expr)`, else
    /// `last_id`.
    Changed {
        done: Done,
        last_id: Option<u64>,
    },
}

impl Answer {
    pub fn done() -> Answer {
        Answer::Done(Done::default())
    }

    pub fn affected(rows: u64) -> Answer {
        Answer::Done(Done {
            affected_rows: rows,
            ..Done::default()
        })
    }

    /// Of a statement that counts records: how many it copied, and the warnings it gave.
    pub fn records(copied: u64, warnings: u64) -> Answer {
        let info = format!("Records: {copied}  Duplicates: 0  Warnings: {warnings}");
        Answer::Done(Done {
            affected_rows: copied,
            info,
            ..Done::default()
        })
    }

    fn with_info(info: &str) -> Answer {
        Answer::Done(Done {
            info: info.to_owned(),
            ..Done::default()
        })
    }
}

impl Session {
    /// Runs one statement and pushes its answer. On an error, what the statement did is undone.
    pub(crate) fn run(
        &mut self,
        statement: &Arc<Statement>,
        parameters: &[Value],
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.drop_unused_tables(host);
        self.answer(statement, more, sink, |session, sink| {
            session.dispatch(statement, parameters, more, host, sink)
        })
    }

    /// Runs a statement whose plan is known.
    pub(crate) fn run_planned(
        &mut self,
        statement: &Arc<Statement>,
        text: &Arc<[u8]>,
        parameters: &[Value],
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let more = ServerStatus::default();
        self.drop_unused_tables(host);
        self.answer(statement, more, sink, |session, sink| match is_planned(statement) {
            true => session.query_or_change(statement, Some(text), parameters, more, host, sink),
            false => session.dispatch(statement, parameters, more, host, sink),
        })
    }

    /// Wraps the work of a statement: warnings before, counters and the end of the answer after.
    fn answer(
        &mut self,
        statement: &Statement,
        more: ServerStatus,
        sink: &mut dyn ResultSink,
        work: impl FnOnce(&mut Session, &mut dyn ResultSink) -> SqlResult<Answer>,
    ) -> SqlResult<()> {
        self.engine.statistics().count(statement);
        if !keeps_warnings(statement) {
            self.warnings.clear();
        }
        self.state.explicit_insert_id.set(None);
        self.state.automatic_insert_id.set(None);
        let answer = self.check_standing(statement).and_then(|()| work(self, sink));
        let told_id = self.note_insert_id();
        match answer {
            Ok(Answer::Rows { sent }) => {
                self.state.row_count.set(-1);
                if !keeps_warnings(statement) {
                    self.state.found_rows.set(sent);
                }
                // What SHOW WARNINGS tells of is not its own.
                let warnings = if keeps_warnings(statement) {
                    0
                } else {
                    self.warning_count()
                };
                sink.end(ResultEnd {
                    warnings,
                    status: self.status().with(more),
                })
            }
            Ok(Answer::Done(done)) => self.send_done(done, more, sink),
            Ok(Answer::Changed { done, last_id }) => {
                let last_insert_id = told_id.or(last_id).unwrap_or(0);
                self.send_done(Done { last_insert_id, ..done }, more, sink)
            }
            Err(error) => {
                self.state.row_count.set(-1);
                self.warnings.push(Severity::Error, error.clone());
                Err(error)
            }
        }
    }

    fn send_done(&mut self, mut done: Done, more: ServerStatus, sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.state.row_count.set(done.affected_rows as i64);
        done.warnings = self.warning_count();
        done.status = self.status().with(more).with(done.status);
        sink.ok(done)
    }

    /// Takes over the id that a statement made or set, also if it failed.
    fn note_insert_id(&self) -> Option<u64> {
        let explicit = self.state.explicit_insert_id.take();
        let id = self.state.automatic_insert_id.take().or(explicit)?;
        self.state.last_insert_id.set(id);
        Some(id)
    }

    /// Sends a statement to the module that runs its kind.
    pub(super) fn dispatch(
        &mut self,
        statement: &Arc<Statement>,
        parameters: &[Value],
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        if is_planned(statement) {
            return self.query_or_change(statement, None, parameters, more, host, sink);
        }
        self.check_statement(statement)?;
        let status = self.status().with(more);
        match &**statement {
            Statement::Begin(begin) => {
                self.give_up_locked_tables(host)?;
                self.transaction
                    .start(begin, &self.engine, &self.variables.settings, host)?;
                Ok(Answer::done())
            }
            Statement::Commit(end) => self.end_transaction(end, End::Commit, host),
            Statement::Rollback(end) => self.end_transaction(end, End::Rollback, host),
            Statement::Savepoint(name) => {
                self.transaction.savepoint(name, &self.engine, &self.variables.settings);
                Ok(Answer::done())
            }
            Statement::RollbackTo(name) => self.transaction.rollback_to(name).map(|()| Answer::done()),
            Statement::ReleaseSavepoint(name) => self.transaction.release_savepoint(name).map(|()| Answer::done()),
            Statement::SetTransaction(set) => self.set_transaction(set).map(|()| Answer::done()),
            Statement::Set(items) => self.set(items, parameters, host).map(|()| Answer::done()),
            Statement::Use(name) => {
                self.use_database(name)?;
                Ok(Answer::Done(Done {
                    current_database: Some(name.as_str().into()),
                    ..Done::default()
                }))
            }
            Statement::Do(items) => self.do_expressions(items, parameters, host).map(|()| Answer::done()),
            Statement::Prepare(prepare) => self
                .prepare_named(prepare, host)
                .map(|()| Answer::with_info("Statement prepared")),
            Statement::Execute(execute) => self.execute_named(execute, more, host, sink),
            Statement::Deallocate(name) => self.deallocate(name).map(|()| Answer::done()),
            Statement::Show(show) => self.show(show, status, host, sink),
            Statement::Describe(describe) => self.describe(describe, status, host, sink),
            Statement::Explain(explain) => self.explain(explain, parameters, status, host, sink),
            Statement::Kill(kill) => self.kill(kill, host),
            Statement::LockTables(tables) => self.lock_tables(tables, host).map(|()| Answer::done()),
            Statement::UnlockTables => self.unlock_tables(host).map(|()| Answer::done()),
            _ => self.administer(statement, status, host, sink),
        }
    }

    fn end_transaction(&mut self, end: &ast::EndTransaction, outcome: End, host: &dyn Host) -> SqlResult<Answer> {
        let releases = self
            .transaction
            .end(end, outcome, &self.engine, &self.variables.settings, host)?;
        self.ends |= releases;
        Ok(Answer::done())
    }

    fn do_expressions(&mut self, items: &[ast::SelectItem], parameters: &[Value], host: &dyn Host) -> SqlResult<()> {
        for item in items {
            if let ast::SelectItem::Expr { expr, .. } = item {
                self.evaluate(expr, parameters, host)?;
            }
        }
        Ok(())
    }

    fn kill(&mut self, kill: &ast::Kill, host: &dyn Host) -> SqlResult<Answer> {
        let id = self.evaluate(&kill.id, &[], host)?;
        let unknown = || SqlError::new(ErrorKind::NoSuchThread, &[&id]);
        let number = id.to_string().parse::<u32>().map_err(|_| unknown())?;
        let what = if kill.query { Kill::Query } else { Kill::Connection };
        if number == self.options.connection_id {
            self.ends |= !kill.query;
            return Err(ErrorKind::QueryInterrupted.into());
        }
        let access = self.access();
        let processes = self.engine.processes().ok_or_else(unknown)?;
        if !access.is_unlimited() {
            let list = processes.list();
            let user = list
                .iter()
                .find(|process| process.id == number)
                .map(|process| &process.user);
            if user.is_some_and(|user| !access.may_kill_session_of(user)) {
                return Err(SqlError::new(ErrorKind::KillDenied, &[&number]));
            }
        }
        match processes.kill(number, what) {
            true => Ok(Answer::done()),
            false => Err(unknown()),
        }
    }

    /// Evaluates an expression without tables.
    pub(crate) fn evaluate(&mut self, tree: &ast::Expr, parameters: &[Value], host: &dyn Host) -> SqlResult<Value> {
        self.evaluate_typed(tree, parameters, host).map(|result| result.value)
    }

    /// Evaluates an expression without tables, for a variable that keeps its type; text keeps its collation.
    pub(super) fn evaluate_typed(
        &mut self,
        tree: &ast::Expr,
        parameters: &[Value],
        host: &dyn Host,
    ) -> SqlResult<UserVariable> {
        let select = crate::plan::query::select_of(tree);
        let mut rows = BufferedRows::default();
        // The client's limit is for the client's queries.
        let client_limit = std::mem::replace(&mut self.variables.settings.select_limit, u64::MAX);
        let answer = self.query_or_change(&select, None, parameters, ServerStatus::default(), host, &mut rows);
        self.variables.settings.select_limit = client_limit;
        answer?;
        let value = if rows.is_empty() {
            Value::Null
        } else {
            rows.row(0)[0].clone()
        };
        let mut ty = crate::expr::type_of_value(&value, self.variables.settings.expressions.collation);
        if let Some(column) = rows.shape().map(|shape| &shape.columns[0].ty)
            && column.kind.is_text()
            && ty.kind.is_text()
        {
            ty.collation = column.collation;
        }
        Ok(UserVariable { value, ty })
    }

    /// Plans and runs a query or a change in the session's transaction, or in one of its own.
    pub(crate) fn query_or_change(
        &mut self,
        statement: &Arc<Statement>,
        text: Option<&Arc<[u8]>>,
        parameters: &[Value],
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        loop {
            let catalog_version = self.engine.catalog_version();
            let plan = match self.plan(statement, text, parameters, host) {
                // Of a schema that has gone meanwhile, its tables may be gone, too.
                Err(_) if self.engine.catalog_version() != catalog_version => continue,
                plan => plan?,
            };
            self.engine.wait_until_visible(self.engine.catalog_version());
            failpoint::hit("statement.planned")?;
            if plan.is_change() {
                let mut changed = plan.changed_tables();
                changed.retain(|table| !is_temporary(table.id()));
                if !changed.is_empty() {
                    self.check_server_writable()?;
                    self.transaction.check_writable(&self.variables.settings)?;
                    self.table_locks.check_change(&changed)?;
                }
                if self.variables.settings.safe_updates && plan.changes_without_key() {
                    return Err(SqlError::new(ErrorKind::UpdateWithoutKeyInSafeMode, &[&""]));
                }
            }
            let time_limit = super::hints::time_limit(statement)
                .or(self.variables.settings.max_execution_time)
                .filter(|_| !plan.is_change());
            if let Some(limit) = time_limit {
                host.set_deadline(Some(Instant::now() + limit));
            }
            let outcome = self.run_plan(&plan, catalog_version, parameters, more, host, sink);
            if time_limit.is_some() {
                host.set_deadline(None);
            }
            if self.variables.settings.insert_id.is_some() && matches!(*plan, Plan::Insert(_)) {
                self.variables.set(variables::find("insert_id")?, "0".into())?;
            }
            match outcome {
                Ok(answer) => {
                    self.transaction.statement_succeeded(host)?;
                    return Ok(answer);
                }
                Err(Failure::SchemaChanged) => {}
                Err(Failure::Error(error)) => {
                    self.transaction.statement_failed(&error);
                    return Err(error);
                }
            }
        }
    }

    /// 1290 for a change while the node takes none from this account (`read_only`, `super_read_only`).
    pub(crate) fn check_server_writable(&mut self) -> SqlResult<()> {
        let option = match self.engine.globals().write_barrier() {
            WriteBarrier::None => return Ok(()),
            WriteBarrier::ReadOnly if self.require_global("SUPER").is_ok() => return Ok(()),
            WriteBarrier::ReadOnly => "--read-only",
            WriteBarrier::SuperReadOnly => "--super-read-only",
        };
        Err(SqlError::new(ErrorKind::OptionPreventsStatement, &[&option]))
    }

    /// The plan of a statement: shared by text where there is one.
    pub(crate) fn plan(
        &mut self,
        statement: &Arc<Statement>,
        text: Option<&Arc<[u8]>>,
        parameters: &[Value],
        host: &dyn Host,
    ) -> SqlResult<Arc<Plan>> {
        let access = self.access();
        // A shared plan says nothing of who may run it, and knows no session's own tables, nor the types of its variables.
        let shares = access.is_unlimited()
            && self.table_locks.is_empty()
            && self.temporary.is_empty()
            && self.state.user_variables_use.get() == UserVariables::None;
        let text = text.filter(|_| shares);
        let settings = &self.variables.settings;
        let types: Vec<SqlType> = parameters
            .iter()
            .map(|value| crate::expr::type_of_value(value, settings.expressions.collation))
            .collect();
        let key = text.map(|text| PlanKey {
            text: text.clone(),
            database: self.database.clone(),
            sql_mode: settings.sql_mode(),
            collation: settings.expressions.collation,
            div_precision_increment: settings.expressions.div_precision_increment,
            group_concat_max_len: settings.expressions.group_concat_max_len,
            parameters: types.iter().map(ParameterType::of).collect(),
        });
        let catalog_version = self.engine.catalog_version();
        if let Some(key) = &key
            && let Some(plan) = self.engine.plans().get(key, catalog_version)
        {
            return Ok(plan);
        }
        let catalog = self.engine.catalog();
        let held = governor::held();
        let plan = self.with_context(host, &[], |session, ctx| {
            let planner = Planner {
                engine: &session.engine,
                catalog: &catalog,
                database: session.database.as_deref(),
                ctx: ctx.eval(),
                params: &types,
                access: &access,
                table_locks: &session.table_locks,
                temporary: Some(&session.temporary),
                views: OpenViews::default(),
                locked: RefCell::default(),
            };
            planner.plan(statement)
        })?;
        let plan = Arc::new(plan.ok_or_else(|| SqlError::internal("a statement of another kind has no plan"))?);
        governor::check()?;
        if let Some(key) = key {
            let cached = CachedPlan {
                catalog_version: catalog.version(),
                plan: plan.clone(),
            };
            self.engine
                .plans()
                .put(key, cached, governor::held().saturating_sub(held));
        }
        Ok(plan)
    }

    /// Calls `work` with a context for evaluating expressions; takes over the warnings.
    pub(crate) fn with_context<R>(
        &mut self,
        host: &dyn Host,
        parameters: &[Value],
        work: impl FnOnce(&Session, &StatementContext<'_>) -> R,
    ) -> R {
        let services = self.services(host);
        let settings = &self.variables.settings.expressions;
        let ctx = StatementContext::new(settings, &services, self.statement_time()).with_params(parameters);
        let result = work(self, &ctx);
        let warnings = ctx.take_warnings();
        drop(ctx);
        self.keep_warnings(warnings);
        result
    }

    pub(crate) fn services<'s>(&'s self, host: &'s dyn Host) -> SessionServices<'s> {
        SessionServices {
            state: &self.state,
            engine: &self.engine,
            host,
            variables: &self.variables,
            database: self.database.as_deref(),
            access: self.access.as_ref().map(|(_, access)| access),
            temporary: &self.temporary,
            without_tables: true,
            warning_count: self.warnings.count(),
            error_count: self.warnings.error_count(),
        }
    }

    /// `NOW()` of a statement that begins at this moment.
    fn statement_time(&self) -> UnixTime {
        let micros = match self.variables.settings.fixed_timestamp {
            Some(seconds) => (seconds * 1e6) as i64,
            None => self.engine.clock_micros(),
        };
        UnixTime { micros, fsp: 6 }
    }

    /// Runs a plan once, or again on a newer snapshot.
    fn run_plan(
        &mut self,
        plan: &Plan,
        catalog_version: u64,
        parameters: &[Value],
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> Result<Answer, Failure> {
        self.transaction.for_statement(&self.engine, &self.variables.settings);
        let status = self.status().with(more);
        let services = SessionServices {
            without_tables: plan.is_without_tables(),
            ..self.services(host)
        };
        let settings = &self.variables.settings;
        let strictness = match plan {
            plan if plan.ignores_errors() => Strictness::Warn,
            plan if plan.is_change() && settings.sql_mode().is_strict() => Strictness::Fail,
            _ => Strictness::Warn,
        };
        let now = self.statement_time();
        let transaction = self.transaction.current().expect("begun above");
        // A lone SELECT is serializable as it is: it sees one moment, and changes nothing.
        let is_serializable = transaction.borrow().options().isolation == Isolation::Serializable;
        let locks_reads = is_serializable && (self.transaction.in_transaction() || plan.is_change());
        let runtime = Runtime::new(&self.engine, host, transaction, settings, self.options.found_rows)
            .locking_reads(locks_reads)
            .under(&self.table_locks);
        let scope = match self.transaction.in_transaction() {
            true => StatementScope::InTransaction,
            false => StatementScope::Alone,
        };
        let savepoint = {
            let mut transaction = transaction.borrow_mut();
            match plan {
                // What the client sends of a file cannot be read twice.
                Plan::Load(_) => transaction.begin_statement(),
                plan if plan.is_change() => transaction.begin_change(scope),
                plan if plan.is_locking_read() => transaction.begin_locking_read(scope),
                _ => transaction.begin_statement(),
            }
        };
        let retry = transaction
            .borrow()
            .is_settling()
            .then(|| RetryPoint::new(&self.state, &runtime));
        let (result, warnings) = loop {
            let ctx = StatementContext::new(&settings.expressions, &services, now)
                .with_params(parameters)
                .with_strictness(strictness)
                .with_runtime(&runtime);
            runtime.first_automatic_id.set(None);
            // Rows that are sent cannot be taken back.
            let mut held = (retry.is_some() && plan.is_locking_read()).then(|| HeldRows::new(runtime.query_memory()));
            let target = match &mut held {
                Some(held) => held as &mut dyn ResultSink,
                None => &mut *sink,
            };
            let mut result = lock_tables(plan, &runtime, catalog_version, &self.engine)
                .and_then(|()| run_once(plan, &runtime, &ctx, target, status).map_err(Failure::Error))
                .and_then(|answer| failpoint::hit("statement.ran").map(|()| answer).map_err(Failure::Error))
                .and_then(|answer| {
                    governor::check()
                        .map(|()| answer)
                        .map_err(|stop| Failure::Error(stop.into()))
                });
            let settled = match &result {
                Err(failure) if failure.is_of_the_moment() || !transaction.borrow().is_stale() => Settled::Yes,
                _ => transaction.borrow_mut().settle(),
            };
            if settled != Settled::Yes {
                transaction.borrow_mut().restart_statement(savepoint);
                if let Some(retry) = &retry {
                    retry.restore(&self.state, &runtime);
                }
                result = match lock_whole_tables(settled, &runtime) {
                    Ok(()) => continue,
                    Err(error) => Err(Failure::Error(error)),
                };
            }
            match &result {
                Ok(_) => transaction.borrow_mut().end_statement(savepoint),
                Err(_) => transaction.borrow_mut().rollback_statement(savepoint),
            }
            if let (Ok(_), Some(held)) = (&result, held)
                && let Err(error) = held.send(sink, host)
            {
                result = Err(Failure::Error(error));
            }
            break (result, ctx.take_warnings());
        };
        self.state.automatic_insert_id.set(runtime.first_automatic_id.get());
        self.keep_warnings(warnings);
        result
    }

    /// The view of a name, unless a temporary table hides it.
    pub(crate) fn view(&self, name: &ast::TableName) -> SqlResult<Option<Arc<ViewDef>>> {
        let database = match &name.schema {
            Some(schema) => schema.as_str(),
            None => self.database.as_deref().ok_or(ErrorKind::NoDb)?,
        };
        Ok(match self.temporary.get(database, &name.name) {
            Some(_) => None,
            None => self.engine.catalog().view(database, &name.name).cloned(),
        })
    }

    /// `SELECT * FROM view`, planned: whether the view still can be, and from what.
    pub(crate) fn plan_of_view(&mut self, name: &ast::TableName, host: &dyn Host) -> SqlResult<Arc<Plan>> {
        let factor = ast::TableFactor::plain(name.clone());
        self.plan(&crate::plan::query::select_all_of(factor), None, &[], host)
    }

    /// The definition and rows of a table by name.
    pub(crate) fn table(&self, name: &ast::TableName) -> SqlResult<Arc<Table>> {
        let database = match &name.schema {
            Some(schema) => schema.as_str(),
            None => self.database.as_deref().ok_or(ErrorKind::NoDb)?,
        };
        if let Some(table) = self.temporary.get(database, &name.name) {
            return Ok(table.clone());
        }
        let catalog = self.engine.catalog();
        if catalog.view(database, &name.name).is_some() {
            return Err(SqlError::new(
                ErrorKind::WrongObject,
                &[&database, &name.name.as_str(), &"BASE TABLE"],
            ));
        }
        let missing = || crate::names::missing_table(&catalog, database, &name.name);
        let def = catalog.table(database, &name.name).ok_or_else(missing)?;
        self.engine.table(def).ok_or_else(missing)
    }
}

/// Why a plan did not run.
enum Failure {
    Error(SqlError),
    /// A table was redefined while the statement waited for its lock: plan again.
    SchemaChanged,
}

impl Failure {
    /// Whether running the statement again on newer rows says nothing better.
    fn is_of_the_moment(&self) -> bool {
        match self {
            Failure::SchemaChanged => true,
            Failure::Error(error) => matches!(
                error.kind(),
                ErrorKind::LockWaitTimeout
                    | ErrorKind::LockDeadlock
                    | ErrorKind::LockNowait
                    | ErrorKind::QueryInterrupted
                    | ErrorKind::QueryTimeout
                    | ErrorKind::ServerShutdown
                    | ErrorKind::RecordFileFull
                    | ErrorKind::OutOfSortMemory
            ),
        }
    }
}

/// Keeps others from adding rows to the tables, for a statement that cannot settle otherwise.
fn lock_whole_tables(settled: Settled, runtime: &Runtime<'_>) -> SqlResult<()> {
    let Settled::AgainUnder(tables) = settled else {
        return Ok(());
    };
    for table in tables {
        runtime
            .with_locks(|transaction| transaction.lock_table(table, LockMode::Shared, LockPolicy::Wait))
            .map_err(|error| error.into_sql_named("table"))?;
    }
    Ok(())
}

/// Keeps DDL away from the tables that the plan changes, and those that their foreign keys lead to, until the transaction ends.
fn lock_tables(
    plan: &Plan,
    runtime: &Runtime<'_>,
    catalog_version: u64,
    engine: &crate::engine::Engine,
) -> Result<(), Failure> {
    let mut tables = plan.changed_tables();
    tables.retain(|table| !runtime.holds(table));
    // What is looked through is locked as a whole at SERIALIZABLE. Done in two steps, two of a kind would stop each other in between.
    let mode = match runtime.locks_reads() && plan.locks_ranges() {
        true => LockMode::Exclusive,
        false => LockMode::IntentionExclusive,
    };
    for table in &tables {
        runtime
            .with_locks(|transaction| transaction.lock_table(table.id(), mode, LockPolicy::Wait))
            .map_err(|error| Failure::Error(error.into_sql(table)))?;
    }
    let keys = match runtime.foreign_key_checks {
        true => plan.foreign_keys(),
        false => Vec::new(),
    };
    for (table, mode) in keys.iter().flat_map(|keys| &keys.locks) {
        if runtime.holds(table) {
            continue;
        }
        runtime
            .with_locks(|transaction| transaction.lock_table(table.id(), *mode, LockPolicy::Wait))
            .map_err(|error| Failure::Error(error.into_sql(table)))?;
    }
    match (tables.is_empty() && keys.is_empty()) || engine.catalog_version() == catalog_version {
        true => Ok(()),
        false => Err(Failure::SchemaChanged),
    }
}

fn run_once(
    plan: &Plan,
    runtime: &Runtime<'_>,
    ctx: &StatementContext<'_>,
    sink: &mut dyn ResultSink,
    status: ServerStatus,
) -> SqlResult<Answer> {
    let ctx = ctx.eval();
    let changed = match plan {
        Plan::Straight(plan) => {
            let sent = exec::straight::run(plan, runtime, &ctx, sink, status)?;
            return Ok(Answer::Rows { sent });
        }
        Plan::Query(plan) => return plan.run(runtime, &ctx, sink, status),
        Plan::Insert(plan) => {
            let changed = dml::insert(plan, runtime, &ctx)?;
            let info = match plan.counts_records() {
                true => format!(
                    "Records: {}  Duplicates: {}  Warnings: {}",
                    changed.matched,
                    changed.duplicates,
                    ctx.with_warnings(|warnings| warnings.count())
                ),
                false => String::new(),
            };
            return Ok(changed_answer(changed, changed.affected, info));
        }
        Plan::Load(plan) => {
            let changed = dml::load(plan, runtime, &ctx, sink)?;
            let warnings = ctx.with_warnings(|warnings| warnings.count());
            let info = format!("{}  Warnings: {warnings}", plan.info(&changed));
            // LOAD DATA tells no id, but LAST_INSERT_ID() does.
            return Ok(Answer::Done(Done {
                affected_rows: changed.affected,
                info,
                ..Done::default()
            }));
        }
        Plan::Update(plan) => dml::update(plan, runtime, &ctx)?,
        Plan::Delete(plan) => {
            let changed = dml::delete(plan, runtime, &ctx)?;
            return Ok(Answer::affected(changed.affected));
        }
        Plan::Multi(plan) => plan.run(runtime, &ctx)?,
    };
    if matches!(plan, Plan::Multi(plan) if plan.is_delete()) {
        return Ok(Answer::affected(changed.affected));
    }
    let warnings = ctx.with_warnings(|warnings| warnings.count());
    let info = format!(
        "Rows matched: {}  Changed: {}  Warnings: {warnings}",
        changed.matched, changed.affected
    );
    let affected = if runtime.found_rows {
        changed.matched
    } else {
        changed.affected
    };
    Ok(changed_answer(changed, affected, info))
}

fn changed_answer(changed: Changed, affected_rows: u64, info: String) -> Answer {
    let done = Done {
        affected_rows,
        info,
        ..Done::default()
    };
    Answer::Changed {
        done,
        last_id: changed.last_id,
    }
}

/// Whether the planner makes a plan of it.
pub(crate) fn is_planned(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::LoadData(_)
            | Statement::Update(_)
            | Statement::Delete(_)
    )
}

/// Statements that look at the diagnostics of the one before.
pub(super) fn keeps_warnings(statement: &Statement) -> bool {
    match statement {
        Statement::Show(show) => matches!(
            **show,
            ast::Show::Warnings { .. } | ast::Show::Errors { .. } | ast::Show::WarningCount | ast::Show::ErrorCount
        ),
        Statement::GetDiagnostics(_) => true,
        _ => false,
    }
}
