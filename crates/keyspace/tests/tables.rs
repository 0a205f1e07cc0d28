//! The tables of keys, as sessions find them.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use std::sync::Arc;

use common::Database;
use sql::result::BufferedRows;
use sql::session::{Session as SqlSession, SessionOptions};
use sql_api::host::BlockingHost;

#[test]
fn tables_are_looked_up_once_for_each_version_of_the_catalog() {
    let database = Database::open();
    let keyspace = &database.keyspace;
    let before = keyspace.db(0, &BlockingHost).unwrap();
    let mut session = SqlSession::new(keyspace.engine().clone(), SessionOptions::default()).unwrap();
    let statement = b"CREATE DATABASE other";
    session
        .query(statement, &BlockingHost, &mut BufferedRows::default())
        .unwrap();
    let after = keyspace.db(0, &BlockingHost).unwrap();
    assert!(after.version > before.version);
    assert!(Arc::ptr_eq(&after, &keyspace.db(0, &BlockingHost).unwrap()));
}

fn sql(database: &Database, statement: &str) {
    let engine = database.keyspace.engine().clone();
    let mut session = SqlSession::new(engine, SessionOptions::default()).unwrap();
    let mut rows = BufferedRows::default();
    session.query(statement.as_bytes(), &BlockingHost, &mut rows).unwrap();
}

#[test]
fn elements_that_sql_has_removed_are_passed_over() {
    let database = Database::open();
    let mut client = database.client();
    let fill = |client: &mut common::Client| {
        client.run("FLUSHDB");
        for line in [
            "RPUSH l a b c d e",
            "RPUSH gone x",
            "SADD s a",
            "HSET h f v",
            "ZADD z 1 a",
        ] {
            client.run(line);
        }
        sql(&database, "DELETE FROM redis.db0_list WHERE value IN ('a', 'c', 'x')");
        for part in ["set", "hash", "zset"] {
            sql(&database, &format!("DELETE FROM redis.db0_{part}"));
        }
    };
    for (line, replies) in [
        ("LRANGE l 0 -1", "*5\n  \"b\"\n  \"d\"\n  \"e\"\n  $-1\n  $-1"),
        ("LPOP l", "\"b\""),
        ("LPOP gone", "$-1"),
        ("LPOP gone 2", "*0"),
        ("LPOP l 5", "*3\n  \"b\"\n  \"d\"\n  \"e\""),
        ("BLPOP gone l 0", "*2\n  \"l\"\n  \"b\""),
        ("LMPOP 2 gone l RIGHT", "*2\n  \"l\"\n  *1\n    \"e\""),
        ("LREM l 1 b", ":1"),
        ("SPOP s", "$-1"),
        ("SPOP s 2", "*0"),
        ("SRANDMEMBER s", "$-1"),
        ("HRANDFIELD h", "$-1"),
        ("HRANDFIELD h 2 WITHVALUES", "*0"),
        ("ZRANDMEMBER z", "$-1"),
        ("ZPOPMIN z", "*0"),
    ] {
        fill(&mut client);
        assert_eq!(client.all(line), [replies], "{line}");
    }
    fill(&mut client);
    client.run("LREM l 1 d");
    assert_eq!(client.run("LRANGE l 0 -1"), "*2\n  \"b\"\n  \"e\"");
}

#[test]
fn an_index_that_sql_has_dropped_is_told_of() {
    let database = Database::open();
    let mut client = database.client();
    client.run("ZADD z 1 a");
    sql(
        &database,
        "ALTER TABLE redis.db0_zset ADD UNIQUE KEY first (id, member)",
    );
    assert_eq!(client.run("ZRANGE z 0 -1"), "*1\n  \"a\"");
    sql(&database, "ALTER TABLE redis.db0_zset DROP KEY score");
    let refused = "-ERR the table redis.db0_zset has other indexes than those by which keys are found";
    assert_eq!(client.run("ZRANGE z 0 -1"), refused);
    sql(
        &database,
        "ALTER TABLE redis.db0_zset ADD KEY again (id, score, member)",
    );
    assert_eq!(client.run("ZRANGE z 0 -1"), "*1\n  \"a\"");
}
