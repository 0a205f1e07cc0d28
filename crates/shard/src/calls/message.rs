//! The calls as bytes (drawn in `docs/formats/calls.md`).
//!
//! Whatever comes from another node is read with bounds: an error, never a panic, and nothing is set aside for a length before the bytes
//! are there.

use std::sync::Arc;

use store::{LockKey, LockMode, ToldWait, Who};
use types::{IndexId, TableId, Timestamp};

use crate::ProposeError;
use crate::bytes::{Bytes, put_bytes, put_u32, put_u64};
use crate::message::Garbled;

/// What a node asks of the one that leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    /// The newest commit that anybody may have been told of.
    ReadAt,
    /// Locks for a transaction of the caller's.
    Lock(Lock),
    /// Whoever waited for a lock does not any more.
    Withdraw {
        number: u64,
    },
    /// The transaction is over: its locks are free.
    Release {
        number: u64,
    },
    /// The lock of a name is free, or not waited for any more; the others stay.
    Unlock {
        number: u64,
        name: Vec<u8>,
    },
    /// A part of a write set that is longer than a message, from this byte on. Its end comes with the commit.
    Writes {
        number: u64,
        offset: u64,
        bytes: Vec<u8>,
    },
    Commit(Commit),
    /// What became of a commit whose answer was lost. One that has not arrived by now never commits.
    Outcome {
        number: u64,
        sequence: u64,
        lock_epoch: u64,
    },
    Ids(Ids),
    /// The caller is there; its transactions below a number are over. Below the level of `Feature::LiveTransactions`.
    Alive {
        oldest: u64,
    },
    /// The caller is there, and so are these transactions of it, in order. All others below `next` are over.
    Live {
        next: u64,
        numbers: Vec<u64>,
    },
    /// Who waits in the caller's own lock table. All of it: what was told before is over.
    WaitsHere(Vec<ToldWait>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lock {
    /// Names the transaction among those of the caller's.
    pub number: u64,
    /// Where its locks are good; 0: it has none yet.
    pub epoch: u64,
    /// Without it, a lock that is not free is refused.
    pub waits: bool,
    /// Those that it asks for before: it waits for each.
    pub before: Vec<(LockMode, Vec<u8>)>,
    pub mode: LockMode,
    /// Encoded by [`encode_key`].
    pub key: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    /// The transaction whose locks it relies on.
    pub number: u64,
    pub sequence: u64,
    pub acknowledged: u64,
    pub lock_epoch: u64,
    pub writes: Vec<u8>,
}

/// Which ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdKind {
    AutoIncrement,
    HiddenRow,
}

/// Asks for a range of ids that nobody else gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ids {
    pub epoch: u64,
    pub table: TableId,
    pub kind: IdKind,
    pub count: u64,
    pub step: u64,
    pub offset: u64,
    /// None below: ids that the caller has seen given.
    pub at_least: u64,
}

/// What the leader says.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    At {
        newest: Timestamp,
        /// Definitions that somebody wants for himself: readers have to ask for them, too.
        wanted: Vec<u16>,
    },
    Locked {
        epoch: u64,
        /// The caller must have applied so far before it looks at what it has locked.
        as_of: Timestamp,
        /// Somebody else had it.
        waited: bool,
    },
    /// Not yet; ask again.
    Waits,
    Deadlock,
    NotFree,
    /// Locks of another leader, or of a node that was not heard of for long.
    LocksLost,
    Done,
    Committed(Timestamp),
    NotCommitted,
    /// It is on its way.
    Pending,
    Failed(ProposeError),
    Ids {
        epoch: u64,
        first: u64,
        end: u64,
    },
    /// Another node leads, or nobody does. Nothing was done.
    NotLeader,
    Refused(String),
    /// Transactions of the caller's that have to give up, and the waits in which they are.
    GiveUp(Vec<(u64, u64)>),
}

const READ_AT: u8 = 1;
const LOCK: u8 = 2;
const WITHDRAW: u8 = 3;
const RELEASE: u8 = 4;
const COMMIT: u8 = 5;
const OUTCOME: u8 = 6;
const IDS: u8 = 7;
const ALIVE: u8 = 8;
const WRITES: u8 = 9;
const UNLOCK: u8 = 10;
const WAITS_HERE: u8 = 11;
const LIVE: u8 = 12;

const AT: u8 = 1;
const LOCKED: u8 = 2;
const WAITS: u8 = 3;
const DEADLOCK: u8 = 4;
const NOT_FREE: u8 = 5;
const LOCKS_LOST: u8 = 6;
const DONE: u8 = 7;
const COMMITTED: u8 = 8;
const NOT_COMMITTED: u8 = 9;
const PENDING: u8 = 10;
const FAILED: u8 = 11;
const RANGE: u8 = 12;
const NOT_LEADER: u8 = 13;
const REFUSED: u8 = 14;
const GIVE_UP: u8 = 15;

/// A transaction that is known to its own node alone.
const STRANGER: u64 = 1 << 63;

impl Call {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            Call::ReadAt => to.push(READ_AT),
            Call::Lock(lock) => {
                to.push(LOCK);
                put_u64(&mut to, lock.number);
                put_u64(&mut to, lock.epoch);
                to.push(u8::from(lock.waits));
                put_u32(&mut to, lock.before.len() as u32);
                for (mode, key) in lock.before.iter().chain([&(lock.mode, lock.key.clone())]) {
                    to.push(*mode as u8);
                    put_bytes(&mut to, key);
                }
            }
            Call::Withdraw { number } => put_number(&mut to, WITHDRAW, *number),
            Call::Release { number } => put_number(&mut to, RELEASE, *number),
            Call::Unlock { number, name } => {
                put_number(&mut to, UNLOCK, *number);
                put_bytes(&mut to, name);
            }
            Call::Writes { number, offset, bytes } => {
                to.reserve(bytes.len() + 32);
                put_number(&mut to, WRITES, *number);
                put_u64(&mut to, *offset);
                put_bytes(&mut to, bytes);
            }
            Call::Commit(commit) => {
                to.reserve(commit.writes.len() + 64);
                put_number(&mut to, COMMIT, commit.number);
                for number in [commit.sequence, commit.acknowledged, commit.lock_epoch] {
                    put_u64(&mut to, number);
                }
                put_bytes(&mut to, &commit.writes);
            }
            Call::Outcome {
                number,
                sequence,
                lock_epoch,
            } => {
                put_number(&mut to, OUTCOME, *number);
                put_u64(&mut to, *sequence);
                put_u64(&mut to, *lock_epoch);
            }
            Call::Ids(ids) => {
                put_number(&mut to, IDS, ids.epoch);
                put_u32(&mut to, ids.table.0);
                to.push(ids.kind as u8);
                for number in [ids.count, ids.step, ids.offset, ids.at_least] {
                    put_u64(&mut to, number);
                }
            }
            Call::Alive { oldest } => put_number(&mut to, ALIVE, *oldest),
            Call::Live { next, numbers } => {
                put_number(&mut to, LIVE, *next);
                put_u32(
                    &mut to,
                    u32::try_from(numbers.len()).expect("there is memory for fewer"),
                );
                numbers.iter().for_each(|&number| put_u64(&mut to, number));
            }
            Call::WaitsHere(waits) => {
                to.push(WAITS_HERE);
                put_u32(&mut to, u32::try_from(waits.len()).expect("they are cut before"));
                for wait in waits {
                    put_u64(&mut to, number_of(wait.waiter));
                    put_u64(&mut to, wait.wait);
                    put_u32(
                        &mut to,
                        u32::try_from(wait.blockers.len()).expect("they are cut before"),
                    );
                    wait.blockers
                        .iter()
                        .for_each(|&blocker| put_u64(&mut to, number_of(blocker)));
                }
            }
        }
        to
    }

    pub fn decode(bytes: &[u8]) -> Result<Call, Garbled> {
        let bytes = &mut Bytes::new(bytes);
        let call = Call::take(bytes).ok_or(Garbled)?;
        bytes.is_empty().then_some(call).ok_or(Garbled)
    }

    fn take(bytes: &mut Bytes<'_>) -> Option<Call> {
        Some(match bytes.u8()? {
            READ_AT => Call::ReadAt,
            LOCK => {
                let (number, epoch, waits) = (bytes.u64()?, bytes.u64()?, bytes.flag()?);
                let mut before = Vec::new();
                for _ in 0..bytes.u32()? {
                    before.push((take_mode(bytes)?, bytes.bytes()?.to_vec()));
                }
                Call::Lock(Lock {
                    number,
                    epoch,
                    waits,
                    before,
                    mode: take_mode(bytes)?,
                    key: bytes.bytes()?.to_vec(),
                })
            }
            WITHDRAW => Call::Withdraw { number: bytes.u64()? },
            RELEASE => Call::Release { number: bytes.u64()? },
            UNLOCK => Call::Unlock {
                number: bytes.u64()?,
                name: bytes.bytes()?.to_vec(),
            },
            WRITES => Call::Writes {
                number: bytes.u64()?,
                offset: bytes.u64()?,
                bytes: bytes.bytes()?.to_vec(),
            },
            COMMIT => Call::Commit(Commit {
                number: bytes.u64()?,
                sequence: bytes.u64()?,
                acknowledged: bytes.u64()?,
                lock_epoch: bytes.u64()?,
                writes: bytes.bytes()?.to_vec(),
            }),
            OUTCOME => Call::Outcome {
                number: bytes.u64()?,
                sequence: bytes.u64()?,
                lock_epoch: bytes.u64()?,
            },
            IDS => Call::Ids(Ids {
                epoch: bytes.u64()?,
                table: TableId(bytes.u32()?),
                kind: match bytes.flag()? {
                    false => IdKind::AutoIncrement,
                    true => IdKind::HiddenRow,
                },
                count: bytes.u64()?,
                step: bytes.u64()?,
                offset: bytes.u64()?,
                at_least: bytes.u64()?,
            }),
            ALIVE => Call::Alive { oldest: bytes.u64()? },
            LIVE => Call::Live {
                next: bytes.u64()?,
                numbers: (0..bytes.u32()?).map(|_| bytes.u64()).collect::<Option<_>>()?,
            },
            WAITS_HERE => {
                let mut waits = Vec::new();
                for _ in 0..bytes.u32()? {
                    waits.push(ToldWait {
                        waiter: who(bytes.u64()?),
                        wait: bytes.u64()?,
                        blockers: (0..bytes.u32()?).map(|_| bytes.u64().map(who)).collect::<Option<_>>()?,
                    });
                }
                Call::WaitsHere(waits)
            }
            _ => return None,
        })
    }
}

impl Answer {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            Answer::At { newest, wanted } => {
                put_number(&mut to, AT, newest.0);
                put_u32(&mut to, u32::try_from(wanted.len()).expect("there are few of them"));
                wanted.iter().for_each(|wanted| to.extend(wanted.to_le_bytes()));
            }
            Answer::Locked { epoch, as_of, waited } => {
                put_number(&mut to, LOCKED, *epoch);
                put_u64(&mut to, as_of.0);
                to.push(u8::from(*waited));
            }
            Answer::Waits => to.push(WAITS),
            Answer::Deadlock => to.push(DEADLOCK),
            Answer::NotFree => to.push(NOT_FREE),
            Answer::LocksLost => to.push(LOCKS_LOST),
            Answer::Done => to.push(DONE),
            Answer::Committed(timestamp) => put_number(&mut to, COMMITTED, timestamp.0),
            Answer::NotCommitted => to.push(NOT_COMMITTED),
            Answer::Pending => to.push(PENDING),
            Answer::Failed(error) => {
                to.push(FAILED);
                put_error(&mut to, error);
            }
            Answer::Ids { epoch, first, end } => {
                put_number(&mut to, RANGE, *epoch);
                put_u64(&mut to, *first);
                put_u64(&mut to, *end);
            }
            Answer::NotLeader => to.push(NOT_LEADER),
            Answer::Refused(reason) => {
                to.push(REFUSED);
                put_bytes(&mut to, reason.as_bytes());
            }
            Answer::GiveUp(victims) => {
                to.push(GIVE_UP);
                put_u32(&mut to, u32::try_from(victims.len()).expect("there are few of them"));
                for &(number, wait) in victims {
                    put_u64(&mut to, number);
                    put_u64(&mut to, wait);
                }
            }
        }
        to
    }

    pub fn decode(bytes: &[u8]) -> Result<Answer, Garbled> {
        let bytes = &mut Bytes::new(bytes);
        let answer = Answer::take(bytes).ok_or(Garbled)?;
        bytes.is_empty().then_some(answer).ok_or(Garbled)
    }

    fn take(bytes: &mut Bytes<'_>) -> Option<Answer> {
        Some(match bytes.u8()? {
            AT => Answer::At {
                newest: Timestamp(bytes.u64()?),
                wanted: (0..bytes.u32()?).map(|_| bytes.u16()).collect::<Option<_>>()?,
            },
            LOCKED => Answer::Locked {
                epoch: bytes.u64()?,
                as_of: Timestamp(bytes.u64()?),
                waited: bytes.flag()?,
            },
            WAITS => Answer::Waits,
            DEADLOCK => Answer::Deadlock,
            NOT_FREE => Answer::NotFree,
            LOCKS_LOST => Answer::LocksLost,
            DONE => Answer::Done,
            COMMITTED => Answer::Committed(Timestamp(bytes.u64()?)),
            NOT_COMMITTED => Answer::NotCommitted,
            PENDING => Answer::Pending,
            FAILED => Answer::Failed(take_error(bytes)?),
            RANGE => Answer::Ids {
                epoch: bytes.u64()?,
                first: bytes.u64()?,
                end: bytes.u64()?,
            },
            NOT_LEADER => Answer::NotLeader,
            REFUSED => Answer::Refused(bytes.text()?.to_owned()),
            GIVE_UP => {
                let victims = (0..bytes.u32()?).map(|_| Some((bytes.u64()?, bytes.u64()?)));
                Answer::GiveUp(victims.collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }
}

fn number_of(who: Who) -> u64 {
    match who {
        Who::Guest(number) => number,
        Who::Stranger(own) => own | STRANGER,
    }
}

fn who(number: u64) -> Who {
    match number & STRANGER {
        0 => Who::Guest(number),
        _ => Who::Stranger(number ^ STRANGER),
    }
}

fn put_number(to: &mut Vec<u8>, kind: u8, number: u64) {
    to.push(kind);
    put_u64(to, number);
}

fn take_mode(bytes: &mut Bytes<'_>) -> Option<LockMode> {
    let modes = [
        LockMode::IntentionShared,
        LockMode::IntentionExclusive,
        LockMode::Shared,
        LockMode::Exclusive,
    ];
    let mode = bytes.u8()?;
    modes.into_iter().find(|&known| known as u8 == mode)
}

// What is locked.
const TABLE: u8 = 1;
const KEY: u8 = 2;
const DEFINITION: u8 = 3;
const NAME: u8 = 4;

/// A lock's key: a kind, then its parts, the last one up to the end.
pub(crate) fn encode_key(key: LockKey<'_>) -> Vec<u8> {
    let mut to = Vec::new();
    match key {
        LockKey::Table(table) => {
            to.push(TABLE);
            put_u32(&mut to, table.0);
        }
        LockKey::Key(table, index, key) => {
            to.push(KEY);
            put_u32(&mut to, table.0);
            to.extend(index.0.to_le_bytes());
            to.extend_from_slice(key);
        }
        LockKey::Definition(table) => {
            to.push(DEFINITION);
            put_u32(&mut to, table.0);
        }
        LockKey::Name(name) => {
            to.push(NAME);
            to.extend_from_slice(name);
        }
    }
    to
}

pub(crate) fn decode_key(bytes: &[u8]) -> Option<LockKey<'_>> {
    let bytes = &mut Bytes::new(bytes);
    let key = match bytes.u8()? {
        TABLE => LockKey::Table(TableId(bytes.u32()?)),
        KEY => LockKey::Key(TableId(bytes.u32()?), IndexId(bytes.u16()?), bytes.rest()),
        DEFINITION => LockKey::Definition(TableId(bytes.u32()?)),
        NAME => LockKey::Name(bytes.rest()),
        _ => return None,
    };
    bytes.is_empty().then_some(key)
}

// Why a commit failed.
const DISK_FULL: u8 = 1;
const TOO_LARGE: u8 = 2;
const STOPPED: u8 = 3;
const ABORTED: u8 = 4;
const LOST: u8 = 5;
const FORGOTTEN: u8 = 6;
const UNKNOWN: u8 = 7;
const LED_ELSEWHERE: u8 = 8;
const MEMORY: u8 = 9;

fn put_error(to: &mut Vec<u8>, error: &ProposeError) {
    let (kind, numbers, reason) = match error {
        ProposeError::DiskFull => (DISK_FULL, [0; 3], ""),
        ProposeError::TooLarge { bytes, limit } => (TOO_LARGE, [*bytes, *limit, 0], ""),
        ProposeError::Malformed(_) => (STOPPED, [0; 3], "the write set cannot be read"),
        ProposeError::NotLeader => (LED_ELSEWHERE, [0; 3], ""),
        ProposeError::Stopped { reason } => (STOPPED, [0; 3], &**reason),
        ProposeError::Aborted { reason } => (ABORTED, [0; 3], &**reason),
        ProposeError::LocksLost => (LOST, [0; 3], ""),
        ProposeError::Forgotten => (FORGOTTEN, [0; 3], ""),
        ProposeError::Memory(limit) => (MEMORY, [limit.requested, limit.used, limit.limit], ""),
        ProposeError::Unknown { reason } => (UNKNOWN, [0; 3], &**reason),
    };
    to.push(kind);
    for number in numbers {
        put_u64(to, number);
    }
    put_bytes(to, reason.as_bytes());
}

fn take_error(bytes: &mut Bytes<'_>) -> Option<ProposeError> {
    let kind = bytes.u8()?;
    let [first, second, third] = [bytes.u64()?, bytes.u64()?, bytes.u64()?];
    let reason = Arc::from(bytes.text()?);
    Some(match kind {
        DISK_FULL => ProposeError::DiskFull,
        TOO_LARGE => ProposeError::TooLarge {
            bytes: first,
            limit: second,
        },
        STOPPED => ProposeError::Stopped { reason },
        ABORTED => ProposeError::Aborted { reason },
        LOST => ProposeError::LocksLost,
        FORGOTTEN => ProposeError::Forgotten,
        UNKNOWN => ProposeError::Unknown { reason },
        LED_ELSEWHERE => ProposeError::NotLeader,
        MEMORY => ProposeError::Memory(store::MemoryLimit {
            requested: first,
            used: second,
            limit: third,
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls() -> Vec<Call> {
        let lock = |waits, mode| {
            Call::Lock(Lock {
                number: 7,
                epoch: 3,
                waits,
                before: vec![
                    (LockMode::IntentionExclusive, encode_key(LockKey::Table(TableId(5))));
                    usize::from(waits)
                ],
                mode,
                key: encode_key(LockKey::Key(TableId(5), IndexId(2), b"key")),
            })
        };
        vec![
            Call::ReadAt,
            lock(true, LockMode::Exclusive),
            lock(false, LockMode::IntentionShared),
            Call::Withdraw { number: 1 },
            Call::Release { number: 2 },
            Call::Unlock {
                number: 2,
                name: b"name".to_vec(),
            },
            Call::Writes {
                number: 9,
                offset: 1 << 40,
                bytes: vec![1; 9],
            },
            Call::Commit(Commit {
                number: 9,
                sequence: 8,
                acknowledged: 7,
                lock_epoch: 6,
                writes: vec![1, 2, 3],
            }),
            Call::Outcome {
                number: 1,
                sequence: 2,
                lock_epoch: 3,
            },
            Call::Ids(Ids {
                epoch: 1,
                table: TableId(2),
                kind: IdKind::HiddenRow,
                count: 3,
                step: 4,
                offset: 5,
                at_least: 6,
            }),
            Call::Alive { oldest: 4 },
            Call::Live {
                next: 9,
                numbers: vec![4, 8],
            },
            Call::WaitsHere(vec![ToldWait {
                waiter: Who::Guest(5),
                wait: 6,
                blockers: vec![Who::Stranger(7), Who::Guest(8)],
            }]),
        ]
    }

    fn answers() -> Vec<Answer> {
        let reason: Arc<str> = "because".into();
        let errors = [
            ProposeError::DiskFull,
            ProposeError::TooLarge { bytes: 1, limit: 2 },
            ProposeError::NotLeader,
            ProposeError::Stopped { reason: reason.clone() },
            ProposeError::Aborted { reason: reason.clone() },
            ProposeError::LocksLost,
            ProposeError::Forgotten,
            ProposeError::Unknown { reason },
        ];
        let others = [
            Answer::At {
                newest: Timestamp(4),
                wanted: vec![0, 1023],
            },
            Answer::Locked {
                epoch: 1,
                as_of: Timestamp(2),
                waited: true,
            },
            Answer::Waits,
            Answer::Deadlock,
            Answer::NotFree,
            Answer::LocksLost,
            Answer::Done,
            Answer::Committed(Timestamp(9)),
            Answer::NotCommitted,
            Answer::Pending,
            Answer::Ids {
                epoch: 1,
                first: 2,
                end: 3,
            },
            Answer::NotLeader,
            Answer::Refused("no".into()),
            Answer::GiveUp(vec![(1, 2)]),
        ];
        errors.map(Answer::Failed).into_iter().chain(others).collect()
    }

    #[test]
    fn calls_come_back_and_every_cut_is_an_error() {
        for call in calls() {
            let bytes = call.encode();
            assert_eq!(Call::decode(&bytes).unwrap(), call);
            for length in 0..bytes.len() {
                assert_eq!(Call::decode(&bytes[..length]).err(), Some(Garbled));
            }
        }
        for answer in answers() {
            let bytes = answer.encode();
            assert_eq!(format!("{:?}", Answer::decode(&bytes).unwrap()), format!("{answer:?}"));
            for length in 0..bytes.len() {
                assert_eq!(Answer::decode(&bytes[..length]).err(), Some(Garbled));
            }
        }
    }

    #[test]
    fn keys_come_back() {
        let keys = [
            LockKey::Table(TableId(1)),
            LockKey::Key(TableId(1), IndexId(0), b""),
            LockKey::Key(TableId(1), IndexId(3), b"abc"),
            LockKey::Definition(TableId(9)),
            LockKey::Name(b"everything"),
        ];
        for key in keys {
            assert_eq!(decode_key(&encode_key(key)), Some(key));
        }
        for garbled in [&b""[..], &[9, 1], &[1, 1], &[1, 1, 0, 0, 0, 0], &[2, 1, 0, 0, 0, 1]] {
            assert_eq!(decode_key(garbled), None, "{garbled:?}");
        }
    }
}
