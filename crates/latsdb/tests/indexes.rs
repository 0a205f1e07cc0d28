//! Indexes that come to a table with rows, and go, beside others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mysql_client::{Answer, Client};

use crate::support::{Running, SetsAtEnd, directory, rows, verify};

const DUPLICATE: u16 = 1062;
const FULL: u16 = 1114;
const KILLED: u16 = 1317;

/// `test.big`, of so many rows.
fn fill(client: &mut Client, count: u32) {
    rows(
        client,
        "CREATE TABLE test.big (id INT PRIMARY KEY, v INT, s VARCHAR(300))",
    );
    rows(client, "SET cte_max_recursion_depth = 1000000");
    let step = 10_000.min(count);
    for from in (0..count).step_by(step as usize) {
        let numbers = format!(
            "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < {step}) SELECT {from} + n id FROM r"
        );
        rows(
            client,
            &format!(
                "INSERT INTO test.big SELECT id, id * 7919 % 1000003, CONCAT(REPEAT('x', 280), id * 7 % 1009) FROM ({numbers}) d"
            ),
        );
    }
}

/// The number of the error, or 0.
fn outcome(client: &mut Client, sql: &str) -> u16 {
    match client.query(sql).unwrap() {
        Answer::Error { code, .. } => code,
        _ => 0,
    }
}

/// What the node says it holds for indexes.
fn index_bytes(node: &Running) -> u64 {
    let metrics = node.get("/metrics");
    let line = metrics
        .lines()
        .find(|line| line.starts_with("latsdb_memory_used_bytes{use=\"indexes\"}"));
    line.and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap()
}

/// Waits until indexes take no more than before.
fn await_bytes(node: &Running, before: u64) {
    let start = Instant::now();
    while index_bytes(node) > before {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{} bytes, {before} before",
            index_bytes(node)
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a query is answered, with so many rows.
fn await_rows(client: &mut Client, sql: &str, count: usize) {
    let start = Instant::now();
    while rows(client, sql).len() != count {
        assert!(start.elapsed() < Duration::from_secs(20), "{sql}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Rows come, change and go while indexes are added and dropped. Whoever comes with a duplicate is told, the change of the table or that of
/// a row, and each index has the rows that the table has.
#[test]
fn indexes_come_and_go_beside_writers() {
    let data = directory("indexes-beside-writers");
    let node = Running::start(&data);
    let mut admin = node.client();
    fill(&mut admin, 5_000);
    let stop = AtomicBool::new(false);
    let mut added = 0;
    std::thread::scope(|scope| {
        let end = SetsAtEnd(&stop);
        let writers = (0..3_u64).map(|number| {
            let (node, stop) = (&node, &stop);
            scope.spawn(move || {
                let mut client = node.client();
                let (mut state, mut refused) = (number + 1, 0);
                while !stop.load(Ordering::Relaxed) {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number + 1);
                    let (id, v) = ((state >> 33) % 6000, (state >> 20) % 6000);
                    let sql = match state >> 61 {
                        0..3 => format!("UPDATE test.big SET v = {v} + 2000000 WHERE id = {id}"),
                        3..6 => format!("REPLACE INTO test.big VALUES ({id}, {v} + 1000000, {v})"),
                        6 => format!("INSERT IGNORE INTO test.big VALUES ({id}, {v}, NULL)"),
                        _ => format!("DELETE FROM test.big WHERE id = {id}"),
                    };
                    match outcome(&mut client, &sql) {
                        0 => {}
                        DUPLICATE => refused += 1,
                        1213 => {}
                        other => panic!("{sql}: {other}"),
                    }
                }
                refused
            })
        });
        let writers: Vec<_> = writers.collect();
        for round in 0..40 {
            let sql = match round % 2 {
                0 => "ALTER TABLE test.big ADD UNIQUE extra (v), ADD INDEX more (s(20), v)",
                _ => "ALTER TABLE test.big ADD INDEX extra (v DESC, s), ADD INDEX more (s)",
            };
            match outcome(&mut admin, sql) {
                0 => added += 1,
                DUPLICATE => {
                    rows(&mut admin, "UPDATE test.big SET v = id");
                    continue;
                }
                other => panic!("{sql}: {other}"),
            }
            let counts = "SELECT (SELECT COUNT(*) FROM test.big FORCE INDEX (extra)) - (SELECT COUNT(*) FROM test.big IGNORE INDEX (extra, more))";
            assert_eq!(rows(&mut admin, counts), ["0"]);
            rows(&mut admin, "ALTER TABLE test.big DROP INDEX extra, DROP INDEX more");
        }
        // One is left for `verify`.
        rows(
            &mut admin,
            "ALTER TABLE test.big ADD INDEX extra (v), ADD INDEX more (s)",
        );
        drop(end);
        for writer in writers {
            writer.join().unwrap();
        }
    });
    assert!(added > 5, "{added} were added");
    node.stop();
    let (found, is_whole) = verify(&data);
    assert!(is_whole, "{found}");
}

/// A statement that is killed while it builds an index leaves nothing of it, and the next one builds it.
#[test]
fn a_killed_statement_leaves_nothing_of_an_index() {
    let data = directory("indexes-killed");
    let node = Running::start(&data);
    let mut admin = node.client();
    fill(&mut admin, 30_000);
    let before = index_bytes(&node);
    let mut killed = 0;
    for after_ms in [5, 20, 40, 80, 120, 160, 200, 240] {
        let mut builder = node.client();
        let id = rows(&mut builder, "SELECT CONNECTION_ID()").remove(0);
        let built = std::thread::scope(|scope| {
            let building = scope.spawn(|| outcome(&mut builder, "CREATE UNIQUE INDEX extra ON test.big (s, v)"));
            std::thread::sleep(Duration::from_millis(after_ms));
            rows(&mut admin, &format!("KILL QUERY {id}"));
            building.join().unwrap()
        });
        match built {
            0 => {
                rows(&mut admin, "DROP INDEX extra ON test.big");
            }
            KILLED => killed += 1,
            other => panic!("{other}"),
        }
        assert_eq!(rows(&mut admin, "SHOW INDEX FROM test.big").len(), 1);
        await_bytes(&node, before);
    }
    assert!(killed > 0);
    rows(&mut admin, "CREATE UNIQUE INDEX extra ON test.big (s, v)");
    assert_eq!(
        rows(&mut admin, "SELECT COUNT(*) FROM test.big FORCE INDEX (extra)"),
        ["30000"]
    );
    node.stop();
    let (found, is_whole) = verify(&data);
    assert!(is_whole, "{found}");
}

/// An index for which there is no memory is refused, and leaves nothing.
#[test]
fn an_index_that_does_not_fit_leaves_nothing() {
    let data = directory("indexes-memory");
    let node = Running::start_with(&data, &["--memory-limit", "64MiB"]);
    let mut admin = node.client();
    fill(&mut admin, 60_000);
    let before = index_bytes(&node);
    for sql in [
        "CREATE INDEX extra ON test.big (s, v)",
        "ALTER TABLE test.big ADD UNIQUE extra (s, v), ADD UNIQUE more (v, s)",
    ] {
        assert_eq!(outcome(&mut admin, sql), FULL);
        await_bytes(&node, before);
        // The memory of what was dropped is given back a moment later.
        await_rows(&mut admin, "SHOW INDEX FROM test.big", 1);
    }
    rows(&mut admin, "UPDATE test.big SET v = 0 WHERE id = 1");
    rows(&mut admin, "CREATE INDEX small ON test.big (v)");
    rows(&mut admin, "DROP INDEX small ON test.big");
    await_bytes(&node, before);
    node.stop();
}
