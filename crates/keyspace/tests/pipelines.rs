//! Commands that are sent at once: those that share a transaction, and those that may not.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use common::Database;
use keyspace::Session;
use redis_wire::Reply;
use sql::result::BufferedRows;
use sql::session::{Session as SqlSession, SessionOptions};
use sql_api::host::BlockingHost;
use sql_api::session::SessionAccount;

/// Sends all lines at once. All replies, as they are on the wire.
fn send(session: &mut Session, lines: &[&str]) -> String {
    let words: Vec<Vec<Vec<u8>>> = lines.iter().map(|line| common::words(line)).collect();
    let requests: Vec<Vec<&[u8]>> = words
        .iter()
        .map(|words| words.iter().map(Vec::as_slice).collect())
        .collect();
    let mut reply = Reply::new(session.protocol);
    session.run(&requests, &BlockingHost, &mut reply);
    String::from_utf8(reply.bytes).unwrap().replace("\r\n", " ")
}

#[test]
fn what_follows_multi_waits_for_exec() {
    let mut session = Database::open().client().session;
    let replies = send(
        &mut session,
        &[
            "SET a 1", "SET b 1", "MULTI", "SET a 2", "SET b 2", "GET a", "GET b", "DISCARD", "GET a", "GET b",
            "MULTI", "INCR a", "INCR b", "EXEC",
        ],
    );
    let queued = "+QUEUED ".repeat(4);
    let expected = format!("+OK +OK +OK {queued}+OK $1 1 $1 1 +OK +QUEUED +QUEUED *2 :2 :2 ");
    assert_eq!(replies, expected);
}

#[test]
fn each_of_several_fails_alone() {
    let mut session = Database::open().client().session;
    let replies = send(
        &mut session,
        &["LPUSH l x", "SET a 1", "INCR l", "INCR a", "GET l", "GET a", "GET"],
    );
    let (wrong_type, wrong_number) = (
        "-WRONGTYPE Operation against a key holding the wrong kind of value",
        "-ERR wrong number of arguments for 'get' command",
    );
    assert_eq!(
        replies,
        format!(":1 +OK {wrong_type} :2 {wrong_type} $1 2 {wrong_number} ")
    );
}

#[test]
fn only_answers_that_are_wanted_are_given() {
    let mut session = Database::open().client().session;
    let lines = ["CLIENT REPLY SKIP", "SET a 1", "GET a", "GET a"];
    assert_eq!(send(&mut session, &lines), "$1 1 $1 1 ");
    let lines = [
        "CLIENT REPLY OFF",
        "SET a 2",
        "SET b 2",
        "GET a",
        "CLIENT REPLY ON",
        "GET a",
    ];
    assert_eq!(send(&mut session, &lines), "+OK $1 2 ");
    let lines = ["CLIENT REPLY SKIP", "CLIENT REPLY ON", "GET a"];
    assert_eq!(send(&mut session, &lines), "+OK $1 2 ");
    let lines = ["CLIENT REPLY SKIP", "CLIENT REPLY SKIP", "GET a", "GET b"];
    assert_eq!(send(&mut session, &lines), "$1 2 ");
    let lines = ["CLIENT REPLY SKIP", "CLIENT REPLY OFF", "GET a", "GET b"];
    assert_eq!(send(&mut session, &lines), "");
}

#[test]
fn a_page_of_the_web_is_not_obeyed() {
    let mut session = Database::open().client().session;
    let lines = ["SET a 1", "POST / HTTP/1.1", "SET a 2", "SET b 2"];
    assert_eq!(send(&mut session, &lines), "+OK ");
    assert!(session.ends);
    session.ends = false;
    assert_eq!(send(&mut session, &["GET a", "GET b"]), "$1 1 $-1 ");
}

#[test]
fn what_is_refused_is_kept_once() {
    let database = Database::open();
    let mut root = database.client();
    root.run("SET k v");
    let engine = database.keyspace.engine().clone();
    let mut sql = SqlSession::new(engine, SessionOptions::default()).unwrap();
    for statement in ["CREATE USER ada", "GRANT SELECT ON redis.* TO ada"] {
        let mut rows = BufferedRows::default();
        sql.query(statement.as_bytes(), &BlockingHost, &mut rows).unwrap();
    }
    let account = SessionAccount::Account {
        user: "ada".to_owned(),
        host: "%".to_owned(),
    };
    let mut ada = database.client_of(Some(account));
    let refused = "-NOPERM User ada has no permissions to run the 'set' command";
    assert_eq!(ada.pipeline(["GET k", "GET k", "SET k w"].map(str::to_owned)), refused);
    let log = root.run("ACL LOG");
    assert!(log.starts_with("*1\n"), "{log}");
    assert!(log.contains("\"count\"\n    :1\n"), "{log}");
}
