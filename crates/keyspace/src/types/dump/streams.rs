//! Streams in RDB files: entries packed by the hundred, then groups.
//!
//! ```text
//!   listpack: entries, deleted, n, field 1 … field n, 0,
//!             then of each entry: flags, ms and seq relative to the node's id,
//!                 flags & 2: n values     else: m, field 1, value 1 …
//!                 and how many elements that were
//! ```

use redis_wire::number::parse_i64;

use super::packed::{Packer, listpack};
use super::rdb::{Reader, bad_format, write_number, write_string};
use super::{ConsumerValue, GroupValue, PendingValue, StreamValue, Value};
use crate::failure::Outcome;
use crate::types::stream::StreamId;
use crate::types::stream::group::UNKNOWN;

const DELETED: i64 = 1;
const SAME_FIELDS: i64 = 2;
/// Entries in one listpack.
const NODE_ENTRIES: usize = 100;

/// What of a stream is told: from Redis 5, 7.0 and 7.2 on.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub enum Form {
    First,
    Second,
    Third,
}

/// The elements of a listpack, one after the other.
struct Elements(std::vec::IntoIter<Vec<u8>>);

impl Elements {
    fn string(&mut self) -> Outcome<Vec<u8>> {
        governor::tick()?;
        self.0.next().ok_or_else(bad_format)
    }

    fn integer(&mut self) -> Outcome<i64> {
        parse_i64(&self.string()?).ok_or_else(bad_format)
    }

    fn strings(&mut self, count: i64) -> Outcome<Vec<Vec<u8>>> {
        let mut strings = Vec::new();
        for _ in 0..count {
            strings.push(self.string()?);
        }
        Ok(strings)
    }
}

fn id_of(bytes: &[u8]) -> Outcome<StreamId> {
    let (ms, seq) = bytes.split_first_chunk().ok_or_else(bad_format)?;
    let seq = seq.try_into().map_err(|_| bad_format())?;
    Ok(StreamId {
        ms: u64::from_be_bytes(*ms),
        seq: u64::from_be_bytes(seq),
    })
}

fn id_bytes(id: StreamId) -> [u8; 16] {
    (u128::from(id.ms) << 64 | u128::from(id.seq)).to_be_bytes()
}

fn id(reader: &mut Reader<'_>) -> Outcome<StreamId> {
    Ok(StreamId {
        ms: reader.number()?,
        seq: reader.number()?,
    })
}

fn read_node(base: StreamId, bytes: &[u8], entries: &mut Vec<(StreamId, Vec<Vec<u8>>)>) -> Outcome {
    let mut elements = Elements(listpack(bytes)?.into_iter());
    let (count, deleted) = (elements.integer()?, elements.integer()?);
    let fields = elements.integer()?;
    let fields = elements.strings(fields)?;
    elements.integer()?;
    let all = count.checked_add(deleted).ok_or_else(bad_format)?;
    for _ in 0..all {
        let flags = elements.integer()?;
        let (ms, seq) = (elements.integer()?, elements.integer()?);
        let id = StreamId {
            ms: base.ms.wrapping_add(ms as u64),
            seq: base.seq.wrapping_add(seq as u64),
        };
        let words = match flags & SAME_FIELDS != 0 {
            true => {
                let mut words = Vec::new();
                for field in &fields {
                    words.push(field.clone());
                    words.push(elements.string()?);
                }
                words
            }
            false => {
                let pairs = elements.integer()?;
                elements.strings(pairs.checked_mul(2).ok_or_else(bad_format)?)?
            }
        };
        elements.integer()?;
        if flags & DELETED == 0 {
            if entries.last().is_some_and(|(last, _)| *last >= id) {
                return Err(bad_format());
            }
            entries.push((id, words));
        }
    }
    match elements.0.next() {
        None => Ok(()),
        Some(_) => Err(bad_format()),
    }
}

pub fn read(reader: &mut Reader<'_>, form: Form) -> Outcome<Value> {
    let mut stream = StreamValue::default();
    for _ in 0..reader.count()? {
        let base = id_of(&reader.string()?)?;
        read_node(base, &reader.string()?, &mut stream.entries)?;
    }
    let len = reader.number()?;
    stream.last = id(reader)?;
    stream.added = len;
    if form >= Form::Second {
        id(reader)?;
        stream.max_deleted = id(reader)?;
        stream.added = reader.number()?;
    }
    let last = stream.entries.last().map(|(id, _)| *id);
    if len != stream.entries.len() as u64 || last > Some(stream.last) {
        return Err(bad_format());
    }
    for _ in 0..reader.count()? {
        let group = read_group(reader, form, &stream)?;
        stream.groups.push(group);
    }
    Ok(Value::Stream(Box::new(stream)))
}

fn read_group(reader: &mut Reader<'_>, form: Form, stream: &StreamValue) -> Outcome<GroupValue> {
    let mut group = GroupValue {
        name: reader.string()?,
        last: id(reader)?,
        entries_read: UNKNOWN,
        ..GroupValue::default()
    };
    if form >= Form::Second {
        group.entries_read = reader.number()? as i64;
    } else if group.last == stream.last {
        group.entries_read = stream.added as i64;
    }
    const NOBODY: usize = usize::MAX;
    for _ in 0..reader.count()? {
        governor::tick()?;
        group.pending.push(PendingValue {
            id: id_of(reader.take(16)?)?,
            delivered_ms: reader.milliseconds()?.max(0),
            deliveries: reader.number()? as i64,
            consumer: NOBODY,
        });
    }
    governor::sort::sort_by(&mut group.pending, |a, b| a.id.cmp(&b.id))?;
    for consumer in 0..reader.count()? {
        let name = reader.string()?;
        let seen_ms = reader.milliseconds()?.max(0);
        let active_ms = match form {
            // -1: never.
            Form::Third => reader.milliseconds()?.max(-1),
            _ => seen_ms,
        };
        group.consumers.push(ConsumerValue {
            name,
            seen_ms,
            active_ms,
        });
        for _ in 0..reader.count()? {
            governor::tick()?;
            let id = id_of(reader.take(16)?)?;
            let at = group.pending.binary_search_by(|pending| pending.id.cmp(&id));
            group.pending[at.map_err(|_| bad_format())?].consumer = consumer;
        }
    }
    match group.pending.iter().any(|pending| pending.consumer == NOBODY) {
        true => Err(bad_format()),
        false => Ok(group),
    }
}

pub fn write(stream: &StreamValue, out: &mut Vec<u8>) -> Outcome {
    let nodes = stream.entries.chunks(NODE_ENTRIES);
    write_number(out, nodes.len() as u64);
    for node in nodes {
        governor::tick()?;
        write_node(node, out)?;
    }
    let first = stream.entries.first().map(|(id, _)| *id).unwrap_or_default();
    write_number(out, stream.entries.len() as u64);
    for id in [stream.last, first, stream.max_deleted] {
        write_number(out, id.ms);
        write_number(out, id.seq);
    }
    write_number(out, stream.added);
    write_number(out, stream.groups.len() as u64);
    for group in &stream.groups {
        write_string(out, &group.name);
        write_number(out, group.last.ms);
        write_number(out, group.last.seq);
        write_number(out, group.entries_read as u64);
        write_number(out, group.pending.len() as u64);
        for pending in &group.pending {
            governor::tick()?;
            out.extend_from_slice(&id_bytes(pending.id));
            out.extend_from_slice(&pending.delivered_ms.to_le_bytes());
            write_number(out, pending.deliveries as u64);
        }
        write_number(out, group.consumers.len() as u64);
        for (at, consumer) in group.consumers.iter().enumerate() {
            write_string(out, &consumer.name);
            out.extend_from_slice(&consumer.seen_ms.to_le_bytes());
            let own: Vec<&PendingValue> = group.pending.iter().filter(|pending| pending.consumer == at).collect();
            write_number(out, own.len() as u64);
            for pending in own {
                governor::tick()?;
                out.extend_from_slice(&id_bytes(pending.id));
            }
        }
    }
    Ok(())
}

fn write_node(entries: &[(StreamId, Vec<Vec<u8>>)], out: &mut Vec<u8>) -> Outcome {
    let Some((base, first)) = entries.first() else {
        return Ok(());
    };
    let fields: Vec<&Vec<u8>> = first.iter().step_by(2).collect();
    let mut pack = Packer::new();
    pack.integer(entries.len() as i64);
    pack.integer(0);
    pack.integer(fields.len() as i64);
    fields.iter().for_each(|field| pack.string(field));
    pack.integer(0);
    for (id, words) in entries {
        governor::tick()?;
        let has_same = words.iter().step_by(2).eq(fields.iter().copied());
        pack.integer(if has_same { SAME_FIELDS } else { 0 });
        pack.integer(id.ms.wrapping_sub(base.ms) as i64);
        pack.integer(id.seq.wrapping_sub(base.seq) as i64);
        let elements = match has_same {
            true => {
                words.iter().skip(1).step_by(2).for_each(|value| pack.string(value));
                fields.len() + 3
            }
            false => {
                pack.integer(words.len() as i64 / 2);
                words.iter().for_each(|word| pack.string(word));
                words.len() + 4
            }
        };
        pack.integer(elements as i64);
    }
    write_string(out, &id_bytes(*base));
    write_string(out, &pack.finish());
    Ok(())
}
