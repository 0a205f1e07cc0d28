//! Statements of many rows on nodes that follow.

use mysql_client::Answer;

use crate::cluster::{Cluster, calls, code, one, run};

/// A statement of many rows asks the leader for many locks at once; and whoever loses a race for a key runs again, or is told.
#[test]
fn many_rows_cost_few_calls_and_no_key_is_given_twice() {
    let cluster = Cluster::start("cluster-many-rows");
    let leader = cluster.leader();
    let followers: Vec<usize> = (1..=3).filter(|&node| node != leader).collect();
    let mut client = cluster.client(followers[0]);
    run(
        &mut client,
        "CREATE TABLE test.many (id INT PRIMARY KEY, u INT UNIQUE, n INT, c INT)",
    );
    let values = |ids: std::ops::Range<i32>| {
        let rows: Vec<String> = ids.map(|id| format!("({id}, {id}, {}, 0)", id % 10)).collect();
        rows.join(", ")
    };
    let mut costs = |sql: &str| {
        let before = calls(&mut client);
        run(&mut client, sql);
        let made = calls(&mut client) - before;
        assert!(made < 60, "{made} calls for {sql:.60}");
    };
    costs(&format!("INSERT INTO test.many VALUES {}", values(0..2000)));
    costs("INSERT INTO test.many SELECT id + 2000, u + 2000, n, c FROM test.many");
    costs("UPDATE test.many SET c = c + 1");
    costs("SELECT COUNT(*) FROM (SELECT id FROM test.many WHERE n < 5 FOR UPDATE) t");
    assert_eq!(
        one(&mut client, "SELECT COUNT(*), SUM(c), COUNT(DISTINCT u) FROM test.many"),
        "4000 4000 4000"
    );
    assert_eq!(
        code(
            &mut client,
            "INSERT INTO test.many VALUES (9000, 9000, 0, 0), (9001, 17, 0, 0)"
        ),
        1062
    );
    assert_eq!(one(&mut client, "SELECT COUNT(*) FROM test.many WHERE id >= 9000"), "0");

    // Two nodes at once, the same keys in other rows: every key is somebody's, whoever was told so has it, and no index has two of it.
    run(
        &mut client,
        "CREATE TABLE test.race (id INT PRIMARY KEY, u INT, who INT, UNIQUE (u))",
    );
    let counts: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let racers: Vec<_> = [leader, followers[0], followers[1], followers[0]]
            .into_iter()
            .enumerate()
            .map(|(who, node)| {
                let mut client = cluster.client(node);
                scope.spawn(move || {
                    let (mut added, mut lost) = (0, 0);
                    for round in 0..40 {
                        let first = round * 50;
                        let row = |at: i32| format!("({}, {}, {who})", first + at, first + (at + who as i32 * 7) % 50);
                        let rows = (0..50).map(row).collect::<Vec<_>>().join(", ");
                        let sql = match round % 3 {
                            0 => format!("INSERT IGNORE INTO test.race VALUES {rows}"),
                            1 => format!("INSERT INTO test.race VALUES {rows} ON DUPLICATE KEY UPDATE who = who"),
                            _ => format!("INSERT INTO test.race VALUES {rows}"),
                        };
                        match client.query(&sql).unwrap() {
                            Answer::Ok { affected, .. } => added += affected,
                            Answer::Error { code: 1062 | 1213, .. } => lost += 1,
                            other => panic!("{sql:.60}: {other:?}"),
                        }
                    }
                    (added, lost)
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    let added: u64 = counts.iter().map(|(added, _)| added).sum();
    for index in ["PRIMARY", "u"] {
        let sql =
            format!("SELECT COUNT(*), COUNT(DISTINCT id), COUNT(DISTINCT u) FROM test.race FORCE INDEX ({index})");
        assert_eq!(one(&mut client, &sql), format!("{added} {added} {added}"), "{counts:?}");
    }
    assert!(added > 1000, "{counts:?}");
}
