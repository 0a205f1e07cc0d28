//! What reads, writes, locks and memory cost, on the table that sysbench makes: `cargo bench -p store`.
//!
//! Figures are medians over batches, in CPU time of one thread unless said otherwise. `cargo bench -p store --features std-allocator` runs on the
//! standard library's allocator instead of mimalloc, which the server uses.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpu::CpuTime;

use store::{
    Cursor, IndexId, IndexSpec, KeyColumn, KeyRange, LockKey, LockMode, LockTable, MemoryBudget, MemoryUse, Store,
    Table, TableId, TableLoader, TableSpec, WriteOps, WriteSet, Writer,
};
use types::{CollationId, KeyLayout, RowLayout, SqlType, Timestamp, Value};

#[cfg(not(feature = "std-allocator"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TABLE: TableId = TableId(1);
const BY_K: IndexId = IndexId(1);
const ROWS: u64 = 1_000_000;

/// `CREATE TABLE sbtest (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60), KEY (k))`
fn spec() -> TableSpec {
    let text = |chars| SqlType::char(chars, CollationId::DEFAULT).not_null();
    TableSpec {
        generations: None,
        expiry: None,
        id: TABLE,
        columns: vec![
            SqlType::int().not_null(),
            SqlType::int().not_null(),
            text(120),
            text(60),
        ],
        primary: Some(vec![KeyColumn::ascending(0)]),
        indexes: vec![IndexSpec {
            id: BY_K,
            key: vec![KeyColumn::ascending(1)],
            unique: false,
            text: None,
        }],
    }
}

struct Sysbench {
    rows: RowLayout,
    keys: KeyLayout,
}

impl Sysbench {
    fn key(&self, id: u64) -> Vec<u8> {
        let mut key = Vec::new();
        self.keys.encode_values(&[Value::Int(id as i64)], &mut key);
        key
    }

    fn row(&self, id: u64, random: &mut Random) -> Vec<u8> {
        let digits = |random: &mut Random, groups: usize| {
            let groups: Vec<_> = (0..groups)
                .map(|_| format!("{:011}", random.below(100_000_000_000)))
                .collect();
            Value::Str(groups.join("-")[..].into())
        };
        let k = Value::Int(random.below(ROWS) as i64);
        let mut row = Vec::new();
        self.rows.encode(
            &[Value::Int(id as i64), k, digits(random, 10), digits(random, 5)],
            &mut row,
        );
        row
    }
}

/// The processor time of the thread that asks, so that neighbours on the machine count as little as possible.
mod cpu {
    use rustix::time::{ClockId, Timespec, clock_gettime};

    pub struct CpuTime(Timespec);

    impl CpuTime {
        pub fn now() -> CpuTime {
            CpuTime(clock_gettime(ClockId::ThreadCPUTime))
        }

        pub fn elapsed_ns(&self) -> f64 {
            let now = clock_gettime(ClockId::ThreadCPUTime);
            (now.tv_sec - self.0.tv_sec) as f64 * 1e9 + (now.tv_nsec - self.0.tv_nsec) as f64
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(bound)) >> 64) as u64
    }
}

fn main() {
    let spec = spec();
    let sysbench = Sysbench {
        rows: spec.row_layout(),
        keys: spec.primary_layout().expect("it has a primary key"),
    };
    let (store, writer) = load(&sysbench);
    let table = store.table(TABLE).expect("loaded");
    reads(&sysbench, &store, &table);
    locks();
    writes(&sysbench, &store, &table, writer);
}

/// Loads a million rows on two threads, as a restart does, and weighs them.
fn load(sysbench: &Sysbench) -> (Arc<Store>, Writer) {
    let mut random = Random(42);
    let rows: Vec<_> = (1..=ROWS)
        .map(|id| (sysbench.key(id), sysbench.row(id, &mut random)))
        .collect();
    let payload: usize = rows.iter().map(|(key, row)| key.len() * 2 + 4 + row.len()).sum();
    let before = resident_bytes();
    let (store, mut writer) = Store::new(MemoryBudget::new(64 << 30));
    let start = Instant::now();
    let loader = TableLoader::new(&store, spec(), Timestamp(1), ROWS + 1);
    let fill = |chunks: &[&[(Vec<u8>, Vec<u8>)]]| -> Vec<_> {
        let piece = |rows: &&[(Vec<u8>, Vec<u8>)]| {
            let mut piece = loader.piece();
            rows.iter()
                .for_each(|(key, row)| piece.push(key, row).expect("in order"));
            piece.seal();
            piece
        };
        chunks.iter().map(piece).collect()
    };
    let chunks: Vec<_> = rows.chunks(rows.len() / 64).collect();
    let (first, second) = chunks.split_at(chunks.len() / 2);
    let pieces = std::thread::scope(|scope| {
        let other = scope.spawn(|| fill(second));
        let mut pieces = fill(first);
        pieces.extend(other.join().expect("loading does not panic"));
        pieces
    });
    let filled = start.elapsed();
    writer
        .install(loader.finish(pieces).expect("in order"))
        .expect("the store is empty");
    writer.restore_timestamp(Timestamp(1));
    println!(
        "load of {ROWS} rows with an index           {:6.0} ms ({:.0} ms of it in parallel)",
        ms(start.elapsed()),
        ms(filled)
    );
    let per_row = |bytes: f64| bytes / ROWS as f64;
    give_back_freed_pages();
    let resident = (resident_bytes() - before) as f64;
    let memory = store.memory();
    let counted = (memory.used_by(MemoryUse::Rows) + memory.used_by(MemoryUse::Indexes)) as f64;
    println!(
        "memory per row beyond rows and keys         {:6.1} bytes resident, {:.1} counted (row and keys {:.1})",
        per_row(resident - payload as f64),
        per_row(counted - payload as f64),
        per_row(payload as f64)
    );
    (store, writer)
}

fn reads(sysbench: &Sysbench, store: &Arc<Store>, table: &Arc<Table>) {
    let mut random = Random(7);
    let snapshot = store.snapshot();
    let keys: Vec<_> = (0..100_000).map(|_| sysbench.key(1 + random.below(ROWS))).collect();
    let per_op = measure(|n| {
        table
            .get(&keys[n % keys.len()], &snapshot, |row| black_box(row[0]))
            .expect("there");
    });
    println!("point read at a million rows               {per_op:6.0} ns");
    let per_op = measure(|n| {
        let at = n % (keys.len() - 16);
        if n % 16 == 0 {
            let next: [&[u8]; 16] = std::array::from_fn(|ahead| keys[at + ahead].as_slice());
            table.fetch_ahead(&next);
        }
        table.get(&keys[at], &snapshot, |row| black_box(row[0])).expect("there");
    });
    println!("point read, sixteen loaded together        {per_op:6.0} ns");
    let hot: Vec<_> = (0..1000).map(|_| sysbench.key(1 + random.below(1000))).collect();
    let per_op = measure(|n| {
        table
            .get(&hot[n % hot.len()], &snapshot, |row| black_box(row[0]))
            .expect("there");
    });
    println!("point read, in cache                       {per_op:6.0} ns");
    let per_op = measure(|n| {
        let snapshot = store.snapshot();
        table
            .get(&keys[n % keys.len()], &snapshot, |row| black_box(row[0]))
            .expect("there");
    });
    println!("snapshot and point read                    {per_op:6.0} ns");
    let per_op = measure(|_| {
        black_box(store.snapshot());
    });
    println!("snapshot alone                             {per_op:6.0} ns");

    let range = |first: u64, rows: u64| KeyRange {
        from: sysbench.key(first),
        to: Some(sysbench.key(first + rows)),
    };
    let scan = |index, range: KeyRange, touch: bool| {
        let mut cursor = Cursor::forward(range);
        let mut rows = 0;
        while !cursor.is_finished() {
            table.scan(index, &mut cursor, &snapshot, 1 << 14, |entry| {
                rows += usize::from(!touch || entry.row()[0] < 255);
                ControlFlow::Continue(())
            });
        }
        rows
    };
    let per_op = measure(|n| {
        black_box(scan(
            IndexId::PRIMARY,
            range(1 + n as u64 * 7919 % (ROWS - 100), 100),
            true,
        ));
    });
    println!(
        "range of 100 rows, cold                    {per_op:6.0} ns, {:.1} M rows/s",
        1e5 / per_op
    );
    let per_op = measure(|_| {
        black_box(scan(IndexId::PRIMARY, range(5000, 100), true));
    });
    println!(
        "range of 100 rows, in cache                {per_op:6.0} ns, {:.1} M rows/s",
        1e5 / per_op
    );
    let start = CpuTime::now();
    assert_eq!(scan(IndexId::PRIMARY, KeyRange::all(), true), ROWS as usize);
    println!(
        "scan of the table                          {:6.1} M rows/s",
        ROWS as f64 / start.elapsed_ns() * 1e3
    );
    let start = CpuTime::now();
    assert_eq!(scan(BY_K, KeyRange::all(), false), ROWS as usize);
    println!(
        "scan of the index k alone                  {:6.1} M entries/s",
        ROWS as f64 / start.elapsed_ns() * 1e3
    );
    let start = CpuTime::now();
    assert_eq!(scan(BY_K, KeyRange::all(), true), ROWS as usize);
    println!(
        "scan of the index k with its rows          {:6.1} M rows/s",
        ROWS as f64 / start.elapsed_ns() * 1e3
    );
    let ranges: Vec<_> = (0..1000)
        .map(|_| range(1 + random.below(ROWS / 2), 1 + random.below(ROWS / 2)))
        .collect();
    let per_op = measure(|n| {
        black_box(table.estimated_entries(IndexId::PRIMARY, &ranges[n % ranges.len()]));
    });
    println!("estimate of a range                        {per_op:6.0} ns");
    let start = CpuTime::now();
    let distinct = table.estimated_distinct(BY_K);
    println!(
        "estimate of distinct keys                  {:6.0} ns ({distinct:?})",
        start.elapsed_ns()
    );
}

fn locks() {
    let table = LockTable::new(MemoryBudget::new(1 << 30));
    let keys: Vec<_> = (0..1000u32).map(|n| n.to_be_bytes()).collect();
    let mut locks = table.transaction();
    let per_op = measure(|n| {
        black_box(locks.lock(
            LockKey::Key(TABLE, IndexId::PRIMARY, &keys[n % keys.len()]),
            LockMode::Exclusive,
        ));
        locks.release_all();
    });
    println!("lock and release of one key                {per_op:6.0} ns");
    let per_op = measure(|n| {
        let mut locks = table.transaction();
        black_box(locks.lock(LockKey::Table(TABLE), LockMode::IntentionExclusive));
        for k in 0..4 {
            black_box(locks.lock(
                LockKey::Key(TABLE, IndexId::PRIMARY, &keys[(n * 4 + k) % keys.len()]),
                LockMode::Exclusive,
            ));
        }
    });
    println!("a transaction with a table and four keys   {per_op:6.0} ns");
}

fn writes(sysbench: &Sysbench, store: &Arc<Store>, table: &Arc<Table>, mut writer: Writer) {
    let mut random = Random(3);
    let mut ts = Timestamp(1);
    let mut run = |writer: &mut Writer, sets: Vec<WriteSet>, per_publish: usize| {
        let ops: usize = sets
            .iter()
            .map(|set| WriteOps::decode_all(set.as_bytes()).expect("sound").len())
            .sum();
        let start = CpuTime::now();
        for batch in sets.chunks(per_publish) {
            for set in batch {
                ts = ts.next();
                writer
                    .apply(ts, WriteOps::decode(set.as_bytes()).expect("sound"))
                    .expect("fits");
            }
            writer.publish();
            writer.collect(1000);
        }
        start.elapsed_ns() / ops as f64
    };
    let sets = |make: &mut dyn FnMut(&mut WriteSet)| -> Vec<WriteSet> {
        (0..100_000)
            .map(|_| {
                let mut set = WriteSet::new();
                make(&mut set);
                set
            })
            .collect()
    };
    for per_publish in [1, 8] {
        let non_index: Vec<_> = sets(&mut |set| {
            let id = 1 + random.below(ROWS);
            let snapshot = store.snapshot();
            let row = table.get(&sysbench.key(id), &snapshot, <[u8]>::to_vec).expect("there");
            set.put(TABLE, &sysbench.key(id), &row);
        });
        println!(
            "update, {per_publish} per publication                  {:6.0} ns",
            run(&mut writer, non_index, per_publish)
        );
        let index: Vec<_> = sets(&mut |set| {
            let id = 1 + random.below(ROWS);
            set.put(TABLE, &sysbench.key(id), &sysbench.row(id, &mut random));
        });
        println!(
            "update of k, {per_publish} per publication             {:6.0} ns",
            run(&mut writer, index, per_publish)
        );
        let mut gone = Vec::new();
        let deletes: Vec<_> = sets(&mut |set| {
            let id = 1 + random.below(ROWS);
            gone.push(id);
            set.delete(TABLE, &sysbench.key(id));
        });
        println!(
            "delete, {per_publish} per publication                  {:6.0} ns",
            run(&mut writer, deletes, per_publish)
        );
        let inserts: Vec<_> = gone
            .iter()
            .map(|&id| {
                let mut set = WriteSet::new();
                set.put(TABLE, &sysbench.key(id), &sysbench.row(id, &mut random));
                set
            })
            .collect();
        println!(
            "insert, {per_publish} per publication                  {:6.0} ns",
            run(&mut writer, inserts, per_publish)
        );
    }
    let mut next = ROWS * 2;
    let bulk: Vec<_> = (0..100)
        .map(|_| {
            let mut set = WriteSet::new();
            for _ in 0..2700 {
                next += 1;
                set.put(TABLE, &sysbench.key(next), &sysbench.row(next, &mut random));
            }
            set
        })
        .collect();
    println!(
        "insert at the end, 2700 per publication    {:6.0} ns",
        run(&mut writer, bulk, 1)
    );
    let mut set = WriteSet::new();
    set.create_index(
        TABLE,
        &IndexSpec {
            id: IndexId(2),
            key: vec![KeyColumn::ascending(1)],
            unique: false,
            text: None,
        },
    );
    println!(
        "create index                               {:6.0} ms",
        run(&mut writer, vec![set], 1) / 1e6
    );

    // A reader beside a busy writer.
    let stop = AtomicBool::new(false);
    let keys: Vec<_> = (0..100_000).map(|_| sysbench.key(1 + random.below(ROWS))).collect();
    let rows: HashMap<_, _> = keys
        .iter()
        .map(|key| (key.clone(), sysbench.row(1, &mut random)))
        .collect();
    let (reads, writes) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0u64;
            while !stop.load(Ordering::Relaxed) {
                let snapshot = store.snapshot();
                table.get(&keys[reads as usize % keys.len()], &snapshot, |row| black_box(row[0]));
                reads += 1;
            }
            reads
        });
        let start = Instant::now();
        let mut writes = 0u64;
        while start.elapsed() < Duration::from_secs(1) {
            let key = &keys[writes as usize * 31 % keys.len()];
            let mut set = WriteSet::new();
            set.put(TABLE, key, &rows[key]);
            ts = ts.next();
            writer
                .apply(ts, WriteOps::decode(set.as_bytes()).expect("sound"))
                .expect("fits");
            writer.publish();
            writer.collect(100);
            writes += 1;
        }
        stop.store(true, Ordering::Relaxed);
        (reader.join().expect("reading does not panic"), writes)
    });
    println!(
        "one reader beside the writer               {:6.2} M reads/s, {:.2} M writes/s",
        reads as f64 / 1e6,
        writes as f64 / 1e6
    );
}

const BATCH: usize = 20_000;

/// Nanoseconds of one call: the median of batches.
fn measure(mut operation: impl FnMut(usize)) -> f64 {
    let mut n = 0;
    let mut times: Vec<_> = (0..21)
        .map(|_| {
            let start = CpuTime::now();
            for _ in 0..BATCH {
                operation(n);
                n += 1;
            }
            start.elapsed_ns() / BATCH as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The load's own sorting is over: what it freed is not the store's, though the allocator keeps it for a while.
fn give_back_freed_pages() {
    #[cfg(not(feature = "std-allocator"))]
    {
        unsafe extern "C" {
            fn mi_collect(force: bool);
        }
        // SAFETY: mimalloc's documented function, linked as the global allocator; it may be called at any time.
        unsafe { mi_collect(true) };
    }
}

fn resident_bytes() -> i64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    pages
        .and_then(|text| text.split(' ').nth(1)?.parse::<i64>().ok())
        .unwrap_or_default()
        * 4096
}
