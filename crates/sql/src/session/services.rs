//! What functions ask of the session: identity, variables, counters, locks, clock.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use catalog::Privileges;
use parser::UserVariables;
use parser::ast::VarScope;
use types::{ErrorKind, SqlError, SqlResult, SqlType, Value};

use super::logged::Running;
use super::{Encryption, SessionOptions};
use crate::accounts::access::Access;
use crate::cluster_locks::{Asker, ClusterLocks};
use crate::engine::Engine;
use crate::errors::interrupted;
use crate::expr::Services;
use crate::expr::context::{RandomState, StoredFunction, UserVariable};
use crate::host::{Host, Interrupt, WaitEnd};
use crate::program::Kept;
use crate::variables::{self, Scope, SessionVariables};

/// The part of a session that expressions can change while a statement runs.
pub struct SessionState {
    connection_id: u32,
    user: String,
    pub current_user: RefCell<String>,
    /// The active roles as CURRENT_ROLE() lists them.
    pub current_role: RefCell<String>,
    user_variables: RefCell<HashMap<String, UserVariable>>,
    /// What the running statement does with them.
    pub user_variables_use: Cell<UserVariables>,
    pub last_insert_id: Cell<u64>,
    /// Set by `LAST_INSERT_ID(expr)` in the running statement.
    pub explicit_insert_id: Cell<Option<u64>>,
    /// The first automatic id that the running statement has given to a row.
    pub automatic_insert_id: Cell<Option<u64>>,
    pub row_count: Cell<i64>,
    pub found_rows: Cell<u64>,
    /// For the slow query log.
    pub(super) running: Cell<Running>,
    random: RandomState,
    pub(crate) cluster_locks: ClusterLocks,
    pub encryption: Option<Encryption>,
}

impl SessionState {
    pub fn new(options: &SessionOptions, seed: u64) -> SessionState {
        SessionState {
            connection_id: options.connection_id,
            user: format!("{}@{}", options.user, options.host),
            current_user: {
                let (user, host) = options.account.name();
                RefCell::new(format!("{user}@{host}"))
            },
            current_role: RefCell::new("NONE".to_owned()),
            user_variables: RefCell::default(),
            user_variables_use: Cell::default(),
            last_insert_id: Cell::new(0),
            explicit_insert_id: Cell::new(None),
            automatic_insert_id: Cell::new(None),
            row_count: Cell::new(-1),
            found_rows: Cell::new(0),
            running: Cell::default(),
            random: RandomState::new(seed >> 32, seed & 0xffff_ffff),
            cluster_locks: ClusterLocks::default(),
            encryption: options.encryption.clone(),
        }
    }
}

impl SessionState {
    /// What `RAND()` draws from.
    pub fn random(&self) -> &RandomState {
        &self.random
    }

    pub fn user_variables(&self) -> HashMap<String, UserVariable> {
        self.user_variables.borrow().clone()
    }

    pub fn set_user_variable(&self, name: &str, variable: UserVariable) {
        self.user_variables.borrow_mut().insert(name.to_owned(), variable);
    }

    pub fn set_user_variables(&self, variables: HashMap<String, UserVariable>) {
        *self.user_variables.borrow_mut() = variables;
    }
}

/// A session as one statement's expressions see it.
pub struct SessionServices<'a> {
    pub state: &'a SessionState,
    pub engine: &'a Engine,
    pub host: &'a dyn Host,
    pub variables: &'a SessionVariables,
    /// What it may do; `None`: nothing has asked yet.
    pub access: Option<&'a Access>,
    pub database: Option<&'a str>,
    /// Whether the statement reads no table, so that an interrupted SLEEP has a result instead of an error.
    pub without_tables: bool,
    /// Warnings and errors of the statement before, for `@@warning_count`.
    pub warning_count: u64,
    pub error_count: u64,
    /// Stored functions that are compiled.
    pub kept: &'a Kept,
}

impl Services for SessionServices<'_> {
    fn connection_id(&self) -> u64 {
        u64::from(self.state.connection_id)
    }

    fn user(&self) -> String {
        self.state.user.clone()
    }

    fn current_user(&self) -> String {
        self.state.current_user.borrow().clone()
    }

    fn current_role(&self) -> String {
        self.state.current_role.borrow().clone()
    }

    fn database(&self) -> Option<String> {
        self.database.map(str::to_owned)
    }

    fn version(&self) -> String {
        crate::SERVER_VERSION.to_owned()
    }

    fn last_insert_id(&self) -> u64 {
        self.state.last_insert_id.get()
    }

    fn set_last_insert_id(&self, id: u64) {
        self.state.explicit_insert_id.set(Some(id));
    }

    fn row_count(&self) -> i64 {
        self.state.row_count.get()
    }

    fn found_rows(&self) -> u64 {
        self.state.found_rows.get()
    }

    fn user_variable(&self, name: &str) -> Option<UserVariable> {
        self.state.user_variables.borrow().get(name).cloned()
    }

    fn assigns_user_variables(&self) -> bool {
        self.state.user_variables_use.get() == UserVariables::Assigned
    }

    fn set_user_variable(&self, name: &str, variable: UserVariable) {
        self.state.set_user_variable(name, variable);
    }

    fn password_strength(&self, password: &str) -> i64 {
        let policy = crate::accounts::password_policy::Policy::of(self.engine);
        policy.map_or(0, |policy| policy.strength(password))
    }

    fn system_variable(&self, scope: Option<VarScope>, name: &str) -> SqlResult<(Value, SqlType)> {
        // What is persisted can be set and not be read; MySQL takes the scope for a part of the name.
        let unreadable = match scope {
            Some(VarScope::Persist) => Some("persist"),
            Some(VarScope::PersistOnly) => Some("persist_only"),
            Some(VarScope::Global | VarScope::Session) | None => None,
        };
        if let Some(scope) = unreadable {
            let named = format!("{scope}.{name}");
            return Err(SqlError::new(ErrorKind::UnknownSystemVariable, &[&named]));
        }
        let id = variables::find(name)?;
        let variable = id.definition();
        let wrong_scope = |kind: &str| SqlError::new(ErrorKind::IncorrectGlobalLocalVar, &[&variable.name, &kind]);
        let global = match (scope, variable.scope) {
            (Some(VarScope::Session), Scope::Global) => return Err(wrong_scope("GLOBAL")),
            (Some(VarScope::Global), Scope::Session) => return Err(wrong_scope("SESSION")),
            (Some(VarScope::Global), _) => true,
            (_, scope) => scope == Scope::Global,
        };
        let ty = variable.sql_type();
        let value = match variable.name {
            "last_insert_id" | "identity" => Value::UInt(self.last_insert_id()),
            "warning_count" => Value::UInt(self.warning_count),
            "error_count" => Value::UInt(self.error_count),
            "timestamp" if self.variables.settings.fixed_timestamp.is_none() => {
                Value::Double(self.clock_micros() as f64 / 1e6)
            }
            "pseudo_thread_id" => Value::UInt(self.connection_id()),
            _ if global => variable.value(&self.engine.globals().get(id)),
            _ => variable.value(&self.variables.get(id)),
        };
        Ok((value, ty))
    }

    fn stored_function(&self, database: &str, name: &str, args: usize) -> SqlResult<Option<StoredFunction>> {
        crate::program::stored_function(self.engine, self.kept, database, name, args)
    }

    fn random(&self) -> &RandomState {
        &self.state.random
    }

    fn clock_micros(&self) -> i64 {
        self.engine.clock_micros()
    }

    fn random_bytes(&self, bytes: &mut [u8]) {
        self.engine.random_bytes(bytes);
    }

    fn uuid_short(&self) -> u64 {
        self.engine.uuid_short()
    }

    fn load_file(&self, path: &str, most: u64) -> SqlResult<Option<Vec<u8>>> {
        let may = self.access.is_some_and(|access| access.has_any(Privileges::FILE, &[]));
        match self.engine.server_files() {
            Some(directory) if may => crate::server_files::load_file(directory, path, most, self.host),
            Some(_) | None => Ok(None),
        }
    }

    fn sleep(&self, duration: Duration) -> SqlResult<bool> {
        let never = std::pin::pin!(std::future::pending());
        self.host.show_state("User sleep");
        let end = self.host.wait_interruptible(never, Some(duration));
        self.host.show_state("");
        match end {
            WaitEnd::Done | WaitEnd::TimedOut => Ok(false),
            WaitEnd::Interrupted(Interrupt::KillQuery | Interrupt::Timeout) if self.without_tables => Ok(true),
            WaitEnd::Interrupted(interrupt) => Err(interrupted(interrupt)),
        }
    }

    fn get_lock(&self, name: &str, timeout: Option<Duration>) -> SqlResult<bool> {
        match self.asker() {
            Some(asker) => self.state.cluster_locks.acquire(name, timeout, asker),
            None => self
                .engine
                .named_locks()
                .acquire(name, self.state.connection_id, timeout, self.host),
        }
    }

    fn release_lock(&self, name: &str) -> SqlResult<Option<bool>> {
        match self.asker() {
            Some(asker) => self.state.cluster_locks.release(name, asker),
            None => Ok(self.engine.named_locks().release(name, self.state.connection_id)),
        }
    }

    fn release_all_locks(&self) -> SqlResult<u64> {
        match self.asker() {
            Some(asker) => self.state.cluster_locks.release_all(asker),
            None => Ok(self.engine.named_locks().release_all(self.state.connection_id)),
        }
    }

    fn lock_holder(&self, name: &str) -> SqlResult<Option<u64>> {
        let holder = match self.asker() {
            Some(asker) => self.state.cluster_locks.holder_of(name, asker)?,
            None => self.engine.named_locks().holder(name),
        };
        Ok(holder.map(u64::from))
    }
}

impl SessionServices<'_> {
    /// On a node of a cluster: who asks for locks of the cluster.
    fn asker(&self) -> Option<Asker<'_>> {
        let nodes = self.engine.other_nodes()?;
        Some(Asker {
            engine: self.engine,
            nodes: nodes.as_ref(),
            host: self.host,
            connection: self.state.connection_id,
        })
    }
}

/// What the expressions of a table's definition may ask: the time, and nothing of a session (MySQL refuses such functions in
/// defaults, generated columns and CHECK).
pub struct DefinitionServices {
    clock_micros: i64,
    random: RandomState,
}

impl DefinitionServices {
    pub fn at(clock_micros: i64) -> DefinitionServices {
        DefinitionServices {
            clock_micros,
            random: RandomState::new(clock_micros as u64, 1),
        }
    }

    fn refused<T>() -> SqlResult<T> {
        Err(SqlError::not_supported("session state in a table's definition"))
    }
}

impl Services for DefinitionServices {
    fn connection_id(&self) -> u64 {
        0
    }

    fn user(&self) -> String {
        String::new()
    }

    fn current_user(&self) -> String {
        String::new()
    }

    fn database(&self) -> Option<String> {
        None
    }

    fn version(&self) -> String {
        crate::SERVER_VERSION.to_owned()
    }

    fn last_insert_id(&self) -> u64 {
        0
    }

    fn set_last_insert_id(&self, _id: u64) {}

    fn row_count(&self) -> i64 {
        -1
    }

    fn found_rows(&self) -> u64 {
        0
    }

    fn user_variable(&self, _name: &str) -> Option<UserVariable> {
        None
    }

    fn set_user_variable(&self, _name: &str, _variable: UserVariable) {}

    fn system_variable(&self, _scope: Option<VarScope>, _name: &str) -> SqlResult<(Value, SqlType)> {
        DefinitionServices::refused()
    }

    fn random(&self) -> &RandomState {
        &self.random
    }

    fn clock_micros(&self) -> i64 {
        self.clock_micros
    }

    fn random_bytes(&self, bytes: &mut [u8]) {
        bytes.fill_with(|| (self.random.next() * 256.0) as u8);
    }

    fn uuid_short(&self) -> u64 {
        0
    }

    fn sleep(&self, _duration: Duration) -> SqlResult<bool> {
        DefinitionServices::refused()
    }

    fn get_lock(&self, _name: &str, _timeout: Option<Duration>) -> SqlResult<bool> {
        DefinitionServices::refused()
    }

    fn release_lock(&self, _name: &str) -> SqlResult<Option<bool>> {
        DefinitionServices::refused()
    }

    fn release_all_locks(&self) -> SqlResult<u64> {
        DefinitionServices::refused()
    }

    fn lock_holder(&self, _name: &str) -> SqlResult<Option<u64>> {
        DefinitionServices::refused()
    }
}
