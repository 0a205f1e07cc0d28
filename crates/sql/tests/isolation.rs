//! What sessions see of each other where it takes threads, or the scripts of another level: the rest is in
//! `golden/isolation_*.test`.

use crate::common::Database;

#[test]
fn read_uncommitted_answers_as_read_committed() {
    let script = include_str!("golden/isolation_read_committed.test");
    let script = script.replace("READ COMMITTED", "READ UNCOMMITTED");
    crate::common::run_script_text(&script, "isolation_read_committed.test at READ UNCOMMITTED");
}

fn accounts(database: &mut Database) {
    let mut client = database.session();
    client.run("CREATE TABLE t (id INT PRIMARY KEY, value INT)");
    client.run("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
}

#[test]
fn a_deadlock_costs_one_transaction_all_its_work_and_the_other_nothing() {
    let mut database = Database::open();
    accounts(&mut database);
    let (mut a, mut b) = (database.session(), database.session());
    a.run("BEGIN");
    b.run("BEGIN");
    a.run("UPDATE t SET value = value + 1 WHERE id = 1");
    b.run("UPDATE t SET value = value + 100 WHERE id = 2");
    let other = std::thread::spawn(move || {
        let outcome = b.try_run_waiting("UPDATE t SET value = value + 100 WHERE id = 1");
        (outcome, b)
    });
    let first = a.try_run_waiting("UPDATE t SET value = value + 1 WHERE id = 2");
    // Whoever lost has let its locks go already: the other does not wait for its COMMIT.
    let (second, mut b) = other.join().expect("the other session");
    let expected = match (&first, &second) {
        (Ok(_), Err(error)) => {
            assert_eq!(error.code(), 1213);
            ["1 | 11", "2 | 21"]
        }
        (Err(error), Ok(_)) => {
            assert_eq!(error.code(), 1213);
            ["1 | 110", "2 | 120"]
        }
        _ => panic!("one of two must lose: {first:?}, {second:?}"),
    };
    a.run("COMMIT");
    b.run("COMMIT");
    assert_eq!(a.run("SELECT * FROM t WHERE id < 3")[1..], expected);
}

#[test]
fn write_skew_under_serializable_ends_in_a_deadlock() {
    let mut database = Database::open();
    accounts(&mut database);
    let (mut a, mut b) = (database.session(), database.session());
    for session in [&mut a, &mut b] {
        session.run("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
        session.run("BEGIN");
        assert_eq!(session.run("SELECT SUM(value) FROM t")[1], "60");
    }
    let other = std::thread::spawn(move || {
        let outcome = b.try_run_waiting("UPDATE t SET value = 0 WHERE id = 1");
        let _ = b.try_run("COMMIT");
        outcome
    });
    let first = a.try_run_waiting("UPDATE t SET value = 0 WHERE id = 2");
    a.run("COMMIT");
    let second = other.join().expect("the other session");
    let codes: Vec<u16> = [first, second]
        .iter()
        .filter_map(|outcome| outcome.as_ref().err().map(|error| error.code()))
        .collect();
    assert_eq!(codes, [1213]);
}

#[test]
fn a_wait_for_a_lock_ends_with_the_commit_of_its_holder() {
    let mut database = Database::open();
    accounts(&mut database);
    let (mut a, mut b) = (database.session(), database.session());
    a.run("BEGIN");
    a.run("UPDATE t SET value = value + 1 WHERE id = 1");
    let other = std::thread::spawn(move || b.try_run_waiting("UPDATE t SET value = value + 1 WHERE id = 1"));
    a.run("COMMIT");
    assert!(other.join().expect("the other session").is_ok());
    assert_eq!(a.run("SELECT value FROM t WHERE id = 1")[1], "12");
}

#[test]
fn innodb_lock_wait_timeout_undoes_the_statement_alone() {
    let mut database = Database::open();
    accounts(&mut database);
    let (mut a, mut b) = (database.session(), database.session());
    a.run("BEGIN");
    a.run("UPDATE t SET value = 31 WHERE id = 3");
    b.run("SET innodb_lock_wait_timeout = 1");
    b.run("BEGIN");
    b.run("UPDATE t SET value = 11 WHERE id = 1");
    let waited = b.try_run_waiting("UPDATE t SET value = value + 1");
    assert_eq!(waited.expect_err("the row is locked").code(), 1205);
    assert_eq!(b.run("SELECT * FROM t")[1..], ["1 | 11", "2 | 20", "3 | 30"]);
    b.run("COMMIT");
    assert_eq!(a.run("SELECT value FROM t WHERE id = 3")[1], "31");
}

#[test]
fn a_closed_or_reset_session_gives_up_its_table_locks() {
    let mut database = Database::open();
    accounts(&mut database);
    let (mut a, mut b) = (database.session(), database.session());
    a.run("LOCK TABLES t WRITE");
    assert_eq!(b.error("SELECT * FROM t"), 1205);
    drop(a);
    assert_eq!(b.run("SELECT COUNT(*) FROM t")[1], "3");
    let mut c = database.session();
    c.run("FLUSH TABLES WITH READ LOCK");
    assert_eq!(b.error("DELETE FROM t"), 1205);
    c.session.reset();
    assert_eq!(b.run("DELETE FROM t")[0], "ok, 3 affected");
}
