//! What INFO and CLIENT tell.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use common::{Client, Database, Expected as _};

/// What INFO says of a name.
fn line(client: &mut Client, section: &str, name: &str) -> String {
    let info = client.answer(&format!("INFO {section}"));
    let info = String::from_utf8(info.bytes().to_vec()).unwrap();
    let mut lines = info
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    lines.next().unwrap_or_default().to_owned()
}

/// Calls, those that were refused, those that failed.
fn counts(client: &mut Client, command: &str) -> [u64; 3] {
    let line = line(client, "commandstats", &format!("cmdstat_{command}"));
    let number = |name: &str| {
        let mut pairs = line.split(',').filter_map(|pair| pair.split_once('='));
        let found = pairs.find(|(key, _)| *key == name);
        found.map_or(0, |(_, value)| value.parse().unwrap())
    };
    [number("calls"), number("rejected_calls"), number("failed_calls")]
}

fn told(client: &mut Client, code: &str) -> String {
    line(client, "errorstats", &format!("errorstat_{code}"))
}

#[test]
fn errors_are_counted_once_by_command_and_code() {
    let database = Database::open();
    let mut client = database.client();
    client.run("SET s text");
    for line in ["LPUSH s x", "GET", "CLIENT KILL USER nobody", "NOSUCH", "SET s"] {
        client.run(line);
    }
    client.pipeline(["INCR s", "SET t 1", "INCR s"].map(str::to_owned));
    assert_eq!(counts(&mut client, "lpush"), [1, 0, 1]);
    assert_eq!(counts(&mut client, "get"), [0, 1, 0]);
    assert_eq!(counts(&mut client, "incr"), [2, 0, 2]);
    assert_eq!(counts(&mut client, "set"), [2, 1, 0]);
    assert_eq!(counts(&mut client, "client|kill"), [1, 0, 1]);
    assert_eq!(told(&mut client, "WRONGTYPE"), "count=1");
    assert_eq!(told(&mut client, "ERR"), "count=6");
    assert_eq!(line(&mut client, "stats", "total_error_replies"), "7");
    client.run("CONFIG RESETSTAT");
    assert_eq!(told(&mut client, "ERR"), "");
    assert_eq!(counts(&mut client, "incr"), [0, 0, 0]);
}

#[test]
fn errors_in_transactions_are_those_of_their_commands() {
    let database = Database::open();
    let mut client = database.client();
    for line in [
        "SET s text",
        "MULTI",
        "LPUSH s x",
        "SET t 1",
        "EVAL 'return redis.error_reply(\"MINE it is\")' 0",
        "EXEC",
    ] {
        client.run(line);
    }
    assert_eq!(counts(&mut client, "lpush"), [1, 0, 1]);
    assert_eq!(counts(&mut client, "eval"), [1, 0, 1]);
    assert_eq!(counts(&mut client, "exec"), [1, 0, 0]);
    assert_eq!(
        (told(&mut client, "WRONGTYPE"), told(&mut client, "MINE")),
        ("count=1".to_owned(), "count=1".to_owned())
    );
    // Refused when it is put off; then EXEC fails.
    for line in ["MULTI", "GET", "EXEC"] {
        client.run(line);
    }
    assert_eq!(counts(&mut client, "get"), [0, 1, 0]);
    assert_eq!(counts(&mut client, "exec"), [2, 0, 1]);
    assert_eq!(told(&mut client, "EXECABORT"), "count=1");
}

#[test]
fn commands_of_scripts_are_counted_and_their_errors_once() {
    let database = Database::open();
    let mut client = database.client();
    client.run("SET s text");
    client.run("EVAL 'redis.call(\"set\", KEYS[1], 1); return redis.call(\"lpush\", \"s\", 1)' 1 t");
    assert_eq!(counts(&mut client, "set"), [2, 0, 0]);
    assert_eq!(counts(&mut client, "lpush"), [1, 0, 1]);
    assert_eq!(counts(&mut client, "eval"), [1, 0, 1]);
    assert_eq!(told(&mut client, "WRONGTYPE"), "count=1");
    // One that the script keeps to itself.
    client.run("EVAL 'redis.pcall(\"get\"); return 1' 0");
    assert_eq!(counts(&mut client, "eval"), [2, 0, 1]);
    assert_eq!(counts(&mut client, "get"), [0, 1, 0]);
    assert_eq!(line(&mut client, "stats", "total_error_replies"), "2");
    client.run("EVAL 'return redis.call(\"nosuch\")' 0");
    assert_eq!(told(&mut client, "ERR"), "count=2");
    assert_eq!(line(&mut client, "stats", "total_error_replies"), "3");
}

#[test]
fn subscriptions_are_answered_in_any_mode_of_replies() {
    let database = Database::open();
    let (mut listener, mut client) = (database.client(), database.client());
    listener.run("HELLO 3");
    assert!(listener.all("CLIENT REPLY OFF").is_empty());
    assert_eq!(listener.all("SUBSCRIBE c d").len(), 2);
    assert!(listener.all("GET k").is_empty());
    assert!(listener.all("SUBSCRIBE").is_empty());
    client.run("PUBLISH c m");
    // The message, and the end of what it came by.
    assert_eq!(listener.all("UNSUBSCRIBE c").len(), 2);
    assert_eq!(listener.all("CLIENT REPLY ON"), ["+OK"]);
}

#[test]
fn a_client_is_shown_with_both_ends_and_what_it_sends() {
    let database = Database::open();
    let mut client = database.client();
    let shown = client.answer("CLIENT LIST");
    let shown = String::from_utf8(shown.bytes().to_vec()).unwrap();
    assert!(
        shown.contains(" laddr=127.0.0.1:6379 ") && shown.contains(" qbuf=26 "),
        "{shown}"
    );
    assert_eq!(client.run("CLIENT KILL LADDR 127.0.0.1:1 SKIPME no"), ":0");
    assert_eq!(client.run("CLIENT KILL LADDR 127.0.0.1:6379"), ":0");
    assert_eq!(client.run("CLIENT KILL USER nobody"), "-ERR No such user 'nobody'");
    assert_eq!(client.run("COMMAND GETKEYS EVAL 'return 1' 0"), "*0");
}
