//! Fields of hashes that expire: HEXPIRE and its kin, as Redis 7.4 has them.
//!
//! A field that has expired is still a row, which nobody sees. `rest` of the hash is the earliest time at which any of its fields may
//! expire: until then the hash's length is that of its rows. From then on readers count, and the next change removes the rows.

use std::ops::ControlFlow;

use redis_wire::number::parse_i64;
use store::Direction;
use types::IndexId;

use crate::call::{Call, is_word};
use crate::collection::Collection;
use crate::expiry::Unit;
use crate::failure::{Failure, Outcome, not_integer};
use crate::head::Kind;
use crate::tables::Part;
use crate::types::hash::{expiry_in, field_in};
use crate::work::Class;

/// The latest time that Redis takes.
const LATEST_MS: i64 = (1 << 48) - 1;

const NO_FIELD: i64 = -2;
const NO_EXPIRY: i64 = -1;
const NOT_MET: i64 = 0;
const DONE: i64 = 1;
const DELETED: i64 = 2;

fn earliest(hash: &Collection) -> Option<i64> {
    hash.rest.first_chunk().map(|at| i64::from_be_bytes(*at))
}

/// Whether fields may have expired.
pub fn is_due(hash: &Collection, now_ms: i64) -> bool {
    earliest(hash).is_some_and(|at| at <= now_ms)
}

/// A field of it will expire.
pub fn note(hash: &mut Collection, at: i64) {
    let earliest = earliest(hash).map_or(at, |known| known.min(at));
    hash.rest = earliest.to_be_bytes().to_vec();
}

/// Removes the rows of fields that have expired, and the key if nothing is left.
pub fn sweep(call: &mut Call, key: &[u8], hash: &mut Collection) -> Outcome {
    let db = call.db.clone();
    let now_ms = call.work.now_ms;
    let (mut expired, mut next) = (Vec::new(), None);
    let forward = Direction::Forward;
    call.work
        .scan(&db, Part::Hash, IndexId::PRIMARY, hash.id, forward, |layout, row, _| {
            match expiry_in(layout, row) {
                Some(at) if at <= now_ms => expired.push(field_in(layout, row).to_vec()),
                Some(at) => next = Some(next.map_or(at, |next: i64| next.min(at))),
                None => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
    for field in &expired {
        governor::tick()?;
        call.work.remove_member(&db, Kind::Hash, hash, field)?;
    }
    hash.rest = next.map_or(Vec::new(), |at| at.to_be_bytes().to_vec());
    if !expired.is_empty() {
        call.note(Class::Hash, "hexpired", key);
    }
    call.work.save(&db, key, Kind::Hash, hash)
}

/// `FIELDS 2 a b`
fn fields<'c>(call: &Call<'c, '_>, at: usize, wrong_count: &'static str) -> Outcome<&'c [&'c [u8]]> {
    if !call.args.get(at).is_some_and(|word| is_word(word, "FIELDS")) {
        return Err(Failure::reply(
            "ERR Mandatory argument FIELDS is missing or not at the right position",
        ));
    }
    let count = call.args.get(at + 1).and_then(|count| parse_i64(count));
    let count = count
        .filter(|&count| count > 0)
        .ok_or_else(|| Failure::reply(wrong_count))?;
    let fields = &call.args[at + 2..];
    match usize::try_from(count) == Ok(fields.len()) {
        true => Ok(fields),
        false => Err(Failure::reply(
            "ERR The `numfields` parameter must match the number of arguments",
        )),
    }
}

/// When a field's expiry is set only.
#[derive(Clone, Copy, PartialEq)]
enum Condition {
    Without,
    With,
    Later,
    Earlier,
}

impl Condition {
    fn of(arg: &[u8]) -> Option<Condition> {
        match arg {
            arg if is_word(arg, "NX") => Some(Condition::Without),
            arg if is_word(arg, "XX") => Some(Condition::With),
            arg if is_word(arg, "GT") => Some(Condition::Later),
            arg if is_word(arg, "LT") => Some(Condition::Earlier),
            _ => None,
        }
    }

    fn is_met(self, now: Option<i64>, new: i64) -> bool {
        match (self, now) {
            (Condition::Without, now) => now.is_none(),
            (Condition::With, now) => now.is_some(),
            // What does not expire does so later than anything else.
            (Condition::Later, now) => now.is_some_and(|now| new > now),
            (Condition::Earlier, now) => now.is_none_or(|now| new < now),
        }
    }
}

pub fn hexpire(call: &mut Call) -> Outcome {
    set(call, Unit::SECONDS, "hexpire")
}

pub fn hpexpire(call: &mut Call) -> Outcome {
    set(call, Unit::MILLISECONDS, "hpexpire")
}

pub fn hexpireat(call: &mut Call) -> Outcome {
    let unit = Unit {
        is_absolute: true,
        ..Unit::SECONDS
    };
    set(call, unit, "hexpireat")
}

pub fn hpexpireat(call: &mut Call) -> Outcome {
    let unit = Unit {
        is_absolute: true,
        ..Unit::MILLISECONDS
    };
    set(call, unit, "hpexpireat")
}

fn moment(arg: &[u8], unit: Unit, now_ms: i64, command: &str) -> Outcome<i64> {
    let value = parse_i64(arg).ok_or_else(not_integer)?;
    if value < 0 {
        return Err(Failure::reply("ERR invalid expire time, must be >= 0"));
    }
    let ms = value.checked_mul(if unit.in_seconds { 1000 } else { 1 });
    let base = if unit.is_absolute { 0 } else { now_ms };
    let at = ms.and_then(|ms| ms.checked_add(base)).filter(|&at| at <= LATEST_MS);
    at.ok_or_else(|| Failure::Reply(format!("ERR invalid expire time in '{command}' command").into()))
}

fn set(call: &mut Call, unit: Unit, command: &str) -> Outcome {
    let key = call.arg(1);
    let hash = call.hash_to_change(key)?;
    let at = moment(call.arg(2), unit, call.work.now_ms, command)?;
    let condition = Condition::of(call.arg(3));
    let fields = fields(
        call,
        3 + usize::from(condition.is_some()),
        "ERR Parameter `numFields` should be greater than 0",
    )?;
    call.reply.array(fields.len());
    let Some(mut hash) = hash else {
        fields.iter().for_each(|_| call.reply.integer(NO_FIELD));
        return Ok(());
    };
    let (mut changed, mut deleted) = (false, false);
    for &field in fields {
        governor::tick()?;
        let found = call.field_and_expiry(hash.id, field, |value, at| (value.to_vec(), at));
        let Some((value, now)) = found else {
            call.reply.integer(NO_FIELD);
            continue;
        };
        if condition.is_some_and(|condition| !condition.is_met(now, at)) {
            call.reply.integer(NOT_MET);
        } else if at <= call.work.now_ms {
            call.work.remove_member(&call.db, Kind::Hash, &mut hash, field)?;
            deleted = true;
            call.reply.integer(DELETED);
        } else {
            call.put_field_until(&mut hash, field, &value, Some(at))?;
            changed = true;
            call.reply.integer(DONE);
        }
    }
    if changed {
        call.note(Class::Hash, "hexpire", key);
    }
    if deleted {
        call.note(Class::Hash, "hdel", key);
    }
    if changed || deleted {
        let db = call.db.clone();
        call.work.save(&db, key, Kind::Hash, &hash)?;
    }
    Ok(())
}

pub fn httl(call: &mut Call) -> Outcome {
    tell(call, |at, now| (at - now + 999) / 1000)
}

pub fn hpttl(call: &mut Call) -> Outcome {
    tell(call, |at, now| at - now)
}

pub fn hexpiretime(call: &mut Call) -> Outcome {
    tell(call, |at, _| (at + 999) / 1000)
}

pub fn hpexpiretime(call: &mut Call) -> Outcome {
    tell(call, |at, _| at)
}

const COUNT: &str = "ERR Number of fields must be a positive integer";

fn tell(call: &mut Call, tell: fn(i64, i64) -> i64) -> Outcome {
    let hash = call.hash(call.args[1])?;
    let fields = fields(call, 2, COUNT)?;
    call.reply.array(fields.len());
    for field in fields {
        governor::tick()?;
        let found = hash
            .as_ref()
            .and_then(|hash| call.field_and_expiry(hash.id, field, |_, at| at));
        call.reply.integer(match found {
            None => NO_FIELD,
            Some(None) => NO_EXPIRY,
            Some(Some(at)) => tell(at, call.work.now_ms),
        });
    }
    Ok(())
}

pub fn hpersist(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let hash = call.hash_to_change(key)?;
    let fields = fields(call, 2, COUNT)?;
    call.reply.array(fields.len());
    let Some(mut hash) = hash else {
        fields.iter().for_each(|_| call.reply.integer(NO_FIELD));
        return Ok(());
    };
    let mut changed = false;
    for &field in fields {
        governor::tick()?;
        match call.field_and_expiry(hash.id, field, |value, at| (value.to_vec(), at)) {
            None => call.reply.integer(NO_FIELD),
            Some((_, None)) => call.reply.integer(NO_EXPIRY),
            Some((value, Some(_))) => {
                call.put_field(&mut hash, field, &value)?;
                changed = true;
                call.reply.integer(DONE);
            }
        }
    }
    if changed {
        let db = call.db.clone();
        call.work.save(&db, key, Kind::Hash, &hash)?;
        call.note(Class::Hash, "hpersist", key);
    }
    Ok(())
}
