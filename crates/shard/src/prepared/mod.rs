//! Transactions that are prepared, and wait for the word of whoever coordinates them (`XA PREPARE`).
//!
//! ```text
//!   prepare ──▶ a commit: rows of two system tables ──▶ … any time, restarts, leaders … ──▶ another commit
//!               │ what it would change, what it has locked                                  │ those rows go, and, if it is
//!               ▼                                                                           ▼ committed, the changes come
//!          leader: its locks are held                                                  leader: they are let go
//! ```
//!
//! What is prepared is kept as rows ([`form`]). So it is in the log, in checkpoints and backups, and on every replica as anything else is, and ends
//! once, by the one commit that takes its rows away. Until then nobody sees what it would change, for that is in no table yet.
//!
//! That its end cannot fail is the work of its locks. They are not in the log's order of things: each leader holds those of every prepared
//! transaction that the rows tell of ([`PreparedLocks`]), from before it gives the first lock of its own.

mod form;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use store::{LockTable, MemoryBudget, MemoryUse, Store, TransactionLocks};
use types::TableId;

use crate::replica::NO_EPOCH;

pub use form::{PreparedName, PreparedTransaction, Unreadable, prepared_specs};

/// One row for each prepared transaction.
pub const PREPARED: TableId = TableId(2);
/// What they would change, and what they hold, in parts.
pub const PREPARED_PARTS: TableId = TableId(3);

/// Locks that a new leader takes before it looks after something else.
const LOCKS_AT_ONCE: usize = 1024;

/// What the log has done to [`PREPARED`]: the key of a row, which is there now, or gone.
pub(crate) type PreparedChange = (Vec<u8>, bool);

/// The locks of the prepared transactions, on the node that leads.
pub(crate) struct PreparedLocks {
    locks: Arc<LockTable>,
    held: Mutex<State>,
}

struct State {
    /// In which they are held, or [`NO_EPOCH`].
    epoch: u64,
    /// By the keys of their rows.
    of: BTreeMap<Vec<u8>, Held>,
}

struct Held {
    _locks: TransactionLocks,
    _growth: Growth,
}

/// What the store will grow by: nobody else may have it.
struct Growth {
    memory: Arc<MemoryBudget>,
    bytes: i64,
}

impl Growth {
    fn new(memory: &Arc<MemoryBudget>, bytes: u64) -> Growth {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX / 2);
        memory.charge(MemoryUse::Transactions, bytes);
        Growth {
            memory: memory.clone(),
            bytes,
        }
    }
}

impl Drop for Growth {
    fn drop(&mut self) {
        self.memory.charge(MemoryUse::Transactions, -self.bytes);
    }
}

impl PreparedLocks {
    pub fn new(locks: Arc<LockTable>) -> PreparedLocks {
        PreparedLocks {
            locks,
            held: Mutex::new(State {
                epoch: NO_EPOCH,
                of: BTreeMap::new(),
            }),
        }
    }

    /// This replica is about to lead: it holds what every prepared transaction holds. Nobody has been given a lock of this lead yet, and
    /// nothing is prepared meanwhile. The thread's other tasks get their turn: the others must go on hearing of this leader.
    pub async fn take_all(&self, epoch: u64, store: &Store) -> Result<(), Unreadable> {
        self.begin(epoch);
        for name in PreparedName::all(store)? {
            let Some(prepared) = PreparedTransaction::read(store, name.key())? else {
                continue;
            };
            let mut locks = self.locks.transaction();
            for (number, lock) in (1..).zip(prepared.locks()) {
                let (key, modes) = lock?;
                locks.hold(key, modes);
                if number % LOCKS_AT_ONCE == 0 {
                    tokio::task::yield_now().await;
                }
            }
            self.keep(epoch, store, &prepared, locks);
        }
        Ok(())
    }

    /// It leads no more.
    pub fn forget(&self) {
        self.begin(NO_EPOCH);
    }

    fn begin(&self, epoch: u64) {
        let of = BTreeMap::new();
        let before = std::mem::replace(&mut *self.held.lock(), State { epoch, of });
        drop(before);
    }

    /// What the log has done can be seen. Whoever has proposed it has its locks still: what is prepared is held by both for a while.
    pub fn follow(&self, epoch: u64, store: &Store, changes: Vec<PreparedChange>) -> Result<(), Unreadable> {
        if self.held.lock().epoch != epoch {
            return Ok(());
        }
        for (key, is_there) in changes {
            match is_there {
                true => self.hold(epoch, store, &key)?,
                false => {
                    let ended = self.held.lock().of.remove(&key);
                    drop(ended);
                }
            }
        }
        Ok(())
    }

    fn hold(&self, epoch: u64, store: &Store, key: &[u8]) -> Result<(), Unreadable> {
        let Some(prepared) = PreparedTransaction::read(store, key)? else {
            return Ok(());
        };
        let mut locks = self.locks.transaction();
        for lock in prepared.locks() {
            let (key, modes) = lock?;
            locks.hold(key, modes);
        }
        self.keep(epoch, store, &prepared, locks);
        Ok(())
    }

    fn keep(&self, epoch: u64, store: &Store, prepared: &PreparedTransaction, locks: TransactionLocks) {
        prepared.keep_row_ids(store);
        let held = Held {
            _locks: locks,
            _growth: Growth::new(store.memory(), prepared.growth),
        };
        let mut state = self.held.lock();
        // It may lead no more since.
        let not_held = match state.epoch == epoch {
            true => state.of.insert(prepared.name.key().to_vec(), held),
            false => Some(held),
        };
        drop(state);
        drop(not_held);
    }
}
