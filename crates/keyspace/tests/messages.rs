//! What is published, and who listens.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use common::Database;

fn list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\n  {word}")).collect();
    format!("*{}{}", words.len(), words.concat())
}

#[test]
fn messages_come_before_the_end_of_a_subscription() {
    let database = Database::open();
    let (mut listener, mut client) = (database.client(), database.client());
    let message = |text: &str| list(&["\"message\"", "\"c\"", text]);
    listener.run("SUBSCRIBE c d");
    client.run("PUBLISH c 1");
    client.run("PUBLISH c 2");
    assert_eq!(
        listener.all("UNSUBSCRIBE c"),
        [
            message("\"1\""),
            message("\"2\""),
            list(&["\"unsubscribe\"", "\"c\"", ":1"])
        ]
    );
    client.run("PUBLISH d 3");
    let last = list(&["\"message\"", "\"d\"", "\"3\""]);
    assert_eq!(listener.all("RESET"), [last, "+RESET".to_owned()]);
    client.run("PUBLISH d 4");
    assert!(listener.messages().is_empty());
}

#[test]
fn what_a_transaction_answers_has_no_messages_in_it() {
    let database = Database::open();
    let (mut listener, mut client) = (database.client(), database.client());
    listener.run("HELLO 3");
    for line in ["SUBSCRIBE c", "MULTI", "UNSUBSCRIBE c", "GET k"] {
        listener.run(line);
    }
    client.run("PUBLISH c 1");
    let answers = listener.all("EXEC");
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(listener.messages().len(), 1);
}

#[test]
fn patterns_are_told_apart_and_counted_once() {
    let database = Database::open();
    let (mut one, mut other, mut client) = (database.client(), database.client(), database.client());
    one.run("PSUBSCRIBE a* b*");
    other.run("PSUBSCRIBE a* ?x");
    assert_eq!(client.run("PUBSUB NUMPAT"), ":3");
    assert_eq!(client.run("PUBLISH ax m"), ":3");
    assert_eq!(one.messages(), ["*4 \"pmessage\" \"a*\" \"ax\" \"m\""]);
    assert_eq!(
        other.messages(),
        [
            "*4 \"pmessage\" \"?x\" \"ax\" \"m\"",
            "*4 \"pmessage\" \"a*\" \"ax\" \"m\""
        ]
    );
    let long = format!("b{}", "x".repeat(3000));
    assert_eq!(client.run(&format!("PUBLISH {long} m")), ":1");
    assert!(one.messages()[0].contains(&long) && other.messages().is_empty());
    one.run("PUNSUBSCRIBE a*");
    assert_eq!(client.run("PUBSUB NUMPAT"), ":3");
    assert_eq!(client.run("PUBLISH ax m"), ":2");
    drop(other);
    assert_eq!(client.run("PUBSUB NUMPAT"), ":1");
    assert_eq!(client.run("PUBLISH ax m"), ":0");
}

/// What a client hears of commands of another one: events, and their keys.
fn events(database: &Database, lines: &[&str]) -> Vec<String> {
    let (mut listener, mut client) = (database.client(), database.client());
    client.run("CONFIG SET notify-keyspace-events EAn");
    listener.run("PSUBSCRIBE __keyevent@0__:*");
    for line in lines {
        client.run(line);
    }
    let messages = listener.messages().into_iter();
    let of_message = |message: String| message.rsplit_once("@0__:").unwrap().1.replace('"', "");
    messages.map(of_message).collect()
}

#[test]
fn events_come_in_the_order_of_redis() {
    let database = Database::open();
    assert_eq!(
        events(&database, &["SET a 1", "SET a 2", "HSET h f v", "HSET h g w"]),
        ["new a", "set a", "set a", "new h", "hset h", "hset h"]
    );
    // What is written over is no new key.
    assert_eq!(events(&database, &["SET h x", "SUNIONSTORE a a2"]), ["set h", "del a"]);
    assert_eq!(
        events(&database, &["RENAME h b", "SET h 1"]),
        ["new b", "rename_from h", "rename_to b", "new h", "set h"]
    );
    assert_eq!(
        events(&database, &["RENAME h b", "COPY b c", "COPY b c REPLACE"]),
        [
            "new b",
            "rename_from h",
            "rename_to b",
            "new c",
            "copy_to c",
            "new c",
            "copy_to c"
        ]
    );
    assert_eq!(
        events(
            &database,
            &["SADD t 1", "SUNIONSTORE c t", "SORT t STORE c", "BITOP AND c nope"]
        ),
        ["new t", "sadd t", "sunionstore c", "sortstore c", "del c"]
    );
    assert_eq!(
        events(
            &database,
            &["RPUSH l x y", "LMOVE l m LEFT RIGHT", "RPOPLPUSH l l", "RPOPLPUSH l m"]
        ),
        [
            "new l", "rpush l", "new m", "rpush m", "lpop l", "lpush l", "rpop l", "lpush m", "rpop l", "del l"
        ]
    );
    assert_eq!(
        events(&database, &["MULTI", "DEL b", "SET b 1", "EXEC"]),
        ["del b", "new b", "set b"]
    );
}

#[test]
fn listeners_are_counted_by_channel() {
    let database = Database::open();
    let (mut one, mut other, mut client) = (database.client(), database.client(), database.client());
    one.run("SUBSCRIBE a b");
    other.run("SUBSCRIBE a");
    other.run("SSUBSCRIBE b");
    let counts = list(&["\"a\"", ":2", "\"b\"", ":1", "\"c\"", ":0", "\"a\"", ":2"]);
    assert_eq!(client.run("PUBSUB NUMSUB a b c a"), counts);
    assert_eq!(
        client.run("PUBSUB SHARDNUMSUB a b"),
        list(&["\"a\"", ":0", "\"b\"", ":1"])
    );
}

#[test]
fn a_client_is_shown_with_what_it_listens_to_and_has_queued() {
    let database = Database::open();
    let (mut one, mut other) = (database.client(), database.client());
    one.run("HELLO 3");
    let mut shown = || {
        let list = other.run("CLIENT LIST ID 1");
        let of_word = |word: &str| {
            let words = list.split_whitespace();
            words
                .filter_map(|shown| shown.strip_prefix(word))
                .next()
                .unwrap()
                .to_owned()
        };
        ["flags=", "sub=", "psub=", "ssub=", "multi="].map(of_word).join(" ")
    };
    assert_eq!(shown(), "N 0 0 0 -1");
    for line in ["SUBSCRIBE a b", "PSUBSCRIBE p*", "SSUBSCRIBE s", "UNSUBSCRIBE b"] {
        one.run(line);
    }
    assert_eq!(shown(), "P 1 1 1 -1");
    one.run("MULTI");
    assert_eq!(shown(), "Px 1 1 1 0");
    one.run("GET k");
    assert_eq!(shown(), "Px 1 1 1 1");
    one.run("EXEC");
    assert_eq!(shown(), "P 1 1 1 -1");
    one.run("RESET");
    assert_eq!(shown(), "N 0 0 0 -1");
}

#[test]
fn who_resets_is_who_he_was_when_he_came() {
    let database = Database::open();
    let mut client = database.stranger();
    assert_eq!(client.run("GET k"), "-NOAUTH Authentication required.");
    assert_eq!(client.run("AUTH ada password"), "+OK");
    assert_eq!(client.run("GET k"), "$-1");
    // Nobody wants replies, until RESET.
    assert!(client.all("CLIENT REPLY OFF").is_empty() && client.all("PING").is_empty());
    assert_eq!(client.all("RESET"), ["+RESET"]);
    assert_eq!(client.all("GET k"), ["-NOAUTH Authentication required."]);
}
