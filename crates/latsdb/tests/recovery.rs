//! Data directories that earlier versions or accidents have left behind.

use crate::support::{Running, directory, fixture, rows, verify};
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

/// Batches and checkpoints had the leader's term in the place of a transaction's issuer, and no moments.
#[test]
fn a_directory_without_an_identity_gets_one() {
    let data = fixture("before-issuers");
    for start in 1..=3 {
        let node = Running::start(&data);
        let items = node
            .rows("SELECT * FROM shop.item WHERE name > '' ORDER BY id")
            .join(",");
        assert_eq!(items, "2 TWO,3 three,4 four", "start {start}");
        assert_eq!(node.rows("SELECT COUNT(*), SUM(n) FROM shop.many"), ["9000 81009000"]);
        assert!(data.join("identity").exists());
        let status: String = node.get("/status").split_whitespace().collect();
        assert!(status.contains("\"level\":1,"), "{status}");
        let mut client = node.client();
        rows(&mut client, "UPDATE shop.many SET n = n + 1");
        rows(&mut client, "UPDATE shop.many SET n = n - 1");
        match start {
            1 => node.signal("KILL"),
            _ => node.stop(),
        }
    }
    let (said, is_whole) = verify(&data);
    assert!(is_whole, "{said}");
}

/// Temporary tables were tables of the shard once. What a node that was killed, or stopped, has left of them is dropped.
#[test]
fn temporary_tables_of_an_older_version_are_dropped() {
    let left = [
        ("temporary-in-log", "1 one,2 two,3 three"),
        ("temporary-in-checkpoint", "1 one,2 two"),
    ];
    for (name, items) in left {
        let data = fixture(name);
        for start in 1..3 {
            let node = Running::start(&data);
            assert_eq!(
                node.rows("SELECT * FROM shop.item ORDER BY 1").join(","),
                items,
                "{name}, start {start}"
            );
            assert_eq!(node.rows("SHOW TABLES FROM shop"), ["item"], "{name}, start {start}");
            let mut client = node.client();
            // An id that those had.
            rows(
                &mut client,
                "CREATE TEMPORARY TABLE shop.item (a INT PRIMARY KEY) SELECT 5 AS a",
            );
            assert_eq!(rows(&mut client, "SELECT * FROM shop.item"), ["5"]);
            let kept = items.split(',').count();
            let figures = node.get("/metrics");
            let counted = figures.lines().find_map(|line| line.strip_prefix("latsdb_rows "));
            let counted: usize = counted.unwrap().parse().unwrap();
            assert!(counted < kept + 30, "the catalog's rows and {kept}, not {counted}");
            node.stop();
            let (found, is_whole) = verify(&data);
            assert!(
                is_whole && found.contains(&format!("is in order: 1 tables, {kept} rows")),
                "{found}"
            );
        }
    }
}

/// What is a session's own never enters the log, is charged, and is gone with the session.
#[test]
fn temporary_tables_leave_no_trace_in_the_log() {
    let data = directory("temporary");
    let node = Running::start(&data);
    let logged = || {
        let figures = node.get("/metrics");
        let written = figures
            .lines()
            .find(|line| line.starts_with("latsdb_log_written_bytes"));
        written.unwrap().to_owned()
    };
    let charged = || {
        let sum = "SELECT CURRENT_NUMBER_OF_BYTES_USED FROM performance_schema.memory_summary_global_by_event_name \
                   WHERE EVENT_NAME = 'memory/latsdb/temporary'";
        node.rows(sum)[0].parse::<u64>().unwrap()
    };
    let mut admin = node.client();
    rows(&mut admin, "CREATE TABLE test.t (a INT PRIMARY KEY, b INT)");
    rows(&mut admin, "INSERT INTO test.t VALUES (1, 1), (2, 2)");
    rows(&mut admin, "SET GLOBAL super_read_only = ON");
    let before = logged();
    let mut client = node.client();
    rows(
        &mut client,
        "CREATE TEMPORARY TABLE test.own (a INT PRIMARY KEY, b INT, KEY (b))",
    );
    rows(&mut client, "INSERT INTO test.own SELECT * FROM test.t");
    rows(&mut client, "INSERT INTO test.own SELECT a + 2, b FROM test.own");
    rows(&mut client, "BEGIN");
    rows(&mut client, "UPDATE test.own JOIN test.t USING (a) SET own.b = 7");
    rows(&mut client, "COMMIT");
    rows(&mut client, "ALTER TABLE test.own ADD c INT DEFAULT 5");
    assert_eq!(
        rows(&mut client, "SELECT COUNT(*), SUM(b), SUM(c) FROM test.own"),
        ["4 17 20"]
    );
    assert!(charged() > 0);
    assert_eq!(rows(&mut admin, "SHOW TABLES FROM test"), ["t"]);
    drop(client);
    while charged() > 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(logged(), before);
    node.stop();
}

/// Automatic ids that were rolled back, or whose statement failed, are not given again, whether the node was killed or stopped; and
/// none is left out.
#[test]
fn automatic_ids_outlast_the_node() {
    let data = directory("automatic-ids");
    let mut node = Running::start(&data);
    let mut next = 1;
    node.rows("CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)");
    for how in ["KILL", "TERM"] {
        let mut client = node.client();
        rows(&mut client, &format!("INSERT INTO test.t (v) VALUES ({next})"));
        rows(&mut client, "BEGIN");
        rows(&mut client, "INSERT INTO test.t (v) VALUES (-1), (-2), (-3)");
        rows(&mut client, "ROLLBACK");
        assert!(matches!(
            client.query(&format!("INSERT INTO test.t (v) VALUES ({next})")),
            Ok(Answer::Error { code: 1062, .. })
        ));
        next += 5;
        let logged = |node: &Running| {
            let status = node.get("/status");
            let (_, behind) = status.split_once("\"last_log_index\":").expect("the status names it");
            let digits: String = behind.trim_start().chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u64>().expect("a number")
        };
        let before = logged(&node);
        while how == "KILL" && logged(&node) == before {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        match how {
            "KILL" => {
                node.signal(how);
                drop(node);
            }
            _ => node.stop(),
        }
        node = Running::start(&data);
        let given = "SELECT auto_increment FROM information_schema.tables WHERE table_name = 't'";
        assert_eq!(node.rows(given), [next.to_string()], "{how}");
    }
    node.stop();
}

/// Values that were persisted are there before the first client is, whether the node was stopped or killed.
#[test]
fn persisted_variables_outlast_the_node() {
    let data = directory("persisted");
    let shown = "SELECT @@GLOBAL.max_connections, @@GLOBAL.wait_timeout, @@collation_server, @@autocommit, @@GLOBAL.net_read_timeout";
    let node = Running::start(&data);
    let mut client = node.client();
    rows(
        &mut client,
        "SET PERSIST max_connections = 40, PERSIST_ONLY wait_timeout = 60, GLOBAL net_read_timeout = 7",
    );
    rows(
        &mut client,
        "SET PERSIST character_set_server = latin1, PERSIST_ONLY autocommit = 0",
    );
    assert_eq!(rows(&mut client, shown), ["40 28800 utf8mb4_0900_ai_ci 1 7"]);
    node.signal("KILL");
    drop(node);
    for how in ["killed", "stopped"] {
        let node = Running::start(&data);
        assert_eq!(node.rows(shown), ["40 60 latin1_swedish_ci 0 30"], "{how}");
        let sources = "SELECT COUNT(*), COUNT(SET_TIME), MIN(SET_USER) FROM performance_schema.variables_info \
                       WHERE VARIABLE_SOURCE = 'PERSISTED'";
        assert_eq!(node.rows(sources), ["4 4 root"], "{how}");
        node.stop();
    }
    let node = Running::start(&data);
    node.rows("RESET PERSIST max_connections");
    node.rows("SET PERSIST super_read_only = 1");
    node.signal("KILL");
    drop(node);
    let node = Running::start(&data);
    assert_eq!(
        node.rows("SELECT @@max_connections, @@read_only, @@super_read_only"),
        ["10000 1 1"]
    );
    node.rows("RESET PERSIST");
    node.stop();
    assert_eq!(
        Running::start(&data).rows(shown),
        ["10000 28800 utf8mb4_0900_ai_ci 1 30"]
    );
}

const ADD_COLUMN: &str = "ALTER TABLE test.t ADD COLUMN made INT DEFAULT (a + 1)";
const ADD_INDEX: &str = "ALTER TABLE test.t ADD UNIQUE (b, a)";

/// A panic inside a statement, at any step, is answered with 1105 and leaves nothing behind: no lock, no open transaction, no half-made
/// table, no temporary table. The connection goes on, with its variables and its prepared statements.
#[test]
fn a_panic_inside_a_statement_leaves_nothing_behind() {
    let data = directory("panics");
    let node = Running::start(&data);
    let mut admin = node.client();
    rows(&mut admin, "CREATE TABLE test.t (a INT PRIMARY KEY, b INT)");
    rows(&mut admin, "INSERT INTO test.t VALUES (1, 1), (2, 2)");
    let steps = [
        ("ddl.locked", "CREATE TABLE test.made (a INT)"),
        ("ddl.prepared", "CREATE TABLE test.made (a INT)"),
        ("ddl.committing", "CREATE TABLE test.made (a INT)"),
        ("alter.copy_made", ADD_COLUMN),
        ("alter.copied_some", ADD_COLUMN),
        ("alter.copied", ADD_COLUMN),
        ("ddl.committing", ADD_COLUMN),
        ("alter.indexed", ADD_INDEX),
        ("ddl.committing", ADD_INDEX),
        ("statement.planned", "UPDATE test.t SET b = 99"),
        ("statement.ran", "UPDATE test.t SET b = 99"),
        ("commit.proposing", "COMMIT"),
        ("temporary.made", "CREATE TEMPORARY TABLE test.made (a INT)"),
    ];
    for (at, (step, statement)) in steps.into_iter().enumerate() {
        let mut victim = node.client();
        rows(&mut victim, "SELECT GET_LOCK('lock', 1)");
        rows(
            &mut victim,
            "SET @kept = 7, SESSION max_execution_time = 60000, sql_select_limit = 5",
        );
        rows(&mut victim, "PREPARE kept FROM 'SELECT a + ? FROM test.t ORDER BY 1'");
        rows(
            &mut victim,
            "CREATE TEMPORARY TABLE test.own (a INT PRIMARY KEY) SELECT 1 AS a",
        );
        rows(&mut victim, "BEGIN");
        rows(&mut victim, "UPDATE test.t SET b = 77 WHERE a = 1");
        if statement.contains("TABLE") {
            // It would be committed by the change of the schema.
            rows(&mut victim, "ROLLBACK");
        }
        rows(&mut admin, &format!("SET GLOBAL debug = '{step}=panic@1'"));
        let answer = victim.query(statement).unwrap();
        assert!(matches!(answer, Answer::Error { code: 1105, .. }), "{step}: {answer:?}");
        assert_eq!(
            rows(&mut victim, "SELECT @kept, @@sql_select_limit, IS_FREE_LOCK('lock')"),
            ["7 5 1"],
            "{step}"
        );
        assert_eq!(rows(&mut victim, "EXECUTE kept USING @kept"), ["8", "9"], "{step}");
        let own = victim.query("SELECT * FROM test.own").unwrap();
        assert!(matches!(own, Answer::Error { code: 1146, .. }), "{step}: {own:?}");
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
    let (found, is_whole) = verify(&data);
    assert!(is_whole && found.contains("is in order: 1 tables, 2 rows"), "{found}");
}

/// A panic after any of the commits of a change: also after the last one, which puts the copy in its place.
#[test]
fn a_panic_behind_a_commit_does_not_take_back_what_was_committed() {
    let data = directory("panics-behind");
    let node = Running::start(&data);
    let mut admin = node.client();
    for count in 1..=5 {
        rows(&mut admin, "DROP TABLE IF EXISTS test.t");
        rows(&mut admin, "CREATE TABLE test.t (a INT PRIMARY KEY, b INT, KEY (b))");
        rows(&mut admin, "INSERT INTO test.t VALUES (1, 1), (2, 2)");
        rows(
            &mut admin,
            &format!("SET GLOBAL debug = 'commit.answered=panic@{count}'"),
        );
        // It ends with the statement's panic, or is gone.
        let _ = node.client().query(ADD_COLUMN);
        rows(&mut admin, "SET GLOBAL debug = ''");
        let read = rows(&mut admin, "SELECT a, b FROM test.t ORDER BY 1");
        assert_eq!(read, ["1 1", "2 2"], "{count}");
    }
    node.stop();
    let (found, is_whole) = verify(&data);
    assert!(is_whole, "{found}");
}

/// Killed at any step of a change of the schema, a node comes back with the table as it was or as it was to be, and nothing beside it.
#[test]
fn a_kill_at_any_step_of_a_change_leaves_all_of_it_or_nothing() {
    let data = directory("kills");
    let steps = [
        "ddl.locked",
        "ddl.prepared",
        "ddl.committing",
        "ddl.committed",
        "ids.leasing",
        "ids.leased",
        "alter.copy_made",
        "alter.copied_some",
        "alter.copied",
        "alter.indexed",
        "shard.logging",
        "shard.applying",
        "commit.answered",
    ];
    for step in steps {
        let mut node = Running::start(&data);
        let mut admin = node.client();
        rows(&mut admin, "DROP TABLE IF EXISTS test.t, test.made");
        rows(&mut admin, "CREATE TABLE test.t (a INT PRIMARY KEY, b INT, KEY (b))");
        rows(&mut admin, "INSERT INTO test.t VALUES (1, 1), (2, 2)");
        rows(&mut admin, "CREATE TEMPORARY TABLE test.own (a INT PRIMARY KEY)");
        rows(&mut admin, "INSERT INTO test.own VALUES (5)");
        rows(&mut admin, &format!("SET GLOBAL debug = '{step}=kill@1'"));
        // Steps that an ALTER does not come to are left for the statements after it.
        for statement in [
            ADD_COLUMN,
            ADD_INDEX,
            "INSERT INTO test.t (a, b) VALUES (3, 3)",
            "CREATE TABLE test.made (a INT)",
        ] {
            if admin.query(statement).is_err() {
                break;
            }
        }
        let _ = node.child.kill();
        node.child.wait().unwrap();
        let (found, is_whole) = verify(&data);
        assert!(is_whole, "{step}, before the start: {found}");
        let node = Running::start(&data);
        let found = node.rows("SELECT a, b FROM test.t WHERE a < 3 ORDER BY a");
        assert_eq!(found, ["1 1", "2 2"], "{step}");
        let columns = node.rows("SHOW COLUMNS FROM test.t").len();
        assert!(columns == 2 || columns == 3, "{step}");
        if columns == 3 {
            assert_eq!(
                node.rows("SELECT made FROM test.t WHERE a < 3 ORDER BY a"),
                ["2", "3"],
                "{step}"
            );
        }
        let mut client = node.client();
        for number in 0..3 {
            rows(
                &mut client,
                &format!("CREATE TABLE test.after{number} (a INT PRIMARY KEY)"),
            );
            rows(&mut client, &format!("DROP TABLE test.after{number}"));
        }
        node.stop();
        let (found, is_whole) = verify(&data);
        assert!(is_whole, "{step}: {found}");
    }
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
