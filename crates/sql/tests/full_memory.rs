//! When others have used the memory up, a small query runs still, and one that needs much ends with one error.

use store::MemoryUse;

use crate::common::Database;

#[test]
fn a_small_query_runs_where_the_memory_is_used_up() {
    let mut database = Database::open();
    let mut client = database.session();
    client.run("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(1000))");
    client.run("INSERT INTO t WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, REPEAT(i, 300) FROM n");
    let memory = database.engine.participant().store().memory().clone();
    let mut others = memory.nothing_yet(MemoryUse::Queries);
    while others.grow(1 << 16).is_ok() {}
    while others.grow(1 << 10).is_ok() {}

    assert_eq!(client.run("SHOW GLOBAL STATUS LIKE 'Memory_used'").len(), 2);
    assert_eq!(
        client.run("SELECT COUNT(*) FROM (SELECT a FROM t WHERE id < 10 ORDER BY a) x")[1],
        "9"
    );
    assert_eq!(
        client.error("SELECT COUNT(*) FROM (SELECT a, MAX(id) FROM t GROUP BY a ORDER BY a LIMIT 800) x"),
        1038
    );

    drop(others);
    assert_eq!(
        client.run("SELECT COUNT(*) FROM (SELECT a, MAX(id) FROM t GROUP BY a ORDER BY a LIMIT 800) x")[1],
        "800"
    );
}

#[test]
fn a_change_runs_again_where_unread_answers_give_back_their_memory() {
    let mut database = Database::open();
    let mut client = database.session();
    client.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a LONGBLOB)");
    let memory = database.engine.participant().store().memory().clone();
    let mut others = memory.nothing_yet(MemoryUse::Rows);
    while others.grow(1 << 16).is_ok() {}
    // Nobody would give anything back.
    assert_eq!(client.error("INSERT INTO t (a) VALUES (REPEAT('x', 1000000))"), 1114);
    // Somebody waits for his client, and ends while the INSERT waits.
    let unread = governor::unread::Unread::begin(1 << 30).expect("much");
    let reader = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(others);
        // The INSERT looks for somebody who may make room just after it has found none.
        std::thread::sleep(std::time::Duration::from_millis(200));
        drop(unread);
    });
    client.run("INSERT INTO t (a) VALUES (REPEAT('x', 1000000))");
    assert_eq!(client.run("SELECT COUNT(*), MIN(LENGTH(a)) FROM t")[1], "1 | 1000000");
    reader.join().expect("the reader ends");
}
