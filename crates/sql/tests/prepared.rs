//! What COM_STMT_PREPARE tells of a statement before it runs.

use types::Value;

use crate::common::{Client, Database};

/// The names of the columns that the statement will give.
fn columns(client: &mut Client, sql: &str) -> Option<Vec<String>> {
    let prepared = client.session.prepare(sql.as_bytes(), &sql::host::BlockingHost);
    let prepared = prepared.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let shape = prepared.columns?;
    Some(shape.columns.iter().map(|column| column.name.clone()).collect())
}

#[test]
fn show_and_explain_tell_their_columns_when_prepared() {
    let mut database = Database::open();
    let mut client = database.session();
    client.run("CREATE TABLE t (a INT PRIMARY KEY)");
    for sql in [
        "SHOW TABLES",
        "SHOW FULL COLUMNS FROM t",
        "SHOW CREATE TABLE t",
        "SHOW WARNINGS",
        "SHOW VARIABLES LIKE 'version%'",
        "SHOW INDEX FROM t",
        "SHOW GRANTS",
        "SHOW COUNT(*) WARNINGS",
        "DESCRIBE t",
        "ANALYZE TABLE t",
        "EXPLAIN SELECT * FROM t",
        "EXPLAIN FORMAT=JSON SELECT * FROM t",
        "SELECT a FROM t",
    ] {
        let told = columns(&mut client, sql).unwrap_or_else(|| panic!("{sql}: no columns"));
        let given = client.run(sql);
        assert_eq!(told.join(" | "), given[0], "{sql}");
    }
    for sql in ["INSERT INTO t VALUES (1)", "SET @a = 1"] {
        assert_eq!(columns(&mut client, sql), None, "{sql}");
    }
}

#[test]
fn explain_takes_parameters() {
    let mut database = Database::open();
    let mut client = database.session();
    client.run("CREATE TABLE t (a INT PRIMARY KEY)");
    client.run("PREPARE p FROM 'EXPLAIN SELECT * FROM t WHERE a = ?'");
    client.run("SET @a = 1");
    let lines = client.run("EXECUTE p USING @a");
    assert_eq!(
        lines[1],
        "1 | SIMPLE | t | NULL | const | PRIMARY | PRIMARY | 4 | const | 1 | 100 | NULL"
    );
    assert_eq!(
        client
            .session
            .prepare(b"EXPLAIN SELECT * FROM missing", &sql::host::BlockingHost)
            .map(|_| ())
            .unwrap_err()
            .code(),
        1146
    );
}

#[test]
fn limit_takes_strings() {
    use crate::common::Lines;
    use sql::host::BlockingHost;
    use sql::session::Fetch;

    let mut database = Database::open();
    let mut client = database.session();
    client.run("CREATE TABLE t (a INT PRIMARY KEY)");
    client.run("INSERT INTO t VALUES (1), (2), (3), (4)");
    let id = client
        .session
        .prepare(b"SELECT a FROM t ORDER BY a LIMIT ? OFFSET ?", &sql::host::BlockingHost)
        .unwrap()
        .id;
    let cases: [(Value, Value, &[&str]); 6] = [
        (Value::str("2"), Value::str("1"), &["2", "3"]),
        (Value::bytes(b"2"), Value::Int(0), &["1", "2"]),
        (Value::str(" 1x"), Value::str("3"), &["4"]),
        (Value::str("-1"), Value::str("2"), &["3", "4"]),
        (
            Value::str("99999999999999999999"),
            Value::str(""),
            &["1", "2", "3", "4"],
        ),
        (Value::Null, Value::Int(0), &[]),
    ];
    for (limit, offset, rows) in cases {
        let mut sink = Lines::default();
        client
            .session
            .execute(
                id,
                &[limit.clone(), offset.clone()],
                Fetch::All,
                &BlockingHost,
                &mut sink,
            )
            .unwrap();
        assert_eq!(sink.lines[1..], *rows, "LIMIT {limit:?} OFFSET {offset:?}");
    }
    client.run("SET @n = 1.5");
    client.run("PREPARE s FROM 'SELECT a FROM t LIMIT ?'");
    assert_eq!(client.error("EXECUTE s USING @n"), 1210);
}
