//! The general log and the slow query log, in files and in tables.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mysql_client::{Answer, Client};

use crate::support::{Running, directory};

fn done(client: &mut Client, sql: &str) {
    let answer = client.query(sql).unwrap();
    assert!(matches!(answer, Answer::Ok { .. }), "{sql}: {answer:?}");
}

fn rows(client: &mut Client, sql: &str) -> Vec<Vec<String>> {
    let answer = client.query(sql).unwrap();
    let Answer::Rows { rows, .. } = answer else {
        panic!("{sql}: {answer:?}")
    };
    let text = |value: &Option<Vec<u8>>| {
        value
            .as_ref()
            .map_or("NULL".into(), |value| String::from_utf8_lossy(value).into())
    };
    rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

fn code(client: &mut Client, sql: &str) -> u16 {
    match client.query(sql).unwrap() {
        Answer::Error { code, .. } => code,
        answer => panic!("{sql}: {answer:?}"),
    }
}

fn file(data: &Path, name: &str) -> PathBuf {
    data.join("statement-logs").join(name)
}

/// The file's text, once it has `wanted` in it.
fn text_with(path: &Path, wanted: &str) -> String {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.contains(wanted) {
            return text;
        }
        assert!(Instant::now() < deadline, "no {wanted} in {text}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_general_log_has_what_came_and_no_secret() {
    let data = directory("general_log");
    let node = Running::start(&data);
    let mut client = node.client();
    let general = file(&data, "latsdb.log");
    done(&mut client, "SELECT 'before' INTO @x");
    assert!(!general.exists());
    done(&mut client, "SET GLOBAL general_log = ON");
    done(&mut client, "CREATE USER u IDENTIFIED BY 'hidden'");
    client
        .execute("SELECT 'prepared' + ?", &[mysql_client::Parameter::Null])
        .unwrap();
    assert_eq!(code(&mut client, "SELEC 'mistaken'"), 1064);
    drop(node.client());
    let text = text_with(&general, " Quit\t");
    for wanted in [
        "Query\tCREATE USER u IDENTIFIED BY <secret>",
        "Prepare\tSELECT 'prepared' + ?",
        "Execute\tSELECT 'prepared' + ?",
        "Query\tSELEC 'mistaken'",
        "Connect\troot@",
    ] {
        assert!(text.contains(wanted), "no {wanted} in {text}");
    }
    assert!(!text.contains("hidden") && !text.contains("before"), "{text}");
    done(&mut client, "SET SESSION sql_log_off = ON");
    done(&mut client, "SELECT 'silent' INTO @x");
    done(&mut client, "SET SESSION sql_log_off = OFF");
    // Moved away, it is made anew once the server is told.
    std::fs::rename(&general, file(&data, "old.log")).unwrap();
    done(&mut client, "FLUSH GENERAL LOGS");
    done(&mut client, "SELECT 'anew' INTO @x");
    let text = text_with(&general, "anew");
    assert!(text.starts_with("LatsDB, Version"), "{text}");
    assert!(
        !std::fs::read_to_string(file(&data, "old.log"))
            .unwrap()
            .contains("silent")
    );
    done(&mut client, "SET GLOBAL general_log_file = 'other.log'");
    done(&mut client, "SELECT 'elsewhere' INTO @x");
    text_with(&file(&data, "other.log"), "elsewhere");
    for wrong in ["../x.log", "/tmp/x.log", "", ".hidden", "a b"] {
        assert_eq!(
            code(&mut client, &format!("SET GLOBAL general_log_file = '{wrong}'")),
            1231,
            "{wrong}"
        );
    }
    done(&mut client, "SET GLOBAL general_log = OFF");
    done(&mut client, "SELECT 'after' INTO @x");
    done(&mut client, "SET GLOBAL log_output = 'TABLE', GLOBAL general_log = ON");
    done(&mut client, "SELECT 'in the table' INTO @x");
    let shown = "SELECT user_host, command_type, argument FROM mysql.general_log WHERE argument LIKE 'SELECT _in the table_ INTO%'";
    let found = rows(&mut client, shown);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0][0].starts_with("root[root] @ "), "{found:?}");
    assert_eq!(found[0][1..], ["Query", "SELECT 'in the table' INTO @x"]);
    let text = std::fs::read_to_string(file(&data, "other.log")).unwrap();
    assert!(!text.contains("after") && !text.contains("in the table"), "{text}");
    // Who may not read the tables of the database `mysql` reads nobody's statements.
    done(&mut client, "CREATE USER low");
    assert_eq!(
        code(&mut node.client_of("low"), "SELECT * FROM mysql.general_log"),
        1142
    );
    assert_eq!(code(&mut client, "SET GLOBAL log_output = 'PAPER'"), 1231);
    done(&mut client, "SET GLOBAL log_output = 'NONE'");
}

#[test]
fn the_slow_log_has_what_was_slow_and_what_it_cost() {
    let data = directory("slow_log");
    let node = Running::start(&data);
    let mut client = node.client();
    done(&mut client, "USE test");
    done(&mut client, "CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    done(&mut client, "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    done(
        &mut client,
        "SET GLOBAL slow_query_log = ON, GLOBAL log_output = 'FILE,TABLE'",
    );
    done(&mut client, "SET long_query_time = 0.2");
    rows(&mut client, "SELECT 'quick'");
    rows(&mut client, "SELECT SLEEP(0.3), 'slow'");
    rows(&mut client, "SELECT a, SLEEP(0.1) FROM t WHERE a > 0");
    let text = text_with(&file(&data, "latsdb-slow.log"), "FROM t");
    assert!(!text.contains("quick"), "{text}");
    assert!(
        text.contains("Rows_sent: 3  Rows_examined: 3\nuse test;\nSET timestamp="),
        "{text}"
    );
    assert!(text.contains("# User@Host: root[root] @ "), "{text}");
    let found = rows(
        &mut client,
        "SELECT rows_sent, rows_examined, db, sql_text, query_time >= '00:00:00.300000' FROM mysql.slow_log",
    );
    assert_eq!(found[0], ["1", "0", "test", "SELECT SLEEP(0.3), 'slow'", "1"]);
    assert_eq!(
        found[1],
        ["3", "3", "test", "SELECT a, SLEEP(0.1) FROM t WHERE a > 0", "1"]
    );
    // However quick: what no index narrows, if it looks at enough rows.
    done(&mut client, "SET GLOBAL log_queries_not_using_indexes = ON");
    rows(&mut client, "SELECT a FROM t WHERE id = 2");
    rows(&mut client, "SELECT a FROM t WHERE a = 2");
    done(&mut client, "UPDATE t SET a = 9 WHERE a = 3");
    done(&mut client, "SET min_examined_row_limit = 4");
    rows(&mut client, "SELECT a FROM t WHERE a = 4");
    done(&mut client, "SET min_examined_row_limit = 0");
    // A lock that is waited for is told of.
    let mut other = node.client();
    done(&mut other, "BEGIN");
    done(&mut other, "UPDATE test.t SET a = 0 WHERE id = 1");
    let waits = std::thread::spawn({
        let mut waiting = node.client();
        move || {
            done(&mut waiting, "SET long_query_time = 0.1");
            done(&mut waiting, "DELETE FROM test.t WHERE id = 1");
        }
    });
    std::thread::sleep(Duration::from_millis(400));
    done(&mut other, "COMMIT");
    waits.join().unwrap();
    done(&mut client, "SET GLOBAL slow_query_log = OFF");
    let found = rows(
        &mut client,
        "SELECT sql_text, lock_time > '00:00:00.100000' FROM mysql.slow_log",
    );
    let texts: Vec<&str> = found[2..].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(
        texts,
        [
            "SELECT a FROM t WHERE a = 2",
            "UPDATE t SET a = 9 WHERE a = 3",
            "DELETE FROM test.t WHERE id = 1"
        ]
    );
    assert_eq!(found.last().unwrap()[1], "1");
}
