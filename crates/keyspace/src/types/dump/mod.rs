//! DUMP, RESTORE: what a key holds as bytes, in the form of Redis's own files (RDB).
//!
//! ```text
//!   type, 1 byte │ the value │ version, 2 bytes │ CRC-64, 8 bytes
//! ```
//!
//! All forms of Redis 5 to 7.4 are read, but for the `zipmap` of Redis 2. Written are the simplest ones of version 10, which Redis 7.0 takes:
//! lists of strings rather than packed ones. Fields that expire need version 12, of Redis 7.4.
//!
//! * this file: the commands, and keys as values; [`rdb`]: values as bytes; [`packed`]: listpack, ziplist, intset, LZF; [`streams`].

mod packed;
mod rdb;
mod streams;

pub use rdb::{VERSION, seal, unseal, write_string};

use std::ops::ControlFlow;

use redis_wire::number::parse_i64;
use store::Direction;
use types::IndexId;

use crate::call::{Call, is_word};
use crate::failure::{Failure, Outcome, not_integer, syntax};
use crate::head::Kind;
use crate::tables::Part;
use crate::types::hash::{expiry_in, field_in, is_live, value_in};
use crate::types::stream::{StreamId, group};
use crate::types::{list, set, zset};
use crate::work::Class;

/// What a key holds.
#[derive(Debug, PartialEq)]
enum Value {
    String(Vec<u8>),
    List(Vec<Vec<u8>>),
    Set(Vec<Vec<u8>>),
    SortedSet(Vec<(Vec<u8>, f64)>),
    Hash(Vec<Field>),
    Stream(Box<StreamValue>),
}

#[derive(Debug, PartialEq)]
struct Field {
    name: Vec<u8>,
    value: Vec<u8>,
    expires_at: Option<i64>,
}

#[derive(Debug, Default, PartialEq)]
struct StreamValue {
    entries: Vec<(StreamId, Vec<Vec<u8>>)>,
    last: StreamId,
    max_deleted: StreamId,
    added: u64,
    groups: Vec<GroupValue>,
}

#[derive(Debug, Default, PartialEq)]
struct GroupValue {
    name: Vec<u8>,
    last: StreamId,
    entries_read: i64,
    consumers: Vec<ConsumerValue>,
    pending: Vec<PendingValue>,
}

#[derive(Debug, PartialEq)]
struct ConsumerValue {
    name: Vec<u8>,
    seen_ms: i64,
    active_ms: i64,
}

#[derive(Debug, PartialEq)]
struct PendingValue {
    id: StreamId,
    delivered_ms: i64,
    deliveries: i64,
    /// Its consumer's place.
    consumer: usize,
}

pub fn dump(call: &mut Call) -> Outcome {
    match read(call, call.args[1])? {
        Some(value) => call.reply.bulk(&rdb::write(&value)?),
        None => call.reply.null(),
    }
    Ok(())
}

pub fn restore(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let (mut replaces, mut is_absolute, mut idle, mut frequency) = (false, false, false, false);
    let mut options = call.options(4);
    while let Some(option) = options.next() {
        match option {
            option if is_word(option, "REPLACE") => replaces = true,
            option if is_word(option, "ABSTTL") => is_absolute = true,
            option if is_word(option, "IDLETIME") && !options.is_empty() && !frequency => {
                if options.integer()? < 0 {
                    return Err(Failure::reply("ERR Invalid IDLETIME value, must be >= 0"));
                }
                idle = true;
            }
            option if is_word(option, "FREQ") && !options.is_empty() && !idle => {
                if !(0..=255).contains(&options.integer()?) {
                    return Err(Failure::reply("ERR Invalid FREQ value, must be >= 0 and <= 255"));
                }
                frequency = true;
            }
            _ => return Err(syntax()),
        }
    }
    if !replaces && call.work.kind(&call.db, key).is_some() {
        return Err(Failure::reply("BUSYKEY Target key name already exists."));
    }
    let ttl = parse_i64(call.arg(2)).ok_or_else(not_integer)?;
    if ttl < 0 {
        return Err(Failure::reply("ERR Invalid TTL value, must be >= 0"));
    }
    let value = rdb::read(call.arg(3))?;
    let db = call.db.clone();
    let existed = call.work.remove(&db, key)?;
    let now_ms = call.work.now_ms;
    let expires_at = match (ttl, is_absolute) {
        (0, _) => None,
        (ttl, true) => Some(ttl),
        (ttl, false) => Some(ttl.saturating_add(now_ms)),
    };
    if expires_at.is_some_and(|at| at <= now_ms) {
        if existed {
            call.note(Class::Generic, "del", key);
        }
    } else {
        write(call, key, &value)?;
        if let Some(mut head) = call.work.head(&db, key)
            && expires_at.is_some()
        {
            head.expires_at = expires_at;
            call.work.put(&db, key, head.as_ref())?;
        }
        call.note(Class::Generic, "restore", key);
    }
    call.reply.ok();
    Ok(())
}

fn read(call: &Call, key: &[u8]) -> Outcome<Option<Value>> {
    let Some(kind) = call.work.kind(&call.db, key) else {
        return Ok(None);
    };
    Ok(Some(match kind {
        Kind::String => Value::String(call.string(key)?.unwrap_or_default()),
        Kind::List => Value::List(list::values_of(call, key)?),
        Kind::Set => {
            let members = zset::several::scored_members(call, key)?;
            Value::Set(members.into_iter().map(|(member, _)| member).collect())
        }
        Kind::SortedSet => Value::SortedSet(zset::several::scored_members(call, key)?),
        Kind::Hash => match call.hash(key)? {
            Some(hash) => Value::Hash(fields(call, hash.id)?),
            None => return Ok(None),
        },
        Kind::Stream => Value::Stream(Box::new(read_stream(call, key)?)),
    }))
}

fn fields(call: &Call, id: u64) -> Outcome<Vec<Field>> {
    let (mut fields, now_ms) = (Vec::new(), call.work.now_ms);
    let (index, forward) = (IndexId::PRIMARY, Direction::Forward);
    call.work
        .scan(&call.db, Part::Hash, index, id, forward, |layout, row, _| {
            if is_live(layout, row, now_ms) {
                fields.push(Field {
                    name: field_in(layout, row).to_vec(),
                    value: value_in(layout, row).to_vec(),
                    expires_at: expiry_in(layout, row),
                });
            }
            Ok(ControlFlow::Continue(()))
        })?;
    Ok(fields)
}

fn read_stream(call: &Call, key: &[u8]) -> Outcome<StreamValue> {
    let mut value = StreamValue::default();
    let Some(stream) = call.stream(key)? else {
        return Ok(value);
    };
    (value.last, value.max_deleted, value.added) = (stream.last, stream.max_deleted, stream.added);
    let (range, forward) = ((StreamId::MIN, StreamId::MAX), Direction::Forward);
    stream.each(call.work, &call.db, range, forward, |id, fields| {
        let words = crate::types::stream::unpack(fields).map(<[u8]>::to_vec);
        value.entries.push((id, words.collect()));
        Ok(ControlFlow::Continue(()))
    })?;
    for group in stream.groups(call.work, &call.db)? {
        governor::tick()?;
        let consumers = group.consumers(call.work, &call.db)?;
        let mut pending = Vec::new();
        for entry in group.pending(call.work, &call.db)? {
            governor::tick()?;
            let consumer = consumers.iter().position(|consumer| consumer.name == entry.consumer);
            pending.push(PendingValue {
                id: entry.id,
                delivered_ms: entry.delivered_ms,
                deliveries: entry.deliveries,
                consumer: consumer.unwrap_or(0),
            });
        }
        let consumers = consumers.into_iter().map(|consumer| ConsumerValue {
            name: consumer.name,
            seen_ms: consumer.seen_ms,
            active_ms: consumer.active_ms,
        });
        value.groups.push(GroupValue {
            name: group.name.clone(),
            last: group.last,
            entries_read: group.entries_read,
            consumers: consumers.collect(),
            pending,
        });
    }
    Ok(value)
}

/// Puts a value under a key that is free.
fn write(call: &mut Call, key: &[u8], value: &Value) -> Outcome {
    let db = call.db.clone();
    let kind = match value {
        Value::String(bytes) => return call.set_string(key, bytes, None),
        Value::List(values) => return list::store(call, key, values, "restore"),
        Value::Stream(value) => return write_stream(call, key, value),
        Value::Set(_) => Kind::Set,
        Value::SortedSet(_) => Kind::SortedSet,
        Value::Hash(_) => Kind::Hash,
    };
    let mut collection = call.work.collection_to_fill(&db, key, kind)?;
    let mut wanted = 0;
    match value {
        Value::Set(members) => {
            for member in members {
                governor::tick()?;
                set::add(call.work, &db, &mut collection, member)?;
                wanted += 1;
            }
        }
        Value::SortedSet(members) => {
            for (member, score) in members {
                governor::tick()?;
                let old = zset::score_of(call.work, &db, collection.id, member);
                zset::put(call.work, &db, &mut collection, member, *score, old)?;
                wanted += 1;
            }
        }
        Value::Hash(fields) => {
            let now_ms = call.work.now_ms;
            for field in fields {
                governor::tick()?;
                if field.expires_at.is_none_or(|at| at > now_ms) {
                    call.put_field_until(&mut collection, &field.name, &field.value, field.expires_at)?;
                    wanted += 1;
                }
            }
        }
        _ => {}
    }
    // Something was there twice.
    if collection.len != wanted {
        return Err(rdb::bad_format());
    }
    call.work.save(&db, key, kind, &collection)
}

fn write_stream(call: &mut Call, key: &[u8], value: &StreamValue) -> Outcome {
    let db = call.db.clone();
    let mut stream = call.stream_to_fill(key)?;
    for (id, words) in &value.entries {
        governor::tick()?;
        let packed = crate::types::stream::pack(words.iter().map(Vec::as_slice));
        stream.append(call.work, &db, *id, &packed)?;
    }
    (stream.last, stream.max_deleted, stream.added) = (value.last, value.max_deleted, value.added);
    stream.save(call.work, &db, key)?;
    for group in &value.groups {
        governor::tick()?;
        let row = group::Group {
            stream: stream.id(),
            name: group.name.clone(),
            last: group.last,
            entries_read: group.entries_read,
        };
        row.save(call.work, &db)?;
        for consumer in &group.consumers {
            governor::tick()?;
            let consumer = group::Consumer {
                name: consumer.name.clone(),
                seen_ms: consumer.seen_ms,
                active_ms: consumer.active_ms,
            };
            row.save_consumer(call.work, &db, &consumer)?;
        }
        for pending in &group.pending {
            governor::tick()?;
            let consumer = group.consumers.get(pending.consumer).ok_or_else(rdb::bad_format)?;
            let pending = group::Pending {
                id: pending.id,
                consumer: consumer.name.clone(),
                delivered_ms: pending.delivered_ms,
                deliveries: pending.deliveries,
            };
            row.put_pending(call.work, &db, &pending)?;
        }
    }
    Ok(())
}
