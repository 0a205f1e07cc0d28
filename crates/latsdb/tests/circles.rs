//! Circles of waits that go through the lock tables of two nodes.

use std::thread::JoinHandle;
use std::time::Instant;

use mysql_client::Client;

use crate::cluster::{Cluster, beside, code, eventually, one, run, wait_until_waiting};

/// A statement of a session that goes on in it.
fn in_session(mut client: Client, sql: &'static str) -> JoinHandle<(Client, u16)> {
    std::thread::spawn(move || {
        let code = code(&mut client, sql);
        (client, code)
    })
}

/// A session whose patience ends no circle that the nodes find: that is a matter of less than a second. Where they find none it has another error.
fn patient(cluster: &Cluster, node: usize) -> Client {
    let mut client = cluster.client(node);
    run(&mut client, "SET innodb_lock_wait_timeout = 60, lock_wait_timeout = 60");
    client
}

/// One session uses a table whose definition changes, another one waits for the change, and holds a row that the first wants.
struct Circle {
    user: usize,
    uses: &'static str,
    change: &'static str,
    /// Rows that the holder has locked: who has more does not give up.
    rows: &'static str,
    /// Whether the user gives up, which waits for a row, or the holder, which waits for the definition.
    user_gives_up: bool,
}

#[test]
fn a_circle_of_rows_and_definitions_is_a_deadlock_on_any_node() {
    let cluster = Cluster::start("cluster-circles");
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let other = (1..=3).find(|node| ![leader, follower].contains(node)).unwrap();
    let mut watcher = cluster.client(follower);
    run(&mut watcher, "CREATE TABLE test.t (id INT PRIMARY KEY, v INT)");
    run(&mut watcher, "CREATE TABLE test.r (id INT PRIMARY KEY, v INT)");
    run(&mut watcher, "CREATE TABLE test.s (id INT PRIMARY KEY, v INT)");
    run(
        &mut watcher,
        "INSERT INTO test.r VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)",
    );
    let only_read = "SELECT COUNT(*) FROM test.t";
    let circles = [
        // The one who reads the table has asked the leader for nothing.
        Circle {
            user: follower,
            uses: only_read,
            change: "ALTER TABLE test.t ADD COLUMN w INT",
            rows: "UPDATE test.r SET v = v + 1 WHERE id <= 3",
            user_gives_up: true,
        },
        Circle {
            user: follower,
            uses: only_read,
            change: "TRUNCATE TABLE test.t",
            rows: "UPDATE test.r SET v = v + 1 WHERE id <= 3",
            user_gives_up: true,
        },
        Circle {
            user: follower,
            uses: "INSERT INTO test.t (id) SELECT 10 + id FROM test.r",
            change: "ALTER TABLE test.t ADD COLUMN x INT",
            rows: "UPDATE test.r SET v = v + 1 WHERE id = 1",
            user_gives_up: false,
        },
        // The change waits at the leader for a session of a third node, which has written to the table.
        Circle {
            user: other,
            uses: "INSERT INTO test.t (id) SELECT 20 + id FROM test.r",
            change: "ALTER TABLE test.t ADD COLUMN y INT",
            rows: "UPDATE test.r SET v = v + 1 WHERE id = 1",
            user_gives_up: false,
        },
        Circle {
            user: other,
            uses: "INSERT INTO test.t (id) VALUES (30)",
            change: "TRUNCATE TABLE test.t",
            rows: "UPDATE test.r SET v = v + 1",
            user_gives_up: true,
        },
    ];
    for circle in circles {
        let Circle { user, uses, change, .. } = circle;
        let what = format!("{uses}; {change}");
        let (mut using, mut holding) = (patient(&cluster, user), patient(&cluster, follower));
        run(&mut using, "BEGIN");
        run(&mut using, uses);
        run(&mut holding, "BEGIN");
        run(&mut holding, circle.rows);
        let changing = patient(&cluster, follower);
        let (changing_id, holding_id) = (changing.connection_id, holding.connection_id);
        let changing = beside(changing, change);
        wait_until_waiting(&mut watcher, changing_id);
        let holding = in_session(holding, "INSERT INTO test.t (id) VALUES (100)");
        wait_until_waiting(&mut watcher, holding_id);
        let began = Instant::now();
        let using = in_session(using, "UPDATE test.r SET v = 0 WHERE id = 1");
        // Who gives up has an answer, and lets the other one go on.
        let first = match circle.user_gives_up {
            true => using,
            false => {
                let (using_again, holding) = (using, holding.join().unwrap());
                assert_eq!(holding.1, 1213, "{what}");
                println!("{:?}: {what}", began.elapsed());
                let (mut using, code) = using_again.join().unwrap();
                assert_eq!(code, 0, "{what}");
                run(&mut using, "COMMIT");
                assert_eq!(changing.join().unwrap(), 0, "{what}");
                continue;
            }
        };
        assert_eq!(first.join().unwrap().1, 1213, "{what}");
        println!("{:?}: {what}", began.elapsed());
        assert_eq!(changing.join().unwrap(), 0, "{what}");
        let (mut holding, code) = holding.join().unwrap();
        assert_eq!(code, 0, "{what}");
        run(&mut holding, "ROLLBACK");
    }
    // Waits that are no circle cost no calls.
    let mut using = patient(&cluster, follower);
    run(&mut using, "BEGIN");
    run(&mut using, only_read);
    let changing = patient(&cluster, follower);
    let id = changing.connection_id;
    let changing = beside(changing, "TRUNCATE TABLE test.t");
    wait_until_waiting(&mut watcher, id);
    let asked = || one(&mut cluster.client(follower), "SHOW STATUS LIKE 'Calls_to_leader'");
    let quiet = eventually("a second without a call", || {
        let before = asked();
        std::thread::sleep(std::time::Duration::from_secs(1));
        let after = asked();
        // A node that has transactions says that it lives; and the question itself may have read.
        let number = |row: &str| row.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap();
        let made = number(&after) - number(&before);
        if made <= 5 {
            Ok(made)
        } else {
            Err(format!("{made} calls"))
        }
    });
    println!("{quiet} calls in a second");
    run(&mut using, "COMMIT");
    assert_eq!(changing.join().unwrap(), 0);
}
