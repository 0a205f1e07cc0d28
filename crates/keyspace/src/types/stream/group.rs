//! The rows of consumer groups.

use std::ops::{Bound, ControlFlow};

use store::{Direction, KeyRange};
use types::{IndexId, ValueRef};

use super::{Stream, StreamId, integer_in, unsigned_in};
use crate::failure::{Failure, Outcome};
use crate::tables::{Db, Part, layout_of};
use crate::work::{Class, Work};

/// The longest name of a group or a consumer.
const NAME_MAX: usize = 1000;
/// How many entries a group has read is not known.
pub const UNKNOWN: i64 = -1;

pub fn check_name(name: &[u8]) -> Outcome {
    match name.len() <= NAME_MAX {
        true => Ok(()),
        false => Err(Failure::reply(
            "ERR the name of a group or a consumer is longer than this server keeps",
        )),
    }
}

/// A consumer group: up to where its consumers have read.
#[derive(Debug, Clone)]
pub struct Group {
    pub stream: u64,
    pub name: Vec<u8>,
    pub last: StreamId,
    pub entries_read: i64,
}

#[derive(Debug, Clone)]
pub struct Consumer {
    pub name: Vec<u8>,
    /// When it last asked.
    pub seen_ms: i64,
    /// When it last got something; -1: never.
    pub active_ms: i64,
}

/// An entry that a consumer has got and not acknowledged.
#[derive(Debug, Clone)]
pub struct Pending {
    pub id: StreamId,
    pub consumer: Vec<u8>,
    pub delivered_ms: i64,
    pub deliveries: i64,
}

impl Stream {
    pub fn group(&self, work: &Work<'_>, db: &Db, name: &[u8]) -> Option<Group> {
        let key = [ValueRef::UInt(self.id()), ValueRef::Bytes(name)];
        work.element(db, Part::Group, key, |layout, row| Group {
            stream: self.id(),
            name: name.to_vec(),
            last: StreamId {
                ms: unsigned_in(layout, row, 2),
                seq: unsigned_in(layout, row, 3),
            },
            entries_read: integer_in(layout, row, 4),
        })
    }

    pub fn groups(&self, work: &Work<'_>, db: &Db) -> Outcome<Vec<Group>> {
        let mut groups = Vec::new();
        let forward = Direction::Forward;
        work.scan(
            db,
            Part::Group,
            IndexId::PRIMARY,
            self.id(),
            forward,
            |layout, row, _| {
                groups.push(Group {
                    stream: self.id(),
                    name: layout.raw(row, 1).unwrap_or_default().to_vec(),
                    last: StreamId {
                        ms: unsigned_in(layout, row, 2),
                        seq: unsigned_in(layout, row, 3),
                    },
                    entries_read: integer_in(layout, row, 4),
                });
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(groups)
    }
}

impl Group {
    pub fn save(&self, work: &mut Work<'_>, db: &Db) -> Outcome {
        check_name(&self.name)?;
        let row = [
            ValueRef::UInt(self.stream),
            ValueRef::Bytes(&self.name),
            ValueRef::UInt(self.last.ms),
            ValueRef::UInt(self.last.seq),
            ValueRef::Int(self.entries_read),
        ];
        work.put_element(db, Part::Group, &row)
    }

    /// Removes the group with its consumers and what they have not acknowledged.
    pub fn destroy(&self, work: &mut Work<'_>, db: &Db) -> Outcome {
        for pending in self.pending(work, db)? {
            governor::tick()?;
            self.acknowledge(work, db, pending.id)?;
        }
        for consumer in self.consumers(work, db)? {
            governor::tick()?;
            self.remove_consumer(work, db, &consumer.name)?;
        }
        let key = [ValueRef::UInt(self.stream), ValueRef::Bytes(&self.name)];
        work.remove_element(db, Part::Group, key)?;
        Ok(())
    }

    // --- consumers ---

    pub fn consumer(&self, work: &Work<'_>, db: &Db, name: &[u8]) -> Option<Consumer> {
        let key = [
            ValueRef::UInt(self.stream),
            ValueRef::Bytes(&self.name),
            ValueRef::Bytes(name),
        ];
        work.element(db, Part::Consumer, key, |layout, row| Consumer {
            name: name.to_vec(),
            seen_ms: integer_in(layout, row, 3),
            active_ms: integer_in(layout, row, 4),
        })
    }

    /// A consumer that asks now; it is made where there is none. `key` is that of the stream.
    pub fn seen_consumer(&self, work: &mut Work<'_>, db: &Db, key: &[u8], name: &[u8]) -> Outcome<Consumer> {
        let known = self.consumer(work, db, name);
        if known.is_none() {
            work.note(Class::Stream, "xgroup-createconsumer", db, key);
        }
        let consumer = Consumer {
            name: name.to_vec(),
            seen_ms: work.now_ms,
            active_ms: known.map_or(-1, |known| known.active_ms),
        };
        self.save_consumer(work, db, &consumer)?;
        Ok(consumer)
    }

    pub fn save_consumer(&self, work: &mut Work<'_>, db: &Db, consumer: &Consumer) -> Outcome {
        check_name(&consumer.name)?;
        let row = [
            ValueRef::UInt(self.stream),
            ValueRef::Bytes(&self.name),
            ValueRef::Bytes(&consumer.name),
            ValueRef::Int(consumer.seen_ms),
            ValueRef::Int(consumer.active_ms),
        ];
        work.put_element(db, Part::Consumer, &row)
    }

    pub fn remove_consumer(&self, work: &mut Work<'_>, db: &Db, name: &[u8]) -> Outcome<bool> {
        let key = [
            ValueRef::UInt(self.stream),
            ValueRef::Bytes(&self.name),
            ValueRef::Bytes(name),
        ];
        work.remove_element(db, Part::Consumer, key)
    }

    pub fn consumers(&self, work: &Work<'_>, db: &Db) -> Outcome<Vec<Consumer>> {
        let mut consumers = Vec::new();
        let layout = layout_of(db.table(Part::Consumer), IndexId::PRIMARY);
        let mut prefix = Vec::new();
        layout.encode_refs([ValueRef::UInt(self.stream), ValueRef::Bytes(&self.name)], &mut prefix);
        let (range, forward) = (KeyRange::of_prefix(prefix), Direction::Forward);
        work.scan_range(
            db,
            Part::Consumer,
            IndexId::PRIMARY,
            range,
            forward,
            |layout, row, _| {
                consumers.push(Consumer {
                    name: layout.raw(row, 2).unwrap_or_default().to_vec(),
                    seen_ms: integer_in(layout, row, 3),
                    active_ms: integer_in(layout, row, 4),
                });
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(consumers)
    }

    // --- what is not acknowledged ---

    fn key(&self, id: StreamId) -> [ValueRef<'_>; 4] {
        [
            ValueRef::UInt(self.stream),
            ValueRef::Bytes(&self.name),
            ValueRef::UInt(id.ms),
            ValueRef::UInt(id.seq),
        ]
    }

    pub fn pending_entry(&self, work: &Work<'_>, db: &Db, id: StreamId) -> Option<Pending> {
        work.element(db, Part::Pending, self.key(id), |layout, row| Pending {
            id,
            consumer: layout.raw(row, 4).unwrap_or_default().to_vec(),
            delivered_ms: integer_in(layout, row, 5),
            deliveries: integer_in(layout, row, 6),
        })
    }

    pub fn put_pending(&self, work: &mut Work<'_>, db: &Db, pending: &Pending) -> Outcome {
        let [stream, group, ms, seq] = self.key(pending.id);
        let row = [
            stream,
            group,
            ms,
            seq,
            ValueRef::Bytes(&pending.consumer),
            ValueRef::Int(pending.delivered_ms),
            ValueRef::Int(pending.deliveries),
        ];
        work.put_element(db, Part::Pending, &row)
    }

    /// False: it was not pending.
    pub fn acknowledge(&self, work: &mut Work<'_>, db: &Db, id: StreamId) -> Outcome<bool> {
        work.remove_element(db, Part::Pending, self.key(id))
    }

    /// Walks pending entries between two ids, both included.
    pub fn each_pending(
        &self,
        work: &Work<'_>,
        db: &Db,
        (from, to): (StreamId, StreamId),
        mut visit: impl FnMut(Pending) -> Outcome<ControlFlow<()>>,
    ) -> Outcome {
        if from > to {
            return Ok(());
        }
        let layout = layout_of(db.table(Part::Pending), IndexId::PRIMARY);
        let (mut begin, mut end) = (Vec::new(), Vec::new());
        layout.encode_refs(self.key(from), &mut begin);
        layout.encode_refs(self.key(to), &mut end);
        let range = KeyRange::between(Bound::Included(&begin), Bound::Included(&end));
        let forward = Direction::Forward;
        work.scan_range(db, Part::Pending, IndexId::PRIMARY, range, forward, |layout, row, _| {
            visit(Pending {
                id: StreamId {
                    ms: unsigned_in(layout, row, 2),
                    seq: unsigned_in(layout, row, 3),
                },
                consumer: layout.raw(row, 4).unwrap_or_default().to_vec(),
                delivered_ms: integer_in(layout, row, 5),
                deliveries: integer_in(layout, row, 6),
            })
        })
    }

    pub fn pending(&self, work: &Work<'_>, db: &Db) -> Outcome<Vec<Pending>> {
        let mut all = Vec::new();
        self.each_pending(work, db, (StreamId::MIN, StreamId::MAX), |pending| {
            all.push(pending);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }

    /// How many entries of the stream the group has not read; `None`: that is not known.
    pub fn lag(&self, stream: &Stream, first: Option<StreamId>) -> Option<u64> {
        if stream.added == 0 {
            return Some(0);
        }
        if self.entries_read != UNKNOWN && !stream.has_gaps_from(self.last) {
            return Some(stream.added.wrapping_sub(self.entries_read as u64));
        }
        let read = stream.count_up_to(self.last, first)?;
        Some(stream.added.wrapping_sub(read))
    }
}
