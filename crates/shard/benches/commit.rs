//! What a commit costs: latency of a lone one beside a bare write and sync of the same bytes, and throughput, CPU and
//! context switches with several in flight.
//!
//! `cargo bench -p shard [-- DIRECTORY]` (a directory on the disk that matters; the target directory if none is given).

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use env::{Access, Env};
use shard::{Config, Shard};
use store::{MemoryBudget, WriteSet};
use support::{Accounts, block_on, propose};

const ROUND: Duration = Duration::from_secs(3);
/// Rows written by a transaction, of about 200 bytes each: what sysbench's oltp_write_only changes.
const ROWS: i64 = 4;

fn main() {
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let dir = named
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from)
        .join("commit-bench");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("the directory can be made");

    let accounts = Arc::new(Accounts::new());
    let bare = bare_sync(&dir, write_set(&accounts, 0).as_bytes().len() + 100);
    println!("write + fdatasync of the same bytes       p50 {:6.1} µs", micros(bare));

    let config = Config::new(Env::real(), dir.join("data"), MemoryBudget::new(4 << 30));
    let shard = Arc::new(Shard::open(config).expect("an empty directory opens"));
    support::commit(&shard, accounts.create()).expect("the table is new");

    let lone = lone_commits(&shard, &accounts);
    println!(
        "lone commit, thread to thread              p50 {:6.1} µs  ({:.2} x)",
        micros(lone),
        lone.as_secs_f64() / bare.as_secs_f64()
    );
    for sessions in [1, 8, 64] {
        in_flight(&shard, &accounts, sessions);
    }
    shard.shutdown();
    let bare = bare_sync(&dir, write_set(&accounts, 0).as_bytes().len() + 100);
    println!("write + fdatasync, again                   p50 {:6.1} µs", micros(bare));
    let _ = std::fs::remove_dir_all(&dir);
}

fn write_set(accounts: &Accounts, first: i64) -> WriteSet {
    let mut writes = WriteSet::new();
    for row in 0..ROWS {
        accounts.put(&mut writes, first + row, first, &[7; 180]);
    }
    writes
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn bare_sync(dir: &std::path::Path, bytes: usize) -> Duration {
    let file = Env::real()
        .disk
        .open(&dir.join("bare"), Access::Create)
        .expect("the file can be made");
    let length = 16 << 20;
    file.allocate(length)
        .and_then(|()| file.sync_data())
        .expect("there is space");
    let data = vec![7; bytes];
    let mut times = Vec::new();
    let mut offset = 0;
    while times.len() < 3000 && offset + (bytes as u64) < length {
        let start = Instant::now();
        file.write_at(&data, offset)
            .and_then(|()| file.sync_data())
            .expect("the disk works");
        times.push(start.elapsed());
        offset += bytes.next_multiple_of(8) as u64;
    }
    median(times)
}

fn lone_commits(shard: &Shard, accounts: &Accounts) -> Duration {
    let mut times = Vec::new();
    for number in 0..3000 {
        let writes = write_set(accounts, number % 1000 * ROWS).into_bytes();
        let start = Instant::now();
        block_on(propose(shard, writes)).expect("the disk works");
        times.push(start.elapsed());
    }
    median(times)
}

/// Sessions on two single-threaded runtimes, as the front has them.
fn in_flight(shard: &Arc<Shard>, accounts: &Arc<Accounts>, sessions: usize) {
    const RUNTIMES: usize = 2;
    let commits = Arc::new(AtomicU64::new(0));
    let (cpu_before, switches_before, start) = (cpu_time(), context_switches(), Instant::now());
    let threads: Vec<_> = (0..RUNTIMES.min(sessions))
        .map(|runtime| {
            let (shard, accounts, commits) = (shard.clone(), accounts.clone(), commits.clone());
            std::thread::spawn(move || {
                let tokio = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                let local = tokio::task::LocalSet::new();
                for session in (runtime..sessions).step_by(RUNTIMES) {
                    let (shard, accounts, commits) = (shard.clone(), accounts.clone(), commits.clone());
                    local.spawn_local(async move {
                        let mut number = session as i64;
                        while start.elapsed() < ROUND {
                            let writes = write_set(&accounts, number % 10_000 * ROWS).into_bytes();
                            propose(&shard, writes).await.expect("the disk works");
                            commits.fetch_add(1, Ordering::Relaxed);
                            number += sessions as i64;
                        }
                    });
                }
                tokio.block_on(local);
                // What the kernel counted for this thread goes with it, so it is counted here.
                thread_switches()
            })
        })
        .collect();
    let switches_of_sessions: u64 = threads
        .into_iter()
        .map(|thread| thread.join().expect("no session panics"))
        .sum();
    let elapsed = start.elapsed();
    let commits = commits.load(Ordering::Relaxed) as f64;
    let cpu = cpu_time() - cpu_before;
    let switches = context_switches() - switches_before + switches_of_sessions;
    println!(
        "{sessions:3} in flight: {:8.0} commits/s, {:6.1} µs CPU and {:5.2} context switches per commit",
        commits / elapsed.as_secs_f64(),
        micros(cpu) / commits,
        switches as f64 / commits,
    );
}

/// User and system time of the process, in ticks of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime");
    Duration::from_millis(ticks * 10)
}

/// Of all threads that are alive.
fn context_switches() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    tasks
        .filter_map(|task| switches_of(&task.ok()?.path().join("status")))
        .sum()
}

fn thread_switches() -> u64 {
    switches_of(&PathBuf::from("/proc/thread-self/status")).unwrap_or_default()
}

fn switches_of(status: &std::path::Path) -> Option<u64> {
    let status = std::fs::read_to_string(status).ok()?;
    let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
    Some(
        counts
            .filter_map(|line| line.rsplit('\t').next()?.trim().parse::<u64>().ok())
            .sum(),
    )
}
