//! Lists: a row for each element, under positions that follow each other.
//!
//! `rest` of the collection is the position of the first element. Both ends grow away from each other; what is put into or taken out
//! of the middle moves the shorter side.

use std::ops::ControlFlow;
use std::time::Duration;

use redis_wire::number::{parse_i64, parse_wide};
use store::Direction;
use types::{IndexId, ValueRef};

use crate::call::{Call, is_word};
use crate::collection::Collection;
use crate::failure::{Failure, InVain, Outcome, Turn, Wanted, no_such_key, syntax};
use crate::head::Kind;
use crate::tables::{Db, Part};
use crate::types::generic::Several;
use crate::work::{Class, Work};

const VALUE: usize = 2;

/// One of a list's ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Left,
    Right,
}

impl End {
    fn of(arg: &[u8]) -> Outcome<End> {
        match arg {
            arg if is_word(arg, "LEFT") => Ok(End::Left),
            arg if is_word(arg, "RIGHT") => Ok(End::Right),
            _ => Err(syntax()),
        }
    }

    fn push_event(self) -> &'static str {
        match self {
            End::Left => "lpush",
            End::Right => "rpush",
        }
    }

    fn pop_event(self) -> &'static str {
        match self {
            End::Left => "lpop",
            End::Right => "rpop",
        }
    }
}

/// A list, and where it begins.
struct List {
    collection: Collection,
    first: i64,
}

impl List {
    fn of(collection: Collection) -> List {
        let first = collection
            .rest
            .first_chunk()
            .map_or(0, |first| i64::from_be_bytes(*first));
        List { collection, first }
    }

    fn len(&self) -> i64 {
        self.collection.len as i64
    }

    /// The position of an element, counted from the end where negative.
    fn position(&self, index: i64) -> Option<i64> {
        let index = if index < 0 { self.len() + index } else { index };
        (0..self.len()).contains(&index).then(|| self.first + index)
    }

    fn key(&self, position: i64) -> [ValueRef<'static>; 2] {
        [ValueRef::UInt(self.collection.id), ValueRef::Int(position)]
    }

    fn get(&self, work: &Work<'_>, db: &Db, position: i64) -> Option<Vec<u8>> {
        work.element(db, Part::List, self.key(position), |layout, row| {
            layout.raw(row, VALUE).unwrap_or_default().to_vec()
        })
    }

    fn put(&self, work: &mut Work<'_>, db: &Db, position: i64, value: &[u8]) -> Outcome {
        let [id, position] = self.key(position);
        work.put_element(db, Part::List, &[id, position, ValueRef::Bytes(value)])
    }

    fn push(&mut self, work: &mut Work<'_>, db: &Db, end: End, value: &[u8]) -> Outcome {
        let position = match end {
            End::Left => self.first - 1,
            End::Right => self.first + self.len(),
        };
        self.put(work, db, position, value)?;
        self.first = self.first.min(position);
        if self.collection.len == 0 {
            self.first = position;
        }
        self.collection.len += 1;
        Ok(())
    }

    /// Takes the value at an end. Rows that SQL has removed are passed over.
    fn pop(&mut self, work: &mut Work<'_>, db: &Db, end: End) -> Outcome<Option<Vec<u8>>> {
        while self.collection.len > 0 {
            governor::tick()?;
            let position = match end {
                End::Left => self.first,
                End::Right => self.first + self.len() - 1,
            };
            let value = self.get(work, db, position);
            work.remove_element(db, Part::List, self.key(position))?;
            self.first += i64::from(end == End::Left);
            self.collection.len -= 1;
            if value.is_some() {
                return Ok(value);
            }
        }
        Ok(None)
    }

    fn save(mut self, work: &mut Work<'_>, db: &Db, key: &[u8]) -> Outcome {
        self.collection.rest = self.first.to_be_bytes().to_vec();
        work.save(db, key, Kind::List, &self.collection)
    }

    /// The values between two indexes.
    fn range(
        &self,
        work: &Work<'_>,
        db: &Db,
        (from, to): (i64, i64),
        direction: Direction,
        mut visit: impl FnMut(&[u8]) -> Outcome<ControlFlow<()>>,
    ) -> Outcome {
        let layout = crate::tables::layout_of(db.table(Part::List), IndexId::PRIMARY);
        let (mut begin, mut end) = (Vec::new(), Vec::new());
        layout.encode_refs(self.key(self.first + from), &mut begin);
        layout.encode_refs(self.key(self.first + to), &mut end);
        let range = store::KeyRange::between(std::ops::Bound::Included(&begin), std::ops::Bound::Included(&end));
        work.scan_range(db, Part::List, IndexId::PRIMARY, range, direction, |layout, row, _| {
            visit(layout.raw(row, VALUE).unwrap_or_default())
        })
    }

    /// All values from an index on.
    fn values(&self, work: &Work<'_>, db: &Db, from: i64, to: i64) -> Outcome<Vec<Vec<u8>>> {
        let mut values = Vec::new();
        if from <= to {
            self.range(work, db, (from, to), Direction::Forward, |value| {
                values.push(value.to_vec());
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(values)
    }

    /// Takes some of the values, which are all that there are, out of the list. Those on the shorter side move.
    fn take_out(&mut self, work: &mut Work<'_>, db: &Db, values: Vec<Vec<u8>>, removed: &[usize]) -> Outcome {
        let (Some(&first), Some(&last)) = (removed.first(), removed.last()) else {
            return Ok(());
        };
        // Where SQL has removed rows, values do not stand at their indexes: all of them move together.
        let has_gaps = values.len() as i64 != self.len();
        let moves_front = !has_gaps && last + 1 < values.len() - first;
        let moved = match (has_gaps, moves_front) {
            (true, _) => 0..values.len(),
            (_, true) => 0..last + 1,
            (_, false) => first..values.len(),
        };
        let begin = moved.start;
        let (mut stays, mut gone) = (Vec::new(), removed.iter().peekable());
        for (at, value) in values.into_iter().enumerate().take(moved.end).skip(moved.start) {
            governor::tick()?;
            if gone.next_if_eq(&&at).is_none() {
                stays.push(value);
            }
        }
        if !moves_front {
            return self.rewrite(work, db, begin as i64, &stays);
        }
        for _ in removed {
            governor::tick()?;
            work.remove_element(db, Part::List, self.key(self.first))?;
            self.first += 1;
            self.collection.len -= 1;
        }
        for (at, value) in stays.iter().enumerate() {
            governor::tick()?;
            self.put(work, db, self.first + at as i64, value)?;
        }
        Ok(())
    }

    /// Writes the values from an index on, which are now these; what is behind them goes.
    fn rewrite(&mut self, work: &mut Work<'_>, db: &Db, from: i64, values: &[Vec<u8>]) -> Outcome {
        for (at, value) in values.iter().enumerate() {
            governor::tick()?;
            self.put(work, db, self.first + from + at as i64, value)?;
        }
        let len = from + values.len() as i64;
        for index in len..self.len() {
            governor::tick()?;
            work.remove_element(db, Part::List, self.key(self.first + index))?;
        }
        self.collection.len = len as u64;
        Ok(())
    }
}

impl Call<'_, '_> {
    fn list(&self, key: &[u8]) -> Outcome<Option<List>> {
        Ok(self.work.collection(&self.db, key, Kind::List)?.map(List::of))
    }
}

/// All elements of a list.
pub fn values_of(call: &Call, key: &[u8]) -> Outcome<Vec<Vec<u8>>> {
    match call.list(key)? {
        Some(list) => list.values(call.work, &call.db, 0, list.len() - 1),
        None => Ok(Vec::new()),
    }
}

/// Makes a key the list of these values.
pub fn store(call: &mut Call, key: &[u8], values: &[Vec<u8>], event: &'static str) -> Outcome {
    let db = call.db.clone();
    let existed = call.work.remove(&db, key)?;
    if values.is_empty() {
        if existed {
            call.note(Class::Generic, "del", key);
        }
        return Ok(());
    }
    let mut list = List::of(call.work.collection_to_fill(&db, key, Kind::List)?);
    for value in values {
        governor::tick()?;
        list.push(call.work, &db, End::Right, value)?;
    }
    list.save(call.work, &db, key)?;
    call.note(Class::List, event, key);
    Ok(())
}

fn push(call: &mut Call, end: End, only_existing: bool) -> Outcome {
    let key = call.arg(1);
    let db = call.db.clone();
    let mut list = match call.list(key)? {
        Some(list) => list,
        None if only_existing => {
            call.reply.integer(0);
            return Ok(());
        }
        None => List::of(call.work.collection_to_fill(&db, key, Kind::List)?),
    };
    for &value in &call.args[2..] {
        governor::tick()?;
        list.push(call.work, &db, end, value)?;
    }
    call.reply.integer(list.len());
    list.save(call.work, &db, key)?;
    call.note(Class::List, end.push_event(), key);
    Ok(())
}

pub fn lpush(call: &mut Call) -> Outcome {
    push(call, End::Left, false)
}

pub fn rpush(call: &mut Call) -> Outcome {
    push(call, End::Right, false)
}

pub fn lpushx(call: &mut Call) -> Outcome {
    push(call, End::Left, true)
}

pub fn rpushx(call: &mut Call) -> Outcome {
    push(call, End::Right, true)
}

pub fn lpop(call: &mut Call) -> Outcome {
    pop(call, End::Left)
}

pub fn rpop(call: &mut Call) -> Outcome {
    pop(call, End::Right)
}

fn pop(call: &mut Call, end: End) -> Outcome {
    let key = call.arg(1);
    let count = match call.args.len() {
        2 => None,
        3 => {
            let count = parse_i64(call.args[2]).filter(|&count| count >= 0);
            Some(count.ok_or_else(|| Failure::reply("ERR value is out of range, must be positive"))?)
        }
        _ => {
            let command = if end == End::Left { "lpop" } else { "rpop" };
            return Err(crate::failure::wrong_number_of_arguments(command));
        }
    };
    let Some(mut list) = call.list(key)? else {
        match count {
            None => call.reply.null(),
            Some(_) => call.reply.null_array(),
        }
        return Ok(());
    };
    let values = take(call, &mut list, key, end, count.unwrap_or(1))?;
    match count {
        None if values.is_empty() => call.reply.null(),
        None => {}
        Some(_) => call.reply.array(values.len()),
    }
    values.iter().for_each(|value| call.reply.bulk(value));
    Ok(())
}

/// Takes values from an end, and writes what is left.
fn take(call: &mut Call, list: &mut List, key: &[u8], end: End, count: i64) -> Outcome<Vec<Vec<u8>>> {
    let db = call.db.clone();
    let mut values = Vec::new();
    while (values.len() as i64) < count {
        governor::tick()?;
        match list.pop(call.work, &db, end)? {
            Some(value) => values.push(value),
            None => break,
        }
    }
    if !values.is_empty() {
        call.note(Class::List, end.pop_event(), key);
        let list = List {
            collection: list.collection.clone(),
            first: list.first,
        };
        list.save(call.work, &db, key)?;
    }
    Ok(values)
}

pub fn llen(call: &mut Call) -> Outcome {
    let list = call.list(call.args[1])?;
    call.reply.integer(list.map_or(0, |list| list.len()));
    Ok(())
}

pub fn lindex(call: &mut Call) -> Outcome {
    let Some(list) = call.list(call.args[1])? else {
        call.reply.null();
        return Ok(());
    };
    let index = call.integer(2)?;
    let found = Some(list).and_then(|list| list.get(call.work, &call.db, list.position(index)?));
    match found {
        Some(value) => call.reply.bulk(&value),
        None => call.reply.null(),
    }
    Ok(())
}

pub fn lset(call: &mut Call) -> Outcome {
    let (key, value) = (call.arg(1), call.arg(3));
    let list = call.list(key)?.ok_or_else(no_such_key)?;
    let index = call.integer(2)?;
    let position = list.position(index);
    let position = position.ok_or_else(|| Failure::reply("ERR index out of range"))?;
    let db = call.db.clone();
    list.put(call.work, &db, position, value)?;
    list.save(call.work, &db, key)?;
    call.note(Class::List, "lset", key);
    call.reply.ok();
    Ok(())
}

/// The indexes that two arguments mean, within a list; `None`: none.
fn within(len: i64, start: i64, stop: i64) -> Option<(i64, i64)> {
    let from_end = |at: i64| if at < 0 { (len + at).max(0) } else { at };
    let stop = if stop < 0 { len + stop } else { stop.min(len - 1) };
    let start = from_end(start);
    (start <= stop && start < len).then_some((start, stop))
}

pub fn lrange(call: &mut Call) -> Outcome {
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let list = call.list(call.args[1])?;
    let range = list.and_then(|list| within(list.len(), start, stop).map(|range| (list, range)));
    let Some((list, (from, to))) = range else {
        call.reply.array(0);
        return Ok(());
    };
    let mut left = to - from + 1;
    call.reply.array(left as usize);
    let reply = &mut *call.reply;
    list.range(call.work, &call.db, (from, to), Direction::Forward, |value| {
        reply.bulk(value);
        left -= 1;
        Ok(ControlFlow::Continue(()))
    })?;
    // Rows that SQL has removed.
    (0..left).for_each(|_| call.reply.null());
    Ok(())
}

pub fn ltrim(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let (start, stop) = (call.integer(2)?, call.integer(3)?);
    let db = call.db.clone();
    if let Some(mut list) = call.list(key)? {
        let len = list.len();
        let (from, to) = within(len, start, stop).unwrap_or((len, len - 1));
        for index in (0..from).chain(to + 1..len) {
            governor::tick()?;
            call.work
                .remove_element(&db, Part::List, list.key(list.first + index))?;
        }
        list.first += from;
        list.collection.len = (to - from + 1).max(0) as u64;
        call.note(Class::List, "ltrim", key);
        list.save(call.work, &db, key)?;
    }
    call.reply.ok();
    Ok(())
}

pub fn lrem(call: &mut Call) -> Outcome {
    let (key, count, wanted) = (call.arg(1), call.integer(2)?, call.arg(3));
    let db = call.db.clone();
    let Some(mut list) = call.list(key)? else {
        call.reply.integer(0);
        return Ok(());
    };
    let values = list.values(call.work, &db, 0, list.len() - 1)?;
    let most = match count {
        0 => usize::MAX,
        count => usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX),
    };
    let mut equal = Vec::new();
    for (at, value) in values.iter().enumerate() {
        governor::tick()?;
        if value == wanted {
            equal.push(at);
        }
    }
    let removed = match count < 0 {
        false => &equal[..most.min(equal.len())],
        true => &equal[equal.len().saturating_sub(most)..],
    };
    if !removed.is_empty() {
        list.take_out(call.work, &db, values, removed)?;
        call.note(Class::List, "lrem", key);
        list.save(call.work, &db, key)?;
    }
    call.reply.integer(removed.len() as i64);
    Ok(())
}

pub fn linsert(call: &mut Call) -> Outcome {
    let (key, pivot, value) = (call.arg(1), call.arg(3), call.arg(4));
    let after = match call.arg(2) {
        place if is_word(place, "BEFORE") => false,
        place if is_word(place, "AFTER") => true,
        _ => return Err(syntax()),
    };
    let db = call.db.clone();
    let Some(mut list) = call.list(key)? else {
        call.reply.integer(0);
        return Ok(());
    };
    let mut found = None;
    let mut index = 0;
    list.range(call.work, &db, (0, list.len() - 1), Direction::Forward, |value| {
        if value == pivot {
            found = Some(index);
            return Ok(ControlFlow::Break(()));
        }
        index += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    let Some(index) = found else {
        call.reply.integer(-1);
        return Ok(());
    };
    let at = index + i64::from(after);
    match at <= list.len() / 2 {
        true => {
            let before = list.values(call.work, &db, 0, at - 1)?;
            list.first -= 1;
            list.collection.len += 1;
            for (to, moved) in before.iter().chain([&value.to_vec()]).enumerate() {
                governor::tick()?;
                list.put(call.work, &db, list.first + to as i64, moved)?;
            }
        }
        false => {
            let mut behind = list.values(call.work, &db, at, list.len() - 1)?;
            behind.insert(0, value.to_vec());
            list.rewrite(call.work, &db, at, &behind)?;
        }
    }
    call.reply.integer(list.len());
    list.save(call.work, &db, key)?;
    call.note(Class::List, "linsert", key);
    Ok(())
}

pub fn lpos(call: &mut Call) -> Outcome {
    let (mut rank, mut count, mut most) = (1, None, 0);
    let mut options = call.options(3);
    while let Some(option) = options.next() {
        match option {
            option if is_word(option, "RANK") => {
                rank = options.integer()?;
                if rank == 0 {
                    return Err(Failure::reply(
                        "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start \
                         from the end of the list",
                    ));
                }
                if rank == i64::MIN {
                    return Err(Failure::reply(
                        "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
                    ));
                }
            }
            option if is_word(option, "COUNT") => {
                let wanted = parse_i64(options.value()?).filter(|&wanted| wanted >= 0);
                count = Some(wanted.ok_or_else(|| Failure::reply("ERR COUNT can't be negative"))?);
            }
            option if is_word(option, "MAXLEN") => {
                let wanted = parse_i64(options.value()?).filter(|&wanted| wanted >= 0);
                most = wanted.ok_or_else(|| Failure::reply("ERR MAXLEN can't be negative"))?;
            }
            _ => return Err(syntax()),
        }
    }
    let wanted = call.arg(2);
    let mut found = Vec::new();
    if let Some(list) = call.list(call.args[1])? {
        let direction = match rank < 0 {
            true => Direction::Backward,
            false => Direction::Forward,
        };
        let (mut looked, mut equal) = (0, 0u64);
        let len = list.len();
        list.range(call.work, &call.db, (0, len - 1), direction, |value| {
            if most > 0 && looked >= most {
                return Ok(ControlFlow::Break(()));
            }
            if value == wanted {
                equal += 1;
                if equal >= rank.unsigned_abs() {
                    found.push(if rank < 0 { len - 1 - looked } else { looked });
                    let enough = count.unwrap_or(1);
                    if enough > 0 && found.len() as i64 >= enough {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            looked += 1;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    match (count, found.first()) {
        (None, Some(&at)) => call.reply.integer(at),
        (None, None) => call.reply.null(),
        (Some(_), _) => {
            call.reply.array(found.len());
            found.iter().for_each(|&at| call.reply.integer(at));
        }
    }
    Ok(())
}

// --- moving, and waiting ---

pub fn lmove(call: &mut Call) -> Outcome {
    let (from, to) = (End::of(call.arg(3))?, End::of(call.arg(4))?);
    match move_one(call, from, to)? {
        Some(value) => call.reply.bulk(&value),
        None => call.reply.null(),
    }
    Ok(())
}

pub fn rpoplpush(call: &mut Call) -> Outcome {
    match move_one(call, End::Right, End::Left)? {
        Some(value) => call.reply.bulk(&value),
        None => call.reply.null(),
    }
    Ok(())
}

fn move_one(call: &mut Call, from: End, to: End) -> Outcome<Option<Vec<u8>>> {
    let (source_key, target_key) = (call.arg(1), call.arg(2));
    let db = call.db.clone();
    let Some(mut source) = call.list(source_key)? else {
        return Ok(None);
    };
    // Of another type, it is an error before anything moves.
    call.list(target_key)?;
    let Some(value) = source.pop(call.work, &db, from)? else {
        return Ok(None);
    };
    if source_key == target_key {
        source.push(call.work, &db, to, &value)?;
        call.note(Class::List, to.push_event(), source_key);
        call.note(Class::List, from.pop_event(), source_key);
        source.save(call.work, &db, source_key)?;
    } else {
        let mut target = match call.list(target_key)? {
            Some(target) => target,
            None => List::of(call.work.collection_to_fill(&db, target_key, Kind::List)?),
        };
        target.push(call.work, &db, to, &value)?;
        target.save(call.work, &db, target_key)?;
        // Redis tells of the end that is reached before that which is left.
        call.note(Class::List, to.push_event(), target_key);
        call.note(Class::List, from.pop_event(), source_key);
        source.save(call.work, &db, source_key)?;
    }
    Ok(Some(value))
}

/// How long a blocking command waits.
pub fn timeout(arg: &[u8]) -> Outcome<Option<Duration>> {
    let seconds = parse_wide(arg).ok_or_else(|| Failure::reply("ERR timeout is not a float or out of range"))?;
    match seconds {
        seconds if seconds < 0.0 => Err(Failure::reply("ERR timeout is negative")),
        0.0 => Ok(None),
        // As many milliseconds as 64 bits hold.
        seconds if seconds * 1000.0 > i64::MAX as f64 => Err(Failure::reply("ERR timeout is out of range")),
        seconds => Ok(Some(Duration::from_millis((seconds * 1000.0).ceil() as u64))),
    }
}

/// Nothing is there: waits where that may be, to answer with a list of nothing in the end; else answers at once.
pub fn block(call: &mut Call, kind: Kind, keys: &[&[u8]], timeout: Option<Duration>, at_once: InVain) -> Outcome {
    if call.may_block {
        return Err(Failure::Blocks(Wanted {
            keys: keys.iter().map(|key| key.to_vec()).collect(),
            timeout,
            in_vain: InVain::NullArray,
            fixed: Vec::new(),
            turn: Turn::First(kind),
        }));
    }
    match at_once {
        InVain::Null => call.reply.null(),
        InVain::NullArray => call.reply.null_array(),
    }
    Ok(())
}

pub fn blpop(call: &mut Call) -> Outcome {
    blocking_pop(call, End::Left)
}

pub fn brpop(call: &mut Call) -> Outcome {
    blocking_pop(call, End::Right)
}

fn blocking_pop(call: &mut Call, end: End) -> Outcome {
    let (&last, keys) = call.args[1..].split_last().expect("the arity is checked");
    let timeout = timeout(last)?;
    for &key in keys {
        governor::tick()?;
        if let Some(mut list) = call.list(key)? {
            let values = take(call, &mut list, key, end, 1)?;
            if values.is_empty() {
                continue;
            }
            call.reply.array(2);
            call.reply.bulk(key);
            values.iter().for_each(|value| call.reply.bulk(value));
            return Ok(());
        }
    }
    block(call, Kind::List, keys, timeout, InVain::NullArray)
}

pub fn blmove(call: &mut Call) -> Outcome {
    let (from, to) = (End::of(call.arg(3))?, End::of(call.arg(4))?);
    let timeout = timeout(call.arg(5))?;
    match move_one(call, from, to)? {
        Some(value) => {
            call.reply.bulk(&value);
            Ok(())
        }
        None => block(call, Kind::List, &[call.args[1]], timeout, InVain::Null),
    }
}

pub fn brpoplpush(call: &mut Call) -> Outcome {
    let timeout = timeout(call.arg(3))?;
    match move_one(call, End::Right, End::Left)? {
        Some(value) => {
            call.reply.bulk(&value);
            Ok(())
        }
        None => block(call, Kind::List, &[call.args[1]], timeout, InVain::Null),
    }
}

pub fn lmpop(call: &mut Call) -> Outcome {
    let several = Several::read(call, 1, End::of)?;
    if !pop_from_several(call, &several)? {
        call.reply.null_array();
    }
    Ok(())
}

pub fn blmpop(call: &mut Call) -> Outcome {
    let several = Several::read(call, 2, End::of)?;
    let timeout = timeout(call.arg(1))?;
    match pop_from_several(call, &several)? {
        true => Ok(()),
        false => block(call, Kind::List, several.keys, timeout, InVain::NullArray),
    }
}

fn pop_from_several(call: &mut Call, several: &Several<'_, End>) -> Outcome<bool> {
    for &key in several.keys {
        governor::tick()?;
        if let Some(mut list) = call.list(key)? {
            let values = take(call, &mut list, key, several.end, several.count)?;
            if values.is_empty() {
                continue;
            }
            call.reply.array(2);
            call.reply.bulk(key);
            call.reply.array(values.len());
            values.iter().for_each(|value| call.reply.bulk(value));
            return Ok(true);
        }
    }
    Ok(false)
}
