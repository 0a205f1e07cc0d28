//! What COM_STMT_PREPARE tells of a statement before it runs.

use crate::common::{Client, Database};

/// The names of the columns that the statement will give.
fn columns(client: &mut Client, sql: &str) -> Option<Vec<String>> {
    let prepared = client.session.prepare(sql.as_bytes());
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
            .prepare(b"EXPLAIN SELECT * FROM missing")
            .map(|_| ())
            .unwrap_err()
            .code(),
        1146
    );
}
