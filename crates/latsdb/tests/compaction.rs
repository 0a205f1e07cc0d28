//! Gaps in the allocator's pages, after deletes here and there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Running, SetsAtEnd, directory, rows, verify};

const ROWS: u32 = 100_000;
const STEP: u32 = 10_000;
/// Without compaction nearly 40 MiB of gaps stay. Threads keep about 10 MiB of pages for themselves.
const LEFT: i64 = 22 << 20;

fn metric(node: &Running, name: &str) -> i64 {
    let metrics = node.get("/metrics");
    let line = metrics.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap()
}

/// What the process takes beside what is allocated.
fn unused(node: &Running) -> i64 {
    metric(node, "latsdb_memory_resident_bytes") - metric(node, "latsdb_memory_allocated_bytes")
}

/// For a minute at most.
fn wait_until_small(node: &Running, before: i64) {
    let start = Instant::now();
    while unused(node) > before + LEFT && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// One row in five stays. The node gets as small as what it holds, while others read the rows that stay, by both indexes.
#[test]
fn gaps_are_closed_beside_readers() {
    let data = directory("compaction");
    let node = Running::start(&data);
    let mut client = node.client();
    rows(
        &mut client,
        "CREATE TABLE test.t (id INT PRIMARY KEY, a INT, s VARCHAR(300), KEY (a))",
    );
    rows(&mut client, "SET cte_max_recursion_depth = 1000000");
    let before = unused(&node);
    let numbers = format!("WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < {STEP})");
    for from in (0..ROWS).step_by(STEP as usize) {
        rows(
            &mut client,
            &format!("INSERT INTO test.t {numbers} SELECT {from} + n, n * 7919 % 100003, REPEAT('x', 250) FROM r"),
        );
    }
    let sums = [
        "SELECT SUM(id), SUM(a), COUNT(s) FROM test.t WHERE id % 5 = 0",
        "SELECT SUM(id), SUM(a), COUNT(*) FROM test.t FORCE INDEX (a) WHERE a >= 0 AND id % 5 = 0",
    ];
    let expected = sums.map(|sum| rows(&mut client, sum));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let end = SetsAtEnd(&stop);
        let reader = scope.spawn(|| {
            let mut client = node.client();
            while !stop.load(Ordering::Relaxed) {
                assert_eq!(sums.map(|sum| rows(&mut client, sum)), expected);
            }
        });
        for from in (0..ROWS).step_by(STEP as usize) {
            rows(
                &mut client,
                &format!(
                    "DELETE FROM test.t WHERE id % 5 <> 0 AND id > {from} AND id <= {}",
                    from + STEP
                ),
            );
        }
        wait_until_small(&node, before);
        drop(end);
        reader.join().unwrap();
    });
    // The reader's last statements have taken some memory for themselves.
    wait_until_small(&node, before);
    let left = unused(&node) - before;
    assert!(left <= LEFT, "{left} bytes are held beside the rows");
    assert!(metric(&node, "latsdb_compaction_moved_bytes_total") > 0);
    assert_eq!(sums.map(|sum| rows(&mut client, sum)), expected);
    // Rows that were moved change like others.
    rows(
        &mut client,
        "UPDATE test.t SET a = a + 1, s = REPEAT('y', id % 250) WHERE id % 10 = 0",
    );
    rows(&mut client, "DELETE FROM test.t WHERE id % 3 = 0");
    node.stop();
    let (found, is_good) = verify(&data);
    assert!(is_good, "{found}");
}
