//! Hashes: a row for each field.

use std::ops::ControlFlow;

use redis_wire::extended::Extended;
use redis_wire::number::{parse_i64, parse_wide};
use store::Direction;
use types::{IndexId, RowLayout, ValueRef};

use crate::call::{Call, is_word};
use crate::chance::count_of;
use crate::collection::Collection;
use crate::failure::{Failure, Outcome, syntax, wrong_number_of_arguments};
use crate::head::{Kind, date_time, moment};
use crate::tables::{Db, Member, Part};
use crate::types::generic::remove_members;
use crate::types::hash_expiry;
use crate::types::string::float_sum;
use crate::work::{Class, Work};

const FIELD: usize = 1;
const WHOLE: usize = 2;
const VALUE: usize = 3;
const EXPIRES: usize = 4;

/// The field in a row.
pub fn field_in<'r>(layout: &'r RowLayout, row: &'r [u8]) -> &'r [u8] {
    match layout.raw(row, WHOLE) {
        Some(whole) => whole,
        None => layout.raw(row, FIELD).unwrap_or_default(),
    }
}

/// The value in a row.
pub fn value_in<'r>(layout: &'r RowLayout, row: &'r [u8]) -> &'r [u8] {
    layout.raw(row, VALUE).unwrap_or_default()
}

/// When the field in a row expires, in milliseconds since 1970.
pub fn expiry_in(layout: &RowLayout, row: &[u8]) -> Option<i64> {
    match layout.is_null(row, EXPIRES) {
        true => None,
        false => moment(layout.column(row, EXPIRES)),
    }
}

/// Whether the field in a row has not expired.
pub fn is_live(layout: &RowLayout, row: &[u8], now_ms: i64) -> bool {
    expiry_in(layout, row).is_none_or(|at| at > now_ms)
}

impl Call<'_, '_> {
    /// A hash, whose length tells the fields that have not expired.
    pub fn hash(&self, key: &[u8]) -> Outcome<Option<Collection>> {
        let Some(mut hash) = self.work.collection(&self.db, key, Kind::Hash)? else {
            return Ok(None);
        };
        if hash_expiry::is_due(&hash, self.work.now_ms) {
            hash.len = 0;
            each_field(self.work, &self.db, hash.id, |_, _| hash.len += 1)?;
        }
        Ok(Some(hash).filter(|hash| hash.len > 0))
    }

    /// As [`hash`](Self::hash), without the rows of fields that have expired.
    pub fn hash_to_change(&mut self, key: &[u8]) -> Outcome<Option<Collection>> {
        let Some(mut hash) = self.work.collection(&self.db, key, Kind::Hash)? else {
            return Ok(None);
        };
        if hash_expiry::is_due(&hash, self.work.now_ms) {
            hash_expiry::sweep(self, key, &mut hash)?;
        }
        Ok(Some(hash).filter(|hash| hash.len > 0))
    }

    fn hash_to_fill(&mut self, key: &[u8]) -> Outcome<Collection> {
        match self.hash_to_change(key)? {
            Some(hash) => Ok(hash),
            None => {
                let db = self.db.clone();
                self.work.collection_to_fill(&db, key, Kind::Hash)
            }
        }
    }

    /// Shows the value of a field that has not expired.
    pub fn field<R>(&self, id: u64, field: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.field_and_expiry(id, field, |value, _| read(value))
    }

    /// As [`field`](Self::field), and when it expires.
    pub fn field_and_expiry<R>(&self, id: u64, field: &[u8], read: impl FnOnce(&[u8], Option<i64>) -> R) -> Option<R> {
        let field = Member::new(field);
        let key = [ValueRef::UInt(id), ValueRef::Bytes(field.indexed())];
        let now_ms = self.work.now_ms;
        let found = self.work.element(&self.db, Part::Hash, key, |layout, row| {
            is_live(layout, row, now_ms).then(|| read(value_in(layout, row), expiry_in(layout, row)))
        });
        found.flatten()
    }

    /// Gives a field a value that does not expire; true: it is new.
    pub fn put_field(&mut self, hash: &mut Collection, field: &[u8], value: &[u8]) -> Outcome<bool> {
        self.put_field_until(hash, field, value, None)
    }

    /// As [`put_field`](Self::put_field), of a value that expires.
    pub fn put_field_until(
        &mut self,
        hash: &mut Collection,
        field: &[u8],
        value: &[u8],
        expires_at: Option<i64>,
    ) -> Outcome<bool> {
        let member = Member::new(field);
        let (id, indexed) = (ValueRef::UInt(hash.id), ValueRef::Bytes(member.indexed()));
        let is_new = hash.is_new && hash.len == 0
            || self
                .work
                .element(&self.db, Part::Hash, [id, indexed], |_, _| ())
                .is_none();
        let whole = member.whole.map_or(ValueRef::Null, ValueRef::Bytes);
        let expires = expires_at.map_or(ValueRef::Null, |at| ValueRef::DateTime(date_time(at)));
        let row = [id, indexed, whole, ValueRef::Bytes(value), expires];
        self.work.put_element(&self.db, Part::Hash, &row)?;
        hash.len += u64::from(is_new);
        if let Some(at) = expires_at {
            hash_expiry::note(hash, at);
        }
        Ok(is_new)
    }
}

/// Walks the fields that have not expired.
pub fn each_field(work: &Work<'_>, db: &Db, id: u64, mut visit: impl FnMut(&[u8], &[u8])) -> Outcome {
    let (forward, now_ms) = (Direction::Forward, work.now_ms);
    work.scan(db, Part::Hash, IndexId::PRIMARY, id, forward, |layout, row, _| {
        if is_live(layout, row, now_ms) {
            visit(field_in(layout, row), value_in(layout, row));
        }
        Ok(ControlFlow::Continue(()))
    })
}

pub fn hset(call: &mut Call) -> Outcome {
    let added = set_pairs(call, "hset")?;
    call.reply.integer(added);
    Ok(())
}

pub fn hmset(call: &mut Call) -> Outcome {
    set_pairs(call, "hmset")?;
    call.reply.ok();
    Ok(())
}

fn set_pairs(call: &mut Call, command: &str) -> Outcome<i64> {
    let (key, pairs) = (call.arg(1), &call.args[2..]);
    if pairs.len() % 2 == 1 {
        return Err(wrong_number_of_arguments(command));
    }
    let db = call.db.clone();
    let mut hash = call.hash_to_fill(key)?;
    let mut added = 0;
    for pair in pairs.chunks(2) {
        governor::tick()?;
        added += i64::from(call.put_field(&mut hash, pair[0], pair[1])?);
    }
    call.work.save(&db, key, Kind::Hash, &hash)?;
    call.note(Class::Hash, "hset", key);
    Ok(added)
}

pub fn hsetnx(call: &mut Call) -> Outcome {
    let (key, field, value) = (call.arg(1), call.arg(2), call.arg(3));
    let db = call.db.clone();
    let mut hash = call.hash_to_fill(key)?;
    let is_free = call.field(hash.id, field, |_| ()).is_none();
    if is_free {
        call.put_field(&mut hash, field, value)?;
        call.work.save(&db, key, Kind::Hash, &hash)?;
        call.note(Class::Hash, "hset", key);
    }
    call.reply.integer(i64::from(is_free));
    Ok(())
}

pub fn hget(call: &mut Call) -> Outcome {
    let hash = call.hash(call.args[1])?;
    let mut found = None;
    if let Some(hash) = hash {
        found = call.field(hash.id, call.args[2], <[u8]>::to_vec);
    }
    match found {
        Some(value) => call.reply.bulk(&value),
        None => call.reply.null(),
    }
    Ok(())
}

pub fn hmget(call: &mut Call) -> Outcome {
    let hash = call.hash(call.args[1])?;
    call.reply.array(call.args.len() - 2);
    for &field in &call.args[2..] {
        governor::tick()?;
        let value = hash
            .as_ref()
            .and_then(|hash| call.field(hash.id, field, <[u8]>::to_vec));
        match value {
            Some(value) => call.reply.bulk(&value),
            None => call.reply.null(),
        }
    }
    Ok(())
}

pub fn hdel(call: &mut Call) -> Outcome {
    let hash = call.hash_to_change(call.args[1])?;
    remove_members(call, Kind::Hash, hash, (Class::Hash, "hdel"))
}

pub fn hlen(call: &mut Call) -> Outcome {
    let hash = call.hash(call.args[1])?;
    call.reply.integer(hash.map_or(0, |hash| hash.len as i64));
    Ok(())
}

pub fn hstrlen(call: &mut Call) -> Outcome {
    let hash = call.hash(call.args[1])?;
    let len = hash.and_then(|hash| call.field(hash.id, call.args[2], <[u8]>::len));
    call.reply.integer(len.unwrap_or(0) as i64);
    Ok(())
}

pub fn hexists(call: &mut Call) -> Outcome {
    let hash = call.hash(call.args[1])?;
    let found = hash.and_then(|hash| call.field(hash.id, call.args[2], |_| ()));
    call.reply.integer(i64::from(found.is_some()));
    Ok(())
}

pub fn hgetall(call: &mut Call) -> Outcome {
    let Some(hash) = call.hash(call.args[1])? else {
        call.reply.map(0);
        return Ok(());
    };
    let (list, mut fields) = (call.reply.open(), 0);
    let reply = &mut *call.reply;
    each_field(call.work, &call.db, hash.id, |field, value| {
        reply.bulk(field);
        reply.bulk(value);
        fields += 1;
    })?;
    call.reply.close(list, |reply| reply.map(fields));
    Ok(())
}

pub fn hkeys(call: &mut Call) -> Outcome {
    one_side(call, |field, _| field)
}

pub fn hvals(call: &mut Call) -> Outcome {
    one_side(call, |_, value| value)
}

fn one_side(call: &mut Call, side: for<'r> fn(&'r [u8], &'r [u8]) -> &'r [u8]) -> Outcome {
    let Some(hash) = call.hash(call.args[1])? else {
        call.reply.array(0);
        return Ok(());
    };
    let (list, mut fields) = (call.reply.open(), 0);
    let reply = &mut *call.reply;
    each_field(call.work, &call.db, hash.id, |field, value| {
        reply.bulk(side(field, value));
        fields += 1;
    })?;
    call.reply.close(list, |reply| reply.array(fields));
    Ok(())
}

pub fn hincrby(call: &mut Call) -> Outcome {
    let (key, field, by) = (call.arg(1), call.arg(2), call.integer(3)?);
    let db = call.db.clone();
    let mut hash = call.hash_to_fill(key)?;
    let (value, expires_at) = match call.field_and_expiry(hash.id, field, |value, at| (parse_i64(value), at)) {
        None => (0, None),
        Some((value, at)) => (
            value.ok_or_else(|| Failure::reply("ERR hash value is not an integer"))?,
            at,
        ),
    };
    let sum = value.checked_add(by);
    let sum = sum.ok_or_else(|| Failure::reply("ERR increment or decrement would overflow"))?;
    call.put_field_until(&mut hash, field, sum.to_string().as_bytes(), expires_at)?;
    call.work.save(&db, key, Kind::Hash, &hash)?;
    call.note(Class::Hash, "hincrby", key);
    call.reply.integer(sum);
    Ok(())
}

pub fn hincrbyfloat(call: &mut Call) -> Outcome {
    let (key, field, by) = (call.arg(1), call.arg(2), call.arg(3));
    if Extended::parse(by).is_none() {
        return Err(Failure::reply(match parse_wide(by) {
            None => "ERR value is not a valid float",
            Some(_) => "ERR value is NaN or Infinity",
        }));
    }
    let db = call.db.clone();
    let mut hash = call.hash_to_fill(key)?;
    let found = call.field_and_expiry(hash.id, field, |value, at| (value.to_vec(), at));
    let (value, expires_at) = found.map_or((None, None), |(value, at)| (Some(value), at));
    let text = float_sum(value.as_deref(), by, "ERR hash value is not a float")?;
    call.put_field_until(&mut hash, field, &text, expires_at)?;
    call.work.save(&db, key, Kind::Hash, &hash)?;
    call.note(Class::Hash, "hincrbyfloat", key);
    call.reply.bulk(&text);
    Ok(())
}

pub fn hrandfield(call: &mut Call) -> Outcome {
    let with_values = match call.args.len() {
        0..=3 => false,
        4 if is_word(call.args[3], "WITHVALUES") => true,
        _ => return Err(syntax()),
    };
    let count = match call.args.len() {
        2 => None,
        _ => Some(count_of(call.args[2])?),
    };
    if count.is_some_and(|count| with_values && !(-(i64::MAX / 2)..=i64::MAX / 2).contains(&count)) {
        return Err(crate::failure::out_of_range());
    }
    let mut fields = Vec::new();
    if let Some(hash) = call.hash(call.args[1])? {
        each_field(call.work, &call.db, hash.id, |field, value| {
            fields.push((field.to_vec(), value.to_vec()))
        })?;
    }
    if fields.is_empty() {
        match count {
            None => call.reply.null(),
            Some(_) => call.reply.array(0),
        }
        return Ok(());
    }
    let chosen = crate::chance::choose(&call.work.keyspace.engine().env().random, fields.len(), count)?;
    let Some(_) = count else {
        call.reply.bulk(&fields[chosen[0]].0);
        return Ok(());
    };
    let in_pairs = with_values && call.reply.protocol == redis_wire::Protocol::Resp3;
    call.reply.array(match with_values && !in_pairs {
        true => chosen.len() * 2,
        false => chosen.len(),
    });
    for at in chosen {
        governor::tick()?;
        let (field, value) = &fields[at];
        if in_pairs {
            call.reply.array(2);
        }
        call.reply.bulk(field);
        if with_values {
            call.reply.bulk(value);
        }
    }
    Ok(())
}
