//! An observer of the accounts: what a replica shows as it applies the log is what its rows are.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use shard::{Change, Observer};
use types::{TableId, Timestamp};

use crate::schema::{ACCOUNTS, Row, Rows};

type Seen = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Default)]
pub struct Watcher {
    applied: Mutex<Seen>,
    seen: Mutex<Seen>,
}

impl Watcher {
    pub fn has_seen(&self, rows: &[Row]) -> bool {
        let accounts = Rows::of(ACCOUNTS);
        let seen = self.seen.lock();
        seen.values().map(|row| accounts.decode(row)).eq(rows.iter().cloned())
    }
}

impl Observer for Watcher {
    fn table(&self) -> TableId {
        ACCOUNTS
    }

    fn restore(&self, rows: &[(Vec<u8>, Vec<u8>)], _at: Timestamp) -> Result<(), String> {
        *self.applied.lock() = rows.iter().cloned().collect();
        self.publish();
        Ok(())
    }

    fn apply(&self, _at: Timestamp, changes: &[Change<'_>]) -> Result<(), String> {
        let mut applied = self.applied.lock();
        for (key, row) in changes {
            match row {
                Some(row) => applied.insert(key.to_vec(), row.to_vec()),
                None => applied.remove(*key),
            };
        }
        Ok(())
    }

    fn publish(&self) {
        self.seen.lock().clone_from(&self.applied.lock());
    }
}
