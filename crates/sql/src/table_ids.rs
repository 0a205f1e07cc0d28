//! Ids for tables, and the copies that ALTER TABLE makes of them: both belong to somebody before they are used.
//!
//! Ids are leased: the log has it that those up to some number are taken before the first of them is used. So whatever a node leaves
//! behind when it dies, nobody gets its ids again. A copy of a table is a job: a row of the catalog names it and the start of the
//! node that fills it, in the transaction that makes the table. It goes with the transaction that finishes or drops the copy;
//! what is left of it without an owner is dropped, at the start or by the next statement.

use std::cell::RefCell;
use std::sync::Arc;

use catalog::{CatalogEdit, CopyJob, LAST_SYSTEM_TABLE, SYSTEM_TABLE};
use parking_lot::Mutex;
use store::{LockKey, LockMode, Table};
use transaction::{Options, Transaction};
use types::{SqlError, SqlResult, TableId};

use crate::engine::Engine;
use crate::exec::Runtime;
use crate::failpoint;
use crate::host::Host;
use crate::schema::system_row;
use crate::session::wait_for_commit;

/// Who has it may lease ids.
const LEASES: LockKey<'static> = LockKey::Name(b"table ids");
/// Ids leased at a time.
const LEASE: u32 = 64;

/// The rest of a lease.
#[derive(Default)]
pub(crate) struct TableIds {
    /// The next one, and the end.
    left: Mutex<(u32, u32)>,
}

impl TableIds {
    fn take(&self) -> Option<TableId> {
        let (next, end) = &mut *self.left.lock();
        (*next < *end).then(|| {
            *next += 1;
            TableId(*next - 1)
        })
    }
}

impl Engine {
    /// An id that no table had before.
    pub(crate) fn allocate_table_id(&self, runtime: &Runtime<'_>) -> SqlResult<TableId> {
        loop {
            if let Some(id) = self.table_ids().take() {
                return Ok(id);
            }
            let lease = RefCell::new(self.begin());
            // Leases come one after another; what the one before has left may be enough.
            runtime
                .with_transaction(&lease)
                .lock_definition(LEASES, LockMode::Exclusive)?;
            if let Some(id) = self.table_ids().take() {
                return Ok(id);
            }
            failpoint::hit("ids.leasing")?;
            let mut edit = CatalogEdit::new(self.catalog());
            let first = self.catalog().next_table_id();
            edit.set_next_table_id(first + LEASE);
            let mut lease = lease.into_inner();
            write_rows(&mut lease, &edit)?;
            let leased = |_| *self.table_ids().left.lock() = (first, first + LEASE);
            wait_for_commit(lease.commit_then(leased), runtime.host)?;
            failpoint::hit("ids.leased")?;
        }
    }

    /// Makes an empty table that will take another one's place. It is dropped unless the job is finished.
    pub(crate) fn begin_copy(
        self: &Arc<Engine>,
        spec: store::TableSpec,
        host: &dyn Host,
    ) -> SqlResult<(CopyGuard, Arc<Table>)> {
        let id = spec.id;
        // Before the table is there: what happens from here on, the guard drops it.
        let guard = CopyGuard {
            engine: self.clone(),
            table: Some(id),
        };
        let mut edit = CatalogEdit::new(self.catalog());
        edit.put_copy(CopyJob {
            table: id,
            owner: self.incarnation(),
        });
        let mut creation = self.begin();
        creation.create_table(spec);
        write_rows(&mut creation, &edit)?;
        wait_for_commit(creation.commit(), host)?;
        let rows = self.participant().store().table(id);
        let rows = rows.ok_or_else(|| SqlError::internal("a table that was just made is missing"))?;
        Ok((guard, rows))
    }

    /// A transaction that drops tables of the store that nobody uses, with the jobs of those that are copies. `None`: they are
    /// gone already.
    pub(crate) fn removal(&self, ids: &[TableId]) -> SqlResult<Option<Transaction>> {
        let mut edit = CatalogEdit::new(self.catalog());
        let mut removal = self.begin();
        for id in ids {
            // A copy that has taken its place is nobody's to drop, whatever became of the one who put it there.
            if edit.catalog().table_by_id(*id).is_some() {
                continue;
            }
            if self.participant().store().table(*id).is_some() {
                removal.drop_table(*id);
            }
            if edit.catalog().copies().any(|job| job.table == *id) {
                edit.remove_copy(*id);
            }
        }
        write_rows(&mut removal, &edit)?;
        Ok(removal.has_writes().then_some(removal))
    }

    /// The tables of the store that the start finds without an owner: copies whose node has died, and temporary tables.
    pub(crate) fn ownerless_tables(&self) -> Vec<TableId> {
        let catalog = self.catalog();
        let stored = self.participant().store().tables();
        let nodes = self.participant().nodes();
        let this = self.incarnation();
        // Other nodes see to their own as long as there are such nodes; no start but this one is running on this node.
        let is_left = |owner: u64| match (owner >> 32) as u32 {
            node if node == (this >> 32) as u32 => owner != this,
            node => !nodes.contains(&node),
        };
        let left = catalog.copies().filter(|job| is_left(job.owner));
        let mut ids: Vec<TableId> = left.map(|job| job.table).collect();
        let in_store = stored.iter().map(|table| table.id());
        match catalog.is_of_older_format() {
            // Nothing says what copies there were: they are what nothing names.
            true => ids.extend(in_store.filter(|id| *id > LAST_SYSTEM_TABLE && catalog.table_by_id(*id).is_none())),
            false => ids.extend(in_store.filter(|id| id.is_local())),
        }
        ids
    }

    /// Brings the catalog of an older version up to this one: ids of tables that are in the store count as taken.
    pub(crate) fn upgrade(&self) -> CatalogEdit {
        let mut edit = CatalogEdit::new(self.catalog());
        let stored = self.participant().store().tables();
        let named = stored.iter().map(|table| table.id()).filter(|id| !id.is_local());
        let newest = named.max().unwrap_or(LAST_SYSTEM_TABLE);
        let next = edit.catalog().next_table_id().max(newest.0 + 1);
        edit.set_next_table_id(next);
        edit.set_format();
        edit
    }

    /// A transaction beside a session's own.
    pub(crate) fn begin(&self) -> Transaction {
        Transaction::begin(self.participant().clone(), Options::default())
    }
}

/// Writes the rows of an edit. The locks of who makes it keep everybody else from writing the same ones.
pub(crate) fn write_rows(transaction: &mut Transaction, edit: &CatalogEdit) -> SqlResult<()> {
    let table = transaction.store().table(SYSTEM_TABLE);
    let table = table.ok_or_else(|| SqlError::internal("the system table is missing"))?;
    for (name, document) in edit.rows() {
        if let Some(document) = document {
            catalog::check_row(name, document).map_err(SqlError::internal)?;
        }
        let (key, row) = system_row(name, document);
        transaction
            .put_unlocked(&table, &key, row.as_deref())
            .map_err(SqlError::internal)?;
    }
    Ok(())
}

/// Drops a copy whose job does not come to its end: by an error, a panic, or the end of its session.
pub(crate) struct CopyGuard {
    engine: Arc<Engine>,
    table: Option<TableId>,
}

impl CopyGuard {
    /// The copy is finished, or dropped already.
    pub fn dismiss(mut self) {
        self.table = None;
    }
}

impl Drop for CopyGuard {
    fn drop(&mut self) {
        self.engine.abandon_tables(self.table.take().into_iter().collect());
    }
}
