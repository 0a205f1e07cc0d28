//! One statement, from its tree to its answer.
//!
//! ```text
//!   query/change ──plan (cached)──▶ lock tables ──▶ run ──▶ end statement ──▶ commit (autocommit) ──▶ answer
//!                                       ▲            │ its locks are newer than its snapshot: once more
//!                                       └────────────┘
//!   everything else ──▶ its own module (transaction, set, ddl, show, account, ...)
//! ```

use std::sync::Arc;
use std::time::Duration;

use catalog::{DynamicPrivilege, Privileges};
use parser::ast::{self, Statement};
use shard::Freshness;
use types::{ErrorKind, SqlError, SqlResult, Value};

use super::Session;
use super::parameters::Parameters;
use super::past;
use super::run_plan::Failure;
use super::table_locks::LocksUser;
use super::transaction::End;
use crate::errors::{interrupted, is_for_another_leader, locks_lost, no_majority};
use crate::exec::Answer;
use crate::expr::context::UserVariable;
use crate::failpoint;
use crate::host::Host;
use crate::plan::{Plan, Planned};
use crate::plan_cache::PlanText;
use crate::result::{BufferedRows, Done, ResultSink, ServerStatus};
use crate::show::Analysis;
use crate::statement_class::{ImplicitCommit, InReadOnly, Runner, StatementClass, UnderLockTables, class_of};
use crate::variables::{self, WriteBarrier};
use crate::waiting::{ROOM_WITHIN, has_room_again, pause_for, until};

/// How long a lone change is tried while leaders come and go.
pub(super) const LEADER_PATIENCE: Duration = Duration::from_secs(10);
const LEADER_PAUSE: Duration = Duration::from_millis(5);

impl Session {
    /// Runs one statement and pushes its answer. On an error, what the statement did is undone.
    pub(crate) fn run(
        &mut self,
        statement: &Arc<Statement>,
        parameters: Parameters<'_>,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.drop_abandoned_copies(host);
        self.answer(statement, more, sink, |session, sink| {
            session.dispatch(statement, parameters, more, host, sink)
        })
    }

    /// Runs a statement whose plan is known.
    pub(crate) fn run_planned(
        &mut self,
        statement: &Arc<Statement>,
        text: &PlanText,
        parameters: Parameters<'_>,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let more = ServerStatus::default();
        self.drop_abandoned_copies(host);
        self.answer(statement, more, sink, |session, sink| {
            match class_of(statement).runner {
                Runner::Plan => session.query_or_change(statement, Some(text), parameters, more, host, sink),
                _ => session.dispatch(statement, parameters, more, host, sink),
            }
        })
    }

    /// Sends a statement to the module that runs its kind, after what its class asks for.
    pub(crate) fn dispatch(
        &mut self,
        statement: &Arc<Statement>,
        parameters: Parameters<'_>,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let class = class_of(statement);
        self.check_in_part(statement)?;
        self.prepare_to_run(class, host)?;
        self.check_statement(statement)?;
        match class.runner {
            Runner::Plan | Runner::Transaction | Runner::Session | Runner::Nobody => {}
            Runner::Programs => self.catch_up(host)?,
            Runner::Show if is_of_session(statement) => {}
            Runner::Show | Runner::Schema | Runner::Accounts | Runner::Maintenance => self.catch_up(host)?,
        }
        let status = self.status().with(more);
        match class.runner {
            Runner::Plan => self.query_or_change(statement, None, parameters, more, host, sink),
            Runner::Transaction => match &**statement {
                Statement::Xa(xa) => self.xa(xa, status, host, sink),
                statement => self.transaction_statement(statement, host),
            },
            Runner::Session => self.session_statement(statement, parameters, more, host, sink),
            Runner::Show => match &**statement {
                Statement::Show(show) => self.show(show, status, host, sink),
                Statement::Describe(describe) => self.describe(describe, status, host, sink),
                Statement::Explain(explain) => self.explain(explain, parameters, status, host, sink),
                Statement::Help(_) => crate::show::no_help(status, sink),
                other => Err(of_another_runner(other)),
            },
            Runner::Programs => self.program_statement(statement, parameters, more, host, sink),
            Runner::Schema => self.with_frame(parameters, |session| session.data_definition(statement, host)),
            Runner::Accounts => self.account_statement(statement, status, host, sink),
            Runner::Maintenance => self.maintenance(statement, status, host, sink),
            Runner::Nobody => Err(SqlError::not_supported(crate::refuse::name_of(statement))),
        }
    }

    /// What a class of statements does before one runs: the end of the open transaction, and the errors for what is not allowed in a
    /// READ ONLY transaction or under LOCK TABLES.
    fn prepare_to_run(&mut self, class: StatementClass, host: &dyn Host) -> SqlResult<()> {
        self.confirm_table_locks(host)?;
        match class.read_only {
            InReadOnly::Refused => self.transaction.check_writable(&self.variables.settings)?,
            InReadOnly::Allowed | InReadOnly::ByPlan | InReadOnly::AfterCommit => {}
        }
        match class.commit {
            ImplicitCommit::Before => self.transaction.commit(host)?,
            ImplicitCommit::Never => {}
        }
        match class.under_lock_tables {
            UnderLockTables::Refused if self.table_locks.has_tables() => Err(ErrorKind::LockOrActiveTransaction.into()),
            UnderLockTables::ChangesAccounts if self.table_locks.has_tables() => {
                Err(SqlError::new(ErrorKind::TableNotLocked, &[&"user"]))
            }
            _ => Ok(()),
        }
    }

    /// Whether the statement leaves user variables alone: then it may run twice.
    fn assigns_nothing(&self) -> bool {
        self.state.user_variables_use.get() != parser::UserVariables::Assigned
    }

    /// Waits until the rows and the catalog of this node are as new as anybody has been told, where the statement reads them anew.
    #[inline]
    pub(super) fn catch_up(&self, host: &dyn Host) -> SqlResult<()> {
        match self.transaction.freshness(&self.engine) {
            None => Ok(()),
            Some(freshness) => wait_for_freshness(freshness, host),
        }
    }

    /// Waits until the catalog is as new as anybody has been told, also in the midst of a transaction.
    pub(super) fn wait_for_newest(&self, host: &dyn Host) -> SqlResult<()> {
        match self.engine.participant().freshness() {
            None => Ok(()),
            Some(freshness) => wait_for_freshness(freshness, host),
        }
    }

    /// Waits until the rows are as new as a plan has to see them.
    #[inline]
    fn catch_up_for(&self, plan: &Planned, learns_by_lock: bool, host: &dyn Host) -> SqlResult<()> {
        let changes_shared = || plan.changed_tables().iter().any(|table| !table.id().is_local());
        if plan.reads_nothing() || learns_by_lock && changes_shared() {
            return Ok(());
        }
        // What new rows meet is locked before it is looked at.
        if plan.adds_given_rows() && self.transaction.in_transaction() && !self.transaction.has_no_locks() {
            return Ok(());
        }
        if !(plan.is_change() || plan.is_locking_read()) {
            return self.catch_up_as_set(host);
        }
        match self.transaction.freshness_to_lock(&self.engine) {
            None => Ok(()),
            Some(freshness) => wait_for_freshness(freshness, host),
        }
    }

    /// What a snapshot that reads only waits for.
    fn catch_up_as_set(&self, host: &dyn Host) -> SqlResult<()> {
        let settings = &self.variables.settings;
        match settings.reads_nearest {
            true => self.catch_up_within(settings.read_staleness_limit, host),
            false => self.catch_up(host),
        }
    }

    /// As [`catch_up`](Self::catch_up), for a statement that may miss what was committed in the last `bound`.
    fn catch_up_within(&self, bound: Duration, host: &dyn Host) -> SqlResult<()> {
        match self.transaction.freshness_within(bound, &self.engine) {
            None => Ok(()),
            Some(freshness) => wait_for_freshness(freshness, host),
        }
    }

    fn transaction_statement(&mut self, statement: &Statement, host: &dyn Host) -> SqlResult<Answer> {
        match statement {
            Statement::Begin(begin) => {
                self.transaction.check_not_xa()?;
                self.give_up_locked_tables(host)?;
                if let Some(moment) = &begin.as_of {
                    let moment = self.past_of(moment, Parameters::NONE, host)?;
                    self.transaction.start_past(moment, &self.engine, host)?;
                    return Ok(Answer::done());
                }
                if begin.consistent_snapshot {
                    self.transaction.commit(host)?;
                    self.catch_up_as_set(host)?;
                }
                self.transaction
                    .start(begin, &self.engine, &self.variables.settings, host)?;
                Ok(Answer::done())
            }
            Statement::Commit(end) => self.end_transaction(end, End::Commit, host),
            Statement::Rollback(end) => self.end_transaction(end, End::Rollback, host),
            Statement::Savepoint(name) => {
                self.transaction.check_xa_open()?;
                self.transaction.savepoint(name, &self.engine, &self.variables.settings);
                Ok(Answer::done())
            }
            Statement::RollbackTo(name) => {
                self.transaction.rollback_to(name)?;
                self.warn_of_what_stays();
                Ok(Answer::done())
            }
            Statement::ReleaseSavepoint(name) => self.transaction.release_savepoint(name).map(|()| Answer::done()),
            Statement::SetTransaction(set) => self.set_transaction(set, host).map(|()| Answer::done()),
            other => Err(of_another_runner(other)),
        }
    }

    fn session_statement(
        &mut self,
        statement: &Statement,
        parameters: Parameters<'_>,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        match statement {
            Statement::Set(items) => self.set(items, parameters, host).map(|()| Answer::done()),
            Statement::ResetPersist { name, if_exists } => self
                .reset_persist(name.as_deref(), *if_exists, host)
                .map(|()| Answer::done()),
            Statement::SetRole(role) => self.set_role(role).map(|()| Answer::done()),
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
            Statement::Kill(kill) => self.kill(kill, parameters, host),
            Statement::LockTables(tables) => self.lock_tables(tables, host).map(|()| Answer::done()),
            Statement::Handler(handler) => self.handler(handler, more, host, sink),
            Statement::UnlockTables => self.unlock_tables(host).map(|()| Answer::done()),
            other => Err(of_another_runner(other)),
        }
    }

    fn end_transaction(&mut self, end: &ast::EndTransaction, outcome: End, host: &dyn Host) -> SqlResult<Answer> {
        if outcome == End::Rollback {
            self.warn_of_what_stays();
        }
        let releases = self
            .transaction
            .end(end, outcome, &self.engine, &self.variables.settings, host)?;
        self.ends |= releases;
        Ok(Answer::done())
    }

    /// Definitions of temporary tables outlive a rollback.
    fn warn_of_what_stays(&mut self) {
        let stays = self.transaction.stays();
        let said = [
            (stays.created, ErrorKind::NotRolledBackCreation),
            (stays.dropped, ErrorKind::NotRolledBackDrop),
        ];
        for (_, kind) in said.into_iter().filter(|(stays, _)| *stays) {
            self.warnings.push(types::Severity::Warning, kind.into());
        }
    }

    fn do_expressions(
        &mut self,
        items: &[ast::SelectItem],
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<()> {
        for item in items {
            if let ast::SelectItem::Expr { expr, .. } = item {
                self.evaluate(expr, parameters, host)?;
            }
        }
        Ok(())
    }

    /// Runs queries that are not the client's as such: `sql_select_limit` is for those.
    pub(crate) fn without_client_limit<T>(&mut self, run: impl FnOnce(&mut Session) -> T) -> T {
        let client_limit = std::mem::replace(&mut self.variables.settings.select_limit, u64::MAX);
        let result = run(self);
        self.variables.settings.select_limit = client_limit;
        result
    }

    /// Evaluates an expression without tables.
    pub(crate) fn evaluate(
        &mut self,
        tree: &ast::Expr,
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<Value> {
        self.evaluate_typed(tree, parameters, host).map(|result| result.value)
    }

    /// Evaluates an expression without tables, for a variable that keeps its type; text keeps its collation.
    pub(super) fn evaluate_typed(
        &mut self,
        tree: &ast::Expr,
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<UserVariable> {
        let select = crate::plan::query::select_of(tree);
        let mut rows = BufferedRows::default();
        self.variables.settings.exact_values = true;
        let ran = self.without_client_limit(|session| {
            session.query_or_change(&select, None, parameters, ServerStatus::default(), host, &mut rows)
        });
        self.variables.settings.exact_values = false;
        ran?;
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
        Ok(UserVariable::new(value, ty))
    }

    /// Plans and runs a query or a change in the session's transaction, or in one of its own.
    pub(crate) fn query_or_change(
        &mut self,
        statement: &Arc<Statement>,
        text: Option<&PlanText>,
        parameters: Parameters<'_>,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let before = self.begin_hints(statement);
        let outcome = self.plan_and_run(statement, text, parameters, more, host, sink);
        self.transaction.forget_past_source();
        self.end_hints(before);
        if outcome.is_err() && !self.transaction.in_transaction() {
            // Wherever it failed: a transaction that was begun for it alone, as one of the past is, does not outlive it.
            self.transaction.rollback();
        }
        outcome
    }

    fn plan_and_run(
        &mut self,
        statement: &Arc<Statement>,
        text: Option<&PlanText>,
        parameters: Parameters<'_>,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let (mut lost_at, mut full_at) = (None, None);
        // What it has to wait for shows in its plan. One that was made of an old catalog is made anew.
        let mut is_fresh = false;
        let learns_by_lock = is_change(statement) && self.transaction.has_no_locks();
        loop {
            let catalog_version = self.engine.catalog_version();
            let (plan, bytes) = governor::measured(|| self.plan_for(statement, text, parameters, host));
            let plan = match plan {
                // Of a schema that has gone meanwhile, its tables may be gone, too.
                Err(_) if self.engine.catalog_version() != catalog_version => continue,
                // The tables may have been made just now, on another node.
                Err(_) if !is_fresh => {
                    is_fresh = true;
                    self.catch_up(host)?;
                    continue;
                }
                plan => plan?,
            };
            if !is_fresh && (plan.uses.as_of.is_empty() || plan.is_change()) {
                is_fresh = true;
                self.catch_up_for(&plan, learns_by_lock, host)?;
            }
            match self.moment_of(&plan, parameters, host)? {
                Some(moment) if plan.is_change() => {
                    past::check_tables(&plan, moment.timestamp())?;
                    self.transaction.read_source_of(moment, &self.engine);
                }
                Some(moment) => self.transaction.begin_past(moment, &self.engine),
                None => {}
            }
            if let Some(at) = self.transaction.past(&self.engine, &self.variables.settings)
                && let Err(error) = past::check_plan(&plan, at)
            {
                self.transaction.statement_failed(&error);
                return Err(error);
            }
            self.engine.wait_until_visible(self.engine.catalog_version());
            failpoint::hit("statement.planned")?;
            if plan.is_change() {
                self.programs.check_changed(plan.changed_tables())?;
                let changed = || plan.changed_tables().iter().filter(|table| !table.id().is_local());
                if changed().next().is_some() {
                    if self.check_server_writable().is_err() {
                        // Another node may have been told of the end of it.
                        self.wait_for_newest(host)?;
                        self.check_server_writable()?;
                    }
                    self.transaction.check_writable(&self.variables.settings)?;
                    let user = match self.transaction.is_part() {
                        true => LocksUser::Program,
                        false => LocksUser::Session,
                    };
                    self.table_locks.check_change(changed(), user)?;
                }
                if self.variables.settings.safe_updates && plan.changes_without_key() {
                    return Err(SqlError::new(ErrorKind::UpdateWithoutKeyInSafeMode, &[&""]));
                }
            }
            let time_limit = super::hints::time_limit(statement)
                .or(self.variables.settings.max_execution_time)
                .filter(|_| !plan.is_change() && !self.programs.is_running());
            if let Some(limit) = time_limit {
                host.limit_time(Some(limit));
            }
            if let Some(analysis) = &mut self.analysis {
                **analysis = Analysis {
                    plan: Some(plan.clone()),
                    ..Analysis::default()
                };
            }
            let outcome = self.run_plan_into(&plan, catalog_version, parameters, more, host, sink);
            if time_limit.is_some() {
                host.limit_time(None);
            }
            if self.variables.settings.insert_id.is_some() && matches!(plan.plan, Plan::Insert(_)) {
                self.variables.set(variables::find("insert_id")?, "0".into())?;
            }
            let is_change = plan.is_change();
            // A client is asked for its file once.
            let is_fed = matches!(&plan.plan, Plan::Load(load) if load.is_of_client);
            let runs_again = is_change && !is_fed && !self.transaction.in_transaction() && self.assigns_nothing();
            super::drop_shared(plan, bytes);
            let error = match outcome {
                Ok(answer) => match self.transaction.statement_succeeded(host) {
                    Ok(()) if runs_again && env::failpoints::goes_wrong("statement.again") => continue,
                    Ok(()) => return Ok(answer),
                    Err(error) => error,
                },
                Err(Failure::SchemaChanged) => continue,
                Err(Failure::Error(error)) => {
                    let error = match is_change && self.has_lost_lead(host) {
                        true => locks_lost(),
                        false => error,
                    };
                    self.transaction.statement_failed(&error);
                    error
                }
            };
            let now = self.engine.env().clock.monotonic();
            if runs_again
                && error.kind() == ErrorKind::RecordFileFull
                && now.saturating_sub(*full_at.get_or_insert(now)) < ROOM_WITHIN
                && has_room_again(host)?
            {
                // What clients do not read was in its way, and nothing of it was done.
                continue;
            }
            let is_patient = now.saturating_sub(*lost_at.get_or_insert(now)) < LEADER_PATIENCE;
            if !(runs_again && is_for_another_leader(&error) && is_patient) {
                return Err(error);
            }
            // Nothing of it was done, and nobody has been told anything.
            tracing::debug!("a statement runs again under another leader");
            pause(host)?;
            self.catch_up(host)?;
        }
    }

    /// Whether a change has met its error in rows that another leader let in meanwhile: an automatic id that this node gave, and has no right
    /// to give any more, is in one of them, say. Where this node leads for certain, one look at the clock. Where another node gives the
    /// locks, it was asked for that of the row before the error.
    fn has_lost_lead(&self, host: &dyn Host) -> bool {
        if !self.transaction.locks_here() {
            return false;
        }
        // Where nobody answers, the error stands.
        let _ = self.wait_for_newest(host);
        self.transaction.has_lost_lead()
    }

    /// 1290 for a change while the node takes none from this account (`read_only`, `super_read_only`).
    pub(crate) fn check_server_writable(&mut self) -> SqlResult<()> {
        let option = match self.engine.globals().write_barrier() {
            WriteBarrier::None => return Ok(()),
            WriteBarrier::ReadOnly
                if self
                    .access()
                    .has_any(Privileges::SUPER, &[DynamicPrivilege::CONNECTION_ADMIN]) =>
            {
                return Ok(());
            }
            WriteBarrier::ReadOnly => "--read-only",
            WriteBarrier::SuperReadOnly => "--super-read-only",
        };
        Err(SqlError::new(ErrorKind::OptionPreventsStatement, &[&option]))
    }
}

/// Whether it shows what the session knows itself: no other node is asked, and there may be none.
fn is_of_session(statement: &Statement) -> bool {
    let Statement::Show(show) = statement else {
        return false;
    };
    matches!(
        **show,
        ast::Show::Warnings { .. } | ast::Show::Errors { .. } | ast::Show::Status { .. }
    )
}

fn is_change(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)
    )
}

impl Session {
    /// Does what is done by one commit, and again where the lead changes meanwhile: then nothing of it was done.
    pub(super) fn while_leads_change(
        &mut self,
        host: &dyn Host,
        mut attempt: impl FnMut(&mut Session) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let mut lost_at = None;
        loop {
            let error = match attempt(self) {
                Err(error) if is_for_another_leader(&error) => error,
                done => return done,
            };
            let now = self.engine.env().clock.monotonic();
            if now.saturating_sub(*lost_at.get_or_insert(now)) > LEADER_PATIENCE {
                return Err(error);
            }
            pause(host)?;
        }
    }
}

/// A moment in which another node may be elected.
pub(super) fn pause(host: &dyn Host) -> SqlResult<()> {
    pause_for(LEADER_PAUSE, host)
}

#[cold]
pub fn wait_for_freshness(freshness: Freshness, host: &dyn Host) -> SqlResult<()> {
    let fresh = until(freshness, "Waiting for the newest commits", host).map_err(interrupted)?;
    fresh.map_err(|_| no_majority())
}

/// The table of classes and a runner disagree.
pub(crate) fn of_another_runner(statement: &Statement) -> SqlError {
    SqlError::internal(format!(
        "{} came to a runner of other statements",
        crate::refuse::name_of(statement)
    ))
}
