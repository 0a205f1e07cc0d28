//! The catalog: databases, tables, views, routines, events, accounts, persisted variables.
//!
//! It lives twice. Durable: as rows of the [`SYSTEM_TABLE`], written by the same transactions and the same log as
//! everything else, so that a DDL statement is atomic with its effect on the store. In memory: as an immutable
//! [`Catalog`] behind [`Catalogs`]; a statement takes the current one and sees one state of the schema
//! from its first name to its last row. A change is prepared as a [`CatalogEdit`] and committed; applying its rows makes
//! the next version, whose number is the commit's timestamp.

mod account;
mod edit;
mod event;
mod foreign_key;
mod login;
mod login_policy;
mod names;
mod privilege;
mod routine;
mod rows;
mod table;
mod trigger;
mod ttl;
mod variable;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use types::collation::CollationId;
use types::{TableId, Timestamp};

use foreign_key::ChildTables;

pub use account::{AccountDef, AuthenticationPlugin, ColumnPrivileges, GrantedRole, RoutinePrivileges};
pub use edit::{CatalogEdit, CatalogRow};
pub use event::{EventDef, EventStatus, Next, Schedule};
pub use foreign_key::{ForeignKeyDef, ReferenceAction};
pub use login_policy::{LockTime, LoginPolicy, PasswordPolicy, PastPassword, ResourceLimits, TlsRequirement};
pub use names::{Names, Place, first_repeated};
pub use privilege::{
    DynamicPrivilege, DynamicPrivileges, Privileges, pattern_covers, pattern_matches, pattern_specificity,
};
pub use routine::{Characteristics, DataAccess, ProgramContext, RoutineDef, RoutineKind};
pub use rows::{CopyJob, check_row};
pub use table::{
    CheckDef, ColumnDef, ColumnDefault, GeneratedDef, GeneratedKind, IndexDef, IndexKind, IndexPart, TableDef,
    same_name,
};
pub use trigger::{TriggerDef, TriggerEvent, TriggerTiming};
pub use ttl::TtlDef;
pub use variable::{GlobalVariable, PersistedVariable};
pub use view::{ViewAlgorithm, ViewCheck, ViewDef, ViewSecurity};

/// The table that holds the catalog's rows. User tables start above [`LAST_SYSTEM_TABLE`].
pub const SYSTEM_TABLE: TableId = TableId(1);
/// Ids up to here are reserved.
pub const LAST_SYSTEM_TABLE: TableId = TableId(99);

/// One state of the schema. Never changes; names of databases and tables are case-sensitive.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    version: u64,
    databases: BTreeMap<String, Arc<Database>>,
    /// Shared with the states before, while no table changes.
    by_id: Arc<BTreeMap<TableId, Arc<TableDef>>>,
    children: Arc<ChildTables>,
    /// By user name, then host.
    accounts: BTreeMap<(String, String), Arc<AccountDef>>,
    next_table_id: u32,
    copies: BTreeMap<TableId, CopyJob>,
    /// By name.
    variables: BTreeMap<String, Arc<PersistedVariable>>,
    /// By name. Shared with the states before, while none changes.
    globals: Arc<BTreeMap<String, Arc<GlobalVariable>>>,
    format: u32,
}

/// A database, its tables, views, routines and events. No view has the name of a table.
#[derive(Debug, Clone)]
pub struct Database {
    pub def: DatabaseDef,
    pub tables: BTreeMap<String, Arc<TableDef>>,
    pub views: BTreeMap<String, Arc<ViewDef>>,
    /// By kind, then name in lower case.
    pub routines: BTreeMap<(RoutineKind, String), Arc<RoutineDef>>,
    /// By name in lower case.
    pub events: BTreeMap<String, Arc<EventDef>>,
}

/// The options of a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseDef {
    pub name: String,
    pub collation: CollationId,
    #[serde(default)]
    pub read_only: bool,
}

/// Why the rows of the system table are no catalog.
#[derive(Debug, thiserror::Error)]
#[error("catalog row {key}: {reason}")]
pub struct CatalogDamaged {
    pub key: String,
    pub reason: String,
}

impl Catalog {
    /// Puts the catalog together from the rows of the system table, in key order, as of a timestamp.
    pub fn from_rows<'a>(
        rows: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
        at: Timestamp,
    ) -> Result<Catalog, CatalogDamaged> {
        let mut catalog = Catalog::default();
        for (key, row) in rows {
            catalog.apply(key, Some(row), at)?;
        }
        Ok(catalog)
    }

    /// The timestamp of the newest change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The first id that no table has and nobody has leased.
    pub fn next_table_id(&self) -> u32 {
        self.next_table_id.max(LAST_SYSTEM_TABLE.0 + 1)
    }

    /// The copies of tables in the making, or left behind.
    pub fn copies(&self) -> impl Iterator<Item = &CopyJob> {
        self.copies.values()
    }

    /// Whether an older version wrote it, and so may have left tables behind that nothing names.
    pub fn is_of_older_format(&self) -> bool {
        self.format < rows::FORMAT
    }

    pub fn database(&self, name: &str) -> Option<&Arc<Database>> {
        self.databases.get(name)
    }

    pub fn databases(&self) -> impl Iterator<Item = &Arc<Database>> {
        self.databases.values()
    }

    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<TableDef>> {
        self.databases.get(database)?.tables.get(name)
    }

    pub fn view(&self, database: &str, name: &str) -> Option<&Arc<ViewDef>> {
        self.databases.get(database)?.views.get(name)
    }

    /// The procedure or function of a name, in whatever case it is written.
    pub fn routine(&self, database: &str, kind: RoutineKind, name: &str) -> Option<&Arc<RoutineDef>> {
        self.databases
            .get(database)?
            .routines
            .get(&RoutineDef::place(kind, name))
    }

    /// The event of a name, in whatever case it is written.
    pub fn event(&self, database: &str, name: &str) -> Option<&Arc<EventDef>> {
        self.databases.get(database)?.events.get(&EventDef::place(name))
    }

    /// Whether a table or a view has the name.
    pub fn is_taken(&self, database: &str, name: &str) -> bool {
        self.table(database, name).is_some() || self.view(database, name).is_some()
    }

    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<TableDef>> {
        self.by_id.get(&id)
    }

    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.by_id.values()
    }

    /// The tables that have a foreign key to the one of this name, which need not exist; itself, too, if it refers to itself.
    pub fn children(&self, database: &str, table: &str) -> impl Iterator<Item = &Arc<TableDef>> {
        let children = self.children.of(database, table).into_iter().flatten();
        children.filter_map(|id| self.by_id.get(id))
    }

    pub fn account(&self, user: &str, host: &str) -> Option<&Arc<AccountDef>> {
        self.accounts.get(&(user.to_owned(), host.to_owned()))
    }

    pub fn accounts(&self) -> impl Iterator<Item = &Arc<AccountDef>> {
        self.accounts.values()
    }

    /// The variable that a start of the node gives a value.
    pub fn persisted_variable(&self, name: &str) -> Option<&Arc<PersistedVariable>> {
        self.variables.get(name)
    }

    pub fn persisted_variables(&self) -> impl Iterator<Item = &Arc<PersistedVariable>> {
        self.variables.values()
    }

    /// The global variables of a cluster that do not have the value they were compiled with.
    pub fn global_variables(&self) -> impl Iterator<Item = &Arc<GlobalVariable>> {
        self.globals.values()
    }

    /// Whether nobody has set a global variable of the cluster between the two.
    pub fn has_globals_of(&self, other: &Catalog) -> bool {
        Arc::ptr_eq(&self.globals, &other.globals)
    }
}

/// The current catalog of a node.
#[derive(Debug)]
pub struct Catalogs {
    current: RwLock<Arc<Catalog>>,
    version: AtomicU64,
}

impl Catalogs {
    pub fn new(catalog: Catalog) -> Catalogs {
        Catalogs {
            version: AtomicU64::new(catalog.version),
            current: RwLock::new(Arc::new(catalog)),
        }
    }

    pub fn current(&self) -> Arc<Catalog> {
        self.current.read().clone()
    }

    /// The current version, without taking the catalog: whether a cached plan still holds.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Changes the current state itself, where nobody has taken it; `None`: somebody has.
    pub fn change_alone<R>(&self, change: impl FnOnce(&mut Catalog) -> R) -> Option<R> {
        let mut current = self.current.write();
        let catalog = Arc::get_mut(&mut current)?;
        let result = change(catalog);
        self.version.store(catalog.version, Ordering::Release);
        Some(result)
    }

    /// Makes the next state of the schema current.
    pub fn install(&self, next: Catalog) {
        let mut current = self.current.write();
        self.version.store(next.version, Ordering::Release);
        *current = Arc::new(next);
    }
}
