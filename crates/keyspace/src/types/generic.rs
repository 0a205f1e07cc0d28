//! Commands on keys of any type.

use std::ops::ControlFlow;

use redis_wire::number::parse_i64;
use store::{Direction, KeyRange};
use types::{IndexId, ValueRef};

use crate::call::{Call, is_word};
use crate::collection::Collection;
use crate::failure::{Failure, Outcome, no_such_key, syntax};
use crate::glob::Glob;
use crate::head::{Head, HeadRef, Kind};
use crate::tables::{Db, Part};
use crate::work::{Class, Work};

/// The keys that a command counts itself, as `2 a b`, and what follows them. Commands differ in what they say of too few.
pub fn counted_keys<'c>(
    call: &Call<'c, '_>,
    at: usize,
    too_few: fn() -> Failure,
) -> Outcome<(&'c [&'c [u8]], &'c [&'c [u8]])> {
    let count = parse_i64(call.args[at])
        .filter(|&count| count > 0)
        .ok_or_else(|| Failure::reply("ERR numkeys should be greater than 0"))?;
    let rest = &call.args[at + 1..];
    match usize::try_from(count) {
        Ok(count) if count <= rest.len() => Ok(rest.split_at(count)),
        _ => Err(too_few()),
    }
}

pub fn too_few_keys() -> Failure {
    Failure::reply("ERR Number of keys can't be greater than number of args")
}

/// What LMPOP and ZMPOP are told: `2 a b LEFT COUNT 3`.
pub struct Several<'c, E> {
    pub keys: &'c [&'c [u8]],
    pub end: E,
    pub count: i64,
}

impl<'c, E> Several<'c, E> {
    /// Reads it from an argument on. `end` reads at which end of the values those are that are wanted.
    pub fn read(call: &Call<'c, '_>, at: usize, end: impl FnOnce(&'c [u8]) -> Outcome<E>) -> Outcome<Several<'c, E>> {
        let (keys, rest) = counted_keys(call, at, syntax)?;
        let (&word, rest) = rest.split_first().ok_or_else(syntax)?;
        let end = end(word)?;
        let count = match rest {
            [] => 1,
            [option, count] if is_word(option, "COUNT") => {
                let count = parse_i64(count).filter(|&count| count > 0);
                count.ok_or_else(|| Failure::reply("ERR count should be greater than 0"))?
            }
            _ => return Err(syntax()),
        };
        Ok(Several { keys, end, count })
    }
}

/// SREM, ZREM, HDEL: removes the members that the command names from what its key holds, and answers how many there were.
pub fn remove_members(
    call: &mut Call,
    kind: Kind,
    found: Option<Collection>,
    (class, event): (Class, &'static str),
) -> Outcome {
    let key = call.arg(1);
    let db = call.db.clone();
    let mut removed = 0;
    if let Some(mut found) = found {
        for &member in &call.args[2..] {
            governor::tick()?;
            removed += i64::from(call.work.remove_member(&db, kind, &mut found, member)?);
        }
        if removed > 0 {
            call.note(class, event, key);
            call.work.save(&db, key, kind, &found)?;
        }
    }
    call.reply.integer(removed);
    Ok(())
}

pub fn del(call: &mut Call) -> Outcome {
    let db = call.db.clone();
    let mut removed = 0;
    for &key in &call.args[1..] {
        governor::tick()?;
        if call.work.remove(&db, key)? {
            removed += 1;
            call.note(Class::Generic, "del", key);
        }
    }
    call.reply.integer(removed);
    Ok(())
}

pub fn exists(call: &mut Call) -> Outcome {
    let mut found = 0;
    for key in call.db.ahead(&call.args[1..]) {
        governor::tick()?;
        found += i64::from(call.work.kind(&call.db, key).is_some());
    }
    call.reply.integer(found);
    Ok(())
}

pub fn kind(call: &mut Call) -> Outcome {
    let kind = call.work.kind(&call.db, call.args[1]);
    call.reply.simple(kind.map_or("none", Kind::name));
    Ok(())
}

pub fn rename(call: &mut Call) -> Outcome {
    let (from, to) = (call.arg(1), call.arg(2));
    move_key(call, from, to)?;
    call.reply.ok();
    Ok(())
}

pub fn renamenx(call: &mut Call) -> Outcome {
    let (from, to) = (call.arg(1), call.arg(2));
    if call.work.kind(&call.db, from).is_none() {
        return Err(no_such_key());
    }
    let is_free = call.work.kind(&call.db, to).is_none();
    if is_free {
        move_key(call, from, to)?;
    }
    call.reply.integer(i64::from(is_free));
    Ok(())
}

fn move_key(call: &mut Call, from: &[u8], to: &[u8]) -> Outcome {
    let db = call.db.clone();
    let head = call.work.head(&db, from).ok_or_else(no_such_key)?;
    if from == to {
        return Ok(());
    }
    call.work.clear(&db, to)?;
    call.work.put(&db, to, head.as_ref())?;
    call.work.forget(&db, from)?;
    call.note(Class::Generic, "rename_from", from);
    call.note(Class::Generic, "rename_to", to);
    Ok(())
}

pub fn copy(call: &mut Call) -> Outcome {
    let (from, to) = (call.arg(1), call.arg(2));
    let (mut replaces, mut number) = (false, call.db.number);
    let mut options = call.options(3);
    while let Some(option) = options.next() {
        match option {
            option if is_word(option, "REPLACE") => replaces = true,
            option if is_word(option, "DB") => number = database(options.value()?)?,
            _ => return Err(syntax()),
        }
    }
    let db = call.db.clone();
    let target = call.work.db(number)?;
    if from == to && number == db.number {
        return Err(Failure::reply("ERR source and destination objects are the same"));
    }
    call.work.lock_keys(&target, [to])?;
    let Some(head) = call.work.head(&db, from) else {
        call.reply.integer(0);
        return Ok(());
    };
    if call.work.kind(&target, to).is_some() && !replaces {
        call.reply.integer(0);
        return Ok(());
    }
    call.work.clear(&target, to)?;
    copy_to(call.work, &db, &head, &target, to)?;
    call.work.note(Class::Generic, "copy_to", &target, to);
    call.reply.integer(1);
    Ok(())
}

/// Writes a copy of what a key holds under another one.
fn copy_to(work: &mut Work<'_>, db: &Db, head: &Head, target: &Db, to: &[u8]) -> Outcome {
    let Some(old) = Collection::of(head.as_ref()).filter(|_| head.kind != Kind::String || head.as_ref().is_long())
    else {
        // What a long string has left in pieces before SQL gave it a value is not copied.
        let head = HeadRef {
            meta: &[],
            ..head.as_ref()
        };
        return work.put(target, to, head);
    };
    let new = Collection {
        id: work.keyspace.next_id(),
        ..old.clone()
    };
    for &part in crate::work::parts_of(head.kind) {
        let layout = db.table(part).layout();
        work.in_portions(db, part, old.id, |work, rows| {
            for row in rows {
                governor::tick()?;
                let columns: Vec<ValueRef<'_>> = (0..layout.columns().len())
                    .map(|column| match column {
                        0 => ValueRef::UInt(new.id),
                        column => layout.column(&row, column),
                    })
                    .collect();
                work.put_element(target, part, &columns)?;
            }
            Ok(())
        })?;
    }
    work.save(target, to, head.kind, &new)
}

pub fn database(arg: &[u8]) -> Outcome<u32> {
    let number = parse_i64(arg).ok_or_else(crate::failure::not_integer)?;
    if i32::try_from(number).is_err() {
        return Err(Failure::reply(
            "ERR value is out of range, value must between -2147483648 and 2147483647",
        ));
    }
    match u32::try_from(number) {
        Ok(number) if number < crate::tables::DATABASES => Ok(number),
        _ => Err(Failure::reply("ERR DB index is out of range")),
    }
}

pub fn move_to_db(call: &mut Call) -> Outcome {
    let (key, number) = (call.arg(1), database(call.arg(2))?);
    let db = call.db.clone();
    if number == db.number {
        return Err(Failure::reply("ERR source and destination objects are the same"));
    }
    let target = call.work.db(number)?;
    call.work.lock_keys(&target, [key])?;
    let head = call.work.head(&db, key);
    let Some(head) = head.filter(|_| call.work.kind(&target, key).is_none()) else {
        call.reply.integer(0);
        return Ok(());
    };
    call.work.remove(&target, key)?;
    copy_to(call.work, &db, &head, &target, key)?;
    call.work.remove(&db, key)?;
    call.note(Class::Generic, "move_from", key);
    call.work.note(Class::Generic, "move_to", &target, key);
    call.reply.integer(1);
    Ok(())
}

pub fn dbsize(call: &mut Call) -> Outcome {
    let mut keys = 0;
    call.work.scan_keys(&call.db, KeyRange::all(), |_, _| {
        keys += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    call.reply.integer(keys);
    Ok(())
}

pub fn keys(call: &mut Call) -> Outcome {
    let glob = Glob::new(call.arg(1));
    let (list, mut found) = (call.reply.open(), 0);
    let reply = &mut *call.reply;
    let range = glob.range(&call.db);
    call.work.scan_keys(&call.db, range, |key, _| {
        if glob.matches(key)? {
            reply.bulk(key);
            found += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    call.reply.close(list, |reply| reply.array(found));
    Ok(())
}

pub fn randomkey(call: &mut Call) -> Outcome {
    // A key from about the middle of what a random number splits: any key may come, not all as often.
    let random = call.work.keyspace.engine().env().random.next_u64();
    let mut kept: Option<Vec<u8>> = None;
    let mut seen = 0u64;
    call.work.scan_keys(&call.db, KeyRange::all(), |key, _| {
        seen += 1;
        // Each of n keys is kept with the same chance.
        if kept.is_none() || (random ^ seen.wrapping_mul(0x9e37_79b9_7f4a_7c15)).is_multiple_of(seen) {
            kept = Some(key.to_vec());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    match kept {
        Some(key) => call.reply.bulk(&key),
        None => call.reply.null(),
    }
    Ok(())
}

pub fn touch(call: &mut Call) -> Outcome {
    exists(call)
}

pub fn flushdb(call: &mut Call) -> Outcome {
    check_flush(call)?;
    let db = call.db.clone();
    flush(call.work, &db)?;
    call.reply.ok();
    Ok(())
}

pub fn flushall(call: &mut Call) -> Outcome {
    check_flush(call)?;
    call.work.flushes = true;
    for number in 0..crate::tables::DATABASES {
        if let Some(db) = call.work.keyspace.existing_db(number)? {
            flush(call.work, &db)?;
        }
    }
    call.reply.ok();
    Ok(())
}

fn check_flush(call: &Call) -> Outcome {
    match call.args[1..] {
        [] => Ok(()),
        [how] if is_word(how, "ASYNC") || is_word(how, "SYNC") => Ok(()),
        _ => Err(syntax()),
    }
}

/// Removes all keys.
fn flush(work: &mut Work<'_>, db: &Db) -> Outcome {
    work.flushes = true;
    work.lock_all_keys(db)?;
    let mut keys = Vec::new();
    let all = KeyRange::all();
    work.scan_range(
        db,
        Part::Keys,
        IndexId::PRIMARY,
        all,
        Direction::Forward,
        |layout, row, _| {
            keys.push(crate::head::key_in(layout, row).to_vec());
            Ok(ControlFlow::Continue(()))
        },
    )?;
    for key in &keys {
        governor::tick()?;
        work.remove(db, key)?;
    }
    Ok(())
}

pub fn object_encoding(call: &mut Call) -> Outcome {
    let Some(head) = call.work.head(&call.db, call.args[2]) else {
        call.reply.null();
        return Ok(());
    };
    let len = Collection::of(head.as_ref()).map_or(0, |collection| collection.len);
    // Nothing here is packed; told is what Redis would choose by the sizes that it tells apart.
    let encoding = match head.kind {
        Kind::String if parse_i64(&head.value).is_some() => "int",
        Kind::String if head.value.len() <= 44 && !head.as_ref().is_long() => "embstr",
        Kind::String => "raw",
        Kind::List if len <= 128 => "listpack",
        Kind::List => "quicklist",
        Kind::Hash if len <= 128 => "listpack",
        Kind::Set | Kind::Hash => "hashtable",
        Kind::SortedSet if len <= 128 => "listpack",
        Kind::SortedSet => "skiplist",
        Kind::Stream => "stream",
    };
    call.reply.bulk(encoding.as_bytes());
    Ok(())
}

pub fn object_refcount(call: &mut Call) -> Outcome {
    match call.work.kind(&call.db, call.args[2]) {
        Some(_) => call.reply.integer(1),
        None => call.reply.null(),
    }
    Ok(())
}

pub fn object_idletime(call: &mut Call) -> Outcome {
    match call.work.kind(&call.db, call.args[2]) {
        Some(_) => call.reply.integer(0),
        None => call.reply.null(),
    }
    Ok(())
}

pub fn object_freq(call: &mut Call) -> Outcome {
    match call.work.kind(&call.db, call.args[2]) {
        Some(_) => Err(Failure::reply(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between \
             policies at runtime LRU and LFU data will take some time to adjust.",
        )),
        None => {
            call.reply.null();
            Ok(())
        }
    }
}
