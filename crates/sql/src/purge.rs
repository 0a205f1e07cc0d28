//! Rows that have expired, and that nobody has taken the place of, are removed in the background.
//!
//! ```text
//!   tables with a rule ──▶ a sweep of each: the part of an index that can be expired, or else all rows ──▶ some rows, one commit ──▶ a rest
//!         ▲                                                                       │ at the end
//!         └───────────────────────── after a rest of its own ◀────────────────────┘
//! ```
//!
//! Nobody sees expired rows, so nothing depends on when they go. A step looks at some entries, locks what is expired and not locked by others, and
//! deletes it, as a transaction of its own that waits for nobody; no triggers fire. Where no index begins with the column, a sweep looks at
//! all rows, and the longer it took the longer is the rest before the next one. The node that leads does it, while `ttl_job_enable` is on.

use std::collections::HashMap;
use std::future::Future;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;

use store::{Cursor, KeyRange, LockKey, LockMode, Table};
use transaction::{LockPolicy, Progress, Transaction};
use types::time::TimeZone;
use types::{Expiry, IndexId, KeyLayout, KeyPart, TableId, TypeKind, UnixTime, Value};

use crate::ddl::EVERYTHING;
use crate::engine::Engine;

/// Entries looked at in a step: some hundred microseconds.
const LOOKED_AT: usize = 1024;
/// Between the sweeps of a table.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(1);
/// A sweep that looks at all rows takes one part in so many of a core's time.
const SHARE: u32 = 20;

/// How far the sweeps of all tables have come.
#[derive(Default)]
pub struct Purge {
    sweeps: HashMap<TableId, Sweep>,
    /// The table that was looked at last.
    last: Option<TableId>,
}

/// The sweep of one table.
enum Sweep {
    Running {
        index: IndexId,
        cursor: Cursor,
        took: Duration,
    },
    /// Until this moment of the monotonic clock.
    Resting(Duration),
}

impl Engine {
    /// Looks at some rows. `None`: there is nothing to be looked at for now. Otherwise what is to be waited for before the next step.
    pub fn purge_expired(&self, purge: &mut Purge) -> Option<impl Future<Output = ()> + Send + use<>> {
        // Who has no lead gives no locks. Nothing is to be changed where everything is read only.
        let leads = self.participant().guest().is_none();
        if !leads || !self.is_on("ttl_job_enable") || self.is_on("super_read_only") {
            return None;
        }
        let clock = &self.env().clock;
        let begun = clock.monotonic();
        let table = self.next_to_purge(purge, begun)?;
        let id = table.id();
        purge.last = Some(id);
        let mut transaction = self.begin();
        let sweep = purge.sweeps.entry(id).or_insert(Sweep::Resting(Duration::ZERO));
        if let Sweep::Resting(_) = sweep {
            let (index, range) = to_sweep(&table, transaction.statement_time());
            *sweep = Sweep::Running {
                index,
                cursor: Cursor::forward(range),
                took: Duration::ZERO,
            };
        }
        let Sweep::Running { index, cursor, took } = sweep else {
            return None;
        };
        let is_swept = self.purge_some(&mut transaction, id, *index, cursor);
        *took += clock.monotonic() - begun;
        if !is_swept || cursor.is_finished() {
            let rest = match *index {
                IndexId::PRIMARY => BETWEEN_SWEEPS.max(*took * SHARE),
                _ => BETWEEN_SWEEPS,
            };
            *sweep = Sweep::Resting(clock.monotonic() + rest);
        }
        let commit = transaction.commit();
        Some(async {
            // Where nobody leads any more somebody else purges.
            let _ = commit.await;
        })
    }

    /// The table whose turn it is.
    fn next_to_purge(&self, purge: &mut Purge, now: Duration) -> Option<Arc<Table>> {
        let mut tables = self.participant().store().tables();
        tables.retain(|table| table.expiry().is_some() && !self.is_purged_elsewhere(table.id()));
        let ids: Vec<TableId> = tables.iter().map(|table| table.id()).collect();
        purge.sweeps.retain(|id, _| ids.contains(id));
        tables.retain(|table| match purge.sweeps.get(&table.id()) {
            Some(Sweep::Resting(until)) => *until <= now,
            Some(Sweep::Running { .. }) | None => true,
        });
        tables.sort_by_key(|table| table.id());
        let behind = tables.iter().position(|table| Some(table.id()) > purge.last);
        (!tables.is_empty()).then(|| tables.swap_remove(behind.unwrap_or(0)))
    }

    /// False: somebody keeps the table as it is, or changes its definition, or there is no memory.
    fn purge_some(&self, transaction: &mut Transaction, id: TableId, index: IndexId, cursor: &mut Cursor) -> bool {
        let definition = LockKey::Definition(id);
        for key in [EVERYTHING, definition] {
            let lock = transaction.lock_definition(key, LockMode::IntentionExclusive);
            if !matches!(lock, Ok(Progress::Done)) {
                return false;
            }
        }
        let lock = transaction.lock_table(id, LockMode::IntentionExclusive, LockPolicy::SkipLocked);
        // As it is now: another rule may have come, or the index have gone.
        let table = self.participant().store().table(id);
        let table = table.filter(|table| index == IndexId::PRIMARY || table.index_layout(index).is_some());
        let (Ok(Progress::Done), Some(table)) = (lock, table) else {
            return false;
        };
        let mut keys = Vec::new();
        transaction.scan_expired(&table, index, cursor, LOOKED_AT, |entry| {
            keys.push(entry.primary_key().to_vec());
            ControlFlow::Continue(())
        });
        keys.iter().all(|key| transaction.purge(&table, key).is_ok())
    }
}

/// The index that a sweep goes along, and the part of it in which rows can have expired.
fn to_sweep(table: &Table, now: i64) -> (IndexId, KeyRange) {
    let all = (IndexId::PRIMARY, KeyRange::all());
    let Some(rule) = table.expiry() else { return all };
    let begins = |layout: &KeyLayout| {
        let part = &layout.parts()[0];
        part.column == usize::from(rule.column) && part.prefix.is_none()
    };
    let over_columns = table.spec().indexes.iter().filter(|index| index.text.is_none());
    let over_columns = over_columns.filter(|index| index.key.iter().all(|part| part.elements.is_none()));
    let mut indexes = over_columns.filter_map(|index| Some((index.id, table.index_layout(index.id)?)));
    let primary = table.primary_layout().map(|layout| (IndexId::PRIMARY, layout));
    let found = primary
        .into_iter()
        .chain(&mut indexes)
        .find(|(_, layout)| begins(layout));
    match found {
        Some((index, layout)) => (index, expired_part(layout, rule, now)),
        None => all,
    }
}

/// The entries of an index whose first column is the rule's, and not later than that of an expired row. NULL never expires.
fn expired_part(layout: &KeyLayout, rule: &Expiry, now: i64) -> KeyRange {
    let KeyPart { ty, descending, .. } = &layout.parts()[0];
    // Nothing that a table can have is earlier.
    let latest = rule.latest_expired(now).max(1);
    let moment = UnixTime { micros: latest, fsp: 6 };
    let date_time = TimeZone::UTC.to_local(moment);
    let value = match ty.kind {
        TypeKind::Timestamp => Value::Timestamp(moment.truncate(ty.decimals)),
        TypeKind::DateTime => Value::DateTime(date_time.truncate(ty.decimals)),
        _ => Value::Date(date_time.date),
    };
    let encoded = |value: &Value| {
        let mut key = Vec::new();
        layout.encode_part_to(0, value, &mut key);
        key
    };
    let latest = encoded(&value);
    let null = ty.nullable.then(|| encoded(&Value::Null));
    let behind_null = null.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    match descending {
        false => KeyRange::between(behind_null, Bound::Included(&latest)),
        true => KeyRange::between(Bound::Included(&latest), behind_null),
    }
}
