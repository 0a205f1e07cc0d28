//! Multi-valued indexes through crashes, restarts, and a cluster.

use crate::cluster::{Cluster, code, one, run};
use crate::support::{Running, directory, rows, verify, write_until_killed};
use crate::upgrade::upgrade;

const TABLE: &str = "CREATE TABLE test.t (id INT PRIMARY KEY, d JSON, n INT, INDEX z ((CAST(d->'$.z' AS UNSIGNED ARRAY))), \
    INDEX nw (n, (CAST(d->'$.w' AS CHAR(10) ARRAY))), UNIQUE INDEX u ((CAST(d->'$.u' AS SIGNED ARRAY))))";

fn search(number: u64) -> String {
    format!("SELECT COUNT(*) FROM test.t FORCE INDEX (z) WHERE {number} MEMBER OF (d->'$.z')")
}

/// Rows of random elements come, change and go while the node is killed, over and over. What is left is found by its elements and by no
/// others, and no two rows have the same unique one.
#[test]
fn elements_are_found_after_crashes() {
    let data = directory("multi-valued-crashes");
    for start in 0..4_u64 {
        let node = Running::start(&data);
        let mut client = node.client();
        match start {
            0 => drop(rows(&mut client, TABLE)),
            // From a checkpoint, and from the log.
            2 => {
                node.stop();
                continue;
            }
            _ => {}
        }
        for number in 0..10 {
            let found = rows(&mut client, &search(number));
            let scanned = search(number).replace("FORCE", "IGNORE");
            assert_eq!(found, rows(&mut client, &scanned), "{number}, start {start}");
        }
        let twice = "SELECT COUNT(*) FROM test.t a, JSON_TABLE(a.d, '$.u[*]' COLUMNS (u INT PATH '$')) x GROUP BY u HAVING COUNT(DISTINCT a.id) > 1";
        assert_eq!(rows(&mut client, twice).len(), 0, "start {start}");
        write_until_killed(&node, start, |state| {
            let pick = |shift: u32| (state >> shift) % 10;
            let (id, u) = ((state >> 40) % 50, (state >> 20) % 200);
            match state >> 62 {
                0 => format!("DELETE FROM test.t WHERE {} MEMBER OF (d->'$.z') LIMIT 1", pick(3)),
                1 => format!("UPDATE test.t SET n = n + 1 WHERE id = {id}"),
                _ => format!(
                    "REPLACE INTO test.t VALUES ({id}, '{{\"z\": [{}, {}], \"w\": [\"w{}\"], \"u\": [{u}, {u}]}}', 0)",
                    pick(3),
                    pick(13),
                    pick(23)
                ),
            }
        });
    }
    let (said, is_whole) = verify(&data);
    assert!(is_whole, "{said}");
}

/// Each node of a cluster finds the elements of its own rows, and a unique element that another node has written is taken.
#[test]
fn a_follower_finds_the_elements_that_the_leader_wrote() {
    let cluster = Cluster::start("multi-valued-cluster");
    upgrade(&cluster, 1);
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let mut client = cluster.client(leader);
    run(&mut client, TABLE);
    run(
        &mut client,
        "INSERT INTO test.t VALUES (1, '{\"z\": [1, 2], \"u\": [1, 2]}', 0), (2, '{\"z\": [2, 3], \"u\": [3]}', 0), (3, '{\"z\": []}', 0)",
    );
    let mut other = cluster.client(follower);
    assert_eq!(one(&mut other, &search(2)), "2");
    assert_eq!(
        code(&mut other, "INSERT INTO test.t VALUES (4, '{\"u\": [4, 2]}', 0)"),
        1062
    );
    run(
        &mut other,
        "UPDATE test.t SET d = '{\"z\": [4], \"u\": [2, 4]}' WHERE 1 MEMBER OF (d->'$.z')",
    );
    assert_eq!(one(&mut client, &search(2)), "1");
    run(&mut client, "INSERT INTO test.t VALUES (4, '{\"u\": [1]}', 0)");
    run(
        &mut other,
        "INSERT INTO test.t VALUES (5, '{\"u\": [9, 4]}', 0) ON DUPLICATE KEY UPDATE n = n + 1",
    );
    assert_eq!(one(&mut client, "SELECT n FROM test.t WHERE id = 1"), "1");
    run(&mut other, "REPLACE INTO test.t VALUES (6, '{\"u\": [1, 3]}', 0)");
    for node in 1..=3 {
        assert_eq!(
            one(
                &mut cluster.client(node),
                "SELECT GROUP_CONCAT(id ORDER BY id) FROM test.t"
            ),
            "1,3,6",
            "node {node}"
        );
        assert_eq!(one(&mut cluster.client(node), &search(4)), "1", "node {node}");
    }
}

/// Nodes that know nothing of such indexes are not told of any.
#[test]
fn a_cluster_of_an_older_level_has_no_multi_valued_indexes() {
    let cluster = Cluster::start_speaking("multi-valued-level", Some("1-3"));
    let mut client = cluster.client(1);
    assert_eq!(code(&mut client, TABLE), 1235);
    run(&mut client, "CREATE TABLE test.t (id INT PRIMARY KEY, d JSON)");
    let added = "ALTER TABLE test.t ADD INDEX ((CAST(d AS UNSIGNED ARRAY)))";
    assert_eq!(code(&mut client, added), 1235);
}
