//! Rows that are longer than what nodes say to each other at once.

use crate::cluster::{Cluster, code, eventually, one, run};

#[test]
fn a_long_row_goes_to_all_nodes_and_nobody_loses_the_lead() {
    let mut cluster = Cluster::start("long-rows");
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let mut client = cluster.client(leader);
    run(&mut client, "CREATE TABLE test.t (id INT PRIMARY KEY, v LONGBLOB)");
    run(
        &mut client,
        "CREATE TABLE test.small (id INT PRIMARY KEY AUTO_INCREMENT)",
    );
    for (id, node) in [(1, leader), (2, follower)] {
        let mut client = cluster.client(node);
        let long = format!("INSERT INTO test.t VALUES ({id}, REPEAT('{id}', 17 << 20))");
        assert_eq!(code(&mut client, &long), 0);
        run(&mut client, "INSERT INTO test.small VALUES ()");
    }
    assert_eq!(cluster.leader(), leader);
    // One that was away gets them from the log.
    cluster.kill(follower);
    run(&mut client, "INSERT INTO test.t VALUES (3, REPEAT('3', 17 << 20))");
    run(&mut client, "INSERT INTO test.small VALUES ()");
    cluster.run(follower);
    for node in 1..=3 {
        let mut client = cluster.client(node);
        let read = || match one(&mut client, "SELECT SUM(LENGTH(v)) FROM test.t").as_str() {
            "53477376" => Ok(()),
            other => Err(other.to_owned()),
        };
        eventually("all rows", read);
        assert_eq!(one(&mut client, "SELECT COUNT(*) FROM test.small"), "3");
    }
    assert_eq!(cluster.leader(), leader);
}
