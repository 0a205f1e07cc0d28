//! Data directories that earlier versions or accidents have left behind.

use crate::support::{Running, directory, fixture, rows};
use mysql_client::Answer;

#[test]
fn a_directory_whose_log_names_a_table_twice_opens() {
    let data = fixture("orphaned-table");
    for start in ["replayed", "from the checkpoint"] {
        let node = Running::start(&data);
        assert_eq!(
            node.rows("SELECT * FROM shop.item ORDER BY 1"),
            ["1 one", "2 two"],
            "{start}"
        );
        assert_eq!(node.rows("SELECT * FROM shop.t ORDER BY 1"), ["1 2", "2 3"], "{start}");
        assert_eq!(
            node.rows("SHOW TABLES FROM shop"),
            ["item", "t"],
            "the CREATE TABLE was aborted; {start}"
        );
        let mut client = node.client();
        rows(&mut client, "CREATE TABLE shop.u (a INT PRIMARY KEY)");
        rows(&mut client, "INSERT INTO shop.u VALUES (7)");
        rows(&mut client, "ALTER TABLE shop.t ADD COLUMN v2 BIGINT DEFAULT (v1 + 2)");
        assert_eq!(
            rows(&mut client, "SELECT * FROM shop.t ORDER BY 1"),
            ["1 2 4", "2 3 5"],
            "{start}"
        );
        rows(&mut client, "ALTER TABLE shop.t DROP COLUMN v2");
        rows(&mut client, "DROP TABLE shop.u");
        node.stop();
    }
}

/// A panic inside a statement, at any step, ends the connection with 1105 and leaves nothing behind: no lock, no open
/// transaction, no half-made table.
#[test]
fn a_panic_inside_a_statement_leaves_nothing_behind() {
    let node = Running::start(&directory("panics"));
    let mut admin = node.client();
    rows(&mut admin, "CREATE TABLE test.t (a INT PRIMARY KEY, b INT)");
    rows(&mut admin, "INSERT INTO test.t VALUES (1, 1), (2, 2)");
    let steps = [
        ("ddl.locked", "CREATE TABLE test.made (a INT)"),
        ("ddl.prepared", "CREATE TABLE test.made (a INT)"),
        ("ddl.committing", "CREATE TABLE test.made (a INT)"),
        ("statement.ran", "UPDATE test.t SET b = 99"),
        ("commit.proposing", "COMMIT"),
        ("temporary.made", "CREATE TEMPORARY TABLE test.made (a INT)"),
    ];
    for (at, (step, statement)) in steps.into_iter().enumerate() {
        let mut victim = node.client();
        rows(&mut victim, "SELECT GET_LOCK('lock', 1)");
        rows(&mut victim, "BEGIN");
        rows(&mut victim, "UPDATE test.t SET b = 77 WHERE a = 1");
        if statement.contains("TABLE") {
            // It would be committed by the change of the schema.
            rows(&mut victim, "ROLLBACK");
        }
        rows(&mut admin, &format!("SET GLOBAL debug = '{step}=panic@1'"));
        let answer = victim.query(statement).unwrap();
        assert!(matches!(answer, Answer::Error { code: 1105, .. }), "{step}: {answer:?}");
        assert!(victim.query("DO 1").is_err(), "{step}: the connection is closed");
        let metrics = node.get("/metrics");
        assert!(metrics.contains(&format!("latsdb_panics_total {}\n", at + 1)), "{step}");
        // Nobody else is kept waiting, by rows, tables, the catalog or names.
        rows(
            &mut admin,
            "SET SESSION lock_wait_timeout = 5, innodb_lock_wait_timeout = 5",
        );
        assert_eq!(
            rows(&mut admin, "SELECT GET_LOCK('lock', 5), RELEASE_LOCK('lock')"),
            ["1 1"],
            "{step}"
        );
        assert_eq!(
            rows(&mut admin, "SELECT * FROM test.t ORDER BY 1"),
            ["1 1", "2 2"],
            "{step}"
        );
        assert_eq!(rows(&mut admin, "SHOW TABLES FROM test"), ["t"], "{step}");
        rows(&mut admin, "UPDATE test.t SET b = b + 1");
        rows(&mut admin, "UPDATE test.t SET b = b - 1");
        rows(&mut admin, "CREATE TABLE test.next (a INT PRIMARY KEY) SELECT 1 AS a");
        rows(&mut admin, "ALTER TABLE test.next ADD COLUMN b INT FIRST");
        rows(&mut admin, "DROP TABLE test.next");
    }
    node.stop();
}

/// A panic of the shard's own thread stops the commits and says so; nobody waits for ever, and a restart is whole.
#[test]
fn a_panic_of_the_shard_stops_its_commits() {
    let data = directory("shard-panics");
    for step in ["shard.logging", "shard.applying"] {
        let mut node = Running::start(&data);
        let mut admin = node.client();
        rows(&mut admin, "CREATE TABLE IF NOT EXISTS test.t (a INT PRIMARY KEY)");
        rows(&mut admin, "REPLACE INTO test.t VALUES (1)");
        rows(&mut admin, &format!("SET GLOBAL debug = '{step}=panic@1'"));
        for statement in ["REPLACE INTO test.t VALUES (2)", "REPLACE INTO test.t VALUES (3)"] {
            let answer = admin.query(statement).unwrap();
            assert!(matches!(answer, Answer::Error { code: 1180, .. }), "{step}: {answer:?}");
        }
        assert_eq!(
            rows(&mut admin, "SELECT a FROM test.t WHERE a = 1"),
            ["1"],
            "{step}: reads go on"
        );
        assert!(node.get("/health").contains("no commits are taken"), "{step}");
        node.child.kill().unwrap();
        node.child.wait().unwrap();
        let node = Running::start(&data);
        let found = node.rows("SELECT a FROM test.t WHERE a <> 2 ORDER BY 1");
        assert_eq!(found, ["1"], "{step}: the second change was refused");
        node.stop();
    }
}
