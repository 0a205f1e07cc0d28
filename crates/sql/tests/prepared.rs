//! What COM_STMT_PREPARE tells of a statement before it runs.

use sql::host::BlockingHost;
use sql_api::session::Fetch;
use types::Value;

use crate::common::{Client, Database, Lines};

/// The names of the columns that the statement will give.
fn columns(client: &mut Client, sql: &str) -> Option<Vec<String>> {
    let prepared = client.session.prepare(sql.as_bytes(), &BlockingHost);
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
            .prepare(b"EXPLAIN SELECT * FROM missing", &BlockingHost)
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
        .prepare(b"SELECT a FROM t ORDER BY a LIMIT ? OFFSET ?", &BlockingHost)
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

#[test]
fn a_cursor_needs_rows() {
    let mut database = Database::open();
    let mut client = database.session();
    client.run("CREATE TABLE t (a INT PRIMARY KEY)");
    client.run("INSERT INTO t VALUES (1), (2)");
    let mut execute = |text: &str| {
        let id = client.session.prepare(text.as_bytes(), &BlockingHost).unwrap().id;
        let mut sink = Lines::default();
        let outcome = client.session.execute(id, &[], Fetch::Cursor, &BlockingHost, &mut sink);
        outcome.map(|()| sink.lines).map_err(|error| error.code())
    };
    assert_eq!(execute("SELECT a FROM t"), Ok(vec!["a".to_owned()]));
    assert_eq!(execute("SELECT a INTO @a FROM t WHERE a = 1"), Err(1323));
    // Other statements are answered as without one.
    assert!(execute("UPDATE t SET a = 3 WHERE a = 2").is_ok());
}

#[test]
fn a_kept_plan_is_run_by_those_alone_who_may() {
    let mut database = Database::open();
    let mut root = database.session();
    for sql in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.t (a INT PRIMARY KEY)",
        "INSERT INTO shop.t VALUES (1)",
        "CREATE USER reader, stranger",
        "CREATE ROLE reading",
        "GRANT SELECT ON shop.* TO reader, reading",
        "GRANT reading TO stranger",
    ] {
        root.run(sql);
    }
    let text = b"SELECT a FROM shop.t WHERE a = ?";
    let execute = |client: &mut Client, id: u32| {
        let mut sink = Lines::default();
        let outcome = client
            .session
            .execute(id, &[Value::Int(1)], Fetch::All, &BlockingHost, &mut sink);
        outcome.map(|()| sink.lines).map_err(|error| error.code())
    };
    let found = || Ok(vec!["a".to_owned(), "1".to_owned()]);
    let (mut reader, mut stranger) = (database.session_as("reader"), database.session_as("stranger"));
    let by_root = root.session.prepare(text, &BlockingHost).expect("root may").id;
    let by_reader = reader.session.prepare(text, &BlockingHost).expect("he may").id;
    for _ in 0..2 {
        assert_eq!(execute(&mut root, by_root), found());
        assert_eq!(execute(&mut reader, by_reader), found());
    }

    // The same text, in nobody's rights but its role's.
    assert!(stranger.session.prepare(text, &BlockingHost).is_err());
    stranger.run("SET ROLE reading");
    let by_stranger = stranger.session.prepare(text, &BlockingHost).expect("his role may").id;
    assert_eq!(execute(&mut stranger, by_stranger), found());
    stranger.run("SET ROLE NONE");
    assert_eq!(execute(&mut stranger, by_stranger), Err(1142));

    root.run("REVOKE SELECT ON shop.* FROM reader");
    assert_eq!(execute(&mut reader, by_reader), Err(1142));
    assert_eq!(execute(&mut root, by_root), found());
    root.run("GRANT SELECT (a) ON shop.t TO reader");
    assert_eq!(execute(&mut reader, by_reader), found());
}
