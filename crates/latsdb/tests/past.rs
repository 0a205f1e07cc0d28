//! Reads of the past, over restarts and where memory is short.

use std::time::Duration;

use crate::support::{Running, directory, rows};
use mysql_client::{Answer, Client};

fn code(client: &mut Client, sql: &str) -> u16 {
    match client.query(sql).unwrap() {
        Answer::Error { code, .. } => code,
        _ => 0,
    }
}

fn status(client: &mut Client, name: &str) -> u64 {
    let row = rows(client, &format!("SHOW STATUS LIKE '{name}'")).remove(0);
    row.split(' ').next_back().unwrap().parse().unwrap()
}

/// A killed process replays its log, and with it the versions; a checkpoint has none.
#[test]
fn the_past_reaches_back_to_the_checkpoint() {
    let data = directory("past");
    let node = Running::start(&data);
    let mut client = node.client();
    rows(&mut client, "SET PERSIST past_window_seconds = 3600");
    rows(&mut client, "CREATE TABLE test.t (a INT PRIMARY KEY, b INT, KEY (b))");
    rows(&mut client, "INSERT INTO test.t VALUES (1, 10), (2, 20)");
    let then = rows(&mut client, "SELECT NOW(6)").remove(0);
    std::thread::sleep(Duration::from_millis(2));
    rows(&mut client, "UPDATE test.t SET b = b + 1");
    rows(&mut client, "DELETE FROM test.t WHERE a = 2");
    let read = format!("SELECT SUM(b) FROM test.t AS OF TIMESTAMP '{then}'");
    let by_index = format!("SELECT COUNT(*) FROM test.t AS OF TIMESTAMP '{then}' FORCE INDEX (b) WHERE b > 0");
    assert_eq!(rows(&mut client, &read), ["30"]);
    drop((client, node));

    let node = Running::start(&data);
    let mut client = node.client();
    assert_eq!(rows(&mut client, &read), ["30"], "the log was replayed");
    assert_eq!(rows(&mut client, &by_index), ["2"]);
    assert_eq!(rows(&mut client, "SELECT SUM(b) FROM test.t"), ["11"]);
    assert!(status(&mut client, "Past_bytes") > 0);
    drop(client);
    node.stop();

    let node = Running::start(&data);
    let mut client = node.client();
    assert_eq!(code(&mut client, &read), 9006, "the checkpoint is newer");
    let now = rows(&mut client, "SELECT NOW(6)").remove(0);
    let read = format!("SELECT SUM(b) FROM test.t AS OF TIMESTAMP '{now}'");
    assert_eq!(rows(&mut client, &read), ["11"]);
    rows(&mut client, "UPDATE test.t SET b = 0");
    assert_eq!(rows(&mut client, &read), ["11"]);

    // Without a window it is gone at once, but for who reads it.
    let mut reader = node.client();
    rows(
        &mut reader,
        &format!("START TRANSACTION READ ONLY AS OF TIMESTAMP '{now}'"),
    );
    rows(&mut client, "SET GLOBAL past_window_seconds = 0");
    let mut tries = 0;
    while code(&mut client, &read) != 9006 {
        tries += 1;
        assert!(tries < 1000, "the past is still read");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(rows(&mut reader, "SELECT SUM(b) FROM test.t"), ["11"]);
}

/// The window is as long as there is room for it; writes never fail for the past's sake.
#[test]
fn the_past_gives_way_to_writes() {
    let data = directory("past-memory");
    let node = Running::start_with(&data, &["--memory-limit", "128MiB"]);
    let mut client = node.client();
    rows(&mut client, "SET GLOBAL past_window_seconds = 86400");
    rows(&mut client, "CREATE TABLE test.t (a INT PRIMARY KEY, b LONGTEXT)");
    rows(
        &mut client,
        "INSERT INTO test.t VALUES (1, REPEAT('x', 500000)), (2, REPEAT('x', 500000))",
    );
    let then = rows(&mut client, "SELECT NOW(6)").remove(0);
    // Of the time that is kept the changes are a small part.
    std::thread::sleep(Duration::from_secs(2));
    let mut most = 0;
    for round in 0..150 {
        rows(
            &mut client,
            &format!("UPDATE test.t SET b = CONCAT('{round} ', REPEAT('y', 500000))"),
        );
        most = most.max(status(&mut client, "Past_bytes"));
    }
    assert_eq!(
        code(&mut client, &format!("SELECT a FROM test.t AS OF TIMESTAMP '{then}'")),
        9006
    );
    assert!(
        most <= 28 << 20,
        "{most} bytes: half as much again as an eighth of the limit, and what waits to be collected"
    );
    std::thread::sleep(Duration::from_millis(2));
    let readable = status(&mut client, "Past_readable_ms");
    assert!(readable > 0);
}

/// Whatever a read of the past fails at, it leaves nothing of the past to the next statement.
#[test]
fn a_failed_read_of_the_past_is_over() {
    let data = directory("past-failed");
    let node = Running::start(&data);
    let mut client = node.client();
    rows(&mut client, "SET GLOBAL past_window_seconds = 3600");
    rows(&mut client, "CREATE TABLE test.t (a INT PRIMARY KEY, b INT)");
    rows(&mut client, "INSERT INTO test.t VALUES (1, 10)");
    let then = rows(&mut client, "SELECT NOW(6)").remove(0);
    std::thread::sleep(Duration::from_millis(2));
    rows(&mut client, "UPDATE test.t SET b = 11");
    let read = format!("SELECT b FROM test.t AS OF TIMESTAMP '{then}'");
    let fail = |client: &mut Client| {
        rows(client, "SET GLOBAL debug = 'statement.planned=error@1'");
        assert_eq!(code(client, &read), 1815);
    };
    fail(&mut client);
    assert_eq!(rows(&mut client, "SELECT b FROM test.t"), ["11"]);
    fail(&mut client);
    rows(&mut client, "UPDATE test.t SET b = 12");
    assert_eq!(rows(&mut client, &read), ["10"]);
}
