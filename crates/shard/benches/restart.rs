//! How long a shard with sysbench's tables takes to be ready again: from the log alone, and from a checkpoint.
//!
//! `cargo bench -p shard --bench restart [-- DIRECTORY]`

use std::path::PathBuf;
use std::time::Instant;

use env::Env;
use shard::{Config, Shard};
use store::{IndexSpec, KeyColumn, MemoryBudget, TableSpec, WriteSet};
use types::{CollationId, IndexId, SqlType, TableId, Value};

#[path = "../tests/support/mod.rs"]
mod support;

const TABLES: u32 = 4;
const ROWS_PER_TABLE: i64 = 250_000;
/// Rows of one of sysbench's bulk inserts.
const ROWS_PER_INSERT: i64 = 2500;

fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let dir = named
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from)
        .join("restart-bench");
    let _ = std::fs::remove_dir_all(&dir);

    let shard = timed("open, empty", || open(&dir));
    timed("load by commits of 2500 rows", || load(&shard));
    println!("{:>40}: {} MB", "log", shard.status().log_bytes >> 20);
    drop(shard);
    let shard = timed("open, from the log", || open(&dir));
    check(&shard);
    timed("checkpoint, unpaced", || shard.checkpoint().expect("the disk works"));
    drop(shard);
    let shard = timed("open, from the checkpoint", || open(&dir));
    check(&shard);
    shard.shutdown();
    let _ = std::fs::remove_dir_all(&dir);
}

fn timed<T>(what: &str, action: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = action();
    println!("{what:>40}: {:.2} s", start.elapsed().as_secs_f64());
    result
}

fn open(dir: &std::path::Path) -> Shard {
    let config = Config {
        checkpoint_bytes: u64::MAX,
        checkpoint_bytes_per_second: 0,
        ..Config::new(Env::real(), dir, MemoryBudget::new(8 << 30))
    };
    Shard::open(config).expect("it was closed well")
}

/// `CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60), KEY (k))`
fn spec(table: u32) -> TableSpec {
    let text = |length| SqlType::char(length, CollationId::UTF8MB4_0900_AI_CI).not_null();
    TableSpec {
        generations: None,
        expiry: None,
        id: TableId(table),
        columns: vec![
            SqlType::int().not_null(),
            SqlType::int().not_null(),
            text(120),
            text(60),
        ],
        primary: Some(vec![KeyColumn::ascending(0)]),
        indexes: vec![IndexSpec {
            id: IndexId(1),
            key: vec![KeyColumn::ascending(1)],
            unique: false,
            text: None,
        }],
    }
}

fn load(shard: &Shard) {
    for table in 1..=TABLES {
        let spec = spec(table);
        let mut writes = WriteSet::new();
        writes.create_table(&spec);
        support::commit(shard, writes).expect("the table is new");
        let (rows, keys) = (spec.row_layout(), spec.primary_layout().expect("it has a primary key"));
        let mut on_the_way = Vec::new();
        for first in (1..=ROWS_PER_TABLE).step_by(ROWS_PER_INSERT as usize) {
            let mut writes = WriteSet::new();
            for id in first..first + ROWS_PER_INSERT {
                let digits = |groups: i64| {
                    (0..groups)
                        .map(|n| format!("{:011}", id * 7919 * (n + 1) % 99_999_999_999))
                        .collect::<Vec<_>>()
                        .join("-")
                };
                let k = id * 7919 % ROWS_PER_TABLE;
                let values = [
                    Value::Int(id),
                    Value::Int(k),
                    Value::Str(digits(10).into()),
                    Value::Str(digits(5).into()),
                ];
                let (mut key, mut row) = (Vec::new(), Vec::new());
                keys.encode_values(&values[..1], &mut key);
                rows.encode(&values, &mut row);
                writes.put(spec.id, &key, &row);
            }
            on_the_way.push(support::propose(shard, writes.into_bytes()));
        }
        for commit in on_the_way {
            support::block_on(commit).expect("the disk works");
        }
    }
}

fn check(shard: &Shard) {
    for table in 1..=TABLES {
        let table = shard.store().table(TableId(table)).expect("it was created");
        assert_eq!(table.estimated_rows(), ROWS_PER_TABLE as u64);
    }
}
