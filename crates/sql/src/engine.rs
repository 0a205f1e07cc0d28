//! What all sessions of a node share: the schema, the rows, global variables, cached plans.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use catalog::{
    AccountDef, AuthenticationPlugin, Catalog, CatalogEdit, DatabaseDef, DynamicPrivileges, Privileges, SYSTEM_TABLE,
    TableDef,
};
use env::{Directory, Env};
use parking_lot::{Mutex, RwLock};
use shard::ProposeError;
use transaction::{Durability, Options, Participant, Transaction};
use types::collation::CollationId;
use types::{TableId, Timestamp};

use crate::accounts::access::{Access, RightsCache};
use crate::accounts::logins::AccountUses;
use crate::accounts::rights::{AccountName, DatabaseNames};
use crate::cluster_locks::Holders;
use crate::host::Host;
use crate::information_schema;
use crate::named_locks::NamedLocks;
use crate::nodes::OtherNodes;
use crate::plan::{Authorizer, Node, VirtualTable};
use crate::plan_cache::PlanCache;
use crate::processes::Processes;
use crate::row_follower::RowFollower;
use crate::schema::{Schema, system_table_spec};
use crate::slow_digests::SlowDigests;
use crate::statement_logs::{self, StatementLogs};
use crate::statement_times::StatementTimes;
use crate::statistics::Statistics;
use crate::table::Table;
use crate::table_ids::{TableIds, write_rows};
use crate::variables;
use crate::variables::Globals;
use crate::waiting::pause_for;

/// Between two looks at whether the cluster has a catalog.
const CATALOG_PAUSE: Duration = Duration::from_millis(5);

/// The SQL side of a node.
pub struct Engine {
    env: Env,
    participant: Arc<dyn Participant>,
    schema: Arc<Schema>,
    tables: RwLock<HashMap<TableId, Arc<Table>>>,
    account_uses: AccountUses,
    named_locks: NamedLocks,
    pub(crate) lock_holders: Holders,
    statistics: Statistics,
    times: StatementTimes,
    slow_digests: SlowDigests,
    plans: PlanCache,
    rights: RightsCache,
    processes: OnceLock<Arc<dyn Processes>>,
    server_files: OnceLock<Arc<Directory>>,
    logs: Arc<StatementLogs>,
    other_nodes: OnceLock<Arc<dyn OtherNodes>>,
    prepared_statements: AtomicI64,
    /// Copies of tables that have lost their owner.
    abandoned: Mutex<Vec<TableId>>,
    has_abandoned: AtomicBool,
    table_ids: TableIds,
    purged_elsewhere: OnceLock<fn(&TableDef) -> bool>,
    incarnation: u64,
    started_at_micros: i64,
    next_uuid_short: AtomicU64,
    /// It has entered, or is about to: whoever starts later takes the global variables as they are.
    pub(crate) is_in_cluster: AtomicBool,
}

/// What is around an engine that serves clients.
pub struct Surroundings {
    /// The node's connections.
    pub processes: Arc<dyn Processes>,
    /// `None`: the node is no cluster's.
    pub nodes: Option<Arc<dyn OtherNodes>>,
    /// Of commits, where nobody has said otherwise.
    pub durability: Durability,
    /// The data directory, for the logs of statements; `None`: they go to tables alone.
    pub data_dir: Option<PathBuf>,
    /// `secure_file_priv`; `None`: statements use no files of the server.
    pub files: Option<Arc<Directory>>,
}

/// Why the SQL side did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the first start could not write the catalog: {0:?}")]
    Bootstrap(ProposeError),
    #[error("what an earlier start left behind could not be cleaned up: {0}")]
    CleanUp(String),
    #[error("the start was interrupted")]
    Interrupted,
    #[error(
        "a node of a cluster has no durability {0}, which SET PERSIST has given to this one: start it without --peer-addr, and RESET PERSIST durability"
    )]
    Durability(&'static str),
}

impl Engine {
    /// `schema` has followed the shard's log from its start. A cluster that starts for the first time gets a catalog with the account
    /// `root` without password for loopback and the databases `test` and `sbtest`: from whoever leads it. Waits until it is there.
    pub fn open(
        env: Env,
        participant: Arc<dyn Participant>,
        schema: Arc<Schema>,
        host: &dyn Host,
    ) -> Result<Arc<Engine>, StartError> {
        schema.begin_reading();
        // The first start may have been cut short after it had made the table.
        while schema.is_empty() {
            match participant.guest() {
                None => bootstrap(&participant, host).map_err(StartError::Bootstrap)?,
                Some(_) => pause_for(CATALOG_PAUSE, host).map_err(|_| StartError::Interrupted)?,
            }
        }
        let started_at_micros = env.clock.wall().as_micros() as i64;
        let incarnation = participant.incarnation();
        let engine = Engine {
            logs: Arc::new(StatementLogs::new(env.disk.clone())),
            env,
            schema,
            table_ids: TableIds::default(),
            purged_elsewhere: OnceLock::new(),
            incarnation,
            participant,
            tables: RwLock::default(),
            account_uses: AccountUses::default(),
            named_locks: NamedLocks::default(),
            lock_holders: Holders::default(),
            statistics: Statistics::default(),
            times: StatementTimes::default(),
            slow_digests: SlowDigests::default(),
            plans: PlanCache::default(),
            rights: RightsCache::default(),
            processes: OnceLock::new(),
            server_files: OnceLock::new(),
            other_nodes: OnceLock::new(),
            prepared_statements: AtomicI64::new(0),
            abandoned: Mutex::default(),
            has_abandoned: AtomicBool::new(false),
            started_at_micros,
            next_uuid_short: AtomicU64::new(first_uuid_short(incarnation, started_at_micros)),
            is_in_cluster: AtomicBool::new(false),
        };
        engine.clean_up(host)?;
        engine.describe_node();
        engine.globals().restore(&engine.catalog());
        engine.globals().keep_logs(engine.logs.clone());
        Ok(Arc::new(engine))
    }

    /// What comes between [`open`](Self::open) and the first client: the node enters its cluster, if it has one, and takes the values of the
    /// global variables.
    pub fn begin_to_serve(&self, surroundings: Surroundings, host: &dyn Host) -> Result<(), StartError> {
        self.set_processes(surroundings.processes);
        if let Some(data_dir) = surroundings.data_dir {
            self.logs.keep_in(data_dir.join(statement_logs::FOLDER));
        }
        if let Some(files) = surroundings.files {
            let shown = format!("{}/", files.path().display());
            self.globals().describe("secure_file_priv", &shown);
            let _ = self.server_files.set(files);
        }
        let is_alone = surroundings.nodes.is_none();
        if let Some(nodes) = surroundings.nodes {
            self.enter_cluster(nodes, host).map_err(|_| StartError::Interrupted)?;
        }
        let durability = self.start_with_durability(surroundings.durability);
        if !is_alone && durability != Durability::MajorityDisk {
            return Err(StartError::Durability(durability.name()));
        }
        self.keep_past();
        Ok(())
    }

    /// The general log and the slow query log.
    pub(crate) fn logs(&self) -> &StatementLogs {
        &self.logs
    }

    /// The directory whose files statements may use.
    pub(crate) fn server_files(&self) -> Option<&Arc<Directory>> {
        self.server_files.get()
    }

    /// The current schema.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.schema.catalogs().current()
    }

    pub fn catalog_version(&self) -> u64 {
        self.schema.catalogs().version()
    }

    /// Waits until the rows of a version of the catalog can be seen. The catalog is current a moment before they are; who begins to
    /// read in that moment would find tables that its snapshot is too old for.
    pub(crate) fn wait_until_visible(&self, version: u64) {
        while self.participant.store().published() < Timestamp(version) {
            std::thread::yield_now();
        }
    }

    /// Tells somebody of rows that change. There is one on a node; a second one is told nothing.
    pub fn set_row_follower(&self, follower: Arc<dyn RowFollower>) {
        self.schema.set_follower(follower);
    }

    /// Another part of the node removes the expired rows of these tables, with what belongs to them.
    pub fn leave_purge_of(&self, tables: fn(&TableDef) -> bool) {
        let _ = self.purged_elsewhere.set(tables);
    }

    pub(crate) fn is_purged_elsewhere(&self, table: TableId) -> bool {
        let elsewhere = self.purged_elsewhere.get();
        elsewhere.is_some_and(|elsewhere| self.catalog().table_by_id(table).is_some_and(|def| elsewhere(def)))
    }

    pub(crate) fn table_ids(&self) -> &TableIds {
        &self.table_ids
    }

    /// This start of the node, among all.
    pub(crate) fn incarnation(&self) -> u64 {
        self.incarnation
    }

    pub(crate) fn rights(&self) -> &RightsCache {
        &self.rights
    }

    /// The roles that every account has.
    pub(crate) fn mandatory_roles(&self) -> Vec<AccountName> {
        crate::accounts::roles::parse_roles(&self.globals().mandatory_roles())
    }

    /// How grants on databases are read.
    pub(crate) fn database_names(&self) -> DatabaseNames {
        match self.globals().partial_revokes() {
            true => DatabaseNames::Literal,
            false => DatabaseNames::Patterns,
        }
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
        let rows = self.participant.store().table_as_of(def.id, def.visible_from)?;
        let table = Arc::new(Table::new(def.clone(), rows));
        self.tables.write().insert(def.id, table.clone());
        // Dropped meanwhile, it would be kept for ever.
        if self.catalog().table_by_id(def.id).is_none() {
            self.forget_tables(&[def.id]);
        }
        Some(table)
    }

    /// Forgets tables that the schema no longer has.
    pub(crate) fn forget_tables(&self, dropped: &[TableId]) {
        if dropped.is_empty() {
            return;
        }
        let mut tables = self.tables.write();
        for id in dropped {
            tables.remove(id);
        }
    }

    /// What commits wait for where nobody has said otherwise, and where somebody has.
    fn start_with_durability(&self, level: Durability) -> Durability {
        let Ok(id) = variables::find("durability") else {
            return level;
        };
        if self.globals().origin(id).is_none() {
            self.globals().describe("durability", level.name());
        }
        self.durability()
    }

    /// What the commits of new sessions wait for.
    pub fn durability(&self) -> Durability {
        let level = variables::find("durability").map(|id| self.globals().get(id));
        level.map_or_else(|_| Durability::default(), |level| variables::durability_named(&level))
    }

    /// From now on the past is kept for as long as `past_window_seconds` says. Once, when the global variables are known.
    fn keep_past(&self) {
        self.globals().keep_past(self.participant.store().past().clone());
    }

    /// The oldest moment that can be read, in microseconds since 1970, of a node that keeps the past.
    pub fn past_oldest_micros(&self) -> Option<i64> {
        let store = self.participant.store();
        (!store.past().window().is_zero()).then(|| store.oldest_readable().wall_ms() as i64 * 1000)
    }

    /// How long ago that was.
    pub fn past_readable(&self) -> Duration {
        let ago = self
            .past_oldest_micros()
            .map_or(0, |oldest| self.clock_micros() - oldest);
        Duration::from_micros(ago.max(0) as u64)
    }

    pub fn globals(&self) -> &Globals {
        self.schema.globals()
    }

    /// What accounts with limits have done.
    pub fn account_uses(&self) -> &AccountUses {
        &self.account_uses
    }

    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// How long the statements of clients take.
    pub fn statement_times(&self) -> &StatementTimes {
        &self.times
    }

    /// Those that took long.
    pub(crate) fn slow_digests(&self) -> &SlowDigests {
        &self.slow_digests
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

    pub(crate) fn set_other_nodes(&self, nodes: Arc<dyn OtherNodes>) {
        let _ = self.other_nodes.set(nodes);
    }

    /// The other nodes of the cluster; none where the node is no cluster's.
    pub fn other_nodes(&self) -> Option<&Arc<dyn OtherNodes>> {
        self.other_nodes.get()
    }

    /// Prepared statements of all sessions.
    pub fn prepared_count(&self) -> i64 {
        self.prepared_statements.load(Ordering::Relaxed)
    }

    pub(crate) fn count_prepared(&self, change: i64) {
        self.prepared_statements.fetch_add(change, Ordering::Relaxed);
    }

    /// Whether somebody has a table's definition for himself, or waits for it: `LOCK TABLES … WRITE`, a change of the schema. Then readers
    /// outside of transactions have to ask for it, too.
    #[inline]
    pub(crate) fn is_definition_wanted(&self, table: TableId) -> bool {
        self.participant.store().locks().is_definition_wanted(table)
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
        let limit = variables::find("max_prepared_stmt_count").map(|id| self.globals().get(id));
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

    /// Before anybody is served: brings the catalog up to this version, and drops what earlier starts have left without an owner. While
    /// another node leads, that is left to the first statement.
    fn clean_up(&self, host: &dyn Host) -> Result<(), StartError> {
        let unclean = |error: &dyn std::fmt::Display| StartError::CleanUp(error.to_string());
        let ids = self.ownerless_tables();
        if !ids.is_empty() {
            tracing::info!(?ids, "dropping tables without an owner");
        }
        if self.participant.guest().is_some() {
            self.abandon_tables(ids);
            return Ok(());
        }
        if let Some(removal) = self.removal(&ids).map_err(|error| unclean(&error))? {
            wait(removal.commit(), host).map_err(|error| unclean(&error))?;
        }
        if self.catalog().is_of_older_format() {
            let mut upgrade = self.begin();
            write_rows(&mut upgrade, &self.upgrade()).map_err(|error| unclean(&error))?;
            wait(upgrade.commit(), host).map_err(|error| unclean(&error))?;
        }
        Ok(())
    }
}

impl Node for Engine {
    fn table(&self, def: &Arc<TableDef>) -> Option<Arc<Table>> {
        Engine::table(self, def)
    }

    fn authorizer_of(&self, catalog: &Catalog, definer: &AccountDef) -> Arc<dyn Authorizer> {
        Arc::new(Access::of_definer(catalog, definer, self.database_names()))
    }

    fn virtual_table(&self, database: &str, name: &str) -> Option<&'static dyn VirtualTable> {
        information_schema::find(database, name).map(|table| table as &dyn VirtualTable)
    }

    fn has_server_files(&self) -> bool {
        self.server_files().is_some()
    }

    fn takes_local_files(&self) -> bool {
        variables::find("local_infile").is_ok_and(|id| &*self.globals().get(id) != "OFF")
    }
}

/// The first start.
fn bootstrap(participant: &Arc<dyn Participant>, host: &dyn Host) -> Result<(), ProposeError> {
    if participant.store().table(SYSTEM_TABLE).is_none() {
        let mut transaction = Transaction::begin(participant.clone(), Options::default());
        transaction.create_table(system_table_spec());
        wait(transaction.commit(), host)?;
    }
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
        dynamic_privileges: Some(DynamicPrivileges::ALL.grantable()),
        ..AccountDef::new("root", "localhost")
    });
    edit.set_next_table_id(catalog::LAST_SYSTEM_TABLE.0 + 1);
    edit.set_format();
    let mut transaction = Transaction::begin(participant.clone(), Options::default());
    write_rows(&mut transaction, &edit).expect("nobody else is there yet");
    wait(transaction.commit(), host)?;
    Ok(())
}

/// As in MySQL: the server, when it was started, and a count.
fn first_uuid_short(incarnation: u64, started_at_micros: i64) -> u64 {
    let node = (incarnation >> 32) & 0xff;
    let seconds = started_at_micros as u64 / 1_000_000;
    node << 56 | (seconds & 0xffff_ffff) << 24
}

fn wait<T>(future: impl Future<Output = T>, host: &dyn Host) -> T {
    let mut result = None;
    host.wait(std::pin::pin!(async { result = Some(future.await) }));
    result.expect("wait returns when the future is done")
}
