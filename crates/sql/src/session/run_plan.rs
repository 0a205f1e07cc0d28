//! Runs a plan in the session's transaction: locks its tables, runs it, and once more on a newer snapshot where the first statement of a
//! transaction met a newer row.

use std::sync::Arc;

use env::Directory;
use store::{LockKey, LockMode};
use transaction::{Isolation, LockPolicy, Settled, StatementScope};
use types::{ErrorKind, SqlError, SqlResult};

use super::Session;
use super::logged::Running;
use super::parameters::Parameters;
use super::retry::{HeldRows, RetryPoint};
use super::services::SessionServices;
use crate::ddl::name_key;
use crate::engine::Engine;
use crate::exec::ServerTables;
use crate::exec::dml::{self, Changed};
use crate::exec::{self, Runtime};
use crate::exec::{Answer, counted};
use crate::expr::StatementContext;
use crate::expr::context::Strictness;
use crate::failpoint;
use crate::host::Host;
use crate::information_schema::SessionView;
use crate::plan::{Plan, Planned};
use crate::program::ProgramsOfStatement;
use crate::result::{Done, ResultSink, ServerStatus};
use crate::server_files::FileSource;
use crate::statement_logs::Switches;
use crate::table::Table;
use crate::waiting::wait_for_room;

impl Session {
    /// Runs a plan once, or again on a newer snapshot.
    pub(super) fn run_plan(
        &mut self,
        planned: &Planned,
        catalog_version: u64,
        parameters: Parameters<'_>,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> Result<Answer, Failure> {
        let plan = &planned.plan;
        match planned.uses_tables() {
            true => self.transaction.for_statement(&self.engine, &self.variables.settings),
            false => self.transaction.for_expressions(&self.engine, &self.variables.settings),
        };
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
        if plan.is_change() {
            wait_for_room(host).map_err(Failure::Error)?;
        }
        let now = self.statement_time();
        let transaction = self.transaction.current().expect("begun above");
        // A lone SELECT is serializable as it is: it sees one moment, and changes nothing.
        let is_serializable = transaction.borrow().options().isolation == Isolation::Serializable;
        let locks_reads = is_serializable
            && (self.transaction.in_transaction() || plan.is_change())
            && !env::failpoints::goes_wrong("serializable");
        let server_tables = self.access.as_ref().map(|(_, access)| SessionView {
            engine: &self.engine,
            access,
            temporary: &self.temporary,
            encryption: self.state.encryption.as_ref(),
            compression: self.options.compression,
            host,
        });
        let is_part = self.transaction.is_part();
        let programs = ProgramsOfStatement::new(self, planned, transaction, host);
        let runtime = Runtime::new(
            self.engine.participant(),
            host,
            transaction,
            settings.of_statement(self.options.found_rows),
        )
        .locking_reads(locks_reads)
        .beside(self.transaction.past_source())
        .under(&*self.table_locks)
        .measuring(self.analysis.as_ref().map(|analysis| &analysis.measures))
        .running(&programs)
        .showing(server_tables.as_ref().map(|tables| tables as &dyn ServerTables));
        let scope = match self.transaction.in_transaction() {
            true => StatementScope::InTransaction,
            false => StatementScope::Alone,
        };
        let savepoint = {
            let mut transaction = transaction.borrow_mut();
            match plan {
                // A part sees what its statement sees.
                _ if is_part => transaction.savepoint(),
                plan if !plan.is_change() && planned.uses.changes_by_functions => transaction.begin_locking_read(scope),
                // What the client sends of a file cannot be read twice.
                Plan::Load(_) => transaction.begin_statement(),
                plan if plan.is_change() => transaction.begin_change(scope),
                plan if plan.is_locking_read() => transaction.begin_locking_read(scope),
                _ => transaction.begin_statement(),
            }
        };
        let examined_before = transaction.borrow().examined();
        let definitions = match is_part {
            true => Definitions::AtOnce,
            false => Definitions::WithRows,
        };
        let retry = (!is_part && transaction.borrow().is_settling()).then(|| RetryPoint::new(&self.state, &runtime));
        let (result, warnings) = loop {
            let ctx = StatementContext::new(&settings.expressions, &services, now)
                .with_params(parameters.values)
                .with_strictness(strictness)
                .with_runner(&runtime);
            runtime.first_automatic_id.set(None);
            // Rows that are sent cannot be taken back, and it may run, or be planned, again.
            let may_run_again = !is_part && (retry.is_some() || transaction.borrow().may_lock_later());
            let locks = plan.is_locking_read() || planned.uses.changes_by_functions && !plan.is_change();
            let mut held = (may_run_again && locks).then(|| HeldRows::new(runtime.query_memory()));
            let target = match &mut held {
                Some(held) => held as &mut dyn ResultSink,
                None => &mut *sink,
            };
            if plan.is_change() && !is_part {
                transaction.borrow_mut().begin_claims();
            }
            let mut result = lock_definitions(&self.engine, planned, &runtime, scope, definitions, catalog_version)
                .and_then(|()| lock_tables(plan, &runtime).map_err(Failure::Error))
                .and_then(|()| {
                    run_once(plan, &runtime, &ctx, target, status, self.engine.server_files()).map_err(Failure::Error)
                })
                .and_then(|answer| runtime.settle_claims().map(|()| answer).map_err(Failure::Error))
                .and_then(|answer| failpoint::hit("statement.ran").map(|()| answer).map_err(Failure::Error))
                .and_then(|answer| {
                    governor::check()
                        .map(|()| answer)
                        .map_err(|stop| Failure::Error(stop.into()))
                });
            if is_part {
                // What follows in the program would not see what it has to.
                result = result.and_then(|answer| runtime.check_not_stale().map(|()| answer).map_err(Failure::Error));
                let mut transaction = transaction.borrow_mut();
                if result.is_err() {
                    transaction.rollback_to(savepoint);
                }
                transaction.release(savepoint);
                break (result, ctx.take_warnings());
            }
            if result.is_err() {
                // It may have failed for a definition that is out of date. Another error would say no more.
                let _ = runtime.lock_later();
            }
            if transaction.borrow_mut().take_late_definitions() && self.engine.catalog_version() != catalog_version {
                result = Err(Failure::SchemaChanged);
                programs.undo();
            }
            let settled = match &result {
                Err(failure) if failure.is_of_the_moment() || !transaction.borrow().is_stale() => Settled::Yes,
                _ => transaction.borrow_mut().settle(),
            };
            if settled != Settled::Yes {
                transaction.borrow_mut().restart_statement(savepoint);
                programs.undo();
                if let Some(retry) = &retry {
                    retry.restore(&self.state, &runtime);
                }
                result = match lock_whole_tables(settled, &runtime) {
                    Ok(()) => continue,
                    Err(error) => Err(Failure::Error(error)),
                };
            }
            transaction.borrow_mut().end_claims();
            match &result {
                Ok(_) => transaction.borrow_mut().end_statement(savepoint),
                Err(Failure::SchemaChanged) => transaction.borrow_mut().undo_statement(savepoint),
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
        let switches = self.engine.logs().switches();
        let without_index =
            switches.has(Switches::SLOW) && switches.has(Switches::WITHOUT_INDEX) && plan.searches_without_index();
        let before = self.state.running.get();
        self.state.running.set(Running {
            rows_examined: before.rows_examined + transaction.borrow().examined().saturating_sub(examined_before),
            lock_waits: before.lock_waits + runtime.lock_waits.get(),
            searches_without_index: before.searches_without_index || without_index,
        });
        let changed = programs.into_changed();
        if let Some(part) = changed {
            self.take_changes_of(&part);
        }
        self.keep_warnings(warnings);
        result
    }
}

/// Why a plan did not run.
pub(super) enum Failure {
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

/// When a statement locks the definitions of what it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Definitions {
    /// A part of another statement, which may not be planned again for them.
    AtOnce,
    WithRows,
}

/// Keeps DDL and LOCK TABLES away from what the statement uses until the transaction ends. A lone SELECT keeps nobody away, and only
/// waits for whoever was there before it.
fn lock_definitions(
    engine: &Engine,
    planned: &Planned,
    runtime: &Runtime<'_>,
    scope: StatementScope,
    definitions: Definitions,
    catalog_version: u64,
) -> Result<(), Failure> {
    let changed = planned.changed_tables();
    let is_alone = scope == StatementScope::Alone && changed.is_empty();
    let mut has_locked = false;
    let mut lock = |table: &Table, mode| {
        let is_free = is_alone && !engine.is_definition_wanted(table.id());
        if is_free || table.id().is_local() || runtime.holds(table) {
            return Ok(());
        }
        has_locked = true;
        runtime.lock_definition(LockKey::Definition(table.id()), mode)
    };
    for table in planned.locked_sources() {
        lock(table, LockMode::IntentionExclusive).map_err(Failure::Error)?;
    }
    if runtime.settings.foreign_key_checks {
        for (table, mode) in planned.foreign_keys().iter().flat_map(|keys| &keys.locks) {
            lock(table, *mode).map_err(Failure::Error)?;
        }
    }
    for table in &planned.uses.tables {
        // The lock of a table that is changed says as much.
        if !changed.iter().any(|changed| changed.id() == table.id()) {
            lock(table, LockMode::IntentionShared).map_err(Failure::Error)?;
        }
    }
    if scope == StatementScope::InTransaction {
        for view in &planned.uses.views {
            let key = name_key(&view.database, &view.name);
            let locked = runtime.lock_definition(LockKey::Name(&key), LockMode::IntentionShared);
            locked.map_err(Failure::Error)?;
            has_locked = true;
        }
    }
    // Of what is changed, rows are locked before they are looked at: with the first of them will do.
    for table in changed
        .iter()
        .filter(|table| !table.id().is_local() && !runtime.holds(table))
    {
        has_locked = true;
        let (key, mode) = (LockKey::Definition(table.id()), LockMode::IntentionExclusive);
        let locked = match definitions {
            Definitions::AtOnce => runtime.lock_definition(key, mode),
            Definitions::WithRows => runtime.lock_definition_later(key, mode),
        };
        locked.map_err(Failure::Error)?;
    }
    let reads_unlocked = is_alone && !has_locked && planned.uses.tables.iter().any(|table| !table.id().is_local());
    if reads_unlocked {
        // Taken before the catalog is looked at, it shows the tables as they were planned: whatever redefines them from here on is newer.
        runtime.transaction().snapshot();
    }
    if !(has_locked || reads_unlocked) || engine.catalog_version() == catalog_version {
        return Ok(());
    }
    if reads_unlocked {
        runtime.transaction().renew_snapshot();
    }
    Err(Failure::SchemaChanged)
}

/// Lets others know that some rows of these tables will be changed, or locked, until the transaction ends.
fn lock_tables(plan: &Plan, runtime: &Runtime<'_>) -> SqlResult<()> {
    // What is looked through is locked as a whole at SERIALIZABLE. Done in two steps, two of a kind would stop each other in between.
    let mode = match runtime.locks_reads() && plan.locks_ranges() {
        true => LockMode::Exclusive,
        false => LockMode::IntentionExclusive,
    };
    for table in plan.changed_tables().iter().filter(|table| !runtime.holds(table)) {
        runtime
            .with_locks(|transaction| transaction.lock_table(table.id(), mode, LockPolicy::Wait))
            .map_err(|error| error.into_sql(table))?;
    }
    for table in plan.locked_sources().iter().filter(|table| !runtime.holds(table)) {
        runtime
            .with_locks(|transaction| {
                transaction.lock_table(table.id(), LockMode::IntentionExclusive, LockPolicy::Wait)
            })
            .map_err(|error| error.into_sql(table))?;
    }
    let keys = match runtime.settings.foreign_key_checks {
        true => plan.foreign_keys(),
        false => Vec::new(),
    };
    for (table, mode) in keys.iter().flat_map(|keys| &keys.locks) {
        if runtime.holds(table) {
            continue;
        }
        runtime
            .with_locks(|transaction| transaction.lock_table(table.id(), *mode, LockPolicy::Wait))
            .map_err(|error| error.into_sql(table))?;
    }
    Ok(())
}

fn run_once(
    plan: &Plan,
    runtime: &Runtime<'_>,
    ctx: &StatementContext<'_>,
    sink: &mut dyn ResultSink,
    status: ServerStatus,
    files: Option<&Arc<Directory>>,
) -> SqlResult<Answer> {
    let ctx = ctx.eval();
    let changed = match plan {
        Plan::Straight(plan) => {
            let found = exec::straight::run(plan, runtime, &ctx, sink, status)?;
            return Ok(Answer::Rows { found });
        }
        Plan::Query(plan) => return exec::query::run(plan, runtime, &ctx, sink, status),
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
            let changed = match files.filter(|_| !plan.is_of_client) {
                Some(directory) => dml::load(plan, runtime, &ctx, &mut FileSource { directory })?,
                None => dml::load(plan, runtime, &ctx, sink)?,
            };
            let warnings = ctx.with_warnings(|warnings| warnings.count());
            let info = dml::load_info(plan, &changed, warnings);
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
        Plan::Multi(plan) => exec::query::change_tables(plan, runtime, &ctx)?,
    };
    if matches!(plan, Plan::Multi(plan) if plan.is_delete()) {
        return Ok(Answer::affected(changed.affected));
    }
    let warnings = ctx.with_warnings(|warnings| warnings.count());
    let info = counted(&[
        ("Rows matched", changed.matched),
        ("Changed", changed.affected),
        ("Warnings", warnings),
    ]);
    let affected = if runtime.settings.found_rows {
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
