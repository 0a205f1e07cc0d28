//! Lists that are appended to, and registers that are overwritten: everything read and written goes into a history, whose dependency graph
//! is searched for cycles.
//!
//! Keys are used up: a window of a few moves over them, so that many transactions meet and lists stay short.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use env::SeededRandom;

use super::{Workload, below, locked, mostly_commit, once_in};
use crate::history::{History, Objects, Op, Read, Transaction};
use crate::session::{Outcome, Rows, Session, Stop};

/// Keys in use at a time.
const WINDOW: u32 = 5;
/// Transactions for each key.
const PER_KEY: u32 = 20;

pub struct Items {
    objects: Objects,
    keys: u32,
    begun: AtomicU32,
    last_value: AtomicU32,
    /// A clock that all clients share.
    clock: AtomicU64,
    transactions: Mutex<Vec<Transaction>>,
}

impl Items {
    pub fn lists(transactions: u32) -> Items {
        Items::new(Objects::Lists, transactions)
    }

    pub fn registers(transactions: u32) -> Items {
        Items::new(Objects::Registers, transactions)
    }

    fn new(objects: Objects, transactions: u32) -> Items {
        Items {
            objects,
            keys: transactions / PER_KEY + WINDOW,
            begun: AtomicU32::new(0),
            last_value: AtomicU32::new(0),
            clock: AtomicU64::new(0),
            transactions: Mutex::default(),
        }
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Relaxed)
    }

    fn key(&self, random: &SeededRandom) -> u32 {
        let first = self.begun.load(Relaxed) / PER_KEY;
        1 + (first + below(random, WINDOW)).min(self.keys - 1)
    }

    fn write(&self, session: &mut Session<'_>, random: &SeededRandom, ops: &mut Vec<Op>) -> Result<(), Stop> {
        let key = self.key(random).min(self.keys - 1);
        let value = 1 + self.last_value.fetch_add(2, Relaxed);
        ops.push(Op::Write { key, value });
        let new = |value: &str| match self.objects {
            Objects::Lists => format!("CONCAT(v, ',', {value})"),
            Objects::Registers => format!("CONCAT(',', {value})"),
        };
        let one = new(&value.to_string());
        session.change(&match below(random, 6) {
            0 => format!("INSERT INTO items VALUES ({key}, {key}, 0, '') ON DUPLICATE KEY UPDATE n = n + 1, v = {one}"),
            1 => format!("UPDATE items SET n = n + 1, v = {one} WHERE g = {key}"),
            2 => {
                let (next, value) = (key + 1, value + 1);
                ops.push(Op::Write { key: next, value });
                let each = new(&format!("{value} + id - {next}"));
                format!("UPDATE items SET n = n + 1, v = {each} WHERE g BETWEEN {key} AND {next}")
            }
            _ => format!("UPDATE items SET n = n + 1, v = {one} WHERE id = {key}"),
        })?;
        // A register's version is known once it has been read.
        if self.objects == Objects::Registers && once_in(random, 2) {
            let rows = session.rows(&format!("SELECT id, n, v FROM items WHERE id = {key}"))?;
            self.keep(rows, false, ops)?;
        }
        Ok(())
    }

    fn read(&self, session: &mut Session<'_>, random: &SeededRandom, ops: &mut Vec<Op>) -> Result<(), Stop> {
        let key = self.key(random);
        let lock = ["", "", "", " FOR UPDATE", " FOR SHARE"][below(random, 5) as usize];
        let rows = session.rows(&match below(random, 5) {
            0 => format!("SELECT id, n, v FROM items WHERE g = {key}{lock}"),
            1 => format!(
                "SELECT id, n, v FROM items WHERE id BETWEEN {key} AND {} ORDER BY id{lock}",
                key + 2
            ),
            2 => format!(
                "SELECT id, n, v FROM items WHERE id IN ({key}, {}) ORDER BY id{lock}",
                self.key(random)
            ),
            _ => format!("SELECT id, n, v FROM items WHERE id = {key}{lock}"),
        })?;
        self.keep(rows, !lock.is_empty(), ops)
    }

    fn keep(&self, rows: Rows, is_locking: bool, ops: &mut Vec<Op>) -> Result<(), Stop> {
        for row in rows {
            let unreadable = || Stop::Unexpected(format!("not a row of items: {row:?}"));
            let [Some(id), Some(n), Some(v)] = &row[..] else {
                return Err(unreadable());
            };
            let list: Result<Vec<u32>, _> = v.split(',').filter(|part| !part.is_empty()).map(str::parse).collect();
            let (Ok(key), Ok(position), Ok(list)) = (id.parse(), n.parse(), list) else {
                return Err(unreadable());
            };
            if self.objects == Objects::Lists && list.len() as u32 != position {
                return Err(Stop::Unexpected(format!(
                    "a list with a count that is not its length: {row:?}"
                )));
            }
            ops.push(Op::Read(Read {
                key,
                position,
                value: list.last().copied().unwrap_or(0),
                list: match self.objects {
                    Objects::Lists => list,
                    Objects::Registers => Vec::new(),
                },
                is_locking,
            }));
        }
        Ok(())
    }

    /// Writes that are taken back at once, as a transaction of their own that was never committed.
    fn try_and_undo(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<(), Stop> {
        let mut ops = Vec::new();
        session.change("SAVEPOINT s")?;
        let written = self.write(session, random, &mut ops);
        ops.retain(|op| matches!(op, Op::Write { .. }));
        let moment = self.now();
        locked(&self.transactions).push(Transaction {
            start: moment,
            end: moment,
            outcome: Outcome::Aborted,
            ops,
        });
        written?;
        session.change("ROLLBACK TO SAVEPOINT s").map(drop)
    }
}

impl Workload for Items {
    fn tables(&self) -> Vec<String> {
        let row = |key: u32| format!("({key}, {key}, 0, '')");
        let rows: Vec<String> = (1..=self.keys).map(row).collect();
        vec![
            "CREATE TABLE items (id INT PRIMARY KEY, g INT NOT NULL, n INT NOT NULL, v TEXT NOT NULL, KEY (g))"
                .to_owned(),
            format!("INSERT INTO items VALUES {}", rows.join(", ")),
        ]
    }

    fn transact(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String> {
        self.begun.fetch_add(1, Relaxed);
        let mut ops = Vec::new();
        let start = self.now();
        let ended = session.transact(|session| {
            for _ in 0..1 + below(random, 4) {
                match below(random, 16) {
                    0..8 => self.read(session, random, &mut ops)?,
                    8..15 => self.write(session, random, &mut ops)?,
                    _ => self.try_and_undo(session, random)?,
                }
            }
            Ok(mostly_commit(random))
        });
        let outcome = ended.clone().unwrap_or(Outcome::Unknown);
        let end = match outcome {
            Outcome::Unknown => u64::MAX,
            _ => self.now(),
        };
        locked(&self.transactions).push(Transaction {
            start,
            end,
            outcome,
            ops,
        });
        ended
    }

    fn check(&self, session: &mut Session<'_>) -> Result<Vec<String>, Stop> {
        let mut ops = Vec::new();
        let start = self.now();
        session.begin()?;
        let rows = session.rows("SELECT id, n, v FROM items ORDER BY id")?;
        self.keep(rows, false, &mut ops)?;
        session.roll_back()?;
        let mut transactions = std::mem::take(&mut *locked(&self.transactions));
        transactions.push(Transaction {
            start,
            end: self.now(),
            outcome: Outcome::Committed,
            ops,
        });
        let history = History {
            objects: self.objects,
            transactions,
        };
        Ok(history.check(session.level()))
    }
}
