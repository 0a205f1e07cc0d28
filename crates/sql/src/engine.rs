//! What all sessions of a node share: the schema, the rows, global variables, cached plans.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use catalog::{
    AccountDef, AuthenticationPlugin, Catalog, CatalogEdit, Catalogs, DatabaseDef, Privileges, SYSTEM_TABLE, TableDef,
};
use env::Env;
use parking_lot::{Mutex, RwLock};
use shard::ProposeError;
use store::{Cursor, KeyColumn, KeyRange, TableSpec};
use transaction::{Options, Participant, Transaction};
use types::collation::CollationId;
use types::{IndexId, SqlType, TableId, Timestamp, TypeKind, Value};

use crate::named_locks::NamedLocks;
use crate::plan_cache::PlanCache;
use crate::processes::Processes;
use crate::statistics::Statistics;
use crate::table::Table;
use crate::temporary::temporary_number;
use crate::variables;
use crate::variables::Globals;

/// The SQL side of a node.
pub struct Engine {
    env: Env,
    participant: Arc<dyn Participant>,
    catalogs: Catalogs,
    tables: RwLock<HashMap<TableId, Arc<Table>>>,
    globals: Globals,
    named_locks: NamedLocks,
    statistics: Statistics,
    plans: PlanCache,
    processes: OnceLock<Arc<dyn Processes>>,
    prepared_statements: AtomicI64,
    write_locks: AtomicI64,
    temporary_tables: AtomicU32,
    /// Temporary tables of sessions that have ended.
    abandoned: Mutex<Vec<TableId>>,
    has_abandoned: AtomicBool,
    started_at_micros: i64,
    next_uuid_short: AtomicU64,
}

/// Why the SQL side did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the catalog cannot be read: {0}")]
    Damaged(#[from] catalog::CatalogDamaged),
    #[error("the first start could not write the catalog: {0:?}")]
    Bootstrap(ProposeError),
}

impl Engine {
    /// Reads the catalog from the system table; a node that starts for the first time gets one, with the account `root` without
    /// password for loopback and the databases `test` and `sbtest`. Blocks.
    pub fn open(env: Env, participant: Arc<dyn Participant>) -> Result<Arc<Engine>, StartError> {
        if participant.store().table(SYSTEM_TABLE).is_none() {
            bootstrap(&participant).map_err(StartError::Bootstrap)?;
        }
        let catalog = read_catalog(&participant)?;
        let started_at_micros = env.clock.wall().as_micros() as i64;
        let engine = Engine {
            env,
            catalogs: Catalogs::new(catalog),
            participant,
            tables: RwLock::default(),
            globals: Globals::default(),
            named_locks: NamedLocks::default(),
            statistics: Statistics::default(),
            plans: PlanCache::default(),
            processes: OnceLock::new(),
            prepared_statements: AtomicI64::new(0),
            write_locks: AtomicI64::new(0),
            temporary_tables: AtomicU32::new(0),
            abandoned: Mutex::default(),
            has_abandoned: AtomicBool::new(false),
            started_at_micros,
            next_uuid_short: AtomicU64::new((started_at_micros as u64 / 1_000_000) << 24),
        };
        engine.drop_orphans();
        let tables = engine.participant.store().tables();
        let left = tables.iter().filter_map(|table| temporary_number(table.id())).max();
        engine
            .temporary_tables
            .store(left.map_or(0, |last| last + 1), Ordering::Relaxed);
        Ok(Arc::new(engine))
    }

    /// The current schema.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalogs.current()
    }

    pub fn catalog_version(&self) -> u64 {
        self.catalogs.version()
    }

    /// Makes a committed edit current.
    pub(crate) fn install(&self, edit: CatalogEdit, committed_at: Timestamp) {
        self.catalogs.install(edit, committed_at);
    }

    pub fn participant(&self) -> &Arc<dyn Participant> {
        &self.participant
    }

    pub fn env(&self) -> &Env {
        &self.env
    }

    /// A definition with its rows; `None` while a table is being dropped.
    pub fn table(&self, def: &Arc<TableDef>) -> Option<Arc<Table>> {
        if let Some(table) = self.tables.read().get(&def.id)
            && Arc::ptr_eq(&table.def, def)
        {
            return Some(table.clone());
        }
        let rows = self.participant.store().table(def.id)?;
        let table = Arc::new(Table::new(def.clone(), rows));
        self.tables.write().insert(def.id, table.clone());
        Some(table)
    }

    /// Forgets cached tables that the schema no longer has.
    pub(crate) fn forget_dropped_tables(&self) {
        let catalog = self.catalog();
        self.tables.write().retain(|id, _| catalog.table_by_id(*id).is_some());
    }

    pub fn globals(&self) -> &Globals {
        &self.globals
    }

    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    pub fn named_locks(&self) -> &NamedLocks {
        &self.named_locks
    }

    pub(crate) fn plans(&self) -> &PlanCache {
        &self.plans
    }

    /// The front tells where its connections are listed; once.
    pub fn set_processes(&self, processes: Arc<dyn Processes>) {
        let _ = self.processes.set(processes);
    }

    /// The connections of the node; none where no front runs.
    pub fn processes(&self) -> Option<&Arc<dyn Processes>> {
        self.processes.get()
    }

    /// Prepared statements of all sessions.
    pub fn prepared_count(&self) -> i64 {
        self.prepared_statements.load(Ordering::Relaxed)
    }

    pub(crate) fn count_prepared(&self, change: i64) {
        self.prepared_statements.fetch_add(change, Ordering::Relaxed);
    }

    /// Whether a session has locked tables against reading (`LOCK TABLES … WRITE`): then readers have to ask for a lock.
    pub(crate) fn has_write_locked_tables(&self) -> bool {
        self.write_locks.load(Ordering::Acquire) > 0
    }

    pub(crate) fn count_write_locks(&self, change: i64) {
        self.write_locks.fetch_add(change, Ordering::AcqRel);
    }

    /// A number for a temporary table, which none before had.
    pub(crate) fn next_temporary(&self) -> u32 {
        self.temporary_tables.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps tables that nobody uses any more until a statement can drop them.
    pub(crate) fn abandon_tables(&self, ids: Vec<TableId>) {
        if !ids.is_empty() {
            self.abandoned.lock().extend(ids);
            self.has_abandoned.store(true, Ordering::Release);
        }
    }

    pub(crate) fn has_abandoned_tables(&self) -> bool {
        self.has_abandoned.load(Ordering::Acquire)
    }

    pub(crate) fn take_abandoned_tables(&self) -> Vec<TableId> {
        self.has_abandoned.store(false, Ordering::Release);
        std::mem::take(&mut self.abandoned.lock())
    }

    /// `max_prepared_stmt_count`
    pub(crate) fn max_prepared(&self) -> i64 {
        let limit = variables::find("max_prepared_stmt_count").map(|id| self.globals.get(id));
        limit.ok().and_then(|limit| limit.parse().ok()).unwrap_or(i64::MAX)
    }

    pub fn clock_micros(&self) -> i64 {
        self.env.clock.wall().as_micros() as i64
    }

    pub fn uptime_seconds(&self) -> u64 {
        ((self.clock_micros() - self.started_at_micros).max(0) / 1_000_000) as u64
    }

    pub fn random_bytes(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.env.random.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }

    pub fn uuid_short(&self) -> u64 {
        self.next_uuid_short.fetch_add(1, Ordering::Relaxed)
    }

    /// Removes tables that a crash left behind between the building of a copy and its entry in the catalog.
    fn drop_orphans(&self) {
        let catalog = self.catalog();
        let known = |id: TableId| id <= catalog::LAST_SYSTEM_TABLE || catalog.table_by_id(id).is_some();
        let orphans: Vec<TableId> = self
            .participant
            .store()
            .tables()
            .iter()
            .map(|table| table.id())
            .filter(|id| !known(*id))
            .collect();
        if orphans.is_empty() {
            return;
        }
        let mut transaction = Transaction::begin(self.participant.clone(), Options::default());
        for id in &orphans {
            tracing::info!(table = id.0, "dropping a table that no catalog entry names");
            transaction.drop_table(*id);
        }
        if let Err(error) = block_on(transaction.commit()) {
            tracing::warn!(?error, "orphaned tables stay until the next start");
        }
    }
}

/// What the store knows of the system table: a name and a JSON document.
fn system_table_spec() -> TableSpec {
    TableSpec {
        id: SYSTEM_TABLE,
        columns: vec![
            SqlType::varbinary(1024).not_null(),
            SqlType::blob(TypeKind::LongBlob).not_null(),
        ],
        primary: Some(vec![KeyColumn::ascending(0)]),
        indexes: Vec::new(),
    }
}

/// Writes the rows of a catalog edit within a transaction whose locks the caller answers for.
pub(crate) fn system_row(name: &[u8], document: Option<&[u8]>) -> (Vec<u8>, Option<Vec<u8>>) {
    let spec = system_table_spec();
    let mut key = Vec::new();
    spec.primary_layout()
        .expect("the system table has a key")
        .encode_values(&[Value::bytes(name)], &mut key);
    let row = document.map(|document| {
        let mut row = Vec::new();
        spec.row_layout()
            .encode(&[Value::bytes(name), Value::bytes(document)], &mut row);
        row
    });
    (key, row)
}

fn read_catalog(participant: &Arc<dyn Participant>) -> Result<Catalog, StartError> {
    let Some(table) = participant.store().table(SYSTEM_TABLE) else {
        return Ok(Catalog::default());
    };
    let transaction = Transaction::begin(participant.clone(), Options::default());
    let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut cursor = Cursor::forward(KeyRange::all());
    while !cursor.is_finished() {
        transaction.scan(&table, IndexId::PRIMARY, &mut cursor, 1024, |entry| {
            let text = |column| match table.row_layout().column(entry.row(), column) {
                types::ValueRef::Bytes(bytes) => bytes.to_vec(),
                _ => Vec::new(),
            };
            rows.push((text(0), text(1)));
            std::ops::ControlFlow::Continue(())
        });
    }
    Ok(Catalog::from_rows(
        rows.iter()
            .map(|(name, document)| (name.as_slice(), document.as_slice())),
    )?)
}

/// The first start.
fn bootstrap(participant: &Arc<dyn Participant>) -> Result<(), ProposeError> {
    let mut transaction = Transaction::begin(participant.clone(), Options::default());
    transaction.create_table(system_table_spec());
    block_on(transaction.commit())?;
    let table = participant.store().table(SYSTEM_TABLE).expect("committed just now");
    let mut edit = CatalogEdit::new(Arc::new(Catalog::default()));
    for name in ["test", "sbtest"] {
        edit.put_database(DatabaseDef {
            name: name.into(),
            collation: CollationId::DEFAULT,
            read_only: false,
        });
    }
    // Every loopback address counts as localhost: one account, one password.
    edit.put_account(AccountDef {
        plugin: AuthenticationPlugin::NativePassword,
        privileges: Privileges::ALL.with(Privileges::GRANT_OPTION),
        ..AccountDef::new("root", "localhost")
    });
    let mut transaction = Transaction::begin(participant.clone(), Options::default());
    for (name, document) in edit.rows() {
        if let (key, Some(row)) = system_row(name, document) {
            let inserted = transaction.insert(&table, &key, &row);
            debug_assert!(
                matches!(inserted, Ok(transaction::Progress::Done)),
                "nobody else is there yet"
            );
        }
    }
    block_on(transaction.commit())?;
    Ok(())
}

/// Drives a future on this thread: only before the node serves anybody.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut result = None;
    crate::host::Host::wait(
        &crate::host::BlockingHost,
        std::pin::pin!(async { result = Some(future.await) }),
    );
    result.expect("wait returns when the future is done")
}
