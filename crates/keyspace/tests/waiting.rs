//! Commands that wait for keys.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread::{JoinHandle, spawn};

use common::{Client, Database};
use keyspace::failure::Turn;
use keyspace::work::{Class, Work};
use sql_api::host::BlockingHost;
use transaction::Durability;

/// Sends a command from a thread of its own, and waits until it waits.
fn waiting(database: &Arc<Database>, line: &'static str) -> JoinHandle<String> {
    let before = database.keyspace.hub.waiting();
    let own = database.clone();
    let thread = spawn(move || own.client().run(line));
    while database.keyspace.hub.waiting() == before {
        assert!(!thread.is_finished(), "{line} does not wait");
        std::thread::yield_now();
    }
    thread
}

fn open() -> (Arc<Database>, Client) {
    let database = Arc::new(Database::open());
    let client = database.client();
    (database, client)
}

#[test]
fn all_readers_get_what_comes() {
    let (database, mut client) = open();
    client.run("XADD s 1-1 a 1");
    // One that waits for what does not come is in nobody's way.
    let never = waiting(&database, "XREAD BLOCK 5000 STREAMS s 99");
    let readers = [
        waiting(&database, "XREAD BLOCK 0 STREAMS s $"),
        waiting(&database, "XREAD BLOCK 0 STREAMS other s $ 1-1"),
    ];
    client.run("XADD s 2-1 b 2");
    for reader in readers {
        let expected =
            "*1\n  *2\n    \"s\"\n    *1\n      *2\n        \"2-1\"\n        *2\n          \"b\"\n          \"2\"";
        assert_eq!(reader.join().unwrap(), expected);
    }
    client.run("XADD s 100 c 3");
    assert!(never.join().unwrap().contains("100-0"));
}

#[test]
fn who_waits_for_another_type_is_in_nobodys_way() {
    let (database, mut client) = open();
    let of_a_set = waiting(&database, "BZPOPMIN k 0");
    let of_a_list = waiting(&database, "BLPOP k 5");
    let behind = waiting(&database, "BLPOP k 5");
    client.run("RPUSH k 1 2");
    for (reader, value) in [(of_a_list, 1), (behind, 2)] {
        assert_eq!(reader.join().unwrap(), format!("*2\n  \"k\"\n  \"{value}\""));
    }
    assert!(!of_a_set.is_finished());
    client.run("ZADD k 1 m");
    assert_eq!(of_a_set.join().unwrap(), "*3\n  \"k\"\n  \"m\"\n  \"1\"");
}

#[test]
fn an_entry_goes_to_one_consumer_of_a_group() {
    let (database, mut client) = open();
    client.run("XGROUP CREATE s g $ MKSTREAM");
    client.run("XGROUP CREATE s h $");
    let one = waiting(&database, "XREADGROUP GROUP g one BLOCK 0 STREAMS s >");
    let two = waiting(&database, "XREADGROUP GROUP g two BLOCK 0 STREAMS s >");
    let other = waiting(&database, "XREADGROUP GROUP h other BLOCK 0 STREAMS s >");
    client.run("XADD s 1-1 a 1");
    assert!(other.join().unwrap().contains("1-1"));
    // Who came first gets the first one.
    assert!(one.join().unwrap().contains("1-1"));
    client.run("XADD s 2-1 a 1");
    assert!(two.join().unwrap().contains("2-1"));
}

#[test]
fn consumers_are_served_in_the_order_in_which_they_came() {
    let (database, mut client) = open();
    client.run("XGROUP CREATE s g $ MKSTREAM");
    let consumers: Vec<_> = (0..4)
        .map(|_| waiting(&database, "XREADGROUP GROUP g c COUNT 1 BLOCK 0 STREAMS s >"))
        .collect();
    for line in [
        "MULTI",
        "XADD s 1-1 a 1",
        "XADD s 2-1 a 1",
        "XADD s 3-1 a 1",
        "XADD s 4-1 a 1",
        "EXEC",
    ] {
        client.run(line);
    }
    for (at, consumer) in consumers.into_iter().enumerate() {
        let got = consumer.join().unwrap();
        assert!(got.contains(&format!("\"{}-1\"", at + 1)), "{at}: {got}");
    }
}

#[test]
fn who_waits_for_a_group_is_a_consumer_of_it() {
    let (database, mut client) = open();
    client.run("XGROUP CREATE s g $ MKSTREAM");
    let reader = waiting(&database, "XREADGROUP GROUP g bob BLOCK 0 STREAMS s >");
    let consumers = client.run("XINFO CONSUMERS s g");
    assert!(
        consumers.starts_with("*1\n") && consumers.contains("\"bob\""),
        "{consumers}"
    );
    client.run("XADD s 1-1 a 1");
    assert!(reader.join().unwrap().contains("1-1"));
}

#[test]
fn who_waits_is_told_that_the_group_is_gone() {
    let (database, mut client) = open();
    client.run("XGROUP CREATE s g $ MKSTREAM");
    let reader = waiting(&database, "XREADGROUP GROUP g one BLOCK 0 STREAMS s >");
    client.run("XGROUP DESTROY s g");
    assert!(reader.join().unwrap().starts_with("-NOGROUP"));
}

#[test]
fn who_begins_to_wait_before_a_change_can_be_seen_is_told_of_it() {
    let (database, mut client) = open();
    client.run("XADD s 1-1 a 1");
    let keyspace = &database.keyspace;
    let db = keyspace.db(0, &BlockingHost).unwrap();
    // A command that nobody waits for while it runs.
    let mut work = Work::begin(keyspace, Durability::default(), &BlockingHost);
    work.note(Class::Stream, "xadd", &db, b"s");
    let place = keyspace.hub.wait_for(0, vec![b"s".to_vec()], Turn::Everybody);
    let (_, events, _) = work.into_transaction();
    keyspace.publish(&events, &BlockingHost);
    let mut context = Context::from_waker(Waker::noop());
    assert!(pin!(place.called()).poll(&mut context).is_ready());
}

#[test]
fn all_look_when_all_keys_change() {
    let (database, mut client) = open();
    client.run("RPUSH other 1");
    let mut context = Context::from_waker(Waker::noop());
    for line in ["FLUSHDB", "FLUSHALL", "SWAPDB 0 1"] {
        let place = database.keyspace.hub.wait_for(0, vec![b"k".to_vec()], Turn::Everybody);
        assert_eq!(client.run(line), "+OK");
        assert!(pin!(place.called()).poll(&mut context).is_ready(), "{line}");
    }
}
