//! Sets: a row for each member.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use store::Direction;
use types::{IndexId, RowLayout, ValueRef};

use crate::call::{Call, is_word};
use crate::chance::{choose, count_of};
use crate::collection::Collection;
use crate::failure::{Failure, Outcome, syntax};
use crate::head::Kind;
use crate::tables::{Db, Member, Part};
use crate::types::generic::{counted_keys, remove_members, too_few_keys};
use crate::work::{Class, Work};

const MEMBER: usize = 1;
const WHOLE: usize = 2;

/// The member in a row.
pub fn member_in<'r>(layout: &'r RowLayout, row: &'r [u8]) -> &'r [u8] {
    match layout.raw(row, WHOLE) {
        Some(whole) => whole,
        None => layout.raw(row, MEMBER).unwrap_or_default(),
    }
}

fn each_member(work: &Work<'_>, db: &Db, id: u64, mut visit: impl FnMut(&[u8]) -> Outcome<ControlFlow<()>>) -> Outcome {
    let forward = Direction::Forward;
    work.scan(db, Part::Set, IndexId::PRIMARY, id, forward, |layout, row, _| {
        visit(member_in(layout, row))
    })
}

fn has(work: &Work<'_>, db: &Db, id: u64, member: &[u8]) -> bool {
    let member = Member::new(member);
    let key = [ValueRef::UInt(id), ValueRef::Bytes(member.indexed())];
    work.element(db, Part::Set, key, |_, _| ()).is_some()
}

/// Adds a member; false: it is one already.
pub fn add(work: &mut Work<'_>, db: &Db, set: &mut Collection, member: &[u8]) -> Outcome<bool> {
    if has(work, db, set.id, member) {
        return Ok(false);
    }
    let member = Member::new(member);
    let whole = member.whole.map_or(ValueRef::Null, ValueRef::Bytes);
    let row = [ValueRef::UInt(set.id), ValueRef::Bytes(member.indexed()), whole];
    work.put_element(db, Part::Set, &row)?;
    set.len += 1;
    Ok(true)
}

impl Call<'_, '_> {
    fn set(&self, key: &[u8]) -> Outcome<Option<Collection>> {
        self.work.collection(&self.db, key, Kind::Set)
    }

    fn members(&self, set: &Option<Collection>) -> Outcome<Vec<Vec<u8>>> {
        let mut members = Vec::new();
        if let Some(set) = set {
            each_member(self.work, &self.db, set.id, |member| {
                members.push(member.to_vec());
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(members)
    }
}

pub fn sadd(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let db = call.db.clone();
    let mut set = call.work.collection_to_fill(&db, key, Kind::Set)?;
    let mut added = 0;
    for &member in &call.args[2..] {
        governor::tick()?;
        added += i64::from(add(call.work, &db, &mut set, member)?);
    }
    if added > 0 {
        call.work.save(&db, key, Kind::Set, &set)?;
        call.note(Class::Set, "sadd", key);
    }
    call.reply.integer(added);
    Ok(())
}

pub fn srem(call: &mut Call) -> Outcome {
    let set = call.set(call.args[1])?;
    remove_members(call, Kind::Set, set, (Class::Set, "srem"))
}

pub fn smove(call: &mut Call) -> Outcome {
    let (from, to, member) = (call.arg(1), call.arg(2), call.arg(3));
    let db = call.db.clone();
    let Some(source) = call.set(from)? else {
        call.reply.integer(0);
        return Ok(());
    };
    let target = call.set(to)?;
    let Some(mut source) = Some(source).filter(|set| has(call.work, &db, set.id, member)) else {
        call.reply.integer(0);
        return Ok(());
    };
    if from != to {
        call.work.remove_member(&db, Kind::Set, &mut source, member)?;
        call.note(Class::Set, "srem", from);
        call.work.save(&db, from, Kind::Set, &source)?;
        let mut target = match target {
            Some(target) => target,
            None => call.work.collection_to_fill(&db, to, Kind::Set)?,
        };
        if add(call.work, &db, &mut target, member)? {
            call.work.save(&db, to, Kind::Set, &target)?;
            call.note(Class::Set, "sadd", to);
        }
    }
    call.reply.integer(1);
    Ok(())
}

pub fn scard(call: &mut Call) -> Outcome {
    let set = call.set(call.args[1])?;
    call.reply.integer(set.map_or(0, |set| set.len as i64));
    Ok(())
}

pub fn sismember(call: &mut Call) -> Outcome {
    let set = call.set(call.args[1])?;
    let found = set.is_some_and(|set| has(call.work, &call.db, set.id, call.args[2]));
    call.reply.integer(i64::from(found));
    Ok(())
}

pub fn smismember(call: &mut Call) -> Outcome {
    let set = call.set(call.args[1])?;
    call.reply.array(call.args.len() - 2);
    for &member in &call.args[2..] {
        governor::tick()?;
        let found = set.as_ref().is_some_and(|set| has(call.work, &call.db, set.id, member));
        call.reply.integer(i64::from(found));
    }
    Ok(())
}

pub fn smembers(call: &mut Call) -> Outcome {
    let set = call.set(call.args[1])?;
    let (list, mut members) = (call.reply.open(), 0);
    if let Some(set) = set {
        let reply = &mut *call.reply;
        each_member(call.work, &call.db, set.id, |member| {
            reply.bulk(member);
            members += 1;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    call.reply.close(list, |reply| reply.set(members));
    Ok(())
}

pub fn srandmember(call: &mut Call) -> Outcome {
    let count = match call.args.len() {
        2 => None,
        3 => Some(count_of(call.args[2])?),
        _ => return Err(syntax()),
    };
    let set = call.set(call.args[1])?;
    let members = call.members(&set)?;
    if members.is_empty() {
        match count {
            None => call.reply.null(),
            Some(_) => call.reply.array(0),
        }
        return Ok(());
    }
    let chosen = choose(&call.work.keyspace.engine().env().random, members.len(), count)?;
    if count.is_some() {
        call.reply.array(chosen.len());
    }
    for at in chosen {
        governor::tick()?;
        call.reply.bulk(&members[at]);
    }
    Ok(())
}

pub fn spop(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let count = match call.args.len() {
        2 => None,
        3 => match redis_wire::number::parse_i64(call.args[2]) {
            Some(count) if count >= 0 => Some(count),
            _ => return Err(Failure::reply("ERR value is out of range, must be positive")),
        },
        _ => return Err(syntax()),
    };
    let set = call.set(key)?;
    let members = call.members(&set)?;
    let Some(mut set) = set.filter(|_| !members.is_empty()) else {
        match count {
            None => call.reply.null(),
            Some(_) => call.reply.set(0),
        }
        return Ok(());
    };
    let chosen = match count {
        Some(0) => Vec::new(),
        count => choose(&call.work.keyspace.engine().env().random, members.len(), count)?,
    };
    if count.is_some() {
        call.reply.set(chosen.len());
    }
    let db = call.db.clone();
    for &at in &chosen {
        governor::tick()?;
        call.reply.bulk(&members[at]);
        call.work.remove_member(&db, Kind::Set, &mut set, &members[at])?;
    }
    if !chosen.is_empty() {
        call.note(Class::Set, "spop", key);
        call.work.save(&db, key, Kind::Set, &set)?;
    }
    Ok(())
}

/// How several sets become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

/// The members of the set that several make, in order; `most` of them at most.
fn combined(call: &Call, keys: &[&[u8]], operation: Operation, most: usize) -> Outcome<BTreeSet<Vec<u8>>> {
    let mut sets = Vec::with_capacity(keys.len());
    for key in call.db.ahead(keys) {
        governor::tick()?;
        sets.push(call.set(key)?);
    }
    let mut found = BTreeSet::new();
    if operation == Operation::Intersection {
        let Some(mut sets) = sets.into_iter().collect::<Option<Vec<Collection>>>() else {
            return Ok(found);
        };
        sets.sort_by_key(|set| set.len);
        let Some((smallest, others)) = sets.split_first() else {
            return Ok(found);
        };
        each_member(call.work, &call.db, smallest.id, |member| {
            if others.iter().all(|set| has(call.work, &call.db, set.id, member)) {
                found.insert(member.to_vec());
            }
            Ok(match found.len() < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        return Ok(found);
    }
    for (at, set) in sets.iter().enumerate() {
        let Some(set) = set else { continue };
        let adds = operation == Operation::Union || at == 0;
        each_member(call.work, &call.db, set.id, |member| {
            match adds {
                true => found.insert(member.to_vec()),
                false => found.remove(member),
            };
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(found)
}

fn answer(call: &mut Call, operation: Operation) -> Outcome {
    let found = combined(call, &call.args[1..], operation, usize::MAX)?;
    call.reply.set(found.len());
    for member in &found {
        governor::tick()?;
        call.reply.bulk(member);
    }
    Ok(())
}

fn store(call: &mut Call, operation: Operation, event: &'static str) -> Outcome {
    let target = call.arg(1);
    let found = combined(call, &call.args[2..], operation, usize::MAX)?;
    let db = call.db.clone();
    let existed = call.work.remove(&db, target)?;
    if found.is_empty() {
        if existed {
            call.note(Class::Generic, "del", target);
        }
    } else {
        let mut set = call.work.collection_to_fill(&db, target, Kind::Set)?;
        for member in &found {
            governor::tick()?;
            add(call.work, &db, &mut set, member)?;
        }
        call.work.save(&db, target, Kind::Set, &set)?;
        call.note(Class::Set, event, target);
    }
    call.reply.integer(found.len() as i64);
    Ok(())
}

pub fn sunion(call: &mut Call) -> Outcome {
    answer(call, Operation::Union)
}

pub fn sinter(call: &mut Call) -> Outcome {
    answer(call, Operation::Intersection)
}

pub fn sdiff(call: &mut Call) -> Outcome {
    answer(call, Operation::Difference)
}

pub fn sunionstore(call: &mut Call) -> Outcome {
    store(call, Operation::Union, "sunionstore")
}

pub fn sinterstore(call: &mut Call) -> Outcome {
    store(call, Operation::Intersection, "sinterstore")
}

pub fn sdiffstore(call: &mut Call) -> Outcome {
    store(call, Operation::Difference, "sdiffstore")
}

pub fn sintercard(call: &mut Call) -> Outcome {
    let (keys, rest) = counted_keys(call, 1, too_few_keys)?;
    let limit = match rest {
        [] => 0,
        [option, limit] if is_word(option, "LIMIT") => {
            let limit = redis_wire::number::parse_i64(limit).filter(|&limit| limit >= 0);
            limit.ok_or_else(|| Failure::reply("ERR LIMIT can't be negative"))?
        }
        _ => return Err(syntax()),
    };
    let most = match limit {
        0 => usize::MAX,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let found = combined(call, keys, Operation::Intersection, most)?;
    call.reply.integer(found.len() as i64);
    Ok(())
}
