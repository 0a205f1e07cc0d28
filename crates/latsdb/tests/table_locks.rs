//! LOCK TABLES and FLUSH TABLES WITH READ LOCK in a cluster.

use crate::cluster::{Cluster, beside, code, eventually, one, run, wait_until_waiting};

#[test]
fn table_locks_hold_on_all_nodes() {
    let mut cluster = Cluster::start("cluster-locks");
    let leader = cluster.leader();
    let others: Vec<usize> = (1..=3).filter(|node| *node != leader).collect();
    let mut watcher = cluster.client(leader);
    run(&mut watcher, "CREATE TABLE test.t (a INT PRIMARY KEY)");
    run(&mut watcher, "CREATE TABLE test.u (a INT PRIMARY KEY)");
    // Whoever locks, and whoever wants to write: the leader and another one, two others, one and the same.
    for (at, writer) in [
        (leader, others[0]),
        (others[0], leader),
        (others[0], others[1]),
        (others[1], others[1]),
    ] {
        let mut holder = cluster.client(at);
        for lock in [
            "LOCK TABLES test.t READ",
            "LOCK TABLES test.t WRITE",
            "FLUSH TABLES test.t WITH READ LOCK",
            "FLUSH TABLES WITH READ LOCK",
        ] {
            run(&mut holder, lock);
            // Readers are kept away by WRITE alone.
            let mut client = cluster.client(writer);
            run(&mut client, "SET lock_wait_timeout = 1");
            let read = code(&mut client, "SELECT COUNT(*) FROM test.t");
            assert_eq!(read, if lock.contains("WRITE") { 1205 } else { 0 }, "{lock}");
            assert_eq!(one(&mut holder, "SELECT COUNT(*) FROM test.t").len(), 1);
            let client = cluster.client(writer);
            let id = client.connection_id;
            let write = beside(client, "REPLACE INTO test.t VALUES (1)");
            wait_until_waiting(&mut watcher, id);
            // Other tables are free, but under the lock of all.
            if lock.contains("test.t") {
                run(&mut cluster.client(writer), "REPLACE INTO test.u VALUES (1)");
            }
            run(&mut holder, "UNLOCK TABLES");
            assert_eq!(write.join().unwrap(), 0, "{lock}");
        }
    }

    // The locks of a session end with it, and those of a node with the node.
    let mut holder = cluster.client(others[0]);
    run(&mut holder, "LOCK TABLES test.t WRITE");
    drop(holder);
    run(&mut watcher, "REPLACE INTO test.t VALUES (2)");
    let mut holder = cluster.client(others[0]);
    run(&mut holder, "LOCK TABLES test.t WRITE");
    cluster.kill(others[0]);
    run(&mut watcher, "REPLACE INTO test.t VALUES (3)");
    let mut reader = cluster.client(others[1]);
    assert_eq!(one(&mut reader, "SELECT COUNT(*) FROM test.t"), "3");
}

#[test]
fn table_locks_that_went_with_the_lead_are_told_of() {
    let mut cluster = Cluster::start("cluster-locks-lost");
    let leader = cluster.leader();
    let others: Vec<usize> = (1..=3).filter(|node| *node != leader).collect();
    let mut client = cluster.client(leader);
    run(&mut client, "CREATE TABLE test.t (a INT PRIMARY KEY)");
    run(&mut client, "CREATE TABLE test.u (a INT PRIMARY KEY)");
    let is_told = |holder: &mut _, statement: &str| {
        eventually("the loss is told", || match code(holder, statement) {
            1213 => Ok(()),
            1047 => Err("no leader".to_owned()),
            other => panic!("{statement}: {other}"),
        });
        // Once.
        assert_eq!(code(holder, statement), 0, "{statement}");
    };
    // The lead is handed over.
    let mut holders = [leader, others[0], others[1]].map(|node| cluster.client(node));
    run(&mut holders[0], "LOCK TABLES test.t WRITE");
    run(&mut holders[1], "LOCK TABLES test.u READ");
    run(&mut holders[2], "LOCK TABLES test.u READ");
    run(&mut holders[0], "INSERT INTO test.t VALUES (1)");
    let answer = cluster
        .node(leader)
        .post(&format!("/admin/move-leader?node={}", others[0]));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    eventually("the lead moves", || match cluster.leader() {
        leads if leads == others[0] => Ok(()),
        leads => Err(format!("node {leads} leads")),
    });
    is_told(&mut holders[0], "INSERT INTO test.t VALUES (2)");
    is_told(&mut holders[1], "UNLOCK TABLES");
    is_told(&mut holders[2], "SELECT * FROM test.t");
    // Whoever leads dies.
    let leader = cluster.leader();
    let mut holder = cluster.client(*others.iter().find(|node| **node != leader).expect("there are two"));
    run(&mut holder, "FLUSH TABLES WITH READ LOCK");
    assert_eq!(code(&mut holder, "INSERT INTO test.t VALUES (3)"), 1223);
    cluster.kill(leader);
    is_told(&mut holder, "INSERT INTO test.t VALUES (3)");
}
