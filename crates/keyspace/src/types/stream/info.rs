//! XINFO.

use redis_wire::Reply;
use store::Direction;

use super::group::{Group, Pending, UNKNOWN};
use super::{Stream, StreamId, answer_entry};
use crate::call::{Call, is_word};
use crate::failure::{Failure, Outcome, no_such_key, wrong_subcommand};
use crate::types::help;

fn stream_of(call: &Call) -> Outcome<Stream> {
    call.stream(call.args[2])?.ok_or_else(no_such_key)
}

fn optional(reply: &mut Reply, value: Option<i64>) {
    match value {
        Some(value) => reply.integer(value),
        None => reply.null(),
    }
}

fn entries_read(group: &Group) -> Option<i64> {
    Some(group.entries_read).filter(|&read| read != UNKNOWN)
}

pub fn stream(call: &mut Call) -> Outcome {
    let mut most = None;
    match call.args[3..] {
        [] => {}
        [full] if is_word(full, "FULL") => most = Some(10),
        [full, count, _] if is_word(full, "FULL") && is_word(count, "COUNT") => {
            most = Some(match call.integer(5)? {
                count if count < 0 => 10,
                0 => u64::MAX,
                count => count as u64,
            });
        }
        _ => {
            return Err(wrong_subcommand("XINFO", call.arg(1)));
        }
    }
    let stream = stream_of(call)?;
    let first = stream.end(call.work, &call.db, Direction::Forward)?;
    let reply = &mut *call.reply;
    reply.map(if most.is_some() { 9 } else { 10 });
    let mut integer = |name: &str, value: u64| {
        reply.bulk(name.as_bytes());
        reply.integer(value as i64);
    };
    integer("length", stream.len());
    // There is no such tree here; told is how large Redis's would be.
    let nodes = stream.len().div_ceil(100);
    integer("radix-tree-keys", nodes);
    integer("radix-tree-nodes", nodes + 1);
    for (name, id) in [
        ("last-generated-id", stream.last),
        ("max-deleted-entry-id", stream.max_deleted),
    ] {
        reply.bulk(name.as_bytes());
        id.answer(reply);
    }
    reply.bulk(b"entries-added");
    reply.integer(stream.added as i64);
    reply.bulk(b"recorded-first-entry-id");
    first.unwrap_or_default().answer(reply);
    match most {
        None => {
            let groups = stream.groups(call.work, &call.db)?;
            reply.bulk(b"groups");
            reply.integer(groups.len() as i64);
            let last = stream.end(call.work, &call.db, Direction::Backward)?;
            for (name, id) in [("first-entry", first), ("last-entry", last)] {
                call.reply.bulk(name.as_bytes());
                answer_one(call, &stream, id);
            }
            Ok(())
        }
        Some(most) => full(call, &stream, first, most),
    }
}

fn answer_one(call: &mut Call, stream: &Stream, id: Option<StreamId>) {
    let reply = &mut *call.reply;
    let shown = id.and_then(|id| stream.entry(call.work, &call.db, id, |fields| answer_entry(reply, id, fields)));
    if shown.is_none() {
        call.reply.null();
    }
}

/// Entries, groups, consumers and what is pending, at most so many of each list.
fn full(call: &mut Call, stream: &Stream, first: Option<StreamId>, most: u64) -> Outcome {
    call.reply.bulk(b"entries");
    let (place, whole) = ((&*call.work, &*call.db), (StreamId::MIN, StreamId::MAX));
    stream.answer(place, whole, Direction::Forward, most, call.reply, |_| {})?;
    let groups = stream.groups(call.work, &call.db)?;
    call.reply.bulk(b"groups");
    call.reply.array(groups.len());
    for group in groups {
        governor::tick()?;
        let pending = group.pending(call.work, &call.db)?;
        let consumers = group.consumers(call.work, &call.db)?;
        let reply = &mut *call.reply;
        reply.map(7);
        reply.bulk(b"name");
        reply.bulk(&group.name);
        reply.bulk(b"last-delivered-id");
        group.last.answer(reply);
        reply.bulk(b"entries-read");
        optional(reply, entries_read(&group));
        reply.bulk(b"lag");
        optional(reply, group.lag(stream, first).map(|lag| lag as i64));
        reply.bulk(b"pel-count");
        reply.integer(pending.len() as i64);
        reply.bulk(b"pending");
        let shown: Vec<&Pending> = pending.iter().take(most.min(usize::MAX as u64) as usize).collect();
        reply.array(shown.len());
        for pending in shown {
            reply.array(4);
            pending.id.answer(reply);
            reply.bulk(&pending.consumer);
            reply.integer(pending.delivered_ms);
            reply.integer(pending.deliveries);
        }
        reply.bulk(b"consumers");
        reply.array(consumers.len());
        for consumer in consumers {
            governor::tick()?;
            reply.map(5);
            reply.bulk(b"name");
            reply.bulk(&consumer.name);
            reply.bulk(b"seen-time");
            reply.integer(consumer.seen_ms);
            reply.bulk(b"active-time");
            reply.integer(consumer.active_ms);
            let own: Vec<&Pending> = pending
                .iter()
                .filter(|pending| pending.consumer == consumer.name)
                .collect();
            reply.bulk(b"pel-count");
            reply.integer(own.len() as i64);
            reply.bulk(b"pending");
            let shown = own.len().min(usize::try_from(most).unwrap_or(usize::MAX));
            reply.array(shown);
            for pending in &own[..shown] {
                reply.array(3);
                pending.id.answer(reply);
                reply.integer(pending.delivered_ms);
                reply.integer(pending.deliveries);
            }
        }
    }
    Ok(())
}

pub fn groups(call: &mut Call) -> Outcome {
    let stream = stream_of(call)?;
    let first = stream.end(call.work, &call.db, Direction::Forward)?;
    let groups = stream.groups(call.work, &call.db)?;
    call.reply.array(groups.len());
    for group in groups {
        governor::tick()?;
        let consumers = group.consumers(call.work, &call.db)?.len();
        let pending = group.pending(call.work, &call.db)?.len();
        let reply = &mut *call.reply;
        reply.map(6);
        reply.bulk(b"name");
        reply.bulk(&group.name);
        reply.bulk(b"consumers");
        reply.integer(consumers as i64);
        reply.bulk(b"pending");
        reply.integer(pending as i64);
        reply.bulk(b"last-delivered-id");
        group.last.answer(reply);
        reply.bulk(b"entries-read");
        optional(reply, entries_read(&group));
        reply.bulk(b"lag");
        optional(reply, group.lag(&stream, first).map(|lag| lag as i64));
    }
    Ok(())
}

pub fn consumers(call: &mut Call) -> Outcome {
    let (key, name) = (call.arg(2), call.arg(3));
    let stream = stream_of(call)?;
    let group = stream
        .group(call.work, &call.db, name)
        .ok_or_else(|| Failure::naming("NOGROUP No such consumer group '{}' for key name '{}'", &[name, key]))?;
    let consumers = group.consumers(call.work, &call.db)?;
    let pending = group.pending(call.work, &call.db)?;
    let (reply, now_ms) = (&mut *call.reply, call.work.now_ms);
    reply.array(consumers.len());
    for consumer in consumers {
        governor::tick()?;
        let own = pending.iter().filter(|pending| pending.consumer == consumer.name);
        reply.map(4);
        reply.bulk(b"name");
        reply.bulk(&consumer.name);
        reply.bulk(b"pending");
        reply.integer(own.count() as i64);
        reply.bulk(b"idle");
        reply.integer((now_ms - consumer.seen_ms).max(0));
        reply.bulk(b"inactive");
        reply.integer(match consumer.active_ms {
            -1 => -1,
            at => (now_ms - at).max(0),
        });
    }
    Ok(())
}

pub fn help(call: &mut Call) -> Outcome {
    help::answer(call.reply, help::XINFO)
}
