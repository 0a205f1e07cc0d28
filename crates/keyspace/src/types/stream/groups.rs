//! XGROUP, XACK.

use redis_wire::number::parse_i64;

use super::group::{Group, UNKNOWN, check_name};
use super::{Stream, StreamId};
use crate::call::{Call, is_word};
use crate::failure::{Failure, Outcome, wrong_subcommand};
use crate::types::help;
use crate::work::Class;

fn wrong_arguments(call: &Call) -> Failure {
    wrong_subcommand("XGROUP", call.arg(1))
}

fn no_group(key: &[u8], group: &[u8]) -> Failure {
    Failure::naming("NOGROUP No such consumer group '{}' for key name '{}'", &[group, key])
}

/// The stream of a subcommand, which has to be there.
fn stream(call: &Call) -> Outcome<Stream> {
    call.stream(call.args[2])?.ok_or_else(|| {
        Failure::reply(
            "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to \
             create an empty stream automatically.",
        )
    })
}

fn group(call: &Call) -> Outcome<(Stream, Group)> {
    let stream = stream(call)?;
    let group = stream.group(call.work, &call.db, call.arg(3));
    let group = group.ok_or_else(|| no_group(call.arg(2), call.arg(3)))?;
    Ok((stream, group))
}

/// ENTRIESREAD and MKSTREAM.
fn options(call: &Call, is_create: bool) -> Outcome<(i64, bool)> {
    let (mut entries_read, mut makes) = (UNKNOWN, false);
    let mut options = call.options(5);
    while let Some(option) = options.next() {
        match option {
            option if is_create && is_word(option, "MKSTREAM") => makes = true,
            option if is_word(option, "ENTRIESREAD") && !options.is_empty() => {
                entries_read = options.integer()?;
                if entries_read < UNKNOWN {
                    return Err(Failure::reply("ERR value for ENTRIESREAD must be positive or -1"));
                }
            }
            _ => return Err(wrong_arguments(call)),
        }
    }
    Ok((entries_read, makes))
}

pub fn create(call: &mut Call) -> Outcome {
    let (key, name) = (call.arg(2), call.arg(3));
    let (entries_read, makes) = options(call, true)?;
    let db = call.db.clone();
    let existing = match makes {
        true => call.stream(key)?,
        false => Some(stream(call)?),
    };
    let last = match call.arg(4) {
        b"$" => existing.as_ref().map_or(StreamId::MIN, |stream| stream.last),
        id => StreamId::parse(id, 0)?,
    };
    check_name(name)?;
    let mut stream = match existing {
        Some(stream) => stream,
        None => call.stream_to_fill(key)?,
    };
    if stream.group(call.work, &db, name).is_some() {
        return Err(Failure::reply("BUSYGROUP Consumer Group name already exists"));
    }
    let group = Group {
        stream: stream.id(),
        name: name.to_vec(),
        last,
        entries_read,
    };
    group.save(call.work, &db)?;
    stream.save(call.work, &db, key)?;
    call.note(Class::Stream, "xgroup-create", key);
    call.reply.ok();
    Ok(())
}

pub fn setid(call: &mut Call) -> Outcome {
    let (entries_read, _) = options(call, false)?;
    let (stream, mut group) = group(call)?;
    group.last = match call.arg(4) {
        b"$" => stream.last,
        id => StreamId::parse_any(id, 0)?,
    };
    group.entries_read = entries_read;
    let db = call.db.clone();
    group.save(call.work, &db)?;
    call.note(Class::Stream, "xgroup-setid", call.args[2]);
    call.reply.ok();
    Ok(())
}

pub fn destroy(call: &mut Call) -> Outcome {
    let stream = stream(call)?;
    let db = call.db.clone();
    let group = stream.group(call.work, &db, call.args[3]);
    if let Some(group) = &group {
        group.destroy(call.work, &db)?;
        call.note(Class::Stream, "xgroup-destroy", call.args[2]);
    }
    call.reply.integer(i64::from(group.is_some()));
    Ok(())
}

pub fn createconsumer(call: &mut Call) -> Outcome {
    let (_, group) = group(call)?;
    let (db, name) = (call.db.clone(), call.arg(4));
    let is_new = group.consumer(call.work, &db, name).is_none();
    if is_new {
        group.seen_consumer(call.work, &db, call.args[2], name)?;
    }
    call.reply.integer(i64::from(is_new));
    Ok(())
}

pub fn delconsumer(call: &mut Call) -> Outcome {
    let (_, group) = group(call)?;
    let (db, name) = (call.db.clone(), call.arg(4));
    let mut removed = 0;
    for pending in group.pending(call.work, &db)? {
        governor::tick()?;
        if pending.consumer == name {
            group.acknowledge(call.work, &db, pending.id)?;
            removed += 1;
        }
    }
    if group.remove_consumer(call.work, &db, name)? {
        call.note(Class::Stream, "xgroup-delconsumer", call.args[2]);
    }
    call.reply.integer(removed);
    Ok(())
}

pub fn help(call: &mut Call) -> Outcome {
    help::answer(call.reply, help::XGROUP)
}

pub fn xack(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let group = call
        .stream(key)?
        .and_then(|stream| stream.group(call.work, &call.db, call.arg(2)));
    let Some(group) = group else {
        call.reply.integer(0);
        return Ok(());
    };
    let mut ids = Vec::with_capacity(call.args.len() - 3);
    for arg in &call.args[3..] {
        ids.push(StreamId::parse(arg, 0)?);
    }
    let db = call.db.clone();
    let mut acknowledged = 0;
    for id in ids {
        governor::tick()?;
        acknowledged += i64::from(group.acknowledge(call.work, &db, id)?);
    }
    call.reply.integer(acknowledged);
    Ok(())
}

/// A number in an argument, or an error with words of its own.
pub fn number(arg: &[u8], wrong: &'static str) -> Outcome<i64> {
    parse_i64(arg).ok_or_else(|| Failure::reply(wrong))
}
