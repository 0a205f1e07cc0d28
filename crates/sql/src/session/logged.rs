//! What a session tells of its statements: to the logs, and to those who ask how long statements take.

use std::sync::Arc;
use std::time::Duration;

use parser::ast::{self, Statement};
use types::{RowLayout, SqlResult, Value};

use super::Session;
use crate::host::Host;
use crate::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};
use crate::slow_digests::{self, Slow};
use crate::statement_logs::{Cost, Sender, Switches};

/// Of the statement that runs, for whoever looks at slow ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct Running {
    pub rows_examined: u64,
    pub lock_waits: Duration,
    pub searches_without_index: bool,
}

impl Session {
    /// Runs a statement of the client's, and tells of it.
    #[inline]
    pub(super) fn run_and_tell<T>(
        &mut self,
        command: &'static str,
        (statement, text): (&Statement, &[u8]),
        sink: &mut dyn ResultSink,
        run: impl FnOnce(&mut Session, &mut dyn ResultSink) -> SqlResult<T>,
    ) -> SqlResult<T> {
        self.state.running.set(Running::default());
        let began = self.engine.env().clock.monotonic();
        let switches = self.engine.logs().switches();
        let is_logged = switches.has(Switches::GENERAL) || switches.has(Switches::SLOW);
        let (ran, rows) = match is_logged {
            false => (run(self, sink), 0),
            true => {
                self.log_text(command, text);
                let mut counted = CountedRows { sink, rows: 0 };
                (run(self, &mut counted), counted.rows)
            }
        };
        let took = self.engine.env().clock.monotonic().saturating_sub(began);
        if is_logged {
            self.log_end(took, statement, text, rows);
        }
        self.engine.statement_times().note(took);
        if took >= slow_digests::SLOW {
            self.note_slow(took, text, ran.is_err());
        }
        ran
    }

    #[cold]
    fn note_slow(&self, took: Duration, text: &[u8], has_failed: bool) {
        let (user, host) = self.options.account.name();
        self.engine.slow_digests().note(Slow {
            text,
            mode: self.variables.settings.sql_mode().for_parser(),
            database: self.database.clone(),
            user: &format!("{user}@{host}"),
            took,
            running: self.state.running.get(),
            has_failed,
            at_micros: self.engine.clock_micros(),
        });
    }

    #[cold]
    fn note_general(&self, command: &'static str, text: &[u8]) {
        if !self.variables.settings.sql_log_off {
            let logs = self.engine.logs();
            logs.note_general(self.engine.clock_micros(), self.sender(), command, text);
        }
    }

    /// Notes a command in the general log.
    pub(super) fn log_text(&self, command: &'static str, text: &[u8]) {
        if self.engine.logs().switches().has(Switches::GENERAL) {
            self.note_general(command, text);
        }
    }

    /// Notes a command that is no statement in the general log.
    pub(super) fn log_command(&self, command: &'static str, text: impl FnOnce(&Session) -> String) {
        if self.engine.logs().switches().has(Switches::GENERAL) {
            self.note_general(command, text(self).as_bytes());
        }
    }

    /// Notes a statement in the slow query log, if it was slow.
    #[cold]
    fn log_end(&self, elapsed: Duration, statement: &Statement, text: &[u8], rows_sent: u64) {
        let logs = self.engine.logs();
        let switches = logs.switches();
        let settings = &self.variables.settings;
        let running = self.state.running.get();
        let is_slow = elapsed > settings.long_query_time
            || running.searches_without_index && switches.has(Switches::WITHOUT_INDEX);
        let is_wanted = is_slow
            && running.rows_examined >= settings.min_examined_row_limit
            && (switches.has(Switches::ADMIN) || !is_administration(statement));
        if switches.has(Switches::SLOW) && is_wanted {
            let cost = Cost {
                elapsed,
                lock_waits: running.lock_waits,
                rows_sent,
                rows_examined: running.rows_examined,
                last_insert_id: self.state.last_insert_id.get(),
            };
            logs.note_slow(self.engine.clock_micros(), self.sender(), cost, text);
        }
    }

    fn sender(&self) -> Sender {
        let (account, _) = self.options.account.name();
        let host = &self.options.host;
        let (name, address) = match host.parse::<std::net::IpAddr>() {
            Ok(_) => ("", host.as_str()),
            Err(_) => (host.as_str(), ""),
        };
        Sender {
            user_host: format!("{account}[{}] @ {name} [{address}]", self.options.user),
            connection_id: self.options.connection_id,
            database: self.database.clone(),
        }
    }
}

/// What is only slow where `log_slow_admin_statements` says so.
fn is_administration(statement: &Statement) -> bool {
    match statement {
        Statement::AlterTable(_) | Statement::CreateIndex(_) | Statement::DropIndex(_) => true,
        Statement::TableMaintenance(maintenance) => !matches!(maintenance.action, ast::MaintenanceAction::Checksum(_)),
        _ => false,
    }
}

/// Counts the rows on their way to the client.
struct CountedRows<'a> {
    sink: &'a mut dyn ResultSink,
    rows: u64,
}

impl ResultSink for CountedRows<'_> {
    fn columns(&mut self, shape: &Arc<ResultShape>, status: ServerStatus) -> SqlResult<()> {
        self.sink.columns(shape, status)
    }

    fn row(&mut self, values: &[Value]) -> SqlResult<()> {
        self.rows += 1;
        self.sink.row(values)
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> SqlResult<()> {
        self.rows += 1;
        self.sink.stored_row(layout, row, projection)
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }

    fn flush(&mut self, host: &dyn Host) -> SqlResult<()> {
        self.sink.flush(host)
    }

    fn receive_file(
        &mut self,
        path: &str,
        host: &dyn Host,
        take: &mut dyn FnMut(&[u8]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        self.sink.receive_file(path, host, take)
    }

    fn end(&mut self, end: ResultEnd) -> SqlResult<()> {
        self.sink.end(end)
    }

    fn ok(&mut self, done: Done) -> SqlResult<()> {
        self.sink.ok(done)
    }
}
