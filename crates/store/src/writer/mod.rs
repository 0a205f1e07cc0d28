//! Changing the store: applying committed write sets, publishing them, collecting what nobody needs any more, closing gaps in memory,
//! loading checkpoints.
//!
//! One thread owns the [`Writer`]. A batch is any number of [`apply`](Writer::apply) calls and one
//! [`publish`](Writer::publish): first the new index roots become visible, then the timestamp that makes readers look for what is
//! new in them.

#![allow(unsafe_code)]

mod collect;
mod compact;
mod fit;
mod load;
mod local;
mod past;
mod pending;
mod table;

pub use compact::Compactions;
pub use fit::{CheckError, Fitting};
pub use load::{LoadError, LoadedTable, TableLoader, TablePiece};
pub use local::LocalStore;
pub use pending::Undecided;

use crate::prepared::Prepared;
use crate::record::Stamp;
use crate::retired::Retired;
use crate::snapshot::Active;
use crate::spec::{IndexSpec, TableSpec};
use crate::store::Store;
use crate::table::Table;
use crate::write_set::{WriteOp, WriteOps};
use compact::Pass;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use table::TableWriter;
use types::row::CorruptRow;
use types::row::generation::ColumnChange;
use types::{Expiry, IndexId, TableId, Timestamp};

/// Why a transaction of the log does not fit the rows. Nothing of it is applied, on every replica alike.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    #[error("table {0} does not exist")]
    NoTable(TableId),
    #[error("table {0} exists")]
    TableExists(TableId),
    #[error("index {1} of table {0} does not exist")]
    NoIndex(TableId, IndexId),
    #[error("table {0}: {1}")]
    BadTable(TableId, &'static str),
    #[error("table {0}: {1}")]
    BadIndex(TableId, &'static str),
    #[error("table {0}: {1}")]
    BadRow(TableId, CorruptRow),
    #[error("table {0}: key or row too long")]
    TooLong(TableId),
    #[error("table {0}: a transaction that is not decided has changed it")]
    Undecided(TableId),
    #[error("a part of a large transaction: {0}")]
    BadChunk(&'static str),
    #[error("timestamp {applied} does not follow {newest}")]
    Timestamp { applied: Timestamp, newest: Timestamp },
}

/// The one handle that changes a store; owned by the thread that applies the log.
pub struct Writer {
    store: Arc<Store>,
    newest: Timestamp,
    tables: HashMap<TableId, TableWriter>,
    /// Tables with changes since the last publication.
    changed: Vec<TableId>,
    /// Tables with versions to collect, each once.
    uncollected: VecDeque<TableId>,
    /// When a table has something of the past to free; some have had it.
    past_due: BTreeSet<(Timestamp, TableId)>,
    /// What was visible from then on is to be kept.
    kept_from: Timestamp,
    /// There was more to collect than was asked for.
    is_behind: bool,
    /// Who reads what, as of the last look.
    active: Active,
    retired: Retired,
    /// Dropped tables that somebody may still have a handle of.
    dropped: Vec<Arc<Table>>,
    /// What moves out of sparse pages.
    pass: Option<Pass>,
}

impl Writer {
    pub(crate) fn new(store: Arc<Store>) -> Writer {
        Writer {
            store,
            newest: Timestamp::ZERO,
            tables: HashMap::new(),
            changed: Vec::new(),
            uncollected: VecDeque::new(),
            past_due: BTreeSet::new(),
            kept_from: Timestamp::MAX,
            is_behind: false,
            active: Active::none(),
            retired: Retired::default(),
            dropped: Vec::new(),
            pass: None,
        }
    }

    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Applies the operations of one transaction at its commit timestamp, which is greater than all before, or nothing of it.
    /// Readers do not see them before [`publish`](Self::publish). Takes all memory it needs; check before committing.
    pub fn apply(&mut self, ts: Timestamp, ops: WriteOps<'_>) -> Result<(), CheckError> {
        let fitting = self.check(ops)?;
        self.apply_fitting(ts, fitting)
    }

    /// As [`apply`](Self::apply), of what [`check`](Self::check) has just found to fit. An error is a broken invariant: the
    /// transaction may be applied in part, nothing must be published any more, and the replica must stop.
    pub fn apply_fitting(&mut self, ts: Timestamp, fitting: Fitting<'_>) -> Result<(), CheckError> {
        if ts <= self.newest {
            let newest = self.newest;
            return Err(ApplyError::Timestamp { applied: ts, newest }.into());
        }
        self.newest = ts;
        fitting.ops.into_iter().try_for_each(|op| Ok(self.apply_op(ts, op?)?))
    }

    /// Makes everything applied so far visible to snapshots taken from now on.
    pub fn publish(&mut self) {
        self.publish_after(|| ());
    }

    /// As [`publish`](Self::publish), and does something just before new snapshots can see the changes.
    pub fn publish_after(&mut self, before: impl FnOnce()) {
        self.publish_trees();
        before();
        self.store.snapshots.publish(self.newest);
    }

    /// Starts the clock after a checkpoint was loaded: its rows are as of `ts`.
    pub fn restore_timestamp(&mut self, ts: Timestamp) {
        self.newest = self.newest.max(ts);
        // What was before is not in the checkpoint.
        self.store.snapshots.forget_before(self.newest);
        self.publish();
    }

    /// Adds a table that was loaded from a checkpoint.
    pub fn install(&mut self, loaded: LoadedTable) -> Result<(), ApplyError> {
        let id = loaded.table.id();
        self.add_table(loaded.table)?;
        let (row_bytes, key_bytes) = (loaded.row_bytes, loaded.key_bytes);
        self.changing(id)?
            .inherit_memory(row_bytes, key_bytes, &loaded.index_bytes);
        Ok(())
    }

    /// Puts these tables, which were loaded from a checkpoint, in the place of all that are there: nobody finds a mixture. Who reads an
    /// older table goes on with it, at older timestamps.
    pub fn replace(&mut self, loaded: Vec<LoadedTable>) -> Result<(), ApplyError> {
        for writer in self.tables.values_mut() {
            writer.publish(&mut self.retired, &self.store);
            writer.give_back_memory(&self.store);
        }
        self.tables.clear();
        self.changed.clear();
        self.uncollected.clear();
        self.past_due.clear();
        let mut tables = HashMap::new();
        for one in loaded {
            let table = Arc::new(one.table);
            let mut writer = TableWriter::new(Arc::clone(&table));
            writer.inherit_memory(one.row_bytes, one.key_bytes, &one.index_bytes);
            self.tables.insert(table.id(), writer);
            self.changing(table.id())?;
            tables.insert(table.id(), table);
        }
        let before = std::mem::replace(&mut *self.store.tables.write(), tables);
        for table in before.values() {
            table.supersede(self.newest.next());
        }
        self.dropped.extend(before.into_values());
        Ok(())
    }

    /// Has the processor load what these keys are found by, before they are changed one by one.
    pub fn fetch_ahead(&self, mut keys: Vec<(TableId, &[u8])>) {
        if keys.len() < 2 {
            return;
        }
        keys.sort_by_key(|(table, _)| *table);
        let mut of_table = Vec::with_capacity(keys.len());
        for keys in keys.chunk_by(|(one, _), (other, _)| one == other) {
            if keys.len() > 1
                && let Some(writer) = self.tables.get(&keys[0].0)
            {
                of_table.clear();
                of_table.extend(keys.iter().map(|(_, key)| *key));
                writer.table().fetch_ahead(&of_table);
            }
        }
    }

    fn publish_trees(&mut self) {
        for id in self.changed.drain(..) {
            if let Some(table) = self.tables.get_mut(&id) {
                table.publish(&mut self.retired, &self.store);
            }
        }
        // SAFETY: all that was retired has been unlinked: versions and histories at once, nodes and records by the roots
        // just published.
        unsafe { self.retired.hand_over() };
    }

    fn apply_op(&mut self, ts: Timestamp, op: WriteOp<'_>) -> Result<(), ApplyError> {
        match op {
            WriteOp::Put { table, key, row } => {
                let writer = self.changing(table)?;
                if !writer.put(Stamp::at(ts), key, row) {
                    return Err(ApplyError::TooLong(table));
                }
            }
            WriteOp::Delete { table, key } => self.changing(table)?.delete(Stamp::at(ts), key),
            WriteOp::AdvanceAutoIncrement { table, next } => {
                if let Some(table) = self.store.table(table) {
                    table.apply_raised_auto_increment(next);
                }
            }
            WriteOp::SetAutoIncrement { table, next } => self.table(table)?.apply_auto_increment(next),
            WriteOp::CreateTable(spec) => {
                self.add_table(Table::new(*spec, ts, Arc::clone(&self.store.snapshots)))?;
            }
            WriteOp::DropTable { table } => self.drop_table(table)?,
            WriteOp::CreateIndex { table, index } => self.create_index(ts, table, *index)?,
            WriteOp::DropIndex { table, index } => self.drop_index(table, index)?,
            WriteOp::ChangeColumns { table, change } => self.change_columns(ts, table, &change)?,
            WriteOp::SetExpiry { table, expiry } => self.set_expiry(table, expiry)?,
        }
        Ok(())
    }

    fn table(&self, id: TableId) -> Result<Arc<Table>, ApplyError> {
        self.store.table(id).ok_or(ApplyError::NoTable(id))
    }

    /// The table's writer; the table will be published and collected.
    fn changing(&mut self, id: TableId) -> Result<&mut TableWriter, ApplyError> {
        let writer = self.tables.get_mut(&id).ok_or(ApplyError::NoTable(id))?;
        if !std::mem::replace(&mut writer.is_changed, true) {
            self.changed.push(id);
        }
        if !std::mem::replace(&mut writer.is_uncollected, true) {
            self.uncollected.push_back(id);
        }
        Ok(writer)
    }

    fn add_table(&mut self, table: Table) -> Result<(), ApplyError> {
        let id = table.id();
        if self.tables.contains_key(&id) {
            return Err(ApplyError::TableExists(id));
        }
        let table = Arc::new(table);
        self.tables.insert(id, TableWriter::new(Arc::clone(&table)));
        self.store.tables.write().insert(id, table);
        Ok(())
    }

    fn drop_table(&mut self, id: TableId) -> Result<(), ApplyError> {
        let table = self.take_table(id)?;
        self.dropped.extend(table);
        Ok(())
    }

    fn take_table(&mut self, id: TableId) -> Result<Option<Arc<Table>>, ApplyError> {
        let mut writer = self.tables.remove(&id).ok_or(ApplyError::NoTable(id))?;
        writer.publish(&mut self.retired, &self.store);
        writer.give_back_memory(&self.store);
        Ok(self.store.tables.write().remove(&id))
    }

    fn create_index(&mut self, ts: Timestamp, id: TableId, index: IndexSpec) -> Result<(), ApplyError> {
        let old = self.table(id)?;
        old.spec()
            .check_new_index(&index)
            .map_err(|what| ApplyError::BadIndex(id, what))?;
        let prepared = self.store.take_prepared(&old, old.spec(), &index);
        let mut spec = old.spec().clone();
        spec.indexes.push(index);
        let writer = self.changing(id)?;
        let index = match prepared.map(Prepared::into_parts) {
            Some((tree, bytes)) => writer.add_index(ts, &spec, tree, bytes),
            None => writer.build_index(ts, &spec).ok_or(ApplyError::TooLong(id))?,
        };
        let mut indexes = old.indexes.clone();
        indexes.push(index);
        self.redefine(&old, spec, indexes);
        Ok(())
    }

    fn drop_index(&mut self, id: TableId, index: IndexId) -> Result<(), ApplyError> {
        let old = self.table(id)?;
        let mut spec = old.spec().clone();
        spec.indexes.retain(|other| other.id != index);
        let (dropped, kept): (Vec<_>, Vec<_>) = old.indexes.iter().cloned().partition(|other| other.id == index);
        if dropped.is_empty() {
            return Err(ApplyError::NoIndex(id, index));
        }
        dropped
            .iter()
            .for_each(|index| index.is_dropped.store(true, Ordering::SeqCst));
        self.changing(id)?;
        if let Some(writer) = self.tables.get_mut(&id) {
            writer.forget_index(index, &mut self.retired, &self.store);
        }
        self.redefine(&old, spec, kept);
        Ok(())
    }

    fn change_columns(&mut self, ts: Timestamp, id: TableId, change: &ColumnChange) -> Result<(), ApplyError> {
        let old = self.table(id)?;
        let spec = old.spec().with_columns(change);
        let spec = spec.map_err(|what| ApplyError::BadTable(id, what))?;
        let new = old.with_columns(spec, ts);
        self.changing(id)?.set_indexes(&new.indexes);
        self.install_handle(new);
        Ok(())
    }

    /// Readers with an older handle go by the rule that they know, until their transactions end.
    fn set_expiry(&mut self, id: TableId, expiry: Option<Expiry>) -> Result<(), ApplyError> {
        let old = self.table(id)?;
        let mut spec = old.spec().clone();
        spec.expiry = expiry;
        spec.check().map_err(|what| ApplyError::BadTable(id, what))?;
        self.changing(id)?;
        let indexes = old.indexes.clone();
        self.redefine(&old, spec, indexes);
        Ok(())
    }

    /// Puts a table with other indexes over the same rows in the directory.
    fn redefine(&mut self, old: &Table, spec: TableSpec, indexes: Vec<Arc<crate::table::Index>>) {
        self.install_handle(old.redefined(spec, indexes));
    }

    fn install_handle(&mut self, table: Table) {
        let table = Arc::new(table);
        self.tables
            .get_mut(&table.id())
            .expect("has just been changed")
            .set_table(Arc::clone(&table));
        self.store.tables.write().insert(table.id(), table);
    }
}

impl Drop for Writer {
    /// Leaves the trees whole, for readers who outlive the writer.
    fn drop(&mut self) {
        self.publish_trees();
    }
}
