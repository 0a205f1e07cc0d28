//! XADD, XTRIM, XDEL, XLEN, XSETID.

use std::ops::ControlFlow;

use store::Direction;

use super::{Stream, StreamId, invalid_id, pack};
use crate::call::{Call, is_word};
use crate::failure::{Failure, Outcome, no_such_key, syntax, wrong_number_of_arguments};
use crate::work::Class;

/// `~` removes whole hundreds, as Redis does (`stream-node-max-entries`).
const NODE_ENTRIES: u64 = 100;

/// Which entries are too many.
#[derive(Clone, Copy)]
enum Limit {
    Len(u64),
    Id(StreamId),
}

/// What XADD and XTRIM are told about entries that are too many.
struct Trim {
    limit: Limit,
    is_rough: bool,
    /// The most that are removed; 0: all.
    most: u64,
}

/// Which id a new entry is to have.
enum Wanted {
    Next,
    /// The next one within a millisecond.
    NextIn(u64),
    Exactly(StreamId),
}

struct Arguments {
    trim: Option<Trim>,
    only_existing: bool,
    id: Wanted,
    /// Where the fields begin.
    fields: usize,
}

fn arguments(call: &Call, is_add: bool) -> Outcome<Arguments> {
    let (mut limit, mut is_rough, mut most, mut only_existing) = (None, false, None, false);
    let mut id = Wanted::Next;
    let mut at = 2;
    while let Some(&option) = call.args.get(at) {
        let left = call.args.len() - 1 - at;
        match option {
            b"*" if is_add => break,
            option if (is_word(option, "MAXLEN") || is_word(option, "MINID")) && left > 0 => {
                if limit.is_some() {
                    return Err(Failure::reply(
                        "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
                    ));
                }
                is_rough = left >= 2 && call.arg(at + 1) == b"~";
                if is_rough || left >= 2 && call.arg(at + 1) == b"=" {
                    at += 1;
                }
                at += 1;
                limit = Some(match is_word(option, "MAXLEN") {
                    true => match u64::try_from(call.integer(at)?) {
                        Ok(len) => Limit::Len(len),
                        Err(_) => return Err(Failure::reply("ERR The MAXLEN argument must be >= 0.")),
                    },
                    false => Limit::Id(StreamId::parse(call.arg(at), 0)?),
                });
            }
            option if is_word(option, "LIMIT") && left > 0 => {
                at += 1;
                match u64::try_from(call.integer(at)?) {
                    Ok(limit) => most = Some(limit),
                    Err(_) => return Err(Failure::reply("ERR The LIMIT argument must be >= 0.")),
                }
            }
            option if is_add && is_word(option, "NOMKSTREAM") => only_existing = true,
            option if is_add => {
                id = match option.strip_suffix(b"-*") {
                    Some(ms) => Wanted::NextIn(super::number(ms).ok_or_else(invalid_id)?),
                    None => Wanted::Exactly(StreamId::parse(option, 0)?),
                };
                break;
            }
            _ => return Err(syntax()),
        }
        at += 1;
    }
    if most.is_some_and(|most| most > 0) && limit.is_none() {
        return Err(Failure::reply(
            "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
        ));
    }
    if !is_add && limit.is_none() {
        return Err(Failure::reply(
            "ERR syntax error, XTRIM must be called with a valid trimming strategy",
        ));
    }
    if most.is_some() && !is_rough {
        return Err(Failure::reply(
            "ERR syntax error, LIMIT cannot be used without the special ~ option",
        ));
    }
    let most = match is_rough {
        true => most.unwrap_or(100 * NODE_ENTRIES),
        false => 0,
    };
    Ok(Arguments {
        trim: limit.map(|limit| Trim { limit, is_rough, most }),
        only_existing,
        id,
        fields: at + 1,
    })
}

fn too_small() -> Failure {
    Failure::reply("ERR The ID specified in XADD is equal or smaller than the target stream top item")
}

pub fn xadd(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let arguments = arguments(call, true)?;
    let fields = call.args.get(arguments.fields..).unwrap_or_default();
    if fields.is_empty() || fields.len() % 2 == 1 {
        return Err(wrong_number_of_arguments("xadd"));
    }
    if matches!(arguments.id, Wanted::Exactly(StreamId::MIN)) {
        return Err(Failure::reply("ERR The ID specified in XADD must be greater than 0-0"));
    }
    let mut stream = match call.stream(key)? {
        Some(stream) => stream,
        None if arguments.only_existing => {
            call.reply.null();
            return Ok(());
        }
        None => call.stream_to_fill(key)?,
    };
    if stream.last == StreamId::MAX {
        return Err(Failure::reply(
            "ERR The stream has exhausted the last possible ID, unable to add more items",
        ));
    }
    let next = stream.last.next().ok_or_else(too_small)?;
    let id = match arguments.id {
        Wanted::Exactly(id) => id,
        Wanted::Next => next.max(StreamId {
            ms: call.work.now_ms.max(0) as u64,
            seq: 0,
        }),
        Wanted::NextIn(ms) if ms == stream.last.ms => next,
        Wanted::NextIn(ms) => StreamId { ms, seq: 0 },
    };
    // The next one of a full millisecond would be in another.
    let is_elsewhere = matches!(arguments.id, Wanted::NextIn(ms) if ms != id.ms);
    if id <= stream.last || is_elsewhere {
        return Err(too_small());
    }
    let len: usize = fields.iter().map(|word| word.len() + 4).sum();
    governor::ensure(2 * len)?;
    let db = call.db.clone();
    stream.append(call.work, &db, id, &pack(fields.iter().copied()))?;
    call.note(Class::Stream, "xadd", key);
    if let Some(trim) = &arguments.trim
        && shorten(call, &mut stream, trim)? > 0
    {
        call.note(Class::Stream, "xtrim", key);
    }
    stream.save(call.work, &db, key)?;
    id.answer(call.reply);
    Ok(())
}

/// Removes the entries that are too many. How many there were.
fn shorten(call: &mut Call, stream: &mut Stream, trim: &Trim) -> Outcome<u64> {
    let db = call.db.clone();
    let mut excess = match trim.limit {
        Limit::Len(len) => stream.len().saturating_sub(len),
        Limit::Id(_) => u64::MAX,
    };
    if trim.most > 0 {
        excess = excess.min(trim.most);
    }
    let mut removed = Vec::new();
    if excess > 0 {
        let range = (StreamId::MIN, StreamId::MAX);
        stream.each(call.work, &db, range, Direction::Forward, |id, _| {
            let stays = matches!(trim.limit, Limit::Id(least) if id >= least);
            if stays || removed.len() as u64 >= excess {
                return Ok(ControlFlow::Break(()));
            }
            removed.push(id);
            Ok(ControlFlow::Continue(()))
        })?;
    }
    if trim.is_rough {
        removed.truncate((removed.len() as u64 / NODE_ENTRIES * NODE_ENTRIES) as usize);
    }
    for &id in &removed {
        governor::tick()?;
        stream.delete(call.work, &db, id)?;
    }
    Ok(removed.len() as u64)
}

pub fn xtrim(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let arguments = arguments(call, false)?;
    let mut removed = 0;
    if let (Some(mut stream), Some(trim)) = (call.stream(key)?, &arguments.trim) {
        removed = shorten(call, &mut stream, trim)?;
        if removed > 0 {
            let db = call.db.clone();
            stream.save(call.work, &db, key)?;
            call.note(Class::Stream, "xtrim", key);
        }
    }
    call.reply.integer(removed as i64);
    Ok(())
}

pub fn xdel(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let stream = call.stream(key)?;
    let Some(mut stream) = stream else {
        call.reply.integer(0);
        return Ok(());
    };
    let mut ids = Vec::with_capacity(call.args.len() - 2);
    for arg in &call.args[2..] {
        ids.push(StreamId::parse(arg, 0)?);
    }
    let db = call.db.clone();
    let mut deleted = 0;
    for id in ids {
        governor::tick()?;
        if stream.delete(call.work, &db, id)? {
            stream.max_deleted = stream.max_deleted.max(id);
            deleted += 1;
        }
    }
    if deleted > 0 {
        stream.save(call.work, &db, key)?;
        call.note(Class::Stream, "xdel", key);
    }
    call.reply.integer(deleted);
    Ok(())
}

pub fn xlen(call: &mut Call) -> Outcome {
    let stream = call.stream(call.args[1])?;
    call.reply.integer(stream.map_or(0, |stream| stream.len() as i64));
    Ok(())
}

pub fn xsetid(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let id = StreamId::parse(call.arg(2), 0)?;
    let (mut added, mut max_deleted) = (None, StreamId::MIN);
    let mut options = call.options(3);
    while let Some(option) = options.next() {
        match option {
            option if is_word(option, "ENTRIESADDED") && !options.is_empty() => {
                match u64::try_from(options.integer()?) {
                    Ok(count) => added = Some(count),
                    Err(_) => return Err(Failure::reply("ERR entries_added must be positive")),
                }
            }
            option if is_word(option, "MAXDELETEDID") && !options.is_empty() => {
                max_deleted = StreamId::parse(options.value()?, 0)?;
                if id < max_deleted {
                    return Err(Failure::reply(
                        "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                    ));
                }
            }
            _ => return Err(syntax()),
        }
    }
    let mut stream = call.stream(key)?.ok_or_else(no_such_key)?;
    if id < stream.max_deleted {
        return Err(Failure::reply(
            "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id",
        ));
    }
    let db = call.db.clone();
    if let Some(top) = stream.end(call.work, &db, Direction::Backward)? {
        if id < top {
            return Err(Failure::reply(
                "ERR The ID specified in XSETID is smaller than the target stream top item",
            ));
        }
        if added.is_some_and(|added| added < stream.len()) {
            return Err(Failure::reply(
                "ERR The entries_added specified in XSETID is smaller than the target stream length",
            ));
        }
    }
    stream.last = id;
    stream.added = added.unwrap_or(stream.added);
    if max_deleted != StreamId::MIN {
        stream.max_deleted = max_deleted;
    }
    stream.save(call.work, &db, key)?;
    call.note(Class::Stream, "xsetid", key);
    call.reply.ok();
    Ok(())
}
