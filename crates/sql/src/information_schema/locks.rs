//! `performance_schema.data_locks` and `data_lock_waits`: who holds what, and who waits for whom, in this node's lock table.
//!
//! A thread's id is its connection's. Transactions of other nodes that hold locks here, and commands of Redis clients, which may share a
//! transaction, have none: NULL.

use catalog::Catalog;
use store::{LockInfo, LockMode, LockTarget};
use types::{IndexId, TableId, Value};

use super::{Source, number, text};
use crate::expr::functions::lower_hex;

const ENGINE: &str = "INNODB";
/// Bytes of a key that are shown where its values cannot be read back.
const KEY_BYTES: usize = 32;

/// `data_locks`
pub fn held(source: &Source<'_>) -> Vec<Vec<Value>> {
    if !source.session.access.sees_server() {
        return Vec::new();
    }
    let engine = source.session.engine;
    let catalog = engine.catalog();
    let locks = engine.participant().store().locks().inspect();
    let locks = locks.into_iter().take_while(|_| governor::go_on());
    locks
        .map(|lock| {
            let what = described(source, &catalog, &lock.target);
            vec![
                text(ENGINE),
                text(lock_id(&lock)),
                number(lock.owner.0),
                thread(&lock),
                Value::Null,
                what.database,
                what.table,
                Value::Null,
                Value::Null,
                what.index,
                number(0u64),
                text(what.kind),
                text(mode(&lock)),
                text(status(&lock)),
                what.key,
            ]
        })
        .collect()
}

/// `data_lock_waits`: a row for each pair of a waiter and one that it waits for. Behind MySQL's columns stands what the lock is of, so that nobody
/// need look at all locks to know.
pub fn waits(source: &Source<'_>) -> Vec<Vec<Value>> {
    if !source.session.access.sees_server() {
        return Vec::new();
    }
    let engine = source.session.engine;
    let catalog = engine.catalog();
    let waits = engine.participant().store().locks().inspect_waits();
    let side = |lock: &LockInfo| {
        [
            text(lock_id(lock)),
            number(lock.owner.0),
            thread(lock),
            Value::Null,
            number(0u64),
        ]
    };
    let mut rows = Vec::new();
    for wait in &waits {
        for blocker in wait.blockers.iter().take_while(|_| governor::go_on()) {
            let mut row = vec![text(ENGINE)];
            row.extend(side(&wait.waiter));
            row.extend(side(blocker));
            let what = described(source, &catalog, &wait.waiter.target);
            row.extend([what.database, what.table, what.index, text(what.kind), what.key]);
            row.extend([mode(&wait.waiter), mode(blocker), status(blocker)].map(text));
            rows.push(row);
        }
    }
    rows
}

struct Described {
    kind: &'static str,
    database: Value,
    table: Value,
    index: Value,
    key: Value,
}

fn described(source: &Source<'_>, catalog: &Catalog, target: &LockTarget) -> Described {
    let of_table = |kind, id: &TableId, index, key| {
        let def = catalog.table_by_id(*id);
        Described {
            kind,
            database: def.map_or(Value::Null, |def| text(&def.database)),
            table: def.map_or_else(|| text(format!("#{}", id.0)), |def| text(&def.name)),
            index,
            key,
        }
    };
    match target {
        LockTarget::Table(table) => of_table("TABLE", table, Value::Null, Value::Null),
        LockTarget::Definition(table) => of_table("DEFINITION", table, Value::Null, Value::Null),
        LockTarget::Key(table, index, key) => {
            let def = catalog.table_by_id(*table);
            let name = def.and_then(|def| def.indexes.iter().find(|known| known.id == *index));
            let name = match name {
                Some(known) => text(&known.name),
                None if *index == IndexId::PRIMARY => text("PRIMARY"),
                None => Value::Null,
            };
            of_table(
                "RECORD",
                table,
                name,
                text(shown_key(source, catalog, *table, *index, key)),
            )
        }
        LockTarget::Name(name) => Described {
            kind: "NAME",
            database: Value::Null,
            table: Value::Null,
            index: Value::Null,
            key: text(String::from_utf8_lossy(name)),
        },
    }
}

/// The values of a key; its bytes where they cannot be read back.
fn shown_key(source: &Source<'_>, catalog: &Catalog, table: TableId, index: IndexId, key: &[u8]) -> String {
    let table = catalog
        .table_by_id(table)
        .and_then(|def| source.session.engine.table(def));
    let columns = table.as_ref().map_or(0, |table| table.key_column_count(index));
    let layout = table.as_ref().and_then(|table| table.key_layout(index));
    let values = layout.filter(|_| columns > 0).and_then(|layout| {
        let values = (0..columns).map(|part| layout.decode_part(key, part));
        values.collect::<Option<Vec<_>>>()
    });
    match values {
        Some(values) => {
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            values.join(", ")
        }
        None => {
            let bytes = lower_hex(&key[..key.len().min(KEY_BYTES)]);
            let more = if key.len() > KEY_BYTES { "…" } else { "" };
            format!("0x{bytes}{more}")
        }
    }
}

fn thread(lock: &LockInfo) -> Value {
    match lock.connection {
        0 => Value::Null,
        connection => number(u64::from(connection)),
    }
}

fn status(lock: &LockInfo) -> &'static str {
    match lock.is_waiting {
        true => "WAITING",
        false => "GRANTED",
    }
}

fn mode(lock: &LockInfo) -> &'static str {
    match lock.mode {
        LockMode::IntentionShared => "IS",
        LockMode::IntentionExclusive => "IX",
        LockMode::Shared => "S",
        LockMode::Exclusive => "X",
    }
}

/// The same for a waiter in both tables, and for a holder.
fn lock_id(lock: &LockInfo) -> String {
    let target = match &lock.target {
        LockTarget::Table(table) => format!("t{}", table.0),
        LockTarget::Definition(table) => format!("d{}", table.0),
        LockTarget::Key(table, index, key) => format!("{}:{}:{}", table.0, index.0, hash(key)),
        LockTarget::Name(name) => format!("n{}", hash(name)),
    };
    format!("{}:{target}:{}", lock.owner.0, mode(lock))
}

fn hash(bytes: &[u8]) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
