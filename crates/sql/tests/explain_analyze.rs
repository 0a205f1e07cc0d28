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
    assert!(text.contains("loops=4)"), "the subquery runs for each row: {text}");
}

#[test]
fn only_queries_are_analyzed_and_nothing_is_changed() {
    let (_database, mut client) = database();
    assert_eq!(client.error("EXPLAIN ANALYZE DELETE FROM t"), 1235);
    assert_eq!(client.error("EXPLAIN ANALYZE FORMAT=JSON SELECT 1"), 1235);
    assert_eq!(client.error("EXPLAIN ANALYZE SELECT nope FROM t"), 1054);
    assert_eq!(client.run("SELECT COUNT(*) FROM t")[1], "3");
    // What fails while it runs fails.
    assert_eq!(client.error("EXPLAIN ANALYZE SELECT (SELECT a FROM t) FROM t"), 1242);
}
