//! What a session may do, and the errors for what it may not.
//!
//! A session's [`Access`] is computed once for a version of the catalog and a set of active roles ([`super::rights`]). The planner asks
//! for the privilege on a table where it meets the table's name; what every other statement needs is said in
//! [`crate::statement_class`]. Sessions with the same rights share their plans ([`PlanOwner`]).

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use catalog::{AccountDef, Catalog, DynamicPrivilege, Privileges, RoutineKind};
use parking_lot::Mutex;
use types::{ErrorKind, SqlError, SqlResult};

use super::grants::Level;
use super::rights::{AccountName, DatabaseNames, Rights, Scope};
use crate::plan::Authorizer;
use crate::plan::is_virtual_database;
use crate::session::{Session, SessionAccount};

/// What one session, or a view's definer, may do.
#[derive(Debug, Clone)]
pub struct Access {
    /// The account's user and host.
    user: Arc<str>,
    account_host: Arc<str>,
    /// The host that the client came from, as messages about tables name it.
    client_host: Arc<str>,
    gave_password: bool,
    rights: Arc<Rights>,
    active_roles: Arc<[AccountName]>,
    names: DatabaseNames,
}

/// Whose rights a plan was made with. Within one version of the catalog, plans of the same owner may be run by each of his sessions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlanOwner {
    user: Arc<str>,
    host: Arc<str>,
    active_roles: Arc<[AccountName]>,
    names: DatabaseNames,
}

/// Shared by all sessions of the server's own.
static EVERYTHING: LazyLock<Arc<Rights>> = LazyLock::new(|| Arc::new(Rights::everything()));

impl Access {
    /// For the server's own work.
    pub fn of_the_server() -> Access {
        Access {
            user: "".into(),
            account_host: "".into(),
            client_host: "".into(),
            gave_password: false,
            rights: EVERYTHING.clone(),
            active_roles: Arc::new([]),
            names: DatabaseNames::Patterns,
        }
    }

    /// What the account may do without roles but its default ones: for the definers of views.
    pub fn of_definer(catalog: &Catalog, account: &AccountDef, names: DatabaseNames) -> Access {
        Access {
            user: account.user.as_str().into(),
            account_host: account.host.as_str().into(),
            client_host: account.host.as_str().into(),
            gave_password: false,
            rights: Arc::new(Rights::of(catalog, account, &account.default_roles, names)),
            active_roles: account.default_roles.as_slice().into(),
            names,
        }
    }

    /// User and host; none for the server itself.
    pub fn account(&self) -> Option<AccountName> {
        let is_server = self.user.is_empty() && Arc::ptr_eq(&self.rights, &EVERYTHING);
        (!is_server).then(|| (self.user.to_string(), self.account_host.to_string()))
    }

    pub fn active_roles(&self) -> &[AccountName] {
        &self.active_roles
    }

    pub fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Whether no name of a database or table needs a look.
    pub fn is_unlimited(&self) -> bool {
        self.rights.is_unlimited()
    }

    /// None where every plan may be run.
    pub fn plan_owner(&self) -> Option<PlanOwner> {
        (!self.is_unlimited()).then(|| PlanOwner {
            user: self.user.clone(),
            host: self.account_host.clone(),
            active_roles: self.active_roles.clone(),
            names: self.names,
        })
    }

    pub(super) fn on(&self, level: &Level) -> Privileges {
        match level {
            Level::Global => self.rights.global(),
            Level::Database(pattern) => self.rights.on_database(Scope::Pattern(pattern)),
            Level::Table(database, table) => self.rights.on_table(database, table),
            Level::Routine(kind, database, name) => self.rights.on_routine(database, *kind, name),
        }
    }

    /// What is held on the whole table; on the tables of the server's own databases SELECT is everybody's, but on those of `mysql`.
    fn on_table(&self, database: &str, table: &str) -> Privileges {
        let held = self.rights.on_table(database, table);
        match is_public(database) {
            true => held.with(Privileges::SELECT),
            false => held,
        }
    }

    /// The missing privileges that a message names: those that are held on some column are not, where there are others.
    fn named_missing(&self, missing: Privileges, database: &str, table: &str) -> Privileges {
        match missing.without(self.rights.on_columns(database, table)) {
            Privileges::NONE => missing,
            nowhere => nowhere,
        }
    }

    /// 1142 where none of the privileges is held.
    pub fn check_table_for_any(&self, database: &str, table: &str, wanted: Privileges, command: &str) -> SqlResult<()> {
        match self.is_unlimited() || self.on_table(database, table).meets(wanted) {
            true => Ok(()),
            false => Err(self.table_denied(command, table)),
        }
    }

    /// 1044 where a privilege on a database is missing.
    pub fn check_database(&self, database: &str, wanted: Privileges) -> SqlResult<()> {
        match self.rights.on_database(Scope::Database(database)).contains(wanted) {
            true => Ok(()),
            false => Err(self.database_denied(database)),
        }
    }

    /// What is held on a routine.
    pub fn on_routine(&self, database: &str, kind: RoutineKind, name: &str) -> Privileges {
        self.rights.on_routine(database, kind, name)
    }

    /// 1370
    pub fn routine_denied(&self, command: &str, database: &str, routine: &str) -> SqlError {
        let routine = format!("{database}.{routine}");
        SqlError::new(
            ErrorKind::ProcaccessDenied,
            &[&command, &self.user, &self.account_host, &routine],
        )
    }

    /// 1045
    pub fn denied(&self) -> SqlError {
        let password = if self.gave_password { "YES" } else { "NO" };
        SqlError::new(ErrorKind::AccessDenied, &[&self.user, &self.account_host, &password])
    }

    /// 1044 where nothing in the database may be touched, whether it exists or not: what USE asks for.
    pub fn check_enter(&self, database: &str) -> SqlResult<()> {
        let held = self.rights.on_database(Scope::Database(database));
        let enters = is_public(database)
            || held.meets(Privileges::OF_DATABASES.with(Privileges::GRANT_OPTION))
            || self.rights.has_tables_in(database)
            || self.rights.has_routines_in(database);
        match self.is_unlimited() || enters {
            true => Ok(()),
            false => Err(self.database_denied(database)),
        }
    }

    /// Whether the database is shown: who holds SHOW DATABASES or another privilege on all of them, sees all.
    pub fn sees_database(&self, database: &str) -> bool {
        let held = self.rights.on_database(Scope::Database(database));
        is_public(database)
            || self.is_unlimited()
            || held.meets(Privileges::OF_DATABASES.with(Privileges::SHOW_DATABASES))
            || self.rights.has_tables_in(database)
            || self.rights.has_routines_in(database)
    }

    /// Whether something may be done with the table or a column of it; only then it is shown.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        self.is_unlimited()
            || self.on_table(database, table).meets(Privileges::OF_TABLES)
            || !self.rights.on_columns(database, table).is_empty()
    }

    /// 1142 where nothing is granted on the table itself or on a column of it, and none of the privileges is held on all of its database.
    pub fn check_something_on(&self, database: &str, table: &str, wanted: Privileges) -> SqlResult<()> {
        let held = self.on_table(database, table).meets(wanted) || self.rights.has_table(database, table);
        match self.is_unlimited() || held {
            true => Ok(()),
            false => Err(self.table_denied(&names_of(wanted), table)),
        }
    }

    /// What is held on a column: its own privileges and those on the table.
    pub fn on_column(&self, database: &str, table: &str, column: &str) -> Privileges {
        let held = self.on_table(database, table);
        held.with(self.rights.on_column(database, table, column))
    }

    /// What of the privileges that columns have is held on one; nobody sees a column on which he has none.
    pub fn shown_on_column(&self, database: &str, table: &str, column: &str) -> Privileges {
        match self.is_unlimited() {
            true => Privileges::OF_COLUMNS,
            false => self.on_column(database, table, column).common(Privileges::OF_COLUMNS),
        }
    }

    /// Whether a privilege is held on the table or on one of its columns.
    pub fn has_on_some_column(&self, database: &str, table: &str, wanted: Privileges) -> bool {
        let held = self.on_table(database, table);
        self.is_unlimited() || held.with(self.rights.on_columns(database, table)).contains(wanted)
    }

    /// Whether the grants of this account are shown.
    pub fn sees_account(&self, account: &AccountDef) -> bool {
        self.is_account(&account.user, &account.host) || self.reads_accounts()
    }

    fn is_account(&self, user: &str, host: &str) -> bool {
        *self.user == *user && *self.account_host == *host
    }

    /// Whether `mysql.user` may be read.
    pub fn reads_accounts(&self) -> bool {
        self.rights.on_table("mysql", "user").contains(Privileges::SELECT)
    }

    /// Whether the session of this user is shown.
    pub fn sees_session_of(&self, user: &str) -> bool {
        *self.user == *user || self.sees_server()
    }

    /// Whether it may see what all sessions do (PROCESS).
    pub fn sees_server(&self) -> bool {
        self.rights.global().contains(Privileges::PROCESS)
    }

    /// Whether another session of this user may be ended. Those who have SYSTEM_USER are kept from others.
    pub fn may_kill_session_of(&self, catalog: &Catalog, user: &str) -> bool {
        if *self.user == *user {
            return true;
        }
        let is_admin = self.has_any(Privileges::SUPER, &[DynamicPrivilege::CONNECTION_ADMIN]);
        let mut accounts = catalog.accounts().filter(|account| account.user == user);
        is_admin
            && (self.rights.has(DynamicPrivilege::SYSTEM_USER)
                || !accounts.any(|account| is_system_user(catalog, account)))
    }

    /// Whether one of the global or dynamic privileges is held.
    pub fn has_any(&self, privileges: Privileges, dynamic: &[DynamicPrivilege]) -> bool {
        self.rights.global().meets(privileges) || dynamic.iter().any(|privilege| self.rights.has(*privilege))
    }
}

impl Authorizer for Access {
    fn check_table(&self, database: &str, table: &str, wanted: Privileges) -> SqlResult<()> {
        if self.is_unlimited() {
            return Ok(());
        }
        match wanted.without(self.on_table(database, table)) {
            Privileges::NONE => Ok(()),
            missing => {
                let named = self.named_missing(missing, database, table);
                Err(self.table_denied(&names_of(named), table))
            }
        }
    }

    fn check_table_or_columns(&self, database: &str, table: &str, wanted: Privileges) -> SqlResult<()> {
        let on_columns = self.rights.on_columns(database, table);
        self.check_table(database, table, wanted.without(on_columns))
    }

    fn check_column(&self, database: &str, table: &str, column: &str, wanted: Privileges) -> SqlResult<()> {
        if self.is_unlimited() || self.on_column(database, table, column).contains(wanted) {
            return Ok(());
        }
        let missing = wanted.without(self.on_column(database, table, column));
        Err(SqlError::new(
            ErrorKind::ColumnAccessDenied,
            &[&names_of(missing), &self.user, &self.client_host, &column, &table],
        ))
    }

    fn check_may_lock(&self, database: &str, table: &str, wanted: Privileges, command: &str) -> SqlResult<()> {
        match self.rights.on_columns(database, table).meets(wanted) {
            true => Ok(()),
            false => self.check_table_for_any(database, table, wanted, command),
        }
    }

    fn require_any(&self, privileges: Privileges, dynamic: &[DynamicPrivilege], named: &str) -> SqlResult<()> {
        match self.has_any(privileges, dynamic) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorKind::SpecificAccessDenied, &[&named])),
        }
    }

    fn check_function(&self, database: &str, name: &str) -> SqlResult<()> {
        let held = self.on_routine(database, RoutineKind::Function, name);
        match self.is_unlimited() || held.contains(Privileges::EXECUTE) {
            true => Ok(()),
            false => Err(self.routine_denied("execute", database, name)),
        }
    }

    fn table_denied(&self, command: &str, table: &str) -> SqlError {
        SqlError::new(
            ErrorKind::TableAccessDenied,
            &[&command, &self.user, &self.client_host, &table],
        )
    }

    fn database_denied(&self, database: &str) -> SqlError {
        SqlError::new(ErrorKind::DbAccessDenied, &[&self.user, &self.account_host, &database])
    }
}

/// What everybody may read in, as far as the rows are shown to him.
pub fn is_public(database: &str) -> bool {
    is_virtual_database(database) && !database.eq_ignore_ascii_case("mysql")
}

/// Whether the account or a role of its has SYSTEM_USER, which keeps it from whoever has not.
pub fn is_system_user(catalog: &Catalog, account: &AccountDef) -> bool {
    let own = std::iter::once((account.user.clone(), account.host.clone()));
    let all = super::rights::all_roles(catalog, &own.collect::<Vec<_>>());
    all.iter().any(|(user, host)| {
        let found = catalog.account(user, host);
        found.is_some_and(|account| account.dynamic().has(DynamicPrivilege::SYSTEM_USER))
    })
}

/// As messages list privileges.
fn names_of(privileges: Privileges) -> String {
    let mut names: Vec<&str> = privileges.names().collect();
    if privileges.contains(Privileges::GRANT_OPTION) {
        // Between FILE and REFERENCES, by the order of MySQL's bits.
        let before = privileges.common(Privileges((1 << 10) - 1));
        names.insert(before.names().count(), "GRANT");
    }
    names.join(", ")
}

/// The rights of accounts with their active roles, by the current catalog, for all sessions.
#[derive(Default)]
pub struct RightsCache(Mutex<CachedRights>);

#[derive(Default)]
struct CachedRights {
    catalog_version: u64,
    by_account: HashMap<RightsKey, Arc<Rights>>,
}

type RightsKey = (AccountName, Vec<AccountName>, bool);

/// Beyond this many accounts with their roles, the cache begins anew.
const MAX_CACHED_RIGHTS: usize = 10_000;

impl RightsCache {
    fn get(&self, catalog: &Catalog, name: &AccountName, roles: &[AccountName], names: DatabaseNames) -> Arc<Rights> {
        let key = (name.clone(), roles.to_vec(), names == DatabaseNames::Literal);
        let mut cache = self.0.lock();
        if cache.catalog_version != catalog.version() || cache.by_account.len() >= MAX_CACHED_RIGHTS {
            cache.catalog_version = catalog.version();
            cache.by_account.clear();
        }
        let known = cache.by_account.entry(key);
        known
            .or_insert_with(|| {
                Arc::new(match catalog.account(&name.0, &name.1) {
                    Some(account) => Rights::of(catalog, account, roles, names),
                    None => Rights::nothing(),
                })
            })
            .clone()
    }
}

impl Session {
    /// The session's privileges by the current catalog.
    pub(crate) fn access(&mut self) -> Arc<Access> {
        let version = (self.engine.catalog_version(), self.engine.database_names());
        if let Some((known, access)) = &self.access
            && *known == version
        {
            return access.clone();
        }
        let access = match &self.options.account {
            SessionAccount::Server => Access::of_the_server(),
            SessionAccount::Account { user, host } => {
                let catalog = self.engine.catalog();
                let name = (user.clone(), host.clone());
                let rights = self.engine.rights();
                let active = self.roles_in_effect(&catalog, &name);
                Access {
                    user: user.as_str().into(),
                    account_host: host.as_str().into(),
                    client_host: self.options.host.as_str().into(),
                    gave_password: self.options.gave_password,
                    rights: rights.get(&catalog, &name, &active, version.1),
                    active_roles: active.into(),
                    names: version.1,
                }
            }
        };
        let access = Arc::new(access);
        self.access = Some((version, access.clone()));
        access
    }

    /// 1227 where none of the privileges is held. The message names them as MySQL does.
    pub(crate) fn require_any(
        &mut self,
        privileges: Privileges,
        dynamic: &[DynamicPrivilege],
        named: &str,
    ) -> SqlResult<()> {
        self.access().require_any(privileges, dynamic, named)
    }

    /// 1227 where an account that has SYSTEM_USER would be changed by one that has not.
    pub(crate) fn check_may_change(&mut self, names: &[AccountName]) -> SqlResult<()> {
        if self.access().rights.has(DynamicPrivilege::SYSTEM_USER) {
            return Ok(());
        }
        let catalog = self.engine.catalog();
        let mut accounts = names.iter().filter_map(|(user, host)| catalog.account(user, host));
        match accounts.any(|account| is_system_user(&catalog, account)) {
            true => Err(SqlError::new(ErrorKind::SpecificAccessDenied, &[&"SYSTEM_USER"])),
            false => Ok(()),
        }
    }

    /// Who grants or revokes must have the privileges, and the right to pass them on.
    pub(super) fn check_may_grant(&mut self, level: &Level, privileges: Privileges) -> SqlResult<()> {
        let access = self.access();
        let missing = privileges.with(Privileges::GRANT_OPTION).without(access.on(level));
        if missing.is_empty() {
            return Ok(());
        }
        Err(match level {
            Level::Global => access.denied(),
            Level::Database(database) => access.database_denied(database),
            Level::Table(database, table) => {
                let named = access.named_missing(missing, database, table);
                access.table_denied(&names_of(named), table)
            }
            Level::Routine(_, database, name) => {
                let named = missing.without(Privileges::GRANT_OPTION).names().next();
                let command = named.map_or("grant".to_owned(), str::to_lowercase);
                access.routine_denied(&command, database, name)
            }
        })
    }
}
