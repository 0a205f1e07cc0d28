//! Readers on other threads while the writer applies, publishes, collects, moves and frees.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use governor::pages::{Side, Sparse};
use store::{
    Cursor, Direction, IndexId, IndexSpec, KeyColumn, KeyRange, MemoryBudget, MemoryUse, Snapshot, Store, Table,
    TableId, TableSpec, WriteOps, WriteSet,
};
use types::{KeyLayout, RowLayout, SqlType, Timestamp, Value};

const TABLE: TableId = TableId(1);
const BY_BALANCE: IndexId = IndexId(1);
const ACCOUNTS: i64 = if cfg!(miri) { 12 } else { 300 };
const TRANSFERS: u64 = if cfg!(miri) { 40 } else { 60_000 };
const START: i64 = 100;

struct Bank {
    rows: RowLayout,
    keys: KeyLayout,
}

impl Bank {
    fn spec() -> TableSpec {
        TableSpec {
            generations: None,
            expiry: None,
            id: TABLE,
            columns: vec![SqlType::bigint().not_null(), SqlType::bigint().not_null()],
            primary: Some(vec![KeyColumn::ascending(0)]),
            indexes: vec![IndexSpec {
                id: BY_BALANCE,
                key: vec![KeyColumn::ascending(1)],
                unique: false,
                text: None,
            }],
        }
    }

    fn key(&self, id: i64) -> Vec<u8> {
        let mut key = Vec::new();
        self.keys.encode_values(&[Value::Int(id)], &mut key);
        key
    }

    /// An account; without money it is deleted.
    fn write(&self, set: &mut WriteSet, id: i64, balance: i64) {
        if balance == 0 {
            return set.delete(TABLE, &self.key(id));
        }
        let mut row = Vec::new();
        self.rows.encode(&[Value::Int(id), Value::Int(balance)], &mut row);
        set.put(TABLE, &self.key(id), &row);
    }

    fn read(&self, row: &[u8]) -> (i64, i64) {
        match self.rows.decode(row)[..] {
            [Value::Int(id), Value::Int(balance)] => (id, balance),
            ref other => panic!("{other:?}"),
        }
    }

    /// All the money a snapshot sees, by an index, in chunks of some size; keys come in order.
    fn total(
        &self,
        table: &Table,
        snapshot: &Snapshot,
        index: IndexId,
        direction: Direction,
        chunk: usize,
    ) -> (i64, usize) {
        let mut cursor = Cursor::new(KeyRange::all(), direction);
        let (mut total, mut accounts) = (0, 0);
        let mut last: Option<Vec<u8>> = None;
        while !cursor.is_finished() {
            table.scan(index, &mut cursor, snapshot, chunk, |entry| {
                if let Some(last) = &last {
                    assert_eq!(last[..] < *entry.key(), direction == Direction::Forward);
                }
                last = Some(entry.key().to_vec());
                let (id, balance) = self.read(entry.row());
                assert_eq!(entry.primary_key(), self.key(id));
                total += balance;
                accounts += 1;
                ControlFlow::Continue(())
            });
        }
        (total, accounts)
    }
}

#[test]
fn snapshots_stay_whole_while_money_moves() {
    let spec = Bank::spec();
    let bank = Bank {
        rows: spec.row_layout(),
        keys: spec.primary_layout().unwrap(),
    };
    let (store, mut writer) = Store::new(MemoryBudget::new(1 << 30));
    let mut set = WriteSet::new();
    set.create_table(&spec);
    (0..ACCOUNTS).for_each(|id| bank.write(&mut set, id, START));
    writer
        .apply(Timestamp(1), WriteOps::decode(set.as_bytes()).unwrap())
        .unwrap();
    writer.publish();
    let table = store.table(TABLE).unwrap();
    let (done, checks) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for reader in 0..2usize {
            let (bank, store, table, done, checks) = (&bank, &store, &table, &done, &checks);
            scope.spawn(move || {
                let mut held = store.snapshot();
                let mut round = reader;
                while !done.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot();
                    let direction = if round % 2 == 0 {
                        Direction::Forward
                    } else {
                        Direction::Backward
                    };
                    let index = if round % 3 == 0 { IndexId::PRIMARY } else { BY_BALANCE };
                    let (total, accounts) = bank.total(table, &snapshot, index, direction, 1 + round % 50);
                    assert_eq!(total, ACCOUNTS * START);
                    let mut all = Cursor::forward(KeyRange::all());
                    assert_eq!(table.count(BY_BALANCE, &mut all, &snapshot, usize::MAX), accounts);
                    // A snapshot from long ago.
                    assert_eq!(bank.total(table, &held, BY_BALANCE, direction, 7).0, ACCOUNTS * START);
                    if round % 8 == 0 {
                        held.refresh();
                    }
                    round += 1;
                    checks.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut balances = vec![START; ACCOUNTS as usize];
        let mut random = 1u64;
        let mut below = |bound: u64| {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (random >> 33) % bound
        };
        let mut transfer = 0;
        while transfer < TRANSFERS || checks.load(Ordering::Relaxed) < 4 {
            transfer += 1;
            let (from, to) = (below(ACCOUNTS as u64) as usize, below(ACCOUNTS as u64) as usize);
            if from == to {
                continue;
            }
            let amount = below(balances[from] as u64 + 1) as i64;
            balances[from] -= amount;
            balances[to] += amount;
            let mut set = WriteSet::new();
            bank.write(&mut set, from as i64, balances[from]);
            bank.write(&mut set, to as i64, balances[to]);
            writer
                .apply(Timestamp(transfer + 1), WriteOps::decode(set.as_bytes()).unwrap())
                .unwrap();
            if below(3) > 0 {
                writer.publish();
                writer.collect(below(16) as usize);
                if !writer.is_compacting() {
                    writer.begin_compaction(Sparse::everything(Side::Apart));
                }
                writer.compact(below(64) as usize);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    writer.publish();
    while writer.collect(1000) {}
    let (total, accounts) = bank.total(&table, &store.snapshot(), IndexId::PRIMARY, Direction::Forward, 100);
    assert_eq!(total, ACCOUNTS * START);
    assert_eq!(table.estimated_rows(), accounts as u64);
    assert_eq!(table.estimated_entries(BY_BALANCE, &KeyRange::all()), accounts as u64);
    assert!(store.memory().used_by(MemoryUse::Rows) <= 64 * accounts as u64);
}

#[test]
fn a_dropped_index_is_not_read_again() {
    let spec = Bank::spec();
    let (store, mut writer) = Store::new(MemoryBudget::new(1 << 30));
    let mut set = WriteSet::new();
    set.create_table(&spec);
    writer
        .apply(Timestamp(1), WriteOps::decode(set.as_bytes()).unwrap())
        .unwrap();
    writer.publish();
    let old = store.table(TABLE).unwrap();
    let mut set = WriteSet::new();
    set.drop_index(TABLE, BY_BALANCE);
    writer
        .apply(Timestamp(2), WriteOps::decode(set.as_bytes()).unwrap())
        .unwrap();
    let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        old.count(BY_BALANCE, &mut Cursor::forward(KeyRange::all()), &store.snapshot(), 1)
    }));
    assert!(read.is_err(), "the old handle's index is no longer kept up");
    assert!(Arc::ptr_eq(&store.table(TABLE).unwrap(), &store.table(TABLE).unwrap()));
}
