//! Limits of statements, where the allocator counts.

use crate::support::{Running, directory, rows};
use mysql_client::{Answer, Client};

/// The number of the error that a statement ends with, 0 if it does not.
fn error_of(client: &mut Client, sql: &str) -> u16 {
    match client.query(sql).unwrap() {
        Answer::Error { code, .. } => code,
        _ => 0,
    }
}

/// A correlated subquery that has no memory for a hash table of its rows reads them again for each row around it.
#[test]
fn correlated_subqueries_need_no_hash_table() {
    let data = directory("hashed");
    let node = Running::start(&data);
    let mut client = node.client();
    rows(
        &mut client,
        "CREATE TABLE test.inner_rows (a INT PRIMARY KEY, b VARCHAR(100), c INT)",
    );
    rows(
        &mut client,
        "INSERT INTO test.inner_rows WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 99) \
         SELECT x.n * 100 + y.n, CONCAT(REPEAT('x', 80), x.n * 100 + y.n), y.n FROM n x, n y",
    );
    rows(
        &mut client,
        "CREATE TABLE test.outer_rows (k INT PRIMARY KEY, b VARCHAR(100))",
    );
    rows(
        &mut client,
        "INSERT INTO test.outer_rows SELECT a, IF(a % 2, b, 'none') FROM test.inner_rows WHERE a < 10 UNION ALL SELECT -1, NULL",
    );
    let queries = [
        "SELECT COUNT(*) FROM test.outer_rows o WHERE EXISTS (SELECT 1 FROM test.inner_rows i WHERE i.b = o.b AND i.c >= 3)",
        "SELECT COUNT(*) FROM test.outer_rows o WHERE NOT EXISTS (SELECT 1 FROM test.inner_rows i WHERE i.b = o.b)",
        "SELECT COUNT(*) FROM test.outer_rows o WHERE o.k IN (SELECT a FROM test.inner_rows i WHERE i.b = o.b)",
        "SELECT SUM((SELECT MAX(c) FROM test.inner_rows i WHERE i.b = o.b)) FROM test.outer_rows o",
        "SELECT COUNT(*) FROM test.outer_rows o WHERE EXISTS \
         (SELECT 1 FROM test.inner_rows i JOIN test.outer_rows p ON p.b = i.b WHERE i.b = o.b)",
    ];
    let answers = queries.map(|query| rows(&mut client, query));
    rows(&mut client, "SET query_memory_limit = 1000000");
    for (query, expected) in queries.iter().zip(answers) {
        assert_eq!(rows(&mut client, query), expected, "{query}");
    }
    // A join alone would read for hours.
    let join = "SELECT COUNT(*) FROM test.inner_rows i JOIN test.inner_rows j ON i.b = j.b";
    assert_eq!(error_of(&mut client, join), 1038);
    node.stop();
}

/// Whatever a variable is set to, who comes next can look at it and set it back.
#[test]
fn no_value_of_a_variable_locks_the_administrator_out() {
    let data = directory("variables");
    let node = Running::start(&data);
    let globals = rows(&mut node.client(), "SHOW GLOBAL VARIABLES");
    let switches = ["ON", "OFF", "1", "2", "0", "-1", "18446744073709551615"];
    let mut taken = 0;
    for global in &globals {
        let (name, before) = global.split_once(' ').expect("a name and a value");
        let is_number = before.parse::<f64>().is_ok();
        // Only these say by their kind alone what they take. Without TLS, which this client has not, the Unix socket is left.
        if !is_number && !["ON", "OFF"].contains(&before) || name == "require_secure_transport" {
            continue;
        }
        for value in switches {
            if error_of(&mut node.client(), &format!("SET GLOBAL {name} = {value}")) != 0 {
                continue;
            }
            taken += 1;
            let mut next = node.client();
            for show in ["SHOW GLOBAL VARIABLES", "SHOW GLOBAL STATUS", "SHOW PROCESSLIST"] {
                let error = error_of(&mut next, show);
                // A millisecond may be over before a statement of a machine that does much else has begun.
                let is_in_time = name != "max_execution_time" || error != 3024;
                assert!(error == 0 || !is_in_time, "{show} after {name} = {value}: {error}");
            }
            let back = format!("SET GLOBAL {name} = {before}");
            assert_eq!(error_of(&mut next, &back), 0, "{back} after {value}");
        }
    }
    assert!(taken > 300, "{taken} values were taken");
    let mut client = node.client();
    assert_eq!(error_of(&mut client, "SET query_memory_limit = 2"), 0);
    assert_eq!(
        rows(&mut client, "SHOW WARNINGS"),
        ["Warning 1292 Truncated incorrect query_memory_limit value: '2'"]
    );
    assert_eq!(rows(&mut client, "SELECT @@query_memory_limit"), ["1048576"]);
    rows(&mut client, "SET query_memory_limit = 0");
    assert_eq!(
        rows(&mut client, "SELECT @@query_memory_limit, @@warning_count"),
        ["0 0"]
    );
    node.stop();
}

/// `regexp_time_limit` and `regexp_stack_limit` are looked at by every session's next statement.
#[test]
fn regular_expressions_have_their_limits() {
    let data = directory("regexp");
    let node = Running::start(&data);
    let (mut admin, mut client) = (node.client(), node.client());
    let long = "SELECT REGEXP_LIKE(REPEAT('ab', 1000000), '(a|b)*c')";
    let compiled = "SELECT REGEXP_INSTR('abc', '.{1000}')";
    for sql in [long, compiled] {
        assert_eq!(error_of(&mut client, sql), 0, "{sql}");
    }
    rows(
        &mut admin,
        "SET GLOBAL regexp_time_limit = 1, GLOBAL regexp_stack_limit = 100000",
    );
    assert_eq!(error_of(&mut client, long), 3699);
    assert_eq!(error_of(&mut client, compiled), 3698);
    // Where nothing begins to match there is nothing to count.
    assert_eq!(
        error_of(&mut client, "SELECT REGEXP_LIKE(REPEAT('ab', 1000000), '[x-z]+')"),
        0
    );
    rows(
        &mut admin,
        "SET GLOBAL regexp_time_limit = 0, GLOBAL regexp_stack_limit = 0",
    );
    for sql in [long, compiled] {
        assert_eq!(error_of(&mut client, sql), 0, "{sql}");
    }
    assert_eq!(
        error_of(&mut client, r"SELECT 'a' REGEXP '((\\w{100}){100}){100}'"),
        3700
    );
    assert_eq!(error_of(&mut client, "SET regexp_time_limit = 5"), 1229);
    node.stop();
}
