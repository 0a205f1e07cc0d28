//! Streams: a row for each entry, under its id; rows for consumer groups, their consumers, and what those have not acknowledged.
//!
//! `rest` of the collection is the last id, the greatest one that was deleted, and how many entries there have ever been.
//!
//! * this file: ids, entries, and the stream's own figures; [`group`]: the rows of groups;
//! * [`add`]: XADD, XTRIM, XDEL, XLEN, XSETID; [`read`]: XRANGE, XREAD, XREADGROUP; [`groups`]: XGROUP, XACK;
//!   [`claim`]: XPENDING, XCLAIM, XAUTOCLAIM; [`info`]: XINFO.

pub mod add;
pub mod claim;
pub mod group;
pub mod groups;
pub mod info;
pub mod read;

use std::fmt;
use std::ops::{Bound, ControlFlow};

use redis_wire::Reply;
use store::{Direction, KeyRange};
use types::{IndexId, RowLayout, ValueRef};

use crate::call::Call;
use crate::collection::Collection;
use crate::failure::{Failure, Outcome};
use crate::head::Kind;
use crate::tables::{Db, Part, layout_of};
use crate::work::Work;

/// `1700000000000-0`: milliseconds, and a number within them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct StreamId {
    pub ms: u64,
    pub seq: u64,
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

pub fn invalid_id() -> Failure {
    Failure::reply("ERR Invalid stream ID specified as stream command argument")
}

fn number(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

impl StreamId {
    pub const MIN: StreamId = StreamId { ms: 0, seq: 0 };
    pub const MAX: StreamId = StreamId {
        ms: u64::MAX,
        seq: u64::MAX,
    };

    /// The id after it.
    pub fn next(self) -> Option<StreamId> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(StreamId { seq, ..self }),
            None => Some(StreamId {
                ms: self.ms.checked_add(1)?,
                seq: 0,
            }),
        }
    }

    pub fn previous(self) -> Option<StreamId> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(StreamId { seq, ..self }),
            None => Some(StreamId {
                ms: self.ms.checked_sub(1)?,
                seq: u64::MAX,
            }),
        }
    }

    /// An id whose second part may be missing.
    pub fn parse(arg: &[u8], missing_seq: u64) -> Outcome<StreamId> {
        let dash = arg.iter().position(|&byte| byte == b'-');
        let (ms, seq) = match dash {
            Some(dash) => (&arg[..dash], number(&arg[dash + 1..])),
            None => (arg, Some(missing_seq)),
        };
        match (number(ms), seq) {
            (Some(ms), Some(seq)) => Ok(StreamId { ms, seq }),
            _ => Err(invalid_id()),
        }
    }

    /// As [`parse`](Self::parse), or `-` and `+` for the least and the greatest one.
    pub fn parse_any(arg: &[u8], missing_seq: u64) -> Outcome<StreamId> {
        match arg {
            b"-" => Ok(StreamId::MIN),
            b"+" => Ok(StreamId::MAX),
            arg => StreamId::parse(arg, missing_seq),
        }
    }

    /// Where a range begins: `5`, `5-1`, `(5-1`, `-`.
    pub fn parse_start(arg: &[u8]) -> Outcome<StreamId> {
        match arg {
            [b'(', id @ ..] if !id.is_empty() => {
                let id = StreamId::parse(id, 0)?.next();
                id.ok_or_else(|| Failure::reply("ERR invalid start ID for the interval"))
            }
            arg => StreamId::parse_any(arg, 0),
        }
    }

    /// Where a range ends, that itself included.
    pub fn parse_end(arg: &[u8]) -> Outcome<StreamId> {
        match arg {
            [b'(', id @ ..] if !id.is_empty() => {
                let id = StreamId::parse(id, u64::MAX)?.previous();
                id.ok_or_else(|| Failure::reply("ERR invalid end ID for the interval"))
            }
            arg => StreamId::parse_any(arg, u64::MAX),
        }
    }

    fn read(bytes: &[u8]) -> Option<StreamId> {
        let (ms, rest) = bytes.split_first_chunk()?;
        Some(StreamId {
            ms: u64::from_be_bytes(*ms),
            seq: u64::from_be_bytes(*rest.first_chunk()?),
        })
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.ms.to_be_bytes());
        out.extend_from_slice(&self.seq.to_be_bytes());
    }

    pub fn answer(self, reply: &mut Reply) {
        reply.bulk(self.to_string().as_bytes());
    }
}

pub fn unsigned_in(layout: &RowLayout, row: &[u8], column: usize) -> u64 {
    match layout.column(row, column) {
        ValueRef::UInt(value) => value,
        _ => 0,
    }
}

pub fn integer_in(layout: &RowLayout, row: &[u8], column: usize) -> i64 {
    match layout.column(row, column) {
        ValueRef::Int(value) => value,
        _ => 0,
    }
}

const MS: usize = 1;
const SEQ: usize = 2;
const FIELDS: usize = 3;

/// A stream's own figures.
#[derive(Debug, Clone)]
pub struct Stream {
    pub collection: Collection,
    pub last: StreamId,
    pub max_deleted: StreamId,
    /// Entries that there have ever been.
    pub added: u64,
}

impl Stream {
    fn of(collection: Collection) -> Stream {
        let rest = &collection.rest;
        let id = |at: usize| rest.get(at..).and_then(StreamId::read).unwrap_or_default();
        let added = rest.get(32..).and_then(<[u8]>::first_chunk);
        Stream {
            last: id(0),
            max_deleted: id(16),
            added: added.map_or(0, |added| u64::from_be_bytes(*added)),
            collection,
        }
    }

    pub fn id(&self) -> u64 {
        self.collection.id
    }

    pub fn len(&self) -> u64 {
        self.collection.len
    }

    pub fn save(&mut self, work: &mut Work<'_>, db: &Db, key: &[u8]) -> Outcome {
        let rest = &mut self.collection.rest;
        rest.clear();
        self.last.write(rest);
        self.max_deleted.write(rest);
        rest.extend_from_slice(&self.added.to_be_bytes());
        work.save(db, key, Kind::Stream, &self.collection)
    }

    fn key(&self, id: StreamId) -> [ValueRef<'static>; 3] {
        [ValueRef::UInt(self.id()), ValueRef::UInt(id.ms), ValueRef::UInt(id.seq)]
    }

    /// Puts an entry, whose id is greater than all before.
    pub fn append(&mut self, work: &mut Work<'_>, db: &Db, id: StreamId, fields: &[u8]) -> Outcome {
        let [stream, ms, seq] = self.key(id);
        work.put_element(db, Part::Stream, &[stream, ms, seq, ValueRef::Bytes(fields)])?;
        self.collection.len += 1;
        self.added += 1;
        self.last = id;
        Ok(())
    }

    pub fn delete(&mut self, work: &mut Work<'_>, db: &Db, id: StreamId) -> Outcome<bool> {
        let deleted = work.remove_element(db, Part::Stream, self.key(id))?;
        self.collection.len -= u64::from(deleted);
        Ok(deleted)
    }

    /// Shows an entry.
    pub fn entry<R>(&self, work: &Work<'_>, db: &Db, id: StreamId, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        work.element(db, Part::Stream, self.key(id), |layout, row| {
            read(layout.raw(row, FIELDS).unwrap_or_default())
        })
    }

    /// Walks the entries between two ids, both included.
    pub fn each(
        &self,
        work: &Work<'_>,
        db: &Db,
        (from, to): (StreamId, StreamId),
        direction: Direction,
        mut visit: impl FnMut(StreamId, &[u8]) -> Outcome<ControlFlow<()>>,
    ) -> Outcome {
        if from > to {
            return Ok(());
        }
        let layout = layout_of(db.table(Part::Stream), IndexId::PRIMARY);
        let (mut begin, mut end) = (Vec::new(), Vec::new());
        layout.encode_refs(self.key(from), &mut begin);
        layout.encode_refs(self.key(to), &mut end);
        let range = KeyRange::between(Bound::Included(&begin), Bound::Included(&end));
        work.scan_range(
            db,
            Part::Stream,
            IndexId::PRIMARY,
            range,
            direction,
            |layout, row, _| {
                let id = StreamId {
                    ms: unsigned_in(layout, row, MS),
                    seq: unsigned_in(layout, row, SEQ),
                };
                visit(id, layout.raw(row, FIELDS).unwrap_or_default())
            },
        )
    }

    /// The first entry's id, or the last one's.
    pub fn end(&self, work: &Work<'_>, db: &Db, direction: Direction) -> Outcome<Option<StreamId>> {
        let mut found = None;
        self.each(work, db, (StreamId::MIN, StreamId::MAX), direction, |id, _| {
            found = Some(id);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    /// Whether entries have been deleted from an id on.
    pub fn has_gaps_from(&self, id: StreamId) -> bool {
        self.len() > 0 && self.max_deleted != StreamId::MIN && id <= self.max_deleted
    }

    /// How many entries there have ever been up to an id, where that can be known. A stream of RESTORE may say of less than it has: less than
    /// none then, as in Redis.
    pub fn count_up_to(&self, id: StreamId, first: Option<StreamId>) -> Option<u64> {
        if self.added == 0 {
            return Some(0);
        }
        if self.len() == 0 && id <= self.last {
            return Some(self.added);
        }
        if id >= self.last {
            return (id == self.last).then_some(self.added);
        }
        let first = first.unwrap_or_default();
        if self.max_deleted != StreamId::MIN && self.max_deleted >= first {
            return None;
        }
        match id.cmp(&first) {
            std::cmp::Ordering::Less => Some(self.added.wrapping_sub(self.len())),
            std::cmp::Ordering::Equal => Some(self.added.wrapping_sub(self.len()).wrapping_add(1)),
            std::cmp::Ordering::Greater => None,
        }
    }
}

/// The words of an entry, each behind its length.
pub fn pack<'a>(words: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut packed = Vec::new();
    for word in words {
        packed.extend_from_slice(&(word.len() as u32).to_be_bytes());
        packed.extend_from_slice(word);
    }
    packed
}

/// The inverse of [`pack`].
pub fn unpack(mut packed: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (len, rest) = packed.split_first_chunk()?;
        let (word, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
        packed = rest;
        Some(word)
    })
}

/// An entry as clients get it: its id, and its fields and values.
pub fn answer_entry(reply: &mut Reply, id: StreamId, fields: &[u8]) {
    reply.array(2);
    id.answer(reply);
    reply.array(unpack(fields).count());
    unpack(fields).for_each(|word| reply.bulk(word));
}

impl Stream {
    /// Answers a list of the entries in a range: the first ones, at most so many. `seen` is told of each. Gives how many they are.
    pub fn answer(
        &self,
        (work, db): (&Work<'_>, &Db),
        range: (StreamId, StreamId),
        direction: Direction,
        most: u64,
        reply: &mut Reply,
        mut seen: impl FnMut(StreamId),
    ) -> Outcome<u64> {
        let (list, mut entries) = (reply.open(), 0);
        self.each(work, db, range, direction, |id, fields| {
            answer_entry(reply, id, fields);
            seen(id);
            entries += 1;
            Ok(match entries < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        reply.close(list, |reply| reply.array(entries as usize));
        Ok(entries)
    }
}

impl Call<'_, '_> {
    pub fn stream(&self, key: &[u8]) -> Outcome<Option<Stream>> {
        Ok(self.work.collection(&self.db, key, Kind::Stream)?.map(Stream::of))
    }

    pub fn stream_to_fill(&mut self, key: &[u8]) -> Outcome<Stream> {
        let db = self.db.clone();
        Ok(Stream::of(self.work.collection_to_fill(&db, key, Kind::Stream)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_says_of_less_than_it_has_is_counted() {
        let id = |ms| StreamId { ms, seq: 0 };
        let stream = Stream {
            collection: Collection {
                len: 3,
                ..Collection::new(1)
            },
            last: id(9),
            max_deleted: StreamId::MIN,
            added: 1,
        };
        let count = |ms| stream.count_up_to(id(ms), Some(id(5))).map(|count| count as i64);
        assert_eq!([4, 5, 6, 9].map(count), [Some(-2), Some(-1), None, Some(1)]);
    }
}
