//! XA transactions between PREPARE and COMMIT: kills, restarts, checkpoints, and the loss of whoever leads.

use mysql_client::{Answer, Client};

use crate::cluster::{Cluster, code, eventually, run};
use crate::support::{Running, directory, rows, verify};

fn prepare(client: &mut Client, name: &str, statements: &[&str]) {
    run(client, &format!("XA START '{name}'"));
    statements.iter().for_each(|statement| run(client, statement));
    run(client, &format!("XA END '{name}'"));
    run(client, &format!("XA PREPARE '{name}'"));
}

fn recovered(client: &mut Client) -> Vec<String> {
    rows(client, "XA RECOVER")
}

fn impatient(client: &mut Client) {
    run(client, "SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1");
}

const BEFORE: [&str; 3] = ["1 10 100", "2 20 200", "3 30 300"];
const AFTER: [&str; 3] = ["1 11 100", "3 30 300", "4 40 400"];

fn make_shop(client: &mut Client) {
    run(client, "CREATE DATABASE shop");
    run(
        client,
        "CREATE TABLE shop.t (id INT PRIMARY KEY, v INT, code INT UNIQUE)",
    );
    run(
        client,
        "INSERT INTO shop.t VALUES (1, 10, 100), (2, 20, 200), (3, 30, 300)",
    );
    run(
        client,
        "CREATE TABLE shop.child (id INT PRIMARY KEY AUTO_INCREMENT, t_id INT, FOREIGN KEY (t_id) REFERENCES shop.t (id))",
    );
}

fn prepare_changes(client: &mut Client) {
    prepare(
        client,
        "shop",
        &[
            "UPDATE shop.t SET v = 11 WHERE id = 1",
            "DELETE FROM shop.t WHERE id = 2",
            "INSERT INTO shop.t VALUES (4, 40, 400)",
            "INSERT INTO shop.child (t_id) VALUES (3)",
        ],
    );
}

/// What it holds is held, and nobody sees what it would change.
fn check_prepared(client: &mut Client) {
    impatient(client);
    assert_eq!(recovered(client), ["1 4 0 shop"]);
    assert_eq!(rows(client, "SELECT * FROM shop.t ORDER BY id"), BEFORE);
    assert_eq!(rows(client, "SELECT * FROM shop.child"), [""; 0]);
    for (statement, refused) in [
        ("UPDATE shop.t SET v = 12 WHERE id = 1", 1205),
        ("SELECT * FROM shop.t WHERE id = 2 FOR SHARE", 1205),
        ("SELECT * FROM shop.t WHERE id = 2 FOR SHARE NOWAIT", 3572),
        ("INSERT INTO shop.t VALUES (4, 0, 0)", 1205),
        ("INSERT INTO shop.t VALUES (5, 0, 400)", 1205),
        // The parent of a row that nobody sees yet.
        ("DELETE FROM shop.t WHERE id = 3", 1205),
        // A definition waits for whoever uses its table.
        ("ALTER TABLE shop.t ADD COLUMN w INT", 1205),
        ("ALTER TABLE shop.t DROP COLUMN v", 1205),
        ("CREATE INDEX v ON shop.t (v)", 1205),
        ("TRUNCATE shop.child", 1205),
        ("DROP TABLE shop.child, shop.t", 1205),
        ("DROP DATABASE shop", 1205),
        ("XA START 'shop'", 1440),
        ("XA COMMIT 'shop', '', 2", 1397),
        ("XA COMMIT 'other'", 1397),
    ] {
        assert_eq!(code(client, statement), refused, "{statement}");
    }
    // Nobody is in anybody's way otherwise.
    run(client, "INSERT INTO shop.t VALUES (9, 90, 900)");
    run(client, "DELETE FROM shop.t WHERE id = 9");
    // Its automatic id is not given again.
    run(client, "INSERT INTO shop.child (t_id) VALUES (NULL)");
    assert_ne!(rows(client, "SELECT id FROM shop.child"), ["1"]);
    run(client, "DELETE FROM shop.child");
}

fn check_committed(client: &mut Client) {
    assert_eq!(recovered(client), [""; 0]);
    assert_eq!(rows(client, "SELECT * FROM shop.t ORDER BY id"), AFTER);
    assert_eq!(rows(client, "SELECT * FROM shop.child"), ["1 3"]);
    assert_eq!(code(client, "XA COMMIT 'shop'"), 1397);
    assert_eq!(code(client, "XA ROLLBACK 'shop'"), 1397);
}

#[test]
fn a_prepared_transaction_outlives_kills_and_checkpoints() {
    let data = directory("xa-kills");
    let node = Running::start(&data);
    let mut client = node.client();
    make_shop(&mut client);
    prepare_changes(&mut client);
    check_prepared(&mut client);
    node.signal("KILL");
    drop(node);
    // From the log alone.
    let node = Running::start(&data);
    check_prepared(&mut node.client());
    // With a checkpoint.
    node.stop();
    let (said, is_whole) = verify(&data);
    assert!(is_whole, "{said}");
    let node = Running::start(&data);
    check_prepared(&mut node.client());
    node.signal("KILL");
    drop(node);
    let node = Running::start(&data);
    let mut client = node.client();
    run(&mut client, "XA COMMIT 'shop'");
    check_committed(&mut client);
    node.signal("KILL");
    drop(node);
    let node = Running::start(&data);
    let mut client = node.client();
    check_committed(&mut client);
    run(&mut client, "ALTER TABLE shop.t ADD COLUMN w INT");
    run(&mut client, "DROP TABLE shop.child, shop.t");
    node.stop();
    let (said, is_whole) = verify(&data);
    assert!(is_whole, "{said}");
}

#[test]
fn a_large_prepared_transaction_is_all_or_nothing() {
    let data = directory("xa-large");
    let node = Running::start(&data);
    let mut client = node.client();
    run(&mut client, "CREATE TABLE test.n (id INT PRIMARY KEY, v INT)");
    run(&mut client, "SET cte_max_recursion_depth = 100000");
    run(
        &mut client,
        "INSERT INTO test.n WITH RECURSIVE s AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM s WHERE i < 30000) SELECT i, 0 FROM s",
    );
    for (end, sum) in [("ROLLBACK", 0), ("COMMIT", 30_000)] {
        let mut client = node.client();
        prepare(
            &mut client,
            "large",
            &[
                "UPDATE test.n SET v = 1",
                "DELETE FROM test.n WHERE id > 20000",
                "INSERT INTO test.n SELECT id + 20000, 1 FROM test.n WHERE id <= 10000",
            ],
        );
        assert_eq!(rows(&mut client, "SELECT COUNT(*), SUM(v) FROM test.n"), ["30000 0"]);
        impatient(&mut client);
        assert_eq!(code(&mut client, "UPDATE test.n SET v = 2 WHERE id = 29999"), 1205);
        run(&mut client, &format!("XA {end} 'large'"));
        assert_eq!(
            rows(&mut client, "SELECT COUNT(*), SUM(v) FROM test.n"),
            [format!("30000 {sum}")]
        );
    }
    prepare(&mut node.client(), "last", &["UPDATE test.n SET v = 5"]);
    node.signal("KILL");
    drop(node);
    let node = Running::start(&data);
    let mut client = node.client();
    assert_eq!(rows(&mut client, "SELECT SUM(v) FROM test.n"), ["30000"]);
    run(&mut client, "XA COMMIT 'last'");
    assert_eq!(rows(&mut client, "SELECT SUM(v) FROM test.n"), ["150000"]);
    node.signal("KILL");
    drop(node);
    let node = Running::start(&data);
    assert_eq!(node.rows("SELECT COUNT(*), SUM(v) FROM test.n"), ["30000 150000"]);
    node.stop();
    let (said, is_whole) = verify(&data);
    assert!(is_whole, "{said}");
}

/// Of a table without a key: whoever leads next counts its rows on behind the greatest one that there is.
#[test]
fn rows_without_a_key_are_not_taken_for_others() {
    let data = directory("xa-keyless");
    let mut node = Running::start(&data);
    run(&mut node.client(), "CREATE TABLE test.k (v INT)");
    run(&mut node.client(), "INSERT INTO test.k VALUES (1)");
    prepare(&mut node.client(), "k", &["INSERT INTO test.k VALUES (2), (3)"]);
    for start in ["killed", "stopped"] {
        match start {
            "killed" => node.signal("KILL"),
            _ => node.signal("TERM"),
        }
        assert!(node.child.wait().is_ok());
        node = Running::start(&data);
        let mut client = node.client();
        impatient(&mut client);
        run(&mut client, "INSERT INTO test.k VALUES (4), (5)");
    }
    let mut client = node.client();
    run(&mut client, "XA COMMIT 'k'");
    assert_eq!(
        rows(&mut client, "SELECT v FROM test.k ORDER BY v"),
        ["1", "2", "3", "4", "4", "5", "5"]
    );
    node.stop();
}

#[test]
fn what_is_not_prepared_goes_with_its_session() {
    let data = directory("xa-sessions");
    let node = Running::start(&data);
    let mut client = node.client();
    run(&mut client, "CREATE TABLE test.t (id INT PRIMARY KEY)");
    for (end, id) in [(None, 1), (Some("XA END 'x'"), 2)] {
        let mut other = node.client();
        run(&mut other, "XA START 'x'");
        run(&mut other, &format!("INSERT INTO test.t VALUES ({id})"));
        if let Some(end) = end {
            run(&mut other, end);
        }
        match end {
            // It is killed, or leaves.
            Some(_) => {
                let connection = rows(&mut other, "SELECT CONNECTION_ID()").remove(0);
                run(&mut client, &format!("KILL {connection}"));
            }
            None => drop(other),
        }
        eventually("its name and its rows to be free", || {
            match code(&mut client, "XA START 'x'") {
                0 => Ok(()),
                code => Err(code.to_string()),
            }
        });
        run(&mut client, &format!("INSERT INTO test.t VALUES ({id})"));
        run(&mut client, "XA END 'x'");
        run(&mut client, "XA ROLLBACK 'x'");
    }
    let mut other = node.client();
    prepare(&mut other, "kept", &["INSERT INTO test.t VALUES (3)"]);
    drop(other);
    assert_eq!(recovered(&mut client), ["1 4 0 kept"]);
    run(&mut client, "XA COMMIT 'kept'");
    assert_eq!(rows(&mut client, "SELECT * FROM test.t"), ["3"]);
    // XA START was tried until the name was free.
    let counted = rows(
        &mut client,
        "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Com_xa%' AND Variable_name <> 'Com_xa_start'",
    );
    let expected = [
        "Com_xa_commit 1",
        "Com_xa_end 4",
        "Com_xa_prepare 1",
        "Com_xa_recover 1",
        "Com_xa_rollback 2",
    ];
    assert_eq!(counted, expected);
    // What is prepared is told to whoever may know it.
    run(
        &mut client,
        "CREATE USER teller IDENTIFIED WITH mysql_native_password BY ''",
    );
    assert_eq!(code(&mut node.client_of("teller"), "XA RECOVER"), 1401);
    run(&mut client, "GRANT XA_RECOVER_ADMIN ON *.* TO teller");
    assert_eq!(recovered(&mut node.client_of("teller")), [""; 0]);
    node.stop();
}

/// What a client was told of a transaction that moves one from an account to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Committed,
    RolledBack,
    Nothing,
}

/// Moves on, one transaction after the other, until the node is gone. Some are rolled back, some are left prepared.
fn transfer(mut client: Client, session: usize, round: usize) -> Vec<(String, Told)> {
    let mut told = Vec::new();
    if client.query("SET innodb_lock_wait_timeout = 1").is_err() {
        return told;
    }
    for number in 0.. {
        let name = format!("{round}-{session}-{number}");
        let (from, to) = ((number * 7 + session) % 40, (number * 11 + 3 * session + 1) % 40);
        let mut steps = vec![
            format!("XA START '{name}'"),
            format!("UPDATE test.account SET v = v - 1 WHERE id = {from}"),
            format!("UPDATE test.account SET v = v + 1 WHERE id = {to}"),
            format!("INSERT INTO test.moved VALUES ('{name}', {from}, {to})"),
            format!("XA END '{name}'"),
            format!("XA PREPARE '{name}'"),
        ];
        let end = match number % 16 {
            5 => None,
            3 | 9 => Some(Told::RolledBack),
            _ => Some(Told::Committed),
        };
        steps.extend(end.map(|end| match end {
            Told::RolledBack => format!("XA ROLLBACK '{name}'"),
            Told::Committed | Told::Nothing => format!("XA COMMIT '{name}'"),
        }));
        for step in &steps {
            match client.query(step) {
                Err(_gone) => {
                    told.push((name, Told::Nothing));
                    return told;
                }
                // It has waited for too long, or for each other.
                Ok(Answer::Error { .. }) => {
                    let _ = client.query(&format!("XA END '{name}'"));
                    let _ = client.query(&format!("XA ROLLBACK '{name}'"));
                    break;
                }
                Ok(_) if Some(step) == steps.last() && end.is_some() => {
                    told.push((name.clone(), end.unwrap_or(Told::Nothing)));
                }
                Ok(_) => {}
            }
        }
    }
    told
}

/// Of each all or nothing, once: as was told, and as the coordinator says afterwards.
#[test]
fn transfers_in_two_phases_add_up_over_kills() {
    let data = directory("xa-transfers");
    let mut node = Running::start(&data);
    let mut client = node.client();
    run(&mut client, "CREATE TABLE test.account (id INT PRIMARY KEY, v INT)");
    run(
        &mut client,
        "CREATE TABLE test.moved (name VARCHAR(40) PRIMARY KEY, a INT, b INT)",
    );
    let accounts: Vec<String> = (0..40).map(|id| format!("({id}, 0)")).collect();
    run(
        &mut client,
        &format!("INSERT INTO test.account VALUES {}", accounts.join(", ")),
    );
    let mut decided: Vec<(String, Told)> = Vec::new();
    for round in 0..4 {
        let told: Vec<_> = std::thread::scope(|scope| {
            let sessions: Vec<_> = (0..4)
                .map(|session| {
                    let client = node.client();
                    scope.spawn(move || transfer(client, session, round))
                })
                .collect();
            let mut watcher = node.client();
            eventually("some transfers", || {
                match rows(&mut watcher, "SELECT COUNT(*) FROM test.moved")
                    .remove(0)
                    .parse::<usize>()
                {
                    Ok(count) if count >= (round + 1) * 40 => Ok(()),
                    other => Err(format!("{other:?}")),
                }
            });
            node.signal("KILL");
            sessions
                .into_iter()
                .flat_map(|session| session.join().unwrap())
                .collect()
        });
        decided.extend(told);
        drop(node);
        node = Running::start(&data);
        let mut client = node.client();
        for (number, row) in recovered(&mut client).into_iter().enumerate() {
            let name = row.split(' ').next_back().unwrap().to_owned();
            assert!(
                decided
                    .iter()
                    .all(|(known, told)| *known != name || *told == Told::Nothing),
                "{name} has ended, and is prepared"
            );
            let (end, told) = match number % 2 {
                0 => ("COMMIT", Told::Committed),
                _ => ("ROLLBACK", Told::RolledBack),
            };
            run(&mut client, &format!("XA {end} '{name}'"));
            decided.push((name, told));
        }
        assert_eq!(recovered(&mut client), [""; 0]);
        let moved = rows(&mut client, "SELECT name FROM test.moved");
        for (name, told) in &decided {
            match told {
                Told::Committed => assert!(moved.contains(name), "{name} was committed"),
                Told::RolledBack => assert!(!moved.contains(name), "{name} was rolled back"),
                Told::Nothing => {}
            }
        }
        let wrong = "SELECT id, v FROM test.account WHERE v <>
            (SELECT COUNT(*) FROM test.moved WHERE b = id) - (SELECT COUNT(*) FROM test.moved WHERE a = id)";
        assert_eq!(rows(&mut client, wrong), [""; 0]);
    }
    node.stop();
    let (said, is_whole) = verify(&data);
    assert!(is_whole, "{said}");
}

#[test]
fn a_prepared_transaction_outlives_the_leader() {
    let mut cluster = Cluster::start("xa-cluster");
    make_shop(&mut cluster.client(1));
    // Prepared by a node that follows, and the leader is lost; then by the leader itself.
    for round in 1..=2 {
        let leader = cluster.leader();
        let preparing = match round {
            1 => cluster.follower(),
            _ => leader,
        };
        prepare_changes(&mut cluster.client(preparing));
        for node in 1..=3 {
            assert_eq!(recovered(&mut cluster.client(node)), ["1 4 0 shop"], "node {node}");
            assert_eq!(code(&mut cluster.client(node), "XA START 'shop'"), 1440, "node {node}");
        }
        cluster.kill(leader);
        let left: Vec<usize> = (1..=3).filter(|&node| node != leader).collect();
        for &node in &left {
            let mut client = cluster.client(node);
            eventually("a node to answer", || match code(&mut client, "XA RECOVER") {
                0 => Ok(()),
                code => Err(code.to_string()),
            });
            check_prepared(&mut client);
        }
        // By a node that has not prepared it, where there is one.
        let deciding = left.iter().copied().find(|&node| node != preparing).unwrap();
        run(&mut cluster.client(deciding), "XA COMMIT 'shop'");
        for &node in &left {
            check_committed(&mut cluster.client(node));
        }
        cluster.run(leader);
        cluster.wait_until_whole_from(left[0]);
        let mut client = cluster.client(leader);
        eventually("the lost node to have it", || {
            match recovered(&mut client).is_empty() && rows(&mut client, "SELECT * FROM shop.t ORDER BY id") == AFTER {
                true => Ok(()),
                false => Err(String::new()),
            }
        });
        check_committed(&mut client);
        run(&mut client, "DROP DATABASE shop");
        make_shop(&mut client);
    }
    // All of them at once.
    prepare_changes(&mut cluster.client(2));
    for node in 1..=3 {
        cluster.kill(node);
    }
    cluster.run_together(&[1, 2, 3]);
    cluster.wait_until_whole_from(1);
    check_prepared(&mut cluster.client(3));
    run(&mut cluster.client(2), "XA ROLLBACK 'shop'");
    for node in 1..=3 {
        let mut client = cluster.client(node);
        assert_eq!(recovered(&mut client), [""; 0]);
        assert_eq!(rows(&mut client, "SELECT * FROM shop.t ORDER BY id"), BEFORE);
    }
}
