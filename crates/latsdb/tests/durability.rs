//! Levels of durability, as a client and an operator meet them.

use crate::support::{Running, directory, rows};

/// Answered in memory, and killed at once: the system has it.
#[test]
fn a_killed_process_loses_nothing_that_was_in_memory() {
    let data = directory("durability");
    let flags = ["--durability", "majority_memory"];
    let node = Running::start_with(&data, &flags);
    let mut client = node.client();
    assert_eq!(
        rows(&mut client, "SELECT @@durability, @@global.durability"),
        ["majority_memory majority_memory"]
    );
    assert!(node.get("/status").contains("majority_memory"));
    rows(&mut client, "CREATE TABLE test.t (a INT PRIMARY KEY)");
    for round in 0..3 {
        for a in 0..50 {
            rows(&mut client, &format!("INSERT INTO test.t VALUES ({})", round * 50 + a));
        }
    }
    drop((client, node));
    let node = Running::start_with(&data, &flags);
    assert_eq!(node.rows("SELECT COUNT(*) FROM test.t"), ["150"]);
    // What is persisted goes before the flag.
    node.rows("SET PERSIST durability = 'local_disk'");
    node.stop();
    let node = Running::start_with(&data, &flags);
    assert_eq!(node.rows("SELECT @@durability"), ["local_disk"]);
}
