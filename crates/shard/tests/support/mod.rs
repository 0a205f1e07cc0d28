//! A shard with accounts in it, for tests.

#![allow(dead_code, clippy::unwrap_used)]

pub mod cluster;
pub mod large;
pub mod purse;

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use env::Env;
use shard::{Config, Durability, ProposeError, Shard, Transaction, TransactionId};
use store::{Cursor, KeyColumn, KeyRange, MemoryBudget, Store, TableSpec, WriteSet};
use types::{IndexId, KeyLayout, RowLayout, SqlType, TableId, Timestamp, Value};

pub const ACCOUNTS: TableId = TableId(17);

/// `CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT, note VARBINARY(1000))`
pub struct Accounts {
    spec: TableSpec,
    rows: RowLayout,
    keys: KeyLayout,
}

impl Accounts {
    pub fn new() -> Accounts {
        let columns = vec![
            SqlType::bigint().not_null(),
            SqlType::bigint(),
            SqlType::varbinary(1000),
        ];
        let primary = Some(vec![KeyColumn::ascending(0)]);
        let spec = TableSpec {
            generations: None,
            expiry: None,
            id: ACCOUNTS,
            columns,
            primary,
            indexes: Vec::new(),
        };
        Accounts {
            rows: spec.row_layout(),
            keys: spec.primary_layout().unwrap(),
            spec,
        }
    }

    pub fn create(&self) -> WriteSet {
        let mut writes = WriteSet::new();
        writes.create_table(&self.spec);
        writes
    }

    pub fn put(&self, writes: &mut WriteSet, id: i64, balance: i64, note: &[u8]) {
        let values = [Value::Int(id), Value::Int(balance), Value::Bytes(note.into())];
        let mut row = Vec::new();
        self.rows.encode(&values, &mut row);
        let mut key = Vec::new();
        self.keys.encode_values(&values[..1], &mut key);
        writes.put(ACCOUNTS, &key, &row);
    }

    /// All accounts as of now: ids and balances, in order.
    pub fn read(&self, shard: &Shard) -> Vec<(i64, i64)> {
        self.read_at(shard.store()).1
    }

    /// Those of a store, and the moment.
    pub fn read_at(&self, store: &Arc<Store>) -> (Timestamp, Vec<(i64, i64)>) {
        let snapshot = store.snapshot();
        let Some(table) = store.table(ACCOUNTS) else {
            return (snapshot.timestamp(), Vec::new());
        };
        if !table.is_readable_at(IndexId::PRIMARY, snapshot.timestamp()) {
            // It has just been replaced.
            return self.read_at(store);
        }
        let mut found = Vec::new();
        let mut cursor = Cursor::forward(KeyRange::all());
        while !cursor.is_finished() {
            table.scan(IndexId::PRIMARY, &mut cursor, &snapshot, 1000, |entry| {
                let number = |column| match self.rows.column(entry.row(), column).to_value() {
                    Value::Int(number) => number,
                    other => panic!("{other:?} where a number belongs"),
                };
                found.push((number(0), number(1)));
                std::ops::ControlFlow::Continue(())
            });
        }
        (snapshot.timestamp(), found)
    }
}

pub fn config(env: Env, dir: impl AsRef<Path>) -> Config {
    Config {
        segment_bytes: 64 << 10,
        checkpoint_bytes: u64::MAX,
        checkpoint_bytes_per_second: 0,
        ..Config::new(env, dir.as_ref(), MemoryBudget::new(1 << 30))
    }
}

/// A row.
pub fn one(accounts: &Accounts, id: i64, balance: i64) -> WriteSet {
    let mut writes = WriteSet::new();
    accounts.put(&mut writes, id, balance, b"");
    writes
}

pub fn commit(shard: &Shard, writes: WriteSet) -> Result<Timestamp, ProposeError> {
    block_on(propose(shard, writes.into_bytes()))
}

/// As the transaction `id`, whose ticket the caller holds.
pub fn commit_as(shard: &Shard, id: TransactionId, writes: WriteSet) -> Result<Timestamp, ProposeError> {
    block_on(propose_as(shard, id, writes.into_bytes()))
}

/// Puts a transaction of its own in line at once.
pub fn propose(shard: &Shard, writes: Vec<u8>) -> impl Future<Output = Result<Timestamp, ProposeError>> + Send + use<> {
    let ticket = shard.begin();
    let proposal = propose_as(shard, ticket.id(), writes);
    async move {
        let answer = proposal.await;
        drop(ticket);
        answer
    }
}

pub fn propose_as(
    shard: &Shard,
    id: TransactionId,
    writes: Vec<u8>,
) -> impl Future<Output = Result<Timestamp, ProposeError>> + Send + use<> {
    propose_at(shard, id, Durability::MajorityDisk, writes)
}

/// As [`propose`], and answered at that level.
pub fn propose_at(
    shard: &Shard,
    id: TransactionId,
    durability: Durability,
    writes: Vec<u8>,
) -> impl Future<Output = Result<Timestamp, ProposeError>> + Send + use<> {
    shard.propose(Transaction {
        id,
        lock_epoch: shard.lock_epoch(),
        durability,
        writes,
        memory: None,
    })
}

/// Sets the flag when it is dropped, also by a test that fails: threads that go on until then would keep its scope from ending.
pub struct SetsAtEnd<'a>(pub &'a AtomicBool);

impl Drop for SetsAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a future to its end on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
