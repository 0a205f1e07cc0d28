//! One client's session: its database, variables, transaction and prepared statements.
//!
//! * this file: what the protocol's commands call;
//! * [`statement`]: one statement, from its tree to the module that runs it;
//! * [`plan_for`], [`run_plan`]: queries and changes of rows, planned and run; [`into_file`]: queries whose rows become a file;
//! * [`retry`]: what a statement that runs again has to undo;
//! * [`answer`]: what the client is told at the end;
//! * [`transaction`]: begin, commit, savepoints, what an error ends; [`xa`]: those that end in two phases;
//! * [`prepared`]: prepared statements and cursors;
//! * [`table_locks`]: LOCK TABLES;
//! * [`handler`]: a table read row by row;
//! * [`kill`]: KILL, of sessions of other nodes, too;
//! * [`logged`]: what the logs of statements are told;
//! * [`services`]: what functions ask of the session;
//! * [`shared`]: what parts of a running statement have, too.

mod answer;
mod border;
pub mod by_key;
mod handler;
mod hints;
mod into_file;
pub(crate) mod kill;
mod logged;
pub(crate) mod parameters;
mod past;
mod persist;
mod plan_for;
mod prepared;
mod retry;
mod run_plan;
mod services;
mod set;
mod shared;
mod statement;
mod table_locks;
mod transaction;
mod xa;

use std::borrow::Cow;
use std::sync::Arc;

use parser::ast;
use types::{CharsetId, ErrorKind, SqlError, SqlResult, Warnings};

use self::handler::Handlers;
use self::transaction::SessionTransaction;
use crate::accounts::access::Access;
use crate::accounts::logins::AccountUse;
use crate::accounts::rights::{AccountName, DatabaseNames};
use crate::engine::Engine;
use crate::host::Host;
use crate::plan::Authorizer as _;
use crate::program::Programs;
use crate::result::{Done, ResultShape, ResultSink, ServerStatus};
use crate::show::Analysis;
use crate::temporary::{TemporaryTables, free_rows};
use crate::variables::SessionVariables;
use parameters::Parameters;
use prepared::PreparedStatements;
use services::SessionState;
use shared::Shared;

pub(crate) use self::shared::Shared as SharedWithParts;
pub use self::transaction::wait_for_commit;
pub use sql_api::session::{Encryption, Fetch, PreparedInfo, SessionAccount, SessionOptions};

pub(crate) use crate::exec::Answer;
pub(crate) use logged::Running;
pub(crate) use services::DefinitionServices;
pub(crate) use statement::of_another_runner;
pub use statement::wait_for_freshness;
pub use table_locks::TableLocks;

/// One client's session. Lives on one thread at a time; statements run one after another.
pub struct Session {
    pub(crate) engine: Arc<Engine>,
    pub(crate) options: SessionOptions,
    pub(crate) database: Option<Arc<str>>,
    pub(crate) variables: SessionVariables,
    pub(crate) transaction: SessionTransaction,
    pub(crate) state: Shared<SessionState>,
    pub(crate) prepared: PreparedStatements,
    /// Of the last statement, for SHOW WARNINGS.
    pub(crate) warnings: Warnings,
    /// What it may do, by the catalog of this version and with the roles that are active.
    pub(crate) access: Option<((u64, DatabaseNames), Arc<Access>)>,
    pub(crate) active_roles: Vec<AccountName>,
    /// Where its statements are counted, if they are limited.
    pub(crate) account_use: Option<Arc<AccountUse>>,
    /// Shared with the parts of a running statement.
    pub(crate) table_locks: Shared<TableLocks>,
    pub(crate) temporary: TemporaryTables,
    /// While EXPLAIN ANALYZE runs its query.
    pub(crate) analysis: Option<Box<Analysis>>,
    pub(crate) programs: Programs,
    handlers: Handlers,
    /// The session ends after the current answer (`COMMIT RELEASE`, `KILL` of oneself).
    pub(crate) ends: bool,
}

impl Session {
    /// Opens a session; 1049 where the database does not exist.
    pub fn new(engine: Arc<Engine>, options: SessionOptions) -> SqlResult<Session> {
        let mut variables = SessionVariables::new(engine.globals());
        variables.set_client_collation(options.collation_id)?;
        let state = Shared::new(SessionState::new(&options, engine.env().random.next_u64()));
        let mut session = Session {
            database: None,
            variables,
            transaction: SessionTransaction::of(options.connection_id),
            state,
            prepared: PreparedStatements::default(),
            warnings: Warnings::default(),
            access: None,
            active_roles: Vec::new(),
            account_use: engine.statement_counters(&options.account),
            table_locks: Shared::default(),
            temporary: TemporaryTables::default(),
            analysis: None,
            programs: Programs::default(),
            handlers: Handlers::default(),
            ends: false,
            options,
            engine,
        };
        session.activate_login_roles();
        if let Some(database) = session.options.database.clone().filter(|name| !name.is_empty()) {
            session.enter_database(&database)?;
        }
        session.log_command("Connect", |session| {
            let (user, host) = (&session.options.user, &session.options.host);
            format!("{user}@{host} on {}", session.database().unwrap_or(""))
        });
        Ok(session)
    }

    /// `COM_QUERY`. Runs one statement, or several where the client asked for multi-statements; each pushes its own
    /// answer, all but the last with [`ServerStatus::MORE_RESULTS`]. An error ends the series.
    pub fn query(&mut self, text: &[u8], host: &dyn Host, sink: &mut dyn ResultSink) -> SqlResult<()> {
        let mut text = self.client_text(text);
        let mut rest = parser::without_end(&text);
        loop {
            self.begin_statement();
            governor::tick()?;
            let (parsed, bytes) = governor::measured(|| self.parse(rest));
            if parsed.is_err() {
                self.log_text("Query", rest);
            }
            let parsed = match parsed {
                Err(error) if error.kind() == ErrorKind::EmptyQuery && is_comment(rest) => {
                    self.warnings.clear();
                    return sink.ok(Done {
                        status: self.status(),
                        ..Done::default()
                    });
                }
                parsed => parsed?,
            };
            if !parsed.last && !self.options.multi_statements {
                return Err(self.remember(crate::errors::syntax_error_at(rest, parsed.consumed)));
            }
            if parsed.params > 0 {
                return Err(self.remember(crate::errors::parameter_in_text(rest)));
            }
            let sent;
            (sent, rest) = rest.split_at(parsed.consumed);
            let sent = parser::without_end(sent);
            let more = if parsed.last {
                ServerStatus::default()
            } else {
                ServerStatus::MORE_RESULTS
            };
            self.state.user_variables_use.set(parsed.user_variables);
            let statement = Arc::new(parsed.statement);
            let charset = self.client_charset();
            let ran = self.run_and_tell("Query", (&statement, sent), &mut *sink, |session, sink| {
                session.run(&statement, Parameters::NONE, more, host, sink)
            });
            drop_shared(statement, bytes);
            ran?;
            if parsed.last {
                return Ok(());
            }
            if sink.is_full() {
                sink.flush(host)?;
            }
            if self.client_charset() != charset {
                let sent = match charset.is_utf8() {
                    true => rest.into(),
                    false => sent_in(charset, rest),
                };
                text = Cow::Owned(self.client_text(&sent).into_owned());
                rest = &text;
            }
        }
    }

    /// What the client sends, in UTF-8. Bytes that mean nothing in its character set stay.
    fn client_text<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let charset = self.client_charset();
        if charset.is_utf8() {
            return Cow::Borrowed(text);
        }
        match charset.decode(text) {
            Ok(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
            _ => Cow::Borrowed(text),
        }
    }

    /// From here on the governor counts for a new statement.
    pub(crate) fn begin_statement(&self) {
        let limit = match self.variables.settings.query_memory_limit {
            0 => self.engine.participant().store().memory().limit() / 4,
            limit => limit,
        };
        governor::begin_statement(limit);
    }

    pub(crate) fn parse(&mut self, text: &[u8]) -> SqlResult<parser::Parsed> {
        let mut mode = self.variables.settings.sql_mode().for_parser();
        mode.ignore_space |= self.options.ignore_space;
        let charset = self.client_charset();
        let parsed = match charset.is_utf8() {
            true => parser::parse(text, mode),
            false => parser::parse_converted(text, mode, &|text| sent_in(charset, text)),
        };
        let parsed = parsed.map_err(|error| self.remember(crate::errors::parse_error(&error)));
        governor::check()?;
        parsed
    }

    pub(crate) fn warning_count(&self) -> u16 {
        u16::try_from(self.warnings.count()).unwrap_or(u16::MAX)
    }

    fn keep_warnings(&mut self, warnings: Warnings) {
        if !warnings.is_empty() {
            self.warnings.append(warnings);
        }
    }

    /// Keeps an error for SHOW WARNINGS, as MySQL does.
    pub(crate) fn remember(&mut self, error: SqlError) -> SqlError {
        self.warnings.clear();
        self.warnings.push(types::Severity::Error, error.clone());
        error
    }

    /// `COM_INIT_DB`, `USE`.
    pub fn use_database(&mut self, name: &str) -> SqlResult<()> {
        if self.options.password_expired {
            return Err(ErrorKind::MustChangePassword.into());
        }
        self.enter_database(name)
    }

    fn enter_database(&mut self, name: &str) -> SqlResult<()> {
        // Before anything is told of the database, its existence with it.
        self.access().check_enter(name)?;
        let catalog = self.engine.catalog();
        let known = catalog.database(name).map(|database| database.def.collation);
        let collation = match known {
            Some(collation) => collation,
            None if crate::plan::is_virtual_database(name) => types::CollationId::DEFAULT,
            None => return Err(SqlError::new(ErrorKind::BadDb, &[&name])),
        };
        self.database = Some(name.into());
        self.variables.set_database_collation(collation)
    }

    /// `COM_RESET_CONNECTION`: rolls back, forgets variables, prepared statements, locks; keeps the database and the user.
    pub fn reset(&mut self) {
        self.forget_temporary_tables();
        self.transaction = SessionTransaction::of(self.options.connection_id);
        self.table_locks = Shared::default();
        self.give_up_named_locks();
        self.handlers = Handlers::default();
        self.variables = SessionVariables::new(self.engine.globals());
        let _ = self.variables.set_client_collation(self.options.collation_id);
        self.state = Shared::new(SessionState::new(&self.options, self.engine.env().random.next_u64()));
        self.activate_login_roles();
        self.close_all_statements();
        self.warnings.clear();
    }

    /// After a panic inside a statement, which may have left anything half done: rolls back, lets go of all locks and temporary tables.
    /// Variables and prepared statements stay.
    pub fn recover(&mut self) {
        self.forget_temporary_tables();
        self.transaction = SessionTransaction::of(self.options.connection_id);
        self.table_locks = Shared::default();
        self.give_up_named_locks();
        self.leave_programs();
        self.handlers = Handlers::default();
        self.variables.renew_settings();
        self.access = None;
        self.warnings.clear();
        self.state.row_count.set(-1);
    }

    /// Rolls back, and drops all temporary tables.
    fn forget_temporary_tables(&mut self) {
        self.temporary.clear();
        if let Some(store) = self.transaction.take_local_store() {
            let rows = store.estimated_rows();
            free_rows(rows, store);
        }
    }

    /// `COM_FIELD_LIST`: the columns of a table whose names match a LIKE pattern, with their defaults.
    pub fn field_list(&mut self, table: &str, pattern: &str) -> SqlResult<Arc<ResultShape>> {
        let name = ast::TableName::new(None, table);
        let database = self.database.clone().ok_or(ErrorKind::NoDb)?;
        let access = self.access();
        let is_own = access.is_unlimited() || self.temporary.get(&database, &name.name).is_some();
        if !is_own && !access.sees_table(&database, &name.name) {
            return Err(access.table_denied("SELECT", &name.name));
        }
        let table = self.table(&name)?;
        let columns = table.def.named_columns().iter().enumerate().filter(|(_, column)| {
            let named = pattern.is_empty()
                || types::CollationId::UTF8MB4_GENERAL_CI.like(pattern.as_bytes(), column.name.as_bytes(), Some('\\'));
            let def = &table.def;
            let seen = is_own || !access.on_column(&def.database, &def.name, &column.name).is_empty();
            named && seen
        });
        Ok(ResultShape::new(
            columns
                .map(|(position, _)| crate::plan::columns::table_column(&table.def, &table.def.name, position))
                .collect(),
        ))
    }

    /// The status flags for an OK packet that no statement made (COM_PING, COM_INIT_DB…).
    pub fn status(&self) -> ServerStatus {
        let settings = &self.variables.settings;
        let flags = [
            (self.transaction.in_transaction(), ServerStatus::IN_TRANS),
            (self.transaction.is_read_only(), ServerStatus::IN_TRANS_READONLY),
            (settings.autocommit, ServerStatus::AUTOCOMMIT),
            (
                settings.sql_mode().for_parser().no_backslash_escapes,
                ServerStatus::NO_BACKSLASH_ESCAPES,
            ),
        ];
        let set = flags.into_iter().filter(|(on, _)| *on);
        set.fold(ServerStatus::default(), |status, (_, flag)| status.with(flag))
    }

    /// `character_set_results` as a collation id: what text columns are sent in. `None`: as stored.
    pub fn results_collation(&self) -> Option<u16> {
        self.variables
            .settings
            .results_charset
            .map(|charset| charset.default_collation().id())
    }

    /// `character_set_client`: what the client's text is in.
    pub fn client_charset(&self) -> CharsetId {
        self.variables.settings.client_charset
    }

    /// Seconds that an idle connection may live (`wait_timeout`).
    pub fn wait_timeout_seconds(&self) -> u64 {
        self.variables.settings.wait_timeout_seconds
    }

    /// Bytes of the largest packet (`max_allowed_packet`).
    pub fn max_allowed_packet(&self) -> u64 {
        self.variables.settings.max_allowed_packet()
    }

    /// `COM_SET_OPTION`: whether one `COM_QUERY` may hold several statements.
    pub fn set_multi_statements(&mut self, allowed: bool) {
        self.options.multi_statements = allowed;
    }

    /// Whether the connection is to be closed after the last answer.
    pub fn ends(&self) -> bool {
        self.ends
    }

    /// GET_LOCK's.
    fn give_up_named_locks(&self) {
        self.engine.named_locks().release_all(self.options.connection_id);
        drop(
            self.state
                .cluster_locks
                .forget(&self.engine, self.options.connection_id),
        );
    }

    /// The current database, for SHOW PROCESSLIST.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }
}

impl Session {
    /// A session that runs stored programs as a part of the running statement: in its transaction, with the session's state.
    pub(crate) fn part_of_statement(&self) -> Session {
        let mut variables = self.variables.clone();
        // The statement's.
        variables.settings.insert_id = None;
        variables.settings.exact_values = false;
        Session {
            engine: self.engine.clone(),
            options: self.options.clone(),
            database: self.database.clone(),
            variables,
            transaction: self.transaction.part(),
            state: self.state.for_part(),
            prepared: PreparedStatements::default(),
            warnings: Warnings::with_limit(self.variables.settings.expressions.max_error_count),
            access: self.access.clone(),
            active_roles: self.active_roles.clone(),
            account_use: None,
            table_locks: self.table_locks.for_part(),
            temporary: self.temporary.clone(),
            analysis: None,
            programs: self.programs.part(),
            handlers: Handlers::default(),
            ends: false,
        }
    }

    /// Takes over what stays of a part of a statement: the variables that it has set, and whether it has ended the session.
    fn take_changes_of(&mut self, part: &Session) {
        self.ends |= part.ends;
        if part.programs.has_set {
            self.variables = part.variables.clone();
            self.programs.has_set = self.transaction.is_part();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What a part has is its statement's.
        if self.transaction.is_part() {
            return;
        }
        self.log_command("Quit", |_| String::new());
        self.forget_temporary_tables();
        self.give_up_named_locks();
        self.close_all_statements();
    }
}

/// Drops what took `bytes`, unless somebody else holds it, too: where it is much, aside.
pub(crate) fn drop_shared<T: Send + 'static>(shared: Arc<T>, bytes: u64) {
    if let Some(last) = Arc::into_inner(shared) {
        governor::large::drop_aside(last, bytes);
    }
}

/// The bytes of a text that came in another character set.
fn sent_in(charset: CharsetId, text: &[u8]) -> Box<[u8]> {
    match CharsetId::UTF8MB4.decode(text) {
        Ok(text) => charset.encode(&text).into(),
        Err(_) => text.into(),
    }
}

/// Whether a text without a statement holds something all the same: MySQL takes a comment alone, but not nothing.
fn is_comment(text: &[u8]) -> bool {
    !parser::without_end(text).is_empty()
}
