//! What each command does: the client's packet to the session, the session's answer to the send buffer.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use front::{FiberHost, Handle};
use mysql_wire::command::{Command, SetOption, code, refresh};
use mysql_wire::statement::{Execute, Prepared};
use sql_api::host::Host;
use sql_api::result::{Done, ResultEnd, ServerStatus};
use sql_api::session::{Fetch, Session};
use types::{CharsetId, ErrorKind, SqlError, SqlResult, Value};

use crate::columns::{write_definitions, write_field_list, write_parameters};
use crate::login::Request;
use crate::prepared::{Statements, unknown_statement};
use crate::server::Shared;
use crate::sink::{Answer, Protocol, Sink, Timeouts};
use crate::socket::PacketSocket;

/// What to do after a command.
pub enum Next {
    Command,
    /// Close, once what is collected has been sent.
    Close,
    /// The client cannot be reached.
    Broken,
    /// Log in anew; the answer is part of that.
    ChangeUser(Box<Request>),
}

/// A logged-in connection's conversation: everything but the bytes not read yet.
pub struct Dialog {
    pub shared: Arc<Shared>,
    pub handle: Arc<Handle>,
    pub socket: Rc<PacketSocket>,
    pub session: Box<dyn Session>,
    pub answer: Answer,
    pub statements: Statements,
    /// Kept between executions for its memory.
    pub parameters: Vec<Value>,
}

impl Drop for Dialog {
    fn drop(&mut self) {
        self.shared.registry().return_statements(self.statements.len());
    }
}

impl Dialog {
    /// Runs one command and leaves its answer in the output.
    pub fn run(&mut self, packet: &[u8], host: &FiberHost) -> Next {
        let label = label_of(packet.first().copied().unwrap_or(code::SLEEP));
        let next = match Command::decode(packet, self.answer.capabilities) {
            Ok(command) => {
                self.handle.begin(label, self.text_of(&command));
                self.dispatch(command, host)
            }
            Err(_) => {
                self.handle.begin(label, b"");
                Err(ErrorKind::MalformedPacket.into())
            }
        };
        let next = next.unwrap_or_else(|error| {
            self.answer.output.drop_begun();
            self.answer.error(&error, self.session.results_collation());
            self.shared.registry().count_error(error.code());
            Next::Command
        });
        self.handle.end();
        match next {
            Next::Command if self.session.ends() => Next::Close,
            next => next,
        }
    }

    /// After a panic inside a command: answers 1105, and the session goes on without its transaction.
    pub fn recover(&mut self, host: &FiberHost) -> Next {
        self.answer.output.drop_begun();
        host.limit_time(None);
        let session = catch_unwind(AssertUnwindSafe(|| self.session.recover()));
        let (_, mut sink) = self.sink(Protocol::Text);
        sink.skip_rest_of_file(host);
        let is_broken = sink.broken;
        let (message, next) = match session {
            Ok(()) => (
                "The statement ran into an internal error; its transaction was rolled back",
                Next::Command,
            ),
            Err(_) => (
                "The statement ran into an internal error; the connection is closed",
                Next::Close,
            ),
        };
        let error = SqlError::with_message(ErrorKind::UnknownError, message);
        self.answer.error(&error, self.session.results_collation());
        self.shared.registry().count_error(error.code());
        self.handle.end();
        match is_broken {
            true => Next::Broken,
            false => next,
        }
    }

    /// What the process list shows of a command.
    fn text_of<'a>(&'a self, command: &Command<'a>) -> &'a [u8] {
        match command {
            Command::Query(text) | Command::StmtPrepare(text) | Command::InitDb(text) => text,
            Command::StmtExecute(execute) => self
                .statements
                .get(execute.statement_id)
                .map_or(&[], |statement| &statement.text),
            _ => b"",
        }
    }

    fn dispatch(&mut self, command: Command, host: &FiberHost) -> SqlResult<Next> {
        match command {
            Command::StmtExecute(execute) => return self.execute(&execute, host),
            Command::Query(text) => return self.query(text, host),
            Command::Refresh(flags) => {
                let statement = flush_statement(flags).ok_or(ErrorKind::UnknownCom)?;
                return self.query(statement.as_bytes(), host);
            }
            Command::ProcessInfo => return self.query(b"SHOW PROCESSLIST", host),
            Command::ProcessKill(id) => return self.query(format!("KILL {id}").as_bytes(), host),
            Command::StmtFetch { statement_id, rows } => return self.fetch(statement_id, rows, host),
            Command::StmtPrepare(text) => self.prepare(text, host)?,
            Command::StmtSendLongData {
                statement_id,
                parameter,
                data,
            } => {
                let limit = usize::try_from(self.session.max_allowed_packet()).unwrap_or(usize::MAX);
                self.statements.append_long_data(statement_id, parameter, data, limit);
            }
            Command::StmtClose(id) => {
                if self.statements.remove(id) {
                    self.shared.registry().return_statements(1);
                }
                self.session.close_statement(id);
            }
            Command::StmtReset(id) => {
                self.statements
                    .get(id)
                    .ok_or_else(|| unknown_statement(id, "mysqld_stmt_reset"))?;
                self.statements.reset(id);
                self.session.reset_statement(id)?;
                self.plain_ok();
            }
            Command::Ping => self.plain_ok(),
            Command::InitDb(name) => {
                let name = client_text(self.session.client_charset(), name);
                self.session.use_database(&name)?;
                self.handle.set_database(Some(&name));
                self.answer.ok(&Done {
                    status: self.session.status(),
                    current_database: Some(name.into()),
                    ..Done::default()
                });
            }
            Command::FieldList { table, wildcard } => self.field_list(table, wildcard)?,
            Command::Statistics => {
                let text = self.statistics();
                self.answer.output.packet(|out| out.extend_from_slice(text.as_bytes()));
            }
            Command::SetOption(option) => {
                self.session
                    .set_multi_statements(option == SetOption::MultiStatementsOn);
                self.plain_end();
            }
            Command::Debug => self.plain_end(),
            Command::ResetConnection => {
                self.forget_statements();
                self.session.reset();
                self.plain_ok();
            }
            Command::ChangeUser(change) => {
                return Ok(Next::ChangeUser(Box::new(Request::from_change_user(&change))));
            }
            Command::Quit => return Ok(Next::Close),
            Command::Unknown(_) => return Err(ErrorKind::UnknownCom.into()),
        }
        Ok(Next::Command)
    }

    fn query(&mut self, text: &[u8], host: &FiberHost) -> SqlResult<Next> {
        let (session, mut sink) = self.sink(Protocol::Text);
        let outcome = session.query(text, host, &mut sink);
        sink.skip_rest_of_file(host);
        let next = next_after(&sink, outcome);
        self.handle.set_database(self.session.database());
        next
    }

    fn prepare(&mut self, text: &[u8], host: &FiberHost) -> SqlResult<()> {
        let limit = self.shared.config.prepared_statements_max;
        if !self.shared.registry().take_statement(limit) {
            return Err(SqlError::new(ErrorKind::MaxPreparedStmtCountReached, &[&limit]));
        }
        let place = Place(&self.shared);
        let info = self.session.prepare(text, host)?;
        // From here on it is given back with the statement.
        std::mem::forget(place);
        self.statements.insert(info.id, text, info.parameters);
        let shape = info.columns.filter(|shape| !shape.columns.is_empty());
        let packet = Prepared {
            statement_id: info.id,
            columns: shape.as_ref().map_or(0, |shape| shape.columns.len() as u16),
            parameters: info.parameters as u16,
            warnings: info.warnings,
        };
        let status = self.session.status();
        self.answer.output.packet(|out| packet.encode(out));
        if info.parameters > 0 {
            write_parameters(&mut self.answer.output, info.parameters);
            self.answer.end_of_definitions(status);
        }
        if let Some(shape) = shape {
            write_definitions(&mut self.answer.output, &shape, self.session.results_collation());
            self.answer.end_of_definitions(status);
        }
        Ok(())
    }

    fn execute(&mut self, execute: &Execute, host: &FiberHost) -> SqlResult<Next> {
        let id = execute.statement_id;
        let mut parameters = std::mem::take(&mut self.parameters);
        self.statements
            .bind(execute, self.session.client_charset(), &mut parameters)?;
        let fetch = if execute.cursor.wants_cursor() {
            Fetch::Cursor
        } else {
            Fetch::All
        };
        let (session, mut sink) = self.sink(Protocol::Binary);
        let outcome = session.execute(id, &parameters, fetch, host, &mut sink);
        let next = next_after(&sink, outcome);
        let cursor = sink.into_cursor();
        if let Some(statement) = self.statements.get_mut(id) {
            statement.cursor = cursor;
        }
        parameters.clear();
        self.parameters = parameters;
        next
    }

    fn fetch(&mut self, id: u32, rows: u32, host: &FiberHost) -> SqlResult<Next> {
        let unknown = || unknown_statement(id, "mysqld_stmt_fetch");
        let shape = self.statements.get(id).ok_or_else(unknown)?.cursor.clone();
        if shape.is_none() {
            return Err(SqlError::new(ErrorKind::StmtHasNoOpenCursor, &[&id]));
        }
        let (session, sink) = self.sink(Protocol::Binary);
        let mut sink = sink.with_shape(shape);
        let outcome = session.fetch(id, rows as usize, host, &mut sink);
        next_after(&sink, outcome)
    }

    fn field_list(&mut self, table: &[u8], wildcard: &[u8]) -> SqlResult<()> {
        let charset = self.session.client_charset();
        let (table, wildcard) = (client_text(charset, table), client_text(charset, wildcard));
        let shape = self.session.field_list(&table, &wildcard)?;
        write_field_list(&mut self.answer.output, &shape, self.session.results_collation());
        self.plain_end();
        Ok(())
    }

    fn statistics(&self) -> String {
        let now = self.shared.registry().statistics();
        let per_second = now.commands as f64 / now.uptime_seconds.max(1) as f64;
        format!(
            "Uptime: {}  Threads: {}  Questions: {}  Slow queries: 0  Opens: 0  Flush tables: 0  Open tables: 0  \
             Queries per second avg: {per_second:.3}",
            now.uptime_seconds, now.connected, now.commands
        )
    }

    /// Prepared statements end with the session's state.
    pub fn forget_statements(&mut self) {
        self.shared.registry().return_statements(self.statements.len());
        self.statements.clear();
    }

    fn plain_ok(&mut self) {
        self.answer.plain_ok(self.session.status());
    }

    fn plain_end(&mut self) {
        let status = self.session.status();
        self.answer.end(ResultEnd { warnings: 0, status });
    }

    fn sink(&mut self, protocol: Protocol) -> (&mut dyn Session, Sink<'_>) {
        let collation = self.session.results_collation();
        let timeouts = Timeouts {
            read: self.session.net_read_timeout(),
            write: self.session.net_write_timeout(),
        };
        (
            &mut *self.session,
            Sink::new(&mut self.answer, &self.socket, protocol, collation, timeouts),
        )
    }
}

/// The place of a statement among all prepared ones, given back where none comes to be.
struct Place<'a>(&'a Shared);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.registry().return_statements(1);
    }
}

/// The `Command` column of `SHOW PROCESSLIST`.
fn label_of(command: u8) -> &'static str {
    match command {
        code::SLEEP => "Sleep",
        code::QUIT => "Quit",
        code::INIT_DB => "Init DB",
        code::QUERY => "Query",
        code::FIELD_LIST => "Field List",
        code::STATISTICS => "Statistics",
        code::PROCESS_INFO => "Processlist",
        code::PROCESS_KILL => "Kill",
        code::DEBUG => "Debug",
        code::PING => "Ping",
        code::CHANGE_USER => "Change user",
        code::STMT_PREPARE => "Prepare",
        code::STMT_EXECUTE => "Execute",
        code::STMT_SEND_LONG_DATA => "Long Data",
        code::STMT_CLOSE => "Close stmt",
        code::STMT_RESET => "Reset stmt",
        code::SET_OPTION => "Set option",
        code::STMT_FETCH => "Fetch",
        code::RESET_CONNECTION => "Reset Connection",
        _ => "Error",
    }
}

/// An error goes to the client, unless nothing can.
fn next_after(sink: &Sink, outcome: SqlResult<()>) -> SqlResult<Next> {
    if sink.broken {
        Ok(Next::Broken)
    } else {
        outcome.map(|()| Next::Command)
    }
}

/// A name as the client sent it.
fn client_text(charset: CharsetId, bytes: &[u8]) -> Cow<'_, str> {
    charset.decode(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes))
}

const _: () = assert!(ServerStatus::CURSOR_EXISTS.0 == mysql_wire::Status::CURSOR_EXISTS.0);

/// COM_REFRESH as a statement; none for flags that mean nothing here.
fn flush_statement(flags: u8) -> Option<String> {
    if flags == refresh::TABLES {
        return Some("FLUSH TABLES".to_owned());
    }
    let known = [
        (refresh::PRIVILEGES, "PRIVILEGES"),
        (refresh::LOGS, "LOGS"),
        // Go with the others in `mysqladmin refresh`; there are no tables to close, and no threads are kept.
        (refresh::TABLES, ""),
        (refresh::THREADS, ""),
        (refresh::HOSTS, "HOSTS"),
        (refresh::STATUS, "STATUS"),
    ];
    let meant = known.iter().fold(0, |meant, (flag, _)| meant | flag);
    let targets: Vec<&str> = known
        .iter()
        .filter(|(flag, name)| flags & flag != 0 && !name.is_empty())
        .map(|(_, name)| *name)
        .collect();
    (flags & !meant == 0 && !targets.is_empty()).then(|| format!("FLUSH {}", targets.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refresh_is_a_flush_of_what_its_flags_say() {
        assert_eq!(flush_statement(refresh::LOGS).as_deref(), Some("FLUSH LOGS"));
        assert_eq!(flush_statement(refresh::TABLES).as_deref(), Some("FLUSH TABLES"));
        let both = refresh::PRIVILEGES | refresh::TABLES | refresh::STATUS;
        assert_eq!(flush_statement(both).as_deref(), Some("FLUSH PRIVILEGES, STATUS"));
        assert_eq!(flush_statement(0), None);
        assert_eq!(flush_statement(64), None);
    }
}
