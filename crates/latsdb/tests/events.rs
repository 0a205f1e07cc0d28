//! Events: they run when it is time, once, as their definer, on one node of a cluster.

use std::time::{Duration, Instant};

use mysql_client::Client;

use crate::cluster::{Cluster, code, eventually, one, run};
use crate::support::{Running, admin, directory, rows};

/// Waits until a query has this answer.
fn until(client: &mut Client, sql: &str, wanted: &str) {
    eventually(sql, || match one(client, sql) {
        found if found == wanted => Ok(()),
        found => Err(found),
    });
}

#[test]
fn events_run_when_it_is_time_and_finished_ones_go() {
    let data = directory("events");
    let node = Running::start(&data);
    let mut client = node.client();
    run(&mut client, "USE test");
    run(
        &mut client,
        "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(20), who VARCHAR(50))",
    );
    run(&mut client, "CREATE USER worker@localhost");
    run(&mut client, "GRANT INSERT, EVENT ON test.* TO worker@localhost");
    let often = "CREATE DEFINER = worker@localhost EVENT often ON SCHEDULE EVERY 1 SECOND ON COMPLETION PRESERVE DO \
                 BEGIN DECLARE n INT DEFAULT 1; SELECT n; INSERT INTO log (what, who) VALUES ('often', CURRENT_USER()); END";
    run(&mut client, often);
    run(
        &mut client,
        "CREATE EVENT once ON SCHEDULE AT NOW() + INTERVAL 1 SECOND DO INSERT INTO log (what) VALUES ('once')",
    );
    run(
        &mut client,
        "CREATE EVENT kept ON SCHEDULE AT NOW() ON COMPLETION PRESERVE DO INSERT INTO log (what) VALUES ('kept')",
    );
    run(
        &mut client,
        "CREATE EVENT never ON SCHEDULE EVERY 1 SECOND DISABLE DO INSERT INTO log (what) VALUES ('never')",
    );
    // What fails, fails alone.
    run(
        &mut client,
        "CREATE EVENT wrong ON SCHEDULE EVERY 1 SECOND DO INSERT INTO nowhere VALUES (1)",
    );
    until(&mut client, "SELECT COUNT(*) FROM log WHERE what = 'once'", "1");
    until(&mut client, "SELECT COUNT(*) >= 3 FROM log WHERE what = 'often'", "1");
    let shown = "SELECT GROUP_CONCAT(EVENT_NAME, ' ', STATUS ORDER BY EVENT_NAME) FROM information_schema.EVENTS";
    until(
        &mut client,
        shown,
        "kept DISABLED,never DISABLED,often ENABLED,wrong ENABLED",
    );
    assert_eq!(
        one(
            &mut client,
            "SELECT COUNT(*) FROM log WHERE what = 'once' OR what = 'kept'"
        ),
        "2"
    );
    assert_eq!(one(&mut client, "SELECT COUNT(*) FROM log WHERE what = 'never'"), "0");
    assert_eq!(one(&mut client, "SELECT MAX(who) FROM log"), "worker@localhost");
    assert_eq!(
        one(
            &mut client,
            "SELECT LAST_EXECUTED >= CREATED FROM information_schema.EVENTS WHERE EVENT_NAME = 'often'"
        ),
        "1"
    );
    // At most one a second.
    let (begun, before) = (
        Instant::now(),
        one(&mut client, "SELECT COUNT(*) FROM log WHERE what = 'often'"),
    );
    std::thread::sleep(Duration::from_secs(2));
    let after = one(&mut client, "SELECT COUNT(*) FROM log WHERE what = 'often'");
    let most = begun.elapsed().as_secs() + 2;
    assert!(
        after.parse::<u64>().unwrap() - before.parse::<u64>().unwrap() <= most,
        "{before} {after}"
    );
    // Whose definer may no longer.
    run(&mut client, "REVOKE EVENT ON test.* FROM worker@localhost");
    std::thread::sleep(Duration::from_millis(1200));
    let stopped = one(&mut client, "SELECT COUNT(*) FROM log WHERE what = 'often'");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(
        one(&mut client, "SELECT COUNT(*) FROM log WHERE what = 'often'"),
        stopped
    );
    run(&mut client, "GRANT EVENT ON test.* TO worker@localhost");
    until(
        &mut client,
        &format!("SELECT COUNT(*) > {stopped} FROM log WHERE what = 'often'"),
        "1",
    );
    run(&mut client, "SET GLOBAL event_scheduler = OFF");
    std::thread::sleep(Duration::from_millis(700));
    let stopped = one(&mut client, "SELECT COUNT(*) FROM log WHERE what = 'often'");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(
        one(&mut client, "SELECT COUNT(*) FROM log WHERE what = 'often'"),
        stopped
    );
}

#[test]
fn a_running_event_is_a_connection_that_can_be_killed() {
    let data = directory("events-kill");
    let node = Running::start(&data);
    let mut client = node.client();
    run(&mut client, "USE test");
    run(&mut client, "CREATE TABLE done (id INT)");
    run(
        &mut client,
        "CREATE EVENT slow ON SCHEDULE AT NOW() DO BEGIN DO SLEEP(100); INSERT INTO done VALUES (1); END",
    );
    let of_event = "FROM information_schema.PROCESSLIST WHERE INFO LIKE '%SLEEP(100)%' AND ID <> CONNECTION_ID()";
    until(&mut client, &format!("SELECT COUNT(*) {of_event}"), "1");
    let id = one(&mut client, &format!("SELECT ID {of_event}"));
    assert_eq!(
        one(
            &mut client,
            &format!("SELECT CONCAT(USER, '@', HOST, ' ', DB) {of_event}")
        ),
        "root@localhost test"
    );
    run(&mut client, &format!("KILL {id}"));
    until(&mut client, &format!("SELECT COUNT(*) {of_event}"), "0");
    assert_eq!(one(&mut client, "SELECT COUNT(*) FROM done"), "0");
}

#[test]
fn events_outlive_a_crash_and_are_dumped() {
    let data = directory("events-crash");
    let node = Running::start(&data);
    let mut client = node.client();
    run(&mut client, "USE test");
    run(&mut client, "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY)");
    run(
        &mut client,
        "CREATE EVENT often ON SCHEDULE EVERY 1 SECOND COMMENT 'x' DO INSERT INTO log VALUES ()",
    );
    run(
        &mut client,
        "CREATE EVENT missed ON SCHEDULE AT NOW() + INTERVAL 2 SECOND DO CREATE TABLE was_missed (id INT)",
    );
    until(&mut client, "SELECT COUNT(*) > 0 FROM log", "1");
    drop(node);
    std::thread::sleep(Duration::from_secs(2));
    let (dumped, said, is_whole) = admin("dump", &data);
    assert!(is_whole, "{said}");
    assert!(
        dumped.contains("CREATE DEFINER=`root`@`localhost` EVENT `often` ON SCHEDULE EVERY 1 SECOND STARTS"),
        "{dumped}"
    );
    let node = Running::start(&data);
    let mut client = node.client();
    run(&mut client, "USE test");
    let before = one(&mut client, "SELECT COUNT(*) FROM log");
    until(&mut client, &format!("SELECT COUNT(*) > {before} FROM log"), "1");
    until(
        &mut client,
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'was_missed'",
        "1",
    );
    run(&mut client, "DROP DATABASE test");
    assert_eq!(
        rows(&mut client, "SELECT * FROM information_schema.EVENTS"),
        Vec::<String>::new()
    );
}

#[test]
fn each_turn_is_taken_by_one_node_of_a_cluster() {
    let mut cluster = Cluster::start("cluster-events");
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let mut client = cluster.client(follower);
    run(&mut client, "USE test");
    run(&mut client, "CREATE TABLE log (at DATETIME PRIMARY KEY, node INT)");
    run(&mut client, "CREATE TABLE twice (at DATETIME)");
    let event = "CREATE EVENT often ON SCHEDULE EVERY 2 SECOND DO BEGIN \
                 DECLARE EXIT HANDLER FOR 1062 INSERT INTO twice VALUES (NOW()); \
                 INSERT INTO log VALUES (NOW(), @@server_id); END";
    run(&mut client, event);
    until(&mut client, "SELECT COUNT(*) >= 2 FROM log", "1");
    assert_eq!(one(&mut client, "SELECT COUNT(DISTINCT node) FROM log"), "1");
    assert_eq!(one(&mut client, "SELECT MAX(node) FROM log"), leader.to_string());
    cluster.kill(leader);
    until(&mut client, "SELECT COUNT(DISTINCT node) FROM log", "2");
    until(&mut client, "SELECT COUNT(*) >= 5 FROM log", "1");
    assert_eq!(one(&mut client, "SELECT COUNT(*) FROM twice"), "0");
    let shown = "SELECT LAST_EXECUTED IS NOT NULL FROM information_schema.EVENTS";
    assert_eq!(one(&mut client, shown), "1");
    assert_eq!(code(&mut client, "DROP EVENT often"), 0);
}
