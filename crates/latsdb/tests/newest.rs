//! What others were told is committed is seen by who looks next, on every node.

use crate::cluster::{Cluster, one, run};

const ROUNDS: i32 = 300;

#[test]
fn each_statement_of_read_committed_sees_what_was_committed_on_another_node() {
    let cluster = Cluster::start("cluster-newest");
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let other = (1..=3).find(|node| ![leader, follower].contains(node)).unwrap();
    let mut writer = cluster.client(leader);
    run(&mut writer, "CREATE TABLE test.t (id INT PRIMARY KEY, v INT)");
    run(&mut writer, "INSERT INTO test.t VALUES (1, 0)");
    run(&mut writer, "CREATE TABLE test.log (v INT)");
    for (reads, writes) in [(follower, leader), (follower, other), (leader, follower)] {
        let (mut reader, mut writer) = (cluster.client(reads), cluster.client(writes));
        run(&mut reader, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
        run(&mut writer, "UPDATE test.t SET v = 0");
        run(&mut reader, "BEGIN");
        // It has locks, and so is known to the leader.
        run(&mut reader, "INSERT INTO test.log VALUES (-1)");
        for round in 1..=ROUNDS {
            run(&mut writer, "UPDATE test.t SET v = v + 1");
            assert_eq!(one(&mut reader, "SELECT v FROM test.t"), round.to_string());
            if round % 10 == 0 {
                run(&mut writer, "UPDATE test.t SET v = v + 0, id = 1");
                run(&mut reader, "INSERT INTO test.log SELECT v FROM test.t");
                let newest = one(&mut reader, "SELECT MAX(v) FROM test.log");
                assert_eq!(newest, round.to_string());
            }
        }
        run(&mut reader, "ROLLBACK");
    }
}
