//! Transactions over a store whose log is a counter.

mod anomalies;
mod expiry;
mod local;
mod model;
mod writes;

use super::*;
use env::{Clock, ManualClock};
use parking_lot::Mutex;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use store::{
    Cursor, Direction, IndexSpec, KeyColumn, KeyRange, LockMode, MemoryBudget, TableSpec, WriteOps, WriteSet, Writer,
};
use types::{SqlType, Value};

const TABLE: TableId = TableId(7);
const BY_VALUE: IndexId = IndexId(1);
const BY_UNIQUE: IndexId = IndexId(2);

/// A shard whose log is a counter: what is proposed is applied at once.
struct Local {
    store: Arc<Store>,
    writer: Mutex<(Writer, Timestamp)>,
    /// How many superseded rows are collected after each commit.
    collects: Mutex<usize>,
    clock: ManualClock,
}

impl Participant for Local {
    fn store(&self) -> &Arc<Store> {
        &self.store
    }

    fn lock_epoch(&self) -> u64 {
        1
    }

    fn incarnation(&self) -> u64 {
        1 << 32 | 1
    }

    fn cluster(&self) -> u128 {
        1
    }

    fn wall(&self) -> std::time::Duration {
        self.clock.wall()
    }

    fn nodes(&self) -> Vec<u32> {
        vec![1]
    }

    fn guest(&self) -> Option<shard::Guest> {
        None
    }

    fn freshness(&self) -> Option<shard::Freshness> {
        None
    }

    fn freshness_within(&self, _bound: std::time::Duration) -> Option<shard::Freshness> {
        None
    }

    fn staleness(&self) -> Option<std::time::Duration> {
        Some(std::time::Duration::ZERO)
    }

    fn calls(&self) -> u64 {
        0
    }

    fn unsynced(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    fn propose(
        &self,
        write_set: Vec<u8>,
        _lock_epoch: u64,
        _durability: shard::Durability,
        _memory: Reservation,
        locks: TransactionLocks,
    ) -> Committing {
        let (writer, newest) = &mut *self.writer.lock();
        *newest = newest.next();
        writer.apply(*newest, WriteOps::decode(&write_set).unwrap()).unwrap();
        writer.publish();
        writer.collect(*self.collects.lock());
        Box::pin(std::future::ready((Ok(*newest), Some(locks))))
    }
}

/// `CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, u INT, KEY (v), UNIQUE (u))`
fn spec() -> TableSpec {
    let index = |id, column, unique| IndexSpec {
        id,
        key: vec![KeyColumn::ascending(column)],
        unique,
        text: None,
    };
    TableSpec {
        generations: None,
        expiry: None,
        id: TABLE,
        columns: vec![SqlType::int().not_null(), SqlType::int().not_null(), SqlType::int()],
        primary: Some(vec![KeyColumn::ascending(0)]),
        indexes: vec![index(BY_VALUE, 1, false), index(BY_UNIQUE, 2, true)],
    }
}

/// A table and the statements that tests need.
struct Fixture {
    local: Arc<Local>,
    table: Arc<Table>,
}

type Row = (i64, i64, Option<i64>);

impl Fixture {
    fn new(rows: &[Row]) -> Fixture {
        Fixture::with_memory(rows, 1 << 30)
    }

    fn with_memory(rows: &[Row], memory: u64) -> Fixture {
        let (store, writer) = Store::new(MemoryBudget::new(memory));
        let local = Arc::new(Local {
            store: Arc::clone(&store),
            writer: Mutex::new((writer, Timestamp::ZERO)),
            collects: Mutex::new(1000),
            clock: ManualClock::default(),
        });
        let mut set = WriteSet::new();
        set.create_table(&spec());
        let memory = store.memory().nothing_yet(MemoryUse::Transactions);
        let locks = local.store().locks().transaction();
        done(local.propose(
            set.into_bytes(),
            local.lock_epoch(),
            Durability::MajorityDisk,
            memory,
            locks,
        ))
        .0
        .unwrap();
        let fixture = Fixture {
            table: store.table(TABLE).unwrap(),
            local,
        };
        let mut t = fixture.begin(Options::default());
        rows.iter().for_each(|row| fixture.insert(&mut t, *row).unwrap());
        done(t.commit()).unwrap();
        fixture
    }

    fn begin(&self, options: Options) -> Transaction {
        Transaction::begin(Arc::clone(&self.local) as Arc<dyn Participant>, options)
    }

    fn key(&self, id: i64) -> Vec<u8> {
        let mut key = Vec::new();
        self.table
            .primary_layout()
            .unwrap()
            .encode_values(&[Value::Int(id)], &mut key);
        key
    }

    fn row(&self, (id, v, u): Row) -> Vec<u8> {
        let mut row = Vec::new();
        self.table.row_layout().encode(
            &[Value::Int(id), Value::Int(v), u.map_or(Value::Null, Value::Int)],
            &mut row,
        );
        row
    }

    fn decode(&self, row: &[u8]) -> Row {
        match self.table.row_layout().decode(row)[..] {
            [Value::Int(id), Value::Int(v), Value::Int(u)] => (id, v, Some(u)),
            [Value::Int(id), Value::Int(v), Value::Null] => (id, v, None),
            ref other => panic!("{other:?}"),
        }
    }

    fn insert(&self, t: &mut Transaction, row: Row) -> Result<(), Failure> {
        let statement = t.begin_statement();
        let result = step(t.insert(&self.table, &self.key(row.0), &self.row(row)));
        end(t, statement, result)
    }

    /// `UPDATE t SET … WHERE id = …`; `None`: no such row.
    fn update(&self, t: &mut Transaction, id: i64, change: impl Fn(Row) -> Row) -> Result<Option<Row>, Failure> {
        let statement = t.begin_statement();
        let result = self.update_row(t, id, change);
        end(t, statement, result)
    }

    fn update_row(&self, t: &mut Transaction, id: i64, change: impl Fn(Row) -> Row) -> Result<Option<Row>, Failure> {
        let key = self.key(id);
        step(t.lock_for_write(&self.table, &key))?;
        let Some(row) = t.get_current(&self.table, &key, |row| self.decode(row)) else {
            return Ok(None);
        };
        let row = change(row);
        step(t.update(&self.table, &key, &self.key(row.0), &self.row(row)))?;
        Ok(Some(row))
    }

    /// `DELETE FROM t WHERE id = …`; whether there was one.
    fn delete(&self, t: &mut Transaction, id: i64) -> Result<bool, Failure> {
        let statement = t.begin_statement();
        let result = self.delete_row(t, id);
        end(t, statement, result)
    }

    fn delete_row(&self, t: &mut Transaction, id: i64) -> Result<bool, Failure> {
        let key = self.key(id);
        step(t.lock_for_write(&self.table, &key))?;
        if t.get_current(&self.table, &key, |_| ()).is_none() {
            return Ok(false);
        }
        step(t.delete(&self.table, &key))?;
        Ok(true)
    }

    /// `SELECT … WHERE id = …`
    fn get(&self, t: &mut Transaction, id: i64) -> Option<i64> {
        let statement = t.begin_statement();
        let found = t.get(&self.table, &self.key(id), |row| self.decode(row).1);
        t.end_statement(statement);
        found
    }

    /// `SELECT … WHERE id = … FOR UPDATE` or `FOR SHARE`
    fn get_locked(
        &self,
        t: &mut Transaction,
        id: i64,
        mode: LockMode,
        policy: LockPolicy,
    ) -> Result<Option<i64>, Failure> {
        let statement = t.begin_statement();
        let progress = t.lock_for_read(&self.table, &self.key(id), mode, policy);
        let result = step(progress).map(|()| t.get_current(&self.table, &self.key(id), |row| self.decode(row).1));
        end(t, statement, result)
    }

    /// `SELECT … WHERE` the condition on `v` holds, by an index, in chunks.
    fn select(&self, t: &mut Transaction, index: IndexId, direction: Direction, most: usize) -> Vec<Row> {
        let statement = t.begin_statement();
        let mut rows = Vec::new();
        let mut cursor = Cursor::new(KeyRange::all(), direction);
        while !cursor.is_finished() {
            t.scan(&self.table, index, &mut cursor, most, |entry| {
                rows.push(self.decode(entry.row()));
                if rows.len() % 3 == 0 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
        }
        t.end_statement(statement);
        rows
    }

    fn select_where(&self, t: &mut Transaction, condition: impl Fn(i64) -> bool) -> Vec<i64> {
        let rows = self.select(t, IndexId::PRIMARY, Direction::Forward, 100);
        rows.into_iter()
            .filter(|row| condition(row.1))
            .map(|row| row.0)
            .collect()
    }

    /// The committed rows.
    fn committed(&self) -> Vec<(i64, i64)> {
        let mut t = self.begin(Options::default());
        self.select(&mut t, IndexId::PRIMARY, Direction::Forward, 100)
            .into_iter()
            .map(|(id, v, _)| (id, v))
            .collect()
    }
}

/// Why a step of a test did not get through.
#[derive(Debug, PartialEq)]
enum Failure {
    /// It would wait; the wait was given up.
    Waits,
    Skipped,
    Error(TransactionError),
}

fn step(progress: Result<Progress, TransactionError>) -> Result<(), Failure> {
    match progress {
        Ok(Progress::Done) => Ok(()),
        Ok(Progress::Wait(_)) => Err(Failure::Waits),
        Ok(Progress::Skipped) => Err(Failure::Skipped),
        Err(error) => Err(Failure::Error(error)),
    }
}

fn end<R>(t: &mut Transaction, statement: Savepoint, result: Result<R, Failure>) -> Result<R, Failure> {
    match &result {
        Ok(_) => t.end_statement(statement),
        Err(_) => t.rollback_statement(statement),
    }
    result
}

/// A future that is ready at once.
fn done<R>(future: impl Future<Output = R>) -> R {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("not ready"),
    }
}

const SNAPSHOT: Options = Options {
    isolation: Isolation::RepeatableRead,
    write_rule: WriteRule::FirstCommitterWins,
    durability: Durability::MajorityDisk,
    connection: 0,
};
const COMPATIBLE: Options = Options {
    isolation: Isolation::RepeatableRead,
    write_rule: WriteRule::NewestCommitted,
    durability: Durability::MajorityDisk,
    connection: 0,
};
const READ_COMMITTED: Options = Options {
    isolation: Isolation::ReadCommitted,
    write_rule: WriteRule::FirstCommitterWins,
    durability: Durability::MajorityDisk,
    connection: 0,
};
const SERIALIZABLE: Options = Options {
    isolation: Isolation::Serializable,
    write_rule: WriteRule::FirstCommitterWins,
    durability: Durability::MajorityDisk,
    connection: 0,
};
const ALL: [Options; 4] = [SNAPSHOT, COMPATIBLE, READ_COMMITTED, SERIALIZABLE];
