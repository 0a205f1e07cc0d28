//! EXPLAIN ANALYZE runs the query, and tells of each part of the plan how often it ran and what it gave.

use crate::common::{Client, Database};

/// The answer without its times.
fn analyzed(client: &mut Client, query: &str) -> String {
    let lines = client.run(&format!("EXPLAIN ANALYZE {query}"));
    let mut text = lines[1].replace("\\n", "\n");
    while let Some(start) = text.find("actual time=") {
        let time = start + "actual ".len();
        let end = time + text[time..].find(' ').unwrap();
        text.replace_range(start..=end, "");
    }
    text
}

fn database() -> (Database, Client) {
    let mut database = Database::open();
    let mut client = database.session();
    client.run("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    client.run("CREATE TABLE u (id INT PRIMARY KEY, t INT, KEY (t))");
    client.run("INSERT INTO t VALUES (1,1),(2,2),(3,3)");
    client.run("INSERT INTO u VALUES (1,1),(2,1),(3,2),(4,9)");
    (database, client)
}

#[test]
fn rows_and_loops_of_each_join_are_told() {
    let (_database, mut client) = database();
    let text = analyzed(&mut client, "SELECT * FROM t JOIN u ON u.t = t.id WHERE t.a < 3");
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].contains("join") && lines[0].ends_with("(rows=3 loops=1)"),
        "{text}"
    );
    assert!(text.contains("(rows=2 loops=1)"), "two rows pass the condition: {text}");
}

#[test]
fn what_nobody_asks_for_never_runs() {
    let (_database, mut client) = database();
    let text = analyzed(
        &mut client,
        "SELECT * FROM t STRAIGHT_JOIN u ON u.id = t.a WHERE t.a > 100",
    );
    assert!(text.contains("(never executed)"), "{text}");
    let text = analyzed(&mut client, "SELECT * FROM t WHERE id = 2");
    assert!(text.contains("(rows=1 loops=1)"), "{text}");
    let text = analyzed(&mut client, "SELECT (SELECT MAX(a) FROM t WHERE t.id = u.t) FROM u");
    assert!(
        text.contains("loops=3)"),
        "the subquery runs for each different row: {text}"
    );
}

#[test]
fn of_changes_the_reading_runs_and_nothing_is_changed() {
    let (_database, mut client) = database();
    for (change, top) in [
        ("UPDATE t JOIN u ON u.t = t.id SET t.a = 9, u.t = 9", "-> Update "),
        ("DELETE t, u FROM t JOIN u ON u.t = t.id", "-> Delete from "),
    ] {
        let text = analyzed(&mut client, change);
        assert!(text.starts_with(top) && text.contains("(rows=3 loops=1)"), "{text}");
    }
    for (change, top) in [
        ("INSERT INTO u SELECT id + 10, a FROM t", "-> Insert into u"),
        ("REPLACE INTO t SELECT id, a + 1 FROM t", "-> Replace into t"),
        (
            "INSERT INTO t SELECT id, a FROM t ON DUPLICATE KEY UPDATE t.a = 7",
            "-> Insert into t",
        ),
    ] {
        let text = analyzed(&mut client, change);
        assert!(text.starts_with(top) && text.contains("(rows=3 loops=1)"), "{text}");
    }
    for change in ["UPDATE t SET a = 9", "DELETE FROM t", "INSERT INTO t VALUES (1, 1)"] {
        let text = analyzed(&mut client, change);
        assert_eq!(text, "-> <not executable by iterator executor>\n");
    }
    assert_eq!(client.run("SELECT COUNT(*), SUM(a) FROM t")[1], "3 | 6");
    assert_eq!(client.run("SELECT COUNT(*), SUM(t) FROM u")[1], "4 | 13");
    assert_eq!(client.error("EXPLAIN ANALYZE UPDATE t SET nope = 9"), 1054);
}

#[test]
fn what_is_not_analyzed_is_refused() {
    let (_database, mut client) = database();
    assert_eq!(client.error("EXPLAIN ANALYZE SELECT 1 INTO @a"), 1235);
    assert_eq!(client.error("EXPLAIN ANALYZE FORMAT=JSON SELECT 1"), 1235);
    assert_eq!(client.error("EXPLAIN ANALYZE SELECT nope FROM t"), 1054);
    assert_eq!(client.run("SELECT COUNT(*) FROM t")[1], "3");
    // What fails while it runs fails.
    assert_eq!(client.error("EXPLAIN ANALYZE SELECT (SELECT a FROM t) FROM t"), 1242);
}
