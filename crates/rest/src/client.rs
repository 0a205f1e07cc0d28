//! A client of one connection, or of one transaction: who he is, and his SQL session.

use std::collections::HashMap;
use std::sync::Arc;

use sql::result::{BufferedRows, Done, ResultSink};
use sql::session::{Fetch, Session};
use sql_api::host::Host;
use sql_api::session::{Encryption, SessionAccount, SessionOptions};
use types::{CollationId, ErrorKind, SqlError, SqlResult, Value};

use crate::answer::Answer;
use crate::problem::Problem;
use crate::request::Request;
use crate::routes::{self, Task};
use crate::rows::Known;
use crate::service::Rest;
use crate::tokens::Token;

/// Statements that are kept prepared. All sessions of the node share `max_prepared_stmt_count`.
const STATEMENTS_MAX: usize = 16;
/// How often a change is tried again that another one was in the way of.
const ATTEMPTS: usize = 5;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name that he has given, and the host he comes from.
    pub user: String,
    pub host: String,
    pub account: SessionAccount,
    pub encryption: Option<Encryption>,
    pub password_expired: bool,
}

pub struct Client {
    pub(crate) rest: Arc<Rest>,
    connection_id: u32,
    pub(crate) identity: Identity,
    pub(crate) token: Option<Token>,
    session: Option<Box<Session>>,
    /// By their texts.
    statements: HashMap<Box<str>, u32>,
    /// Tables that were read by key.
    pub(crate) known: Vec<Known>,
    /// A key, lent for its memory.
    pub(crate) key: Vec<u8>,
    /// It is a transaction's.
    pub(crate) is_transaction: bool,
    /// Its own in the open transaction, one within the other.
    savepoints: usize,
    /// A statement of the client's may have left something in the session: variables, a database, temporary tables.
    pub(crate) is_used: bool,
}

impl Client {
    pub fn new(rest: Arc<Rest>, connection_id: u32, identity: Identity) -> Client {
        Client {
            rest,
            connection_id,
            identity,
            token: None,
            session: None,
            statements: HashMap::new(),
            known: Vec::new(),
            key: Vec::new(),
            is_transaction: false,
            savepoints: 0,
            is_used: false,
        }
    }

    /// The login that he has come by.
    pub fn comes_by(&mut self, token: Option<Token>) {
        self.token = token;
    }

    /// Whether he may see what all sessions of the node do.
    pub fn may_see_server(&self) -> bool {
        match &self.identity.account {
            SessionAccount::Server => true,
            SessionAccount::Account { user, host } => self.rest.engine.may_see_server(user, host),
        }
    }

    pub fn is_of(&self, identity: &Identity) -> bool {
        self.identity == *identity
    }

    /// Whether what he has shown is still good.
    #[inline]
    pub fn may_go_on(&self) -> bool {
        let token = self.token.as_ref();
        token.is_none_or(|token| !token.is_over(self.rest.now_seconds()))
    }

    /// Answers a request. Whatever happens, the answer is one; the session is as it was before.
    pub fn answer(&mut self, request: &Request<'_>, host: &dyn Host, answer: &mut Answer<'_>) {
        // From here on the governor counts for what this request reads and makes; its statements count anew.
        governor::begin_statement(self.rest.engine.participant().store().memory().limit() / 4);
        let outcome = self
            .rest
            .tokens
            .take_turn(self.token.as_ref(), self.rest.engine.clock_micros());
        let outcome = outcome.and_then(|()| {
            let (route, parameters) = routes::find(request.method, request.target.path)?;
            let task = Task {
                request,
                parameters,
                host,
            };
            crate::idempotency::guard(self, route, &task, answer)
        });
        if let Err(problem) = outcome {
            match answer.has_begun() {
                true => answer.head.is_cut = true,
                false => answer.refuse(&problem),
            }
        }
        if !self.is_transaction && (self.is_used || self.in_transaction()) {
            self.reset(host);
        }
    }

    pub fn in_transaction(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.in_transaction())
    }

    /// After a panic.
    pub fn recover(&mut self) {
        self.statements.clear();
        self.session = None;
        self.savepoints = 0;
        self.is_used = false;
    }

    /// The session, as if it had just been opened.
    fn reset(&mut self, host: &dyn Host) {
        self.is_used = false;
        self.statements.clear();
        // A reset leaves the database.
        self.session.take_if(|session| session.database().is_some());
        if let Some(session) = &mut self.session {
            session.reset();
            if set_up(session, host).is_err() {
                self.session = None;
            }
        }
    }

    pub(crate) fn session(&mut self, host: &dyn Host) -> SqlResult<&mut Session> {
        if self.session.is_none() {
            let mut session = Session::new(
                self.rest.engine.clone(),
                SessionOptions {
                    connection_id: self.connection_id,
                    user: self.identity.user.clone(),
                    host: self.identity.host.clone(),
                    account: self.identity.account.clone(),
                    gave_password: true,
                    collation_id: CollationId::UTF8MB4_0900_AI_CI as u16,
                    found_rows: true,
                    encryption: self.identity.encryption.clone(),
                    password_expired: self.identity.password_expired,
                    ..SessionOptions::default()
                },
            )?;
            set_up(&mut session, host)?;
            self.session = Some(Box::new(session));
        }
        Ok(self.session.as_mut().expect("opened above"))
    }

    /// Runs a statement with values for its parameters. It is kept prepared.
    pub(crate) fn execute(
        &mut self,
        text: &str,
        parameters: &[Value],
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        if let Some(&id) = self.statements.get(text) {
            return self.session(host)?.execute(id, parameters, Fetch::All, host, sink);
        }
        let prepared = match self.session(host)?.prepare(text.as_bytes(), host) {
            // What cannot be prepared has no parameters.
            Err(error) if error.kind() == ErrorKind::UnsupportedPs && parameters.is_empty() => {
                return self.session(host)?.query(text.as_bytes(), host, sink);
            }
            // Others need the places that this client has beside.
            Err(error) if error.kind() == ErrorKind::MaxPreparedStmtCountReached && !self.statements.is_empty() => {
                self.forget_statements(host)?;
                return self.execute(text, parameters, host, sink);
            }
            prepared => prepared?,
        };
        if prepared.parameters != parameters.len() {
            self.session(host)?.close_statement(prepared.id);
            let arguments: [&dyn std::fmt::Display; 1] = [&"EXECUTE"];
            return Err(SqlError::new(ErrorKind::WrongArguments, &arguments));
        }
        if self.statements.len() >= STATEMENTS_MAX {
            self.forget_statements(host)?;
        }
        self.statements.insert(text.into(), prepared.id);
        self.session(host)?
            .execute(prepared.id, parameters, Fetch::All, host, sink)
    }

    fn forget_statements(&mut self, host: &dyn Host) -> SqlResult<()> {
        let all: Vec<u32> = self.statements.drain().map(|(_, id)| id).collect();
        let session = self.session(host)?;
        all.into_iter().for_each(|id| session.close_statement(id));
        Ok(())
    }

    /// As [`execute`](Self::execute), with everything that comes of it.
    pub(crate) fn run(&mut self, text: &str, parameters: &[Value], host: &dyn Host) -> SqlResult<BufferedRows> {
        let mut outcome = BufferedRows::default();
        self.execute(text, parameters, host, &mut outcome)?;
        Ok(outcome)
    }

    /// Runs a statement of the node's own that has no parameters.
    pub(crate) fn command(&mut self, text: &str, host: &dyn Host) -> SqlResult<Done> {
        let mut outcome = BufferedRows::default();
        self.session(host)?.query(text.as_bytes(), host, &mut outcome)?;
        Ok(outcome.done)
    }

    /// Does work as one transaction: wholly or not at all. In one that is open already it is a part of that. Work that another transaction was
    /// in the way of is done again.
    pub(crate) fn atomically<T>(
        &mut self,
        host: &dyn Host,
        mut work: impl FnMut(&mut Client) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        if self.in_transaction() {
            return self.atomically_within(host, work);
        }
        let mut attempt = 1;
        loop {
            self.command("START TRANSACTION", host)?;
            let done = work(self).and_then(|done| {
                self.command("COMMIT", host)?;
                Ok(done)
            });
            match done {
                Ok(done) => return Ok(done),
                Err(problem) => {
                    if self.in_transaction() {
                        self.command("ROLLBACK", host)?;
                    }
                    let is_conflict = problem.error.as_deref().is_some_and(|(code, _)| *code == 1213);
                    if !is_conflict || attempt == ATTEMPTS {
                        return Err(problem);
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Under a savepoint of the open transaction.
    fn atomically_within<T>(
        &mut self,
        host: &dyn Host,
        mut work: impl FnMut(&mut Client) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let name = format!("`latsdb rest {}`", self.savepoints);
        self.command(&format!("SAVEPOINT {name}"), host)?;
        self.savepoints += 1;
        let done = work(self);
        self.savepoints -= 1;
        // A deadlock has ended all of it.
        if self.in_transaction() {
            let end = match done.is_ok() {
                true => "RELEASE SAVEPOINT",
                false => "ROLLBACK TO SAVEPOINT",
            };
            self.command(&format!("{end} {name}"), host)?;
        }
        done
    }

    /// Runs a statement of the node's own with all rights, in the client's transaction.
    pub(crate) fn run_as_server(
        &mut self,
        text: &str,
        parameters: &[Value],
        host: &dyn Host,
    ) -> SqlResult<BufferedRows> {
        let mut outcome = BufferedRows::default();
        let session = self.session(host)?;
        session.as_server(|session| {
            let prepared = session.prepare(text.as_bytes(), host)?;
            let ran = session.execute(prepared.id, parameters, Fetch::All, host, &mut outcome);
            session.close_statement(prepared.id);
            ran
        })?;
        Ok(outcome)
    }
}

/// Moments are told in UTC, and what is answered is committed, whatever the node's time zone and its `autocommit` are.
fn set_up(session: &mut Session, host: &dyn Host) -> SqlResult<()> {
    let settings = b"SET time_zone = '+00:00', autocommit = ON";
    session.query(settings, host, &mut BufferedRows::default())
}
