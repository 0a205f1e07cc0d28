//! Stored programs by the protocol: several results, OUT values of prepared calls, KILL, restarts.

use std::time::{Duration, Instant};

use mysql_client::{Answer, Client, ColumnType, Parameter};

use crate::support::{Running, directory};

fn done(client: &mut Client, sql: &str) {
    let answer = client.query(sql).unwrap();
    assert!(matches!(answer, Answer::Ok { .. }), "{sql}: {answer:?}");
}

/// The rows of an answer as text.
fn rows(answer: &Answer) -> Vec<Vec<String>> {
    let Answer::Rows { rows, .. } = answer else {
        panic!("no rows: {answer:?}")
    };
    let text = |value: &Option<Vec<u8>>| match value {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "NULL".to_owned(),
    };
    rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

#[test]
fn a_call_sends_each_result_and_its_out_values_last() {
    let data = directory("programs_results");
    let node = Running::start(&data);
    let mut client = node.client();
    done(&mut client, "USE test");
    let body = "BEGIN SELECT a; SELECT b, 'x'; SET c = a + b; SET b = -1; END";
    done(
        &mut client,
        &format!("CREATE PROCEDURE p(a INT, INOUT b INT, OUT c VARCHAR(10)) {body}"),
    );
    done(&mut client, "SET @b = 2");
    let answer = client.query("CALL p(1, @b, @c)").unwrap();
    assert!(matches!(answer, Answer::Ok { .. }), "{answer:?}");
    let earlier = client.take_earlier();
    assert_eq!(rows(&earlier[0]), [["1"]]);
    assert_eq!(rows(&earlier[1]), [["2", "x"]]);
    assert_eq!(earlier.len(), 2);
    assert_eq!(rows(&client.query("SELECT @b, @c").unwrap()), [["-1", "3"]]);

    // Prepared, what comes out of `?` is a result of its own, by the parameters' names.
    let parameters = [
        Parameter::Int(ColumnType::LongLong, 5),
        Parameter::Int(ColumnType::LongLong, 6),
        Parameter::Null,
    ];
    let answer = client.execute("CALL p(?, ?, ?)", &parameters).unwrap();
    assert!(matches!(answer, Answer::Ok { .. }), "{answer:?}");
    let earlier = client.take_earlier();
    assert_eq!(earlier.len(), 3);
    assert_eq!(rows(&earlier[0]), [["5"]]);
    assert_eq!(rows(&earlier[2]), [["-1", "11"]]);
    let Answer::Rows { columns, .. } = &earlier[2] else {
        panic!("no rows")
    };
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["b", "c"]);
}

#[test]
fn kill_ends_a_loop_that_handles_everything() {
    let data = directory("programs_kill");
    let node = Running::start(&data);
    let mut client = node.client();
    done(&mut client, "USE test");
    let handler = "DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET i = 0";
    done(
        &mut client,
        &format!(
            "CREATE PROCEDURE forever() BEGIN DECLARE i INT DEFAULT 0; {handler}; LOOP SET i = i + 1; END LOOP; END"
        ),
    );
    let number = client.connection_id;
    let mut other = node.client();
    let killer = std::thread::spawn(move || {
        let begun = Instant::now();
        // Until it runs, there is nothing to be killed.
        let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'CALL forever%'";
        while rows(&other.query(running).unwrap()) != [["1"]] {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never ran");
        }
        done(&mut other, &format!("KILL QUERY {number}"));
    });
    let answer = client.query("CALL forever()").unwrap();
    killer.join().unwrap();
    assert!(matches!(answer, Answer::Error { code: 1317, .. }), "{answer:?}");
    // The session goes on, and is what it was.
    assert_eq!(rows(&client.query("SELECT DATABASE()").unwrap()), [["test"]]);
}

#[test]
fn calls_that_nest_too_deep_are_an_error() {
    let data = directory("programs_depth");
    let node = Running::start(&data);
    let mut client = node.client();
    done(&mut client, "USE test");
    done(&mut client, "SET max_sp_recursion_depth = 255");
    done(&mut client, "CREATE PROCEDURE deep(n INT) BEGIN CALL deep(n + 1); END");
    let answer = client.query("CALL deep(0)").unwrap();
    assert!(matches!(answer, Answer::Error { code: 1436 | 1456, .. }), "{answer:?}");
    assert_eq!(rows(&client.query("SELECT 1").unwrap()), [["1"]]);
}

#[test]
fn programs_outlive_the_process() {
    let data = directory("programs_restart");
    let node = Running::start(&data);
    let mut client = node.client();
    done(&mut client, "USE test");
    done(&mut client, "CREATE PROCEDURE kept(a INT) COMMENT 'c' SELECT a + 1");
    done(&mut client, "CREATE PROCEDURE dropped() SELECT 1");
    done(&mut client, "DROP PROCEDURE dropped");
    done(
        &mut client,
        "CREATE FUNCTION doubled(a INT) RETURNS INT DETERMINISTIC RETURN a * 2",
    );
    done(&mut client, "CREATE TABLE t (a INT)");
    for name in ["kept", "dropped"] {
        done(
            &mut client,
            &format!("CREATE TRIGGER {name} BEFORE INSERT ON t FOR EACH ROW SET NEW.a = doubled(NEW.a)"),
        );
    }
    done(&mut client, "DROP TRIGGER dropped");
    drop(client);
    node.stop();
    let node = Running::start(&data);
    let mut client = node.client();
    done(&mut client, "USE test");
    client.query("CALL kept(41)").unwrap();
    assert_eq!(rows(&client.take_earlier()[0]), [["42"]]);
    let answer = client.query("CALL dropped()").unwrap();
    assert!(matches!(answer, Answer::Error { code: 1305, .. }), "{answer:?}");
    done(&mut client, "INSERT INTO t VALUES (4)");
    assert_eq!(rows(&client.query("SELECT a FROM t").unwrap()), [["8"]]);
}

#[test]
fn a_trigger_that_does_not_end_is_killed_and_leaves_nothing() {
    let data = directory("programs_trigger_killed");
    let node = Running::start(&data);
    let mut client = node.client();
    done(&mut client, "USE test");
    done(&mut client, "CREATE TABLE t (a INT)");
    done(&mut client, "CREATE TABLE log (a INT)");
    let body = "BEGIN INSERT INTO log VALUES (NEW.a); WHILE NEW.a = 2 DO SET @turns = @turns + 1; END WHILE; END";
    done(
        &mut client,
        &format!("CREATE TRIGGER spins AFTER INSERT ON t FOR EACH ROW {body}"),
    );
    let id = rows(&client.query("SELECT CONNECTION_ID()").unwrap())[0][0].clone();
    let mut other = node.client();
    let killer = std::thread::spawn(move || {
        let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'INSERT INTO t %'";
        while rows(&other.query(running).unwrap()) != [["1"]] {
            std::thread::sleep(Duration::from_millis(5));
        }
        done(&mut other, &format!("KILL QUERY {id}"));
    });
    let answer = client.query("INSERT INTO t VALUES (1), (2)").unwrap();
    assert!(matches!(answer, Answer::Error { code: 1317, .. }), "{answer:?}");
    killer.join().unwrap();
    let left = "SELECT (SELECT COUNT(*) FROM t), (SELECT COUNT(*) FROM log)";
    assert_eq!(rows(&client.query(left).unwrap()), [["0", "0"]]);
    done(&mut client, "INSERT INTO t VALUES (1)");
    assert_eq!(rows(&client.query(left).unwrap()), [["1", "1"]]);
}
