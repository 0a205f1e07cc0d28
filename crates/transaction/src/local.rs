//! The session's own tables within its transaction.
//!
//! Their rows are in a [`LocalStore`], which nobody but the session changes. So nothing of them is locked, conflicts with anything or goes
//! into the log. Uncommitted changes are in the same overlay as all others, and savepoints and rollbacks treat them alike;
//! at the end they are taken out of it and put into their store, after the rest has been committed.

use super::Transaction;
use super::overlay::LocalTable;
use std::cell::Ref;
use store::{LocalStore, Reservation, Snapshot, Table};

/// Rows changed, or looked at, without giving way.
const TOGETHER: usize = 64;

/// What a transaction has changed in local tables.
pub struct LocalChanges {
    tables: Vec<LocalTable>,
    /// The store is charged for it as the rows come in.
    memory: Reservation,
}

impl Transaction {
    /// Whether there is something for [`take_local`](Self::take_local).
    pub fn has_local_changes(&self) -> bool {
        self.overlay.has_local_rows()
    }

    /// Takes the changes of local tables out of the transaction. Put them into their store once it is committed; they are rolled
    /// back by dropping them.
    pub fn take_local(&mut self) -> LocalChanges {
        // The store collects what no snapshot needs.
        *self.local_snapshot.get_mut() = None;
        let tables = self.overlay.take_local();
        let bytes: usize = tables.iter().map(|table| table.bytes).sum();
        LocalChanges {
            tables,
            memory: self.memory.split_off(bytes as u64),
        }
    }

    /// The snapshot of the store that a local table is in: all that the session has committed there.
    #[cold]
    pub(super) fn reading_local(&self, table: &Table) -> Ref<'_, Snapshot> {
        let mut snapshot = self.local_snapshot.borrow_mut();
        snapshot.get_or_insert_with(|| table.snapshot());
        drop(snapshot);
        Ref::map(self.local_snapshot.borrow(), |snapshot| {
            snapshot.as_ref().expect("taken above")
        })
    }
}

impl LocalChanges {
    /// Puts the changes into their store. Rows of tables that have been dropped meanwhile are left out.
    pub fn apply(self, store: &mut LocalStore) {
        let LocalChanges { tables, memory } = self;
        for mut table in tables {
            if store.table(table.id).is_none() {
                continue;
            }
            let mut rows = std::mem::take(&mut *table.rows).into_iter();
            while rows.len() > 0 {
                let some: Vec<_> = rows.by_ref().take(TOGETHER).collect();
                // The copies are charged as data, not as what the statement holds.
                governor::given_away(|| {
                    for (key, row) in &some {
                        let fits = store.set(table.id, key, row.as_deref());
                        fits.expect("the transaction has checked the lengths, and the table is there");
                    }
                });
                drop(some);
                governor::pause();
            }
        }
        governor::given_away(|| store.publish());
        while governor::given_away(|| store.collect(TOGETHER)) {
            governor::pause();
        }
        drop(memory);
    }
}
