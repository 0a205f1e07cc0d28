//! Removing keys that have expired. Nobody sees them any more; this gives their memory back.
//!
//! On the node that leads: a part of each database after the other is looked through, a few thousand keys at a time, and goes on at once
//! where many had expired. Keys that somebody has locked are left for the next time.

use std::ops::ControlFlow;
use std::sync::Arc;

use sql_api::host::Host;
use store::{Cursor, Direction, KeyRange};
use transaction::Durability;
use types::IndexId;

use crate::failure::Outcome;
use crate::head::{HeadRef, key_in};
use crate::keyspace::Keyspace;
use crate::session::commit;
use crate::tables::{DATABASES, Db, Part};
use crate::work::Work;

/// Keys that one look takes in.
const LOOKED_AT: usize = 4096;
/// Keys that one transaction removes.
const REMOVED_AT_ONCE: usize = 256;

/// How far the walk through all keys has come.
#[derive(Default)]
pub struct Purge {
    db: u32,
    /// Where it goes on in the database.
    at: Option<Cursor>,
}

/// What a look has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looked {
    pub keys: usize,
    /// Of these, such as expire at all.
    pub expiring: usize,
    pub expired: usize,
}

impl Purge {
    /// Looks at the next keys, and removes those that have expired.
    pub fn look(&mut self, keyspace: &Arc<Keyspace>, host: &dyn Host) -> Outcome<Looked> {
        let Some(db) = keyspace.completed_db(self.db, host)? else {
            self.next_db();
            return Ok(Looked {
                keys: 0,
                expiring: 0,
                expired: 0,
            });
        };
        let mut cursor = self
            .at
            .take()
            .unwrap_or_else(|| Cursor::new(KeyRange::all(), Direction::Forward));
        let now_ms = keyspace.now_ms();
        let (mut keys, mut expiring, mut expired) = (0, 0, Vec::new());
        let table = db.table(Part::Keys);
        let snapshot = table.rows.snapshot();
        table
            .rows
            .scan(IndexId::PRIMARY, &mut cursor, &snapshot, LOOKED_AT, |entry| {
                keys += 1;
                let layout = table.layout();
                let expires_at = HeadRef::read(layout, entry.row()).and_then(|head| head.expires_at);
                expiring += usize::from(expires_at.is_some());
                if expires_at.is_some_and(|at| at <= now_ms) {
                    expired.push(key_in(layout, entry.row()).to_vec());
                }
                ControlFlow::Continue(())
            });
        drop(snapshot);
        // Before keys are removed: where that fails, those behind them have their turn all the same.
        match cursor.is_finished() {
            true => self.next_db(),
            false => self.at = Some(cursor),
        }
        for keys in expired.chunks(REMOVED_AT_ONCE) {
            governor::tick()?;
            remove(keyspace, &db, keys, host)?;
        }
        Ok(Looked {
            keys,
            expiring,
            expired: expired.len(),
        })
    }

    fn next_db(&mut self) {
        self.db = (self.db + 1) % DATABASES;
        self.at = None;
    }
}

/// Removes keys that have expired still, once they are locked.
fn remove(keyspace: &Arc<Keyspace>, db: &Db, keys: &[Vec<u8>], host: &dyn Host) -> Outcome {
    let mut work = Work::begin(keyspace, Durability::default(), host);
    for key in keys {
        if work.try_lock_key(db, key)? && work.has_expired(db, key) {
            // Which tells that it has expired.
            work.remove(db, key)?;
        }
    }
    let events = commit(work, host)?;
    keyspace.publish(&events, host);
    Ok(())
}
